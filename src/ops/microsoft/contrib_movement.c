/* Operators of ONNX Runtime that move data: ExpandDims, SampleOp, UnfoldTensor, TorchEmbedding; NGramRepeatBlock, which
 * forbids tokens that would repeat an n-gram. Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/lower.h"

#include <math.h>
#include <string.h>

static int sample_lower(struct lower *l)
{
	lower_output(l, 0, lower_input(l, 0));
	return 0;
}

static int expand_dims_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	int rank = value_rank(x), axis;
	struct space s = { 0 };
	struct ints asked;
	expr index[IR_MAX_RANK];

	TRY(lower_known_ints(l, 1, &asked));
	if (asked.n != 1 || rank == IR_MAX_RANK)
		return lower_fail(l, ERR_MODEL, "it needs one axis number, and an input of at most %d axes.",
		                  IR_MAX_RANK - 1);
	TRY(lower_axis(l, asked.at[0], rank + 1, false, &axis));
	for (int i = 0; i <= rank; i++) {
		if (i == axis)
			space_push(l, &s, idx(l, 1));
		else
			index[i - (i > axis)] = space_push(l, &s, value_dim(x, i - (i > axis)));
	}
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

/* All windows of `size` along one axis, `step` apart, each along a new last axis. */
static int unfold_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	int64_t size = lower_int(l, "size"), step = lower_int(l, "step");
	int rank = value_rank(x), axis;
	struct space s = space_of(l, x);
	expr index[IR_MAX_RANK], place;

	TRY(lower_axis(l, lower_int(l, "dim"), rank, false, &axis));
	if (size < 1 || step < 1 || rank == IR_MAX_RANK)
		return lower_fail(l, ERR_MODEL, "size is %lld and step %lld; they must be positive.", (long long)size,
		                  (long long)step);
	s.dim[axis] = addi(floordiv(addi(s.dim[axis], -size), idx(l, step)), 1);
	s.dim[rank] = idx(l, size);
	s = space_new(l, rank + 1, s.dim);
	memcpy(index, s.at, sizeof index);
	place = add(muli(s.at[axis], step), s.at[rank]);
	index[axis] = place;
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

/* y[i.., m] = weight[indices[i..], m] */
static int embedding_lower(struct lower *l)
{
	struct value weight = lower_input(l, 0), which = lower_input(l, 1);
	struct space s = space_of(l, which);
	expr row;

	if (value_rank(weight) != 2 || s.rank == IR_MAX_RANK)
		return lower_fail(l, ERR_MODEL, "the weights have %d axes; they must have two.", value_rank(weight));
	row = wrap_index(at(which, &s), value_dim(weight, 0));
	space_push(l, &s, value_dim(weight, 1));
	lower_output(l, 0, lower_map(l, NULL, value_type(weight), &s, load_list(weight, 2, row, s.at[s.rank - 1])));
	return 0;
}

/* If the last size - 1 tokens of a row occur earlier in it, the token that followed them gets -inf. */
static int ngram_lower(struct lower *l)
{
	struct value ids = lower_input(l, 0), scores = lower_input(l, 1);
	int64_t size = lower_int(l, "ngram_size");
	struct space out = space_of(l, scores), s = { 0 };
	expr row, place, length, same = NULL, token;

	if (value_rank(ids) != 2 || value_rank(scores) != 2 || size < 1 || size > 64)
		return lower_fail(l, ERR_MODEL, "both inputs must have two axes, and ngram_size be 1 to 64.");
	length = value_dim(ids, 1);
	row = space_push(l, &s, value_dim(ids, 0));
	place = space_push(l, &s, max_(addi(length, 1 - size), idx(l, 0)));
	for (int64_t k = 0; k + 1 < size; k++) {
		expr a = load_list(ids, 2, row, addi(place, k));
		expr b = load_list(ids, 2, row, max_(addi(length, k + 1 - size), idx(l, 0)));

		same = same ? and_(same, eq(a, b)) : eq(a, b);
	}
	token = cast(load_list(ids, 2, row, addi(place, size - 1)), TYPE_INDEX);
	lower_output(l, 0,
	             lower_scatter(l, NULL, value_type(scores), &out, at(scores, &out), &s, IR_NONE,
	                           (expr[]){ row, token }, num(l, value_type(scores), -(double)INFINITY), same));
	return 0;
}

/* clang-format off */
#define MICROSOFT .domain = "com.microsoft", .since = { 1 }, .outputs = { OUT("y") }

const struct op_def ops_contrib_movement[] = {
	{ .name = "SampleOp", MICROSOFT, .formula = "y = x", .inputs = { IN("x", TS_DATA) }, .lower = sample_lower,
	  .cases = { "x:f32[N,33]" } },
	{ .name = "ExpandDims", MICROSOFT, .formula = "y = x with one more axis, of extent 1",
	  .inputs = { IN("x", TS_DATA), IN("axis", TS(I32)) }, .lower = expand_dims_lower,
	  .cases = { "x:f32[N,33] axis:i32[]={1}", "x:i8[N] axis:i32[1]={-1}" } },
	{ .name = "UnfoldTensor", MICROSOFT, .formula = "y = all windows of x along one axis, each along a new last "
							"axis",
	  .inputs = { IN("x", TS_DATA) },
	  .attrs = { ATTR_INT("dim", -1, "the axis"), ATTR_INT_REQUIRED("size", "of a window"),
		     ATTR_INT("step", 1, "from window to window") },
	  .lower = unfold_lower, .cases = { "x:f32[N,33] size=5 step=3", "x:i16[N,9,4] dim=1 size=2" } },
	{ .name = "TorchEmbedding", MICROSOFT, .formula = "y[i.., m] = weight[indices[i..], m]",
	  .inputs = { IN("weight", TS_DATA), IN("indices", TS(I64)), OPT("padding_idx", TS(I64)),
		      OPT("scale_grad_by_freq", TS(BOOL)) },
	  .lower = embedding_lower, .cases = { "weight:f16[100,64] indices:i64[N,7]" } },
	{ .name = "NGramRepeatBlock", MICROSOFT,
	  .formula = "y = scores, -inf where the token would repeat an n-gram of the row",
	  .inputs = { IN("input_ids", TS(I64) | TS(I32)), IN("scores", TS_FLOAT) },
	  .attrs = { ATTR_INT_REQUIRED("ngram_size", "tokens of an n-gram") },
	  .lower = ngram_lower,
	  .cases = { "input_ids:i64[N,20] scores:f32[N,30] ngram_size=3",
		     "input_ids:i64[N,S] scores:f32[N,30] ngram_size=1" } },
	{ .name = NULL },
};
/* clang-format on */
