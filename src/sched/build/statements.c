/* Statements of a kernel that is being built. See emit.h. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"

#include <stdarg.h>

struct ir_stmt *emit(struct ir_program *p, struct ir_block *b, enum ir_stmt_kind kind)
{
	struct ir_stmt s = { .kind = kind };
	vec_push(p->arena, b, s);
	return &b->at[b->n - 1];
}

expr emit_define(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr value, expr extent)
{
	struct ir_stmt *s = emit(p, b, IR_DECLARE);
	ck(v->type == value->type);
	s->var = v;
	s->type = value->type;
	s->value = value;
	return ir_var_of(v, extent);
}

expr emit_constant(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent)
{
	return emit_define(p, b, ir_variable_new(p->pool, value->type, "%s", name), value, extent);
}

expr emit_declare(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent)
{
	bool as_it_is = value->op == IR_CONST_INT || value->op == IR_VAR || value->op == IR_ELEMENT;
	return as_it_is ? value : emit_constant(p, b, name, value, extent);
}

expr emit_define_variable(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr first)
{
	expr variable = emit_define(p, b, v, first, NULL);
	b->at[b->n - 1].mutable = true;
	return variable;
}

expr emit_variable(struct ir_program *p, struct ir_block *b, const char *name, expr first)
{
	return emit_define_variable(p, b, ir_variable_new(p->pool, first->type, "%s", name), first);
}

void emit_assign(struct ir_program *p, struct ir_block *b, expr variable, expr value)
{
	struct ir_stmt *s = emit(p, b, IR_ASSIGN);
	ck(variable->op == IR_VAR);
	s->var = variable->var;
	s->type = variable->type;
	s->value = value;
}

struct ir_block *emit_for_each(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr from,
                               expr to, expr step)
{
	struct ir_stmt *s = emit(p, b, IR_FOR);
	s->var = v;
	s->type = TYPE_INDEX;
	s->from = from;
	s->to = to;
	s->step = step;
	return s->body = NEW(p->arena, struct ir_block);
}

struct ir_block *emit_loop(struct ir_program *p, struct ir_block *b, const char *name, expr from, expr to, expr step,
                           expr extent, expr *variable)
{
	const struct ir_variable *v = ir_variable_new(p->pool, TYPE_INDEX, "%s", name);
	*variable = ir_var_of(v, extent);
	return emit_for_each(p, b, v, from, to, step);
}

struct ir_block *emit_if(struct ir_program *p, struct ir_block *b, expr cond)
{
	struct ir_stmt *s = emit(p, b, IR_IF);
	s->value = cond;
	return s->body = NEW(p->arena, struct ir_block);
}

void emit_return_if(struct ir_program *p, struct ir_block *b, expr cond)
{
	if (cond->op == IR_CONST_INT && cond->i == 0)
		return;
	emit(p, b, IR_RETURN_IF)->value = cond;
}

void emit_store(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at, expr value)
{
	struct ir_stmt *s = emit(p, b, IR_STORE);
	s->buf = flat_view(p, buf);
	s->at = at;
	s->value = value;
}

struct ir_stmt *emit_lanes_combine(struct ir_program *p, struct ir_block *b, const struct ir_variable *v,
                                   enum ir_combine c, int lanes)
{
	struct ir_stmt *s = emit(p, b, IR_LANES_COMBINE);
	s->var = v;
	s->type = v->type;
	s->width = lanes;
	s->combine = c;
	return s;
}

void emit_lanes_scan(struct ir_program *p, struct ir_block *b, expr part, expr sum, enum ir_combine c, int lanes)
{
	struct ir_stmt *s = emit(p, b, IR_LANES_SCAN);
	s->var = part->var;
	s->var2 = sum->var;
	s->type = part->type;
	s->width = lanes;
	s->combine = c;
}

void emit_items_scan(struct ir_program *p, struct ir_block *b, const struct ir_variable *items, expr sum,
                     enum ir_combine c, int lanes, int columns, bool exclusive)
{
	struct ir_stmt *s = emit(p, b, IR_ITEMS_SCAN);
	s->var = items;
	s->var2 = sum->var;
	s->type = sum->type;
	s->width = lanes;
	s->columns = columns;
	s->combine = c;
	s->mutable = exclusive;
	s->value = ir_identity(p->pool, c, sum->type);
}

void emit_comment(struct ir_program *p, struct ir_block *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	emit(p, b, IR_COMMENT)->text = arena_vprintf(p->arena, fmt, ap);
	va_end(ap);
}
