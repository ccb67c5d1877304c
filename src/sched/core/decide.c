/* Decisions: the choice for each stage of a program; their text form. lib/tpat_decisions.c reads texts. */
#include "sched/sched.h"

#include <string.h>

void sched_decide(struct ir_program *p, const struct sched_target *t, const struct sched_choice *given,
                  struct sched_choice *out)
{
	struct arena *scratch = arena_new();
	struct sched_choice *choice = NEWN(scratch, struct sched_choice, SCHED_MAX_CHOICES); /* too many for a stack */
	for (int i = 0, span; i < p->stages.n; i += span) {
		const struct ir_stage *s = p->stages.at[i];
		if (given && given[i].rule)
			choice[0] = given[i];
		else
			sched_choices(p, s, t ? t : &sched_default_target, choice);
		span = sched_span(p, s, &choice[0]);
		out[i] = choice[0];
		for (int k = 1; k < span && i + k < p->stages.n; k++)
			out[i + k] = (struct sched_choice){ 0 };
	}
	arena_free(scratch);
}

/* ---- Text. */

const char *sched_decisions_text(const struct ir_program *p, const struct sched_choice *c, struct arena *a)
{
	struct str s = str_new(a);
	for (int i = 0; i < p->stages.n; i++) {
		if (!c[i].rule)
			continue;
		const char *params = sched_params_text(&c[i], a);
		str_printf(&s, "%s%d %s@%d%s%s", s.n ? "; " : "", i, c[i].rule->name, c[i].rule->version,
		           *params ? " " : "", params);
	}
	return str_text(&s);
}

/* ---- Decisions from elsewhere. */

/* True if this is one of the rule's candidates for the stage. */
static bool is_candidate(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                         const struct sched_target *t, const char **why)
{
	struct sched_choice one[SCHED_RULE_CHOICES];
	int n = sched_candidates(p, s, c->rule, t, one, why);
	for (int i = 0; i < n; i++)
		if (memcmp(one[i].param, c->param, sizeof c->param) == 0)
			return true;
	if (n)
		*why = "the rule does not offer these parameters";
	return false;
}

bool sched_decisions_take(struct sched_choice *out, const struct sched_decision *given, int n, struct ir_program *p,
                          const struct sched_target *t, const char **why, struct arena *a)
{
	int taken = 0;
	t = t ? t : &sched_default_target;
	for (int i = 0, span; i < p->stages.n; i += span) {
		const struct ir_stage *s = p->stages.at[i];
		const char *reason;
		if (taken == n) {
			*why = arena_printf(a, "it has no decision for stage %d", i);
			return false;
		}
		const struct sched_decision *d = &given[taken++];
		if (d->stage != i) {
			*why = arena_printf(a, "it decides stage %d where stage %d comes next", d->stage, i);
			return false;
		}
		out[i] = d->choice;
		if (!is_candidate(p, s, &out[i], t, &reason)) {
			*why = arena_printf(a, "rule %s does not fit stage %d: %s", out[i].rule->name, i, reason);
			return false;
		}
		span = sched_span(p, s, &out[i]);
		for (int k = 1; k < span && i + k < p->stages.n; k++)
			out[i + k] = (struct sched_choice){ 0 };
	}
	if (taken < n)
		*why = "it decides more stages than the program has";
	return taken == n;
}

/* ---- Extents as text. */

const char *sched_shape_text(const struct ir_program *p, ir_symbol_fn value, void *user, struct arena *a)
{
	struct str s = str_new(a);
	struct map seen = map_new(a);
	int64_t x;
	vec_each (in, &p->inputs)
		for (int k = 0; k < (*in)->rank; k++) {
			expr d = (*in)->dim[k];
			if (d->op != IR_SYMBOL || map_get_u64(&seen, d->id))
				continue;
			map_put_u64(&seen, d->id, d);
			str_add(&s, seen.n > 1 ? "," : "");
			if (value(user, d, &x))
				str_printf(&s, "%lld", (long long)x);
			else
				str_add(&s, "?");
		}
	return str_text(&s);
}
