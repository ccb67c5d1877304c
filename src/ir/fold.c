/* Operations on constants, with the rounding and wrapping of their type. */
#include "ir/pool.h"

#include <math.h>

static expr fold_float(struct ir_pool *p, enum ir_op op, enum type t, const expr *arg, int n)
{
	double a = arg[0]->f, b = n > 1 ? arg[1]->f : 0, x;
	switch (op) {
	case IR_ADD: x = a + b; break;
	case IR_SUB: x = a - b; break;
	case IR_MUL: x = a * b; break;
	case IR_DIV: x = a / b; break;
	case IR_REM: x = fmod(a, b); break;
	case IR_MIN: x = isnan(a) || isnan(b) ? NAN : a < b ? a : b; break;
	case IR_MAX: x = isnan(a) || isnan(b) ? NAN : a > b ? a : b; break;
	case IR_POW: x = pow(a, b); break;
	case IR_EQ: return ir_int(p, TYPE_BOOL, a == b);
	case IR_LT: return ir_int(p, TYPE_BOOL, a < b);
	case IR_LE: return ir_int(p, TYPE_BOOL, a <= b);
	case IR_NEG: x = -a; break;
	case IR_ABS: x = fabs(a); break;
	case IR_FLOOR: x = floor(a); break;
	case IR_CEIL: x = ceil(a); break;
	case IR_TRUNC: x = trunc(a); break;
	case IR_ROUND_EVEN: x = rint(a); break;
	case IR_SQRT: x = sqrt(a); break;
	case IR_EXP: x = exp(a); break;
	case IR_LOG: x = log(a); break;
	case IR_LOG1P: x = log1p(a); break;
	case IR_EXPM1: x = expm1(a); break;
	case IR_SIN: x = sin(a); break;
	case IR_COS: x = cos(a); break;
	case IR_TAN: x = tan(a); break;
	case IR_TANH: x = tanh(a); break;
	case IR_ERF: x = erf(a); break;
	case IR_ISNAN: return ir_int(p, TYPE_BOOL, isnan(a));
	case IR_ISINF: return ir_int(p, TYPE_BOOL, isinf(a));
	default: return NULL;
	}
	return ir_float(p, t, x);
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static expr fold_int(struct ir_pool *p, enum ir_op op, enum type t, const expr *arg, int n)
{
	int64_t a = arg[0]->i, b = n > 1 ? arg[1]->i : 0;
	uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
	bool wide_unsigned = arg[0]->type == TYPE_U64;
	bool divides = op == IR_DIV || op == IR_REM || op == IR_FLOORDIV || op == IR_MOD;
	if (divides && (b == 0 || (a == INT64_MIN && b == -1)))
		return NULL;
	if (wide_unsigned && divides)
		return ir_int(p, t, (int64_t)(op == IR_DIV || op == IR_FLOORDIV ? ua / ub : ua % ub));
	switch (op) {
	case IR_ADD: return ir_int(p, t, (int64_t)(ua + ub));
	case IR_SUB: return ir_int(p, t, (int64_t)(ua - ub));
	case IR_MUL: return ir_int(p, t, (int64_t)(ua * ub));
	case IR_DIV: return ir_int(p, t, a / b);
	case IR_REM: return ir_int(p, t, a % b);
	case IR_FLOORDIV: return ir_int(p, t, floor_div(a, b));
	case IR_MOD: return ir_int(p, t, (int64_t)(ua - (uint64_t)floor_div(a, b) * ub));
	case IR_MIN: return ir_int(p, t, (wide_unsigned ? ua < ub : a < b) ? a : b);
	case IR_MAX: return ir_int(p, t, (wide_unsigned ? ua > ub : a > b) ? a : b);
	case IR_BITAND: return ir_int(p, t, a & b);
	case IR_BITOR: return ir_int(p, t, a | b);
	case IR_BITXOR: return ir_int(p, t, a ^ b);
	case IR_SHR: return type_is_signed(t) || ub >= 64 ? NULL : ir_int(p, t, (int64_t)(ua >> ub));
	case IR_EQ: return ir_int(p, TYPE_BOOL, a == b);
	case IR_LT: return ir_int(p, TYPE_BOOL, wide_unsigned ? ua < ub : a < b);
	case IR_LE: return ir_int(p, TYPE_BOOL, wide_unsigned ? ua <= ub : a <= b);
	case IR_NOT: return ir_int(p, TYPE_BOOL, !a);
	case IR_NEG: return ir_int(p, t, (int64_t)(0 - ua));
	case IR_BITNOT: return ir_int(p, t, ~a);
	case IR_ABS: return wide_unsigned ? arg[0] : ir_int(p, t, a < 0 ? (int64_t)(0 - ua) : a);
	default: return NULL;
	}
}

static expr fold_cast(struct ir_pool *p, enum ir_op op, enum type t, expr a)
{
	bool from_float = a->op == IR_CONST_FLOAT;
	if (type_is_float(t)) {
		double x = from_float ? a->f : a->type == TYPE_U64 ? (double)(uint64_t)a->i : (double)a->i;
		if (op == IR_CAST_SAT)
			x = type_round(t, x, true);
		return ir_float(p, t, x);
	}
	if (!from_float)
		return ir_int(p, t, a->i);
	if (t == TYPE_BOOL)
		return ir_int(p, t, a->f != 0);
	/* Beyond 2^53 the target's edge cases of saturation may differ, so do not fold. */
	return fabs(a->f) < 9e15 &&
	                       (t == TYPE_INDEX || t == TYPE_I64 || t == TYPE_U64 ||
	                        (a->f > (double)type_min(t) - 1 && a->f < (double)type_max(t) + 1)) &&
	                       !(a->f <= -1 && type_info(t)->class == CLASS_UINT)
	               ? ir_int(p, t, (int64_t)a->f)
	               : NULL;
}

expr ir_fold(struct ir_pool *p, enum ir_op op, enum type t, int n, const expr *arg)
{
	for (int i = 0; i < n; i++)
		if (arg[i]->op != IR_CONST_INT && arg[i]->op != IR_CONST_FLOAT)
			return NULL;
	if (op == IR_CAST || op == IR_CAST_SAT)
		return fold_cast(p, op, t, arg[0]);
	if (op == IR_SELECT || op == IR_BITCAST)
		return NULL;
	return arg[0]->op == IR_CONST_FLOAT ? fold_float(p, op, t, arg, n) : fold_int(p, op, t, arg, n);
}
