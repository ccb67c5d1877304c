/* Convolutions with windows of 3 x 3 in f32, by fewer products: Winograd's F(2 x 2, 3 x 3). A first kernel transforms
 * the weights; rt/device/tpat_winograd.h has the method. winograd_emit.c writes the kernels, rule_winograd.c chooses.
 */
#ifndef TPAT_SCHED_WINOGRAD_H
#define TPAT_SCHED_WINOGRAD_H

#include "sched/contract/patch.h"

enum {
	WINOGRAD_TILES = 32,
	WINOGRAD_WARPS = 8,
	WINOGRAD_PLACES = 16,
	WINOGRAD_COMMON_CHANNELS = 4 /* of kernels whose shared memory every GPU has */
};

/* A block makes `rows` rows of WINOGRAD_TILES tiles, `channels` channels at a time. */
struct winograd_shape {
	int rows, channels;
	int bytes;    /* of shared memory */
	int resident; /* blocks of a multiprocessor, as their registers allow */
};
struct winograd_shape winograd_shape(int rows, int channels);

/* The numbers of tiles of 2 x 2 results, and of blocks, over symbols. */
expr winograd_tiles(const struct patch *f);
expr winograd_blocks(const struct patch *f, const struct winograd_shape *s);
/* Appends the steps: of the weights, and of the sums. `arch`: not 0: the shape is for that architecture only. */
void winograd_kernels(struct ir_plan *plan, const struct patch *f, const struct sched_choice *c,
                      const struct winograd_shape *s, int arch);

#endif
