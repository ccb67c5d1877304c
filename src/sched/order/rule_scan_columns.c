/* Rule scan_columns: scans whose neighbouring rows are neighbours in memory, such as sums over time. A block has some
 * neighbouring columns, and several threads for each: these add up a part each, exchange the totals through shared
 * memory, and read their parts again, mostly from the caches. */
#include "sched/order/scan_row.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>

enum { AHEAD = 8 /* elements of a thread that are loaded at once */, MOST_THREADS = 1024, WARP = 32 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	const void *scan = scan_match(p, s, why);
	int last = s->out->rank - 1;
	if (!scan)
		return NULL;
	while (last > s->axis && ir_is_int(s->out->dim[last], 1))
		last--;
	if (last > s->axis)
		return scan;
	*why = "the scanned axis is the last";
	return NULL;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	int64_t extent = about(s->out->dim[s->axis], site->t);
	int n = 0;
	for (int columns = WARP; columns >= 8; columns /= 2)
		for (int parts = MOST_THREADS / columns; parts >= 4; parts /= 2)
			if ((extent >= 2 * parts && (columns == WARP || parts > WARP)) ||
			    (columns == WARP && parts == 4))
				out[n++] = (struct sched_choice){ &sched_scan_columns, { parts, columns } };
	return n;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	int parts = c->param[0], columns = c->param[1];
	expr rows = rows_along(p, s), extent = s->out->dim[s->axis], across = ir_index(p->pool, columns), number;
	struct ir_block *b = &k->body;
	k->threads = parts * columns;
	k->blocks = ceil_div(p, rows, columns);
	expr thread = ir_thread(p->pool, ir_index(p->pool, k->threads));
	expr first = ir_binary(IR_MUL, ir_block(p->pool, k->blocks), across);
	expr part = emit_constant(p, b, "part", ir_binary(IR_FLOORDIV, thread, across), ir_index(p->pool, parts));
	expr lane = emit_constant(p, b, "lane", ir_binary(IR_MOD, thread, across), across);
	/* Threads without a column read the last one. */
	expr own = emit_constant(p, b, "own", ir_binary(IR_ADD, first, lane), NULL);
	expr row =
	        emit_constant(p, b, "row", ir_binary(IR_MIN, own, ir_binary(IR_SUB, rows, ir_index(p->pool, 1))), NULL);
	struct scan_row r = scan_row_begin(p, b, s, ir_var_of(row->var, rows));
	expr share = ir_binary(IR_MUL, ceil_div(p, extent, parts * AHEAD), ir_index(p->pool, AHEAD));
	expr from = emit_constant(p, b, "from", ir_binary(IR_MUL, part, share), NULL);
	expr end = emit_constant(p, b, "end", ir_binary(IR_MIN, ir_binary(IR_ADD, from, share), extent), NULL);
	scan_part(&r, b, from, end, AHEAD, false);

	const struct ir_variable *totals =
	        emit_shared(p, b, array_of(ir_variable_new(p->pool, s->value->type, "totals"), parts * columns));
	emit_set(p, b, totals, thread, r.sum);
	emit(p, b, IR_SYNC);
	emit_assign(p, b, r.sum, ir_identity(p->pool, s->combine, s->value->type));
	struct ir_block *before = emit_loop(p, b, "other", ir_index(p->pool, 0), part, ir_index(p->pool, 1),
	                                    ir_index(p->pool, parts), &number);
	expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, number, across), lane);
	emit_assign(p, before, r.sum, ir_combine_expr(s->combine, r.sum, item_of(totals, at)));
	scan_part(&r, emit_if(p, b, ir_binary(IR_LT, own, rows)), from, end, AHEAD, true);

	/* The serial twin. */
	expr last = ir_binary(IR_MIN, rows, ir_binary(IR_ADD, first, across));
	b = emit_loop(p, &k->serial, "row", first, last, ir_index(p->pool, 1), rows, &row);
	scan_row_serial(p, b, s, row);
	kernel_finish(plan, step, k, s);
}

/* By reckoning, not measured: each turn of a thread's loads waits for memory, the second time for the L2 cache. */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	enum { WAY = 600, AGAIN = 350, EXCHANGE = 300, OF_PART = 8 /* ns */ };
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	struct cost_way w = cost_way(site);
	double parts = c->param[0], rows = (double)about(rows_along(p, s), t),
	       extent = (double)about(s->out->dim[s->axis], t);
	double mine = ceil(extent / (parts * AHEAD)), blocks = ceil(rows / c->param[1]);
	double resident = fmin(target_resident(t, c->param[0] * c->param[1], 0, 0), ceil(blocks / t->processors));
	double waves = fmax(1, blocks / (t->processors * fmax(resident, 1)));
	double read = rows * extent * type_info(s->value->type)->bits / 8.0;
	w.threads = rows * fmin(parts, ceil(extent / AHEAD));
	w.flight = fmin(AHEAD, extent);
	w.strided = read * cost_missed(t, read * fmin(1, t->processors * resident * c->param[1] / rows));
	w.serial = waves * (mine * (WAY + AGAIN) + cost_wait(t, EXCHANGE + parts * OF_PART));
	w.work = 2 * cost_work(site);
	return cost_of_way(site, &w) + 2 * read / t->l2_bytes_per_ns +
	       (scan_may_be_long(p, s) ? SCAN_LONG_LAUNCHES * t->launch_ns : 0);
}

const struct sched_rule sched_scan_columns = {
	.name = "scan_columns",
	.version = 1,
	.about = "A block scans {columns} neighbouring columns. {parts} threads of a column add up a part "
	         "each, exchange the totals in shared memory, and read their parts again.",
	.param = { { "parts", 4, 128 }, { "columns", 8, 32 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
