/* libFuzzer's mutator for models. Random bytes hardly ever form a model, so this one changes a model's parts:
 * operators, attributes, extents, types, connections, constants. It also puts a node of one model into another. */
#include <math.h>
#include <string.h>

#include "base/foreign.h"
#include "onnx/onnx.h"
#include "ops/lower/op.h"
#include "tests/fuzz/draw.h"
#include "tests/unit/onnx_make.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *x, size_t nx, const uint8_t *y, size_t ny, uint8_t *out, size_t most,
                                 unsigned seed);

enum { MOST_NODES = 12, MOST_RANK = 8, MOST_LIST = 16, MOST_TENSOR = 1 << 12 }; /* the last in bytes */

/* A model to change, and one of its graphs: the main one, or a node's. */
struct change {
	struct onnx_model *m;
	Onnx__GraphProto *g;
	struct draw d;
};

/* ---- Random parts. */

static int64_t some_integer(struct change *c)
{
	static const int64_t some[] = { 0,  1,  2,  3,       4,       5,         7,         8,         9,        16,
		                        17, 31, 32, 33,      64,      127,       256,       1000,      -1,       -2,
		                        -3, -4, -8, 1 << 16, 1 << 20, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN };
	size_t n = sizeof some / sizeof *some;
	return some[draw(&c->d, draw(&c->d, 8) ? n - 6 : n)]; /* huge ones make most models invalid */
}

static int64_t some_extent(struct change *c)
{
	static const int64_t some[] = { 1,  2,  3,  4,  5,  7,   8,   12,  16,   17,   31,
		                        32, 33, 48, 64, 65, 100, 128, 256, 1000, 4096, 0 };
	return draw(&c->d, 40) ? some[draw(&c->d, sizeof some / sizeof *some)] : some_integer(c);
}

static float some_float(struct change *c)
{
	static const float some[] = { 0, 1, -1, 0.5f, 1e-5f, 1e30f, -1e30f, 2, 3, 0.1f, 100, -0.0f, INFINITY, NAN };
	return some[draw(&c->d, sizeof some / sizeof *some)];
}

static enum type some_type(struct change *c)
{
	static const enum type some[] = { TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_F64, TYPE_I64,
		                          TYPE_I32, TYPE_I8,  TYPE_U8,   TYPE_BOOL };
	return draw(&c->d, 4) ? some[draw(&c->d, sizeof some / sizeof *some)] : (enum type)draw(&c->d, TYPE_COUNT);
}

static Onnx__NodeProto *some_node(struct change *c)
{
	return c->g->n_node ? c->g->node[draw(&c->d, c->g->n_node)] : NULL;
}

static Onnx__AttributeProto *some_attribute(struct change *c)
{
	Onnx__NodeProto *n = some_node(c);
	return n && n->n_attribute ? n->attribute[draw(&c->d, n->n_attribute)] : NULL;
}

/* Returns an initializer, or a tensor in an attribute, or null. */
static Onnx__TensorProto *some_constant(struct change *c)
{
	for (int i = 0; i < 4; i++) {
		Onnx__AttributeProto *a = some_attribute(c);
		if (a && a->t)
			return a->t;
		if (c->g->n_initializer && draw(&c->d, 2))
			return c->g->initializer[draw(&c->d, c->g->n_initializer)];
	}
	return NULL;
}

/* Returns the name of any value in the graph, or null. */
static char *some_name(struct change *c)
{
	Onnx__NodeProto *n = some_node(c);
	unsigned from = draw(&c->d, 4);
	if (from == 0 && c->g->n_input)
		return c->g->input[draw(&c->d, c->g->n_input)]->name;
	if (from == 1 && c->g->n_initializer)
		return c->g->initializer[draw(&c->d, c->g->n_initializer)]->name;
	if (n && from == 2 && n->n_output)
		return n->output[draw(&c->d, n->n_output)];
	return n && n->n_input ? n->input[draw(&c->d, n->n_input)] : NULL;
}

/* ---- Constants. */

/* Adjusts the bytes to the extents: else the tensor would be refused. */
static void fit_bytes(struct change *c, Onnx__TensorProto *t)
{
	int64_t n = 1, bytes;
	for (size_t i = 0; i < t->n_dims; i++)
		n = t->dims[i] < 0 || t->dims[i] > MOST_TENSOR ? -1 : n < 0 || n > MOST_TENSOR ? -1 : n * t->dims[i];
	bytes = n < 0 ? -1 : type_bytes(onnx_elem_type(t->data_type), n);
	if (!t->has_raw_data || bytes < 0 || bytes > MOST_TENSOR)
		return;
	uint8_t *data = arena_alloc(c->m->arena, (size_t)bytes + 1);
	for (int64_t i = 0; i < bytes; i++)
		data[i] = t->raw_data.len ? t->raw_data.data[(size_t)i % t->raw_data.len] : 0;
	t->raw_data = (ProtobufCBinaryData){ (size_t)bytes, data };
}

/* Converts elements of typed fields to raw bytes: only one form to change. */
static void make_raw(struct change *c, Onnx__TensorProto *t)
{
	struct tensor value;
	struct err e = { 0 };
	if (t->has_raw_data || onnx_tensor_load(&value, t, NULL, c->m->arena, &e) < 0 || value.type == TYPE_STRING)
		return;
	Onnx__TensorProto *raw = onnx_tensor_store(&value, t->name, c->m->arena);
	raw->dims = t->dims;
	*t = *raw;
}

static void change_extent(struct change *c)
{
	Onnx__TensorProto *t = some_constant(c);
	if (!t)
		return;
	make_raw(c, t);
	unsigned how = draw(&c->d, 4);
	if (how < 2 && t->n_dims) {
		t->dims[draw(&c->d, t->n_dims)] = some_extent(c);
	} else if (how == 2 && t->n_dims) {
		t->n_dims--;
	} else if (t->n_dims < MOST_RANK) {
		int64_t *dims = NEWN(c->m->arena, int64_t, t->n_dims + 1);
		for (size_t i = 0; i < t->n_dims; i++)
			dims[i] = t->dims[i];
		dims[t->n_dims++] = draw(&c->d, 2) ? 1 : some_extent(c);
		t->dims = dims;
	}
	fit_bytes(c, t);
}

static void change_element(struct change *c)
{
	Onnx__TensorProto *t = some_constant(c);
	if (!t)
		return;
	make_raw(c, t);
	enum type type = onnx_elem_type(t->data_type);
	int64_t one = type_bytes(type, 1);
	if (!t->has_raw_data || !t->raw_data.len || one <= 0)
		return;
	uint8_t *data = arena_alloc(c->m->arena, t->raw_data.len + 16);
	memcpy(data, t->raw_data.data, t->raw_data.len);
	unsigned at = draw(&c->d, t->raw_data.len / (size_t)one);
	if (at * (size_t)one + (size_t)one <= t->raw_data.len) {
		if (type_is_float(type))
			type_store_float(type, data, at, some_float(c), false);
		else
			type_store_int(type, data, at,
			               draw(&c->d, 3) ? some_integer(c)
			                              : (int64_t)(1 + (uint64_t)type_load_int(type, data, at)));
	}
	t->raw_data.data = data;
}

/* ---- Types. */

static Onnx__TypeProto__Tensor *some_value_type(struct change *c)
{
	Onnx__ValueInfoProto *v = NULL;
	unsigned from = draw(&c->d, 8);
	if (from == 0 && c->g->n_value_info)
		v = c->g->value_info[draw(&c->d, c->g->n_value_info)];
	else if (from == 1 && c->g->n_output)
		v = c->g->output[draw(&c->d, c->g->n_output)];
	else if (c->g->n_input)
		v = c->g->input[draw(&c->d, c->g->n_input)];
	return v && v->type ? v->type->tensor_type : NULL;
}

static void change_dim(struct change *c, Onnx__TensorShapeProto__Dimension *d)
{
	static char *const some[] = { "N", "M", "K" };
	if (draw(&c->d, 5) == 0) {
		d->has_dim_value = false;
		d->dim_param = some[draw(&c->d, 3)];
	} else {
		d->has_dim_value = true;
		d->dim_value = some_extent(c);
		d->dim_param = NULL;
	}
}

static void change_shape(struct change *c)
{
	Onnx__TypeProto__Tensor *t = some_value_type(c);
	if (!t || !t->shape)
		return;
	Onnx__TensorShapeProto *s = t->shape;
	unsigned how = draw(&c->d, 8);
	if (how < 6 && s->n_dim) {
		change_dim(c, s->dim[draw(&c->d, s->n_dim)]);
	} else if (how == 6 && s->n_dim) {
		s->n_dim--;
	} else if (s->n_dim < MOST_RANK) {
		Onnx__TensorShapeProto__Dimension **dim =
		        NEWN(c->m->arena, Onnx__TensorShapeProto__Dimension *, s->n_dim + 1);
		for (size_t i = 0; i < s->n_dim; i++)
			dim[i] = s->dim[i];
		dim[s->n_dim] = NEW(c->m->arena, Onnx__TensorShapeProto__Dimension);
		onnx__tensor_shape_proto__dimension__init(dim[s->n_dim]);
		change_dim(c, dim[s->n_dim++]);
		s->dim = dim;
	}
}

static void change_type(struct change *c)
{
	Onnx__TypeProto__Tensor *t = some_value_type(c);
	if (t)
		t->elem_type = (int)some_type(c);
}

static void retype(struct change *c, Onnx__TensorProto *t, enum type from, enum type to)
{
	if (onnx_elem_type(t->data_type) != from)
		return;
	make_raw(c, t);
	t->data_type = (int)to;
	fit_bytes(c, t);
}

/* Changes all tensors of one type to another: nodes still accept their inputs. */
static void change_types(struct change *c)
{
	Onnx__TypeProto__Tensor *t = some_value_type(c);
	enum type from = t ? onnx_elem_type(t->elem_type) : TYPE_NONE, to = some_type(c);
	if (from == TYPE_NONE || to == TYPE_NONE || to == TYPE_STRING)
		return;
	for (size_t i = 0; i < c->g->n_input; i++) {
		Onnx__TypeProto *x = c->g->input[i]->type;
		if (x && x->tensor_type && x->tensor_type->elem_type == (int)from)
			x->tensor_type->elem_type = (int)to;
	}
	for (size_t i = 0; i < c->g->n_initializer; i++)
		retype(c, c->g->initializer[i], from, to);
	for (size_t i = 0; i < c->g->n_output; i++)
		c->g->output[i]->type = NULL;
	c->g->n_value_info = 0;
}

/* ---- Attributes. */

static void change_list(struct change *c, Onnx__AttributeProto *a)
{
	unsigned how = draw(&c->d, 4);
	if (how < 2 && a->n_ints) {
		a->ints[draw(&c->d, a->n_ints)] = some_integer(c);
	} else if (how == 2 && a->n_ints) {
		a->n_ints--;
	} else if (a->n_ints && a->n_ints < MOST_LIST) {
		int64_t *ints = NEWN(c->m->arena, int64_t, a->n_ints + 1);
		memcpy(ints, a->ints, a->n_ints * sizeof *ints);
		ints[a->n_ints++] = some_integer(c);
		a->ints = ints;
	}
	if (a->n_floats)
		a->floats[draw(&c->d, a->n_floats)] = some_float(c);
}

static void change_attribute(struct change *c)
{
	Onnx__AttributeProto *a = some_attribute(c);
	if (!a)
		return;
	if (a->has_i)
		a->i = draw(&c->d, 3) ? some_integer(c) : (int64_t)((uint64_t)a->i + draw(&c->d, 3) - 1);
	if (a->has_f)
		a->f = some_float(c);
	change_list(c, a);
}

static void drop_attribute(struct change *c)
{
	Onnx__NodeProto *n = some_node(c);
	if (n && n->n_attribute) {
		unsigned at = draw(&c->d, n->n_attribute);
		n->attribute[at] = n->attribute[--n->n_attribute];
	}
}

/* Returns one of the words "a|b|c". */
static const char *some_word(struct change *c, const char *words)
{
	int n = 1;
	for (const char *p = words; *p; p++)
		n += *p == '|';
	for (unsigned skip = draw(&c->d, (size_t)n); skip; skip--)
		words = strchr(words, '|') + 1;
	return arena_strndup(c->m->arena, words, strcspn(words, "|"));
}

/* Sets an attribute that the operator knows. */
static void set_attribute(struct change *c)
{
	Onnx__NodeProto *n = some_node(c);
	const struct op_def *op = n ? op_find(onnx_domain(n->domain), onnx_text(n->op_type)) : NULL;
	size_t known = 0;
	while (op && known < OP_MAX_ATTRS && op->attrs[known].kind)
		known++;
	if (!known)
		return;
	const struct op_attr *a = &op->attrs[draw(&c->d, known)];
	int64_t ints[4];
	int count = (int)draw(&c->d, 5);
	for (int i = 0; i < 4; i++)
		ints[i] = some_integer(c);
	if (a->kind == OP_INT)
		onnx_node_set_int(c->m, n, a->name, draw(&c->d, 2) ? (int64_t)draw(&c->d, 4) : some_integer(c));
	else if (a->kind == OP_FLOAT)
		onnx_node_set_float(c->m, n, a->name, some_float(c));
	else if (a->kind == OP_STRING && a->text)
		onnx_node_set_string(c->m, n, a->name, some_word(c, a->text));
	else if (a->kind == OP_INTS)
		onnx_node_set_ints(c->m, n, a->name, ints, count);
}

/* ---- Nodes. */

static const struct op_def *some_operator(struct change *c)
{
	size_t n = 0;
	while (op_all()[n])
		n++;
	return op_all()[draw(&c->d, n)];
}

static void import_domain(struct change *c, const struct op_def *op)
{
	if (op->domain && !op_any_domain(op))
		onnx_opset_import(c->m, op->domain, op->since[0] ? op->since[0] : 1);
}

static char *domain_of(const struct op_def *op)
{
	return drop_const(op->domain && !op_any_domain(op) ? op->domain : "");
}

static void rename_operator(struct change *c)
{
	Onnx__NodeProto *n = some_node(c);
	const struct op_def *op = some_operator(c);
	if (!n)
		return;
	n->op_type = drop_const(op->name);
	n->domain = domain_of(op);
	import_domain(c, op);
}

static void swap_inputs(struct change *c)
{
	Onnx__NodeProto *n = some_node(c);
	if (!n || n->n_input < 2)
		return;
	char **x = &n->input[draw(&c->d, n->n_input)], **y = &n->input[draw(&c->d, n->n_input)], *t = *x;
	*x = *y;
	*y = t;
}

static void connect(struct change *c)
{
	Onnx__NodeProto *n = some_node(c);
	char *name = draw(&c->d, 16) ? some_name(c) : "";
	if (!n || !name)
		return;
	unsigned how = draw(&c->d, 8);
	if (how == 0 && n->n_input)
		n->n_input--;
	else if (how == 1 && n->n_input < OP_MAX_INPUTS)
		onnx_node_input(c->m, n, name);
	else if (n->n_input)
		n->input[draw(&c->d, n->n_input)] = name;
}

/* Adds an operator after an existing value; its output is a result. */
static void add_node(struct change *c)
{
	const struct op_def *op = some_operator(c);
	if (c->g->n_node >= MOST_NODES)
		return;
	Onnx__NodeProto *n = onnx_node_new(c->m, domain_of(op), op->name, "");
	for (int i = 0; i < OP_MAX_INPUTS && op->inputs[i].kind; i++) {
		bool given =
		        op->inputs[i].kind == OP_REQUIRED || op->inputs[i].kind == OP_VARIADIC || draw(&c->d, 4) == 0;
		char *name = given ? some_name(c) : "";
		onnx_node_input(c->m, n, name ? name : "");
	}
	for (int i = 0; i < OP_MAX_OUTPUTS && op->outputs[i].kind; i++) {
		Onnx__ValueInfoProto *v = NEW(c->m->arena, Onnx__ValueInfoProto);
		onnx__value_info_proto__init(v);
		v->name = onnx_name_unique(c->m, "made");
		onnx_node_output(c->m, n, v->name);
		if (i == 0 || draw(&c->d, 2))
			onnx_graph_add_output(c->m, c->g, v);
	}
	onnx_graph_add_node(c->m, c->g, n);
	import_domain(c, op);
}

/* Drops a node; its inputs become results of the smaller model. */
static void drop_node(struct change *c)
{
	if (c->g->n_node < 2)
		return;
	unsigned at = draw(&c->d, c->g->n_node);
	Onnx__NodeProto *n = c->g->node[at], *other;
	const char *from = n->n_output ? n->output[0] : "", *to = n->n_input ? n->input[0] : NULL;
	c->g->node[at] = c->g->node[--c->g->n_node];
	for (size_t i = 0; to && i < c->g->n_node; i++) {
		other = c->g->node[i];
		for (size_t k = 0; k < other->n_input; k++)
			if (strcmp(onnx_text(other->input[k]), onnx_text(from)) == 0)
				other->input[k] = drop_const(to);
	}
}

static void change_opset(struct change *c)
{
	if (c->m->proto->n_opset_import) {
		Onnx__OperatorSetIdProto *o = c->m->proto->opset_import[draw(&c->d, c->m->proto->n_opset_import)];
		o->has_version = true;
		o->version = draw(&c->d, 16) ? 1 + (int64_t)draw(&c->d, ONNX_OPSET_VERSION) : some_integer(c);
	}
}

/* ---- The whole. */

static void (*const changes[])(struct change *) = {
	rename_operator, rename_operator, change_attribute, change_attribute, set_attribute, set_attribute,
	drop_attribute,  change_shape,    change_shape,     change_shape,     change_type,   change_types,
	change_types,    swap_inputs,     connect,          connect,          change_extent, change_extent,
	change_element,  change_element,  add_node,         drop_node,        change_opset,
};

/* Returns the main graph, or a body of one of its nodes. */
static Onnx__GraphProto *some_graph(struct change *c)
{
	c->g = c->m->proto->graph;
	for (int i = 0; i < 4; i++) {
		Onnx__AttributeProto *a = some_attribute(c);
		if (a && a->g && draw(&c->d, 2))
			return a->g;
	}
	return c->g;
}

/* Serialises the model; some of its bytes may be in `out` itself. */
static size_t pack(const struct onnx_model *m, uint8_t *out, size_t most)
{
	size_t n = onnx__model_proto__get_packed_size(m->proto);
	if (n > most)
		return 0;
	uint8_t *bytes = arena_alloc(m->arena, n + 1);
	onnx__model_proto__pack(m->proto, bytes);
	memcpy(out, bytes, n);
	return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	struct err e = { 0 };
	struct change c = { .d = { seed } };
	if (draw(&c.d, 50) == 0 || onnx_model_parse(&c.m, data, size, NULL, &e) < 0)
		return LLVMFuzzerMutate(data, size, most);
	for (unsigned i = 0, n = 1 + draw(&c.d, 4); i < n; i++) {
		c.g = some_graph(&c);
		changes[draw(&c.d, sizeof changes / sizeof *changes)](&c);
	}
	size_t n = pack(c.m, data, most);
	onnx_model_free(c.m);
	return n ? n : size;
}

/* ---- Two models. */

/* True if the graph has a value of that name. */
static bool has(struct onnx_model *m, const char *name)
{
	return onnx_value_find(onnx_index_new(m, NULL, m->arena), name) != NULL;
}

/* Copies values that a node of another model reads and this one lacks: constants, and inputs of its model. */
static void bring(struct change *c, const struct onnx_model *from, const char *name)
{
	const Onnx__GraphProto *g = from->proto->graph;
	for (size_t i = 0; i < g->n_initializer; i++)
		if (strcmp(onnx_text(g->initializer[i]->name), name) == 0)
			onnx_graph_add_initializer(c->m, c->g, g->initializer[i]);
	for (size_t i = 0; i < g->n_input; i++)
		if (strcmp(onnx_text(g->input[i]->name), name) == 0)
			onnx_graph_add_input(c->m, c->g, g->input[i]);
}

/* Adds a node of `from` after the nodes of `c`; its first input is often an existing value. */
static void splice(struct change *c, const struct onnx_model *from)
{
	const Onnx__GraphProto *g = from->proto->graph;
	if (!g->n_node || c->g->n_node >= MOST_NODES)
		return;
	Onnx__NodeProto *n = g->node[draw(&c->d, g->n_node)];
	char *name = some_name(c);
	if (n->n_input && name && draw(&c->d, 4))
		n->input[0] = name;
	for (size_t i = 0; i < n->n_input; i++)
		if (*onnx_text(n->input[i]) && !has(c->m, n->input[i]))
			bring(c, from, n->input[i]);
	for (size_t i = 0; i < n->n_output; i++) {
		Onnx__ValueInfoProto *v = NEW(c->m->arena, Onnx__ValueInfoProto);
		onnx__value_info_proto__init(v);
		v->name = n->output[i] = onnx_name_unique(c->m, "spliced");
		onnx_graph_add_output(c->m, c->g, v);
	}
	onnx_graph_add_node(c->m, c->g, n);
	const struct op_def *op = op_find(onnx_domain(n->domain), onnx_text(n->op_type));
	if (op)
		import_domain(c, op);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *x, size_t nx, const uint8_t *y, size_t ny, uint8_t *out, size_t most,
                                 unsigned seed)
{
	struct err e = { 0 };
	struct change c = { .d = { seed } };
	struct onnx_model *from;
	size_t n = 0;
	if (onnx_model_parse(&c.m, x, nx, NULL, &e) < 0)
		return 0;
	if (onnx_model_parse(&from, y, ny, NULL, &e) == 0) {
		c.g = c.m->proto->graph;
		splice(&c, from);
		n = pack(c.m, out, most);
		onnx_model_free(from);
	}
	onnx_model_free(c.m);
	return n;
}
