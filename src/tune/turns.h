/* The logic of measuring: compares two candidates that run by turns, and chooses among the best of a search. Pure:
 * times and clocks come from functions, so that a simulated device can test it. */
#ifndef TPAT_TUNE_TURNS_H
#define TPAT_TUNE_TURNS_H

#include "base/error.h"
#include "tune/search.h"

enum { TUNE_MAX_ROUNDS = 512 };

struct tune_meter {
	/* Nanoseconds of one run of candidate 0, which is judged, or 1, its reference. */
	int (*sample)(void *user, int which, double *ns, struct err *e);
	/* The device's clock now, in MHz; 0: unknown. May be null. */
	double (*clock)(void *user);
	void *user;
	bool alone; /* there is no reference */
};

struct tune_turns {
	double ns, spread;    /* of candidate 0: the median, and (third quartile - first quartile) / median */
	double ratio;         /* its time / the reference's, the middle of all rounds; 1 if alone */
	double error;         /* the ratio's standard error */
	int rounds, unsteady; /* rounds that count; those left out because the clock changed within them */
};

/* One sample of each a round, the first of them by turns, so that a drifting clock favours neither. Ends early when
 * candidate 0 is clearly slower. `exact`: also when the ratio is known well enough to choose by it, and after 9 rounds
 * not before; then `rounds` is the most. At least one sample of a round's time beyond `limit_ns` in all ends it, too;
 * 0: no limit. */
int tune_by_turns(struct tune_turns *out, const struct tune_meter *m, int rounds, bool exact, double limit_ns,
                  struct err *e);

/* ---- The choice. */

/* Compares `p` with `against`; false if it cannot. */
typedef bool (*tune_compare_fn)(void *user, struct tune_point p, struct tune_point against, double *ratio);

enum { TUNE_CONTENDERS = 8 };
struct tune_choice {
	struct tune_trial trial[TUNE_CONTENDERS + 2]; /* compared anew: those that could be, the chosen one first */
	int n;
};

/* Compares the best few of the search, and the cost model's choice, with the fastest of them. Of those that are equally
 * fast within half a percent, it chooses the one that the cost model likes best, step by step, so that repeated
 * searches choose the same; its time is the least of theirs. Times are in the measure of the cost model's choice if
 * that is ok. */
void tune_choose(struct tune_choice *out, const struct tune_search *s, const struct tune_space *space,
                 tune_compare_fn compare, void *user, struct arena *a);

#endif
