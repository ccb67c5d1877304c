/* Contractions: the epilogue. Subtracts the zero points' share from the sums, applies the maps and stores the results.
 * See contract_kernel.h. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/stored.h"
#include "sched/build/vectors.h"

#include <string.h>

enum type contract_sum_type(const struct contract_kernel *k)
{
	return k->c->s->value->type == TYPE_F32 ? TYPE_F32 : TYPE_I32;
}

/* ---- Zero points: sum over k of (a - p) (b - q) = sum of a b - q * sum of a - p * sum of b + depth * p * q. */

bool contract_has_zeros(const struct contract_kernel *k)
{
	return k->c->side[0].zero || k->c->side[1].zero;
}

void contract_declare_zeros(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	const struct contract *c = k->c;
	for (int side = 0; side < 2; side++) {
		enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
		const char *name = side ? "column" : "row";
		bool used[2 * IR_MAX_RANK] = { false };
		struct ir_lambda *f = emit_lambda(k->p, b, text(k, "%s_zero", contract_side_name[side]));
		k->zero[side] = f->var;
		expr at = emit_parameter(k->p, f, TYPE_INDEX, name, c->extent[own]),
		     none = ir_int(k->p->pool, TYPE_I32, 0);
		f->value = none;
		if (c->side[side].zero) {
			ir_mark_axes(c->side[side].zero, used);
			contract_declare_group(k, f->body, own, at, used);
			struct axes here = { .value = k->axis };
			f->value = ir_select(ir_binary(IR_LT, ir_var_of(at->var, NULL), c->extent[own]),
			                     to_kernel(k->p, c->side[side].zero, &here), none);
		}
		struct ir_variable *sum = ir_object_new(k->p->pool, &device_mma_sum, IR_OF(IR_TYPE(TYPE_I32)), "%s_sum",
		                                        contract_side_name[side]);
		k->own_sum[side] = emit_zeros(k->p, b, array_of(sum, side ? s->warp_columns / 8 : s->warp_rows / TILE));
	}
}

static void take_zeros(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	expr at[2];
	struct ir_block *in = unrolled(k, b, "row", s->warp_rows / TILE, 1, &at[0]);
	in = unrolled(k, in, "column", s->warp_columns / 8, 1, &at[1]);
	struct ir_call *call = emit_invoke(k->p, in, &device_sums_less_zeros, IR_OF_NOTHING);
	add_item_of_row(k->p, call, k->sum, at[0], at[1]);
	for (int side = 0; side < 2; side++)
		add_item(k->p, call, k->own_sum[side], at[side]);
	for (int side = 0; side < 2; side++) {
		expr warp = plus(ir_var_of(k->first[side], NULL), ir_var_of(k->warp[side], NULL));
		add_value(k->p, call, plus(warp, times(at[side], side ? TILE / 2 : TILE)));
	}
	add_value(k->p, call, k->c->parts ? contract_length(k->range) : k->c->depth);
	for (int side = 0; side < 2; side++)
		add_variable(k->p, call, k->zero[side]);
}

/* ---- Results. */

/* The value that an earlier stage of the kernel made for the same element. */
static expr at_hand(void *user, expr e, expr flat)
{
	const struct contract_kernel *k = user;
	(void)flat;
	for (int i = 0; i < k->c->stages; i++)
		if (k->c->made[i]->out == e->buf && k->made[i])
			return ir_var_of(k->made[i], NULL);
	return contract_from_ahead(k, e);
}

/* The vector of neighbouring elements that a stage makes. */
static struct ir_variable *vector_of(const struct ir_stage *s)
{
	return ir_variable_of(s->value->pool, s->out->type, s->out, IR_HOLDS_VECTOR, 0, "%s_v", s->out->name);
}

struct ir_block *contract_if_inside(struct contract_kernel *k, struct ir_block *b)
{
	const struct axes here = { .value = k->axis };
	return ir_is_int(k->c->inside, 1) ? b : emit_if(k->p, b, to_kernel(k->p, k->c->inside, &here));
}

/* Makes the element of every stage from its axes and its sum: declares it, and stores it, keeps it or puts it into the
 * stage's vector. */
void contract_make_element(struct contract_kernel *k, struct ir_block *b, int width)
{
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	expr own[IR_MAX_RANK];
	contract_own_axes(k, own);
	for (int i = 0; i < c->stages; i++) {
		const struct ir_stage *s = c->made[i];
		struct axes here = { .value = own, .load = at_hand, .user = k, .acc = k->all };
		expr value = s->kind == IR_MAP ? s->value
		             : s->post         ? s->post
		                               : ir_cast(ir_acc(p->pool, s->value->type), s->out->type);
		value = to_kernel(p, value, &here);
		k->made[i] = ir_variable_new(p->pool, s->out->type, "%s_here", s->out->name);
		expr made = emit_define(p, b, k->made[i], value, NULL);
		if (!stage_is_stored(p, c->made, c->stages, i))
			continue;
		if (k->kept[i] && width == 1)
			emit_set(p, b, k->kept[i], k->kept_row, made);
		else if (k->kept[i])
			emit_set_in_row(p, b, k->kept[i], k->kept_row, k->item, made);
		else if (width == 1)
			emit_store(p, b, s->out, ir_flat(p->pool, s->out, own), made);
		else
			emit_set(p, b, vector_of(s), k->item, made);
	}
	for (int i = 0; i < c->stages; i++)
		k->made[i] = NULL;
}

/* Marks the axes that the results' values use. */
static void axes_of_results(const struct contract *c, bool *used)
{
	bool own[2 * IR_MAX_RANK] = { false };
	for (int i = 0; i < c->stages; i++) {
		const struct ir_stage *s = c->made[i];
		if (s->kind == IR_MAP || s->post)
			ir_mark_axes(s->kind == IR_MAP ? s->value : s->post, own);
	}
	for (int d = 0; d < c->whole->out->rank; d++)
		if (own[d])
			ir_mark_axes(c->own[d], used);
}

/* True if e, over the result's axes, depends on two neighbouring ones through one position alone. */
static bool may_merge(struct ir_program *p, expr e, int outer, int inner, expr extent)
{
	if (e->op == IR_AXIS)
		return e->i != outer && e->i != inner;
	if (e->op == IR_LOAD) {
		expr flat = ir_flat(p->pool, e->buf, e->arg), step = ir_stride(flat, inner),
		     down = ir_stride(flat, outer);
		return step && down && down == ir_binary(IR_MUL, step, extent);
	}
	for (int i = 0; i < e->n; i++)
		if (!may_merge(p, e->arg[i], outer, inner, extent))
			return false;
	return true;
}

/* The axis of `whole` that is this axis of the contraction; -1: none is. */
static int whole_axis(const struct contract *c, int axis)
{
	for (int d = 0; d < c->whole->out->rank; d++)
		if (c->own[d]->op == IR_AXIS && c->own[d]->i == axis)
			return d;
	return -1;
}

/* Finds the axes of the columns that results see through one position alone: see contract_declare_merged(). */
static void find_merged(const struct contract *c, bool *merged)
{
	expr position = contract_position(c);
	bool tested[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(c->inside, tested);
	for (int i = 0; i + 1 < c->axes[CONTRACT_COLUMN]; i++) {
		int outer = c->axis[CONTRACT_COLUMN][i], inner = c->axis[CONTRACT_COLUMN][i + 1];
		int own_outer = whole_axis(c, outer), own_inner = whole_axis(c, inner);
		expr extent = c->s->out->dim[inner], step = ir_stride(position, inner),
		     down = ir_stride(position, outer);
		merged[i] = own_outer >= 0 && own_inner >= 0 && !tested[outer] && !tested[inner] && step && down &&
		            down == ir_binary(IR_MUL, step, extent);
		for (int k = 0; merged[i] && k < c->stages; k++) {
			expr value = c->made[k]->kind == IR_MAP ? c->made[k]->value : c->made[k]->post;
			merged[i] = !value || may_merge(c->p, value, own_outer, own_inner, extent);
		}
	}
}

/* Stores what a lane has made of one row: the stages' vectors, or what they keep of it. */
static void store_made(struct contract_kernel *k, struct ir_block *b, int width)
{
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	expr own[IR_MAX_RANK];
	contract_own_axes(k, own);
	for (int i = 0; i < c->stages; i++) {
		const struct ir_buffer *out = c->made[i]->out;
		if (!stage_is_stored(p, c->made, c->stages, i))
			continue;
		if (!k->kept[i])
			emit_store_vector(p, b, out, ir_flat(p->pool, c->whole->out, own), vector_of(c->made[i]),
			                  width);
		else if (width == 1)
			emit_store(p, b, out, ir_flat(p->pool, out, own), item_of(k->kept[i], k->kept_row));
		else
			emit_store_row(p, b, out, ir_flat(p->pool, c->whole->out, own), k->kept[i], k->kept_row, width);
	}
}

/* Makes a lane's elements of one row, one by one. The axes of the first are declared. */
static void make_row(struct contract_kernel *k, struct ir_block *in, expr column, int width)
{
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	bool used[2 * IR_MAX_RANK] = { false }, merged[IR_MAX_RANK] = { false };
	expr first[2 * IR_MAX_RANK];
	if (width == 1) {
		k->all = item_of(k->sums, index_(k, 0));
		contract_make_element(k, in, 1);
		return;
	}
	memcpy(first, k->axis, sizeof first);
	for (int i = 0; i < c->stages; i++)
		if (stage_is_stored(p, c->made, c->stages, i) && !k->kept[i])
			emit_array(p, in, vector_of(c->made[i]), width);
	axes_of_results(c, used);
	find_merged(c, merged);
	struct ir_block *items = unrolled(k, in, "item", width, 1, &k->item);
	contract_declare_merged(k, items, CONTRACT_COLUMN, plus(column, k->item), used, merged);
	for (int i = 0; i < c->axes[CONTRACT_COLUMN]; i++) /* unused axes may have any value */
		if (!k->axis[c->axis[CONTRACT_COLUMN][i]])
			k->axis[c->axis[CONTRACT_COLUMN][i]] = index_(k, 0);
	k->all = item_of(k->sums, k->item);
	contract_make_element(k, items, width);
	memcpy(k->axis, first, sizeof first);
}

/* Stores the results of sums in shared memory. `get` reads the sums at row `row` and from column `column` on, which
 * belong to row first_row + down of the result. */
struct sums_place {
	const struct ir_device_function *get;
	struct ir_template of;
	const struct ir_variable *shared;
	expr row, column, down;
};

/* Declares the column and its axes, and returns the block for columns of the result. */
static struct ir_block *begin_column(struct contract_kernel *k, struct ir_block *b, expr right, expr *column)
{
	const struct contract *c = k->c;
	bool all[2 * IR_MAX_RANK], merged[IR_MAX_RANK] = { false };
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		all[i] = true;
	*column = emit_constant(k->p, b, "column", plus(ir_var_of(k->first[1], NULL), right), NULL);
	if (!divides(c->extent[CONTRACT_COLUMN], k->shape.columns))
		b = emit_if(k->p, b, ir_binary(IR_LT, *column, c->extent[CONTRACT_COLUMN]));
	*column = ir_var_of((*column)->var, c->extent[CONTRACT_COLUMN]);
	find_merged(c, merged);
	contract_declare_merged(k, b, CONTRACT_COLUMN, *column, all, merged);
	return b;
}

/* Declares the row and its axes, and returns the block for rows of the result. `nearest`: rows beyond the last one do
 * the same as that one, without a branch. */
static struct ir_block *begin_row(struct contract_kernel *k, struct ir_block *b, expr down, bool nearest)
{
	const struct contract *c = k->c;
	bool all[2 * IR_MAX_RANK], beyond = !divides(c->extent[CONTRACT_ROW], k->shape.rows);
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		all[i] = true;
	expr row = plus(ir_var_of(k->first[0], NULL), down);
	if (beyond && nearest)
		row = ir_binary(IR_MIN, row, ir_binary(IR_SUB, c->extent[CONTRACT_ROW], index_(k, 1)));
	row = emit_constant(k->p, b, "row", row, NULL);
	if (beyond && !nearest)
		b = emit_if(k->p, b, ir_binary(IR_LT, row, c->extent[CONTRACT_ROW]));
	contract_declare_group(k, b, CONTRACT_ROW, ir_var_of(row->var, c->extent[CONTRACT_ROW]), all);
	return contract_if_inside(k, b); /* the same for a whole vector */
}

/* Makes the results of sums of a row, whose axes and first column are declared. */
static void make_of_sums(struct contract_kernel *k, struct ir_block *b, const struct sums_place *at, expr column,
                         int width)
{
	struct ir_program *p = k->p;
	struct ir_variable *sums = ir_variable_new(p->pool, k->c->s->value->type, "sums");
	emit_array(p, b, sums, width);
	k->sums = sums;
	struct ir_call *call = emit_invoke(p, b, at->get, at->of);
	add_variable(p, call, sums);
	add_variable(p, call, at->shared);
	add_value(p, call, at->row);
	add_value(p, call, at->column);
	make_row(k, b, column, width);
}

/* Stores sums of a row, from the declared column on. */
static void store_row(struct contract_kernel *k, struct ir_block *b, const struct sums_place *at, expr column,
                      int width)
{
	b = begin_row(k, b, at->down, false);
	make_of_sums(k, b, at, column, width);
	if (width > 1)
		store_made(k, b, width);
}

/* Declares arrays for the results of `rows` rows. */
static void keep_rows(struct contract_kernel *k, struct ir_block *b, int rows, int width)
{
	const struct contract *c = k->c;
	for (int i = 0; i < c->stages; i++) {
		const struct ir_stage *s = c->made[i];
		if (!stage_is_stored(k->p, c->made, c->stages, i))
			continue;
		struct ir_variable *kept = ir_variable_new(k->p->pool, s->out->type, "%s_kept", s->out->name);
		if (width == 1)
			emit_array(k->p, b, kept, rows);
		else
			emit_array_of_rows(k->p, b, kept, rows, width);
		k->kept[i] = kept;
	}
}

/* A part of a warp's sums, in shared memory, or with split-K one block's part of a tile. */
struct sums_part {
	const struct ir_variable *shared;
	expr part, right;
};

/* Loops from `first` on by `step` to `end`; there is no loop where one turn is enough. */
static struct ir_block *turns(struct contract_kernel *k, struct ir_block *b, const char *name, expr first, int step,
                              int end, expr *at)
{
	*at = first;
	if (step < end)
		return emit_loop(k->p, b, name, first, index_(k, end), index_(k, step), index_(k, end), at);
	*at = emit_declare(k->p, b, name, first, index_(k, end));
	return b;
}

/* True if the results are more than the sums. */
static bool computes(const struct contract *c)
{
	return c->stages > 1 || c->whole->post;
}

/* Stores sums that a warp has put into shared memory. Neighbouring lanes store neighbouring elements; a lane goes down
 * the rows of a column, whose axes it finds once. Where the results need further memory, or are single elements, it
 * makes those of all rows before it stores the first. A load after a store would wait for it, since the compiler may
 * not exchange them; and elements that branches do not part are computed together. */
static void store_part(struct contract_kernel *k, struct ir_block *b, const struct sums_part *from, int width)
{
	const struct contract_shape *s = &k->shape;
	int columns = k->store_columns ? k->store_columns : s->warp_columns, rows = contract_part_rows(k);
	int together = width == 1 ? contract_alternating_rows(k) : 1;
	int across = contract_lanes_across(columns / width, WARP / together), down = WARP / across;
	expr lane = ir_binary(IR_MOD, ir_thread(k->p->pool, index_(k, s->threads)), index_(k, WARP));
	expr each = index_(k, together), group = ir_binary(IR_FLOORDIV, lane, each), right, column;
	if (down > rows) { /* lanes of further rows would have nothing to do */
		b = emit_if(k->p, b, ir_binary(IR_LT, lane, index_(k, across * rows)));
		down = rows;
	}
	right = times(ir_binary(IR_MOD, group, index_(k, across)), width);
	if (k->ahead.n) { /* their registers need constant numbers */
		int passes = columns / (across * width);
		expr pass = index_(k, 0), own = right;
		if (passes > 1)
			b = unrolled(k, b, "pass", passes, 1, &pass);
		right = emit_declare(k->p, b, "piece", plus(own, times(pass, across * width)), index_(k, columns));
		k->ahead_row[CONTRACT_COLUMN] =
		        plus(ir_binary(IR_FLOORDIV, from->right, index_(k, across * width)), pass);
	} else {
		b = turns(k, b, "piece", right, across * width, columns, &right);
	}
	b = begin_column(k, b, plus(plus(ir_var_of(k->warp[1], NULL), from->right), right), &column);
	struct sums_place at = { .get = k->c->plain ? &device_fma_get : &device_sums_get,
		                 .of = IR_OF(IR_NUMBER(columns)),
		                 .shared = from->shared,
		                 .column = right };
	expr first =
	        plus(times(ir_binary(IR_FLOORDIV, group, index_(k, across)), together), ir_binary(IR_MOD, lane, each));
	bool loads = contract_results_load(k->c);
	k->ahead_row[CONTRACT_ROW] = from->part;
	if (down == rows || (!loads && (width > 1 || !computes(k->c)))) {
		if (down < rows && contract_rows_ahead(k)) { /* as for the columns */
			expr turn;
			b = unrolled(k, b, "turn", rows / down, 1, &turn);
			at.row = emit_declare(k->p, b, "down", plus(times(turn, down), first), index_(k, rows));
			k->ahead_row[CONTRACT_ROW] = plus(times(from->part, rows / down), turn);
		} else {
			b = turns(k, b, "down", first, down, rows, &at.row);
		}
		at.down = plus(ir_var_of(k->warp[0], NULL), contract_part_row(k, from->part, at.row));
		store_row(k, b, &at, column, width);
		return;
	}
	if (loads)
		emit_comment(k->p, b, "loads of further rows would wait for the first row's store");
	keep_rows(k, b, rows / down, width);
	for (int stores = 0; stores < 2; stores++) {
		struct ir_block *in = unrolled(k, b, "turn", rows / down, 1, &k->kept_row);
		at.row = emit_declare(k->p, in, "down", plus(times(k->kept_row, down), first), index_(k, rows));
		at.down = plus(ir_var_of(k->warp[0], NULL), contract_part_row(k, from->part, at.row));
		k->ahead_row[CONTRACT_ROW] = plus(times(from->part, rows / down), k->kept_row);
		in = begin_row(k, in, at.down, !stores);
		if (stores)
			store_made(k, in, width);
		else
			make_of_sums(k, in, &at, column, width);
	}
	memset(k->kept, 0, sizeof k->kept);
}

/* Stores the part of a tile's rows that is this block's, adding the blocks' sums in order. */
static void store_shared(struct contract_kernel *k, struct ir_block *b, const struct sums_part *from, int width)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	int threads = s->warps_down * WARP, pieces = s->columns / width, rows = s->rows / s->split, all = rows * pieces;
	expr piece, across = index_(k, pieces), thread = ir_thread(p->pool, index_(k, threads));
	b = emit_loop(p, b, "piece", thread, index_(k, all), index_(k, threads), index_(k, all), &piece);
	expr own = ir_binary(IR_MOD, ir_block(p->pool, contract_blocks(k)), index_(k, s->split));
	struct sums_place at = { .get = &device_cluster_get,
		                 .of = IR_OF(IR_NUMBER(s->split), IR_NUMBER(s->columns)),
		                 .shared = from->shared,
		                 .row = plus(ir_binary(IR_MUL, own, index_(k, rows)),
		                             ir_binary(IR_FLOORDIV, piece, across)),
		                 .column = ir_binary(IR_MUL, ir_binary(IR_MOD, piece, across), index_(k, width)) };
	at.down = at.row;
	expr column;
	b = begin_column(k, b, at.column, &column);
	store_row(k, b, &at, column, width);
}

/* Stores vectors where the extents allow them, otherwise single elements. Only the result's extents decide that, not
 * how the operands are loaded. */
static void store_either(struct contract_kernel *k, struct ir_block *b, const struct sums_part *from,
                         void (*store)(struct contract_kernel *, struct ir_block *, const struct sums_part *, int))
{
	const struct contract *c = k->c;
	int width = k->vectors[0] || k->vectors[1] ? c->width : 1;
	if (width > 1 && !ir_is_int(c->fits, 1)) {
		store(k, emit_if(k->p, b, c->fits), from, width);
		store(k, emit_if(k->p, b, ir_unary(IR_NOT, c->fits)), from, 1);
	} else {
		store(k, b, from, width);
	}
}

/* Each warp stores its own sums. */
static void store_own(struct contract_kernel *k, struct ir_block *b, const struct ir_variable *shared)
{
	const struct contract_shape *s = &k->shape;
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	int parts = s->warp_rows / contract_part_rows(k);
	bool plain = c->plain;
	expr part, right = index_(k, 0);
	struct ir_block *in = unrolled(k, b, "part", parts, 1, &part);
	if (k->store_columns)
		in = unrolled(k, in, "across", s->warp_columns, k->store_columns, &right);
	struct ir_call *call = emit_invoke(p, in, plain ? &device_fma_put : &device_sums_put,
	                                   plain ? IR_OF(IR_TRUTH(contract_is_turned(k, 1))) : IR_OF_NOTHING);
	add_variable(p, call, shared);
	if (k->store_columns) {
		struct ir_call *some = add_call(p, call, &device_sums_part, IR_OF(IR_NUMBER(k->store_columns / 8)));
		add_item(p, some, k->sum, part);
		add_value(p, some, ir_binary(IR_FLOORDIV, right, index_(k, 8)));
	} else {
		add_item(p, call, k->sum, part);
	}
	store_either(k, in, &(struct sums_part){ shared, part, right }, store_part);
}

/* Split-K: each block of a tile reduces and stores its part of the rows. */
static void store_together(struct contract_kernel *k, struct ir_block *b, const struct ir_variable *shared)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	expr part;
	struct ir_block *in = unrolled(k, b, "part", s->parts, 1, &part);
	struct ir_call *call = emit_invoke(p, in, &device_cluster_put, IR_OF_NOTHING);
	add_variable(p, call, shared);
	add_value(p, call, plus(ir_var_of(k->warp[0], NULL), times(part, s->part_step)));
	add_item(p, call, k->sum, part);
	emit_invoke(p, b, &device_cluster_sync, IR_OF_NOTHING);
	store_either(k, b, &(struct sums_part){ .shared = shared }, store_shared);
	emit_comment(p, b, "other blocks may still read this block's");
	emit_invoke(p, b, &device_cluster_sync, IR_OF_NOTHING);
}

void contract_store_results(struct contract_kernel *k, struct ir_block *b, const struct ir_variable *shared)
{
	struct ir_program *p = k->p;
	if (contract_has_zeros(k))
		take_zeros(k, b);
	if (!k->store_columns) {
		emit_comment(p, b, "all products are summed: the tiles' memory is free");
		emit_invoke(p, b, &device_copy_wait, IR_OF(IR_NUMBER(0)));
		emit(p, b, IR_SYNC)->sync.threads = k->readers;
	}
	if (k->shape.split > 1)
		store_together(k, b, shared);
	else
		store_own(k, b, shared);
}
