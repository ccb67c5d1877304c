/* Inside src/sched/core/: which choices run at which extents. Stages are divided into parts: the shortest runs with a
 * separate list of choices at all points of a tactic. A part with several such lists ("ways") uses a point's way for
 * all extents around the point. The border between two successive points is a product of the relevant symbols. These
 * are the symbols of the part's extents that differ between the points, or only those that alone make the next point's
 * way the faster one. The border lies where the two ways' estimates cross, as the extents grow from one point to the
 * next by equal factors.
 *
 * A point's extents may be whole vectors where others around it are not, such as 4096 among 4095 and 4097. If the
 * point's way is much slower there, it takes only the extents for which the conditions hold that its estimate relied
 * on. The others have a second way, which is the fastest at odd extents near the point. */
#ifndef TPAT_WAYS_H
#define TPAT_WAYS_H

#include "sched/core/choose.h"

enum { MOST_WAYS = SCHED_MAX_POINTS * (SCHED_MAX_POINTS + 1) /* a point's, and after it those for odd extents */ };

struct way_finder {
	struct ir_program *p;
	const struct sched_points *points;
	struct sched_points odd;                           /* the same with odd extents */
	const struct sched_choice *best[SCHED_MAX_POINTS]; /* there; null: not needed yet */
};

/* The choices of a tactic at its points, and at odd extents near each of them. */
struct choices {
	const struct sched_choice *at[2 * SCHED_MAX_POINTS]; /* first at all points, then at odd extents */
};

/* One way to compute a part, and the extents it is for. The first of those that fit is the one. */
struct way {
	const struct sched_choice *list;
	expr fits; /* null: always */
};

struct way_finder ways_new(struct ir_program *p, const struct sched_points *points);
struct choices ways_choices(struct way_finder *d, const struct sched_tactic *tactic);
/* The first stage after the part that begins at stage `from`. */
int ways_part_end(const struct way_finder *d, const struct choices *all, int from);
/* Writes the ways of the part from ... to - 1, into out[MOST_WAYS], and returns their number. */
int ways_of_part(struct way_finder *d, const struct choices *all, int from, int to, struct way *out);

#endif
