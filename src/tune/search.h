/* The search for the fastest schedule of a program: which candidates to try, in which order, and when to stop. Pure: it
 * starts no process and reads no clock, so that the same answers give the same questions.
 *
 * Vocabulary: a step's *option* is one choice of one rule for a stage; a *point* is an option for each stage of the
 * program (none for stages that an earlier stage's option makes too); a *trial* is a point with what measuring it
 * gave. */
#ifndef TPAT_TUNE_SEARCH_H
#define TPAT_TUNE_SEARCH_H

#include "base/error.h"
#include "sched/sched.h"

enum { TUNE_MAX_STAGES = 1024 };

/* How a trial ended. All but the first cost one candidate. */
enum tune_status {
	TUNE_OK,
	TUNE_COMPILER, /* the compiler refused it */
	TUNE_FAILED,   /* the driver did: it could not be loaded, launched, or there is no memory for it */
	TUNE_WRONG,    /* other results than the reference */
	TUNE_BOUNDS,   /* it wrote beside a buffer */
	TUNE_CRASHED,  /* the process died of it */
	TUNE_HUNG,     /* not over by its deadline */
	TUNE_STATUS_COUNT
};
extern const char *const tune_status_name[TUNE_STATUS_COUNT]; /* "ok", "compiler" ... */
enum tune_status tune_status_named(const char *name);         /* TUNE_FAILED where it is no name */

struct tune_stage {
	struct sched_choice *option; /* in the order of the cost model */
	int options, cap;
};

struct tune_space {
	struct ir_program *program;
	struct tune_stage *stage; /* one for each of the program's */
	int stages;
	struct arena *arena;
};

/* All options of the rules for each stage. ERR_UNSUPPORTED for a program of more than TUNE_MAX_STAGES. */
int tune_space_new(struct tune_space **out, struct ir_program *p, const struct sched_target *t, struct arena *a,
                   struct err *e);
/* One more option, which the rules did not name; returns its number. */
int tune_space_add(struct tune_space *s, int stage, const struct sched_choice *c);
/* How many different points there are, as a number that may be large. */
double tune_space_points(const struct tune_space *s);

struct tune_point {
	int16_t *option; /* one for each stage; -1: an earlier one makes it */
};
/* The cost model's choice. */
struct tune_point tune_point_first(const struct tune_space *s, struct arena *a);
struct tune_point tune_point_copy(const struct tune_space *s, struct tune_point p, struct arena *a);
/* As sched_program() takes it. */
struct sched_choice *tune_point_choices(const struct tune_space *s, struct tune_point p, struct arena *a);
/* As sched_decisions_text(). */
const char *tune_point_text(const struct tune_space *s, struct tune_point p, struct arena *a);
/* The point that a text says; false where it is none of this space (another program, rules of other versions). */
bool tune_point_read(const struct tune_space *s, struct tune_point *out, const char *text, struct arena *a);
bool tune_point_same(const struct tune_space *s, struct tune_point x, struct tune_point y);

struct tune_trial {
	struct tune_point point;
	enum tune_status status;
	double ns;       /* of one run, where it is ok */
	double spread;   /* (third quartile - first quartile) / median */
	const char *why; /* what was wrong; "" */
	int kernels;
};

/* The order of questions: the cost model's choice; points that `tune_search_suggest` named; then, step by step, every
 * option of each step once, the model's better ones first, the other steps at the best found so far (what a step costs
 * hardly depends on the others); then the best option of each step together; then evolution: mutations of one step to a
 * neighbouring option, and crossings of two good points.
 *
 * It ends when there is no untried point, or when `TUNE_PATIENCE` points of the evolution in a row gained less than a
 * hundredth. */
enum { TUNE_PATIENCE = 24 };
struct tune_search;
struct tune_search *tune_search_new(const struct tune_space *s, uint64_t seed, struct arena *a);
void tune_search_suggest(struct tune_search *s, struct tune_point p);
/* A trial that is known already: it is not asked for again. */
void tune_search_known(struct tune_search *s, const struct tune_trial *t);
/* The next question; false: nothing to ask, for ever when all that was asked is answered. */
bool tune_search_next(struct tune_search *s, struct tune_point *out);
/* An answer; any order. */
void tune_search_tell(struct tune_search *s, const struct tune_trial *t);
/* The best trial; null: none was ok. */
const struct tune_trial *tune_search_best(const struct tune_search *s);
/* What is known of a point; null: it was not asked for, or is not answered. */
const struct tune_trial *tune_search_find(const struct tune_search *s, struct tune_point p);
/* The k-th best trial; null: there are not as many. */
const struct tune_trial *tune_search_ranked(const struct tune_search *s, int k);

#endif
