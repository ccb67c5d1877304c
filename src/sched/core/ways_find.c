/* Finds which of a part's lists of choices run at which extents; see ways.h. Extents between the points are sampled,
 * whole vectors and others. A few lists that together are fast at all samples become ways. A tree of conditions on the
 * extents then gives each sample one of them: at every node the condition that saves the most time. */
#include "sched/core/ways.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 160, MOST_LISTS = SCHED_MOST_LISTS, MOST_USED = 6 };
enum { MOST_SYMBOLS = 8, MOST_MEASURES = MOST_SYMBOLS + 1, MOST_CONDITIONS = 96, MOST_DEPTH = 7 };

/* The share of the samples' time that another list, or another condition, must save. */
static const double LIST_WORTH = 0.006, SPLIT_WORTH = 0.002;
static const double POINT_WEIGHT = 13, BETWEEN_WEIGHT = 7; /* of points; that of other samples is 1 */
static const double OWN_WORTH = 0.2; /* what other lists count as slower where a tactic has chosen one */

struct list {
	const struct sched_choice *choice;
	int own;       /* the sample that it comes from */
	double slower; /* than the best list there: a tactic counts as if it were the best */
};

/* A product of symbols, which conditions compare with numbers. */
struct measure {
	expr product;
	double at[SAMPLES];
};

struct condition {
	expr holds;
	bool at[SAMPLES];
};

struct search {
	const struct way_finder *d;
	int from, to; /* stages */
	struct list list[MOST_LISTS];
	int lists, symbol[MOST_SYMBOLS] /* indices of target.extent */, symbols;
	struct sched_target sample[SAMPLES];
	double weight[SAMPLES], loss[SAMPLES][MOST_LISTS]; /* time lost by a list, as a share of the best one's time */
	int samples;
	struct measure measure[MOST_MEASURES];
	struct condition condition[MOST_CONDITIONS];
	int measures, conditions;
	int used[MOST_USED], uses; /* indices of lists that become ways */
	struct way *out;
	int ways;
};

/* ---- Lists and symbols. */

static bool same_part(const struct sched_choice *a, const struct sched_choice *b, int from, int to)
{
	for (int i = from; i < to; i++)
		if (a[i].rule != b[i].rule || memcmp(a[i].param, b[i].param, sizeof a[i].param) != 0)
			return false;
	return true;
}

/* Index of the list, which is added if it is new. */
static int list_of(struct search *s, const struct sched_choice *choice)
{
	int i = 0;
	while (i < s->lists && !same_part(s->list[i].choice, choice, s->from, s->to))
		i++;
	if (i == s->lists)
		s->list[s->lists++] = (struct list){ .choice = choice };
	return i;
}

static bool is_concerned(const struct ir_stage *s, expr symbol)
{
	bool found = s->kind == IR_LOOP;
	for (int i = 0; !found && i < s->out->rank; i++)
		found = ir_contains(s->out->dim[i], symbol);
	for (int i = 0; !found && i < s->space_rank; i++)
		found = ir_contains(s->space[i], symbol);
	return found;
}

/* The symbols of the part's extents that differ between points. */
static void find_symbols(struct search *s)
{
	const struct sched_points *points = s->d->points;
	const struct sched_target *first = &points->target[0], *last = &points->target[points->n - 1];
	for (int k = 0; k < first->extents && s->symbols < MOST_SYMBOLS; k++) {
		expr symbol = first->extent[k].symbol;
		bool here = false;
		int input, axis;
		for (int i = s->from; i < s->to; i++)
			here |= is_concerned(s->d->p->stages.at[i], symbol);
		if (here && first->extent[k].value != last->extent[k].value &&
		    ir_symbol_source(s->d->p, symbol, &input, &axis))
			s->symbol[s->symbols++] = k;
	}
}

/* ---- Samples. */

static void place_samples(struct search *s)
{
	const struct sched_points *points = s->d->points;
	for (int i = 0; i < points->n; i++) {
		s->sample[s->samples++] = points->target[i];
		s->sample[s->samples++] = s->d->odd.target[i];
	}
	for (int j = 0; s->samples < SAMPLES; j++)
		s->sample[s->samples++] = ways_place(s->d, j);
	for (int i = 0; i < s->samples; i++)
		s->weight[i] = i / 2 >= points->n ? 1 : points->between[i / 2] ? BETWEEN_WEIGHT : POINT_WEIGHT;
}

/* ---- Conditions. */

static void add_condition(struct search *s, expr holds)
{
	struct condition *c = &s->condition[s->conditions];
	for (int i = 0; i < s->conditions; i++)
		if (s->condition[i].holds == holds)
			return;
	if (s->conditions == MOST_CONDITIONS || ir_is_int(holds, 1))
		return;
	c->holds = holds;
	for (int i = 0; i < s->samples; i++)
		c->at[i] = about_holds(holds, &s->sample[i]);
	s->conditions++;
}

/* Adds the conjunction and each of its parts. */
static void add_conditions(struct search *s, expr all)
{
	if (all->op == IR_AND)
		for (int i = 0; i < 2; i++)
			add_conditions(s, all->arg[i]);
	add_condition(s, all);
}

/* The product of n of the part's symbols, from the k-th on. It must not overflow, whatever the extents. */
static void add_measure(struct search *s, int first, int n)
{
	struct measure *m = &s->measure[s->measures++];
	struct ir_pool *pool = s->d->p->pool;
	expr most = ir_index(pool, (int64_t)1 << (62 / n));
	m->product = ir_index(pool, 1);
	for (int i = 0; i < s->samples; i++)
		m->at[i] = 1;
	for (int k = first; k < first + n; k++) {
		expr symbol = s->sample[0].extent[s->symbol[k]].symbol;
		m->product = ir_binary(IR_MUL, m->product, n > 1 ? ir_binary(IR_MIN, symbol, most) : symbol);
		for (int i = 0; i < s->samples; i++)
			m->at[i] *= (double)s->sample[i].extent[s->symbol[k]].value;
	}
}

/* ---- Times. */

static double time_of(const struct search *s, int list, const struct sched_target *t)
{
	double ns = sched_shown_time(s->d->p, s->list[list].choice, s->from, s->to, t);
	return ns > 1 ? ns : 1;
}

/* A choice that another tactic, or tuning, has for the optimum is faster there than its estimate. Where it seems slower
 * by little, it is taken for as fast: an error of the estimates seldom ends a few doublings away. */
static double credit_at(const struct search *s, int list, int sample)
{
	const double LITTLE = 1.09;
	const struct list *l = &s->list[list];
	double credit = sched_credit(l->slower, &s->sample[l->own], &s->sample[sample]);
	return l->own == 2 * s->d->points->opt ? fmax(credit, fmin(l->slower, LITTLE)) : credit;
}

/* Estimates all lists at all samples, and notes the conditions that these estimates rely on. at_point: the list of each
 * point. */
static void estimate_all(struct search *s, const int *at_point)
{
	for (int i = 0; i < s->samples; i++) {
		struct sched_target t = s->sample[i];
		double best = INFINITY;
		for (int l = 0; l < s->lists; l++) {
			expr asked = ir_int(s->d->p->pool, TYPE_BOOL, 1);
			t.asked = &asked;
			s->loss[i][l] = time_of(s, l, &t);
			best = fmin(best, s->loss[i][l]);
			add_conditions(s, asked);
		}
		for (int l = 0; l < s->lists; l++)
			if (s->list[l].own == i)
				s->list[l].slower = s->loss[i][l] / best;
	}
	for (int i = 0; i < s->samples; i++) {
		double best = INFINITY;
		for (int l = 0; l < s->lists; l++)
			best = fmin(best, s->loss[i][l] /= credit_at(s, l, i));
		for (int l = 0; l < s->lists; l++)
			s->loss[i][l] = s->loss[i][l] / best - 1;
	}
	for (int i = 0; i < s->d->points->n; i++)
		for (int l = 0; l < s->lists; l++)
			s->loss[2 * i][l] += l == at_point[i] ? 0 : OWN_WORTH;
}

/* ---- The lists that become ways. */

static double loss_with(const struct search *s, int more)
{
	double sum = 0;
	for (int i = 0; i < s->samples; i++) {
		double least = s->loss[i][more];
		for (int u = 0; u < s->uses; u++)
			least = fmin(least, s->loss[i][s->used[u]]);
		sum += s->weight[i] * least;
	}
	return sum;
}

static double whole_weight(const struct search *s)
{
	double sum = 0;
	for (int i = 0; i < s->samples; i++)
		sum += s->weight[i];
	return sum;
}

static void choose_lists(struct search *s, int usual)
{
	double worth = LIST_WORTH * whole_weight(s), lost = loss_with(s, usual);
	s->used[s->uses++] = usual;
	while (s->uses < MOST_USED) {
		int best = -1;
		double least = lost - worth;
		for (int l = 0; l < s->lists; l++) {
			double left = loss_with(s, l);
			if (left < least) {
				least = left;
				best = l;
			}
		}
		if (best < 0)
			break;
		s->used[s->uses++] = best;
		lost = least;
	}
}

/* ---- The tree. */

struct losses {
	double of[MOST_USED];
};

static void add_losses(const struct search *s, struct losses *sum, int sample)
{
	for (int u = 0; u < s->uses; u++)
		sum->of[u] += s->weight[sample] * s->loss[sample][s->used[u]];
}

/* Index of the list that loses the least. */
static int least_loss(const struct search *s, const struct losses *sum)
{
	int best = 0;
	for (int u = 1; u < s->uses; u++)
		if (sum->of[u] < sum->of[best])
			best = u;
	return best;
}

/* What the best lists of both sides lose: of samples whose losses are `with`, and of the others among `all`. */
static double divided_loss(const struct search *s, const struct losses *all, const struct losses *with)
{
	struct losses without = { { 0 } };
	for (int u = 0; u < s->uses; u++)
		without.of[u] = all->of[u] - with->of[u];
	return with->of[least_loss(s, with)] + without.of[least_loss(s, &without)];
}

struct division {
	double loss;
	const struct condition *condition; /* or `measure` is at most `border` */
	const struct measure *measure;
	double border;
};

static void try_condition(const struct search *s, const struct condition *c, const int *sample, int n,
                          const struct losses *all, struct division *best)
{
	struct losses with = { { 0 } };
	int holds = 0;
	for (int i = 0; i < n; i++)
		if (c->at[sample[i]]) {
			add_losses(s, &with, sample[i]);
			holds++;
		}
	double loss = divided_loss(s, all, &with);
	if (holds && holds < n && loss < best->loss)
		*best = (struct division){ .loss = loss, .condition = c };
}

static void try_borders(const struct search *s, const struct measure *m, const int *sample, int n,
                        const struct losses *all, struct division *best)
{
	int order[SAMPLES];
	struct losses with = { { 0 } };
	for (int i = 0; i < n; i++) {
		int at = i;
		for (; at > 0 && m->at[order[at - 1]] > m->at[sample[i]]; at--)
			order[at] = order[at - 1];
		order[at] = sample[i];
	}
	for (int i = 0; i + 1 < n; i++) {
		double here = m->at[order[i]], next = m->at[order[i + 1]];
		add_losses(s, &with, order[i]);
		double loss = here < next ? divided_loss(s, all, &with) : INFINITY;
		if (loss < best->loss && next < 1e18)
			*best = (struct division){ .loss = loss, .measure = m, .border = floor(sqrt(here * next)) };
	}
}

static bool is_within(const struct division *d, int sample)
{
	return d->condition ? d->condition->at[sample] : d->measure->at[sample] <= d->border;
}

/* Writes the ways of n samples, in the order in which their conditions are tried. All of them fulfil `fits`. */
static void divide(struct search *s, const int *sample, int n, expr fits, int depth)
{
	struct losses all = { { 0 } };
	struct division best = { 0 };
	int side[2][SAMPLES], count[2] = { 0 };
	for (int i = 0; i < n; i++)
		add_losses(s, &all, sample[i]);
	int list = least_loss(s, &all);
	best.loss = all.of[list] - SPLIT_WORTH * whole_weight(s);
	for (int i = 0; i < s->conditions && depth < MOST_DEPTH; i++)
		try_condition(s, &s->condition[i], sample, n, &all, &best);
	for (int i = 0; i < s->measures && depth < MOST_DEPTH; i++)
		try_borders(s, &s->measure[i], sample, n, &all, &best);
	if (!best.condition && !best.measure) {
		s->out[s->ways++] = (struct way){ .list = s->list[s->used[list]].choice, .fits = fits };
		return;
	}
	for (int i = 0; i < n; i++) {
		int other = !is_within(&best, sample[i]);
		side[other][count[other]++] = sample[i];
	}
	expr within = best.condition
	                      ? best.condition->holds
	                      : ir_binary(IR_LE, best.measure->product, ir_index(s->d->p->pool, (int64_t)best.border));
	divide(s, side[0], count[0], guard_both(fits, within), depth + 1);
	divide(s, side[1], count[1], fits, depth + 1);
}

int ways_of_part(const struct way_finder *d, const struct choices *all, int from, int to, struct way *out)
{
	struct search s = { .d = d, .from = from, .to = to, .out = out };
	int n = d->points->n, at_point[SCHED_MAX_POINTS], order[SAMPLES];
	for (int i = 0; i < all->n; i++) {
		int before = s.lists, list = list_of(&s, all->at[i]);
		if (list == before)
			s.list[list].own = i < n ? 2 * i : i < 2 * n ? 2 * (i - n) + 1 : i;
		if (i < n)
			at_point[i] = list;
	}
	int usual = at_point[d->points->opt];
	s.list[usual].own = 2 * d->points->opt;
	find_symbols(&s);
	if (s.lists == 1 || !s.symbols) {
		out[0] = (struct way){ .list = s.list[usual].choice };
		return 1;
	}
	place_samples(&s);
	estimate_all(&s, at_point);
	for (int k = 0; k < s.symbols; k++)
		add_measure(&s, k, 1);
	if (s.symbols > 1)
		add_measure(&s, 0, s.symbols);
	choose_lists(&s, usual);
	for (int i = 0; i < s.samples; i++)
		order[i] = i;
	divide(&s, order, s.samples, NULL, 0);
	return s.ways;
}
