/* MoE, a mixture of experts. A softmax over each token's router scores gives shares p; the k largest choose experts,
 * of two layers each, and weigh their results:
 *   y = sum over the chosen e of p[e] (activation(x fc1[e]' + b1[e]) fc2[e]' + b2[e])
 * If fc3 is given, the first factor is multiplied by x fc3[e]' + b3[e]. With normalize_routing_weights p is divided by
 * the sum of the chosen ones.
 * Activation swiglu: g sigmoid(alpha g) (l + beta), with g at most and |l| at most swiglu_limit. g and l are fc1 and
 * fc3; or both in fc1, alternating with swiglu_fusion 1, in halves with 2. gelu is the form with tanh.
 * QMoE has matrices of integers of 2, 4 or 8 bits, packed low bits first along a row, with a scale and a zero point
 * (default 2^(bits - 1)) for each row, or for each block of block_size numbers of it. If its router_weights are given,
 * they are the shares, and router_probs only choose; otherwise shares always add up to 1, as in ONNX Runtime's CPU
 * version.
 * Source: ONNX Runtime, com.microsoft.MoE and QMoE. */
#include "ops/lower/formulas.h"
#include "ops/microsoft/packed_bytes.h"

#include <math.h>
#include <string.h>

/* A matrix of each expert: [e, rows, columns]. */
struct matrices {
	struct value w, bias, scale, zero;
	expr rows, columns;
	int64_t bits, block; /* 0: floats; 0: no blocks */
};

struct experts {
	struct value x, scores;    /* [.., d], [tokens, e] */
	struct value which, share; /* [tokens, k]: the expert, and its weight */
	expr tokens, width;
	int64_t k;
	enum type c, t;
};

static bool is_quantised(struct lower *l)
{
	return !strcmp(l->op->name, "QMoE");
}

static int read_experts(struct lower *l, struct experts *m)
{
	int rank;
	int64_t n;

	*m = (struct experts){ .x = lower_input(l, 0),
		               .scores = lower_input(l, 1),
		               .k = lower_int(l, "k"),
		               .t = value_type(lower_input(l, 0)) };
	m->c = compute_type(m->t);
	rank = value_rank(m->x);
	if (rank < 2 || rank > 3 || value_rank(m->scores) != 2)
		return lower_fail(l, ERR_MODEL, "the input has %d axes, and router_probs %d.", rank,
		                  value_rank(m->scores));
	if (lower_int(l, "use_sparse_mixer"))
		return lower_fail(l, ERR_UNSUPPORTED, "use_sparse_mixer is not supported.");
	if (m->k < 1 || (ir_const_int(value_dim(m->scores, 1), &n) && m->k > n))
		return lower_fail(l, ERR_MODEL, "k is %lld.", (long long)m->k);
	m->width = value_dim(m->x, rank - 1);
	m->tokens = value_dim(m->scores, 0);
	if (is_quantised(l) && lower_input(l, 14).given)
		for (int i = 0; i < 2; i++)
			TRY(lower_equal(l, lower_input(l, 14), i, m->scores, i));
	TRY(lower_demand_extent(l, IR_AT_MOST, idx(l, m->k), m->scores, 1));
	return lower_demand_extent(
	        l, IR_SAME, rank == 3 ? mul(value_dim(m->x, 0), value_dim(m->x, 1)) : value_dim(m->x, 0), m->scores, 0);
}

/* Chooses the experts of each token, and their weights. */
static void choose(struct lower *l, struct experts *m)
{
	struct space s = space_of(l, m->scores), some;
	struct value top, total, sum;
	expr e, at[2], expert;

	top = lower_reduce(l, "largest", m->c, &s, 1, IR_MAXIMUM, wide(load(m->scores, s.at)), NULL);
	e = unary(IR_EXP, sub(wide(load(m->scores, s.at)), load(top, s.at)));
	total = lower_reduce(l, "total", m->c, &s, 1, IR_SUM, e, NULL);
	some = space_new(l, 2, (expr[]){ m->tokens, idx(l, m->k) });
	at[0] = some.at[0];
	expert = at[1] = space_push(l, &some, value_dim(m->scores, 1));
	m->which = lower_sort(l, "which", TYPE_I32, &some, 1, true, wide(load(m->scores, at)));
	some = space_new(l, 2, (expr[]){ m->tokens, idx(l, m->k) });
	expert = cast(load(m->which, some.at), TYPE_INDEX);
	at[1] = clamp(expert, idx(l, 0), addi(value_dim(m->scores, 1), -1));
	e = unary(IR_EXP, sub(wide(load(m->scores, at)), load(top, some.at)));
	e = divide(e, load(total, some.at));
	if (is_quantised(l) && lower_input(l, 14).given)
		e = wide(load(lower_input(l, 14), at));
	m->share = lower_map(l, "share", m->c, &some, e);
	if (!lower_int(l, "normalize_routing_weights") && (!is_quantised(l) || lower_input(l, 14).given))
		return;
	sum = lower_reduce(l, "shares", m->c, &some, 1, IR_SUM, load(m->share, some.at), NULL);
	m->share = lower_map(l, "share_of_chosen", m->c, &some, divide(load(m->share, some.at), load(sum, some.at)));
}

static expr expert_at(const struct experts *m, const expr *at)
{
	expr last = addi(value_dim(m->scores, 1), -1);

	return clamp(cast(load(m->which, at), TYPE_INDEX), with(last, 0), last);
}

/* ---- Matrices --------------------------------------------------------------------------------------------------- */

/* Number i of a row of packed bytes; index: the byte's place, without the last axis. */
static expr unpacked(struct value bytes, int rank, const expr *index, expr i, int64_t bits)
{
	expr at[3];

	memcpy(at, index, sizeof *at * (size_t)(rank - 1));
	at[rank - 1] = floordiv(i, packed_a_byte(i, bits));
	return packed_number(cast(load(bytes, at), TYPE_I32), i, bits);
}

static expr weight(const struct matrices *w, enum type c, expr e, expr row, expr column)
{
	expr index[3] = { e, row, column }, x, zero;

	if (!w->bits)
		return wide(load(w->w, index));
	x = cast(unpacked(w->w, 3, index, column, w->bits), c);
	zero = with(x, (double)(1 << (w->bits - 1)));
	if (w->block)
		index[2] = floordiv(column, with(column, (double)w->block));
	if (w->zero.given)
		zero = cast(unpacked(w->zero, w->block ? 3 : 2, index, w->block ? index[2] : row, w->bits), c);
	return mul(sub(x, zero), cast(load(w->scale, index), c));
}

/* Checks that each expert has a matrix, and each row its scale, zero point and bias. */
static int check_matrices(struct lower *l, const struct experts *m, const struct matrices *w)
{
	expr blocks = w->block ? ceildiv(w->columns, idx(l, w->block)) : NULL;

	TRY(lower_equal(l, w->w, 0, m->scores, 1));
	if (w->bias.given) {
		TRY(lower_equal(l, w->bias, 0, m->scores, 1));
		TRY(lower_equal(l, w->bias, 1, w->w, 1));
	}
	if (w->scale.given) {
		TRY(lower_equal(l, w->scale, 0, m->scores, 1));
		TRY(lower_equal(l, w->scale, 1, w->w, 1));
		if (blocks)
			TRY(lower_demand_extent(l, IR_AT_MOST, blocks, w->scale, 2));
	}
	if (!w->zero.given)
		return 0;
	TRY(lower_equal(l, w->zero, 0, m->scores, 1));
	if (!blocks)
		return lower_demand_extent(l, IR_AT_MOST, ceildiv(muli(w->rows, w->bits), idx(l, 8)), w->zero, 1);
	TRY(lower_equal(l, w->zero, 1, w->w, 1));
	return lower_demand_extent(l, IR_AT_MOST, ceildiv(muli(blocks, w->bits), idx(l, 8)), w->zero, 2);
}

/* Reads matrix number i, from 0 on. */
static int read_matrices(struct lower *l, int i, const struct experts *m, struct matrices *w)
{
	static const char *const bits[] = { "fc1_expert_weight_bits", "fc2_expert_weight_bits",
		                            "fc3_expert_weight_bits" };
	bool q = is_quantised(l);
	int first = q ? 2 + 3 * i : 2 + 2 * i;

	*w = (struct matrices){ .w = lower_input(l, first), .bias = lower_input(l, first + (q ? 2 : 1)) };
	if (q) {
		w->scale = lower_input(l, first + 1);
		w->zero = lower_input(l, 11 + i);
		w->bits = lower_int(l, lower_has(l, bits[i]) ? bits[i] : "expert_weight_bits");
		w->block = lower_int(l, "block_size") > 0 ? lower_int(l, "block_size") : 0;
		if (w->bits != 2 && w->bits != 4 && w->bits != 8)
			return lower_fail(l, ERR_UNSUPPORTED, "weights of %lld bits are not supported.",
			                  (long long)w->bits);
		if (!w->scale.given || value_rank(w->scale) != (w->block ? 3 : 2) ||
		    (w->zero.given && value_rank(w->zero) != (w->block ? 3 : 2)))
			return lower_fail(l, ERR_MODEL, "scales and zero points need %d axes.", w->block ? 3 : 2);
	}
	if (value_rank(w->w) != 3 || (w->bias.given && value_rank(w->bias) != 2))
		return lower_fail(l, ERR_MODEL, "the experts' matrices need three axes, and biases two.");
	w->rows = value_dim(w->w, 1);
	w->columns = muli(value_dim(w->w, 2), q ? 8 / w->bits : 1);
	return check_matrices(l, m, w);
}

/* [tokens, k, rows]: of each token and expert `from` (x, or [tokens, k, columns]) times the expert's matrix. */
static int layer(struct lower *l, const char *name, const struct experts *m, struct value from, int matrix,
                 struct value *out)
{
	struct matrices w;
	struct space s;
	expr e, i, x, y = acc(l, m->c);

	TRY(read_matrices(l, matrix, m, &w));
	TRY(lower_demand_extent(l, IR_SAME, w.columns, from, value_rank(from) - 1));
	s = space_new(l, 3, (expr[]){ m->tokens, idx(l, m->k), w.rows });
	e = expert_at(m, s.at);
	if (w.bias.given)
		y = add(y, wide(load_list(w.bias, 2, e, s.at[2])));
	i = space_push(l, &s, w.columns);
	x = from.buf == m->x.buf ? at_flat(from, add(mul(s.at[0], m->width), i))
	                         : load_list(from, 3, s.at[0], s.at[1], i);
	*out = lower_reduce(l, name, m->c, &s, 3, IR_SUM, mul(wide(x), weight(&w, m->c, e, s.at[2], i)), y);
	return 0;
}

static expr activate(struct lower *l, expr x)
{
	const char *name = lower_word(l, "activation_type");

	if (!strcmp(name, "relu"))
		return max_(x, with(x, 0));
	if (!strcmp(name, "silu"))
		return mul(x, sigmoid(x));
	if (!strcmp(name, "gelu"))
		return gelu_tanh(x);
	return x;
}

static expr swiglu(struct lower *l, expr g, expr x)
{
	double limit = lower_has(l, "swiglu_limit") ? lower_float(l, "swiglu_limit") : (double)INFINITY;

	if (isfinite(limit)) {
		g = min_(g, with(g, limit));
		x = clamp(x, with(x, -limit), with(x, limit));
	}
	return mul(mul(g, sigmoid(mul(with(g, lower_float(l, "activation_alpha")), g))),
	           add(x, with(x, lower_float(l, "activation_beta"))));
}

/* *out is [tokens, k, inner], the result of the first layers. */
static int first_layers(struct lower *l, const struct experts *m, struct value *out)
{
	int64_t fusion = lower_int(l, "swiglu_fusion");
	bool glu = !strcmp(lower_word(l, "activation_type"), "swiglu"),
	     third = lower_input(l, is_quantised(l) ? 8 : 6).given;
	struct value one, three = { 0 };
	struct space s;
	expr e, g, x, half, i;

	if (fusion < 0 || fusion > 2 || (glu && !third && !fusion) || (third && fusion))
		return lower_fail(l, ERR_MODEL, "swiglu_fusion is %lld%s.", (long long)fusion,
		                  third ? ", and there is a third matrix" : "");
	TRY(layer(l, "first", m, m->x, 0, &one));
	if (third)
		TRY(layer(l, "third", m, m->x, 2, &three));
	s = space_of(l, one);
	if (!glu || !fusion) {
		e = load(one, s.at);
		x = third ? load(three, s.at) : NULL;
		e = glu ? swiglu(l, e, x) : third ? mul(activate(l, e), x) : activate(l, e);
		*out = lower_map(l, "inner", m->c, &s, e);
		return 0;
	}
	half = floordiv(value_dim(one, 2), idx(l, 2));
	s = space_new(l, 3, (expr[]){ m->tokens, idx(l, m->k), half });
	i = s.at[2];
	g = load_list(one, 3, s.at[0], s.at[1], fusion == 1 ? muli(i, 2) : i);
	x = load_list(one, 3, s.at[0], s.at[1], fusion == 1 ? addi(muli(i, 2), 1) : add(i, half));
	*out = lower_map(l, "inner", m->c, &s, swiglu(l, g, x));
	return 0;
}

static int lower(struct lower *l)
{
	struct experts m;
	struct value inner, each;
	struct space s;
	expr token, j, d, e;
	int rank;

	TRY(read_experts(l, &m));
	choose(l, &m);
	TRY(first_layers(l, &m, &inner));
	TRY(layer(l, "each", &m, inner, 1, &each));
	s = space_of(l, m.x);
	rank = s.rank;
	token = rank == 3 ? add(mul(s.at[0], s.dim[1]), s.at[1]) : s.at[0];
	d = s.at[rank - 1];
	j = space_push(l, &s, idx(l, m.k));
	e = mul(load_list(m.share, 2, token, j), load_list(each, 3, token, j, d));
	lower_output(l, 0, lower_reduce(l, NULL, m.t, &s, rank, IR_SUM, e, NULL));
	return 0;
}

static int quantised_lower(struct lower *l)
{
	if (strcmp(lower_word(l, "quant_type"), "int") != 0)
		return lower_fail(l, ERR_UNSUPPORTED, "quant_type %s is not supported; only int is.",
		                  lower_word(l, "quant_type"));
	if (lower_int(l, "weights_prepacked") > 0)
		return lower_fail(l, ERR_UNSUPPORTED,
		                  "weights in an engine's own layout (weights_prepacked 1) are not supported.");
	if (lower_input(l, 14).given && value_rank(lower_input(l, 14)) != 2)
		return lower_fail(l, ERR_MODEL, "router_weights has %d axes; it must have two.",
		                  value_rank(lower_input(l, 14)));
	return lower(l);
}

/* clang-format off */

#define MOE_ATTRS                                                                                                      \
	ATTR_WORD("activation_type", "relu|gelu|silu|swiglu|identity", "between the layers"),                          \
	ATTR_INT("k", 1, "experts of a token"),                                                                        \
	ATTR_INT("normalize_routing_weights", 0, "the shares of a token add up to 1"),                                 \
	ATTR_INT("use_sparse_mixer", 0, "must be 0"), ATTR_FLOAT("activation_alpha", 1, "of swiglu"),                  \
	ATTR_FLOAT("activation_beta", 0, "of swiglu"), ATTR_FLOAT("swiglu_limit", 0, "of swiglu; absent: none"),       \
	ATTR_INT("swiglu_fusion", 0, "both halves of swiglu are fc1: 1 interleaved, 2 one after the other")
#define MATRIX(slot, n)                                                                                                \
	slot(n "_experts_weights", TS(U8) | TS(F8E4M3FN)), OPT(n "_scales", TS_SCALE), \
	        OPT(n "_experts_bias", TS_FLOAT32)
#define TS_SCALE (TS_FLOAT32 | TS(F8E8M0) | TS(F8E4M3FN))

const struct op_def op_moe = {
	.name = "MoE",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = sum over the k experts with the largest scores of share * (activation(x fc1' + b1) fc2' + b2)",
	.inputs = { IN("input", TS_FLOAT32), IN("router_probs", TS_FLOAT32), IN("fc1_experts_weights", TS_FLOAT32),
		    OPT("fc1_experts_bias", TS_FLOAT32),
		    IN("fc2_experts_weights", TS_FLOAT32), OPT("fc2_experts_bias", TS_FLOAT32),
		      OPT("fc3_experts_weights", TS_FLOAT32),
		    OPT("fc3_experts_bias", TS_FLOAT32) },
	.outputs = { OUT("output") },
	.attrs = { MOE_ATTRS },
	.lower = lower,
	.cases = { "input:f16[T,32] router_probs:f16[T,4] fc1_experts_weights:f16[4,48,32] fc1_experts_bias:f16[4,48] "
		   "fc2_experts_weights:f16[4,32,48] fc2_experts_bias:f16[4,32] k=2 normalize_routing_weights=1 "
		   "activation_type=silu",
		   "input:f32[2,3,9] router_probs:f32[6,3] fc1_experts_weights:f32[3,10,9] "
		   "fc2_experts_weights:f32[3,9,5] activation_type=swiglu swiglu_fusion=1 activation_alpha=1.702 "
		   "activation_beta=1 swiglu_limit=7" },
};

const struct op_def op_qmoe = {
	.name = "QMoE",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = sum over the k experts with the largest scores of share * (activation(x fc1' + b1) fc2' + b2), "
		   "fc = (number - zero point) * scale",
	.inputs = { IN("input", TS_FLOAT32), IN("router_probs", TS_FLOAT32), MATRIX(IN, "fc1"), MATRIX(IN, "fc2"),
		    MATRIX(OPT, "fc3"),
		    OPT("fc1_zero_points", TS(U8)), OPT("fc2_zero_points", TS(U8)), OPT("fc3_zero_points", TS(U8)),
		    OPT("router_weights", TS_FLOAT32),
		      OPT("fc1_global_scale", TS(F32)), OPT("fc2_global_scale", TS(F32)),
		    OPT("fc1_act_scale", TS(F32)), OPT("fc2_act_scale", TS(F32)), OPT("fc1_act_block_scale", TS_SCALE),
		    OPT("fc2_act_block_scale", TS_SCALE) },
	.outputs = { OUT("output") },
	.attrs = { MOE_ATTRS, ATTR_INT("expert_weight_bits", 4, "of a number: 2, 4 or 8"),
		   ATTR_INT("fc1_expert_weight_bits", 0, "of fc1 alone"),
		   ATTR_INT("fc2_expert_weight_bits", 0, "of fc2 alone"),
		   ATTR_INT("fc3_expert_weight_bits", 0, "of fc3 alone"),
		   ATTR_INT("block_size", 0, "numbers of a row that share a scale; 0: all"),
		   ATTR_WORD("quant_type", "int|fp4|nvfp4|fp8|wfp4afp8", "must be int"),
		   ATTR_INT("weights_prepacked", -1, "must not be 1"), ATTR_INT("accuracy_level", 0, "has no effect") },
	.lower = quantised_lower,
	.cases = { "input:f16[T,32] router_probs:f16[T,4] fc1_experts_weights:u8[4,48,16] fc1_scales:f16[4,48] "
		   "fc1_experts_bias:f16[4,48] fc2_experts_weights:u8[4,32,24] fc2_scales:f16[4,32] k=2 "
		   "activation_type=silu",
		   "input:f32[T,32] router_probs:f32[T,3] fc1_experts_weights:u8[3,32,32] fc1_scales:f32[3,32,2] "
		   "fc2_experts_weights:u8[3,32,16] fc2_scales:f32[3,32,1] fc1_zero_points:u8[3,32,2] "
		   "expert_weight_bits=8 block_size=16 activation_type=swiglu swiglu_fusion=1" },
};
/* clang-format on */
