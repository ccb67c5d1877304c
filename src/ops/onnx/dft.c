/* DFT: y[k] = sum over n of x[n] e^(-2 pi i k n / N); the inverse has the other sign and divides by N. x is cut, or
 * padded with zeros, to N = dft_length. Complex numbers are pairs along the last axis. onesided: only the first N/2 +
 * 1 of k; inverse and onesided: the real signal whose first N/2 + 1 frequencies are x. STFT: the DFT of windows of
 * frame_length samples, frame_step apart, times a window function.
 * Source: ONNX, operators DFT (opsets 17 and 20) and STFT (17). */
#include "ops/lower/fourier.h"

#include <string.h>

/* Fails unless the last axis has extent 1 or 2. The extent may be known only at run time. */
static int check_parts(struct lower *l, struct value x)
{
	int rank = value_rank(x);
	int64_t parts;

	if (rank < 2 || (ir_const_int(value_dim(x, rank - 1), &parts) && parts != 1 && parts != 2))
		return lower_fail(l, ERR_MODEL,
		                  "the last axis of the signal must have extent 1 (real) or 2 (complex).");
	return 0;
}

/* The imaginary part at `index`, whose last entry is 0 here; null when there is none. */
static expr imaginary_part(struct value x, expr *index)
{
	int last = value_rank(x) - 1;
	expr parts = value_dim(x, last), e;

	if (ir_is_int(parts, 1))
		return NULL;
	index[last] = with(parts, 1);
	e = wide(load(x, index));
	return select_(eq(parts, with(parts, 2)), e, with(e, 0));
}

/* ---- DFT --------------------------------------------------------------------------------------------------------- */

static int read_axis(struct lower *l, int rank, int *axis)
{
	int64_t asked = -2;
	struct ints given;

	if (l->opset < 20) {
		asked = lower_int(l, "axis");
	} else if (lower_input(l, 2).given) {
		TRY(lower_known_ints(l, 2, &given));
		if (given.n != 1)
			return lower_fail(l, ERR_MODEL, "the axis has %d elements; it must have one.", given.n);
		asked = given.at[0];
	}
	TRY(lower_axis(l, asked, rank, false, axis));
	return *axis == rank - 1 ? lower_fail(l, ERR_MODEL, "the axis is the one of real and imaginary parts.") : 0;
}

/* The signal's length, from the input or the axis. */
static int read_length(struct lower *l, struct value x, int axis, bool real_result, expr *length)
{
	struct exprs given;

	*length = real_result ? muli(addi(value_dim(x, axis), -1), 2) : value_dim(x, axis);
	if (!lower_input(l, 1).given)
		return 0;
	TRY(lower_known(l, 1, &given));
	if (given.n != 1)
		return lower_fail(l, ERR_MODEL, "dft_length has %d elements; it must have one.", given.n);
	*length = given.at[0];
	return 0;
}

static int dft_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), turn;
	bool inverse = lower_int(l, "inverse") != 0, onesided = lower_int(l, "onesided") != 0,
	     real_result = inverse && onesided;
	int rank = value_rank(x), axis;
	expr length, half, terms, dim[IR_MAX_RANK], index[IR_MAX_RANK], n, real, imaginary, e, y;
	enum type c = compute_type(value_type(x));
	struct space s;

	TRY(check_parts(l, x));
	TRY(read_axis(l, rank, &axis));
	TRY(read_length(l, x, axis, real_result, &length));
	if (rank + 1 > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the signal has %d axes.", rank);
	half = addi(floordiv(length, idx(l, 2)), 1);
	memcpy(dim, x.buf->dim, sizeof dim);
	dim[axis] = onesided && !inverse ? half : length;
	dim[rank - 1] = idx(l, real_result ? 1 : 2);
	s = space_new(l, rank, dim);
	terms = min_(real_result ? half : length, value_dim(x, axis));
	turn = fourier_turns(l, c, length);
	n = space_push(l, &s, terms);

	memcpy(index, s.at, sizeof index);
	index[axis] = n;
	index[rank - 1] = idx(l, 0);
	real = wide(load(x, index));
	imaginary = imaginary_part(x, index);
	e = fourier_term(turn, length, inverse, s.at[axis], n, s.at[rank - 1], real, imaginary);
	if (real_result)
		e = fourier_mirrored(n, length, e);
	y = acc(l, c);
	lower_output(
	        l, 0,
	        lower_reduce(l, NULL, value_type(x), &s, rank, IR_SUM, e, inverse ? divide(y, cast(length, c)) : NULL));
	return 0;
}

/* ---- STFT -------------------------------------------------------------------------------------------------------- */

static int read_frame(struct lower *l, struct value x, struct value window, expr *step, expr *length)
{
	struct exprs given;

	TRY(lower_known(l, 1, &given));
	if (given.n != 1)
		return lower_fail(l, ERR_MODEL, "frame_step has %d elements; it must have one.", given.n);
	*step = given.at[0];
	*length = window.given ? value_dim(window, 0) : value_dim(x, 1);
	if (window.given || !lower_input(l, 3).given)
		return 0;
	TRY(lower_known(l, 3, &given));
	if (given.n != 1)
		return lower_fail(l, ERR_MODEL, "frame_length has %d elements; it must have one.", given.n);
	*length = given.at[0];
	return 0;
}

static int stft_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), window = lower_input(l, 2), turn;
	bool onesided = lower_int(l, "onesided") != 0;
	enum type c = compute_type(value_type(x));
	expr step = NULL, length = NULL, n, at, real, imaginary = NULL, e;
	struct space s = { 0 };

	if (value_rank(x) != 2 && value_rank(x) != 3)
		return lower_fail(l, ERR_MODEL, "the signal has %d axes; it must have three.", value_rank(x));
	if (value_rank(x) == 3)
		TRY(check_parts(l, x));
	if (window.given && value_rank(window) != 1)
		return lower_fail(l, ERR_MODEL, "the window has %d axes; it must have one.", value_rank(window));
	TRY(read_frame(l, x, window, &step, &length));
	space_push(l, &s, value_dim(x, 0));
	space_push(l, &s, max_(addi(floordiv(sub(value_dim(x, 1), length), step), 1), idx(l, 0)));
	space_push(l, &s, onesided ? addi(floordiv(length, idx(l, 2)), 1) : length);
	space_push(l, &s, idx(l, 2));
	turn = fourier_turns(l, c, length);
	n = space_push(l, &s, length);
	at = add(mul(s.at[1], step), n);
	real = wide(load(x, (expr[]){ s.at[0], at, idx(l, 0) }));
	if (value_rank(x) == 3)
		imaginary = imaginary_part(x, (expr[]){ s.at[0], at, idx(l, 0) });
	e = fourier_term(turn, length, false, s.at[2], n, s.at[3], real, imaginary);
	if (window.given)
		e = mul(e, cast(load(window, &n), c));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(x), &s, 4, IR_SUM, e, NULL));
	return 0;
}

/* clang-format off */

const struct op_def ops_dft[] = {
	{ .name = "DFT", .since = { 17, 20 }, .formula = "y[k] = sum over n of x[n] * exp(-2 pi i k n / N)",
	  .inputs = { IN("input", TS_FLOAT), OPT("dft_length", TS_INDICES), OPT("axis", TS(I64)) },
	  .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("axis", 1, "opset 17: the signal's axis"),
		     ATTR_INT("inverse", 0, "1: the other sign, and over N"),
		     ATTR_INT("onesided", 0, "1: only the first N/2 + 1 frequencies, of a real signal") },
	  .lower = dft_lower,
	  .cases = { "input:f32[B,64,1] onesided=1 opset=17", "input:f32[B,12,2] inverse=1 opset=20",
		     "input:f16[B,S,1] dft_length:i64[]={16} opset=20" } },
	{ .name = "STFT", .since = { 17 }, .formula = "y[t, k] = DFT of window * signal from t * frame_step on",
	  .inputs = { IN("signal", TS_FLOAT), IN("frame_step", TS_INDICES), OPT("window", TS_FLOAT),
		      OPT("frame_length", TS_INDICES) },
	  .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("onesided", 1, "1: only the first N/2 + 1 frequencies") }, .lower = stft_lower,
	  .cases = { "signal:f32[B,L,1] frame_step:i64[]={8} window:f32[16]" } },
	{ .name = NULL },
};
/* clang-format on */
