/* Code of all variants of a case, or of several, for the emulator and in C. */
#ifndef TPAT_TESTS_VARIANT_CODE_H
#define TPAT_TESTS_VARIANT_CODE_H

#include "base/file.h"
#include "base/map.h"
#include "gen/language.h"
#include "tests/emulator/emulator_built.h"
#include "tests/schedule/schedule_job.h"

/* ---- Kernels with the same text in several variants are compiled once. */

/* A key for a kernel: its text in C and CUDA, under a fixed name. */
static char *kernel_key(struct code *code, const struct variant *v, const struct ir_kernel *k)
{
	struct arena *a = arena_new();
	struct ir_kernel own = *k;
	struct ir_step step = { 0 }, *at = &step;
	struct ir_plan plan = { .program = v->plan->program };
	struct str text = str_new(a);
	const struct ir_plan *plans = &plan;
	own.name = "kernel";
	memset(&own.parts, 0, sizeof own.parts);
	vec_each (part, &k->parts) {
		struct ir_kernel *copy = NEW(a, struct ir_kernel);
		*copy = **part;
		copy->name = arena_printf(a, "kernel_%d", own.parts.n);
		vec_push(a, &own.parts, copy);
	}
	vec_push(a, &step, &own);
	vec_push(a, &plan.steps, at);
	language_cuda.print(&text, &plans, 1);
	if (run_c)
		language_c.print(&text, &plans, 1);
	char *key = arena_printf(code->arena, "%d %016llx %016llx", v->may_race,
	                         (unsigned long long)hash_bytes(1, str_text(&text), text.n),
	                         (unsigned long long)hash_bytes(2, str_text(&text), text.n));
	arena_free(a);
	return key;
}

/* Printers print each kernel name once. So equal kernels get the same name, and others different ones. */
static void share_variant(struct code *code, const struct variant *v)
{
	vec_each (step, &v->plan->steps)
		vec_each (k, *step) {
			const char *key = kernel_key(code, v, *k);
			char *name = map_get(&code->names, key);
			if (!name)
				map_put(&code->names, key,
				        name = arena_printf(code->arena, "%s_%d", (*k)->name, code->names.n));
			(*k)->name = name;
			for (int p = 0; p < (*k)->parts.n; p++) {
				struct ir_kernel *part = NEW(code->arena, struct ir_kernel);
				*part = *(*k)->parts.at[p];
				part->name = arena_printf(code->arena, "%s_%d", name, p);
				(*k)->parts.at[p] = part;
			}
		}
}

static void share_kernels(struct code *code, struct job *const *jobs, int n)
{
	code->names = map_new(code->arena);
	for (int i = 0; i < n; i++)
		for (int v = 0; v < jobs[i]->variants; v++)
			share_variant(code, &jobs[i]->variant[v]);
}

/* ---- Texts to code: one module per case, or per group of cases. */

/* The CUDA text of all variants that may race, or of those that may not; null: none. */
static const char *cuda_text(const struct job *j, bool may_race)
{
	const struct ir_plan *plan[MAX_VARIANTS];
	struct str s = str_new(j->arena);
	int n = 0;
	for (int i = 0; i < j->variants; i++)
		if (j->variant[i].may_race == may_race)
			plan[n++] = j->variant[i].plan;
	language_cuda.print(&s, plan, n);
	return n ? str_text(&s) : NULL;
}

static void write_text(const struct job *j, const char *name, const char *text)
{
	struct err e = { 0 };
	char *path = path_join(j->arena, texts_folder, arena_printf(j->arena, "%s.cu", name));
	if (!test_check(file_write(path, text, strlen(text), &e) == 0, __FILE__, __LINE__, "written"))
		printf("  %s\n", e.text);
}

/* Makes the case's texts, of variants that may race and that may not, in text[2]; returns their number. */
static int texts_of(const struct job *j, struct emulator_text *text)
{
	int n = 0;
	for (int race = 0; race < 2; race++) {
		const char *name = race ? arena_printf(j->arena, "%s_races", j->c->name) : j->c->name;
		const char *cuda = cuda_text(j, race);
		if (cuda && texts_folder)
			write_text(j, name, cuda);
		if (cuda)
			text[n++] = (struct emulator_text){ name, cuda, race };
	}
	return n;
}

static void build_emulated(struct code *code, struct job *const *jobs, int n)
{
	struct emulator_text *text = NEWN(code->arena, struct emulator_text, 2 * n);
	struct err e = { 0 };
	int texts = 0;
	for (int i = 0; i < n; i++)
		if (jobs[i]->as_cuda || texts_folder) {
			int more = texts_of(jobs[i], &text[texts]);
			texts += jobs[i]->as_cuda ? more : 0;
		}
	if (texts &&
	    !test_check(emulator_build(&code->emulated, text, texts, &e) == 0, __FILE__, __LINE__, "compiles as CUDA"))
		printf("  %s: %s\n", jobs[0]->c->name, e.text);
}

static void build_c(struct code *code, struct job *const *jobs, int n)
{
	const char *const options[] = { sampled ? "-O0" : "-Og", "-Wall", "-Wno-unused", NULL };
	struct str s = str_new(code->arena);
	struct dev_code compiled;
	struct err e = { 0 };
	char *log = NULL;
	struct {
		VEC(const struct ir_plan *);
	} plans = { 0 };
	for (int i = 0; i < n; i++)
		for (int v = 0; jobs[i]->as_c && v < jobs[i]->variants; v++)
			vec_push(code->arena, &plans, jobs[i]->variant[v].plan);
	if (!plans.n)
		return;
	language_c.print(&s, plans.at, plans.n);
	struct dev_source source = { "kernels.c", str_text(&s), options, false };
	int rc = dev_cpu_open(&code->dev, &e);
	if (rc == 0)
		rc = code->dev->compile(code->dev, &compiled, &source, &log, code->arena, &e);
	if (rc == 0)
		rc = code->dev->load(code->dev, &code->module, &compiled, &e);
	if (!test_check(rc == 0, __FILE__, __LINE__, "compiles as C"))
		printf("  %s: %s\n", jobs[0]->c->name, e.text);
	if (rc == 0 && !test_check(!*log, __FILE__, __LINE__, "compiles without a warning"))
		printf("%s\n", log);
}

#endif
