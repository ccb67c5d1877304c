/* Norms, gates and mixes of branches: tensors [..., c, h] of c branches, or flat [..., c * h] with num_branches.
 *   BranchwiseRMSNorm:      y = x / sqrt(mean of x^2 over h + epsilon) * scale
 *   GatedRMSNorm:           the same for each run of elements of the scale's length, times activation(gate)
 *   EngramGate:             gate = sigmoid(sign(d) sqrt(max(|d|, 1e-6))), d = sum of norm(key) norm(query) / sqrt(h);
 *                           y = gate * value; and norm(y)
 *   HyperConnectionPreMix:  y[h] = reduction_scale * sum over c of x[c, h] pre_mix[c, h]
 *   HyperConnectionPostMix: y[k, h] = sum over c of stream_mix[c, k] x[c, h], + post_mix[k, h] block_output[h]
 *   LinearAttentionGate:    decay = decay_scale * softplus(a + dt_bias), beta = sigmoid(b)
 * Everything is computed in f32. Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/formulas.h"

#include <string.h>

/* ---- Branches --------------------------------------------------------------------------------------------------- */

/* A tensor [..., c, h] or [..., c * h]; the first `lead` axes come before the branches. */
struct branches {
	struct value x;
	int lead;
	bool flat;
	expr c, h;
};

static int read_branches(struct lower *l, struct value x, struct branches *out)
{
	int64_t n = lower_int(l, "num_branches"), all;
	int rank = value_rank(x);

	*out = (struct branches){ .x = x, .flat = n > 0, .lead = rank - (n > 0 ? 1 : 2) };
	if (n < 0 || out->lead < 0)
		return lower_fail(l, ERR_MODEL, "num_branches %lld does not fit an input of %d axes.", (long long)n,
		                  rank);
	out->c = n ? idx(l, n) : value_dim(x, rank - 2);
	out->h = n ? floordiv(value_dim(x, rank - 1), idx(l, n)) : value_dim(x, rank - 1);
	if (n && ir_const_int(value_dim(x, rank - 1), &all) && all % n)
		return lower_fail(l, ERR_MODEL, "%lld elements cannot be %lld branches.", (long long)all, (long long)n);
	return n ? lower_demand_multiple(l, x, rank - 1, n) : 0;
}

static expr element(const struct branches *b, const expr *lead, expr c, expr h)
{
	expr index[IR_MAX_RANK];

	for (int i = 0; i < b->lead; i++)
		index[i] = lead[i];
	index[b->lead] = b->flat ? add(mul(c, b->h), h) : c;
	index[b->lead + 1] = h;
	return wide(load(b->x, index));
}

/* The branch of an element of the tensor's own space, and its place in the branch. */
static void place(const struct branches *b, const struct space *s, expr *c, expr *h)
{
	*c = b->flat ? floordiv(s->at[b->lead], b->h) : s->at[b->lead];
	*h = b->flat ? mod(s->at[b->lead], b->h) : s->at[b->lead + 1];
}

static struct space lead_space(struct lower *l, const struct branches *b)
{
	struct space s = { 0 };

	for (int i = 0; i < b->lead; i++)
		space_push(l, &s, value_dim(b->x, i));
	return s;
}

/* [..., c]: one over the root of each branch's mean of squares. */
static struct value inverse_root(struct lower *l, const char *name, const struct branches *b)
{
	struct space s = lead_space(l, b);
	expr c = space_push(l, &s, b->c), h = space_push(l, &s, b->h), e = element(b, s.at, c, h), mean;

	mean = divide(acc(l, e->type), cast(b->h, e->type));
	mean = unary(IR_SQRT, add(mean, with(mean, lower_float(l, "epsilon"))));
	return lower_reduce(l, name, e->type, &s, b->lead + 1, IR_SUM, mul(e, e), divide(with(mean, 1), mean));
}

/* The axis holds whole runs of `run` elements, at least one. */
static int check_runs(struct lower *l, struct value v, int axis, expr run)
{
	TRY(lower_demand_extent(l, IR_AT_MOST, run, v, axis));
	return lower_demand_extent(l, IR_SAME, mul(floordiv(value_dim(v, axis), run), run), v, axis);
}

/* *out is v[c, h] for a v of shape [c * h], [c, h] or [h]; the shape may be known only at run time. */
static int scale_at(struct lower *l, struct value v, const struct branches *b, expr c, expr h, expr *out)
{
	int rank = value_rank(v);

	if (rank == 1)
		TRY(check_runs(l, v, 0, b->h));
	if (rank == 2) {
		TRY(lower_demand_extent(l, IR_AT_MOST, b->h, v, 1));
		TRY(lower_demand_extent(l, IR_AT_MOST, b->c, v, 0));
		*out = wide(load_list(v, 2, c, h));
	} else if (rank == 1)
		*out = wide(load_list(
		        v, 1,
		        select_(eq(value_dim(v, 0), b->h), h, min_(add(mul(c, b->h), h), addi(value_dim(v, 0), -1)))));
	else
		return lower_fail(l, ERR_MODEL, "the scale has %d axes; it must have one or two.", rank);
	return 0;
}

static int branchwise_lower(struct lower *l)
{
	struct value scale = lower_input(l, 1), inverse;
	struct branches b;
	struct space s;
	expr at_inverse[IR_MAX_RANK], c, h, e, factor = NULL;

	TRY(read_branches(l, lower_input(l, 0), &b));
	inverse = inverse_root(l, "inverse", &b);
	s = space_of(l, b.x);
	place(&b, &s, &c, &h);
	memcpy(at_inverse, s.at, sizeof at_inverse);
	at_inverse[b.lead] = c;
	e = mul(wide(load(b.x, s.at)), load(inverse, at_inverse));
	if (scale.given) {
		TRY(scale_at(l, scale, &b, c, h, &factor));
		e = mul(e, factor);
	}
	lower_output(l, 0, lower_map(l, NULL, value_type(b.x), &s, e));
	return 0;
}

static int gated_norm_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), scale = lower_input(l, 1), gate = lower_input(l, 2), inverse;
	int last = value_rank(x) - 1;
	struct space s = space_of(l, x);
	struct branches b;
	expr at_inverse[IR_MAX_RANK], c, h, e, z;
	int64_t all, one;

	if (last < 0 || value_rank(scale) != 1 || value_rank(gate) != last + 1)
		return lower_fail(l, ERR_MODEL, "the input has %d axes, the gate %d and the scale %d.", last + 1,
		                  value_rank(gate), value_rank(scale));
	b = (struct branches){ .x = x, .flat = true, .lead = last, .h = value_dim(scale, 0) };
	b.c = floordiv(value_dim(x, last), b.h);
	if (ir_const_int(value_dim(x, last), &all) && ir_const_int(b.h, &one) && (one < 1 || all % one))
		return lower_fail(l, ERR_MODEL, "rows of %lld elements are not a multiple of the scale's %lld.",
		                  (long long)all, (long long)one);
	TRY(check_runs(l, x, last, b.h));
	inverse = inverse_root(l, "inverse", &b);
	place(&b, &s, &c, &h);
	memcpy(at_inverse, s.at, sizeof at_inverse);
	at_inverse[last] = c;
	z = wide(at(gate, &s));
	e = mul(mul(wide(load(x, s.at)), load(inverse, at_inverse)), wide(load(scale, &h)));
	e = mul(e, strcmp(lower_word(l, "activation"), "sigmoid") ? mul(z, sigmoid(z)) : sigmoid(z));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, e));
	return 0;
}

/* ---- Engram ----------------------------------------------------------------------------------------------------- */

/* The normalised element at s, over [b, s, c, h]. */
static expr normed(struct value x, struct value inverse, struct value scale, const expr *at)
{
	return mul(mul(wide(load(x, at)), load(inverse, at)), wide(load(scale, &at[2])));
}

/* sigmoid(sign(d) sqrt(max(|d|, 1e-6))) */
static expr engram_gate(expr d)
{
	expr zero = with(d, 0), root = unary(IR_SQRT, max_(unary(IR_ABS, d), with(d, 1e-6)));

	return sigmoid(select_(gt(d, zero), root, select_(lt(d, zero), unary(IR_NEG, root), d)));
}

static int engram_lower(struct lower *l)
{
	struct value key = lower_input(l, 0), query = lower_input(l, 1), value = lower_input(l, 2);
	struct value key_scale = lower_input(l, 3), query_scale = lower_input(l, 4), last = lower_input(l, 5), gate, y;
	struct branches k = { .x = key, .lead = 2 }, q = { .x = query, .lead = 2 };
	struct space s;
	expr e, d;

	if (value_rank(key) != 4 || value_rank(query) != 4 || value_rank(value) != 3 || value_rank(key_scale) != 2 ||
	    value_rank(query_scale) != 2 || (last.given && value_rank(last) != 2))
		return lower_fail(l, ERR_MODEL, "key and query must have 4 axes, the value 3 and scales 2.");
	if (lower_wants(l, 1) && !last.given)
		return lower_fail(l, ERR_MODEL, "gated_value_normed needs conv_norm_scale.");
	k.c = q.c = value_dim(key, 2);
	k.h = q.h = value_dim(key, 3);
	s = space_of(l, key);
	e = mul(normed(key, inverse_root(l, "key_inverse", &k), key_scale, s.at),
	        normed(query, inverse_root(l, "query_inverse", &q), query_scale, s.at));
	d = divide(acc(l, e->type), unary(IR_SQRT, cast(k.h, e->type)));
	gate = lower_reduce(l, "gate", e->type, &s, 3, IR_SUM, e, engram_gate(d));
	e = mul(load(gate, s.at), wide(load_list(value, 3, s.at[0], s.at[1], s.at[3])));
	y = lower_map(l, NULL, value_type(key), &s, e);
	lower_output(l, 0, y);
	if (!lower_wants(l, 1))
		return 0;
	k.x = y;
	e = normed(y, inverse_root(l, "inverse", &k), last, s.at);
	lower_output(l, 1, lower_map(l, NULL, value_type(key), &s, e));
	return 0;
}

/* ---- Hyper-connections ------------------------------------------------------------------------------------------ */

/* v at branch c and place h, of shape [..., c], [..., c, 1], [..., c, h] or, flat, [..., c * h]. */
static expr gate_at(struct value v, const struct branches *b, const expr *lead, expr c, expr h)
{
	int rank = value_rank(v);
	expr index[IR_MAX_RANK];

	for (int i = 0; i < b->lead; i++)
		index[i] = lead[i];
	if (rank == b->lead + 1)
		index[b->lead] = select_(eq(value_dim(v, b->lead), b->c), c,
		                         min_(add(mul(c, b->h), h), addi(value_dim(v, b->lead), -1)));
	else
		index[b->lead] = c;
	if (rank == b->lead + 2)
		index[b->lead + 1] = select_(eq(value_dim(v, b->lead + 1), with(h, 1)), with(h, 0), h);
	return wide(load(v, index));
}

static int check_gate(struct lower *l, struct value v, const struct branches *b, const char *name)
{
	if (value_rank(v) == b->lead + 1)
		return check_runs(l, v, b->lead, b->c);
	if (value_rank(v) == b->lead + 2) {
		TRY(lower_demand_extent(l, IR_AT_MOST, b->c, v, b->lead));
		return lower_demand_of(l, IR_ONE_OR, name, value_dim(v, b->lead + 1), "a branch", b->h);
	}
	return lower_fail(l, ERR_MODEL, "%s has %d axes; it must have %d or %d.", name, value_rank(v), b->lead + 1,
	                  b->lead + 2);
}

static int pre_mix_lower(struct lower *l)
{
	struct value gate = lower_input(l, 1);
	struct branches b;
	struct space s;
	expr c, h, e, y;

	TRY(read_branches(l, lower_input(l, 0), &b));
	TRY(check_gate(l, gate, &b, "pre_mix"));
	s = lead_space(l, &b);
	h = space_push(l, &s, b.h);
	c = space_push(l, &s, b.c);
	e = mul(element(&b, s.at, c, h), gate_at(gate, &b, s.at, c, h));
	y = acc(l, e->type);
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(b.x), &s, b.lead + 1, IR_SUM, e,
	                          mul(y, with(y, lower_float(l, "reduction_scale")))));
	return 0;
}

static int post_mix_lower(struct lower *l)
{
	struct value block = lower_input(l, 1), gate = lower_input(l, 2), matrix = lower_input(l, 3);
	struct branches b;
	struct space s;
	expr k, h, c, e, y, index[IR_MAX_RANK];
	int rank;

	TRY(read_branches(l, lower_input(l, 0), &b));
	TRY(check_gate(l, gate, &b, "post_mix"));
	if (value_rank(block) != b.lead + 1 || (matrix.given && value_rank(matrix) != b.lead + 2))
		return lower_fail(l, ERR_MODEL, "block_output must have %d axes, and stream_mix %d.", b.lead + 1,
		                  b.lead + 2);
	TRY(lower_demand_extent(l, IR_AT_MOST, b.h, block, b.lead));
	s = space_of(l, b.x);
	rank = s.rank;
	place(&b, &s, &k, &h);
	memcpy(index, s.at, sizeof index);
	index[b.lead] = h;
	y = mul(gate_at(gate, &b, s.at, k, h), wide(load(block, index)));
	if (!matrix.given) {
		y = add(element(&b, s.at, k, h), y);
		lower_output(l, 0, lower_map(l, NULL, value_type(b.x), &s, y));
		return 0;
	}
	c = space_push(l, &s, b.c);
	e = element(&b, s.at, c, h);
	index[b.lead] = c;
	index[b.lead + 1] = k;
	e = mul(wide(load(matrix, index)), e);
	lower_output(l, 0, lower_reduce(l, NULL, value_type(b.x), &s, rank, IR_SUM, e, add(acc(l, e->type), y)));
	return 0;
}

/* ---- Linear attention ------------------------------------------------------------------------------------------- */

static int attention_gate_lower(struct lower *l)
{
	struct value a = lower_input(l, 0), bias = lower_input(l, 1), scale = lower_input(l, 2), b = lower_input(l, 3);
	struct space s = space_of(l, a);

	if (s.rank < 1 || value_rank(bias) != 1 || value_rank(scale) != 1)
		return lower_fail(l, ERR_MODEL, "dt_bias and decay_scale must have one axis.");
	lower_output(l, 0,
	             lower_map(l, NULL, value_type(a), &s,
	                       mul(at(scale, &s), softplus(add(wide(at(a, &s)), at(bias, &s))))));
	if (!lower_wants(l, 1))
		return 0;
	if (!b.given || value_rank(b) != s.rank)
		return lower_fail(l, ERR_MODEL, "the output beta needs an input b of %d axes.", s.rank);
	s = space_of(l, b);
	lower_output(l, 1, lower_map(l, NULL, value_type(b), &s, sigmoid(wide(at(b, &s)))));
	return 0;
}

/* clang-format off */
#define EPSILON ATTR_FLOAT("epsilon", 1e-5, "added to the mean of squares")
#define BRANCHES ATTR_INT("num_branches", 0, "of flat tensors; 0: they have an axis of their own")

const struct op_def ops_branches[] = {
	{ .name = "BranchwiseRMSNorm", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = x / sqrt(mean of x^2 + epsilon) * scale, of each branch",
	  .inputs = { IN("x", TS_FLOAT32), OPT("scale", TS_FLOAT32) }, .outputs = { OUT("y") },
	  .attrs = { BRANCHES, EPSILON },
	  .lower = branchwise_lower,
	  .cases = { "x:f16[B,S,4,64] scale:f16[4,64]", "x:f32[B,99] scale:f32[33] num_branches=3", "x:f32[B,4,33]" } },
	{ .name = "GatedRMSNorm", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = x / sqrt(mean of x^2 + epsilon) * scale * activation(gate)",
	  .inputs = { IN("x", TS_FLOAT32), IN("scale", TS_FLOAT32), IN("gate", TS_FLOAT32) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_WORD("activation", "silu|swish|sigmoid", "of the gate"), EPSILON }, .lower = gated_norm_lower,
	  .cases = { "x:f16[B,S,256] scale:f16[64] gate:f16[B,S,256]",
		     "x:f32[B,33] scale:f32[33] gate:f32[B,33] activation=sigmoid" } },
	{ .name = "EngramGate", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = gate * value, gate = sigmoid(sign(d) sqrt(max(|d|, 1e-6))), d = norm(key) norm(query) / "
		     "sqrt(h)",
	  .inputs = { IN("key", TS_FLOAT32), IN("query", TS_FLOAT32), IN("value", TS_FLOAT32),
		      IN("key_norm_scale", TS_FLOAT32),
		      IN("query_norm_scale", TS_FLOAT32), OPT("conv_norm_scale", TS_FLOAT32) },
	  .outputs = { OUT("output"), OPTOUT("gated_value_normed") }, .attrs = { EPSILON }, .lower = engram_lower,
	  .cases = { "key:f32[B,S,2,33] query:f32[B,S,2,33] value:f32[B,S,33] key_norm_scale:f32[2,33] "
		     "query_norm_scale:f32[2,33] conv_norm_scale:f32[2,33] outputs=2" } },
	{ .name = "HyperConnectionPreMix", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y[h] = reduction_scale * sum over c of x[c, h] pre_mix[c, h]",
	  .inputs = { IN("streams", TS_FLOAT32), IN("pre_mix", TS_FLOAT32) }, .outputs = { OUT("output") },
	  .attrs = { BRANCHES, ATTR_FLOAT("reduction_scale", 1, "of the sum") }, .lower = pre_mix_lower,
	  .cases = { "streams:f16[B,S,4,64] pre_mix:f32[B,S,4]",
		     "streams:f32[B,99] pre_mix:f32[B,99] num_branches=3 reduction_scale=0.5" } },
	{ .name = "HyperConnectionPostMix", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y[k, h] = sum over c of stream_mix[c, k] x[c, h], + post_mix[k, h] block_output[h]",
	  .inputs = { IN("streams", TS_FLOAT32), IN("block_output", TS_FLOAT32), IN("post_mix", TS_FLOAT32),
		      OPT("stream_mix", TS_FLOAT32) },
	  .outputs = { OUT("output") }, .attrs = { BRANCHES }, .lower = post_mix_lower,
	  .cases = { "streams:f16[B,S,4,64] block_output:f16[B,S,64] post_mix:f32[B,S,4,1] stream_mix:f32[B,S,4,4]",
		     "streams:f32[B,99] block_output:f32[B,33] post_mix:f32[B,3,33] num_branches=3" } },
	{ .name = "LinearAttentionGate", .domain = "com.microsoft", .since = { 1 },
	  .formula = "decay = decay_scale * softplus(a + dt_bias), beta = sigmoid(b)",
	  .inputs = { IN("a", TS_FLOAT32), IN("dt_bias", TS(F32)), IN("decay_scale", TS(F32)), OPT("b", TS_FLOAT32) },
	  .outputs = { OUT("decay"), OPTOUT("beta") }, .lower = attention_gate_lower,
	  .cases = { "a:f16[B,T,8] dt_bias:f32[8] decay_scale:f32[8] b:f16[B,T,8] outputs=2" } },
	{ .name = NULL },
};
/* clang-format on */
