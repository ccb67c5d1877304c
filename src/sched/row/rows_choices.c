/* The choices of rule rows: lanes, vectors and steps that fit into registers and shared memory. See rows.h. */
#include "sched/row/rows.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"

enum { MOST_AHEAD = 64 }; /* registers of rows and weights */
enum { FEW_LANES = 4, WARP = 32, MAX_LANES = 1024, MAX_STEPS = 16 };
enum { WIDEST = 16 /* bytes */ };

static int widest_type(const struct rows *r)
{
	int bits = 8;
	for (int i = 0; i < r->cached; i++)
		bits = type_info(r->cache[i].buf->type)->bits > bits ? type_info(r->cache[i].buf->type)->bits : bits;
	for (int i = 0; i < r->stages; i++)
		if (r->stage[i].kind == ROWS_MAP && type_info(r->stage[i].s->out->type)->bits > bits)
			bits = type_info(r->stage[i].s->out->type)->bits;
	return bits / 8;
}

/* Total bytes moved. */
static double bytes_moved(const struct rows *r, const struct sched_target *t)
{
	double each = 4 * rows_registers_each(r);
	for (int i = 0; i < r->stages; i++)
		if (r->stage[i].kind == ROWS_MAP)
			each += type_info(r->stage[i].s->out->type)->bits / 8.0;
	return each * (double)about(r->count, t) * (double)about(r->length, t);
}

/* True if the loads of weights should not wait for the reductions: no other block hides their way, and registers hold
 * them besides the row. Measured on an H200: LayerNorm f16[64,4096] loses 390 ns for each of its steps otherwise, since
 * each waits for the store before it. */
static bool loads_ahead(const struct rows *r, const struct sched_target *t, int lanes, int width, int64_t steps)
{
	int half = TARGET_REGISTERS_EVERYWHERE / lanes / 2, elements = (int)steps * width;
	double registers =
	        elements * (rows_registers_each(r) + rows_registers_along(r) + rows_registers_kept(r, elements));
	return rows_load_apart(r) && registers <= (half < MOST_AHEAD ? half : MOST_AHEAD) &&
	       (double)about(r->count, t) <= (double)t->processors * rows_of_block(lanes);
}

/* True if vectors that exceed the registers may be in shared memory: 16 bytes each, of one buffer. */
static bool may_share(const struct rows *r, const struct sched_target *t, int lanes, int width, int64_t steps)
{
	bool plain =
	        r->cached == 1 && !r->cache[0].from && type_info(r->cache[0].buf->type)->bits * width == 8 * WIDEST;
	return plain && lanes == MAX_LANES && steps <= 2 * MAX_STEPS &&
	       rows_shared_bytes(r, lanes, width, (int)steps) + TARGET_EXCHANGE <= t->block_shared_most;
}

int rows_candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct sched_target *t = site->t;
	int n = 0;
	struct rows r = *(const struct rows *)site->found;
	int64_t length = about(r.length, t), fixed;
	int once = bytes_moved(&r, t) >= (double)target_past_cache(t);
	int widest = WIDEST / widest_type(&r);
	for (int width = widest ? widest : 1; width >= 1; width /= 2) {
		if (ir_const_int(r.length, &fixed) && fixed % width)
			continue;
		for (int lanes = length <= 2 * WARP * width ? FEW_LANES : WARP; lanes <= MAX_LANES; lanes *= 2) {
			int64_t steps = (length + lanes * width - 1) / (lanes * width);
			bool wasteful = lanes != WARP && (int64_t)lanes * width >= 2 * length;
			if (wasteful || n + 2 > SCHED_RULE_CHOICES)
				continue;
			bool kept = steps <= MAX_STEPS && rows_steps_held(&r, lanes, width, (int)steps) == steps;
			if (kept || may_share(&r, t, lanes, width, steps))
				out[n++] = (struct sched_choice){ &sched_rows,
					                          { lanes, width, (int)steps, once,
					                            kept && loads_ahead(&r, t, lanes, width, steps) } };
			if (!kept && lanes >= 256)
				out[n++] = (struct sched_choice){ &sched_rows, { lanes, width, 0 } };
		}
	}
	if (n == 0)
		out[n++] = (struct sched_choice){ &sched_rows, { WARP, 1, 0 } };
	return n;
}
