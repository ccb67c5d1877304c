/* Turns decisions into plans. Each choice's kernels are built once. If the points' choices differ, guards select the
 * kernels by the extents at run time (ways.h): step i of a part holds the kernels of each way's step i, guarded by "the
 * product is at most the border". The last way's kernels have no such guard, so that some kernel fits all extents. A
 * way with fewer steps launches nothing there. */
#include "sched/core/ways.h"
#include "sched/build/finish.h"
#include "sched/core/launches.h"

#include <string.h>

/* The steps of `all` that a choice made for a stage. */
struct made {
	int stage, first, steps;
	struct sched_choice choice;
};

struct dispatch {
	struct ir_program *p;
	const struct sched_points *points;
	struct way_finder finder;
	struct ir_plan *all; /* every step, each once; names are unique in it */
	struct {
		VEC(struct made);
	} made;
};

/* The steps of a way. */
struct run {
	struct way way;
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
static void make_steps(struct dispatch *d, struct run *w, int from, int to)
{
	struct ir_program *p = d->p;
	struct {
		VEC(struct ir_step *);
	} steps = { 0 };
	for (int i = from; i < to; i += sched_span(p, p->stages.at[i], &w->way.list[i])) {
		const struct made *m = make(d, i, &w->way.list[i]);
		for (int k = 0; k < m->steps; k++)
			vec_push(p->arena, &steps, d->all->steps.at[m->first + k]);
	}
	w->step = steps.at;
	w->steps = steps.n;
}

static void share_run(struct dispatch *d, struct run *w)
{
	struct ir_plan own = { .program = d->p };
	for (int i = 0; i < w->steps; i++)
		vec_push(d->p->arena, &own.steps, w->step[i]);
	share_launches(&own, d->all, &d->points->target[d->points->opt]);
	w->step = own.steps.at;
	w->steps = own.steps.n;
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

static struct ir_step *join(struct dispatch *d, const struct run *run, int runs, int i)
{
	struct ir_program *p = d->p;
	struct ir_step *step = NEW(p->arena, struct ir_step);
	const struct ir_kernel *any = NULL;
	for (int w = 0; w < runs; w++)
		if (i < run[w].steps)
			any = for_any_gpu(run[w].step[i]);
	for (int w = 0; w < runs; w++) {
		if (i < run[w].steps) {
			int first = step->n;
			vec_each (k, run[w].step[i]) {
				bool all = fits_all(*k, run[w].way.fits);
				struct ir_kernel *copy = copy_kernel(p, *k, run[w].way.fits, all);
				if (!is_hidden(step, first, copy))
					step_add(p, step, copy);
				if (all)
					break;
			}
			continue;
		}
		struct ir_kernel *none = copy_kernel(p, any, run[w].way.fits, true);
		none->arch = 0;
		none->together = false;
		none->blocks = ir_index(p->pool, 0);
		step_add(p, step, none);
	}
	return step;
}

/* Neighbouring stages that run with choices of their own, and their ways at a tactic's points. */
struct part {
	struct run run[MOST_WAYS];
	int runs;
};

struct parts {
	VEC(struct part);
};

static struct parts find_parts(struct dispatch *d, const struct sched_tactic *tactic)
{
	struct parts parts = { 0 };
	struct choices all = ways_choices(&d->finder, tactic);
	for (int from = 0, to; from < d->p->stages.n; from = to) {
		struct way way[MOST_WAYS];
		struct part part;
		to = ways_part_end(&d->finder, &all, from);
		part.runs = ways_of_part(&d->finder, &all, from, to, way);
		for (int w = 0; w < part.runs; w++) {
			part.run[w] = (struct run){ .way = way[w] };
			make_steps(d, &part.run[w], from, to);
		}
		vec_push(d->p->arena, &parts, part);
	}
	return parts;
}

static void add_part(struct dispatch *d, struct ir_plan *plan, struct part *part)
{
	int most = 0;
	for (int w = 0; w < part->runs && part->runs > 1; w++) /* its launches differ from those of others there */
		share_run(d, &part->run[w]);
	for (int w = 0; w < part->runs; w++)
		most = part->run[w].steps > most ? part->run[w].steps : most;
	for (int i = 0; i < most; i++)
		vec_push(d->p->arena, &plan->steps,
		         part->runs == 1 ? part->run[0].step[i] : join(d, part->run, part->runs, i));
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
	struct dispatch d = {
		.p = p, .points = points, .finder = ways_new(p, points), .all = NEW(p->arena, struct ir_plan)
	};
	d.all->program = p;
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
