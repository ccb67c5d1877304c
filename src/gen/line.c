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

void gen_array_row(struct gen_text *g, const struct ir_vector *v)
{
	gen_element(g, v->array, v->row ? 1 : 0, &v->row);
}

void gen_dims(struct gen_text *g, const struct ir_variable *v)
{
	for (int i = 0; i < v->rank; i++)
		if (gen_has_dim(g, v, i))
			str_printf(g->out, "[%d]", v->dim[i]);
}

void gen_assign_by(struct gen_text *g, const char *op, expr value)
{
	str_printf(g->out, " %s ", op);
	gen_expr(g, value);
	str_add(g->out, ";\n");
}

void gen_assign(struct gen_text *g, const char *name, expr at, expr value)
{
	gen_begin(g, name);
	gen_subscript(g, at);
	gen_assign_by(g, "=", value);
}
