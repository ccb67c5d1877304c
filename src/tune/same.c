/* Whether a candidate's results are the reference's: by all processors, since large results are compared for every candidate.
 * See tune.h. */
#include "tune/tune.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"

enum {
	PART = 1 << 18, /* elements that one thread takes at a time; a whole number of bytes of any type */
	FLIPPED = 10000, /* of so many 8-bit integers one may be the next number: it was rounded from a float near a tie */
};

struct part {
	double largest;
	struct tensor_difference d;
};

struct comparison {
	const struct tensor *got, *want;
	struct tensor_tolerance tolerance;
	int64_t count;
	struct part *part;
};

/* The elements of a part, as a tensor of one axis. */
static struct tensor part_of(const struct tensor *t, int64_t count, int i)
{
	int64_t first = (int64_t)i * PART, n = count - first < PART ? count - first : PART;
	struct tensor out = { .type = t->type, .rank = 1, .dim = { n } };
	out.data = (char *)t->data + type_bytes(t->type, first);
	return out;
}

static void find_largest(void *arg, int i)
{
	struct comparison *c = arg;
	struct tensor want = part_of(c->want, c->count, i);
	double largest = 0, x[256];
	for (int64_t at = 0; at < want.dim[0]; at += 256) {
		int64_t n = want.dim[0] - at < 256 ? want.dim[0] - at : 256;
		type_load_floats(want.type, want.data, at, n, x);
		for (int k = 0; k < n; k++)
			largest = fabs(x[k]) > largest && isfinite(x[k]) ? fabs(x[k]) : largest;
	}
	c->part[i].largest = largest;
}

static void compare_part(void *arg, int i)
{
	struct comparison *c = arg;
	struct tensor got = part_of(c->got, c->count, i), want = part_of(c->want, c->count, i);
	if (memcmp(got.data, want.data, (size_t)type_bytes(want.type, want.dim[0])) != 0)
		tensor_compare(&c->part[i].d, &got, &want, c->tolerance);
}

static bool same(const struct tensor *got, const struct tensor *want, int output, const char **worst, struct arena *a)
{
	struct comparison c = { got, want, tensor_tolerance_of(want->type), tensor_count(want), NULL };
	int parts = (int)((c.count + PART - 1) / PART);
	double largest = 0; /* a sum's rounding goes with its largest terms, not with what is left of them */
	int64_t differing = 0;
	const struct part *most = NULL;
	if (got->type != want->type || !tensor_same_shape(got, want)) {
		*worst = arena_printf(a, "output %d has another type or shape", output);
		return false;
	}
	c.part = NEWN(a, struct part, parts + 1);
	if (type_is_float(want->type))
		threads_for(parts, 0, find_largest, &c);
	for (int i = 0; i < parts; i++)
		largest = c.part[i].largest > largest ? c.part[i].largest : largest;
	c.tolerance.absolute += c.tolerance.relative * largest;
	threads_for(parts, 0, compare_part, &c);
	for (int i = 0; i < parts; i++) {
		differing += c.part[i].d.differing;
		if (c.part[i].d.differing && (!most || c.part[i].d.max_absolute > most->d.max_absolute))
			most = &c.part[i];
	}
	bool rounded = want->type == TYPE_I8 || want->type == TYPE_U8;
	if (!differing || (rounded && most->d.max_absolute <= 1 && differing <= c.count / FLIPPED))
		return true;
	*worst = arena_printf(a, "%lld of %lld elements of output %d differ; element %lld is %g, not %g", (long long)differing,
	                      (long long)c.count, output, (long long)((most - c.part) * (int64_t)PART + most->d.worst),
	                      most->d.worst_got, most->d.worst_want);
	return false;
}

bool tune_same(const struct tensor *got, const struct tensor *want, int n, const char **worst, struct arena *a)
{
	for (int i = 0; i < n; i++)
		if (!same(&got[i], &want[i], i, worst, a))
			return false;
	*worst = "";
	return true;
}
