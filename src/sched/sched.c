/* The table of rules, and the choice for each stage of a program. See sched.h. */
#include "sched/choose.h"
#include "sched/extents.h"
#include "sched/launches.h"

#include <string.h>

const struct sched_rule *const sched_rules[] = {
	&sched_attention_wide,
	&sched_attention_mma,
	&sched_attention,
	&sched_contract_wide,
	&sched_contract,
	&sched_rows,
	&sched_across,
	&sched_map,
	&sched_flat,
	&sched_planes,
	&sched_march,
	&sched_slab,
	&sched_table,
	&sched_places,
	&sched_tile,
	&sched_windows,
	&sched_separable,
	&sched_stencil,
	&sched_reduce_lanes,
	&sched_reduce_columns,
	&sched_rows_split,
	&sched_reduce_split,
	&sched_reduce_thread,
	&sched_scatter,
	&sched_scatter_rows,
	&sched_scatter_lists,
	&sched_scan_lanes,
	&sched_scan_thread,
	&sched_scan_tiles,
	&sched_compact_block,
	&sched_compact_tiles,
	&sched_compact_marks,
	&sched_loop_block,
	&sched_sort_block,
	&sched_sort_select,
	&sched_sort_radix,
	NULL,
};

const struct sched_rule *sched_find(const char *name)
{
	for (const struct sched_rule *const *r = sched_rules; *r; r++)
		if (strcmp((*r)->name, name) == 0)
			return *r;
	return NULL;
}

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

/* The best estimate of a stage by itself. */
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
			for (; at > 0 && cost[at - 1] > c; at--) { /* equals stay in the rule's own order */
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

struct ir_plan *sched_program(struct ir_program *p, const struct sched_target *t, const struct sched_choice *given)
{
	struct ir_plan *plan = NEW(p->arena, struct ir_plan);
	struct sched_choice *choice = NEWN(p->arena, struct sched_choice, p->stages.n + 1);
	plan->program = p;
	sched_decide(p, t, given, choice);
	for (int i = 0; i < p->stages.n; i++)
		if (choice[i].rule)
			apply_choice(plan, p->stages.at[i], &choice[i], t ? t : &sched_default_target);
	start_early(plan, 0, t ? t : &sched_default_target);
	share_launches(plan, plan, t ? t : &sched_default_target);
	return plan;
}
