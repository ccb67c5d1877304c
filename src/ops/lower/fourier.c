/* Terms of discrete Fourier transforms. k n is taken modulo N first, so that the angle stays small. Sines and cosines
 * come from a table of N pairs. */
#include "ops/lower/fourier.h"

/* The angle is reduced to its quarter, so that multiples of a quarter turn are exact. The sine is the cosine one
 * quarter back. */
struct value fourier_turns(struct lower *l, enum type t, expr length)
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

expr fourier_term(struct value turn, expr length, bool inverse, expr k, expr n, expr part, expr real, expr imaginary)
{
	expr j = mod(mul(k, n), length), zero = with(k, 0), c = load_list(turn, 2, j, zero),
	     s = load_list(turn, 2, j, with(k, 1)), y;
	expr is_real = eq(part, zero);

	if (!inverse)
		s = unary(IR_NEG, s);
	y = mul(real, select_(is_real, c, s));
	return imaginary ? add(y, mul(imaginary, select_(is_real, unary(IR_NEG, s), c))) : y;
}

expr fourier_mirrored(expr k, expr length, expr term)
{
	expr alone = or_(eq(k, with(k, 0)), eq(muli(k, 2), length));

	return mul(term, select_(alone, with(term, 1), with(term, 2)));
}
