/* The transformations of scores, NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO (zeros stay zeros), PROBIT; and lists of
 * attributes as constants. Source: ONNX, attribute post_transform of the operators of ai.onnx.ml. */
#include "ops/lower/formulas.h"
#include "ops/ml/ml.h"

#include <string.h>

/* sqrt(2) erfinv(2 x - 1), by Winitzki's approximation. */
static expr probit(expr x)
{
	expr y = sub(mul(x, with(x, 2)), with(x, 1)), rest = mul(sub(with(x, 1), y), add(with(x, 1), y)), log, v;

	log = unary(IR_LOG, rest);
	v = add(mul(log, with(x, 0.5)), with(x, 2 / (3.141592653589793238 * 0.147)));
	v = sub(unary(IR_SQRT, sub(mul(v, v), mul(log, with(x, 1 / 0.147)))), v);
	v = mul(unary(IR_SQRT, v), with(x, 1.41421356));
	return select_(lt(y, with(x, 0)), unary(IR_NEG, v), v);
}

struct value ml_transform(struct lower *l, struct value score, const char *f)
{
	enum type c = value_type(score);
	bool zero = !strcmp(f, "SOFTMAX_ZERO");
	struct space s = space_of(l, score);
	struct value top, sum;
	expr x = at(score, &s), e, t;

	if (!strcmp(f, "NONE"))
		return score;
	if (!strcmp(f, "LOGISTIC"))
		return lower_map(l, NULL, c, &s, sigmoid(x));
	if (!strcmp(f, "PROBIT"))
		return lower_map(l, NULL, c, &s, probit(x));
	top = lower_reduce(l, "largest", c, &s, 1, IR_MAXIMUM, x, NULL);
	t = load(top, s.at);
	e = unary(IR_EXP, sub(x, t));
	if (zero)
		e = select_(gt(unary(IR_ABS, x), with(x, 1e-7)), e, mul(x, unary(IR_EXP, unary(IR_NEG, t))));
	sum = lower_reduce(l, "total", c, &s, 1, IR_SUM, e, NULL);
	t = load(sum, s.at);
	e = zero ? select_(eq(t, with(t, 0)), with(t, 0.5), divide(e, t)) : divide(e, t);
	return lower_map(l, NULL, c, &s, e);
}

struct value ml_transform_regression(struct lower *l, struct value score, const char *f)
{
	return ir_is_int(value_dim(score, 1), 1) && strcmp(f, "PROBIT") != 0 ? score : ml_transform(l, score, f);
}

int ml_pair(struct lower *l, struct value score, const char *f, bool signed_, struct value *out)
{
	struct space s = space_new(l, 2, (expr[]){ value_dim(score, 0), idx(l, 2) });
	expr e = load_list(score, 2, s.at[0], idx(l, 0)), first = sub(with(e, 1), e);
	bool logistic = !strcmp(f, "LOGISTIC");

	if (!strcmp(f, "PROBIT"))
		return lower_fail(l, ERR_UNSUPPORTED, "PROBIT of one score for two labels has no defined result.");
	if (logistic || (signed_ && !strcmp(f, "NONE")))
		first = unary(IR_NEG, e);
	e = select_(eq(s.at[1], idx(l, 0)), first, e);
	*out = lower_map(l, "pair", value_type(score), &s, logistic ? sigmoid(e) : e);
	return 0;
}

/* ---- Lists ------------------------------------------------------------------------------------------------------ */

static int new_vector(struct lower *l, enum type t, int n, struct tensor **out)
{
	int64_t extent = n;

	*out = NEW(l->program->arena, struct tensor);
	return tensor_new(*out, t, 1, &extent, l->program->arena, l->err);
}

int ml_constant(struct lower *l, const char *name, enum type t, const double *at, int n, struct value *out)
{
	struct tensor *data;

	TRY(new_vector(l, t, n, &data));
	for (int i = 0; i < n; i++)
		if (type_is_float(t))
			tensor_set_float(data, i, at[i]);
		else
			tensor_set_int(data, i, (int64_t)at[i]);
	*out = lower_data(l, name, data);
	return 0;
}

int ml_ints(struct lower *l, const char *name, enum type t, const int64_t *at, int n, struct value *out)
{
	struct tensor *data;

	TRY(new_vector(l, t, n, &data));
	for (int i = 0; i < n; i++)
		if (type_is_float(t))
			tensor_set_float(data, i, (double)at[i]);
		else
			tensor_set_int(data, i, at[i]);
	*out = lower_data(l, name, data);
	return 0;
}

int ml_check_labels(struct lower *l, const char *ints)
{
	const int64_t *at;

	if (!lower_has(l, "classlabels_strings") && lower_int_list(l, ints, &at))
		return 0;
	lower_fail(l, ERR_UNSUPPORTED, "only labels that are integers (%s) are supported.", ints);
	return err_advise(l->err, "Let the model give class numbers, and look the labels up after the engine.");
}
