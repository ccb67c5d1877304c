/* Rule sweep: a reduction over a window that moves with the result's last axes, like depthwise convolution and pooling,
 * whose value is made of parts that move with the window, such as elements of an image, and parts that are the same for
 * all windows of a thread, such as weights. A thread makes `rows` x `width` neighbouring elements. It keeps the weights
 * in registers and goes over the lines that its windows cover: of each line it reads what its windows share once, and
 * adds it to all rows that see the line. Where `rows` or `width` do not divide an axis, the last threads begin earlier
 * and make some elements again. Larger windows than stencil's are written as loops. */
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"
#include "sched/core/choose.h"

#include <math.h>

#include "ir/axis_names.h"

enum {
	THREADS = 256,
	MOST_PARTS = 2,
	FEW_POINTS = 9,
	MOST_POINTS = 128,
	MOST_UNROLLED = 1024,
	FARTHEST = 4,
	MOST_REGISTERS = 110
};
enum { DOWN, ACROSS };

struct sweep {
	struct ir_program *p;
	const struct ir_stage *s;
	int axis[2];     /* the result's axes down and across; down: -1 if the window has one axis */
	int reduced[2];  /* the window's axes, numbered after the result's; other reduced axes have extent 1 */
	int64_t taps[2]; /* extents of the window; 1 down if it has one axis */
	int64_t step[2]; /* taps between neighbouring windows */
	expr moving[MOST_PARTS], still[MOST_PARTS];
	int movings, stills;
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
	u->window |= e->i >= u->f->s->out->rank;
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
	if (*n == MOST_PARTS)
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

static bool find(struct sweep *f, struct ir_program *p, const struct ir_stage *s)
{
	*f = (struct sweep){ .p = p, .s = s, .axis = { -1, -1 }, .reduced = { -1, -1 }, .taps = { 1, 1 } };
	if (s->kind != IR_REDUCE || ir_combine_is_arg(s->combine) || type_is_packed(s->out->type))
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1)) {
			f->axis[DOWN] = f->axis[ACROSS];
			f->axis[ACROSS] = k;
		}
	for (int k = 0; k < s->space_rank; k++) {
		int64_t extent;
		if (ir_is_int(s->space[k], 1))
			continue;
		if (f->reduced[DOWN] >= 0 || !ir_const_int(s->space[k], &extent) || extent < 2)
			return false;
		f->reduced[DOWN] = f->reduced[ACROSS];
		f->taps[DOWN] = f->taps[ACROSS];
		f->reduced[ACROSS] = s->out->rank + k;
		f->taps[ACROSS] = extent;
	}
	if (f->reduced[DOWN] < 0)
		f->axis[DOWN] = -1;
	if (f->axis[ACROSS] < 0 || f->reduced[ACROSS] < 0 || (f->reduced[DOWN] >= 0 && f->axis[DOWN] < 0) ||
	    f->taps[DOWN] * f->taps[ACROSS] > MOST_POINTS)
		return false;
	struct arena *scratch = arena_new();
	bool *sure = NEWN(scratch, bool, s->value->id + 1);
	ir_mark_unconditional(s->value, sure);
	bool found = find_parts(f, s->value, sure);
	arena_free(scratch);
	return found && f->movings > 0 && f->step[ACROSS] <= f->taps[ACROSS] && f->step[DOWN] <= f->taps[DOWN];
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct sweep f;
	if (find(&f, p, s))
		return FOUND(p, f);
	*why = "the stage is not a reduction over a window that reads the same again when it moves";
	return NULL;
}

/* ---- Choices. */

/* Lines that `rows` windows cover; places of a line that `width` windows cover. */
static int64_t covered(const struct sweep *f, int way, int windows)
{
	return (windows - 1) * f->step[way] + f->taps[way];
}

static double registers_of(const struct sweep *f, int rows, int width)
{
	enum { OTHERS = 24 };
	double words = type_info(f->s->value->type)->bits > 32 ? 2 : 1;
	return OTHERS + words * (rows * width + (double)(f->movings * covered(f, ACROSS, width)) +
	                         (double)(f->stills * f->taps[DOWN] * f->taps[ACROSS]));
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int shape[][2] = { { 4, 4 }, { 4, 2 }, { 2, 4 }, { 8, 2 }, { 8, 4 }, { 4, 8 }, { 2, 8 },
		                        { 8, 1 }, { 4, 1 }, { 2, 2 }, { 1, 4 }, { 1, 8 }, { 1, 2 }, { 2, 1 } };
	const struct sweep *f = site->found;
	const expr *dim = f->s->out->dim;
	int n = 0;
	/* stencil reads small windows of even rows as vectors */
	if (f->taps[DOWN] * f->taps[ACROSS] <= FEW_POINTS && about(dim[f->axis[ACROSS]], site->t) % 2 == 0)
		return 0;
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		int rows = shape[i][0], width = shape[i][1];
		if (rows > 1 && (f->axis[DOWN] < 0 || about(dim[f->axis[DOWN]], site->t) < rows))
			continue;
		if (about(dim[f->axis[ACROSS]], site->t) < width ||
		    rows * width * f->taps[DOWN] * f->taps[ACROSS] > MOST_UNROLLED ||
		    registers_of(f, rows, width) > MOST_REGISTERS)
			continue;
		out[n++] = (struct sched_choice){ &sched_sweep, { rows, width } };
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
	const struct sched_target *t = site->t;
	const struct sweep *f = site->found;
	const struct ir_stage *s = site->s;
	int rows = c->param[0], width = c->param[1], each = rows * width;
	double outs = (double)about(out_count(f->p, s), t), size = type_info(s->out->type)->bits / 8.0;
	double points = (double)(f->taps[DOWN] * f->taps[ACROSS]), threads = outs / each;
	expr across = s->out->dim[f->axis[ACROSS]];
	threads *= again(across, width, t) * (rows > 1 ? again(s->out->dim[f->axis[DOWN]], rows, t) : 1);
	double places = (double)(covered(f, DOWN, rows) * covered(f, ACROSS, width) * f->movings);
	double work = OF_PLACE * places + OF_COMBINATION * points * each + OF_TAP * points * f->stills + OF_THREAD +
	              OF_ELEMENT * each;
	double issue = threads * work / cost_mixed_rate(t);
	/* Each access of a warp takes the first cache a clock for each of its lines. */
	double bytes = widest_load(f->moving[0]) / 8.0 * (double)f->step[ACROSS];
	double lines = fmax(1, width * bytes * 32 / LINE), clocks = threads / 32 * places * lines;
	double cache = clocks / (t->processors * t->clock_ghz), busy = fmax(issue, cache);
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
	double time = waits * (longer + 0.15 * shorter), lines_ns = 200.0 * (double)covered(f, DOWN, rows);
	return t->launch_ns + cost_of_threads(t, time, fill, work, lines_ns);
}

/* ---- The kernel. */

struct emitter {
	struct ir_program *p;
	const struct sweep *f;
	int rows, width;
	expr first[IR_MAX_RANK]; /* axes of the thread's first element */
	const struct ir_variable *window[MOST_PARTS], *taps[MOST_PARTS], *parts;
};

static expr number(const struct emitter *m, int64_t x)
{
	return ir_index(m->p->pool, x);
}

/* The axes at a point: of the element `row`, `item` of the thread, and of the window. */
static void axes_at(const struct emitter *m, expr row, expr item, expr down, expr across, expr *axis)
{
	const struct sweep *f = m->f;
	for (int k = 0; k < f->s->out->rank; k++)
		axis[k] = m->first[k];
	axis[f->axis[ACROSS]] = ir_binary(IR_ADD, axis[f->axis[ACROSS]], item);
	if (f->axis[DOWN] >= 0)
		axis[f->axis[DOWN]] = ir_binary(IR_ADD, axis[f->axis[DOWN]], row);
	for (int k = 0; k < f->s->space_rank; k++)
		axis[f->s->out->rank + k] = number(m, 0);
	if (f->reduced[DOWN] >= 0)
		axis[f->reduced[DOWN]] = down;
	axis[f->reduced[ACROSS]] = across;
}

static const char *name_of(const struct emitter *m, expr part, const char *what)
{
	while (part->op != IR_LOAD) {
		int i = 0;
		while (!ir_uses(part->arg[i], IR_LOAD))
			i++;
		part = part->arg[i];
	}
	return arena_printf(m->p->arena, "%s_%s", part->buf->name, what);
}

/* Reads the weights. */
static void emit_taps(struct emitter *m, struct ir_block *b)
{
	const struct sweep *f = m->f;
	expr axis[2 * IR_MAX_RANK], down, across, none = number(m, 0);
	struct axes here = { .value = axis };
	for (int i = 0; i < f->stills; i++) {
		struct ir_variable *v =
		        ir_variable_new(m->p->pool, f->still[i]->type, "%s", name_of(m, f->still[i], "taps"));
		emit_array_of_rows(m->p, b, v, (int)f->taps[DOWN], (int)f->taps[ACROSS]);
		m->taps[i] = v;
	}
	if (!f->stills)
		return;
	b = emit_turns(m->p, b, "down", f->taps[DOWN], &down);
	b = emit_turns(m->p, b, "across", f->taps[ACROSS], &across);
	axes_at(m, none, none, down, across, axis);
	for (int i = 0; i < f->stills; i++)
		emit_set_in_row(m->p, b, m->taps[i], down, across, to_kernel(m->p, f->still[i], &here));
}

/* Reads what the thread's windows share of a line. */
static void emit_window(struct emitter *m, struct ir_block *b, expr line)
{
	const struct sweep *f = m->f;
	int places = (int)covered(f, ACROSS, m->width);
	expr axis[2 * IR_MAX_RANK], place, none = number(m, 0);
	struct axes here = { .value = axis };
	for (int i = 0; i < f->movings; i++) {
		struct ir_variable *v =
		        ir_variable_new(m->p->pool, f->moving[i]->type, "%s", name_of(m, f->moving[i], "line"));
		emit_array(m->p, b, v, places);
		m->window[i] = v;
	}
	b = emit_turns(m->p, b, "place", places, &place);
	axes_at(m, none, none, line, place, axis);
	for (int i = 0; i < f->movings; i++)
		emit_set(m->p, b, m->window[i], place, to_kernel(m->p, f->moving[i], &here));
}

/* Adds the line to the windows of one row, of which it is line `down`. */
static void emit_row(struct emitter *m, struct ir_block *b, expr row, expr down)
{
	const struct sweep *f = m->f;
	expr axis[2 * IR_MAX_RANK], across, item, what[2 * MOST_PARTS], with[2 * MOST_PARTS];
	struct axes here = { .value = axis };
	b = emit_turns(m->p, b, "across", f->taps[ACROSS], &across);
	b = emit_turns(m->p, b, "item", m->width, &item);
	axes_at(m, row, item, down, across, axis);
	for (int i = 0; i < f->movings; i++) {
		expr place = ir_binary(IR_ADD, ir_binary(IR_MUL, item, number(m, f->step[ACROSS])), across);
		what[i] = f->moving[i];
		with[i] = item_of(m->window[i], place);
	}
	for (int i = 0; i < f->stills; i++) {
		what[f->movings + i] = f->still[i];
		with[f->movings + i] = item_of_row(m->taps[i], down, across);
	}
	struct substitution held = { what, with, f->movings + f->stills };
	expr value = to_kernel(m->p, substitute(&held, f->s->value), &here), part = item_of_row(m->parts, row, item);
	emit_set_in_row(m->p, b, m->parts, row, item, ir_combine_expr(f->s->combine, part, value));
}

static void emit_lines(struct emitter *m, struct ir_block *b)
{
	const struct sweep *f = m->f;
	expr line, row, step = number(m, f->axis[DOWN] < 0 ? 0 : f->step[DOWN]), taps = number(m, f->taps[DOWN]);
	b = emit_turns(m->p, b, "line", covered(f, DOWN, m->rows), &line);
	emit_window(m, b, line);
	b = emit_turns(m->p, b, "row", m->rows, &row);
	if (m->rows == 1) {
		emit_row(m, b, row, line);
		return;
	}
	expr begin = ir_binary(IR_MUL, row, step), end = ir_binary(IR_ADD, begin, taps);
	b = emit_if(m->p, b, ir_binary(IR_AND, ir_binary(IR_LE, begin, line), ir_binary(IR_LT, line, end)));
	emit_row(m, b, row, emit_constant(m->p, b, "down", ir_binary(IR_SUB, line, begin), taps));
}

static void emit_results(struct emitter *m, struct ir_block *b, bool vectors)
{
	const struct ir_stage *s = m->f->s;
	struct ir_program *p = m->p;
	struct ir_variable *result = ir_variable_new(p->pool, s->out->type, "%s_v", s->out->name);
	expr axis[2 * IR_MAX_RANK], row, item, none = number(m, 0);
	b = emit_turns(m->p, b, "row", m->rows, &row);
	if (vectors)
		emit_array(p, b, result, m->width);
	struct ir_block *in = emit_turns(m->p, b, "item", m->width, &item);
	axes_at(m, row, item, none, none, axis);
	expr part = item_of_row(m->parts, row, item);
	struct axes post = { .value = axis, .acc = part };
	expr y = s->post ? to_kernel(p, s->post, &post) : ir_cast(part, s->out->type);
	if (!vectors) {
		emit_store(p, in, s->out, ir_flat(p->pool, s->out, axis), y);
		return;
	}
	emit_set(p, in, result, item, y);
	axes_at(m, row, none, none, none, axis);
	emit_store_vector(p, b, s->out, ir_flat(p->pool, s->out, axis), result, m->width);
}

/* `vectors`: rows of whole vectors. */
static void one_kernel(struct ir_plan *plan, struct ir_step *step, const struct sweep *f, const struct sched_choice *c,
                       const char *suffix, bool vectors)
{
	const struct ir_stage *s = f->s;
	struct ir_program *p = plan->program;
	struct emitter m = { .p = p, .f = f, .rows = c->param[0], .width = c->param[1] };
	struct ir_kernel *k = kernel_new(plan, s, suffix, c);
	expr dim[IR_MAX_RANK], count = ir_index(p->pool, 1), row, item;
	bool used[IR_MAX_RANK];
	for (int i = 0; i < s->out->rank; i++) {
		int several = i == f->axis[ACROSS] ? m.width : i == f->axis[DOWN] ? m.rows : 1;
		bool whole = vectors && i == f->axis[ACROSS];
		dim[i] = whole ? ir_binary(IR_FLOORDIV, s->out->dim[i], ir_index(p->pool, several))
		               : ceil_div(p, s->out->dim[i], several);
		count = ir_binary(IR_MUL, count, dim[i]);
		used[i] = true;
	}
	declare_axes(p, &k->body, declare_element(p, k, count, THREADS, 1), s->out->rank, dim, ir_axis_names[0], used,
	             m.first);
	expr across = s->out->dim[f->axis[ACROSS]], start = m.first[f->axis[ACROSS]];
	if (vectors)
		kernel_needs(k, whole_multiple(p, across, m.width));
	m.first[f->axis[ACROSS]] = vectors ? ir_binary(IR_MUL, start, ir_index(p->pool, m.width))
	                                   : first_within(p, k, across, m.width, start, "column");
	if (f->axis[DOWN] >= 0)
		m.first[f->axis[DOWN]] =
		        first_within(p, k, s->out->dim[f->axis[DOWN]], m.rows, m.first[f->axis[DOWN]], "first_row");
	emit_taps(&m, &k->body);
	struct ir_variable *parts = ir_variable_new(p->pool, s->value->type, "parts");
	emit_array_of_rows(p, &k->body, parts, m.rows, m.width);
	m.parts = parts;
	struct ir_block *b = emit_turns(m.p, &k->body, "row", m.rows, &row);
	b = emit_turns(m.p, b, "item", m.width, &item);
	emit_set_in_row(p, b, parts, row, item, ir_identity(p->pool, s->combine, s->value->type));
	emit_lines(&m, &k->body);
	emit_results(&m, &k->body, vectors && m.width > 1);
	kernel_finish(plan, step, k, s);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct sweep *f = site->found;
	struct ir_step *step = step_new(plan);
	struct sched_choice single = { c->rule, { 1, 1 } };
	one_kernel(plan, step, f, c, "", true);
	if (!step_fits_all(step) && c->param[1] > 1)
		one_kernel(plan, step, f, c, "_apart", false);
	if (!step_fits_all(step))
		one_kernel(plan, step, f, &single, "_any", true);
}

const struct sched_rule sched_sweep = {
	.name = "sweep",
	.version = 1,
	.param = { { "rows", 1, 8 }, { "width", 1, 8 } },
	.none = "the windows are small and their rows even, or those of neighbouring results do not fit into registers",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
