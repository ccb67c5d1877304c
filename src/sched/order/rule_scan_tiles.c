/* Rule scan_tiles: a look-back scan for few long rows. Blocks take a row's tiles, and each continues from the totals of
 * earlier tiles, so the whole device reads the values once. After: D. Merrill, M. Garland, "Single-pass Parallel Prefix
 * Scan with Decoupled Look-back", 2016. */
#include "sched/order/scan_row.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/tiles.h"

#include <math.h>

enum { LONG = 1 << 13, LANES = 1024 }; /* one block is faster for shorter rows */

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	static const int shape[][2] = { { 256, 16 }, { 256, 8 }, { 512, 16 } }; /* threads, 32-bit words per thread */
	int n = 0, widest = scan_width(s), words = type_info(s->value->type)->bits > 32 ? 2 : 1;
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		int items = shape[i][1] / words, width = widest < items ? widest : items;
		out[n++] = (struct sched_choice){ &sched_scan_tiles, { shape[i][0], width, items / width } };
	}
	return n;
}

/* The serial twin: the first block does all rows. */
static void serial(struct ir_program *p, struct ir_kernel *k, const struct ir_stage *s, expr rows)
{
	expr block = ir_block(p->pool, NULL), zero = ir_index(p->pool, 0);
	struct ir_block *b = emit_if(p, &k->serial, ir_binary(IR_EQ, block, zero));
	expr row;
	b = emit_loop(p, b, "row", zero, rows, ir_index(p->pool, 1), rows, &row);
	scan_row_serial(p, b, s, row);
}

/* One block per row, in one tile, for rows that are short at run time. */
static struct ir_kernel *short_kernel(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c,
                                      expr is_short, const char *suffix)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, suffix, c);
	struct scan_vectors v = { .lanes = LANES, .width = 1, .steps = LONG / LANES, .tile = ir_index(p->pool, 0) };
	expr rows = rows_along(p, s), lanes = ir_index(p->pool, LANES);
	k->threads = LANES;
	k->blocks = rows;
	kernel_needs(k, is_short);
	expr lane = emit_constant(p, &k->body, "lane", ir_thread(p->pool, lanes), lanes);
	expr row = emit_constant(p, &k->body, "row", ir_block(p->pool, rows), rows);
	struct scan_row r = scan_row_begin(p, &k->body, s, row);
	scan_vectors_begin(&v, &r, &k->body, lane);
	scan_vectors_tile(&v, &k->body);
	scan_vectors_store(&v, &k->body, NULL);
	serial(p, k, s, rows);
	return k;
}

/* Has its own twin for 64-bit positions: short rows have no tiles, and so no tile states. */
static void short_rows(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s,
                       const struct sched_choice *c, expr is_short)
{
	if (!kernel_finish_narrow(plan, step, short_kernel(plan, s, c, is_short, "_short"), s))
		kernel_finish_wide(plan, step, short_kernel(plan, s, c, is_short, "_short_64"), s);
}

/* Tiles whose threads have `steps` vectors of `width`; the state in `t` exists already. */
static void long_rows(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s,
                      const struct sched_choice *c, struct tiles t, int width, int steps, const char *suffix)
{
	struct ir_program *p = plan->program;
	struct scan_vectors v = { .lanes = t.threads, .width = width, .steps = steps };
	expr rows = rows_along(p, s), zero = ir_index(p->pool, 0), lanes = ir_index(p->pool, t.threads);
	struct ir_kernel *k = kernel_new(plan, s, suffix, c);
	expr in_row = tiles_of(p, &t, s->out->dim[s->axis]);
	tiles_take(p, k, &t, ir_binary(IR_MUL, rows, in_row));
	expr row = zero, first = t.tile;
	if (!ir_is_int(rows, 1)) {
		row = emit_constant(p, &k->body, "row", ir_binary(IR_FLOORDIV, t.tile, in_row), rows);
		first = emit_constant(p, &k->body, "point", ir_binary(IR_MOD, t.tile, in_row), in_row);
	}
	struct scan_row r = scan_row_begin(p, &k->body, s, row);
	expr sum = r.sum;
	expr lane = emit_constant(p, &k->body, "lane", ir_thread(p->pool, lanes), lanes);
	scan_vectors_begin(&v, &r, &k->body, lane);
	v.tile = ir_binary(IR_MUL, first, ir_index(p->pool, t.threads * t.items));
	scan_vectors_tile(&v, &k->body);
	scan_vectors_store(&v, &k->body, tiles_before(p, &k->body, &t, sum, s->combine, first));
	serial(p, k, s, rows);
	kernel_needs(k, whole_multiple(p, s->out->dim[s->axis], width));
	kernel_finish(plan, step, k, s);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	int width = c->param[1], steps = c->param[2];
	struct tiles t = { .threads = c->param[0], .items = width * steps };
	expr extent = s->out->dim[s->axis], count = ir_binary(IR_MUL, rows_along(p, s), tiles_of(p, &t, extent));
	expr is_short = ir_binary(IR_LE, ir_size_limit(p, extent), ir_index(p->pool, LONG));
	bool varies = is_short->op != IR_CONST_INT;
	if (varies) /* no tile states then */
		count = ir_select(is_short, ir_index(p->pool, 0), count);
	t = tiles_new(plan, s, count, s->value->type, t.threads, t.items);
	struct ir_step *step = step_new(plan);
	if (varies)
		short_rows(plan, step, s, c, is_short);
	long_rows(plan, step, s, c, t, width, steps, "");
	if (!step_fits_all(step))
		long_rows(plan, step, s, c, t, 1, width * steps, "_any");
}

/* Blocks take tiles in order; each reads, waits for earlier tiles, and writes. */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	int threads = c->param[0], items = c->param[1] * c->param[2];
	/* As measured on an H200 for one to 64 rows of 16 K to 1 M elements, in nanoseconds: the way from a tile to the
	 * next, the start of a block, and a thread's 32-bit word. Rows that one block scans do not hide the launch
	 * that clears the tiles' states. */
	enum { TILE_WAY = 35, TILE_START = 6, OF_WORD = 60 };
	double extent = (double)about(s->out->dim[s->axis], t), size = type_info(s->out->type)->bits / 8.0;
	double words = type_info(s->value->type)->bits > 32 ? 2 : 1;
	int64_t known;
	if (extent <= LONG && !ir_const_int(s->out->dim[s->axis], &known)) { /* the kernel for short rows */
		const struct sched_choice one = { &sched_scan_lanes, { LANES, 1, LONG / LANES } };
		int launches = scan_may_be_long(p, s) ? 1 - SCAN_LONG_LAUNCHES : 1; /* tiles are for long rows, too */
		return launches * t->launch_ns + sched_scan_lanes.estimate(site, &one);
	}
	double in_row = ceil(extent / ((double)threads * items)), tiles = (double)about(rows_along(p, s), t) * in_row;
	double resident = fmin((double)t->threads / threads * 0.75, tiles / t->processors);
	double waves = fmax(1, tiles / (resident * t->processors));
	double access = scan_access_ns(p, s, t, resident * threads * items * size);
	double way = cost_wait(t, TILE_WAY * in_row), own = cost_wait(t, OF_WORD * items * words * waves);
	double time = fmax(access, way) + 0.5 * fmin(access, way);
	return (extent > LONG ? 1 : 2) * t->launch_ns + time + own + cost_wait(t, TILE_START * tiles);
}

const struct sched_rule sched_scan_tiles = {
	.name = "scan_tiles",
	.version = 2,
	.about = "Blocks take the tiles of a row, and continue from the totals of the tiles before "
	         "(look-back), so that values are read once.",
	.param = { { "threads", 32, 1024 }, { "width", 1, 16 }, { "steps", 1, 32 } },
	.match = scan_match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
