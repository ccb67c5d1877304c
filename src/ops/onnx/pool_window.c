/* MaxPool, AveragePool, LpPool: y[n, c, o...] = max, mean or p-norm of x over the window at o. MaxPool's second output
 * is the position of the maximum in x, flattened over all of x. A mean counts the places in the input, or with
 * count_include_pad those in the padding too, but never what a window of ceil_mode hangs over.
 * Source: ONNX, operators MaxPool (opsets 1 to 22), AveragePool (1 to 22), LpPool (1 to 22); ONNX Runtime, NhwcMaxPool
 * and MaxpoolWithMask of com.microsoft. */
#include "ops/lower/window.h"

#include <string.h>

struct pooling {
	struct value in;
	struct window w;
	struct space s; /* n, c, o..., then k... */
	int rank;
	expr x[IR_MAX_RANK], inside, kernel[IR_MAX_RANK];
};

static int begin(struct lower *l, struct pooling *p)
{
	bool last = !strncmp(l->op->name, "Nhwc", 4); /* the channels are the last axis */
	struct value given = lower_input(l, 0), x = last ? window_channels_first(l, given) : given;
	int rank = value_rank(x), n = rank - 2;
	expr out[IR_MAX_RANK];

	if (rank < 3 || rank + n > IR_MAX_RANK)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it needs batch, channels and spatial ones.",
		                  rank);
	*p = (struct pooling){ .in = given, .rank = rank };
	TRY(window_kernel(l, n, p->kernel));
	TRY(window_read(l, x, n, p->kernel, lower_int(l, "ceil_mode") != 0, &p->w));
	p->x[0] = space_push(l, &p->s, value_dim(x, 0));
	if (!last)
		p->x[1] = space_push(l, &p->s, value_dim(x, 1));
	for (int i = 0; i < n; i++)
		out[i] = space_push(l, &p->s, p->w.out[i]);
	if (last)
		p->x[1] = space_push(l, &p->s, value_dim(x, 1));
	for (int i = 0; i < n; i++) {
		expr k = space_push(l, &p->s, p->kernel[i]);

		p->x[2 + i] = window_position(&p->w, i, out[i], k);
	}
	p->inside = window_inside(&p->w, &p->x[2]);
	if (last)
		window_move_channel(rank, p->x);
	return 0;
}

/* The flattened position in x of the maximum, which `place`, flattened in the window, names. With storage_order 1 the
 * spatial axes count column-major. */
static expr flat_position(struct lower *l, const struct pooling *p, const struct space *out, expr place)
{
	expr k[IR_MAX_RANK], flat = idx(l, 0), image = idx(l, 1);
	bool columns = lower_int(l, "storage_order") != 0;

	unflatten(place, p->w.n, p->kernel, k);
	for (int j = 0; j < p->w.n; j++) {
		int i = columns ? p->w.n - 1 - j : j;

		flat = add(mul(flat, p->w.in[i]), window_position(&p->w, i, out->at[2 + i], k[i]));
		image = mul(image, p->w.in[i]);
	}
	return add(mul(add(mul(out->at[0], value_dim(p->in, 1)), out->at[1]), image), flat);
}

static int max_lower(struct lower *l)
{
	struct ir_pool *pool = l->program->pool;
	struct pooling p;
	struct space out;
	struct value place;
	expr e;

	TRY(begin(l, &p));
	e = load(p.in, p.x);
	if (type_is_float(e->type))
		e = wide(e);
	e = select_(p.inside, e, ir_identity(pool, IR_MAXIMUM, e->type));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(p.in), &p.s, p.rank, IR_MAXIMUM, e, NULL));
	if (!lower_wants(l, 1))
		return 0;
	/* Small integers are widened, so that no element equals the padding. */
	e = wide(load(p.in, p.x));
	e = select_(p.inside, e, ir_identity(pool, IR_MAXIMUM, e->type));
	place = lower_reduce(l, "place", TYPE_I64, &p.s, p.rank, IR_ARGMAX, e, NULL);
	out = space_of(l, place);
	e = flat_position(l, &p, &out, cast(at(place, &out), TYPE_INDEX));
	lower_output(l, 1, lower_map(l, "indices", TYPE_I64, &out, cast(e, TYPE_I64)));
	return 0;
}

/* The mask's element for index[2...] of the image at x's [n, c]. Its images lie one behind the other, of any number;
 * where there are several, ONNX Runtime, which alone defines the operator, begins at element n c (of x) * image mod
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
		unflatten(add(mod(mul(channel, image), max_(images, idx(l, 1))), flat), rank, dim, at);
		return load(mask, at);
	}
	for (int i = 0; i < rank; i++)
		at[i] = i < 2 ? idx(l, 0) : index[i];
	return load(mask, at);
}

/* In each line of the window, along the last axis, what stands from the first place on where the mask is zero does not
 * count; the image's very first element always does, in images of two axes and more. */
static int masked_lower(struct lower *l)
{
	struct value mask = lower_input(l, 1);
	struct pooling p;
	expr e, counts, index[IR_MAX_RANK], k, first;
	int64_t width;
	int last;

	TRY(begin(l, &p));
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

static int average_lower(struct lower *l)
{
	bool padding = lower_int(l, "count_include_pad") != 0, hangs = lower_int(l, "ceil_mode") != 0;
	struct pooling p;
	expr e, count = idx(l, 1);

	TRY(begin(l, &p));
	for (int i = 0; i < p.w.n; i++)
		count = mul(count, padding && !hangs ? p.kernel[i] : window_count(&p.w, i, p.s.at[2 + i], padding));
	e = wide(load(p.in, p.x));
	e = select_(p.inside, e, with(e, 0));
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(p.in), &p.s, p.rank, IR_SUM, e,
	                          divide(acc(l, e->type), cast(count, e->type))));
	return 0;
}

/* (sum of |x|^p)^(1/p): the element of the sum and what follows it. */
static expr norm_element(expr x, double p)
{
	return p == 2 ? mul(x, x) : p == 1 ? unary(IR_ABS, x) : pow_(unary(IR_ABS, x), with(x, p));
}

static expr norm_root(expr sum, double p)
{
	return p == 2 ? unary(IR_SQRT, sum) : p == 1 ? sum : pow_(sum, with(sum, 1 / p));
}

static int lp_lower(struct lower *l)
{
	double power = lower_float(l, "p");
	struct pooling p;
	expr e;

	TRY(begin(l, &p));
	e = wide(load(p.in, p.x));
	e = select_(p.inside, norm_element(e, power), with(e, 0));
	lower_output(
	        l, 0,
	        lower_reduce(l, NULL, value_type(p.in), &p.s, p.rank, IR_SUM, e, norm_root(acc(l, e->type), power)));
	return 0;
}

/* clang-format off */
#define CEIL ATTR_INT("ceil_mode", 0, "the last window may hang over the end")

const struct op_def ops_pool_window[] = {
	{ .name = "MaxPool", .since = { 1, 8, 10, 11, 12, 22 }, .formula = "y = the largest x in the window",
	  .inputs = { IN("x", TS_FLOAT | TS(I8) | TS(U8)) }, .outputs = { OUT("y"), OPTOUT("indices") },
	  .attrs = { WINDOW_ATTRS, CEIL, ATTR_INT("storage_order", 0, "1: indices count spatial axes column-major") },
	  .lower = max_lower,
	  .cases = { "x:f32[N,16,H,W] kernel_shape=3,3 strides=2,2 pads=1,1,1,1",
		     "x:u8[N,8,14,14] kernel_shape=2,2 strides=2,2",
		     "x:f16[N,4,L] kernel_shape=3 ceil_mode=1 strides=2" } },
	{ .name = "NhwcMaxPool", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = the largest x in the window, channels last",
	  .inputs = { IN("x", TS(I8) | TS(U8)) }, .outputs = { OUT("y") }, .attrs = { WINDOW_ATTRS, CEIL },
	  .lower = max_lower,
	  .cases = { "x:u8[N,H,W,8] kernel_shape=3,3 strides=2,2 pads=1,1,1,1" } },
	{ .name = "MaxpoolWithMask", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = the largest x in the window, of each of its lines up to where the mask is zero",
	  .inputs = { IN("x", TS(F32)), IN("m", TS(I32)) }, .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, CEIL, ATTR_INT("storage_order", 0, "no effect") }, .lower = masked_lower,
	  .cases = { "x:f32[N,8,H,W] m:i32[1,1,H,W] kernel_shape=3,2 strides=2,1 pads=1,1,1,0",
		     "x:f32[N,3,7,5] m:i32[N,3,7,5] kernel_shape=2,2" } },
	{ .name = "AveragePool", .since = { 1, 7, 10, 11, 19, 22 }, .formula = "y = the mean of x in the window",
	  .inputs = { IN("x", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, CEIL, ATTR_INT("count_include_pad", 0, "the mean counts the padding, as zeros") },
	  .lower = average_lower,
	  .cases = { "x:f32[N,16,H,W] kernel_shape=3,3 strides=2,2 pads=1,1,1,1",
		     "x:f16[N,8,14,14] kernel_shape=2,2 auto_pad=SAME_UPPER count_include_pad=1" } },
	{ .name = "LpPool", .since = { 1, 2, 11, 18, 22 }, .formula = "y = (sum of |x|^p in the window)^(1/p)",
	  .inputs = { IN("x", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, CEIL, ATTR_FLOAT("p", 2, "of the norm") }, .lower = lp_lower,
	  .cases = { "x:f32[N,8,H,W] kernel_shape=3,3 p=2" } },
	{ .name = NULL },
};
/* clang-format on */
