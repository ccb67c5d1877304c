/* Kernels that start early: from sm_90 on such a kernel is set up while the one before it still runs (programmatic dependent
 * launch), which saves about a quarter of a microsecond and makes the launch itself cheaper for the host. In return each of its
 * blocks lets the next kernel start and waits for the last one, which takes longer than that where there are many blocks. */
#include "sched/build.h"

enum { THREADS_A_PROCESSOR = 2048, MOST_WAVES = 1 };

bool may_start_early(const struct ir_kernel *k, const struct sched_target *t)
{
	double wave = (double)t->processors * THREADS_A_PROCESSOR / k->threads;
	return (double)about(k->blocks, t) <= MOST_WAVES * wave;
}

void start_early(struct ir_plan *plan, int from, const struct sched_target *t)
{
	for (int i = from; i < plan->steps.n; i++)
		vec_each (k, plan->steps.at[i])
			(*k)->early = may_start_early(*k, t);
}
