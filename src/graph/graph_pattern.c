/* Patterns: small graphs that occur in a model, by name or from an ONNX file. A pattern's last node is matched first,
 * then what makes its inputs. */
#include <string.h>

#include "graph/graph_internal.h"

enum { MOST_NODES = 64, MOST_INPUTS = 16 };

struct pattern_node {
	const char *type, *out;      /* type "*": any */
	const char *in[MOST_INPUTS]; /* "?" or "": anything */
	int ins;
};

struct pattern {
	struct pattern_node node[MOST_NODES];
	int n;
};

static const struct {
	const char *name, *nodes;
} built_in[] = {
#define PATTERN(name, nodes) { name, nodes },
#include "graph/patterns.def"
#undef PATTERN
};

/* ---- Reading. */

static const char *take(struct arena *a, const char **at, const char *end)
{
	size_t n = strcspn(*at, end);
	const char *text = arena_strndup(a, *at, n);

	*at += n + ((*at)[n] != 0);
	return text;
}

static void read_text(struct pattern *p, const char *at, struct arena *a)
{
	while (*at && p->n < MOST_NODES) {
		struct pattern_node *n = &p->node[p->n++];
		const char *inputs;

		n->out = take(a, &at, "=");
		n->type = take(a, &at, "(");
		inputs = take(a, &at, ")");
		while (*inputs && n->ins < MOST_INPUTS)
			n->in[n->ins++] = take(a, &inputs, ",");
		at += *at == ';';
	}
}

static int read_file(struct pattern *p, const char *path, struct arena *a, struct err *e)
{
	struct onnx_model *m;
	int rc = onnx_model_read(&m, path, e);
	const Onnx__GraphProto *g = rc == 0 ? m->proto->graph : NULL;

	for (size_t i = 0; g && i < g->n_node; i++) {
		const Onnx__NodeProto *x = g->node[i];
		struct pattern_node *n = &p->node[p->n];

		if (p->n == MOST_NODES || x->n_input > MOST_INPUTS) {
			rc = err_set(e, ERR_USAGE, "%s: a pattern has at most %d nodes of %d inputs.", path, MOST_NODES,
			             MOST_INPUTS);
			break;
		}
		n->type = arena_strdup(a, onnx_text(x->op_type));
		n->out = arena_strdup(a, x->n_output ? x->output[0] : "");
		for (size_t k = 0; k < x->n_input; k++)
			n->in[n->ins++] = arena_strdup(a, x->input[k]);
		p->n++;
	}
	onnx_model_free(m);
	return rc;
}

/* ---- Matching. */

struct match {
	const struct graph *g;
	const struct pattern *p;
	int node[MOST_NODES]; /* of the graph, by the pattern's node; -1: not yet */
	struct {
		const char *name;
		const struct graph_value *value;
	} bound[MOST_NODES * MOST_INPUTS];
	int n;
};

static bool match_node(struct match *m, int of, int node);

static int maker(const struct pattern *p, const char *name)
{
	for (int i = 0; i < p->n; i++)
		if (strcmp(p->node[i].out, name) == 0)
			return i;
	return -1;
}

/* The tensor takes the place of the pattern's input: always the same one. */
static bool bind(struct match *m, const char *name, const struct graph_value *v)
{
	int of;

	if (!*name || *name == '?')
		return true;
	for (int i = 0; i < m->n; i++)
		if (strcmp(m->bound[i].name, name) == 0)
			return m->bound[i].value == v;
	m->bound[m->n].name = name;
	m->bound[m->n++].value = v;
	of = maker(m->p, name);
	return of < 0 || (v && v->producer >= 0 && match_node(m, of, v->producer));
}

static bool match_inputs(struct match *m, const struct pattern_node *n, const Onnx__NodeProto *x, bool swapped)
{
	for (int i = 0; i < n->ins; i++) {
		size_t k = swapped && i < 2 ? (size_t)(1 - i) : (size_t)i;

		if (k >= x->n_input || !bind(m, n->in[i], graph_value_find(m->g, x->input[k])))
			return false;
	}
	return true;
}

static bool match_node(struct match *m, int of, int node)
{
	const struct pattern_node *n = &m->p->node[of];
	const Onnx__NodeProto *x = m->g->nodes.at[node].proto;
	const char *type = onnx_text(x->op_type);
	bool commutes = strcmp(type, "Add") == 0 || strcmp(type, "Mul") == 0;
	struct match before = *m;

	if (m->node[of] >= 0)
		return m->node[of] == node;
	if ((strcmp(n->type, "*") != 0 && strcmp(n->type, type) != 0) || !m->g->nodes.at[node].known)
		return false;
	m->node[of] = before.node[of] = node;
	if (match_inputs(m, n, x, false))
		return true;
	*m = before;
	return commutes && n->ins == 2 && match_inputs(m, n, x, true);
}

/* Calls `add` for each place where the pattern occurs, until it fails. */
static int each_match(struct graph *g, const struct pattern *p, graph_match_fn add, void *user)
{
	for (int i = g->nodes.n; i-- > 0;) {
		struct match m = { .g = g, .p = p };
		int rc, n = 0, node[MOST_NODES];

		for (int k = 0; k < p->n; k++)
			m.node[k] = -1;
		if (!match_node(&m, p->n - 1, i))
			continue;
		for (int k = 0; k < p->n; k++)
			if (m.node[k] >= 0)
				node[n++] = m.node[k];
		if ((rc = add(user, g, node, n)) < 0)
			return rc;
	}
	return 0;
}

static int no_pattern(struct graph *g, const char *name, struct err *e)
{
	struct str list = str_new(g->arena);
	const char *last = "", *names[sizeof built_in / sizeof *built_in + 1] = { NULL }, *closest;

	for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) {
		names[i] = built_in[i].name;
		if (strcmp(last, built_in[i].name) != 0)
			str_printf(&list, "%s%s", list.n ? ", " : "", built_in[i].name);
		last = built_in[i].name;
	}
	err_set(e, ERR_USAGE, "There is no pattern \"%s\".", name);
	closest = str_closest(name, names);
	return closest ? err_advise(e, "Did you mean %s?", closest)
	               : err_advise(e, "Name one of %s, or an ONNX file.", str_text(&list));
}

int graph_matches(struct graph *root, const char *name, graph_match_fn add, void *user, struct err *e)
{
	bool found = false;

	for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) {
		struct pattern p = { .n = 0 };

		if (strcmp(built_in[i].name, name) != 0)
			continue;
		found = true;
		read_text(&p, built_in[i].nodes, root->arena);
		vec_each (g, &root->graphs)
			TRY(each_match(*g, &p, add, user));
	}
	if (!found) {
		struct pattern p = { .n = 0 };

		if (!str_ends(name, ".onnx"))
			return no_pattern(root, name, e);
		TRY(read_file(&p, name, root->arena, e));
		vec_each (g, &root->graphs)
			if (p.n)
				TRY(each_match(*g, &p, add, user));
	}
	return 0;
}
