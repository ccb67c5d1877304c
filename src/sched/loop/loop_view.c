/* Positions, names and passes over elements in a loop's kernel. See loop_view.h. */
#include "sched/loop/loop_view.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"

expr index_of(const struct emitter *m, int64_t x)
{
	return ir_index(m->p->pool, x);
}

static expr add(expr a, expr b)
{
	return ir_binary(IR_ADD, a, b);
}

static expr mul(expr a, expr b)
{
	return ir_binary(IR_MUL, a, b);
}

const struct ir_variable *register_of(const struct emitter *m, const struct ir_buffer *b)
{
	return ir_variable_of(m->p->pool, b->type, b, IR_HOLDS_VALUE, 0, "%s_here", b->name);
}

/* The position of the indices in their row. */
static expr local_flat(const struct emitter *m, const struct ir_buffer *b, const expr *index)
{
	expr flat = index_of(m, 0);
	for (int k = m->l->lead; k < b->rank; k++)
		flat = add(mul(flat, b->dim[k]), index[k]);
	return flat;
}

expr place_in_block(const struct view *v, const struct ir_buffer *b, const expr *index)
{
	return add(mul(v->row, loop_local(v->m->l, b->rank, b->dim)), local_flat(v->m, b, index));
}

expr in_memory(const struct emitter *m, const struct ir_buffer *b, expr place, const struct ir_buffer **memory)
{
	const struct ir_buffer *shared = m->l->shared[b->id];
	*memory = shared ? shared : flat_view(m->p, b);
	return shared ? place : add(mul(m->first_row, loop_local(m->l, b->rank, b->dim)), place);
}

static expr view_load(struct view *v, expr e, const expr *arg)
{
	struct emitter *m = v->m;
	const struct ir_buffer *memory = NULL;
	struct ir_pool *pool = m->p->pool;
	if (!m->l->inside[e->buf->id]) {
		expr flat = ir_flat(pool, e->buf, arg);
		return ir_load(pool, flat_view(m->p, e->buf), &flat);
	}
	bool own = v->out && loop_is_own(e, v->out);
	if (own && loop_in_register(v->item, v->entry, e))
		return ir_var_of(register_of(m, e->buf), NULL);
	expr at = in_memory(m, m->l->home[e->buf->id], own ? v->element : place_in_block(v, e->buf, arg), &memory);
	return ir_load(pool, memory, &at);
}

static expr view_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct view *v = user;
	(void)pool;
	if (e->op == IR_AXIS) {
		ck(v->axis[e->i]);
		return v->axis[e->i];
	}
	if (e->op == IR_ACC)
		return v->acc;
	if (e->op == IR_LOAD)
		return view_load(v, e, arg);
	for (int i = 0; e->op == IR_VAR && i < v->m->loops; i++)
		if (v->m->loop[i].index == e)
			return v->m->loop[i].name;
	return NULL;
}

expr see(struct view *v, expr e)
{
	return ir_copy(v->m->p->pool, e, view_leaf, v);
}

/* ---- The block's elements, distributed over threads. */

struct ir_block *for_elements(struct emitter *m, struct ir_block *b, expr local, expr worker, int workers,
                              expr *element)
{
	struct ir_program *p = m->p;
	expr count = mul(m->rows, local);
	int64_t n;
	if (m->serial)
		worker = index_of(m, 0);
	if (m->serial || !ir_const_int(count, &n) || n >= workers) {
		const struct ir_variable *v = ir_variable_new(p->pool, TYPE_INDEX, "element");
		*element = ir_var_of(v, count);
		return emit_for_each(p, b, v, worker, count, index_of(m, m->serial ? 1 : workers));
	}
	expr inside = ir_binary(IR_LT, worker, count); /* one pass suffices */
	b = emit_if(p, b, inside);
	*element = emit_constant(p, b, "element", worker, count);
	return b;
}

void used_axes(struct view *v, int n, const expr *e, bool *used)
{
	struct view probe = *v;
	for (int k = 0; k < 2 * IR_MAX_RANK; k++)
		probe.axis[k] = ir_axis(v->m->p->pool, k, index_of(v->m, INT32_MAX));
	probe.acc = NULL;
	for (int i = 0; i < n; i++)
		if (e[i])
			ir_mark_axes(see(&probe, e[i]), used);
}

void declare_place(struct view *v, struct ir_block *b, expr element, int rank, const expr *dim,
                   const char *const *names, const bool *used)
{
	struct emitter *m = v->m;
	struct ir_program *p = m->p;
	int lead = m->l->lead;
	bool any = false, inner = false;
	expr local = loop_local(m->l, rank, dim), rest = element;
	for (int k = 0; k < rank; k++) {
		any |= k < lead && used[k];
		inner |= k >= lead && used[k];
	}
	if (m->l->rows_a_block == 1) {
		v->row = index_of(m, 0);
		for (int k = 0; k < lead; k++)
			v->axis[k] = m->lead[k];
	} else {
		v->row = emit_declare(p, b, "own_row", ir_binary(IR_FLOORDIV, element, local), m->rows);
		rest = inner ? emit_declare(p, b, "in_row", ir_binary(IR_MOD, element, local), local) : element;
		expr row = any ? emit_declare(p, b, "row", add(m->first_row, v->row), m->l->rows) : m->first_row;
		declare_axes(p, b, row, lead, dim, names, used, v->axis);
	}
	declare_axes(p, b, rest, rank - lead, dim + lead, names + lead, used + lead, v->axis + lead);
	for (int k = 0; k < rank; k++)
		if (!v->axis[k])
			v->axis[k] = index_of(m, 0); /* unused */
}

void store(struct view *v, struct ir_block *b, const struct ir_buffer *to, expr place, expr value)
{
	const struct ir_buffer *memory = NULL;
	expr at = in_memory(v->m, to, place, &memory);
	emit_store_flat(v->m->p, b, memory, at, value);
}

void comment_item(struct emitter *m, struct ir_block *b, const struct loop_item *item, const char *how)
{
	struct str s = str_new(m->p->arena);
	vec_each (e, &item->entries) {
		str_printf(&s, "%s%s", e == item->entries.at ? "" : ", ", e->stage->out->name);
		if (e->late)
			str_add(&s, " of the next turn");
		if (e->saved)
			str_add(&s, " at last");
		vec_each (c, &e->collects)
			str_printf(&s, "%s%s", c == e->collects.at ? ", collected in " : " and ", (*c)->out->name);
	}
	if (item->stage)
		str_add(&s, item->stage->out->name);
	emit_comment(m->p, b, "%s%s", str_text(&s), how);
}
