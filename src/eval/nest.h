/* Inside src/eval/ only: the loop nest around a stage's instructions, and its execution on threads. */
#ifndef TPAT_EVAL_NEST_H
#define TPAT_EVAL_NEST_H

#include "eval/code.h"

struct nest_worker {
	struct frame body, post;
	int64_t axis[EVAL_AXES];
	int64_t at[EVAL_AXES + 1]; /* index of each loop */
	int piece;                 /* being processed */
};

/* Loops, outermost first. The first `outer` ones form the *units*, which are independent and distributed to threads;
 * the others run inside a unit. One loop runs over the chunks of lanes: the last of the outer ones (lanes are results),
 * or the first of the inner ones (lanes are parts of one reduction). */
struct nest {
	struct eval_run *run;
	struct eval_space space;
	struct nest_loop {
		int axis; /* -1: chunks */
		int64_t extent;
	} loop[EVAL_AXES + 1];
	int loops, outer;
	bool lanes_inside; /* the chunk loop is an inner one */
	int64_t units;
	struct code body, post;
	struct eval_space post_space; /* without lanes if those are inner */
	bool has_post;
	int acc, post_acc; /* register of the accumulator in the body, and in `post` */
	/* Runs one unit. Levels from `first` to `outer` must be recomputed, in body and post. False on a fault. */
	bool (*unit)(const struct nest *n, struct nest_worker *w, int64_t unit, int first);
	const void *stage;          /* for `unit` */
	double work;                /* approximate lane operations per unit */
	struct nest_worker *worker; /* made by the first run, reused later */
	int workers;
};

/* Chooses the trailing axes of low .. high - 1 that become lanes. */
void nest_lanes(struct eval_space *s, int low, int high);
/* Adds loops over the axes 0 .. outer_rank - 1 except lanes, then over the chunks if lanes are results; inner loops
 * follow. */
void nest_loops(struct nest *n, int outer_rank);
/* Adds inner loops over axes low .. high - 1 except lanes; `reorder`: in the order that hoists most instructions. */
void nest_inner_loops(struct nest *n, int low, int high, bool reorder);
/* Assigns the instructions' levels, once all loops are known. */
void nest_finish(struct nest *n);
/* Sets loop k to `w->at[k]`. */
void nest_set(const struct nest *n, struct nest_worker *w, int k);
/* Runs all units; `workers`: maximum, 0: the run's. */
int nest_run(struct nest *n, int workers);
/* Adds the nest as a part of a prepared stage. */
void nest_ready(struct nest *n, int workers, struct eval_ready *ready);
/* The number of threads that may write `out`, for nest_run: threads must not share a byte of packed elements. */
int nest_workers_for(const struct eval_buffer *out);
/* Makes the space of a buffer's own axes, without lanes. */
void nest_space_of(struct eval_space *s, const struct eval_buffer *b);
/* The first element of a unit's results in the stage's buffer. */
int64_t nest_position(const struct nest *n, int64_t unit);

#endif
