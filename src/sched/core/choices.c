/* Sorts the choices for a stage by their estimates. See sched.h. */
#include "sched/build/extents.h"
#include "sched/core/choose.h"

int sched_span(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c)
{
	const char *why;
	const struct sched_site site = { p, s, &sched_default_target, sched_match(p, s, c->rule, &why) };
	ck(site.found);
	return c->rule->span ? c->rule->span(&site) : 1;
}

static int place_of(const struct ir_program *p, const struct ir_stage *s)
{
	for (int i = 0; i < p->stages.n; i++)
		if (p->stages.at[i] == s)
			return i;
	return p->stages.n;
}

/* The best estimate of a stage alone. */
static double best_alone(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t)
{
	struct sched_choice one[SCHED_RULE_CHOICES];
	double best = -1;
	for (const struct sched_rule *const *r = sched_rules; *r; r++) {
		int found = rule_candidates(*r, p, s, t, one);
		if (!found || sched_span(p, s, &one[0]) > 1)
			continue;
		for (int i = 0; i < found; i++) {
			double c = sched_estimate(p, s, &one[i], t);
			best = best < 0 || c < best ? c : best;
		}
	}
	return best < 0 ? 0 : best;
}

struct sched_choice rule_fastest(const struct sched_rule *const *rule, int rules, struct ir_program *p,
                                 const struct ir_stage *s, const struct sched_target *t, double *ns)
{
	struct sched_choice list[SCHED_RULE_CHOICES], best = { 0 };
	double least = 0;
	for (int r = 0; r < rules; r++) {
		int n = rule_candidates(rule[r], p, s, t, list);
		for (int i = 0; i < n; i++) {
			double time = sched_estimate(p, s, &list[i], t);
			if (best.rule && time >= least)
				continue;
			best = list[i];
			least = time;
		}
	}
	if (ns)
		*ns = least;
	return best;
}

int sched_choices(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                  struct sched_choice *out)
{
	struct sched_choice one[SCHED_RULE_CHOICES];
	double cost[SCHED_MAX_CHOICES];
	struct sched_target known = with_sizes(p, t);
	int n = 0, place = place_of(p, s);
	t = &known;
	for (const struct sched_rule *const *r = sched_rules; *r; r++) {
		double others = 0;
		int found = rule_candidates(*r, p, s, t, one), span = found ? sched_span(p, s, &one[0]) : 1;
		for (int i = 1; i < span && place + i < p->stages.n; i++)
			others += best_alone(p, p->stages.at[place + i], t);
		ck(n + found <= SCHED_MAX_CHOICES);
		for (int i = 0; i < found; i++) {
			double c = sched_estimate(p, s, &one[i], t) - others;
			int at = n++;
			for (; at > 0 && cost[at - 1] > c; at--) { /* equals keep the rule's order */
				cost[at] = cost[at - 1];
				out[at] = out[at - 1];
			}
			cost[at] = c;
			out[at] = one[i];
		}
	}
	ck(n > 0);
	return n;
}
