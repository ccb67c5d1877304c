/* AffineGrid: y[n, i..., d] = sum over axes of theta[n, d, axis] * position + theta[n, d, last]. Positions run from -1
 * to 1 over the image, the last image axis first: between the centres of the corner elements (align_corners), or their
 * edges.
 * Source: ONNX, operator AffineGrid, opset 20. */
#include "ops/lower/lower.h"

static expr position(expr i, expr extent, bool corners, enum type t)
{
	expr two = ir_const(i->pool, t, 2), one = with(two, 1);

	if (corners)
		return sub(divide(mul(cast(i, t), two), cast(max_(addi(extent, -1), with(extent, 1)), t)), one);
	return sub(divide(cast(addi(muli(i, 2), 1), t), cast(extent, t)), one);
}

static int lower(struct lower *l)
{
	struct value theta = lower_input(l, 0);
	bool corners = lower_int(l, "align_corners") != 0;
	enum type t = value_type(theta), c = compute_type(t);
	struct space s = { 0 };
	struct exprs size;
	expr d, y;
	int n;

	TRY(lower_known(l, 1, &size));
	n = size.n - 2;
	if (value_rank(theta) != 3 || n < 2 || n > 3)
		return lower_fail(l, ERR_MODEL, "theta has %d axes and size %d elements; they must have 3, and 4 or 5.",
		                  value_rank(theta), size.n);
	space_push(l, &s, value_dim(theta, 0));
	for (int i = 0; i < n; i++)
		space_push(l, &s, size.at[2 + i]);
	d = space_push(l, &s, idx(l, n));
	y = wide(load_list(theta, 3, s.at[0], d, idx(l, n)));
	for (int i = 0; i < n; i++)
		y = add(y, mul(wide(load_list(theta, 3, s.at[0], d, idx(l, i))),
		               position(s.at[n - i], size.at[1 + n - i], corners, c)));
	lower_output(l, 0, lower_map(l, NULL, t, &s, y));
	return 0;
}

const struct op_def op_affine_grid = {
	.name = "AffineGrid",
	.since = { 20 },
	.formula = "y[n, i..., :] = theta[n] (position of i, 1)",
	.inputs = { IN("theta", TS_FLOAT), IN("size", TS(I64)) },
	.outputs = { OUT("grid") },
	.attrs = { ATTR_INT("align_corners", 0, "1: -1 and 1 are centres of the corner elements; 0: their edges") },
	.lower = lower,
	.cases = { "theta:f32[N,2,3] size:i64[4]={2,3,14,15}",
	           "theta:f16[2,3,4] size:i64[5]={2,1,4,5,6} align_corners=1" },
};
