/* Finds the expressions that a map keeps of the rows it reads: see march.h. */
#include "sched/map/march.h"
#include "sched/build/axes.h"

enum { LEAST_WORK = 6 };

/* ---- Expressions that depend on the axis through one position only. */

struct look {
	struct march *m;
	uint32_t *axes; /* by node: one bit per axis */
	bool *loads;    /* by node: contains a load */
	expr *place;    /* by node: null: independent of the axis; a position; `mixed`: anything else */
	expr mixed;
};

/* True if several elements share a position: the axis is longer than the extent that it indexes, or may be. */
static bool shared_place(struct look *l, expr place, expr extent)
{
	int64_t from, to;
	const struct march *m = l->m;
	if (l->axes[place->id] != 1u << m->axis || l->loads[place->id])
		return false;
	bool known = ir_const_int(m->s->out->dim[m->axis], &to) && ir_const_int(extent, &from);
	return !known || 2 * to >= 3 * from;
}

static void look_at(void *user, expr e)
{
	struct look *l = user;
	expr place = NULL;
	l->loads[e->id] = e->op == IR_LOAD;
	if (e->op == IR_AXIS) {
		l->axes[e->id] = 1u << e->i;
		l->place[e->id] = e->i == l->m->axis ? l->mixed : NULL;
		return;
	}
	for (int i = 0; i < e->n; i++) {
		expr x = e->arg[i], known = l->place[x->id];
		l->axes[e->id] |= l->axes[x->id];
		l->loads[e->id] |= l->loads[x->id];
		if (e->op == IR_LOAD && known && shared_place(l, x, e->buf->dim[i]))
			known = x;
		if (known)
			place = !place || place == known ? known : l->mixed;
	}
	l->place[e->id] = place;
}

/* Finds the extent that a position indexes. */
struct indexed {
	expr place, extent;
};

static void find_extent(void *user, expr e)
{
	struct indexed *x = user;
	for (int i = 0; e->op == IR_LOAD && i < e->n; i++)
		if (e->arg[i] == x->place)
			x->extent = e->buf->dim[i];
}

static void keep(struct look *l, expr e, expr place)
{
	struct march *m = l->m;
	for (int i = 0; i < m->n && i < MARCH_KEPT; i++)
		if (m->kept[i] == e)
			return;
	if (m->n < MARCH_KEPT) {
		m->kept[m->n] = e;
		m->place[m->n] = place;
	}
	m->n++; /* exceeds MARCH_KEPT: the rule does not apply */
}

/* Finds the largest expressions with a position among those that are evaluated unconditionally. */
static void find_kept(struct look *l, expr e)
{
	expr place = l->place[e->id];
	if (place && place != l->mixed && l->loads[e->id]) {
		keep(l, e, place);
		return;
	}
	bool lazy = e->op == IR_SELECT || e->op == IR_AND || e->op == IR_OR;
	for (int i = 0; place == l->mixed && e->op != IR_LOAD && e->op != IR_AXIS && i < (lazy ? 1 : e->n); i++)
		find_kept(l, e->arg[i]);
}

static void name_places(struct march *m)
{
	const struct ir_variable *any = ir_variable_new(m->p->pool, TYPE_INDEX, "place");
	for (int i = 0; i < m->n; i++) {
		struct indexed x = { m->place[i], NULL };
		ir_walk(m->kept[i], find_extent, &x);
		m->extent[i] = x.extent;
		ck(x.extent);
		expr place = ir_var_of(any, x.extent);
		struct substitution s = { &m->place[i], &place, 1 };
		m->of_place[i] = substitute(&s, m->kept[i]);
	}
}

static bool find_along(struct march *m, int axis)
{
	struct arena *scratch = arena_new();
	expr value = m->s->value;
	struct look l = { m, NEWN(scratch, uint32_t, value->id + 1), NEWN(scratch, bool, value->id + 1),
		          NEWN(scratch, expr, value->id + 1), ir_axis(m->p->pool, axis, m->s->out->dim[axis]) };
	m->axis = axis;
	m->n = 0;
	ir_walk(value, look_at, &l);
	find_kept(&l, value);
	arena_free(scratch);
	int work = 0;
	for (int i = 0; i < m->n && i < MARCH_KEPT; i++)
		work += ir_cost(m->kept[i]);
	/* Reading a single element again is faster (measured on an H100: nearest neighbours). */
	return m->n > 0 && m->n <= MARCH_KEPT && work >= LEAST_WORK * m->n;
}

bool march_find(struct march *m, struct ir_program *p, const struct ir_stage *s)
{
	*m = (struct march){ .p = p, .s = s, .inner = -1 };
	if (s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1))
			m->inner = k;
	for (int k = m->inner - 1; k >= 0; k--)
		if (find_along(m, k)) {
			name_places(m);
			return true;
		}
	return false;
}
