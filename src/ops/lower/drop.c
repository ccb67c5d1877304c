/* Dropout's draws, scaling and masks. */
#include "ops/lower/drop.h"

void dropout_mask(struct lower *l, const struct dropout *d, const struct space *s, struct value mask)
{
	struct space words = { 0 };
	expr all = idx(l, 1), word, bit, flat, e;

	if (!lower_wants(l, 1))
		return;
	if (!d->bits) {
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

int dropout_drops(struct lower *l, const struct dropout *d, bool *out)
{
	const struct tensor *training = lower_constant(l, d->ratio + 1), *ratio = lower_constant(l, d->ratio);

	*out = false;
	if (!lower_input(l, d->ratio + 1).given)
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

int dropout_apply(struct lower *l, const struct dropout *d, const struct space *s, expr e, expr *out)
{
	struct value ratio = lower_input(l, d->ratio), mask;
	const struct tensor *known = lower_constant(l, d->ratio);
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
		dropout_mask(l, d, s, mask);
		keep = load(mask, s->at);
	}
	*out = select_(keep, mul(e, cast(divide(with(p, 1), sub(with(p, 1), p)), t)), with(e, 0));
	return 0;
}
