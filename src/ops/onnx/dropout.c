/* Dropout: in inference output = data, and the mask is all ones. For training, which an input requests from opset 12
 * on, see drop.h. Before opset 12 it is always inference. Source: ONNX, operator Dropout, opsets 1 to 22. */
#include "ops/lower/drop.h"

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct dropout d = { .ratio = 1 };
	struct space s = space_of(l, x);
	enum type t = l->opset < 10 ? value_type(x) : TYPE_BOOL;
	bool drops = false;
	expr e = at(x, &s);

	if (l->opset >= 12)
		TRY(dropout_drops(l, &d, &drops));
	if (drops)
		TRY(dropout_apply(l, &d, &s, wide(e), &e));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, narrow(e, value_type(x))));
	if (drops)
		return 0;
	if (t == TYPE_BOOL)
		dropout_mask(l, &d, &s, (struct value){ 0 });
	else if (lower_wants(l, 1))
		lower_output(l, 1, lower_map(l, "mask", t, &s, cast(num(l, compute_type(t), 1), t)));
	return 0;
}

const struct op_def op_dropout = {
	.name = "Dropout",
	.since = { 1, 6, 7, 10, 12, 13, 22 },
	.formula =
	        "output = data of inference; of training, data / (1 - ratio) where an element is kept; Philox4x32-10, "
	        "the same draws in each run",
	.inputs = { IN("data", TS_FLOAT | TS_F8), OPT("ratio", TS_FLOAT | TS_F8), OPT("training_mode", TS(BOOL)) },
	.outputs = { OUT("output"), OPTOUT("mask") },
	.attrs = { ATTR_FLOAT("ratio", 0.5, "of training"), DROPOUT_SEED,
	           ATTR_INT("is_test", 0, "before opset 7; taken as 1"), ATTR_CONSUMED },
	.lower = lower,
	.cases = { "data:f32[N,768]", "data:f16[N,33] outputs=2 opset=13",
	           "data:f32[N,33] ratio:f32[]={0.3} training_mode:bool[]={1} outputs=2 seed=7",
	           "data:f16[N,9] ratio:f16[] training_mode:bool[]={1} opset=12",
	           "data:f64[N,9] x:f32[]={0} training_mode:bool[]={1} opset=13" },
};
