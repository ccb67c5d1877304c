/* Constructors of kernel statements. See emit.h. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"

#include <stdarg.h>
#include <string.h>

const struct ir_buffer *flat_view(struct ir_program *p, const struct ir_buffer *b)
{
	struct ir_buffer *own = p->buffers.at[b->id];
	/* A view with joined axes has the elements of the buffer. */
	ck(own == b || own->flat == b ||
	   (own->name == b->name && own->type == b->type && ir_buffer_count(p, own) == ir_buffer_count(p, b)));
	if (!own->flat) {
		own->flat = NEW(p->arena, struct ir_buffer);
		*own->flat = (struct ir_buffer){
			.name = own->name, .type = own->type, .rank = 1, .role = IR_TEMP, .id = own->id
		};
		own->flat->dim[0] = ir_buffer_count(p, own);
	}
	return own->flat;
}

struct ir_stmt *emit(struct ir_program *p, struct ir_block *b, enum ir_stmt_kind kind)
{
	struct ir_stmt s;
	memset(&s, 0, sizeof s); /* all members of its union */
	s.kind = kind;
	vec_push(p->arena, b, s);
	return &b->at[b->n - 1];
}

expr emit_define(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr value, expr extent)
{
	ck(v->type == value->type);
	emit(p, b, IR_DECLARE)->declare = (struct ir_declare){ .var = v, .value = value };
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
	b->at[b->n - 1].declare.mutable = true;
	return variable;
}

expr emit_variable(struct ir_program *p, struct ir_block *b, const char *name, expr first)
{
	return emit_define_variable(p, b, ir_variable_new(p->pool, first->type, "%s", name), first);
}

expr emit_combination(struct ir_program *p, struct ir_block *b, enum ir_combine c, enum type t)
{
	static const char *const name[IR_COMBINE_COUNT] = {
		[IR_SUM] = "sum",          [IR_PROD] = "product", [IR_MAXIMUM] = "largest",
		[IR_MINIMUM] = "smallest", [IR_ALL] = "all_hold", [IR_ANY] = "any_holds"
	};
	return emit_variable(p, b, ir_combine_is_arg(c) ? "best" : name[c], ir_identity(p->pool, c, t));
}

void emit_assign(struct ir_program *p, struct ir_block *b, expr variable, expr value)
{
	ck(variable->op == IR_VAR);
	emit(p, b, IR_ASSIGN)->assign = (struct ir_assign){ variable->var, value };
}

struct ir_block *emit_for_each(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr from,
                               expr to, expr step)
{
	struct ir_block *body = NEW(p->arena, struct ir_block);
	emit(p, b, IR_FOR)->loop = (struct ir_for){ .var = v, .from = from, .to = to, .step = step, .body = body };
	return body;
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
	struct ir_block *body = NEW(p->arena, struct ir_block);
	emit(p, b, IR_IF)->branch = (struct ir_if){ cond, body };
	return body;
}

void emit_return_if(struct ir_program *p, struct ir_block *b, expr cond)
{
	if (cond->op == IR_CONST_INT && cond->i == 0)
		return;
	emit(p, b, IR_RETURN_IF)->leave = cond;
}

void emit_store_flat(struct ir_program *p, struct ir_block *b, const struct ir_buffer *view, expr at, expr value)
{
	emit(p, b, IR_STORE)->store = (struct ir_store){ view, at, value };
}

void emit_store(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at, expr value)
{
	emit_store_flat(p, b, flat_view(p, buf), at, value);
}

struct ir_lanes *emit_lanes_combine(struct ir_program *p, struct ir_block *b, const struct ir_variable *v,
                                    enum ir_combine c, int lanes)
{
	struct ir_stmt *s = emit(p, b, IR_LANES_COMBINE);
	s->lanes = (struct ir_lanes){ .var = v, .combine = c, .lanes = lanes };
	return &s->lanes;
}

void emit_lanes_scan(struct ir_program *p, struct ir_block *b, expr part, expr sum, enum ir_combine c, int lanes)
{
	emit(p, b, IR_LANES_SCAN)->scan = (struct ir_scan){ part->var, sum->var, c, lanes };
}

void emit_items_scan(struct ir_program *p, struct ir_block *b, const struct ir_variable *items, expr sum,
                     enum ir_combine c, int lanes, int columns, bool exclusive)
{
	emit(p, b, IR_ITEMS_SCAN)->items = (struct ir_items_scan){ .parts = items,
		                                                   .sum = sum->var,
		                                                   .combine = c,
		                                                   .lanes = lanes,
		                                                   .columns = columns,
		                                                   .none = ir_identity(p->pool, c, sum->type),
		                                                   .exclusive = exclusive };
}

void emit_comment(struct ir_program *p, struct ir_block *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	emit(p, b, IR_COMMENT)->comment = arena_vprintf(p->arena, fmt, ap);
	va_end(ap);
}
