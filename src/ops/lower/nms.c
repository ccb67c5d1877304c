/* Greedy suppression as a pick in the order of scores. The boxes are gathered in this order first, so that a kernel
 * reads neighbours. Source: ONNX, operator NonMaxSuppression. */
#include "ops/lower/nms.h"

#include <math.h>

static struct space rows_of(struct lower *l, const struct nms *n)
{
	struct space s = { 0 };

	for (int i = 0; i < n->rank; i++)
		space_push(l, &s, n->row[i]);
	return s;
}

/* Candidate `i` as an index that is valid even if there is no candidate. */
static expr held(const struct nms *n, expr i)
{
	expr last = addi(n->candidates, -1);

	return max_(min_(cast(i, TYPE_INDEX), last), with(last, 0));
}

/* The candidate at a place of its row's order. */
static expr candidate(const struct nms *n, const struct nms_picks *picks, const expr *row, expr place)
{
	expr index[3] = { row[0], n->rank > 1 ? row[1] : place, place };

	return picks->order.given ? cast(load(picks->order, index), TYPE_INDEX) : place;
}

/* All numbers of the box at a place. */
static void box_at(struct lower *l, const struct nms *n, struct value boxes, const expr *row, expr place, expr *box)
{
	for (int i = 0; i < n->numbers; i++) {
		expr index[4] = { row[0], row[1], place, place };

		index[n->rank] = place;
		index[n->rank + 1] = idx(l, i);
		box[i] = load(boxes, index);
	}
}

struct nms_picks nms_pick(struct lower *l, const struct nms *n)
{
	struct space rows = rows_of(l, n), s = rows;
	struct nms_picks picks = { 0 };
	expr k, i, row[2] = { rows.at[0], rows.at[1] }, first[NMS_MOST_NUMBERS], second[NMS_MOST_NUMBERS], open;
	struct value boxes;

	if (!n->sorted) {
		space_push(l, &s, n->candidates);
		k = space_push(l, &s, n->candidates);
		picks.order = lower_sort(l, "order", TYPE_I32, &s, n->rank, true, n->score(l, n, row, k));
	}

	s = rows;
	k = space_push(l, &s, n->candidates);
	i = space_push(l, &s, idx(l, n->numbers));
	i = n->number(l, n, row, candidate(n, &picks, row, k), i);
	boxes = lower_map(l, "sorted", i->type, &s, i);

	s = rows;
	space_push(l, &s, n->turns);
	k = space_push(l, &s, n->candidates);
	i = space_push(l, &s, n->candidates);
	box_at(l, n, boxes, row, i, first);
	box_at(l, n, boxes, row, k, second);
	open = n->score(l, n, row, candidate(n, &picks, row, k));
	open = gt(open, with(open, -INFINITY));
	picks.place = lower_pick(l, "picks", TYPE_I32, &s, n->rank, n->over(l, n, first, second), open);
	return picks;
}

struct value nms_rows(struct lower *l, const struct nms *n, const struct nms_picks *picks, expr limit)
{
	struct space points = { 0 }, out = { 0 };
	struct value chosen;
	expr at[3], e, i, column;

	at[0] = space_push(l, &points, n->row[0]);
	at[1] = space_push(l, &points, n->row[1]);
	at[2] = space_push(l, &points, n->turns);
	e = load(picks->place, at);
	e = ge(e, with(e, 0));
	if (limit)
		e = and_(e, lt(at[2], limit));
	chosen = lower_compact(l, "chosen", TYPE_I64, &points, cast(flatten(l, 3, points.dim, points.at), TYPE_I64), e,
	                       NULL);

	i = space_push(l, &out, value_dim(chosen, 0));
	column = space_push(l, &out, idx(l, 3));
	ir_unflat(cast(load(chosen, &i), TYPE_INDEX), 3, points.dim, at);
	e = candidate(n, picks, at, cast(load(picks->place, at), TYPE_INDEX));
	e = select_(eq(column, idx(l, 2)), cast(e, TYPE_I64),
	            cast(select_(eq(column, idx(l, 0)), at[0], at[1]), TYPE_I64));
	return lower_map(l, NULL, TYPE_I64, &out, e);
}

/* The place that row [image, class] picked in turn `turn`. */
static expr picked(const struct nms *n, const struct nms_picks *picks, expr image, expr class, expr turn)
{
	expr index[3] = { image, class, turn };

	return load(picks->place, n->rank == 1 ? (expr[]){ image, turn } : index);
}

/* The class and turn of entry `i` in an image's list of picks. */
static void class_and_turn(struct lower *l, const struct nms *n, expr i, expr *class, expr *turn)
{
	*class = n->rank == 1 ? idx(l, 0) : floordiv(i, n->turns);
	*turn = n->rank == 1 ? i : mod(i, n->turns);
}

struct value nms_merge(struct lower *l, const struct nms *n, const struct nms_picks *picks, expr most)
{
	expr all = n->rank == 1 ? n->turns : mul(n->turns, n->row[1]), i, class, turn, pick, score, row[2], e;
	struct space s = { 0 }, out = { 0 };
	struct value order = { 0 };

	if (n->rank > 1) {
		row[0] = space_push(l, &s, n->row[0]);
		space_push(l, &s, min_(most, all));
		class_and_turn(l, n, space_push(l, &s, all), &class, &turn);
		row[1] = class;
		pick = picked(n, picks, row[0], class, turn);
		score = n->score(l, n, row, candidate(n, picks, row, held(n, pick)));
		score = select_(ge(pick, with(pick, 0)), score, with(score, -INFINITY));
		order = lower_sort(l, "order", TYPE_I32, &s, 1, true, score);
	}
	row[0] = space_push(l, &out, n->row[0]);
	i = space_push(l, &out, most);
	e = min_(i, addi(min_(most, all), -1));
	e = n->rank > 1 ? cast(load_list(order, 2, row[0], e), TYPE_INDEX) : e;
	class_and_turn(l, n, e, &class, &turn);
	pick = picked(n, picks, row[0], class, turn);
	e = select_(and_(lt(i, all), ge(pick, with(pick, 0))), cast(e, TYPE_I32), num(l, TYPE_I32, -1));
	return lower_map(l, "kept", TYPE_I32, &out, e);
}

expr nms_merged(struct lower *l, const struct nms *n, const struct nms_picks *picks, expr image, expr entry,
                expr *class)
{
	expr turn, e = max_(cast(entry, TYPE_INDEX), idx(l, 0));

	class_and_turn(l, n, e, class, &turn);
	return candidate(n, picks, (expr[]){ image, *class }, held(n, picked(n, picks, image, *class, turn)));
}

struct value nms_best(struct lower *l, const struct nms *n, expr count, expr most)
{
	struct space s = rows_of(l, n);
	expr row[2] = { s.at[0], s.at[1] };

	space_push(l, &s, most);
	expr i = space_push(l, &s, count);
	return lower_sort(l, "best", TYPE_I32, &s, n->rank, true, n->score(l, n, row, i));
}

static expr area(const expr *box, double more)
{
	expr height = sub(box[2], box[0]), width = sub(box[3], box[1]);

	if (more != 0)
		return mul(add(height, with(height, more)), add(width, with(width, more)));
	return mul(height, width);
}

expr nms_overlap(const expr *a, const expr *b, double more)
{
	expr common[4] = { max_(a[0], b[0]), max_(a[1], b[1]), min_(a[2], b[2]), min_(a[3], b[3]) }, both, either, any;

	both = area(common, more);
	either = sub(add(area(a, more), area(b, more)), both);
	any = and_(gt(sub(common[2], common[0]), with(both, -more)), gt(sub(common[3], common[1]), with(both, -more)));
	return select_(and_(any, gt(either, with(either, 0))), divide(both, either), with(both, 0));
}

expr nms_ordered(expr i, expr first, expr second)
{
	return select_(lt(i, with(i, 2)), min_(first, second), max_(first, second));
}
