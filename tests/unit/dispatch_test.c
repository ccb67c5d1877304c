/* Plans for several points: kernels of one name are one function, for one architecture or for all. */
#include "sched/sched.h"

#include <string.h>

#include "ir/kernel.h"

#include "tests/program/program_text.h"
#include "test.h"

/* At some of its usual points nothing is packed: these have fewer launches. */
static const char program_text[] =
        "program convolution(x: f16[N,64,H,W], weight: f16[128,64,3,3]) -> (y: f16[N,128,H,W])\n"
        "  y: f16[N,128,H,W] = sum (i, j, k, l | r<64, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < H), and(0 "
        "<= "
        "l + t - 1, l + t - 1 < W)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then f16(it)\n";

/* Returns the number of kernels for one architecture. */
static int check_arch_of_name(const struct ir_plan *plan, struct arena *a)
{
	struct map seen = map_new(a);
	int limited = 0;
	vec_each (step, &plan->steps)
		vec_each (k, *step) {
			const struct ir_kernel *same = map_get(&seen, (*k)->name);
			if (same)
				CHECK_INT((*k)->arch, same->arch);
			else
				map_put(&seen, (*k)->name, *k);
			limited += (*k)->arch != 0;
		}
	return limited;
}

int main(void)
{
	struct arena *a = arena_new();
	struct ir_program *p = NULL;
	struct err e = { 0 };
	if (!test_check(ir_parse_program(&p, program_text, a, &e) == 0, __FILE__, __LINE__, "the program can be read"))
		return printf("%s%s\n", e.where, e.text), test_done();
	struct sched_points points = sched_usual_points(p, &sched_default_target);
	struct sched_tactic best = sched_tactic_best(p, &points);
	const struct ir_plan *plan;
	sched_plans(&plan, p, &points, &best, 1);
	CHECK(points.n > 1 && plan->steps.n > 1);
	CHECK(check_arch_of_name(plan, a) > 0);
	arena_free(a);
	return test_done();
}
