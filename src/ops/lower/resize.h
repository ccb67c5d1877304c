/* The parameters of Resize and Upsample, axis by axis; and the input coordinate of an output index. */
#ifndef TPAT_OPS_RESIZE_H
#define TPAT_OPS_RESIZE_H

#include "ops/lower/lower.h"

struct resize_axis {
	expr in, out;        /* extents */
	expr p, q;           /* scale = p / q, whole numbers */
	expr p_read, q_read; /* p and q as the coordinates use them: loads if p and q are long; set by resize_sample()
	                      */
	bool same;           /* the axis is not resized; set by resize_sample() */
	expr start, end;     /* tf_crop_and_resize: the part of the input, f32, 0 to 1 */
};

struct resize {
	struct value x;
	const char *mode, *coordinate; /* as the attributes have them */
	const char *nearest;           /* nearest_mode; null before opset 11: floor, or ceil if the axis shrinks */
	double cubic_a;
	bool exclude_outside, antialias;
	struct resize_axis axis[IR_MAX_RANK];
};

/* Makes the node's output (resize_sample.c). */
int resize_sample(struct lower *l, struct resize *r);

/* A coordinate: exactly num / den if scales and extents decide it, else x in f32. Exact ones give the same index on
 * every machine, and integer arithmetic that simplifies (nearest, scale 2: i / 2). */
struct coordinate {
	expr num, den;
	expr x;
};

/* The coordinate of output index i; `mode` is Resize's coordinate_transformation_mode. */
struct coordinate resize_coordinate(const struct resize_axis *axis, const char *mode, expr i);

expr coordinate_floor(const struct coordinate *c);                 /* the floor, as an index */
expr coordinate_fraction(const struct coordinate *c, enum type t); /* c - floor, of float type t */
expr coordinate_nearest(const struct coordinate *c, const char *nearest_mode);
expr coordinate_distance(const struct coordinate *c, expr index, enum type t); /* index - c */
expr coordinate_outside(const struct coordinate *c, expr extent); /* c < 0 or c > extent - 1, of an f32 coordinate */

/* Sets p / q to the simplest fraction that rounds to the f32 `scale`; false if there is none of moderate size. */
bool scale_fraction(double scale, int64_t *p, int64_t *q);

#endif
