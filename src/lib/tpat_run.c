/* tpat_run: a whole model with tpat's own kernels. */
#include "base/file.h"
#include "lib/tpat_inside.h"
#include "run/run.h"
#include "tensor/npy.h"

#include <string.h>

struct whole {
	const struct tpat_run_options *o;
	struct onnx_model *model;
	struct graph *graph;
	struct run_device on;
	struct run_codes codes;            /* of all phases */
	struct run_session *session;       /* of the present phase */
	struct tpat_run_sessions sessions; /* of all, whose memory holds tensors for later ones */
	struct {
		VEC(struct graph *);
	} graphs;                /* of those before, whose names a profile has */
	struct run_counts total; /* of all */
	struct map kept;         /* struct run_tensor: made in an earlier phase, by name */
	struct tpat_given given;
	struct {
		VEC(struct graph_shape);
	} shapes;
	struct map drawn; /* struct tensor: random inputs, by name */
	int phases;
	struct tpat_talk *talk;
	struct arena *arena;
	struct err *err;
};

static void clean_up(void *arg)
{
	struct whole *w = arg;
	vec_each (s, &w->sessions)
		run_close(*s);
	if (w->on.dev)
		w->on.dev->close(w->on.dev);
	vec_each (g, &w->graphs)
		graph_free(*g);
	graph_free(w->graph);
	onnx_model_free(w->model);
}

/* True if `name` is an initializer of the graph: an input of that name only declares it. */
static bool is_initializer(const Onnx__GraphProto *g, const char *name)
{
	for (size_t i = 0; i < g->n_initializer; i++)
		if (strcmp(onnx_text(g->initializer[i]->name), name) == 0)
			return true;
	return false;
}

/* The model's input of this name, or null. */
static const Onnx__ValueInfoProto *find_input(const struct whole *w, const char *name)
{
	const Onnx__GraphProto *g = w->model->proto->graph;
	for (size_t i = 0; i < g->n_input; i++)
		if (strcmp(onnx_text(g->input[i]->name), name) == 0)
			return g->input[i];
	return NULL;
}

static int wrong_type(struct whole *w, const char *input, enum type t, const struct tensor *given)
{
	err_about(w->err, ERR_TENSOR, input);
	err_set(w->err, ERR_USAGE, "%s: input \"%s\" is %s; the given tensor is %s.", w->o->model, input,
	        type_info(t)->name, type_info(given->type)->name);
	return err_advise(w->err, "Save the array in the input's type, with NumPy's .astype(...).");
}

/* "input_0.pb" and so on are the model's inputs in their order; those that declare initializers do not count. */
static int read_folder(struct whole *w, const char *folder)
{
	const Onnx__GraphProto *g = w->model->proto->graph;
	int n = 0;
	for (size_t i = 0; i < g->n_input; i++) {
		struct tpat_given_tensor t = { .name = g->input[i]->name };
		const char *path = path_join(w->arena, folder, arena_printf(w->arena, "input_%d.pb", n));
		if (is_initializer(g, onnx_text(g->input[i]->name)))
			continue;
		n++;
		if (!file_exists(path)) /* an optional input, or a random one */
			continue;
		TRY(onnx_tensor_read_file(&t.tensor, NULL, path, w->arena, w->err));
		vec_push(w->arena, &w->given, t);
	}
	if (w->given.n)
		return 0;
	err_set(w->err, ERR_USAGE, "The folder %s has no file input_0.pb.", folder);
	return err_advise(w->err, "Name a single file as --input TENSOR=FILE.");
}

/* The name of the model's only input, else null. */
static const char *only_input(const struct whole *w)
{
	const Onnx__GraphProto *g = w->model->proto->graph;
	const char *name = NULL;
	int n = 0;
	for (size_t i = 0; i < g->n_input; i++)
		if (!is_initializer(g, onnx_text(g->input[i]->name))) {
			name = g->input[i]->name;
			n++;
		}
	return n == 1 ? name : NULL;
}

/* Reads one --input; each of its tensors must be an input of the model. */
static int read_input(struct whole *w, const char *text)
{
	const struct tpat_strings one = { &text, 1 };
	int first = w->given.n;
	if (file_is_folder(text))
		return read_folder(w, text);
	TRY(tpat_given_read(&w->given, &one, only_input(w), w->arena, w->err));
	for (int i = first; i < w->given.n; i++)
		if (!find_input(w, w->given.at[i].name))
			return tpat_no_input(w->model, "--input", text, w->given.at[i].name, w->arena, w->err);
	return 0;
}

static int read_given(struct whole *w)
{
	for (int i = 0; i < w->o->input.n; i++)
		TRY(read_input(w, w->o->input.at[i]));
	const struct tpat_strings text = tpat_split_inputs(&w->o->shape, w->model, w->arena);
	for (int i = 0; i < text.n; i++) {
		struct graph_shape s;
		TRY(tpat_parse_shape(&s, text.at[i], w->arena, w->err));
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

/* Replaces an input, a default value, or the result of a node by a constant. */
static void make_constant(struct whole *w, const char *name, const struct tensor *t)
{
	for (int i = 0; i < w->shapes.n; i++)
		if (strcmp(w->shapes.at[i].name, name) == 0) /* no input any more */
			w->shapes.at[i--] = w->shapes.at[--w->shapes.n];
	tpat_phase_bind(w->model, name, t);
}

/* Of an input that has an initializer, a given tensor replaces the initializer. */
static int replace_defaults(struct whole *w)
{
	const Onnx__GraphProto *g = w->model->proto->graph;
	const Onnx__TensorShapeProto *shape;
	for (int i = 0; i < w->given.n; i++) {
		const struct tpat_given_tensor *t = &w->given.at[i];
		enum type type;
		if (!is_initializer(g, t->name))
			continue;
		if (!onnx_value_type(find_input(w, t->name), &type, &shape) || type != t->tensor.type)
			return wrong_type(w, t->name, type, &t->tensor);
		tpat_given_find(&w->given, t->name);
		make_constant(w, t->name, &t->tensor);
	}
	return 0;
}

static int open_graph(struct whole *w)
{
	const struct graph_options o = { .shapes = w->shapes.n, .shape = w->shapes.at, .take_apart = true };
	int rc = graph_open(&w->graph, w->model, &o, w->err);
	err_about(w->err, ERR_FILE, w->o->model);
	return rc;
}

static int open_model(struct whole *w)
{
	const char *path = w->o->model;
	int rc = onnx_model_read(&w->model, path, w->err);
	if (rc == 0)
		rc = onnx_model_check(w->model, w->err);
	err_about(w->err, ERR_FILE, path);
	TRY(rc);
	TRY(read_given(w));
	rc = tpat_bind_values(w->model, &w->o->value, w->arena, w->err);
	if (rc == 0)
		rc = replace_defaults(w);
	err_about(w->err, ERR_FILE, path);
	return rc == 0 ? open_graph(w) : rc;
}

/* "x:1x64x64": an example for --shape, with the extents that the model knows. */
static const char *example_of(struct whole *w, const struct graph_value *v)
{
	enum { FIRST = 1, OTHERS = 64 }; /* of extents that it does not know */
	struct str s = str_new(w->arena);
	str_printf(&s, "%s:", v->name);
	for (int k = 0; k < v->rank; k++) {
		int64_t n = k ? OTHERS : FIRST;
		ir_const_int(v->dim[k], &n);
		str_printf(&s, "%s%lld", k ? "x" : "", (long long)n);
	}
	return v->rank > 0 ? str_shell(w->arena, str_text(&s)) : "NAME:1x64";
}

/* The tensor given for an input, or a random one. */
static int input_of(struct tensor *out, struct whole *w, const struct graph_value *v, int number)
{
	TRY(tpat_given_type(&w->given, v->name, v->type, w->arena, w->err));
	const struct tensor *given = tpat_given_find(&w->given, v->name);
	int64_t dim[IR_MAX_RANK];
	if (given && given->type != v->type)
		return wrong_type(w, v->name, v->type, given);
	if (given) {
		*out = *given;
		return 0;
	}
	given = map_get(&w->drawn, v->name);
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
		return err_advise(w->err, "Give its shape (--shape %s) or its value (--input).", example_of(w, v));
	}
	TRY(tensor_new(out, v->type, v->rank, dim, w->arena, w->err));
	bool whole = !type_is_float(v->type);
	tensor_random(out, w->o->seed + (uint64_t)number, whole ? 0 : -1, 1);
	struct tensor *kept = NEW(w->arena, struct tensor);
	*kept = *out;
	map_put(&w->drawn, v->name, kept);
	return 0;
}

/* ---- Extents that depend on data: the model runs in phases (tpat_phases.c). */

static int inputs_of(struct run_tensor **in, struct whole *w)
{
	struct graph *g = w->graph;
	*in = NEWN(w->arena, struct run_tensor, g->inputs.n + 1);
	for (int i = 0; i < g->inputs.n; i++) {
		const struct run_tensor *kept = map_get(&w->kept, g->inputs.at[i]->name);
		if (kept)
			(*in)[i] = *kept;
		else
			TRY(input_of(&(*in)[i].tensor, w, g->inputs.at[i], i));
	}
	return 0;
}

static void open_run(struct whole *w)
{
	w->session = run_open(&w->on, w->graph, w->arena);
	run_codes(w->session, &w->codes);
	tpat_watch(w->session, w->talk);
	vec_push(w->arena, &w->sessions, w->session);
}

static void add_counts(struct whole *w, const struct run_counts *c)
{
	w->total.nodes += c->nodes;
	w->total.pieces += c->pieces;
	w->total.kernels += c->kernels;
	w->total.held += c->held;
	w->total.weights += c->weights;
}

static int run_phase(struct whole *w, const struct tpat_phase_end *end)
{
	struct run_tensor *in, *out = NEWN(w->arena, struct run_tensor, end->n + 1);
	struct run_counts counts;
	TRY(inputs_of(&in, w));
	open_run(w);
	TRY(run_values(out, &counts, w->session, end->value, end->n, end->constants, in, w->err));
	add_counts(w, &counts);
	for (int i = 0; i < end->constants; i++)
		make_constant(w, end->value[i]->name, &out[i].tensor);
	for (int i = end->constants; i < end->n; i++) {
		tpat_phase_give(w->model, end->value[i]->name, &out[i].tensor);
		map_put(&w->kept, end->value[i]->name, &out[i]);
	}
	return 0;
}

static int run_phases(struct whole *w)
{
	for (int phase = 0; phase < TPAT_MOST_PHASES; phase++) {
		struct tpat_phase_end end;
		TRY(tpat_phase_end(&end, w->graph, w->arena, w->err));
		if (!end.constants)
			return 0;
		TRY(run_phase(w, &end));
		w->phases++;
		if (w->o->profile || w->o->profile_out)
			vec_push(w->arena, &w->graphs, w->graph);
		else
			graph_free(w->graph);
		w->graph = NULL;
		TRY(open_graph(w));
	}
	return 0;
}

static int run_model(struct whole *w, struct tpat_ran *r)
{
	struct run_tensor *in;
	struct tpat_texts text = { 0 };
	struct run_counts counts = { 0 };
	TRY(tpat_open_device(&w->on.dev, &w->on.target, w->o->device, w->err));
	w->codes = run_codes_kept(w->arena);
	w->kept = map_new(w->arena);
	TRY(run_phases(w));
	struct graph *g = w->graph;
	struct tensor *out = NEWN(w->arena, struct tensor, g->outputs.n + 1);
	struct run_tensor *made = NEWN(w->arena, struct run_tensor, g->outputs.n + 1);
	struct npz_entry *entry = NEWN(w->arena, struct npz_entry, g->outputs.n + 1);
	TRY(inputs_of(&in, w));
	const char *unused = tpat_given_unused(&w->given);
	if (unused)
		return err_set(w->err, ERR_USAGE, "%s has no input \"%s\".", w->o->model, unused);
	open_run(w);
	TRY(run_tensors(made, &counts, w->session, in, true, w->err));
	add_counts(w, &counts);
	for (int i = 0; i < g->outputs.n; i++) {
		out[i] = made[i].tensor;
		const char *name = g->outputs.at[i]->name;
		entry[i] = (struct npz_entry){ .name = name, .tensor = out[i] };
		vec_push(w->arena, &text,
		         (const char *)arena_printf(w->arena, "%s: %s", name, tensor_describe(&out[i], w->arena)));
	}
	if (w->o->output)
		TRY(npz_write(w->o->output, entry, g->outputs.n, w->err));
	r->outputs = tpat_strings_of(&text);
	r->held = (int64_t)w->total.held;
	r->weights = (int64_t)w->total.weights;
	r->device = arena_strdup(w->arena, w->on.dev ? w->on.dev->props.name : "interpreter");
	r->phases = w->phases + 1;
	r->nodes = w->total.nodes;
	r->pieces = w->total.pieces;
	r->kernels = w->total.kernels;
	TRY(tpat_run_measure(r, w->o, &w->sessions, w->arena, w->err));
	return w->o->expect ? tpat_run_compare(r, w->o, g, out, w->arena, w->err) : 0;
}

struct run_call {
	const struct tpat_run_options *o;
	const struct tpat_ran **out;
};

static int run(struct tpat *t, void *arg)
{
	struct run_call *c = arg;
	struct whole *w = NEW(t->arena, struct whole);
	*w = (struct whole){
		.o = c->o, .drawn = map_new(t->arena), .talk = &t->talk, .arena = t->arena, .err = &t->err
	};
	if (c->o->version != TPAT_RUN_VERSION || !c->o->model)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_run have an unknown version, or no model.");
	t->cleanup = clean_up;
	t->cleanup_arg = w;
	struct tpat_ran *r = NEW(t->arena, struct tpat_ran);
	TRY(open_model(w));
	int rc = run_model(w, r);
	*c->out = rc == 0 || r->differs ? r : NULL;
	return rc;
}

int tpat_run(struct tpat *t, const struct tpat_ran **out, const struct tpat_run_options *o)
{
	struct run_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
