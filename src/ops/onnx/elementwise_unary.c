/* Elementwise operators of one operand that are one mathematical function: y = f(x).
 * Source: ONNX, the operators of these names. Activations with attributes are in activation.c. */
#include "ops/lower/elementwise.h"

#define FUNCTION(fn, OP) \
	static expr fn(struct lower *l, const expr *x) \
	{ \
		(void)l; \
		return unary(OP, x[0]); \
	}

FUNCTION(neg_map, IR_NEG)
FUNCTION(ceil_map, IR_CEIL)
FUNCTION(floor_map, IR_FLOOR)
FUNCTION(round_map, IR_ROUND_EVEN)
FUNCTION(sqrt_map, IR_SQRT)
FUNCTION(exp_map, IR_EXP)
FUNCTION(log_map, IR_LOG)
FUNCTION(sin_map, IR_SIN)
FUNCTION(cos_map, IR_COS)
FUNCTION(tan_map, IR_TAN)
FUNCTION(asin_map, IR_ASIN)
FUNCTION(acos_map, IR_ACOS)
FUNCTION(atan_map, IR_ATAN)
FUNCTION(sinh_map, IR_SINH)
FUNCTION(cosh_map, IR_COSH)
FUNCTION(tanh_map, IR_TANH)
FUNCTION(asinh_map, IR_ASINH)
FUNCTION(acosh_map, IR_ACOSH)
FUNCTION(atanh_map, IR_ATANH)
FUNCTION(erf_map, IR_ERF)
FUNCTION(not_map, IR_NOT)
FUNCTION(bitnot_map, IR_BITNOT)
FUNCTION(isnan_map, IR_ISNAN)

static expr abs_map(struct lower *l, const expr *x)
{
	(void)l;
	return type_info(x[0]->type)->class == CLASS_UINT ? x[0] : unary(IR_ABS, x[0]);
}

/* Zero and NaN are their own sign. */
static expr sign_map(struct lower *l, const expr *x)
{
	expr zero = num(l, x[0]->type, 0), one = num(l, x[0]->type, 1);

	if (type_info(x[0]->type)->class == CLASS_UINT)
		return min_(x[0], one);
	return select_(gt(x[0], zero), one, select_(lt(x[0], zero), num(l, x[0]->type, -1), x[0]));
}

static expr reciprocal_map(struct lower *l, const expr *x)
{
	return divide(num(l, x[0]->type, 1), x[0]);
}

static expr isinf_map(struct lower *l, const expr *x)
{
	expr zero = num(l, x[0]->type, 0), is = unary(IR_ISINF, x[0]);
	bool negative = lower_int(l, "detect_negative"), positive = lower_int(l, "detect_positive");

	if (negative && positive)
		return is;
	if (!negative && !positive)
		return num(l, TYPE_BOOL, 0);
	return and_(is, negative ? lt(x[0], zero) : gt(x[0], zero));
}

/* clang-format off */
#define ROW(op, versions, text, types, fn)                                                                             \
	{ .name = op, .since = versions, .formula = text, .inputs = { IN("x", types) }, .outputs = { OUT("y") },       \
	  .attrs = { ATTR_CONSUMED }, .lower = elementwise_lower, .map = fn, .cases = { "x:f32[N,33]", "x:f16[4,N]" } }

const struct op_def ops_unary[] = {
	ROW("Ceil",       SINCE(1, 6, 13), "y = the least integer that is not below x", TS_FLOAT, ceil_map),
	ROW("Floor",      SINCE(1, 6, 13), "y = the greatest integer that is not above x", TS_FLOAT, floor_map),
	ROW("Round",      SINCE(11, 22),   "y = the nearest integer, of two the even one", TS_FLOAT, round_map),
	ROW("Reciprocal", SINCE(1, 6, 13), "y = 1 / x", TS_FLOAT, reciprocal_map),
	ROW("Sqrt",       SINCE(1, 6, 13), "y = sqrt(x)", TS_FLOAT, sqrt_map),
	ROW("Exp",        SINCE(1, 6, 13), "y = exp(x)", TS_FLOAT, exp_map),
	ROW("Log",        SINCE(1, 6, 13), "y = log(x)", TS_FLOAT, log_map),
	ROW("Sin",        SINCE(7, 22),    "y = sin(x)", TS_FLOAT, sin_map),
	ROW("Cos",        SINCE(7, 22),    "y = cos(x)", TS_FLOAT, cos_map),
	ROW("Tan",        SINCE(7, 22),    "y = tan(x)", TS_FLOAT, tan_map),
	ROW("Asin",       SINCE(7, 22),    "y = asin(x)", TS_FLOAT, asin_map),
	ROW("Acos",       SINCE(7, 22),    "y = acos(x)", TS_FLOAT, acos_map),
	ROW("Atan",       SINCE(7, 22),    "y = atan(x)", TS_FLOAT, atan_map),
	ROW("Sinh",       SINCE(9, 22),    "y = sinh(x)", TS_FLOAT, sinh_map),
	ROW("Cosh",       SINCE(9, 22),    "y = cosh(x)", TS_FLOAT, cosh_map),
	ROW("Tanh",       SINCE(1, 6, 13), "y = tanh(x)", TS_FLOAT, tanh_map),
	ROW("Asinh",      SINCE(9, 22),    "y = asinh(x)", TS_FLOAT, asinh_map),
	ROW("Acosh",      SINCE(9, 22),    "y = acosh(x)", TS_FLOAT, acosh_map),
	ROW("Atanh",      SINCE(9, 22),    "y = atanh(x)", TS_FLOAT, atanh_map),
	ROW("Erf",        SINCE(9, 13),    "y = erf(x)", TS_FLOAT, erf_map),
	ROW("Abs",        SINCE(1, 6, 13), "y = |x|", TS_NUMBER, abs_map),
	ROW("Neg",        SINCE(1, 6, 13), "y = -x", TS_FLOAT | TS_SINT, neg_map),
	ROW("Sign",       SINCE(9, 13),    "y = 1, 0 or -1 as x is above, at or below 0", TS_NUMBER, sign_map),

	{ .name = "Not", .since = { 1 }, .formula = "y = not x", .inputs = { IN("x", TS(BOOL)) },
	  .outputs = { OUT("y") }, .lower = elementwise_lower, .map = not_map, .cases = { "x:bool[N,33]" } },
	{ .name = "BitwiseNot", .since = { 18 }, .formula = "y = the bits of x, inverted",
	  .inputs = { IN("x", TS_INT) }, .outputs = { OUT("y") }, .lower = elementwise_lower, .map = bitnot_map,
	  .cases = { "x:u8[N,33]", "x:i32[N]" } },
	{ .name = "IsNaN", .since = { 9, 13, 20 }, .formula = "y = whether x is not a number",
	  .inputs = { IN("x", TS_FLOAT | TS_F8) }, .outputs = { OUT("y") }, .lower = elementwise_lower,
	  .map = isnan_map, .result = TYPE_BOOL, .cases = { "x:f32[N,33]", "x:f16[N]" } },
	{ .name = "IsInf", .since = { 10, 20 }, .formula = "y = whether x is infinite",
	  .inputs = { IN("x", TS_FLOAT | TS_F8) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_INT("detect_negative", 1, "minus infinity counts"),
		     ATTR_INT("detect_positive", 1, "plus infinity counts") },
	  .lower = elementwise_lower, .map = isinf_map, .result = TYPE_BOOL,
	  .cases = { "x:f32[N,33]", "x:f32[N] detect_negative=0" } },
	{ .name = NULL },
};
/* clang-format on */
