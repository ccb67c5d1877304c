/* Matrices of 8 bits in cublasLt's orders: tensors [.., rows, columns] stored by columns (0), by rows (1), or in
 * groups of 32 columns, each by rows (2).
 *   QuantizeWithOrder           y = round(x / scale_input), in another order
 *   DequantizeWithOrder         y = x scale_input
 *   QOrderedGelu                y = round(gelu(x scale_X) / scale_Y)
 *   QOrderedLayerNormalization  y = round(((v - mean) / sqrt(var + epsilon) * scale + B) / scale_Y), v = x scale_X
 *   QOrderedMatMul              y = round((a b scale_A scale_B + bias + c scale_C) / scale_Y), a by rows, b by columns
 * Source: ONNX Runtime, the operators of these names in com.microsoft; cuBLAS, cublasLtOrder_t. */
#include "ops/lower/quantize.h"
#include "ops/lower/formulas.h"

enum { ORDER_COLUMNS, ORDER_ROWS, ORDER_GROUPS, GROUP = 32 };

static int check_order(struct lower *l, const char *name, struct value x)
{
	int64_t order = lower_int(l, name), columns;

	if (order < ORDER_COLUMNS || order > ORDER_GROUPS)
		return lower_fail(l, ERR_UNSUPPORTED,
		                  "%s is %lld; only 0, 1 and 2 (by columns, by rows, by groups of 32 columns) are "
		                  "supported.",
		                  name, (long long)order);
	if (value_rank(x) < 1)
		return lower_fail(l, ERR_MODEL, "the input is a scalar.");
	if (order == ORDER_GROUPS && ir_const_int(value_dim(x, value_rank(x) - 1), &columns) && columns % GROUP)
		return lower_fail(l, ERR_MODEL, "%lld columns cannot be groups of 32.", (long long)columns);
	return order == ORDER_GROUPS ? lower_demand_multiple(l, x, value_rank(x) - 1, GROUP) : 0;
}

/* The position of (row, column) in a matrix of `rows` x `columns`. */
static expr place(int64_t order, expr rows, expr columns, expr row, expr column)
{
	expr group = with(row, GROUP);

	if (order == ORDER_ROWS)
		return add(mul(row, columns), column);
	if (order == ORDER_COLUMNS)
		return add(mul(column, rows), row);
	return add(mul(floordiv(column, group), mul(rows, group)), add(mul(row, group), mod(column, group)));
}

/* The row and column of the element at `flat`. */
static void element(int64_t order, expr rows, expr columns, expr flat, expr *row, expr *column)
{
	expr group = with(flat, GROUP), tile = mul(rows, group), rest;

	if (order == ORDER_ROWS) {
		*row = floordiv(flat, columns);
		*column = mod(flat, columns);
	} else if (order == ORDER_COLUMNS) {
		*row = mod(flat, rows);
		*column = floordiv(flat, rows);
	} else {
		rest = mod(flat, tile);
		*row = floordiv(rest, group);
		*column = add(mul(floordiv(flat, tile), group), mod(rest, group));
	}
}

/* The element of input 0, stored in order `from`, that belongs at s in order `to`. */
static expr reordered(struct lower *l, const struct space *s, int64_t from, int64_t to)
{
	struct value x = lower_input(l, 0);
	int rank = s->rank;
	expr rows = rank > 1 ? s->dim[rank - 2] : idx(l, 1), columns = s->dim[rank - 1], matrix = idx(l, 0), row,
	     column, flat;

	if (from == to)
		return load(x, s->at);
	for (int i = 0; i + 2 < rank; i++)
		matrix = add(mul(matrix, s->dim[i]), s->at[i]);
	flat = rank > 1 ? add(mul(s->at[rank - 2], columns), s->at[rank - 1]) : s->at[0];
	element(to, rows, columns, flat, &row, &column);
	return at_flat(x, add(mul(matrix, mul(rows, columns)), place(from, rows, columns, row, column)));
}

static int check_scalar(struct lower *l, int i)
{
	if (ir_is_int(value_count(lower_input(l, i)), 1))
		return 0;
	return lower_fail(l, ERR_MODEL, "input \"%s\" must be one number.", l->op->inputs[i].name);
}

static int order_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	bool to_bytes = type_is_float(value_type(x));
	enum type t = TYPE_I8;
	expr e, scale;

	TRY(check_order(l, "order_input", x));
	TRY(check_order(l, "order_output", x));
	TRY(check_scalar(l, 1));
	scale = at_first(lower_input(l, 1));
	e = reordered(l, &s, lower_int(l, "order_input"), lower_int(l, "order_output"));
	if (to_bytes) {
		e = quantize_element(divide(wide(e), scale), NULL, TYPE_I8);
	} else {
		t = lower_int(l, "to") == 10 ? TYPE_F16 : TYPE_F32; /* 10 is float16 in TensorProto.DataType */
		e = mul(cast(e, TYPE_F32), scale);
	}
	lower_output(l, 0, lower_map(l, NULL, t, &s, e));
	return 0;
}

static int gelu_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	expr e;

	TRY(check_scalar(l, 1));
	TRY(check_scalar(l, 2));
	e = mul(cast(load(x, s.at), TYPE_F32), at_first(lower_input(l, 1)));
	e = gelu(e);
	e = quantize_element(divide(e, at_first(lower_input(l, 2))), NULL, TYPE_I8);
	lower_output(l, 0, lower_map(l, NULL, TYPE_I8, &s, e));
	return 0;
}

static int norm_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), scale = lower_input(l, 2), bias = lower_input(l, 3), mean, inverse;
	struct space s = space_of(l, x);
	int last = s.rank - 1, axis;
	expr e, d, size;

	TRY(check_order(l, "order_X", x));
	TRY(lower_axis(l, lower_int(l, "axis"), s.rank, false, &axis));
	if (lower_int(l, "order_X") != ORDER_ROWS || lower_int(l, "order_Y") != ORDER_ROWS || axis != last)
		return lower_fail(l, ERR_UNSUPPORTED,
		                  "only rows (order 1), normalised along the last axis, are supported.");
	TRY(check_scalar(l, 1));
	TRY(check_scalar(l, 4));
	e = mul(cast(load(x, s.at), TYPE_F32), at_first(lower_input(l, 1)));
	size = cast(s.dim[last], TYPE_F32);
	mean = lower_reduce(l, "mean", TYPE_F32, &s, last, IR_SUM, e, divide(acc(l, TYPE_F32), size));
	e = sub(e, load(mean, s.at));
	d = divide(acc(l, TYPE_F32), size);
	d = unary(IR_SQRT, add(d, with(d, lower_float(l, "epsilon"))));
	inverse = lower_reduce(l, "inverse", TYPE_F32, &s, last, IR_SUM, mul(e, e), divide(with(d, 1), d));
	e = mul(mul(e, load(inverse, s.at)), wide(load(scale, &s.at[last])));
	if (bias.given)
		e = add(e, wide(load(bias, &s.at[last])));
	e = quantize_element(divide(e, at_first(lower_input(l, 4))), NULL, TYPE_I8);
	lower_output(l, 0, lower_map(l, NULL, TYPE_I8, &s, e));
	return 0;
}

static int matmul_lower(struct lower *l)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 2), scale_b = lower_input(l, 3),
	             bias = lower_input(l, 5), c = lower_input(l, 6);
	int rank = value_rank(a);
	struct space s = { 0 };
	expr index[IR_MAX_RANK], inner, n, k, e, y;

	if (lower_int(l, "order_A") != ORDER_ROWS || lower_int(l, "order_B") != ORDER_COLUMNS ||
	    lower_int(l, "order_Y") != ORDER_ROWS)
		return lower_fail(l, ERR_UNSUPPORTED,
		                  "only a and y by rows (order 1) and b by columns (order 0) are supported.");
	if (rank < 2 || rank > 3 || value_rank(b) != 2 || value_rank(scale_b) > 1 ||
	    (c.given && !lower_input(l, 7).given) || (bias.given && value_rank(bias) != 1) ||
	    (c.given && value_rank(c) > rank))
		return lower_fail(l, ERR_MODEL, "a has %d axes, b %d and scale_B %d; c needs a scale.", rank,
		                  value_rank(b), value_rank(scale_b));
	TRY(check_scalar(l, 1));
	TRY(check_scalar(l, 4));
	inner = value_dim(a, rank - 1);
	for (int i = 0; i + 1 < rank; i++)
		index[i] = space_push(l, &s, value_dim(a, i));
	n = space_push(l, &s, floordiv(value_count(b), inner)); /* the columns of b, whichever extent comes first */
	k = index[rank - 1] = space_push(l, &s, inner);
	e = mul(cast(load(a, index), TYPE_I32), cast(at_flat(b, add(mul(n, inner), k)), TYPE_I32));
	y = mul(cast(acc(l, TYPE_I32), TYPE_F32),
	        mul(at_first(lower_input(l, 1)), value_rank(scale_b) == 1 && !ir_is_int(value_dim(scale_b, 0), 1)
	                                                 ? load(scale_b, &n)
	                                                 : at_first(scale_b)));
	if (bias.given)
		y = add(y, load(bias, &n));
	s.rank = rank;
	if (c.given)
		y = add(y, mul(cast(at(c, &s), TYPE_F32), at_first(lower_input(l, 7))));
	s.rank = rank + 1;
	y = quantize_element(divide(y, at_first(lower_input(l, 4))), NULL, TYPE_I8);
	lower_output(l, 0, lower_reduce(l, NULL, TYPE_I8, &s, rank, IR_SUM, e, y));
	return 0;
}

/* clang-format off */
#define TS_T (TS(F32) | TS(F16))
#define ORDER(name) ATTR_INT(name, 1, "0 by columns, 1 by rows, 2 by groups of 32 columns")

const struct op_def ops_quantize_ordered[] = {
	{ .name = "QuantizeWithOrder", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = round(x / scale_input)",
	  .inputs = { IN("input", TS_T), IN("scale_input", TS(F32)) }, .outputs = { OUT("output") },
	  .attrs = { ORDER("order_input"), ORDER("order_output") }, .lower = order_lower,
	  .cases = { "input:f16[B,S,64] scale_input:f32[]={0.5} order_input=1 order_output=2",
		     "input:f32[9,7] scale_input:f32[]={0.5} order_input=1 order_output=0" } },
	{ .name = "DequantizeWithOrder", .domain = "com.microsoft", .since = { 1 }, .formula = "y = x * scale_input",
	  .inputs = { IN("input", TS(I8)), IN("scale_input", TS(F32)) }, .outputs = { OUT("output") },
	  .attrs = { ORDER("order_input"), ORDER("order_output"), ATTR_INT_REQUIRED("to", "1 f32, 10 f16") },
	  .lower = order_lower,
	  .cases = { "input:i8[B,S,64] scale_input:f32[] order_input=2 order_output=1 to=10" } },
	{ .name = "QOrderedGelu", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = round(gelu(x * scale_X) / scale_Y)",
	  .inputs = { IN("X", TS(I8)), IN("scale_X", TS(F32)), IN("scale_Y", TS(F32)) }, .outputs = { OUT("Y") },
	  .attrs = { ORDER("order_X"), ORDER("order_Y") }, .lower = gelu_lower,
	  .cases = { "X:i8[B,S,33] scale_X:f32[]={0.03} scale_Y:f32[]={0.04}" } },
	{ .name = "QOrderedLayerNormalization", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = round(((v - mean) / sqrt(var + epsilon) * scale + B) / scale_Y), v = x * scale_X",
	  .inputs = { IN("X", TS(I8)), IN("scale_X", TS(F32)), IN("scale", TS_T, RANK(1)), OPT("B", TS_T, RANK(1)),
		      IN("scale_Y", TS(F32)) },
	  .outputs = { OUT("Y") },
	  .attrs = { ORDER("order_X"), ORDER("order_Y"), ATTR_INT("axis", -1, "the last"),
		     ATTR_FLOAT("epsilon", 1e-5, "added to the variance") },
	  .lower = norm_lower, .cases = { "X:i8[B,S,64] scale_X:f32[]={0.03} scale:f16[64] B:f16[64] "
					  "scale_Y:f32[]={0.04}" } },
	{ .name = "QOrderedMatMul", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = round((a b scale_A scale_B + bias + c scale_C) / scale_Y)",
	  .inputs = { IN("A", TS(I8)), IN("scale_A", TS(F32)), IN("B", TS(I8)), IN("scale_B", TS(F32)),
		      IN("scale_Y", TS(F32)),
		      OPT("bias", TS(F32)), OPT("C", TS(I8)), OPT("scale_C", TS(F32)) },
	  .outputs = { OUT("Y") },
	  .attrs = { ORDER("order_A"), ATTR_INT("order_B", 0, "0 by columns"), ORDER("order_Y") },
	  .lower = matmul_lower,
	  .cases = { "A:i8[B,S,64] scale_A:f32[]={0.03} B:i8[33,64] scale_B:f32[33] scale_Y:f32[]={0.5} bias:f32[33] "
		     "order_B=0" } },
	{ .name = NULL },
};
/* clang-format on */
