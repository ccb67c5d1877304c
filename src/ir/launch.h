/* Running a plan: which kernel of each step runs, in how many blocks, and with which arguments. The caller gives the
 * device, as functions. Everything that runs plans without a plugin goes through here; rt/core/rt_plan.c is the same
 * for a plugin's tables. */
#ifndef TPAT_IR_LAUNCH_H
#define TPAT_IR_LAUNCH_H

#include "ir/kernel.h"
#include "tpat/tpat_rt.h"

/* Inputs that give symbols their values: by their extents, and where elements of an input are extents, by these. */
struct ir_inputs {
	const struct ir_program *program;
	const struct tensor *const *tensor; /* by input; null: not known. One without data gives its extents alone */
};

/* An ir_symbol_fn; `inputs` is a struct ir_inputs. False for a symbol that they do not give: a size found at run time
 * too. */
bool ir_inputs_symbol(void *inputs, const char *name, int64_t *value);

struct ir_launcher {
	struct ir_program *program;
	int arch; /* of the GPU, 90 for sm_90: kernels for another one do not run; 0: all kernels may */
	ir_symbol_fn symbol;
	/* Where the program's buffer `b` lies on the device. */
	void *(*memory)(void *user, const struct ir_buffer *b);
	/* Makes a tensor map, TPAT_RT_MAP_BYTES at a multiple of 64. Null: the device has none, and its kernels read
	 * none. */
	int (*tensor_map)(void *user, void *out, const struct tpat_rt_map_values *v, struct err *e);
	/* `args` point at the arguments' values, as cuLaunchKernel takes them, and are gone after the call. */
	int (*launch)(void *user, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3],
	              void **args, struct err *e);
	void *user; /* of all these functions */
};

/* The value of an extent, or of a guard, for the limits of sizes found at run time: what launches are for. ERR_MODEL
 * where a symbol has no value. */
int ir_launch_value(const struct ir_launcher *l, expr x, int64_t *out, struct err *e);

/* The kernel of a step that runs: the first for this architecture whose guard holds. Null where it has no blocks:
 * nothing is to be done. ERR_MODEL where no kernel fits. Calls `symbol` alone. */
int ir_launch_choose(const struct ir_kernel **out, const struct ir_launcher *l, const struct ir_step *step,
                     struct err *e);

/* Launches a kernel. ERR_UNSUPPORTED where it has more than 128 arguments, ERR_MODEL where one has no value. */
int ir_launch_kernel(const struct ir_launcher *l, const struct ir_kernel *k, struct err *e);

/* The chosen kernels of all steps, in order. */
int ir_launch_plan(const struct ir_launcher *l, const struct ir_plan *plan, struct err *e);

#endif
