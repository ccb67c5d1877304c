/* Inside src/sched/: choices of rules, and what they take. */
#ifndef TPAT_SCHED_CHOOSE_H
#define TPAT_SCHED_CHOOSE_H

#include "sched/sched.h"
#include "sched/target/cost.h"

/* How threads go over a map's elements: `width` neighbours, at each of `planes` places along `axis`; vectors: loads of
 * these are what vector_loads says. And what the kernel takes then, in nanoseconds (cost_map.c). */
struct map_shape {
	int planes, axis, width;
	bool vectors;
};
double map_time(struct ir_program *p, const struct ir_stage *s, const struct map_shape *shape,
                const struct sched_target *t);

/* How threads go over a stage's points, for the estimate of a rule that streams them (cost.c). */
struct cost_way {
	int axis;        /* of the stage's space: neighbouring threads run along it; -1: along none */
	double threads;  /* at work at the same time */
	double columns;  /* neighbouring elements that a thread reads at once */
	double points;   /* how often loads are made; 0: once a point of the space */
	double strided;  /* bytes that move because accesses are apart from each other */
	double overhead; /* ns that nothing hides */
	double serial;   /* ns of one thread's work */
	double slower;   /* x the time of the bytes */
	double blocks;   /* of few blocks, each moves its part alone; 0: they are not few */
};
/* A thread an element of the result, along its last axis. */
struct cost_way cost_way(const struct sched_site *site);
double cost_of_way(const struct sched_site *site, const struct cost_way *w); /* ns */
double cost_way_bytes(const struct sched_site *site, const struct cost_way *w);

/* Adds the steps of a stage made by a choice. Extents that the stage has no meaning for fit none of their kernels. */
void apply_choice(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c,
                  const struct sched_target *t);

/* The first stage behind `from` at which a choice of each of these n lists begins. */
int sched_part_end(struct ir_program *p, const struct sched_choice *const *list, int n, int from);

/* What the stages from `from` to before `to` take with the choices of a list, by the cost model. */
double sched_time(struct ir_program *p, const struct sched_choice *list, int from, int to,
                  const struct sched_target *t);

/* The rules' own match(): what was found, in the program's arena. */
#define FOUND(P, X) keep_found(P, &(X), sizeof(X))
const void *keep_found(struct ir_program *p, const void *found, size_t size);
/* sched_candidates() for stages that rules make. */
int rule_candidates(const struct sched_rule *r, struct ir_program *p, const struct ir_stage *s,
                    const struct sched_target *t, struct sched_choice *out);

#define RULE(name) extern const struct sched_rule sched_##name;
#include "sched/rules.def"
#undef RULE

#endif
