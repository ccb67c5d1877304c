/* Bodies (graphs that are attributes of nodes) as graphs of their own: their inputs, the outer values that they read,
 * and the names of their nodes. Their nodes are inferred like those of the main graph, after the node that holds
 * them. */
#include <string.h>

#include "graph/graph_internal.h"

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* Returns the loop of the program that carries this state, or null. */
static const struct ir_loop *find_loop(const struct ir_buffer *state, struct ir_stage *const *stage, int n)
{
	for (int i = 0; i < n; i++) {
		const struct ir_loop *loop = stage[i]->kind == IR_LOOP ? stage[i]->loop : NULL;

		if (!loop)
			continue;
		vec_each (c, &loop->carries)
			if (c->state == state)
				return loop;
		loop = find_loop(state, loop->body.at, loop->body.n);
		if (loop)
			return loop;
	}
	return NULL;
}

static bool is_output_of(const struct graph_formals *f, size_t n, const struct ir_buffer *b)
{
	for (size_t i = 0; i < n; i++)
		if (f->out[i] == b)
			return true;
	return false;
}

/* True if all states of the loop keep their extents in every turn: each next value is a result of the body, and has its
 * state's extents if all states have those of the first turn. An operator that adapts other extents, since ONNX demands
 * that they agree, passes on a buffer of its own: a plugin in the body must not rely on that. */
static bool keeps_extents(const struct ir_loop *loop, const struct graph_formals *f, size_t outputs)
{
	vec_each (c, &loop->carries) {
		if (!c->state->rank || c->next == c->state) /* no turn changes it */
			continue;
		if (!c->next || !is_output_of(f, outputs, c->next) || c->next->rank != c->state->rank)
			return false;
		for (int i = 0; i < c->state->rank; i++)
			if (c->next->dim[i] != c->state->dim[i])
				return false;
	}
	return true;
}

/* Takes the shape that the node passed to an input of a body, in `s`. `settled`: its extents hold for every turn. */
static void take_seen(struct graph_value *v, struct graph *g, const struct graph_node *n, const struct graph_scope *s,
                      const struct graph_formal *seen, bool settled)
{
	v->type = v->type != TYPE_NONE ? v->type : seen->type; /* computed 4-bit numbers are held in 8 bits */
	v->rank = seen->rank;
	for (int i = 0; i < v->rank; i++) {
		expr e = seen->dim[i];
		bool known = settled && e && !e->varies && e->size <= IR_MAX_CONTENT;

		v->dim[i] = known ? graph_size_rename(g, n, s->program, e) : graph_symbol_fresh(g);
	}
}

/* Bodies of a supported node have the extents that lowering saw; but a number of turns or a condition may be one
 * element with an axis, if the model declares that. Otherwise the declared shape comes first, and a loop's state may
 * have any extents in the next turn. */
static void take_input(struct graph_value *v, struct graph *g, const struct graph_node *n, const struct graph_scope *s,
                       size_t i)
{
	const Onnx__GraphProto *p = g->index->graph;
	const struct graph_formals *f = map_get_u64(s->formals, (uintptr_t)p);
	const struct graph_formal *seen = f && f->in[i].type != TYPE_NONE ? &f->in[i] : NULL;
	const struct ir_loop *loop = NULL;
	const Onnx__TensorShapeProto *shape = NULL;

	if (seen && seen->state)
		loop = find_loop(seen->state, s->program->stages.at, s->program->stages.n);
	if (!seen || !onnx_value_type(p->input[i], &v->type, &shape))
		shape = NULL;
	if (!seen || (shape && (!n->known || (int)shape->n_dim != seen->rank)))
		graph_value_declare(g, v, p->input[i]);
	else if (n->known)
		take_seen(v, g, n, s, seen, !seen->state || (loop && keeps_extents(loop, f, p->n_output)));
	else if (!seen->turns)
		take_seen(v, g, n, s, seen, true);
	else if (v->type == TYPE_NONE)
		v->type = seen->type;
}

static void take_inputs(struct graph *g, const struct graph_node *n, const struct graph_scope *s)
{
	const Onnx__GraphProto *p = g->index->graph;

	for (size_t i = 0; i < p->n_input; i++) {
		const char *name = onnx_text(p->input[i]->name);
		struct graph_value *v;

		if (!*name || graph_value_find(g, name))
			continue;
		v = graph_value_new(g, name);
		v->is_input = true;
		vec_push(g->arena, &g->inputs, v);
		take_input(v, g, n, s, i);
	}
}

static bool is_outside(const struct onnx_value *x)
{
	return x->producer < 0 && !x->is_input && !x->initializer && !x->sparse;
}

/* Names that the body does not define refer to values of the graph around it. */
static void take_outside(struct graph *g)
{
	for (int i = 0; i < g->index->value.n; i++) {
		const struct onnx_value *x = g->index->value.entry[i].value;
		struct graph_value *from = is_outside(x) ? graph_value_find(g->outer, x->name) : NULL, *v;

		if (!from)
			continue;
		v = graph_value_new(g, x->name);
		v->outside = from;
		v->type = from->type;
		v->rank = from->rank;
		memcpy(v->dim, from->dim, sizeof v->dim);
		v->content = from->content;
		v->some = from->some;
		v->asked = from->asked;
		v->is_constant = from->is_constant;
	}
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */

static void take_body(struct graph *outer, struct graph_node *n, const struct graph_scope *s, const char *attr,
                      Onnx__GraphProto *p)
{
	struct arena *a = outer->arena;
	struct graph *g = NEW(a, struct graph);

	g->arena = a;
	g->model = outer->model;
	g->pool = outer->pool;
	g->root = outer->root;
	g->engine = outer->engine;
	g->version = outer->version;
	g->outer = outer;
	g->holder = n->index;
	g->number = g->root->graphs.n;
	g->name = arena_printf(a, "%s/%s", n->label, attr);
	g->numbers = arena_printf(a, "%s%s#%d/%s", outer->numbers, *outer->numbers ? "/" : "", n->index, attr);
	g->path = arena_printf(a, "%s/%s/", arena_strdup(a, graph_lasting_name(s, n->proto)), attr);
	g->by_name = map_new(a);
	g->index = onnx_index_new(g->model, p, a);
	vec_push(a, &g->root->graphs, g);
	vec_push(a, &n->bodies, g);
	take_inputs(g, n, s);
	take_outside(g);
	graph_take_initializers(g);
	graph_take_nodes(g);
}

static int depth_of(const struct graph *g)
{
	int depth = 0;

	for (; g->outer; g = g->outer)
		depth++;
	return depth;
}

void graph_take_bodies(struct graph *g, struct graph_node *n, const struct graph_scope *s)
{
	if (depth_of(g) >= GRAPH_MAX_DEPTH)
		return;
	for (size_t i = 0; i < n->proto->n_attribute; i++) {
		const Onnx__AttributeProto *attr = n->proto->attribute[i];
		const char *name = str_printable(g->arena, onnx_text(attr->name));

		if (attr->g)
			take_body(g, n, s, name, attr->g);
		for (size_t k = 0; k < attr->n_graphs; k++)
			take_body(g, n, s, arena_printf(g->arena, "%s.%zu", name, k), attr->graphs[k]);
	}
}

bool graph_used(const struct graph *g)
{
	for (; g->outer; g = g->outer)
		if (g->outer->nodes.at[g->holder].folded || !graph_node_used(g->outer, g->holder))
			return false;
	return true;
}

/* ---- Finding nodes by text. */

enum { LISTED = 8 }; /* most nodes that a message lists */

struct matches {
	struct graph *g;
	int node, n;
	struct str list; /* of labels */
};

static void add_match(struct matches *m, struct graph *g, int node)
{
	m->g = g;
	m->node = node;
	if (m->n++ < LISTED)
		str_printf(&m->list, "%s%s", m->list.n ? ", " : "", g->nodes.at[node].label);
}

/* "PATH/#3", "PATH/NAME". */
static bool is_path(const struct graph *g, const char *path, const struct graph_node *n, const char *text)
{
	size_t len = strlen(path);

	if (strncmp(text, path, len) != 0 || text[len] != '/')
		return false;
	text += len + 1;
	return strcmp(text, onnx_node_label(g->index, n->index)) == 0 ||
	       strcmp(text, arena_printf(g->arena, "#%d", n->index)) == 0;
}

static bool is_label(const struct graph *g, const struct graph_node *n, const char *text)
{
	return strcmp(n->label, text) == 0 || is_path(g, g->name, n, text) || is_path(g, g->numbers, n, text);
}

static bool is_name(const struct graph *g, const struct graph_node *n, const char *text)
{
	const char *name = onnx_text(n->proto->name);

	return *name && (strcmp(name, text) == 0 || strcmp(str_printable(g->arena, name), text) == 0);
}

static bool is_output(const struct graph *g, const struct graph_node *n, const char *text)
{
	for (size_t i = 0; i < n->proto->n_output; i++) {
		const char *name = n->proto->output[i];

		if (*name && (strcmp(name, text) == 0 || strcmp(str_printable(g->arena, name), text) == 0))
			return true;
	}
	return false;
}

typedef bool match_fn(const struct graph *g, const struct graph_node *n, const char *text);

/* Returns the nodes of bodies that match `text` by one rule. */
static struct matches match_all(struct graph *root, const char *text, match_fn *is)
{
	struct matches m = { .list = str_new(root->arena) };

	for (int i = 1; i < root->graphs.n; i++)
		vec_each (n, &root->graphs.at[i]->nodes)
			if (is(root->graphs.at[i], n, text))
				add_match(&m, root->graphs.at[i], n->index);
	return m;
}

static int take_match(struct graph **in, int *node, struct matches *m, const char *text, const char *what,
                      struct err *e)
{
	*in = m->g;
	*node = m->node;
	if (m->n == 1)
		return 0;
	err_set(e, ERR_USAGE, "%s: %s \"%s\" belongs to %d nodes in inner graphs.", m->g->model->path, what, text,
	        m->n);
	return err_advise(e, "Name one of them: %s%s.", str_text(&m->list), m->n > LISTED ? " ..." : "");
}

int graph_node_find(struct graph **in, int *node, struct graph *root, const char *text, struct err *e)
{
	struct err none = { 0 };
	struct matches m;
	bool in_main = false;

	*in = root;
	if (!*text || onnx_node_find(node, root->index, text, &none) == 0)
		return onnx_node_find(node, root->index, text, e);
	m = match_all(root, text, is_label);
	if (m.n)
		return take_match(in, node, &m, text, "the label", e);
	vec_each (n, &root->nodes)
		in_main |= is_name(root, n, text);
	m = match_all(root, text, is_name);
	if (m.n && !in_main)
		return take_match(in, node, &m, text, "the name", e);
	m = match_all(root, text, is_output);
	if (m.n && !in_main)
		return take_match(in, node, &m, text, "the tensor", e);
	return onnx_node_find(node, root->index, text, e);
}
