/* The stages of scaled dot-product attention: scores, the largest score of each row, the sum of its exponentials, and
 * the weighted sum of values, divided once at its end. Intermediate results are f32, or f64 for f64 inputs. */
#include "ops/lower/attention_core.h"

#include <math.h>

/* ---- Heads ------------------------------------------------------------------------------------------------------- */

expr heads_at(const struct heads *x, expr b, expr h, expr s, expr d)
{
	expr flat = add(mul(h, x->size), d), e;

	switch (x->layout) {
	case HEADS_BNSH: e = load_list(x->v, 4, b, h, s, d); break;
	case HEADS_PACKED: e = load_list(x->v, 5, b, s, h, x->offset ? x->offset : with(b, 0), d); break;
	case HEADS_BSD:
	default: e = load_list(x->v, 3, b, s, x->offset ? add(x->offset, flat) : flat);
	}
	if (x->bias.given)
		e = add(wide(e), wide(load_list(x->bias, 1, x->bias_offset ? add(x->bias_offset, flat) : flat)));
	return e;
}

struct heads heads_of(struct value v)
{
	return (struct heads){ .v = v,
		               .layout = HEADS_BNSH,
		               .batch = value_dim(v, 0),
		               .heads = value_dim(v, 1),
		               .length = value_dim(v, 2),
		               .size = value_dim(v, 3) };
}

struct heads heads_part(struct lower *l, struct value v, int64_t heads, expr from, expr width)
{
	return (struct heads){ .v = v,
		               .layout = HEADS_BSD,
		               .offset = from,
		               .batch = value_dim(v, 0),
		               .heads = idx(l, heads),
		               .length = value_dim(v, 1),
		               .size = floordiv(width, idx(l, heads)) };
}

int heads_read(struct lower *l, struct value v, int64_t heads, const char *what, struct heads *out)
{
	int64_t hidden;

	if (value_rank(v) == 4) {
		*out = heads_of(v);
		return 0;
	}
	if (value_rank(v) != 3)
		return lower_fail(l, ERR_MODEL, "%s has %d axes; it must have 3 or 4.", what, value_rank(v));
	if (heads < 1 || (ir_const_int(value_dim(v, 2), &hidden) && hidden % heads))
		return lower_fail(l, ERR_MODEL, "the last axis of %s cannot be split into %lld heads.", what,
		                  (long long)heads);
	TRY(lower_demand_multiple(l, v, 2, heads));
	*out = (struct heads){ .v = v,
		               .layout = HEADS_BSD,
		               .batch = value_dim(v, 0),
		               .heads = idx(l, heads),
		               .length = value_dim(v, 1),
		               .size = floordiv(value_dim(v, 2), idx(l, heads)) };
	return 0;
}

/* Queries may share keys: the number of query heads is a multiple of the number of key heads. */
int heads_agree(struct lower *l, const struct heads *q, const struct heads *k, const struct heads *v)
{
	expr shared = floordiv(q->heads, k->heads);

	TRY(lower_demand_of(l, IR_SAME, NULL, mul(shared, k->heads), "the number of query heads", q->heads));
	TRY(lower_demand_of(l, IR_SAME, "the number of key heads", k->heads, "the number of value heads", v->heads));
	TRY(lower_demand_of(l, IR_SAME, "the size of a query's head", q->size, "the size of a key's", k->size));
	TRY(lower_demand_of(l, IR_SAME, "the batch of the query", q->batch, "that of the key", k->batch));
	TRY(lower_demand_of(l, IR_SAME, "the batch of the query", q->batch, "that of the value", v->batch));
	return lower_demand_of(l, IR_SAME, "the length of the key", k->length, "that of the value", v->length);
}

struct value heads_join(struct lower *l, const char *name, const struct heads *x, struct value past)
{
	expr before = past.given ? value_dim(past, 2) : NULL, e, dim[4];
	struct space s;

	dim[0] = x->batch;
	dim[1] = x->heads;
	dim[2] = before ? add(before, x->length) : x->length;
	dim[3] = x->size;
	s = space_new(l, 4, dim);
	e = heads_at(x, s.at[0], s.at[1], before ? sub(s.at[2], before) : s.at[2], s.at[3]);
	if (before)
		e = select_(lt(s.at[2], before), cast(load(past, s.at), e->type), e);
	return lower_map(l, name, value_type(x->v), &s, e);
}

/* ---- Attention --------------------------------------------------------------------------------------------------- */

expr attention_masked(expr score)
{
	return with(score, -INFINITY);
}

expr attention_scale(struct lower *l, enum type t, expr size)
{
	int64_t n;

	if (ir_const_int(size, &n))
		return num(l, t, 1 / sqrt((double)n));
	return divide(num(l, t, 1), unary(IR_SQRT, cast(size, t)));
}

/* The key head that query head h attends to. */
static expr key_head(const struct attention *a, expr h)
{
	return a->q.heads == a->k.heads ? h : floordiv(h, floordiv(a->q.heads, a->k.heads));
}

static expr cap(const struct attention *a, expr score)
{
	return a->softcap ? mul(with(score, a->softcap), unary(IR_TANH, divide(score, with(score, a->softcap))))
	                  : score;
}

/* Scores as they enter the softmax. An earlier form that the caller wants becomes a stage of its own. */
static struct value scores(struct lower *l, struct attention *a)
{
	expr dim[4] = { a->q.batch, a->q.heads, a->q.length, a->k.length }, d, e, product;
	struct space s = space_new(l, 4, dim), out = s;
	struct value v;

	d = space_push(l, &s, a->q.size);
	product = mul(wide(heads_at(&a->q, s.at[0], s.at[1], s.at[2], d)),
	              wide(heads_at(&a->k, s.at[0], key_head(a, s.at[1]), s.at[3], d)));
	e = mul(acc(l, product->type), a->scale);
	if (a->keep == ATTENTION_RAW || a->keep == ATTENTION_CAPPED) {
		if (a->keep == ATTENTION_CAPPED)
			e = cap(a, e);
		a->kept = v = lower_reduce(l, "products", product->type, &s, 4, IR_SUM, product, e);
		e = load(v, out.at);
		if (a->keep == ATTENTION_RAW)
			e = cap(a, e);
		return lower_map(l, "scores", e->type, &out, a->bias ? a->bias(l, a, &out, e) : e);
	}
	e = cap(a, e);
	if (a->bias)
		e = a->bias(l, a, &out, e);
	v = lower_reduce(l, "scores", product->type, &s, 4, IR_SUM, product, e);
	if (a->keep == ATTENTION_BIASED)
		a->kept = v;
	return v;
}

static expr exponential(struct value score, struct value largest, expr b, expr h, expr i, expr j)
{
	expr top = load_list(largest, 3, b, h, i);

	return unary(IR_EXP, sub(cast(load_list(score, 4, b, h, i, j), top->type), top));
}

struct value attention_lower(struct lower *l, struct attention *a, enum type t, bool flat)
{
	struct value score = scores(l, a), largest, sum;
	struct space s = space_of(l, score), y = { 0 };
	enum type soft = a->f64 ? TYPE_F64 : value_type(score);
	expr top = acc(l, soft), total = acc(l, soft), b, h, i, j, d, e;

	/* With all scores minus infinity the exponentials are zeros; dividing by 1 instead of 0 gives zeros. */
	if (a->extra)
		top = max_(top, cast(a->extra, soft));
	top = select_(eq(top, attention_masked(top)), with(top, 0), top);
	largest = lower_reduce(l, "largest", soft, &s, 3, IR_MAXIMUM, cast(load(score, s.at), soft), top);
	e = exponential(score, largest, s.at[0], s.at[1], s.at[2], s.at[3]);
	if (a->extra)
		total = add(total, unary(IR_EXP, sub(cast(a->extra, soft), load(largest, s.at))));
	total = select_(eq(total, with(total, 0)), with(total, 1), total);
	sum = lower_reduce(l, "exp_sum", soft, &s, 3, IR_SUM, e, total);
	if (a->keep == ATTENTION_SOFTMAX)
		a->kept = lower_map(l, "weights", value_type(score), &s, divide(e, load(sum, s.at)));

	b = space_push(l, &y, a->q.batch);
	if (flat) {
		i = space_push(l, &y, a->q.length);
		d = space_push(l, &y, mul(a->q.heads, a->v.size));
		h = floordiv(d, a->v.size);
		d = mod(d, a->v.size);
	} else {
		h = space_push(l, &y, a->q.heads);
		i = space_push(l, &y, a->q.length);
		d = space_push(l, &y, a->v.size);
	}
	j = space_push(l, &y, a->k.length);
	e = exponential(score, largest, b, h, i, j);
	e = mul(e, cast(heads_at(&a->v, b, key_head(a, h), j, d), soft));
	return lower_reduce(l, NULL, t, &y, y.rank - 1, IR_SUM, e, divide(acc(l, soft), load_list(sum, 3, b, h, i)));
}
