/* NMSRotated, and the overlap of rotated boxes: intersection / union. The intersection of two convex polygons is
 * bounded by the parts of each one's edges that lie inside the other; its area is half the sum over these parts of the
 * cross product of their ends, seen from one point. A part is the rest of an edge p + t v, 0 <= t <= 1, after clipping
 * by the four lines through the other's edges. To count shared edges once, a's edges are clipped a little too
 * generously, and b's a little too strictly. */
#include "ops/plugins/nms_turned.h"

#include <math.h>

static const double nearly = 4e-7; /* fraction of an edge's length */

/* Number i of a box, or of its corners. */
static expr number(struct lower *l, struct value v, const expr *box, expr i)
{
	expr index[IR_MAX_RANK];
	int last = value_rank(v) - 1;

	(void)l;
	for (int k = 0; k < last; k++)
		index[k] = box[k];
	index[last] = i;
	return wide(load(v, index));
}

static expr cross(const expr *a, const expr *b)
{
	return sub(mul(a[0], b[1]), mul(a[1], b[0]));
}

expr nms_turned_number(struct lower *l, const struct nms_turned *t, const expr *box, expr i)
{
	expr side = number(l, t->boxes, box, min_(i, idx(l, 3)));

	return select_(lt(i, idx(l, 4)), side, number(l, t->corners, box, max_(addi(i, -4), idx(l, 0))));
}

/* The x and y of corner i of a box, 0 to 3, relative to its centre. */
static const expr *corner(const expr *box, int i)
{
	return box + 4 + 2 * (i % 4);
}

/* The part of box a's edge from corner `edge` that lies inside box b; `first`: of the two, a comes first. */
static expr part(const expr *a, const expr *b, int edge, bool first)
{
	const expr *ends[2] = { corner(a, edge), corner(a, edge + 1) };
	expr from = NULL, to = NULL, p[2], q[2], v[2], apart[2], zero = with(a[0], 0), e;

	for (int k = 0; k < 2; k++) {
		v[k] = sub(ends[1][k], ends[0][k]);
		apart[k] = sub(a[k], b[k]);
		p[k] = add(ends[0][k], apart[k]); /* relative to b's centre */
		q[k] = add(ends[1][k], apart[k]);
	}
	for (int i = 0; i < 4; i++) {
		const expr *o = corner(b, i), *next = corner(b, i + 1);
		expr u[2], w[2], start, end, cut, enter, leave;

		for (int k = 0; k < 2; k++)
			u[k] = sub(next[k], o[k]);
		e = mul(add(mul(u[0], u[0]), mul(u[1], u[1])), with(zero, first ? nearly : -nearly));
		w[0] = sub(p[0], o[0]);
		w[1] = sub(p[1], o[1]);
		start = add(cross(u, w), e);
		w[0] = sub(q[0], o[0]);
		w[1] = sub(q[1], o[1]);
		end = add(cross(u, w), e);
		cut = divide(start, sub(start, end));
		/* outside the line only from the crossing on, up to it, or nowhere */
		enter = select_(lt(start, zero), select_(lt(end, zero), with(zero, 2), cut), zero);
		leave = select_(and_(ge(start, zero), lt(end, zero)), cut, with(zero, 1));
		from = from ? max_(from, enter) : enter;
		to = to ? min_(to, leave) : leave;
	}
	/* ends are relative to the first box's centre, and the second one's own corners are moved there */
	for (int k = 0; k < 2; k++)
		p[k] = first ? ends[0][k] : add(ends[0][k], apart[k]);
	return mul(max_(sub(to, from), zero), mul(cross(p, v), with(zero, 0.5)));
}

expr nms_turned_overlap(struct lower *l, const expr *a, const expr *b)
{
	expr common = NULL, either;

	(void)l;
	for (int i = 0; i < 8; i++) {
		expr e = i < 4 ? part(a, b, i, true) : part(b, a, i - 4, false);

		common = common ? add(common, e) : e;
	}
	common = max_(common, with(common, 0));
	either = sub(add(mul(a[2], a[3]), mul(b[2], b[3])), common);
	return select_(gt(either, with(either, 0)), divide(common, either), with(common, 0));
}

struct nms_turned nms_turned_new(struct lower *l, struct value boxes)
{
	struct space s = { 0 };
	expr column, place, half[2], side[2], cosine, sine, angle;

	for (int i = 0; i < value_rank(boxes) - 1; i++)
		space_push(l, &s, value_dim(boxes, i));
	column = space_push(l, &s, idx(l, 8));
	place = floordiv(column, idx(l, 2));
	/* (-, -), (+, -), (+, +), (-, +) */
	side[0] = or_(eq(place, idx(l, 1)), eq(place, idx(l, 2)));
	side[1] = ge(place, idx(l, 2));
	for (int i = 0; i < 2; i++) {
		half[i] = number(l, boxes, s.at, idx(l, 2 + i));
		half[i] = mul(half[i], select_(side[i], with(half[i], 0.5), with(half[i], -0.5)));
	}
	angle = number(l, boxes, s.at, idx(l, 4));
	cosine = unary(IR_COS, angle);
	sine = unary(IR_SIN, angle);
	angle = select_(eq(mod(column, idx(l, 2)), idx(l, 0)), sub(mul(half[0], cosine), mul(half[1], sine)),
	                add(mul(half[0], sine), mul(half[1], cosine)));
	return (struct nms_turned){ boxes, lower_map(l, "corners", angle->type, &s, angle) };
}

/* ---- NMSRotated ------------------------------------------------------------------------------------------------- */

struct rotated {
	struct nms_turned turned;
	struct value scores;
};

static expr score_of(struct lower *l, const struct nms *n, const expr *row, expr k)
{
	const struct rotated *s = n->user;
	expr e = wide(load_list(s->scores, 3, row[0], row[1], k));

	return select_(gt(e, with(e, lower_float(l, "score_threshold"))), e, with(e, -HUGE_VAL));
}

static expr number_of(struct lower *l, const struct nms *n, const expr *row, expr k, expr i)
{
	const struct rotated *s = n->user;

	return nms_turned_number(l, &s->turned, (expr[]){ row[0], k }, i);
}

static expr over(struct lower *l, const struct nms *n, const expr *a, const expr *b)
{
	expr e = nms_turned_overlap(l, a, b);

	(void)n;
	return gt(e, with(e, lower_float(l, "iou_threshold")));
}

static int lower(struct lower *l)
{
	struct value boxes = lower_input(l, 0);
	struct rotated s = { .scores = lower_input(l, 1) };
	struct nms n = { .rank = 2,
		         .numbers = NMS_TURNED_NUMBERS,
		         .score = score_of,
		         .number = number_of,
		         .over = over,
		         .user = &s };
	struct nms_picks picks;
	int64_t five;

	if (value_rank(boxes) != 3 || value_rank(s.scores) != 3)
		return lower_fail(l, ERR_MODEL, "boxes and scores must have three axes each.");
	if (ir_const_int(value_dim(boxes, 2), &five) && five != 5)
		return lower_fail(l, ERR_MODEL, "a box has %lld numbers; it must have five.", (long long)five);
	TRY(lower_equal(l, boxes, 0, s.scores, 0));
	TRY(lower_equal(l, boxes, 1, s.scores, 2));
	TRY(lower_demand_extent(l, IR_SAME, idx(l, 5), boxes, 2));
	n.row[0] = value_dim(s.scores, 0);
	n.row[1] = value_dim(s.scores, 1);
	n.candidates = n.turns = value_dim(s.scores, 2);
	s.turned = nms_turned_new(l, boxes);
	picks = nms_pick(l, &n);
	lower_output(l, 0, nms_rows(l, &n, &picks, NULL));
	return 0;
}

const struct op_def op_nms_rotated = {
	.name = "NMSRotated",
	.domain = OP_ANY_DOMAIN,
	.since = { 1 },
	.formula = "y = (image, class, box) of the best turned boxes that no better one overlaps",
	.inputs = { IN("boxes", TS_FLOAT), IN("scores", TS_FLOAT) },
	.outputs = { OUT("selected_indices") },
	.attrs = { ATTR_FLOAT("iou_threshold", 0.5, "boxes that overlap a better one by more are left out"),
	           ATTR_FLOAT("score_threshold", 0, "boxes with scores up to it are left out") },
	.lower = lower,
	.cases = { "boxes:f32[N,8,5] scores:f32[N,2,8] iou_threshold=0.3 score_threshold=0.1" },
};
