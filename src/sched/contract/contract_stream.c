/* Contractions whose tiles do not fill whole waves: all blocks share the tiles after the last whole wave, each with the
 * same number of steps (hybrid stream-K). See contract_kernel.h, and parts_put() in tpat_wgmma.h. After: M. Osama, D.
 * Merrill, C. Cecka, M. Garland, J. Owens, "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix
 * Multiplication on the GPU", 2023. */
#include "sched/contract/contract_kernel.h"
#include "sched/build/axes.h"
#include "sched/core/tiles.h"

#include <stdlib.h>

static expr minus(expr a, expr b)
{
	return ir_binary(IR_SUB, a, b);
}

struct contract_stream *contract_stream_new(struct ir_plan *plan, const struct contract *c,
                                            const struct sched_choice *choice)
{
	struct ir_program *p = plan->program;
	const struct contract_kernel k = { .c = c, .p = p, .shape = contract_ring_shape(c, choice) };
	struct contract_stream *s = NEW(p->arena, struct contract_stream);
	int blocks = choice->param[3];
	expr size = index_(&k, (int64_t)blocks * k.shape.rows * k.shape.columns);
	const char *name = arena_printf(p->arena, "%s_parts", c->whole->out->name);
	s->marks = tiles_new(plan, c->whole, index_(&k, blocks), TYPE_U32, 0, 0).state;
	s->parts = flat_view(p, ir_buffer_new(p, name, c->s->value->type, 1, &size, IR_TEMP));
	s->blocks = index_(&k, blocks);
	return s;
}

/* The block with a tile's first steps stores it, and waits for the blocks with its later steps. Those blocks start
 * earlier, so they are running or done.
 * A tile has few parts, since the storing block reads them one by one. Parts start at the same steps in all tiles, so
 * that blocks work on the same steps at a time and share operands in the L2 cache.
 * Measured on an H100: 3072 x 3072 x 3072 (tiles of 128 x 256) takes 142 us with equal shares from any step on, 90 us
 * this way and 105 us with two whole waves. 2048 x 4096 x 2304 (tiles of 128 x 192) takes 58 us this way and 66 us with
 * two whole waves. */
void contract_stream_begin(struct contract_kernel *k, struct ir_block *b)
{
	enum { MOST_PARTS = 4 };
	struct contract_stream *s = k->stream;
	expr one = index_(k, 1), none = index_(k, 0), block = ir_block(k->p->pool, s->blocks),
	     tiles = contract_tiles(k);
	expr steps = ceil_div(k->p, k->c->depth, k->shape.depth), most = index_(k, MOST_PARTS + 1);
	emit_comment(k->p, b, "blocks compute whole tiles first and then share the steps of the remaining tiles");
	s->steps = emit_declare(k->p, b, "steps", steps, plus(steps, one));
	s->rounds = emit_declare(k->p, b, "rounds", ir_binary(IR_FLOORDIV, tiles, s->blocks), plus(tiles, one));
	s->whole = ir_binary(IR_MUL, s->rounds, s->blocks);
	expr left = emit_declare(k->p, b, "left", minus(tiles, s->whole), s->blocks);
	expr parts = ir_binary(IR_FLOORDIV, s->blocks, ir_binary(IR_MAX, left, one));
	parts = emit_declare(k->p, b, "parts", ir_binary(IR_MIN, parts, index_(k, MOST_PARTS)), most);
	expr length = ir_binary(IR_FLOORDIV, minus(plus(s->steps, parts), one), parts);
	s->length = emit_declare(k->p, b, "length", length, plus(s->steps, one));
	expr place = emit_constant(k->p, b, "place", minus(minus(s->blocks, one), block), s->blocks);
	s->tile = emit_constant(k->p, b, "last_tile", plus(s->whole, ir_binary(IR_FLOORDIV, place, parts)),
	                        plus(tiles, s->blocks));
	expr from = ir_binary(IR_MUL, ir_binary(IR_MOD, place, parts), s->length);
	s->from = emit_constant(k->p, b, "part_begin", from, plus(s->steps, most));
	expr helps = ir_binary(IR_AND, ir_binary(IR_LT, s->tile, tiles), ir_binary(IR_LT, s->from, s->steps));
	s->jobs = emit_constant(k->p, b, "jobs", plus(s->rounds, ir_select(helps, one, none)),
	                        plus(s->rounds, index_(k, 2)));
}

struct ir_block *contract_each_piece(struct contract_kernel *k, struct ir_block *b, struct contract_range *range)
{
	struct contract_stream *s = k->stream;
	expr none = index_(k, 0), size = index_(k, k->shape.depth), most = plus(k->c->depth, size),
	     tiles = contract_tiles(k);
	expr job;
	b = emit_loop(k->p, b, "job", none, s->jobs, index_(k, 1), plus(s->rounds, index_(k, 1)), &job);
	s->is_whole = emit_constant(k->p, b, "is_whole", ir_binary(IR_LT, job, s->rounds), NULL);
	expr number = plus(ir_binary(IR_MUL, job, s->blocks), ir_block(k->p->pool, s->blocks));
	number = emit_constant(k->p, b, "number", ir_select(s->is_whole, number, s->tile), tiles);
	contract_declare_place(k, b, number, false);
	expr to = ir_binary(IR_MIN, plus(s->from, s->length), s->steps);
	expr begin = ir_binary(IR_MUL, ir_select(s->is_whole, none, s->from), size);
	range->from = emit_constant(k->p, b, "begin", begin, most);
	range->to = emit_constant(k->p, b, "end", ir_binary(IR_MUL, ir_select(s->is_whole, s->steps, to), size), most);
	return b;
}

/* Loops over the blocks with later steps of the tile, in the block that stores it. */
static struct ir_block *each_other(struct contract_kernel *k, struct ir_block *b, expr *block)
{
	struct contract_stream *s = k->stream;
	expr one = index_(k, 1), none = index_(k, 0);
	expr owns = ir_binary(IR_AND, ir_unary(IR_NOT, s->is_whole), ir_binary(IR_LE, s->from, none));
	expr others = ir_binary(IR_FLOORDIV, minus(s->steps, one), s->length);
	others = emit_constant(k->p, b, "others", ir_select(owns, others, none), s->blocks);
	expr other;
	b = emit_loop(k->p, b, "other", one, plus(others, one), one, s->blocks, &other);
	*block = minus(ir_block(k->p->pool, s->blocks), other);
	return b;
}

static struct ir_template of_threads(const struct contract_kernel *k)
{
	return IR_OF(IR_NUMBER(k->shape.warps_down * WARP));
}

/* Copies other blocks' sums through the ring as tiles, one tile's bytes at a time. */
void contract_bring_parts(struct contract_kernel *k, struct ir_block *b, expr turn)
{
	struct contract_stream *s = k->stream;
	const struct contract_shape *shape = &k->shape;
	expr block, size = index_(k, (int64_t)shape->rows * shape->columns), each = index_(k, shape->columns * 32);
	b = each_other(k, b, &block);
	struct ir_call *call = emit_invoke(k->p, b, &device_parts_wait, of_threads(k));
	add_address(k->p, call, s->marks, index_(k, 0), true);
	add_value(k->p, call, block);
	expr at;
	b = emit_loop(k->p, b, "at", index_(k, 0), size, each, size, &at);
	call = emit_invoke(k->p, b, &device_parts_load, IR_OF_NOTHING);
	add_variable(k->p, call, k->tile[1]);
	add_address(k->p, call, s->parts, plus(ir_binary(IR_MUL, block, size), at), true);
	add_variable(k->p, call, k->ring);
	add_value(k->p, call, turn);
	emit_assign(k->p, b, turn, plus(turn, index_(k, 1)));
}

struct ir_block *contract_join_parts(struct contract_kernel *k, struct ir_block *b, struct contract_range range)
{
	struct contract_stream *s = k->stream;
	expr none = index_(k, 0), block = ir_block(k->p->pool, s->blocks);
	struct ir_block *in = emit_if(k->p, b, ir_binary(IR_LT, none, range.from));
	struct ir_call *call = emit_invoke(k->p, in, &device_parts_put, of_threads(k));
	add_variable(k->p, call, k->sum);
	add_address(k->p, call, s->parts, none, true);
	add_address(k->p, call, s->marks, none, true);
	add_value(k->p, call, block);
	in = each_other(k, b, &block);
	call = emit_invoke(k->p, in, &device_parts_add, of_threads(k));
	add_variable(k->p, call, k->sum);
	add_variable(k->p, call, k->tile[1]);
	add_variable(k->p, call, k->ring);
	add_variable(k->p, call, k->turn->var);
	return emit_if(k->p, b, ir_binary(IR_LE, range.from, none));
}
