/* The search for the fastest schedule of a program: which candidates to try, in which order, and when to stop.
 * Deterministic: starts no process and reads no clock, so the same answers lead to the same questions.
 *
 * Vocabulary: a step's *option* is one choice of one rule for a stage; a *point* is an option for each stage of the
 * program (none for stages that an earlier stage's option includes); a *trial* is a point with its measurement. */
#ifndef TPAT_TUNE_SEARCH_H
#define TPAT_TUNE_SEARCH_H

#include "base/error.h"
#include "sched/sched.h"

enum { TUNE_MAX_STAGES = 1024 };

/* The outcome of a trial. All but the first reject the candidate. */
enum tune_status {
	TUNE_OK,
	TUNE_COMPILER, /* rejected by the compiler */
	TUNE_FAILED,   /* rejected by the driver: not loadable, not launchable, or out of memory */
	TUNE_WRONG,    /* results differ from the reference */
	TUNE_BOUNDS,   /* wrote outside a buffer */
	TUNE_CRASHED,  /* killed its process */
	TUNE_HUNG,     /* exceeded its deadline */
	TUNE_STATUS_COUNT
};
extern const char *const tune_status_name[TUNE_STATUS_COUNT]; /* "ok", "compiler" ... */

struct tune_stage {
	struct sched_choice *option; /* best first by the cost model */
	int options, cap;
};

struct tune_space {
	struct ir_program *program;
	const struct sched_target *target;
	struct tune_stage *stage; /* one per program stage */
	int stages;
	struct arena *arena;
};

/* All options of the rules for each stage; keeps `t`. ERR_UNSUPPORTED for a program of more than TUNE_MAX_STAGES. */
int tune_space_new(struct tune_space **out, struct ir_program *p, const struct sched_target *t, struct arena *a,
                   struct err *e);
/* Adds an option that no rule generated; returns its number. */
int tune_space_add(struct tune_space *s, int stage, const struct sched_choice *c);

struct tune_point {
	int16_t *option; /* one per stage; -1: included in an earlier one */
};
/* The cost model's choice. */
struct tune_point tune_point_first(const struct tune_space *s, struct arena *a);
struct tune_point tune_point_copy(const struct tune_space *s, struct tune_point p, struct arena *a);
/* The point's choices for sched_program(). */
struct sched_choice *tune_point_choices(const struct tune_space *s, struct tune_point p, struct arena *a);
/* The point's sched_decisions_text(). */
const char *tune_point_text(const struct tune_space *s, struct tune_point p, struct arena *a);
/* Parses a point; false if it is not in this space (another program, other versions of rules). */
bool tune_point_read(const struct tune_space *s, struct tune_point *out, const char *text, struct arena *a);
bool tune_point_same(const struct tune_space *s, struct tune_point x, struct tune_point y);

struct tune_trial {
	struct tune_point point;
	enum tune_status status;
	double ns;       /* of one run, if ok */
	double spread;   /* (third quartile - first quartile) / median */
	const char *why; /* reason of failure, or "" */
	int kernels;
};

/* The order of questions: the cost model's choice; points from `tune_search_suggest`; then, step by step, every option
 * of each step once, in the model's order, with the other steps at the best found so far (steps' costs are nearly
 * independent); then the best options of all steps together; then evolution: mutations of one step to a neighbouring
 * option, and crossings of two good points.
 *
 * It ends when no point is untried, or when `TUNE_PATIENCE` consecutive points of the evolution gained less than 1%. */
enum { TUNE_PATIENCE = 24 };
struct tune_search;
/* Returns a new search in `a`, which keeps `s`. `seed` decides the evolution. */
struct tune_search *tune_search_new(const struct tune_space *s, uint64_t seed, struct arena *a);
/* Adds a point to ask for right after the cost model's choice. */
void tune_search_suggest(struct tune_search *s, struct tune_point p);
/* Makes this search share `index` of `count` shares, which do not see each other's answers. Every share asks for the
 * cost model's choice. The options of each step are dealt out in the model's order, with the model's choice for all
 * other steps. So all shares together ask for the same points, whatever their number. `most` limits the points of all
 * shares together (0: no limit). A share ends there: combinations depend on all answers, so a later search that knows
 * the answers asks for them. If the model's choice fails, there is nothing to compare with, and every share searches
 * alone. Call it before the first question. */
void tune_search_divide(struct tune_search *s, int index, int count, int most);
/* Adds a known trial, which is not asked for again. */
void tune_search_known(struct tune_search *s, const struct tune_trial *t);
/* The next point to try; false: none now, and none ever if all questions are answered. */
bool tune_search_next(struct tune_search *s, struct tune_point *out);
/* Reports an answer, in any order. */
void tune_search_tell(struct tune_search *s, const struct tune_trial *t);
/* The best trial; null: none was ok. */
const struct tune_trial *tune_search_best(const struct tune_search *s);
/* The trial of a point; null if it has no answer. */
const struct tune_trial *tune_search_find(const struct tune_search *s, struct tune_point p);
/* The nanoseconds that an option of a step adds to a point's time, relative to the step's first known option; NAN:
 * unknown. */
double tune_search_cost(const struct tune_search *s, int stage, int option);
/* The k-th best trial; null if there are fewer. */
const struct tune_trial *tune_search_ranked(const struct tune_search *s, int k);

#endif
