/* Rule reduce_spread: reductions of the same points, and the maps that use their results at the same element, each map
 * element or a few next to each other along a last, short axis: the best score of a box, its class, and the box itself.
 * A thread computes the reductions of one element, keeps them, and computes the maps' elements with them. It wins where
 * elements are many and the reduced axes are not the innermost, as for reduce_thread. */
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/stored.h"
#include "sched/build/vectors.h"
#include "sched/build/window_reads.h"

#include <math.h>

#include "ir/axis_names.h"

enum { THREADS = 128, AT_ONCE = 16, MAX_STAGES = 8, MAX_WIDTH = 4, MOST_SPREAD = 16, MOST_STATEMENTS = 64 };
/* Blocks on a multiprocessor: with the registers of fewer threads more loads are under way. Measured on an H200 for 80
 * scores of f16: 18.6 us for planes of 77x83, 28.8 for 80x80; with as many blocks as fit 19.7 and 29.4. */
enum { RESIDENT = 8 };

struct spread {
	struct ir_program *p;
	int stages, reductions; /* reductions first, then maps */
	const struct ir_stage *stage[MAX_STAGES];
	int last[MAX_STAGES];     /* maps: the axis of neighbours that one element has; -1: none */
	int64_t each[MAX_STAGES]; /* their number; 1 for reductions */
};

static int reduction_of(const struct spread *f, const struct ir_buffer *b)
{
	for (int i = 0; i < f->reductions; i++)
		if (f->stage[i]->out == b)
			return i;
	return -1;
}

/* ---- Matching. */

struct look {
	const struct spread *f;
	expr element; /* the element whose results may be read, over the map's axes; null: none may */
	int results;
	bool fits;
};

static void look_at(void *user, expr e)
{
	struct look *l = user;
	if (e->op != IR_LOAD)
		return;
	bool own = reduction_of(l->f, e->buf) >= 0;
	for (int i = l->f->reductions; i < l->f->stages; i++)
		l->fits &= l->f->stage[i]->out != e->buf;
	l->results += own;
	l->fits &= !own ||
	           (l->element && ir_is_int(ir_binary(IR_SUB, ir_flat(l->f->p->pool, e->buf, e->arg), l->element), 0));
}

/* True for a sum of products of two different factors, for which other rules are faster. */
static bool is_product(const struct ir_stage *s)
{
	return ir_sums_products(s) && s->value->arg[0] != s->value->arg[1];
}

static bool add_reduction(struct spread *f, const struct ir_stage *s)
{
	struct look l = { .f = f, .fits = true };
	const struct ir_stage *first = f->stages ? f->stage[0] : s;
	if (s->kind != IR_REDUCE || type_is_packed(s->out->type) || f->stages > f->reductions ||
	    s->space_rank != first->space_rank || out_count(f->p, s) != out_count(f->p, first) || is_product(s) ||
	    !ir_read_in_common(s->value, first->value))
		return false;
	for (int k = 0; k < s->space_rank; k++)
		if (s->space[k] != first->space[k])
			return false;
	ir_walk(s->value, look_at, &l);
	if (s->post)
		ir_walk(s->post, look_at, &l);
	if (!l.fits)
		return false;
	f->last[f->stages] = -1;
	f->each[f->stages] = 1;
	f->stage[f->stages++] = s;
	f->reductions++;
	return true;
}

/* The position of a map's element among those of its axes before `last`. */
static expr element_of(struct spread *f, const struct ir_stage *s, int last)
{
	expr at = ir_index(f->p->pool, 0);
	for (int k = 0; k < s->out->rank; k++)
		if (k != last)
			at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, s->out->dim[k]),
			               ir_axis(f->p->pool, k, s->out->dim[k]));
	return at;
}

static bool add_map(struct spread *f, const struct ir_stage *s)
{
	int last = s->out->rank - 1;
	int64_t each = 1;
	if (s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	while (last >= 0 && ir_is_int(s->out->dim[last], 1))
		last--;
	expr count = out_count(f->p, f->stage[0]);
	if (out_count(f->p, s) == count)
		last = -1;
	else if (last < 0 || !ir_const_int(s->out->dim[last], &each) || each > MOST_SPREAD ||
	         out_count(f->p, s) != ir_binary(IR_MUL, count, s->out->dim[last]))
		return false;
	struct look l = { .f = f, .element = element_of(f, s, last), .fits = true };
	ir_walk(s->value, look_at, &l);
	if (!l.results || !l.fits)
		return false;
	f->last[f->stages] = last;
	f->each[f->stages] = each;
	f->stage[f->stages++] = s;
	return true;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct spread f = { .p = p };
	bool after = false, more = s->kind == IR_REDUCE && s->space_rank;
	vec_each (at, &p->stages) {
		after |= *at == s;
		if (after && more)
			more = f.stages < MAX_STAGES && (add_reduction(&f, *at) || (f.reductions && add_map(&f, *at)));
	}
	if (f.stages >= 2)
		return FOUND(p, f);
	*why = "the stage does not begin several reductions of the same points, or one with a map of its results after "
	       "it";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct spread *)site->found)->stages;
}

/* The axis along which the elements are neighbours. */
static int inner_axis(const struct spread *f, int stage)
{
	const struct ir_buffer *out = f->stage[stage]->out;
	int k = out->rank - 1;
	while (k > 0 && (k == f->last[stage] || ir_is_int(out->dim[k], 1)))
		k--;
	return k;
}

/* True if a thread can compute `width` neighbours: the stages' rows are whole vectors. */
static bool fits(const struct spread *f, int width)
{
	int64_t statements = 0;
	bool whole = true;
	for (int i = 0; i < f->stages; i++) {
		whole &= axis_divides(f->stage[i], inner_axis(f, i), width);
		statements += width * f->each[i];
	}
	return width == 1 || (whole && statements <= MOST_STATEMENTS);
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	int n = 0;
	for (int width = MAX_WIDTH; width >= 1; width /= 2)
		if (fits(site->found, width))
			out[n++] = (struct sched_choice){ &sched_reduce_spread, { width } };
	return n;
}

/* ---- Time: that of the reductions, each by a thread an element, with wider loads; and the bytes and work of the maps.
 */

struct buffers {
	const struct spread *f;
	const struct sched_target *t;
	double most, bytes; /* most: bytes of a buffer that one stage reads */
	const struct ir_buffer *seen[64];
	int n;
};

static void add_buffer(void *user, expr e)
{
	struct buffers *b = user;
	bool again = e->op != IR_LOAD || reduction_of(b->f, e->buf) >= 0;
	for (int i = 0; i < b->n; i++)
		again |= b->seen[i] == e->buf;
	if (again || b->n == (int)(sizeof b->seen / sizeof *b->seen))
		return;
	b->seen[b->n++] = e->buf;
	double size = type_info(e->type)->bits / 8.0;
	b->bytes += fmin(b->most, (double)about(ir_buffer_count(b->f->p, e->buf), b->t)) * size;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	enum { OF_STORE = 4 };
	const struct sched_target *t = site->t;
	const struct spread *f = site->found;
	double outs = (double)about(out_count(f->p, site->s), t), work = 0, bytes = 0, waits = 0;
	for (int i = 0; i < f->stages; i++) {
		const struct ir_stage *s = f->stage[i];
		struct sched_site own = { f->p, s, t, s };
		struct cost_way w = cost_way(&own);
		double each = outs * (double)f->each[i];
		struct buffers read = { .f = f, .t = t, .most = each };
		w.columns = c->param[0];
		if (i < f->reductions) {
			work += cost_work(&own);
			waits = fmax(waits, (double)about(reduced_count(f->p, s), t));
			bytes = fmax(bytes, cost_way_bytes(&own, &w));
			continue;
		}
		ir_walk(s->value, add_buffer, &read);
		bytes += read.bytes + each * type_info(s->out->type)->bits / 8.0;
		work += each * (ir_cost(s->value) + OF_STORE);
	}
	enum { WAY = 600, ALONE = 7 /* ns: a point of a loop of which several turns are under way */ };
	double threads = outs / c->param[0], fill = threads * fmin(c->param[0], 4) / cost_full_threads(t);
	double time = fmax(bytes / t->bytes_per_ns / cost_rate_reached(fill), work / cost_mixed_rate(t));
	/* Measured on an H200 for 80 scores of 614400 boxes: f32 53.4 us, 55.3 with two neighbours, 58.7 with four; f16
	 * 34.0, 29.2, 28.8. */
	time *= 1 + 0.05 * log2(c->param[0]);
	return t->launch_ns + fmax(time, WAY + cost_wait(t, waits * ALONE));
}

/* ---- The kernel. */

struct thread {
	const struct spread *f;
	int width;
	expr element; /* the first of the thread's */
	expr result[MAX_STAGES][MAX_WIDTH];
	int now; /* the element whose results are requested */
};

/* Declares the stage's axes for the thread's first element. */
static void declare_own(const struct thread *h, struct ir_block *b, int stage, expr *axis)
{
	const struct ir_stage *s = h->f->stage[stage];
	bool used[2 * IR_MAX_RANK] = { false };
	expr dim[IR_MAX_RANK];
	axes_read(s, used);
	for (int k = 0; k < s->out->rank; k++)
		dim[k] = k == h->f->last[stage] ? ir_index(h->f->p->pool, 1) : s->out->dim[k];
	declare_axes(h->f->p, b, h->element, s->out->rank, dim, ir_axis_names[0], used, axis);
	for (int k = 0; k < s->out->rank; k++)
		if (!axis[k])
			axis[k] = ir_index(h->f->p->pool, 0); /* not met */
}

/* The axes of element number `v`. */
static void axes_of(const struct thread *h, int stage, int v, const expr *first, int n, expr *axis)
{
	int inner = inner_axis(h->f, stage);
	for (int k = 0; k < n; k++)
		axis[k] = k == inner && v ? ir_binary(IR_ADD, first[k], ir_index(h->f->p->pool, v)) : first[k];
}

/* The values of a stage at one point, or of one neighbour, for all elements of the thread: loads of neighbours become
 * vectors. */
static void values_of(struct thread *h, struct ir_block *b, expr value[], int n)
{
	struct window_reads reads = { .p = h->f->p };
	if (h->width == 1)
		return;
	for (int i = 0; i < n; i++)
		window_reads_find(&reads, value[i]);
	for (int i = 0; i < n; i++)
		value[i] = window_reads_emit(&reads, b, value[i]);
}

/* The reductions of the thread's elements while they run. */
struct running {
	struct accumulator sum[MAX_STAGES][MAX_WIDTH];
	expr own[MAX_STAGES][2 * IR_MAX_RANK]; /* axes of the first element, and the reduced ones */
	expr position;                         /* in the reduced space, without its last axis */
};

/* Accumulates the point `at` of the last reduced axis. */
static void one_point(struct thread *h, struct ir_block *b, struct running *r, expr at)
{
	const struct spread *f = h->f;
	struct ir_program *p = f->p;
	int last = f->stage[0]->space_rank - 1, n = 0;
	expr axis[2 * IR_MAX_RANK], value[MAX_STAGES * MAX_WIDTH];
	expr position = ir_binary(IR_ADD, ir_binary(IR_MUL, r->position, f->stage[0]->space[last]), at);
	for (int i = 0; i < f->reductions; i++)
		for (int v = 0; v < h->width; v++) {
			int rank = f->stage[i]->out->rank;
			r->own[i][rank + last] = at;
			axes_of(h, i, v, r->own[i], rank + last + 1, axis);
			value[n++] = to_kernel(p, f->stage[i]->value, &(struct axes){ .value = axis });
		}
	values_of(h, b, value, n);
	for (int i = 0, k = 0; i < f->reductions; i++)
		for (int v = 0; v < h->width; v++)
			accumulate(&r->sum[i][v], b, value[k++], position);
}

/* The loop over the last reduced axis. Loads of some points are under way at once. */
static void all_points(struct thread *h, struct ir_block *b, struct running *r)
{
	struct ir_program *p = h->f->p;
	const struct ir_stage *s = h->f->stage[0];
	int last = s->space_rank - 1, once = h->width < 4 ? AT_ONCE : AT_ONCE / 2;
	const char *name = ir_axis_names[1][last];
	expr extent = s->space[last], zero = ir_index(p->pool, 0), one = ir_index(p->pool, 1), first = zero, at, step;
	int64_t known;
	if (!ir_const_int(extent, &known)) {
		b = emit_loop(p, b, name, zero, extent, one, extent, &at);
		one_point(h, b, r, at);
		return;
	}
	int64_t whole = known - known % once;
	if (whole) {
		struct ir_block *loop = b;
		if (whole > once)
			loop = emit_loop(p, b, "first", zero, ir_index(p->pool, whole), ir_index(p->pool, once), extent,
			                 &first);
		loop = emit_unrolled(p, loop, "step", once, &step);
		at = emit_constant(p, loop, name, ir_binary(IR_ADD, first, step), extent);
		one_point(h, loop, r, at);
	}
	if (known > whole) {
		struct ir_block *loop = emit_turns(p, b, "step", (int)(known - whole), &step);
		at = emit_constant(p, loop, name, ir_binary(IR_ADD, ir_index(p->pool, whole), step), extent);
		one_point(h, loop, r, at);
	}
}

/* Accumulates all reductions in one loop over their points. */
static void reduce(struct thread *h, struct ir_block *b)
{
	const struct spread *f = h->f;
	struct ir_program *p = f->p;
	const struct ir_stage *first = f->stage[0];
	struct running r = { .position = ir_index(p->pool, 0) };
	struct ir_block *loop = b;
	for (int i = 0; i < f->reductions; i++) {
		declare_own(h, b, i, r.own[i]);
		for (int v = 0; v < h->width; v++)
			r.sum[i][v] = accumulator_begin(p, b, f->stage[i]);
	}
	for (int k = 0; k + 1 < first->space_rank; k++) {
		expr point;
		loop = emit_loop(p, loop, ir_axis_names[1][k], ir_index(p->pool, 0), first->space[k],
		                 ir_index(p->pool, 1), first->space[k], &point);
		r.position = ir_binary(IR_ADD, ir_binary(IR_MUL, r.position, first->space[k]), point);
		for (int i = 0; i < f->reductions; i++)
			r.own[i][f->stage[i]->out->rank + k] = point;
	}
	all_points(h, loop, &r);
	for (int i = 0; i < f->reductions; i++) {
		const struct ir_stage *s = f->stage[i];
		expr axis[IR_MAX_RANK];
		for (int v = 0; v < h->width; v++) {
			axes_of(h, i, v, r.own[i], s->out->rank, axis);
			h->result[i][v] = accumulator_result(&r.sum[i][v], axis, NULL, NULL);
		}
		values_of(h, b, h->result[i], h->width);
		const char *name = arena_printf(p->arena, "own_%s", s->out->name);
		for (int v = 0; v < h->width; v++)
			h->result[i][v] = emit_declare(p, b, name, h->result[i][v], NULL);
	}
}

static expr result_here(void *user, expr e, expr flat)
{
	const struct thread *h = user;
	int i = reduction_of(h->f, e->buf);
	(void)flat;
	return i < 0 ? NULL : h->result[i][h->now];
}

/* Stores the elements of a stage: for each of the thread's, its neighbours along `last`. */
static void store(struct thread *h, struct ir_block *b, int stage)
{
	const struct ir_stage *s = h->f->stage[stage];
	struct ir_program *p = h->f->p;
	int each = (int)h->f->each[stage], n = each * h->width, last = h->f->last[stage];
	struct ir_variable *array = ir_variable_new(p->pool, s->out->type, "%s_v", s->out->name);
	expr own[IR_MAX_RANK], axis[IR_MAX_RANK];
	struct axes here = { .value = axis, .load = result_here, .user = h };
	if (stage >= h->f->reductions)
		declare_own(h, b, stage, own);
	emit_array(p, b, array, n);
	for (int digit = 0; digit < each; digit++) {
		expr value[MAX_WIDTH];
		for (h->now = 0; h->now < h->width; h->now++) {
			value[h->now] = stage < h->f->reductions ? h->result[stage][h->now] : NULL;
			if (value[h->now])
				continue;
			axes_of(h, stage, h->now, own, s->out->rank, axis);
			if (last >= 0)
				axis[last] = ir_index(p->pool, digit);
			value[h->now] = to_kernel(p, s->value, &here);
		}
		values_of(h, b, value, h->width);
		for (int v = 0; v < h->width; v++)
			emit_set(p, b, array, ir_index(p->pool, v * each + digit), value[v]);
	}
	emit_store_vector(p, b, s->out, ir_binary(IR_MUL, h->element, ir_index(p->pool, each)), array, n);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	const struct spread *f = site->found;
	const struct ir_stage *last = f->stage[f->stages - 1];
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, last, "", c);
	struct thread own = { .f = f, .width = c->param[0] };
	own.element = declare_element(p, k, out_count(p, site->s), THREADS, own.width);
	k->resident = RESIDENT;
	k->advised = true;
	reduce(&own, &k->body);
	for (int i = 0; i < f->stages; i++)
		if (i >= f->reductions || stage_is_stored(p, f->stage, f->stages, i))
			store(&own, &k->body, i);
	kernel_finish(plan, step, k, last);
	struct str about = str_new(p->arena);
	for (int i = 0; i < f->stages; i++)
		ir_print_stage(&about, f->stage[i]);
	for (int i = 0; i < step->n; i++)
		step->at[i]->about = str_text(&about);
}

const struct sched_rule sched_reduce_spread = {
	.name = "reduce_spread",
	.version = 1,
	.about = "A thread reduces {width element}{width> next to each other}, and computes what else is made of each.",
	.param = { { "width", 1, 4 } },
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
