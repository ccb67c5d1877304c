/* Cast and CastLike: the elements in another type. Floats truncate toward zero to integers, integers wrap, to bool all
 * but zero is true; to the 8-bit floats with saturation unless `saturate` is 0.
 * Source: ONNX, operators Cast and CastLike, opsets 6 to 28. `round_mode` is of float8e8m0 alone. */
#include "ops/lower.h"

static int cast_to(struct lower *l, int64_t to)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	enum type t = to > 0 && to < TYPE_COUNT ? (enum type)to : TYPE_NONE;
	expr e = at(x, &s);

	if (t == TYPE_NONE)
		return lower_fail(l, ERR_MODEL, "%lld is not the number of an element type.", (long long)to);
	if (!(TS_DATA & 1u << t))
		return lower_fail(l, ERR_UNSUPPORTED, "it casts to %s; only whole-byte numbers and bool can be made.",
		                  type_name(t));
	if (TS_F8 & 1u << t)
		e = lower_int(l, "saturate") ? ir_cast_sat(wide(e), t) : cast(wide(e), t);
	else if (TS_F8 & 1u << x.buf->type)
		e = cast(wide(e), t);
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
	  .inputs = { IN("input", TS_DATA) }, .outputs = { OUT("output") },
	  .attrs = { ATTR_INT_REQUIRED("to", "the type, as a number of TensorProto.DataType"), CAST_ATTRS },
	  .lower = cast_lower,
	  .cases = { "input:f32[N,33] to=10", "input:f16[N] to=6", "input:i64[N] to=9",
	             "input:f32[N] to=17 opset=19" } },
	{ .name = "CastLike", .since = { 15, 19, 21, 23, 24, 25 }, .formula = "output = input in target_type's type",
	  .inputs = { IN("input", TS_DATA), IN("target_type", TS_DATA) }, .outputs = { OUT("output") },
	  .attrs = { CAST_ATTRS }, .lower = cast_like_lower, .cases = { "input:f32[N,33] target_type:f16[1]" } },
	{ .name = NULL },
};
/* clang-format on */
