/* Expressions of attention's stages over one common space. See attend_match.h. */
#include "sched/attend/attend_match.h"
#include "sched/build/axes.h"

struct translation {
	const struct attend_match *m;
	const expr *axis;
	expr acc;
	bool fine;
};

static expr translate_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct translation *t = user;
	if (e->op == IR_AXIS)
		return t->axis[e->i];
	if (e->op == IR_ACC)
		return t->acc;
	if (e->op != IR_LOAD)
		return NULL;
	for (int i = 0; i < t->m->links; i++) {
		const struct attend_link *l = &t->m->link[i];
		if (l->buf != e->buf)
			continue;
		if (l->aside)
			return ir_bind_axes(pool, l->aside->value, arg);
		t->fine &= ir_flat(pool, e->buf, arg) == (l->of_row ? t->m->row_at : t->m->element_at);
		return l->is;
	}
	return NULL;
}

expr attend_translate(const struct attend_match *m, expr e, const expr *axis, expr acc)
{
	struct translation t = { m, axis, acc, true };
	e = ir_copy(m->a->p->pool, e, translate_leaf, &t);
	for (int i = 0; i < 2; i++)
		if (m->stored_row[i])
			e = substitute(&(struct substitution){ &m->stored_row[i], &m->a->of_row[i], 1 }, e);
	return t.fine ? e : NULL;
}

void attend_axes_at(int rank, const expr *dim, expr flat, expr *axis)
{
	for (int k = rank - 1; k >= 0; k--) {
		axis[k] = k ? ir_binary(IR_MOD, flat, dim[k]) : flat;
		flat = ir_binary(IR_FLOORDIV, flat, dim[k]);
	}
}

expr attend_product_of(struct ir_program *p, int n, const expr *dim)
{
	expr x = ir_index(p->pool, 1);
	for (int i = 0; i < n; i++)
		x = ir_binary(IR_MUL, x, dim[i]);
	return x;
}

struct axis_use {
	int axis;
	bool found;
};

static void find_axis(void *user, expr e)
{
	struct axis_use *u = user;
	u->found |= e->op == IR_AXIS && e->i == u->axis;
}

bool attend_uses_axis(expr e, int axis)
{
	struct axis_use u = { axis, false };
	ir_walk(e, find_axis, &u);
	return u.found;
}

static void find_variable(void *user, expr e)
{
	*(bool *)user |= e->op == IR_VAR;
}

bool attend_uses_scores(expr e)
{
	bool found = false;
	ir_walk(e, find_variable, &found);
	return found;
}

/* ---- Solving for a stage's axes. ---- */

enum { MOST_DIGITS = 2 * IR_MAX_RANK };

/* A part of an axis in an index: (axis / place) mod extent, times weight. */
struct digit {
	int axis;
	expr place, extent, weight;
	bool top;   /* the axis has no higher part: extent may exceed what is left of it */
	expr value; /* in the common space */
};

/* The digits of an index, which is their sum. Those with larger weights come last, and no sum of lower ones reaches the
 * weight of a higher one. */
struct digits {
	struct digit at[MOST_DIGITS];
	int n;
};

static bool is_multiple(expr e, expr of)
{
	return ir_is_int(ir_binary(IR_MOD, e, of), 0);
}

static bool add_digit(struct digits *all, const struct digit *d)
{
	int at = all->n;
	if (all->n == MOST_DIGITS)
		return false;
	for (; at > 0; at--) {
		const struct digit *low = &all->at[at - 1];
		if (ir_no_more(ir_binary(IR_MUL, low->weight, low->extent), d->weight))
			break;
		all->at[at] = *low;
	}
	if (at < all->n && !ir_no_more(ir_binary(IR_MUL, d->weight, d->extent), all->at[at + 1].weight))
		return false;
	all->at[at] = *d;
	all->n++;
	return true;
}

/* Adds the quotient of digit i of `from` by `by`, or the remainder. */
static bool add_part(struct digits *all, const struct digits *from, int i, expr by, bool quotient)
{
	struct digit d = from->at[i];
	bool below = ir_no_more(ir_binary(IR_MUL, d.weight, d.extent), by);
	for (int k = i + 1; k < from->n; k++) /* lower digits do not reach its weight, which `by` may exceed by a symbol
	                                       */
		below |= is_multiple(by, from->at[k].weight);
	if (below)
		return quotient || add_digit(all, &d);
	if (is_multiple(d.weight, by)) {
		d.weight = ir_binary(IR_FLOORDIV, d.weight, by);
		return !quotient || add_digit(all, &d);
	}
	if (!is_multiple(by, d.weight))
		return false;
	expr low = ir_binary(IR_FLOORDIV, by, d.weight), one = ir_index(by->pool, 1);
	if (quotient) {
		d.place = ir_binary(IR_MUL, d.place, low);
		d.extent = ir_binary(IR_FLOORDIV, ir_binary(IR_SUB, ir_binary(IR_ADD, d.extent, low), one), low);
		d.weight = one;
	} else {
		d.extent = low;
		d.top = false;
	}
	return add_digit(all, &d);
}

/* Adds the digits of e times weight. Returns false if e is no sum of digits. */
static bool add_digits(struct digits *all, expr e, expr weight)
{
	expr one = ir_index(e->pool, 1);
	struct digits inner = { .n = 0 };
	if (ir_is_int(e, 0))
		return true;
	switch (e->op) {
	case IR_AXIS: return add_digit(all, &(struct digit){ (int)e->i, one, e->arg[0], weight, true, NULL });
	case IR_ADD: return add_digits(all, e->arg[0], weight) && add_digits(all, e->arg[1], weight);
	case IR_MUL:
		for (int i = 0; i < 2; i++)
			if (!ir_uses(e->arg[i], IR_AXIS))
				return add_digits(all, e->arg[1 - i], ir_binary(IR_MUL, weight, e->arg[i]));
		return false;
	case IR_FLOORDIV:
	case IR_MOD:
		if (ir_uses(e->arg[1], IR_AXIS) || !add_digits(&inner, e->arg[0], one))
			return false;
		for (int i = 0; i < inner.n; i++) {
			struct digits part = { .n = 0 };
			if (!add_part(&part, &inner, i, e->arg[1], e->op == IR_FLOORDIV))
				return false;
			for (int k = 0; k < part.n; k++) {
				part.at[k].weight = ir_binary(IR_MUL, part.at[k].weight, weight);
				if (!add_digit(all, &part.at[k]))
					return false;
			}
		}
		return true;
	default: return false;
	}
}

/* The value of each digit of an index that is `is` in the common space. */
static void set_values(struct digits *all, expr is)
{
	for (int i = 0; i < all->n; i++) {
		struct digit *d = &all->at[i];
		d->value = ir_binary(IR_FLOORDIV, is, d->weight);
		if (i + 1 < all->n)
			d->value = ir_binary(IR_MOD, d->value, d->extent);
	}
}

bool attend_axes_from(struct attend_match *m, int rank, const expr *dim, int n, const expr *index, const expr *is,
                      expr *axis, int64_t *left)
{
	struct ir_program *p = m->a->p;
	struct digits of[IR_MAX_RANK];
	expr free = NULL, one = ir_index(p->pool, 1);
	for (int i = 0; i < n; i++) {
		of[i].n = 0;
		if (!add_digits(&of[i], index[i], one))
			return false;
		set_values(&of[i], is[i]);
	}
	*left = 1;
	for (int k = 0; k < rank; k++) {
		expr place = one;
		bool whole = ir_is_int(dim[k], 1);
		axis[k] = ir_index(p->pool, 0);
		while (!whole) {
			const struct digit *own = NULL, *higher = NULL;
			int others = 0;
			for (int i = 0; i < n; i++)
				for (int d = 0; d < of[i].n; d++) {
					const struct digit *x = &of[i].at[d];
					if (x->axis != k || (x->place != place && !is_multiple(x->place, place)))
						continue;
					own = x->place == place ? x : own;
					higher = x->place == place ? higher : x;
					others += x->place != place;
				}
			expr extent =
			        own ? own->extent : ir_binary(IR_FLOORDIV, higher ? higher->place : dim[k], place);
			if (!own && (others > 1 || free || !ir_const_int(extent, left)))
				return false;
			expr value = own ? own->value : (free = ir_axis(p->pool, m->a->rows + 1, extent));
			axis[k] = ir_binary(IR_ADD, axis[k], ir_binary(IR_MUL, value, place));
			place = ir_binary(IR_MUL, place, extent);
			whole = own ? own->top : !higher;
		}
	}
	return true;
}
