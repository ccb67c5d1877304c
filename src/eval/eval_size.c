/* Extents of buffers, and sizes known only after a stage has computed them: sets their symbols, and the extents of
 * buffers that depend on them. */
#include "eval/code.h"

#include <string.h>

struct open {
	const struct eval_run *run;
	bool found;
};

static void find_open(void *user, expr e)
{
	struct open *o = user;
	int64_t unused;
	if (e->op == IR_SYMBOL && ir_size_find(o->run->program, e->name))
		o->found |= !eval_symbol_value((void *)(uintptr_t)o->run, e->name, &unused);
}

static bool size_open(struct eval_run *run, const struct ir_buffer *b)
{
	struct open o = { run, false };
	for (int k = 0; k < b->rank && run->program->sizes.n; k++)
		eval_walk(run->arena, b->dim[k], find_open, &o);
	return o.found;
}

int eval_buffer_extents(struct eval_run *run, const struct ir_buffer *b)
{
	struct eval_buffer *x = &run->buffer[b->id];
	int64_t unused;
	x->type = b->type;
	x->rank = b->rank;
	x->count = 1;
	x->open = size_open(run, b);
	if (x->open)
		return 0;
	for (int k = 0; k < b->rank; k++) {
		TRY(eval_extent(run, b->dim[k], &x->dim[k]));
		if (__builtin_mul_overflow(x->count, x->dim[k], &x->count))
			return err_set(run->err, ERR_MODEL, "Program %s: buffer %s is too large.", run->program->name,
			               b->name);
	}
	if (type_bytes(b->type, x->count) < 0 || __builtin_mul_overflow(x->count, 16, &unused))
		return err_set(run->err, ERR_UNSUPPORTED, "Program %s: buffer %s of type %s cannot be interpreted.",
		               run->program->name, b->name, type_name(b->type));
	return 0;
}

int eval_output_place(struct eval_run *run, int i)
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

/* Sets an open buffer's extents once they are known; makes an output's tensor. */
static int close_buffer(struct eval_run *run, const struct ir_buffer *b)
{
	const struct ir_program *p = run->program;
	TRY(eval_buffer_extents(run, b));
	for (int i = 0; i < p->outputs.n; i++)
		if (p->outputs.at[i] == b)
			TRY(eval_output_place(run, i));
	return 0;
}

static int take_count(struct eval_run *run, const struct ir_size *s)
{
	int64_t n = *(const int64_t *)run->buffer[s->count->id].data, limit;
	TRY(eval_extent(run, s->limit, &limit));
	if (n < 0 || n > limit)
		return err_set(run->err, ERR_MODEL, "Program %s: the size %s is %lld, but it can be 0 to %lld.",
		               run->program->name, s->symbol, (long long)n, (long long)limit);
	int64_t *place = map_get(&run->symbols, s->symbol);
	if (!place) {
		place = NEW(run->symbols.arena, int64_t);
		map_put(&run->symbols, s->symbol, place);
	}
	*place = n;
	return 0;
}

int eval_size_found(struct eval_run *run, const struct ir_buffer *count)
{
	const struct ir_program *p = run->program;
	bool any = false;
	vec_each (s, &p->sizes) {
		if (s->count != count)
			continue;
		TRY(take_count(run, s));
		any = true;
	}
	for (int i = 0; any && i < p->buffers.n; i++)
		if (run->buffer[i].open && !size_open(run, p->buffers.at[i]))
			TRY(close_buffer(run, p->buffers.at[i]));
	return any ? eval_demands_check(run) : 0;
}
