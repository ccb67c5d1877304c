/* RoiAlign: a region of an image as output_height x output_width bins, each the mean (avg) or the largest (max) of
 * samples at the middles of a grid in the bin; a sample is interpolated between the four elements around it.
 *   bin = region / output, grid = sampling_ratio or ceil(bin), sample i of bin p: start + p bin + (i + 1/2) bin/grid
 * In mode max a sample is the largest of its four weighted elements; MMCVRoiAlign's is what lies between them, and its
 * regions have the image's number in front.
 * Sources: ONNX, operator RoiAlign (opsets 10 to 22); the READMEs of TensorRT's roiAlignPlugin and of mmdeploy's
 * TensorRT operators. */
#include "ops/lower/roi.h"

#include <string.h>

/* Without the shift, as the first versions had it, a region is at least one element wide. */
static struct roi regions(struct lower *l, bool shifted)
{
	return (struct roi){ .x = lower_input(l, 0),
		             .rois = lower_input(l, 1),
		             .batch = lower_input(l, 2),
		             .scale = lower_float(l, "spatial_scale"),
		             .shift = shifted ? 0.5 : 0,
		             .least = shifted ? -1 : 1,
		             .bins = { lower_int(l, "output_height"), lower_int(l, "output_width") },
		             .ratio = lower_int(l, "sampling_ratio") };
}

static int lower(struct lower *l)
{
	struct roi o =
	        regions(l, l->opset >= 16 && !strcmp(lower_word(l, "coordinate_transformation_mode"), "half_pixel"));

	TRY(roi_check(l, &o, 4));
	lower_output(l, 0,
	             !strcmp(lower_word(l, "mode"), "max") ? roi_largest(l, NULL, &o, true) : roi_mean(l, NULL, &o));
	return 0;
}

/* Modes are numbers. */
static int numbered_lower(struct lower *l)
{
	struct roi o = regions(l, lower_int(l, "coordinate_transformation_mode") != 0);

	TRY(roi_check(l, &o, 4));
	lower_output(l, 0, lower_int(l, "mode") ? roi_mean(l, NULL, &o) : roi_largest(l, NULL, &o, true));
	return 0;
}

static int mmcv_lower(struct lower *l)
{
	struct roi o = regions(l, lower_int(l, "aligned") != 0);

	o.column = 1;
	TRY(roi_check(l, &o, 5));
	lower_output(l, 0,
	             !strcmp(lower_word(l, "mode"), "max") ? roi_largest(l, NULL, &o, false) : roi_mean(l, NULL, &o));
	return 0;
}

/* clang-format off */
#define COMMON                                                                                                         \
	ATTR_FLOAT("spatial_scale", 1, "from the regions' coordinates to the input's elements"),                       \
	ATTR_INT("output_height", 1, "bins along y"), ATTR_INT("output_width", 1, "bins along x"),                     \
	ATTR_INT("sampling_ratio", 0, "samples along each axis of a bin; 0: as many as it has elements")
#define FORMULA .formula = "y = mean or maximum of samples in each bin of a region", .outputs = { OUT("y") }

const struct op_def ops_roi_align[] = {
	{ .name = "RoiAlign", .since = { 10, 16, 22 }, FORMULA,
	  .inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT), IN("batch_indices", TS(I64)) },
	  .attrs = { ATTR_WORD("mode", "avg|max", "what becomes of a bin's samples"), COMMON,
		     ATTR_WORD("coordinate_transformation_mode", "half_pixel|output_half_pixel",
			       "half_pixel: coordinates are shifted by -1/2; not before opset 16") },
	  .lower = lower,
	  .cases = { "x:f32[N,16,H,W] rois:f32[R,4] batch_indices:i64[R] output_height=7 output_width=7 "
		     "sampling_ratio=2 opset=16",
		     "x:f16[1,8,14,15] rois:f16[R,4] batch_indices:i64[R] output_height=3 output_width=2 mode=max "
		     "opset=10" } },
	{ .name = "ROIAlign_TRT", .domain = OP_ANY_DOMAIN, .since = { 1 }, FORMULA,
	  .inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT), IN("batch_indices", TS(I32) | TS(I64)) },
	  .attrs = { ATTR_INT("mode", 1, "what becomes of a bin's samples; 0: the maximum, 1: the mean"), COMMON,
		     ATTR_INT("coordinate_transformation_mode", 1, "1: coordinates are shifted by -1/2") },
	  .lower = numbered_lower,
	  .cases = { "x:f32[N,16,H,W] rois:f32[R,4] batch_indices:i32[R] output_height=7 output_width=7 "
		     "sampling_ratio=2",
		     "x:f16[2,4,9,12] rois:f16[R,4] batch_indices:i32[R] output_height=3 output_width=2 mode=0 "
		     "coordinate_transformation_mode=0" } },
	{ .name = "MMCVRoiAlign", .domain = OP_ANY_DOMAIN, .since = { 1 }, FORMULA,
	  .inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT) },
	  .attrs = { ATTR_WORD("mode", "avg|max", "what becomes of a bin's samples"), COMMON,
		     ATTR_INT("aligned", 1, "1: coordinates are shifted by -1/2") },
	  .lower = mmcv_lower,
	  .cases = { "x:f32[N,16,H,W] rois:f32[R,5] output_height=7 output_width=7 spatial_scale=0.25",
		     "x:f16[2,4,9,12] rois:f16[R,5] output_height=3 output_width=2 mode=max sampling_ratio=2 "
		     "aligned=0" } },
	{ .name = NULL },
};
/* clang-format on */
