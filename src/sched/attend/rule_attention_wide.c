/* Rule attention_wide: attention of 16-bit floats on warpgroups (wgmma), Hopper only. A block takes `queries` queries
 * of one head, 64 per warpgroup, and loops over tiles of `keys` keys and values. With `engine`, a further warp has the
 * copy engine bring the tiles, if keys and values are plain tensors; else all threads copy them. Other GPUs that the
 * code is compiled for run what rule attention_mma would make. See attend_mma.h; the parts of the kernel are functions
 * of rt/device/tpat_attention_wide.h. */
#include "sched/attend/attend_mma.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

enum { GROUP = 128, WARP = 32, RINGS = 64 /* bytes of barriers */, ROWS = 64 /* rows of a warpgroup */ };

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

static int threads_of(const struct sched_choice *c)
{
	return c->param[0] / ROWS * GROUP + (c->param[2] ? WARP : 0);
}

static int most_registers(const struct sched_choice *c, const struct sched_target *t)
{
	int most = t->registers / threads_of(c) / 8 * 8;
	return most < t->thread_registers ? most : t->thread_registers;
}

static int all_bytes(const struct attend *a, const struct sched_choice *c)
{
	return shared_bytes(a, c->param[1]) + (c->param[2] ? RINGS : 0);
}

/* Resident blocks per multiprocessor. */
static int resident(const struct attend *a, const struct sched_choice *c, const struct sched_target *t)
{
	int here = (int)target_resident(t, threads_of(c), (registers(a, c->param[1]) + 7) / 8 * 8, all_bytes(a, c));
	return here > 1 ? here : 1;
}

static bool has_maps(struct attend_map *map, const struct attend_mma *m)
{
	return !m->turned && attend_map(&map[0], &m->a, m->key, m->a.size) &&
	       attend_map(&map[1], &m->a, m->value, m->a.value_size);
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct sched_target *t = site->t;
	static const int shapes[][2] = {
		{ 128, 64 }, { 64, 64 }, { 128, 128 }, { 64, 128 }, { 192, 128 }, { 192, 64 }
	};
	int n = 0;
	struct attend_mma m = *(const struct attend_mma *)site->found;
	struct attend_map map[2];
	bool maps = target_has(t, TARGET_TMA) && has_maps(map, &m);
	if (!t->wgmma[m.key_type] || !t->wgmma[m.value_type])
		return 0;
	for (int engine = 0; engine <= maps; engine++)
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
			struct sched_choice c = { &sched_attention_wide, { shapes[i][0], shapes[i][1], engine } };
			if (all_bytes(&m.a, &c) <= t->block_shared_most &&
			    registers(&m.a, c.param[1]) <= most_registers(&c, t))
				out[n++] = c;
		}
	return n;
}

/* ---- The kernel. ---- */

static struct ir_kernel *wide_new(struct ir_plan *plan, const struct attend_mma *m, const struct sched_choice *c,
                                  const struct sched_target *t)
{
	struct ir_kernel *k = kernel_new(plan, m->a.stage[m->a.stages - 1], "_wide", c);
	k->threads = threads_of(c);
	k->arch = t->arch; /* wgmma exists on this architecture only */
	k->resident = resident(&m->a, c, t);
	k->shared_bytes = all_bytes(&m->a, c);
	return k;
}

/* Threads copy the tiles. */
static void wide_kernel(struct ir_plan *plan, struct ir_step *step, const struct attend_mma *m,
                        const struct sched_choice *c, const struct sched_target *t)
{
	struct ir_program *p = m->a.p;
	struct ir_kernel *k = wide_new(plan, m, c, t);
	struct attend_place at = { .a = &m->a };
	expr first = attend_mma_begin(k, &at, m, c->param[0]);
	struct ir_template shape = IR_OF(IR_TYPE(m->key_type), IR_TYPE(m->value_type), IR_NUMBER(c->param[1]),
	                                 IR_NUMBER(m->a.size), IR_NUMBER(m->a.value_size), IR_TRUTH(m->turned));
	const struct ir_variable *slots =
	        emit_placed(p, &k->body, ir_object_new(p->pool, &device_attention_wide_slots, shape, "slots"), NULL);
	struct ir_template way = IR_OF(IR_NUMBER(c->param[0] / ROWS), IR_TRUTH(m->pairs));
	attend_mma_arguments(emit_invoke(p, &k->body, &device_attention_wide, way), &at, m, slots, first);
	attend_finish(plan, step, k, &m->a);
}

/* The copy engine brings the tiles. Returns true if the kernel is for all extents. */
static bool ring_kernel(struct ir_plan *plan, struct ir_step *step, const struct attend_mma *m,
                        const struct sched_choice *c, const struct sched_target *t)
{
	static const char *const name[] = { "key_map", "value_map" };
	struct ir_program *p = m->a.p;
	struct attend_map map[2];
	struct ir_kernel *k = wide_new(plan, m, c, t);
	struct attend_place at = { .a = &m->a, .map = map };
	ck(has_maps(map, m));
	for (int i = 0; i < 2; i++) {
		map[i].map.box[1] = i ? 64 : c->param[1];
		map[i].map.var = ir_variable_new(p->pool, TYPE_NONE, "%s", name[i]);
		vec_push(p->arena, &k->maps, map[i].map);
	}
	expr first = attend_mma_begin(k, &at, m, c->param[0]), fits = ir_binary(IR_AND, map[0].fits, map[1].fits);
	struct ir_template shape = IR_OF(IR_TYPE(m->key_type), IR_TYPE(m->value_type), IR_NUMBER(c->param[1]),
	                                 IR_NUMBER(m->a.size), IR_NUMBER(m->a.value_size));
	const struct ir_variable *slots =
	        emit_placed(p, &k->body, ir_object_new(p->pool, &device_attention_ring_slots, shape, "slots"), NULL);
	struct ir_template way = IR_OF(IR_NUMBER(c->param[0] / ROWS), IR_TRUTH(m->pairs), IR_NUMBER(map[0].map.rank),
	                               IR_NUMBER(map[1].map.rank));
	attend_mma_arguments(emit_invoke(p, &k->body, &device_attention_ring, way), &at, m, slots, first);
	if (!ir_is_int(fits, 1))
		kernel_needs(k, fits);
	attend_finish(plan, step, k, &m->a);
	return ir_is_int(fits, 1);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct attend_mma m = *(const struct attend_mma *)site->found;
	struct ir_step *step = step_new(plan);
	struct sched_choice plain = *c;
	plain.param[2] = 0;
	if (!c->param[2] || !ring_kernel(plan, step, &m, c, site->t))
		wide_kernel(plan, step, &m, &plain, site->t);

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
	double here = fmax(1, fmin(resident(a, c, t), ceil(blocks / t->processors)));
	double step = multiply + (here > 1 ? 0.6 : threads > GROUP ? 0.9 : 1.2) * soften + 50;
	/* Measured on an H100: instructions of threads that copy; boxes of 64 elements that heads do not fill;
	 * registers that do not suffice. */
	bool ragged = a->size % 64 || a->value_size % 64;
	step += c->param[2] ? (ragged ? 0.1 * step : 0) : keys * size / 256;
	step *= registers(a, keys) > 190 ? 1.25 : 1;
	double waves = ceil(blocks / (t->processors * here)), start = 2000 + 30.0 * keys + 10.0 * queries;
	double time = waves * (steps * fmax(step * here, measured->cached_tile_way) + start) / clock;

	double read = (double)about(attend_heads(a), t) * (double)about(a->dim[a->rows], t);
	double bytes = (blocks * queries + read) * size * 2, cache = blocks * steps * keys * size * 2;
	return t->launch_ns + fmax(time, fmax(1.05 * bytes / t->bytes_per_ns,
	                                      cache / (c->param[2] ? cost_bulk_rate(t) : cost_tiles_rate(t))));
}

const struct sched_rule sched_attention_wide = {
	.name = "attention_wide",
	.version = 2,
	.param = { { "queries", 64, 192 }, { "keys", 64, 128 }, { "engine", 0, 1 } },
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
