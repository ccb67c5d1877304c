/* The common space of operands that broadcast. See lower.h. */
#include "ops/lower/lower.h"

/* The broadcast of two extents; null if they can never agree. */
static expr broadcast_extent(expr a, expr b)
{
	int64_t n;
	bool large_a = ir_less(with(a, 1), a), large_b = ir_less(with(b, 1), b);

	if (a == b || ir_is_int(b, 1))
		return a;
	if (ir_is_int(a, 1))
		return b;
	if (ir_const_int(a, &n)) /* not 1: at run time b is n or 1 */
		return ir_const_int(b, &n) ? NULL : a;
	if (ir_const_int(b, &n))
		return b;
	if (large_a && large_b)
		return a->size <= b->size ? a : b;
	return large_a ? a : large_b ? b : select_(eq(a, with(a, 1)), b, a);
}

static const char *shape_text(struct lower *l, struct value v)
{
	struct str s = str_new(l->program->arena);

	str_add(&s, "[");
	for (int i = 0; i < v.buf->rank; i++) {
		str_add(&s, i ? "," : "");
		ir_print_expr(&s, v.buf->dim[i], 0);
	}
	str_add(&s, "]");
	return str_text(&s);
}

int space_broadcast(struct lower *l, struct space *out, int n, const struct value *v)
{
	expr dim[IR_MAX_RANK];
	int rank = 0;

	for (int k = 0; k < n; k++)
		if (v[k].given && v[k].buf->rank > rank)
			rank = v[k].buf->rank;
	for (int i = 0; i < rank; i++)
		dim[i] = idx(l, 1);
	for (int k = 0; k < n; k++) {
		int pad = v[k].given ? rank - v[k].buf->rank : rank;

		for (int i = pad; i < rank; i++) {
			dim[i] = broadcast_extent(dim[i], v[k].buf->dim[i - pad]);
			if (!dim[i])
				return lower_fail(
				        l, ERR_MODEL, "the shape %s of operand %d cannot be broadcast with %s%s.",
				        shape_text(l, v[k]), k + 1, k > 1 ? "those before it, the first being " : "",
				        shape_text(l, v[0]));
		}
	}
	for (int i = 0; i < rank; i++)
		TRY(lower_demand_broadcast(l, n, v, rank - 1 - i, dim[i]));
	*out = space_new(l, rank, dim);
	return 0;
}
