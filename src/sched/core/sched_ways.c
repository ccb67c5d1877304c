/* Ways of a part, and the borders between them; see ways.h. */
#include "sched/core/ways.h"
#include "sched/build/finish.h"

#include <math.h>
#include <string.h>

enum { MOST_SYMBOLS = 16 /* in a product */ };

/* ---- Borders between ways. */

static bool is_concerned(const struct ir_stage *s, expr symbol)
{
	bool found = s->kind == IR_LOOP;
	for (int i = 0; !found && i < s->out->rank; i++)
		found = ir_contains(s->out->dim[i], symbol);
	for (int i = 0; !found && i < s->space_rank; i++)
		found = ir_contains(s->space[i], symbol);
	return found;
}

/* True if the way `next` is faster as soon as this symbol alone has the next point's extent. */
static bool decides(const struct way_finder *d, const struct way *own, const struct sched_choice *next, int from,
                    int to, int i, int symbol)
{
	struct sched_target t = d->points->target[i];
	struct sched_extent *extent = NEWN(d->p->arena, struct sched_extent, t.extents);
	memcpy(extent, t.extent, sizeof *extent * (size_t)t.extents);
	extent[symbol] = d->points->target[i + 1].extent[symbol];
	t.extent = extent;
	return sched_time(d->p, next, from, to, &t) < sched_time(d->p, own->list, from, to, &t);
}

/* The place between points i and i + 1, from 0 to 1, at which the next way becomes the faster one. Of the places
 * between extents that are tried, the one that costs the least time there. */
static double crossing(const struct way_finder *d, const struct way *own, const struct sched_choice *next, int from,
                       int to, int i)
{
	enum { TRIED = 15 };
	const struct sched_target *a = &d->points->target[i];
	double more[TRIED], sum = 0, least = 0; /* time lost by the next way instead of the own, from an extent on */
	int best = TRIED;
	for (int k = 0; k < TRIED; k++) {
		struct sched_target t = sched_target_between(a, a + 1, (k + 1.0) / (TRIED + 1), d->p->arena);
		more[k] = log(fmax(sched_time(d->p, next, from, to, &t), 1) /
		              fmax(sched_time(d->p, own->list, from, to, &t), 1));
	}
	for (int k = TRIED - 1; k >= 0; k--) {
		sum += more[k];
		if (sum < least) {
			least = sum;
			best = k;
		}
	}
	return (best + 0.5) / (TRIED + 1);
}

/* A bool: the extents are nearer to point `i` than to the next one; or null if no symbol distinguishes them. */
static expr nearer(const struct way_finder *d, const struct way *own, const struct sched_choice *next, int from, int to,
                   int i)
{
	const struct sched_target *a = &d->points->target[i], *b = a + 1;
	struct ir_pool *pool = d->p->pool;
	expr product = ir_index(pool, 1);
	int concerned[MOST_SYMBOLS], n = 0, decisive = 0, input, axis;
	double below = 1, above = 1;
	for (int k = 0; k < a->extents && n < MOST_SYMBOLS; k++) {
		expr symbol = a->extent[k].symbol;
		bool here = false;
		for (int s = from; s < to; s++)
			here |= is_concerned(d->p->stages.at[s], symbol);
		if (!here || a->extent[k].value == b->extent[k].value || !ir_symbol_source(d->p, symbol, &input, &axis))
			continue;
		concerned[n++] = k;
		if (decides(d, own, next, from, to, i, k)) { /* move to the front */
			concerned[n - 1] = concerned[decisive];
			concerned[decisive++] = k;
		}
	}
	n = decisive ? decisive : n;
	for (int k = 0; k < n; k++) {
		expr symbol = a->extent[concerned[k]].symbol, most = ir_index(pool, (int64_t)1 << (62 / n));
		/* The product must not overflow, whatever the extents. */
		product = ir_binary(IR_MUL, product, n > 1 ? ir_binary(IR_MIN, symbol, most) : symbol);
		below *= (double)a->extent[concerned[k]].value;
		above *= (double)b->extent[concerned[k]].value;
	}
	if (below >= above)
		return NULL;
	double border = floor(below * pow(above / below, crossing(d, own, next, from, to, i)));
	return border < 1e18 ? ir_binary(IR_LE, product, ir_index(pool, (int64_t)border)) : NULL;
}

static bool same_part(const struct sched_choice *a, const struct sched_choice *b, int from, int to)
{
	for (int i = from; i < to; i++)
		if (a[i].rule != b[i].rule || memcmp(a[i].param, b[i].param, sizeof a[i].param) != 0)
			return false;
	return true;
}

/* The points with odd extents instead of those that differ between points. */
static struct sched_points odd_points(const struct sched_points *points, struct arena *a)
{
	struct sched_points odd = *points;
	const struct sched_target *first = &points->target[0], *last = &points->target[odd.n - 1];
	for (int i = 0; i < odd.n; i++) {
		struct sched_target *t = &odd.target[i];
		struct sched_extent *extent = NEWN(a, struct sched_extent, t->extents + 1);
		for (int k = 0; k < t->extents; k++) {
			extent[k] = t->extent[k];
			if (first->extent[k].value != last->extent[k].value)
				extent[k].value |= 1;
		}
		t->extent = extent;
	}
	return odd;
}

/* The parts of a that b has, too. */
static expr common_parts(expr a, expr b)
{
	if (a->op == IR_AND)
		return guard_both(common_parts(a->arg[0], b), common_parts(a->arg[1], b));
	return guard_implies(b, a) ? a : ir_int(a->pool, TYPE_BOOL, 1);
}

/* A bool over symbols: the conditions that the estimates of a list rely on at each of the points first ... last. Where
 * one of them does without a condition, the list is good without it. */
static expr relied_on(const struct way_finder *d, const struct sched_choice *list, int from, int to, int first,
                      int last)
{
	expr all = NULL;
	for (int i = first; i <= last; i++) {
		struct sched_target t = d->points->target[i];
		expr asked = ir_int(d->p->pool, TYPE_BOOL, 1);
		t.asked = &asked;
		sched_time(d->p, list, from, to, &t);
		all = all ? common_parts(all, asked) : asked;
	}
	return all;
}

/* What is best at odd extents does not depend on the tactic, and only a list that relies on conditions needs it. */
static const struct sched_choice *at_odd_extents(struct way_finder *d, const struct sched_choice *usual, int i)
{
	if (d->points->n == 1 || ir_is_int(relied_on(d, usual, 0, d->p->stages.n, i, i), 1))
		return usual;
	if (!d->best[i])
		d->best[i] = sched_best(d->p, &d->odd.target[i]);
	return sched_adopt(d->p, d->best[i], usual, &d->odd.target[i]);
}

struct choices ways_choices(struct way_finder *d, const struct sched_tactic *tactic)
{
	struct choices all;
	int n = d->points->n;
	for (int i = 0; i < n; i++) {
		all.at[i] = tactic->choice[i];
		all.at[n + i] = at_odd_extents(d, all.at[i], i);
	}
	return all;
}

/* Ways for neighbouring points, from the smallest extents to the largest. `first`, `last`: a way's points. */
struct ways {
	struct way way[SCHED_MAX_POINTS];
	int first[SCHED_MAX_POINTS], last[SCHED_MAX_POINTS], n;
};

/* The ways of the points first ... last, with a list of choices each. */
static struct ways ways_between(const struct way_finder *d, const struct sched_choice *const *list, int from, int to,
                                int first, int last)
{
	struct ways w = { .n = 0 };
	for (int i = first; i <= last; i++) {
		struct way *before = w.n ? &w.way[w.n - 1] : NULL;
		bool same = before && same_part(before->list, list[i], from, to);
		expr border = before && !same ? nearer(d, before, list[i], from, to, i - 1) : NULL;
		if (before && !border) { /* no symbol distinguishes the points: use the optimum's way */
			if (!same && i == d->points->opt)
				before->list = list[i];
			w.last[w.n - 1] = i;
			continue;
		}
		if (before)
			before->fits = border;
		w.first[w.n] = w.last[w.n] = i;
		w.way[w.n++] = (struct way){ .list = list[i] };
	}
	return w;
}

/* Finds a part's ways: those of its points, each followed by those for odd extents near these points. What is best at
 * odd extents has borders of its own, also to the neighbouring points' ways. */
int ways_of_part(struct way_finder *d, const struct choices *all, int from, int to, struct way *out)
{
	const struct sched_choice *const *odd_list = all->at + d->points->n;
	struct way_finder odd = *d;
	struct ways usual = ways_between(d, all->at, from, to, 0, d->points->n - 1);
	int n = 0;
	odd.points = &d->odd;
	for (int i = 0; i < usual.n; i++) {
		const struct way *w = &usual.way[i];
		int first = usual.first[i], last = usual.last[i];
		bool differs = false;
		for (int k = first; k <= last; k++)
			differs |= !same_part(w->list, odd_list[k], from, to);
		expr whole = differs ? relied_on(d, w->list, from, to, first, last) : NULL;
		if (!whole || ir_is_int(whole, 1)) {
			out[n++] = *w;
			continue;
		}
		out[n++] = (struct way){ .list = w->list, .fits = guard_both(w->fits, whole) };
		int low = first > 0 ? first - 1 : 0, high = last < d->points->n - 1 ? last + 1 : last;
		struct ways others = ways_between(&odd, odd_list, from, to, low, high);
		for (int k = 0; k < others.n; k++)
			out[n++] = (struct way){ .list = others.way[k].list,
				                 .fits = guard_both(w->fits, others.way[k].fits) };
	}
	return n;
}

int ways_part_end(const struct way_finder *d, const struct choices *all, int from)
{
	return sched_part_end(d->p, all->at, 2 * d->points->n, from);
}

struct way_finder ways_new(struct ir_program *p, const struct sched_points *points)
{
	return (struct way_finder){ .p = p, .points = points, .odd = odd_points(points, p->arena) };
}

static bool extent_at(void *user, expr symbol, int64_t *value)
{
	const struct sched_target *t = user;
	for (int i = 0; i < t->extents; i++)
		if (t->extent[i].symbol == symbol) {
			*value = t->extent[i].value;
			return true;
		}
	return false;
}

double sched_tactic_time(struct ir_program *p, const struct sched_points *points, const struct sched_tactic *tactic,
                         struct sched_target *at)
{
	struct way_finder d = ways_new(p, points);
	struct choices all = ways_choices(&d, tactic);
	double sum = 0;
	for (int from = 0, to; from < p->stages.n; from = to) {
		struct way way[MOST_WAYS];
		int64_t fits = 1;
		to = ways_part_end(&d, &all, from);
		int w = 0, n = ways_of_part(&d, &all, from, to, way);
		while (w < n - 1 && way[w].fits && (!ir_eval_int(way[w].fits, extent_at, at, &fits) || !fits))
			w++;
		sum += sched_time(p, way[w].list, from, to, at);
	}
	return sum;
}
