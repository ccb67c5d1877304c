/* Random numbers as expressions: a counter-based generator, whose value at a position follows from a key and the
 * position alone. What the random operators share. */
#ifndef TPAT_OPS_PHILOX_H
#define TPAT_OPS_PHILOX_H

#include "ops/lower/lower.h"

/* Philox4x32 of ten rounds: four words of u32 from the key, and from the counter, of u64: its low half, with `stream`
 * as the high half of the 128 bits. */
void philox(uint64_t key, expr counter, uint64_t stream, expr word[4]);

/* The node's key: its attribute "seed"; without one a hash of its first result's name, so that nodes differ and
 * builds do not. Marks the results as drawn. */
uint64_t random_key(struct lower *l);

/* Draws number `position` (an index) of stream `key`, in f32 (24 random bits) or f64 (53). */
expr random_uniform(enum type t, uint64_t key, expr position); /* in [0, 1) */
expr random_normal(enum type t, uint64_t key, expr position);  /* mean 0, deviation 1 */

/* The attribute "dtype", which must be one of `types`, or `absent` without one. */
int random_type(struct lower *l, uint32_t types, enum type absent, enum type *out);

#define RANDOM_SEED ATTR_FLOAT("seed", 0, "of the draws; without it, a hash of its result's name")

#endif
