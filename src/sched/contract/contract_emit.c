/* The kernel of a contraction by warps' products: tiles of both operands come into shared memory while those before
 * them are multiplied; sums stay in registers until all is summed up. See contract_kernel.h, and tpat_mma.h for the
 * functions it calls. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/finish.h"

enum { MOST_SLOTS = 4, APART_BYTES = 16 }; /* between rows: TILE_APART */

struct contract_shape contract_shape(const struct contract *c, const struct sched_choice *choice)
{
	struct contract_shape s = { .rows = choice->param[0], .columns = choice->param[1], .depth = choice->param[2] };
	int bytes = 0;
	for (int side = 0; side < 2; side++) {
		int row = s.depth * contract_element_bytes(c);
		if (contract_lies_apart(c, side, c->side[side].way))
			row += APART_BYTES;
		bytes += (side ? s.columns : s.rows) * row;
	}
	s.slots = TARGET_DECLARED_EVERYWHERE / bytes;
	s.slots = s.slots > MOST_SLOTS ? MOST_SLOTS : s.slots;
	if (c->plain) { /* a lane has 8 x 8 sums in large tiles, else 4 or 8 rows and columns */
		s.warps_down = s.rows * s.columns >= 64 * 128 ? s.rows / 32 : s.rows >= 64 ? 4 : 2;
		s.warps_across = s.columns > 64 ? 2 : 1;
	} else { /* a warp's part is as square as there are rows, and at most 64 x 64: what registers hold */
		s.warps_down = s.rows >= 32 ? 2 : 1;
		s.warps_across = s.rows < 32 ? 4 : s.columns > 128 ? s.columns / 64 : 2;
	}
	s.warp_rows = s.rows / s.warps_down;
	s.warp_columns = s.columns / s.warps_across;
	s.threads = WARP * s.warps_down * s.warps_across;
	return s;
}

/* ---- The sum. */

static void load_parts(struct contract_kernel *k, struct ir_block *b, int side, int count)
{
	bool turned = contract_way_of(k, side) == CONTRACT_TURNED;
	struct ir_block *in = unrolled(k, b, "part", 0, count, side ? 2 : 1);
	const char *turn = turned ? "_turned" : "";
	struct ir_stmt *call = emit_invoke(k->p, in, text(k, "mma_load_%c%s", side ? 'b' : 'a', turn), k->header);
	add_text(k->p, call, text(k, "%s[part]", contract_side_name[side]));
	if (side)
		add_text(k->p, call, "right[part + 1]");
	add_text(k->p, call, text(k, "%s_tile[slot]", contract_side_name[side]));
	add_text(k->p, call, side ? "warp_column + 8 * part" : "warp_row + 16 * part");
	add_text(k->p, call, "depth");
}

/* The same without tensor cores. */
static void multiply_plain(struct contract_kernel *k, struct ir_block *b)
{
	const char *f = text(k, "fma_tiles<%s, %s>", contract_is_turned(k, 0), contract_is_turned(k, 1));
	struct ir_stmt *call = emit_invoke(k->p, b, f, k->header);
	add_text(k->p, call, "sum");
	add_text(k->p, call, "left_tile[slot]");
	add_text(k->p, call, "right_tile[slot]");
	add_text(k->p, call, "warp_row");
	add_text(k->p, call, "warp_column");
}

/* sum += the tiles in the slot. */
static void multiply(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	int down = s->warp_rows / TILE, across = s->warp_columns / TILE * 2, depth = 32 / contract_element_bytes(k->c);
	struct ir_block *in = unrolled(k, b, "depth", 0, s->depth, depth);
	emit_local(k->p, in, text(k, "mma_a<%s>", type_name(k->c->side[0].type)), "left", text(k, "[%d]", down));
	emit_local(k->p, in, text(k, "mma_b<%s>", type_name(k->c->side[1].type)), "right", text(k, "[%d]", across));
	load_parts(k, in, 0, down);
	load_parts(k, in, 1, across);
	struct ir_block *row = unrolled(k, in, "row", 0, down, 1), *column = unrolled(k, row, "column", 0, across, 1);
	struct ir_stmt *call = emit_invoke(k->p, column, "mma", k->header);
	add_text(k->p, call, "sum[row][column]");
	add_text(k->p, call, "left[row]");
	add_text(k->p, call, "right[column]");
	for (int side = 0; side < 2; side++) { /* what the other's zero point is multiplied by */
		if (!k->c->side[!side].zero)
			continue;
		struct ir_block *part = unrolled(k, in, "part", 0, side ? across : down, 1);
		call = emit_invoke(k->p, part, side ? "mma_add_columns" : "mma_add_rows", k->header);
		add_text(k->p, call, text(k, "%s_sum[part]", contract_side_name[side]));
		add_text(k->p, call, text(k, "%s[part]", contract_side_name[side]));
	}
}

static void multiply_slot(struct contract_kernel *k, struct ir_block *b)
{
	if (k->c->plain)
		multiply_plain(k, b);
	else
		multiply(k, b);
}

static void bring(struct contract_kernel *k, struct ir_block *b, const char *slot, expr begin)
{
	for (int side = 0; side < 2; side++)
		contract_emit_fetch(k, b, side, slot, begin);
}

/* Tiles that are copied: all slots but one are filled before the first product. */
static void sum_copied(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	struct ir_block *in = emit_for(p, b, "slot", index_(k, 0), index_(k, s->slots - 1), index_(k, 1));
	expr begin = ir_binary(IR_MUL, var(k, "slot", index_(k, s->slots - 1)), index_(k, s->depth));
	bring(k, emit_if(p, in, ir_binary(IR_LT, begin, k->c->depth)), "slot", begin);
	emit_invoke(p, in, "copy_commit", k->header);

	in = emit_for(p, b, "from", index_(k, 0), k->c->depth, index_(k, s->depth));
	expr from = var(k, "from", k->c->depth), number = ir_binary(IR_FLOORDIV, from, index_(k, s->depth));
	expr slots = index_(k, s->slots), before = index_(k, s->slots - 1);
	emit_constant(p, in, "slot", ir_binary(IR_MOD, number, slots), NULL);
	emit_constant(p, in, "ahead", ir_binary(IR_MOD, plus(number, before), slots), NULL);
	emit_invoke(p, in, text(k, "copy_wait<%d>", s->slots - 2), k->header);
	emit(p, in, IR_SYNC);
	expr later = plus(from, index_(k, (int64_t)s->depth * (s->slots - 1)));
	bring(k, emit_if(p, in, ir_binary(IR_LT, later, k->c->depth)), "ahead", later);
	emit_invoke(p, in, "copy_commit", k->header);
	multiply_slot(k, in);
}

/* Tiles that are gathered: as many instructions as a tile has elements, which stand at one place, not at two: a
 * compiler takes most of its time for them. So the first turns of the one loop multiply nothing. */
static void sum_gathered(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	int64_t before = (int64_t)s->depth * (s->slots - 1);
	emit_comment(p, b, "a turn brings a tile, and multiplies the one that was brought %d turns before",
	             s->slots - 1);
	struct ir_block *in =
	        emit_for(p, b, "from", index_(k, 0), plus(k->c->depth, index_(k, before)), index_(k, s->depth));
	expr from = var(k, "from", plus(k->c->depth, index_(k, before)));
	expr number = ir_binary(IR_FLOORDIV, from, index_(k, s->depth)), slots = index_(k, s->slots);
	emit_constant(p, in, "ahead", ir_binary(IR_MOD, number, slots), NULL);
	emit_constant(p, in, "slot", ir_binary(IR_MOD, plus(number, index_(k, 1)), slots), NULL);
	emit_invoke(p, in, text(k, "copy_wait<%d>", s->slots - 2), k->header);
	emit(p, in, IR_SYNC);
	expr more = ir_binary(IR_LT, from, k->c->depth);
	bring(k, emit_if(p, in, more), "ahead", from);
	emit_invoke(p, in, "copy_commit", k->header);
	multiply_slot(k, emit_if(p, in, ir_binary(IR_LE, index_(k, before), from)));
	struct ir_block *put = emit_if(p, in, more);
	for (int side = 0; side < 2; side++)
		contract_emit_put(k, put, side, "ahead");
}

static void sum_up(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	for (int side = 0; side < 2; side++)
		emit_shared(p, b, contract_tile_type(k, side), text(k, "%s_tile", contract_side_name[side]), s->slots);
	contract_begin_loads(k, b);
	if (k->c->plain)
		emit_local(p, b, contract_element_name(k, 0), "sum",
		           text(k, "[%d][%d] = {}", s->warp_rows / FMA_DOWN, s->warp_columns / FMA_ACROSS));
	else
		emit_local(p, b, text(k, "mma_sum<%s>", contract_sum_type(k)), "sum",
		           text(k, "[%d][%d] = {}", s->warp_rows / TILE, s->warp_columns / TILE * 2));

	if (contract_has_zeros(k))
		contract_declare_zeros(k, b);

	if (contract_way_of(k, 0) == CONTRACT_GATHER || contract_way_of(k, 1) == CONTRACT_GATHER)
		sum_gathered(k, b);
	else
		sum_copied(k, b);
}

bool contract_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                     const struct sched_choice *choice, expr fits)
{
	struct contract_kernel k = { .c = c,
		                     .p = plan->program,
		                     .header = c->plain ? "tpat_fma.h" : "tpat_mma.h",
		                     .shape = contract_shape(c, choice),
		                     .fast = fits != NULL };
	struct ir_kernel *kernel = kernel_new(plan, c->made[c->stages - 1], fits ? "" : "_any", choice);
	contract_declare_place(&k, &kernel->body, ir_block(k.p->pool, contract_tiles(&k)), true);
	sum_up(&k, &kernel->body);
	contract_store_results(&k, &kernel->body, "right_tile");
	return contract_finish(&k, plan, step, kernel, fits);
}
