/* The loops around a stage's instructions: which axes are lanes, the order of the loops, threads. See nest.h. */
#include "eval/nest.h"

#include <math.h>
#include <stdatomic.h>

#include "base/threads.h"

enum {
	ENOUGH_LANES = 128, /* adds axes as lanes up to this number */
	PERMUTED_AXES = 5,  /* up to this many inner loops are tried in every order */
	SERIAL_WORK = 200000,
};

void nest_lanes(struct eval_space *s, int low, int high)
{
	s->lane_low = s->lane_high = high;
	s->lane_count = 1;
	while (s->lane_low > low && s->lane_count < ENOUGH_LANES)
		s->lane_count *= s->extent[--s->lane_low];
	int64_t chunks = (s->lane_count + EVAL_LANES - 1) / EVAL_LANES;
	s->lanes = chunks > 0 ? (int)((s->lane_count + chunks - 1) / chunks) : 1;
}

static bool is_lane(const struct eval_space *s, int axis)
{
	return axis >= s->lane_low && axis < s->lane_high;
}

static void add_loop(struct nest *n, int axis, int64_t extent)
{
	n->loop[n->loops++] = (struct nest_loop){ axis, extent };
}

static void add_axes(struct nest *n, int low, int high)
{
	for (int axis = low; axis < high; axis++)
		if (!is_lane(&n->space, axis) && n->space.extent[axis] != 1)
			add_loop(n, axis, n->space.extent[axis]);
}

static void add_chunks(struct nest *n)
{
	add_loop(n, -1, (n->space.lane_count + n->space.lanes - 1) / n->space.lanes);
}

void nest_loops(struct nest *n, int outer_rank)
{
	n->loops = 0;
	add_axes(n, 0, outer_rank);
	n->lanes_inside = n->space.lane_low >= outer_rank && n->space.lane_high > outer_rank;
	if (!n->lanes_inside)
		add_chunks(n);
	n->outer = n->loops;
	n->units = 1;
	for (int k = 0; k < n->outer; k++)
		n->units *= n->loop[k].extent;
	if (n->lanes_inside)
		add_chunks(n);
}

/* The cost of all instructions with the inner loops in this order. */
static double cost_of_order(const struct nest *n, const struct nest_loop *loop, int count)
{
	const struct code *c = &n->body;
	double total = 0;
	vec_each (i, &c->insns) {
		double cost = i->varying ? 20 + 0.5 * n->space.lanes : 6, times = 1, inside = 1;
		for (int k = 0; k < count; k++) {
			inside *= (double)loop[k].extent;
			if (c->regs.at[i->d].axes >> loop[k].axis & 1)
				times = inside;
		}
		total += cost * times;
	}
	return total;
}

/* The next order of `count` numbers, by size; false after the last. */
static bool next_permutation(int *order, int count)
{
	int i = count - 2, j = count - 1;
	while (i >= 0 && order[i] > order[i + 1])
		i--;
	if (i < 0)
		return false;
	while (order[j] < order[i])
		j--;
	int t = order[i];
	order[i] = order[j], order[j] = t;
	for (int a = i + 1, b = count - 1; a < b; a++, b--)
		t = order[a], order[a] = order[b], order[b] = t;
	return true;
}

void nest_inner_loops(struct nest *n, int low, int high, bool reorder)
{
	int first = n->loops;
	add_axes(n, low, high);
	int count = n->loops - first, order[PERMUTED_AXES];
	if (!reorder || count < 2 || count > PERMUTED_AXES)
		return;
	struct nest_loop natural[PERMUTED_AXES], loop[PERMUTED_AXES];
	double best = INFINITY;
	for (int k = 0; k < count; k++) {
		natural[k] = n->loop[first + k];
		order[k] = k;
	}
	do {
		for (int k = 0; k < count; k++)
			loop[k] = natural[order[k]];
		double cost = cost_of_order(n, loop, count);
		if (cost >= best * 0.999)
			continue;
		best = cost;
		for (int k = 0; k < count; k++)
			n->loop[first + k] = loop[k];
	} while (next_permutation(order, count));
}

void nest_finish(struct nest *n)
{
	int level_of[EVAL_AXES] = { 0 };
	for (int k = 0; k < n->loops; k++)
		if (n->loop[k].axis >= 0)
			level_of[n->loop[k].axis] = k + 1;
		else
			for (int axis = n->space.lane_low; axis < n->space.lane_high; axis++)
				level_of[axis] = k + 1;
	eval_code_finish(&n->body, level_of, n->loops + 1);
	if (n->has_post)
		eval_code_finish(&n->post, level_of, n->outer + 1);
	double inner = 1;
	for (int k = n->outer; k < n->loops; k++)
		inner *= (double)n->loop[k].extent;
	n->work = inner * n->space.lanes * (n->body.begin[n->loops + 1] - n->body.begin[n->loops] + 1);
}

int64_t nest_position(const struct nest *n, int64_t unit)
{
	if (n->lanes_inside)
		return unit;
	int64_t chunks = n->loop[n->outer - 1].extent;
	return unit / chunks * n->space.lane_count + unit % chunks * n->space.lanes;
}

void nest_set(const struct nest *n, struct nest_worker *w, int k)
{
	if (n->loop[k].axis >= 0) {
		w->axis[n->loop[k].axis] = w->at[k];
		return;
	}
	int64_t lane = w->at[k] * n->space.lanes, left = n->space.lane_count - lane;
	w->body.lane = lane;
	w->body.n = left < n->space.lanes ? (int)left : n->space.lanes;
	if (!n->lanes_inside) {
		w->post.lane = lane;
		w->post.n = w->body.n;
	}
}

/* ---- Running. Pieces of units are taken in order; the first fault in that order is reported. */

struct share {
	struct nest *nest;
	struct nest_worker *worker;
	int pieces;
	atomic_int next;
};

static bool run_piece(const struct nest *n, struct nest_worker *w, int64_t low, int64_t high)
{
	int64_t rest = low;
	for (int k = n->outer - 1; k >= 0; k--) {
		w->at[k] = rest % n->loop[k].extent;
		rest /= n->loop[k].extent;
	}
	for (int k = n->outer; k < n->loops; k++)
		w->at[k] = 0;
	for (int k = 0; k < n->loops; k++)
		nest_set(n, w, k);
	int moved = -1;
	for (int64_t u = low; u < high; u++) {
		if (!n->unit(n, w, u, moved + 1))
			return false;
		for (moved = n->outer - 1; moved >= 0; moved--) {
			if (++w->at[moved] == n->loop[moved].extent)
				w->at[moved] = 0;
			nest_set(n, w, moved);
			if (w->at[moved])
				break;
		}
	}
	return true;
}

static void work(void *arg, int i)
{
	struct share *s = arg;
	struct nest_worker *w = &s->worker[i];
	while ((w->piece = atomic_fetch_add(&s->next, 1)) < s->pieces) {
		int64_t low = (int64_t)((__int128)s->nest->units * w->piece / s->pieces);
		int64_t high = (int64_t)((__int128)s->nest->units * (w->piece + 1) / s->pieces);
		if (!run_piece(s->nest, w, low, high))
			return;
	}
}

static int report(struct nest *n, const struct nest_worker *w)
{
	struct str text = str_new(n->run->arena);
	eval_fault_describe(&text, w->body.fault ? &w->body : &w->post);
	err_set(n->run->err, ERR_DIFFER, "Program %s, stage %s: %s.", n->run->program->name, n->run->stage,
	        str_text(&text));
	return err_advise(n->run->err, "This is a bug in tpat; please report it with the model.");
}

static void make_workers(struct nest *n, int workers)
{
	if (workers <= 0)
		workers = n->run->threads > 0 ? n->run->threads : threads_count();
	if (n->work * (double)n->units < SERIAL_WORK)
		workers = 1;
	if (workers > n->units)
		workers = (int)n->units;
	n->workers = workers;
	n->worker = NEWN(n->run->arena, struct nest_worker, workers);
	for (int i = 0; i < workers; i++) {
		struct nest_worker *w = &n->worker[i];
		eval_frame_init(&w->body, &n->body, w->axis, n->run->arena);
		if (n->has_post)
			eval_frame_init(&w->post, &n->post, w->axis, n->run->arena);
		if (n->has_post)
			w->post.r[n->post_acc] = w->body.r[n->acc];
	}
}

int nest_run(struct nest *n, int workers)
{
	if (!n->worker)
		make_workers(n, workers);
	workers = n->workers;
	struct share s = { .nest = n, .worker = n->worker, .pieces = workers > 1 ? workers * 8 : 1 };
	if (s.pieces > n->units)
		s.pieces = (int)n->units;
	threads_for(workers, workers, work, &s);
	struct nest_worker *first = NULL;
	for (int i = 0; i < workers; i++)
		if ((s.worker[i].body.fault || s.worker[i].post.fault) && (!first || s.worker[i].piece < first->piece))
			first = &s.worker[i];
	return first ? report(n, first) : 0;
}

void nest_ready(struct nest *n, int workers, struct eval_ready *ready)
{
	struct eval_part part = { .nest = n, .workers = workers };
	vec_push(n->run->arena, ready, part);
}
