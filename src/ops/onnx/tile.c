/* Tile: y[i...] = x[i mod extent ...]. Expand: y = x broadcast to a shape, numpy's rules in both directions.
 * Source: ONNX, operators Tile (opset 1 to 13), Expand (8, 13). */
#include "ops/lower/lower.h"

#include <string.h>

/* Opset 1: the number of tiles along an axis, both of the data's type. */
static int read_tiles(struct lower *l, int rank, struct exprs *repeats)
{
	double number[2];
	int axis;

	for (int i = 0; i < 2; i++) {
		const struct tensor *t = lower_constant(l, 1 + i);

		if (!t || tensor_count(t) != 1)
			return lower_fail(l, ERR_UNSUPPORTED, "tiles and axis must each be one constant number.");
		number[i] = tensor_float(t, 0);
		if (!(number[i] >= -rank && number[i] <= INT32_MAX))
			return lower_fail(l, ERR_MODEL, "tiles or axis is %g, which is out of range.", number[i]);
	}
	TRY(lower_axis(l, (int64_t)number[1], rank, false, &axis));
	for (repeats->n = 0; repeats->n < rank; repeats->n++)
		repeats->at[repeats->n] = idx(l, repeats->n == axis ? (int64_t)number[0] : 1);
	return 0;
}

static int lower_tile(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct exprs repeats = { 0 };
	struct space s = { 0 };
	expr index[IR_MAX_RANK];

	TRY(l->opset < 6 ? read_tiles(l, value_rank(x), &repeats) : lower_extents(l, 1, &repeats));
	if (repeats.n != value_rank(x))
		return lower_fail(l, ERR_MODEL, "repeats has %d elements, the input has rank %d.", repeats.n,
		                  value_rank(x));
	for (int i = 0; i < value_rank(x); i++)
		index[i] = mod(space_push(l, &s, mul(value_dim(x, i), repeats.at[i])), value_dim(x, i));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

const struct op_def op_tile = {
	.name = "Tile",
	.since = { 1, 6, 13 },
	.formula = "y[i...] = x[i mod extent ...]",
	.inputs = { IN("input", TS_DATA), IN("repeats", TS_NUMBER), OPT("axis", TS_NUMBER) },
	.outputs = { OUT("output") },
	.lower = lower_tile,
	.cases = { "input:f32[N,3,W] repeats:i64[3]={1,2,3}", "input:u8[1,N] repeats:i64[2]={4,1}" },
};

static int lower_expand(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct ir_buffer wanted = { .name = "the shape", .id = -2 }; /* no buffer of the program: a shape to be
	                                                                broadcast with */
	struct exprs shape;
	struct space s;

	TRY(lower_extents(l, 1, &shape));
	if (shape.n > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the shape has %d axes; %d are the most.", shape.n, IR_MAX_RANK);
	wanted.rank = shape.n;
	memcpy(wanted.dim, shape.at, sizeof wanted.dim);
	TRY(space_broadcast(l, &s, 2, (struct value[]){ x, { .buf = &wanted, .given = true } }));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, at(x, &s)));
	return 0;
}

const struct op_def op_expand = {
	.name = "Expand",
	.since = { 8, 13 },
	.formula = "y = x broadcast to `shape`",
	.inputs = { IN("input", TS_DATA), IN("shape", TS(I64)) },
	.outputs = { OUT("output") },
	.lower = lower_expand,
	.cases = { "input:f32[N,1,W] shape:i64[3]={1,4,1}", "input:f16[3,1] shape:i64[3]={2,1,6}" },
};
