/* BatchNormalization: y = (x - mean) / sqrt(var + epsilon) * scale + bias, with an input mean and var for each channel
 * (axis 1). With training_mode they are those of x over all other axes, and
 *   running_mean = momentum * mean + (1 - momentum) * mean of x, running_var likewise.
 * Source: ONNX, operator BatchNormalization, opsets 1 to 15. Before opset 14 only inference, whatever the value of
 * is_test and whatever outputs are listed, as in ONNX Runtime: the statistics stay as they are; `spatial` 0 (until 8)
 * gives every element of a sample its own parameters. */
#include "ops/lower/reduction.h"

/* momentum * old + (1 - momentum) * current, in old's type. */
static struct value running(struct lower *l, const char *name, struct value old, struct value current)
{
	struct space s = space_of(l, old);
	expr now = at(current, &s), before = cast(at(old, &s), now->type);
	double momentum = lower_float(l, "momentum");

	return lower_map(l, name, value_type(old), &s,
	                 add(mul(before, with(now, momentum)), mul(now, with(now, 1 - momentum))));
}

/* Before opset 14 models for inference list the statistics, too, and read none. */
static int unchanged(struct lower *l, int i, struct value old)
{
	struct space s = space_of(l, old);

	if (l->opset >= 14)
		return lower_fail(l, ERR_MODEL, "it has output number %d, but no training_mode.", i + 1);
	lower_output(l, i, lower_map(l, NULL, value_type(old), &s, at(old, &s)));
	return 0;
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), scale = lower_input(l, 1), bias = lower_input(l, 2);
	struct value mean = lower_input(l, 3), var = lower_input(l, 4);
	enum type c = compute_type(value_type(x));
	struct space s = space_of(l, x);
	int channel = value_rank(x) > 1, rank = value_rank(x);
	bool training = l->opset >= 14 && lower_int(l, "training_mode");
	expr y, deviation;

	for (int i = 1; i < 5; i++)
		if (value_rank(lower_input(l, i)) < 1 || value_rank(lower_input(l, i)) > (rank > 1 ? rank - 1 : 1))
			return lower_fail(l, ERR_MODEL, "input number %d has %d axes; it must have one, the channels.",
			                  i + 1, value_rank(lower_input(l, i)));
	for (int i = 1; i < l->outputs; i++)
		if (l->wanted[i] && !training)
			TRY(unchanged(l, i, i % 2 ? mean : var));
	if (rank == 1) { /* one channel */
		space_push(l, &s, idx(l, 1));
		channel = 1;
	}
	if (training) {
		bool reduced[IR_MAX_RANK];
		struct reduction r;
		struct value now, now_var;
		expr d;

		if (rank < 2)
			return lower_fail(l, ERR_MODEL, "for training the input needs two axes or more.");
		for (int i = 0; i < rank; i++)
			reduced[i] = i != 1;
		r = reduce_space(l, x, reduced, false);
		now = reduce_mean(l, "mean", c, &r, wide(load(x, r.index)));
		d = sub(wide(load(x, r.index)), load(now, r.s.at));
		now_var = reduce_mean(l, "variance", c, &r, mul(d, d));
		if (lower_wants(l, 1))
			lower_output(l, 1, running(l, "running_mean", mean, now));
		if (lower_wants(l, 2))
			lower_output(l, 2, running(l, "running_var", var, now_var));
		mean = now;
		var = now_var;
	}
	y = sub(wide(rank == 1 ? at_axis(x, &s, 0) : at(x, &s)), cast(at_axis(mean, &s, channel), c));
	deviation = cast(at_axis(var, &s, channel), c);
	deviation = unary(IR_SQRT, add(deviation, with(deviation, lower_float(l, "epsilon"))));
	y = mul(divide(y, deviation), cast(at_axis(scale, &s, channel), c));
	y = add(y, cast(at_axis(bias, &s, channel), c));
	s.rank = rank;
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, y));
	return 0;
}

const struct op_def op_batch_normalization = {
	.name = "BatchNormalization",
	.since = { 1, 6, 7, 9, 14, 15 },
	.formula = "y = (x - mean) / sqrt(var + epsilon) * scale + bias",
	.inputs = { IN("x", TS_FLOAT, RANK_FROM(1)), IN("scale", TS_FLOAT), IN("b", TS_FLOAT),
	            IN("input_mean", TS_FLOAT), IN("input_var", TS_FLOAT) },
	.outputs = { OUT("y"), OPTOUT("running_mean"), OPTOUT("running_var"), OPTOUT("saved_mean"),
	             OPTOUT("saved_var") },
	.attrs = { ATTR_FLOAT("epsilon", 1e-5, "added to the variance"),
	           ATTR_FLOAT("momentum", 0.9, "of the running statistics"),
	           ATTR_INT("training_mode", 0, "use and update the statistics of x"),
	           ATTR_INT("is_test", 0, "before opset 7"),
	           ATTR_INT("spatial", 1, "before opset 9: statistics of channels, not of elements"), ATTR_CONSUMED },
	.lower = lower,
	.cases = { "x:f32[N,32,H,W] scale:f32[32] b:f32[32] input_mean:f32[32] input_var:f32[32]" },
};
