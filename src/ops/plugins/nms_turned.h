/* The overlap of boxes that are turned around their centres. */
#ifndef TPAT_OPS_NMS_TURNED_H
#define TPAT_OPS_NMS_TURNED_H

#include "ops/lower/nms.h"

/* Boxes turned around their centres, [box.., (centre x, y, width, height, angle)], and [box.., 8]: their corners, seen
 * from the centres. */
struct nms_turned {
	struct value boxes, corners;
};
enum { NMS_TURNED_PARTS = 8 };
struct nms_turned nms_turned_new(struct lower *l, struct value boxes);
/* What boxes a and b have in common is the sum of these parts; both indices have all axes of the boxes but the last. */
expr nms_turned_part(struct lower *l, const struct nms_turned *t, const expr *a, const expr *b, expr part);
/* Their overlap: intersection / union. */
expr nms_turned_overlap(struct lower *l, const struct nms_turned *t, const expr *a, const expr *b, expr common);

#endif
