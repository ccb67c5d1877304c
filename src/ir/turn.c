/* Reductions over small windows in the order of axes in which a map reads their results. A depthwise convolution or
 * pooling of an image with channels last is exported with transpositions around it: its results lie in the order of its
 * input when the second of them has become the reduction's own. */
#include "ir/passes.h"

enum { WINDOW = 1024 /* elements of a window, at most: longer sums have rules that need rows in order */ };

/* How a map reads a buffer: its axis k at axis to[k] of the map, everywhere; -1: of one element, at 0. */
struct order {
	const struct ir_buffer *buf;
	struct ir_buffer *turned; /* the buffer with the map's axes */
	int to[IR_MAX_RANK];
	bool met, same;
};

static void find_order(void *user, expr e)
{
	struct order *o = user;
	bool used[IR_MAX_RANK] = { false };
	if (e->op != IR_LOAD || e->buf != o->buf)
		return;
	for (int k = 0; k < e->n && o->same; k++) {
		bool one = ir_is_int(e->arg[k], 0) && ir_is_int(o->buf->dim[k], 1);
		int axis = one ? -1 : e->arg[k]->op == IR_AXIS ? (int)e->arg[k]->i : e->n;
		o->same = axis < e->n && (one || !used[axis]) && (!o->met || o->to[k] == axis);
		if (!o->same)
			return;
		if (!one)
			used[axis] = true;
		o->to[k] = axis;
	}
	o->met = true;
}

/* Gives the axes at 0 the map's axes of one element that are left. False if there are none. */
static bool place_ones(struct order *o, const struct ir_buffer *out)
{
	bool used[IR_MAX_RANK] = { false };
	for (int k = 0; k < out->rank; k++)
		if (o->to[k] >= 0)
			used[o->to[k]] = true;
	for (int k = 0, at = 0; k < out->rank; k++) {
		if (o->to[k] >= 0)
			continue;
		while (used[at])
			at++;
		if (!ir_is_int(out->dim[at], 1))
			return false;
		o->to[k] = at++;
	}
	return true;
}

static expr load_turned(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct order *o = user;
	expr at[IR_MAX_RANK];
	if (e->op != IR_LOAD || e->buf != o->buf)
		return NULL;
	for (int k = 0; k < e->n; k++)
		at[o->to[k]] = arg[k];
	return ir_load(pool, o->turned, at);
}

/* Whether a load goes through memory in order along either of two axes. */
struct along {
	int axis[2];
	bool met[2];
};

static void find_along(void *user, expr e)
{
	struct along *a = user;
	if (e->op != IR_LOAD || e->n < 2)
		return;
	expr flat = ir_flat(e->pool, e->buf, e->arg);
	for (int i = 0; i < 2; i++) {
		expr stride = ir_stride(flat, a->axis[i]);
		a->met[i] |= stride && ir_is_int(stride, 1);
	}
}

bool ir_turn_reduction(struct ir_program *p, struct ir_stage *s, struct ir_stage *reader)
{
	int rank = s->out->rank;
	struct order o = { .buf = s->out, .same = true };
	if (s->kind != IR_REDUCE || ir_combine_is_arg(s->combine) || reader->kind != IR_MAP ||
	    reader->out->rank != rank || !ir_few_points(s, WINDOW))
		return false;
	ir_walk(reader->value, find_order, &o);
	if (!o.met || !o.same || !place_ones(&o, reader->out))
		return false;
	expr axis[2 * IR_MAX_RANK], dim[IR_MAX_RANK];
	struct along along = { .axis = { rank - 1, rank - 1 } };
	for (int k = 0; k < rank; k++) {
		dim[o.to[k]] = s->out->dim[k];
		if (o.to[k] == rank - 1)
			along.axis[1] = k;
	}
	ir_walk(s->value, find_along, &along);
	if (along.met[0] || !along.met[1])
		return false;
	for (int k = 0; k < rank; k++)
		axis[k] = ir_axis(p->pool, o.to[k], s->out->dim[k]);
	for (int k = 0; k < s->space_rank; k++)
		axis[rank + k] = ir_axis(p->pool, rank + k, s->space[k]);
	o.turned = ir_buffer_new(p, s->out->name, s->out->type, rank, dim, IR_TEMP);
	reader->value = ir_copy(p->pool, reader->value, load_turned, &o);
	s->value = ir_bind_axes(p->pool, s->value, axis);
	if (s->post)
		s->post = ir_bind_axes(p->pool, s->post, axis);
	s->out = o.turned;
	return true;
}
