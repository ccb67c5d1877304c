/* Rule attention_mma: attention of 16-bit floats on tensor cores, all stages in one kernel. A block takes `queries`
 * queries of one head, each warp 16 * `tiles` of them, and loops over tiles of `keys` keys and values. See
 * attend_mma.h; the parts of the kernel are functions of rt/device/tpat_attention.h. */
#include "sched/attend/attend_mma.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

enum {
	WARP = 32,
	ROWS = 16 /* rows of one mma */
};

/* ---- Choices. ---- */

static int width(int size) /* as attention_width */
{
	int row = 16;
	while (row < size)
		row *= 2;
	return row;
}

static int whole(int size)
{
	return (size + 15) / 16 * 16;
}

static int slot_bytes(const struct attend *a, int keys)
{
	return keys * (width(a->size) + width(a->value_size)) * 2;
}

static int slots_of(const struct attend *a, int keys)
{
	return 2 * slot_bytes(a, keys) <= TARGET_DECLARED ? 2 : 1;
}

/* Registers per thread: its part of the queries, sums, scores and weights, and about 50 others. */
static int registers(const struct attend *a, int keys, int tiles)
{
	return tiles * (whole(a->size) / 4 + whole(a->value_size) / 2 + keys / 2 + keys / 4) + 50;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct sched_target *t = site->t;
	static const int shapes[][3] = { { 128, 64, 2 }, { 128, 64, 1 }, { 64, 64, 1 }, { 128, 32, 2 }, { 128, 32, 1 },
		                         { 64, 32, 1 },  { 32, 64, 1 },  { 32, 32, 1 }, { 16, 64, 1 },  { 16, 16, 1 } };
	enum { SHAPES = sizeof shapes / sizeof *shapes };
	int n = 0;
	struct attend_mma m = *(const struct attend_mma *)site->found;
	for (int i = 0; i < SHAPES && attend_mma_runs(&m, t); i++)
		if (slot_bytes(&m.a, shapes[i][1]) <= TARGET_DECLARED &&
		    registers(&m.a, shapes[i][1], shapes[i][2]) <= t->thread_registers)
			out[n++] = (struct sched_choice){ &sched_attention_mma,
				                          { shapes[i][0], shapes[i][1], shapes[i][2] } };
	return n;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct attend_mma m;
	return attend_mma_match(&m, p, s, why) ? FOUND(p, m) : NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct attend_mma *)site->found)->a.stages;
}

/* ---- The kernel. ---- */

static void call_attention(struct ir_block *b, const struct attend_place *at, const struct attend_mma *m,
                           const struct sched_choice *c, expr first)
{
	const struct attend *a = &m->a;
	struct ir_program *p = a->p;
	int queries = c->param[0], keys = c->param[1], tiles = c->param[2];
	struct ir_template shape =
	        IR_OF(IR_TYPE(m->key_type), IR_TYPE(m->value_type), IR_NUMBER(keys), IR_NUMBER(a->size),
	              IR_NUMBER(a->value_size), IR_NUMBER(slots_of(a, keys)), IR_TRUTH(m->turned));
	const struct ir_variable *slots =
	        emit_shared(p, b, ir_object_new(p->pool, &device_attention_slots, shape, "slots"));
	struct ir_template way = IR_OF(IR_NUMBER(queries / (ROWS * tiles)), IR_NUMBER(tiles), IR_NUMBER(m->places),
	                               IR_NUMBER(m->vector));
	attend_mma_arguments(emit_invoke(p, b, &device_attention_mma, way), at, m, slots, first);
}

void attend_mma_kernel(struct ir_plan *plan, struct ir_step *step, const struct attend_mma *m,
                       const struct sched_choice *c)
{
	const struct attend *a = &m->a;
	struct ir_kernel *k = kernel_new(plan, a->stage[a->stages - 1], "", c);
	struct attend_place at = { .a = a };
	int queries = c->param[0];
	k->threads = queries / (ROWS * c->param[2]) * WARP;
	expr first = attend_mma_begin(k, &at, m, queries);
	call_attention(&k->body, &at, m, c, first);
	attend_finish(plan, step, k, a);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct attend_mma m = *(const struct attend_mma *)site->found;
	attend_mma_kernel(plan, step_new(plan), &m, c);
}

/* ---- Time: products at the rate of mma.sync (see rule_contract.c), 16 exponentials per clock, in waves of blocks.
 * ---- */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_target *t = site->t;
	const struct cost_table *measured = cost_table(t);
	struct attend_mma m = *(const struct attend_mma *)site->found;
	const struct attend *a = &m.a;
	int queries = c->param[0], keys = c->param[1], tiles = c->param[2], warps = queries / (ROWS * tiles);
	double blocks = (double)about(attend_blocks(a, queries), t),
	       most = ceil((double)about(a->dim[a->rows], t) / keys), steps = most;
	if (m.bounds) /* masks keep half of the scores, as causal ones do */
		steps = (most + 1) / 2;

	/* One tile of keys of one block, alone on a multiprocessor. */
	double size = whole(a->size) + whole(a->value_size), scores = (double)queries * keys;
	double multiply = scores * size / t->mma[m.key_type];
	double feed = warps * keys * size * 2 / measured->shared_bytes;
	double soften =
	        scores * (1 / measured->functions + (8.0 + (m.score ? ir_cost(m.score) : 0)) / (32 * t->schedulers));
	double step = fmax(multiply, feed) + 0.5 * soften + 60;

	double used = fmin(registers(a, keys, tiles) + 20, t->thread_registers), slots = slots_of(a, keys);
	double here = target_resident(t, warps * WARP, used, slots * slot_bytes(a, keys));
	here = fmax(1, fmin(here, ceil(blocks / t->processors)));
	double together = fmax(step * here, step + measured->cached_tile_way / slots);
	double waves = ceil(blocks / (t->processors * here)), start = 4000 + 5.0 * keys + 10.0 * queries;
	double time = cost_mma_time(t, fmax(waves * (steps * together + start), most * together + start));

	double rows = (double)about(attend_blocks(a, queries), t) * queries;
	double read = (double)about(attend_heads(a), t) * (double)about(a->dim[a->rows], t);
	double bytes = (rows + read) * size * 2, cache = blocks * steps * keys * size * 2;
	/* Measured on an H100: a warp alone copies and multiplies in turn. */
	double moving = bytes / t->bytes_per_ns * (warps > 1 ? 1.1 : 1.35);
	return t->launch_ns + fmax(1.2 * time, fmax(moving, cache / cost_tiles_rate(t)));
}

const struct sched_rule sched_attention_mma = {
	.name = "attention_mma",
	.version = 1,
	.about = "A block computes {queries} queries of one head on tensor cores, and goes over tiles of "
	         "{keys} keys and values. Scores are never stored.",
	.param = { { "queries", 16, 128 }, { "keys", 16, 64 }, { "tiles", 1, 2 } },
	.heavy = true,
	.none = "the GPU has no tensor cores for these types, or the heads are too large for its registers and shared "
	        "memory",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
