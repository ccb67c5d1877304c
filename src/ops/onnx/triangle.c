/* EyeLike: y[i,j] = 1 where j = i + k, else 0. Trilu: y = x on and above (or below) the diagonal j = i + k, else 0.
 * Source: ONNX, operators EyeLike (opset 9, 22), Trilu (14). */
#include "ops/lower/shared.h"

static int lower_eye_like(struct lower *l)
{
	struct value x = lower_input(l, 0);
	enum type t = lower_has(l, "dtype") ? (enum type)lower_int(l, "dtype") : value_type(x);
	struct space s;

	if (value_rank(x) != 2)
		return lower_fail(l, ERR_MODEL, "the input has rank %d; the operator takes matrices.", value_rank(x));
	if (t <= TYPE_NONE || t >= TYPE_COUNT || !(TS_PLAIN & 1u << t))
		return lower_fail(l, ERR_UNSUPPORTED, "the result's type (ONNX type %d) cannot be computed with.", t);
	s = space_of(l, x);
	lower_output(l, 0,
	             lower_map(l, NULL, t, &s,
	                       select_(eq(s.at[1], addi(s.at[0], lower_int(l, "k"))), num(l, t, 1), num(l, t, 0))));
	return 0;
}

const struct op_def op_eye_like = {
	.name = "EyeLike",
	.since = { 9, 22 },
	.formula = "y[i,j] = 1 where j = i + k, else 0",
	.inputs = { IN("input", TS_PLAIN) },
	.outputs = { OUT("output") },
	.attrs = { ATTR("dtype", OP_INT, 0, NULL, "element type of the result; without it the input's", false),
	           ATTR_INT("k", 0, "which diagonal: 0 the main one, above it positive") },
	.lower = lower_eye_like,
	.cases = { "input:f32[N,M]", "input:i32[4,5] k=-1 dtype=11" },
};

const struct op_def op_trilu = {
	.name = "Trilu",
	.since = { 14 },
	.formula = "y[i,j] = x[i,j] where j >= i + k (lower: j <= i + k), else 0",
	.inputs = { IN("input", TS_DATA), OPT("k", TS(I64)) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT("upper", 1, "1: what is above the diagonal stays; 0: what is below") },
	.lower = trilu_lower,
	.cases = { "input:f32[N,M,M]", "input:i64[4,5] k:i64[]={-1} upper=0" },
};
