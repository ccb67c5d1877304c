/* Places between a profile's points; see ways.h. */
#include "sched/core/ways.h"

#include <math.h>

/* A number that whole vectors divide, or an odd one. */
static int64_t rounded(double value, bool whole)
{
	int64_t n = (int64_t)(value + 0.5), step = 16;
	while (step > n && step > 1)
		step /= 2;
	return whole ? n / step * step : n | 1;
}

/* Multiples of the roots of different numbers without a common factor fill a space evenly. */
struct sched_target ways_place(const struct way_finder *d, int j)
{
	static const int prime[] = { 2, 3, 5, 7, 11, 13, 17, 19 };
	const struct sched_points *points = d->points;
	const struct sched_target *first = &points->target[0], *last = &points->target[points->n - 1];
	struct sched_target t = points->target[points->opt];
	struct sched_extent *extent = NEWN(d->p->arena, struct sched_extent, t.extents + 1);
	for (int k = 0; k < t.extents; k++) {
		double root = sqrt(prime[k % (int)(sizeof prime / sizeof *prime)]),
		       low = (double)first->extent[k].value;
		bool whole = fmod((j + 1) * (root + 0.37), 1) < 0.5;
		extent[k] = t.extent[k];
		if (low < 1 || low == (double)last->extent[k].value)
			continue;
		extent[k].value =
		        rounded(low * pow((double)last->extent[k].value / low, fmod((j + 1) * root, 1)), whole);
	}
	t.extent = extent;
	return t;
}
