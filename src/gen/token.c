/* Types, symbols and numbers in both languages. */
#include "gen/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

bool gen_index32(const struct gen_text *g)
{
	return g->target->narrow_index && !g->kernel->index64;
}

enum type gen_stored_type(const struct gen_text *g, enum type t)
{
	return t != TYPE_INDEX ? t : gen_index32(g) ? TYPE_I32 : TYPE_I64;
}

const char *gen_type(const struct gen_text *g, enum type t)
{
	t = gen_stored_type(g, t);
	switch (t) {
	case TYPE_F32: return "float";
	case TYPE_F64: return "double";
	case TYPE_I32: return "int";
	default: return type_name(t);
	}
}

const char *gen_element_type(const struct gen_text *g, enum type t)
{
	return type_is_packed(t) ? "u8" : gen_type(g, t);
}

const char *gen_buffer(struct gen_text *g, const struct ir_buffer *b)
{
	return names_object(g->names, NAME_BUFFER, b, str_identifier(g->out->arena, *b->name ? b->name : "x"));
}

const char *gen_symbol(struct gen_text *g, expr symbol)
{
	return names_object(g->names, NAME_SYMBOL, symbol, symbol->name);
}

const char *gen_name(struct gen_text *g, const struct ir_variable *v)
{
	switch (v->kind) {
	case IR_THREAD_NUMBER: return gen_thread_number(g);
	case IR_BLOCK_NUMBER: return gen_block_number(g);
	case IR_SYMBOL_HOLDER: return gen_symbol(g, v->symbol);
	case IR_SHARED_MEMORY:
	case IR_OWN: return names_object(g->names, NAME_VARIABLE, v, v->hint);
	default: ck(!"a variable that nothing declares"); return "";
	}
}

const char *gen_own(struct gen_text *g, const char *hint)
{
	return names_own(g->names, hint);
}

const char *gen_thread_number(struct gen_text *g)
{
	if (!g->thread)
		g->thread = gen_own(g, g->target->thread);
	return g->thread;
}

const char *gen_block_number(struct gen_text *g)
{
	if (!g->block)
		g->block = gen_own(g, g->target->block);
	return g->block;
}

const char *gen_kernel_name(struct gen_text *g, const struct ir_kernel *k, bool part)
{
	return names_function(g->names, part ? arena_printf(g->out->arena, "%s_part", k->name) : k->name);
}

void gen_float(struct str *out, double x, bool f32)
{
	char text[NUMBER_TEXT];
	if (isnan(x) || isinf(x)) {
		str_printf(out, "%s%s", f32 ? "" : "(double)", isnan(x) ? "NAN" : x < 0 ? "-INFINITY" : "INFINITY");
		return;
	}
	number_text(text, x, f32);
	str_printf(out, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", f32 ? "f" : "");
}

static void add_int(struct gen_text *g, enum type t, int64_t x)
{
	switch (t) {
	case TYPE_BOOL: str_add(g->out, x ? "true" : "false"); break;
	case TYPE_I32:
		if (x == INT32_MIN)
			str_add(g->out, "(-2147483647 - 1)");
		else
			str_printf(g->out, "%d", (int)x);
		break;
	case TYPE_U32: str_printf(g->out, "%uu", (unsigned)x); break;
	case TYPE_INDEX:
		if (x >= -INT32_MAX && x <= INT32_MAX) {
			str_printf(g->out, "%d", (int)x);
			break;
		}
		/* fall through */
	case TYPE_I64:
		if (x == INT64_MIN)
			str_add(g->out, "(-9223372036854775807LL - 1)");
		else
			str_printf(g->out, "%lldLL", (long long)x);
		break;
	case TYPE_U64: str_printf(g->out, "%lluull", (unsigned long long)x); break;
	default: str_printf(g->out, "(%s)%lld", type_name(t), (long long)x);
	}
}

bool gen_small_float(enum type t)
{
	return type_is_float(t) && t != TYPE_F32 && t != TYPE_F64;
}

void gen_constant(struct gen_text *g, expr e)
{
	if (e->op == IR_CONST_INT) {
		add_int(g, e->type, e->i);
	} else if (gen_small_float(e->type)) {
		str_printf(g->out, "%s(", gen_call_name(g, FN_TO, e->type, TYPE_F32));
		gen_float(g->out, e->f, true);
		str_add(g->out, ")");
	} else {
		gen_float(g->out, e->f, e->type == TYPE_F32);
	}
}

const char *gen_call_name(const struct gen_text *g, enum ir_function f, enum type result, enum type operand)
{
	return ir_function_name(f, g->target->language, result, operand, g->out->arena);
}

void gen_indent(struct gen_text *g)
{
	for (int i = 0; i < g->out->indent; i++)
		str_add(g->out, "\t");
}
