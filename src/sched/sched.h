/* Schedules: stages in, kernels out. A rule knows stages and never operators; of all choices of the rules that apply
 * the one with the best estimate wins, of equals the first in the table. Some rule applies to every stage.
 * A rule is described in rule.h, the table of them is rules.def. */
#ifndef TPAT_SCHED_SCHED_H
#define TPAT_SCHED_SCHED_H

#include "sched/rule.h"

enum {
	SCHED_MAX_RULES = 40,
	SCHED_MAX_CHOICES = SCHED_MAX_RULES * SCHED_RULE_CHOICES, /* of all rules: sched_choices() leaves none out */
	SCHED_MAX_POINTS = 3,
	SCHED_MAX_TACTICS = 8,
};

/* All rules, in the order of preference; null ends the list. */
extern const struct sched_rule *const sched_rules[];
const struct sched_rule *sched_find(const char *name);

/* What a rule finds in a stage, or null and *why. Of a program's own stages each rule looks once: what it found is kept
 * until the passes change the program. */
const void *sched_match(struct ir_program *p, const struct ir_stage *s, const struct sched_rule *r, const char **why);
/* The rule's candidates: 0, and *why (may be null) as a clause, where it does not match, or `t` lacks what it needs.
 * `out` holds SCHED_RULE_CHOICES. */
int sched_candidates(struct ir_program *p, const struct ir_stage *s, const struct sched_rule *r,
                     const struct sched_target *t, struct sched_choice *out, const char **why);

/* How many stages of p a choice for s makes: s, and those behind it. */
int sched_span(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c);

/* The choices for a stage, best first: by their estimate, less what the other stages that a choice makes would take at
 * best. Never none. */
int sched_choices(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                  struct sched_choice *out);

/* What the rules say of a stage, for people: each rule of the table once. */
struct sched_verdict {
	const struct sched_rule *rule;
	int choices;                /* candidates; 0: none, and why */
	const char *why;            /* a clause: the stage is no map */
	struct sched_choice choice; /* the one with the best estimate, or the chosen one */
	double ns;                  /* its estimate */
	int stages;                 /* that it makes */
	bool chosen;
};
/* The chosen rule first, then those that apply by their estimates of a stage that they make, then the others. `chosen`
 * may be null. `out` holds SCHED_MAX_RULES; returns how many there are. */
int sched_explain(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                  const struct sched_choice *chosen, struct sched_verdict *out);

/* The analytic cost model's estimate in nanoseconds. */
double sched_estimate(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                      const struct sched_target *t);

/* The choice that makes each stage, into out[p->stages.n]: the best, or those in `given` (one a stage; a null rule: the
 * best; those of stages that an earlier choice makes are passed over). Stages that an earlier choice makes have a null
 * rule. */
void sched_decide(struct ir_program *p, const struct sched_target *t, const struct sched_choice *given,
                  struct sched_choice *out);
/* The whole program with these choices. */
struct ir_plan *sched_program(struct ir_program *p, const struct sched_target *t, const struct sched_choice *given);

/* Decisions as text, the one form of them: "0 rows@2 lanes=256 width=8 steps=3 once=0; 3 map@1 width=4": the first
 * stage that a choice makes, its rule, the rule's version, its parameters by name. Numbers alone ("3 map@1 4") are
 * read, too: texts of before parameters had names. `c` is what sched_decide gave. Equal programs (ir_hash) have equal
 * texts. */
const char *sched_decisions_text(const struct ir_program *p, const struct sched_choice *c, struct arena *a);
/* Of one choice: "lanes=256 width=8 steps=3 once=0". */
const char *sched_params_text(const struct sched_choice *c, struct arena *a);
/* And back, into out[p->stages.n]. The text may be of any origin: false, and why as a clause, unless it decides every
 * stage of this program by a rule that applies, in the rule's present version, with parameters that the rule would try
 * for `t`. */
bool sched_decisions_parse(struct sched_choice *out, const char *text, struct ir_program *p,
                           const struct sched_target *t, const char **why, struct arena *a);
/* What can be said of a text without its program: whether it is one, of rules that there are in their present
 * versions. */
bool sched_decisions_current(const char *text, const char **why, struct arena *a);
/* The extents that a program runs at, as text: the value of each symbol in the inputs' extents, in their order
 * ("8,768"; "?": unknown). Holds no names, so that equal programs have equal texts; "" where all extents are
 * constant. */
const char *sched_shape_text(const struct ir_program *p, ir_symbol_fn value, void *user, struct arena *a);

/* ---- Several extents, several schedules.
 *
 * A point is a set of extents that schedules are chosen for: the extents of the symbols in `target`. Points come from
 * the smallest to the largest, no symbol falls; `opt` is the usual one. */
struct sched_points {
	struct sched_target target[SCHED_MAX_POINTS];
	int n, opt;
};
/* Points for a program of whose extents nothing is known; one point where it has no symbols, or extents come as
 * data. */
struct sched_points sched_usual_points(struct ir_program *p, const struct sched_target *t);
/* The same symbols' extents at each point: `value` has n numbers a symbol. Memory is a's. */
struct sched_points sched_points_of(const struct sched_target *t, const char *const *symbol,
                                    const int64_t *const *value, int symbols, int n, int opt, struct arena *a);

/* A tactic: what is decided for a whole program. For each point a list with one choice a stage; a null rule where the
 * choice for an earlier stage makes the stage. Lists may be the same at several points. */
struct sched_tactic {
	const struct sched_choice *choice[SCHED_MAX_POINTS];
};

/* The best tactic by the cost model: at every point the best choices, or those of the usual point where these are
 * hardly slower. */
struct sched_tactic sched_tactic_best(struct ir_program *p, const struct sched_points *points);

/* `first` and up to most - 1 others that run as fast by the cost model, or not much slower: each decides one stage at
 * the usual point in another way, and wherever else `first` decides it as there. For somebody who measures. Returns
 * their number. */
int sched_tactics(struct ir_program *p, const struct sched_points *points, const struct sched_tactic *first, int most,
                  struct sched_tactic *out);

/* Tactics as plans of p, into out[n]. Where one decides differently at different points, the extents at run time say
 * which kernels run, by guards (sched_dispatch.c). A stage that is made in the same way at several points, or in
 * several tactics, has the same kernels there: the same name means the same function. */
void sched_plans(const struct ir_plan **out, struct ir_program *p, const struct sched_points *points,
                 const struct sched_tactic *tactic, int n);
/* Of one. */
struct ir_plan *sched_plan(struct ir_program *p, const struct sched_points *points, const struct sched_tactic *tactic);

#endif
