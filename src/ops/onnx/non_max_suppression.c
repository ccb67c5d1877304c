/* NonMaxSuppression: for each class of each image the boxes with the best scores, without those that overlap a better
 * one; rows (image, class, box) in this order, the best box of a class first. Boxes are y1, x1, y2, x2 in any order of
 * corners, or centre x, centre y, width, height. The number of chosen boxes is known only at run time. Source: ONNX,
 * operator NonMaxSuppression, opsets 10 and 11. */
#include "ops/lower/nms.h"

#include <float.h>
#include <math.h>

struct suppression {
	struct value boxes, scores, overlap, threshold;
	bool centre;
};

static expr score_of(struct lower *l, const struct nms *n, const expr *row, expr k)
{
	const struct suppression *s = n->user;
	expr e = load_list(s->scores, 3, row[0], row[1], k);

	(void)l;
	if (!s->threshold.given) /* all can be picked, a NaN last */
		return select_(gt(e, with(e, -FLT_MAX)), e, with(e, -FLT_MAX));
	return select_(gt(e, at_first(s->threshold)), e, with(e, -INFINITY));
}

/* y1, x1, y2, x2, the smaller first unless the size is negative. */
static expr number(struct lower *l, const struct nms *n, const expr *row, expr k, expr i)
{
	const struct suppression *s = n->user;
	expr along = mod(i, idx(l, 2)), across = sub(idx(l, 1), along), centre, half;

	if (!s->centre)
		return nms_ordered(i, load_list(s->boxes, 3, row[0], k, along),
		                   load_list(s->boxes, 3, row[0], k, addi(along, 2)));
	centre = load_list(s->boxes, 3, row[0], k, across);
	half = load_list(s->boxes, 3, row[0], k, addi(across, 2));
	half = mul(half, with(half, 0.5));
	return select_(lt(i, idx(l, 2)), sub(centre, half), add(centre, half));
}

static expr over(struct lower *l, const struct nms *n, const expr *a, const expr *b)
{
	const struct suppression *s = n->user;
	expr e = nms_overlap(a, b, 0);

	(void)l;
	return gt(e, s->overlap.given ? at_first(s->overlap) : with(e, 0));
}

/* Sets *turns to the most boxes of a class as an extent, and *limit to the same as data; null if the extent is exact.
 */
static int most_of(struct lower *l, expr boxes, expr *turns, expr *limit)
{
	struct value most = lower_input(l, 2);
	struct exprs known;
	int64_t number;

	*limit = NULL;
	*turns = idx(l, 0);
	if (!most.given)
		return 0;
	if (!most.buf->data && !most.buf->content) {
		*limit = cast(at_first(most), TYPE_INDEX);
		*turns = boxes;
		return 0;
	}
	TRY(lower_known(l, 2, &known));
	if (known.n && ir_const_int(known.at[0], &number) && number >= INT32_MAX) /* exporters' word for all */
		*turns = boxes;
	else
		*turns = known.n ? min_(max_(known.at[0], idx(l, 0)), boxes) : idx(l, 0);
	return 0;
}

static int lower(struct lower *l)
{
	struct suppression s = { lower_input(l, 0), lower_input(l, 1), lower_input(l, 3), lower_input(l, 4),
		                 lower_int(l, "center_point_box") != 0 };
	struct nms n = { .rank = 2, .numbers = 4, .score = score_of, .number = number, .over = over, .user = &s };
	struct nms_picks picks;
	int64_t four;
	expr limit;

	if (value_rank(s.boxes) != 3 || value_rank(s.scores) != 3)
		return lower_fail(l, ERR_MODEL, "boxes and scores must have three axes each.");
	if (ir_const_int(value_dim(s.boxes, 2), &four) && four != 4)
		return lower_fail(l, ERR_MODEL, "a box has %lld numbers; it must have four.", (long long)four);
	TRY(lower_equal(l, s.boxes, 0, s.scores, 0));
	TRY(lower_equal(l, s.boxes, 1, s.scores, 2));
	TRY(lower_demand_extent(l, IR_SAME, idx(l, 4), s.boxes, 2));
	n.row[0] = value_dim(s.scores, 0);
	n.row[1] = value_dim(s.scores, 1);
	n.candidates = value_dim(s.scores, 2);
	TRY(most_of(l, n.candidates, &n.turns, &limit));
	picks = nms_pick(l, &n);
	lower_output(l, 0, nms_rows(l, &n, &picks, limit));
	return 0;
}

const struct op_def op_non_max_suppression = {
	.name = "NonMaxSuppression",
	.since = { 10, 11 },
	.formula = "y = (image, class, box) of the best boxes that no better one overlaps",
	.inputs = { IN("boxes", TS(F32)), IN("scores", TS(F32)), OPT("max_output_boxes_per_class", TS(I64)),
	            OPT("iou_threshold", TS(F32)), OPT("score_threshold", TS(F32)) },
	.outputs = { OUT("selected_indices") },
	.attrs = { ATTR_INT("center_point_box", 0, "1: boxes are centre x, centre y, width, height") },
	.lower = lower,
	.cases = { "boxes:f32[N,16,4] scores:f32[N,3,16] max_output_boxes_per_class:i64[1]={4} iou_threshold:f32[1] "
	           "score_threshold:f32[1]",
	           "boxes:f32[1,K,4] scores:f32[1,1,K] max_output_boxes_per_class:i64[] iou_threshold:f32[] "
	           "center_point_box=1" },
};
