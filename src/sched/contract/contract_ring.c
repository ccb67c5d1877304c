/* The warp-specialised wgmma kernel of a contraction with persistent blocks. A producer warp copies tiles with TMA into
 * a ring of slots in shared memory. It runs ahead into the next tile while the consumers store the last one. See
 * contract_kernel.h, and tpat_wgmma.h for the functions it calls. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/axes.h"
#include "sched/build/finish.h"

#include <string.h>

/* Registers of three warpgroups, of which one is the producer: 168 each at first. */
enum { STORE_COLUMNS = 64, PANEL = 64, PRODUCER_REGISTERS = 40, READER_REGISTERS = 232 };

static int ring_bytes(const struct contract_shape *s)
{
	int ring = s->slots * 16, turns = s->turns ? 16 : 0, warps = (s->threads - s->producers) / WARP;
	int store = s->split > 1 ? 0 : warps * TILE * STORE_COLUMNS * 4;
	return contract_wide_bytes(s) + ring + turns + store;
}

/* Declares the start of a walk over an operand's positions. */
static void declare_indices(struct contract_kernel *k, struct ir_block *b, int side, const char *what,
                            const expr *index, int n, expr *out)
{
	struct axes here = { .value = k->axis };
	for (int d = 0; d < n; d++)
		out[d] = emit_constant(k->p, b, text(k, "%s_%s_%d", contract_side_name[side], what, d),
		                       to_kernel(k->p, index[d], &here), NULL);
}

static void load_walk(struct contract_kernel *k, struct ir_block *b, int side, expr slot, const struct contract_map *m)
{
	expr from[IR_MAP_RANK], at[IR_MAP_RANK], by[IR_MAP_RANK];
	int rank = m->map.rank;
	memcpy(from, m->from, sizeof from);
	from[0] = plus(from[0], m->by[0]);
	declare_indices(k, b, side, "at", from, rank, at);
	declare_indices(k, b, side, "by", m->by + 1, rank - 2, by);
	struct ir_call *call = emit_invoke(k->p, b, &device_walk_load, IR_OF(IR_NUMBER(rank)));
	add_member(k->p, call, k->tile[side], slot, &device_wide_tile_panel, NULL);
	add_variable(k->p, call, m->map.var);
	add_member(k->p, call, k->ring, NULL, &device_tile_ring_full, slot);
	add_place(k->p, call, rank, at);
	add_place(k->p, call, rank - 2, by);
}

/* Loads one side's tile of the step at `depth`. */
static void load_tile(struct contract_kernel *k, struct ir_block *b, int side, expr slot, expr depth,
                      const struct contract_map *map)
{
	const struct ir_tensor_map *m = &map->map;
	if (map->walks) {
		load_walk(k, b, side, slot, map);
		return;
	}
	expr first = ir_var_of(k->first[side], NULL), at[IR_MAP_RANK];
	for (int d = 0; map->stepped && d < m->rank; d++)
		at[d] = plus(map->from[d], map->by[d]);
	if (map->stepped)
		declare_indices(k, b, side, "at", at, m->rank, at);
	struct ir_call *call = emit_invoke(k->p, b, &device_tile_load, IR_OF(IR_NUMBER(m->rank)));
	add_item(k->p, call, k->tile[side], slot);
	add_variable(k->p, call, m->var);
	add_member(k->p, call, k->ring, NULL, &device_tile_ring_full, slot);
	for (int d = 0; map->stepped && d < m->rank; d++)
		add_value(k->p, call, at[d]);
	if (map->stepped)
		return;
	add_value(k->p, call, contract_is_turned(k, side) ? first : depth);
	add_value(k->p, call, contract_is_turned(k, side) ? depth : first);
	for (int i = 2; i < m->rank; i++)
		add_value(k->p, call, k->axis[map->at[i]]);
}

static expr declare_turn(struct contract_kernel *k, struct ir_block *b)
{
	return ir_var_of(emit_variable(k->p, b, "turn", index_(k, 0))->var, index_(k, 1 << 30)); /* the bound keeps it a
	                                                                                            non-negative int */
}

static void next_turn(struct contract_kernel *k, struct ir_block *b, expr turn)
{
	emit_assign(k->p, b, turn, plus(turn, index_(k, 1)));
}

static struct ir_block *each_step(struct contract_kernel *k, struct ir_block *b, expr turn, struct contract_range range,
                                  expr *from, expr *slot)
{
	b = emit_loop(k->p, b, "from", range.from, range.to, index_(k, k->shape.depth), k->c->depth, from);
	*slot = emit_constant(k->p, b, "slot", ir_binary(IR_MOD, turn, index_(k, k->shape.slots)), NULL);
	return b;
}

/* Loops over a block's tiles or, with stream-K, over its pieces. */
static struct ir_block *each_tile(struct contract_kernel *k, struct ir_block *b, expr blocks,
                                  struct contract_range *range)
{
	return k->stream ? contract_each_piece(k, b, range) : contract_each_tile(k, b, blocks);
}

static void bring_tiles(struct contract_kernel *k, struct ir_block *b, expr blocks, struct contract_range range,
                        const struct contract_map *map)
{
	const struct contract_shape *s = &k->shape;
	expr turn = declare_turn(k, b), from, slot;
	struct ir_block *in = each_tile(k, b, blocks, &range);
	range.to = k->depth ? k->depth : range.to;
	bool all[2 * IR_MAX_RANK];
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		all[i] = true;
	for (int side = 0; side < 2; side++) {
		enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
		if (map[side].walks || map[side].stepped)
			contract_declare_group(k, in, own, ir_var_of(k->first[side], k->c->extent[own]), all);
	}
	struct ir_block *step = each_step(k, in, turn, range, &from, &slot);
	if (map[0].walks || map[1].walks || map[0].stepped || map[1].stepped)
		contract_declare_depth(k, step, from, all, NULL);
	struct ir_call *call = emit_method(k->p, step, k->ring, &device_tile_ring_fill);
	add_value(k->p, call, turn);
	add_value(k->p, call, index_(k, (s->rows + s->columns) * 128));
	for (int side = 0; side < 2; side++)
		load_tile(k, step, side, slot, from, &map[side]);
	next_turn(k, step, turn);
	if (k->stream)
		contract_bring_parts(k, in, turn);
}

static void ring_call(struct contract_kernel *k, struct ir_block *b, const struct ir_device_function *what, expr turn)
{
	add_value(k->p, emit_method(k->p, b, k->ring, what), turn);
}

static void call_turns(struct contract_kernel *k, struct ir_block *b, const struct ir_device_function *what)
{
	add_value(k->p, emit_method(k->p, b, k->turns, what), k->round);
}

static void multiply_tiles(struct contract_kernel *k, struct ir_block *b, expr blocks, struct contract_range range)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	contract_declare_group_rows(k, b);
	if (s->turns) {
		expr group =
		        ir_binary(IR_FLOORDIV, ir_thread(p->pool, index_(k, s->threads)), index_(k, GROUP_THREADS));
		k->group = emit_constant(p, b, "group", group, index_(k, 2));
	}
	expr turn = k->turn = declare_turn(k, b), before = ir_binary(IR_SUB, turn, index_(k, 1)), from, slot;
	struct ir_block *in = each_tile(k, b, blocks, &range);
	range.to = k->depth ? k->depth : range.to;
	contract_load_ahead(k, in);
	contract_declare_wide_sums(k, in);
	if (s->turns) {
		call_turns(k, in, &device_tile_turns_take);
		expr steps = ceil_div(p, k->c->depth, s->depth);
		emit_assign(p, in, turn, ir_binary(IR_MUL, k->round, steps));
	}
	struct ir_block *step = each_step(k, in, turn, range, &from, &slot);
	ring_call(k, step, &device_tile_ring_wait, turn);
	contract_multiply_wide(k, step, slot, from, range.from);
	bool promoted = contract_is_promoted(k->c); /* the products are done */
	if (promoted) {
		ring_call(k, step, &device_tile_ring_done, turn);
	} else {
		emit_invoke(p, step, &device_wgmma_wait, IR_OF(IR_NUMBER(1)));
		struct ir_block *later = emit_if(p, step, ir_binary(IR_LT, range.from, from));
		ring_call(k, later, &device_tile_ring_done, before);
	}
	next_turn(k, step, turn);
	if (s->turns)
		call_turns(k, in, &device_tile_turns_pass);
	contract_finish_wide_sums(k, in);
	if (!promoted)
		ring_call(k, in, &device_tile_ring_done, before);
	if (k->stream)
		in = contract_join_parts(k, in, range);
	contract_store_results(k, in, s->split > 1 ? ir_shared_memory(p->pool) : k->store_memory);
}

void contract_ring_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                          const struct sched_choice *choice, struct contract_stream *stream, expr fits)
{
	struct contract_kernel k = { .c = c,
		                     .p = plan->program,
		                     .shape = contract_ring_shape(c, choice),
		                     .vectors = { true, true },
		                     .wide = true,
		                     .stream = stream };
	k.readers = k.shape.threads - k.shape.producers;
	struct ir_kernel *kernel = kernel_new(plan, c->made[c->stages - 1], "_wide", choice);
	struct ir_program *p = k.p;
	struct ir_block *b = &kernel->body;
	const struct contract_shape *s = &k.shape;
	int readers = k.readers;
	struct contract_map map[2];
	fits = ir_binary(IR_AND, fits, contract_range_fits(&k));
	for (int side = 0; side < 2; side++) {
		bool turned = contract_way_of(&k, side) == CONTRACT_TURNED;
		ck(contract_map(&map[side], c, side));
		struct ir_tensor_map *m = &map[side].map;
		int outer = side ? s->columns : s->rows;
		for (int i = 0; i < m->rank && !map[side].stepped; i++)
			m->box[i] = 1;
		m->box[0] = turned ? PANEL : s->depth;
		if (map[side].walks)
			m->pixels = outer;
		else if (map[side].stepped)
			m->box[map[side].outer] = outer / map[side].inner;
		else
			m->box[1] = turned ? s->depth : outer;
		fits = ir_binary(IR_AND, fits, map[side].fits);
		m->var = ir_variable_new(p->pool, TYPE_NONE, "%s_map", contract_side_name[side]);
		vec_push(p->arena, &kernel->maps, *m);
	}
	kernel->shared_bytes = ring_bytes(s);
	if (k.stream) {
		k.store_columns = STORE_COLUMNS;
		kernel->blocks = k.stream->blocks;
		vec_push(p->arena, &kernel->exchanged, k.stream->parts);
	} else if (s->split <= 1) {
		k.store_columns = STORE_COLUMNS;
		kernel->blocks = ir_binary(IR_MIN, contract_tiles(&k), index_(&k, choice->param[3]));
	} else {
		kernel->blocks = contract_blocks(&k);
	}
	struct contract_range range = contract_declare_range(&k, b);
	if (k.stream)
		contract_stream_begin(&k, b);
	contract_declare_wide_tiles(&k, b);
	struct ir_variable *ring = ir_object_new(p->pool, &device_tile_ring, IR_OF(IR_NUMBER(s->slots)), "ring");
	k.ring = emit_placed(p, b, ring, k.tile[1]);
	if (s->turns) {
		struct ir_variable *turns = ir_object_new(p->pool, &device_tile_turns, IR_OF_NOTHING, "turns");
		k.turns = emit_placed(p, b, turns, k.ring);
		emit_method(p, b, k.turns, &device_tile_turns_begin);
	}
	if (s->split <= 1)
		k.store_memory = emit_placed(p, b, ir_variable_new(p->pool, TYPE_NONE, "store_memory"),
		                             k.turns ? k.turns : k.ring);
	ring_call(&k, b, &device_tile_ring_begin, index_(&k, s->warps_down));
	emit(p, b, IR_SYNC);
	expr thread = ir_thread(p->pool, index_(&k, s->threads)), first = index_(&k, readers);
	struct ir_block *bring = b;
	if (s->producers > WARP) {
		bring = emit_if(p, b, ir_binary(IR_LE, first, thread));
		emit_invoke(p, bring, &device_registers_give, IR_OF(IR_NUMBER(PRODUCER_REGISTERS)));
	}
	bring_tiles(&k, emit_if(p, bring, ir_binary(IR_EQ, thread, first)), kernel->blocks, range, map);
	struct ir_block *multiply = emit_if(p, b, ir_binary(IR_LT, thread, first));
	if (s->producers > WARP)
		emit_invoke(p, multiply, &device_registers_take, IR_OF(IR_NUMBER(READER_REGISTERS)));
	multiply_tiles(&k, multiply, kernel->blocks, range);
	contract_finish(&k, plan, step, kernel, fits);
}
