/* Attention over a few places of several feature maps (Deformable DETR): a query reads each map at P places,
 * interpolated between its elements, and sums the values:
 *   y[n, q, m, d] = sum over l, p of weight[n, q, m, l, p] * map l(y', x'), (x', y') = place[n, q, m, l, p] * (W, H) -
 *     1/2
 * Element (y, x) of map l is value[n, start[l] + y W[l] + x, m, d]; elements outside of a map are zero.
 * Sources: Zhu et al., Deformable DETR, equation (3); the READMEs of TensorRT's multiscaleDeformableAttnPlugin and of
 * mmdeploy's TensorRT operators. */
#include "ops/lower/lower.h"

struct maps {
	struct value value, shapes, start, places, weights;
};

static int check(struct lower *l, const struct maps *m)
{
	int64_t n;

	if (value_rank(m->value) != 4 || value_rank(m->shapes) != 2 || value_rank(m->start) != 1 ||
	    value_rank(m->places) != 6 || value_rank(m->weights) != 5)
		return lower_fail(
		        l, ERR_MODEL,
		        "the inputs must have 4, 2, 1, 6 and 5 axes: value, shapes of the maps, their starts, places, "
		        "weights.");
	if ((ir_const_int(value_dim(m->shapes, 1), &n) && n != 2) ||
	    (ir_const_int(value_dim(m->places, 5), &n) && n != 2))
		return lower_fail(l, ERR_MODEL, "a map's shape and a place have two numbers each, not %lld.",
		                  (long long)n);
	return 0;
}

/* One axis of a map at place x, 0 to 1 over the map: its lower element, and the fraction to the next one. */
struct spot {
	expr low, fraction, inside, extent;
};

static struct spot spot_of(expr x, expr extent)
{
	expr n = cast(extent, x->type), p = sub(mul(x, n), with(x, 0.5)), low;
	struct spot s = { .extent = extent, .inside = and_(gt(p, with(p, -1)), lt(p, n)) };

	p = clamp(p, with(p, -1), n);
	low = unary(IR_FLOOR, p);
	s.low = cast(low, TYPE_INDEX);
	s.fraction = sub(p, low);
	return s;
}

/* The value interpolated between the four elements around (y, x), value[n, start + y W + x, m, d]; index holds n, m
 * and d. */
static expr between(const struct maps *maps, const struct spot *y, const struct spot *x, expr start, expr *index)
{
	expr rows = value_dim(maps->value, 1), sum = NULL;

	for (int corner = 0; corner < 4; corner++) {
		expr iy = addi(y->low, corner >> 1), ix = addi(x->low, corner & 1), one = with(y->fraction, 1);
		expr weight = mul(corner >> 1 ? y->fraction : sub(one, y->fraction),
		                  corner & 1 ? x->fraction : sub(one, x->fraction));
		expr row = add(add(start, mul(iy, x->extent)), ix);
		expr inside = and_(and_(ge(iy, with(iy, 0)), lt(iy, y->extent)),
		                   and_(ge(ix, with(ix, 0)), lt(ix, x->extent))),
		     e;

		/* shapes and starts are data: rows beyond the tensor read nothing */
		inside = and_(inside, and_(ge(row, with(row, 0)), lt(row, rows)));
		index[1] = row;
		e = mul(weight, wide(load(maps->value, index)));
		e = select_(inside, e, with(e, 0));
		sum = sum ? add(sum, e) : e;
	}
	return sum;
}

/* The axes of a result element, given with `heads` and `channel`: [n, q, m, d], or [n, q, m d] as one. */
static int attend(struct lower *l, bool flat)
{
	struct maps m = { lower_input(l, 0), lower_input(l, 1), lower_input(l, 2), lower_input(l, 3),
		          lower_input(l, 4) };
	expr place[6], index[4], heads, channels, y, e, level;
	struct spot at[2];
	struct space s = { 0 };
	int rank;

	TRY(check(l, &m));
	heads = value_dim(m.value, 2);
	channels = value_dim(m.value, 3);
	index[0] = place[0] = space_push(l, &s, value_dim(m.value, 0));
	place[1] = space_push(l, &s, value_dim(m.places, 1));
	if (flat) {
		y = space_push(l, &s, mul(heads, channels));
		index[2] = floordiv(y, channels);
		index[3] = mod(y, channels);
	} else {
		index[2] = space_push(l, &s, heads);
		index[3] = space_push(l, &s, channels);
	}
	rank = s.rank;
	place[2] = index[2];
	level = place[3] = space_push(l, &s, value_dim(m.places, 3));
	place[4] = space_push(l, &s, value_dim(m.places, 4));
	for (int i = 0; i < 2; i++) { /* places are x, y; shapes are H, W */
		place[5] = idx(l, 1 - i);
		at[i] = spot_of(wide(load(m.places, place)),
		                cast(load_list(m.shapes, 2, level, idx(l, i)), TYPE_INDEX));
	}
	e = between(&m, &at[0], &at[1], cast(load(m.start, &level), TYPE_INDEX), index);
	e = mul(e, wide(load(m.weights, place)));
	e = select_(and_(at[0].inside, at[1].inside), e, with(e, 0));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(m.value), &s, rank, IR_SUM, e, NULL));
	return 0;
}

static int lower(struct lower *l)
{
	return attend(l, false);
}

static int lower_flat(struct lower *l)
{
	return attend(l, true);
}

/* clang-format off */
#define SLOTS                                                                                                          \
	.domain = OP_ANY_DOMAIN, .since = { 1 },                                                                       \
	.formula = "y = sum over maps and points of weight * map between its elements at place",                       \
	.inputs = { IN("value", TS_FLOAT), IN("spatial_shapes", TS_INDICES), IN("level_start_index", TS_INDICES),      \
		    IN("sampling_locations", TS_FLOAT), IN("attention_weights", TS_FLOAT) },                           \
	.outputs = { OUT("y") },                                                                                       \
	.attrs = { ATTR_INT("im2col_step", 64, "no meaning") }

const struct op_def ops_multi_scale_attention[] = {
	{ .name = "MultiscaleDeformableAttnPlugin_TRT", SLOTS, .lower = lower,
	  .cases = { "value:f32[N,30,8,16] spatial_shapes:i32[2,2]={4,6,2,3} level_start_index:i32[2]={0,24} "
		     "sampling_locations:f32[N,Q,8,2,4,2] attention_weights:f32[N,Q,8,2,4]",
		     "value:f16[N,S,M,32] spatial_shapes:i32[L,2] level_start_index:i32[L] "
		     "sampling_locations:f16[N,Q,M,L,4,2] attention_weights:f16[N,Q,M,L,4]" } },
	{ .name = "MMCVMultiScaleDeformableAttention", SLOTS, .lower = lower_flat,
	  .cases = { "value:f32[N,S,4,8] spatial_shapes:i64[L,2] level_start_index:i64[L] "
		     "sampling_locations:f32[N,Q,4,L,4,2] attention_weights:f32[N,Q,4,L,4]" } },
	{ .name = "MultiScaleDeformableAttention", SLOTS, .lower = lower_flat,
	  .cases = { "value:f32[1,S,8,32] spatial_shapes:i64[4,2] level_start_index:i64[4] "
		     "sampling_locations:f32[1,Q,8,4,4,2] attention_weights:f32[1,Q,8,4,4]" } },
	{ .name = NULL },
};
/* clang-format on */
