/* Node tests whose expected outputs are NumPy's random numbers: checks properties that any random output must have. */
#ifndef TPAT_TESTS_RANDOM_CHECK_H
#define TPAT_TESTS_RANDOM_CHECK_H

#include "tensor/tensor.h"

/* True if test `name` is one: Bernoulli, and Dropout in training. */
bool random_case(const char *name);

/* Checks the first output, `y`, against the test's inputs, and Dropout's mask (or null): its values, their consistency,
 * and that the number of ones or kept elements is within 3.5 standard deviations. The caller checks types and shapes.
 * Returns null, or the problem. */
const char *random_check(const char *name, const struct tensor *input, const struct tensor *y,
                         const struct tensor *mask);

#endif
