/* Changing a graph: initializers dropped, functions added. See onnx.h. */
#include "onnx/onnx_internal.h"

#include <string.h>

/* ------------------------------------------------------------------ unused initializers */

static void use_entries(struct map *used, Onnx__StringStringEntryProto *const *entry, size_t n)
{
	for (size_t i = 0; i < n; i++)
		map_put(used, onnx_text(entry[i]->value), used);
}

struct map onnx_graph_reads(const Onnx__GraphProto *g, struct arena *a)
{
	struct map used = map_new(a);
	for (size_t i = 0; i < g->n_node; i++) {
		struct map inner = onnx_node_captures(g->node[i], a);
		for (size_t k = 0; k < g->node[i]->n_input; k++)
			map_put(&used, g->node[i]->input[k], a);
		for (int k = 0; k < inner.n; k++)
			map_put(&used, inner.entry[k].name, a);
	}
	for (size_t i = 0; i < g->n_output; i++)
		map_put(&used, onnx_text(g->output[i]->name), a);
	for (size_t i = 0; i < g->n_quantization_annotation; i++)
		use_entries(&used, g->quantization_annotation[i]->quant_parameter_tensor_names,
		            g->quantization_annotation[i]->n_quant_parameter_tensor_names);
	return used;
}

static void drop_value_infos(Onnx__GraphProto *g, struct arena *a)
{
	struct map known = map_new(a);
	size_t kept = 0;
	for (size_t i = 0; i < g->n_node; i++)
		for (size_t k = 0; k < g->node[i]->n_output; k++)
			map_put(&known, g->node[i]->output[k], a);
	for (size_t i = 0; i < g->n_input; i++)
		map_put(&known, onnx_text(g->input[i]->name), a);
	for (size_t i = 0; i < g->n_initializer; i++)
		map_put(&known, onnx_text(g->initializer[i]->name), a);
	for (size_t i = 0; i < g->n_sparse_initializer; i++)
		if (g->sparse_initializer[i]->values)
			map_put(&known, onnx_text(g->sparse_initializer[i]->values->name), a);
	for (size_t i = 0; i < g->n_value_info; i++)
		if (map_get(&known, onnx_text(g->value_info[i]->name)))
			g->value_info[kept++] = g->value_info[i];
	g->n_value_info = kept;
}

void onnx_graph_bind_input(struct onnx_model *m, Onnx__GraphProto *g, int input, Onnx__TensorProto *t)
{
	size_t kept = 0;
	for (size_t i = 0; i < g->n_initializer; i++)
		if (strcmp(onnx_text(g->initializer[i]->name), onnx_text(t->name)) != 0)
			g->initializer[kept++] = g->initializer[i];
	g->n_initializer = kept;
	g->n_input--;
	memmove(g->input + input, g->input + input + 1, (g->n_input - (size_t)input) * sizeof *g->input);
	onnx_graph_add_initializer(m, g, t);
	onnx_ir_raise(m, 4); /* older versions require every initializer to be an input too */
}

int onnx_graph_drop_unused(struct onnx_model *m, Onnx__GraphProto *g)
{
	struct arena *scratch = arena_new();
	struct map used = onnx_graph_reads(g, scratch), dropped = map_new(scratch);
	size_t kept = 0, inputs = 0, sparse = 0;
	int n = 0;
	/* Training graphs read and write the initializers of the graph by name. */
	for (size_t i = 0; i < m->proto->n_training_info; i++) {
		const Onnx__TrainingInfoProto *t = m->proto->training_info[i];
		use_entries(&used, t->initialization_binding, t->n_initialization_binding);
		use_entries(&used, t->update_binding, t->n_update_binding);
		for (size_t k = 0; k < t->n_update_binding; k++)
			map_put(&used, onnx_text(t->update_binding[k]->key), m);
		for (size_t k = 0; k < t->n_initialization_binding; k++)
			map_put(&used, onnx_text(t->initialization_binding[k]->key), m);
		struct map inner = t->algorithm ? onnx_graph_reads(t->algorithm, scratch) : map_new(scratch);
		for (int k = 0; k < inner.n; k++)
			map_put(&used, inner.entry[k].name, m);
	}
	for (size_t i = 0; i < g->n_initializer; i++) {
		const char *name = onnx_text(g->initializer[i]->name);
		if (map_get(&used, name))
			g->initializer[kept++] = g->initializer[i];
		else
			map_put(&dropped, name, m);
	}
	for (size_t i = 0; i < g->n_sparse_initializer; i++) {
		const Onnx__SparseTensorProto *s = g->sparse_initializer[i];
		const char *name = s->values ? onnx_text(s->values->name) : "";
		if (map_get(&used, name))
			g->sparse_initializer[sparse++] = g->sparse_initializer[i];
		else
			map_put(&dropped, name, m);
	}
	for (size_t i = 0; i < g->n_input; i++) /* a subgraph's inputs are positional */
		if (g != m->proto->graph || !map_get(&dropped, onnx_text(g->input[i]->name)))
			g->input[inputs++] = g->input[i];
	n = (int)(g->n_initializer - kept + g->n_sparse_initializer - sparse);
	g->n_initializer = kept;
	g->n_sparse_initializer = sparse;
	g->n_input = inputs;
	drop_value_infos(g, scratch);
	arena_free(scratch);
	return n;
}

/* ------------------------------------------------------------------ functions */

static char **copy_names(struct onnx_model *m, const char *const *name, int n)
{
	char **out = NEWN(m->arena, char *, n);
	for (int i = 0; i < n; i++)
		out[i] = arena_strdup(m->arena, name[i]);
	return out;
}

static void import_in_function(struct onnx_model *m, Onnx__FunctionProto *f, const char *domain)
{
	for (size_t i = 0; i < f->n_opset_import; i++)
		if (strcmp(f->opset_import[i]->domain, onnx_domain(domain)) == 0)
			return;
	onnx_array_push(m, &f->opset_import, &f->n_opset_import,
	                onnx_opset_new(m, onnx_domain(domain), onnx_opset(m, domain)));
}

/* ONNX Runtime knows ONNX's domain in functions only as "". */
static int drop_alias(void *arg, ProtobufCMessage *message)
{
	Onnx__NodeProto *node = (Onnx__NodeProto *)message;
	(void)arg;
	if (node->domain && !*onnx_domain(node->domain))
		node->domain = NULL;
	return 0;
}

Onnx__FunctionProto *onnx_function_new(struct onnx_model *m, const char *domain, const char *name,
                                       const char *const *input, int inputs, const char *const *output, int outputs,
                                       Onnx__NodeProto *const *node, int nodes)
{
	Onnx__FunctionProto *f = NEW(m->arena, Onnx__FunctionProto);
	onnx__function_proto__init(f);
	f->domain = arena_strdup(m->arena, onnx_domain(domain));
	f->name = arena_strdup(m->arena, name);
	f->input = copy_names(m, input, inputs);
	f->n_input = (size_t)inputs;
	f->output = copy_names(m, output, outputs);
	f->n_output = (size_t)outputs;
	f->node = NEWN(m->arena, Onnx__NodeProto *, nodes);
	f->n_node = (size_t)nodes;
	for (int i = 0; i < nodes; i++)
		f->node[i] = node[i];
	for (size_t i = 0; i < m->proto->n_opset_import; i++)
		import_in_function(m, f, m->proto->opset_import[i]->domain);
	if (!m->proto->n_opset_import && onnx_opset(m, ""))
		import_in_function(m, f, "");
	onnx_visit(&f->base, &onnx__node_proto__descriptor, drop_alias, NULL);
	return f;
}

int onnx_model_add_function(struct onnx_model *m, Onnx__FunctionProto *f, struct err *e)
{
	for (size_t i = 0; i < m->proto->n_functions; i++) {
		const Onnx__FunctionProto *other = m->proto->functions[i];
		if (strcmp(onnx_text(other->name), onnx_text(f->name)) != 0)
			continue;
		err_set(e, ERR_USAGE, "%s: the model has a function \"%s\" already (domain \"%s\").", m->path,
		        onnx_text(f->name), onnx_text(other->domain));
		return err_advise(e, "Choose another name: an engine matches functions by name alone.");
	}
	onnx_ir_raise(m, 8); /* the first version with functions */
	if (*onnx_domain(f->domain))
		onnx_opset_import(m, f->domain, 1);
	onnx_array_push(m, &m->proto->functions, &m->proto->n_functions, f);
	onnx_name_use(m, onnx_text(f->name));
	return 0;
}

Onnx__FunctionProto *onnx_function_find(const struct onnx_model *m, const char *domain, const char *name,
                                        const char *overload)
{
	for (size_t i = 0; i < m->proto->n_functions; i++) {
		Onnx__FunctionProto *f = m->proto->functions[i];
		if (strcmp(onnx_text(f->name), name) == 0 && strcmp(onnx_domain(f->domain), onnx_domain(domain)) == 0 &&
		    strcmp(onnx_text(f->overload), onnx_text(overload)) == 0)
			return f;
	}
	return NULL;
}
