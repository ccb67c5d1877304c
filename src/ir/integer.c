/* Converts integer expressions of any type to index expressions over symbols and loop indices: shapes that a model
 * computes, even in floats, become extents. Floats are tracked as fractions, and rounding one becomes a division.
 *
 * Counts are small: below 2^24 times the least fraction of the arithmetic, at least 2^12, and 2^16 where numbers are
 * rounded. So f32 holds them and their halves, quarters ... exactly. A third is rounded, and only
 * operations for which that cannot matter go on from it: with t(x) monotone and each of its steps undone exactly,
 * t(x) >= k as computed if and only if x >= the k undone, which f32 holds, and other x are a fraction away. So a
 * rounded number may be shifted by an exact one, scaled by a power of two, divided by an integer, compared with an
 * exact one, and rounded to an integer. */
#include "ir/ir.h"

#include <math.h>

enum {
	MAX_DENOMINATOR = 4096, /* of exact numbers */
	MAX_ROUNDED = 256,      /* of rounded ones */
};

/* num / den; num of type index, den > 0. */
struct ratio {
	expr num;
	int64_t den;
	bool rounded; /* the float is next to it, not equal to it */
};

/* The callback for loaded elements. */
struct reader {
	ir_known_fn known;
	void *user;
};

static bool ratio_of(const struct reader *r, expr e, struct ratio *out);

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

static expr not_zero(expr e)
{
	return ir_unary(IR_NOT, ir_binary(IR_EQ, e, ir_index(e->pool, 0)));
}

/* ---- Fractions. */

static expr floor_of(struct ratio r)
{
	return r.den == 1 ? r.num : ir_binary(IR_FLOORDIV, r.num, ir_index(r.num->pool, r.den));
}

static expr ceil_of(struct ratio r)
{
	return r.den == 1 ? r.num : negative(floor_of((struct ratio){ negative(r.num), r.den, false }));
}

static expr trunc_of(struct ratio r)
{
	if (r.den == 1 || ir_nonnegative(r.num))
		return floor_of(r);
	return ir_select(ir_binary(IR_LE, ir_index(r.num->pool, 0), r.num), floor_of(r), ceil_of(r));
}

/* To an integer, a half to the even one. */
static expr round_of(struct ratio r)
{
	if (r.den == 1)
		return r.num;
	struct ir_pool *p = r.num->pool;
	expr twice = ir_binary(IR_ADD, times(r.num, 2), ir_index(p, r.den)); /* 2 * den * (r + 1/2) */
	expr up = floor_of((struct ratio){ twice, 2 * r.den, false });
	if (r.den % 2)
		return up;
	expr tie = ir_binary(IR_EQ, times(up, 2 * r.den), twice);
	expr odd = ir_binary(IR_EQ, ir_binary(IR_MOD, up, ir_index(p, 2)), ir_index(p, 1));
	return ir_select(ir_binary(IR_AND, tie, odd), ir_binary(IR_SUB, up, ir_index(p, 1)), up);
}

static bool is_power(int64_t x)
{
	return x > 0 && (x & (x - 1)) == 0;
}

/* `rounded`: an operand is. A quotient that f32 holds is exact. */
static bool ratio_set(struct ratio *out, expr num, int64_t den, bool rounded)
{
	if (den < 1 || den > MAX_DENOMINATOR)
		return false;
	expr q = ir_binary(IR_FLOORDIV, num, ir_index(num->pool, den));
	*out = times(q, den) == num ? (struct ratio){ q, 1, rounded } : (struct ratio){ num, den, rounded };
	out->rounded |= !is_power(out->den);
	return !out->rounded || den <= MAX_ROUNDED;
}

static bool ratio_of_float(struct ir_pool *p, double x, struct ratio *out)
{
	for (int64_t den = 1; den <= MAX_DENOMINATOR; den *= 2)
		if (fabs(x * (double)den) < 1e12 && floor(x * (double)den) == x * (double)den)
			return ratio_set(out, ir_index(p, (int64_t)(x * (double)den)), den, false);
	return false;
}

/* Brings both over the product of their denominators. */
static bool common(struct ratio *a, struct ratio *b)
{
	int64_t den = a->den == b->den ? a->den : a->den * b->den;
	if (den > MAX_DENOMINATOR)
		return false;
	*a = (struct ratio){ times(a->num, den / a->den), den, a->rounded };
	*b = (struct ratio){ times(b->num, den / b->den), den, b->rounded };
	return true;
}

/* True for a constant power of two, or the reciprocal of one, of either sign. */
static bool is_shift(struct ratio r)
{
	int64_t c;
	return !r.rounded && ir_const_int(r.num, &c) && is_power(c < 0 ? -c : c);
}

static bool ratio_of_product(struct ratio a, struct ratio b, struct ratio *out)
{
	if ((a.rounded && !is_shift(b)) || (b.rounded && !is_shift(a)))
		return false;
	return ratio_set(out, ir_binary(IR_MUL, a.num, b.num), a.den * b.den, a.rounded || b.rounded);
}

static bool ratio_of_quotient(struct ratio a, struct ratio b, struct ratio *out)
{
	int64_t c;
	expr q, rest;
	if (ir_const_int(b.num, &c)) {
		bool whole = b.den == 1 || is_shift(b); /* or undoing the division multiplies by a fraction */
		if (c == 0 || c > MAX_DENOMINATOR || c < -MAX_DENOMINATOR || b.rounded || (a.rounded && !whole))
			return false;
		return ratio_set(out, times(a.num, c < 0 ? -b.den : b.den), a.den * (c < 0 ? -c : c), a.rounded);
	}
	if (a.rounded || b.rounded)
		return false;
	ir_split(times(a.num, b.den), b.num, &q, &rest); /* 2 * N / N */
	return q && ir_is_int(rest, 0) && ratio_set(out, q, a.den, false);
}

static bool ratio_of_binary(enum ir_op op, struct ratio a, struct ratio b, struct ratio *out)
{
	bool rounded = a.rounded || b.rounded;
	switch (op) {
	case IR_MUL: return ratio_of_product(a, b, out);
	case IR_DIV: return ratio_of_quotient(a, b, out);
	case IR_ADD:
	case IR_SUB:
		if (a.rounded && b.rounded)
			return false;
		/* fallthrough */
	case IR_MIN:
	case IR_MAX: return common(&a, &b) && ratio_set(out, ir_binary(op, a.num, b.num), a.den, rounded);
	default: return false;
	}
}

static bool ratio_of_unary(expr e, struct ratio a, struct ratio *out)
{
	*out = a;
	switch (e->op) {
	case IR_CAST:
		return e->type == TYPE_F32 || e->type == TYPE_F64; /* narrower floats do not hold counts exactly */
	case IR_NEG: return ratio_set(out, negative(a.num), a.den, a.rounded);
	case IR_ABS: return ir_nonnegative(a.num);
	case IR_FLOOR: return ratio_set(out, floor_of(a), 1, false);
	case IR_CEIL: return ratio_set(out, ceil_of(a), 1, false);
	case IR_TRUNC: return ratio_set(out, trunc_of(a), 1, false);
	case IR_ROUND_EVEN: return ratio_set(out, round_of(a), 1, false);
	default: return false;
	}
}

/* ---- Integers. */

static expr integer_of(const struct reader *r, expr e);

/* Shapes do not wrap, so 32-bit and 64-bit integers count as indices; a narrower one's range must be known. */
static bool fits(expr x, enum type t)
{
	int64_t c;
	if (t == TYPE_INDEX || type_info(t)->bits >= 32)
		return true;
	return ir_const_int(x, &c) && c >= type_min(t) && c <= type_max(t);
}

static expr integer_of_cast(const struct reader *r, expr e)
{
	struct ratio x;
	enum type from = e->arg[0]->type;
	if (!ratio_of(r, e->arg[0], &x))
		return NULL;
	if (e->type == TYPE_BOOL)
		return from == TYPE_BOOL ? x.num : ir_cast(not_zero(x.num), TYPE_INDEX);
	x.num = trunc_of(x);
	return from == TYPE_BOOL || fits(x.num, e->type) ? x.num : NULL;
}

static expr integer_of_compare(const struct reader *r, expr e)
{
	struct ratio a, b;
	if (!ratio_of(r, e->arg[0], &a) || !ratio_of(r, e->arg[1], &b) || (a.rounded && b.rounded) || !common(&a, &b))
		return NULL;
	return ir_cast(ir_binary(e->op, a.num, b.num), TYPE_INDEX);
}

static expr integer_of_select(const struct reader *r, expr e)
{
	expr cond = integer_of(r, e->arg[0]), a = integer_of(r, e->arg[1]), b = integer_of(r, e->arg[2]);
	return cond && a && b ? ir_select(not_zero(cond), a, b) : NULL;
}

static expr integer_of_unary(enum ir_op op, expr a)
{
	switch (op) {
	case IR_NEG: return negative(a);
	case IR_ABS: return ir_unary(IR_ABS, a);
	case IR_NOT: return ir_binary(IR_SUB, ir_index(a->pool, 1), a);
	default: return NULL;
	}
}

static expr integer_of_binary(enum ir_op op, expr a, expr b)
{
	int64_t c;
	switch (op) {
	case IR_ADD:
	case IR_SUB:
	case IR_MUL:
	case IR_FLOORDIV:
	case IR_MOD:
	case IR_MIN:
	case IR_MAX: return ir_binary(op, a, b);
	case IR_DIV: return ir_const_int(b, &c) && c > 0 ? trunc_of((struct ratio){ a, c, false }) : NULL;
	case IR_AND: return ir_binary(IR_MIN, a, b);
	case IR_OR: return ir_binary(IR_MAX, a, b);
	default: return NULL;
	}
}

/* For an integer type, or bool: 0 or 1. */
static expr integer_of(const struct reader *r, expr e)
{
	switch (e->op) {
	case IR_AXIS:
	case IR_ACC: return NULL;
	case IR_VAR: /* a loop's index */
	case IR_SYMBOL: return e;
	case IR_CONST_INT: return ir_index(e->pool, e->i);
	case IR_LOAD: return r->known ? r->known(r->user, e) : NULL;
	case IR_CAST: return integer_of_cast(r, e);
	case IR_EQ:
	case IR_LT:
	case IR_LE: return integer_of_compare(r, e);
	case IR_SELECT: return integer_of_select(r, e);
	default: break;
	}
	if (e->n < 1 || e->n > 2 || !is_integer_type(e->arg[0]->type))
		return NULL;
	expr a = integer_of(r, e->arg[0]), b = a && e->n == 2 ? integer_of(r, e->arg[1]) : NULL;
	if (!a || (e->n == 2 && !b))
		return NULL;
	return e->n == 1 ? integer_of_unary(e->op, a) : integer_of_binary(e->op, a, b);
}

static bool ratio_of(const struct reader *r, expr e, struct ratio *out)
{
	struct ratio a, b;
	if (!type_is_float(e->type)) {
		*out = (struct ratio){ is_integer_type(e->type) ? integer_of(r, e) : NULL, 1, false };
		return out->num != NULL;
	}
	if (e->op == IR_CONST_FLOAT)
		return ratio_of_float(e->pool, e->f, out);
	if (e->op == IR_LOAD) {
		*out = (struct ratio){ r->known ? r->known(r->user, e) : NULL, 1, false };
		return out->num != NULL;
	}
	if (e->op == IR_SELECT) {
		expr cond = integer_of(r, e->arg[0]);
		if (!cond || !ratio_of(r, e->arg[1], &a) || !ratio_of(r, e->arg[2], &b) || !common(&a, &b))
			return false;
		return ratio_set(out, ir_select(not_zero(cond), a.num, b.num), a.den, a.rounded || b.rounded);
	}
	if (e->n < 1 || e->n > 2 || !ratio_of(r, e->arg[0], &a))
		return false;
	if (e->n == 1)
		return ratio_of_unary(e, a, out);
	return ratio_of(r, e->arg[1], &b) && ratio_of_binary(e->op, a, b, out);
}

expr ir_integer_of(expr e, ir_known_fn known, void *user)
{
	struct reader r = { known, user };
	struct ratio x;
	return ratio_of(&r, e, &x) && x.den == 1 && !x.rounded ? x.num : NULL;
}

bool ir_known_float(expr e, double *out)
{
	struct reader r = { NULL, NULL };
	struct ratio x;
	int64_t c;
	if (e->varies || !ratio_of(&r, e, &x) || x.rounded || !ir_const_int(x.num, &c))
		return false;
	*out = (double)c / (double)x.den;
	return true;
}
