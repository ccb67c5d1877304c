/* The kernel of a contraction by warpgroups' products whose tiles one more warp has brought by the GPU's copy engine: block after
 * block of tiles goes round through a ring of places in shared memory, on to the next sums while the last ones are stored. See
 * contract_kernel.h, and tpat_wgmma.h for the functions it calls. */
#include "sched/contract_kernel.h"

enum { STORE_COLUMNS = 64, WIDE_ARCH = 90, PANEL = 64 };

/* ---- Tensor maps. */

static expr extent_of(const struct contract *c, int axis)
{
	int rank = c->s->out->rank;
	return axis < rank ? c->s->out->dim[axis] : c->s->space[axis - rank];
}

/* Axes, the last the fastest, as one dimension: extents and strides that follow from each other. */
static bool one_dimension(struct ir_pool *pool, const struct contract *c, expr flat, const int *axis, int n, expr *dim,
                          expr *stride)
{
	*dim = ir_index(pool, 1);
	*stride = NULL;
	for (int i = n - 1; i >= 0; i--) {
		expr extent = extent_of(c, axis[i]), step = ir_stride(flat, axis[i]);
		if (ir_is_int(extent, 1))
			continue;
		if (!step || (*stride && step != ir_binary(IR_MUL, *stride, *dim)))
			return false;
		*stride = *stride ? *stride : step;
		*dim = ir_binary(IR_MUL, *dim, extent);
	}
	return true;
}

bool contract_map(struct ir_tensor_map *m, int at[IR_MAP_RANK], const struct contract *c, int side)
{
	const struct contract_operand *o = &c->side[side];
	enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
	struct ir_pool *pool = c->p->pool;
	int rank = c->s->out->rank, axes = rank + c->s->space_rank, turned = o->way == CONTRACT_TURNED, along[2 * IR_MAX_RANK];
	expr dim[2], stride[2];
	if (o->way == CONTRACT_GATHER || o->value->op != IR_LOAD)
		return false;
	expr flat = ir_flat(pool, o->value->buf, o->value->arg), rest = flat;
	for (int k = 0; k < axes; k++) {
		expr step = ir_stride(flat, k);
		if (!step)
			return false;
		rest = ir_binary(IR_SUB, rest, ir_binary(IR_MUL, step, ir_axis(pool, k, extent_of(c, k))));
	}
	for (int k = rank; k < axes; k++)
		along[k - rank] = k;
	if (!ir_is_int(rest, 0) || !one_dimension(pool, c, flat, along, c->s->space_rank, &dim[turned], &stride[turned]) ||
	    !one_dimension(pool, c, flat, c->axis[own], c->axes[own], &dim[!turned], &stride[!turned]))
		return false;
	*m = (struct ir_tensor_map){ .name = side ? "right_map" : "left_map", .buf = o->value->buf, .rank = 2 };
	for (int i = 0; i < 2; i++) {
		m->dim[i] = dim[i];
		m->stride[i] = stride[i] ? stride[i] : i ? dim[0] : ir_index(pool, 1); /* of one element: any that is allowed */
	}
	if (!ir_is_int(m->stride[0], 1))
		return false;
	for (int i = 0; i < c->axes[CONTRACT_BATCH]; i++) {
		int axis = c->axis[CONTRACT_BATCH][i];
		expr extent = extent_of(c, axis), step = ir_stride(flat, axis);
		if (ir_is_int(extent, 1) || ir_is_int(step, 0))
			continue;
		if (m->rank == IR_MAP_RANK)
			return false;
		m->dim[m->rank] = extent;
		m->stride[m->rank] = step;
		at[m->rank++] = axis;
	}
	for (int i = 1; i < m->rank; i++) { /* known to run forward */
		int64_t x;
		if (ir_const_int(m->stride[i], &x) && x <= 0)
			return false;
	}
	return true;
}

/* bool: strides run forward, in vectors of 16 bytes. */
static expr map_fits(const struct contract *c, const struct ir_tensor_map *m)
{
	struct ir_pool *pool = c->p->pool;
	int vector = 16 * 8 / type_info(m->buf->type)->bits;
	expr fits = ir_int(pool, TYPE_BOOL, 1);
	for (int i = 1; i < m->rank; i++) {
		expr whole = ir_binary(IR_EQ, ir_binary(IR_MOD, m->stride[i], ir_index(pool, vector)), ir_index(pool, 0));
		fits = ir_binary(IR_AND, fits, ir_binary(IR_AND, ir_binary(IR_LT, ir_index(pool, 0), m->stride[i]), whole));
	}
	return fits;
}

/* ---- The kernel. */

struct contract_shape contract_ring_shape(const struct contract *c, const struct sched_choice *choice)
{
	struct contract_shape s = contract_wide_shape(c, choice);
	s.threads += WARP;
	return s;
}

int contract_ring_bytes(const struct contract_shape *s)
{
	return s->slots * ((s->rows + s->columns) * 128 + 16) + s->warps_down * TILE * STORE_COLUMNS * 4;
}

static void load_tile(struct contract_kernel *k, struct ir_block *b, int side, const struct ir_tensor_map *m, const int *at)
{
	const char *name = contract_side_name[side], *first = side ? "first_column" : "first_row";
	bool turned = contract_way_of(k, side) == CONTRACT_TURNED;
	struct ir_stmt *call = emit_invoke(k->p, b, text(k, "tile_load<%d>", m->rank), k->header);
	add_text(k->p, call, text(k, "%s_tile[slot]", name));
	add_text(k->p, call, m->name);
	add_text(k->p, call, "&ring.full[slot]");
	add_text(k->p, call, turned ? first : "from");
	add_text(k->p, call, turned ? "from" : first);
	for (int i = 2; i < m->rank; i++)
		add_value(k->p, call, k->axis[at[i]]);
}

static expr declare_turn(struct contract_kernel *k, struct ir_block *b)
{
	emit_variable(k->p, b, "turn", index_(k, 0));
	return var(k, "turn", index_(k, 1 << 30)); /* never negative, and always an int */
}

static void next_turn(struct contract_kernel *k, struct ir_block *b, expr turn)
{
	emit_assign(k->p, b, turn, plus(turn, index_(k, 1)));
}

static struct ir_block *each_step(struct contract_kernel *k, struct ir_block *b, expr turn)
{
	struct ir_block *in = emit_for(k->p, b, "from", index_(k, 0), k->c->depth, index_(k, k->shape.depth));
	emit_constant(k->p, in, "slot", ir_binary(IR_MOD, turn, index_(k, k->shape.slots)), NULL);
	return in;
}

static void bring_tiles(struct contract_kernel *k, struct ir_block *b, expr blocks, const struct ir_tensor_map *map,
                        int at[2][IR_MAP_RANK])
{
	const struct contract_shape *s = &k->shape;
	expr turn = declare_turn(k, b);
	struct ir_block *in = contract_each_tile(k, b, blocks), *step = each_step(k, in, turn);
	struct ir_stmt *call = emit_invoke(k->p, step, "ring.fill", k->header);
	add_text(k->p, call, "turn");
	add_text(k->p, call, text(k, "%d", (s->rows + s->columns) * 128));
	for (int side = 0; side < 2; side++)
		load_tile(k, step, side, &map[side], at[side]);
	next_turn(k, step, turn);
}

static void ring_call(struct contract_kernel *k, struct ir_block *b, const char *what, const char *turn)
{
	struct ir_stmt *call = emit_invoke(k->p, b, text(k, "ring.%s", what), k->header);
	add_text(k->p, call, turn);
}

static void multiply_tiles(struct contract_kernel *k, struct ir_block *b, expr blocks)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	contract_declare_group_rows(k, b);
	expr turn = declare_turn(k, b);
	struct ir_block *in = contract_each_tile(k, b, blocks);
	emit_local(p, in, text(k, "mma_sum<%s>", contract_sum_type(k)), text(k, "sum[%d][%d]", s->parts, s->warp_columns / 8));
	struct ir_block *step = each_step(k, in, turn);
	ring_call(k, step, "wait", "turn");
	contract_multiply_wide(k, step);
	emit_invoke(p, step, "wgmma_wait<1>", k->header);
	struct ir_block *later = emit_if(p, step, ir_binary(IR_LT, index_(k, 0), var(k, "from", k->c->depth)));
	ring_call(k, later, "done", "turn - 1");
	next_turn(k, step, turn);
	emit_invoke(p, in, "wgmma_wait<0>", k->header);
	add_text(p, emit_invoke(p, in, "wgmma_done", k->header), "sum");
	ring_call(k, in, "done", "turn - 1");
	contract_store_results(k, in, "store_memory");
}

void contract_ring_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                          const struct sched_choice *choice, expr fits)
{
	struct contract_kernel k = {
		.c = c, .p = plan->program, .header = "tpat_wgmma.h", .shape = contract_ring_shape(c, choice),
		.fast = true, .wide = true, .store_columns = STORE_COLUMNS
	};
	struct ir_kernel *kernel = kernel_new(plan, c->made[c->stages - 1], "_wide", choice);
	struct ir_program *p = k.p;
	struct ir_block *b = &kernel->body;
	const struct contract_shape *s = &k.shape;
	int readers = s->threads - WARP, at[2][IR_MAP_RANK];
	struct ir_tensor_map map[2];
	/* Sums begin with the first products. */
	fits = ir_binary(IR_AND, fits, ir_binary(IR_LT, index_(&k, 0), c->depth));
	for (int side = 0; side < 2; side++) {
		bool turned = contract_way_of(&k, side) == CONTRACT_TURNED;
		ck(contract_map(&map[side], at[side], c, side));
		for (int i = 0; i < map[side].rank; i++)
			map[side].box[i] = 1;
		map[side].box[0] = turned ? PANEL : s->depth;
		map[side].box[1] = turned ? s->depth : side ? s->columns : s->rows;
		fits = ir_binary(IR_AND, fits, map_fits(c, &map[side]));
		vec_push(p->arena, &kernel->maps, map[side]);
	}
	kernel->arch = WIDE_ARCH;
	kernel->shared_bytes = contract_ring_bytes(s);
	kernel->blocks = ir_binary(IR_MIN, contract_tiles(&k), index_(&k, choice->param[3]));
	contract_declare_wide_tiles(&k, b);
	emit_local(p, b, text(&k, "tile_ring<%d>", s->slots),
	           text(&k, "&ring = *(tile_ring<%d> *)(right_tile + %d)", s->slots, s->slots));
	emit_local(p, b, "void *const", "store_memory = &ring + 1");
	add_text(p, emit_invoke(p, b, "ring.begin", k.header), text(&k, "%d", s->warps_down));
	emit(p, b, IR_SYNC);
	expr thread = var(&k, IR_THREAD, index_(&k, s->threads));
	bring_tiles(&k, emit_if(p, b, ir_binary(IR_EQ, thread, index_(&k, readers))), kernel->blocks, map, at);
	multiply_tiles(&k, emit_if(p, b, ir_binary(IR_LT, thread, index_(&k, readers))), kernel->blocks);
	contract_finish(&k, plan, step, kernel, fits);
}
