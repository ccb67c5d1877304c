/* Rfft: the first N/2 + 1 frequencies of a real signal along the last axis, as pairs along a new last axis. Irfft: the
 * inverse. Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/fourier.h"

#include <string.h>

static int check_signal(struct lower *l, int rank, int least)
{
	if (lower_int(l, "signal_ndim") != 1 || lower_int(l, "normalized") || !lower_int(l, "onesided"))
		return lower_fail(l, ERR_UNSUPPORTED,
		                  "only one axis of signals, onesided and not normalized, is supported.");
	return rank < least ? lower_fail(l, ERR_MODEL, "the input has %d axes; it needs %d.", rank, least) : 0;
}

static expr signal_element(const struct fourier *f, const expr *at, expr n, int part)
{
	struct value x = lower_input(f->l, 0);
	expr index[IR_MAX_RANK];

	if (part && !f->mirrored)
		return NULL;
	memcpy(index, at, sizeof index[0] * (size_t)f->axis);
	index[f->axis] = n;
	index[f->axis + 1] = idx(f->l, part); /* mirrored: the signal has parts */
	return wide(load(x, index));
}

/* The first N/2 + 1 frequencies of a real signal along the last axis, as pairs along a new last axis. */
static int rfft_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), y;
	int rank = value_rank(x);
	struct fourier f = { .type = value_type(x), .axis = rank - 1, .part = rank, .element = signal_element, .l = l };

	TRY(check_signal(l, rank, 1));
	f.length = f.given = value_dim(x, rank - 1);
	for (int i = 0; i + 1 < rank; i++)
		space_push(l, &f.out, value_dim(x, i));
	space_push(l, &f.out, addi(floordiv(f.length, idx(l, 2)), 1));
	space_push(l, &f.out, idx(l, 2));
	TRY(fourier_lower(&f, &y));
	lower_output(l, 0, y);
	return 0;
}

/* The real signal of N = 2 (frequencies - 1) elements whose first frequencies are x. */
static int irfft_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), y;
	int rank = value_rank(x);
	struct fourier f = { .type = value_type(x),
		             .axis = rank - 2,
		             .part = -1,
		             .inverse = true,
		             .mirrored = true,
		             .element = signal_element,
		             .l = l };

	TRY(check_signal(l, rank, 2));
	if (!ir_is_int(value_dim(x, rank - 1), 2))
		return lower_fail(l, ERR_MODEL, "the last axis must have extent 2: real and imaginary part.");
	f.given = value_dim(x, rank - 2);
	f.length = muli(addi(f.given, -1), 2);
	for (int i = 0; i + 2 < rank; i++)
		space_push(l, &f.out, value_dim(x, i));
	space_push(l, &f.out, f.length);
	TRY(fourier_lower(&f, &y));
	lower_output(l, 0, y);
	return 0;
}

/* clang-format off */
#define FFT ATTR_INT("signal_ndim", 1, "axes of a signal; 1"), ATTR_INT("normalized", 0, "0"), \
	ATTR_INT("onesided", 1, "1")

const struct op_def ops_contrib_fourier[] = {
	{ .name = "Rfft", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y[.., k] = sum over n of x[.., n] e^(-2 pi i k n / N), k up to N/2",
	  .inputs = { IN("x", TS_FLOAT) },
	  .outputs = { OUT("y") }, .attrs = { FFT }, .lower = rfft_lower,
	  .cases = { "x:f32[N,16]", "x:f16[N,3,10]", "x:f32[N,60]", "x:f32[N,K]" } },
	{ .name = "Irfft", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = the real signal with the frequencies x",
	  .inputs = { IN("x", TS_FLOAT) }, .outputs = { OUT("y") }, .attrs = { FFT }, .lower = irfft_lower,
	  .cases = { "x:f32[N,9,2]", "x:f16[N,3,6,2]", "x:f32[N,31,2]" } },
	{ .name = NULL },
};
/* clang-format on */
