/* What to do with a whole program, for several sets of extents at once: the best tactic, and those that come next. Kernels
 * are not made here; see sched.h. */
#include "sched/build.h"

#include <string.h>

/* What estimates are wrong by, one way or the other: choices that are nearer to each other than this can only be told apart
 * by measuring. */
static const double UNSURE = 0.3;
/* How much slower the usual extents' choice must be at other extents for these to get kernels of their own. */
static const double WORTH = 1.2;

enum { SMALL = 4, USUAL = 64, LARGE = 1024 };

/* ---- Points. */

struct sched_points sched_points_of(const struct sched_target *t, const char *const *symbol,
                                    const int64_t *const *value, int symbols, int n, int opt, struct arena *a)
{
	struct sched_points points = { .n = n, .opt = opt };
	ck(n > 0 && n <= SCHED_MAX_POINTS && opt < n);
	for (int i = 0; i < n; i++) {
		struct sched_extent *extent = NEWN(a, struct sched_extent, symbols + 1);
		for (int k = 0; k < symbols; k++)
			extent[k] = (struct sched_extent){ symbol[k], value[k][i] };
		points.target[i] = *t;
		points.target[i].extent = extent;
		points.target[i].extents = symbols;
	}
	return points;
}

struct sched_points sched_usual_points(struct ir_program *p, const struct sched_target *t)
{
	static const int64_t usual[] = { SMALL, USUAL, LARGE };
	struct {
		VEC(const char *);
	} symbol = { 0 };
	struct {
		VEC(const int64_t *);
	} value = { 0 };
	vec_each (b, &p->inputs)
		for (int k = 0; k < (*b)->rank; k++) {
			const char *name = (*b)->dim[k]->op == IR_SYMBOL ? (*b)->dim[k]->name : NULL;
			bool known = !name;
			vec_each (have, &symbol)
				known = known || strcmp(*have, name) == 0;
			if (known)
				continue;
			vec_push(p->arena, &symbol, name);
			vec_push(p->arena, &value, usual);
		}
	/* What depends on numbers that are not known at launch is better done in one way: each way could need one more. */
	if (!symbol.n || p->values.n)
		return sched_points_of(t, NULL, NULL, 0, 1, 0, p->arena);
	return sched_points_of(t, symbol.at, value.at, symbol.n, 3, 1, p->arena);
}

/* ---- One point. */

/* All choices for each stage at one point. */
struct ranking {
	struct ir_program *p;
	const struct sched_target *t;
	struct ranked {
		struct sched_choice choice[SCHED_MAX_CHOICES];
		double cost[SCHED_MAX_CHOICES];
		int n;
	} *stage;
};

static struct ranking rank_all(struct ir_program *p, const struct sched_target *t, struct arena *a)
{
	struct ranking r = { p, t, NEWN(a, struct ranked, p->stages.n + 1) };
	for (int i = 0; i < p->stages.n; i++)
		r.stage[i].n = sched_rank(p, p->stages.at[i], t, r.stage[i].choice, r.stage[i].cost);
	return r;
}

static bool same(const struct sched_choice *a, const struct sched_choice *b)
{
	return a->rule == b->rule && memcmp(a->param, b->param, sizeof a->param) == 0;
}

/* `to` in the place of `from`, wherever the model thinks `from` best and `to` is possible too. */
struct exchange {
	struct sched_choice from, to;
};

/* A list of choices: the best ones, but for the exchange; null: none. */
static const struct sched_choice *decide(const struct ranking *r, const struct exchange *x)
{
	const struct ir_program *p = r->p;
	struct sched_choice *list = NEWN(p->arena, struct sched_choice, p->stages.n + 1);
	for (int i = 0; i < p->stages.n;) {
		const struct ranked *s = &r->stage[i];
		int best = 0;
		for (int k = 1; x && same(&s->choice[0], &x->from) && k < s->n; k++)
			if (same(&s->choice[k], &x->to))
				best = k;
		list[i] = s->choice[best];
		i += sched_span(p, p->stages.at[i], &list[i]);
	}
	return list;
}

double sched_time(const struct ir_program *p, const struct sched_choice *list, int from, int to,
                  const struct sched_target *t)
{
	double sum = 0;
	for (int i = from; i < to; i += sched_span(p, p->stages.at[i], &list[i]))
		sum += sched_estimate(p, p->stages.at[i], &list[i], t);
	return sum;
}

/* ---- Several points. */

int sched_part_end(const struct ir_program *p, const struct sched_choice *const *list, int n, int from)
{
	int end[SCHED_MAX_POINTS], most = from;
	for (int i = 0; i < n; i++) {
		end[i] = from + sched_span(p, p->stages.at[from], &list[i][from]);
		most = end[i] > most ? end[i] : most;
	}
	for (bool moved = true; moved;) {
		moved = false;
		for (int i = 0; i < n; i++)
			for (; end[i] < most; moved = true) {
				end[i] += sched_span(p, p->stages.at[end[i]], &list[i][end[i]]);
				most = end[i] > most ? end[i] : most;
			}
	}
	return most;
}

/* `own` at a point, but what is usual wherever that is hardly slower. */
static const struct sched_choice *adopt(const struct ir_program *p, const struct sched_choice *own,
                                        const struct sched_choice *usual, const struct sched_target *t)
{
	struct sched_choice *list = NEWN(p->arena, struct sched_choice, p->stages.n + 1);
	const struct sched_choice *both[] = { own, usual };
	for (int i = 0, end; i < p->stages.n; i = end) {
		end = sched_part_end(p, both, 2, i);
		bool better = sched_time(p, usual, i, end, t) > WORTH * sched_time(p, own, i, end, t);
		memcpy(list + i, (better ? own : usual) + i, sizeof *list * (size_t)(end - i));
	}
	return list;
}

/* What `t` does not say of the points other than the usual one. */
static void complete(struct sched_tactic *t, const struct ranking *r, const struct sched_points *points,
                     const struct exchange *x)
{
	for (int i = 0; i < points->n; i++)
		if (!t->choice[i])
			t->choice[i] = adopt(r->p, decide(&r[i], x), t->choice[points->opt], &points->target[i]);
}

/* ---- Exchanges. */

struct candidate {
	struct exchange x;
	double chance; /* ns that it saves if the estimates are wrong by UNSURE in its favour */
};

struct candidates {
	VEC(struct candidate);
};

static bool is_in(const struct candidates *c, const struct exchange *x)
{
	for (int i = 0; i < c->n; i++)
		if (same(&c->at[i].x.from, &x->from) && same(&c->at[i].x.to, &x->to))
			return true;
	return false;
}

/* The time of the stages for which `best` has the choice `from`. */
static double affected(const struct ir_program *p, const struct sched_choice *best, const struct sched_choice *from,
                       const struct sched_target *t)
{
	double sum = 0;
	for (int i = 0; i < p->stages.n; i += sched_span(p, p->stages.at[i], &best[i]))
		if (same(&best[i], from))
			sum += sched_estimate(p, p->stages.at[i], &best[i], t);
	return sum;
}

/* All exchanges that may be worth it, the most promising first. */
static void find_exchanges(struct candidates *c, const struct ranking *r, const struct sched_choice *best)
{
	struct ir_program *p = r->p;
	double whole = sched_time(p, best, 0, p->stages.n, r->t);
	for (int i = 0; i < p->stages.n; i += sched_span(p, p->stages.at[i], &best[i])) {
		const struct ranked *s = &r->stage[i];
		double at_stake = UNSURE * affected(p, best, &s->choice[0], r->t);
		for (int k = 1; k < s->n && s->cost[k] - s->cost[0] < at_stake; k++) {
			struct candidate x = { { s->choice[0], s->choice[k] }, 0 };
			if (is_in(c, &x.x))
				continue;
			x.chance = at_stake - (sched_time(p, decide(r, &x.x), 0, p->stages.n, r->t) - whole);
			if (x.chance <= 0)
				continue;
			vec_push(p->arena, c, x);
			for (int j = c->n - 1; j > 0 && c->at[j - 1].chance < c->at[j].chance; j--) {
				struct candidate later = c->at[j];
				c->at[j] = c->at[j - 1];
				c->at[j - 1] = later;
			}
		}
	}
}

static bool same_lists(const struct ir_program *p, const struct sched_choice *a, const struct sched_choice *b)
{
	for (int i = 0; i < p->stages.n; i++)
		if (!same(&a[i], &b[i]))
			return false;
	return true;
}

static bool is_new(const struct ir_program *p, const struct sched_tactic *t, const struct sched_tactic *have, int n,
                   int opt)
{
	for (int i = 0; i < n; i++)
		if (same_lists(p, t->choice[opt], have[i].choice[opt]))
			return false;
	return true;
}

int sched_tactics(struct ir_program *p, const struct sched_points *points, int given, int k, struct sched_tactic *out)
{
	struct arena *scratch = arena_new();
	struct ranking r[SCHED_MAX_POINTS];
	struct candidates c = { 0 };
	int n = given, opt = points->opt;
	for (int i = 0; i < points->n; i++)
		r[i] = rank_all(p, &points->target[i], scratch);
	struct sched_tactic best = { { 0 } };
	best.choice[opt] = decide(&r[opt], NULL);
	for (int i = 0; i < given; i++)
		complete(&out[i], r, points, NULL);
	if (n < k && is_new(p, &best, out, n, opt)) {
		complete(&best, r, points, NULL);
		out[n++] = best;
	}
	if (n < k)
		find_exchanges(&c, &r[opt], best.choice[opt]);
	for (int i = 0; i < c.n && n < k; i++) {
		struct sched_tactic t = { { 0 } };
		t.choice[opt] = decide(&r[opt], &c.at[i].x);
		if (!is_new(p, &t, out, n, opt))
			continue;
		complete(&t, r, points, &c.at[i].x);
		out[n++] = t;
	}
	arena_free(scratch);
	return n;
}
