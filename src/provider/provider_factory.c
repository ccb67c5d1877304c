/* The library's two functions, and what makes a provider for a session. See provider.h. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "lib/tpat_inside.h"
#include "provider/provider.h"

static const char *ep_name(const struct ort_ep *ep)
{
	(void)ep;
	return PROVIDER_NAME;
}

static const char *factory_name(const struct ort_ep_factory *f)
{
	(void)f;
	return PROVIDER_NAME;
}

static const char *vendor(const struct ort_ep_factory *f)
{
	(void)f;
	return "tpat";
}

static uint32_t vendor_id(const struct ort_ep_factory *f)
{
	(void)f;
	return 0; /* no maker of devices */
}

static const char *library_version(const struct ort_ep_factory *f)
{
	(void)f;
	return TPAT_VERSION;
}

/* ---- A provider. */

static struct ort_status *session_allocator(struct ort_ep *ep, const struct ort_memory_info *memory,
                                            struct ort_allocator **out)
{
	struct provider *p = (struct provider *)ep;
	return provider_allocator_new(out, p->factory, p, memory);
}

static struct ort_status *session_stream(struct ort_ep *ep, const struct ort_memory_device *device,
                                         struct ort_stream **out)
{
	struct provider *p = (struct provider *)ep;
	return provider_stream_new(out, p->factory, p, device);
}

static const char *compatibility(struct ort_ep *ep, const struct ort_graph *graph)
{
	(void)graph;
	return ((struct provider *)ep)->about;
}

struct creating {
	struct provider_factory *f;
	const struct ort_session_options *options;
	const struct ort_logger *logger;
	const struct ort_key_values *metadata;
	struct provider *out;
};

/* The device that computes. */
static int open_device(struct provider *p, const struct provider_options *o, struct err *e)
{
	char name[32];
	const char *want = o->device ? o->device : p->gpu ? "cuda" : "cpu";
	if (p->gpu)
		TRY(provider_gpu_enter(p->gpu, e));
	if (strcmp(want, "cuda") != 0)
		return dev_open(&p->on.dev, want, e);
	snprintf(name, sizeof name, "cuda:%d", p->gpu ? p->gpu->index : 0);
	return dev_open(&p->on.dev, name, e);
}

static int create_in(void *arg, struct arena *scratch, struct err *e)
{
	struct creating *c = arg;
	struct provider_options o;
	struct arena *a = arena_new();
	struct provider *p = c->out = NEW(a, struct provider);
	p->arena = a;
	p->factory = c->f;
	p->host = c->f->host;
	p->logger = c->logger;
	p->lock = p->on.lock = lock_new(a);
	p->gpu = provider_gpu_of(c->f, c->metadata);
	p->ep = (struct ort_ep){ .version = ORT_GRAPHS,
		                 .name = ep_name,
		                 .capability = provider_capability,
		                 .compile = provider_compile,
		                 .release_computes = provider_release_computes };
	TRY(provider_options(&o, &p->host, c->options, scratch, e));
	p->cuda_graph = o.cuda_graph;
	TRY(open_device(p, &o, e));
	p->shares_memory = p->gpu && p->on.dev->queue; /* later the queue may be another one while a lane records */
	tpat_target_of_device(&p->on.target, &p->on.dev->props);
	p->on.fit = true;
	TRY(provider_lanes_open(p, e));
	TRY(provider_tuned_open(p, &o, e));
	p->context = o.context;
	p->embed = o.embed;
	p->context_path = o.context_path ? arena_strdup(a, o.context_path) : NULL;
	p->about = provider_context_about(p, a);
	p->ep.compatibility = compatibility;
	if (p->gpu) {
		p->ep.create_allocator = session_allocator;
		p->ep.create_stream = session_stream;
	}
	return 0;
}

static void release(struct ort_ep_factory *f, struct ort_ep *ep)
{
	struct provider *p = (struct provider *)ep;
	(void)f;
	if (!p)
		return;
	provider_tuned_close(p);
	provider_lanes_close(p);
	if (p->on.dev)
		p->on.dev->close(p->on.dev);
	lock_free(p->lock);
	arena_free(p->arena);
}

static struct ort_status *create(struct ort_ep_factory *f, const struct ort_device *const *device,
                                 const struct ort_key_values *const *metadata, size_t n,
                                 const struct ort_session_options *options, const struct ort_logger *logger,
                                 struct ort_ep **out)
{
	struct creating c = { (struct provider_factory *)f, options, logger, n ? metadata[0] : NULL, NULL };
	(void)device;
	struct ort_status *status = provider_call(&c.f->host, create_in, &c);
	*out = NULL;
	if (status && c.out)
		release(f, &c.out->ep);
	else if (!status)
		*out = &c.out->ep;
	return status;
}

/* ---- Memory, copies and streams outside sessions. */

static struct ort_status *create_allocator(struct ort_ep_factory *f, const struct ort_memory_info *memory,
                                           const struct ort_key_values *options, struct ort_allocator **out)
{
	(void)options;
	return provider_allocator_new(out, (struct provider_factory *)f, NULL, memory);
}

static void release_allocator(struct ort_ep_factory *f, struct ort_allocator *allocator)
{
	(void)f;
	provider_allocator_free(allocator);
}

static struct ort_status *create_data_transfer(struct ort_ep_factory *f, struct ort_data_transfer **out)
{
	return provider_transfer_new(out, (struct provider_factory *)f);
}

static bool has_streams(const struct ort_ep_factory *f)
{
	return ((const struct provider_factory *)f)->gpus > 0;
}

static struct ort_status *create_stream(struct ort_ep_factory *f, const struct ort_memory_device *device,
                                        const struct ort_key_values *options, struct ort_stream **out)
{
	(void)options;
	return provider_stream_new(out, (struct provider_factory *)f, NULL, device);
}

/* A compiled model of another version runs too, since it has the nodes themselves. */
static struct ort_status *validate(struct ort_ep_factory *f, const struct ort_device *const *device, size_t n,
                                   const char *info, int *out)
{
	(void)f, (void)device, (void)n;
	*out = str_starts(info, "tpat " TPAT_VERSION " ") ? ORT_COMPILED_BEST
	       : str_starts(info, "tpat ")                ? ORT_COMPILED_SLOWLY
	                                                  : ORT_COMPILED_OTHER;
	return NULL;
}

/* ---- The library. */

/* True if the tables lack an entry that the provider calls. */
static bool has_hole(const struct provider_host *h)
{
	const struct ort_api *a = h->api;
	return !a->create_status || !a->get_error_message || !a->release_status || !a->tensor_data || !a->const_data ||
	       !a->tensor_extents || !a->tensor_type || !a->element_type || !a->dim_count || !a->dims || !a->symbols ||
	       !a->release_value || !a->input || !a->output || !a->log || !a->read_attr || !a->value_name ||
	       !a->value_type || !a->device_type || !a->value_initializer || !a->value_is_output ||
	       !a->value_is_constant || !a->graph_ir_version || !a->graph_opset_count || !a->graph_opsets ||
	       !a->graph_input_count || !a->graph_inputs || !a->graph_output_count || !a->graph_outputs ||
	       !a->graph_initializer_count || !a->graph_initializers || !a->graph_node_count || !a->graph_nodes ||
	       !a->graph_holder || !a->node_name || !a->node_type || !a->node_domain || !a->node_input_count ||
	       !a->node_inputs || !a->node_output_count || !a->node_outputs || !a->node_capture_count ||
	       !a->node_captures || !a->node_attr_count || !a->node_attrs || !a->attr_tensor || !a->attr_type ||
	       !a->attr_name || !a->node_graph_count || !a->node_graphs || !h->ep->create_device || !h->ep->fuse ||
	       !a->has_shape || !a->release_memory_info || !a->create_pairs || !a->add_pair || !a->pair ||
	       !a->all_pairs || !a->release_pairs || !a->device_vendor || !a->tensor_bytes || !a->create_memory_info ||
	       !a->session_entries || !h->ep->device_has_memory || !h->ep->memory_of_info || !h->ep->memory_of_value ||
	       !h->ep->memory_kind || !h->ep->memory_type || !h->ep->memory_vendor || !h->ep->memory_device ||
	       !h->ep->stream || !h->ep->create_hardware || !h->ep->release_hardware || !a->create_attr ||
	       !a->release_attr || !a->model_path || !h->editor || !h->editor->create_node || !a->gpu_stream;
}

/* The newest interface that this library tells apart and ONNX Runtime has. Status: it is too old. */
static struct ort_status *find_host(struct provider_host *out, const struct ort_api_base *base)
{
	for (out->version = ORT_FUSES_CAPTURES; out->version >= ORT_PROVIDER_OLDEST; out->version--) {
		out->api = base->get(out->version);
		out->ep = out->api && out->api->ep_api ? out->api->ep_api() : NULL;
		out->editor = out->ep && out->api->editor_api ? out->api->editor_api() : NULL;
		if (out->ep && !has_hole(out))
			return NULL;
	}
	out->ep = NULL;
	const struct ort_api *old = base->get(ORT_OLDEST);
	char text[160];
	snprintf(text, sizeof text, PROVIDER_NAME ": ONNX Runtime 1.%d or later is needed; this is %s.",
	         ORT_PROVIDER_OLDEST, base->version());
	return old ? old->create_status(ORT_NOT_IMPLEMENTED, text) : NULL;
}

static const struct ort_ep_factory functions = {
	ORT_GRAPHS,
	factory_name,
	vendor,
	provider_devices,
	create,
	release,
	vendor_id,
	library_version,
	validate,
	create_allocator,
	release_allocator,
	create_data_transfer,
	has_streams,
	create_stream,
};

/* ONNX Runtime calls these two by name. Factories belong to the library until ReleaseEpFactory(). */
TPAT_API struct ort_status *CreateEpFactories(const char *registered, const struct ort_api_base *base,
                                              const struct ort_logger *logger, struct ort_ep_factory **factory,
                                              size_t most, size_t *n);
TPAT_API struct ort_status *ReleaseEpFactory(struct ort_ep_factory *factory);

struct starting {
	struct provider_host host;
	struct provider_factory *out;
};

static int make_factory(void *arg, struct arena *scratch, struct err *e)
{
	struct starting *s = arg;
	(void)scratch;
	struct arena *a = arena_new();
	s->out = NEW(a, struct provider_factory);
	s->out->arena = a;
	s->out->factory = functions;
	s->out->host = s->host;
	return provider_find_gpus(s->out, e);
}

static void free_factory(struct provider_factory *f)
{
	if (!f)
		return;
	provider_free_gpus(f);
	arena_free(f->arena);
}

struct ort_status *CreateEpFactories(const char *registered, const struct ort_api_base *base,
                                     const struct ort_logger *logger, struct ort_ep_factory **factory, size_t most,
                                     size_t *n)
{
	struct starting s = { 0 };
	(void)registered, (void)logger;
	*n = 0;
	struct ort_status *status = find_host(&s.host, base);
	if (status || !s.host.ep)
		return status;
	if (most < 1)
		return s.host.api->create_status(ORT_INVALID_ARGUMENT,
		                                 PROVIDER_NAME ": there is no room for a factory.");
	status = provider_call(&s.host, make_factory, &s);
	if (status) {
		free_factory(s.out);
		return status;
	}
	factory[0] = &s.out->factory;
	*n = 1;
	return NULL;
}

struct ort_status *ReleaseEpFactory(struct ort_ep_factory *factory)
{
	free_factory((struct provider_factory *)factory);
	return NULL;
}
