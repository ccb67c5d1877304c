/* Rules for scans; the rows along the scanned axis are independent of each other. scan_thread: one thread makes a row,
 * neighbouring threads neighbouring ones. scan_lanes: a warp or a block makes each row, chunk by chunk. */
#include "sched/scan_row.h"

enum { THREADS = 256, WARP = 32, WARP_BLOCK = 128 };

static bool applicable(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_SCAN)
		return true;
	*why = "the stage is no scan";
	return false;
}

/* ---- scan_thread */

static int thread_candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                             struct sched_choice *out)
{
	(void)p;
	(void)s;
	(void)t;
	out[0] = (struct sched_choice){ &sched_scan_thread, { 0 } };
	return 1;
}

static void thread_apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	expr row = declare_element(p, k, scan_rows(p, s), THREADS, 1);
	scan_row_serial(p, &k->body, s, row);
	kernel_finish(plan, step, k, s);
}

/* ---- scan_lanes */

static int lanes_candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                            struct sched_choice *out)
{
	int64_t points = about(s->out->dim[s->axis], t);
	int n = 0;
	(void)p;
	for (int lanes = 1024; lanes >= WARP; lanes /= 2)
		if (lanes == WARP || points >= 2 * lanes)
			out[n++] = (struct sched_choice){ &sched_scan_lanes, { lanes } };
	return n;
}

static void lanes_apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	int lanes = c->param[0], rows_a_block = lanes == WARP ? WARP_BLOCK / WARP : 1;
	expr rows = scan_rows(p, s), several = ir_index(p->pool, rows_a_block), warp = ir_index(p->pool, WARP);
	k->threads = lanes * rows_a_block;
	k->blocks = ceil_div(p, rows, rows_a_block);
	expr block = ir_var(p->pool, TYPE_INDEX, IR_BLOCK, k->blocks);
	expr thread = ir_var(p->pool, TYPE_INDEX, IR_THREAD, ir_index(p->pool, k->threads));
	expr row = block, lane = thread, first = ir_binary(IR_MUL, block, several);
	if (rows_a_block > 1) {
		lane = ir_binary(IR_MOD, thread, warp);
		row = ir_binary(IR_ADD, first, ir_binary(IR_FLOORDIV, thread, warp));
	}
	lane = emit_constant(p, &k->body, "lane", lane, ir_index(p->pool, lanes));
	row = emit_constant(p, &k->body, "row", row, NULL);
	if (rows_a_block > 1)
		emit_return_if(p, &k->body, ir_binary(IR_LE, rows, row));
	row = ir_var(p->pool, TYPE_INDEX, "row", rows);
	scan_row_lanes(p, &k->body, s, row, lane, lanes);

	/* The same rows on one processor. */
	struct ir_block *b = emit_for(p, &k->serial, "row", first,
	                              ir_binary(IR_MIN, rows, ir_binary(IR_ADD, first, several)), ir_index(p->pool, 1));
	scan_row_serial(p, b, s, row);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_scan_lanes = {
	.name = "scan_lanes",
	.version = 1,
	.help = "a warp or a block of `lanes` threads makes each row",
	.params = { "lanes" },
	.applicable = applicable,
	.candidates = lanes_candidates,
	.apply = lanes_apply,
};

const struct sched_rule sched_scan_thread = {
	.name = "scan_thread",
	.version = 1,
	.help = "one thread makes each row",
	.applicable = applicable,
	.candidates = thread_candidates,
	.apply = thread_apply,
};
