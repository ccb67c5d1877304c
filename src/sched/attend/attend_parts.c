/* Attention of which blocks share the keys. See attend_parts.h. */
#include "sched/attend/attend_parts.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"

#include <math.h>

enum { WARP = 32, WARPS = 8 /* of a block that joins parts */ };

expr attend_parts_of(const struct attend *a, const struct attend_parts *s)
{
	struct ir_program *p = a->p;
	expr one = ir_index(p->pool, 1), alone = attend_blocks(a, s->rows);
	expr parts = ir_binary(IR_FLOORDIV, ir_index(p->pool, s->blocks), ir_binary(IR_MAX, alone, one));
	return ir_binary(IR_MAX, one, ir_binary(IR_MIN, parts, ceil_div(p, a->dim[a->rows], s->keys)));
}

static expr declare_parts(const struct attend *a, struct ir_block *b, const struct attend_parts *s)
{
	return emit_declare(a->p, b, "parts", attend_parts_of(a, s), ir_index(a->p->pool, s->blocks + 1));
}

/* The number of a head's first row among the rows of all heads, in a kernel with tiles of `queries` rows. */
static expr first_row(const struct attend *a, expr block, int queries)
{
	expr rows = attend_queries(a), tiles = ceil_div(a->p, rows, queries);
	return ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, block, tiles), rows);
}

const struct ir_buffer *attend_records_new(const struct attend *a, const struct attend_parts *s)
{
	struct ir_program *p = a->p;
	expr rows = ir_binary(IR_MIN, attend_queries(a), ir_index(p->pool, s->rows));
	/* A bound that grows with every extent, since memory is allocated for the largest ones. */
	expr most = ir_binary(IR_MAX, attend_blocks(a, s->rows), ir_index(p->pool, s->blocks));
	expr each = ir_index(p->pool, (a->value_size + 1) / 2 * 2 + 2);
	expr size = ir_binary(IR_MUL, ir_binary(IR_MUL, most, rows), each);
	return ir_buffer_new(p, arena_printf(p->arena, "%s_parts", a->out->name), TYPE_F32, 1, &size, IR_TEMP);
}

struct attend_part attend_part_begin(struct ir_kernel *k, struct attend_place *at, const struct attend_parts *s)
{
	const struct attend *a = at->a;
	struct ir_program *p = a->p;
	struct attend_part x;
	expr alone = attend_blocks(a, s->rows);
	k->blocks = ir_binary(IR_MUL, alone, attend_parts_of(a, s));
	emit_comment(p, &k->serial, "the kernel after this one does all of the work");
	expr block = ir_block(p->pool, k->blocks);
	x.parts = declare_parts(a, &k->body, s);
	x.part = emit_constant(p, &k->body, "part", ir_binary(IR_MOD, block, x.parts), x.parts);
	expr tile = emit_constant(p, &k->body, "tile", ir_binary(IR_FLOORDIV, block, x.parts), alone);
	x.first = attend_block(at, &k->body, s->rows, tile);
	x.row = first_row(a, tile, s->rows);
	return x;
}

void attend_part_arguments(struct ir_program *p, struct ir_call *call, const struct attend_part *part,
                           const struct ir_buffer *records)
{
	add_value(p, call, part->part);
	add_value(p, call, part->parts);
	add_address(p, call, records, ir_index(p->pool, 0), true);
	add_value(p, call, part->row);
}

void attend_join_kernel(struct ir_plan *plan, const struct attend_mma *m, const struct sched_choice *c,
                        const struct attend_parts *s, const struct ir_buffer *records)
{
	const struct attend *a = &m->a;
	struct ir_program *p = a->p;
	struct ir_kernel *k = kernel_new(plan, a->stage[a->stages - 1], "_joined", c);
	struct attend_place at = { .a = a }, alone = { .a = a };
	k->threads = WARPS * WARP;
	k->blocks = attend_blocks(a, 1);
	expr block = ir_block(p->pool, k->blocks);
	attend_serial(&alone, &k->serial, 1, attend_block(&alone, &k->serial, 1, block));
	expr row = attend_block(&at, &k->body, 1, block);
	expr parts = declare_parts(a, &k->body, s);
	attend_mma_results(&at, &k->body, m);
	struct ir_template shape = IR_OF(IR_NUMBER(WARPS), IR_NUMBER(a->value_size));
	const struct ir_variable *shared =
	        emit_shared(p, &k->body, ir_object_new(p->pool, &device_attention_few_row, shape, "shared"));
	struct ir_call *call = emit_invoke(p, &k->body, &device_attention_few_all, IR_OF(IR_TRUTH(m->places > 1)));
	add_variable(p, call, shared);
	add_value(p, call, row);
	add_value(p, call, a->dim[a->rows]);
	add_address(p, call, records, ir_index(p->pool, 0), false);
	add_value(p, call, ir_binary(IR_ADD, first_row(a, block, 1), row));
	add_value(p, call, parts);
	attend_mma_add_results(call, &at, m);
	attend_finish(plan, step_new(plan), k, a);
}

/* Measured on an H100: a block of 8 warps loads at most 20 bytes per clock. */
double attend_load_time(const struct sched_target *t, double bytes, double loaded, double blocks)
{
	double rate = fmin(blocks, t->processors) * 20 * t->clock_ghz;
	return fmax(bytes / t->bytes_per_ns, loaded / fmin(cost_tiles_rate(t), rate));
}

double attend_join_time(const struct attend *a, const struct sched_target *t, double records)
{
	return t->launch_ns * 0.4 + cost_wait(t, 500) + records * (a->value_size + 2) * 8 / cost_tiles_rate(t);
}
