/* Rotary position embedding of one element of a head: pairs of elements are turned by an angle of their position. */
#ifndef TPAT_OPS_ROTARY_H
#define TPAT_OPS_ROTARY_H

#include "ops/lower/lower.h"

struct rotary {
	expr size;        /* elements of a head that are turned; those behind it stay */
	bool interleaved; /* pairs are neighbours; else an element and that half of `size` behind it */
};
/* The other element of d's pair, the pair's number, and whether d is its first. */
struct rotary_pair {
	expr partner, number, first, turned;
};
struct rotary_pair rotary_pair(const struct rotary *r, expr d);
/* The turned element: x its own value, other its partner's, all in one float type. */
expr rotary_turn(const struct rotary_pair *p, expr x, expr other, expr cosine, expr sine);

#endif
