/* Rule loop_grid: a loop whose elements are cut into units that many blocks make, all running at the same time, where
 * each turn needs whole rows of the turn before, as a recurrence with a matrix product. A turn costs what it takes to
 * pass the results on to all blocks of a row, instead of reading all weights by one block. Weights that fit into the
 * registers of one block need no others: it makes all units of its rows. See loop_grid.h. */
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"
#include "sched/core/tiles.h"
#include "sched/loop/loop_grid.h"

#include <math.h>
#include <string.h>

enum {
	WARP = 32,
	MOST_ROWS = 32,
	MOST_UNITS = 4096,
	KEPT = 6,             /* candidates */
	OTHER_REGISTERS = 44, /* of a thread, next to what it holds and adds up */
	MOST_WRITTEN = 2048,  /* multiply-adds of a lane that are written out */
};

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	return grid_find(p, s, why);
}

static double groups_of(const struct grid_loop *g, const struct grid_shape *s, const struct sched_target *t)
{
	return ceil((double)about(grid_rows(g), t) / s->rows) * (double)about(grid_outer(g), t);
}

/* ---- The estimated time of a turn. */

static double bytes_of(const struct grid_loop *g, const struct grid_item *item, const struct grid_shape *s)
{
	expr held[4];
	int64_t points = 0;
	double bytes = 0;
	ir_const_int(reduced_count(g->p, item->entries.at[0].stage), &points);
	for (int i = grid_constants(g, item, s, held, 4); i > 0; i--)
		bytes += widest_load(held[i - 1]) / 8.0;
	return bytes * (double)points * item->copies * s->units;
}

static int log_of(int n)
{
	int log = 0;
	while (1 << log < n)
		log++;
	return log;
}

/* A block's reduction, in clocks: the instructions that a multiprocessor's schedulers issue, and of these the accesses
 * to shared memory and between lanes, one each clock. */
static double clocks_of(const struct grid_loop *g, const struct grid_item *item, const struct grid_shape *s,
                        const struct sched_target *t)
{
	enum { LATENCY = 200, SIMPLE = 6 };
	const struct ir_stage *stage = item->entries.at[0].stage;
	int outputs = grid_outputs(item, s), at_once = grid_rows_at_once(item, s), log = log_of(at_once * outputs);
	double steps = (double)grid_steps(g, item) * s->warps, cost = ir_cost(stage->value) - SIMPLE;
	double shuffles = (double)(s->rows / at_once) * ((1 << log) - 1 + 5 - log) * s->warps;
	double sums =
	        outputs * s->rows * steps * (cost > 0 ? 1 + cost / 2 : 1) * (stage->value->type == TYPE_F64 ? 2 : 1);
	double reads = s->rows * steps + (s->holds ? 0 : outputs * steps), all = sums + reads + 4 * shuffles;
	return LATENCY + all / s->warps + all / t->schedulers + reads + shuffles; /* few warps hide little */
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	/* Measured on an H200: a value's way to another block through the second cache, with what each other block that
	 * waits for it adds; a barrier of a block; an element's functions. */
	enum { WAY_NS = 450, WAITING_NS = 4, WORD_NS = 25, ROW_NS = 60, SYNC_NS = 30, ELEMENT_NS = 120 };
	enum { START_NS = 4000, KEPT_BYTES = 96 << 10, SHARED_NS = 30 };
	const struct grid_loop *g = site->found;
	const struct sched_target *t = site->t;
	const struct grid_shape s = grid_shape_of(g, c);
	double blocks = groups_of(g, &s, t) * (double)s.slices, way = 0, work = 0, first = 0;
	double full = fmin(1, blocks * s.threads / cost_full_threads(t));
	vec_each (item, &g->items) {
		double elements = (double)item->copies * s.units * s.rows;
		work += SYNC_NS * (item->wait[s.alone] + item->wait_take[s.alone]) +
		        ELEMENT_NS * ceil(elements / s.threads);
		vec_each (b, &item->takes) {
			int taken = grid_taken(g, &s, *b);
			if (s.alone)
				work += SHARED_NS * taken;
			else
				way += (b == item->takes.at ? WAY_NS + WAITING_NS * (double)s.slices : 0) +
				       WORD_NS * taken + ROW_NS * (s.rows - 1);
		}
		if (!item->reduces)
			continue;
		work += clocks_of(g, item, &s, t) / t->clock_ghz;
		double bytes = bytes_of(g, item, &s), rate = t->l2_bytes_per_ns / t->processors;
		first += bytes * blocks / t->bytes_per_ns;
		if (s.holds)
			continue;
		/* The first cache has some of them; if all together are too many, the second has none. */
		double all = bytes * (double)s.slices;
		work += bytes / (bytes < KEPT_BYTES ? 64 * t->clock_ghz : rate);
		way += all < (double)target_past_cache(t) ? 0 : all / t->bytes_per_ns / full;
	}
	double waves = ceil(blocks / t->processors), trip = (double)about(site->s->loop->trip, t);
	double start = s.alone ? t->launch_ns : 2 * t->launch_ns + START_NS;
	/* Parts of a turn overlap: measured with 16 recurrences of 8 to 100 turns on an H200. */
	return start + first + 0.85 * waves * trip * (way + cost_wait(t, work));
}

/* ---- The choices. */

static bool fits(const struct sched_site *site, const struct sched_choice *c)
{
	const struct grid_loop *g = site->found;
	const struct grid_shape s = grid_shape_of(g, c);
	int64_t written = 0;
	vec_each (item, &g->items) {
		if (!item->reduces)
			continue;
		int outputs = grid_outputs(item, &s);
		if (outputs > WARP)
			return false;
		written += (int64_t)outputs * s.rows * (s.holds ? grid_steps(g, item) : 4);
	}
	bool together = groups_of(g, &s, site->t) * (double)s.slices <= site->t->processors;
	return (s.alone || together) && grid_shared_bytes(g, &s) <= target_array_bytes(site->t) &&
	       written <= MOST_WRITTEN &&
	       grid_registers(g, &s) + OTHER_REGISTERS <= target_thread_registers(site->t, s.threads);
}

/* The next larger number of a block's units that needs fewer blocks. */
static int more_units(const struct grid_loop *g, int units)
{
	int64_t slices = (g->units + units - 1) / units;
	return slices > 1 ? (int)((g->units + slices - 2) / (slices - 1)) : MOST_UNITS + 1;
}

/* Choices by their times, best first. */
struct kept {
	struct sched_choice *at;
	double time[KEPT];
	int n, most;
};

static void keep(struct kept *k, const struct sched_choice *c, double time)
{
	int at = k->n;
	while (at > 0 && k->time[at - 1] > time)
		at--;
	if (at == k->most)
		return;
	k->n += k->n < k->most;
	for (int i = k->n - 1; i > at; i--) {
		k->at[i] = k->at[i - 1];
		k->time[i] = k->time[i - 1];
	}
	k->at[at] = *c;
	k->time[at] = time;
}

/* The best ones; for the tuner also the best by several blocks, and by blocks that share units, if these are others. */
static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	static const int threads[] = { 256, 512, 1024, 128 };
	const struct grid_loop *g = site->found;
	int64_t rows = about(grid_rows(g), site->t);
	struct sched_choice several, shared;
	struct kept all = { .at = out, .most = KEPT },
	            some[] = { { .at = &several, .most = 1 }, { .at = &shared, .most = 1 } };
	for (int i = 0; i < 4; i++)
		for (int units = 1; units <= MOST_UNITS; units = more_units(g, units))
			for (int r = 1; r <= MOST_ROWS && r < 2 * rows; r *= 2) {
				struct sched_choice c = { &sched_loop_grid, { threads[i], units, r, 1 } };
				if (!fits(site, &c)) {
					c.param[3] = 0;
					if (!fits(site, &c))
						continue;
				}
				const struct grid_shape s = grid_shape_of(g, &c);
				double time = estimate(site, &c);
				keep(&all, &c, time);
				if (!s.alone)
					keep(&some[0], &c, time);
				if (s.overlap)
					keep(&some[1], &c, time);
			}
	int n = all.n;
	for (int k = 0; k < 2; k++) {
		bool new = some[k].n > 0;
		for (int i = 0; i < n && new; i++)
			new = memcmp(out[i].param, some[k].at->param, sizeof out[i].param) != 0;
		if (new)
			out[n++] = *some[k].at;
	}
	return n;
}

static void add_grid(struct ir_plan *plan, struct ir_step *step, const struct sched_site *site,
                     const struct sched_choice *c, const struct ir_buffer *words, const char *suffix)
{
	const struct grid_loop *g = site->found;
	const struct grid_shape shape = grid_shape_of(g, c);
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, site->s, suffix, c);
	expr groups = ir_binary(IR_MUL, ceil_div(p, grid_rows(g), shape.rows), grid_outer(g));
	k->threads = shape.threads;
	k->together = !shape.alone;
	k->blocks = ir_binary(IR_MUL, groups, ir_index(p->pool, shape.slices));
	expr most = ir_index(p->pool, site->t->processors);
	if (!shape.alone)
		kernel_needs(k, ir_binary(IR_LE, ir_size_limit(p, k->blocks), most));
	if (grid_shared_bytes(g, &shape) > TARGET_ARRAYS_EVERYWHERE)
		k->arch = site->t->arch;
	grid_emit(p, g, &shape, words, k);
	/* On one processor the first blocks make all rows. */
	struct sched_choice alone = { &sched_loop_block, { shape.threads, 1, 0, shape.rows } };
	struct ir_block *serial = &k->serial;
	if (!g->lead)
		serial = emit_if(p, serial, ir_binary(IR_EQ, ir_block(p->pool, k->blocks), ir_index(p->pool, 0)));
	loop_emit(loop_plan_new(p, site->s, &alone), k, serial, true);
	kernel_finish(plan, step, k, site->s);
}

/* The best choice for several times the expected extents, such as more sequences at once: it has fewer blocks for the
 * same rows. False if there is none. */
static bool choice_for_more(const struct sched_site *site, struct sched_choice *out)
{
	enum { TIMES = 4 };
	struct sched_choice all[SCHED_RULE_CHOICES];
	struct sched_target more = *site->t;
	struct sched_extent *extent = NEWN(site->p->arena, struct sched_extent, more.extents + 1);
	for (int i = 0; i < more.extents; i++) {
		extent[i] = more.extent[i];
		extent[i].value *= TIMES;
	}
	more.extent = extent;
	more.typical *= TIMES;
	const struct sched_site larger = { site->p, site->s, &more, site->found };
	if (!candidates(&larger, all))
		return false;
	*out = all[0];
	return true;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	const char *name = arena_printf(p->arena, "%s_words", site->s->out->name);
	const struct ir_buffer *words = NULL;
	struct sched_choice more;
	int64_t rows;
	bool alone = grid_shape_of(site->found, c).alone; /* such blocks take any number of rows */
	if (!alone)
		words = words_new(plan, name, grid_words(site->found));
	struct ir_step *step = step_new(plan);
	add_grid(plan, step, site, c, words, "_grid");
	if (!alone && !ir_const_int(grid_rows(site->found), &rows) && choice_for_more(site, &more) &&
	    memcmp(more.param, c->param, sizeof more.param) != 0)
		add_grid(plan, step, site, &more, words, "_more");
	struct sched_choice usual = loop_block_usual(p, site->s);
	loop_block_add(plan, step, site->s, &usual);
}

const struct sched_rule sched_loop_grid = {
	.name = "loop_grid",
	.version = 3,
	.about = "Blocks that all run at the same time compute {units unit} of {rows row} each, and after "
	         "each turn pass the results to one another.",
	.param = { { "threads", 128, 1024 }, { "units", 1, MOST_UNITS }, { "rows", 1, MOST_ROWS }, { "holds", 0, 1 } },
	.none = "no number of its blocks runs at the same time with a block's rows in shared memory",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
