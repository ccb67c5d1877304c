/* The size of a search space. */
#ifndef TPAT_TESTS_SPACE_POINTS_H
#define TPAT_TESTS_SPACE_POINTS_H

#include "tune/search.h"

/* The number of points; may be huge. From the last stage to the first: multiplies an option by the ways of the stages
 * after those it covers. */
static inline double space_points(const struct tune_space *s)
{
	double *ways = NEWN(s->arena, double, s->stages + 1);
	ways[s->stages] = 1;
	for (int i = s->stages - 1; i >= 0; i--)
		for (int k = 0; k < s->stage[i].options; k++) {
			int span = sched_span(s->program, s->program->stages.at[i], &s->stage[i].option[k]);
			ways[i] += ways[i + span < s->stages ? i + span : s->stages];
		}
	return ways[0];
}

#endif
