/* Rule rows: a row program in one kernel. The `lanes` threads of a row keep its elements in registers from the first
 * stage to the last, `steps` vectors of `width` each, of which the last `shared` are in shared memory. steps 0:
 * rows of any length, which every stage loads again. ahead 1: weights and biases are loaded with the row, before the
 * reductions wait for it. */
#include "sched/row/rows_kernel.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <string.h>

#include "ir/axis_names.h"

enum { WARP = 32, SHIFTED_LANES = 1024, SHIFTED_STEPS = 16, SHIFTED_FEW = 4, LONGER = 8 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct rows r;
	if (rows_match(&r, p, s)) {
		r.spared = rows_spared(&r);
		return FOUND(p, r);
	}
	*why = "the stage is not a reduction along rows that lie in order";
	return NULL;
}

static int span(const struct sched_site *site)
{
	return ((const struct rows *)site->found)->stages;
}

/* ---- The kernel. */

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
		if (k->st->kind != ROWS_VALUE)
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
	declare_row_axes(k, b, k->st->value, k->st->to, place_of_element(k));
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
		if (k->st->kind == ROWS_VALUE)
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
	if (!k->serial && (k->lanes > 1 || k->r->beside)) {
		struct ir_lanes *all = emit_lanes_combine(p, b, sum->var, s->combine, k->lanes);
		all->columns = k->r->beside;
		if (k->blocks > 1) {
			all->blocks = k->blocks;
			all->lanes = k->lanes / k->blocks;
		}
		all->across = ir_variable_new(p->pool, sum->type, "%s_across", sum->var->hint);
	}
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

static void all_stages(struct row_kernel *k, struct ir_block *b, expr lane)
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
		if (k->st->kind == ROWS_REDUCE)
			reduce_row(k, own, lane);
		else if (k->st->kind == ROWS_VALUE)
			value_of_row(k, own);
		else
			map_row(k, own, lane);
		if (i == last && k->blocks > 1)
			emit_invoke(p, own, &device_cluster_arrive, IR_OF_NOTHING);
		if (k->st->kind == ROWS_MAP || !rows_stored(k->r, i))
			continue;
		expr made = ir_var_of(value_variable(k, s->out), NULL);
		if (!k->serial)
			own = emit_if(p, own, ir_binary(IR_EQ, lane, ir_index(p->pool, 0)));
		emit_store(p, own, s->out, k->row, made);
	}
}

static void share_rest(struct row_kernel *own, struct ir_kernel *k)
{
	struct ir_program *p = own->p;
	const struct ir_buffer *row = own->r->cache[0].buf;
	int lanes = own->lanes / own->blocks, vectors = (own->steps - own->held) * lanes;
	struct ir_buffer *shared = NEW(p->arena, struct ir_buffer);
	*shared = (struct ir_buffer){
		.name = "rest_of_row", .type = row->type, .rank = 1, .role = IR_TEMP, .id = row->id
	};
	shared->dim[0] = ir_index(p->pool, (int64_t)vectors * own->width);
	vec_push(p->arena, &k->shared, (const struct ir_buffer *)shared);
	own->shared = shared;
	k->shared_bytes = rows_shared_bytes(own->r, lanes, own->width, own->steps - own->held);
	if (k->shared_bytes + TARGET_EXCHANGE > TARGET_SHARED_EVERYWHERE)
		k->arch = own->r->arch;
}

/* `shifted`: for rows of any length, in vectors that start where memory is aligned. */
static void one_kernel(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c,
                       int lanes, int width, int steps, int shared, bool shifted, const char *suffix)
{
	struct ir_program *p = plan->program;
	const struct ir_stage *last = r->stage[r->stages - 1].s;
	struct ir_kernel *k = kernel_new(plan, last, suffix, c);
	int beside = r->beside, blocks = c->param[6] > 1 && steps > 0 ? c->param[6] : 1,
	    rows_a_block = beside ? beside : rows_of_block(lanes);
	if (rows_steps_held(r, beside ? lanes * beside : lanes, width, steps, 1) < steps - shared) /* registers have no
	                                                                                              room */
		steps = shared = 0;
	int tail = shifted && blocks == 1 && !shared ? rows_tail(r, lanes, width, steps) : 0;
	steps -= tail > 0;
	struct row_kernel own = { .r = r,
		                  .p = p,
		                  .lanes = lanes * blocks,
		                  .blocks = blocks,
		                  .width = width,
		                  .wide = width,
		                  .steps = steps,
		                  .tail = tail,
		                  .once = c->param[3],
		                  .ahead = c->param[4] && !shifted,
		                  .shifted = shifted };
	struct row_kernel alone = { .r = r, .p = p, .lanes = 1, .width = 1, .wide = 1, .serial = true };
	own.held = steps - shared;
	if (own.held < steps)
		share_rest(&own, k);
	expr rows = r->count, several = ir_index(p->pool, rows_a_block), zero = ir_index(p->pool, 0);
	k->threads = lanes * rows_a_block;
	k->resident = beside ? 0 : rows_resident(r, lanes, own.held * width, shared);
	k->blocks = ceil_div(p, rows, rows_a_block);
	if (blocks > 1) {
		k->cluster = blocks;
		k->arch = r->arch;
		k->blocks = ir_binary(IR_MUL, k->blocks, ir_index(p->pool, blocks));
	}
	expr block = ir_block(p->pool, k->blocks);
	expr thread = ir_thread(p->pool, ir_index(p->pool, k->threads));
	expr turned =
	        r->backwards ? ir_binary(IR_SUB, ir_binary(IR_SUB, k->blocks, ir_index(p->pool, 1)), block) : block;
	expr row = turned, lane = thread, first = ir_binary(IR_MUL, turned, several);
	if (beside) {
		lane = ir_binary(IR_FLOORDIV, thread, several);
		row = ir_binary(IR_ADD, first, ir_binary(IR_MOD, thread, several));
	} else if (rows_a_block > 1) {
		lane = ir_binary(IR_MOD, thread, ir_index(p->pool, lanes));
		row = ir_binary(IR_ADD, first, ir_binary(IR_FLOORDIV, thread, ir_index(p->pool, lanes)));
	}
	if (blocks > 1) {
		expr cluster = ir_index(p->pool, blocks);
		row = first = ir_binary(IR_FLOORDIV, block, cluster);
		own.thread = thread;
		lane = ir_binary(IR_ADD, ir_binary(IR_MUL, ir_binary(IR_MOD, block, cluster), ir_index(p->pool, lanes)),
		                 thread);
	}
	bool alone_each = lanes == 1 && !beside;
	lane = alone_each ? ir_index(p->pool, 0)
	                  : emit_constant(p, &k->body, "lane", lane, ir_index(p->pool, own.lanes));
	if ((lanes < WARP && !alone_each) || beside) /* all lanes exchange values: those without a row repeat the last
	                                              */
		row = ir_binary(IR_MIN, row, ir_binary(IR_SUB, rows, ir_index(p->pool, 1)));
	row = emit_constant(p, &k->body, "row", row, NULL);
	if (rows_a_block > 1 && (lanes >= WARP || alone_each) && !beside)
		emit_return_if(p, &k->body, ir_binary(IR_LE, rows, row));
	own.row = ir_is_int(rows, 1) ? zero : ir_var_of(row->var, rows);
	all_stages(&own, &k->body, lane);
	if (blocks > 1) /* others may still read this block's values */
		emit_invoke(p, &k->body, &device_cluster_wait, IR_OF_NOTHING);

	/* The same rows for a CPU. */
	const struct ir_variable *alone_row = ir_variable_new(p->pool, TYPE_INDEX, "row");
	expr end = ir_binary(IR_MIN, rows, ir_binary(IR_ADD, first, several));
	if (blocks > 1) { /* by the first block of a cluster */
		expr rank = ir_binary(IR_MOD, block, ir_index(p->pool, blocks));
		end = ir_select(ir_binary(IR_EQ, rank, zero), ir_binary(IR_ADD, first, several), first);
	}
	struct ir_block *b = emit_for_each(p, &k->serial, alone_row, first, end, ir_index(p->pool, 1));
	alone.row = ir_var_of(alone_row, rows);
	all_stages(&alone, b, zero);

	/* Guards: complete vectors, and a row that fits. */
	if (shifted)
		shifted_needs(&own, k);
	else if (width > 1)
		kernel_needs(k, whole_multiple(p, r->length, width));
	if (steps > 0 && !shifted)
		kernel_needs(k, ir_binary(IR_LE, r->length, ir_index(p->pool, (int64_t)steps * own.lanes * width)));
	if (steps > 0) /* loads are clamped to the row, which has an element */
		kernel_needs(k, ir_binary(IR_LT, ir_index(p->pool, 0), r->length));
	kernel_needs(k, r->needs);
	k->about = rows_text(&own);
	k->method = rows_method(&own, c);
	kernel_finish(plan, step, k, last);
}

/* Appends the kernels for rows that no vector divides (rows_shifted.c), with the lanes of c, as far as registers hold
 * the rows. */
static void apply_shifted(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c)
{
	struct rows own;
	int lanes = c->param[0], width = c->param[1], steps = c->param[2], room = 0;
	if (!rows_shifted(&own, r))
		return;
	int widest = rows_widest(&own);
	steps = rows_shifted_steps(&lanes, width, steps, widest);
	if (!steps)
		steps = SHIFTED_STEPS;
	/* Then rows several times as long each, up to the longest. */
	for (const char *suffix = "_shifted"; room < SHIFTED_LANES * SHIFTED_STEPS; suffix = "_longer") {
		int most = rows_steps_held(&own, lanes, widest, SHIFTED_STEPS, 1);
		steps = steps < most ? steps : most;
		if (steps * lanes <= room)
			break;
		room = steps * lanes;
		int narrow = rows_shifted_width(lanes, steps, widest);
		one_kernel(plan, step, &own, c, lanes, narrow, steps * widest / narrow, 0, true, suffix);
		for (steps = SHIFTED_FEW; lanes < SHIFTED_LANES && lanes * steps < LONGER * room;)
			lanes *= 2;
		if (lanes == SHIFTED_LANES)
			steps = SHIFTED_STEPS;
	}
}

void rows_apply(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c, bool others)
{
	int lanes = c->param[0], width = c->param[1], steps = c->param[2];
	one_kernel(plan, step, r, c, lanes, width, steps, c->param[5], false, "");
	if (step->n && step->at[step->n - 1]->arch) /* for other GPUs */
		one_kernel(plan, step, r, c, lanes, width, 0, 0, false, "_again");
	if (others || step_fits_all(step) || (width == 1 && steps == 0))
		return;
	if (lanes > 1) /* others have kernels for rows that are too long for a thread */
		apply_shifted(plan, step, r, c);
	one_kernel(plan, step, r, c, lanes < WARP ? WARP : lanes, 1, 0, 0, false, "_any");
}

void rows_apply_interleaved(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c)
{
	int lanes = c->param[0];
	one_kernel(plan, step, r, c, lanes, c->param[1], c->param[2], 0, false, "");
	if (!step_fits_all(step))
		one_kernel(plan, step, r, c, lanes, 1, 0, 0, false, "_any");
}

void rows_apply_shift(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c)
{
	int lanes = c->param[0];
	one_kernel(plan, step, r, c, lanes, c->param[1], c->param[2], c->param[5], true, "");
	if (!step_fits_all(step))
		one_kernel(plan, step, r, c, lanes < WARP ? WARP : lanes, 1, 0, 0, false, "_any");
}

void rows_apply_cluster(struct ir_plan *plan, struct ir_step *step, struct rows *r, const struct sched_choice *c,
                        bool shifted)
{
	int lanes = c->param[0], width = c->param[1];
	one_kernel(plan, step, r, c, lanes, width, c->param[2], c->param[5], shifted, "");
	if (!step_fits_all(step)) /* for other GPUs */
		one_kernel(plan, step, r, c, lanes, shifted ? 1 : width, 0, 0, false, "_any");
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct rows r = *(const struct rows *)site->found;
	r.arch = site->t->arch;
	rows_apply(plan, step_new(plan), &r, c, false);
}

const struct sched_rule sched_rows = {
	.name = "rows",
	.version = 4,
	.about = "A row has {lanes thread}{steps?, and stays in registers from the first stage to the last: "
	         "{steps vector} of {width element} each{once?, loaded past the caches}}{steps!, and every stage "
	         "reads it again}.{shared? The last {shared vector} of each thread are in shared memory.}",
	.param = { { "lanes", 1, 1024 },
	           { "width", 1, 16 },
	           { "steps", 0, 128 },
	           { "once", 0, 1 },
	           { "ahead", 0, 1 },
	           { "shared", 0, 32 } },
	.match = match,
	.span = span,
	.candidates = rows_candidates,
	.apply = apply,
	.estimate = rows_estimate,
};
