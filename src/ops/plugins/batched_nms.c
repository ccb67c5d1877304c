/* BatchedNMS: for each class of an image the topK best boxes without those that overlap a better one; over all classes
 * the keepTopK best of these. Unused places have class -1 and zeros. In TensorRT's plugin, boxes that are not
 * normalised are larger by one on each side (caffeSemantics). MMDeploy's has box and score in one result. Sources: the
 * README of TensorRT's batchedNMSPlugin; mmdeploy's TensorRT operators, TRTBatchedNMS. */
#include "ops/plugins/nms_turned.h"

#include <math.h>

struct batched {
	struct value boxes, scores;
	struct value best; /* [image, class, candidate]: boxes; not given: all of them */
	double threshold, overlap, more;
	int64_t background, top, keep;
	bool clip;
	int numbers; /* numbers of a box: 4, or 5 for a rotated one */
	struct nms_turned turned;
};

static expr score_at(struct lower *l, const struct batched *s, expr image, expr class, expr box)
{
	expr index[4] = { image, box, class, idx(l, 0) }, e = wide(load(s->scores, index));

	e = select_(gt(e, with(e, s->threshold)), e, with(e, -INFINITY));
	return s->background < 0 ? e : select_(ne(class, idx(l, s->background)), e, with(e, -INFINITY));
}

static expr box_at(const struct batched *s, expr image, expr class, expr k)
{
	return s->best.given ? cast(load_list(s->best, 3, image, class, k), TYPE_INDEX) : k;
}

static expr any_score(struct lower *l, const struct nms *n, const expr *row, expr k)
{
	return score_at(l, n->user, row[0], row[1], k);
}

static expr score_of(struct lower *l, const struct nms *n, const expr *row, expr k)
{
	return score_at(l, n->user, row[0], row[1], box_at(n->user, row[0], row[1], k));
}

/* Number i of a box. */
static expr edge(struct lower *l, const struct batched *s, expr image, expr class, expr box, expr i)
{
	expr which = min_(class, addi(value_dim(s->boxes, 2), -1)); /* one for all classes, or one for each */

	(void)l;
	return wide(load_list(s->boxes, 4, image, box, which, i));
}

static expr number(struct lower *l, const struct nms *n, const expr *row, expr k, expr i)
{
	const struct batched *s = n->user;
	expr box = box_at(s, row[0], row[1], k), own = min_(row[1], addi(value_dim(s->boxes, 2), -1));

	if (s->numbers == 5)
		return nms_turned_number(l, &s->turned, (expr[]){ row[0], box, own }, i);
	return edge(l, s, row[0], row[1], box, i);
}

static expr over(struct lower *l, const struct nms *n, const expr *a, const expr *b)
{
	const struct batched *s = n->user;
	expr e = s->numbers == 5 ? nms_turned_overlap(l, a, b) : nms_overlap(a, b, s->more);

	return gt(e, with(e, s->overlap));
}

static int check(struct lower *l, const struct batched *s)
{
	int64_t numbers;

	if (value_rank(s->boxes) != 4 || value_rank(s->scores) < 3 || value_rank(s->scores) > 4)
		return lower_fail(l, ERR_MODEL, "boxes must have four axes, scores three or four.");
	if (ir_const_int(value_dim(s->boxes, 3), &numbers) && numbers != s->numbers)
		return lower_fail(l, ERR_MODEL, "a box has %lld numbers; it must have %d.", (long long)numbers,
		                  s->numbers);
	if (s->keep < 1)
		return lower_fail(l, ERR_MODEL, "%lld boxes are to be kept; the number must be positive.",
		                  (long long)s->keep);
	TRY(lower_equal(l, s->boxes, 0, s->scores, 0));
	TRY(lower_equal(l, s->boxes, 1, s->scores, 1));
	TRY(lower_demand(l, IR_ONE_OR, s->boxes, 2, s->scores, 2));
	TRY(lower_demand_extent(l, IR_SAME, idx(l, s->numbers), s->boxes, 3));
	return 0;
}

/* The kept boxes, one place each. */
struct places {
	struct space s;
	expr image, here, class, box, score;
};

static int suppress(struct lower *l, struct batched *s, struct places *p)
{
	struct nms n = { .rank = 2, .numbers = 4, .score = any_score, .number = number, .over = over, .user = s };
	expr boxes = value_dim(s->scores, 1), e, k;
	struct nms_picks picks;
	struct value kept;
	int64_t count;

	TRY(check(l, s));
	if (s->numbers == 5) {
		s->turned = nms_turned_new(l, s->boxes);
		n.numbers = NMS_TURNED_NUMBERS;
	}
	n.row[0] = value_dim(s->scores, 0);
	n.row[1] = value_dim(s->scores, 2);
	n.candidates = boxes;
	if (s->top > 0 && (!ir_const_int(boxes, &count) || count > s->top)) {
		n.candidates = min_(boxes, idx(l, s->top));
		s->best = nms_best(l, &n, boxes, n.candidates);
		n.sorted = true;
	}
	n.score = score_of;
	n.turns = min_(idx(l, s->keep), n.candidates);
	picks = nms_pick(l, &n);
	kept = nms_merge(l, &n, &picks, idx(l, s->keep));

	*p = (struct places){ .image = NULL };
	p->image = space_push(l, &p->s, n.row[0]);
	e = load_list(kept, 2, p->image, space_push(l, &p->s, idx(l, s->keep)));
	p->here = ge(e, with(e, 0));
	k = nms_merged(l, &n, &picks, p->image, e, &p->class);
	p->box = box_at(s, p->image, p->class, k);
	e = wide(load(s->scores, (expr[]){ p->image, p->box, p->class, idx(l, 0) }));
	p->score = select_(p->here, e, with(e, 0));
	return 0;
}

/* Number i of the box in a place. */
static expr edge_of(struct lower *l, const struct batched *s, const struct places *p, expr i)
{
	expr e = edge(l, s, p->image, p->class, p->box, i);

	if (s->clip)
		e = clamp(e, with(e, 0), with(e, 1));
	return select_(p->here, e, with(e, 0));
}

/* Makes output `i` of a map over the result's places. */
static void give(struct lower *l, int i, enum type t, const struct space *s, expr e)
{
	lower_output(l, i, lower_map(l, l->op->outputs[i].name, t, s, e));
}

/* `e` at places with a box, -1 elsewhere. */
static expr where_found(const struct places *p, expr e)
{
	return select_(p->here, e, with(e, -1));
}

static int lower(struct lower *l)
{
	struct batched s = { .boxes = lower_input(l, 0),
		             .scores = lower_input(l, 1),
		             .threshold = lower_float(l, "scoreThreshold"),
		             .overlap = lower_float(l, "iouThreshold"),
		             .background = lower_int(l, "backgroundLabelId"),
		             .top = lower_int(l, "topK"),
		             .keep = lower_int(l, "keepTopK"),
		             .clip = lower_int(l, "clipBoxes") != 0,
		             .numbers = 4 };
	enum type t = value_type(s.boxes);
	struct places p;
	struct space r = { 0 }, b;
	struct value class;
	expr e, image;

	s.more = !lower_int(l, "isNormalized") && lower_int(l, "caffeSemantics") ? 1 : 0;
	TRY(suppress(l, &s, &p));
	e = cast(p.class, compute_type(t));
	class = lower_map(l, l->op->outputs[3].name, t, &p.s, narrow(where_found(&p, e), t));
	lower_output(l, 3, class);
	give(l, 2, t, &p.s, narrow(p.score, t));
	b = p.s;
	e = edge_of(l, &s, &p, space_push(l, &b, idx(l, 4)));
	give(l, 1, t, &b, narrow(e, t));
	image = space_push(l, &r, value_dim(s.scores, 0));
	space_push(l, &r, idx(l, 1));
	e = load_list(class, 2, image, space_push(l, &r, idx(l, s.keep)));
	e = cast(ge(wide(e), num(l, compute_type(t), 0)), TYPE_I32);
	lower_output(l, 0, lower_reduce(l, NULL, TYPE_I32, &r, 2, IR_SUM, e, NULL));
	return 0;
}

static int mmdeploy(struct lower *l, int numbers)
{
	struct batched s = { .boxes = lower_input(l, 0),
		             .scores = lower_input(l, 1),
		             .threshold = lower_float(l, "score_threshold"),
		             .overlap = lower_float(l, "iou_threshold"),
		             .background = lower_int(l, "background_label_id"),
		             .top = lower_int(l, "topk"),
		             .keep = lower_int(l, "keep_topk"),
		             .clip = lower_int(l, "clip_boxes") != 0,
		             .numbers = numbers };
	enum type t = value_type(s.boxes);
	struct places p;
	struct space b;
	expr e, i;

	TRY(suppress(l, &s, &p));
	b = p.s;
	i = space_push(l, &b, idx(l, numbers + 1));
	e = edge_of(l, &s, &p, min_(i, idx(l, numbers - 1)));
	e = select_(eq(i, idx(l, numbers)), cast(p.score, compute_type(t)), e);
	lower_output(l, 0, lower_map(l, NULL, t, &b, narrow(e, t)));
	give(l, 1, TYPE_I32, &p.s, where_found(&p, cast(p.class, TYPE_I32)));
	if (lower_wants(l, 2))
		give(l, 2, TYPE_I32, &p.s, where_found(&p, cast(p.box, TYPE_I32)));
	return 0;
}

static int mmdeploy_lower(struct lower *l)
{
	return mmdeploy(l, 4);
}

static int rotated_lower(struct lower *l)
{
	return mmdeploy(l, 5);
}

/* clang-format off */
#define PLUGIN                                                                                                         \
	.domain = OP_ANY_DOMAIN, .since = { 1 },                                                                       \
	.formula = "y = the best boxes of all classes of each image that no better one of their class overlaps",       \
	.inputs = { IN("boxes", TS_FLOAT), IN("scores", TS_FLOAT) }
#define NVIDIA                                                                                                         \
	PLUGIN, .outputs = { OUT("num_detections"), OUT("nmsed_boxes"), OUT("nmsed_scores"), OUT("nmsed_classes") },   \
	.attrs = { ATTR_INT("shareLocation", 1, "no meaning: the boxes' third extent says it"),                        \
		   ATTR_INT("backgroundLabelId", -1, "a class that is left out"),                                      \
		   ATTR_INT("numClasses", 0, "no meaning: the scores' third extent says it"),                          \
		   ATTR_INT("topK", 0, "boxes of each class that are looked at; not positive: all"),                   \
		   ATTR_INT("keepTopK", 100, "places in the result"),                                                  \
		   ATTR_FLOAT("scoreThreshold", 0, "boxes with scores up to it are left out"),                         \
		   ATTR_FLOAT("iouThreshold", 0.5, "boxes that overlap a better one by more are left out"),            \
		   ATTR_INT("isNormalized", 1, "0: coordinates are those of elements"),                                \
		   ATTR_INT("clipBoxes", 1, "1: results are held between 0 and 1"), \
		   ATTR_INT("scoreBits", 16, "no meaning"), \
		   ATTR_INT("caffeSemantics", 1, "1: boxes that are not normalised are a unit larger") },              \
	.lower = lower
#define MMDEPLOY \
	PLUGIN, .outputs = { OUT("dets"), OUT("labels"), OPTOUT("index") }, \
	.attrs = { ATTR_INT("background_label_id", -1, "a class that is left out"), \
		   ATTR_INT("num_classes", 0, "no meaning"), \
		   ATTR_INT("topk", 0, "boxes of each class that are looked at; not positive: all"), \
		   ATTR_INT("keep_topk", 100, "places in the result"), \
		   ATTR_FLOAT("score_threshold", 0, "boxes with scores up to it are left out"), \
		   ATTR_FLOAT("iou_threshold", 0.5, "boxes that overlap a better one by more are left out"), \
		   ATTR_INT("is_normalized", 1, "no meaning"), \
		   ATTR_INT("clip_boxes", 1, "1: results are held between 0 and 1"), \
		   ATTR_INT("return_index", 0, "no meaning: a third output says it") }

const struct op_def ops_batched_nms[] = {
	{ .name = "BatchedNMS_TRT", NVIDIA,
	  .cases = { "boxes:f32[2,16,1,4] scores:f32[2,16,3] topK=16 keepTopK=8 scoreThreshold=0.1 outputs=4" } },
	{ .name = "BatchedNMSDynamic_TRT", NVIDIA,
	  .cases = { "boxes:f32[N,K,1,4] scores:f32[N,K,3] topK=5 keepTopK=6 iouThreshold=0.3 outputs=4",
		     "boxes:f16[N,12,2,4] scores:f16[N,12,2,1] topK=20 keepTopK=30 isNormalized=0 clipBoxes=0 "
		     "outputs=4" } },
	{ .name = "TRTBatchedNMS", MMDEPLOY, .lower = mmdeploy_lower,
	  .cases = { "boxes:f32[N,K,1,4] scores:f32[N,K,3] topk=5 keep_topk=6 clip_boxes=0 outputs=3" } },
	{ .name = "TRTBatchedRotatedNMS", MMDEPLOY, .lower = rotated_lower,
	  .cases = { "boxes:f32[N,8,1,5] scores:f32[N,8,2] topk=5 keep_topk=6 clip_boxes=0 outputs=2" } },
	{ .name = NULL },
};
/* clang-format on */
