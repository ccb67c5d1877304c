/* Runs a plan once on a device of the caller: makes the memory of its buffers, launches its kernels and reads its
 * results. Code that runs a plan several times with memory of its own (tune/) uses the parts. */
#ifndef TPAT_IR_EXECUTE_H
#define TPAT_IR_EXECUTE_H

#include "ir/launch.h"

struct ir_machine {
	int arch; /* GPU architecture, 90 for sm_90; 0: any kernel may run */
	/* Allocates `bytes` bytes (may be 0) for `b`, with the elements of `content`; null: any. */
	int (*make)(void *user, void **out, const struct ir_buffer *b, const struct tensor *content, size_t bytes,
	            struct err *e);
	/* Waits for the kernels and copies `bytes` bytes from a buffer. If `to` is null, the output is to be inspected
	 * at `at`. */
	int (*read)(void *user, void *to, const struct ir_buffer *b, const void *at, size_t bytes, struct err *e);
	void (*drop)(void *user, void *at); /* null is fine */
	/* As in struct ir_launcher. */
	int (*tensor_map)(void *user, void *out, const struct tpat_rt_map_values *v, struct err *e);
	int (*launch)(void *user, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3],
	              void **args, struct err *e);
	int (*together)(void *user, int threads);
	void *user; /* passed to all these functions */
};

/* `inputs`: one tensor per input; those without data give their extents only. `outputs`: filled, data in `a`; null:
 * read() inspects each output, in their order. Errors: those of the functions; ERR_MODEL for extents that do not follow
 * from the inputs and for an input of another size. */
int ir_execute(const struct ir_machine *m, const struct ir_plan *plan, const struct tensor *const *inputs,
               struct tensor *outputs, struct arena *a, struct err *e);

/* The elements that a buffer has before any kernel runs: an input's or a constant's; or null. */
const struct tensor *ir_buffer_content(const struct ir_program *p, const struct tensor *const *inputs,
                                       const struct ir_buffer *b);
/* The bytes of a buffer, with sizes found at run time at their limits. ERR_MODEL as ir_launch_value(). */
int ir_buffer_bytes(size_t *out, const struct ir_launcher *l, const struct ir_buffer *b, struct err *e);
/* Makes the tensor of an output after the kernels have run. `out` must be initialised: a tensor of this type and these
 * extents with data is used again. `symbol` gives sizes found at run time, too. */
int ir_output_tensor(struct tensor *out, const struct ir_buffer *b, ir_symbol_fn symbol, void *user, struct arena *a,
                     struct err *e);

#endif
