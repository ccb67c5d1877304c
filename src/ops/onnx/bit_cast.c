/* BitCast: the same bits as another type of the same width. Source: ONNX, operator BitCast, opset 26. */
#include "ops/lower/lower.h"

/* Between types of 4 or of 2 bits, through the unsigned integers: signed ones wrap to them, and they to signed ones. */
static expr packed_bits(expr x, enum type t)
{
	enum type bits = type_info(t)->bits == 4 ? TYPE_U4 : TYPE_U2;

	x = type_is_float(x->type) ? ir_bitcast(x, bits) : cast(x, bits);
	return type_is_float(t) ? ir_bitcast(x, t) : cast(x, t);
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	int64_t to = lower_int(l, "to");
	enum type t = to > 0 && to < TYPE_COUNT ? (enum type)to : TYPE_NONE;
	struct space s = space_of(l, x);
	expr e = at(x, &s);

	if (!(TS_ALL & 1u << t))
		return lower_fail(l, ERR_UNSUPPORTED, "it makes %s; only numbers and bool can be made.", type_name(t));
	if (type_info(t)->bits != type_info(value_type(x))->bits)
		return lower_fail(l, ERR_MODEL, "%s and %s do not have the same width.", type_name(value_type(x)),
		                  type_name(t));
	/* A byte that is not a bool becomes true, as the elements of bool tensors are 0 or 1. */
	if (value_type(x) == TYPE_BOOL && t != TYPE_BOOL)
		e = cast(e, TYPE_U8);
	if (t == TYPE_BOOL)
		e = ne(e->type == TYPE_U8 ? e : ir_bitcast(e, TYPE_U8), num(l, TYPE_U8, 0));
	else if (type_is_packed(t) && e->type != t)
		e = packed_bits(e, t);
	else if (e->type != t)
		e = ir_bitcast(e, t);
	lower_output(l, 0, lower_map(l, NULL, t, &s, e));
	return 0;
}

const struct op_def op_bit_cast = {
	.name = "BitCast",
	.since = { 26 },
	.formula = "output = the bits of input as the type `to`",
	.inputs = { IN("input", TS_ALL) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT_REQUIRED("to", "the type, as a number of TensorProto.DataType") },
	.lower = lower,
	.cases = { "input:f32[N,33] to=6", "input:i16[N] to=10", "input:f4e2m1[N,33] to=22" },
};
