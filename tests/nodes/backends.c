/* Ways to run a program. See backends.h. */
#include "tests/nodes/backends.h"

#include "eval/eval.h"
#include "tests/nodes/forced_rule.h"
#include "tests/nodes/plan_run.h"
#include "tests/nodes/plugin_run.h"

int backend_interp(struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs, struct arena *a,
                   struct err *e)
{
	struct eval_options options = { .threads = 1 };
	return eval_program(p, inputs, outputs, &options, a, e);
}

int backend_emulator(struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs, struct arena *a,
                     struct err *e)
{
	struct ir_plan *plan;
	TRY(forced_plan(&plan, p, e));
	return plan_run_emulated(plan, forced_arch(), inputs, outputs, a, e);
}

int backend_cpu_plugin(struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
                       struct arena *a, struct err *e)
{
	return plugin_run("cpu", p, inputs, outputs, a, e);
}

int backend_aarch64_plugin(struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
                           struct arena *a, struct err *e)
{
	return plugin_run_elsewhere(p, inputs, outputs, a, e);
}

int backend_cuda_plugin(struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
                        struct arena *a, struct err *e)
{
	return plugin_run("cuda", p, inputs, outputs, a, e);
}
