/* Programmatic dependent launch: from sm_90 on a kernel may start while the previous one still runs, of this plugin or
 * any other. This saves a quarter of a microsecond on the GPU and half of one on the host. In return its inputs are not
 * read-only memory for the compiler. So only kernels of at most a few waves use it: longer ones gain less than one
 * percent. */
#include "sched/build/extents.h"
#include "sched/core/launches.h"

enum { MOST_WAVES = 16 };

bool may_start_early(const struct ir_kernel *k, const struct sched_target *t)
{
	if (k->together)
		return false;
	return (double)about(k->blocks, t) * k->threads <= (double)MOST_WAVES * t->processors * t->threads;
}

void start_early(struct ir_plan *plan, int from, const struct sched_target *t)
{
	for (int i = from; i < plan->steps.n; i++)
		vec_each (k, plan->steps.at[i])
			(*k)->early = may_start_early(*k, t);
}
