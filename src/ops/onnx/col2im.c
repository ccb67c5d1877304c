/* Col2Im: sums blocks (columns) back into the image that they were cut from. Each image position sums, over the
 * block's offsets k, the column whose element k lies there, if there is one.
 *   y[n, c, i..] = sum over k.. of x[n, c * prod(block) + flat(k), flat(j)],  j * stride = i + pad - k * dilation
 * Source: ONNX, operator Col2Im, opset 18. */
#include "ops/lower/lower.h"

struct windows {
	int rank; /* spatial axes */
	struct exprs image;
	struct ints block, strides, pads, dilations;
};

static int read_windows(struct lower *l, struct windows *w)
{
	TRY(lower_known(l, 1, &w->image));
	TRY(lower_known_ints(l, 2, &w->block));
	w->strides = lower_ints(l, "strides");
	w->dilations = lower_ints(l, "dilations");
	w->pads = lower_ints(l, "pads");
	w->rank = w->image.n;
	for (; !lower_has(l, "strides") && w->strides.n < w->rank; w->strides.n++)
		w->strides.at[w->strides.n] = 1;
	for (; !lower_has(l, "dilations") && w->dilations.n < w->rank; w->dilations.n++)
		w->dilations.at[w->dilations.n] = 1;
	if (!lower_has(l, "pads"))
		w->pads.n = 2 * w->rank;
	if (w->block.n != w->rank || w->strides.n != w->rank || w->dilations.n != w->rank || w->pads.n != 2 * w->rank)
		return lower_fail(l, ERR_MODEL,
		                  "image_shape, block_shape, strides, dilations and pads have %d, %d, %d, %d and %d "
		                  "elements; pads needs two for each spatial axis, and the others one.",
		                  w->rank, w->block.n, w->strides.n, w->dilations.n, w->pads.n);
	if (2 + 2 * w->rank > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "images of %d axes are too many.", w->rank);
	for (int i = 0; i < w->rank; i++)
		if (w->block.at[i] < 1 || w->strides.at[i] < 1 || w->dilations.at[i] < 1)
			return lower_fail(l, ERR_MODEL, "blocks, strides and dilations must be positive.");
	return 0;
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct windows w = { 0 };
	struct space s = { 0 };
	expr columns[IR_MAX_RANK], j[IR_MAX_RANK], k[IR_MAX_RANK], block[IR_MAX_RANK], one = idx(l, 1), size = one,
	                                                                               count = one, c, y;
	expr inside = ir_int(l->program->pool, TYPE_BOOL, 1);
	enum type t = value_type(x), a = accumulator_type(t);

	TRY(read_windows(l, &w));
	if (value_rank(x) != 3)
		return lower_fail(l, ERR_MODEL,
		                  "the input has rank %d; the operator takes [batch, channels * block, columns].",
		                  value_rank(x));
	for (int i = 0; i < w.rank; i++) {
		block[i] = idx(l, w.block.at[i]);
		size = mul(size, block[i]);
	}
	space_push(l, &s, value_dim(x, 0));
	c = space_push(l, &s, floordiv(value_dim(x, 1), size));
	for (int i = 0; i < w.rank; i++)
		space_push(l, &s, w.image.at[i]);
	for (int i = 0; i < w.rank; i++) {
		expr stride = idx(l, w.strides.at[i]), at;

		k[i] = space_push(l, &s, block[i]);
		columns[i] = add(one, floordiv(addi(w.image.at[i], w.pads.at[i] + w.pads.at[w.rank + i] -
		                                                           w.dilations.at[i] * (w.block.at[i] - 1) - 1),
		                               stride));
		at = addi(sub(s.at[2 + i], muli(k[i], w.dilations.at[i])), w.pads.at[i]);
		j[i] = floordiv(at, stride);
		inside = and_(inside, eq(mod(at, stride), idx(l, 0)));
		inside = and_(inside, and_(ge(j[i], idx(l, 0)), lt(j[i], columns[i])));
	}
	TRY(lower_demand_extent(l, IR_SAME, mul(floordiv(value_dim(x, 1), size), size), x, 1));
	for (int i = 0; i < w.rank; i++)
		count = mul(count, columns[i]);
	TRY(lower_demand_extent(l, IR_SAME, count, x, 2));
	y = cast(load_list(x, 3, s.at[0], add(mul(c, size), flatten(l, w.rank, block, k)),
	                   flatten(l, w.rank, columns, j)),
	         a);
	lower_output(l, 0, lower_reduce(l, NULL, t, &s, 2 + w.rank, IR_SUM, select_(inside, y, num(l, a, 0)), NULL));
	return 0;
}

const struct op_def op_col2im = {
	.name = "Col2Im",
	.since = { 18 },
	.formula = "y[n, c, i..] = sum of the columns' elements that lie there",
	.inputs = { IN("input", TS_NUMBER), IN("image_shape", TS(I64)), IN("block_shape", TS(I64)) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INTS("strides", "between blocks, along each axis; 1"),
	           ATTR_INTS("pads", "around the image: begins, then ends; 0"),
	           ATTR_INTS("dilations", "between a block's elements; 1") },
	.lower = lower,
	.cases = { "input:f32[N,27,16] image_shape:i64[2]={6,6} block_shape:i64[2]={3,3}",
	           "input:f16[1,8,9] image_shape:i64[2]={5,5} block_shape:i64[2]={2,2} strides=2,2 pads=0,0,1,1" },
};
