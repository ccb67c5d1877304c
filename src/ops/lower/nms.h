/* Greedy non-maximum suppression: visit each row's candidates, best first, and pick those that no candidate picked
 * before overlaps too much. Shared by ONNX's NonMaxSuppression and the plugins. */
#ifndef TPAT_OPS_NMS_H
#define TPAT_OPS_NMS_H

#include "ops/lower/lower.h"

enum { NMS_MOST_NUMBERS = 12 };

struct nms {
	int rank;               /* number of row axes; rows are independent of each other */
	expr row[2];            /* their extents */
	expr candidates, turns; /* of each row; the most picks */
	bool sorted;            /* candidates come best first */
	int numbers;            /* of a box, at most NMS_MOST_NUMBERS */
	/* The score of candidate k of a row; -infinity: never picked. */
	expr (*score)(struct lower *l, const struct nms *n, const expr *row, expr k);
	/* Number i of candidate k's box. */
	expr (*number)(struct lower *l, const struct nms *n, const expr *row, expr k, expr i);
	/* The condition that box a, once picked, removes b. */
	expr (*over)(struct lower *l, const struct nms *n, const expr *a, const expr *b);
	const void *user;
};

/* The picks of all rows. */
struct nms_picks {
	struct value place; /* [row.., turns] i32: places in the order of the row, best first; -1 after the last one */
	struct value order; /* [row.., candidates] i32: candidates, best first; not given: they are sorted */
};
struct nms_picks nms_pick(struct lower *l, const struct nms *n);

/* [chosen, 3] i64: (image, class, candidate) of all picks in rows [image, class]; `chosen` is a size known only at run
 * time. `limit`: the most picks of a row that count, or null. */
struct value nms_rows(struct lower *l, const struct nms *n, const struct nms_picks *picks, expr limit);

/* [image, most] i32: the best picks of each image over rows [image, class], as class * turns + turn; -1 after the last
 * one. Rows [image] are in order already. */
struct value nms_merge(struct lower *l, const struct nms *n, const struct nms_picks *picks, expr most);
/* The candidate of an entry of nms_merge() other than -1; *class is its row's class. */
expr nms_merged(struct lower *l, const struct nms *n, const struct nms_picks *picks, expr image, expr entry,
                expr *class);

/* [row.., most] i32 (or i64): the positions of the `most` best of `count` scores, best first. */
struct value nms_best(struct lower *l, const struct nms *n, expr count, expr most);

/* The overlap of two boxes, each (y1, x1, y2, x2) in order: intersection / union, zero if disjoint. `more` is added to
 * each side: 1 for coordinates of elements. */
expr nms_overlap(const expr *a, const expr *b, double more);
/* Number i of a box whose corners are put in order; `first` and `second` are its numbers i mod 2 and i mod 2 + 2. */
expr nms_ordered(expr i, expr first, expr second);

#endif
