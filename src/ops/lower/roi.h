/* Regions of images: samples on a grid in each bin, interpolated between the four elements around them; their mean or
 * their maximum. What RoiAlign and the plugins that are like it have in common. */
#ifndef TPAT_OPS_ROI_H
#define TPAT_OPS_ROI_H

#include "ops/lower/lower.h"

/* One axis of a region, in the type of the arithmetic. Sample i of bin p lies at start + p bin + (i + 1/2) bin /
 * grid. */
struct roi_axis {
	expr start, bin, grid; /* grid: an index, possibly below 1 */
	expr extent, bins;
	bool adaptive; /* the grid follows from data */
};

struct roi {
	struct value x;     /* the images: [n, c, h, w] */
	struct value rois;  /* a row each */
	struct value batch; /* each region's image; not given: the first column of rois */
	int column;         /* of rois: x1, then y1, x2, y2 */
	double scale;       /* from the regions' coordinates to the image's elements */
	double shift;       /* taken off them then */
	double least;       /* the least extent of a region; negative: none */
	int64_t bins[2];    /* along y and x */
	int64_t ratio;      /* samples along each axis of a bin; 0: as many as it has elements */
	/* null: as the fields above say; else the axis of region r, y's when `vertical`, and whether x is its image at
	 * all */
	struct roi_axis (*axis)(struct lower *l, const struct roi *o, expr r, bool vertical);
	expr (*where)(struct lower *l, const struct roi *o, expr r);
	const void *user;
};

/* From inputs 0 to 2 (x, rois, batch) and the attributes ROI_ATTRS. `shifted`: coordinates are moved by -1/2; without
 * that, as the first versions had it, a region is at least one element wide. */
struct roi roi_of_node(struct lower *l, bool shifted);
#define ROI_ATTRS \
	ATTR_FLOAT("spatial_scale", 1, "from the regions' coordinates to the input's elements"), \
	        ATTR_INT("output_height", 1, "bins along y"), ATTR_INT("output_width", 1, "bins along x"), \
	        ATTR_INT("sampling_ratio", 0, "samples along each axis of a bin; 0: as many as it has elements")
/* The axis from its start and size; o's bins, ratio and image do the rest. */
struct roi_axis roi_axis_new(struct lower *l, const struct roi *o, bool vertical, expr start, expr size);
/* Column `i` of region r in the type of the arithmetic. */
expr roi_column(struct lower *l, const struct roi *o, expr r, int i);
/* The number of region r's image, held inside. */
expr roi_image(struct lower *l, const struct roi *o, expr r);
/* Four axes of x, `columns` columns of rois, one axis of batch; positive bins. */
int roi_check(struct lower *l, const struct roi *o, int columns);

/* [r, c, y, x]: the mean of each bin's samples. Adaptive: along y first, then along x. */
struct value roi_mean(struct lower *l, const char *name, const struct roi *o);
/* The largest sample of each bin; with `corners` a sample is the largest of its four weighted elements, as ONNX has
 * it. */
struct value roi_largest(struct lower *l, const char *name, const struct roi *o, bool corners);

#endif
