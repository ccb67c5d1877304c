/* Matrix products: index spaces, and Gemm with an optional last step. */
#include "ops/lower/product.h"

#include <math.h>

#include "base/number.h"

int product_space(struct lower *l, struct value a, struct value b, struct product *out)
{
	int ra = value_rank(a), rb = value_rank(b), batch_a = ra > 2 ? ra - 2 : 0, batch_b = rb > 2 ? rb - 2 : 0, batch;
	struct ir_buffer of_a, of_b;
	struct value batches[2];
	expr k;

	if (ra < 1 || rb < 1)
		return lower_fail(l, ERR_MODEL, "an operand of the matrix product is a scalar.");
	TRY(lower_same(l, a, ra - 1, b, rb > 1 ? rb - 2 : 0, &k));

	/* Only the batch axes broadcast. */
	of_a = *a.buf;
	of_a.rank = batch_a;
	of_b = *b.buf;
	of_b.rank = batch_b;
	batches[0] = (struct value){ .buf = &of_a, .given = true, .pool = a.pool };
	batches[1] = (struct value){ .buf = &of_b, .given = true, .pool = b.pool };
	*out = (struct product){ .column = idx(l, 0) };
	TRY(space_broadcast(l, &out->s, 2, batches));
	batch = out->s.rank;
	index_axes(a, batch_a, &out->s, batch - batch_a, out->a);
	index_axes(b, batch_b, &out->s, batch - batch_b, out->b);

	if (ra > 1)
		out->a[ra - 2] = space_push(l, &out->s, value_dim(a, ra - 2));
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

int product_integers(struct lower *l, const struct product *p, struct value a, struct value zero_a, struct value b,
                     struct value zero_b, expr *out)
{
	expr x = cast(load(a, p->a), TYPE_I32), y = cast(load(b, p->b), TYPE_I32), zero;

	if (zero_a.given) {
		TRY(product_parameter(l, zero_a, a, p->a, product_row(a), &zero));
		x = sub(x, cast(zero, TYPE_I32));
	}
	if (zero_b.given) {
		TRY(product_parameter(l, zero_b, b, p->b, product_column(b), &zero));
		y = sub(y, cast(zero, TYPE_I32));
	}
	*out = mul(x, y);
	return 0;
}

/* x times the attribute `attr`, which must be a whole number for integers. */
static int scaled(struct lower *l, const char *attr, expr x, expr *out)
{
	double factor = lower_float(l, attr);

	if (type_is_int(x->type) && (factor != (double)number_int(factor) || fabs(factor) > 0x1p53))
		return lower_fail(l, ERR_UNSUPPORTED, "%s is %g; it must be a whole number for integers.", attr,
		                  factor);
	*out = factor == 1 ? x : mul(x, with(x, factor));
	return 0;
}

int product_gemm(struct lower *l, lower_finish finish)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 1), c = lower_input(l, 2);
	bool ta = lower_int(l, "transA") != 0, tb = lower_int(l, "transB") != 0;
	struct space s = { 0 };
	expr m, n, k, sum, post;

	if (value_rank(a) != 2 || value_rank(b) != 2)
		return lower_fail(l, ERR_MODEL, "a and b have %d and %d axes; both must have two.", value_rank(a),
		                  value_rank(b));
	if (c.given && value_rank(c) > 2)
		return lower_fail(l, ERR_MODEL, "c has %d axes; it can have at most two.", value_rank(c));
	if (value_type(a) != value_type(b) || (c.given && value_type(c) != value_type(a)))
		return lower_fail(l, ERR_MODEL, "a, b and c must have one type.");
	TRY(lower_same(l, a, !ta, b, tb, &k));
	m = space_push(l, &s, value_dim(a, ta));
	n = space_push(l, &s, value_dim(b, !tb));
	post = acc(l, accumulator_type(value_type(a)));
	TRY(scaled(l, "alpha", post, &post));
	if (c.given) {
		expr e;

		TRY(scaled(l, "beta", wide(at(c, &s)), &e));
		post = add(post, e);
	}
	if (finish)
		TRY(finish(l, &s, post, &post));
	k = space_push(l, &s, k);
	sum = mul(wide(ta ? load_list(a, 2, k, m) : load_list(a, 2, m, k)),
	          wide(tb ? load_list(b, 2, n, k) : load_list(b, 2, k, n)));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(a), &s, 2, IR_SUM, sum, post));
	return 0;
}
