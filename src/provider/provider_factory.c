/* The library's two functions, and what makes a provider for a session. See provider.h. */
#include <setjmp.h>
#include <stdio.h>

#include "lib/tpat_inside.h"
#include "provider/provider.h"

struct factory {
	struct ort_ep_factory factory; /* first: ONNX Runtime passes its address */
	struct provider_host host;
	struct arena *arena; /* holds this struct */
};

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

static struct ort_status *devices(struct ort_ep_factory *f, const struct ort_device *const *device, size_t n,
                                  struct ort_ep_device **out, size_t most, size_t *outs)
{
	const struct provider_host *h = &((struct factory *)f)->host;
	*outs = 0;
	for (size_t i = 0; i < n && *outs < most; i++) {
		if (h->api->device_type(device[i]) != ORT_DEVICE_CPU)
			continue;
		struct ort_status *s = h->ep->create_device(f, device[i], NULL, NULL, &out[*outs]);
		if (s)
			return s;
		++*outs;
	}
	return NULL;
}

/* ---- A provider. */

struct creating {
	const struct factory *f;
	const struct ort_logger *logger;
	struct provider *out;
	struct arena *arena;
};

static int create_in(void *arg, struct arena *scratch, struct err *e)
{
	struct creating *c = arg;
	(void)scratch;
	c->arena = arena_new();
	struct provider *p = NEW(c->arena, struct provider);
	p->ep.version = ORT_GRAPHS;
	p->ep.name = ep_name;
	p->ep.capability = provider_capability;
	p->ep.compile = provider_compile;
	p->ep.release_computes = provider_release_computes;
	p->host = c->f->host;
	p->logger = c->logger;
	p->arena = c->arena;
	TRY(dev_open(&p->on.dev, "cpu", e));
	tpat_target_of_device(&p->on.target, &p->on.dev->props);
	p->lock = lock_new(c->arena);
	c->out = p;
	return 0;
}

static struct ort_status *create(struct ort_ep_factory *f, const struct ort_device *const *device,
                                 const struct ort_key_values *const *metadata, size_t n,
                                 const struct ort_session_options *options, const struct ort_logger *logger,
                                 struct ort_ep **out)
{
	struct creating c = { .f = (struct factory *)f, .logger = logger };
	(void)device, (void)metadata, (void)n, (void)options;
	struct ort_status *status = provider_call(&c.f->host, create_in, &c);
	if (c.out)
		*out = &c.out->ep;
	else
		arena_free(c.arena);
	return status;
}

static void release(struct ort_ep_factory *f, struct ort_ep *ep)
{
	struct provider *p = (struct provider *)ep;
	(void)f;
	if (!p)
		return;
	p->on.dev->close(p->on.dev);
	lock_free(p->lock);
	arena_free(p->arena);
}

/* ---- What the provider does not have: compiled models, memory and streams of its own. */

static struct ort_status *validate(struct ort_ep_factory *f, const struct ort_device *const *device, size_t n,
                                   const char *info, int *out)
{
	(void)f, (void)device, (void)n, (void)info;
	*out = 0;
	return NULL;
}

static struct ort_status *create_allocator(struct ort_ep_factory *f, const struct ort_memory_info *memory,
                                           const struct ort_key_values *options, struct ort_allocator **out)
{
	(void)f, (void)memory, (void)options;
	*out = NULL;
	return NULL;
}

static void release_allocator(struct ort_ep_factory *f, struct ort_allocator *allocator)
{
	(void)f, (void)allocator;
}

static struct ort_status *create_data_transfer(struct ort_ep_factory *f, struct ort_data_transfer **out)
{
	(void)f;
	*out = NULL;
	return NULL;
}

static bool has_streams(const struct ort_ep_factory *f)
{
	(void)f;
	return false;
}

static struct ort_status *create_stream(struct ort_ep_factory *f, const struct ort_memory_device *device,
                                        const struct ort_key_values *options, struct ort_stream **out)
{
	(void)f, (void)device, (void)options;
	*out = NULL;
	return NULL;
}

/* ---- The library. */

/* True if the tables lack an entry that the provider calls. */
static bool has_hole(const struct provider_host *h)
{
	const struct ort_api *a = h->api;
	return !a->create_status || !a->get_error_message || !a->release_status || !a->tensor_data || !a->const_data ||
	       !a->tensor_info || !a->release_tensor_info || !a->tensor_type || !a->element_type || !a->dim_count ||
	       !a->dims || !a->symbols || !a->release_value || !a->input || !a->output || !a->log || !a->read_attr ||
	       !a->value_name || !a->value_type || !a->device_type || !a->value_initializer || !a->value_is_output ||
	       !a->value_is_constant || !a->graph_ir_version || !a->graph_opset_count || !a->graph_opsets ||
	       !a->graph_input_count || !a->graph_inputs || !a->graph_output_count || !a->graph_outputs ||
	       !a->graph_initializer_count || !a->graph_initializers || !a->graph_node_count || !a->graph_nodes ||
	       !a->graph_holder || !a->node_name || !a->node_type || !a->node_domain || !a->node_input_count ||
	       !a->node_inputs || !a->node_output_count || !a->node_outputs || !a->node_capture_count ||
	       !a->node_captures || !a->node_attr_count || !a->node_attrs || !a->attr_tensor || !a->attr_type ||
	       !a->attr_name || !a->node_graph_count || !a->node_graphs || !h->ep->create_device || !h->ep->fuse ||
	       !a->has_shape;
}

/* The newest interface that this library tells apart and ONNX Runtime has. Status: it is too old. */
static struct ort_status *find_host(struct provider_host *out, const struct ort_api_base *base)
{
	for (out->version = ORT_FUSES_CAPTURES; out->version >= ORT_PROVIDER_OLDEST; out->version--) {
		out->api = base->get(out->version);
		out->ep = out->api && out->api->ep_api ? out->api->ep_api() : NULL;
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
	devices,
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

static int make_factory(void *arg, struct arena *scratch, struct err *e)
{
	struct factory **out = arg;
	(void)scratch, (void)e;
	struct arena *a = arena_new();
	*out = NEW(a, struct factory);
	(*out)->arena = a;
	return 0;
}

struct ort_status *CreateEpFactories(const char *registered, const struct ort_api_base *base,
                                     const struct ort_logger *logger, struct ort_ep_factory **factory, size_t most,
                                     size_t *n)
{
	struct provider_host host = { 0 };
	struct factory *f = NULL;
	(void)registered, (void)logger;
	*n = 0;
	struct ort_status *status = find_host(&host, base);
	if (status || !host.ep)
		return status;
	if (most < 1)
		return host.api->create_status(ORT_INVALID_ARGUMENT, PROVIDER_NAME ": there is no room for a factory.");
	status = provider_call(&host, make_factory, &f);
	if (status)
		return status;
	f->factory = functions;
	f->host = host;
	factory[0] = &f->factory;
	*n = 1;
	return NULL;
}

struct ort_status *ReleaseEpFactory(struct ort_ep_factory *factory)
{
	if (factory)
		arena_free(((struct factory *)factory)->arena);
	return NULL;
}
