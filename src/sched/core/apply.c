/* Builds the kernels of choices. See choose.h and sched.h. */
#include "sched/build/finish.h"
#include "sched/core/choose.h"
#include "sched/core/launches.h"

/* Condition on the extents under which the stage is defined: a sort returns no more elements than it has. Null: it
 * holds, or the host cannot check it. */
static expr demand_of(struct ir_program *p, const struct ir_stage *s)
{
	if (s->kind != IR_SORT)
		return NULL;
	expr more = ir_binary(IR_SUB, s->space[0], s->out->dim[s->axis]);
	return ir_nonnegative(more) || ir_size_limit(p, more) != more
	               ? NULL
	               : ir_binary(IR_LE, s->out->dim[s->axis], s->space[0]);
}

void apply_choice(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c,
                  const struct sched_target *t)
{
	expr demand = demand_of(plan->program, s);
	int first = plan->steps.n;
	struct sched_site site = { plan->program, s, t, NULL };
	const char *why;
	site.found = sched_match(plan->program, s, c->rule, &why);
	ck(site.found);
	c->rule->apply(plan, &site, c);
	for (int i = first; demand && i < plan->steps.n; i++)
		vec_each (k, plan->steps.at[i])
			kernel_needs(*k, demand);
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
	ir_merge_kernels(plan);
	if (p->checked)
		ir_kernel_bounds(plan);
	share_launches(plan, plan, t ? t : &sched_default_target);
	return plan;
}
