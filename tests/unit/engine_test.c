/* A minimal second engine: lists, selections, types, the rewritten model and the library follow it.
 * docs/add-an-engine.md explains it. */
#include "engine/engine.h"

#include <stdlib.h>

#include "base/file.h"
#include "sched/sched.h"
#include "tests/program/program_text.h"
#include "tests/unit/graph_models.h"

/* ---- The engine: FLOAT tensors of at most four axes; supports Relu and Add; plugins in C. */

static enum type plain_edge(const struct engine_version *v, enum type t)
{
	(void)v;
	return t == TYPE_F32 || t == TYPE_F16 ? TYPE_F32 : TYPE_NONE;
}

static const char *plain_lack(const struct engine_version *v, enum type t, const char **advice, struct arena *a)
{
	(void)v;
	*advice = "Convert the model to float.";
	return arena_printf(a, "Plain has no %s", type_info(t)->onnx_name);
}

static bool plain_takes_type(const Onnx__NodeProto *node, enum type t)
{
	return t == TYPE_F32 || strcmp(onnx_text(node->op_type), "Cast") == 0;
}

static enum engine_support plain_support(const struct engine_node *n, const char **reason, struct arena *a)
{
	const char *op = onnx_text(n->proto->op_type);

	*reason = "";
	if (!*n->domain && (strcmp(op, "Relu") == 0 || strcmp(op, "Add") == 0 || strcmp(op, "Cast") == 0))
		return ENGINE_YES;
	*reason = arena_printf(a, "Plain does not know %s.", op);
	return ENGINE_NO;
}

static int plain_version(struct engine_version *v, const char *text, struct err *e)
{
	*v = (struct engine_version){
		.name = text, .no_functions = true, .note = "# For every Plain.", .runs = "every Plain"
	};
	return text ? err_set(e, ERR_USAGE, "Plain has one version alone, and not %s.", text) : 0;
}

static void plain_call(struct onnx_model *m, Onnx__NodeProto *node, const struct engine_call *c)
{
	onnx_node_set_string(m, node, "plain_version", c->version);
}

static void plain_deploy(struct str *out, const struct engine_deploy *d)
{
	str_printf(out, "plain %s", d->model);
	for (int i = 0; i < d->dynamics; i++)
		str_printf(out, " %s=%s", d->dynamic[i].name, d->dynamic[i].shape[1]);
	str_printf(out, "\n%s", d->version->note);
}

/* The library is just the compiled kernels: Plain calls them by name. */
static int plain_build(const struct engine_library *l, const char *folder, const char *library, struct arena *a,
                       struct err *e)
{
	const struct ir_plan **plan = NEWN(a, const struct ir_plan *, l->plugins);
	struct dev_source source = { .file = "kernels.cpu.c" };
	struct str text = str_new(a);
	struct dev_code code;

	for (int i = 0; i < l->plugins; i++)
		plan[i] = l->plugin[i].plan[0]; /* Plain does not time tactics */
	language_c.print(&text, plan, l->plugins);
	source.text = str_text(&text);
	TRY(file_make(path_join(a, folder, source.file), source.text, text.n, e));
	TRY(language_c.compile(&code, 0, &source, NULL, a, e));
	return file_make(library, code.data, code.size, e);
}

static const struct engine plain = {
	.name = "Plain",
	.most_axes = 4,
	.most_shape_elements = 8,
	.edge = plain_edge,
	.lack = plain_lack,
	.takes_type = plain_takes_type,
	.support = plain_support,
	.version = plain_version,
	.build = plain_build,
	.language = &language_c,
	.call = plain_call,
	.deploy = plain_deploy,
};

static const struct graph_options for_plain = { .engine = &plain };

/* ---- Behaviour for this engine. */

/* TensorRT supports this Softmax itself, and its plugins support integers. */
static void lists_and_selects(void)
{
	struct onnx_model *m = model(8, 18);
	const struct graph_selection s = { .automatic = true };
	struct graph_regions r;
	struct err e = { 0 };
	const char *why, *advice;

	input(m, "x", TYPE_F32, "4 4");
	input(m, "i", TYPE_I32, "4 4");
	output(m, "a", TYPE_F32, "4 4");
	output(m, "b", TYPE_F32, "4 4");
	output(m, "c", TYPE_I32, "4 4");
	node(m, "Relu", "x", "a");
	node(m, "Softmax", "x", "b");
	node(m, "Add", "i i", "c");
	struct graph *g = graph_of(m, &for_plain);
	CHECK_INT(graph_support(g, 0, &why), ENGINE_YES);
	CHECK_INT(graph_support(g, 1, &why), ENGINE_NO);
	CHECK_STR(why, "Plain does not know Softmax.");
	CHECK_INT(graph_support(g, 2, &why), ENGINE_NO);
	CHECK_STR(why, "\"i\" is of type int32, which Plain refuses inside a network.");
	CHECK(graph_misfit(g, 0) == NULL && graph_misfit(g, 2) == graph_value_find(g, "i"));
	CHECK_STR(g->engine->lack(g->version, TYPE_I32, &advice, arena), "Plain has no int32");
	CHECK(graph_select(&r, g, &s, &e) == 0);
	CHECK_INT(r.n, 1);
	CHECK_STR(r.at[0]->label, "b");
	CHECK(strstr(program_text(g, (const char *[]){ "c" }, 1, NULL),
	             "Plain has no int32, so no plugin can take it"));
	graph_free(g);
	g = graph_of(m, NULL);
	CHECK(g->engine == &engine_tensorrt && graph_support(g, 1, &why) == ENGINE_YES && !graph_misfit(g, 2));
	graph_free(g);
	onnx_model_free(m);
}

static void refuses(void)
{
	struct onnx_model *m = model(8, 18);
	char found[200] = "";

	input(m, "x", TYPE_F32, "1 2 3 4 5");
	output(m, "y", TYPE_F32, "1 2 3 4 5");
	output(m, "z", TYPE_F32, "?");
	node(m, "Relu", "x", "y");
	node(m, "SequenceConstruct", "x x", "s");
	node(m, "SequenceAt", "s s", "z");
	struct graph *g = graph_of(m, &for_plain);
	snprintf(found, sizeof found, "%s", program_text(g, (const char *[]){ "y" }, 1, NULL));
	CHECK(strstr(found, "\"x\" has 5 axes; Plain's tensors have at most 4."));
	CHECK(g->nodes.at[1].why && strstr(g->nodes.at[1].why, "Plain has no sequences"));
	graph_free(g);
	onnx_model_free(m);
}

/* FLOAT16 becomes FLOAT at the plugin's inputs and outputs: in the program, in the model around the node, and in its
 * function. */
static void casts(void)
{
	struct onnx_model *m = model(8, 18);
	const struct graph_selection s = { .names = 1, .name = (const char *const[]){ "y" } };
	const struct graph_plugin plugin = { .name = "plain_softmax" };
	struct graph_regions r;
	struct ir_program *p;
	struct err e = { 0 };
	const char *text;

	input(m, "x", TYPE_F16, "4 4");
	output(m, "y", TYPE_F16, "4 4");
	node(m, "Softmax", "x", "y");
	struct graph *g = graph_of(m, &for_plain);
	CHECK(graph_select(&r, g, &s, &e) == 0);
	CHECK(graph_region_program(&p, r.at[0], NULL, arena, &e) == 0);
	CHECK(p->inputs.at[0]->type == TYPE_F32 && p->outputs.at[0]->type == TYPE_F32);
	CHECK(graph_rewrite(g, &r, &plugin, NULL, &e) == 0);
	graph_free(g);
	CHECK(onnx_model_check(m, &e) == 0);
	CHECK_INT(m->proto->graph->n_node, 3);
	const Onnx__NodeProto *n = m->proto->graph->node[1];
	CHECK_STR(m->proto->graph->node[0]->op_type, "Cast");
	CHECK_STR(n->op_type, "plain_softmax");
	CHECK_STR(n->input[0], "x_float");
	CHECK_STR(n->output[0], "y_float");
	CHECK(onnx_attr_string(&text, n, "plain_version", NULL, arena, &e) == 0);
	CHECK_STR(text, GRAPH_PLUGIN_VERSION);
	CHECK(!onnx_attr(n, "plugin_namespace"));
	g = graph_of(m, &for_plain);
	CHECK_STR(type_of(g, "y_float"), "f32[4,4]");
	CHECK_STR(type_of(g, "y"), "f16[4,4]");
	graph_free(g);
	onnx_model_free(m);
}

static void builds(void)
{
	struct arena *a = arena;
	struct ir_program *p;
	struct err e = { 0 };
	char *folder;
	static const char program[] = "program twice(x: f32[N]) -> (y: f32[N])\n  y: f32[N] = map (i) x[i] * 2.0\n";

	CHECK(ir_parse_program(&p, program, a, &e) == 0);
	const struct ir_plan *plan = sched_program(p, NULL, NULL);
	const struct engine_plugin plugin = { .name = "twice", .plan = &plan, .plans = 1 };
	const struct engine_library l = { .plugin = &plugin, .plugins = 1 };
	CHECK(file_temp_dir(&folder, a, &e) == 0);
	const char *library = path_join(a, folder, "libplain.so");
	CHECK(plain.build(&l, folder, library, a, &e) == 0);
	CHECK(file_exists(path_join(a, folder, "kernels.cpu.c")) && file_exists(library));
	file_remove_tree(folder);
}

static void says_what_comes_next(void)
{
	const struct engine_extents x = { "x", { "1x4", "8x4", "32x4" } };
	struct engine_version v;
	struct err e = { 0 };
	struct str s = str_new(arena);

	CHECK(plain.version(&v, NULL, &e) == 0 && v.no_functions && !v.shape_inputs);
	plain.deploy(&s, &(struct engine_deploy){ .model = "m.onnx", .dynamic = &x, .dynamics = 1, .version = &v });
	CHECK_STR(str_text(&s), "plain m.onnx x=8x4\n# For every Plain.");
	CHECK(engine_find(NULL) == &engine_tensorrt && engine_find("TensorRT") == &engine_tensorrt);
	CHECK(engine_find("Plain") == NULL); /* the list only has tpat's own engines */
}

int main(void)
{
	arena = arena_new();
	lists_and_selects();
	refuses();
	casts();
	builds();
	says_what_comes_next();
	arena_free(arena);
	return test_done();
}
