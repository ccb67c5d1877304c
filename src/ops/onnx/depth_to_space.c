/* DepthToSpace: channels become blocks of b x b pixels. SpaceToDepth: the reverse. With c' channels in `wide`, the
 * side with more pixels:
 *   DCR: wide[n, c, h*b + p, w*b + q] = deep[n, (p*b + q)*c' + c, h, w]
 *   CRD: wide[n, c, h*b + p, w*b + q] = deep[n, c*b*b + p*b + q, h, w]
 * Source: ONNX, operators DepthToSpace (opset 1 to 28), SpaceToDepth (1 to 28; the mode from 28). */
#include "ops/lower/lower.h"

#include <string.h>

struct block {
	struct value x;
	int64_t b;
	bool depth_first; /* DCR */
};

static int read_block(struct lower *l, struct block *k)
{
	k->x = lower_input(l, 0);
	k->b = lower_int(l, "blocksize");
	k->depth_first = !strcmp(lower_word(l, "mode"), "DCR");
	if (value_rank(k->x) != 4)
		return lower_fail(l, ERR_MODEL, "the input has rank %d; the operator takes rank 4.", value_rank(k->x));
	if (k->b < 1 || k->b > 1 << 15)
		return lower_fail(l, ERR_MODEL, "blocksize is %lld.", (long long)k->b);
	return 0;
}

/* Fails when an extent is known and no multiple of n. */
static int check_divides(struct lower *l, int axis, int64_t n)
{
	int64_t extent;

	if (ir_const_int(value_dim(lower_input(l, 0), axis), &extent) && extent % n)
		return lower_fail(l, ERR_MODEL, "axis %d has extent %lld, which is not a multiple of %lld.", axis,
		                  (long long)extent, (long long)n);
	return 0;
}

static int lower_depth_to_space(struct lower *l)
{
	struct block k;
	struct space s = { 0 };
	expr b, channels, n, c, h, w, pixel;

	TRY(read_block(l, &k));
	TRY(check_divides(l, 1, k.b * k.b));
	b = idx(l, k.b);
	channels = floordiv(value_dim(k.x, 1), mul(b, b));
	n = space_push(l, &s, value_dim(k.x, 0));
	c = space_push(l, &s, channels);
	h = space_push(l, &s, mul(value_dim(k.x, 2), b));
	w = space_push(l, &s, mul(value_dim(k.x, 3), b));
	pixel = add(mul(mod(h, b), b), mod(w, b));
	c = k.depth_first ? add(mul(pixel, channels), c) : add(mul(c, mul(b, b)), pixel);
	lower_output(l, 0,
	             lower_map(l, NULL, value_type(k.x), &s, load_list(k.x, 4, n, c, floordiv(h, b), floordiv(w, b))));
	return 0;
}

const struct op_def op_depth_to_space = {
	.name = "DepthToSpace",
	.since = { 1, 11, 13, 28 },
	.formula = "y[n, c, h*b + p, w*b + q] = x[n, (p*b + q)*C + c, h, w]",
	.inputs = { IN("input", TS_DATA) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT_REQUIRED("blocksize", "b: pixels a side of a block"),
	           ATTR_WORD("mode", "DCR|CRD", "order in the channels: block position first, or channel first") },
	.lower = lower_depth_to_space,
	.cases = { "input:f32[N,8,H,W] blocksize=2", "input:f16[1,18,4,5] blocksize=3 mode=CRD" },
};

static int lower_space_to_depth(struct lower *l)
{
	struct block k;
	struct space s = { 0 };
	expr b, channels, n, deep, h, w, c, pixel;

	TRY(read_block(l, &k));
	TRY(check_divides(l, 2, k.b));
	TRY(check_divides(l, 3, k.b));
	b = idx(l, k.b);
	channels = value_dim(k.x, 1);
	n = space_push(l, &s, value_dim(k.x, 0));
	deep = space_push(l, &s, mul(channels, mul(b, b)));
	h = space_push(l, &s, floordiv(value_dim(k.x, 2), b));
	w = space_push(l, &s, floordiv(value_dim(k.x, 3), b));
	pixel = k.depth_first ? floordiv(deep, channels) : mod(deep, mul(b, b));
	c = k.depth_first ? mod(deep, channels) : floordiv(deep, mul(b, b));
	lower_output(
	        l, 0,
	        lower_map(l, NULL, value_type(k.x), &s,
	                  load_list(k.x, 4, n, c, add(mul(h, b), floordiv(pixel, b)), add(mul(w, b), mod(pixel, b)))));
	return 0;
}

const struct op_def op_space_to_depth = {
	.name = "SpaceToDepth",
	.since = { 1, 13, 28 },
	.formula = "y[n, (p*b + q)*C + c, h, w] = x[n, c, h*b + p, w*b + q]",
	.inputs = { IN("input", TS_DATA) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT_REQUIRED("blocksize", "b: pixels a side of a block"),
	           ATTR_WORD("mode", "DCR|CRD", "order in the channels: block position first, or channel first") },
	.lower = lower_space_to_depth,
	.cases = { "input:f32[N,2,4,6] blocksize=2", "input:f16[1,C,6,9] blocksize=3" },
};
