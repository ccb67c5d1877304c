/* Resize's coordinate transformations, as exact fractions. With scale = p / q:
 *   half_pixel            (i + 1/2) / scale - 1/2            = (2q i + q - p) / 2p
 *   half_pixel_symmetric  half_pixel + in/2 (1 - out / (scale in)), for scales that give no whole extent
 *   pytorch_half_pixel    half_pixel, but 0 where out is 1
 *   asymmetric            i / scale                          = q i / p
 *   align_corners         i (in - 1) / (out - 1), 0 where out is 1
 *   tf_half_pixel_for_nn  (i + 1/2) / scale                  = (2q i + q) / 2p
 *   tf_crop_and_resize    start (in - 1) + i (end - start) (in - 1) / (out - 1), the middle where out is 1; in f32
 * Source: ONNX, operator Resize, opset 11 to 19. For align_corners its text asks for the length of the resized tensor,
 * as in ONNX Runtime; its reference implementation takes scale in, which need not be an integer. */
#include "ops/lower/resize.h"

#include <math.h>
#include <string.h>

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t t = a % b;

		a = b;
		b = t;
	}
	return a < 0 ? -a : a;
}

/* (a i + b) / d in lowest terms. */
static struct coordinate line(expr a, expr b, expr d, expr i)
{
	int64_t x, y, z;

	if (ir_const_int(a, &x) && ir_const_int(b, &y) && ir_const_int(d, &z)) {
		int64_t g = gcd(gcd(x, y), z);

		if (g > 1) {
			a = with(a, (double)(x / g));
			b = with(b, (double)(y / g));
			d = with(d, (double)(z / g));
		}
	}
	return (struct coordinate){ .num = add(mul(a, i), b), .den = d };
}

static struct coordinate crop(const struct resize_axis *axis, expr i)
{
	expr one = with(axis->in, 1), last = cast(sub(axis->in, one), TYPE_F32),
	     steps = cast(sub(axis->out, one), TYPE_F32);
	expr whole = mul(sub(axis->end, axis->start), last);
	expr middle = mul(mul(add(axis->start, axis->end), last), with(last, 0.5));
	expr x = add(mul(axis->start, last), divide(mul(cast(i, TYPE_F32), whole), steps));

	return (struct coordinate){ .x = select_(gt(axis->out, one), x, middle) };
}

struct coordinate resize_coordinate(const struct resize_axis *axis, const char *mode, expr i)
{
	expr in = axis->in, out = axis->out, p = axis->p_read, q = axis->q_read, zero = with(in, 0), one = with(in, 1);
	expr p2 = muli(p, 2), q2 = muli(q, 2), half = sub(q, p);

	if (!strcmp(mode, "tf_crop_and_resize"))
		return crop(axis, i);
	if (!strcmp(mode, "asymmetric"))
		return line(q, zero, p, i);
	if (!strcmp(mode, "tf_half_pixel_for_nn"))
		return line(q2, q, p2, i);
	if (!strcmp(mode, "align_corners"))
		return line(addi(in, -1), zero, max_(addi(out, -1), one), i);
	if (!strcmp(mode, "pytorch_half_pixel")) {
		expr many = gt(out, one);

		return line(select_(many, q2, zero), select_(many, half, zero), p2, i);
	}
	if (!strcmp(mode, "half_pixel_symmetric"))
		half = add(half, sub(mul(in, p), mul(out, q)));
	return line(q2, half, p2, i);
}

/* ---- What is asked of a coordinate ------------------------------------------------------------------------------- */

expr coordinate_floor(const struct coordinate *c)
{
	return c->x ? cast(unary(IR_FLOOR, c->x), TYPE_INDEX) : floordiv(c->num, c->den);
}

/* n / den in float type t; one multiplication if den is known. */
static expr quotient(expr n, expr den, enum type t)
{
	int64_t d;

	if (ir_const_int(den, &d))
		return mul(cast(n, t), ir_float(n->pool, t, 1 / (double)d));
	return divide(cast(n, t), cast(den, t));
}

expr coordinate_fraction(const struct coordinate *c, enum type t)
{
	return c->x ? cast(sub(c->x, unary(IR_FLOOR, c->x)), t) : quotient(mod(c->num, c->den), c->den, t);
}

expr coordinate_distance(const struct coordinate *c, expr index, enum type t)
{
	return c->x ? sub(cast(index, t), cast(c->x, t)) : quotient(sub(mul(index, c->den), c->num), c->den, t);
}

expr coordinate_nearest(const struct coordinate *c, const char *nearest_mode)
{
	expr n2 = c->num ? muli(c->num, 2) : NULL, d2 = c->den ? muli(c->den, 2) : NULL;

	if (!strcmp(nearest_mode, "floor"))
		return coordinate_floor(c);
	if (!strcmp(nearest_mode, "ceil"))
		return c->x ? cast(unary(IR_CEIL, c->x), TYPE_INDEX) : ceildiv(c->num, c->den);
	if (!strcmp(nearest_mode, "round_prefer_ceil"))
		return c->x ? cast(unary(IR_FLOOR, add(c->x, with(c->x, 0.5))), TYPE_INDEX)
		            : floordiv(add(n2, c->den), d2);
	/* round_prefer_floor */
	return c->x ? cast(unary(IR_CEIL, sub(c->x, with(c->x, 0.5))), TYPE_INDEX) : ceildiv(sub(n2, c->den), d2);
}

expr coordinate_outside(const struct coordinate *c, expr extent)
{
	return or_(lt(c->x, with(c->x, 0)), gt(c->x, cast(addi(extent, -1), TYPE_F32)));
}

/* Tries the convergents of the continued fraction; the first that rounds to the scale in f32 is the result. */
bool scale_fraction(double scale, int64_t *p, int64_t *q)
{
	int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
	double rest = scale;

	if (!(scale > 0) || !(scale < 1 << 24))
		return false;
	for (int step = 0; step < 32; step++) {
		int64_t whole = (int64_t)floor(rest), p2 = whole * p1 + p0, q2 = whole * q1 + q0;

		if (p2 >= 1 << 24 || q2 >= 1 << 24)
			return false;
		p0 = p1;
		q0 = q1;
		p1 = p2;
		q1 = q2;
		if (q1 && (float)((double)p1 / (double)q1) == (float)scale) {
			*p = p1;
			*q = q1;
			return true;
		}
		rest = 1 / (rest - (double)whole);
		if (!(rest < 1 << 24))
			return false;
	}
	return false;
}
