/* The choices of rule rows: lanes, vectors and steps that fit into registers and shared memory. See rows.h. */
#include "sched/row/rows.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"

enum { MOST_AHEAD = 64, FEW_AHEAD = 24 }; /* registers of rows and weights */
enum { LEAST_LANES = 1, FEW_LANES = 4, WARP = 32, MAX_LANES = 1024, MAX_STEPS = 16 };
enum { WIDEST = 16 /* bytes */ };

/* Total bytes moved. */
static double bytes_moved(const struct rows *r, const struct sched_target *t)
{
	double each = 4 * rows_registers_each(r);
	for (int i = 0; i < r->stages; i++)
		if (r->stage[i].kind == ROWS_MAP)
			each += type_info(r->stage[i].s->out->type)->bits / 8.0;
	return each * (double)about(r->count, t) * (double)about(r->length, t);
}

/* Measured on an H200, whose L2 cache has 60 MB, for 21 to 34 MB: up to 1.18 times as fast, never slower. */
bool rows_once(const struct rows *r, const struct sched_target *t)
{
	return bytes_moved(r, t) >= (double)t->l2_bytes / 2;
}

/* True if the loads of weights should not wait for the reductions: no other block hides their latency, and registers
 * have room for them next to the row. Measured on an H200: LayerNorm f16[64,4096] loses 390 ns for each of its steps
 * otherwise, since each waits for the store before it. */
static bool loads_ahead(const struct rows *r, const struct sched_target *t, int lanes, int width, int64_t steps)
{
	int half = TARGET_REGISTERS_EVERYWHERE / lanes / 2, elements = (int)steps * width;
	double registers = elements * (rows_registers_each(r) + r->along + rows_registers_kept(r, elements));
	return r->apart && registers <= (half < MOST_AHEAD ? half : MOST_AHEAD) &&
	       (registers <= FEW_AHEAD || (double)about(r->count, t) <= (double)t->processors * rows_of_block(lanes));
}

int rows_steps_shared(const struct rows *r, const struct sched_target *t, int lanes, int width, int64_t steps,
                      int resident)
{
	bool plain =
	        r->cached == 1 && !r->cache[0].from && type_info(r->cache[0].buf->type)->bits * width == 8 * WIDEST;
	if (!plain || steps > 2 * MAX_STEPS)
		return 0;
	int shared = (int)steps - rows_steps_held(r, lanes, width, (int)steps, resident);
	double bytes = rows_shared_bytes(r, lanes, width, shared) + TARGET_EXCHANGE;
	return bytes <= t->block_shared_most && target_resident(t, lanes, 0, bytes) >= resident ? shared : 0;
}

int rows_candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct sched_target *t = site->t;
	int n = 0;
	struct rows r = *(const struct rows *)site->found;
	int64_t length = about(r.length, t), fixed;
	bool open = !ir_const_int(r.length, &fixed);
	int once = rows_once(&r, t);
	if (open && length <= ROWS_ALONE)
		out[n++] = (struct sched_choice){ &sched_rows, { 1, 1, ROWS_ALONE, once } };
	for (int width = rows_widest(&r); width >= 1; width /= 2) {
		if (!open && fixed % width)
			continue;
		for (int lanes = length <= 2 * WARP * width ? LEAST_LANES : WARP; lanes <= MAX_LANES; lanes *= 2) {
			int64_t steps = (length + lanes * width - 1) / (lanes * width);
			bool wasteful = lanes != WARP && (int64_t)lanes * width >= 2 * length;
			bool apart = lanes < FEW_LANES && (steps > 1 || open);
			if (wasteful || apart || n + 3 > SCHED_RULE_CHOICES)
				continue;
			bool kept = steps <= MAX_STEPS && rows_steps_held(&r, lanes, width, (int)steps, 1) == steps;
			int alone = !kept && lanes == MAX_LANES ? rows_steps_shared(&r, t, lanes, width, steps, 1) : 0;
			int both = lanes == MAX_LANES / 2 ? rows_steps_shared(&r, t, lanes, width, steps, 2) : 0;
			if (kept || alone)
				out[n++] = (struct sched_choice){ &sched_rows,
					                          { lanes, width, (int)steps, once,
					                            kept && loads_ahead(&r, t, lanes, width, steps),
					                            alone } };
			if (both)
				out[n++] = (struct sched_choice){ &sched_rows,
					                          { lanes, width, (int)steps, once, 0, both } };
			if (!kept && lanes >= 256)
				out[n++] = (struct sched_choice){ &sched_rows, { lanes, width, 0 } };
		}
	}
	if (n == 0)
		out[n++] = (struct sched_choice){ &sched_rows, { WARP, 1, 0 } };
	return n;
}
