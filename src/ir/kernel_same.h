/* Inside src/ir/: the comparison of two kernels, statement by statement (kernel_same.c), and the merging of kernels
 * that differ in constants only (kernel_merge.c). */
#ifndef TPAT_IR_KERNEL_SAME_H
#define TPAT_IR_KERNEL_SAME_H

#include "ir/kernel.h"

/* Two variables or buffers are the same if they are declared alike and neither corresponds to another one of the other
 * kernel. */
struct same {
	const struct ir_program *program;
	const struct ir_kernel *kernel[2];
	struct map there, back; /* a's variables and buffers to b's, b's to a's: by address */
	struct map known;       /* pairs of equal nodes */
	/* Compares values of the two kernels; `at` is the first one's statement that computes them. Null: same_expr().
	 */
	bool (*value)(struct same *s, const struct ir_stmt *at, expr a, expr b);
	void *user; /* for that function */
};

/* Fills the maps, in `scratch`, and returns true if the kernels differ only in names, comments, the buffers of their
 * arguments and their order, and what `value` lets differ. Kernels with parts never are the same. */
bool same_kernels(struct same *s, struct arena *scratch, const struct ir_program *p, const struct ir_kernel *a,
                  const struct ir_kernel *b);
bool same_expr(struct same *s, expr a, expr b);

#endif
