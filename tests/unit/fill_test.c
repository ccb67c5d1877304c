/* Texts with places for numbers, and the sentences of all rules. */
#include "sched/rule.h"
#include "sched/sched.h"
#include "test.h"

#include <string.h>

static void filled(const char *text, int a, int b, const char *want)
{
	static const char *const name[] = { "rows", "steps" };
	const int value[] = { a, b };
	struct arena *scratch = arena_new();
	struct str s = str_new(scratch);
	str_fill(&s, text, 2, name, value);
	CHECK_STR(str_text(&s), want);
	arena_free(scratch);
}

static void rules(void)
{
	struct arena *scratch = arena_new();
	for (int i = 0; sched_rules[i]; i++) {
		const struct sched_rule *rule = sched_rules[i];
		for (int most = 0; most < 2; most++) {
			struct sched_choice c = { .rule = rule };
			for (int k = 0; k < sched_params(rule); k++)
				c.param[k] = most ? rule->param[k].most : rule->param[k].least;
			const char *text = sched_about(&c, scratch);
			if (!rule->about) /* its kernels have the sentences of the rules that it joins */
				CHECK_STR(text, "");
			else
				CHECK(str_ends(text, ".") && !strpbrk(text, "{}?!>"));
		}
	}
	arena_free(scratch);
}

int main(void)
{
	filled("plain", 1, 1, "plain");
	filled("{rows} x {steps} elements", 1, 3, "1 x 3 elements");
	filled("{rows row} of {steps}", 1, 3, "one row of 3");
	filled("{rows row}", 2, 0, "2 rows");
	filled("a{steps?: {rows row}, {steps step}}{steps!, none}.", 2, 4, "a: 2 rows, 4 steps.");
	filled("a{steps?: {rows row}, {steps step}}{steps!, none}.", 2, 0, "a, none.");
	filled("a{rows> each of {rows}}.", 1, 0, "a.");
	filled("a{rows> each of {rows}}.", 2, 0, "a each of 2.");
	rules();
	return test_done();
}
