/* Reads the tensors of a case, and compares computed outputs with them. */
#include "tests/nodes/node_data.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "tests/nodes/random_check.h"

static bool is_initializer(const Onnx__GraphProto *g, const char *name)
{
	for (size_t i = 0; i < g->n_initializer; i++)
		if (strcmp(onnx_text(g->initializer[i]->name), onnx_text(name)) == 0)
			return true;
	return false;
}

int node_data_read(struct node_data *d, const struct onnx_model *m, const char *dir, struct arena *a, struct err *e)
{
	const Onnx__GraphProto *g = m->proto->graph;
	const char *ignored;
	int n = 0;

	*d = (struct node_data){ .input = NEWN(a, struct tensor, g->n_input + 1),
		                 .output = NEWN(a, struct tensor, g->n_output + 1),
		                 .input_name = NEWN(a, const char *, g->n_input + 1),
		                 .output_name = NEWN(a, const char *, g->n_output + 1) };
	for (size_t i = 0; i < g->n_input; i++) {
		if (is_initializer(g, g->input[i]->name))
			continue;
		const char *path = arena_printf(a, "%s/input_%d.pb", dir, n++);
		if (!file_exists(path))
			continue;
		TRY(onnx_tensor_read_file(&d->input[d->inputs], &ignored, path, a, e));
		d->input_name[d->inputs++] = g->input[i]->name;
	}
	for (size_t i = 0; i < g->n_output; i++) {
		TRY(onnx_tensor_read_file(&d->output[i], &ignored, arena_printf(a, "%s/output_%zu.pb", dir, i), a, e));
		d->output_name[d->outputs++] = g->output[i]->name;
	}
	return 0;
}

static int compare_output(const struct tensor *got, const struct tensor *want, const char *name,
                          struct tensor_tolerance tolerance, struct arena *a, struct err *e)
{
	struct tensor_difference d;

	if (!tensor_compare(&d, got, want, tolerance))
		return err_set(e, ERR_DIFFER, "output \"%s\" is %s; it should be %s.", name, tensor_describe(got, a),
		               tensor_describe(want, a));
	if (!d.differing)
		return 0;
	return err_set(e, ERR_DIFFER,
	               "output \"%s\" (%s): %lld of %lld elements differ; element %lld is %.9g, not %.9g.", name,
	               tensor_describe(want, a), (long long)d.differing, (long long)d.count, (long long)d.worst,
	               d.worst_got, d.worst_want);
}

/* Expected values carry the rounding of whoever computed them: for narrow floats the library's own tolerance, since one
 * step of bf16 alone is more than the tests' 1e-3; and for f32 a few units in the last place of the largest element (an
 * inverse transform's zeros). */
static struct tensor_tolerance at_least_rounding(struct tensor_tolerance t, const struct tensor *want)
{
	bool narrow = want->type == TYPE_BF16 || want->type == TYPE_F16;
	double largest = 0;

	if (want->type == TYPE_F32)
		for (int64_t i = 0; i < tensor_count(want); i++)
			if (isfinite(tensor_float(want, i)))
				largest = fmax(largest, fabs(tensor_float(want, i)));
	if (narrow)
		t.relative = fmax(t.relative, tensor_tolerance_of(want->type).relative);
	t.absolute = fmax(t.absolute, 0x1p-21 * largest);
	return t;
}

/* Random elements: types and shapes are as expected, and the values are plausible. */
static int check_drawn(const char *name, const struct node_data *d, const struct tensor *const *got, struct err *e)
{
	const struct tensor_tolerance any = { .absolute = INFINITY };
	struct tensor_difference difference;
	const char *wrong = NULL;

	for (int i = 0; i < d->outputs; i++)
		if (!tensor_compare(&difference, got[i], &d->output[i], any))
			wrong = "an output has another type or shape";
	if (!wrong)
		wrong = random_check(name, d->input, got[0], d->outputs > 1 ? got[1] : NULL);
	return wrong ? err_set(e, ERR_DIFFER, "Drawn elements: %s.", wrong) : 0;
}

int node_data_compare(const struct node_data *d, struct graph *g, struct map *tensors, const char *name,
                      struct tensor_tolerance tolerance, struct arena *a, struct err *e)
{
	const struct tensor **drawn = NEWN(a, const struct tensor *, d->outputs + 1);

	for (int i = 0; i < d->outputs; i++) {
		struct graph_value *v = graph_value_find(g, d->output_name[i]);
		const struct tensor *got = map_get(tensors, d->output_name[i]);

		if (!got && v && v->is_constant)
			TRY(graph_constant(&got, g, v, e));
		if (!got)
			return err_set(e, ERR_DIFFER, "output \"%s\" has no value.", d->output_name[i]);
		drawn[i] = got;
		if (random_case(name))
			continue;
		TRY(compare_output(got, &d->output[i], d->output_name[i], at_least_rounding(tolerance, &d->output[i]),
		                   a, e));
	}
	return random_case(name) ? check_drawn(name, d, drawn, e) : 0;
}
