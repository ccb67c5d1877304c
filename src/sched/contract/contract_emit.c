/* The mma kernel of a contraction. Operand tiles are loaded into shared memory while earlier ones are multiplied; sums
 * stay in registers to the end. See contract_kernel.h, and tpat_mma.h for the functions it calls. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/finish.h"

enum { MOST_SLOTS = 4, APART_BYTES = 16 }; /* APART_BYTES: padding between rows, TILE_APART */

struct contract_shape contract_shape(const struct contract *c, const struct sched_choice *choice)
{
	struct contract_shape s = { .rows = choice->param[0], .columns = choice->param[1], .depth = choice->param[2] };
	int bytes = 0;
	for (int side = 0; side < 2; side++) {
		int row = s.depth * contract_element_bytes(c);
		bool gathers = !ir_is_int(c->side[side].fits, 1); /* the kernel for other extents */
		if (contract_lies_apart(c, side, gathers ? CONTRACT_GATHER : c->side[side].way))
			row += APART_BYTES;
		bytes += (side ? s.columns : s.rows) * row;
	}
	s.slots = TARGET_DECLARED / bytes;
	s.slots = s.slots > MOST_SLOTS ? MOST_SLOTS : s.slots;
	if (c->plain) { /* large tiles: 8 x 8 sums per lane; else 4 or 8 rows and columns, or 12 of 96 columns */
		s.warps_down = s.rows * s.columns >= 64 * 128 ? s.rows / 32 : s.rows >= 64 ? 4 : s.rows / 16;
		s.warps_across = s.rows < 32 ? 4 : s.columns > 64 && s.columns != 96 ? 2 : 1;
	} else { /* warp tiles are as square as the rows allow, and at most 64 x 64 for the registers */
		s.warps_down = s.rows >= 32 ? 2 : 1;
		s.warps_across = s.rows < 32 ? 4 : s.columns > 128 ? s.columns / 64 : 2;
	}
	s.warp_rows = s.rows / s.warps_down;
	s.warp_columns = s.columns / s.warps_across;
	s.threads = WARP * s.warps_down * s.warps_across;
	return s;
}

/* ---- The main loop. */

/* Loads the warp's fragments of an operand for one step: from the slot, from `depth` on. */
static void load_parts(struct contract_kernel *k, struct ir_block *b, int side, const struct ir_variable *own,
                       expr slot, expr depth)
{
	static const struct ir_device_function *const load[2][2] = {
		{ &device_mma_load_a, &device_mma_load_a_turned },
		{ &device_mma_load_b, &device_mma_load_b_turned },
	};
	expr part;
	struct ir_block *in = unrolled(k, b, "part", own->dim[0], side ? 2 : 1, &part);
	struct ir_call *call = emit_invoke(k->p, in, load[side][contract_is_turned(k, side)], IR_OF_NOTHING);
	add_item(k->p, call, own, part);
	if (side)
		add_item(k->p, call, own, plus(part, index_(k, 1)));
	add_item(k->p, call, k->tile[side], slot);
	add_value(k->p, call, plus(ir_var_of(k->warp[side], NULL), times(part, side ? TILE / 2 : TILE)));
	add_value(k->p, call, depth);
}

/* Multiplies the tiles in the slot without tensor cores. */
static void multiply_plain(struct contract_kernel *k, struct ir_block *b, expr slot)
{
	struct ir_call *call =
	        emit_invoke(k->p, b, &device_fma_tiles,
	                    IR_OF(IR_TRUTH(contract_is_turned(k, 0)), IR_TRUTH(contract_is_turned(k, 1))));
	add_variable(k->p, call, k->sum);
	for (int side = 0; side < 2; side++)
		add_item(k->p, call, k->tile[side], slot);
	for (int side = 0; side < 2; side++)
		add_value(k->p, call, ir_var_of(k->warp[side], NULL));
}

/* sum += product of the tiles in the slot. */
static void multiply(struct contract_kernel *k, struct ir_block *b, expr slot)
{
	const struct contract_shape *s = &k->shape;
	int down = s->warp_rows / TILE, across = s->warp_columns / TILE * 2, step = 32 / contract_element_bytes(k->c);
	const struct ir_variable *own[2];
	expr depth, row, column, part;
	struct ir_block *in = unrolled(k, b, "depth", s->depth, step, &depth);
	for (int side = 0; side < 2; side++) {
		struct ir_variable *v =
		        ir_object_new(k->p->pool, side ? &device_mma_b : &device_mma_a,
		                      IR_OF(IR_TYPE(k->c->side[side].type)), "%s", contract_side_name[side]);
		own[side] = emit_local(k->p, in, array_of(v, side ? across : down));
	}
	load_parts(k, in, 0, own[0], slot, depth);
	load_parts(k, in, 1, own[1], slot, depth);
	struct ir_block *rows = unrolled(k, in, "row", down, 1, &row),
	                *columns = unrolled(k, rows, "column", across, 1, &column);
	struct ir_call *call = emit_invoke(k->p, columns, &device_mma, IR_OF_NOTHING);
	add_item_of_row(k->p, call, k->sum, row, column);
	add_item(k->p, call, own[0], row);
	add_item(k->p, call, own[1], column);
	for (int side = 0; side < 2; side++) { /* the factor of the other operand's zero point */
		if (!k->c->side[!side].zero)
			continue;
		struct ir_block *parts = unrolled(k, in, "part", side ? across : down, 1, &part);
		call = emit_invoke(k->p, parts, side ? &device_mma_add_columns : &device_mma_add_rows, IR_OF_NOTHING);
		add_item(k->p, call, k->own_sum[side], part);
		add_item(k->p, call, own[side], part);
	}
}

static void multiply_slot(struct contract_kernel *k, struct ir_block *b, expr slot)
{
	if (k->c->plain)
		multiply_plain(k, b, slot);
	else
		multiply(k, b, slot);
}

static void bring(struct contract_kernel *k, struct ir_block *b, expr slot, expr begin)
{
	if (k->tap)
		begin = contract_declare_tap(k, b, begin);
	for (int side = 0; side < 2; side++)
		contract_emit_fetch(k, b, side, slot, begin);
}

/* Asynchronous copies: the prologue fills all slots but one before the first product. */
static void sum_copied(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	expr length = contract_length(k->range), start = k->range.from;
	expr slot, from, slots = index_(k, s->slots), before = index_(k, s->slots - 1);
	struct ir_block *in = emit_loop(p, b, "slot", index_(k, 0), before, index_(k, 1), before, &slot);
	expr begin = times(slot, s->depth);
	bring(k, emit_if(p, in, ir_binary(IR_LT, begin, length)), slot, plus(start, begin));
	emit_invoke(p, in, &device_copy_commit, IR_OF_NOTHING);

	in = emit_loop(p, b, "from", index_(k, 0), length, index_(k, s->depth), contract_most_depth(k), &from);
	expr number = ir_binary(IR_FLOORDIV, from, index_(k, s->depth));
	slot = emit_constant(p, in, "slot", ir_binary(IR_MOD, number, slots), NULL);
	expr ahead = emit_constant(p, in, "ahead", ir_binary(IR_MOD, plus(number, before), slots), NULL);
	emit_invoke(p, in, &device_copy_wait, IR_OF(IR_NUMBER(s->slots - 2)));
	emit(p, in, IR_SYNC);
	expr later = plus(from, index_(k, (int64_t)s->depth * (s->slots - 1)));
	bring(k, emit_if(p, in, ir_binary(IR_LT, later, length)), ahead, plus(start, later));
	emit_invoke(p, in, &device_copy_commit, IR_OF_NOTHING);
	multiply_slot(k, in, slot);
}

/* Gathered tiles: the gather is one instruction per tile element. It appears once, not twice, since it dominates
 * compile time. So the first iterations of the only loop multiply nothing. Taps are alike: their addresses are long. */
static void sum_gathered(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	expr length = contract_length(k->range), start = k->range.from;
	int64_t before = (int64_t)s->depth * (s->slots - 1);
	emit_comment(p, b, "each iteration loads a tile and multiplies the one that was loaded %d earlier",
	             s->slots - 1);
	expr from, end = plus(length, index_(k, before)), most = plus(contract_most_depth(k), index_(k, before));
	struct ir_block *in = emit_loop(p, b, "from", index_(k, 0), end, index_(k, s->depth), most, &from);
	expr number = ir_binary(IR_FLOORDIV, from, index_(k, s->depth)), slots = index_(k, s->slots);
	expr ahead = emit_constant(p, in, "ahead", ir_binary(IR_MOD, number, slots), NULL);
	expr slot = emit_constant(p, in, "slot", ir_binary(IR_MOD, plus(number, index_(k, 1)), slots), NULL);
	emit_invoke(p, in, &device_copy_wait, IR_OF(IR_NUMBER(s->slots - 2)));
	emit(p, in, IR_SYNC);
	expr more = ir_binary(IR_LT, from, length);
	bring(k, emit_if(p, in, more), ahead, plus(start, from));
	emit_invoke(p, in, &device_copy_commit, IR_OF_NOTHING);
	multiply_slot(k, emit_if(p, in, ir_binary(IR_LE, index_(k, before), from)), slot);
	if (!contract_through_registers(k, 0) && !contract_through_registers(k, 1))
		return;
	struct ir_block *put = emit_if(p, in, more);
	for (int side = 0; side < 2; side++)
		contract_emit_put(k, put, side, ahead);
}

static void sum_up(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	for (int side = 0; side < 2; side++)
		k->tile[side] = emit_shared(p, b, contract_tiles_new(k, side));
	contract_begin_loads(k, b);
	struct ir_variable *sum;
	if (k->c->plain)
		sum = array_of_rows(ir_variable_new(p->pool, k->c->side[0].type, "sum"), s->warp_rows / FMA_DOWN,
		                    s->warp_columns / FMA_ACROSS);
	else
		sum = array_of_rows(
		        ir_object_new(p->pool, &device_mma_sum, IR_OF(IR_TYPE(contract_sum_type(k))), "sum"),
		        s->warp_rows / TILE, s->warp_columns / TILE * 2);
	k->sum = emit_zeros(p, b, sum);

	if (contract_has_zeros(k))
		contract_declare_zeros(k, b);

	if (contract_through_registers(k, 0) || contract_through_registers(k, 1) || k->tap)
		sum_gathered(k, b);
	else
		sum_copied(k, b);
}

bool contract_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                     const struct sched_choice *choice, bool left, bool right)
{
	struct contract_kernel k = {
		.c = c, .p = plan->program, .shape = contract_shape(c, choice), .vectors = { left, right }
	};
	const char *suffix = left && right ? "" : left ? "_left" : right ? "_right" : "_any";
	struct ir_kernel *kernel = kernel_new(plan, c->made[c->stages - 1], suffix, choice);
	expr fits = ir_int(k.p->pool, TYPE_BOOL, 1);
	for (int side = 0; side < 2; side++)
		if (k.vectors[side])
			fits = ir_binary(IR_AND, fits, c->side[side].fits);
	contract_find_tap(&k);
	contract_declare_place(&k, &kernel->body, ir_block(k.p->pool, contract_tiles(&k)), true);
	k.range = contract_declare_range(&k, &kernel->body);
	sum_up(&k, &kernel->body);
	contract_store_results(&k, &kernel->body, k.tile[1]);
	return contract_finish(&k, plan, step, kernel, fits);
}
