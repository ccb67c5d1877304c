/* Reference results at sampled elements, for programs whose full results would take the interpreter too long. The
 * program is rewritten to compute only what these elements need. Knows no devices. */
#ifndef TPAT_CHECK_SAMPLE_H
#define TPAT_CHECK_SAMPLE_H

#include "ir/ir.h"

/* Sampled elements of a program's outputs, at random, with corners and edges overrepresented. */
struct sample;

/* The approximate number of operations for all results. */
double sample_work(const struct ir_program *p, const struct tensor *const *inputs);
/* The size of a tensor of the program. */
double sample_bytes(const struct ir_program *p, const struct ir_buffer *b, const struct tensor *const *inputs);
/* The number of operations above which a user notices the wait. */
double sample_patience(void);

/* Picks elements and interprets what they need. *out is null if that saves nothing: a program that sorts, scans, loops
 * or computes sizes. Errors: as eval_program(). Memory comes from `a`. */
int sample_new(struct sample **out, const struct ir_program *p, const struct tensor *const *inputs, uint64_t seed,
               struct arena *a, struct err *e);
/* The reference values: one tensor of rank 1 per output. */
const struct tensor *sample_want(const struct sample *s);
/* Their error bounds: see error_bounds(). */
void sample_bounds(struct tensor *bound, const struct sample *s, struct arena *a);
/* Copies the sampled elements of the complete `outputs` to out[], one tensor per output. */
int sample_take(struct tensor *out, const struct sample *s, const struct tensor *outputs, struct arena *a,
                struct err *e);

#endif
