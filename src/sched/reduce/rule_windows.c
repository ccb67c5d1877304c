/* Rule windows: several reductions over one small window that moves with the result's last axes, and maps that spread
 * their results over it, in one kernel: pooling with indices, and unpooling after it. One thread makes `rows` x `width`
 * neighbouring windows. It reads each position once and stores the maps' results as vectors; results without another
 * reader stay in registers. */
#include "sched/reduce/windows.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>
#include <string.h>

#include "ir/axis_names.h"
#include "sched/build/window_reads.h"

enum { THREADS = 256, MOST_UNROLLED = 160, MOST_WINDOWS = 16, BYTES = 16 };

/* Unrolled statements per window: its points, and the elements that maps make from it. */
static int64_t statements(const struct windows *f)
{
	int64_t n = f->points * f->reductions;
	for (int i = f->reductions; i < f->stages; i++)
		n += windows_spread(f, i);
	return n;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int shape[][2] = { { 1, 2 }, { 1, 4 }, { 2, 2 }, { 1, 1 }, { 2, 1 },
		                        { 2, 4 }, { 1, 8 }, { 4, 1 }, { 4, 2 }, { 7, 1 } };
	int n = 0;
	struct windows f = *(const struct windows *)site->found;
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		int rows = shape[i][0], width = shape[i][1];
		if (axis_divides(f.stage[0], f.outer, rows) && axis_divides(f.stage[0], f.inner, width) &&
		    (rows * width == 1 || rows * width * statements(&f) <= MOST_UNROLLED))
			out[n++] = (struct sched_choice){ &sched_windows, { rows, width } };
	}
	return n;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct windows f;
	if (windows_match(&f, p, s))
		return FOUND(p, f);
	*why = "the stage does not begin several reductions over the same small windows, or one with a "
	       "map of its results after it";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct windows *)site->found)->stages;
}

/* ---- Time: bytes moved once, or the work. */

struct buffers {
	const struct windows *f;
	const struct sched_target *t;
	const struct ir_buffer *seen[64];
	int n;
	double bytes;
};

static void add_buffer(void *user, expr e)
{
	struct buffers *b = user;
	bool again = e->op != IR_LOAD || windows_reduction(b->f, e) >= 0;
	for (int i = 0; i < b->n; i++)
		again |= b->seen[i] == e->buf;
	if (again || b->n == (int)(sizeof b->seen / sizeof *b->seen))
		return;
	b->seen[b->n++] = e->buf;
	b->bytes += (double)about(ir_buffer_count(b->f->p, e->buf), b->t) * type_info(e->type)->bits / 8.0;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	/* Instructions: per point read, per point combined, per position's axes, per element stored. */
	enum { OF_READ = 3, OF_POINT = 2, OF_ARG = 5, OF_POSITION = 30, OF_STORE = 2 };
	struct windows f = *(const struct windows *)site->found;
	struct buffers read = { .f = &f, .t = t };
	int rows = c->param[0], width = c->param[1], each = rows * width;
	double outs = (double)about(out_count(f.p, s), t), written = 0, work = OF_POSITION / (double)each, narrow = 1;
	double lane = width * f.bytes; /* contiguous bytes that one thread reads or writes, at most */
	work += (double)f.points * OF_READ * (1 + (width - 1) * f.apart) / width;
	for (int i = 0; i < f.stages; i++) {
		const struct ir_stage *m = f.stage[i];
		double size = type_info(m->out->type)->bits / 8.0, n = (double)windows_spread(&f, i), vector;
		ir_walk(m->value, add_buffer, &read);
		if (m->post)
			ir_walk(m->post, add_buffer, &read);
		if (i < f.reductions)
			work += (double)f.points *
			        (ir_cost(m->value) + (ir_combine_is_arg(m->combine) ? OF_ARG : OF_POINT));
		else
			work += n * (ir_cost(m->value) + OF_STORE);
		if (i < f.reductions && !windows_stored(&f, i))
			continue;
		written += outs * n * size;
		vector = size * width * (i < f.reductions ? 1 : (double)f.spread[i][f.inner]);
		narrow = vector < 4 ? 1.05 : narrow;
		lane = fmax(lane, vector);
	}
	double bytes = (written + read.bytes) / t->bytes_per_ns;
	double fill = outs / each * (each > 4 ? 4 : each) / (2 * cost_full_threads(t));
	work *= outs / cost_mixed_rate(t);
	double time = work > bytes ? work : bytes;
	time = (time + 0.15 * (work + bytes - time)) * narrow * (1 + 0.004 * each);
	/* Measured on an H100 with 2x2 windows of f32, 25.7 M elements read and written: 72.0 us with 16 bytes per
	 * lane, 91.3 with 32, 130 with 64, 72.1 with 8; four rows of windows per thread instead of one: 74.2. f16:
	 * 37.6; 63.2 with 32 bytes; 37.2 with 8. */
	time *= lane > BYTES ? 1 + 0.35 * log2(lane / BYTES) : 1;
	return t->launch_ns + time / cost_rate_reached(fill);
}

/* ---- The kernel: positions count the threads' blocks of windows, and everything is unrolled, so that windows with a
 * common load share one expression. */

struct thread {
	struct windows *f;
	struct ir_block *b;
	int rows, width;
	expr first[IR_MAX_RANK];                       /* axes of the thread's position in that space */
	expr result[WINDOWS_MAX_STAGES][MOST_WINDOWS]; /* results of the reductions, by window */
	int window;                                    /* the window whose results are requested */
	int compared;
};

/* An axis of window `window`. */
static expr axis_of(const struct thread *h, int k, int window)
{
	struct ir_pool *pool = h->f->p->pool;
	int several = k == h->f->inner ? h->width : k == h->f->outer ? h->rows : 1;
	int own = k == h->f->inner ? window % h->width : k == h->f->outer ? window / h->width : 0;
	return ir_binary(IR_ADD, ir_binary(IR_MUL, h->first[k], ir_index(pool, several)), ir_index(pool, own));
}

/* The accumulators of the windows; then the positions of an arg reduction's best points. */
static struct ir_variable *parts_of(const struct thread *h, const struct ir_stage *s)
{
	return ir_variable_of(h->f->p->pool, s->value->type, s->out, IR_HOLDS_PARTS, 0, "%s_of_%s",
	                      ir_combine_name[s->combine], s->out->name);
}

static struct ir_variable *places_of(const struct thread *h, const struct ir_stage *s)
{
	struct ir_variable *v =
	        ir_variable_of(h->f->p->pool, TYPE_INDEX, s->out, IR_HOLDS_PLACES, 0, "%s_at", s->out->name);
	v->extent = ir_index(h->f->p->pool, h->f->points);
	return v;
}

static expr part_of(const struct thread *h, int reduction, int window)
{
	const struct ir_stage *s = h->f->stage[reduction];
	return item_of(parts_of(h, s), ir_index(h->f->p->pool, window));
}

/* The position of an arg reduction's best point. */
static expr place_of(const struct thread *h, int reduction, int window)
{
	return item_of(places_of(h, h->f->stage[reduction]), ir_index(h->f->p->pool, window));
}

static expr value_at_point(struct thread *h, const struct ir_stage *s, int window, int64_t point)
{
	expr axis[2 * IR_MAX_RANK];
	struct axes in = { .value = axis };
	for (int k = 0; k < s->out->rank; k++)
		axis[k] = axis_of(h, k, window);
	reduced_point(h->f->p, s, point, axis + s->out->rank);
	return to_kernel(h->f->p, s->value, &in);
}

static void set_part(struct thread *h, int reduction, int window, expr value)
{
	emit_set(h->f->p, h->b, parts_of(h, h->f->stage[reduction]), ir_index(h->f->p->pool, window), value);
}

static void set_place(struct thread *h, int reduction, int window, expr place)
{
	emit_set(h->f->p, h->b, places_of(h, h->f->stage[reduction]), ir_index(h->f->p->pool, window), place);
}

/* Combines one more point of a window; the first point starts the accumulator. */
static void combine_point(struct thread *h, int reduction, int window, int64_t point, expr value)
{
	struct ir_program *p = h->f->p;
	enum ir_combine c = h->f->stage[reduction]->combine;
	expr part = part_of(h, reduction, window);
	if (!ir_combine_is_arg(c)) {
		set_part(h, reduction, window, ir_combine_expr(c, part, value));
		return;
	}
	expr here = ir_index(p->pool, point);
	if (point) { /* branch-free, so that all windows' steps interleave */
		const char *name = arena_printf(p->arena, "better_%d", h->compared++);
		expr better = emit_constant(p, h->b, name, accumulator_better(c, value, part), NULL);
		value = ir_select(better, value, part);
		here = ir_select(better, here, place_of(h, reduction, window));
	}
	set_part(h, reduction, window, value);
	set_place(h, reduction, window, here);
}

static void reduce_windows(struct thread *h)
{
	struct windows *f = h->f;
	struct ir_program *p = f->p;
	struct window_reads reads = { .p = p };
	int windows = h->rows * h->width;
	for (int i = 0; i < f->reductions; i++) {
		const struct ir_stage *s = f->stage[i];
		emit_array(p, h->b, parts_of(h, s), windows);
		if (ir_combine_is_arg(s->combine))
			emit_array(p, h->b, places_of(h, s), windows);
		for (int window = 0; window < windows && !ir_combine_is_arg(s->combine); window++)
			set_part(h, i, window, ir_identity(p->pool, s->combine, s->value->type));
	}
	enum { FIND, READ, COMBINE, DONE }; /* all loads are issued before anything is combined */
	for (int turn = FIND; turn < DONE; turn++)
		for (int64_t point = 0; point < f->points; point++)
			for (int window = 0; window < windows; window++)
				for (int i = 0; i < f->reductions; i++) {
					expr value = value_at_point(h, f->stage[i], window, point);
					if (turn == FIND)
						window_reads_find(&reads, value);
					else
						value = window_reads_emit(&reads, h->b, value);
					if (turn == COMBINE)
						combine_point(h, i, window, point, value);
				}
}

/* The reductions' results, as they would be stored. */
static void finish_windows(struct thread *h)
{
	struct ir_program *p = h->f->p;
	for (int i = 0; i < h->f->reductions; i++)
		for (int window = 0; window < h->rows * h->width; window++) {
			const struct ir_stage *s = h->f->stage[i];
			expr axis[IR_MAX_RANK];
			struct axes post = { .value = axis, .acc = part_of(h, i, window) };
			for (int k = 0; k < s->out->rank; k++)
				axis[k] = axis_of(h, k, window);
			if (ir_combine_is_arg(s->combine)) {
				h->result[i][window] = ir_cast(place_of(h, i, window), s->out->type);
				continue;
			}
			expr result = s->post ? to_kernel(p, s->post, &post) : ir_cast(post.acc, s->out->type);
			const char *name = arena_printf(p->arena, "%s_%d", s->out->name, window);
			if (result != post.acc)
				result = emit_constant(p, h->b, name, result, NULL);
			h->result[i][window] = result;
		}
}

static expr result_here(void *user, expr e, expr flat)
{
	struct thread *h = user;
	int i = windows_reduction(h->f, e);
	(void)flat;
	return i < 0 ? NULL : h->result[i][h->window];
}

/* An element of a stage with several per window: the one at `digit` along each axis. */
static expr element_of(struct thread *h, int stage, int window, const int64_t *digit, expr *axis)
{
	const struct ir_stage *s = h->f->stage[stage];
	struct ir_pool *pool = h->f->p->pool;
	struct axes here = { .value = axis, .load = result_here, .user = h };
	for (int k = 0; k < s->out->rank; k++) {
		expr several = ir_index(pool, stage < h->f->reductions ? 1 : h->f->spread[stage][k]);
		axis[k] =
		        ir_binary(IR_ADD, ir_binary(IR_MUL, axis_of(h, k, window), several), ir_index(pool, digit[k]));
	}
	h->window = window;
	return stage < h->f->reductions ? h->result[stage][window] : to_kernel(h->f->p, s->value, &here);
}

/* Stores neighbours along the last axis, for all windows of a row. */
static void store_row(struct thread *h, int stage, int row, int64_t *digit, int number)
{
	const struct ir_stage *s = h->f->stage[stage];
	struct ir_program *p = h->f->p;
	int inner = h->f->inner, each = stage < h->f->reductions ? 1 : (int)h->f->spread[stage][inner], n = 0;
	struct ir_variable *array = ir_variable_new(p->pool, s->out->type, "%s_v%d", s->out->name, number);
	expr axis[IR_MAX_RANK], start = ir_index(p->pool, 0);
	if (h->width * each > 1)
		emit_array(p, h->b, array, h->width * each);
	for (int item = 0; item < h->width; item++)
		for (digit[inner] = 0; digit[inner] < each; digit[inner]++, n++) {
			expr value = element_of(h, stage, row * h->width + item, digit, axis);
			for (int k = 0; n == 0 && k < s->out->rank; k++)
				start = ir_binary(IR_ADD, ir_binary(IR_MUL, start, s->out->dim[k]), axis[k]);
			if (h->width * each == 1)
				emit_store(p, h->b, s->out, start, value);
			else
				emit_set(p, h->b, array, ir_index(p->pool, n), value);
		}
	if (n > 1)
		emit_store_vector(p, h->b, s->out, start, array, n);
}

/* Stores all of a stage's elements, row by row. */
static void store_stage(struct thread *h, int stage)
{
	int rank = h->f->stage[stage]->out->rank, number = 0;
	for (int row = 0; row < h->rows; row++) {
		int64_t digit[IR_MAX_RANK] = { 0 };
		for (int k = rank; k >= 0;) {
			store_row(h, stage, row, digit, number++);
			for (k = rank - 1; k >= 0; k--) {
				if (k == h->f->inner || stage < h->f->reductions)
					continue;
				if (++digit[k] < h->f->spread[stage][k])
					break;
				digit[k] = 0;
			}
		}
	}
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct windows f = *(const struct windows *)site->found;
	const struct ir_stage *last = f.stage[f.stages - 1];
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, last, "", c);
	struct thread own = { .f = &f, .b = &k->body, .rows = c->param[0], .width = c->param[1] };
	expr dim[IR_MAX_RANK], count = ir_index(p->pool, 1);
	bool used[IR_MAX_RANK];
	for (int i = 0; i < s->out->rank; i++) {
		int several = i == f.inner ? own.width : i == f.outer ? own.rows : 1;
		dim[i] = ir_binary(IR_FLOORDIV, s->out->dim[i], ir_index(p->pool, several));
		count = ir_binary(IR_MUL, count, dim[i]);
		used[i] = true;
	}
	expr element = declare_element(p, k, count, THREADS, 1);
	declare_axes(p, &k->body, element, s->out->rank, dim, ir_axis_names[0], used, own.first);
	reduce_windows(&own);
	finish_windows(&own);
	for (int i = 0; i < f.stages; i++)
		if (i >= f.reductions || windows_stored(&f, i))
			store_stage(&own, i);
	kernel_finish(plan, step, k, last);
	struct str about = str_new(p->arena);
	for (int i = 0; i < f.stages; i++)
		ir_print_stage(&about, f.stage[i]);
	for (int i = 0; i < step->n; i++)
		step->at[i]->about = str_text(&about);
}

const struct sched_rule sched_windows = {
	.name = "windows",
	.version = 1,
	.about = "A thread computes {rows} x {width} neighbouring windows, and reads each place once.",
	.param = { { "rows", 1, 7 }, { "width", 1, 8 } },
	.none = "no shape of neighbouring windows divides the extents",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
