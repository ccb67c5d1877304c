/* Plans with one schedule rule wherever it applies. See forced_rule.h. */
#include "tests/nodes/forced_rule.h"

#include <string.h>

#include "emulator/emulator.h"
#include "gen/language.h"
#include "lib/tpat_decisions.h"
#include "lib/tpat_inside.h"

static const struct sched_rule *rule;
static bool any; /* each stage has a rule of its own */
static const struct sched_target *gpu;
static _Thread_local bool nowhere; /* of the thread's last plan */

bool forced_rule_set(const char *name)
{
	any = strcmp(name, "any") == 0;
	rule = any ? NULL : tpat_rule_named(name);
	return any || rule;
}

bool forced_gpu_set(const char *name)
{
	gpu = tpat_gpu_named(name);
	if (gpu)
		emulator_limit_shared((size_t)gpu->block_shared_most);
	return gpu != NULL;
}

int forced_arch(void)
{
	return gpu ? gpu->arch : 0;
}

bool forced_nowhere(void)
{
	return nowhere;
}

bool forced_any(void)
{
	return rule || gpu || any;
}

/* A hash of the program's text, so that different programs take different choices. */
static unsigned number_of(const struct ir_program *p)
{
	char hash[33];
	unsigned n = 0;

	ir_hash(p, hash);
	for (const char *c = hash; *c; c++)
		n = n * 31 + (unsigned char)*c;
	return n;
}

/* True if the GPU runs the same kernels as the default one: the same text, and none for only one architecture. */
static bool runs_the_same(const struct ir_plan *plan, const struct ir_plan *usual)
{
	struct str own = str_new(plan->program->arena), other = str_new(plan->program->arena);

	vec_each (step, &plan->steps)
		vec_each (k, *step)
			if ((*k)->arch && (*k)->arch != gpu->arch)
				return false;
	language_cuda.print(&own, &plan, 1);
	language_cuda.print(&other, &usual, 1);
	return strcmp(str_text(&own), str_text(&other)) == 0;
}

/* A choice of the first applicable rule from some one on, by the number. */
static struct sched_choice any_choice(struct ir_program *p, const struct ir_stage *s, unsigned number)
{
	struct sched_choice choice[SCHED_MAX_CHOICES];
	unsigned rules = 0;

	while (sched_rules[rules])
		rules++;
	for (unsigned k = 0; k < rules; k++) {
		int n = sched_candidates(p, s, sched_rules[(number + k) % rules], gpu ? gpu : &sched_default_target,
		                         choice, NULL);
		if (n)
			return choice[number / rules % (unsigned)n];
	}
	return (struct sched_choice){ 0 };
}

int forced_plan(struct ir_plan **out, struct ir_program *p, struct err *e)
{
	struct sched_choice *given = NEWN(p->arena, struct sched_choice, p->stages.n + 1), choice[SCHED_MAX_CHOICES];
	unsigned number = rule || any ? number_of(p) : 0;

	nowhere = rule != NULL;
	for (int i = 0; i < p->stages.n && any; i++)
		given[i] = any_choice(p, p->stages.at[i], number + (unsigned)i * 0x9e3779b9U);
	for (int i = 0; i < p->stages.n && rule; i++) {
		const struct ir_stage *s = p->stages.at[i];
		int n = sched_candidates(p, s, rule, gpu ? gpu : &sched_default_target, choice, NULL);

		if (!n)
			continue;
		given[i] = choice[(number + (unsigned)i) % (unsigned)n];
		nowhere = false;
	}
	if (nowhere)
		return err_set(e, ERR_UNSUPPORTED, "Rule %s applies to no stage.", rule->name);
	*out = sched_program(p, gpu, given);
	nowhere = gpu && !rule && !any && runs_the_same(*out, sched_program(p, NULL, given));
	if (nowhere)
		return err_set(e, ERR_UNSUPPORTED, "The kernels for %s are the default ones.", gpu->name);
	return 0;
}
