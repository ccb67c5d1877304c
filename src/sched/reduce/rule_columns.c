/* Rule reduce_columns: neighbouring threads make neighbouring elements of the result, so that loads are coalesced where
 * these are contiguous in the input, too. `parts` rows of `columns` such threads share the reduced axes. A thread makes
 * `width` neighbours from vectorised loads. It wins where the reduced axes are not the innermost. For few results
 * blocks are narrower and have more parts, as long as a row of them reads whole sectors of memory. */
#include <math.h>

#include "sched/reduce/steps.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <string.h>

#include "ir/axis_names.h"

enum { WARP = 32, WIDEST = 16 /* bytes */, MAX_WIDTH = 8, MAX_VECTORS = 4 };
enum { MOST_THREADS = 1024, ROW_BYTES = 64 /* of a block narrower than a warp, at least */ };

/* ---- Loads that are vectors when a thread makes `width` neighbouring columns: unconditional ones, along the last
 * axis. */

struct vectors {
	struct ir_program *p;
	const struct ir_stage *s;
	int width, inner, n;
	expr load[MAX_VECTORS], v; /* v: index of the column */
	struct ir_variable *sum;   /* of each column */
	bool fine;
};

static void find_vector(void *user, expr e)
{
	struct vectors *f = user;
	if (e->op != IR_LOAD)
		return;
	expr flat = ir_flat(f->p->pool, e->buf, e->arg), stride = ir_stride(flat, f->inner);
	if (stride && ir_is_int(stride, 0)) /* the same for all columns */
		return;
	bool narrow = type_info(e->type)->bits * f->width <= WIDEST * 8 && !type_is_packed(e->type);
	f->fine &= narrow && f->n < MAX_VECTORS && vector_along(f->p, e, f->inner, f->s->out->dim[f->inner], f->width);
	if (f->fine)
		f->load[f->n++] = e;
}

/* The axis of the columns. */
static int columns_axis(const struct ir_stage *s)
{
	return last_long_axis(s->out->dim, s->out->rank);
}

/* bool: rows of the result are whole vectors. */
static expr whole_vectors(struct ir_program *p, const struct ir_stage *s, int width)
{
	return whole_multiple(p, s->out->dim[columns_axis(s)], width);
}

/* Returns false if columns cannot be taken `width` at a time, whatever the extents. */
static bool find_vectors(struct vectors *f, struct ir_program *p, const struct ir_stage *s, int width)
{
	*f = (struct vectors){ .p = p, .s = s, .width = width, .inner = columns_axis(s), .fine = true };
	if (ir_combine_is_arg(s->combine) || ir_is_int(whole_vectors(p, s, width), 0) ||
	    type_info(s->out->type)->bits * width > WIDEST * 8 || type_is_packed(s->out->type))
		return false;
	ir_walk_unconditional(s->value, find_vector, f);
	return f->fine && f->n > 0;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_REDUCE && s->out->rank && s->space_rank)
		return s;
	*why = "the stage is not a reduction over some axes to others";
	return NULL;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	int64_t points = about(reduced_count(p, s), t);
	int bytes = type_info(s->value->type)->bits / 8, n = 0;
	struct vectors f;
	for (int width = 1; width <= MAX_WIDTH; width *= 2)
		for (int parts = 32; parts >= 4 && (width == 1 || find_vectors(&f, p, s, width)); parts /= 2)
			if ((parts == 4 || points >= 2 * parts) && WARP * parts * width * bytes <= TARGET_DECLARED_DATA)
				out[n++] = (struct sched_choice){ &sched_reduce_columns, { parts, width, WARP } };
	for (int width = 1; width <= MAX_WIDTH; width *= 2)
		for (int columns = WARP / 2; columns >= 4; columns /= 2) {
			int parts = MOST_THREADS / columns;
			if (!find_vectors(&f, p, s, width)) /* rows lie along the results */
				break;
			if (points >= 2 * parts && columns * width * widest_load(s->value) / 8 >= ROW_BYTES &&
			    about(out_count(p, s), t) < (int64_t)WARP * width * t->processors &&
			    MOST_THREADS * width * bytes <= TARGET_DECLARED_DATA)
				out[n++] = (struct sched_choice){ &sched_reduce_columns, { parts, width, columns } };
		}
	return n;
}

/* Reduces one element with `parts` threads of a block of that many columns, this one being `part`; serial twin (`part`
 * null): with one. */
static void one_column(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr element, expr part,
                       int parts, int columns)
{
	int rank = s->out->rank;
	bool used[2 * IR_MAX_RANK] = { false };
	expr axis[2 * IR_MAX_RANK] = { NULL }, points = reduced_count(p, s), count = out_count(p, s);
	expr inside = ir_binary(IR_LT, element, count), own = ir_var_of(element->var, count);
	struct accumulator a;
	axes_read(s, used);
	declare_axes(p, b, own, rank, s->out->dim, ir_axis_names[0], used, axis);
	a = accumulator_begin(p, b, s);
	struct ir_block *body = part ? emit_if(p, b, inside) : b;
	const char *name = s->space_rank == 1 ? ir_axis_names[1][0] : "point";
	struct steps_piece piece[STEPS_MOST_PIECES] = { { .body = NULL } };
	int64_t known;
	int pieces = 1;
	if (part && !(ir_combine_is_arg(s->combine) && ir_const_int(points, &known)))
		pieces = steps_pieces(piece, p, body, name, part, parts, points);
	else
		piece->body = emit_loop(p, body, name, part ? part : ir_index(p->pool, 0), points,
		                        ir_index(p->pool, part ? parts : 1), points, &piece->point);
	for (int i = 0; i < pieces; i++)
		steps_reduce(&a, &piece[i], points, axis, used);
	if (part) {
		struct ir_lanes *all = emit_lanes_combine(p, b, a.value->var, s->combine, parts);
		all->index = a.position ? a.position->var : NULL;
		all->columns = columns;
		b = emit_if(p, b, ir_binary(IR_AND, ir_binary(IR_EQ, part, ir_index(p->pool, 0)), inside));
	}
	emit_store(p, b, s->out, own, accumulator_result(&a, axis, ir_own_position(p->pool, s->out), own));
}

static struct ir_variable *column_vector(const struct vectors *f, int i)
{
	return ir_variable_of(f->p->pool, f->load[i]->type, f->load[i]->buf, IR_HOLDS_VECTOR, i + 2, "%s_v%d",
	                      f->load[i]->buf->name, i + 2);
}

static expr of_vector(void *user, expr e, expr flat)
{
	const struct vectors *f = user;
	(void)flat;
	for (int i = 0; i < f->n; i++)
		if (f->load[i] == e)
			return item_of(column_vector(f, i), f->v);
	return NULL;
}

/* Adds a piece's points to each of a thread's columns. */
static void add_columns(struct vectors *f, const struct steps_piece *in, const expr *out_axis, const bool *used,
                        expr points)
{
	struct ir_program *p = f->p;
	const struct ir_stage *s = f->s;
	struct ir_block *b = in->body;
	int rank = s->out->rank;
	expr axis[2 * IR_MAX_RANK], point = ir_var_of(in->point->var, points);
	memcpy(axis, out_axis, sizeof axis);
	if (s->space_rank == 1)
		axis[rank] = point;
	else
		declare_axes(p, b, point, s->space_rank, s->space, ir_axis_names[1], used + rank, axis + rank);
	struct axes start = { .value = axis };
	for (int i = 0; i < f->n; i++) {
		expr at = to_kernel(p, f->load[i], &start)->arg[0];
		emit_load_vector(p, b, f->load[i]->buf, at, column_vector(f, i), f->width);
	}
	struct ir_block *body = emit_unrolled(p, b, "v", f->width, &f->v);
	axis[f->inner] = ir_binary(IR_ADD, axis[f->inner], f->v);
	struct axes here = { .value = axis, .load = of_vector, .user = f };
	expr sum = item_of(f->sum, f->v), value = to_kernel(p, s->value, &here);
	if (!in->inside) {
		emit_set(p, body, f->sum, f->v, ir_combine_expr(s->combine, sum, value));
		return;
	}
	expr more = emit_variable(p, body, "more", sum);
	emit_assign(p, body, more, ir_combine_expr(s->combine, more, value));
	emit_set(p, body, f->sum, f->v, ir_select(in->inside, more, sum));
}

/* Reduces `width` columns from `element` on with `parts` threads, this one being `part`. */
static void several_columns(struct vectors *f, struct ir_block *b, expr element, expr part, int parts, int columns)
{
	struct ir_program *p = f->p;
	const struct ir_stage *s = f->s;
	int rank = s->out->rank, width = f->width;
	bool used[2 * IR_MAX_RANK] = { false };
	expr axis[2 * IR_MAX_RANK] = { NULL }, points = reduced_count(p, s), count = out_count(p, s), v;
	expr inside = ir_binary(IR_LT, element, count), own = ir_var_of(element->var, count);
	enum type t = s->value->type;
	axes_read(s, used);
	used[f->inner] = true;
	declare_axes(p, b, own, rank, s->out->dim, ir_axis_names[0], used, axis);
	f->sum = ir_variable_new(p->pool, t, "sum_v");
	emit_array(p, b, f->sum, width);
	struct ir_block *body = emit_unrolled(p, b, "v", width, &v);
	emit_set(p, body, f->sum, v, ir_identity(p->pool, s->combine, t));

	struct ir_block *pieces = emit_if(p, b, inside);
	struct steps_piece piece[STEPS_MOST_PIECES];
	int n = steps_pieces(piece, p, pieces, "point", part, parts, points);
	for (int i = 0; i < n; i++)
		add_columns(f, &piece[i], axis, used, points);
	struct ir_lanes *all = emit_lanes_combine(p, b, f->sum, s->combine, parts);
	all->items = width;
	all->columns = columns;
	b = emit_if(p, b, ir_binary(IR_AND, ir_binary(IR_EQ, part, ir_index(p->pool, 0)), inside));
	struct ir_variable *result = ir_variable_new(p->pool, s->out->type, "%s_v", s->out->name);
	emit_array(p, b, result, width);
	body = emit_unrolled(p, b, "v", width, &v);
	axis[f->inner] = ir_binary(IR_ADD, axis[f->inner], v);
	expr sum = item_of(f->sum, v);
	struct axes post = { .value = axis,
		             .same = ir_own_position(p->pool, s->out),
		             .same_as = ir_binary(IR_ADD, own, v),
		             .acc = sum };
	emit_set(p, body, result, v, s->post ? to_kernel(p, s->post, &post) : ir_cast(sum, s->out->type));
	emit_store_vector(p, b, s->out, own, result, width);
}

/* The kernel whose threads make several neighbouring columns from these vectors; null: one column. */
static void columns_kernel(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s,
                           const struct sched_choice *c, struct vectors *f)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	int parts = c->param[0], width = f ? f->width : 1, across = c->param[2];
	expr columns = ir_index(p->pool, across * width), lanes = ir_index(p->pool, across), count = out_count(p, s);
	k->threads = across * parts;
	k->blocks = ceil_div(p, count, across * width);
	expr block = ir_block(p->pool, k->blocks);
	expr thread = ir_thread(p->pool, ir_index(p->pool, k->threads));
	expr first = ir_binary(IR_MUL, block, columns);
	expr part = emit_constant(p, &k->body, "part", ir_binary(IR_FLOORDIV, thread, lanes), ir_index(p->pool, parts));
	expr lane = ir_binary(IR_MUL, ir_binary(IR_MOD, thread, lanes), ir_index(p->pool, width));
	expr element = emit_constant(p, &k->body, "element", ir_binary(IR_ADD, first, lane), NULL);
	if (f) {
		several_columns(f, &k->body, element, part, parts, across);
		kernel_needs(k, whole_vectors(p, s, width));
	} else {
		one_column(p, &k->body, s, element, part, parts, across);
	}

	/* The serial twin. */
	expr end = ir_binary(IR_MIN, count, ir_binary(IR_ADD, first, columns)), own;
	struct ir_block *b = emit_loop(p, &k->serial, "element", first, end, ir_index(p->pool, 1), count, &own);
	one_column(p, b, s, own, NULL, 1, 1);
	kernel_finish(plan, step, k, s);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_step *step = step_new(plan);
	struct vectors f;
	if (c->param[1] > 1 && find_vectors(&f, plan->program, site->s, c->param[1]))
		columns_kernel(plan, step, site->s, c, &f);
	if (!step_fits_all(step))
		columns_kernel(plan, step, site->s, c, NULL);
}

/* The time of sums of products, of which a vector of `columns` shares a factor, beside that of single columns; with few
 * parts, few threads remain. As measured on an H200. */
static double time_of_shared(double columns, double parts)
{
	if (columns < 2)
		return 1;
	return columns < 4 || parts < 8 ? 0.92 : 0.85;
}

/* Bytes of the buffers of which neighbouring results read different elements. */
struct columns_read {
	const struct sched_site *site;
	double bytes;
};

static void add_columns_read(void *user, expr e)
{
	struct columns_read *r = user;
	struct ir_program *p = r->site->p;
	if (e->op != IR_LOAD || r->site->s->out->rank == 0)
		return;
	expr stride = ir_stride(ir_flat(p->pool, e->buf, e->arg), columns_axis(r->site->s));
	if (!stride || !ir_is_int(stride, 0))
		r->bytes += (double)about(ir_buffer_count(p, e->buf), r->site->t) * type_info(e->type)->bits / 8;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	enum { PRODUCTS_NS = 800, ROUND_NS = 400, OF_ELEMENT = 12, EXCHANGE_NS = 200, OF_PART = 4 };
	enum { ARG_NS = 750, OF_ARG = 22, OF_EXCHANGED = 20 };
	const double OF_ARG_PART = 1.3;
	struct cost_way w = cost_way(site);
	double outs = w.threads, parts = c->param[0];
	double in_column = (double)about(space_count(site->p, site->s), site->t) / (outs > 0 ? outs : 1);
	bool fits = c->param[1] > 1 && about_holds(whole_vectors(site->p, site->s, c->param[1]), site->t);
	w.columns = fits ? c->param[1] : 1;
	w.threads = outs * (in_column < parts ? in_column : parts) / w.columns;
	w.work = cost_work(site);
	/* Measured on H200s: a sum of products waits for two loads; otherwise each of a vector's elements takes time.
	 */
	double mine = fmax(1, in_column / parts), rounds = steps_rounds(reduced_count(site->p, site->s), mine);
	w.serial = cost_is_product(site)
	                   ? rounds * PRODUCTS_NS
	                   : rounds * ROUND_NS + mine * (w.columns - 1) * OF_ELEMENT + EXCHANGE_NS + parts * OF_PART;
	w.overhead = outs * parts * 12 / (cost_mixed_rate(site->t) / 3);
	w.blocks = outs / (c->param[2] * w.columns);
	if (ir_combine_is_arg(site->s->combine) && w.blocks < site->t->processors) /* comparisons follow each other */
		w.serial = ARG_NS + mine * fmax(OF_ARG, parts * OF_ARG_PART) + parts * OF_EXCHANGED;
	/* Only blocks of whole warps are measured; so narrower ones must be clearly faster. */
	double narrow = c->param[2] < WARP ? 1.1 : 1;
	const double TIE = 0.01; /* orders choices that the L2 cache limits */
	double time = cost_of_way(site, &w) * narrow * (cost_is_product(site) ? time_of_shared(w.columns, parts) : 1);
	/* Each row of a product's results reads the other factor again, from the L2 cache if a multiprocessor's own
	 * does not hold it: 8x3831 by 3831x2889 f32 takes 64 us on an H200. */
	struct columns_read read = { .site = site };
	ir_walk(site->s->value, add_columns_read, &read);
	if (read.bytes <= site->t->shared)
		return time;
	double again = outs * in_column * widest_load(site->s->value) / 8 / site->t->l2_bytes_per_ns;
	return fmax(time, site->t->launch_ns + again + TIE * time);
}

const struct sched_rule sched_reduce_columns = {
	.name = "reduce_columns",
	.version = 2,
	.about = "Neighbouring threads reduce neighbouring elements, so that loads are coalesced. A block "
	         "has {parts} rows of {columns} such threads, which share the reduced axes.",
	.param = { { "parts", 4, 256 }, { "width", 1, 8 }, { "columns", 4, 32 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
