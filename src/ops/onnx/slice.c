/* Slice: y[i...] = x[start + i * step ...], along each sliced axis; the other axes are whole. Negative starts and ends
 * count from the end; values outside are clamped. Source: ONNX, operator Slice, opset 1 (attributes), 10 to 13
 * (inputs). */
#include "ops/lower/lower.h"

/* True for the positions that mean "to the end": PyTorch and others write the greatest integer. */
static bool is_far(expr e, bool positive)
{
	int64_t x;

	return ir_const_int(e, &x) && (positive ? x >= INT32_MAX : x <= -INT32_MAX);
}

/* A position that counts from the end when negative. */
static expr wrap(expr e, expr dim)
{
	expr zero = with(e, 0);

	return select_(lt(e, zero), add(e, dim), e);
}

/* Extent of the result and index of its first element, for step > 0. Starts beyond the end give no elements: the first
 * index needs no clamp there. */
static void forward(expr start, expr end, int64_t step, expr dim, expr *count, expr *first)
{
	expr zero = with(dim, 0), s = is_far(start, true) ? dim : is_far(start, false) ? zero : wrap(start, dim);
	expr e = is_far(end, true) ? dim : is_far(end, false) ? zero : min_(wrap(end, dim), dim);
	expr n = sub(e, s);

	/* end - max(s, 0), written so that x[-k:] has min(k, dim) elements. */
	*first = s;
	if (!ir_nonnegative(s)) {
		*first = ir_is_int(start, -1) ? s : max_(s, zero); /* x[-1] of nothing is never read */
		n = min_(n, e);
	}
	*count = ceildiv(max_(n, zero), with(dim, (double)step));
}

/* The greatest integers as an end mean "all" with a negative step, too, as in ONNX Runtime: no exporter writes them to
 * get nothing. */
static bool is_greatest(expr e)
{
	int64_t x;

	return ir_const_int(e, &x) && (x == INT32_MAX || x == INT64_MAX);
}

/* The same for step < 0, where -1 is the position before the first. */
static void backward(expr start, expr end, int64_t step, expr dim, expr *count, expr *first)
{
	expr zero = with(dim, 0), last = addi(dim, -1);
	expr s = is_far(start, true) ? last : min_(is_far(start, false) ? zero : max_(wrap(start, dim), zero), last);
	expr e = is_greatest(end) || is_far(end, false) ? with(dim, -1)
	                                                : min_(max_(wrap(end, dim), with(dim, -1)), last);

	*first = s;
	*count = ceildiv(max_(sub(s, e), zero), with(dim, -(double)step));
}

/* In a loop, the limits of a window that moves with the turn vary, and with them its extent. It has the same extent in
 * all turns if it ends inside x in the last one, which becomes a demand. */
static int keep_extent(struct lower *l, struct value x, int axis, expr start, expr end, int64_t step, expr *count,
                       expr *first)
{
	expr n = sub(end, start), most = lower_highest(end), dim = value_dim(x, axis);

	if (!(*count)->varies || n->varies || !most || !ir_nonnegative(start) || ir_less(dim, most))
		return 0;
	TRY(lower_demand_of(l, IR_AT_MOST, "the end of the loop's last slice", most, "the extent that it slices", dim));
	*first = start;
	*count = ceildiv(max_(n, with(n, 0)), with(n, (double)step));
	return 0;
}

struct slices {
	struct exprs start, end;
	struct ints axis, step;
};

static int from_attributes(struct lower *l, struct slices *c)
{
	struct ints start = lower_ints(l, "starts"), end = lower_ints(l, "ends");

	for (int i = 0; i < start.n; i++)
		c->start.at[c->start.n++] = idx(l, start.at[i]);
	for (int i = 0; i < end.n; i++)
		c->end.at[c->end.n++] = idx(l, end.at[i]);
	c->axis = lower_ints(l, "axes");
	return 0;
}

static int from_inputs(struct lower *l, struct slices *c)
{
	TRY(lower_known(l, 1, &c->start));
	TRY(lower_known(l, 2, &c->end));
	if (lower_input(l, 3).given)
		TRY(lower_known_ints(l, 3, &c->axis));
	if (lower_input(l, 4).given)
		TRY(lower_known_ints(l, 4, &c->step));
	return 0;
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct slices c = { 0 };
	struct space s;
	expr dim[IR_MAX_RANK], first[IR_MAX_RANK], index[IR_MAX_RANK];
	int64_t step[IR_MAX_RANK];
	int rank = value_rank(x);

	TRY(l->opset < 10 ? from_attributes(l, &c) : from_inputs(l, &c));
	if (c.end.n != c.start.n || (c.axis.n && c.axis.n != c.start.n) || (c.step.n && c.step.n != c.start.n))
		return lower_fail(l, ERR_MODEL,
		                  "starts, ends, axes and steps have %d, %d, %d and %d elements; one number is needed.",
		                  c.start.n, c.end.n, c.axis.n, c.step.n);
	for (int i = 0; i < rank; i++) {
		dim[i] = value_dim(x, i);
		first[i] = idx(l, 0);
		step[i] = 1;
	}
	for (int i = 0; i < c.start.n; i++) {
		int axis;

		TRY(lower_axis(l, c.axis.n ? c.axis.at[i] : i, rank, false, &axis));
		step[axis] = c.step.n ? c.step.at[i] : 1;
		if (step[axis] < -INT32_MAX || step[axis] > INT32_MAX) /* one element, as any step beyond the extent */
			step[axis] = step[axis] < 0 ? -INT32_MAX : INT32_MAX;
		if (!step[axis])
			return lower_fail(l, ERR_MODEL, "the step along axis %d is 0.", axis);
		if (step[axis] > 0) {
			forward(c.start.at[i], c.end.at[i], step[axis], value_dim(x, axis), &dim[axis], &first[axis]);
			TRY(keep_extent(l, x, axis, c.start.at[i], c.end.at[i], step[axis], &dim[axis], &first[axis]));
		} else
			backward(c.start.at[i], c.end.at[i], step[axis], value_dim(x, axis), &dim[axis], &first[axis]);
	}
	s = space_new(l, rank, dim);
	for (int i = 0; i < rank; i++)
		index[i] = add(first[i], muli(s.at[i], step[i]));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

const struct op_def op_slice = {
	.name = "Slice",
	.since = { 1, 10, 11, 13 },
	.formula = "y[i...] = x[start + i * step ...]",
	.inputs = { IN("data", TS_DATA), OPT("starts", TS_INDICES), OPT("ends", TS_INDICES), OPT("axes", TS_INDICES),
	            OPT("steps", TS_INDICES) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INTS("starts", "opset 1: first index along each of the axes"),
	           ATTR_INTS("ends", "opset 1: the index after the last one"),
	           ATTR_INTS("axes", "opset 1: the axes; without them the first ones") },
	.lower = lower,
	.cases = { "data:f32[N,3,H,W] starts:i64[2]={1,-4} ends:i64[2]={2147483647,-1} axes:i64[2]={2,3}",
	           "data:f16[8,10] starts:i64[1]={-1} ends:i64[1]={-100} axes:i64[1]={1} steps:i64[1]={-2}",
	           "data:f32[3,N] starts:i64[1]={-9223372036854775807} ends:i64[1]={-9223372036854775807} "
	           "axes:i64[1]={1} steps:i64[1]={-1}",
	           "data:f32[3,0] starts:i64[1]={-2147483648} ends:i64[1]={-100} axes:i64[1]={1} steps:i64[1]={-1}",
	           "data:f32[8,10] starts=1,2 ends=-1,100 opset=1" },
};
