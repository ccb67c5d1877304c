/* Runs a plan: chooses each step's kernel, its grid and its arguments. The caller provides the device as functions.
 * Everything that runs plans without a plugin goes through here; rt/core/rt_plan.c does the same for a plugin's
 * tables. */
#ifndef TPAT_IR_LAUNCH_H
#define TPAT_IR_LAUNCH_H

#include "ir/kernel.h"
#include "tpat/tpat_rt.h"

/* Inputs that determine the symbols' values, by their extents and by elements that are extents. */
struct ir_inputs {
	const struct ir_program *program;
	const struct tensor *const *tensor; /* by input; null: unknown. One without data gives only its extents */
};

/* An ir_symbol_fn; `inputs` is a struct ir_inputs. False for a symbol they do not determine, such as a size found at
 * run time. */
bool ir_inputs_symbol(void *inputs, expr symbol, int64_t *value);

struct ir_launcher {
	struct ir_program *program;
	int arch; /* GPU architecture, 90 for sm_90: kernels for others are skipped; 0: any kernel may run */
	ir_symbol_fn symbol;
	/* The device address of buffer `b`. */
	void *(*memory)(void *user, const struct ir_buffer *b);
	/* Makes a tensor map, TPAT_RT_MAP_BYTES bytes aligned to 64. Null if the device and its kernels have none. */
	int (*tensor_map)(void *user, void *out, const struct tpat_rt_map_values *v, struct err *e);
	/* `args` points to the argument values, as for cuLaunchKernel; valid only during the call. */
	int (*launch)(void *user, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3],
	              void **args, struct err *e);
	/* The most blocks of `threads` threads that run at the same time, for kernels whose blocks wait for each other.
	 * Null: any number. */
	int (*together)(void *user, int threads);
	void *user; /* passed to all these functions */
};

/* The value of an extent or guard, with sizes found at run time at their limits, as launches need it. ERR_MODEL if a
 * symbol has no value. */
int ir_launch_value(const struct ir_launcher *l, expr x, int64_t *out, struct err *e);

/* Chooses a step's kernel: the first for this architecture whose guard holds. Null if its grid is empty, so that there
 * is nothing to do. ERR_MODEL if no kernel fits. Calls only `symbol`. */
int ir_launch_choose(const struct ir_kernel **out, const struct ir_launcher *l, const struct ir_step *step,
                     struct err *e);

/* Launches a kernel. ERR_UNSUPPORTED if it has more than TPAT_RT_MAX_ARGS arguments, ERR_MODEL if one has no value. */
int ir_launch_kernel(const struct ir_launcher *l, const struct ir_kernel *k, struct err *e);

#endif
