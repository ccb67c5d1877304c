/* FusedMatMul: y = alpha * a' b', where a' is a with its last two axes exchanged (transA), or with its first axis
 * moved after the batch axes (transBatchA), or both, in reverse order; likewise b'. FusedMatMulActivation: the same,
 * then an activation. GemmFastGelu: a b + bias, then Gelu by tanh.
 * Source: ONNX Runtime, com.microsoft.FusedMatMul (formerly TransposeMatMul), FusedMatMulActivation and GemmFastGelu.
 */
#include "ops/microsoft/fused.h"
#include "ops/lower/formulas.h"
#include "ops/lower/product.h"

/* perm[i]: the axis of v that is axis i of the operand as the product uses it. */
static struct value view(struct lower *l, struct value v, bool rows, bool batch, int *perm)
{
	struct ir_buffer *b = NEW(l->program->arena, struct ir_buffer);
	int rank = value_rank(v);

	*b = *v.buf;
	for (int i = 0; i < rank; i++)
		perm[i] = i;
	if (batch && rank > 2) {
		for (int i = 0; i + 2 < rank; i++)
			perm[i] = i + 1;
		perm[rank - 2] = 0;
	}
	if (rows && rank > 1) {
		int last = perm[rank - 1];

		perm[rank - 1] = perm[rank - 2];
		perm[rank - 2] = last;
	}
	for (int i = 0; i < rank; i++)
		b->dim[i] = value_dim(v, perm[i]);
	return (struct value){ .buf = b, .given = true, .pool = v.pool };
}

static expr element(struct value v, const int *perm, const expr *seen)
{
	expr index[IR_MAX_RANK];

	for (int i = 0; i < value_rank(v); i++)
		index[perm[i]] = seen[i];
	return wide(load(v, index));
}

static int multiply(struct lower *l, bool activated)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 1);
	int perm_a[IR_MAX_RANK], perm_b[IR_MAX_RANK];
	double alpha = lower_float(l, "alpha");
	struct product p;
	expr e, y;

	if (value_type(a) != value_type(b))
		return lower_fail(l, ERR_MODEL, "a is %s and b is %s; they must have one type.",
		                  type_name(value_type(a)), type_name(value_type(b)));
	TRY(product_space(l, view(l, a, lower_int(l, "transA") != 0, lower_int(l, "transBatchA") != 0, perm_a),
	                  view(l, b, lower_int(l, "transB") != 0, lower_int(l, "transBatchB") != 0, perm_b), &p));
	e = mul(element(a, perm_a, p.a), element(b, perm_b, p.b));
	y = acc(l, e->type);
	if (alpha != 1)
		y = mul(y, with(y, alpha));
	if (activated)
		TRY(fused_activation(l, y, &y));
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(a), &p.s, p.rank, IR_SUM, e, activated || alpha != 1 ? y : NULL));
	return 0;
}

static int lower(struct lower *l)
{
	return multiply(l, false);
}

static int activated_lower(struct lower *l)
{
	return multiply(l, true);
}

static int gelu_lower(struct lower *l)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 1), bias = lower_input(l, 2);
	struct product p;
	expr e, y;

	if (value_rank(b) != 2 || (bias.given && value_rank(bias) != 1))
		return lower_fail(l, ERR_MODEL, "the weights need two axes, and the bias one.");
	TRY(product_space(l, a, b, &p));
	e = mul(wide(load(a, p.a)), wide(load(b, p.b)));
	y = acc(l, e->type);
	if (bias.given)
		y = add(y, wide(load(bias, &p.column)));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(a), &p.s, p.rank, IR_SUM, e, gelu_tanh(y)));
	return 0;
}

/* clang-format off */
#define FUSED_ATTRS                                                                                                    \
	ATTR_FLOAT("alpha", 1, "factor of the product"), ATTR_INT("transA", 0, "a's last axes exchanged"),             \
	ATTR_INT("transB", 0, "b's last axes exchanged"),                                                              \
	ATTR_INT("transBatchA", 0, "a's first axis follows the batch"),                                              \
	ATTR_INT("transBatchB", 0, "b's first axis follows the batch")
#define ROW(op, ...)                                                                                                   \
	{ .name = op, .domain = "com.microsoft", .since = { 1 }, .formula = "y = alpha * a' b'",                       \
	  .inputs = { IN("a", TS_FLOAT), IN("b", TS_FLOAT) }, .outputs = { OUT("y") },                                 \
	  .attrs = { FUSED_ATTRS }, \
	  .lower = lower, .cases = { __VA_ARGS__ } }

const struct op_def ops_fused_matmul[] = {
	ROW("FusedMatMul", "a:f32[B,S,64] b:f32[B,33,64] transB=1 alpha=0.125",
	    "a:f16[S,B,64] b:f16[B,64,33] transBatchA=1"),
	ROW("TransposeMatMul", "a:f32[B,S,64] b:f32[B,33,64] transB=1 alpha=0.125"),
	{ .name = "FusedMatMulActivation", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = activation(alpha * a' b')",
	  .inputs = { IN("a", TS_FLOAT), IN("b", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { FUSED_ATTRS, ATTR("activation", OP_STRING, 0, "", "Relu, Tanh, Sigmoid, LeakyRelu ...", true),
		     ATTR_FLOAT("activation_alpha", 0, "first number of the activation"),
		     ATTR_FLOAT("activation_beta", 0, "second number of the activation"),
		     ATTR_FLOAT("activation_gamma", 0, "third number of the activation"),
		     ATTR_INT("activation_axis", 0, "has no effect: activations are of single elements") },
	  .lower = activated_lower, .cases = { "a:f32[B,S,64] b:f32[B,33,64] transB=1 alpha=0.125 activation=Relu" } },
	{ .name = "GemmFastGelu", .domain = "com.microsoft", .since = { 1 }, .formula = "y = gelu(x w + bias), by tanh",
	  .inputs = { IN("x", TS_FLOAT), IN("w", TS_FLOAT), OPT("bias", TS_FLOAT) }, .outputs = { OUT("y") },
	  .lower = gelu_lower, .cases = { "x:f16[B,S,64] w:f16[64,33] bias:f16[33]", "x:f32[M,33] w:f32[33,7]" } },
	{ .name = NULL },
};
/* clang-format on */
