/* Poolings: their spaces, and MaxPool. */
#include "ops/lower/pooling.h"

int pooling_begin(struct lower *l, struct pooling *p)
{
	bool last = window_channels_last(l);
	struct value given = lower_input(l, 0), x = last ? window_channels_first(l, given) : given;
	int rank = value_rank(x), n = rank - 2;

	if (rank < 3 || rank + n > IR_MAX_RANK)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it needs batch, channels and spatial ones.",
		                  rank);
	*p = (struct pooling){ .in = given, .rank = rank };
	TRY(window_kernel(l, n, p->kernel));
	TRY(window_read(l, x, n, p->kernel, lower_int(l, "ceil_mode") != 0, &p->w));
	p->x[0] = space_push(l, &p->s, value_dim(x, 0));
	if (!last)
		p->x[1] = space_push(l, &p->s, value_dim(x, 1));
	for (int i = 0; i < n; i++)
		p->window[i] = space_push(l, &p->s, p->w.out[i]);
	if (last)
		p->x[1] = space_push(l, &p->s, value_dim(x, 1));
	for (int i = 0; i < n; i++) {
		expr k = space_push(l, &p->s, p->kernel[i]);

		p->x[2 + i] = window_position(&p->w, i, p->window[i], k);
	}
	p->inside = window_inside(&p->w, &p->x[2]);
	if (last)
		window_move_channel(rank, p->x);
	return 0;
}

expr pooling_count(struct lower *l, const struct pooling *p)
{
	bool padding = lower_int(l, "count_include_pad") != 0, hangs = lower_int(l, "ceil_mode") != 0;
	expr count = idx(l, 1);

	for (int i = 0; i < p->w.n; i++)
		count = mul(count, padding && !hangs ? p->kernel[i] : window_count(&p->w, i, p->window[i], padding));
	return count;
}

/* The flattened position in x of the maximum, from its flattened position `place` in the window. With storage_order 1
 * the spatial axes count column-major. */
static expr flat_position(struct lower *l, const struct pooling *p, const struct space *out, expr place)
{
	expr k[IR_MAX_RANK], flat = idx(l, 0), image = idx(l, 1);
	bool columns = lower_int(l, "storage_order") != 0;

	ir_unflat(place, p->w.n, p->kernel, k);
	for (int j = 0; j < p->w.n; j++) {
		int i = columns ? p->w.n - 1 - j : j;

		flat = add(mul(flat, p->w.in[i]), window_position(&p->w, i, out->at[2 + i], k[i]));
		image = mul(image, p->w.in[i]);
	}
	return add(mul(add(mul(out->at[0], value_dim(p->in, 1)), out->at[1]), image), flat);
}

int max_pool_lower(struct lower *l)
{
	struct ir_pool *pool = l->program->pool;
	struct pooling p;
	struct space out;
	struct value place;
	expr e;

	TRY(pooling_begin(l, &p));
	e = load(p.in, p.x);
	if (type_is_float(e->type))
		e = wide(e);
	e = select_(p.inside, e, ir_identity(pool, IR_MAXIMUM, e->type));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(p.in), &p.s, p.rank, IR_MAXIMUM, e, NULL));
	if (!lower_wants(l, 1))
		return 0;
	/* Small integers are widened, so that no element equals the padding. */
	e = wide(load(p.in, p.x));
	e = select_(p.inside, e, ir_identity(pool, IR_MAXIMUM, e->type));
	place = lower_reduce(l, "place", TYPE_I64, &p.s, p.rank, IR_ARGMAX, e, NULL);
	out = space_of(l, place);
	e = flat_position(l, &p, &out, cast(at(place, &out), TYPE_INDEX));
	lower_output(l, 1, lower_map(l, "indices", TYPE_I64, &out, cast(e, TYPE_I64)));
	return 0;
}
