/* MatMul: y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n], as numpy.matmul: batches broadcast, an operand of
 * one axis is a row on the left and a column on the right, and that axis is not in the result. Sums in f32, f64 or
 * integers. Source: ONNX, operator MatMul, opsets 1 to 13. */
#include "ops/lower/matmul.h"

int product_space(struct lower *l, struct value a, struct value b, struct product *out)
{
	int ra = value_rank(a), rb = value_rank(b), batch_a = ra > 2 ? ra - 2 : 0, batch_b = rb > 2 ? rb - 2 : 0, batch;
	struct ir_buffer of_a, of_b;
	struct value batches[2];
	expr k;

	if (ra < 1 || rb < 1)
		return lower_fail(l, ERR_MODEL, "an operand of the matrix product is a scalar.");
	TRY(lower_same(l, a, ra - 1, b, rb > 1 ? rb - 2 : 0, &k));

	/* The batch axes alone broadcast. */
	of_a = *a.buf;
	of_a.rank = batch_a;
	of_b = *b.buf;
	of_b.rank = batch_b;
	batches[0] = (struct value){ .buf = &of_a, .given = true, .pool = a.pool };
	batches[1] = (struct value){ .buf = &of_b, .given = true, .pool = b.pool };
	*out = (struct product){ .row = idx(l, 0), .column = idx(l, 0) };
	TRY(space_broadcast(l, &out->s, 2, batches));
	batch = out->s.rank;
	index_axes(a, batch_a, &out->s, batch - batch_a, out->a);
	index_axes(b, batch_b, &out->s, batch - batch_b, out->b);

	if (ra > 1)
		out->row = out->a[ra - 2] = space_push(l, &out->s, value_dim(a, ra - 2));
	if (rb > 1)
		out->column = out->b[rb - 1] = space_push(l, &out->s, value_dim(b, rb - 1));
	out->rank = out->s.rank;
	k = space_push(l, &out->s, k);
	out->a[ra - 1] = k;
	out->b[rb > 1 ? rb - 2 : 0] = k;
	return 0;
}

int product_row(struct value a)
{
	return value_rank(a) - 2;
}

int product_column(struct value b)
{
	return value_rank(b) > 1 ? value_rank(b) - 1 : -1;
}

int product_parameter(struct lower *l, struct value v, struct value of, const expr *index, int axis, expr *out)
{
	int rank = value_rank(v);
	expr at_v[IR_MAX_RANK];

	if (rank > 1 && rank != value_rank(of))
		return lower_fail(l, ERR_MODEL, "a zero point or scale has %d axes and its operand %d.", rank,
		                  value_rank(of));
	if (rank == 0 || (rank == 1 && axis < 0)) {
		*out = at_first(v);
		return 0;
	}
	for (int k = 0; k < rank; k++) {
		int i = rank == 1 ? axis : k;

		TRY(lower_one_or_each(l, v, k, of, i, index[i], &at_v[k]));
	}
	*out = load(v, at_v);
	return 0;
}

static int lower(struct lower *l)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 1);
	struct product p;

	if (value_type(a) != value_type(b))
		return lower_fail(l, ERR_MODEL, "a is %s and b is %s; they must have one type.",
		                  type_name(value_type(a)), type_name(value_type(b)));
	TRY(product_space(l, a, b, &p));
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(a), &p.s, p.rank, IR_SUM,
	                          mul(wide(load(a, p.a)), wide(load(b, p.b))), NULL));
	return 0;
}

#define TYPES (TS_FLOAT | TS(I32) | TS(I64) | TS(U32) | TS(U64))

const struct op_def op_matmul = {
	.name = "MatMul",
	.since = { 1, 9, 13 },
	.formula = "y = a b, matrix product",
	.inputs = { IN("a", TYPES), IN("b", TYPES) },
	.outputs = { OUT("y") },
	.lower = lower,
	.cases = { "a:f32[M,256] b:f32[256,128]", "a:f16[B,12,S,64] b:f16[B,12,64,S]", "a:f32[N,33,K] b:f32[K]" },
};
