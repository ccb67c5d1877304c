/* Rotary position embedding of one element of a head: pairs of elements are turned by an angle of their position. */
#ifndef TPAT_OPS_ROTARY_H
#define TPAT_OPS_ROTARY_H

#include "ops/lower/lower.h"

struct rotary {
	expr size;        /* the first elements of a head, which are rotated; the others stay */
	bool interleaved; /* a pair is two adjacent elements; else an element and the one size / 2 after it */
};
/* The other element of d's pair, the pair's number, and whether d is its first. */
struct rotary_pair {
	expr partner, number, first, turned;
};
struct rotary_pair rotary_pair(const struct rotary *r, expr d);
/* The turned element: x its own value, other its partner's, all in one float type. */
expr rotary_turn(const struct rotary_pair *p, expr x, expr other, expr cosine, expr sine);

/* Makes output 0 from input 0, [b,h,s,d] or [b,s,h*d]. The caches are [positions, pairs], or [b,s,pairs]. Positions are
 * i64[b,s], or a single number, the first position of every row. If they are not given, rows count from 0. Of positions
 * [3,b,s], the attributes mrope_section and mrope_layout select the list for each pair. Other attributes:
 * ROTARY_ATTRS. */
int rotary_embed(struct lower *l, struct value position, struct value cosine, struct value sine);
/* Fails on positions of more than two axes. */
int rotary_check_positions(struct lower *l, struct value position);

#define ROTARY_FORMULA "each pair of a head's elements, turned by the angle of its position"
#define ROTARY_ATTRS \
	ATTR_INT("interleaved", 0, "1: pairs are neighbours; 0: an element and the one half a head after it"), \
	        ATTR_INT("num_heads", 0, "of an input with three axes"), \
	        ATTR_INT("rotary_embedding_dim", 0, "elements of a head that are rotated; 0: all")

#endif
