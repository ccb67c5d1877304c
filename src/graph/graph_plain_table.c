/* Operators that mean the same as others with other types, attributes or inputs, which the engine then supports. */
#include <string.h>

#include "graph/graph_plain.h"

struct rewrite {
	const char *domain, *op;
	bool (*write)(struct plain *p);
	bool carried; /* also of nodes with carried tensors */
};

/* ---- Wider types: the node between casts, where the engine takes the operator in a type that holds all elements. */

static bool takes(const struct plain *p, enum type from, enum type to)
{
	const Onnx__NodeProto *n = p->n->proto;
	struct engine_value *v = NEWN(p->g->arena, struct engine_value, n->n_input + n->n_output + 1);
	const char *reason;
	struct engine_node e = {
		.proto = n, .domain = onnx_domain(n->domain), .value = v, .version = p->g->root->version->number
	};

	for (size_t i = 0; i < n->n_input + n->n_output; i++) {
		const struct graph_value *x =
		        graph_value_find(p->g, i < n->n_input ? n->input[i] : n->output[i - n->n_input]);

		v[i].name = i < n->n_input ? n->input[i] : n->output[i - n->n_input];
		v[i].type = x ? x->type == from ? to : x->type : TYPE_NONE;
		v[i].rank = x ? x->rank : -1;
		v[i].known = !x || x->is_constant || x->content;
	}
	return p->g->engine->support(&e, &reason, p->g->arena) != ENGINE_NO;
}

/* Operators that compute no new integers, so that a wider type gives the same ones. */
static bool only_moves(const char *op)
{
	static const char *const list[] = { "Clip", "DepthToSpace", "SpaceToDepth", "ReduceMax", "ReduceMin",
		                            "Max",  "Min",          "MaxPool",      "Mod",       "TensorScatter" };

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (strcmp(op, list[i]) == 0)
			return true;
	return false;
}

static enum type wider(enum type t, bool moves)
{
	if (t == TYPE_F16 || t == TYPE_BF16)
		return TYPE_F32;
	return moves && (t == TYPE_BOOL || t == TYPE_I8) ? TYPE_I32 : TYPE_NONE;
}

static bool write_wider(struct plain *p)
{
	const Onnx__NodeProto *n = p->n->proto;
	const struct graph_value *first = plain_input(p, 0);
	enum type from = first ? first->type : TYPE_NONE, to = wider(from, only_moves(n->op_type));
	Onnx__NodeProto *node;

	if (!to || p->n->function || p->n->bodies.n || !p->n->op || !takes(p, from, to))
		return false;
	node = onnx_node_new(p->g->model, n->domain, n->op_type, arena_printf(p->g->model->arena, "%s_wide", p->stem));
	for (size_t i = 0; i < n->n_input; i++) {
		struct graph_value *v = plain_input(p, i);
		bool carried = v && plain_carrier_of(p, v->name) != PLAIN_AS_IS;

		if (carried && v->type != from)
			return false;
		onnx_node_input(p->g->model, node,
		                v && v->type == from ? plain_cast(p, carried ? plain_read(p, v) : v->name, to)
		                                     : n->input[i]);
	}
	node->attribute = n->attribute;
	node->n_attribute = n->n_attribute;
	vec_push(p->g->arena, &p->nodes, node);
	for (size_t i = 0; i < n->n_output; i++) {
		const struct graph_value *v = plain_made(p, i);

		if (!v || v->type != from) {
			onnx_node_output(p->g->model, node, n->output[i]);
			continue;
		}
		if (!plain_result(p, (int)i, plain_cast(p, plain_output(p, node), plain_type(from))))
			return false;
	}
	return true;
}

/* ---- uint8 with the zero point 128 as int8 with the zero point 0. */

static bool is_128(struct graph *g, struct graph_value *v)
{
	const struct tensor *t;
	struct err ignored = { 0 };

	if (!v || v->type != TYPE_U8 || !v->is_constant || graph_constant(&t, g, v, &ignored) < 0 ||
	    tensor_count(t) > GRAPH_DATA_MAX)
		return false;
	for (int64_t i = 0; i < tensor_count(t); i++)
		if (tensor_int(t, i) != 128)
			return false;
	return tensor_count(t) > 0;
}

/* Operators that only move or compare elements, so that floats can take the place of narrow integers. */
static bool moves_any(const char *op)
{
	static const char *const list[] = { "Identity",     "Reshape",     "Transpose", "Squeeze",  "Unsqueeze",
		                            "Flatten",      "Concat",      "Slice",     "Gather",   "Expand",
		                            "Tile",         "Split",       "Where",     "GatherND", "GatherElements",
		                            "MaxPool",      "Clip",        "Relu",      "Max",      "Min",
		                            "DepthToSpace", "SpaceToDepth" };

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (strcmp(op, list[i]) == 0)
			return true;
	return false;
}

/* Operators of moves_any() whose results change if the same number is subtracted from all elements. */
static bool compares(const char *op)
{
	return strcmp(op, "Relu") == 0 || strcmp(op, "Clip") == 0 || strcmp(op, "Max") == 0 || strcmp(op, "Min") == 0;
}

bool plain_shifts(struct graph *g, const struct graph_node *n)
{
	const char *op = onnx_text(n->proto->op_type);
	bool quantise = strcmp(op, "QuantizeLinear") == 0 || strcmp(op, "DequantizeLinear") == 0;

	if (*onnx_domain(n->proto->domain))
		return false;
	return quantise ? n->proto->n_input > 2 && is_128(g, graph_value_find(g, n->proto->input[2]))
	                : moves_any(op) && !compares(op);
}

/* The constant, less by 128. */
static const char *shifted(struct plain *p, struct graph_value *v)
{
	const struct tensor *t;
	struct tensor copy;
	struct err ignored = { 0 };

	if (graph_constant(&t, p->g, v, &ignored) < 0 ||
	    tensor_new(&copy, TYPE_I8, t->rank, t->dim, p->g->arena, &ignored) < 0)
		return NULL;
	for (int64_t i = 0; i < tensor_count(t); i++)
		((unsigned char *)copy.data)[i] = ((const unsigned char *)t->data)[i] ^ 0x80;
	return plain_tensor(p, &copy);
}

static bool write_shifted(struct plain *p)
{
	const Onnx__NodeProto *n = p->n->proto;
	bool to = strcmp(n->op_type, "QuantizeLinear") == 0;
	struct graph_value *bytes = to ? plain_made(p, 0) : plain_input(p, 0);
	const char *in = n->input[0], *zero;
	Onnx__NodeProto *node;

	if (!plain_shifts(p->g, p->n) || !bytes || bytes->type != TYPE_U8)
		return false;
	if (bytes->is_constant && !to)
		in = shifted(p, bytes);
	else if (plain_carrier_of(p, bytes->name) != PLAIN_SHIFTED)
		return false;
	else if (!to)
		in = plain_name(p, bytes->name);
	zero = shifted(p, plain_input(p, 2));
	if (!in || !zero)
		return false;
	node = plain_like(p, n->op_type);
	plain_drop(node, "output_dtype");
	onnx_node_input(p->g->model, node, in);
	onnx_node_input(p->g->model, node, n->input[1]);
	onnx_node_input(p->g->model, node, zero);
	onnx_node_output(p->g->model, node, to ? plain_name(p, n->output[0]) : n->output[0]);
	return true;
}

/* ---- Nodes that take floats in place of narrow integers: they only move or compare elements. */

static bool write_carried(struct plain *p)
{
	const Onnx__NodeProto *n = p->n->proto;
	const char **in = NEWN(p->g->arena, const char *, n->n_input + 1);
	Onnx__NodeProto *node;
	bool any = false, shifts = false;
	uint32_t types = 0;

	if (*onnx_domain(n->domain) || !moves_any(n->op_type))
		return false;
	for (size_t i = 0; i < n->n_input + n->n_output; i++)
		shifts |=
		        plain_carrier_of(p, i < n->n_input ? n->input[i] : n->output[i - n->n_input]) == PLAIN_SHIFTED;
	for (size_t i = 0; i < n->n_input; i++) {
		struct graph_value *v = plain_input(p, i);
		bool narrow = v && plain_narrow(v->type);

		in[i] = !narrow          ? n->input[i]
		        : !shifts        ? plain_read(p, v)
		        : v->is_constant ? shifted(p, v)
		                         : plain_name(p, v->name);
		any |= narrow;
		types |= narrow ? 1u << v->type : 0;
		if (!in[i])
			return false;
	}
	if (!any || (shifts && types != 1u << TYPE_U8))
		return false;
	node = plain_like(p, n->op_type);
	for (size_t i = 0; i < n->n_input; i++)
		onnx_node_input(p->g->model, node, in[i]);
	for (size_t i = 0; i < n->n_output; i++) {
		const struct graph_value *v = plain_made(p, i);

		if (!v || !plain_narrow(v->type) || shifts)
			onnx_node_output(p->g->model, node, plain_name(p, n->output[i]));
		else if (!plain_result(p, (int)i, plain_output(p, node)))
			return false;
	}
	return true;
}

/* ---- Weights that are quantised with a zero point: they stay bytes in the model, and the engine computes them once.
 */

bool plain_keeps_size(const struct graph *g, const struct graph_node *n)
{
	const struct graph_value *v = n->proto->n_input ? graph_value_find(g, n->proto->input[0]) : NULL;

	return v && !*onnx_domain(n->proto->domain) && strcmp(n->proto->op_type, "DequantizeLinear") == 0 &&
	       (v->type == TYPE_U8 || v->type == TYPE_I8) && v->is_constant && v->rank >= 0 && !graph_is_small(v);
}

/* A scale or zero point for elements along the node's axis, as a constant that broadcasts. Null: not possible. */
static const char *along_axis(struct plain *p, struct graph_value *v, int rank, int add)
{
	int64_t dim[IR_MAX_RANK], axis = plain_int(p, "axis", 1);
	struct err ignored = { 0 };
	const struct tensor *t;
	struct tensor copy;

	if (!v || v->rank > 1 || graph_constant(&t, p->g, v, &ignored) < 0)
		return NULL;
	axis += axis < 0 ? rank : 0;
	for (int i = 0; i < rank; i++)
		dim[i] = v->rank == 1 && i == axis ? t->dim[0] : 1;
	if (tensor_new(&copy, TYPE_F32, v->rank ? rank : 0, dim, p->g->arena, &ignored) < 0 ||
	    tensor_count(&copy) != tensor_count(t))
		return NULL;
	for (int64_t i = 0; i < tensor_count(t); i++)
		tensor_set_float(&copy, i, tensor_float(t, i) + add);
	return plain_tensor(p, &copy);
}

static bool write_weight(struct plain *p)
{
	struct graph_value *v = plain_input(p, 0), *zero = plain_input(p, 2);
	const struct graph_value *out = plain_made(p, 0);
	int less = v && v->type == TYPE_U8 ? 128 : 0;
	const char *made, *scale, *from;

	if (!v || !plain_keeps_size(p->g, p->n) || !out || out->type != TYPE_F32 || plain_int(p, "block_size", 0))
		return false;
	made = plain_cast(p, less ? shifted(p, v) : v->name, TYPE_F32);
	scale = along_axis(p, plain_input(p, 1), v->rank, 0);
	from = zero ? along_axis(p, zero, v->rank, -less) : plain_number(p, TYPE_F32, -less);
	if (!made || !scale || !from)
		return false;
	return plain_result(p, 0, plain_op(p, "Mul", plain_op(p, "Sub", made, from, NULL), scale, NULL));
}

/* ---- Inputs of other types. */

/* Slice with positions in int32. */
static bool write_slice(struct plain *p)
{
	Onnx__NodeProto *node;

	if (p->n->proto->n_input < 3)
		return false;
	const char *in[5] = { 0 };
	for (size_t i = 1; i < p->n->proto->n_input && i < 5; i++) {
		struct graph_value *v = plain_input(p, i);
		const struct tensor *t;
		struct tensor wide;
		struct err ignored = { 0 };

		in[i] = p->n->proto->input[i];
		if (!v || v->type != TYPE_I32)
			continue;
		if (v->is_constant && graph_constant(&t, p->g, v, &ignored) == 0 &&
		    tensor_convert(&wide, t, TYPE_I64, p->g->arena, &ignored) == 0)
			in[i] = plain_tensor(p, &wide);
		else
			in[i] = plain_cast(p, v->name, TYPE_I64);
	}
	node = plain_like(p, "Slice");
	onnx_node_input(p->g->model, node, p->n->proto->input[0]);
	for (size_t i = 1; i < p->n->proto->n_input && i < 5; i++)
		onnx_node_input(p->g->model, node, in[i]);
	plain_copy_outputs(p, node);
	return true;
}

/* ---- Other attributes. */

/* Unsorted results may have any order, also the sorted one. */
static bool write_top_k(struct plain *p)
{
	Onnx__NodeProto *node;

	if (plain_int(p, "sorted", 1))
		return false;
	node = plain_like(p, "TopK");
	plain_drop(node, "sorted");
	plain_copy_inputs(p, node, 0);
	plain_copy_outputs(p, node);
	return true;
}

/* Squeeze of all axes of length 1; those of open extent stay, as in the engine. */
static bool write_squeeze(struct plain *p)
{
	const struct graph_value *in = plain_input(p, 0);
	int64_t axis[IR_MAX_RANK], extent;
	const char *made;
	int n = 0;

	if (p->n->proto->n_input > 1 || onnx_attr(p->n->proto, "axes") || !in || in->rank < 0)
		return false;
	for (int i = 0; i < in->rank; i++) {
		if (!ir_const_int(in->dim[i], &extent) && !p->g->root->engine_ranks)
			return false;
		if (ir_is_int(in->dim[i], 1))
			axis[n++] = i;
	}
	made = n ? plain_with_axes(p, "Squeeze", in->name, axis, n, 13) : plain_op(p, "Identity", in->name, NULL, NULL);
	return plain_result(p, 0, made);
}

/* Cuts the middle of longer axes, pads shorter ones on both sides. */
static bool write_crop_pad(struct plain *p)
{
	const struct graph_value *in = plain_input(p, 0), *out = plain_made(p, 0);
	int64_t start[IR_MAX_RANK], end[IR_MAX_RANK], axis[IR_MAX_RANK], pads[2 * IR_MAX_RANK] = { 0 }, a, b;
	const char *made = in ? in->name : NULL;
	bool padded = false;
	int n = 0;

	if (!in || !out || in->rank < 0 || out->rank != in->rank || p->opset < 13)
		return false;
	for (int i = 0; i < in->rank; i++) {
		if (in->dim[i] == out->dim[i])
			continue;
		if (!ir_const_int(in->dim[i], &a) || !ir_const_int(out->dim[i], &b))
			return false;
		if (a > b) {
			axis[n] = i;
			start[n] = (a - b) / 2;
			end[n] = start[n] + b;
			n++;
		} else {
			pads[i] = (b - a) / 2;
			pads[in->rank + i] = b - a - pads[i];
			padded = true;
		}
	}
	if (n) {
		Onnx__NodeProto *node = plain_node(p, "Slice", made, plain_ints(p, start, n), plain_ints(p, end, n));

		onnx_node_input(p->g->model, node, plain_ints(p, axis, n));
		made = plain_output(p, node);
	}
	if (padded)
		made = plain_op(p, "Pad", made, plain_ints(p, pads, 2 * in->rank), NULL);
	if (made == in->name)
		made = plain_op(p, "Identity", made, NULL, NULL);
	return plain_result(p, 0, made);
}

/* 1 where a uniform number is below the probability. */
static bool write_bernoulli(struct plain *p)
{
	struct graph_value *in = plain_input(p, 0), *out = plain_made(p, 0);
	Onnx__NodeProto *node;
	const char *one;

	if (!in || !out || in->type != TYPE_F32 || !plain_type(out->type) || plain_narrow(out->type))
		return false;
	node = plain_node(p, "RandomUniformLike", in->name, NULL, NULL);
	if (onnx_attr(p->n->proto, "seed")) {
		Onnx__AttributeProto *seed =
		        onnx_node_attribute(p->g->model, node, "seed", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);

		seed->has_f = 1;
		seed->f = plain_float(p, "seed", 0);
	}
	one = plain_op(p, "Less", plain_output(p, node), in->name, NULL);
	if (out->type != TYPE_BOOL)
		one = plain_cast(p, one, out->type);
	return plain_result(p, 0, one);
}

/* ---- The table. */

static const struct rewrite rewrites[] = {
	{ "", "QuantizeLinear", write_shifted, true },
	{ "", "DequantizeLinear", write_shifted, true },
	{ "", "DequantizeLinear", write_weight, true },
	{ "", "Slice", write_slice, false },
	{ "", "TopK", write_top_k, false },
	{ "", "Squeeze", write_squeeze, false },
	{ "", "CenterCropPad", write_crop_pad, false },
	{ "", "Bernoulli", write_bernoulli, false },
	{ "com.microsoft", "FusedConv", plain_write_fused_conv, false },
	{ "com.microsoft", "FusedMatMul", plain_write_fused_product, false },
	{ "com.microsoft", "TransposeMatMul", plain_write_fused_product, false },
	{ "com.microsoft", "FusedGemm", plain_write_fused_gemm, false },
};

/* Forgets what a rewrite has written. */
static void clear(struct plain *p)
{
	p->nodes.n = p->constants.n = p->names = 0;
	p->known = map_new(p->g->arena);
	p->renamed = map_new(p->g->arena);
}

static bool has_carried(const struct plain *p)
{
	const Onnx__NodeProto *n = p->n->proto;
	bool any = false;

	for (size_t i = 0; i < n->n_input + n->n_output; i++)
		any |= plain_carrier_of(p, i < n->n_input ? n->input[i] : n->output[i - n->n_input]) != PLAIN_AS_IS;
	return any;
}

bool plain_from_table(struct plain *p)
{
	const char *domain = onnx_domain(p->n->proto->domain), *op = onnx_text(p->n->proto->op_type);

	if (p->n->function)
		return false;
	bool carried = has_carried(p);
	for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites; i++) {
		if (strcmp(rewrites[i].domain, domain) != 0 || strcmp(rewrites[i].op, op) != 0 ||
		    (carried && !rewrites[i].carried))
			continue;
		if (rewrites[i].write(p))
			return true;
		clear(p);
	}
	if (write_carried(p))
		return true;
	clear(p);
	if (write_wider(p))
		return true;
	clear(p);
	return false;
}
