/* Elementwise operators of two or more operands: arithmetic, comparison, logic, bits, selection.
 * Source: ONNX, the operators of these names; broadcasting as in NumPy, before opset 7 by `axis` and `broadcast`. */
#include "ops/lower/elementwise.h"

#include <string.h>

#define FUNCTION(fn, value) \
	static expr fn(struct lower *l, const expr *x) \
	{ \
		(void)l; \
		return value; \
	}

FUNCTION(add_map, add(x[0], x[1]))
FUNCTION(sub_map, sub(x[0], x[1]))
FUNCTION(mul_map, mul(x[0], x[1]))
FUNCTION(div_map, divide(x[0], x[1]))
FUNCTION(and_map, and_(x[0], x[1]))
FUNCTION(or_map, or_(x[0], x[1]))
FUNCTION(xor_map, ne(x[0], x[1]))
FUNCTION(bitand_map, ir_binary(IR_BITAND, x[0], x[1]))
FUNCTION(bitor_map, ir_binary(IR_BITOR, x[0], x[1]))
FUNCTION(bitxor_map, ir_binary(IR_BITXOR, x[0], x[1]))
FUNCTION(equal_map, eq(x[0], x[1]))
FUNCTION(greater_map, gt(x[0], x[1]))
FUNCTION(less_map, lt(x[0], x[1]))
FUNCTION(greater_equal_map, ge(x[0], x[1]))
FUNCTION(less_equal_map, le(x[0], x[1]))

/* True if the exponent's type, or the exponent itself if constant, fits into floats of type t. */
static bool exponent_fits(expr y, enum type t)
{
	enum type from = y->type;

	if (t == TYPE_F64 || from == t || type_info(from)->bits < (type_is_float(from) ? 64 : 32))
		return true;
	if (y->op == IR_CONST_FLOAT)
		return (double)(float)y->f == y->f;
	return y->op == IR_CONST_INT && y->i >= -(1 << 24) && y->i <= 1 << 24;
}

/* z = x ^ y in x's type, whatever y's type is. An integer to the power of a float is computed in f64, as NumPy does; so
 * is a float to an exponent that its own type would round: odd numbers beyond 2^24 would be even. */
static expr pow_map(struct lower *l, const expr *x)
{
	(void)l;
	if (type_is_float(x[0]->type) ? !exponent_fits(x[1], x[0]->type) : type_is_float(x[1]->type))
		return cast(pow_(cast(x[0], TYPE_F64), cast(x[1], TYPE_F64)), x[0]->type);
	return pow_(x[0], cast(x[1], x[0]->type));
}

/* fmod 1: the sign of a. fmod 0: the sign of b, of floats too (opset 28), where a zero also takes it. */
static expr mod_map(struct lower *l, const expr *x)
{
	expr rest, zero = num(l, x[0]->type, 0);

	if (lower_int(l, "fmod"))
		return rem_(x[0], x[1]);
	if (!type_is_float(x[0]->type))
		return mod(x[0], x[1]);
	rest = rem_(x[0], x[1]);
	return select_(eq(rest, zero), select_(lt(x[1], zero), num(l, x[0]->type, -0.0), zero),
	               select_(ne(lt(rest, zero), lt(x[1], zero)), add(rest, x[1]), rest));
}

/* Amounts of the width or more, and negative ones, leave nothing but the sign. */
static expr shift_map(struct lower *l, const expr *x)
{
	bool right = !strcmp(lower_word(l, "direction"), "RIGHT"), is_signed = type_is_signed(value_type(l->input[1]));
	int most = type_info(x[0]->type)->bits - 1;
	expr y = x[1], negative = lt(y, num(l, y->type, 0));

	if (!right)
		return is_signed ? select_(negative, num(l, y->type, 0), ir_binary(IR_SHL, x[0], y))
		                 : ir_binary(IR_SHL, x[0], y);
	if (is_signed)
		y = select_(negative, num(l, y->type, most), min_(y, num(l, y->type, most)));
	return ir_binary(IR_SHR, x[0], y);
}

static expr fold(struct lower *l, const expr *x, expr (*combine)(expr, expr))
{
	expr y = x[0];

	for (int i = 1; i < l->inputs; i++)
		y = combine(y, x[i]);
	return y;
}

static expr min_map(struct lower *l, const expr *x)
{
	return fold(l, x, min_);
}

static expr max_map(struct lower *l, const expr *x)
{
	return fold(l, x, max_);
}

static expr sum_map(struct lower *l, const expr *x)
{
	return fold(l, x, add);
}

static expr mean_map(struct lower *l, const expr *x)
{
	return divide(fold(l, x, add), num(l, x[0]->type, l->inputs));
}

/* y = condition ? x : y, in the type as it is: nothing is computed. */
static int where_lower(struct lower *l)
{
	struct space s;
	expr c;

	TRY(elementwise_check_types(l));
	TRY(space_broadcast(l, &s, 3, l->input));
	c = at(l->input[0], &s);
	lower_output(
	        l, 0,
	        lower_map(l, NULL, value_type(l->input[1]), &s, select_(c, at(l->input[1], &s), at(l->input[2], &s))));
	return 0;
}

/* clang-format off */
#define ROW(op, versions, text, types, fn, ...)                                                                        \
	{ .name = op, .since = versions, .formula = text, .inputs = { IN("a", types), IN("b", types) },                \
	  .outputs = { OUT("c") }, .attrs = { ATTR_OLD_BROADCAST, ATTR_CONSUMED }, .lower = elementwise_lower,         \
	  .map = fn, .cases = { __VA_ARGS__ } }
#define COMPARE(op, versions, text, types, fn)                                                                         \
	{ .name = op, .since = versions, .formula = text, .inputs = { IN("a", types), IN("b", types) },                \
	  .outputs = { OUT("c") }, .attrs = { ATTR_OLD_BROADCAST }, .lower = elementwise_lower, .map = fn,             \
	  .result = TYPE_BOOL, .cases = { "a:f32[N,33] b:f32[33]", "a:i64[N,M] b:i64[M]" } }
#define VARIADIC(op, versions, text, types, fn)                                                                        \
	{ .name = op, .since = versions, .formula = text, .inputs = { MANY("data", types) }, .outputs = { OUT("y") },  \
	  .attrs = { ATTR_CONSUMED }, .lower = elementwise_lower, .map = fn,                                           \
	  .cases = { "data_0:f32[N,33] data_1:f32[33] data_2:f32[N,1]", "data_0:f16[N,8]" } }

const struct op_def ops_binary[] = {
	ROW("Add", SINCE(1, 6, 7, 13, 14), "c = a + b", TS_NUMBER, add_map, "a:f32[N,33] b:f32[33]",
	    "a:f16[N,M] b:f16[N,M]"),
	ROW("Sub", SINCE(1, 6, 7, 13, 14), "c = a - b", TS_NUMBER, sub_map, "a:f32[N,33] b:f32[33]", "a:u8[N] b:u8[N]"),
	ROW("Mul", SINCE(1, 6, 7, 13, 14), "c = a * b", TS_NUMBER, mul_map, "a:f32[N,33] b:f32[33]",
	    "a:f16[N,M] b:f16[N,1]"),
	ROW("Div", SINCE(1, 6, 7, 13, 14), "c = a / b, integers toward zero", TS_NUMBER, div_map,
	    "a:f32[N,33] b:f32[33]",
	    "a:i32[N] b:i32[N]"),
	ROW("And", SINCE(1, 7), "c = a and b", TS(BOOL), and_map, "a:bool[N,33] b:bool[33]"),
	ROW("Or",  SINCE(1, 7), "c = a or b", TS(BOOL), or_map, "a:bool[N,33] b:bool[33]"),
	ROW("Xor", SINCE(1, 7), "c = a or b, not both", TS(BOOL), xor_map, "a:bool[N,33] b:bool[33]"),
	ROW("BitwiseAnd", SINCE(18), "c = the bits set in a and b", TS_INT, bitand_map, "a:i32[N,33] b:i32[33]"),
	ROW("BitwiseOr",  SINCE(18), "c = the bits set in a or b", TS_INT, bitor_map, "a:u8[N,33] b:u8[33]"),
	ROW("BitwiseXor", SINCE(18), "c = the bits set in one of a and b", TS_INT, bitxor_map, "a:i64[N,33] b:i64[33]"),

	COMPARE("Equal",          SINCE(1, 7, 11, 13, 19), "c = a == b", TS_PLAIN, equal_map),
	COMPARE("Greater",        SINCE(1, 7, 9, 13),      "c = a > b",  TS_NUMBER, greater_map),
	COMPARE("Less",           SINCE(1, 7, 9, 13),      "c = a < b",  TS_NUMBER, less_map),
	COMPARE("GreaterOrEqual", SINCE(12, 16),           "c = a >= b", TS_NUMBER, greater_equal_map),
	COMPARE("LessOrEqual",    SINCE(12, 16),           "c = a <= b", TS_NUMBER, less_equal_map),

	VARIADIC("Min",  SINCE(1, 6, 8, 12, 13), "y = the least of the inputs, NaN if one is", TS_NUMBER, min_map),
	VARIADIC("Max",  SINCE(1, 6, 8, 12, 13), "y = the greatest of the inputs, NaN if one is", TS_NUMBER, max_map),
	VARIADIC("Sum",  SINCE(1, 6, 8, 13),     "y = the sum of the inputs", TS_FLOAT, sum_map),
	VARIADIC("Mean", SINCE(1, 6, 8, 13),     "y = the mean of the inputs", TS_FLOAT, mean_map),

	{ .name = "Pow", .since = { 1, 7, 12, 13, 15 }, .formula = "z = x ^ y, in x's type",
	  .inputs = { IN("x", TS_FLOAT | TS(I32) | TS(I64)), IN("y", TS_NUMBER) }, .outputs = { OUT("z") },
	  .attrs = { ATTR_OLD_BROADCAST }, .lower = elementwise_lower, .map = pow_map,
	  .cases = { "x:f32[N,33] y:f32[33]", "x:i32[N] y:i32[1]", "x:f16[N] y:i64[]",
		     "x:f32[3] y:i32[3]={16777217,-16777217,3}",
	             "x:f32[N] y:f64[]", "x:f32[N] y:i64[]={2}" } },
	{ .name = "Mod", .since = { 10, 13, 28 },
	  .formula = "c = a - floor(a / b) * b; with fmod=1: a - trunc(a / b) * b",
	  .inputs = { IN("a", TS_NUMBER), IN("b", TS_NUMBER) }, .outputs = { OUT("c") },
	  .attrs = { ATTR_INT("fmod", 0, "1: the result has the sign of a, not of b") },
	  .lower = elementwise_lower, .map = mod_map,
	  .cases = { "a:i32[N,33] b:i32[33]", "a:f32[N] b:f32[N] fmod=1" } },
	{ .name = "BitShift", .since = { 11, 28 }, .formula = "z = x shifted by y bits",
	  .inputs = { IN("x", TS_INT), IN("y", TS_INT) }, .outputs = { OUT("z") },
	  .attrs = { ATTR("direction", OP_STRING, 0, "LEFT|RIGHT", "to the higher or the lower bits", true) },
	  .lower = elementwise_lower, .map = shift_map,
	  .cases = { "x:u8[N,33] y:u8[33] direction=LEFT", "x:u32[N] y:u32[N] direction=RIGHT" } },
	{ .name = "Where", .since = { 9, 16 }, .formula = "output = condition ? x : y",
	  .inputs = { IN("condition", TS(BOOL)), IN("x", TS_PLAIN), IN("y", TS_PLAIN) }, .outputs = { OUT("output") },
	  .lower = where_lower,
	  .cases = { "condition:bool[N,33] x:f32[33] y:f32[N,1]", "condition:bool[N] x:i64[N] y:i64[]" } },
	{ .name = NULL },
};
/* clang-format on */
