/* SPDX-License-Identifier: Apache-2.0 */
/* rt_expr.c: evaluates a plugin's expressions, for given extents and for ranges of them. Never fails: a node without a
 * value is RT_NONE, and rt_explain() gives the reason. */
#include <stdio.h>
#include <string.h>

#include "rt_core.h"

size_t rt_extents(const struct tpat_rt_plugin *p)
{
	return (size_t)(p->inputs + p->outputs) * TPAT_RT_MAX_RANK;
}

int rt_truth(int32_t op)
{
	return op >= TPAT_RT_EQ && op <= TPAT_RT_NOT;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	if (b == 0)
		return 0;
	if (b == -1)
		return -a; /* a > INT64_MIN, which is RT_NONE */
	int64_t q = a / b;
	return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t rt_apply(int32_t op, int64_t a, int64_t b, int64_t c)
{
	int64_t r;

	if (op == TPAT_RT_SELECT)
		return a == RT_NONE ? RT_NONE : a ? b : c;
	if (op == TPAT_RT_SIZE)
		return c;
	if (a == RT_NONE || (op != TPAT_RT_NOT && b == RT_NONE))
		return RT_NONE;
	switch (op) {
	case TPAT_RT_ADD: return __builtin_add_overflow(a, b, &r) ? RT_NONE : r;
	case TPAT_RT_SUB: return __builtin_sub_overflow(a, b, &r) ? RT_NONE : r;
	case TPAT_RT_MUL: return __builtin_mul_overflow(a, b, &r) ? RT_NONE : r;
	case TPAT_RT_FLOORDIV: return floor_div(a, b);
	case TPAT_RT_CEILDIV: return -floor_div(-a, b);
	case TPAT_RT_MOD:
		if (b == 0 || b == -1)
			return b ? 0 : a;
		r = a % b;
		return r != 0 && (r < 0) != (b < 0) ? r + b : r;
	case TPAT_RT_MIN: return a < b ? a : b;
	case TPAT_RT_MAX: return a > b ? a : b;
	case TPAT_RT_EQ: return a == b;
	case TPAT_RT_LT: return a < b;
	case TPAT_RT_LE: return a <= b;
	case TPAT_RT_AND: return a && b;
	case TPAT_RT_OR: return a || b;
	case TPAT_RT_NOT: return !a;
	default: return RT_NONE;
	}
}

static bool needs_values(const struct tpat_rt_plugin *p)
{
	bool any = false;

	for (int32_t i = 0; i < p->exprs; i++)
		any = any || p->expr[i].op == TPAT_RT_VALUE;
	return any;
}

/* Returns the value of a node that depends on unknown elements of a shape input: the output extent given by the same
 * node. */
static int64_t output_extent(const struct tpat_rt_plugin *p, int32_t node, const int64_t *extent)
{
	for (int32_t o = 0; o < p->outputs; o++)
		for (int32_t d = 0; d < p->output[o].rank; d++) {
			int64_t x = extent[(p->inputs + o) * TPAT_RT_MAX_RANK + d];
			if (p->output[o].dim[d] == node && x >= 0)
				return x;
		}
	return RT_NONE;
}

static int64_t leaf(const struct tpat_rt_plugin *p, const struct tpat_rt_expr *e, const int64_t *extent)
{
	int64_t x = -1;

	if (e->op == TPAT_RT_CONST)
		return e->value;
	if (e->op == TPAT_RT_DIM) {
		x = extent[e->a * TPAT_RT_MAX_RANK + e->b];
		/* Extents of shape inputs are not always passed; constant ones are known anyway. */
		const struct tpat_rt_expr *known = &p->expr[p->input[e->a].dim[e->b]];
		if (x < 0 && known->op == TPAT_RT_CONST)
			return known->value;
	}
	return x < 0 ? RT_NONE : x;
}

static bool is_leaf(int32_t op)
{
	return op == TPAT_RT_CONST || op == TPAT_RT_DIM || op == TPAT_RT_VALUE;
}

/* Returns the value of operand `node` of node `of`; unused operands may hold anything. */
static int64_t operand(const int64_t *value, int32_t node, int32_t of)
{
	return node >= 0 && node < of ? value[node] : 0;
}

/* Returns the value of a node that the engine knows; RT_NONE: unknown. */
static int64_t known_value(const struct tpat_rt_expr *e, const struct rt_known *known)
{
	if (e->op == TPAT_RT_SIZE)
		return known->size[e->a] < 0 ? RT_NONE : known->size[e->a];
	return known->element[e->a] && (size_t)e->b < known->elements[e->a] ? known->element[e->a][e->b] : RT_NONE;
}

static bool is_known_kind(const struct tpat_rt_expr *e, const struct rt_known *known)
{
	return known && ((e->op == TPAT_RT_VALUE && known->element) || (e->op == TPAT_RT_SIZE && known->size));
}

void rt_evaluate(const struct tpat_rt_plugin *p, const int64_t *extent, int64_t *value)
{
	rt_evaluate_known(p, extent, NULL, value);
}

void rt_evaluate_known(const struct tpat_rt_plugin *p, const int64_t *extent, const struct rt_known *known,
                       int64_t *value)
{
	bool shapes = needs_values(p);

	for (int32_t i = 0; i < p->exprs; i++) {
		const struct tpat_rt_expr *e = &p->expr[i];
		value[i] = is_known_kind(e, known) ? known_value(e, known)
		           : is_leaf(e->op)        ? leaf(p, e, extent)
		                                   : rt_apply(e->op, operand(value, e->a, i), operand(value, e->b, i),
		                                              operand(value, e->c, i));
		if (shapes && value[i] == RT_NONE)
			value[i] = output_extent(p, i, extent);
	}
}

/* Bounds of an expression, inclusive; both RT_NONE: unknown. */
struct range {
	int64_t low, high;
};
static const struct range anything = { RT_NONE, RT_NONE };

static bool is_known(struct range r)
{
	return r.low != RT_NONE;
}

/* Returns the largest absolute value in a range. */
static int64_t magnitude(struct range r)
{
	return r.high > -r.low ? r.high : -r.low;
}

/* Returns the range of the four corners. */
static struct range of_corners(int32_t op, struct range a, struct range b)
{
	struct range out = { INT64_MAX, RT_NONE };

	for (int i = 0; i < 4; i++) {
		int64_t x = rt_apply(op, i & 1 ? a.high : a.low, i >> 1 ? b.high : b.low, 0);
		if (x == RT_NONE)
			return anything;
		out.low = x < out.low ? x : out.low;
		out.high = x > out.high ? x : out.high;
	}
	return out;
}

static struct range of_division(int32_t op, struct range a, struct range b)
{
	if (b.low > 0 || b.high < 0)
		return of_corners(op, a, b);
	/* A divisor of zero gives zero; else the quotient is at most the dividend, in magnitude. */
	return (struct range){ -magnitude(a), magnitude(a) };
}

static struct range of_remainder(struct range a, struct range b)
{
	int64_t m = magnitude(b), n = magnitude(a), most = m > n ? m : n;

	if (b.low <= 0) /* at most the larger operand */
		return (struct range){ -most, most };
	return a.low >= 0 && a.high < b.low ? a : (struct range){ 0, b.high - 1 };
}

static bool surely(struct range a)
{
	return a.low > 0 || a.high < 0;
}

static bool maybe(struct range a)
{
	return a.low != 0 || a.high != 0;
}

static struct range of_select(struct range a, struct range b, struct range c)
{
	if (surely(a) || !maybe(a))
		return surely(a) ? b : c;
	if (!is_known(b) || !is_known(c))
		return anything;
	return (struct range){ b.low < c.low ? b.low : c.low, b.high > c.high ? b.high : c.high };
}

/* Returns an operation's range, from those of its operands. */
static struct range range_of(int32_t op, struct range a, struct range b, struct range c)
{
	if (op == TPAT_RT_SIZE)
		return (struct range){ c.low > 0 ? 0 : c.low, c.high }; /* RT_NONE is below */
	if (!is_known(a))
		return anything;
	if (op == TPAT_RT_SELECT)
		return of_select(a, b, c);
	if (op == TPAT_RT_NOT)
		return (struct range){ !maybe(a), !surely(a) };
	if (!is_known(b))
		return anything;
	switch (op) {
	case TPAT_RT_FLOORDIV:
	case TPAT_RT_CEILDIV: return of_division(op, a, b);
	case TPAT_RT_MOD: return of_remainder(a, b);
	case TPAT_RT_EQ:
		return (struct range){ a.low == a.high && b.low == b.high && a.low == b.low,
			               a.low <= b.high && b.low <= a.high };
	case TPAT_RT_LT: return (struct range){ a.high < b.low, a.low < b.high };
	case TPAT_RT_LE: return (struct range){ a.high <= b.low, a.low <= b.high };
	case TPAT_RT_AND: return (struct range){ surely(a) && surely(b), maybe(a) && maybe(b) };
	case TPAT_RT_OR: return (struct range){ surely(a) || surely(b), maybe(a) || maybe(b) };
	default: return of_corners(op, a, b); /* ADD, SUB, MUL, MIN, MAX: extremes are at the corners */
	}
}

static struct range operand_range(const int64_t *low, const int64_t *high, int32_t node, int32_t of)
{
	return (struct range){ operand(low, node, of), operand(high, node, of) };
}

static struct range ordered(int64_t low, int64_t high)
{
	return low == RT_NONE || high == RT_NONE || low > high ? anything : (struct range){ low, high };
}

void rt_range(const struct tpat_rt_plugin *p, const int64_t *low_extent, const int64_t *high_extent, int64_t *low,
              int64_t *high)
{
	bool shapes = needs_values(p);

	for (int32_t i = 0; i < p->exprs; i++) {
		const struct tpat_rt_expr *e = &p->expr[i];
		struct range r =
		        is_leaf(e->op) ? ordered(leaf(p, e, low_extent), leaf(p, e, high_extent))
		                       : range_of(e->op, operand_range(low, high, e->a, i),
		                                  operand_range(low, high, e->b, i), operand_range(low, high, e->c, i));
		if (shapes && (r.low == RT_NONE || r.high == RT_NONE))
			r = ordered(output_extent(p, i, low_extent), output_extent(p, i, high_extent));
		low[i] = r.low;
		high[i] = r.high;
	}
}

void rt_explain(const struct tpat_rt_plugin *p, const int64_t *value, int32_t node, char *text, size_t size)
{
	const struct tpat_rt_expr *e = &p->expr[node];

	/* Find the first operand that has no value itself. */
	while (!is_leaf(e->op)) {
		int32_t next = -1;
		if (e->op == TPAT_RT_SELECT)
			next = value[e->a] == RT_NONE ? e->a : value[e->a] ? e->b : e->c;
		else if (e->op == TPAT_RT_SIZE)
			next = e->c;
		else if (value[e->a] == RT_NONE)
			next = e->a;
		else if (e->op != TPAT_RT_NOT && value[e->b] == RT_NONE)
			next = e->b;
		if (next < 0 || value[next] != RT_NONE)
			break;
		e = &p->expr[next];
	}
	if (e->op == TPAT_RT_DIM)
		snprintf(text, size, "extent %d of input %d (%s) is not known", (int)e->b, (int)e->a,
		         p->input[e->a].name);
	else if (e->op == TPAT_RT_VALUE)
		snprintf(text, size,
		         "element %d of shape input %d (%s) is not known at run time: no output extent is equal to it",
		         (int)e->b, (int)e->a, p->input[e->a].name);
	else
		snprintf(text, size, "its value does not fit 64 bits");
}
