/* The error of an expression, from the errors of what it loads: first-order error analysis. See error_bound.h. */
#include "check/error_inside.h"

#include <math.h>

/* Copies of a loop that are further apart round to different integers, or compare differently, often enough: as parts
 * of one, and of the operands. */
static const double FAR = 0.125, FAR_COMPARED = 0x1p-10;

enum { BASIC = 4, FUNCTION = 16 }; /* allowed roundings per operation, in half units of the last place */

const struct ir_buffer error_unknown;

double error_unit(enum type t)
{
	switch ((int)t) {
	case TYPE_F64: return 0x1p-53;
	case TYPE_F32: return 0x1p-24;
	case TYPE_F16: return 0x1p-11;
	case TYPE_BF16: return 0x1p-8;
	case TYPE_F8E4M3FN:
	case TYPE_F8E4M3FNUZ: return 0x1p-4;
	case TYPE_F8E5M2:
	case TYPE_F8E5M2FNUZ: return 0x1p-3;
	case TYPE_F4E2M1: return 0x1p-2;
	case TYPE_F8E8M0: return 0.5;
	default: return 0;
	}
}

/* Half the distance of the smallest numbers of the type. */
static double smallest(enum type t)
{
	switch ((int)t) {
	case TYPE_F16: return 0x1p-25;
	case TYPE_F8E4M3FN: return 0x1p-10;
	case TYPE_F8E4M3FNUZ: return 0x1p-11;
	case TYPE_F8E5M2: return 0x1p-17;
	case TYPE_F8E5M2FNUZ: return 0x1p-18;
	case TYPE_F4E2M1: return 0.25;
	default: return 0x1p-149;
	}
}

/* ---- Expressions of type f64. Null stands for zero. */

static expr number(struct ir_pool *p, double x)
{
	return ir_float(p, TYPE_F64, x);
}

static expr value(expr e)
{
	return ir_cast(e, TYPE_F64);
}

static expr size(expr e)
{
	return ir_unary(IR_ABS, value(e));
}

static expr plus(expr a, expr b)
{
	return !a ? b : !b ? a : ir_binary(IR_ADD, a, b);
}

static expr times(expr a, expr b)
{
	return !a || !b ? NULL : ir_binary(IR_MUL, a, b);
}

static expr over(expr a, expr b)
{
	return !a ? NULL : ir_binary(IR_DIV, a, b);
}

static expr larger(expr a, expr b)
{
	return !a ? b : !b ? a : ir_binary(IR_MAX, a, b);
}

static expr scaled(expr a, double by)
{
	return !a ? NULL : ir_binary(IR_MUL, a, number(a->pool, by));
}

/* `a` if `low` is positive: a logarithm or quotient near zero has no bound. */
static expr if_positive(expr low, expr a)
{
	return ir_select(ir_binary(IR_LT, number(low->pool, 0), low), a, number(low->pool, ERROR_HUGE));
}

/* The rounding of a result of the type of e. */
static expr rounding(expr e, int units)
{
	expr least = number(e->pool, smallest(e->type));
	return ir_binary(IR_ADD, scaled(size(e), units * error_unit(e->type)), least);
}

/* ---- Lower bounds of expressions. */

/* A lower bound of a nonnegative expression, for all errors: tighter than value - error if a maximum with a constant
 * keeps it away from zero. */
static expr low(struct error_program *x, expr e)
{
	expr error;
	if (e->op == IR_MAX)
		return ir_binary(IR_MAX, low(x, e->arg[0]), low(x, e->arg[1]));
	if (e->op == IR_MIN)
		return ir_binary(IR_MIN, low(x, e->arg[0]), low(x, e->arg[1]));
	if (e->op == IR_CAST && type_is_float(e->arg[0]->type))
		return scaled(low(x, e->arg[0]), 1 - 2 * error_unit(e->type));
	if (e->op == IR_ADD && !error_of(x, e->arg[1]))
		return plus(low(x, e->arg[0]), value(e->arg[1]));
	error = error_of(x, e);
	return error ? ir_binary(IR_SUB, value(e), error) : value(e);
}

/* The same for |e|, for divisors. */
static expr low_size(struct error_program *x, expr e)
{
	expr error = error_of(x, e);
	if (error && e->op == IR_MAX)
		return low(x, e);
	return error ? ir_binary(IR_SUB, size(e), error) : size(e);
}

/* ---- Operations. */

static expr error_product(expr e, expr a, expr b)
{
	return plus(times(size(e->arg[0]), b), times(size(e->arg[1]), a));
}

static expr error_quotient(struct error_program *x, expr e, expr a, expr b)
{
	expr least;
	if (!b)
		return over(a, size(e->arg[1]));
	least = low_size(x, e->arg[1]);
	return if_positive(least, over(plus(a, times(size(e), b)), least));
}

/* x^y = exp(y log x). */
static expr error_power(struct error_program *x, expr e, expr a, expr b)
{
	expr base = e->arg[0], least = low_size(x, base), error = NULL;
	if (a)
		error = if_positive(least, times(size(e), over(times(size(e->arg[1]), a), least)));
	if (b)
		error = plus(error, times(size(e), times(b, ir_unary(IR_ABS, ir_unary(IR_LOG, size(base))))));
	return plus(error,
	            scaled(times(size(e), ir_unary(IR_ABS, ir_unary(IR_LOG, plus(size(base), number(e->pool, 1e-30))))),
	                   FUNCTION * error_unit(e->type)));
}

/* The error of an operand, for an operation that jumps. An error taken from elsewhere counts up to `most`: copies that
 * are further apart jump at different elements by themselves. */
static expr error_before_jump(struct error_program *x, expr e, expr most)
{
	struct error_program *from = x->jumps;
	expr error;
	if (!from)
		return error_of(x, e);
	from->lost = false;
	error = error_of(from, e);
	x->lost |= from->lost;
	return error ? ir_select(ir_binary(IR_LE, error, most), error, number(e->pool, 0)) : NULL;
}

bool error_jumps(expr e)
{
	bool from_float = e->n && type_is_float(e->arg[0]->type);
	switch ((int)e->op) {
	case IR_FLOOR:
	case IR_CEIL:
	case IR_TRUNC:
	case IR_ROUND_EVEN: return true;
	case IR_EQ:
	case IR_LT:
	case IR_LE: return from_float;
	case IR_CAST:
	case IR_CAST_SAT: return from_float && !type_is_float(e->type);
	default: return false;
	}
}

/* f is discontinuous: the larger distance at both ends. */
static expr error_jump(struct error_program *program, expr e, enum ir_op op)
{
	expr a = error_before_jump(program, e->arg[0], number(e->pool, FAR)), x = value(e->arg[0]), here;
	if (!a)
		return NULL;
	here = ir_unary(op, x);
	return larger(ir_unary(IR_ABS, ir_binary(IR_SUB, ir_unary(op, ir_binary(IR_ADD, x, a)), here)),
	              ir_unary(IR_ABS, ir_binary(IR_SUB, ir_unary(op, ir_binary(IR_SUB, x, a)), here)));
}

static expr error_root(expr e, expr a)
{
	expr tiny = number(e->pool, 1e-300);
	return !a ? NULL : ir_binary(IR_MIN, ir_unary(IR_SQRT, a), over(a, plus(value(e), tiny)));
}

static expr error_log(struct error_program *x, expr e, expr a)
{
	expr of = e->arg[0], least;
	if (!a)
		return NULL;
	least = low(x, of);
	return if_positive(least,
	                   larger(ir_unary(IR_LOG1P, over(a, value(of))), ir_unary(IR_LOG, over(value(of), least))));
}

/* Propagates the operand's error, without the result's own rounding. */
static expr error_function(struct error_program *x, expr e, expr a)
{
	expr one = number(e->pool, 1);
	if (!a)
		return NULL;
	switch ((int)e->op) {
	case IR_SQRT: return error_root(e, a);
	case IR_LOG: return error_log(x, e, a);
	case IR_LOG1P:
		return if_positive(ir_binary(IR_SUB, plus(one, value(e->arg[0])), scaled(a, 2)),
		                   scaled(over(a, plus(one, value(e->arg[0]))), 2));
	case IR_EXP: return times(size(e), ir_unary(IR_EXPM1, a));
	case IR_EXPM1:
	case IR_SINH:
	case IR_COSH: return scaled(times(plus(size(e), one), ir_unary(IR_EXPM1, a)), 1.5);
	case IR_TAN: return scaled(times(a, plus(one, times(size(e), size(e)))), 2);
	case IR_ASIN:
	case IR_ACOS:
	case IR_ACOSH: return scaled(ir_unary(IR_SQRT, a), 2);
	case IR_ATANH:
		return if_positive(ir_binary(IR_SUB, one, plus(size(e->arg[0]), scaled(a, 2))),
		                   scaled(over(a, ir_binary(IR_SUB, one, size(e->arg[0]))), 2));
	default: return scaled(a, 1.2); /* sin, cos, atan, tanh, asinh, erf */
	}
}

static expr error_compare(struct error_program *x, expr e)
{
	expr most = scaled(plus(size(e->arg[0]), size(e->arg[1])), FAR_COMPARED);
	expr error = plus(error_before_jump(x, e->arg[0], most), error_before_jump(x, e->arg[1], most)), apart;
	if (!error)
		return NULL;
	apart = ir_unary(IR_ABS, ir_binary(IR_SUB, value(e->arg[0]), value(e->arg[1])));
	return ir_select(ir_binary(IR_LE, apart, error), number(e->pool, 1), number(e->pool, 0));
}

/* Evaluates the second operand only where the language does: its loads may be out of bounds. */
static expr error_both(expr e, expr a, expr b)
{
	expr zero = number(e->pool, 0), one = a ? a : zero, two = b ? larger(a, b) : one;
	if (!a && !b)
		return NULL;
	return e->op == IR_AND ? ir_select(e->arg[0], two, one) : ir_select(e->arg[0], one, two);
}

/* If the condition may flip, the result may be the other operand. */
static expr error_select(struct error_program *x, expr e)
{
	expr c = error_of(x, e->arg[0]), a = error_of(x, e->arg[1]), b = error_of(x, e->arg[2]);
	expr zero = number(e->pool, 0), chosen = NULL, other;
	if (a || b)
		chosen = ir_select(e->arg[0], a ? a : zero, b ? b : zero);
	if (!c)
		return chosen;
	other = ir_unary(IR_ABS, ir_binary(IR_SUB, value(e->arg[1]), value(e->arg[2])));
	other = plus(other, larger(a, b));
	return ir_select(ir_binary(IR_LT, zero, c), other, chosen ? chosen : zero);
}

/* True if the values are whole numbers by construction, such as a rounded quotient plus a zero point. Small ones are
 * exact; the error of such a value is that of another whole number, or far below 1. */
static bool is_whole(expr e)
{
	switch ((int)e->op) {
	case IR_FLOOR:
	case IR_CEIL:
	case IR_TRUNC:
	case IR_ROUND_EVEN: return true;
	case IR_CONST_FLOAT: return e->f == rint(e->f);
	case IR_CAST: return type_is_int(e->arg[0]->type) || is_whole(e->arg[0]);
	case IR_NEG: return is_whole(e->arg[0]);
	case IR_SELECT: return is_whole(e->arg[1]) && is_whole(e->arg[2]);
	case IR_ADD:
	case IR_SUB:
	case IR_MIN:
	case IR_MAX: return is_whole(e->arg[0]) && is_whole(e->arg[1]);
	default: return false;
	}
}

static expr error_cast(struct error_program *x, expr e)
{
	expr from = e->arg[0], zero = number(e->pool, 0), a = error_of(x, from);
	if (type_is_float(from->type) && !type_is_float(e->type) && e->type != TYPE_BOOL)
		return error_jump(x, e, is_whole(from) ? IR_ROUND_EVEN : IR_TRUNC);
	if (e->type == TYPE_BOOL) /* nonzero or not */
		a = error_before_jump(x, from, scaled(size(from), FAR_COMPARED));
	if (!a)
		return NULL;
	if (e->type == TYPE_BOOL)
		return ir_select(ir_binary(IR_LE, size(from), a), number(e->pool, 1), zero);
	return type_is_float(e->type) && error_unit(e->type) > error_unit(from->type) ? plus(a, rounding(e, BASIC)) : a;
}

static expr error_load(struct error_program *x, expr e)
{
	const struct ir_buffer *error = map_get_u64(&x->errors, (uintptr_t)e->buf);
	for (int k = 0; k < e->n; k++)
		x->lost |= error_of(x, e->arg[k]) != NULL;
	x->lost |= error == &error_unknown;
	return !error || error == &error_unknown ? NULL : ir_load(x->p->pool, error, e->arg);
}

static expr error_unary(struct error_program *x, expr e)
{
	expr a = error_of(x, e->arg[0]);
	switch ((int)e->op) {
	case IR_NEG:
	case IR_ABS:
	case IR_NOT: return a;
	case IR_FLOOR:
	case IR_CEIL:
	case IR_TRUNC:
	case IR_ROUND_EVEN: return error_jump(x, e, e->op);
	case IR_CAST:
	case IR_CAST_SAT: return error_cast(x, e);
	case IR_ISNAN:
	case IR_ISINF: return NULL;
	case IR_BITNOT:
	case IR_BITCAST: x->lost |= a != NULL; return NULL;
	default: return plus(error_function(x, e, a), rounding(e, FUNCTION));
	}
}

static expr error_binary(struct error_program *x, expr e)
{
	expr a = error_of(x, e->arg[0]), b = error_of(x, e->arg[1]), own = NULL;
	if (type_is_float(e->type))
		own = rounding(e, BASIC);
	switch ((int)e->op) {
	case IR_ADD:
	case IR_SUB: return plus(plus(a, b), own);
	case IR_MUL: return plus(error_product(e, a, b), own);
	case IR_MIN:
	case IR_MAX: return larger(a, b);
	case IR_EQ:
	case IR_LT:
	case IR_LE: return error_compare(x, e);
	case IR_AND:
	case IR_OR: return error_both(e, a, b);
	default: break;
	}
	if (e->op == IR_DIV && own)
		return plus(error_quotient(x, e, a, b), own);
	if (e->op == IR_POW && own)
		return plus(error_power(x, e, a, b), rounding(e, FUNCTION));
	x->lost |= a || b;
	return NULL;
}

static expr find_error(struct error_program *x, expr e)
{
	if (e->op == IR_LOAD)
		return error_load(x, e);
	if (e->op == IR_SELECT)
		return error_select(x, e);
	if (e->op == IR_AXIS || e->op == IR_VAR || e->n == 0)
		return NULL;
	return e->n == 1 ? error_unary(x, e) : error_binary(x, e);
}

/* An expression's error; `lost`: it has no bound. */
struct known {
	expr error;
	bool lost;
};

expr error_of(struct error_program *x, expr e)
{
	struct known *known = map_get_u64(&x->known, (uintptr_t)e);
	bool lost = x->lost;
	if (!known) {
		known = NEW(x->p->arena, struct known);
		x->lost = false;
		known->error = find_error(x, e);
		known->lost = x->lost;
		map_put_u64(&x->known, (uintptr_t)e, known);
	}
	x->lost = lost || known->lost;
	return known->error;
}
