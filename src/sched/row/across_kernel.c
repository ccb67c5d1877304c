/* The kernel of rule across; see across.h. */
#include "sched/row/across.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <string.h>

#include "ir/axis_names.h"

struct rows_at_once {
	const struct across *r;
	struct ir_program *p;
	int parts, width, steps;
	bool serial;                    /* for a CPU: one row after the other */
	expr axis[IR_MAX_RANK + 1];     /* of the rows, followed inside a loop by the index along the row */
	const struct ir_variable *item; /* of all loops over the thread's rows */
	expr step, v;                   /* register indices; null: none */
	expr acc;
};

/* True if a thread has one row at a time, whose values are scalars; else they are arrays over its rows. */
static bool one_row(const struct rows_at_once *k)
{
	return k->serial || k->width == 1;
}

static struct ir_variable *value_variable(const struct rows_at_once *k, const struct ir_buffer *b)
{
	return one_row(k) ? ir_variable_of(k->p->pool, b->type, b, IR_HOLDS_VALUE, 0, "row_%s", b->name)
	                  : ir_variable_of(k->p->pool, b->type, b, IR_HOLDS_VALUES, 0, "row_%s", b->name);
}

static expr value_of(const struct rows_at_once *k, const struct ir_buffer *b)
{
	const struct ir_variable *v = value_variable(k, b);
	return one_row(k) ? ir_var_of(v, NULL) : item_of(v, ir_var_of(k->item, ir_index(k->p->pool, k->width)));
}

static struct ir_variable *cache_array(const struct rows_at_once *k, int cached)
{
	const struct ir_buffer *b = k->r->cache[cached]->buf;
	for (int i = 0; i < cached; i++)
		if (k->r->cache[i]->buf == b)
			return ir_variable_of(k->p->pool, b->type, b, IR_HOLDS_VECTOR, cached + 1, "%s_v%d", b->name,
			                      cached + 1);
	return ir_variable_of(k->p->pool, b->type, b, IR_HOLDS_VECTOR, 0, "%s_v", b->name);
}

static expr from_registers(void *user, expr e, expr flat)
{
	struct rows_at_once *k = user;
	int made = across_value_of(k->r, e), cached = across_cached_of(k->r, e);
	(void)flat;
	if (made >= 0)
		return value_of(k, e->buf);
	if (cached < 0 || k->serial || !k->step)
		return NULL;
	return item_of_row(cache_array(k, cached), k->step, ir_var_of(k->item, ir_index(k->p->pool, k->width)));
}

/* The expression at this row, or at the item-th of these, and at this index along it. */
static expr here(struct rows_at_once *k, expr e)
{
	expr axis[IR_MAX_RANK + 1];
	int last = k->r->rank - 1;
	memcpy(axis, k->axis, sizeof axis);
	if (k->v && axis[last])
		axis[last] = ir_binary(IR_ADD, axis[last], k->v);
	struct axes a = { .value = axis, .load = from_registers, .user = k, .acc = k->acc };
	return to_kernel(k->p, e, &a);
}

static struct ir_block *each_item(struct rows_at_once *k, struct ir_block *b)
{
	return k->serial ? b : emit_unrolled_each(k->p, b, k->item, k->width, &k->v);
}

/* The loop over this thread's indices along the row. */
static struct ir_block *each_place(struct rows_at_once *k, struct ir_block *b, expr part)
{
	struct ir_program *p = k->p;
	int64_t length;
	expr *at = &k->axis[k->r->rank];
	if (k->serial || !k->steps) {
		const struct ir_variable *v = ir_variable_new(p->pool, TYPE_INDEX, "at");
		expr first = k->serial ? ir_index(p->pool, 0) : part;
		b = emit_for_each(p, b, v, first, k->r->length, ir_index(p->pool, k->serial ? 1 : k->parts));
		*at = ir_var_of(v, k->r->length);
		if (!k->serial)
			k->step = ir_index(p->pool, 0);
		return b;
	}
	b = emit_unrolled(p, b, "step", k->steps, &k->step);
	expr place = ir_binary(IR_ADD, ir_binary(IR_MUL, k->step, ir_index(p->pool, k->parts)), part);
	*at = emit_constant(p, b, "at", place, k->r->length);
	if (ir_const_int(k->r->length, &length) && length % k->parts == 0)
		return b;
	return emit_if(p, b, ir_binary(IR_LT, ir_var_of((*at)->var, NULL), k->r->length));
}

static void leave_place(struct rows_at_once *k)
{
	k->axis[k->r->rank] = k->step = k->v = NULL;
}

static void load_cached(struct rows_at_once *k, struct ir_block *b, int cached)
{
	expr step = k->step;
	k->step = NULL; /* from memory */
	expr at = here(k, k->r->cache[cached])->arg[0];
	k->step = step;
	emit_load_into(k->p, b, k->r->cache[cached]->buf, at, cache_array(k, cached), step, k->width);
}

static void load_rows(struct rows_at_once *k, struct ir_block *b, expr part)
{
	for (int i = 0; i < k->r->cached; i++)
		emit_array_of_rows(k->p, b, cache_array(k, i), k->steps, k->width);
	struct ir_block *body = each_place(k, b, part);
	for (int i = 0; i < k->r->cached; i++)
		load_cached(k, body, i);
	leave_place(k);
}

/* At a place of a loop of a kernel that keeps no elements: loads those that the value reads. */
static void load_again(struct rows_at_once *k, struct ir_block *b, expr value)
{
	for (int i = 0; i < k->r->cached && !k->serial && !k->steps; i++) {
		if (!ir_contains(value, k->r->cache[i]))
			continue;
		emit_array_of_rows(k->p, b, cache_array(k, i), 1, k->width);
		load_cached(k, b, i);
	}
}

/* Computes one value for each of the thread's rows. */
static void set_value(struct rows_at_once *k, struct ir_block *b, const struct ir_stage *s, expr e)
{
	struct ir_program *p = k->p;
	if (one_row(k)) {
		emit_define(p, b, value_variable(k, s->out), here(k, e), NULL);
		return;
	}
	emit_array(p, b, value_variable(k, s->out), k->width);
	struct ir_block *items = each_item(k, b);
	emit_set(p, items, value_variable(k, s->out), k->v, here(k, e));
	k->v = NULL;
}

/* Declares the combination of each row's values, at first of none. */
static expr begin_sums(struct rows_at_once *k, struct ir_block *b, struct ir_variable *v, expr none)
{
	struct ir_program *p = k->p;
	if (one_row(k)) {
		emit_define_variable(p, b, v, none);
		return ir_var_of(v, NULL);
	}
	emit_array(p, b, v, k->width);
	struct ir_block *items = each_item(k, b);
	emit_set(p, items, v, k->v, none);
	k->v = NULL;
	return item_of(v, ir_var_of(k->item, ir_index(p->pool, k->width)));
}

static void reduce_rows(struct rows_at_once *k, struct ir_block *b, int stage, expr part)
{
	struct ir_program *p = k->p;
	const struct across_stage *st = &k->r->stage[stage];
	const struct ir_stage *s = st->s;
	enum type t = s->value->type;
	bool done = !st->post && t == s->out->type; /* without a conversion the combination is the row's value */
	struct ir_variable *v = done ? value_variable(k, s->out)
	                             : ir_variable_new(p->pool, t, "%s_%s", s->out->name, ir_combine_name[s->combine]);
	expr sum = begin_sums(k, b, v, ir_identity(p->pool, s->combine, t));
	struct ir_block *body = each_place(k, b, part);
	load_again(k, body, st->value);
	body = each_item(k, body);
	expr more = ir_combine_expr(s->combine, sum, here(k, st->value));
	if (one_row(k))
		emit_assign(p, body, sum, more);
	else
		emit_set(p, body, v, k->v, more);
	leave_place(k);
	if (!k->serial && k->parts > 1) {
		struct ir_lanes *all = emit_lanes_combine(p, b, v, s->combine, k->parts);
		all->across = ir_variable_new(p->pool, t, "%s_across", v->hint);
		all->columns = ACROSS_LANES;
		all->items = one_row(k) ? 0 : k->width;
	}
	if (done)
		return;
	k->acc = sum;
	set_value(k, b, s, st->post ? st->post : ir_cast(ir_acc(p->pool, t), s->out->type));
	k->acc = NULL;
}

/* The same for the position of each row's best value. */
static void find_best(struct rows_at_once *k, struct ir_block *b, int stage, expr part)
{
	struct ir_program *p = k->p;
	const struct across_stage *st = &k->r->stage[stage];
	const struct ir_stage *s = st->s;
	struct accumulator a = accumulator_of(p, s);
	struct ir_variable *best = ir_variable_new(p->pool, s->value->type, "%s_best", s->out->name);
	struct ir_variable *where = ir_variable_new(p->pool, TYPE_INDEX, "%s_at", s->out->name);
	a.value = begin_sums(k, b, best, ir_identity(p->pool, s->combine, s->value->type));
	a.position = begin_sums(k, b, where, a.none);
	struct ir_block *body = each_place(k, b, part);
	load_again(k, body, st->value);
	body = each_item(k, body);
	expr value = emit_constant(p, body, "value", here(k, st->value), NULL);
	expr better = accumulator_better(s->combine, value, a.value);
	body = emit_if(p, body, better);
	if (one_row(k)) {
		emit_assign(p, body, a.value, value);
		emit_assign(p, body, a.position, k->axis[k->r->rank]);
	} else {
		emit_set(p, body, best, k->v, value);
		emit_set(p, body, where, k->v, k->axis[k->r->rank]);
	}
	leave_place(k);
	if (!k->serial && k->parts > 1) {
		struct ir_lanes *all = emit_lanes_combine(p, b, best, s->combine, k->parts);
		all->index = where;
		all->columns = ACROSS_LANES;
	}
	k->acc = accumulator_position_of_better(&a);
	set_value(k, b, s, st->post ? st->post : ir_cast(ir_acc(p->pool, TYPE_INDEX), s->out->type));
	k->acc = NULL;
}

static void map_rows(struct rows_at_once *k, struct ir_block *b, int stage, expr part, expr inside)
{
	struct ir_program *p = k->p;
	const struct across_stage *st = &k->r->stage[stage];
	const struct ir_buffer *out = st->s->out;
	struct ir_variable *result = ir_variable_new(p->pool, out->type, "%s_v", out->name);
	struct ir_block *body = each_place(k, b, part);
	if (k->serial) {
		emit_store(p, body, out, here(k, st->at), here(k, st->value));
		leave_place(k);
		return;
	}
	expr at = here(k, st->at);
	load_again(k, body, st->value);
	emit_array(p, body, result, k->width);
	struct ir_block *items = each_item(k, body);
	emit_set(p, items, result, k->v, here(k, st->value));
	if (inside)
		body = emit_if(p, body, inside);
	emit_store_vector(p, body, out, at, result, k->width);
	leave_place(k);
}

/* Stores values of the rows that lie apart; the first warp stores them. */
static void store_joined(struct rows_at_once *k, struct ir_block *b, int stage, expr part, expr inside)
{
	struct ir_program *p = k->p;
	const struct across_stage *st = &k->r->stage[stage];
	const struct ir_buffer *out = st->s->out;
	if (inside)
		b = emit_if(p, b, inside);
	if (!k->serial && k->parts > 1)
		b = emit_if(p, b, ir_binary(IR_EQ, part, ir_index(p->pool, 0)));
	for (int i = 0; i < st->joined; i++) {
		expr at = here(k, st->place[i]);
		if (one_row(k)) {
			emit_store_flat(p, b, flat_view(p, out), at, here(k, st->each[i]));
			continue;
		}
		struct ir_variable *result = ir_variable_new(p->pool, out->type, "%s_v%d", out->name, i + 1);
		emit_array(p, b, result, k->width);
		struct ir_block *items = each_item(k, b);
		emit_set(p, items, result, k->v, here(k, st->each[i]));
		k->v = NULL;
		emit_store_vector(p, b, out, at, result, k->width);
	}
}

/* Stores a value of the rows that has readers outside; the first warp stores it. */
static void store_value(struct rows_at_once *k, struct ir_block *b, int stage, expr part, expr inside)
{
	struct ir_program *p = k->p;
	const struct ir_buffer *out = k->r->stage[stage].s->out;
	if (k->serial) {
		emit_store(p, b, out, here(k, k->r->stage[stage].at), value_of(k, out));
		return;
	}
	if (inside)
		b = emit_if(p, b, inside);
	if (k->parts > 1)
		b = emit_if(p, b, ir_binary(IR_EQ, part, ir_index(p->pool, 0)));
	if (one_row(k))
		emit_store(p, b, out, here(k, k->r->stage[stage].at), value_of(k, out));
	else
		emit_store_vector(p, b, out, here(k, k->r->stage[stage].at), value_variable(k, out), k->width);
}

/* Declares the rows' axes for the thread's first row, number `row`. */
static void declare_rows(struct rows_at_once *k, struct ir_block *b, expr row)
{
	bool used[IR_MAX_RANK + 1] = { false };
	for (int i = 0; i < k->r->stages; i++) {
		const struct across_stage *st = &k->r->stage[i];
		ir_mark_axes(st->value, used);
		if (st->post)
			ir_mark_axes(st->post, used);
		ir_mark_axes(st->at, used);
		for (int part = 0; part < st->joined; part++) {
			ir_mark_axes(st->each[part], used);
			ir_mark_axes(st->place[part], used);
		}
	}
	declare_axes(k->p, b, row, k->r->rank, k->r->dim, ir_axis_names[0], used, k->axis);
}

static void all_stages(struct rows_at_once *k, struct ir_block *b, expr part, expr inside)
{
	if (!k->serial && k->steps)
		load_rows(k, b, part);
	for (int i = 0; i < k->r->stages; i++) {
		const struct across_stage *st = &k->r->stage[i];
		if (st->kind == ACROSS_REDUCE && ir_combine_is_arg(st->s->combine))
			find_best(k, b, i, part);
		else if (st->kind == ACROSS_REDUCE)
			reduce_rows(k, b, i, part);
		else if (st->kind == ACROSS_VALUE)
			set_value(k, b, st->s, st->value);
		else if (st->kind == ACROSS_JOINED)
			store_joined(k, b, i, part, inside);
		else
			map_rows(k, b, i, part, inside);
		if (st->kind != ACROSS_MAP && st->kind != ACROSS_JOINED && across_stored(k->r, i))
			store_value(k, b, i, part, inside);
	}
}

void across_kernel(struct ir_plan *plan, struct ir_step *step, const struct across *found, const struct sched_choice *c,
                   const struct across_shape *shape)
{
	struct ir_program *p = plan->program;
	struct across r = *found;
	const struct ir_stage *last = r.stage[r.stages - 1].s;
	const char *suffix = !shape->steps ? "_any" : shape->width < c->param[1] ? "_single" : "";
	struct ir_kernel *k = kernel_new(plan, last, suffix, c);
	int parts = shape->parts, width = shape->width;
	struct rows_at_once own = { .r = &r,
		                    .p = p,
		                    .parts = parts,
		                    .width = width,
		                    .steps = shape->steps,
		                    .item = ir_variable_new(p->pool, TYPE_INDEX, "item") };
	struct rows_at_once alone = { .r = &r, .p = p, .parts = 1, .width = 1, .serial = true };
	expr rows = ir_index(p->pool, ACROSS_LANES * width), lanes = ir_index(p->pool, ACROSS_LANES), inside = NULL;
	int64_t count;
	k->threads = ACROSS_LANES * parts;
	k->blocks = ceil_div(p, r.count, ACROSS_LANES * width);
	expr block = ir_block(p->pool, k->blocks);
	expr thread = ir_thread(p->pool, ir_index(p->pool, k->threads));
	expr first = ir_binary(IR_MUL, block, rows), part = ir_index(p->pool, 0);
	if (parts > 1)
		part = emit_constant(p, &k->body, "part", ir_binary(IR_FLOORDIV, thread, lanes),
		                     ir_index(p->pool, parts));
	expr lane = ir_binary(IR_MUL, ir_binary(IR_MOD, thread, lanes), ir_index(p->pool, width));
	expr row = emit_constant(p, &k->body, "row", ir_binary(IR_ADD, first, lane), r.count);
	/* Threads past the last row repeat it: all threads take part in the exchanges. */
	if (!ir_const_int(r.count, &count) || count % (ACROSS_LANES * width)) {
		expr any = ir_var_of(row->var, NULL), end = ir_binary(IR_SUB, r.count, ir_index(p->pool, width));
		if (parts == 1) {
			emit_return_if(p, &k->body, ir_binary(IR_LE, r.count, any));
		} else {
			inside = ir_binary(IR_LT, any, r.count);
			row = emit_constant(p, &k->body, "here", ir_binary(IR_MIN, any, end), r.count);
		}
	}
	declare_rows(&own, &k->body, row);
	all_stages(&own, &k->body, part, inside);

	/* The same rows for a CPU. */
	const struct ir_variable *alone_row = ir_variable_new(p->pool, TYPE_INDEX, "row");
	expr end = ir_binary(IR_MIN, r.count, ir_binary(IR_ADD, first, rows));
	struct ir_block *b = emit_for_each(p, &k->serial, alone_row, first, end, ir_index(p->pool, 1));
	declare_rows(&alone, b, ir_var_of(alone_row, r.count));
	all_stages(&alone, b, NULL, NULL);
	kernel_needs(k, shape->fits);
	struct str about = str_new(p->arena);
	for (int i = 0; i < r.stages; i++)
		ir_print_stage(&about, r.stage[i].s);
	k->about = str_text(&about);
	kernel_finish(plan, step, k, last);
}
