/* Inside src/sched/core/: which choices run at which extents. Stages are divided into parts: the shortest runs that
 * every list of choices begins and ends together. A part with several such lists ("ways") uses one of them for each set
 * of extents.
 *
 * Candidates are the lists of a tactic's points, those that are best at odd extents near them and, for a profile, at
 * places between: there each symbol has a value of its own, also where the points grow all symbols together. All
 * candidates are estimated at these extents and at many more (ways_find.c). The few that together lose the least become
 * ways, and a tree of conditions selects one: a symbol, or the product of all symbols, is at most a number; or a
 * condition that an estimate relied on holds, such as "vectors divide the rows" or "registers hold the row". */
#ifndef TPAT_WAYS_H
#define TPAT_WAYS_H

#include "sched/core/choose.h"

enum { MOST_WAYS = 64 };

struct way_finder {
	struct ir_program *p;
	const struct sched_points *points;
	struct sched_points odd;                            /* the same with odd extents */
	const struct sched_choice *best[SCHED_MAX_POINTS];  /* there; null: not needed yet */
	const struct sched_choice *more[SCHED_MORE_PLACES]; /* the best at ways_place(); null: not needed yet */
};

/* The choices of a tactic at its points, then those at odd extents near each of them, then those between. */
struct choices {
	const struct sched_choice *at[SCHED_MOST_LISTS];
	int n;
};

/* One way to compute a part, and the extents it is for. The first of those that fit is the one. */
struct way {
	const struct sched_choice *list;
	expr fits; /* null: always */
};

struct way_finder ways_new(struct ir_program *p, const struct sched_points *points);
struct choices ways_choices(struct way_finder *d, const struct sched_tactic *tactic);
/* Extents between the first point and the last one: place j, of any number that fill this space evenly. */
struct sched_target ways_place(const struct way_finder *d, int j);
/* The first stage after the part that begins at stage `from`. */
int ways_part_end(const struct way_finder *d, const struct choices *all, int from);
/* Writes the ways of the part from ... to - 1, into out[MOST_WAYS], and returns their number. */
int ways_of_part(const struct way_finder *d, const struct choices *all, int from, int to, struct way *out);

#endif
