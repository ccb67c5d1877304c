/* Statements as text: those that both languages have, and which of each expression's parts get variables. Statements that a
 * language has for itself are its own: gen_cuda.c, gen_c.c. */
#include "gen/text.h"

#include <string.h>

void gen_begin(struct gen_text *g, const char *text)
{
	gen_indent(g);
	str_add(g->out, text);
}

void gen_assign(struct gen_text *g, const char *name, expr at, expr value)
{
	gen_begin(g, name);
	if (at) {
		str_add(g->out, "[");
		gen_expr(g, at);
		str_add(g->out, "]");
	}
	str_add(g->out, " = ");
	gen_expr(g, value);
	str_add(g->out, ";\n");
}

bool gen_adds_to_itself(const struct ir_stmt *s)
{
	size_t n = s->name ? strlen(s->name) : 0;
	if ((s->kind != IR_ASSIGN && s->kind != IR_SET) || s->value->op != IR_ADD)
		return false;
	for (int i = 0; i < 2; i++) {
		expr e = s->value->arg[i];
		if (e->op == IR_VAR && strncmp(e->name, s->name, n) == 0 && e->name[n] == (s->kind == IR_SET ? '[' : '\0'))
			return true;
	}
	return false;
}

static void print_declaration(struct gen_text *g, const struct ir_stmt *s)
{
	const char *constant = s->mutable ? "" : "const ";
	gen_assign(g, arena_printf(g->out->arena, "%s%s %s", constant, gen_type(g, s->type), s->name), NULL, s->value);
	gen_declared(g, s->name, s->mutable ? NULL : s->value);
}

static void print_if(struct gen_text *g, const struct ir_stmt *s)
{
	gen_indent(g);
	if (!ir_is_int(s->value, 1)) {
		str_add(g->out, "if (");
		gen_expr(g, s->value);
		str_add(g->out, ") ");
	}
	str_add(g->out, "{\n");
	gen_lets_end(g);
	gen_block(g, s->body);
	str_line(g->out, "}");
}

static void print_leave_if(struct gen_text *g, const struct ir_stmt *s, const char *leave)
{
	gen_begin(g, "if (");
	gen_expr(g, s->value);
	str_add(g->out, ")\n");
	str_line(g->out, "\t%s;", leave);
}

static void print_stmt(struct gen_text *g, const struct ir_stmt *s)
{
	g->total = gen_adds_to_itself(s) ? s->value : NULL;
	/* What these hold is evaluated inside of them. */
	if (s->kind != IR_LAMBDA && s->kind != IR_SORT_SERIAL && (s->value || s->at))
		gen_lets(g, s->value ? s->value : s->at, s->value ? s->at : NULL);
	switch (s->kind) {
	case IR_COMMENT: str_line(g->out, "%s%s%s", g->target->comment, s->text, g->target->comment_end); break;
	case IR_DECLARE: print_declaration(g, s); break;
	case IR_ASSIGN: gen_assign(g, s->name, NULL, s->value); break;
	case IR_SET: gen_assign(g, s->name, s->at, s->value); break;
	case IR_STORE:
		ck(!type_is_packed(s->buf->type));
		gen_assign(g, gen_buffer(g, s->buf), s->at, s->value);
		break;
	case IR_IF: print_if(g, s); break;
	case IR_RETURN_IF: print_leave_if(g, s, g->target->leave); break;
	case IR_BREAK_IF: print_leave_if(g, s, "break"); break;
	case IR_ARRAY:
		str_line(g->out, "%s %s[%d];", gen_type(g, s->type), s->name, s->width);
		gen_declared(g, s->name, NULL);
		break;
	default: g->target->stmt(g, s); break;
	}
	gen_lets_end(g);
}

void gen_block(struct gen_text *g, const struct ir_block *b)
{
	g->out->indent++;
	for (int i = 0; i < b->n; i++)
		print_stmt(g, &b->at[i]);
	g->out->indent--;
}
