/* Schedules for other GPUs: every rule's choices stay within the GPU's limits, plans differ between GPUs, and run on
 * the emulator with the GPU's shared memory. A GPU outside the table is a struct with its facts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "emulator/emulator.h"
#include "eval/eval.h"
#include "lib/tpat_inside.h"
#include "sched/core/choose.h"
#include "sched/sched.h"
#include "tests/nodes/plan_run.h"
#include "tests/schedule/attention_cases.h"
#include "tests/schedule/contract_cases.h"
#include "tests/schedule/fourier_cases.h"
#include "tests/schedule/loop_cases.h"
#include "tests/schedule/map_cases.h"
#include "tests/schedule/order_cases.h"
#include "tests/schedule/row_cases.h"
#include "tests/schedule/scatter_cases.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

enum { GPUS = 6, OWN = 5, MOST_ROWS = 1 << 20 };
static const char *const gpu_name[] = { "T4", "A10", "RTX 4090", "Jetson AGX Orin 64GB", "H100 SXM" };
static struct sched_target gpu[GPUS];

/* Makes an invented GPU, between an A10 and an A100, with its own architecture. */
static struct sched_target own_gpu(void)
{
	struct sched_target t = *tpat_gpu_named("A10");
	t.name = "of this test";
	t.arch = 88;
	t.processors = 24;
	t.threads = 1536;
	t.shared = 128 << 10;
	t.block_shared_most = 127 << 10;
	t.bytes_per_ns = 150;
	t.l2_bytes = 2 << 20;
	t.mma[TYPE_BF16] = 0;
	return t;
}

static struct ir_program *parse(const char *name, const char *text, struct arena *a)
{
	struct ir_program *p = NULL;
	struct err e = { 0 };
	if (!test_check(ir_parse_program(&p, arena_printf(a, "program %s%s", name, text), a, &e) == 0, __FILE__,
	                __LINE__, name))
		printf("  %s\n", e.text);
	return p;
}

/* ---- Limits. */

static void check_params(const struct sched_choice *c, const char *name)
{
	for (int k = 0; k < SCHED_MAX_PARAMS && c->rule->param[k].name; k++) {
		const struct sched_param *x = &c->rule->param[k];
		if (!test_check(c->param[k] >= x->least && c->param[k] <= x->most, __FILE__, __LINE__,
		                "a parameter in its range"))
			printf("  %s: %s %s=%d\n", name, c->rule->name, x->name, c->param[k]);
	}
}

/* Returns the 32-bit registers for a thread's arrays: the most that are live at the same time. */
static double registers_of(const struct ir_block *b)
{
	double own = 0, inside = 0;
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		const struct ir_block *body = ir_stmt_body(s);
		if (s->kind == IR_ARRAY) {
			const struct ir_variable *array = s->array.var;
			double bytes = type_info(array->type)->bits / 8.0;
			own += array->dim[array->rank - 1] * (bytes > 4 ? bytes : 4) / 4;
		}
		if (body)
			inside = fmax(inside, registers_of(body));
	}
	return own + inside;
}

static void check_kernel(const struct ir_kernel *k, const struct sched_target *t, const char *name)
{
	double declared = 0;
	bool own = !k->arch || k->arch == t->arch;
	vec_each (b, &k->shared) {
		int64_t n = 0;
		ck(ir_const_int((*b)->dim[0], &n));
		declared += (double)n * type_info((*b)->type)->bits / 8;
	}
	bool fine = own && k->threads > 0 && k->threads <= t->block_threads && k->threads * k->resident <= t->threads;
	fine &= k->shared_bytes <= (k->arch ? t->block_shared_most : TARGET_SHARED_EVERYWHERE);
	fine &= declared <= (k->shared_bytes ? k->shared_bytes : TARGET_DECLARED);
	fine &= registers_of(&k->body) <= target_thread_registers(t, k->threads);
	if (!test_check(fine, __FILE__, __LINE__, "a kernel within the GPU's limits"))
		printf("  %s for %s: %s (%s, %s): sm_%d, %d threads, %d bytes asked for, %g declared, %g registers, %d "
		       "blocks\n",
		       name, t->name, k->name, k->rule, k->params, k->arch, k->threads, k->shared_bytes, declared,
		       registers_of(&k->body), k->resident);
}

static void check_plan(const struct ir_plan *plan, const struct sched_target *t, const char *name)
{
	vec_each (step, &plan->steps) {
		bool any = false;
		vec_each (k, *step) {
			check_kernel(*k, t, name);
			any |= !(*k)->arch;
		}
		if (!test_check(any, __FILE__, __LINE__, "a kernel for the other GPUs of a library"))
			printf("  %s for %s\n", name, t->name);
	}
}

/* All choices' parameters; kernels of each rule's first choice and last. */
static void check_limits(const struct schedule_case *c, const struct sched_target *t)
{
	struct arena *a = arena_new();
	struct ir_program *p = parse(c->name, c->program, a);
	struct sched_choice choice[SCHED_MAX_CHOICES];
	struct sched_target large = *t;
	large.typical = 1000;
	for (int i = 0; p && i < p->stages.n; i++) {
		int n = sched_choices(p, p->stages.at[i], &large, choice);
		for (int k = 0; k < n; k++) {
			bool before = false, after = false;
			check_params(&choice[k], c->name);
			for (int o = 0; o < n; o++) {
				before |= o < k && choice[o].rule == choice[k].rule;
				after |= o > k && choice[o].rule == choice[k].rule;
			}
			if (before && after)
				continue;
			struct sched_choice *given = NEWN(a, struct sched_choice, p->stages.n + 1);
			given[i] = choice[k];
			check_plan(sched_program(p, &large, given), &large, c->name);
		}
	}
	arena_free(a);
}

static void check_cases(const struct schedule_case *c, int n, int every)
{
	for (int i = 0; i < n; i++)
		for (int g = i % every; g < GPUS; g += every)
			check_limits(&c[i], &gpu[g]);
}
#define CASES(LIST, EVERY) check_cases(LIST, sizeof LIST / sizeof *LIST, EVERY)

/* ---- Plans. `extents`: values of symbols for scheduling and running. */

static const struct plan_case {
	const char *name, *text;
	int64_t scheduled, run;
} plans[] = {
	{ "softmax",
	  "(input: f32[N,32768]) -> (output: f32[N,32768])\n"
	  "  largest: f32[N,1] = max (i, j | r<32768) input[i, r]\n"
	  "  total: f32[N,1] = sum (i, j | r<32768) exp(input[i, r] - largest[i, 0])\n"
	  "  output: f32[N,32768] = map (i, j) exp(input[i, j] - largest[i, 0]) / total[i, 0]\n",
	  8192, 1 },
	{ "long_softmax",
	  "(input: f32[N,65536]) -> (output: f32[N,65536])\n"
	  "  largest: f32[N,1] = max (i, j | r<65536) input[i, r]\n"
	  "  total: f32[N,1] = sum (i, j | r<65536) exp(input[i, r] - largest[i, 0])\n"
	  "  output: f32[N,65536] = map (i, j) exp(input[i, j] - largest[i, 0]) / total[i, 0]\n",
	  128, 1 },
	{ "few_rows",
	  "(input: f32[N,32768]) -> (output: f32[N,32768])\n"
	  "  largest: f32[N,1] = max (i, j | r<32768) input[i, r]\n"
	  "  total: f32[N,1] = sum (i, j | r<32768) exp(input[i, r] - largest[i, 0])\n"
	  "  output: f32[N,32768] = map (i, j) exp(input[i, j] - largest[i, 0]) / total[i, 0]\n",
	  264, 1 },
	{ "product",
	  "(a: f16[N,256], b: f16[256,1024]) -> (y: f16[N,1024])\n"
	  "  y: f16[N,1024] = sum (i, j | r<256) f32(a[i, r]) * f32(b[r, j])\n",
	  16384, 16 },
	{ "short_softmax",
	  "(input: f32[N,4096]) -> (output: f32[N,4096])\n"
	  "  largest: f32[N,1] = max (i, j | r<4096) input[i, r]\n"
	  "  total: f32[N,1] = sum (i, j | r<4096) exp(input[i, r] - largest[i, 0])\n"
	  "  output: f32[N,4096] = map (i, j) exp(input[i, j] - largest[i, 0]) / total[i, 0]\n",
	  8192, 2 },
	{ "small_product",
	  "(a: f16[N,512], b: f16[512,1024]) -> (y: f16[N,1024])\n"
	  "  y: f16[N,1024] = sum (i, j | r<512) f32(a[i, r]) * f32(b[r, j])\n",
	  1024, 3 },
	{ "plain_product",
	  "(a: f32[N,512], b: f32[512,1024]) -> (y: f32[N,1024])\n"
	  "  y: f32[N,1024] = sum (i, j | r<512) a[i, r] * b[r, j]\n",
	  1024, 3 },
	{ "resize",
	  "(x: f32[N,32,22,26]) -> (y: f32[N,32,88,104])\n"
	  "  y: f32[N,32,88,104] = map (i, j, k, l) let _0 = 1.0 - f32(mod(l * 2 + 5, 8)) * 0.125; (1.0 - f32(mod(k * "
	  "2 + 5, 8)) * 0.125) * (_0 * x[i, j, max(0, floordiv(k - 2, 4)), max(0, floordiv(l - 2, 4))] + f32(mod(l * 2 "
	  "+ 5, 8)) * 0.125 * x[i, j, max(0, floordiv(k - 2, 4)), min(25, floordiv(l - 2, 4) + 1)]) + f32(mod(k * 2 + "
	  "5, 8)) * 0.125 * (_0 * x[i, j, min(21, floordiv(k - 2, 4) + 1), max(0, floordiv(l - 2, 4))] + f32(mod(l * 2 "
	  "+ 5, 8)) * 0.125 * x[i, j, min(21, floordiv(k - 2, 4) + 1), min(25, floordiv(l - 2, 4) + 1)])\n",
	  256, 1 },
};
/* In their order. */
enum { SOFTMAX, LONG_SOFTMAX, FEW_ROWS, PRODUCT, SHORT_SOFTMAX, SMALL_PRODUCT, PLAIN_PRODUCT, RESIZE };
enum { PLANS = sizeof plans / sizeof *plans };

static const struct sched_choice *decide(struct ir_program *p, const struct plan_case *c, const struct sched_target *t,
                                         struct sched_target *at, struct arena *a)
{
	struct sched_extent *extent = NEW(a, struct sched_extent);
	struct sched_choice *list = NEWN(a, struct sched_choice, p->stages.n + 1);
	*extent = (struct sched_extent){ ir_symbol(p->pool, "N"), c->scheduled };
	*at = *t;
	at->extent = extent;
	at->extents = 1;
	sched_decide(p, at, NULL, list);
	return list;
}

static void run(const struct plan_case *c, struct ir_program *p, const struct ir_plan *plan,
                const struct sched_target *t, struct arena *a)
{
	struct tensor in[2], want, got;
	const struct tensor *list[] = { &in[0], &in[1] };
	struct tensor_difference d;
	struct err e = { 0 };
	for (int i = 0; i < p->inputs.n; i++) {
		const struct ir_buffer *b = p->inputs.at[i];
		int64_t dim[IR_MAX_RANK];
		for (int k = 0; k < b->rank; k++)
			dim[k] = b->dim[k]->op == IR_CONST_INT ? b->dim[k]->i : c->run;
		ck(tensor_new(&in[i], b->type, b->rank, dim, a, &e) == 0);
		tensor_random(&in[i], (uint64_t)i + 1, -2, 2);
	}
	ck(eval_program(p, list, &want, NULL, a, &e) == 0);
	emulator_limit_shared((size_t)t->block_shared_most);
	bool fine = plan_run_emulated(plan, t->arch, list, &got, a, &e) == 0;
	fine = fine && tensor_compare(&d, &got, &want, (struct tensor_tolerance){ 1e-3, 2e-3 });
	if (!test_check(fine, __FILE__, __LINE__, "the plan runs"))
		printf("  %s for %s: %s\n", c->name, t->name, e.text);
}

/* The plan takes at most 3 % longer than moving the bytes of inputs and outputs once, so no other plan of the GPU can
 * be faster by more. */
static void check_moves_only(struct ir_program *p, const struct sched_choice *list, const struct sched_target *t,
                             const char *name)
{
	double bytes = 0, time = sched_time(p, list, 0, p->stages.n, t);
	vec_each (b, &p->buffers)
		if ((*b)->role == IR_INPUT || (*b)->role == IR_OUTPUT)
			bytes += (double)p->inputs.at[0]->dim[1]->i * (double)t->extent[0].value *
			         type_info((*b)->type)->bits / 8;
	if (!test_check(time < 1.03 * bytes / t->bytes_per_ns, __FILE__, __LINE__, "memory limits the plan"))
		printf("  %s for %s: %g us, %g us to move its bytes\n", name, t->name, time / 1e3,
		       bytes / t->bytes_per_ns / 1e3);
}

static void test_plan(const struct plan_case *c, const char **text, struct arena *a)
{
	for (int g = 0; g < GPUS; g++) {
		struct ir_program *p = parse(c->name, c->text, a);
		struct sched_target at;
		if (!p)
			return;
		const struct sched_choice *list = decide(p, c, &gpu[g], &at, a);
		text[g] = sched_decisions_text(p, list, a);
		const struct ir_plan *plan = sched_program(p, &at, list);
		check_plan(plan, &at, c->name);
		if (c == &plans[SOFTMAX])
			check_moves_only(p, list, &at, c->name);
		bool known = !emulator_has_compiler();
		for (int k = 0; k < g; k++)
			known |= strcmp(text[k], text[g]) == 0;
		if (!known)
			run(c, p, plan, &at, a);
	}
}

/* Returns the number of different plans for the table's five GPUs. */
static int distinct(const char *const *text)
{
	int n = 0;
	for (int g = 0; g < OWN; g++) {
		bool known = false;
		for (int k = 0; k < g; k++)
			known |= strcmp(text[k], text[g]) == 0;
		n += !known;
	}
	return n;
}

/* Elements of a contraction's tile. */
static int tile(const char *plan)
{
	int rows = 0, columns = 0;
	CHECK(sscanf(strstr(plan, "rows="), "rows=%d columns=%d", &rows, &columns) == 2);
	return rows * columns;
}

/* For the differences and their reasons see docs/cost-model.md. */
static void check_differences(const char *text[PLANS][GPUS])
{
	enum { H100 = OWN - 1 };
	/* Rows of 128 KB stay in the registers of one block of 1024 threads: all of these GPUs have 256 KB a
	 * multiprocessor, so that a row read once takes one by itself. Where shared memory has half of two rows, too,
	 * two blocks of 512 threads do; that pays where a wave less is needed. Rows of 256 KB do where shared memory
	 * has the other half; elsewhere they are read again, by the same kernel where the L2 cache holds them
	 * meanwhile, else after parts of them have found the largest element and the sum. Of short rows a
	 * multiprocessor holds several, as many as its memory's rate wants. */
	CHECK_INT(distinct(text[SOFTMAX]), 1);
	CHECK(strstr(text[FEW_ROWS][H100], "lanes=512 width=4 steps=16") && distinct(text[FEW_ROWS]) >= 2);
	for (int g = 0; g < OWN; g++)
		CHECK(!strstr(text[FEW_ROWS][g], "shared=8") || gpu[g].shared >= 2 * ((64 << 10) + TARGET_EXCHANGE));
	for (int g = 0; g < GPUS; g++)
		CHECK(strstr(text[SOFTMAX][g], "rows@") && !strstr(text[SOFTMAX][g], "steps=0"));
	for (int g = 0; g < OWN; g++)
		CHECK((strstr(text[LONG_SOFTMAX][g], "lanes=1024 width=4 steps=16") != NULL) ==
		      (gpu[g].block_shared_most > 128 << 10));
	for (int g = 0; g < OWN; g++)
		CHECK((strstr(text[LONG_SOFTMAX][g], "rows_split@") != NULL) ==
		      (gpu[g].block_shared_most <= 128 << 10 && gpu[g].l2_bytes < 32 << 20));
	CHECK(distinct(text[LONG_SOFTMAX]) >= 3 && distinct(text[SHORT_SOFTMAX]) >= 2);
	/* Warpgroups if available, tensor cores everywhere: large tiles save L2 traffic, small ones fill the GPU. */
	for (int g = 0; g < GPUS; g++)
		CHECK(strstr(text[PRODUCT][g], g == H100 ? "contract_wide@" : "contract@"));
	CHECK(distinct(text[PRODUCT]) >= 3 && distinct(text[SMALL_PRODUCT]) >= 3 && distinct(text[PLAIN_PRODUCT]) >= 2);
	for (int g = 0; g < H100; g++)
		for (int k = 0; k < H100; k++)
			CHECK(gpu[g].processors <= gpu[k].processors ||
			      tile(text[SMALL_PRODUCT][g]) <= tile(text[SMALL_PRODUCT][k]));
	/* If memory is slow compared with arithmetic, weights may be computed more often. */
	CHECK(distinct(text[RESIZE]) >= 2);
	for (int g = 0; g < OWN; g++) {
		double bytes_an_instruction =
		        gpu[g].bytes_per_ns / (gpu[g].processors * gpu[g].clock_ghz * 32 * gpu[g].schedulers);
		CHECK(strstr(text[RESIZE][g], bytes_an_instruction > 0.05 ? "march@" : "planes@"));
	}
}

/* ---- Every GPU of the table: the cost model's choices for each plan and some programs are within its limits. */

static void check_choices(const char *name, const char *text, const struct sched_target *t, int64_t extent)
{
	struct arena *a = arena_new();
	struct ir_program *p = parse(name, text, a);
	struct sched_target large = *t;
	large.typical = extent;
	if (p)
		check_plan(sched_program(p, &large, NULL), &large, name);
	arena_free(a);
}

static void check_table(void)
{
	enum { EVERY = 9, LARGE = 1000 };
	int g = 0;
	for (const struct sched_target *t = sched_targets; t->name; t++, g++) {
		for (int i = 0; i < PLANS; i++)
			check_choices(plans[i].name, plans[i].text, t, plans[i].scheduled);
#define SOME(LIST) \
	for (size_t i = (size_t)g % EVERY; i < sizeof LIST / sizeof *LIST; i += EVERY) \
	check_choices(LIST[i].name, LIST[i].program, t, LARGE)
		SOME(row_cases);
		SOME(map_cases);
		SOME(contract_cases);
		SOME(attention_mma_cases);
		SOME(order_cases);
		SOME(scatter_cases);
#undef SOME
	}
}

/* The decisions for the five GPUs are those of tests/unit/plans.txt, from which docs/cost-model.md has its table. */
static void check_kept(const char *text[PLANS][GPUS], bool update, struct arena *a)
{
	static const char path[] = "tests/unit/plans.txt";
	struct str s = str_new(a);
	struct err e = { 0 };
	char *kept = NULL;
	size_t size = 0;
	for (int i = 0; i < PLANS; i++) {
		for (int g = 0; g < OWN; g++)
			str_printf(&s, "%-13s  %-20s  %s\n", plans[i].name, gpu[g].name, text[i][g]);
	}
	if (update)
		ck(file_write(path, s.at, s.n, &e) == 0);
	bool same = file_read(&kept, &size, path, a, &e) == 0 && size == s.n && memcmp(kept, s.at, s.n) == 0;
	if (!test_check(same, __FILE__, __LINE__, "the plans are the kept ones"))
		printf("  %s now has:\n%s  Run this with --update if that is intended, and see docs/cost-model.md.\n",
		       path, s.at);
}

int main(int argc, char **argv)
{
	struct arena *a = arena_new();
	const char *text[PLANS][GPUS];
	for (int g = 0; g < OWN; g++)
		gpu[g] = *tpat_gpu_named(gpu_name[g]);
	gpu[OWN] = own_gpu();
	CASES(row_cases, 3);
	CASES(map_cases, 3);
	CASES(contract_cases, 3);
	CASES(contract_wide_cases, 3);
	CASES(attention_cases, 3);
	CASES(attention_mma_cases, 3);
	CASES(attention_few_cases, 2);
	CASES(attention_lanes_cases, 2);
	CASES(attention_wide_cases, 2);
	CASES(attention_ring_cases, 2);
	CASES(order_cases, 3);
	CASES(fourier_cases, 3);
	CASES(scatter_cases, 3);
	CASES(loop_cases, 6);
	for (int i = 0; i < PLANS; i++) {
		test_plan(&plans[i], text[i], a);
		for (int g = 0; g < GPUS; g++)
			printf("%-12s %-20s %s\n", plans[i].name, gpu[g].name, text[i][g]);
	}
	check_differences(text);
	check_kept(text, argc > 1 && strcmp(argv[1], "--update") == 0, a);
	check_table();
	arena_free(a);
	return test_done();
}
