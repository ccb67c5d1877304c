/* States of a loop that are sequences of a fixed length become as many tensors. See graph_sequence.h. */
#include <string.h>

#include "graph/graph_sequence.h"

/* ---- The length of a sequence in a body. */

struct list_scope {
	const struct list_scope *outer;
	const struct resolve_scope *around; /* the loop's own, whose sequences are known; it has no other members */
	const Onnx__GraphProto *graph;
	const Onnx__NodeProto *loop; /* whose body it is; null: a branch */
	const int64_t *state;        /* the lengths of its states */
};

static int64_t length_of(const struct list_scope *s, const char *name, int depth);

static const Onnx__GraphProto *graph_of(const Onnx__NodeProto *n, const char *name)
{
	const Onnx__AttributeProto *a = onnx_attr(n, name);

	return a ? a->g : NULL;
}

static int64_t length_of_branch(const struct list_scope *s, const Onnx__NodeProto *n, const char *branch, size_t i,
                                int depth)
{
	struct list_scope inner = { .outer = s, .graph = graph_of(n, branch) };

	return inner.graph && i < inner.graph->n_output
	               ? length_of(&inner, onnx_text(inner.graph->output[i]->name), depth)
	               : -1;
}

/* The length of a loop's state, if each turn keeps it. */
static int64_t length_of_state(const struct list_scope *s, const Onnx__NodeProto *n, size_t i, int depth)
{
	enum { MOST_STATES = 64 };
	int64_t length[MOST_STATES];
	struct list_scope inner = { .outer = s, .graph = graph_of(n, "body"), .loop = n, .state = length };

	if (!inner.graph || n->n_input < 2 || n->n_input - 2 > MOST_STATES || inner.graph->n_input != n->n_input ||
	    i + 2 >= n->n_input || i + 1 >= inner.graph->n_output)
		return -1;
	for (size_t k = 2; k < n->n_input; k++)
		length[k - 2] = length_of(s, n->input[k], depth);
	return length_of(&inner, onnx_text(inner.graph->output[1 + i]->name), depth) == length[i] ? length[i] : -1;
}

static int64_t length_made(const struct list_scope *s, const Onnx__NodeProto *n, size_t i, int depth)
{
	const char *op = onnx_text(n->op_type);
	int64_t first, other;

	if (*onnx_domain(n->domain))
		return -1;
	if (strcmp(op, "SequenceEmpty") == 0)
		return 0;
	if (strcmp(op, "SequenceConstruct") == 0)
		return (int64_t)n->n_input;
	if (strcmp(op, "Loop") == 0)
		return length_of_state(s, n, i, depth);
	if (strcmp(op, "If") == 0) {
		first = length_of_branch(s, n, "then_branch", i, depth);
		other = length_of_branch(s, n, "else_branch", i, depth);
		return first == other ? first : -1;
	}
	first = n->n_input > 0 ? length_of(s, n->input[0], depth) : -1;
	if (first < 0 || strcmp(op, "Identity") == 0)
		return first;
	return strcmp(op, "SequenceInsert") == 0 ? first + 1 : strcmp(op, "SequenceErase") == 0 ? first - 1 : -1;
}

/* -1: unknown, or a tensor. */
static int64_t length_of(const struct list_scope *s, const char *name, int depth)
{
	enum { DEEPEST = 64 };

	if (depth > DEEPEST)
		return -1;
	if (s->around) {
		const struct seq *q = resolve_find(s->around, name).seq;

		return q ? seq_count(q) : -1;
	}
	for (size_t i = 2; s->loop && i < s->graph->n_input; i++)
		if (strcmp(onnx_text(s->graph->input[i]->name), name) == 0)
			return s->state[i - 2];
	for (size_t i = s->graph->n_node; i-- > 0;)
		for (size_t k = 0; k < s->graph->node[i]->n_output; k++)
			if (strcmp(s->graph->node[i]->output[k], name) == 0)
				return length_made(s, s->graph->node[i], k, depth + 1);
	return length_of(s->outer, name, depth);
}

/* ---- Tensors in place of a state. */

static enum type element_of(const Onnx__ValueInfoProto *v)
{
	const Onnx__TypeProto *t = v->type && v->type->sequence_type ? v->type->sequence_type->elem_type : NULL;

	return t && t->tensor_type ? onnx_elem_type(t->tensor_type->elem_type) : TYPE_NONE;
}

/* Puts `more` items in place of item `at` of an array of pointers. */
static void replace(struct arena *a, void *array, size_t *n, size_t at, void *const *item, size_t more)
{
	void **list, **made = NEWN(a, void *, *n + more);

	memcpy(&list, array, sizeof list);
	memcpy(made, list, sizeof *list * at);
	memcpy(made + at, item, sizeof *item * more);
	memcpy(made + at + more, list + at + 1, sizeof *list * (*n - at - 1));
	memcpy(array, &made, sizeof made);
	*n += more - 1;
}

/* The body makes the sequence of its new inputs first, and takes its elements apart last. */
static void open_body(struct resolve *r, Onnx__GraphProto *body, size_t i, size_t count)
{
	struct onnx_model *m = r->model;
	Onnx__ValueInfoProto *formal = body->input[2 + i], *next = body->output[1 + i];
	Onnx__NodeProto *all = onnx_node_new(m, "", "SequenceConstruct", ""), **node;
	void **in = NEWN(m->arena, void *, count), **out = NEWN(m->arena, void *, count);
	size_t nodes = body->n_node;

	node = NEWN(m->arena, Onnx__NodeProto *, nodes + 1 + 2 * count);
	node[0] = all;
	memcpy(node + 1, body->node, sizeof *node * nodes);
	body->node = node;
	body->n_node = nodes + 1;
	for (size_t k = 0; k < count; k++) {
		char *name = onnx_name_unique(m, arena_printf(m->arena, "%s_%zu", onnx_text(formal->name), k));
		Onnx__NodeProto *at = onnx_node_new(m, "", "SequenceAt", "");
		int64_t position = (int64_t)k;
		struct tensor *t = NEW(m->arena, struct tensor);
		struct err ignored = { 0 };

		onnx_node_input(m, all, name);
		in[k] = onnx_value_info_new(m, name, element_of(formal), -1, NULL, NULL);
		ck(tensor_new(t, TYPE_I64, 0, NULL, m->arena, &ignored) == 0);
		tensor_set_int(t, 0, position);
		name = onnx_name_unique(m, "position");
		onnx_graph_add_initializer(m, body, onnx_tensor_store(t, name, m->arena));
		onnx_node_input(m, at, onnx_text(next->name));
		onnx_node_input(m, at, name);
		name = onnx_name_unique(m, arena_printf(m->arena, "%s_%zu", onnx_text(next->name), k));
		onnx_node_output(m, at, name);
		body->node[body->n_node++] = at;
		out[k] = onnx_value_info_new(m, name, element_of(next), -1, NULL, NULL);
	}
	onnx_node_output(m, all, onnx_text(formal->name));
	replace(m->arena, &body->input, &body->n_input, 2 + i, in, count);
	replace(m->arena, &body->output, &body->n_output, 1 + i, out, count);
}

static bool open_state(struct resolve_scope *s, Onnx__NodeProto *n, Onnx__GraphProto *body, size_t i, size_t count,
                       struct resolve_later *later)
{
	struct onnx_model *m = s->r->model;
	struct seq *q = resolve_find(s, n->input[2 + i]).seq;
	Onnx__NodeProto *made = onnx_node_new(m, "", "SequenceConstruct", "");
	void **in = NEWN(m->arena, void *, count), **out = NEWN(m->arena, void *, count);
	const char *result = n->output[i];

	for (size_t k = 0; k < count; k++) {
		const char *element = seq_element(s, q, (int64_t)k);

		if (!element)
			return false;
		in[k] = arena_strdup(m->arena, element);
		out[k] = onnx_name_unique(m, arena_printf(m->arena, "%s_%zu", *result ? result : "element", k));
		onnx_node_input(m, made, out[k]);
	}
	open_body(s->r, body, i, count);
	replace(m->arena, &n->input, &n->n_input, 2 + i, in, count);
	replace(m->arena, &n->output, &n->n_output, i, out, count);
	if (*result) {
		onnx_node_output(m, made, result);
		vec_push(s->r->arena, later, made);
	}
	s->r->changes++;
	return true;
}

bool expand_lists(struct resolve_scope *s, Onnx__NodeProto *n, Onnx__GraphProto *body, struct resolve_later *later)
{
	const struct list_scope around = { .around = s };
	bool any = false;

	for (size_t i = n->n_input - 2; i-- > 0;) {
		struct seq *q = resolve_find(s, n->input[2 + i]).seq;
		int64_t count = q ? seq_count(q) : -1;

		if (count > 0 && i < n->n_output && length_of_state(&around, n, i, 0) == count)
			any |= open_state(s, n, body, i, (size_t)count, later);
	}
	return any;
}
