/* Inside src/eval/ only: the loops around a stage's instructions, and running them on threads. */
#ifndef TPAT_EVAL_NEST_H
#define TPAT_EVAL_NEST_H

#include "eval/code.h"

struct nest_worker {
	struct frame body, post;
	int64_t axis[EVAL_AXES];
	int64_t at[EVAL_AXES + 1]; /* of each loop */
	int piece;                 /* in work */
};

/* Loops, outermost first. The first `outer` ones make the *units*, which are independent and shared out to threads; the
 * others run inside a unit. One loop runs over the chunks of lanes: the last of the outer ones (lanes are results), or
 * the first of the inner ones (lanes are parts of one reduction). */
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
	struct eval_space post_space; /* without lanes where they are inside */
	bool has_post;
	int acc, post_acc; /* the body's register of what was accumulated, and `post`'s */
	/* One unit. The instructions of levels from `first` to `outer` are due, in body and post. False on a fault. */
	bool (*unit)(const struct nest *n, struct nest_worker *w, int64_t unit, int first);
	const void *stage;          /* for `unit` */
	double work;                /* lane operations of a unit, about */
	struct nest_worker *worker; /* made by the first run; later ones have the same */
	int workers;
};

/* The trailing axes of low .. high - 1 that make lanes. */
void nest_lanes(struct eval_space *s, int low, int high);
/* Loops over the axes 0 .. outer_rank - 1 but lanes, then the chunks where lanes are results; inner ones are added
 * after. */
void nest_loops(struct nest *n, int outer_rank);
void nest_add_loop(struct nest *n, int axis, int64_t extent);
/* The inner loops over axes low .. high - 1 but lanes; `reorder`: so that most instructions move out of the inner
 * ones. */
void nest_inner_loops(struct nest *n, int low, int high, bool reorder);
/* Levels of the codes, once all loops are known. */
void nest_finish(struct nest *n);
/* Moves loop k to `w->at[k]`. */
void nest_set(const struct nest *n, struct nest_worker *w, int k);
/* Runs all units; `workers`: at most, 0: as the run says. */
int nest_run(struct nest *n, int workers);
/* The nest as a part of a stage. */
void nest_ready(struct nest *n, int workers, struct eval_ready *ready);
/* Threads must not share a byte of packed elements: how many may write `out`, as nest_run wants it. */
int nest_workers_for(const struct eval_buffer *out);
/* The space of a buffer's own axes, without lanes yet. */
void nest_space_of(struct eval_space *s, const struct eval_buffer *b);
/* The first element of a unit's results in the stage's buffer. */
int64_t nest_position(const struct nest *n, int64_t unit);

#endif
