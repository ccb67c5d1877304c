/* Numbers of elements as arguments of kernels, by which their positions are checked. See kernel.h. */
#include "base/map.h"
#include "ir/kernel.h"
#include "ir/pool.h"

enum { MOST_ARGUMENTS = 48 }; /* of a kernel: launches that several kernels share have the arguments of all */

static void pass_bounds(struct ir_program *p, struct ir_kernel *k)
{
	if (ir_kernel_args(k) + k->buffers.n > MOST_ARGUMENTS)
		return;
	vec_each (b, &k->buffers) {
		const struct ir_variable *v = ir_variable_new(p->pool, TYPE_U64, "%s_elements", (*b)->name);
		vec_push(p->arena, &k->parameters,
		         ((struct ir_parameter){ .var = v, .value = ir_size_limit(p, (*b)->dim[0]), .of = *b }));
	}
}

void ir_kernel_bounds(const struct ir_plan *plan)
{
	struct arena *scratch = arena_new();
	struct map seen = map_new(scratch);
	vec_each (step, &plan->steps)
		vec_each (k, *step) {
			if (map_get_u64(&seen, (uintptr_t)*k))
				continue;
			map_put_u64(&seen, (uintptr_t)*k, *k);
			pass_bounds(plan->program, *k);
		}
	arena_free(scratch);
}
