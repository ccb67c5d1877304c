/* The vectors of the kernel of rule rows, in registers and shared memory. See rows_kernel.h. */
#include "sched/row/rows_kernel.h"
#include "sched/build/vectors.h"

bool rows_part(struct row_kernel *k, int part)
{
	k->rest = part == 1 && k->shared;
	k->ending = part == 1 && k->tail;
	k->width = k->ending ? k->tail : k->wide;
	return part == 0 || k->rest || k->ending;
}

void rows_part_end(struct row_kernel *k)
{
	k->at = k->place = k->v = k->step = k->element = k->inside = NULL;
	k->vectors = k->rest = k->ending = false;
	k->width = k->wide;
}

struct ir_variable *rows_array(const struct row_kernel *k, int cached)
{
	const struct ir_buffer *b = k->r->cache[cached].buf;
	const char *part = k->rest ? "rest" : k->ending ? "tail" : "v";
	enum ir_holds holds = k->rest ? IR_HOLDS_REST : k->ending ? IR_HOLDS_TAIL : IR_HOLDS_VECTOR;
	bool again = false;
	for (int i = 0; i < cached; i++)
		again |= k->r->cache[i].buf == b;
	return again ? ir_variable_of(k->p->pool, b->type, b, holds, cached + 1, "%s_%s%d", b->name, part, cached + 1)
	             : ir_variable_of(k->p->pool, b->type, b, holds, 0, "%s_%s", b->name, part);
}

void rows_move_shared(struct row_kernel *k, struct ir_block *b, bool store)
{
	struct ir_program *p = k->p;
	expr at = ir_binary(IR_SUB, k->at, ir_index(p->pool, (int64_t)k->held * k->lanes * k->width));
	if (k->shifted)
		at = ir_binary(IR_ADD, at, ir_binary(IR_SUB, ir_binary(IR_MUL, k->row, k->r->length), k->first));
	if (k->thread) { /* a block has its own lanes' vectors */
		expr first = ir_binary(IR_MUL, k->step, ir_index(p->pool, k->lanes / k->blocks));
		at = ir_binary(IR_MUL, ir_binary(IR_ADD, first, k->thread), ir_index(p->pool, k->width));
	}
	if (store)
		emit_store_vector_flat(p, b, k->shared, at, rows_array(k, 0), NULL, k->width);
	else
		emit_load_flat(p, b, k->shared, at, rows_array(k, 0), k->width);
}

const char *rows_text(const struct row_kernel *k)
{
	struct str text = str_new(k->p->arena);
	for (int i = 0; i < k->r->stages; i++)
		ir_print_stage(&text, k->r->stage[i].s);
	return str_text(&text);
}

const char *rows_method(const struct row_kernel *k, const struct sched_choice *c)
{
	struct sched_choice own = *c;
	own.param[0] = k->lanes;
	own.param[1] = k->width;
	own.param[2] = k->steps;
	own.param[6] = k->blocks > 1 ? k->blocks : 0;
	if (!k->r->beside)
		own.param[5] = k->steps - k->held;
	const char *text = sched_about(&own, k->p->arena);
	return !k->tail ? text
	                : arena_printf(k->p->arena, "%s After them a thread has %s.", text,
	                               k->tail == 1 ? "one element more"
	                                            : arena_printf(k->p->arena, "a vector of %d elements", k->tail));
}
