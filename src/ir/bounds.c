/* Bounds that always hold of index expressions. What does not vary inside a program (symbols and what is computed from
 * them alone) is its own bound; axes lie between zero and their extent. */
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

/* The lesser or greater of two bounds when that can be known; null otherwise. */
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
		/* Products of several factors only where none can be negative; one factor alone may be anything. */
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

static void compute(expr e, expr *low, expr *high)
{
	struct ir_pool *p = e->pool;
	int64_t x, y;
	expr a = e->n > 0 ? e->arg[0] : NULL, b = e->n > 1 ? e->arg[1] : NULL;
	*low = *high = NULL;
	if (e->type != TYPE_INDEX)
		return;
	if (!e->varies) {
		*low = *high = e;
		return;
	}
	switch (e->op) {
	case IR_AXIS:
	case IR_VAR:
		if (!a)
			break;
		*low = ir_index(p, 0);
		a = ir_upper_bound(a);
		*high = a ? ir_poly_binary(IR_SUB, a, ir_index(p, 1)) : NULL;
		break;
	case IR_ADD:
	case IR_SUB:
	case IR_MUL: {
		struct sum s = { p, ir_index(p, 0), ir_index(p, 0) };
		ir_poly_terms(e, bound_term, &s);
		*low = s.low;
		*high = s.high;
		break;
	}
	case IR_FLOORDIV: {
		expr al = ir_lower_bound(a), ah = ir_upper_bound(a);
		if (ir_const_int(b, &x) && x > 0) {
			*low = al ? ir_poly_floordiv(al, b) : NULL;
			*high = ah ? ir_poly_floordiv(ah, b) : NULL;
		} else if (al && ir_nonnegative(al) && ir_nonnegative(b)) {
			*low = ir_index(p, 0);
			*high = ah;
		}
		break;
	}
	case IR_MOD:
		if (ir_const_int(b, &x) ? x > 0 : ir_nonnegative(b)) {
			*low = ir_index(p, 0);
			b = ir_upper_bound(b);
			*high = b ? ir_poly_binary(IR_SUB, b, ir_index(p, 1)) : NULL;
		}
		break;
	case IR_MIN:
	case IR_MAX: {
		bool min = e->op == IR_MIN;
		expr al = ir_lower_bound(a), bl = ir_lower_bound(b), ah = ir_upper_bound(a), bh = ir_upper_bound(b);
		expr l = pick(al, bl, min), h = pick(ah, bh, min);
		if (min) { /* below either upper bound */
			*high = h ? h : ah && bh && ir_const_int(bh, &x) ? bh : ah ? ah : bh;
			*low = l ? l : al && bl && ir_nonnegative(al) && ir_nonnegative(bl) ? ir_index(p, 0) : NULL;
		} else {
			*low = l ? l : al && bl && ir_const_int(bl, &x) ? bl : al ? al : bl;
			*high = h                                                      ? h
			        : ah && bh && ir_nonnegative(ah) && ir_nonnegative(bh) ? ir_poly_binary(IR_ADD, ah, bh)
			                                                               : NULL;
		}
		break;
	}
	case IR_SELECT:
		*low = pick(ir_lower_bound(b), ir_lower_bound(e->arg[2]), true);
		if (!*low && ir_nonnegative(b) && ir_nonnegative(e->arg[2]))
			*low = ir_index(p, 0);
		*high = pick(ir_upper_bound(b), ir_upper_bound(e->arg[2]), false);
		break;
	case IR_CAST:
		if (a->type == TYPE_BOOL ||
		    (type_info(a->type)->class == CLASS_UINT && type_info(a->type)->bits < 64)) {
			*low = ir_index(p, 0);
			*high = ir_index(p, a->type == TYPE_BOOL ? 1 : type_max(a->type));
		}
		break;
	default: break;
	}
	if (constants(*low, *high, &x, &y) && x > y) /* an empty axis: nothing is ever evaluated there */
		*high = *low;
}

static struct ir_bounds bounds_of(expr e)
{
	struct ir_bounds b = *slot_of(e->pool, e);
	if (!b.known) {
		/* Marked first: a loop through the simplifier finds "nothing known" instead of itself. */
		*slot_of(e->pool, e) = (struct ir_bounds){ .known = true };
		compute(e, &b.low, &b.high);
		b.known = true;
		b.nonnegative = 0; /* what was said meanwhile knew less */
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

/* Of what does not vary and is no sum. */
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
	slot_of(e->pool, e)->nonnegative = ok ? 1 : -1;
	return ok;
}

bool ir_less(expr a, expr b)
{
	expr room = ir_poly_binary(IR_SUB, ir_poly_binary(IR_SUB, b, a), ir_index(a->pool, 1));
	return ir_nonnegative(room);
}
