/* Rule attention_few: attention of few queries over many keys, on tensor cores. A block takes 16 * `tiles` queries of
 * the heads that share keys and values; its warps take the keys in turn. With `blocks`, about so many blocks share the
 * keys of all heads, and a second kernel joins their sums. See attend_mma.h; the parts of the kernels are functions of
 * rt/device/tpat_attention_few.h. */
#include "sched/attend/attend_parts.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"

#include <math.h>

enum { WARP = 32, ROWS = 16 /* rows of one mma */, KEYS = 16 /* of a warp at a time */ };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	const struct attend_mma *m = sched_match(p, s, &sched_attention_mma, why);
	if (m && (m->turned || m->vector < 8))
		*why = m->turned ? "the keys are transposed in memory"
		                 : "keys or values are not in groups of eight contiguous elements";
	return m && !m->turned && m->vector == 8 ? m : NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct attend_mma *)site->found)->a.stages;
}

/* ---- Choices. ---- */

static int whole(int size, int by)
{
	return (size + by - 1) / by * by;
}

/* Registers per thread: its part of the queries, sums, keys and values, and about 60 others. */
static int registers(const struct attend *a, int tiles)
{
	int size = whole(a->size, 32), columns = whole(a->value_size, 64);
	return tiles * (size / 4 + columns / 2 + 12) + size / 4 + columns / 4 + 60;
}

static int shared_bytes(const struct attend *a, int warps)
{
	return warps * 8 * (whole(a->value_size, 64) + 6) * 4;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct sched_target *t = site->t;
	const struct attend_mma *m = site->found;
	int n = 0;
	if (!attend_mma_runs(m, t))
		return 0;
	for (int tiles = 1; tiles <= 2; tiles++)
		for (int warps = 8; warps >= 4; warps /= 2)
			for (int waves = 0; waves <= 4; waves = waves ? 2 * waves : 1)
				if (registers(&m->a, tiles) <= t->thread_registers &&
				    registers(&m->a, tiles) * warps * WARP <= t->registers &&
				    shared_bytes(&m->a, warps) <= TARGET_DECLARED)
					out[n++] = (struct sched_choice){ &sched_attention_few,
						                          { warps, tiles, waves * t->processors } };
	return n;
}

/* ---- The kernels. ---- */

/* How blocks share the keys. */
static struct attend_parts parts_of(const struct sched_choice *c)
{
	return (struct attend_parts){ ROWS * c->param[1], 2 * KEYS * c->param[0], c->param[2] };
}

static const struct ir_variable *exchange(struct ir_program *p, struct ir_block *b, const struct ir_device_type *type,
                                          int warps, int columns)
{
	struct ir_template shape = IR_OF(IR_NUMBER(warps), IR_NUMBER(columns));
	return emit_shared(p, b, ir_object_new(p->pool, type, shape, "shared"));
}

static void apply_whole(struct ir_plan *plan, const struct attend_mma *m, const struct sched_choice *c)
{
	const struct attend *a = &m->a;
	struct ir_program *p = a->p;
	struct ir_kernel *k = kernel_new(plan, a->stage[a->stages - 1], "_few", c);
	struct attend_place at = { .a = a };
	k->threads = c->param[0] * WARP;
	expr first = attend_mma_begin(k, &at, m, ROWS * c->param[1]);
	const struct ir_variable *shared =
	        exchange(p, &k->body, &device_attention_few_parts, c->param[0], a->value_size);
	struct ir_template way = IR_OF(IR_NUMBER(c->param[1]), IR_NUMBER(a->size), IR_TRUTH(m->places > 1));
	attend_mma_arguments(emit_invoke(p, &k->body, &device_attention_few, way), &at, m, shared, first);
	attend_finish(plan, step_new(plan), k, a);
}

static void part_kernel(struct ir_plan *plan, const struct attend_mma *m, const struct sched_choice *c,
                        const struct ir_buffer *records)
{
	const struct attend *a = &m->a;
	const struct attend_parts parts = parts_of(c);
	struct ir_program *p = a->p;
	struct attend_place at = { .a = a };
	struct ir_kernel *k = kernel_new(plan, a->stage[a->stages - 1], "_parts", c);
	k->threads = c->param[0] * WARP;
	struct attend_part part = attend_part_begin(k, &at, &parts);
	attend_mma_inputs(&at, &k->body, m);
	const struct ir_variable *shared =
	        exchange(p, &k->body, &device_attention_few_parts, c->param[0], a->value_size);
	struct ir_template way = IR_OF(IR_NUMBER(c->param[1]), IR_NUMBER(a->size));
	struct ir_call *call = emit_invoke(p, &k->body, &device_attention_few_part, way);
	attend_mma_add_inputs(call, &at, m, shared, part.first);
	attend_part_arguments(p, call, &part, records);
	attend_finish(plan, step_new(plan), k, a);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct attend_mma m = *(const struct attend_mma *)site->found;
	if (!c->param[2]) {
		apply_whole(plan, &m, c);
		return;
	}
	const struct attend_parts parts = parts_of(c);
	const struct ir_buffer *records = attend_records_new(&m.a, &parts);
	part_kernel(plan, &m, c, records);
	attend_join_kernel(plan, &m, c, &parts, records);
}

/* ---- Time: the bytes of keys and values, at the rate that the loads in flight reach; or the instructions of the warps
 * that are resident. ---- */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_target *t = site->t;
	const struct attend_mma *m = site->found;
	const struct attend *a = &m->a;
	int warps = c->param[0], tiles = c->param[1];
	double alone = (double)about(attend_blocks(a, ROWS * tiles), t), keys = (double)about(a->dim[a->rows], t);
	const struct attend_parts shares = parts_of(c);
	double parts = c->param[2] ? (double)about(attend_parts_of(a, &shares), t) : 1, blocks = alone * parts;
	double heads = (double)about(attend_heads(a), t), rows = heads * (double)about(attend_queries(a), t);
	double size = a->size + a->value_size, kept = m->bounds && rows > heads ? 0.5 : 1;
	double bytes = heads * keys * size * 2, cache = alone * keys * size * 2 * kept;

	/* Steps of 16 keys: instructions, and the latency of loads for a warp alone. */
	double padded = whole(a->size, 32) + whole(a->value_size, 64), latency = 1200;
	double issue = padded * 0.6 + tiles * (padded * 0.72 + 72 + 10 * (m->score ? ir_cost(m->score) : 0));
	double most = keys / (parts * warps * KEYS), steps = ceil(most * kept);
	double here = fmax(1, fmin(target_resident(t, warps * WARP, fmin(registers(a, tiles), t->thread_registers),
	                                           shared_bytes(a, warps)),
	                           ceil(blocks / t->processors)));
	double waves = ceil(blocks / (t->processors * here));
	double turn = fmax(latency + issue, here * warps * issue / t->schedulers), start = 1000 + 300 * tiles;
	double time = fmax(waves * steps, ceil(most)) * turn / t->clock_ghz + waves * cost_wait(t, start);

	double moving = attend_load_time(t, bytes, cache, blocks) + cost_wait(t, start);
	return t->launch_ns + fmax(time, moving) + (c->param[2] ? attend_join_time(a, t, rows * parts) : 0);
}

const struct sched_rule sched_attention_few = {
	.name = "attention_few",
	.version = 1,
	.about = "The {warps} warps of a block take the keys in turn, for up to {tiles tile} of 16 queries "
	         "of the heads that share them.{blocks? About {blocks} blocks share the keys of all heads, "
	         "and a second kernel joins their sums.}",
	.param = { { "warps", 4, 8 }, { "tiles", 1, 2 }, { "blocks", 0, 4096 } },
	.heavy = true,
	.none = "the GPU has no tensor cores for these types, or the heads are too large for its registers",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
