/* EfficientNMS_TRT: the best boxes of an image over all classes, without those that a better box of their class
 * overlaps (any box: class_agnostic), at most max_output_boxes, and their number; unused places are zeros. Only the
 * 4096 best scores take part. Boxes are two corners (box_coding 0) or centre and size (1). With anchors they are
 * corrections of these: corners are added, centres are moved by multiples of the anchor's size, and sizes multiplied
 * by exponentials. Source: the README of TensorRT's efficientNMSPlugin. */
#include "ops/lower/nms.h"

#include <math.h>

enum { LOOKED_AT = 4096 };

struct efficient {
	struct value boxes, scores, anchors;
	struct value best;    /* [image, candidate]: positions in [box, class]; not given: all of them */
	struct value decoded; /* [image, candidate, 4]: corners */
	expr classes;
	double threshold, overlap;
	int64_t background;
	bool activation, agnostic, sized;
};

/* The score at [box, class] position i, before activation; -infinity below the threshold. */
static expr score_at(struct lower *l, const struct efficient *s, expr image, expr i)
{
	expr class = mod(i, s->classes), e = wide(load_list(s->scores, 3, image, floordiv(i, s->classes), class)),
	     least;
	double threshold = s->threshold;

	if (s->activation) /* the threshold is one of probabilities */
		threshold = threshold <= 0 ? -(1 << 15) : log(threshold / (1 - threshold));
	least = wide(num(l, value_type(s->scores), threshold));
	return select_(and_(ge(e, least), ne(class, idx(l, s->background))), e, with(e, -INFINITY));
}

/* The position of candidate k. */
static expr position(const struct efficient *s, expr image, expr k)
{
	return s->best.given ? cast(load_list(s->best, 2, image, k), TYPE_INDEX) : k;
}

static expr any_score(struct lower *l, const struct nms *n, const expr *row, expr k)
{
	return score_at(l, n->user, row[0], k);
}

/* The score of a candidate in row [image, class]; a candidate of another class has none. */
static expr score_of(struct lower *l, const struct nms *n, const expr *row, expr k)
{
	const struct efficient *s = n->user;
	expr i = position(s, row[0], k), e = score_at(l, s, row[0], i);

	return n->rank == 1 ? e : select_(eq(mod(i, s->classes), row[1]), e, with(e, -INFINITY));
}

static expr number(struct lower *l, const struct nms *n, const expr *row, expr k, expr i)
{
	const struct efficient *s = n->user;
	expr along = mod(i, idx(l, 2));

	return nms_ordered(i, load_list(s->decoded, 3, row[0], k, along),
	                   load_list(s->decoded, 3, row[0], k, addi(along, 2)));
}

static expr over(struct lower *l, const struct nms *n, const expr *a, const expr *b)
{
	const struct efficient *s = n->user;
	expr e = nms_overlap(a, b, 0);

	(void)l;
	return ge(e, with(e, s->overlap));
}

/* The four numbers of a box or an anchor; corners in order where `order`. */
static void read_box(struct lower *l, struct value v, expr *index, bool order, expr *box)
{
	int last = value_rank(v) - 1;

	for (int i = 0; i < 4; i++) {
		index[last] = idx(l, i);
		box[i] = wide(load(v, index));
	}
	for (int i = 0; i < 2 && order; i++) {
		expr low = box[i], high = box[2 + i];

		box[i] = min_(low, high);
		box[2 + i] = max_(low, high);
	}
}

/* [image, candidate, 4]: corners. */
static struct value decode(struct lower *l, const struct efficient *s, const struct nms *n)
{
	struct space space = { 0 };
	expr image = space_push(l, &space, n->row[0]), k = space_push(l, &space, n->candidates);
	expr column = space_push(l, &space, idx(l, 4)), i = position(s, image, k), index[4], box[4], anchor[4], e;
	bool own = value_rank(s->boxes) == 4; /* a box for each class */

	index[0] = image;
	index[1] = floordiv(i, s->classes);
	index[2] = own ? min_(mod(i, s->classes), addi(value_dim(s->boxes, 2), -1)) : NULL;
	read_box(l, s->boxes, index, s->anchors.given && !s->sized, box);
	if (s->anchors.given) {
		index[0] = min_(image, addi(value_dim(s->anchors, 0), -1));
		read_box(l, s->anchors, index, !s->sized, anchor);
		for (int c = 0; c < 4; c++)
			box[c] = !s->sized ? add(box[c], anchor[c])
			         : c < 2   ? add(mul(box[c], anchor[2 + c]), anchor[c])
			                   : mul(anchor[c], unary(IR_EXP, box[c]));
	}
	if (s->sized) {
		for (int c = 0; c < 2; c++) {
			expr half = mul(box[2 + c], with(box[c], 0.5)), centre = box[c];

			box[c] = sub(centre, half);
			box[2 + c] = add(centre, half);
		}
	}
	e = box[3];
	for (int c = 2; c >= 0; c--)
		e = select_(eq(column, idx(l, c)), box[c], e);
	return lower_map(l, "decoded", e->type, &space, e);
}

static int read(struct lower *l, struct efficient *s)
{
	int64_t classes, boxes;

	*s = (struct efficient){ .boxes = lower_input(l, 0),
		                 .scores = lower_input(l, 1),
		                 .anchors = lower_input(l, 2),
		                 .threshold = lower_float(l, "score_threshold"),
		                 .overlap = lower_float(l, "iou_threshold"),
		                 .background = lower_int(l, "background_class"),
		                 .activation = lower_int(l, "score_activation") != 0,
		                 .agnostic = lower_int(l, "class_agnostic") != 0,
		                 .sized = lower_int(l, "box_coding") != 0 };
	if (value_rank(s->boxes) < 3 || value_rank(s->boxes) > 4 || value_rank(s->scores) != 3 ||
	    (s->anchors.given && value_rank(s->anchors) != 3))
		return lower_fail(l, ERR_MODEL, "boxes must have three or four axes, scores and anchors three.");
	if (ir_const_int(value_dim(s->boxes, value_rank(s->boxes) - 1), &boxes) && boxes != 4)
		return lower_fail(l, ERR_MODEL, "a box has %lld numbers; it must have four.", (long long)boxes);
	s->classes = value_dim(s->scores, 2);
	if (value_rank(s->boxes) == 4 && ir_const_int(value_dim(s->boxes, 2), &boxes) &&
	    ir_const_int(s->classes, &classes) && boxes != 1 && boxes != classes)
		return lower_fail(l, ERR_MODEL, "there are boxes for %lld classes, and scores for %lld.",
		                  (long long)boxes, (long long)classes);
	if (lower_int(l, "max_output_boxes") < 1)
		return lower_fail(l, ERR_MODEL, "max_output_boxes must be positive.");
	TRY(lower_equal(l, s->boxes, 0, s->scores, 0));
	TRY(lower_equal(l, s->boxes, 1, s->scores, 1));
	TRY(lower_demand_extent(l, IR_SAME, idx(l, 4), s->boxes, value_rank(s->boxes) - 1));
	if (s->anchors.given) {
		TRY(lower_demand(l, IR_ONE_OR, s->anchors, 0, s->scores, 0));
		TRY(lower_equal(l, s->anchors, 1, s->scores, 1));
		TRY(lower_demand_extent(l, IR_SAME, idx(l, 4), s->anchors, 2));
	}
	return value_rank(s->boxes) == 4 ? lower_demand(l, IR_ONE_OR, s->boxes, 2, s->scores, 2) : 0;
}

/* The outputs from `kept`, [image, place]. */
static void give(struct lower *l, const struct efficient *s, const struct nms *n, const struct nms_picks *picks,
                 struct value kept)
{
	enum type t = value_type(s->boxes);
	struct space r = { 0 }, o = { 0 };
	expr image = space_push(l, &r, n->row[0]), e, i, k, class, here, place;

	space_push(l, &r, idx(l, 1));
	e = load_list(kept, 2, image, space_push(l, &r, value_dim(kept, 1)));
	e = cast(ge(e, with(e, 0)), TYPE_I32);
	lower_output(l, 0, lower_reduce(l, NULL, TYPE_I32, &r, 2, IR_SUM, e, NULL));

	image = space_push(l, &o, n->row[0]);
	place = space_push(l, &o, value_dim(kept, 1));
	e = load_list(kept, 2, image, place);
	here = ge(e, with(e, 0));
	k = nms_merged(l, n, picks, image, e, &class);
	i = position(s, image, k);
	struct space b = o;
	e = load_list(s->decoded, 3, image, k, space_push(l, &b, idx(l, 4)));
	lower_output(l, 1, lower_map(l, l->op->outputs[1].name, t, &b, narrow(select_(here, e, with(e, 0)), t)));

	t = value_type(s->scores);
	e = wide(load_list(s->scores, 3, image, floordiv(i, s->classes), mod(i, s->classes)));
	if (s->activation)
		e = divide(with(e, 1), add(with(e, 1), unary(IR_EXP, sub(with(e, 0), e))));
	lower_output(l, 2, lower_map(l, l->op->outputs[2].name, t, &o, narrow(select_(here, e, with(e, 0)), t)));
	e = cast(mod(i, s->classes), TYPE_I32);
	lower_output(l, 3, lower_map(l, l->op->outputs[3].name, TYPE_I32, &o, select_(here, e, with(e, 0))));
}

static int lower(struct lower *l)
{
	struct efficient s;
	struct nms n = { .rank = 1, .numbers = 4, .score = any_score, .number = number, .over = over, .user = &s };
	struct nms_picks picks;
	expr all, most;
	int64_t count;

	TRY(read(l, &s));
	most = idx(l, lower_int(l, "max_output_boxes"));
	n.row[0] = value_dim(s.scores, 0);
	n.row[1] = s.classes;
	all = n.candidates = mul(value_dim(s.scores, 1), s.classes);
	if (!ir_const_int(all, &count) || count > LOOKED_AT) {
		n.candidates = min_(all, idx(l, LOOKED_AT));
		s.best = nms_best(l, &n, all, n.candidates);
	}
	n.score = score_of;
	n.rank = s.agnostic || ir_is_int(s.classes, 1) ? 1 : 2;
	n.sorted = s.best.given && n.rank == 1;
	n.turns = min_(most, n.candidates);
	s.decoded = decode(l, &s, &n);
	picks = nms_pick(l, &n);
	give(l, &s, &n, &picks, nms_merge(l, &n, &picks, most));
	return 0;
}

const struct op_def op_efficient_nms = {
	.name = "EfficientNMS_TRT",
	.domain = OP_ANY_DOMAIN,
	.since = { 1 },
	.formula = "y = the best boxes of each image that no better one of their class overlaps",
	.inputs = { IN("boxes", TS_FLOAT), IN("scores", TS_FLOAT), OPT("anchors", TS_FLOAT) },
	.outputs = { OUT("num_detections"), OUT("detection_boxes"), OUT("detection_scores"), OUT("detection_classes") },
	.attrs = { ATTR_FLOAT("score_threshold", 0.5, "boxes with lower scores are left out"),
	           ATTR_FLOAT("iou_threshold", 0.5, "boxes that overlap a better one by this much are left out"),
	           ATTR_INT("max_output_boxes", 100, "places in the result"),
	           ATTR_INT("background_class", -1, "a class that is left out"),
	           ATTR_INT("score_activation", 0, "1: scores are put through a sigmoid"),
	           ATTR_INT("class_agnostic", 0, "1: boxes of other classes count as well"),
	           ATTR_INT("box_coding", 0, "0: two corners, 1: centre and size") },
	.lower = lower,
	.cases = { "boxes:f32[N,16,4] scores:f32[N,16,3] max_output_boxes=10 outputs=4 score_threshold=0.1",
	           "boxes:f16[2,K,1,4] scores:f16[2,K,2] max_output_boxes=5 class_agnostic=1 box_coding=1 outputs=4",
	           "boxes:f32[1,12,4] scores:f32[1,12,1] anchors:f32[1,12,4] max_output_boxes=20 score_activation=1 "
	           "box_coding=1 outputs=4" },
};
