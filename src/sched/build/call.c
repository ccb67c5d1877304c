/* Calls of device functions: the functions that a kernel makes of its own, arguments, shared memory. See emit.h. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"

struct ir_stmt *emit_lambda(struct ir_program *p, struct ir_block *b, const char *name)
{
	struct ir_stmt *s = emit(p, b, IR_LAMBDA);
	s->var = ir_variable_new(p->pool, TYPE_NONE, "%s", name);
	s->body = NEW(p->arena, struct ir_block);
	return s;
}

static void add(struct ir_program *p, struct ir_stmt *s, struct ir_arg arg)
{
	vec_push(p->arena, &s->args, arg);
}

void take_parameter(struct ir_program *p, struct ir_stmt *lambda, const struct ir_variable *v)
{
	add(p, lambda, (struct ir_arg){ .var = v });
}

expr emit_parameter(struct ir_program *p, struct ir_stmt *lambda, enum type t, const char *name, expr extent)
{
	const struct ir_variable *v = ir_variable_new(p->pool, t, "%s", name);
	take_parameter(p, lambda, v);
	return ir_var_of(v, extent);
}

const struct ir_variable *emit_array_parameter(struct ir_program *p, struct ir_stmt *lambda, enum type t,
                                               const char *name, int n)
{
	struct ir_variable *v = ir_variable_new(p->pool, t, "%s", name);
	ir_variable_dims(v, 1, &n);
	take_parameter(p, lambda, v);
	return v;
}

void add_variable(struct ir_program *p, struct ir_stmt *call, const struct ir_variable *v)
{
	add(p, call, (struct ir_arg){ .var = v });
}

void add_text(struct ir_program *p, struct ir_stmt *call, const char *text)
{
	add(p, call, (struct ir_arg){ .text = text });
}

void add_value(struct ir_program *p, struct ir_stmt *call, expr value)
{
	add(p, call, (struct ir_arg){ .value = value });
}

void add_address(struct ir_program *p, struct ir_stmt *call, const struct ir_buffer *b, expr at, bool written)
{
	add(p, call, (struct ir_arg){ .buf = flat_view(p, b), .at = at, .written = written });
}

/* n: elements of an array; 0: none. */
static const struct ir_variable *declare(struct ir_program *p, struct ir_block *b, enum ir_stmt_kind kind,
                                         const char *type, const char *name, int n, const char *first)
{
	struct ir_stmt *s = emit(p, b, kind);
	struct ir_variable *v = ir_variable_new(p->pool, TYPE_NONE, "%s", name);
	ir_variable_dims(v, n > 0, &n);
	s->var = v;
	s->text = type;
	s->first = first;
	return v;
}

const struct ir_variable *emit_shared(struct ir_program *p, struct ir_block *b, const char *type, const char *name,
                                      int n)
{
	return declare(p, b, IR_SHARED, type, name, n, NULL);
}

void emit_local_of(struct ir_program *p, struct ir_block *b, const struct ir_variable *v)
{
	struct ir_stmt *s = emit(p, b, IR_LOCAL);
	s->var = v;
	s->type = v->type;
}

const struct ir_variable *emit_local(struct ir_program *p, struct ir_block *b, const char *type, const char *name,
                                     const char *first)
{
	return declare(p, b, IR_LOCAL, type, name, 0, first);
}

void emit_shared_array(struct ir_program *p, struct ir_block *b, struct ir_variable *array, int rank, const int *dim)
{
	struct ir_stmt *s = emit(p, b, IR_SHARED);
	ir_variable_dims(array, rank, dim);
	s->var = array;
	s->type = array->type;
}

struct ir_stmt *emit_invoke(struct ir_program *p, struct ir_block *b, const char *function, const char *header)
{
	struct ir_stmt *s = emit(p, b, IR_INVOKE);
	s->name = function;
	s->text = header;
	return s;
}
