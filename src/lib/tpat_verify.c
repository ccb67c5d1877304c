/* Verifies a rewritten model: every plugin against the local function of its node. */
#include "lib/tpat_inside.h"

#include <string.h>

#include "base/file.h"
#include "check/verify.h"
#include "emulator/emulator.h"
#include "tune/tune.h"

struct tpat_verification {
	const struct tpat_verify_options *o;
	const struct tpat_verify_edit *edit; /* or null */
	struct onnx_model *model;
	struct graph *graph;
	const char *library, *device; /* the open library's path; the device's name */
	int libraries;                /* that the chosen plugins are in */
	struct tpat_verified *result;
	struct verify *verify;
	struct tpat_given tensors; /* given by the user */
	struct {
		VEC(struct graph_shape);
	} shapes;
	bool **chosen; /* by graph number and node; null: all plugins */
	struct {
		VEC(struct tpat_check);
	} checks;
	struct tpat_talk *talk;
	struct arena *arena;
	struct err *err;
};

static void close_model(struct tpat_verification *v)
{
	graph_free(v->graph);
	onnx_model_free(v->model);
	v->graph = NULL;
	v->model = NULL;
}

void tpat_verification_close(struct tpat_verification *v)
{
	if (!v)
		return;
	verify_close(v->verify);
	v->verify = NULL;
	close_model(v);
}

static void clean_up(void *arg)
{
	struct tpat_verification **v = arg;
	tpat_verification_close(*v);
}

/* ---- The user's shapes and values. */

static bool is_plugin(const struct graph_node *n)
{
	return strcmp(onnx_domain(n->proto->domain), GRAPH_PLUGIN_DOMAIN) == 0;
}

static bool feeds_plugin(const void *of, const char *name)
{
	const struct tpat_verification *v = of;
	vec_each (g, &v->graph->graphs)
		vec_each (n, &(*g)->nodes)
			for (size_t i = 0; is_plugin(n) && i < n->proto->n_input; i++)
				if (strcmp(n->proto->input[i], name) == 0)
					return true;
	return false;
}

static int read_shapes(struct tpat_verification *v)
{
	const struct tpat_strings text = tpat_split_lists(&v->o->shape, feeds_plugin, v, v->arena);
	for (int i = 0; i < text.n; i++) {
		struct graph_shape s;
		TRY(tpat_parse_shape(&s, text.at[i], v->arena, v->err));
		for (int k = 0; k < s.rank; k++)
			if (s.dim[k].symbol)
				return err_set(v->err, ERR_USAGE, "The shape \"%s\" must have only numbers here.",
				               text.at[i]);
		vec_push(v->arena, &v->shapes, s);
	}
	return 0;
}

/* Returns the value from the first graph that has the name. */
static const struct graph_value *find_value(const struct tpat_verification *v, const char *name)
{
	const struct graph_value *x = NULL;
	for (int i = 0; i < v->graph->graphs.n && !x; i++)
		x = graph_value_find(v->graph->graphs.at[i], name);
	return x;
}

/* Parses values given as text, once the model's types are known. */
static int read_values(struct tpat_verification *v)
{
	for (int i = 0; i < v->o->value.n; i++) {
		const char *text = v->o->value.at[i];
		struct tpat_given_tensor given = { 0 };
		int64_t dim[IR_MAX_RANK];
		TRY(tpat_value_name(&given.name, text, v->arena, v->err));
		const struct graph_value *x = find_value(v, given.name);
		for (int k = 0; x && k < x->rank; k++)
			if (!ir_const_int(x->dim[k], &dim[k]))
				dim[k] = -1;
		if (x && tpat_value_read(&given.tensor, text, x->type, x->rank, dim, v->arena, v->err) < 0)
			return err_where(v->err, "%s: tensor \"%s\": ", v->o->model, given.name);
		vec_push(v->arena, &v->tensors, given); /* an unknown name is reported as unused */
	}
	return 0;
}

/* ---- The library. */

/* The library that holds a plugin, and the folder of its sources: the user's, the model's, or the plugin's own. */
static const char *library_of(const char **folder, struct tpat_verification *v, const char *plugin)
{
	if (v->edit) {
		*folder = v->edit->folder;
		return v->edit->library;
	}
	const char *library = tpat_library_of(folder, v->o->model, plugin, !v->o->library, v->arena);
	return v->o->library ? v->o->library : library;
}

/* Opens it, unless it is open already. */
static int open_library(struct tpat_verification *v, const char *plugin)
{
	struct arena *a = v->arena;
	const char *device = v->o->device, *folder, *library = library_of(&folder, v, plugin);
	if (v->library && strcmp(v->library, library) == 0)
		return 0;
	if (!file_exists(library)) {
		err_set(v->err, ERR_MODEL, "There is no plugin library %s.", library);
		return err_advise(v->err, "Name it with --lib LIBRARY.so, or build it again.");
	}
	verify_close(v->verify);
	v->verify = NULL;
	v->library = library;
	if (!device)
		device = dev_cuda_count(NULL) > 0 ? "cuda" : emulator_has_compiler() ? "emulator" : "cpu";
	if (str_starts(device, "null")) {
		err_set(v->err, ERR_USAGE, "The device \"%s\" does not run kernels, so there is nothing to compare.",
		        device);
		return err_advise(v->err, "Use cuda, cuda:1, emulator or cpu.");
	}
	TRY(verify_open(&v->verify, v->graph->engine, v->graph->version, file_absolute(a, library), device, folder, a,
	                v->err));
	v->device = arena_strdup(a, verify_device_name(v->verify));
	return 0;
}

/* ---- One plugin. */

static const char *attribute(const Onnx__NodeProto *node, const char *name, struct arena *a, const char *fallback)
{
	struct err ignored = { 0 };
	const char *text = fallback;
	return onnx_attr_string(&text, node, name, fallback, a, &ignored) < 0 ? fallback : text;
}

/* Makes the program of the node's function, with inputs in the node's order. */
static int reference_of(struct ir_program **out, struct tpat_verification *v, struct graph *g,
                        const struct graph_node *n)
{
	struct graph_region *r;
	struct graph_program_options o = { .any_types = true, .keep_types = true };
	TRY(graph_region_new(&r, g, &n->index, 1, v->err));
	/* All outputs of the plugin, even if nothing outside reads its size tensors. */
	r->outputs.n = 0;
	for (size_t i = 0; i < n->proto->n_output; i++)
		vec_push(v->arena, &r->outputs, graph_value_find(g, n->proto->output[i]));
	TRY(graph_region_program(out, r, &o, v->arena, v->err));
	bool same = (size_t)r->inputs.n == n->proto->n_input;
	for (int i = 0; same && i < r->inputs.n; i++)
		same = strcmp(r->inputs.at[i]->name, n->proto->input[i]) == 0;
	if (!same)
		return err_set(v->err, ERR_MODEL, "%s: node %s and its local function do not have the same inputs.",
		               v->o->model, n->label);
	return 0;
}

static int describe_input(struct verify_input *out, struct tpat_verification *v, struct graph *g, const char *name)
{
	struct graph_value *value = graph_value_find(g, name);
	if (value)
		TRY(tpat_given_type(&v->tensors, name, value->type, v->arena, v->err));
	*out = (struct verify_input){ .rank = -1, .tensor = tpat_given_find(&v->tensors, name) };
	for (int i = 0; i < v->shapes.n; i++) {
		const struct graph_shape *s = &v->shapes.at[i];
		if (strcmp(s->name, name) != 0)
			continue;
		out->rank = s->rank;
		for (int k = 0; k < s->rank; k++)
			out->dim[k] = s->dim[k].value;
	}
	if (!out->tensor && value && value->is_constant) /* a weight: its own values */
		TRY(graph_constant(&out->tensor, g, value, v->err));
	return 0;
}

static bool stops(void *talk)
{
	return tpat_stops(talk);
}

static const struct tpat_time *times_of(struct tpat_verification *v, const struct verify_result *r)
{
	struct tpat_time *time = NEWN(v->arena, struct tpat_time, r->tactics + 1);
	for (int t = 0; t < r->tactics; t++)
		time[t].ns = tune_median(r->ns[t], v->edit->times, &time[t].spread);
	return time;
}

static int run_plugin(struct tpat_check *out, struct tpat_verification *v, struct graph *g, const struct graph_node *n)
{
	struct arena *a = v->arena;
	struct verify_result r;
	struct ir_program *program;
	struct verify_input *input = NEWN(a, struct verify_input, n->proto->n_input + 1);
	const char *name = out->plugin;
	TRY(reference_of(&program, v, g, n));
	for (size_t i = 0; i < n->proto->n_input; i++)
		TRY(describe_input(&input[i], v, g, n->proto->input[i]));
	struct verify_case c = {
		.plugin = name,
		.version = attribute(n->proto, "plugin_version", a, "1"),
		.name_space = attribute(n->proto, "plugin_namespace", a, ""),
		.reference = program,
		.input = input,
		.demand = v->graph->demands.at,
		.demands = v->graph->demands.n,
		.seed = v->o->seed,
		.runs = v->o->runs,
		.times = v->edit ? v->edit->times : 0,
		.dump = path_join(a, v->o->dump ? v->o->dump : ".", arena_printf(a, "%s.npz", name)),
		.stop = stops,
		.user = v->talk,
	};
	if (verify_run(&r, v->verify, &c, a, v->err) < 0)
		return err_about(v->err, ERR_NODE, n->label), err_where(v->err, "%s: node %s: ", v->o->model, n->label);
	if (v->edit && v->edit->launched)
		*v->edit->launched = r.launched;
	*out = (struct tpat_check){
		.plugin = name,
		.node = out->node,
		.tensor = out->tensor,
		.inputs = r.inputs,
		.outputs = r.outputs,
		.passed = r.passed,
		.error = r.failure.code ? arena_printf(a, "%s%s%s%s", r.failure.where, r.failure.text,
		                                       *r.failure.advice ? " " : "", r.failure.advice)
		                        : NULL,
		.output = r.output,
		.elements = r.elements,
		.differing = r.differing,
		.max_absolute = r.max_absolute,
		.max_relative = r.max_relative,
		.worst = r.worst,
		.near = r.near,
		.first = r.first,
		.dump = r.dumped ? c.dump : NULL,
		.time = times_of(v, &r),
		.times = r.tactics,
		.lacks = r.lacks,
		.note = r.note,
	};
	return 0;
}

static void tell(struct tpat_verification *v, struct tpat_check check)
{
	struct tpat_verified *r = v->result;
	vec_push(v->arena, &v->checks, check);
	r->device = v->device;
	r->check = v->checks.at;
	r->checks = v->checks.n;
	r->failed += !check.passed;
	r->lacking += check.lacks;
	if (check.passed)
		tpat_say(v->talk, TPAT_LOG_NOTE, "%s: agrees with the original nodes, max absolute error %.3g",
		         check.plugin, check.max_absolute);
	else
		tpat_say(v->talk, TPAT_LOG_WARNING, "%s: %s", check.plugin, check.error ? check.error : check.worst);
	if (v->o->checked)
		v->o->checked(v->o->user, r);
}

/* A plugin that cannot run has failed, and the others are still checked; a mistake of the user ends all, and so does a
 * library that has all of them. */
static int check_plugin(struct tpat_verification *v, struct graph *g, const struct graph_node *n)
{
	struct tpat_check check = { .plugin = arena_strdup(v->arena, n->proto->op_type),
		                    .node = arena_strdup(v->arena, n->label),
		                    .tensor = n->proto->n_output ? arena_strdup(v->arena, n->proto->output[0]) : "",
		                    .output = "",
		                    .worst = "",
		                    .near = "" };
	int opened = open_library(v, check.plugin);
	if (opened < 0)
		v->library = NULL;
	if (opened < 0 || run_plugin(&check, v, g, n) < 0) {
		if (v->err->code == ERR_USAGE || (opened < 0 && v->libraries == 1))
			return v->err->code;
		if (v->err->code == ERR_CANCELLED) {
			v->result->interrupted = true;
			err_clear(v->err);
			return 0;
		}
		check.passed = false;
		check.lacks = v->err->code == ERR_DEVICE;
		check.error = arena_printf(v->arena, "%s%s%s%s", v->err->where, v->err->text,
		                           *v->err->advice ? " " : "", v->err->advice);
		err_clear(v->err);
	}
	tell(v, check);
	return 0;
}

/* Before anything runs: every tensor and shape that the user gives must be an input of a plugin. */
static int check_used(struct tpat_verification *v)
{
	vec_each (g, &v->graph->graphs)
		vec_each (n, &(*g)->nodes)
			for (size_t i = 0; is_plugin(n) && i < n->proto->n_input; i++)
				tpat_given_find(&v->tensors, n->proto->input[i]);
	const char *unused = tpat_given_unused(&v->tensors);
	for (int i = 0; i < v->shapes.n; i++)
		if (!feeds_plugin(v, v->shapes.at[i].name))
			unused = v->shapes.at[i].name;
	if (!unused)
		return 0;
	err_set(v->err, ERR_USAGE, "No plugin of %s has an input \"%s\".", v->o->model, unused);
	return err_advise(v->err, "tpat list %s shows the plugins: the nodes of the domain tpat.",
	                  str_shell_path(v->arena, v->o->model));
}

static bool is_chosen(const struct tpat_verification *v, const struct graph *g, const struct graph_node *n)
{
	return is_plugin(n) && (!v->chosen || v->chosen[g->number][n->index]);
}

/* The plugins to check, by name. */
static struct map plugins_of(const struct tpat_verification *v)
{
	struct map names = map_new(v->arena);
	vec_each (g, &v->graph->graphs)
		vec_each (n, &(*g)->nodes)
			if (is_chosen(v, *g, n))
				map_put(&names, n->proto->op_type, n);
	return names;
}

/* A model for TensorRT before 10.7 has no local functions; the portable model next to it has. */
static int open_portable(struct tpat_verification *v)
{
	const struct tpat_strings none = { 0 };
	const char *portable = tpat_portable_name(v->o->model, v->arena);
	struct map wanted = plugins_of(v), had;
	close_model(v);
	if (!file_exists(portable)) {
		err_set(v->err, ERR_MODEL,
		        "%s does not contain the original operators to compare with, and its portable model %s does "
		        "not exist.",
		        v->o->model, portable);
		return err_advise(v->err, "tpat build --tensorrt 10.3 writes both; keep them together.");
	}
	TRY(tpat_open(&v->model, &v->graph, portable, &none, &none, v->o->tensorrt, v->arena, v->err));
	had = plugins_of(v);
	for (int i = 0; i < wanted.n; i++)
		if (!map_get(&had, wanted.entry[i].name)) {
			err_set(v->err, ERR_MODEL, "%s does not have the plugin %s of %s.", portable,
			        wanted.entry[i].name, v->o->model);
			return err_advise(v->err, "They are from different builds: build again.");
		}
	return 0;
}

/* Finds the plugins; fails if the model is not a rewritten one. */
static int find_plugins(struct tpat_verification *v)
{
	bool found = false;
	vec_each (g, &v->graph->graphs)
		vec_each (n, &(*g)->nodes) {
			if (is_plugin(n) && !n->function)
				return open_portable(v);
			found |= is_plugin(n);
		}
	if (found)
		return 0;
	err_set(v->err, ERR_USAGE, "%s has no plugin node: nothing to verify.", v->o->model);
	return err_advise(v->err,
	                  "Name the rewritten model that tpat build wrote. If it has only nodes that TensorRT "
	                  "supports, compare runs: tpat run ORIGINAL -o y.npz, then tpat run %s --expect "
	                  "y.npz, with the same inputs.",
	                  str_shell(v->arena, v->o->model));
}

/* Chooses the plugin of that name, or the plugin of a node. */
static int choose(struct tpat_verification *v, const char *text)
{
	struct graph *in;
	bool found = false;
	int node;
	vec_each (g, &v->graph->graphs)
		vec_each (n, &(*g)->nodes)
			if (is_plugin(n) && strcmp(n->proto->op_type, text) == 0)
				found = v->chosen[(*g)->number][n->index] = true;
	if (found)
		return 0;
	TRY(graph_node_find(&in, &node, v->graph, text, v->err));
	v->chosen[in->number][node] = true;
	if (is_plugin(&in->nodes.at[node]))
		return 0;
	err_set(v->err, ERR_USAGE, "%s: node %s is not a plugin.", v->o->model, in->nodes.at[node].label);
	return err_advise(v->err, "tpat list %s shows the plugins: the nodes of the domain tpat.",
	                  str_shell_path(v->arena, v->o->model));
}

static int choose_all(struct tpat_verification *v)
{
	if (!v->o->node.n)
		return 0;
	v->chosen = NEWN(v->arena, bool *, v->graph->graphs.n + 1);
	for (int i = 0; i < v->graph->graphs.n; i++)
		v->chosen[i] = NEWN(v->arena, bool, v->graph->graphs.at[i]->nodes.n + 1);
	for (int i = 0; i < v->o->node.n; i++)
		TRY(choose(v, v->o->node.at[i]));
	return 0;
}

static bool is_stopped(struct tpat_verification *v, const struct graph_node *n)
{
	struct tpat_progress p = { "verify", n->proto->op_type, v->checks.n, v->result->plugins };
	v->result->interrupted |= (v->o->progress && v->o->progress(v->o->user, &p)) || tpat_stops(v->talk);
	return v->result->interrupted;
}

static int check_graph(struct tpat_verification *v, struct graph *g, struct map *seen)
{
	vec_each (n, &g->nodes) {
		if (!is_chosen(v, g, n) || map_get(seen, n->proto->op_type))
			continue;
		if (v->result->interrupted || is_stopped(v, n))
			return 0;
		map_put(seen, n->proto->op_type, v);
		TRY(check_plugin(v, g, n));
	}
	return 0;
}

static int check_all(struct tpat_verification *v)
{
	struct map seen = map_new(v->arena);
	vec_each (g, &v->graph->graphs)
		TRY(check_graph(v, *g, &seen));
	return 0;
}

/* "libtpat_b.so, libtpat_a.so": each once. */
static const char *libraries_of(struct tpat_verification *v, const struct map *plugins)
{
	struct map seen = map_new(v->arena);
	struct str list = str_new(v->arena);
	for (int i = 0; i < plugins->n; i++) {
		const char *folder, *library = library_of(&folder, v, plugins->entry[i].name);
		if (!map_get(&seen, library))
			str_printf(&list, "%s%s", list.n ? ", " : "", library);
		map_put(&seen, library, list.arena);
	}
	v->libraries = seen.n;
	return str_text(&list);
}

int tpat_verification_run(struct tpat_verification **out, const struct tpat_verified **result, struct tpat *t,
                          const struct tpat_verify_options *o, const struct tpat_verify_edit *edit)
{
	struct tpat_verification *v = *out = NEW(t->arena, struct tpat_verification);
	const struct tpat_strings none = { 0 };
	*v = (struct tpat_verification){ .o = o, .edit = edit, .talk = &t->talk, .arena = t->arena, .err = &t->err };
	TRY(tpat_given_read(&v->tensors, &o->input, NULL, v->arena, v->err));
	TRY(tpat_open(&v->model, &v->graph, o->model, &none, &none, o->tensorrt, t->arena, &t->err));
	TRY(find_plugins(v));
	TRY(read_shapes(v));
	TRY(choose_all(v));
	TRY(read_values(v));
	struct map plugins = plugins_of(v);
	struct tpat_verified *r = v->result = NEW(t->arena, struct tpat_verified);
	*r = (struct tpat_verified){ .library = libraries_of(v, &plugins), .plugins = plugins.n };
	TRY(check_used(v));
	TRY(check_all(v));
	*result = r;
	if (r->interrupted)
		return tpat_cancelled(&t->err);
	if (r->failed && r->failed == r->lacking)
		return err_set(&t->err, ERR_DEVICE, "%d of %d plugins of %s could not run.", r->lacking, r->checks,
		               o->model);
	if (r->failed)
		return err_set(&t->err, ERR_DIFFER, "%d of %d plugins of %s differ from the original nodes.", r->failed,
		               r->checks, o->model);
	return 0;
}

struct verify_call {
	const struct tpat_verify_options *o;
	const struct tpat_verified **out;
};

static int run(struct tpat *t, void *arg)
{
	struct verify_call *c = arg;
	struct tpat_verification **v = NEW(t->arena, struct tpat_verification *);
	if (c->o->version != TPAT_VERIFY_VERSION || !c->o->model)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_verify have an unknown version, or no model.");
	t->cleanup = clean_up;
	t->cleanup_arg = v;
	return tpat_verification_run(v, c->out, t, c->o, NULL);
}

int tpat_verify(struct tpat *t, const struct tpat_verified **out, const struct tpat_verify_options *o)
{
	struct verify_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
