/* Reductions of one tensor over some of its axes: their spaces, means and variances. */
#include "ops/lower/reduction.h"

struct reduction reduce_space(struct lower *l, struct value x, const bool *reduced, bool keep)
{
	struct reduction r = { .count = idx(l, 1) };
	int rank = value_rank(x);

	for (int i = 0; i < rank; i++) {
		if (!reduced[i])
			r.index[i] = space_push(l, &r.s, value_dim(x, i));
		else if (keep)
			space_push(l, &r.s, idx(l, 1));
	}
	r.rank = r.s.rank;
	for (int i = 0; i < rank; i++) {
		if (!reduced[i])
			continue;
		r.index[i] = space_push(l, &r.s, value_dim(x, i));
		r.count = mul(r.count, value_dim(x, i));
	}
	if (r.s.rank == r.rank) /* nothing is reduced: one axis of one element, so that it stays a reduction */
		space_push(l, &r.s, idx(l, 1));
	return r;
}

void reduce_from(bool *reduced, int rank, int first)
{
	for (int i = 0; i < rank; i++)
		reduced[i] = i >= first;
}

struct value reduce_mean(struct lower *l, const char *name, enum type t, const struct reduction *r, expr value)
{
	enum type a = value->type;

	return lower_reduce(l, name, t, &r->s, r->rank, IR_SUM, value, divide(acc(l, a), cast(r->count, a)));
}

struct value reduce_variance(struct lower *l, const char *name, enum type t, const struct reduction *r, struct value x,
                             struct value mean)
{
	expr d = sub(cast(load(x, r->index), mean.buf->type), load(mean, r->s.at));

	return reduce_mean(l, name, t, r, mul(d, d));
}
