/* Rule contract_wide: sums of products on warpgroups (wgmma), Hopper only. A block makes a tile of `rows` x `columns`
 * elements, with `slots` pipeline stages. Other GPUs that the code is compiled for run what rule contract would make.
 * See contract.h.
 * `blocks`: number of persistent blocks, with a producer warp each; 0: one block per tile, and all of its threads copy.
 * `split`: split-K: the blocks of a cluster that make a tile together.
 * `turns`: the block's two warpgroups take tiles in turn, so that one multiplies while the other stores.
 * `share`: stream-K: all blocks share the tiles after the last whole wave.
 * `packed`: how operands are repacked first, see enum contract_packing. */
#include "sched/contract/contract.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>
#include <stdlib.h>

static bool fits(const struct contract *c)
{
	for (int side = 0; side < 2; side++) {
		bool fine = contract_element_bytes(c) == 2
		                    ? c->side[side].way != CONTRACT_GATHER
		                    : c->side[side].way == CONTRACT_STRAIGHT || contract_turns(c, side);
		if (!fine || c->side[side].zero)
			return false;
	}
	return !c->plain;
}

/* Takes the match of rule contract, zero points apart, without the operands that wgmma does not support. */
static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	const struct contract_found *any = sched_match(p, s, &sched_contract, why);
	if (!any)
		return NULL;
	struct contract_found f = *any;
	const struct contract *plain = &any->as[CONTRACT_AS_IT_IS];
	bool some = false, apart = contract_find_sums(plain, &f.sums);
	for (int i = 0; i < CONTRACT_PACKINGS; i++) {
		if (apart && f.fits[i])
			contract_take_apart(&f.as[i], plain, &f.sums);
		f.fits[i] = f.fits[i] && fits(&f.as[i]);
		some |= f.fits[i];
	}
	if (some)
		return FOUND(p, f);
	*why = "the stage is not a sum of products of two tensors of 16-bit floats, or of 8-bit floats or "
	       "integers, in vectors of 16 bytes";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct contract_found *)site->found)->stages;
}

/* Transposes byte operands to run along the reduced axes. Fills in the stages that do so and returns their number. */
static int along(struct contract *c, struct ir_stage *stage)
{
	int n = 0;
	for (int side = 0; side < 2; side++)
		if (contract_element_bytes(c) == 1 && c->side[side].way != CONTRACT_STRAIGHT)
			contract_turn(c, side, &stage[n++]);
	return n;
}

/* Appends a kernel for such a stage, as a transposition where it is one. */
static void apply_along(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *choice,
                        const struct sched_target *t)
{
	struct sched_choice list[SCHED_RULE_CHOICES], one = { sched_rule_of_maps, { 1 } };
	int n = rule_candidates(sched_rule_of_transposes, plan->program, s, t, list);
	if (n)
		one = list[n - 1]; /* the widest */
	apply_choice(plan, s, &one, t);
	decided_by(plan, plan->steps.n - 1, choice, "an operand transposed");
}

/* Steps per block where all blocks share the tiles after the last whole wave; see contract_stream.c. */
static int64_t shared_steps(int64_t tiles, int64_t steps, int64_t blocks)
{
	int64_t left = tiles % blocks, parts = left ? blocks / left : 1;
	parts = parts > 4 ? 4 : parts;
	return (steps + parts - 1) / parts;
}

static struct sched_choice choice_of(const int tile[3], int blocks, int split, bool share, int packing)
{
	return (struct sched_choice){ &sched_contract_wide,
		                      { tile[0], tile[1], tile[2], blocks, split, share, packing, 0 } };
}

static int candidates_as(const struct contract *c, int packing, const struct sched_target *t, int room,
                         struct sched_choice *out)
{
	static const int tile[][3] = { { 128, 256, 4 }, { 256, 128, 4 }, { 128, 192, 4 }, { 128, 128, 6 },
		                       { 64, 256, 4 },  { 64, 128, 8 },  { 64, 128, 4 },  { 128, 64, 8 },
		                       { 128, 64, 4 },  { 64, 64, 8 } };
	enum { TILES = sizeof tile / sizeof *tile, STEPS_OF_EACH = 4 };
	enum { GROUP_THREADS = 128, SUMS = 128 /* of a thread, where one warpgroup makes a tile */ };
	int n = 0;
	if (!t->wgmma[c->side[0].type] || !t->wgmma[c->side[1].type])
		return 0;
	if (!about_holds(c->side[0].fits, t) || !about_holds(c->side[1].fits, t))
		return 0;
	int64_t rows = about(c->extent[CONTRACT_ROW], t), columns = about(c->extent[CONTRACT_COLUMN], t);
	int64_t batch = about(c->extent[CONTRACT_BATCH], t),
	        steps = about(c->depth, t) * contract_element_bytes(c) / 128;
	bool maps = contract_has_maps(c), even = true; /* all tiles have the same steps */
	bool ring = maps || (contract_element_bytes(c) == 1 && packing == CONTRACT_AS_IT_IS);
	for (int i = 0; i < c->s->space_rank; i++)
		even &= !c->low[i];
	int blocks = ring ? t->processors : 0;
	for (int i = 0; i < TILES; i++) {
		bool smallest = i == TILES - 1, wasteful = tile[i][0] >= 2 * rows || tile[i][1] >= 2 * columns;
		if (contract_is_promoted(c) && tile[i][1] > 128) /* registers for two sums of 64 rows */
			continue;
		if (wasteful && (!smallest || n > 0))
			continue;
		int64_t tiles =
		        batch * ((rows + tile[i][0] - 1) / tile[i][0]) * ((columns + tile[i][1] - 1) / tile[i][1]);
		int most = even ? t->cluster_blocks : 1;
		for (int split = 1; split <= most && n < room; split *= 2) /* to use more multiprocessors */
			if (split == 1 ||
			    (tiles * split <= target_in_clusters(t, split) && steps >= STEPS_OF_EACH * split))
				out[n++] = choice_of(tile[i], blocks, split, false, packing);
		int64_t left = tiles % t->processors, share = shared_steps(tiles, steps, t->processors);
		if (maps && even && tile[i][0] < 256 && left > 0 && 2 * left <= t->processors &&
		    share >= STEPS_OF_EACH && n < room)
			out[n++] = choice_of(tile[i], blocks, 1, true, packing);
		int sums = tile[i][0] * tile[i][1] / GROUP_THREADS;
		if (maps && even && sums == SUMS && !contract_is_promoted(c) && tiles > t->processors && n < room) {
			out[n] = choice_of(tile[i], blocks, 1, false, packing);
			out[n++].param[7] = 1;
		}
	}
	return n;
}

/* Operands with as little packing as possible, and padded to steps where the others have no tensor maps. */
static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct contract_found *found = site->found;
	int n = 0;
	for (int i = 0; i < CONTRACT_PACKINGS; i++)
		if (found->fits[i] && (n == 0 || i == CONTRACT_PADDED_STEPS))
			n += candidates_as(&found->as[i], i, site->t, SCHED_RULE_CHOICES - n, out + n);
	return n;
}

/* True if a producer warp copies tiles. */
static bool is_ring(const struct sched_choice *choice)
{
	return choice->param[3] > 0;
}

/* The choice for other GPUs, and for extents that this rule's kernel does not fit. */
static struct sched_choice elsewhere(const struct sched_site *site, int packing)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	struct sched_target common = *sched_common_target(), *t = &common;
	common.extent = site->t->extent;
	common.extents = site->t->extents;
	common.asked = site->t->asked;
	struct sched_choice list[SCHED_RULE_CHOICES];
	int n = rule_candidates(&sched_contract, p, s, t, list), best = -1;
	double least = 0, time;
	for (int i = 0; i < n; i++) {
		if (list[i].param[3] != packing)
			continue;
		time = sched_estimate(p, s, &list[i], t);
		if (best < 0 || time < least) {
			best = i;
			least = time;
		}
	}
	ck(best >= 0);
	return list[best];
}

void contract_wide_apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *choice,
                         const struct ir_stage *source)
{
	int packing = choice->param[6];
	const char *why;
	const struct contract_found *any = sched_match(plan->program, site->s, &sched_contract, &why);
	struct contract_sums sums = ((const struct contract_found *)site->found)->sums;
	struct contract c = any->as[packing], as_it_is;
	struct ir_stage *before = NEWN(plan->program->arena, struct ir_stage, 2);
	const struct sched_choice other = elsewhere(site, packing);
	contract_make_sums(plan->program, &sums);
	if (sums.has[0] || sums.has[1])
		contract_take_apart(&c, &any->as[CONTRACT_AS_IT_IS], &sums);
	c.source = source;
	contract_pack(plan, &c, choice, site->t);
	as_it_is = c;
	int n = along(&c, before);
	for (int i = 0; i < n; i++)
		apply_along(plan, &before[i], choice, site->t);
	contract_apply_sums(plan, &sums, &c, choice, site->t);
	bool ring = is_ring(choice) && contract_has_maps(&c), stream = ring && contract_ring_shape(&c, choice).stream;
	struct contract_stream *parts = stream ? contract_stream_new(plan, &c, choice) : NULL;
	struct ir_step *step = step_new(plan);
	expr fits = ir_binary(IR_AND, c.side[0].fits, c.side[1].fits);
	if (ring)
		contract_ring_kernel(plan, step, &c, choice, parts, fits);
	else
		contract_wide_kernel(plan, step, &c, choice, fits);
	vec_each (k, step) /* wgmma exists on this architecture only */
		(*k)->arch = site->t->arch;
	contract_kernels(plan, step, &as_it_is, &other);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *choice)
{
	contract_wide_apply(plan, site, choice, NULL);
}

/* ---- Time. A step takes as long as the tensor cores, or as the shared memory traffic: each 64 rows read all columns.
 * Rates: 2048 f16 products per clock (H100 whitepaper). Measured on an H100: about 1.55 GHz under this load, and the
 * overheads of a step, a block and its results. */

enum { ARRIVAL = 60 /* bytes of tiles that arrive in a clock at one multiprocessor */ };

/* Bytes from a row of an operand to the next; 0: any number of whole lines. */
static int64_t bytes_of_row(const struct contract *c, int side, const struct sched_target *t)
{
	enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
	const struct contract_operand *o = &c->side[side];
	expr load = contract_load_of(o), stride = NULL;
	int rank = c->s->out->rank;
	if (!load || (contract_element_bytes(c) == 1 && o->way != CONTRACT_STRAIGHT)) /* it is transposed first */
		return 0;
	expr flat = ir_flat(c->p->pool, load->buf, load->arg);
	for (int i = 0; o->way != CONTRACT_TURNED && i < c->axes[own]; i++)
		if (!ir_is_int(c->s->out->dim[c->axis[own][i]], 1))
			stride = ir_stride(flat, c->axis[own][i]);
	for (int i = 0; o->way == CONTRACT_TURNED && i < c->s->space_rank; i++)
		if (!ir_is_int(c->s->space[c->order[i]], 1))
			stride = ir_stride(flat, rank + c->order[i]);
	return stride ? about(stride, t) * contract_element_bytes(c) : 0;
}

/* Lines of 128 bytes that the copy engine reads for each row of a tile: two where rows begin in the middle of lines. */
static double lines_of_row(const struct contract *c, int side, const struct sched_target *t)
{
	return bytes_of_row(c, side, t) % 128 ? 2 : 1;
}

/* Clocks by which tiles arrive later in each step if rows begin in the middle of sectors. Measured on an H200 for rows
 * of 784 bytes and ten tile sizes: nothing hides the arrival of the second lines. */
static double late_clocks(const struct contract *c, const struct contract_shape *k, const struct sched_target *t)
{
	enum { SECTOR = 32 };
	double rows = bytes_of_row(c, 0, t) % SECTOR ? k->rows : 0,
	       columns = bytes_of_row(c, 1, t) % SECTOR ? k->columns : 0;
	return 128 * (rows + columns) / ARRIVAL;
}

/* Clocks of a block whose two warpgroups take its tiles in turn: one multiplies while the other stores. They share the
 * shared memory, which tiles of this size keep busy: operands are copied to it and read from it, sums pass through it.
 */
static double clocks_in_turns(const struct contract_shape *k, double tiles, double steps, double step, double store)
{
	enum { SHARED = 139 };    /* bytes for each clock of busy tensor cores, measured on an H200 */
	const double ALONE = 1.6; /* one warpgroup stores more slowly than two together */
	double operands = 128.0 * (k->rows + k->rows / 64.0 * k->columns) + 128.0 * (k->rows + k->columns);
	double shared = (steps * operands + 8.0 * k->rows * k->columns) / SHARED, multiply = fmax(steps * step, shared);
	double pairs = ceil(tiles / 2), odd = fmod(tiles, 2);
	store *= ALONE;
	return fmax(tiles * multiply + store, pairs * (multiply + store) + (odd > 0 ? 0 : multiply));
}

/* Clocks in which a block's warpgroups compute a tile's results and store them. Measured on an H200: single elements
 * are stored at 7 a clock, or 4 if they wait for other tensors; GELU of 8192x3072 f16 adds 13 us; a residual of
 * 784x768 f16 adds 1.3 us to tiles of 64 columns, 2.0 to 128, 2.8 to 256: each pass waits for its elements. */
static double store_clocks(const struct contract *c, const struct contract_shape *k, const struct sched_target *t,
                           double clock)
{
	enum { SINGLE = 7, SINGLE_OF_MORE = 4, VECTORS = 16, OPERATIONS = 210 };
	enum { WAIT = 800, PASS = 500 /* ns */, COLUMNS = 64 };
	bool vectors = c->width > 1 && about_holds(c->fits, t);
	double rate = vectors ? VECTORS : contract_results_load(c) ? SINGLE_OF_MORE : SINGLE, operations = 0;
	for (int i = 0; i < c->stages; i++) {
		const struct ir_stage *s = c->made[i];
		expr value = s->kind == IR_MAP ? s->value : s->post;
		operations += value ? ir_cost(value) : 0;
	}
	double wait = vectors && contract_results_wait(c) ? WAIT + PASS * ceil((double)k->columns / COLUMNS) : 0;
	return (double)k->rows * k->columns * (1 / rate + operations / OPERATIONS) + wait * clock;
}

static double estimate(const struct sched_site *site, const struct sched_choice *choice)
{
	const struct sched_target *t = site->t;
	enum { START = 2500, RING_START = 700 };
	enum { CLUSTER_NS = 2000 }; /* ns: clusters start later, and their blocks read each other's sums */
	const struct cost_table *measured = cost_table(t);
	const double clock = t->clock_ghz * measured->wgmma_clock;
	const struct contract_found *found = site->found;
	const struct contract c = found->as[choice->param[6]];
	if (!about_holds(c.side[0].fits, t) || !about_holds(c.side[1].fits, t)) {
		const struct sched_choice other = elsewhere(site, choice->param[6]);
		return sched_estimate(site->p, site->s, &other, t);
	}
	struct contract_shape k = contract_wide_shape(&c, choice);
	bool ring = is_ring(choice);
	double size = contract_element_bytes(&c), batch = (double)about(c.extent[CONTRACT_BATCH], t);
	double rows = (double)about(c.extent[CONTRACT_ROW], t), columns = (double)about(c.extent[CONTRACT_COLUMN], t);
	double split = k.split > 1 ? k.split : 1, depth = contract_about_depth(&c, t),
	       steps = ceil(depth / k.depth / split);
	double tiles = batch * ceil(rows / k.rows) * ceil(columns / k.columns) * split;

	double multiply = (double)k.rows * k.columns * k.depth / t->wgmma[c.side[0].type];
	double feed = 128.0 * (k.rows + k.rows / 64 * k.columns) / measured->shared_bytes;
	double latency = ring ? 1100.0 / (k.slots - 1) : 1300.0 / (k.slots - 2);
	double step = fmax(multiply, feed) + (ring ? 70 : 40 + contract_copy_clocks(&c, &k));
	if (ring)
		step = fmax(step, 128.0 * (k.rows + k.columns) / ARRIVAL) + late_clocks(&c, &k, t);

	double registers = 60 + (double)k.parts * k.columns / 2,
	       bytes_here = (double)k.slots * (k.rows + k.columns) * 128;
	double here = target_resident(t, k.threads, registers, bytes_here);
	here = ring ? 1 : fmax(1, fmin(here, ceil(tiles / t->processors)));
	int blocks = ring ? choice->param[3] : t->processors;
	double turns = ceil(tiles / (blocks * here));
	double store = store_clocks(&c, &k, t, clock), once = turns * START;
	if (ring) /* the next tiles are loaded meanwhile */
		once = RING_START + turns * 400;
	double multiplied = steps * fmax(step * here, latency);
	double stored = k.turns ? clocks_in_turns(&k, turns, steps, step, store) : turns * (multiplied + store);
	double time = (stored + once) / clock;

	if (k.stream) { /* partial sums written for and read from other blocks: one tile's size each */
		int64_t length = shared_steps((int64_t)tiles, (int64_t)steps, blocks);
		double others = ceil(steps / (double)length), whole = floor(tiles / blocks);
		double join = k.rows * k.columns / 8.0 * (1 + others) + 1500;
		double made = (double)length + whole * steps;
		time = (made * fmax(step, latency) + (whole + 1) * (store + 400) + RING_START + join) / clock;
	}
	if (split > 1)
		time += 0.25 * k.rows * k.columns + CLUSTER_NS * (log2(split) - 0.75);

	double bytes = contract_memory_bytes(&c, t), results = 0;
	double read =
	        tiles / split * (k.rows * lines_of_row(&c, 0, t) + k.columns * lines_of_row(&c, 1, t)) * depth * size;
	for (int i = 0; i < c.stages; i++)
		results += batch * rows * columns * type_info(c.made[i]->out->type)->bits / 8.0;
	double memory = (bytes + results) / t->bytes_per_ns, cache = (read + results) / cost_bulk_rate(t);
	double more = contract_pack_time(&c, t) + contract_sums_time(&found->sums, &c, t);
	/* transposing kernels read and write the operands */
	for (int side = 0; side < 2; side++)
		if (size == 1 && c.side[side].way != CONTRACT_STRAIGHT)
			more += t->launch_ns + 2.5 * batch * (side ? columns : rows) * depth / t->bytes_per_ns;
	if (k.stream && more == 0) /* flags are cleared first: in a launch of their own, or in the transposing one */
		more += t->launch_ns;
	return t->launch_ns + more + fmax(time, fmax(memory, cache));
}

const struct sched_rule sched_contract_wide = {
	.name = "contract_wide",
	.version = 5,
	.about = "The warpgroups of a block compute a tile of {rows} x {columns} elements. Shared memory "
	         "holds {slots} stages of operands.{blocks? There are {blocks} blocks at most, which go "
	         "from tile to tile, and a producer warp of each loads the operands.}{split> The sum of a "
	         "tile is in {split} parts, one for each block of a cluster (split-K).}{share? All blocks "
	         "share the tiles after the last whole wave (stream-K).}{turns? Its two warpgroups take tiles "
	         "in turn: one multiplies while the other stores its results.}",
	.param = { { "rows", 64, 256 },
	           { "columns", 64, 256 },
	           { "slots", 4, 8 },
	           { "blocks", 0, 4096 },
	           { "split", 1, 8 },
	           { "share", 0, 1 },
	           { "packed", 0, 3 },
	           { "turns", 0, 1 } },
	.heavy = true,
	.needs = TARGET_WGMMA | TARGET_TMA | TARGET_CLUSTERS,
	.none = "the GPU has no warpgroup instructions for these types",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
