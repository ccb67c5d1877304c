/* Shape arithmetic that goes through floats, as integers again: an expression is followed as a fraction of an integer
 * expression and a number, and rounding makes a division of it. */
#include <math.h>

#include "graph/graph_internal.h"

enum { MAX_DENOMINATOR = 4096 };

/* num / den; den > 0. */
struct ratio {
	expr num;
	int64_t den;
};

static bool ratio_of(expr e, struct ratio *out);

static bool is_integer_type(enum type t)
{
	return t == TYPE_INDEX || t == TYPE_BOOL || type_is_int(t);
}

static expr times(expr e, int64_t c)
{
	return ir_binary(IR_MUL, e, ir_index(e->pool, c));
}

static expr negative(expr e)
{
	return times(e, -1);
}

/* floor(num / den) */
static expr floor_of(struct ratio r)
{
	return r.den == 1 ? r.num : ir_binary(IR_FLOORDIV, r.num, ir_index(r.num->pool, r.den));
}

static expr ceil_of(struct ratio r)
{
	return r.den == 1 ? r.num : negative(floor_of((struct ratio){ negative(r.num), r.den }));
}

static expr trunc_of(struct ratio r)
{
	if (r.den == 1 || ir_nonnegative(r.num))
		return floor_of(r);
	return ir_select(ir_binary(IR_LE, ir_index(r.num->pool, 0), r.num), floor_of(r), ceil_of(r));
}

static bool ratio_set(struct ratio *out, expr num, int64_t den)
{
	expr q;

	if (den < 1 || den > MAX_DENOMINATOR)
		return false;
	q = ir_binary(IR_FLOORDIV, num, ir_index(num->pool, den));
	*out = times(q, den) == num ? (struct ratio){ q, 1 } : (struct ratio){ num, den };
	return true;
}

static bool ratio_of_float(struct ir_pool *p, double x, struct ratio *out)
{
	for (int64_t den = 1; den <= MAX_DENOMINATOR; den *= 2)
		if (fabs(x * (double)den) < 1e12 && floor(x * (double)den) == x * (double)den)
			return ratio_set(out, ir_index(p, (int64_t)(x * (double)den)), den);
	return false;
}

/* Both over the product of their denominators. */
static bool common(struct ratio *a, struct ratio *b)
{
	int64_t den = a->den == b->den ? a->den : a->den * b->den;

	if (den > MAX_DENOMINATOR)
		return false;
	*a = (struct ratio){ times(a->num, den / a->den), den };
	*b = (struct ratio){ times(b->num, den / b->den), den };
	return true;
}

static bool ratio_of_binary(expr e, struct ratio a, struct ratio b, struct ratio *out)
{
	int64_t c;

	switch (e->op) {
	case IR_MUL: return ratio_set(out, ir_binary(IR_MUL, a.num, b.num), a.den * b.den);
	case IR_DIV:
		if (!ir_const_int(b.num, &c) || c == 0 || c > MAX_DENOMINATOR || c < -MAX_DENOMINATOR)
			return false;
		return ratio_set(out, times(a.num, c < 0 ? -b.den : b.den), a.den * (c < 0 ? -c : c));
	case IR_ADD:
	case IR_SUB:
	case IR_MIN:
	case IR_MAX: return common(&a, &b) && ratio_set(out, ir_binary(e->op, a.num, b.num), a.den);
	default: return false;
	}
}

static bool ratio_of_unary(expr e, struct ratio a, struct ratio *out)
{
	switch (e->op) {
	case IR_CAST: *out = a; return e->type == TYPE_F32 || e->type == TYPE_F64;
	case IR_NEG: return ratio_set(out, negative(a.num), a.den);
	case IR_ABS: *out = a; return ir_nonnegative(a.num);
	case IR_FLOOR: return ratio_set(out, floor_of(a), 1);
	case IR_CEIL: return ratio_set(out, ceil_of(a), 1);
	case IR_TRUNC: return ratio_set(out, trunc_of(a), 1);
	case IR_ROUND_EVEN: *out = a; return a.den == 1;
	default: return false;
	}
}

static bool ratio_of(expr e, struct ratio *out)
{
	struct ratio a, b;
	expr c;

	if (is_integer_type(e->type)) {
		c = graph_integer_of(e);
		*out = (struct ratio){ c, 1 };
		return c != NULL;
	}
	if (!type_is_float(e->type))
		return false;
	if (e->op == IR_CONST_FLOAT)
		return ratio_of_float(e->pool, e->f, out);
	if (e->op == IR_SELECT) {
		c = graph_integer_of(e->arg[0]);
		if (!c || !ratio_of(e->arg[1], &a) || !ratio_of(e->arg[2], &b) || !common(&a, &b))
			return false;
		return ratio_set(out, ir_select(ir_unary(IR_NOT, ir_binary(IR_EQ, c, ir_index(c->pool, 0))), a.num, b.num),
				 a.den);
	}
	if (e->op == IR_LOAD || e->n < 1 || e->n > 2 || !ratio_of(e->arg[0], &a))
		return false;
	if (e->n == 1)
		return ratio_of_unary(e, a, out);
	return ratio_of(e->arg[1], &b) && ratio_of_binary(e, a, b, out);
}

static expr integer_of_bool(expr e)
{
	return ir_cast(e, TYPE_INDEX);
}

static expr not_zero(expr e)
{
	return ir_unary(IR_NOT, ir_binary(IR_EQ, e, ir_index(e->pool, 0)));
}

static expr integer_of_compare(expr e)
{
	struct ratio a, b;

	if (!ratio_of(e->arg[0], &a) || !ratio_of(e->arg[1], &b) || !common(&a, &b))
		return NULL;
	return integer_of_bool(ir_binary(e->op, a.num, b.num));
}

static expr integer_of_cast(expr e)
{
	struct ratio r;
	expr x = is_integer_type(e->arg[0]->type) ? graph_integer_of(e->arg[0])
	       : ratio_of(e->arg[0], &r)	  ? e->type == TYPE_BOOL ? r.num : trunc_of(r)
						  : NULL;

	if (x && e->type == TYPE_BOOL && e->arg[0]->type != TYPE_BOOL)
		x = integer_of_bool(not_zero(x));
	return x;
}

static expr integer_of_binary(expr e, expr a, expr b)
{
	int64_t c;

	switch (e->op) {
	case IR_ADD:
	case IR_SUB:
	case IR_MUL:
	case IR_FLOORDIV:
	case IR_MOD:
	case IR_MIN:
	case IR_MAX: return ir_binary(e->op, a, b);
	case IR_DIV: return ir_const_int(b, &c) && c > 0 ? trunc_of((struct ratio){ a, c }) : NULL;
	case IR_AND: return ir_binary(IR_MIN, a, b);
	case IR_OR: return ir_binary(IR_MAX, a, b);
	default: return NULL;
	}
}

expr graph_integer_of(expr e)
{
	expr a, b, c;

	if (!is_integer_type(e->type))
		return NULL;
	switch (e->op) {
	case IR_AXIS:
	case IR_LOAD:
	case IR_ACC: return NULL;
	case IR_VAR: /* the turn of a loop */
	case IR_SYMBOL: return e;
	case IR_CONST_INT: return ir_index(e->pool, e->i);
	case IR_CAST: return integer_of_cast(e);
	case IR_EQ:
	case IR_LT:
	case IR_LE: return integer_of_compare(e);
	case IR_SELECT:
		c = graph_integer_of(e->arg[0]);
		a = graph_integer_of(e->arg[1]);
		b = graph_integer_of(e->arg[2]);
		return a && b && c ? ir_select(not_zero(c), a, b) : NULL;
	default: break;
	}
	if (e->n < 1 || e->n > 2)
		return NULL;
	a = graph_integer_of(e->arg[0]);
	b = e->n > 1 ? graph_integer_of(e->arg[1]) : NULL;
	if (!a || (e->n > 1 && !b))
		return NULL;
	if (e->n == 2)
		return integer_of_binary(e, a, b);
	switch (e->op) {
	case IR_NEG: return negative(a);
	case IR_ABS: return ir_unary(IR_ABS, a);
	case IR_NOT: return ir_binary(IR_SUB, ir_index(a->pool, 1), a);
	default: return NULL;
	}
}
