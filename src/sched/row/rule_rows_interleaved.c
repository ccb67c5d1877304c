/* Rule rows_interleaved: row programs of which some inputs or results are transposed, so that neighbours in memory are
 * elements of neighbouring rows: a norm of an image's channels whose result has channels last. A block has `rows`
 * neighbouring rows. Neighbouring threads have neighbouring rows, and `lanes` threads share a row as in rule rows. So a
 * warp reads whole sectors of both layouts, and nothing is transposed in memory. */
#include "sched/row/rows.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

enum {
	WARP = 32,
	LEAST_ROWS = 2,
	FEW_ROWS = 4,
	MOST_ROWS = 32,
	LEAST_THREADS = 256,
	MOST_THREADS = 1024,
	MOST_STEPS = 32
};
enum { SECTOR = 32 /* bytes that memory moves at least */, FEW_AHEAD = 24, MOST_AHEAD = 48 /* registers */ };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct rows r;
	if (rows_match_turned(&r, p, s)) {
		r.spared = rows_spared(&r);
		return FOUND(p, r);
	}
	*why = "no rows begin here that some of their tensors hold transposed";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct rows *)site->found)->stages;
}

/* ---- Choices. */

/* True if weights and biases should be loaded with the row: no other block hides their latency. */
static bool loads_ahead(const struct rows *r, const struct sched_target *t, int rows, int elements)
{
	double registers = elements * (rows_registers_each(r) + r->along);
	return r->apart && (registers <= FEW_AHEAD ||
	                    (registers <= MOST_AHEAD && (double)about(r->count, t) <= (double)t->processors * rows));
}

/* The widest vectors that divide the rows, and half of them. Two rows a block only where registers have no room for
 * more. */
static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct rows *r = site->found;
	int64_t length = about(r->length, site->t), fixed;
	int n = 0, widest = rows_widest(r);
	while (widest > 1 && ir_const_int(r->length, &fixed) && fixed % widest)
		widest /= 2;
	for (int rows = MOST_ROWS; rows >= (n ? FEW_ROWS : LEAST_ROWS); rows /= 2)
		for (int width = widest; width >= 1 && 2 * width >= widest; width /= 2)
			for (int lanes = MOST_THREADS / rows; lanes * rows >= LEAST_THREADS; lanes /= 2) {
				int64_t steps = (length + (int64_t)lanes * width - 1) / (lanes * width);
				bool wasteful = lanes * rows > LEAST_THREADS && (int64_t)lanes * width >= 2 * length;
				if (steps > MOST_STEPS || wasteful ||
				    rows_steps_held(r, lanes * rows, width, (int)steps, 1) < steps)
					continue;
				int ahead = loads_ahead(r, site->t, rows, (int)steps * width);
				out[n++] = (struct sched_choice){ &sched_rows_interleaved,
					                          { lanes, width, (int)steps, 0, ahead, rows } };
			}
	if (n == 0)
		out[n++] = (struct sched_choice){ &sched_rows_interleaved, { 64, 1, 0, 0, 0, 8 } };
	return n;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct rows r = *(const struct rows *)site->found;
	r.beside = c->param[5];
	rows_apply_interleaved(plan, step_new(plan), &r, c);
}

/* ---- Time: as in rule rows, each byte once; and the sectors that a warp's accesses touch, from the L2 cache. */

struct traffic {
	double bytes, sectors /* in bytes */;
	double accesses; /* of threads */
};

/* Adds accesses to `elements` of that size, `width` at a time; `run`: neighbours that a warp accesses at once, from a
 * multiple of `run` on if aligned. */
static void add_accesses(struct traffic *x, double elements, double size, double run, bool aligned, int width)
{
	double bytes = run * size, touched = ceil(bytes / SECTOR) * SECTOR;
	if (!aligned)
		touched = fmax(touched, bytes + SECTOR - size);
	x->bytes += elements * size;
	x->sectors += elements * size * touched / bytes;
	x->accesses += elements / width;
}

static bool whole_sectors(expr stride, double size)
{
	int64_t n;
	return ir_const_int(stride, &n) && fmod((double)n * size, SECTOR) == 0;
}

static struct traffic traffic_of(const struct rows *r, const struct sched_target *t, int rows, int width)
{
	double count = (double)about(r->count, t), length = (double)about(r->length, t),
	       along = (double)WARP / rows * width;
	struct traffic x = { 0 };
	for (int i = 0; i < r->cached; i++) {
		const struct rows_cached *c = &r->cache[i];
		double size = type_info(c->buf->type)->bits / 8.0, elements = count * length;
		double whole = (double)about(ir_buffer_count(r->p, c->buf), t);
		if (c->from && whole < elements)
			elements = whole;
		if (c->stride)
			add_accesses(&x, elements, size, rows, whole_sectors(c->stride, size), 1);
		else
			add_accesses(&x, elements, size, along, whole_sectors(r->length, size), width);
	}
	for (int i = 0; i < r->stages; i++) {
		const struct rows_stage *st = &r->stage[i];
		double size = type_info(st->s->out->type)->bits / 8.0;
		if (st->kind != ROWS_MAP)
			x.bytes += 4 * count;
		else if (st->to) /* the cache merges stores of parts of a sector: measured on an H200 */
			add_accesses(&x, count * length, size * (rows * size < SECTOR ? 2 : 1), rows,
			             whole_sectors(ir_stride(st->to, st->rank - 1), size), 1);
		else
			add_accesses(&x, count * length, size, along, whole_sectors(r->length, size), width);
	}
	return x;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	enum { BLOCK_NS = 900, LONE_BLOCK = 400, OF_STORE = 390, OTHER_REGISTERS = 32, TURN = 250, OF_ACCESS = 8 };
	const double LONE_WORK = 0.7;
	const struct sched_target *t = site->t;
	const struct rows *r = site->found;
	int lanes = c->param[0], width = c->param[1], steps = c->param[2], rows = c->param[5], threads = lanes * rows;
	double count = (double)about(r->count, t), length = (double)about(r->length, t), work = 0, each = 0;
	bool fits = length <= (double)lanes * width * steps && about_holds(whole_multiple(r->p, r->length, width), t);
	if (!fits)
		width = 1, steps = 0;
	for (int i = 0; i < r->cached; i++)
		each += type_info(r->cache[i].buf->type)->bits / 8.0;
	for (int i = 0; i < r->stages; i++)
		work += (rows_of_values(&r->stage[i]) ? count : count * length) * ir_cost(r->stage[i].value);
	struct traffic x = traffic_of(r, t, rows, width);
	work += OF_ACCESS * x.accesses;
	double turns = steps ? steps : ceil(length / lanes);
	double registers = OTHER_REGISTERS + (steps ? steps * width * (rows_registers_each(r) + 0.5) : 0);
	double here = fmax(target_resident(t, threads, registers, threads * 4), 1), blocks = ceil(count / rows);
	double resident = fmin(blocks / t->processors, here), waves = blocks / (resident * t->processors);
	if (!steps) {
		double again =
		        (r->reductions + r->maps - 1) * cost_missed(t, resident * t->processors * rows * length * each);
		x.bytes += again * count * length * each;
		x.sectors *= r->reductions + r->maps;
	}
	double used = steps ? length / ((double)lanes * width * steps) : 1;
	double fill = resident * threads * used * (steps ? steps * width : 2) * each / cost_in_flight(t);
	fill = fmin(fmax(fill, 0.01), 1);
	double whole = fmax(waves, 1), tail = whole < 8 ? ceil(whole - 0.001) / whole : 1;
	double time = x.bytes / t->bytes_per_ns / fill * tail;
	/* All loads of a wave are in flight at once: latency plus bytes bound the time. */
	double share = fmin(1, x.bytes / (cost_in_flight(t) * t->processors));
	double ways = x.bytes / t->bytes_per_ns + cost_table(t)->wave_way * (0.3 + 0.7 * share) * ceil(whole - 0.001);
	if (steps)
		time = fmin(time, ways);
	time = fmax(time, x.sectors / cost_tiles_rate(t) * tail);
	double spared = steps && rows_keeps(steps * width) ? count * length * r->spared : 0;
	time = fmax(time, (work - spared) / used / cost_mixed_rate(t) / fmin(resident, 1));
	if (waves <= 1) { /* no other block hides it */
		time += cost_wait(t, LONE_WORK * turns * width * work / (count * length));
		if (!c->param[4] && r->apart && r->maps)
			time += OF_STORE * (steps ? turns : 1);
	}
	if (!steps)
		time += cost_wait(t, TURN * turns / 4) * (r->reductions + r->maps) * whole;
	double exchange =
	        cost_wait(t, (waves <= 1 ? LONE_BLOCK + 0.3 * threads : BLOCK_NS + 0.2 * threads) * r->reductions);
	double stall = waves > 1 ? exchange * waves / (resident * threads >= 1024 ? 2.5 : 1) : 0;
	return t->launch_ns + time + (stall > time ? stall : stall * 0.05) + exchange;
}

const struct sched_rule sched_rows_interleaved = {
	.name = "rows_interleaved",
	.version = 1,
	.about = "A block has {rows} neighbouring rows. Neighbouring threads have neighbouring rows, so "
	         "that accesses to both layouts are coalesced. {lanes} threads share a row{steps?, and keep "
	         "it in registers}.",
	.param = { { "lanes", 8, 512 },
	           { "width", 1, 16 },
	           { "steps", 0, 32 },
	           { "once", 0, 0 },
	           { "ahead", 0, 1 },
	           { "rows", 2, 32 } },
	.none = "registers have no room for a row",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
