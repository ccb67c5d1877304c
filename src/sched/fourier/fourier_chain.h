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

/* The transforms of rows along one axis, n elements each. */
struct fourier_chain {
	struct ir_program *p;
	int passes, length;
	struct fourier_pass pass[FOURIER_PASSES];
	const struct ir_buffer *turn; /* [length, 2]: cos and sin of 2 pi j / length */
	bool inverse;
	bool half;   /* the signal is real: passes make k <= K / 2 only */
	int axis;    /* of k in every result; that of m follows in all but the last one's */
	int part;    /* the last result's axis of real and imaginary parts, or -1 */
	int parts;   /* 2; 1: real parts only */
	int kept;    /* extent along k of the last result */
	expr re, im; /* an element of the signal, over the first stage's axes; im null: it is real */
	expr rows;   /* number of transforms */
};

/* Finds the chain that begins at stage s. */
bool fourier_find(struct fourier_chain *f, struct ir_program *p, const struct ir_stage *s);
/* The last stage. */
static inline const struct ir_stage *fourier_last(const struct fourier_chain *f)
{
	return f->pass[f->passes - 1].s;
}
/* Length of the transforms that a pass reads. */
static inline int fourier_before(const struct fourier_pass *x)
{
	return x->k / x->radix;
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

/* The index, in the result of a pass, of element (k, m, part) of the row with these axes. m is ignored, and `part` may
 * be, in the last pass. */
void fourier_index(const struct fourier_chain *f, int pass, const expr *row, expr k, expr m, expr part, expr *index);
/* Number of row axes, and their extents. */
int fourier_row_axes(const struct fourier_chain *f, expr *extent);

/* Emits the kernel's two bodies: `rows` rows a block. */
void fourier_emit(struct ir_program *p, struct ir_kernel *k, const struct fourier_chain *f, int rows);

#endif
