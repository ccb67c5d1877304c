/* SPDX-License-Identifier: Apache-2.0 */
/* rt_expr.c: the values of a plugin's expressions, for given extents and for ranges of them. Never fails: a node whose
 * value cannot be known holds RT_NONE, and who needs it asks rt_explain for the reason. */
#include <stdio.h>
#include <string.h>

#include "rt.h"

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
		return -a; /* a is above INT64_MIN: that one is RT_NONE */
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

/* What a node that depends on a shape input's elements is where these are not known: the output extent that is this very
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
		/* TensorRT does not pass the extents of shape inputs everywhere; constant ones are known all the same.
		 */
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

/* The value of operand `node` of node `of`; operands that an operation does not use may hold anything. */
static int64_t operand(const int64_t *value, int32_t node, int32_t of)
{
	return node >= 0 && node < of ? value[node] : 0;
}

void rt_evaluate(const struct tpat_rt_plugin *p, const int64_t *extent, int64_t *value)
{
	bool shapes = needs_values(p);

	for (int32_t i = 0; i < p->exprs; i++) {
		const struct tpat_rt_expr *e = &p->expr[i];
		value[i] = is_leaf(e->op) ? leaf(p, e, extent)
		                          : rt_apply(e->op, operand(value, e->a, i), operand(value, e->b, i),
		                                     operand(value, e->c, i));
		if (shapes && value[i] == RT_NONE)
			value[i] = output_extent(p, i, extent);
	}
}

/* Least and largest of the four corners. */
static void corners(int32_t op, const int64_t a[2], const int64_t b[2], int64_t out[2])
{
	out[0] = INT64_MAX;
	out[1] = RT_NONE;
	for (int i = 0; i < 4; i++) {
		int64_t x = rt_apply(op, a[i & 1], b[i >> 1], 0);
		if (x == RT_NONE) {
			out[0] = out[1] = RT_NONE;
			return;
		}
		out[0] = x < out[0] ? x : out[0];
		out[1] = x > out[1] ? x : out[1];
	}
}

/* Is the truth of a range known? 1 yes, 0 no, -1 both happen. */
static int truth(const int64_t a[2])
{
	if (a[0] == 0 && a[1] == 0)
		return 0;
	return a[0] > 0 || a[1] < 0 ? 1 : -1;
}

static void range_of(int32_t op, const int64_t a[2], const int64_t b[2], const int64_t c[2], int64_t out[2])
{
	int ta, tb;

	out[0] = out[1] = RT_NONE;
	if (op == TPAT_RT_SIZE) {
		out[0] = c[0] > 0 ? 0 : c[0]; /* RT_NONE is below */
		out[1] = c[1];
		return;
	}
	if (a[0] == RT_NONE || (op != TPAT_RT_NOT && op != TPAT_RT_SELECT && b[0] == RT_NONE))
		return;
	switch (op) {
	case TPAT_RT_SELECT:
		ta = truth(a);
		if (ta >= 0) {
			memcpy(out, ta ? b : c, 2 * sizeof *out);
		} else if (b[0] != RT_NONE && c[0] != RT_NONE) {
			out[0] = b[0] < c[0] ? b[0] : c[0];
			out[1] = b[1] > c[1] ? b[1] : c[1];
		}
		return;
	case TPAT_RT_FLOORDIV:
	case TPAT_RT_CEILDIV: {
		if (b[0] > 0 || b[1] < 0) {
			corners(op, a, b, out);
			return;
		}
		/* The divisor may be zero, which gives zero; else the quotient is no larger than the dividend. */
		int64_t m = a[1] > -a[0] ? a[1] : -a[0];
		out[0] = -m;
		out[1] = m;
		return;
	}
	case TPAT_RT_MOD:
		if (b[0] <= 0) { /* never larger than the larger operand */
			int64_t m = b[1] > -b[0] ? b[1] : -b[0], n = a[1] > -a[0] ? a[1] : -a[0];
			out[1] = m > n ? m : n;
			out[0] = -out[1];
		} else if (a[0] >= 0 && a[1] < b[0]) {
			memcpy(out, a, 2 * sizeof *out);
		} else {
			out[0] = 0;
			out[1] = b[1] - 1;
		}
		return;
	case TPAT_RT_EQ:
		out[0] = a[0] == a[1] && b[0] == b[1] && a[0] == b[0];
		out[1] = a[0] <= b[1] && b[0] <= a[1];
		return;
	case TPAT_RT_LT:
		out[0] = a[1] < b[0];
		out[1] = a[0] < b[1];
		return;
	case TPAT_RT_LE:
		out[0] = a[1] <= b[0];
		out[1] = a[0] <= b[1];
		return;
	case TPAT_RT_NOT:
		ta = truth(a);
		out[0] = ta == 0;
		out[1] = ta != 1;
		return;
	case TPAT_RT_AND:
	case TPAT_RT_OR:
		ta = truth(a);
		tb = truth(b);
		if (op == TPAT_RT_AND) {
			out[0] = ta == 1 && tb == 1;
			out[1] = ta != 0 && tb != 0;
		} else {
			out[0] = ta == 1 || tb == 1;
			out[1] = ta != 0 || tb != 0;
		}
		return;
	default: /* ADD, SUB, MUL, MIN, MAX: extreme at the corners */ corners(op, a, b, out); return;
	}
}

void rt_range(const struct tpat_rt_plugin *p, const int64_t *low_extent, const int64_t *high_extent, int64_t *low,
              int64_t *high)
{
	bool shapes = needs_values(p);

	for (int32_t i = 0; i < p->exprs; i++) {
		const struct tpat_rt_expr *e = &p->expr[i];
		int64_t out[2];
		if (is_leaf(e->op)) {
			out[0] = leaf(p, e, low_extent);
			out[1] = leaf(p, e, high_extent);
			if (out[0] == RT_NONE || out[1] == RT_NONE || out[0] > out[1])
				out[0] = out[1] = RT_NONE;
		} else {
			int64_t a[2] = { operand(low, e->a, i), operand(high, e->a, i) };
			int64_t b[2] = { operand(low, e->b, i), operand(high, e->b, i) };
			int64_t c[2] = { operand(low, e->c, i), operand(high, e->c, i) };
			range_of(e->op, a, b, c, out);
		}
		low[i] = out[0];
		high[i] = out[1];
		if (shapes && (out[0] == RT_NONE || out[1] == RT_NONE)) {
			out[0] = output_extent(p, i, low_extent);
			out[1] = output_extent(p, i, high_extent);
			low[i] = out[0] <= out[1] ? out[0] : RT_NONE;
			high[i] = out[0] <= out[1] && out[0] != RT_NONE ? out[1] : RT_NONE;
		}
	}
}

void rt_explain(const struct tpat_rt_plugin *p, const int64_t *value, int32_t node, char *text, size_t size)
{
	const struct tpat_rt_expr *e = &p->expr[node];

	/* Down to the first operand that has no value itself. */
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
