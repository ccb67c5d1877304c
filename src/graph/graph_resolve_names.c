/* Maps each name to a tensor or a sequence while sequences are resolved, and writes the new nodes. See
 * graph_sequence.h. */
#include <string.h>

#include "graph/graph_sequence.h"

/* ---- Names ------------------------------------------------------------------------------------------------------- */

struct resolve_name resolve_find(const struct resolve_scope *s, const char *name)
{
	for (; s && *name; s = s->outer) {
		const struct resolve_name *known = map_get(&s->names, name);

		if (known)
			return *known;
	}
	return (struct resolve_name){ .name = name };
}

struct graph_value *resolve_value(const struct resolve_scope *s, struct graph **in, const char *name)
{
	for (; s && *name; s = s->outer) {
		struct graph_value *v = s->g ? graph_value_find(s->g, name) : NULL;

		if (v) {
			*in = s->g;
			return v;
		}
	}
	return NULL;
}

bool resolve_int(const struct resolve_scope *s, const char *name, int64_t *x)
{
	const char *now = resolve_find(s, name).name;
	const struct tensor *t;
	struct err ignored = { 0 };
	struct graph *g = NULL;
	struct graph_value *v = resolve_value(s, &g, now);

	if (!v || !v->is_constant || graph_constant(&t, g, v, &ignored) < 0 || tensor_count(t) != 1 ||
	    type_is_float(t->type))
		return false;
	*x = tensor_int(t, 0);
	return true;
}

void resolve_define(struct resolve_scope *s, const char *name, struct resolve_name what)
{
	struct resolve_name *known = NEW(s->r->arena, struct resolve_name);

	*known = what;
	if (*name)
		map_put(&s->names, name, known);
}

static bool is_output(const struct resolve_scope *s, const char *name)
{
	for (size_t i = 0; i < s->proto->n_output; i++)
		if (strcmp(onnx_text(s->proto->output[i]->name), name) == 0)
			return true;
	return false;
}

void resolve_give(struct resolve_scope *s, const char *name, struct resolve_name what)
{
	s->r->changes++;
	if (!*name)
		return;
	if (is_output(s, name)) {
		struct plain p = resolve_begin(s, name);

		onnx_node_output(s->r->model, plain_node(&p, "Identity", what.name, NULL, NULL), name);
		resolve_end(s, &p);
		what.name = name;
	}
	resolve_define(s, name, what);
}

void resolve_give_last(struct resolve_scope *s, const char *name, const char *tensor)
{
	Onnx__NodeProto *last = s->nodes.n ? s->nodes.at[s->nodes.n - 1] : NULL;

	if (is_output(s, name) && last && strcmp(last->op_type, "Concat") == 0 && !map_get(&s->given, tensor) &&
	    strcmp(last->output[0], tensor) == 0) {
		last->output[0] = arena_strdup(s->r->arena, name);
		s->r->changes++;
		return resolve_define(s, name, (struct resolve_name){ .name = name });
	}
	resolve_give_tensor(s, name, tensor);
}

void resolve_give_tensor(struct resolve_scope *s, const char *name, const char *tensor)
{
	resolve_give(s, name, (struct resolve_name){ .name = tensor });
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

struct plain resolve_begin(const struct resolve_scope *s, const char *stem)
{
	return (struct plain){ .g = s->r->root,
		               .stem = onnx_name_unique(s->r->model, arena_printf(s->r->arena, "%s_part", stem)),
		               .opset = s->r->opset,
		               .known = map_new(s->r->arena),
		               .renamed = map_new(s->r->arena) };
}

void resolve_end(struct resolve_scope *s, struct plain *p)
{
	vec_each (n, &p->nodes)
		vec_push(s->r->arena, &s->nodes, *n);
	vec_each (t, &p->constants)
		onnx_graph_add_initializer(s->r->model, s->proto, *t);
}

void resolve_keep(struct resolve_scope *s, Onnx__NodeProto *n)
{
	for (size_t i = 0; i < n->n_input; i++)
		n->input[i] = arena_strdup(s->r->arena, resolve_find(s, n->input[i]).name);
	for (size_t i = 0; i < n->n_output; i++)
		if (*n->output[i] && !map_get(&s->names, n->output[i]))
			resolve_define(s, n->output[i], (struct resolve_name){ .name = n->output[i] });
	vec_push(s->r->arena, &s->nodes, n);
}
