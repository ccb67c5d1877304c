/* Computes only what is read. A slice of a result, such as that of a causal convolution padded at both ends, or the
 * first token after a norm, leaves elements of it that no stage reads: the stage gets smaller extents, and the slice is
 * then a map over exactly its result. */
#include "ir/passes.h"

/* The places at which stages read an axis of a buffer: from `low` to `high`, if `known`. */
struct span {
	const struct ir_buffer *buf;
	int axis;
	bool met, known;
	int64_t low;
	expr high;
};

static void find_span(void *user, expr e)
{
	struct span *x = user;
	int64_t low;
	if (e->op != IR_LOAD || e->buf != x->buf || !x->known)
		return;
	expr least = ir_lower_bound(e->arg[x->axis]), most = ir_upper_bound(e->arg[x->axis]);
	x->known = least && most && ir_const_int(least, &low);
	if (!x->known)
		return;
	low = low < 0 ? 0 : low;
	x->low = !x->met || low < x->low ? low : x->low;
	if (!x->met || ir_no_more(x->high, most))
		x->high = most;
	else
		x->known = ir_no_more(most, x->high);
	x->met = true;
}

static void find_in(void *user, expr e, const char *role)
{
	const struct span *x = user;
	(void)role;
	if (ir_reads(e, x->buf))
		ir_walk(e, find_span, user);
}

/* A smaller buffer in the place of another: its element [i, j...] is the other's [i + low[0], j + low[1]...]. */
struct narrowed {
	const struct ir_buffer *buf;
	struct ir_buffer *to;
	int64_t low[IR_MAX_RANK];
};

static expr load_narrowed(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct narrowed *x = user;
	expr at[IR_MAX_RANK];
	if (e->op != IR_LOAD || e->buf != x->buf)
		return NULL;
	for (int k = 0; k < e->n; k++)
		at[k] = ir_binary(IR_SUB, arg[k], ir_index(pool, x->low[k]));
	return ir_load(pool, x->to, at);
}

static void narrow_slot(void *user, expr *slot, const char *role)
{
	const struct narrowed *x = user;
	(void)role;
	if (ir_reads(*slot, x->buf))
		*slot = ir_copy((*slot)->pool, *slot, load_narrowed, user);
}

static bool narrow(struct ir_program *p, int i)
{
	struct ir_stage *s = p->stages.at[i];
	struct narrowed x = { .buf = s->out };
	int rank = s->out->rank;
	expr dim[IR_MAX_RANK], axis[2 * IR_MAX_RANK];
	bool smaller = false;
	if ((s->kind != IR_MAP && s->kind != IR_REDUCE) || s->out->role != IR_TEMP || type_is_packed(s->out->type))
		return false;
	for (int j = i + 1; j < p->stages.n; j++)
		if (p->stages.at[j]->loop && ir_loop_copies(p->stages.at[j]->loop, s->out))
			return false;
	for (int k = 0; k < rank; k++) {
		struct span span = { .buf = s->out, .axis = k, .known = true };
		dim[k] = s->out->dim[k];
		for (int j = i + 1; j < p->stages.n; j++)
			ir_stage_exprs(p->stages.at[j], find_in, &span);
		if (!span.met)
			return false;
		if (span.known) {
			expr n = ir_binary(IR_SUB, span.high, ir_index(p->pool, span.low - 1));
			if (ir_no_more(ir_binary(IR_ADD, n, ir_index(p->pool, 1)), dim[k])) {
				smaller = true;
				dim[k] = n;
				x.low[k] = span.low;
			}
		}
		axis[k] = ir_binary(IR_ADD, ir_axis(p->pool, k, dim[k]), ir_index(p->pool, x.low[k]));
	}
	if (!smaller)
		return false;
	for (int k = 0; k < s->space_rank; k++)
		axis[rank + k] = ir_axis(p->pool, rank + k, s->space[k]);
	x.to = ir_buffer_new(p, s->out->name, s->out->type, rank, dim, IR_TEMP);
	s->value = ir_bind_axes(p->pool, s->value, axis);
	if (s->post)
		s->post = ir_bind_axes(p->pool, s->post, axis);
	s->out = x.to;
	for (int j = i + 1; j < p->stages.n; j++)
		ir_stage_slots(p->stages.at[j], narrow_slot, &x);
	return true;
}

bool ir_narrow_results(struct ir_program *p)
{
	bool any = false;
	for (int i = p->stages.n - 1; i >= 0; i--)
		any |= narrow(p, i);
	return any;
}
