/* The stages of rule rows' kernel: a row's elements in registers, its reductions, values and maps. See rows_kernel.h.
 */
#include "sched/row/rows_kernel.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

#include <string.h>

#include "ir/axis_names.h"

static const struct ir_variable *value_variable(const struct row_kernel *k, const struct ir_buffer *b)
{
	return ir_variable_of(k->p->pool, b->type, b, IR_HOLDS_VALUE, 0, "row_%s", b->name);
}

static expr from_ahead(const struct row_kernel *k, expr load)
{
	const struct ahead *a = rows_ahead_of(k, load);
	return !a ? NULL : a->variable ? ir_var_of(a->variable, NULL) : item_of_row(a->array, k->step, k->v);
}

/* Callback for struct axes: replaces loads of the row's values and elements by registers. */
static expr from_registers(void *user, expr e, expr flat)
{
	struct row_kernel *k = user;
	int made = rows_value_of(k->r, k->st, e);
	(void)flat;
	if (made >= 0)
		return ir_var_of(value_variable(k, e->buf), NULL);
	if (k->serial || !k->vectors)
		return from_ahead(k, e);
	int cached = rows_cached_of(k->r, k->st, e);
	if (cached >= 0 && k->steps > 0 && !k->rest)
		return item_of_row(rows_array(k, cached), k->step, k->v);
	if (cached >= 0)
		return item_of(rows_array(k, cached), k->v);
	for (int i = 0; i < k->along.n; i++)
		if (k->along.at[i] == e)
			return item_of(k->along_array.at[i], k->v);
	return from_ahead(k, e);
}

static expr in_kernel(struct row_kernel *k, expr e)
{
	expr here = k->element ? k->element : k->v && k->vectors ? ir_binary(IR_ADD, k->at, k->v) : k->at;
	struct axes a = { .value = k->axis,
		          .same = k->st->full,
		          .same_as = k->at ? ir_binary(IR_ADD, ir_binary(IR_MUL, k->row, k->r->length), here) : NULL,
		          .load = from_registers,
		          .user = k,
		          .acc = k->acc };
	if (!k->at)
		a.same = NULL;
	return to_kernel(k->p, e, &a);
}

/* Declares the stage's axes from the row and, with `at`, from the index along it; only those that still occur. */
static void declare_row_axes(struct row_kernel *k, struct ir_block *b, expr e, expr second, expr at)
{
	const struct rows_stage *st = k->st;
	bool used[2 * IR_MAX_RANK] = { false };
	const char *name[2 * IR_MAX_RANK];
	expr own[2 * IR_MAX_RANK];
	for (int i = 0; i < st->rank; i++) {
		own[i] = ir_axis(k->p->pool, i, st->dim[i]);
		name[i] = st->kind == ROWS_REDUCE && i >= st->row_rank ? ir_axis_names[1][i - st->row_rank]
		                                                       : ir_axis_names[0][i];
	}
	memcpy(k->axis, own, sizeof own[0] * (size_t)st->rank);
	ir_mark_axes(in_kernel(k, e), used);
	if (second)
		ir_mark_axes(in_kernel(k, second), used);
	for (int i = 0; i < st->rank; i++) /* unused axes may have any value */
		k->axis[i] = ir_index(k->p->pool, 0);
	expr value[2 * IR_MAX_RANK] = { NULL };
	declare_axes(k->p, b, k->row, st->row_rank, st->dim, name, used, value);
	if (at)
		declare_axes(k->p, b, at, st->rank - st->row_rank, st->dim + st->row_rank, name + st->row_rank,
		             used + st->row_rank, value + st->row_rank);
	for (int i = 0; i < st->rank; i++)
		if (value[i])
			k->axis[i] = value[i];
}

/* ---- Elements: the loops over a row's vectors, and inside one over its elements. */

/* Declares the start of the rows in buffers without the rows' own layout. */
static void find_rows(struct row_kernel *k, struct ir_block *b)
{
	struct ir_program *p = k->p;
	for (int i = 0; i < k->r->cached; i++) {
		const struct rows_cached *c = &k->r->cache[i];
		if (!c->from)
			continue;
		k->st = &k->r->stage[c->stage];
		rows_axes(p, k->st, k->row, k->axis);
		k->from[i] = emit_constant(p, b, arena_printf(p->arena, "%s_from", rows_array(k, i)->hint),
		                           in_kernel(k, c->from), NULL);
	}
}

/* Loads the whole row into registers before the first stage. */
static void load_row(struct row_kernel *k, struct ir_block *b, expr lane)
{
	struct ir_program *p = k->p;
	for (int part = 0; part <= (k->tail > 0); part++)
		for (int i = 0; i < k->r->cached; i++) {
			rows_part(k, part);
			emit_array_of_rows(p, b, rows_array(k, i), part ? 1 : k->held, k->width);
		}
	rows_part_end(k);
	if (k->shifted) {
		shifted_load(k, b, lane);
		return;
	}
	struct ir_block *body = rows_each_vector(k, b, lane, true);
	for (int i = 0; i < k->r->cached; i++)
		rows_load_cached(k, body, i, k->step, true);
	rows_part_end(k);
	if (!k->shared)
		return;
	k->rest = true;
	body = rows_each_vector(k, b, lane, false);
	emit_array(p, body, rows_array(k, 0), k->width);
	rows_load_cached(k, body, 0, NULL, true);
	rows_move_shared(k, body, true);
	rows_part_end(k);
}

/* True if the load finds the start of a cached input's row. */
static bool finds_row(const struct row_kernel *k, expr load)
{
	for (int i = 0; i < k->r->cached; i++)
		if (k->r->cache[i].from && ir_contains(k->r->cache[i].from, load))
			return true;
	return false;
}

struct find_along {
	struct row_kernel *k;
	bool own; /* find loads of cached inputs instead */
	bool found[ROWS_MAX_CACHED];
};

static expr place_along(const struct row_kernel *k, const struct rows_stage *st, expr load)
{
	return ir_binary(IR_SUB, ir_flat(k->p->pool, load->buf, load->arg), st->at);
}

static void find_along(void *user, expr e)
{
	struct find_along *f = user;
	struct row_kernel *k = f->k;
	if (e->op != IR_LOAD)
		return;
	if (!f->own) {
		int64_t c;
		if (rows_runs_along(k->r, k->st, e) && ir_const_int(place_along(k, k->st, e), &c) &&
		    c % k->width == 0 && !rows_ahead_of(k, e) && !finds_row(k, e))
			vec_push(k->p->arena, &k->along, e);
		return;
	}
	int cached = rows_cached_of(k->r, k->st, e);
	if (cached >= 0)
		f->found[cached] = true;
}

struct find_of_row {
	struct row_kernel *k;
	struct ir_block *b;
};

/* True if two stages number the rows in the same way. */
static bool same_rows(const struct rows_stage *a, const struct rows_stage *b)
{
	bool same = a->row_rank == b->row_rank;
	for (int i = 0; i < a->row_rank && same; i++)
		same = a->dim[i] == b->dim[i];
	return same;
}

/* Shares what another stage has loaded from the same place. */
static bool share_ahead(struct row_kernel *k, expr load, bool along)
{
	for (int i = 0; i < k->loaded.n; i++) {
		struct ahead a = k->loaded.at[i];
		if (a.load->buf != load->buf || !a.array == along)
			continue;
		if (along ? place_along(k, a.st, a.load) != place_along(k, k->st, load)
		          : !same_rows(a.st, k->st) || ir_flat(k->p->pool, a.load->buf, a.load->arg) !=
		                                               ir_flat(k->p->pool, load->buf, load->arg))
			continue;
		a.st = k->st;
		a.load = load;
		a.shared = true;
		vec_push(k->p->arena, &k->loaded, a);
		return true;
	}
	return false;
}

/* Loads an element of the row into a variable. */
static void load_of_row(void *user, expr e)
{
	struct find_of_row *f = user;
	struct row_kernel *k = f->k;
	if (e->op != IR_LOAD || rows_ahead_of(k, e) || !rows_is_of_row(k->r, k->st, e) || finds_row(k, e) ||
	    share_ahead(k, e, false))
		return;
	const struct ir_variable *v = ir_variable_new(k->p->pool, e->type, "%s_of_row", e->buf->name);
	declare_row_axes(k, f->b, e, NULL, NULL);
	emit_define(k->p, f->b, v, in_kernel(k, e), NULL);
	vec_push(k->p->arena, &k->loaded, ((struct ahead){ k->st, e, NULL, v, false }));
}

/* Loads all stages' vectors along the row, and their elements of the row, into registers. */
static void load_ahead(struct row_kernel *k, struct ir_block *b, expr lane)
{
	struct ir_program *p = k->p;
	struct find_along f = { .k = k };
	struct find_of_row of_row = { k, b };
	for (int i = 0; i < k->r->stages; i++) {
		k->st = &k->r->stage[i];
		ir_walk_unconditional(k->st->value, load_of_row, &of_row);
		if (k->st->post)
			ir_walk_unconditional(k->st->post, load_of_row, &of_row);
	}
	int elements = k->loaded.n;
	for (int i = 0; i < k->r->stages; i++) {
		k->st = &k->r->stage[i];
		k->along.n = 0;
		if (!rows_of_values(k->st))
			ir_walk_unconditional(k->st->value, find_along, &f);
		for (int j = 0; j < k->along.n; j++) {
			expr e = k->along.at[j];
			if (rows_ahead_of(k, e) || share_ahead(k, e, true))
				continue;
			struct ahead a = { k->st, e, ir_variable_new(p->pool, e->type, "%s_ahead", e->buf->name), NULL,
				           false };
			vec_push(p->arena, &k->loaded, a);
			emit_array_of_rows(p, b, a.array, k->steps, k->width);
		}
	}
	k->along.n = 0;
	if (k->loaded.n == elements)
		return;
	struct ir_block *body = rows_each_vector(k, b, lane, true);
	for (int i = elements; i < k->loaded.n; i++) {
		const struct ahead *a = &k->loaded.at[i];
		expr at = ir_binary(IR_ADD, k->at, place_along(k, a->st, a->load));
		if (!a->shared)
			emit_load_into(p, body, a->load->buf, at, a->array, k->step, k->width);
	}
	rows_part_end(k);
}

/* Inside each_vector: loads the stage's vectors along the row, and returns the loop over the elements of one vector. */
static struct ir_block *each_element(struct row_kernel *k, struct ir_block *b)
{
	struct ir_program *p = k->p;
	struct find_along f = { .k = k };
	k->along.n = k->along_array.n = 0;
	if (k->serial)
		return b;
	if (!k->shifted)
		ir_walk_unconditional(k->st->value, find_along, &f);
	for (int i = 0; i < k->along.n; i++) {
		expr e = k->along.at[i];
		bool again = false; /* number further vectors of the same buffer */
		for (int j = 0; j < i; j++)
			again |= k->along.at[j]->buf == e->buf;
		struct ir_variable *array = again ? ir_variable_new(p->pool, e->type, "%s_along%d", e->buf->name, i + 1)
		                                  : ir_variable_new(p->pool, e->type, "%s_along", e->buf->name);
		expr rest = ir_binary(IR_SUB, ir_flat(p->pool, e->buf, e->arg), k->st->at);
		vec_push(p->arena, &k->along_array, array);
		emit_load_vector(p, b, e->buf, ir_binary(IR_ADD, k->at, rest), array, k->width);
	}
	if (k->steps == 0 || k->rest) {
		f.own = true;
		ir_walk(k->st->value, find_along, &f); /* also conditional loads: their positions are in bounds */
		for (int i = 0; i < k->r->cached; i++)
			if (f.found[i] && k->rest)
				rows_move_shared(k, b, false);
			else if (f.found[i])
				rows_load_cached(k, b, i, NULL, false);
	}
	k->v = ir_var_of(ir_variable_of(p->pool, TYPE_INDEX, NULL, IR_HOLDS_ITEM, 0, "item"),
	                 ir_index(p->pool, k->width));
	k->vectors = true;
	return b;
}

static struct ir_block *element_loop(struct row_kernel *k, struct ir_block *b)
{
	expr item;
	if (k->serial)
		return b;
	b = emit_unrolled_each(k->p, b, ir_variable_of(k->p->pool, TYPE_INDEX, NULL, IR_HOLDS_ITEM, 0, "item"),
	                       k->width, &item);
	if (k->shifted)
		shifted_element(k);
	return b;
}

/* ---- Stages. */

static expr place_of_element(const struct row_kernel *k)
{
	return k->element ? k->element : k->v ? ir_binary(IR_ADD, k->at, k->v) : k->at;
}

/* The current stage's value of an element, with kept values. */
static expr value_of_element(struct row_kernel *k, struct ir_block *b)
{
	bool together = k->r->even && !k->serial; /* a vector's elements have the same axes where these matter */
	declare_row_axes(k, b, k->st->value, k->st->to, together ? k->at : place_of_element(k));
	expr value = in_kernel(k, k->st->value);
	const struct rows_kept *kept = &k->kept[k->ending];
	return kept->n ? rows_keep(kept, k->p, b, (int)(k->st - k->r->stage), value, k->step, k->v) : value;
}

/* Finds values to keep of the steps' elements, or of those after the steps: emits the stages once into a scratch block,
 * to get their expressions. */
static void find_kept(struct row_kernel *k, struct ir_block *b, expr lane, int part)
{
	struct ir_block none = { 0 };
	expr value[ROWS_MAX_STAGES] = { NULL };
	struct rows_kept *kept = &k->kept[part];
	int steps = part ? 1 : k->steps, width = part ? k->tail : k->wide;
	for (int i = 0; i < k->r->stages; i++) {
		k->st = &k->r->stage[i];
		if (rows_of_values(k->st))
			continue;
		rows_part(k, part);
		struct ir_block *body = element_loop(k, each_element(k, rows_each_vector(k, &none, lane, false)));
		value[i] = value_of_element(k, body);
		rows_part_end(k);
	}
	rows_kept_find(kept, k->r->stages, value);
	for (int i = 0; i < kept->n; i++) {
		const char *name = part ? "kept_tail" : "kept_v";
		kept->array[i] = i ? ir_variable_new(k->p->pool, kept->value[i]->type, "%s%d", name, i + 1)
		                   : ir_variable_new(k->p->pool, kept->value[i]->type, "%s", name);
		emit_array_of_rows(k->p, b, kept->array[i], steps, width);
	}
}

/* Combines what the lanes of a row have. */
static struct ir_lanes *combine_lanes(struct row_kernel *k, struct ir_block *b, const struct ir_variable *v)
{
	struct ir_lanes *all = emit_lanes_combine(k->p, b, v, k->st->s->combine, k->lanes);
	all->columns = k->r->beside;
	if (k->blocks > 1) {
		all->blocks = k->blocks;
		all->lanes = k->lanes / k->blocks;
	}
	return all;
}

/* The place of the row's best element. */
static void find_best(struct row_kernel *k, struct ir_block *b, expr lane)
{
	struct ir_program *p = k->p;
	const struct ir_stage *s = k->st->s;
	struct accumulator a = accumulator_of(p, s);
	a.value = emit_variable(p, b, arena_printf(p->arena, "%s_best", s->out->name),
	                        ir_identity(p->pool, s->combine, s->value->type));
	a.position = emit_variable(p, b, arena_printf(p->arena, "%s_at", s->out->name), a.none);
	for (int part = 0; rows_part(k, part); part++) {
		struct ir_block *body = element_loop(k, each_element(k, rows_each_vector(k, b, lane, false)));
		expr value = emit_constant(p, body, "value", value_of_element(k, body), NULL);
		expr better = accumulator_better(s->combine, value, a.value);
		body = emit_if(p, body, k->inside ? ir_binary(IR_AND, k->inside, better) : better);
		emit_assign(p, body, a.value, value);
		emit_assign(p, body, a.position, place_of_element(k));
		rows_part_end(k);
	}
	if (!k->serial && (k->lanes > 1 || k->r->beside))
		combine_lanes(k, b, a.value->var)->index = a.position->var;
	emit_define(p, b, value_variable(k, s->out), ir_cast(accumulator_position_of_better(&a), s->out->type), NULL);
}

static void reduce_row(struct row_kernel *k, struct ir_block *b, expr lane)
{
	struct ir_program *p = k->p;
	const struct ir_stage *s = k->st->s;
	const char *name = arena_printf(p->arena, "%s_%s", s->out->name,
	                                s->combine == IR_NONE ? "all" : ir_combine_name[s->combine]);
	/* Without a conversion the combination is the row's value. */
	bool done = !k->st->post && s->value->type == s->out->type;
	expr none = ir_identity(p->pool, s->combine, s->value->type);
	expr sum = done ? emit_define_variable(p, b, value_variable(k, s->out), none) : emit_variable(p, b, name, none);
	for (int part = 0; rows_part(k, part); part++) {
		struct ir_block *body = rows_each_vector(k, b, lane, false);
		body = element_loop(k, each_element(k, body));
		expr value = value_of_element(k, body);
		if (k->inside) { /* not computed in a branch */
			value = emit_declare(p, body, "part", value, NULL);
			value = ir_select(k->inside, value, ir_identity(p->pool, s->combine, value->type));
		}
		emit_assign(p, body, sum, ir_combine_expr(s->combine, sum, value));
		rows_part_end(k);
	}
	if (!k->serial && (k->lanes > 1 || k->r->beside))
		combine_lanes(k, b, sum->var)->across =
		        ir_variable_new(p->pool, sum->type, "%s_across", sum->var->hint);
	if (done)
		return;
	k->acc = sum;
	expr post = k->st->post ? k->st->post : ir_cast(ir_acc(p->pool, s->value->type), s->out->type);
	declare_row_axes(k, b, post, NULL, NULL);
	emit_define(p, b, value_variable(k, s->out), in_kernel(k, post), NULL);
	k->acc = NULL;
}

static void value_of_row(struct row_kernel *k, struct ir_block *b)
{
	declare_row_axes(k, b, k->st->value, NULL, NULL);
	emit_define(k->p, b, value_variable(k, k->st->s->out), in_kernel(k, k->st->value), NULL);
}

/* Stores the row's values that lie apart. */
static void store_joined(struct row_kernel *k, struct ir_block *b, expr lane)
{
	struct ir_program *p = k->p;
	if (!k->serial)
		b = emit_if(p, b, ir_binary(IR_EQ, lane, ir_index(p->pool, 0)));
	for (int i = 0; i < k->st->joined; i++) {
		declare_row_axes(k, b, k->st->each[i], k->st->place[i], NULL);
		expr place = in_kernel(k, k->st->place[i]);
		emit_store_flat(p, b, flat_view(p, k->st->s->out), place, in_kernel(k, k->st->each[i]));
	}
}

static void map_row(struct row_kernel *k, struct ir_block *b, expr lane)
{
	struct ir_program *p = k->p;
	const struct ir_buffer *out = k->st->s->out;
	expr base = ir_binary(IR_MUL, k->row, k->r->length);
	for (int part = 0; rows_part(k, part); part++) {
		struct ir_variable *result =
		        ir_variable_new(p->pool, out->type, k->ending ? "%s_tail" : "%s_v", out->name);
		struct ir_block *in = each_element(k, rows_each_vector(k, b, lane, false));
		if (!k->serial && !k->st->to)
			emit_array(p, in, result, k->width);
		struct ir_block *body = element_loop(k, in);
		expr y = value_of_element(k, body);
		if (k->st->to) {
			if (k->place)
				body = emit_if(p, body, k->inside);
			emit_store(p, body, out, in_kernel(k, k->st->to), y);
		} else if (k->serial) {
			emit_store(p, body, out, ir_binary(IR_ADD, base, k->at), y);
		} else {
			emit_set(p, body, result, k->v, y);
			if (k->shifted)
				shifted_store(k, in, out, result);
			else
				emit_store_vector(p, k->place ? emit_if(p, in, k->inside) : in, out,
				                  ir_binary(IR_ADD, base, k->place ? k->place : k->at), result,
				                  k->width)
				        ->once = k->once;
		}
		rows_part_end(k);
	}
}

void rows_all_stages(struct row_kernel *k, struct ir_block *b, expr lane)
{
	struct ir_program *p = k->p;
	if (!k->serial)
		find_rows(k, b);
	if (k->shifted)
		shifted_begin(k, b);
	if (k->steps > 0 && !k->serial) {
		load_row(k, b, lane);
		if (k->ahead)
			load_ahead(k, b, lane);
		for (int part = 0; part <= (k->tail > 0) && rows_keeps(k->steps * k->width + k->tail); part++)
			find_kept(k, b, lane, part);
	}
	int last = -1; /* of the reductions */
	for (int i = 0; i < k->r->stages; i++)
		last = k->r->stage[i].kind == ROWS_REDUCE ? i : last;
	for (int i = 0; i < k->r->stages; i++) {
		const struct ir_stage *s = k->r->stage[i].s;
		/* Axes are local to a stage. */
		struct ir_block *own = b;
		k->st = &k->r->stage[i];
		if (k->st->kind == ROWS_REDUCE && ir_combine_is_arg(s->combine))
			find_best(k, own, lane);
		else if (k->st->kind == ROWS_REDUCE)
			reduce_row(k, own, lane);
		else if (k->st->kind == ROWS_VALUE)
			value_of_row(k, own);
		else if (k->st->kind == ROWS_JOINED)
			store_joined(k, own, lane);
		else
			map_row(k, own, lane);
		if (i == last && k->blocks > 1)
			emit_invoke(p, own, &device_cluster_arrive, IR_OF_NOTHING);
		if (k->st->kind == ROWS_MAP || k->st->kind == ROWS_JOINED || !rows_stored(k->r, i))
			continue;
		expr made = ir_var_of(value_variable(k, s->out), NULL);
		if (!k->serial)
			own = emit_if(p, own, ir_binary(IR_EQ, lane, ir_index(p->pool, 0)));
		emit_store(p, own, s->out, k->row, made);
	}
}
