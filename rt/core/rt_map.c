/* SPDX-License-Identifier: Apache-2.0 */
/* rt_map.c: tensor maps. Making one takes the driver longer than the rest of an enqueue, so a plan keeps those of the
 * last pointers. */
#include <stdlib.h>
#include <string.h>

#include "rt_core.h"

struct rt_map *rt_map_alloc(const struct tpat_rt_plugin *p)
{
	size_t most = 1;

	for (int32_t t = 0; t < p->tactics; t++) {
		size_t n = 0;
		for (int32_t s = 0; s < p->tactic[t].steps; s++) {
			int32_t maps = 0; /* only one kernel of a step runs */
			for (int32_t k = 0; k < p->tactic[t].step[s].kernels; k++)
				if (p->tactic[t].step[s].kernel[k].maps > maps)
					maps = p->tactic[t].step[s].kernel[k].maps;
			n += (size_t)maps;
		}
		most = n > most ? n : most;
	}
	return calloc(most, sizeof(struct rt_map));
}

void rt_map_forget(struct rt_map *kept, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		memset(kept[i].from, 0, sizeof kept[i].from);
}

static int encode(const struct rt_plan *plan, const struct tpat_rt_map *m, const void *from, void *out,
                  char why[RT_WHY])
{
	struct tpat_rt_map_values values = {
		.from = from, .element_bytes = m->element_bytes, .rank = m->rank, .pixels = m->pixels
	};

	for (int32_t d = 0; d < m->rank; d++) {
		values.dim[d] = plan->value[m->dim[d]];
		values.stride[d] = plan->value[m->stride[d]];
		values.box[d] = m->box[d];
		values.first[d] = m->first[d];
		values.step[d] = m->step[d];
		if (m->pixels && d > 0 && d < m->rank - 1)
			values.count[d] = plan->value[m->count[d]];
	}
	return rt_device_map(plan->loaded, &values, out, why);
}

/* `out` is aligned to 64 bytes for the driver; the kept maps need not be. */
static int find(struct rt_map *kept, const struct rt_plan *plan, const struct tpat_rt_map *m, const void *from,
                void *out, char why[RT_WHY])
{
	for (int32_t i = 0; i < RT_MAP_KEPT; i++)
		if (kept->from[i] == from) {
			memcpy(out, kept->encoded[i], TPAT_RT_MAP_BYTES);
			return 0;
		}
	if (encode(plan, m, from, out, why))
		return -1;
	memcpy(kept->encoded[kept->oldest], out, TPAT_RT_MAP_BYTES);
	kept->from[kept->oldest] = from;
	kept->oldest = (kept->oldest + 1) % RT_MAP_KEPT;
	return 0;
}

int rt_map_get(struct rt_map *kept, const struct rt_plan *plan, const struct tpat_rt_map *m, const void *from,
               void *out, char why[RT_WHY])
{
	/* Do not wait for another thread that enqueues the same plugin object. */
	if (!from || __atomic_exchange_n(&kept->busy, true, __ATOMIC_ACQUIRE))
		return encode(plan, m, from, out, why);
	int rc = find(kept, plan, m, from, out, why);
	__atomic_store_n(&kept->busy, false, __ATOMIC_RELEASE);
	return rc;
}
