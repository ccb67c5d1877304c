/* LinearAttention: each head has a state S [d_k, d_v], which every step updates and the queries read. In step t
 *   linear       S = S + k v^T                     gated        S = exp(g) S + k v^T
 *   delta        S = S + beta k (v - S^T k)^T      gated_delta  S = exp(g) S + beta k (v - (exp(g) S)^T k)^T
 *   y = scale S^T q
 * The columns of S do not depend on each other: here S is stored as [B, H, d_v, d_k], so that all of B, H and d_v are
 * independent rows. Query head h reads the state of head h / (q_num_heads / kv_num_heads); in com.microsoft
 * there may also be fewer query heads, each reading several states, and the last `state_window` states are kept, zeros
 * before. Source: ONNX, operator LinearAttention, opset 27; ONNX Runtime, com.microsoft.LinearAttention. */
#include "ops/lower/shared.h"

#include <string.h>

struct linear_attention {
	struct lower *l;
	struct value q, k, v, past, decay, beta;
	bool gated, delta;
	expr batch, steps, heads, group, dk, dv; /* group: queries that read a head */
	expr queries;                            /* query heads */
	int64_t window;                          /* 0: only the last state, without an axis for it */
	enum type compute;
	struct lower_loop loop;
	struct value state;
};

static int check_rank(struct linear_attention *a, struct value v, const char *name, int rank)
{
	if (v.given && value_rank(v) != rank)
		return lower_fail(a->l, ERR_MODEL, "%s has %d axes; it must have %d.", name, value_rank(v), rank);
	return 0;
}

/* Known extents must be right, since reads follow from them. */
static int check_extent(struct linear_attention *a, struct value v, const char *name, int axis, expr want, expr other)
{
	int64_t have, x, y;

	if (!v.given)
		return 0;
	if (!ir_const_int(value_dim(v, axis), &have) || !ir_const_int(want, &x) || !ir_const_int(other, &y))
		return lower_demand_extent(a->l, IR_SAME, select_(eq(value_dim(v, axis), other), other, want), v, axis);
	if (have == x || have == y)
		return 0;
	if (x == y)
		return lower_fail(a->l, ERR_MODEL, "axis %d of %s is %lld long; it must be %lld.", axis, name,
		                  (long long)have, (long long)x);
	return lower_fail(a->l, ERR_MODEL, "axis %d of %s is %lld long; it must be %lld or %lld.", axis, name,
	                  (long long)have, (long long)x, (long long)y);
}

static int check_extents(struct linear_attention *a)
{
	const struct value packed[] = { a->q, a->k, a->v, a->decay, a->beta };
	const char *const name[] = { "query", "key", "value", "decay", "beta" };
	expr one = idx(a->l, 1), of_heads = mul(a->heads, a->dk), *d = (expr[]){ a->batch, a->heads, a->dk, a->dv };
	int lead = a->window > 0;

	for (int i = 0; i < 5; i++)
		for (int axis = 0; axis < 2; axis++)
			TRY(check_extent(a, packed[i], name[i], axis, value_dim(a->q, axis), value_dim(a->q, axis)));
	TRY(check_extent(a, a->q, "query", 2, mul(a->queries, a->dk), mul(a->queries, a->dk)));
	TRY(check_extent(a, a->k, "key", 2, of_heads, of_heads));
	TRY(check_extent(a, a->v, "value", 2, mul(a->heads, a->dv), mul(a->heads, a->dv)));
	TRY(check_extent(a, a->decay, "decay", 2, of_heads, a->heads));
	TRY(check_extent(a, a->beta, "beta", 2, a->heads, one));
	for (int i = 0; i < 4; i++)
		TRY(check_extent(a, a->past, "past_state", lead + i, d[i], d[i]));
	return lead ? check_extent(a, a->past, "past_state", 0, idx(a->l, a->window), idx(a->l, a->window)) : 0;
}

static int read_inputs(struct linear_attention *a)
{
	struct lower *l = a->l;
	int64_t heads = lower_int(l, "kv_num_heads"), queries = lower_int(l, "q_num_heads");
	const char *rule = lower_word(l, "update_rule");
	bool contrib = l->op->domain != NULL, whole;

	a->q = lower_input(l, 0);
	a->k = lower_input(l, 1);
	a->v = lower_input(l, 2);
	a->past = lower_input(l, 3);
	a->decay = lower_input(l, 4);
	a->beta = lower_input(l, 5);
	a->gated = !strcmp(rule, "gated") || !strcmp(rule, "gated_delta");
	a->delta = !strcmp(rule, "delta") || !strcmp(rule, "gated_delta");
	TRY(check_rank(a, a->q, "query", 3));
	TRY(check_rank(a, a->k, "key", 3));
	TRY(check_rank(a, a->v, "value", 3));
	a->window = contrib ? lower_int(l, "state_window") : 0;
	TRY(check_rank(a, a->past, "past_state", a->window ? 5 : 4));
	TRY(check_rank(a, a->decay, "decay", 3));
	TRY(check_rank(a, a->beta, "beta", 3));
	whole = heads > 0 && queries > 0 && (queries % heads == 0 || (contrib && heads % queries == 0));
	if (!whole || a->window < 0)
		return lower_fail(l, ERR_MODEL,
		                  "q_num_heads is %lld and kv_num_heads %lld; it must be a positive multiple.",
		                  (long long)queries, (long long)heads);
	if ((a->gated && !a->decay.given) || (a->delta && !a->beta.given))
		return lower_fail(l, ERR_MODEL, "update_rule %s needs %s.", rule,
		                  a->gated && !a->decay.given ? "decay" : "beta");
	a->compute = compute_type(value_type(a->q));
	a->batch = value_dim(a->q, 0);
	a->steps = value_dim(a->q, 1);
	a->heads = idx(l, heads);
	a->queries = idx(l, queries);
	a->group = idx(l, queries > heads ? queries / heads : 1);
	a->dk = floordiv(value_dim(a->k, 2), a->heads);
	a->dv = floordiv(value_dim(a->v, 2), a->heads);
	return check_extents(a);
}

/* Element d of head h of a packed input in this turn. */
static expr packed_at(struct linear_attention *a, struct value v, expr b, expr h, expr size, expr d)
{
	return wide(load_list(v, 3, b, a->loop.turn, add(mul(h, size), d)));
}

/* The factor of the state's row k. */
static expr decay_of(struct linear_attention *a, expr b, expr h, expr k)
{
	expr of_head = floordiv(value_dim(a->decay, 2), a->heads); /* d_k, or one for all */

	return unary(IR_EXP, packed_at(a, a->decay, b, h, of_head, min_(k, addi(of_head, -1))));
}

/* The decayed state before the update, at (b, h, v, k). */
static expr kept(struct linear_attention *a, expr b, expr h, expr v, expr k)
{
	expr s = load_list(a->state, 4, b, h, v, k);

	return a->gated ? mul(decay_of(a, b, h, k), s) : s;
}

static struct value next_state(struct linear_attention *a)
{
	struct lower *l = a->l;
	struct space s = space_of(l, a->state), r = space_new(l, 3, a->state.buf->dim);
	expr b = s.at[0], h = s.at[1], v = s.at[2], k = s.at[3], value = packed_at(a, a->v, b, h, a->dv, v);

	if (a->delta) {
		expr rk = space_push(l, &r, a->dk);
		expr product =
		        mul(kept(a, r.at[0], r.at[1], r.at[2], rk), packed_at(a, a->k, r.at[0], r.at[1], a->dk, rk));
		struct value read = lower_reduce(l, "recalled", a->compute, &r, 3, IR_SUM, product, NULL);
		expr head = min_(h, addi(value_dim(a->beta, 2), -1)); /* one for each head, or one for all */
		expr beta = packed_at(a, a->beta, b, head, idx(l, 1), idx(l, 0));

		value = mul(beta, sub(value, load_list(read, 3, b, h, v)));
	}
	return lower_map(l, "next_state", a->compute, &s,
	                 add(kept(a, b, h, v, k), mul(packed_at(a, a->k, b, h, a->dk, k), value)));
}

static void present_state(struct linear_attention *a, struct value window)
{
	struct lower *l = a->l;
	enum type t = a->past.given ? value_type(a->past) : value_type(a->q);
	struct space s = { 0 };
	expr w = a->window ? space_push(l, &s, idx(l, a->window)) : NULL;
	expr b = space_push(l, &s, a->batch), h = space_push(l, &s, a->heads);
	expr k = space_push(l, &s, a->dk), v = space_push(l, &s, a->dv), x;

	if (w)
		x = select_(lt(add(w, a->steps), idx(l, a->window)), num(l, a->compute, 0),
		            load_list(window, 5, w, b, h, v, k));
	else
		x = load_list(a->state, 4, b, h, v, k);
	lower_output(l, 1, lower_map(l, NULL, t, &s, narrow(x, t)));
}

int linear_attention_lower(struct lower *l)
{
	struct linear_attention a = { .l = l };
	double scale = lower_float(l, "scale");
	expr factor;

	TRY(read_inputs(&a));
	factor = scale != 0 ? num(l, a.compute, scale)
	                    : divide(num(l, a.compute, 1), unary(IR_SQRT, cast(a.dk, a.compute)));
	struct space s = space_new(l, 4, (expr[]){ a.batch, a.heads, a.dv, a.dk });
	expr first = num(l, a.compute, 0);

	if (a.past.given && a.window)
		first = wide(load_list(a.past, 5, idx(l, a.window - 1), s.at[0], s.at[1], s.at[3], s.at[2]));
	else if (a.past.given)
		first = wide(load_list(a.past, 4, s.at[0], s.at[1], s.at[3], s.at[2]));
	a.loop = lower_loop_begin(l, a.steps);
	a.state = lower_carry(l, &a.loop, "state", a.compute, &s, first);
	struct value next = next_state(&a);

	/* The queries' results for each head, [B, H, d_v, group]. */
	struct space r = space_new(l, 4, (expr[]){ a.batch, a.heads, a.dv, a.group });
	expr k = space_push(l, &r, a.dk), head = add(mul(r.at[1], a.group), r.at[3]);

	if (ir_less(a.queries, a.heads))
		head = floordiv(r.at[1], floordiv(a.heads, a.queries));
	expr product =
	        mul(load_list(next, 4, r.at[0], r.at[1], r.at[2], k), packed_at(&a, a.q, r.at[0], head, a.dk, k));
	struct value y =
	        lower_reduce(l, "read", value_type(a.q), &r, 4, IR_SUM, product, mul(acc(l, a.compute), factor));
	struct value all = lower_collect(l, &a.loop, "steps", a.loop.turn, a.steps, y), window = { 0 };

	if (a.window && lower_wants(l, 1)) { /* only the last state before the window remains, and is overwritten */
		expr at = max_(add(sub(a.loop.turn, a.steps), idx(l, a.window)), idx(l, 0));

		window = lower_collect(l, &a.loop, "window", at, idx(l, a.window), next);
	}

	lower_next(l, &a.loop, a.state, next);
	lower_loop_end(l, &a.loop);

	struct space out = space_new(l, 3, (expr[]){ a.batch, a.steps, mul(mul(a.heads, a.group), a.dv) });
	expr v = mod(out.at[2], a.dv), q = floordiv(out.at[2], a.dv);

	v = load_list(all, 5, out.at[1], out.at[0], floordiv(q, a.group), v, mod(q, a.group));
	lower_output(l, 0, lower_map(l, NULL, value_type(a.q), &out, v));
	if (lower_wants(l, 1))
		present_state(&a, window);
	return 0;
}
