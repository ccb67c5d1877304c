/* RotaryEmbedding: of each pair (a, b) of a head's elements, at position p and with the pair's number j:
 *   a' = a cos[p, j] - b sin[p, j],  b' = a sin[p, j] + b cos[p, j]
 * Positions come from position_ids (a list for each sample, or the first one), or the caches hold them for each
 * sample.
 * Source: ONNX, operator RotaryEmbedding, opset 23; ONNX Runtime, com.microsoft.RotaryEmbedding. */
#include "ops/attention.h"
#include "ops/rotary.h"

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

/* The cache's element for the pair at (b, s). */
static expr angle(struct value cache, struct value position, expr b, expr s, expr pair)
{
	expr p;

	if (value_rank(cache) == 3)
		return wide(load_list(cache, 3, b, s, pair));
	if (!position.given)
		p = s;
	else if (value_rank(position) < 2)
		p = add(cast(at_first(position), TYPE_INDEX), s);
	else
		p = cast(load_list(position, 2, b, s), TYPE_INDEX);
	return wide(load_list(cache, 2, wrap_index(p, value_dim(cache, 0)), pair));
}

static int embed(struct lower *l, struct value position, struct value cosine, struct value sine)
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
	if (position.given && value_rank(position) > 2)
		return lower_fail(l, ERR_MODEL, "position_ids has %d axes; two are the most.", value_rank(position));
	if (!heads && value_rank(x) == 3 && !size) { /* the caches say how large a head is */
		TRY(heads_read(l, x, 1, "the input", &h));
		h.size = muli(value_dim(cosine, value_rank(cosine) - 1), 2);
	} else {
		TRY(heads_read(l, x, heads, "the input", &h));
	}
	r.size = size ? idx(l, size) : h.size;
	if (ir_const_int(r.size, &size) && ir_const_int(value_dim(cosine, value_rank(cosine) - 1), &pairs) &&
	    (size % 2 || pairs != size / 2))
		return lower_fail(l, ERR_MODEL, "%lld elements of a head are turned, and the caches have %lld pairs.",
		                  (long long)size, (long long)pairs);
	half = floordiv(r.size, idx(l, 2));
	TRY(lower_demand_extent(l, IR_SAME, half, cosine, value_rank(cosine) - 1));
	TRY(lower_demand_extent(l, IR_SAME, half, sine, value_rank(sine) - 1));
	TRY(lower_demand_of(l, IR_SAME, NULL, muli(half, 2), "the number of elements that are turned", r.size));
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
	                cast(angle(cosine, position, b, s, p.number), compute_type(value_type(x))),
	                cast(angle(sine, position, b, s, p.number), compute_type(value_type(x))));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &out, e));
	return 0;
}

static int lower(struct lower *l)
{
	return embed(l, lower_input(l, 3), lower_input(l, 1), lower_input(l, 2));
}

static int lower_microsoft(struct lower *l)
{
	return embed(l, lower_input(l, 1), lower_input(l, 2), lower_input(l, 3));
}

/* clang-format off */
#define FORMULA "each pair of a head's elements, turned by the angle of its position"
#define ROTARY_ATTRS                                                                                                   \
	ATTR_INT("interleaved", 0, "1: pairs are neighbours; 0: an element and that half a head behind it"),           \
	ATTR_INT("num_heads", 0, "of an input with three axes"),                                                       \
	ATTR_INT("rotary_embedding_dim", 0, "elements of a head that are turned; 0: all")

const struct op_def ops_rotary_embedding[] = {
	{ .name = "RotaryEmbedding", .since = { 23 }, .formula = FORMULA,
	  .inputs = { IN("x", TS_FLOAT), IN("cos_cache", TS_FLOAT), IN("sin_cache", TS_FLOAT),
		      OPT("position_ids", TS(I64)) },
	  .outputs = { OUT("y") }, .attrs = { ROTARY_ATTRS }, .lower = lower,
	  .cases = { "x:f16[B,8,S,64] cos_cache:f16[128,32] sin_cache:f16[128,32] position_ids:i64[B,S]",
		     "x:f32[B,S,96] cos_cache:f32[B,S,4] sin_cache:f32[B,S,4] num_heads=12 interleaved=1" } },
	{ .name = "RotaryEmbedding", .domain = "com.microsoft", .since = { 1 }, .formula = FORMULA,
	  .inputs = { IN("input", TS_FLOAT), IN("position_ids", TS(I64)), IN("cos_cache", TS_FLOAT),
		      IN("sin_cache", TS_FLOAT) },
	  .outputs = { OUT("output") },
	  .attrs = { ROTARY_ATTRS, ATTR_FLOAT("scale", 1, "has no effect"),
		     ATTR_INT("is_packed_batching", 0, "samples have different lengths, without padding") },
	  .lower = lower_microsoft,
	  .cases = { "input:f16[B,S,512] position_ids:i64[B,S] cos_cache:f16[128,32] sin_cache:f16[128,32]" } },
	{ .name = NULL },
};
/* clang-format on */
