/* Turns a product with a one-hot matrix into a gather of rows: sum over r of (r == i[n] ? 1 : 0) * w[r, d] reads
 * w[i[n], d] alone. Zero times an infinity or a NaN is NaN, so for floats a reduction counts the elements of each
 * column of w that are not finite, and the gather gives NaN where the column has one in another row: results are exact
 * for every value. Weights that are known to be finite need no count. */
#include "ir/passes.h"

#include <math.h>

enum { CHEAP = 16 /* ir_cost of a map that is computed again to understand it */ };

struct one_hot {
	struct ir_program *p;
	const struct ir_stage *s; /* the sum */
	expr where, on, off;      /* the matrix is on where `where` holds, else off */
	expr inside, row;         /* the row that is read, and whether there is one */
};

/* The value of a map's element, for a load from one; else null. */
static expr made_by_map(struct ir_program *p, expr load)
{
	const struct ir_stage *s = ir_stage_of(p, load->buf);
	return s && s->kind == IR_MAP && ir_cost(s->value) <= CHEAP ? ir_bind_axes(p->pool, s->value, load->arg) : NULL;
}

static expr see_through(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct one_hot *h = user;
	if (e->op != IR_LOAD)
		return NULL;
	expr value = made_by_map(h->p, ir_load(pool, e->buf, arg));
	return value ? ir_copy(pool, value, see_through, h) : NULL;
}

static bool is_choice(struct one_hot *h, expr e)
{
	if (e->op == IR_LOAD) {
		expr value = made_by_map(h->p, e);
		return value && is_choice(h, value);
	}
	if (e->op == IR_CAST && e->arg[0]->type != TYPE_BOOL) {
		if (!is_choice(h, e->arg[0]))
			return false;
		h->on = ir_cast(h->on, e->type);
		h->off = ir_cast(h->off, e->type);
		return true;
	}
	if (e->op == IR_CAST) {
		h->where = e->arg[0];
		h->on = ir_cast(ir_int(h->p->pool, TYPE_BOOL, 1), e->type);
		h->off = ir_cast(ir_int(h->p->pool, TYPE_BOOL, 0), e->type);
		return true;
	}
	if (e->op != IR_SELECT)
		return false;
	h->where = e->arg[0];
	h->on = e->arg[1];
	h->off = e->arg[2];
	return true;
}

static bool is_number(expr e, double x)
{
	return e->op == IR_CONST_FLOAT ? e->f == x : e->op == IR_CONST_INT && (double)e->i == x;
}

/* An i64 or i32 as an index; null for other types, and for an index that may not fit an i32. */
static expr as_index(expr e)
{
	if (e->type == TYPE_INDEX)
		return e;
	if (e->type != TYPE_I64 && e->type != TYPE_I32)
		return NULL;
	if (e->op != IR_CAST || e->arg[0]->type != TYPE_INDEX)
		return ir_cast(e, TYPE_INDEX);
	expr x = e->arg[0], low = ir_lower_bound(x), high = ir_upper_bound(x), most = ir_index(x->pool, INT32_MAX);
	bool fits = low && high && ir_nonnegative(ir_binary(IR_ADD, low, most)) &&
	            ir_nonnegative(ir_binary(IR_SUB, most, high));
	return e->type == TYPE_I64 || fits ? x : NULL;
}

/* The r for which an equality holds; null if it is not of the form r == x, x without r. */
static expr solve(const struct one_hot *h, expr equal)
{
	struct ir_pool *pool = h->p->pool;
	int r = h->s->out->rank;
	expr axis = ir_axis(pool, r, h->s->space[0]), a, b;
	if (equal->op != IR_EQ || !(a = as_index(equal->arg[0])) || !(b = as_index(equal->arg[1])))
		return NULL;
	for (int k = 0; k < 2; k++) {
		expr row = ir_binary(IR_ADD, ir_binary(IR_SUB, k ? a : b, k ? b : a), axis);
		bool used[2 * IR_MAX_RANK] = { false };
		ir_mark_axes(row, used);
		if (!used[r])
			return row;
	}
	return NULL;
}

static expr within(const struct one_hot *h, expr row)
{
	return ir_binary(IR_AND, ir_binary(IR_LE, ir_index(h->p->pool, 0), row), ir_binary(IR_LT, row, h->s->space[0]));
}

/* Finds the row. Two equalities, one for numbers that count from the end, never hold for two rows. */
static bool find_row(struct one_hot *h)
{
	expr e = h->where, extent = h->s->space[0];
	if (e->op != IR_OR) {
		h->row = solve(h, e);
		h->inside = h->row ? within(h, h->row) : NULL;
		return h->row;
	}
	expr a = solve(h, e->arg[0]), b = solve(h, e->arg[1]);
	if (!a || !b)
		return false;
	expr apart = ir_binary(IR_SUB, a, b);
	if (apart != extent && ir_binary(IR_SUB, b, a) != extent)
		return false;
	h->row = ir_select(within(h, a), a, b);
	h->inside = ir_binary(IR_OR, within(h, a), within(h, b));
	return true;
}

static expr not_finite(expr x)
{
	return ir_binary(IR_OR, ir_unary(IR_ISNAN, x), ir_unary(IR_ISINF, x));
}

/* count = sum over the rows of 1 where the element is not finite; over the axes of the result that it varies with.
 * Returns its element for the result's. */
static expr count_wild(struct one_hot *h, expr element, const bool *used, struct ir_stage **made)
{
	struct ir_pool *pool = h->p->pool;
	const struct ir_buffer *out = h->s->out;
	expr dim[IR_MAX_RANK], at[IR_MAX_RANK], to[IR_MAX_RANK + 1];
	int rank = 0;
	for (int k = 0; k < out->rank; k++) {
		to[k] = ir_index(pool, 0);
		if (!used[k])
			continue;
		to[k] = ir_axis(pool, rank, out->dim[k]);
		at[rank] = ir_axis(pool, k, out->dim[k]);
		dim[rank++] = out->dim[k];
	}
	to[out->rank] = ir_axis(pool, rank, h->s->space[0]);
	const char *name = arena_printf(h->p->arena, "%s_wild", out->name);
	struct ir_stage *count = ir_stage_new(h->p, IR_REDUCE, ir_buffer_new(h->p, name, TYPE_I32, rank, dim, IR_TEMP));
	count->combine = IR_SUM;
	count->space_rank = 1;
	count->space[0] = h->s->space[0];
	count->value = ir_cast(ir_bind_axes(pool, not_finite(element), to), TYPE_I32);
	*made = count;
	return ir_load(pool, count->out, at);
}

/* A cast to a type of no more bits may make an infinity of a finite number. */
static bool is_finite(expr table)
{
	while (table->op == IR_CAST && type_info(table->type)->bits > type_info(table->arg[0]->type)->bits)
		table = table->arg[0];
	return table->op == IR_LOAD && table->buf->finite;
}

/* Rewrites the sum as a map; returns the stage that has to run before it, or null. */
static struct ir_stage *become_gather(struct one_hot *h, struct ir_stage *s, expr element, const bool *used)
{
	struct ir_pool *pool = h->p->pool;
	enum type t = s->value->type;
	expr to[IR_MAX_RANK + 1], zero = ir_const(pool, t, 0), wild = NULL;
	struct ir_stage *count = NULL;
	if (type_is_float(t) && !is_finite(element))
		wild = count_wild(h, element, used, &count);
	for (int k = 0; k < s->out->rank; k++)
		to[k] = ir_axis(pool, k, s->out->dim[k]);
	to[s->out->rank] = h->row;
	expr hit = ir_bind_axes(pool, element, to);
	expr sum = ir_select(h->inside, ir_binary(IR_ADD, ir_binary(IR_MUL, h->on, hit), zero), zero);
	if (wild) {
		expr own = ir_select(h->inside, ir_cast(not_finite(hit), TYPE_I32), ir_int(pool, TYPE_I32, 0));
		sum = ir_select(ir_binary(IR_EQ, wild, own), sum, ir_float(pool, t, NAN));
	}
	*s = (struct ir_stage){ .kind = IR_MAP, .out = s->out, .value = ir_stage_result(pool, s, sum) };
	return count;
}

/* True if the sum reads an element of a table, the other operand, that some axis of the result does not choose: the
 * table is smaller than what the sum reads. */
static bool is_table(const struct ir_stage *s, expr e, bool *used)
{
	expr x = e;
	while (x->op == IR_CAST)
		x = x->arg[0];
	if (x->op != IR_LOAD)
		return false;
	ir_mark_axes(e, used);
	if (!used[s->out->rank])
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!used[k] && !ir_is_int(s->out->dim[k], 1))
			return true;
	return false;
}

struct ir_stage *ir_one_hot_gather(struct ir_program *p, struct ir_stage *s)
{
	if (s->kind != IR_REDUCE || s->combine != IR_SUM || s->space_rank != 1 || s->value->op != IR_MUL ||
	    s->out->rank >= IR_MAX_RANK)
		return NULL;
	for (int k = 0; k < 2; k++) {
		struct one_hot h = { .p = p, .s = s };
		bool used[2 * IR_MAX_RANK] = { false };
		expr table = s->value->arg[!k];
		if (!is_table(s, table, used) || !is_choice(&h, s->value->arg[k]) || !is_number(h.off, 0) ||
		    !is_number(h.on, 1))
			continue;
		h.where = ir_copy(p->pool, h.where, see_through, &h);
		if (find_row(&h))
			return become_gather(&h, s, table, used);
	}
	return NULL;
}
