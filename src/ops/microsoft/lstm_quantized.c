/* DynamicQuantizeLSTM: an LSTM whose weights are 8-bit integers with scales. x, and h before every step, are quantised
 * to u8 by the range of all their elements, as in DynamicQuantizeLinear; products are summed in i32. The range of h is
 * that of a direction over all sequences; ONNX Runtime with several threads takes it over some of them. Source: ONNX
 * Runtime, com.microsoft.DynamicQuantizeLSTM. */
#include "ops/lower/quantize.h"
#include "ops/lower/recurrent.h"

static expr integer(expr x)
{
	return cast(x, TYPE_I32);
}

/* The scale or zero point of a weight: one for each direction, or for each gate. */
static expr parameter(struct value v, expr d, expr n)
{
	bool by_gate = value_rank(v) == 2;

	return by_gate ? load_list(v, 2, d, n) : value_rank(v) == 1 ? load_list(v, 1, d) : at_first(v);
}

static expr weight(struct recurrent *r, struct value w, int zero, expr d, expr k, expr n)
{
	struct value z = lower_input(r->l, zero);
	expr x = integer(load_list(w, 3, d, k, n));

	return z.given ? sub(x, integer(parameter(z, d, n))) : x;
}

/* [D,T,B,N]: the products of x, with all biases. */
static struct value quantized_inputs(struct recurrent *r)
{
	static const char *const names[] = { "x_high", "x_low", "x_scale", "x_zero" };
	struct lower *l = r->l;
	struct space all = space_of(l, r->x), none = { 0 };
	struct quantize_range x = quantize_range(l, names, &all, 0, load(r->x, all.at));
	expr q = quantize_element(divide(load(r->x, all.at), at(x.scale, &none)), at(x.zero, &none), TYPE_U8);
	struct value quantized = lower_map(l, "x_quantized", TYPE_U8, &all, q);
	struct space s = space_new(l, 4, (expr[]){ r->directions, r->steps, r->sequences, r->gates });
	expr d = s.at[0], t = s.at[1], b = s.at[2], n = s.at[3], i = space_push(l, &s, r->inputs);
	expr scale = mul(at(x.scale, &none), parameter(lower_input(l, 8), d, n)), y;

	q = sub(integer(load_list(quantized, 3, t, b, i)), integer(at(x.zero, &none)));
	y = mul(cast(acc(l, TYPE_I32), TYPE_F32), scale);
	if (r->b.given)
		y = add(y, recurrent_biases(r, d, n));
	return lower_reduce(l, "inputs", TYPE_F32, &s, 4, IR_SUM, mul(q, weight(r, r->w, 9, d, i, n)), y);
}

static struct value gates(struct recurrent *r, struct value h, void *user)
{
	static const char *const names[] = { "h_high", "h_low", "h_scale", "h_zero" };
	const struct value *inputs = user;
	struct lower *l = r->l;
	struct space s = recurrent_gates(r, r->gates);
	struct quantize_range range = quantize_range(l, names, &r->s, 1, load(h, r->s.at));
	expr own = r->s.at[0], of = divide(load(h, r->s.at), load_list(range.scale, 1, own));
	expr element = quantize_element(of, load_list(range.zero, 1, own), TYPE_U8);
	/* Each element is quantised once, and read for all gates. */
	struct value quantized = lower_map(l, "h_quantized", TYPE_U8, &r->s, element);
	expr d = s.at[0], n = s.at[2], k = s.at[3], scale = load_list(range.scale, 1, d);
	expr q = sub(integer(load_list(quantized, 3, d, s.at[1], k)), integer(load_list(range.zero, 1, d)));
	expr y = mul(cast(acc(l, TYPE_I32), TYPE_F32), mul(scale, parameter(lower_input(l, 10), d, n)));

	return lower_reduce(l, "gates", TYPE_F32, &s, 3, IR_SUM, mul(q, weight(r, r->r, 11, d, k, n)),
	                    lstm_gate(r, lower_input(r->l, 7).given, &s, n, add(y, recurrent_step(r, *inputs, &s, n))));
}

static int lower(struct lower *l)
{
	struct recurrent r;

	TRY(recurrent_read(l, &r, true, 4, 3, (const char *const[]){ "Sigmoid", "Tanh", "Tanh" }));
	for (int i = 8; i < 12; i++)
		if (value_rank(lower_input(l, i)) > 2)
			return lower_fail(l, ERR_MODEL, "a scale or zero point has %d axes; it can have at most two.",
			                  value_rank(lower_input(l, i)));
	struct value inputs = quantized_inputs(&r);

	return lstm_loop(&r, lower_input(l, 7), lower_int(l, "input_forget") != 0, gates, &inputs);
}

const struct op_def op_lstm_quantized = {
	.name = "DynamicQuantizeLSTM",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "as LSTM, with w = (w - w_zero_point) * w_scale, r alike, and x and h brought to u8",
	.inputs = { IN("x", TS(F32)), IN("w", TS_Q8), IN("r", TS_Q8), OPT("b", TS(F32)), OPT("sequence_lens", TS(I32)),
	            OPT("initial_h", TS(F32)), OPT("initial_c", TS(F32)), OPT("p", TS(F32)), IN("w_scale", TS(F32)),
	            IN("w_zero_point", TS_Q8), IN("r_scale", TS(F32)), IN("r_zero_point", TS_Q8) },
	.outputs = { OPTOUT("y"), OPTOUT("y_h"), OPTOUT("y_c") },
	.attrs = { ATTR_FLOATS("activation_alpha", "numbers of the activations that take an alpha, in their order"),
	           ATTR_FLOATS("activation_beta", "numbers of the activations that take a beta, in their order"),
	           ATTR_STRINGS("activations", "of one direction, then of the other: Relu, Tanh, Sigmoid ..."),
	           ATTR_FLOAT("clip", 0, "bound of the gates' sums; 0: none"),
	           ATTR_WORD("direction", "forward|reverse|bidirectional", "in which the steps are taken"),
	           ATTR_INT("hidden_size", 0, "H; the weights' shape says it too"),
	           ATTR_INT("input_forget", 0, "1: the forget gate is 1 - i") },
	.lower = lower,
	.cases = { "x:f32[3,B,24] w:i8[1,24,96] r:i8[1,24,96] b:f32[1,192] w_scale:f32[1] w_zero_point:i8[1] "
	           "r_scale:f32[1] r_zero_point:i8[1]",
	           "x:f32[2,3,8] w:u8[2,8,32] r:u8[2,8,32] w_scale:f32[2,32] w_zero_point:u8[2,32] r_scale:f32[2,32] "
	           "r_zero_point:u8[2,32] direction=bidirectional" },
};
