/* Inside src/sched/: choices of rules, and their cost. */
#ifndef TPAT_SCHED_CHOOSE_H
#define TPAT_SCHED_CHOOSE_H

#include "sched/sched.h"
#include "sched/target/cost.h"

/* Mapping of a map's elements to threads: each computes `width` neighbours at each of `planes` positions along `axis`.
 * vectors: loads are vectorised as vector_loads finds. map_time() returns the kernel's time in nanoseconds
 * (cost_map.c). */
struct map_shape {
	int planes, axis, width;
	bool vectors;
	bool clamped; /* loads at positions from memory are clamped rather than guarded */
	/* Loads that are vectors at any position, loaded for all elements (load_shifted()); null: none. */
	bool (*shifted)(void *user, expr load);
	void *user;
	bool apart; /* each element of a vector finds its own axes, as vectors may continue in the next row */
};
double map_time(struct ir_program *p, const struct ir_stage *s, const struct map_shape *shape,
                const struct sched_target *t);

/* Mapping of a stage's points to threads, for the estimate of a rule that streams them (cost.c). */
struct cost_way {
	int axis;        /* of the stage's space, that neighbouring threads run along; -1: none */
	double threads;  /* working at the same time */
	double columns;  /* neighbouring elements per load of a thread */
	double flight;   /* loads of a thread on their way at once; 0: one */
	double points;   /* executions of each load; 0: one per point of the space */
	double work;     /* instructions of all threads; 0: those of the value, once per point */
	double strided;  /* extra bytes moved by strided accesses */
	double overhead; /* ns that nothing hides */
	double serial;   /* ns of one thread's work */
	double slower;   /* factor on the time of the bytes */
	double blocks;   /* number of blocks, if too few to fill the GPU; else 0 */
};
/* One thread per element of the result, along its last axis. */
struct cost_way cost_way(const struct sched_site *site);
double cost_of_way(const struct sched_site *site, const struct cost_way *w); /* ns */
/* Instructions of all points of a stage's space. Products of two elements, as of convolutions, wait for their loads and
 * conditions: measured on an H200, a thread that adds them one by one takes 1.7 times as long, with conditions 3 times.
 */
double cost_work(const struct sched_site *site);
/* True if the value is a product of two loads, perhaps cast or selected. */
bool cost_is_product(const struct sched_site *site);
double cost_way_bytes(const struct sched_site *site, const struct cost_way *w);

/* Appends the steps of a choice for a stage. None of their kernels fits extents for which the stage is undefined. */
void apply_choice(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c,
                  const struct sched_target *t);

enum { SCHED_MORE_PLACES = 24, SCHED_MOST_LISTS = 2 * SCHED_MAX_POINTS + SCHED_MORE_PLACES };

/* Returns the first stage after `from` at which each of the n lists begins a choice. */
int sched_part_end(struct ir_program *p, const struct sched_choice *const *list, int n, int from);

/* The target with extents between those of two points: their values as they grow by equal factors, at a place from 0 to
 * 1. Where both are multiples of a small power of two, so are these. */
struct sched_target sched_target_between(const struct sched_target *a, const struct sched_target *b, double place,
                                         struct arena *arena);

/* The estimate of stages from ... to - 1 without most of a launch: between other launches, one takes less. */
double sched_shown_time(struct ir_program *p, const struct sched_choice *list, int from, int to,
                        const struct sched_target *t);

/* The factor by which choices count as faster than their estimate `here`, if they are the fastest `there`, where their
 * estimate is slower than the best one by `slower`: as much there, and less the further away. */
double sched_credit(double slower, const struct sched_target *there, const struct sched_target *here);

/* The best choices at one point. */
const struct sched_choice *sched_best(struct ir_program *p, const struct sched_target *t);
/* A point's own choices, but those of `usual` wherever these are hardly slower. */
const struct sched_choice *sched_adopt(struct ir_program *p, const struct sched_choice *own,
                                       const struct sched_choice *usual, const struct sched_target *t);

/* For match(): copies its result into the program's arena. */
#define FOUND(P, X) keep_found(P, &(X), sizeof(X))
const void *keep_found(struct ir_program *p, const void *found, size_t size);
/* sched_candidates() for stages that rules create, which are not the program's own. */
int rule_candidates(const struct sched_rule *r, struct ir_program *p, const struct ir_stage *s,
                    const struct sched_target *t, struct sched_choice *out);
/* The candidate of these rules with the best estimate, which *ns (may be null) gets. A null rule: there is none. */
struct sched_choice rule_fastest(const struct sched_rule *const *rule, int rules, struct ir_program *p,
                                 const struct ir_stage *s, const struct sched_target *t, double *ns);

#define RULE(name) extern const struct sched_rule sched_##name;
#include "sched/rules.def"
#undef RULE

#endif
