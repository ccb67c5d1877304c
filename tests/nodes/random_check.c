/* Statistical checks of random results. See random_check.h. */
#include "tests/nodes/random_check.h"

#include <math.h>
#include <string.h>

bool random_case(const char *name)
{
	return strstr(name, "bernoulli") || (strstr(name, "training_dropout") && !strstr(name, "zero_ratio"));
}

/* True if this sum of 0/1 draws is likely, given the sum and variance of their probabilities. */
static bool likely(double sum, double expected, double variance)
{
	return fabs(sum - expected) <= 3.5 * sqrt(variance);
}

/* The operator gives 1 with the probability; ONNX's function, from which the expanded tests are made, gives 1 if a
 * random number is above it. */
static const char *check_bernoulli(bool expanded, const struct tensor *x, const struct tensor *y)
{
	double sum = 0, expected = 0, variance = 0;

	for (int64_t i = 0; i < tensor_count(y); i++) {
		double p = tensor_float(x, i), one = tensor_float(y, i);

		if (one != 0 && one != 1)
			return "an element is neither 0 nor 1";
		sum += one;
		expected += expanded ? 1 - p : p;
		variance += p * (1 - p);
	}
	return likely(sum, expected, variance) ? NULL : "there are too many or too few ones";
}

static const char *check_dropout(const struct tensor *x, double ratio, const struct tensor *y,
                                 const struct tensor *mask)
{
	double kept = 0, n = (double)tensor_count(y);

	for (int64_t i = 0; i < tensor_count(y); i++) {
		double scaled = tensor_float(x, i) / (1 - ratio), got = tensor_float(y, i);
		bool keep = mask ? tensor_int(mask, i) != 0 : got != 0;

		if (fabs(got - (keep ? scaled : 0)) > 1e-6 * fabs(scaled))
			return "an element is neither dropped nor scaled, or not as the mask says";
		kept += keep;
	}
	return likely(kept, n * (1 - ratio), n * ratio * (1 - ratio)) ? NULL : "too many or too few elements are kept";
}

const char *random_check(const char *name, const struct tensor *input, const struct tensor *y,
                         const struct tensor *mask)
{
	if (strstr(name, "bernoulli"))
		return check_bernoulli(strstr(name, "expanded") != NULL, input, y);
	return check_dropout(input, tensor_float(&input[1], 0), y, mask);
}
