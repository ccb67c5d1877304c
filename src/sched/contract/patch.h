/* Sums of products over windows of an image, for few channels: grouped convolutions, and those of few channels in all.
 * A block keeps a patch of the image in shared memory. patch_match.c recognises them, patch_emit.c writes the kernel,
 * rule_patch.c chooses. */
#ifndef TPAT_SCHED_PATCH_H
#define TPAT_SCHED_PATCH_H

#include "sched/contract/contract.h"

enum { PATCH_DOWN, PATCH_ACROSS, PATCH_WAYS };

/* The left operand is the weights, the right one the image. */
struct patch {
	struct contract c;
	int channel; /* reduced axis, numbered after the result's */
	/* By way. An image's index along a dimension is step * axis + apart * tap + rest. Down there may be none. */
	int axis[PATCH_WAYS];     /* of the result; -1: none */
	int tap[PATCH_WAYS];      /* reduced axis; -1: none */
	int dim[PATCH_WAYS];      /* of the image's buffer; -1: none */
	int64_t taps[PATCH_WAYS]; /* 1 if there is none */
	int step[PATCH_WAYS], apart[PATCH_WAYS];
	expr rest[PATCH_WAYS]; /* without axes */
};

bool patch_match(struct patch *f, struct ir_program *p, const struct ir_stage *s);

/* The shape of a choice's kernel. A block makes down x across elements of 16 * tiles rows, from 2 * pairs channels at a
 * time. */
struct patch_shape {
	int down, across, pairs, tiles, warps;
	int lines, columns; /* of the patch */
	int bytes;          /* of shared memory */
	int steps;          /* products of 16 x 8 x 16 for all taps of the channels, for 16 rows and 8 elements */
};
struct patch_shape patch_shape(const struct patch *f, const struct sched_choice *c);
/* Appends the kernel to the step. Returns false if positions may exceed 2^31. */
bool patch_kernel(struct ir_plan *plan, struct ir_step *step, const struct patch *f, const struct sched_choice *c);

#endif
