/* Values from the user's text: "sr=16000". They turn a model's input into a constant. */
#include "lib/tpat_inside.h"

#include <string.h>

enum { MOST_ELEMENTS = 64 };

static const char form[] = "Write it as NAME=16000, or NAME=1,2,3 for a list.";

static int wrong(const char *text, const char *why, struct err *e)
{
	err_set(e, ERR_USAGE, "the value \"%s\" %s.", text, why);
	return err_advise(e, "%s", form);
}

int tpat_value_name(const char **name, const char *text, struct arena *a, struct err *e)
{
	const char *equal = strrchr(text, '='); /* a name may have one, a value not */
	if (!equal || equal == text) {
		err_set(e, ERR_USAGE, "The value \"%s\" names no tensor.", text);
		return err_advise(e, "%s", form);
	}
	*name = arena_strndup(a, text, (size_t)(equal - text));
	return 0;
}

/* Splits "1,2,3" into strings; "true" and "false" of bool become numbers. */
static int split(struct tensor *out, const char *text, struct arena *a, struct err *e)
{
	const char *p = strrchr(text, '=') + 1;
	int64_t n = 1;
	for (const char *c = p; *c; c++)
		n += *c == ',';
	if (n > MOST_ELEMENTS)
		return wrong(text, "has more than 64 elements", e);
	TRY(tensor_new(out, TYPE_STRING, 1, &n, a, e));
	for (int64_t i = 0; i < n; i++) {
		const char *one = arena_strndup(a, p, strcspn(p, ","));
		out->strings[i] = strcmp(one, "true") == 0 ? "1" : strcmp(one, "false") == 0 ? "0" : one;
		p += strlen(one) + 1;
	}
	return 0;
}

/* True if the type cannot hold a number of the list: 1.5 or 300 for a byte. */
static bool changes(const struct tensor *strings, const struct tensor *t, struct arena *a)
{
	struct tensor exact;
	struct err ignored = { 0 };
	if (type_is_float(t->type) || tensor_convert(&exact, strings, TYPE_F64, a, &ignored) < 0)
		return false;
	for (int64_t i = 0; i < tensor_count(t); i++) {
		int64_t n = tensor_int(t, i);
		double x = tensor_float(&exact, i), y = t->type == TYPE_U64 ? (double)(uint64_t)n : (double)n;
		if (x != y)
			return true;
	}
	return false;
}

int tpat_value_read(struct tensor *out, const char *text, enum type type, int rank, const int64_t *dim, struct arena *a,
                    struct err *e)
{
	struct tensor strings;
	int64_t known = 1;
	int open = -1;
	TRY(split(&strings, text, a, e));
	int64_t n = strings.dim[0];
	struct err why = { 0 };
	if (type == TYPE_STRING || tensor_convert(out, &strings, type, a, &why) < 0)
		return wrong(text, arena_printf(a, "is not of the tensor's type, %s", type_info(type)->onnx_name), e);
	if (changes(&strings, out, a))
		return wrong(text, arena_printf(a, "does not fit %s, the tensor's type", type_info(type)->onnx_name),
		             e);
	if (rank < 0) /* unknown: as written */
		rank = n == 1 ? 0 : 1, dim = &n;
	out->rank = rank;
	for (int k = 0; k < rank; k++) {
		out->dim[k] = dim[k];
		if (dim[k] < 0 && open < 0)
			open = k; /* the list's length decides */
		else
			known *= dim[k] < 0 ? out->dim[k] = 1 : dim[k];
	}
	if (open >= 0)
		out->dim[open] = known ? n / known : 0;
	if (tensor_count(out) == n)
		return 0;
	out->rank = 1;
	struct str shape = str_new(a);
	str_add(&shape, rank ? "the shape [" : "a scalar");
	for (int k = 0; k < rank; k++)
		dim[k] < 0 ? str_printf(&shape, "%s?", k ? "," : "")
		           : str_printf(&shape, "%s%lld", k ? "," : "", (long long)dim[k]);
	return wrong(text,
	             arena_printf(a, "has %lld element%s, which %s not fit %s%s", (long long)n, n == 1 ? "" : "s",
	                          n == 1 ? "does" : "do", str_text(&shape), rank ? "]" : ""),
	             e);
}

/* ---- Inputs of a model. */

int tpat_no_input(const struct onnx_model *m, const char *option, const char *text, const char *name, struct arena *a,
                  struct err *e)
{
	const Onnx__GraphProto *g = m->proto->graph;
	const char **names = NEWN(a, const char *, g->n_input + 1), *closest;
	struct str list = str_new(a);
	for (size_t i = 0; i < g->n_input; i++) {
		names[i] = onnx_text(g->input[i]->name);
		str_printf(&list, "%s%s", i ? ", " : "", names[i]);
	}
	closest = str_closest(name, names);
	err_set(e, ERR_USAGE, "%s: %s %s: the model has no input \"%s\".", m->path, option, text, name);
	if (strchr(name, '=')) /* "a=1,b=2" */
		return err_advise(e, "Give %s once for each input.", option);
	return closest ? err_advise(e, "Did you mean \"%s\"?", closest)
	               : err_advise(e, "The model's inputs are %s.", str_text(&list));
}

static int bind(struct onnx_model *m, const char *text, struct arena *a, struct err *e)
{
	Onnx__GraphProto *g = m->proto->graph;
	const Onnx__TensorShapeProto *shape = NULL;
	const char *name;
	enum type type;
	size_t i = 0;
	int64_t dim[TENSOR_MAX_RANK];
	struct tensor t;
	TRY(tpat_value_name(&name, text, a, e));
	while (i < g->n_input && strcmp(onnx_text(g->input[i]->name), name) != 0)
		i++;
	if (i == g->n_input)
		return tpat_no_input(m, "--value", text, name, a, e);
	if (!onnx_value_type(g->input[i], &type, &shape) || !type || (shape && shape->n_dim > TENSOR_MAX_RANK))
		return err_set(e, ERR_USAGE, "%s: the value \"%s\": the model's input \"%s\" is not a tensor.", m->path,
		               text, name);
	for (size_t k = 0; shape && k < shape->n_dim; k++)
		dim[k] = shape->dim[k]->has_dim_value ? shape->dim[k]->dim_value : -1;
	if (tpat_value_read(&t, text, type, shape ? (int)shape->n_dim : -1, dim, a, e) < 0)
		return err_where(e, "%s: input \"%s\": ", m->path, name);
	onnx_graph_bind_input(m, g, (int)i, onnx_tensor_store(&t, name, m->arena));
	return 0;
}

int tpat_bind_values(struct onnx_model *m, const struct tpat_strings *value, struct arena *a, struct err *e)
{
	for (int i = 0; i < value->n; i++)
		TRY(bind(m, value->at[i], a, e));
	return 0;
}
