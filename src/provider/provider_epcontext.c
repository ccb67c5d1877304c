/* Nodes EPContext of compiled models, as ONNX Runtime defines them: made for fused nodes, and read. See provider.h. */
#include <string.h>

#include "base/str.h"
#include "lib/tpat_inside.h"
#include "provider/provider.h"

#define ASK(call) TRY(provider_check(h, h->api->call, e))
#define TYPE "EPContext"
#define DOMAIN "com.microsoft"

const char *provider_context_about(const struct provider *p, struct arena *a)
{
	return arena_printf(a, "tpat " TPAT_VERSION " %s %s", p->on.dev->kind, p->on.dev->props.name);
}

/* ---- The folder of a compiled model. */

/* The path of the model that has the node; null: it has none. */
static int model_path(const char **out, const struct provider *p, const struct ort_graph *graph, struct err *e)
{
	const struct provider_host *h = &p->host;
	*out = NULL;
	ASK(model_path(graph, out));
	if (*out && !**out)
		*out = NULL;
	return 0;
}

/* The file of a region: next to the compiled model, with its name. */
static int new_file(const char **out, struct provider *p, const struct ort_graph *graph, struct arena *a, struct err *e)
{
	const char *path = p->context_path;
	if (!path) {
		TRY(model_path(&path, p, graph, e));
		if (!path) {
			err_set(e, ERR_USAGE, "There is no place for the compiled regions: the model has no path.");
			return err_advise(e, "Give ep.context_file_path, or ep.context_embed_mode 1.");
		}
		path = arena_printf(a, "%s/%s_ctx.onnx", path_dir(a, path), path_stem(a, path));
	}
	*out = arena_printf(a, "%s/%s_tpat_%d.bin", path_dir(a, path), path_stem(a, path), p->contexts);
	return 0;
}

/* A name in the node is that of a file in the model's folder, or below it. */
static int old_file(const char **out, const struct provider *p, const struct ort_graph *graph, const char *name,
                    struct arena *a, struct err *e)
{
	const char *path;
	TRY(model_path(&path, p, graph, e));
	if (!path)
		path = p->context_path;
	if (!path) {
		err_set(e, ERR_USAGE, "The compiled region in %s cannot be found: the model has no path.", name);
		return err_advise(e, "Give the model's path as ep.context_file_path.");
	}
	if (*name == '/' || strcmp(name, "..") == 0 || str_starts(name, "../") || strstr(name, "/../") ||
	    str_ends(name, "/.."))
		return err_set(e, ERR_MODEL, "The compiled region's file \"%s\" is outside the model's folder.", name);
	*out = path_join(a, path_dir(a, path), name);
	return 0;
}

/* ---- Reading. */

int provider_is_context(bool *out, const struct provider_host *h, const struct ort_node *n, struct arena *scratch,
                        struct err *e)
{
	const char *type, *domain, *source = "";
	size_t attrs;
	*out = false;
	ASK(node_type(n, &type));
	ASK(node_domain(n, &domain));
	if (strcmp(type, TYPE) != 0 || strcmp(domain, DOMAIN) != 0)
		return 0;
	ASK(node_attr_count(n, &attrs));
	const struct ort_attr **attr = NEWN(scratch, const struct ort_attr *, attrs + 1);
	ASK(node_attrs(n, attr, attrs));
	for (size_t i = 0; i < attrs; i++) {
		const char *name;
		int kind;
		char text[64] = "";
		size_t bytes = 0;
		ASK(attr_name(attr[i], &name));
		ASK(attr_type(attr[i], &kind));
		if (strcmp(name, "source") != 0 || kind != ORT_ATTR_STRING)
			continue;
		struct ort_status *s = h->api->read_attr(attr[i], ORT_ATTR_STRING, text, sizeof text - 1, &bytes);
		if (s) /* a longer name */
			h->api->release_status(s);
		else
			source = text;
		*out = strcmp(source, PROVIDER_NAME) == 0;
	}
	return 0;
}

int provider_context_bytes(const void **out, size_t *size, struct file_map *map, const struct provider *p,
                           const struct ort_graph *graph, const struct ort_node *n, struct arena *a, struct err *e)
{
	struct onnx_model *m = onnx_model_new("a node " TYPE, 8);
	Onnx__NodeProto *node = onnx_node_new(m, DOMAIN, TYPE, "");
	const Onnx__AttributeProto *text;
	const char *file = NULL;
	int64_t embed = 1;
	int rc = provider_attrs(m, node, &p->host, n, a, e);
	if (rc == 0)
		rc = onnx_attr_int(&embed, node, "embed_mode", 1, e);
	text = onnx_attr(node, "ep_cache_context");
	if (rc == 0 && (!text || !text->has_s))
		rc = err_set(e, ERR_MODEL, "A compiled region has no attribute \"ep_cache_context\".");
	if (rc == 0 && embed) {
		*size = text->s.len;
		*out = memcpy(arena_alloc(a, text->s.len + 1), text->s.data, text->s.len);
	} else if (rc == 0) {
		rc = old_file(&file, p, graph, arena_strndup(a, (const char *)text->s.data, text->s.len), a, e);
		if (rc == 0)
			rc = file_map_open(map, file, e);
		if (rc == 0) {
			*out = map->data;
			*size = map->size;
		}
	}
	onnx_model_free(m);
	return rc;
}

/* ---- Making. */

enum { MOST_ATTRS = 8 };

struct attrs {
	const struct provider_host *host;
	struct ort_attr *at[MOST_ATTRS];
	size_t n;
};

static int add(struct attrs *to, const char *name, const void *data, size_t n, enum ort_attr_type type, struct err *e)
{
	const struct provider_host *h = to->host;
	ck(to->n < MOST_ATTRS && n < INT32_MAX);
	ASK(create_attr(name, data, (int)n, type, &to->at[to->n]));
	to->n++;
	return 0;
}

static int add_text(struct attrs *to, const char *name, const char *text, struct err *e)
{
	return add(to, name, text, strlen(text), ORT_ATTR_STRING, e);
}

static int names_of(const char ***out, const struct provider_host *h, const struct provider_values *v, struct arena *a,
                    struct err *e)
{
	*out = NEWN(a, const char *, v->n + 1);
	for (size_t i = 0; i < v->n; i++)
		TRY(provider_value_name(&(*out)[i], h, v->at[i], e));
	return 0;
}

static int make(struct ort_node **out, struct attrs *attr, const struct provider *p, const struct ort_node *fused,
                const struct provider_io *io, const char *text, size_t bytes, struct arena *scratch, struct err *e)
{
	const struct provider_host *h = attr->host;
	const int64_t one = 1, embed = p->embed;
	const char *name, **in, **outputs;
	ASK(node_name(fused, &name));
	TRY(names_of(&in, h, &io->in, scratch, e));
	TRY(names_of(&outputs, h, &io->out, scratch, e));
	TRY(add(attr, "ep_cache_context", text, bytes, ORT_ATTR_STRING, e));
	TRY(add(attr, "embed_mode", &embed, 1, ORT_ATTR_INT, e));
	TRY(add(attr, "main_context", &one, 1, ORT_ATTR_INT, e));
	TRY(add_text(attr, "source", PROVIDER_NAME, e));
	TRY(add_text(attr, "partition_name", name, e));
	TRY(add_text(attr, "ep_sdk_version", TPAT_VERSION, e));
	TRY(add_text(attr, "notes", p->about, e));
	return provider_check(
	        h, h->editor->create_node(TYPE, DOMAIN, name, in, io->in.n, outputs, io->out.n, attr->at, attr->n, out),
	        e);
}

int provider_context_node(struct ort_node **out, struct provider *p, const struct ort_graph *graph,
                          const struct ort_node *fused, const struct provider_io *io, const char *bytes, size_t size,
                          struct arena *scratch, struct err *e)
{
	struct attrs attr = { .host = &p->host };
	const char *text = bytes, *file = NULL;
	if (!p->embed) {
		TRY(new_file(&file, p, graph, scratch, e));
		TRY(file_write(file, bytes, size, e));
		text = path_base(file);
		size = strlen(text);
	}
	p->contexts++;
	int rc = make(out, &attr, p, fused, io, text, size, scratch, e);
	for (size_t i = 0; i < attr.n; i++)
		p->host.api->release_attr(attr.at[i]);
	return rc;
}
