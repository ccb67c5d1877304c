/* The overlap of rotated boxes. */
#ifndef TPAT_OPS_NMS_TURNED_H
#define TPAT_OPS_NMS_TURNED_H

#include "ops/lower/nms.h"

/* Rotated boxes, [box.., (centre x, y, width, height, angle)], and [box.., 8]: their corners, relative to the centres.
 */
struct nms_turned {
	struct value boxes, corners;
};
/* The numbers of a box that its overlap depends on: centre x, y, width, height, and the corners. */
enum { NMS_TURNED_NUMBERS = 12 };
struct nms_turned nms_turned_new(struct lower *l, struct value boxes);
/* Number i of a box; its index has all axes of the boxes but the last. */
expr nms_turned_number(struct lower *l, const struct nms_turned *t, const expr *box, expr i);
/* The overlap of two boxes of NMS_TURNED_NUMBERS numbers: intersection / union. */
expr nms_turned_overlap(struct lower *l, const expr *a, const expr *b);

#endif
