/* Accumulators of reductions. Floats accumulate in double, integers in their kind (they wrap at the end); arg
 * reductions keep the best value and its position. A chunk's lanes are either separate results or parts of one. */
#include <math.h>

#include "eval/code.h"
#include "eval/vectorise.h"

/* a: the value, d: the accumulator. */
#define ACCUMULATE(NAME, A, T, EXPR) \
	static void NAME(struct frame *f, const struct insn *i) \
	{ \
		const T *restrict a = f->r[i->a]; \
		A *restrict d = f->r[i->d]; \
		int n = i->varying ? f->n : 1; \
		for (int l = 0; l < n; l++) { \
			A x = a[l], y = d[l]; \
			d[l] = (A)(EXPR); \
		} \
	}

#define ACCUMULATE_FLOAT(P, T) \
	ACCUMULATE(P##_sum, double, T, y + x) \
	ACCUMULATE(P##_prod, double, T, y *x) \
	ACCUMULATE(P##_maximum, double, T, x > y || x != x ? x : y) \
	ACCUMULATE(P##_minimum, double, T, x < y || x != x ? x : y)
ACCUMULATE_FLOAT(f32, float)
ACCUMULATE_FLOAT(f64, double)

#define ACCUMULATE_INT(P, T, U) \
	ACCUMULATE(P##_sum, T, T, (U)y + (U)x) \
	ACCUMULATE(P##_prod, T, T, (U)y *(U)x) \
	ACCUMULATE(P##_maximum, T, T, x > y ? x : y) \
	ACCUMULATE(P##_minimum, T, T, x < y ? x : y)
ACCUMULATE_INT(i32, int32_t, uint32_t)
ACCUMULATE_INT(i64, int64_t, uint64_t)
ACCUMULATE_INT(u64, uint64_t, uint64_t)
ACCUMULATE(bool_all, int32_t, int32_t, y &(x != 0))
ACCUMULATE(bool_any, int32_t, int32_t, y | (x != 0))

/* b: the value's position (uniform where imm is 0), c: the position of the best, -1 before the first. BETTER and SAME
 * compare x with the best so far, y; NaN is best. */
#define ACCUMULATE_ARG(NAME, A, T, BETTER, SAME) \
	static void NAME(struct frame *f, const struct insn *i) \
	{ \
		const T *restrict a = f->r[i->a]; \
		const int64_t *restrict b = f->r[i->b]; \
		int64_t *restrict c = f->r[i->c]; \
		A *restrict d = f->r[i->d]; \
		int n = i->varying ? f->n : 1; \
		for (int l = 0; l < n; l++) { \
			A x = a[l], y = d[l]; \
			if (c[l] >= 0 && !(BETTER) && !(SAME)) \
				continue; \
			d[l] = x; \
			c[l] = b[i->imm ? l : 0]; \
		} \
	}

#define FLOAT_BEFORE(x, op, y) (x op y || (x != x && y == y))
#define FLOAT_SAME(x, y) (x == y || (x != x && y != y))
#define ARG_FLOAT(P, T) \
	ACCUMULATE_ARG(P##_argmax, double, T, FLOAT_BEFORE(x, >, y), false) \
	ACCUMULATE_ARG(P##_argmin, double, T, FLOAT_BEFORE(x, <, y), false) \
	ACCUMULATE_ARG(P##_argmax_last, double, T, FLOAT_BEFORE(x, >, y), FLOAT_SAME(x, y)) \
	ACCUMULATE_ARG(P##_argmin_last, double, T, FLOAT_BEFORE(x, <, y), FLOAT_SAME(x, y))
#define ARG_INT(P, T) \
	ACCUMULATE_ARG(P##_argmax, T, T, x > y, false) \
	ACCUMULATE_ARG(P##_argmin, T, T, x < y, false) \
	ACCUMULATE_ARG(P##_argmax_last, T, T, x > y, x == y) \
	ACCUMULATE_ARG(P##_argmin_last, T, T, x < y, x == y)
ARG_FLOAT(f32, float)
ARG_FLOAT(f64, double)
ARG_INT(i32, int32_t)
ARG_INT(i64, int64_t)
ARG_INT(u64, uint64_t)

#define OF_ALL(NAME) return ((const insn_fn[]){ f32_##NAME, f64_##NAME, i32_##NAME, i64_##NAME, u64_##NAME })[variant]

insn_fn eval_accumulate_kernel(enum ir_combine c, int variant)
{
	switch (c) {
	case IR_SUM: OF_ALL(sum);
	case IR_PROD: OF_ALL(prod);
	case IR_MAXIMUM: OF_ALL(maximum);
	case IR_MINIMUM: OF_ALL(minimum);
	case IR_ALL: return variant == KIND_I32 ? bool_all : NULL;
	case IR_ANY: return variant == KIND_I32 ? bool_any : NULL;
	case IR_ARGMAX: OF_ALL(argmax);
	case IR_ARGMIN: OF_ALL(argmin);
	case IR_ARGMAX_LAST: OF_ALL(argmax_last);
	case IR_ARGMIN_LAST: OF_ALL(argmin_last);
	case IR_NONE:
	case IR_COMBINE_COUNT: return NULL;
	}
	return NULL;
}

/* Sums of products, the inner loop of MatMul and Conv: the product is rounded to its type as MUL would. */
#define MULTIPLY_ADD(NAME, A, T, EXPR) \
	static void NAME(struct frame *f, const struct insn *i) \
	{ \
		const T *restrict a = f->r[i->a], *restrict b = f->r[i->b]; \
		A *restrict d = f->r[i->d]; \
		for (int l = 0, n = f->n; l < n; l++) { \
			T x = a[l], y = b[l]; \
			d[l] += (A)(EXPR); \
		} \
	} \
	static void NAME##_uniform(struct frame *f, const struct insn *i) \
	{ \
		const T *restrict a = f->r[i->a], y = *(const T *)f->r[i->b]; \
		A *restrict d = f->r[i->d]; \
		for (int l = 0, n = f->n; l < n; l++) { \
			T x = a[l]; \
			d[l] += (A)(EXPR); \
		} \
	}
MULTIPLY_ADD(multiply_add_f32, double, float, x *y)
MULTIPLY_ADD(multiply_add_f64, double, double, x *y)
MULTIPLY_ADD(multiply_add_i32, uint32_t, uint32_t, x *y)
MULTIPLY_ADD(multiply_add_i64, uint64_t, uint64_t, x *y)

insn_fn eval_multiply_add_kernel(enum kind k, bool uniform)
{
	static const insn_fn kernel[KIND_COUNT][2] = {
		[KIND_F32] = { multiply_add_f32, multiply_add_f32_uniform },
		[KIND_F64] = { multiply_add_f64, multiply_add_f64_uniform },
		[KIND_I32] = { multiply_add_i32, multiply_add_i32_uniform },
		[KIND_I64] = { multiply_add_i64, multiply_add_i64_uniform },
	};
	return kernel[k][uniform];
}

static bool is_low(enum ir_combine c)
{
	return c == IR_MINIMUM || c == IR_ARGMIN || c == IR_ARGMIN_LAST;
}

void eval_accumulator_init(enum ir_combine c, enum kind k, enum type t, void *acc, int64_t *position, int n)
{
	double x = 0;
	int64_t j = 0;
	if (c == IR_PROD || c == IR_ALL)
		x = 1, j = 1;
	if (c == IR_MAXIMUM || c == IR_MINIMUM) {
		x = is_low(c) ? (double)INFINITY : -(double)INFINITY;
		j = is_low(c) ? type_max(t) : type_min(t);
	}
	for (int l = 0; l < n; l++) {
		if (k == KIND_I32)
			((int32_t *)acc)[l] = (int32_t)j;
		else if (k == KIND_I64)
			((int64_t *)acc)[l] = j;
		else
			((double *)acc)[l] = x;
		if (position)
			position[l] = -1;
	}
}

/* True if lane l's value precedes the best: a better value, or an equal one at the position that the combine
 * prefers. */
#define ARG_FOLD(T, BETTER, SAME) \
	for (int l = 0; l < n; l++) { \
		T x = ((T *)acc)[l], y = ((T *)acc)[best]; \
		bool later = position[l] > position[best]; \
		if (position[l] >= 0 && (position[best] < 0 || (BETTER) || ((SAME) && later == last))) \
			best = l; \
	}

static void fold_arg(enum ir_combine c, enum kind k, bool u64, void *acc, int64_t *position, int n)
{
	bool low = is_low(c), last = c == IR_ARGMAX_LAST || c == IR_ARGMIN_LAST;
	int best = 0;
	if (k == KIND_I32)
		ARG_FOLD(int32_t, low ? x < y : x > y, x == y)
	else if (k == KIND_I64 && u64)
		ARG_FOLD(uint64_t, low ? x < y : x > y, x == y)
	else if (k == KIND_I64)
		ARG_FOLD(int64_t, low ? x < y : x > y, x == y)
	else
		ARG_FOLD(double, low ? FLOAT_BEFORE(x, <, y) : FLOAT_BEFORE(x, >, y), FLOAT_SAME(x, y))
	position[0] = position[best];
}

/* Combines all lanes into lane 0 by repeatedly folding the upper half into the lower one with the lanes' kernel. */
void eval_accumulator_fold(enum ir_combine c, enum kind k, bool u64, void *acc, int64_t *position, int n)
{
	if (position) {
		fold_arg(c, k, u64, acc, position, n);
		return;
	}
	insn_fn fn = eval_accumulate_kernel(c, k == KIND_I64 && u64 ? (int)VARIANT_U64 : (int)k);
	void *r[2] = { acc, NULL };
	struct frame f = { .r = r };
	struct insn i = { .a = 1, .d = 0, .varying = true };
	for (int half; n > 1; n = half) {
		half = (n + 1) / 2;
		r[1] = (char *)acc + (size_t)half * eval_kind_size(k);
		f.n = n - half;
		fn(&f, &i);
	}
}
