/* The rewritten model: one node of domain "tpat" for each region, whose nodes become a local function. Adds casts where
 * a plugin's edge has another type, and removes values that nothing reads any more. */
#include <string.h>

#include "graph/graph_internal.h"

enum { OPSET = 13 }; /* of Constant and Cast, if the model imports no opset of ai.onnx */

struct nodes {
	VEC(Onnx__NodeProto *);
};

/* The rewrite of one graph: the main graph or a body. */
struct rewrite {
	struct graph *g;
	struct onnx_model *m;
	const struct graph_regions *r; /* of all graphs */
	const struct graph_plugin *plugin;
	const struct graph_rewrite_options *o;
	struct graph_program_options edges;
	struct err *err;
	bool changes;        /* this graph has a region */
	bool changes_inside; /* or one of its bodies has */
	int *owner;          /* by node: the region that replaces it, or -1 */
	struct map edge;     /* tensor name -> name of its converted form at the edge */
	struct map made;     /* converted forms that plugins make */
	struct nodes nodes;  /* of the new graph */
	struct nodes old;    /* its previous nodes */
	struct {
		VEC(Onnx__TensorProto *);
	} initializers;
};

/* For the model. */
struct functions {
	struct map names; /* plugin name -> its function */
	struct {
		VEC(Onnx__FunctionProto *);
	} list;
};

static enum type type_of(const struct rewrite *w, const struct graph_value *v)
{
	return graph_edge_type(w->g, v, &w->edges);
}

static bool has_edge(const struct rewrite *w, const struct graph_value *v)
{
	return type_of(w, v) != v->type || v->turned;
}

/* Returns the name under which a plugin reads or makes `v`. */
static const char *edge_of(struct rewrite *w, const struct graph_value *v)
{
	const char *name;

	if (!has_edge(w, v))
		return v->name;
	name = map_get(&w->edge, v->name);
	if (!name) {
		name = graph_edge_name(w->g, v, type_of(w, v));
		map_put(&w->edge, v->name, name);
	}
	return name;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static int check_names(struct rewrite *w)
{
	for (int i = 0; i < w->r->n; i++) {
		const char *name = w->plugin[i].name;

		if (w->r->at[i]->folded)
			continue;
		ck(name && *name);
		for (size_t k = 0; k < w->m->proto->n_functions; k++)
			if (strcmp(onnx_text(w->m->proto->functions[k]->name), name) == 0) {
				err_set(w->err, ERR_USAGE, "%s: the model has a function \"%s\" already.", w->m->path,
				        name);
				return err_advise(w->err,
				                  "Choose another name: an engine matches functions by name alone.");
			}
	}
	return 0;
}

static int make_functions(struct functions *out, struct rewrite *w)
{
	for (int i = 0; i < w->r->n; i++) {
		const char *name = w->plugin[i].name;
		Onnx__FunctionProto *f;

		if (w->r->at[i]->folded || map_get(&out->names, name))
			continue;
		f = graph_function_new(w->r->at[i], name, &w->edges, w->err);
		if (!f)
			return w->err->code;
		map_put(&out->names, name, f);
		vec_push(w->g->arena, &out->list, f);
	}
	return 0;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

static Onnx__NodeProto *plugin_node(struct rewrite *w, int i)
{
	const struct graph_region *r = w->r->at[i];
	const struct graph_plugin *p = &w->plugin[i];
	const char *name = onnx_text(w->g->nodes.at[r->nodes.at[0]].proto->name);
	Onnx__NodeProto *n;

	if (r->nodes.n > 1 || !*name)
		name = onnx_name_unique(w->m, p->name);
	n = onnx_node_new(w->m, GRAPH_PLUGIN_DOMAIN, p->name, name);
	vec_each (v, &r->inputs)
		onnx_node_input(w->m, n, edge_of(w, *v));
	vec_each (v, &r->outputs)
		onnx_node_output(w->m, n, edge_of(w, *v));
	struct graph_names sizes = graph_region_sizes(r);
	vec_each (size, &sizes)
		onnx_node_output(w->m, n, onnx_name_unique(w->m, arena_printf(w->g->arena, "%s_%s", p->name, *size)));
	const struct engine_call call = { .version = GRAPH_PLUGIN_VERSION,
		                          .name_space =
		                                  w->o->name_space && w->o->name_space[i] ? w->o->name_space[i] : "",
		                          .shape_input = p->shape_input,
		                          .shape_inputs = p->shape_inputs };
	w->g->engine->call(w->m, n, &call);
	return n;
}

/* True if anything but a plugin reads the tensor, in its own type. */
static bool read_outside(const struct rewrite *w, const struct graph_value *v)
{
	bool used = v->is_output;

	for (int i = 0; i < v->consumers.n; i++) {
		int node = v->consumers.at[i];

		used |= w->owner[node] < 0 && !w->g->nodes.at[node].folded;
	}
	return used;
}

/* Adds the converted form of a plugin's input. A constant is converted now, since an engine that lacks its type takes
 * no such weights either; any other value is converted at run time. */
static int add_edge(struct rewrite *w, struct graph_value *v)
{
	const struct tensor *t;
	struct tensor converted;

	map_put(&w->made, v->name, w->g);
	if (!v->is_constant) {
		vec_push(w->g->arena, &w->nodes, graph_cast_new(w->m, v->name, edge_of(w, v), type_of(w, v)));
		return 0;
	}
	if (v->turned) {
		TRY(graph_turned(&t, w->g, v, w->err));
		vec_push(w->g->arena, &w->initializers, onnx_tensor_store(t, edge_of(w, v), w->m->arena));
		return 0;
	}
	TRY(graph_constant(&t, w->g, v, w->err));
	TRY(tensor_convert(&converted, t, type_of(w, v), w->g->arena, w->err));
	vec_push(w->g->arena, &w->initializers, onnx_tensor_store(&converted, edge_of(w, v), w->m->arena));
	return 0;
}

static int add_plugin(struct rewrite *w, int i)
{
	const struct graph_region *r = w->r->at[i];
	struct arena *a = w->g->arena;

	vec_each (v, &r->inputs) {
		int from = (*v)->producer < 0 ? -1 : w->owner[(*v)->producer];
		bool made = from >= 0 && !w->r->at[from]->folded; /* by a plugin, in the edge's type */

		if (has_edge(w, *v) && !made && !map_get(&w->made, (*v)->name))
			TRY(add_edge(w, *v));
	}
	vec_push(a, &w->nodes, plugin_node(w, i));
	vec_each (v, &r->outputs) {
		const char *edge = edge_of(w, *v);
		Onnx__NodeProto *apart[2];

		if (!has_edge(w, *v) || !read_outside(w, *v))
			continue;
		if (graph_needs_apart(w->g, *v)) {
			edge = onnx_name_unique(w->m, edge);
			graph_apart_new(w->m, apart, edge_of(w, *v), edge);
			for (int k = 0; k < 2; k++)
				vec_push(a, &w->nodes, apart[k]);
		}
		vec_push(a, &w->nodes, graph_cast_new(w->m, edge, (*v)->name, (*v)->type));
	}
	return 0;
}

/* True if the node depends on a plugin's result, directly or not. `after`: the same for each earlier node. */
static bool reads_region(const struct graph_node *n, const bool *after)
{
	vec_each (v, &n->reads)
		if ((*v)->producer >= 0 && after[(*v)->producer])
			return true;
	return false;
}

/* Replaces the node by initializers with its results. */
static int fold_node(struct rewrite *w, const struct graph_node *n)
{
	for (size_t k = 0; k < n->proto->n_output; k++) {
		struct graph_value *v = graph_value_find(w->g, n->proto->output[k]);
		const struct tensor *t;

		if (!v)
			continue;
		TRY(graph_constant(&t, w->g, v, w->err));
		vec_push(w->g->arena, &w->initializers, onnx_tensor_store(t, v->name, w->m->arena));
	}
	return 0;
}

static int make_nodes(struct rewrite *w)
{
	struct arena *a = w->g->arena;
	bool *done = NEWN(a, bool, w->r->n + 1), *after = NEWN(a, bool, w->g->nodes.n + 1);

	vec_each (n, &w->g->nodes) {
		int owner = w->owner[n->index];
		bool reads = reads_region(n, after);

		/* Constants depend on nothing: a plugin may read them even if they were computed from its results. */
		after[n->index] = !n->folded && (owner >= 0 || reads);
		if (n->folded && (owner >= 0 || reads)) {
			TRY(fold_node(w, n));
		} else if (owner < 0) {
			vec_push(a, &w->nodes, n->proto);
		} else if (!done[owner]) {
			done[owner] = true;
			TRY(add_plugin(w, owner));
		}
	}
	return 0;
}

/* ---- Unused values ------------------------------------------------------------------------------------------ */

static bool is_read(const struct map *used, const Onnx__NodeProto *n)
{
	for (size_t k = 0; k < n->n_output; k++)
		if (map_get(used, n->output[k]))
			return true;
	return false;
}

/* True if the node's results were used before: dead nodes of the given model stay. */
static bool was_read(const struct graph *g, const Onnx__NodeProto *n)
{
	for (size_t k = 0; k < n->n_output; k++) {
		const struct graph_value *v = graph_value_find(g, n->output[k]);

		if (v && v->consumers.n)
			return true;
	}
	return false;
}

static void drop_dead_nodes(struct rewrite *w)
{
	Onnx__GraphProto *p = w->g->index->graph;
	struct map used = map_new(w->g->arena);
	size_t kept = p->n_node;

	for (size_t i = 0; i < p->n_output; i++)
		map_put(&used, onnx_text(p->output[i]->name), w);
	for (size_t i = p->n_node; i-- > 0;) { /* in topological order */
		Onnx__NodeProto *n = p->node[i];
		struct map inner;

		if (!is_read(&used, n) && was_read(w->g, n))
			continue;
		inner = onnx_node_captures(n, w->g->arena);
		for (size_t k = 0; k < n->n_input; k++)
			map_put(&used, n->input[k], w);
		for (int k = 0; k < inner.n; k++)
			map_put(&used, inner.entry[k].name, w);
		p->node[--kept] = n;
	}
	memmove(p->node, p->node + kept, (p->n_node - kept) * sizeof *p->node);
	p->n_node -= kept;
}

/* ---- The model --------------------------------------------------------------------------------------------------- */

static void add_value_info(struct rewrite *w, const struct graph_value *v, const char *name, enum type type)
{
	int64_t dim[IR_MAX_RANK];
	const char *symbol[IR_MAX_RANK];

	for (int k = 0; k < v->rank; k++) {
		symbol[k] = NULL;
		if (ir_const_int(v->dim[v->turned ? v->turned[k] : k], &dim[k])) {
			dim[k] /= k == v->rank - 1 && type != v->type ? graph_edge_packs(w->g, v, &w->edges) : 1;
			continue;
		}
		dim[k] = -1;
		if (v->dim[k]->op == IR_SYMBOL)
			symbol[k] = map_get(&w->g->root->origin, v->dim[k]->name);
	}
	onnx_graph_add_value_info(w->m, w->g->index->graph,
	                          onnx_value_info_new(w->m, name, type, v->rank, dim, symbol));
}

/* Declares types of the plugins' inputs and outputs. ONNX's checker infers them through functions, but not past unknown
 * operators; an unknown type after a function is then an error, unlike elsewhere. */
static void add_value_infos(struct rewrite *w)
{
	const Onnx__GraphProto *p = w->g->index->graph;
	struct map have = map_new(w->g->arena);

	for (size_t i = 0; i < p->n_value_info; i++)
		map_put(&have, onnx_text(p->value_info[i]->name), w);
	for (int i = 0; i < w->edge.n; i++) {
		const struct graph_value *v = graph_value_find(w->g, w->edge.entry[i].name);

		add_value_info(w, v, w->edge.entry[i].value, type_of(w, v));
	}
	for (int i = 0; i < w->r->n; i++) {
		if (w->r->at[i]->folded || w->r->at[i]->graph != w->g)
			continue;
		vec_each (v, &w->r->at[i]->outputs)
			if (!(*v)->is_output && !has_edge(w, *v) && !map_get(&have, (*v)->name))
				add_value_info(w, *v, (*v)->name, (*v)->type);
	}
}

static void set_nodes(struct rewrite *w, const struct nodes *nodes)
{
	Onnx__GraphProto *p = w->g->index->graph;

	p->node = NEWN(w->m->arena, Onnx__NodeProto *, nodes->n + 1);
	p->n_node = (size_t)nodes->n;
	for (int i = 0; i < nodes->n; i++)
		p->node[i] = nodes->at[i];
}

/* Puts the new nodes in order. */
static int put_nodes(struct rewrite *w)
{
	Onnx__GraphProto *p = w->g->index->graph;

	for (size_t i = 0; i < p->n_node; i++)
		vec_push(w->g->arena, &w->old, p->node[i]);
	set_nodes(w, &w->nodes);
	if (onnx_graph_sort(w->m, p, w->err) == 0)
		return 0;
	err_where(w->err, "%s: two regions need each other's results: ", w->m->path);
	return w->err->code = ERR_USAGE;
}

/* Puts the new nodes into all graphs, or into none. */
static int put_all_nodes(struct rewrite *w, int n)
{
	for (int i = 0; i < n; i++) {
		if (!w[i].changes || put_nodes(&w[i]) == 0)
			continue;
		for (int k = 0; k <= i; k++)
			if (w[k].changes)
				set_nodes(&w[k], &w[k].old);
		return w->err->code;
	}
	return 0;
}

static void clean_graph(struct rewrite *w)
{
	vec_each (t, &w->initializers)
		onnx_graph_add_initializer(w->m, w->g->index->graph, *t);
	if (!w->changes && !w->changes_inside)
		return;
	drop_dead_nodes(w);
	onnx_graph_drop_unused(w->m, w->g->index->graph);
	if (w->changes)
		add_value_infos(w);
}

static int rewrite(struct rewrite *w, int n)
{
	struct functions functions = { .names = map_new(w->g->arena) };

	TRY(check_names(w));
	if (!onnx_opset(w->m, "")) /* a model may have only operators of other domains */
		onnx_opset_import(w->m, "", OPSET);
	for (int i = 0; i < n; i++)
		if (w[i].changes)
			TRY(make_nodes(&w[i]));
	TRY(make_functions(&functions, w));
	TRY(put_all_nodes(w, n));
	onnx_graph_drop_placeholders(w->m->proto->graph); /* their values may be in plugins */
	onnx_ir_raise(w->m, 8);
	vec_each (f, &functions.list)
		TRY(onnx_model_add_function(w->m, *f, w->err));
	for (int i = n; i-- > 0;) /* bodies first: they may now read less of the graph around them */
		clean_graph(&w[i]);
	return 0;
}

void graph_drop_functions(struct onnx_model *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->proto->n_functions; i++)
		if (strcmp(onnx_domain(m->proto->functions[i]->domain), GRAPH_PLUGIN_DOMAIN) != 0)
			m->proto->functions[kept++] = m->proto->functions[i];
	m->proto->n_functions = kept;
}

static struct rewrite rewrite_of(struct graph *g, const struct graph_rewrite_options *o)
{
	struct rewrite w = { .g = g, .m = g->model, .o = o, .edges = { .keep_types = o->keep_types } };

	w.owner = NEWN(g->arena, int, g->nodes.n + 1);
	w.edge = map_new(g->arena);
	w.made = map_new(g->arena);
	for (int i = 0; i < g->nodes.n; i++)
		w.owner[i] = -1;
	return w;
}

int graph_rewrite(struct graph *g, const struct graph_regions *r, const struct graph_plugin *plugin,
                  const struct graph_rewrite_options *o, struct err *e)
{
	static const struct graph_rewrite_options none;
	struct rewrite *w = NEWN(g->arena, struct rewrite, g->graphs.n);

	for (int i = 0; i < g->graphs.n; i++) {
		w[i] = rewrite_of(g->graphs.at[i], o ? o : &none);
		w[i].r = r;
		w[i].plugin = plugin;
		w[i].err = e;
	}
	for (int i = 0; i < r->n; i++) {
		const struct graph *in = r->at[i]->graph;

		w[in->number].changes = true;
		vec_each (n, &r->at[i]->nodes) /* nodes that were restored stay for their other readers, if any */
			if (r->at[i]->folded || !in->nodes.at[*n].folded)
				w[in->number].owner[*n] = i;
		while ((in = in->outer))
			w[in->number].changes_inside = true;
	}
	return rewrite(w, g->graphs.n);
}
