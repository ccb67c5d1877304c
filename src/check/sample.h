/* The interpreter's results at some elements alone, where all of them would take it too long: the program is rewritten
 * so that it computes nothing but what these elements need. Knows no devices. */
#ifndef TPAT_CHECK_SAMPLE_H
#define TPAT_CHECK_SAMPLE_H

#include "ir/ir.h"

/* Some elements of each of a program's outputs: corners and edges more often than their share, else anywhere. */
struct sample;

/* About how many operations all results of the program take. */
double sample_work(const struct ir_program *p, const struct tensor *const *inputs);
/* More of them than this make a user wait. */
double sample_patience(void);

/* Draws the elements, and interprets what they need. Null in *out where that is no less: a program that sorts, scans,
 * loops or finds sizes. Errors: as eval_program(). Memory is a's. */
int sample_new(struct sample **out, const struct ir_program *p, const struct tensor *const *inputs, uint64_t seed,
               struct arena *a, struct err *e);
/* What is right: one tensor of one axis for each output. */
const struct tensor *sample_want(const struct sample *s);
/* How far each of them may be from that: see error_bounds(). */
void sample_bounds(struct tensor *bound, const struct sample *s, struct arena *a);
/* The same elements of `outputs`, which are whole, into out[] (as many). */
int sample_take(struct tensor *out, const struct sample *s, const struct tensor *outputs, struct arena *a,
                struct err *e);

#endif
