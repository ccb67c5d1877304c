/* RandomUniform, RandomNormal: a tensor of random numbers; its shape is an attribute, or (...Like) that of another
 * tensor. They come from this project's generator (philox.h): other engines draw others, and new ones in each run.
 * They are drawn in f32, or in f64 for f64 results.
 * Source: ONNX, the operators of these names, opsets 1 and 22. */
#include "ops/lower/philox.h"

static expr position(struct lower *l, const struct space *s)
{
	return flatten(l, s->rank, s->dim, s->at);
}

static expr uniform(struct lower *l, enum type t, const struct space *s)
{
	expr u = random_uniform(t, random_key(l), position(l, s));
	double low = lower_float(l, "low");

	return add(with(u, low), mul(u, with(u, lower_float(l, "high") - low)));
}

static expr normal(struct lower *l, enum type t, const struct space *s)
{
	expr z = random_normal(t, random_key(l), position(l, s));

	return add(with(z, lower_float(l, "mean")), mul(z, with(z, lower_float(l, "scale"))));
}

typedef expr (*draw_fn)(struct lower *l, enum type t, const struct space *s);

static int draw(struct lower *l, const struct space *s, enum type absent, draw_fn f)
{
	enum type t;

	TRY(random_type(l, TS_FLOAT, absent, &t));
	lower_output(l, 0, lower_map(l, NULL, t, s, f(l, compute_type(t), s)));
	return 0;
}

static int of_shape(struct lower *l, draw_fn f)
{
	struct ints shape = lower_ints(l, "shape");
	struct space s = { 0 };

	if (shape.n > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the result has %d axes; %d are the most.", shape.n, IR_MAX_RANK);
	for (int i = 0; i < shape.n; i++) {
		if (shape.at[i] < 0)
			return lower_fail(l, ERR_MODEL, "shape has the extent %lld.", (long long)shape.at[i]);
		space_push(l, &s, idx(l, shape.at[i]));
	}
	return draw(l, &s, TYPE_F32, f);
}

static int of_input(struct lower *l, draw_fn f)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);

	return draw(l, &s, value_type(x), f);
}

static int uniform_lower(struct lower *l)
{
	return of_shape(l, uniform);
}

static int normal_lower(struct lower *l)
{
	return of_shape(l, normal);
}

static int uniform_like_lower(struct lower *l)
{
	return of_input(l, uniform);
}

static int normal_like_lower(struct lower *l)
{
	return of_input(l, normal);
}

/* clang-format off */
#define RANDOM .since = { 1, 22 }, .outputs = { OUT("output") }
#define UNIFORM ATTR_FLOAT("low", 0, "least number"), ATTR_FLOAT("high", 1, "all are below it"), RANDOM_SEED
#define NORMAL ATTR_FLOAT("mean", 0, "mean of all draws"), ATTR_FLOAT("scale", 1, "standard deviation"), RANDOM_SEED
#define SHAPE ATTR_INT("dtype", 1, "the result's type, as a number of TensorProto.DataType"), \
	ATTR_INTS_REQUIRED("shape", "of the result")
#define TYPE ATTR_INT("dtype", 0, "the result's type, as a number of TensorProto.DataType; else the input's")

const struct op_def ops_random_number[] = {
	{ .name = "RandomUniform", RANDOM,
	  .formula = "y = drawn evenly from low to high; Philox4x32-10, the same numbers in each run",
	  .attrs = { UNIFORM, SHAPE }, .lower = uniform_lower,
	  .cases = { "shape=7,33 seed=3", "shape=300 dtype=11 low=-2 high=5", "shape=4,9 dtype=10 opset=1" } },
	{ .name = "RandomNormal", RANDOM,
	  .formula = "y = drawn from a normal distribution; Philox4x32-10, the same numbers in each run",
	  .attrs = { NORMAL, SHAPE }, .lower = normal_lower,
	  .cases = { "shape=7,33 seed=3", "shape=300 dtype=11 mean=-2 scale=5", "shape=4,9 dtype=16" } },
	{ .name = "RandomUniformLike", RANDOM,
	  .formula = "y = drawn evenly from low to high, in x's shape; Philox4x32-10, the same numbers in each run",
	  .inputs = { IN("input", TS_DATA) }, .attrs = { UNIFORM, TYPE }, .lower = uniform_like_lower,
	  .cases = { "input:f16[N,33] seed=3", "input:i64[N,5] dtype=1", "input:f64[N] opset=1" } },
	{ .name = "RandomNormalLike", RANDOM,
	  .formula = "y = drawn from a normal distribution, in x's shape; Philox4x32-10, the same numbers in each run",
	  .inputs = { IN("input", TS_DATA) }, .attrs = { NORMAL, TYPE }, .lower = normal_like_lower,
	  .cases = { "input:f16[N,33] seed=3", "input:i64[N,5] dtype=1", "input:f64[N] opset=1" } },
	{ .name = NULL },
};
/* clang-format on */
