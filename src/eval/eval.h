/* The interpreter of tensor programs: reference results and constant folding. Runs every stage on the host, exactly in
 * its types; knows no operators and no devices. */
#ifndef TPAT_EVAL_EVAL_H
#define TPAT_EVAL_EVAL_H

#include "ir/ir.h"

struct eval_symbol {
	expr symbol;
	int64_t value;
};

struct eval_options {
	int threads; /* 0: one per processor */
	int symbols; /* values of symbols that no input determines */
	const struct eval_symbol *symbol;
};

/* Runs `p`. `inputs`: one tensor per p->inputs, of its type and rank; null if the buffer has known data. The inputs'
 * extents determine the symbols; a mismatch is an error (ERR_MODEL). `outputs`: filled, one per p->outputs; data in
 * `a`. `opt` may be null.
 *
 * Arithmetic: every operation of a float type rounds to its type, so that f32 is IEEE f32 (functions such as exp: the
 * double's result, rounded). Sums and products of floats accumulate in double; `post` sees the unrounded value.
 * Integers wrap to their type; division by zero gives zero
 * (MOD: the dividend). Casts of floats to integers truncate, saturate, and turn NaN to zero, like a GPU. The same
 * program and inputs give the same bits on any number of threads.
 *
 * Errors: ERR_MODEL for inputs that do not fit; ERR_DIFFER for a load or a scattered element outside its buffer (the
 * program is wrong: the message names stage, buffer, index); ERR_UNSUPPORTED for types without arithmetic; ERR_DEVICE
 * when memory is out. */
int eval_program(const struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
                 const struct eval_options *opt, struct arena *a, struct err *e);

#endif
