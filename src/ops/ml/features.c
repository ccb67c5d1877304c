/* Features of ai.onnx.ml: Scaler, Binarizer, Normalizer, Imputer, OneHotEncoder, ArrayFeatureExtractor,
 * FeatureVectorizer. Their numbers are attributes; they become constants of the program, or numbers in its
 * expressions. Source: ONNX, the operators of these names in ai.onnx.ml, version 1. Strings are not supported. */
#include "ops/ml/ml.h"
#include "ops/lower/reduction.h"

#include <math.h>
#include <string.h>

/* The entry of a list attribute for the feature at s: one for all, or one for each along the last axis. */
static int feature(struct lower *l, const char *name, enum type t, const struct space *s, double absent, expr *out)
{
	const double *at;
	int n = lower_floats(l, name, &at);
	int64_t features;
	struct value v;

	if (n <= 1 || !s->rank) {
		*out = num(l, t, n ? at[0] : absent);
		return 0;
	}
	if (ir_const_int(s->dim[s->rank - 1], &features) && features != n)
		return lower_fail(l, ERR_MODEL, "%s has %d entries for %lld features.", name, n, (long long)features);
	TRY(ml_constant(l, name, t, at, n, &v));
	*out = load(v, &s->at[s->rank - 1]);
	return 0;
}

static int scaler_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	expr offset, scale;

	TRY(feature(l, "offset", TYPE_F32, &s, 0, &offset));
	TRY(feature(l, "scale", TYPE_F32, &s, 1, &scale));
	lower_output(l, 0, lower_map(l, NULL, TYPE_F32, &s, mul(sub(cast(at(x, &s), TYPE_F32), offset), scale)));
	return 0;
}

static int binarizer_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	expr e = at(x, &s), f = type_is_float(e->type) ? wide(e) : cast(e, TYPE_F64);

	lower_output(l, 0, lower_map(l, NULL, e->type, &s, cast(gt(f, with(f, lower_float(l, "threshold"))), e->type)));
	return 0;
}

/* Normalises rows along the last axis; a row whose divisor is zero stays. MAX is the largest element, with its sign. */
static int normalizer_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), norm;
	const char *kind = lower_word(l, "norm");
	bool reduced[IR_MAX_RANK] = { false };
	struct space s = space_of(l, x);
	struct reduction r;
	expr e, post;

	if (s.rank < 1)
		return lower_fail(l, ERR_MODEL, "the input is a scalar.");
	reduced[s.rank - 1] = true;
	r = reduce_space(l, x, reduced, true);
	e = cast(load(x, r.index), TYPE_F32);
	post = acc(l, TYPE_F32);
	if (!strcmp(kind, "L1"))
		e = unary(IR_ABS, e);
	if (!strcmp(kind, "L2")) {
		e = mul(e, e);
		post = unary(IR_SQRT, post);
	}
	norm = lower_reduce(l, "norm", TYPE_F32, &r.s, r.rank, !strcmp(kind, "MAX") ? IR_MAXIMUM : IR_SUM, e,
	                    select_(eq(post, with(post, 0)), with(post, 1), post));
	lower_output(l, 0, lower_map(l, NULL, TYPE_F32, &s, divide(cast(at(x, &s), TYPE_F32), at(norm, &s))));
	return 0;
}

static int imputer_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), v;
	struct space s = space_of(l, x);
	bool floats = type_is_float(value_type(x));
	const int64_t *list;
	int n = lower_int_list(l, "imputed_value_int64s", &list);
	expr e = at(x, &s), by, replaced;

	if (floats) {
		double what = lower_float(l, "replaced_value_float");

		TRY(feature(l, "imputed_value_floats", e->type, &s, 0, &by));
		replaced = isnan(what) ? unary(IR_ISNAN, e) : eq(e, with(e, what));
	} else {
		if (!n)
			return lower_fail(l, ERR_MODEL, "attribute \"imputed_value_int64s\" is missing.");
		TRY(ml_ints(l, "imputed", e->type, list, n, &v));
		by = n > 1 && s.rank ? load(v, &s.at[s.rank - 1]) : at_first(v);
		replaced = eq(e, with(e, (double)lower_int(l, "replaced_value_int64")));
	}
	lower_output(l, 0, lower_map(l, NULL, e->type, &s, select_(replaced, by, e)));
	return 0;
}

/* Adds an axis: 1 where the element is that category. */
static int one_hot_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), v;
	const int64_t *list;
	int n = lower_int_list(l, "cats_int64s", &list);
	struct space s = space_of(l, x), in = s;
	expr e;

	if (lower_has(l, "cats_strings") || !n)
		return lower_fail(l, ERR_UNSUPPORTED, "only categories that are integers (cats_int64s) are supported.");
	if (!lower_int(l, "zeros"))
		return lower_fail(l, ERR_UNSUPPORTED, "zeros is 0: unknown categories would be errors at run time.");
	if (s.rank == IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the input has too many axes.");
	TRY(ml_ints(l, "categories", TYPE_I64, list, n, &v));
	e = load(v, (expr[]){ space_push(l, &s, idx(l, n)) });
	e = eq(cast(at_axis(x, &in, 0), TYPE_I64), e);
	lower_output(l, 0, lower_map(l, NULL, TYPE_F32, &s, cast(e, TYPE_F32)));
	return 0;
}

/* y[..., k] = x[..., indices[k]]; of a vector a matrix with one row. */
static int extractor_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), which = lower_input(l, 1);
	int rank = value_rank(x);
	struct space s = { 0 };
	expr index[IR_MAX_RANK], k;

	if (rank < 1)
		return lower_fail(l, ERR_MODEL, "the input is a scalar.");
	if (rank == 1)
		space_push(l, &s, idx(l, 1));
	for (int i = 0; i + 1 < rank; i++)
		index[i] = space_push(l, &s, value_dim(x, i));
	k = space_push(l, &s, value_count(which));
	index[rank - 1] = wrap_index(at_flat(which, k), value_dim(x, rank - 1));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

/* Concatenates the inputs, each cut or padded with zeros to its inputdimension. */
static int vectorizer_lower(struct lower *l)
{
	struct ints width = lower_ints(l, "inputdimensions");
	struct space s = { 0 };
	int64_t start = 0;
	expr y = NULL, row, column;

	if (width.n < l->inputs)
		return lower_fail(l, ERR_MODEL, "inputdimensions has %d entries for %d inputs.", width.n, l->inputs);
	for (int k = 0; k < l->inputs; k++)
		start += width.at[k];
	row = space_push(l, &s, value_dim(lower_input(l, 0), 0));
	column = space_push(l, &s, idx(l, start));
	for (int k = l->inputs - 1; k >= 0; k--) {
		struct value x = lower_input(l, k);
		expr at, e;

		if (value_rank(x) < 1 || value_rank(x) > 2)
			return lower_fail(l, ERR_MODEL, "input number %d has %d axes; it must have one or two.", k + 1,
			                  value_rank(x));
		start -= width.at[k];
		at = addi(column, -start);
		e = cast(value_rank(x) == 1 ? load(x, &row) : load_list(x, 2, row, at), TYPE_F32);
		e = select_(lt(at, value_rank(x) == 1 ? with(at, 1) : value_dim(x, 1)), e, with(e, 0));
		y = y ? select_(lt(at, with(at, (double)width.at[k])), e, y) : e;
	}
	lower_output(l, 0, lower_map(l, NULL, TYPE_F32, &s, y));
	return 0;
}

/* clang-format off */
#define ML .domain = "ai.onnx.ml", .since = { 1 }

const struct op_def ops_features[] = {
	{ .name = "Scaler", ML, .formula = "y = (x - offset) * scale", .inputs = { IN("x", TS_ML) },
	  .outputs = { OUT("y") },
	  .attrs = { ATTR_FLOATS("offset", "one number, or one a feature"),
		     ATTR_FLOATS("scale", "one number, or one a feature") },
	  .lower = scaler_lower, .cases = { "x:f32[N,3] offset=1,2,3 scale=0.5" } },
	{ .name = "Binarizer", ML, .formula = "y = x > threshold ? 1 : 0", .inputs = { IN("x", TS_ML) },
	  .outputs = { OUT("y") }, .attrs = { ATTR_FLOAT("threshold", 0, "what is above becomes 1") },
	  .lower = binarizer_lower, .cases = { "x:f32[N,33] threshold=0.5" } },
	{ .name = "Normalizer", ML, .formula = "y = x / norm of its row", .inputs = { IN("x", TS_ML) },
	  .outputs = { OUT("y") },
	  .attrs = { ATTR_WORD("norm", "MAX|L1|L2", "largest x, sum of |x|, or root of squares") },
	  .lower = normalizer_lower, .cases = { "x:f32[N,33] norm=L2" } },
	{ .name = "Imputer", ML, .formula = "y = x, or what replaces it where it is the replaced value",
	  .inputs = { IN("x", TS_ML) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_FLOATS("imputed_value_floats", "one number, or one a feature"),
		     ATTR_LONG_INTS("imputed_value_int64s", "the same, of integers"),
		     ATTR_FLOAT("replaced_value_float", 0, "what is replaced; may be NaN"),
		     ATTR_INT("replaced_value_int64", 0, "the same, of integers") },
	  .lower = imputer_lower, .cases = { "x:f32[N,3] imputed_value_floats=1,2,3" } },
	{ .name = "OneHotEncoder", ML, .formula = "y[..., k] = x == category k ? 1 : 0", .inputs = { IN("x", TS_ML) },
	  .outputs = { OUT("y") },
	  .attrs = { ATTR_LONG_INTS("cats_int64s", "the categories"),
		     ATTR_STRINGS("cats_strings", "not supported"),
		     ATTR_INT("zeros", 1, "unknown categories give zeros") },
	  .lower = one_hot_lower, .cases = { "x:i64[N] cats_int64s=1,3,5" } },
	{ .name = "ArrayFeatureExtractor", ML, .formula = "y[..., k] = x[..., indices[k]]",
	  .inputs = { IN("x", TS_ML), IN("indices", TS(I64)) }, .outputs = { OUT("z") }, .lower = extractor_lower,
	  .cases = { "x:f32[N,9] indices:i64[4]" } },
	{ .name = "FeatureVectorizer", ML, .formula = "y = the inputs side by side",
	  .inputs = { MANY("x", TS_ML, RANKS(1, 2)) },
	  .outputs = { OUT("y") }, .attrs = { ATTR_INTS("inputdimensions", "columns of each input") },
	  .lower = vectorizer_lower, .cases = { "x0:f32[N,3] x1:f32[N,5] inputdimensions=3,4" } },
	{ .name = NULL },
};
/* clang-format on */
