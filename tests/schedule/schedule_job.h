/* The state of one schedule_test case: its plans and their code. Included once by each part. */
#ifndef TPAT_TESTS_SCHEDULE_JOB_H
#define TPAT_TESTS_SCHEDULE_JOB_H

#include "base/map.h"
#include "dev/dev.h"
#include "emulator/emulator.h"
#include "sched/sched.h"
#include "tests/schedule/schedule_case.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

enum { MAX_VARIANTS = 256, MAX_SHAPES = 6 };

/* One way to run a case's program. */
struct variant {
	const char *name;
	const struct ir_plan *plan;
	bool may_race;
};

struct job {
	const struct schedule_case *c;
	const char *rule;              /* try only this rule's choices; null: all */
	const struct ir_program *like; /* its inputs' names determine values; null: the case's own */
	void (*make)(struct job *j);   /* makes the variants */
	struct arena *arena;
	struct variant variant[MAX_VARIANTS];
	int variants;
	bool as_cuda, as_c; /* on the emulator, on the processor */
	struct code *code;
};

/* Code of jobs that are compiled together. */
struct code {
	struct arena *arena;
	struct emulator_module *emulated;
	struct dev *dev;
	struct dev_module *module;
	struct map names; /* of kernels, by content */
};

static bool run_c = true, run_emulator = true;
static bool sampled;
static bool all_wide; /* a variant with 64-bit positions for every choice; else for one choice per rule and stage */
static const char *texts_folder;

/* The target GPU. */
static const struct sched_target *target = &sched_default_target;
static struct sched_target seven_processors; /* a small H100 */

static struct ir_program *parse(struct arena *a, const char *name, const char *text)
{
	struct err e = { 0 };
	struct ir_program *p = NULL;
	if (ir_parse_program(&p, arena_printf(a, "program %s%s", name, text), a, &e) < 0) {
		printf("%s: %s\n", name, e.text);
		CHECK(!"the case can be read");
		return NULL;
	}
	return p;
}

#endif
