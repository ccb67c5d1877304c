/* Statements of a kernel that is being built. See emit.h. */
#include "sched/axes.h"
#include "sched/emit.h"

#include <stdarg.h>

struct ir_stmt *emit(struct ir_program *p, struct ir_block *b, enum ir_stmt_kind kind)
{
	struct ir_stmt s = { .kind = kind };
	vec_push(p->arena, b, s);
	return &b->at[b->n - 1];
}

expr emit_declare(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent)
{
	if (value->op == IR_CONST_INT || value->op == IR_VAR)
		return value;
	struct ir_stmt *s = emit(p, b, IR_DECLARE);
	s->name = name = ir_name_declared(p->pool, name);
	s->type = value->type;
	s->value = value;
	return ir_var(p->pool, value->type, name, extent);
}

expr emit_variable(struct ir_program *p, struct ir_block *b, const char *name, expr first)
{
	struct ir_stmt *s = emit(p, b, IR_DECLARE);
	s->name = name = ir_name_declared(p->pool, name);
	s->type = first->type;
	s->value = first;
	s->mutable = true;
	return ir_var(p->pool, first->type, name, NULL);
}

expr emit_constant(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent)
{
	struct ir_stmt *s = emit(p, b, IR_DECLARE);
	s->name = name = ir_name_declared(p->pool, name);
	s->type = value->type;
	s->value = value;
	return ir_var(p->pool, value->type, name, extent);
}

void emit_assign(struct ir_program *p, struct ir_block *b, expr variable, expr value)
{
	struct ir_stmt *s = emit(p, b, IR_ASSIGN);
	s->name = variable->name;
	s->type = variable->type;
	s->value = value;
}

struct ir_block *emit_for(struct ir_program *p, struct ir_block *b, const char *name, expr from, expr to, expr step)
{
	struct ir_stmt *s = emit(p, b, IR_FOR);
	s->name = name;
	s->type = TYPE_INDEX;
	s->from = from;
	s->to = to;
	s->step = step;
	return s->body = NEW(p->arena, struct ir_block);
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

void emit_lanes_scan(struct ir_program *p, struct ir_block *b, expr part, expr sum, enum ir_combine c, int lanes)
{
	struct ir_stmt *s = emit(p, b, IR_LANES_SCAN);
	s->name = part->name;
	s->name2 = sum->name;
	s->type = part->type;
	s->width = lanes;
	s->combine = c;
}

void emit_items_scan(struct ir_program *p, struct ir_block *b, const char *items, expr sum, enum ir_combine c, int lanes,
                     int columns, bool exclusive)
{
	struct ir_stmt *s = emit(p, b, IR_ITEMS_SCAN);
	s->name = items;
	s->name2 = sum->name;
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
