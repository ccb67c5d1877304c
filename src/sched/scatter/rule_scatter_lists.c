/* Rule scatter_lists: scatters of whole rows. A small kernel builds a linked list of each row's updates. Then one
 * kernel makes every element once, from its initial value and its row's updates: nothing is stored twice, and sums need
 * no atomics. */
#include "sched/scatter/scatter.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>

#include "ir/axis_names.h"

enum { THREADS = 256, BYTES = 16, LEAST_BYTES = 128 };

struct scatter_lists {
	struct ir_program *p;
	const struct ir_stage *s;
	int lead, updates, width; /* lead: result axes that select the row; updates: update axes that select the update
	                           */
	int64_t row;              /* elements per row */
	expr rows, count;
	const struct ir_buffer *first, *next; /* per row: its first update, or -1; per update: the row's next one */
};

static bool find(struct scatter_lists *x, struct ir_program *p, const struct ir_stage *s)
{
	int rank = s->out->rank;
	bool used[IR_MAX_RANK] = { false };
	int64_t extent, inner = 1;
	*x = (struct scatter_lists){ .p = p, .s = s, .lead = rank, .updates = s->space_rank, .row = 1 };
	if (s->kind != IR_SCATTER || type_is_packed(s->out->type))
		return false;
	while (x->lead > 0 && x->updates > 0 && s->at[x->lead - 1]->op == IR_AXIS &&
	       s->at[x->lead - 1]->i == x->updates - 1 && s->out->dim[x->lead - 1] == s->space[x->updates - 1] &&
	       ir_const_int(s->out->dim[x->lead - 1], &extent) && extent > 0 && extent < INT32_MAX / x->row) {
		inner = x->lead == rank ? extent : inner;
		x->row *= extent;
		x->lead--;
		x->updates--;
	}
	if (x->lead < 1 || x->lead == rank)
		return false;
	for (int k = 0; k < x->lead; k++)
		ir_mark_axes(s->at[k], used);
	if (s->where)
		ir_mark_axes(s->where, used);
	for (int k = x->updates; k < s->space_rank; k++)
		if (used[k])
			return false;
	x->rows = x->count = ir_index(p->pool, 1);
	for (int k = 0; k < x->lead; k++)
		x->rows = ir_binary(IR_MUL, x->rows, s->out->dim[k]);
	for (int k = 0; k < x->updates; k++)
		x->count = ir_binary(IR_MUL, x->count, s->space[k]);
	for (x->width = BYTES * 8 / type_info(s->out->type)->bits; inner % x->width;)
		x->width /= 2;
	expr most = ir_index(p->pool, INT32_MAX);
	return x->row * type_info(s->out->type)->bits / 8 >= LEAST_BYTES &&
	       ir_nonnegative(ir_binary(IR_SUB, most, x->count));
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct scatter_lists x;
	if (!s->out->replaces && find(&x, p, s))
		return FOUND(p, x);
	*why = s->out->replaces ? scatter_in_place : "the stage is not a scatter of whole rows";
	return NULL;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	(void)site;
	out[0] = (struct sched_choice){ &sched_scatter_lists, { 0 } };
	return 1;
}

/* UPDATE_NS: 1,827 updates a row, of 24 rows of 202 f16, take 648 us on an H200. Measured on an H100, 537 MB copied
 * with 19,200 of 524,288 rows of 512 bytes replaced or added to: 184 and 187 us; with two kernels that copy and update:
 * 187 and 192. */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	enum { UPDATE_NS = 350 };
	struct ir_stage fill = { .kind = IR_MAP, .out = s->out, .value = s->init };
	struct sched_choice one[SCHED_RULE_CHOICES];
	(void)c;
	struct scatter_lists x = *(const struct scatter_lists *)site->found;
	rule_candidates(sched_rule_of_maps, p, &fill, t, one);
	double rows = (double)about(x.rows, t), numbers = rows * 8;
	double moved = sched_estimate(p, &fill, &one[0], t) + (numbers + scatter_bytes_read(p, s, t)) / t->bytes_per_ns;
	/* A thread follows the list of its row: an update waits for the number before it, and then for its value. */
	double threads = rows * (double)x.row / x.width, turns = ceil(threads / ((double)t->processors * t->threads));
	double list = s->combine == IR_NONE ? 1 : (double)about(x.count, t) / fmax(rows, 1);
	return fmax(moved, turns * list * UPDATE_NS) + 1.5 * t->launch_ns;
}

/* ---- The lists of updates. */

static expr row_of_update(struct scatter_lists *x, const expr *axis)
{
	struct axes here = { .value = axis };
	expr at = ir_index(x->p->pool, 0);
	for (int k = 0; k < x->lead; k++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, x->s->out->dim[k]), x->s->at[k]);
	return to_kernel(x->p, at, &here);
}

static void note_updates(struct ir_plan *plan, struct scatter_lists *x, const struct sched_choice *c)
{
	struct ir_program *p = x->p;
	const struct ir_stage *s = x->s;
	struct ir_kernel *k = kernel_new(plan, s, "_note", c);
	bool used[IR_MAX_RANK] = { false };
	expr axis[IR_MAX_RANK] = { NULL };
	struct axes here = { .value = axis };
	expr number = declare_element(p, k, x->count, THREADS, 1);
	for (int i = 0; i < x->lead; i++)
		ir_mark_axes(s->at[i], used);
	if (s->where)
		ir_mark_axes(s->where, used);
	declare_axes(p, &k->body, number, x->updates, s->space, ir_axis_names[1], used, axis);
	struct ir_block *b = s->where ? emit_if(p, &k->body, to_kernel(p, s->where, &here)) : &k->body;
	struct ir_call *call =
	        emit_invoke(p, b, s->combine == IR_NONE ? &device_note_last : &device_note_next, IR_OF_NOTHING);
	add_address(p, call, x->first, row_of_update(x, axis), true);
	if (s->combine != IR_NONE)
		add_address(p, call, x->next, number, true);
	add_value(p, call, number);
	emit_comment(p, &k->serial, "on one processor, the next kernel makes all updates in their order");
	kernel_finish(plan, step_new(plan), k, s);
}

/* ---- The rows. */

static struct scatter_vectors vectors_along(const struct scatter_lists *x, expr value, int axis, bool update)
{
	struct scatter_vectors v = { x->p, axis, x->width, update, x->s->out->dim[x->s->out->rank - 1], { 0 }, NULL };
	scatter_vectors_find(&v, value);
	return v;
}

/* Types of 16 bits or fewer are combined in f32. */
static expr combined(struct scatter_lists *x, expr a, expr b)
{
	enum type t = x->s->out->type;
	if (x->s->combine == IR_NONE)
		return b;
	if (!type_is_float(t) || type_info(t)->bits >= 32)
		return ir_combine_expr(x->s->combine, a, b);
	return ir_cast(ir_combine_expr(x->s->combine, ir_cast(a, TYPE_F32), ir_cast(b, TYPE_F32)), t);
}

static struct ir_variable *result_vector(const struct scatter_lists *x)
{
	return ir_variable_of(x->p->pool, x->s->out->type, x->s->out, IR_HOLDS_VECTOR, 0, "%s_v", x->s->out->name);
}

/* result[v] = combine(result[v], value) for neighbours along the value's axis `last`. `element`: the result's position
 * if the value is the initial one; else null. */
static void emit_items(struct scatter_lists *x, struct ir_block *b, expr value, const expr *axis, int last,
                       expr element)
{
	struct ir_program *p = x->p;
	struct ir_variable *result = result_vector(x);
	expr v, lane[IR_MAX_RANK], same = element ? ir_own_position(x->p->pool, x->s->out) : NULL;
	struct axes start = { .value = axis, .same = same, .same_as = element };
	bool update = !element;
	struct scatter_vectors vectors = vectors_along(x, value, last, update);
	for (int i = 0; i < vectors.load.n; i++) {
		expr e = vectors.load.at[i], at = ir_flat(p->pool, e->buf, e->arg);
		expr rest = same ? ir_binary(IR_SUB, at, same) : at;
		at = same && !rest->varies ? ir_binary(IR_ADD, element, rest) : to_kernel(p, at, &start);
		emit_load_vector(p, b, e->buf, at, scatter_vector(&vectors, i), x->width)->once =
		        x->s->combine == IR_NONE;
	}
	struct ir_block *items = emit_unrolled(p, b, "v", x->width, &v);
	vectors.v = v;
	for (int k = 0; k < IR_MAX_RANK; k++)
		lane[k] = k == last ? ir_binary(IR_ADD, axis[k], v) : axis[k];
	struct axes here = { .value = lane, .load = scatter_vectors_item, .user = &vectors, .same = same };
	here.same_as = element ? ir_binary(IR_ADD, element, v) : NULL;
	expr made = to_kernel(p, value, &here);
	expr so_far = item_of(result, v);
	emit_set(p, items, result, v, update ? combined(x, so_far, made) : made);
}

/* Applies the update with that number to the thread's elements. */
static void emit_update_of_row(struct scatter_lists *x, struct ir_block *b, expr number, const expr *own)
{
	struct ir_program *p = x->p;
	const struct ir_stage *s = x->s;
	bool used[IR_MAX_RANK] = { false };
	expr axis[IR_MAX_RANK] = { NULL };
	ir_mark_axes(s->value, used);
	number = emit_constant(p, b, "update", ir_cast(number, TYPE_INDEX), x->count);
	declare_axes(p, b, number, x->updates, s->space, ir_axis_names[1], used, axis);
	for (int k = x->updates; k < s->space_rank; k++)
		axis[k] = own[x->lead + k - x->updates];
	emit_items(x, b, s->value, axis, s->space_rank - 1, NULL);
}

/* Marks the axes that only the start positions of the initial value's vectors use. */
static void find_rows_axes(struct scatter_lists *x, bool *used)
{
	expr same = ir_own_position(x->p->pool, x->s->out);
	struct scatter_vectors vectors = vectors_along(x, x->s->init, x->s->out->rank - 1, false);
	vec_each (e, &vectors.load) {
		expr flat = ir_flat(x->p->pool, (*e)->buf, (*e)->arg);
		if (ir_binary(IR_SUB, flat, same)->varies)
			ir_mark_axes(flat, used);
	}
}

static void make_rows(struct ir_plan *plan, struct scatter_lists *x, const struct sched_choice *c)
{
	struct ir_program *p = x->p;
	const struct ir_stage *s = x->s;
	int rank = s->out->rank;
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	struct ir_block *b = &k->body;
	bool used[IR_MAX_RANK] = { false };
	expr own[IR_MAX_RANK] = { NULL }, zero = ir_index(p->pool, 0), one = ir_index(p->pool, 1);
	expr element = declare_element(p, k, out_count(p, s), THREADS, x->width);
	for (int i = 0; i < rank; i++)
		own[i] = ir_axis(p->pool, i, s->out->dim[i]);
	struct axes before = { .value = own, .same = ir_own_position(x->p->pool, x->s->out), .same_as = element };
	ir_mark_axes(to_kernel(p, s->init, &before), used);
	find_rows_axes(x, used);
	for (int i = x->lead; i < rank; i++)
		used[i] = true;
	declare_axes(p, b, element, rank, s->out->dim, ir_axis_names[0], used, own);
	for (int i = 0; i < rank; i++)
		own[i] = own[i] ? own[i] : zero; /* unused */
	expr row = emit_declare(p, b, "row", ir_binary(IR_FLOORDIV, element, ir_index(p->pool, x->row)), x->rows);
	expr none = ir_int(p->pool, TYPE_I32, 0), first = ir_load(p->pool, flat_view(p, x->first), &row);
	expr number = emit_variable(p, b, "number", first);
	emit_array(p, b, result_vector(x), x->width);
	if (s->combine == IR_NONE) {
		emit_items(x, emit_if(p, b, ir_binary(IR_LT, number, none)), s->init, own, rank - 1, element);
		emit_update_of_row(x, emit_if(p, b, ir_binary(IR_LE, none, number)), number, own);
	} else {
		emit_items(x, b, s->init, own, rank - 1, element);
		expr turn;
		struct ir_block *turns = emit_loop(p, b, "turn", zero, x->count, one, x->count, &turn);
		emit(p, turns, IR_BREAK_IF)->leave = ir_binary(IR_LT, number, none);
		emit_update_of_row(x, turns, number, own);
		expr at = ir_cast(number, TYPE_INDEX);
		emit_assign(p, turns, number, ir_load(p->pool, flat_view(p, x->next), &at));
	}
	emit_store_vector(p, b, s->out, element, result_vector(x), x->width)->once = s->combine == IR_NONE;

	/* Serial twin: the first block does everything. */
	expr block = ir_block(p->pool, k->blocks), axis[IR_MAX_RANK];
	struct axes here = { .value = axis };
	struct ir_block *serial = emit_if(p, &k->serial, ir_binary(IR_EQ, block, zero)), *each = serial;
	for (int i = 0; i < rank; i++) {
		each = emit_loop(p, each, ir_axis_names[0][i], zero, s->out->dim[i], one, s->out->dim[i], &axis[i]);
	}
	emit_store(p, each, s->out, ir_flat(p->pool, s->out, axis), to_kernel(p, s->init, &here));
	emit_serial_updates(p, serial, s, 0, axis);
	kernel_finish(plan, step_new(plan), k, s);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct ir_stage *fill = NEW(p->arena, struct ir_stage);
	struct sched_choice one[SCHED_RULE_CHOICES];
	struct scatter_lists x = *(const struct scatter_lists *)site->found;
	struct ir_buffer *first =
	        ir_buffer_new(p, arena_printf(p->arena, "%s_first", s->out->name), TYPE_I32, 1, &x.rows, IR_TEMP);
	x.first = first;
	if (s->combine != IR_NONE)
		x.next = ir_buffer_new(p, arena_printf(p->arena, "%s_next", s->out->name), TYPE_I32, 1, &x.count,
		                       IR_TEMP);
	*fill = (struct ir_stage){ .kind = IR_MAP, .out = first, .value = ir_int(p->pool, TYPE_I32, -1) };
	rule_candidates(sched_rule_of_maps, p, fill, site->t, one);
	apply_choice(plan, fill, &one[0], site->t);
	note_updates(plan, &x, c);
	make_rows(plan, &x, c);
}

const struct sched_rule sched_scatter_lists = {
	.name = "scatter_lists",
	.version = 1,
	.about = "A small kernel makes a linked list of the updates of each row. Another computes each "
	         "element once, from its initial value and these updates.",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
