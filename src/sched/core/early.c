/* Kernels that start early: from sm_90 on they are set up while the kernel before them still runs (programmatic
 * dependent launch), be it the same plugin's or any other, which saves a quarter of a microsecond on the GPU and half
 * of one on the host. In return their inputs are no memory that a compiler may read whenever it likes. So kernels do it
 * that are at most some waves long: of others that is less than a hundredth. */
#include "sched/build/extents.h"
#include "sched/core/launches.h"

enum { MOST_WAVES = 16 };

bool may_start_early(const struct ir_kernel *k, const struct sched_target *t)
{
	return (double)about(k->blocks, t) * k->threads <= (double)MOST_WAVES * t->processors * t->threads;
}

void start_early(struct ir_plan *plan, int from, const struct sched_target *t)
{
	for (int i = from; i < plan->steps.n; i++)
		vec_each (k, plan->steps.at[i])
			(*k)->early = may_start_early(*k, t);
}
