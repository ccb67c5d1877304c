/* Sums of products over windows of an image: on tensor cores for few channels, and in f32. A block keeps a patch of the
 * image in shared memory. patch_match.c recognises them, patch_emit.c writes the kernel, rule_patch.c and
 * rule_patch_plain.c choose. */
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

/* `plain`: in f32, else on tensor cores. */
bool patch_match(struct patch *f, struct ir_program *p, const struct ir_stage *s, bool plain);

/* The shape of a kernel: a block makes down x across elements of `rows` rows, from some channels at a time. */
struct patch_shape {
	int down, across, channels, rows, threads;
	int lines, columns; /* of the patch */
	int bytes;          /* of shared memory */
};
/* Fills in `lines` and `columns`. */
void patch_find_size(struct patch_shape *s, const struct patch *f);
/* The number of blocks, over symbols. */
expr patch_blocks(const struct patch *f, const struct patch_shape *s);
/* The number of channels, taps, and windows along both ways, as expected. */
int64_t patch_channels(const struct patch *f, const struct sched_target *t);
int patch_taps(const struct patch *f);
int64_t patch_extent(const struct patch *f, int way, const struct sched_target *t);
/* The device function that makes the products: template arguments of its object, and its own. */
struct patch_function {
	const struct ir_device_type *type;
	const struct ir_device_function *function;
	struct ir_template of, way;
};
/* Appends the kernel to the step, and the one for positions beyond 2^31. */
void patch_kernels(struct ir_plan *plan, struct ir_step *step, const struct patch *f, const struct sched_choice *c,
                   const struct patch_shape *s, const struct patch_function *call);

/* ---- For kernels of other rules that have patches, or results next to each other along both ways. */

struct contract_kernel;
/* The axes of the columns besides both ways, such as the batch: their number, axes, extents and names. */
int patch_far_axes(const struct patch *f, int *axis, expr *dim, const char **name);
/* Takes the innermost of `count` from *place, and declares it as `name`. */
expr patch_part(const struct contract_kernel *k, struct ir_block *b, const char *name, expr *place, expr count);
/* A result: its row, and by way its distance from the first one. */
struct patch_result {
	expr row, exists; /* exists: a condition of the first one; null: true */
	const expr *first, *place;
};
/* Declares the axes of a result; returns the block of statements for those that exist. `used`: by axis. */
struct ir_block *patch_declare_result(struct contract_kernel *k, const struct patch *f, struct ir_block *b,
                                      const struct patch_result *at, const bool *used);

#endif
