/* The largest value of a function that rises is its value at the largest argument, and that of a function that falls
 * its value at the smallest. So max over r of sigmoid(x[r]) becomes sigmoid(max over r of x[r]): one exponential an
 * element of the result, not one a term. An example is the score of a detector's best class. This is exact. Rounding
 * keeps the order of numbers, a step is taken only if it gives NaN exactly for NaN, and the largest of some numbers of
 * which one is NaN is NaN. Positions (arg max) stay: two arguments can round to one value. */
#include "ir/passes.h"

#include <math.h>

enum direction { FALLS = -1, NEITHER, RISES };

/* A reduction's value as a function of the part of it that varies along the reduced axes. */
struct rising {
	const struct ir_stage *s;
	expr argument;
	enum direction direction;
};

static bool varies_along(const struct ir_stage *s, expr e)
{
	bool used[2 * IR_MAX_RANK] = { false }, varies = false;
	ir_mark_axes(e, used);
	for (int i = 0; i < s->space_rank; i++)
		varies |= used[s->out->rank + i];
	return varies;
}

/* The only operand that varies along the reduced axes; -1: several, or e is a leaf. */
static int varying_operand(const struct ir_stage *s, expr e)
{
	int found = -1, n = 0;
	for (int i = 0; i < e->n && e->op != IR_LOAD; i++)
		if (varies_along(s, e->arg[i])) {
			found = i;
			n++;
		}
	return n == 1 ? found : -1;
}

static enum direction by_sign(const struct ir_float_range *r, bool zero)
{
	if (zero ? r->low >= 0 : r->low > 0)
		return RISES;
	return (zero ? r->high <= 0 : r->high < 0) ? FALLS : NEITHER;
}

/* How e changes as its operand k rises; NEITHER also if it may be NaN where no operand is. */
static enum direction step_of_two(expr e, int k)
{
	struct ir_float_range a = ir_float_range(e->arg[0]), b = ir_float_range(e->arg[1]);
	a.nan = b.nan = false;
	const struct ir_float_range *other = k ? &a : &b;
	if (ir_range_of_two(e->op, a, b).nan)
		return NEITHER;
	switch (e->op) {
	case IR_ADD:
	case IR_MIN:
	case IR_MAX: return RISES;
	case IR_SUB: return k ? FALLS : RISES;
	case IR_MUL: return by_sign(other, true);
	case IR_DIV:
		return k == 0 ? by_sign(other, false) : by_sign(&b, false) == NEITHER ? NEITHER : -by_sign(other, true);
	default: return NEITHER;
	}
}

static enum direction step(expr e, int k)
{
	if (!ir_rounds_in_order(e->type) || !ir_rounds_in_order(e->arg[k]->type))
		return NEITHER;
	if (e->n == 2)
		return step_of_two(e, k);
	switch (e->op) {
	case IR_CAST:
	case IR_FLOOR:
	case IR_CEIL:
	case IR_TRUNC:
	case IR_ROUND_EVEN:
	case IR_EXP:
	case IR_EXPM1:
	case IR_SINH:
	case IR_ASINH:
	case IR_TANH:
	case IR_ATAN:
	case IR_ERF: return RISES;
	case IR_SQRT:
	case IR_LOG: return ir_float_range(e->arg[0]).low >= 0 ? RISES : NEITHER;
	case IR_LOG1P: return ir_float_range(e->arg[0]).low >= -1 ? RISES : NEITHER;
	case IR_NEG: return FALLS;
	default: return NEITHER;
	}
}

/* Follows the value to the innermost argument of its type, past at least one function that costs more than a scale. */
static bool find_argument(struct rising *f)
{
	enum direction all = RISES, one;
	bool calls = false, found = false;
	expr e = f->s->value;
	for (int k; (k = varying_operand(f->s, e)) >= 0 && (one = step(e, k)) != NEITHER; e = e->arg[k]) {
		calls |= ir_op_info[e->op].kind == IR_CALL;
		all *= one;
		if (calls && e->arg[k]->type == f->s->value->type) {
			f->argument = e->arg[k];
			f->direction = all;
			found = true;
		}
	}
	return found;
}

/* e with the argument replaced by `to`. */
static expr function_of(const struct rising *f, expr e, expr to)
{
	expr arg[3];
	if (e == f->argument)
		return to;
	int k = varying_operand(f->s, e);
	ck(k >= 0 && e->n <= 3);
	for (int i = 0; i < e->n; i++)
		arg[i] = i == k ? function_of(f, e->arg[i], to) : e->arg[i];
	return ir_rebuild(e, arg);
}

static expr replace_acc(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	(void)p;
	(void)arg;
	return e->op == IR_ACC ? *(expr *)user : NULL;
}

/* True if another reduction computes the same value for each point: a softmax, whose terms one kernel keeps. */
static bool is_shared(const struct ir_program *p, const struct ir_stage *s)
{
	bool shared = false;
	vec_each (o, &p->stages)
		shared |= *o != s && (*o)->kind == IR_REDUCE && ir_contains((*o)->value, s->value);
	return shared;
}

static bool may_be_empty(struct ir_program *p, const struct ir_stage *s)
{
	bool empty = false;
	for (int i = 0; i < s->space_rank; i++)
		empty |= !ir_less(ir_index(p->pool, 0), s->space[i]);
	return empty;
}

static void rewrite(struct ir_program *p, struct ir_stage *s)
{
	struct rising f = { .s = s };
	if (may_be_empty(p, s) || !find_argument(&f) || is_shared(p, s))
		return;
	expr acc = function_of(&f, s->value, ir_acc(p->pool, s->value->type)), post = acc;
	post = ir_copy(p->pool, ir_stage_result(p->pool, s, ir_acc(p->pool, s->value->type)), replace_acc, &acc);
	if (post->depth > IR_MAX_DEPTH || post->size > IR_MAX_SIZE)
		return;
	if (f.direction == FALLS)
		s->combine = s->combine == IR_MAXIMUM ? IR_MINIMUM : IR_MAXIMUM;
	s->value = f.argument;
	s->post = post;
}

void ir_reduce_arguments(struct ir_program *p)
{
	vec_each (s, &p->stages)
		if ((*s)->kind == IR_REDUCE && ((*s)->combine == IR_MAXIMUM || (*s)->combine == IR_MINIMUM))
			rewrite(p, *s);
}
