/* ScatterElements (and Scatter, its old name), ScatterND: x with some elements replaced or combined with updates.
 *   ScatterElements:  y = x, then y[.., indices[.., i, ..], ..] (reduction)= updates[.., i, ..]
 *   ScatterND:        y = x, then y[indices[i.., 0], indices[i.., 1] .., j..] (reduction)= updates[i.., j..]
 * Negative indices count from the end; updates with an index outside are dropped. If two updates without a
 * reduction collide, either one stays.
 * Source: ONNX, operators ScatterElements (opset 11 to 18), Scatter (9, 11), ScatterND (11 to 18). */
#include "ops/lower/lower.h"

#include <string.h>

/* The combination of updates of type `t` with elements; for bool, sums are "or" and products "and". */
static int read_reduction(struct lower *l, enum type t, enum ir_combine *c)
{
	const char *word = lower_word(l, "reduction");
	bool or = !strcmp(word, "add") || !strcmp(word, "max");

	*c = !strcmp(word, "add")   ? IR_SUM
	     : !strcmp(word, "mul") ? IR_PROD
	     : !strcmp(word, "max") ? IR_MAXIMUM
	     : !strcmp(word, "min") ? IR_MINIMUM
	                            : IR_NONE;
	if (*c == IR_NONE || TS_NUMBER & 1u << t)
		return 0;
	if (t != TYPE_BOOL)
		return lower_fail(l, ERR_UNSUPPORTED, "reduction \"%s\" is not defined for %s.", word, type_name(t));
	*c = or ? IR_ANY : IR_ALL;
	return 0;
}

/* The position of index `i` from a tensor; *inside: the condition that it exists. */
static expr target(expr i, expr extent, expr *inside)
{
	expr zero;

	i = cast(i, TYPE_INDEX);
	zero = with(i, 0);
	i = select_(lt(i, zero), add(i, extent), i);
	*inside = and_(*inside, and_(ge(i, zero), lt(i, extent)));
	return i;
}

static int lower_elements(struct lower *l)
{
	struct value x = lower_input(l, 0), indices = lower_input(l, 1), updates = lower_input(l, 2);
	struct space out = space_of(l, x), s = space_of(l, indices);
	expr index[IR_MAX_RANK], inside = ir_int(l->program->pool, TYPE_BOOL, 1);
	enum type t = value_type(x);
	enum ir_combine combine;
	int axis;

	TRY(lower_axis(l, lower_int(l, "axis"), value_rank(x), false, &axis));
	TRY(read_reduction(l, t, &combine));
	if (value_rank(indices) != value_rank(x) || value_rank(updates) != value_rank(x))
		return lower_fail(l, ERR_MODEL,
		                  "data, indices and updates have ranks %d, %d and %d; one rank is needed.",
		                  value_rank(x), value_rank(indices), value_rank(updates));
	memcpy(index, s.at, sizeof index);
	index[axis] = target(at(indices, &s), value_dim(x, axis), &inside);
	lower_output(l, 0,
	             lower_scatter(l, NULL, t, &out, at(x, &out), &s, combine, index, load(updates, s.at), inside));
	return 0;
}

#define SCATTER_ELEMENTS \
	.formula = "y = x, then y[.., indices[.., i, ..], ..] = updates[.., i, ..]", \
	.inputs = { IN("data", TS_DATA), IN("indices", TS_INDICES), IN("updates", TS_DATA) }, \
	.outputs = { OUT("output") }, \
	.attrs = { ATTR_INT("axis", 0, "the axis that indices are of"), \
		   ATTR_WORD("reduction", "none|add|mul|max|min", "opset 16: how an update meets what is there") }, \
	.lower = lower_elements

const struct op_def op_scatter_elements = {
	.name = "ScatterElements",
	.since = { 11, 13, 16, 18 },
	SCATTER_ELEMENTS,
	.cases = { "data:f32[N,33] indices:i64[N,5] updates:f32[N,5] axis=1",
	           "data:f16[9,4] indices:i32[3,4] updates:f16[3,4] reduction=add opset=18" },
};

const struct op_def op_scatter = {
	.name = "Scatter",
	.since = { 9, 11 },
	SCATTER_ELEMENTS,
	.cases = { "data:f32[7,33] indices:i64[2,33] updates:f32[2,33] opset=9" },
};

/* ---- ScatterND --------------------------------------------------------------------------------------------------- */

static int lower_nd(struct lower *l)
{
	struct value x = lower_input(l, 0), indices = lower_input(l, 1), updates = lower_input(l, 2);
	struct space out = space_of(l, x), s = { 0 };
	expr from[IR_MAX_RANK], index[IR_MAX_RANK], inside = ir_int(l->program->pool, TYPE_BOOL, 1);
	int rank = value_rank(x), listed = value_rank(indices) - 1;
	enum type t = value_type(x);
	enum ir_combine combine;
	int64_t named;

	TRY(read_reduction(l, t, &combine));
	if (listed < 0 || !ir_const_int(value_dim(indices, listed), &named)) {
		lower_fail(l, ERR_UNSUPPORTED, "the last extent of indices is not known at build time.");
		return err_advise(l->err, "Fix the shape of the indices: it decides which axes they name.");
	}
	if (named < 0 || named > rank || value_rank(updates) != listed + rank - named)
		return lower_fail(l, ERR_MODEL, "indices name %lld axes of data of rank %d, and updates have rank %d.",
		                  (long long)named, rank, value_rank(updates));
	for (int i = 0; i < listed; i++)
		from[i] = space_push(l, &s, value_dim(indices, i));
	for (int i = 0; i < named; i++) {
		from[listed] = idx(l, i);
		index[i] = target(load(indices, from), value_dim(x, i), &inside);
	}
	for (int i = (int)named; i < rank; i++)
		index[i] = space_push(l, &s, value_dim(x, i));
	lower_output(l, 0,
	             lower_scatter(l, NULL, t, &out, at(x, &out), &s, combine, index, load(updates, s.at), inside));
	return 0;
}

const struct op_def op_scatter_nd = {
	.name = "ScatterND",
	.since = { 11, 13, 16, 18 },
	.formula = "y = x, then y[indices[i.., 0], indices[i.., 1] .., j..] = updates[i.., j..]",
	.inputs = { IN("data", TS_DATA), IN("indices", TS(I64)), IN("updates", TS_DATA) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_WORD("reduction", "none|add|mul|max|min", "opset 16: how an update meets what is there") },
	.lower = lower_nd,
	.cases = { "data:f32[20,30,8] indices:i64[N,2] updates:f32[N,8]",
	           "data:f32[H,W] indices:i64[5,1] updates:f32[5,W] reduction=max opset=18" },
};
