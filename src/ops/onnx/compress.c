/* Compress: the slices of x along an axis for which the condition holds; without an axis, the elements of x in
 * row-major order for which it holds. Slices beyond a shorter condition are dropped; entries beyond the end of x are
 * ignored. The number of kept slices is known only at run time, unless the condition is a constant. Source: ONNX,
 * operator Compress, opsets 9, 11 and 28. */
#include "ops/lower/lower.h"

/* The kept places of 0 .. extent-1, from a condition that is known. */
static struct value known_places(struct lower *l, const struct tensor *condition, expr extent)
{
	int64_t n = tensor_count(condition), kept = 0, end;
	struct tensor *t = NEW(l->program->arena, struct tensor);

	if (!ir_const_int(extent, &end) || end > n)
		end = n;
	for (int64_t i = 0; i < end; i++)
		kept += tensor_int(condition, i) != 0;
	if (tensor_new(t, TYPE_I64, 1, &kept, l->program->arena, l->err) < 0)
		return (struct value){ 0 };
	kept = 0;
	for (int64_t i = 0; i < end; i++)
		if (tensor_int(condition, i))
			tensor_set_int(t, kept++, i);
	return lower_data(l, "places", t);
}

/* True if a constant condition lies within the extent, whatever its value. */
static bool inside(const struct tensor *condition, expr extent)
{
	int64_t end;

	return ir_const_int(extent, &end) || tensor_count(condition) == 0 ||
	       ir_less(ir_index(extent->pool, tensor_count(condition) - 1), extent);
}

static struct value find_places(struct lower *l, struct value condition, expr extent)
{
	const struct tensor *known = lower_constant(l, 1);
	struct space s = { 0 };
	expr i;

	if (known && inside(known, extent))
		return known_places(l, known, extent);
	i = space_push(l, &s, min_(value_dim(condition, 0), extent));
	return lower_compact(l, "places", TYPE_I64, &s, i, load_list(condition, 1, i), NULL);
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), condition = lower_input(l, 1), places;
	struct space s = { 0 };
	expr index[IR_MAX_RANK];
	int axis, rank = value_rank(x);

	if (value_rank(condition) != 1)
		return lower_fail(l, ERR_MODEL, "the condition has %d axes; it must have one.", value_rank(condition));
	if (!lower_has(l, "axis")) {
		places = find_places(l, condition, value_count(x));
		if (!places.given)
			return l->err->code;
		expr kept = space_push(l, &s, value_dim(places, 0));
		expr place = cast(load_list(places, 1, kept), TYPE_INDEX);

		lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, at_flat(x, place)));
		return 0;
	}
	TRY(lower_axis(l, lower_int(l, "axis"), rank, false, &axis));
	places = find_places(l, condition, value_dim(x, axis));
	if (!places.given)
		return l->err->code;
	for (int i = 0; i < rank; i++)
		index[i] = space_push(l, &s, i == axis ? value_dim(places, 0) : value_dim(x, i));
	index[axis] = cast(load_list(places, 1, index[axis]), TYPE_INDEX);
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

const struct op_def op_compress = {
	.name = "Compress",
	.since = { 9, 11, 28 },
	.formula = "y = the slices of input along axis where condition holds",
	.inputs = { IN("input", TS_DATA), IN("condition", TS(BOOL)) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT("axis", 0, "the axis of the slices; absent: elements of the flattened input") },
	.lower = lower,
	.cases = { "input:f32[N,7] condition:bool[N] axis=0", "input:f16[3,N,5] condition:bool[N] axis=-2 opset=11",
	           "input:i8[N,4] condition:bool[M]", "input:f32[5,3] condition:bool[4] axis=0",
	           "input:i64[N,4] condition:bool[3]={1,0,1} axis=1 opset=9",
	           "input:f32[4] condition:bool[6]={1,0,1,1,0,1}" },
};
