/* Rule sweep: a reduction over a window that moves with the result's last axes, like depthwise convolution and pooling,
 * whose value is made of parts that move with the window, such as elements of an image, and parts that are the same for
 * all windows of a thread, such as weights. A thread makes `rows` x `width` neighbouring elements. It keeps the weights
 * in registers and goes over the lines that its windows cover: of each line it reads what its windows share once, and
 * adds it to all rows that see the line. Where `rows` or `width` do not divide an axis, the last threads begin earlier
 * and make some elements again. Larger windows than stencil's are written as loops. If more axes are summed, such as
 * the channels of a group, it does so for each of their points, `channels` here; where elements are few, `parts`
 * threads of a block share them. */
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"
#include "sched/reduce/sweep.h"

#include <math.h>

enum {
	FEW_POINTS = 9,
	OF_STENCIL = 64, /* points of all channels */
	MOST_POINTS = 128,
	MOST_UNROLLED = 1024,
	MOST_CHANNELS = 4096,
	MOST_SHARED = 8, /* threads for an element */
	FARTHEST = 4,
	MOST_REGISTERS = 110
};

/* ---- Finding the parts. */

static expr axis_of(const struct sweep *f, int k)
{
	int rank = f->s->out->rank;
	return ir_axis(f->p->pool, k, k < rank ? f->s->out->dim[k] : f->s->space[k - rank]);
}

static expr moved(const struct sweep *f, expr e, int axis, int64_t by)
{
	expr what = axis_of(f, axis), with = ir_binary(IR_ADD, what, ir_index(f->p->pool, by));
	return substitute(&(struct substitution){ &what, &with, 1 }, e);
}

struct uses {
	const struct sweep *f;
	bool loads, out, window; /* an axis of the result along which windows move; an axis of the window */
};

static void look(void *user, expr e)
{
	struct uses *u = user;
	u->loads |= e->op == IR_LOAD;
	if (e->op != IR_AXIS)
		return;
	u->out |= e->i == u->f->axis[DOWN] || e->i == u->f->axis[ACROSS];
	u->window |= e->i == u->f->reduced[DOWN] || e->i == u->f->reduced[ACROSS];
}

/* True if moving to the next window is moving by some taps in the window. */
static bool moves(struct sweep *f, expr e, int way)
{
	int reduced = f->reduced[way];
	if (reduced < 0)
		return true;
	expr next = moved(f, e, f->axis[way], 1);
	for (int64_t step = 1; step <= FARTHEST; step++)
		if (next == moved(f, e, reduced, step)) {
			bool same = !f->step[way] || f->step[way] == step;
			f->step[way] = step;
			return same;
		}
	return false;
}

static bool add(expr *list, int *n, expr e)
{
	for (int i = 0; i < *n; i++)
		if (list[i] == e)
			return true;
	if (*n == SWEEP_MOST_PARTS)
		return false;
	list[(*n)++] = e;
	return true;
}

/* Finds the largest parts with loads. `sure`: by expression, what every point evaluates, so that it may be read ahead.
 */
static bool find_parts(struct sweep *f, expr e, const bool *sure)
{
	struct uses u = { .f = f };
	ir_walk(e, look, &u);
	if (!u.loads)
		return true;
	if (sure[e->id] && !u.out)
		return add(f->still, &f->stills, e);
	if (sure[e->id] && u.window) {
		int64_t step[2] = { f->step[DOWN], f->step[ACROSS] };
		if (moves(f, e, DOWN) && moves(f, e, ACROSS))
			return add(f->moving, &f->movings, e);
		f->step[DOWN] = step[DOWN], f->step[ACROSS] = step[ACROSS];
	}
	if (e->op == IR_LOAD)
		return false;
	for (int i = 0; i < e->n; i++)
		if (!find_parts(f, e->arg[i], sure))
			return false;
	return true;
}

/* The window has the last `ways` of the n reduced axes in `reduced`. */
static bool find_window(struct sweep *f, struct ir_program *p, const struct ir_stage *s, int n, const int *reduced,
                        int ways)
{
	*f = (struct sweep){
		.p = p, .s = s, .axis = { -1, -1 }, .reduced = { -1, -1 }, .taps = { 1, 1 }, .channels = 1
	};
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1)) {
			f->axis[DOWN] = f->axis[ACROSS];
			f->axis[ACROSS] = k;
		}
	for (int i = 0; i < n; i++) {
		int64_t extent = 1;
		ir_const_int(s->space[reduced[i] - s->out->rank], &extent);
		if (i < n - ways) {
			f->deep[f->deeps++] = reduced[i];
			f->channels *= extent;
			continue;
		}
		f->reduced[DOWN] = f->reduced[ACROSS];
		f->taps[DOWN] = f->taps[ACROSS];
		f->reduced[ACROSS] = reduced[i];
		f->taps[ACROSS] = extent;
	}
	if (f->reduced[DOWN] < 0)
		f->axis[DOWN] = -1;
	if (f->axis[ACROSS] < 0 || (f->reduced[DOWN] >= 0 && f->axis[DOWN] < 0) || f->channels > MOST_CHANNELS ||
	    f->taps[DOWN] * f->taps[ACROSS] > MOST_POINTS)
		return false;
	struct arena *scratch = arena_new();
	bool *sure = NEWN(scratch, bool, s->value->id + 1);
	ir_mark_unconditional(s->value, sure);
	bool found = find_parts(f, s->value, sure);
	arena_free(scratch);
	return found && f->movings > 0 && f->step[ACROSS] <= f->taps[ACROSS] && f->step[DOWN] <= f->taps[DOWN];
}

static bool find(struct sweep *f, struct ir_program *p, const struct ir_stage *s)
{
	int n = 0, reduced[IR_MAX_RANK];
	if (s->kind != IR_REDUCE || ir_combine_is_arg(s->combine) || type_is_packed(s->out->type))
		return false;
	for (int k = 0; k < s->space_rank; k++) {
		int64_t extent;
		if (ir_is_int(s->space[k], 1))
			continue;
		if (!ir_const_int(s->space[k], &extent) || extent < 2)
			return false;
		reduced[n++] = s->out->rank + k;
	}
	return (n > 1 && find_window(f, p, s, n, reduced, 2)) || (n > 0 && find_window(f, p, s, n, reduced, 1));
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct sweep f;
	if (find(&f, p, s))
		return FOUND(p, f);
	*why = "the stage is not a reduction over overlapping windows";
	return NULL;
}

/* ---- Choices. */

static double registers_of(const struct sweep *f, int rows, int width)
{
	enum { OTHERS = 24 };
	double words = type_info(f->s->value->type)->bits > 32 ? 2 : 1;
	return OTHERS + words * (rows * width + (double)(f->movings * sweep_covered(f, ACROSS, width)) +
	                         (double)(f->stills * f->taps[DOWN] * f->taps[ACROSS]));
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int shape[][2] = { { 4, 4 }, { 4, 2 }, { 2, 4 }, { 8, 2 }, { 8, 4 }, { 4, 8 }, { 2, 8 },
		                        { 8, 1 }, { 4, 1 }, { 2, 2 }, { 1, 4 }, { 1, 8 }, { 1, 2 }, { 2, 1 } };
	const struct sweep *f = site->found;
	const expr *dim = f->s->out->dim;
	int n = 0;
	int64_t points = f->taps[DOWN] * f->taps[ACROSS];
	/* stencil reads small windows of even rows as vectors */
	if (points <= FEW_POINTS && points * f->channels <= OF_STENCIL && about(dim[f->axis[ACROSS]], site->t) % 2 == 0)
		return 0;
	double outs = (double)about(out_count(f->p, f->s), site->t), full = 2 * cost_full_threads(site->t);
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		int rows = shape[i][0], width = shape[i][1];
		if (rows > 1 && (f->axis[DOWN] < 0 || about(dim[f->axis[DOWN]], site->t) < rows))
			continue;
		if (about(dim[f->axis[ACROSS]], site->t) < width ||
		    rows * width * f->taps[DOWN] * f->taps[ACROSS] > MOST_UNROLLED ||
		    registers_of(f, rows, width) > MOST_REGISTERS)
			continue;
		for (int parts = 1; parts <= MOST_SHARED && parts <= f->channels; parts *= 2)
			if (parts == 1 || outs / (rows * width) * parts <= full)
				out[n++] = (struct sched_choice){ &sched_sweep, { rows, width, parts } };
	}
	return n;
}

/* ---- Time. */

/* How much more is computed because the last threads begin earlier. */
static double again(expr extent, int several, const struct sched_target *t)
{
	double n = (double)about(extent, t);
	return ceil(n / several) * several / n;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	/* Instructions: of a place of a line with its condition; of a combination; of a weight; of a thread; of an
	 * element's post expression and store. */
	enum { OF_PLACE = 9, OF_COMBINATION = 2, OF_TAP = 4, OF_THREAD = 30, OF_ELEMENT = 4, LINE = 128 /* bytes */ };
	enum { OF_SHARED = 8, SHARED_NS = 300 }; /* an element that several threads add up */
	const struct sched_target *t = site->t;
	const struct sweep *f = site->found;
	const struct ir_stage *s = site->s;
	int rows = c->param[0], width = c->param[1], each = rows * width, parts = c->param[2];
	double outs = (double)about(out_count(f->p, s), t), size = type_info(s->out->type)->bits / 8.0;
	double points = (double)(f->taps[DOWN] * f->taps[ACROSS]), threads = outs / each;
	expr across = s->out->dim[f->axis[ACROSS]];
	threads *= again(across, width, t) * (rows > 1 ? again(s->out->dim[f->axis[DOWN]], rows, t) : 1);
	double places = (double)(sweep_covered(f, DOWN, rows) * sweep_covered(f, ACROSS, width) * f->movings);
	double channels = ceil((double)f->channels / parts);
	double work = channels * (OF_PLACE * places + OF_COMBINATION * points * each + OF_TAP * points * f->stills) +
	              OF_THREAD + (OF_ELEMENT + (parts > 1 ? OF_SHARED : 0)) * each;
	threads *= parts;
	double issue = threads * work / cost_mixed_rate(t);
	/* Each access of a warp takes the first cache a clock for each of its lines. */
	double bytes = widest_load(f->moving[0]) / 8.0 * (double)f->step[ACROSS];
	double lines = fmax(1, width * bytes * 32 / LINE), clocks = threads / 32 * channels * places * lines;
	double cache = clocks / (t->processors * t->clock_ghz), busy = fmax(issue, cache);
	/* Threads of other results of a group read the same channels again, from the second cache. */
	double read = threads * channels * each * (double)(f->step[DOWN] > 0 ? f->step[DOWN] : 1) * bytes;
	busy = fmax(busy, read * f->movings / t->l2_bytes_per_ns);
	/* Single stores of neighbouring threads write parts of sectors. */
	double apart = divides(across, width) || width == 1 ? 1 : fmin(width, 4);
	double moved_bytes = outs * size * apart + about_bytes_read(f->p, s->value, t),
	       memory = moved_bytes / t->bytes_per_ns;
	double longer = fmax(busy, memory), shorter = fmin(busy, memory);
	double fill = threads * fmin(each, 4) / (2 * cost_full_threads(t));
	/* A thread waits for the places of a line before it combines them, and more elements of its own need registers
	 * that other threads could have. Measured on H200s, on the scale of the other rules' estimates: with f32 what
	 * counts is the width, with f16 the number of rows; short windows have too few combinations for their lines,
	 * and windows without weights are no faster than others. */
	double waits = (size < 4 ? 0.65 * pow(rows, 0.25) : 0.56 * pow(width, 0.3)) * (points > 9 ? 1 : 1.35);
	if (!f->stills)
		waits *= 1.3;
	double time = waits * (longer + 0.15 * shorter),
	       lines_ns = 200.0 * channels * (double)sweep_covered(f, DOWN, rows);
	time *= f->deeps ? 1.4 : 1; /* of several channels: measured with three convolutions on an H200 */
	lines_ns += parts > 1 ? SHARED_NS : 0;
	return t->launch_ns + cost_of_threads(t, time, fill, work, lines_ns);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct sweep *f = site->found;
	struct ir_step *step = step_new(plan);
	struct sched_choice single = { c->rule, { 1, 1, 1 } };
	sweep_kernel(plan, step, f, c, "", true);
	if (!step_fits_all(step) && c->param[1] > 1)
		sweep_kernel(plan, step, f, c, "_apart", false);
	if (!step_fits_all(step))
		sweep_kernel(plan, step, f, &single, "_any", true);
}

const struct sched_rule sched_sweep = {
	.name = "sweep",
	.version = 2,
	.about = "A thread computes {rows} x {width} neighbouring elements. It keeps the weights in "
	         "registers, goes over the lines that the windows cover, and reads each of them "
	         "once.{parts> {parts} threads of a block share the terms of a sum.}",
	.param = { { "rows", 1, 8 }, { "width", 1, 8 }, { "parts", 1, MOST_SHARED } },
	.none = "the windows are small and their rows even, or those of neighbouring results do not fit into registers",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
