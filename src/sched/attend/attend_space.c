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

bool attend_axes_from(struct attend_match *m, int rank, const expr *dim, int n, const expr *index, const expr *is,
                      expr *axis, int64_t *left)
{
	struct ir_program *p = m->a->p;
	expr free = NULL;
	*left = 1;
	for (int k = 0; k < rank; k++) {
		expr own = ir_axis(p->pool, k, dim[k]), outer = NULL, inner = NULL, by = NULL;
		axis[k] = ir_is_int(dim[k], 1) ? ir_index(p->pool, 0) : NULL;
		for (int i = 0; i < n && !axis[k]; i++) {
			bool divided = index[i]->op == IR_FLOORDIV || index[i]->op == IR_MOD;
			if (index[i] == own)
				axis[k] = is[i];
			if (!divided || index[i]->arg[0] != own || (by && by != index[i]->arg[1]))
				continue;
			by = index[i]->arg[1];
			if (index[i]->op == IR_FLOORDIV)
				outer = is[i];
			else
				inner = is[i];
		}
		if (axis[k])
			continue;
		expr extent = by ? by : dim[k];
		if ((by && !outer) || (!inner && (free || !ir_const_int(extent, left))))
			return false;
		if (!inner)
			inner = free = ir_axis(p->pool, m->a->rows + 1, extent);
		axis[k] = by ? ir_binary(IR_ADD, ir_binary(IR_MUL, outer, by), inner) : inner;
	}
	return true;
}
