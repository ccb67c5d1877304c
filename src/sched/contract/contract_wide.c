/* The wgmma kernel of a contraction: a warpgroup of 128 threads multiplies tiles straight from shared memory while the
 * next ones are loaded. See contract_kernel.h, and tpat_wgmma.h for the functions it calls. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/finish.h"

enum { GROUP_ROWS = 64, TILES_BELOW = 8 };

struct contract_shape contract_wide_shape(const struct contract *c, const struct sched_choice *choice)
{
	struct contract_shape s = { .rows = choice->param[0],
		                    .columns = choice->param[1],
		                    .slots = choice->param[2],
		                    .split = choice->param[4],
		                    .stream = choice->param[5],
		                    .turns = choice->param[7] };
	int groups = s.rows >= 2 * GROUP_ROWS && !s.turns ? 2 : 1;
	s.depth = 128 / contract_element_bytes(c);
	s.threads = (s.turns ? 2 : groups) * GROUP_THREADS;
	s.warps_down = groups * GROUP_THREADS / WARP;
	s.warps_across = 1;
	s.warp_rows = s.rows / s.warps_down;
	s.warp_columns = s.columns;
	s.parts = s.rows / groups / GROUP_ROWS;
	s.part_step = GROUP_ROWS;
	s.group = TILES_BELOW;
	return s;
}

struct contract_shape contract_ring_shape(const struct contract *c, const struct sched_choice *choice)
{
	enum { MOST_SUMS = 96 /* accumulators of a thread that has 168 registers */ };
	struct contract_shape s = contract_wide_shape(c, choice);
	int sums = s.columns / 2 * (s.parts + contract_is_promoted(c));
	s.producers = sums > MOST_SUMS && s.threads > GROUP_THREADS ? GROUP_THREADS : WARP;
	s.threads += s.producers;
	return s;
}

/* Tiles; after them, with split-K, the sums. */
int contract_wide_bytes(const struct contract_shape *s)
{
	int tiles = s->slots * (s->rows + s->columns) * 128, sums = s->split > 1 ? s->rows * s->columns * 4 : 0;
	return sums > tiles ? sums : tiles;
}

void contract_declare_group_rows(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	expr thread = ir_thread(k->p->pool, index_(k, s->threads));
	expr group = s->turns ? index_(k, 0) : ir_binary(IR_FLOORDIV, thread, index_(k, GROUP_THREADS));
	expr warp = ir_binary(IR_MOD, ir_binary(IR_FLOORDIV, thread, index_(k, WARP)), index_(k, GROUP_THREADS / WARP));
	expr first = emit_constant(k->p, b, "group_row", times(group, s->parts * GROUP_ROWS), NULL);
	k->group_row = first->var;
	k->warp[0] = emit_constant(k->p, b, "warp_row", plus(first, times(warp, TILE)), NULL)->var;
	k->warp[1] = emit_constant(k->p, b, "warp_column", index_(k, 0), NULL)->var;
}

/* sum += product of the tiles in the slot, a part of the rows at a time. */
static void multiply_promoted(struct contract_kernel *k, struct ir_block *b, expr slot)
{
	struct ir_program *p = k->p;
	expr part;
	struct ir_block *in = unrolled(k, b, "part", k->shape.parts, 1, &part);
	struct ir_call *call = emit_invoke(p, in, &device_wgmma_promoted, IR_OF_NOTHING);
	add_item(p, call, k->sum, part);
	add_item(p, call, k->tile[0], slot);
	add_value(p, call, plus(ir_var_of(k->group_row, NULL), times(part, GROUP_ROWS)));
	add_item(p, call, k->tile[1], slot);
	add_value(p, call, index_(k, 0));
}

/* sum = or += product of the tiles in the slot. */
void contract_multiply_wide(struct contract_kernel *k, struct ir_block *b, expr slot, expr from, expr begin)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	if (contract_is_promoted(k->c)) {
		multiply_promoted(k, b, slot);
		return;
	}
	emit_invoke(p, b, &device_wgmma_begin, IR_OF_NOTHING);
	expr depth, part, zero = index_(k, 0);
	struct ir_block *in = unrolled(k, b, "depth", s->depth, 32 / contract_element_bytes(k->c), &depth);
	in = unrolled(k, in, "part", s->parts, 1, &part);
	struct ir_call *call = emit_invoke(p, in, &device_wgmma, IR_OF_NOTHING);
	add_item(p, call, k->sum, part);
	add_item(p, call, k->tile[0], slot);
	add_value(p, call, plus(ir_var_of(k->group_row, NULL), times(part, GROUP_ROWS)));
	add_item(p, call, k->tile[1], slot);
	add_value(p, call, zero);
	add_value(p, call, depth);
	add_value(p, call, ir_binary(IR_OR, ir_binary(IR_LT, zero, depth), ir_binary(IR_LT, begin, from)));
	emit_invoke(p, b, &device_wgmma_commit, IR_OF_NOTHING);
}

void contract_declare_wide_tiles(struct contract_kernel *k, struct ir_block *b)
{
	for (int side = 0; side < 2; side++)
		k->tile[side] = emit_placed(k->p, b, contract_tiles_new(k, side), side ? k->tile[0] : NULL);
}

void contract_declare_wide_sums(struct contract_kernel *k, struct ir_block *b)
{
	struct ir_variable *v = ir_object_new(k->p->pool, &device_mma_sum, IR_OF(IR_TYPE(contract_sum_type(k))), "sum");
	v = array_of_rows(v, k->shape.parts, k->shape.warp_columns / 8);
	k->sum = contract_is_promoted(k->c) ? emit_zeros(k->p, b, v) : emit_local(k->p, b, v);
}

void contract_finish_wide_sums(struct contract_kernel *k, struct ir_block *b)
{
	if (contract_is_promoted(k->c))
		return;
	emit_invoke(k->p, b, &device_wgmma_wait, IR_OF(IR_NUMBER(0)));
	add_variable(k->p, emit_invoke(k->p, b, &device_wgmma_done, IR_OF_NOTHING), k->sum);
}

/* One slot is being multiplied, one may still be read by the previous products, and the others are in flight. */
static void sum_up(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	int before = s->slots - 2;
	struct contract_range range = contract_declare_range(k, b);
	contract_declare_wide_tiles(k, b);
	contract_begin_loads(k, b);
	contract_declare_wide_sums(k, b);

	expr slot, from;
	struct ir_block *in =
	        emit_loop(p, b, "slot", index_(k, 0), index_(k, before), index_(k, 1), index_(k, before), &slot);
	expr begin = plus(range.from, times(slot, s->depth));
	struct ir_block *more = emit_if(p, in, ir_binary(IR_LT, begin, range.to));
	for (int side = 0; side < 2; side++)
		contract_emit_fetch(k, more, side, slot, begin);
	emit_invoke(p, in, &device_copy_commit, IR_OF_NOTHING);

	in = emit_loop(p, b, "from", range.from, range.to, index_(k, s->depth), k->c->depth, &from);
	expr number = ir_binary(IR_FLOORDIV, from, index_(k, s->depth));
	if (s->split > 1)
		number = emit_declare(p, in, "number", ir_binary(IR_SUB, number, range.first), number);
	slot = emit_constant(p, in, "slot", ir_binary(IR_MOD, number, index_(k, s->slots)), NULL);
	number = plus(number, index_(k, before));
	expr ahead = emit_constant(p, in, "ahead", ir_binary(IR_MOD, number, index_(k, s->slots)), NULL);
	emit_invoke(p, in, &device_copy_wait, IR_OF(IR_NUMBER(before - 1)));
	emit_invoke(p, in, &device_wgmma_see, IR_OF_NOTHING);
	emit(p, in, IR_SYNC);
	contract_multiply_wide(k, in, slot, from, range.from);
	expr later = plus(from, index_(k, (int64_t)s->depth * before));
	more = emit_if(p, in, ir_binary(IR_LT, later, range.to));
	for (int side = 0; side < 2; side++)
		contract_emit_fetch(k, more, side, ahead, later);
	emit_invoke(p, in, &device_copy_commit, IR_OF_NOTHING);
	if (!contract_is_promoted(k->c))
		emit_invoke(p, in, &device_wgmma_wait, IR_OF(IR_NUMBER(1)));
	contract_finish_wide_sums(k, b);
}

void contract_wide_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                          const struct sched_choice *choice, expr fits)
{
	struct contract_kernel k = { .c = c,
		                     .p = plan->program,
		                     .shape = contract_wide_shape(c, choice),
		                     .vectors = { true, true },
		                     .wide = true };
	struct ir_kernel *kernel = kernel_new(plan, c->made[c->stages - 1], "_wide", choice);
	fits = ir_binary(IR_AND, fits, contract_range_fits(&k));
	kernel->shared_bytes = contract_wide_bytes(&k.shape);
	contract_each_tile(&k, &kernel->body, contract_blocks(&k));
	contract_declare_group_rows(&k, &kernel->body);
	sum_up(&k, &kernel->body);
	contract_store_results(&k, &kernel->body, ir_shared_memory(k.p->pool));
	contract_finish(&k, plan, step, kernel, fits);
}
