/* Plans for several points: kernels of one name are one function, for one architecture or for all. */
#include "sched/sched.h"

#include <string.h>

#include "gen/language.h"
#include "ir/kernel.h"

#include "tests/program/program_text.h"
#include "test.h"

/* At some of its usual points nothing is packed: these have fewer launches. */
static const char program_text[] =
        "program convolution(x: f16[N,64,H,W], weight: f16[128,64,3,3]) -> (y: f16[N,128,H,W])\n"
        "  y: f16[N,128,H,W] = sum (i, j, k, l | r<64, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < H), and(0 "
        "<= "
        "l + t - 1, l + t - 1 < W)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then f16(it)\n";

/* Returns the number of kernels for one architecture. */
static int check_arch_of_name(const struct ir_plan *plan, struct arena *a)
{
	struct map seen = map_new(a);
	int limited = 0;
	vec_each (step, &plan->steps)
		vec_each (k, *step) {
			const struct ir_kernel *same = map_get(&seen, (*k)->name);
			if (same)
				CHECK_INT((*k)->arch, same->arch);
			else
				map_put(&seen, (*k)->name, *k);
			limited += (*k)->arch != 0;
		}
	return limited;
}

/* Three layers of one computation; one without the other's rounding; and one of another size. */
static const char layers_text[] = "program layers(x: f32[64,N]) -> (y: f32[64,1], z: f32[32,1])\n"
                                  "  a: f32[64,1] = sum (i, j | r<N) x[i, r] then sqrt(it)\n"
                                  "  b: f32[64,N] = sum (i, j | r<64) x[i, j] * x[r, j] then it * a[i, 0]\n"
                                  "  c: f32[64,1] = sum (i, j | r<N) b[i, r] then sqrt(it)\n"
                                  "  d: f32[64,N] = sum (i, j | r<64) b[i, j] * b[r, j] then it * c[i, 0]\n"
                                  "  y: f32[64,1] = sum (i, j | r<N) d[i, r] then sqrt(it)\n"
                                  "  z: f32[32,1] = sum (i, j | r<N) d[i, r] then exp(it)\n";

static const char *name_of(const struct ir_plan *plan, const char *written, int step)
{
	int at = 0;
	vec_each (s, &plan->steps) {
		const struct ir_kernel *k = (*s)->at[(*s)->n - 1];
		vec_each (b, &k->written)
			if (strcmp((*b)->name, written) == 0 && at++ == step)
				return k->name;
	}
	return "none";
}

/* Layers that differ in their tensors only are one function; all others are not. */
static void shares_layers(struct arena *a)
{
	struct ir_program *p = NULL;
	struct err e = { 0 };
	const struct ir_plan *plan;
	if (!test_check(ir_parse_program(&p, layers_text, a, &e) == 0, __FILE__, __LINE__, "the program can be read")) {
		printf("%s%s\n", e.where, e.text);
		return;
	}
	struct sched_points points = sched_usual_points(p, &sched_default_target);
	struct sched_tactic best = sched_tactic_best(p, &points);
	sched_plans(&plan, p, &points, &best, 1);
	CHECK_STR(name_of(plan, "c", 0), name_of(plan, "a", 0));
	CHECK_STR(name_of(plan, "d", 0), name_of(plan, "b", 0));
	CHECK_STR(name_of(plan, "y", 0), name_of(plan, "a", 0));
	CHECK(strcmp(name_of(plan, "z", 0), name_of(plan, "y", 0)) != 0);
	CHECK(strcmp(name_of(plan, "b", 0), name_of(plan, "a", 0)) != 0);
}

/* The plan of two products that differ in what follows the sum; null if the program is wrong. */
static const struct ir_plan *plan_of_pair(struct arena *a, const char *first, const char *second)
{
	struct ir_program *p = NULL;
	struct err e = { 0 };
	const char *text = arena_printf(a,
	                                "program pair(given: f32[64,64]) -> (y: f32[64,64], z: f32[64,64])\n"
	                                "  x: f32[64,64] = sum (i, j | r<64) given[i, r] * given[r, j]\n"
	                                "  y: f32[64,64] = sum (i, j | r<64) x[i, r] * x[r, j] then %s\n"
	                                "  z: f32[64,64] = sum (i, j | r<64) y[i, r] * y[r, j] then %s\n",
	                                first, second);
	const struct ir_plan *plan;
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read")) {
		printf("%s%s\n", e.where, e.text);
		return NULL;
	}
	struct sched_points points = sched_usual_points(p, &sched_default_target);
	struct sched_tactic best = sched_tactic_best(p, &points);
	sched_plans(&plan, p, &points, &best, 1);
	return plan;
}

/* True if the two products are one function. */
static bool shares(struct arena *a, const char *first, const char *second)
{
	const struct ir_plan *plan = plan_of_pair(a, first, second);
	return plan && strcmp(name_of(plan, "y", 0), name_of(plan, "z", 0)) == 0;
}

/* A plan may have only the second of them, which is printed like the first. */
static void prints_second(struct arena *a)
{
	const struct ir_plan *plan = plan_of_pair(a, "it * 0.3", "it * 0.7"), *last;
	struct ir_plan own = { .program = plan ? plan->program : NULL };
	struct str text = str_new(a);
	if (!plan)
		return;
	vec_push(a, &own.steps, plan->steps.at[plan->steps.n - 1]);
	last = &own;
	language_cuda.print(&text, &last, 1);
	CHECK(strstr(str_text(&text), "* scale"));
}

/* Numbers become parameters if the operation is as fast with any number. */
static void shares_numbers(struct arena *a)
{
	CHECK(shares(a, "it * 0.3", "it * 0.7"));
	CHECK(shares(a, "rint(it / 0.3) + 7.0", "rint(it / 0.6) + 9.0"));
	CHECK(shares(a, "min(max(it, -3.0), 5.5)", "min(max(it, -2.5), 6.0)"));
	CHECK(shares(a, "it * 0.3 + 0.3", "it * 0.3 + 0.6")); /* one number of the first is two of the second */
	CHECK(shares(a, "it + x[i, j]", "it + y[i, j]"));
	CHECK(!shares(a, "it * 0.3", "it + 0.3"));
	CHECK(!shares(a, "max(it, 0.0)", "max(it, 3.0)"));
	CHECK(!shares(a, "pow(it, 3.0)", "pow(it, 4.0)"));
	CHECK(!shares(a, "f32(i32(it) / i32(3))", "f32(i32(it) / i32(5))"));
	CHECK(!shares(a, "it * f32(j + 3)", "it * f32(j + 5)"));
}

/* Two parts of a launch are one function, with numbers of their own. */
static void shares_launches(struct arena *a)
{
	const char *text =
	        "program pair(a: f32[N,512], b: f32[512,64], c: f32[N,512], d: f32[512,64]) -> (y: f32[N,64], "
	        "z: f32[N,64])\n"
	        "  y: f32[N,64] = sum (i, j | r<512) a[i, r] * b[r, j] then it * 0.3\n"
	        "  z: f32[N,64] = sum (i, j | r<512) c[i, r] * d[r, j] then it * 0.7\n";
	struct ir_program *p = NULL;
	struct err e = { 0 };
	const struct ir_plan *plan;
	int launches = 0;
	if (!test_check(ir_parse_program(&p, arena_strdup(a, text), a, &e) == 0, __FILE__, __LINE__,
	                "the program can be read"))
		return;
	struct sched_points points = sched_usual_points(p, &sched_default_target);
	struct sched_tactic best = sched_tactic_best(p, &points);
	sched_plans(&plan, p, &points, &best, 1);
	vec_each (step, &plan->steps)
		vec_each (k, *step) {
			CHECK_INT(ir_kernel_check(*k, &e), 0);
			if ((*k)->parts.n != 2)
				continue;
			launches++;
			CHECK_STR((*k)->parts.at[0]->name, (*k)->parts.at[1]->name);
			CHECK_INT((*k)->parameters.n, 2);
			CHECK((*k)->parameters.at[0].value != (*k)->parameters.at[1].value);
		}
	CHECK(launches > 0);
}

/* A product with three open extents, as at a point of its profile. */
struct product_at {
	struct ir_program *p;
	int64_t extent[3];
};

static bool extent_at(void *user, expr symbol, int64_t *value)
{
	static const char *const name[] = { "M", "K", "N" };
	const struct product_at *at = user;
	for (int i = 0; i < 3; i++)
		if (strcmp(symbol->name, name[i]) == 0)
			*value = at->extent[i];
	return true;
}

/* The number of launches that write copies of operands at these extents: kernels that run, with some block. */
static int copies_at(const struct ir_plan *plan, struct product_at at)
{
	int copies = 0;
	vec_each (step, &plan->steps)
		vec_each (k, *step) {
			int64_t holds = 1, blocks = 0;
			if ((*k)->guard)
				CHECK(ir_eval_int((*k)->guard, extent_at, &at, &holds));
			if (!holds)
				continue;
			CHECK(ir_eval_int((*k)->blocks, extent_at, &at, &blocks));
			vec_each (b, &(*k)->written)
				copies += blocks > 0 && strstr((*b)->name, "packed") != NULL;
			break;
		}
	return copies;
}

/* All points of the profile are whole vectors: a product reads such operands as they are, and copies of all others. */
static void has_ways_for_odd_extents(struct arena *a)
{
	static const char text[] = "program product(a: f16[M,K], b: f16[K,N]) -> (y: f16[M,N])\n"
	                           "  y: f16[M,N] = sum (i, j | r<K) f32(a[i, r]) * f32(b[r, j]) then f16(it)\n";
	static const int64_t extent[3][3] = { { 256, 2048, 8192 }, { 1024, 2048, 4096 }, { 256, 2048, 4096 } };
	struct ir_program *p = NULL;
	struct err e = { 0 };
	const struct ir_plan *plan;
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return;
	const expr symbol[] = { p->inputs.at[0]->dim[0], p->inputs.at[0]->dim[1], p->inputs.at[1]->dim[1] };
	const int64_t *const value[] = { extent[0], extent[1], extent[2] };
	struct sched_points points = sched_points_of(&sched_default_target, symbol, value, 3, 3, 1, a);
	struct sched_tactic best = sched_tactic_best(p, &points);
	sched_plans(&plan, p, &points, &best, 1);
	CHECK_INT(copies_at(plan, (struct product_at){ p, { 2048, 2048, 2048 } }), 0);
	CHECK_INT(copies_at(plan, (struct product_at){ p, { 2040, 2040, 2056 } }), 0);
	CHECK_INT(copies_at(plan, (struct product_at){ p, { 2049, 2047, 2047 } }), 2);
	CHECK_INT(copies_at(plan, (struct product_at){ p, { 4099, 2046, 2017 } }), 2);
}

/* Between a profile's points other choices may be better than those of both. */
static void has_points_between(struct arena *a)
{
	static const char text[] =
	        "program product(a: f16[8,M,K], b: f16[8,K,N]) -> (y: f16[8,M,N])\n"
	        "  y: f16[8,M,N] = sum (i, j, k | r<K) f32(a[i, j, r]) * f32(b[i, r, k]) then f16(it)\n";
	static const int64_t extent[3][3] = { { 19, 304, 608 }, { 47, 611, 1222 }, { 37, 407, 814 } };
	struct ir_program *p = NULL;
	struct err e = { 0 };
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return;
	const expr symbol[] = { p->inputs.at[0]->dim[1], p->inputs.at[0]->dim[2], p->inputs.at[1]->dim[2] };
	const int64_t *const value[] = { extent[0], extent[1], extent[2] };
	struct sched_points given = sched_points_of(&sched_default_target, symbol, value, 3, 3, 1, a);
	struct sched_points points = sched_points_between(&given, a);
	struct sched_tactic few = sched_tactic_best(p, &given), more = sched_tactic_best(p, &points);
	CHECK_INT(points.n, 5);
	CHECK_INT(points.opt, 2);
	for (int i = 0; i < points.n; i++) {
		CHECK_INT(points.between[i], i % 2);
		CHECK_INT(points.target[i].extents, 3);
		for (int k = 0; i > 0 && k < 3; k++)
			CHECK(points.target[i].extent[k].value > points.target[i - 1].extent[k].value);
	}
	struct sched_target *middle = &points.target[3];
	struct sched_choice *best = NEWN(a, struct sched_choice, p->stages.n);
	sched_decide(p, middle, NULL, best);
	double least = sched_time(p, best, 0, p->stages.n, middle), with = sched_tactic_time(p, &points, &more, middle);
	CHECK(with >= least && with <= 1.2 * least);
	CHECK(with < sched_time(p, few.choice[1], 0, p->stages.n, middle) / 1.2);
	/* Points that are the same have none between them, and neither have neighbours. */
	static const int64_t near[3][3] = { { 8, 8, 64 }, { 34, 34, 34 }, { 47, 47, 48 } };
	const int64_t *const nearly[] = { near[0], near[1], near[2] };
	given = sched_points_of(&sched_default_target, symbol, nearly, 3, 3, 0, a);
	points = sched_points_between(&given, a);
	CHECK_INT(points.n, 4);
	CHECK_INT(points.opt, 0);
	CHECK(points.between[2] && points.target[2].extent[0].value == 24 && points.target[2].extent[1].value == 34);
}

/* Extents where one symbol is small and the other one large lie beside the way from point to point. */
static void has_ways_beside_points(struct arena *a)
{
	static const char text[] = "program softmax(x: f32[N,M]) -> (y: f32[N,M])\n"
	                           "  largest: f32[N,1] = max (i, j | r<M) x[i, r]\n"
	                           "  exp_sum: f32[N,1] = sum (i, j | r<M) exp(x[i, r] - largest[i, 0])\n"
	                           "  y: f32[N,M] = map (i, j) exp(x[i, j] - largest[i, 0]) / exp_sum[i, 0]\n";
	static const int64_t extent[2][3] = { { 8, 128, 2048 }, { 40, 600, 4800 } };
	static const int64_t beside[][2] = { { 8, 4801 },   { 10, 2047 },  { 33, 4000 },  { 2000, 40 },
		                             { 2048, 129 }, { 1500, 611 }, { 128, 1611 }, { 640, 1001 } };
	struct ir_program *p = NULL;
	struct err e = { 0 };
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return;
	const expr symbol[] = { p->inputs.at[0]->dim[0], p->inputs.at[0]->dim[1] };
	const int64_t *const value[] = { extent[0], extent[1] };
	struct sched_points given = sched_points_of(&sched_default_target, symbol, value, 2, 3, 1, a);
	struct sched_points points = sched_points_between(&given, a);
	struct sched_tactic best = sched_tactic_best(p, &points);
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		const int64_t *const at[] = { &beside[i][0], &beside[i][1] };
		struct sched_points one = sched_points_of(&sched_default_target, symbol, at, 2, 1, 0, a);
		double least = sched_program_time(p, &one.target[0]),
		       with = sched_tactic_time(p, &points, &best, &one.target[0]);
		CHECK(with >= least && with <= 1.2 * least);
	}
}

/* A tactic differs at the optimum. Far from it, its choices are hardly slower than those of the first. */
static void other_tactics_stay_near(struct arena *a)
{
	static const char text[] =
	        "program scores(x: f32[B,8,N,M], bias: f32[B,1,1,M]) -> (y: f32[B,8,N,M])\n"
	        "  largest: f32[B,8,N,1] = max (i, j, k, l | r<M) x[i, j, k, r] * 0.125 + bias[i, 0, 0, r]\n"
	        "  total: f32[B,8,N,1] = sum (i, j, k, l | r<M) exp(x[i, j, k, r] * 0.125 + bias[i, 0, 0, r] - "
	        "largest[i, j, k, 0])\n"
	        "  y: f32[B,8,N,M] = map (i, j, k, l) exp(x[i, j, k, l] * 0.125 + bias[i, 0, 0, l] - largest[i, j, k, "
	        "0]) / "
	        "total[i, j, k, 0]\n";
	static const int64_t extent[3][3] = { { 4, 32, 64 }, { 3, 24, 72 }, { 28, 231, 693 } };
	static const int64_t beside[][3] = { { 4, 9, 67 }, { 4, 3, 28 }, { 8, 5, 40 }, { 5, 12, 64 }, { 60, 3, 40 } };
	struct ir_program *p = NULL;
	struct err e = { 0 };
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return;
	const expr symbol[] = { p->inputs.at[0]->dim[0], p->inputs.at[0]->dim[2], p->inputs.at[0]->dim[3] };
	const int64_t *const value[] = { extent[0], extent[1], extent[2] };
	struct sched_points given = sched_points_of(&sched_default_target, symbol, value, 3, 3, 1, a);
	struct sched_points points = sched_points_between(&given, a);
	struct sched_tactic best = sched_tactic_best(p, &points), all[4];
	int n = sched_tactics(p, &points, &best, 4, all);
	CHECK_INT(n, 4);
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		const int64_t *const at[] = { &beside[i][0], &beside[i][1], &beside[i][2] };
		struct sched_points one = sched_points_of(&sched_default_target, symbol, at, 3, 1, 0, a);
		double launch = 0.75 * one.target[0].launch_ns;
		double first = sched_tactic_time(p, &points, &all[0], &one.target[0]) - launch;
		for (int k = 1; k < n; k++)
			CHECK(sched_tactic_time(p, &points, &all[k], &one.target[0]) - launch < 1.1 * first);
	}
}

/* A tactic whose choice is measured to be the fastest at the optimum, and estimated to be slightly slower than the
 * first, is taken at the points nearby: not for the optimum alone. */
static void other_tactics_reach_neighbours(struct arena *a)
{
	static const char text[] = "program first(x: f16[N,5064]) -> (y: i64[N,48])\n"
	                           "  y: i64[N,48] = sort descending along j (i, j | r<5064) f32(x[i, r])\n";
	static const int64_t rows[3] = { 2, 16, 64 }, near[] = { 4, 8, 15, 16, 29 };
	struct ir_program *p = NULL;
	struct err e = { 0 };
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return;
	const int64_t *const value[] = { rows };
	struct sched_points given = sched_points_of(&sched_default_target, p->inputs.at[0]->dim, value, 1, 3, 1, a);
	struct sched_points points = sched_points_between(&given, a);
	struct sched_tactic best = sched_tactic_best(p, &points), all[2];
	CHECK_INT(sched_tactics(p, &points, &best, 2, all), 2);
	const struct sched_choice *other = all[1].choice[points.opt];
	CHECK(other->rule != best.choice[points.opt]->rule);
	for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
		const int64_t *const at[] = { &near[i] };
		struct sched_points one = sched_points_of(&sched_default_target, p->inputs.at[0]->dim, at, 1, 1, 0, a);
		double other_time = sched_time(p, other, 0, p->stages.n, &one.target[0]);
		CHECK(sched_tactic_time(p, &points, &all[1], &one.target[0]) == other_time);
	}
}

/* Rows of an open length that is small at the optimum are taken by one thread each, all stages in one launch. */
static void takes_short_rows_at_once(struct arena *a)
{
	static const char text[] = "program short_rows(x: f32[N,M,K]) -> (y: f32[N,M])\n"
	                           "  largest: f32[N,M] = max (i, j | r<K) x[i, j, r]\n"
	                           "  y: f32[N,M] = sum (i, j | r<K) exp(x[i, j, r] - largest[i, j]) then log(it) + "
	                           "largest[i, j]\n";
	static const int64_t extent[3][3] = { { 16, 129, 512 }, { 212, 1696, 4096 }, { 1, 1, 4 } };
	struct ir_program *p = NULL;
	struct err e = { 0 };
	const struct ir_plan *plan;
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return;
	const int64_t *const value[] = { extent[0], extent[1], extent[2] };
	struct sched_points points = sched_points_of(&sched_default_target, p->inputs.at[0]->dim, value, 3, 3, 1, a);
	struct sched_tactic best = sched_tactic_best(p, &points);
	sched_plans(&plan, p, &points, &best, 1);
	CHECK_INT(plan->steps.n, 1);
}

static bool loads_vectors(const struct ir_block *b)
{
	bool any = false;
	for (int i = 0; i < b->n && !any; i++) {
		const struct ir_block *body = ir_stmt_body(&b->at[i]);
		any = (b->at[i].kind == IR_LOAD_VECTOR && b->at[i].vector.width == 16) || (body && loads_vectors(body));
	}
	return any;
}

/* The sums that a zero point multiplies read rows of bytes in vectors. */
static void sums_bytes_in_vectors(struct arena *a)
{
	static const char text[] = "program product(x: u8[4096,4096], w_: i8[4096,4096], zero: u8[]) -> (y: "
	                           "i32[4096,4096])\n"
	                           "  y: i32[4096,4096] = sum (i, j | r<4096) (i32(x[i, r]) - i32(zero[])) * i32(w_[r, "
	                           "j])\n";
	struct ir_program *p = NULL;
	struct err e = { 0 };
	int found = 0;
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return;
	const struct ir_plan *plan = sched_program(p, &sched_default_target, NULL);
	vec_each (step, &plan->steps)
		vec_each (k, *step)
			vec_each (b, &(*k)->written) {
				if (strcmp((*b)->name, "w__sums") != 0)
					continue;
				CHECK(loads_vectors(&(*k)->body));
				found++;
			}
	CHECK(found > 0);
}

static bool loads_shifted(const struct ir_block *b)
{
	bool any = false;
	for (int i = 0; i < b->n && !any; i++) {
		const struct ir_block *body = ir_stmt_body(&b->at[i]);
		any = (b->at[i].kind == IR_LOAD_VECTOR && b->at[i].vector.shifted) || (body && loads_shifted(body));
	}
	return any;
}

/* Number of the program's kernels with vectors from rows that begin between them. */
static int shifted_kernels(struct arena *a, const char *text)
{
	struct ir_program *p = NULL;
	struct err e = { 0 };
	int n = 0;
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return 0;
	const struct ir_plan *plan = sched_program(p, &sched_default_target, NULL);
	vec_each (step, &plan->steps)
		vec_each (k, *step) {
			n += loads_shifted(&(*k)->body);
			vec_each (part, &(*k)->parts)
				n += loads_shifted(&(*part)->body);
		}
	return n;
}

/* Rows of whole vectors, read from rows that begin between them: padded, cut, and the operands of a product, which are
 * padded first. Of rows that are aligned, plain vectors are read. */
static void shifts_rows_of_whole_vectors(struct arena *a)
{
	CHECK_INT(shifted_kernels(a, "program pad(x: f16[8191,769]) -> (y: f16[8191,784])\n"
	                             "  y: f16[8191,784] = map (i, j) select(j < 769, x[i, j], f16(0.0))\n"),
	          1);
	CHECK_INT(shifted_kernels(a, "program cut(x: i8[8191,769]) -> (y: i8[8191,768])\n"
	                             "  y: i8[8191,768] = map (i, j) x[i, j + 1]\n"),
	          1);
	CHECK_INT(shifted_kernels(a, "program product(x: u8[8191,769], b: i8[1537,769]) -> (y: i32[8191,1537])\n"
	                             "  y: i32[8191,1537] = sum (i, j | r<769) i32(x[i, r]) * i32(b[j, r])\n"),
	          2);
	CHECK_INT(shifted_kernels(a, "program aligned(x: f16[8191,768]) -> (y: f16[8191,784])\n"
	                             "  y: f16[8191,784] = map (i, j) select(j < 768, x[i, j], f16(0.0))\n"),
	          0);
}

/* A quantisation stores rows of whole lines for the product after it, although rows of whole vectors are fewer bytes.
 */
static void pads_rows_to_lines(struct arena *a)
{
	static const char text[] =
	        "program product(x: f16[8191,769], b: i8[769,1537], z: u8[]) -> (y: f16[8191,1537])\n"
	        "  q: u8[8191,769] = map (i, j) u8(min(max(rint(f32(x[i, j]) * 16.0) + f32(z[]), 0.0), "
	        "255.0))\n"
	        "  y: f16[8191,1537] = sum (i, j | r<769) (i32(q[i, r]) - i32(z[])) * i32(b[r, j]) then "
	        "f16(f32(it) * 0.01)\n";
	struct ir_program *p = NULL;
	struct err e = { 0 };
	struct sched_choice choice[2] = { 0 };
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return;
	sched_decide(p, NULL, choice, choice);
	const char *decisions = sched_decisions_text(p, choice, a);
	if (!test_check(strstr(decisions, "contract_placed@1 rows=128") && strstr(decisions, "packed=3"), __FILE__,
	                __LINE__, "rows of whole lines"))
		printf("  %s\n", decisions);
}

/* What equal parts of a row leave is read by one block: the number of parts is such that it is little. */
static void parts_leave_little(struct arena *a)
{
	enum { POINTS = 6298879, LITTLE = 1024 };
	static const char text[] = "program range(x: f16[6298879]) -> (low: f32[], high: f32[])\n"
	                           "  low: f32[] = min (| r<6298879) f32(x[r])\n"
	                           "  high: f32[] = max (| r<6298879) f32(x[r])\n";
	struct ir_program *p = NULL;
	struct err e = { 0 };
	struct sched_choice choice[SCHED_MAX_CHOICES];
	int found = 0;
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return;
	int n = sched_choices(p, p->stages.at[0], &sched_default_target, choice);
	for (int i = 0; i < n; i++) {
		const int *param = choice[i].param;
		if (strcmp(choice[i].rule->name, "rows_split") != 0 || !param[2])
			continue;
		found++;
		if (!test_check(POINTS % (param[0] * param[1]) <= LITTLE, __FILE__, __LINE__, "few elements are left"))
			printf("  %d parts, vectors of %d: %d\n", param[0], param[1], POINTS % (param[0] * param[1]));
	}
	CHECK(found > 2);
}

/* Few rows of an open length, odd at the point: a warp with vectors would scan them element by element. */
static void scans_odd_rows_by_blocks(struct arena *a)
{
	static const char text[] = "program running(x: f16[N,K]) -> (y: f16[N,K])\n"
	                           "  y: f16[N,K] = scan sum along j (i, j) f32(x[i, j])\n";
	static const int64_t rows = 2, length = 481;
	struct ir_program *p = NULL;
	struct err e = { 0 };
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return;
	const int64_t *const value[] = { &rows, &length };
	struct sched_points one = sched_points_of(&sched_default_target, p->inputs.at[0]->dim, value, 2, 1, 0, a);
	struct sched_choice c[2];
	sched_decide(p, &one.target[0], NULL, c);
	CHECK_STR(c->rule->name, "scan_lanes");
	CHECK(c->param[0] >= 256 && c->param[1] == 1);
}

int main(void)
{
	struct arena *a = arena_new();
	struct ir_program *p = NULL;
	struct err e = { 0 };
	if (!test_check(ir_parse_program(&p, program_text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return printf("%s%s\n", e.where, e.text), test_done();
	struct sched_points points = sched_usual_points(p, &sched_default_target);
	struct sched_tactic best = sched_tactic_best(p, &points);
	const struct ir_plan *plan;
	sched_plans(&plan, p, &points, &best, 1);
	CHECK(points.n > 1 && plan->steps.n > 1);
	CHECK(check_arch_of_name(plan, a) > 0);
	shares_layers(a);
	shares_numbers(a);
	prints_second(a);
	shares_launches(a);
	has_ways_for_odd_extents(a);
	has_points_between(a);
	has_ways_beside_points(a);
	other_tactics_stay_near(a);
	other_tactics_reach_neighbours(a);
	takes_short_rows_at_once(a);
	scans_odd_rows_by_blocks(a);
	sums_bytes_in_vectors(a);
	shifts_rows_of_whole_vectors(a);
	pads_rows_to_lines(a);
	parts_leave_little(a);
	arena_free(a);
	return test_done();
}
