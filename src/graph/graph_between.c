/* The nodes between tensors: `--from a,b --to c`. */
#include <string.h>

#include "graph/graph_internal.h"

static bool has_all(const struct graph *g, const char *const *name, int n)
{
	for (int i = 0; i < n; i++)
		if (!graph_value_find(g, name[i]))
			return false;
	return true;
}

/* Marks every node that reads a marked tensor, or a result of a marked node. */
static void mark_after(const struct graph *g, const struct map *from, bool *mark)
{
	vec_each (n, &g->nodes)
		vec_each (v, &n->reads)
			mark[n->index] |= map_get(from, (*v)->name) || ((*v)->producer >= 0 && mark[(*v)->producer]);
}

/* Marks every node that makes a marked tensor, or what a marked node reads from outside of `from`. */
static void mark_before(const struct graph *g, const struct map *from, const struct map *to, bool *mark)
{
	for (int i = g->nodes.n; i-- > 0;) {
		const Onnx__NodeProto *p = g->nodes.at[i].proto;

		for (size_t k = 0; k < p->n_output; k++) {
			const struct graph_value *v = graph_value_find(g, p->output[k]);

			mark[i] |= map_get(to, p->output[k]) != NULL;
			for (int c = 0; v && c < v->consumers.n && !map_get(from, v->name); c++)
				mark[i] |= mark[v->consumers.at[c]];
		}
	}
}

static void add_names(struct map *out, const char *const *name, int n)
{
	for (int i = 0; i < n; i++)
		map_put(out, name[i], out);
}

static int no_tensor(struct graph *g, const char *const *name, int n, struct err *e)
{
	const char **names, *closest;
	int all = 0;

	while (n > 0 && graph_value_find(g, *name)) {
		name++;
		n--;
	}
	if (!n)
		return err_set(e, ERR_USAGE, "%s: the tensors of --from and --to are not in one graph.",
		               g->model->path);
	names = NEWN(g->arena, const char *, g->values.n + 1);
	vec_each (v, &g->values)
		names[all++] = (*v)->name;
	closest = str_closest(*name, names);
	err_set(e, ERR_USAGE, "%s: there is no tensor \"%s\".", g->model->path, *name);
	return closest ? err_advise(e, "Did you mean \"%s\"?", closest)
	               : err_advise(e, "tpat list %s --all shows the tensors of each node.",
	                            str_shell_path(g->arena, g->model->path));
}

int graph_between(struct graph **in, int **node, int *n, struct graph *root, const struct graph_selection *s,
                  struct err *e)
{
	struct map from = map_new(root->arena), to = map_new(root->arena);
	bool *after, *before;
	struct graph *g = NULL;

	vec_each (some, &root->graphs)
		if (!g && has_all(*some, s->from, s->froms) && has_all(*some, s->to, s->tos))
			g = *some;
	if (!g)
		return no_tensor(root, has_all(root, s->from, s->froms) ? s->to : s->from,
		                 has_all(root, s->from, s->froms) ? s->tos : s->froms, e);
	add_names(&from, s->from, s->froms);
	add_names(&to, s->to, s->tos);
	after = NEWN(g->arena, bool, g->nodes.n + 1);
	before = NEWN(g->arena, bool, g->nodes.n + 1);
	*node = NEWN(g->arena, int, g->nodes.n + 1);
	*n = 0;
	*in = g;
	mark_after(g, &from, after);
	mark_before(g, &from, &to, before);
	for (int i = 0; i < g->nodes.n; i++)
		if ((after[i] || !s->froms) && (before[i] || !s->tos) && !g->nodes.at[i].folded)
			(*node)[(*n)++] = i;
	if (*n)
		return 0;
	err_set(e, ERR_USAGE, "%s: no node is between the tensors of --from and --to.", g->model->path);
	return err_advise(e,
	                  "--from names the tensors that the plugin reads, and --to those that it computes from them.");
}
