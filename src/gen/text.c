/* Expressions as C text, for both languages. */
#include "gen/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PREC_COND = 1,
	PREC_OR,
	PREC_AND,
	PREC_BITOR,
	PREC_BITXOR,
	PREC_BITAND,
	PREC_EQ,
	PREC_LT,
	PREC_SHIFT,
	PREC_ADD,
	PREC_MUL,
	PREC_UNARY,
	PREC_ATOM
};

/* Index arithmetic of a CUDA kernel in 32 or 64 bits. */
static bool narrow_index(const struct gen_text *g)
{
	return !g->target->c && !g->kernel->index64;
}

const char *gen_type(const struct gen_text *g, enum type t)
{
	switch (t) {
	case TYPE_F32: return "float";
	case TYPE_F64: return "double";
	case TYPE_I32: return "int";
	case TYPE_INDEX: return narrow_index(g) ? "int" : "i64";
	default: return type_name(t);
	}
}

const char *gen_element_type(const struct gen_text *g, enum type t)
{
	return type_is_packed(t) ? "u8" : gen_type(g, t);
}

const char *gen_symbol(const struct gen_text *g, const char *name)
{
	bool taken = ir_name_reserved(name);
	vec_each (b, &g->kernel->buffers)
		taken |= strcmp((*b)->name, name) == 0;
	if (!taken)
		return name;
	name = arena_printf(g->out->arena, "%s_extent", name);
	vec_each (s, &g->kernel->symbols) /* ..._extent may be a name itself */
		if (strcmp(*s, name) == 0)
			name = arena_printf(g->out->arena, "%s_", name);
	return gen_symbol(g, name);
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

static bool small_float(enum type t)
{
	return type_is_float(t) && t != TYPE_F32 && t != TYPE_F64;
}

static void print(struct gen_text *g, expr e, int outer);

/* Of type i64 in a kernel with 64-bit positions: not made of numbers alone. */
static bool is_wide(expr e)
{
	bool wide = e->op != IR_CONST_INT && (e->n == 0 || e->op == IR_VAR || e->op == IR_CAST);
	for (int i = e->op == IR_SELECT; i < e->n && !wide; i++)
		wide = is_wide(e->arg[i]);
	return wide;
}

/* CUDA's own thread and block numbers are unsigned. */
static bool is_unsigned(const struct gen_text *g, expr e)
{
	bool found = e->op == IR_VAR && (strcmp(e->name, IR_THREAD) == 0 || strcmp(e->name, IR_BLOCK) == 0);
	for (int i = 0; i < e->n && !found; i++)
		found = is_unsigned(g, e->arg[i]);
	return found && !g->kernel->index64 && !g->target->c;
}

static void call(struct gen_text *g, const char *function, int n, const expr *arg)
{
	str_printf(g->out, "%s(", function);
	for (int i = 0; i < n; i++) {
		if (i)
			str_add(g->out, ", ");
		/* Overloads are chosen by type: a plain number among 64-bit positions is one, too. */
		bool widen = arg[i]->type == TYPE_INDEX && g->kernel->index64 && !g->target->c && !is_wide(arg[i]);
		bool sign = arg[i]->type == TYPE_INDEX && is_unsigned(g, arg[i]);
		if (widen || sign)
			str_add(g->out, widen ? "(i64)" : "(int)");
		print(g, arg[i], widen || sign ? PREC_UNARY : 0);
	}
	str_add(g->out, ")");
}

/* Integers narrower than int: C computes with them as int. */
static bool promoted(enum type t)
{
	return type_is_int(t) && type_info(t)->bits < 32;
}

/* A function that C++ overloads, or a template over its first operand's type; in C the type is behind its name. */
static void call_typed(struct gen_text *g, const char *function, bool is_template, expr e)
{
	char name[64];
	enum type t = e->arg[0]->type;
	if (g->target->c)
		snprintf(name, sizeof name, "%s_%s", function, type_name(t));
	else if (is_template && promoted(t))
		snprintf(name, sizeof name, "%s<%s>", function, type_name(t));
	else
		snprintf(name, sizeof name, "%s", function);
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

/* erf in a form of its own in CUDA: 1 + erf(x); rounded to 16 bits at once. Gives erf's operand, or null. */
static expr erf_plus_one(const struct gen_text *g, expr e)
{
	for (int i = 0; i < 2 && !g->target->c && e->op == IR_ADD && e->type == TYPE_F32; i++)
		if (e->arg[i]->op == IR_ERF && e->arg[1 - i]->op == IR_CONST_FLOAT && e->arg[1 - i]->f == 1)
			return e->arg[i]->arg[0];
	return NULL;
}

static expr erf_rounded(const struct gen_text *g, expr e)
{
	bool to_16 = e->op == IR_CAST && (e->type == TYPE_F16 || e->type == TYPE_BF16);
	return !g->target->c && to_16 && e->arg[0]->op == IR_ERF && e->arg[0]->type == TYPE_F32 ? e->arg[0]->arg[0] : NULL;
}

static void print_cast(struct gen_text *g, expr e)
{
	enum type from = e->arg[0]->type, to = e->type;
	const char *sat = e->op == IR_CAST_SAT ? "_sat" : "";
	char name[64];
	bool to_int = type_is_int(to) || to == TYPE_INDEX, from_int = type_is_int(from) || from == TYPE_INDEX;
	if (strcmp(gen_type(g, to), gen_type(g, from)) == 0) {
		print(g, e->arg[0], PREC_UNARY); /* an i64 as a 64-bit position */
	} else if (to == TYPE_INDEX && narrow_index(g) && (from == TYPE_I64 || from == TYPE_U64 || from == TYPE_U32)) {
		call(g, "to_index", 1, e->arg);
	} else if (to == TYPE_INDEX && narrow_index(g) && type_is_float(from)) {
		call(g, "to_i32", 1, e->arg);
	} else if (to == TYPE_INDEX && type_is_float(from)) {
		snprintf(name, sizeof name, g->target->c ? "i64_of_%s" : "to_i64", type_name(from));
		call(g, name, 1, e->arg);
	} else if ((from == TYPE_BOOL || from_int) && ((to_int && !type_is_packed(to)) || to == TYPE_F32 || to == TYPE_F64)) {
		str_printf(g->out, "(%s)", gen_type(g, to));
		print(g, e->arg[0], PREC_UNARY);
	} else if (to == TYPE_BOOL && !small_float(from)) {
		str_add(g->out, "(");
		print(g, e->arg[0], PREC_EQ + 1);
		str_add(g->out, " != 0)");
	} else if (erf_rounded(g, e)) {
		expr x = erf_rounded(g, e);
		str_printf(g->out, "to_%s(", type_name(to));
		call(g, "erf_to_16", 1, &x);
		str_add(g->out, ")");
	} else if (g->target->c) {
		snprintf(name, sizeof name, "%s%s_of_%s", type_name(to), sat,
		         type_name(from == TYPE_INDEX ? TYPE_I64 : from));
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

/* ---- Which values are the same in all turns of a loop. */

/* A name's text may be "x_v[step][item]": the variables in it. */
static int depth_of_text(const struct gen_text *g, const char *text)
{
	int depth = 0;
	for (size_t n; *text; text += n ? n : 1) {
		n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
		for (int i = g->names.n - 1; n && i >= 0; i--) {
			const struct gen_name *have = &g->names.at[i];
			if (strlen(have->name) != n || strncmp(have->name, text, n) != 0)
				continue;
			depth = have->depth > depth ? have->depth : depth;
			break;
		}
	}
	return depth;
}

struct find_depth {
	const struct gen_text *g;
	int depth;
};

static void node_depth(void *user, expr e)
{
	struct find_depth *f = user;
	int depth = e->op == IR_VAR ? depth_of_text(f->g, e->name) : 0;
	f->depth = depth > f->depth ? depth : f->depth;
}

/* The depth of the innermost loop that e's value depends on. */
static int value_depth(const struct gen_text *g, expr e)
{
	struct find_depth f = { g, 0 };
	ir_walk(e, node_depth, &f);
	return f.depth;
}

void gen_declared(struct gen_text *g, const char *name, expr value)
{
	struct gen_name n = { arena_printf(g->out->arena, "%.*s", (int)strcspn(name, "["), name), g->depth };
	if (value)
		n.depth = value_depth(g, value);
	if (g->depth)
		vec_push(g->out->arena, &g->names, n);
}

void gen_loop_begin(struct gen_text *g, const char *name, int turns)
{
	ck(g->depth + 1 < GEN_MAX_DEPTH);
	g->turns[++g->depth] = turns;
	gen_declared(g, name, NULL);
}

void gen_loop_end(struct gen_text *g)
{
	g->depth--;
}

/* Whether many elements are divided by the same value, so that its reciprocal is worth computing: quotient() in
 * tpat_types.h. By powers of two compilers multiply. */
static bool same_divisor(const struct gen_text *g, expr e)
{
	enum { MANY = 4 };
	int exponent, turns = 1;
	expr by = e->arg[1];
	if (g->target->c || e->op != IR_DIV || e->type != TYPE_F32)
		return false;
	if (by->op == IR_CONST_FLOAT)
		return fabs(frexp(by->f, &exponent)) != 0.5 && fabs(by->f) >= 0x1p-100 && fabs(by->f) <= 0x1p100;
	if (e->arg[0]->op == IR_CONST_FLOAT)
		return false;
	for (int d = value_depth(g, by) + 1; d <= g->depth && turns < MANY; d++)
		turns *= g->turns[d];
	return turns >= MANY;
}

/* A division in a kernel that gen_coarse is true of; by powers of two compilers multiply. */
static bool coarse_division(const struct gen_text *g, expr e)
{
	return g->coarse && e->op == IR_DIV && e->type == TYPE_F32 && (e->arg[1]->op != IR_CONST_FLOAT || same_divisor(g, e));
}

/* The product of a sum that is added to it without a rounding between; null: none. */
static expr fused_product(const struct gen_text *g, expr e)
{
	if (e->op != IR_ADD || e->type != TYPE_F32 || (!g->coarse && e != g->total))
		return NULL;
	for (int i = 1; i >= 0; i--)
		if (e->arg[i]->op == IR_MUL && !(g->let && e->arg[i]->id < g->let_n && g->let[e->arg[i]->id]))
			return e->arg[i];
	return NULL;
}

/* / and % where C's own are right: both known not to be negative, or the divisor a plain constant. */
static bool plain_division(expr e)
{
	int64_t d;
	bool constant = ir_const_int(e->arg[1], &d) && d > 0;
	if (e->op == IR_DIV || e->op == IR_REM)
		return constant;
	if (e->type == TYPE_INDEX) /* an extent: where it is zero, there are no elements to compute */
		return (constant || (!e->arg[1]->varies && ir_nonnegative(e->arg[1]))) && ir_nonnegative(e->arg[0]);
	return constant && type_info(e->type)->class == CLASS_UINT;
}

static void print_division(struct gen_text *g, expr e)
{
	bool divide = e->op == IR_DIV || e->op == IR_FLOORDIV;
	static const char *const function[] = { "trunc_rem", "trunc_div", "floor_mod", "floor_div" };
	if (coarse_division(g, e) && e->arg[1]->op == IR_CONST_FLOAT) {
		print(g, e->arg[0], PREC_MUL);
		str_add(g->out, " * ");
		add_float(g->out, (float)(1 / e->arg[1]->f), true);
	} else if (coarse_division(g, e)) {
		call(g, same_divisor(g, e) ? "coarse_quotient" : "coarse_division", 2, e->arg);
	} else if (same_divisor(g, e)) {
		call(g, "quotient", 2, e->arg);
	} else if (type_is_float(e->type) && divide) {
		infix(g, e, "/", PREC_MUL);
	} else if (type_is_float(e->type)) {
		call(g, e->type == TYPE_F32 ? "fmodf" : "fmod", 2, e->arg);
	} else if (plain_division(e)) {
		infix(g, e, divide ? "/" : "%", PREC_MUL);
	} else {
		bool floors = e->op == IR_FLOORDIV || e->op == IR_MOD;
		call_typed(g, function[2 * floors + divide], !floors, e);
	}
}

static int division_precedence(const struct gen_text *g, expr e)
{
	if (erf_plus_one(g, e) || fused_product(g, e))
		return PREC_ATOM;
	if (coarse_division(g, e))
		return e->arg[1]->op == IR_CONST_FLOAT ? PREC_MUL : PREC_ATOM;
	bool is = e->op == IR_DIV || e->op == IR_REM || e->op == IR_FLOORDIV || e->op == IR_MOD;
	if (!is)
		return precedence(e);
	bool infix_form = type_is_float(e->type) ? e->op == IR_DIV && !same_divisor(g, e) : plain_division(e);
	return infix_form ? PREC_MUL : PREC_ATOM;
}

static void print_node(struct gen_text *g, expr e)
{
	const struct ir_op_info *info = &ir_op_info[e->op];
	enum type t = e->type;
	char name[64];
	expr erf_of = erf_plus_one(g, e);
	if (erf_of) {
		call(g, "one_plus_erf", 1, &erf_of);
		return;
	}
	expr product = fused_product(g, e);
	if (product) {
		const expr operands[] = { product->arg[0], product->arg[1], e->arg[e->arg[0] == product] };
		call(g, "fmaf", 3, operands);
		return;
	}
	switch (e->op) {
	case IR_CONST_INT:
	case IR_CONST_FLOAT: print_constant(g, e); break;
	case IR_SYMBOL: str_add(g->out, gen_symbol(g, e->name)); break;
	case IR_VAR:
		if (strcmp(e->name, IR_THREAD) == 0)
			str_printf(g->out, "%s%s", g->kernel->index64 && !g->target->c ? "(i64)" : "",
			           g->target->thread);
		else if (strcmp(e->name, IR_BLOCK) == 0)
			str_printf(g->out, "%s%s", g->kernel->index64 && !g->target->c ? "(i64)" : "",
			           g->target->block);
		else
			str_add(g->out, e->name);
		break;
	case IR_LOAD:
		if (type_is_packed(t))
			str_printf(g->out, "load_%s(%s, ", type_name(t), e->buf->name);
		else
			str_printf(g->out, "%s[", e->buf->name);
		print(g, e->arg[0], 0);
		str_add(g->out, type_is_packed(t) ? ")" : "]");
		break;
	case IR_CAST:
	case IR_CAST_SAT: print_cast(g, e); break;
	case IR_BITCAST:
		snprintf(name, sizeof name, g->target->c ? "%s_bits_of_%s" : "bit_cast_to<%s>",
		         g->target->c ? type_name(t) : gen_type(g, t), type_name(e->arg[0]->type));
		/* C computes narrow types as int. */
		if (type_info(e->arg[0]->type)->bits < 32 && ir_op_info[e->arg[0]->op].kind >= IR_INFIX) {
			str_printf(g->out, "%s((%s)(", name, type_name(e->arg[0]->type));
			print(g, e->arg[0], 0);
			str_add(g->out, "))");
		} else {
			call(g, name, 1, e->arg);
		}
		break;
	case IR_DIV:
	case IR_REM:
	case IR_FLOORDIV:
	case IR_MOD: print_division(g, e); break;
	case IR_LT:
	case IR_LE:
		if (e->arg[1]->op == IR_VAR &&
		    e->arg[0]->op != IR_VAR) { /* "element >= 35" reads better than "35 <= element" */
			print(g, e->arg[1], PREC_LT);
			str_add(g->out, e->op == IR_LT ? " > " : " >= ");
			print(g, e->arg[0], PREC_LT + 1);
		} else {
			infix(g, e, info->ctext, PREC_LT);
		}
		break;
	case IR_EQ: /* of comparisons: compilers ask for brackets */
		print(g, e->arg[0], PREC_LT + 1);
		str_add(g->out, " == ");
		print(g, e->arg[1], PREC_LT + 1);
		break;
	case IR_MIN:
	case IR_MAX:
		snprintf(name, sizeof name, "%s%s", type_is_float(t) ? "nan_" : "", info->text);
		call_typed(g, name, false, e);
		break;
	case IR_POW:
		if (type_is_float(t))
			call(g, t == TYPE_F32 ? "powf" : "pow", 2, e->arg);
		else
			call_typed(g, "ipow", true, e);
		break;
	case IR_SHL: call_typed(g, "shift_left", true, e); break;
	case IR_SHR: call_typed(g, "shift_right", true, e); break;
	case IR_NEG:
		if (type_is_float(t) || g->target->c)
			prefix(g, info->ctext, e->arg[0]);
		else
			call(g, "neg", 1, e->arg);
		break;
	case IR_NOT:
	case IR_BITNOT: prefix(g, info->ctext, e->arg[0]); break;
	case IR_ABS:
		if (type_is_float(t))
			call(g, t == TYPE_F32 ? "fabsf" : "fabs", 1, e->arg);
		else if (type_info(t)->class == CLASS_UINT)
			print(g, e->arg[0], PREC_ATOM);
		else
			call_typed(g, "abs", false, e);
		break;
	case IR_ISNAN:
	case IR_ISINF: call(g, info->ctext, 1, e->arg); break;
	case IR_EXP:
		call(g, t != TYPE_F32 ? "exp" : g->coarse ? "coarse_exp" : "expf", 1, e->arg);
		break;
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

/* Of a narrow integer type, but int with bits above it when C has computed it. */
static bool must_wrap(expr e)
{
	switch (e->op) {
	case IR_ADD:
	case IR_SUB:
	case IR_MUL:
	case IR_NEG:
	case IR_ABS:
	case IR_BITNOT:
	case IR_FLOORDIV:
	case IR_MOD: return promoted(e->type);
	default: return false;
	}
}

static void print(struct gen_text *g, expr e, int outer)
{
	if (g->let && e->id < g->let_n && g->let[e->id]) {
		str_add(g->out, g->let[e->id]);
		return;
	}
	if (must_wrap(e)) {
		str_printf(g->out, outer == PREC_ATOM ? "((%s)(" : "(%s)(", type_name(e->type));
		print_node(g, e);
		str_add(g->out, outer == PREC_ATOM ? "))" : ")");
		return;
	}
	bool negative = (e->op == IR_CONST_INT && e->i < 0) || (e->op == IR_CONST_FLOAT && signbit(e->f));
	bool cast_prefix = (e->op == IR_CAST) && outer == PREC_ATOM;
	/* && inside || is bracketed as well: compilers ask for it. */
	bool mixed = e->op == IR_AND && (outer == PREC_OR || outer == PREC_OR + 1);
	bool brackets = division_precedence(g, e) < outer || (negative && outer > PREC_ADD) || cast_prefix || mixed;
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

void gen_operand(struct gen_text *g, expr e)
{
	print(g, e, PREC_ADD);
}

/* ---- What is computed more than once gets a variable. */

struct share {
	int *uses;
	bool *sure; /* evaluated whenever the whole is: may be computed in front of it */
	bool *safe; /* may be computed anywhere: reads no memory, divides by nothing that may be zero */
	struct {
		VEC(expr);
	} order;
	struct arena *scratch;
};

/* Operands first. A variable's operand is its extent, which is not printed. */
static void count_uses(struct share *s, expr e)
{
	if (s->uses[e->id]++)
		return;
	bool divides = e->op == IR_DIV || e->op == IR_REM || e->op == IR_FLOORDIV || e->op == IR_MOD;
	bool safe = e->op != IR_LOAD && !(divides && plain_division(e) && e->arg[1]->op != IR_CONST_INT);
	for (int i = 0; i < e->n && e->op != IR_VAR; i++) {
		count_uses(s, e->arg[i]);
		safe &= s->safe[e->arg[i]->id];
	}
	s->safe[e->id] = safe;
	vec_push(s->scratch, &s->order, e);
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

/* What only some branches evaluate is computed in front of all when it is index arithmetic, or long: texts must not
 * grow with every use. */
static bool in_front(const struct share *s, expr e)
{
	enum { LONG = 40 };
	return s->sure[e->id] || (s->safe[e->id] && (e->type == TYPE_INDEX || e->size > LONG));
}

/* Whether a name makes it shorter: loads and real work; of index arithmetic only what divides or has several
 * operations. */
static bool nameable(expr e)
{
	if (e->n == 0 || e->op == IR_VAR || e->op == IR_AXIS)
		return false;
	if (e->type != TYPE_INDEX)
		return !(e->op == IR_CAST && e->arg[0]->n == 0);
	int operations = 0;
	for (expr x = e; x->n && x->op != IR_VAR; x = x->arg[0])
		operations += x->op == IR_FLOORDIV || x->op == IR_MOD || x->op == IR_LOAD || x->op == IR_SELECT ? 3 : 1;
	return operations >= 3;
}

void gen_lets(struct gen_text *g, expr e, expr also)
{
	struct arena *scratch = arena_new();
	uint32_t n = (also && also->id > e->id ? also->id : e->id) + 1; /* operands are older */
	struct share s = { NEWN(scratch, int, n), NEWN(scratch, bool, n), NEWN(scratch, bool, n), { 0 }, scratch };
	g->let = NEWN(g->out->arena, const char *, n);
	g->let_n = n;
	count_uses(&s, e);
	mark_sure(&s, e);
	if (also) {
		count_uses(&s, also);
		mark_sure(&s, also);
	}
	for (int i = 0; i < s.order.n; i++) {
		expr x = s.order.at[i];
		if (s.uses[x->id] < 2 || !in_front(&s, x) || !nameable(x))
			continue;
		const char *name = arena_printf(g->out->arena, "tmp%d", g->lets++);
		gen_indent(g);
		str_printf(g->out, "const %s %s = ", gen_type(g, x->type), name);
		print(g, x, 0);
		gen_declared(g, name, x);
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
