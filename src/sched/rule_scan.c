/* Rule scan_thread: one thread makes a row along the scanned axis, neighbouring threads neighbouring ones. */
#include "sched/scan_row.h"

enum { THREADS = 256 };

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	(void)site;
	out[0] = (struct sched_choice){ &sched_scan_thread, { 0 } };
	return 1;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	expr row = declare_element(p, k, rows_along(p, s), THREADS, 1);
	scan_row_serial(p, &k->body, s, row);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_scan_thread = {
	.name = "scan_thread",
	.version = 1,
	.match = scan_match,
	.candidates = candidates,
	.apply = apply,
};
