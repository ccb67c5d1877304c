/* The interval in which a float's value lies, from its operations alone: that a sigmoid is between 0 and 1, or that an
 * exponential is not negative. */
#include "ir/passes.h"

#include <float.h>
#include <math.h>

enum { LARGEST = 256 /* nodes of an expression that is looked into */ };

static const struct ir_float_range anything = { -INFINITY, INFINITY, true };

/* x, or `instead` where x is not a number: a limit of operands that cannot both be reached. */
static double number(double x, double instead)
{
	return isnan(x) ? instead : x;
}

static bool is_infinite(const struct ir_float_range *r)
{
	return isinf(r->low) || isinf(r->high);
}

static bool has_zero(const struct ir_float_range *r)
{
	return r->low <= 0 && r->high >= 0;
}

/* The interval of a * b, or of a / b for b of one sign, from those of its corners. */
static struct ir_float_range of_corners(enum ir_op op, struct ir_float_range a, struct ir_float_range b)
{
	struct ir_float_range r = { INFINITY, -INFINITY, a.nan || b.nan };
	for (int i = 0; i < 4; i++) {
		double x = i & 1 ? a.high : a.low, y = i & 2 ? b.high : b.low;
		double corner = number(op == IR_MUL ? x * y : x / y, 0);
		r.low = fmin(r.low, corner);
		r.high = fmax(r.high, corner);
	}
	return r;
}

struct ir_float_range ir_range_of_two(enum ir_op op, struct ir_float_range a, struct ir_float_range b)
{
	struct ir_float_range r = anything;
	switch (op) {
	case IR_SUB: b = (struct ir_float_range){ -b.high, -b.low, b.nan }; /* fallthrough */
	case IR_ADD:
		r.low = number(a.low + b.low, -INFINITY);
		r.high = number(a.high + b.high, INFINITY);
		r.nan = a.nan || b.nan || (a.low == -INFINITY && b.high == INFINITY) ||
		        (a.high == INFINITY && b.low == -INFINITY);
		return r;
	case IR_MUL:
		r = of_corners(op, a, b);
		r.nan |= (has_zero(&a) && is_infinite(&b)) || (is_infinite(&a) && has_zero(&b));
		return r;
	case IR_DIV:
		if (has_zero(&b))
			return anything;
		r = of_corners(op, a, b);
		r.nan |= is_infinite(&a) && is_infinite(&b);
		return r;
	case IR_MAX: return (struct ir_float_range){ fmax(a.low, b.low), fmax(a.high, b.high), a.nan || b.nan };
	case IR_MIN: return (struct ir_float_range){ fmin(a.low, b.low), fmin(a.high, b.high), a.nan || b.nan };
	default: return anything;
	}
}

/* A bool, or an integer, as a float. */
static struct ir_float_range of_integers(enum type t)
{
	if (t == TYPE_BOOL)
		return (struct ir_float_range){ 0, 1, false };
	return (struct ir_float_range){ type_is_signed(t) ? -0x1p63 : 0, 0x1p64, false };
}

static struct ir_float_range of_one(enum ir_op op, struct ir_float_range a)
{
	struct ir_float_range r = { 0, INFINITY, a.nan };
	switch (op) {
	case IR_CAST: return a;
	case IR_NEG: return (struct ir_float_range){ -a.high, -a.low, a.nan };
	case IR_ABS: r.high = fmax(-a.low, a.high); return r;
	case IR_EXP: return (struct ir_float_range){ exp(a.low), exp(a.high), a.nan };
	case IR_SQRT: r.nan |= a.low < 0; return r;
	case IR_TANH:
	case IR_ERF: return (struct ir_float_range){ -1, 1, a.nan };
	default: return anything;
	}
}

bool ir_rounds_in_order(enum type t)
{
	return t == TYPE_F64 || t == TYPE_F32 || t == TYPE_F16 || t == TYPE_BF16;
}

struct ir_float_range ir_float_range(expr e)
{
	struct ir_float_range r = anything;
	if (e->op == IR_CONST_FLOAT)
		return isnan(e->f) ? anything : (struct ir_float_range){ e->f, e->f, false };
	if (!ir_rounds_in_order(e->type) || e->size > LARGEST)
		return anything;
	if (e->op == IR_LOAD && e->buf->finite)
		return (struct ir_float_range){ -DBL_MAX, DBL_MAX, false };
	if (e->op == IR_CAST && !type_is_float(e->arg[0]->type))
		r = of_integers(e->arg[0]->type);
	else if (e->n == 1)
		r = of_one(e->op, ir_float_range(e->arg[0]));
	else if (e->n == 2)
		r = ir_range_of_two(e->op, ir_float_range(e->arg[0]), ir_float_range(e->arg[1]));
	r.low = type_round(e->type, r.low, true);
	r.high = type_round(e->type, r.high, true);
	return r;
}
