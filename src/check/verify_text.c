/* Elements of tensors as text. See verify.h. */
#include <inttypes.h>

#include "check/verify.h"

/* "[2,1]": the position of element `i`. */
void verify_place(struct str *s, const struct tensor *t, int64_t i)
{
	int64_t at[TENSOR_MAX_RANK];
	for (int k = t->rank - 1; k >= 0; k--) {
		at[k] = i % t->dim[k];
		i /= t->dim[k];
	}
	str_add(s, "[");
	for (int k = 0; k < t->rank; k++)
		str_printf(s, "%s%" PRId64, k ? "," : "", at[k]);
	str_add(s, "]");
}

char *verify_worst_text(const struct tensor *t, const struct tensor_difference *d, struct arena *a)
{
	struct str s = str_new(a);
	verify_place(&s, t, d->worst);
	str_printf(&s, ": got %.9g, want %.9g", d->worst_got, d->worst_want);
	return arena_strdup(a, str_text(&s));
}

char *verify_near_text(const struct tensor *got, const struct tensor *want, int64_t first, struct arena *a)
{
	enum { BEFORE = 2, AFTER = 4 };
	struct str s = str_new(a);
	int64_t n = tensor_count(want);
	for (int64_t i = first < BEFORE ? 0 : first - BEFORE; i < n && i <= first + AFTER; i++) {
		str_add(&s, i == first ? "> " : "  ");
		verify_place(&s, want, i);
		str_printf(&s, " got %.9g, want %.9g\n", tensor_float(got, i), tensor_float(want, i));
	}
	return arena_strdup(a, str_text(&s));
}
