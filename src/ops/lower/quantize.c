/* QuantizeLinear: y = saturate(round(x / scale) + zero_point), halves to even; DequantizeLinear: y = (x - zero_point)
 * * scale. Scale and zero point belong to the whole tensor, to the indices of one axis, or to blocks along it. For
 * float targets the zero point is simply added. Source: ONNX, operators QuantizeLinear and DequantizeLinear, opsets 10
 * to 28. */
#include "ops/lower/quantize.h"

expr quantize_element(expr scaled, expr zero, enum type t)
{
	expr y = unary(IR_ROUND_EVEN, scaled);

	if (zero)
		y = add(y, cast(zero, y->type));
	return cast(clamp(y, with(y, (double)type_min(t)), with(y, (double)type_max(t))), t);
}

/* *out is the element of a scale or zero point for x's element at s, by the node's axis and block_size. */
static int parameter(struct lower *l, struct value v, struct value x, const struct space *s, expr *out)
{
	int64_t block = l->opset >= 21 ? lower_int(l, "block_size") : 0;
	int rank = value_rank(v), axis;
	expr index[IR_MAX_RANK];

	if (rank == 0 || (rank == 1 && ir_is_int(value_dim(v, 0), 1))) {
		*out = at_first(v);
		return 0;
	}
	if (rank == 1 && block < 1 && lower_int(l, "axis") >= s->rank) { /* the axis does not exist: one number */
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

int quantize_lower(struct lower *l)
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
	if (l->opset >= 23) { /* the quotient is rounded to the scale's type, or to `precision` */
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

int dequantize_lower(struct lower *l)
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

struct quantize_range quantize_range(struct lower *l, const char *const name[4], const struct space *s, int rank,
                                     expr x)
{
	struct space kept = space_new(l, rank, s->dim);
	expr none = num(l, TYPE_F32, 0), width, from;
	struct value high, low;
	struct quantize_range r;

	high = lower_reduce(l, name[0], TYPE_F32, s, rank, IR_MAXIMUM, x, max_(acc(l, TYPE_F32), none));
	low = lower_reduce(l, name[1], TYPE_F32, s, rank, IR_MINIMUM, x, min_(acc(l, TYPE_F32), none));
	width = sub(load(high, kept.at), load(low, kept.at));
	r.scale = lower_map(l, name[2], TYPE_F32, &kept,
	                    select_(eq(width, none), with(width, 1), divide(width, with(width, 255))));
	from = clamp(sub(none, divide(load(low, kept.at), load(r.scale, kept.at))), none, with(none, 255));
	r.zero = lower_map(l, name[3], TYPE_U8, &kept, cast(unary(IR_ROUND_EVEN, from), TYPE_U8));
	return r;
}
