/* Queries and heads that share keys and values. See attend_match.h. */
#include "sched/attend/attend_match.h"

static bool is_shared(const struct attend *a, int axis)
{
	return !attend_uses_axis(a->key, axis) && !attend_uses_axis(a->value, axis);
}

/* The largest divisor of an axis in an expression. */
struct divisor {
	int axis;
	int64_t most, by;
};

static void find_divisor(void *user, expr e)
{
	struct divisor *d = user;
	int64_t by;
	if (e->op == IR_FLOORDIV && e->arg[0]->op == IR_AXIS && e->arg[0]->i == d->axis &&
	    ir_const_int(e->arg[1], &by) && by > d->by && by <= d->most)
		d->by = by;
}

struct regrouped {
	int axis;
	expr is;
};

static expr regroup_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct regrouped *r = user;
	(void)pool;
	(void)arg;
	return e->op == IR_AXIS && e->i == r->axis ? r->is : NULL;
}

/* True if e is the same for all `group` neighbours along an axis. */
static bool is_same_in_group(const struct attend *a, expr e, int axis, int64_t group)
{
	struct ir_pool *pool = a->p->pool;
	expr by = ir_index(pool, group), groups = ir_binary(IR_FLOORDIV, a->dim[axis], by);
	expr first = ir_binary(IR_MUL, ir_axis(pool, axis, groups), by);
	struct regrouped r = { axis, ir_binary(IR_ADD, first, ir_axis(pool, a->rows + 2, by)) };
	return !attend_uses_axis(ir_copy(pool, e, regroup_leaf, &r), a->rows + 2);
}

/* Finds the heads that share keys and values: a whole axis, or neighbours along one, as in grouped-query attention. */
static void find_group(struct attend *a)
{
	enum { MOST_HEADS = 128 };
	a->head = -1;
	a->group = 1;
	for (int k = a->rows - 1; k >= 0 && a->rows + 2 < IR_MAX_RANK; k--) {
		int64_t extent;
		struct divisor d = { k, MOST_HEADS, 1 };
		if (k == a->tile || ir_is_int(a->dim[k], 1))
			continue;
		if (!is_shared(a, k))
			ir_walk(a->key, find_divisor, &d);
		else if (ir_const_int(a->dim[k], &extent) && extent > 1 && extent <= MOST_HEADS)
			d.by = extent;
		if (d.by <= a->group || !ir_is_int(ir_binary(IR_MOD, a->dim[k], ir_index(a->p->pool, d.by)), 0) ||
		    !is_same_in_group(a, a->key, k, d.by) || !is_same_in_group(a, a->value, k, d.by))
			continue;
		a->head = k;
		a->group = (int)d.by;
	}
}

bool attend_find_tile(struct attend *a)
{
	for (int pass = 0; pass < 2; pass++)
		for (a->tile = a->rows - 1; a->tile >= 0; a->tile--)
			if (ir_is_int(a->dim[a->tile], 1) == (pass == 1) && is_shared(a, a->tile)) {
				find_group(a);
				return true;
			}
	return false;
}
