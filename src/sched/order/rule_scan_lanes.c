/* Rule scan_lanes: a warp or a block scans each row, tile by tile; a short row is one tile. Each thread holds vectors
 * of neighbouring elements in registers and combines them. A warp combines its threads' totals, and a block its warps'
 * totals once per tile. The row is read once, with the widest loads, and a whole tile's loads are in flight together.
 * After: D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016 (the scan within a
 * block). */
#include "sched/order/scan_row.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

enum { WARP = 32, WARP_BLOCK = 128, MOST_LANES = 1024, MOST_WORDS = 32 /* registers for a thread's tile */ };

static int words(const struct ir_stage *s)
{
	return type_info(s->value->type)->bits > 32 ? 2 : 1;
}

/* Adds the choices of one width. */
static int of_width(struct sched_choice *out, const struct ir_stage *s, int64_t extent, int width)
{
	int n = 0, held = width == 1 ? 8 : MOST_WORDS / words(s) / width;
	for (int lanes = WARP; lanes <= MOST_LANES; lanes *= lanes == WARP ? 4 : 2) {
		int64_t steps = (extent + lanes * width - 1) / (lanes * width);
		if (lanes > WARP && (int64_t)lanes * width >= 2 * extent)
			break;
		out[n++] =
		        (struct sched_choice){ &sched_scan_lanes, { lanes, width, steps < held ? (int)steps : held } };
		if (steps > held && held > 2 && (lanes == 256 || lanes == 512))
			out[n++] = (struct sched_choice){ &sched_scan_lanes, { lanes, width, held / 2 } };
	}
	return n;
}

/* Rows of an open length, which is odd here, need the kernels of a narrow choice: those of a wide one that fit all rows
 * have its lanes, with as many steps as its vectors have elements. */
static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	int64_t extent = about(s->out->dim[s->axis], site->t);
	int width = scan_width(s), fits = extent % 2 ? 1 : 2, n = of_width(out, s, extent, width);
	return extent % width && fits < width ? n + of_width(out + n, s, extent, fits) : n;
}

static void one_kernel(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s,
                       const struct sched_choice *c, int width, int steps, const char *suffix)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, suffix, c);
	int lanes = c->param[0], rows_a_block = lanes == WARP ? WARP_BLOCK / WARP : 1, in_tile = lanes * width * steps;
	struct scan_vectors v = { .lanes = lanes, .width = width, .steps = steps };
	expr rows = rows_along(p, s), several = ir_index(p->pool, rows_a_block), warp = ir_index(p->pool, WARP);
	int64_t extent;
	k->threads = lanes * rows_a_block;
	k->blocks = ceil_div(p, rows, rows_a_block);
	expr block = ir_block(p->pool, k->blocks);
	expr thread = ir_thread(p->pool, ir_index(p->pool, k->threads));
	expr row = block, lane = thread, first = ir_binary(IR_MUL, block, several);
	if (rows_a_block > 1) {
		lane = ir_binary(IR_MOD, thread, warp);
		row = ir_binary(IR_ADD, first, ir_binary(IR_FLOORDIV, thread, warp));
	}
	lane = emit_constant(p, &k->body, "lane", lane, ir_index(p->pool, lanes));
	row = emit_constant(p, &k->body, "row", row, NULL);
	if (rows_a_block > 1)
		emit_return_if(p, &k->body, ir_binary(IR_LE, rows, row));
	row = ir_var_of(row->var, rows);
	struct scan_row r = scan_row_begin(p, &k->body, s, row);
	struct ir_block *b = &k->body;
	scan_vectors_begin(&v, &r, b, lane);
	bool known = ir_const_int(r.extent, &extent);
	v.whole = known && extent > 0 && extent % in_tile == 0;
	v.tile = ir_index(p->pool, 0);
	if (!known || extent > in_tile) {
		b = emit_loop(p, b, "tile", v.tile, r.extent, ir_index(p->pool, in_tile), r.extent, &v.tile);
	}
	scan_vectors_tile(&v, b);
	scan_vectors_store(&v, b, NULL);

	/* The serial twin. */
	expr end = ir_binary(IR_MIN, rows, ir_binary(IR_ADD, first, several));
	b = emit_loop(p, &k->serial, "row", first, end, ir_index(p->pool, 1), rows, &row);
	scan_row_serial(p, b, s, row);
	kernel_needs(k, whole_multiple(p, s->out->dim[s->axis], width));
	kernel_finish(plan, step, k, s);
}

/* The width and steps of the rule's kernels: as chosen, for rows of even length, for all rows. Returns their number. */
struct shape {
	int width, steps;
};
static int shapes_of(const struct ir_stage *s, const struct sched_choice *c, struct shape out[3])
{
	int width = c->param[1], steps = c->param[2], n = 0, most = MOST_WORDS / words(s) / 2;
	out[n++] = (struct shape){ width, steps };
	if (width > 2)
		out[n++] = (struct shape){ 2, width / 2 * steps < most ? width / 2 * steps : most };
	if (width > 1)
		out[n++] = (struct shape){ 1, width * steps < most ? width * steps : most };
	return n;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_step *step = step_new(plan);
	struct shape shape[3];
	int n = shapes_of(site->s, c, shape);
	for (int i = 0; i < n && !step_fits_all(step); i++)
		one_kernel(plan, step, site->s, c, shape[i].width, shape[i].steps,
		           i == 0                ? ""
		           : shape[i].width == 2 ? "_pairs"
		                                 : "_any");
}

/* ---- Time: one pass over the data, at the rate that the loads in flight reach, and a tile's steps one after the
 * other. */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	enum { TILE_NS = 400 };
	const double STEP_NS = 20, LANE_NS = 0.22;
	struct shape shape[3];
	int lanes = c->param[0], rows_a_block = lanes == WARP ? WARP_BLOCK / WARP : 1, threads = lanes * rows_a_block;
	int n = shapes_of(s, c, shape), i = 0;
	while (i < n - 1 && about(s->out->dim[s->axis], t) % shape[i].width)
		i++;
	int width = shape[i].width, steps = shape[i].steps;
	double extent = (double)about(s->out->dim[s->axis], t), size = type_info(s->out->type)->bits / 8.0;
	double rows = (double)about(rows_along(p, s), t), points = rows * extent;
	double registers = 16 + steps * width * words(s) + steps * (width * size / 4 > 4 ? 4 : width * size / 4) / 2;
	double here = target_resident(t, threads, registers, 0);
	double blocks = ceil(rows / rows_a_block),
	       resident = fmin(fmax(here, 1), fmax(blocks / t->processors, 1 / 64.0));
	double tiles = ceil(extent / ((double)lanes * width * steps)),
	       used = fmin(extent / ((double)lanes * width * steps), 1);
	double access = scan_access_ns(p, s, t, resident * threads * used * steps * width * size);
	double waves = fmax(blocks / (resident * t->processors), 1);
	double each = blocks / t->processors, tail = each > 1 ? ceil(each) / each : 1;
	/* Instructions per element, per vector of a warp, and per access. */
	double work = points * (ir_cost(s->value) + 4 + 40.0 / width) / cost_mixed_rate(t) / used;
	/* A multiprocessor reads and writes its rows by itself, as measured on an H200 for one to 64 rows. */
	double alone = 2 * extent * size * rows_a_block / cost_alone_rate(t);
	double steps_of_tiles = waves * (tiles * (TILE_NS + steps * (STEP_NS + LANE_NS * lanes)) + alone),
	       all = access * tail + work + steps_of_tiles;
	double time = fmax(fmax(access * tail, work), steps_of_tiles);
	if (tiles > 1) /* the next tile is only read after this one is written */
		time *= 1.04;
	time = (time + 0.1 * (all - time)) * (1 + 0.02 * (16 / (width * size) - 1));
	return t->launch_ns + time + (scan_may_be_long(p, s) ? SCAN_LONG_LAUNCHES * t->launch_ns : 0);
}

const struct sched_rule sched_scan_lanes = {
	.name = "scan_lanes",
	.version = 2,
	.about = "{lanes} threads scan a row together, in tiles: each thread has {steps vector} of {width "
	         "element} in registers.",
	.param = { { "lanes", 32, 1024 }, { "width", 1, 16 }, { "steps", 1, 32 } },
	.match = scan_match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
