/* Contractions of bytes: tensor cores need both operands contiguous along the reduced axes. A kernel before this one
 * transposes an operand that is not. See contract.h. */
#include "sched/contract/contract.h"
#include "sched/build/axes.h"

/* The operand's axes in the order of its new layout: reduced axes last. */
static int axes_along(const struct contract *c, int side, int *axis)
{
	const struct contract_operand *o = &c->side[side];
	int rank = c->s->out->rank, n = 0;
	bool used[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(ir_flat(c->p->pool, o->value->buf, o->value->arg), used);
	for (int k = 0; k < rank + c->s->space_rank; k++)
		if (used[k])
			axis[n++] = k;
	return n;
}

static expr extent_of(const struct contract *c, int axis)
{
	int rank = c->s->out->rank;
	return axis < rank ? c->s->out->dim[axis] : c->s->space[axis - rank];
}

bool contract_turns(const struct contract *c, int side)
{
	const struct contract_operand *o = &c->side[side];
	int axis[2 * IR_MAX_RANK], n;
	expr count = ir_index(c->p->pool, 1);
	if (o->way == CONTRACT_STRAIGHT || o->value->op != IR_LOAD)
		return false;
	n = axes_along(c, side, axis);
	if (n > IR_MAX_RANK)
		return false;
	for (int i = 0; i < n; i++)
		count = ir_binary(IR_MUL, count, extent_of(c, axis[i]));
	/* Each element is used once: no windows. Vectors of 16 bytes run along the reduced axes. */
	expr rest = ir_binary(IR_MOD, c->depth, ir_index(c->p->pool, 16));
	return count == ir_buffer_count(c->p, o->value->buf) &&
	       !ir_is_int(ir_binary(IR_EQ, rest, ir_index(c->p->pool, 0)), 0);
}

struct moved {
	int n, *axis;
	expr *to;
};

static expr move_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct moved *m = user;
	(void)pool, (void)arg;
	for (int i = 0; i < m->n; i++)
		if (e->op == IR_AXIS && e->i == m->axis[i])
			return m->to[i];
	return NULL;
}

/* Replaces the operand by its transposed copy, and sets `stage` to the map that makes the copy. */
void contract_turn(struct contract *c, int side, struct ir_stage *stage)
{
	struct contract_operand *o = &c->side[side];
	struct ir_program *p = c->p;
	int axis[2 * IR_MAX_RANK], n = axes_along(c, side, axis);
	expr dim[IR_MAX_RANK], to[IR_MAX_RANK], own[IR_MAX_RANK];
	for (int i = 0; i < n; i++) {
		dim[i] = extent_of(c, axis[i]);
		to[i] = ir_axis(p->pool, i, dim[i]);
		own[i] = ir_axis(p->pool, axis[i], dim[i]);
	}
	struct moved m = { n, axis, to };
	const char *name = arena_printf(p->arena, "%s_along", o->value->buf->name);
	struct ir_buffer *along = ir_buffer_new(p, name, o->type, n, dim, IR_TEMP);
	*stage = (struct ir_stage){ .kind = IR_MAP, .out = along, .value = ir_copy(p->pool, o->value, move_axis, &m) };
	o->value = ir_load(p->pool, along, own);
	contract_find_way(c, side);
}
