/* Transposed convolutions. Output o gathers the inputs i with i * stride + k * dilation - pad = o. With s' = stride /
 * gcd(stride, dilation) the taps that reach o are k = r + s' t, where r follows from o: only one tap in s' along an
 * axis is visited. */
#include "ops/lower/convolution.h"

#include <string.h>

struct transposed {
	expr in[IR_MAX_RANK], kernel[IR_MAX_RANK], out[IR_MAX_RANK], before[IR_MAX_RANK];
	int64_t stride[IR_MAX_RANK], dilation[IR_MAX_RANK];
};

static int list(struct lower *l, const char *name, int n, int64_t absent, int64_t least, int64_t *out)
{
	struct ints v = lower_ints(l, name);

	if (v.n && v.n != n)
		return lower_fail(l, ERR_MODEL, "%s has %d entries; it needs %d.", name, v.n, n);
	for (int i = 0; i < n; i++) {
		out[i] = v.n ? v.at[i] : absent;
		if (out[i] < least)
			return lower_fail(l, ERR_MODEL, "%s has the entry %lld; %lld is the least.", name,
			                  (long long)out[i], (long long)least);
	}
	return 0;
}

/* The same from input `number`. */
static int pads_input(struct lower *l, int number, int n, int64_t *out)
{
	struct ints v = { 0 };

	if (lower_input(l, number).given)
		TRY(lower_known_ints(l, number, &v));
	if (v.n && v.n != n)
		return lower_fail(l, ERR_MODEL, "there are %d pads; %d are needed.", v.n, n);
	for (int i = 0; i < n; i++) {
		out[i] = v.n ? v.at[i] : 0;
		if (out[i] < -(1 << 30) || out[i] > 1 << 30)
			return lower_fail(l, ERR_MODEL, "a padding of %lld is out of range.", (long long)out[i]);
	}
	return 0;
}

/* Computes the output's extents and the padding before each axis. The natural extent is the extent without padding. */
static int read_attributes(struct lower *l, struct value x, struct value w, int padding, struct transposed *t)
{
	const char *mode = lower_word(l, "auto_pad");
	bool same = !strncmp(mode, "SAME", 4), upper = !strcmp(mode, "SAME_UPPER");
	struct ints shape = lower_ints(l, "output_shape");
	int64_t pads[2 * IR_MAX_RANK], extra[IR_MAX_RANK];
	int n = value_rank(x) - 2, skip = shape.n == n + 2 ? 2 : 0; /* some exporters name batch and channels */

	TRY(list(l, "strides", n, 1, 1, t->stride));
	TRY(list(l, "dilations", n, 1, 1, t->dilation));
	TRY(list(l, "output_padding", n, 0, 0, extra));
	TRY(padding >= 0 ? pads_input(l, padding, 2 * n, pads) : list(l, "pads", 2 * n, 0, -(1 << 30), pads));
	if (shape.n && shape.n != n + skip)
		return lower_fail(l, ERR_MODEL, "output_shape has %d entries for %d spatial axes.", shape.n, n);
	for (int i = 0; i < n; i++) {
		expr natural, room;

		t->in[i] = value_dim(x, 2 + i);
		t->kernel[i] = value_dim(w, 2 + i);
		natural = add(muli(addi(t->in[i], -1), t->stride[i]), muli(addi(t->kernel[i], -1), t->dilation[i]));
		natural = addi(natural, extra[i] + 1);
		if (!shape.n && !same) {
			bool none = !strcmp(mode, "VALID");

			t->before[i] = idx(l, none ? 0 : pads[i]);
			t->out[i] = none ? natural : addi(natural, -(pads[i] + pads[n + i]));
			t->out[i] = max_(t->out[i], idx(l, 0));
			continue;
		}
		t->out[i] = shape.n ? idx(l, shape.at[skip + i]) : min_(muli(t->in[i], t->stride[i]), natural);
		room = max_(sub(natural, t->out[i]), idx(l, 0));
		t->before[i] = upper ? floordiv(room, idx(l, 2)) : sub(room, floordiv(room, idx(l, 2)));
	}
	return 0;
}

static int64_t gcd(int64_t a, int64_t b)
{
	return b ? gcd(b, a % b) : a;
}

/* x with a x = 1 mod m, for coprime a and m. */
static int64_t inverse(int64_t a, int64_t m)
{
	for (int64_t x = 1; x < m; x++)
		if (a % m * x % m == 1)
			return x;
	return 0;
}

/* A tap of output `o` along axis i, the last one first, so that the input's index grows from tap to tap: its index in
 * the kernel, its index in the input, and the conditions that these exist. `taken` is null where the kernel always has
 * the tap. */
struct tap {
	expr k, i, inside, taken;
};

static expr both(expr a, expr b)
{
	return a && b ? and_(a, b) : a ? a : b;
}

static int64_t taps_apart(const struct transposed *t, int i)
{
	return t->stride[i] / gcd(t->stride[i], t->dilation[i]);
}

static struct tap tap_of(const struct transposed *t, int i, expr o, expr taps, expr number)
{
	int64_t common = gcd(t->stride[i], t->dilation[i]), apart = taps_apart(t, i), kernel;
	expr at = add(o, t->before[i]), stride = with(at, (double)t->stride[i]), first;
	expr tap = sub(addi(taps, -1), number);
	struct tap out = { 0 };

	first = mul(floordiv(at, with(at, (double)common)),
	            with(at, (double)inverse(t->dilation[i] / common % apart, apart)));
	first = mod(first, with(at, (double)apart));
	out.k = add(first, muli(tap, apart));
	out.i = t->dilation[i] == 1 ? floordiv(at, stride) : floordiv(sub(at, muli(first, t->dilation[i])), stride);
	out.i = sub(out.i, muli(tap, t->dilation[i] / common));
	out.inside = and_(ge(out.i, with(at, 0)), lt(out.i, t->in[i]));
	if (common > 1)
		out.taken = eq(mod(at, with(at, (double)common)), with(at, 0));
	if (apart > 1 && !(ir_const_int(t->kernel[i], &kernel) && kernel % apart == 0))
		out.taken = both(out.taken, lt(out.k, t->kernel[i]));
	return out;
}

int convolution_transposed(struct lower *l, int pads, int bias_input)
{
	struct value x = lower_input(l, 0), w = lower_input(l, 1), bias = lower_input(l, bias_input);
	int rank = value_rank(x), n = rank - 2;
	int64_t groups = lower_int(l, "group"), channels, filters;
	struct ints shape = lower_ints(l, "kernel_shape");
	expr xi[IR_MAX_RANK], wi[IR_MAX_RANK], m, c, group, per_group, inside = NULL, taken = NULL, post = NULL, e, f;
	struct transposed t = { 0 };
	struct space s = { 0 };

	if (rank < 3 || value_rank(w) != rank || rank + n + 1 > IR_MAX_RANK)
		return lower_fail(l, ERR_MODEL,
		                  "input and weights have %d and %d axes; both need the same number, three or more.",
		                  rank, value_rank(w));
	if (value_type(x) != value_type(w) || (bias.given && value_type(bias) != value_type(x)))
		return lower_fail(l, ERR_MODEL, "input, weights and bias must have one type.");
	if (bias.given && value_rank(bias) != 1)
		return lower_fail(l, ERR_MODEL, "the bias has %d axes; it must have one.", value_rank(bias));
	if (groups < 1 || (ir_const_int(value_dim(w, 0), &filters) && filters % groups))
		return lower_fail(l, ERR_MODEL, "the channels cannot be split into %lld groups.", (long long)groups);
	if (ir_const_int(value_dim(x, 1), &channels) && ir_const_int(value_dim(w, 0), &filters) && channels != filters)
		return lower_fail(l, ERR_MODEL, "the input has %lld channels, the weights %lld.", (long long)channels,
		                  (long long)filters);
	for (int i = 0; i < shape.n && i < n; i++)
		if (ir_const_int(value_dim(w, 2 + i), &filters) && filters != shape.at[i])
			return lower_fail(l, ERR_MODEL, "kernel_shape and the weights' shape differ.");
	TRY(read_attributes(l, x, w, pads, &t));

	xi[0] = space_push(l, &s, value_dim(x, 0));
	m = space_push(l, &s, muli(value_dim(w, 1), groups));
	for (int i = 0; i < n; i++)
		space_push(l, &s, t.out[i]);
	per_group = floordiv(value_dim(w, 0), idx(l, groups));
	c = space_push(l, &s, per_group);
	group = floordiv(m, value_dim(w, 1));
	xi[1] = wi[0] = groups == 1 ? c : add(mul(group, per_group), c);
	wi[1] = groups == 1 ? m : mod(m, value_dim(w, 1));
	for (int i = 0; i < n; i++) {
		expr taps = ceildiv(t.kernel[i], idx(l, taps_apart(&t, i)));
		struct tap tap = tap_of(&t, i, s.at[2 + i], taps, space_push(l, &s, taps));

		xi[2 + i] = tap.i;
		wi[2 + i] = tap.k;
		inside = both(inside, tap.inside);
		taken = both(taken, tap.taken);
	}
	/* Outside of the input are zeros, which are multiplied as a convolution's are. Beyond the kernel is nothing:
	 * both factors are zero, whatever the input has there. */
	e = wide(load(x, xi));
	f = wide(load(w, wi));
	e = select_(both(inside, taken), e, with(e, 0));
	f = taken ? select_(taken, f, with(f, 0)) : f;
	e = mul(e, f);
	if (bias.given)
		post = add(acc(l, e->type), wide(load(bias, &m)));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(x), &s, rank, IR_SUM, e, post));
	return 0;
}
