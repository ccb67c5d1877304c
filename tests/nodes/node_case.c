/* Runs one case of node_test. */
#include "tests/nodes/node_case.h"

#include <stdio.h>
#include <string.h>

#include "graph/graph.h"
#include "tests/nodes/forced_rule.h"
#include "tests/nodes/node_data.h"

enum { BIND_MAX = 1024 }; /* largest input, in elements, made constant if a value must be known */

/* ---- The programs of a model. */

static int run_region(struct graph *g, struct graph_region *r, struct map *tensors, backend_fn *run, struct arena *a,
                      struct err *e)
{
	struct graph_program_options options = { .any_types = true, .keep_types = true, .sizes = true };
	const struct tensor **in = NEWN(a, const struct tensor *, r->inputs.n + 1);
	struct tensor *out;
	struct ir_program *p;

	TRY(graph_region_program(&p, r, &options, a, e));
	out = NEWN(a, struct tensor, p->outputs.n + 1);
	for (int i = 0; i < r->inputs.n; i++) {
		struct graph_value *v = r->inputs.at[i];

		in[i] = map_get(tensors, v->name);
		if (!in[i] && v->is_constant)
			TRY(graph_constant(&in[i], g, v, e));
		if (!in[i])
			return err_set(e, ERR_MODEL, "\"%s\" has no value.", v->name);
	}
	TRY(run(p, in, out, a, e));
	for (int i = 0; i < r->outputs.n; i++)
		map_put(tensors, r->outputs.at[i]->name, &out[i]);
	return 0;
}

/* True if a result of the node is an output of the model, or a needed node reads it. */
static bool is_needed(const struct graph *g, int node, const bool *needed)
{
	const Onnx__NodeProto *p = g->nodes.at[node].proto;

	for (size_t k = 0; k < p->n_output; k++) {
		const struct graph_value *v = graph_value_find(g, p->output[k]);

		if (v && v->is_output)
			return true;
		for (int i = 0; v && i < v->consumers.n; i++)
			if (needed[v->consumers.at[i]])
				return true;
	}
	return false;
}

static int run_whole(struct graph *g, struct map *tensors, backend_fn *run, struct arena *a, struct err *e)
{
	int *node = NEWN(a, int, g->nodes.n + 1), n = 0;
	bool *needed = NEWN(a, bool, g->nodes.n + 1);
	struct graph_region *r;

	for (int i = g->nodes.n - 1; i >= 0; i--) {
		TRY(graph_node_check(g, i, e));
		needed[i] = !g->nodes.at[i].folded && is_needed(g, i, needed);
		if (needed[i])
			node[n++] = i;
	}
	if (!n)
		return 0;
	TRY(graph_region_new(&r, g, node, n, e));
	return run_region(g, r, tensors, run, a, e);
}

/* Computes all tensors of the graph, by name, from its inputs, node by node. */
static int run_model(struct graph *g, struct map *tensors, backend_fn *run, struct arena *a, struct err *e)
{
	vec_each (n, &g->nodes) {
		struct graph_region *r;

		TRY(graph_node_check(g, n->index, e));
		if (n->folded || !graph_node_used(g, n->index))
			continue;
		TRY(graph_region_new(&r, g, &n->index, 1, e));
		TRY(run_region(g, r, tensors, run, a, e));
	}
	return 0;
}

/* ---- One data set. */

static const struct graph_node *unknown_node(const struct graph *g)
{
	vec_each (n, &g->nodes)
		if (!n->known)
			return n;
	return NULL;
}

static struct graph_shape shape_of(const char *name, const struct tensor *t)
{
	struct graph_shape s = { .name = name, .rank = t->rank };

	for (int i = 0; i < t->rank; i++)
		s.dim[i].value = t->dim[i];
	return s;
}

/* The graph with the model's inputs as variables; if a node is unsupported, with the data set's extents, with its
 * small inputs as constants, and with both. */
static int new_graph(struct graph **g, struct onnx_model *m, const struct node_data *d, struct arena *a, struct err *e)
{
	struct graph_bound *bound = NEWN(a, struct graph_bound, d->inputs + 1);
	struct graph_shape *shape = NEWN(a, struct graph_shape, d->inputs + 1);
	int shapes = 0, bounds = 0;

	for (int i = 0; i < d->inputs; i++) {
		const struct tensor *t = &d->input[i];
		int64_t n = tensor_count(t);

		shape[shapes++] = shape_of(d->input_name[i], t);
		if (n >= 0 && n <= (type_is_int(t->type) || t->type == TYPE_BOOL || t->rank < 2 ? BIND_MAX : 1))
			bound[bounds++] = (struct graph_bound){ d->input_name[i], t };
	}
	for (int try = 0; try < 4; try++) {
		struct graph_options o = {
			.shapes = try & 1 ? shapes : 0, .bounds = try & 2 ? bounds : 0, .shape = shape, .bound = bound
		};

		TRY(graph_new(g, m, &o, e));
		if (!unknown_node(*g) || try == 3)
			return 0;
		graph_free(*g);
		*g = NULL;
	}
	return 0;
}

static void note(struct node_result *r, enum node_verdict verdict, const struct err *e)
{
	r->verdict = verdict;
	snprintf(r->text, sizeof r->text, "%.255s%.1140s", e->where, e->text); /* long sentences are cut */
}

struct missing {
	const struct onnx_model *model;
	struct node_result *result;
};

/* Stops the walk over all nodes, also those of subgraphs and functions, at one whose operator is missing. */
static int is_missing(void *arg, ProtobufCMessage *message)
{
	struct missing *x = arg;
	const Onnx__NodeProto *n = (const Onnx__NodeProto *)message;
	const char *domain = onnx_domain(n->domain), *type = onnx_text(n->op_type);

	if (op_find(domain, type) || onnx_function_find(x->model, domain, type, n->overload))
		return 0;
	snprintf(x->result->missing, sizeof x->result->missing, "%s%s%s", domain, *domain ? "." : "", type);
	return -1;
}

/* Replaces nodes of the model by plain ones, whether the engine supports them or not, and the graph by that of the new
 * model, which it also writes next to the old one. *out null: none can be replaced. */
static int put_plain(struct graph_plains **out, struct graph **g, struct onnx_model *m, const struct node_data *d,
                     const struct node_case *t, struct arena *a, struct err *e)
{
	*out = graph_plains_new(*g, true);
	if (graph_plains_put(*out)) {
		TRY(onnx_model_write(m, arena_printf(a, "%s/plain.onnx", t->dir), NULL, e));
		return new_graph(g, m, d, a, e);
	}
	*out = NULL;
	return 0;
}

static int run_set(const struct node_case *t, struct node_result *r, struct onnx_model *m, const char *dir,
                   const struct node_options *o, struct arena *a, struct err *e)
{
	struct graph *g = NULL;
	struct map tensors = map_new(a);
	struct missing missing = { m, r };
	struct node_data d;
	int rc;

	TRY(node_data_read(&d, m, dir, a, e));
	TRY(new_graph(&g, m, &d, a, e));
	const struct graph_node *n = unknown_node(g);
	if (n && onnx_visit(&m->proto->base, &onnx__node_proto__descriptor, is_missing, &missing) < 0) {
		r->verdict = NODE_SKIPPED;
		snprintf(r->text, sizeof r->text, "%s", n->why);
		graph_free(g);
		return 0;
	}
	struct graph *before = g;
	struct graph_plains *plains = NULL;
	if (o->plain && (rc = put_plain(&plains, &g, m, &d, t, a, e)) < 0) {
		graph_free(before);
		return rc;
	}
	if (o->plain && !plains) {
		r->verdict = NODE_PASSED_OVER;
		graph_free(g);
		return 0;
	}
	for (int i = 0; i < d.inputs; i++)
		map_put(&tensors, d.input_name[i], &d.input[i]);
	rc = o->whole ? run_whole(g, &tensors, o->run, a, e) : run_model(g, &tensors, o->run, a, e);
	if (rc == 0)
		rc = node_data_compare(&d, g, &tensors, t->name, t->tolerance, a, e);
	if (plains) {
		graph_plains_take_out(plains);
		graph_free(before);
	}
	graph_free(g);
	return rc;
}

bool node_case_has_other_values(const struct node_case *t)
{
	return strpbrk(t->types, "()") || strstr(t->types, "string");
}

static void skip(struct node_result *r, const char *why)
{
	r->verdict = NODE_SKIPPED;
	snprintf(r->missing, sizeof r->missing, "(%s)", why);
	snprintf(r->text, sizeof r->text, "%s", why);
}

void node_case_run(const struct node_case *t, const struct node_options *o, struct node_result *r)
{
	struct arena *a = arena_new();
	struct onnx_model *m = NULL;
	struct err e = { 0 };

	if (node_case_has_other_values(t)) {
		skip(r, "sequences, optional values, strings");
	} else if (onnx_model_read(&m, arena_printf(a, "%s/model.onnx", t->dir), &e) < 0 ||
	           onnx_model_check(m, &e) < 0) {
		note(r, NODE_FAILED, &e);
	}
	for (int i = 0; i < t->sets && r->verdict == NODE_PASSED; i++)
		if (run_set(t, r, m, arena_printf(a, "%s/test_data_set_%d", t->dir, i), o, a, &e) < 0)
			note(r, e.code == ERR_UNSUPPORTED ? NODE_REFUSED : NODE_FAILED, &e);
	if ((r->verdict == NODE_REFUSED && forced_nowhere()) || (r->verdict == NODE_SKIPPED && forced_any()))
		r->verdict = NODE_PASSED_OVER;
	onnx_model_free(m);
	arena_free(a);
	r->done = true;
}
