/* Lets a reduction of a whole tensor go over it in the order of its memory. A graph may reduce a transposition or a
 * reshape of the tensor, such as heads joined for a product whose input is quantised by its range. Inlined, that reads
 * the tensor in another order, in which no rule finds rows. All combinations commute. */
#include "ir/passes.h"

/* The tensor's axes as parts of the reduced axes: one is a whole axis, or its quotient or remainder by a constant. */
struct tensor_order {
	const struct ir_stage *s;
	expr load;
	bool other;              /* other: a load that may be as large */
	int rank;                /* of the new space */
	int64_t by[IR_MAX_RANK]; /* of an axis that is divided; 0: it is whole */
	int whole[IR_MAX_RANK], quotient[IR_MAX_RANK], rest[IR_MAX_RANK]; /* of an axis: the tensor's axis; -1: none */
};

static bool is_reduced(const struct tensor_order *o, expr e, int *axis)
{
	*axis = e->op == IR_AXIS ? (int)e->i - o->s->out->rank : -1;
	return *axis >= 0;
}

/* Enters what the tensor's axis k is. False if it is nothing of the kind, or there already. */
static bool enter(struct tensor_order *o, int k)
{
	expr e = o->load->arg[k];
	int axis, *place;
	int64_t by;
	if (ir_is_int(o->load->buf->dim[k], 1))
		return true;
	if (is_reduced(o, e, &axis)) {
		place = &o->whole[axis];
	} else {
		bool quotient = e->op == IR_FLOORDIV;
		if ((!quotient && e->op != IR_MOD) || !is_reduced(o, e->arg[0], &axis) ||
		    !ir_const_int(e->arg[1], &by) || (o->by[axis] && o->by[axis] != by))
			return false;
		o->by[axis] = by;
		place = quotient ? &o->quotient[axis] : &o->rest[axis];
	}
	if (*place >= 0)
		return false;
	*place = k;
	return true;
}

/* True if the points of the reduced axis are those of its parts. */
static bool is_covered(const struct tensor_order *o, int axis)
{
	expr const *dim = o->load->buf->dim, extent = o->s->space[axis];
	int whole = o->whole[axis], quotient = o->quotient[axis], rest = o->rest[axis];
	if (!o->by[axis])
		return whole >= 0 ? dim[whole] == extent : ir_is_int(extent, 1);
	return whole < 0 && quotient >= 0 && rest >= 0 && ir_is_int(dim[rest], o->by[axis]) &&
	       ir_binary(IR_MUL, dim[quotient], dim[rest]) == extent;
}

static bool find_order(struct tensor_order *o)
{
	for (int i = 0; i < o->s->space_rank; i++)
		o->whole[i] = o->quotient[i] = o->rest[i] = -1, o->by[i] = 0;
	for (int k = 0; k < o->load->buf->rank; k++)
		if (!enter(o, k))
			return false;
	for (int i = 0; i < o->s->space_rank; i++)
		if (!is_covered(o, i))
			return false;
	return true;
}

/* Takes the one load that all reduced axes lead to; others may follow a single axis, as a bias does. */
static void take_load(void *user, expr e)
{
	struct tensor_order *o = user;
	bool used[2 * IR_MAX_RANK] = { false };
	int axes = 0;
	if (e->op != IR_LOAD)
		return;
	ir_mark_axes(e, used);
	for (int i = 0; i < o->s->space_rank; i++)
		axes += used[o->s->out->rank + i];
	if (axes < 2)
		return;
	o->other |= o->load && o->load != e;
	o->load = e;
}

static void reorder(struct ir_program *p, struct ir_stage *s)
{
	struct tensor_order o = { .s = s };
	expr axis[2 * IR_MAX_RANK], place[IR_MAX_RANK], extent[IR_MAX_RANK];
	int n = 0, first = s->out->rank;
	ir_walk(s->value, take_load, &o);
	if (!o.load || o.other || !find_order(&o) || first + o.load->buf->rank > IR_MAX_RANK)
		return;
	for (int k = 0; k < o.load->buf->rank; k++) {
		expr dim = o.load->buf->dim[k];
		place[k] = ir_index(p->pool, 0);
		if (ir_is_int(dim, 1))
			continue;
		place[k] = ir_axis(p->pool, first + n, dim);
		extent[n++] = dim;
	}
	for (int k = 0; k < first; k++)
		axis[k] = ir_axis(p->pool, k, s->out->dim[k]);
	for (int i = 0; i < s->space_rank; i++) {
		expr by = ir_index(p->pool, o.by[i]);
		axis[first + i] =
		        o.by[i] ? ir_binary(IR_ADD, ir_binary(IR_MUL, place[o.quotient[i]], by), place[o.rest[i]])
		        : o.whole[i] >= 0 ? place[o.whole[i]]
		                          : ir_index(p->pool, 0);
	}
	s->value = ir_bind_axes(p->pool, s->value, axis);
	s->space_rank = n;
	for (int i = 0; i < n; i++)
		s->space[i] = extent[i];
}

void ir_reduce_in_order(struct ir_program *p)
{
	vec_each (s, &p->stages)
		if ((*s)->kind == IR_REDUCE && !ir_combine_is_arg((*s)->combine) && (*s)->space_rank > 1)
			reorder(p, *s);
}
