/* Normalisations as plugins: y = (x - mean) / sqrt(var + epsilon) * scale + bias over each channel of each sample, or
 * over each group of channels, with one scale and bias a channel. TensorRT's first has scale and bias as attributes
 * and an optional leaky relu. Statistics are stages of their own. Sources: the READMEs of TensorRT's
 * instanceNormalizationPlugin and groupNormalizationPlugin; mmdeploy's TensorRT operators, MMCVInstanceNormalization.
 */
#include "ops/lower/lower.h"

struct normalise {
	struct value x, scale, bias; /* scale and bias: one axis */
	expr groups;
	double epsilon;
	bool relu;
	double alpha; /* factor of the leaky relu */
};

/* x's element that is number `inside` of its group, which has all positions of `channels` channels. */
static expr element(struct lower *l, const struct normalise *n, expr sample, expr group, expr channels, expr inside)
{
	int rank = value_rank(n->x);
	expr dim[IR_MAX_RANK], index[IR_MAX_RANK];

	(void)l;
	dim[0] = channels;
	for (int i = 2; i < rank; i++)
		dim[i - 1] = value_dim(n->x, i);
	ir_unflat(inside, rank - 1, dim, index + 1);
	index[0] = sample;
	index[1] = add(mul(group, channels), index[1]);
	return wide(load(n->x, index));
}

static int normalise(struct lower *l, const struct normalise *n)
{
	struct space g = { 0 }, s = space_of(l, n->x);
	expr sample, group, channels, count, inside, e, size;
	struct value mean, deviation;

	channels = floordiv(value_dim(n->x, 1), n->groups);
	count = channels;
	for (int i = 2; i < value_rank(n->x); i++)
		count = mul(count, value_dim(n->x, i));
	sample = space_push(l, &g, value_dim(n->x, 0));
	group = space_push(l, &g, n->groups);
	inside = space_push(l, &g, count);
	e = element(l, n, sample, group, channels, inside);
	size = cast(count, e->type);
	mean = lower_reduce(l, "mean", e->type, &g, 2, IR_SUM, e, divide(acc(l, e->type), size));
	e = sub(e, load(mean, g.at));
	e = mul(e, e);
	deviation = lower_reduce(l, "deviation", e->type, &g, 2, IR_SUM, e,
	                         unary(IR_SQRT, add(divide(acc(l, e->type), size), with(e, n->epsilon))));

	group = floordiv(s.at[1], channels);
	e = sub(wide(at(n->x, &s)), load_list(mean, 2, s.at[0], group));
	e = divide(e, load_list(deviation, 2, s.at[0], group));
	e = add(mul(e, cast(load(n->scale, &s.at[1]), e->type)), cast(load(n->bias, &s.at[1]), e->type));
	if (n->relu)
		e = select_(lt(e, with(e, 0)), mul(e, with(e, n->alpha)), e);
	lower_output(l, 0, lower_map(l, NULL, value_type(n->x), &s, narrow(e, value_type(n->x))));
	return 0;
}

static int check(struct lower *l, const struct normalise *n)
{
	const struct value *weight[] = { &n->scale, &n->bias };
	int64_t groups, channels;

	if (value_rank(n->x) < 3 || value_rank(n->scale) != 1 || value_rank(n->bias) != 1)
		return lower_fail(l, ERR_MODEL, "the input needs three axes or more, scale and bias exactly one.");
	if (ir_const_int(n->groups, &groups) &&
	    (groups < 1 || (ir_const_int(value_dim(n->x, 1), &channels) && channels % groups)))
		return lower_fail(l, ERR_MODEL, "the channels cannot be split into %lld groups.", (long long)groups);
	for (int i = 0; i < 2; i++)
		TRY(lower_equal(l, n->x, 1, *weight[i], 0));
	return ir_const_int(n->groups, &groups) ? lower_demand_multiple(l, n->x, 1, groups) : 0;
}

/* A weight: an input, or an attribute that is a tensor or a list of floats. */
static int weight(struct lower *l, int input, const char *name, struct value *out)
{
	const struct attr_value *v = lower_attr(l, name);
	int64_t n = v && v->kind != OP_TENSOR ? v->n : 0;
	struct tensor *t;

	*out = lower_input(l, input);
	if (out->given)
		return 0;
	if (!v)
		return lower_fail(l, ERR_MODEL, "there is neither input number %d nor attribute \"%s\".", input + 1,
		                  name);
	if (v->kind == OP_TENSOR) {
		*out = lower_data(l, name, v->tensor);
		return 0;
	}
	t = NEW(l->program->arena, struct tensor);
	TRY(tensor_new(t, TYPE_F32, 1, &n, l->program->arena, l->err));
	for (int i = 0; i < n; i++)
		tensor_set_float(t, i, v->floats[i]);
	*out = lower_data(l, name, t);
	return 0;
}

static int instance_lower(struct lower *l)
{
	struct normalise n = { .x = lower_input(l, 0), .epsilon = lower_float(l, "epsilon") };

	n.groups = value_dim(n.x, 1);
	n.relu = lower_int(l, "relu") != 0;
	n.alpha = lower_float(l, "alpha");
	TRY(weight(l, 1, "scales", &n.scale));
	TRY(weight(l, 2, "bias", &n.bias));
	TRY(check(l, &n));
	return normalise(l, &n);
}

static int plain_lower(struct lower *l)
{
	struct normalise n = { .x = lower_input(l, 0),
		               .scale = lower_input(l, 1),
		               .bias = lower_input(l, 2),
		               .epsilon = lower_float(l, "epsilon") };

	n.groups = value_dim(n.x, 1);
	TRY(check(l, &n));
	return normalise(l, &n);
}

static int group_lower(struct lower *l)
{
	struct normalise n = { .x = lower_input(l, 0),
		               .scale = lower_input(l, 1),
		               .bias = lower_input(l, 2),
		               .groups = idx(l, lower_int(l, "num_groups")),
		               .epsilon = lower_float(l, "eps") };

	TRY(check(l, &n));
	return normalise(l, &n);
}

/* clang-format off */
#define PLUGIN .domain = OP_ANY_DOMAIN, .since = { 1 }, .outputs = { OUT("y") }
#define WEIGHTS .inputs = { IN("x", TS_FLOAT), IN("scale", TS_FLOAT), IN("bias", TS_FLOAT) }
#define EPSILON ATTR_FLOAT("epsilon", 1e-5, "added to the variance")
#define OF_CHANNELS .formula = "y = (x - mean) / sqrt(var + epsilon) * scale + bias, of each channel of each sample"

const struct op_def ops_plugin_normalise[] = {
	{ .name = "InstanceNormalization_TRT", PLUGIN, OF_CHANNELS,
	  .inputs = { IN("x", TS_FLOAT), OPT("scale", TS_FLOAT), OPT("b", TS_FLOAT) },
	  .attrs = { EPSILON, ATTR_WEIGHTS("scales", "scale, where it is not an input"),
		     ATTR_WEIGHTS("bias", "bias, where it is not an input"),
		     ATTR_INT("relu", 0, "1: a leaky relu is the last step"),
		     ATTR_FLOAT("alpha", 0, "slope of the relu below zero") },
	  .lower = instance_lower,
	  .cases = { "x:f32[N,3,H,W] scales=1.0,0.5,2.0 bias=0.0,1.0,-1.0 relu=1 alpha=0.1",
		     "x:f16[N,8,H,W] scale:f16[8] b:f16[8]" } },
	{ .name = "TRTInstanceNormalization", PLUGIN, OF_CHANNELS, WEIGHTS, .attrs = { EPSILON }, .lower = plain_lower,
	  .cases = { "x:f32[N,4,L] scale:f32[4] bias:f32[4]" } },
	{ .name = "MMCVInstanceNormalization", PLUGIN, OF_CHANNELS, WEIGHTS, .attrs = { EPSILON }, .lower = plain_lower,
	  .cases = { "x:f32[N,4,H,W] scale:f32[4] bias:f32[4] epsilon=0.001" } },
	{ .name = "GroupNormalizationPlugin", PLUGIN, WEIGHTS,
	  .formula = "y = (x - mean) / sqrt(var + eps) * scale + bias, of each group of channels of each sample",
	  .attrs = { ATTR_FLOAT("eps", 1e-5, "added to the variance"),
		     ATTR_INT("num_groups", 1, "groups that the channels are split into") },
	  .lower = group_lower,
	  .cases = { "x:f32[N,8,H,W] scale:f32[8] bias:f32[8] num_groups=4",
		     "x:f16[N,C,14,14] scale:f16[C] bias:f16[C] num_groups=2" } },
	{ .name = NULL },
};
/* clang-format on */
