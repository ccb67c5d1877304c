/* Conversions between sequences padded at their end and tokens without padding.
 *   RemovePadding: output = the rows of input [b, s, h] that are tokens; token_offset = their positions, then those of
 *     the padding; cumulated_seq_len = the sums of the lengths, from 0 on; max_seq_len = the largest length
 *   RestorePadding: y[token_offset[t]] = input[t], zeros elsewhere
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/lower.h"

static int remove_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), counts = lower_input(l, 1), order, sums, offsets, kept;
	struct space s = { 0 }, flat = { 0 }, two = { 0 }, rows = { 0 }, one = { 0 };
	expr batch, length, all, i, j, t, padded, e;

	if (value_rank(x) != 3 || value_rank(counts) != 1)
		return lower_fail(l, ERR_MODEL, "the input needs 3 axes, and sequence_token_count 1.");
	batch = value_dim(x, 0);
	length = value_dim(x, 1);
	all = mul(batch, length);
	/* A stable sort of "is padding". */
	space_push(l, &flat, all);
	j = space_push(l, &flat, all);
	i = floordiv(j, length);
	padded = ge(cast(mod(j, length), TYPE_I32), load(counts, &i));
	order = lower_sort(l, "order", TYPE_I32, &flat, 0, false, cast(padded, TYPE_I32));
	space_push(l, &two, batch);
	space_push(l, &two, length);
	e = flatten(l, 2, two.dim, two.at);
	offsets = lower_map(l, "token_offset", TYPE_I32, &two, load(order, &e));

	space_push(l, &s, batch);
	space_push(l, &s, length);
	padded = lt(cast(s.at[1], TYPE_I32), load(counts, &s.at[0]));
	kept = lower_compact(l, "kept", TYPE_I32, &s, cast(flatten(l, 2, s.dim, s.at), TYPE_I32), padded, NULL);
	t = space_push(l, &rows, value_dim(kept, 0));
	space_push(l, &rows, value_dim(x, 2));
	e = cast(load(kept, &t), TYPE_INDEX);
	e = load_list(x, 3, floordiv(e, length), mod(e, length), rows.at[1]);
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &rows, e));
	lower_output(l, 1, offsets);

	rows = (struct space){ 0 };
	space_push(l, &rows, addi(batch, 1));
	e = max_(addi(rows.at[0], -1), idx(l, 0));
	e = select_(gt(rows.at[0], idx(l, 0)), load(counts, &e), num(l, TYPE_I32, 0));
	sums = lower_scan(l, "cumulated_seq_len", TYPE_I32, &rows, 0, IR_SUM, false, false, e, NULL);
	lower_output(l, 2, sums);
	space_push(l, &one, idx(l, 1));
	i = space_push(l, &one, batch);
	lower_output(l, 3, lower_reduce(l, NULL, TYPE_I32, &one, 1, IR_MAXIMUM, load(counts, &i), NULL));
	return 0;
}

static int restore_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), offset = lower_input(l, 1), flat;
	struct space s = { 0 }, out = { 0 }, three = { 0 };
	expr length, to[2], t, e;

	if (value_rank(x) != 2 || value_rank(offset) != 2)
		return lower_fail(l, ERR_MODEL, "input and token_offset need 2 axes each.");
	TRY(lower_demand_of(l, IR_AT_MOST, "the number of tokens", value_dim(x, 0), "the number of offsets",
	                    value_count(offset)));
	length = value_dim(offset, 1);
	space_push(l, &out, mul(value_dim(offset, 0), length));
	space_push(l, &out, value_dim(x, 1));
	t = space_push(l, &s, value_dim(x, 0));
	space_push(l, &s, value_dim(x, 1));
	to[0] = cast(at_flat(offset, t), TYPE_INDEX);
	to[1] = s.at[1];
	flat = lower_scatter(l, "tokens", value_type(x), &out, with(load(x, s.at), 0), &s, IR_NONE, to, load(x, s.at),
	                     NULL);
	space_push(l, &three, value_dim(offset, 0));
	space_push(l, &three, length);
	space_push(l, &three, value_dim(x, 1));
	e = load_list(flat, 2, flatten(l, 2, three.dim, three.at), three.at[2]);
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &three, e));
	return 0;
}

/* clang-format off */
const struct op_def ops_padding_removed[] = {
	{ .name = "RemovePadding", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = the rows of x that are tokens, and where each of them was",
	  .inputs = { IN("input", TS(F32) | TS(F16)), IN("sequence_token_count", TS(I32)) },
	  .outputs = { OUT("output"), OUT("token_offset"), OUT("cumulated_seq_len"), OUT("max_seq_len") },
	  .lower = remove_lower,
	  .cases = { "input:f32[3,5,7] sequence_token_count:i32[3]={2,5,0} outputs=4" } },
	{ .name = "RestorePadding", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y[token_offset[t]] = x[t], zeros elsewhere",
	  .inputs = { IN("input", TS(F32) | TS(F16)), IN("token_offset", TS(I32)) }, .outputs = { OUT("output") },
	  .lower = restore_lower,
	  .cases = { "input:f32[5,H] token_offset:i32[2,4]={0,1,4,5,6,2,3,7}" } },
	{ .name = NULL },
};
/* clang-format on */
