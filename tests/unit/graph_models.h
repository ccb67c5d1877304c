/* Small models for the tests of src/graph/: built from words, inspected as text. */
#ifndef TPAT_TESTS_UNIT_GRAPH_MODELS_H
#define TPAT_TESTS_UNIT_GRAPH_MODELS_H

#include <stdlib.h>

#include "graph/graph.h"
#include "onnx_make.h"
#include "test.h"

static struct arena *arena; /* of the test program; main() makes it */

static inline struct onnx_model *model(int64_t ir_version, int64_t opset)
{
	return onnx_model_empty(ir_version, opset, "test");
}

/* A value of shape "N 3 H ?": numbers, names, and ? for an unnamed extent. */
static inline Onnx__ValueInfoProto *info(struct onnx_model *m, const char *name, enum type t, const char *shape)
{
	int64_t dim[8];
	const char *symbol[8] = { NULL };
	int rank = 0;

	for (const char *s = shape; *s; s += strspn(s, " ")) {
		size_t n = strcspn(s, " ");

		dim[rank] = -1;
		if (*s >= '0' && *s <= '9')
			dim[rank] = atoi(s);
		else if (*s != '?')
			symbol[rank] = arena_strndup(arena, s, n);
		rank++;
		s += n;
	}
	return onnx_value_info_new(m, name, t, rank, dim, symbol);
}

static inline void input(struct onnx_model *m, const char *name, enum type t, const char *shape)
{
	onnx_graph_add_input(m, m->proto->graph, info(m, name, t, shape));
}

static inline void output(struct onnx_model *m, const char *name, enum type t, const char *shape)
{
	onnx_graph_add_output(m, m->proto->graph, info(m, name, t, shape));
}

static inline void add_names(struct onnx_model *m, Onnx__NodeProto *n, const char *names,
                             void (*add)(struct onnx_model *, Onnx__NodeProto *, const char *))
{
	for (const char *s = names; *s; s += strspn(s, " ")) {
		size_t len = strcspn(s, " ");

		add(m, n, len == 1 && *s == '-' ? "" : arena_strndup(arena, s, len));
		s += len;
	}
}

/* Names separated by blanks; "-": omitted. The node is named after its first output. */
static inline Onnx__NodeProto *make(struct onnx_model *m, const char *type, const char *in, const char *out)
{
	Onnx__NodeProto *n = onnx_node_new(m, "", type, arena_strndup(arena, out, strcspn(out, " ")));

	add_names(m, n, in, onnx_node_input);
	add_names(m, n, out, onnx_node_output);
	return n;
}

static inline Onnx__NodeProto *node(struct onnx_model *m, const char *type, const char *in, const char *out)
{
	Onnx__NodeProto *n = make(m, type, in, out);

	onnx_graph_add_node(m, m->proto->graph, n);
	return n;
}

static inline void constant(struct onnx_model *m, const char *name, enum type t, int rank, const int64_t *dim,
                            const double *value)
{
	struct tensor x;
	struct err e = { 0 };

	CHECK(tensor_new(&x, t, rank, dim, arena, &e) == 0);
	for (int64_t i = 0; i < tensor_count(&x); i++) {
		if (type_is_float(t))
			tensor_set_float(&x, i, value[i]);
		else
			tensor_set_int(&x, i, (int64_t)value[i]);
	}
	onnx_graph_add_initializer(m, m->proto->graph, onnx_tensor_store(&x, name, m->arena));
}

/* A vector of i64. */
static inline void ints(struct onnx_model *m, const char *name, int64_t n, const double *value)
{
	constant(m, name, TYPE_I64, 1, &n, value);
}

static inline struct graph *graph_of(struct onnx_model *m, const struct graph_options *o)
{
	struct graph *g = NULL;
	struct err e = { 0 };

	CHECK(onnx_model_check(m, &e) == 0);
	CHECK(graph_new(&g, m, o, &e) == 0);
	if (!g)
		printf("  %s\n", e.text);
	return g;
}

static inline const char *type_of(const struct graph *g, const char *name)
{
	struct str s = str_new(arena);
	const struct graph_value *v = graph_value_find(g, name);

	if (!v)
		return NULL;
	graph_value_print(&s, v);
	return str_text(&s);
}

static inline const char *program_text(struct graph *g, const char *const *names, int n,
                                       const struct graph_program_options *o)
{
	int index[8];
	struct graph_region *r;
	struct ir_program *p;
	struct err e = { 0 };
	struct str s = str_new(arena);

	for (int i = 0; i < n; i++)
		if (onnx_node_find(&index[i], g->index, names[i], &e) < 0)
			return arena_strdup(arena, e.text);
	if (graph_region_new(&r, g, index, n, &e) < 0 || graph_region_program(&p, r, o, arena, &e) < 0)
		return arena_strdup(arena, e.text);
	ir_print_program(&s, p);
	return str_text(&s);
}

#endif
