/* Rule contract: sums of products on tensor cores, or with ordinary multiply-adds. A block makes a tile of `rows` x
 * `columns` elements, `depth` products at a time. See contract.h. */
#include "sched/contract/contract.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

/* Padding makes vectors where there are none, and tensor maps where vectors alone have none. */
static void find_padded(struct contract_found *f)
{
	const struct contract *c = &f->as[f->fits[CONTRACT_PACKED]];
	struct contract *padded = &f->as[CONTRACT_PADDED], *steps = &f->as[CONTRACT_PADDED_STEPS];
	*padded = *steps = f->as[CONTRACT_AS_IT_IS];
	f->fits[CONTRACT_PADDED] = !contract_always_vectors(c) && contract_match_padded(padded, 16);
	bool maps = contract_has_maps(f->fits[CONTRACT_PADDED] ? padded : c) && contract_always_vectors(c);
	f->fits[CONTRACT_PADDED_STEPS] = !c->plain && !maps && contract_match_padded(steps, 128);
	/* Copies of both operands take the same time padded, and allow vectors for all extents. */
	if (f->fits[CONTRACT_PACKED] && f->fits[CONTRACT_PADDED] && c->side[0].pack && c->side[1].pack)
		f->fits[CONTRACT_PACKED] = false;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct contract_found f = { .stages = 0 };
	f.fits[CONTRACT_AS_IT_IS] = contract_match(&f.as[CONTRACT_AS_IT_IS], p, s);
	if (f.fits[CONTRACT_AS_IT_IS]) {
		f.fits[CONTRACT_PACKED] = contract_match_packed(&f.as[CONTRACT_PACKED], p, s);
		find_padded(&f);
		f.stages = f.as[CONTRACT_AS_IT_IS].stages;
		return FOUND(p, f);
	}
	*why = "the stage is not a sum of products of two tensors of one type, or cast to one, each with an axis of "
	       "its own";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct contract_found *)site->found)->stages;
}

/* A constant has its copy's order for all extents; a copy that casts or pads has more to do. */
static bool reorders(const struct sched_site *site, const struct ir_buffer *b, int *axis)
{
	const struct contract *c = &((const struct contract_found *)site->found)->as[CONTRACT_PACKED];
	for (int side = 0; side < 2; side++) {
		const struct ir_stage *pack = c->side[side].pack;
		if (!pack || pack->value->op != IR_LOAD || pack->value->buf != b)
			continue;
		for (int d = 0; d < b->rank; d++)
			axis[d] = -1;
		for (int d = 0; d < b->rank; d++)
			if (pack->value->arg[d]->op == IR_AXIS)
				axis[pack->value->arg[d]->i] = d;
		for (int d = 0, k = 0; d < b->rank; d++) { /* of one element: anywhere */
			if (pack->value->arg[d]->op == IR_AXIS)
				continue;
			while (axis[k] >= 0)
				k++;
			axis[k] = d;
		}
		return true;
	}
	return false;
}

/* ---- Choices. */

static int plain_candidates(const struct contract *c, int packing, const struct sched_target *t,
                            struct sched_choice *out)
{
	static const int tile[][3] = { { 64, 128, 16 }, { 128, 128, 16 }, { 128, 64, 16 }, { 64, 64, 16 },
		                       { 64, 64, 32 },  { 64, 96, 16 },   { 64, 32, 16 },  { 32, 128, 16 },
		                       { 32, 64, 16 },  { 16, 128, 16 },  { 32, 32, 16 } };
	enum { TILES = sizeof tile / sizeof *tile };
	int64_t rows = about(c->extent[CONTRACT_ROW], t), columns = about(c->extent[CONTRACT_COLUMN], t);
	int n = 0;
	for (int i = contract_element_bytes(c) == 4 ? 0 : 3; i < TILES; i++) {
		bool smallest = i == TILES - 1, flat = tile[i][0] == 16; /* no tile has fewer rows */
		bool wasteful = (tile[i][0] >= 2 * rows && !flat) || tile[i][1] >= 2 * columns;
		if (tile[i][1] == 96 && c->side[1].way == CONTRACT_TURNED) /* rows of 384 bytes have no swizzle */
			continue;
		if (!wasteful || (smallest && n == 0))
			out[n++] = (struct sched_choice){ &sched_contract,
				                          { tile[i][0], tile[i][1],
				                            tile[i][2] * 4 / contract_element_bytes(c), packing } };
	}
	return n;
}

static int mma_candidates(const struct contract *c, int packing, const struct sched_target *t, struct sched_choice *out)
{
	static const int tile[][3] = { { 128, 128, 32 }, { 128, 256, 32 }, { 128, 64, 32 }, { 64, 128, 32 },
		                       { 64, 64, 64 },   { 32, 64, 64 },   { 16, 128, 64 }, { 16, 64, 64 } };
	enum { TILES = sizeof tile / sizeof *tile };
	int n = 0;
	if (!t->mma[c->side[0].type] || !t->mma[c->side[1].type])
		return 0;
	int64_t rows = about(c->extent[CONTRACT_ROW], t), columns = about(c->extent[CONTRACT_COLUMN], t);
	for (int i = 0; i < TILES; i++) {
		/* Operand sums (for zero points) need registers too. */
		if ((c->side[0].zero || c->side[1].zero) && tile[i][0] * tile[i][1] > 128 * 64)
			continue;
		bool smallest = i == TILES - 1, wasteful = tile[i][0] >= 2 * rows || tile[i][1] >= 2 * columns;
		if (!wasteful || (smallest && n == 0))
			out[n++] = (struct sched_choice){ &sched_contract,
				                          { tile[i][0], tile[i][1],
				                            tile[i][2] * 2 / contract_element_bytes(c), packing } };
	}
	return n;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct contract_found *found = site->found;
	int n = 0;
	for (int i = 0; i < CONTRACT_PACKINGS; i++) {
		const struct contract *c = &found->as[i];
		if (found->fits[i])
			n += c->plain ? plain_candidates(c, i, site->t, out + n)
			              : mma_candidates(c, i, site->t, out + n);
	}
	return n;
}

/* ---- Kernels. */

void contract_kernels(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                      const struct sched_choice *choice)
{
	bool may[2], enough = contract_kernel(plan, step, c, choice, true, true);
	for (int side = 0; side < 2; side++)
		may[side] = c->side[side].way != CONTRACT_GATHER && !ir_is_int(c->side[!side].fits, 1);
	for (int side = 0; side < 2; side++)
		if (may[side])
			enough = contract_kernel(plan, step, c, choice, side == 0, side == 1);
	if (!ir_is_int(c->side[0].fits, 1) && !ir_is_int(c->side[1].fits, 1))
		enough = contract_kernel(plan, step, c, choice, false, false);
	if (!enough)
		contract_element_kernel(plan, step, c, choice);
}

void contract_apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *choice,
                    const struct ir_stage *source)
{
	struct contract c = ((const struct contract_found *)site->found)->as[choice->param[3]];
	c.source = source;
	contract_pack(plan, &c, choice, site->t);
	contract_kernels(plan, step_new(plan), &c, choice);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *choice)
{
	contract_apply(plan, site, choice, NULL);
}

/* ---- Time. A multiprocessor is limited by its tensor cores, by shared memory bandwidth or by the arrival of the next
 * tiles; its blocks share it. */

static double least(double a, double b)
{
	return a < b ? a : b;
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

static double estimate(const struct sched_site *site, const struct sched_choice *choice)
{
	const struct sched_target *t = site->t;
	enum { START = 700, PLAIN_START = 500 };
	const double clock = t->clock_ghz * cost_table(t)->mma_clock, latency = cost_table(t)->tile_way;
	const struct contract c = ((const struct contract_found *)site->found)->as[choice->param[3]];
	struct contract_shape k = contract_shape(&c, choice);
	double size = contract_element_bytes(&c), warps = k.threads / 32.0;
	double batch = (double)about(c.extent[CONTRACT_BATCH], t), rows = (double)about(c.extent[CONTRACT_ROW], t);
	double columns = (double)about(c.extent[CONTRACT_COLUMN], t), depth = contract_about_depth(&c, t);
	double blocks = batch * ceil(rows / k.rows) * ceil(columns / k.columns), steps = ceil(depth / k.depth);

	/* One step of one block, alone on a multiprocessor. */
	double multiply = (double)k.rows * k.columns * k.depth / t->mma[c.side[0].type];
	if (c.plain)
		multiply = (double)k.rows * k.columns * k.depth / t->fma[c.side[0].type];
	double feed = warps * (k.warp_rows + k.warp_columns) * k.depth * size / cost_table(t)->shared_bytes;
	bool gathers[2];
	double gather = 0;
	for (int side = 0; side < 2; side++) {
		gathers[side] = c.side[side].way == CONTRACT_GATHER || !about_holds(c.side[side].fits, t);
		if (gathers[side])
			gather += contract_gather_clocks(&c, &k, side);
	}
	bool gathered = gathers[0] || gathers[1];
	/* Elements of less than 4 bytes come through registers, one tile at a time. */
	double ahead = gathered && !c.plain ? 1 : k.slots - 1;
	double step = most(multiply, feed) * (c.plain ? 1 : 1.1) + gather + 40;
	if (!gathered)
		step += contract_copy_clocks(&c, &k);

	double registers = 80.0 + (double)k.warp_rows * k.warp_columns / 32 + (k.warp_rows + k.warp_columns) / 4.0;
	if (c.plain)
		registers = 60 + 1.7 * k.rows * k.columns / k.threads * size / 4;
	double here = target_resident(t, k.threads, registers, (k.rows + k.columns) * k.depth * size * k.slots);
	here = most(1, least(here, ceil(blocks / t->processors)));
	double waves = ceil(blocks / (t->processors * here));
	double together = most(step * here, latency / ahead);
	if (!target_has(t, TARGET_COPY_ASYNC)) /* a block waits for its tiles while others multiply */
		together = most(step * here, step + latency);
	double tile_bytes = (k.rows + k.columns) * k.depth * size;
	if (!gathered) /* a multiprocessor's share of the cache's rate */
		together = most(together, here * tile_bytes * t->clock_ghz / cost_alone_rate(t));
	enum { WAIT = 1000 /* ns; measured on an H200 for a residual of 784x768 f16 */ };
	double store = contract_store_clocks(&c, &k, t) + (!c.plain && contract_results_wait(&c) ? WAIT * clock : 0);
	double time = (waves * steps * together + START + store) / clock;
	if (c.plain) { /* warps hide each other's latency, so few warps leave gaps, as do few sums per lane */
		double share = ceil(blocks / t->processors), busy = least(share, here) * warps;
		double lane = k.rows * k.columns / (k.threads * 64.0);
		double gaps = (1 + 2 / busy) * (lane < 1 || gathered ? 0.95 + 0.04 / lane : 0.93);
		gaps *= k.threads > 128 ? 1.05 : 1; /* more warps wait at barriers; all as measured on an H200 */
		double arrival = target_has(t, TARGET_COPY_ASYNC) ? latency / ahead : step + latency;
		time = (share * steps * most(step * gaps, arrival / here) + PLAIN_START + store) / clock;
	}

	/* Bytes: each operand once from memory, each tile from the L2 cache, at about twice the rate. */
	double bytes = contract_memory_bytes(&c, t), tiles = blocks * (k.rows + k.columns) * depth * size, results = 0;
	for (int i = 0; i < c.stages; i++)
		results += batch * rows * columns * type_info(c.made[i]->out->type)->bits / 8.0;
	double memory = (bytes + results) / t->bytes_per_ns, cache = (tiles + results) / cost_tiles_rate(t);
	return t->launch_ns + contract_pack_time(&c, t) + most(time, most(memory, cache));
}

const struct sched_rule sched_contract = {
	.name = "contract",
	.version = 3,
	.about = "A block computes a tile of {rows} x {columns} elements, and adds {depth} products of each "
	         "at a time, with operands in shared memory.",
	.param = { { "rows", 16, 128 }, { "columns", 32, 256 }, { "depth", 8, 128 }, { "packed", 0, 3 } },
	.heavy = true,
	.none = "the GPU has no tensor cores for these types",
	.match = match,
	.span = span,
	.reorders = reorders,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
