/* Takes apart what sequences and optional values pass through: calls of functions, If, Loop, SequenceMap. See
 * graph_sequence.h. */
#include <string.h>

#include "graph/graph_sequence.h"

enum {
	FEW_TURNS = 16,   /* of a loop that is unrolled although its sequence could be a scan output */
	MANY_TURNS = 256, /* if nothing else helps */
};

/* ---- Functions. */

static bool has_own_versions(const struct resolve_scope *s, const Onnx__FunctionProto *f)
{
	for (size_t i = 0; i < f->n_opset_import; i++) {
		const char *domain = onnx_domain(f->opset_import[i]->domain);
		int64_t version = onnx_opset(s->r->model, domain);

		if (version && version != f->opset_import[i]->version)
			return true;
	}
	return false;
}

bool expand_call(struct resolve_scope *s, Onnx__NodeProto *n)
{
	struct onnx_model *m = s->r->model;
	Onnx__FunctionProto *f = onnx_function_find(m, onnx_domain(n->domain), onnx_text(n->op_type), n->overload);
	struct map attributes = map_new(s->r->arena);
	struct onnx_copy c = onnx_copy_new(m, &attributes);

	if ((!resolve_holds(m, &f->base) && !resolve_is_stuck(s, n)) || has_own_versions(s, f) ||
	    !expand_has_room(s, f->n_node, 1))
		return false;
	for (size_t i = 0; i < f->n_attribute_proto; i++)
		map_put(&attributes, onnx_text(f->attribute_proto[i]->name), f->attribute_proto[i]);
	for (size_t i = 0; i < n->n_attribute; i++)
		map_put(&attributes, onnx_text(n->attribute[i]->name), n->attribute[i]);
	for (size_t i = 0; i < f->n_input; i++)
		map_put(&c.names, f->input[i], i < n->n_input ? resolve_find(s, n->input[i]).name : "");
	for (size_t i = 0; i < f->n_opset_import; i++)
		onnx_opset_import(m, f->opset_import[i]->domain, f->opset_import[i]->version);
	expand_nodes(s, &c, f->node, f->n_node);
	for (size_t i = 0; i < n->n_output && i < f->n_output; i++)
		resolve_give(s, n->output[i], expand_copied(s, &c, f->output[i]));
	return true;
}

/* ---- If. */

static Onnx__GraphProto *graph_attr(const Onnx__NodeProto *n, const char *name)
{
	const Onnx__AttributeProto *a = onnx_attr(n, name);

	return a ? a->g : NULL;
}

static const char *input_of(const Onnx__NodeProto *n, size_t i)
{
	return i < n->n_input ? n->input[i] : "";
}

static bool passes_sequences(const Onnx__GraphProto *g)
{
	for (size_t i = 0; i < g->n_input; i++)
		if (resolve_is_sequence_type(g->input[i]))
			return true;
	for (size_t i = 0; i < g->n_output; i++)
		if (resolve_is_sequence_type(g->output[i]))
			return true;
	return false;
}

static void take_branch(struct resolve_scope *s, const Onnx__NodeProto *n, const Onnx__GraphProto *branch)
{
	struct onnx_copy c = onnx_copy_new(s->r->model, NULL);

	expand_initializers(s, &c, branch);
	expand_nodes(s, &c, branch->node, branch->n_node);
	for (size_t i = 0; i < n->n_output; i++)
		resolve_give(s, n->output[i], expand_copied(s, &c, onnx_text(branch->output[i]->name)));
}

static enum type element_type(const Onnx__ValueInfoProto *v)
{
	const Onnx__TypeProto *t = v->type;

	t = t && t->optional_type ? t->optional_type->elem_type : t;
	t = t && t->sequence_type ? t->sequence_type->elem_type : t;
	return t && t->tensor_type ? onnx_elem_type(t->tensor_type->elem_type) : TYPE_NONE;
}

/* Puts tensors in place of a body's output that is a sequence. */
static bool open_output(struct resolve_scope *in, size_t at, struct seq *q, int64_t count)
{
	struct onnx_model *m = in->r->model;
	Onnx__GraphProto *p = in->proto;
	enum type type = element_type(p->output[at]);
	Onnx__ValueInfoProto **output = NEWN(m->arena, Onnx__ValueInfoProto *, p->n_output + (size_t)count);
	struct plain plain = resolve_begin(in, onnx_text(p->output[at]->name));
	size_t n = 0;

	for (size_t i = 0; i < p->n_output; i++) {
		if (i != at) {
			output[n++] = p->output[i];
			continue;
		}
		for (int64_t k = 0; k < count; k++) {
			const char *tensor = seq_element(in, q, k), *name;

			if (!tensor)
				return false;
			name = plain_op(&plain, "Identity", tensor, NULL, NULL);
			output[n++] = onnx_value_info_new(m, name, type, -1, NULL, NULL);
		}
	}
	resolve_end(in, &plain);
	p->output = output;
	p->n_output = n;
	return true;
}

/* Puts tensors in place of an output of both branches that is a sequence of the same known length in both. */
static bool open_branches(struct resolve_scope *s, Onnx__NodeProto *n, struct resolve_scope *in[2], size_t at,
                          struct resolve_later *later)
{
	struct onnx_model *m = s->r->model;
	Onnx__NodeProto *made = onnx_node_new(m, "", "SequenceConstruct", "");
	struct seq *q[2];
	int64_t count[2];
	char **output;

	for (int b = 0; b < 2; b++) {
		q[b] = resolve_find(in[b], onnx_text(in[b]->proto->output[at]->name)).seq;
		count[b] = q[b] ? seq_count(q[b]) : -1;
		if (!q[b] || !element_type(in[b]->proto->output[at]))
			return false;
		for (int64_t k = 0; k < count[b]; k++)
			if (!seq_element(in[b], q[b], k))
				return false;
	}
	if (count[0] < 1 || count[0] != count[1])
		return false;
	for (int b = 0; b < 2; b++)
		if (!open_output(in[b], at, q[b], count[b]))
			return false;
	output = NEWN(m->arena, char *, n->n_output + (size_t)count[0]);
	memcpy(output, n->output, sizeof *output * at);
	for (int64_t k = 0; k < count[0]; k++) {
		output[at + (size_t)k] =
		        onnx_name_unique(m, arena_printf(m->arena, "%s_%lld", n->output[at], (long long)k));
		onnx_node_input(m, made, output[at + (size_t)k]);
	}
	onnx_node_output(m, made, n->output[at]);
	vec_push(s->r->arena, later, made);
	memcpy(output + at + count[0], n->output + at + 1, sizeof *output * (n->n_output - at - 1));
	n->output = output;
	n->n_output += (size_t)count[0] - 1;
	s->r->changes++;
	return true;
}

bool expand_if(struct resolve_scope *s, Onnx__NodeProto *n)
{
	Onnx__GraphProto *branch[2] = { graph_attr(n, "else_branch"), graph_attr(n, "then_branch") };
	struct resolve_scope scope[2], *in[2] = { &scope[0], &scope[1] };
	struct resolve_later later = { 0 };
	int64_t holds;

	for (int b = 0; b < 2; b++)
		if (!branch[b] || branch[b]->n_output != n->n_output)
			return false;
	if ((resolve_holds(s->r->model, &n->base) || passes_sequences(branch[0]) || resolve_is_stuck(s, n)) &&
	    resolve_int(s, input_of(n, 0), &holds) && expand_has_room(s, branch[holds != 0]->n_node, 1)) {
		take_branch(s, n, branch[holds != 0]);
		return true;
	}
	for (int b = 0; b < 2; b++) {
		resolve_body(in[b], s, branch[b]);
		resolve_walk(in[b]);
	}
	for (size_t at = n->n_output; at-- > 0;)
		open_branches(s, n, in, at, &later);
	for (int b = 0; b < 2; b++)
		resolve_finish(in[b]);
	resolve_keep(s, n);
	vec_each (node, &later)
		resolve_node(s, *node);
	return true;
}

/* ---- Loop: a body of inputs (number, condition, states) and outputs (condition, states, scans). */

/* True if the body never ends the loop early. */
static bool goes_on(const struct resolve_scope *s, const Onnx__GraphProto *body)
{
	const char *next = onnx_text(body->output[0]->name), *now = onnx_text(body->input[1]->name);
	struct graph *g = resolve_graph(s->r, body);
	struct resolve_scope in = { .r = s->r, .g = g, .names = map_new(s->r->arena) };
	int64_t holds;

	for (size_t i = 0; i < body->n_node; i++)
		if (strcmp(onnx_text(body->node[i]->op_type), "Identity") == 0 && body->node[i]->n_output == 1 &&
		    strcmp(body->node[i]->output[0], next) == 0 && body->node[i]->n_input == 1)
			next = body->node[i]->input[0];
	return strcmp(next, now) == 0 || (g && resolve_int(&in, next, &holds) && holds);
}

/* Returns how often the body runs; -1: unknown. */
static int64_t turns_of(const struct resolve_scope *s, const Onnx__NodeProto *n, const Onnx__GraphProto *body)
{
	int64_t most = 0, holds = 1;
	bool limited = resolve_int(s, input_of(n, 0), &most),
	     known = !*input_of(n, 1) || resolve_int(s, n->input[1], &holds);

	if ((limited && most <= 0) || (known && !holds))
		return 0;
	return limited && known && goes_on(s, body) ? most : -1;
}

/* A loop without turns collects an empty tensor: extents that only a turn would tell are 0. If the rank is unknown, the
 * tensor has one axis, as in ONNX Runtime. Returns null if the type is unknown. */
static const char *nothing(struct resolve_scope *s, const Onnx__GraphProto *body, const char *collected)
{
	struct graph *g = resolve_graph(s->r, body);
	const struct graph_value *v = g ? graph_value_find(g, collected) : NULL;
	int64_t dim[IR_MAX_RANK] = { 0 };
	struct tensor t;
	struct err e = { 0 };

	if (!v || v->rank == IR_MAX_RANK || v->type == TYPE_NONE)
		return NULL;
	int rank = v->rank < 0 ? 0 : v->rank;
	for (int k = 0; k < rank; k++)
		if (!ir_const_int(v->dim[k], &dim[k + 1]))
			dim[k + 1] = 0;
	if (tensor_new(&t, v->type, rank + 1, dim, s->r->arena, &e) < 0)
		return NULL;
	struct plain p = resolve_begin(s, collected);
	const char *name = plain_tensor(&p, &t);
	resolve_end(s, &p);
	return name;
}

/* The states pass a loop that has no turns; its body need not be supported. */
static bool skip(struct resolve_scope *s, const Onnx__NodeProto *n, const Onnx__GraphProto *body)
{
	size_t states = n->n_input - 2;
	const char **empty = NEWN(s->r->arena, const char *, n->n_output + 1);

	for (size_t i = states; i < n->n_output; i++)
		if (*n->output[i] && !(empty[i] = nothing(s, body, onnx_text(body->output[1 + i]->name))))
			return false;
	for (size_t i = 0; i < n->n_output; i++) {
		if (i < states)
			resolve_give(s, n->output[i], resolve_find(s, n->input[2 + i]));
		else if (*n->output[i])
			resolve_give_tensor(s, n->output[i], empty[i]);
	}
	return true;
}

static bool has_states_of_sequences(const struct resolve_scope *s, const Onnx__NodeProto *n,
                                    const Onnx__GraphProto *body)
{
	for (size_t i = 2; i < n->n_input; i++) {
		struct resolve_name state = resolve_find(s, n->input[i]);

		if (state.seq || state.optional || resolve_is_sequence_type(body->input[i]))
			return true;
	}
	return false;
}

static void unroll(struct resolve_scope *s, Onnx__NodeProto *n, const Onnx__GraphProto *body, int64_t turns)
{
	struct resolve *r = s->r;
	size_t states = n->n_input - 2, outputs = n->n_output;
	struct resolve_name *state = NEWN(r->arena, struct resolve_name, states + 1);
	struct onnx_copy shared = onnx_copy_new(r->model, NULL);
	struct seq **scan = NEWN(r->arena, struct seq *, outputs + 1);

	for (size_t i = 0; i < states; i++)
		state[i] = resolve_find(s, n->input[2 + i]);
	for (size_t i = 0; i < outputs; i++)
		scan[i] = seq_new(s);
	expand_initializers(s, &shared, body);
	for (int64_t k = 0; k < turns; k++) {
		struct onnx_copy c = onnx_copy_new(r->model, NULL);
		struct plain p = resolve_begin(s, onnx_text(body->name));

		c.outer = &shared;
		map_put(&c.names, onnx_text(body->input[0]->name), expand_turn_number(&p, body, k));
		map_put(&c.names, onnx_text(body->input[1]->name), plain_number(&p, TYPE_BOOL, 1));
		resolve_end(s, &p);
		for (size_t i = 0; i < states; i++)
			map_put(&c.names, onnx_text(body->input[2 + i]->name), state[i].name);
		expand_nodes(s, &c, body->node, body->n_node);
		for (size_t i = 0; i < states; i++)
			state[i] = expand_copied(s, &c, onnx_text(body->output[1 + i]->name));
		for (size_t i = states; i < outputs; i++)
			seq_add(s, scan[i], SEQ_ONE, expand_copied(s, &c, onnx_text(body->output[1 + i]->name)).name,
			        1);
	}
	for (size_t i = 0; i < states && i < outputs; i++)
		resolve_give(s, n->output[i], state[i]);
	for (size_t i = states; i < outputs; i++)
		if (*n->output[i])
			resolve_give_tensor(s, n->output[i], seq_join(s, scan[i], n->output[i], 0, true));
}

/* ---- A state to which each turn adds one tensor is a scan output. */

struct symbols {
	const struct resolve_scope *s;
	bool known;
};

/* Symbols of the graphs around the loop are the same in each turn. */
static void check_symbol(void *user, expr e)
{
	struct symbols *x = user;
	bool found = e->op != IR_SYMBOL;

	for (const struct resolve_scope *s = x->s; s && !found; s = s->outer)
		for (int i = 0; s->g && i < s->g->values.n && !found; i++) {
			const struct graph_value *v = s->g->values.at[i];

			for (int k = 0; k < v->rank; k++)
				found |= v->dim[k] == e;
		}
	x->known &= found;
}

/* True if the tensor has the same extents in each turn. */
static bool keeps_shape(const struct resolve_scope *in, const char *name)
{
	struct graph *g = NULL;
	const struct graph_value *v = resolve_value(in, &g, name);
	struct symbols x = { in->outer, v && v->rank >= 0 && v->type };

	for (int i = 0; x.known && i < v->rank; i++)
		ir_walk(v->dim[i], check_symbol, &x);
	return x.known;
}

static bool reads(const struct resolve_scope *in, const char *name)
{
	vec_each (n, &in->nodes) {
		struct map captured = onnx_node_captures(*n, in->r->arena);

		for (size_t k = 0; k < (*n)->n_input; k++)
			if (strcmp((*n)->input[k], name) == 0)
				return true;
		if (map_get(&captured, name))
			return true;
	}
	return false;
}

/* Removes item `at` of an array of pointers, and returns it. */
static void *take_away(void *array, size_t *n, size_t at)
{
	void **list, *item;

	memcpy(&list, array, sizeof list);
	item = list[at];
	memmove(list + at, list + at + 1, sizeof *list * (*n - at - 1));
	--*n;
	return item;
}

/* Declares the tensor of all turns: the loop itself may not be supported. `v`: that of one turn. */
static void declare_all(struct resolve_scope *s, const char *name, const struct graph_value *v)
{
	int64_t dim[IR_MAX_RANK + 1];

	dim[0] = -1;
	for (int i = 0; i < v->rank; i++)
		if (!ir_const_int(v->dim[i], &dim[i + 1]))
			dim[i + 1] = -1;
	onnx_graph_add_value_info(s->r->model, s->proto,
	                          onnx_value_info_new(s->r->model, name, v->type, v->rank + 1, dim, NULL));
}

/* Input and output of state number `i`, a sequence. */
static bool make_scan(struct resolve_scope *s, Onnx__NodeProto *n, struct resolve_scope *in, size_t i,
                      struct resolve_later *later)
{
	struct onnx_model *m = s->r->model;
	Onnx__GraphProto *body = in->proto;
	const char *formal = onnx_text(body->input[2 + i]->name), *next = onnx_text(body->output[1 + i]->name);
	struct resolve_name before = resolve_find(s, n->input[2 + i]), after = resolve_find(in, next);
	struct seq *q = after.seq;
	Onnx__ValueInfoProto *output = body->output[1 + i];
	struct graph *g = NULL;
	struct graph_value *v;
	Onnx__NodeProto *made, **kept = NEWN(m->arena, Onnx__NodeProto *, in->nodes.n + 1);
	int nodes = in->nodes.n;
	struct plain p;
	char *scanned;

	if (!before.seq || seq_count(before.seq) != 0 || !q || q->n != 2 || q->at[0]->kind != SEQ_STATE ||
	    strcmp(q->at[0]->tensor, formal) != 0 || q->at[1]->kind != SEQ_ONE || !keeps_shape(in, q->at[1]->tensor))
		return false;
	memcpy(kept, in->nodes.at, sizeof *kept * (size_t)nodes);
	v = resolve_value(in, &g, q->at[1]->tensor);
	p = resolve_begin(in, next);
	onnx_graph_add_output(m, body,
	                      onnx_value_info_new(m, plain_op(&p, "Identity", q->at[1]->tensor, NULL, NULL), v->type,
	                                          -1, NULL, NULL));
	resolve_end(in, &p);
	take_away(&body->output, &body->n_output, 1 + i);
	resolve_sweep(in);
	if (reads(in, formal)) { /* something else needs the state */
		memcpy(in->nodes.at, kept, sizeof *kept * (size_t)nodes);
		in->nodes.n = nodes;
		memmove(body->output + 2 + i, body->output + 1 + i, sizeof *body->output * (body->n_output - 2 - i));
		body->output[1 + i] = output;
		return false;
	}
	take_away(&body->input, &body->n_input, 2 + i);
	scanned = onnx_name_unique(m, arena_printf(m->arena, "%s_all", *n->output[i] ? n->output[i] : next));
	take_away(&n->input, &n->n_input, 2 + i);
	made = onnx_node_new(m, "", "SplitToSequence", "");
	onnx_node_input(m, made, scanned);
	onnx_node_set_int(m, made, "keepdims", 0);
	onnx_node_output(m, made, take_away(&n->output, &n->n_output, i));
	vec_push(s->r->arena, later, made);
	onnx_node_output(m, n, scanned);
	declare_all(s, scanned, v);
	s->r->changes++;
	return true;
}

bool expand_loop(struct resolve_scope *s, Onnx__NodeProto *n)
{
	Onnx__GraphProto *body = graph_attr(n, "body");
	struct resolve_later later = { 0 };
	struct resolve_scope in;
	int64_t turns;
	bool sequences, stuck = resolve_is_stuck(s, n);

	if (!body || n->n_input < 2 || body->n_input != n->n_input || body->n_output < n->n_input - 1 ||
	    n->n_output > body->n_output - 1)
		return false;
	turns = turns_of(s, n, body);
	if (turns == 0 && skip(s, n, body))
		return true;
	sequences = has_states_of_sequences(s, n, body);
	if ((sequences || stuck || (s->r->force && resolve_holds(s->r->model, &body->base))) && turns > 0 &&
	    turns <= (stuck || s->r->force ? MANY_TURNS : FEW_TURNS) && expand_has_room(s, body->n_node, turns)) {
		unroll(s, n, body, turns);
		return true;
	}
	if (stuck && !sequences && !goes_on(s, body) && expand_turn(s, n, body))
		return true;
	if (expand_lists(s, n, body, &later)) {
		resolve_keep(s, n);
		vec_each (node, &later)
			resolve_node(s, *node);
		return true;
	}
	resolve_body(&in, s, body);
	for (size_t i = 2; i < n->n_input; i++) {
		const char *name = onnx_text(body->input[i]->name);
		struct seq *q = seq_new(&in);

		if (!resolve_find(s, n->input[i]).seq)
			continue;
		seq_add(&in, q, SEQ_STATE, name, -1);
		resolve_define(&in, name, (struct resolve_name){ .name = name, .seq = q });
	}
	resolve_walk(&in);
	for (size_t i = n->n_input - 2; i-- > 0;)
		if (n->n_output == body->n_output - 1)
			make_scan(s, n, &in, i, &later);
	resolve_finish(&in);
	resolve_keep(s, n);
	vec_each (node, &later)
		resolve_node(s, *node);
	return true;
}

/* ---- SequenceMap: its body once for each element. */

bool expand_map(struct resolve_scope *s, Onnx__NodeProto *n)
{
	Onnx__GraphProto *body = graph_attr(n, "body");
	struct seq *q = resolve_find(s, input_of(n, 0)).seq, **out;
	int64_t count = q ? seq_count(q) : -1;
	struct onnx_copy shared = onnx_copy_new(s->r->model, NULL);

	if (!body || count < 0 || body->n_input != n->n_input || body->n_output < n->n_output ||
	    !expand_has_room(s, body->n_node, count))
		return false;
	for (size_t i = 0; i < n->n_input; i++) {
		struct seq *other = resolve_find(s, n->input[i]).seq;

		for (int64_t k = 0; other && k < count; k++)
			if (!seq_element(s, other, k))
				return false;
	}
	out = NEWN(s->r->arena, struct seq *, n->n_output + 1);
	for (size_t i = 0; i < n->n_output; i++)
		out[i] = seq_new(s);
	expand_initializers(s, &shared, body);
	for (int64_t k = 0; k < count; k++) {
		struct onnx_copy c = onnx_copy_new(s->r->model, NULL);

		c.outer = &shared;
		for (size_t i = 0; i < n->n_input; i++) {
			struct resolve_name what = resolve_find(s, n->input[i]);

			map_put(&c.names, onnx_text(body->input[i]->name),
			        what.seq ? seq_element(s, what.seq, k) : what.name);
		}
		expand_nodes(s, &c, body->node, body->n_node);
		for (size_t i = 0; i < n->n_output; i++)
			seq_add(s, out[i], SEQ_ONE, expand_copied(s, &c, onnx_text(body->output[i]->name)).name, 1);
	}
	for (size_t i = 0; i < n->n_output; i++) {
		/* Nodes that cannot take its elements one by one read it as a sequence. */
		Onnx__NodeProto *made =
		        onnx_node_new(s->r->model, "", count ? "SequenceConstruct" : "SequenceEmpty", "");

		vec_each (part, out[i])
			onnx_node_input(s->r->model, made, (*part)->tensor);
		onnx_node_output(s->r->model, made, n->output[i]);
		resolve_node(s, made);
	}
	s->r->changes++;
	return true;
}
