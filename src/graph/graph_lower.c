/* Lowers one node of the model into a program: an operator by lower_node(), a local function by graph_body.c. Also
 * follows the contents of small buffers. */
#include <string.h>

#include "graph/graph_internal.h"

struct graph_scope graph_scope_new(struct graph *g, struct ir_program *p, struct err *e)
{
	return (struct graph_scope){ .g = g, .program = p, .err = e, .buffers = map_new(p->arena), .path = g->path };
}

int graph_scope_opset(const struct graph_scope *s, const char *domain)
{
	const Onnx__FunctionProto *f = s->function;

	for (size_t i = 0; f && i < f->n_opset_import; i++)
		if (strcmp(onnx_domain(f->opset_import[i]->domain), onnx_domain(domain)) == 0)
			return (int)f->opset_import[i]->version;
	return (int)onnx_opset(s->g->model, domain);
}

/* ---- Contents ---------------------------------------------------------------------------------------------------- */

/* Makes a tensor of the elements `content`, of any type; false if some are not numbers. */
static bool content_tensor(struct tensor *out, enum type t, int rank, const expr *dim, const expr *content,
                           struct arena *a)
{
	int64_t extent[IR_MAX_RANK], n = graph_count(rank, dim);
	struct err ignored = { 0 };

	for (int64_t k = 0; k < n; k++)
		if (content[k]->op != IR_CONST_INT && content[k]->op != IR_CONST_FLOAT)
			return false;
	for (int i = 0; i < rank; i++)
		ir_const_int(dim[i], &extent[i]);
	if (n < 0 || tensor_new(out, t, rank, extent, a, &ignored) < 0)
		return false;
	for (int64_t k = 0; k < n; k++) {
		if (content[k]->op == IR_CONST_INT)
			tensor_set_int(out, k, content[k]->i);
		else
			tensor_set_float(out, k, content[k]->f);
	}
	return true;
}

struct reads {
	bool known, unknown; /* it reads buffers with contents, and others */
};

static void check_load(void *user, expr e)
{
	struct reads *r = user;

	if (e->op == IR_LOAD) {
		bool known = e->buf->content || e->buf->some || e->buf->data;

		r->known |= known;
		r->unknown |= !known;
	}
}

/* True for a list of integers, such as a shape, that is followed even if only some of its elements are known. */
static bool is_list(const struct ir_buffer *b)
{
	return b->rank == 1 && (b->type == TYPE_I64 || b->type == TYPE_I32);
}

/* True if buffers that the stage reads have contents: all of them, or for a list at least one. If not, no element is
 * followed. */
static bool reads_known(const struct ir_stage *s)
{
	struct reads r = { false, false };

	ir_walk(s->value, check_load, &r);
	for (int k = 0; s->kind == IR_SCATTER && k < s->out->rank; k++)
		ir_walk(s->at[k], check_load, &r);
	return !r.unknown || (r.known && is_list(s->out));
}

/* Returns `e` in the form in which elements of type `t` are kept; null if `e` reads an unknown value. */
static expr content_of(expr e, enum type t)
{
	double x;

	if (!e || (e->varies && type_is_float(t)))
		return NULL;
	if (type_is_float(t) && e->op != IR_CONST_FLOAT && ir_known_float(e, &x))
		return ir_float(e->pool, t, x);
	if (type_is_float(t))
		return e->op == IR_CONST_FLOAT || t == TYPE_F32 || t == TYPE_F64 ? e : NULL;
	e = ir_integer_of(e, NULL, NULL);
	if (e && e->size > IR_MAX_CONTENT)
		return NULL;
	/* Only for types of shapes: they are assumed not to wrap. */
	return e && (e->op == IR_CONST_INT || t == TYPE_I64 || t == TYPE_I32 || t == TYPE_BOOL) ? e : NULL;
}

/* Sets the buffer's content, or, of a list of integers, what is known of it. */
static void note_content(struct ir_program *p, const struct ir_stage *s, int64_t n)
{
	struct ir_buffer *b = s->out;
	int64_t at[IR_MAX_RANK] = { 0 }, extent = 0, known = 0;
	expr *content = NEWN(p->arena, expr, n + 1);

	for (int64_t k = 0; k < n; k++) {
		content[k] = content_of(ir_element(p, s, at), b->type);
		known += content[k] != NULL;
		if (!content[k] && !is_list(b))
			return;
		for (int i = b->rank - 1; i >= 0; i--) {
			ir_const_int(b->dim[i], &extent);
			if (++at[i] < extent)
				break;
			at[i] = 0;
		}
	}
	if (known == n)
		b->content = content;
	else if (known)
		b->some = content;
}

void graph_note_contents(struct ir_program *p, int first)
{
	for (int i = first; i < p->stages.n; i++) {
		const struct ir_stage *s = p->stages.at[i];
		struct ir_buffer *b = s->out;
		struct tensor t;
		int64_t n = graph_count(b->rank, b->dim);

		if (s->kind != IR_MAP && s->kind != IR_SCATTER && !ir_accumulates(s))
			continue;
		if (n < 0 || n > GRAPH_CONTENT_MAX || b->data || type_info(b->type)->bits < 8)
			continue;
		if (!b->content && reads_known(s))
			note_content(p, s, n);
		if (b->content && content_tensor(&t, b->type, b->rank, b->dim, b->content, p->arena)) {
			struct tensor *data = NEW(p->arena, struct tensor);

			*data = t;
			b->data = data;
		}
	}
}

/* ---- Operators --------------------------------------------------------------------------------------------------- */

/* True if the caller may omit this name: a parameter of a function or of a body. */
static bool is_parameter(const struct graph_scope *s, const char *name)
{
	for (size_t i = 0; s->body && i < s->body->n_input; i++)
		if (strcmp(onnx_text(s->body->input[i]->name), name) == 0)
			return true;
	for (size_t i = 0; !s->body && s->function && i < s->function->n_input; i++)
		if (strcmp(s->function->input[i], name) == 0)
			return true;
	return false;
}

/* True for a body's initializer that cannot be a buffer. */
static bool is_odd_initializer(const struct graph_scope *s, const char *name)
{
	const Onnx__GraphProto *b = s->body;

	for (size_t i = 0; b && i < b->n_initializer; i++)
		if (strcmp(onnx_text(b->initializer[i]->name), name) == 0)
			return true;
	for (size_t i = 0; b && i < b->n_sparse_initializer; i++)
		if (b->sparse_initializer[i]->values &&
		    strcmp(onnx_text(b->sparse_initializer[i]->values->name), name) == 0)
			return true;
	return false;
}

int graph_find_buffer(struct ir_buffer **out, const struct graph_scope *s, const char *name, const char *label)
{
	const struct graph_value *v;

	*out = NULL;
	for (const struct graph_scope *x = s; x && *name; x = x->outer) {
		*out = map_get(&x->buffers, name);
		if (*out || is_parameter(x, name))
			return 0;
		if (is_odd_initializer(x, name))
			return err_set(
			        s->err, ERR_UNSUPPORTED,
			        "node %s: \"%s\", an initializer of a subgraph, holds strings, is sparse, or has "
			        "too many axes.",
			        label, name);
		v = x->outer || x->function ? NULL : graph_value_find(x->g, name);
		if (v && (v->type == TYPE_NONE || v->rank < 0))
			return graph_shape_unknown(x->g, v, s->err);
	}
	if (!*name)
		return 0;
	err_set(s->err, ERR_MODEL, "node %s: nothing before it defines its input \"%s\".", label, name);
	err_about(s->err, ERR_NODE, label);
	return err_about(s->err, ERR_TENSOR, name);
}

const char *graph_lasting_name(const struct graph_scope *s, const Onnx__NodeProto *node)
{
	const char *result = "";

	for (size_t i = 0; i < node->n_output && !*result; i++)
		result = node->output[i];
	return arena_printf(s->program->arena, "%s%s", s->path, result);
}

/* Records the results' buffers. */
static void take_outputs(struct graph_scope *s, const Onnx__NodeProto *node, const struct lower *l)
{
	for (int i = 0; i < l->outputs; i++)
		if (l->wanted[i] && l->output[i].buf)
			map_put(&s->buffers, node->output[i], l->output[i].buf);
}

/* Records the types of results of which nothing else is known. */
static void note_types(struct graph_scope *s, const Onnx__NodeProto *node, const struct lower *l)
{
	for (int i = 0; s->types && i < l->outputs; i++)
		if (l->wanted[i] && l->type_only[i])
			map_put(s->types, node->output[i], (void *)(uintptr_t)l->type_only[i]);
}

static int lower_operator(struct graph_scope *s, const Onnx__NodeProto *node, const struct op_def *op,
                          const char *label)
{
	struct lower *l = NEW(s->program->arena, struct lower);
	int first = s->program->stages.n;

	*l = (struct lower){
		.program = s->program, .err = s->err, .op = op, .label = label, .bodies = &graph_bodies, .scope = s
	};
	l->name = graph_lasting_name(s, node);
	l->branch = s->branch;
	l->engine_ranks = s->g->root->engine_ranks;
	l->opset = graph_scope_opset(s, node->domain);
	if (!l->opset && op->domain)
		l->opset = 1; /* domains of other vendors are often not imported */
	if (node->n_input > LOWER_MAX_TENSORS || node->n_output > LOWER_MAX_TENSORS)
		return lower_fail(l, ERR_UNSUPPORTED, "it has more than %d inputs or outputs.", LOWER_MAX_TENSORS);
	l->inputs = (int)node->n_input;
	l->outputs = (int)node->n_output;
	lower_room(l, l->inputs, l->outputs);
	l->names = (const char *const *)node->input;
	for (int i = 0; i < l->inputs; i++) {
		TRY(graph_find_buffer(&l->input[i].buf, s, node->input[i], label));
		l->input[i].given = l->input[i].buf != NULL;
	}
	for (int i = 0; i < l->outputs; i++)
		l->wanted[i] = *node->output[i] != 0;
	TRY(graph_attributes(&l->attr, &l->attrs, s, node, label));
	if (lower_node(l) < 0) {
		if (l->partial)
			take_outputs(s, node, l);
		note_types(s, node, l);
		return s->err->code;
	}
	take_outputs(s, node, l);
	if (!l->random)
		graph_note_contents(s->program, first);
	s->random |= l->random;
	return 0;
}

int graph_lower(struct graph_scope *s, const Onnx__NodeProto *node, const char *label)
{
	const char *domain = onnx_domain(node->domain), *type = onnx_text(node->op_type);
	const Onnx__FunctionProto *f = onnx_function_find(s->g->model, domain, type, node->overload);
	const struct op_def *op = f ? NULL : op_find(domain, type);

	if (f)
		return graph_lower_call(s, node, f, label);
	if (!op)
		return graph_refuse_operator(s->g, node, label, s->err);
	return lower_operator(s, node, op, label);
}

static bool is_refused(const struct graph_node *n)
{
	return graph_refusal_find(onnx_domain(n->proto->domain), onnx_text(n->proto->op_type));
}

/* The node that is the reason why the shape of a value is unknown: those after it are only missing its result's. */
static const struct graph_node *first_unknown(const struct graph *g, const struct graph_value *v)
{
	const struct graph_node *n = NULL;

	for (int i = 0; v && i < g->nodes.n; i++) {
		n = &g->nodes.at[v->producer];
		v = NULL;
		vec_each (read, &n->reads)
			if (!v && (*read)->rank < 0 && (*read)->producer >= 0 && !(*read)->outside && !is_refused(n))
				v = *read;
	}
	return n;
}

int graph_shape_unknown(const struct graph *g, const struct graph_value *v, struct err *e)
{
	char who[ONNX_DESCRIBE];
	const char *name = v->name;

	if (v->outside)
		return graph_shape_unknown(g->outer, v->outside, e);
	if (graph_refuse_value(g, name, e) < 0)
		return err_about(e, ERR_TENSOR, name);
	if (v->producer >= 0) {
		const struct graph_node *before = first_unknown(g, v);

		err_set(e, ERR_UNSUPPORTED,
		        "the shape of its input \"%s\" is not known: tpat does not support %s before it.", name,
		        onnx_node_describe(before->proto, who));
		if (is_refused(before))
			return err_advise(e, "%s", before->advice);
		return err_advise(
		        e, "Run ONNX's shape inference over the model first, so that it holds this tensor's shape.");
	}
	if (v->type == TYPE_NONE)
		return err_set(e, ERR_UNSUPPORTED, "its input \"%s\" is not a dense tensor.", name);
	if (g->outer) {
		err_set(e, ERR_UNSUPPORTED, "the rank of \"%s\", an input of the graph %s, is not known.", name,
		        g->name);
		return err_advise(
		        e, "Run ONNX's shape inference over the model first, so that it holds this tensor's shape.");
	}
	err_set(e, ERR_UNSUPPORTED, "the rank of the model's input \"%s\" is not known.", name);
	return err_advise(e, "Give it with --shape %s:Nx3x224x224 (names or numbers).", name);
}
