/* Reshape, Squeeze, Unsqueeze, Flatten: the same elements in the same row-major order under other extents.
 *   y[j...] = x[i...]   where i... and j... have the same row-major position
 * Source: ONNX, operators Reshape (opset 1 to 25), Squeeze, Unsqueeze (1 to 25), Flatten (1 to 25). */
#include "ops/lower/lower.h"

static expr product(struct lower *l, int n, const expr *dim)
{
	expr p = idx(l, 1);

	for (int i = 0; i < n; i++)
		p = mul(p, dim[i]);
	return p;
}

/* The sizes of the least groups of leading extents of x and of y with equal products; all of them if there is none. */
static void first_group(struct lower *l, int n, const expr *xdim, int m, const expr *ydim, int *xs, int *ys)
{
	for (*xs = 1; *xs <= n; ++*xs)
		for (*ys = 1; *ys <= m; ++*ys)
			if (product(l, *xs, xdim) == product(l, *ys, ydim))
				return;
	*xs = n;
	*ys = m;
}

/* Makes the output with extents `dim` and x's elements in order. Positions are matched group by group where extents
 * have equal products, so that only real splits divide: [N,12,64] from [N,768] has no division by N. */
static int same_order(struct lower *l, struct value x, int rank, const expr *dim)
{
	struct space s = space_new(l, rank, dim);
	const expr *xdim = x.buf->dim;
	expr index[IR_MAX_RANK];
	int n = value_rank(x), m = rank, xs, ys;
	int64_t have, want;

	if (ir_const_int(value_count(x), &have) && ir_const_int(product(l, rank, dim), &want) && have != want)
		return lower_fail(l, ERR_MODEL, "the input has %lld elements, the new shape %lld.", (long long)have,
		                  (long long)want);
	for (; n > 0 && m > 0 && xdim[n - 1] == dim[m - 1]; n--, m--)
		index[n - 1] = s.at[m - 1];
	for (int i = 0, j = 0; i < n; i += xs, j += ys) {
		first_group(l, n - i, xdim + i, m - j, dim + j, &xs, &ys);
		ir_unflat(flatten(l, ys, dim + j, s.at + j), xs, xdim + i, index + i);
	}
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

/* ---- Reshape: extent 0 copies x's (unless allowzero), -1 is the remaining one. ----------------------------------- */

/* The extent -1 of a tensor without elements: the extents that are not 0 decide it, as they do for all sizes of a batch
 * that may be empty. Null: they do not. */
static expr inferred_of_empty(struct lower *l, struct value x, const struct exprs *shape)
{
	expr total = idx(l, 1), known = idx(l, 1);
	int64_t have, want;
	bool empty = false;

	for (int i = 0; i < value_rank(x); i++)
		if (ir_is_int(value_dim(x, i), 0))
			empty = true;
		else
			total = mul(total, value_dim(x, i));
	for (int i = 0; i < shape->n; i++)
		if (!ir_is_int(shape->at[i], 0) && !ir_is_int(shape->at[i], -1))
			known = mul(known, shape->at[i]);
	if (!empty || (ir_const_int(total, &have) && ir_const_int(known, &want) && have % want))
		return NULL;
	return floordiv(total, known);
}

static int lower_reshape(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct exprs shape = { 0 };
	struct ints attr = lower_ints(l, "shape");
	expr total = idx(l, 1), known = idx(l, 1);
	bool zero_copies = !lower_int(l, "allowzero"), empty = false;
	int inferred = -1;
	int64_t have, want;

	for (int i = 0; i < attr.n; i++)
		shape.at[shape.n++] = idx(l, attr.at[i]);
	if (l->opset >= 5)
		TRY(lower_known(l, 1, &shape));
	else if (!lower_has(l, "shape"))
		return lower_fail(l, ERR_MODEL, "attribute \"shape\" is missing; the operator needs it.");
	if (shape.n > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the new shape has %d axes; %d are the most.", shape.n,
		                  IR_MAX_RANK);

	/* Copied extents are in both products and left out of both: then [0, -1] is right for empty tensors too. */
	for (int i = 0; i < value_rank(x); i++)
		if (!(zero_copies && i < shape.n && ir_is_int(shape.at[i], 0)))
			total = mul(total, value_dim(x, i));
	for (int i = 0; i < shape.n; i++) {
		if (ir_is_int(shape.at[i], -1)) {
			if (inferred >= 0)
				return lower_fail(l, ERR_MODEL, "the new shape has more than one extent -1.");
			inferred = i;
		} else if (zero_copies && ir_is_int(shape.at[i], 0)) {
			if (i >= value_rank(x))
				return lower_fail(
				        l, ERR_MODEL,
				        "extent %d of the new shape is 0: it copies an axis that the input, of rank "
				        "%d, does not have.",
				        i, value_rank(x));
			shape.at[i] = value_dim(x, i);
			empty |= ir_is_int(shape.at[i], 0);
		} else {
			known = mul(known, shape.at[i]);
		}
	}
	if (inferred >= 0) {
		expr rest = ir_is_int(known, 0) ? inferred_of_empty(l, x, &shape) : floordiv(total, known);

		if (!rest)
			return lower_fail(l, ERR_MODEL,
			                  "the new shape has both an extent 0 and -1, which leaves -1 open.");
		if (!ir_is_int(known, 0) && ir_const_int(total, &have) && ir_const_int(known, &want) && have % want)
			return lower_fail(l, ERR_MODEL, "%lld elements cannot be divided into rows of %lld.",
			                  (long long)have, (long long)want);
		shape.at[inferred] = rest;
	}
	if (inferred >= 0)
		known = mul(known, shape.at[inferred]);
	if (!empty || inferred >= 0) /* else both have no elements */
		TRY(lower_demand_of(l, IR_SAME, NULL, known, "the number of elements", total));
	return same_order(l, x, shape.n, shape.at);
}

const struct op_def op_reshape = {
	.name = "Reshape",
	.since = { 1, 5, 13, 14, 19, 21, 23, 24, 25 },
	.formula = "y = x in row-major order under the extents `shape`",
	.inputs = { IN("data", TS_ALL), OPT("shape", TS(I64)) },
	.outputs = { OUT("reshaped") },
	.attrs = { ATTR_INTS("shape", "opset 1: the new extents; 0 copies, -1 is what is left"),
	           ATTR_INT("allowzero", 0, "1: an extent 0 means 0; 0: it copies the input's"),
	           ATTR_INTS("consumed_inputs", "opset 1: a note for old optimizers, without meaning") },
	.lower = lower_reshape,
	.cases = { "data:f32[N,768] shape:i64[3]={0,12,64}", "data:f16[2,3,H,W] shape:i64[2]={-1,6}",
	           "data:f32[4,6] shape=8,3 opset=1",
	           "data:f32[0,2,64] shape:i64[4]={0,2,-1,16} allowzero=1 opset=14" },
};

/* ---- Squeeze and Unsqueeze: axes of extent 1 leave and come. ----------------------------------------------------- */

/* The axes as flags over a tensor of rank `rank`. */
static int mark_axes(struct lower *l, const struct ints *axes, int rank, bool *marked)
{
	for (int i = 0; i < axes->n; i++) {
		int axis;

		TRY(lower_axis(l, axes->at[i], rank, false, &axis));
		if (marked[axis])
			return lower_fail(l, ERR_MODEL, "axis %d is named twice.", axis);
		marked[axis] = true;
	}
	return 0;
}

static int lower_squeeze(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct ints axes;
	struct space s = { 0 };
	expr index[IR_MAX_RANK];
	bool given, leaves[IR_MAX_RANK] = { false };
	int64_t extent;

	TRY(lower_ints_or_input(l, "axes", 1, &axes, &given));
	TRY(mark_axes(l, &axes, value_rank(x), leaves));
	for (int i = 0; i < value_rank(x); i++) {
		bool known = ir_const_int(value_dim(x, i), &extent);

		if (leaves[i] && known && extent != 1)
			return lower_fail(l, ERR_MODEL, "axis %d has extent %lld; only an extent of 1 can be squeezed.",
			                  i, (long long)extent);
		if (!given && !known && !l->engine_ranks) {
			lower_fail(l, ERR_UNSUPPORTED,
			           "it has no axes, and whether axis %d has extent 1 is not known at build time.", i);
			return err_advise(l->err,
			                  "Give the node axes, or the model's inputs shapes of numbers (--shape).");
		}
		leaves[i] |= !given && known && extent == 1;
		index[i] = leaves[i] ? idx(l, 0) : space_push(l, &s, value_dim(x, i));
	}
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

const struct op_def op_squeeze = {
	.name = "Squeeze",
	.since = { 1, 11, 13, 21, 23, 24, 25 },
	.formula = "y = x without the axes `axes`, whose extent is 1",
	.inputs = { IN("data", TS_ALL), OPT("axes", TS(I64)) },
	.outputs = { OUT("squeezed") },
	.attrs = { ATTR_INTS("axes", "before opset 13: the axes; without them all of extent 1. Axes of dynamic "
	                             "extent stay then, as in TensorRT") },
	.lower = lower_squeeze,
	.cases = { "data:f32[N,1,5] axes:i64[1]={1}", "data:u8[1,3,1] opset=11" },
};

static int lower_unsqueeze(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct ints axes;
	struct space s = { 0 };
	expr index[IR_MAX_RANK];
	bool given, comes[2 * IR_MAX_RANK] = { false };
	int rank, n = 0;

	TRY(lower_ints_or_input(l, "axes", 1, &axes, &given));
	if (!given)
		return lower_fail(l, ERR_MODEL, "the axes to insert are missing.");
	rank = value_rank(x) + axes.n;
	if (rank > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the result has %d axes; %d are the most.", rank, IR_MAX_RANK);
	TRY(mark_axes(l, &axes, rank, comes));
	for (int i = 0; i < rank; i++) {
		expr at = space_push(l, &s, comes[i] ? idx(l, 1) : value_dim(x, n));

		if (!comes[i])
			index[n++] = at;
	}
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

const struct op_def op_unsqueeze = {
	.name = "Unsqueeze",
	.since = { 1, 11, 13, 21, 23, 24, 25 },
	.formula = "y = x with axes of extent 1 inserted at `axes`",
	.inputs = { IN("data", TS_ALL), OPT("axes", TS(I64)) },
	.outputs = { OUT("expanded") },
	.attrs = { ATTR_INTS("axes", "before opset 13: where the new axes are in the result") },
	.lower = lower_unsqueeze,
	.cases = { "data:f32[N,5] axes:i64[2]={0,-1}", "data:bool[3] axes=1 opset=11" },
};

/* ---- Flatten: a matrix of the axes before `axis` and those from it on. ------------------------------------------- */

static int lower_flatten(struct lower *l)
{
	struct value x = lower_input(l, 0);
	int axis;
	expr dim[2];

	TRY(lower_axis(l, lower_int(l, "axis"), value_rank(x), true, &axis));
	dim[0] = product(l, axis, x.buf->dim);
	dim[1] = product(l, value_rank(x) - axis, x.buf->dim + axis);
	return same_order(l, x, 2, dim);
}

const struct op_def op_flatten = {
	.name = "Flatten",
	.since = { 1, 9, 11, 13, 21, 23, 24, 25 },
	.formula = "y = x as a matrix: extents before `axis`, extents from `axis` on",
	.inputs = { IN("input", TS_ALL) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT("axis", 1, "first axis of the columns") },
	.lower = lower_flatten,
	.cases = { "input:f32[N,3,H,W]", "input:i8[2,3,4] axis=-1" },
};
