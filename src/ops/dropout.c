/* Dropout in inference: output = data, mask = 1 everywhere. Training drops elements at random, which no engine for
 * inference does; that is refused where the model asks for it at build time, before opset 12 by nothing but its age.
 * Source: ONNX, operator Dropout, opsets 1 to 22. */
#include "ops/lower.h"

/* Whether the node is sure to drop nothing. */
static int check(struct lower *l)
{
	struct value mode = lower_input(l, 2);
	const struct tensor *training = lower_constant(l, 2), *ratio = lower_constant(l, 1);

	if (l->opset < 12 || !mode.given)
		return 0;
	if (ratio && tensor_count(ratio) == 1 && tensor_float(ratio, 0) == 0)
		return 0;
	if (training && tensor_count(training) == 1 && !tensor_int(training, 0))
		return 0;
	lower_fail(l, ERR_UNSUPPORTED,
	           training ? "training_mode is true: it drops elements at random."
	                    : "training_mode is not known at build time.");
	return err_advise(l->err, "Export the model for inference.");
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	enum type t = l->opset < 10 ? value_type(x) : TYPE_BOOL;

	TRY(check(l));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, at(x, &s)));
	if (lower_wants(l, 1))
		lower_output(l, 1, lower_map(l, "mask", t, &s, cast(num(l, compute_type(t), 1), t)));
	return 0;
}

const struct op_def op_dropout = {
	.name = "Dropout",
	.since = { 1, 6, 7, 10, 12, 13, 22 },
	.formula = "output = data, of inference",
	.inputs = { IN("data", TS_FLOAT | TS_F8), OPT("ratio", TS_FLOAT | TS_F8), OPT("training_mode", TS(BOOL)) },
	.outputs = { OUT("output"), OPTOUT("mask") },
	.attrs = { ATTR_FLOAT("ratio", 0.5, "of training"), ATTR_INT("seed", 0, "of training"),
	           ATTR_INT("is_test", 0, "before opset 7; taken as 1"), ATTR_CONSUMED },
	.lower = lower,
	.cases = { "data:f32[N,768]", "data:f16[N,33] outputs=2 opset=13" },
};
