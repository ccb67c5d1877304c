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

/* Part `part` of the element at `index`, whose last entry is set here; null if there are no imaginary parts. */
static expr part_at(struct value x, expr *index, int part)
{
	int last = value_rank(x) - 1;
	expr parts = value_dim(x, last), e;

	if (part && ir_is_int(parts, 1))
		return NULL;
	index[last] = with(parts, part);
	e = wide(load(x, index));
	return part ? select_(eq(parts, with(parts, 2)), e, with(e, 0)) : e;
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

static expr dft_element(const struct fourier *f, const expr *at, expr n, int part)
{
	struct value x = lower_input(f->l, 0);
	expr index[IR_MAX_RANK];

	memcpy(index, at, sizeof index[0] * (size_t)value_rank(x));
	index[f->axis] = n;
	return part_at(x, index, part);
}

static int dft_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), y;
	bool inverse = lower_int(l, "inverse") != 0, onesided = lower_int(l, "onesided") != 0,
	     real_result = inverse && onesided;
	struct fourier f = { .type = value_type(x), .inverse = inverse, .element = dft_element, .l = l };
	int rank = value_rank(x);
	expr dim[IR_MAX_RANK];

	TRY(check_parts(l, x));
	TRY(read_axis(l, rank, &f.axis));
	TRY(read_length(l, x, f.axis, real_result, &f.length));
	if (rank + 1 > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the signal has %d axes, which are too many.", rank);
	memcpy(dim, x.buf->dim, sizeof dim);
	dim[f.axis] = onesided && !inverse ? addi(floordiv(f.length, idx(l, 2)), 1) : f.length;
	dim[rank - 1] = idx(l, real_result ? 1 : 2);
	f.out = space_new(l, rank, dim);
	f.part = rank - 1;
	f.given = value_dim(x, f.axis);
	f.mirrored = real_result;
	TRY(fourier_lower(&f, &y));
	lower_output(l, 0, y);
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

struct frames {
	struct value x, window; /* the window may be absent */
	expr step;
};

static expr frame_element(const struct fourier *f, const expr *at, expr n, int part)
{
	const struct frames *s = f->user;
	expr index[3] = { at[0], add(mul(at[1], s->step), n), idx(f->l, 0) }, e;

	if (value_rank(s->x) == 2)
		e = part ? NULL : wide(load(s->x, index));
	else
		e = part_at(s->x, index, part);
	return e && s->window.given ? mul(e, cast(load(s->window, &n), e->type)) : e;
}

static int stft_lower(struct lower *l)
{
	struct value y;
	struct frames s = { .x = lower_input(l, 0), .window = lower_input(l, 2) };
	struct fourier f = {
		.type = value_type(s.x), .axis = 2, .part = 3, .element = frame_element, .l = l, .user = &s
	};

	if (value_rank(s.x) != 2 && value_rank(s.x) != 3)
		return lower_fail(l, ERR_MODEL, "the signal has %d axes; it must have three.", value_rank(s.x));
	if (value_rank(s.x) == 3)
		TRY(check_parts(l, s.x));
	if (s.window.given && value_rank(s.window) != 1)
		return lower_fail(l, ERR_MODEL, "the window has %d axes; it must have one.", value_rank(s.window));
	TRY(read_frame(l, s.x, s.window, &s.step, &f.length));
	f.given = f.length;
	space_push(l, &f.out, value_dim(s.x, 0));
	space_push(l, &f.out, max_(addi(floordiv(sub(value_dim(s.x, 1), f.length), s.step), 1), idx(l, 0)));
	space_push(l, &f.out, lower_int(l, "onesided") ? addi(floordiv(f.length, idx(l, 2)), 1) : f.length);
	space_push(l, &f.out, idx(l, 2));
	TRY(fourier_lower(&f, &y));
	lower_output(l, 0, y);
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
	  .cases = { "input:f32[B,64,1] onesided=1 opset=17", "input:f16[B,S,1] dft_length:i64[]={16} opset=20",
		     "input:f32[B,S,2] dft_length:i64[]={120} inverse=1 opset=20",
		     "input:f32[2,100,B,2] axis:i64[]={1} opset=20", "input:f64[B,36,1] inverse=1 opset=20",
		     "input:f32[B,38,2] dft_length:i64[]={75} inverse=1 onesided=1 opset=20",
		     "input:f16[2,262,1] opset=20",
		     "input:f32[2,67,2] dft_length:i64[]={131} inverse=1 onesided=1 opset=20" } },
	{ .name = "STFT", .since = { 17 }, .formula = "y[t, k] = DFT of window * signal from t * frame_step on",
	  .inputs = { IN("signal", TS_FLOAT), IN("frame_step", TS_INDICES), OPT("window", TS_FLOAT),
		      OPT("frame_length", TS_INDICES) },
	  .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("onesided", 1, "1: only the first N/2 + 1 frequencies") }, .lower = stft_lower,
	  .cases = { "signal:f32[B,L,1] frame_step:i64[]={8} window:f32[16]",
		     "signal:f32[B,L,1] frame_step:i64[]={8} window:f32[W]",
		     "signal:f32[B,L,1] frame_step:i64[]={16} window:f32[50]",
		     "signal:f16[B,200] frame_step:i64[]={10} window:f16[64] onesided=0",
		     "signal:f32[2,300,2] frame_step:i64[]={40} frame_length:i64[]={99} onesided=0" } },
	{ .name = NULL },
};
/* clang-format on */
