/* Rule attention_wide: attention of 16-bit floats on warpgroups (wgmma), Hopper only. A block takes `queries` queries
 * of one head, 64 per warpgroup, and loops over tiles of `keys` keys and values. Other GPUs that the code is compiled
 * for run what rule attention_mma would make. See attend_mma.h; the parts of the kernel are functions of
 * rt/device/tpat_attention_wide.h. */
#include "sched/attend/attend_mma.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

enum { GROUP = 128, ROWS = 64 /* rows of a warpgroup */ };

static int whole(int size, int by)
{
	return (size + by - 1) / by * by;
}

/* The columns of a product, as attention_wide_width has them. */
static int columns_of(int size)
{
	static const int wider[] = { 160, 192, 256 };
	int columns = size <= 32 ? 32 : whole(size, 16);
	for (int i = 0; i < 3 && columns > 128 && columns != wider[i]; i++)
		if (columns < wider[i])
			columns = wider[i];
	return columns;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	const struct attend_mma *m = sched_match(p, s, &sched_attention_mma, why);
	if (m && m->vector < 8)
		*why = "elements of keys or values do not lie by eights";
	return m && m->vector == 8 ? m : NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct attend_mma *)site->found)->a.stages;
}

/* ---- Choices. ---- */

static int shared_bytes(const struct attend *a, int keys)
{
	return 2 * keys * (whole(a->size, 64) + whole(columns_of(a->value_size), 64)) * 2;
}

static int registers(const struct attend *a, int keys)
{
	return whole(a->size, 16) / 4 + columns_of(a->value_size) / 2 + keys / 2 + keys / 4 + 30;
}

static int most_registers(int queries, const struct sched_target *t)
{
	int most = t->registers / (queries / ROWS * GROUP) / 8 * 8;
	return most < t->thread_registers ? most : t->thread_registers;
}

/* Resident blocks per multiprocessor. */
static int resident(const struct attend *a, int queries, int keys, const struct sched_target *t)
{
	int here = (int)target_resident(t, queries / ROWS * GROUP, (registers(a, keys) + 7) / 8 * 8,
	                                shared_bytes(a, keys));
	return here > 1 ? here : 1;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct sched_target *t = site->t;
	static const int shapes[][2] = { { 128, 64 }, { 64, 64 }, { 128, 128 }, { 64, 128 }, { 192, 128 } };
	int n = 0;
	struct attend_mma m = *(const struct attend_mma *)site->found;
	if (!t->wgmma[m.key_type] || !t->wgmma[m.value_type])
		return 0;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		int queries = shapes[i][0], keys = shapes[i][1];
		if (shared_bytes(&m.a, keys) <= t->block_shared_most &&
		    registers(&m.a, keys) <= most_registers(queries, t))
			out[n++] = (struct sched_choice){ &sched_attention_wide, { queries, keys } };
	}
	return n;
}

/* ---- The kernel. ---- */

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct attend_mma m = *(const struct attend_mma *)site->found;
	struct ir_program *p = m.a.p;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, m.a.stage[m.a.stages - 1], "_wide", c);
	struct attend_place at = { .a = &m.a };
	int queries = c->param[0], keys = c->param[1];
	k->threads = queries / ROWS * GROUP;
	k->arch = site->t->arch; /* wgmma exists on this architecture only */
	k->resident = resident(&m.a, queries, keys, site->t);
	k->shared_bytes = shared_bytes(&m.a, keys);
	expr first = attend_mma_begin(k, &at, &m, queries);
	struct ir_template shape = IR_OF(IR_TYPE(m.key_type), IR_TYPE(m.value_type), IR_NUMBER(keys),
	                                 IR_NUMBER(m.a.size), IR_NUMBER(m.a.value_size), IR_TRUTH(m.turned));
	const struct ir_variable *slots =
	        emit_placed(p, &k->body, ir_object_new(p->pool, &device_attention_wide_slots, shape, "slots"), NULL);
	struct ir_template way = IR_OF(IR_NUMBER(queries / ROWS), IR_TRUTH(m.pairs));
	attend_mma_arguments(emit_invoke(p, &k->body, &device_attention_wide, way), &at, &m, slots, first);
	attend_finish(plan, step, k, &m.a);

	/* A choice small enough for every GPU with tensor cores and all head sizes. */
	int size = whole(m.a.size, 64) + whole(m.a.value_size, 64);
	const struct sched_choice other = { &sched_attention_mma, { 64, size > 256 ? 32 : 64, 1 } };
	attend_mma_kernel(plan, step, &m, &other);
}

/* ---- Time. Rates from the H100 whitepaper: 2048 f16 products and 16 exponentials per clock. ---- */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_target *t = site->t;
	const struct cost_table *measured = cost_table(t);
	const double clock = t->clock_ghz * measured->mma_clock;
	struct attend_mma m = *(const struct attend_mma *)site->found;
	const struct attend *a = &m.a;
	int queries = c->param[0], keys = c->param[1], threads = queries / ROWS * GROUP;
	double blocks = (double)about(attend_blocks(a, queries), t),
	       steps = ceil((double)about(a->dim[a->rows], t) / keys);
	if (m.bounds) /* masks keep half of the scores, as causal ones do */
		steps = (steps + 1) / 2;

	/* One tile of keys of one block. The softmax overlaps with the products of other blocks, and half as much with
	 * those of the block's other warpgroups. */
	double size = whole(a->size, 16) + columns_of(a->value_size), scores = (double)queries * keys;
	double multiply = scores * size / t->wgmma[m.key_type];
	double soften =
	        scores * (1 / measured->functions + (8.0 + (m.score ? ir_cost(m.score) : 0)) / (32 * t->schedulers));
	double here = fmax(1, fmin(resident(a, queries, keys, t), ceil(blocks / t->processors)));
	double step = multiply + (here > 1 ? 0.6 : threads > GROUP ? 0.9 : 1.2) * soften + 50;
	double waves = ceil(blocks / (t->processors * here)), start = 2000 + 30.0 * keys + 10.0 * queries;
	double time = waves * (steps * fmax(step * here, measured->cached_tile_way) + start) / clock;

	double read = (double)about(attend_heads(a), t) * (double)about(a->dim[a->rows], t);
	double bytes = (blocks * queries + read) * size * 2, cache = blocks * steps * keys * size * 2;
	return t->launch_ns + fmax(time, fmax(bytes / t->bytes_per_ns, cache / cost_tiles_rate(t)));
}

const struct sched_rule sched_attention_wide = {
	.name = "attention_wide",
	.version = 1,
	.param = { { "queries", 64, 192 }, { "keys", 64, 128 } },
	.heavy = true,
	.needs = TARGET_WGMMA,
	.none = "the GPU has no warpgroup instructions for these types, or the heads are too large for its shared "
	        "memory",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
