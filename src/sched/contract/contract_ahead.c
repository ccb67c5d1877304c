/* Contractions: what the results of a tile need besides its sums, such as a bias or scales, is loaded before the
 * products are summed, if it depends on an element's column alone or on its row alone. Loads between the sums and the
 * stores would be waited for. Each lane has the values of its own columns and rows in registers. For kernels whose
 * warps store their sums in passes (contract_store.c). */
#include "sched/contract/contract_kernel.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/vectors.h"

#include <string.h>

enum { MOST_REGISTERS = 48 };

/* Marks the groups whose axes the load depends on. */
static void groups_of(const struct contract *c, expr load, bool *in)
{
	bool own[2 * IR_MAX_RANK] = { false }, used[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(load, own);
	for (int d = 0; d < c->whole->out->rank; d++)
		if (own[d])
			ir_mark_axes(c->own[d], used);
	for (int g = 0; g < CONTRACT_GROUPS; g++)
		for (int i = 0; i < c->axes[g]; i++)
			in[g] |= used[c->axis[g][i]];
}

/* The group whose axes the load depends on; -1: several, batches, or more than one axis of the columns. */
static int group_of(const struct contract *c, expr load)
{
	bool in[CONTRACT_GROUPS] = { false };
	groups_of(c, load, in);
	if (in[CONTRACT_BATCH] || (in[CONTRACT_COLUMN] && (in[CONTRACT_ROW] || c->axes[CONTRACT_COLUMN] > 1)))
		return -1;
	return in[CONTRACT_ROW] ? CONTRACT_ROW : CONTRACT_COLUMN;
}

static bool is_made(const struct contract *c, const struct ir_buffer *b)
{
	for (int i = 0; i < c->stages; i++)
		if (c->made[i]->out == b)
			return true;
	return false;
}

struct waits {
	const struct contract *c;
	bool found;
};

static void find_wait(void *user, expr e)
{
	struct waits *w = user;
	bool in[CONTRACT_GROUPS] = { false };
	if (e->op != IR_LOAD || is_made(w->c, e->buf))
		return;
	groups_of(w->c, e, in);
	w->found |= in[CONTRACT_ROW] && in[CONTRACT_COLUMN];
}

bool contract_results_wait(const struct contract *c)
{
	struct waits w = { .c = c };
	for (int i = 0; i < c->stages; i++) {
		expr value = c->made[i]->kind == IR_MAP ? c->made[i]->value : c->made[i]->post;
		if (value)
			ir_walk(value, find_wait, &w);
	}
	return w.found;
}

static const struct contract_ahead *ahead_of(const struct contract_kernel *k, expr load)
{
	vec_each (a, &k->ahead)
		if (a->load == load)
			return a;
	return NULL;
}

struct find {
	struct contract_kernel *k;
	int registers; /* in use */
};

static void find_load(void *user, expr e)
{
	struct find *f = user;
	struct contract_kernel *k = f->k;
	const struct contract *c = k->c;
	if (e->op != IR_LOAD || type_is_packed(e->type) || ahead_of(k, e))
		return;
	if (is_made(c, e->buf))
		return;
	expr flat = ir_flat(k->p->pool, e->buf, e->arg);
	int group = group_of(c, e);
	if (group < 0 || ir_uses(flat, IR_LOAD))
		return;
	const struct contract_passes *x = &k->passes;
	bool columns = group == CONTRACT_COLUMN, single = !flat->varies;
	struct contract_ahead a = { .load = e, .group = group, .rows = single ? 0 : columns ? x->columns : x->rows };
	a.width = columns && !single ? x->width : 1;
	f->registers += (single ? 1 : a.rows * a.width) * (type_info(e->type)->bits > 32 ? 2 : 1);
	if (f->registers > MOST_REGISTERS)
		return;
	a.array = ir_variable_new(k->p->pool, e->type, "%s_ahead", e->buf->name);
	vec_push(k->p->arena, &k->ahead, a);
}

bool contract_rows_ahead(const struct contract_kernel *k)
{
	vec_each (a, &k->ahead)
		if (a->group == CONTRACT_ROW && a->rows)
			return true;
	return false;
}

expr contract_from_ahead(const struct contract_kernel *k, expr load)
{
	const struct contract_ahead *a = ahead_of(k, load);
	if (!a)
		return NULL;
	if (!a->rows)
		return ir_var_of(a->array, NULL);
	expr row = k->ahead_row[a->group];
	return a->width > 1 ? item_of_row(a->array, row, k->item) : item_of(a->array, row);
}

/* Loads a vector of neighbouring columns; element by element where it may not be aligned. */
static void load_vector(struct contract_kernel *k, struct ir_block *b, const struct contract_ahead *a, expr row,
                        const expr *own)
{
	struct ir_program *p = k->p;
	const struct ir_buffer *out = k->c->whole->out;
	int inner = k->c->axis[CONTRACT_COLUMN][0];
	expr at[IR_MAX_RANK], item;
	if (vector_along(p, a->load, inner, out->dim[inner], a->width)) {
		expr first = to_kernel(p, ir_flat(p->pool, a->load->buf, a->load->arg), &(struct axes){ .value = own });
		emit_load_into(p, b, a->load->buf, first, a->array, row, a->width);
		return;
	}
	b = unrolled(k, b, "item", a->width, 1, &item);
	memcpy(at, own, sizeof at);
	at[inner] = plus(own[inner], item);
	emit_set_in_row(p, b, a->array, row, item, to_kernel(p, a->load, &(struct axes){ .value = at }));
}

/* Loads what depends on a group's axes, for number `row` of the lane's columns or rows, at `place` of the group. */
static void load_group(struct contract_kernel *k, struct ir_block *b, enum contract_group g, expr row, expr place)
{
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	expr axis[2 * IR_MAX_RANK], own[IR_MAX_RANK];
	bool used[2 * IR_MAX_RANK];
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		used[i] = true;
	memcpy(axis, k->axis, sizeof axis);
	place = emit_constant(p, b, g == CONTRACT_ROW ? "row" : "column", place, NULL);
	contract_declare_group(k, b, g, ir_var_of(place->var, c->extent[g]), used);
	contract_own_axes(k, own);
	vec_each (a, &k->ahead) {
		if (a->group != (int)g || !a->rows)
			continue;
		if (a->width > 1)
			load_vector(k, b, a, row, own);
		else
			emit_set(p, b, a->array, row, to_kernel(p, a->load, &(struct axes){ .value = own }));
	}
	memcpy(k->axis, axis, sizeof axis);
}

static expr at_most(expr place, expr extent, int64_t width, int tile)
{
	return divides(extent, tile)
	               ? place
	               : ir_binary(IR_MIN, place, ir_binary(IR_SUB, extent, ir_index(place->pool, width)));
}

void contract_load_ahead(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract *c = k->c;
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	const struct contract_passes *x = &k->passes;
	struct find f = { .k = k };
	bool any[CONTRACT_GROUPS] = { false };
	if (!contract_find_passes(k) || !ir_is_int(c->inside, 1))
		return;
	for (int i = 0; i < c->stages; i++) {
		expr value = c->made[i]->kind == IR_MAP ? c->made[i]->value : c->made[i]->post;
		if (value)
			ir_walk_unconditional(value, find_load, &f);
	}
	vec_each (a, &k->ahead) {
		any[a->group] |= a->rows > 0;
		if (!a->rows)
			emit_define(p, b, a->array, to_kernel(p, a->load, &(struct axes){ .value = k->axis }), NULL);
		else if (a->width > 1)
			emit_array_of_rows(p, b, a->array, a->rows, a->width);
		else
			emit_array(p, b, a->array, a->rows);
	}
	expr lane = ir_binary(IR_MOD, ir_thread(p->pool, index_(k, s->threads)), index_(k, WARP)), number;
	expr across = index_(k, x->across), first[2];
	for (int side = 0; side < 2; side++)
		first[side] = plus(ir_var_of(k->first[side], NULL), ir_var_of(k->warp[side], NULL));
	if (any[CONTRACT_COLUMN]) {
		struct ir_block *in = unrolled(k, b, "number", x->columns, 1, &number);
		expr place =
		        plus(times(number, x->across * x->width), times(ir_binary(IR_MOD, lane, across), x->width));
		load_group(k, in, CONTRACT_COLUMN, number,
		           at_most(plus(first[1], place), c->extent[CONTRACT_COLUMN], x->width, s->columns));
	}
	if (any[CONTRACT_ROW]) {
		struct ir_block *in = unrolled(k, b, "number", x->rows, 1, &number);
		expr turns = index_(k, x->turns), part = ir_binary(IR_FLOORDIV, number, turns);
		expr down =
		        plus(times(ir_binary(IR_MOD, number, turns), x->down), ir_binary(IR_FLOORDIV, lane, across));
		load_group(
		        k, in, CONTRACT_ROW, number,
		        at_most(plus(first[0], contract_part_row(k, part, down)), c->extent[CONTRACT_ROW], 1, s->rows));
	}
}
