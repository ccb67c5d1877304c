/* GatherBlockQuantized: Gather of numbers quantised in blocks along one axis, dequantised:
 *   y[a.., i.., b..] = (data[a.., indices[i..], b..] - zero point) * scale, both of the element's block
 * Bytes hold numbers of `bits` bits, packed low bits first along the last axis, and so do their zero points. The
 * default zero point is 2^(bits - 1) for bytes, and 0 for 4-bit numbers; small floats have none. An index outside gives
 * zeros. Source: ONNX Runtime, com.microsoft.GatherBlockQuantized. */
#include "ops/microsoft/packed_bytes.h"

#include <string.h>

struct quantised {
	struct value data, scale, zero;
	int rank, axis; /* axis: of the blocks */
	int64_t bits;   /* bits of a number; types other than bytes are not packed here */
	int64_t a_byte; /* numbers in it */
	expr block;
};

/* Number `index[last]` of a tensor whose last axis is packed in bytes. */
static expr unpacked(const struct quantised *q, struct value bytes, const expr *index)
{
	expr at[IR_MAX_RANK], last = index[q->rank - 1];

	memcpy(at, index, sizeof *at * (size_t)q->rank);
	if (q->a_byte == 1)
		return cast(load(bytes, at), TYPE_I32);
	at[q->rank - 1] = floordiv(last, packed_a_byte(last, q->bits));
	return packed_number(cast(load(bytes, at), TYPE_I32), last, q->bits);
}

static expr dequantised(const struct quantised *q, const expr *index)
{
	expr at_block[IR_MAX_RANK], x, scale, dim;

	for (int i = 0; i < q->rank; i++) {
		dim = value_dim(q->scale, i);
		at_block[i] = i == q->axis ? floordiv(index[i], q->block)
		              : type_is_float(value_type(q->data))
		                      ? select_(eq(dim, with(dim, 1)), with(dim, 0), index[i])
		                      : index[i];
	}
	scale = wide(load(q->scale, at_block));
	if (type_is_float(value_type(q->data)))
		return mul(cast(load(q->data, index), TYPE_F32), scale);
	x = unpacked(q, q->data, index);
	if (q->zero.given)
		x = sub(x, unpacked(q, q->zero, at_block));
	else if (value_type(q->data) == TYPE_U8)
		x = sub(x, with(x, (double)(1 << (q->bits - 1))));
	return mul(cast(x, TYPE_F32), scale);
}

static int read_quantised(struct lower *l, struct quantised *q)
{
	int64_t block = lower_int(l, "block_size");
	bool real;

	*q = (struct quantised){ .data = lower_input(l, 0), .scale = lower_input(l, 2), .zero = lower_input(l, 3) };
	q->rank = value_rank(q->data);
	real = type_is_float(value_type(q->data));
	TRY(lower_axis(l, lower_int(l, "quantize_axis"), q->rank, false, &q->axis));
	q->bits = lower_int(l, "bits");
	q->a_byte = value_type(q->data) == TYPE_U8 && q->bits > 0 ? 8 / q->bits : 1;
	if (value_type(q->data) == TYPE_U8 ? q->bits != 2 && q->bits != 4 && q->bits != 8 : !real && q->bits != 4)
		return lower_fail(l, ERR_MODEL, "bits is %lld; it must be 4, or 2, 4 or 8 for bytes.",
		                  (long long)q->bits);
	if (block < 0 || (!block && !real))
		return lower_fail(l, ERR_MODEL, "block_size is %lld.", (long long)block);
	if (value_rank(q->scale) != q->rank || (q->zero.given && value_rank(q->zero) != q->rank))
		return lower_fail(l, ERR_MODEL, "data, scales and zero points must have the same number of axes.");
	if (q->zero.given && (real || value_type(q->zero) != value_type(q->data)))
		return lower_fail(l, ERR_MODEL, "zero points of type %s do not belong to data of type %s.",
		                  type_name(value_type(q->zero)), type_name(value_type(q->data)));
	if (q->a_byte > 1 && q->axis != q->rank - 1)
		return lower_fail(l, ERR_MODEL, "quantize_axis must be the last axis for packed bytes.");
	q->block = block ? idx(l, block) : max_(value_dim(q->data, q->axis), idx(l, 1));
	return 0;
}

/* Checks that there is a scale, and a zero point if given, for each block. */
static int check_blocks(struct lower *l, const struct quantised *q)
{
	bool real = type_is_float(value_type(q->data));

	for (int i = 0; i < q->rank; i++) {
		expr n = muli(value_dim(q->data, i), i == q->rank - 1 ? q->a_byte : 1);

		n = i == q->axis ? ceildiv(n, q->block) : n;
		if (real && i != q->axis)
			TRY(lower_demand_of(l, IR_ONE_OR, "an extent of scales", value_dim(q->scale, i), "that of data",
			                    n));
		else
			TRY(lower_demand_extent(l, IR_AT_MOST, n, q->scale, i));
		if (q->zero.given && !real)
			TRY(lower_demand_extent(l, IR_AT_MOST, i == q->rank - 1 ? ceildiv(n, idx(l, q->a_byte)) : n,
			                        q->zero, i));
	}
	return 0;
}

static int lower(struct lower *l)
{
	struct value indices = lower_input(l, 1);
	struct quantised q;
	struct space s = { 0 };
	expr index[IR_MAX_RANK], at_index[IR_MAX_RANK], dim, i, e;
	int axis;

	TRY(read_quantised(l, &q));
	TRY(lower_axis(l, lower_int(l, "gather_axis"), q.rank, false, &axis));
	if (q.a_byte > 1 && axis == q.rank - 1)
		return lower_fail(l, ERR_MODEL, "gather_axis must not be the last axis for packed bytes.");
	if (q.rank - 1 + value_rank(indices) > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the result has more than %d axes.", IR_MAX_RANK);
	for (int k = 0; k < axis; k++)
		index[k] = space_push(l, &s, value_dim(q.data, k));
	for (int k = 0; k < value_rank(indices); k++)
		at_index[k] = space_push(l, &s, value_dim(indices, k));
	for (int k = axis + 1; k < q.rank; k++)
		index[k] = space_push(l, &s, muli(value_dim(q.data, k), k == q.rank - 1 ? q.a_byte : 1));
	TRY(check_blocks(l, &q));
	dim = value_dim(q.data, axis);
	i = cast(load(indices, at_index), TYPE_INDEX);
	index[axis] = wrap_index(i, dim);
	e = dequantised(&q, index);
	e = select_(and_(ge(i, sub(with(dim, 0), dim)), lt(i, dim)), e, with(e, 0));
	lower_output(l, 0, lower_map(l, NULL, value_type(q.scale), &s, e));
	return 0;
}

/* clang-format off */
#define TS_Q (TS(I4) | TS(U4) | TS(U8) | TS_F8 | TS(F4E2M1))

const struct op_def op_gather_block_quantized = {
	.name = "GatherBlockQuantized",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y[a.., i.., b..] = (data[a.., indices[i..], b..] - zero point) * scale, of the element's block",
	.inputs = { IN("data", TS_Q), IN("indices", TS_INDICES), IN("scales", TS_FLOAT32), OPT("zero_points", TS_Q) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT("gather_axis", 0, "the axis that indices are of"),
		   ATTR_INT("quantize_axis", 1, "the axis along which numbers are in blocks"),
		   ATTR_INT("block_size", 128, "numbers that share a scale; 0, for small floats: all"),
		   ATTR_INT("bits", 4, "bits of a number: 4, or 2, 4 or 8 in bytes") },
	.lower = lower,
	.cases = { "data:u8[1000,32] indices:i64[B,S] scales:f16[1000,4] zero_points:u8[1000,2] block_size=16",
		   "data:i4[N,3,32] indices:i32[5] scales:f32[N,3,2] gather_axis=1 quantize_axis=-1 block_size=16",
		   "data:u8[N,40] indices:i64[] scales:f32[N,3] bits=8 block_size=16",
		   "data:f8e4m3fn[N,33] indices:i64[7] scales:f32[1,1] block_size=0" },
};
/* clang-format on */
