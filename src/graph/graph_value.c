/* Values of a graph: lookup by name, declared shapes, loading, printing; and the names of symbols. */

#include "base/ascii.h"
#include "graph/graph_internal.h"

struct graph_value *graph_value_new(struct graph *g, const char *name)
{
	struct graph_value *v = map_get(&g->by_name, name);

	if (v)
		return v;
	v = NEW(g->arena, struct graph_value);
	v->name = arena_strdup(g->arena, name);
	v->rank = v->producer = v->output = -1;
	map_put(&g->by_name, name, v);
	vec_push(g->arena, &g->values, v);
	return v;
}

bool graph_is_small(const struct graph_value *v)
{
	int64_t n = v->is_constant ? graph_count(v->rank, v->dim) : -1;

	return n >= 0 && n <= GRAPH_SMALL;
}

int graph_constant(const struct tensor **out, struct graph *g, struct graph_value *v, struct err *e)
{
	struct tensor *t;

	ck(v->is_constant);
	if (v->outside && !v->constant)
		TRY(graph_constant(&v->constant, g->outer, v->outside, e));
	if (!v->constant && !v->initializer && v->producer >= 0)
		TRY(graph_fold_run(g, v->producer, e));
	if (!v->constant) {
		t = NEW(g->arena, struct tensor);
		TRY(onnx_tensor_load(t, v->initializer, g->model, g->arena, e));
		v->constant = t;
	}
	*out = v->constant;
	return 0;
}

void graph_value_print(struct str *out, const struct graph_value *v)
{
	if (v->type == TYPE_NONE) {
		str_add(out, "?");
		return;
	}
	str_printf(out, "%s[%s", type_name(v->type), v->rank < 0 ? "?" : "");
	for (int i = 0; i < v->rank; i++) {
		str_add(out, i ? "," : "");
		ir_print_expr(out, v->dim[i], 0);
	}
	str_add(out, "]");
}

/* ---- Symbols ----------------------------------------------------------------------------------------------------- */

static expr symbol_new(struct graph *g, const char *name, const char *param)
{
	char *copy = arena_strdup(g->arena, name);

	map_put(&g->root->used, name, copy);
	if (param)
		map_put(&g->root->origin, name, arena_strdup(g->arena, param));
	vec_push(g->arena, &g->root->symbols, copy);
	return ir_symbol(g->pool, name);
}

expr graph_symbol(struct graph *g, const char *param)
{
	expr e = map_get(&g->root->meaning, param);
	char *name;

	if (e)
		return e;
	name = str_identifier(g->arena, param);
	while (ir_name_reserved(name) || map_get(&g->root->used, name))
		name = arena_printf(g->arena, "%s_", name);
	e = symbol_new(g, name, param);
	map_put(&g->root->meaning, param, e);
	return e;
}

expr graph_symbol_fresh(struct graph *g)
{
	char name[32];

	do
		snprintf(name, sizeof name, "d%d", g->root->fresh++);
	while (map_get(&g->root->used, name));
	return symbol_new(g, name, NULL);
}

const char *graph_dim_name(const Onnx__TensorShapeProto__Dimension *d)
{
	for (const char *c = onnx_text(d->dim_param); *c; c++)
		if (ascii_is_alnum(*c))
			return d->dim_param;
	return NULL;
}

bool graph_value_declare(struct graph *g, struct graph_value *v, const Onnx__ValueInfoProto *info)
{
	const Onnx__TensorShapeProto *shape;
	enum type type;

	if (!onnx_value_type(info, &type, &shape))
		return false;
	v->type = type;
	v->rank = -1;
	if (!shape || shape->n_dim > IR_MAX_RANK)
		return true;
	v->rank = (int)shape->n_dim;
	for (int i = 0; i < v->rank; i++) {
		const Onnx__TensorShapeProto__Dimension *d = shape->dim[i];

		if (graph_dim_name(d))
			v->dim[i] = graph_symbol(g, d->dim_param);
		else if (d->has_dim_value && d->dim_value >= 0)
			v->dim[i] = ir_index(g->pool, d->dim_value);
		else
			v->dim[i] = graph_symbol_fresh(g);
	}
	return true;
}
