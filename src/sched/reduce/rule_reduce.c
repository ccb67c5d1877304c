/* Rules for reductions. reduce_thread: one thread per element of the result; applies to every reduction. reduce_lanes:
 * a warp or a block shares each element; wins where few elements reduce many contiguous points. */
#include "sched/reduce/loop_ends.h"
#include "sched/reduce/steps.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

#include "ir/axis_names.h"

enum { THREADS = 256, WARP = 32, WARP_BLOCK = 128, MAX_WIDTH = 16 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_REDUCE)
		return s;
	*why = "the stage is not a reduction";
	return NULL;
}

/* ---- reduce_thread */

static int thread_candidates(const struct sched_site *site, struct sched_choice *out)
{
	(void)site;
	out[0] = (struct sched_choice){ &sched_reduce_thread, { 0 } };
	return 1;
}

/* Index of the last reduced axis that is not of extent 1, or -1. */
static int innermost(const struct ir_stage *s)
{
	int k = s->space_rank - 1;
	while (k >= 0 && ir_is_int(s->space[k], 1))
		k--;
	return k;
}

/* True if several points along the innermost reduced axis are loaded at once: compilers do not do it for the last
 * points of an open number, and code for many points of a costly value is long. */
static bool is_stepped(struct ir_program *p, const struct ir_stage *s)
{
	enum { COSTLY = 32 };
	int k = innermost(s);
	int64_t extent;
	return k >= 0 && !ir_const_int(s->space[k], &extent) && !reduced_end(p, s, k) && ir_cost(s->value) <= COSTLY;
}

/* The nested loops over the reduced axes. */
static void serial_loops(struct accumulator *a, struct ir_block *b, expr *axis)
{
	struct ir_program *p = a->p;
	const struct ir_stage *s = a->s;
	int rank = s->out->rank, last = innermost(s);
	bool stepped = is_stepped(p, s);
	expr position = ir_index(p->pool, 0), end[IR_MAX_RANK];
	for (int k = 0; k < s->space_rank; k++) {
		struct axes outer = { .value = axis };
		end[k] = reduced_end(p, s, k);
		if (end[k])
			end[k] = emit_declare(p, b, "end", to_kernel(p, end[k], &outer), NULL);
	}
	for (int k = 0; k < s->space_rank; k++) {
		if (ir_is_int(s->space[k], 1)) {
			axis[rank + k] = ir_index(p->pool, 0);
		} else if (k < last || !stepped) {
			b = emit_loop(p, b, ir_axis_names[1][k], ir_index(p->pool, 0), end[k] ? end[k] : s->space[k],
			              ir_index(p->pool, 1), s->space[k], &axis[rank + k]);
		} else {
			continue;
		}
		position = ir_binary(IR_ADD, ir_binary(IR_MUL, position, s->space[k]), axis[rank + k]);
	}
	struct axes in = { .value = axis };
	if (!stepped) {
		accumulate(a, b, to_kernel(p, s->value, &in), position);
		return;
	}
	struct steps_piece piece[STEPS_MOST_PIECES];
	int n = steps_pieces(piece, p, b, ir_axis_names[1][last], ir_index(p->pool, 0), 1, s->space[last]);
	for (int i = 0; i < n; i++) {
		axis[rank + last] = ir_var_of(piece[i].point->var, s->space[last]);
		expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, position, s->space[last]), axis[rank + last]);
		steps_accumulate(a, &piece[i], to_kernel(p, s->value, &in), at);
	}
}

static void thread_apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	bool used[2 * IR_MAX_RANK] = { false };
	expr axis[2 * IR_MAX_RANK] = { NULL }, count = out_count(p, s);
	expr element = declare_element(p, k, count, THREADS, 1);
	axes_read(s, used);
	declare_axes(p, &k->body, element, s->out->rank, s->out->dim, ir_axis_names[0], used, axis);
	struct accumulator a = accumulator_begin(p, &k->body, s);
	serial_loops(&a, &k->body, axis);
	emit_store(p, &k->body, s->out, element,
	           accumulator_result(&a, axis, ir_own_position(p->pool, s->out), element));
	kernel_finish(plan, step, k, s);
}

/* ---- reduce_lanes */

static int lanes_candidates(const struct sched_site *site, struct sched_choice *out)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	int64_t points = about(reduced_count(p, s), t);
	int n = 0;
	for (int width = MAX_WIDTH; width >= 1; width /= 2)
		for (int lanes = 1024; lanes >= WARP && (width == 1 || arg_vectors_fit(p, s, width)); lanes /= 2)
			if (points >= 2 * lanes * width || (width == 1 && lanes == WARP))
				out[n++] = (struct sched_choice){ &sched_reduce_lanes, { lanes, width } };
	return n;
}

/* Accumulates a lane's points one by one. Compilers do not load several points of an open loop at once. */
static void by_points(struct accumulator *a, struct ir_block *b, expr *axis, bool *used, expr lane, int lanes)
{
	struct ir_program *p = a->p;
	const struct ir_stage *s = a->s;
	int64_t known;
	expr points = reduced_count(p, s);
	const char *name = s->space_rank == 1 ? ir_axis_names[1][0] : "point";
	expr first = lane ? lane : ir_index(p->pool, 0), stride = ir_index(p->pool, lane ? lanes : 1);
	struct steps_piece piece[STEPS_MOST_PIECES] = { { .body = NULL } };
	int pieces = 1;
	if (lane && !ir_const_int(points, &known))
		pieces = steps_pieces(piece, p, b, name, lane, lanes, points);
	else
		piece->body = emit_loop(p, b, name, first, points, stride, points, &piece->point);
	for (int i = 0; i < pieces; i++)
		steps_reduce(a, &piece[i], points, axis, used);
}

/* Reduces row `row` with `lanes` threads, this one being `lane`; serial twin: with one. */
static void one_row(struct ir_plan *plan, const struct ir_stage *s, struct ir_block *b, expr row, expr lane, int lanes,
                    int width)
{
	struct ir_program *p = plan->program;
	bool used[2 * IR_MAX_RANK] = { false };
	expr axis[2 * IR_MAX_RANK] = { NULL };
	axes_read(s, used);
	declare_axes(p, b, row, s->out->rank, s->out->dim, ir_axis_names[0], used, axis);
	struct accumulator a = accumulator_begin(p, b, s);
	if (width > 1)
		arg_by_vectors(&a, b, axis, lane, lanes, width);
	else
		by_points(&a, b, axis, used, lane, lanes);
	if (lane) {
		emit_lanes_combine(p, b, a.value->var, s->combine, lanes)->index = a.position ? a.position->var : NULL;
		b = emit_if(p, b, ir_binary(IR_EQ, lane, ir_index(p->pool, 0)));
	}
	emit_store(p, b, s->out, row, accumulator_result(&a, axis, ir_own_position(p->pool, s->out), row));
}

static void lanes_apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	int lanes = c->param[0], rows_a_block = lanes == WARP ? WARP_BLOCK / WARP : 1;
	expr rows = out_count(p, s);
	k->threads = lanes * rows_a_block;
	k->blocks = ceil_div(p, rows, rows_a_block);
	expr block = ir_block(p->pool, k->blocks);
	expr thread = ir_thread(p->pool, ir_index(p->pool, k->threads));
	expr row = block, lane = thread;
	if (rows_a_block > 1) {
		lane = ir_binary(IR_MOD, thread, ir_index(p->pool, WARP));
		row = ir_binary(IR_ADD, ir_binary(IR_MUL, block, ir_index(p->pool, rows_a_block)),
		                ir_binary(IR_FLOORDIV, thread, ir_index(p->pool, WARP)));
	}
	lane = emit_constant(p, &k->body, "lane", lane, ir_index(p->pool, lanes));
	row = emit_constant(p, &k->body, "row", row, NULL);
	if (rows_a_block > 1)
		emit_return_if(p, &k->body, ir_binary(IR_LE, rows, row));
	row = ir_var_of(row->var, rows);
	one_row(plan, s, &k->body, row, lane, lanes, c->param[1]);

	/* The serial twin. */
	struct ir_block *b = &k->serial;
	row = block;
	if (rows_a_block > 1) {
		expr first = ir_binary(IR_MUL, row, ir_index(p->pool, rows_a_block));
		expr end = ir_binary(IR_MIN, rows, ir_binary(IR_ADD, first, ir_index(p->pool, rows_a_block)));
		b = emit_loop(p, b, "row", first, end, ir_index(p->pool, 1), rows, &row);
	}
	one_row(plan, s, b, row, NULL, 1, 1);
	kernel_finish(plan, step, k, s);
}

static int long_axes(expr const *extent, int rank)
{
	int n = 0;
	for (int k = 0; k < rank; k++)
		n += !ir_is_int(extent[k], 1);
	return n;
}

/* Instructions of all lanes, idle ones too: a lane finds its result's axes once, and the reduced axes at each point. */
static double lanes_work(const struct ir_stage *s, double outs, double in_row, double lanes, int width)
{
	enum { DIVISION = 12 };
	int outer = long_axes(s->out->dim, s->out->rank), inner = long_axes(s->space, s->space_rank);
	double turns = ceil(in_row / (lanes * width)), each = width * ir_cost(s->value);
	each += inner > 1 ? DIVISION * (inner - 1) : 0;
	return outs * lanes * (turns * each + (outer > 1 ? DIVISION * (outer - 1) : 0));
}

/* Bytes that lanes with a sector each read again: measured on an H200 for a product's columns, the L2 cache gives them
 * no faster than memory. */
struct apart {
	const struct sched_site *site;
	int axis;
	double bytes;
};

enum { SECTOR = 32 };

static void add_apart(void *user, expr e)
{
	struct apart *x = user;
	if (e->op != IR_LOAD)
		return;
	struct ir_program *p = x->site->p;
	double size = type_info(e->type)->bits / 8.0;
	expr stride = ir_stride(ir_flat(p->pool, e->buf, e->arg), x->axis);
	double again = (double)about(space_count(p, x->site->s), x->site->t) * SECTOR -
	               (double)about(ir_buffer_count(p, e->buf), x->site->t) * size;
	if (again > 0 && stride && (double)about(stride, x->site->t) * size >= SECTOR)
		x->bytes += again * 3 / 4; /* cost_way_bytes() has a quarter */
}

static double lanes_estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct cost_way w = cost_way(site);
	double outs = w.threads, lanes = c->param[0], lane_rate = cost_mixed_rate(site->t) / 3;
	double in_row = (double)about(space_count(site->p, site->s), site->t) / (outs > 0 ? outs : 1);
	bool arg = ir_combine_is_arg(site->s->combine),
	     alone = outs * lanes <= (double)site->t->processors * site->t->threads;
	w.axis = site->s->out->rank + last_long_axis(site->s->space, site->s->space_rank);
	w.threads = outs * lanes;
	struct apart apart = { site, w.axis, 0 };
	if (site->s->value->op == IR_MUL)
		ir_walk(site->s->value, add_apart, &apart);
	w.strided = apart.bytes;
	/* Shuffle steps between lanes, and idle lanes; more warps wait longer for each other, as measured on an H200.
	 */
	w.overhead = outs * lanes * (lanes > WARP ? 6 * log2(lanes / WARP) : 6) / lane_rate;
	w.columns = c->param[1] > 1 ? c->param[1] : 1;
	w.work = lanes_work(site->s, outs, in_row, lanes, c->param[1] > 1 ? c->param[1] : 1);
	if (w.columns > 1) { /* measured on an H100: loads hide the shuffles; a lone warp reads slower than a block */
		w.overhead = outs * lanes / lane_rate;
		w.slower = 1 + 1.0 / lanes;
	}
	if (in_row < lanes * w.columns)
		w.threads = outs * in_row / w.columns;
	/* One lane's work, as measured on an H200 for a few rows: memory once, then a position is slower than a sum. */
	double point = arg ? 24 + fmin(lanes, 256) / 25 : 5;
	w.serial = (arg ? 720 : 600) + ceil(in_row / (lanes * w.columns)) * w.columns * cost_wait(site->t, point);
	/* The last lanes' exchange, which nothing hides; where blocks share multiprocessors, their barriers as well:
	 * measured on an H200 for products of 256 to 5,000 results. */
	double exchange = lanes > WARP ? (arg && alone ? 440 : 200) + 0.3 * lanes : 150;
	if (lanes > WARP && w.columns == 1 && outs >= site->t->processors)
		exchange += 600;
	w.overhead += cost_wait(site->t, exchange);
	return cost_of_way(site, &w);
}

const struct sched_rule sched_reduce_lanes = {
	.name = "reduce_lanes",
	.version = 2,
	.about = "{lanes} threads reduce each element together, from vectors of {width element}.",
	.param = { { "lanes", 32, 1024 }, { "width", 1, 16 } },
	.match = match,
	.candidates = lanes_candidates,
	.apply = lanes_apply,
	.estimate = lanes_estimate,
};

static void find_apart(void *user, expr e)
{
	struct apart *x = user;
	if (e->op != IR_LOAD)
		return;
	expr stride = ir_stride(ir_flat(x->site->p->pool, e->buf, e->arg), x->axis);
	if (stride && (double)about(stride, x->site->t) * type_info(e->type)->bits / 8.0 >= SECTOR)
		x->bytes += SECTOR;
}

/* A product's sums, each by one thread, measured on an H200: a point takes ten instructions, with or without
 * conditions; a thread waits for the loads of each point, all in flight at once only if the loop is unrolled. */
static double thread_product_estimate(const struct sched_site *site, const struct cost_way *w, double points)
{
	enum { OF_POINT = 10, UNROLLED = 32, WAY = 200, TOGETHER = 4, ALONE = 26 /* ns */ };
	const struct sched_target *t = site->t;
	struct apart apart = { site, w->axis, 0 };
	ir_walk(site->s->value, find_apart, &apart);
	double work = w->threads * points * OF_POINT / cost_mixed_rate(t);
	double bytes = cost_way_bytes(site, w) / t->bytes_per_ns;
	double serial = points <= UNROLLED ? WAY + TOGETHER * points : ALONE * points * (apart.bytes > 0 ? 2.5 : 1);
	return t->launch_ns + fmax(work, bytes) + cost_wait(t, serial);
}

/* True if compilers know how often the loops over the reduced axes turn. */
static bool known_extents(const struct ir_stage *s)
{
	int64_t extent;
	for (int k = 0; k < s->space_rank; k++)
		if (!ir_const_int(s->space[k], &extent))
			return false;
	return true;
}

/* A thread's own time for a loop that is not unrolled: one way to memory, as a lane's of reduce_lanes, then some loads
 * at a time. A point takes half of what one of a product does, which loads two. */
static double long_loop(const struct sched_site *site, const struct cost_way *w, double points)
{
	enum { WAY = 600, ALONE = 13, POSITION = 20 /* ns */ };
	struct apart apart = { site, w->axis, 0 };
	ir_walk(site->s->value, find_apart, &apart);
	double point = ir_combine_is_arg(site->s->combine) ? POSITION : ALONE * (apart.bytes > 0 ? 2.5 : 1);
	return WAY + cost_wait(site->t, points * point);
}

static double thread_estimate(const struct sched_site *site, const struct sched_choice *c)
{
	enum { UNROLLED = 32 /* points of a loop that compilers unroll */, FEW = 8 /* before an end by data */ };
	struct cost_way w = cost_way(site);
	double points = (double)about(space_count(site->p, site->s), site->t) / (w.threads > 0 ? w.threads : 1);
	(void)c;
	for (int k = 0; k < site->s->space_rank; k++) {
		double extent = (double)about(site->s->space[k], site->t);
		if (extent > FEW && reduced_end(site->p, site->s, k)) {
			points *= FEW / extent;
			w.points = w.threads * points;
			w.work = w.points * ir_cost(site->s->value);
		}
	}
	if (cost_is_product(site) && !w.points)
		return thread_product_estimate(site, &w, points);
	bool unrolled = points <= UNROLLED && known_extents(site->s);
	bool stepped = points <= 2 * STEPS_AT_ONCE && is_stepped(site->p, site->s);
	w.work = w.work > 0 ? w.work : cost_work(site);
	if (stepped) /* steps beyond the end take time, too */
		w.serial = 4 * STEPS_AT_ONCE * ceil(points / STEPS_AT_ONCE);
	else
		w.serial = unrolled ? 4 * points : long_loop(site, &w, points);
	w.flight = unrolled || stepped ? points : 1;
	return cost_of_way(site, &w);
}

const struct sched_rule sched_reduce_thread = {
	.name = "reduce_thread",
	.version = 1,
	.about = "A thread computes one element, and reads all of its terms.",
	.match = match,
	.candidates = thread_candidates,
	.apply = thread_apply,
	.estimate = thread_estimate,
};
