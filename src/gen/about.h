/* Inside src/gen/: the comments in front of kernels. */
#ifndef TPAT_GEN_ABOUT_H
#define TPAT_GEN_ABOUT_H

#include "gen/text.h"

/* The plans of a text, which the comments of its kernels tell about. */
struct gen_about {
	const struct gen_target *target;
	const struct ir_plan *const *plans;
	int n;
	struct map said;    /* kernels by what they compute: the first with that text */
	struct map methods; /* the same by what they compute, and how */
};

/* Prints a kernel's comment: its computation, its schedule, its launch, and when it runs. `part`: of a kernel that
 * launches several. */
void gen_about(struct str *out, struct gen_about *x, const struct ir_kernel *k, bool part);
/* Prints the comment in front of a plan's kernels: its program, without the stages if the first kernel's comment has
 * all of them. */
void gen_about_program(struct str *out, const struct ir_plan *plan);

#endif
