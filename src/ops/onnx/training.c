/* One step of an optimizer for any number of tensors; with g the gradient plus norm_coefficient * x,
 *   Adagrad:  h' = h + g^2, x' = x - r / (1 + t * decay_factor) * g / (sqrt(h') + epsilon)
 *   Adam:     v' = alpha * v + (1 - alpha) * g, h' = beta * h + (1 - beta) * g^2,
 *             x' = (1 - norm_coefficient_post) * (x - rate * v' / (sqrt(h') + epsilon)),
 *             rate = t > 0 ? r * sqrt(1 - beta^t) / (1 - alpha^t) : r
 *   Momentum: v' = alpha * v + (t > 0 ? beta : 1) * g, x' = x - r * (nesterov ? g + alpha * v' : v')
 * Inputs are r, t, then all tensors x, all gradients, and all of each kind of state; outputs are all x', and all of
 * each kind of new state. Source: ONNX, operators Adagrad, Adam and Momentum of ai.onnx.preview.training, opset 1. */
#include "ops/lower/lower.h"

#include <math.h>
#include <string.h>

#define DOMAIN "ai.onnx.preview.training"
#define TS_REAL (TS(F32) | TS(F64))

enum { MAX_PARTS = 4 };

/* One optimized tensor: its elements over its space, and their new values. */
struct step {
	expr r, t;            /* the learning rate in the tensor's type; the count of updates, i64 */
	expr part[MAX_PARTS]; /* x, gradient, states */
	expr g;               /* with regularization */
	expr made[MAX_PARTS]; /* x', new states */
};
typedef void (*step_fn)(struct lower *l, struct step *s);

/* The element of a state or gradient, which has the tensor's extents. */
static int read_part(struct lower *l, struct value x, struct value part, const struct space *s, expr *out)
{
	int64_t m, n;

	if (value_rank(part) != value_rank(x) || value_type(part) != value_type(x))
		return lower_fail(l, ERR_MODEL, "a gradient or a state is %s of rank %d, its tensor is %s of rank %d.",
		                  type_name(value_type(part)), value_rank(part), type_name(value_type(x)),
		                  value_rank(x));
	for (int i = 0; i < value_rank(x); i++)
		if (ir_const_int(value_dim(x, i), &m) && ir_const_int(value_dim(part, i), &n) && m != n)
			return lower_fail(l, ERR_MODEL, "axis %d of a gradient or a state has %lld elements, not %lld.",
			                  i, (long long)n, (long long)m);
	*out = load(part, s->at);
	return 0;
}

static int lower_step(struct lower *l, int parts, step_fn step)
{
	struct value r = lower_input(l, 0), t = lower_input(l, 1);
	int n = (l->inputs - 2) / parts;

	if (l->inputs < 2 + parts || (l->inputs - 2) % parts)
		return lower_fail(l, ERR_MODEL, "%d inputs follow r and t; they must be %d for each tensor.",
		                  l->inputs - 2, parts);
	if (l->outputs > n * (parts - 1))
		return lower_fail(l, ERR_MODEL, "the node has %d outputs; %d tensors give %d.", l->outputs, n,
		                  n * (parts - 1));
	for (int k = 0; k < n; k++) {
		struct value x = lower_input(l, 2 + k);
		struct space s = space_of(l, x);
		struct step one = { .r = cast(at_first(r), value_type(x)), .t = at_first(t) };

		for (int i = 0; i < parts; i++)
			TRY(read_part(l, x, lower_input(l, 2 + i * n + k), &s, &one.part[i]));
		one.g = add(mul(with(one.part[0], lower_float(l, "norm_coefficient")), one.part[0]), one.part[1]);
		step(l, &one);
		for (int i = 0; i < parts - 1; i++)
			if (lower_wants(l, i * n + k))
				lower_output(l, i * n + k, lower_map(l, NULL, value_type(x), &s, one.made[i]));
	}
	return 0;
}

static expr scaled(expr x, double factor)
{
	return mul(with(x, factor), x);
}

/* x - rate * direction / (sqrt(h) + epsilon) */
static expr descend(struct lower *l, expr x, expr rate, expr direction, expr h)
{
	expr root = unary(IR_SQRT, h);

	return sub(x, divide(mul(rate, direction), add(root, with(root, lower_float(l, "epsilon")))));
}

static void adagrad(struct lower *l, struct step *s)
{
	expr h = add(s->part[2], mul(s->g, s->g)),
	     decay = scaled(cast(s->t, s->r->type), lower_float(l, "decay_factor"));

	s->made[0] = descend(l, s->part[0], divide(s->r, add(with(s->r, 1), decay)), s->g, h);
	s->made[1] = h;
}

/* 1 - base^t for t > 0: where base^t is almost one, the difference keeps its digits. */
static expr one_minus_power(expr t, enum type type, double base)
{
	expr exponent = cast(t, type);

	if (base > 0)
		return unary(IR_NEG, unary(IR_EXPM1, scaled(exponent, log(base))));
	return sub(with(exponent, 1), pow_(with(exponent, base), exponent));
}

static void adam(struct lower *l, struct step *s)
{
	double alpha = lower_float(l, "alpha"), beta = lower_float(l, "beta");
	expr v = add(scaled(s->part[2], alpha), scaled(s->g, 1 - alpha));
	expr h = add(scaled(s->part[3], beta), scaled(mul(s->g, s->g), 1 - beta));
	expr rate = mul(s->r, unary(IR_SQRT, one_minus_power(s->t, s->r->type, beta)));

	rate = divide(rate, one_minus_power(s->t, s->r->type, alpha));
	rate = select_(gt(s->t, with(s->t, 0)), rate, s->r);
	s->made[0] = scaled(descend(l, s->part[0], rate, v, h), 1 - lower_float(l, "norm_coefficient_post"));
	s->made[1] = v;
	s->made[2] = h;
}

static void momentum(struct lower *l, struct step *s)
{
	double alpha = lower_float(l, "alpha");
	expr factor = select_(gt(s->t, with(s->t, 0)), with(s->g, lower_float(l, "beta")), with(s->g, 1));
	expr v = add(scaled(s->part[2], alpha), mul(factor, s->g));
	bool nesterov = !strcmp(lower_word(l, "mode"), "nesterov");

	s->made[0] = sub(s->part[0], mul(s->r, nesterov ? add(s->g, scaled(v, alpha)) : v));
	s->made[1] = v;
}

static int lower_adagrad(struct lower *l)
{
	return lower_step(l, 3, adagrad);
}

static int lower_adam(struct lower *l)
{
	return lower_step(l, 4, adam);
}

static int lower_momentum(struct lower *l)
{
	return lower_step(l, 3, momentum);
}

#define SLOTS \
	.domain = DOMAIN, .since = { 1 }, .inputs = { IN("r", TS_REAL), IN("t", TS(I64)), MANY("inputs", TS_REAL) }, \
	.outputs = { MANY("outputs", 0) }
#define ATTR_NORM ATTR_FLOAT("norm_coefficient", 0, "times x, added to the gradient")
#define ATTR_EPSILON ATTR_FLOAT("epsilon", 1e-6, "added to the root")
#define ATTR_REQUIRED_FLOAT(name, help) ATTR(name, OP_FLOAT, 0, NULL, help, true)

const struct op_def ops_training[] = {
	{ .name = "Adagrad",
	  SLOTS,
	  .formula =
	          "g += norm_coefficient x, h' = h + g^2, x' = x - r / (1 + t decay_factor) g / (sqrt(h') + epsilon)",
	  .attrs = { ATTR_NORM, ATTR_EPSILON, ATTR_FLOAT("decay_factor", 0, "d: the rate is r / (1 + t d)") },
	  .lower = lower_adagrad,
	  .cases = { "r:f32[] t:i64[] x:f32[N,33] g:f32[N,33] h:f32[N,33] norm_coefficient=0.01 decay_factor=0.1 "
	             "outputs=2",
	             "r:f64[] t:i64[] x:f32[7] y:f32[3,M] gx:f32[7] gy:f32[3,M] hx:f32[7] hy:f32[3,M] outputs=4" } },
	{ .name = "Adam",
	  SLOTS,
	  .formula = "g += norm_coefficient x, v' = alpha v + (1 - alpha) g, h' = beta h + (1 - beta) g^2, x' = (1 - "
	             "norm_coefficient_post) (x - r sqrt(1 - beta^t) / (1 - alpha^t) v' / (sqrt(h') + epsilon))",
	  .attrs = { ATTR_NORM, ATTR_EPSILON,
	             ATTR_FLOAT("norm_coefficient_post", 0, "part of x that is taken off at the end"),
	             ATTR_FLOAT("alpha", 0.9, "part of v that stays"),
	             ATTR_FLOAT("beta", 0.999, "part of h that stays") },
	  .lower = lower_adam,
	  .cases = { "r:f32[] t:i64[]={3} x:f32[N,33] g:f32[N,33] v:f32[N,33] h:f32[N,33] norm_coefficient=0.01 "
	             "outputs=3",
	             "r:f32[1] t:i64[1] x:f64[7] y:f64[M] gx:f64[7] gy:f64[M] vx:f64[7] vy:f64[M] hx:f64[7] hy:f64[M] "
	             "alpha=0 norm_coefficient_post=0.1 outputs=6" } },
	{ .name = "Momentum",
	  SLOTS,
	  .formula = "g += norm_coefficient x, v' = alpha v + (t > 0 ? beta : 1) g, x' = x - r (nesterov ? g + alpha "
	             "v' : v')",
	  .attrs = { ATTR_REQUIRED_FLOAT("norm_coefficient", "times x, added to the gradient"),
	             ATTR_REQUIRED_FLOAT("alpha", "part of v that stays"),
	             ATTR_REQUIRED_FLOAT("beta", "times g, but in the first step"),
	             ATTR("mode", OP_STRING, 0, "standard|nesterov", "what moves x", true) },
	  .lower = lower_momentum,
	  .cases = { "r:f32[] t:i64[] x:f32[N,33] g:f32[N,33] v:f32[N,33] norm_coefficient=0.01 alpha=0.9 beta=0.5 "
	             "mode=nesterov outputs=2",
	             "r:f32[] t:i64[]={0} x:f64[M] g:f64[M] v:f64[M] norm_coefficient=0 alpha=0.9 beta=0.5 "
	             "mode=standard outputs=2" } },
	{ .name = NULL },
};
