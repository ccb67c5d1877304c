/* Cast and CastLike: the elements in another type. Floats truncate toward zero to integers, integers wrap; to bool,
 * everything but zero is true; to the 8-bit floats with saturation unless `saturate` is 0; to float8e8m0, the powers
 * of two, rounded by `round_mode`.
 * Source: ONNX, operators Cast and CastLike, opsets 6 to 28. They leave values outside the range of integers narrower
 * than a byte open; as in ONNX's reference implementation, these wrap. */
#include "ops/lower/lower.h"

#include <string.h>

/* The power of two next to the f32 x, away from zero (`up`) or toward zero; also between 2^-127 and 2^-126, where
 * there are no normal numbers. Values outside the range of float8e8m0, and NaN, stay: the cast decides. */
static expr power_of_two(expr x, bool up)
{
	expr bits = ir_bitcast(x, TYPE_U32), magnitude = ir_binary(IR_BITAND, bits, with(bits, 0x7fffffff)), y;
	expr exponent = with(bits, 0xff800000), least = with(bits, 0x00400000), most = with(bits, 0x7f000000);

	if (up)
		y = ir_binary(IR_BITAND, addi(bits, 0x007fffff), exponent);
	else
		y = select_(lt(magnitude, muli(least, 2)), least, ir_binary(IR_BITAND, bits, exponent));
	return select_(and_(lt(least, magnitude), lt(magnitude, most)), ir_bitcast(y, TYPE_F32), x);
}

static expr to_e8m0(struct lower *l, expr x)
{
	const char *mode = lower_word(l, "round_mode");

	x = cast(x, TYPE_F32);
	if (strcmp(mode, "nearest") != 0)
		x = power_of_two(x, !strcmp(mode, "up"));
	return lower_int(l, "saturate") ? ir_cast_sat(x, TYPE_F8E8M0) : cast(x, TYPE_F8E8M0);
}

static int cast_to(struct lower *l, int64_t to)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	enum type t = to > 0 && to < TYPE_COUNT ? (enum type)to : TYPE_NONE;
	expr e = at(x, &s);

	if (t == TYPE_NONE)
		return lower_fail(l, ERR_MODEL, "%lld is not the number of an element type.", (long long)to);
	if (!(TS_ALL & 1u << t))
		return lower_fail(l, ERR_UNSUPPORTED, "it casts to %s; only numbers and bool can be made.",
		                  type_name(t));
	if (!(TS_PLAIN & 1u << x.buf->type) || !(TS_PLAIN & 1u << t))
		e = wide(e);
	if (t == TYPE_F8E8M0 && x.buf->type != t)
		e = to_e8m0(l, e);
	else if (TS_F8 & 1u << t && type_is_float(e->type) && lower_int(l, "saturate"))
		e = ir_cast_sat(e, t);
	else if (TS_PACKED & 1u << t && type_is_int(t) && type_is_float(e->type))
		e = cast(e, TYPE_I32); /* from where it wraps */
	lower_output(l, 0, lower_map(l, NULL, t, &s, cast(e, t)));
	return 0;
}

static int cast_lower(struct lower *l)
{
	return cast_to(l, lower_int(l, "to"));
}

static int cast_like_lower(struct lower *l)
{
	return cast_to(l, value_type(lower_input(l, 1)));
}

/* clang-format off */
#define CAST_ATTRS                                                                                                     \
	ATTR_INT("saturate", 1, "to 8-bit floats: what is too large becomes the largest finite value"),                \
	ATTR_WORD("round_mode", "up|down|nearest", "of float8e8m0 only")

const struct op_def ops_cast[] = {
	{ .name = "Cast", .since = { 6, 9, 13, 19, 21, 23, 24, 25, 28 }, .formula = "output = input in the type `to`",
	  .inputs = { IN("input", TS_ALL) }, .outputs = { OUT("output") },
	  .attrs = { ATTR_INT_REQUIRED("to", "the type, as a number of TensorProto.DataType"), CAST_ATTRS },
	  .lower = cast_lower,
	  .cases = { "input:f32[N,33] to=10", "input:f16[N] to=6", "input:i64[N] to=9",
	             "input:f32[N] to=17 opset=19", "input:f32[N,33] to=22 opset=21",
	             "input:u4[N,33] to=10 opset=21", "input:f16[N] to=23 opset=23",
	             "input:f32[N] to=24 round_mode=down opset=24" } },
	{ .name = "CastLike", .since = { 15, 19, 21, 23, 24, 25 }, .formula = "output = input in target_type's type",
	  .inputs = { IN("input", TS_ALL), IN("target_type", TS_ALL) }, .outputs = { OUT("output") },
	  .attrs = { CAST_ATTRS }, .lower = cast_like_lower, .cases = { "input:f32[N,33] target_type:f16[1]" } },
	{ .name = NULL },
};
/* clang-format on */
