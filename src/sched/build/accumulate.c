/* The accumulator of a reduction in a kernel: a sum, or the best value and its position. See accumulate.h. */
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"

static bool is_last(enum ir_combine c)
{
	return c == IR_ARGMAX_LAST || c == IR_ARGMIN_LAST;
}

expr reduced_count(struct ir_program *p, const struct ir_stage *s)
{
	expr n = ir_index(p->pool, 1);
	for (int k = 0; k < s->space_rank; k++)
		n = ir_binary(IR_MUL, n, s->space[k]);
	return n;
}

struct accumulator accumulator_of(struct ir_program *p, const struct ir_stage *s)
{
	struct accumulator a = { .p = p, .s = s };
	/* If the first of equals wins, "no value" is a position after all others; if the last wins, before all. */
	if (ir_combine_is_arg(s->combine))
		a.none = is_last(s->combine) ? ir_index(p->pool, -1) : reduced_count(p, s);
	return a;
}

struct accumulator accumulator_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s)
{
	struct accumulator a = accumulator_of(p, s);
	a.value = emit_combination(p, b, s->combine, s->value->type);
	if (a.none)
		a.position = emit_variable(p, b, "best_at", a.none);
	return a;
}

expr accumulator_position(const struct accumulator *a)
{
	struct ir_program *p = a->p;
	bool some = ir_nonnegative(ir_binary(IR_SUB, reduced_count(p, a->s), ir_index(p->pool, 1)));
	/* Without values the position is still `none`. If the first of equals wins, that is the number of values: 0. */
	return some || !is_last(a->s->combine) ? a->position : ir_binary(IR_MAX, a->position, ir_index(p->pool, 0));
}

expr accumulator_position_of_better(const struct accumulator *a)
{
	expr position = accumulator_position(a);
	if (is_last(a->s->combine)) /* equal values are better */
		return position;
	return ir_select(ir_binary(IR_EQ, a->position, a->none), ir_index(a->p->pool, 0), position);
}

expr accumulator_better(enum ir_combine c, expr value, expr best)
{
	bool least = c == IR_ARGMIN || c == IR_ARGMIN_LAST;
	expr low = least ? value : best, high = least ? best : value;
	if (!type_is_float(value->type))
		return ir_binary(is_last(c) ? IR_LE : IR_LT, low, high);
	/* & and |, not && and ||: with a branch for each of these, compilers neither join the loads of several elements
	 * nor unroll a loop that they do not know the length of. */
	if (is_last(c))
		return ir_binary(IR_BITOR, ir_binary(IR_LE, low, high), ir_unary(IR_ISNAN, value));
	/* Greater, or the first NaN: not less or equal, and no value is better than a NaN. */
	return ir_binary(IR_BITAND, ir_unary(IR_NOT, ir_binary(IR_LE, high, low)),
	                 ir_unary(IR_NOT, ir_unary(IR_ISNAN, best)));
}

struct ir_block *accumulate_inside(struct accumulator *a, struct ir_block *b, expr value, expr position, expr inside)
{
	struct ir_program *p = a->p;
	expr part = emit_constant(p, b, "part", value, NULL), best = a->value;
	expr better = ir_binary(IR_BITOR, ir_binary(IR_EQ, a->position, a->none),
	                        accumulator_better(a->s->combine, part, best));
	struct ir_block *then = emit_if(p, b, inside ? ir_binary(IR_BITAND, better, inside) : better);
	emit_assign(p, then, best, part);
	emit_assign(p, then, a->position, position);
	return then;
}

struct ir_block *accumulate(struct accumulator *a, struct ir_block *b, expr value, expr position)
{
	if (ir_combine_is_arg(a->s->combine))
		return accumulate_inside(a, b, value, position, NULL);
	emit_assign(a->p, b, a->value, ir_combine_expr(a->s->combine, a->value, value));
	return NULL;
}

expr accumulator_result(struct accumulator *a, const expr *axis, expr same, expr same_as)
{
	const struct ir_stage *s = a->s;
	bool arg = ir_combine_is_arg(s->combine);
	if (arg && !s->post)
		return ir_cast(accumulator_position(a), s->out->type);
	expr acc = arg ? accumulator_position(a) : a->value; /* only stages that rules make have both */
	struct axes post = { .value = axis, .same = same, .same_as = same_as, .acc = acc };
	return s->post ? to_kernel(a->p, s->post, &post) : ir_cast(a->value, s->out->type);
}

void axes_read(const struct ir_stage *s, bool *used)
{
	ir_mark_axes(s->value, used);
	if (s->post)
		ir_mark_axes(s->post, used);
}

void reduced_point(struct ir_program *p, const struct ir_stage *s, int64_t point, expr *axis)
{
	for (int k = s->space_rank - 1; k >= 0; k--) {
		int64_t extent;
		ck(ir_const_int(s->space[k], &extent));
		axis[k] = ir_index(p->pool, point % extent);
		point /= extent;
	}
}
