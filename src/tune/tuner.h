/* Tunes one program: takes candidates from the search, lets several processes compile them and one process measure
 * them, one at a time, and survives their failures. */
#ifndef TPAT_TUNE_TUNER_H
#define TPAT_TUNE_TUNER_H

#include "tune/worker.h"

struct tune_state {
	int trials;   /* answered so far */
	double best;  /* ns; 0: none yet */
	double first; /* of the cost model's choice; 0: unknown */
	double bytes; /* minimum traffic */
	double seconds, left;
};

struct tune_job {
	struct tune_bench bench;
	struct tune_search *search; /* new, with known and suggested trials added */
	double seconds;             /* budget */
	int trials;                 /* budget; 0: limited by time only; -1: no trial */
	int compilers;              /* processes */
	double deadline;            /* seconds to compile, and to measure, one candidate; 0: 30 */
	double opening;             /* extra seconds for a new measurer, which opens the device; 0: 60 */
	/* Called for every trial as soon as it is known. May be null. */
	void (*tried)(void *user, const struct tune_trial *t, double bytes);
	/* Called for the best few with their times by the last comparison, the chosen one first. May be null. */
	void (*compared)(void *user, const struct tune_trial *t, double bytes);
	/* Called a few times per second; returns true to stop with the best so far. May be null. */
	bool (*progress)(void *user, const struct tune_state *s);
	void *user;
};

enum tune_end {
	TUNE_END_SEARCH, /* nothing left to try, or no gain for a while */
	TUNE_END_BUDGET,
	TUNE_END_INTERRUPT,
	TUNE_END_FAULT, /* disk or device failure, not a candidate's. See tune_result.err */
};

struct tune_result {
	struct tune_trial best, first; /* first: the cost model's choice. point.option is null if none is ok */
	int trials, failed;            /* trials: with combinations that the last comparison adds; failed: not ok */
	double bytes, seconds;
	enum tune_end end;
	struct err fault;
};

/* Always gives a result, in `a`, even if every candidate fails. */
void tune_program(struct tune_result *out, const struct tune_job *job, struct arena *a);

#endif
