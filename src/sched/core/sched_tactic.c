/* Decisions for a whole program at several points. Builds no kernels; see sched.h. */
#include "sched/core/choose.h"

#include <math.h>
#include <string.h>

/* A point gets its own kernels if the optimum's choice is slower there by this factor, without most of a launch:
 * between other kernels' launches, it costs less than the estimates say. */
static const double WORTH = 1.2, HIDDEN_LAUNCH = 0.75;

/* Another tactic is worth measuring if its estimate is at most this factor slower. At most MAX_TRIED choices per stage
 * are examined. */
static const double NEAR = 2;
enum { MAX_TRIED = 12 };

/* ---- Points. */

struct sched_points sched_points_of(const struct sched_target *t, const expr *symbol, const int64_t *const *value,
                                    int symbols, int n, int opt, struct arena *a)
{
	struct sched_points points = { .n = n, .opt = opt };
	ck(n > 0 && n <= SCHED_MAX_POINTS && opt < n);
	for (int i = 0; i < n; i++) {
		struct sched_extent *extent = NEWN(a, struct sched_extent, symbols + 1);
		for (int k = 0; k < symbols; k++)
			extent[k] = (struct sched_extent){ symbol[k], value[k][i] };
		points.target[i] = *t;
		points.target[i].extent = extent;
		points.target[i].extents = symbols;
	}
	return points;
}

/* The largest power of two that divides both, of those that vectors of 16 bytes need. */
static int64_t common_power(int64_t a, int64_t b)
{
	int64_t power = 1;
	while (power < 16 && (a | b) % (2 * power) == 0)
		power *= 2;
	return power;
}

struct sched_target sched_target_between(const struct sched_target *a, const struct sched_target *b, double place,
                                         struct arena *arena)
{
	struct sched_target t = *a;
	struct sched_extent *extent = NEWN(arena, struct sched_extent, t.extents + 1);
	for (int i = 0; i < t.extents; i++) {
		double low = (double)a->extent[i].value, high = (double)b->extent[i].value;
		double whole = (double)common_power(a->extent[i].value, b->extent[i].value);
		extent[i] = a->extent[i];
		if (low > 0 && high > 0)
			extent[i].value = (int64_t)(floor(low * pow(high / low, place) / whole + 0.5) * whole);
	}
	t.extent = extent;
	return t;
}

static bool same_extents(const struct sched_target *a, const struct sched_target *b)
{
	for (int i = 0; i < a->extents; i++)
		if (a->extent[i].value != b->extent[i].value)
			return false;
	return true;
}

struct sched_points sched_points_between(const struct sched_points *points, struct arena *a)
{
	struct sched_points all = { .n = 0 };
	ck(2 * points->n - 1 <= SCHED_MAX_POINTS);
	for (int i = 0; i < points->n; i++) {
		const struct sched_target *t = &points->target[i];
		if (i > 0) {
			struct sched_target middle = sched_target_between(t - 1, t, 0.5, a);
			if (!same_extents(&middle, t) && !same_extents(&middle, t - 1)) {
				all.between[all.n] = true;
				all.target[all.n++] = middle;
			}
		}
		if (i == points->opt)
			all.opt = all.n;
		all.target[all.n++] = *t;
	}
	return all;
}

/* ---- One point. */

const struct sched_choice *sched_best(struct ir_program *p, const struct sched_target *t)
{
	struct sched_choice *list = NEWN(p->arena, struct sched_choice, p->stages.n + 1);
	sched_decide(p, t, NULL, list);
	return list;
}

double sched_time(struct ir_program *p, const struct sched_choice *list, int from, int to, const struct sched_target *t)
{
	double sum = 0;
	for (int i = from; i < to; i += sched_span(p, p->stages.at[i], &list[i]))
		sum += sched_estimate(p, p->stages.at[i], &list[i], t);
	return sum;
}

double sched_shown_time(struct ir_program *p, const struct sched_choice *list, int from, int to,
                        const struct sched_target *t)
{
	return sched_time(p, list, from, to, t) - HIDDEN_LAUNCH * t->launch_ns;
}

double sched_program_time(struct ir_program *p, const struct sched_target *t)
{
	struct sched_choice *list = NEWN(p->arena, struct sched_choice, p->stages.n + 1);
	sched_decide(p, t, NULL, list);
	return sched_time(p, list, 0, p->stages.n, t);
}

/* ---- Several points. */

int sched_part_end(struct ir_program *p, const struct sched_choice *const *list, int n, int from)
{
	int end[SCHED_MOST_LISTS], most = from;
	ck(n <= SCHED_MOST_LISTS);
	for (int i = 0; i < n; i++) {
		end[i] = from + sched_span(p, p->stages.at[from], &list[i][from]);
		most = end[i] > most ? end[i] : most;
	}
	for (bool moved = true; moved;) {
		moved = false;
		for (int i = 0; i < n; i++)
			for (; end[i] < most; moved = true) {
				end[i] += sched_span(p, p->stages.at[end[i]], &list[i][end[i]]);
				most = end[i] > most ? end[i] : most;
			}
	}
	return most;
}

/* `usual`, but the choices of `own` where these are faster by more than this factor. */
static const struct sched_choice *adopt(struct ir_program *p, const struct sched_choice *own,
                                        const struct sched_choice *usual, double factor, const struct sched_target *t)
{
	struct sched_choice *list = NEWN(p->arena, struct sched_choice, p->stages.n + 1);
	const struct sched_choice *both[] = { own, usual };
	for (int i = 0, end; i < p->stages.n; i = end) {
		end = sched_part_end(p, both, 2, i);
		bool better = sched_shown_time(p, usual, i, end, t) > factor * sched_shown_time(p, own, i, end, t);
		memcpy(list + i, (better ? own : usual) + i, sizeof *list * (size_t)(end - i));
	}
	return list;
}

const struct sched_choice *sched_adopt(struct ir_program *p, const struct sched_choice *own,
                                       const struct sched_choice *usual, const struct sched_target *t)
{
	return adopt(p, own, usual, WORTH, t);
}

/* Doublings of the extent that differs most. */
static double distance(const struct sched_target *a, const struct sched_target *b)
{
	double most = 0;
	for (int i = 0; i < a->extents; i++)
		if (a->extent[i].value > 0 && b->extent[i].value > 0)
			most = fmax(most, fabs(log2((double)a->extent[i].value / (double)b->extent[i].value)));
	return most;
}

double sched_credit(double slower, const struct sched_target *there, const struct sched_target *here)
{
	return pow(slower, 1 / (1 + distance(there, here)));
}

struct sched_tactic sched_tactic_best(struct ir_program *p, const struct sched_points *points)
{
	struct sched_tactic best = { { 0 } };
	const struct sched_choice *usual = sched_best(p, &points->target[points->opt]);
	for (int i = 0; i < points->n; i++) {
		const struct sched_target *t = &points->target[i];
		if (!points->between[i])
			best.choice[i] = i == points->opt ? usual : sched_adopt(p, sched_best(p, t), usual, t);
	}
	for (int i = 0; i < points->n; i++) {
		const struct sched_target *t = &points->target[i];
		if (points->between[i])
			best.choice[i] = sched_adopt(p, sched_best(p, t),
			                             adopt(p, best.choice[i + 1], best.choice[i - 1], 1, t), t);
	}
	return best;
}

/* ---- Several tactics. */

static bool same_choice(const struct sched_choice *a, const struct sched_choice *b)
{
	return a->rule == b->rule && memcmp(a->param, b->param, sizeof a->param) == 0;
}

static bool same_list(const struct ir_program *p, const struct sched_choice *a, const struct sched_choice *b)
{
	for (int i = 0; i < p->stages.n; i++)
		if (!same_choice(&a[i], &b[i]))
			return false;
	return true;
}

/* `list` with c as the choice for stage i. */
static const struct sched_choice *replace(struct ir_program *p, const struct sched_choice *list, int i,
                                          const struct sched_choice *c, const struct sched_target *t)
{
	struct sched_choice *given = NEWN(p->arena, struct sched_choice, p->stages.n + 1);
	struct sched_choice *out = NEWN(p->arena, struct sched_choice, p->stages.n + 1);
	memcpy(given, list, sizeof *given * (size_t)p->stages.n);
	given[i] = *c;
	sched_decide(p, t, given, out);
	return out;
}

/* Another list for the optimum, its time there, and the stage that it changes. */
struct other {
	const struct sched_choice *list;
	double time;
	int stage;
	struct sched_choice choice;
};

/* Adds the others for one stage to `other`, which holds n in ascending order of time. Returns the new number. */
static int add_others(struct ir_program *p, const struct sched_choice *usual, int stage, const struct sched_target *t,
                      double slowest, struct other *other, int n)
{
	struct arena *scratch = arena_new();
	struct sched_choice *choice = NEWN(scratch, struct sched_choice, SCHED_MAX_CHOICES);
	int found = sched_choices(p, p->stages.at[stage], t, choice);
	for (int i = 0; i < found && i < MAX_TRIED; i++) {
		if (same_choice(&choice[i], &usual[stage]))
			continue;
		struct other x = { .list = replace(p, usual, stage, &choice[i], t),
			           .stage = stage,
			           .choice = choice[i] };
		x.time = sched_time(p, x.list, 0, p->stages.n, t);
		if (x.time > slowest)
			continue;
		int at = n++;
		for (; at > 0 && other[at - 1].time > x.time; at--)
			other[at] = other[at - 1];
		other[at] = x;
	}
	arena_free(scratch);
	return n;
}

/* The choices at a point of the tactic that has x at the optimum: x's there, too, where the first tactic keeps the
 * optimum's choice, unless that is clearly slower here. */
static const struct sched_choice *other_at(struct ir_program *p, const struct sched_points *points,
                                           const struct sched_tactic *first, const struct other *x, int point)
{
	const struct sched_target *t = &points->target[point], *opt = &points->target[points->opt];
	const struct sched_choice *list = first->choice[point], *usual = first->choice[points->opt];
	if (!same_choice(&list[x->stage], &usual[x->stage]))
		return list;
	double slower =
	        sched_shown_time(p, x->list, 0, p->stages.n, opt) / sched_shown_time(p, usual, 0, p->stages.n, opt);
	const struct sched_choice *own = replace(p, list, x->stage, &x->choice, t);
	double time = sched_shown_time(p, own, 0, p->stages.n, t) / sched_credit(slower, opt, t);
	return time <= WORTH * sched_shown_time(p, list, 0, p->stages.n, t) ? own : list;
}

int sched_tactics(struct ir_program *p, const struct sched_points *points, const struct sched_tactic *first, int most,
                  struct sched_tactic *out)
{
	const struct sched_target *t = &points->target[points->opt];
	const struct sched_choice *usual = first->choice[points->opt];
	struct other *other = NEWN(p->arena, struct other, p->stages.n * MAX_TRIED + 1);
	double slowest = NEAR * sched_time(p, usual, 0, p->stages.n, t);
	int n = 0, found = 0;
	out[n++] = *first;
	for (int i = 0; most > 1 && i < p->stages.n; i += sched_span(p, p->stages.at[i], &usual[i]))
		found = add_others(p, usual, i, t, slowest, other, found);
	for (int k = 0; k < found && n < most; k++) {
		const struct other *x = &other[k];
		bool known = false;
		for (int i = 0; i < n; i++)
			known |= same_list(p, out[i].choice[points->opt], x->list);
		if (known)
			continue;
		for (int i = 0; i < points->n; i++)
			out[n].choice[i] = i == points->opt ? x->list : other_at(p, points, first, x, i);
		n++;
	}
	return n;
}
