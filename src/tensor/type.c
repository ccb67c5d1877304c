/* Element types: names, sizes, ranges, and single elements. Loops over elements are in lanes.c. See type.h. */
#include "tensor/type.h"

#include "tensor/small_float.h"

static const struct type_info INFO[] = {
	[TYPE_NONE] = { "none", "undefined", CLASS_NONE, 0 },
	[TYPE_F32] = { "f32", "float", CLASS_FLOAT, 32 },
	[TYPE_U8] = { "u8", "uint8", CLASS_UINT, 8 },
	[TYPE_I8] = { "i8", "int8", CLASS_INT, 8 },
	[TYPE_U16] = { "u16", "uint16", CLASS_UINT, 16 },
	[TYPE_I16] = { "i16", "int16", CLASS_INT, 16 },
	[TYPE_I32] = { "i32", "int32", CLASS_INT, 32 },
	[TYPE_I64] = { "i64", "int64", CLASS_INT, 64 },
	[TYPE_STRING] = { "string", "string", CLASS_STRING, 0 },
	[TYPE_BOOL] = { "bool", "bool", CLASS_BOOL, 8 },
	[TYPE_F16] = { "f16", "float16", CLASS_FLOAT, 16 },
	[TYPE_F64] = { "f64", "double", CLASS_FLOAT, 64 },
	[TYPE_U32] = { "u32", "uint32", CLASS_UINT, 32 },
	[TYPE_U64] = { "u64", "uint64", CLASS_UINT, 64 },
	[TYPE_C64] = { "c64", "complex64", CLASS_COMPLEX, 64 },
	[TYPE_C128] = { "c128", "complex128", CLASS_COMPLEX, 128 },
	[TYPE_BF16] = { "bf16", "bfloat16", CLASS_FLOAT, 16 },
	[TYPE_F8E4M3FN] = { "f8e4m3fn", "float8e4m3fn", CLASS_FLOAT, 8 },
	[TYPE_F8E4M3FNUZ] = { "f8e4m3fnuz", "float8e4m3fnuz", CLASS_FLOAT, 8 },
	[TYPE_F8E5M2] = { "f8e5m2", "float8e5m2", CLASS_FLOAT, 8 },
	[TYPE_F8E5M2FNUZ] = { "f8e5m2fnuz", "float8e5m2fnuz", CLASS_FLOAT, 8 },
	[TYPE_U4] = { "u4", "uint4", CLASS_UINT, 4 },
	[TYPE_I4] = { "i4", "int4", CLASS_INT, 4 },
	[TYPE_F4E2M1] = { "f4e2m1", "float4e2m1", CLASS_FLOAT, 4 },
	[TYPE_F8E8M0] = { "f8e8m0", "float8e8m0", CLASS_FLOAT, 8 },
	[TYPE_U2] = { "u2", "uint2", CLASS_UINT, 2 },
	[TYPE_I2] = { "i2", "int2", CLASS_INT, 2 },
	[TYPE_INDEX] = { "index", "", CLASS_INT, 64 },
};

const struct type_info *type_info(enum type t)
{
	return &INFO[(unsigned)t < sizeof INFO / sizeof *INFO ? t : TYPE_NONE];
}

const char *type_name(enum type t)
{
	return type_info(t)->name;
}

bool type_is_float(enum type t)
{
	return type_info(t)->class == CLASS_FLOAT;
}

bool type_is_int(enum type t)
{
	enum type_class c = type_info(t)->class;
	return c == CLASS_INT || c == CLASS_UINT;
}

bool type_multiplies_f8(enum type t)
{
	return t == TYPE_F8E4M3FN || t == TYPE_F8E5M2;
}

bool type_is_signed(enum type t)
{
	enum type_class c = type_info(t)->class;
	return c == CLASS_INT || c == CLASS_COMPLEX || (c == CLASS_FLOAT && t != TYPE_F8E8M0);
}

bool type_is_packed(enum type t)
{
	return type_info(t)->bits > 0 && type_info(t)->bits < 8;
}

enum type type_unpacked(enum type t)
{
	if (!type_is_packed(t))
		return t;
	if (type_is_float(t))
		return TYPE_F8E4M3FN;
	return type_is_signed(t) ? TYPE_I8 : TYPE_U8;
}

int64_t type_bytes(enum type t, int64_t n)
{
	int bits = type_info(t)->bits;
	int64_t size;
	if (bits == 0 || n < 0)
		return -1;
	if (bits < 8)
		return n / (8 / bits) + (n % (8 / bits) != 0);
	return __builtin_mul_overflow(n, (int64_t)(bits / 8), &size) ? -1 : size;
}

int64_t type_min(enum type t)
{
	const struct type_info *info = type_info(t);
	return info->class == CLASS_INT ? INT64_MIN >> (64 - info->bits) : 0;
}

int64_t type_max(enum type t)
{
	const struct type_info *info = type_info(t);
	switch (info->class) {
	case CLASS_INT: return INT64_MAX >> (64 - info->bits);
	case CLASS_UINT: return (int64_t)(UINT64_MAX >> (64 - info->bits));
	case CLASS_BOOL: return 1;
	default: return 0;
	}
}

double type_load_float(enum type t, const void *data, int64_t i)
{
	double x;
	type_load_floats(t, data, i, 1, &x);
	return x;
}

int64_t type_load_int(enum type t, const void *data, int64_t i)
{
	int64_t x;
	type_load_ints(t, data, i, 1, &x);
	return x;
}

void type_store_float(enum type t, void *data, int64_t i, double x, bool saturate)
{
	type_store_floats(t, data, i, 1, &x, saturate);
}

void type_store_int(enum type t, void *data, int64_t i, int64_t x)
{
	type_store_ints(t, data, i, 1, &x);
}

double type_round(enum type t, double x, bool saturate)
{
	uint64_t room;
	if (t == TYPE_F64 || !type_is_float(t))
		return x;
	if (t == TYPE_F32)
		return (double)(float)x;
	type_store_floats(t, &room, 0, 1, &x, saturate);
	type_load_floats(t, &room, 0, 1, &x);
	return x;
}
