/* The kernel of a contraction on tensor cores: tiles of both operands come into shared memory while those before them are
 * multiplied; sums stay in registers until all is summed up. See contract.h, and tpat_mma.h for the functions it calls. */
#include "sched/contract.h"

#include "ir/axis_names.h"

enum { WARP = 32, SHARED_BYTES = 48 << 10, MOST_SLOTS = 4, TILE = 16 /* rows of a product; columns of two */ };
static const char header[] = "tpat_mma.h";

struct contract_shape contract_shape(const struct contract *c, const struct sched_choice *choice)
{
	struct contract_shape s = { .rows = choice->param[0], .columns = choice->param[1], .depth = choice->param[2] };
	int bytes = (s.rows + s.columns) * s.depth * contract_element_bytes(c);
	s.slots = SHARED_BYTES / bytes;
	s.slots = s.slots > MOST_SLOTS ? MOST_SLOTS : s.slots;
	/* A warp's part is as square as there are rows, and at most 64 x 64: what registers hold. */
	s.warps_down = s.rows >= 32 ? 2 : 1;
	s.warps_across = s.rows < 32 ? 4 : s.columns > 128 ? s.columns / 64 : 2;
	s.warp_rows = s.rows / s.warps_down;
	s.warp_columns = s.columns / s.warps_across;
	s.threads = WARP * s.warps_down * s.warps_across;
	return s;
}

/* ---- Words. */

struct kernel {
	const struct contract *c;
	struct ir_program *p;
	struct contract_shape shape;
	bool fast;
	expr axis[2 * IR_MAX_RANK]; /* values of axes, where they are known */
	expr all;                   /* an element's sum */
	const char *made[CONTRACT_STAGES];
};

static expr index_(const struct kernel *k, int64_t x)
{
	return ir_index(k->p->pool, x);
}

static expr plus(expr a, expr b)
{
	return ir_binary(IR_ADD, a, b);
}

static expr var(const struct kernel *k, const char *name, expr extent)
{
	return ir_var(k->p->pool, TYPE_INDEX, name, extent);
}

#define text(k, ...) arena_printf((k)->p->arena, __VA_ARGS__)

static struct ir_block *unrolled(const struct kernel *k, struct ir_block *b, const char *name, int from, int to, int step)
{
	struct ir_block *body = emit_for(k->p, b, name, index_(k, from), index_(k, to), index_(k, step));
	b->at[b->n - 1].width = 1;
	return body;
}

static bool divides(expr extent, int tile)
{
	int64_t n;
	return ir_const_int(extent, &n) && n % tile == 0;
}

/* Names for a group's axes, given the position over all of them. */
static void declare_group(struct kernel *k, struct ir_block *b, enum contract_group g, expr position, const bool *used)
{
	const struct contract *c = k->c;
	expr extent[IR_MAX_RANK], value[IR_MAX_RANK] = { NULL };
	const char *name[IR_MAX_RANK];
	bool met[IR_MAX_RANK];
	for (int i = 0; i < c->axes[g]; i++) {
		extent[i] = c->s->out->dim[c->axis[g][i]];
		name[i] = ir_axis_names[0][c->axis[g][i]];
		met[i] = used[c->axis[g][i]];
	}
	declare_axes(k->p, b, position, c->axes[g], extent, name, met, value);
	for (int i = 0; i < c->axes[g]; i++)
		k->axis[c->axis[g][i]] = value[i];
}

static void declare_depth(struct kernel *k, struct ir_block *b, expr position, const bool *used)
{
	const struct ir_stage *s = k->c->s;
	int rank = s->out->rank;
	declare_axes(k->p, b, position, s->space_rank, s->space, ir_axis_names[1], used + rank, k->axis + rank);
}

/* ---- Operands. */

static enum contract_way way_of(const struct kernel *k, int side)
{
	return k->fast ? k->c->side[side].way : CONTRACT_GATHER;
}

static int outer_size(const struct kernel *k, int side)
{
	return side ? k->shape.columns : k->shape.rows;
}

static const char *tile_rows_columns(const struct kernel *k, int side)
{
	int outer = outer_size(k, side), depth = k->shape.depth;
	bool turned = way_of(k, side) == CONTRACT_TURNED;
	return text(k, "%s, %d, %d", type_name(k->c->side[side].type), turned ? depth : outer, turned ? outer : depth);
}

static const char *const side_name[2] = { "left", "right" };

/* The function that says where elements are, or what. */
static void emit_at(struct kernel *k, struct ir_block *b, int side)
{
	const struct contract *c = k->c;
	enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
	enum contract_way way = way_of(k, side);
	const char *name = side ? "column" : "row";
	expr value = c->side[side].value, inside = ir_int(k->p->pool, TYPE_BOOL, 1);
	bool used[2 * IR_MAX_RANK] = { false };
	struct ir_stmt *f = emit_lambda(k->p, b, text(k, "%s_at", side_name[side]));
	expr outer, depth;
	if (way == CONTRACT_TURNED) {
		depth = emit_parameter(k->p, f, TYPE_INDEX, "depth", c->depth);
		outer = emit_parameter(k->p, f, TYPE_INDEX, name, c->extent[own]);
	} else {
		outer = emit_parameter(k->p, f, TYPE_INDEX, name, c->extent[own]);
		depth = emit_parameter(k->p, f, TYPE_INDEX, "depth", c->depth);
	}
	mark_axes(way == CONTRACT_GATHER ? value : ir_flat(k->p->pool, value->buf, value->arg), used);
	declare_group(k, f->body, own, outer, used);
	declare_depth(k, f->body, depth, used);
	if (!divides(c->extent[own], outer_size(k, side)))
		inside = ir_binary(IR_LT, var(k, name, NULL), c->extent[own]);
	if (!divides(c->depth, k->shape.depth))
		inside = ir_binary(IR_AND, inside, ir_binary(IR_LT, var(k, "depth", NULL), c->depth));
	struct axes here = { .value = k->axis };
	expr what = to_kernel(k->p, value, &here), none = index_(k, -1);
	if (way == CONTRACT_GATHER)
		none = ir_const(k->p->pool, c->side[side].type, 0);
	else
		what = what->arg[0];
	f->value = ir_select(inside, what, none);
}

/* Asks for a tile, from `depth` on, into the slot; what goes through registers arrives with emit_put(). */
static void emit_fetch(struct kernel *k, struct ir_block *b, int side, const char *slot, expr depth)
{
	expr first = var(k, side ? "first_column" : "first_row", NULL);
	enum contract_way way = way_of(k, side);
	const char *name = side_name[side];
	struct ir_stmt *call;
	if (way == CONTRACT_GATHER) {
		call = emit_invoke(k->p, b, text(k, "%s_next.fetch", name), header);
	} else {
		call = emit_invoke(k->p, b, text(k, "tile_copy<%d>", k->shape.threads), header);
		add_text(k->p, call, text(k, "%s_tile[%s]", name, slot));
		add_address(k->p, call, k->c->side[side].value->buf, index_(k, 0), false);
	}
	add_value(k->p, call, way == CONTRACT_TURNED ? depth : first);
	add_value(k->p, call, way == CONTRACT_TURNED ? first : depth);
	add_text(k->p, call, text(k, "%s_at", name));
}

static void emit_put(struct kernel *k, struct ir_block *b, int side, const char *slot)
{
	if (way_of(k, side) != CONTRACT_GATHER)
		return;
	struct ir_stmt *call = emit_invoke(k->p, b, text(k, "%s_next.put", side_name[side]), header);
	add_text(k->p, call, text(k, "%s_tile[%s]", side_name[side], slot));
}

/* ---- The sum. */

static const char *sum_type(const struct kernel *k)
{
	return k->c->s->value->type == TYPE_F32 ? "float" : "int";
}

/* Where the block's tile begins; a warp's part of it. */
static void declare_place(struct kernel *k, struct ir_block *b, bool warps)
{
	const struct contract_shape *s = &k->shape;
	const struct contract *c = k->c;
	expr across = ceil_div(k->p, c->extent[CONTRACT_COLUMN], s->columns);
	expr down = ceil_div(k->p, c->extent[CONTRACT_ROW], s->rows), each = ir_binary(IR_MUL, across, down);
	expr block = var(k, IR_BLOCK, ir_binary(IR_MUL, c->extent[CONTRACT_BATCH], each));
	expr warp = ir_binary(IR_FLOORDIV, var(k, IR_THREAD, index_(k, s->threads)), index_(k, WARP));
	bool all[2 * IR_MAX_RANK];
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		all[i] = true;
	emit_constant(k->p, b, "first_column",
	              ir_binary(IR_MUL, ir_binary(IR_MOD, block, across), index_(k, s->columns)), NULL);
	emit_constant(k->p, b, "first_row",
	              ir_binary(IR_MUL, ir_binary(IR_MOD, ir_binary(IR_FLOORDIV, block, across), down), index_(k, s->rows)),
	              NULL);
	if (!ir_is_int(c->extent[CONTRACT_BATCH], 1))
		emit_constant(k->p, b, "batch", ir_binary(IR_FLOORDIV, block, each), NULL);
	declare_group(k, b, CONTRACT_BATCH, var(k, "batch", c->extent[CONTRACT_BATCH]), all);
	if (!warps)
		return;
	emit_constant(k->p, b, "warp_row",
	              ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, warp, index_(k, s->warps_across)), index_(k, s->warp_rows)),
	              NULL);
	emit_constant(k->p, b, "warp_column",
	              ir_binary(IR_MUL, ir_binary(IR_MOD, warp, index_(k, s->warps_across)), index_(k, s->warp_columns)), NULL);
}

static void load_parts(struct kernel *k, struct ir_block *b, int side, int count)
{
	bool turned = way_of(k, side) == CONTRACT_TURNED;
	struct ir_block *in = unrolled(k, b, "part", 0, count, side ? 2 : 1);
	const char *turn = turned ? "_turned" : "";
	struct ir_stmt *call = emit_invoke(k->p, in, text(k, "mma_load_%c%s", side ? 'b' : 'a', turn), header);
	add_text(k->p, call, text(k, "%s[part]", side_name[side]));
	if (side)
		add_text(k->p, call, "right[part + 1]");
	add_text(k->p, call, text(k, "%s_tile[slot]", side_name[side]));
	add_text(k->p, call, side ? "warp_column + 8 * part" : "warp_row + 16 * part");
	add_text(k->p, call, "depth");
}

/* sum += the tiles in the slot. */
static void multiply(struct kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	int down = s->warp_rows / TILE, across = s->warp_columns / TILE * 2, depth = 32 / contract_element_bytes(k->c);
	struct ir_block *in = unrolled(k, b, "depth", 0, s->depth, depth);
	emit_local(k->p, in, text(k, "mma_a<%s>", type_name(k->c->side[0].type)), text(k, "left[%d]", down));
	emit_local(k->p, in, text(k, "mma_b<%s>", type_name(k->c->side[1].type)), text(k, "right[%d]", across));
	load_parts(k, in, 0, down);
	load_parts(k, in, 1, across);
	struct ir_block *row = unrolled(k, in, "row", 0, down, 1), *column = unrolled(k, row, "column", 0, across, 1);
	struct ir_stmt *call = emit_invoke(k->p, column, "mma", header);
	add_text(k->p, call, "sum[row][column]");
	add_text(k->p, call, "left[row]");
	add_text(k->p, call, "right[column]");
	for (int side = 0; side < 2; side++) { /* what the other's zero point is multiplied by */
		if (!k->c->side[!side].zero)
			continue;
		struct ir_block *part = unrolled(k, in, "part", 0, side ? across : down, 1);
		call = emit_invoke(k->p, part, side ? "mma_add_columns" : "mma_add_rows", header);
		add_text(k->p, call, text(k, "%s_sum[part]", side_name[side]));
		add_text(k->p, call, text(k, "%s[part]", side_name[side]));
	}
}

/* ---- Zero points: sum over k of (a - p) (b - q) = sum of a b - q * sum of a - p * sum of b + depth * p * q. */

static bool has_zeros(const struct kernel *k)
{
	return k->c->side[0].zero || k->c->side[1].zero;
}

static void declare_zeros(struct kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	const struct contract *c = k->c;
	for (int side = 0; side < 2; side++) {
		enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
		const char *name = side ? "column" : "row";
		bool used[2 * IR_MAX_RANK] = { false };
		struct ir_stmt *f = emit_lambda(k->p, b, text(k, "%s_zero", side_name[side]));
		expr at = emit_parameter(k->p, f, TYPE_INDEX, name, c->extent[own]), none = ir_int(k->p->pool, TYPE_I32, 0);
		f->value = none;
		if (c->side[side].zero) {
			mark_axes(c->side[side].zero, used);
			declare_group(k, f->body, own, at, used);
			struct axes here = { .value = k->axis };
			f->value = ir_select(ir_binary(IR_LT, var(k, name, NULL), c->extent[own]),
			                     to_kernel(k->p, c->side[side].zero, &here), none);
		}
		emit_local(k->p, b, "mma_sum<int>",
		           text(k, "%s_sum[%d] = {}", side_name[side], side ? s->warp_columns / 8 : s->warp_rows / TILE));
	}
}

static void take_zeros(struct kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_block *row = unrolled(k, b, "row", 0, s->warp_rows / TILE, 1);
	struct ir_block *in = unrolled(k, row, "column", 0, s->warp_columns / 8, 1);
	struct ir_stmt *call = emit_invoke(k->p, in, "sums_less_zeros", header);
	add_text(k->p, call, "sum[row][column]");
	add_text(k->p, call, "left_sum[row]");
	add_text(k->p, call, "right_sum[column]");
	add_text(k->p, call, "first_row + warp_row + 16 * row");
	add_text(k->p, call, "first_column + warp_column + 8 * column");
	add_value(k->p, call, k->c->depth);
	add_text(k->p, call, "left_zero");
	add_text(k->p, call, "right_zero");
}

static void sum_up(struct kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	for (int side = 0; side < 2; side++)
		emit_shared(p, b, text(k, "shared_tile<%s>", tile_rows_columns(k, side)),
		            text(k, "%s_tile[%d]", side_name[side], s->slots));
	for (int side = 0; side < 2; side++)
		emit_at(k, b, side);
	for (int side = 0; side < 2; side++)
		if (way_of(k, side) == CONTRACT_GATHER)
			emit_local(p, b, text(k, "tile_gather<%d, %s>", s->threads, tile_rows_columns(k, side)),
			           text(k, "%s_next", side_name[side]));
	emit_local(p, b, text(k, "mma_sum<%s>", sum_type(k)),
	           text(k, "sum[%d][%d] = {}", s->warp_rows / TILE, s->warp_columns / TILE * 2));

	if (has_zeros(k))
		declare_zeros(k, b);

	/* The first tiles, all but one slot full of them. */
	struct ir_block *in = emit_for(p, b, "slot", index_(k, 0), index_(k, s->slots - 1), index_(k, 1));
	expr slot = var(k, "slot", index_(k, s->slots - 1));
	expr begin = ir_binary(IR_MUL, slot, index_(k, s->depth));
	struct ir_block *more = emit_if(p, in, ir_binary(IR_LT, begin, k->c->depth));
	for (int side = 0; side < 2; side++)
		emit_fetch(k, more, side, "slot", begin);
	for (int side = 0; side < 2; side++)
		emit_put(k, more, side, "slot");
	emit_invoke(p, in, "copy_commit", header);

	in = emit_for(p, b, "from", index_(k, 0), k->c->depth, index_(k, s->depth));
	expr from = var(k, "from", k->c->depth), number = ir_binary(IR_FLOORDIV, from, index_(k, s->depth));
	expr slots = index_(k, s->slots), before = index_(k, s->slots - 1);
	emit_constant(p, in, "slot", ir_binary(IR_MOD, number, slots), NULL);
	emit_constant(p, in, "ahead", ir_binary(IR_MOD, plus(number, before), slots), NULL);
	emit_invoke(p, in, text(k, "copy_wait<%d>", s->slots - 2), header);
	emit(p, in, IR_SYNC);
	expr later = plus(from, index_(k, (int64_t)s->depth * (s->slots - 1)));
	more = emit_if(p, in, ir_binary(IR_LT, later, k->c->depth));
	for (int side = 0; side < 2; side++)
		emit_fetch(k, more, side, "ahead", later);
	emit_invoke(p, in, "copy_commit", header);
	multiply(k, in);
	if (way_of(k, 0) == CONTRACT_GATHER || way_of(k, 1) == CONTRACT_GATHER) {
		more = emit_if(p, in, ir_binary(IR_LT, later, k->c->depth));
		for (int side = 0; side < 2; side++)
			emit_put(k, more, side, "ahead");
	}
}

/* ---- Results. */

/* What stages before this one in the kernel made of the same element. */
static expr at_hand(void *user, expr e, expr flat)
{
	const struct kernel *k = user;
	(void)flat;
	for (int i = 0; i < k->c->stages; i++)
		if (k->c->made[i]->out == e->buf && k->made[i])
			return ir_var(k->p->pool, e->type, k->made[i], NULL);
	return NULL;
}

/* The element of every stage, given its axes and its sum: declared, and stored or put into the stage's vector. */
static void make_element(struct kernel *k, struct ir_block *b, int width)
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
		k->made[i] = text(k, "this_%s", s->out->name);
		emit_constant(p, b, k->made[i], value, NULL);
		if (!stage_is_stored(p, c->made, c->stages, i))
			continue;
		expr made = ir_var(p->pool, s->out->type, k->made[i], NULL);
		if (width == 1) {
			emit_store(p, b, s->out, ir_flat(p->pool, s->out, k->axis), made);
			continue;
		}
		struct ir_stmt *set = emit(p, b, IR_SET);
		set->name = text(k, "%s_v", s->out->name);
		set->at = var(k, "item", index_(k, width));
		set->value = made;
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
static void make_vector(struct kernel *k, struct ir_block *b, int width)
{
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	bool used[2 * IR_MAX_RANK] = { false }, all[2 * IR_MAX_RANK];
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		all[i] = true;
	struct ir_block *in = b;
	expr column = var(k, "column", c->extent[CONTRACT_COLUMN]);
	declare_group(k, in, CONTRACT_ROW, var(k, "row", c->extent[CONTRACT_ROW]), all);
	expr first = NULL;
	if (width > 1) {
		for (int i = 0; i < c->stages; i++) {
			if (!stage_is_stored(p, c->made, c->stages, i))
				continue;
			struct ir_stmt *array = emit(p, in, IR_ARRAY);
			array->name = text(k, "%s_v", c->made[i]->out->name);
			array->type = c->made[i]->out->type;
			array->width = width;
		}
		axes_of_results(c, used, false);
		struct ir_block *items = unrolled(k, in, "item", 0, width, 1);
		declare_group(k, items, CONTRACT_COLUMN, plus(column, var(k, "item", index_(k, width))), used);
		for (int i = 0; i < c->axes[CONTRACT_COLUMN]; i++) /* what is not met may be anything */
			if (!k->axis[c->axis[CONTRACT_COLUMN][i]])
				k->axis[c->axis[CONTRACT_COLUMN][i]] = index_(k, 0);
		k->all = ir_var(p->pool, c->s->value->type, "sums[item]", NULL);
		make_element(k, items, width);
		declare_group(k, in, CONTRACT_COLUMN, column, all);
		first = ir_flat(p->pool, c->s->out, k->axis);
		for (int i = 0; i < c->stages; i++) {
			if (!stage_is_stored(p, c->made, c->stages, i))
				continue;
			struct ir_stmt *store = emit(p, in, IR_STORE_VECTOR);
			store->name = text(k, "%s_v", c->made[i]->out->name);
			store->type = c->made[i]->out->type;
			store->width = width;
			store->buf = flat_view(p, c->made[i]->out);
			store->at = first;
		}
		return;
	}
	declare_group(k, in, CONTRACT_COLUMN, column, all);
	k->all = ir_var(p->pool, c->s->value->type, "sums[0]", NULL);
	make_element(k, in, 1);
}

static void store_results(struct kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	int width = k->fast ? c->width : 1, pieces = s->warp_columns / width;
	expr lane = ir_binary(IR_MOD, var(k, IR_THREAD, index_(k, s->threads)), index_(k, WARP));
	expr piece = var(k, "piece", index_(k, TILE * pieces)), across = index_(k, pieces), inside;
	if (has_zeros(k))
		take_zeros(k, b);
	emit_comment(p, b, "all products are summed up: the tiles' memory is free");
	emit_invoke(p, b, "copy_wait<0>", header);
	emit(p, b, IR_SYNC);
	struct ir_block *in = unrolled(k, b, "part", 0, s->warp_rows / TILE, 1);
	expr part = var(k, "part", index_(k, s->warp_rows / TILE));
	struct ir_stmt *call = emit_invoke(p, in, "sums_put", header);
	add_text(p, call, "right_tile");
	add_text(p, call, "sum[part]");
	in = emit_for(p, in, "piece", lane, index_(k, TILE * pieces), index_(k, WARP));
	expr row = ir_binary(IR_FLOORDIV, piece, across);
	expr column = ir_binary(IR_MUL, ir_binary(IR_MOD, piece, across), index_(k, width));
	emit_constant(p, in, "row",
	              plus(plus(var(k, "first_row", NULL), var(k, "warp_row", NULL)),
	                   plus(ir_binary(IR_MUL, part, index_(k, TILE)), row)),
	              NULL);
	emit_constant(p, in, "column", plus(plus(var(k, "first_column", NULL), var(k, "warp_column", NULL)), column), NULL);
	inside = ir_int(p->pool, TYPE_BOOL, 1);
	if (!divides(c->extent[CONTRACT_ROW], s->rows))
		inside = ir_binary(IR_LT, var(k, "row", NULL), c->extent[CONTRACT_ROW]);
	if (!divides(c->extent[CONTRACT_COLUMN], s->columns))
		inside = ir_binary(IR_AND, inside, ir_binary(IR_LT, var(k, "column", NULL), c->extent[CONTRACT_COLUMN]));
	in = emit_if(p, in, inside);
	struct ir_stmt *array = emit(p, in, IR_ARRAY);
	array->name = "sums";
	array->type = c->s->value->type;
	array->width = width;
	call = emit_invoke(p, in, text(k, "sums_get<%d>", s->warp_columns), header);
	add_text(p, call, "sums");
	add_text(p, call, "right_tile");
	add_value(p, call, row);
	add_value(p, call, column);
	make_vector(k, in, width);
}

/* ---- The same block's elements on one processor. */

static struct ir_block *serial_loop(struct kernel *k, struct ir_block *b, const char *name, enum contract_group g, int size,
                                    const char *first_name)
{
	expr first = var(k, first_name, NULL);
	return emit_for(k->p, b, name, first, ir_binary(IR_MIN, k->c->extent[g], plus(first, index_(k, size))), index_(k, 1));
}

static void serial_block(struct kernel *k, struct ir_block *b)
{
	const struct contract *c = k->c;
	struct ir_program *p = k->p;
	bool used[2 * IR_MAX_RANK] = { false }, all[2 * IR_MAX_RANK];
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		all[i] = true;
	declare_place(k, b, false);
	struct ir_block *in = serial_loop(k, b, "row", CONTRACT_ROW, k->shape.rows, "first_row");
	declare_group(k, in, CONTRACT_ROW, var(k, "row", c->extent[CONTRACT_ROW]), all);
	in = serial_loop(k, in, "column", CONTRACT_COLUMN, k->shape.columns, "first_column");
	declare_group(k, in, CONTRACT_COLUMN, var(k, "column", c->extent[CONTRACT_COLUMN]), all);
	struct accumulator a = accumulator_begin(p, in, c->s);
	struct ir_block *sum = emit_for(p, in, "depth", index_(k, 0), c->depth, index_(k, 1));
	mark_axes(c->s->value, used);
	declare_depth(k, sum, var(k, "depth", c->depth), used);
	struct axes here = { .value = k->axis };
	accumulate(&a, sum, to_kernel(p, c->s->value, &here), NULL);
	k->all = a.value;
	make_element(k, in, 1);
}

void contract_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c, const struct sched_choice *choice,
                     expr fits)
{
	struct kernel k = { .c = c, .p = plan->program, .shape = contract_shape(c, choice), .fast = fits != NULL };
	struct kernel serial = k;
	struct ir_kernel *kernel = kernel_new(plan, c->made[c->stages - 1], fits ? "" : "_any", choice);
	const struct contract_shape *s = &k.shape;
	struct str about = str_new(k.p->arena);
	kernel->threads = s->threads;
	kernel->blocks = ir_binary(IR_MUL, c->extent[CONTRACT_BATCH],
	                           ir_binary(IR_MUL, ceil_div(k.p, c->extent[CONTRACT_ROW], s->rows),
	                                     ceil_div(k.p, c->extent[CONTRACT_COLUMN], s->columns)));
	declare_place(&k, &kernel->body, true);
	sum_up(&k, &kernel->body);
	store_results(&k, &kernel->body);
	serial_block(&serial, &kernel->serial);
	kernel->guard = fits && !ir_is_int(fits, 1) ? fits : NULL;
	kernel_finish(plan, step, kernel, c->s);
	for (int i = 0; i < c->stages; i++)
		ir_print_stage(&about, c->made[i]);
	kernel->about = str_text(&about);
	vec_each (other, step)
		(*other)->about = kernel->about; /* its twin's, too */
}
