/* The nodes of a model: their types, and whether the engine or tpat supports them. */
#include "lib/tpat_inside.h"

struct list {
	struct onnx_model *model;
	struct graph *graph;
};

static void clean_up(void *arg)
{
	struct list *l = arg;
	graph_free(l->graph);
	onnx_model_free(l->model);
}

/* "x: f32[N,3]" */
static struct tpat_strings edge(struct graph_value *const *value, int n, struct arena *a)
{
	struct tpat_texts list = { 0 };
	for (int i = 0; i < n; i++) {
		struct str s = str_new(a);
		str_printf(&s, "%s: ", str_printable(a, value[i]->name));
		graph_value_print(&s, value[i]);
		vec_push(a, &list, str_text(&s));
	}
	return tpat_strings_of(&list);
}

/* Returns for each graph and node of it whether --auto takes it into a plugin. Null: no node needs others around it. */
static bool **taken_together(struct graph *g, struct arena *a)
{
	static const struct tpat_strings none;
	const struct tpat_choice automatic = { .node = &none,
		                               .type = &none,
		                               .region = &none,
		                               .except = &none,
		                               .from = &none,
		                               .to = &none,
		                               .pattern = &none,
		                               .automatic = true };
	bool **taken = NEWN(a, bool *, g->graphs.n + 1), any = false;
	struct graph_regions regions = { 0 };
	struct graph_rates rates;
	struct err ignored = { 0 };
	for (int i = 0; i < g->graphs.n; i++) {
		const struct graph *some = g->graphs.at[i];
		taken[i] = NEWN(a, bool, some->nodes.n + 1);
		vec_each (n, &some->nodes)
			any |= tpat_misfit(some, n) != NULL;
	}
	if (!any || tpat_select(&regions, &rates, g, &automatic, a, &ignored) < 0)
		return NULL;
	for (int i = 0; i < regions.n; i++)
		vec_each (node, &regions.at[i]->nodes)
			taken[regions.at[i]->graph->number][*node] = true;
	return taken;
}

/* Returns the node that makes a value, which a body may read from a graph around it: *g becomes the node's graph. Null:
 * an input or a constant. */
static const struct graph_node *maker_of(const struct graph **g, const struct graph_value *v)
{
	for (; v->producer < 0 && v->outside; v = v->outside)
		*g = (*g)->outer;
	return v->producer >= 0 ? &(*g)->nodes.at[v->producer] : NULL;
}

/* Returns the first unsupported node that leaves a shape of this one's inputs unknown; null: none does. */
static const struct graph_node *cause_of(const struct graph *g, const struct graph_node *n)
{
	if (n->known || tpat_goes_along(g))
		return NULL;
	vec_each (v, &n->reads) {
		const struct graph *around = g;
		const struct graph_node *before = maker_of(&around, *v);
		if (before && !before->known && ((*v)->rank < 0 || !(*v)->type)) {
			const struct graph_node *first = cause_of(around, before);
			return first ? first : before;
		}
	}
	return NULL;
}

static void describe_node(struct tpat_node *out, struct graph *g, int i, bool together, struct arena *a)
{
	static const enum tpat_support support[] = {
		[ENGINE_NO] = TPAT_TRT_NO, [ENGINE_PARTLY] = TPAT_TRT_PARTLY, [ENGINE_YES] = TPAT_TRT_YES
	};
	const struct graph_node *n = &g->nodes.at[i];
	const char *reason = "", *advice, *why = tpat_why_not(&advice, g, n, together, a);
	enum engine_support s = graph_support(g, i, &reason);
	const struct graph_node *cause = cause_of(g, n);
	*out = (struct tpat_node){
		.index = i,
		.graph = arena_strdup(a, g->name),
		.label = arena_strdup(a, n->label),
		.op_type = arena_strdup(a, str_printable(a, onnx_text(n->proto->op_type))),
		.domain = arena_strdup(a, str_printable(a, onnx_domain(n->proto->domain))),
		.opset = n->opset,
		.inputs = tpat_types_text(g, n->proto->input, n->proto->n_input, a),
		.outputs = tpat_types_text(g, n->proto->output, n->proto->n_output, a),
		.tensorrt = support[s],
		.follows = s == ENGINE_NO && graph_follows(g, i),
		.tensorrt_why = arena_strdup(a, str_printable(a, reason ? reason : "")),
		.taken = !why || (n->known && together),
		.constant = n->folded,
		.why = why ? why : "",
		.advice = advice,
		.after = arena_strdup(a, cause ? cause->label : ""),
	};
}

/* Explains the nodes of the option `why`, each as a plugin of its own. */
static int explain(struct tpat_list *list, struct graph *g, const struct tpat_list_options *o, struct arena *a,
                   struct err *e)
{
	static const struct tpat_strings none;
	const struct tpat_choice choice = { .node = &o->why, .type = &none, .region = &none, .except = &none };
	const struct graph_program_options options = { .sizes = true };
	struct graph_regions regions = { 0 };
	struct sched_target target;
	if (o->why.n || o->gpu)
		TRY(tpat_target(&target, o->gpu, &none, a, e));
	if (!o->why.n)
		return 0;
	TRY(tpat_choose(&regions, g, &choice, a, e));
	const struct tpat_schedule **why = NEWN(a, const struct tpat_schedule *, regions.n + 1);
	for (int i = 0; i < regions.n; i++) {
		struct ir_program *p;
		if (regions.at[i]->folded)
			return err_set(e, ERR_USAGE,
			               "Node \"%s\" needs no schedule: its results are known at build time.",
			               regions.at[i]->label);
		TRY(graph_region_program(&p, regions.at[i], &options, a, e));
		const struct sched_points points = sched_usual_points(p, &target);
		why[i] = tpat_why(regions.at[i]->label, p, &points.target[points.opt], NULL, a);
	}
	list->why = why;
	list->whys = regions.n;
	return 0;
}

struct list_call {
	const struct tpat_list_options *o;
	const struct tpat_list **out;
};

static int run(struct tpat *t, void *arg)
{
	struct list_call *c = arg;
	struct arena *a = t->arena;
	struct list *l = NEW(a, struct list);
	if (c->o->version != TPAT_LIST_VERSION || !c->o->model)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_list have an unknown version, or no model.");
	t->cleanup = clean_up;
	t->cleanup_arg = l;
	TRY(tpat_open(&l->model, &l->graph, c->o->model, &c->o->shape, &c->o->value, c->o->tensorrt, a, &t->err));
	TRY(tpat_engine_report(l->graph, c->o->engine_report, a, &t->err));
	int nodes = 0, described = 0;
	vec_each (g, &l->graph->graphs)
		nodes += (*g)->nodes.n;
	struct tpat_node *node = NEWN(a, struct tpat_node, nodes + 1);
	bool **together = taken_together(l->graph, a);
	vec_each (g, &l->graph->graphs)
		for (int i = 0; i < (*g)->nodes.n; i++)
			describe_node(&node[described++], *g, i, together && together[(*g)->number][i], a);
	struct tpat_texts warnings = { 0 };
	vec_each (w, &l->graph->warnings)
		vec_push(a, &warnings, arena_strdup(a, *w));
	struct tpat_list *list = NEW(a, struct tpat_list);
	*list = (struct tpat_list){
		.model = arena_strdup(a, c->o->model),
		.ir_version = l->model->proto->ir_version,
		.opset = onnx_opset(l->model, ""),
		.inputs = edge(l->graph->inputs.at, l->graph->inputs.n, a),
		.outputs = edge(l->graph->outputs.at, l->graph->outputs.n, a),
		.warnings = tpat_strings_of(&warnings),
		.node = node,
		.nodes = nodes,
	};
	list->replaced = tpat_replaced(l->graph, &list->replacements, a);
	TRY(explain(list, l->graph, c->o, a, &t->err));
	*c->out = list;
	return 0;
}

int tpat_list(struct tpat *t, const struct tpat_list **out, const struct tpat_list_options *o)
{
	struct list_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
