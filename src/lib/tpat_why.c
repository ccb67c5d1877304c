/* Explains a program's schedule: each rule's verdict on each stage. */
#include "lib/tpat_inside.h"

#include <string.h>

static struct tpat_rule describe_rule(const struct sched_verdict *v, struct arena *a)
{
	return (struct tpat_rule){
		.name = v->rule->name,
		.chosen = v->chosen,
		.applies = v->choices > 0 || v->chosen,
		.ns = v->ns,
		.stages = v->stages,
		.choices = v->choices,
		.parameters = v->choice.rule ? sched_params_text(&v->choice, a) : "",
		.why = arena_strdup(a, v->choice.rule ? "" : v->why),
	};
}

static const char *stage_text(const struct ir_stage *s, struct arena *a)
{
	struct str text = str_new(a);
	ir_print_stage(&text, s);
	const char *line = str_text(&text) + strspn(str_text(&text), " ");
	return arena_printf(a, "%.*s", (int)strcspn(line, "\n"), line);
}

const struct tpat_schedule *tpat_why(const char *what, struct ir_program *p, const struct sched_target *t,
                                     const struct sched_choice *chosen, struct arena *a)
{
	struct tpat_schedule *out = NEW(a, struct tpat_schedule);
	struct tpat_stage *stage = NEWN(a, struct tpat_stage, p->stages.n + 1);
	struct sched_choice *list = NEWN(a, struct sched_choice, p->stages.n + 1);
	sched_decide(p, t, chosen, list);
	for (int i = 0, maker = 0; i < p->stages.n; i++) {
		struct sched_verdict verdict[SCHED_MAX_RULES];
		maker = list[i].rule ? i : maker;
		int n = list[i].rule ? sched_explain(p, p->stages.at[i], t, &list[i], verdict) : 0;
		struct tpat_rule *rule = NEWN(a, struct tpat_rule, n + 1);
		for (int k = 0; k < n; k++)
			rule[k] = describe_rule(&verdict[k], a);
		stage[i] = (struct tpat_stage){ stage_text(p->stages.at[i], a), maker, rule, n };
	}
	*out = (struct tpat_schedule){ arena_strdup(a, what), arena_strdup(a, t->name), stage, p->stages.n };
	return out;
}
