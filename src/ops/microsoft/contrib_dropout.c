/* BiasDropout: dropout of data + bias, plus the residual. BitmaskDropout and BitmaskBiasDropout pack the mask into
 * u32, one bit an element. Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/drop.h"

static int bitmask_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct dropout d = { .ratio = 1, .bits = true };
	struct space s = space_of(l, x);
	bool drops;
	expr e = at(x, &s);

	TRY(dropout_drops(l, &d, &drops));
	if (drops)
		TRY(dropout_apply(l, &d, &s, wide(e), &e));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, narrow(e, value_type(x))));
	if (!drops)
		dropout_mask(l, &d, &s, (struct value){ 0 });
	return 0;
}

/* Dropout of data + bias, and the residual added. */
static int bias_dropout(struct lower *l, bool bits)
{
	struct value x = lower_input(l, 0), bias = lower_input(l, 1), residual = lower_input(l, 2);
	struct dropout d = { .ratio = 3, .bits = bits };
	struct space s = space_of(l, x);
	enum type t = value_type(x);
	bool drops;
	expr e;

	if (value_rank(bias) > s.rank || (residual.given && value_rank(residual) != s.rank))
		return lower_fail(l, ERR_MODEL, "bias and residual must fit the data.");
	e = wide(narrow(add(wide(at(x, &s)), wide(at(bias, &s))), t));
	TRY(dropout_drops(l, &d, &drops));
	if (drops)
		TRY(dropout_apply(l, &d, &s, e, &e));
	else
		dropout_mask(l, &d, &s, (struct value){ 0 });
	if (residual.given)
		e = add(wide(narrow(e, t)), wide(at(residual, &s)));
	lower_output(l, 0, lower_map(l, NULL, t, &s, narrow(e, t)));
	return 0;
}

static int bias_lower(struct lower *l)
{
	return bias_dropout(l, false);
}

static int bitmask_bias_lower(struct lower *l)
{
	return bias_dropout(l, true);
}

const struct op_def op_bias_dropout = {
	.name = "BiasDropout",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "output = dropout(data + bias) + residual; without training nothing is dropped",
	.inputs = { IN("data", TS_FLOAT), IN("bias", TS_FLOAT), OPT("residual", TS_FLOAT), OPT("ratio", TS_FLOAT),
	            OPT("training_mode", TS(BOOL)) },
	.outputs = { OUT("output"), OPTOUT("mask") },
	.attrs = { DROPOUT_SEED },
	.lower = bias_lower,
	.cases = { "data:f16[N,33] bias:f16[33] residual:f16[N,33]",
	           "data:f32[N,33] bias:f32[33] residual:f32[N,33] ratio:f32[]={0.3} training_mode:bool[]={1} "
	           "outputs=2" },
};

/* clang-format off */
const struct op_def ops_bitmask_dropout[] = {
	{ .name = "BitmaskDropout", .domain = "com.microsoft", .since = { 1 },
	  .formula = "output = dropout(data), the mask in bits; without training nothing is dropped",
	  .inputs = { IN("data", TS_FLOAT), OPT("ratio", TS_FLOAT), OPT("training_mode", TS(BOOL)) },
	  .outputs = { OUT("output"), OPTOUT("mask") }, .attrs = { DROPOUT_SEED }, .lower = bitmask_lower,
	  .cases = { "data:f16[N,33] outputs=2",
		     "data:f32[N,33] ratio:f32[]={0.3} training_mode:bool[]={1} outputs=2 seed=7" } },
	{ .name = "BitmaskBiasDropout", .domain = "com.microsoft", .since = { 1 },
	  .formula = "output = dropout(data + bias) + residual, the mask in bits; without training nothing is dropped",
	  .inputs = { IN("data", TS_FLOAT), IN("bias", TS_FLOAT), OPT("residual", TS_FLOAT), OPT("ratio", TS_FLOAT),
		      OPT("training_mode", TS(BOOL)) },
	  .outputs = { OUT("output"), OPTOUT("mask") }, .attrs = { DROPOUT_SEED }, .lower = bitmask_bias_lower,
	  .cases = { "data:f16[N,33] bias:f16[33] residual:f16[N,33] outputs=2" } },
	{ .name = NULL },
};
/* clang-format on */
