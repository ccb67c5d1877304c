/* Regions of images: samples on a grid in each bin, interpolated between the four elements around them, and their mean
 * or maximum. Shared by RoiAlign and the plugins like it. */
#ifndef TPAT_OPS_ROI_H
#define TPAT_OPS_ROI_H

#include "ops/lower/lower.h"

/* One axis of a region, in the compute type. Sample i of bin p lies at start + p bin + (i + 1/2) bin / grid. */
struct roi_axis {
	expr start, bin, grid; /* grid: an index, possibly below 1 */
	expr extent, bins;
	bool adaptive; /* the grid depends on data */
};

struct roi {
	struct value x;     /* the images: [n, c, h, w] */
	struct value rois;  /* one region a row */
	struct value batch; /* each region's image index; not given: the first column of rois */
	int column;         /* the column of rois with x1; y1, x2, y2 follow */
	double scale;       /* from the regions' coordinates to the image's elements */
	double shift;       /* then subtracted */
	double least;       /* the least extent of a region; negative: none */
	int64_t bins[2];    /* along y and x */
	int64_t ratio;      /* samples along each axis of a bin; 0: as many as it has elements */
	/* null: as the fields above say. Else axis() gives region r's y axis if `vertical`, else its x axis; where()
	 * gives the condition that the region lies in x at all. */
	struct roi_axis (*axis)(struct lower *l, const struct roi *o, expr r, bool vertical);
	expr (*where)(struct lower *l, const struct roi *o, expr r);
	const void *user;
};

/* A region description from inputs 0 to 2 (x, rois, batch) and the attributes ROI_ATTRS. `shifted`: coordinates move
 * by -1/2; without it, as in the first versions, a region is at least one element wide. */
struct roi roi_of_node(struct lower *l, bool shifted);
#define ROI_ATTRS \
	ATTR_FLOAT("spatial_scale", 1, "from the regions' coordinates to the input's elements"), \
	        ATTR_INT("output_height", 1, "bins along y"), ATTR_INT("output_width", 1, "bins along x"), \
	        ATTR_INT("sampling_ratio", 0, "samples along each axis of a bin; 0: as many as it has elements")
/* The axis from its start and size, and from o's bins, ratio and image. */
struct roi_axis roi_axis_new(struct lower *l, const struct roi *o, bool vertical, expr start, expr size);
/* Column `i` of region r in the compute type. */
expr roi_column(struct lower *l, const struct roi *o, expr r, int i);
/* The index of region r's image, clamped to a valid one. */
expr roi_image(struct lower *l, const struct roi *o, expr r);
/* Fails unless x has four axes, rois has `columns` columns, batch has one axis, and there is at least one bin. */
int roi_check(struct lower *l, const struct roi *o, int columns);

/* [r, c, y, x]: the mean of each bin's samples. */
struct value roi_mean(struct lower *l, const char *name, const struct roi *o);
/* [r, c, y, x]: the largest sample of each bin; with `corners` a sample is the largest of its four weighted elements,
 * as in ONNX. */
struct value roi_largest(struct lower *l, const char *name, const struct roi *o, bool corners);

#endif
