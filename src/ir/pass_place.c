/* Lets an output have the memory of a spare input, if it is that input with some elements replaced: the update of a
 * cache. A scatter into a copy of the input stays as it is; a map that selects the input's element or another value
 * becomes a scatter of the other values. A kernel then copies the input only if the memory is not the same. */
#include "ir/passes.h"

static bool fits(const struct ir_program *p, const struct ir_buffer *in, const struct ir_buffer *out)
{
	if (!in->spare || in->type != out->type || in->edge != out->edge || in->rank == 0 || type_is_packed(in->type) ||
	    ir_value_is(p, in) || !ir_same_extents(in, out))
		return false;
	vec_each (b, &p->outputs)
		if ((*b)->replaces == in)
			return false;
	return true;
}

bool ir_may_replace(const struct ir_program *p, const struct ir_buffer *out)
{
	if (out->role != IR_OUTPUT || out->replaces)
		return false;
	vec_each (in, &p->inputs)
		if (fits(p, *in, out))
			return true;
	return false;
}

/* in[i...] */
static expr own_element(struct ir_program *p, struct ir_buffer *in)
{
	expr index[IR_MAX_RANK];
	for (int k = 0; k < in->rank; k++)
		index[k] = ir_axis(p->pool, k, in->dim[k]);
	return ir_load(p->pool, in, index);
}

/* A value of an output's element, apart from where it is the input's. */
struct change {
	expr where; /* bool */
	expr value; /* null: nowhere another one */
};

/* Splits `e`, which may be the input's own element only as a whole or as a branch of selects. */
static bool split(struct change *x, struct ir_pool *pool, expr e, expr own)
{
	struct change a, b;
	*x = (struct change){ ir_int(pool, TYPE_BOOL, 0), NULL };
	if (e == own)
		return true;
	if (!ir_reads(e, own->buf)) {
		*x = (struct change){ ir_int(pool, TYPE_BOOL, 1), e };
		return true;
	}
	if (e->op != IR_SELECT || ir_reads(e->arg[0], own->buf) || !split(&a, pool, e->arg[1], own) ||
	    !split(&b, pool, e->arg[2], own))
		return false;
	x->where = ir_select(e->arg[0], a.where, b.where);
	x->value = a.value && b.value ? ir_select(e->arg[0], a.value, b.value) : a.value ? a.value : b.value;
	return true;
}

/* ---- The range of an axis that a condition allows. */

struct range {
	expr first, last; /* null: no bound */
};

/* Notes the bound that a comparison gives for an axis: d >= 0 with d = axis - first, or last - axis. */
static void note_bound(struct range *r, expr axis, expr d)
{
	expr stride = ir_stride(d, (int)axis->i), bound;
	int64_t n;
	bool used[IR_MAX_RANK] = { false };
	if (!stride || !ir_const_int(stride, &n) || (n != 1 && n != -1))
		return;
	bound = ir_binary(n == 1 ? IR_SUB : IR_ADD, axis, d);
	ir_mark_axes(bound, used);
	if (used[axis->i])
		return;
	if (n == 1 && !r->first)
		r->first = bound;
	if (n == -1 && !r->last)
		r->last = bound;
}

static void find_bounds(struct range *r, struct ir_pool *pool, expr axis, expr where)
{
	if (where->op == IR_AND) {
		find_bounds(r, pool, axis, where->arg[0]);
		find_bounds(r, pool, axis, where->arg[1]);
	}
	if ((where->op != IR_LT && where->op != IR_LE) || where->arg[0]->type != TYPE_INDEX)
		return;
	expr d = ir_binary(IR_SUB, where->arg[1], where->arg[0]);
	note_bound(r, axis, where->op == IR_LT ? ir_binary(IR_SUB, d, ir_index(pool, 1)) : d);
}

/* True if an expression is a number known at launch. */
static bool is_extent(expr e)
{
	bool used[IR_MAX_RANK] = { false };
	ir_mark_axes(e, used);
	for (int k = 0; k < IR_MAX_RANK; k++)
		if (used[k])
			return false;
	return !ir_uses(e, IR_LOAD);
}

/* Shortens axis k of a scatter whose updates go to their own places, if the condition allows only a range of known
 * length: its places are then first + axis. */
static void shorten(struct ir_pool *pool, struct ir_stage *s, int k)
{
	struct range r = { NULL, NULL };
	expr axis[IR_MAX_RANK], one = ir_index(pool, 1), n, place;
	find_bounds(&r, pool, s->at[k], s->where);
	if (!r.first || !r.last)
		return;
	n = ir_binary(IR_ADD, ir_binary(IR_SUB, r.last, r.first), one);
	if (!is_extent(n) || ir_less(s->space[k], n))
		return;
	for (int i = 0; i < s->space_rank; i++)
		axis[i] = s->at[i];
	axis[k] = place = ir_binary(IR_ADD, r.first, ir_axis(pool, k, n));
	s->value = ir_bind_axes(pool, s->value, axis);
	s->where = ir_bind_axes(pool, s->where, axis);
	s->where = ir_binary(IR_AND, s->where, ir_binary(IR_LE, ir_index(pool, 0), place));
	s->where = ir_binary(IR_AND, s->where, ir_binary(IR_LT, place, s->out->dim[k]));
	s->at[k] = place;
	s->space[k] = n;
}

/* ---- Stages. */

static void become_scatter(struct ir_program *p, struct ir_stage *s, const struct change *x, expr own)
{
	*s = (struct ir_stage){ .kind = IR_SCATTER,
		                .out = s->out,
		                .space_rank = s->out->rank,
		                .init = own,
		                .value = x->value,
		                .where = x->where };
	for (int k = 0; k < s->out->rank; k++) {
		s->space[k] = s->out->dim[k];
		s->at[k] = ir_axis(p->pool, k, s->out->dim[k]);
	}
	for (int k = 0; k < s->out->rank; k++)
		if (s->at[k]->op == IR_AXIS)
			shorten(p->pool, s, k);
}

static bool read_elsewhere(const struct ir_program *p, const struct ir_stage *s, const struct ir_buffer *in)
{
	vec_each (other, &p->stages)
		if (*other != s && ir_stage_reads(*other, in))
			return true;
	return false;
}

static bool is_copy_updated(const struct ir_stage *s, expr own)
{
	const struct ir_buffer *in = own->buf;
	bool again = ir_reads(s->value, in) || (s->where && ir_reads(s->where, in));
	for (int k = 0; k < s->out->rank; k++)
		again |= ir_reads(s->at[k], in);
	return !again && s->init == own;
}

static void place(struct ir_program *p, struct ir_stage *s, struct ir_buffer *in)
{
	struct change x;
	expr own = own_element(p, in);
	if (read_elsewhere(p, s, in))
		return;
	if (s->kind == IR_SCATTER && is_copy_updated(s, own))
		s->out->replaces = in;
	if (s->kind != IR_MAP || !split(&x, p->pool, s->value, own) || !x.value || ir_is_int(x.where, 1))
		return;
	become_scatter(p, s, &x, own);
	s->out->replaces = in;
}

int ir_pass_place(struct ir_program *p, struct err *e)
{
	(void)e;
	vec_each (s, &p->stages)
		vec_each (in, &p->inputs)
			if ((*s)->out->role == IR_OUTPUT && !(*s)->out->replaces && fits(p, *in, (*s)->out))
				place(p, *s, *in);
	return 0;
}
