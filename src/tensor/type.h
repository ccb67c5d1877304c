/* Element types. The numbers are ONNX's TensorProto.DataType, so that no table translates them.
 * Source: onnx.proto of ONNX 1.23. */
#ifndef TPAT_TENSOR_TYPE_H
#define TPAT_TENSOR_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum type {
	TYPE_NONE = 0,
	TYPE_F32 = 1,
	TYPE_U8 = 2,
	TYPE_I8 = 3,
	TYPE_U16 = 4,
	TYPE_I16 = 5,
	TYPE_I32 = 6,
	TYPE_I64 = 7,
	TYPE_STRING = 8,
	TYPE_BOOL = 9,
	TYPE_F16 = 10,
	TYPE_F64 = 11,
	TYPE_U32 = 12,
	TYPE_U64 = 13,
	TYPE_C64 = 14,  /* complex of two f32 */
	TYPE_C128 = 15, /* complex of two f64 */
	TYPE_BF16 = 16,
	TYPE_F8E4M3FN = 17,
	TYPE_F8E4M3FNUZ = 18,
	TYPE_F8E5M2 = 19,
	TYPE_F8E5M2FNUZ = 20,
	TYPE_U4 = 21,
	TYPE_I4 = 22,
	TYPE_F4E2M1 = 23,
	TYPE_F8E8M0 = 24,
	TYPE_U2 = 25,
	TYPE_I2 = 26,
	TYPE_COUNT = 27,
	TYPE_INDEX = 27, /* tensor programs only: an index or extent; int or 64-bit int, as the kernel needs */
};

enum type_class { CLASS_NONE, CLASS_FLOAT, CLASS_INT, CLASS_UINT, CLASS_BOOL, CLASS_STRING, CLASS_COMPLEX };

struct type_info {
	const char *name;      /* "f32", "bf16", "f8e4m3fn": in programs, kernels, messages */
	const char *onnx_name; /* ONNX's name: "float", "bfloat16", "float8e4m3fn" */
	enum type_class class;
	int bits; /* per element; 4 and 2 are packed as in ONNX (low bits first) */
};

const struct type_info *type_info(enum type t); /* never null; TYPE_NONE's row for unknown numbers */
const char *type_name(enum type t);
bool type_is_float(enum type t);
bool type_is_int(enum type t); /* signed or unsigned integers; not bool */
bool type_is_signed(enum type t);
bool type_multiplies_f8(enum type t); /* the 8-bit floats that tensor cores multiply: f8e4m3fn and f8e5m2 */
/* True if narrower than a byte: two or four elements share one, the first in its low bits. */
bool type_is_packed(enum type t);
/* A type of whole bytes that holds every value of `t`: of packed types u8, i8 or f8e4m3fn, else `t` itself. */
enum type type_unpacked(enum type t);

/* Bytes of `n` packed elements; -1 on int64 overflow or if the type has no fixed size. */
int64_t type_bytes(enum type t, int64_t n);

/* Ranges of integer types (and bool), as int64; U64's maximum has the bits of -1. */
int64_t type_min(enum type t);
int64_t type_max(enum type t);

/* One element as double or int64, from and to memory at element index `i` of a packed array. Conversion to a float type
 * rounds to nearest even. To the 8-bit and smaller floats with `saturate`: values beyond the largest finite one
 * (infinity included) give that one; without it infinity or NaN, whichever the type has (ONNX Cast). Integers wrap. */
double type_load_float(enum type t, const void *data, int64_t i);
int64_t type_load_int(enum type t, const void *data, int64_t i); /* U64 gives its bits */
void type_store_float(enum type t, void *data, int64_t i, double x, bool saturate);
void type_store_int(enum type t, void *data, int64_t i, int64_t x);

/* The same for `n` elements from index `first` on, with one type dispatch per call. Arrays may be unaligned. Two
 * threads must not store into the same byte of a packed array. Complex numbers load as their real part and store with a
 * zero imaginary part; strings load as zero and are never stored. Conversions round once: an int64 beyond 2^53 reaches
 * f32 or bf16 correctly rounded. Floats become integers by dropping the fraction, then the bits above the type's width
 * (NaN and infinities: zero). */
void type_load_floats(enum type t, const void *data, int64_t first, int64_t n, double *out);
void type_load_ints(enum type t, const void *data, int64_t first, int64_t n, int64_t *out);
void type_store_floats(enum type t, void *data, int64_t first, int64_t n, const double *x, bool saturate);
void type_store_ints(enum type t, void *data, int64_t first, int64_t n, const int64_t *x);

/* Rounds `x` to the nearest value of the float type. */
double type_round(enum type t, double x, bool saturate);

#endif
