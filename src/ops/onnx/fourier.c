/* DFT: y[k] = sum over n of x[n] e^(-2 pi i k n / N), the inverse with the other sign and over N; x is cut or
 * continued by zeros to N = dft_length. Complex numbers are pairs along the last axis. onesided: only the first N/2
 * + 1 of k; inverse and onesided: the real signal whose first N/2 + 1 frequencies x is. STFT: the same of windows of
 * frame_length samples, frame_step apart, times a window function.
 * The angle's k n is taken modulo N first, so that it stays small; sines and cosines are a table of N pairs.
 * Source: ONNX, operators DFT (opsets 17 and 20) and STFT (17). */
#include "ops/lower/lower.h"

#include <string.h>

/* turn[j, 0] = cos(2 pi j / N), turn[j, 1] = sin: of the angle in its quarter, so that quarters are exact. The sine
 * is the cosine one quarter back. */
static struct value turns(struct lower *l, enum type t, expr length)
{
	expr dim[2] = { length, idx(l, 2) }, j4, angle, quarter, y;
	struct space s = space_new(l, 2, dim);

	j4 = muli(s.at[0], 4);
	angle = divide(mul(cast(mod(j4, length), t), num(l, t, 1.570796326794896619)), cast(length, t));
	quarter = mod(sub(floordiv(j4, length), s.at[1]), idx(l, 4));
	y = select_(eq(mod(quarter, idx(l, 2)), idx(l, 0)), unary(IR_COS, angle), unary(IR_SIN, angle));
	quarter = mod(addi(quarter, 1), idx(l, 4)); /* cos, -sin, -cos, sin */
	return lower_map(l, "turn", t, &s, select_(lt(quarter, idx(l, 2)), y, unary(IR_NEG, y)));
}

/* The part (0 real, 1 imaginary) of (real + i imaginary) * e^(sign 2 pi i k n / N); null imaginary: a real number. */
static expr turned(struct value turn, expr length, bool inverse, expr k, expr n, expr part, expr real, expr imaginary)
{
	expr j = mod(mul(k, n), length), zero = with(k, 0), c = load_list(turn, 2, j, zero),
	     s = load_list(turn, 2, j, with(k, 1)), y;
	expr is_real = eq(part, zero);

	if (!inverse)
		s = unary(IR_NEG, s);
	y = mul(real, select_(is_real, c, s));
	return imaginary ? add(y, mul(imaginary, select_(is_real, unary(IR_NEG, s), c))) : y;
}

/* Whether an element of the signal has one number or two is an extent, which may be known at run time only. */
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

/* ---- DFT ---------------------------------------------------------------------------------------------------------
 * */

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
	turn = turns(l, c, length);
	n = space_push(l, &s, terms);

	memcpy(index, s.at, sizeof index);
	index[axis] = n;
	index[rank - 1] = idx(l, 0);
	real = wide(load(x, index));
	imaginary = imaginary_part(x, index);
	e = turned(turn, length, inverse, s.at[axis], n, s.at[rank - 1], real, imaginary);
	if (real_result) /* each frequency but the first and the middle one stands for two */
		e = mul(e, select_(or_(eq(n, with(n, 0)), eq(muli(n, 2), length)), with(e, 1), with(e, 2)));
	y = acc(l, c);
	lower_output(
	        l, 0,
	        lower_reduce(l, NULL, value_type(x), &s, rank, IR_SUM, e, inverse ? divide(y, cast(length, c)) : NULL));
	return 0;
}

/* ---- Rfft, Irfft
 * -------------------------------------------------------------------------------------------------- */

static int check_signal(struct lower *l, int rank, int least)
{
	if (lower_int(l, "signal_ndim") != 1 || lower_int(l, "normalized") || !lower_int(l, "onesided"))
		return lower_fail(l, ERR_UNSUPPORTED,
		                  "only one axis of signals, onesided and not normalized, is supported.");
	return rank < least ? lower_fail(l, ERR_MODEL, "the input has %d axes; it needs %d.", rank, least) : 0;
}

/* Of a real signal along the last axis the first N/2 + 1 frequencies, as pairs along one more axis. */
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
	turn = turns(l, c, length);
	n = index[rank - 1] = space_push(l, &s, length);
	e = turned(turn, length, false, s.at[rank - 1], n, s.at[rank], wide(load(x, index)), NULL);
	lower_output(l, 0, lower_reduce(l, NULL, value_type(x), &s, rank + 1, IR_SUM, e, NULL));
	return 0;
}

/* The real signal of N = 2 (frequencies - 1) elements whose first frequencies x is. */
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
	turn = turns(l, c, length);
	n = index[rank - 2] = space_push(l, &s, value_dim(x, rank - 2));
	index[rank - 1] = idx(l, 0);
	real = wide(load(x, index));
	index[rank - 1] = idx(l, 1);
	e = turned(turn, length, true, s.at[rank - 2], n, idx(l, 0), real, wide(load(x, index)));
	/* each frequency but the first and the middle one stands for two */
	e = mul(e, select_(or_(eq(n, with(n, 0)), eq(muli(n, 2), length)), with(e, 1), with(e, 2)));
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(x), &s, rank - 1, IR_SUM, e, divide(acc(l, c), cast(length, c))));
	return 0;
}

/* ---- STFT --------------------------------------------------------------------------------------------------------
 * */

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
	turn = turns(l, c, length);
	n = space_push(l, &s, length);
	at = add(mul(s.at[1], step), n);
	real = wide(load(x, (expr[]){ s.at[0], at, idx(l, 0) }));
	if (value_rank(x) == 3)
		imaginary = imaginary_part(x, (expr[]){ s.at[0], at, idx(l, 0) });
	e = turned(turn, length, false, s.at[2], n, s.at[3], real, imaginary);
	if (window.given)
		e = mul(e, cast(load(window, &n), c));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(x), &s, 4, IR_SUM, e, NULL));
	return 0;
}

/* clang-format off */
#define FFT ATTR_INT("signal_ndim", 1, "axes of a signal; 1"), ATTR_INT("normalized", 0, "0"), \
	ATTR_INT("onesided", 1, "1")
#define TS_LENGTH (TS(I32) | TS(I64))

const struct op_def ops_fourier[] = {
	{ .name = "DFT", .since = { 17, 20 }, .formula = "y[k] = sum over n of x[n] * exp(-2 pi i k n / N)",
	  .inputs = { IN("input", TS_FLOAT), OPT("dft_length", TS_LENGTH), OPT("axis", TS(I64)) },
	  .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("axis", 1, "opset 17: the signal's axis"),
		     ATTR_INT("inverse", 0, "1: the other sign, and over N"),
		     ATTR_INT("onesided", 0, "1: only the first N/2 + 1 frequencies, of a real signal") },
	  .lower = dft_lower,
	  .cases = { "input:f32[B,64,1] onesided=1 opset=17", "input:f32[B,12,2] inverse=1 opset=20",
		     "input:f16[B,S,1] dft_length:i64[]={16} opset=20" } },
	{ .name = "STFT", .since = { 17 }, .formula = "y[t, k] = DFT of window * signal from t * frame_step on",
	  .inputs = { IN("signal", TS_FLOAT), IN("frame_step", TS_LENGTH), OPT("window", TS_FLOAT),
		      OPT("frame_length", TS_LENGTH) },
	  .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("onesided", 1, "1: only the first N/2 + 1 frequencies") }, .lower = stft_lower,
	  .cases = { "signal:f32[B,L,1] frame_step:i64[]={8} window:f32[16]" } },
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
