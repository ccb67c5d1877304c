/* Step by step, then evolution. See search.h. */
#include "tune/search.h"

#include <math.h>
#include <string.h>

#include "base/map.h"

enum { PARENTS = 8, DRAWS = 200 };
static const double counts = 0.995; /* of the best time: a smaller gain may be noise */
static const double gain = 0.99;

struct asked {
	struct tune_trial trial;
	int stage;                  /* stage whose option was tried; -1: other points */
	const struct asked *parent; /* the point it was derived from */
	bool answered;
};

struct tune_search {
	const struct tune_space *space;
	struct arena *arena;
	uint64_t random;
	struct {
		VEC(struct asked *);
	} all; /* known trials, then questions in order */
	struct map tried;
	struct {
		VEC(struct tune_point);
	} suggested;
	int suggestions; /* asked so far */
	bool **offered;  /* by stage and option */
	double **cost;   /* in ns, less that of the step's option in the first point that it was compared with; NAN:
	                    unknown */
	int open;        /* unanswered questions */
	bool combined;
	int since_gain; /* answers of the evolution since the last gain */
	double gained;  /* time at the last gain */
	struct {
		int index, count; /* count 0: not divided */
		int most, dealt;
		int stage, option; /* to deal next */
	} share;
	const struct tune_trial *best;
};

struct tune_search *tune_search_new(const struct tune_space *space, uint64_t seed, struct arena *a)
{
	struct tune_search *s = NEW(a, struct tune_search);
	*s = (struct tune_search){ .space = space, .arena = a, .random = hash_u64(seed, 1), .tried = map_new(a) };
	s->offered = NEWN(a, bool *, space->stages + 1);
	s->cost = NEWN(a, double *, space->stages + 1);
	for (int i = 0; i < space->stages; i++) {
		s->offered[i] = NEWN(a, bool, space->stage[i].options + 1);
		s->cost[i] = NEWN(a, double, space->stage[i].options + 1);
		for (int k = 0; k < space->stage[i].options; k++)
			s->cost[i][k] = NAN;
	}
	tune_search_suggest(s, tune_point_first(space, a));
	return s;
}

void tune_search_suggest(struct tune_search *s, struct tune_point p)
{
	vec_push(s->arena, &s->suggested, tune_point_copy(s->space, p, s->arena));
}

void tune_search_divide(struct tune_search *s, int index, int count, int most)
{
	ck(index >= 0 && index < count && !s->suggestions);
	s->share.index = index;
	s->share.count = count;
	s->share.most = most;
}

static uint64_t key_of(const struct tune_search *s, struct tune_point p)
{
	return hash_bytes(7, p.option, sizeof *p.option * (size_t)s->space->stages);
}

static struct asked *find(const struct tune_search *s, struct tune_point p)
{
	struct asked *q = map_get_u64(&s->tried, key_of(s, p));
	return q && tune_point_same(s->space, q->trial.point, p) ? q : NULL;
}

/* True if the model's choice has failed. */
static bool is_baseless(const struct tune_search *s)
{
	const struct tune_trial *first = tune_search_find(s, s->suggested.at[0]);
	return first && first->status != TUNE_OK;
}

static bool is_share(const struct tune_search *s)
{
	return s->share.count && !is_baseless(s);
}

/* The base point for trying steps: the best, or the model's if none is good yet; in a share the model's. */
static struct tune_point base_of(const struct tune_search *s)
{
	return s->best && !is_share(s) ? s->best->point : s->suggested.at[0];
}

static struct asked *add(struct tune_search *s, struct tune_point p, int stage)
{
	struct asked *q = NEW(s->arena, struct asked);
	*q = (struct asked){ .trial.point = tune_point_copy(s->space, p, s->arena), .trial.why = "", .stage = stage };
	q->parent = stage >= 0 ? find(s, base_of(s)) : NULL;
	vec_push(s->arena, &s->all, q);
	map_put_u64(&s->tried, key_of(s, p), q);
	for (int i = 0; i < s->space->stages; i++)
		if (p.option[i] >= 0)
			s->offered[i][p.option[i]] = true;
	return q;
}

/* ---- Answers. */

/* Times of kernels add up, so the difference is that of the two options' costs. The first of a step's points gives its
 * options something to be compared with; another that no other point leads to counts as equal. */
static void note_cost(struct tune_search *s, int stage, const struct tune_trial *t, const struct tune_trial *parent)
{
	int option = t->point.option[stage], other = parent->point.option[stage];
	double *cost = s->cost[stage];
	if (option < 0 || other < 0)
		return;
	if (isnan(cost[other]))
		cost[other] = 0;
	double found = cost[other] + t->ns - parent->ns;
	if (isnan(cost[option]) || found < cost[option])
		cost[option] = found;
}

static void answer(struct tune_search *s, struct asked *q, const struct tune_trial *t)
{
	struct tune_point kept = q->trial.point;
	q->trial = *t;
	q->trial.point = kept;
	q->trial.why = arena_strdup(s->arena, t->why ? t->why : "");
	q->answered = true;
	if (t->status != TUNE_OK)
		return;
	if (!s->best || t->ns < s->best->ns * counts)
		s->best = &q->trial;
	if (q->parent && q->parent->answered && q->parent->trial.status == TUNE_OK)
		note_cost(s, q->stage, &q->trial, &q->parent->trial);
}

static void count_gain(struct tune_search *s)
{
	s->since_gain++;
	if (s->best && (s->gained == 0 || s->best->ns < s->gained * gain)) {
		s->gained = s->best->ns;
		s->since_gain = 0;
	}
}

void tune_search_known(struct tune_search *s, const struct tune_trial *t)
{
	if (!find(s, t->point))
		answer(s, add(s, t->point, -1), t);
}

void tune_search_tell(struct tune_search *s, const struct tune_trial *t)
{
	struct asked *q = find(s, t->point);
	ck(q && !q->answered);
	s->open--;
	answer(s, q, t);
	count_gain(s);
}

const struct tune_trial *tune_search_best(const struct tune_search *s)
{
	return s->best;
}

const struct tune_trial *tune_search_find(const struct tune_search *s, struct tune_point p)
{
	const struct asked *q = find(s, p);
	return q && q->answered ? &q->trial : NULL;
}

double tune_search_cost(const struct tune_search *s, int stage, int option)
{
	return s->cost[stage][option];
}

/* Breaks ties by the order of questions. */
static bool before(const struct tune_search *s, int x, int y)
{
	double a = s->all.at[x]->trial.ns, b = s->all.at[y]->trial.ns;
	return a < b || (a == b && x < y);
}

const struct tune_trial *tune_search_ranked(const struct tune_search *s, int k)
{
	int last = -1, next = -1;
	for (int i = 0; i <= k; i++, last = next) {
		next = -1;
		for (int q = 0; q < s->all.n; q++) {
			const struct asked *x = s->all.at[q];
			if (x->answered && x->trial.status == TUNE_OK && (last < 0 || before(s, last, q)) &&
			    (next < 0 || before(s, q, next)))
				next = q;
		}
		if (next < 0)
			return NULL;
	}
	return &s->all.at[last]->trial;
}

/* ---- Questions. */

static uint64_t draw(struct tune_search *s, uint64_t n)
{
	s->random = hash_u64(s->random, 0x9e3779b97f4a7c15u);
	return s->random % n;
}

static int span_at(const struct tune_search *s, int stage, int option)
{
	int n = sched_span(s->space->program, s->space->program->stages.at[stage],
	                   &s->space->stage[stage].option[option]);
	return n < s->space->stages - stage ? n : s->space->stages - stage;
}

/* Takes option `k` at `stage`; stages no longer covered by an option take those of `other`, or the model's. */
static void put(const struct tune_search *s, struct tune_point p, int stage, int k, const struct tune_point *other)
{
	p.option[stage] = (int16_t)k;
	for (int i = 0; i < s->space->stages;) {
		if (p.option[i] < 0)
			p.option[i] = other && other->option[i] >= 0 ? other->option[i] : 0;
		int span = span_at(s, i, p.option[i]);
		for (int j = 1; j < span; j++)
			p.option[i + j] = -1;
		i += span;
	}
}

static bool ask(struct tune_search *s, struct tune_point *out, struct tune_point p, int stage)
{
	if (find(s, p))
		return false;
	*out = add(s, p, stage)->trial.point;
	s->open++;
	return true;
}

/* The model's choice is everyone's; the other suggestions are divided by their text. */
static bool is_own_suggestion(const struct tune_search *s, int i)
{
	if (!s->share.count || i == 0)
		return true;
	const char *text = tune_point_text(s->space, s->suggested.at[i], s->arena);
	return hash_bytes(1, text, strlen(text)) % (uint64_t)s->share.count == (uint64_t)s->share.index;
}

static bool ask_suggested(struct tune_search *s, struct tune_point *out)
{
	while (s->suggestions < s->suggested.n)
		if (!is_own_suggestion(s, s->suggestions))
			s->suggestions++;
		else if (ask(s, out, s->suggested.at[s->suggestions++], -1))
			return true;
	return false;
}

static int most_options(const struct tune_search *s)
{
	int most = 0;
	for (int i = 0; i < s->space->stages; i++)
		most = s->space->stage[i].options > most ? s->space->stage[i].options : most;
	return most;
}

static bool ask_step(struct tune_search *s, struct tune_point *out)
{
	struct tune_point base = base_of(s);
	int most = most_options(s);
	for (int k = 0; k < most; k++)
		for (int i = 0; i < s->space->stages; i++) {
			if (base.option[i] < 0 || k >= s->space->stage[i].options || s->offered[i][k])
				continue;
			struct tune_point p = tune_point_copy(s->space, base, s->arena);
			put(s, p, i, k, NULL);
			s->offered[i][k] = true;
			if (ask(s, out, p, i))
				return true;
		}
	return false;
}

/* Deals out the options of all steps, with the model's choice for the others; asks for those of this share. */
static bool ask_share(struct tune_search *s, struct tune_point *out)
{
	struct tune_point base = base_of(s);
	int most = most_options(s);
	for (; s->share.option < most; s->share.option++, s->share.stage = 0)
		while (s->share.stage < s->space->stages) {
			int i = s->share.stage++, k = s->share.option;
			if (base.option[i] < 0 || k >= s->space->stage[i].options || k == base.option[i])
				continue;
			if (s->share.most && s->share.dealt + 1 >= s->share.most) /* the base is one of them */
				return false;
			if (s->share.dealt++ % s->share.count != s->share.index)
				continue;
			struct tune_point p = tune_point_copy(s->space, base, s->arena);
			put(s, p, i, k, NULL);
			if (ask(s, out, p, i))
				return true;
		}
	return false;
}

/* The stage in which alone two points differ; -1: none, or several. */
static int only_difference(const struct tune_search *s, struct tune_point x, struct tune_point y)
{
	int found = -1;
	for (int i = 0; i < s->space->stages; i++)
		if (x.option[i] != y.option[i]) {
			if (found >= 0)
				return -1;
			found = i;
		}
	return found;
}

/* Known trials tell about options, too: those that differ from the model's choice in one step. */
static void recall_costs(struct tune_search *s)
{
	const struct tune_trial *first = tune_search_find(s, s->suggested.at[0]);
	if (!first || first->status != TUNE_OK)
		return;
	vec_each (q, &s->all) {
		const struct tune_trial *t = &(*q)->trial;
		int stage = (*q)->answered && t->status == TUNE_OK && !(*q)->parent
		                    ? only_difference(s, t->point, first->point)
		                    : -1;
		if (stage >= 0)
			note_cost(s, stage, t, first);
	}
}

/* Combines the cheapest option of each step. */
static bool ask_together(struct tune_search *s, struct tune_point *out)
{
	if (s->combined || !s->best)
		return false;
	s->combined = true;
	recall_costs(s);
	struct tune_point p = tune_point_copy(s->space, s->best->point, s->arena);
	for (int i = 0; i < s->space->stages; i++) {
		int best = p.option[i];
		for (int k = 0; best >= 0 && k < s->space->stage[i].options; k++)
			if (s->cost[i][k] < (isnan(s->cost[i][best]) ? 0 : s->cost[i][best]))
				best = k;
		if (best >= 0 && span_at(s, i, best) == span_at(s, i, p.option[i]))
			put(s, p, i, best, NULL);
	}
	return ask(s, out, p, -1);
}

/* A neighbouring option of the same rule: fewest different parameters, then the smallest differences. */
static int neighbour(struct tune_search *s, int stage, int option)
{
	const struct tune_stage *t = &s->space->stage[stage];
	const struct sched_choice *from = &t->option[option];
	int near[SCHED_MAX_CHOICES + 1], n = 0, fewest = SCHED_MAX_PARAMS + 1;
	for (int k = 0; k < t->options && n < SCHED_MAX_CHOICES; k++) {
		int differ = 0;
		for (int i = 0; i < SCHED_MAX_PARAMS; i++)
			differ += t->option[k].param[i] != from->param[i];
		if (k == option || t->option[k].rule != from->rule || differ > fewest)
			continue;
		n = differ < fewest ? 0 : n;
		fewest = differ;
		near[n++] = k;
	}
	return n ? near[draw(s, (uint64_t)n)] : option;
}

static const struct tune_trial *parent(struct tune_search *s)
{
	/* The better of two random ones among the best few. */
	int a = (int)draw(s, PARENTS), b = (int)draw(s, PARENTS);
	const struct tune_trial *t = tune_search_ranked(s, a < b ? a : b);
	return t ? t : s->best;
}

static void mutate(struct tune_search *s, struct tune_point p)
{
	int stage;
	do
		stage = (int)draw(s, (uint64_t)s->space->stages);
	while (p.option[stage] < 0);
	int k = draw(s, 4) ? neighbour(s, stage, p.option[stage])
	                   : (int)draw(s, (uint64_t)s->space->stage[stage].options);
	put(s, p, stage, k, NULL);
}

static void cross(struct tune_search *s, struct tune_point p, struct tune_point other)
{
	for (int i = 0; i < s->space->stages; i++)
		if (p.option[i] >= 0 && other.option[i] >= 0 && draw(s, 2))
			put(s, p, i, other.option[i], &other);
}

static bool ask_evolution(struct tune_search *s, struct tune_point *out)
{
	if (!s->best || !s->space->stages || s->since_gain >= TUNE_PATIENCE)
		return false;
	for (int i = 0; i < DRAWS; i++) {
		/* Never released: rules called meanwhile may keep expressions in the same arena. */
		struct tune_point p = tune_point_copy(s->space, parent(s)->point, s->arena);
		if (draw(s, 3) == 0)
			cross(s, p, parent(s)->point);
		else
			mutate(s, p);
		if (!find(s, p))
			return ask(s, out, p, -1);
	}
	return false;
}

bool tune_search_next(struct tune_search *s, struct tune_point *out)
{
	if (ask_suggested(s, out))
		return true;
	if (is_share(s))
		return ask_share(s, out);
	if (ask_step(s, out)) {
		s->since_gain = 0;
		return true;
	}
	if (!s->combined && s->open)
		return false;
	return ask_together(s, out) || ask_evolution(s, out);
}
