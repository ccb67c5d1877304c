/* Whether a candidate's results are the reference's. See tune.h. */
#include "tune/tune.h"

#include <math.h>

bool tune_same(const struct tensor *got, const struct tensor *want, int n, const char **worst, struct arena *a)
{
	for (int i = 0; i < n; i++) {
		struct tensor_difference d;
		struct tensor_tolerance t = tensor_tolerance_of(want[i].type);
		double largest = 0; /* a sum's rounding goes with its largest terms, not with what is left of them */
		for (int64_t k = 0; type_is_float(want[i].type) && k < tensor_count(&want[i]); k++) {
			double x = fabs(tensor_float(&want[i], k));
			largest = isfinite(x) && x > largest ? x : largest;
		}
		t.absolute += t.relative * largest;
		if (!tensor_compare(&d, &got[i], &want[i], t)) {
			*worst = arena_printf(a, "output %d has another type or shape", i);
			return false;
		}
		if (d.differing) {
			*worst = arena_printf(a, "%lld of %lld elements of output %d differ; element %lld is %g, not %g",
			                      (long long)d.differing, (long long)d.count, i, (long long)d.worst, d.worst_got,
			                      d.worst_want);
			return false;
		}
	}
	*worst = "";
	return true;
}
