/* Pseudorandom numbers from one seed: made of an input's bytes, or libFuzzer's. */
#ifndef TPAT_TESTS_FUZZ_DRAW_H
#define TPAT_TESTS_FUZZ_DRAW_H

#include <stddef.h>
#include <stdint.h>

struct draw {
	uint64_t state;
};

/* 0 .. n - 1; 0 if n is 0. */
static inline unsigned draw(struct draw *d, size_t n)
{
	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	return n ? (unsigned)((d->state >> 33) % n) : 0;
}

#endif
