/* Kernels of the expression language's operations: each a loop over the lanes of a chunk. No operation traps, so unused
 * lanes may be computed too. */
#include <math.h>

#include "eval/code.h"
#include "eval/vectorise.h"

enum kind eval_kind(enum type t)
{
	if (t == TYPE_F64)
		return KIND_F64;
	if (type_is_float(t))
		return KIND_F32;
	return t == TYPE_I64 || t == TYPE_U64 || t == TYPE_U32 || t == TYPE_INDEX ? KIND_I64 : KIND_I32;
}

bool eval_type_known(enum type t)
{
	return type_is_float(t) || type_is_int(t) || t == TYPE_BOOL;
}

size_t eval_kind_size(enum kind k)
{
	return k == KIND_F32 || k == KIND_I32 ? 4 : 8;
}

/* ---- Floats. f32 functions are the double's, rounded; + - * / sqrt in float already are. */

static double floor_mod(double x, double y)
{
	double r = fmod(x, y);
	return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

#define FLOAT_KERNELS(P, T, SQRT) \
	BINARY(P##_add, T, T, x + y) \
	BINARY(P##_sub, T, T, x - y) \
	BINARY(P##_mul, T, T, x *y) \
	BINARY(P##_div, T, T, x / y) \
	BINARY(P##_rem, T, T, fmod((double)x, (double)y)) \
	BINARY(P##_floordiv, T, T, floor((double)x / (double)y)) \
	BINARY(P##_mod, T, T, floor_mod((double)x, (double)y)) \
	BINARY(P##_min, T, T, x < y || x != x ? x : y) \
	BINARY(P##_max, T, T, x > y || x != x ? x : y) \
	BINARY(P##_pow, T, T, pow((double)x, (double)y)) \
	BINARY(P##_eq, int32_t, T, x == y) \
	BINARY(P##_lt, int32_t, T, x < y) \
	BINARY(P##_le, int32_t, T, x <= y) \
	UNARY(P##_neg, T, T, -x) \
	UNARY(P##_abs, T, T, fabs((double)x)) \
	UNARY(P##_floor, T, T, floor((double)x)) \
	UNARY(P##_ceil, T, T, ceil((double)x)) \
	UNARY(P##_trunc, T, T, trunc((double)x)) \
	UNARY(P##_round_even, T, T, rint((double)x)) \
	UNARY(P##_sqrt, T, T, SQRT(x)) \
	UNARY(P##_exp, T, T, exp((double)x)) \
	UNARY(P##_log, T, T, log((double)x)) \
	UNARY(P##_log1p, T, T, log1p((double)x)) \
	UNARY(P##_expm1, T, T, expm1((double)x)) \
	UNARY(P##_sin, T, T, sin((double)x)) \
	UNARY(P##_cos, T, T, cos((double)x)) \
	UNARY(P##_tan, T, T, tan((double)x)) \
	UNARY(P##_asin, T, T, asin((double)x)) \
	UNARY(P##_acos, T, T, acos((double)x)) \
	UNARY(P##_atan, T, T, atan((double)x)) \
	UNARY(P##_sinh, T, T, sinh((double)x)) \
	UNARY(P##_cosh, T, T, cosh((double)x)) \
	UNARY(P##_tanh, T, T, tanh((double)x)) \
	UNARY(P##_asinh, T, T, asinh((double)x)) \
	UNARY(P##_acosh, T, T, acosh((double)x)) \
	UNARY(P##_atanh, T, T, atanh((double)x)) \
	UNARY(P##_erf, T, T, erf((double)x)) \
	UNARY(P##_isnan, int32_t, T, x != x) \
	UNARY(P##_isinf, int32_t, T, x == (T)INFINITY || x == -(T)INFINITY)

FLOAT_KERNELS(f32, float, sqrtf)
FLOAT_KERNELS(f64, double, sqrt)

/* ---- Integers. Arithmetic that can overflow is done in the unsigned type U; narrower types are wrapped afterwards. */

#define SIGNED_DIVISION(P, T, U) \
	static inline T P##_quotient(T x, T y) \
	{ \
		return y == 0 ? 0 : y == -1 ? (T)(0 - (U)x) : x / y; \
	} \
	static inline T P##_rest(T x, T y) \
	{ \
		return y == 0 || y == -1 ? 0 : x % y; \
	} \
	static inline T P##_floor_quotient(T x, T y) \
	{ \
		T r = P##_rest(x, y); \
		return P##_quotient(x, y) - (r != 0 && (r < 0) != (y < 0)); \
	} \
	static inline T P##_floor_rest(T x, T y) \
	{ \
		T r = P##_rest(x, y); \
		return r != 0 && (r < 0) != (y < 0) ? r + y : r; \
	} \
	static inline T P##_power(T x, T n) \
	{ \
		if (n < 0) \
			return x == 1 ? 1 : x == -1 ? (n & 1 ? -1 : 1) : 0; \
		return (T)unsigned_power((U)x, (U)n); \
	} \
	UNARY(P##_abs, T, T, x < 0 ? 0 - (U)x : (U)x)

static inline uint64_t unsigned_power(uint64_t x, uint64_t n)
{
	uint64_t y = 1;
	for (; n; n >>= 1, x *= x)
		if (n & 1)
			y *= x;
	return y;
}

static inline uint64_t u64_quotient(uint64_t x, uint64_t y)
{
	return y ? x / y : 0;
}

static inline uint64_t u64_rest(uint64_t x, uint64_t y)
{
	return y ? x % y : 0;
}

#define u64_floor_quotient u64_quotient
#define u64_floor_rest u64_rest
#define u64_power unsigned_power

/* Shifts by the width of the type or more give zero; imm is that width. */
#define INT_KERNELS(P, T, U) \
	BINARY(P##_add, T, T, (U)x + (U)y) \
	BINARY(P##_sub, T, T, (U)x - (U)y) \
	BINARY(P##_mul, T, T, (U)x *(U)y) \
	BINARY(P##_div, T, T, P##_quotient(x, y)) \
	BINARY(P##_rem, T, T, P##_rest(x, y)) \
	BINARY(P##_floordiv, T, T, P##_floor_quotient(x, y)) \
	BINARY(P##_mod, T, T, y == 0 ? x : P##_floor_rest(x, y)) \
	BINARY(P##_min, T, T, x < y ? x : y) \
	BINARY(P##_max, T, T, x > y ? x : y) \
	BINARY(P##_pow, T, T, P##_power(x, y)) \
	BINARY(P##_bitand, T, T, x &y) \
	BINARY(P##_bitor, T, T, x | y) \
	BINARY(P##_bitxor, T, T, x ^ y) \
	BINARY(P##_shl, T, T, (U)y < (U)i->imm ? (U)x << ((U)y & (8 * sizeof(U) - 1)) : 0) \
	BINARY(P##_shr, T, T, (U)y < (U)i->imm ? x >> ((U)y & (8 * sizeof(U) - 1)) : 0) \
	BINARY(P##_eq, int32_t, T, x == y) \
	BINARY(P##_lt, int32_t, T, x < y) \
	BINARY(P##_le, int32_t, T, x <= y) \
	UNARY(P##_neg, T, T, 0 - (U)x) \
	UNARY(P##_bitnot, T, T, ~x)

SIGNED_DIVISION(i32, int32_t, uint32_t)
SIGNED_DIVISION(i64, int64_t, uint64_t)
INT_KERNELS(i32, int32_t, uint32_t)
INT_KERNELS(i64, int64_t, uint64_t)
INT_KERNELS(u64, uint64_t, uint64_t)
UNARY(u64_abs, uint64_t, uint64_t, x)
UNARY(bool_not, int32_t, int32_t, !x)

/* ---- Selection, by element width; a uniform condition only picks the register. */

#define SELECT(NAME, T) \
	static void NAME(struct frame *f, const struct insn *i) \
	{ \
		const T *restrict a = f->r[i->a], *restrict b = f->r[i->b]; \
		const int32_t *restrict c = f->r[i->c]; \
		T *restrict d = f->r[i->d]; \
		int n = i->varying ? f->n : 1; \
		for (int l = 0; l < n; l++) { \
			T x = a[l], y = b[l]; \
			d[l] = c[l] ? x : y; \
		} \
	}
SELECT(select_32, uint32_t)
SELECT(select_64, uint64_t)

static void select_uniform(struct frame *f, const struct insn *i)
{
	f->r[i->d] = *(const int32_t *)f->r[i->c] ? f->r[i->a] : f->r[i->b];
}

insn_fn eval_select_kernel(enum kind k, bool uniform)
{
	return uniform ? select_uniform : eval_kind_size(k) == 4 ? select_32 : select_64;
}

#define SPLAT(NAME, T) \
	static void NAME(struct frame *f, const struct insn *i) \
	{ \
		T x = *(const T *)f->r[i->a], *restrict d = f->r[i->d]; \
		for (int l = 0; l < i->imm; l++) \
			d[l] = x; \
	}
SPLAT(splat_32, uint32_t)
SPLAT(splat_64, uint64_t)

insn_fn eval_splat_kernel(enum kind k)
{
	return eval_kind_size(k) == 4 ? splat_32 : splat_64;
}

#define OF_ALL(NAME) return ((const insn_fn[]){ f32_##NAME, f64_##NAME, i32_##NAME, i64_##NAME, u64_##NAME })[variant]
#define OF_FLOATS(NAME) return ((const insn_fn[VARIANT_COUNT]){ f32_##NAME, f64_##NAME })[variant]
#define OF_INTS(NAME) return ((const insn_fn[]){ NULL, NULL, i32_##NAME, i64_##NAME, u64_##NAME })[variant]

insn_fn eval_kernel(enum ir_op op, int variant)
{
	switch (op) {
	case IR_ADD: OF_ALL(add);
	case IR_SUB: OF_ALL(sub);
	case IR_MUL: OF_ALL(mul);
	case IR_DIV: OF_ALL(div);
	case IR_REM: OF_ALL(rem);
	case IR_FLOORDIV: OF_ALL(floordiv);
	case IR_MOD: OF_ALL(mod);
	case IR_MIN: OF_ALL(min);
	case IR_MAX: OF_ALL(max);
	case IR_POW: OF_ALL(pow);
	case IR_AND: /* of two computed bools: compile.c handles short circuits */
	case IR_BITAND: OF_INTS(bitand);
	case IR_OR:
	case IR_BITOR: OF_INTS(bitor);
	case IR_BITXOR: OF_INTS(bitxor);
	case IR_SHL: OF_INTS(shl);
	case IR_SHR: OF_INTS(shr);
	case IR_EQ: OF_ALL(eq);
	case IR_LT: OF_ALL(lt);
	case IR_LE: OF_ALL(le);
	case IR_NOT: return variant == KIND_I32 ? bool_not : NULL;
	case IR_NEG: OF_ALL(neg);
	case IR_ABS: OF_ALL(abs);
	case IR_BITNOT: OF_INTS(bitnot);
	case IR_FLOOR: OF_FLOATS(floor);
	case IR_CEIL: OF_FLOATS(ceil);
	case IR_TRUNC: OF_FLOATS(trunc);
	case IR_ROUND_EVEN: OF_FLOATS(round_even);
	case IR_SQRT: OF_FLOATS(sqrt);
	case IR_EXP: OF_FLOATS(exp);
	case IR_LOG: OF_FLOATS(log);
	case IR_LOG1P: OF_FLOATS(log1p);
	case IR_EXPM1: OF_FLOATS(expm1);
	case IR_SIN: OF_FLOATS(sin);
	case IR_COS: OF_FLOATS(cos);
	case IR_TAN: OF_FLOATS(tan);
	case IR_ASIN: OF_FLOATS(asin);
	case IR_ACOS: OF_FLOATS(acos);
	case IR_ATAN: OF_FLOATS(atan);
	case IR_SINH: OF_FLOATS(sinh);
	case IR_COSH: OF_FLOATS(cosh);
	case IR_TANH: OF_FLOATS(tanh);
	case IR_ASINH: OF_FLOATS(asinh);
	case IR_ACOSH: OF_FLOATS(acosh);
	case IR_ATANH: OF_FLOATS(atanh);
	case IR_ERF: OF_FLOATS(erf);
	case IR_ISNAN: OF_FLOATS(isnan);
	case IR_ISINF: OF_FLOATS(isinf);
	case IR_CONST_INT: /* these are not operations on registers: see compile.c */
	case IR_CONST_FLOAT:
	case IR_AXIS:
	case IR_SYMBOL:
	case IR_ACC:
	case IR_VAR:
	case IR_ELEMENT:
	case IR_LOAD:
	case IR_SELECT:
	case IR_CAST:
	case IR_CAST_SAT:
	case IR_BITCAST:
	case IR_OP_COUNT: return NULL;
	}
	return NULL;
}
