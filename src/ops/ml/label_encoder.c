/* LabelEncoder: y = the value of the key x, or the default. Keys are sorted and found by bisection, one map a step. Of
 * equal keys the last one counts; from version 4 on NaN matches the key NaN. Keys and values that are strings are not
 * supported; nor is version 1, which has no others. Source: ONNX, LabelEncoder of ai.onnx.ml, versions 2 and 4. */
#include "ops/ml/ml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A list of numbers from attributes of several forms: floats as f32, integers as i64, or a tensor. */
struct list {
	const struct tensor *tensor; /* a tensor of one axis */
};

static int read_list(struct lower *l, const char *what, struct list *out)
{
	struct arena *a = l->program->arena;
	const char *floats = arena_printf(a, "%s_floats", what), *ints = arena_printf(a, "%s_int64s", what);
	const char *tensor = arena_printf(a, "%s_tensor", what), *strings = arena_printf(a, "%s_strings", what);
	const struct tensor *given = lower_tensor(l, tensor);
	struct tensor *t = NEW(a, struct tensor);
	const int64_t *i;
	const double *f;
	int64_t n;

	*out = (struct list){ .tensor = given ? given : t };
	if (lower_has(l, strings) || (given && given->type == TYPE_STRING)) {
		lower_fail(l, ERR_UNSUPPORTED, "its %s are strings.", what);
		return err_advise(l->err, "Look them up on the processor, before or after the engine runs.");
	}
	if (given)
		return 0;
	if ((n = lower_floats(l, floats, &f)) > 0) {
		TRY(tensor_new(t, TYPE_F32, 1, &n, a, l->err));
		for (int64_t k = 0; k < n; k++)
			tensor_set_float(t, k, f[k]);
		return 0;
	}
	n = lower_int_list(l, ints, &i);
	TRY(tensor_new(t, TYPE_I64, 1, &n, a, l->err));
	for (int64_t k = 0; k < n; k++)
		tensor_set_int(t, k, i[k]);
	return 0;
}

/* *out is the value for keys without a match, in type t. */
static int read_default(struct lower *l, enum type t, expr *out)
{
	const struct tensor *given = lower_tensor(l, "default_tensor");

	if (given && (given->type != t || tensor_count(given) != 1))
		return lower_fail(l, ERR_MODEL, "default_tensor is %s; it must be one %s.",
		                  tensor_describe(given, l->program->arena), type_name(t));
	if (type_is_float(t))
		*out = ir_float(l->program->pool, t, given ? tensor_float(given, 0) : lower_float(l, "default_float"));
	else
		*out = ir_int(l->program->pool, t, given ? tensor_int(given, 0) : lower_int(l, "default_int64"));
	return 0;
}

/* ---- Sorting ---------------------------------------------------------------------------------------------------- */

struct entry {
	const struct tensor *keys;
	int64_t place;
};

static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const struct tensor *k = x->keys;

	if (type_is_float(k->type)) {
		double p = tensor_float(k, x->place), q = tensor_float(k, y->place);

		if (p != q)
			return p < q ? -1 : 1;
	} else {
		int64_t p = tensor_int(k, x->place), q = tensor_int(k, y->place);

		if (p != q)
			return p < q ? -1 : 1;
	}
	return (x->place > y->place) - (x->place < y->place);
}

static bool same_key(const struct tensor *k, int64_t a, int64_t b)
{
	return type_is_float(k->type) ? tensor_float(k, a) == tensor_float(k, b) : tensor_int(k, a) == tensor_int(k, b);
}

/* The positions of the keys in sorted order, each key once; *nan: the position of NaN, or -1. */
static int64_t sort_keys(struct lower *l, const struct tensor *keys, int64_t *place, int64_t *nan)
{
	int64_t count = tensor_count(keys), n = 0, kept = 0;
	struct entry *e = NEWN(l->program->arena, struct entry, count + 1);

	*nan = -1;
	for (int64_t i = 0; i < count; i++) {
		if (type_is_float(keys->type) && isnan(tensor_float(keys, i)))
			*nan = i;
		else
			e[n++] = (struct entry){ keys, i };
	}
	qsort(e, (size_t)n, sizeof *e, by_key);
	for (int64_t i = 0; i < n; i++)
		if (i + 1 == n || !same_key(keys, e[i].place, e[i + 1].place))
			place[kept++] = e[i].place;
	return kept;
}

/* A constant [n] of the elements of `t` at the given positions, the last one repeated. */
static int pick(struct lower *l, const char *name, const struct tensor *t, const int64_t *place, int64_t count,
                int64_t n, struct value *out)
{
	struct tensor *data = NEW(l->program->arena, struct tensor);

	TRY(tensor_new(data, t->type, 1, &n, l->program->arena, l->err));
	for (int64_t i = 0; i < n; i++) {
		int64_t from = place[i < count ? i : count - 1];

		if (type_is_float(t->type))
			tensor_set_float(data, i, tensor_float(t, from));
		else
			tensor_set_int(data, i, tensor_int(t, from));
	}
	*out = lower_data(l, name, data);
	return 0;
}

/* ---- Lookup ----------------------------------------------------------------------------------------------------- */

/* The last of 2^steps sorted keys that is not greater than x. */
static expr halve(struct lower *l, struct value x, struct value key, const struct space *s, int64_t steps)
{
	expr at_x = wide(at(x, s)), here = num(l, TYPE_I32, 0), next;

	for (int64_t half = (int64_t)1 << steps >> 1; half; half /= 2) {
		next = addi(here, half);
		next = select_(le(wide(load_list(key, 1, cast(next, TYPE_INDEX))), at_x), next, here);
		here = at(lower_map(l, "place", TYPE_I32, s, next), s);
	}
	return cast(here, TYPE_INDEX);
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), key, value;
	struct space s = space_of(l, x);
	struct list keys, values;
	int64_t n, *place, nan, steps = 0;
	expr y, absent = NULL, here;
	enum type t;

	TRY(read_list(l, "keys", &keys));
	TRY(read_list(l, "values", &values));
	n = tensor_count(keys.tensor);
	t = values.tensor->type;
	if (lower_has(l, "classes_strings") || !n)
		return lower_fail(l, ERR_UNSUPPORTED, "it has no keys that are numbers.");
	if (n != tensor_count(values.tensor))
		return lower_fail(l, ERR_MODEL, "there are %lld keys, but %lld values.", (long long)n,
		                  (long long)tensor_count(values.tensor));
	if (keys.tensor->type != value_type(x) || !(TS_NUMBER & 1u << t))
		return lower_fail(l, ERR_MODEL, "the input is %s, keys are %s, and values %s.",
		                  type_name(value_type(x)), type_name(keys.tensor->type), type_name(t));
	TRY(read_default(l, t, &absent));
	place = NEWN(l->program->arena, int64_t, n + 1);
	n = sort_keys(l, keys.tensor, place, &nan);
	y = absent;
	if (n) {
		while ((int64_t)1 << steps < n)
			steps++;
		TRY(pick(l, "key", keys.tensor, place, n, (int64_t)1 << steps, &key));
		TRY(pick(l, "value", values.tensor, place, n, (int64_t)1 << steps, &value));
		here = halve(l, x, key, &s, steps);
		y = select_(eq(wide(load(key, &here)), wide(at(x, &s))), load(value, &here), absent);
	}
	if (nan >= 0 && l->opset >= 4) {
		here = type_is_float(t) ? ir_float(l->program->pool, t, tensor_float(values.tensor, nan))
		                        : ir_int(l->program->pool, t, tensor_int(values.tensor, nan));
		y = select_(unary(IR_ISNAN, wide(at(x, &s))), here, y);
	}
	lower_output(l, 0, lower_map(l, NULL, t, &s, y));
	return 0;
}

const struct op_def op_label_encoder = {
	.name = "LabelEncoder",
	.domain = "ai.onnx.ml",
	.since = { 1, 2, 4 },
	.formula = "y = the value of the key x, or the default",
	.inputs = { IN("x", TS(F32) | TS(F64) | TS(I64) | TS(I32) | TS(I16)) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_LONG_INTS("keys_int64s", "keys of i64"), ATTR_FLOATS("keys_floats", "keys of f32"),
	           ATTR_TENSOR("keys_tensor", "keys of any type"), ATTR_STRINGS("keys_strings", "not supported"),
	           ATTR_LONG_INTS("values_int64s", "values of i64"), ATTR_FLOATS("values_floats", "values of f32"),
	           ATTR_TENSOR("values_tensor", "values of any type"), ATTR_STRINGS("values_strings", "not supported"),
	           ATTR_INT("default_int64", -1, "where x is not a key, of integers"),
	           ATTR_FLOAT("default_float", -0.0, "where x is not a key, of floats"),
	           ATTR_TENSOR("default_tensor", "where x is not a key"),
	           ATTR_STRINGS("classes_strings", "not supported"),
	           ATTR("default_string", OP_STRING, 0, NULL, "not supported", false) },
	.lower = lower,
	.cases = { "x:i64[N,3] keys_int64s=5,1,1,0 values_floats=0.5,1,2,3 default_float=-4",
	           "x:f32[N] keys_floats=0.5,nan,1.5,-1 values_int64s=7,8,9,10",
	           "x:i32[N] keys_tensor=i32{3,1,0} values_tensor=f64{1,2,3} default_tensor=f64{0.25}",
	           "x:i16[N] keys_tensor=i16{1} values_tensor=i16{4}" },
};
