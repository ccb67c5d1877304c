/* Sliding windows: out = floor((in + before + after - (dilation * (kernel - 1) + 1)) / stride) + 1 along each axis, and
 * position = o * stride + k * dilation - before. Source: ONNX, operators Conv, MaxPool and AveragePool. */
#include "ops/lower/window.h"

#include <string.h>

/* A list attribute with one entry for each spatial axis; absent: ones. */
static int steps(struct lower *l, const char *name, int n, int64_t *out)
{
	struct ints v = { 0 };

	if (lower_has(l, name))
		v = lower_ints(l, name);
	if (v.n && v.n != n)
		return lower_fail(l, ERR_MODEL, "%s has %d entries for %d spatial axes.", name, v.n, n);
	for (int i = 0; i < n; i++) {
		out[i] = v.n ? v.at[i] : 1;
		if (out[i] < 1)
			return lower_fail(l, ERR_MODEL, "%s has the entry %lld; all must be positive.", name,
			                  (long long)out[i]);
	}
	return 0;
}

int window_kernel(struct lower *l, int n, expr *kernel)
{
	struct ints v = lower_ints(l, "kernel_shape");

	if (v.n != n)
		return lower_fail(l, ERR_MODEL, "kernel_shape has %d entries for %d spatial axes.", v.n, n);
	for (int i = 0; i < n; i++) {
		if (v.at[i] < 1)
			return lower_fail(l, ERR_MODEL, "kernel_shape has the entry %lld; all must be positive.",
			                  (long long)v.at[i]);
		kernel[i] = idx(l, v.at[i]);
	}
	return 0;
}

/* Extent of the window from its first place to its last. */
static expr reach(const struct window *w, int i)
{
	return addi(muli(addi(w->kernel[i], -1), w->dilation[i]), 1);
}

int window_read(struct lower *l, struct value x, int n, const expr *kernel, bool ceil, struct window *w)
{
	const char *mode = lower_word(l, "auto_pad");
	bool same = !strncmp(mode, "SAME", 4), valid = !strcmp(mode, "VALID"), upper = !strcmp(mode, "SAME_UPPER");
	struct ints pads = lower_ints(l, "pads");

	*w = (struct window){ .n = n };
	TRY(steps(l, "strides", n, w->stride));
	TRY(steps(l, "dilations", n, w->dilation));
	if (same || valid)
		pads.n = 0;
	if (pads.n && pads.n != 2 * n)
		return lower_fail(l, ERR_MODEL, "pads has %d entries for %d spatial axes; it needs two for each.",
		                  pads.n, n);
	for (int i = 0; i < n; i++) {
		expr stride = idx(l, w->stride[i]), room;

		w->in[i] = value_dim(x, 2 + i);
		w->kernel[i] = kernel[i];
		if (same) { /* out = ceil(in / stride); the padding follows, the odd one after or before */
			w->out[i] = ceildiv(w->in[i], stride);
			room = sub(add(mul(addi(w->out[i], -1), stride), reach(w, i)), w->in[i]);
			room = max_(room, idx(l, 0));
			w->before[i] = floordiv(upper ? room : addi(room, 1), idx(l, 2));
			w->after[i] = sub(room, w->before[i]);
			continue;
		}
		w->before[i] = idx(l, pads.n ? pads.at[i] : 0);
		w->after[i] = idx(l, pads.n ? pads.at[n + i] : 0);
		room = sub(add(add(w->in[i], w->before[i]), w->after[i]), reach(w, i));
		w->out[i] = addi(ceil ? ceildiv(room, stride) : floordiv(room, stride), 1);
		if (ceil) /* every window starts in the input or in the padding before it */
			w->out[i] = min_(w->out[i], ceildiv(add(w->in[i], w->before[i]), stride));
	}
	return 0;
}

expr window_position(const struct window *w, int i, expr o, expr k)
{
	return sub(add(muli(o, w->stride[i]), muli(k, w->dilation[i])), w->before[i]);
}

expr window_inside(const struct window *w, const expr *position)
{
	expr inside = NULL;

	for (int i = 0; i < w->n; i++) {
		expr p = position[i], here = and_(ge(p, with(p, 0)), lt(p, w->in[i]));

		inside = inside ? and_(inside, here) : here;
	}
	return inside;
}

expr window_count(const struct window *w, int i, expr o, bool padded)
{
	expr start = sub(muli(o, w->stride[i]), w->before[i]), zero = with(start, 0),
	     step = with(start, (double)w->dilation[i]);
	expr end = padded ? add(w->in[i], w->after[i]) : w->in[i];
	expr first = padded ? zero : max_(ceildiv(sub(zero, start), step), zero);
	expr past = min_(w->kernel[i], ceildiv(sub(end, start), step));

	return sub(past, first);
}

bool window_channels_last(struct lower *l)
{
	if (op_attr_find(l->op, "channels_last"))
		return lower_int(l, "channels_last") != 0;
	return !strncmp(l->op->name, "Nhwc", 4);
}

struct value window_channels_first(struct lower *l, struct value x)
{
	struct ir_buffer *b = NEW(l->program->arena, struct ir_buffer);
	int rank = value_rank(x);

	*b = *x.buf;
	for (int i = 1; i < rank; i++)
		b->dim[i] = value_dim(x, i == 1 ? rank - 1 : i - 1);
	return (struct value){ .buf = b, .given = true, .pool = x.pool };
}

void window_move_channel(int rank, expr *index)
{
	expr channel = index[1];

	for (int i = 1; i + 1 < rank; i++)
		index[i] = index[i + 1];
	index[rank - 1] = channel;
}
