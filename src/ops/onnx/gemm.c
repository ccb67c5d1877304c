/* Gemm: y[m, n] = alpha * sum over k of a'[m, k] * b'[k, n] + beta * c, where a' and b' are a and b or, with transA and
 * transB, their transposes, and c broadcasts to the result.
 * Source: ONNX, operator Gemm, opsets 1 to 13. c is optional since 11. */
#include "ops/lower/fused.h"

/* A factor attribute times x; of integers the factor must be whole. */
static int scaled(struct lower *l, const char *attr, expr x, expr *out)
{
	double factor = lower_float(l, attr);

	if (type_is_int(x->type) && factor != (double)(int64_t)factor)
		return lower_fail(l, ERR_UNSUPPORTED, "%s is %g; of integers it must be a whole number.", attr, factor);
	*out = factor == 1 ? x : mul(x, with(x, factor));
	return 0;
}

int gemm_fused(struct lower *l, fused_finish finish)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 1), c = lower_input(l, 2);
	bool ta = lower_int(l, "transA") != 0, tb = lower_int(l, "transB") != 0;
	struct space s = { 0 };
	expr m, n, k, sum, post;

	if (value_rank(a) != 2 || value_rank(b) != 2)
		return lower_fail(l, ERR_MODEL, "a and b have %d and %d axes; both must have two.", value_rank(a),
		                  value_rank(b));
	if (c.given && value_rank(c) > 2)
		return lower_fail(l, ERR_MODEL, "c has %d axes; it can have at most two.", value_rank(c));
	if (value_type(a) != value_type(b) || (c.given && value_type(c) != value_type(a)))
		return lower_fail(l, ERR_MODEL, "a, b and c must have one type.");
	TRY(lower_same(l, a, !ta, b, tb, &k));
	m = space_push(l, &s, value_dim(a, ta));
	n = space_push(l, &s, value_dim(b, !tb));
	post = acc(l, accumulator_type(value_type(a)));
	TRY(scaled(l, "alpha", post, &post));
	if (c.given) {
		expr e;

		TRY(scaled(l, "beta", wide(at(c, &s)), &e));
		post = add(post, e);
	}
	if (finish)
		TRY(finish(l, &s, post, &post));
	k = space_push(l, &s, k);
	sum = mul(wide(ta ? load_list(a, 2, k, m) : load_list(a, 2, m, k)),
	          wide(tb ? load_list(b, 2, n, k) : load_list(b, 2, k, n)));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(a), &s, 2, IR_SUM, sum, post));
	return 0;
}

static int lower(struct lower *l)
{
	return gemm_fused(l, NULL);
}

#define TYPES (TS_FLOAT | TS(I32) | TS(I64) | TS(U32) | TS(U64))

const struct op_def op_gemm = {
	.name = "Gemm",
	.since = { 1, 6, 7, 9, 11, 13 },
	.formula = "y = alpha * a' b' + beta * c",
	.inputs = { IN("a", TYPES), IN("b", TYPES), OPT("c", TYPES) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_FLOAT("alpha", 1, "factor of the product"), ATTR_FLOAT("beta", 1, "factor of c"),
	           ATTR_INT("transA", 0, "a is stored transposed"), ATTR_INT("transB", 0, "b is stored transposed"),
	           ATTR_INT("broadcast", 0, "before opset 7: broadcast c") },
	.lower = lower,
	.cases = { "a:f32[M,256] b:f32[128,256] c:f32[128] transB=1", "a:f16[64,M] b:f16[64,96] transA=1 alpha=0.5" },
};
