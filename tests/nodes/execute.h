/* Runs a plan once on a device of the caller: makes the memory of its buffers, launches its kernels and reads its
 * results. */
#ifndef TPAT_TESTS_EXECUTE_H
#define TPAT_TESTS_EXECUTE_H

#include "ir/buffers.h"

struct machine {
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
int execute_plan(const struct machine *m, const struct ir_plan *plan, const struct tensor *const *inputs,
                 struct tensor *outputs, struct arena *a, struct err *e);

#endif
