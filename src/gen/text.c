/* Expressions as C text, for both languages. */
#include "gen/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREC_COND = 1, PREC_OR, PREC_AND, PREC_BITOR, PREC_BITXOR, PREC_BITAND, PREC_EQ, PREC_LT, PREC_SHIFT, PREC_ADD,
       PREC_MUL, PREC_UNARY, PREC_ATOM };

const char *gen_type(const struct gen_text *g, enum type t)
{
	switch (t) {
	case TYPE_F32: return "float";
	case TYPE_F64: return "double";
	case TYPE_I32: return "int";
	case TYPE_INDEX: return g->target->c || g->kernel->index64 ? "i64" : "int";
	default: return type_name(t);
	}
}

const char *gen_symbol(const struct gen_text *g, const char *name)
{
	vec_each(b, &g->kernel->buffers)
		if (strcmp((*b)->name, name) == 0)
			return arena_printf(g->out->arena, "%s_extent", name);
	return ir_name_reserved(name) ? arena_printf(g->out->arena, "%s_extent", name) : name;
}

static void add_float(struct str *out, double x, bool f32)
{
	char text[64];
	if (isnan(x) || isinf(x)) {
		str_printf(out, "%s%s", f32 ? "" : "(double)", isnan(x) ? "NAN" : x < 0 ? "-INFINITY" : "INFINITY");
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, x);
		double back = strtod(text, NULL);
		if (back == x || (f32 && (float)back == (float)x))
			break;
	}
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
	case TYPE_I64:
		if (x == INT64_MIN)
			str_add(g->out, "(-9223372036854775807LL - 1)");
		else
			str_printf(g->out, "%lldLL", (long long)x);
		break;
	case TYPE_U64: str_printf(g->out, "%lluull", (unsigned long long)x); break;
	case TYPE_INDEX:
		str_printf(g->out, x > INT32_MAX || x < -INT32_MAX ? "%lldLL" : "%lld", (long long)x);
		break;
	default: str_printf(g->out, "(%s)%lld", type_name(t), (long long)x);
	}
}

static bool small_float(enum type t)
{
	return type_is_float(t) && t != TYPE_F32 && t != TYPE_F64;
}

static void print(struct gen_text *g, expr e, int outer);

static void call(struct gen_text *g, const char *function, int n, const expr *arg)
{
	str_printf(g->out, "%s(", function);
	for (int i = 0; i < n; i++) {
		if (i)
			str_add(g->out, ", ");
		/* Overloads are chosen by type: a plain number among 64-bit positions is one, too. */
		if (arg[i]->type == TYPE_INDEX && arg[i]->op == IR_CONST_INT && g->kernel->index64 && !g->target->c)
			str_add(g->out, "(i64)");
		print(g, arg[i], 0);
	}
	str_add(g->out, ")");
}

/* A function that C++ overloads; in C the type is behind its name. */
static void call_typed(struct gen_text *g, const char *function, expr e)
{
	char name[64];
	enum type t = e->arg[0]->type;
	snprintf(name, sizeof name, g->target->c ? "%s_%s" : "%s", function, type_name(t));
	call(g, name, e->n, e->arg);
}

static void print_constant(struct gen_text *g, expr e)
{
	if (e->op == IR_CONST_INT) {
		add_int(g, e->type, e->i);
	} else if (small_float(e->type)) {
		str_printf(g->out, g->target->c ? "%s_of_f32(" : "to_%s(", type_name(e->type));
		add_float(g->out, e->f, true);
		str_add(g->out, ")");
	} else {
		add_float(g->out, e->f, e->type == TYPE_F32);
	}
}

static void print_cast(struct gen_text *g, expr e)
{
	enum type from = e->arg[0]->type, to = e->type;
	const char *sat = e->op == IR_CAST_SAT ? "_sat" : "";
	char name[64];
	bool to_int = type_is_int(to) || to == TYPE_INDEX, from_int = type_is_int(from) || from == TYPE_INDEX;
	if (to == TYPE_INDEX && type_is_float(from)) {
		str_printf(g->out, "(%s)", gen_type(g, to));
		snprintf(name, sizeof name, g->target->c ? "i64_of_%s" : "to_i64", type_name(from));
		call(g, name, 1, e->arg);
	} else if ((from == TYPE_BOOL || from_int) && (to_int || to == TYPE_F32 || to == TYPE_F64)) {
		str_printf(g->out, "(%s)", gen_type(g, to));
		print(g, e->arg[0], PREC_UNARY);
	} else if (to == TYPE_BOOL && !small_float(from)) {
		str_add(g->out, "(");
		print(g, e->arg[0], PREC_EQ + 1);
		str_add(g->out, " != 0)");
	} else if (g->target->c) {
		snprintf(name, sizeof name, "%s%s_of_%s", type_name(to), sat, type_name(from == TYPE_INDEX ? TYPE_I64 : from));
		call(g, name, 1, e->arg);
	} else {
		snprintf(name, sizeof name, "to_%s%s", type_name(to), sat);
		call(g, name, 1, e->arg);
	}
}

static int precedence(expr e)
{
	switch (e->op) {
	case IR_SELECT: return PREC_COND;
	case IR_OR: return PREC_OR;
	case IR_AND: return PREC_AND;
	case IR_BITOR: return PREC_BITOR;
	case IR_BITXOR: return PREC_BITXOR;
	case IR_BITAND: return PREC_BITAND;
	case IR_EQ: return PREC_EQ;
	case IR_LT:
	case IR_LE: return PREC_LT;
	case IR_ADD:
	case IR_SUB: return PREC_ADD;
	case IR_MUL: return PREC_MUL;
	case IR_NEG:
	case IR_NOT:
	case IR_BITNOT: return PREC_UNARY;
	default: return PREC_ATOM;
	}
}

static void infix(struct gen_text *g, expr e, const char *op, int prec)
{
	print(g, e->arg[0], prec);
	str_printf(g->out, " %s ", op);
	print(g, e->arg[1], prec + 1);
}

static void prefix(struct gen_text *g, const char *op, expr a)
{
	str_add(g->out, op);
	print(g, a, PREC_ATOM);
}

/* / and % where C's own are right: both known not to be negative, or the divisor a plain constant. */
static bool plain_division(expr e)
{
	int64_t d;
	bool constant = ir_const_int(e->arg[1], &d) && d > 0;
	if (e->op == IR_DIV || e->op == IR_REM)
		return constant;
	if (e->type == TYPE_INDEX)
		return (constant || e->arg[1]->op == IR_SYMBOL) && ir_nonnegative(e->arg[0]);
	return constant && type_info(e->type)->class == CLASS_UINT;
}

static void print_division(struct gen_text *g, expr e)
{
	bool divide = e->op == IR_DIV || e->op == IR_FLOORDIV;
	static const char *const function[] = { "trunc_rem", "trunc_div", "floor_mod", "floor_div" };
	if (type_is_float(e->type) && divide) {
		infix(g, e, "/", PREC_MUL);
	} else if (type_is_float(e->type)) {
		call(g, e->type == TYPE_F32 ? "fmodf" : "fmod", 2, e->arg);
	} else if (plain_division(e)) {
		infix(g, e, divide ? "/" : "%", PREC_MUL);
	} else {
		bool floors = e->op == IR_FLOORDIV || e->op == IR_MOD;
		call_typed(g, function[2 * floors + divide], e);
	}
}

static int division_precedence(expr e)
{
	bool is = e->op == IR_DIV || e->op == IR_REM || e->op == IR_FLOORDIV || e->op == IR_MOD;
	if (!is)
		return precedence(e);
	bool infix_form = type_is_float(e->type) ? e->op == IR_DIV : plain_division(e);
	return infix_form ? PREC_MUL : PREC_ATOM;
}

static void print_node(struct gen_text *g, expr e)
{
	const struct ir_op_info *info = &ir_op_info[e->op];
	enum type t = e->type;
	char name[64];
	switch (e->op) {
	case IR_CONST_INT:
	case IR_CONST_FLOAT: print_constant(g, e); break;
	case IR_SYMBOL: str_add(g->out, gen_symbol(g, e->name)); break;
	case IR_VAR:
		if (strcmp(e->name, IR_THREAD) == 0)
			str_printf(g->out, "%s%s", g->kernel->index64 && !g->target->c ? "(i64)" : "", g->target->thread);
		else if (strcmp(e->name, IR_BLOCK) == 0)
			str_printf(g->out, "%s%s", g->kernel->index64 && !g->target->c ? "(i64)" : "", g->target->block);
		else
			str_add(g->out, e->name);
		break;
	case IR_LOAD:
		str_printf(g->out, "%s[", e->buf->name);
		print(g, e->arg[0], 0);
		str_add(g->out, "]");
		break;
	case IR_CAST:
	case IR_CAST_SAT: print_cast(g, e); break;
	case IR_BITCAST:
		snprintf(name, sizeof name, g->target->c ? "%s_bits_of_%s" : "bit_cast_to<%s>",
			 g->target->c ? type_name(t) : gen_type(g, t), type_name(e->arg[0]->type));
		call(g, name, 1, e->arg);
		break;
	case IR_DIV:
	case IR_REM:
	case IR_FLOORDIV:
	case IR_MOD: print_division(g, e); break;
	case IR_LT:
	case IR_LE:
		if (e->arg[1]->op == IR_VAR && e->arg[0]->op != IR_VAR) { /* "element >= 35" reads better than "35 <= element" */
			print(g, e->arg[1], PREC_LT);
			str_add(g->out, e->op == IR_LT ? " > " : " >= ");
			print(g, e->arg[0], PREC_LT + 1);
		} else {
			infix(g, e, info->ctext, PREC_LT);
		}
		break;
	case IR_MIN:
	case IR_MAX:
		snprintf(name, sizeof name, "%s%s", type_is_float(t) ? "nan_" : "", info->text);
		call_typed(g, name, e);
		break;
	case IR_POW:
		if (type_is_float(t))
			call(g, t == TYPE_F32 ? "powf" : "pow", 2, e->arg);
		else
			call_typed(g, "ipow", e);
		break;
	case IR_SHL: call_typed(g, "shift_left", e); break;
	case IR_SHR: call_typed(g, "shift_right", e); break;
	case IR_NEG:
	case IR_NOT:
	case IR_BITNOT: prefix(g, info->ctext, e->arg[0]); break;
	case IR_ABS:
		if (type_is_float(t))
			call(g, t == TYPE_F32 ? "fabsf" : "fabs", 1, e->arg);
		else if (type_info(t)->class == CLASS_UINT)
			print(g, e->arg[0], PREC_ATOM);
		else
			call_typed(g, "abs", e);
		break;
	case IR_ISNAN:
	case IR_ISINF: call(g, info->ctext, 1, e->arg); break;
	case IR_SELECT:
		print(g, e->arg[0], PREC_OR);
		str_add(g->out, " ? ");
		print(g, e->arg[1], PREC_COND);
		str_add(g->out, " : ");
		print(g, e->arg[2], PREC_COND);
		break;
	default:
		if (info->kind == IR_INFIX) {
			infix(g, e, info->ctext, precedence(e));
		} else {
			snprintf(name, sizeof name, "%s%s", info->ctext, t == TYPE_F32 ? "f" : "");
			call(g, name, e->n, e->arg);
		}
	}
}

static void print(struct gen_text *g, expr e, int outer)
{
	if (g->let && g->let[e->id]) {
		str_add(g->out, g->let[e->id]);
		return;
	}
	bool negative = (e->op == IR_CONST_INT && e->i < 0) || (e->op == IR_CONST_FLOAT && signbit(e->f));
	bool cast_prefix = (e->op == IR_CAST) && outer == PREC_ATOM;
	/* && inside || is bracketed as well: compilers ask for it. */
	bool mixed = e->op == IR_AND && (outer == PREC_OR || outer == PREC_OR + 1);
	bool brackets = division_precedence(e) < outer || (negative && outer > PREC_ADD) || cast_prefix || mixed;
	if (brackets)
		str_add(g->out, "(");
	print_node(g, e);
	if (brackets)
		str_add(g->out, ")");
}

void gen_expr(struct gen_text *g, expr e)
{
	print(g, e, 0);
}

/* ---- What is computed more than once gets a variable. */

struct share {
	int *uses;
	bool *sure; /* evaluated whenever the whole is: may be computed in front of it */
	struct { VEC(expr); } order;
	struct arena *scratch;
};

static void count_uses(void *user, expr e)
{
	struct share *s = user;
	vec_push(s->scratch, &s->order, e);
	for (int i = 0; i < e->n; i++)
		s->uses[e->arg[i]->id]++;
}

static void mark_sure(struct share *s, expr e)
{
	if (s->sure[e->id])
		return;
	s->sure[e->id] = true;
	bool lazy = e->op == IR_SELECT || e->op == IR_AND || e->op == IR_OR;
	for (int i = 0; i < (lazy ? 1 : e->n); i++)
		mark_sure(s, e->arg[i]);
}

/* Whether a name makes it shorter: loads and real work; of index arithmetic only what divides or has several operations. */
static bool nameable(expr e)
{
	if (e->n == 0 || e->op == IR_VAR || e->op == IR_AXIS)
		return false;
	if (e->type != TYPE_INDEX)
		return !(e->op == IR_CAST && e->arg[0]->n == 0);
	int operations = 0;
	for (expr x = e; x->n; x = x->arg[0])
		operations += x->op == IR_FLOORDIV || x->op == IR_MOD || x->op == IR_LOAD || x->op == IR_SELECT ? 3 : 1;
	return operations >= 3;
}

void gen_lets(struct gen_text *g, expr e)
{
	struct arena *scratch = arena_new();
	struct share s = { NEWN(scratch, int, e->id + 1), NEWN(scratch, bool, e->id + 1), { 0 }, scratch };
	g->let = NEWN(g->out->arena, const char *, e->id + 1);
	ir_walk(e, count_uses, &s);
	mark_sure(&s, e);
	for (int i = 0; i < s.order.n; i++) {
		expr x = s.order.at[i];
		if (x == e || s.uses[x->id] < 2 || !s.sure[x->id] || !nameable(x))
			continue;
		const char *name = arena_printf(g->out->arena, "tmp%d", g->lets++);
		gen_indent(g);
		str_printf(g->out, "const %s %s = ", gen_type(g, x->type), name);
		print(g, x, 0);
		str_add(g->out, ";\n");
		g->let[x->id] = name;
	}
	arena_free(scratch);
}

void gen_lets_end(struct gen_text *g)
{
	g->let = NULL;
}

void gen_indent(struct gen_text *g)
{
	for (int i = 0; i < g->out->indent; i++)
		str_add(g->out, "\t");
}

/* Long lines of the stage's text are broken at spaces. */
static void comment(struct str *out, const char *text)
{
	enum { WIDTH = 116 };
	while (*text == ' ')
		text++;
	for (size_t n; *text; text += n) {
		n = strcspn(text, "\n");
		if (n > WIDTH) {
			for (n = WIDTH; n > WIDTH / 2 && text[n] != ' '; n--)
				;
			if (text[n] != ' ')
				n = WIDTH;
		}
		str_printf(out, "// %.*s\n", (int)n, text);
		while (text[n] == ' ' || text[n] == '\n')
			n++;
	}
}

void gen_about(struct gen_text *g)
{
	const struct ir_kernel *k = g->kernel;
	comment(g->out, k->about);
	str_printf(g->out, "// Schedule: %s%s%s; %d threads a block%s.\n", k->rule, *k->params ? ", " : "", k->params, k->threads,
		   k->index64 ? "; 64-bit positions" : "");
}
