/* Bounds of index expressions. An expression that does not vary inside a program (symbols and functions of them) is its
 * own bound; axes lie between zero and their extent. */
#include "ir/pool.h"

#include <string.h>

static struct ir_bounds *slot_of(struct ir_pool *p, expr e)
{
	if (e->id >= p->bounds_cap) {
		uint32_t cap = p->bounds_cap ? p->bounds_cap : 256;
		while (cap <= e->id)
			cap *= 2;
		struct ir_bounds *b = NEWN(p->arena, struct ir_bounds, cap);
		if (p->bounds_cap)
			memcpy(b, p->bounds, sizeof *b * p->bounds_cap);
		p->bounds = b;
		p->bounds_cap = cap;
	}
	return &p->bounds[e->id];
}

static bool constants(expr a, expr b, int64_t *x, int64_t *y)
{
	return a && b && ir_const_int(a, x) && ir_const_int(b, y);
}

/* The lesser or greater of two bounds if that is decidable; else null. */
static expr pick(expr a, expr b, bool least)
{
	if (!a || !b)
		return NULL;
	if (a == b || ir_nonnegative(ir_poly_binary(IR_SUB, b, a)))
		return least ? a : b;
	if (ir_nonnegative(ir_poly_binary(IR_SUB, a, b)))
		return least ? b : a;
	return NULL;
}

struct sum {
	struct ir_pool *pool;
	expr low, high;
};

static void bound_term(void *user, int64_t c, int n, const expr *factor)
{
	struct sum *s = user;
	expr low = ir_index(s->pool, 1), high = low;
	for (int i = 0; i < n; i++) {
		expr fl = ir_lower_bound(factor[i]), fh = ir_upper_bound(factor[i]);
		/* Several factors must be nonnegative; a single factor may be anything. */
		if (n > 1 && !(fl && ir_nonnegative(fl)))
			fl = fh = NULL;
		low = low && fl ? ir_poly_binary(IR_MUL, low, fl) : NULL;
		high = high && fh ? ir_poly_binary(IR_MUL, high, fh) : NULL;
	}
	if (c < 0) {
		expr t = low;
		low = high;
		high = t;
	}
	expr k = ir_index(s->pool, c);
	s->low = s->low && low ? ir_poly_binary(IR_ADD, s->low, ir_poly_binary(IR_MUL, low, k)) : NULL;
	s->high = s->high && high ? ir_poly_binary(IR_ADD, s->high, ir_poly_binary(IR_MUL, high, k)) : NULL;
}

/* The bounds of one operation's result. */
struct interval {
	expr low, high;
};

/* 0 <= value < extent */
static struct interval below(expr extent)
{
	struct ir_pool *p = extent->pool;
	expr most = ir_upper_bound(extent);
	return (struct interval){ ir_index(p, 0), most ? ir_poly_binary(IR_SUB, most, ir_index(p, 1)) : NULL };
}

/* Upper bound of a / b for 0 <= a <= high: a position below N * M is in row N - 1 at most. */
static expr quotient_most(expr high, expr b)
{
	expr one = ir_index(high->pool, 1), past = ir_poly_binary(IR_ADD, high, one);
	if (b->varies)
		return high;
	expr rows = ir_poly_floordiv(past, b);
	return ir_poly_binary(IR_MUL, rows, b) == past ? ir_poly_binary(IR_SUB, rows, one) : high;
}

static struct interval of_floordiv(expr a, expr b)
{
	expr low = ir_lower_bound(a), high = ir_upper_bound(a);
	int64_t x;
	if (ir_const_int(b, &x) && x > 0)
		return (struct interval){ low ? ir_poly_floordiv(low, b) : NULL,
			                  high ? ir_poly_floordiv(high, b) : NULL };
	if (low && ir_nonnegative(low) && ir_nonnegative(b))
		return (struct interval){ ir_index(a->pool, 0), high ? quotient_most(high, b) : NULL };
	return (struct interval){ NULL, NULL };
}

static bool both_nonnegative(expr a, expr b)
{
	return a && b && ir_nonnegative(a) && ir_nonnegative(b);
}

/* Picks one of two valid bounds: a constant, or the first known one. */
static expr either(expr a, expr b)
{
	int64_t x;
	return a && b && ir_const_int(b, &x) ? b : a ? a : b;
}

static struct interval of_min(expr a, expr b)
{
	expr al = ir_lower_bound(a), bl = ir_lower_bound(b), ah = ir_upper_bound(a), bh = ir_upper_bound(b);
	expr low = pick(al, bl, true), high = pick(ah, bh, true);
	if (!low && both_nonnegative(al, bl))
		low = ir_index(a->pool, 0);
	return (struct interval){ low, high ? high : either(ah, bh) };
}

static struct interval of_max(expr a, expr b)
{
	expr al = ir_lower_bound(a), bl = ir_lower_bound(b), ah = ir_upper_bound(a), bh = ir_upper_bound(b);
	expr low = pick(al, bl, false), high = pick(ah, bh, false);
	if (!high && both_nonnegative(ah, bh))
		high = ir_poly_binary(IR_ADD, ah, bh);
	return (struct interval){ low ? low : either(al, bl), high };
}

static struct interval of_select(expr a, expr b)
{
	expr low = pick(ir_lower_bound(a), ir_lower_bound(b), true);
	if (!low && ir_nonnegative(a) && ir_nonnegative(b))
		low = ir_index(a->pool, 0);
	return (struct interval){ low, pick(ir_upper_bound(a), ir_upper_bound(b), false) };
}

static struct interval of_cast(expr a)
{
	if (a->type != TYPE_BOOL && (type_info(a->type)->class != CLASS_UINT || type_info(a->type)->bits >= 64))
		return (struct interval){ NULL, NULL };
	return (struct interval){ ir_index(a->pool, 0),
		                  ir_index(a->pool, a->type == TYPE_BOOL ? 1 : type_max(a->type)) };
}

static struct interval of_sum(expr e)
{
	struct sum s = { e->pool, ir_index(e->pool, 0), ir_index(e->pool, 0) };
	ir_poly_terms(e, bound_term, &s);
	return (struct interval){ s.low, s.high };
}

static struct interval of_operation(expr e)
{
	struct interval none = { NULL, NULL };
	expr a = e->n > 0 ? e->arg[0] : NULL, b = e->n > 1 ? e->arg[1] : NULL;
	int64_t x;
	switch (e->op) {
	case IR_AXIS:
	case IR_VAR: return a ? below(a) : none;
	case IR_ELEMENT: return e->var->extent ? below(e->var->extent) : none;
	case IR_ADD:
	case IR_SUB:
	case IR_MUL: return of_sum(e);
	case IR_FLOORDIV: return of_floordiv(a, b);
	case IR_MOD: return (ir_const_int(b, &x) ? x > 0 : ir_nonnegative(b)) ? below(b) : none;
	case IR_MIN: return of_min(a, b);
	case IR_MAX: return of_max(a, b);
	case IR_SELECT: return of_select(b, e->arg[2]);
	case IR_CAST: return of_cast(a);
	default: return none;
	}
}

static struct interval compute(expr e)
{
	int64_t x, y;
	if (e->type != TYPE_INDEX)
		return (struct interval){ NULL, NULL };
	if (!e->varies)
		return (struct interval){ e, e };
	struct interval i = of_operation(e);
	if (constants(i.low, i.high, &x, &y) && x > y) /* an empty axis: nothing is evaluated there */
		i.high = i.low;
	return i;
}

static struct ir_bounds bounds_of(expr e)
{
	struct ir_bounds b = *slot_of(e->pool, e);
	if (!b.known) {
		/* Mark first: recursion through the simplifier then finds "nothing known" instead of looping. */
		*slot_of(e->pool, e) = (struct ir_bounds){ .known = true };
		struct interval i = compute(e);
		b.low = i.low;
		b.high = i.high;
		b.known = true;
		b.nonnegative = 0; /* discard answers from before the bounds were known */
		*slot_of(e->pool, e) = b;
	}
	return b;
}

expr ir_lower_bound(expr e)
{
	return bounds_of(e).low;
}

expr ir_upper_bound(expr e)
{
	return bounds_of(e).high;
}

/* For expressions that do not vary and are not sums. */
static bool atom_nonnegative(expr e)
{
	int64_t x;
	switch (e->op) {
	case IR_SYMBOL: return true;
	case IR_CONST_INT: return e->i >= 0;
	case IR_FLOORDIV: return ir_nonnegative(e->arg[0]) && ir_nonnegative(e->arg[1]);
	case IR_MOD: return ir_const_int(e->arg[1], &x) ? x > 0 : ir_nonnegative(e->arg[1]);
	case IR_MIN: return ir_nonnegative(e->arg[0]) && ir_nonnegative(e->arg[1]);
	case IR_MAX: return ir_nonnegative(e->arg[0]) || ir_nonnegative(e->arg[1]);
	case IR_SELECT: return ir_nonnegative(e->arg[1]) && ir_nonnegative(e->arg[2]);
	case IR_CAST:
		return e->arg[0]->type == TYPE_BOOL ||
		       (type_info(e->arg[0]->type)->class == CLASS_UINT && type_info(e->arg[0]->type)->bits < 64);
	default: return false;
	}
}

static void check_term(void *user, int64_t c, int n, const expr *factor)
{
	bool *ok = user;
	for (int i = 0; i < n; i++)
		if (factor[i]->varies || !atom_nonnegative(factor[i]))
			*ok = false;
	if (c < 0)
		*ok = false;
}

struct without_quotients {
	struct ir_pool *pool;
	expr sum;
	bool changed;
};

/* The least value of a sum if all of its terms but a constant are known not to be negative; false if they are not. */
struct least {
	int64_t constant;
	bool known;
};

static void add_least(void *user, int64_t c, int n, const expr *factor)
{
	struct least *x = user;
	if (n == 0)
		x->constant += c;
	else
		check_term(&x->known, c, n, factor);
}

/* True if all factors but number `i` are known not to be negative. */
static bool others_nonnegative(int n, const expr *factor, int i)
{
	bool ok = true;
	check_term(&ok, 1, i, factor);
	check_term(&ok, 1, n - i - 1, factor + i + 1);
	return ok;
}

/* Adds a term, with what is not greater in place of quotients by a constant d > 0: -k * x for -k * d * floordiv(x, d),
 * and the quotient of the least x for floordiv(x, d). */
static void add_without(void *user, int64_t c, int n, const expr *factor)
{
	struct without_quotients *w = user;
	expr term = ir_index(w->pool, 1);
	int64_t d;
	for (int i = 0; i < n; i++) {
		expr x = factor[i];
		bool quotient = x->op == IR_FLOORDIV && ir_const_int(x->arg[1], &d) && d > 0;
		struct least least = { 0, true };
		if (quotient && c < 0 && c % d == 0 && others_nonnegative(n, factor, i)) {
			x = x->arg[0];
			c /= d;
			w->changed = true;
		} else if (quotient && n == 1 && c > 0 && !x->varies) {
			ir_poly_terms(x->arg[0], add_least, &least);
			x = least.known ? ir_poly_floordiv(ir_index(w->pool, least.constant), x->arg[1]) : x;
			w->changed |= least.known;
		}
		term = ir_poly_binary(IR_MUL, term, x);
	}
	w->sum = ir_poly_binary(IR_ADD, w->sum, ir_poly_binary(IR_MUL, term, ir_index(w->pool, c)));
}

/* Decides sums such as W - 8 * floordiv(W, 8), and floordiv(W - 1, 2) + 1. */
static bool nonnegative_without_quotients(expr sum)
{
	struct without_quotients w = { sum->pool, ir_index(sum->pool, 0), false };
	bool ok = true;
	ir_poly_terms(sum, add_without, &w);
	if (w.changed)
		ir_poly_terms(w.sum, check_term, &ok);
	return w.changed && ok;
}

bool ir_nonnegative(expr e)
{
	if (e->op == IR_CONST_INT || e->op == IR_SYMBOL)
		return e->op == IR_SYMBOL || e->i >= 0;
	signed char known = slot_of(e->pool, e)->nonnegative;
	if (known)
		return known > 0;
	expr low = ir_lower_bound(e);
	bool ok = low != NULL;
	if (low && (low->op == IR_ADD || low->op == IR_SUB || low->op == IR_MUL))
		ir_poly_terms(low, check_term, &ok);
	else if (low)
		ok = !low->varies && atom_nonnegative(low);
	if (low && !ok)
		ok = nonnegative_without_quotients(low);
	slot_of(e->pool, e)->nonnegative = ok ? 1 : -1;
	return ok;
}

bool ir_less(expr a, expr b)
{
	expr room = ir_poly_binary(IR_SUB, ir_poly_binary(IR_SUB, b, a), ir_index(a->pool, 1));
	return ir_nonnegative(room);
}
