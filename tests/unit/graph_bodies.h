/* Bodies of nodes for the tests of src/graph/: branches of If, and why a node is not supported. See graph_models.h. */
#ifndef TPAT_TESTS_UNIT_GRAPH_BODIES_H
#define TPAT_TESTS_UNIT_GRAPH_BODIES_H

#include "graph_models.h"

static inline Onnx__GraphProto *body(struct onnx_model *m, const char *name, const char *outputs, enum type t)
{
	Onnx__GraphProto *b = onnx_graph_new(m, name);

	for (const char *s = outputs; *s; s += strspn(s, " ")) {
		size_t n = strcspn(s, " ");

		onnx_graph_add_output(m, b, onnx_value_info_new(m, arena_strndup(arena, s, n), t, -1, NULL, NULL));
		s += n;
	}
	return b;
}

static inline Onnx__NodeProto *add(struct onnx_model *m, Onnx__GraphProto *b, const char *type, const char *in,
                                   const char *out)
{
	Onnx__NodeProto *n = make(m, type, in, out);

	onnx_graph_add_node(m, b, n);
	return n;
}

static inline Onnx__NodeProto *branches(struct onnx_model *m, Onnx__NodeProto *n, Onnx__GraphProto *yes,
                                        Onnx__GraphProto *no)
{
	onnx_node_set_graph(m, n, "then_branch", yes);
	onnx_node_set_graph(m, n, "else_branch", no);
	return n;
}

static inline const char *why(const struct graph *g, const char *label)
{
	struct err e = { 0 };
	int n;

	return onnx_node_find(&n, g->index, label, &e) < 0 ? "no such node"
	       : g->nodes.at[n].known                      ? ""
	                                                   : g->nodes.at[n].why;
}

static inline const char *names(const struct graph_value *const *v, int n)
{
	struct str s = str_new(arena);

	for (int i = 0; i < n; i++)
		str_printf(&s, "%s%s", i ? " " : "", v[i]->name);
	return str_text(&s);
}
#define NAMES(list) names((const struct graph_value *const *)(list).at, (list).n)

#endif
