/* Reductions over small windows in the order of axes in which a map reads their results. A depthwise convolution or
 * pooling of an image with channels last is exported with transpositions around it: its results lie in the order of its
 * input when the second of them has become the reduction's own. */
#include "ir/passes.h"

enum { WINDOW = 1024 /* elements of a window, at most: longer sums have rules that need rows in order */ };

/* A buffer with one of its axes last. */
struct order {
	const struct ir_buffer *buf;
	struct ir_buffer *turned;
	int to[IR_MAX_RANK]; /* axis k of the buffer is axis to[k] */
	struct ir_buffer as; /* the extents alone */
	expr place;          /* the position of the map's element */
	bool met, same;
};

static void set_order(struct order *o, int last)
{
	int rank = o->buf->rank;
	o->as = (struct ir_buffer){ .rank = rank };
	for (int k = 0; k < rank; k++) {
		o->to[k] = k == last ? rank - 1 : k - (k > last);
		o->as.dim[o->to[k]] = o->buf->dim[k];
	}
}

static void find_order(void *user, expr e)
{
	struct order *o = user;
	expr at[IR_MAX_RANK];
	if (e->op != IR_LOAD || e->buf != o->buf || !o->same)
		return;
	for (int k = 0; k < e->n; k++)
		at[o->to[k]] = e->arg[k];
	o->met = true;
	o->same = ir_is_int(ir_binary(IR_SUB, ir_flat(e->pool, &o->as, at), o->place), 0);
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

/* The axis along which the reduction's loads are in order, if none is along the last; -1: there is none. */
static int axis_along(const struct ir_stage *s)
{
	int last = s->out->rank - 1;
	for (int k = 0; k < last; k++) {
		struct along along = { .axis = { last, k } };
		ir_walk(s->value, find_along, &along);
		if (along.met[1] && !along.met[0])
			return k;
	}
	return -1;
}

bool ir_turn_reduction(struct ir_program *p, struct ir_stage *s, struct ir_stage *reader)
{
	int rank = s->out->rank, last;
	struct order o = { .buf = s->out, .same = true };
	expr axis[2 * IR_MAX_RANK];
	if (s->kind != IR_REDUCE || ir_combine_is_arg(s->combine) || reader->kind != IR_MAP ||
	    ir_buffer_count(p, s->out) != ir_buffer_count(p, reader->out) || !ir_few_points(s, WINDOW) ||
	    (last = axis_along(s)) < 0)
		return false;
	set_order(&o, last);
	o.place = ir_own_position(p->pool, reader->out);
	ir_walk(reader->value, find_order, &o);
	if (!o.met || !o.same)
		return false;
	for (int k = 0; k < rank; k++)
		axis[k] = ir_axis(p->pool, o.to[k], s->out->dim[k]);
	for (int k = 0; k < s->space_rank; k++)
		axis[rank + k] = ir_axis(p->pool, rank + k, s->space[k]);
	o.turned = ir_buffer_new(p, s->out->name, s->out->type, rank, o.as.dim, IR_TEMP);
	reader->value = ir_copy(p->pool, reader->value, load_turned, &o);
	s->value = ir_bind_axes(p->pool, s->value, axis);
	if (s->post)
		s->post = ir_bind_axes(p->pool, s->post, axis);
	s->out = o.turned;
	return true;
}
