/* Rule attention_wide: attention of 16-bit floats on warpgroups (wgmma), Hopper only. A block takes `queries` queries
 * of one head, 64 per warpgroup, and loops over tiles of `keys` keys and values. With `engine`, a further warpgroup has
 * the copy engine bring the tiles, if keys and values are plain tensors, and leaves most of its registers to the
 * others, whose queries are in shared memory; else all threads copy tiles, and keep queries in registers. With `engine`
 * 2, only as many blocks as run at the same time take all tiles of queries in turn: copies for the next one begin while
 * the one before ends. Other GPUs that the code is compiled for run what rule attention_mma would make. See
 * attend_mma.h; the parts of the kernel are functions of rt/device/tpat_attention_wide.h. */
#include "sched/attend/attend_mma.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

enum {
	GROUP = 128,
	RINGS = 64,   /* bytes of barriers */
	ROWS = 64,    /* rows of a warpgroup */
	COPYING = 24, /* least registers of a thread of the warpgroup that has tiles copied */
	MOST_COPYING = 56,
	BETWEEN = 80,        /* keys of a tile of large heads, as many as fit */
	MOST_REGISTERS = 240 /* of the others' */
};

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
		*why = "keys or values are not in groups of eight contiguous elements";
	return m && m->vector == 8 ? m : NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct attend_mma *)site->found)->a.stages;
}

/* ---- Choices. ---- */

/* The choice's parameters. */
static int groups_of(const struct sched_choice *c)
{
	return c->param[0] / ROWS;
}

static int keys_of(const struct sched_choice *c)
{
	return c->param[1];
}

static bool has_engine(const struct sched_choice *c)
{
	return c->param[2] != 0;
}

static bool is_persistent(const struct sched_choice *c)
{
	return c->param[2] == 2;
}

static int threads_of(const struct sched_choice *c)
{
	return (groups_of(c) + has_engine(c)) * GROUP;
}

static int shared_bytes(const struct attend *a, const struct sched_choice *c)
{
	int size = whole(a->size, 64), tiles = 2 * keys_of(c) * (size + whole(columns_of(a->value_size), 64)) * 2;
	return tiles + (has_engine(c) ? groups_of(c) * ROWS * size * 2 + RINGS : 0);
}

/* Registers that a thread with queries needs. */
static int registers(const struct attend *a, const struct sched_choice *c)
{
	/* Without the engine also their part of the queries, and addresses of the copies. */
	int others = has_engine(c) ? 30 : whole(a->size, 16) / 4 + 56;
	return columns_of(a->value_size) / 2 + keys_of(c) / 2 + keys_of(c) / 4 + others;
}

/* Registers that such a thread has if `blocks` blocks share a multiprocessor. */
static int has_registers(const struct sched_choice *c, const struct sched_target *t, int blocks)
{
	int each = target_thread_registers(t, threads_of(c) * blocks) / 8 * 8;
	if (!has_engine(c))
		return each;
	int most = (each * (groups_of(c) + 1) - COPYING) / groups_of(c) / 8 * 8;
	return most < MOST_REGISTERS ? most : MOST_REGISTERS;
}

/* Registers that a thread of the copying warpgroup keeps. */
static int copying_registers(const struct sched_choice *c, const struct sched_target *t, int blocks)
{
	int each = target_thread_registers(t, threads_of(c) * blocks) / 8 * 8, groups = groups_of(c);
	int left = each * (groups + 1) - groups * has_registers(c, t, blocks);
	return left < MOST_COPYING ? left : MOST_COPYING;
}

/* Resident blocks per multiprocessor; 0: not even one. */
static int resident(const struct attend *a, const struct sched_choice *c, const struct sched_target *t)
{
	int n = (int)target_resident(t, threads_of(c), 0, shared_bytes(a, c));
	while (n > 0 && registers(a, c) > has_registers(c, t, n))
		n--;
	return n;
}

static bool has_maps(struct attend_map *map, const struct attend_mma *m)
{
	return !m->turned && attend_map(&map[0], &m->a, m->key, m->a.size) &&
	       attend_map(&map[1], &m->a, m->value, m->a.value_size);
}

/* The blocks of a persistent kernel: as many as run at the same time. */
static int persistent_blocks(const struct attend *a, const struct sched_choice *c, const struct sched_target *t)
{
	return resident(a, c, t) * t->processors;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct sched_target *t = site->t;
	static const int shapes[][3] = { { 128, 64, 0 },     { 64, 64, 0 },  { 128, 128, 0 }, { 64, 128, 0 },
		                         { 192, 128, 0 },    { 192, 64, 0 }, { 128, 128, 1 }, { 192, 128, 1 },
		                         { 64, 128, 1 },     { 128, 64, 1 }, { 64, 64, 1 },   { 128, 128, 2 },
		                         { 192, 128, 2 },    { 128, 64, 2 }, { 64, 64, 2 },   { 128, BETWEEN, 1 },
		                         { 128, BETWEEN, 2 } };
	int n = 0;
	struct attend_mma m = *(const struct attend_mma *)site->found;
	struct attend_map map[2];
	bool maps = target_has(t, TARGET_TMA) && has_maps(map, &m);
	if (!t->wgmma[m.key_type] || !t->wgmma[m.value_type])
		return 0;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct sched_choice c = { &sched_attention_wide, { shapes[i][0], shapes[i][1], shapes[i][2] } };
		if (resident(&m.a, &c, t) <= 0 || (has_engine(&c) && !maps))
			continue;
		if (keys_of(&c) == BETWEEN && columns_of(m.a.value_size) <= 128) /* larger tiles fit */
			continue;
		/* Else each block has one tile anyway. */
		if (!is_persistent(&c) || about(attend_blocks(&m.a, c.param[0]), t) > persistent_blocks(&m.a, &c, t))
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
	k->shared_bytes = shared_bytes(&m->a, c);
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
	struct ir_template shape = IR_OF(IR_TYPE(m->key_type), IR_TYPE(m->value_type), IR_NUMBER(keys_of(c)),
	                                 IR_NUMBER(m->a.size), IR_NUMBER(m->a.value_size), IR_TRUTH(m->turned));
	const struct ir_variable *slots =
	        emit_placed(p, &k->body, ir_object_new(p->pool, &device_attention_wide_slots, shape, "slots"), NULL);
	struct ir_template way = IR_OF(IR_NUMBER(groups_of(c)), IR_NUMBER(m->places));
	attend_mma_arguments(emit_invoke(p, &k->body, &device_attention_wide, way), &at, m, slots, first);
	attend_finish(plan, step, k, &m->a);
}

/* The serial twin: a block's tiles of queries, one after the other. */
static void ring_serial(struct ir_kernel *k, const struct attend_mma *m, const struct sched_choice *c, expr tiles)
{
	struct ir_program *p = m->a.p;
	struct attend_place alone = { .a = &m->a, .uneven = m->bounds };
	const struct ir_variable *each = ir_variable_new(p->pool, TYPE_INDEX, "tile");
	struct ir_block *b = emit_for_each(p, &k->serial, each, ir_block(p->pool, k->blocks), tiles, k->blocks);
	attend_serial(&alone, b, c->param[0], attend_block(&alone, b, c->param[0], ir_var_of(each, tiles)));
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
		map[i].map.box[1] = keys_of(c);
		map[i].map.var = ir_variable_new(p->pool, TYPE_NONE, "%s", name[i]);
		vec_push(p->arena, &k->maps, map[i].map);
	}
	expr fits = ir_binary(IR_AND, map[0].fits, map[1].fits), tiles = attend_blocks(&m->a, c->param[0]);
	k->blocks = tiles;
	if (is_persistent(c)) {
		at.blocks = persistent_blocks(&m->a, c, t);
		k->blocks = ir_binary(IR_MIN, tiles, ir_index(p->pool, at.blocks));
	}
	ring_serial(k, m, c, tiles);
	struct ir_template shape = IR_OF(IR_TYPE(m->key_type), IR_TYPE(m->value_type), IR_NUMBER(groups_of(c)),
	                                 IR_NUMBER(keys_of(c)), IR_NUMBER(m->a.size), IR_NUMBER(m->a.value_size));
	const struct ir_variable *slots =
	        emit_placed(p, &k->body, ir_object_new(p->pool, &device_attention_ring_slots, shape, "slots"), NULL);

	/* A tile of queries, as a function of its number. */
	struct ir_lambda *work = emit_lambda(p, &k->body, "work");
	expr tile = emit_parameter(p, work, TYPE_INDEX, "tile", tiles);
	const struct ir_variable *role = ir_object_new(p->pool, &device_attention_role, IR_OF_NOTHING, "role");
	take_parameter(p, work, role);
	expr first = attend_mma_tile(&at, work->body, m, c->param[0], tile);
	struct ir_template way = IR_OF(IR_TRUTH(m->query_pieces), IR_NUMBER(m->places), IR_NUMBER(map[0].map.rank),
	                               IR_NUMBER(map[1].map.rank));
	struct ir_call *call = emit_invoke(p, work->body, &device_attention_ring_tile, way);
	add_variable(p, call, role);
	attend_mma_arguments(call, &at, m, slots, first);

	struct ir_template registers =
	        IR_OF(IR_NUMBER(has_registers(c, t, k->resident)), IR_NUMBER(copying_registers(c, t, k->resident)));
	call = emit_invoke(p, &k->body, &device_attention_ring, registers);
	add_variable(p, call, slots);
	add_value(p, call, ir_block(p->pool, k->blocks));
	add_value(p, call, k->blocks);
	add_value(p, call, tiles);
	add_variable(p, call, work->var);
	if (!ir_is_int(fits, 1))
		kernel_needs(k, fits);
	attend_finish(plan, step, k, &m->a);
	return ir_is_int(fits, 1);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct attend_mma m = *(const struct attend_mma *)site->found;
	struct ir_step *step = step_new(plan);
	/* For extents that the copy engine does not take. */
	struct sched_choice plain =
	        has_engine(c) ? (struct sched_choice){ &sched_attention_wide, { ROWS, 64, 0 } } : *c;
	bool for_all = has_engine(c) && ring_kernel(plan, step, &m, c, site->t);
	if (!for_all && resident(&m.a, &plain, site->t) > 0)
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
	struct attend_mma m = *(const struct attend_mma *)site->found;
	const struct attend *a = &m.a;
	int queries = c->param[0], keys = keys_of(c), groups = groups_of(c);
	double blocks = (double)about(attend_blocks(a, queries), t),
	       most = ceil((double)about(a->dim[a->rows], t) / keys), steps = most, crossed = 0;
	if (m.bounds) { /* masks keep half of the scores, as causal ones do, and the rest of tiles that they cross */
		steps = fmin(most, (most + fmax(1, (double)queries / keys)) / 2);
		crossed = fmin(1, fmax(1, (double)queries / keys) / steps);
	}

	/* One tile of keys of one block. */
	double size = whole(a->size, 16) + columns_of(a->value_size), scores = (double)queries * keys;
	double multiply = scores * size / t->wgmma[m.key_type];
	double soften =
	        scores * (1 / measured->functions + (8.0 + (m.score ? ir_cost(m.score) : 0)) / (32 * t->schedulers));
	double here = fmax(1, fmin(resident(a, c, t), ceil(blocks / t->processors))), step, start;
	if (has_engine(c)) {
		/* Measured on an H200: how much of the softmax does not overlap with products; instructions of a tile
		 * that a mask crosses; what it takes until a small tile's products begin, if no other block has some;
		 * boxes of 64 elements that heads do not fill. With more to compute for a score the warpgroups of a
		 * block, whose products take turns, wait for each other. */
		bool ragged = a->size % 64 || a->value_size % 64;
		double apart = groups > 1 && m.score ? 0.65 : groups > 2 ? 0.35 : groups * here > 1 ? 0.47 : 1;
		soften += crossed * scores * 26 / (32 * t->schedulers);
		step = multiply + apart * soften + (keys < BETWEEN ? 350 / here : 0);
		step *= ragged ? 1.1 : 1;
		start = 1600 + 0.13 * queries * here * size;
	} else {
		/* The softmax overlaps with the products of other blocks, and half as much with those of the block's
		 * other warpgroups. Measured on an H100: instructions of threads that copy; registers that do not
		 * suffice. */
		step = multiply + (here > 1 ? 0.6 : groups > 1 ? 0.9 : 1.2) * soften + 50 + keys * size / 256;
		step *= registers(a, c) > 190 ? 1.25 : 1;
		start = 2000 + 30.0 * keys + 10.0 * queries;
	}
	double turn = fmax(step * here, measured->cached_tile_way), longest = most * turn + start;
	double together = t->processors * here, waves = ceil(blocks / together), time;
	if (is_persistent(c)) {
		/* Measured there: how much of a tile's start does not overlap with the end of the one before. Blocks
		 * have shares of uneven tiles before they begin. */
		struct attend_place at = { .a = a, .blocks = persistent_blocks(a, c, t) };
		double round =
		        (double)about(attend_together(&at, queries), t) * blocks / (double)about(attend_heads(a), t);
		if (m.bounds)
			waves = blocks / together * (fmod(round, together) > 0 ? 1.14 : 1) + 0.5;
		time = waves * (steps * turn + 0.32 * start) + start;
	} else {
		time = waves * (steps * turn + start);
	}
	time = cost_mma_time(t, fmax(time, longest));

	double read = (double)about(attend_heads(a), t) * (double)about(a->dim[a->rows], t);
	double bytes = (blocks * queries + read) * size * 2, cache = blocks * steps * keys * size * 2;
	return t->launch_ns + fmax(time, fmax(1.05 * bytes / t->bytes_per_ns,
	                                      cache / (has_engine(c) ? cost_bulk_rate(t) : cost_tiles_rate(t))));
}

const struct sched_rule sched_attention_wide = {
	.name = "attention_wide",
	.version = 4,
	.about = "A block computes {queries} queries of one head, 64 in each warpgroup, and goes over tiles "
	         "of {keys} keys and values.{engine? A producer warpgroup has TMA load the tiles.}{engine! "
	         "All threads copy the tiles.}{engine> Blocks take queries in turn; while some end, the "
	         "next are copied.} Scores are never stored.",
	.param = { { "queries", 64, 192 }, { "keys", 64, 128 }, { "engine", 0, 2 } },
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
