/* Scheduling: stages in, kernels out. A rule knows stages and never operators. Among the choices of all rules that
 * apply, the one with the best estimate wins; ties go to the first rule in the table. Every stage has a rule that
 * applies. rule.h describes a rule; rules.def is the table of rules. */
#ifndef TPAT_SCHED_SCHED_H
#define TPAT_SCHED_SCHED_H

#include "sched/rule.h"

enum {
	SCHED_MAX_RULES = 64,
	SCHED_MAX_CHOICES = SCHED_MAX_RULES * SCHED_RULE_CHOICES,
	SCHED_MAX_POINTS = 5,
	SCHED_MAX_TACTICS = 8,
};

/* All rules in order of preference; null ends the list. */
extern const struct sched_rule *const sched_rules[];
/* The rules that others ask to make a part of their work. */
extern const struct sched_rule *const sched_rule_of_maps;       /* plain maps */
extern const struct sched_rule *const sched_rule_of_flat_maps;  /* maps of rows that begin between vectors */
extern const struct sched_rule *const sched_rule_of_transposes; /* transpositions */
extern const struct sched_rule *const sched_rule_of_sums;       /* short sums */
extern const struct sched_rule *const sched_rule_of_columns;    /* sums whose results are neighbours */
extern const struct sched_rule *const sched_rule_of_row_sums;   /* sums of neighbours */
extern const struct sched_rule *const sched_rule_of_rows;       /* reductions of neighbours, in vectors */

/* Returns the result of the rule's match(), or null and *why. For the program's own stages the result is cached until a
 * pass changes the program. */
const void *sched_match(struct ir_program *p, const struct ir_stage *s, const struct sched_rule *r, const char **why);
/* Writes the rule's candidates and returns their number. Returns 0, and *why (may be null) as a clause, if the rule
 * does not match or `t` lacks a feature that it needs. `out` holds SCHED_RULE_CHOICES. */
int sched_candidates(struct ir_program *p, const struct ir_stage *s, const struct sched_rule *r,
                     const struct sched_target *t, struct sched_choice *out, const char **why);

/* True if a rule may copy the buffer before the stage that reads it, with its axes in another order: axis k of the copy
 * is axis[k] of the buffer. A constant can have that order from the start. */
bool sched_reorders(struct ir_program *p, const struct ir_buffer *b, int *axis);

/* Returns the number of stages of p, from s on, that the choice computes. */
int sched_span(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c);

/* Writes the choices for a stage, best first, and returns their number, at least 1. The order is by estimate, less the
 * best time of the other stages that a choice computes. */
int sched_choices(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                  struct sched_choice *out);

/* One rule's verdict on a stage, for display. */
struct sched_verdict {
	const struct sched_rule *rule;
	int choices;                /* candidates; 0: none, and why */
	const char *why;            /* a clause, such as "the stage is not a map" */
	struct sched_choice choice; /* the one with the best estimate, or the chosen one */
	double ns;                  /* its estimate */
	int stages;                 /* number of stages that it computes */
	bool chosen;
};
/* Writes one verdict per rule and returns their number: the chosen rule, then the rules that apply, by estimate per
 * stage, then the others. `chosen` may be null. `out` holds SCHED_MAX_RULES. */
int sched_explain(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                  const struct sched_choice *chosen, struct sched_verdict *out);

/* Returns the analytic cost model's estimate in nanoseconds. */
double sched_estimate(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                      const struct sched_target *t);
/* The same of stages from ... to - 1 with the choices of a list, as sched_decide() makes it. */
double sched_time(struct ir_program *p, const struct sched_choice *list, int from, int to,
                  const struct sched_target *t);

/* The same of all stages with the best choices. */
double sched_program_time(struct ir_program *p, const struct sched_target *t);

/* Decides every stage, into out[p->stages.n]: the choice in `given` (one per stage; may be null), or the best where its
 * rule is null. A stage that an earlier choice computes gets a null rule, and its entry in `given` is ignored. */
void sched_decide(struct ir_program *p, const struct sched_target *t, const struct sched_choice *given,
                  struct sched_choice *out);
/* Returns the plan of the whole program with these choices. */
struct ir_plan *sched_program(struct ir_program *p, const struct sched_target *t, const struct sched_choice *given);

/* Returns decisions as text: "0 rows@4 lanes=256 width=8 steps=3 once=0; 3 map@1 width=4". Each has the first
 * stage that a choice computes, its rule, the rule's version, and the parameters by name. `c` is from sched_decide().
 * Equal programs (ir_hash) have equal texts. */
const char *sched_decisions_text(const struct ir_program *p, const struct sched_choice *c, struct arena *a);
/* A decision from elsewhere, such as the tuning database. */
struct sched_decision {
	int stage; /* the first that it computes */
	struct sched_choice choice;
};
/* Takes decisions, in the order of stages, into out[p->stages.n]. Returns false, and *why as a clause, unless they
 * decide every stage of this program by a rule that applies, with parameters that are among the rule's candidates for
 * `t`. */
bool sched_decisions_take(struct sched_choice *out, const struct sched_decision *given, int n, struct ir_program *p,
                          const struct sched_target *t, const char **why, struct arena *a);
/* Returns the extents that a program runs at as text: the value of each symbol in the inputs' extents, in order
 * ("8,768"; "?": unknown). The text has no names, so that equal programs have equal texts. It is "" if all extents are
 * constant. */
const char *sched_shape_text(const struct ir_program *p, ir_symbol_fn value, void *user, struct arena *a);

/* ---- Profile points.
 *
 * A point is a set of extents to choose schedules for: those of the symbols in `target`. Points are in ascending order:
 * no symbol decreases. `opt` is the index of the optimum. */
struct sched_points {
	struct sched_target target[SCHED_MAX_POINTS];
	bool between[SCHED_MAX_POINTS]; /* made by sched_points_between() */
	int n, opt;
};
/* Default extents of a symbol at three points (usual.c). */
enum { SCHED_USUAL_POINTS = 3 };
extern const int64_t sched_usual_extent[SCHED_USUAL_POINTS];
/* Returns the number by which a symbol grows as the coarsest quotient in e grows by one: 196 for floordiv(symbol, 196);
 * 1: there is none. */
int64_t sched_usual_quotient(expr e, expr symbol);
/* Returns what multiplies a symbol's default extents, so that a tensor of these extents has elements. */
int64_t sched_usual_multiple(expr symbol, const expr *dim, int rank);
int64_t sched_usual_common(int64_t a, int64_t b); /* a multiple of both */
/* Returns default points for a program without known extents; one point if it has no symbols or if its extents come
 * from data. */
struct sched_points sched_usual_points(struct ir_program *p, const struct sched_target *t);
/* Returns points with the given extents: `value` has n numbers per symbol. Memory is a's. */
struct sched_points sched_points_of(const struct sched_target *t, const expr *symbol, const int64_t *const *value,
                                    int symbols, int n, int opt, struct arena *a);
/* Returns the points, and another one in the middle between successive ones that differ. */
struct sched_points sched_points_between(const struct sched_points *points, struct arena *a);

/* A tactic: the decisions for a whole program. For each point, a list with one choice per stage; the rule is null where
 * an earlier choice computes the stage. Points may share a list. */
struct sched_tactic {
	const struct sched_choice *choice[SCHED_MAX_POINTS];
};

/* Returns the best tactic by the cost model: at every point the best choices, or those of the optimum where these are
 * hardly slower. Points between others have the choices of the better one of these, unless both are clearly slower. */
struct sched_tactic sched_tactic_best(struct ir_program *p, const struct sched_points *points);

/* Writes tactics to measure: `first` and up to most - 1 others of nearly the same estimate. Each changes one stage's
 * choice at the optimum, and at the points where `first` has the same choice for it and the other one is not clearly
 * slower. Returns their number. */
int sched_tactics(struct ir_program *p, const struct sched_points *points, const struct sched_tactic *first, int most,
                  struct sched_tactic *out);

/* Builds the plans of n tactics, into out[n]. If a tactic's choices differ between points, guards select the kernels by
 * the extents at run time (sched_dispatch.c, sched_ways.c). Points and tactics with the same choice for a stage share
 * its kernels: the same name means the same function. */
void sched_plans(const struct ir_plan **out, struct ir_program *p, const struct sched_points *points,
                 const struct sched_tactic *tactic, int n);
/* The estimate in nanoseconds of what a tactic's plan runs at the extents of `at`. */
double sched_tactic_time(struct ir_program *p, const struct sched_points *points, const struct sched_tactic *tactic,
                         struct sched_target *at);

#endif
