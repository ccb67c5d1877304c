/* A kernel language derived from another one works wherever a language is used. docs/add-a-target.md explains it. */
#include "gen/language.h"

#include "eval/eval.h"
#include "ir/ir.h"
#include "sched/sched.h"
#include "tests/unit/test.h"
#include "tests/program/program_text.h"
#include "tune/tune.h"

/* ---- C whose kernels trap on undefined behaviour: slow, for authors of printers. */

static void print_trapping(struct str *out, const struct ir_plan *const *plans, int n)
{
	str_add(out, "/* Compiled with traps. */\n");
	language_c.print(out, plans, n);
}

static int compile_trapping(struct dev_code *out, int arch, const struct dev_source *s, char **log, struct arena *a,
                            struct err *e)
{
	static const char *const options[] = { "-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error",
		                               NULL };
	struct dev_source own = *s;
	own.option = options;
	return language_c.compile(out, arch, &own, log, a, e);
}

static const struct language trapping_c = {
	.name = "C with traps",
	.ending = ".trap.c",
	.print = print_trapping,
	.compile = compile_trapping,
};

/* ---- A plan in it, on the device cpu. */

static int compiled; /* texts */

static int compile_counted(void *user, struct dev_code *out, const struct dev_source *s, struct arena *a, struct err *e)
{
	const struct language *language = *(const struct language **)user;
	CHECK(strstr(s->file, language->ending) != NULL);
	compiled++;
	return language->compile(out, 0, s, NULL, a, e);
}

static void run(const struct language *language, struct arena *a)
{
	static const char text[] = "program softmax(x: f32[N,37]) -> (y: f32[N,37])\n"
	                           "  largest: f32[N,1] = max (i, j | r<37) x[i, r]\n"
	                           "  total: f32[N,1] = sum (i, j | r<37) exp(x[i, r] - largest[i, 0])\n"
	                           "  y: f32[N,37] = map (i, j) exp(x[i, j] - largest[i, 0]) / total[i, 0]\n";
	const int64_t dim[] = { 5, 37 };
	struct ir_program *p;
	struct tensor x, want, got = { 0 };
	const struct tensor *in[] = { &x };
	struct tune_runner *r = NULL;
	struct tensor_difference d;
	struct dev *cpu;
	struct err e = { 0 };
	ck(ir_parse_program(&p, text, a, &e) == 0 && tensor_new(&x, TYPE_F32, 2, dim, a, &e) == 0);
	tensor_random(&x, 1, -2, 2);
	ck(eval_program(p, in, &want, NULL, a, &e) == 0);
	const struct ir_plan *plan = sched_program(p, NULL, NULL);
	const struct tune_code code = { compile_counted, &language, language };
	const struct tune_setup setup = { .code = &code };
	CHECK_INT(dev_open(&cpu, "cpu", &e), 0);
	compiled = 0;
	bool fine = tune_runner_new(&r, cpu, plan, in, &setup, a, &e) == 0 && tune_runner_outputs(r, &got, a, &e) == 0;
	if (!test_check(fine, __FILE__, __LINE__, "the plan runs"))
		printf("  in %s: %s\n", language->name, e.text);
	CHECK(fine && tensor_compare(&d, &got, &want, (struct tensor_tolerance){ 1e-6, 1e-5 }));
	CHECK_INT(compiled, tune_runner_kernels(r));
	tune_runner_free(r);
	cpu->close(cpu);
}

int main(void)
{
	struct arena *a = arena_new();
	struct str own = str_new(a), usual = str_new(a);
	run(&language_c, a);
	run(&trapping_c, a);
	print_trapping(&own, NULL, 0);
	language_c.print(&usual, NULL, 0);
	CHECK(str_ends(str_text(&own), str_text(&usual)) && own.n > usual.n);
	CHECK(language_of(KERNEL_CUDA) == &language_cuda && language_of(KERNEL_C) == &language_c);
	arena_free(a);
	return test_done();
}
