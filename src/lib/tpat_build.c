/* The whole pipeline: a model in; a plugin library, its folder and the rewritten model out. Read build_model() first.
 */
#include "lib/tpat_inside.h"

#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "gen/gen.h"

enum { NAME_MAX_BYTES = 64, MOST_NAMED = 8, FEW_ARCHS = 2 };

/* One plugin: all regions with this program (and this name, where the user gave one). */
struct made {
	char *name;
	char hash[33];
	const struct ir_plan **plan; /* a tactic */
	int plans;
	const char *all_decisions; /* of every tactic at every point */
	struct tpat_tuned_choice tuned;
	const char *decisions;
	struct tpat_texts nodes; /* labels of its regions */
};

struct build {
	const struct tpat_build_options *o;
	struct tpat_built *result;
	struct tpat_output out;
	struct onnx_model *model;
	struct graph *graph;
	struct graph_regions regions;
	struct graph_plugin *call; /* one a region */
	struct {
		VEC(struct made *);
	} plugins;
	struct sched_target target;
	struct tensorrt_arch *arch;
	int archs;
	struct tpat_tuned *tuned; /* null: not to be asked */
	const char *tuned_warning;
	struct tpat_extents *extents; /* that the user expects */
	const char *deploy;
	struct arena *arena;
	struct err *err;
};

static int select_regions(struct build *b);
static int make_plugins(struct build *b);
static int package(struct build *b);
static int rewrite(struct build *b);
static void describe(struct build *b);

static int build_model(struct build *b)
{
	const struct tpat_build_options *o = b->o;
	TRY(tpat_open(&b->model, &b->graph, o->model, &o->shape, b->arena, b->err)); /* read, check, types and shapes */
	TRY(tpat_target(&b->target, o->gpu, &o->arch, b->arena, b->err));
	TRY(select_regions(b)); /* which nodes become one plugin each */
	TRY(tpat_output_begin(&b->out, o->model, o->output, b->arena, b->err));
	TRY(make_plugins(b)); /* region -> program -> kernels */
	TRY(package(b));      /* kernels -> library and its folder */
	describe(b);
	TRY(rewrite(b)); /* model -> rewritten model */
	return b->plugins.n ? tpat_output_commit(&b->out, b->err) : 0;
}

/* ---- Progress. */

static int step(struct build *b, const char *stage, const char *what, int done, int all)
{
	struct tpat_progress p = { stage, what, done, all };
	if (b->o->progress && b->o->progress(b->o->user, &p))
		return err_set(b->err, ERR_USAGE, "Interrupted.");
	return 0;
}

static bool compiling(void *user, int done, int all, const char *what)
{
	const struct build *b = user;
	struct tpat_progress p = { "compile", what, done, all };
	return b->o->progress && b->o->progress(b->o->user, &p);
}

static void dump_program(void *user, const char *pass, const struct ir_program *p)
{
	const struct build *b = user;
	struct str text = str_new(b->arena);
	ir_print_program(&text, p);
	b->o->dump(b->o->user, pass, str_text(&text));
}

/* ---- Selection. */

static int select_regions(struct build *b)
{
	const struct tpat_build_options *o = b->o;
	struct tpat_choice c = { &o->node, &o->type, &o->region, &o->except, o->automatic };
	if (!tpat_chooses(&c)) {
		err_set(b->err, ERR_USAGE, "No node of %s is selected.", b->model->path);
		return err_advise(b->err,
		                  "Say which: -n NODE, -t TYPE, --region A,B,C, or --auto for all that TensorRT "
		                  "refuses (tpat list "
		                  "%s shows the nodes).",
		                  b->model->path);
	}
	return tpat_choose(&b->regions, b->graph, &c, b->arena, b->err);
}

/* ---- Plugins. */

/* "tpat_ConvInteger_1a2b3c4d": the program's name and the start of its hash. */
static char *default_name(const struct build *b, const struct ir_program *p, const char *hash)
{
	char *base = str_identifier(b->arena, p->name);
	if (strlen(base) > NAME_MAX_BYTES - 14)
		base[NAME_MAX_BYTES - 14] = 0;
	return arena_printf(b->arena, "tpat_%s_%.8s", base, hash);
}

/* The name that the user gave to a region's plugin, or null. */
static int given_name(const struct build *b, const char *label, const char **name)
{
	size_t n = strlen(label);
	*name = NULL;
	for (int i = 0; i < b->o->name.n; i++) {
		const char *text = b->o->name.at[i];
		if (strncmp(text, label, n) != 0 || text[n] != '=')
			continue;
		*name = text + n + 1;
		bool fine = isalpha((unsigned char)**name) || **name == '_';
		for (const char *c = *name; *c; c++)
			fine &= isalnum((unsigned char)*c) || *c == '_';
		if (!fine || strlen(*name) > NAME_MAX_BYTES)
			return err_set(b->err, ERR_USAGE,
			               "\"%s\" cannot be a plugin's name: letters, digits and _ only, at most %d.",
			               *name, NAME_MAX_BYTES);
		const struct op_def *op = op_find("", *name);
		if (op && !op_any_domain(op)) {
			err_set(b->err, ERR_USAGE, "\"%s\" is an ONNX operator; a plugin of this name would hide it.",
			        *name);
			return err_advise(b->err, "Give the plugin another name, for example My%s.", *name);
		}
	}
	return 0;
}

/* Every --name must mean a region that there is. */
static int check_names(const struct build *b)
{
	for (int i = 0; i < b->o->name.n; i++) {
		bool used = false;
		vec_each (r, &b->regions) {
			size_t n = strlen((*r)->label);
			used |= strncmp(b->o->name.at[i], (*r)->label, n) == 0 && b->o->name.at[i][n] == '=';
		}
		if (!used) {
			err_set(b->err, ERR_USAGE, "--name %s names no selected node.", b->o->name.at[i]);
			return err_advise(
			        b->err,
			        "Write it as NODE=PLUGIN, with a node that -n, -t, --region or --auto selects.");
		}
	}
	return 0;
}

/* What was measured at each point: there, or else at the usual one. */
static int take_tuned(struct build *b, struct sched_tactic *tactic, const struct made *m, struct ir_program *p,
                      const struct sched_points *points)
{
	for (int i = 0; i < points->n; i++) {
		struct sched_choice *choice = NEWN(b->arena, struct sched_choice, p->stages.n + 1);
		struct tpat_tuned_choice own = { 0 };
		if (i != points->opt)
			TRY(tpat_tuned_find(&own, b->tuned, p, m->hash, &points->target[i], true, b->err));
		sched_decide(p, &points->target[i], own.choice ? own.choice : m->tuned.choice, choice);
		tactic->choice[i] = choice;
	}
	return 0;
}

/* Every architecture compiles them all: fewer where there are many. */
static int tactics_wanted(const struct build *b)
{
	return b->o->tactics ? b->o->tactics : b->archs > FEW_ARCHS ? 1 : TPAT_TACTICS;
}

/* What was measured, where something was; else what the cost model says: for small, usual and large extents where these are
 * open. */
static int schedule(struct build *b, const struct graph_region *r, struct made *m, struct ir_program *p)
{
	struct sched_points points = tpat_profile_points(b->extents, &b->target, r, p);
	struct sched_tactic tactic = { { 0 } };
	if (b->tuned)
		TRY(tpat_tuned_find(&m->tuned, b->tuned, p, m->hash, &points.target[points.opt], false, b->err));
	if (m->tuned.choice)
		TRY(take_tuned(b, &tactic, m, p, &points));
	else
		tactic = sched_tactic_best(p, &points);
	m->decisions = sched_decisions_text(p, tactic.choice[points.opt], b->arena);
	struct str all = str_new(b->arena);
	struct sched_tactic tactics[SCHED_MAX_TACTICS];
	m->plans = sched_tactics(p, &points, &tactic, tactics_wanted(b), tactics);
	m->plan = NEWN(b->arena, const struct ir_plan *, m->plans);
	sched_plans(m->plan, p, &points, tactics, m->plans);
	for (int k = 0; k < m->plans; k++)
		for (int i = 0; i < points.n; i++)
			str_printf(&all, "%s\n", sched_decisions_text(p, tactics[k].choice[i], b->arena));
	m->all_decisions = str_text(&all);
	return 0;
}

static int open_tuned(struct build *b)
{
	const struct tpat_build_options *o = b->o;
	if (o->no_db && o->from_db_only)
		return err_set(b->err, ERR_USAGE, "A build cannot be without a tuning database and from one only.");
	return o->no_db ? 0 : tpat_tuned_open(&b->tuned, o->db, o->from_db_only, &b->tuned_warning, b->arena, b->err);
}

/* With from_db_only: every plugin was tuned. */
static int check_tuned(const struct build *b)
{
	struct str list = str_new(b->arena);
	int missing = 0;
	if (!b->o->from_db_only)
		return 0;
	vec_each (m, &b->plugins) {
		if ((*m)->tuned.choice)
			continue;
		if (missing++ < MOST_NAMED)
			str_printf(&list, "%s%s (node %s)", list.n ? ", " : "", (*m)->name, (*m)->nodes.at[0]);
	}
	if (!missing)
		return 0;
	if (missing > MOST_NAMED)
		str_printf(&list, " and %d more", missing - MOST_NAMED);
	err_set(b->err, ERR_UNSUPPORTED,
	        "The tuning database %s has no decisions for sm_%d that can be built of %d plugin%s: %s.",
	        tpat_tuned_path(b->tuned), b->target.arch, missing, missing == 1 ? "" : "s", str_text(&list));
	return err_advise(b->err, "Tune them (tpat tune), or build without --from-db-only: the cost model decides what is "
	                          "missing.");
}

static int make_plugin(struct build *b, const struct graph_region *r, struct made **out)
{
	struct graph_program_options options = {
		.any_types = b->o->any_types,
		.keep_types = b->o->keep_types,
		.sizes = true,
		.dump = b->o->dump ? dump_program : NULL,
		.dump_user = b,
	};
	struct ir_program *program;
	char hash[33];
	const char *name;
	TRY(graph_region_program(&program, b->graph, r, &options, b->arena, b->err));
	TRY(given_name(b, r->label, &name));
	ir_hash(program, hash);
	vec_each (have, &b->plugins)
		if (strcmp((*have)->hash, hash) == 0 && (!name || strcmp((*have)->name, name) == 0)) {
			*out = *have;
			return 0;
		} else if (name && strcmp((*have)->name, name) == 0) {
			return err_set(b->err, ERR_USAGE, "Two plugins with different programs are called %s.", name);
		}
	if (!b->archs)
		TRY(tpat_parse_archs(&b->arch, &b->archs, &b->o->arch, b->arena, b->err));
	struct made *m = NEW(b->arena, struct made);
	m->name = name ? arena_strdup(b->arena, name) : default_name(b, program, hash);
	memcpy(m->hash, hash, sizeof hash);
	TRY(schedule(b, r, m, program));
	if (b->o->dump) {
		struct str text = str_new(b->arena);
		gen_cuda(&text, m->plan, m->plans);
		b->o->dump(b->o->user, "cuda", str_text(&text));
	}
	vec_push(b->arena, &b->plugins, m);
	*out = m;
	return 0;
}

static int make_plugins(struct build *b)
{
	b->call = NEWN(b->arena, struct graph_plugin, b->regions.n);
	TRY(check_names(b));
	TRY(open_tuned(b));
	TRY(tpat_profile_extents(&b->extents, b->graph, &b->o->profile, b->arena, b->err));
	for (int i = 0; i < b->regions.n; i++) {
		struct graph_region *r = b->regions.at[i];
		struct made *m = NULL;
		TRY(step(b, "program", r->label, i, b->regions.n));
		if (r->folded)
			continue;
		TRY(make_plugin(b, r, &m));
		b->call[i].name = m->name;
		b->call[i].shape_inputs = r->shapes;
		int *index = NEWN(b->arena, int, r->shapes + 1);
		for (int k = 0; k < r->shapes; k++)
			index[k] = r->inputs.n - r->shapes + k;
		b->call[i].shape_input = index;
		vec_push(b->arena, &m->nodes, r->label);
	}
	return check_tuned(b);
}

/* ---- The library. */

/* "ConvInteger(x: u8[1,64,N], w: i8[64,64,3]) -> (y: i32[1,64,N])": the program's first line. */
static const char *about(const struct ir_program *p, struct arena *a)
{
	struct str s = str_new(a);
	ir_print_program(&s, p);
	const char *text = str_text(&s);
	if (str_starts(text, "program "))
		text += strlen("program ");
	return arena_strndup(a, text, strcspn(text, "\n"));
}

/* One library of `n` plugins, with its folder. */
static int build_library(struct build *b, const struct tensorrt_plugin *plugin, int n, const char *place,
                         const char *folder)
{
	/* The README is read beside the files. */
	const char *deploy, *name = path_base(place);
	const struct tpat_texts near = { .at = &name, .n = 1 };
	TRY(tpat_deploy_text(&deploy, b->graph, path_base(b->out.model), &near, &b->o->profile, b->arena, b->err));
	struct tensorrt_library l = {
		.generator = "tpat " TPAT_VERSION,
		.model = path_base(b->o->model),
		.rewritten = path_base(b->out.model),
		.library = name,
		.deploy = deploy,
		.plugin = plugin,
		.plugins = n,
		.arch = b->arch,
		.archs = b->archs,
		.workers = b->o->workers,
		.progress = compiling,
		.user = b,
	};
	return tensorrt_build(&l, folder, tpat_output_library(&b->out, place, b->arena), b->arena, b->err);
}

/* Each plugin in a library and a folder of its own, inside the model's folder. */
static int build_split(struct build *b, const struct tensorrt_plugin *plugin)
{
	struct str json = str_new(b->arena);
	str_printf(&json, "{ \"version\": 1, \"generator\": \"tpat %s\", \"libraries\": %d }\n", TPAT_VERSION,
	           b->plugins.n);
	for (int i = 0; i < b->plugins.n; i++) {
		const char *id = str_identifier(b->arena, plugin[i].name);
		const char *folder = path_join(b->arena, b->out.temporary_folder, id);
		TRY(file_mkdir(folder, b->err));
		TRY(build_library(b, &plugin[i], 1, tpat_output_split(&b->out, plugin[i].name, b->arena), folder));
	}
	return file_write(path_join(b->arena, b->out.temporary_folder, "tpat.json"), str_text(&json), json.n, b->err);
}

static void name_archs(struct build *b)
{
	struct tpat_texts names = { 0 };
	for (int i = 0; i < b->archs; i++)
		vec_push(b->arena, &names,
		         arena_printf(b->arena, b->arch[i].ptx ? "PTX (compute_%d)" : "sm_%d", b->arch[i].arch));
	b->result->arch = tpat_strings_of(&names);
}

static int package(struct build *b)
{
	struct tensorrt_plugin *plugin = NEWN(b->arena, struct tensorrt_plugin, b->plugins.n + 1);
	for (int i = 0; i < b->plugins.n; i++) {
		const struct made *m = b->plugins.at[i];
		plugin[i] = (struct tensorrt_plugin){
			.name = m->name,
			.version = "1",
			.name_space = b->o->name_space ? b->o->name_space : "",
			.hash = m->hash,
			.about = about(m->plan[0]->program, b->arena),
			.decisions = m->all_decisions,
			.plan = m->plan,
			.plans = m->plans,
			.node = m->nodes.at,
			.nodes = m->nodes.n,
		};
	}
	if (b->plugins.n) {
		name_archs(b);
		if (b->o->split)
			TRY(build_split(b, plugin));
		else
			TRY(build_library(b, plugin, b->plugins.n, b->out.library, b->out.temporary_folder));
	}
	return tpat_deploy_text(&b->deploy, b->graph, b->out.model, &b->out.libraries, &b->o->profile, b->arena,
	                        b->err);
}

/* ---- The model. */

static int rewrite(struct build *b)
{
	struct graph_rewrite_options o = {
		.version = "1",
		.name_space = b->o->name_space ? b->o->name_space : "",
		.keep_types = b->o->keep_types,
	};
	TRY(step(b, "write", b->out.model, 0, 1));
	TRY(graph_rewrite(b->graph, &b->regions, b->call, &o, b->err));
	return onnx_model_write(b->model, b->out.model, NULL, b->err);
}

/* ---- What was done. */

static void count_refused(struct build *b)
{
	struct map count = map_new(b->arena);
	struct tpat_texts list = { 0 };
	for (int i = 0; i < b->graph->nodes.n; i++) {
		const char *reason, *type = onnx_text(b->graph->nodes.at[i].proto->op_type);
		if (graph_trt_support(b->graph, i, &reason) != GRAPH_TRT_NO)
			continue;
		map_put(&count, type, (void *)((uintptr_t)map_get(&count, type) + 1));
		b->result->refused++;
	}
	for (int i = 0; i < count.n; i++)
		vec_push(b->arena, &list,
		         arena_printf(b->arena, "%s %d", count.entry[i].name, (int)(uintptr_t)count.entry[i].value));
	b->result->refused_types = tpat_strings_of(&list);
}

static void describe(struct build *b)
{
	struct tpat_built *r = b->result;
	struct tpat_plugin *plugin = NEWN(b->arena, struct tpat_plugin, b->plugins.n + 1);
	struct tpat_texts warnings = { 0 };
	r->model = arena_strdup(b->arena, b->o->model);
	r->output = b->out.model;
	r->libraries = tpat_strings_of(&b->out.libraries);
	r->folder = b->plugins.n ? b->out.folder : NULL;
	r->model_nodes = b->graph->nodes.n;
	r->opset = onnx_opset(b->model, "");
	r->regions = b->regions.n;
	vec_each (region, &b->regions) {
		r->nodes += (*region)->nodes.n;
		r->folded += (*region)->folded;
	}
	count_refused(b);
	for (int i = 0; i < b->plugins.n; i++) {
		struct made *m = b->plugins.at[i];
		plugin[i] =
		        (struct tpat_plugin){ .name = m->name,
			                      .version = "1",
			                      .name_space =
			                              b->o->name_space ? arena_strdup(b->arena, b->o->name_space) : "",
			                      .hash = m->hash,
			                      .about = about(m->plan[0]->program, b->arena),
			                      .nodes = tpat_strings_of(&m->nodes) };
		vec_each (s, &m->plan[0]->steps)
			plugin[i].kernels += (*s)->n;
		plugin[i].tactics = m->plans;
		r->passed_over += m->tuned.passed_over;
		plugin[i].decisions = m->decisions;
		if (!m->tuned.choice)
			continue;
		plugin[i].tuned_ns = m->tuned.ns;
		plugin[i].tuned_shape = m->tuned.shape;
		plugin[i].tuned_on = m->tuned.device;
		r->from_db++;
		r->near += m->tuned.near;
	}
	r->db = b->tuned ? tpat_tuned_path(b->tuned) : NULL;
	if (b->tuned_warning)
		vec_push(b->arena, &warnings, b->tuned_warning);
	r->plugin = plugin;
	r->plugins = b->plugins.n;
	vec_each (w, &b->graph->warnings)
		vec_push(b->arena, &warnings, arena_strdup(b->arena, *w));
	r->warnings = tpat_strings_of(&warnings);
	r->deploy = b->deploy;
}

/* Labels of nodes are the graph's, and the result outlives it. */
static void keep_labels(struct build *b)
{
	vec_each (m, &b->plugins)
		vec_each (label, &(*m)->nodes)
			*label = arena_strdup(b->arena, *label);
}

static void clean_up(void *arg)
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
	*b = (struct build){ .o = c->o, .result = NEW(t->arena, struct tpat_built), .arena = t->arena, .err = &t->err };
	if (c->o->version != TPAT_BUILD_VERSION || !c->o->model)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_build have another version, or no model.");
	if (c->o->tactics < 0 || c->o->tactics > TPAT_MOST_TACTICS)
		return err_set(&t->err, ERR_USAGE, "A plugin has 1 to %d tactics, not %d.", TPAT_MOST_TACTICS, c->o->tactics);
	t->cleanup = clean_up;
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
