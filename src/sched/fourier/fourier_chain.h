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

/* Some passes of the transforms of `length` elements, for one kernel. They begin with transforms of length `before` and
 * end with `rest` of them left: each k mod `before` and each m mod `rest` is a row of its own, a transform of as many
 * elements as the product of the radices. */
struct fourier_chain {
	struct ir_program *p;
	int passes, length, before, rest;
	struct fourier_pass pass[FOURIER_PASSES];
	const struct ir_buffer *turn; /* [length, 2]: cos and sin of 2 pi j / length */
	bool inverse;
	bool real;                    /* the signal is real: results have k <= K / 2 only */
	int axis;                     /* of k in every result; that of m follows where m > 1 */
	int part;                     /* the end's axis of real and imaginary parts, or -1 */
	int parts;                    /* 2; 1: real parts only */
	int kept;                     /* extent along k of the end's result */
	expr re, im;                  /* an element of the signal, over the first stage's axes; im null: it is real */
	const struct ir_stage *after; /* a map of both parts of each frequency, or a sum over them, that is stored
	                               * instead; or null */
	expr rows;
};

/* Finds the passes that begin at stage s: all that there are, or, where a row does not fit into shared memory, the
 * first ones of two kernels. */
bool fourier_find(struct fourier_chain *f, struct ir_program *p, const struct ir_stage *s);
/* The last pass. */
static inline const struct fourier_pass *fourier_end(const struct fourier_chain *f)
{
	return &f->pass[f->passes - 1];
}
/* A row's transforms: length after and before a pass, and number after it. */
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
/* True if a row makes half of the frequencies: a real signal's. */
static inline bool fourier_half(const struct fourier_chain *f)
{
	return f->real && f->before == 1;
}
/* Number of short transforms of a pass, for one row: a thread makes one. */
int fourier_parts(const struct fourier_chain *f, int pass);
/* Threads of a row. */
int fourier_threads(const struct fourier_chain *f);
/* True if the rows are neighbours in memory, across which elements of a transform lie. */
bool fourier_across(const struct fourier_chain *f);
/* Position of an element of a row in shared memory, spread so that neither rows nor columns fall into few banks; and
 * the space that a row takes. In pairs. */
expr fourier_place(struct ir_program *p, expr at);
int fourier_pitch(const struct fourier_chain *f);
int fourier_shared_bytes(const struct fourier_chain *f, int rows);
/* True if a block can have that number of rows. */
bool fourier_fits(const struct fourier_chain *f, int rows);

/* Number of row axes, and their extents: those of the end's result but k and parts, with k mod `before` in k's place.
 */
int fourier_row_axes(const struct fourier_chain *f, expr *extent);
/* The index, in the result of a pass, of element (k, m, part) of the row with these axes; m without `rest`. What the
 * result does not have is ignored. */
void fourier_index(const struct fourier_chain *f, int pass, const expr *row, expr k, expr m, expr part, expr *index);

/* For fourier_find(): sets f->after, of a chain that begins at the program's stage number `first`. */
void fourier_find_after(struct fourier_chain *f, int first);
/* Its value for that part, or the part's term of its sum. */
expr fourier_after_part(const struct fourier_chain *f, int part);
/* The stage whose result is stored. */
static inline const struct ir_stage *fourier_stored(const struct fourier_chain *f)
{
	return f->after ? f->after : fourier_end(f)->s;
}

/* Emits the kernel's two bodies: `rows` rows a block. */
void fourier_emit(struct ir_program *p, struct ir_kernel *k, const struct fourier_chain *f, int rows);

#endif
