/* Comparing by turns, and the final choice. See turns.h. */
#include "tune/turns.h"

#include <math.h>
#include <string.h>

#include "tune/tune.h"

enum { FEWEST = 9, MANY = 15, OPTIONS = 6 };
static const double steady = 0.01;    /* a clock that changes less within a round is the same */
static const double near = 1.04;      /* contenders are at most this much slower than the best so far */
static const double tie = 0.005;      /* of the time: as fast */
static const double after = 1.0001;   /* those as fast as the chosen one come after it */
static const double promising = 1.01; /* by a search's trials: may be as fast */
static const double known = 3;        /* standard errors from a boundary */
static const double enough = 0.0005;  /* standard error at which more rounds change nothing */

/* ---- By turns. */

static double clock_of(const struct tune_meter *m)
{
	return m->clock ? m->clock(m->user) : 0;
}

/* Takes a round; *same is false if the clock changed. */
static int take_round(const struct tune_meter *m, bool other_first, double ns[2], bool *same, struct err *e)
{
	double before = clock_of(m);
	int first = other_first && !m->alone;
	ns[1] = 0;
	TRY(m->sample(m->user, first, &ns[first], e));
	if (!m->alone)
		TRY(m->sample(m->user, !first, &ns[!first], e));
	double after = clock_of(m);
	*same = before <= 0 || after <= 0 || fabs(after - before) <= steady * fmax(after, before);
	return 0;
}

/* The mean of the middle half of sorted numbers: outliers do not count, and it varies less than a median. */
static double middle_mean(const double *sorted, int n)
{
	int from = n / 4, to = n - from;
	double sum = 0;
	for (int i = from; i < to; i++)
		sum += sorted[i];
	return sum / (to - from);
}

/* Its standard error, from the quartiles. */
static double error_of(double spread, double middle, int n)
{
	return n > 1 ? 1.15 * (spread * middle / 1.349) / sqrt(n) : INFINITY;
}

static bool is_known(const struct tune_turns *t)
{
	const double boundary[] = { 1 - tie, 1, 1 + tie };
	if (t->error < enough)
		return true;
	for (size_t i = 0; i < sizeof boundary / sizeof *boundary; i++)
		if (fabs(t->ratio - boundary[i]) < known * t->error)
			return false;
	return true;
}

static bool is_over(const struct tune_turns *t, int n, bool exact)
{
	if (t->ratio > 2 || (n >= 3 && t->ratio > 1.1) || (!exact && n >= 5 && t->ratio > 1.03))
		return true;
	return exact && n >= FEWEST && is_known(t);
}

static void sum_up(struct tune_turns *out, const double *mine, const double *ratio, int n)
{
	double sorted[TUNE_MAX_ROUNDS], spread;
	memcpy(sorted, ratio, sizeof *ratio * (size_t)n);
	double median = tune_median(sorted, n, &spread);
	out->ratio = n < MANY ? median : middle_mean(sorted, n);
	out->error = error_of(spread, median, n);
	memcpy(sorted, mine, sizeof *mine * (size_t)n);
	out->ns = tune_median(sorted, n, &out->spread);
	out->rounds = n;
}

int tune_by_turns(struct tune_turns *out, const struct tune_meter *m, int rounds, bool exact, double limit_ns,
                  struct err *e)
{
	double mine[TUNE_MAX_ROUNDS], ratio[TUNE_MAX_ROUNDS], ns[2], spent = 0;
	int n = 0;
	*out = (struct tune_turns){ .ratio = 1 };
	rounds = rounds < 1 ? 1 : rounds > TUNE_MAX_ROUNDS ? TUNE_MAX_ROUNDS : rounds;
	for (int i = 0; n < rounds; i++) {
		bool same;
		TRY(take_round(m, i % 2 == 0, ns, &same, e));
		spent += ns[0] + ns[1];
		if (!same && out->unsteady < rounds) { /* if the clock never rests, rounds count nevertheless */
			out->unsteady++;
			continue;
		}
		mine[n] = ns[0];
		ratio[n++] = !m->alone && ns[1] > 0 ? ns[0] / ns[1] : 1;
		sum_up(out, mine, ratio, n);
		if (!m->alone && is_over(out, n, exact))
			break;
		if (limit_ns > 0 && spent > limit_ns && n >= FEWEST)
			break;
	}
	return 0;
}

/* ---- The choice. */

struct contender {
	const struct tune_trial *trial;
	double ratio; /* to the first contender; 0: could not be compared */
};

/* The best few, and the cost model's choice. */
static int contenders(struct contender *out, const struct tune_search *s, const struct tune_trial *first)
{
	int n = 0;
	bool has_first = !first || first->status != TUNE_OK;
	for (int k = 0; n < TUNE_CONTENDERS; k++) {
		const struct tune_trial *t = tune_search_ranked(s, k);
		if (!t || (n && t->ns > out[0].trial->ns * near))
			break;
		out[n] = (struct contender){ t, n == 0 };
		has_first |= t == first;
		n++;
	}
	if (!has_first)
		out[n++] = (struct contender){ first, 0 };
	return n;
}

static int steps_of(const struct tune_space *s, struct tune_point p)
{
	int n = 0;
	for (int i = 0; i < s->stages; i++)
		n += p.option[i] >= 0 && s->stage[i].options > 1;
	return n > 0 ? n : 1;
}

static int span_of(const struct tune_space *s, int stage, int option)
{
	return sched_span(s->program, s->program->stages.at[stage], &s->stage[stage].option[option]);
}

/* The options of a step that by the search's trials may be as fast as its best, by number. */
static int promising_options(int16_t *out, const struct tune_search *s, const struct tune_space *space,
                             const struct tune_trial *t, int stage)
{
	double least = INFINITY, whole = (promising - 1) * t->ns;
	int own = t->point.option[stage], n = 0;
	for (int k = 0; k < space->stage[stage].options; k++) {
		double cost = tune_search_cost(s, stage, k);
		if (cost < least && span_of(space, stage, k) == span_of(space, stage, own))
			least = cost;
	}
	for (int k = 0; k < space->stage[stage].options && n < OPTIONS; k++) {
		bool may = k == 0 || tune_search_cost(s, stage, k) <= least + whole;
		if (k != own && may && span_of(space, stage, k) == span_of(space, stage, own))
			out[n++] = (int16_t)k;
	}
	return n;
}

/* An option of a small step hardly changes the whole time, so the fastest of a search is chance. Compares each step's
 * promising options, and takes the one that the model likes best among the equally fast: all steps together lose at
 * most `tie`. */
static void settle(struct tune_trial *t, const struct tune_search *s, const struct tune_space *space,
                   tune_compare_fn compare, void *user, struct arena *a)
{
	double may = 1 + tie / steps_of(space, t->point);
	for (int i = 0; i < space->stages; i++) {
		int16_t option[OPTIONS + 1];
		double ratio[OPTIONS + 1], least = 1;
		int n = t->point.option[i] < 0 ? 0 : promising_options(option, s, space, t, i), best = -1;
		for (int k = 0; k < n; k++) {
			struct tune_point other = tune_point_copy(space, t->point, a);
			other.option[i] = option[k];
			if (!compare(user, other, t->point, &ratio[k]))
				ratio[k] = INFINITY;
			least = fmin(least, ratio[k]);
		}
		option[n] = t->point.option[i];
		ratio[n] = 1;
		for (int k = 0; k <= n && n; k++)
			if (ratio[k] <= least * may && (best < 0 || option[k] < option[best]))
				best = k;
		if (best < 0 || best == n)
			continue;
		t->point = tune_point_copy(space, t->point, a);
		t->point.option[i] = option[best];
		t->ns *= ratio[best];
	}
}

void tune_choose(struct tune_choice *out, const struct tune_search *s, const struct tune_space *space,
                 tune_compare_fn compare, void *user, struct arena *a)
{
	struct contender c[TUNE_CONTENDERS + 1];
	const struct tune_trial *first = tune_search_find(s, tune_point_first(space, a));
	double least = 1, unit = 0;
	int n = contenders(c, s, first), best = -1;
	*out = (struct tune_choice){ .n = 0 };
	for (int i = 1; i < n; i++) {
		if (!compare(user, c[i].trial->point, c[0].trial->point, &c[i].ratio))
			c[i].ratio = 0;
		if (c[i].ratio > 0 && c[i].ratio < least)
			least = c[i].ratio;
	}
	for (int i = 0; i < n; i++) {
		if (c[i].ratio > 0 && c[i].trial == first)
			unit = first->ns / c[i].ratio;
		if (c[i].ratio > 0 && (best < 0 || c[i].ratio < c[best].ratio))
			best = i;
	}
	if (best < 0)
		return;
	unit = unit > 0 ? unit : c[0].trial->ns;
	struct tune_trial chosen = *c[best].trial;
	chosen.ns = unit * least;
	settle(&chosen, s, space, compare, user, a);
	least = fmin(least, chosen.ns / unit);
	chosen.ns = unit * least;
	out->trial[out->n++] = chosen;
	for (int i = 0; i < n; i++) {
		if (c[i].ratio <= 0 || tune_point_same(space, c[i].trial->point, chosen.point))
			continue;
		out->trial[out->n] = *c[i].trial;
		out->trial[out->n++].ns = unit * fmax(c[i].ratio, least * after);
	}
}
