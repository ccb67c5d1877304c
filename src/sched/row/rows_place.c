/* Where rows lie in buffers: contiguous, or across one, so that neighbours in memory are elements of neighbouring rows,
 * as after a transposition. See rows.h. */
#include "sched/row/rows.h"

void rows_set_positions(struct ir_program *p, struct rows_stage *st, expr length)
{
	expr zero = ir_index(p->pool, 0), row = zero, at = zero;
	for (int k = 0; k < st->rank; k++) {
		expr *flat = k < st->row_rank ? &row : &at;
		*flat = ir_binary(IR_ADD, ir_binary(IR_MUL, *flat, st->dim[k]), ir_axis(p->pool, k, st->dim[k]));
	}
	st->row_at = row;
	st->at = at;
	st->full = ir_binary(IR_ADD, ir_binary(IR_MUL, row, length), at);
}

struct start_check {
	const struct rows *r;
	int row_rank;
	bool varies, fine;
};

static void check_start(void *user, expr e)
{
	struct start_check *c = user;
	if (e->op == IR_AXIS) {
		c->varies = true;
		c->fine &= e->i < c->row_rank;
	}
	for (int i = 0; i < c->r->stages && e->op == IR_LOAD; i++)
		c->fine &= c->r->stage[i].s->out != e->buf;
}

expr rows_start(const struct rows *r, const struct rows_stage *st, expr load, expr stride)
{
	expr from = ir_binary(IR_SUB, ir_flat(r->p->pool, load->buf, load->arg), ir_binary(IR_MUL, st->at, stride));
	struct start_check c = { r, st->row_rank, false, true };
	ir_walk(from, check_start, &c);
	return c.fine && c.varies ? from : NULL;
}

/* Number of the last of the axes first ... end - 1 whose extent is not 1; -1: none. */
static int last_axis(const struct rows_stage *st, int first, int end)
{
	for (int k = end - 1; k >= first; k--)
		if (!ir_is_int(st->dim[k], 1))
			return k;
	return -1;
}

/* True if elements of neighbouring rows are neighbours where the position starts from `from`. */
static bool rows_beside(const struct rows_stage *st, expr from)
{
	int last = last_axis(st, 0, st->row_rank);
	expr between = last >= 0 ? ir_stride(from, last) : NULL;
	return between && ir_is_int(between, 1);
}

bool rows_turned_load(const struct rows *r, const struct rows_stage *st, expr load, expr *from, expr *stride)
{
	int along = last_axis(st, st->row_rank, st->rank);
	*stride = along >= 0 ? ir_stride(ir_flat(r->p->pool, load->buf, load->arg), along) : NULL;
	if (!*stride || ir_is_int(*stride, 0))
		return false;
	*from = rows_start(r, st, load, *stride);
	return *from && rows_beside(st, *from);
}

/* The other axes, in their order, are the rows. */
bool rows_turned_map(struct rows_stage *out, const struct rows *r, const struct ir_stage *s, int along)
{
	const struct ir_buffer *b = s->out;
	expr axis[IR_MAX_RANK];
	int n = 0;
	if (b->dim[along] != r->length)
		return false;
	*out = (struct rows_stage){ .s = s, .kind = ROWS_MAP, .row_rank = b->rank - 1, .rank = b->rank };
	for (int k = 0; k < b->rank; k++) {
		int place = k == along ? b->rank - 1 : n++;
		out->dim[place] = b->dim[k];
		axis[k] = ir_axis(r->p->pool, place, b->dim[k]);
	}
	out->value = ir_bind_axes(r->p->pool, s->value, axis);
	out->to = ir_flat(r->p->pool, b, axis);
	rows_set_positions(r->p, out, r->length);
	expr stride = ir_stride(out->to, b->rank - 1);
	return stride && rows_beside(out, ir_binary(IR_SUB, out->to, ir_binary(IR_MUL, out->at, stride)));
}
