/* A model: read, made, freed; its opsets and IR version. See onnx.h. */
#include "onnx/onnx_internal.h"

#include <string.h>

static struct onnx_model *model_new(const char *path, const char *dir)
{
	struct arena *a = arena_new();
	struct onnx_model *m = NEW(a, struct onnx_model);
	m->arena = a;
	m->path = arena_strdup(a, path);
	m->dir = dir ? arena_strdup(a, dir) : NULL;
	m->external = map_new(a);
	m->names = map_new(a);
	m->room = map_new(a);
	return m;
}

struct onnx_model *onnx_model_new(const char *path, int64_t ir_version)
{
	struct onnx_model *m = model_new(path, NULL);
	m->proto = NEW(m->arena, Onnx__ModelProto);
	onnx__model_proto__init(m->proto);
	m->proto->has_ir_version = 1;
	m->proto->ir_version = ir_version;
	m->proto->graph = onnx_graph_new(m, "graph");
	return m;
}

static int parse(struct onnx_model *m, const void *data, size_t size, struct err *e)
{
	ProtobufCMessage *message = NULL;
	int rc = onnx_wire_unpack(&message, &onnx__model_proto__descriptor, data, size, m->path, m->arena, e);
	if (rc == 0) {
		m->proto = (Onnx__ModelProto *)message;
		if (!m->proto->graph)
			rc = err_set(e, ERR_MODEL,
			             "%s: is not an ONNX model, or is cut off: there is no graph in its %zu bytes.",
			             m->path, size);
	}
	if (rc < 0)
		onnx_advise_kind(data, size, m->path, e);
	return rc;
}

int onnx_model_parse(struct onnx_model **out, const void *data, size_t size, const char *dir, struct err *e)
{
	struct onnx_model *m = model_new("model", dir);
	int rc = parse(m, data, size, e);
	if (rc < 0) {
		onnx_model_free(m);
		m = NULL;
	}
	*out = m;
	return rc;
}

int onnx_model_read(struct onnx_model **out, const char *path, struct err *e)
{
	struct onnx_model *m = model_new(path, NULL);
	int rc = file_map_open(&m->file, path, e);
	m->dir = path_dir(m->arena, path);
	if (rc == 0)
		rc = parse(m, m->file.data, m->file.size, e);
	if (rc < 0) {
		onnx_model_free(m);
		m = NULL;
	}
	*out = m;
	return rc;
}

void onnx_model_free(struct onnx_model *m)
{
	if (!m)
		return;
	for (int i = 0; i < m->external.n; i++)
		file_map_close(m->external.entry[i].value);
	file_map_close(&m->file);
	arena_free(m->arena);
}

/* If a domain is imported twice, as "" and "ai.onnx" can be, ONNX takes the higher version. */
static const Onnx__OperatorSetIdProto *find_import(const struct onnx_model *m, const char *domain)
{
	const Onnx__OperatorSetIdProto *found = NULL;
	for (size_t i = 0; i < m->proto->n_opset_import; i++) {
		const Onnx__OperatorSetIdProto *o = m->proto->opset_import[i];
		if (strcmp(onnx_domain(o->domain), onnx_domain(domain)) == 0 && (!found || o->version > found->version))
			found = o;
	}
	return found;
}

int64_t onnx_opset(const struct onnx_model *m, const char *domain)
{
	const Onnx__OperatorSetIdProto *o = find_import(m, domain);
	if (o)
		return o->version;
	/* Files before IR 3 have no opset field and mean version 1. */
	return !*onnx_domain(domain) && m->proto->ir_version > 0 && m->proto->ir_version < 3;
}

Onnx__OperatorSetIdProto *onnx_opset_new(struct onnx_model *m, const char *domain, int64_t version)
{
	Onnx__OperatorSetIdProto *o = NEW(m->arena, Onnx__OperatorSetIdProto);
	onnx__operator_set_id_proto__init(o);
	o->domain = arena_strdup(m->arena, domain);
	o->has_version = 1;
	o->version = version;
	return o;
}

void onnx_opset_import(struct onnx_model *m, const char *domain, int64_t version)
{
	if (!find_import(m, domain))
		onnx_array_push(m, &m->proto->opset_import, &m->proto->n_opset_import,
		                onnx_opset_new(m, onnx_domain(domain), version));
}

void onnx_graph_drop_placeholders(Onnx__GraphProto *g)
{
	struct arena *scratch = arena_new();
	struct map constant = map_new(scratch);
	size_t kept = 0;
	for (size_t i = 0; i < g->n_initializer; i++)
		map_put(&constant, onnx_text(g->initializer[i]->name), g);
	for (size_t i = 0; i < g->n_sparse_initializer; i++)
		if (g->sparse_initializer[i]->values)
			map_put(&constant, onnx_text(g->sparse_initializer[i]->values->name), g);
	for (size_t i = 0; i < g->n_input; i++)
		if (!map_get(&constant, onnx_text(g->input[i]->name)))
			g->input[kept++] = g->input[i];
	g->n_input = kept;
	arena_free(scratch);
}

void onnx_ir_raise(struct onnx_model *m, int64_t version)
{
	int64_t now = m->proto->has_ir_version ? m->proto->ir_version : 0;
	if (now >= version)
		return;
	if (now < 4 && version >= 4)
		onnx_graph_drop_placeholders(m->proto->graph);
	if (now < 3 && version >= 3 && onnx_opset(m, ""))
		onnx_opset_import(m, "", onnx_opset(m, "")); /* the implicit version */
	m->proto->has_ir_version = 1;
	m->proto->ir_version = version;
}

enum type onnx_elem_type(int32_t data_type)
{
	return data_type > 0 && data_type < TYPE_COUNT ? (enum type)data_type : TYPE_NONE;
}
