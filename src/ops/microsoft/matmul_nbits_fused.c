/* Products of one input, which may be normalised first, with several weights of few bits:
 *   x = a, or with norm_scale s / sqrt(mean of s^2 + epsilon) * norm_scale, s = a (+ skip); input_skip_bias_sum = s
 *   MatMulNBitsMlp: y = activation(x gate' + gate_bias) * (x up' + up_bias)
 *   MatMulNBitsQkv: q, k, v = x q_w' + q_bias, ...
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/formulas.h"
#include "ops/microsoft/matmul_nbits.h"

#include <string.h>

/* x, and the sum s as output `output`. */
static int normalised(struct lower *l, int output, struct value *x)
{
	struct value a = lower_input(l, 0), skip = lower_input(l, 1), scale = lower_input(l, 2), sum = a, inverse;
	struct space s = space_of(l, a);
	int last = s.rank - 1;
	enum type t = value_type(a);
	expr e, d, index[IR_MAX_RANK];

	*x = a;
	if (last < 0 || (scale.given && value_rank(scale) != 1) || (skip.given && value_rank(skip) != last + 1))
		return lower_fail(l, ERR_MODEL, "the input has %d axes; skip must have as many, and norm_scale one.",
		                  last + 1);
	if (skip.given && !scale.given)
		return lower_fail(l, ERR_MODEL, "skip is given without norm_scale.");
	if (skip.given)
		sum = lower_map(l, "input_skip_bias_sum", t, &s, add(wide(at(a, &s)), wide(at(skip, &s))));
	if (lower_wants(l, output))
		lower_output(l, output, sum);
	if (!scale.given)
		return 0;
	e = wide(load(sum, s.at));
	d = divide(acc(l, e->type), cast(s.dim[last], e->type));
	d = unary(IR_SQRT, add(d, with(d, lower_float(l, "epsilon"))));
	inverse = lower_reduce(l, "inverse", e->type, &s, last, IR_SUM, mul(e, e), divide(with(d, 1), d));
	memcpy(index, s.at, sizeof index);
	e = mul(mul(e, load(inverse, index)), wide(load(scale, &s.at[last])));
	*x = lower_map(l, "normalised", t, &s, e);
	return 0;
}

/* x times the matrix of inputs first (numbers), first + 1 (scales) and first + 2 (a bias), of `rows` rows. */
static int product(struct lower *l, struct value x, int first, const char *rows, const char *name, enum type t,
                   struct value *out)
{
	struct nbits p = { .bits = lower_int(l, "bits"),
		           .block = lower_int(l, "block_size"),
		           .rows = lower_int(l, rows),
		           .k = lower_int(l, "K"),
		           .b = lower_input(l, first),
		           .scale = lower_input(l, first + 1) };
	struct value bias = lower_input(l, first + 2);
	int rank = value_rank(x);
	enum type c = compute_type(value_type(x));
	expr index[IR_MAX_RANK], n, k, y = acc(l, c);
	struct space s = { 0 };
	int64_t inner;

	TRY(nbits_check(l, &p));
	if (ir_const_int(value_dim(x, rank - 1), &inner) && inner != p.k)
		return lower_fail(l, ERR_MODEL, "the last axis of the input does not have K = %lld elements.",
		                  (long long)p.k);
	for (int i = 0; i + 1 < rank; i++)
		index[i] = space_push(l, &s, value_dim(x, i));
	n = space_push(l, &s, idx(l, p.rows));
	k = index[rank - 1] = space_push(l, &s, idx(l, p.k));
	if (bias.given)
		y = add(y, cast(at_flat(bias, n), c));
	*out = lower_reduce(l, name, t, &s, rank, IR_SUM, mul(wide(load(x, index)), nbits_weight(l, &p, c, n, k)), y);
	return 0;
}

static expr activate(const char *name, expr x)
{
	if (!strcmp(name, "relu"))
		return max_(x, with(x, 0));
	if (!strcmp(name, "gelu"))
		return gelu(x);
	return silu(x, x);
}

static int mlp_lower(struct lower *l)
{
	enum type t = value_type(lower_input(l, 0));
	struct value x, gate, up;
	struct space s;

	TRY(normalised(l, 1, &x));
	TRY(product(l, x, 3, "N", "gate", t, &gate));
	TRY(product(l, x, 6, "N", "up", t, &up));
	s = space_of(l, gate);
	lower_output(l, 0,
	             lower_map(l, NULL, t, &s,
	                       mul(activate(lower_word(l, "activation"), wide(at(gate, &s))), wide(at(up, &s)))));
	return 0;
}

static int qkv_lower(struct lower *l)
{
	enum type t = value_type(lower_input(l, 0));
	struct value x, y;

	TRY(normalised(l, 3, &x));
	for (int i = 0; i < 3; i++) {
		TRY(product(l, x, 3 + 3 * i, i ? "Nkv" : "Nq", NULL, t, &y));
		lower_output(l, i, y);
	}
	return 0;
}

/* clang-format off */
#define NBITS_ATTRS                                                                                                    \
	ATTR_INT_REQUIRED("K", "columns of the weights"), ATTR_INT("bits", 4, "of a number: 2, 4 or 8"),               \
	ATTR_INT_REQUIRED("block_size", "numbers that share a scale"), ATTR_INT("accuracy_level", 0, "has no effect")
#define WEIGHTS(what) IN(what "_B", TS(U8)), IN(what "_scales", TS_FLOAT32), OPT(what "_bias", TS_FLOAT32)

const struct op_def ops_matmul_nbits_fused[] = {
	{ .name = "MatMulNBitsMlp", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = activation(x gate' + gate_bias) * (x up' + up_bias), x = a or its norm",
	  .inputs = { IN("A", TS_FLOAT32), OPT("skip", TS_FLOAT32), OPT("norm_scale", TS_FLOAT32), WEIGHTS("gate"),
		      WEIGHTS("up") },
	  .outputs = { OUT("Y"), OPTOUT("input_skip_bias_sum") },
	  .attrs = { NBITS_ATTRS, ATTR_INT_REQUIRED("N", "rows of both matrices"),
		     ATTR("activation", OP_STRING, 0, "silu|swish|gelu|relu", "of the gate", true),
		     ATTR_FLOAT("epsilon", 1e-5, "added to the mean of squares") },
	  .lower = mlp_lower,
	  .cases = { "A:f16[B,S,64] skip:f16[B,S,64] norm_scale:f16[64] gate_B:u8[33,2,16] gate_scales:f16[66] "
		     "up_B:u8[33,2,16] up_scales:f16[66] up_bias:f16[33] K=64 N=33 block_size=32 activation=silu "
		     "outputs=2" } },
	{ .name = "MatMulNBitsQkv", .domain = "com.microsoft", .since = { 1 },
	  .formula = "q, k, v = x q_w' + q_bias, x k_w' + k_bias, x v_w' + v_bias, x = norm of a",
	  .inputs = { IN("A", TS_FLOAT32), OPT("skip", TS_FLOAT32), IN("norm_scale", TS_FLOAT32), WEIGHTS("q"),
		      WEIGHTS("k"),
		      WEIGHTS("v") },
	  .outputs = { OUT("Q"), OUT("K"), OUT("V"), OPTOUT("input_skip_bias_sum") },
	  .attrs = { NBITS_ATTRS, ATTR_INT_REQUIRED("Nq", "rows of q's matrix"),
		     ATTR_INT_REQUIRED("Nkv", "rows of those of k and v"),
		     ATTR_FLOAT("epsilon", 1e-6, "added to the mean of squares") },
	  .lower = qkv_lower,
	  .cases = { "A:f32[B,33] norm_scale:f32[33] q_B:u8[6,3,8] q_scales:f32[18] k_B:u8[4,3,8] k_scales:f32[12] "
		     "v_B:u8[4,3,8] v_scales:f32[12] v_bias:f32[4] K=33 Nq=6 Nkv=4 block_size=16 outputs=3" } },
	{ .name = NULL },
};
/* clang-format on */
