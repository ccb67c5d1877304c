/* Scatters, scans, sorts and picks inside a loop's kernel. See loop_view.h. */
#include "sched/loop/loop_view.h"
#include "ir/axis_names.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"

static expr add(expr a, expr b)
{
	return ir_binary(IR_ADD, a, b);
}

void emit_updates(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->stage;
	const struct ir_buffer *memory = NULL;
	struct view v = { .m = m, .item = item };
	bool used[2 * IR_MAX_RANK] = { false };
	expr need[IR_MAX_RANK + 2] = { s->value, s->where }, at[IR_MAX_RANK];
	comment_item(m, b, item, ": the updates");
	b = for_elements(m, b, loop_local(m->l, s->space_rank, s->space), m->thread, m->l->threads, &v.element);
	v.row = index_of(m, 0);
	for (int k = 0; k < s->out->rank; k++)
		need[2 + k] = k < m->l->lead ? NULL : s->at[k];
	used_axes(&v, 2 + s->out->rank, need, used);
	declare_place(&v, b, v.element, s->space_rank, s->space, ir_axis_names[1], used);
	if (s->where)
		b = emit_if(p, b, see(&v, s->where));
	for (int k = 0; k < s->out->rank; k++)
		at[k] = k < m->l->lead ? NULL : see(&v, s->at[k]);
	expr place = place_in_block(&v, s->out, at), value = see(&v, s->value);
	const struct ir_buffer *home = m->l->home[s->out->id];
	if (s->combine == IR_NONE) {
		store(&v, b, home, place, value);
		return;
	}
	expr position = in_memory(m, home, place, &memory);
	emit(p, b, IR_UPDATE)->update = (struct ir_update){ memory, position, value, s->combine, false };
}

/* Begins a thread's work on each line along the stage's axis: *v then knows the other axes. */
static struct ir_block *begin_lines(struct view *v, struct ir_block *b, const char *how)
{
	struct emitter *m = v->m;
	const struct ir_stage *s = v->item->stage;
	bool used[IR_MAX_RANK], others[IR_MAX_RANK];
	const char *names[IR_MAX_RANK];
	expr dim[IR_MAX_RANK];
	int rank = s->out->rank;
	comment_item(m, b, v->item, how);
	v->row = index_of(m, 0);
	for (int k = 0; k < rank; k++)
		used[k] = true; /* positions use all of them */
	int n = other_axes(s, used, dim, names, others);
	b = for_elements(m, b, loop_local(m->l, n, dim), m->thread, m->l->threads, &v->element);
	declare_place(v, b, v->element, n, dim, names, others);
	for (int k = rank - 1; k > s->axis; k--)
		v->axis[k] = v->axis[k - 1];
	return b;
}

void emit_scan(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->stage;
	struct view v = { .m = m, .item = item };
	expr extent = s->out->dim[s->axis];
	b = begin_lines(&v, b, ": a line a thread");
	expr sum = emit_combination(p, b, s->combine, s->value->type);
	expr step;
	b = emit_loop(p, b, "step", index_of(m, 0), extent, index_of(m, 1), extent, &step);
	expr last = ir_binary(IR_SUB, extent, index_of(m, 1));
	v.axis[s->axis] = s->reverse ? ir_binary(IR_SUB, last, step) : step;
	const struct ir_buffer *home = m->l->home[s->out->id];
	expr place = place_in_block(&v, s->out, v.axis), next = ir_combine_expr(s->combine, sum, see(&v, s->value));
	v.acc = sum;
	if (!s->exclusive)
		emit_assign(p, b, sum, next);
	else
		next = emit_define(p, b, register_of(m, s->out), next, NULL);
	store(&v, b, home, place, s->post ? see(&v, s->post) : ir_cast(sum, s->out->type));
	if (s->exclusive)
		emit_assign(p, b, sum, next);
}

/* True if x sorts strictly before y. */
static expr comes_before(bool descending, expr x, expr y)
{
	expr less = descending ? ir_binary(IR_LT, y, x) : ir_binary(IR_LT, x, y);
	if (!type_is_float(x->type))
		return less;
	expr first = ir_unary(IR_ISNAN, descending ? x : y), second = ir_unary(IR_ISNAN, descending ? y : x);
	return ir_binary(IR_OR, less, ir_binary(IR_AND, first, ir_unary(IR_NOT, second)));
}

/* An element's position is the number of elements before it. */
void emit_sort(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->stage;
	struct view v = { .m = m, .item = item };
	bool used[2 * IR_MAX_RANK] = { false };
	int rank = s->out->rank;
	expr dim[IR_MAX_RANK], extent = s->space[0], one = index_of(m, 1);
	comment_item(m, b, item, ": places are counted");
	for (int k = 0; k < rank; k++) {
		dim[k] = k == s->axis ? extent : s->out->dim[k];
		used[k] = true;
	}
	b = for_elements(m, b, loop_local(m->l, rank, dim), m->thread, m->l->threads, &v.element);
	declare_place(&v, b, v.element, rank, dim, ir_axis_names[0], used);
	expr own = v.axis[s->axis];
	v.axis[rank] = own;
	expr key = emit_constant(p, b, "best", see(&v, s->value), NULL);
	expr before = emit_variable(p, b, "before", index_of(m, 0));
	expr step;
	struct ir_block *loop = emit_loop(p, b, "step", index_of(m, 0), extent, one, extent, &step);
	v.axis[rank] = step;
	expr other = emit_constant(p, loop, "part", see(&v, s->value), NULL);
	expr equal = ir_unary(IR_NOT, comes_before(s->reverse, key, other));
	expr wins = ir_binary(IR_OR, comes_before(s->reverse, other, key),
	                      ir_binary(IR_AND, equal, ir_binary(IR_LT, step, own)));
	emit_assign(p, emit_if(p, loop, wins), before, add(before, one));
	if (s->out->dim[s->axis] != extent)
		b = emit_if(p, b, ir_binary(IR_LT, before, s->out->dim[s->axis]));
	v.axis[s->axis] = before;
	store(&v, b, m->l->home[s->out->id], place_in_block(&v, s->out, v.axis), ir_cast(own, s->out->type));
}

/* The element at a place of the row's result. */
static expr picked(struct view *v, const struct ir_stage *s, expr place)
{
	expr axis[IR_MAX_RANK];
	for (int k = 0; k < s->out->rank; k++)
		axis[k] = k == s->axis ? place : v->axis[k];
	const struct ir_buffer *memory = NULL, *home = v->m->l->home[s->out->id];
	expr at = in_memory(v->m, home, place_in_block(v, s->out, axis), &memory);
	return ir_cast(ir_load(v->m->p->pool, flat_view(v->m->p, memory), &at), TYPE_INDEX);
}

static void put_picked(struct view *v, struct ir_block *b, const struct ir_stage *s, expr place, expr element)
{
	v->axis[s->axis] = place;
	store(v, b, v->m->l->home[s->out->id], place_in_block(v, s->out, v->axis), ir_cast(element, s->out->type));
}

/* Each element in order is compared with all picks before it. */
void emit_pick(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->stage;
	struct view v = { .m = m, .item = item };
	expr n = s->space[0], most = s->out->dim[s->axis], zero = index_of(m, 0), one = index_of(m, 1), i, q;
	int rank = s->out->rank;
	b = begin_lines(&v, b, ": a row a thread");
	v.axis[s->axis] = zero;
	expr count = emit_variable(p, b, "count", zero),
	     open = emit_variable(p, b, "open", ir_int(p->pool, TYPE_BOOL, 1));
	struct ir_block *turn = emit_loop(p, b, "step", zero, n, one, n, &i);
	v.axis[rank] = i;
	expr more = ir_binary(IR_LT, count, most);
	emit_assign(p, emit_if(p, turn, open), open, s->where ? ir_binary(IR_AND, more, see(&v, s->where)) : more);
	turn = emit_if(p, turn, open);
	expr found = emit_variable(p, turn, "found", ir_int(p->pool, TYPE_BOOL, 0));
	struct ir_block *pairs = emit_loop(p, turn, "q", zero, count, one, most, &q);
	v.axis[rank + 1] = emit_constant(p, pairs, "before", picked(&v, s, q), n);
	emit_assign(p, pairs, found, ir_binary(IR_OR, found, see(&v, s->value)));
	turn = emit_if(p, turn, ir_unary(IR_NOT, found));
	put_picked(&v, turn, s, ir_var_of(count->var, most), i);
	emit_assign(p, turn, count, ir_binary(IR_ADD, count, one));
	struct ir_block *rest = emit_loop(p, b, "q", ir_var_of(count->var, NULL), most, one, most, &q);
	put_picked(&v, rest, s, q, index_of(m, -1));
}
