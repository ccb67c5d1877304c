/* Node tests whose expected outputs were drawn by NumPy's generator: what must hold of any other draws. */
#ifndef TPAT_TESTS_RANDOM_CHECK_H
#define TPAT_TESTS_RANDOM_CHECK_H

#include "tensor/tensor.h"

/* Whether the test `name` is one: Bernoulli, and Dropout that drops. */
bool random_case(const char *name);

/* Checks the first output, `y`, against the test's inputs, and against the mask where Dropout gives one (else null):
 * its values, how they hang together, and how many elements are one or kept, which lies within 3.5 standard deviations.
 * Types and shapes are the caller's. Returns null, or what is wrong. */
const char *random_check(const char *name, const struct tensor *input, const struct tensor *y,
                         const struct tensor *mask);

#endif
