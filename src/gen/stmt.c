/* Prints the statements common to both languages, and declares their common subexpressions. For language-specific
 * statements see gen_cuda.c and gen_c.c. */
#include "gen/text.h"

void gen_begin(struct gen_text *g, const char *text)
{
	gen_indent(g);
	str_add(g->out, text);
}

static void print_index(struct gen_text *g, expr at)
{
	if (!at)
		return;
	str_add(g->out, "[");
	gen_expr(g, at);
	str_add(g->out, "]");
}

void gen_array_row(struct gen_text *g, const struct ir_stmt *s)
{
	str_add(g->out, gen_name(g, s->var));
	print_index(g, s->row);
}

void gen_dims(struct gen_text *g, const struct ir_variable *v)
{
	for (int i = 0; i < v->rank; i++)
		str_printf(g->out, "[%d]", v->dim[i]);
}

void gen_assign(struct gen_text *g, const char *name, expr row, expr at, expr value)
{
	gen_begin(g, name);
	print_index(g, row);
	print_index(g, at);
	str_add(g->out, " = ");
	gen_expr(g, value);
	str_add(g->out, ";\n");
}

bool gen_adds_to_itself(const struct ir_stmt *s)
{
	if ((s->kind != IR_ASSIGN && s->kind != IR_SET) || s->value->op != IR_ADD)
		return false;
	for (int i = 0; i < 2; i++) {
		expr e = s->value->arg[i];
		if (e->op == (s->kind == IR_SET ? IR_ELEMENT : IR_VAR) && e->var == s->var)
			return true;
	}
	return false;
}

static void print_declaration(struct gen_text *g, const struct ir_stmt *s)
{
	const char *constant = s->mutable ? "" : "const ";
	const char *name = gen_name(g, s->var);
	gen_assign(g, arena_printf(g->out->arena, "%s%s %s", constant, gen_type(g, s->type), name), NULL, NULL,
	           s->value);
	gen_declared(g, s->var, s->mutable ? NULL : s->value);
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
	/* Their expressions are evaluated inside them. */
	if (s->kind != IR_LAMBDA && s->kind != IR_SORT_SERIAL && (s->value || s->at))
		gen_lets(g, s->value ? s->value : s->at, s->value ? s->at : NULL);
	switch (s->kind) {
	case IR_COMMENT: str_line(g->out, "%s%s%s", g->target->comment, s->text, g->target->comment_end); break;
	case IR_DECLARE: print_declaration(g, s); break;
	case IR_ASSIGN:
	case IR_SET: gen_assign(g, gen_name(g, s->var), s->row, s->at, s->value); break;
	case IR_STORE:
		ck(!type_is_packed(s->buf->type));
		gen_assign(g, gen_buffer(g, s->buf), NULL, s->at, s->value);
		break;
	case IR_IF: print_if(g, s); break;
	case IR_RETURN_IF: print_leave_if(g, s, g->target->leave); break;
	case IR_BREAK_IF: print_leave_if(g, s, "break"); break;
	case IR_ARRAY:
		gen_begin(g, gen_type(g, s->type));
		str_printf(g->out, " %s", gen_name(g, s->var));
		gen_dims(g, s->var);
		str_add(g->out, ";\n");
		gen_declared(g, s->var, NULL);
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
