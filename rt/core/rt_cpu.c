/* SPDX-License-Identifier: Apache-2.0 */
/* rt_cpu.c: the processor as a device, for engines that run models there. A library has its kernels as C functions,
 * too, which the tables point to; so nothing is loaded, and constants are read where they are. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "rt_core.h"

static int cpu_load(void *user, const struct tpat_rt_plugin *p, void **module, char why[RT_WHY])
{
	(void)user;
	for (int32_t s = 0; s < p->tactic[0].steps; s++)
		for (int32_t k = 0; k < p->tactic[0].step[s].kernels; k++)
			if (!p->tactic[0].step[s].kernel[k].cpu)
				return rt_why(why, "the library has no code for the processor (kernel %s)",
				              p->tactic[0].step[s].kernel[k].name);
	*module = rt_drop_const(p); /* never written */
	return 0;
}

static int cpu_function(void *user, void *module, const struct tpat_rt_plugin *p, const struct tpat_rt_kernel *k,
                        void **function, char why[RT_WHY])
{
	(void)user, (void)module, (void)p;
	if (!k->cpu)
		return rt_why(why, "the library has no code for the processor (kernel %s)", k->name);
	memcpy(function, &k->cpu, sizeof k->cpu);
	return 0;
}

static int cpu_upload(void *user, const void *data, size_t bytes, void **pointer, char why[RT_WHY])
{
	(void)user, (void)bytes, (void)why;
	*pointer = rt_drop_const(data); /* kernels only read constants */
	return 0;
}

/* A grid. Blocks start in order, so that a block may wait for earlier ones. */
struct work {
	tpat_rt_cpu *call;
	void *const *args;
	const uint32_t *grid;
	uint64_t blocks;
	_Atomic uint64_t next;
};

static void run_blocks(void *arg)
{
	struct work *w = arg;
	uint64_t i;

	while ((i = atomic_fetch_add(&w->next, 1)) < w->blocks) {
		const uint64_t x = w->grid[0], y = w->grid[1];
		const uint32_t block[3] = { (uint32_t)(i % x), (uint32_t)(i / x % y), (uint32_t)(i / x / y) };
		w->call(w->args, block);
	}
}

static int cpu_launch(void *user, void *function, const struct tpat_rt_plugin *p, const struct tpat_rt_kernel *k,
                      const uint32_t grid[3], void **args, void *stream, char why[RT_WHY])
{
	const struct rt_pool *pool = stream;
	struct work w = { .call = k->cpu, .args = args, .grid = grid };

	(void)user, (void)function, (void)p, (void)why;
	w.blocks = (uint64_t)grid[0] * grid[1] * grid[2];
	if (pool && w.blocks > 1)
		pool->run(pool->user, w.blocks < SIZE_MAX ? (size_t)w.blocks : SIZE_MAX, run_blocks, &w);
	else
		run_blocks(&w);
	return 0;
}

static int cpu_current(void *user, char why[RT_WHY])
{
	(void)user, (void)why;
	return 0;
}

static int cpu_copy(void *user, void *to, const void *from, size_t bytes, void *stream, char why[RT_WHY])
{
	(void)user, (void)stream, (void)why;
	if (bytes)
		memcpy(to, from, bytes);
	return 0;
}

static int cpu_alloc(void *user, size_t bytes, void *stream, void **pointer, char why[RT_WHY])
{
	(void)user, (void)stream;
	*pointer = rt_aligned_alloc(RT_WORKSPACE_ALIGN, bytes ? bytes : 1);
	if (!*pointer)
		return rt_why(why, "out of memory: it needs %zu bytes of workspace", bytes);
	return 0;
}

static void cpu_free(void *user, void *pointer, void *stream)
{
	(void)user, (void)stream;
	rt_aligned_free(pointer);
}

const struct tpat_rt_device rt_cpu = {
	.version = TPAT_RT_VERSION,
	.load = cpu_load,
	.function = cpu_function,
	.upload = cpu_upload,
	.launch = cpu_launch,
	.current = cpu_current,
	.copy = cpu_copy,
	.alloc = cpu_alloc,
	.free = cpu_free,
	.read = cpu_copy,
};
