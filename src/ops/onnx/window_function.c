/* Window functions of a given size, n = 0 .. size - 1, with N = size (periodic) or size - 1 (symmetric):
 *   HannWindow: sin(pi n / N)^2, HammingWindow: 25/46 - 21/46 cos(2 pi n / N),
 *   BlackmanWindow: 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)
 * MelWeightMatrix: triangles over the frequencies of a DFT, with corners at equal steps on the mel scale.
 * Source: ONNX, the operators of these names, opset 17. */
#include "ops/lower/lower.h"

#define PI 3.141592653589793238

static expr one_sine(expr turn)
{
	expr s = unary(IR_SIN, mul(turn, with(turn, PI)));

	return mul(s, s);
}

static expr cosine(expr turn, double turns)
{
	return unary(IR_COS, mul(turn, with(turn, 2 * PI * turns)));
}

static expr hann(expr turn)
{
	return one_sine(turn);
}

static expr hamming(expr turn)
{
	return sub(with(turn, 25. / 46), mul(with(turn, 21. / 46), cosine(turn, 1)));
}

static expr blackman(expr turn)
{
	return add(sub(with(turn, 0.42), mul(with(turn, 0.5), cosine(turn, 1))),
	           mul(with(turn, 0.08), cosine(turn, 2)));
}

/* The result's type, and the compute type. */
static int result_type(struct lower *l, enum type *t, enum type *c)
{
	int64_t asked = lower_int(l, "output_datatype");

	*t = asked > 0 && asked < TYPE_COUNT ? (enum type)asked : TYPE_NONE;
	*c = *t == TYPE_F64 ? TYPE_F64 : TYPE_F32;
	if (!(TS_NUMBER & 1u << *t))
		return lower_fail(l, ERR_MODEL, "output_datatype %lld is not a type of numbers.", (long long)asked);
	return 0;
}

static int window(struct lower *l, expr (*f)(expr turn))
{
	struct exprs size;
	struct space s = { 0 };
	enum type t, c;
	expr n, last;

	TRY(result_type(l, &t, &c));
	TRY(lower_known(l, 0, &size));
	if (size.n != 1)
		return lower_fail(l, ERR_MODEL, "size has %d elements; it must have one.", size.n);
	n = space_push(l, &s, size.at[0]);
	last = lower_int(l, "periodic") ? size.at[0] : addi(size.at[0], -1);
	lower_output(l, 0, lower_map(l, NULL, t, &s, f(divide(cast(n, c), cast(last, c)))));
	return 0;
}

static int hann_lower(struct lower *l)
{
	return window(l, hann);
}

static int hamming_lower(struct lower *l)
{
	return window(l, hamming);
}

static int blackman_lower(struct lower *l)
{
	return window(l, blackman);
}

/* ---- MelWeightMatrix --------------------------------------------------------------------------------------------- */

/* mel(f) = 2595 log10(1 + f / 700), in f64: a frequency's bin is a whole number that must not be off by one. */
static expr mel(expr hertz)
{
	return mul(unary(IR_LOG1P, divide(hertz, with(hertz, 700))), with(hertz, 2595 / 2.302585092994045684));
}

/* The DFT's bin of corner k. */
static expr bin(expr low, expr step, expr k, expr length, expr rate)
{
	expr m = add(mul(cast(k, TYPE_F64), step), low), hertz;

	hertz = mul(with(m, 700), unary(IR_EXPM1, mul(m, with(m, 2.302585092994045684 / 2595))));
	return cast(unary(IR_FLOOR, divide(mul(hertz, cast(addi(length, 1), TYPE_F64)), rate)), TYPE_INDEX);
}

static expr slope(expr part, expr whole, enum type c)
{
	return divide(cast(part, c), cast(max_(whole, with(whole, 1)), c));
}

static int mel_lower(struct lower *l)
{
	struct exprs bands, length;
	struct space s = { 0 };
	enum type t, c;
	expr low, step, rate, i, j, left, middle, right, up, down, y;

	TRY(result_type(l, &t, &c));
	TRY(lower_known(l, 0, &bands));
	TRY(lower_known(l, 1, &length));
	if (bands.n != 1 || length.n != 1)
		return lower_fail(l, ERR_MODEL, "num_mel_bins and dft_length must be single numbers.");
	j = space_push(l, &s, addi(floordiv(length.at[0], idx(l, 2)), 1));
	i = space_push(l, &s, bands.at[0]);
	rate = cast(at_first(lower_input(l, 2)), TYPE_F64);
	low = mel(cast(at_first(lower_input(l, 3)), TYPE_F64));
	step = sub(mel(cast(at_first(lower_input(l, 4)), TYPE_F64)), low);
	step = divide(step, cast(addi(bands.at[0], 2), TYPE_F64));
	left = bin(low, step, i, length.at[0], rate);
	middle = bin(low, step, addi(i, 1), length.at[0], rate);
	right = bin(low, step, addi(i, 2), length.at[0], rate);

	up = select_(eq(left, middle), num(l, c, 1), slope(sub(j, left), sub(middle, left), c));
	down = slope(sub(right, j), sub(right, middle), c);
	y = select_(and_(le(left, j), le(j, middle)), up, num(l, c, 0));
	y = select_(and_(le(middle, j), lt(j, right)), down, y);
	lower_output(l, 0, lower_map(l, NULL, t, &s, y));
	return 0;
}

/* clang-format off */
#define TYPED ATTR_INT("output_datatype", 1, "the result's type, as a number of TensorProto.DataType")
#define ROW(op, text, fn)                                                                                              \
	{ .name = op, .since = { 17 }, .formula = text, .inputs = { IN("size", TS_INDICES) },                          \
	  .outputs = { OUT("output") },                                                                                \
	  .attrs = { TYPED, ATTR_INT("periodic", 1, "1: N = size; 0: N = size - 1") }, .lower = fn,                    \
	  .cases = { "size:i64[]={10}", "size:i32[]={9} periodic=0" } }

const struct op_def ops_window_function[] = {
	ROW("HannWindow", "y = sin(pi n / N)^2", hann_lower),
	ROW("HammingWindow", "y = 25/46 - 21/46 * cos(2 pi n / N)", hamming_lower),
	ROW("BlackmanWindow", "y = 0.42 - 0.5 * cos(2 pi n / N) + 0.08 * cos(4 pi n / N)", blackman_lower),
	{ .name = "MelWeightMatrix", .since = { 17 }, .formula = "y[j, i] = height of band i's triangle at frequency j",
	  .inputs = { IN("num_mel_bins", TS_INDICES), IN("dft_length", TS_INDICES), IN("sample_rate", TS_INDICES),
		      IN("lower_edge_hertz", TS_FLOAT), IN("upper_edge_hertz", TS_FLOAT) },
	  .outputs = { OUT("output") }, .attrs = { TYPED }, .lower = mel_lower,
	  .cases = { "num_mel_bins:i32[]={8} dft_length:i32[]={64} sample_rate:i32[] lower_edge_hertz:f32[] "
		     "upper_edge_hertz:f32[]" } },
	{ .name = NULL },
};
/* clang-format on */
