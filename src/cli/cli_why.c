/* Explains a program's schedule, human-readable or as JSON. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"

static void print_rule(const struct tpat_rule *r, int width)
{
	char us[NUMBER_TEXT];
	printf("    %s %-*s %9s us", r->chosen ? "*" : " ", width, r->name, number_short(us, r->ns / 1e3));
	if (r->stages > 1)
		printf("  for %d stages", r->stages);
	if (*r->parameters)
		printf("  %s", r->parameters);
	printf("\n");
}

/* Rules with the same reason share a line. */
static void print_others(const struct tpat_stage *x)
{
	for (int k = 0; k < x->rules; k++) {
		const char *why = x->rule[k].why, *between = "";
		bool told = x->rule[k].applies;
		for (int i = 0; i < k; i++)
			told |= !x->rule[i].applies && strcmp(x->rule[i].why, why) == 0;
		if (told)
			continue;
		printf("    - ");
		for (int i = k; i < x->rules; i++)
			if (!x->rule[i].applies && strcmp(x->rule[i].why, why) == 0) {
				printf("%s%s", between, x->rule[i].name);
				between = ", ";
			}
		printf(": %s\n", why);
	}
}

void cli_print_why(const struct tpat_schedule *s)
{
	printf("\n%s: how it is scheduled for %s\n", s->what, s->gpu);
	for (int i = 0; i < s->stages; i++) {
		const struct tpat_stage *x = &s->stage[i];
		int width = 0;
		printf("\n  stage %d  %s\n", i, x->text);
		for (int k = 0; k < x->rules; k++)
			width = x->rule[k].applies ? cli_wider(width, x->rule[k].name) : width;
		for (int k = 0; k < x->rules && x->rule[k].applies; k++)
			print_rule(&x->rule[k], width);
		print_others(x);
		if (x->made_with != i)
			printf("    made together with stage %d\n", x->made_with);
	}
	printf("\n  *: chosen. Times are the cost model's estimates, for the rule's best parameters. "
	       "-: the rule does not apply.\n");
}

json_t *cli_json_why(const struct tpat_schedule *s)
{
	json_t *stages = json_array();
	for (int i = 0; i < s->stages; i++) {
		const struct tpat_stage *x = &s->stage[i];
		json_t *rules = json_array();
		for (int k = 0; k < x->rules; k++) {
			const struct tpat_rule *r = &x->rule[k];
			json_t *rule = cli_json("{s:s, s:b, s:b}", "rule", r->name, "chosen", r->chosen, "applies",
			                        r->applies);
			json_t *more = r->applies ? cli_json("{s:f, s:i, s:i, s:s}", "ns", r->ns, "stages", r->stages,
			                                     "choices", r->choices, "parameters", r->parameters)
			                          : cli_json("{s:s}", "why", r->why);
			json_object_update(rule, more);
			json_decref(more);
			json_array_append_new(rules, rule);
		}
		json_array_append_new(stages, cli_json("{s:i, s:s, s:i, s:o}", "stage", i, "text", x->text, "made_with",
		                                       x->made_with, "rules", rules));
	}
	return cli_json("{s:s, s:s, s:o}", "node", s->what, "gpu", s->gpu, "stages", stages);
}
