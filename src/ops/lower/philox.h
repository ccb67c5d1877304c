/* Random numbers as expressions: a counter-based generator, whose value at a position depends on a key and the
 * position alone. The random operators share it. */
#ifndef TPAT_OPS_PHILOX_H
#define TPAT_OPS_PHILOX_H

#include "ops/lower/lower.h"

/* Philox4x32-10: sets four words of u32 from the key and a 128-bit counter, whose low half is `counter` (u64) and
 * whose high half is `stream`. */
void philox(uint64_t key, expr counter, uint64_t stream, expr word[4]);

/* The node's key: its attribute "seed"; without one a hash of its first result's name, so that nodes differ and builds
 * do not. Marks the node's results as random. */
uint64_t random_key(struct lower *l);

/* Random number `position` (an index) of stream `key`: f32 with 24 random bits, or f64 with 53. */
expr random_uniform(enum type t, uint64_t key, expr position); /* uniform in [0, 1) */
expr random_normal(enum type t, uint64_t key, expr position);  /* normal, mean 0, deviation 1 */

/* Sets *out to the attribute "dtype", or to `absent` without one. Fails unless it is one of `types`. */
int random_type(struct lower *l, uint32_t types, enum type absent, enum type *out);

#define RANDOM_SEED ATTR_FLOAT("seed", 0, "of the draws; without it, a hash of its result's name")

#endif
