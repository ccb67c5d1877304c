/* ArgMax and ArgMin: y = the position along `axis` of the largest or smallest x; among equals the first, or the last
 * with select_last_index. Source: ONNX, operators ArgMax and ArgMin, opsets 1 to 13. */
#include "ops/lower/reduction.h"

static int lower_arg(struct lower *l, enum ir_combine first, enum ir_combine last)
{
	struct value x = lower_input(l, 0);
	bool reduced[IR_MAX_RANK] = { false };
	struct reduction r;
	int axis;

	TRY(lower_axis(l, lower_int(l, "axis"), value_rank(x), false, &axis));
	reduced[axis] = true;
	r = reduce_space(l, x, reduced, lower_int(l, "keepdims") != 0);
	lower_output(l, 0,
	             lower_reduce(l, NULL, TYPE_I64, &r.s, r.rank, lower_int(l, "select_last_index") ? last : first,
	                          wide(load(x, r.index)), NULL));
	return 0;
}

static int argmax_lower(struct lower *l)
{
	return lower_arg(l, IR_ARGMAX, IR_ARGMAX_LAST);
}

static int argmin_lower(struct lower *l)
{
	return lower_arg(l, IR_ARGMIN, IR_ARGMIN_LAST);
}

/* clang-format off */
#define ROW(op, text, fn)                                                                                              \
	{ .name = op, .since = { 1, 11, 12, 13 }, .formula = text, .inputs = { IN("data", TS_NUMBER) },                \
	  .outputs = { OUT("reduced") },                                                                               \
	  .attrs = { ATTR_INT("axis", 0, "the axis that is searched"),                                                 \
		     ATTR_INT("keepdims", 1, "the axis stays with extent 1"),                                          \
		     ATTR_INT("select_last_index", 0, "of equals the last") },                                         \
	  .lower = fn, .cases = { "data:f32[N,33] axis=1", "data:f32[N,33,5] axis=1 keepdims=0 select_last_index=1" } }

const struct op_def ops_argmax[] = {
	ROW("ArgMax", "y = the position of the largest x along the axis", argmax_lower),
	ROW("ArgMin", "y = the position of the smallest x along the axis", argmin_lower),
	{ .name = NULL },
};
/* clang-format on */
