/* Powers. Those to a constant of a few quarters are products and square roots, which take a tenth of pow()'s
 * instructions and round no worse. */
#include "ir/passes.h"
#include "ops/lower/lower.h"

#include <math.h>

/* x to the power of quarters / 4, not negative. Roots are taken of x that is not negative. */
static expr product_of(expr x, int quarters)
{
	expr y = NULL, root = quarters % 4 ? unary(IR_SQRT, x) : NULL;
	switch (quarters % 4) {
	case 1: y = unary(IR_SQRT, root); break;
	case 2: y = root; break;
	case 3: y = mul(root, unary(IR_SQRT, root)); break;
	}
	if (quarters / 4 >= 2) {
		expr square = mul(x, x);
		y = y ? mul(square, y) : square;
	}
	if (quarters / 4 % 2)
		y = y ? mul(y, x) : x;
	return y;
}

/* x to a constant power, or null if products and roots do not give it for every x. A large x whose square would be
 * infinite is inverted first. */
static expr constant_power(expr x, double power, bool is_nonnegative)
{
	enum { MOST = 4 * 4 - 1 };
	double quarters = 4 * fabs(power);
	if (!(quarters >= 1 && quarters <= MOST) || quarters != floor(quarters))
		return NULL;
	int n = (int)quarters;
	if (n % 4 && !is_nonnegative)
		return NULL;
	if (power > 0)
		return product_of(x, n);
	return n <= 4 ? divide(with(x, 1), product_of(x, n)) : product_of(divide(with(x, 1), x), n);
}

static expr power(expr a, expr b, bool is_nonnegative)
{
	expr x = NULL;
	if ((a->type == TYPE_F32 || a->type == TYPE_F64) && b->op == IR_CONST_FLOAT)
		x = constant_power(a, b->f, is_nonnegative || ir_float_range(a).low >= 0);
	return x ? x : ir_binary(IR_POW, a, b);
}

expr pow_(expr a, expr b)
{
	return power(a, b, false);
}

expr pow_nonnegative(expr a, double b)
{
	return power(a, with(a, b), true);
}
