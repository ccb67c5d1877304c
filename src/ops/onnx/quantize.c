/* QuantizeLinear: y = saturate(round(x / scale) + zero_point), halves to even; DequantizeLinear: y = (x - zero_point) *
 * scale. Scale and zero point belong to the whole tensor, to the indices of one axis, or to blocks along it.
 * A float type that is quantised to has no zero point but what is added. Source: ONNX, operators QuantizeLinear and
 * DequantizeLinear, opsets 10 to 28. */
#include "ops/lower/quantize.h"

#define TS_QUANTIZED (TS_Q8 | TS(I16) | TS(U16) | TS_F8 | TS_PACKED)
#define TS_CONTRIB (TS_Q8 | TS(I16) | TS(U16) | TS(I4) | TS(U4)) /* of com.microsoft */

expr quantize_element(expr scaled, expr zero, enum type t)
{
	expr y = unary(IR_ROUND_EVEN, scaled);

	if (zero)
		y = add(y, cast(zero, y->type));
	return cast(clamp(y, with(y, (double)type_min(t)), with(y, (double)type_max(t))), t);
}

/* The element of scale or zero point for x's element at s: axis and block_size as the node has them. */
static int parameter(struct lower *l, struct value v, struct value x, const struct space *s, expr *out)
{
	int64_t block = l->opset >= 21 ? lower_int(l, "block_size") : 0;
	int rank = value_rank(v), axis;
	expr index[IR_MAX_RANK];

	if (rank == 0 || (rank == 1 && ir_is_int(value_dim(v, 0), 1))) {
		*out = at_first(v);
		return 0;
	}
	if (rank == 1 && block < 1 && lower_int(l, "axis") >= s->rank) { /* there is no such axis: one number */
		*out = at_first(v);
		return lower_demand_extent(l, IR_SAME, idx(l, 1), v, 0);
	}
	TRY(lower_axis(l, lower_int(l, "axis"), s->rank, false, &axis));
	if (rank == 1 && (s->rank > 1 || block < 1)) {
		TRY(lower_one_or_each(l, v, 0, x, axis, s->at[axis], &index[0]));
	} else {
		if (rank != s->rank || block < 1)
			return lower_fail(l, ERR_MODEL,
			                  "the scale has %d axes, the input %d: it must be a scalar, a list for one "
			                  "axis, or with block_size have the input's axes.",
			                  rank, s->rank);
		for (int i = 0; i < rank; i++) {
			index[i] = i == axis ? floordiv(s->at[i], idx(l, block)) : s->at[i];
			TRY(i == axis ? lower_demand_extent(l, IR_SAME, ceildiv(s->dim[i], idx(l, block)), v, i)
			              : lower_equal(l, x, i, v, i));
		}
	}
	*out = load(v, index);
	return 0;
}

static int quantize_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), scale = lower_input(l, 1), zero = lower_input(l, 2);
	struct space s = space_of(l, x);
	int64_t asked = lower_int(l, "output_dtype"), precision = lower_int(l, "precision");
	enum type t = zero.given ? value_type(zero) : asked ? (enum type)asked : TYPE_U8;
	expr step, offset = NULL, y;

	if (zero.given && asked && asked != (int64_t)t)
		return lower_fail(l, ERR_MODEL, "output_dtype is %s, the zero point is %s; they must agree.",
		                  type_name((enum type)asked), type_name(t));
	if (t >= TYPE_COUNT || !(TS_QUANTIZED & 1u << t))
		return lower_fail(l, ERR_UNSUPPORTED,
		                  "it quantises to %s; only integers of 2 to 16 bits and floats of 4 and 8 bits can be "
		                  "made.",
		                  type_name(t));
	TRY(parameter(l, scale, x, &s, &step));
	if (zero.given)
		TRY(parameter(l, zero, x, &s, &offset));
	y = type_is_float(value_type(x)) ? wide(at(x, &s)) : cast(at(x, &s), TYPE_F32);
	y = divide(y, cast(wide(step), y->type));
	if (l->opset >= 23) { /* the quotient is rounded to a type: the scale's, or the one asked for */
		enum type p = precision ? (enum type)precision : value_type(scale);

		if (p == TYPE_F16 || p == TYPE_BF16)
			y = cast(cast(y, p), TYPE_F32);
	}
	if (!type_is_float(t))
		y = quantize_element(y, offset, t);
	else if (lower_int(l, "saturate"))
		y = ir_cast_sat(offset ? add(y, wide(offset)) : y, t);
	else
		y = cast(offset ? add(y, wide(offset)) : y, t);
	lower_output(l, 0, lower_map(l, NULL, t, &s, y));
	return 0;
}

static int dequantize_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), scale = lower_input(l, 1), zero = lower_input(l, 2);
	struct space s = space_of(l, x);
	int64_t asked = lower_int(l, "output_dtype");
	enum type t = asked ? (enum type)asked : value_type(scale);
	expr step, offset, y = wide(at(x, &s));

	if (t >= TYPE_COUNT || !(TS_FLOAT & 1u << t))
		return lower_fail(l, ERR_MODEL,
		                  "the result would be %s; output_dtype must name float, float16 or bfloat16.",
		                  type_name(t));
	if (zero.given && value_type(zero) != value_type(x))
		return lower_fail(l, ERR_MODEL, "the input is %s, its zero point %s; they must have one type.",
		                  type_name(value_type(x)), type_name(value_type(zero)));
	TRY(parameter(l, scale, x, &s, &step));
	if (zero.given) {
		TRY(parameter(l, zero, x, &s, &offset));
		y = sub(y, wide(offset));
	}
	y = mul(cast(y, TYPE_F32), cast(wide(step), TYPE_F32));
	lower_output(l, 0, lower_map(l, NULL, t, &s, y));
	return 0;
}

/* clang-format off */
#define PLACE                                                                                                          \
	ATTR_INT("axis", 1, "the axis that a list of scales belongs to"),                                              \
	ATTR_INT("block_size", 0, "elements along the axis that share a scale, where it has the input's axes")
#define TYPED ATTR_INT("output_dtype", 0, "the result's type, as a number of TensorProto.DataType")
#define SINCE { 10, 13, 19, 21, 23, 24, 25, 28 }
#define TS_SCALE (TS(F32) | TS(F16) | TS(BF16))

const struct op_def ops_quantize[] = {
	{ .name = "QuantizeLinear", .since = SINCE, .formula = "y = saturate(round(x / y_scale) + y_zero_point)",
	  .inputs = { IN("x", TS_SCALE | TS(I32)), IN("y_scale", TS_SCALE | TS(I32) | TS(F8E8M0)),
		      OPT("y_zero_point", TS_QUANTIZED) },
	  .outputs = { OUT("y") },
	  .attrs = { PLACE, TYPED,
		     ATTR_INT("saturate", 1, "to 8-bit floats: too large becomes the largest finite value"),
		     ATTR_INT("precision", 0, "type of the quotient, as a number; 0: y_scale's") },
	  .lower = quantize_lower,
	  .cases = { "x:f32[N,33] y_scale:f32[] y_zero_point:u8[]",
		     "x:f32[N,8,H] y_scale:f32[8] y_zero_point:i8[8] opset=13",
		     "x:f16[N,64] y_scale:f16[N,2] y_zero_point:i8[N,2] block_size=32 opset=21",
		     "x:f16[N,7,H] y_scale:f16[7] y_zero_point:i4[7] opset=21",
		     "x:f32[N,64] y_scale:f8e8m0[N,2] output_dtype=23 block_size=32 opset=28" } },
	{ .name = "DequantizeLinear", .since = SINCE, .formula = "y = (x - x_zero_point) * x_scale",
	  .inputs = { IN("x", TS_QUANTIZED | TS(I32)), IN("x_scale", TS_SCALE | TS(F8E8M0)),
		      OPT("x_zero_point", TS_QUANTIZED | TS(I32)) },
	  .outputs = { OUT("y") }, .attrs = { PLACE, TYPED }, .lower = dequantize_lower,
	  .cases = { "x:u8[N,33] x_scale:f32[] x_zero_point:u8[]",
		     "x:i8[N,8,H] x_scale:f32[8] x_zero_point:i8[8] opset=13",
		     "x:i8[N,64] x_scale:f16[N,2] block_size=32 opset=21",
		     "x:u4[N,9] x_scale:f32[9] x_zero_point:u4[9] opset=21",
		     "x:u2[N,64] x_scale:f16[N,2] x_zero_point:u2[N,2] block_size=32 opset=25",
		     "x:f4e2m1[N,64] x_scale:f8e8m0[N,2] output_dtype=10 block_size=32 opset=28" } },
	/* ONNX Runtime's own, from before ONNX had 16 bits. */
	{ .name = "QuantizeLinear", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = saturate(round(x / y_scale) + y_zero_point)",
	  .inputs = { IN("x", TS_SCALE), IN("y_scale", TS_SCALE), OPT("y_zero_point", TS_CONTRIB) },
	  .outputs = { OUT("y") }, .attrs = { PLACE, TYPED, ATTR_INT("saturate", 1, "of 8-bit floats"),
		     ATTR_INT("precision", 0, "has no effect") },
	  .lower = quantize_lower, .cases = { "x:f32[N,33] y_scale:f32[] y_zero_point:u16[]" } },
	{ .name = "DequantizeLinear", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = (x - x_zero_point) * x_scale",
	  .inputs = { IN("x", TS_CONTRIB | TS(I32)), IN("x_scale", TS_SCALE),
		      OPT("x_zero_point", TS_CONTRIB | TS(I32)) },
	  .outputs = { OUT("y") }, .attrs = { PLACE, TYPED }, .lower = dequantize_lower,
	  .cases = { "x:u16[N,33] x_scale:f32[] x_zero_point:u16[]" } },
	{ .name = NULL },
};
/* clang-format on */
