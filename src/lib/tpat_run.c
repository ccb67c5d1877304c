/* tpat_run: a whole model with tpat's own kernels. */
#include "lib/tpat_inside.h"
#include "run/run.h"
#include "tensor/npy.h"

#include <string.h>

struct whole {
	const struct tpat_run_options *o;
	struct onnx_model *model;
	struct graph *graph;
	struct run_device on;
	struct tpat_given given;
	struct {
		VEC(struct graph_shape);
	} shapes;
	struct arena *arena;
	struct err *err;
};

static void clean_up(void *arg)
{
	struct whole *w = arg;
	if (w->on.dev)
		w->on.dev->close(w->on.dev);
	graph_free(w->graph);
	onnx_model_free(w->model);
}

static int read_given(struct whole *w)
{
	TRY(tpat_given_read(&w->given, &w->o->input, w->arena, w->err));
	for (int i = 0; i < w->o->shape.n; i++) {
		struct graph_shape s;
		TRY(tpat_parse_shape(&s, w->o->shape.at[i], w->arena, w->err));
		vec_push(w->arena, &w->shapes, s);
	}
	vec_each (t, &w->given) {
		struct graph_shape s = { .name = t->name, .rank = t->tensor.rank };
		for (int k = 0; k < s.rank; k++)
			s.dim[k].value = t->tensor.dim[k];
		vec_push(w->arena, &w->shapes, s);
	}
	return 0;
}

static int open_model(struct whole *w)
{
	const char *path = w->o->model;
	struct graph_options o = { .shapes = w->shapes.n, .shape = w->shapes.at };
	int rc = onnx_model_read(&w->model, path, w->err);
	if (rc == 0)
		rc = onnx_model_check(w->model, w->err);
	if (rc == 0)
		rc = tpat_bind_values(w->model, &w->o->value, w->arena, w->err);
	if (rc == 0)
		rc = graph_new(&w->graph, w->model, &o, w->err);
	err_about(w->err, ERR_FILE, path);
	return rc;
}

static int open_device(struct whole *w)
{
	const char *name = w->o->device ? w->o->device : "cpu";
	if (strcmp(name, "interpreter") == 0)
		return 0;
	if (str_starts(name, "null")) {
		err_set(w->err, ERR_USAGE, "The device \"%s\" does not run kernels.", name);
		return err_advise(w->err, "Use cuda, cuda:1, emulator, cpu or interpreter.");
	}
	TRY(dev_open(&w->on.dev, name, w->err));
	tpat_target_of_device(&w->on.target, &w->on.dev->props);
	return 0;
}

/* The tensor given for an input, or a random one. */
static int input_of(struct tensor *out, struct whole *w, const struct graph_value *v, int number)
{
	const struct tensor *given = tpat_given_find(&w->given, v->name);
	int64_t dim[IR_MAX_RANK];
	if (given && given->type != v->type) {
		err_about(w->err, ERR_TENSOR, v->name);
		return err_set(w->err, ERR_USAGE, "%s: input \"%s\" is %s; the given tensor is %s.", w->o->model,
		               v->name, type_info(v->type)->name, type_info(given->type)->name);
	}
	if (given) {
		*out = *given;
		return 0;
	}
	bool known = v->type != TYPE_NONE && v->rank >= 0;
	for (int k = 0; known && k < v->rank; k++)
		known = ir_const_int(v->dim[k], &dim[k]);
	if (!known) {
		err_about(w->err, ERR_TENSOR, v->name);
		err_set(w->err, ERR_USAGE, "%s: the extents of input \"%s\" are not known.", w->o->model, v->name);
		return err_advise(w->err, "Give its shape (--shape) or its value (--input).");
	}
	TRY(tensor_new(out, v->type, v->rank, dim, w->arena, w->err));
	bool whole = !type_is_float(v->type);
	tensor_random(out, w->o->seed + (uint64_t)number, whole ? 0 : -1, 1);
	return 0;
}

static int run_model(struct whole *w, struct tpat_ran *r)
{
	struct graph *g = w->graph;
	struct tensor *in = NEWN(w->arena, struct tensor, g->inputs.n + 1);
	struct tensor *out = NEWN(w->arena, struct tensor, g->outputs.n + 1);
	struct npz_entry *entry = NEWN(w->arena, struct npz_entry, g->outputs.n + 1);
	struct tpat_texts text = { 0 };
	struct run_counts counts = { 0 };
	for (int i = 0; i < g->inputs.n; i++)
		TRY(input_of(&in[i], w, g->inputs.at[i], i));
	const char *unused = tpat_given_unused(&w->given);
	if (unused)
		return err_set(w->err, ERR_USAGE, "%s has no input \"%s\".", w->o->model, unused);
	TRY(open_device(w));
	TRY(run_graph(out, &counts, &w->on, g, in, w->arena, w->err));
	for (int i = 0; i < g->outputs.n; i++) {
		const char *name = g->outputs.at[i]->name;
		entry[i] = (struct npz_entry){ .name = name, .tensor = out[i] };
		vec_push(w->arena, &text,
		         (const char *)arena_printf(w->arena, "%s: %s", name, tensor_describe(&out[i], w->arena)));
	}
	if (w->o->output)
		TRY(npz_write(w->o->output, entry, g->outputs.n, w->err));
	r->outputs = tpat_strings_of(&text);
	r->device = arena_strdup(w->arena, w->on.dev ? w->on.dev->props.name : "interpreter");
	r->nodes = counts.nodes;
	r->pieces = counts.pieces;
	r->kernels = counts.kernels;
	return 0;
}

struct run_call {
	const struct tpat_run_options *o;
	const struct tpat_ran **out;
};

static int run(struct tpat *t, void *arg)
{
	struct run_call *c = arg;
	struct whole *w = NEW(t->arena, struct whole);
	*w = (struct whole){ .o = c->o, .arena = t->arena, .err = &t->err };
	if (c->o->version != TPAT_RUN_VERSION || !c->o->model)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_run have another version, or no model.");
	t->cleanup = clean_up;
	t->cleanup_arg = w;
	struct tpat_ran *r = NEW(t->arena, struct tpat_ran);
	TRY(read_given(w));
	TRY(open_model(w));
	TRY(run_model(w, r));
	*c->out = r;
	return 0;
}

int tpat_run(struct tpat *t, const struct tpat_ran **out, const struct tpat_run_options *o)
{
	struct run_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
