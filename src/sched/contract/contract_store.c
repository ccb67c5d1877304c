/* Contractions: what is made of sums, less what zero points add to them, and where it goes. See contract_kernel.h. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/stored.h"
#include "sched/build/vectors.h"

const char *contract_sum_type(const struct contract_kernel *k)
{
	return k->c->s->value->type == TYPE_F32 ? "float" : "int";
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
		struct ir_stmt *f = emit_lambda(k->p, b, text(k, "%s_zero", contract_side_name[side]));
		expr at = emit_parameter(k->p, f, TYPE_INDEX, name, c->extent[own]),
		     none = ir_int(k->p->pool, TYPE_I32, 0);
		f->value = none;
		if (c->side[side].zero) {
			mark_axes(c->side[side].zero, used);
			contract_declare_group(k, f->body, own, at, used);
			struct axes here = { .value = k->axis };
			f->value = ir_select(ir_binary(IR_LT, ir_var_of(at->var, NULL), c->extent[own]),
			                     to_kernel(k->p, c->side[side].zero, &here), none);
		}
		emit_local(k->p, b, "mma_sum<int>", text(k, "%s_sum", contract_side_name[side]),
		           text(k, "[%d] = {}", side ? s->warp_columns / 8 : s->warp_rows / TILE));
	}
}

static void take_zeros(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_block *row = unrolled(k, b, "row", 0, s->warp_rows / TILE, 1);
	struct ir_block *in = unrolled(k, row, "column", 0, s->warp_columns / 8, 1);
	struct ir_stmt *call = emit_invoke(k->p, in, "sums_less_zeros", k->header);
	add_text(k->p, call, "sum[row][column]");
	add_text(k->p, call, "left_sum[row]");
	add_text(k->p, call, "right_sum[column]");
	add_text(k->p, call, "first_row + warp_row + 16 * row");
	add_text(k->p, call, "first_column + warp_column + 8 * column");
	add_value(k->p, call, k->c->depth);
	add_text(k->p, call, "left_zero");
	add_text(k->p, call, "right_zero");
}

/* ---- Results. */

/* What stages before this one in the kernel made of the same element. */
static expr at_hand(void *user, expr e, expr flat)
{
	const struct contract_kernel *k = user;
	(void)flat;
	for (int i = 0; i < k->c->stages; i++)
		if (k->c->made[i]->out == e->buf && k->made[i])
			return ir_var_of(k->made[i], NULL);
	return NULL;
}

/* Neighbouring elements that a stage makes. */
static struct ir_variable *vector_of(const struct ir_stage *s)
{
	return ir_variable_of(s->value->pool, s->out->type, "%s_v", s->out->name);
}

/* The element of every stage, given its axes and its sum: declared, and stored or put into the stage's vector. */
void contract_make_element(struct contract_kernel *k, struct ir_block *b, int width)
{
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	for (int i = 0; i < c->stages; i++) {
		const struct ir_stage *s = c->made[i];
		struct axes here = { .value = k->axis, .load = at_hand, .user = k, .acc = k->all };
		expr value = s->kind == IR_MAP ? s->value
		             : s->post         ? s->post
		                               : ir_cast(ir_acc(p->pool, s->value->type), s->out->type);
		value = to_kernel(p, value, &here);
		k->made[i] = ir_variable_new(p->pool, s->out->type, "this_%s", s->out->name);
		expr made = emit_define(p, b, k->made[i], value, NULL);
		if (!stage_is_stored(p, c->made, c->stages, i))
			continue;
		if (width == 1) {
			emit_store(p, b, s->out, ir_flat(p->pool, s->out, k->axis), made);
			continue;
		}
		emit_set(p, b, vector_of(s), var(k, "item", index_(k, width)), made);
	}
	for (int i = 0; i < c->stages; i++)
		k->made[i] = NULL;
}

/* Axes that elements of results are asked for by. */
static void axes_of_results(const struct contract *c, bool *used, bool positions)
{
	for (int i = 0; i < c->stages; i++) {
		const struct ir_stage *s = c->made[i];
		if (s->kind == IR_MAP || s->post)
			mark_axes(s->kind == IR_MAP ? s->value : s->post, used);
	}
	for (int i = 0; positions && i < c->s->out->rank; i++)
		used[i] = true;
}

/* The vectors of one row that a lane has: one after the other. */
static void make_vector(struct contract_kernel *k, struct ir_block *b, int width)
{
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	bool used[2 * IR_MAX_RANK] = { false }, all[2 * IR_MAX_RANK];
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		all[i] = true;
	struct ir_block *in = b;
	expr column = var(k, "column", c->extent[CONTRACT_COLUMN]);
	contract_declare_group(k, in, CONTRACT_ROW, var(k, "row", c->extent[CONTRACT_ROW]), all);
	expr first = NULL;
	if (width > 1) {
		for (int i = 0; i < c->stages; i++) {
			if (!stage_is_stored(p, c->made, c->stages, i))
				continue;
			emit_array(p, in, vector_of(c->made[i]), width);
		}
		axes_of_results(c, used, false);
		struct ir_block *items = unrolled(k, in, "item", 0, width, 1);
		contract_declare_group(k, items, CONTRACT_COLUMN, plus(column, var(k, "item", index_(k, width))), used);
		for (int i = 0; i < c->axes[CONTRACT_COLUMN]; i++) /* what is not met may be anything */
			if (!k->axis[c->axis[CONTRACT_COLUMN][i]])
				k->axis[c->axis[CONTRACT_COLUMN][i]] = index_(k, 0);
		k->all = item_of(k->sums, var(k, "item", index_(k, width)));
		contract_make_element(k, items, width);
		contract_declare_group(k, in, CONTRACT_COLUMN, column, all);
		first = ir_flat(p->pool, c->s->out, k->axis);
		for (int i = 0; i < c->stages; i++) {
			if (!stage_is_stored(p, c->made, c->stages, i))
				continue;
			emit_store_vector(p, in, c->made[i]->out, first, vector_of(c->made[i]), width);
		}
		return;
	}
	contract_declare_group(k, in, CONTRACT_COLUMN, column, all);
	k->all = item_of(k->sums, index_(k, 0));
	contract_make_element(k, in, 1);
}

/* Rows of a warp's sums that go through shared memory together. */
static int part_rows(const struct contract_kernel *k)
{
	return k->c->plain ? FMA_DOWN : TILE;
}

/* The row of a warp's that is row `row` of its part `part`. */
static expr part_row(const struct contract_kernel *k, expr part, expr row)
{
	expr together = index_(k, 16 / contract_element_bytes(k->c));
	expr down = index_(k, k->wide ? k->shape.part_step : part_rows(k));
	if (!k->c->plain || contract_way_of(k, 0) != CONTRACT_TURNED)
		return plus(ir_binary(IR_MUL, part, down), row);
	expr piece = plus(ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, part, together), down), row);
	return plus(ir_binary(IR_MUL, piece, together), ir_binary(IR_MOD, part, together));
}

/* Results of sums that lie in shared memory: `get` gives those of row `row` and the columns from `column` on, which
 * there is the element (first_row + down, first_column + right) of the result. */
struct sums_place {
	const char *get, *shared;
	expr row, column, down, right;
};

static void store_sums(struct contract_kernel *k, struct ir_block *in, const struct sums_place *at, int width)
{
	const struct contract_shape *s = &k->shape;
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	emit_constant(p, in, "row", plus(var(k, "first_row", NULL), at->down), NULL);
	emit_constant(p, in, "column", plus(var(k, "first_column", NULL), at->right), NULL);
	expr inside = ir_int(p->pool, TYPE_BOOL, 1);
	if (!divides(c->extent[CONTRACT_ROW], s->rows))
		inside = ir_binary(IR_LT, var(k, "row", NULL), c->extent[CONTRACT_ROW]);
	if (!divides(c->extent[CONTRACT_COLUMN], s->columns))
		inside =
		        ir_binary(IR_AND, inside, ir_binary(IR_LT, var(k, "column", NULL), c->extent[CONTRACT_COLUMN]));
	in = emit_if(p, in, inside);
	struct ir_variable *sums = ir_variable_new(p->pool, c->s->value->type, "sums");
	emit_array(p, in, sums, width);
	k->sums = sums;
	struct ir_stmt *call = emit_invoke(p, in, at->get, k->header);
	add_variable(p, call, sums);
	add_text(p, call, at->shared);
	add_value(p, call, at->row);
	add_value(p, call, at->column);
	make_vector(k, in, width);
}

/* Each warp's sums, by its lanes. */
static void store_own(struct contract_kernel *k, struct ir_block *b, const char *shared)
{
	const struct contract_shape *s = &k->shape;
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	int columns = k->store_columns ? k->store_columns : s->warp_columns;
	int width = k->fast ? c->width : 1, pieces = columns / width;
	expr lane = ir_binary(IR_MOD, ir_thread(k->p->pool, index_(k, s->threads)), index_(k, WARP));
	int parts = s->warp_rows / part_rows(k), all = part_rows(k) * pieces;
	bool plain = c->plain;
	expr piece = var(k, "piece", index_(k, all)), across = index_(k, pieces);
	struct ir_block *in = unrolled(k, b, "part", 0, parts, 1);
	expr part = var(k, "part", index_(k, parts));
	if (k->store_columns)
		in = unrolled(k, in, "across", 0, s->warp_columns, columns);
	const char *put = plain ? text(k, "fma_put<%s>", contract_is_turned(k, 1)) : "sums_put";
	struct ir_stmt *call = emit_invoke(p, in, put, k->header);
	add_text(p, call, shared);
	add_text(p, call,
	         k->store_columns ? text(k, "sums_part<%d>(sum[part], across / 8)", columns / 8) : "sum[part]");
	in = emit_for(p, in, "piece", lane, index_(k, all), index_(k, WARP));
	struct sums_place at = { .get = text(k, "%s_get<%d>", plain ? "fma" : "sums", columns),
		                 .shared = shared,
		                 .row = ir_binary(IR_FLOORDIV, piece, across),
		                 .column = ir_binary(IR_MUL, ir_binary(IR_MOD, piece, across), index_(k, width)),
		                 .right = var(k, "warp_column", NULL) };
	at.down = plus(var(k, "warp_row", NULL), part_row(k, part, at.row));
	if (k->store_columns)
		at.right = plus(at.right, var(k, "across", index_(k, s->warp_columns)));
	at.right = plus(at.right, at.column);
	store_sums(k, in, &at, width);
}

/* The sums of a tile that several blocks make: each stores its part of the rows, of all blocks' sums in their order. */
static void store_together(struct contract_kernel *k, struct ir_block *b, const char *shared)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	int width = k->c->width, threads = s->warps_down * WARP, pieces = s->columns / width;
	int rows = s->rows / s->split, all = rows * pieces;
	struct ir_block *in = unrolled(k, b, "part", 0, s->parts, 1);
	struct ir_stmt *call = emit_invoke(p, in, "cluster_put", k->header);
	add_text(p, call, shared);
	add_text(p, call, text(k, "warp_row + %d * part", s->part_step));
	add_text(p, call, "sum[part]");
	emit_invoke(p, b, "cluster_sync", k->header);
	in = emit_for(p, b, "piece", ir_thread(k->p->pool, index_(k, threads)), index_(k, all), index_(k, threads));
	expr piece = var(k, "piece", index_(k, all)), across = index_(k, pieces);
	expr own = ir_binary(IR_MOD, ir_block(k->p->pool, contract_blocks(k)), index_(k, s->split));
	struct sums_place at = { .get = text(k, "cluster_get<%d, %d>", s->split, s->columns),
		                 .shared = shared,
		                 .row = plus(ir_binary(IR_MUL, own, index_(k, rows)),
		                             ir_binary(IR_FLOORDIV, piece, across)),
		                 .column = ir_binary(IR_MUL, ir_binary(IR_MOD, piece, across), index_(k, width)) };
	at.down = at.row;
	at.right = at.column;
	store_sums(k, in, &at, width);
	emit_comment(p, b, "the others may still be reading this block's");
	emit_invoke(p, b, "cluster_sync", k->header);
}

void contract_store_results(struct contract_kernel *k, struct ir_block *b, const char *shared)
{
	struct ir_program *p = k->p;
	if (contract_has_zeros(k))
		take_zeros(k, b);
	if (!k->store_columns) {
		emit_comment(p, b, "all products are summed up: the tiles' memory is free");
		emit_invoke(p, b, "copy_wait<0>", k->header);
		emit(p, b, IR_SYNC)->width = k->readers;
	}
	if (k->shape.split > 1)
		store_together(k, b, shared);
	else
		store_own(k, b, shared);
}
