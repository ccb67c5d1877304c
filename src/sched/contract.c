/* Which stages are contractions, and of what kind. See contract.h. */
#include "sched/contract.h"

#include <string.h>

/* ---- Operands: loads of small elements, cast to what the sum is made in; where a condition fails, nothing. */

static bool element_type(enum type t, enum type sum)
{
	return sum == TYPE_F32 && (t == TYPE_F16 || t == TYPE_BF16);
}

struct find_type {
	enum type sum, found;
	bool mixed;
};

static void find_cast(void *user, expr e)
{
	struct find_type *f = user;
	if (e->op != IR_CAST || e->type != f->sum || !element_type(e->arg[0]->type, f->sum))
		return;
	f->mixed |= f->found != TYPE_NONE && f->found != e->arg[0]->type;
	f->found = e->arg[0]->type;
}

/* The operand in its elements' own type; null where it is not one of them at every place. */
static expr as_element(expr e, enum type t)
{
	if (e->op == IR_CAST && e->arg[0]->type == t && e->arg[0]->op == IR_LOAD)
		return e->arg[0];
	if ((e->op == IR_CONST_FLOAT && e->f == 0) || ir_is_int(e, 0))
		return ir_const(e->pool, t, 0);
	if (e->op != IR_SELECT)
		return NULL;
	expr a = as_element(e->arg[1], t), b = as_element(e->arg[2], t);
	return a && b ? ir_select(e->arg[0], a, b) : NULL;
}

static bool find_operands(struct contract *c)
{
	expr value = c->s->value;
	struct find_type f = { .sum = value->type, .found = TYPE_NONE };
	if (value->op != IR_MUL)
		return false;
	ir_walk(value, find_cast, &f);
	if (f.found == TYPE_NONE || f.mixed)
		return false;
	c->type = f.found;
	for (int i = 0; i < 2; i++)
		c->side[i].value = as_element(value->arg[i], c->type);
	return c->side[0].value && c->side[1].value && ir_uses(c->side[0].value, IR_LOAD) &&
	       ir_uses(c->side[1].value, IR_LOAD);
}

/* ---- Axes. */

static bool group_axes(struct contract *c)
{
	struct ir_pool *pool = c->p->pool;
	int rank = c->s->out->rank, last = -1;
	bool used[2][2 * IR_MAX_RANK] = { { false } };
	mark_axes(c->side[0].value, used[0]);
	mark_axes(c->side[1].value, used[1]);
	for (int k = 0; k < rank; k++)
		if (used[0][k] != used[1][k] && !ir_is_int(c->s->out->dim[k], 1))
			last = k;
	if (last >= 0 && used[0][last]) { /* stores run along columns */
		struct contract_operand o = c->side[0];
		c->side[0] = c->side[1];
		c->side[1] = o;
		for (int k = 0; k < rank; k++) {
			bool u = used[0][k];
			used[0][k] = used[1][k];
			used[1][k] = u;
		}
	}
	for (int g = 0; g < CONTRACT_GROUPS; g++)
		c->extent[g] = ir_index(pool, 1);
	for (int k = 0; k < rank; k++) {
		int g = used[0][k] == used[1][k] ? CONTRACT_BATCH : used[0][k] ? CONTRACT_ROW : CONTRACT_COLUMN;
		c->axis[g][c->axes[g]++] = k;
		c->extent[g] = ir_binary(IR_MUL, c->extent[g], c->s->out->dim[k]);
	}
	c->depth = reduced_count(c->p, c->s);
	return c->axes[CONTRACT_ROW] && c->axes[CONTRACT_COLUMN];
}

/* The last of a group's axes that is longer than 1; -1: none. */
static int last_of(const struct contract *c, enum contract_group g)
{
	for (int i = c->axes[g] - 1; i >= 0; i--)
		if (!ir_is_int(c->s->out->dim[c->axis[g][i]], 1))
			return c->axis[g][i];
	return -1;
}

static expr extent_of(const struct contract *c, int axis)
{
	int rank = c->s->out->rank;
	return axis < rank ? c->s->out->dim[axis] : c->s->space[axis - rank];
}

static expr whole(struct ir_pool *pool, expr x, int vector)
{
	return ir_binary(IR_EQ, ir_binary(IR_MOD, x, ir_index(pool, vector)), ir_index(pool, 0));
}

/* bool: positions `flat` at every multiple of `vector` along `axis` are multiples of it, and the elements from there on follow
 * each other, inside; null when that can never be said. */
static expr whole_vectors(const struct contract *c, expr flat, int axes, int axis, int vector)
{
	struct ir_pool *pool = c->p->pool;
	expr fits = ir_int(pool, TYPE_BOOL, 1), rest = flat;
	for (int k = 0; k < axes; k++) {
		expr extent = extent_of(c, k), stride = ir_stride(flat, k);
		if (!stride || (k == axis && !ir_is_int(stride, 1)))
			return NULL;
		rest = ir_binary(IR_SUB, rest, ir_binary(IR_MUL, stride, ir_axis(pool, k, extent)));
		fits = ir_binary(IR_AND, fits, whole(pool, k == axis ? extent : stride, vector));
	}
	if (rest->varies)
		return NULL;
	return ir_binary(IR_AND, fits, whole(pool, rest, vector));
}

static bool never(expr fits)
{
	return !fits || ir_is_int(fits, 0);
}

static void find_way(struct contract *c, struct contract_operand *o, enum contract_group own)
{
	int rank = c->s->out->rank, axes = rank + c->s->space_rank, inner = axes - 1, outer = last_of(c, own);
	int vector = 16 * 8 / type_info(c->type)->bits;
	o->way = CONTRACT_GATHER;
	o->fits = ir_int(c->p->pool, TYPE_BOOL, 1);
	if (o->value->op != IR_LOAD)
		return;
	while (inner > rank && ir_is_int(extent_of(c, inner), 1))
		inner--;
	expr flat = ir_flat(c->p->pool, o->value->buf, o->value->arg);
	expr straight = whole_vectors(c, flat, axes, inner, vector);
	expr turned = outer >= 0 && type_info(c->type)->bits == 16 ? whole_vectors(c, flat, axes, outer, vector) : NULL;
	if (!never(straight)) {
		o->way = CONTRACT_STRAIGHT;
		o->fits = straight;
	} else if (!never(turned)) {
		o->way = CONTRACT_TURNED;
		o->fits = turned;
	}
}

/* ---- Stages behind it that make the same elements. */

struct own_loads {
	const struct contract *c;
	expr here; /* position of an element of out */
	bool any, fine;
};

static void check_own(void *user, expr e)
{
	struct own_loads *o = user;
	if (e->op != IR_LOAD)
		return;
	for (int i = 0; i < o->c->stages; i++)
		if (o->c->made[i]->out == e->buf) {
			o->any = true;
			o->fine &= ir_flat(o->c->p->pool, e->buf, e->arg) == o->here;
		}
}

static void take_maps(struct contract *c)
{
	int at = 0;
	while (at < c->p->stages.n && c->p->stages.at[at] != c->s)
		at++;
	c->made[c->stages++] = c->s;
	while (++at < c->p->stages.n && c->stages < CONTRACT_STAGES) {
		const struct ir_stage *m = c->p->stages.at[at];
		struct own_loads o = { c, out_position(c->p, c->s), false, true };
		if (m->kind != IR_MAP || m->out->rank != c->s->out->rank || type_is_packed(m->out->type) ||
		    memcmp(m->out->dim, c->s->out->dim, sizeof m->out->dim[0] * (size_t)m->out->rank))
			return;
		ir_walk(m->value, check_own, &o);
		if (!o.any || !o.fine)
			return;
		c->made[c->stages++] = m;
	}
}

bool contract_match(struct contract *c, struct ir_program *p, const struct ir_stage *s)
{
	*c = (struct contract){ .p = p, .s = s };
	if (s->kind != IR_REDUCE || s->combine != IR_SUM || !s->space_rank || type_is_packed(s->out->type) ||
	    !find_operands(c) || !group_axes(c))
		return false;
	find_way(c, &c->side[0], CONTRACT_ROW);
	find_way(c, &c->side[1], CONTRACT_COLUMN);
	int last = last_of(c, CONTRACT_COLUMN);
	c->fits = last < 0 ? NULL : whole_vectors(c, out_position(p, s), s->out->rank, last, CONTRACT_VECTOR);
	take_maps(c);
	return true;
}
