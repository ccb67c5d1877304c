/* A model in pieces: nodes in their order, as many in one program as it can have. See run.h. */
#include "run/run.h"

enum { MOST_NODES = 64 }; /* of a piece: schedules and compilers take long for more */

struct model_run {
	const struct run_device *on;
	struct graph *g;
	struct map values; /* struct tensor, by name */
	struct run_counts *counts;
	struct arena *a;
	struct err *err;
};

static int value_of(const struct tensor **out, struct model_run *m, struct graph_value *v)
{
	*out = map_get(&m->values, v->name);
	if (*out)
		return 0;
	if (v->is_constant)
		return graph_constant(out, m->g, v, m->err);
	err_about(m->err, ERR_TENSOR, v->name);
	return err_set(m->err, ERR_UNSUPPORTED, "The tensor \"%s\" is made by no node that can run.", v->name);
}

/* Fails without running anything if the nodes are not one program. */
static int run_piece(struct model_run *m, const int *node, int n, bool *made)
{
	const struct graph_program_options o = { .any_types = true, .keep_types = true };
	struct graph_region *r;
	struct ir_program *p;
	*made = false;
	TRY(graph_region_new(&r, m->g, node, n, m->err));
	TRY(graph_region_program(&p, r, &o, m->a, m->err));
	*made = true;
	const struct tensor **in = NEWN(m->a, const struct tensor *, r->inputs.n + 1);
	struct tensor *out = NEWN(m->a, struct tensor, r->outputs.n + 1);
	for (int i = 0; i < r->inputs.n; i++)
		TRY(value_of(&in[i], m, r->inputs.at[i]));
	if (run_program(m->on, p, in, out, &m->counts->kernels, m->a, m->err) < 0)
		return err_where(m->err, "%s: node %s: ", m->g->model->path, r->label);
	for (int i = 0; i < r->outputs.n; i++)
		map_put(&m->values, r->outputs.at[i]->name, &out[i]);
	m->counts->pieces++;
	m->counts->nodes += n;
	return 0;
}

/* Runs the nodes as one piece, or each half of them. */
static int run_nodes(struct model_run *m, const int *node, int n)
{
	bool made;
	if (run_piece(m, node, n, &made) == 0)
		return 0;
	if (made || n == 1)
		return m->err->code;
	err_clear(m->err);
	TRY(run_nodes(m, node, n / 2));
	return run_nodes(m, node + n / 2, n - n / 2);
}

int run_graph(struct tensor *out, struct run_counts *counts, const struct run_device *on, struct graph *g,
              const struct tensor *in, struct arena *a, struct err *e)
{
	struct model_run m = { on, g, map_new(a), counts, a, e };
	int *node = NEWN(a, int, g->nodes.n + 1), n = 0;
	for (int i = 0; i < g->inputs.n; i++)
		map_put(&m.values, g->inputs.at[i]->name, &in[i]);
	for (int i = 0; i < g->nodes.n; i++) {
		if (g->nodes.at[i].folded || !graph_node_used(g, i))
			continue;
		TRY(graph_node_check(g, i, e));
		node[n++] = i;
	}
	for (int i = 0; i < n; i += MOST_NODES)
		TRY(run_nodes(&m, node + i, n - i < MOST_NODES ? n - i : MOST_NODES));
	for (int i = 0; i < g->outputs.n; i++) {
		const struct tensor *t;
		TRY(value_of(&t, &m, g->outputs.at[i]));
		out[i] = *t;
	}
	return 0;
}
