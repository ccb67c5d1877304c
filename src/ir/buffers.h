/* Buffers of a plan that runs: their contents before, their sizes, and the results after. */
#ifndef TPAT_IR_BUFFERS_H
#define TPAT_IR_BUFFERS_H

#include "ir/launch.h"

/* The elements that a buffer has before any kernel runs: an input's or a constant's; or null. */
const struct tensor *ir_buffer_content(const struct ir_program *p, const struct tensor *const *inputs,
                                       const struct ir_buffer *b);
/* The bytes of a buffer, with sizes found at run time at their limits. ERR_MODEL as ir_launch_value(). */
int ir_buffer_bytes(size_t *out, const struct ir_launcher *l, const struct ir_buffer *b, struct err *e);

/* Extents after the kernels have run: sizes found at run time are read from their counts. */
struct ir_found {
	struct ir_inputs inputs; /* determine the other symbols */
	int (*read)(void *user, int64_t *value, const struct ir_buffer *count, struct err *e); /* waits */
	void *user;
};
/* Fails if an extent has no value (ERR_MODEL), and as read(). */
int ir_output_extents(int64_t *dim, const struct ir_buffer *b, const struct ir_found *f, struct err *e);
/* Checks the demands on such sizes, reading their counts. ERR_MODEL: one does not hold; and as read(). */
int ir_found_demands(const struct ir_found *f, struct arena *a, struct err *e);
/* Makes the tensor of an output. `out` must be initialised: a tensor of this type and these extents with data is used
 * again. */
int ir_output_tensor(struct tensor *out, const struct ir_buffer *b, const struct ir_found *f, struct arena *a,
                     struct err *e);

#endif
