/* NhwcMaxPool: MaxPool with channels as the last axis. MaxpoolWithMask: MaxPool over each line of the window up to the
 * first place where the mask is zero. Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/pooling.h"

/* The mask's element index[2...] for the image at x's [n, c]. The mask has any number of images, stored one after the
 * other. With several, ONNX Runtime, which alone defines the operator, starts at element (n c of x) * image mod
 * images. */
static expr mask_element(struct lower *l, struct value mask, const struct pooling *p, const expr *index)
{
	int rank = value_rank(mask);
	expr images = mul(value_dim(mask, 0), value_dim(mask, 1)), image = idx(l, 1), flat = idx(l, 0);
	expr channel = add(mul(p->s.at[0], value_dim(p->in, 1)), p->s.at[1]), dim[IR_MAX_RANK], at[IR_MAX_RANK];

	for (int i = 0; i < rank; i++)
		dim[i] = value_dim(mask, i);
	for (int i = 2; i < rank; i++) {
		flat = add(mul(flat, p->w.in[i - 2]), index[i]);
		image = mul(image, p->w.in[i - 2]);
	}
	if (!ir_is_int(images, 1)) {
		ir_unflat(add(mod(mul(channel, image), max_(images, idx(l, 1))), flat), rank, dim, at);
		return load(mask, at);
	}
	for (int i = 0; i < rank; i++)
		at[i] = i < 2 ? idx(l, 0) : index[i];
	return load(mask, at);
}

/* Each line of the window, along the last axis, counts up to the first place where the mask is zero. The image's very
 * first element always counts in images of two or more axes. */
static int masked_lower(struct lower *l)
{
	struct value mask = lower_input(l, 1);
	struct pooling p;
	expr e, counts, index[IR_MAX_RANK], k, first;
	int64_t width;
	int last;

	TRY(pooling_begin(l, &p));
	last = p.rank - 1;
	if (value_rank(mask) != p.rank)
		return lower_fail(l, ERR_MODEL, "the mask has %d axes, and the input %d.", value_rank(mask), p.rank);
	for (int i = 0; i < 2; i++)
		TRY(lower_demand_extent(l, IR_AT_MOST, idx(l, 1), mask, i));
	for (int i = 2; i < p.rank; i++)
		TRY(lower_equal(l, p.in, i, mask, i));
	ck(ir_const_int(p.kernel[last - 2], &width));
	if (width > 64)
		return lower_fail(l, ERR_UNSUPPORTED, "the window is %lld wide; 64 is the most.", (long long)width);
	counts = p.inside;
	k = p.s.at[p.s.rank - 1];
	for (int64_t j = 0; j < width; j++) {
		expr here;

		for (int i = 2; i < p.rank; i++)
			index[i] = p.x[i];
		index[last] = window_position(&p.w, last - 2, p.s.at[last], idx(l, j));
		here = or_(gt(idx(l, j), k), or_(lt(index[last], idx(l, 0)), ge(index[last], p.w.in[last - 2])));
		first = ir_int(l->program->pool, TYPE_BOOL, p.rank > 3);
		for (int i = 2; i < p.rank; i++) {
			first = and_(first, eq(index[i], idx(l, 0)));
			index[i] = clamp(index[i], idx(l, 0), addi(p.w.in[i - 2], -1));
		}
		e = mask_element(l, mask, &p, index);
		counts = and_(counts, or_(or_(here, first), ne(e, with(e, 0))));
	}
	e = load(p.in, p.x);
	e = select_(counts, e, num(l, e->type, -3.4028234663852886e38));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(p.in), &p.s, p.rank, IR_MAXIMUM, e, NULL));
	return 0;
}

/* clang-format off */
const struct op_def ops_contrib_pool[] = {
	{ .name = "NhwcMaxPool", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = the largest x in the window, channels last",
	  .inputs = { IN("x", TS(I8) | TS(U8)) }, .outputs = { OUT("y") }, .attrs = { WINDOW_ATTRS, POOLING_CEIL },
	  .lower = max_pool_lower,
	  .cases = { "x:u8[N,H,W,8] kernel_shape=3,3 strides=2,2 pads=1,1,1,1" } },
	{ .name = "MaxpoolWithMask", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = the largest x in the window, of each of its lines up to where the mask is zero",
	  .inputs = { IN("x", TS(F32)), IN("m", TS(I32)) }, .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, POOLING_CEIL, ATTR_INT("storage_order", 0, "no effect") }, .lower = masked_lower,
	  .cases = { "x:f32[N,8,H,W] m:i32[1,1,H,W] kernel_shape=3,2 strides=2,1 pads=1,1,1,0",
		     "x:f32[N,3,7,5] m:i32[N,3,7,5] kernel_shape=2,2" } },
	{ .name = NULL },
};
/* clang-format on */
