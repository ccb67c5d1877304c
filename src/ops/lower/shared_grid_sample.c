/* GridSample: y[n, c, i..] = x[n, c, ..] interpolated at the position grid[n, i.., :], whose coordinates run from -1
 * to 1 over x, the last axis first. Outside elements: zeros; the nearest element (border); or mirrored at the borders
 * (reflection).
 * Sources: ONNX, operator GridSample, opset 16 (two spatial axes), 20 and 22 (any number); ONNX Runtime,
 * com.microsoft.GridSample. */
#include "ops/lower/interpolate.h"
#include "ops/lower/shared.h"

#include <string.h>

enum padding { ZEROS, BORDER, REFLECTION };

struct sampling {
	enum padding padding;
	bool align_corners;
};

/* Maps -1..1 to indices: the ends are the centres of the first and last element, or their outer edges. */
static expr denormalise(const struct sampling *s, expr g, expr extent)
{
	expr one = with(g, 1), half = with(g, 0.5), n = cast(extent, g->type);

	if (s->align_corners)
		return mul(mul(add(g, one), half), sub(n, one));
	return mul(sub(mul(add(g, one), n), one), half);
}

/* The borders of mirroring: element centres or outer edges. */
static expr low_border(const struct sampling *s, expr x)
{
	return with(x, s->align_corners ? 0 : -0.5);
}

static expr high_border(const struct sampling *s, expr x, expr extent)
{
	return sub(cast(extent, x->type), with(x, s->align_corners ? 1 : 0.5));
}

/* x mirrored at both borders until it lies between them. */
static expr reflect(const struct sampling *s, expr x, expr extent)
{
	expr low = low_border(s, x), range = sub(high_border(s, x, extent), low), period = mul(range, with(x, 2));
	expr over = unary(IR_ABS, sub(x, low));

	over = sub(over, mul(unary(IR_FLOOR, divide(over, period)), period));
	/* An extent of 1 has one element to reflect to: there is no period then. */
	return select_(gt(range, with(x, 0)), add(low, min_(over, sub(period, over))), with(x, 0));
}

/* Moves a position outside the borders inside, before interpolation. Cubic positions stay: only their elements are
 * padded, as in PyTorch. Far positions are clamped, so that they fit an index. */
static expr bring_inside(const struct sampling *s, expr x, expr extent, bool cubic)
{
	expr last = cast(addi(extent, -1), x->type), zero = with(x, 0), outside;

	outside = or_(lt(x, low_border(s, x)), gt(x, high_border(s, x, extent)));
	if (s->padding == REFLECTION)
		x = cubic ? x : select_(outside, reflect(s, x, extent), x);
	else if (s->padding == BORDER && !cubic)
		x = select_(outside, clamp(x, zero, last), x);
	return s->padding == REFLECTION ? clamp(x, with(x, -0x1p24), with(x, 0x1p24))
	                                : clamp(x, with(x, -8), add(last, with(x, 8)));
}

/* The index that replaces tap index i, which is at most a few elements outside; with zeros, *inside is the condition
 * that it is inside. */
static expr hold(const struct sampling *s, expr i, expr extent, expr *inside)
{
	expr zero = with(i, 0), last = addi(extent, -1);

	if (s->padding == ZEROS)
		*inside = and_(ge(i, zero), lt(i, extent));
	if (s->padding == REFLECTION) {
		/* Period 2 (n - 1) at centres; 2 n at edges, which repeat the edge element. */
		expr period = s->align_corners ? max_(muli(last, 2), with(i, 1)) : muli(extent, 2);

		i = mod(i, period);
		i = min_(i, addi(sub(period, i), s->align_corners ? 0 : -1));
	}
	return s->padding == ZEROS ? i : clamp(i, zero, last);
}

static struct taps axis_taps(const struct sampling *s, const char *mode, expr g, expr extent, enum type c)
{
	bool cubic = !strcmp(mode, "cubic") || !strcmp(mode, "bicubic");
	expr x = denormalise(s, g, extent), floor;
	struct taps t;

	if (!strcmp(mode, "nearest"))
		x = unary(IR_ROUND_EVEN, x);
	x = bring_inside(s, x, extent, cubic);
	floor = unary(IR_FLOOR, x);
	if (!strcmp(mode, "nearest"))
		t = taps_nearest(cast(floor, TYPE_INDEX));
	else if (cubic)
		t = taps_cubic(cast(floor, TYPE_INDEX), cast(sub(x, floor), c), -0.75);
	else
		t = taps_linear(cast(floor, TYPE_INDEX), cast(sub(x, floor), c));
	for (int k = 0; k < t.n; k++)
		t.index[k] = hold(s, t.index[k], extent, &t.inside[k]);
	return t;
}

int grid_sample(struct lower *l, const char *mode, const char *padding)
{
	struct value x = lower_input(l, 0), grid = lower_input(l, 1);
	struct sampling s = { .padding = !strcmp(padding, "border")       ? BORDER
		                         : !strcmp(padding, "reflection") ? REFLECTION
		                                                          : ZEROS,
		              .align_corners = lower_int(l, "align_corners") };
	enum type t = value_type(x), c = interpolation_type(t);
	struct taps tap[IR_MAX_RANK];
	struct space out = { 0 };
	expr at[IR_MAX_RANK];
	int rank = value_rank(x), spatial = rank - 2;
	int64_t coordinates;

	if (spatial < 1 || value_rank(grid) != rank)
		return lower_fail(l, ERR_MODEL,
		                  "the input has rank %d, the grid %d; they must be equal, and at least 3.", rank,
		                  value_rank(grid));
	if (ir_const_int(value_dim(grid, rank - 1), &coordinates) && coordinates != spatial)
		return lower_fail(l, ERR_MODEL, "the grid's last extent must be %d, one coordinate a spatial axis.",
		                  spatial);
	at[0] = space_push(l, &out, value_dim(x, 0));
	tap[0] = taps_nearest(at[0]);
	tap[1] = taps_nearest(space_push(l, &out, value_dim(x, 1)));
	for (int i = 1; i <= spatial; i++)
		at[i] = space_push(l, &out, value_dim(grid, i));
	for (int i = 0; i < spatial; i++) {
		at[rank - 1] = idx(l, spatial - 1 - i);
		tap[2 + i] = axis_taps(&s, mode, wide(load(grid, at)), value_dim(x, 2 + i), c);
	}
	lower_output(l, 0, lower_map(l, NULL, t, &out, interpolation_narrow(interpolate(x, tap, c), t)));
	return 0;
}

int grid_sample_lower(struct lower *l)
{
	return grid_sample(l, lower_word(l, "mode"), lower_word(l, "padding_mode"));
}
