/* A rule: a way to make kernels of stages. It knows stages and never operators.
 *
 * Vocabulary (FFTW's): the problem is a stage, a rule is a way that may apply, a choice is a rule with parameters. */
#ifndef TPAT_SCHED_RULE_H
#define TPAT_SCHED_RULE_H

#include "ir/kernel.h"
#include "sched/target/target.h"

enum {
	SCHED_MAX_PARAMS = 7,
	SCHED_RULE_CHOICES = 64, /* of one rule for a stage */
};

/* A decision: all that is needed to build the kernel again. */
struct sched_choice {
	const struct sched_rule *rule;
	int param[SCHED_MAX_PARAMS];
};

struct sched_param {
	const char *name;
	int least, most; /* what candidates may give */
};

/* A stage, what a rule found in it, and the GPU: what the rule's functions get. */
struct sched_site {
	struct ir_program *p;
	const struct ir_stage *s;
	const struct sched_target *t;
	const void *found;
};

struct sched_rule {
	const char *name;
	int version; /* counts up when what a choice means changes: old decisions are then void */
	struct sched_param param[SCHED_MAX_PARAMS];
	bool heavy;       /* its kernels take the compiler long: tiles on tensor cores */
	unsigned needs;   /* of the GPU: enum target_feature */
	const char *none; /* why there may be no candidates for a stage that matches; null: a plain sentence says so */
	/* Looks at the stage: what the other functions need of it, in the program's arena (sched_match() keeps it); or
	 * null, and *why as a clause. Knows no GPU. */
	const void *(*match)(struct ir_program *p, const struct ir_stage *s, const char **why);
	/* Fills parameter sets worth trying within the GPU's limits, the best guess first; returns their number, at
	 * most SCHED_RULE_CHOICES. */
	int (*candidates)(const struct sched_site *site, struct sched_choice *out);
	/* How many stages of the program, from this one on, it makes with one choice; null: this one alone. */
	int (*span)(const struct sched_site *site);
	/* Nanoseconds; null: of a thread an element (cost.c). */
	double (*estimate)(const struct sched_site *site, const struct sched_choice *c);
	/* Appends the kernels of one step (guarded ones first) for every launch that its stages need. */
	void (*apply)(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c);
};

#endif
