/* Rules for order-preserving compactions: the output position of a point comes from a scan over the space.
 * compact_block: one block, chunk by chunk; for few points. compact_tiles: blocks take tiles, with a look-back scan
 * over the earlier ones. */
#include "sched/build/extents.h"
#include "sched/order/compact.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/finish.h"
#include "sched/core/tiles.h"
#include "sched/build/vectors.h"

#include <math.h>

enum {
	FEW = 1 << 13, /* points for which one block is as fast as many */
	WARP = 32
};

/* Declares `keep`: true if the point is inside the space and is kept. */
static expr emit_keep(const struct compact_points *x, struct ir_block *b, expr point)
{
	struct ir_program *p = x->p;
	expr keep = emit_variable(p, b, "keep", ir_int(p->pool, TYPE_BOOL, 0));
	struct ir_block *then = emit_if(p, b, ir_binary(IR_LT, point, x->count));
	emit_assign(p, then, keep, compact_at_point(x, then, x->s->where, ir_var_of(point->var, x->count)));
	return keep;
}

static void emit_kept(const struct compact_points *x, struct ir_block *b, expr place, expr point)
{
	point = ir_var_of(point->var, x->count);
	emit_store(x->p, b, x->s->out, place, compact_at_point(x, b, x->s->value, point));
}

static void emit_count(const struct compact_points *x, struct ir_block *b, expr n)
{
	emit_store(x->p, b, x->s->count, ir_index(x->p->pool, 0), ir_cast(n, TYPE_I64));
}

static expr index_of(struct ir_program *p, int64_t n)
{
	return ir_index(p->pool, n);
}

/* The serial twin: the first block does everything. */
static void serial(const struct compact_points *x, struct ir_kernel *k)
{
	struct ir_program *p = x->p;
	expr zero = index_of(p, 0), one = index_of(p, 1), block = ir_block(p->pool, NULL);
	struct ir_block *b = emit_if(p, &k->serial, ir_binary(IR_EQ, block, zero));
	expr sum = emit_variable(p, b, "sum", zero), point;
	struct ir_block *loop = emit_loop(p, b, "point", zero, x->count, one, x->count, &point);
	loop = emit_if(p, loop, compact_at_point(x, loop, x->s->where, point));
	emit_kept(x, loop, sum, point);
	emit_assign(p, loop, sum, ir_binary(IR_ADD, sum, one));
	emit_count(x, b, sum);
}

/* ---- compact_block */

static int block_candidates(const struct sched_site *site, struct sched_choice *out)
{
	(void)site;
	int n = 0;
	for (int threads = 1024; threads >= 64; threads /= 4)
		out[n++] = (struct sched_choice){ &sched_compact_block, { threads } };
	return n;
}

static struct ir_kernel *one_block(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c,
                                   const char *suffix, int threads, expr needs)
{
	struct ir_program *p = plan->program;
	struct compact_points x = compact_points_of(p, s);
	struct ir_kernel *k = kernel_new(plan, s, suffix, c);
	expr zero = index_of(p, 0), one = index_of(p, 1), lanes = index_of(p, threads);
	expr thread = ir_thread(p->pool, lanes);
	k->threads = threads;
	k->blocks = one;
	kernel_needs(k, needs);
	expr sum = emit_variable(p, &k->body, "sum", zero);
	expr chunk;
	struct ir_block *b = emit_loop(p, &k->body, "chunk", zero, x.count, lanes, x.count, &chunk);
	expr point = emit_constant(p, b, "point", ir_binary(IR_ADD, chunk, thread), NULL);
	expr keep = emit_keep(&x, b, point), part = emit_variable(p, b, "part", ir_select(keep, one, zero));
	emit_lanes_scan(p, b, part, sum, IR_SUM, threads);
	emit_kept(&x, emit_if(p, b, keep), ir_binary(IR_SUB, part, one), point);
	emit_count(&x, emit_if(p, &k->body, ir_binary(IR_EQ, thread, zero)), sum);
	serial(&x, k);
	return k;
}

static void block_apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	kernel_finish(plan, step_new(plan), one_block(plan, s, c, "", c->param[0], NULL), s);
}

/* ---- compact_tiles */

static int tiles_candidates(const struct sched_site *site, struct sched_choice *out)
{
	(void)site;
	static const int shape[][2] = { { 256, 16 }, { 256, 8 }, { 512, 16 } };
	int n = 0;
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
		out[n++] = (struct sched_choice){ &sched_compact_tiles, { shape[i][0], shape[i][1] } };
	return n;
}

/* The points of a thread. A warp's points are contiguous, and neighbouring lanes take neighbours. */
static struct ir_block *each_point(const struct compact_points *x, struct ir_block *b, const struct tiles *t, expr own,
                                   expr *item, expr *point)
{
	struct ir_program *p = x->p;
	b = emit_unrolled(p, b, "item", t->items, item);
	*point = ir_binary(IR_ADD, own, ir_binary(IR_MUL, *item, index_of(p, WARP)));
	*point = emit_constant(p, b, "point", *point, NULL);
	return b;
}

/* Arrays over a thread's points: whether each is kept, and how many are up to it. */
static struct ir_variable *kept_points(struct ir_program *p)
{
	return ir_variable_of(p->pool, TYPE_BOOL, NULL, IR_HOLDS_KEPT, 0, "kept");
}

static struct ir_variable *point_parts(struct ir_program *p)
{
	return ir_variable_of(p->pool, TYPE_INDEX, NULL, IR_HOLDS_PARTS, 0, "parts");
}

/* Evaluates all conditions once, before any thread waits. Then `parts` is the inclusive scan of the kept points in the
 * tile. */
static expr emit_places(const struct compact_points *x, struct ir_block *b, const struct tiles *t, expr sum)
{
	struct ir_program *p = x->p;
	expr lanes = index_of(p, t->threads), thread = ir_thread(p->pool, lanes), warp = index_of(p, WARP);
	expr item, point;
	expr in_warp = ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, thread, warp), index_of(p, WARP * t->items));
	expr first = ir_binary(IR_MUL, t->tile, index_of(p, t->threads * t->items));
	first = ir_binary(IR_ADD, ir_binary(IR_ADD, first, in_warp), ir_binary(IR_MOD, thread, warp));
	expr own = emit_declare(p, b, "own", first, NULL);
	struct ir_variable *kept = kept_points(p), *parts = point_parts(p);
	emit_array(p, b, kept, t->items);
	emit_array(p, b, parts, t->items);
	struct ir_block *each = each_point(x, b, t, own, &item, &point);
	expr keep = emit_keep(x, each, point);
	emit_set(p, each, kept, item, keep);
	emit_set(p, each, parts, item, ir_select(keep, index_of(p, 1), index_of(p, 0)));
	emit_items_scan(p, b, parts, sum, IR_SUM, t->threads, 1, false);
	return own;
}

/* Has its own twin for 64-bit positions: few points have no tiles, and so no tile states. */
static void few_points(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s,
                       const struct sched_choice *c, expr few)
{
	if (!kernel_finish_narrow(plan, step, one_block(plan, s, c, "_few", 1024, few), s))
		kernel_finish_wide(plan, step, one_block(plan, s, c, "_few_64", 1024, few), s);
}

static void tiles_apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct compact_points x = compact_points_of(p, s);
	struct tiles t = { .threads = c->param[0], .items = c->param[1] };
	expr zero = index_of(p, 0), one = index_of(p, 1), item, point;
	expr count = ir_binary(IR_MAX, one, tiles_of(p, &t, x.count)), state = count; /* one tile even if empty: it
	                                                                                 stores the count */
	expr few = ir_binary(IR_LE, ir_size_limit(p, x.count), index_of(p, FEW));
	bool varies = few->op != IR_CONST_INT;
	if (varies) /* no tile states then */
		state = ir_select(few, zero, count);
	t = tiles_new(plan, s, state, TYPE_INDEX, t.threads, t.items);
	struct ir_step *step = step_new(plan);
	if (varies)
		few_points(plan, step, s, c, few);

	struct ir_kernel *k = kernel_new(plan, s, "", c);
	tiles_take(p, k, &t, count);
	expr sum = emit_variable(p, &k->body, "sum", zero);
	expr own = emit_places(&x, &k->body, &t, sum);
	expr before = tiles_before(p, &k->body, &t, sum, IR_SUM, t.tile);
	expr last = ir_binary(IR_EQ, ir_binary(IR_ADD, t.tile, one), count);
	expr first = ir_binary(IR_EQ, ir_thread(p->pool, index_of(p, t.threads)), zero);
	emit_count(&x, emit_if(p, &k->body, ir_binary(IR_AND, last, first)), ir_binary(IR_ADD, before, sum));
	struct ir_block *b = each_point(&x, &k->body, &t, own, &item, &point);
	expr place = ir_binary(IR_ADD, before, item_of(point_parts(p), item));
	emit_kept(&x, emit_if(p, b, item_of(kept_points(p), item)), ir_binary(IR_SUB, place, one), point);
	serial(&x, k);
	kernel_finish(plan, step, k, s);
}

/* One block, which may be overloaded if the size is unknown. */
static double block_estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct cost_way w = cost_way(site);
	expr count = space_count(site->p, site->s);
	double points = (double)about(count, site->t);
	int64_t known;
	w.axis = site->s->space_rank - 1;
	w.threads = c->param[0];
	w.serial = cost_wait(site->t, ceil(points / c->param[0]) * (60 + c->param[0] / 16.0));
	w.overhead = ir_const_int(ir_size_limit(site->p, count), &known) ? 0 : 4 * site->t->launch_ns;
	return cost_of_way(site, &w);
}

/* Adds to the work the clearing of the tile states and the wait for earlier tiles. */
static double tiles_estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct cost_way w = cost_way(site);
	w.axis = site->s->space_rank - 1;
	w.threads = (double)about(space_count(site->p, site->s), site->t) / c->param[1];
	w.overhead = site->t->launch_ns + cost_table(site->t)->tiles_wait;
	return cost_of_way(site, &w);
}

const struct sched_rule sched_compact_block = {
	.name = "compact_block",
	.version = 1,
	.about = "One block counts and stores the points that are kept, one chunk after the other.",
	.param = { { "threads", 64, 1024 } },
	.match = compact_match,
	.candidates = block_candidates,
	.apply = block_apply,
	.estimate = block_estimate,
};

const struct sched_rule sched_compact_tiles = {
	.name = "compact_tiles",
	.version = 2,
	.about = "Each block takes a tile of the points. How many are kept before it, it learns from the "
	         "blocks before (look-back).",
	.param = { { "threads", 256, 512 }, { "items", 8, 16 } },
	.match = compact_match,
	.candidates = tiles_candidates,
	.apply = tiles_apply,
	.estimate = tiles_estimate,
};
