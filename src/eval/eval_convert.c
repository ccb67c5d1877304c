/* Conversion kernels: between register kinds, and into a type's range and precision. */
#include <math.h>
#include <string.h>

#include "eval/code.h"
#include "eval/vectorise.h"

UNARY(f64_of_f32, double, float, x)
UNARY(f64_of_i32, double, int32_t, x)
UNARY(f64_of_i64, double, int64_t, x)
UNARY(f64_of_u64, double, uint64_t, x)
UNARY(f32_of_f64, float, double, x)
UNARY(f32_of_i32, float, int32_t, x)
UNARY(f32_of_i64, float, int64_t, x)
UNARY(f32_of_u64, float, uint64_t, x)
UNARY(i64_of_i32, int64_t, int32_t, x)
UNARY(i32_of_i64, int32_t, int64_t, (int32_t)(uint32_t)x)
UNARY(bool_of_f32, int32_t, float, x != 0)
UNARY(bool_of_f64, int32_t, double, x != 0)
UNARY(bool_of_i32, int32_t, int32_t, x != 0)
UNARY(bool_of_i64, int32_t, int64_t, x != 0)

/* Truncation that saturates; NaN gives zero. `high` is the first double that is too large. */
static inline int64_t int_of(double x, double low, double high, int64_t least, int64_t greatest)
{
	return x >= high ? greatest : x <= low ? least : x == x ? (int64_t)x : 0;
}

static inline uint64_t u64_of(double x)
{
	return x >= 0x1p64 ? UINT64_MAX : x > 0 ? (uint64_t)x : 0;
}

#define TRUNCATE(NAME, R, T) \
	static void NAME(struct frame *f, const struct insn *i) \
	{ \
		const T *restrict a = f->r[i->a]; \
		R *restrict d = f->r[i->d]; \
		int64_t least = type_min(i->type), greatest = type_max(i->type); \
		double low = (double)least, high = greatest == INT64_MAX ? 0x1p63 : (double)greatest; \
		int n = i->varying ? f->n : 1; \
		for (int l = 0; l < n; l++) \
			d[l] = (R)int_of((double)a[l], low, high, least, greatest); \
	}
TRUNCATE(i32_of_f32, int32_t, float)
TRUNCATE(i32_of_f64, int32_t, double)
TRUNCATE(i64_of_f32, int64_t, float)
TRUNCATE(i64_of_f64, int64_t, double)
UNARY(u64_of_f32, uint64_t, float, u64_of((double)x))
UNARY(u64_of_f64, uint64_t, double, u64_of(x))

/* Converts an integer to a double that rounds to fewer bits like the integer itself: bits beyond 53 become a sticky
 * bit. */
static inline double sticky_magnitude(uint64_t m)
{
	return m >> 53 ? (double)(m >> 11 | ((m & 2047) != 0)) * 2048 : (double)m;
}

static inline double sticky(int64_t x)
{
	return x < 0 ? -sticky_magnitude(0 - (uint64_t)x) : sticky_magnitude((uint64_t)x);
}

/* Rounds to floats narrower than f32, through their bits. */
static void round_small(const struct insn *i, const double *x, float *d, int n)
{
	unsigned char raw[EVAL_LANES * 2];
	double back[EVAL_LANES];
	type_store_floats(i->type, raw, 0, n, x, i->imm != 0);
	type_load_floats(i->type, raw, 0, n, back);
	for (int l = 0; l < n; l++)
		d[l] = (float)back[l];
}

#define SMALL(NAME, T, EXPR) \
	static void NAME(struct frame *f, const struct insn *i) \
	{ \
		const T *restrict a = f->r[i->a]; \
		double wide[EVAL_LANES]; \
		int n = i->varying ? f->n : 1; \
		wide[0] = 0; \
		for (int l = 0; l < n; l++) { \
			T x = a[l]; \
			wide[l] = (EXPR); \
		} \
		round_small(i, wide, f->r[i->d], n); \
	}
SMALL(small_of_f32, float, (double)x)
SMALL(small_of_f64, double, x)
SMALL(small_of_i32, int32_t, (double)x)
SMALL(small_of_i64, int64_t, sticky(x))
SMALL(small_of_u64, uint64_t, sticky_magnitude(x))

insn_fn eval_convert_kernel(int from, enum type to)
{
	static const insn_fn small[] = { small_of_f32, small_of_f64, small_of_i32, small_of_i64, small_of_u64 };
	static const insn_fn f32[] = { NULL, f32_of_f64, f32_of_i32, f32_of_i64, f32_of_u64 };
	static const insn_fn f64[] = { f64_of_f32, NULL, f64_of_i32, f64_of_i64, f64_of_u64 };
	static const insn_fn i32[] = { i32_of_f32, i32_of_f64, NULL, i32_of_i64, i32_of_i64 };
	static const insn_fn i64[] = { i64_of_f32, i64_of_f64, i64_of_i32, NULL, NULL };
	static const insn_fn u64[] = { u64_of_f32, u64_of_f64, i64_of_i32, NULL, NULL };
	static const insn_fn boolean[] = { bool_of_f32, bool_of_f64, bool_of_i32, bool_of_i64, bool_of_i64 };
	if (to == TYPE_BOOL)
		return boolean[from];
	if (to == TYPE_F32)
		return f32[from];
	if (to == TYPE_F64)
		return f64[from];
	if (type_is_float(to))
		return small[from];
	if (to == TYPE_U64)
		return u64[from];
	return eval_kind(to) == KIND_I32 ? i32[from] : i64[from];
}

#define WRAP(NAME, T, EXPR) \
	static void NAME(struct frame *f, const struct insn *i) \
	{ \
		const T *restrict a = f->r[i->a]; \
		T *restrict d = f->r[i->d]; \
		int n = i->varying ? f->n : 1, drop = 32 - type_info(i->type)->bits; \
		for (int l = 0; l < n; l++) \
			d[l] = (T)(EXPR); \
		(void)drop; \
	}
WRAP(wrap_signed, int32_t, (int32_t)((uint32_t)a[l] << drop) >> drop)
WRAP(wrap_unsigned, int32_t, (uint32_t)a[l] << drop >> drop)
WRAP(wrap_bool, int32_t, a[l] & 1)
WRAP(wrap_u32, int64_t, a[l] & UINT32_MAX)

insn_fn eval_wrap_kernel(enum type t)
{
	if (t == TYPE_BOOL)
		return wrap_bool;
	if (t == TYPE_U32)
		return wrap_u32;
	if (eval_kind(t) != KIND_I32 || t == TYPE_I32)
		return NULL;
	return type_is_signed(t) ? wrap_signed : wrap_unsigned;
}

static void bitcast(struct frame *f, const struct insn *i)
{
	unsigned char raw[EVAL_LANES * 8];
	int n = i->varying ? f->n : 1;
	eval_run_store((enum type)i->imm, raw, 0, n, f->r[i->a]);
	eval_run_load(i->type, raw, 0, n, f->r[i->d]);
}

insn_fn eval_bitcast_kernel(void)
{
	return bitcast;
}
