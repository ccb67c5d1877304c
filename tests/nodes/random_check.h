/* Node tests whose expected outputs come from NumPy's random generator: checks that hold for any other draws. */
#ifndef TPAT_TESTS_RANDOM_CHECK_H
#define TPAT_TESTS_RANDOM_CHECK_H

#include "tensor/tensor.h"

/* True if the test `name` is one of these: Bernoulli, and Dropout that drops. */
bool random_case(const char *name);

/* Checks the first output, `y`, against the test's inputs, and Dropout's mask if there is one (else null): values,
 * their consistency, and the number of elements that are one or kept, within 3.5 standard deviations. The caller checks
 * types and shapes. Returns null, or a description of the error. */
const char *random_check(const char *name, const struct tensor *input, const struct tensor *y,
                         const struct tensor *mask);

#endif
