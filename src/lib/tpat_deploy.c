/* The next step for a rewritten model: the engine's command, with its inputs' extents, or files for other engines. */
#include "lib/tpat_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/ascii.h"
#include "base/file.h"

struct extents {
	VEC(struct engine_extents);
};

static bool is_dynamic(const struct graph_value *v)
{
	int64_t n;
	for (int k = 0; k < v->rank; k++)
		if (!ir_const_int(v->dim[k], &n))
			return true;
	return false;
}

/* "1x4" */
static const char *shape_of(struct tpat_example *x, const struct graph_value *v, int level, struct arena *a)
{
	struct str s = str_new(a);
	for (int k = 0; k < v->rank; k++)
		str_printf(&s, "%s%" PRId64, k ? "x" : "", tpat_example_extent(x, v->dim[k], level));
	return str_text(&s);
}

/* Returns the inputs with dynamic extents, with the profile's values, or examples; sets *guessed for the latter. */
static struct extents open_inputs(bool *guessed, struct graph *g, struct tpat_example *x,
                                  const struct tpat_strings *profile, struct arena *a)
{
	struct extents list = { 0 };
	vec_each (pv, &g->inputs) {
		const struct graph_value *v = *pv;
		const char *p = tpat_profile_of(profile, v->name);
		struct engine_extents e = { .name = v->name };
		if (!is_dynamic(v))
			continue;
		*guessed |= !p;
		for (int i = 0; i < 3; i++) {
			e.shape[i] = p ? arena_strndup(a, p, strcspn(p, ",")) : shape_of(x, v, i, a);
			p = p ? p + strcspn(p, ",") + 1 : NULL;
		}
		vec_push(a, &list, e);
	}
	return list;
}

/* Collects the inputs whose extents the user gave. */
static int given_inputs(struct extents *list, struct graph *g, struct tpat_example *x, const struct tpat_strings *shape,
                        struct arena *a, struct err *e)
{
	const struct tpat_strings text = tpat_split_inputs(shape, g->model, a);
	for (int i = 0; i < text.n; i++) {
		struct graph_shape given;
		TRY(tpat_parse_shape(&given, text.at[i], a, e));
		const struct graph_value *v = graph_value_find(g, given.name);
		if (!v || !v->is_input || v->rank < 1)
			continue;
		struct engine_extents one = { .name = v->name };
		for (int k = 0; k < 3; k++)
			one.shape[k] = shape_of(x, v, k, a);
		vec_push(a, list, one);
	}
	return 0;
}

/* Finds the extents of the inputs. */
static int find_extents(struct engine_deploy *d, struct tpat_example **x, struct graph *g,
                        const struct tpat_strings *profile, const struct tpat_strings *shape, struct arena *a,
                        struct err *e)
{
	struct extents given = { 0 };
	struct tpat_strings all;
	TRY(tpat_profiles(&all, g, profile, a, e));
	for (int i = 0; i < all.n; i++) {
		struct tpat_profile checked;
		TRY(tpat_profile_read(&checked, g, all.at[i], a, e));
	}
	TRY(tpat_example(x, g, &all, a, e));
	const struct extents dynamic = open_inputs(&d->guessed, g, *x, &all, a);
	if (!dynamic.n)
		TRY(given_inputs(&given, g, *x, shape, a, e));
	d->dynamic = dynamic.at;
	d->dynamics = dynamic.n;
	d->given = given.at;
	d->givens = given.n;
	return 0;
}

int tpat_deploy_text(const char **out, bool *guessed, struct graph *g, const char *model,
                     const struct tpat_texts *libraries, const struct tpat_strings *profile,
                     const struct tpat_strings *shape, uint32_t types, struct arena *a, struct err *e)
{
	struct tpat_example *x;
	struct str s = str_new(a);
	struct engine_deploy d = { .model = model,
		                   .library = libraries->at,
		                   .libraries = libraries->n,
		                   .half = types >> TYPE_F16 & 1,
		                   .byte = types >> TYPE_I8 & 1,
		                   .version = g->version };
	TRY(find_extents(&d, &x, g, profile, shape, a, e));
	*guessed = d.guessed;
	g->engine->deploy(&s, &d);
	*out = str_text(&s);
	return 0;
}

/* ---- tpat_deploy(): files for an engine, from a rewritten model. */

struct deployment {
	const struct tpat_deploy_options *o;
	struct onnx_model *model;
	struct graph *graph;
	struct tpat_texts plugins, libraries; /* each once */
	uint32_t types;                       /* at the plugins' edges, as bits */
	struct arena *arena;
	struct err *err;
};

static void clean_up(void *arg)
{
	struct deployment *d = arg;
	graph_free(d->graph);
	onnx_model_free(d->model);
}

static void add_once(struct deployment *d, struct tpat_texts *list, const char *text)
{
	vec_each (have, list)
		if (strcmp(*have, text) == 0)
			return;
	vec_push(d->arena, list, text);
}

/* Collects the plugins that a graph's nodes call, and the types of their tensors. */
static void find_plugins(struct deployment *d, const struct graph *g)
{
	vec_each (n, &g->nodes) {
		if (strcmp(onnx_domain(n->proto->domain), GRAPH_PLUGIN_DOMAIN) != 0)
			continue;
		add_once(d, &d->plugins, onnx_text(n->proto->op_type));
		vec_each (v, &n->reads)
			d->types |= 1u << (*v)->type;
		for (size_t k = 0; k < n->proto->n_output; k++) {
			const struct graph_value *v =
			        graph_value_find((struct graph *)(uintptr_t)g, n->proto->output[k]);
			d->types |= v ? 1u << v->type : 0;
		}
	}
}

static int find_libraries(struct deployment *d)
{
	const struct tpat_deploy_options *o = d->o;
	vec_each (g, &d->graph->graphs)
		find_plugins(d, *g);
	if (!d->plugins.n) {
		err_set(d->err, ERR_UNSUPPORTED, "%s calls no plugin.", o->model);
		return err_advise(d->err, "Give the model that tpat build or tpat fix wrote: NAME_tpat.onnx.");
	}
	for (int i = 0; i < o->library.n; i++)
		add_once(d, &d->libraries, o->library.at[i]);
	vec_each (plugin, &d->plugins) {
		const char *folder, *library = tpat_library_of(&folder, o->model, *plugin, true, d->arena);
		if (o->library.n)
			continue;
		if (!file_exists(library)) {
			err_set(d->err, ERR_MODEL, "%s: there is no library %s with its plugin %s.", o->model, library,
			        *plugin);
			return err_advise(d->err, "Put the library next to the model, or name it: --library FILE.");
		}
		add_once(d, &d->libraries, library);
	}
	vec_each (library, &d->libraries)
		if (!file_exists(*library)) {
			err_set(d->err, ERR_MODEL, "%s: there is no such library.", *library);
			return err_advise(d->err, "tpat build writes one next to the model: libtpat_<model>.so.");
		}
	return 0;
}

static struct engine_tensor tensor_of(struct tpat_example *x, const struct graph_value *v)
{
	struct engine_tensor t = { .name = v->name, .type = v->type, .rank = v->rank };
	for (int k = 0; k < v->rank; k++) {
		if (!ir_const_int(v->dim[k], &t.dim[k]))
			t.dim[k] = -1;
		for (int level = 0; level < 3; level++)
			t.at[level][k] = t.dim[k] < 0 ? tpat_example_extent(x, v->dim[k], level) : t.dim[k];
	}
	return t;
}

static const char *ways_text(const struct engine *engine, struct arena *a)
{
	struct str s = str_new(a);
	for (int i = 0; engine->ways[i]; i++)
		str_printf(&s, "%s%s", i ? ", " : "", engine->ways[i]);
	return str_text(&s);
}

/* In small letters, with dashes. */
static const char *plain_name(const char *name, struct arena *a)
{
	char *plain = arena_strndup(a, name, strlen(name));
	for (char *c = plain; *c; c++)
		*c = *c == '_' || *c == ' ' ? '-' : ascii_lower(*c);
	return plain;
}

static int find_way(const char **way, struct deployment *d)
{
	const struct engine *engine = d->graph->engine;
	if (!d->o->engine) {
		*way = engine->ways[0];
		return 0;
	}
	*way = plain_name(d->o->engine, d->arena);
	for (const struct engine_way_name *n = engine->way_names; n->other; n++)
		if (strcmp(n->other, *way) == 0)
			*way = n->way;
	for (int i = 0; engine->ways[i]; i++)
		if (strcmp(engine->ways[i], *way) == 0)
			return 0;
	err_set(d->err, ERR_USAGE, "There is no engine \"%s\".", d->o->engine);
	return err_advise(d->err, "Take one of: %s.", ways_text(engine, d->arena));
}

/* Writes the files into the option's folder. Files of other texts there are kept, unless `force`. */
static int write_files(struct deployment *d, struct tpat_deployed_file *file, int n)
{
	struct arena *a = d->arena;
	const char *folder = d->o->output;
	TRY(file_is_folder(folder) ? 0 : file_mkdir(folder, d->err));
	for (int i = 0; i < n; i++) {
		char *had;
		size_t size;
		struct err none = { 0 };
		file[i].path = path_join(a, folder, file[i].name);
		bool other = file_exists(file[i].path) &&
		             (file_read(&had, &size, file[i].path, a, &none) < 0 || strcmp(had, file[i].text) != 0);
		if (other && !d->o->force) {
			err_set(d->err, ERR_USAGE, "%s exists, with another text.", file[i].path);
			return err_advise(d->err, "Give another folder, or --force to replace it.");
		}
	}
	for (int i = 0; i < n; i++)
		TRY(file_write(file[i].path, file[i].text, strlen(file[i].text), d->err));
	return 0;
}

struct deploy_call {
	const struct tpat_deploy_options *o;
	const struct tpat_deployed **out;
};

static int run(struct tpat *t, void *arg)
{
	struct deploy_call *c = arg;
	struct arena *a = t->arena;
	struct deployment *d = NEW(a, struct deployment);
	struct tpat_example *x;
	const char *way;
	if (c->o->version != TPAT_DEPLOY_VERSION || !c->o->model)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_deploy have an unknown version, or no model.");
	*d = (struct deployment){ .o = c->o, .arena = a, .err = &t->err };
	t->cleanup = clean_up;
	t->cleanup_arg = d;
	TRY(tpat_open(&d->model, &d->graph, c->o->model, &c->o->shape, &(struct tpat_strings){ 0 }, c->o->tensorrt, a,
	              &t->err));
	TRY(find_way(&way, d));
	TRY(find_libraries(d));
	struct graph *g = d->graph;
	struct engine_tensor *tensor = NEWN(a, struct engine_tensor, g->inputs.n + g->outputs.n + 1);
	struct engine_deploy e = { .model = c->o->model,
		                   .library = d->libraries.at,
		                   .libraries = d->libraries.n,
		                   .half = d->types >> TYPE_F16 & 1,
		                   .byte = d->types >> TYPE_I8 & 1,
		                   .input = tensor,
		                   .inputs = g->inputs.n,
		                   .output = tensor + g->inputs.n,
		                   .outputs = g->outputs.n,
		                   .version = g->version };
	TRY(find_extents(&e, &x, g, &c->o->profile, &c->o->shape, a, &t->err));
	for (int i = 0; i < g->inputs.n; i++)
		tensor[i] = tensor_of(x, g->inputs.at[i]);
	for (int i = 0; i < g->outputs.n; i++)
		tensor[g->inputs.n + i] = tensor_of(x, g->outputs.at[i]);
	struct engine_file made[ENGINE_MOST_FILES];
	int n = g->engine->way(made, &e, way, a);
	struct tpat_deployed_file *file = NEWN(a, struct tpat_deployed_file, n + 1);
	for (int i = 0; i < n; i++)
		file[i] = (struct tpat_deployed_file){ made[i].name, made[i].text, NULL };
	if (c->o->output)
		TRY(write_files(d, file, n));
	struct tpat_deployed *r = NEW(a, struct tpat_deployed);
	*r = (struct tpat_deployed){ file, n, e.guessed };
	*c->out = r;
	return 0;
}

int tpat_deploy(struct tpat *t, const struct tpat_deployed **out, const struct tpat_deploy_options *o)
{
	struct deploy_call c = { o, out };
	return tpat_call(t, run, &c);
}
