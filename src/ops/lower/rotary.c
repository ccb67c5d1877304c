/* Rotary position embedding: of each pair (a, b) of a head's elements, at position p and with the pair's number j:
 *   a' = a cos[p, j] - b sin[p, j],  b' = a sin[p, j] + b cos[p, j] */
#include "ops/lower/rotary.h"
#include "ops/lower/attention_core.h"

struct rotary_pair rotary_pair(const struct rotary *r, expr d)
{
	expr two = with(d, 2), half = floordiv(r->size, two), zero = with(d, 0);
	struct rotary_pair p = { .turned = lt(d, r->size) };

	if (r->interleaved) {
		p.first = eq(mod(d, two), zero);
		p.number = floordiv(d, two);
		p.partner = select_(p.first, addi(d, 1), addi(d, -1));
	} else {
		p.first = lt(d, half);
		p.number = select_(p.first, d, sub(d, half));
		p.partner = select_(p.first, add(d, half), sub(d, half));
	}
	return p;
}

expr rotary_turn(const struct rotary_pair *p, expr x, expr other, expr cosine, expr sine)
{
	expr y = add(mul(x, cosine), mul(select_(p->first, unary(IR_NEG, sine), sine), other));

	return select_(p->turned, y, x);
}

/* The list of positions that a pair uses, of three: each list has a section of the pairs; interleaved, every third
 * pair, and the first list has the remaining ones. */
static expr list_of(struct lower *l, expr pair)
{
	struct ints size = lower_ints(l, "mrope_section");
	expr zero = with(pair, 0), one = with(pair, 1), two = with(pair, 2), rest = mod(pair, with(pair, 3));

	if (lower_int(l, "mrope_layout"))
		return select_(and_(eq(rest, one), lt(pair, with(pair, 3.0 * (double)size.at[1]))), one,
		               select_(and_(eq(rest, two), lt(pair, with(pair, 3.0 * (double)size.at[2]))), two, zero));
	return select_(lt(pair, with(pair, (double)size.at[0])), zero,
	               select_(lt(pair, with(pair, (double)(size.at[0] + size.at[1]))), one, two));
}

/* The cache's element for the pair at (b, s). */
static expr angle(struct lower *l, struct value cache, struct value position, expr b, expr s, expr pair)
{
	expr p;

	if (value_rank(cache) == 3)
		return wide(load_list(cache, 3, b, s, pair));
	if (!position.given)
		p = s;
	else if (value_rank(position) < 2)
		p = add(cast(at_first(position), TYPE_INDEX), s);
	else if (value_rank(position) == 3)
		p = cast(load_list(position, 3, list_of(l, pair), b, s), TYPE_INDEX);
	else
		p = cast(load_list(position, 2, b, s), TYPE_INDEX);
	return wide(load_list(cache, 2, wrap_index(p, value_dim(cache, 0)), pair));
}

int rotary_embed(struct lower *l, struct value position, struct value cosine, struct value sine)
{
	struct value x = lower_input(l, 0);
	struct space out = space_of(l, x);
	int64_t heads = lower_int(l, "num_heads"), size = lower_int(l, "rotary_embedding_dim"), pairs;
	struct rotary r = { .interleaved = lower_int(l, "interleaved") != 0 };
	struct rotary_pair p;
	struct heads h;
	expr b = out.at[0], head, half, s, d, e;

	if (value_rank(cosine) != value_rank(sine) || value_rank(cosine) < 2 || value_rank(cosine) > 3)
		return lower_fail(l, ERR_MODEL, "cos_cache and sin_cache must both have two or three axes.");
	if (!heads && value_rank(x) == 3 && !size) { /* the caches say how large a head is */
		TRY(heads_read(l, x, 1, "the input", &h));
		h.size = muli(value_dim(cosine, value_rank(cosine) - 1), 2);
	} else {
		TRY(heads_read(l, x, heads, "the input", &h));
	}
	r.size = size ? idx(l, size) : h.size;
	if (ir_const_int(r.size, &size) && ir_const_int(value_dim(cosine, value_rank(cosine) - 1), &pairs) &&
	    (size % 2 || pairs != size / 2))
		return lower_fail(l, ERR_MODEL, "%lld elements of a head are rotated, but the caches have %lld pairs.",
		                  (long long)size, (long long)pairs);
	if (lower_int(l, "rotary_embedding_dim"))
		TRY(lower_demand_of(l, IR_AT_MOST, "the number of rotated elements", r.size, "a head's size", h.size));
	half = floordiv(r.size, idx(l, 2));
	TRY(lower_demand_extent(l, IR_SAME, half, cosine, value_rank(cosine) - 1));
	TRY(lower_demand_extent(l, IR_SAME, half, sine, value_rank(sine) - 1));
	TRY(lower_demand_of(l, IR_SAME, NULL, muli(half, 2), "the number of rotated elements", r.size));
	if (h.layout == HEADS_BSD)
		TRY(lower_demand_extent(l, IR_SAME, mul(floordiv(value_dim(x, 2), h.size), h.size), x, 2));
	if (h.layout == HEADS_BNSH) {
		head = out.at[1];
		s = out.at[2];
		d = out.at[3];
	} else {
		s = out.at[1];
		head = floordiv(out.at[2], h.size);
		d = mod(out.at[2], h.size);
	}
	p = rotary_pair(&r, d);
	e = rotary_turn(&p, wide(heads_at(&h, b, head, s, d)), wide(heads_at(&h, b, head, s, p.partner)),
	                cast(angle(l, cosine, position, b, s, p.number), compute_type(value_type(x))),
	                cast(angle(l, sine, position, b, s, p.number), compute_type(value_type(x))));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &out, e));
	return 0;
}

int rotary_check_positions(struct lower *l, struct value position)
{
	if (position.given && value_rank(position) > 2)
		return lower_fail(l, ERR_MODEL, "position_ids has %d axes; two are the most.", value_rank(position));
	return 0;
}
