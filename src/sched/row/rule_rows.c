/* Rule rows: a row program in one kernel. The `lanes` threads of a row keep its elements in registers from the first
 * stage to the last, `steps` vectors of `width` each, of which the last `shared` are in shared memory. steps 0:
 * rows of any length, which every stage loads again. ahead 1: weights and biases are loaded with the row, before the
 * reductions wait for it. */
#include "sched/row/rows_kernel.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

enum { WARP = 32, SHIFTED_LANES = 1024, SHIFTED_STEPS = 16, SHIFTED_FEW = 4, LONGER = 8 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct rows r;
	if (rows_match(&r, p, s)) {
		r.spared = rows_spared(&r);
		r.run = rows_run(&r);
		return FOUND(p, r);
	}
	*why = "the stage is not a reduction along rows that lie in order";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct rows *)site->found)->stages;
}

/* ---- The kernel. */

static void share_rest(struct row_kernel *own, struct ir_kernel *k)
{
	struct ir_program *p = own->p;
	const struct ir_buffer *row = own->r->cache[0].buf;
	int lanes = own->lanes / own->blocks, vectors = (own->steps - own->held) * lanes;
	struct ir_buffer *shared = NEW(p->arena, struct ir_buffer);
	*shared = (struct ir_buffer){
		.name = "rest_of_row", .type = row->type, .rank = 1, .role = IR_TEMP, .id = row->id
	};
	shared->dim[0] = ir_index(p->pool, (int64_t)vectors * own->width);
	vec_push(p->arena, &k->shared, (const struct ir_buffer *)shared);
	own->shared = shared;
	k->shared_bytes = rows_shared_bytes(own->r, lanes, own->width, own->steps - own->held);
	if (k->shared_bytes + TARGET_EXCHANGE > TARGET_SHARED_EVERYWHERE)
		k->arch = own->r->arch;
}

/* `shifted`: for rows of any length, in vectors that start where memory is aligned. */
static void one_kernel(struct ir_plan *plan, struct ir_step *step, const struct rows *found,
                       const struct sched_choice *c, int lanes, int width, int steps, int shared, bool shifted,
                       const char *suffix)
{
	struct ir_program *p = plan->program;
	const struct ir_stage *last = found->stage[found->stages - 1].s;
	struct rows in_order = *found, *r = &in_order;
	rows_args_first(r);
	struct ir_kernel *k = kernel_new(plan, last, suffix, c);
	int beside = r->beside, blocks = c->param[6] > 1 && steps > 0 ? c->param[6] : 1,
	    rows_a_block = beside ? beside : rows_of_block(lanes);
	if (rows_steps_held(r, beside ? lanes * beside : lanes, width, steps, 1) < steps - shared) /* registers have no
	                                                                                              room */
		steps = shared = 0;
	int tail = shifted && blocks == 1 && !shared ? rows_tail(r, lanes, width, steps) : 0;
	steps -= tail > 0;
	struct row_kernel own = { .r = r,
		                  .p = p,
		                  .lanes = lanes * blocks,
		                  .blocks = blocks,
		                  .width = width,
		                  .wide = width,
		                  .steps = steps,
		                  .tail = tail,
		                  .once = c->param[3],
		                  .ahead = c->param[4] && !shifted,
		                  .shifted = shifted };
	struct row_kernel alone = { .r = r, .p = p, .lanes = 1, .width = 1, .wide = 1, .serial = true };
	own.held = steps - shared;
	if (own.held < steps)
		share_rest(&own, k);
	expr rows = r->count, several = ir_index(p->pool, rows_a_block), zero = ir_index(p->pool, 0);
	k->threads = lanes * rows_a_block;
	k->resident = beside ? 0 : rows_resident(r, lanes, own.held * width, shared);
	k->blocks = ceil_div(p, rows, rows_a_block);
	if (blocks > 1) {
		k->cluster = blocks;
		k->arch = r->arch;
		k->blocks = ir_binary(IR_MUL, k->blocks, ir_index(p->pool, blocks));
	}
	expr block = ir_block(p->pool, k->blocks);
	expr thread = ir_thread(p->pool, ir_index(p->pool, k->threads));
	expr turned =
	        r->backwards ? ir_binary(IR_SUB, ir_binary(IR_SUB, k->blocks, ir_index(p->pool, 1)), block) : block;
	expr row = turned, lane = thread, first = ir_binary(IR_MUL, turned, several);
	if (beside) {
		lane = ir_binary(IR_FLOORDIV, thread, several);
		row = ir_binary(IR_ADD, first, ir_binary(IR_MOD, thread, several));
	} else if (rows_a_block > 1) {
		lane = ir_binary(IR_MOD, thread, ir_index(p->pool, lanes));
		row = ir_binary(IR_ADD, first, ir_binary(IR_FLOORDIV, thread, ir_index(p->pool, lanes)));
	}
	if (blocks > 1) {
		expr cluster = ir_index(p->pool, blocks);
		row = first = ir_binary(IR_FLOORDIV, block, cluster);
		own.thread = thread;
		lane = ir_binary(IR_ADD, ir_binary(IR_MUL, ir_binary(IR_MOD, block, cluster), ir_index(p->pool, lanes)),
		                 thread);
	}
	bool alone_each = lanes == 1 && !beside;
	lane = alone_each ? ir_index(p->pool, 0)
	                  : emit_constant(p, &k->body, "lane", lane, ir_index(p->pool, own.lanes));
	if ((lanes < WARP && !alone_each) || beside) /* all lanes exchange values: those without a row repeat the last
	                                              */
		row = ir_binary(IR_MIN, row, ir_binary(IR_SUB, rows, ir_index(p->pool, 1)));
	row = emit_constant(p, &k->body, "row", row, NULL);
	if (rows_a_block > 1 && (lanes >= WARP || alone_each) && !beside)
		emit_return_if(p, &k->body, ir_binary(IR_LE, rows, row));
	own.row = ir_is_int(rows, 1) ? zero : ir_var_of(row->var, rows);
	rows_all_stages(&own, &k->body, lane);
	if (blocks > 1) /* others may still read this block's values */
		emit_invoke(p, &k->body, &device_cluster_wait, IR_OF_NOTHING);

	/* The same rows for a CPU. */
	const struct ir_variable *alone_row = ir_variable_new(p->pool, TYPE_INDEX, "row");
	expr end = ir_binary(IR_MIN, rows, ir_binary(IR_ADD, first, several));
	if (blocks > 1) { /* by the first block of a cluster */
		expr rank = ir_binary(IR_MOD, block, ir_index(p->pool, blocks));
		end = ir_select(ir_binary(IR_EQ, rank, zero), ir_binary(IR_ADD, first, several), first);
	}
	struct ir_block *b = emit_for_each(p, &k->serial, alone_row, first, end, ir_index(p->pool, 1));
	alone.row = ir_var_of(alone_row, rows);
	rows_all_stages(&alone, b, zero);

	/* Guards: complete vectors, and a row that fits. */
	if (shifted)
		shifted_needs(&own, k);
	else if (width > 1)
		kernel_needs(k, whole_multiple(p, r->even ? r->run : r->length, width));
	if (steps > 0 && !shifted)
		kernel_needs(k, ir_binary(IR_LE, r->length, ir_index(p->pool, (int64_t)steps * own.lanes * width)));
	if (steps > 0) /* loads are clamped to the row, which has an element */
		kernel_needs(k, ir_binary(IR_LT, ir_index(p->pool, 0), r->length));
	kernel_needs(k, r->needs);
	k->about = rows_text(&own);
	k->method = rows_method(&own, c);
	kernel_finish(plan, step, k, last);
}

/* True if vectors of `width`, a power of two, divide r->run wherever they divide the rows. */
static bool runs_divide(const struct rows *r, int width)
{
	int64_t runs;
	return whole_multiple(r->p, r->run, width) == whole_multiple(r->p, r->length, width) ||
	       (ir_const_int(ir_binary(IR_FLOORDIV, r->length, r->run), &runs) && runs % 2 != 0);
}

/* Appends the kernel for rows that vectors divide; where they need not divide a run of the row, after one for extents
 * where they do. */
static void whole_kernels(struct ir_plan *plan, struct ir_step *step, const struct rows *r,
                          const struct sched_choice *c, int steps, int shared, const char *suffix)
{
	int lanes = c->param[0], width = c->param[1];
	struct rows even = *r;
	even.even = r->run && !ir_is_int(whole_multiple(r->p, r->run, width), 0);
	if (even.even && !runs_divide(r, width)) {
		one_kernel(plan, step, &even, c, lanes, width, steps, shared, false, "_even");
		even.even = false;
	}
	one_kernel(plan, step, &even, c, lanes, width, steps, shared, false, suffix);
}

/* Appends the kernels for rows that no vector divides (rows_shifted.c), with the lanes of c, as far as registers hold
 * the rows. */
static void apply_shifted(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c)
{
	struct rows own;
	int lanes = c->param[0], width = c->param[1], steps = c->param[2], room = 0;
	if (!rows_shifted(&own, r))
		return;
	int widest = rows_widest(&own);
	steps = rows_shifted_steps(&lanes, width, steps, widest);
	if (!steps)
		steps = SHIFTED_STEPS;
	/* Then rows several times as long each, up to the longest. */
	for (const char *suffix = "_shifted"; room < SHIFTED_LANES * SHIFTED_STEPS; suffix = "_longer") {
		int most = rows_steps_held(&own, lanes, widest, SHIFTED_STEPS, 1);
		steps = steps < most ? steps : most;
		if (steps * lanes <= room)
			break;
		room = steps * lanes;
		int narrow = rows_shifted_width(lanes, steps, widest);
		one_kernel(plan, step, &own, c, lanes, narrow, steps * widest / narrow, 0, true, suffix);
		for (steps = SHIFTED_FEW; lanes < SHIFTED_LANES && lanes * steps < LONGER * room;)
			lanes *= 2;
		if (lanes == SHIFTED_LANES)
			steps = SHIFTED_STEPS;
	}
}

void rows_apply(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c, bool others)
{
	int lanes = c->param[0], width = c->param[1], steps = c->param[2];
	whole_kernels(plan, step, r, c, steps, c->param[5], "");
	if (step->n && step->at[step->n - 1]->arch) /* for other GPUs */
		one_kernel(plan, step, r, c, lanes, width, 0, 0, false, "_again");
	if (others || step_fits_all(step) || (width == 1 && steps == 0))
		return;
	if (lanes > 1) /* others have kernels for rows that are too long for a thread */
		apply_shifted(plan, step, r, c);
	one_kernel(plan, step, r, c, lanes < WARP ? WARP : lanes, 1, 0, 0, false, "_any");
}

void rows_apply_interleaved(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c)
{
	int lanes = c->param[0];
	one_kernel(plan, step, r, c, lanes, c->param[1], c->param[2], 0, false, "");
	if (!step_fits_all(step))
		one_kernel(plan, step, r, c, lanes, 1, 0, 0, false, "_any");
}

void rows_apply_shift(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c)
{
	int lanes = c->param[0];
	one_kernel(plan, step, r, c, lanes, c->param[1], c->param[2], c->param[5], true, "");
	if (!step_fits_all(step))
		one_kernel(plan, step, r, c, lanes < WARP ? WARP : lanes, 1, 0, 0, false, "_any");
}

void rows_apply_cluster(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c)
{
	int lanes = c->param[0], width = c->param[1], steps = c->param[2], shared = c->param[5];
	expr divided = whole_multiple(r->p, r->length, width);
	bool always = ir_is_int(divided, 1), never = ir_is_int(divided, 0);
	struct rows shifted;
	if (!never)
		whole_kernels(plan, step, r, c, steps, shared, "");
	if (!always && rows_shifted(&shifted, r))
		one_kernel(plan, step, &shifted, c, lanes, width, steps, shared, true, never ? "" : "_shifted");
	/* For longer rows, and for other GPUs. */
	if (!never && !always)
		one_kernel(plan, step, r, c, lanes, width, 0, 0, false, "_again");
	if (!step_fits_all(step))
		one_kernel(plan, step, r, c, lanes, always ? width : 1, 0, 0, false, "_any");
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct rows r = *(const struct rows *)site->found;
	r.arch = site->t->arch;
	rows_apply(plan, step_new(plan), &r, c, false);
}

const struct sched_rule sched_rows = {
	.name = "rows",
	.version = 4,
	.about = "A row has {lanes thread}{steps?, and stays in registers from the first stage to the last: "
	         "{steps vector} of {width element} each{once?, loaded past the caches}}{steps!, and every stage "
	         "reads it again}.{shared? The last {shared vector} of each thread are in shared memory.}",
	.param = { { "lanes", 1, 1024 },
	           { "width", 1, 16 },
	           { "steps", 0, 128 },
	           { "once", 0, 1 },
	           { "ahead", 0, 1 },
	           { "shared", 0, 32 } },
	.match = match,
	.span = span,
	.candidates = rows_candidates,
	.apply = apply,
	.estimate = rows_estimate,
};
