/* Dropout: in inference output = data, mask = 1 everywhere. In training, which an input asks for from opset 12 on, an
 * element stays with the probability 1 - ratio and is scaled by 1 / (1 - ratio); the others become zero. The bits are
 * those of this project's generator (philox.h); other engines draw others, and new ones in each run. Before opset 12 it
 * is always inference.
 * Source: ONNX, operator Dropout, opsets 1 to 22. */
#include "ops/philox.h"

/* Whether the node drops elements. */
static int is_training(struct lower *l, bool *out)
{
	const struct tensor *training = lower_constant(l, 2), *ratio = lower_constant(l, 1);

	*out = false;
	if (l->opset < 12 || !lower_input(l, 2).given)
		return 0;
	if (ratio && tensor_count(ratio) == 1 && tensor_float(ratio, 0) == 0)
		return 0;
	if (!training || tensor_count(training) != 1) {
		lower_fail(l, ERR_UNSUPPORTED, "training_mode is not known at build time.");
		return err_advise(l->err, "Make it a constant of the model.");
	}
	*out = tensor_int(training, 0) != 0;
	return 0;
}

static int training(struct lower *l, struct value x, const struct space *s)
{
	struct value ratio = lower_input(l, 1), mask;
	const struct tensor *known = lower_constant(l, 1);
	enum type t = compute_type(value_type(x)), c = t == TYPE_F64 ? t : TYPE_F32;
	expr p = num(l, c, 0.5), keep, e = wide(at(x, s));

	if (known && !(tensor_float(known, 0) >= 0 && tensor_float(known, 0) < 1))
		return lower_fail(l, ERR_MODEL, "ratio is %g; it must be at least 0 and below 1.",
		                  tensor_float(known, 0));
	if (ratio.given)
		p = known ? num(l, c, tensor_float(known, 0)) : cast(at_first(ratio), c);
	keep = ge(random_uniform(c, random_key(l), flatten(l, s->rank, s->dim, s->at)), p);
	if (lower_wants(l, 1)) {
		mask = lower_map(l, "mask", TYPE_BOOL, s, keep);
		lower_output(l, 1, mask);
		keep = load(mask, s->at);
	}
	e = select_(keep, mul(e, cast(divide(with(p, 1), sub(with(p, 1), p)), t)), with(e, 0));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), s, narrow(e, value_type(x))));
	return 0;
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	enum type t = l->opset < 10 ? value_type(x) : TYPE_BOOL;
	bool drops;

	TRY(is_training(l, &drops));
	if (drops)
		return training(l, x, &s);
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, at(x, &s)));
	if (lower_wants(l, 1))
		lower_output(l, 1, lower_map(l, "mask", t, &s, cast(num(l, compute_type(t), 1), t)));
	return 0;
}

const struct op_def op_dropout = {
	.name = "Dropout",
	.since = { 1, 6, 7, 10, 12, 13, 22 },
	.formula = "output = data of inference; of training, data / (1 - ratio) where an element is kept; Philox4x32-10, "
	           "the same draws in each run",
	.inputs = { IN("data", TS_FLOAT | TS_F8), OPT("ratio", TS_FLOAT | TS_F8), OPT("training_mode", TS(BOOL)) },
	.outputs = { OUT("output"), OPTOUT("mask") },
	.attrs = { ATTR_FLOAT("ratio", 0.5, "of training"),
	           ATTR_INT("seed", 0, "of the draws; without it, a hash of its result's name"),
	           ATTR_INT("is_test", 0, "before opset 7; taken as 1"), ATTR_CONSUMED },
	.lower = lower,
	.cases = { "data:f32[N,768]", "data:f16[N,33] outputs=2 opset=13",
	           "data:f32[N,33] ratio:f32[]={0.3} training_mode:bool[]={1} outputs=2 seed=7",
	           "data:f16[N,9] ratio:f16[] training_mode:bool[]={1} opset=12",
	           "data:f64[N,9] x:f32[]={0} training_mode:bool[]={1} opset=13" },
};
