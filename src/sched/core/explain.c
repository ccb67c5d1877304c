/* Verdicts of all rules on one stage: their estimates, or why they do not apply. See sched.h. */
#include "sched/build/extents.h"
#include "sched/sched.h"

#include <string.h>

static bool comes_before(const struct sched_verdict *a, const struct sched_verdict *b)
{
	if (a->chosen != b->chosen)
		return a->chosen;
	if (!a->choices || !b->choices)
		return a->choices > 0 && !b->choices;
	return a->ns / a->stages < b->ns / b->stages;
}

static struct sched_verdict ask(const struct sched_rule *r, struct ir_program *p, const struct ir_stage *s,
                                const struct sched_target *t, const struct sched_choice *chosen)
{
	struct sched_choice one[SCHED_RULE_CHOICES];
	struct sched_verdict v = { .rule = r, .stages = 1, .chosen = chosen && chosen->rule == r };
	v.choices = sched_candidates(p, s, r, t, one, &v.why);
	if (v.chosen) {
		v.choice = *chosen;
		v.ns = sched_estimate(p, s, chosen, t);
	}
	for (int i = 0; i < v.choices && !v.chosen; i++) {
		double ns = sched_estimate(p, s, &one[i], t);
		if (i == 0 || ns < v.ns) {
			v.choice = one[i];
			v.ns = ns;
		}
	}
	if (v.choice.rule)
		v.stages = sched_span(p, s, &v.choice);
	return v;
}

int sched_explain(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                  const struct sched_choice *chosen, struct sched_verdict *out)
{
	struct sched_target known = with_sizes(p, t);
	int n = 0;
	for (const struct sched_rule *const *r = sched_rules; *r; r++) {
		struct sched_verdict v = ask(*r, p, s, &known, chosen);
		int at = n++;
		for (; at > 0 && comes_before(&v, &out[at - 1]); at--)
			out[at] = out[at - 1];
		out[at] = v;
	}
	return n;
}
