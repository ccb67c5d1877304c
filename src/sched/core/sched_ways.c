/* The lists of choices whose parts become ways, and the time of a tactic; see ways.h. */
#include "sched/core/ways.h"

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

/* True if the estimates of a list rely on conditions at a point. */
static bool relies(const struct way_finder *d, const struct sched_choice *list, int i)
{
	struct sched_target t = d->points->target[i];
	expr asked = ir_int(d->p->pool, TYPE_BOOL, 1);
	t.asked = &asked;
	sched_time(d->p, list, 0, d->p->stages.n, &t);
	return !ir_is_int(asked, 1);
}

/* What is best at odd extents does not depend on the tactic, and only a list that relies on conditions needs it. */
static const struct sched_choice *at_odd_extents(struct way_finder *d, const struct sched_choice *usual, int i)
{
	if (d->points->n == 1 || !relies(d, usual, i))
		return usual;
	if (!d->best[i])
		d->best[i] = sched_best(d->p, &d->odd.target[i]);
	return sched_adopt(d->p, d->best[i], usual, &d->odd.target[i]);
}

/* False where the points are a guess, or have measured choices. */
static bool has_between(const struct sched_points *points)
{
	for (int i = 0; i < points->n; i++)
		if (points->between[i])
			return true;
	return false;
}

struct choices ways_choices(struct way_finder *d, const struct sched_tactic *tactic)
{
	struct choices all = { .n = 0 };
	int n = d->points->n;
	for (int i = 0; i < n; i++) {
		all.at[i] = tactic->choice[i];
		all.at[n + i] = at_odd_extents(d, all.at[i], i);
	}
	all.n = 2 * n;
	for (int j = 0; has_between(d->points) && j < SCHED_MORE_PLACES; j++) {
		struct sched_target t = ways_place(d, j);
		if (!d->more[j])
			d->more[j] = sched_best(d->p, &t);
		all.at[all.n++] = d->more[j];
	}
	return all;
}

int ways_part_end(const struct way_finder *d, const struct choices *all, int from)
{
	return sched_part_end(d->p, all->at, all->n, from);
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
