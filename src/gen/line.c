/* The lines that statements are made of: their beginnings, assignments, scopes of names. */
#include "gen/text.h"

void gen_begin(struct gen_text *g, const char *text)
{
	gen_indent(g);
	str_add(g->out, text);
}

void gen_scope(struct gen_text *g)
{
	names_scope(g->out);
}

void gen_scope_end(struct gen_text *g)
{
	names_scope_end(g->out);
}

static void print_index(struct gen_text *g, expr at)
{
	if (!at)
		return;
	str_add(g->out, "[");
	gen_expr(g, at);
	str_add(g->out, "]");
}

void gen_array_row(struct gen_text *g, const struct ir_vector *v)
{
	str_add(g->out, gen_name(g, v->array));
	print_index(g, v->row);
}

void gen_dims(struct gen_text *g, const struct ir_variable *v)
{
	for (int i = 0; i < v->rank; i++)
		str_printf(g->out, "[%d]", v->dim[i]);
}

void gen_assign_by(struct gen_text *g, const char *name, expr row, expr at, const char *op, expr value)
{
	gen_begin(g, name);
	print_index(g, row);
	print_index(g, at);
	str_printf(g->out, " %s ", op);
	gen_expr(g, value);
	str_add(g->out, ";\n");
}

void gen_assign(struct gen_text *g, const char *name, expr row, expr at, expr value)
{
	gen_assign_by(g, name, row, at, "=", value);
}
