/* Rule loop_lanes: a loop of few units, such as a recurrence with a matrix product of a small state: a block makes a
 * row, with some neighbouring lanes for each unit, which keep its weights and results in registers. A turn is as long
 * as the way from one turn's results to the next, mostly functions and one barrier. See loop_lanes.h. */
#include "sched/build/accumulate.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"
#include "sched/loop/loop_lanes.h"

#include <math.h>

enum {
	WARP = 32,
	OTHER_REGISTERS = 40, /* of a thread, next to what lanes_registers() counts */
	MOST_WRITTEN = 1024,  /* multiply-adds of a lane, which are written out */
};

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	return lanes_find(p, s, why);
}

static int shuffles(int lanes)
{
	int n = 0;
	while (1 << n < lanes)
		n++;
	return n;
}

/* Clocks of a turn: the longest way, and what a warp's instructions take. */
struct turn {
	double way, issued;
};

static struct turn turn_of(const struct lanes_loop *l, int lanes)
{
	enum { SHARED = 30, SHUFFLE = 28, FMA = 4, FUNCTION = 90, PUBLISH = 60 };
	struct turn x = { .way = 20 };
	vec_each (s, &l->stages) {
		bool sum = s->s->kind == IR_REDUCE;
		expr after = sum ? s->s->post : s->s->value;
		int copies = l->g->copies[s->s->out->id], points = sum ? lanes_steps(l, s, lanes) * s->width : 0;
		double cost = after ? ir_cost(after) : 0, each = sum ? ir_cost(s->s->value) - 4 : 0;
		each = each < 1 ? 1 : each;
		x.issued += copies * (points * each + 2 * shuffles(lanes) + 2 * cost);
		x.issued += sum ? (double)points * (s->vectors ? (double)s->vectors / s->width : 1) : 0;
		x.way += FMA * points + (sum ? SHARED + SHUFFLE * shuffles(lanes) : 0);
		x.way += cost >= 8 ? FUNCTION : FMA * cost / 2;
		x.way += s->reads_others ? PUBLISH : 0;
	}
	return x;
}

static double rows_of(const struct lanes_loop *l, const struct sched_target *t)
{
	return (double)about(grid_rows(l->g), t) * (double)about(grid_outer(l->g), t);
}

static int registers_of(const struct lanes_loop *l, int lanes)
{
	return lanes_registers(l, lanes) + OTHER_REGISTERS;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct lanes_loop *l = site->found;
	const struct sched_target *t = site->t;
	int lanes = c->param[0], threads = lanes_threads(l, lanes);
	double shared = (double)lanes_shared_bytes(l, lanes), trip = (double)about(site->s->loop->trip, t);
	double most = target_resident(t, threads, registers_of(l, lanes), shared);
	double each = rows_of(l, t) / t->processors, together = fmin(ceil(each), fmax(most, 1));
	const struct turn x = turn_of(l, lanes);
	double clocks = x.way + x.issued * ceil(together * threads / WARP / t->schedulers);
	return t->launch_ns + ceil(ceil(each) / together) * trip * clocks / t->clock_ghz;
}

static bool fits(const struct sched_site *site, int lanes)
{
	const struct lanes_loop *l = site->found;
	int threads = lanes_threads(l, lanes);
	bool written = true;
	vec_each (s, &l->stages)
		written &= s->s->kind != IR_REDUCE ||
		           l->g->copies[s->s->out->id] * lanes_steps(l, s, lanes) * s->width <= MOST_WRITTEN;
	return written && threads <= LANES_MOST_THREADS &&
	       registers_of(l, lanes) <= target_thread_registers(site->t, threads) &&
	       registers_of(l, lanes) * threads <= TARGET_REGISTERS_EVERYWHERE &&
	       lanes_shared_bytes(l, lanes) <= TARGET_DECLARED_DATA;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	int n = 0;
	for (int lanes = 1; lanes <= LANES_MOST_LANES; lanes *= 2)
		if (fits(site, lanes))
			out[n++] = (struct sched_choice){ &sched_loop_lanes, { lanes } };
	for (int i = 1; i < n; i++)
		if (estimate(site, &out[i]) < estimate(site, &out[0])) {
			struct sched_choice first = out[0];
			out[0] = out[i];
			out[i] = first;
		}
	return n;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct lanes_loop *l = site->found;
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, site->s, "_lanes", c);
	k->threads = lanes_threads(l, c->param[0]);
	k->blocks = ir_binary(IR_MUL, grid_rows(l->g), grid_outer(l->g));
	lanes_emit(p, l, c->param[0], k);
	struct sched_choice alone = { &sched_loop_block, { k->threads, 1, 0, 1 } };
	loop_emit(loop_plan_new(p, site->s, &alone), k, &k->serial, true);
	kernel_finish(plan, step, k, site->s);
}

const struct sched_rule sched_loop_lanes = {
	.name = "loop_lanes",
	.version = 1,
	.about = "A block runs the loop of one row. {lanes thread} compute each unit, and keep its weights "
	         "in registers.",
	.param = { { "lanes", 1, LANES_MOST_LANES } },
	.none = "a unit's share of the weights does not fit into the registers of its lanes",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
