/* Rule attention_few: attention of few queries over many keys, on tensor cores. A block takes 16 * `tiles` queries of
 * the heads that share keys and values; its warps take the keys in turn. With `blocks`, about so many blocks share the
 * keys of all heads, and a second kernel joins their sums. See attend_mma.h; the parts of the kernels are functions of
 * rt/device/tpat_attention_few.h. */
#include "sched/attend/attend_mma.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"

#include <math.h>

enum { WARP = 32, ROWS = 16 /* rows of one mma */, KEYS = 16 /* of a warp at a time */, JOIN_WARPS = 8 };

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

/* The parts of the keys of each head: `blocks` for all heads, but at least two turns of a block's warps in each. */
static expr parts_of(const struct attend *a, const struct sched_choice *c)
{
	struct ir_program *p = a->p;
	expr one = ir_index(p->pool, 1), alone = attend_blocks(a, ROWS * c->param[1]);
	expr parts = ir_binary(IR_FLOORDIV, ir_index(p->pool, c->param[2]), ir_binary(IR_MAX, alone, one));
	return ir_binary(IR_MAX, one, ir_binary(IR_MIN, parts, ceil_div(p, a->dim[a->rows], 2 * KEYS * c->param[0])));
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
	struct ir_template way = IR_OF(IR_NUMBER(c->param[1]), IR_NUMBER(a->size), IR_TRUTH(m->pairs));
	attend_mma_arguments(emit_invoke(p, &k->body, &device_attention_few, way), &at, m, shared, first);
	attend_finish(plan, step_new(plan), k, a);
}

/* The number of a head's first row among the rows of all heads, in a kernel with tiles of `queries` rows. */
static expr first_row(const struct attend *a, expr block, int queries)
{
	expr rows = attend_queries(a), tiles = ceil_div(a->p, rows, queries);
	return ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, block, tiles), rows);
}

/* Records of partial sums: as many floats as attention_few_record has, for each row and part. */
static const struct ir_buffer *records_new(const struct attend *a, const struct sched_choice *c)
{
	struct ir_program *p = a->p;
	expr tile = ir_index(p->pool, ROWS * c->param[1]), rows = ir_binary(IR_MIN, attend_queries(a), tile);
	/* A bound that grows with every extent, since memory is allocated for the largest ones. */
	expr most = ir_binary(IR_MAX, attend_blocks(a, ROWS * c->param[1]), ir_index(p->pool, c->param[2]));
	expr size = ir_binary(IR_MUL, ir_binary(IR_MUL, most, rows), ir_index(p->pool, whole(a->value_size, 2) + 2));
	return ir_buffer_new(p, arena_printf(p->arena, "%s_parts", a->out->name), TYPE_F32, 1, &size, IR_TEMP);
}

static void part_kernel(struct ir_plan *plan, const struct attend_mma *m, const struct sched_choice *c,
                        const struct ir_buffer *records)
{
	const struct attend *a = &m->a;
	struct ir_program *p = a->p;
	struct ir_kernel *k = kernel_new(plan, a->stage[a->stages - 1], "_parts", c);
	struct attend_place at = { .a = a };
	int queries = ROWS * c->param[1];
	expr alone = attend_blocks(a, queries);
	k->threads = c->param[0] * WARP;
	k->blocks = ir_binary(IR_MUL, alone, parts_of(a, c));
	emit_comment(p, &k->serial, "the kernel after this one does all of the work");
	expr block = ir_block(p->pool, k->blocks);
	expr parts = emit_declare(p, &k->body, "parts", parts_of(a, c), ir_index(p->pool, c->param[2] + 1));
	expr part = emit_constant(p, &k->body, "part", ir_binary(IR_MOD, block, parts), parts);
	expr tile = emit_constant(p, &k->body, "tile", ir_binary(IR_FLOORDIV, block, parts), alone);
	expr first = attend_block(&at, &k->body, queries, tile);
	attend_mma_inputs(&at, &k->body, m);
	const struct ir_variable *shared =
	        exchange(p, &k->body, &device_attention_few_parts, c->param[0], a->value_size);
	struct ir_template way = IR_OF(IR_NUMBER(c->param[1]), IR_NUMBER(a->size));
	struct ir_call *call = emit_invoke(p, &k->body, &device_attention_few_part, way);
	attend_mma_add_inputs(call, &at, m, shared, first);
	add_value(p, call, part);
	add_value(p, call, parts);
	add_address(p, call, records, ir_index(p->pool, 0), true);
	add_value(p, call, first_row(a, tile, queries));
	attend_finish(plan, step_new(plan), k, a);
}

static void join_kernel(struct ir_plan *plan, const struct attend_mma *m, const struct sched_choice *c,
                        const struct ir_buffer *records)
{
	const struct attend *a = &m->a;
	struct ir_program *p = a->p;
	struct ir_kernel *k = kernel_new(plan, a->stage[a->stages - 1], "_joined", c);
	struct attend_place at = { .a = a }, alone = { .a = a };
	k->threads = JOIN_WARPS * WARP;
	k->blocks = attend_blocks(a, 1);
	expr block = ir_block(p->pool, k->blocks);
	attend_serial(&alone, &k->serial, 1, attend_block(&alone, &k->serial, 1, block));
	expr row = attend_block(&at, &k->body, 1, block);
	expr parts = emit_declare(p, &k->body, "parts", parts_of(a, c), ir_index(p->pool, c->param[2] + 1));
	attend_mma_results(&at, &k->body, m);
	const struct ir_variable *shared = exchange(p, &k->body, &device_attention_few_row, JOIN_WARPS, a->value_size);
	struct ir_call *call = emit_invoke(p, &k->body, &device_attention_few_all, IR_OF(IR_TRUTH(m->pairs)));
	add_variable(p, call, shared);
	add_value(p, call, row);
	add_value(p, call, a->dim[a->rows]);
	add_address(p, call, records, ir_index(p->pool, 0), false);
	add_value(p, call, ir_binary(IR_ADD, first_row(a, block, 1), row));
	add_value(p, call, parts);
	attend_mma_add_results(call, &at, m);
	attend_finish(plan, step_new(plan), k, a);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct attend_mma m = *(const struct attend_mma *)site->found;
	if (!c->param[2]) {
		apply_whole(plan, &m, c);
		return;
	}
	const struct ir_buffer *records = records_new(&m.a, c);
	part_kernel(plan, &m, c, records);
	join_kernel(plan, &m, c, records);
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
	double parts = c->param[2] ? (double)about(parts_of(a, c), t) : 1, blocks = alone * parts;
	double heads = (double)about(attend_heads(a), t), rows = heads * (double)about(attend_queries(a), t);
	double size = a->size + a->value_size, kept = m->bounds && rows > heads ? 0.5 : 1;
	double bytes = heads * keys * size * 2, cache = alone * keys * size * 2 * kept;

	/* Steps of 16 keys: instructions, and the latency of loads for a warp alone. */
	double padded = whole(a->size, 32) + whole(a->value_size, 64), latency = 1200;
	double issue = padded * 0.5 + tiles * (padded * 0.6 + 60 + 8 * (m->score ? ir_cost(m->score) : 0));
	double steps = ceil(keys * kept / (parts * warps * KEYS));
	double here = fmax(1, fmin(target_resident(t, warps * WARP, fmin(registers(a, tiles), t->thread_registers),
	                                           shared_bytes(a, warps)),
	                           ceil(blocks / t->processors)));
	double waves = ceil(blocks / (t->processors * here));
	double turn = fmax(latency + issue, here * warps * issue / t->schedulers), start = 1000 + 300 * tiles;
	double time = waves * (steps * turn / t->clock_ghz + cost_wait(t, start));

	/* Measured on an H100: a block of 8 warps loads at most 20 bytes per clock. */
	double alone_rate = fmin(blocks, t->processors) * 20 * t->clock_ghz;
	double moving =
	        fmax(bytes / t->bytes_per_ns, cache / fmin(cost_tiles_rate(t), alone_rate)) + cost_wait(t, start);
	double joined = rows * parts * (a->value_size + 2) * 8;
	double join = c->param[2] ? t->launch_ns * 0.4 + cost_wait(t, 500) + joined / cost_tiles_rate(t) : 0;
	return t->launch_ns + fmax(time, moving) + join;
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
