/* SPDX-License-Identifier: Apache-2.0 */
/* rt_shape.c: the extents of the outputs as expressions of TensorRT's IExprBuilder, for getOutputShapes. Constants are
 * folded here, with the same arithmetic as at enqueue; the rest becomes operations of the builder. */
#include <stdlib.h>

#include "rt_tensorrt.h"

/* One node: its number if known, and its expression once it is needed. */
struct symbol {
	bool needed, known;
	int64_t value;
	const struct trt_expr *expr;
};

struct shaper {
	const struct tpat_rt_plugin *p;
	struct trt_expr *builder;
	struct symbol *symbol;
	bool old; /* constants are int32, and there are no size tensors */
};

static const struct trt_expr *constant(struct shaper *s, int64_t x)
{
	if (s->old)
		return TRT_CALL(s->builder->impl, trt_expr_builder_8, constant,
		                (int32_t)(x > INT32_MAX   ? INT32_MAX
		                          : x < INT32_MIN ? INT32_MIN
		                                          : x));
	return TRT_CALL(s->builder->impl, trt_expr_builder, constant, x);
}

static const struct trt_expr *operation(struct shaper *s, int32_t op, const struct trt_expr *a,
                                        const struct trt_expr *b)
{
	if (!a || !b)
		return NULL;
	return TRT_CALL(s->builder->impl, trt_expr_builder, operation, op, a, b);
}

static const struct trt_expr *expr_of(struct shaper *s, int32_t node)
{
	struct symbol *x = &s->symbol[node];

	if (!x->expr && x->known && x->value != RT_NONE)
		x->expr = constant(s, x->value);
	return x->expr;
}

/* Returns the node as 1 or 0. */
static const struct trt_expr *truth_of(struct shaper *s, int32_t node)
{
	const struct trt_expr *x = expr_of(s, node);

	if (s->symbol[node].known)
		return constant(s, s->symbol[node].value != 0);
	if (rt_truth(s->p->expr[node].op))
		return x;
	return operation(s, TRT_EQUAL, operation(s, TRT_EQUAL, x, constant(s, 0)), constant(s, 0));
}

static const struct trt_expr *build(struct shaper *s, const struct tpat_rt_expr *e)
{
	const struct trt_expr *a, *b, *q;

	switch (e->op) {
	case TPAT_RT_NOT: return operation(s, TRT_EQUAL, expr_of(s, e->a), constant(s, 0));
	case TPAT_RT_AND: return operation(s, TRT_PROD, truth_of(s, e->a), truth_of(s, e->b));
	case TPAT_RT_OR: return operation(s, TRT_MAX, truth_of(s, e->a), truth_of(s, e->b));
	case TPAT_RT_SELECT: /* c + truth(a) * (b - c) */
		a = expr_of(s, e->b);
		b = expr_of(s, e->c);
		q = operation(s, TRT_PROD, truth_of(s, e->a), operation(s, TRT_SUB, a, b));
		return operation(s, TRT_SUM, b, q);
	case TPAT_RT_SIZE:
		a = expr_of(s, e->b);
		b = expr_of(s, e->c);
		return a && b && !s->old ? TRT_CALL(s->builder->impl, trt_expr_builder, size_tensor, e->a, a, b) : NULL;
	default: break;
	}
	a = expr_of(s, e->a);
	b = expr_of(s, e->b);
	switch (e->op) {
	case TPAT_RT_ADD: return operation(s, TRT_SUM, a, b);
	case TPAT_RT_SUB: return operation(s, TRT_SUB, a, b);
	case TPAT_RT_MUL: return operation(s, TRT_PROD, a, b);
	case TPAT_RT_FLOORDIV: return operation(s, TRT_FLOOR_DIV, a, b);
	case TPAT_RT_CEILDIV: return operation(s, TRT_CEIL_DIV, a, b);
	case TPAT_RT_MOD:
		q = operation(s, TRT_PROD, operation(s, TRT_FLOOR_DIV, a, b), b);
		return operation(s, TRT_SUB, a, q);
	case TPAT_RT_MIN: return operation(s, TRT_MIN, a, b);
	case TPAT_RT_MAX: return operation(s, TRT_MAX, a, b);
	case TPAT_RT_EQ: return operation(s, TRT_EQUAL, a, b);
	case TPAT_RT_LT: return operation(s, TRT_LESS, a, b);
	case TPAT_RT_LE: return operation(s, TRT_LESS, a, operation(s, TRT_SUM, b, constant(s, 1)));
	default: return NULL;
	}
}

/* Folds a node if its operands' numbers determine it. */
static void fold(struct symbol *table, const struct tpat_rt_expr *e, struct symbol *x)
{
	/* Unused operands may hold anything; used ones are earlier nodes. */
	static const struct symbol unused;
	const struct symbol *a = e->op == TPAT_RT_SIZE ? &unused : &table[e->a];
	const struct symbol *b = e->op == TPAT_RT_NOT ? &unused : &table[e->b];
	const struct symbol *c = e->op == TPAT_RT_SELECT ? &table[e->c] : &unused;

	if (e->op == TPAT_RT_SELECT) {
		if (a->known) {
			const struct symbol *side = a->value ? b : c;
			x->known = side->known;
			x->value = side->value;
			x->expr = side->expr;
		}
	} else if ((e->op == TPAT_RT_FLOORDIV || e->op == TPAT_RT_CEILDIV) && b->known && b->value == 0) {
		x->known = true;
	} else if (e->op == TPAT_RT_MOD && b->known && b->value == 0) {
		x->known = a->known;
		x->value = a->value;
		x->expr = a->expr;
	} else if (e->op != TPAT_RT_SIZE && a->known && (e->op == TPAT_RT_NOT || b->known)) {
		x->known = true;
		x->value = rt_apply(e->op, a->value, b->value, c->value);
	}
}

static int leaf(struct shaper *s, const struct tpat_rt_expr *e, const struct trt_dims_exprs *in, int32_t inputs,
                const struct trt_dims_exprs *shape_in, int32_t shape_inputs, struct symbol *x, char why[RT_WHY])
{
	const struct tpat_rt_plugin *p = s->p;
	const struct tpat_rt_tensor *t = &p->input[e->a];
	int32_t data = p->inputs - rt_shape_inputs(p); /* shape inputs come last */
	const struct trt_dims_exprs *values =
	        e->a >= data && e->a - data < shape_inputs ? &shape_in[e->a - data] : NULL;

	if (e->op == TPAT_RT_VALUE) {
		if (!values || e->b >= values->rank || !values->d[e->b])
			return rt_why(why,
			              "element %d of input %d (%s) is needed to know a shape, but TensorRT did not "
			              "pass it: the node needs the attribute tensorrt_plugin_shape_input_indices",
			              (int)e->b, (int)e->a, t->name);
		x->expr = values->d[e->b];
	} else if (e->a < inputs && e->b < in[e->a].rank) {
		x->expr = in[e->a].d[e->b];
	} else if (p->expr[t->dim[e->b]].op == TPAT_RT_CONST) {
		x->known = true;
		x->value = p->expr[t->dim[e->b]].value;
		return 0;
	} else if (values && t->rank == 1) {
		x->known = true;
		x->value = values->rank;
		return 0;
	}
	if (!x->expr)
		return rt_why(why, "extent %d of input %d (%s) is needed, but TensorRT did not pass it", (int)e->b,
		              (int)e->a, t->name);
	if (TRT_CALL(x->expr->impl, trt_expr_value, is_constant)) {
		x->known = true;
		x->value = s->old ? TRT_CALL(x->expr->impl, trt_expr_value_8, value)
		                  : TRT_CALL(x->expr->impl, trt_expr_value, value);
	}
	return 0;
}

static int shape_all(struct shaper *s, const struct trt_dims_exprs *in, int32_t inputs,
                     const struct trt_dims_exprs *shape_in, int32_t shape_inputs, struct trt_dims_exprs *out,
                     char why[RT_WHY])
{
	const struct tpat_rt_plugin *p = s->p;

	for (int32_t o = 0; o < p->outputs; o++)
		for (int32_t d = 0; d < p->output[o].rank; d++)
			s->symbol[p->output[o].dim[d]].needed = true;
	for (int32_t i = p->exprs - 1; i >= 0; i--) {
		const struct tpat_rt_expr *e = &p->expr[i];
		if (!s->symbol[i].needed || e->op < TPAT_RT_ADD)
			continue;
		if (e->op != TPAT_RT_SIZE)
			s->symbol[e->a].needed = true;
		if (e->op != TPAT_RT_NOT)
			s->symbol[e->b].needed = true;
		if (e->op == TPAT_RT_SELECT || e->op == TPAT_RT_SIZE)
			s->symbol[e->c].needed = true;
	}
	for (int32_t i = 0; i < p->exprs; i++) {
		const struct tpat_rt_expr *e = &p->expr[i];
		struct symbol *x = &s->symbol[i];
		if (!x->needed)
			continue;
		if (e->op == TPAT_RT_CONST) {
			x->known = true;
			x->value = e->value;
		} else if (e->op == TPAT_RT_DIM || e->op == TPAT_RT_VALUE) {
			if (leaf(s, e, in, inputs, shape_in, shape_inputs, x, why))
				return -1;
		} else {
			fold(s->symbol, e, x);
			/* Null if an operand has no value: an error only if an extent depends on it. */
			if (!x->known && !x->expr)
				x->expr = build(s, e);
		}
	}
	for (int32_t o = 0; o < p->outputs; o++) {
		out[o].rank = p->output[o].rank;
		for (int32_t d = 0; d < out[o].rank; d++) {
			out[o].d[d] = expr_of(s, p->output[o].dim[d]);
			if (!out[o].d[d])
				return rt_why(why,
				              "TensorRT could not make the expression of extent %d of output %d (%s)",
				              (int)d, (int)o, p->output[o].name);
		}
	}
	return 0;
}

int rt_output_shapes(const struct tpat_rt_plugin *p, const struct trt_dims_exprs *in, int32_t inputs,
                     const struct trt_dims_exprs *shape_in, int32_t shape_inputs, struct trt_dims_exprs *out,
                     struct trt_expr *builder, int form, char why[RT_WHY])
{
	struct shaper s = { .p = p, .builder = builder, .old = form == 8 };
	int32_t n = rt_shape_inputs(p);

	if (shape_inputs != 0 && shape_inputs != n)
		return rt_why(why, "it has %d shape inputs, but TensorRT passed %d", (int)n, (int)shape_inputs);
	for (int32_t i = 0; i < inputs && i < p->inputs; i++)
		if (in[i].rank != p->input[i].rank)
			return rt_why(why, "input %d (%s) must have rank %d, but it has rank %d", (int)i,
			              p->input[i].name, (int)p->input[i].rank, (int)in[i].rank);
	s.symbol = calloc((size_t)p->exprs + 1, sizeof *s.symbol);
	if (!s.symbol)
		return rt_why(why, "out of memory");
	int rc = shape_all(&s, in, inputs, shape_in, shape_inputs, out, why);
	free(s.symbol);
	return rc;
}
