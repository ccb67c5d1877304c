/* Inference, one node at a time, alone in a scratch program. The output buffers give types and extents, known elements
 * become contents, and nodes of constants are folded. */
#include <stdarg.h>
#include <string.h>

#include "graph/graph_internal.h"

static __attribute__((format(printf, 2, 3))) void warn(struct graph *g, const char *fmt, ...)
{
	va_list ap;
	const char *text;

	va_start(ap, fmt);
	text = str_printable(g->arena, arena_vprintf(g->arena, fmt, ap));
	va_end(ap);
	vec_push(g->arena, &g->root->warnings, text);
}

/* ---- Outputs ----------------------------------------------------------------------------------------------------- */

/* A branch that never runs may hold tensors of wrong shapes: no warnings for bodies. */
static void check_declared(struct graph *g, const struct graph_node *n, const struct graph_value *v)
{
	const struct onnx_value *known = onnx_value_find(g->index, v->name);
	const Onnx__TensorShapeProto *shape;
	enum type type;
	int64_t extent;

	if (g->outer || !known || !onnx_value_type(known->info, &type, &shape))
		return;
	if (type && type != v->type)
		warn(g, "The model says that \"%s\" is %s; node %s makes %s of it.", v->name, type_name(type), n->label,
		     type_name(v->type));
	if (shape && (int)shape->n_dim != v->rank)
		warn(g, "The model says that \"%s\" has %zu axes; node %s makes %d.", v->name, shape->n_dim, n->label,
		     v->rank);
	for (int i = 0; shape && (int)shape->n_dim == v->rank && i < v->rank; i++)
		if (shape->dim[i]->has_dim_value && ir_const_int(v->dim[i], &extent) &&
		    extent != shape->dim[i]->dim_value)
			warn(g, "The model says that axis %d of \"%s\" has extent %lld; node %s makes %lld of it.", i,
			     v->name, (long long)shape->dim[i]->dim_value, n->label, (long long)extent);
}

static int take_output(struct graph *g, const struct graph_node *n, const struct ir_program *p, struct graph_value *v,
                       const struct ir_buffer *b, struct err *e)
{
	int64_t count = graph_count(b->rank, b->dim);
	expr *content;

	for (int i = 0; i < b->rank; i++)
		if (b->dim[i]->varies)
			return err_set(e, ERR_UNSUPPORTED,
			               "the size of \"%s\" depends on values that are not known at build time.",
			               v->name);
	v->type = b->type;
	v->rank = b->rank;
	for (int i = 0; i < b->rank; i++)
		v->dim[i] = b->dim[i]->size > IR_MAX_CONTENT ? graph_symbol_fresh(g)
		                                             : graph_size_rename(g, n, p, b->dim[i]);
	if (b->data && count <= GRAPH_FOLD_MAX) {
		struct tensor *t = NEW(g->arena, struct tensor);

		TRY(tensor_new(t, b->type, b->data->rank, b->data->dim, g->arena, e));
		if (count)
			memcpy(t->data, b->data->data, (size_t)tensor_bytes(t));
		v->constant = t;
		v->is_constant = true;
	} else if (b->content && count >= 0) {
		v->content = content = NEWN(g->arena, expr, count + 1);
		for (int64_t k = 0; k < count; k++)
			content[k] = graph_size_rename(g, n, p, b->content[k]);
	} else if (b->some && count >= 0) {
		v->some = content = NEWN(g->arena, expr, count + 1);
		for (int64_t k = 0; k < count; k++)
			content[k] = b->some[k] ? graph_size_rename(g, n, p, b->some[k]) : NULL;
	}
	return 0;
}

/* ---- The node ---------------------------------------------------------------------------------------------------- */

/* Takes what is known of an unsupported node: types, ranks and extents of some results, only the types of others. */
static void take_known(struct graph_scope *s, struct graph_node *n)
{
	const struct ir_program *p = s->program;
	struct err ignored = { 0 };

	graph_size_symbols(s->g, n, p);
	for (size_t i = 0; i < n->proto->n_output; i++) {
		struct graph_value *v = graph_value_find(s->g, n->proto->output[i]);
		const struct ir_buffer *b = v ? map_get(&s->buffers, v->name) : NULL;

		if (b)
			take_output(s->g, n, p, v, b, &ignored);
		else if (v)
			v->type = (enum type)(uintptr_t)map_get(s->types, v->name);
	}
}

static int infer(struct graph_scope *s, struct graph_node *n, struct err *e)
{
	struct graph *g = s->g;
	const struct ir_program *p = s->program;

	if (!n->op && !n->function)
		return graph_refuse_operator(g, n->proto, n->label, e);
	if (n->op && n->proto->n_input > LOWER_MAX_TENSORS) /* before they become buffers */
		return err_set(e, ERR_UNSUPPORTED, "it has more than %d inputs or outputs.", LOWER_MAX_TENSORS);
	TRY(graph_add_inputs(s, n, GRAPH_DATA_MAX));
	if (graph_lower(s, n->proto, n->label) < 0) {
		take_known(s, n);
		return e->code;
	}
	graph_size_symbols(g, n, p);
	for (size_t i = 0; i < n->proto->n_output; i++) {
		struct graph_value *v = graph_value_find(g, n->proto->output[i]);

		if (v) {
			TRY(take_output(g, n, p, v, map_get(&s->buffers, v->name), e));
			check_declared(g, n, v);
		}
	}
	graph_take_demands(g, n, p);
	graph_note_work(g, n, p);
	graph_note_rounding(n, p);
	graph_fold(s, n);
	return 0;
}

/* The sentence without its prefix "node NAME (Op, opset N): ". */
static const char *without_node(struct graph *g, const struct graph_node *n, const char *text)
{
	const char *op = str_printable(g->arena, onnx_text(n->proto->op_type));
	const char *start = arena_printf(g->arena, "node %s (%s, opset %d): ", n->label, op, n->opset);
	const char *plain = arena_printf(g->arena, "node %s (%s): ", n->label, op);

	if (str_starts(text, start))
		text += strlen(start);
	else if (str_starts(text, plain))
		text += strlen(plain);
	return arena_strdup(g->arena, text);
}

/* Only types and extents of an unsupported node are used. */
static void forget_values(struct graph_value *v)
{
	v->is_constant = false;
	v->constant = NULL;
	v->content = v->some = NULL;
}

/* Uses the declared type and shape of a result if inference did not find them; keeps a known type. */
static void declare(struct graph *g, struct graph_value *v, const Onnx__ValueInfoProto *info)
{
	enum type known = v->type;

	graph_value_declare(g, v, info);
	if (known != TYPE_NONE && v->type != known) {
		v->type = known;
		v->rank = -1;
	}
}

void graph_infer_node(struct graph *g, struct graph_node *n)
{
	struct arena *scratch = arena_new();
	struct err e = { 0 };
	struct graph_scope s = graph_scope_new(g, ir_program_new(scratch, "node"), &e);
	struct map inputs = map_new(scratch), types = map_new(scratch), formals = map_new(scratch);

	s.inputs = &inputs;
	s.types = &types;
	s.formals = &formals;
	n->folded = n->proto->n_output > 0;
	n->known = infer(&s, n, &e) == 0;
	if (!n->known) {
		n->code = e.code;
		n->why = without_node(g, n, e.text);
		n->advice = e.advice[0] ? arena_strdup(g->arena, e.advice) : NULL;
	}
	for (size_t i = 0; i < n->proto->n_output; i++) {
		struct graph_value *v = graph_value_find(g, n->proto->output[i]);
		const struct onnx_value *declared = v ? onnx_value_find(g->index, v->name) : NULL;

		if (v && !n->known)
			forget_values(v);
		if (v && v->rank < 0 && declared && declared->info)
			declare(g, v, declared->info);
		n->folded &= !v || v->is_constant;
	}
	graph_take_bodies(g, n, &s);
	arena_free(scratch);
}

int graph_node_check(const struct graph *g, int node, struct err *e)
{
	const struct graph_node *n = &g->nodes.at[node];

	if (n->known)
		return 0;
	err_set(e, n->code, "%s: node %s (%s, opset %d): %s", g->model->path, n->label, onnx_text(n->proto->op_type),
	        n->opset, n->why);
	err_about(e, ERR_FILE, g->model->path);
	err_about(e, ERR_NODE, n->label);
	return n->advice ? err_advise(e, "%s", n->advice) : n->code;
}
