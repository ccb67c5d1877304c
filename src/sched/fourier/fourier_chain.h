/* Inside src/sched/fourier/: a Fourier transform found in a chain of stages, and its kernel. */
#ifndef TPAT_SCHED_FOURIER_CHAIN_H
#define TPAT_SCHED_FOURIER_CHAIN_H

#include "sched/rule.h"

enum { FOURIER_PASSES = 6, FOURIER_RADIX = 25 };

/* A pass of radix R makes transforms of length k = R * j of every m-th element, from those of length j:
 *     Z[k, m] = sum over r < R of Y[k mod j, r * m + ...] e^(-2 pi i k r / k) */
struct fourier_pass {
	const struct ir_stage *s;
	int radix, k, m;
};

/* Consecutive passes of transforms of `length` elements, which one kernel computes. The passes before it have made
 * transforms of length `before`; those after it join `rest` transforms. Each pair of k mod `before` and m mod `rest` is
 * a row: an independent transform whose length is the product of the radices. */
struct fourier_chain {
	struct ir_program *p;
	int passes, length, before, rest;
	struct fourier_pass pass[FOURIER_PASSES];
	const struct ir_buffer *turn; /* [length, 2]: cos and sin of 2 pi j / length */
	bool inverse;
	bool real;                    /* the signal is real: results have k <= K / 2 only */
	int axis;                     /* of k in every result; that of m follows where m > 1 */
	int part;                     /* the last result's axis of real and imaginary parts, or -1 */
	int parts;                    /* 2; 1: real parts only */
	int kept;                     /* extent of the last result along k */
	expr re, im;                  /* an element of the signal, over the first stage's axes; im null: it is real */
	const struct ir_stage *after; /* a map of both parts of each frequency, or a sum over them, that is stored
	                                 instead; or null */
	expr rows;
};

/* Finds the passes that begin at stage s: all of them, or, if a row does not fit into shared memory, those of the first
 * of two kernels. */
bool fourier_find(struct fourier_chain *f, struct ir_program *p, const struct ir_stage *s);
/* The last pass. */
static inline const struct fourier_pass *fourier_end(const struct fourier_chain *f)
{
	return &f->pass[f->passes - 1];
}
/* The transforms of a row: their length after a pass (k) and before it (j), and their number after it (m). */
static inline int fourier_k(const struct fourier_chain *f, int pass)
{
	return f->pass[pass].k / f->before;
}
static inline int fourier_j(const struct fourier_chain *f, int pass)
{
	return fourier_k(f, pass) / f->pass[pass].radix;
}
static inline int fourier_m(const struct fourier_chain *f, int pass)
{
	return f->pass[pass].m / f->rest;
}
/* True if a row computes only half of the frequencies, since the signal is real. */
static inline bool fourier_half(const struct fourier_chain *f)
{
	return f->real && f->before == 1;
}
/* Number of short transforms in a pass of one row. A thread computes one. */
int fourier_parts(const struct fourier_chain *f, int pass);
/* Number of threads per row. */
int fourier_threads(const struct fourier_chain *f);
/* True if neighbouring rows are contiguous in memory, so that a transform's own elements are strided. */
bool fourier_across(const struct fourier_chain *f);
/* fourier_place: position of an element of a row in shared memory, padded to avoid bank conflicts along rows and
 * columns. fourier_pitch: the space of a row. Both count pairs of real and imaginary part. */
expr fourier_place(struct ir_program *p, expr at);
int fourier_pitch(const struct fourier_chain *f);
int fourier_shared_bytes(const struct fourier_chain *f, int rows);
/* True if `rows` rows fit into a block. */
bool fourier_fits(const struct fourier_chain *f, int rows);

/* Writes the extents of the row axes and returns their number. They are the axes of the last result without k and
 * parts, but with k mod `before` in the place of k. */
int fourier_row_axes(const struct fourier_chain *f, expr *extent);
/* The index, in the result of a pass, of element (k, m, part) of the row with these axes; m without `rest`. Arguments
 * for axes that the result lacks are ignored. */
void fourier_index(const struct fourier_chain *f, int pass, const expr *row, expr k, expr m, expr part, expr *index);

/* For fourier_find(): sets f->after, of a chain that begins at the program's stage number `first`. */
void fourier_find_after(struct fourier_chain *f, int first);
/* The value of f->after for a part, or that part's term of its sum. */
expr fourier_after_part(const struct fourier_chain *f, int part);
/* The stage whose result is stored. */
static inline const struct ir_stage *fourier_stored(const struct fourier_chain *f)
{
	return f->after ? f->after : fourier_end(f)->s;
}

/* Emits the kernel's two bodies: `rows` rows a block. */
void fourier_emit(struct ir_program *p, struct ir_kernel *k, const struct fourier_chain *f, int rows);

#endif
