/* Reductions over a concatenation of a long part and one element, before it or after it: as of scores and a sink, in
 * which a softmax may put the rest of its weight. The element is combined with the result over the long part, over
 * which rules then find rows and attention. Sums of products stay: their weights are those of all elements. */
#include "ir/passes.h"

enum { LONG = 16 /* elements, at least, of the long part */ };

/* A reduction, and whether a selection takes one element at its begin or end. */
struct joined {
	const struct ir_stage *s;
	bool first, last;
};

/* e with the reduced axis at `at`. */
static expr bind_reduced(const struct ir_stage *s, expr e, expr at)
{
	int rank = s->out->rank;
	expr axis[IR_MAX_RANK + 1];
	for (int k = 0; k < rank; k++)
		axis[k] = ir_axis(e->pool, k, s->out->dim[k]);
	axis[rank] = at;
	return ir_bind_axes(e->pool, e, axis);
}

/* The long part's positions after a first element, or before a last one. */
static expr others(const struct ir_stage *s, bool first)
{
	expr one = ir_index(s->value->pool, 1);
	expr axis = ir_axis(s->value->pool, s->out->rank, ir_binary(IR_SUB, s->space[0], one));
	return first ? ir_binary(IR_ADD, axis, one) : axis;
}

static expr element(const struct ir_stage *s, bool first)
{
	struct ir_pool *pool = s->value->pool;
	return first ? ir_index(pool, 0) : ir_binary(IR_SUB, s->space[0], ir_index(pool, 1));
}

/* True if condition e chooses between the element and all others. */
static bool tells(const struct ir_stage *s, expr e, bool first)
{
	int64_t here, there;
	return ir_const_int(bind_reduced(s, e, element(s, first)), &here) &&
	       ir_const_int(bind_reduced(s, e, others(s, first)), &there) && here != there;
}

static void find_joined(void *user, expr e)
{
	struct joined *j = user;
	if (e->op != IR_SELECT || ir_uses(e->arg[0], IR_LOAD) || !ir_uses(e->arg[0], IR_AXIS))
		return;
	j->first = j->first || tells(j->s, e->arg[0], true);
	j->last = j->last || tells(j->s, e->arg[0], false);
}

static void split(struct ir_stage *s)
{
	int64_t n;
	struct joined j = { .s = s };
	if (s->kind != IR_REDUCE || s->combine == IR_NONE || ir_combine_is_arg(s->combine) || s->space_rank != 1 ||
	    ir_sums_products(s) || (ir_const_int(s->space[0], &n) && n <= LONG))
		return;
	ir_walk(s->value, find_joined, &j);
	if (j.first == j.last)
		return;
	struct ir_pool *pool = s->value->pool;
	expr one = bind_reduced(s, s->value, element(s, j.first)), rest = others(s, j.first);
	s->post = ir_stage_result(pool, s, ir_combine_expr(s->combine, ir_acc(pool, s->value->type), one));
	s->value = bind_reduced(s, s->value, rest);
	s->space[0] = ir_binary(IR_SUB, s->space[0], ir_index(pool, 1));
}

void ir_split_joined(struct ir_program *p)
{
	vec_each (s, &p->stages)
		split(*s);
}
