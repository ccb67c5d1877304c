/* The rule of docs/add-a-schedule.md, added to the table of rules as on that page: one file and one line. It wins for
 * an expensive value common to all elements, and its kernels are correct. */
#include <string.h>

#include "base/str.h"
#include "eval/eval.h"
#include "lib/tpat_decisions.h"
#include "sched/sched.h"
#include "tests/nodes/plan_run.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

#define SCALAR "(x: f32[], like: u8[N]) -> (y: f32[N,1000])\n  y: f32[N,1000] = map (i, j) "

static struct ir_program *program(const char *text, struct arena *a)
{
	struct ir_program *p = NULL;
	struct err e = { 0 };
	ck(ir_parse_program(&p, arena_printf(a, "program added%s", text), a, &e) == 0);
	return p;
}

/* The default GPU, with 20000 rows. */
static struct sched_target target_for(const struct ir_program *p)
{
	struct sched_extent *rows = NEW(p->arena, struct sched_extent);
	struct sched_target t = sched_default_target;
	*rows = (struct sched_extent){ ir_symbol(p->pool, "N"), 20000 };
	t.extent = rows;
	t.extents = 1;
	return t;
}

/* Returns the rule that the cost model chooses for the only stage. */
static const char *chosen(const char *text)
{
	struct arena *a = arena_new();
	struct sched_choice choice[SCHED_MAX_CHOICES];
	struct ir_program *p = program(text, a);
	const struct sched_target t = target_for(p);
	sched_choices(p, p->stages.at[0], &t, choice);
	const char *name = choice[0].rule->name;
	arena_free(a);
	return name;
}

static void test_wins_where_it_should(void)
{
	CHECK_STR(chosen(SCALAR "erf(sin(x[])) * exp(x[]) + log(x[]) / sqrt(x[] + 2.0) - pow(x[], 1.7)\n"), "uniform");
	CHECK_STR(chosen("(x: f32[N,1000]) -> (y: f32[N,1000])\n  y: f32[N,1000] = map (i, j) exp(x[i, j])\n"), "map");
}

static void run(int64_t rows)
{
	struct arena *a = arena_new();
	struct err e = { 0 };
	struct sched_choice list[SCHED_RULE_CHOICES];
	struct ir_program *p = program(SCALAR "exp(x[]) + 1.0\n", a);
	const struct sched_rule *rule = tpat_rule_named("uniform");
	const struct sched_target t = target_for(p);
	const char *why;
	struct tensor x, like, want, got;
	struct tensor_difference d;
	const struct tensor *in[] = { &x, &like };
	ck(rule && tensor_new(&x, TYPE_F32, 0, NULL, a, &e) == 0 && tensor_new(&like, TYPE_U8, 1, &rows, a, &e) == 0);
	tensor_set_float(&x, 0, 0.75);
	CHECK_INT(eval_program(p, in, &want, NULL, a, &e), 0);
	int n = sched_candidates(p, p->stages.at[0], rule, &t, list, &why);
	CHECK_INT(n, 3);
	for (int i = 0; i < n; i++) {
		struct ir_plan *plan = sched_program(p, &t, &list[i]);
		vec_each (k, plan->steps.at[0])
			CHECK_INT(ir_kernel_check(*k, &e), 0);
		CHECK_INT(plan_run_emulated(plan, 90, in, &got, a, &e), 0);
		CHECK(tensor_compare(&d, &got, &want, tensor_tolerance_of(TYPE_F32)));
	}
	arena_free(a);
}

int main(void)
{
	test_wins_where_it_should();
	for (int64_t rows = 0; rows < 40; rows += 13)
		run(rows);
	return test_done();
}
