/* One word for a part of an expression, from which its variable gets a name. See gen_hint in text.h. */
#include "gen/text.h"

#include <string.h>

enum { LONG_NAME = 24 }; /* characters of a tensor's name that is not repeated in other names */

static const char *with_buffer(const struct gen_text *g, const struct ir_buffer *b, const char *what)
{
	const char *name = str_identifier(g->out->arena, b->name);
	bool good = *name && *name != '_' && strlen(name) <= LONG_NAME;
	return good ? arena_printf(g->out->arena, "%s_%s", name, what) : what;
}

/* The buffer of which e is an element, perhaps converted; null: something else. */
static const struct ir_buffer *element_of(expr e)
{
	while (e->op == IR_CAST)
		e = e->arg[0];
	return e->op == IR_LOAD ? e->buf : NULL;
}

static bool compares_positions(expr e)
{
	if (e->op == IR_AND || e->op == IR_OR)
		return compares_positions(e->arg[0]) && compares_positions(e->arg[1]);
	return (e->op == IR_LT || e->op == IR_LE) && e->arg[0]->type == TYPE_INDEX;
}

static const char *of_bool(expr e)
{
	return compares_positions(e) ? "inside" : "holds";
}

static const char *of_choice(expr e)
{
	bool number = false;
	for (int i = 0; i < e->n; i++)
		number |= e->arg[i]->op == IR_CONST_FLOAT || e->arg[i]->op == IR_CONST_INT;
	return number ? "clamped" : e->op == IR_MIN ? "smaller" : "larger";
}

static const char *of_cast(expr e)
{
	enum type from = e->arg[0]->type;
	if (type_is_float(from) == type_is_float(e->type))
		return "converted";
	return type_is_float(from) ? "whole" : "number";
}

static const char *of_value(expr e)
{
	switch (e->op) {
	case IR_ADD: return "total";
	case IR_SUB: return "difference";
	case IR_MUL: return "product";
	case IR_DIV: return "ratio";
	case IR_FLOORDIV: return "group";
	case IR_REM:
	case IR_MOD: return "rest";
	case IR_MIN:
	case IR_MAX: return of_choice(e);
	case IR_POW: return "power";
	case IR_SELECT: return "chosen";
	case IR_CAST:
	case IR_CAST_SAT: return of_cast(e);
	case IR_BITCAST: return "bits";
	case IR_NEG: return "negative";
	case IR_ABS: return "magnitude";
	case IR_FLOOR:
	case IR_CEIL:
	case IR_TRUNC:
	case IR_ROUND_EVEN: return "rounded";
	case IR_SQRT: return "root";
	case IR_EXP: return "exponential";
	case IR_LOG: return "logarithm";
	default: return "value";
	}
}

const char *gen_hint(const struct gen_text *g, expr e, const struct ir_buffer *positions)
{
	if (element_of(e))
		return with_buffer(g, element_of(e), "value");
	if (e->type == TYPE_BOOL)
		return of_bool(e);
	if (e->type == TYPE_INDEX && positions)
		return with_buffer(g, positions, "at");
	return of_value(e);
}
