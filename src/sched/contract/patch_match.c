/* Recognises sums of products over windows of an image. See patch.h. */
#include "sched/contract/patch.h"
#include "sched/build/axes.h"

static expr extent_of(const struct contract *c, int axis)
{
	int rank = c->s->out->rank;
	return axis < rank ? c->s->out->dim[axis] : c->s->space[axis - rank];
}

static bool uses(expr e, int axis)
{
	bool used[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(e, used);
	return used[axis];
}

/* Takes `axis` out of *e, which it changes by a small constant. */
static bool take_axis(const struct contract *c, expr *e, int axis, int *step)
{
	enum { FARTHEST = 16 };
	int64_t by;
	expr stride = ir_stride(*e, axis);
	if (!stride || !ir_const_int(stride, &by) || by < 1 || by > FARTHEST)
		return false;
	*e = ir_binary(IR_SUB, *e, ir_binary(IR_MUL, stride, ir_axis(c->p->pool, axis, extent_of(c, axis))));
	*step = (int)by;
	return true;
}

/* Finds the window along the result's axis. */
static bool find_way(struct patch *f, expr load, int way, int axis)
{
	const struct contract *c = &f->c;
	int rank = c->s->out->rank, dim = -1, tap = -1;
	for (int d = 0; d < load->buf->rank; d++) {
		if (!uses(load->arg[d], axis))
			continue;
		if (dim >= 0)
			return false;
		dim = d;
	}
	if (dim < 0)
		return false;
	expr rest = load->arg[dim];
	for (int k = rank; k < rank + c->s->space_rank; k++)
		if (uses(rest, k) && !ir_is_int(extent_of(c, k), 1)) {
			if (tap >= 0)
				return false;
			tap = k;
		}
	if (tap < 0 || !ir_const_int(extent_of(c, tap), &f->taps[way]) || !take_axis(c, &rest, axis, &f->step[way]) ||
	    !take_axis(c, &rest, tap, &f->apart[way]) || rest->varies)
		return false;
	for (int d = 0; d < load->buf->rank; d++)
		if (d != dim && uses(load->arg[d], tap))
			return false;
	f->axis[way] = axis;
	f->tap[way] = tap;
	f->dim[way] = dim;
	f->rest[way] = rest;
	return true;
}

/* The last axis of the image before `before`, in the order of the columns, that has several elements; -1: none. */
static int column_before(const struct contract *c, int *before)
{
	while (--*before >= 0) {
		int axis = c->axis[CONTRACT_COLUMN][*before];
		if (!ir_is_int(c->s->out->dim[axis], 1))
			return axis;
	}
	return -1;
}

static bool find_windows(struct patch *f, expr load)
{
	const struct contract *c = &f->c;
	int before = c->axes[CONTRACT_COLUMN], across = column_before(c, &before), down = column_before(c, &before);
	if (across < 0 || !find_way(f, load, PATCH_ACROSS, across))
		return false;
	if (down >= 0 && !find_way(f, load, PATCH_DOWN, down)) {
		f->taps[PATCH_DOWN] = f->step[PATCH_DOWN] = f->apart[PATCH_DOWN] = 1;
		f->axis[PATCH_DOWN] = f->tap[PATCH_DOWN] = f->dim[PATCH_DOWN] = -1;
	}
	return f->taps[PATCH_DOWN] * f->taps[PATCH_ACROSS] <= 128;
}

/* The other reduced axis is the channels'. */
static bool find_channel(struct patch *f)
{
	const struct contract *c = &f->c;
	int rank = c->s->out->rank;
	f->channel = -1;
	for (int k = rank; k < rank + c->s->space_rank; k++) {
		if (k == f->tap[PATCH_DOWN] || k == f->tap[PATCH_ACROSS] || ir_is_int(extent_of(c, k), 1))
			continue;
		if (f->channel >= 0)
			return false;
		f->channel = k;
	}
	return f->channel >= 0;
}

bool patch_match(struct patch *f, struct ir_program *p, const struct ir_stage *s, bool plain)
{
	*f = (struct patch){ .axis = { -1, -1 }, .tap = { -1, -1 }, .dim = { -1, -1 }, .taps = { 1, 1 } };
	struct contract *c = &f->c;
	f->step[PATCH_DOWN] = f->apart[PATCH_DOWN] = 1;
	if (!contract_match(c, p, s) || c->plain != plain || c->s->value->type != TYPE_F32)
		return false;
	const struct contract_operand *weights = &c->side[0], *image = &c->side[1];
	expr load = contract_load_of(image), condition = contract_condition_of(image);
	if (!load || !contract_load_of(weights) || weights->type != image->type ||
	    (condition && !contract_tests_bounds(c, condition, load)))
		return false;
	for (int i = 0; i < c->s->space_rank; i++)
		if (c->low[i])
			return false;
	return find_windows(f, load) && find_channel(f);
}
