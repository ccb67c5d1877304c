/* Memory of a run's buffers. */
#include "eval/code.h"

#include <string.h>

void eval_give_memory(struct eval_run *run, const struct ir_buffer *b)
{
	struct eval_buffer *x = &run->buffer[b->id];
	if (x->data || x->open)
		return;
	x->arena = arena_new();
	x->data = arena_alloc(x->arena, (size_t)type_bytes(x->type, x->count) + 16);
}

/* A stage that defines an output writes into its tensor. Copies an input or a constant; a buffer listed twice shares
 * its memory. */
int eval_place_output(struct eval_run *run, int i)
{
	const struct ir_program *p = run->program;
	struct tensor *outputs = run->outputs;
	const struct ir_buffer *b = p->outputs.at[i];
	struct eval_buffer *x = &run->buffer[b->id];
	for (int k = 0; k < i; k++)
		if (p->outputs.at[k] == b) {
			outputs[i] = outputs[k];
			return 0;
		}
	TRY(tensor_new(&outputs[i], b->type == TYPE_INDEX ? TYPE_I64 : b->type, b->rank, x->dim, run->out_arena,
	               run->err));
	if (x->count == 0)
		x->data = arena_alloc(run->symbols.arena, 16);
	else if (x->data)
		memcpy(outputs[i].data, x->data, (size_t)type_bytes(b->type, x->count));
	else
		x->data = outputs[i].data;
	return 0;
}

int eval_buffer_close(struct eval_run *run, const struct ir_buffer *b)
{
	const struct ir_program *p = run->program;
	TRY(eval_buffer_extents(run, b));
	for (int i = 0; i < p->outputs.n; i++)
		if (p->outputs.at[i] == b)
			TRY(eval_place_output(run, i));
	return 0;
}
