/* Checks a model before anything else uses it: names, order, extents, versions. See onnx_model_check. */
#include "onnx/onnx_internal.h"

#include <stdio.h>
#include <string.h>

/* The graph, subgraph or function body being checked. */
struct body {
	struct onnx_model *model;
	struct arena *scratch;
	const char *what;                    /* "graph", "subgraph", "function" */
	const Onnx__FunctionProto *function; /* null: the body belongs to the graph */
	struct err *e;
};

static const char input_mark[] = "an input", initializer_mark[] = "an initializer";

/* Record that `name` is defined by a node, or by a mark above. A node's pointer is its mark. */
static int define(struct body *b, struct onnx_scope *s, const char *name, const void *by)
{
	char who[ONNX_DESCRIBE], other[ONNX_DESCRIBE];
	const void *marks[2] = { map_get(&s->defined, name), by };
	const char *text[2];
	if (!*name)
		return 0;
	if (!marks[0] || (marks[0] == input_mark && by == initializer_mark)) {
		map_put(&s->defined, name, by);
		return 0;
	}
	for (int i = 0; i < 2; i++)
		text[i] = marks[i] == input_mark || marks[i] == initializer_mark
		                  ? marks[i]
		                  : onnx_node_describe(marks[i], i ? who : other);
	err_set(b->e, ERR_MODEL, "the tensor \"%s\" is defined twice: by %s and by %s.", name, text[0], text[1]);
	err_about(b->e, ERR_TENSOR, name);
	return err_advise(b->e, "Every tensor must have one origin: rename one of the two and what reads it.");
}

static int must_be_defined(struct body *b, const struct onnx_scope *s, const char *name, const char *reader)
{
	const char **list, *closest;
	if (!*name || onnx_scope_has(s, name))
		return 0;
	err_set(b->e, ERR_MODEL, "%s \"%s\", which no input, initializer or node defines.", reader, name);
	err_about(b->e, ERR_TENSOR, name);
	list = NEWN(b->scratch, const char *, s->defined.n + 1);
	for (int i = 0; i < s->defined.n; i++)
		list[i] = s->defined.entry[i].name;
	closest = str_closest(name, list);
	if (closest)
		return err_advise(b->e, "The closest name in the %s is \"%s\".", b->what, closest);
	return err_advise(b->e, "The %s is not complete: export the model again.", b->what);
}

enum { ML_OPSET = 5 }; /* of ai.onnx.ml, if the model imports none */

/* A missing import is an error in functions and of ONNX's own domain. Else the graph gets it, since ONNX Runtime and
 * TensorRT's parser need none. */
static int check_domain(struct body *b, const Onnx__NodeProto *node)
{
	char who[ONNX_DESCRIBE];
	const char *domain = onnx_domain(node->domain), *said = *domain ? domain : "ai.onnx";
	const Onnx__FunctionProto *f = b->function;
	for (size_t i = 0; f && i < f->n_opset_import; i++)
		if (strcmp(onnx_domain(f->opset_import[i]->domain), domain) == 0)
			return 0;
	if (!f && *domain)
		onnx_opset_import(b->model, domain, strcmp(domain, "ai.onnx.ml") == 0 ? ML_OPSET : 1);
	if (!f && onnx_opset(b->model, domain))
		return 0;
	err_set(b->e, ERR_MODEL, "%s is of the domain \"%s\", but the %s imports no opset of this domain.",
	        onnx_node_describe(node, who), said, f ? "function" : "model");
	return err_advise(b->e, "Add an opset_import for \"%s\" with the version that the node was written for.", said);
}

static int check_attributes(struct body *b, const Onnx__NodeProto *node)
{
	char who[ONNX_DESCRIBE];
	struct map seen = map_new(b->scratch);
	for (size_t i = 0; i < node->n_attribute; i++) {
		const char *name = onnx_text(node->attribute[i]->name);
		if (!*name)
			return err_set(b->e, ERR_MODEL, "%s has an attribute without a name.",
			               onnx_node_describe(node, who));
		if (map_get(&seen, name))
			return err_set(b->e, ERR_MODEL, "%s has two attributes \"%s\".", onnx_node_describe(node, who),
			               name);
		map_put(&seen, name, b);
	}
	return 0;
}

static int check_graph(struct body *b, Onnx__GraphProto *g, const struct onnx_scope *outer);

static int check_subgraphs(struct body *b, const Onnx__NodeProto *node, const struct onnx_scope *s)
{
	struct body inner = *b;
	char who[ONNX_DESCRIBE];
	inner.what = "subgraph";
	for (size_t i = 0; i < node->n_attribute; i++) {
		const Onnx__AttributeProto *a = node->attribute[i];
		int rc = a->g ? check_graph(&inner, a->g, s) : 0;
		for (size_t k = 0; k < a->n_graphs && !rc; k++)
			rc = check_graph(&inner, a->graphs[k], s);
		if (rc < 0)
			return err_where(b->e, "in \"%s\" of %s: ", a->name, onnx_node_describe(node, who));
	}
	return 0;
}

static int check_node(struct body *b, struct onnx_scope *s, Onnx__NodeProto *node)
{
	char who[ONNX_DESCRIBE], reader[ONNX_DESCRIBE + 16];
	onnx_node_describe(node, who);
	if (!*onnx_text(node->op_type))
		return err_set(b->e, ERR_MODEL, "%s has no op_type.", who);
	TRY(check_domain(b, node));
	TRY(check_attributes(b, node));
	snprintf(reader, sizeof reader, "%s reads", who);
	for (size_t k = 0; k < node->n_input; k++)
		TRY(must_be_defined(b, s, node->input[k], reader));
	return check_subgraphs(b, node, s);
}

/* Nodes whose inputs' and initializers' names are in `s` already: names, attributes, subgraphs, order. */
static int check_nodes(struct body *b, struct onnx_scope *s, Onnx__NodeProto **node, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < node[i]->n_output; k++)
			TRY(define(b, s, node[i]->output[k], node[i]));
	for (size_t i = 0; i < n; i++) {
		const char *name = onnx_text(node[i]->name);
		if (check_node(b, s, node[i]) < 0)
			return err_about(b->e, ERR_NODE, *name ? name : arena_printf(b->scratch, "#%zu", i));
	}
	return onnx_sort_nodes(node, n, b->e);
}

static int check_graph(struct body *b, Onnx__GraphProto *g, const struct onnx_scope *outer)
{
	struct onnx_scope s = { outer, map_new(b->scratch) };
	for (size_t i = 0; i < g->n_input; i++)
		TRY(define(b, &s, onnx_text(g->input[i]->name), input_mark));
	for (size_t i = 0; i < g->n_initializer; i++)
		TRY(define(b, &s, onnx_text(g->initializer[i]->name), initializer_mark));
	for (size_t i = 0; i < g->n_sparse_initializer; i++)
		if (g->sparse_initializer[i]->values)
			TRY(define(b, &s, onnx_text(g->sparse_initializer[i]->values->name), initializer_mark));
	TRY(check_nodes(b, &s, g->node, g->n_node));
	for (size_t i = 0; i < g->n_output; i++) {
		if (!*onnx_text(g->output[i]->name))
			return err_set(b->e, ERR_MODEL, "output %zu of the %s has no name.", i, b->what);
		TRY(must_be_defined(b, &s, g->output[i]->name, "the graph gives out"));
	}
	return 0;
}

static int check_function(struct body *b, Onnx__FunctionProto *f)
{
	struct onnx_scope s = { NULL, map_new(b->scratch) };
	for (size_t i = 0; i < f->n_input; i++)
		TRY(define(b, &s, f->input[i], input_mark));
	TRY(check_nodes(b, &s, f->node, f->n_node));
	for (size_t i = 0; i < f->n_output; i++)
		TRY(must_be_defined(b, &s, f->output[i], "the function gives out"));
	return 0;
}

static int check_extents(void *arg, ProtobufCMessage *message)
{
	int64_t count;
	return onnx_tensor_count(&count, (const Onnx__TensorProto *)message, arg);
}

static int check_sparse(void *arg, ProtobufCMessage *message)
{
	const Onnx__SparseTensorProto *s = (const Onnx__SparseTensorProto *)message;
	if (s->values && s->indices)
		return 0;
	return err_set(arg, ERR_MODEL, "the sparse tensor \"%s\" has no %s.",
	               s->values ? onnx_text(s->values->name) : "", s->values ? "indices" : "values");
}

static int check_versions(const Onnx__ModelProto *p, struct err *e)
{
	struct arena *scratch = arena_new();
	struct map seen = map_new(scratch);
	int rc = 0;
	if (!p->has_ir_version || p->ir_version <= 0) {
		err_set(e, ERR_MODEL, "the model has no IR version.");
		rc = err_advise(e, "Export the model again, or set ir_version to the one that matches its opset.");
	}
	for (size_t i = 0; i < p->n_opset_import && !rc; i++) {
		const Onnx__OperatorSetIdProto *o = p->opset_import[i];
		const char *domain = onnx_domain(o->domain);
		const Onnx__OperatorSetIdProto *other = map_get(&seen, domain);
		if (o->version <= 0)
			rc = err_set(e, ERR_MODEL, "the opset of domain \"%s\" has version %lld.", domain,
			             (long long)o->version);
		else if (other && other->version > o->version) {
			err_set(e, ERR_MODEL, "the domain \"%s\" is imported with two versions, %lld and then %lld.",
			        *domain ? domain : "ai.onnx", (long long)other->version, (long long)o->version);
			rc = err_advise(e,
			                "ONNX means the higher one, ONNX Runtime the last one: remove the wrong one.");
		}
		map_put(&seen, domain, o);
	}
	arena_free(scratch);
	return rc;
}

enum {
	CALLS_MAX = 100,    /* nested function calls */
	INNER_MAX = 200000, /* nodes that a function, or all calls of the graph, may stand for: a few functions that
	                       call each other twice would stand for millions */
};

/* Calls between functions: each function is followed once, from its first call. */
struct calls {
	struct onnx_model *model;
	struct call_state {
		enum { UNSEEN, OPEN, DONE } at; /* OPEN: being followed */
		int64_t nodes;                  /* that it stands for, with those of the functions that it calls */
	} *state;                               /* by function */
	int64_t nodes; /* that the functions called from the present function or graph stand for, up to here */
	int depth;
	struct err *e;
};

static int follow_call(void *arg, ProtobufCMessage *message);

static int too_many_nodes(struct calls *c, const char *what)
{
	err_set(c->e, ERR_MODEL, "%s more than %d nodes, with those of the functions that are called there.", what,
	        INNER_MAX);
	return err_advise(c->e, "A function's nodes take the place of each call. Export the model again, without "
	                        "functions that call each other so often.");
}

static int follow_function(struct calls *c, size_t i)
{
	Onnx__FunctionProto *f = c->model->proto->functions[i];
	struct call_state *s = &c->state[i];
	int64_t before = c->nodes;
	char what[128];
	if (s->at == OPEN) {
		err_set(c->e, ERR_MODEL, "the function \"%s\" calls itself, or a function that calls it.",
		        onnx_text(f->name));
		return err_advise(c->e, "A function's nodes take the place of its call, so this would never end.");
	}
	if (s->at == UNSEEN) {
		if (++c->depth > CALLS_MAX)
			return err_set(c->e, ERR_MODEL, "functions call each other more than %d deep.", CALLS_MAX);
		s->at = OPEN;
		c->nodes = 0;
		TRY(onnx_visit(&f->base, &onnx__node_proto__descriptor, follow_call, c));
		s->at = DONE;
		s->nodes = c->nodes;
		c->depth--;
	}
	snprintf(what, sizeof what, "the function \"%.80s\" stands for", onnx_text(f->name));
	if (s->nodes > INNER_MAX)
		return too_many_nodes(c, what);
	c->nodes = before + s->nodes;
	return 0;
}

static int follow_call(void *arg, ProtobufCMessage *message)
{
	struct calls *c = arg;
	const Onnx__NodeProto *n = (const Onnx__NodeProto *)message;
	const Onnx__FunctionProto *f =
	        onnx_function_find(c->model, onnx_domain(n->domain), onnx_text(n->op_type), n->overload);
	c->nodes++;
	for (size_t i = 0; f && i < c->model->proto->n_functions; i++)
		if (c->model->proto->functions[i] == f)
			return follow_function(c, i);
	return 0;
}

static int check_calls(struct body *b)
{
	Onnx__ModelProto *p = b->model->proto;
	struct calls c = { b->model, arena_alloc(b->scratch, sizeof *c.state * (p->n_functions + 1)), 0, 0, b->e };
	for (size_t i = 0; i < p->n_functions; i++)
		TRY(follow_function(&c, i));
	if (p->n_functions == 0)
		return 0;
	c.nodes = 0;
	TRY(onnx_visit(&p->graph->base, &onnx__node_proto__descriptor, follow_call, &c));
	return c.nodes > INNER_MAX ? too_many_nodes(&c, "the model has") : 0;
}

static int check_bodies(struct body *b)
{
	Onnx__ModelProto *p = b->model->proto;
	TRY(check_graph(b, p->graph, NULL));
	for (size_t i = 0; i < p->n_functions; i++) {
		struct body inner = *b;
		inner.what = "function";
		inner.function = p->functions[i];
		if (check_function(&inner, p->functions[i]) < 0)
			return err_where(b->e, "function \"%s\": ", onnx_text(p->functions[i]->name));
	}
	return check_calls(b);
}

int onnx_model_check(struct onnx_model *m, struct err *e)
{
	struct body b = { .model = m, .scratch = arena_new(), .what = "graph", .e = e };
	int rc = check_versions(m->proto, e);
	if (rc == 0)
		rc = onnx_visit(&m->proto->base, &onnx__tensor_proto__descriptor, check_extents, e);
	if (rc == 0)
		rc = onnx_visit(&m->proto->base, &onnx__sparse_tensor_proto__descriptor, check_sparse, e);
	if (rc == 0)
		rc = onnx_sparse_drop(m, e);
	if (rc == 0)
		rc = check_bodies(&b);
	arena_free(b.scratch);
	return rc < 0 ? err_where(e, "%s: ", m->path) : 0;
}
