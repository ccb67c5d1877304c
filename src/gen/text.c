/* Expressions as C text, for both languages. */
#include "gen/text.h"

#include <math.h>

enum {
	PREC_COND = 1,
	PREC_OR,
	PREC_AND,
	PREC_BITOR,
	PREC_BITXOR,
	PREC_BITAND,
	PREC_EQ,
	PREC_LT,
	PREC_ADD,
	PREC_MUL,
	PREC_UNARY,
	PREC_ATOM
};

static void print(struct gen_text *g, expr e, int outer);

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
		print(g, arg[i], widen ? PREC_UNARY : 0);
	}
	str_add(g->out, ")");
}

/* Calls the function for a result of type `result`. */
static void call_for(struct gen_text *g, enum ir_function f, enum type result, const expr *arg)
{
	call(g, gen_call_name(g, f, result, arg[0]->type), ir_function_info[f].operands, arg);
}

static void call_of(struct gen_text *g, enum ir_function f, expr e)
{
	call_for(g, f, e->type, e->arg);
}

static void print_cast(struct gen_text *g, expr e)
{
	enum type from = e->arg[0]->type, to = e->type;
	expr operand[2], rounded = gen_rounded(g, e), erf_of = gen_erf_rounded(g, e);
	enum ir_function half;
	bool to_int = type_is_int(to) || to == TYPE_INDEX, from_int = type_is_int(from) || from == TYPE_INDEX;
	if (gen_half(g, e, &half, operand)) {
		call_for(g, half, to, operand);
	} else if (rounded) {
		call_for(g, FN_ROUND_TO, to, &rounded);
	} else if (gen_stored_type(g, to) == gen_stored_type(g, from)) {
		print(g, e->arg[0], PREC_UNARY); /* an i64 is a 64-bit position */
	} else if (to == TYPE_INDEX && gen_index32(g) && (from == TYPE_I64 || from == TYPE_U64 || from == TYPE_U32)) {
		call_of(g, FN_TO_INDEX, e);
	} else if (to == TYPE_INDEX && type_is_float(from)) {
		call_for(g, FN_TO, gen_stored_type(g, to), e->arg);
	} else if (!is_c(g) && to == TYPE_F32 && (from == TYPE_I8 || from == TYPE_U8)) {
		call_of(g, FN_BYTE_TO_F32, e);
	} else if ((from == TYPE_BOOL || from_int) &&
	           ((to_int && !type_is_packed(to)) || to == TYPE_F32 || to == TYPE_F64)) {
		str_printf(g->out, "(%s)", gen_type(g, to));
		print(g, e->arg[0], PREC_UNARY);
	} else if (to == TYPE_BOOL && !gen_small_float(from)) {
		str_add(g->out, "(");
		print(g, e->arg[0], PREC_EQ + 1);
		str_add(g->out, " != 0)");
	} else if (erf_of) {
		str_printf(g->out, "%s(", gen_call_name(g, FN_TO, to, TYPE_F32));
		call_for(g, FN_ERF_TO_16, TYPE_F32, &erf_of);
		str_add(g->out, ")");
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

/* Compilers want brackets around comparisons and sums among bit operations, as readers do. */
static void infix(struct gen_text *g, expr e, const char *op, int prec)
{
	bool bitwise = is_bitwise(e);
	print(g, e->arg[0], bitwise && e->arg[0]->op != e->op ? PREC_UNARY : prec);
	str_printf(g->out, " %s ", op);
	print(g, e->arg[1], bitwise ? PREC_UNARY : prec + 1);
}

static void prefix(struct gen_text *g, const char *op, expr a)
{
	str_add(g->out, op);
	print(g, a, PREC_ATOM);
}

/* True if many elements are divided by the same value, so that its reciprocal pays off: quotient() in tpat_types.h. Not
 * for powers of two, where compilers multiply. */
static bool same_divisor(const struct gen_text *g, expr e)
{
	enum { MANY = 4 };
	int exponent, turns = 1;
	expr by = e->arg[1];
	if (!g->target->forms || e->op != IR_DIV || e->type != TYPE_F32)
		return false;
	if (by->op == IR_CONST_FLOAT)
		return fabs(frexp(by->f, &exponent)) != 0.5 && fabs(by->f) >= 0x1p-100 && fabs(by->f) <= 0x1p100;
	if (e->arg[0]->op == IR_CONST_FLOAT)
		return false;
	for (int d = gen_value_depth(g, by) + 1; d <= g->depth && turns < MANY; d++)
		turns *= g->turns[d];
	return turns >= MANY;
}

/* The least value that an f32 sum of nonnegative terms has, if it is a number; -1: something else. */
static double least_of(expr e)
{
	if (e->op == IR_CONST_FLOAT)
		return e->f >= 0 ? e->f : -1;
	if (e->op != IR_ADD)
		return e->op == IR_EXP || e->op == IR_ABS || e->op == IR_SQRT ? 0 : -1;
	double a = least_of(e->arg[0]), b = least_of(e->arg[1]);
	return a < 0 || b < 0 ? -1 : a + b;
}

/* True for 1 / x with x of at least 2^-126, as in a logistic function: reciprocal() in tpat_types.h. */
static bool reciprocal(const struct gen_text *g, expr e)
{
	return g->target->forms && e->op == IR_DIV && e->type == TYPE_F32 && e->arg[0]->op == IR_CONST_FLOAT &&
	       e->arg[0]->f == 1 && e->arg[1]->op == IR_ADD && least_of(e->arg[1]) >= 0x1p-126;
}

/* True for divisions in a gen_coarse kernel, except by powers of two, where compilers multiply. */
static bool coarse_division(const struct gen_text *g, expr e)
{
	return g->coarse && e->op == IR_DIV && e->type == TYPE_F32 &&
	       (e->arg[1]->op != IR_CONST_FLOAT || same_divisor(g, e));
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

bool gen_plain_division(expr e)
{
	int64_t d;
	bool constant = ir_const_int(e->arg[1], &d) && d > 0;
	if (e->op == IR_DIV || e->op == IR_REM)
		return constant;
	if (e->type == TYPE_INDEX) /* an extent: if it is zero, there is nothing to compute */
		return (constant || (!e->arg[1]->varies && ir_nonnegative(e->arg[1]))) && ir_nonnegative(e->arg[0]);
	return constant && type_info(e->type)->class == CLASS_UINT;
}

/* The divisor with its inverse, if the host passes that; else null. */
static const struct ir_variable *inverted_divisor(const struct gen_text *g, expr e)
{
	if (e->type != TYPE_INDEX || !gen_index32(g))
		return NULL;
	vec_each (x, &g->kernel->parameters)
		if (x->divisor == e->arg[1])
			return x->by;
	return NULL;
}

/* a / by, or floor_div(a, by) if a may be negative. */
static void print_inverted(struct gen_text *g, expr e, const struct ir_variable *by)
{
	bool divide = e->op == IR_FLOORDIV, plain = ir_nonnegative(e->arg[0]);
	if (!plain)
		str_printf(g->out, "%s(", gen_call_name(g, divide ? FN_FLOOR_DIV : FN_FLOOR_MOD, e->type, e->type));
	print(g, e->arg[0], plain ? PREC_MUL : 0);
	str_printf(g->out, plain ? divide ? " / %s" : " %% %s" : ", %s)", gen_name(g, by));
}

static void print_division(struct gen_text *g, expr e)
{
	const struct ir_variable *by = inverted_divisor(g, e);
	if (by) {
		print_inverted(g, e, by);
		return;
	}
	bool divide = e->op == IR_DIV || e->op == IR_FLOORDIV, floors = e->op == IR_FLOORDIV || e->op == IR_MOD;
	if (coarse_division(g, e) && e->arg[1]->op == IR_CONST_FLOAT) {
		print(g, e->arg[0], PREC_MUL);
		str_add(g->out, " * ");
		gen_float(g->out, (float)(1 / e->arg[1]->f), true);
	} else if (coarse_division(g, e) && e->arg[0]->op == IR_CONST_FLOAT && e->arg[0]->f == 1) {
		call_for(g, FN_ROUGH_RECIPROCAL, e->type, &e->arg[1]);
	} else if (coarse_division(g, e)) {
		call_of(g, same_divisor(g, e) ? FN_COARSE_QUOTIENT : FN_COARSE_DIVISION, e);
	} else if (reciprocal(g, e)) {
		call_for(g, FN_RECIPROCAL, e->type, &e->arg[1]);
	} else if (same_divisor(g, e)) {
		call_of(g, FN_QUOTIENT, e);
	} else if (type_is_float(e->type) && divide) {
		infix(g, e, "/", PREC_MUL);
	} else if (type_is_float(e->type)) {
		call_of(g, FN_FMOD, e);
	} else if (gen_plain_division(e)) {
		infix(g, e, divide ? "/" : "%", PREC_MUL);
	} else if (floors) {
		call_of(g, divide ? FN_FLOOR_DIV : FN_FLOOR_MOD, e);
	} else {
		call_of(g, divide ? FN_TRUNC_DIV : FN_TRUNC_REM, e);
	}
}

static int division_precedence(const struct gen_text *g, expr e)
{
	if (gen_gelu(g, e) || gen_erf_plus_one(g, e) || fused_product(g, e))
		return PREC_ATOM;
	if (coarse_division(g, e))
		return e->arg[1]->op == IR_CONST_FLOAT ? PREC_MUL : PREC_ATOM;
	bool is = e->op == IR_DIV || e->op == IR_REM || e->op == IR_FLOORDIV || e->op == IR_MOD;
	if (!is)
		return precedence(e);
	if (inverted_divisor(g, e))
		return ir_nonnegative(e->arg[0]) ? PREC_MUL : PREC_ATOM;
	bool infix_form = type_is_float(e->type) ? e->op == IR_DIV && !same_divisor(g, e) && !reciprocal(g, e)
	                                         : gen_plain_division(e);
	return infix_form ? PREC_MUL : PREC_ATOM;
}

static void print_element(struct gen_text *g, expr e)
{
	str_add(g->out, gen_name(g, e->var));
	for (int i = 0; i < e->n; i++) {
		str_add(g->out, "[");
		print(g, e->arg[i], 0);
		str_add(g->out, "]");
	}
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
	print(g, at, 0);
	str_printf(g->out, ", %s, %d, ", gen_name(g, elements), width);
	if (where)
		print(g, where, 0);
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
		print(g, e->arg[0], 0);
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
	print(g, e->arg[0], 0);
	str_add(g->out, "))");
}

/* "element >= 35" reads better than "35 <= element". */
static void print_less(struct gen_text *g, expr e)
{
	bool first = e->arg[0]->op == IR_VAR || e->arg[0]->op == IR_ELEMENT;
	if ((e->arg[1]->op != IR_VAR && e->arg[1]->op != IR_ELEMENT) || first) {
		infix(g, e, ir_op_info[e->op].ctext, PREC_LT);
		return;
	}
	print(g, e->arg[1], PREC_LT);
	str_add(g->out, e->op == IR_LT ? " > " : " >= ");
	print(g, e->arg[0], PREC_LT + 1);
}

static void print_select(struct gen_text *g, expr e)
{
	print(g, e->arg[0], PREC_OR);
	str_add(g->out, " ? ");
	print(g, e->arg[1], PREC_COND);
	str_add(g->out, " : ");
	print(g, e->arg[2], PREC_COND);
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
		print(g, e->arg[0], PREC_ATOM);
	else
		call_of(g, FN_ABS, e);
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
	case IR_ELEMENT: print_element(g, e); break;
	case IR_LOAD: print_load(g, e); break;
	case IR_CAST:
	case IR_CAST_SAT: print_cast(g, e); break;
	case IR_BITCAST: print_bitcast(g, e); break;
	case IR_DIV:
	case IR_REM:
	case IR_FLOORDIV:
	case IR_MOD: print_division(g, e); break;
	case IR_LT:
	case IR_LE: print_less(g, e); break;
	case IR_EQ: /* compilers want brackets around comparisons */
		print(g, e->arg[0], PREC_LT + 1);
		str_add(g->out, " == ");
		print(g, e->arg[1], PREC_LT + 1);
		break;
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
			infix(g, e, info->ctext, precedence(e));
		else
			call_math(g, info->ctext, e);
	}
}

/* Some sums and products have special functions. */
static void print_node(struct gen_text *g, expr e)
{
	expr erf_of = gen_erf_plus_one(g, e), gelu_of = gen_gelu(g, e), product = fused_product(g, e);
	if (gelu_of) {
		call_for(g, FN_GELU, e->type, &gelu_of);
	} else if (erf_of) {
		call_for(g, FN_ONE_PLUS_ERF, e->type, &erf_of);
	} else if (product) {
		const expr operands[] = { product->arg[0], product->arg[1], e->arg[e->arg[0] == product] };
		call_for(g, FN_FMA, e->type, operands);
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

static void print(struct gen_text *g, expr e, int outer)
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
	/* Compilers also want brackets around && inside ||. */
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

void gen_offset(struct gen_text *g, expr e)
{
	expr first = e;
	while ((first->op == IR_ADD || first->op == IR_SUB) && !gen_let(g, first))
		first = first->arg[0];
	print(g, e, first == e || ir_nonnegative(first) ? PREC_ADD : PREC_MUL);
}
