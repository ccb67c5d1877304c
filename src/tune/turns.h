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

/* Takes one sample of each candidate per round, at most `rounds` rounds. The candidates take turns at being first, so
 * that clock drift favours neither. Ends early when candidate 0 is clearly slower. With `exact` it also ends, after 9
 * rounds or more, once the ratio is known well enough to choose by it. After 9 rounds it also ends once all samples
 * together exceed `limit_ns`; 0: no limit. */
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

/* Compares the best few candidates of the search, and the cost model's choice, with the fastest of them. Among those
 * within half a percent of it, takes step by step the options that the cost model prefers, so that repeated searches
 * choose the same. The chosen one's time is the minimum of theirs. If the cost model's choice is ok, all times are
 * scaled to its time. */
void tune_choose(struct tune_choice *out, const struct tune_search *s, const struct tune_space *space,
                 tune_compare_fn compare, void *user, struct arena *a);

#endif
