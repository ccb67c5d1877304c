/* Walks all graphs of a model and resolves sequences and optional values, round by round: see graph_sequence.h. */
#include <string.h>

#include "graph/graph_sequence.h"

enum { MOST_ROUNDS = 256 };

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

void resolve_node(struct resolve_scope *s, Onnx__NodeProto *n)
{
	bool named =
	        onnx_function_find(s->r->model, onnx_domain(n->domain), onnx_text(n->op_type), n->overload) != NULL;
	bool own = !named && !*onnx_domain(n->domain);

	if (named ? expand_call(s, n)
	          : own && (strcmp(onnx_text(n->op_type), "If") == 0            ? expand_if(s, n)
	                    : strcmp(onnx_text(n->op_type), "Loop") == 0        ? expand_loop(s, n)
	                    : strcmp(onnx_text(n->op_type), "SequenceMap") == 0 ? expand_map(s, n)
	                                                                        : seq_node(s, n)))
		return;
	for (size_t i = 0; i < n->n_attribute; i++) {
		const Onnx__AttributeProto *a = n->attribute[i];

		for (size_t k = 0; k < a->n_graphs + (a->g != NULL); k++) {
			struct resolve_scope inner;

			resolve_body(&inner, s, k < a->n_graphs ? a->graphs[k] : a->g);
			resolve_walk(&inner);
			resolve_finish(&inner);
		}
	}
	resolve_keep(s, n);
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

struct graph *resolve_graph(const struct resolve *r, const Onnx__GraphProto *p)
{
	vec_each (g, &r->root->graphs)
		if ((*g)->index->graph == p)
			return *g;
	return NULL;
}

static void note_names(struct resolve_scope *s)
{
	s->read = onnx_graph_reads(s->proto, s->r->arena);
	s->given = map_new(s->r->arena);
	for (size_t i = 0; i < s->proto->n_node; i++)
		for (size_t k = 0; k < s->proto->node[i]->n_output; k++)
			map_put(&s->given, s->proto->node[i]->output[k], s);
}

void resolve_body(struct resolve_scope *inner, struct resolve_scope *s, Onnx__GraphProto *body)
{
	*inner = (struct resolve_scope){ .r = s->r, .outer = s, .g = resolve_graph(s->r, body), .proto = body };
	inner->names = map_new(s->r->arena);
	note_names(inner);
	for (size_t i = 0; i < body->n_input; i++)
		resolve_define(inner, onnx_text(body->input[i]->name),
		               (struct resolve_name){ .name = onnx_text(body->input[i]->name) });
	for (size_t i = 0; i < body->n_initializer; i++)
		resolve_define(inner, onnx_text(body->initializer[i]->name),
		               (struct resolve_name){ .name = onnx_text(body->initializer[i]->name) });
}

void resolve_walk(struct resolve_scope *inner)
{
	const Onnx__GraphProto *p = inner->proto;

	for (size_t i = 0; i < p->n_node; i++)
		resolve_node(inner, p->node[i]);
	/* A body may pass on a name of the graph around it that is gone. */
	for (size_t i = 0; inner->outer && i < p->n_output; i++) {
		const char *name = onnx_text(p->output[i]->name);
		struct resolve_name now = resolve_find(inner, name);

		if (!map_get(&inner->names, name) && strcmp(now.name, name) != 0)
			resolve_give(inner, name, now);
	}
}

/* True for a node whose results other nodes read before the round, and for one of this round: it is dead if none reads
 * them now. */
static bool may_go(const struct resolve_scope *s, const Onnx__NodeProto *n)
{
	for (size_t i = 0; i < n->n_output; i++)
		if (map_get(&s->read, n->output[i]) || !map_get(&s->given, n->output[i]))
			return true;
	return seq_is_operator(n);
}

void resolve_sweep(struct resolve_scope *s)
{
	struct arena *scratch = arena_new();
	struct map read = map_new(scratch);
	int kept = s->nodes.n;

	for (size_t i = 0; i < s->proto->n_output; i++)
		map_put(&read, onnx_text(s->proto->output[i]->name), s);
	for (int i = s->nodes.n; i-- > 0;) {
		Onnx__NodeProto *n = s->nodes.at[i];
		struct map captured = onnx_node_captures(n, scratch);
		bool used = !may_go(s, n);

		for (size_t k = 0; k < n->n_output; k++)
			used |= map_get(&read, n->output[k]) != NULL;
		for (size_t k = 0; used && k < n->n_input; k++)
			map_put(&read, n->input[k], s);
		for (int k = 0; used && k < captured.n; k++)
			map_put(&read, captured.entry[k].name, s);
		if (used)
			s->nodes.at[--kept] = n;
	}
	memmove(s->nodes.at, s->nodes.at + kept, sizeof *s->nodes.at * (size_t)(s->nodes.n - kept));
	s->nodes.n -= kept;
	arena_free(scratch);
}

void resolve_finish(struct resolve_scope *inner)
{
	if (!inner->r->changes) /* nothing before this has changed */
		return;
	resolve_sweep(inner);
	inner->proto->node = inner->nodes.at;
	inner->proto->n_node = (size_t)inner->nodes.n;
}

/* ---- The model --------------------------------------------------------------------------------------------------- */

bool resolve_is_sequence_type(const Onnx__ValueInfoProto *v)
{
	return v->type && (v->type->sequence_type || v->type->optional_type);
}

struct holds {
	const struct onnx_model *model;
	int depth;
};

static int find_holder(void *arg, ProtobufCMessage *message)
{
	const struct holds *h = arg;
	const Onnx__NodeProto *n = (const Onnx__NodeProto *)message;
	struct holds inner = { h->model, h->depth + 1 };
	Onnx__FunctionProto *f =
	        onnx_function_find(h->model, onnx_domain(n->domain), onnx_text(n->op_type), n->overload);

	if (!f)
		return seq_is_operator(n) ? -1 : 0;
	return h->depth >= GRAPH_MAX_DEPTH ? 0
	                                   : onnx_visit(&f->base, &onnx__node_proto__descriptor, find_holder, &inner);
}

bool resolve_holds(struct onnx_model *m, ProtobufCMessage *message)
{
	struct holds h = { m, 0 };

	return onnx_visit(message, &onnx__node_proto__descriptor, find_holder, &h) < 0;
}

bool graph_has_sequences(struct onnx_model *m)
{
	return resolve_holds(m, &m->proto->graph->base);
}

bool resolve_is_stuck(const struct resolve_scope *s, const Onnx__NodeProto *n)
{
	return map_get_u64(&s->r->stuck, (uintptr_t)n) != NULL;
}

static bool is_known(struct graph *g, const char *name, int64_t *x)
{
	struct graph_value *v = graph_value_find(g, name);
	const struct tensor *t;
	struct err ignored = { 0 };

	if (!v || !v->is_constant || graph_constant(&t, g, v, &ignored) < 0 || tensor_count(t) != 1 ||
	    type_is_float(t->type))
		return false;
	*x = tensor_int(t, 0);
	return true;
}

/* True for a loop that is known to have no turns. */
static bool never_runs(struct graph *g, const struct graph_node *n)
{
	const Onnx__NodeProto *p = n->proto;
	int64_t x;

	return strcmp(onnx_text(p->op_type), "Loop") == 0 && !*onnx_domain(p->domain) && p->n_input >= 2 &&
	       ((is_known(g, p->input[0], &x) && x <= 0) || (is_known(g, p->input[1], &x) && !x));
}

/* The nodes with graphs, and calls of functions, that are not supported and keep others from running. Without `all`
 * only loops that never run: they go from the model of a build, too. */
static struct map find_stuck(struct graph *g, bool all)
{
	struct map out = map_new(g->arena);
	const bool *stuck = graph_stuck(g, g->arena);

	vec_each (n, &g->nodes)
		if (stuck[n->index] && n->code == ERR_UNSUPPORTED && (n->function || n->bodies.n) &&
		    (all || never_runs(g, n)))
			map_put_u64(&out, (uintptr_t)n->proto, n);
	return out;
}

/* Returns the number of changes to the model. */
static int resolve_round(struct graph *g, const struct map *stuck, bool force)
{
	struct onnx_model *m = g->model;
	struct resolve r = { .root = g,
		             .model = m,
		             .arena = m->arena,
		             .opset = (int)onnx_opset(m, ""),
		             .force = force,
		             .stuck = *stuck };
	struct resolve_scope s = { .r = &r, .g = g, .proto = m->proto->graph };

	s.names = map_new(r.arena);
	note_names(&s);
	resolve_walk(&s);
	resolve_finish(&s);
	for (int k = g->graphs.n; r.changes && k-- > 0;)
		onnx_graph_drop_unused(m, g->graphs.at[k]->index->graph);
	return r.changes;
}

/* ---- What became of the nodes. */

struct original {
	const Onnx__NodeProto *node;
	struct graph_replaced what;
};
struct originals {
	VEC(struct original); /* nodes of sequences and optional values, calls of functions of such, loops that never
	                         run */
	struct map all;       /* all nodes, by address */
};

static void find_originals(struct originals *out, const struct graph *root, struct arena *a)
{
	out->all = map_new(a);
	vec_each (g, &root->graphs)
		vec_each (n, &(*g)->nodes) {
			struct graph_replaced what = { arena_strdup(a, n->label),
				                       str_printable(a, onnx_text(n->proto->op_type)), 0 };

			map_put_u64(&out->all, (uintptr_t)n->proto, root);
			if (seq_is_operator(n->proto) || never_runs(*g, n) ||
			    (n->function && resolve_holds(root->model, &n->proto->base)))
				vec_push(a, out, ((struct original){ n->proto, what }));
		}
}

static void note_replaced(struct graph *root, const struct originals *before)
{
	struct map left = map_new(root->arena);
	int more = 0;

	vec_each (g, &root->graphs)
		vec_each (n, &(*g)->nodes) {
			map_put_u64(&left, (uintptr_t)n->proto, n);
			more += !map_get_u64(&before->all, (uintptr_t)n->proto);
		}
	vec_each (o, before)
		if (!map_get_u64(&left, (uintptr_t)o->node))
			vec_push(root->arena, &root->replaced, o->what);
	root->nodes_before = root->replaced.n ? before->all.n : 0;
	if (root->replaced.n)
		root->replaced.at[0].nodes = more;
}

int graph_open(struct graph **out, struct onnx_model *m, const struct graph_options *o, struct err *e)
{
	struct originals before = { 0 };
	bool force = false, rewritten = false;

	TRY(graph_new(out, m, o, e));
	for (int i = 0; i < MOST_ROUNDS; i++) {
		struct map stuck = find_stuck(*out, o && o->take_apart);

		if (!stuck.n && !graph_has_sequences(m))
			break;
		if (i == 0)
			find_originals(&before, *out, m->arena);
		if (!resolve_round(*out, &stuck, force)) {
			if (force)
				break;
			force = true;
			continue;
		}
		rewritten = true;
		force = false;
		graph_free(*out);
		*out = NULL;
		TRY(graph_new(out, m, o, e));
	}
	if (rewritten)
		note_replaced(*out, &before);
	(*out)->rewritten = rewritten;
	return 0;
}
