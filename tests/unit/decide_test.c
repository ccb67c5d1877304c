/* Decisions as text: written ones are read back; all other text is refused, with a reason. */
#include "lib/tpat_decisions.h"

#include "tests/program/program_text.h"
#include "test.h"

static const char program_text[] =
        "program norm(x: f16[N,768], scale: f16[768]) -> (y: f16[N,768], row_totals: f32[N])\n"
        "  mean: f32[N,1] = sum (i, j | r<768) f32(x[i, r]) then it / 768.0\n"
        "  y: f16[N,768] = map (i, j) f16((f32(x[i, j]) - mean[i, 0]) * f32(scale[j]))\n"
        "  row_totals: f32[N] = sum (i | r<768) f32(scale[r]) * f32(i)\n";

static struct ir_program *parse(const char *text, struct arena *a)
{
	struct ir_program *p = NULL;
	struct err e = { 0 };
	if (!test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		printf("%s%s\n%s", e.where, e.text, text);
	return p;
}

static void check_refused(const char *text, const char *says, struct ir_program *p, struct arena *a)
{
	struct sched_choice c[8];
	const char *why = "";
	bool fine = tpat_decisions_parse(c, text, p, NULL, &why, a);
	if (!test_check(!fine && strstr(why, says), __FILE__, __LINE__, says))
		printf("  \"%s\": %s\n", text, fine ? "taken" : why);
}

static bool is_current(const char *text, const char **why, struct arena *a)
{
	struct tpat_decisions found = { 0 };
	return tpat_decisions_read(&found, text, why, a);
}

static bool same(const struct sched_choice *x, const struct sched_choice *y, int n)
{
	for (int i = 0; i < n; i++)
		if (x[i].rule != y[i].rule || (x[i].rule && memcmp(x[i].param, y[i].param, sizeof x[i].param) != 0))
			return false;
	return true;
}

/* Every choice of every stage, with the best ones around it. */
static void test_round_trip(struct ir_program *p, struct arena *a)
{
	int tried = 0;
	for (int i = 0; i < p->stages.n; i++) {
		struct sched_choice choice[SCHED_MAX_CHOICES];
		int n = sched_choices(p, p->stages.at[i], &sched_default_target, choice);
		for (int k = 0; k < n; k++) {
			struct sched_choice given[8] = { 0 }, c[8] = { 0 }, back[8] = { 0 };
			const char *why = "";
			given[i] = choice[k];
			sched_decide(p, NULL, given, c);
			if (!c[i].rule)
				continue; /* an earlier choice makes it */
			CHECK(same(&c[i], &choice[k], 1));
			const char *text = sched_decisions_text(p, c, a);
			if (!test_check(tpat_decisions_parse(back, text, p, NULL, &why, a) &&
			                        same(c, back, p->stages.n),
			                __FILE__, __LINE__, "a text is read back"))
				printf("  %s: %s\n", text, why);
			CHECK(is_current(text, &why, a));
			CHECK_STR(sched_decisions_text(p, back, a), text);
			tried++;
		}
	}
	CHECK(tried > 8);
}

/* Groups of a known number of channels are rows, whatever the size of the images, which may even be empty. */
static void test_open_groups(struct arena *a)
{
	static const char text[] =
	        "program groups(x: f32[N,896,H,W], scale: f32[896]) -> (y: f32[N,896,H,W])\n"
	        "  mean: f32[N,32] = sum (i, j | r<28, s<H, t<W) x[i, j * 28 + r, s, t] then it / f32(H * W * 28)\n"
	        "  y: f32[N,896,H,W] = map (i, j, k, l) (x[i, j, k, l] - mean[i, floordiv(j, 28)]) * scale[j]\n";
	struct ir_program *p = parse(text, a);
	struct sched_choice choice[SCHED_MAX_CHOICES];
	int found = 0, n = p ? sched_choices(p, p->stages.at[0], &sched_default_target, choice) : 0;
	for (int i = 0; i < n; i++)
		if (strcmp(choice[i].rule->name, "rows") == 0) {
			CHECK_INT(sched_span(p, p->stages.at[0], &choice[i]), 2);
			found++;
		}
	CHECK(found > 0);
}

/* A rule matches a stage once; the result is valid until passes run. */
static void test_match_once(struct arena *a)
{
	struct ir_program *p = parse(program_text, a);
	const struct sched_rule *rows = tpat_rule_named("rows"), *sort = tpat_rule_named("sort_radix");
	const char *why = "";
	struct err e = { 0 };
	const void *found = p ? sched_match(p, p->stages.at[0], rows, &why) : NULL;
	struct sched_choice choice[SCHED_MAX_CHOICES];
	CHECK(found);
	if (!found)
		return;
	sched_choices(p, p->stages.at[0], &sched_default_target, choice);
	CHECK(sched_match(p, p->stages.at[0], rows, &why) == found);
	CHECK(!sched_match(p, p->stages.at[0], sort, &why));
	CHECK_STR(why, "the stage is not a sort");
	why = "";
	CHECK(!sched_match(p, p->stages.at[0], sort, &why));
	CHECK_STR(why, "the stage is not a sort");
	CHECK(ir_optimise(p, NULL, NULL, &e) == 0 && !p->found);
}

static void test_refused(struct ir_program *p, struct arena *a)
{
	const char *why = "";
	const int lanes = tpat_rule_named("reduce_thread")->version, map = tpat_rule_named("map")->version;
	const char *mean = arena_printf(a, "0 reduce_thread@%d", lanes), *y = arena_printf(a, "1 map@%d width=1", map),
	           *sums = arena_printf(a, "2 reduce_thread@%d", lanes);
	struct sched_choice c[8];
	if (!test_check(tpat_decisions_parse(c, arena_printf(a, "%s; %s; %s", mean, y, sums), p, NULL, &why, a),
	                __FILE__, __LINE__, "the plain text is taken"))
		printf("  %s\n", why);
	/* The older form, without parameter names. */
	CHECK(tpat_decisions_parse(c, arena_printf(a, "%s; 1 map@%d 1; %s", mean, map, sums), p, NULL, &why, a));
	check_refused(arena_printf(a, "%s; 1 map@%d lanes=1; %s", mean, map, sums), "number 1 is width", p, a);
	check_refused(arena_printf(a, "%s; 1 map@%d width=64; %s", mean, map, sums), "from 1 to 16", p, a);
	check_refused("", "not a list of decisions", p, a);
	check_refused(mean, "no decision for stage 1", p, a);
	check_refused("rubbish", "not a list of decisions", p, a);
	check_refused(arena_printf(a, "%s, %s", mean, y), "not a list of decisions", p, a);
	check_refused(arena_printf(a, "%s; %s; %s; 3 map@%d 1", mean, y, sums, map), "more stages", p, a);
	check_refused(arena_printf(a, "%s; %s; %s ", mean, y, sums), "not a list of decisions", p, a);
	check_refused(arena_printf(a, "%s; %s; %s", mean, sums, y), "not a list of decisions", p, a);
	check_refused(arena_printf(a, "%s; %s", mean, sums), "decides stage 2 where stage 1 comes next", p, a);
	check_refused(arena_printf(a, "%s; 1 no_such_rule@1 4", mean), "no rule no_such_rule", p, a);
	check_refused(arena_printf(a, "%s; 1 map@%d 1", mean, map + 1), arena_printf(a, "version %d now", map), p, a);
	check_refused(arena_printf(a, "%s; 1 map@%d", mean, map), "has 1 parameters", p, a);
	check_refused(arena_printf(a, "%s; 1 map@%d 4,4", mean, map), "not a list of decisions", p, a);
	check_refused(arena_printf(a, "%s; 1 map@%d 4", mean, map), "no decision for stage 2", p, a);
	check_refused(arena_printf(a, "%s; 1 map@%d 3", mean, map), "does not offer these parameters", p, a);
	check_refused(arena_printf(a, "%s; 1 map@%d -1", mean, map), "cannot be -1", p, a);
	check_refused(arena_printf(a, "%s; 1 map@%d 99999999999999999999", mean, map), "has 1 parameters", p, a);
	check_refused(arena_printf(a, "%s; 1 reduce_thread@%d", mean, lanes), "does not fit stage 1", p, a);
	check_refused(arena_printf(a, "0 map@%d 1; %s; %s", map, y, sums), "the stage is not a map", p, a);
	CHECK(!is_current("0 map@999 4", &why, a) && strstr(why, "version"));
	CHECK(!is_current("0 nothing@1 4", &why, a) && strstr(why, "no rule"));
	CHECK(!is_current("", &why, a));
	CHECK(!is_current(arena_printf(a, "1 map@%d 4; 1 map@%d 4", map, map), &why, a));
	CHECK(!is_current(arena_printf(a, "1 map@%d 4;", map), &why, a));
	CHECK(is_current(arena_printf(a, "1 map@%d 4; 5 map@%d 8", map, map), &why, a));
}

static bool extent(void *user, expr symbol, int64_t *value)
{
	(void)user;
	*value = *symbol->name == 'N' || *symbol->name == 'A' ? 8 : 100;
	return *symbol->name != '?';
}

static void test_shape(struct arena *a)
{
	struct ir_program *p = parse("program p(x: f32[N,768,M], y: f32[M,N]) -> (z: f32[N])\n"
	                             "  z: f32[N] = map (i) x[i, 0, 0] * y[0, i]\n",
	                             a);
	struct ir_program *q = parse("program q(input_a: f32[A,768,B], input_b: f32[B,A]) -> (output_c: f32[A])\n"
	                             "  output_c: f32[A] = map (i) input_a[i, 0, 0] * input_b[0, i]\n",
	                             a);
	struct ir_program *r = parse("program r(x: f32[4]) -> (z: f32[4])\n  z: f32[4] = map (i) x[i]\n", a);
	char hp[33], hq[33];
	if (!p || !q || !r)
		return;
	ir_hash(p, hp);
	ir_hash(q, hq);
	CHECK_STR(hp, hq);
	CHECK_STR(sched_shape_text(p, extent, NULL, a), "8,100");
	CHECK_STR(sched_shape_text(q, extent, NULL, a), "8,100"); /* without names */
	CHECK_STR(sched_shape_text(r, extent, NULL, a), "");
}

/* Few rows that are too long for a multiprocessor to read soon, and rows that are too long for its registers and shared
 * memory, are shared by the blocks of a cluster; others, and one row that needs all multiprocessors, are not. */
static void test_clusters(struct arena *a)
{
	static const struct {
		int rows, length;
		bool cluster;
	} shape[] = { { 16, 151936, true },   { 4, 32000, true },    { 64, 262144, true },
		      { 4096, 262144, true }, { 1, 1000000, false }, { 8192, 4096, false } };
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		const char *text =
		        arena_printf(a,
		                     "program softmax(x: f16[%d,%d]) -> (y: f16[%d,%d])\n"
		                     "  most: f32[%d,1] = max (i, j | r<%d) f32(x[i, r])\n"
		                     "  total: f32[%d,1] = sum (i, j | r<%d) exp(f32(x[i, r]) - most[i, 0])\n"
		                     "  y: f16[%d,%d] = map (i, j) f16(exp(f32(x[i, j]) - most[i, 0]) / total[i, 0])\n",
		                     shape[i].rows, shape[i].length, shape[i].rows, shape[i].length, shape[i].rows,
		                     shape[i].length, shape[i].rows, shape[i].length, shape[i].rows, shape[i].length);
		struct ir_program *p = parse(text, a);
		struct sched_choice choice[4];
		sched_decide(p, &sched_default_target, NULL, choice);
		CHECK((strcmp(choice[0].rule->name, "rows_cluster") == 0) == shape[i].cluster);
	}
}

/* The same for rows of symbolic length, whether or not vectors divide it. */
static void test_open_clusters(struct arena *a)
{
	static const char text[] = "program softmax(x: f32[N,K]) -> (y: f32[N,K])\n"
	                           "  most: f32[N,1] = max (i, j | r<K) x[i, r]\n"
	                           "  total: f32[N,1] = sum (i, j | r<K) exp(x[i, r] - most[i, 0])\n"
	                           "  y: f32[N,K] = map (i, j) exp(x[i, j] - most[i, 0]) / total[i, 0]\n";
	static const struct {
		int64_t rows, length;
		bool cluster;
	} shape[] = {
		{ 1, 32768, true }, { 1, 32767, true }, { 8, 60000, true }, { 1, 512, false }, { 8192, 1024, false }
	};
	struct ir_program *p = parse(text, a);
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		const struct sched_extent extent[] = { { p->inputs.at[0]->dim[0], shape[i].rows },
			                               { p->inputs.at[0]->dim[1], shape[i].length } };
		struct sched_target t = sched_default_target;
		struct sched_choice choice[4];
		t.extent = extent;
		t.extents = 2;
		sched_decide(p, &t, NULL, choice);
		CHECK((strcmp(choice[0].rule->name, "rows_cluster") == 0) == shape[i].cluster);
	}
}

/* Whether a rule matches does not depend on where a program is in memory. */
static void test_anywhere(struct arena *a)
{
	static const char text[] = "program apart(x: f32[N,K], z: f32[N,K]) -> (y: f32[N], o: f32[N])\n"
	                           "  y: f32[N] = max (i | r<K) x[i, r]\n"
	                           "  o: f32[N] = min (i | r<K) z[i, r]\n";
	const char *why = "";
	for (int i = 0; i < 512; i++) {
		struct ir_program *p = parse(text, a);
		CHECK(p && !sched_match(p, p->stages.at[0], tpat_rule_named("reduce_spread"), &why));
	}
}

static bool few(void *user, expr symbol, int64_t *value)
{
	*value = *symbol->name == 'K' ? 5 : *(int64_t *)user;
	return true;
}

/* Asking for five of three elements: no choice launches a kernel. */
static void test_sort_demand(struct arena *a)
{
	struct ir_program *p = parse("program p(x: f32[N,M], unused: f32[K]) -> (y: i64[N,K])\n"
	                             "  y: i64[N,K] = sort descending along j (i, j | r<M) x[i, r]\n",
	                             a);
	struct sched_choice choice[SCHED_MAX_CHOICES];
	int n = p ? sched_choices(p, p->stages.at[0], &sched_default_target, choice) : 0;
	CHECK(n > 2);
	for (int i = 0; i < n; i++) {
		struct ir_plan *plan = sched_program(p, NULL, &choice[i]);
		vec_each (step, &plan->steps) {
			bool enough = false;
			vec_each (k, *step) {
				int64_t three = 3, five = 5, holds = 1;
				CHECK((*k)->guard && ir_eval_int((*k)->guard, few, &three, &holds) && !holds);
				enough |= (*k)->guard && ir_eval_int((*k)->guard, few, &five, &holds) && holds;
			}
			CHECK(enough);
		}
	}
}

int main(void)
{
	struct arena *a = arena_new();
	struct ir_program *p = parse(program_text, a);
	if (p) {
		test_round_trip(p, a);
		test_refused(p, a);
	}
	test_match_once(a);
	test_shape(a);
	test_sort_demand(a);
	test_clusters(a);
	test_open_clusters(a);
	test_open_groups(a);
	test_anywhere(a);
	arena_free(a);
	return test_done();
}
