/* Running a program: symbols from the inputs' extents, memory of buffers, stages in order. See eval.h. */
#include "eval/code.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static int set_symbol(struct eval_run *run, expr symbol, int64_t value, const char *source)
{
	int64_t known;
	int input, axis;
	if (eval_symbol_value(run, symbol, &known)) {
		if (known == value)
			return 0;
		if (ir_symbol_source(run->program, symbol, &input, &axis))
			return err_set(run->err, ERR_MODEL,
			               "Program %s: extent %s is %lld by axis %d of input %s, but %s says %lld.",
			               run->program->name, symbol->name, (long long)known, axis,
			               run->program->inputs.at[input]->name, source, (long long)value);
		return err_set(run->err, ERR_MODEL, "Program %s: symbol %s is %lld, but %s says %lld.",
		               run->program->name, symbol->name, (long long)known, source, (long long)value);
	}
	int64_t *place = NEW(run->symbols.arena, int64_t);
	*place = value;
	map_put_u64(&run->symbols, symbol->id, place);
	return 0;
}

static const struct tensor *input_tensor(const struct eval_run *run, int i, const struct tensor *const *inputs)
{
	return inputs && inputs[i] ? inputs[i] : run->program->inputs.at[i]->data;
}

static int bind_symbols(struct eval_run *run, const struct tensor *const *inputs, const struct eval_options *opt)
{
	const struct ir_program *p = run->program;
	for (int i = 0; opt && i < opt->symbols; i++)
		TRY(set_symbol(run, opt->symbol[i].symbol, opt->symbol[i].value, "an option"));
	for (int i = 0; i < p->inputs.n; i++) {
		const struct ir_buffer *b = p->inputs.at[i];
		const struct tensor *t = input_tensor(run, i, inputs);
		if (!t || (!t->data && tensor_count(t) != 0))
			return err_set(run->err, ERR_MODEL, "Program %s: input %s has no data.", p->name, b->name);
		if (t->type != b->type || t->rank != b->rank)
			return err_set(run->err, ERR_MODEL, "Program %s: input %s is %s of rank %d, but gets %s.",
			               p->name, b->name, type_name(b->type), b->rank, tensor_describe(t, run->arena));
		for (int k = 0; k < b->rank; k++)
			if (b->dim[k]->op == IR_SYMBOL)
				TRY(set_symbol(run, b->dim[k], t->dim[k],
				               arena_printf(run->arena, "axis %d of input %s", k, b->name)));
	}
	return 0;
}

/* Binds the values that determine extents. */
static int bind_values(struct eval_run *run, const struct tensor *const *inputs)
{
	const struct ir_program *p = run->program;
	vec_each (v, &p->values) {
		int64_t number = 0;
		for (int i = 0; i < p->inputs.n && v->buf; i++) {
			const struct tensor *t = input_tensor(run, i, inputs);
			if (p->inputs.at[i] != v->buf)
				continue;
			if (v->element >= tensor_count(t))
				return err_set(run->err, ERR_MODEL, "Program %s: input %s has no element %lld.",
				               p->name, v->buf->name, (long long)v->element);
			number = tensor_int(t, v->element);
		}
		if (!v->buf)
			TRY(eval_extent(run, v->known, &number));
		TRY(set_symbol(run, v->symbol, number, "an input's element"));
	}
	return 0;
}

/* Loads need natural alignment: copies misaligned data. */
static void *aligned_data(const struct tensor *t, struct arena *a)
{
	size_t size = (size_t)(type_info(t->type)->bits + 7) / 8;
	if (!t->data || tensor_count(t) == 0)
		return arena_alloc(a, 16);
	if (size == 0 || (uintptr_t)t->data % size == 0)
		return t->data;
	void *copy = arena_alloc(a, (size_t)tensor_bytes(t));
	return memcpy(copy, t->data, (size_t)tensor_bytes(t));
}

static int take_tensor(struct eval_run *run, const struct ir_buffer *b, const struct tensor *t)
{
	struct eval_buffer *x = &run->buffer[b->id];
	for (int k = 0; k < b->rank; k++)
		if (t->rank != b->rank || t->dim[k] != x->dim[k])
			return err_set(run->err, ERR_MODEL,
			               "Program %s: extent %d of %s is %lld, but its tensor is %s.", run->program->name,
			               k, b->name, (long long)x->dim[k], tensor_describe(t, run->arena));
	x->data = aligned_data(t, run->symbols.arena);
	return 0;
}

/* ---- Last use of each buffer. */

struct reader {
	struct eval_run *run;
	int stage;
};

static void note_buffer(const struct reader *r, const struct ir_buffer *b)
{
	if (r->run->buffer[b->id].last_use < r->stage)
		r->run->buffer[b->id].last_use = r->stage;
}

static void note_load(void *user, expr e)
{
	if (e->op == IR_LOAD)
		note_buffer(user, e->buf);
}

static void note_expr(void *user, expr e, const char *role)
{
	(void)role;
	if (e)
		eval_walk(((struct reader *)user)->run->arena, e, note_load, user);
}

/* States and collected buffers are copied from others without an expression. */
static void note_copies(struct eval_run *run, const struct ir_loop *l, int stage)
{
	vec_each (c, &l->carries)
		note_buffer(&(struct reader){ run, stage }, c->next);
	vec_each (c, &l->collects)
		note_buffer(&(struct reader){ run, stage }, c->from);
	vec_each (s, &l->body)
		if ((*s)->loop)
			note_copies(run, (*s)->loop, stage);
}

static bool is_wanted(const struct eval_run *run, const struct ir_stage *s)
{
	const struct ir_buffer *made;
	for (int i = 0; (made = ir_stage_made(s, i)); i++)
		if (run->buffer[made->id].last_use >= 0)
			return true;
	return false;
}

/* Allocates the stage's results, runs it, and applies the sizes it computed. */
static int run_stage(struct eval_run *run, const struct ir_stage *s)
{
	const struct ir_buffer *made;
	struct arena_mark mark = arena_mark(run->arena);
	for (int i = 0; (made = ir_stage_made(s, i)); i++)
		eval_give_memory(run, made);
	TRY(eval_stage(run, s));
	for (int i = 0; (made = ir_stage_made(s, i)) && s->kind != IR_COMPACT; i++)
		TRY(eval_size_found(run, made));
	arena_release(run->arena, mark);
	return 0;
}

static int run_stages(struct eval_run *run)
{
	const struct ir_program *p = run->program;
	for (int i = 0; i < p->buffers.n; i++)
		run->buffer[i].last_use = -1;
	vec_each (b, &p->outputs)
		run->buffer[(*b)->id].last_use = INT_MAX;
	vec_each (size, &p->sizes)
		run->buffer[size->count->id].last_use = INT_MAX;
	for (int i = p->stages.n - 1; i >= 0; i--) { /* backwards: only readers that run matter */
		const struct ir_stage *s = p->stages.at[i];
		if (!is_wanted(run, s))
			continue;
		ir_stage_exprs(s, note_expr, &(struct reader){ run, i });
		if (s->loop)
			note_copies(run, s->loop, i);
	}
	for (int i = 0; i < p->stages.n; i++) {
		const struct ir_stage *s = p->stages.at[i];
		if (!is_wanted(run, s))
			continue;
		TRY(run_stage(run, s));
		for (int b = 0; b < p->buffers.n; b++) {
			struct eval_buffer *used = &run->buffer[b];
			used->decoded = NULL;
			if (used->arena && used->last_use <= i) {
				arena_free(used->arena);
				used->arena = NULL;
			}
		}
	}
	return 0;
}

static int run_program(struct eval_run *run, const struct tensor *const *inputs, const struct eval_options *opt)
{
	const struct ir_program *p = run->program;
	TRY(bind_symbols(run, inputs, opt));
	TRY(bind_values(run, inputs));
	TRY(eval_demands_check(run));
	for (int i = 0; i < p->buffers.n; i++)
		TRY(eval_buffer_extents(run, p->buffers.at[i]));
	for (int i = 0; i < p->inputs.n; i++)
		TRY(take_tensor(run, p->inputs.at[i], input_tensor(run, i, inputs)));
	for (int i = 0; i < p->buffers.n; i++)
		if (p->buffers.at[i]->role == IR_CONSTANT)
			TRY(take_tensor(run, p->buffers.at[i], p->buffers.at[i]->data));
	for (int i = 0; i < p->outputs.n; i++)
		if (!run->buffer[p->outputs.at[i]->id].open)
			TRY(eval_place_output(run, i));
	return run_stages(run);
}

int eval_program(const struct ir_program *p, const struct tensor *const *inputs, struct tensor *outputs,
                 const struct eval_options *opt, struct arena *a, struct err *e)
{
	struct arena *volatile job = NULL, *volatile scratch = NULL;
	struct eval_run *volatile run = NULL;
	struct arena_guard guard;
	volatile int rc;
	if (setjmp(*arena_guard_push(&guard))) {
		char what[128];
		snprintf(what, sizeof what, "Program %.100s: ", p->name);
		rc = err_set_guard(e, what);
	} else {
		job = arena_new();
		scratch = arena_new();
		struct eval_run *r = NEW(job, struct eval_run);
		*r = (struct eval_run){
			.program = p, .symbols = map_new(job), .turns = map_new(job), .arena = scratch, .err = e
		};
		r->outputs = outputs;
		r->out_arena = a;
		r->threads = opt ? opt->threads : 0;
		r->buffer = NEWN(job, struct eval_buffer, p->buffers.n + 1);
		run = r;
		rc = run_program(r, inputs, opt);
	}
	arena_guard_pop(&guard);
	for (int i = 0; run && i < p->buffers.n; i++)
		arena_free(run->buffer[i].arena);
	arena_free(scratch);
	arena_free(job);
	return rc;
}
