/* Normalisations over axes of one tensor: y = (x - mean) / sqrt(var + epsilon) * scale + bias, where var is the mean
 * of (x - mean)^2. They differ in the axes of the statistics, and in the axes of scale and bias. Statistics are stages
 * of their own, with the same form as the nodes ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, in f32 (f64 for
 * f64).
 * Source: ONNX, the operators of these names. BatchNormalization is in batch_norm.c. */
#include "ops/lower/reduction.h"

#include <math.h>

/* The square root of (mean of squares + epsilon), with the shape of r's result. */
static struct value deviation(struct lower *l, const struct reduction *r, struct value variance, double epsilon)
{
	struct space s = space_new(l, r->rank, r->s.dim);
	expr v = at(variance, &s);

	return lower_map(l, "deviation", v->type, &s, unary(IR_SQRT, add(v, with(v, epsilon))));
}

/* Makes output i from a statistic, in type t. */
static void output_as(struct lower *l, int i, struct value v, enum type t)
{
	struct space s = space_of(l, v);

	lower_output(l, i, value_type(v) == t ? v : lower_map(l, l->op->outputs[i].name, t, &s, at(v, &s)));
}

static struct value inverse(struct lower *l, struct value v)
{
	struct space s = space_of(l, v);
	expr x = at(v, &s);

	return lower_map(l, "inv_std_dev", x->type, &s, divide(with(x, 1), x));
}

/* LayerNormalization: statistics over the axes from `axis` to the last; scale and bias broadcast to x. */
static int layer_norm_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), scale = lower_input(l, 1), bias = lower_input(l, 2), mean, dev;
	enum type t = value_type(x), c = compute_type(t), stash = (enum type)lower_int(l, "stash_type");
	struct space s = space_of(l, x);
	bool reduced[IR_MAX_RANK];
	struct reduction r;
	int axis;
	expr y;

	if (stash != TYPE_F32 && stash != TYPE_BF16 && stash != TYPE_F16 && stash != TYPE_F64)
		return lower_fail(l, ERR_MODEL, "stash_type %d is not a float type.", (int)stash);
	TRY(lower_axis(l, lower_int(l, "axis"), value_rank(x), false, &axis));
	if (value_rank(scale) > value_rank(x) || (bias.given && value_rank(bias) > value_rank(x)))
		return lower_fail(l, ERR_MODEL, "scale and bias have more axes than the input.");
	reduce_from(reduced, value_rank(x), axis);
	r = reduce_space(l, x, reduced, true);

	mean = reduce_mean(l, "mean", c, &r, wide(load(x, r.index)));
	dev = deviation(l, &r, reduce_variance(l, "variance", c, &r, x, mean), lower_float(l, "epsilon"));
	y = divide(sub(wide(at(x, &s)), at(mean, &s)), at(dev, &s));
	y = mul(y, cast(at(scale, &s), c));
	if (bias.given)
		y = add(y, cast(at(bias, &s), c));
	lower_output(l, 0, lower_map(l, NULL, t, &s, y));
	if (lower_wants(l, 1))
		output_as(l, 1, mean, stash);
	if (lower_wants(l, 2))
		output_as(l, 2, inverse(l, dev), stash);
	return 0;
}

/* RMSNormalization: y = x / sqrt(mean of x^2 + epsilon) * scale, in scale's type. */
static int rms_norm_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), scale = lower_input(l, 1), dev;
	enum type c = compute_type(value_type(x));
	struct space s = space_of(l, x);
	bool reduced[IR_MAX_RANK];
	struct reduction r;
	int axis;
	expr e;

	TRY(lower_axis(l, lower_int(l, "axis"), value_rank(x), false, &axis));
	if (value_rank(scale) > value_rank(x))
		return lower_fail(l, ERR_MODEL, "the scale has more axes than the input.");
	reduce_from(reduced, value_rank(x), axis);
	r = reduce_space(l, x, reduced, true);
	e = wide(load(x, r.index));
	dev = deviation(l, &r, reduce_mean(l, "mean_square", c, &r, mul(e, e)), lower_float(l, "epsilon"));
	e = divide(wide(at(x, &s)), at(dev, &s));
	lower_output(l, 0, lower_map(l, NULL, value_type(scale), &s, mul(e, cast(at(scale, &s), c))));
	return 0;
}

/* InstanceNormalization: statistics of each channel of each sample; scale and bias of each channel (axis 1). */
static int instance_norm_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), mean, dev;
	enum type c = compute_type(value_type(x));
	struct space s = space_of(l, x);
	bool reduced[IR_MAX_RANK];
	struct reduction r;
	expr y;

	if (value_rank(x) < 2 || value_rank(lower_input(l, 1)) != 1 || value_rank(lower_input(l, 2)) != 1)
		return lower_fail(l, ERR_MODEL, "the input needs two axes or more, scale and bias exactly one.");
	reduce_from(reduced, value_rank(x), 2);
	r = reduce_space(l, x, reduced, true);
	mean = reduce_mean(l, "mean", c, &r, wide(load(x, r.index)));
	dev = deviation(l, &r, reduce_variance(l, "variance", c, &r, x, mean), lower_float(l, "epsilon"));
	y = divide(sub(wide(at(x, &s)), at(mean, &s)), at(dev, &s));
	y = add(mul(y, cast(at_axis(lower_input(l, 1), &s, 1), c)), cast(at_axis(lower_input(l, 2), &s, 1), c));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, y));
	return 0;
}

/* GroupNormalization: statistics of each group of C / num_groups channels of each sample, stored as [N, groups]; scale
 * and bias belong to groups in opset 18, to channels since 21. */
static int group_norm_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), scale = lower_input(l, 1), bias = lower_input(l, 2), mean, var;
	enum type c = compute_type(value_type(x));
	struct space s = space_of(l, x), g = { 0 };
	int64_t groups = lower_int(l, "num_groups"), channels;
	expr index[IR_MAX_RANK], count, channel, d, y, group, of;
	int rank = value_rank(x);

	if (rank < 2 || value_rank(scale) != 1 || value_rank(bias) != 1)
		return lower_fail(l, ERR_MODEL, "the input needs two axes or more, scale and bias exactly one.");
	if (groups < 1 || (ir_const_int(value_dim(x, 1), &channels) && channels % groups))
		return lower_fail(l, ERR_MODEL, "the channels cannot be split into %lld groups.", (long long)groups);
	TRY(lower_demand_multiple(l, x, 1, groups));
	count = floordiv(value_dim(x, 1), idx(l, groups));

	index[0] = space_push(l, &g, value_dim(x, 0));
	group = space_push(l, &g, idx(l, groups));
	channel = space_push(l, &g, count);
	index[1] = add(mul(group, count), channel);
	for (int i = 2; i < rank; i++)
		index[i] = space_push(l, &g, value_dim(x, i));
	struct reduction r = { .s = g, .rank = 2, .count = count };
	for (int i = 0; i < rank; i++) {
		r.index[i] = index[i];
		if (i >= 2)
			r.count = mul(r.count, value_dim(x, i));
	}
	mean = reduce_mean(l, "mean", c, &r, wide(load(x, index)));
	d = sub(wide(load(x, index)), load_list(mean, 2, index[0], group));
	var = deviation(l, &r, reduce_mean(l, "variance", c, &r, mul(d, d)), lower_float(l, "epsilon"));

	group = floordiv(s.at[1], count);
	of = l->opset < 21 ? group : s.at[1];
	y = sub(wide(at(x, &s)), load_list(mean, 2, s.at[0], group));
	y = divide(y, load_list(var, 2, s.at[0], group));
	y = add(mul(y, cast(load(scale, &of), c)), cast(load(bias, &of), c));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, y));
	return 0;
}

/* LpNormalization: y = x / (sum of |x|^p)^(1/p) along one axis, zero where the norm is. */
static int lp_norm_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), norm;
	bool reduced[IR_MAX_RANK] = { false };
	struct space s = space_of(l, x);
	int64_t p = lower_int(l, "p");
	struct reduction r;
	int axis;
	expr e, total;

	if (p != 1 && p != 2)
		return lower_fail(l, ERR_MODEL, "p is %lld; it must be 1 or 2.", (long long)p);
	TRY(lower_axis(l, lower_int(l, "axis"), value_rank(x), false, &axis));
	reduced[axis] = true;
	r = reduce_space(l, x, reduced, true);
	e = wide(load(x, r.index));
	total = p == 1 ? acc(l, e->type) : unary(IR_SQRT, acc(l, e->type));
	/* x / infinity is zero: the selection is one for each row, not one for each element. */
	total = select_(eq(total, with(total, 0)), with(total, INFINITY), total);
	norm = lower_reduce(l, "norm", e->type, &r.s, r.rank, IR_SUM, p == 1 ? unary(IR_ABS, e) : mul(e, e), total);
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, divide(wide(at(x, &s)), at(norm, &s))));
	return 0;
}

/* MeanVarianceNormalization: y = (x - mean) / (sqrt(mean of x^2 - mean^2) + 1e-9), by default over 0, 2 and 3. The
 * variance is computed as the mean of (x - mean)^2, which is equal but does not cancel. */
static int mean_variance_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), mean, dev;
	bool reduced[IR_MAX_RANK] = { false };
	struct ints axes = lower_ints(l, "axes");
	struct space s = space_of(l, x);
	struct reduction r;
	expr d;

	if (!lower_has(l, "axes"))
		axes = (struct ints){ .n = 3, .at = { 0, 2, 3 } };
	for (int i = 0; i < axes.n; i++) {
		int axis;

		TRY(lower_axis(l, axes.at[i], value_rank(x), false, &axis));
		reduced[axis] = true;
	}
	r = reduce_space(l, x, reduced, true);
	mean = reduce_mean(l, "mean", compute_type(value_type(x)), &r, wide(load(x, r.index)));
	dev = deviation(l, &r, reduce_variance(l, "variance", value_type(mean), &r, x, mean), 0);
	d = at(dev, &s);
	d = divide(sub(wide(at(x, &s)), at(mean, &s)), add(d, with(d, 1e-9)));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, d));
	return 0;
}

/* clang-format off */
#define EPSILON ATTR_FLOAT("epsilon", 1e-5, "added to the variance")
#define STASH ATTR_INT("stash_type", 1, "type of the statistics")

const struct op_def ops_normalise[] = {
	{ .name = "LayerNormalization", .since = { 1, 17 }, /* before 17: as ONNX Runtime writes it into older models */
	  .formula = "y = (x - mean) / sqrt(var + epsilon) * scale + bias",
	  .inputs = { IN("x", TS_FLOAT), IN("scale", TS_FLOAT), OPT("bias", TS_FLOAT) },
	  .outputs = { OUT("y"), OPTOUT("mean"), OPTOUT("inv_std_dev") },
	  .attrs = { ATTR_INT("axis", -1, "first axis of the statistics"), EPSILON, STASH }, .lower = layer_norm_lower,
	  .cases = { "x:f16[N,768] scale:f16[768] bias:f16[768]", "x:f32[B,S,768] scale:f32[768] bias:f32[768]" } },
	{ .name = "RMSNormalization", .since = { 23 }, .formula = "y = x / sqrt(mean of x^2 + epsilon) * scale",
	  .inputs = { IN("x", TS_FLOAT), IN("scale", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_INT("axis", -1, "first axis of the statistics"), EPSILON, STASH }, .lower = rms_norm_lower,
	  .cases = { "x:f16[B,S,4096] scale:f16[4096]", "x:f32[N,768] scale:f32[768]" } },
	{ .name = "InstanceNormalization", .since = { 1, 6, 22 },
	  .formula = "y = (x - mean) / sqrt(var + epsilon) * scale + bias, of each channel of each sample",
	  .inputs = { IN("input", TS_FLOAT), IN("scale", TS_FLOAT), IN("b", TS_FLOAT) }, .outputs = { OUT("output") },
	  .attrs = { EPSILON, ATTR_CONSUMED }, .lower = instance_norm_lower,
	  .cases = { "input:f32[N,32,H,W] scale:f32[32] b:f32[32]", "input:f16[N,C,L] scale:f16[C] b:f16[C]" } },
	{ .name = "GroupNormalization", .since = { 18, 21 },
	  .formula = "y = (x - mean) / sqrt(var + epsilon) * scale + bias, of each group of channels of each sample",
	  .inputs = { IN("x", TS_FLOAT), IN("scale", TS_FLOAT), IN("bias", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_INT_REQUIRED("num_groups", "groups that the channels are split into"), EPSILON, STASH },
	  .lower = group_norm_lower,
	  .cases = { "x:f32[N,32,H,W] scale:f32[32] bias:f32[32] num_groups=4 opset=21",
		     "x:f16[N,8,14,14] scale:f16[2] bias:f16[2] num_groups=2 opset=18" } },
	{ .name = "LpNormalization", .since = { 1, 22 }, .formula = "y = x / (sum of |x|^p)^(1/p)",
	  .inputs = { IN("input", TS_FLOAT) }, .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("p", 2, "1 or 2"), ATTR_INT("axis", -1, "the axis of the norm") }, .lower = lp_norm_lower,
	  .cases = { "input:f32[N,33]", "input:f32[N,33,5] axis=1 p=1" } },
	{ .name = "MeanVarianceNormalization", .since = { 9, 13 }, .formula = "y = (x - mean) / sqrt(var)",
	  .inputs = { IN("x", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_INTS("axes", "axes of the statistics; 0, 2 and 3 when absent") },
	  .lower = mean_variance_lower,
	  .cases = { "x:f32[N,3,H,W]" } },
	{ .name = NULL },
};
/* clang-format on */
