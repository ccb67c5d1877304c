/* A rule is a method of building kernels from stages. It knows stages and never operators.
 *
 * Vocabulary (after FFTW): a stage is the problem, a rule is a method that may apply, a choice is a rule with
 * parameters. */
#ifndef TPAT_SCHED_RULE_H
#define TPAT_SCHED_RULE_H

#include "ir/kernel.h"
#include "sched/target/target.h"

enum {
	SCHED_MAX_PARAMS = 8,
	SCHED_RULE_CHOICES = 96, /* most candidates of one rule for a stage */
};

/* A decision: a rule and its parameters, which determine the kernels. */
struct sched_choice {
	const struct sched_rule *rule;
	int param[SCHED_MAX_PARAMS];
};

struct sched_param {
	const char *name;
	int least, most; /* range of the candidates' values, inclusive */
};

/* Arguments of a rule's functions: a stage, the result of the rule's match() for it, and the GPU. */
struct sched_site {
	struct ir_program *p;
	const struct ir_stage *s;
	const struct sched_target *t;
	const void *found;
};

struct sched_rule {
	const char *name;
	const char *about; /* sentences for a reader of the kernels; see sched_about(). May be null */
	int version;       /* incremented when the meaning of a choice changes; this invalidates old decisions */
	struct sched_param param[SCHED_MAX_PARAMS];
	bool heavy;       /* its kernels compile slowly, as tensor-core tiles do */
	unsigned needs;   /* required features of the GPU: enum target_feature */
	const char *none; /* why a stage that matches may have no candidates, as a clause; null: a default text */
	/* Analyses the stage. Returns data for the other functions, in the program's arena (sched_match() caches it),
	 * or null and *why as a clause. Does not depend on the GPU. */
	const void *(*match)(struct ir_program *p, const struct ir_stage *s, const char **why);
	/* Writes the choices worth trying within the GPU's limits, the best guess first. Returns their number, at most
	 * SCHED_RULE_CHOICES. */
	int (*candidates)(const struct sched_site *site, struct sched_choice *out);
	/* Returns the number of stages, from this one on, that one choice computes; null: one. */
	int (*span)(const struct sched_site *site);
	/* Returns the estimated time in nanoseconds; null: the estimate for one thread per element (cost.c). */
	double (*estimate)(const struct sched_site *site, const struct sched_choice *c);
	/* True if kernels of this match copy `b` first, with its axes in another order: axis k of the copy is axis[k]
	 * of the buffer. Null: never. */
	bool (*reorders)(const struct sched_site *site, const struct ir_buffer *b, int *axis);
	/* Appends one step per launch that its stages need; in a step, guarded kernels come first. */
	void (*apply)(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c);
};

int sched_params(const struct sched_rule *r); /* the number of a rule's parameters */
/* Returns the rule's sentences with the choice's parameters (str_fill()): who computes what, and how memory is used. */
const char *sched_about(const struct sched_choice *c, struct arena *a);
/* Returns a choice's parameters as text: "lanes=256 width=8 steps=3 once=0". */
const char *sched_params_text(const struct sched_choice *c, struct arena *a);

#endif
