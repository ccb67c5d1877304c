/* Division of index arithmetic with remainder, and known divisors of variables. */
#include "ir/poly.h"

enum { SMALL_DIVISOR = 1 << 16 };

static expr raw(enum ir_op op, expr a, expr b)
{
	return ir_node_op(op, TYPE_INDEX, 2, (expr[]){ a, b });
}

/* t / d if every factor of d is in t and the coefficient divides. */
static bool divide_term(const struct poly_term *t, const struct poly_term *d, struct poly_term *out)
{
	if (d->c == -1 ? t->c == INT64_MIN : t->c % d->c != 0)
		return false;
	*out = (struct poly_term){ .c = t->c / d->c };
	int j = 0;
	for (int i = 0; i < t->n; i++) {
		if (j < d->n && t->factor[i] == d->factor[j])
			j++;
		else
			out->factor[out->n++] = t->factor[i];
	}
	return j == d->n;
}

/* True if e = k * d for an integer term k. */
static bool multiple_of(const struct poly *e, const struct poly *d, struct poly_term *k)
{
	if (e->n != d->n || !e->n || !divide_term(&e->term[0], &d->term[0], k))
		return false;
	struct poly product = { 0 };
	for (int i = 0; i < d->n; i++)
		poly_multiply(&product, &d->term[i], k);
	if (product.failed || product.n != e->n)
		return false;
	for (int i = 0; i < e->n; i++)
		if (poly_order(&product.term[i], &e->term[i]) || product.term[i].c != e->term[i].c)
			return false;
	return true;
}

static bool split(expr e, expr divisor, struct poly *q, struct poly *r)
{
	struct poly pe = { 0 }, pd = { 0 };
	struct poly_term t;
	poly_collect(&pe, e, 1);
	poly_collect(&pd, divisor, 1);
	*q = *r = (struct poly){ 0 };
	if (pe.failed || pd.failed || pd.n == 0)
		return false;
	if (pd.n > 1) {
		if (!multiple_of(&pe, &pd, &t))
			return false;
		poly_add(q, &t);
		return true;
	}
	for (int i = 0; i < pe.n; i++) {
		if (divide_term(&pe.term[i], &pd.term[0], &t))
			poly_add(q, &t);
		else
			poly_add(r, &pe.term[i]);
	}
	return !q->failed && !r->failed && q->n > 0;
}

void ir_split(expr e, expr divisor, expr *quotient, expr *rest)
{
	struct poly q, r;
	*quotient = NULL;
	*rest = e;
	if (split(e, divisor, &q, &r)) {
		*quotient = poly_build(e->pool, &q);
		*rest = poly_build(e->pool, &r);
	}
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static int64_t gcd(int64_t a, int64_t b)
{
	if (a == INT64_MIN || b == INT64_MIN)
		return 1;
	a = a < 0 ? -a : a;
	b = b < 0 ? -b : b;
	while (b) {
		int64_t t = a % b;
		a = b;
		b = t;
	}
	return a;
}

/* Divides r's nonconstant coefficients by g, their gcd with d, and its constant rounding down. */
static expr divide_by_gcd(expr r, int64_t d, int64_t *new_d)
{
	struct poly p = { 0 };
	poly_collect(&p, r, 1);
	int64_t g = d;
	if (p.failed)
		return r;
	for (int i = 0; i < p.n; i++)
		if (p.term[i].n)
			g = gcd(g, p.term[i].c);
	if (g <= 1)
		return r;
	*new_d = d / g;
	for (int i = 0; i < p.n; i++)
		p.term[i].c = p.term[i].n ? p.term[i].c / g : floor_div(p.term[i].c, g);
	struct poly clean = { 0 };
	for (int i = 0; i < p.n; i++)
		poly_add(&clean, &p.term[i]);
	return poly_build(r->pool, &clean);
}

static bool within(expr r, expr d) /* 0 <= r < d */
{
	return ir_nonnegative(r) && ir_less(r, d);
}

/* (g q + r) / (g d) = q / d for 0 <= r < g; null if a has this form for no divisor g. */
static expr divide_without_rest(expr a, int64_t d)
{
	struct poly p = { 0 };
	poly_collect(&p, a, 1);
	for (int i = 0; i < p.n && !p.failed; i++) {
		int64_t g = gcd(d, p.term[i].c);
		expr q, r;
		if (!p.term[i].n || g <= 1)
			continue;
		ir_split(a, ir_index(a->pool, g), &q, &r);
		if (q && within(r, ir_index(a->pool, g)))
			return ir_poly_floordiv(q, ir_index(a->pool, d / g));
	}
	return NULL;
}

/* ---- Known divisors of variables. */

static int64_t multiple_of_term(const struct poly_term *t)
{
	int64_t m = t->c;
	for (int i = 0; i < t->n; i++)
		if (__builtin_mul_overflow(m, ir_multiple(t->factor[i]), &m))
			return 1;
	return m == INT64_MIN ? 1 : m < 0 ? -m : m;
}

int64_t ir_multiple(expr e)
{
	int64_t d, m = 0;
	if (e->op == IR_VAR)
		return e->n == 2 ? e->arg[1]->i : 1;
	if (e->op == IR_MOD && ir_const_int(e->arg[1], &d))
		return gcd(ir_multiple(e->arg[0]), d);
	if (e->op == IR_FLOORDIV && ir_const_int(e->arg[1], &d) && d > 0) {
		m = ir_multiple(e->arg[0]);
		return m % d == 0 ? m / d : 1;
	}
	if (e->op != IR_ADD && e->op != IR_SUB && e->op != IR_MUL && e->op != IR_CONST_INT)
		return 1;
	struct poly p = { 0 };
	poly_collect(&p, e, 1);
	if (p.failed || (p.n == 1 && p.term[0].n == 1 && p.term[0].factor[0] == e)) /* an atom itself */
		return 1;
	for (int i = 0; i < p.n; i++)
		m = gcd(m, multiple_of_term(&p.term[i]));
	return m;
}

/* a = whole + rest, where `whole` is a multiple of g and either g = d, or g divides d and 0 <= rest < g; false if only
 * coefficients show that, or there is no rest. */
static bool split_multiples(expr a, int64_t d, expr *whole, expr *rest, int64_t *g)
{
	struct poly p = { 0 };
	poly_collect(&p, a, 1);
	for (int i = 0; i < p.n && !p.failed; i++) {
		struct poly w = { 0 }, r = { 0 };
		int64_t all = multiple_of_term(&p.term[i]);
		*g = gcd(d, all);
		if (!p.term[i].n || *g <= 1 || all == p.term[i].c || all == -p.term[i].c)
			continue;
		for (int k = 0; k < p.n; k++)
			poly_add(multiple_of_term(&p.term[k]) % *g ? &r : &w, &p.term[k]);
		*whole = poly_build(a->pool, &w);
		*rest = poly_build(a->pool, &r);
		if (r.n && (*g == d || within(*rest, ir_index(a->pool, *g))))
			return true;
	}
	return false;
}

expr ir_poly_floordiv(expr a, expr b)
{
	struct ir_pool *p = a->pool;
	int64_t x, d = 0, d2 = 0;
	bool constant = ir_const_int(b, &d);
	if (constant && d == 0)
		return ir_index(p, 0);
	if (constant && d == 1)
		return a;
	if (constant && ir_const_int(a, &x) && !(x == INT64_MIN && d == -1))
		return ir_index(p, floor_div(x, d));
	if (ir_is_int(a, 0) || within(a, b))
		return ir_index(p, 0);
	expr q, r;
	ir_split(a, b, &q, &r);
	if (q) {
		/* (b * q + r) / b = q + r / b */
		expr low = ir_poly_floordiv(r, b);
		return ir_poly_binary(IR_ADD, q, low);
	}
	if (constant && d > 0) {
		int64_t new_d = d;
		expr reduced = divide_by_gcd(a, d, &new_d);
		if (new_d != d)
			return ir_poly_floordiv(reduced, ir_index(p, new_d));
		expr whole = divide_without_rest(a, d), rest;
		if (whole)
			return whole;
		if (split_multiples(a, d, &whole, &rest, &x)) {
			whole = ir_poly_floordiv(whole, b);
			return x < d ? whole : ir_poly_binary(IR_ADD, whole, ir_poly_floordiv(rest, b));
		}
		if (a->op == IR_FLOORDIV && ir_const_int(a->arg[1], &d2) && d2 > 0 && d2 < INT32_MAX && d < INT32_MAX)
			return ir_poly_floordiv(a->arg[0], ir_index(p, d * d2));
	}
	return raw(IR_FLOORDIV, a, b);
}

expr ir_poly_mod(expr a, expr b)
{
	struct ir_pool *p = a->pool;
	int64_t x, d = 0, d2 = 0;
	bool constant = ir_const_int(b, &d);
	if (constant && d == 0)
		return a;
	if (constant && (d == 1 || d == -1))
		return ir_index(p, 0);
	if (constant && ir_const_int(a, &x))
		return ir_index(p, (int64_t)((uint64_t)x - (uint64_t)floor_div(x, d) * (uint64_t)d));
	if (constant && d > 0 && ir_multiple(a) % d == 0)
		return ir_index(p, 0);
	if (ir_is_int(a, 0) || within(a, b))
		return a;
	expr q, r;
	ir_split(a, b, &q, &r);
	if (q)
		return ir_poly_mod(r, b);
	if (constant && d > 0) {
		/* Reduces coefficients modulo d without increasing any: sums must not exceed 32 bits because of it. The
		 * constant may become positive, which helps to prove the sum nonnegative. A remainder by a multiple of
		 * d gives way to its operand. */
		struct poly pa = { 0 }, reduced = { 0 };
		poly_collect(&pa, a, 1);
		for (int i = 0; i < pa.n && !pa.failed; i++) {
			pa.term[i].c %= d;
			if (pa.term[i].n == 0 && pa.term[i].c < 0 && d <= SMALL_DIVISOR)
				pa.term[i].c += d;
			poly_add(&reduced, &pa.term[i]);
		}
		expr e = pa.failed || reduced.failed ? a : poly_build(p, &reduced);
		if (e != a)
			return ir_poly_mod(e, b);
		if (a->op == IR_MOD && ir_const_int(a->arg[1], &d2) && d2 > 0 && d2 % d == 0)
			return ir_poly_mod(a->arg[0], b);
		expr whole, rest;
		if (split_multiples(a, d, &whole, &rest, &x))
			return x < d ? ir_poly_binary(IR_ADD, ir_poly_mod(whole, b), rest) : ir_poly_mod(rest, b);
	}
	return raw(IR_MOD, a, b);
}
