/* Compares two tensors, streaming over runs of both, in double for floats and exactly for integers. */
#include <math.h>
#include <string.h>

#include "tensor/tensor.h"

enum { RUN = 256 };

/* The comparison so far: the result and its running sums. */
struct tally {
	struct tensor_difference *out;
	struct tensor_tolerance tolerance;
	const double *allowed; /* by element, added to the tolerance; or null */
	double score;          /* of the worst element: its difference over its tolerance */
	double worst_difference;
	double square_diff, square_want; /* sums over elements finite in both */
	double largest;                  /* largest magnitude */
};

/* One pair that differs by `diff` (infinity for a NaN or an infinity against something else). True when beyond the
 * tolerance. */
static bool tally_pair(struct tally *t, int64_t i, double got, double want, double diff)
{
	struct tensor_difference *out = t->out;
	double size = fabs(want), limit = t->tolerance.absolute, score;
	if (!(diff > 0))
		return false;
	if (isfinite(want))
		limit += t->tolerance.relative * size;
	if (t->allowed && isfinite(t->allowed[i]))
		limit += t->allowed[i];
	if (diff > out->max_absolute)
		out->max_absolute = diff;
	if (isfinite(size) && size > 0 && diff / size > out->max_relative)
		out->max_relative = diff / size;
	score = isinf(diff) || limit <= 0 ? INFINITY : diff / limit;
	if (out->worst < 0 || score > t->score || (score == t->score && diff > t->worst_difference)) {
		out->worst = i;
		out->worst_got = got;
		out->worst_want = want;
		t->score = score;
		t->worst_difference = diff;
	}
	return diff > limit;
}

static bool tally_float(struct tally *t, int64_t i, double got, double want)
{
	if (isfinite(got) && isfinite(want)) {
		double diff = fabs(got - want);
		t->square_diff += diff * diff;
		t->square_want += want * want;
		t->largest = fmax(t->largest, fmax(fabs(got), fabs(want)));
		return tally_pair(t, i, got, want, diff);
	}
	if (isnan(got) ? isnan(want) : got == want)
		return false;
	return tally_pair(t, i, got, want, INFINITY);
}

static bool tally_int(struct tally *t, int64_t i, int64_t got, int64_t want, bool is_unsigned)
{
	double g = is_unsigned ? (double)(uint64_t)got : (double)got;
	double w = is_unsigned ? (double)(uint64_t)want : (double)want;
	bool above = is_unsigned ? (uint64_t)got > (uint64_t)want : got > want;
	/* Exact where doubles are not: neighbours above 2^53 differ by one. */
	double diff = (double)(above ? (uint64_t)got - (uint64_t)want : (uint64_t)want - (uint64_t)got);
	t->square_diff += diff * diff;
	t->square_want += w * w;
	t->largest = fmax(t->largest, fmax(fabs(g), fabs(w)));
	return tally_pair(t, i, g, w, diff);
}

/* Element i is beyond the tolerance. */
static void tally_differs(struct tally *t, int64_t i)
{
	if (t->out->first < 0)
		t->out->first = i;
	t->out->differing++;
}

/* `lanes` floats per element (2 for complex numbers): an element differs if one of its lanes does. */
static void compare_floats(struct tally *t, const struct tensor *got, const struct tensor *want, enum type type,
                           int lanes)
{
	int64_t n = t->out->count * lanes;
	for (int64_t at = 0; at < n; at += RUN) {
		double g[RUN], w[RUN];
		int64_t m = n - at < RUN ? n - at : RUN;
		type_load_floats(type, got->data, at, m, g);
		type_load_floats(type, want->data, at, m, w);
		for (int64_t i = 0; i < m; i += lanes) {
			bool differs = false;
			for (int lane = 0; lane < lanes; lane++)
				differs |= tally_float(t, (at + i) / lanes, g[i + lane], w[i + lane]);
			if (differs)
				tally_differs(t, (at + i) / lanes);
		}
	}
	/* Squares of huge or tiny doubles leave the range: again, scaled. */
	bool out_of_range = !isfinite(t->square_diff) || !isfinite(t->square_want) || t->square_want < 0x1p-900;
	if (!out_of_range || t->largest == 0)
		return;
	int exponent;
	frexp(t->largest, &exponent);
	t->square_diff = t->square_want = 0;
	for (int64_t i = 0; i < n; i++) {
		double g = ldexp(type_load_float(type, got->data, i), -exponent);
		double w = ldexp(type_load_float(type, want->data, i), -exponent);
		if (!isfinite(g) || !isfinite(w))
			continue;
		t->square_diff += (g - w) * (g - w);
		t->square_want += w * w;
	}
}

static void compare_ints(struct tally *t, const struct tensor *got, const struct tensor *want)
{
	int64_t n = t->out->count;
	for (int64_t at = 0; at < n; at += RUN) {
		int64_t g[RUN], w[RUN], m = n - at < RUN ? n - at : RUN;
		type_load_ints(got->type, got->data, at, m, g);
		type_load_ints(want->type, want->data, at, m, w);
		for (int64_t i = 0; i < m; i++)
			if (tally_int(t, at + i, g[i], w[i], got->type == TYPE_U64))
				tally_differs(t, at + i);
	}
}

/* Strings are equal or not: a difference counts as infinite, with no numbers to show. */
static void compare_strings(struct tally *t, const struct tensor *got, const struct tensor *want)
{
	for (int64_t i = 0; i < t->out->count; i++)
		if (strcmp(got->strings[i], want->strings[i]) != 0 && tally_pair(t, i, NAN, NAN, INFINITY))
			tally_differs(t, i);
}

bool tensor_compare(struct tensor_difference *out, const struct tensor *got, const struct tensor *want,
                    struct tensor_tolerance tolerance)
{
	return tensor_compare_within(out, got, want, tolerance, NULL);
}

bool tensor_compare_within(struct tensor_difference *out, const struct tensor *got, const struct tensor *want,
                           struct tensor_tolerance tolerance, const double *allowed)
{
	struct tensor_difference d = { .count = tensor_count(want), .first = -1, .worst = -1 };
	struct tally t = { .out = &d, .tolerance = tolerance, .allowed = allowed };
	if (got->type != want->type || !tensor_same_shape(got, want))
		return false;
	/* Integers and bool are exact plus `absolute`, whatever the relative part. */
	if (type_info(want->type)->class != CLASS_FLOAT && type_info(want->type)->class != CLASS_COMPLEX)
		t.tolerance.relative = 0;
	switch (type_info(want->type)->class) {
	case CLASS_FLOAT: compare_floats(&t, got, want, want->type, 1); break;
	case CLASS_COMPLEX: compare_floats(&t, got, want, want->type == TYPE_C64 ? TYPE_F32 : TYPE_F64, 2); break;
	case CLASS_INT:
	case CLASS_UINT:
	case CLASS_BOOL: compare_ints(&t, got, want); break;
	case CLASS_STRING: compare_strings(&t, got, want); break;
	case CLASS_NONE: break;
	}
	if (t.square_diff > 0)
		d.norm = t.square_want > 0 ? sqrt(t.square_diff / t.square_want) : INFINITY;
	*out = d;
	return true;
}

struct tensor_tolerance tensor_tolerance_of(enum type t)
{
	/* A few units in the last place for the accumulated rounding of f32 and f64; one to two for types stored
	 * narrower than computed, where rounding of the result dominates. */
	switch ((int)t) {
	case TYPE_F64:
	case TYPE_C128: return (struct tensor_tolerance){ 1e-9, 1e-7 };
	case TYPE_F32:
	case TYPE_C64: return (struct tensor_tolerance){ 1e-5, 1e-4 };
	case TYPE_F16: return (struct tensor_tolerance){ 2e-3, 2e-3 };
	case TYPE_BF16: return (struct tensor_tolerance){ 1.6e-2, 1.6e-2 };
	case TYPE_F8E4M3FN: return (struct tensor_tolerance){ 0x1p-9, 0.13 };
	case TYPE_F8E4M3FNUZ: return (struct tensor_tolerance){ 0x1p-10, 0.13 };
	case TYPE_F8E5M2: return (struct tensor_tolerance){ 0x1p-16, 0.26 };
	case TYPE_F8E5M2FNUZ: return (struct tensor_tolerance){ 0x1p-17, 0.26 };
	case TYPE_F4E2M1: return (struct tensor_tolerance){ 0.5, 0.5 };
	case TYPE_F8E8M0: return (struct tensor_tolerance){ 0, 1 };
	default: return (struct tensor_tolerance){ 0, 0 };
	}
}
