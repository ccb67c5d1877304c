/* Measuring on a simulated device, whose clock drifts and drops and whose times are noisy: by turns, ratios come out
 * right; repeated searches choose the same; few trials find what is as good as the best of all. Candidates take what
 * the cost model estimates, times an error of the model that is the same for options that have something in common. */
#include "tune/turns.h"

#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/str.h"
#include "tests/program/program_text.h"
#include "tests/unit/space_points.h"
#include "tests/unit/test.h"

/* ---- The device. */

struct device {
	uint64_t random;
	double t;        /* ns since it began */
	double drift;    /* of the clock: a random walk */
	double dropped;  /* until then the clock is lower */
	double noise;    /* of a sample */
	double truth[2]; /* ns of the two candidates at full clock */
	bool unrest;     /* the clock never stays the same */
};

static double uniform(struct device *d)
{
	d->random = hash_u64(d->random, 77);
	return ((double)(d->random >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct device *d)
{
	double u = uniform(d), v = uniform(d);
	return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

/* Cooler at first; then it wanders by a few percent, and at times drops by a fifth. */
static double clock_now(void *user)
{
	struct device *d = user;
	double warm = 0.06 * exp(-d->t / 3e8), low = d->t < d->dropped ? 0.8 : 1;
	double mhz = 1755 * (1 + warm + d->drift) * low * (d->unrest ? 1 + 0.1 * uniform(d) : 1);
	return 15 * floor(mhz / 15); /* as NVIDIA's steps */
}

static int sample(void *user, int which, double *ns, struct err *e)
{
	struct device *d = user;
	(void)e;
	d->drift = d->drift * 0.995 + 0.003 * normal(d);
	if (uniform(d) < 0.01)
		d->dropped = d->t + 3e6 + 2e7 * uniform(d);
	*ns = d->truth[which] * 1755 / clock_now(d) * exp(d->noise * normal(d));
	if (uniform(d) < 0.03) /* something else ran */
		*ns *= 1 + uniform(d);
	d->t += 1e6;
	return 0;
}

static struct device device_new(uint64_t seed)
{
	return (struct device){ .random = hash_u64(seed, 5), .noise = 0.01 };
}

/* ---- By turns. */

static struct tune_turns turns(struct device *d, double truth, double other, int rounds, bool exact)
{
	const struct tune_meter m = { sample, clock_now, d, false };
	struct tune_turns out;
	struct err e = { 0 };
	d->truth[0] = truth;
	d->truth[1] = other;
	ck(tune_by_turns(&out, &m, rounds, exact, 0, &e) == 0);
	return out;
}

static void test_turns(void)
{
	int right = 0, sure = 0, all = 0, early = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct device d = device_new(seed);
		double truth = 1 + (double)(seed % 7) * 0.005 - 0.015;
		struct tune_turns t = turns(&d, 20e3 * truth, 20e3, 200, true);
		right += fabs(t.ratio - truth) < 0.01;
		sure += fabs(t.ratio - truth) < 3 * t.error;
		early += t.rounds < 96;
		all++;
		struct tune_turns slow = turns(&d, 50e3, 20e3, 9, false);
		CHECK(slow.rounds <= 3 && slow.ratio > 1.1);
	}
	CHECK(right >= all * 9 / 10);
	CHECK(sure >= all * 95 / 100);
	CHECK(early > all / 10);
	printf("ratios: %d of %d within 1%%, %d within 3 standard errors, %d ended early\n", right, all, sure, early);
	/* A clock that never rests: rounds count in the end, and so does the limit of time. */
	struct device d = device_new(1);
	d.unrest = true;
	struct tune_turns t;
	const struct tune_meter m = { sample, NULL, &d, false }, alone = { sample, clock_now, &d, true };
	struct err e = { 0 };
	d.truth[0] = d.truth[1] = 10e3;
	ck(tune_by_turns(&t, &alone, 20, false, 0, &e) == 0);
	CHECK(t.rounds == 20 && t.unsteady > 5 && t.unsteady <= 20);
	d.unrest = false;
	ck(tune_by_turns(&t, &m, 96, true, 20e3 * 12, &e) == 0);
	CHECK(t.rounds >= 9 && t.rounds <= 13);
	ck(tune_by_turns(&t, &alone, 15, false, 0, &e) == 0);
	CHECK(t.rounds == 15 && t.ratio == 1 && t.ns > 9e3 && t.ns < 13e3);
}

/* ---- Landscapes. */

struct landscape {
	struct tune_space *space;
	uint64_t seed;
	double common, own; /* standard deviations of the model's error: shared by options, and of one alone */
	double best;
	double **ns; /* by stage and option */
};

static double error_of(uint64_t h)
{
	struct device d = { .random = h };
	return normal(&d);
}

/* Options with the same rule, and those with the same value of a parameter, err alike. */
static double option_ns(const struct landscape *l, int stage, int k)
{
	const struct sched_choice *c = &l->space->stage[stage].option[k];
	uint64_t rule = hash_u64(hash_str(l->seed, c->rule->name), (uint64_t)stage);
	double x = error_of(rule);
	int n = sched_params(c->rule);
	for (int i = 0; i < n; i++)
		x += error_of(hash_u64(hash_u64(rule, (uint64_t)i + 1), (uint64_t)c->param[i]));
	x *= l->common / sqrt(n + 1);
	x += l->own * error_of(hash_u64(rule, 1000 + (uint64_t)k));
	const struct ir_program *p = l->space->program;
	return sched_estimate(l->space->program, p->stages.at[stage], c, l->space->target) * exp(x);
}

static double truth_of(const struct landscape *l, struct tune_point p)
{
	double ns = 0;
	for (int i = 0; i < l->space->stages; i++)
		ns += p.option[i] >= 0 ? l->ns[i][p.option[i]] : 0;
	return ns;
}

static struct landscape landscape_new(struct tune_space *s, uint64_t seed, struct arena *a)
{
	struct landscape l = { .space = s, .seed = seed, .common = 0.12, .own = 0.02 };
	l.ns = NEWN(a, double *, s->stages + 1);
	double *ways = NEWN(a, double, s->stages + 1);
	for (int i = s->stages - 1; i >= 0; i--) {
		l.ns[i] = NEWN(a, double, s->stage[i].options + 1);
		ways[i] = INFINITY;
		for (int k = 0; k < s->stage[i].options; k++) {
			int span = sched_span(s->program, s->program->stages.at[i], &s->stage[i].option[k]);
			l.ns[i][k] = option_ns(&l, i, k);
			ways[i] = fmin(ways[i], l.ns[i][k] + (i + span < s->stages ? ways[i + span] : 0));
		}
	}
	l.best = ways[0];
	return l;
}

/* ---- A whole search: as the tuner measures and chooses. */

struct run {
	const struct landscape *l;
	struct device device;
};

static bool compare(void *user, struct tune_point p, struct tune_point against, double *ratio)
{
	struct run *r = user;
	*ratio = turns(&r->device, truth_of(r->l, p), truth_of(r->l, against), 200, true).ratio;
	return true;
}

static struct tune_trial measure(struct run *r, const struct tune_search *s, struct tune_point p)
{
	const struct tune_trial *best = tune_search_best(s);
	struct tune_trial t = { .point = p, .why = "" };
	double truth = truth_of(r->l, p);
	if (best)
		t.ns = best->ns * turns(&r->device, truth, truth_of(r->l, best->point), 9, false).ratio;
	else
		t.ns = turns(&r->device, truth, truth, 15, false).ns;
	return t;
}

/* Returns the time of the chosen point at full clock; *text is the point. */
static double search(const char **text, const struct landscape *l, uint64_t seed, int trials, struct arena *a)
{
	struct tune_search *s = tune_search_new(l->space, 1, a);
	struct run r = { l, device_new(seed) };
	struct tune_choice *c = NEW(a, struct tune_choice);
	struct tune_point p;
	for (int n = 0; n < trials && tune_search_next(s, &p); n++) {
		struct tune_trial t = measure(&r, s, p);
		tune_search_tell(s, &t);
	}
	tune_choose(c, s, l->space, compare, &r, a);
	ck(c->n > 0);
	for (int i = 1; i < c->n; i++) /* the database's fastest is the chosen one */
		CHECK(c->trial[0].ns < c->trial[i].ns);
	*text = tune_point_text(l->space, c->trial[0].point, a);
	return truth_of(l, c->trial[0].point);
}

static const char *const programs[] = {
	"program p(x: f16[512,768]) -> (y: f32[512])\n  y: f32[512] = sum (i | r<768) f32(x[i, r])\n",
	"program p(x: f16[4096,1000]) -> (y: f16[1000,4096])\n  y: f16[1000,4096] = map (i, j) x[j, i]\n",
	"program p(a: f16[512,768], b: f16[768,1024]) -> (y: f16[512,1024])\n"
	"  y: f16[512,1024] = sum (i, j | r<768) f32(a[i, r]) * f32(b[r, j]) then f16(it)\n",
	"program p(x: f32[512,768], scale: f32[768]) -> (y: f32[768,512], z: f32[512])\n"
	"  scaled: f32[512,768] = map (i, j) x[i, j] * scale[j]\n"
	"  y: f32[768,512] = map (i, j) scaled[j, i] + 1.0\n"
	"  z: f32[512] = sum (i | r<768) scaled[i, r]\n",
	"program p(x: f32[2048,768], weight: f32[768,512]) -> (y: f32[2048,512], z: f32[2048], sums: f32[768])\n"
	"  y: f32[2048,512] = sum (i, j | r<768) x[i, r] * weight[r, j]\n"
	"  z: f32[2048] = sum (i | r<512) y[i, r]\n"
	"  sums: f32[768] = sum (i | r<2048) x[r, i]\n",
};
enum { PROGRAMS = sizeof programs / sizeof *programs, REPEATS = 20, DRAWS = 6, FEW = 30 };

static int compare_texts(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* How often the most frequent of n texts occurs. */
static int most_frequent(const char **text, int n)
{
	int most = 0, run = 0;
	qsort(text, (size_t)n, sizeof *text, compare_texts);
	for (int i = 0; i < n; i++) {
		run = i && strcmp(text[i], text[i - 1]) == 0 ? run + 1 : 1;
		most = run > most ? run : most;
	}
	return most;
}

static struct tune_space *space_of(const char *text, struct arena *a)
{
	struct ir_program *p;
	struct tune_space *s;
	struct err e = { 0 };
	if (ir_parse_program(&p, text, a, &e) < 0)
		printf("%s\n", e.text);
	ck(!e.code);
	ck(tune_space_new(&s, p, &sched_default_target, a, &e) == 0);
	return s;
}

static void test_searches(void)
{
	int same = 0, all = 0, good = 0, few = 0, fews = 0;
	for (int i = 0; i < PROGRAMS; i++)
		for (uint64_t draw = 0; draw < DRAWS; draw++) {
			struct arena *a = arena_new();
			struct tune_space *s = space_of(programs[i], a);
			struct landscape l = landscape_new(s, draw * 100 + (uint64_t)i, a);
			const char *text[REPEATS];
			for (int k = 0; k < REPEATS; k++) {
				double ns = search(&text[k], &l, 1000 * draw + (uint64_t)k, 1000, a);
				good += ns <= l.best * 1.01;
				const char *ignored;
				if (space_points(s) >= 1000) {
					ns = search(&ignored, &l, 5000 * draw + (uint64_t)k, FEW, a);
					few += ns <= l.best * 1.01;
					fews++;
				}
			}
			same += most_frequent(text, REPEATS);
			all += REPEATS;
			arena_free(a);
		}
	printf("the same choice in %d of %d, within 1%% in %d; after %d trials within 1%% in %d of %d\n", same, all,
	       good, FEW, few, fews);
	CHECK(same * 20 >= all * 19);
	CHECK(good * 20 >= all * 19);
	CHECK(few * 20 >= fews * 19);
}

int main(void)
{
	test_turns();
	test_searches();
	return test_done();
}
