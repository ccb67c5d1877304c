/* Divisions and remainders in both languages: by constants, by extents with an inverse, and the fast forms of floats.
 */
#include "gen/text.h"

#include <math.h>

/* True if many elements are divided by the same value, so that its reciprocal pays off: quotient() in tpat_types.h. Not
 * for powers of two, where compilers multiply. */
static bool same_divisor(const struct gen_text *g, expr e)
{
	enum { MANY = 4 };
	int exponent, turns = 1;
	expr by = e->arg[1];
	if (!g->target->forms || e->op != IR_DIV || e->type != TYPE_F32)
		return false;
	if (by->op == IR_CONST_FLOAT)
		return fabs(frexp(by->f, &exponent)) != 0.5 && fabs(by->f) >= 0x1p-100 && fabs(by->f) <= 0x1p100;
	if (e->arg[0]->op == IR_CONST_FLOAT)
		return false;
	for (int d = gen_value_depth(g, by) + 1; d <= g->depth && turns < MANY; d++)
		turns *= g->turns[d];
	return turns >= MANY;
}

/* The least value that an f32 sum of nonnegative terms has, if it is a number; -1: something else. */
static double least_of(expr e)
{
	if (e->op == IR_CONST_FLOAT)
		return e->f >= 0 ? e->f : -1;
	if (e->op != IR_ADD)
		return e->op == IR_EXP || e->op == IR_ABS || e->op == IR_SQRT ? 0 : -1;
	double a = least_of(e->arg[0]), b = least_of(e->arg[1]);
	return a < 0 || b < 0 ? -1 : a + b;
}

/* True for 1 / x with x of at least 2^-126, as in a logistic function: reciprocal() in tpat_types.h. */
static bool reciprocal(const struct gen_text *g, expr e)
{
	return g->target->forms && e->op == IR_DIV && e->type == TYPE_F32 && e->arg[0]->op == IR_CONST_FLOAT &&
	       e->arg[0]->f == 1 && e->arg[1]->op == IR_ADD && least_of(e->arg[1]) >= 0x1p-126;
}

/* True for divisions in a gen_coarse kernel, except by powers of two, where compilers multiply. */
static bool coarse_division(const struct gen_text *g, expr e)
{
	return g->coarse && e->op == IR_DIV && e->type == TYPE_F32 &&
	       (e->arg[1]->op != IR_CONST_FLOAT || same_divisor(g, e));
}

bool gen_plain_division(expr e)
{
	int64_t d;
	bool constant = ir_const_int(e->arg[1], &d) && d > 0;
	if (e->op == IR_DIV || e->op == IR_REM)
		return constant;
	if (e->type == TYPE_INDEX) /* an extent: if it is zero, there is nothing to compute */
		return (constant || (!e->arg[1]->varies && ir_nonnegative(e->arg[1]))) && ir_nonnegative(e->arg[0]);
	return constant && type_info(e->type)->class == CLASS_UINT;
}

/* The divisor with its inverse, if the host passes that; else null. */
static const struct ir_variable *inverted_divisor(const struct gen_text *g, expr e)
{
	if (e->type != TYPE_INDEX || !gen_index32(g))
		return NULL;
	vec_each (x, &g->kernel->parameters)
		if (x->divisor == e->arg[1])
			return x->by;
	return NULL;
}

/* a / by, or floor_div(a, by) if a may be negative. */
static void print_inverted(struct gen_text *g, expr e, const struct ir_variable *by)
{
	bool divide = e->op == IR_FLOORDIV, plain = ir_nonnegative(e->arg[0]);
	if (!plain)
		str_printf(g->out, "%s(", gen_call_name(g, divide ? FN_FLOOR_DIV : FN_FLOOR_MOD, e->type, e->type));
	gen_print(g, e->arg[0], plain ? PREC_MUL : 0);
	str_printf(g->out, plain ? divide ? " / %s" : " %% %s" : ", %s)", gen_name(g, by));
}

void gen_division(struct gen_text *g, expr e)
{
	const struct ir_variable *by = inverted_divisor(g, e);
	if (by) {
		print_inverted(g, e, by);
		return;
	}
	bool divide = e->op == IR_DIV || e->op == IR_FLOORDIV, floors = e->op == IR_FLOORDIV || e->op == IR_MOD;
	if (coarse_division(g, e) && e->arg[1]->op == IR_CONST_FLOAT) {
		gen_print(g, e->arg[0], PREC_MUL);
		str_add(g->out, " * ");
		gen_float(g->out, (float)(1 / e->arg[1]->f), true);
	} else if (coarse_division(g, e) && e->arg[0]->op == IR_CONST_FLOAT && e->arg[0]->f == 1) {
		gen_call(g, FN_ROUGH_RECIPROCAL, e->type, &e->arg[1]);
	} else if (coarse_division(g, e)) {
		gen_call(g, same_divisor(g, e) ? FN_COARSE_QUOTIENT : FN_COARSE_DIVISION, e->type, e->arg);
	} else if (reciprocal(g, e)) {
		gen_call(g, FN_RECIPROCAL, e->type, &e->arg[1]);
	} else if (same_divisor(g, e)) {
		gen_call(g, FN_QUOTIENT, e->type, e->arg);
	} else if (type_is_float(e->type) && divide) {
		gen_infix(g, e, "/", PREC_MUL);
	} else if (type_is_float(e->type)) {
		gen_call(g, FN_FMOD, e->type, e->arg);
	} else if (gen_plain_division(e)) {
		gen_infix(g, e, divide ? "/" : "%", PREC_MUL);
	} else if (floors) {
		gen_call(g, divide ? FN_FLOOR_DIV : FN_FLOOR_MOD, e->type, e->arg);
	} else {
		gen_call(g, divide ? FN_TRUNC_DIV : FN_TRUNC_REM, e->type, e->arg);
	}
}

bool gen_division_is_infix(const struct gen_text *g, expr e)
{
	if (coarse_division(g, e))
		return e->arg[1]->op == IR_CONST_FLOAT;
	if (inverted_divisor(g, e))
		return ir_nonnegative(e->arg[0]);
	if (type_is_float(e->type))
		return e->op == IR_DIV && !same_divisor(g, e) && !reciprocal(g, e);
	return gen_plain_division(e);
}
