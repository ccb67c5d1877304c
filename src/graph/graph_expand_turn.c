/* Puts the first turn of a loop before it, so that the rest of the loop begins one turn later. Where data decide after
 * each turn whether there is another one, a run takes such a loop apart turn by turn. See graph_sequence.h. */
#include <string.h>

#include "graph/graph_sequence.h"

/* The values that the first turn gets, and then gives, in place of the body's inputs and outputs. */
static void take_turn(struct resolve_scope *s, struct onnx_copy *c, const Onnx__NodeProto *n,
                      const Onnx__GraphProto *body)
{
	struct plain p = resolve_begin(s, onnx_text(body->name));

	map_put(&c->names, onnx_text(body->input[0]->name), expand_turn_number(&p, body, 0));
	map_put(&c->names, onnx_text(body->input[1]->name), plain_number(&p, TYPE_BOOL, 1));
	resolve_end(s, &p);
	for (size_t i = 2; i < n->n_input; i++)
		map_put(&c->names, onnx_text(body->input[i]->name), resolve_find(s, n->input[i]).name);
	expand_initializers(s, c, body);
	expand_nodes(s, c, body->node, body->n_node);
}

/* The loop's inputs after the first turn. What each turn adds to a scan output is a state from now on. */
static void pass_on(struct resolve_scope *s, const struct onnx_copy *c, Onnx__NodeProto *n,
                    const Onnx__GraphProto *body, int64_t turns)
{
	struct onnx_model *m = s->r->model;
	struct plain p = resolve_begin(s, onnx_text(body->name));
	size_t inputs = n->n_input;

	if (*n->input[0])
		n->input[0] = arena_strdup(m->arena, plain_number(&p, TYPE_I64, (double)(turns - 1)));
	for (size_t i = 0; i < body->n_output; i++) {
		const char *made = expand_copied(s, c, onnx_text(body->output[i]->name)).name;

		if (i + 1 < inputs)
			n->input[i + 1] = arena_strdup(m->arena, made);
		else
			onnx_node_input(m, n, plain_with_axes(&p, "Unsqueeze", made, &(int64_t){ 0 }, 1, 13));
	}
	resolve_end(s, &p);
}

/* The body counts its turns from 1. */
static void count_on(struct resolve_scope *in)
{
	struct onnx_model *m = in->r->model;
	Onnx__ValueInfoProto *turn = in->proto->input[0];
	const char *name = onnx_text(turn->name);
	struct plain p = resolve_begin(in, name);

	turn->name = onnx_name_unique(m, name);
	onnx_node_output(m, plain_node(&p, "Add", turn->name, plain_number(&p, TYPE_I64, 1), NULL), name);
	resolve_end(in, &p);
}

/* Output `i` of the body, which a scan collected, is appended to a state. */
static void append(struct resolve_scope *in, size_t i)
{
	struct onnx_model *m = in->r->model;
	Onnx__GraphProto *body = in->proto;
	const char *made = onnx_text(body->output[i]->name), *state = onnx_name_unique(m, made);
	struct plain p = resolve_begin(in, made);
	const Onnx__TensorShapeProto *shape;
	enum type type = TYPE_NONE;
	Onnx__NodeProto *joined;

	onnx_value_type(body->output[i], &type, &shape);
	onnx_graph_add_input(m, body, onnx_value_info_new(m, state, type, -1, NULL, NULL));
	joined = plain_node(&p, "Concat", state, plain_with_axes(&p, "Unsqueeze", made, &(int64_t){ 0 }, 1, 13), NULL);
	onnx_node_set_int(m, joined, "axis", 0);
	body->output[i] = onnx_value_info_new(m, plain_output(&p, joined), type, -1, NULL, NULL);
	resolve_end(in, &p);
}

bool expand_turn(struct resolve_scope *s, Onnx__NodeProto *n, Onnx__GraphProto *body)
{
	size_t states = n->n_input - 2;
	int64_t turns = INT64_MAX, holds = 1;
	struct onnx_copy c = onnx_copy_new(s->r->model, NULL);
	struct resolve_scope in;

	if ((*n->input[0] && !resolve_int(s, n->input[0], &turns)) ||
	    (*n->input[1] && !resolve_int(s, n->input[1], &holds)) || turns <= 0 || !holds ||
	    !expand_has_room(s, body->n_node, 1))
		return false;
	take_turn(s, &c, n, body);
	pass_on(s, &c, n, body, turns);
	s->r->changes++;
	resolve_body(&in, s, body);
	count_on(&in);
	resolve_walk(&in);
	for (size_t i = 1 + states; i < body->n_output; i++)
		append(&in, i);
	resolve_finish(&in);
	resolve_keep(s, n);
	return true;
}
