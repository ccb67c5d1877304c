/* RoiAlign: a region of an image as output_height x output_width bins, each the mean (avg) or the largest (max) of
 * samples at the middles of a grid in the bin; a sample is interpolated between the four elements around it.
 *   bin = region / output, grid = sampling_ratio or ceil(bin), sample i of bin p: start + p bin + (i + 1/2) bin/grid
 * In mode max a sample is the largest of its four weighted elements. Source: ONNX, operator RoiAlign, opsets 10 to 22.
 */
#include "ops/lower/roi.h"

#include <string.h>

static int lower(struct lower *l)
{
	struct roi o = roi_of_node(l, l->opset >= 16 &&
	                                      !strcmp(lower_word(l, "coordinate_transformation_mode"), "half_pixel"));

	TRY(roi_check(l, &o, 4));
	lower_output(l, 0,
	             !strcmp(lower_word(l, "mode"), "max") ? roi_largest(l, NULL, &o, true) : roi_mean(l, NULL, &o));
	return 0;
}

/* clang-format off */
const struct op_def ops_roi_align[] = {
	{ .name = "RoiAlign", .since = { 10, 16, 22 },
	  .formula = "y = mean or maximum of samples in each bin of a region", .outputs = { OUT("y") },
	  .inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT), IN("batch_indices", TS(I64)) },
	  .attrs = { ATTR_WORD("mode", "avg|max", "what becomes of a bin's samples"), ROI_ATTRS,
		     ATTR_WORD("coordinate_transformation_mode", "half_pixel|output_half_pixel",
			       "half_pixel: coordinates are shifted by -1/2; not before opset 16") },
	  .lower = lower,
	  .cases = { "x:f32[N,16,H,W] rois:f32[R,4] batch_indices:i64[R] output_height=7 output_width=7 "
		     "sampling_ratio=2 opset=16",
		     "x:f16[1,8,14,15] rois:f16[R,4] batch_indices:i64[R] output_height=3 output_width=2 mode=max "
		     "opset=10" } },
	{ .name = NULL },
};
/* clang-format on */
