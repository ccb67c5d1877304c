/* Rotated regions of images. */
#ifndef TPAT_OPS_ROI_ROTATED_H
#define TPAT_OPS_ROI_ROTATED_H

#include "ops/lower/roi.h"

/* A rotated region: centre, size and angle, in the image's elements. */
struct roi_box {
	expr y, x, height, width, angle;
};
/* [r, c, y, x]: the mean of each bin's samples; o's ratio is positive, and `box` gives the regions. */
struct value roi_rotated_mean(struct lower *l, const char *name, const struct roi *o,
                              struct roi_box (*box)(struct lower *l, const struct roi *o, expr r));

/* The interpolated element of x at `image`, channel c and (y, x), clamped to the image. */
expr roi_between(const struct roi *o, expr image, expr c, expr y, expr x);

#endif
