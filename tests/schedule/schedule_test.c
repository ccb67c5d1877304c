/* Every rule, every choice: stages run as C on the processor and as CUDA on the emulator, and are compared with the
 * interpreter. One choice of each rule also runs with 64-bit positions. Then come random programs, before and after the
 * passes, with some choices for their loops; and random cases of the lists with extents of other forms
 * (extent_forms.h), with one choice of each rule.
 *
 *   schedule_test [OPTION ...] [CASE ...]     these cases, by default all; "random", "extents": only those
 *
 *   -c, -e      only C; only the emulator
 *   -w          every choice with 64-bit positions, too
 *   -s          for each case with other forms of extents one variant, on one device, at two shapes: many more cases
 *   -p K/N      every N-th case from the K-th on (from 0), so that several processes share the work
 *   -o FOLDER   write the CUDA texts there, to try a real compiler on them
 *   -r ROUNDS   instead: kernels of the cases with other names (renamed.h) must differ only in these; 0: all rounds
 *   -n ROUND    the cases as renamed in that round
 *
 * SCHEDULE_TEST=seed,count in the environment: other or more random programs and cases. */
#include <stdlib.h>
#include <string.h>

#include "tests/schedule/attention_cases.h"
#include "tests/schedule/contract_cases.h"
#include "tests/schedule/extent_forms.h"
#include "tests/schedule/fourier_cases.h"
#include "tests/schedule/loop_cases.h"
#include "tests/schedule/map_cases.h"
#include "tests/schedule/order_cases.h"
#include "tests/schedule/packed_cases.h"
#include "tests/schedule/positions.h"
#include "tests/schedule/renamed.h"
#include "tests/schedule/row_cases.h"
#include "tests/schedule/scatter_cases.h"
#include "tests/schedule/variant_code.h"
#include "tests/schedule/variant_run.h"
#include "tests/schedule/variants.h"

static int part, parts = 1, met; /* of the cases; number chosen so far */
static int rounds = -1, renamed_round = -1;

/* ---- Renamed cases. */

/* Returns the words of the case's kernels, and those that are always tried. */
static struct map words_of(const struct job *j)
{
	struct map words = map_new(j->arena);
	for (int v = 0; v < j->variants; v++)
		for (int c = 0; c < 2; c++)
			renamed_collect(&words, renamed_kernels(j->variant[v].plan, c, j->arena));
	for (size_t i = 0; i < sizeof renamed_usual / sizeof *renamed_usual; i++)
		map_put(&words, renamed_usual[i], j->arena);
	return words;
}

static void same_but_names(const struct job *j, const struct job *other, int variant, bool c)
{
	struct arena *a = arena_new();
	const char *own = renamed_kernels(j->variant[variant].plan, c, a);
	const char *same = renamed_kernels(other->variant[variant].plan, c, a);
	if (!c)
		CHECK(renamed_signed(own));
	if (!test_check(renamed_same(&own, &same, a), __FILE__, __LINE__, "the same but for names"))
		printf("  %s, %s\n  %.600s\n  %.600s\n%s", other->variant[variant].name, c ? "C" : "CUDA", own, same,
		       other->c->program);
	arena_free(a);
}

static void check_names(const struct schedule_case *c, const char *rule)
{
	struct job j = { .c = c, .rule = rule, .arena = arena_new() };
	make_variants(&j);
	struct map words = words_of(&j);
	const struct ir_program *p = j.variant[0].plan->program;
	int all = words.n / (p->buffers.n ? p->buffers.n : 1) + 1;
	for (int round = 0; round < (rounds ? rounds : all) && test_failed < 40; round++) {
		struct arena *a = arena_new();
		/* A few rounds are spread over all names. */
		struct schedule_case with = renamed_case(c, p, &words, rounds ? round * all / rounds : round, a);
		struct job other = { .c = &with, .rule = rule, .arena = a };
		make_variants(&other);
		CHECK_INT(other.variants, j.variants);
		for (int v = 0; v < j.variants && v < other.variants && test_failed < 40; v++) {
			same_but_names(&j, &other, v, false);
			same_but_names(&j, &other, v, true);
		}
		arena_free(a);
	}
	arena_free(j.arena);
}

static struct job *job_new(const struct schedule_case *c, const char *rule, void (*make)(struct job *j),
                           const struct ir_program *like)
{
	struct arena *a = arena_new();
	struct job *j = NEW(a, struct job);
	*j = (struct job){
		.c = c, .rule = rule, .arena = a, .make = make, .like = like, .as_cuda = run_emulator, .as_c = run_c
	};
	make(j);
	return j;
}

/* Compiles the jobs together, runs and frees them. */
static void run_jobs(struct job *const *jobs, int n)
{
	struct code code = { .arena = arena_new() };
	share_kernels(&code, jobs, n);
	build_emulated(&code, jobs, n);
	build_c(&code, jobs, n);
	for (int k = 0; k < n; k++) {
		struct job *j = jobs[k];
		int failed = test_failed;
		j->code = &code;
		for (int i = 0; i < MAX_SHAPES && j->variants && j->c->shapes[i]; i++)
			run_shapes(j, j->c->shapes[i], (uint64_t)i * 100 + 7);
		if (test_failed > failed && is_form(j))
			printf("%s%s", j->c->name, j->c->program);
		arena_free(j->arena);
	}
	emulator_unload(code.emulated);
	if (code.module)
		code.dev->unload(code.dev, code.module);
	if (code.dev)
		code.dev->close(code.dev);
	arena_free(code.arena);
}

static void run_case(const struct schedule_case *c, const char *rule, void (*make)(struct job *j),
                     const struct ir_program *like)
{
	struct job *j = job_new(c, rule, make, like);
	run_jobs(&j, 1);
}

static void run_renamed(const struct schedule_case *c, const char *rule)
{
	struct job j = { .c = c, .rule = rule, .arena = arena_new() };
	make_variants(&j);
	struct map words = words_of(&j);
	const struct ir_program *like = j.variant[0].plan->program;
	struct schedule_case with = renamed_case(c, like, &words, renamed_round, j.arena);
	run_case(&with, rule, make_variants, like);
	arena_free(j.arena);
}

/* Reads SCHEDULE_TEST; keeps the defaults without it. */
static void read_setting(unsigned long *seed, unsigned long *count)
{
	const char *setting = getenv("SCHEDULE_TEST");
	if (setting)
		ck(sscanf(setting, "%lu,%lu", seed, count) == 2);
}

static void random_cases(void)
{
	unsigned long seed = 1, count = 5;
	read_setting(&seed, &count);
	for (unsigned long i = 0; i < count && test_failed < 40; i++) {
		struct arena *a = arena_new();
		random_state = hash_u64(seed, i);
		struct schedule_case c = { .shapes = { "N=4 K=6", "N=1 K=1", "N=3 K=40" } };
		c.name = arena_printf(a, "random_%lu", i);
		c.program = random_text(a) + strlen("program random");
		run_case(&c, NULL, make_random_variants, NULL);
		if (test_failed)
			printf("%s%s", c.name, c.program);
		arena_free(a);
	}
}

#define CASES(list, rule) { list, sizeof list / sizeof *list, rule }
static const struct {
	const struct schedule_case *at;
	size_t n;
	const char *rule; /* the rule to try; null: every one */
} lists[] = {
	CASES(map_cases, NULL),
	CASES(contract_cases, NULL),
	CASES(packed_cases, NULL),
	CASES(row_cases, NULL),
	CASES(order_cases, NULL),
	CASES(fourier_cases, NULL),
	CASES(scatter_cases, NULL),
	CASES(loop_cases, NULL),
	CASES(contract_wide_cases, "contract_wide"),
	CASES(patch_cases, "patch"),
	CASES(patch_plain_cases, "patch_plain"),
	CASES(winograd_cases, "winograd"),
	CASES(sweep_cases, "sweep"),
	CASES(contract_stream_cases, "contract_wide"),
	CASES(attention_cases, "attention"),
	CASES(attention_mma_cases, "attention_mma"),
	CASES(attention_few_cases, "attention_few"),
	CASES(attention_lanes_cases, "attention_lanes"),
	CASES(attention_wide_cases, "attention_wide"),
	CASES(attention_ring_cases, "attention_wide"),
};

/* Runs the named cases, or all. */
static void run_list(const struct schedule_case *c, size_t n, const char *rule, int names, char **name)
{
	for (size_t i = 0; i < n && test_failed < 40; i++) {
		bool chosen = names == 0;
		for (int k = 0; k < names; k++)
			chosen |= strcmp(name[k], c[i].name) == 0;
		if (!chosen || met++ % parts != part)
			continue;
		if (rounds >= 0)
			check_names(&c[i], rule);
		else if (renamed_round >= 0)
			run_renamed(&c[i], rule);
		else
			run_case(&c[i], rule, make_variants, NULL);
	}
}

/* Cases of kernels whose blocks share the work run on few processors. */
static const struct sched_target *target_of(const struct schedule_case *list)
{
	bool few = list == contract_stream_cases || list == attention_ring_cases;
	return few ? &seven_processors : &sched_default_target;
}

/* Makes the i-th random case from all lists, with other forms of extents, in `a`, which must outlive the job. */
static struct job *form_job(unsigned long seed, unsigned long i, struct arena *a)
{
	size_t all = 0, list = 0;
	for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
		all += lists[k].n;
	random_state = hash_u64(seed, i);
	size_t at = (size_t)pick((int)all);
	while (at >= lists[list].n)
		at -= lists[list++].n;
	const struct schedule_case *drawn = &lists[list].at[at];
	target = target_of(lists[list].at);
	struct schedule_case *c = NEW(a, struct schedule_case);
	*c = form_case(drawn, arena_printf(a, "extents_%lu_%s", i, drawn->name), sampled, a);
	return job_new(c, lists[list].rule, sampled ? make_form_sample : make_form_variants, NULL);
}

/* Runs these cases one by one; if each has a single variant, several together, since starting a compiler takes as long
 * as they do. */
static void form_cases(void)
{
	enum { TOGETHER = 32 };
	unsigned long seed = 1, count = 25;
	struct job *jobs[TOGETHER];
	int n = 0;
	read_setting(&seed, &count);
	struct arena *a = arena_new();
	for (unsigned long i = (unsigned long)part; i < count && test_failed < 40; i += (unsigned long)parts) {
		jobs[n++] = form_job(seed, i, a);
		if (n < (sampled ? TOGETHER : 1) && i + (unsigned long)parts < count)
			continue;
		run_jobs(jobs, n);
		arena_free(a);
		a = arena_new();
		n = 0;
	}
	arena_free(a);
	if (passed_over)
		printf("%d shapes passed over\n", passed_over);
}

int main(int argc, char **argv)
{
	int names = 0;
	seven_processors = sched_default_target;
	seven_processors.processors = 7;
	seven_processors.typical = 1000;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-c") == 0)
			run_emulator = false;
		else if (strcmp(argv[i], "-e") == 0)
			run_c = false;
		else if (strcmp(argv[i], "-s") == 0)
			sampled = true;
		else if (strcmp(argv[i], "-w") == 0)
			all_wide = true;
		else if (strcmp(argv[i], "-p") == 0 && i + 1 < argc)
			ck(sscanf(argv[++i], "%d/%d", &part, &parts) == 2 && parts > 0 && part >= 0 && part < parts);
		else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
			texts_folder = argv[++i];
		else if (strcmp(argv[i], "-r") == 0 && i + 1 < argc)
			rounds = atoi(argv[++i]);
		else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
			renamed_round = atoi(argv[++i]);
		else
			argv[++names] = argv[i];
	}
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		target = target_of(lists[i].at);
		run_list(lists[i].at, lists[i].n, lists[i].rule, names, argv + 1);
	}
	if (rounds >= 0 || renamed_round >= 0)
		return test_done();
	if (names == 0 && part == 0)
		positions();
	if ((names == 0 && part == parts - 1) || (names && strcmp(argv[1], "random") == 0))
		random_cases();
	if (names == 0 || strcmp(argv[1], "extents") == 0)
		form_cases();
	return test_done();
}
