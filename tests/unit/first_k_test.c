/* The estimates of TopK's rules against trials on an H200, some of each rule: few and many rows, short and long ones.
 * Their times are of one kernel among others, from `tpat tune`. */
#include <math.h>

#include "lib/tpat_decisions.h"
#include "lib/tpat_inside.h"

#include "tests/program/program_text.h"
#include "test.h"

/* The first k of rows x n. */
static const struct trial {
	int rows, n, k;
	const char *type, *decisions;
	double us;
} trials[] = {
	{ 592, 874, 4, "f16", "0 select_digits@1 keys=256 threads=256 parts=1 items=4", 5.08 },
	{ 592, 874, 4, "f16", "0 sort_block@4 keys=896 rows=1 threads=128 items=7", 6.01 },
	{ 592, 874, 4, "f16", "0 sort_select@5 keys=128 threads=64 parts=1 items=16", 4.75 },
	{ 592, 874, 4, "f16", "0 sort_select@5 keys=32 threads=128 parts=1 items=8", 5.29 },
	{ 64, 1000, 100, "f32", "0 select_digits@1 keys=256 threads=128 parts=1 items=8", 5.77 },
	{ 64, 1000, 100, "f32", "0 sort_block@4 keys=1024 rows=1 threads=128 items=8", 5.78 },
	{ 64, 1000, 100, "f32", "0 sort_select@5 keys=1024 threads=256 parts=1 items=8", 5.86 },
	{ 8, 2500, 20, "f16", "0 select_digits@1 keys=512 threads=512 parts=1 items=8", 3.49 },
	{ 8, 2500, 20, "f16", "0 sort_block@4 keys=2560 rows=1 threads=256 items=10", 5.09 },
	{ 8, 2500, 20, "f16", "0 sort_select@5 keys=128 threads=256 parts=1 items=16", 4.60 },
	{ 1000, 2000, 64, "f16", "0 select_digits@1 keys=512 threads=512 parts=1 items=4", 16.40 },
	{ 1000, 2000, 64, "f16", "0 sort_block@4 keys=2048 rows=1 threads=256 items=8", 17.18 },
	{ 4096, 1500, 5, "f32", "0 select_digits@1 keys=256 threads=256 parts=1 items=8", 35.66 },
	{ 4096, 1500, 5, "f32", "0 sort_block@4 keys=1536 rows=1 threads=256 items=6", 85.08 },
	{ 300, 1072, 500, "f16", "0 select_digits@1 keys=1024 threads=256 parts=1 items=8", 12.06 },
	{ 300, 1072, 500, "f16", "0 sort_block@4 keys=1280 rows=1 threads=256 items=5", 5.86 },
	{ 60, 640, 2, "f32", "0 select_digits@1 keys=128 threads=128 parts=1 items=8", 3.56 },
	{ 60, 640, 2, "f32", "0 sort_block@4 keys=640 rows=1 threads=128 items=5", 4.28 },
	{ 60, 640, 2, "f32", "0 sort_select@5 keys=1024 threads=256 parts=1 items=8", 3.06 },
	{ 60, 640, 2, "f32", "0 sort_select@5 keys=32 threads=128 parts=1 items=8", 2.98 },
	{ 4000, 260, 3, "f16", "0 select_digits@1 keys=128 threads=128 parts=1 items=4", 20.89 },
	{ 4000, 260, 3, "f16", "0 sort_select@5 keys=128 threads=32 parts=1 items=16", 8.05 },
	{ 4000, 260, 3, "f16", "0 sort_select@5 keys=32 threads=128 parts=1 items=8", 5.32 },
	{ 2, 208, 208, "f16", "0 sort_block@4 keys=224 rows=1 threads=32 items=7", 2.72 },
	{ 2000, 120, 100, "f16", "0 sort_select@5 keys=1024 threads=256 parts=1 items=8", 15.52 },
	{ 4096, 256, 256, "f32", "0 sort_block@4 keys=256 rows=1 threads=32 items=8", 14.99 },
	{ 4096, 333, 256, "f32", "0 sort_select@5 keys=1024 threads=256 parts=1 items=8", 91.18 },
};

static const char *program_of(int rows, int n, int k, const char *type, struct arena *a)
{
	return arena_printf(a,
	                    "program top_k(x: %s[%d,%d]) -> (values: %s[%d,%d])\n"
	                    "  places: i64[%d,%d] = sort descending along j (i, j | r<%d) %s\n"
	                    "  values: %s[%d,%d] = map (i, j) x[i, index(places[i, j])]\n",
	                    type, rows, n, type, rows, k, rows, k, n,
	                    strcmp(type, "f32") == 0 ? "x[i, r]" : "f32(x[i, r])", type, rows, k);
}

/* The first 40 of 18x6528 f16 took 9.5 us with 1024 threads a block of 8 items each, 5.6 with 256. */
static void has_no_idle_threads(const struct sched_target *t)
{
	struct arena *a = arena_new();
	struct ir_program *p = NULL;
	struct sched_choice choice[SCHED_MAX_CHOICES];
	struct err e = { 0 };
	int found = 0, n = 0;
	if (test_check(ir_parse_program(&p, program_of(18, 6528, 40, "f16", a), a, &e) == 0, __FILE__, __LINE__,
	               "read"))
		n = sched_choices(p, p->stages.at[0], t, choice);
	for (int i = 0; i < n; i++)
		if (strcmp(choice[i].rule->name, "select_cluster") == 0) {
			const int *x = choice[i].param; /* threads, blocks, items */
			CHECK(x[0] == 256 || x[0] / 2 * x[1] * x[2] < 6528);
			found++;
		}
	CHECK(found > 0);
	arena_free(a);
}

static void check_trial(const struct trial *x, const struct sched_target *t)
{
	const double HIDDEN_US = 1.9; /* of an estimate's launch, what one among others does not take */
	struct arena *a = arena_new();
	struct ir_program *p = NULL;
	struct sched_choice c[8] = { 0 };
	struct err e = { 0 };
	const char *why = "", *text = program_of(x->rows, x->n, x->k, x->type, a);
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read")) {
		printf("%s%s\n", e.where, e.text);
	} else if (!test_check(tpat_decisions_parse(c, x->decisions, p, t, &why, a), __FILE__, __LINE__, "a choice")) {
		printf("  %s: %s\n", x->decisions, why);
	} else {
		double us = sched_time(p, c, 0, p->stages.n, t) / 1e3 - HIDDEN_US;
		if (!test_check(fabs(log(us / x->us)) < log(1.45), __FILE__, __LINE__, "the estimate is near"))
			printf("  the first %d of %dx%d %s, %s: %.2f us, measured %.2f\n", x->k, x->rows, x->n, x->type,
			       x->decisions, us, x->us);
	}
	arena_free(a);
}

int main(void)
{
	static const struct tpat_strings none;
	struct arena *a = arena_new();
	struct sched_target t;
	struct err e = { 0 };
	if (test_check(tpat_target(&t, "H200", &none, a, &e) == 0, __FILE__, __LINE__, "the GPU is known")) {
		has_no_idle_threads(&t);
		for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
			check_trial(&trials[i], &t);
	}
	arena_free(a);
	return test_done();
}
