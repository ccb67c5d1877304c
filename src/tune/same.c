/* Compares a candidate's results with the reference, on all processors, since results are large and candidates many.
 * See tune.h. */
#include "tune/tune.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "check/error_bound.h"

enum {
	PART = 1 << 18,  /* elements per job; whole bytes for any type */
	FLIPPED = 10000, /* one in this many 8-bit integers may be off by one: rounded from a float near a tie */
};

struct part {
	double largest;
	struct tensor_difference d;
};

struct comparison {
	const struct tensor *got, *want;
	const double *allowed; /* by element; or null */
	struct tensor_tolerance tolerance;
	int64_t count;
	struct part *part;
};

/* The elements of a part, as a tensor of rank 1. */
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
		tensor_compare_within(&c->part[i].d, &got, &want, c->tolerance,
		                      c->allowed ? c->allowed + (int64_t)i * PART : NULL);
}

/* `bound`: of each element, of all of them (a scalar), or null. */
static bool same(const struct tensor *got, const struct tensor *want, const struct tensor *bound, int output,
                 const char **worst, struct arena *a)
{
	struct comparison c = {
		.got = got, .want = want, .tolerance = tensor_tolerance_of(want->type), .count = tensor_count(want)
	};
	int parts = (int)((c.count + PART - 1) / PART);
	double largest = 0; /* rounding of a sum scales with its largest terms, not with the result */
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
	if (bound && bound->type == TYPE_F64 && tensor_same_shape(bound, want))
		c.allowed = bound->data;
	else if (bound && bound->type == TYPE_F64 && bound->rank == 0)
		c.tolerance.absolute += tensor_float(bound, 0);
	threads_for(parts, 0, compare_part, &c);
	for (int i = 0; i < parts; i++) {
		differing += c.part[i].d.differing;
		if (c.part[i].d.differing && (!most || c.part[i].d.max_absolute > most->d.max_absolute))
			most = &c.part[i];
	}
	bool rounded = want->type == TYPE_I8 || want->type == TYPE_U8;
	if (!differing || (rounded && most->d.max_absolute <= 1 && differing <= c.count / FLIPPED))
		return true;
	*worst = arena_printf(a, "%lld of %lld elements of output %d differ; element %lld is %g, not %g",
	                      (long long)differing, (long long)c.count, output,
	                      (long long)((most - c.part) * (int64_t)PART + most->d.worst), most->d.worst_got,
	                      most->d.worst_want);
	return false;
}

static bool all_same(const struct tensor *got, const struct tensor *want, const struct tensor *bound, int n,
                     const char **worst, struct arena *a)
{
	for (int i = 0; i < n; i++)
		if (!same(&got[i], &want[i], bound ? &bound[i] : NULL, i, worst, a))
			return false;
	*worst = "";
	return true;
}

/* For elements without a bound: the largest computed one. */
static void find_most(struct tensor *most, const struct tensor *bound, struct arena *a)
{
	struct err ignored = { 0 };
	int64_t n = bound->type == TYPE_F64 ? tensor_count(bound) : 0;
	double x = 0;
	for (int64_t i = 0; i < n; i++)
		x = fmax(x, tensor_float(bound, i));
	*most = (struct tensor){ 0 };
	if (n && tensor_new(most, TYPE_F64, 0, NULL, a, &ignored) == 0)
		tensor_set_float(most, 0, x);
}

/* Computes bounds on demand: that takes longer than the reference. */
static void find_bounds(struct tune_reference *r, struct arena *a)
{
	int n = r->program->outputs.n;
	if (r->bound)
		return;
	r->bound = NEWN(a, struct tensor, n + 1);
	r->most = NEWN(a, struct tensor, n + 1);
	if (r->sample)
		sample_bounds(r->bound, r->sample, a);
	else
		error_bounds(r->bound, NULL, r->program, r->inputs, a);
	for (int i = 0; i < n; i++)
		find_most(&r->most[i], &r->bound[i], a);
}

bool tune_same(const struct tensor *got, struct tune_reference *r, const char **worst, struct arena *a)
{
	const struct tensor *want = r->sample ? sample_want(r->sample) : r->want;
	int n = r->program->outputs.n;
	struct tensor *some = NEWN(a, struct tensor, n + 1);
	struct err e = { 0 };
	if (r->sample && sample_take(some, r->sample, got, a, &e) < 0) {
		*worst = arena_strdup(a, e.text);
		return false;
	}
	if (r->sample)
		got = some;
	if (all_same(got, want, NULL, n, worst, a))
		return true;
	find_bounds(r, r->arena);
	return all_same(got, want, r->bound, n, worst, a);
}

bool tune_agrees(const struct tensor *got, const struct tensor *other, struct tune_reference *r, const char **worst,
                 struct arena *a)
{
	int n = r->program->outputs.n;
	if (all_same(got, other, NULL, n, worst, a))
		return true;
	find_bounds(r, r->arena);
	return all_same(got, other, r->most, n, worst, a);
}
