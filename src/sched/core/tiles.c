/* Look-back tiles: blocks take a row's tiles in order and continue from the results of earlier tiles, in one pass over
 * the data. See tiles_before() in tpat_device.h, and tiles.h. */
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/core/tiles.h"

struct ir_buffer *words_new(struct ir_plan *plan, const char *name, expr count)
{
	struct ir_program *p = plan->program;
	struct ir_stage *zero = NEW(p->arena, struct ir_stage);
	struct sched_choice choice[SCHED_RULE_CHOICES];
	expr dim = ir_size_limit(p, count);
	struct ir_buffer *words = ir_buffer_new(p, name, TYPE_U64, 1, &dim, IR_TEMP);
	*zero = (struct ir_stage){ .kind = IR_MAP, .out = words, .value = ir_int(p->pool, TYPE_U64, 0) };
	rule_candidates(sched_rule_of_maps, p, zero, &sched_default_target, choice); /* the same for all GPUs */
	apply_choice(plan, zero, &choice[0], &sched_default_target);
	return words;
}

struct tiles tiles_new(struct ir_plan *plan, const struct ir_stage *s, expr count, enum type t, int threads, int items)
{
	struct ir_program *p = plan->program;
	/* A counter, and a flag and a value per tile; 64-bit positions need as much as any 64-bit value. */
	bool small = t != TYPE_INDEX && type_info(t)->bits <= 32;
	expr words =
	        ir_binary(IR_ADD, ir_binary(IR_MUL, count, ir_index(p->pool, small ? 1 : 3)), ir_index(p->pool, 1));
	struct ir_buffer *state = words_new(plan, arena_printf(p->arena, "%s_tiles", s->out->name), words);
	return (struct tiles){ .state = flat_view(p, state), .threads = threads, .items = items };
}

expr tiles_of(struct ir_program *p, const struct tiles *t, expr n)
{
	return ceil_div(p, n, t->threads * t->items);
}

void tiles_take(struct ir_program *p, struct ir_kernel *k, struct tiles *t, expr count)
{
	const struct ir_variable *tile = ir_variable_new(p->pool, TYPE_INDEX, "tile");
	emit(p, &k->body, IR_TILE_NEXT)->tile = (struct ir_tile){ tile, t->state };
	k->threads = t->threads;
	k->blocks = count;
	t->tile = ir_var_of(tile, NULL);
	if (ir_size_limit(p, count) != count) /* the grid uses the upper bound */
		emit_return_if(p, &k->body, ir_binary(IR_LE, count, t->tile));
	t->tile = ir_var_of(tile, count);
}

expr tiles_before(struct ir_program *p, struct ir_block *b, const struct tiles *t, expr sum, enum ir_combine c, expr n)
{
	const struct ir_variable *before = ir_variable_new(p->pool, sum->type, "before");
	emit(p, b, IR_TILES_BEFORE)->before = (struct ir_before){ .var = before,
		                                                  .part = sum->var,
		                                                  .combine = c,
		                                                  .state = t->state,
		                                                  .tile = t->tile,
		                                                  .tiles = n,
		                                                  .none = ir_identity(p->pool, c, sum->type) };
	return ir_var_of(before, NULL);
}
