/* Small reductions of ONNX Runtime.
 *   IsAllFinite        y = true if all elements of all inputs are finite; isnan_only: none is NaN; isinf_only: none is
 *     infinite
 *   ReduceSumInteger   y = sum of x, in 32 bits
 *   QLinearReduceMean  y = quantised mean of (data - data_zero_point) * data_scale
 *   BiasSoftmax        y = softmax of data + bias over the axes from `axis` on; the bias broadcasts extents of 1
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/quantize.h"
#include "ops/lower/reduction.h"

static int all_finite_lower(struct lower *l)
{
	bool nan_only = lower_int(l, "isnan_only") != 0, inf_only = lower_int(l, "isinf_only") != 0;
	struct space scalar = { 0 };
	expr all = NULL, e, nan, inf;

	if (nan_only && inf_only)
		return lower_fail(l, ERR_MODEL, "isnan_only and isinf_only exclude each other.");
	for (int i = 0; i < l->inputs; i++) {
		struct value x = lower_input(l, i), one;
		struct space s = space_of(l, x);

		e = wide(at(x, &s));
		nan = unary(IR_ISNAN, e);
		inf = unary(IR_ISINF, e);
		e = not_(nan_only ? nan : inf_only ? inf : or_(nan, inf));
		one = lower_reduce(l, "finite", TYPE_BOOL, &s, 0, IR_ALL, e, NULL);
		all = all ? and_(all, at_first(one)) : at_first(one);
	}
	lower_output(l, 0, lower_map(l, NULL, TYPE_BOOL, &scalar, all));
	return 0;
}

/* The space over the axes of attribute `axes`, or all. */
static int reduce_axes(struct lower *l, struct value x, struct reduction *r)
{
	struct ints axes = lower_ints(l, "axes");
	bool reduced[IR_MAX_RANK] = { false };
	int axis;

	for (int i = 0; i < value_rank(x); i++)
		reduced[i] = !axes.n;
	for (int i = 0; i < axes.n; i++) {
		TRY(lower_axis(l, axes.at[i], value_rank(x), false, &axis));
		reduced[axis] = true;
	}
	*r = reduce_space(l, x, reduced, lower_int(l, "keepdims") != 0);
	return 0;
}

static int sum_integer_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct reduction r;
	enum type t = value_type(x) == TYPE_U8 ? TYPE_U32 : TYPE_I32;

	TRY(reduce_axes(l, x, &r));
	lower_output(l, 0, lower_reduce(l, NULL, t, &r.s, r.rank, IR_SUM, cast(load(x, r.index), TYPE_I32), NULL));
	return 0;
}

static int qlinear_mean_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), scale = lower_input(l, 1), zero = lower_input(l, 2),
	             to_scale = lower_input(l, 3), to_zero = lower_input(l, 4);
	struct reduction r;
	expr e, y;

	for (int i = 1; i < 5; i++)
		if (lower_input(l, i).given && !ir_is_int(value_count(lower_input(l, i)), 1))
			return lower_fail(l, ERR_MODEL, "input \"%s\" must be one number.", l->op->inputs[i].name);
	TRY(reduce_axes(l, x, &r));
	e = cast(load(x, r.index), TYPE_I32);
	if (zero.given)
		e = sub(e, cast(at_first(zero), TYPE_I32));
	y = mul(divide(cast(acc(l, TYPE_I32), TYPE_F32), cast(r.count, TYPE_F32)), at_first(scale));
	y = quantize_element(divide(y, at_first(to_scale)), to_zero.given ? at_first(to_zero) : NULL, value_type(x));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(x), &r.s, r.rank, IR_SUM, e, y));
	return 0;
}

static int bias_softmax_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), bias = lower_input(l, 1), z, top, total;
	struct space s = space_of(l, x);
	bool reduced[IR_MAX_RANK];
	struct reduction r;
	expr e;
	int axis;

	TRY(lower_axis(l, lower_int(l, "axis"), s.rank, false, &axis));
	if (value_rank(bias) > s.rank)
		return lower_fail(l, ERR_MODEL, "the bias has more axes than the data.");
	e = add(wide(at(x, &s)), wide(at(bias, &s)));
	z = lower_map(l, "biased", e->type, &s, e);
	reduce_from(reduced, s.rank, axis);
	r = reduce_space(l, z, reduced, true);
	top = lower_reduce(l, "largest", e->type, &r.s, r.rank, IR_MAXIMUM, load(z, r.index), NULL);
	e = unary(IR_EXP, sub(load(z, r.index), load(top, r.s.at)));
	total = lower_reduce(l, "total", e->type, &r.s, r.rank, IR_SUM, e, NULL);
	e = divide(unary(IR_EXP, sub(load(z, s.at), at(top, &s))), at(total, &s));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, e));
	return 0;
}

/* clang-format off */
#define AXES ATTR_INTS("axes", "the axes that are reduced; none: all"), \
	ATTR_INT("keepdims", 1, "reduced axes stay with extent 1")

const struct op_def ops_contrib_reduce[] = {
	{ .name = "IsAllFinite", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = whether all elements are finite",
	  .inputs = { MANY("input", TS_FLOAT) }, .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("isnan_only", 0, "only a NaN counts"),
		     ATTR_INT("isinf_only", 0, "only an infinity counts") },
	  .lower = all_finite_lower, .cases = { "a:f32[N,33] b:f16[N]", "a:f32[N,7] isnan_only=1" } },
	{ .name = "ReduceSumInteger", .domain = "com.microsoft", .since = { 1 }, .formula = "y = sum of x, in 32 bits",
	  .inputs = { IN("data", TS_Q8) }, .outputs = { OUT("reduced") }, .attrs = { AXES }, .lower = sum_integer_lower,
	  .cases = { "data:i8[N,33,7] axes=1", "data:u8[N,33] axes=-1 keepdims=0" } },
	{ .name = "QLinearReduceMean", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = quantised mean of (data - data_zero_point) * data_scale",
	  .inputs = { IN("data", TS_Q8), IN("data_scale", TS(F32)), OPT("data_zero_point", TS_Q8),
		      IN("reduced_scale", TS(F32)), OPT("reduced_zero_point", TS_Q8) },
	  .outputs = { OUT("reduced") }, .attrs = { AXES }, .lower = qlinear_mean_lower,
	  .cases = { "data:u8[N,C,7,7] data_scale:f32[]={0.5} data_zero_point:u8[]={128} reduced_scale:f32[]={0.25} "
		     "reduced_zero_point:u8[]={120} axes=2,3",
		     "data:i8[N,33] data_scale:f32[]={0.5} data_zero_point:i8[]={3} reduced_scale:f32[]={0.25} "
		     "reduced_zero_point:i8[]={0} axes=1 keepdims=0" } },
	{ .name = "BiasSoftmax", .domain = "com.microsoft", .since = { 1 }, .formula = "y = softmax(data + bias)",
	  .inputs = { IN("data", TS_FLOAT), IN("bias", TS_FLOAT) }, .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("axis", 1, "softmax over this axis and those after it"),
		     ATTR_INT_REQUIRED("is_inner_broadcast", "has no effect: the bias's extents say it") },
	  .lower = bias_softmax_lower,
	  .cases = { "data:f16[B,8,S,T] bias:f16[B,1,1,T] axis=3 is_inner_broadcast=1",
		     "data:f32[B,4,7,9] bias:f32[7,9] axis=2 is_inner_broadcast=0" } },
	{ .name = NULL },
};
/* clang-format on */
