/* Expressions as C text, for both languages. */
#include "gen/text.h"

#include <math.h>

static bool is_c(const struct gen_text *g)
{
	return g->target->language == KERNEL_C;
}

/* True if the text has type i64 in a kernel with 64-bit positions: not only constants. */
static bool is_wide(expr e)
{
	bool wide = e->op != IR_CONST_INT && (e->n == 0 || e->op == IR_VAR || e->op == IR_ELEMENT || e->op == IR_CAST);
	for (int i = e->op == IR_SELECT; i < e->n && !wide; i++)
		wide = is_wide(e->arg[i]);
	return wide;
}

static void call(struct gen_text *g, const char *function, int n, const expr *arg)
{
	str_printf(g->out, "%s(", function);
	for (int i = 0; i < n; i++) {
		if (i)
			str_add(g->out, ", ");
		/* Overloads depend on types: widen a plain number among 64-bit positions. */
		bool widen = arg[i]->type == TYPE_INDEX && g->kernel->index64 && !is_c(g) && !is_wide(arg[i]);
		/* With 32-bit positions all extents fit too, so a larger constant stands for the maximum. */
		bool large = arg[i]->op == IR_CONST_INT && arg[i]->type == TYPE_INDEX && gen_index32(g) &&
		             (arg[i]->i > INT32_MAX || arg[i]->i < -INT32_MAX);
		if (large) {
			str_printf(g->out, "%d", arg[i]->i < 0 ? -INT32_MAX : INT32_MAX);
			continue;
		}
		if (widen)
			str_add(g->out, "(i64)");
		gen_print(g, arg[i], widen ? PREC_UNARY : 0);
	}
	str_add(g->out, ")");
}

void gen_call(struct gen_text *g, enum ir_function f, enum type result, const expr *arg)
{
	call(g, gen_call_name(g, f, result, arg[0]->type), ir_function_info[f].operands, arg);
}

static void call_of(struct gen_text *g, enum ir_function f, expr e)
{
	gen_call(g, f, e->type, e->arg);
}

static void print_cast(struct gen_text *g, expr e)
{
	enum type from = e->arg[0]->type, to = e->type;
	expr operand[2], rounded = gen_rounded(g, e), erf_of = gen_erf_rounded(g, e), gelu_of = gen_gelu_rounded(g, e);
	enum ir_function half;
	bool to_int = type_is_int(to) || to == TYPE_INDEX, from_int = type_is_int(from) || from == TYPE_INDEX;
	if (gen_half(g, e, &half, operand)) {
		gen_call(g, half, to, operand);
	} else if (rounded) {
		gen_call(g, FN_ROUND_TO, to, &rounded);
	} else if (gen_stored_type(g, to) == gen_stored_type(g, from)) {
		gen_print(g, e->arg[0], PREC_UNARY); /* an i64 is a 64-bit position */
	} else if (to == TYPE_INDEX && gen_index32(g) && (from == TYPE_I64 || from == TYPE_U64 || from == TYPE_U32)) {
		call_of(g, FN_TO_INDEX, e);
	} else if (to == TYPE_INDEX && type_is_float(from)) {
		gen_call(g, FN_TO, gen_stored_type(g, to), e->arg);
	} else if (!is_c(g) && to == TYPE_F32 && (from == TYPE_I8 || from == TYPE_U8)) {
		call_of(g, FN_BYTE_TO_F32, e);
	} else if ((from == TYPE_BOOL || from_int) &&
	           ((to_int && !type_is_packed(to)) || to == TYPE_F32 || to == TYPE_F64)) {
		str_printf(g->out, "(%s)", gen_type(g, to));
		gen_print(g, e->arg[0], PREC_UNARY);
	} else if (to == TYPE_BOOL && !gen_small_float(from)) {
		str_add(g->out, "(");
		gen_print(g, e->arg[0], PREC_EQ + 1);
		str_add(g->out, " != 0)");
	} else if (erf_of) {
		str_printf(g->out, "%s(", gen_call_name(g, FN_TO, to, TYPE_F32));
		gen_call(g, FN_ERF_TO_16, TYPE_F32, &erf_of);
		str_add(g->out, ")");
	} else if (gelu_of) {
		gen_call(g, FN_GELU_TO, to, &gelu_of);
	} else {
		enum type operand_type = from == TYPE_INDEX ? TYPE_I64 : from;
		call(g, gen_call_name(g, e->op == IR_CAST_SAT ? FN_TO_SAT : FN_TO, to, operand_type), 1, e->arg);
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

static bool is_bitwise(expr e)
{
	return e->op == IR_BITOR || e->op == IR_BITXOR || e->op == IR_BITAND;
}

/* Compilers want brackets around comparisons and sums among bit operations, and around && inside ||, as readers do. Two
 * conjunctions that are joined keep theirs, "(y >= 0 && y < h) && (x >= 0 && x < w)": compilers branch in that order.
 */
static int operand_precedence(expr e, int i, int prec)
{
	expr a = e->arg[i];
	if (is_bitwise(e))
		return i == 0 && a->op == e->op ? prec : PREC_UNARY;
	bool logical = e->op == IR_AND || e->op == IR_OR, joins = logical && e->arg[1]->op == e->op;
	if ((joins && a->op == e->op) || (e->op == IR_OR && a->op == IR_AND))
		return PREC_UNARY;
	return prec + i;
}

void gen_infix(struct gen_text *g, expr e, const char *op, int prec)
{
	gen_print(g, e->arg[0], operand_precedence(e, 0, prec));
	str_printf(g->out, " %s ", op);
	gen_print(g, e->arg[1], operand_precedence(e, 1, prec));
}

static void prefix(struct gen_text *g, const char *op, expr a)
{
	str_add(g->out, op);
	gen_print(g, a, PREC_ATOM);
}

/* The product that a sum adds without separate rounding; null: none. */
static expr fused_product(const struct gen_text *g, expr e)
{
	if (!g->target->forms || e->op != IR_ADD || e->type != TYPE_F32 || (!g->coarse && e != g->total))
		return NULL;
	for (int i = 1; i >= 0; i--)
		if (e->arg[i]->op == IR_MUL && !gen_let(g, e->arg[i]))
			return e->arg[i];
	return NULL;
}

/* A comparison begins with what varies: "element >= 35" rather than "35 <= element". */
static bool begins_with_second(expr e)
{
	expr a = e->arg[0], b = e->arg[1];
	bool first = a->op == IR_VAR || a->op == IR_ELEMENT, second = b->op == IR_VAR || b->op == IR_ELEMENT;
	bool number = a->op == IR_CONST_INT || a->op == IR_CONST_FLOAT;
	return number || (second && !first);
}

static void print_less(struct gen_text *g, expr e)
{
	if (!begins_with_second(e)) {
		gen_infix(g, e, ir_op_info[e->op].ctext, PREC_LT);
		return;
	}
	gen_print(g, e->arg[1], PREC_LT);
	str_add(g->out, e->op == IR_LT ? " > " : " >= ");
	gen_print(g, e->arg[0], PREC_LT + 1);
}

/* Compilers want brackets around comparisons. */
static void print_equal(struct gen_text *g, expr e, const char *op)
{
	bool second = begins_with_second(e);
	gen_print(g, e->arg[second], PREC_LT + 1);
	str_printf(g->out, " %s ", op);
	gen_print(g, e->arg[!second], PREC_LT + 1);
}

/* The comparison that "not" makes an inequality; null: none. */
static expr unequal(const struct gen_text *g, expr e)
{
	bool is = e->op == IR_NOT && e->arg[0]->op == IR_EQ && !gen_let(g, e->arg[0]);
	return is ? e->arg[0] : NULL;
}

/* The precedence of what is printed: some operations have other forms. */
static int printed_precedence(const struct gen_text *g, expr e)
{
	enum ir_function f;
	if (gen_gelu(g, e) || gen_one_plus(g, e, &f) || fused_product(g, e))
		return PREC_ATOM;
	if (unequal(g, e))
		return PREC_EQ;
	if (e->op == IR_DIV || e->op == IR_REM || e->op == IR_FLOORDIV || e->op == IR_MOD)
		return gen_division_is_infix(g, e) ? PREC_MUL : PREC_ATOM;
	return precedence(e);
}

void gen_subscript(struct gen_text *g, expr at)
{
	if (!at)
		return;
	str_add(g->out, "[");
	gen_expr(g, at);
	str_add(g->out, "]");
}

void gen_element(struct gen_text *g, const struct ir_variable *array, int n, const expr *at)
{
	str_add(g->out, gen_name(g, array));
	for (int i = 0; i < n; i++)
		if (gen_has_dim(g, array, i))
			gen_subscript(g, at[i]);
}

static const struct ir_variable *elements_of(const struct gen_text *g, const struct ir_buffer *b)
{
	vec_each (x, &g->kernel->parameters)
		if (x->of == b && !is_c(g))
			return x->var;
	return NULL;
}

bool gen_is_checked(const struct gen_text *g, const struct ir_buffer *b)
{
	return elements_of(g, b);
}

void gen_position(struct gen_text *g, const struct ir_buffer *b, expr at, int width, expr where)
{
	const struct ir_variable *elements = elements_of(g, b);
	if (!elements) {
		gen_offset(g, at);
		return;
	}
	str_printf(g->out, "%s(%s, %s, ", GEN_AT, g->function, gen_buffer(g, b));
	gen_print(g, at, 0);
	str_printf(g->out, ", %s, %d, ", gen_name(g, elements), width);
	if (where)
		gen_print(g, where, 0);
	else
		str_add(g->out, "true");
	str_add(g->out, ")");
}

static void print_load(struct gen_text *g, expr e)
{
	bool packed = type_is_packed(e->type);
	if (packed)
		str_printf(g->out, "%s(%s, ", gen_call_name(g, FN_LOAD, e->type, e->type), gen_buffer(g, e->buf));
	else
		str_printf(g->out, "%s[", gen_buffer(g, e->buf));
	if (gen_is_checked(g, e->buf))
		gen_position(g, e->buf, e->arg[0], 1, NULL);
	else
		gen_print(g, e->arg[0], 0);
	str_add(g->out, packed ? ")" : "]");
}

static void print_bitcast(struct gen_text *g, expr e)
{
	enum type from = e->arg[0]->type;
	const char *name = gen_call_name(g, FN_BIT_CAST, e->type, from);
	if (type_info(from)->bits >= 32 || ir_op_info[e->arg[0]->op].kind < IR_INFIX) {
		call(g, name, 1, e->arg);
		return;
	}
	str_printf(g->out, "%s((%s)(", name, type_name(from)); /* C computes narrow types as int */
	gen_print(g, e->arg[0], 0);
	str_add(g->out, "))");
}

static void print_select(struct gen_text *g, expr e)
{
	gen_print(g, e->arg[0], PREC_EQ);
	str_add(g->out, " ? ");
	gen_print(g, e->arg[1], PREC_COND);
	str_add(g->out, " : ");
	gen_print(g, e->arg[2], PREC_COND);
}

/* A libm function, with suffix f for float. */
static void call_math(struct gen_text *g, const char *function, expr e)
{
	call(g, e->type == TYPE_F32 ? arena_printf(g->out->arena, "%sf", function) : function, e->n, e->arg);
}

static void print_abs(struct gen_text *g, expr e)
{
	if (type_is_float(e->type))
		call_of(g, FN_FABS, e);
	else if (type_info(e->type)->class == CLASS_UINT)
		gen_print(g, e->arg[0], PREC_ATOM);
	else
		call_of(g, FN_ABS, e);
}

/* Returns the opposite of a negative number, which the opposite operation has in its place; null for other operands. */
static expr opposite(const struct gen_text *g, expr e)
{
	bool whole = e->op == IR_CONST_INT && e->i < 0 && e->i > INT32_MIN && type_info(e->type)->class != CLASS_UINT;
	if (gen_let(g, e))
		return NULL;
	if (whole)
		return ir_int(e->pool, e->type, -e->i);
	return e->op == IR_CONST_FLOAT && e->f < 0 ? ir_float(e->pool, e->type, -e->f) : NULL;
}

static void print_infix(struct gen_text *g, expr e, const char *sign)
{
	bool sum = e->op == IR_ADD || e->op == IR_SUB;
	expr other = sum ? opposite(g, e->arg[1]) : NULL;
	if (!other) {
		gen_infix(g, e, sign, precedence(e));
		return;
	}
	gen_print(g, e->arg[0], operand_precedence(e, 0, PREC_ADD));
	str_add(g->out, e->op == IR_ADD ? " - " : " + ");
	gen_print(g, other, PREC_MUL);
}

static void print_op(struct gen_text *g, expr e)
{
	const struct ir_op_info *info = &ir_op_info[e->op];
	bool is_float = type_is_float(e->type);
	switch (e->op) {
	case IR_CONST_INT:
	case IR_CONST_FLOAT: gen_constant(g, e); break;
	case IR_SYMBOL: str_add(g->out, gen_symbol(g, e)); break;
	case IR_VAR: str_add(g->out, gen_name(g, e->var)); break;
	case IR_ELEMENT: gen_element(g, e->var, e->n, e->arg); break;
	case IR_LOAD: print_load(g, e); break;
	case IR_CAST:
	case IR_CAST_SAT: print_cast(g, e); break;
	case IR_BITCAST: print_bitcast(g, e); break;
	case IR_DIV:
	case IR_REM:
	case IR_FLOORDIV:
	case IR_MOD: gen_division(g, e); break;
	case IR_LT:
	case IR_LE: print_less(g, e); break;
	case IR_EQ: print_equal(g, e, "=="); break;
	case IR_MIN: call_of(g, is_float ? FN_NAN_MIN : FN_MIN, e); break;
	case IR_MAX: call_of(g, is_float ? FN_NAN_MAX : FN_MAX, e); break;
	case IR_POW: call_of(g, is_float ? FN_POW : FN_IPOW, e); break;
	case IR_SHL: call_of(g, FN_SHIFT_LEFT, e); break;
	case IR_SHR: call_of(g, FN_SHIFT_RIGHT, e); break;
	case IR_NEG:
		if (is_float || is_c(g))
			prefix(g, info->ctext, e->arg[0]);
		else
			call_of(g, FN_NEG, e);
		break;
	case IR_NOT:
		if (unequal(g, e))
			print_equal(g, unequal(g, e), "!=");
		else
			prefix(g, info->ctext, e->arg[0]);
		break;
	case IR_BITNOT: prefix(g, info->ctext, e->arg[0]); break;
	case IR_ABS: print_abs(g, e); break;
	case IR_ISNAN:
	case IR_ISINF:
		str_add(g->out, is_c(g) && e->op == IR_ISINF ? "!!" : ""); /* C's isinf may return -1 */
		call(g, info->ctext, 1, e->arg);
		break;
	case IR_EXP:
	case IR_LOG1P:
	case IR_TANH:
		if (g->coarse && e->type == TYPE_F32)
			call_of(g,
			        e->op == IR_EXP    ? FN_COARSE_EXP
			        : e->op == IR_TANH ? FN_COARSE_TANH
			                           : FN_COARSE_LOG1P,
			        e);
		else
			call_math(g, info->ctext, e);
		break;
	case IR_SELECT: print_select(g, e); break;
	default:
		if (info->kind == IR_INFIX)
			print_infix(g, e, info->ctext);
		else
			call_math(g, info->ctext, e);
	}
}

/* Some sums and products have special functions. */
static void print_node(struct gen_text *g, expr e)
{
	enum ir_function f;
	expr one_plus = gen_one_plus(g, e, &f), gelu_of = gen_gelu(g, e), product = fused_product(g, e);
	if (gelu_of) {
		gen_call(g, FN_GELU, e->type, &gelu_of);
	} else if (one_plus) {
		gen_call(g, f, e->type, &one_plus);
	} else if (product) {
		const expr operands[] = { product->arg[0], product->arg[1], e->arg[e->arg[0] == product] };
		gen_call(g, FN_FMA, e->type, operands);
	} else {
		print_op(g, e);
	}
}

/* True for narrow integer results that C computes as int, with bits beyond the type. */
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
	case IR_MOD: return ir_promoted(e->type);
	default: return false;
	}
}

bool gen_sum_is_infix(const struct gen_text *g, expr e)
{
	enum ir_function f;
	return e->op == IR_ADD && !must_wrap(e) && !gen_let(g, e) && !gen_gelu(g, e) && !gen_one_plus(g, e, &f) &&
	       !fused_product(g, e);
}

void gen_print(struct gen_text *g, expr e, int outer)
{
	const char *name = gen_let(g, e);
	if (g->trial.number && e->n > 0 && e->op != IR_VAR && e->id < g->trial.nodes) {
		name = g->trial.printed[e->id] == g->trial.number ? "tmp00" : name;
		g->trial.printed[e->id] = g->trial.number;
	}
	if (name) {
		str_add(g->out, name);
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
	bool brackets = printed_precedence(g, e) < outer || (negative && (outer == PREC_MUL || outer == PREC_ATOM)) ||
	                cast_prefix;
	if (brackets)
		str_add(g->out, "(");
	print_node(g, e);
	if (brackets)
		str_add(g->out, ")");
}

void gen_expr(struct gen_text *g, expr e)
{
	gen_print(g, e, 0);
}

void gen_operand(struct gen_text *g, expr e)
{
	gen_print(g, e, PREC_ADD);
}

void gen_offset(struct gen_text *g, expr e)
{
	expr first = e;
	while ((first->op == IR_ADD || first->op == IR_SUB) && !gen_let(g, first))
		first = first->arg[0];
	gen_print(g, e, first == e || ir_nonnegative(first) ? PREC_ADD : PREC_MUL);
}
