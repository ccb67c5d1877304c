/* Bernoulli: y = 1 with probability x, else 0. Multinomial: classes drawn by their unnormalised log-probabilities: a
 * uniform random number selects a class by the running sum.
 * The random numbers come from this project's generator (philox.h): other engines draw others, and new ones in each
 * run.
 * Source: ONNX, operators Bernoulli (opsets 15 and 22), Multinomial (7 and 22). */
#include "ops/lower/philox.h"

static int bernoulli_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	expr p = wide(at(x, &s)), u = random_uniform(p->type, random_key(l), flatten(l, s.rank, s.dim, s.at));
	enum type t;

	TRY(random_type(l, TS_PLAIN, value_type(x), &t));
	lower_output(l, 0, lower_map(l, NULL, t, &s, cast(cast(lt(u, p), compute_type(t)), t)));
	return 0;
}

/* The class is the number of classes whose running sum the random number has passed. */
static int multinomial_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), top, sum, draw;
	int64_t samples = lower_int(l, "sample_size");
	struct space in, out = { 0 };
	expr e, u, k;
	const enum type c = TYPE_F64; /* f64, so that rounding moves no border between classes */
	enum type t;

	TRY(random_type(l, TS_INDICES, TYPE_I32, &t));
	if (value_rank(x) != 2)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it must have two: rows and classes.",
		                  value_rank(x));
	if (samples < 1)
		return lower_fail(l, ERR_MODEL, "sample_size is %lld; it must be positive.", (long long)samples);
	in = space_of(l, x);
	e = cast(at(x, &in), c);
	top = lower_reduce(l, "largest", c, &in, 1, IR_MAXIMUM, e, NULL);
	e = unary(IR_EXP, sub(e, load(top, in.at)));
	sum = lower_scan(l, "running_sum", c, &in, 1, IR_SUM, false, false, e, NULL);
	space_push(l, &out, in.dim[0]);
	space_push(l, &out, idx(l, samples));
	u = random_uniform(c, random_key(l), flatten(l, out.rank, out.dim, out.at));
	draw = lower_map(l, "draw", c, &out,
	                 mul(u, load_list(sum, 2, out.at[0], max_(addi(in.dim[1], -1), idx(l, 0)))));
	k = space_push(l, &out, in.dim[1]);
	e = cast(le(load_list(sum, 2, out.at[0], k), load(draw, out.at)), t);
	k = cast(max_(addi(in.dim[1], -1), idx(l, 0)), t);
	lower_output(l, 0, lower_reduce(l, NULL, t, &out, 2, IR_SUM, e, min_(acc(l, t), k)));
	return 0;
}

/* clang-format off */
#define TYPE "the result's type, as a number of TensorProto.DataType"

const struct op_def ops_random_choice[] = {
	{ .name = "Bernoulli", .since = { 15, 22 },
	  .formula = "y = 1 with the probability x, else 0; Philox4x32-10, the same draws in each run",
	  .inputs = { IN("input", TS_FLOAT) }, .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("dtype", 0, TYPE "; else the input's"), RANDOM_SEED }, .lower = bernoulli_lower,
	  .cases = { "input:f32[N,33] seed=3", "input:f16[N,9]", "input:f64[N] dtype=9 opset=15",
		     "input:bf16[N,7] dtype=3" } },
	{ .name = "Multinomial", .since = { 7, 22 },
	  .formula = "y[n, s] = a class k, drawn with a probability in proportion to exp(x[n, k]); Philox4x32-10, the "
		     "same draws in each run",
	  .inputs = { IN("input", TS_FLOAT) }, .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("dtype", 6, TYPE), ATTR_INT("sample_size", 1, "draws of each row"), RANDOM_SEED },
	  .lower = multinomial_lower,
	  .cases = { "input:f32[N,33] sample_size=5 seed=3", "input:f16[N,9] dtype=7", "input:f64[N,K] opset=7" } },
	{ .name = NULL },
};
/* clang-format on */
