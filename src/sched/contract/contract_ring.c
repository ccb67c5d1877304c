/* The kernel of a contraction by warpgroups' products whose tiles one more warp has brought by the GPU's copy engine:
 * block after block of tiles goes round through a ring of places in shared memory, on to the next sums while the last
 * ones are stored. See contract_kernel.h, and tpat_wgmma.h for the functions it calls. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/axes.h"
#include "sched/build/finish.h"

#include <stdlib.h>
#include <string.h>

enum { STORE_COLUMNS = 64, PANEL = 64 };

struct contract_shape contract_ring_shape(const struct contract *c, const struct sched_choice *choice)
{
	struct contract_shape s = contract_wide_shape(c, choice);
	s.threads += WARP;
	return s;
}

int contract_ring_bytes(const struct contract_shape *s)
{
	int ring = s->slots * 16, store = s->split > 1 ? 0 : s->warps_down * TILE * STORE_COLUMNS * 4;
	return contract_wide_bytes(s) + ring + store;
}

/* Where a walk over an operand's positions begins: "{ x, y, ... }" of what is declared. */
static const char *declare_indices(struct contract_kernel *k, struct ir_block *b, int side, const char *what,
                                   const expr *index, int n)
{
	struct axes here = { .value = k->axis };
	struct str all = str_new(k->p->arena);
	for (int d = 0; d < n; d++) {
		const char *name = text(k, "%s_%s_%d", contract_side_name[side], what, d);
		emit_constant(k->p, b, name, to_kernel(k->p, index[d], &here), NULL);
		str_printf(&all, "%s%s", d ? ", " : "{ ", name);
	}
	str_add(&all, " }");
	return str_text(&all);
}

static void load_walk(struct contract_kernel *k, struct ir_block *b, int side, const struct contract_map *m)
{
	const char *name = contract_side_name[side];
	expr from[IR_MAP_RANK];
	int rank = m->map.rank;
	memcpy(from, m->from, sizeof from);
	from[0] = plus(from[0], m->by[0]);
	const char *at = declare_indices(k, b, side, "at", from, rank);
	const char *by = declare_indices(k, b, side, "by", m->by + 1, rank - 2);
	struct ir_stmt *call = emit_invoke(k->p, b, text(k, "walk_load<%d>", rank), k->header);
	add_text(k->p, call, text(k, "%s_tile[slot].panel", name));
	add_text(k->p, call, m->map.name);
	add_text(k->p, call, "&ring.full[slot]");
	add_text(k->p, call, at);
	add_text(k->p, call, by);
}

static void load_tile(struct contract_kernel *k, struct ir_block *b, int side, const struct contract_map *map)
{
	const struct ir_tensor_map *m = &map->map;
	const char *name = contract_side_name[side], *first = side ? "first_column" : "first_row";
	if (map->walks) {
		load_walk(k, b, side, map);
		return;
	}
	bool turned = contract_way_of(k, side) == CONTRACT_TURNED;
	struct ir_stmt *call = emit_invoke(k->p, b, text(k, "tile_load<%d>", m->rank), k->header);
	add_text(k->p, call, text(k, "%s_tile[slot]", name));
	add_text(k->p, call, m->name);
	add_text(k->p, call, "&ring.full[slot]");
	add_text(k->p, call, turned ? first : "from");
	add_text(k->p, call, turned ? "from" : first);
	for (int i = 2; i < m->rank; i++)
		add_value(k->p, call, k->axis[map->at[i]]);
}

static expr declare_turn(struct contract_kernel *k, struct ir_block *b)
{
	return ir_var_of(emit_variable(k->p, b, "turn", index_(k, 0))->var, index_(k, 1 << 30)); /* never negative, and
	                                                                                            always an int */
}

static void next_turn(struct contract_kernel *k, struct ir_block *b, expr turn)
{
	emit_assign(k->p, b, turn, plus(turn, index_(k, 1)));
}

static struct ir_block *each_step(struct contract_kernel *k, struct ir_block *b, expr turn, struct contract_range range)
{
	struct ir_block *in = emit_for(k->p, b, "from", range.from, range.to, index_(k, k->shape.depth));
	emit_constant(k->p, in, "slot", ir_binary(IR_MOD, turn, index_(k, k->shape.slots)), NULL);
	return in;
}

/* A block's tiles, or, where it makes some of its tiles' steps alone, these. */
static struct ir_block *each_tile(struct contract_kernel *k, struct ir_block *b, expr blocks,
                                  struct contract_range *range)
{
	return k->stream ? contract_each_piece(k, b, range) : contract_each_tile(k, b, blocks);
}

static void bring_tiles(struct contract_kernel *k, struct ir_block *b, expr blocks, struct contract_range range,
                        const struct contract_map *map)
{
	const struct contract_shape *s = &k->shape;
	expr turn = declare_turn(k, b);
	struct ir_block *in = each_tile(k, b, blocks, &range);
	bool all[2 * IR_MAX_RANK];
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		all[i] = true;
	for (int side = 0; side < 2; side++) {
		enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
		if (map[side].walks)
			contract_declare_group(k, in, own,
			                       var(k, side ? "first_column" : "first_row", k->c->extent[own]), all);
	}
	struct ir_block *step = each_step(k, in, turn, range);
	if (map[0].walks || map[1].walks)
		contract_declare_depth(k, step, var(k, "from", k->c->depth), all, NULL);
	struct ir_stmt *call = emit_invoke(k->p, step, "ring.fill", k->header);
	add_text(k->p, call, "turn");
	add_text(k->p, call, text(k, "%d", (s->rows + s->columns) * 128));
	for (int side = 0; side < 2; side++)
		load_tile(k, step, side, &map[side]);
	next_turn(k, step, turn);
	if (k->stream)
		contract_bring_parts(k, in, turn);
}

static void ring_call(struct contract_kernel *k, struct ir_block *b, const char *what, const char *turn)
{
	struct ir_stmt *call = emit_invoke(k->p, b, text(k, "ring.%s", what), k->header);
	add_text(k->p, call, turn);
}

static void multiply_tiles(struct contract_kernel *k, struct ir_block *b, expr blocks, struct contract_range range)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	contract_declare_group_rows(k, b);
	expr turn = declare_turn(k, b);
	struct ir_block *in = each_tile(k, b, blocks, &range);
	emit_local(p, in, text(k, "mma_sum<%s>", contract_sum_type(k)), "sum",
	           text(k, "[%d][%d]", s->parts, s->warp_columns / 8));
	struct ir_block *step = each_step(k, in, turn, range);
	ring_call(k, step, "wait", "turn");
	contract_multiply_wide(k, step);
	emit_invoke(p, step, "wgmma_wait<1>", k->header);
	struct ir_block *later = emit_if(p, step, ir_binary(IR_LT, range.from, var(k, "from", k->c->depth)));
	ring_call(k, later, "done", "turn - 1");
	next_turn(k, step, turn);
	emit_invoke(p, in, "wgmma_wait<0>", k->header);
	add_text(p, emit_invoke(p, in, "wgmma_done", k->header), "sum");
	ring_call(k, in, "done", "turn - 1");
	if (k->stream)
		in = contract_join_parts(k, in, range);
	contract_store_results(k, in, s->split > 1 ? "shared_memory" : "store_memory");
}

void contract_ring_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                          const struct sched_choice *choice, struct contract_stream *stream, expr fits)
{
	struct contract_kernel k = { .c = c,
		                     .p = plan->program,
		                     .header = "tpat_wgmma.h",
		                     .shape = contract_ring_shape(c, choice),
		                     .fast = true,
		                     .wide = true,
		                     .stream = stream };
	k.readers = k.shape.threads - WARP;
	struct ir_kernel *kernel = kernel_new(plan, c->made[c->stages - 1], "_wide", choice);
	struct ir_program *p = k.p;
	struct ir_block *b = &kernel->body;
	const struct contract_shape *s = &k.shape;
	int readers = s->threads - WARP;
	struct contract_map map[2];
	fits = ir_binary(IR_AND, fits, contract_range_fits(&k));
	for (int side = 0; side < 2; side++) {
		bool turned = contract_way_of(&k, side) == CONTRACT_TURNED;
		ck(contract_map(&map[side], c, side));
		struct ir_tensor_map *m = &map[side].map;
		int outer = side ? s->columns : s->rows;
		for (int i = 0; i < m->rank; i++)
			m->box[i] = 1;
		m->box[0] = turned ? PANEL : s->depth;
		if (map[side].walks)
			m->pixels = outer;
		else
			m->box[1] = turned ? s->depth : outer;
		fits = ir_binary(IR_AND, fits, map[side].fits);
		vec_push(p->arena, &kernel->maps, *m);
	}
	kernel->shared_bytes = contract_ring_bytes(s);
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
	emit_local(p, b, text(&k, "tile_ring<%d> &", s->slots), "ring",
	           text(&k, " = *(tile_ring<%d> *)(right_tile + %d)", s->slots, s->slots));
	if (s->split <= 1)
		emit_local(p, b, "void *const", "store_memory", " = &ring + 1");
	add_text(p, emit_invoke(p, b, "ring.begin", k.header), text(&k, "%d", s->warps_down));
	emit(p, b, IR_SYNC);
	expr thread = ir_thread(p->pool, index_(&k, s->threads));
	bring_tiles(&k, emit_if(p, b, ir_binary(IR_EQ, thread, index_(&k, readers))), kernel->blocks, range, map);
	multiply_tiles(&k, emit_if(p, b, ir_binary(IR_LT, thread, index_(&k, readers))), kernel->blocks, range);
	contract_finish(&k, plan, step, kernel, fits);
}
