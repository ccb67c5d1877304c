/* Times the execution provider inside ONNX Runtime: a library for ONNX Runtime that is the one that TIMED_EP names, and
 * notes how long each call of a fused node takes. ONNX Runtime's own profile counts the texts that it makes of all
 * shapes. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include "provider/provider_abi.h"

#define EXPORT __attribute__((visibility("default")))

enum { MOST = 1 << 16 };

typedef struct ort_status *create_fn(const char *registered, const struct ort_api_base *base,
                                     const struct ort_logger *logger, struct ort_ep_factory **factory, size_t most,
                                     size_t *n);
typedef struct ort_status *release_fn(struct ort_ep_factory *factory);

/* The provider's own functions: each of its objects has the same. */
static struct ort_ep_factory factory_of;
static struct ort_ep ep_of;
static struct ort_compute compute_of;
static release_fn *release_of;

static int64_t ns[MOST];
static int calls;

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct ort_status *compute(struct ort_compute *c, void *state, struct ort_kernel_context *context)
{
	int64_t start = now();
	struct ort_status *s = compute_of.compute(c, state, context);
	ns[calls++ % MOST] = now() - start;
	return s;
}

static struct ort_status *compile(struct ort_ep *ep, const struct ort_graph **graph, const struct ort_node **fused,
                                  size_t n, struct ort_compute **out, struct ort_node **contexts)
{
	struct ort_status *s = ep_of.compile(ep, graph, fused, n, out, contexts);
	for (size_t i = 0; !s && i < n; i++) {
		compute_of = *out[i];
		out[i]->compute = compute;
	}
	return s;
}

static struct ort_status *create(struct ort_ep_factory *f, const struct ort_device *const *device,
                                 const struct ort_key_values *const *metadata, size_t n,
                                 const struct ort_session_options *options, const struct ort_logger *logger,
                                 struct ort_ep **out)
{
	struct ort_status *s = factory_of.create(f, device, metadata, n, options, logger, out);
	if (!s) {
		ep_of = **out;
		(*out)->compile = compile;
	}
	return s;
}

EXPORT struct ort_status *CreateEpFactories(const char *registered, const struct ort_api_base *base,
                                            const struct ort_logger *logger, struct ort_ep_factory **factory,
                                            size_t most, size_t *n)
{
	void *library = dlopen(getenv("TIMED_EP"), RTLD_NOW | RTLD_LOCAL);
	create_fn *real = NULL;
	if (library) {
		*(void **)&real = dlsym(library, "CreateEpFactories");
		*(void **)&release_of = dlsym(library, "ReleaseEpFactory");
	}
	if (!real)
		return base->get(ORT_OLDEST)->create_status(ORT_FAIL, dlerror());
	struct ort_status *s = real(registered, base, logger, factory, most, n);
	if (!s && *n) {
		factory_of = *factory[0];
		factory[0]->create = create;
	}
	return s;
}

EXPORT struct ort_status *ReleaseEpFactory(struct ort_ep_factory *factory)
{
	return release_of(factory);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* The median of the calls since it was asked last, in nanoseconds; 0: there were none. */
EXPORT int64_t timed_median(void)
{
	int n = calls < MOST ? calls : MOST;
	calls = 0;
	qsort(ns, (size_t)n, sizeof *ns, compare);
	return n ? ns[n / 2] : 0;
}
