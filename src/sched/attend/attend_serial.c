/* The serial twin of an attention kernel, for a tile of queries: the same algorithm, one key at a time. */
#include "sched/attend/attend_kernel.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

#include <math.h>

#include "ir/axis_names.h"

static expr tiles_of(const struct attend *a, int queries)
{
	return ceil_div(a->p, attend_queries(a), queries);
}

/* The extent of a row axis apart from the tile's: on axis `head`, the number of groups. */
static expr extent_of(const struct attend *a, int k)
{
	return k == a->head ? ir_binary(IR_FLOORDIV, a->dim[k], ir_index(a->p->pool, a->group)) : a->dim[k];
}

expr attend_heads(const struct attend *a)
{
	expr heads = ir_index(a->p->pool, 1);
	for (int k = 0; k < a->rows; k++)
		if (k != a->tile)
			heads = ir_binary(IR_MUL, heads, extent_of(a, k));
	return heads;
}

expr attend_blocks(const struct attend *a, int queries)
{
	expr blocks = tiles_of(a, queries);
	return ir_binary(IR_MUL, blocks, attend_heads(a));
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
	return b ? greatest_divisor(b, a % b) : a;
}

/* At most `heads` heads, whose tiles are whole rounds of all blocks if they are enough for one. */
static expr whole_rounds(const struct attend_place *at, expr tiles, expr heads)
{
	struct ir_pool *pool = at->a->p->pool;
	int64_t n = 1;
	if (!at->blocks)
		return heads;
	if (!ir_const_int(tiles, &n) || n < 1)
		n = 1;
	expr round = ir_index(pool, at->blocks / greatest_divisor(at->blocks, n));
	expr whole = ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, heads, round), round);
	return ir_select(ir_binary(IR_LT, heads, round), heads, whole);
}

expr attend_together(const struct attend_place *at, int queries)
{
	enum { CACHED = 24 << 20 /* bytes: half of an H100's L2 cache */ };
	const struct attend *a = at->a;
	struct ir_pool *pool = a->p->pool;
	expr one = ir_index(pool, 1), heads = attend_heads(a);
	expr bytes = ir_binary(IR_MUL, a->dim[a->rows], ir_index(pool, 2 * (a->size + a->value_size)));
	expr together = ir_binary(IR_FLOORDIV, ir_index(pool, CACHED), ir_binary(IR_MAX, bytes, one));
	return whole_rounds(at, tiles_of(a, queries), ir_binary(IR_MAX, ir_binary(IR_MIN, together, heads), one));
}

/* Sets a block's head, and the number of tiles of that head that come before. */
static void across_heads(const struct attend_place *at, struct ir_block *b, int queries, expr block, expr *head,
                         expr *before)
{
	const struct attend *a = at->a;
	struct ir_program *p = a->p;
	expr one = ir_index(p->pool, 1), heads = attend_heads(a), tiles = tiles_of(a, queries);
	int64_t last;
	expr together = attend_together(at, queries);
	together = emit_declare(p, b, "together", together, ir_binary(IR_ADD, heads, one));
	expr blocks = ir_binary(IR_MUL, together, tiles);
	expr first = ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, block, blocks), together);
	first = emit_declare(p, b, "first_head", first, heads);
	expr here = ir_binary(IR_MIN, together, ir_binary(IR_SUB, heads, first)),
	     rest = ir_binary(IR_MOD, heads, together);
	here = emit_declare(p, b, "heads", here, ir_binary(IR_ADD, heads, one));
	expr place = emit_declare(p, b, "place", ir_binary(IR_MOD, block, blocks), blocks);
	expr all = ir_binary(IR_FLOORDIV, place, here);
	if (ir_const_int(rest, &last)) { /* of the last heads: divisions by constants are fast */
		all = ir_binary(IR_FLOORDIV, place, together);
		if (last)
			all = ir_select(ir_binary(IR_EQ, here, together), all, ir_binary(IR_FLOORDIV, place, rest));
	}
	*before = emit_declare(p, b, "before", all, tiles);
	expr own = ir_binary(IR_SUB, place, ir_binary(IR_MUL, *before, here));
	*head = emit_declare(p, b, "head", ir_binary(IR_ADD, first, own), heads);
}

expr attend_block(struct attend_place *at, struct ir_block *b, int queries, expr block)
{
	const struct attend *a = at->a;
	struct ir_program *p = a->p;
	expr tiles = tiles_of(a, queries), dim[IR_MAX_RANK], axis[IR_MAX_RANK];
	const char *name[IR_MAX_RANK];
	bool used[IR_MAX_RANK];
	int n = 0;
	for (int k = 0; k < a->rows; k++) {
		if (k == a->tile)
			continue;
		dim[n] = extent_of(a, k);
		name[n] = ir_axis_names[0][k];
		used[n++] = true;
	}
	expr head = ir_binary(IR_FLOORDIV, block, tiles), before = ir_binary(IR_MOD, block, tiles);
	if (at->uneven)
		across_heads(at, b, queries, block, &head, &before);
	declare_axes(p, b, head, n, dim, name, used, axis);
	for (int k = 0, i = 0; k < a->rows; k++)
		at->axis[k] = k == a->tile ? NULL : axis[i++];
	if (a->head >= 0)
		at->group = at->axis[a->head];
	expr tile = ir_binary(IR_SUB, ir_binary(IR_SUB, tiles, ir_index(p->pool, 1)), before);
	expr first = ir_binary(IR_MUL, tile, ir_index(p->pool, queries));
	return emit_constant(p, b, "first_query", first, attend_queries(a));
}

expr attend_expr(struct attend_place *at, expr e, expr query, expr key, expr place)
{
	const struct attend *a = at->a;
	struct axes axes = { .value = at->axis };
	at->axis[a->tile] = query;
	if (a->head >= 0) {
		expr group = ir_index(a->p->pool, a->group), first = ir_binary(IR_MUL, at->group, group);
		at->axis[a->head] = query ? ir_binary(IR_ADD, first, ir_binary(IR_MOD, query, group)) : first;
		at->axis[a->tile] = query ? ir_binary(IR_FLOORDIV, query, group) : NULL;
	}
	at->axis[a->rows] = key;
	at->axis[a->rows + 1] = place;
	return to_kernel(a->p, e, &axes);
}

/* ---- The serial twin. ---- */

static struct ir_block *loop(struct ir_program *p, struct ir_block *b, const char *name, expr extent, expr *index)
{
	const struct ir_variable *v = ir_variable_new(p->pool, TYPE_INDEX, "%s", name);
	*index = ir_var_of(v, extent);
	return emit_for_each(p, b, v, ir_index(p->pool, 0), extent, ir_index(p->pool, 1));
}

/* The weighted sums, one per column. */
static struct ir_variable *totals(const struct attend *a)
{
	return ir_variable_of(a->p->pool, a->total->type, NULL, IR_HOLDS_PARTS, 0, "total_v");
}

/* Declares the product of query and key. */
static void product(struct attend_place *at, struct ir_block *b, expr query, expr key)
{
	const struct attend *a = at->a;
	struct ir_program *p = a->p;
	expr r, sum = emit_define_variable(p, b, a->product->var, ir_const(p->pool, a->product->type, 0));
	struct ir_block *body = loop(p, b, "r", ir_index(p->pool, a->size), &r);
	expr both =
	        ir_binary(IR_MUL, attend_expr(at, a->query, query, NULL, r), attend_expr(at, a->key, query, key, r));
	emit_assign(p, body, sum, ir_binary(IR_ADD, sum, both));
}

/* total[s] = total[s] * scale + weight * value; scale may be null. */
static void weigh(struct attend_place *at, struct ir_block *b, expr query, expr key, expr weight, expr scale)
{
	const struct attend *a = at->a;
	struct ir_program *p = a->p;
	expr s;
	struct ir_block *body = loop(p, b, "s", ir_index(p->pool, a->value_size), &s);
	expr more = ir_binary(IR_MUL, weight, attend_expr(at, a->value, query, key, s));
	expr total = item_of(totals(a), s);
	emit_set(p, body, totals(a), s, ir_binary(IR_ADD, scale ? ir_binary(IR_MUL, total, scale) : total, more));
}

static expr base_of(expr largest)
{
	expr none = ir_const(largest->pool, largest->type, -INFINITY);
	return ir_select(ir_binary(IR_EQ, largest, none), ir_const(largest->pool, largest->type, 0), largest);
}

/* Computes the largest score and the sum of exponentials of one query, and the weighted sum unless its weights need
 * them first. */
static void first_pass(struct attend_place *at, struct ir_block *b, expr query)
{
	const struct attend *a = at->a;
	struct ir_program *p = a->p;
	enum type t = a->score->type;
	expr seen = emit_define_variable(p, b, a->seen->var, ir_const(p->pool, t, -INFINITY)), key;
	expr added = emit_define_variable(p, b, a->added->var, ir_const(p->pool, t, 0));
	struct ir_block *body = loop(p, b, "key", a->dim[a->rows], &key);
	product(at, body, query, key);
	expr score = emit_constant(p, body, "score_here", attend_expr(at, a->score, query, key, NULL), NULL);
	expr most = emit_constant(p, body, "most_here", ir_combine_expr(IR_MAXIMUM, seen, score), NULL);
	expr base = emit_constant(p, body, "base_here", base_of(most), NULL);
	expr scale = emit_constant(p, body, "scale_here", ir_unary(IR_EXP, ir_binary(IR_SUB, seen, base)), NULL);
	expr weight = emit_constant(p, body, "weight_here", ir_unary(IR_EXP, ir_binary(IR_SUB, score, base)), NULL);
	emit_assign(p, body, added, ir_binary(IR_ADD, ir_binary(IR_MUL, added, scale), weight));
	emit_assign(p, body, seen, most);
	if (!a->weight)
		weigh(at, body, query, key, weight, scale);

	/* The stages may subtract something other than the largest score. */
	expr off = emit_define(p, b, attend_largest(a)->var, attend_expr(at, a->largest, query, NULL, NULL), NULL);
	expr none = ir_binary(IR_EQ, a->dim[a->rows], ir_index(p->pool, 0));
	scale = ir_select(none, ir_const(p->pool, t, 1), ir_unary(IR_EXP, ir_binary(IR_SUB, base_of(seen), off)));
	scale = emit_constant(p, b, "scale_here", scale, NULL);
	emit_assign(p, b, added, ir_binary(IR_MUL, added, scale));
	emit_define(p, b, attend_sum(a)->var, attend_expr(at, a->sum, query, NULL, NULL), NULL);
	if (a->weight)
		return;
	expr s;
	body = loop(p, b, "s", ir_index(p->pool, a->value_size), &s);
	emit_set(p, body, totals(a), s, ir_binary(IR_MUL, item_of(totals(a), s), scale));
}

void attend_serial(struct attend_place *at, struct ir_block *b, int queries, expr first)
{
	const struct attend *a = at->a;
	struct ir_program *p = a->p;
	expr s, key, rows = attend_queries(a),
	             end = ir_binary(IR_MIN, rows, ir_binary(IR_ADD, first, ir_index(p->pool, queries)));
	emit_array(p, b, totals(a), a->value_size);
	const struct ir_variable *each = ir_variable_new(p->pool, TYPE_INDEX, "query");
	b = emit_for_each(p, b, each, first, end, ir_index(p->pool, 1));
	expr query = ir_var_of(each, rows);
	struct ir_block *body = loop(p, b, "s", ir_index(p->pool, a->value_size), &s);
	emit_set(p, body, totals(a), s, ir_const(p->pool, a->total->type, 0));
	first_pass(at, b, query);
	if (a->weight) {
		body = loop(p, b, "key", a->dim[a->rows], &key);
		product(at, body, query, key);
		expr weight = emit_constant(p, body, "weight_here", attend_expr(at, a->weight, query, key, NULL), NULL);
		weigh(at, body, query, key, weight, NULL);
	}
	body = loop(p, b, "s", ir_index(p->pool, a->value_size), &s);
	emit_define(p, body, a->total->var, item_of(totals(a), s), NULL);
	emit_store(p, body, a->out, attend_expr(at, a->at, query, NULL, s), attend_expr(at, a->result, query, NULL, s));
}
