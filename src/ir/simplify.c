/* The constructors of operations: fold constants, drop neutral and absorbing operands, and decide comparisons by
 * bounds. Floats keep IEEE semantics: only rewrites that are exact for every value, NaN and -0 included. */
#include "ir/pool.h"

#include <math.h>
#include <string.h>

static expr unchanged(enum ir_op op, enum type t, expr a, expr b, expr c)
{
	return ir_node_op(op, t, c ? 3 : b ? 2 : 1, (expr[]){ a, b, c });
}

static bool is_const(expr e)
{
	return e->op == IR_CONST_INT || e->op == IR_CONST_FLOAT;
}

static bool is_float(expr e, double x)
{
	return e->op == IR_CONST_FLOAT && e->f == x;
}

static expr boolean(struct ir_pool *p, bool x)
{
	return ir_int(p, TYPE_BOOL, x);
}

static bool is_true(expr e)
{
	return e->op == IR_CONST_INT && e->type == TYPE_BOOL && e->i == 1;
}

static bool is_false(expr e)
{
	return e->op == IR_CONST_INT && e->type == TYPE_BOOL && e->i == 0;
}

static enum type result_type(enum ir_op op, expr a)
{
	switch (op) {
	case IR_EQ:
	case IR_LT:
	case IR_LE:
	case IR_AND:
	case IR_OR:
	case IR_NOT:
	case IR_ISNAN:
	case IR_ISINF: return TYPE_BOOL;
	default: return a->type;
	}
}

/* If e = max(x, 0) + log1p(u), u = exp(-abs(x)), which is log(1 + exp(x)): returns x. Otherwise null. */
static expr softplus_of(expr e)
{
	if (e->op != IR_ADD)
		return NULL;
	for (int i = 0; i < 2; i++) {
		expr most = e->arg[i], log = e->arg[1 - i];
		if (most->op != IR_MAX || log->op != IR_LOG1P || log->arg[0]->op != IR_EXP ||
		    log->arg[0]->arg[0]->op != IR_NEG || log->arg[0]->arg[0]->arg[0]->op != IR_ABS)
			continue;
		expr x = log->arg[0]->arg[0]->arg[0]->arg[0];
		for (int k = 0; k < 2; k++)
			if (most->arg[k] == x && most->arg[1 - k]->op == IR_CONST_FLOAT && most->arg[1 - k]->f == 0)
				return x;
	}
	return NULL;
}

/* tanh(log(1 + exp(x))), the factor of Mish, without logarithm and tanh: ((1 + e)^2 - 1) / ((1 + e)^2 + 1) for e =
 * exp(x), divided by e^2 where that is large. */
static expr tanh_of_softplus(expr x)
{
	struct ir_pool *p = x->pool;
	enum type t = x->type;
	expr one = ir_float(p, t, 1), two = ir_float(p, t, 2), less = ir_binary(IR_LT, x, ir_float(p, t, 0));
	expr u = ir_unary(IR_EXP, ir_unary(IR_NEG, ir_unary(IR_ABS, x))), twice = ir_binary(IR_MUL, two, u);
	expr above = ir_select(less, ir_binary(IR_MUL, u, ir_binary(IR_ADD, u, two)), ir_binary(IR_ADD, one, twice));
	return ir_binary(IR_DIV, above, ir_binary(IR_ADD, above, ir_select(less, two, ir_binary(IR_MUL, twice, u))));
}

expr ir_unary(enum ir_op op, expr a)
{
	enum type t = result_type(op, a);
	expr folded = ir_fold(a->pool, op, t, 1, &a);
	if (folded)
		return folded;
	if ((op == IR_NOT || op == IR_NEG || op == IR_BITNOT) && a->op == op)
		return a->arg[0];
	if (op == IR_NEG && t == TYPE_INDEX)
		return ir_binary(IR_SUB, ir_index(a->pool, 0), a);
	if (op == IR_ABS && t == TYPE_INDEX && ir_nonnegative(a))
		return a;
	expr x = op == IR_TANH ? softplus_of(a) : NULL;
	if (x)
		return tanh_of_softplus(x);
	if (op == IR_NOT && a->op == IR_LT && !type_is_float(a->arg[0]->type))
		return ir_binary(IR_LE, a->arg[1], a->arg[0]);
	if (op == IR_NOT && a->op == IR_LE && !type_is_float(a->arg[0]->type))
		return ir_binary(IR_LT, a->arg[1], a->arg[0]);
	return unchanged(op, t, a, NULL, NULL);
}

/* Returns x if e is min(K, x), compared with a constant below K, or max(K, x), with one above. Else returns e. */
static expr without_limit(expr e, expr constant)
{
	for (int i = 0; i < 2 && (e->op == IR_MIN || e->op == IR_MAX); i++) {
		expr limit = e->arg[i];
		if (limit->op == IR_CONST_INT && (e->op == IR_MIN ? constant->i < limit->i : constant->i > limit->i))
			return e->arg[!i];
	}
	return e;
}

/* True if `of` is a maximum with an element known to be at least e, or a minimum with one at most e. */
static bool has_beyond(expr of, expr e)
{
	for (int i = 0; i < 2 && (of->op == IR_MIN || of->op == IR_MAX); i++) {
		expr arg = of->arg[i];
		expr beyond = of->op == IR_MAX ? ir_binary(IR_SUB, arg, e) : ir_binary(IR_SUB, e, arg);
		if (arg == e || ir_nonnegative(beyond))
			return true;
	}
	return false;
}

static expr index_binary(enum ir_op op, expr a, expr b)
{
	struct ir_pool *p = a->pool;
	expr past;
	switch (op) {
	case IR_ADD:
	case IR_SUB:
	case IR_MUL: return ir_poly_binary(op, a, b);
	case IR_FLOORDIV: return ir_poly_floordiv(a, b);
	case IR_MOD: return ir_poly_mod(a, b);
	case IR_MIN:
	case IR_MAX:
		if (a == b)
			return a;
		if (ir_nonnegative(ir_binary(IR_SUB, b, a)))
			return op == IR_MIN ? a : b;
		if (ir_nonnegative(ir_binary(IR_SUB, a, b)))
			return op == IR_MIN ? b : a;
		if (b->op == (op == IR_MIN ? IR_MAX : IR_MIN) && has_beyond(b, a)) /* min(n - 1, max(0, n - 1)) */
			return a;
		if (a->op == (op == IR_MIN ? IR_MAX : IR_MIN) && has_beyond(a, b))
			return b;
		if (ir_order(a, b) > 0)
			return unchanged(op, TYPE_INDEX, b, a, NULL);
		break;
	case IR_EQ:
		if (a == b)
			return boolean(p, true);
		if (ir_less(a, b) || ir_less(b, a))
			return boolean(p, false);
		if (a->op == IR_CONST_INT && (past = without_limit(b, a)) != b)
			return ir_binary(IR_EQ, a, past);
		if (b->op == IR_CONST_INT && (past = without_limit(a, b)) != a)
			return ir_binary(IR_EQ, past, b);
		if (ir_order(a, b) > 0)
			return unchanged(op, TYPE_BOOL, b, a, NULL);
		break;
	case IR_LT:
		if (ir_less(a, b))
			return boolean(p, true);
		if (ir_nonnegative(ir_binary(IR_SUB, a, b)))
			return boolean(p, false);
		break;
	case IR_LE:
		if (ir_nonnegative(ir_binary(IR_SUB, b, a)))
			return boolean(p, true);
		if (ir_less(b, a))
			return boolean(p, false);
		break;
	default: break;
	}
	return unchanged(op, result_type(op, a), a, b, NULL);
}

static expr float_binary(enum ir_op op, enum type t, expr a, expr b)
{
	if (op == IR_SUB && is_float(b, 0) && !signbit(b->f))
		return a; /* x - 0 is always x; x + 0 is not if x is -0 */
	if (op == IR_ADD && is_float(b, 0) && signbit(b->f))
		return a;
	if ((op == IR_MUL || op == IR_DIV) && is_float(b, 1))
		return a;
	if (op == IR_MUL && is_float(a, 1))
		return b;
	if (op == IR_POW && is_float(b, 2))
		return ir_binary(IR_MUL, a, a);
	if (op == IR_POW && is_float(b, 1))
		return a;
	int exponent;
	if (op == IR_DIV && b->op == IR_CONST_FLOAT && isfinite(b->f) && fabs(frexp(b->f, &exponent)) == 0.5 &&
	    exponent > -60 && exponent < 60 && type_info(t)->bits >= 32) /* a power of two is exact */
		return ir_binary(IR_MUL, a, ir_float(a->pool, t, 1 / b->f));
	if ((op == IR_ADD || op == IR_MUL) && ir_order(a, b) > 0 && is_const(a))
		return unchanged(op, t, b, a, NULL);
	return unchanged(op, t, a, b, NULL);
}

static expr int_binary(enum ir_op op, enum type t, expr a, expr b)
{
	if ((op == IR_ADD || op == IR_SUB || op == IR_BITOR || op == IR_BITXOR || op == IR_SHL || op == IR_SHR) &&
	    ir_is_int(b, 0))
		return a;
	if ((op == IR_ADD || op == IR_BITOR || op == IR_BITXOR) && ir_is_int(a, 0))
		return b;
	if ((op == IR_MUL || op == IR_DIV || op == IR_FLOORDIV || op == IR_POW) && ir_is_int(b, 1))
		return a;
	if (op == IR_MUL && ir_is_int(a, 1))
		return b;
	if ((op == IR_MUL || op == IR_BITAND) && (ir_is_int(a, 0) || ir_is_int(b, 0)))
		return ir_int(a->pool, t, 0);
	if ((op == IR_MIN || op == IR_MAX || op == IR_BITAND || op == IR_BITOR) && a == b)
		return a;
	if (op == IR_POW && ir_is_int(b, 2))
		return ir_binary(IR_MUL, a, a);
	/* Bounds cover only index, so a nonnegative x is never known here. */
	return unchanged(op, result_type(op, a), a, b, NULL);
}

/* Simplifies x == c for a bool x cast to a number: x, not x, or false. Null for anything else. */
static expr bool_equals(expr a, expr b)
{
	int64_t c;
	if (a->op != IR_CAST && b->op == IR_CAST)
		return bool_equals(b, a);
	if (a->op != IR_CAST || a->arg[0]->type != TYPE_BOOL || !ir_const_int(b, &c))
		return NULL;
	return c == 0 ? ir_unary(IR_NOT, a->arg[0]) : c == 1 ? a->arg[0] : boolean(a->pool, false);
}

expr ir_binary(enum ir_op op, expr a, expr b)
{
	ck(a->type == b->type || op == IR_SHL || op == IR_SHR);
	enum type t = result_type(op, a);
	if (op == IR_AND || op == IR_OR) {
		if (op == IR_AND ? is_false(a) || is_true(b) : is_true(a) || is_false(b))
			return a;
		if (op == IR_AND ? is_true(a) : is_false(a))
			return b;
		/* A deciding second operand may replace the first as well: evaluating the first cannot fail. */
		if (op == IR_AND ? is_false(b) : is_true(b))
			return b;
		if (a == b)
			return a;
		return unchanged(op, t, a, b, NULL);
	}
	expr known = op == IR_EQ ? bool_equals(a, b) : NULL;
	if (known)
		return known;
	if (a->type == TYPE_INDEX)
		return index_binary(op, a, b);
	expr folded = ir_fold(a->pool, op, t, 2, (expr[]){ a, b });
	if (folded)
		return folded;
	if (type_is_float(a->type))
		return float_binary(op, t, a, b);
	if ((op == IR_EQ || op == IR_LE || op == IR_LT) && a == b)
		return boolean(a->pool, op != IR_LT);
	return int_binary(op, t, a, b);
}

struct replacement {
	expr symbol, by;
};

static expr replace_symbol(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct replacement *r = user;
	(void)pool;
	(void)arg;
	return e == r->symbol ? r->by : NULL;
}

/* True if the condition compares a symbol with a constant, and both expressions are equal where it holds. Shapes
 * of broadcast tensors contain "N == 1 ? 1 : N". */
static bool same_where(expr cond, expr a, expr b)
{
	if (a->type != TYPE_INDEX || cond->op != IR_EQ)
		return false;
	for (int i = 0; i < 2; i++) {
		struct replacement r = { cond->arg[i], cond->arg[!i] };
		if (r.symbol->op == IR_SYMBOL && r.by->op == IR_CONST_INT)
			return ir_copy(a->pool, a, replace_symbol, &r) == ir_copy(b->pool, b, replace_symbol, &r);
	}
	return false;
}

expr ir_select(expr cond, expr a, expr b)
{
	ck(cond->type == TYPE_BOOL && a->type == b->type);
	if (is_true(cond) || a == b)
		return a;
	if (is_false(cond))
		return b;
	if (cond->op == IR_NOT)
		return ir_select(cond->arg[0], b, a);
	if (a->type == TYPE_BOOL && is_true(a) && is_false(b))
		return cond;
	if (a->type == TYPE_BOOL && is_false(a) && is_true(b))
		return ir_unary(IR_NOT, cond);
	if (same_where(cond, a, b))
		return b;
	return unchanged(IR_SELECT, a->type, cond, a, b);
}

/* Every value of `from` is a value of `to`: the cast loses nothing. */
static bool widens(enum type from, enum type to)
{
	const struct type_info *f = type_info(from), *t = type_info(to);
	if (from == TYPE_INDEX || to == TYPE_INDEX)
		return false;
	if (f->class == CLASS_BOOL)
		return t->class == CLASS_INT || t->class == CLASS_UINT || (t->class == CLASS_FLOAT && t->bits >= 16);
	if (f->class == CLASS_FLOAT && t->class == CLASS_FLOAT)
		return to == TYPE_F64 || (to == TYPE_F32 && from != TYPE_F64);
	if (f->class == CLASS_UINT)
		return (t->class == CLASS_UINT && t->bits >= f->bits) || (t->class == CLASS_INT && t->bits > f->bits) ||
		       (to == TYPE_F32 && f->bits <= 16) || (to == TYPE_F64 && f->bits <= 32);
	if (f->class == CLASS_INT)
		return (t->class == CLASS_INT && t->bits >= f->bits) || (to == TYPE_F32 && f->bits <= 16) ||
		       (to == TYPE_F64 && f->bits <= 32);
	return false;
}

static bool is_int_class(enum type t)
{
	return t == TYPE_INDEX || type_is_int(t);
}

expr ir_cast(expr a, enum type to)
{
	if (a->type == to)
		return a;
	expr folded = ir_fold(a->pool, IR_CAST, to, 1, &a);
	if (folded)
		return folded;
	if (a->op == IR_CAST) {
		expr x = a->arg[0];
		/* The first cast is exact; but casts to integers saturate from floats and wrap from integers. */
		bool saturates = type_is_int(x->type) && type_is_float(a->type) && is_int_class(to);
		if (widens(x->type, a->type) && (!saturates || widens(x->type, to)))
			return ir_cast(x, to);
		if (is_int_class(x->type) && (a->type == TYPE_I64 || a->type == TYPE_INDEX) &&
		    (to == TYPE_INDEX || to == TYPE_I64))
			return ir_cast(x, to); /* index and i64 hold the same numbers */
		if (is_int_class(x->type) && is_int_class(a->type) && is_int_class(to) && a->type != TYPE_INDEX &&
		    type_info(a->type)->bits >= (to == TYPE_INDEX ? 64 : type_info(to)->bits))
			return ir_cast(x, to); /* wrapping twice equals wrapping to the narrower type */
	}
	return unchanged(IR_CAST, to, a, NULL, NULL);
}

expr ir_cast_sat(expr a, enum type to)
{
	if (a->type == to)
		return a;
	expr folded = ir_fold(a->pool, IR_CAST_SAT, to, 1, &a);
	return folded ? folded : unchanged(IR_CAST_SAT, to, a, NULL, NULL);
}

expr ir_bitcast(expr a, enum type to)
{
	return a->type == to ? a : unchanged(IR_BITCAST, to, a, NULL, NULL);
}

expr ir_rebuild(expr e, const expr *arg)
{
	switch (e->op) {
	case IR_CONST_INT:
	case IR_CONST_FLOAT:
	case IR_SYMBOL:
	case IR_ACC: return e;
	case IR_AXIS: return ir_axis(arg[0]->pool, (int)e->i, arg[0]);
	case IR_VAR: return e->n ? ir_var_multiple(e->var, arg[0], e->n == 2 ? e->arg[1]->i : 1) : e;
	case IR_ELEMENT: return ir_element_of(e->var, e->n, arg);
	case IR_LOAD: return e->n ? ir_load(arg[0]->pool, e->buf, arg) : e;
	case IR_SELECT: return ir_select(arg[0], arg[1], arg[2]);
	case IR_CAST: return ir_cast(arg[0], e->type);
	case IR_CAST_SAT: return ir_cast_sat(arg[0], e->type);
	case IR_BITCAST: return ir_bitcast(arg[0], e->type);
	default: return e->n == 1 ? ir_unary(e->op, arg[0]) : ir_binary(e->op, arg[0], arg[1]);
	}
}
