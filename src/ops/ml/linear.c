/* LinearRegressor: y = x coefficients' + intercepts. LinearClassifier: the same scores for each class, and the label
 * of the largest. ml_transform() may follow on the scores.
 * A classifier with one score s chooses the second of two labels if s > 0, and its scores are those of ml_pair(); ONNX
 * leaves both open, so they follow ONNX Runtime.
 * Source: ONNX, the operators of these names in ai.onnx.ml, version 1. Labels that are strings are not supported. */
#include "ops/ml/ml.h"

/* [n, rows]: x times each row of coefficients, + intercepts. */
static int scores(struct lower *l, int rows, struct value *out)
{
	struct value x = lower_input(l, 0), coefficients, intercepts;
	const double *c, *b;
	int n = lower_floats(l, "coefficients", &c), biases = lower_floats(l, "intercepts", &b), rank = value_rank(x);
	struct space s = { 0 };
	expr row, column, k, e, y;

	if (rank < 1 || rank > 2)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it must have one or two.", rank);
	if (rows < 1 || n < rows || n % rows || (biases && biases != rows))
		return lower_fail(l, ERR_MODEL, "there are %d coefficients and %d intercepts for %d scores.", n, biases,
		                  rows);
	TRY(ml_constant(l, "coefficients", TYPE_F32, c, n, &coefficients));
	row = space_push(l, &s, rank == 1 ? idx(l, 1) : value_dim(x, 0));
	column = space_push(l, &s, idx(l, rows));
	k = space_push(l, &s, idx(l, n / rows));
	e = cast(rank == 1 ? load(x, &k) : load_list(x, 2, row, k), TYPE_F32);
	e = mul(e, load_list(coefficients, 1, add(muli(column, n / rows), k)));
	y = acc(l, TYPE_F32);
	if (biases) {
		TRY(ml_constant(l, "intercepts", TYPE_F32, b, biases, &intercepts));
		y = add(y, load_list(intercepts, 1, column));
	}
	*out = lower_reduce(l, "scores", TYPE_F32, &s, 2, IR_SUM, e, y);
	return 0;
}

static int regressor_lower(struct lower *l)
{
	struct value y;

	TRY(scores(l, (int)lower_int(l, "targets"), &y));
	lower_output(l, 0, ml_transform_regression(l, y, lower_word(l, "post_transform")));
	return 0;
}

/* Makes the labels from the scores before any function. */
static int classify(struct lower *l, struct value score, const int64_t *label, int labels)
{
	struct space s = space_of(l, score), one = space_new(l, 1, s.dim);
	int64_t sides[2] = { labels == 2 ? label[0] : 0, label[labels == 2] };
	bool single = ir_is_int(s.dim[1], 1);
	struct value best, table;
	expr e;

	TRY(ml_ints(l, "labels", TYPE_I64, single ? sides : label, single ? 2 : labels, &table));
	if (single) {
		e = load_list(score, 2, one.at[0], idx(l, 0));
		e = cast(gt(e, with(e, 0)), TYPE_INDEX);
	} else {
		best = lower_reduce(l, "best", TYPE_I64, &s, 1, IR_ARGMAX, load(score, s.at), NULL);
		e = cast(load(best, one.at), TYPE_INDEX);
	}
	lower_output(l, 0, lower_map(l, NULL, TYPE_I64, &one, load(table, &e)));
	return 0;
}

static int classifier_lower(struct lower *l)
{
	const char *transform = lower_word(l, "post_transform");
	const int64_t *label;
	struct value score;
	const double *list;
	int rows = lower_floats(l, "intercepts", &list), labels = lower_int_list(l, "classlabels_ints", &label);

	TRY(ml_check_labels(l, "classlabels_ints"));
	rows = rows ? rows : labels;
	if (rows != labels && !(rows == 1 && labels == 2))
		return lower_fail(l, ERR_MODEL, "there are %d scores for %d labels.", rows, labels);
	TRY(scores(l, rows, &score));
	TRY(classify(l, score, label, labels));
	if (rows == labels)
		score = ml_transform(l, score, transform);
	else
		TRY(ml_pair(l, score, transform, false, &score));
	lower_output(l, 1, score);
	return 0;
}

/* clang-format off */
#define LINEAR_ATTRS                                                                                                   \
	ATTR_FLOATS("coefficients", "a row for each score"), ATTR_FLOATS("intercepts", "one for each score"),          \
	ATTR_TRANSFORM

const struct op_def ops_linear[] = {
	{ .name = "LinearRegressor", .domain = "ai.onnx.ml", .since = { 1 },
	  .formula = "y = x coefficients' + intercepts",
	  .inputs = { IN("x", TS_ML) }, .outputs = { OUT("y") },
	  .attrs = { LINEAR_ATTRS, ATTR_INT("targets", 1, "scores of a row") }, .lower = regressor_lower,
	  .cases = { "x:f32[N,3] coefficients=1,2,3,4,5,6 intercepts=0.5,1 targets=2" } },
	{ .name = "LinearClassifier", .domain = "ai.onnx.ml", .since = { 1 },
	  .formula = "z = x coefficients' + intercepts, y = the label of the largest z",
	  .inputs = { IN("x", TS_ML) }, .outputs = { OUT("y"), OUT("z") },
	  .attrs = { LINEAR_ATTRS, ATTR_LONG_INTS("classlabels_ints", "the labels"),
		     ATTR_STRINGS("classlabels_strings", "not supported"),
		     ATTR_INT("multi_class", 0, "has no effect") },
	  .lower = classifier_lower,
	  .cases = { "x:f32[N,2] coefficients=1,2,3,4,5,6 intercepts=0.5,1,2 classlabels_ints=7,8,9 outputs=2",
		     "x:f32[N,2] coefficients=1,-2 intercepts=0.5 classlabels_ints=7,8 post_transform=LOGISTIC "
		     "outputs=2" } },
	{ .name = NULL },
};
/* clang-format on */
