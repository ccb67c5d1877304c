/* Calls of device functions: the functions that a kernel makes of its own, arguments, shared memory. See emit.h. */
#include "sched/axes.h"
#include "sched/emit.h"

struct ir_stmt *emit_lambda(struct ir_program *p, struct ir_block *b, const char *name)
{
	struct ir_stmt *s = emit(p, b, IR_LAMBDA);
	s->name = name;
	s->body = NEW(p->arena, struct ir_block);
	return s;
}

static void add(struct ir_program *p, struct ir_stmt *s, struct ir_arg arg)
{
	vec_push(p->arena, &s->args, arg);
}

expr emit_parameter(struct ir_program *p, struct ir_stmt *lambda, enum type t, const char *name, expr extent)
{
	name = ir_name_declared(p->pool, name);
	add(p, lambda, (struct ir_arg){ .name = name, .type = t });
	return ir_var(p->pool, t, name, extent);
}

void emit_shared(struct ir_program *p, struct ir_block *b, const char *type, const char *name)
{
	struct ir_stmt *s = emit(p, b, IR_SHARED);
	s->name = name;
	s->text = type;
}

void add_text(struct ir_program *p, struct ir_stmt *call, const char *text)
{
	add(p, call, (struct ir_arg){ .name = text });
}

void add_value(struct ir_program *p, struct ir_stmt *call, expr value)
{
	add(p, call, (struct ir_arg){ .value = value });
}

void add_address(struct ir_program *p, struct ir_stmt *call, const struct ir_buffer *b, expr at, bool written)
{
	add(p, call, (struct ir_arg){ .buf = flat_view(p, b), .at = at, .written = written });
}

void emit_local(struct ir_program *p, struct ir_block *b, const char *type, const char *name)
{
	struct ir_stmt *s = emit(p, b, IR_LOCAL);
	s->name = name;
	s->text = type;
}

struct ir_stmt *emit_invoke(struct ir_program *p, struct ir_block *b, const char *function, const char *header)
{
	struct ir_stmt *s = emit(p, b, IR_INVOKE);
	s->name = function;
	s->text = header;
	return s;
}
