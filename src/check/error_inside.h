/* What the files of error bounds share: error_expr.c (expressions), error_stage.c (stages), error_window.c
 * (convolutions), error_twin.c (perturbed copies of a loop's stages), error_loop.c (loops) and error_bound.c
 * (programs). For these files only. */
#ifndef TPAT_CHECK_ERROR_INSIDE_H
#define TPAT_CHECK_ERROR_INSIDE_H

#include "ir/ir.h"

/* A larger error counts as none known. */
#define ERROR_HUGE 1e300
/* A bound that exceeds the measured error by more than this factor has grown without limit: the measured error takes
 * its place. */
#define ERROR_GROWTH 4.0
/* A measured error above this part of the values' root mean square leaves nothing to compare. */
#define ERROR_CHAOS 0.125

/* ---- Expressions: error_expr.c. */

/* Buffers of errors: f64, of the same extents, by the id of their buffer. */
struct error_program {
	struct ir_program *p;
	struct map errors; /* of inexact buffers; &error_unknown: no bound */
	struct map known;  /* what is known of an expression; absent: not computed yet */
	bool lost;         /* the last expression contains something without a bound */
	/* Where operations that jump (roundings to integers, comparisons) take their operands' errors from; null: from
	 * here. */
	struct error_program *jumps;
};
extern const struct ir_buffer error_unknown;

/* An upper bound of |got - exact| for an expression whose loads have errors, as an f64 expression over the same axes;
 * for a bool 1.0 if it may flip. Null: exact. Sets x->lost if there is no bound. */
expr error_of(struct error_program *x, expr e);
/* Half a unit in the last place, relative to the value: 2^-24 for f32; 0 for integers. */
double error_unit(enum type t);
/* True for an operation whose result can jump when an operand changes by a rounding. */
bool error_jumps(expr e);

/* ---- Stages: error_stage.c. */

/* A loop's result that has bounds. */
struct error_loop {
	const struct ir_stage *stage;
	const struct ir_buffer *result;     /* one of the loop's */
	struct ir_buffer *bound, *measured; /* f64, of its extents: propagated, and by perturbed copies */
	struct ir_buffer *scale;            /* f64, a scalar: the root mean square of the result */
};

struct error_builder {
	struct error_program x; /* of the stages so far; x.p: the program with error stages, in its own lists */
	const struct ir_program *from;
	const struct tensor *const *inputs; /* of `from` */
	struct map totals, squares;         /* of accumulating stages: buffers made for them, to be used again */
	struct {
		VEC(struct error_loop);
	} loops;
};

/* Adds stages that compute the error of what s makes, and puts their buffers into b->x.errors. The stage itself is in
 * b->x.p. Not for a loop: error_loop(). */
void error_stage(struct error_builder *b, const struct ir_stage *s);
/* An empty context for the same program: of expressions that are computed again, with no errors known. */
struct error_program error_context(const struct error_builder *b);

const struct ir_buffer *error_get(const struct error_program *x, const struct ir_buffer *of); /* null: exact */
void error_set(struct error_program *x, const struct ir_buffer *of, const struct ir_buffer *error);
/* The error of an expression; sets *lost if there is no bound. */
expr error_here(struct error_builder *b, expr e, bool *lost);
/* The element of a buffer at the axes of a stage over its extents. */
expr error_own(const struct error_builder *b, const struct ir_buffer *x);
expr error_number(const struct error_builder *b, double x); /* an f64 constant */
/* A new map "NAME_what" over the extents of `like`. */
struct ir_buffer *error_map(struct error_builder *b, const struct ir_buffer *like, const char *what, expr value);

/* ---- Windows: error_window.c. */

/* If s convolves with windows of 3 x 3 in f32: adds stages for the squares of the products that Winograd's method sums,
 * added up for each element of the result, and returns their buffer. Otherwise null. */
struct ir_buffer *error_window_squares(struct error_builder *b, const struct ir_stage *s);

/* ---- Loops: error_loop.c. */

/* Adds a loop that computes what s does, and also carries errors; and stages for the errors of its results. */
void error_loop(struct error_builder *b, const struct ir_stage *s);

/* ---- Perturbed copies: error_twin.c. */

enum { ERROR_TWINS = 4 };

/* Copies of a loop's states and results that differ from them by roundings at random. */
struct error_twins {
	struct error_builder *b;
	struct map of[ERROR_TWINS];    /* by buffer; absent: the buffer itself */
	struct error_program rounding; /* errors of a stage alone, for exact operands */
	struct error_program apart;    /* how far twins are from their originals */
	bool jumps;                    /* the loop contains operations that jump: `apart` is needed */
	expr turn;                     /* of the innermost loop, f64; null: outside of loops */
};

/* Twins of what the loop s reads from outside with an error. Adds maps. */
void error_twins_begin(struct error_twins *t, struct error_builder *b, const struct ir_stage *s);
/* Forgets expressions, before a pass over a body: buffers may have other errors now. */
void error_twins_forget(struct error_twins *t);
/* Adds twins of what s makes, after s and its error stages. */
void error_twins_stage(struct error_twins *t, const struct ir_stage *s);
/* The k-th twin, or the buffer itself. */
const struct ir_buffer *error_twin(const struct error_twins *t, int k, const struct ir_buffer *b);
expr error_twin_expr(const struct error_twins *t, int k, expr e); /* reads twins in place of their originals */
/* The twins of a buffer exist from here on: notes how far they are apart, if that is needed. */
void error_twins_note(struct error_twins *t, const struct ir_buffer *of);
/* A map of the measured error: how far the twins are from the buffer, and in the root mean square of its last axis. */
struct ir_buffer *error_twins_apart(const struct error_twins *t, const struct ir_buffer *of);

#endif
