/* The vectors of the kernel of rule rows, in registers and shared memory. See rows_kernel.h. */
#include "sched/row/rows_kernel.h"
#include "sched/build/vectors.h"

struct ir_variable *rows_array(const struct row_kernel *k, int cached)
{
	const struct ir_buffer *b = k->r->cache[cached].buf;
	const char *part = k->rest ? "rest" : "v";
	enum ir_holds holds = k->rest ? IR_HOLDS_REST : IR_HOLDS_VECTOR;
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
	if (store)
		emit_store_vector_flat(p, b, k->shared, at, rows_array(k, 0), NULL, k->width);
	else
		emit_load_flat(p, b, k->shared, at, rows_array(k, 0), k->width);
}
