/* Pad: y[i...] = x[i - begin ...] where that is inside x; outside depends on the mode:
 *   constant  the given value
 *   edge      the nearest element
 *   reflect   mirrored at the first and last element, which are not repeated
 *   wrap      from the other end
 * Negative pads cut. In the modes other than constant, cutting comes before padding.
 * Source: ONNX, operator Pad, opset 1 (paddings), 2 (pads), 11 (inputs), 18 (axes), 19 to 25 (wrap); ONNX Runtime, Pad
 * of com.microsoft. */
#include "ops/lower/shared.h"

#include <string.h>

/* Begin and end of every axis, of type index. */
struct pads {
	expr begin[IR_MAX_RANK], end[IR_MAX_RANK];
};

/* Before opset 11 of ONNX, pads and value are attributes. */
static bool from_attributes(const struct lower *l)
{
	return !l->op->domain && l->opset < 11;
}

static int read_pads(struct lower *l, int rank, struct pads *p)
{
	struct exprs given = { 0 };
	struct ints axes = { 0 };

	if (from_attributes(l)) {
		struct ints attr = lower_ints(l, l->opset < 2 ? "paddings" : "pads");

		for (int i = 0; i < attr.n; i++)
			given.at[given.n++] = idx(l, attr.at[i]);
	} else {
		TRY(lower_known(l, 1, &given));
	}
	if (lower_input(l, 3).given)
		TRY(lower_known_ints(l, 3, &axes));
	else
		for (; axes.n < rank; axes.n++)
			axes.at[axes.n] = axes.n;
	if (given.n != 2 * axes.n)
		return lower_fail(l, ERR_MODEL, "there are %d pads for %d axes; each axis needs two.", given.n, axes.n);
	for (int i = 0; i < rank; i++)
		p->begin[i] = p->end[i] = idx(l, 0);
	for (int i = 0; i < axes.n; i++) {
		int axis;

		TRY(lower_axis(l, axes.at[i], rank, false, &axis));
		p->begin[axis] = given.at[i];
		p->end[axis] = given.at[axes.n + i];
	}
	return 0;
}

/* The position in 0..n-1 that replaces i, any integer, in the modes that repeat x's own elements. */
static expr fold(const char *mode, expr i, expr n)
{
	expr last = addi(n, -1), zero = with(n, 0), period;

	if (!strcmp(mode, "edge"))
		return clamp(i, zero, last);
	if (!strcmp(mode, "wrap"))
		return mod(i, n);
	/* A period goes up and down again; an extent of 1 has only position 0. */
	period = max_(muli(last, 2), with(n, 1));
	i = mod(i, period);
	return min_(i, sub(period, i));
}

/* The value outside in constant mode. */
static expr outside(struct lower *l, enum type t)
{
	struct value v = lower_input(l, 2);

	if (from_attributes(l))
		return num(l, t, lower_float(l, "value"));
	return v.given ? at_flat(v, idx(l, 0)) : num(l, t, 0);
}

int pad_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	const char *mode = lower_word(l, "mode");
	struct pads p;
	struct space s = { 0 };
	expr index[IR_MAX_RANK], zero = idx(l, 0), inside = ir_int(l->program->pool, TYPE_BOOL, 1), y;
	int rank = value_rank(x);
	bool constant = !strcmp(mode, "constant");

	TRY(read_pads(l, rank, &p));
	for (int i = 0; i < rank; i++) {
		expr dim = value_dim(x, i), n = add(add(dim, p.begin[i]), p.end[i]);
		expr at = space_push(l, &s, max_(n, zero));

		if (n == dim && ir_is_int(p.begin[i], 0)) {
			index[i] = at;
		} else if (constant) {
			index[i] = sub(at, p.begin[i]);
			inside = and_(inside, and_(ge(index[i], zero), lt(index[i], dim)));
		} else {
			expr cut = min_(p.begin[i], zero), kept = add(dim, add(cut, min_(p.end[i], zero)));

			index[i] = sub(fold(mode, sub(at, max_(p.begin[i], zero)), kept), cut);
		}
	}
	y = load(x, index);
	if (constant)
		y = select_(inside, y, outside(l, value_type(x)));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, y));
	return 0;
}
