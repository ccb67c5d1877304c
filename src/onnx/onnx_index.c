/* Lookup by name in a graph: a value's producer and readers, and nodes' labels. See onnx.h. */
#include "onnx/onnx_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *onnx_node_describe(const Onnx__NodeProto *node, char buffer[ONNX_DESCRIBE])
{
	const char *op = onnx_text(node->op_type), *made = "";
	for (size_t i = 0; i < node->n_output && !*made; i++)
		made = node->output[i];
	if (*onnx_text(node->name))
		snprintf(buffer, ONNX_DESCRIBE, "node \"%s\" (%s)", node->name, op);
	else if (*made)
		snprintf(buffer, ONNX_DESCRIBE, "the node (%s) that makes \"%s\"", op, made);
	else
		snprintf(buffer, ONNX_DESCRIBE, "a node (%s) without name and outputs", op);
	return buffer;
}

bool onnx_value_type(const Onnx__ValueInfoProto *info, enum type *type, const Onnx__TensorShapeProto **shape)
{
	if (!info || !info->type || !info->type->tensor_type)
		return false;
	*type = onnx_elem_type(info->type->tensor_type->elem_type);
	*shape = info->type->tensor_type->shape;
	return true;
}

/* ------------------------------------------------------------------ names that subgraphs use from outside */

bool onnx_scope_has(const struct onnx_scope *s, const char *name)
{
	for (; s; s = s->outer)
		if (map_get(&s->defined, name))
			return true;
	return false;
}

static void capture(struct map *out, const struct onnx_scope *s, const char *name)
{
	if (*name && !onnx_scope_has(s, name) && !map_get(out, name))
		map_put(out, name, out);
}

static void captures_of_graph(struct map *out, const Onnx__GraphProto *g, const struct onnx_scope *outer);

static void captures_of_node(struct map *out, const Onnx__NodeProto *node, const struct onnx_scope *scope)
{
	for (size_t i = 0; i < node->n_attribute; i++) {
		const Onnx__AttributeProto *a = node->attribute[i];
		if (a->g)
			captures_of_graph(out, a->g, scope);
		for (size_t k = 0; k < a->n_graphs; k++)
			captures_of_graph(out, a->graphs[k], scope);
	}
}

static void captures_of_graph(struct map *out, const Onnx__GraphProto *g, const struct onnx_scope *outer)
{
	struct onnx_scope s = { outer, map_new(out->arena) };
	for (size_t i = 0; i < g->n_input; i++)
		map_put(&s.defined, onnx_text(g->input[i]->name), out);
	for (size_t i = 0; i < g->n_initializer; i++)
		map_put(&s.defined, onnx_text(g->initializer[i]->name), out);
	for (size_t i = 0; i < g->n_sparse_initializer; i++)
		if (g->sparse_initializer[i]->values)
			map_put(&s.defined, onnx_text(g->sparse_initializer[i]->values->name), out);
	for (size_t i = 0; i < g->n_node; i++)
		for (size_t k = 0; k < g->node[i]->n_output; k++)
			map_put(&s.defined, g->node[i]->output[k], out);
	for (size_t i = 0; i < g->n_node; i++) {
		for (size_t k = 0; k < g->node[i]->n_input; k++)
			capture(out, &s, g->node[i]->input[k]);
		captures_of_node(out, g->node[i], &s);
	}
	for (size_t i = 0; i < g->n_output; i++)
		capture(out, &s, onnx_text(g->output[i]->name));
}

struct map onnx_node_captures(const Onnx__NodeProto *node, struct arena *a)
{
	struct map out = map_new(a);
	captures_of_node(&out, node, NULL);
	return out;
}

/* ------------------------------------------------------------------ labels */

/* The number of a label like "#12"; -1 for anything else. */
static long number_label(const char *s)
{
	char *end;
	if (s[0] != '#' || s[1] < '0' || s[1] > '9' || strlen(s) > 10)
		return -1;
	long i = strtol(s + 1, &end, 10);
	return *end ? -1 : i;
}

const char **onnx_label_nodes(Onnx__NodeProto *const *node, size_t n, struct arena *a)
{
	const char **label = NEWN(a, const char *, n);
	struct map first = map_new(a); /* first node of each name, as index + 1 */
	for (size_t i = 0; i < n; i++) {
		const char *name = str_printable(a, onnx_text(node[i]->name));
		uintptr_t other = (uintptr_t)map_get(&first, name);
		if (!*name || number_label(name) >= 0 || other) {
			label[i] = arena_printf(a, "#%zu", i);
			if (other && strcmp(label[other - 1], name) == 0)
				label[other - 1] = arena_printf(a, "#%zu", (size_t)other - 1);
		} else {
			label[i] = name;
			map_put(&first, name, (void *)(i + 1));
		}
	}
	return label;
}

const char *onnx_node_label(const struct onnx_index *x, int i)
{
	ck(i >= 0 && (size_t)i < x->graph->n_node);
	return x->label[i];
}

/* ------------------------------------------------------------------ the index */

static struct onnx_value *value_of(struct onnx_index *x, const char *name)
{
	struct onnx_value *v = map_get(&x->value, name);
	if (!v) {
		v = NEW(x->value.arena, struct onnx_value);
		v->name = name;
		v->producer = -1;
		map_put(&x->value, name, v);
	}
	return v;
}

static void add_info(struct onnx_index *x, Onnx__ValueInfoProto *const *info, size_t n, bool input, bool output)
{
	for (size_t i = 0; i < n; i++) {
		if (!*onnx_text(info[i]->name))
			continue;
		/* value_info may have obsolete names: they make no value */
		struct onnx_value *v = input || output ? value_of(x, info[i]->name) : map_get(&x->value, info[i]->name);
		if (!v)
			continue;
		v->is_input |= input;
		v->is_output |= output;
		if (!v->info || !v->info->type)
			v->info = info[i];
	}
}

static void add_reader(struct onnx_index *x, const char *name, int node)
{
	if (!*name)
		return;
	struct onnx_value *v = value_of(x, name);
	if (!v->readers.n || v->readers.at[v->readers.n - 1] != node)
		vec_push(x->value.arena, &v->readers, node);
}

struct onnx_index *onnx_index_new(struct onnx_model *m, Onnx__GraphProto *g, struct arena *a)
{
	struct onnx_index *x = NEW(a, struct onnx_index);
	x->model = m;
	x->graph = g = g ? g : m->proto->graph;
	x->value = map_new(a);
	x->label = onnx_label_nodes(g->node, g->n_node, a);
	add_info(x, g->input, g->n_input, true, false);
	for (size_t i = 0; i < g->n_initializer; i++) {
		if (!*onnx_text(g->initializer[i]->name))
			continue;
		struct onnx_value *v = value_of(x, g->initializer[i]->name);
		v->initializer = v->initializer ? v->initializer : g->initializer[i];
	}
	for (size_t i = 0; i < g->n_sparse_initializer; i++) {
		Onnx__SparseTensorProto *s = g->sparse_initializer[i];
		if (!s->values || !*onnx_text(s->values->name))
			continue;
		struct onnx_value *v = value_of(x, s->values->name);
		v->sparse = v->sparse ? v->sparse : s;
	}
	for (size_t i = 0; i < g->n_node; i++) {
		for (size_t k = 0; k < g->node[i]->n_output; k++) {
			if (!*g->node[i]->output[k])
				continue;
			struct onnx_value *v = value_of(x, g->node[i]->output[k]);
			if (v->producer >= 0 || v->is_input || v->initializer || v->sparse)
				continue;
			v->producer = (int)i;
			v->output = (int)k;
		}
	}
	for (size_t i = 0; i < g->n_node; i++) {
		for (size_t k = 0; k < g->node[i]->n_input; k++)
			add_reader(x, g->node[i]->input[k], (int)i);
		struct map inner = onnx_node_captures(g->node[i], a);
		for (int k = 0; k < inner.n; k++)
			add_reader(x, inner.entry[k].name, (int)i);
	}
	add_info(x, g->output, g->n_output, false, true);
	add_info(x, g->value_info, g->n_value_info, false, false);
	return x;
}

struct onnx_value *onnx_value_find(const struct onnx_index *x, const char *name)
{
	return name && *name ? map_get(&x->value, name) : NULL;
}

/* ------------------------------------------------------------------ nodes named by the user */

struct wanted {
	const char *name; /* of a node, or of one of its outputs */
};

static int is_elsewhere(void *arg, ProtobufCMessage *message)
{
	const char *text = ((const struct wanted *)arg)->name;
	const Onnx__NodeProto *node = (const Onnx__NodeProto *)message;
	if (strcmp(onnx_text(node->name), text) == 0)
		return -1;
	for (size_t i = 0; i < node->n_output; i++)
		if (strcmp(node->output[i], text) == 0)
			return -1;
	return 0;
}

enum { SAME = 8 }; /* nodes of the same name listed in a message */

static int not_unique(const struct onnx_index *x, const char *text, const int *which, int n, struct err *e)
{
	char list[SAME * 16] = "";
	for (int i = 0; i < n && i < SAME; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "",
		         onnx_node_label(x, which[i]));
	err_set(e, ERR_USAGE, "%s: the name \"%s\" belongs to %d nodes.", x->model->path, text, n);
	return err_advise(e, "Name one of them: %s%s.", list, n > SAME ? " ..." : "");
}

/* The node whose name is `text` followed by a comma, cut when a list of names was split; -1: none. */
static int with_comma(const struct onnx_index *x, const char *text)
{
	size_t n = strlen(text);
	for (size_t i = 0; n && i < x->graph->n_node; i++)
		if (strncmp(x->label[i], text, n) == 0 && x->label[i][n] == ',')
			return (int)i;
	return -1;
}

/* The node with an output whose printed name, different from its name, is `text`; -1: none. */
static int printed_output(const struct onnx_index *x, const char *text)
{
	struct arena *scratch = arena_new();
	int found = -1;
	for (size_t i = 0; i < x->graph->n_node && found < 0; i++)
		for (size_t k = 0; k < x->graph->node[i]->n_output; k++)
			if (*text && strcmp(str_printable(scratch, x->graph->node[i]->output[k]), text) == 0)
				found = (int)i;
	arena_free(scratch);
	return found;
}

static bool is_operator(const struct onnx_index *x, const char *text)
{
	for (size_t i = 0; i < x->graph->n_node; i++)
		if (strcmp(onnx_text(x->graph->node[i]->op_type), text) == 0)
			return true;
	return false;
}

/* Describes a tensor that no node makes, as in "an input of the graph"; null if a node makes it. */
static const char *is_given(const Onnx__GraphProto *g, const char *tensor)
{
	for (size_t i = 0; *tensor && i < g->n_initializer; i++)
		if (strcmp(onnx_text(g->initializer[i]->name), tensor) == 0)
			return "an initializer";
	for (size_t i = 0; *tensor && i < g->n_input; i++)
		if (strcmp(onnx_text(g->input[i]->name), tensor) == 0)
			return "an input of the graph";
	return NULL;
}

static int not_found(const struct onnx_index *x, const char *text, struct err *e)
{
	struct arena *scratch = arena_new();
	struct map names = map_new(scratch);
	const char **list, *closest;
	int n = 0;
	err_set(e, ERR_USAGE, "%s: there is no node \"%s\", and no node that makes a tensor of this name.",
	        x->model->path, text);
	for (size_t i = 0; i < x->graph->n_node; i++) {
		map_put(&names, x->label[i], scratch);
		for (size_t k = 0; k < x->graph->node[i]->n_output; k++)
			map_put(&names, x->graph->node[i]->output[k], scratch);
	}
	list = NEWN(scratch, const char *, names.n + 1);
	for (int i = 0; i < names.n; i++)
		if (names.entry[i].name[0])
			list[n++] = names.entry[i].name;
	closest = *text ? str_closest(text, list) : NULL;
	bool digits = *text && strspn(text, "0123456789") == strlen(text);
	if (number_label(text) >= 0)
		err_advise(e, "The graph's nodes are #0 to #%zu.", x->graph->n_node ? x->graph->n_node - 1 : 0);
	else if (digits && strlen(text) < 10 && (size_t)atol(text) < x->graph->n_node)
		err_advise(e, "Did you mean \"#%s\", the index of a node?", text);
	else if (is_operator(x, text))
		err_advise(e, "%s is the type of nodes: -t %s selects all of them.", text, text);
	else if (*text && onnx_visit(&x->model->proto->base, &onnx__node_proto__descriptor, is_elsewhere,
	                             &(struct wanted){ text }) < 0)
		err_advise(e, "\"%s\" is inside of a subgraph or a function; name the node that holds or calls it.",
		           text);
	else if (with_comma(x, text) >= 0)
		err_advise(e, "If a node's name contains a comma, give its index: #%d.", with_comma(x, text));
	else if (strpbrk(text, "*?"))
		err_advise(e, "A name has no wildcards: -t TYPE and --from TENSOR --to TENSOR select several nodes.");
	else if (is_given(x->graph, text))
		err_advise(e, "\"%s\" is %s: name the node that reads it.", text, is_given(x->graph, text));
	else if (closest)
		err_advise(e, "Did you mean \"%s\"?", closest);
	else
		err_advise(e, "tpat list %s shows the nodes.", str_shell_path(scratch, x->model->path));
	arena_free(scratch);
	return e->code;
}

int onnx_node_find(int *out, const struct onnx_index *x, const char *text, struct err *e)
{
	size_t n = x->graph->n_node;
	int same[SAME], matches = 0;
	for (size_t i = 0; i < n && *text; i++) {
		if (strcmp(x->label[i], text) == 0) {
			*out = (int)i;
			return 0;
		}
		if (strcmp(onnx_text(x->graph->node[i]->name), text) == 0 && number_label(text) < 0 && matches++ < SAME)
			same[matches - 1] = (int)i;
	}
	if (matches == 1) { /* and its printed form differs */
		*out = same[0];
		return 0;
	}
	if (matches)
		return not_unique(x, text, same, matches, e);
	long number = number_label(text);
	if (number >= 0 && (size_t)number < n) {
		*out = (int)number;
		return 0;
	}
	const struct onnx_value *v = onnx_value_find(x, text);
	if (v && v->producer >= 0) {
		*out = v->producer;
		return 0;
	}
	if ((*out = printed_output(x, text)) >= 0)
		return 0;
	return not_found(x, text, e);
}
