/* RoiAlign as plugins. ROIAlign_TRT is ONNX's with numbered modes. The first column of MMCVRoiAlign's regions is the
 * image's index; in its mode max a sample is interpolated between the four elements around it.
 * Sources: the READMEs of TensorRT's roiAlignPlugin and of mmdeploy's TensorRT operators. */
#include "ops/lower/roi.h"

#include <string.h>

/* Modes are numbers. */
static int numbered_lower(struct lower *l)
{
	struct roi o = roi_of_node(l, lower_int(l, "coordinate_transformation_mode") != 0);

	TRY(roi_check(l, &o, 4));
	lower_output(l, 0, lower_int(l, "mode") ? roi_mean(l, NULL, &o) : roi_largest(l, NULL, &o, true));
	return 0;
}

static int mmcv_lower(struct lower *l)
{
	struct roi o = roi_of_node(l, lower_int(l, "aligned") != 0);

	o.column = 1;
	TRY(roi_check(l, &o, 5));
	lower_output(l, 0,
	             !strcmp(lower_word(l, "mode"), "max") ? roi_largest(l, NULL, &o, false) : roi_mean(l, NULL, &o));
	return 0;
}

/* clang-format off */
const struct op_def ops_plugin_roi_align[] = {
	{ .name = "ROIAlign_TRT", .domain = OP_ANY_DOMAIN, .since = { 1 },
	  .formula = "y = mean or maximum of samples in each bin of a region", .outputs = { OUT("y") },
	  .inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT), IN("batch_indices", TS_INDICES) },
	  .attrs = { ATTR_INT("mode", 1, "what becomes of a bin's samples; 0: the maximum, 1: the mean"), ROI_ATTRS,
		     ATTR_INT("coordinate_transformation_mode", 1, "1: coordinates are shifted by -1/2") },
	  .lower = numbered_lower,
	  .cases = { "x:f32[N,16,H,W] rois:f32[R,4] batch_indices:i32[R] output_height=7 output_width=7 "
		     "sampling_ratio=2",
		     "x:f16[2,4,9,12] rois:f16[R,4] batch_indices:i32[R] output_height=3 output_width=2 mode=0 "
		     "coordinate_transformation_mode=0" } },
	{ .name = "MMCVRoiAlign", .domain = OP_ANY_DOMAIN, .since = { 1 },
	  .formula = "y = mean or maximum of samples in each bin of a region", .outputs = { OUT("y") },
	  .inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT) },
	  .attrs = { ATTR_WORD("mode", "avg|max", "what becomes of a bin's samples"), ROI_ATTRS,
		     ATTR_INT("aligned", 1, "1: coordinates are shifted by -1/2") },
	  .lower = mmcv_lower,
	  .cases = { "x:f32[N,16,H,W] rois:f32[R,5] output_height=7 output_width=7 spatial_scale=0.25",
		     "x:f16[2,4,9,12] rois:f16[R,5] output_height=3 output_width=2 mode=max sampling_ratio=2 "
		     "aligned=0" } },
	{ .name = NULL },
};
/* clang-format on */
