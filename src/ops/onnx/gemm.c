/* Gemm: y[m, n] = alpha * sum over k of a'[m, k] * b'[k, n] + beta * c, where a' and b' are a and b or, with transA and
 * transB, their transposes, and c broadcasts to the result.
 * Source: ONNX, operator Gemm, opsets 1 to 13. c is optional since 11. */
#include "ops/lower/product.h"

static int lower(struct lower *l)
{
	return product_gemm(l, NULL);
}

const struct op_def op_gemm = {
	.name = "Gemm",
	.since = { 1, 6, 7, 9, 11, 13 },
	.formula = "y = alpha * a' b' + beta * c",
	.inputs = { IN("a", TS_WIDE), IN("b", TS_WIDE), OPT("c", TS_WIDE) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_FLOAT("alpha", 1, "factor of the product"), ATTR_FLOAT("beta", 1, "factor of c"),
	           ATTR_INT("transA", 0, "a is stored transposed"), ATTR_INT("transB", 0, "b is stored transposed"),
	           ATTR_INT("broadcast", 0, "before opset 7: broadcast c") },
	.lower = lower,
	.cases = { "a:f32[M,256] b:f32[128,256] c:f32[128] transB=1", "a:f16[64,M] b:f16[64,96] transA=1 alpha=0.5" },
};
