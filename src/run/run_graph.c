/* A model in pieces: nodes in their order, as many in one program as it can have. See run.h. */
#include "run/run_inside.h"

enum { MOST_NODES = 64 }; /* of a piece: schedules and compilers take long for more */

static int value_of(struct run_value **out, struct run_session *s, struct graph_value *v, struct err *e)
{
	const struct tensor *constant;
	*out = map_get(&s->values, v->name);
	if (*out)
		return 0;
	if (!v->is_constant) {
		err_about(e, ERR_TENSOR, v->name);
		return err_set(e, ERR_UNSUPPORTED, "The tensor \"%s\" is made by no node that can run.", v->name);
	}
	TRY(graph_constant(&constant, s->graph, v, e));
	*out = NEW(s->arena, struct run_value);
	**out = (struct run_value){ .value = v, .tensor = *constant };
	map_put(&s->values, v->name, *out);
	return 0;
}

static bool is_wanted(const struct run_session *s, const struct graph_value *v)
{
	for (int i = 0; i < s->wants; i++)
		if (s->want[i] == v)
			return true;
	return false;
}

/* Gives back the memory of values that no node after number `done` reads. Inputs and constants keep theirs for another
 * run. */
static void give_back(struct run_session *s, int done)
{
	for (int i = 0; i < s->values.n; i++) {
		struct run_value *v = (struct run_value *)s->values.entry[i].value;
		const struct graph_value *g = v->value;
		int last = g->consumers.n ? g->consumers.at[g->consumers.n - 1] : -1;
		if (!v->at || v->shared || v->given_back || g->is_input || g->is_constant || is_wanted(s, g) ||
		    g->captured || last > done)
			continue;
		run_memory_give(&s->memory, v->at);
		v->given_back = true;
	}
}

/* Fails without running anything if the nodes are not one program. */
static int run_piece(struct run_session *s, const int *node, int n, bool *made, struct err *e)
{
	const struct graph_program_options o = { .any_types = true, .keep_types = true };
	struct graph_region *r;
	struct ir_program *p;
	*made = false;
	TRY(graph_region_new(&r, s->graph, node, n, e));
	TRY(graph_region_program(&p, r, &o, s->arena, e));
	*made = true;
	struct run_value **in = NEWN(s->arena, struct run_value *, r->inputs.n + 1);
	struct run_value *out = NEWN(s->arena, struct run_value, r->outputs.n + 1);
	for (int i = 0; i < r->inputs.n; i++)
		TRY(value_of(&in[i], s, r->inputs.at[i], e));
	for (int i = 0; i < r->outputs.n; i++)
		out[i].value = r->outputs.at[i];
	if (run_program(s, r, p, in, out, e) < 0)
		return err_where(e, "%s: node %s: ", s->graph->model->path, r->label);
	for (int i = 0; i < r->outputs.n; i++)
		map_put(&s->values, r->outputs.at[i]->name, &out[i]);
	if (s->on.dev)
		give_back(s, node[n - 1]);
	s->counts->pieces++;
	s->counts->nodes += n;
	return 0;
}

/* Runs the nodes as one piece, or each half of them. */
static int run_nodes(struct run_session *s, const int *node, int n, struct err *e)
{
	bool made;
	if (run_piece(s, node, n, &made, e) == 0)
		return 0;
	if (made || n == 1)
		return e->code;
	err_clear(e);
	TRY(run_nodes(s, node, n / 2, e));
	return run_nodes(s, node + n / 2, n - n / 2, e);
}

struct run_session *run_open(const struct run_device *on, struct graph *g, struct arena *a)
{
	struct run_session *s = NEW(a, struct run_session);
	*s = (struct run_session){
		.on = *on, .graph = g, .arena = a, .memory = { .dev = on->dev, .arena = a }, .values = map_new(a)
	};
	return s;
}

void run_close(struct run_session *s)
{
	if (!s || !s->on.dev)
		return;
	vec_each (m, &s->modules)
		s->on.dev->unload(s->on.dev, *m);
	run_memory_free(&s->memory);
	s->modules.n = 0;
}

/* Marks the nodes that these values need. */
static bool *needed_by(struct run_session *s, struct graph_value *const *want, int n)
{
	struct graph *g = s->graph;
	bool *needed = NEWN(s->arena, bool, g->nodes.n + 1);
	for (int i = 0; i < n; i++)
		if (want[i]->producer >= 0)
			needed[want[i]->producer] = true;
	for (int i = g->nodes.n - 1; i >= 0; i--)
		vec_each (v, &g->nodes.at[i].reads)
			if (needed[i] && (*v)->producer >= 0)
				needed[(*v)->producer] = true;
	return needed;
}

int run_values(struct tensor *out, struct run_session *s, struct graph_value *const *want, int n,
               const struct tensor *in, struct err *e)
{
	struct graph *g = s->graph;
	const bool *needed = needed_by(s, want, n);
	int *node = NEWN(s->arena, int, g->nodes.n + 1), nodes = 0;
	s->counts = s->counts ? s->counts : &s->own_counts;
	for (int i = 0; i < g->inputs.n; i++) {
		struct run_value *v = NEW(s->arena, struct run_value);
		*v = (struct run_value){ .value = g->inputs.at[i], .tensor = in[i] };
		map_put(&s->values, g->inputs.at[i]->name, v);
	}
	for (int i = 0; i < g->nodes.n; i++) {
		if (!needed[i] || g->nodes.at[i].folded || !graph_node_used(g, i))
			continue;
		TRY(graph_node_check(g, i, e));
		node[nodes++] = i;
	}
	s->want = want;
	s->wants = n;
	for (int i = 0; i < nodes; i += MOST_NODES)
		TRY(run_nodes(s, node + i, nodes - i < MOST_NODES ? nodes - i : MOST_NODES, e));
	for (int i = 0; i < n; i++) {
		struct run_value *v;
		TRY(value_of(&v, s, want[i], e));
		TRY(run_value_host(s, v, e));
		out[i] = v->tensor;
	}
	return 0;
}

int run_graph(struct tensor *out, struct run_counts *counts, struct run_session *s, const struct tensor *in,
              struct err *e)
{
	s->counts = counts;
	TRY(run_values(out, s, s->graph->outputs.at, s->graph->outputs.n, in, e));
	counts->kernels = s->launches.n;
	counts->held = s->memory.held;
	counts->weights = s->memory.weights;
	return 0;
}
