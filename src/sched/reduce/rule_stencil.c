/* Rule stencil: a reduction over a small window that moves with the result's last axes, like pooling and depthwise
 * convolution. Or a small reduction whose loads are contiguous along the result's last axis, of elements of at most two
 * bytes. One thread makes `rows` x `width` neighbouring elements: it reads what overlapping windows share once into
 * registers, with one bounds check. Neighbours in a row are stored as a vector. If `rows` does not divide the axis, the
 * last threads begin earlier and make some elements again; if `width` may not divide the rows, a kernel with rows of
 * one element follows. */
#include "sched/build/window_reads.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>
#include <stdlib.h>

#include "ir/axis_names.h"

enum {
	THREADS = 256,
	MOST_POINTS = 64,
	MOST_UNROLLED = 160,
	MOST_COST = 64, /* instructions of a point */
	FARTHEST = 4    /* elements between neighbouring reads */
};

struct stencil {
	struct ir_program *p;
	const struct ir_stage *s;
	int inner, outer; /* axes: the last one, and the one before it; -1: none */
	int64_t points;   /* points of the window */
	bool near;        /* loads of neighbouring elements are close together */
	bool moves;       /* the window moves with the result's axes */
	bool along;       /* every load that depends on the last axis is contiguous along it */
	expr row;         /* extent of the tensors' last axes that is not a constant; null: none, or several */
	bool mixed;       /* several */
	int loads;
	struct ir_variable *parts;            /* accumulators of a thread's elements */
	double apart_in_row, apart_in_column; /* distance between windows as a fraction of their extent, at most 1 */
};

/* The fraction of a window's extent along a reduced axis that two neighbours along an output axis do not share. 0: both
 * read the same; 1: windows do not overlap, or none moves with the axis. */
static double apart(struct stencil *f, expr flat, int axis, int reduced)
{
	int64_t step, extent;
	expr stride = axis >= 0 ? ir_stride(flat, axis) : NULL, inside = NULL;
	if (reduced >= 0)
		inside = ir_stride(flat, f->s->out->rank + reduced);
	if (stride && ir_is_int(stride, 0))
		return 0;
	if (!stride || !inside || ir_is_int(inside, 0) || !ir_nonnegative(inside) ||
	    !ir_is_int(ir_binary(IR_MOD, stride, inside), 0) ||
	    !ir_const_int(ir_binary(IR_FLOORDIV, stride, inside), &step) || step < 0 ||
	    !ir_const_int(f->s->space[reduced], &extent) || step > extent)
		return 1;
	f->moves = true;
	return (double)step / (double)extent;
}

static void look_at_load(void *user, expr e)
{
	struct stencil *f = user;
	int64_t step, known;
	int last = f->s->space_rank - 1;
	if (e->op != IR_LOAD)
		return;
	expr flat = ir_flat(f->p->pool, e->buf, e->arg), stride = ir_stride(flat, f->inner);
	if (!stride || !ir_const_int(stride, &step) || llabs(step) > FARTHEST) {
		f->near = false;
		return;
	}
	expr row = e->buf->rank ? e->buf->dim[e->buf->rank - 1] : NULL;
	if (row && !ir_const_int(row, &known)) {
		f->mixed |= f->row && f->row != row;
		f->row = row;
	}
	f->loads++;
	f->along &= step == 0 || step == 1;
	f->apart_in_row = fmax(f->apart_in_row, apart(f, flat, f->inner, last));
	f->apart_in_column = fmax(f->apart_in_column, apart(f, flat, f->outer, last - 1));
}

static bool find(struct stencil *f, struct ir_program *p, const struct ir_stage *s)
{
	*f = (struct stencil){ .p = p, .s = s, .inner = -1, .outer = -1, .points = 1, .near = true, .along = true };
	if (s->kind != IR_REDUCE || ir_combine_is_arg(s->combine) || type_is_packed(s->out->type))
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1)) {
			f->outer = f->inner;
			f->inner = k;
		}
	for (int k = 0; k < s->space_rank; k++) {
		int64_t extent;
		if (!ir_const_int(s->space[k], &extent) || extent < 1 || extent > MOST_POINTS)
			return false;
		f->points *= extent;
		if (f->points > MOST_POINTS)
			return false;
	}
	if (f->inner < 0 || f->points < 2)
		return false;
	ir_walk(s->value, look_at_load, f);
	f->row = f->mixed ? NULL : f->row;
	return f->near && (f->moves || (f->along && f->loads == 1 && type_info(s->out->type)->bits <= 16));
}

/* The elements of a row that a thread makes: `width`, or 1 if the rows, as far as is known, are no multiple of it. */
static int width_at(const struct stencil *f, int width, const struct sched_target *t)
{
	return about(f->s->out->dim[f->inner], t) % width ? 1 : width;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	static const int shape[][2] = { { 4, 2 }, { 4, 1 }, { 2, 2 }, { 2, 1 }, { 1, 4 }, { 2, 4 }, { 4, 4 },
		                        { 1, 8 }, { 2, 8 }, { 1, 2 }, { 7, 1 }, { 5, 1 }, { 3, 1 } };
	int n = 0;
	struct stencil f = *(const struct stencil *)site->found;
	if (ir_cost(s->value) > MOST_COST) /* it is written out for each point */
		return 0;
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		int rows = shape[i][0], width = shape[i][1];
		if (!f.moves && (rows > 1 || width == 1))
			continue; /* only vectorised loads would gain */
		bool fits = rows == 1 || (f.outer >= 0 && about(s->out->dim[f.outer], site->t) >= rows);
		if (fits && width_at(&f, width, site->t) == width && rows * width * f.points <= MOST_UNROLLED)
			out[n++] = (struct sched_choice){ &sched_stencil, { rows, width } };
	}
	return n;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct stencil f;
	if (find(&f, p, s))
		return FOUND(p, f);
	*why = "the stage is not a reduction over a small window that moves with the result's last axes";
	return NULL;
}

/* ---- Time: bytes moved once, or the work; the windows' common part is done once. */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	/* Instructions: per point read, per point combined, per position's axes. Measured on an H100: 12 to 13 per
	 * point of 3x3 windows with one element per thread. */
	enum { OF_POINT = 9, OF_ELEMENT = 3, OF_POSITION = 30 };
	struct stencil f = *(const struct stencil *)site->found;
	int rows = c->param[0], width = width_at(&f, c->param[1], t), each = rows * width;
	double outs = (double)about(out_count(f.p, s), t), size = type_info(s->out->type)->bits / 8.0;
	if (rows > 1) { /* made twice in the last rows */
		double column = (double)about(s->out->dim[f.outer], t);
		outs *= column < rows ? 1 : ceil(column / rows) * rows / column;
	}
	double row = (1 + (width - 1) * f.apart_in_row) / width, column = (1 + (rows - 1) * f.apart_in_column) / rows;
	if (!f.moves)
		row = 2.0 / width; /* a vector and its neighbours */
	double point = OF_ELEMENT + OF_POINT * row * column, element = OF_POSITION / (double)each;
	double work = outs * (point * (double)f.points + element) / cost_mixed_rate(t);
	double bytes = (outs * size + about_bytes_read(f.p, s->value, t)) / t->bytes_per_ns,
	       time = work > bytes ? work : bytes;
	double fill = outs / each * (each > 4 ? 4 : each) / (2 * cost_full_threads(t));
	/* Stores of less than four bytes per thread need more instructions for the same bytes. */
	double narrow = width * size < 4 ? 1.05 : 1;
	if (f.along && size < 4 && width * size < 16) /* vectors of 8 bytes */
		narrow *= 1.08;
	/* Also measured: large stores per thread take longer, as fewer threads run. */
	time = (time + 0.15 * (work + bytes - time)) * narrow * (1 + 0.002 * each * size);
	/* Measured on an H200, on the scale of the other rules' estimates. */
	double scale = size < 4 ? 0.45 : 0.6;
	return t->launch_ns + scale * cost_of_threads(t, time, fill, each * (point * (double)f.points + element), 500);
}

/* ---- The kernel: positions count the threads' blocks of elements, and all points are unrolled, so that elements with
 * a common load share one expression. */

/* One of this thread's elements: its axes, its accumulator. */
struct element {
	expr axis[2 * IR_MAX_RANK], part, at;
};

/* `first`: the axes of the thread's first element. */
static struct element element_of(const struct stencil *f, const struct sched_choice *c, const expr *first, int row,
                                 int item)
{
	struct ir_program *p = f->p;
	struct element x = { .at = ir_index(p->pool, row * c->param[1] + item) };
	for (int i = 0; i < f->s->out->rank; i++)
		x.axis[i] = ir_binary(IR_ADD, first[i],
		                      ir_index(p->pool, i == f->inner   ? item
		                                        : i == f->outer ? row
		                                                        : 0));
	x.part = item_of(f->parts, x.at);
	return x;
}

/* The value of an element at a point of the window. */
static expr value_at_point(struct stencil *f, struct element *x, int64_t point)
{
	const struct ir_stage *s = f->s;
	struct axes in = { .value = x->axis };
	reduced_point(f->p, s, point, x->axis + s->out->rank);
	return to_kernel(f->p, s->value, &in);
}

/* All points of the window for all elements of the thread: first their loads are collected, then they are combined. */
static void all_points(struct stencil *f, const struct sched_choice *c, struct ir_block *b, const expr *first)
{
	struct window_reads reads = { .p = f->p, .symbol = f->row, .multiple = c->param[1] };
	for (int find = 1; find >= 0; find--)
		for (int64_t point = 0; point < f->points; point++)
			for (int row = 0; row < c->param[0]; row++)
				for (int item = 0; item < c->param[1]; item++) {
					struct element x = element_of(f, c, first, row, item);
					expr value = value_at_point(f, &x, point);
					if (find) {
						window_reads_find(&reads, value);
						continue;
					}
					value = window_reads_emit(&reads, b, value);
					emit_set(f->p, b, f->parts, x.at,
					         ir_combine_expr(f->s->combine, x.part, value));
				}
}

static void store_row(struct stencil *f, const struct sched_choice *c, struct ir_block *b, const expr *first, int row)
{
	const struct ir_stage *s = f->s;
	struct ir_program *p = f->p;
	int width = c->param[1];
	struct ir_variable *result = ir_variable_new(p->pool, s->out->type, "%s_v%d", s->out->name, row);
	expr start = ir_index(p->pool, 0);
	if (width > 1)
		emit_array(p, b, result, width);
	for (int item = 0; item < width; item++) {
		struct element x = element_of(f, c, first, row, item);
		struct axes post = { .value = x.axis, .acc = x.part };
		expr y = s->post ? to_kernel(p, s->post, &post) : ir_cast(x.part, s->out->type);
		for (int i = 0; item == 0 && i < s->out->rank; i++)
			start = ir_binary(IR_ADD, ir_binary(IR_MUL, start, s->out->dim[i]), x.axis[i]);
		if (width > 1)
			emit_set(p, b, result, ir_index(p->pool, item), y);
		else
			emit_store(p, b, s->out, start, y);
	}
	if (width > 1)
		emit_store_vector(p, b, s->out, start, result, width);
}

/* The kernel for extents that its shape fits: whole vectors in the rows of the result and of the tensors, and at least
 * `rows` rows. */
static void one_kernel(struct ir_plan *plan, struct ir_step *step, struct stencil *f, const struct sched_choice *c,
                       const char *suffix)
{
	const struct ir_stage *s = f->s;
	struct ir_program *p = plan->program;
	int rows = c->param[0], width = c->param[1], rank = s->out->rank;
	struct ir_kernel *k = kernel_new(plan, s, suffix, c);
	expr dim[IR_MAX_RANK], first[IR_MAX_RANK], count = ir_index(p->pool, 1), own;
	bool used[IR_MAX_RANK];
	for (int i = 0; i < rank; i++) {
		int several = i == f->inner ? width : i == f->outer ? rows : 1;
		dim[i] = i == f->outer ? ceil_div(p, s->out->dim[i], several)
		                       : ir_binary(IR_FLOORDIV, s->out->dim[i], ir_index(p->pool, several));
		count = ir_binary(IR_MUL, count, dim[i]);
		used[i] = true;
	}
	expr element = declare_element(p, k, count, THREADS, 1);
	declare_axes(p, &k->body, element, rank, dim, ir_axis_names[0], used, first);
	if (width > 1)
		first[f->inner] = ir_binary(IR_MUL, first[f->inner], ir_index(p->pool, width));
	if (rows > 1)
		first[f->outer] = first_within(p, k, s->out->dim[f->outer], rows, first[f->outer], "row");
	kernel_needs(k, whole_multiple(p, s->out->dim[f->inner], width));
	if (f->row)
		kernel_needs(k, whole_multiple(p, f->row, width));
	f->parts = ir_variable_new(p->pool, s->value->type, "parts");
	emit_array(p, &k->body, f->parts, rows * width);
	struct ir_block *b = emit_unrolled(p, &k->body, "item", rows * width, &own);
	emit_set(p, b, f->parts, own, ir_identity(p->pool, s->combine, s->value->type));
	all_points(f, c, &k->body, first);
	for (int row = 0; row < rows; row++)
		store_row(f, c, &k->body, first, row);
	kernel_finish(plan, step, k, s);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct stencil f = *(const struct stencil *)site->found;
	struct ir_step *step = step_new(plan);
	enum { COLUMN = 4 };
	int rows = c->param[0] < COLUMN && c->param[0] > 1 && COLUMN * f.points <= MOST_UNROLLED ? COLUMN : c->param[0];
	struct sched_choice column = { c->rule, { rows, 1 } }, single = { c->rule, { 1, 1 } };
	one_kernel(plan, step, &f, c, "");
	if (!step_fits_all(step) && c->param[1] > 1 && c->param[0] > 1)
		one_kernel(plan, step, &f, &column, "_column");
	if (!step_fits_all(step))
		one_kernel(plan, step, &f, &single, "_any");
}

const struct sched_rule sched_stencil = {
	.name = "stencil",
	.version = 3,
	.about = "A thread computes {rows} x {width} neighbouring elements, and reads what their windows "
	         "share once.",
	.param = { { "rows", 1, 7 }, { "width", 1, 8 } },
	.none = "no shape of neighbouring results divides the extents",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
