/* Taps and their weights: nearest, linear, cubic; and the separable sum over them.
 * Source of the cubic kernel: R. Keys, Cubic convolution interpolation for digital image processing, equation (4). */
#include "ops/lower/interpolate.h"

struct taps taps_nearest(expr index)
{
	return (struct taps){ .n = 1, .index = { index } };
}

struct taps taps_linear(expr floor, expr fraction)
{
	return (struct taps){
		.n = 2,
		.index = { floor, addi(floor, 1) },
		.weight = { sub(with(fraction, 1), fraction), fraction },
	};
}

/* ((a + 2) x - (a + 3)) x x + 1, for distances up to 1 */
static expr near_piece(expr x, double a)
{
	return add(mul(mul(sub(mul(x, with(x, a + 2)), with(x, a + 3)), x), x), with(x, 1));
}

/* ((a x - 5a) x + 8a) x - 4a, for distances from 1 to 2 */
static expr far_piece(expr x, double a)
{
	return sub(mul(add(mul(sub(mul(x, with(x, a)), with(x, 5 * a)), x), with(x, 8 * a)), x), with(x, 4 * a));
}

expr cubic_kernel(expr x, double a)
{
	return select_(le(x, with(x, 1)), near_piece(x, a), select_(lt(x, with(x, 2)), far_piece(x, a), with(x, 0)));
}

struct taps taps_cubic(expr floor, expr fraction, double a)
{
	expr rest = sub(with(fraction, 1), fraction);

	return (struct taps){
		.n = 4,
		.index = { addi(floor, -1), floor, addi(floor, 1), addi(floor, 2) },
		.weight = { far_piece(addi(fraction, 1), a), near_piece(fraction, a), near_piece(rest, a),
		            far_piece(addi(rest, 1), a) },
	};
}

enum type interpolation_type(enum type t)
{
	const struct type_info *info = type_info(t);

	return info->class == CLASS_FLOAT ? compute_type(t) : info->bits < 32 ? TYPE_F32 : TYPE_F64;
}

expr interpolation_narrow(expr y, enum type t)
{
	expr low, high;

	if (type_is_float(t) || y->type == t)
		return narrow(y, t);
	if (t == TYPE_BOOL)
		return narrow(unary(IR_ROUND_EVEN, y), t);
	/* The greatest 64-bit integers are not representable as f64: the largest below them is the bound. */
	low = with(y, (double)type_min(t));
	high = with(y, t == TYPE_I64   ? 0x1.fffffffffffffp62
	               : t == TYPE_U64 ? 0x1.fffffffffffffp63
	                               : (double)type_max(t));
	return narrow(clamp(unary(IR_ROUND_EVEN, y), low, high), t);
}

struct sum {
	struct value x;
	const struct taps *tap;
	enum type type;
	bool weighted; /* some axis has more than one tap */
	expr index[IR_MAX_RANK];
};

/* The sum over the axes from `axis` on; s->index has the indices of the axes before. `inside` is their condition, or
 * null. */
static expr sum_from(struct sum *s, int axis, expr inside)
{
	const struct taps *tap = &s->tap[axis];
	expr total = NULL;

	if (axis == s->x.buf->rank) {
		expr element = load(s->x, s->index);

		if (inside)
			element = select_(inside, element, with(element, 0));
		return s->weighted ? cast(element, s->type) : element;
	}
	for (int k = 0; k < tap->n; k++) {
		expr here = tap->inside[k], term;

		if (tap->n > 1 && tap->weight[k] == with(tap->weight[k], 0))
			continue;
		s->index[axis] = tap->index[k];
		term = sum_from(s, axis + 1, !here ? inside : !inside ? here : and_(inside, here));
		if (tap->n > 1)
			term = mul(tap->weight[k], term);
		total = total ? add(total, term) : term;
	}
	return total;
}

expr interpolate(struct value x, const struct taps *tap, enum type c)
{
	struct sum s = { .x = x, .tap = tap, .type = c };

	for (int i = 0; i < x.buf->rank; i++)
		s.weighted |= tap[i].n > 1;
	return sum_from(&s, 0, NULL);
}
