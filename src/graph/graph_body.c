/* Lowers a local function's nodes in place of the call, and the nodes of a body graph (an attribute) when the operator
 * asks for them. */
#include <string.h>

#include "graph/graph_internal.h"

struct ir_buffer *graph_constant_buffer(struct ir_program *p, const char *name, const struct tensor *t)
{
	int64_t n = tensor_count(t);
	expr dim[IR_MAX_RANK], *content;
	struct ir_buffer *b;

	for (int i = 0; i < t->rank; i++)
		dim[i] = ir_index(p->pool, t->dim[i]);
	b = ir_buffer_new(p, name, t->type, t->rank, dim, IR_CONSTANT);
	b->data = t;
	if (type_is_int(t->type) && n && n <= GRAPH_CONTENT_MAX) {
		b->content = content = NEWN(p->arena, expr, n);
		for (int64_t k = 0; k < n; k++)
			content[k] = ir_index(p->pool, tensor_int(t, k));
	}
	return b;
}

/* Marks the nodes that make results, directly or not; `results`: their names, which grow. A node that nothing needs may
 * be one that tpat does not support. */
static void mark_needed(bool *needed, Onnx__NodeProto *const *node, size_t n, struct map *results, struct arena *a)
{
	for (size_t i = n; i-- > 0;) {
		struct map inner;

		for (size_t k = 0; k < node[i]->n_output; k++)
			needed[i] |= *node[i]->output[k] && map_get(results, node[i]->output[k]);
		if (!needed[i])
			continue;
		inner = onnx_node_captures(node[i], a);
		for (size_t k = 0; k < node[i]->n_input; k++)
			map_put(results, node[i]->input[k], results);
		for (int k = 0; k < inner.n; k++)
			map_put(results, inner.entry[k].name, results);
	}
}

static int lower_nodes(struct graph_scope *s, Onnx__NodeProto *const *node, size_t n, struct map *results,
                       const char *label)
{
	struct arena *a = s->program->arena;
	bool *needed = NEWN(a, bool, n + 1);

	mark_needed(needed, node, n, results, a);
	for (size_t i = 0; i < n; i++)
		if (needed[i])
			TRY(graph_lower(s, node[i],
			                *onnx_text(node[i]->name) ? arena_printf(a, "%s/%s", label, node[i]->name)
			                                          : arena_printf(a, "%s/#%zu", label, i)));
	return 0;
}

/* ---- Local functions --------------------------------------------------------------------------------------------- */

static void bind_attribute(struct map *out, const struct graph_scope *s, const Onnx__AttributeProto *a)
{
	struct graph_bound_attr *bound = NEW(out->arena, struct graph_bound_attr);

	*bound = graph_attr_resolve(s, a);
	if (bound->proto)
		map_put(out, onnx_text(a->name), bound);
}

/* Binds the function's attributes for this call: its own, else the defaults. */
static void bind_attributes(struct map *out, const struct graph_scope *s, const Onnx__NodeProto *call,
                            const Onnx__FunctionProto *f)
{
	for (size_t i = 0; i < f->n_attribute_proto; i++)
		bind_attribute(out, s, f->attribute_proto[i]);
	for (size_t i = 0; i < call->n_attribute; i++)
		bind_attribute(out, s, call->attribute[i]);
}

static int too_deep(const struct graph_scope *s, const char *label)
{
	return err_set(s->err, ERR_MODEL, "node %s: functions and graphs are nested more than %d deep.", label,
	               GRAPH_MAX_DEPTH);
}

int graph_lower_call(struct graph_scope *s, const Onnx__NodeProto *call, const Onnx__FunctionProto *f,
                     const char *label)
{
	struct arena *a = s->program->arena;
	struct map attributes = map_new(a), results = map_new(a);
	struct graph_scope inner = { .g = s->g,
		                     .program = s->program,
		                     .err = s->err,
		                     .buffers = map_new(a),
		                     .function = f,
		                     .attributes = &attributes,
		                     .depth = s->depth + 1,
		                     .path = s->path,
		                     .inputs = s->inputs,
		                     .branch = s->branch };
	struct ir_buffer *b;

	if (strcmp(onnx_domain(call->domain), GRAPH_PLUGIN_DOMAIN) != 0)
		inner.path = arena_printf(a, "%s/", graph_lasting_name(s, call));
	if (inner.depth > GRAPH_MAX_DEPTH)
		return too_deep(s, label);
	bind_attributes(&attributes, s, call, f);
	for (size_t i = 0; i < call->n_input && i < f->n_input; i++) {
		TRY(graph_find_buffer(&b, s, call->input[i], label));
		if (b)
			map_put(&inner.buffers, f->input[i], b);
	}
	for (size_t i = 0; i < f->n_output; i++)
		map_put(&results, f->output[i], f);
	TRY(lower_nodes(&inner, f->node, f->n_node, &results, label));
	s->random |= inner.random;
	for (size_t i = 0; i < call->n_output; i++) {
		if (!*call->output[i])
			continue;
		b = i < f->n_output ? map_get(&inner.buffers, f->output[i]) : NULL;
		if (!b)
			return err_set(s->err, ERR_MODEL,
			               "node %s (%s): nothing in the function makes its output number %zu.", label,
			               onnx_text(f->name), i + 1);
		map_put(&s->buffers, call->output[i], b);
	}
	return 0;
}

/* ---- Body graphs ------------------------------------------------------------------------------------------------- */

static void describe_body(struct lower_body *out, struct lower *l, const struct attr_value *v)
{
	const Onnx__GraphProto *g = ((const struct graph_body *)v->graph)->graph;
	const char **input = NEWN(l->program->arena, const char *, g->n_input + 1);
	const char **output = NEWN(l->program->arena, const char *, g->n_output + 1);

	for (size_t i = 0; i < g->n_input; i++)
		input[i] = onnx_text(g->input[i]->name);
	for (size_t i = 0; i < g->n_output; i++)
		output[i] = onnx_text(g->output[i]->name);
	*out = (struct lower_body){ (int)g->n_input, (int)g->n_output, input, output };
}

static int add_initializer(struct graph_scope *s, const Onnx__TensorProto *proto, const char *label)
{
	const char *name = onnx_text(proto->name);
	struct arena *a = s->program->arena;
	struct tensor *t = NEW(a, struct tensor);
	enum type type = onnx_elem_type(proto->data_type);

	if (map_get(&s->buffers, name) || type == TYPE_NONE || type == TYPE_STRING || proto->n_dims > IR_MAX_RANK)
		return 0; /* a given parameter; a value that cannot be a buffer is refused when it is read */
	if (onnx_tensor_load(t, proto, s->g->model, a, s->err) < 0)
		return err_about(s->err, ERR_NODE, label), err_where(s->err, "node %s: ", label);
	map_put(&s->buffers, name, graph_constant_buffer(s->program, name, t));
	return 0;
}

/* True for a loop's state, which the body recomputes. */
static bool is_state(const struct ir_program *p, const struct ir_buffer *b)
{
	const struct ir_stage *s = b->role == IR_TEMP ? ir_stage_of(p, b) : NULL;

	if (s && s->loop)
		vec_each (c, &s->loop->carries)
			if (c->state == b)
				return true;
	return false;
}

/* Keeps what this turn has in common with an earlier turn of the same body. */
static void join_formal(struct graph_formal *f, const struct graph_formal *before)
{
	if (before->type == TYPE_NONE)
		return;
	f->turns |= before->turns;
	if (before->rank != f->rank)
		f->rank = -1;
	for (int k = 0; k < f->rank; k++)
		if (before->dim[k] != f->dim[k])
			f->dim[k] = NULL;
}

/* Records the values that the node passes to its body's inputs. */
static struct graph_formals *note_inputs(const struct graph_scope *s, const struct lower *l, const Onnx__GraphProto *g,
                                         const struct value *in)
{
	const struct graph_formals *before = s->formals ? map_get_u64(s->formals, (uintptr_t)g) : NULL;
	struct graph_formals *f = NEW(s->program->arena, struct graph_formals);

	f->in = NEWN(s->program->arena, struct graph_formal, g->n_input + 1);
	f->out = NEWN(s->program->arena, const struct ir_buffer *, g->n_output + 1);
	for (size_t i = 0; i < g->n_input; i++) {
		const struct ir_buffer *b = in[i].buf;

		if (!in[i].given)
			continue;
		f->in[i] = (struct graph_formal){ .type = b->type, .rank = b->rank, .turns = is_state(l->program, b) };
		f->in[i].state = f->in[i].turns ? b : NULL;
		memcpy(f->in[i].dim, b->dim, sizeof b->dim[0] * (size_t)b->rank);
		if (before)
			join_formal(&f->in[i], &before->in[i]);
	}
	if (s->formals)
		map_put_u64(s->formals, (uintptr_t)g, f);
	return f;
}

static int lower_body_graph(struct lower *l, const struct attr_value *v, const struct value *in, struct value *out)
{
	const struct graph_body *body = v->graph;
	const Onnx__GraphProto *g = body->graph;
	const struct graph_scope *around = body->scope;
	const char *label = arena_printf(l->program->arena, "%s/%s", l->label, v->name);
	struct graph_scope s = *around;
	struct graph_formals *formals;
	struct map results = map_new(l->program->arena);
	struct ir_buffer *b;

	s.program = l->program;
	s.buffers = map_new(l->program->arena);
	s.body = g;
	s.outer = around;
	s.depth = around->depth + 1;
	s.path = arena_printf(l->program->arena, "%s/%s/", l->name, v->name);
	s.random = false;
	s.branch = l->inner ? l->inner : l->branch;
	s.types = NULL;
	s.formals = NULL;
	formals = note_inputs(around, l, g, in);
	if (s.depth > GRAPH_MAX_DEPTH)
		return too_deep(&s, label);
	for (size_t i = 0; i < g->n_input; i++)
		if (in[i].given)
			map_put(&s.buffers, onnx_text(g->input[i]->name), in[i].buf);
	for (size_t i = 0; i < g->n_initializer; i++)
		TRY(add_initializer(&s, g->initializer[i], label));
	for (size_t i = 0; i < g->n_output; i++)
		map_put(&results, onnx_text(g->output[i]->name), g);
	TRY(lower_nodes(&s, g->node, g->n_node, &results, label));
	l->random |= s.random;
	for (size_t i = 0; i < g->n_output; i++) {
		TRY(graph_find_buffer(&b, &s, onnx_text(g->output[i]->name), label));
		if (!b)
			return err_set(s.err, ERR_MODEL, "node %s: nothing in the graph defines its output \"%s\".",
			               label, onnx_text(g->output[i]->name));
		out[i] = (struct value){ .buf = b, .given = true };
		formals->out[i] = b;
	}
	return 0;
}

const struct lower_bodies graph_bodies = { describe_body, lower_body_graph, graph_ask };
