/* Code of all variants of a case, for the emulator and in C. */
#ifndef TPAT_TESTS_VARIANT_CODE_H
#define TPAT_TESTS_VARIANT_CODE_H

#include "base/file.h"
#include "base/map.h"
#include "gen/gen.h"
#include "tests/schedule/schedule_job.h"

static bool run_c = true, run_emulator = true;
static const char *texts_folder;

/* ---- Kernels of several variants that are the same text: code is made of one. */

/* A kernel by itself, called the same as any other: what it is as C and as CUDA, as a key. */
static char *kernel_key(struct job *j, const struct variant *v, const struct ir_kernel *k)
{
	struct arena *a = arena_new();
	struct ir_kernel own = *k;
	struct ir_step step = { 0 }, *at = &step;
	struct ir_plan plan = { .program = v->plan->program };
	struct str text = str_new(a);
	const struct ir_plan *plans = &plan;
	own.name = "kernel";
	memset(&own.parts, 0, sizeof own.parts);
	vec_each(part, &k->parts) {
		struct ir_kernel *copy = NEW(a, struct ir_kernel);
		*copy = **part;
		copy->name = arena_printf(a, "kernel_%d", own.parts.n);
		vec_push(a, &own.parts, copy);
	}
	vec_push(a, &step, &own);
	vec_push(a, &plan.steps, at);
	gen_cuda(&text, &plans, 1);
	if (run_c)
		gen_c(&text, &plans, 1);
	char *key = arena_printf(j->arena, "%d %016llx %016llx", v->may_race,
				 (unsigned long long)hash_bytes(1, str_text(&text), text.n),
				 (unsigned long long)hash_bytes(2, str_text(&text), text.n));
	arena_free(a);
	return key;
}

/* Printers make kernels of one name once. So those that are the same get one name, and others different ones. */
static void share_kernels(struct job *j)
{
	struct map names = map_new(j->arena);
	for (int i = 0; i < j->variants; i++)
		vec_each(step, &j->variant[i].plan->steps)
			vec_each(k, *step) {
				const char *key = kernel_key(j, &j->variant[i], *k);
				char *name = map_get(&names, key);
				if (!name)
					map_put(&names, key, name = arena_printf(j->arena, "%s_%d", (*k)->name, names.n));
				(*k)->name = name;
				for (int p = 0; p < (*k)->parts.n; p++)
					((struct ir_kernel *)(*k)->parts.at[p])->name = arena_printf(j->arena, "%s_%d", name, p);
			}
}

/* ---- Texts to code: one module a case. */

/* The CUDA text of all variants that may race, or of those that may not; null: there is none. */
static const char *cuda_text(struct job *j, bool may_race)
{
	const struct ir_plan *plan[MAX_VARIANTS];
	struct str s = str_new(j->arena);
	int n = 0;
	for (int i = 0; i < j->variants; i++)
		if (j->variant[i].may_race == may_race)
			plan[n++] = j->variant[i].plan;
	gen_cuda(&s, plan, n);
	return n ? str_text(&s) : NULL;
}

static void write_text(struct job *j, const char *name, const char *text)
{
	struct err e = { 0 };
	char *path = path_join(j->arena, texts_folder, arena_printf(j->arena, "%s.cu", name));
	if (!test_check(file_write(path, text, strlen(text), &e) == 0, __FILE__, __LINE__, "written"))
		printf("  %s\n", e.text);
}

static void build_emulated(struct job *j)
{
	struct emulator_text text[2];
	struct err e = { 0 };
	int n = 0;
	for (int race = 0; race < 2; race++) {
		const char *name = race ? arena_printf(j->arena, "%s_races", j->c->name) : j->c->name;
		const char *cuda = cuda_text(j, race);
		if (cuda && texts_folder)
			write_text(j, name, cuda);
		if (cuda)
			text[n++] = (struct emulator_text){ name, cuda, race };
	}
	if (!run_emulator)
		return;
	if (!test_check(emulator_build(&j->emulated, text, n, &e) == 0, __FILE__, __LINE__, "compiles as CUDA"))
		printf("  %s: %s\n", j->c->name, e.text);
}

static void build_c(struct job *j)
{
	struct str s = str_new(j->arena);
	struct dev_code code;
	struct err e = { 0 };
	char *log = NULL;
	const struct ir_plan *plan[MAX_VARIANTS];
	for (int i = 0; i < j->variants; i++)
		plan[i] = j->variant[i].plan;
	gen_c(&s, plan, j->variants);
	static const char *const options[] = { "-O1", "-Wall", "-Wno-unused", NULL };
	struct dev_source source = { "kernels.c", str_text(&s), options, false };
	int rc = dev_cpu_open(&j->dev, &e);
	if (rc == 0)
		rc = j->dev->compile(j->dev, &code, &source, &log, j->arena, &e);
	if (rc == 0)
		rc = j->dev->load(j->dev, &j->module, &code, &e);
	if (!test_check(rc == 0, __FILE__, __LINE__, "compiles as C"))
		printf("  %s: %s\n", j->c->name, e.text);
	if (rc == 0 && !test_check(!*log, __FILE__, __LINE__, "compiles without a warning"))
		printf("%s\n", log);
}

#endif
