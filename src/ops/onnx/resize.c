/* Resize, Upsample: y[i...] is interpolated between the elements of x around the coordinate of i along each axis.
 *   nearest: the element there; linear, cubic: the sum of 2 or 4 elements an axis, times their weights
 *   antialias, where an axis shrinks: the kernel is stretched by 1 / scale, and its weights divided by their sum
 * Indices beyond the edge mean the edge, or nothing with exclude_outside. This file reads the node; the
 * coordinates are in resize_coordinate.c, the sums in resize_sample.c. Source: ONNX, operators Resize (opset 10 to 19),
 * Upsample (1, 7, 9). Before opset 11 coordinates are asymmetric and nearest is floor (ceil if the axis shrinks, as
 * in ONNX's test data of opset 10 and in ONNX Runtime). */
#include "ops/lower/resize.h"

#include <string.h>

/* ---- Reading the node -------------------------------------------------------------------------------------------- */

static int unknown_scales(struct lower *l)
{
	lower_fail(l, ERR_UNSUPPORTED, "the scales are not known at build time.");
	return err_advise(l->err,
	                  "Make them a constant of the model, or give sizes, which may follow from input shapes.");
}

/* The scale of one axis and the extent that it gives: floor(in * scale), in f32 as ONNX's shape inference computes
 * it. */
static int set_scale(struct lower *l, struct resize_axis *axis, double scale)
{
	int64_t p, q, in;

	if (!scale_fraction(scale, &p, &q))
		return lower_fail(l, ERR_MODEL, "a scale is %g; it must be a positive fraction of moderate size.",
		                  scale);
	axis->p = idx(l, p);
	axis->q = idx(l, q);
	if (!ir_const_int(axis->in, &in)) {
		axis->out = floordiv(mul(axis->in, axis->p), axis->q);
		return 0;
	}
	if (in > INT32_MAX)
		return lower_fail(l, ERR_UNSUPPORTED, "an extent of %lld is too large to be resized.", (long long)in);
	axis->out = idx(l, (int64_t)((float)in * (float)scale));
	return 0;
}

static int set_scales(struct lower *l, struct resize *r, const struct ints *axes, int n, const double *scale)
{
	if (n != axes->n)
		return lower_fail(l, ERR_MODEL, "there are %d scales for %d axes.", n, axes->n);
	for (int k = 0; k < n; k++)
		TRY(set_scale(l, &r->axis[axes->at[k]], scale[k]));
	return 0;
}

/* Reduces p / q if one divides the other: 2 W / W is 2. */
static void cancel(struct lower *l, expr *p, expr *q)
{
	expr quotient, rest;

	ir_split(*p, *q, &quotient, &rest);
	if (quotient && ir_is_int(rest, 0)) {
		*p = quotient;
		*q = idx(l, 1);
		return;
	}
	ir_split(*q, *p, &quotient, &rest);
	if (quotient && ir_is_int(rest, 0)) {
		*p = idx(l, 1);
		*q = quotient;
	}
}

/* Sizes, or with a policy the one scale that keeps the ratio and fits all of them. */
static int set_sizes(struct lower *l, struct resize *r, const struct ints *axes, const struct exprs *size)
{
	const char *policy = lower_word(l, "keep_aspect_ratio_policy");
	bool least = !strcmp(policy, "not_larger");
	expr p = size->at[0], q;

	if (size->n != axes->n)
		return lower_fail(l, ERR_MODEL, "there are %d sizes for %d axes.", size->n, axes->n);
	for (int k = 0; k < size->n; k++) {
		struct resize_axis *axis = &r->axis[axes->at[k]];

		axis->out = axis->p = size->at[k];
		axis->q = axis->in;
	}
	if (!strcmp(policy, "stretch") || !size->n) {
		for (int k = 0; k < size->n; k++)
			cancel(l, &r->axis[axes->at[k]].p, &r->axis[axes->at[k]].q);
		return 0;
	}
	q = r->axis[axes->at[0]].in;
	for (int k = 1; k < size->n; k++) {
		expr in = r->axis[axes->at[k]].in, a = mul(size->at[k], q), b = mul(p, in),
		     better = least ? lt(a, b) : lt(b, a);

		p = select_(better, size->at[k], p);
		q = select_(better, in, q);
	}
	for (int k = 0; k < size->n; k++) {
		struct resize_axis *axis = &r->axis[axes->at[k]];

		axis->p = p;
		axis->q = q;
		axis->out = floordiv(add(muli(mul(axis->in, p), 2), q), muli(q, 2)); /* rounded, half up */
	}
	return 0;
}

/* The part of the input that tf_crop_and_resize takes: starts of all axes, then ends. */
static int set_region(struct lower *l, struct resize *r, const struct ints *axes)
{
	struct value roi = lower_input(l, 1);
	const struct tensor *known = lower_constant(l, 1);

	if (!roi.given || value_rank(roi) != 1 || !ir_is_int(value_count(roi), 2 * axes->n))
		return lower_fail(l, ERR_MODEL, "tf_crop_and_resize needs a roi of %d elements.", 2 * axes->n);
	for (int k = 0; k < axes->n; k++) {
		struct resize_axis *axis = &r->axis[axes->at[k]];

		for (int end = 0; end < 2; end++) {
			int at = k + end * axes->n;
			expr x = known ? num(l, TYPE_F32, tensor_float(known, at))
			               : cast(load_list(roi, 1, idx(l, at)), TYPE_F32);

			*(end ? &axis->end : &axis->start) = x;
		}
	}
	return 0;
}

static void start_axes(struct lower *l, struct resize *r)
{
	for (int i = 0; i < value_rank(r->x); i++) {
		struct resize_axis *axis = &r->axis[i];

		axis->in = axis->out = value_dim(r->x, i);
		axis->p = axis->q = idx(l, 1);
	}
}

/* The f32 elements of input `i` as doubles; -1 when it is not constant, 0 when it is absent or empty. */
static int read_floats(struct lower *l, int i, double *at)
{
	struct value v = lower_input(l, i);
	const struct tensor *t = lower_constant(l, i);
	int64_t n = 0;

	if (!v.given || ir_is_int(value_count(v), 0))
		return 0;
	if (!t || (n = tensor_count(t)) > IR_MAX_RANK)
		return -1;
	for (int k = 0; k < n; k++)
		at[k] = tensor_float(t, k);
	return (int)n;
}

static int read_axes(struct lower *l, int rank, struct ints *axes)
{
	*axes = lower_ints(l, "axes");
	if (!lower_has(l, "axes"))
		for (axes->n = 0; axes->n < rank; axes->n++)
			axes->at[axes->n] = axes->n;
	for (int k = 0; k < axes->n; k++) {
		int axis;

		TRY(lower_axis(l, axes->at[k], rank, false, &axis));
		axes->at[k] = axis;
	}
	return 0;
}

static int read_resize(struct lower *l, struct resize *r)
{
	struct ints axes;
	struct value sizes = lower_input(l, 3);
	double scale[IR_MAX_RANK];
	int n = read_floats(l, l->opset < 11 ? 1 : 2, scale);

	r->mode = lower_word(l, "mode");
	r->coordinate = l->opset < 11 ? "asymmetric" : lower_word(l, "coordinate_transformation_mode");
	r->nearest = l->opset < 11 ? NULL : lower_word(l, "nearest_mode");
	r->cubic_a = lower_float(l, "cubic_coeff_a");
	r->exclude_outside = lower_int(l, "exclude_outside");
	r->antialias = lower_int(l, "antialias") && strcmp(r->mode, "nearest");
	TRY(read_axes(l, value_rank(r->x), &axes));
	if (n < 0)
		return unknown_scales(l);
	if (n) {
		TRY(set_scales(l, r, &axes, n, scale));
	} else if (sizes.given && !ir_is_int(value_count(sizes), 0)) {
		struct exprs size;

		/* With a policy the result's extents differ from the sizes, so both are needed. */
		TRY(strcmp(lower_word(l, "keep_aspect_ratio_policy"), "stretch") ? lower_known(l, 3, &size)
		                                                                 : lower_extents(l, 3, &size));
		TRY(set_sizes(l, r, &axes, &size));
	} else {
		return lower_fail(l, ERR_MODEL, "it has neither scales nor sizes.");
	}
	return strcmp(r->coordinate, "tf_crop_and_resize") ? 0 : set_region(l, r, &axes);
}

/* ---- The operators ---------------------------------------------------------------------------------------------- */

static int lower_resize(struct lower *l)
{
	struct resize r = { .x = lower_input(l, 0) };

	start_axes(l, &r);
	TRY(read_resize(l, &r));
	return resize_sample(l, &r);
}

const struct op_def op_resize = {
	.name = "Resize",
	.since = { 10, 11, 13, 18, 19 },
	.formula = "y[i...] = x interpolated at the coordinate of i along each axis",
	.inputs = { IN("x", TS_PLAIN), OPT("roi", TS_FLOAT), OPT("scales", TS(F32)), OPT("sizes", TS(I64)) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_WORD("mode", "nearest|linear|cubic", "interpolation"),
	           ATTR_WORD("coordinate_transformation_mode",
	                     "half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|"
	                     "tf_half_pixel_for_nn|tf_crop_and_resize",
	                     "from output index to input coordinate"),
	           ATTR_WORD("nearest_mode", "round_prefer_floor|round_prefer_ceil|floor|ceil",
	                     "from coordinate to index"),
	           ATTR_FLOAT("cubic_coeff_a", -0.75, "parameter of the cubic kernel"),
	           ATTR_INT("exclude_outside", 0, "1: elements outside have no weight; 0: they are the edge"),
	           ATTR_FLOAT("extrapolation_value", 0, "tf_crop_and_resize: what lies outside the input"),
	           ATTR_INT("antialias", 0, "1: stretch the kernel where an axis shrinks"),
	           ATTR_INTS("axes", "the axes that roi, scales and sizes are about; without it all"),
	           ATTR_WORD("keep_aspect_ratio_policy", "stretch|not_larger|not_smaller", "how sizes are meant") },
	.lower = lower_resize,
	.cases = { "x:f32[N,3,H,W] scales:f32[4]={1,1,2,2} mode=nearest coordinate_transformation_mode=asymmetric "
	           "nearest_mode=floor",
	           "x:f16[2,8,7,9] sizes:i64[4]={2,8,14,13} mode=linear coordinate_transformation_mode=align_corners",
	           "x:f32[1,3,H,W] scales:f32[4]={1,1,1.5,0.6} mode=cubic",
	           "x:u8[2,40,60,3] sizes:i64[2]={13,17} axes=1,2 mode=linear antialias=1 opset=18",
	           "x:f32[N,3,H,W] sizes:i64[4]={1,3,12,8} mode=cubic keep_aspect_ratio_policy=not_larger opset=19",
	           "x:f32[2,3,H,W] sizes:i64[2]={9,20} axes=2,3 mode=linear keep_aspect_ratio_policy=not_smaller "
	           "opset=19" },
};

/* ---- Upsample ---------------------------------------------------------------------------------------------------- */

static int lower_upsample(struct lower *l)
{
	struct resize r = { .x = lower_input(l, 0), .mode = lower_word(l, "mode"), .coordinate = "asymmetric" };
	struct ints axes;
	double scale[IR_MAX_RANK] = { 1, 1, lower_float(l, "height_scale"), lower_float(l, "width_scale") };
	const double *listed;
	int n = value_rank(r.x);

	start_axes(l, &r);
	r.mode = !strcmp(r.mode, "nearest") ? "nearest" : "linear";
	for (axes.n = 0; axes.n < n; axes.n++)
		axes.at[axes.n] = axes.n;
	if (l->opset >= 9) {
		n = read_floats(l, 1, scale);
		if (n < 0)
			return unknown_scales(l);
	} else if (l->opset >= 7) {
		n = lower_floats(l, "scales", &listed);
		for (int k = 0; k < n && k < IR_MAX_RANK; k++)
			scale[k] = listed[k];
	} else if (n != 4) {
		return lower_fail(l, ERR_MODEL, "the input has rank %d; the operator takes rank 4.", n);
	}
	TRY(set_scales(l, &r, &axes, n, scale));
	return resize_sample(l, &r);
}

const struct op_def op_upsample = {
	.name = "Upsample",
	.since = { 1, 7, 9, 10 },
	.formula = "y[i...] = x interpolated at i / scale along each axis",
	.inputs = { IN("x", TS_PLAIN), OPT("scales", TS(F32)) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_WORD("mode", "nearest|linear|bilinear", "interpolation; bilinear in opset 1 only"),
	           ATTR_FLOATS("scales", "opset 7: one an axis"), ATTR_FLOAT("height_scale", 1, "opset 1: of axis 2"),
	           ATTR_FLOAT("width_scale", 1, "opset 1: of axis 3") },
	.lower = lower_upsample,
	.cases = { "x:f32[N,3,H,W] scales:f32[4]={1,1,2,2} opset=9",
	           "x:f32[1,2,3,4] scales=1,1,2,3 mode=linear opset=7" },
};
