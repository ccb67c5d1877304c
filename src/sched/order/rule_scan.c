/* Rule scan_thread: one thread scans each row, and neighbouring threads take neighbouring rows. It wins where there are
 * many rows whose neighbours are contiguous. */
#include "sched/order/scan_row.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

enum { THREADS = 256, AHEAD = 8 /* elements of a thread that are loaded at once */ };

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
	scan_row_ahead(p, &k->body, s, row, AHEAD);
	kernel_finish(plan, step, k, s);
}

/* One thread per row: accesses have the stride between rows. Measured on an H200 with a load and a store at a time: 41
 * to 57 ns for each element of rows of 64 to 655 elements, which came from the caches. */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	enum { SECTOR = 32, STEP_NS = 40 };
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	struct cost_way w = cost_way(site);
	double points = (double)about(space_count(site->p, s), t), extent = (double)about(s->out->dim[s->axis], t);
	double size = type_info(s->out->type)->bits / 8.0, step = 1;
	(void)c;
	for (w.axis = s->out->rank - 1; w.axis >= 0; w.axis--)
		if (w.axis != s->axis && !ir_is_int(s->out->dim[w.axis], 1))
			break;
	w.threads = points / extent;
	w.flight = fmin(AHEAD, extent);
	w.serial = cost_wait(t, extent * STEP_NS);
	for (int k = s->out->rank - 1; k > w.axis; k--)
		step *= (double)about(s->out->dim[k], t);
	w.strided = points * ((step * size < SECTOR ? step * size : SECTOR) - size);
	w.overhead = scan_may_be_long(site->p, s) ? SCAN_LONG_LAUNCHES * t->launch_ns : 0; /* a block may be overloaded
	                                                                                    */
	return cost_of_way(site, &w);
}

const struct sched_rule sched_scan_thread = {
	.name = "scan_thread",
	.version = 2,
	.about = "A thread scans a row, and neighbouring threads have neighbouring rows.",
	.match = scan_match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
