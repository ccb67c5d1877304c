/* The tuner's search with times that a formula gives: it finds the best point, asks nothing twice, survives candidates
 * that fail, and asks the same for the same answers. */
#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "tests/unit/test.h"
#include "tests/program/program_text.h"
#include "tests/unit/space_points.h"
#include "tune/search.h"

static struct ir_program *program(struct arena *a)
{
	static const char text[] = "program p(x: f32[512,768], scale: f32[768]) -> (y: f32[768,512], z: f32[512])\n"
	                           "  scaled: f32[512,768] = map (i, j) x[i, j] * scale[j]\n"
	                           "  y: f32[768,512] = map (i, j) scaled[j, i] + 1.0\n"
	                           "  z: f32[512] = sum (i | r<768) scaled[i, r]\n";
	struct ir_program *p;
	struct err e = { 0 };
	if (ir_parse_program(&p, text, a, &e) < 0)
		fprintf(stderr, "%s\n", e.text);
	ck(!e.code);
	return p;
}

/* A time for each option of each step, which depend on nothing else; every ninth point fails. */
static struct tune_trial measure(const struct tune_space *s, struct tune_point p, uint64_t seed, bool faults)
{
	struct tune_trial t = { .point = p, .why = "" };
	uint64_t all = seed;
	for (int i = 0; i < s->stages; i++) {
		if (p.option[i] < 0)
			continue;
		uint64_t h = (seed * 31 + (uint64_t)i * 1009 + (uint64_t)p.option[i] * 7919) * 0x9e3779b97f4a7c15u;
		t.ns += 1000 + (double)(h >> 54);
		all = all * 31 + h;
	}
	if (faults && (all >> 20) % 9 == 0) {
		t.status = TUNE_WRONG + (all >> 40) % 4;
		t.ns = 0;
	}
	return t;
}

static double optimum(const struct tune_space *s, uint64_t seed)
{
	double best = INFINITY;
	for (int a = 0; a < s->stage[0].options; a++)
		for (int b = 0; b < s->stage[1].options; b++)
			for (int c = 0; c < s->stage[2].options; c++) {
				int16_t option[4] = { (int16_t)a, (int16_t)b, (int16_t)c };
				double ns = measure(s, (struct tune_point){ option }, seed, false).ns;
				best = ns < best ? ns : best;
			}
	return best;
}

struct outcome {
	int asked, failed;
	double best;
	const char *questions;
};

/* `lag`: answers come that many questions later. */
static struct outcome run(const struct tune_space *s, uint64_t seed, int lag, bool faults, struct arena *a)
{
	struct tune_search *search = tune_search_new(s, 1, a);
	struct outcome out = { 0 };
	struct tune_point open[64];
	struct str questions = str_new(a);
	int first = 0, n = 0;
	for (;;) {
		struct tune_point p;
		if (n < lag && tune_search_next(search, &p)) {
			open[(first + n++) % 64] = p;
			str_printf(&questions, "%s\n", tune_point_text(s, p, a));
			out.asked++;
			continue;
		}
		if (!n)
			break;
		struct tune_trial t = measure(s, open[first], seed, faults);
		out.failed += t.status != TUNE_OK;
		tune_search_tell(search, &t);
		first = (first + 1) % 64;
		n--;
	}
	out.best = tune_search_best(search) ? tune_search_best(search)->ns : 0;
	out.questions = str_text(&questions);
	return out;
}

static void test_finds(const struct tune_space *s, struct arena *a)
{
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct outcome one = run(s, seed, 1, false, a), many = run(s, seed, 10, false, a);
		double best = optimum(s, seed);
		/* Less than a two-hundredth better is not taken for better. */
		CHECK(one.best <= best / 0.995 && many.best <= best / 0.995);
		CHECK(one.asked < 300 && one.asked < space_points(s));
		CHECK_STR(run(s, seed, 10, false, a).questions, many.questions);
		struct outcome bad = run(s, seed, 10, true, a);
		CHECK(bad.failed > 0 && bad.best > 0 && bad.best < best * 1.1);
	}
}

/* Known points are not asked for again, and the search starts from the best of them. */
static void test_resumes(const struct tune_space *s, struct arena *a)
{
	struct tune_search *first = tune_search_new(s, 1, a), *again = tune_search_new(s, 1, a);
	struct tune_point p;
	const char *seen[512];
	int n = 0;
	while (n < 40 && tune_search_next(first, &p)) {
		struct tune_trial t = measure(s, p, 3, true);
		tune_search_tell(first, &t);
		tune_search_known(again, &t);
		seen[n++] = tune_point_text(s, p, a);
	}
	CHECK(tune_search_best(again)->ns == tune_search_best(first)->ns);
	CHECK(tune_search_find(again, tune_point_first(s, a)) != NULL);
	int asked = 0;
	while (tune_search_next(again, &p)) {
		struct tune_trial t = measure(s, p, 3, true);
		for (int i = 0; i < n; i++)
			CHECK(strcmp(seen[i], tune_point_text(s, p, a)) != 0);
		tune_search_tell(again, &t);
		asked++;
	}
	CHECK(asked > 0);
	CHECK(tune_search_best(again)->ns <= tune_search_best(first)->ns);
	const struct tune_trial *x = tune_search_ranked(again, 0), *y = tune_search_ranked(again, 1);
	CHECK(x && y && x->ns <= y->ns && !tune_point_same(s, x->point, y->point));
	CHECK(tune_search_ranked(again, 100000) == NULL);
}

/* Nothing is ever right: it ends, with no best. */
static void test_hopeless(const struct tune_space *s, struct arena *a)
{
	struct tune_search *search = tune_search_new(s, 1, a);
	struct tune_point p;
	int n = 0;
	while (n < 1000 && tune_search_next(search, &p)) {
		struct tune_trial t = { .point = p, .status = TUNE_CRASHED, .why = "" };
		tune_search_tell(search, &t);
		n++;
	}
	CHECK(n < 300);
	CHECK(tune_search_best(search) == NULL);
}

/* The trials of all shares of `count`, for a search that then knows them; texts of their points, sorted. */
struct shared {
	struct tune_search *search;
	struct {
		VEC(const char *);
	} points;
	int repeated, most; /* points that more than one share asked for; trials of the busiest share */
};

static int compare_texts(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static struct shared share(const struct tune_space *s, uint64_t seed, int count, int most, bool faults, struct arena *a)
{
	struct shared out = { .search = tune_search_new(s, 1, a) };
	struct map seen = map_new(a);
	for (int i = 0; i < count; i++) {
		struct tune_search *one = tune_search_new(s, 1, a);
		struct tune_point p;
		int n = 0;
		tune_search_divide(one, i, count, most);
		for (; tune_search_next(one, &p); n++) {
			struct tune_trial t = measure(s, p, seed, faults);
			const char *text = tune_point_text(s, p, a);
			tune_search_tell(one, &t);
			tune_search_known(out.search, &t);
			out.repeated += map_get(&seen, text) != NULL;
			if (!map_get(&seen, text))
				vec_push(a, &out.points, text);
			map_put(&seen, text, text);
		}
		out.most = n > out.most ? n : out.most;
	}
	qsort(out.points.at, (size_t)out.points.n, sizeof *out.points.at, compare_texts);
	return out;
}

/* Any number of shares ask for the same points, each for its part; who knows all of them goes on to where one search
 * ends. */
static void test_shares(const struct tune_space *s, struct arena *a)
{
	for (uint64_t seed = 1; seed < 20; seed++) {
		int most = seed % 3 == 0 ? 17 : 0;
		struct shared alone = share(s, seed, 1, most, false, a);
		CHECK_INT(alone.repeated, 0);
		CHECK(!most || alone.points.n == most);
		for (int count = 2; count < 9; count++) {
			struct shared all = share(s, seed, count, most, false, a);
			CHECK_INT(all.points.n, alone.points.n);
			for (int i = 0; i < all.points.n && i < alone.points.n; i++)
				CHECK_STR(all.points.at[i], alone.points.at[i]);
			CHECK_INT(all.repeated, count - 1); /* the model's choice */
			CHECK(all.most <= (alone.points.n - 1 + count - 1) / count + 1);
		}
		struct shared all = share(s, seed, 5, 0, false, a);
		struct tune_point p;
		int more = 0;
		for (; tune_search_next(all.search, &p); more++) {
			struct tune_trial t = measure(s, p, seed, false);
			tune_search_tell(all.search, &t);
		}
		CHECK(tune_search_best(all.search)->ns <= optimum(s, seed) / 0.995);
		CHECK(more < 2 * TUNE_PATIENCE);
	}
	/* Without the model's choice every share searches alone. */
	uint64_t bad = 1;
	while (measure(s, tune_point_first(s, a), bad, true).status == TUNE_OK)
		bad++;
	struct shared all = share(s, bad, 3, 0, true, a);
	CHECK(tune_search_best(all.search) && tune_search_best(all.search)->ns < optimum(s, bad) * 1.1);
}

/* A program of one step: the shares ask for what one search asks for, and find the same. */
static void test_one_step(struct arena *a)
{
	static const char text[] = "program p(x: f16[512,768]) -> (y: f32[512])\n"
	                           "  y: f32[512] = sum (i | r<768) f32(x[i, r])\n";
	struct ir_program *p;
	struct tune_space *s;
	struct err e = { 0 };
	ck(ir_parse_program(&p, text, a, &e) == 0 && tune_space_new(&s, p, &sched_default_target, a, &e) == 0);
	for (uint64_t seed = 1; seed < 8; seed++) {
		struct tune_search *one = tune_search_new(s, 1, a);
		struct shared all = share(s, seed, 4, 0, true, a);
		struct tune_point point;
		int asked = 0;
		if (measure(s, tune_point_first(s, a), seed, true).status != TUNE_OK)
			continue;
		for (; tune_search_next(one, &point); asked++) {
			struct tune_trial t = measure(s, point, seed, true);
			tune_search_tell(one, &t);
		}
		CHECK_INT(all.points.n, asked);
		CHECK(asked > 20);
		CHECK_STR(tune_point_text(s, tune_search_ranked(all.search, 0)->point, a),
		          tune_point_text(s, tune_search_ranked(one, 0)->point, a));
		CHECK(!tune_search_next(all.search, &point));
	}
}

static void test_text(const struct tune_space *s, struct arena *a)
{
	struct tune_point p = tune_point_first(s, a), q;
	for (int i = 0; i < s->stages; i++)
		for (int k = 0; k < s->stage[i].options; k++) {
			if (sched_span(s->program, s->program->stages.at[i], &s->stage[i].option[k]) != 1)
				continue;
			p.option[i] = (int16_t)k;
			CHECK(tune_point_read(s, &q, tune_point_text(s, p, a), a) && tune_point_same(s, p, q));
		}
	CHECK(!tune_point_read(s, &q, "", a));
	CHECK(!tune_point_read(s, &q, "0 map@1 5; 1 map@1 4; 2 map@1 4", a));
	CHECK(!tune_point_read(s, &q, arena_printf(a, "%s; 9 map@1 4", tune_point_text(s, p, a)), a));
}

int main(void)
{
	struct arena *a = arena_new();
	struct err e = { 0 };
	struct tune_space *s;
	ck(tune_space_new(&s, program(a), &sched_default_target, a, &e) == 0);
	CHECK_INT(s->stages, 3);
	test_finds(s, a);
	test_resumes(s, a);
	test_hopeless(s, a);
	test_shares(s, a);
	test_one_step(a);
	test_text(s, a);
	arena_free(a);
	return test_done();
}
