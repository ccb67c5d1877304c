/* Rfft: the first N/2 + 1 frequencies of a real signal along the last axis, as pairs along a new last axis. Irfft: the
 * inverse. Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/fourier.h"

static int check_signal(struct lower *l, int rank, int least)
{
	if (lower_int(l, "signal_ndim") != 1 || lower_int(l, "normalized") || !lower_int(l, "onesided"))
		return lower_fail(l, ERR_UNSUPPORTED,
		                  "only one axis of signals, onesided and not normalized, is supported.");
	return rank < least ? lower_fail(l, ERR_MODEL, "the input has %d axes; it needs %d.", rank, least) : 0;
}

/* The first N/2 + 1 frequencies of a real signal along the last axis, as pairs along a new last axis. */
static int rfft_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), turn;
	int rank = value_rank(x);
	expr index[IR_MAX_RANK], length, n, e;
	enum type c = compute_type(value_type(x));
	struct space s = { 0 };

	TRY(check_signal(l, rank, 1));
	length = value_dim(x, rank - 1);
	for (int i = 0; i + 1 < rank; i++)
		index[i] = space_push(l, &s, value_dim(x, i));
	space_push(l, &s, addi(floordiv(length, idx(l, 2)), 1));
	space_push(l, &s, idx(l, 2));
	turn = fourier_turns(l, c, length);
	n = index[rank - 1] = space_push(l, &s, length);
	e = fourier_term(turn, length, false, s.at[rank - 1], n, s.at[rank], wide(load(x, index)), NULL);
	lower_output(l, 0, lower_reduce(l, NULL, value_type(x), &s, rank + 1, IR_SUM, e, NULL));
	return 0;
}

/* The real signal of N = 2 (frequencies - 1) elements whose first frequencies are x. */
static int irfft_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), turn;
	int rank = value_rank(x);
	expr index[IR_MAX_RANK], length, n, e, real;
	enum type c = compute_type(value_type(x));
	struct space s = { 0 };

	TRY(check_signal(l, rank, 2));
	if (!ir_is_int(value_dim(x, rank - 1), 2))
		return lower_fail(l, ERR_MODEL, "the last axis must have extent 2: real and imaginary part.");
	length = muli(addi(value_dim(x, rank - 2), -1), 2);
	for (int i = 0; i + 2 < rank; i++)
		index[i] = space_push(l, &s, value_dim(x, i));
	space_push(l, &s, length);
	turn = fourier_turns(l, c, length);
	n = index[rank - 2] = space_push(l, &s, value_dim(x, rank - 2));
	index[rank - 1] = idx(l, 0);
	real = wide(load(x, index));
	index[rank - 1] = idx(l, 1);
	e = fourier_term(turn, length, true, s.at[rank - 2], n, idx(l, 0), real, wide(load(x, index)));
	e = fourier_mirrored(n, length, e);
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(x), &s, rank - 1, IR_SUM, e, divide(acc(l, c), cast(length, c))));
	return 0;
}

/* clang-format off */
#define FFT ATTR_INT("signal_ndim", 1, "axes of a signal; 1"), ATTR_INT("normalized", 0, "0"), \
	ATTR_INT("onesided", 1, "1")

const struct op_def ops_contrib_fourier[] = {
	{ .name = "Rfft", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y[.., k] = sum over n of x[.., n] e^(-2 pi i k n / N), k up to N/2",
	  .inputs = { IN("x", TS_FLOAT) },
	  .outputs = { OUT("y") }, .attrs = { FFT }, .lower = rfft_lower, .cases = { "x:f32[N,16]", "x:f16[N,3,10]" } },
	{ .name = "Irfft", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = the real signal with the frequencies x",
	  .inputs = { IN("x", TS_FLOAT) }, .outputs = { OUT("y") }, .attrs = { FFT }, .lower = irfft_lower,
	  .cases = { "x:f32[N,9,2]", "x:f16[N,3,6,2]" } },
	{ .name = NULL },
};
/* clang-format on */
