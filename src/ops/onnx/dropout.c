/* Dropout: in inference output = data, mask = 1 everywhere. In training, which an input asks for from opset 12 on, an
 * element stays with the probability 1 - ratio and is scaled by 1 / (1 - ratio); the others become zero. The bits are
 * those of this project's generator (philox.h); other engines draw others, and new ones in each run. Before opset 12 it
 * is always inference.
 * BitmaskDropout and BitmaskBiasDropout give the mask in u32s, an element a bit, from the lowest on.
 * Source: ONNX, operator Dropout, opsets 1 to 22; ONNX Runtime, com.microsoft.BiasDropout, BitmaskDropout and
 * BitmaskBiasDropout. */
#include "ops/lower/philox.h"

#include <string.h>

/* Output 1 of the mask, bool over its own space; null: of ones, over s. Bits behind the last element are 1. */
static void output_mask(struct lower *l, const struct space *s, struct value mask)
{
	struct space words = { 0 };
	expr all = idx(l, 1), word, bit, flat, e;

	if (!lower_wants(l, 1))
		return;
	if (strncmp(l->op->name, "Bitmask", 7) != 0) {
		lower_output(l, 1,
		             mask.given ? mask
		                        : lower_map(l, "mask", TYPE_BOOL, s, ir_int(l->program->pool, TYPE_BOOL, 1)));
		return;
	}
	for (int i = 0; i < s->rank; i++)
		all = mul(all, s->dim[i]);
	word = space_push(l, &words, ceildiv(all, idx(l, 32)));
	if (!mask.given) {
		lower_output(l, 1, lower_map(l, NULL, TYPE_U32, &words, num(l, TYPE_U32, UINT32_MAX)));
		return;
	}
	bit = space_push(l, &words, idx(l, 32));
	flat = add(muli(word, 32), bit);
	e = or_(ge(flat, all), at_flat(mask, min_(flat, addi(all, -1))));
	e = select_(e, ir_binary(IR_SHL, num(l, TYPE_U32, 1), cast(bit, TYPE_U32)), num(l, TYPE_U32, 0));
	lower_output(l, 1, lower_reduce(l, NULL, TYPE_U32, &words, 1, IR_SUM, e, NULL));
}

/* Whether the node drops elements, by its inputs: the ratio, and behind it the mode. */
static int is_training(struct lower *l, int first, bool *out)
{
	const struct tensor *training = lower_constant(l, first + 1), *ratio = lower_constant(l, first);

	*out = false;
	if (!lower_input(l, first + 1).given)
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

/* The element e over s, dropped or scaled; with a mask as output 1. `first`: the input that is the ratio. */
static int drop(struct lower *l, int first, const struct space *s, expr e, expr *out)
{
	struct value ratio = lower_input(l, first), mask;
	const struct tensor *known = lower_constant(l, first);
	enum type t = e->type, c = t == TYPE_F64 ? t : TYPE_F32;
	expr p = num(l, c, 0.5), keep;

	if (known && !(tensor_float(known, 0) >= 0 && tensor_float(known, 0) < 1))
		return lower_fail(l, ERR_MODEL, "ratio is %g; it must be at least 0 and below 1.",
		                  tensor_float(known, 0));
	if (ratio.given)
		p = known ? num(l, c, tensor_float(known, 0)) : cast(at_first(ratio), c);
	keep = ge(random_uniform(c, random_key(l), flatten(l, s->rank, s->dim, s->at)), p);
	if (lower_wants(l, 1)) {
		mask = lower_map(l, "mask", TYPE_BOOL, s, keep);
		output_mask(l, s, mask);
		keep = load(mask, s->at);
	}
	*out = select_(keep, mul(e, cast(divide(with(p, 1), sub(with(p, 1), p)), t)), with(e, 0));
	return 0;
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	enum type t = l->opset < 10 && !l->op->domain ? value_type(x) : TYPE_BOOL;
	bool drops = false;
	expr e = at(x, &s);

	if (l->opset >= 12 || l->op->domain)
		TRY(is_training(l, 1, &drops));
	if (drops)
		TRY(drop(l, 1, &s, wide(e), &e));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, narrow(e, value_type(x))));
	if (drops)
		return 0;
	if (t == TYPE_BOOL)
		output_mask(l, &s, (struct value){ 0 });
	else if (lower_wants(l, 1))
		lower_output(l, 1, lower_map(l, "mask", t, &s, cast(num(l, compute_type(t), 1), t)));
	return 0;
}

/* Dropout of data + bias, and the residual added. */
static int bias_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), bias = lower_input(l, 1), residual = lower_input(l, 2);
	struct space s = space_of(l, x);
	enum type t = value_type(x);
	bool drops;
	expr e;

	if (value_rank(bias) > s.rank || (residual.given && value_rank(residual) != s.rank))
		return lower_fail(l, ERR_MODEL, "bias and residual must fit the data.");
	e = wide(narrow(add(wide(at(x, &s)), wide(at(bias, &s))), t));
	TRY(is_training(l, 3, &drops));
	if (drops)
		TRY(drop(l, 3, &s, e, &e));
	else
		output_mask(l, &s, (struct value){ 0 });
	if (residual.given)
		e = add(wide(narrow(e, t)), wide(at(residual, &s)));
	lower_output(l, 0, lower_map(l, NULL, t, &s, narrow(e, t)));
	return 0;
}

const struct op_def op_bias_dropout = {
	.name = "BiasDropout",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "output = dropout(data + bias) + residual; without training nothing is dropped",
	.inputs = { IN("data", TS_FLOAT), IN("bias", TS_FLOAT), OPT("residual", TS_FLOAT), OPT("ratio", TS_FLOAT),
	            OPT("training_mode", TS(BOOL)) },
	.outputs = { OUT("output"), OPTOUT("mask") },
	.attrs = { ATTR_INT("seed", 0, "of the draws; without it, a hash of its result's name") },
	.lower = bias_lower,
	.cases = { "data:f16[N,33] bias:f16[33] residual:f16[N,33]",
	           "data:f32[N,33] bias:f32[33] residual:f32[N,33] ratio:f32[]={0.3} training_mode:bool[]={1} "
	           "outputs=2" },
};

/* clang-format off */
#define BITS_ATTRS { ATTR_INT("seed", 0, "of the draws; without it, a hash of its result's name") }

const struct op_def ops_bitmask_dropout[] = {
	{ .name = "BitmaskDropout", .domain = "com.microsoft", .since = { 1 },
	  .formula = "output = dropout(data), the mask in bits; without training nothing is dropped",
	  .inputs = { IN("data", TS_FLOAT), OPT("ratio", TS_FLOAT), OPT("training_mode", TS(BOOL)) },
	  .outputs = { OUT("output"), OPTOUT("mask") }, .attrs = BITS_ATTRS, .lower = lower,
	  .cases = { "data:f16[N,33] outputs=2",
		     "data:f32[N,33] ratio:f32[]={0.3} training_mode:bool[]={1} outputs=2 seed=7" } },
	{ .name = "BitmaskBiasDropout", .domain = "com.microsoft", .since = { 1 },
	  .formula = "output = dropout(data + bias) + residual, the mask in bits; without training nothing is dropped",
	  .inputs = { IN("data", TS_FLOAT), IN("bias", TS_FLOAT), OPT("residual", TS_FLOAT), OPT("ratio", TS_FLOAT),
		      OPT("training_mode", TS(BOOL)) },
	  .outputs = { OUT("output"), OPTOUT("mask") }, .attrs = BITS_ATTRS, .lower = bias_lower,
	  .cases = { "data:f16[N,33] bias:f16[33] residual:f16[N,33] outputs=2" } },
	{ .name = NULL },
};
/* clang-format on */

const struct op_def op_dropout = {
	.name = "Dropout",
	.since = { 1, 6, 7, 10, 12, 13, 22 },
	.formula =
	        "output = data of inference; of training, data / (1 - ratio) where an element is kept; Philox4x32-10, "
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
