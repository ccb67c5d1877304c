/* Greedy non-maximum suppression: of each row's candidates the best is picked, those that it overlaps too much are
 * taken out, and so on. What ONNX's NonMaxSuppression and the plugins have in common. */
#ifndef TPAT_OPS_NMS_H
#define TPAT_OPS_NMS_H

#include "ops/lower/lower.h"

struct nms {
	int rank;               /* of the rows: independent of each other */
	expr row[2];            /* their extents */
	expr candidates, turns; /* of each row; how many are picked at most */
	/* The score of candidate k of a row; -infinity: it is never picked. */
	expr (*score)(struct lower *l, const struct nms *n, const expr *row, expr k);
	/* Whether candidate a, picked, takes b out. `common` is the sum of part() over 0..parts-1, a stage of its own;
	 * null where there is no part(). */
	expr (*over)(struct lower *l, const struct nms *n, const expr *row, expr a, expr b, expr common);
	expr (*part)(struct lower *l, const struct nms *n, const expr *row, expr a, expr b, expr i);
	int parts;
	const void *user;
};

/* [turns, row..] i32: each row's candidates, the best first; -1 where none is left. */
struct value nms_pick(struct lower *l, const struct nms *n);

/* [chosen, 3] i64: (image, class, candidate) of all that was picked in rows [image, class], their number a size that is
 * known at run time; `limit`: of each row only the first ones, or null. */
struct value nms_rows(struct lower *l, const struct nms *n, struct value picks, expr limit);

/* [image, most] i32: of what was picked in rows [image, class] the best of each image, as class * turns + turn; -1
 * where none is left. Rows [image] are in order already. */
struct value nms_merge(struct lower *l, const struct nms *n, struct value picks, expr most);
/* The candidate behind an entry of nms_merge(), which is none of -1, and its row's class. */
expr nms_merged(struct lower *l, const struct nms *n, struct value picks, expr image, expr entry, expr *class);

/* [row.., most] i32 (or i64): the positions of the `most` best scores among `count`, the best first. */
struct value nms_best(struct lower *l, const struct nms *n, expr count, expr most);

/* The overlap of two boxes, each y1, x1, y2, x2 in order: intersection / union; zero where they have none in common.
 * `more` is added to each side: 1 where coordinates are those of elements. */
expr nms_overlap(const expr *a, const expr *b, double more);
/* Corners in order: 0 and 2, 1 and 3 are exchanged where the first is larger. */
void nms_order(expr *box);

#endif
