/* Turns decisions into plans. Each choice's kernels are built once. If the points' choices differ, guards select the
 * kernels by the extents at run time.
 *
 * Stages are divided into parts: the shortest runs with a separate list of choices at all points of a tactic. A part
 * with several such lists ("ways") uses a point's way for all extents around the point. The border between two
 * successive points is a product of the relevant symbols. These are the symbols of the part's extents that differ
 * between the points, or only those that alone make the next point's way the faster one. The border lies where the two
 * ways' estimates cross, as the extents grow from one point to the next by equal factors. Step i of
 * the part holds the kernels of each way's step i, guarded by "the product is at most the border". The last way's
 * kernels have no such guard, so that some kernel fits all extents. A way with fewer steps launches nothing there.
 *
 * A point's extents may be whole vectors where others around it are not, such as 4096 among 4095 and 4097. If the
 * point's way is much slower there, it takes only the extents for which the conditions hold that its estimate relied
 * on. The others have a second way, which is the fastest at odd extents near the point. */
#include "sched/core/choose.h"
#include "sched/build/finish.h"
#include "sched/core/launches.h"

#include <math.h>
#include <string.h>

enum {
	MOST_SYMBOLS = 16,                                    /* in a product */
	MOST_WAYS = SCHED_MAX_POINTS * (SCHED_MAX_POINTS + 1) /* a point's, and after it those for odd extents */
};

/* The steps of `all` that a choice made for a stage. */
struct made {
	int stage, first, steps;
	struct sched_choice choice;
};

struct dispatch {
	struct ir_program *p;
	const struct sched_points *points;
	struct sched_points odd;                           /* the same with odd extents */
	const struct sched_choice *best[SCHED_MAX_POINTS]; /* there; null: not needed yet */
	struct ir_plan *all;                               /* every step, each once; names are unique in it */
	struct {
		VEC(struct made);
	} made;
};

/* One way to compute a part, and the extents it is for. */
struct way {
	const struct sched_choice *list;
	expr fits; /* null: always */
	struct ir_step **step;
	int steps;
};

static const struct made *make(struct dispatch *d, int stage, const struct sched_choice *c)
{
	vec_each (m, &d->made)
		if (m->stage == stage && m->choice.rule == c->rule &&
		    memcmp(m->choice.param, c->param, sizeof c->param) == 0)
			return m;
	struct made m = { .stage = stage, .first = d->all->steps.n, .choice = *c };
	apply_choice(d->all, d->p->stages.at[stage], c, &d->points->target[d->points->opt]);
	m.steps = d->all->steps.n - m.first;
	start_early(d->all, m.first, &d->points->target[d->points->opt]);
	vec_push(d->p->arena, &d->made, m);
	return &d->made.at[d->made.n - 1];
}

/* Builds the steps of stages from ... to - 1 with the choices of `list`. */
static void make_steps(struct dispatch *d, struct way *w, int from, int to)
{
	struct ir_program *p = d->p;
	struct {
		VEC(struct ir_step *);
	} steps = { 0 };
	for (int i = from; i < to; i += sched_span(p, p->stages.at[i], &w->list[i])) {
		const struct made *m = make(d, i, &w->list[i]);
		for (int k = 0; k < m->steps; k++)
			vec_push(p->arena, &steps, d->all->steps.at[m->first + k]);
	}
	w->step = steps.at;
	w->steps = steps.n;
}

static void share_way(struct dispatch *d, struct way *w)
{
	struct ir_plan own = { .program = d->p };
	for (int i = 0; i < w->steps; i++)
		vec_push(d->p->arena, &own.steps, w->step[i]);
	share_launches(&own, d->all, &d->points->target[d->points->opt]);
	w->step = own.steps.at;
	w->steps = own.steps.n;
}

/* ---- Borders between ways. */

struct mention {
	expr symbol;
	bool found;
};

static void mentions(void *user, expr e)
{
	struct mention *m = user;
	m->found |= e == m->symbol;
}

static bool is_concerned(const struct ir_stage *s, expr symbol)
{
	struct mention m = { symbol, s->kind == IR_LOOP };
	for (int i = 0; s->kind != IR_LOOP && i < s->out->rank; i++)
		ir_walk(s->out->dim[i], mentions, &m);
	for (int i = 0; i < s->space_rank; i++)
		ir_walk(s->space[i], mentions, &m);
	return m.found;
}

/* True if the way `next` is faster as soon as this symbol alone has the next point's extent. */
static bool decides(const struct dispatch *d, const struct way *own, const struct sched_choice *next, int from, int to,
                    int i, int symbol)
{
	struct sched_target t = d->points->target[i];
	struct sched_extent *extent = NEWN(d->p->arena, struct sched_extent, t.extents);
	memcpy(extent, t.extent, sizeof *extent * (size_t)t.extents);
	extent[symbol] = d->points->target[i + 1].extent[symbol];
	t.extent = extent;
	return sched_time(d->p, next, from, to, &t) < sched_time(d->p, own->list, from, to, &t);
}

/* The largest power of two that divides both, of those that vectors of 16 bytes need. */
static int64_t common_power(int64_t a, int64_t b)
{
	int64_t power = 1;
	while (power < 16 && (a | b) % (2 * power) == 0)
		power *= 2;
	return power;
}

/* The place between points i and i + 1, from 0 to 1, at which the next way becomes the faster one. Of the places
 * between extents that are tried, the one that costs the least time there. */
static double crossing(const struct dispatch *d, const struct way *own, const struct sched_choice *next, int from,
                       int to, int i)
{
	enum { TRIED = 15 };
	const struct sched_target *a = &d->points->target[i], *b = a + 1;
	double more[TRIED], sum = 0, least = 0; /* time lost by the next way instead of the own, from an extent on */
	int best = TRIED;
	for (int k = 0; k < TRIED; k++) {
		struct sched_target t = *a;
		struct sched_extent *extent = NEWN(d->p->arena, struct sched_extent, t.extents + 1);
		for (int x = 0; x < t.extents; x++) {
			double low = (double)a->extent[x].value, high = (double)b->extent[x].value;
			extent[x] = a->extent[x];
			double whole = (double)common_power(a->extent[x].value, b->extent[x].value);
			if (low > 0 && high > 0)
				extent[x].value =
				        (int64_t)(floor(low * pow(high / low, (k + 1.0) / (TRIED + 1)) / whole + 0.5) *
				                  whole);
		}
		t.extent = extent;
		more[k] = log(fmax(sched_time(d->p, next, from, to, &t), 1) /
		              fmax(sched_time(d->p, own->list, from, to, &t), 1));
	}
	for (int k = TRIED - 1; k >= 0; k--) {
		sum += more[k];
		if (sum < least) {
			least = sum;
			best = k;
		}
	}
	return (best + 0.5) / (TRIED + 1);
}

/* A bool: the extents are nearer to point `i` than to the next one; or null if no symbol distinguishes them. */
static expr nearer(const struct dispatch *d, const struct way *own, const struct sched_choice *next, int from, int to,
                   int i)
{
	const struct sched_target *a = &d->points->target[i], *b = a + 1;
	struct ir_pool *pool = d->p->pool;
	expr product = ir_index(pool, 1);
	int concerned[MOST_SYMBOLS], n = 0, decisive = 0, input, axis;
	double below = 1, above = 1;
	for (int k = 0; k < a->extents && n < MOST_SYMBOLS; k++) {
		expr symbol = a->extent[k].symbol;
		bool here = false;
		for (int s = from; s < to; s++)
			here |= is_concerned(d->p->stages.at[s], symbol);
		if (!here || a->extent[k].value == b->extent[k].value || !ir_symbol_source(d->p, symbol, &input, &axis))
			continue;
		concerned[n++] = k;
		if (decides(d, own, next, from, to, i, k)) { /* move to the front */
			concerned[n - 1] = concerned[decisive];
			concerned[decisive++] = k;
		}
	}
	n = decisive ? decisive : n;
	for (int k = 0; k < n; k++) {
		expr symbol = a->extent[concerned[k]].symbol, most = ir_index(pool, (int64_t)1 << (62 / n));
		/* The product must not overflow, whatever the extents. */
		product = ir_binary(IR_MUL, product, n > 1 ? ir_binary(IR_MIN, symbol, most) : symbol);
		below *= (double)a->extent[concerned[k]].value;
		above *= (double)b->extent[concerned[k]].value;
	}
	if (below >= above)
		return NULL;
	double border = floor(below * pow(above / below, crossing(d, own, next, from, to, i)));
	return border < 1e18 ? ir_binary(IR_LE, product, ir_index(pool, (int64_t)border)) : NULL;
}

static bool same_part(const struct sched_choice *a, const struct sched_choice *b, int from, int to)
{
	for (int i = from; i < to; i++)
		if (a[i].rule != b[i].rule || memcmp(a[i].param, b[i].param, sizeof a[i].param) != 0)
			return false;
	return true;
}

/* The choices of a tactic at its points, and at odd extents near each of them. */
struct choices {
	const struct sched_choice *at[2 * SCHED_MAX_POINTS]; /* first at all points, then at odd extents */
};

/* The points with odd extents instead of those that differ between points. */
static struct sched_points odd_points(const struct sched_points *points, struct arena *a)
{
	struct sched_points odd = *points;
	const struct sched_target *first = &points->target[0], *last = &points->target[odd.n - 1];
	for (int i = 0; i < odd.n; i++) {
		struct sched_target *t = &odd.target[i];
		struct sched_extent *extent = NEWN(a, struct sched_extent, t->extents + 1);
		for (int k = 0; k < t->extents; k++) {
			extent[k] = t->extent[k];
			if (first->extent[k].value != last->extent[k].value)
				extent[k].value |= 1;
		}
		t->extent = extent;
	}
	return odd;
}

/* The parts of a that b has, too. */
static expr common_parts(expr a, expr b)
{
	if (a->op == IR_AND)
		return guard_both(common_parts(a->arg[0], b), common_parts(a->arg[1], b));
	return guard_implies(b, a) ? a : ir_int(a->pool, TYPE_BOOL, 1);
}

/* A bool over symbols: the conditions that the estimates of a list rely on at each of the points first ... last. Where
 * one of them does without a condition, the list is good without it. */
static expr relied_on(const struct dispatch *d, const struct sched_choice *list, int from, int to, int first, int last)
{
	expr all = NULL;
	for (int i = first; i <= last; i++) {
		struct sched_target t = d->points->target[i];
		expr asked = ir_int(d->p->pool, TYPE_BOOL, 1);
		t.asked = &asked;
		sched_time(d->p, list, from, to, &t);
		all = all ? common_parts(all, asked) : asked;
	}
	return all;
}

/* What is best at odd extents does not depend on the tactic, and only a list that relies on conditions needs it. */
static const struct sched_choice *at_odd_extents(struct dispatch *d, const struct sched_choice *usual, int i)
{
	if (d->points->n == 1 || ir_is_int(relied_on(d, usual, 0, d->p->stages.n, i, i), 1))
		return usual;
	if (!d->best[i])
		d->best[i] = sched_best(d->p, &d->odd.target[i]);
	return sched_adopt(d->p, d->best[i], usual, &d->odd.target[i]);
}

static struct choices find_choices(struct dispatch *d, const struct sched_tactic *tactic)
{
	struct choices all;
	int n = d->points->n;
	for (int i = 0; i < n; i++) {
		all.at[i] = tactic->choice[i];
		all.at[n + i] = at_odd_extents(d, all.at[i], i);
	}
	return all;
}

/* Ways for neighbouring points, from the smallest extents to the largest. `first`, `last`: a way's points. */
struct ways {
	struct way way[SCHED_MAX_POINTS];
	int first[SCHED_MAX_POINTS], last[SCHED_MAX_POINTS], n;
};

/* The ways of the points first ... last, with a list of choices each. */
static struct ways ways_between(const struct dispatch *d, const struct sched_choice *const *list, int from, int to,
                                int first, int last)
{
	struct ways w = { .n = 0 };
	for (int i = first; i <= last; i++) {
		struct way *before = w.n ? &w.way[w.n - 1] : NULL;
		bool same = before && same_part(before->list, list[i], from, to);
		expr border = before && !same ? nearer(d, before, list[i], from, to, i - 1) : NULL;
		if (before && !border) { /* no symbol distinguishes the points: use the optimum's way */
			if (!same && i == d->points->opt)
				before->list = list[i];
			w.last[w.n - 1] = i;
			continue;
		}
		if (before)
			before->fits = border;
		w.first[w.n] = w.last[w.n] = i;
		w.way[w.n++] = (struct way){ .list = list[i] };
	}
	return w;
}

/* Finds a part's ways: those of its points, each followed by those for odd extents near these points. What is best at
 * odd extents has borders of its own, also to the neighbouring points' ways. */
static int find_ways(struct dispatch *d, const struct choices *all, int from, int to, struct way *out)
{
	const struct sched_choice *const *odd_list = all->at + d->points->n;
	struct dispatch odd = *d;
	struct ways usual = ways_between(d, all->at, from, to, 0, d->points->n - 1);
	int n = 0;
	odd.points = &d->odd;
	for (int i = 0; i < usual.n; i++) {
		const struct way *w = &usual.way[i];
		int first = usual.first[i], last = usual.last[i];
		bool differs = false;
		for (int k = first; k <= last; k++)
			differs |= !same_part(w->list, odd_list[k], from, to);
		expr whole = differs ? relied_on(d, w->list, from, to, first, last) : NULL;
		if (!whole || ir_is_int(whole, 1)) {
			out[n++] = *w;
			continue;
		}
		out[n++] = (struct way){ .list = w->list, .fits = guard_both(w->fits, whole) };
		int low = first > 0 ? first - 1 : 0, high = last < d->points->n - 1 ? last + 1 : last;
		struct ways others = ways_between(&odd, odd_list, from, to, low, high);
		for (int k = 0; k < others.n; k++)
			out[n++] = (struct way){ .list = others.way[k].list,
				                 .fits = guard_both(w->fits, others.way[k].fits) };
	}
	for (int i = 0; i < n; i++)
		make_steps(d, &out[i], from, to);
	return n;
}

/* ---- Kernels that a way's extents never reach: those after one that fits them all. */

struct extent_is {
	expr symbol;
	int64_t value;
};

static bool extent_of(void *user, expr symbol, int64_t *value)
{
	const struct extent_is *x = user;
	*value = x->value;
	return x->symbol == symbol;
}

/* True if the kernel fits all extents of a way with a bound on one symbol. False if the guard has other conditions. */
static bool fits_all(const struct ir_kernel *k, expr way)
{
	enum { MOST = 4096 };
	int64_t most, holds = 1;
	if (k->arch || k->together || !way || way->op != IR_LE || way->arg[0]->op != IR_SYMBOL ||
	    !ir_const_int(way->arg[1], &most) || most > MOST)
		return false;
	struct extent_is x = { way->arg[0], 0 };
	for (; k->guard && x.value <= most; x.value++)
		if (!ir_eval_int(k->guard, extent_of, &x, &holds) || !holds)
			return false;
	return true;
}

/* True if a kernel of the step from `first` on, which is tried earlier, fits wherever this one does. */
static bool is_hidden(const struct ir_step *step, int first, const struct ir_kernel *k)
{
	for (int i = first; i < step->n; i++) {
		const struct ir_kernel *earlier = step->at[i];
		bool runs = !earlier->together && (!earlier->arch || earlier->arch == k->arch);
		if (runs && guard_implies(k->guard, earlier->guard))
			return true;
	}
	return false;
}

/* ---- Steps of several ways. */

/* Copies the kernel for the extents of a way; `only`: replaces its guard, as these extents always fit. */
static struct ir_kernel *copy_kernel(struct ir_program *p, const struct ir_kernel *k, expr fits, bool only)
{
	struct ir_kernel *copy = NEW(p->arena, struct ir_kernel);
	*copy = *k;
	kernel_needs_only(copy, fits);
	if (!only)
		kernel_needs(copy, k->guard);
	return copy;
}

/* A kernel of the step that every GPU can run. Ways that need no launch have it with no blocks; a kernel for one
 * architecture would then be compiled for all of them. */
static const struct ir_kernel *for_any_gpu(const struct ir_step *step)
{
	vec_each (k, step)
		if (!(*k)->arch && !(*k)->together)
			return *k;
	return step->at[0];
}

static struct ir_step *join(struct dispatch *d, const struct way *way, int ways, int i)
{
	struct ir_program *p = d->p;
	struct ir_step *step = NEW(p->arena, struct ir_step);
	const struct ir_kernel *any = NULL;
	for (int w = 0; w < ways; w++)
		if (i < way[w].steps)
			any = for_any_gpu(way[w].step[i]);
	for (int w = 0; w < ways; w++) {
		if (i < way[w].steps) {
			int first = step->n;
			vec_each (k, way[w].step[i]) {
				bool all = fits_all(*k, way[w].fits);
				struct ir_kernel *copy = copy_kernel(p, *k, way[w].fits, all);
				if (!is_hidden(step, first, copy))
					step_add(p, step, copy);
				if (all)
					break;
			}
			continue;
		}
		struct ir_kernel *none = copy_kernel(p, any, way[w].fits, true);
		none->arch = 0;
		none->together = false;
		none->blocks = ir_index(p->pool, 0);
		step_add(p, step, none);
	}
	return step;
}

/* Neighbouring stages that run with choices of their own, and their ways at a tactic's points. */
struct part {
	struct way way[MOST_WAYS];
	int ways;
};

struct parts {
	VEC(struct part);
};

static struct parts find_parts(struct dispatch *d, const struct sched_tactic *tactic)
{
	struct parts parts = { 0 };
	struct choices all = find_choices(d, tactic);
	for (int from = 0, to; from < d->p->stages.n; from = to) {
		struct part part;
		to = sched_part_end(d->p, all.at, 2 * d->points->n, from);
		part.ways = find_ways(d, &all, from, to, part.way);
		vec_push(d->p->arena, &parts, part);
	}
	return parts;
}

static void add_part(struct dispatch *d, struct ir_plan *plan, struct part *part)
{
	int most = 0;
	for (int w = 0; w < part->ways && part->ways > 1; w++) /* its launches differ from those of others there */
		share_way(d, &part->way[w]);
	for (int w = 0; w < part->ways; w++)
		most = part->way[w].steps > most ? part->way[w].steps : most;
	for (int i = 0; i < most; i++)
		vec_push(d->p->arena, &plan->steps,
		         part->ways == 1 ? part->way[0].step[i] : join(d, part->way, part->ways, i));
}

static struct ir_plan *make_plan(struct dispatch *d, struct parts *parts)
{
	struct ir_plan *plan = NEW(d->p->arena, struct ir_plan);
	plan->program = d->p;
	vec_each (part, parts)
		add_part(d, plan, part);
	share_launches(plan, d->all, &d->points->target[d->points->opt]);
	return plan;
}

static struct dispatch dispatch_new(struct ir_program *p, const struct sched_points *points)
{
	struct dispatch d = { .p = p, .points = points, .all = NEW(p->arena, struct ir_plan) };
	d.all->program = p;
	d.odd = odd_points(points, p->arena);
	return d;
}

/* Choices that differ for some extents only make equal kernels for the others, and so do layers that a model repeats:
 * ir_merge_kernels() finds them when all kernels of all tactics are there. Launches are shared after that, as they have
 * the arguments of their parts. */
void sched_plans(const struct ir_plan **out, struct ir_program *p, const struct sched_points *points,
                 const struct sched_tactic *tactic, int n)
{
	struct dispatch d = dispatch_new(p, points);
	struct parts *parts = NEWN(p->arena, struct parts, n);
	for (int i = 0; i < n; i++)
		parts[i] = find_parts(&d, &tactic[i]);
	ir_merge_kernels(d.all);
	if (p->checked)
		ir_kernel_bounds(d.all);
	for (int i = 0; i < n; i++)
		out[i] = make_plan(&d, &parts[i]);
}
