/* Rule march: a map whose output row alone decides the input rows to read, with several output rows per input row, as
 * in upscaling. A thread computes `width` neighbouring elements of `rows` rows in sequence, and keeps the values
 * computed from an input row in registers while its output rows need them. It wins if these values cost several
 * operations each, as in linear and cubic resizing. */
#include "sched/map/march.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/stored.h"
#include "sched/build/vectors.h"

#include <math.h>
#include <string.h>

#include "ir/axis_names.h"

enum { THREADS = 256 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct march m;
	if (march_find(&m, p, s))
		return FOUND(p, m);
	*why = "the stage is not a map whose neighbouring rows read the same places";
	return NULL;
}

static bool width_fits(const struct march *m, int width)
{
	return width == 1 ||
	       (type_info(m->s->out->type)->bits * width <= 128 && divides(m->s->out->dim[m->inner], width));
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	int n = 0;
	struct march m = *(const struct march *)site->found;
	int64_t extent = about(s->out->dim[m.axis], site->t);
	for (int width = MARCH_WIDTH; width >= 1; width /= 2)
		for (int rows = MARCH_ROWS; rows >= 4; rows /= 2)
			if (width_fits(&m, width) && rows < 2 * extent)
				out[n++] = (struct sched_choice){ &sched_march, { rows, width } };
	if (!n)
		out[n++] = (struct sched_choice){ &sched_march, { 4, 1 } };
	return n;
}

/* Counts each buffer once, however many loads read it. */
struct buffers_read {
	int n;
	const struct ir_buffer *buf[2 * MARCH_KEPT];
};

static void note_buffer(void *user, expr e)
{
	struct buffers_read *r = user;
	if (e->op != IR_LOAD || r->n == 2 * MARCH_KEPT)
		return;
	for (int i = 0; i < r->n; i++)
		if (r->buf[i] == e->buf)
			return;
	r->buf[r->n++] = e->buf;
}

/* Operations per kept element; neighbours share their common subexpressions. */
static double kept_cost(const struct march *m, int width)
{
	struct ir_pool *pool = m->p->pool;
	expr extent = m->s->out->dim[m->inner], axis = ir_axis(pool, m->inner, extent), all = NULL;
	expr first = ir_binary(IR_FLOORDIV, extent, ir_index(pool, width));
	first = ir_binary(IR_MUL, ir_axis(pool, m->inner, first), ir_index(pool, width));
	for (int i = 0; i < m->n; i++)
		for (int v = 0; v < width; v++) {
			expr at = ir_binary(IR_ADD, first, ir_index(pool, v));
			expr one = ir_cast(substitute(&(struct substitution){ &axis, &at, 1 }, m->kept[i]), TYPE_F64);
			all = all ? ir_binary(IR_ADD, all, one) : one;
		}
	return ((double)ir_cost(all) - 2.0 * m->n * width) / width;
}

/* Elements along the axis for each position. */
static double elements_each(const struct march *m, const struct sched_target *t)
{
	enum { MOST = 64 };
	double to = (double)about(m->s->out->dim[m->axis], t), least = MOST;
	for (int i = 0; i < m->n; i++)
		least = fmin(least, to / (double)about(m->extent[i], t));
	return fmax(least, 1.0 / MOST);
}

/* Time with constant positions. Measured on an H100 with 4, 8 and 16 rows of 4 and 8 elements: linear, trilinear and
 * cubic resizes by 2, 4 and 16, of f16 and f32. Longer strips take longer, and so do stores of less than 16 bytes. */
static double fixed_time(double work, double bytes, int rows, double stored)
{
	const double norm = 5;
	return pow(pow(work, norm) + pow(bytes, norm), 1 / norm) * (1 + 0.013 * rows) * (stored < 16 ? 1.04 : 1);
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	struct march m = *(const struct march *)site->found;
	double rows = c->param[0], width = c->param[1], size = type_info(s->out->type)->bits / 8.0;
	double points = (double)about(out_count(m.p, s), t), threads = points / (rows * width), kept;
	double moved = points * size;
	struct buffers_read read = { 0 };
	ir_walk(s->value, note_buffer, &read);
	for (int i = 0; i < read.n; i++)
		moved += (double)about(ir_buffer_count(m.p, read.buf[i]), t) * type_info(read.buf[i]->type)->bits / 8.0;
	double bytes = moved / t->bytes_per_ns, rate = cost_steady_rate(t), fill = threads * 2 / cost_full_threads(t);
	double of_thread;
	fill = fill < 1 ? fill : 1;
	if (march_is_fixed(&m, c->param[0], c->param[1], &of_thread))
		return t->launch_ns + fixed_time(threads * of_thread / rate, bytes, c->param[0], width * size) / fill;
	kept = kept_cost(&m, c->param[1]);
	/* The values of an input row are computed once per run of output rows, and once more where a thread begins. The
	 * other terms are fitted to an H100, with 4, 8 and 16 rows of 1 to 8 elements. */
	double each = 5 + 40 / width + 2 * kept / m.n * (1 / elements_each(&m, t) + m.n / rows) + 60 / (rows * width);
	double work = points * each / rate, time = work > bytes ? work : bytes;
	/* Also measured: longer strips take longer, by 4 to 7 % from 4 to 8 rows and by 7 to 10 % from 8 to 16. */
	return t->launch_ns + (time + 0.1 * (work + bytes - time)) * (1 + 0.016 * rows) / fill;
}

/* ---- The kernel, with positions in the space of the threads' strips. */

/* An array kept[width] of the values of one position, and that position. */
struct slot {
	struct ir_variable *array;
	expr at; /* a variable */
};

/* Moves slot `which` to this row's position: copies the next slot if that has it, else loads. */
static void fill_slot(const struct march *m, struct ir_block *b, const struct slot *slot, int which, const expr *axis,
                      int width)
{
	struct ir_program *p = m->p;
	struct axes here = { .value = axis };
	expr v, lane[IR_MAX_RANK], at = slot[which].at;
	const char *name = arena_printf(p->arena, "place_%d", which);
	int next = which + 1 < m->n && m->of_place[which + 1] == m->of_place[which] ? which + 1 : -1;
	expr place = emit_constant(p, b, name, to_kernel(p, m->place[which], &here), m->extent[which]);
	b = emit_if(p, b, ir_unary(IR_NOT, ir_binary(IR_EQ, at, place)));
	emit_assign(p, b, at, place);
	struct ir_block *read = b;
	if (next >= 0) {
		expr same = ir_binary(IR_EQ, slot[next].at, place);
		struct ir_block *move = emit_if(p, b, same);
		struct ir_block *items = emit_unrolled(p, move, "v", width, &v);
		emit_set(p, items, slot[which].array, v, item_of(slot[next].array, v));
		read = emit_if(p, b, ir_unary(IR_NOT, same));
	}
	struct ir_block *items = emit_unrolled(p, read, "v", width, &v);
	memcpy(lane, axis, sizeof lane);
	lane[m->inner] = ir_binary(IR_ADD, axis[m->inner], v);
	struct substitution s = { &m->place[which], &place, 1 };
	here.value = lane;
	emit_set(p, items, slot[which].array, v, to_kernel(p, substitute(&s, m->kept[which]), &here));
}

/* Loops over the rows, if it is known at run time only which of them share a position. */
static void emit_moving(const struct march *m, struct ir_block *b, expr *axis, int rows, int width)
{
	struct ir_program *p = m->p;
	struct slot slot[MARCH_KEPT];
	struct ir_variable *kept[MARCH_KEPT];
	expr v, extent = m->s->out->dim[m->axis];
	for (int i = 0; i < m->n; i++) {
		kept[i] = slot[i].array = ir_variable_new(p->pool, m->kept[i]->type, "kept_%d", i);
		emit_array(p, b, slot[i].array, width);
		struct ir_block *items = emit_unrolled(p, b, "v", width, &v);
		emit_set(p, items, slot[i].array, v, ir_const(p->pool, m->kept[i]->type, 0));
		slot[i].at = emit_variable(p, b, arena_printf(p->arena, "at_%d", i), ir_index(p->pool, -1));
	}
	expr first = emit_declare(p, b, "first", axis[m->axis], extent);
	expr end = ir_binary(IR_MIN, extent, ir_binary(IR_ADD, first, ir_index(p->pool, rows)));
	b = emit_loop(p, b, "row", first, end, ir_index(p->pool, 1), extent, &axis[m->axis]);
	for (int i = 0; i < m->n; i++)
		fill_slot(m, b, slot, i, axis, width);
	march_store_row(m, b, kept, axis, width);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct march m = *(const struct march *)site->found;
	int rows = c->param[0], width = c->param[1], rank = s->out->rank;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	m.past_caches = stored_past_caches(p, s, site->t);
	expr dim[IR_MAX_RANK], axis[IR_MAX_RANK], count = ir_index(p->pool, 1);
	bool used[IR_MAX_RANK];
	for (int i = 0; i < rank; i++) {
		dim[i] = i == m.axis    ? ceil_div(p, s->out->dim[i], rows)
		         : i == m.inner ? ir_binary(IR_FLOORDIV, s->out->dim[i], ir_index(p->pool, width))
		                        : s->out->dim[i];
		count = ir_binary(IR_MUL, count, dim[i]);
		used[i] = true;
	}
	expr element = declare_element(p, k, count, THREADS, 1);
	declare_axes(p, &k->body, element, rank, dim, ir_axis_names[0], used, axis);
	axis[m.inner] = ir_binary(IR_MUL, axis[m.inner], ir_index(p->pool, width));
	axis[m.axis] = ir_binary(IR_MUL, axis[m.axis], ir_index(p->pool, rows));
	if (march_is_fixed(&m, rows, width, NULL))
		march_fixed_emit(&m, &k->body, axis, rows, width);
	else
		emit_moving(&m, &k->body, axis, rows, width);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_march = {
	.name = "march",
	.version = 2,
	.about = "A thread computes {width element} in each of {rows} rows, one row after the other. It "
	         "keeps the values of an input row in registers while its output rows need them.",
	.param = { { "rows", 4, 16 }, { "width", 1, 8 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
