/* Index arithmetic in normal form: sums of terms, a term being a coefficient times a product of atoms (axes, symbols,
 * variables, and whatever is not a sum or product). Equal polynomials become equal expressions, and division factors
 * out divisible terms; this removes the arithmetic of Reshape, Transpose, Slice and the like. */
#include "ir/poly.h"

#include <string.h>

enum { MAX_SIZE = IR_MAX_EXTENT /* larger expressions count as one atom, since shared parts are walked repeatedly */ };

int poly_order(const struct poly_term *a, const struct poly_term *b)
{
	for (int i = 0; i < a->n && i < b->n; i++) {
		int c = ir_order(a->factor[i], b->factor[i]);
		if (c)
			return c;
	}
	return b->n - a->n;
}

void poly_add(struct poly *p, const struct poly_term *t)
{
	int lo = 0, hi = p->n;
	if (t->c == 0 || p->failed)
		return;
	while (lo < hi) {
		int mid = (lo + hi) / 2, c = poly_order(&p->term[mid], t);
		if (c == 0) {
			if (__builtin_add_overflow(p->term[mid].c, t->c, &p->term[mid].c))
				p->failed = true;
			if (p->term[mid].c == 0)
				memmove(&p->term[mid], &p->term[mid + 1], sizeof *t * (size_t)(--p->n - mid));
			return;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (p->n == POLY_TERMS) {
		p->failed = true;
		return;
	}
	memmove(&p->term[lo + 1], &p->term[lo], sizeof *t * (size_t)(p->n++ - lo));
	p->term[lo] = *t;
}

void poly_multiply(struct poly *out, const struct poly_term *a, const struct poly_term *b)
{
	struct poly_term t = { .n = a->n + b->n };
	if (t.n > POLY_FACTORS || __builtin_mul_overflow(a->c, b->c, &t.c)) {
		out->failed = true;
		return;
	}
	for (int i = 0, j = 0; i + j < t.n;) {
		bool from_a = j == b->n || (i < a->n && ir_order(a->factor[i], b->factor[j]) <= 0);
		t.factor[i + j] = from_a ? a->factor[i] : b->factor[j];
		if (from_a)
			i++;
		else
			j++;
	}
	poly_add(out, &t);
}

static void collect_product(struct poly *p, expr e, int64_t scale)
{
	struct poly *a = arena_alloc(e->pool->arena, 2 * sizeof *a), *b = a + 1;
	poly_collect(a, e->arg[0], 1);
	poly_collect(b, e->arg[1], scale);
	p->failed |= a->failed || b->failed;
	for (int i = 0; i < a->n && !p->failed; i++)
		for (int j = 0; j < b->n; j++)
			poly_multiply(p, &a->term[i], &b->term[j]);
}

void poly_collect(struct poly *p, expr e, int64_t scale)
{
	struct poly_term t = { .c = scale };
	int64_t c = scale;
	switch (e->size > MAX_SIZE ? IR_AXIS : e->op) {
	case IR_CONST_INT:
		if (__builtin_mul_overflow(scale, e->i, &t.c))
			p->failed = true;
		poly_add(p, &t);
		return;
	case IR_ADD:
	case IR_SUB:
		poly_collect(p, e->arg[0], scale);
		if (e->op == IR_SUB && __builtin_sub_overflow((int64_t)0, scale, &c))
			p->failed = true;
		poly_collect(p, e->arg[1], c);
		return;
	case IR_MUL: {
		/* A product in normal form is one term: collect its factors without expanding. */
		expr f = e;
		while (f->op == IR_MUL && t.n < POLY_FACTORS) {
			expr last = f->arg[1];
			if (last->op == IR_CONST_INT) {
				if (__builtin_mul_overflow(t.c, last->i, &t.c))
					p->failed = true;
			} else if (last->op == IR_ADD || last->op == IR_SUB || last->op == IR_MUL) {
				break;
			} else {
				t.factor[t.n++] = last;
			}
			f = f->arg[0];
		}
		if (t.n == POLY_FACTORS || f->op == IR_ADD || f->op == IR_SUB || f->op == IR_MUL ||
		    f->op == IR_CONST_INT) {
			struct arena_mark m = arena_mark(e->pool->arena);
			collect_product(p, e, scale);
			arena_release(e->pool->arena, m);
			return;
		}
		t.factor[t.n++] = f;
		for (int i = 1; i < t.n; i++) { /* insertion sort */
			expr x = t.factor[i];
			int j = i;
			for (; j > 0 && ir_order(t.factor[j - 1], x) > 0; j--)
				t.factor[j] = t.factor[j - 1];
			t.factor[j] = x;
		}
		poly_add(p, &t);
		return;
	}
	default:
		t.n = 1;
		t.factor[0] = e;
		poly_add(p, &t);
	}
}

static expr raw(enum ir_op op, expr a, expr b)
{
	return ir_node_op(op, TYPE_INDEX, 2, (expr[]){ a, b });
}

static expr build_term(struct ir_pool *pool, const struct poly_term *t, int64_t c)
{
	expr e = NULL;
	for (int i = 0; i < t->n; i++)
		e = e ? raw(IR_MUL, e, t->factor[i]) : t->factor[i];
	if (!e)
		return ir_index(pool, c);
	return c == 1 ? e : raw(IR_MUL, e, ir_index(pool, c));
}

expr poly_build(struct ir_pool *pool, const struct poly *p)
{
	expr e = NULL;
	/* A positive term first, so that "N - 1" does not become "-1*... ". */
	int first = 0;
	while (first < p->n && p->term[first].c < 0)
		first++;
	if (first == p->n)
		first = 0;
	if (p->n)
		e = build_term(pool, &p->term[first], p->term[first].c);
	for (int i = 0; i < p->n; i++) {
		const struct poly_term *t = &p->term[i];
		if (i == first)
			continue;
		if (t->c < 0 && t->c != INT64_MIN)
			e = raw(IR_SUB, e, build_term(pool, t, -t->c));
		else
			e = raw(IR_ADD, e, build_term(pool, t, t->c));
	}
	return e ? e : ir_index(pool, 0);
}

static int find_term(const struct poly *p, const struct poly_term *t)
{
	for (int i = 0; i < p->n; i++)
		if (p->term[i].c == t->c && poly_order(&p->term[i], t) == 0)
			return i;
	return -1;
}

static struct poly_term without_factor(const struct poly_term *t, int k)
{
	struct poly_term rest = *t;
	memmove(&rest.factor[k], &rest.factor[k + 1], sizeof *rest.factor * (size_t)(--rest.n - k));
	return rest;
}

/* If factor k of term i is the remainder of x by b, and x / b * b has the same other factors in p: p with x in place of
 * both, else false. */
static bool join_remainder(struct poly *p, int i, int k)
{
	expr x = p->term[i].factor[k]->arg[0], b = p->term[i].factor[k]->arg[1];
	const struct poly_term rest = without_factor(&p->term[i], k);
	struct poly whole = { 0 }, partner = { 0 }, instead = { 0 };
	poly_collect(&whole, ir_poly_binary(IR_MUL, ir_poly_floordiv(x, b), b), 1);
	if (whole.failed || whole.n != 1)
		return false;
	poly_multiply(&partner, &rest, &whole.term[0]);
	int other = partner.failed || partner.n != 1 ? -1 : find_term(p, &partner.term[0]);
	if (other < 0)
		return false;
	for (int j = 0; j < p->n; j++)
		if (j != i && j != other)
			poly_add(&instead, &p->term[j]);
	whole = (struct poly){ 0 };
	poly_collect(&whole, x, 1);
	for (int j = 0; j < whole.n; j++)
		poly_multiply(&instead, &rest, &whole.term[j]);
	if (whole.failed || instead.failed)
		return false;
	*p = instead;
	return true;
}

/* x / b * b + x mod b = x: positions that were taken apart, such as by Reshape, and put together again. */
static void join_remainders(struct poly *p)
{
	for (int i = 0; i < p->n && !p->failed; i++)
		for (int k = 0; k < p->term[i].n; k++)
			if (p->n > 1 && p->term[i].factor[k]->op == IR_MOD && join_remainder(p, i, k)) {
				i = -1;
				break;
			}
}

expr ir_poly_binary(enum ir_op op, expr a, expr b)
{
	/* On the stack, not in scratch memory: building nodes allocates from the same arena. */
	struct poly p = { 0 };
	if (op == IR_MUL) {
		struct poly pa = { 0 }, pb = { 0 };
		poly_collect(&pa, a, 1);
		poly_collect(&pb, b, 1);
		p.failed = pa.failed || pb.failed;
		for (int i = 0; i < pa.n && !p.failed; i++)
			for (int j = 0; j < pb.n; j++)
				poly_multiply(&p, &pa.term[i], &pb.term[j]);
	} else {
		poly_collect(&p, a, 1);
		poly_collect(&p, b, op == IR_SUB ? -1 : 1);
	}
	join_remainders(&p);
	return p.failed ? raw(op, a, b) : poly_build(a->pool, &p);
}

void ir_poly_terms(expr e, void (*fn)(void *user, int64_t c, int factors, const expr *factor), void *user)
{
	struct poly p = { 0 };
	poly_collect(&p, e, 1);
	if (p.failed) {
		fn(user, 1, 1, &e);
		return;
	}
	for (int i = 0; i < p.n; i++)
		fn(user, p.term[i].c, p.term[i].n, p.term[i].factor);
}
