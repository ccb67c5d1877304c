/* Tuning one program: asks the search, has candidates compiled by several processes and measured by one, one at a time,
 * and survives whatever they do. */
#ifndef TPAT_TUNE_TUNER_H
#define TPAT_TUNE_TUNER_H

#include "tune/worker.h"

struct tune_state {
	int trials;   /* answered so far */
	double best;  /* ns; 0: none yet */
	double first; /* of the cost model's choice; 0: not known */
	double bytes; /* that must move */
	double seconds, left;
};

struct tune_job {
	struct tune_bench bench;
	struct tune_search *search; /* fresh; with what is known and suggested */
	double seconds;             /* budget */
	int trials;                 /* budget; 0: as many as there is time for */
	int compilers;              /* processes */
	double deadline;            /* seconds for compiling, and for measuring, one candidate; 0: 30 */
	double opening;             /* more of them for a measurer that is new: it opens the device; 0: 60 */
	/* Every trial, as soon as it is known. May be null. */
	void (*tried)(void *user, const struct tune_trial *t, double bytes);
	/* A few times a second; true: stop and give what is best. May be null. */
	bool (*progress)(void *user, const struct tune_state *s);
	void *user;
};

enum tune_end {
	TUNE_END_SEARCH, /* nothing left to try, or no gain for long */
	TUNE_END_BUDGET,
	TUNE_END_INTERRUPT,
	TUNE_END_FAULT, /* the disk, the device: candidates were not to blame. See tune_result.err */
};

struct tune_result {
	struct tune_trial best, first; /* first: the cost model's choice. point.option is null where there is none that
	                                  is ok */
	bool confirmed;                /* both were timed once more, by turns */
	int trials, failed;            /* of these: that were not ok */
	double bytes, seconds;
	enum tune_end end;
	struct err fault;
};

/* Always gives a result, also when every candidate fails. `a` holds it. */
void tune_program(struct tune_result *out, const struct tune_job *job, struct arena *a);

#endif
