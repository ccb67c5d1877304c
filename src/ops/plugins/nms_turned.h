/* The overlap of rotated boxes. */
#ifndef TPAT_OPS_NMS_TURNED_H
#define TPAT_OPS_NMS_TURNED_H

#include "ops/lower/nms.h"

/* Rotated boxes, [box.., (centre x, y, width, height, angle)], and [box.., 8]: their corners, relative to the centres.
 */
struct nms_turned {
	struct value boxes, corners;
};
enum { NMS_TURNED_PARTS = 8 };
struct nms_turned nms_turned_new(struct lower *l, struct value boxes);
/* Part `part` of the intersection of boxes a and b, which is the sum of all parts. Both indices have all axes of the
 * boxes but the last. */
expr nms_turned_part(struct lower *l, const struct nms_turned *t, const expr *a, const expr *b, expr part);
/* Their overlap: intersection / union. */
expr nms_turned_overlap(struct lower *l, const struct nms_turned *t, const expr *a, const expr *b, expr common);

#endif
