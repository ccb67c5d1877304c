/* Reproducible random tensors: element i depends only on the seed and i, not on the order of filling. */
#include <math.h>

#include "tensor/tensor.h"

enum { RUN = 256 };

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which every input bit moves every output
 * bit. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t random_bits(uint64_t seed, int64_t i)
{
	return mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Clamps a bound to an integer type, as its 64 bits. */
static uint64_t clamp(enum type t, double x)
{
	bool is_unsigned = !type_is_signed(t);
	double least = (double)type_min(t);
	double most = t == TYPE_U64 ? (double)UINT64_MAX : (double)type_max(t);
	if (!(x > least))
		return (uint64_t)type_min(t);
	if (x >= most)
		return (uint64_t)type_max(t);
	return is_unsigned ? (uint64_t)x : (uint64_t)(int64_t)x;
}

static void fill_ints(struct tensor *t, int64_t n, uint64_t seed, double low, double high)
{
	uint64_t first = clamp(t->type, ceil(low)), span = clamp(t->type, floor(high)) - first + 1;
	if (!(ceil(low) <= floor(high)))
		span = 1;
	for (int64_t at = 0; at < n; at += RUN) {
		int64_t x[RUN], m = n - at < RUN ? n - at : RUN;
		for (int64_t i = 0; i < m; i++) {
			uint64_t r = random_bits(seed, at + i);
			/* The high half of r * span is uniform in [0, span); a span of 2^64 wraps to zero. */
			x[i] = (int64_t)(first + (span ? (uint64_t)((unsigned __int128)r * span >> 64) : r));
		}
		type_store_ints(t->type, t->data, at, m, x);
	}
}

static void fill_floats(enum type type, void *data, int64_t n, uint64_t seed, double low, double high)
{
	for (int64_t at = 0; at < n; at += RUN) {
		double x[RUN];
		int64_t m = n - at < RUN ? n - at : RUN;
		for (int64_t i = 0; i < m; i++) {
			double unit = (double)(random_bits(seed, at + i) >> 11) * 0x1p-53;
			/* Not low + unit * (high - low), which may overflow. In two statements, so that no compiler
			 * fuses them and all machines get the same values. */
			double from_low = low * (1 - unit), from_high = high * unit;
			x[i] = from_low + from_high;
		}
		type_store_floats(type, data, at, m, x, true);
	}
}

void tensor_random(struct tensor *t, uint64_t seed, double low, double high)
{
	int64_t n = tensor_count(t);
	switch (type_info(t->type)->class) {
	case CLASS_FLOAT: fill_floats(t->type, t->data, n, seed, low, high); break;
	case CLASS_COMPLEX:
		fill_floats(t->type == TYPE_C64 ? TYPE_F32 : TYPE_F64, t->data, 2 * n, seed, low, high);
		break;
	case CLASS_BOOL: fill_ints(t, n, seed, 0, 1); break;
	case CLASS_INT:
	case CLASS_UINT: fill_ints(t, n, seed, low, high); break;
	case CLASS_STRING:
	case CLASS_NONE: break;
	}
}
