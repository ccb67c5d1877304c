/* The whole pipeline: from a model to a plugin library, its folder and the rewritten model. Read build_model()
 * first. */
#include "lib/build_inside.h"

#include <string.h>

#include "base/file.h"

static int package(struct build *b);
static int rewrite(struct build *b);

static int build_model(struct build *b)
{
	const struct tpat_build_options *o = b->o;
	TRY(build_select(b)); /* read, check, types and shapes; which nodes become one plugin each */
	if (o->dry_run)
		return build_report(b), 0;
	TRY(tpat_output_begin(&b->out, o->model, o->output, o->force, b->arena, b->err));
	TRY(build_find_earlier(b));
	TRY(build_plugins(b)); /* region -> program -> kernels */
	if (b->graph->version->no_functions && b->plugins.n)
		TRY(tpat_output_portable(&b->out, o->model, b->arena, b->err));
	TRY(package(b)); /* kernels -> library and its folder */
	build_report(b);
	TRY(rewrite(b));                                      /* model -> rewritten model */
	return tpat_output_commit(&b->out, b->model, b->err); /* move everything into place */
}

/* ---- Progress. */

static bool compiling(void *user, int done, int all, const char *what)
{
	const struct build *b = user;
	struct tpat_progress p = { "compile", what, done, all };
	bool stops = b->o->progress && b->o->progress(b->o->user, &p);
	return stops || tpat_stops(b->talk);
}

static void tell_made(void *user, const char *what, const char *arch, bool found)
{
	const struct build *b = user;
	tpat_say(b->talk, TPAT_LOG_NOTE, found ? "%s: code for %s from the cache" : "%s: compiled for %s", what, arch);
}

static void note_refused(void *user, const struct engine_plugin *p, const char *why)
{
	struct build *b = user;
	struct made *m;
	for (int i = 0; (m = build_made(b, i)); i++)
		if (strcmp(m->name, p->name) == 0)
			m->refused = arena_strdup(b->arena, why);
}

static void count_compiled(void *user, bool found)
{
	struct build *b = user;
	*(found ? &b->result->cached : &b->result->compiled) += 1;
}

/* ---- Selection. */

static int select_regions(struct build *b)
{
	const struct tpat_build_options *o = b->o;
	struct tpat_choice c = { &o->node,    &o->type,    &o->region,  &o->except, o->automatic,
		                 &o->from,    &o->to,      &o->pattern, o->all,     o->fast,
		                 o->min_gain, &o->profile, &b->target,  0,          o->chains };
	if (!tpat_chooses(&c)) {
		err_set(b->err, ERR_USAGE, "No node of %s is selected.", b->model->path);
		return err_advise(b->err,
		                  "Select nodes with -n NODE, -t TYPE, --region A,B,C, or --auto for all that %s "
		                  "refuses (tpat list %s shows them).",
		                  b->graph->engine->name, str_shell_path(b->arena, b->model->path));
	}
	struct tpat_open_options open = { &o->shape, o->tensorrt, false };
	TRY(tpat_decompose(&b->plain, &b->graph, &open, &c, o->decompose, b->arena, b->err));
	c.plain = b->plain.n;
	return tpat_choose(&b->regions, b->graph, &c, b->arena, b->err);
}

int build_select(struct build *b)
{
	const struct tpat_build_options *o = b->o;
	if (o->version != TPAT_BUILD_VERSION || !o->model)
		return err_set(b->err, ERR_USAGE, "The options of tpat_build have an unknown version, or no model.");
	if (o->tactics < 0 || o->tactics > TPAT_MOST_TACTICS)
		return err_set(b->err, ERR_USAGE, "A plugin has 1 to %d tactics, not %d.", TPAT_MOST_TACTICS,
		               o->tactics);
	if (o->host)
		TRY(machine_find(&b->machine, o->host, b->arena, b->err));
	TRY(tpat_open(&b->model, &b->graph, o->model, &o->shape, &o->value, o->tensorrt, b->arena, b->err));
	TRY(tpat_target(&b->target, o->gpu, &o->arch, b->arena, b->err));
	TRY(tpat_engine_report(b->graph, o->engine_report, b->arena, b->err));
	TRY(tpat_profile_extents(&b->extents, b->graph, &o->profile, b->arena, b->err)); /* wrong ones fail a dry run */
	build_count(b);
	return select_regions(b);
}

/* ---- The library. */

/* Paths relative to the README. */
static struct tpat_texts libraries_near(const struct build *b, const char *name)
{
	struct tpat_texts near = { 0 };
	bool same = file_same(path_dir(b->arena, b->o->model), path_dir(b->arena, b->out.model));
	vec_each (library, &b->earlier)
		vec_push(b->arena, &near, same ? path_base(*library) : *library);
	vec_push(b->arena, &near, name);
	return near;
}

/* Returns the types of the plugins' inputs and outputs, as bits. */
static uint32_t edge_types(const struct build *b)
{
	const struct graph_program_options o = { .keep_types = b->o->keep_types };
	uint32_t types = 0;
	vec_each (r, &b->regions) {
		vec_each (v, &(*r)->inputs)
			types |= 1u << graph_edge_type(b->graph, *v, &o);
		vec_each (v, &(*r)->outputs)
			types |= 1u << graph_edge_type(b->graph, *v, &o);
	}
	return types;
}

/* Builds one library of `n` plugins, and its folder. */
static int build_library(struct build *b, const struct engine_plugin *plugin, int n, const char *place,
                         const char *folder)
{
	const char *deploy, *name = path_base(place);
	const struct tpat_texts near = libraries_near(b, name);
	TRY(tpat_deploy_text(&deploy, &b->guessed, b->graph, path_base(b->out.model), &near, &b->o->profile,
	                     &b->o->shape, edge_types(b), b->arena, b->err));
	struct engine_library l = {
		.generator = "tpat " TPAT_VERSION,
		.model = path_base(b->o->model),
		.rewritten = path_base(b->out.model),
		.portable = b->out.portable ? path_base(b->out.portable) : NULL,
		.library = name,
		.deploy = deploy,
		.runs = b->graph->version->runs,
		.plugin = plugin,
		.plugins = n,
		.arch = b->arch,
		.archs = b->archs,
		.machine = b->machine,
		.workers = b->o->workers,
		.progress = compiling,
		.refused = note_refused,
		.compiled = count_compiled,
		.made = tell_made,
		.user = b,
	};
	return b->graph->engine->build(&l, folder, tpat_output_library(&b->out, place), b->arena, b->err);
}

/* Builds a library and a folder for each plugin, inside the model's folder. */
static int build_split(struct build *b, const struct engine_plugin *plugin)
{
	struct str json = str_new(b->arena);
	str_printf(&json, "{ \"version\": 1, \"generator\": \"tpat %s\", \"libraries\": %d }\n", TPAT_VERSION,
	           b->plugins.n);
	for (int i = 0; i < b->plugins.n; i++) {
		const char *id = str_identifier(b->arena, plugin[i].name);
		const char *folder = path_join(b->arena, b->out.made_folder, id);
		TRY(file_mkdir(folder, b->err));
		TRY(build_library(b, &plugin[i], 1, tpat_output_split(&b->out, plugin[i].name, b->arena), folder));
	}
	return file_make(path_join(b->arena, b->out.made_folder, "tpat.json"), str_text(&json), json.n, b->err);
}

static void name_archs(struct build *b)
{
	struct tpat_texts names = { 0 };
	for (int i = 0; i < b->archs; i++)
		vec_push(b->arena, &names,
		         arena_printf(b->arena, b->arch[i].ptx ? "PTX (compute_%d)" : "sm_%d", b->arch[i].arch));
	b->result->arch = tpat_strings_of(&names);
	b->result->host = b->o->host;
}

static int build_libraries(struct build *b)
{
	int n = b->plugins.n + b->stored.n;
	struct engine_plugin *plugin = NEWN(b->arena, struct engine_plugin, n + 1);
	for (int i = 0; i < n; i++) {
		const struct made *m = build_made(b, i), *own = build_scheduled(m);
		plugin[i] = (struct engine_plugin){
			.weights = m->weights,
			.name = m->name,
			.version = GRAPH_PLUGIN_VERSION,
			.name_space = m->name_space,
			.of = m->of ? m->of->name : NULL,
			.format = m->format,
			.hash = m->hash,
			.about = m->of ? arena_printf(b->arena, "%s, for %s in %s",
			                              build_about(own->plan[0]->program, b->arena), m->of->name,
			                              m->layout->name)
			               : build_about(own->plan[0]->program, b->arena),
			.decisions = own->all_decisions,
			.plan = own->plan,
			.plans = own->plans,
			.node = m->nodes.at,
			.nodes = m->nodes.n,
		};
		for (int k = 0; !b->o->split && m->like && k < i; k++)
			if (build_made(b, k) == m->like)
				plugin[i].like = &plugin[k];
	}
	return b->o->split ? build_split(b, plugin) : build_library(b, plugin, n, b->out.library, b->out.made_folder);
}

/* A kernel that NVRTC refuses is a bug in tpat; the user still gets a plugin, without fusion. */
static int package(struct build *b)
{
	if (b->plugins.n) {
		name_archs(b);
		while (build_libraries(b) < 0) {
			struct err why = *b->err;
			bool again = false;
			err_clear(b->err);
			if (build_unfused(&again, b) < 0 || !again) {
				*b->err = why;
				return why.code;
			}
			TRY(tpat_output_restart(&b->out, b->err));
		}
	}
	struct tpat_texts all = { 0 };
	vec_each (library, &b->earlier)
		vec_push(b->arena, &all, *library);
	vec_each (library, &b->out.libraries)
		vec_push(b->arena, &all, *library);
	return tpat_deploy_text(&b->deploy, &b->guessed, b->graph, b->out.model, &all, &b->o->profile, &b->o->shape,
	                        edge_types(b), b->arena, b->err);
}

/* ---- The model. */

static int rewrite(struct build *b)
{
	struct graph_rewrite_options o = {
		.name_space = b->name_space,
		.keep_types = b->o->keep_types,
	};
	TRY(build_progress(b, "write", b->out.model, 0, 1));
	TRY(graph_rewrite(b->graph, &b->regions, b->call, &o, b->err));
	tpat_plain_restore_names(&b->plain);
	return tpat_write_shapes(b->model, &b->o->shape, b->arena, b->err);
}

/* Copies node labels, since the result outlives the graph that owns them. */
static void keep_labels(struct build *b)
{
	vec_each (m, &b->plugins)
		vec_each (label, &(*m)->nodes)
			*label = arena_strdup(b->arena, *label);
}

void build_end(void *arg)
{
	struct build *b = arg;
	tpat_output_abandon(&b->out);
	tpat_tuned_close(b->tuned);
	graph_free(b->graph);
	onnx_model_free(b->model);
}

struct build_call {
	const struct tpat_build_options *o;
	const struct tpat_built **out;
};

static int run(struct tpat *t, void *arg)
{
	struct build_call *c = arg;
	struct build *b = NEW(t->arena, struct build);
	*b = (struct build){ .o = c->o,
		             .result = NEW(t->arena, struct tpat_built),
		             .talk = &t->talk,
		             .arena = t->arena,
		             .err = &t->err };
	t->cleanup = build_end;
	t->cleanup_arg = b;
	TRY(build_model(b));
	keep_labels(b);
	*c->out = b->result;
	return 0;
}

int tpat_build(struct tpat *t, const struct tpat_built **out, const struct tpat_build_options *o)
{
	struct build_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
