/* Contractions: axes from positions, the position of a block's tile, and the serial twin of a block. See
 * contract_kernel.h. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include "ir/axis_names.h"

static int inner_axis(const struct contract *c)
{
	return c->order[c->s->space_rank - 1];
}

/* The extent of a reduced axis over which sums run. */
static expr summed_extent(const struct contract_kernel *k, int axis)
{
	return k->tap && axis == inner_axis(k->c) ? k->tap : k->c->s->space[axis];
}

void contract_declare_depth(struct contract_kernel *k, struct ir_block *b, expr position, const bool *used, expr along)
{
	const struct ir_stage *s = k->c->s;
	expr extent[IR_MAX_RANK] = { NULL }, value[IR_MAX_RANK] = { NULL };
	const char *name[IR_MAX_RANK] = { NULL };
	bool met[IR_MAX_RANK] = { false };
	int rank = s->out->rank, n = s->space_rank;
	for (int i = 0; i < n; i++) {
		expr low = k->low[k->c->order[i]];
		extent[i] = summed_extent(k, k->c->order[i]);
		extent[i] = low ? ir_binary(IR_SUB, extent[i], low) : extent[i];
		name[i] = k->tap && i == n - 1 ? "first" : ir_axis_names[1][k->c->order[i]];
		met[i] = used[rank + k->c->order[i]];
	}
	for (int i = n - 2, inner = n - 1; along && i >= 0; i--) {
		expr outer = ir_stride(along, rank + k->c->order[i]),
		     step = ir_stride(along, rank + k->c->order[inner]);
		if (!outer || !step || k->low[k->c->order[i]] || outer != ir_binary(IR_MUL, step, extent[inner])) {
			inner = i;
			continue;
		}
		extent[inner] = ir_binary(IR_MUL, extent[i], extent[inner]);
		extent[i] = index_(k, 1);
	}
	declare_axes(k->p, b, position, n, extent, name, met, value);
	for (int i = 0; i < n; i++) {
		expr low = k->low[k->c->order[i]];
		k->axis[rank + k->c->order[i]] = low && value[i] ? plus(value[i], low) : value[i];
	}
}

/* The range of the part that axis 0 of the result numbers: of `size` products or a multiple of that. */
static struct contract_range declare_part(struct contract_kernel *k, struct ir_block *b, int size)
{
	expr depth = contract_depth(k), parts = index_(k, k->c->parts);
	expr most = plus(contract_most_depth(k), index_(k, size));
	expr each = times(ceil_div(k->p, ceil_div(k->p, depth, size), k->c->parts), size);
	each = emit_declare(k->p, b, "part_products", each, most);
	expr begin =
	        emit_declare(k->p, b, "begin", ir_binary(IR_MUL, k->axis[0], each), ir_binary(IR_MUL, parts, most));
	expr length = ir_binary(IR_MIN, each, ir_binary(IR_MAX, ir_binary(IR_SUB, depth, begin), index_(k, 0)));
	length = emit_declare(k->p, b, "length", length, most);
	return (struct contract_range){ begin, plus(begin, length), index_(k, 0) };
}

struct contract_range contract_declare_range(struct contract_kernel *k, struct ir_block *b)
{
	expr all = ceil_div(k->p, k->c->depth, k->shape.depth), at[2];
	if (k->c->parts)
		return declare_part(k, b, k->shape.depth);
	if (k->shape.split <= 1)
		return (struct contract_range){ index_(k, 0), contract_depth(k), index_(k, 0) };
	expr split = index_(k, k->shape.split),
	     part = ir_binary(IR_MOD, ir_block(k->p->pool, contract_blocks(k)), split);
	emit_comment(k->p, b, "%d blocks compute a tile together, each a part of the sums", k->shape.split);
	for (int i = 0; i < 2; i++) {
		expr step = ir_binary(IR_FLOORDIV, ir_binary(IR_MUL, all, plus(part, index_(k, i))), split);
		at[i] = emit_declare(k->p, b, i ? "end_step" : "begin_step", step, plus(all, index_(k, 1)));
	}
	expr size = index_(k, k->shape.depth), begin = ir_binary(IR_MUL, at[0], size);
	return (struct contract_range){
		.from = emit_declare(k->p, b, "begin", begin, plus(k->c->depth, size)),
		.to = emit_declare(k->p, b, "end", ir_binary(IR_MUL, at[1], size), plus(k->c->depth, size)),
		.first = at[0],
	};
}

expr contract_range_fits(const struct contract_kernel *k)
{
	int parts = k->shape.split > 1 ? k->shape.split : 1; /* sums start with the first product, so no part may be
	                                                        empty */
	return ir_binary(IR_LT, index_(k, (int64_t)(parts - 1) * k->shape.depth), k->c->depth);
}

expr contract_depth(const struct contract_kernel *k)
{
	return k->depth ? k->depth : k->c->depth;
}

expr contract_most_depth(const struct contract_kernel *k)
{
	expr depth = index_(k, 1);
	for (int i = 0; i < k->c->s->space_rank; i++)
		depth = ir_binary(IR_MUL, depth, summed_extent(k, i));
	return depth;
}

void contract_find_tap(struct contract_kernel *k)
{
	enum { MOST_WASTE = 4 /* one step of so many */ };
	const struct contract *c = k->c;
	int64_t extent, step = k->shape.depth, taps = 0;
	bool window = contract_condition_of(&c->side[0]) || contract_condition_of(&c->side[1]);
	for (int i = 0; i < c->s->space_rank; i++) {
		window |= c->low[i] != NULL;
		taps += i != inner_axis(c) && !ir_is_int(c->s->space[i], 1);
	}
	if (!window || !taps || c->low[inner_axis(c)] || !ir_const_int(c->s->space[inner_axis(c)], &extent))
		return;
	int64_t whole = (extent + step - 1) / step * step, waste = whole - extent;
	bool counted = c->parts && contract_has_zeros(k); /* zero points count a part's products */
	if (waste * MOST_WASTE <= extent && !(waste && counted))
		k->tap = index_(k, whole);
}

expr contract_declare_tap(struct contract_kernel *k, struct ir_block *b, expr from)
{
	bool all[2 * IR_MAX_RANK];
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		all[i] = true;
	contract_declare_depth(k, b, from, all, NULL);
	return k->axis[k->c->s->out->rank + inner_axis(k->c)];
}

/* Declares where the tile's sums begin, and their length. */
static void declare_lows(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract *c = k->c;
	const struct axes here = { .value = k->axis };
	expr depth = index_(k, 1);
	bool any = false;
	for (int i = 0; i < c->s->space_rank; i++) {
		expr extent = summed_extent(k, i);
		k->low[i] = NULL;
		if (c->low[i]) {
			any = true;
			k->low[i] = emit_declare(k->p, b, text(k, "%s_first", ir_axis_names[1][i]),
			                         to_kernel(k->p, c->low[i], &here), extent);
			extent = ir_binary(IR_SUB, extent, k->low[i]);
		}
		depth = ir_binary(IR_MUL, depth, extent);
	}
	k->depth = k->tap ? depth : NULL;
	if (any)
		k->depth = emit_declare(k->p, b, "products", depth, plus(contract_most_depth(k), index_(k, 1)));
}

void contract_declare_place(struct contract_kernel *k, struct ir_block *b, expr block, bool warps)
{
	const struct contract_shape *s = &k->shape;
	const struct contract *c = k->c;
	expr across = ceil_div(k->p, c->extent[CONTRACT_COLUMN], s->columns);
	expr down = ceil_div(k->p, c->extent[CONTRACT_ROW], s->rows), each = ir_binary(IR_MUL, across, down);
	expr in_batch = ir_binary(IR_MOD, block, each),
	     row = ir_binary(IR_MOD, ir_binary(IR_FLOORDIV, block, across), down);
	expr column = ir_binary(IR_MOD, block, across);
	expr warp = ir_binary(IR_FLOORDIV, ir_thread(k->p->pool, index_(k, s->threads)), index_(k, WARP));
	bool all[2 * IR_MAX_RANK];
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		all[i] = true;
	if (s->group) {
		expr size = index_(k, s->group), several = ir_binary(IR_MUL, across, size);
		emit_comment(k->p, b, "for the L2 cache, blocks go down %d tiles before the next column", s->group);
		expr tile = emit_constant(k->p, b, "tile", in_batch, each);
		expr below = emit_constant(k->p, b, "below",
		                           ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, tile, several), size), down);
		expr high = ir_binary(IR_MIN, size, ir_binary(IR_SUB, down, below)),
		     inside = ir_binary(IR_MOD, tile, several);
		high = emit_constant(k->p, b, "high", high, plus(size, index_(k, 1)));
		row = plus(below, ir_binary(IR_MOD, inside, high));
		column = ir_binary(IR_FLOORDIV, inside, high);
	}
	k->first[1] = emit_constant(k->p, b, "first_column", times(column, s->columns), NULL)->var;
	k->first[0] = emit_constant(k->p, b, "first_row", times(row, s->rows), NULL)->var;
	expr batch = index_(k, 0);
	if (!ir_is_int(c->extent[CONTRACT_BATCH], 1))
		batch = emit_constant(k->p, b, "batch", ir_binary(IR_FLOORDIV, block, each), c->extent[CONTRACT_BATCH]);
	contract_declare_group(k, b, CONTRACT_BATCH, batch, all);
	if (!k->serial)
		declare_lows(k, b);
	if (!warps)
		return;
	expr down_warps = ir_binary(IR_FLOORDIV, warp, index_(k, s->warps_across)),
	     across_warps = ir_binary(IR_MOD, warp, index_(k, s->warps_across));
	k->warp[0] = emit_constant(k->p, b, "warp_row", times(down_warps, s->warp_rows), NULL)->var;
	k->warp[1] = emit_constant(k->p, b, "warp_column", times(across_warps, s->warp_columns), NULL)->var;
}

/* ---- The serial twin of a block. */

static struct ir_block *serial_loop(struct contract_kernel *k, struct ir_block *b, const char *name,
                                    enum contract_group g, int size, expr first)
{
	bool all[2 * IR_MAX_RANK];
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		all[i] = true;
	expr end = ir_binary(IR_MIN, k->c->extent[g], plus(first, index_(k, size))), at;
	b = emit_loop(k->p, b, name, first, end, index_(k, 1), k->c->extent[g], &at);
	contract_declare_group(k, b, g, at, all);
	return b;
}

struct ir_block *contract_each_tile(struct contract_kernel *k, struct ir_block *b, expr blocks)
{
	expr tiles = contract_tiles(k), block = ir_block(k->p->pool, blocks);
	if (k->shape.split > 1)
		block = ir_binary(IR_FLOORDIV, block, index_(k, k->shape.split));
	if (k->shape.split > 1 || (blocks == tiles && !k->group)) {
		contract_declare_place(k, b, block, false);
		return b;
	}
	expr number, step = blocks;
	block = ir_block(k->p->pool, blocks);
	if (k->group) {
		block = plus(block, ir_binary(IR_MUL, k->group, blocks));
		step = times(blocks, 2);
	}
	b = emit_loop(k->p, b, "number", block, tiles, step, tiles, &number);
	contract_declare_place(k, b, number, false);
	if (k->group)
		k->round = emit_constant(k->p, b, "round", ir_binary(IR_FLOORDIV, number, blocks), tiles);
	return b;
}

void contract_sum_element(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract *c = k->c;
	bool used[2 * IR_MAX_RANK] = { false };
	struct contract_range range = { index_(k, 0), c->depth, NULL };
	if (c->parts)
		range = declare_part(k, b, 1);
	struct accumulator a = accumulator_begin(k->p, b, c->s);
	expr depth;
	struct ir_block *sum = emit_loop(k->p, b, "depth", range.from, range.to, index_(k, 1), c->depth, &depth);
	ir_mark_axes(c->s->value, used);
	contract_declare_depth(k, sum, depth, used, NULL);
	struct axes here = { .value = k->axis };
	accumulate(&a, sum, to_kernel(k->p, c->s->value, &here), NULL);
	k->all = a.value;
	contract_make_element(k, b, 1);
}

/* Emits the serial twin: the block's elements one after the other. */
static void serial_block(struct contract_kernel *k, struct ir_block *b, expr blocks)
{
	k->serial = true;
	if (k->shape.split > 1) /* the first block of each tile does all of it */
		b = emit_if(k->p, b,
		            ir_binary(IR_EQ, ir_binary(IR_MOD, ir_block(k->p->pool, blocks), index_(k, k->shape.split)),
		                      index_(k, 0)));
	b = contract_each_tile(k, b, blocks);
	b = serial_loop(k, b, "row", CONTRACT_ROW, k->shape.rows, ir_var_of(k->first[0], NULL));
	b = serial_loop(k, b, "column", CONTRACT_COLUMN, k->shape.columns, ir_var_of(k->first[1], NULL));
	contract_sum_element(k, contract_if_inside(k, b));
}

const char *contract_text(const struct contract *c)
{
	struct str text = str_new(c->p->arena);
	if (c->parts)
		str_printf(&text, "each of the %d results along the first axis sums a part of\n", c->parts);
	for (int i = 0; i < c->stages; i++)
		ir_print_stage(&text, c->made[i]);
	return str_text(&text);
}

/* ---- One element per thread, for positions beyond 2^31. Such tensors are rare, and a full kernel for them would take
 * just as long to compile: this one is small. */

void contract_element_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                             const struct sched_choice *choice)
{
	enum { THREADS = 256 };
	struct contract whole = *c;
	struct contract_kernel k = { .c = &whole, .p = plan->program };
	struct ir_kernel *kernel = kernel_new(plan, c->made[c->stages - 1], "_64", choice);
	const struct ir_buffer *out = c->whole->out;
	whole.s = c->whole;
	whole.depth = reduced_count(k.p, c->whole);
	whole.inside = ir_int(k.p->pool, TYPE_BOOL, 1);
	for (int i = 0; i < out->rank; i++)
		whole.own[i] = ir_axis(k.p->pool, i, out->dim[i]);
	bool all[IR_MAX_RANK];
	for (int i = 0; i < IR_MAX_RANK; i++)
		all[i] = true;
	expr element = declare_element(k.p, kernel, out_count(k.p, c->whole), THREADS, 1);
	declare_axes(k.p, &kernel->body, element, out->rank, out->dim, ir_axis_names[0], all, k.axis);
	contract_sum_element(&k, &kernel->body);
	kernel->name = arena_printf(k.p->arena, "%s_64", step->at[step->n - 1]->name);
	kernel->params = "an element a thread";
	kernel->method = NULL;
	kernel_finish_wide(plan, step, kernel, c->whole);
	kernel->about = contract_text(c);
}

bool contract_finish(struct contract_kernel *k, struct ir_plan *plan, struct ir_step *step, struct ir_kernel *kernel,
                     expr fits)
{
	const struct contract *c = k->c;
	const struct contract_shape *s = &k->shape;
	struct contract_kernel serial = { .c = c, .p = k->p, .shape = *s };
	kernel->threads = s->threads;
	if (!kernel->blocks)
		kernel->blocks = contract_blocks(k);
	kernel->cluster = s->split > 1 ? s->split : 0;
	kernel_needs(kernel, fits);
	serial_block(&serial, &kernel->serial, kernel->blocks);
	bool enough = kernel_finish_narrow(plan, step, kernel, c->whole);
	kernel->about = contract_text(c);
	return enough;
}
