/* Plans with one schedule rule wherever it applies. See forced_rule.h. */
#include "tests/nodes/forced_rule.h"

static const struct sched_rule *rule;
static bool nowhere;

bool forced_rule_set(const char *name)
{
	rule = sched_find(name);
	return rule != NULL;
}

bool forced_nowhere(void)
{
	return nowhere;
}

bool forced_any(void)
{
	return rule != NULL;
}

/* Different programs take different choices: by what their text is. */
static unsigned number_of(const struct ir_program *p)
{
	char hash[33];
	unsigned n = 0;

	ir_hash(p, hash);
	for (const char *c = hash; *c; c++)
		n = n * 31 + (unsigned char)*c;
	return n;
}

int forced_plan(struct ir_plan **out, struct ir_program *p, struct err *e)
{
	struct sched_choice *given = NEWN(p->arena, struct sched_choice, p->stages.n + 1), choice[SCHED_MAX_CHOICES];
	unsigned number = rule ? number_of(p) : 0;
	const char *why;

	nowhere = rule != NULL;
	for (int i = 0; i < p->stages.n && rule; i++) {
		const struct ir_stage *s = p->stages.at[i];
		int n = rule->applicable(p, s, &why) ? rule->candidates(p, s, &sched_default_target, choice) : 0;

		if (!n)
			continue;
		given[i] = choice[(number + (unsigned)i) % (unsigned)n];
		nowhere = false;
	}
	if (nowhere)
		return err_set(e, ERR_UNSUPPORTED, "Rule %s applies to no stage.", rule->name);
	*out = sched_program(p, NULL, given);
	return 0;
}
