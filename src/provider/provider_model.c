/* Nodes of ONNX Runtime as a model of tpat. See provider.h. */
#include <string.h>

#include "provider/provider.h"

#define ASK(call) TRY(provider_check(h, h->api->call, e))

enum { OLDEST_IR = 8 }; /* constants need not be inputs, and functions have opsets */

struct making {
	struct onnx_model *model;
	const struct provider_host *host;
	bool borrow;
	struct arena *scratch;
	struct err *err;
};

/* The value's element type, rank and extents. TYPE_NONE: no tensor of tpat; *rank -1: unknown. */
static int read_type(enum type *type, int *rank, int64_t *dim, const char **symbol, const struct making *k,
                     const struct ort_value_info *v)
{
	const struct provider_host *h = k->host;
	struct err *e = k->err;
	const struct ort_type_info *any = NULL;
	const struct ort_tensor_info *info = NULL;
	size_t n = 0;
	int number = 0;
	*type = TYPE_NONE;
	*rank = -1;
	ASK(value_type(v, &any));
	if (any)
		ASK(tensor_type(any, &info));
	if (!info)
		return 0;
	ASK(element_type(info, &number));
	ASK(dim_count(info, &n));
	*type = provider_type(number);
	if (n > TENSOR_MAX_RANK || !h->api->has_shape(info))
		return 0;
	*rank = (int)n;
	ASK(dims(info, dim, n));
	ASK(symbols(info, symbol, n));
	for (size_t i = 0; i < n; i++)
		if (symbol[i] && !*symbol[i])
			symbol[i] = NULL;
	return 0;
}

static int value_info(Onnx__ValueInfoProto **out, const struct making *k, const struct ort_value_info *v)
{
	enum type type;
	int rank;
	int64_t dim[TENSOR_MAX_RANK];
	const char *symbol[TENSOR_MAX_RANK], *name;
	TRY(provider_value_name(&name, k->host, v, k->err));
	TRY(read_type(&type, &rank, dim, symbol, k, v));
	*out = onnx_value_info_new(k->model, name, type, rank, dim, symbol);
	if (type == TYPE_NONE)
		(*out)->type = NULL;
	return 0;
}

static int add_constant(const struct making *k, Onnx__GraphProto *to, const struct ort_value_info *v)
{
	const struct provider_host *h = k->host;
	struct err *e = k->err;
	const struct ort_value *value = NULL;
	const char *name;
	Onnx__TensorProto *t;
	TRY(provider_value_name(&name, h, v, e));
	ASK(value_initializer(v, &value));
	if (!value)
		return err_set(e, ERR_MODEL, "ONNX Runtime gives no value for the constant \"%s\".", name);
	TRY(provider_tensor(&t, k->model, h, name, value, k->borrow, e));
	onnx_graph_add_initializer(k->model, to, t);
	return 0;
}

/* ---- Nodes, and the graphs inside them. */

static int add_node(const struct making *k, Onnx__GraphProto *to, const struct ort_node *node);

static int make_body(Onnx__GraphProto **out, const struct making *k, const struct ort_graph *g)
{
	const struct provider_host *h = k->host;
	struct err *e = k->err;
	struct provider_nodes nodes;
	struct provider_values outputs;
	Onnx__GraphProto *to = onnx_graph_new(k->model, "body");
	Onnx__ValueInfoProto *info;
	size_t n;
	ASK(graph_input_count(g, &n));
	const struct ort_value_info **v = NEWN(k->scratch, const struct ort_value_info *, n + 1);
	ASK(graph_inputs(g, v, n));
	for (size_t i = 0; i < n; i++) {
		TRY(value_info(&info, k, v[i]));
		onnx_graph_add_input(k->model, to, info);
	}
	ASK(graph_initializer_count(g, &n));
	v = NEWN(k->scratch, const struct ort_value_info *, n + 1);
	ASK(graph_initializers(g, v, n));
	for (size_t i = 0; i < n; i++)
		TRY(add_constant(k, to, v[i]));
	TRY(provider_graph_nodes(&nodes, h, g, k->scratch, e));
	for (size_t i = 0; i < nodes.n; i++)
		TRY(add_node(k, to, nodes.at[i]));
	TRY(provider_graph_outputs(&outputs, h, g, k->scratch, e));
	for (size_t i = 0; i < outputs.n; i++) {
		TRY(value_info(&info, k, outputs.at[i]));
		onnx_graph_add_output(k->model, to, info);
	}
	*out = to;
	return 0;
}

static int add_bodies(const struct making *k, Onnx__NodeProto *to, const struct ort_node *node)
{
	const struct provider_host *h = k->host;
	struct err *e = k->err;
	size_t n;
	ASK(node_graph_count(node, &n));
	if (!n)
		return 0;
	const struct ort_graph **g = NEWN(k->scratch, const struct ort_graph *, n);
	const char **name = NEWN(k->scratch, const char *, n);
	ASK(node_graphs(node, g, n, name));
	for (size_t i = 0; i < n; i++) {
		Onnx__GraphProto *body;
		TRY(make_body(&body, k, g[i]));
		onnx_node_set_graph(k->model, to, name[i], body);
	}
	return 0;
}

static int add_node(const struct making *k, Onnx__GraphProto *to, const struct ort_node *node)
{
	const struct provider_host *h = k->host;
	struct err *e = k->err;
	const char *name, *type, *domain, *value;
	struct provider_io io;
	ASK(node_name(node, &name));
	ASK(node_type(node, &type));
	ASK(node_domain(node, &domain));
	TRY(provider_node_io(&io, h, node, k->scratch, e));
	Onnx__NodeProto *p = onnx_node_new(k->model, domain, type, name);
	for (size_t i = 0; i < io.in.n; i++) {
		TRY(provider_value_name(&value, h, io.in.at[i], e));
		onnx_node_input(k->model, p, value);
	}
	for (size_t i = 0; i < io.out.n; i++) {
		TRY(provider_value_name(&value, h, io.out.at[i], e));
		onnx_node_output(k->model, p, value);
	}
	TRY(provider_attrs(k->model, p, h, node, k->scratch, e));
	TRY(add_bodies(k, p, node));
	onnx_graph_add_node(k->model, to, p);
	return 0;
}

/* ---- The main graph. */

/* Makes a value that is read a constant or an input, unless it is known. */
static int add_read(const struct making *k, struct map *known, const struct ort_value_info *v)
{
	const struct provider_host *h = k->host;
	struct err *e = k->err;
	Onnx__GraphProto *to = k->model->proto->graph;
	Onnx__ValueInfoProto *info;
	const char *name;
	bool constant = false;
	TRY(provider_value_name(&name, h, v, e));
	if (!*name || map_get(known, name))
		return 0;
	map_put(known, name, v);
	ASK(value_is_constant(v, &constant));
	if (constant)
		return add_constant(k, to, v);
	TRY(value_info(&info, k, v));
	onnx_graph_add_input(k->model, to, info);
	return 0;
}

static int add_opsets(const struct making *k, const struct ort_graph *g)
{
	const struct provider_host *h = k->host;
	struct err *e = k->err;
	size_t n;
	ASK(graph_opset_count(g, &n));
	const char **domain = NEWN(k->scratch, const char *, n + 1);
	int64_t *version = NEWN(k->scratch, int64_t, n + 1);
	ASK(graph_opsets(g, domain, version, n));
	for (size_t i = 0; i < n; i++)
		onnx_opset_import(k->model, domain[i], version[i]);
	return 0;
}

static int make(const struct making *k, const struct provider_part *part)
{
	Onnx__GraphProto *to = k->model->proto->graph;
	Onnx__ValueInfoProto *info;
	const char *name;
	struct map known = map_new(k->scratch);
	struct provider_io *io = NEWN(k->scratch, struct provider_io, part->nodes.n + 1);
	TRY(add_opsets(k, part->graph));
	for (size_t i = 0; i < part->nodes.n; i++) {
		TRY(provider_node_io(&io[i], k->host, part->nodes.at[i], k->scratch, k->err));
		for (size_t j = 0; j < io[i].out.n; j++) {
			TRY(provider_value_name(&name, k->host, io[i].out.at[j], k->err));
			map_put(&known, name, part);
		}
	}
	for (size_t i = 0; i < part->nodes.n; i++) {
		for (size_t j = 0; j < io[i].in.n; j++)
			TRY(add_read(k, &known, io[i].in.at[j]));
		for (size_t j = 0; j < io[i].captured.n; j++)
			TRY(add_read(k, &known, io[i].captured.at[j]));
		TRY(add_node(k, to, part->nodes.at[i]));
		for (size_t j = 0; part->types && j < io[i].out.n; j++)
			if (io[i].out.at[j]) {
				TRY(value_info(&info, k, io[i].out.at[j]));
				onnx_graph_add_value_info(k->model, to, info);
			}
	}
	for (size_t i = 0; i < part->outputs.n; i++) {
		TRY(value_info(&info, k, part->outputs.at[i]));
		onnx_graph_add_output(k->model, to, info);
	}
	return onnx_model_check(k->model, k->err);
}

int provider_model(struct onnx_model **out, const struct provider_host *h, const struct provider_part *part,
                   struct arena *scratch, struct err *e)
{
	int64_t ir = 0;
	*out = NULL;
	ASK(graph_ir_version(part->graph, &ir));
	*out = onnx_model_new("ONNX Runtime's graph", ir < OLDEST_IR ? OLDEST_IR : ir);
	const struct making k = { *out, h, part->borrow, scratch, e };
	int rc = make(&k, part);
	if (rc < 0) {
		onnx_model_free(*out);
		*out = NULL;
	}
	return rc;
}
