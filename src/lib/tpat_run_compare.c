/* Compares the outputs of tpat_run with expected ones. */
#include <string.h>

#include "base/file.h"
#include "lib/tpat_inside.h"
#include "tensor/npy.h"

struct comparing {
	struct tpat_ran *r;
	const struct tpat_run_options *o;
	const struct graph *graph;
	struct arena *arena;
	struct err *err;
};

static double relative_of(enum type t)
{
	switch ((int)t) {
	case TYPE_NONE: return 0;
	case TYPE_F64: return 1e-9;
	case TYPE_F32: return 1e-3;
	case TYPE_F16: return 2e-2;
	case TYPE_BF16: return 5e-2;
	default: return 0.13;
	}
}

/* The tolerances of a whole model: rounding adds up over its operators, which may round to coarser types than the
 * output's. Relative to an element, and to the largest of its tensor. Integers count in steps. */
static struct tensor_tolerance tolerance_of(const struct comparing *c, const struct graph_value *v,
                                            const struct tensor *want)
{
	double relative = c->o->tolerance, largest = 0;
	if (!type_is_float(want->type))
		return (struct tensor_tolerance){ c->o->tolerance, 0 };
	if (!relative) {
		double own = relative_of(want->type), before = relative_of(graph_rounded(c->graph, v));
		relative = own > before ? own : before;
	}
	for (int64_t i = 0; i < tensor_count(want); i++) {
		double x = tensor_float(want, i);
		x = x < 0 ? -x : x;
		if (x - x == 0 && x > largest) /* not infinite, not NaN */
			largest = x;
	}
	return (struct tensor_tolerance){ relative / 10 * largest, relative };
}

/* "[2,0,5]": the place of element `i`. */
static const char *place(const struct comparing *c, const struct tensor *t, int64_t i)
{
	int64_t at[TENSOR_MAX_RANK];
	struct str s = str_new(c->arena);
	for (int k = t->rank - 1; k >= 0; k--) {
		at[k] = i % t->dim[k];
		i /= t->dim[k];
	}
	str_printf(&s, "[");
	for (int k = 0; k < t->rank; k++)
		str_printf(&s, "%s%lld", k ? "," : "", (long long)at[k]);
	str_printf(&s, "]");
	return str_text(&s);
}

static bool element_differs(const struct tensor *got, const struct tensor *want, int64_t i,
                            struct tensor_tolerance tolerance, const char **texts, struct arena *a)
{
	struct tensor x = { .type = TYPE_F64 }, y = x;
	struct tensor_difference d;
	bool whole = !type_is_float(got->type);
	int64_t integers[2] = { tensor_int(got, i), tensor_int(want, i) };
	double floats[2] = { tensor_float(got, i), tensor_float(want, i) };
	x.type = y.type = whole ? TYPE_I64 : TYPE_F64;
	x.data = whole ? (void *)&integers[0] : (void *)&floats[0];
	y.data = whole ? (void *)&integers[1] : (void *)&floats[1];
	tensor_compare(&d, &x, &y, tolerance);
	for (int k = 0; k < 2; k++)
		texts[k] = whole ? arena_printf(a, "%lld", (long long)integers[k]) : arena_printf(a, "%.9g", floats[k]);
	return d.differing > 0;
}

/* The first element that differs, as a sentence. */
static const char *first_of(const struct comparing *c, const char *name, const struct tensor *got,
                            const struct tensor *want, struct tensor_tolerance tolerance)
{
	const char *text[2];
	for (int64_t i = 0; i < tensor_count(got); i++)
		if (element_differs(got, want, i, tolerance, text, c->arena))
			return arena_printf(c->arena, "output \"%s\" is %s at %s, not %s.", name, text[0],
			                    place(c, got, i), text[1]);
	return NULL;
}

static void compare(struct comparing *c, const struct graph_value *v, const struct tensor *got,
                    const struct tensor *want)
{
	struct tpat_ran *r = c->r;
	struct tensor_difference d;
	struct tensor_tolerance tolerance = tolerance_of(c, v, want);
	const char *differs = NULL;
	r->compared++;
	if (!tensor_compare(&d, got, want, tolerance)) {
		differs = arena_printf(c->arena, "output \"%s\" is %s, not %s.", v->name,
		                       tensor_describe(got, c->arena), tensor_describe(want, c->arena));
	} else {
		r->elements += d.count;
		r->wrong += d.differing;
		r->max_absolute = d.max_absolute > r->max_absolute ? d.max_absolute : r->max_absolute;
		r->max_relative = d.max_relative > r->max_relative ? d.max_relative : r->max_relative;
		if (d.differing)
			differs = first_of(c, v->name, got, want, tolerance);
	}
	if (differs && !r->differs)
		r->differs = differs;
}

/* Void elements have the type of the output. */
static int retype(struct npz_entry *x, const struct tensor *got, struct arena *a, struct err *e)
{
	return x->raw ? npy_retype(&x->tensor, got->type, x->name, a, e) : 0;
}

static int compare_npz(struct comparing *c, const struct tensor *out)
{
	struct graph_value *const *value = c->graph->outputs.at;
	int n = c->graph->outputs.n;
	struct npz_entry *entry;
	int entries;
	TRY(npz_read(&entry, &entries, c->o->expect, c->arena, c->err));
	for (int k = 0; k < entries; k++) {
		int found = entries == 1 && n == 1 ? 0 : -1;
		for (int i = 0; i < n; i++)
			if (strcmp(entry[k].name, value[i]->name) == 0)
				found = i;
		if (found < 0)
			return err_set(c->err, ERR_USAGE, "%s has the array \"%s\", but %s has no such output.",
			               c->o->expect, entry[k].name, c->o->model);
		TRY(retype(&entry[k], &out[found], c->arena, c->err));
		compare(c, value[found], &out[found], &entry[k].tensor);
	}
	return 0;
}

static int compare_folder(struct comparing *c, const struct tensor *out)
{
	struct graph_value *const *value = c->graph->outputs.at;
	int n = c->graph->outputs.n;
	for (int i = 0;; i++) {
		struct tensor want;
		const char *path = path_join(c->arena, c->o->expect, arena_printf(c->arena, "output_%d.pb", i));
		if (!file_exists(path))
			return 0;
		if (i == n)
			return err_set(c->err, ERR_USAGE, "There is a file %s, but %s has %d outputs.", path,
			               c->o->model, n);
		TRY(onnx_tensor_read_file(&want, NULL, path, c->arena, c->err));
		compare(c, value[i], &out[i], &want);
	}
}

static int compare_one(struct comparing *c, const struct tensor *out)
{
	struct graph_value *const *value = c->graph->outputs.at;
	int n = c->graph->outputs.n;
	struct tensor want;
	const char *path = c->o->expect;
	if (n != 1) {
		err_set(c->err, ERR_USAGE, "%s has %d outputs, and %s has one tensor.", c->o->model, n, path);
		return err_advise(c->err, "Give an .npz file, or a folder with output_0.pb, output_1.pb ...");
	}
	if (str_ends(path, ".pb"))
		TRY(onnx_tensor_read_file(&want, NULL, path, c->arena, c->err));
	else
		TRY(npy_read(&want, path, out->type, c->arena, c->err));
	compare(c, value[0], &out[0], &want);
	return 0;
}

int tpat_run_compare(struct tpat_ran *r, const struct tpat_run_options *o, const struct graph *g,
                     const struct tensor *out, struct arena *a, struct err *e)
{
	struct comparing c = { r, o, g, a, e };
	if (file_is_folder(o->expect))
		TRY(compare_folder(&c, out));
	else if (str_ends(o->expect, ".npz"))
		TRY(compare_npz(&c, out));
	else
		TRY(compare_one(&c, out));
	if (!r->compared)
		return err_set(e, ERR_USAGE, "%s has no expected outputs.", o->expect);
	return r->differs ? err_set(e, ERR_DIFFER, "%s: %s", o->model, r->differs) : 0;
}
