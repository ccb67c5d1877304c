/* Biases of attention scores by the distance between query and key.
 *   RelativePositionBias       y[0, h, i, j] = table[h, bucket(j - i)]
 *   GatedRelativePositionBias  y[b, h, i, j] = g rel_pos[0, h, i, j], g = u (r eco_a[h] - 1) + 2
 * Half of the buckets are single distances, the others ranges that grow with the logarithm up to max_distance. With
 * is_bidirectional each side has half of them; otherwise keys after the query share bucket 0. u and r are the sigmoids
 * of the sums of both halves of (query + query_bias)[b, i, h] weight + bias.
 * Source: ONNX Runtime, the operators of these names in com.microsoft; Raffel and others, T5 (2020); Chen and others,
 * WavLM (2022). */
#include "ops/lower/formulas.h"

/* The bucket of key - query, an index. */
static expr bucket_of(expr distance, expr buckets, double most, bool both)
{
	expr zero = with(distance, 0), first = zero, d, half, x, large;

	if (both) {
		buckets = floordiv(buckets, with(buckets, 2));
		first = select_(gt(distance, zero), buckets, zero);
		d = select_(lt(distance, zero), sub(zero, distance), distance);
	} else {
		d = max_(sub(zero, distance), zero);
	}
	half = floordiv(buckets, with(buckets, 2));
	x = unary(IR_LOG, divide(cast(d, TYPE_F32), cast(half, TYPE_F32)));
	x = divide(x, unary(IR_LOG, divide(with(x, most), cast(half, TYPE_F32))));
	large = add(half, cast(mul(x, cast(sub(buckets, half), TYPE_F32)), TYPE_INDEX));
	return add(first, select_(lt(d, half), d, min_(large, addi(buckets, -1))));
}

static int bias_lower(struct lower *l)
{
	struct value table = lower_input(l, 0);
	struct exprs query, key;
	struct space s = { 0 };
	expr heads, h, i, j, b;
	int64_t most = lower_int(l, "max_distance");

	if (value_rank(table) != 2 || most < 1)
		return lower_fail(
		        l, ERR_MODEL,
		        "the table has %d axes and max_distance is %lld; two axes and a positive distance are needed.",
		        value_rank(table), (long long)most);
	TRY(lower_extents(l, 1, &query));
	TRY(lower_extents(l, 2, &key));
	if (query.n != 1 || key.n != 1)
		return lower_fail(l, ERR_MODEL, "query_length and key_length must be one number each.");
	TRY(lower_demand_extent(l, IR_AT_MOST, idx(l, lower_int(l, "is_bidirectional") ? 2 : 1), table, 0));
	heads = value_dim(table, 1);
	space_push(l, &s, idx(l, 1));
	h = space_push(l, &s, heads);
	i = space_push(l, &s, query.at[0]);
	j = space_push(l, &s, key.at[0]);
	b = bucket_of(sub(j, i), value_dim(table, 0), (double)most, lower_int(l, "is_bidirectional") != 0);
	/* The table is stored by heads, whatever its shape. */
	lower_output(l, 0,
	             lower_map(l, NULL, value_type(table), &s, at_flat(table, add(mul(h, value_dim(table, 0)), b))));
	return 0;
}

/* [b, h, i, 2]: the sigmoids of the halves' sums. */
static struct value gates(struct lower *l, struct value query, struct value bias, struct value weight,
                          struct value more, expr heads)
{
	expr size = value_dim(weight, 0), half = floordiv(value_dim(weight, 1), idx(l, 2)), b, h, i, g, d, j, e, x;
	struct space s = { 0 }, pair = { 0 };
	struct value sum;

	g = space_push(l, &pair, idx(l, 2));
	j = space_push(l, &pair, half);
	e = add(mul(g, half), j);
	sum = lower_reduce(l, "bias_sum", TYPE_F32, &pair, 1, IR_SUM, cast(load(more, &e), TYPE_F32), NULL);
	b = space_push(l, &s, value_dim(query, 0));
	h = space_push(l, &s, heads);
	i = space_push(l, &s, value_dim(query, 1));
	g = space_push(l, &s, idx(l, 2));
	d = space_push(l, &s, size);
	j = space_push(l, &s, half);
	x = add(mul(h, size), d);
	e = cast(add(wide(load_list(query, 3, b, i, x)), wide(load(bias, &x))), TYPE_F32);
	e = mul(e, cast(load_list(weight, 2, d, add(mul(g, half), j)), TYPE_F32));
	x = add(acc(l, TYPE_F32), load(sum, &g));
	x = sigmoid(x);
	return lower_reduce(l, "gates", TYPE_F32, &s, 4, IR_SUM, e, x);
}

static int gated_lower(struct lower *l)
{
	struct value query = lower_input(l, 0), bias = lower_input(l, 1), position = lower_input(l, 2),
	             weight = lower_input(l, 3), more = lower_input(l, 4), eco = lower_input(l, 5), gate;
	int64_t heads = lower_int(l, "num_heads");
	struct space s = { 0 };
	expr b, h, i, j, u, r, e;

	if (lower_input(l, 6).given)
		return lower_fail(l, ERR_UNSUPPORTED, "token_offset is not supported: the queries must be padded.");
	if (heads < 1 || value_rank(query) != 3 || value_rank(bias) != 1 || value_rank(position) != 4 ||
	    value_rank(weight) != 2 || value_rank(more) != 1)
		return lower_fail(l, ERR_MODEL,
		                  "num_heads is %lld; queries need 3 axes, rel_pos 4, the weight 2, biases 1.",
		                  (long long)heads);
	TRY(lower_demand_extent(l, IR_SAME, muli(value_dim(weight, 0), heads), query, 2));
	TRY(lower_equal(l, query, 2, bias, 0));
	TRY(lower_equal(l, weight, 1, more, 0));
	TRY(lower_demand_multiple(l, weight, 1, 2));
	TRY(lower_demand_of(l, IR_AT_MOST, NULL, idx(l, heads), "the number of elements of eco_a", value_count(eco)));
	gate = gates(l, query, bias, weight, more, idx(l, heads));
	b = space_push(l, &s, value_dim(query, 0));
	h = space_push(l, &s, idx(l, heads));
	i = space_push(l, &s, value_dim(query, 1));
	j = space_push(l, &s, value_dim(position, 3));
	u = load_list(gate, 4, b, h, i, idx(l, 0));
	r = load_list(gate, 4, b, h, i, idx(l, 1));
	e = mul(u, sub(mul(r, cast(at_flat(eco, h), TYPE_F32)), with(u, 1)));
	e = mul(add(e, with(e, 2)), cast(load_list(position, 4, idx(l, 0), h, i, j), TYPE_F32));
	lower_output(l, 0, lower_map(l, NULL, value_type(query), &s, e));
	return 0;
}

/* clang-format off */
#define TS_T (TS(F32) | TS(F16))

const struct op_def ops_relative_position[] = {
	{ .name = "RelativePositionBias", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y[0, h, i, j] = bias_table[h, bucket(j - i)]",
	  .inputs = { IN("bias_table", TS_T), IN("query_length", TS(I64)), IN("key_length", TS(I64)) },
	  .outputs = { OUT("output") },
	  .attrs = { ATTR_INT_REQUIRED("max_distance", "from which on all share a bucket"),
		     ATTR_INT("is_bidirectional", 0, "keys after the query have their own buckets") },
	  .lower = bias_lower,
	  .cases = { "bias_table:f32[32,8] query_length:i64[1]={70} key_length:i64[1]={70} max_distance=128",
		     "bias_table:f16[16,3] query_length:i64[1]={9} key_length:i64[1]={9} max_distance=20 "
		     "is_bidirectional=1" } },
	{ .name = "GatedRelativePositionBias", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y[b, h, i, j] = (u (r eco_a[h] - 1) + 2) rel_pos[0, h, i, j], u and r sigmoids of the projected "
		     "query",
	  .inputs = { IN("query_layer", TS_T), IN("query_bias", TS_T), IN("rel_pos", TS_T), IN("weight", TS_T),
		      IN("bias", TS_T), IN("eco_a", TS_T), OPT("token_offset", TS(I32)) },
	  .outputs = { OUT("output") }, .attrs = { ATTR_INT_REQUIRED("num_heads", "heads of the query") },
	  .lower = gated_lower,
	  .cases = { "query_layer:f32[B,S,48] query_bias:f32[48] rel_pos:f32[1,3,S,S] weight:f32[16,8] bias:f32[8] "
		     "eco_a:f32[1,3,1,1] num_heads=3" } },
	{ .name = NULL },
};
/* clang-format on */
