/* Greedy non-maximum suppression: pick each row's best candidate, remove the candidates that it overlaps too much, and
 * repeat. Shared by ONNX's NonMaxSuppression and the plugins. */
#ifndef TPAT_OPS_NMS_H
#define TPAT_OPS_NMS_H

#include "ops/lower/lower.h"

struct nms {
	int rank;               /* number of row axes; rows are independent of each other */
	expr row[2];            /* their extents */
	expr candidates, turns; /* of each row; the most picks */
	/* The score of candidate k of a row; -infinity: never picked. */
	expr (*score)(struct lower *l, const struct nms *n, const expr *row, expr k);
	/* The condition that candidate a, once picked, removes b. `common` is the sum of part() over 0..parts-1, a
	 * stage of its own; null without part(). */
	expr (*over)(struct lower *l, const struct nms *n, const expr *row, expr a, expr b, expr common);
	expr (*part)(struct lower *l, const struct nms *n, const expr *row, expr a, expr b, expr i);
	int parts;
	const void *user;
};

/* [turns, row..] i32: the picked candidates of each row, best first; -1 after the last one. */
struct value nms_pick(struct lower *l, const struct nms *n);

/* [chosen, 3] i64: (image, class, candidate) of all picks in rows [image, class]; `chosen` is a size known only at run
 * time. `limit`: the most picks of a row that count, or null. */
struct value nms_rows(struct lower *l, const struct nms *n, struct value picks, expr limit);

/* [image, most] i32: the best picks of each image over rows [image, class], as class * turns + turn; -1 after the last
 * one. Rows [image] are in order already. */
struct value nms_merge(struct lower *l, const struct nms *n, struct value picks, expr most);
/* The candidate of an entry of nms_merge() other than -1; *class is its row's class. */
expr nms_merged(struct lower *l, const struct nms *n, struct value picks, expr image, expr entry, expr *class);

/* [row.., most] i32 (or i64): the positions of the `most` best of `count` scores, best first. */
struct value nms_best(struct lower *l, const struct nms *n, expr count, expr most);

/* The overlap of two boxes, each (y1, x1, y2, x2) in order: intersection / union, zero if disjoint. `more` is added to
 * each side: 1 for coordinates of elements. */
expr nms_overlap(const expr *a, const expr *b, double more);
/* Puts corners in order: swaps 0 and 2, and 1 and 3, where the first is larger. */
void nms_order(expr *box);

#endif
