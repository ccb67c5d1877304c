/* ONNX Runtime's fused operators as the operators that it fused. */
#include <string.h>

#include "graph/graph_plain.h"

static void set_float(struct plain *p, Onnx__NodeProto *node, const char *name, float x)
{
	Onnx__AttributeProto *a =
	        onnx_node_attribute(p->g->model, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);

	a->has_f = 1;
	a->f = x;
}

/* The activation of a fused node, with its parameters in order. Null: an unknown one. */
static const char *activate(struct plain *p, const char *x)
{
	static const struct {
		const char *name, *first, *second;
	} known[] = {
		{ "Relu", NULL, NULL },
		{ "Tanh", NULL, NULL },
		{ "Sigmoid", NULL, NULL },
		{ "LeakyRelu", "alpha", NULL },
		{ "HardSigmoid", "alpha", "beta" },
		{ "Clip", "", "" },
	};
	const Onnx__AttributeProto *kind = onnx_attr(p->n->proto, "activation"),
	                           *with = onnx_attr(p->n->proto, "activation_params");
	Onnx__NodeProto *node;

	if (!kind)
		return x;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		size_t n = known[i].second ? 2 : known[i].first ? 1 : 0;

		if (strlen(known[i].name) != kind->s.len || memcmp(known[i].name, kind->s.data, kind->s.len) != 0 ||
		    (n && (!with || with->n_floats != n)))
			continue;
		if (strcmp(known[i].name, "Clip") == 0)
			return p->opset < 11 ? NULL
			                     : plain_op(p, "Clip", x, plain_number(p, TYPE_F32, with->floats[0]),
			                                plain_number(p, TYPE_F32, with->floats[1]));
		node = plain_node(p, known[i].name, x, NULL, NULL);
		if (n)
			set_float(p, node, known[i].first, with->floats[0]);
		if (n > 1)
			set_float(p, node, known[i].second, with->floats[1]);
		return plain_output(p, node);
	}
	return NULL;
}

bool plain_write_fused_conv(struct plain *p)
{
	const Onnx__NodeProto *n = p->n->proto;
	const struct graph_value *in = plain_input(p, 0);
	Onnx__NodeProto *node;
	const char *made;

	if (!in || in->type != TYPE_F32 || n->n_input < 2)
		return false;
	node = plain_like(p, "Conv");
	node->domain = NULL;
	plain_drop(node, "activation");
	plain_drop(node, "activation_params");
	for (size_t i = 0; i < n->n_input && i < 3; i++)
		onnx_node_input(p->g->model, node, n->input[i]);
	made = plain_output(p, node);
	if (n->n_input > 3 && *n->input[3]) /* added before the activation */
		made = plain_op(p, "Add", made, n->input[3], NULL);
	made = activate(p, made);
	return made && plain_result(p, 0, made);
}

static const char *swapped(struct plain *p, const struct graph_value *v)
{
	int64_t perm[IR_MAX_RANK];
	Onnx__NodeProto *node;

	for (int i = 0; i < v->rank; i++)
		perm[i] = i < v->rank - 2 ? i : 2 * v->rank - 3 - i;
	node = plain_node(p, "Transpose", v->name, NULL, NULL);
	onnx_node_set_ints(p->g->model, node, "perm", perm, v->rank);
	return plain_output(p, node);
}

bool plain_write_fused_product(struct plain *p)
{
	const struct graph_value *a = plain_input(p, 0), *b = plain_input(p, 1);
	float alpha = plain_float(p, "alpha", 1);
	const char *x, *y, *made;

	if (!a || !b || a->rank < 2 || b->rank < 2 || !plain_type(a->type) || plain_narrow(a->type) ||
	    plain_int(p, "transBatchA", 0) || plain_int(p, "transBatchB", 0))
		return false;
	x = plain_int(p, "transA", 0) ? swapped(p, a) : a->name;
	y = plain_int(p, "transB", 0) ? swapped(p, b) : b->name;
	made = plain_op(p, "MatMul", x, y, NULL);
	if (alpha != 1)
		made = plain_op(p, "Mul", made, plain_number(p, a->type, alpha), NULL);
	return plain_result(p, 0, made);
}

bool plain_write_fused_gemm(struct plain *p)
{
	Onnx__NodeProto *node = plain_like(p, "Gemm");
	const Onnx__AttributeProto *kind = onnx_attr(p->n->proto, "activation");
	static const char *const alone[] = { "Relu", "Tanh", "Sigmoid", "Softplus", "Softsign" };
	const char *made;

	node->domain = NULL;
	plain_drop(node, "activation");
	plain_drop(node, "activation_alpha");
	plain_drop(node, "activation_beta");
	plain_drop(node, "activation_gamma");
	plain_copy_inputs(p, node, 0);
	made = plain_output(p, node);
	for (size_t i = 0; kind && i < sizeof alone / sizeof *alone; i++)
		if (kind->s.len == strlen(alone[i]) && memcmp(alone[i], kind->s.data, kind->s.len) == 0)
			return plain_result(p, 0, plain_op(p, alone[i], made, NULL, NULL));
	return !kind && plain_result(p, 0, made);
}
