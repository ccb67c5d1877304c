/* A graph from a model: options, inputs, initializers, then all nodes in order. */
#include <string.h>

#include "graph/graph_internal.h"

static Onnx__ValueInfoProto *input_find(const struct graph *g, const char *name)
{
	const Onnx__GraphProto *p = g->index->graph;

	for (size_t i = 0; i < p->n_input; i++)
		if (strcmp(onnx_text(p->input[i]->name), name) == 0)
			return p->input[i];
	return NULL;
}

static int no_input(const struct graph *g, const char *option, const char *name, struct err *e)
{
	const Onnx__GraphProto *p = g->index->graph;
	const char **names = NEWN(g->arena, const char *, p->n_input + 1), *closest;
	struct str list = str_new(g->arena);

	for (size_t i = 0; i < p->n_input; i++) {
		names[i] = onnx_text(p->input[i]->name);
		str_printf(&list, "%s%s", i ? ", " : "", names[i]);
	}
	closest = str_closest(name, names);
	err_set(e, ERR_USAGE, "%s: %s \"%s\": the model has no input of this name.", g->model->path, option, name);
	return closest ? err_advise(e, "Did you mean \"%s\"?", closest)
	               : err_advise(e, "The model's inputs are %s.", str_text(&list));
}

/* ---- Shapes that the caller gives -------------------------------------------------------------------------------- */

static expr dim_expr(struct graph *g, const struct graph_dim *d)
{
	return d->symbol ? graph_symbol(g, d->symbol) : ir_index(g->pool, d->value);
}

/* Replaces a dim_param of the model by the caller's extent, everywhere. */
static int set_meaning(struct graph *g, const struct graph_shape *s, int axis, const char *param, struct err *e)
{
	expr old = map_get(&g->root->meaning, param), now;

	if (s->dim[axis].symbol && strcmp(s->dim[axis].symbol, param) == 0)
		return 0;
	now = dim_expr(g, &s->dim[axis]);
	if (old && old != now)
		return err_set(e, ERR_USAGE,
		               "%s: axis %d of \"%s\": the shapes given contradict each other for the extent \"%s\".",
		               g->model->path, axis, s->name, param);
	map_put(&g->root->meaning, param, now);
	return 0;
}

static int wrong_rank(const struct graph *g, const struct graph_shape *s, const Onnx__TensorShapeProto *shape,
                      struct err *e)
{
	struct str own = str_new(g->arena);
	for (size_t i = 0; i < shape->n_dim; i++) {
		const Onnx__TensorShapeProto__Dimension *d = shape->dim[i];
		bool open = graph_dim_name(d) || d->dim_value <= 0;
		str_printf(&own, "%s%s", i ? "x" : "",
		           !open ? arena_printf(g->arena, "%lld", (long long)d->dim_value) : "N");
	}
	err_set(e, ERR_USAGE, "%s: the shape given for \"%s\" is of rank %d; the input is of rank %zu.", g->model->path,
	        s->name, s->rank, shape->n_dim);
	return shape->n_dim ? err_advise(e, "Write it as %s:%s%s.", s->name, str_text(&own),
	                                 strchr(str_text(&own), 'N') ? ", with a number or a name for each N" : "")
	                    : err_advise(e, "The input is a scalar: leave its shape out.");
}

static int wrong_extent(const struct graph *g, const struct graph_shape *s, int axis, int64_t declared, struct err *e)
{
	err_set(e, ERR_USAGE, "%s: axis %d of \"%s\" has the extent %lld in the model, not %s.", g->model->path, axis,
	        s->name, (long long)declared,
	        s->dim[axis].symbol ? s->dim[axis].symbol
	                            : arena_printf(g->arena, "%lld", (long long)s->dim[axis].value));
	return err_advise(e, "Only dynamic dimensions can be given other extents.");
}

static int take_shape(struct graph *g, const struct graph_shape *s, struct err *e)
{
	const Onnx__ValueInfoProto *info = input_find(g, s->name);
	const Onnx__TensorShapeProto *shape = NULL;
	enum type type;

	if (!info)
		return no_input(g, "shape of", s->name, e);
	if (!onnx_value_type(info, &type, &shape))
		return err_set(e, ERR_USAGE, "%s: input \"%s\" is not a tensor, so it has no shape.", g->model->path,
		               s->name);
	if (shape && (int)shape->n_dim != s->rank)
		return wrong_rank(g, s, shape, e);
	for (int i = 0; i < s->rank; i++) {
		const Onnx__TensorShapeProto__Dimension *d = shape ? shape->dim[i] : NULL;

		if (!s->dim[i].symbol && s->dim[i].value < 0)
			return err_set(e, ERR_USAGE, "%s: axis %d of \"%s\": an extent cannot be %lld.", g->model->path,
			               i, s->name, (long long)s->dim[i].value);
		if (d && graph_dim_name(d))
			TRY(set_meaning(g, s, i, d->dim_param, e));
		else if (d && d->has_dim_value && d->dim_value >= 0 &&
		         (s->dim[i].symbol || s->dim[i].value != d->dim_value))
			return wrong_extent(g, s, i, d->dim_value, e);
	}
	return 0;
}

static void apply_shape(struct graph *g, const struct graph_shape *s)
{
	struct graph_value *v = graph_value_find(g, s->name);

	if (!v)
		return;
	v->rank = s->rank;
	for (int i = 0; i < s->rank; i++)
		v->dim[i] = dim_expr(g, &s->dim[i]);
}

/* ---- Inputs and initializers ------------------------------------------------------------------------------------- */

static void set_constant(struct graph *g, struct graph_value *v, enum type t, int rank, const int64_t *dim)
{
	v->is_constant = true;
	v->type = t;
	v->rank = rank;
	for (int i = 0; i < rank; i++)
		v->dim[i] = ir_index(g->pool, dim[i]);
}

static void take_initializer(struct graph *g, Onnx__TensorProto *t)
{
	struct graph_value *v = graph_value_new(g, onnx_text(t->name));

	if (v->initializer || v->constant || v->is_input)
		return;
	if (t->n_dims > IR_MAX_RANK) {
		v->type = onnx_elem_type(t->data_type);
		return;
	}
	v->initializer = t;
	set_constant(g, v, onnx_elem_type(t->data_type), (int)t->n_dims, t->dims);
	if (v->type == TYPE_STRING)
		v->is_constant = false;
}

static int take_bound(struct graph *g, const struct graph_bound *b, struct err *e)
{
	const Onnx__ValueInfoProto *info = input_find(g, b->name);
	const Onnx__TensorShapeProto *shape;
	enum type type;
	struct graph_value *v;

	if (!info)
		return no_input(g, "constant", b->name, e);
	if (onnx_value_type(info, &type, &shape) && type && type != b->tensor->type)
		return err_set(e, ERR_USAGE, "%s: the constant for \"%s\" is %s; the input is %s.", g->model->path,
		               b->name, type_name(b->tensor->type), type_name(type));
	v = graph_value_new(g, b->name);
	v->constant = b->tensor;
	set_constant(g, v, b->tensor->type, b->tensor->rank, b->tensor->dim);
	return 0;
}

/* True for an input that only declares an initializer. From IR 4 on callers may give another value, but not to
 * TensorRT, whose parser takes every initializer as a constant; exporters that list all weights as inputs are many. */
static bool is_placeholder(const struct graph *g, const char *name)
{
	const struct onnx_value *v = onnx_value_find(g->index, name);

	return v && (v->initializer || v->sparse);
}

static int take_inputs(struct graph *g, const struct graph_options *o, struct err *e)
{
	const Onnx__GraphProto *p = g->index->graph;

	for (int i = 0; i < o->shapes; i++)
		TRY(take_shape(g, &o->shape[i], e));
	for (int i = 0; i < o->bounds; i++)
		TRY(take_bound(g, &o->bound[i], e));
	for (size_t i = 0; i < p->n_input; i++) {
		const char *name = onnx_text(p->input[i]->name);
		struct graph_value *v;

		if (!*name || is_placeholder(g, name) || graph_value_find(g, name))
			continue;
		v = graph_value_new(g, name);
		v->is_input = true;
		graph_value_declare(g, v, p->input[i]);
		vec_push(g->arena, &g->inputs, v);
	}
	for (int i = 0; i < o->shapes; i++)
		apply_shape(g, &o->shape[i]);
	graph_take_initializers(g);
	return 0;
}

void graph_take_initializers(struct graph *g)
{
	const Onnx__GraphProto *p = g->index->graph;

	for (size_t i = 0; i < p->n_initializer; i++)
		if (*onnx_text(p->initializer[i]->name))
			take_initializer(g, p->initializer[i]);
	for (size_t i = 0; i < p->n_sparse_initializer; i++)
		if (p->sparse_initializer[i]->values)
			graph_value_new(g, onnx_text(p->sparse_initializer[i]->values->name));
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

static void add_nodes(struct graph *g)
{
	const Onnx__GraphProto *p = g->index->graph;
	struct graph_scope scope = { .g = g };

	for (size_t i = 0; i < p->n_node; i++) {
		Onnx__NodeProto *proto = p->node[i];
		const char *domain = onnx_domain(proto->domain), *type = onnx_text(proto->op_type);
		struct graph_node n = { .index = (int)i, .proto = proto, .label = graph_node_label(g, (int)i) };

		n.function = onnx_function_find(g->model, domain, type, proto->overload);
		n.op = n.function ? NULL : op_find(domain, type);
		n.opset = graph_scope_opset(&scope, domain);
		vec_push(g->arena, &g->nodes, n);
		for (size_t k = 0; k < proto->n_output; k++) {
			struct graph_value *v = *proto->output[k] ? graph_value_new(g, proto->output[k]) : NULL;

			if (v && v->producer < 0 && !v->is_input && !v->is_constant) {
				v->producer = (int)i;
				v->output = (int)k;
			}
		}
	}
}

static void add_consumers(struct graph *g)
{
	vec_each (pv, &g->values) {
		const struct onnx_value *x = onnx_value_find(g->index, (*pv)->name);

		for (int i = 0; x && i < x->readers.n; i++)
			vec_push(g->arena, &(*pv)->consumers, x->readers.at[i]);
	}
}

/* `seen`: the values that the node is known to read. */
static void add_read(struct graph *g, struct graph_node *n, struct map *seen, const char *name)
{
	struct graph_value *v = graph_value_find(g, name);

	if (!v || map_get_u64(seen, (uintptr_t)v))
		return;
	map_put_u64(seen, (uintptr_t)v, v);
	vec_push(g->arena, &n->reads, v);
}

static void add_reads(struct graph *g)
{
	vec_each (n, &g->nodes) {
		struct map captured = onnx_node_captures(n->proto, g->arena), seen = map_new(g->arena);

		for (size_t i = 0; i < n->proto->n_input; i++)
			add_read(g, n, &seen, n->proto->input[i]);
		for (int i = 0; i < captured.n; i++) {
			struct graph_value *v = graph_value_find(g, captured.entry[i].name);

			add_read(g, n, &seen, captured.entry[i].name);
			if (v)
				v->captured = true;
		}
	}
}

void graph_take_nodes(struct graph *g)
{
	const Onnx__GraphProto *p = g->index->graph;

	add_nodes(g);
	add_consumers(g);
	add_reads(g);
	vec_each (n, &g->nodes)
		graph_infer_node(g, n);
	for (size_t i = 0; i < p->n_output; i++) {
		struct graph_value *v = graph_value_find(g, onnx_text(p->output[i]->name));

		if (v && !v->is_output) {
			v->is_output = true;
			vec_push(g->arena, &g->outputs, v);
		}
	}
}

/* Infers the whole model once; `fixed`: numbers of symbols that an earlier inference has found. */
static int infer_all(struct graph **out, struct onnx_model *m, const struct graph_options *o, const struct map *fixed,
                     struct err *e)
{
	struct arena *a = arena_new();
	struct graph *g = NEW(a, struct graph);
	int rc;

	g->arena = a;
	g->model = m;
	g->pool = ir_pool_new(a);
	g->root = g;
	g->engine = o->engine ? o->engine : engine_find(NULL);
	g->engine_ranks = o->engine_ranks;
	struct engine_version *version = NEW(a, struct engine_version);
	g->version = version;
	g->name = g->numbers = g->path = "";
	g->by_name = map_new(a);
	g->meaning = map_new(a);
	g->origin = map_new(a);
	g->used = map_new(a);
	g->asked = map_new(a);
	g->node_names = map_new(a);
	g->fixed = map_new(a);
	g->index = onnx_index_new(m, NULL, a);
	graph_count_names(&g->node_names, m->proto->graph);
	vec_push(a, &g->graphs, g);
	rc = g->engine->version(version, o->version, e);
	if (rc == 0)
		rc = take_inputs(g, o, e);
	if (rc == 0) {
		graph_fix_symbols(g, fixed);
		graph_take_nodes(g);
	}
	vec_each (some, &g->graphs)
		graph_note_used(*some);
	*out = rc < 0 ? NULL : g;
	if (rc < 0)
		graph_free(g);
	return rc;
}

enum { MOST_AGAIN = 8 };

/* Copies the numbers that are new; returns how many. */
static int keep_fixed(struct map *fixed, const struct graph *g, struct arena *a)
{
	int before = fixed->n;
	for (int i = 0; i < g->fixed.n; i++) {
		int64_t *number = NEW(a, int64_t);
		if (ir_const_int(g->fixed.entry[i].value, number) && !map_get(fixed, g->fixed.entry[i].name))
			map_put(fixed, arena_strdup(a, g->fixed.entry[i].name), number);
	}
	return fixed->n - before;
}

/* A later node may fix an extent on which an earlier one depends: inference then begins again with that number. */
int graph_new(struct graph **out, struct onnx_model *m, const struct graph_options *o, struct err *e)
{
	static const struct graph_options none;
	struct arena *scratch = arena_new();
	struct map fixed = map_new(scratch);
	int rc = infer_all(out, m, o ? o : &none, &fixed, e);
	for (int i = 0; i < MOST_AGAIN && rc == 0 && (*out)->fixed_late && keep_fixed(&fixed, *out, scratch); i++) {
		graph_free(*out);
		rc = infer_all(out, m, o ? o : &none, &fixed, e);
	}
	arena_free(scratch);
	return rc;
}

void graph_free(struct graph *g)
{
	if (g)
		arena_free(g->arena);
}
