/* One case of schedule_test on its way: the plans that are tried, and their code. Included by its parts, each once. */
#ifndef TPAT_TESTS_SCHEDULE_JOB_H
#define TPAT_TESTS_SCHEDULE_JOB_H

#include "dev/dev.h"
#include "emulator/emulator.h"
#include "sched/sched.h"
#include "tests/schedule/schedule_case.h"
#include "tests/unit/test.h"

enum { MAX_VARIANTS = 256, MAX_SHAPES = 6 };

/* One way to run a case's program. */
struct variant {
	const char *name;
	struct ir_plan *plan;
	bool may_race;
};

struct job {
	const struct schedule_case *c;
	const char *rule; /* null: all; else only its choices */
	const struct ir_program *like; /* whose inputs' names say what is in them; null: the case's own */
	bool drawn; /* extents have other forms than the case is made for, and may be too large or too small for it */
	struct arena *arena;
	struct variant variant[MAX_VARIANTS];
	int variants;
	struct emulator_module *emulated;
	struct dev *dev;
	struct dev_module *module;
};

static bool all_wide; /* of each choice one with 64-bit positions; else of one choice of each rule and stage */

/* Whose choices are tried. */
static const struct sched_target *target = &sched_default_target;
static const struct sched_target seven_processors = {
	.name = "seven processors", .arch = 90, .processors = 7, .bytes_per_ns = 3000, .launch_ns = 2500, .typical = 1000
};

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
