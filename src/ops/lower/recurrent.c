/* The part that RNN, GRU and LSTM share. See recurrent.h. Source: ONNX, these operators, opsets 1 to 22. */
#include "ops/lower/recurrent.h"
#include "ops/lower/formulas.h"

#include <string.h>

/* ---- Activations. */

static expr activate(enum recurrent_formula f, double alpha, double beta, expr x)
{
	expr zero = with(x, 0), a = with(x, alpha), b = with(x, beta);

	switch (f) {
	case RECURRENT_RELU: return max_(x, zero);
	case RECURRENT_TANH: return unary(IR_TANH, x);
	case RECURRENT_SIGMOID: return sigmoid(x);
	case RECURRENT_AFFINE: return add(mul(a, x), b);
	case RECURRENT_LEAKY_RELU: return leaky_relu(x, a);
	case RECURRENT_THRESHOLDED_RELU: return select_(lt(x, a), zero, x);
	case RECURRENT_SCALED_TANH: return mul(a, unary(IR_TANH, mul(b, x)));
	case RECURRENT_HARD_SIGMOID: return hard_sigmoid(x, a, b);
	case RECURRENT_ELU: return select_(lt(x, zero), mul(a, unary(IR_EXPM1, x)), x);
	case RECURRENT_SOFTSIGN: return softsign(x);
	case RECURRENT_SOFTPLUS: return softplus(x);
	}
	return x;
}

static const struct recurrent_kind {
	const char *name;
	enum recurrent_formula formula;
	bool alpha, beta; /* takes a number alpha, beta */
	double default_alpha, default_beta;
} kinds[] = {
	{ "Relu", RECURRENT_RELU, false, false, 0, 0 },
	{ "Tanh", RECURRENT_TANH, false, false, 0, 0 },
	{ "Sigmoid", RECURRENT_SIGMOID, false, false, 0, 0 },
	{ "Affine", RECURRENT_AFFINE, true, true, 1, 0 },
	{ "LeakyRelu", RECURRENT_LEAKY_RELU, true, false, 0.01, 0 },
	{ "ThresholdedRelu", RECURRENT_THRESHOLDED_RELU, true, false, 1, 0 },
	{ "ScaledTanh", RECURRENT_SCALED_TANH, true, true, 1, 1 },
	{ "HardSigmoid", RECURRENT_HARD_SIGMOID, true, true, 0.2, 0.5 },
	{ "Elu", RECURRENT_ELU, true, false, 1, 0 },
	{ "Softsign", RECURRENT_SOFTSIGN, false, false, 0, 0 },
	{ "Softplus", RECURRENT_SOFTPLUS, false, false, 0, 0 },
};

/* Compares names like ONNX Runtime, ignoring case. */
static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		char x = *a >= 'A' && *a <= 'Z' ? (char)(*a - 'A' + 'a') : *a;
		char y = *b >= 'A' && *b <= 'Z' ? (char)(*b - 'A' + 'a') : *b;

		if (x != y)
			return false;
	}
	return *a == *b;
}

static const struct recurrent_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (same_name(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

/* The listed numbers go, in order, to the functions that take one. */
static int read_functions(struct recurrent *r, int functions, const char *const *names)
{
	struct lower *l = r->l;
	const struct attr_value *given = lower_attr(l, "activations");
	const double *alpha, *beta;
	int alphas = lower_floats(l, "activation_alpha", &alpha), betas = lower_floats(l, "activation_beta", &beta);
	int directions = r->both ? 2 : 1, next_alpha = 0, next_beta = 0;

	if (given && given->n != functions * directions)
		return lower_fail(l, ERR_MODEL, "it has %d activations; it needs %d.", given->n,
		                  functions * directions);
	for (int d = 0; d < directions; d++) {
		for (int k = 0; k < functions; k++) {
			struct recurrent_function *f = &r->function[d][k];
			const char *name = given ? given->strings[d * functions + k] : names[k];
			const struct recurrent_kind *kind = find_kind(name);

			if (!kind)
				return lower_fail(l, ERR_MODEL, "activation \"%s\" is not one of ONNX's.", name);
			f->formula = kind->formula;
			f->alpha = kind->default_alpha;
			f->beta = kind->default_beta;
			if (kind->alpha && next_alpha < alphas)
				f->alpha = alpha[next_alpha++];
			if (kind->beta && next_beta < betas)
				f->beta = beta[next_beta++];
		}
	}
	return 0;
}

expr recurrent_clip(const struct recurrent *r, expr x)
{
	return r->clip > 0 ? clamp(x, with(x, -r->clip), with(x, r->clip)) : x;
}

expr recurrent_apply(const struct recurrent *r, int k, expr direction, expr x)
{
	const struct recurrent_function *f = &r->function[0][k], *g = &r->function[1][k];
	expr y = activate(f->formula, f->alpha, f->beta, x);

	if (!r->both || (f->formula == g->formula && f->alpha == g->alpha && f->beta == g->beta))
		return y;
	return select_(eq(direction, idx(r->l, 0)), y, activate(g->formula, g->alpha, g->beta, x));
}

/* ---- Inputs. */

static int check_shape(struct recurrent *r, struct value v, const char *name, int rank, const expr *dim)
{
	if (value_rank(v) != rank)
		return lower_fail(r->l, ERR_MODEL, "%s has %d axes; it must have %d.", name, value_rank(v), rank);
	for (int k = 0; k < rank; k++)
		TRY(lower_demand_extent(r->l, IR_SAME, dim[k], v, k));
	return 0;
}

/* A state's extents: [D,B,H], or [B,D,H]. */
static void state_shape(const struct recurrent *r, expr *dim)
{
	dim[r->batch_first] = r->directions;
	dim[!r->batch_first] = r->sequences;
	dim[2] = r->hidden;
}

static int check_weights(struct recurrent *r, struct value v, const char *name, expr columns)
{
	expr plain[] = { r->directions, r->gates, columns }, quantized[] = { r->directions, columns, r->gates };

	return check_shape(r, v, name, 3, r->quantized ? quantized : plain);
}

static int read_inputs(struct recurrent *r, int gates)
{
	struct lower *l = r->l;
	int64_t hidden = lower_int(l, "hidden_size"), known;
	expr dim[3];

	r->type = value_type(r->x);
	r->compute = compute_type(r->type);
	if (value_rank(r->x) != 3 || value_rank(r->r) != 3)
		return lower_fail(l, ERR_MODEL, "x has %d axes and the recurrence weights have %d; both must have 3.",
		                  value_rank(r->x), value_rank(r->r));
	r->steps = value_dim(r->x, r->batch_first);
	r->sequences = value_dim(r->x, !r->batch_first);
	r->inputs = value_dim(r->x, 2);
	r->hidden = value_dim(r->r, r->quantized ? 1 : 2);
	r->directions = idx(l, r->both ? 2 : 1);
	r->gates = muli(r->hidden, gates);
	if (lower_has(l, "hidden_size") && ir_const_int(r->hidden, &known) && known != hidden)
		return lower_fail(l, ERR_MODEL, "hidden_size is %lld; its weights are made for %lld.",
		                  (long long)hidden, (long long)known);
	TRY(check_weights(r, r->w, "the weights", r->inputs));
	TRY(check_weights(r, r->r, "the recurrence weights", r->hidden));
	if (r->b.given)
		TRY(check_shape(r, r->b, "the bias", 2, (expr[]){ r->directions, muli(r->gates, 2) }));
	if (r->lens.given)
		TRY(check_shape(r, r->lens, "sequence_lens", 1, &r->sequences));
	state_shape(r, dim);
	if (lower_input(l, 5).given)
		TRY(check_shape(r, lower_input(l, 5), "initial_h", 3, dim));
	for (int i = 0; i < l->inputs; i++)
		if (i != 4 && !r->quantized && l->input[i].given && value_type(l->input[i]) != r->type)
			return lower_fail(l, ERR_MODEL, "input %d is %s and x is %s; they must have one type.", i,
			                  type_name(value_type(l->input[i])), type_name(r->type));
	return 0;
}

int recurrent_read(struct lower *l, struct recurrent *r, bool quantized, int gates, int functions,
                   const char *const *names)
{
	const char *direction = lower_word(l, "direction");

	*r = (struct recurrent){ .l = l, .clip = lower_float(l, "clip"), .quantized = quantized };
	r->batch_first = !quantized && lower_int(l, "layout") != 0;
	r->reverse = !strcmp(direction, "reverse");
	r->both = !strcmp(direction, "bidirectional");
	r->x = lower_input(l, 0);
	r->w = lower_input(l, 1);
	r->r = lower_input(l, 2);
	r->b = lower_input(l, 3);
	r->lens = lower_input(l, 4);
	TRY(read_inputs(r, gates));
	return read_functions(r, functions, names);
}

static expr bias_at(struct recurrent *r, expr d, expr n)
{
	return wide(load_list(r->b, 2, d, n));
}

expr recurrent_input_bias(struct recurrent *r, expr d, expr n)
{
	return r->b.given ? bias_at(r, d, n) : NULL;
}

expr recurrent_state_bias(struct recurrent *r, expr d, expr n)
{
	return r->b.given ? bias_at(r, d, add(r->gates, n)) : NULL;
}

expr recurrent_biases(struct recurrent *r, expr d, expr n)
{
	return r->b.given ? add(recurrent_input_bias(r, d, n), recurrent_state_bias(r, d, n)) : NULL;
}

struct value recurrent_inputs(struct recurrent *r, expr (*bias)(struct recurrent *r, expr d, expr n))
{
	struct lower *l = r->l;
	struct space s = space_new(l, 4, (expr[]){ r->directions, r->steps, r->sequences, r->gates });
	expr d = s.at[0], t = s.at[1], b = s.at[2], n = s.at[3], i = space_push(l, &s, r->inputs);
	expr x = r->batch_first ? load_list(r->x, 3, b, t, i) : load_list(r->x, 3, t, b, i), post = NULL;

	if (bias && bias(r, d, n))
		post = add(acc(l, r->compute), bias(r, d, n));
	return lower_reduce(l, "inputs", r->compute, &s, 4, IR_SUM, mul(wide(x), wide(load_list(r->w, 3, d, n, i))),
	                    post);
}

/* ---- The loop. */

static expr length_of(const struct recurrent *r, expr b)
{
	return min_(cast(load_list(r->lens, 1, b), TYPE_INDEX), r->steps);
}

/* Step t of direction d and sequence b, counted from the direction's own start; its own inverse. Steps after the end
 * of the sequence stay in place. */
static expr from_own_end(const struct recurrent *r, expr d, expr b, expr t)
{
	expr n = r->lens.given ? length_of(r, b) : r->steps, back = addi(sub(n, t), -1);

	if (!r->reverse && !r->both)
		return t;
	if (r->lens.given)
		back = select_(lt(t, n), back, t);
	return r->both ? select_(eq(d, idx(r->l, 0)), t, back) : back;
}

void recurrent_begin(struct recurrent *r)
{
	struct lower *l = r->l;

	r->loop = lower_loop_begin(l, r->steps);
	r->s = space_new(l, 3, (expr[]){ r->directions, r->sequences, r->hidden });
	r->running = r->lens.given ? lt(r->loop.turn, length_of(r, r->s.at[1])) : NULL;
}

struct value recurrent_state(struct recurrent *r, const char *name, int i)
{
	struct lower *l = r->l;
	struct value v = lower_input(l, i);
	const struct space *s = &r->s;
	expr init = num(l, r->compute, 0);

	if (v.given)
		init = wide(r->batch_first ? load_list(v, 3, s->at[1], s->at[0], s->at[2]) : load(v, s->at));
	return lower_carry(l, &r->loop, name, r->compute, s, init);
}

expr recurrent_keep(const struct recurrent *r, expr now, struct value old)
{
	return r->running ? select_(r->running, now, load(old, r->s.at)) : now;
}

expr recurrent_step(const struct recurrent *r, struct value inputs, const struct space *s, expr n)
{
	return load_list(inputs, 4, s->at[0], from_own_end(r, s->at[0], s->at[1], r->loop.turn), s->at[1], n);
}

struct space recurrent_gates(struct recurrent *r, expr count)
{
	struct space s = space_new(r->l, 3, (expr[]){ r->directions, r->sequences, count });

	space_push(r->l, &s, r->hidden);
	return s;
}

struct value recurrent_sum(struct recurrent *r, const char *name, const struct space *s, expr state, expr n, expr post)
{
	expr weight = wide(load_list(r->r, 3, s->at[0], n, s->at[3]));

	return lower_reduce(r->l, name, r->compute, s, 3, IR_SUM, mul(state, weight), post);
}

/* Output y from the values that the turns collected, [T,D,B,H]: in order of time, and zero after the end of a
 * sequence. */
static struct value in_order(struct recurrent *r, struct value turns)
{
	struct lower *l = r->l;
	struct space s = { 0 };
	expr b, t, d, h, y;

	b = r->batch_first ? space_push(l, &s, r->sequences) : NULL;
	t = space_push(l, &s, r->steps);
	d = space_push(l, &s, r->directions);
	b = b ? b : space_push(l, &s, r->sequences);
	h = space_push(l, &s, r->hidden);
	y = load_list(turns, 4, from_own_end(r, d, b, t), d, b, h);
	if (r->lens.given)
		y = select_(lt(t, length_of(r, b)), y, num(l, r->type, 0));
	return lower_map(l, NULL, r->type, &s, y);
}

void recurrent_end(struct recurrent *r, struct value h, struct value next)
{
	struct lower *l = r->l;
	struct value y = { 0 }, of_turn = next;
	bool plain = !r->both && !r->lens.given;
	expr turn = r->loop.turn, at = r->reverse && plain ? addi(sub(r->steps, turn), -1) : turn;

	if (lower_wants(l, 0)) {
		if (r->type != r->compute)
			of_turn = lower_map(l, "hidden", r->type, &r->s, narrow(load(next, r->s.at), r->type));
		y = lower_collect(l, &r->loop, plain && !r->batch_first ? NULL : "turns", at, r->steps, of_turn);
	}
	lower_next(l, &r->loop, h, next);
	lower_loop_end(l, &r->loop);
	if (!y.given)
		return;
	if (plain) /* in the order of time already */
		r->reverse = false;
	lower_output(l, 0, plain && !r->batch_first ? y : in_order(r, y));
}

void recurrent_last(struct recurrent *r, int i, struct value state)
{
	struct lower *l = r->l;
	expr dim[3];

	if (!lower_wants(l, i))
		return;
	state_shape(r, dim);
	struct space s = space_new(l, 3, dim);
	expr x = load_list(state, 3, s.at[r->batch_first], s.at[!r->batch_first], s.at[2]);

	if (r->type == r->compute && !r->batch_first)
		lower_output(l, i, state);
	else
		lower_output(l, i, lower_map(l, NULL, r->type, &s, narrow(x, r->type)));
}
