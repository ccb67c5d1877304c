/* LinearAttention: attention with a state S [keys, values] of each head in place of a growing cache. In step t, with the
 * gate e = exp(decay[t]) of the rules gated and gated_delta (else 1):
 *   S = e S + k[t] (x) w,  w = v[t], or beta[t] (v[t] - S' k[t]) of the rules delta and gated_delta, S' being e S transposed
 *   y[t] = scale * q[t]' S
 * The columns of S do not depend on each other: in the loop it stands as [batch, head, value, key], so that each column is a
 * row of its own. Several query heads share a head's state.
 * Source: ONNX, operator LinearAttention, opset 27. */
#include "ops/attention.h"

#include <string.h>

struct linear {
	struct value q, k, v, past, decay, beta; /* decay, beta: only where the rule has them */
	expr batch, steps, heads, group;         /* heads of keys; query heads of each */
	expr keys, values;                       /* sizes of a head's vectors */
	expr scale;
	struct space s;                          /* [batch, head, value, key] */
};

/* ---- Inputs. */

static int check_vectors(struct lower *l, struct value v, const char *what, int64_t heads, expr size)
{
	int64_t extent, want;

	if (value_rank(v) != 3)
		return lower_fail(l, ERR_MODEL, "%s has %d axes; it must have 3.", what, value_rank(v));
	if (!ir_const_int(value_dim(v, 2), &extent))
		return 0;
	if (extent % heads)
		return lower_fail(l, ERR_MODEL, "the last axis of %s, %lld, cannot be split into %lld heads.", what,
		                  (long long)extent, (long long)heads);
	if (size && ir_const_int(size, &want) && extent / heads != want)
		return lower_fail(l, ERR_MODEL, "a head of %s has size %lld, of the query %lld.", what,
		                  (long long)(extent / heads), (long long)want);
	return 0;
}

/* The last axis of a gate or rate must be one of two extents, where it is known. */
static int check_factor(struct lower *l, struct value v, const char *what, expr a, expr b)
{
	int64_t have, x, y;

	if (!v.given)
		return lower_fail(l, ERR_MODEL, "the rule %s needs %s.", lower_word(l, "update_rule"), what);
	if (value_rank(v) != 3)
		return lower_fail(l, ERR_MODEL, "%s has %d axes; it must have 3.", what, value_rank(v));
	if (ir_const_int(value_dim(v, 2), &have) && ir_const_int(a, &x) && ir_const_int(b, &y) && have != x && have != y)
		return lower_fail(l, ERR_MODEL, "the last axis of %s is %lld long; it must be %lld or %lld.", what,
		                  (long long)have, (long long)x, (long long)y);
	return 0;
}

static int check_past(struct lower *l, const struct linear *a)
{
	expr want[] = { a->batch, a->heads, a->keys, a->values };
	int64_t x, y;

	if (value_rank(a->past) != 4)
		return lower_fail(l, ERR_MODEL, "past_state has %d axes; it must have 4.", value_rank(a->past));
	for (int i = 0; i < 4; i++)
		if (ir_const_int(value_dim(a->past, i), &x) && ir_const_int(want[i], &y) && x != y)
			return lower_fail(l, ERR_MODEL, "axis %d of past_state is %lld long; it must be %lld.", i, (long long)x,
			                  (long long)y);
	return 0;
}

static int read_inputs(struct lower *l, struct linear *a)
{
	const char *rule = lower_word(l, "update_rule");
	int64_t q_heads = lower_int(l, "q_num_heads"), heads = lower_int(l, "kv_num_heads");

	*a = (struct linear){ .q = lower_input(l, 0), .k = lower_input(l, 1), .v = lower_input(l, 2), .past = lower_input(l, 3) };
	if (heads < 1 || q_heads < 1 || q_heads % heads)
		return lower_fail(l, ERR_MODEL, "%lld query heads cannot share %lld key heads.", (long long)q_heads,
		                  (long long)heads);
	TRY(check_vectors(l, a->q, "the query", q_heads, NULL));
	a->batch = value_dim(a->q, 0);
	a->steps = value_dim(a->q, 1);
	a->heads = idx(l, heads);
	a->group = idx(l, q_heads / heads);
	a->keys = floordiv(value_dim(a->q, 2), idx(l, q_heads));
	TRY(check_vectors(l, a->k, "the key", heads, a->keys));
	TRY(check_vectors(l, a->v, "the value", heads, NULL));
	a->values = floordiv(value_dim(a->v, 2), a->heads);
	if (a->past.given)
		TRY(check_past(l, a));
	if (strstr(rule, "gated")) {
		a->decay = lower_input(l, 4);
		TRY(check_factor(l, a->decay, "decay", a->heads, mul(a->heads, a->keys)));
	}
	if (strstr(rule, "delta")) {
		a->beta = lower_input(l, 5);
		TRY(check_factor(l, a->beta, "beta", a->heads, idx(l, 1)));
	}
	a->scale = num(l, TYPE_F32, lower_float(l, "scale"));
	if (lower_float(l, "scale") == 0)
		a->scale = attention_scale(l, TYPE_F32, a->keys);
	a->s = space_new(l, 4, (expr[]){ a->batch, a->heads, a->values, a->keys });
	return 0;
}

/* ---- A step. */

/* The gate of key d: decay has one number a head, or one a key. */
static expr gate(const struct linear *a, expr b, expr t, expr h, expr d)
{
	expr size = floordiv(value_dim(a->decay, 2), a->heads);

	return unary(IR_EXP, wide(load_list(a->decay, 3, b, t, add(mul(h, size), min_(d, addi(size, -1))))));
}

static expr key(const struct linear *a, expr b, expr t, expr h, expr d)
{
	return wide(load_list(a->k, 3, b, t, add(mul(h, a->keys), d)));
}

/* The state before step t, gated. */
static expr gated(const struct linear *a, expr state, expr t, const struct space *s)
{
	return a->decay.given ? mul(gate(a, s->at[0], t, s->at[1], s->at[3]), state) : state;
}

/* The state behind step t. */
static struct value next_state(struct lower *l, const struct linear *a, struct value state, expr t)
{
	const struct space *s = &a->s;
	expr b = s->at[0], h = s->at[1], m = s->at[2], d = s->at[3], old = gated(a, at(state, s), t, s);
	expr w = wide(load_list(a->v, 3, b, t, add(mul(h, a->values), m)));

	if (a->beta.given) {
		struct value found = lower_reduce(l, "retrieved", TYPE_F32, s, 3, IR_SUM, mul(old, key(a, b, t, h, d)), NULL);
		expr rate = load_list(a->beta, 3, b, t, min_(h, addi(value_dim(a->beta, 2), -1)));

		w = mul(wide(rate), sub(w, load(found, s->at)));
	}
	return lower_map(l, "state", TYPE_F32, s, add(old, mul(key(a, b, t, h, d), w)));
}

/* The result of step t, [batch, head, value, query head of it]. */
static struct value read_state(struct lower *l, const struct linear *a, struct value state, expr t)
{
	struct space s = space_new(l, 4, (expr[]){ a->batch, a->heads, a->values, a->group });
	expr b = s.at[0], h = s.at[1], m = s.at[2], d = space_push(l, &s, a->keys), q;

	q = add(mul(add(mul(h, a->group), s.at[3]), a->keys), d);
	q = wide(load_list(a->q, 3, b, t, q));
	return lower_reduce(l, "read", value_type(a->q), &s, 4, IR_SUM, mul(q, load_list(state, 4, b, h, m, d)),
	                    mul(acc(l, TYPE_F32), a->scale));
}

static expr first_state(const struct linear *a)
{
	const struct space *s = &a->s;

	if (!a->past.given)
		return with(a->scale, 0);
	return wide(load_list(a->past, 4, s->at[0], s->at[1], s->at[3], s->at[2]));
}

/* All steps: the results [step, batch, head, value, query head of it], and the last state. One step needs no loop. */
static struct value all_steps(struct lower *l, const struct linear *a, struct value *last)
{
	struct value state, next, y;
	int64_t n;

	if (ir_const_int(a->steps, &n) && n == 1) {
		struct space s = space_new(l, 5, (expr[]){ a->steps, a->batch, a->heads, a->values, a->group });

		state = lower_map(l, "past", TYPE_F32, &a->s, first_state(a));
		*last = next_state(l, a, state, idx(l, 0));
		y = read_state(l, a, *last, idx(l, 0));
		return lower_map(l, "results", value_type(y), &s, load(y, s.at + 1));
	}
	struct lower_loop loop = lower_loop_begin(l, a->steps);

	state = lower_carry(l, &loop, "state", TYPE_F32, &a->s, first_state(a));
	next = next_state(l, a, state, loop.turn);
	lower_next(l, &loop, state, next);
	y = lower_collect(l, &loop, "results", loop.turn, a->steps, read_state(l, a, next, loop.turn));
	lower_loop_end(l, &loop);
	*last = state;
	return y;
}

static int lower(struct lower *l)
{
	struct linear a;
	struct value y, last;
	struct space s = { 0 };
	expr b, t, m, h;

	TRY(read_inputs(l, &a));
	y = all_steps(l, &a, &last);
	b = space_push(l, &s, a.batch);
	t = space_push(l, &s, a.steps);
	m = space_push(l, &s, mul(mul(a.heads, a.group), a.values));
	h = floordiv(m, a.values);
	m = load_list(y, 5, t, b, floordiv(h, a.group), mod(m, a.values), mod(h, a.group));
	lower_output(l, 0, lower_map(l, NULL, value_type(a.q), &s, m));
	s = space_new(l, 4, (expr[]){ a.batch, a.heads, a.keys, a.values });
	m = load_list(last, 4, s.at[0], s.at[1], s.at[3], s.at[2]);
	lower_output(l, 1, lower_map(l, "present_state", value_type(a.past.given ? a.past : a.q), &s, m));
	return 0;
}

#define TS_ACTIVATION (TS(F32) | TS(F16) | TS(BF16))

const struct op_def op_linear_attention = {
	.name = "LinearAttention",
	.since = { 27 },
	.formula = "S = exp(decay) S + k (x) w, w = v or beta (v - exp(decay) S' k), y = scale q' S, step by step",
	.inputs = { IN("query", TS_ACTIVATION), IN("key", TS_ACTIVATION), IN("value", TS_ACTIVATION),
	            OPT("past_state", TS_ACTIVATION), OPT("decay", TS_ACTIVATION), OPT("beta", TS_ACTIVATION) },
	.outputs = { OUT("output"), OPTOUT("present_state") },
	.attrs = { ATTR_INT_REQUIRED("q_num_heads", "of queries"), ATTR_INT_REQUIRED("kv_num_heads", "of keys and values"),
	           ATTR_WORD("update_rule", "gated_delta|linear|gated|delta", "how a step changes the state"),
	           ATTR_FLOAT("scale", 0, "of the result; 0: 1 / sqrt(size of a query head)"),
	           ATTR_INT("chunk_size", 64, "a hint for other implementations; no meaning") },
	.lower = lower,
	.cases = { "query:f32[B,S,24] key:f32[B,S,12] value:f32[B,S,10] past_state:f32[B,2,6,5] decay:f32[B,S,12] "
	           "beta:f32[B,S,1] q_num_heads=4 kv_num_heads=2 outputs=2",
	           "query:f16[B,S,24] key:f16[B,S,24] value:f16[B,S,12] q_num_heads=3 kv_num_heads=3 update_rule=linear "
	           "outputs=2",
	           "query:f16[B,1,24] key:f16[B,1,24] value:f16[B,1,12] past_state:f32[B,3,8,4] decay:f16[B,1,3] q_num_heads=3 "
	           "kv_num_heads=3 update_rule=gated outputs=2",
	           "query:f32[2,7,64] key:f32[2,7,64] value:f32[2,7,64] past_state:f32[2,1,64,64] beta:f32[2,7,1] scale=0.25 "
	           "q_num_heads=1 kv_num_heads=1 update_rule=delta outputs=2" },
};
