/* Contractions: pads a reduced axis with zeros. Both operands become copies whose rows along that axis are whole
 * vectors (or, for windows over images, whole steps of a kernel), so that sums run over a few zeros more. It is for
 * extents that allow no vectors: an odd depth of a product, channels that are not a multiple of 8. See contract.h. */
#include "sched/contract/contract.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"

#include <string.h>

struct padding {
	struct ir_program *p;
	int axis;      /* over the result's axes and the reduced ones */
	expr from, to; /* its extent, before and after */
};

static expr longer_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct padding *x = user;
	(void)arg;
	return e->op == IR_AXIS && e->i == x->axis ? ir_axis(pool, x->axis, x->to) : NULL;
}

static expr longer(struct padding *x, expr e)
{
	return ir_copy(x->p->pool, e, longer_axis, x);
}

/* One dimension of an operand: index = before + axis. Its copy has all of `count` rows along the axis, or the one that
 * begins at `before`. */
struct rows {
	int dimension;
	expr before, row, count; /* row: the number of the index's row; null: there is one row */
};

static bool find_rows(struct padding *x, expr load, struct rows *rows)
{
	struct ir_pool *pool = x->p->pool;
	*rows = (struct rows){ .dimension = -1, .count = ir_index(pool, 1) };
	for (int d = 0; d < load->buf->rank; d++) {
		bool used[2 * IR_MAX_RANK] = { false };
		ir_mark_axes(load->arg[d], used);
		if (!used[x->axis])
			continue;
		expr stride = ir_stride(load->arg[d], x->axis);
		if (rows->dimension >= 0 || !stride || !ir_is_int(stride, 1))
			return false;
		rows->dimension = d;
	}
	if (rows->dimension < 0)
		return false;
	expr own = ir_axis(pool, x->axis, x->from), dim = load->buf->dim[rows->dimension];
	rows->before = ir_binary(IR_SUB, load->arg[rows->dimension], own);
	if (!rows->before->varies)
		return true;
	rows->row = ir_binary(IR_FLOORDIV, rows->before, x->from);
	rows->count = ir_binary(IR_FLOORDIV, dim, x->from);
	return rows->before == ir_binary(IR_MUL, rows->row, x->from) && dim == ir_binary(IR_MUL, rows->count, x->from);
}

/* Makes the operand read a padded copy of its buffer. */
static bool pad(struct contract *c, int side, struct padding *x)
{
	struct contract_operand *o = &c->side[side];
	struct ir_pool *pool = x->p->pool;
	expr load = contract_element_of(o), index[IR_MAX_RANK], from[IR_MAX_RANK];
	struct rows rows;
	int n = 0;
	if (o->computed) {
		expr in_row = ir_binary(IR_LT, ir_axis(pool, x->axis, x->to), x->from);
		o->value = ir_select(in_row, longer(x, o->value), ir_const(pool, o->type, 0));
		return true;
	}
	if (!load || !find_rows(x, load, &rows))
		return false;
	const struct ir_buffer *b = load->buf;
	struct ir_buffer *padded = NEW(x->p->arena, struct ir_buffer);
	*padded = (struct ir_buffer){ .name = b->name, .type = o->type, .rank = b->rank, .role = IR_TEMP };
	for (int d = 0; d < b->rank; d++) {
		if (d == rows.dimension)
			continue;
		index[n] = longer(x, load->arg[d]);
		padded->dim[n] = b->dim[d];
		from[d] = ir_axis(pool, n, b->dim[d]);
		n++;
	}
	padded->dim[n] = ir_binary(IR_MUL, rows.count, x->to);
	expr at = ir_axis(pool, n, padded->dim[n]), in_row = rows.row ? ir_binary(IR_MOD, at, x->to) : at;
	expr first = rows.row ? ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, at, x->to), x->from) : rows.before;
	index[n] = ir_axis(pool, x->axis, x->to);
	if (rows.row)
		index[n] = ir_binary(IR_ADD, ir_binary(IR_MUL, longer(x, rows.row), x->to), index[n]);
	from[rows.dimension] = ir_binary(IR_ADD, first, in_row);
	o->pack = NEW(x->p->arena, struct ir_stage);
	expr element = ir_cast(ir_load(pool, b, from), o->type);
	expr value = ir_select(ir_binary(IR_LT, in_row, x->from), element, ir_const(pool, o->type, 0));
	*o->pack = (struct ir_stage){ .kind = IR_MAP, .out = padded, .value = value };
	value = ir_load(pool, padded, index);
	if (o->value->op == IR_SELECT)
		value = ir_select(longer(x, o->value->arg[0]), value, longer(x, o->value->arg[2]));
	o->value = value;
	contract_find_way(c, side);
	return o->way == CONTRACT_STRAIGHT;
}

/* Pads that reduced axis, which becomes the innermost, to whole multiples. */
static bool pad_along(struct contract *c, int reduced, int multiple)
{
	struct ir_program *p = c->p;
	int n = 0, rank = c->s->space_rank;
	expr extent = c->s->space[reduced],
	     length = ir_binary(IR_MUL, ceil_div(p, extent, multiple), ir_index(p->pool, multiple));
	struct padding x = { p, c->s->out->rank + reduced, extent, length };
	if (c->low[reduced] || length == extent)
		return false;
	struct ir_stage *s = NEW(p->arena, struct ir_stage);
	*s = *c->s;
	expr inside = ir_binary(IR_LT, ir_axis(p->pool, x.axis, length), extent);
	s->space[reduced] = length;
	s->value = ir_select(inside, longer(&x, s->value), ir_const(p->pool, s->value->type, 0));
	c->s = s;
	c->depth = reduced_count(p, s);
	for (int i = 0; i < rank; i++)
		if (i != reduced)
			c->order[n++] = i;
	c->order[rank - 1] = reduced;
	return pad(c, 0, &x) && pad(c, 1, &x);
}

/* Length of the padded axis over that of the axis. */
static double waste(const struct contract *c, int reduced, int multiple)
{
	int64_t extent;
	if (!ir_const_int(c->s->space[reduced], &extent) || extent < 1)
		return 1;
	return (double)((extent + multiple - 1) / multiple * multiple) / (double)extent;
}

bool contract_match_padded(struct contract *c, int bytes)
{
	struct contract best;
	double least = 0;
	bool any = false;
	/* The share of two zero points counts all points of the sums; that of one is their sum of the other operand. */
	if (c->side[0].zero && c->side[1].zero)
		return false;
	for (int i = c->s->space_rank - 1; i >= 0; i--) {
		struct contract padded = *c;
		int multiple = bytes / contract_element_bytes(c);
		double more = waste(c, i, multiple);
		if (ir_is_int(c->s->space[i], 1) || (any && more >= least) || !pad_along(&padded, i, multiple))
			continue;
		best = padded;
		least = more;
		any = true;
	}
	if (any)
		*c = best;
	return any;
}
