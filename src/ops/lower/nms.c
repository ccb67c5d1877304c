/* Greedy suppression as a loop. A state holds the scores of the remaining candidates; each turn picks the largest of
 * each row and removes the candidates that it overlaps. A loop of few turns runs them all, so that rows need not wait
 * for each other; one of many turns ends when no candidate is left in any row. Source: ONNX, operator
 * NonMaxSuppression. */
#include "ops/lower/nms.h"

#include <math.h>

enum { FEW_TURNS = 512 };

static bool ends_early(const struct nms *n)
{
	int64_t turns;

	return !ir_const_int(n->turns, &turns) || turns > FEW_TURNS;
}

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

struct value nms_pick(struct lower *l, const struct nms *n)
{
	struct space rows = rows_of(l, n), all = rows, none = { 0 };
	bool early = ends_early(n);
	expr k = space_push(l, &all, n->candidates), e, index[3], best, common = NULL;
	struct lower_loop loop = lower_loop_begin(l, n->turns);
	struct value score, left = { 0 }, done = { 0 }, pick, next, picks;

	e = n->score(l, n, all.at, k);
	score = lower_carry(l, &loop, "scores", e->type, &all, e);
	if (early) {
		left = lower_carry(l, &loop, "left", TYPE_BOOL, &none, num(l, TYPE_BOOL, 1));
		done = lower_carry(l, &loop, "done", TYPE_I32, &none, num(l, TYPE_I32, 0));
	}
	pick = lower_reduce(l, "best", TYPE_I32, &all, n->rank, IR_ARGMAX, load(score, all.at), NULL);
	for (int i = 0; i < n->rank; i++)
		index[i] = rows.at[i];
	best = load(pick, rows.at);
	index[n->rank] = held(n, best);
	e = load(score, index);
	e = and_(gt(n->candidates, idx(l, 0)), gt(e, with(e, -INFINITY)));
	pick = lower_map(l, "pick", TYPE_I32, &rows, select_(e, best, with(best, -1)));

	best = load(pick, all.at);
	if (n->part) {
		struct space s = all;
		expr i = space_push(l, &s, idx(l, n->parts));

		e = n->part(l, n, s.at, held(n, best), k, i);
		common = load(lower_reduce(l, "common", e->type, &s, n->rank + 1, IR_SUM, e, NULL), all.at);
	}
	e = or_(eq(k, cast(best, TYPE_INDEX)), n->over(l, n, all.at, held(n, best), k, common));
	e = and_(ge(best, with(best, 0)), e);
	next = lower_map(l, "next", value_type(score), &all,
	                 select_(e, num(l, value_type(score), -INFINITY), load(score, all.at)));
	lower_next(l, &loop, score, next);
	picks = lower_collect(l, &loop, "picks", loop.turn, n->turns, pick);
	if (early) {
		e = load(next, all.at);
		lower_next(l, &loop, left,
		           lower_reduce(l, "any", TYPE_BOOL, &all, 0, IR_ANY, gt(e, with(e, -INFINITY)), NULL));
		lower_next(l, &loop, done, lower_map(l, "turns", TYPE_I32, &none, cast(addi(loop.turn, 1), TYPE_I32)));
		lower_while(l, &loop, load(left, NULL));
	}
	lower_loop_end(l, &loop);
	if (!early)
		return picks;
	/* Turns that were not reached picked nothing. */
	struct space s = { 0 };
	space_push(l, &s, n->turns);
	for (int i = 0; i < n->rank; i++)
		space_push(l, &s, n->row[i]);
	e = load(picks, s.at);
	e = select_(lt(s.at[0], cast(load(done, NULL), TYPE_INDEX)), e, with(e, -1));
	return lower_map(l, "picked", TYPE_I32, &s, e);
}

struct value nms_rows(struct lower *l, const struct nms *n, struct value picks, expr limit)
{
	struct space points = { 0 }, out = { 0 };
	struct value chosen;
	expr at[3], e, i, column;

	at[1] = space_push(l, &points, n->row[0]);
	at[2] = space_push(l, &points, n->row[1]);
	at[0] = space_push(l, &points, n->turns);
	e = load(picks, at);
	e = ge(e, with(e, 0));
	if (limit)
		e = and_(e, lt(at[0], limit));
	chosen = lower_compact(l, "chosen", TYPE_I64, &points, cast(flatten(l, 3, points.dim, points.at), TYPE_I64), e,
	                       NULL);

	i = space_push(l, &out, value_dim(chosen, 0));
	column = space_push(l, &out, idx(l, 3));
	unflatten(cast(load(chosen, &i), TYPE_INDEX), 3, points.dim, at);
	e = load_list(picks, 3, at[2], at[0], at[1]);
	e = select_(eq(column, idx(l, 2)), cast(e, TYPE_I64),
	            cast(select_(eq(column, idx(l, 0)), at[0], at[1]), TYPE_I64));
	return lower_map(l, NULL, TYPE_I64, &out, e);
}

/* The candidate that row [image, class] picked in turn `turn`. */
static expr picked(const struct nms *n, struct value picks, expr image, expr class, expr turn)
{
	expr index[3] = { turn, image, class };

	return load(picks, n->rank == 1 ? (expr[]){ turn, image } : index);
}

/* The class and turn of entry `i` in an image's list of picks. */
static void class_and_turn(struct lower *l, const struct nms *n, expr i, expr *class, expr *turn)
{
	*class = n->rank == 1 ? idx(l, 0) : floordiv(i, n->turns);
	*turn = n->rank == 1 ? i : mod(i, n->turns);
}

struct value nms_merge(struct lower *l, const struct nms *n, struct value picks, expr most)
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
		score = n->score(l, n, row, held(n, pick));
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

expr nms_merged(struct lower *l, const struct nms *n, struct value picks, expr image, expr entry, expr *class)
{
	expr turn, e = max_(cast(entry, TYPE_INDEX), idx(l, 0));

	class_and_turn(l, n, e, class, &turn);
	return held(n, picked(n, picks, image, *class, turn));
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

void nms_order(expr *box)
{
	for (int i = 0; i < 2; i++) {
		expr low = min_(box[i], box[2 + i]), high = max_(box[i], box[2 + i]);

		box[i] = low;
		box[2 + i] = high;
	}
}
