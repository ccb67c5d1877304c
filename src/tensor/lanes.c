/* Runs of elements between memory and doubles or int64: one loop per type, chosen once per run. See type.h. */
#include <math.h>

#include "tensor/small_float.h"
#include "tensor/type.h"

enum { RUN = 256 }; /* elements converted through a buffer on the stack */

/* `p` points to element `first`, `i` runs over 0 .. n-1; memcpy, since data may be unaligned. */
#define LOAD_EACH(T, EXPR) \
	{ \
		const char *p = (const char *)data + first * (int64_t)sizeof(T); \
		for (int64_t i = 0; i < n; i++) { \
			T v; \
			memcpy(&v, p + i * (int64_t)sizeof v, sizeof v); \
			out[i] = (EXPR); \
		} \
		break; \
	}

#define STORE_EACH(T, EXPR) \
	{ \
		char *p = (char *)data + first * (int64_t)sizeof(T); \
		for (int64_t i = 0; i < n; i++) { \
			T v = (EXPR); \
			memcpy(p + i * (int64_t)sizeof v, &v, sizeof v); \
		} \
		break; \
	}

/* Packed elements of 4 or 2 bits: `at` is the element's index in the array. */
SMALL_FLOAT_INLINE uint32_t packed_get(const void *data, int64_t at, int bits)
{
	int each = 8 / bits;
	return ((const unsigned char *)data)[at / each] >> (at % each * bits) & ((1U << bits) - 1);
}

SMALL_FLOAT_INLINE void packed_put(void *data, int64_t at, int bits, uint32_t code)
{
	int each = 8 / bits, shift = (int)(at % each) * bits;
	unsigned char *byte = (unsigned char *)data + at / each;
	uint32_t mask = ((1U << bits) - 1) << shift;
	*byte = (unsigned char)((*byte & ~mask) | (code << shift & mask));
}

SMALL_FLOAT_INLINE int32_t sign_extend(uint32_t code, int bits)
{
	return (int32_t)(code << (32 - bits)) >> (32 - bits);
}

#define LOAD_PACKED(BITS, EXPR) \
	{ \
		for (int64_t i = 0; i < n; i++) { \
			uint32_t v = packed_get(data, first + i, BITS); \
			out[i] = (EXPR); \
		} \
		break; \
	}

#define STORE_PACKED(BITS, EXPR) \
	{ \
		for (int64_t i = 0; i < n; i++) \
			packed_put(data, first + i, BITS, (uint32_t)(EXPR)); \
		break; \
	}

/* Drops the fraction, wraps modulo 2^64; NaN and infinities are zero. */
SMALL_FLOAT_INLINE int64_t int_of_double(double x)
{
	if (x >= -0x1p63 && x < 0x1p63)
		return (int64_t)x;
	if (!isfinite(x))
		return 0;
	double rest = fmod(x, 0x1p64);
	uint64_t m = (uint64_t)fabs(rest);
	return (int64_t)(rest < 0 ? 0 - m : m);
}

void type_load_floats(enum type t, const void *data, int64_t first, int64_t n, double *out)
{
	switch (t) {
	case TYPE_F32: LOAD_EACH(float, (double)v)
	case TYPE_F64: LOAD_EACH(double, v)
	case TYPE_F16: LOAD_EACH(uint16_t, small_float_decode(FLOAT_F16, v))
	case TYPE_BF16: LOAD_EACH(uint16_t, small_float_decode(FLOAT_BF16, v))
	case TYPE_F8E4M3FN: LOAD_EACH(uint8_t, small_float_decode(FLOAT_F8E4M3FN, v))
	case TYPE_F8E4M3FNUZ: LOAD_EACH(uint8_t, small_float_decode(FLOAT_F8E4M3FNUZ, v))
	case TYPE_F8E5M2: LOAD_EACH(uint8_t, small_float_decode(FLOAT_F8E5M2, v))
	case TYPE_F8E5M2FNUZ: LOAD_EACH(uint8_t, small_float_decode(FLOAT_F8E5M2FNUZ, v))
	case TYPE_F8E8M0: LOAD_EACH(uint8_t, e8m0_decode(v))
	case TYPE_F4E2M1: LOAD_PACKED(4, small_float_decode(FLOAT_F4E2M1, v))
	case TYPE_BOOL: LOAD_EACH(uint8_t, v != 0)
	case TYPE_U8: LOAD_EACH(uint8_t, v)
	case TYPE_I8: LOAD_EACH(int8_t, v)
	case TYPE_U16: LOAD_EACH(uint16_t, v)
	case TYPE_I16: LOAD_EACH(int16_t, v)
	case TYPE_U32: LOAD_EACH(uint32_t, v)
	case TYPE_I32: LOAD_EACH(int32_t, v)
	case TYPE_U64: LOAD_EACH(uint64_t, (double)v)
	case TYPE_INDEX:
	case TYPE_I64: LOAD_EACH(int64_t, (double)v)
	case TYPE_U4: LOAD_PACKED(4, v)
	case TYPE_I4: LOAD_PACKED(4, sign_extend(v, 4))
	case TYPE_U2: LOAD_PACKED(2, v)
	case TYPE_I2: LOAD_PACKED(2, sign_extend(v, 2))
	case TYPE_C64:
		for (int64_t i = 0; i < n; i++)
			type_load_floats(TYPE_F32, data, 2 * (first + i), 1, out + i);
		break;
	case TYPE_C128:
		for (int64_t i = 0; i < n; i++)
			type_load_floats(TYPE_F64, data, 2 * (first + i), 1, out + i);
		break;
	case TYPE_NONE:
	case TYPE_STRING: memset(out, 0, sizeof *out * (size_t)n); break;
	}
}

void type_load_ints(enum type t, const void *data, int64_t first, int64_t n, int64_t *out)
{
	switch ((int)t) {
	case TYPE_BOOL: LOAD_EACH(uint8_t, v != 0)
	case TYPE_U8: LOAD_EACH(uint8_t, v)
	case TYPE_I8: LOAD_EACH(int8_t, v)
	case TYPE_U16: LOAD_EACH(uint16_t, v)
	case TYPE_I16: LOAD_EACH(int16_t, v)
	case TYPE_U32: LOAD_EACH(uint32_t, v)
	case TYPE_I32: LOAD_EACH(int32_t, v)
	case TYPE_U64:
	case TYPE_INDEX:
	case TYPE_I64: LOAD_EACH(int64_t, v)
	case TYPE_U4: LOAD_PACKED(4, v)
	case TYPE_I4: LOAD_PACKED(4, sign_extend(v, 4))
	case TYPE_U2: LOAD_PACKED(2, v)
	case TYPE_I2: LOAD_PACKED(2, sign_extend(v, 2))
	default:
		for (int64_t done = 0; done < n; done += RUN) {
			double x[RUN];
			int64_t m = n - done < RUN ? n - done : RUN;
			type_load_floats(t, data, first + done, m, x);
			for (int64_t i = 0; i < m; i++)
				out[done + i] = int_of_double(x[i]);
		}
	}
}

/* The four 8-bit floats, with `saturate` a constant in each loop. */
#define STORE_FLOAT8(F) \
	if (saturate) \
		STORE_EACH(uint8_t, (uint8_t)small_float_encode(F, x[i], true)) \
	else \
		STORE_EACH(uint8_t, (uint8_t)small_float_encode(F, x[i], false))

void type_store_floats(enum type t, void *data, int64_t first, int64_t n, const double *x, bool saturate)
{
	switch (t) {
	case TYPE_F32: STORE_EACH(float, (float)x[i])
	case TYPE_F64: STORE_EACH(double, x[i])
	case TYPE_F16: STORE_EACH(uint16_t, (uint16_t)small_float_encode(FLOAT_F16, x[i], false))
	case TYPE_BF16: STORE_EACH(uint16_t, (uint16_t)small_float_encode(FLOAT_BF16, x[i], false))
	case TYPE_F8E4M3FN: STORE_FLOAT8(FLOAT_F8E4M3FN)
	case TYPE_F8E4M3FNUZ: STORE_FLOAT8(FLOAT_F8E4M3FNUZ)
	case TYPE_F8E5M2: STORE_FLOAT8(FLOAT_F8E5M2)
	case TYPE_F8E5M2FNUZ: STORE_FLOAT8(FLOAT_F8E5M2FNUZ)
	case TYPE_F8E8M0: STORE_EACH(uint8_t, (uint8_t)e8m0_encode(x[i], saturate))
	case TYPE_F4E2M1: STORE_PACKED(4, small_float_encode(FLOAT_F4E2M1, x[i], true))
	case TYPE_BOOL: STORE_EACH(uint8_t, x[i] != 0)
	case TYPE_U8:
	case TYPE_I8: STORE_EACH(uint8_t, (uint8_t)int_of_double(x[i]))
	case TYPE_U16:
	case TYPE_I16: STORE_EACH(uint16_t, (uint16_t)int_of_double(x[i]))
	case TYPE_U32:
	case TYPE_I32: STORE_EACH(uint32_t, (uint32_t)int_of_double(x[i]))
	case TYPE_U64:
	case TYPE_INDEX:
	case TYPE_I64: STORE_EACH(int64_t, int_of_double(x[i]))
	case TYPE_U4:
	case TYPE_I4: STORE_PACKED(4, int_of_double(x[i]))
	case TYPE_U2:
	case TYPE_I2: STORE_PACKED(2, int_of_double(x[i]))
	case TYPE_C64:
		for (int64_t i = 0; i < n; i++)
			type_store_floats(TYPE_F32, data, 2 * (first + i), 2, (double[]){ x[i], 0 }, false);
		break;
	case TYPE_C128:
		for (int64_t i = 0; i < n; i++)
			type_store_floats(TYPE_F64, data, 2 * (first + i), 2, (double[]){ x[i], 0 }, false);
		break;
	case TYPE_NONE:
	case TYPE_STRING: break;
	}
}

void type_store_ints(enum type t, void *data, int64_t first, int64_t n, const int64_t *x)
{
	switch ((int)t) {
	case TYPE_F32: STORE_EACH(float, (float)x[i])
	case TYPE_F64: STORE_EACH(double, (double)x[i])
	case TYPE_BOOL: STORE_EACH(uint8_t, x[i] != 0)
	case TYPE_U8:
	case TYPE_I8: STORE_EACH(uint8_t, (uint8_t)x[i])
	case TYPE_U16:
	case TYPE_I16: STORE_EACH(uint16_t, (uint16_t)x[i])
	case TYPE_U32:
	case TYPE_I32: STORE_EACH(uint32_t, (uint32_t)x[i])
	case TYPE_U64:
	case TYPE_INDEX:
	case TYPE_I64: STORE_EACH(int64_t, x[i])
	case TYPE_U4:
	case TYPE_I4: STORE_PACKED(4, x[i])
	case TYPE_U2:
	case TYPE_I2: STORE_PACKED(2, x[i])
	default:
		for (int64_t done = 0; done < n; done += RUN) {
			double d[RUN];
			int64_t m = n - done < RUN ? n - done : RUN;
			for (int64_t i = 0; i < m; i++)
				d[i] = t == TYPE_C128 ? (double)x[done + i] : double_of_int(x[done + i]);
			type_store_floats(t, data, first + done, m, d, false);
		}
	}
}
