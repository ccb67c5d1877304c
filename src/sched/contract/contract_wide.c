/* The kernel of a contraction by warpgroups' products (wgmma): 128 threads multiply tiles straight out of shared
 * memory, while the tiles behind them come. See contract_kernel.h, and tpat_wgmma.h for the functions it calls. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/finish.h"

enum { GROUP_THREADS = 128, GROUP_ROWS = 64, TILES_BELOW = 8 };

struct contract_shape contract_wide_shape(const struct contract *c, const struct sched_choice *choice)
{
	struct contract_shape s = { .rows = choice->param[0],
		                    .columns = choice->param[1],
		                    .slots = choice->param[2],
		                    .split = choice->param[4],
		                    .stream = choice->param[5] };
	int groups = s.rows >= 2 * GROUP_ROWS ? 2 : 1;
	s.depth = 128 / contract_element_bytes(c);
	s.threads = groups * GROUP_THREADS;
	s.warps_down = s.threads / WARP;
	s.warps_across = 1;
	s.warp_rows = s.rows / s.warps_down;
	s.warp_columns = s.columns;
	s.parts = s.rows / groups / GROUP_ROWS;
	s.part_step = GROUP_ROWS;
	s.group = TILES_BELOW;
	return s;
}

/* Tiles; after them, where several blocks make one, their sums. */
int contract_wide_bytes(const struct contract_shape *s)
{
	int tiles = s->slots * (s->rows + s->columns) * 128, sums = s->split > 1 ? s->rows * s->columns * 4 : 0;
	return sums > tiles ? sums : tiles;
}

void contract_declare_group_rows(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	expr thread = ir_thread(k->p->pool, index_(k, s->threads));
	expr group = ir_binary(IR_FLOORDIV, thread, index_(k, GROUP_THREADS));
	expr warp = ir_binary(IR_MOD, ir_binary(IR_FLOORDIV, thread, index_(k, WARP)), index_(k, GROUP_THREADS / WARP));
	emit_constant(k->p, b, "group_row", ir_binary(IR_MUL, group, index_(k, s->parts * GROUP_ROWS)), NULL);
	emit_constant(k->p, b, "warp_row", plus(var(k, "group_row", NULL), ir_binary(IR_MUL, warp, index_(k, TILE))),
	              NULL);
	emit_constant(k->p, b, "warp_column", index_(k, 0), NULL);
}

/* sum = or += the tiles in the slot. */
void contract_multiply_wide(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	emit_invoke(p, b, "wgmma_begin", k->header);
	struct ir_block *in = unrolled(k, b, "depth", 0, s->depth, 32 / contract_element_bytes(k->c));
	in = unrolled(k, in, "part", 0, s->parts, 1);
	struct ir_stmt *call = emit_invoke(p, in, "wgmma", k->header);
	add_text(p, call, "sum[part]");
	add_text(p, call, "left_tile[slot]");
	add_text(p, call, text(k, "group_row + %d * part", GROUP_ROWS));
	add_text(p, call, "right_tile[slot]");
	add_text(p, call, "0");
	add_text(p, call, "depth");
	add_text(p, call, text(k, "depth > 0 || from > %s", s->split > 1 || k->stream ? "begin" : "0"));
	emit_invoke(p, b, "wgmma_commit", k->header);
}

void contract_declare_wide_tiles(struct contract_kernel *k, struct ir_block *b)
{
	const char *from = "shared_memory";
	for (int side = 0; side < 2; side++) {
		const char *type = contract_tile_type(k, side), *name = contract_side_name[side];
		emit_local(k->p, b, text(k, "%s *const", type), text(k, "%s_tile", name),
		           text(k, " = (%s *)%s", type, from));
		from = text(k, "(left_tile + %d)", k->shape.slots);
	}
}

/* Of the slots one is multiplied, one may still be read by the products before, and the others are on their way. */
static void sum_up(struct contract_kernel *k, struct ir_block *b)
{
	const struct contract_shape *s = &k->shape;
	struct ir_program *p = k->p;
	int before = s->slots - 2;
	struct contract_range range = contract_declare_range(k, b);
	contract_declare_wide_tiles(k, b);
	contract_begin_loads(k, b);
	emit_local(p, b, text(k, "mma_sum<%s>", contract_sum_type(k)), "sum",
	           text(k, "[%d][%d]", s->parts, s->warp_columns / 8));

	struct ir_block *in = emit_for(p, b, "slot", index_(k, 0), index_(k, before), index_(k, 1));
	expr begin = plus(range.from, ir_binary(IR_MUL, var(k, "slot", index_(k, before)), index_(k, s->depth)));
	struct ir_block *more = emit_if(p, in, ir_binary(IR_LT, begin, range.to));
	for (int side = 0; side < 2; side++)
		contract_emit_fetch(k, more, side, "slot", begin);
	emit_invoke(p, in, "copy_commit", k->header);

	in = emit_for(p, b, "from", range.from, range.to, index_(k, s->depth));
	expr from = var(k, "from", k->c->depth), number = ir_binary(IR_FLOORDIV, from, index_(k, s->depth));
	if (s->split > 1)
		number = emit_declare(p, in, "number", ir_binary(IR_SUB, number, range.first), number);
	emit_constant(p, in, "slot", ir_binary(IR_MOD, number, index_(k, s->slots)), NULL);
	emit_constant(p, in, "ahead", ir_binary(IR_MOD, plus(number, index_(k, before)), index_(k, s->slots)), NULL);
	emit_invoke(p, in, text(k, "copy_wait<%d>", before - 1), k->header);
	emit_invoke(p, in, "wgmma_see", k->header);
	emit(p, in, IR_SYNC);
	contract_multiply_wide(k, in);
	expr later = plus(from, index_(k, (int64_t)s->depth * before));
	more = emit_if(p, in, ir_binary(IR_LT, later, range.to));
	for (int side = 0; side < 2; side++)
		contract_emit_fetch(k, more, side, "ahead", later);
	emit_invoke(p, in, "copy_commit", k->header);
	emit_invoke(p, in, "wgmma_wait<1>", k->header);
	emit_invoke(p, b, "wgmma_wait<0>", k->header);
	struct ir_stmt *call = emit_invoke(p, b, "wgmma_done", k->header);
	add_text(p, call, "sum");
}

void contract_wide_kernel(struct ir_plan *plan, struct ir_step *step, const struct contract *c,
                          const struct sched_choice *choice, expr fits)
{
	struct contract_kernel k = { .c = c,
		                     .p = plan->program,
		                     .header = "tpat_wgmma.h",
		                     .shape = contract_wide_shape(c, choice),
		                     .fast = true,
		                     .wide = true };
	struct ir_kernel *kernel = kernel_new(plan, c->made[c->stages - 1], "_wide", choice);
	fits = ir_binary(IR_AND, fits, contract_range_fits(&k));
	kernel->shared_bytes = contract_wide_bytes(&k.shape);
	contract_each_tile(&k, &kernel->body, contract_blocks(&k));
	contract_declare_group_rows(&k, &kernel->body);
	sum_up(&k, &kernel->body);
	contract_store_results(&k, &kernel->body, "shared_memory");
	contract_finish(&k, plan, step, kernel, fits);
}
