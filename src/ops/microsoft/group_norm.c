/* GroupNorm, SkipGroupNorm: s = x (+ skip + bias), y = (s - mean) / sqrt(var + epsilon) * gamma + beta, with mean and
 * variance of each group of channels of each image; then y * sigmoid(y) if activation is 1. Channels are the last
 * axis, or the second with channels_last 0. Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/reduction.h"
#include "ops/lower/formulas.h"

struct images {
	struct value x;
	bool last;
	int channel; /* axis */
	int64_t groups;
	expr each;          /* channels of a group */
	struct reduction r; /* over [n, group] and the elements of a group */
};

static int read_images(struct lower *l, struct images *m)
{
	struct space g = { 0 };
	int64_t channels;
	expr group;

	*m = (struct images){ .x = lower_input(l, 0), .last = lower_int(l, "channels_last") != 0 };
	m->groups = lower_int(l, "groups");
	if (value_rank(m->x) != 4)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it must have four.", value_rank(m->x));
	m->channel = m->last ? 3 : 1;
	if (m->groups < 1 || (ir_const_int(value_dim(m->x, m->channel), &channels) && channels % m->groups))
		return lower_fail(l, ERR_MODEL, "the channels cannot be split into %lld groups.", (long long)m->groups);
	TRY(lower_demand_multiple(l, m->x, m->channel, m->groups));
	m->each = floordiv(value_dim(m->x, m->channel), idx(l, m->groups));
	m->r.index[0] = space_push(l, &g, value_dim(m->x, 0));
	group = space_push(l, &g, idx(l, m->groups));
	m->r.count = m->each;
	for (int i = 1; i < 4; i++) {
		bool channel = i == m->channel;

		m->r.index[i] = space_push(l, &g, channel ? m->each : value_dim(m->x, i));
		if (channel)
			m->r.index[i] = add(mul(group, m->each), m->r.index[i]);
		else
			m->r.count = mul(m->r.count, value_dim(m->x, i));
	}
	m->r.s = g;
	m->r.rank = 2;
	return 0;
}

static expr channel_of(struct value v, const struct images *m, const struct space *s)
{
	return wide(load(v, &s->at[m->channel]));
}

/* x + skip + bias; the skip has x's shape, or one element a channel of each image. */
static int add_skip(struct lower *l, struct images *m, bool wanted)
{
	struct value skip = lower_input(l, 3), bias = lower_input(l, 4);
	struct space s = space_of(l, m->x);
	expr e = wide(at(m->x, &s));

	if (value_rank(skip) == 2)
		e = add(e, wide(load_list(skip, 2, s.at[0], s.at[m->channel])));
	else if (value_rank(skip) == 4)
		e = add(e, wide(at(skip, &s)));
	else
		return lower_fail(l, ERR_MODEL, "the skip has %d axes; it must have two or four.", value_rank(skip));
	if (bias.given)
		e = add(e, channel_of(bias, m, &s));
	m->x = lower_map(l, "s", value_type(m->x), &s, e);
	if (wanted)
		lower_output(l, 1, m->x);
	return 0;
}

static int normalise(struct lower *l, struct images *m)
{
	struct value gamma = lower_input(l, 1), beta = lower_input(l, 2), mean, var;
	struct space s = space_of(l, m->x);
	enum type c = compute_type(value_type(m->x));
	expr d, y, group = floordiv(s.at[m->channel], m->each);

	if (value_rank(gamma) != 1 || value_rank(beta) != 1)
		return lower_fail(l, ERR_MODEL, "gamma and beta must have one axis, the channels.");
	mean = reduce_mean(l, "mean", c, &m->r, wide(load(m->x, m->r.index)));
	d = sub(wide(load(m->x, m->r.index)), load(mean, m->r.s.at));
	var = reduce_mean(l, "variance", c, &m->r, mul(d, d));
	y = load_list(var, 2, s.at[0], group);
	y = unary(IR_SQRT, add(y, with(y, lower_float(l, "epsilon"))));
	y = divide(sub(wide(at(m->x, &s)), load_list(mean, 2, s.at[0], group)), y);
	y = add(mul(y, channel_of(gamma, m, &s)), channel_of(beta, m, &s));
	if (lower_int(l, "activation"))
		y = silu(y, y);
	lower_output(l, 0, lower_map(l, NULL, value_type(m->x), &s, y));
	return 0;
}

static int group_lower(struct lower *l)
{
	struct images m;

	TRY(read_images(l, &m));
	return normalise(l, &m);
}

static int skip_lower(struct lower *l)
{
	struct images m;

	TRY(read_images(l, &m));
	TRY(add_skip(l, &m, lower_wants(l, 1)));
	return normalise(l, &m);
}

/* clang-format off */
#define ATTRS ATTR_FLOAT("epsilon", 1e-5, "added to the variance"), ATTR_INT_REQUIRED("groups", "of the channels"), \
	ATTR_INT_REQUIRED("activation", "1: y * sigmoid(y)"), \
	ATTR_INT("channels_last", 1, "0: channels are the second axis")

const struct op_def ops_group_norm[] = {
	{ .name = "GroupNorm", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = (x - mean) / sqrt(var + epsilon) * gamma + beta, of groups of channels",
	  .inputs = { IN("x", TS_FLOAT32, RANK(4)), IN("gamma", TS_FLOAT32, RANK(1)), IN("beta", TS_FLOAT32, RANK(1)) },
	  .outputs = { OUT("y") },
	  .attrs = { ATTRS }, .lower = group_lower,
	  .cases = { "x:f16[N,8,8,32] gamma:f32[32] beta:f32[32] groups=4 activation=1",
		     "x:f32[N,12,H,W] gamma:f32[12] beta:f32[12] groups=3 activation=0 channels_last=0" } },
	{ .name = "SkipGroupNorm", .domain = "com.microsoft", .since = { 1 },
	  .formula = "s = x + skip + bias, y = (s - mean) / sqrt(var + epsilon) * gamma + beta, of groups of channels",
	  .inputs = { IN("x", TS_FLOAT32, RANK(4)), IN("gamma", TS_FLOAT32, RANK(1)), IN("beta", TS_FLOAT32, RANK(1)),
		      IN("skip", TS_FLOAT32, RANKS(2, 4)), OPT("bias", TS_FLOAT32, RANK(1)) },
	  .outputs = { OUT("y"), OPTOUT("s") }, .attrs = { ATTRS }, .lower = skip_lower,
	  .cases = { "x:f16[N,8,8,32] gamma:f32[32] beta:f32[32] skip:f16[N,8,8,32] bias:f16[32] groups=4 activation=1 "
		     "outputs=2",
		     "x:f32[N,4,H,12] gamma:f32[12] beta:f32[12] skip:f32[N,12] groups=3 activation=0" } },
	{ .name = NULL },
};
/* clang-format on */
