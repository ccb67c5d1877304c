/* SPDX-License-Identifier: Apache-2.0 */
/* rt_device.c: the current device (CUDA, or the one from tpat_rt_set_device, or the one that an engine names), and the
 * code loaded on it: one entry for each plugin and device, made once, read by all objects, kept until the library is
 * unloaded. */
#include <stdlib.h>
#include <string.h>

#include "rt_core.h"

/* Plugins that point to the same bytes share a constant. */
struct constant {
	struct constant *next;
	const struct tpat_rt_device *on;
	int device;
	const void *data;
	size_t bytes;
	void *pointer;
};

/* Plugins with the same code, which differ in their weights, share it. */
struct code {
	struct code *next;
	const struct tpat_rt_device *on;
	int device;
	const struct tpat_rt_image *image;
	const struct tpat_rt_tactic *tactic;
	void *module;
};

static struct {
	struct tpat_rt_device device;
	bool own;            /* the device is not CUDA */
	bool hosted;         /* tpat_rt_set_device was called */
	uint64_t generation; /* counts changes of the device: bindings of older ones are invalid */
	struct rt_loaded *loaded;
	struct constant *constant;
	struct code *code;
	pthread_mutex_t lock;
} state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const struct tpat_rt_device *device(void)
{
	return state.own ? &state.device : &rt_cuda;
}

bool rt_device_is_hosted(void)
{
	return state.hosted;
}

static void free_loaded(struct rt_loaded *x)
{
	free(x->constant);
	free(x);
}

void rt_device_forget(void)
{
	pthread_mutex_lock(&state.lock);
	for (struct rt_loaded *x = state.loaded, *next; x; x = next) {
		next = x->next;
		free_loaded(x);
	}
	for (struct constant *c = state.constant, *next; c; c = next) {
		next = c->next;
		if (c->on->release)
			c->on->release(c->on->user, c->device, c->pointer);
		free(c);
	}
	for (struct code *c = state.code, *next; c; c = next) {
		next = c->next;
		if (c->on->unload)
			c->on->unload(c->on->user, c->device, c->module);
		free(c);
	}
	state.loaded = NULL;
	state.constant = NULL;
	state.code = NULL;
	state.generation++;
	pthread_mutex_unlock(&state.lock);
}

int rt_device_set(const struct tpat_rt_device *d, char why[RT_WHY])
{
	if (d && d->version != TPAT_RT_VERSION)
		return rt_why(why, "version %u, but the runtime has version %d", (unsigned)d->version, TPAT_RT_VERSION);
	rt_device_forget();
	state.hosted = d != NULL;
	state.own = d && d->load;
	if (state.own)
		state.device = *d;
	return 0;
}

static int load_constant(const struct tpat_rt_buffer *b, const struct rt_loaded *x, size_t bytes, void **pointer,
                         char why[RT_WHY])
{
	const struct tpat_rt_device *d = x->on;

	for (struct constant *c = state.constant; c; c = c->next)
		if (c->on == d && c->device == x->device && c->data == b->data && c->bytes == bytes) {
			*pointer = c->pointer;
			return 0;
		}
	struct constant *c = calloc(1, sizeof *c);
	if (!c)
		return rt_why(why, "out of memory");
	*c = (struct constant){ .on = d, .device = x->device, .data = b->data, .bytes = bytes };
	if (d->upload(d->user, b->data, bytes, &c->pointer, why)) {
		free(c);
		return -1;
	}
	c->next = state.constant;
	state.constant = c;
	*pointer = c->pointer;
	return 0;
}

static int load_constants(const struct tpat_rt_plugin *p, struct rt_loaded *x, char why[RT_WHY])
{
	size_t extents = rt_extents(p);
	int rc = 0;
	int64_t *extent = malloc((extents + (size_t)p->exprs + 1) * sizeof *extent), *value = extent + extents;

	if (!extent)
		return rt_why(why, "out of memory");
	memset(extent, 0xff, extents * sizeof *extent); /* all unknown: constants need no extents */
	rt_evaluate(p, extent, value);
	for (int32_t i = 0; i < p->buffers && rc == 0; i++) {
		const struct tpat_rt_buffer *b = &p->buffer[i];
		if (!b->data)
			continue;
		if (value[b->bytes] < 0)
			rc = rt_why(why, "the size of constant %s is not constant", b->name);
		else
			rc = load_constant(b, x, (size_t)value[b->bytes], &x->constant[i], why);
	}
	free(extent);
	return rc;
}

static int load_code(const struct tpat_rt_plugin *p, struct rt_loaded *x, char why[RT_WHY])
{
	const struct tpat_rt_device *d = x->on;

	for (struct code *c = state.code; c; c = c->next)
		if (c->on == d && c->device == x->device && c->image == p->image && c->tactic == p->tactic) {
			x->module = c->module;
			return 0;
		}
	struct code *c = calloc(1, sizeof *c);
	if (!c)
		return rt_why(why, "out of memory");
	*c = (struct code){ .next = state.code, .on = d, .device = x->device, .image = p->image, .tactic = p->tactic };
	if (d->load(d->user, p, &c->module, why)) {
		free(c);
		return -1;
	}
	state.code = c;
	x->module = c->module;
	return 0;
}

static int load(const struct tpat_rt_plugin *p, const struct tpat_rt_device *on, int number, struct rt_loaded **out,
                char why[RT_WHY])
{
	struct rt_loaded *x = calloc(1, sizeof *x);

	if (x)
		x->constant = calloc((size_t)p->buffers + 1, sizeof *x->constant);
	if (!x || !x->constant) {
		free(x);
		return rt_why(why, "out of memory");
	}
	x->plugin = p;
	x->on = on;
	x->device = number;
	if (load_code(p, x, why) || load_constants(p, x, why)) {
		free_loaded(x);
		return -1;
	}
	*out = x;
	return 0;
}

static int find(const struct tpat_rt_plugin *p, const struct tpat_rt_device *on, const struct rt_binding *binding,
                struct rt_binding *out, char why[RT_WHY])
{
	int number = on->current(on->user, why);

	if (number < 0)
		return -1;
	uint64_t generation = __atomic_load_n(&state.generation, __ATOMIC_ACQUIRE);
	if (binding->loaded && binding->generation == generation && binding->loaded->on == on &&
	    binding->loaded->device == number) {
		*out = *binding;
		return 0;
	}
	pthread_mutex_lock(&state.lock);
	struct rt_loaded *x = state.loaded;
	while (x && (x->plugin != p || x->on != on || x->device != number))
		x = x->next;
	int rc = 0;
	if (!x) {
		rc = load(p, on, number, &x, why);
		if (rc == 0) {
			x->next = state.loaded;
			state.loaded = x;
		}
	}
	*out = (struct rt_binding){ rc ? NULL : x, state.generation };
	pthread_mutex_unlock(&state.lock);
	return rc;
}

int rt_device_find(const struct tpat_rt_plugin *p, const struct rt_binding *binding, const struct rt_loaded **out,
                   char why[RT_WHY])
{
	struct rt_binding found;

	if (find(p, device(), binding, &found, why))
		return -1;
	*out = found.loaded;
	return 0;
}

int rt_device_bind_on(const struct tpat_rt_plugin *p, const struct tpat_rt_device *on, struct rt_binding *binding,
                      char why[RT_WHY])
{
	struct rt_binding found;

	if (find(p, on, binding, &found, why))
		return -1;
	*binding = found;
	return 0;
}

int rt_device_bind(const struct tpat_rt_plugin *p, struct rt_binding *binding, char why[RT_WHY])
{
	return rt_device_bind_on(p, device(), binding, why);
}

bool rt_device_is_arch(const struct rt_loaded *loaded, int32_t arch)
{
	const struct tpat_rt_device *d = loaded->on;
	return !arch || !d->is_arch || d->is_arch(d->user, loaded->module, arch);
}

int32_t rt_device_together(const struct rt_loaded *loaded, int32_t threads)
{
	const struct tpat_rt_device *d = loaded->on;
	return d->together ? d->together(d->user, loaded->module, threads) : INT32_MAX;
}

int rt_device_map(const struct rt_loaded *loaded, const struct tpat_rt_map_values *values, void *out, char why[RT_WHY])
{
	const struct tpat_rt_device *d = loaded->on;

	memset(out, 0, TPAT_RT_MAP_BYTES);
	return d->map ? d->map(d->user, values, out, why) : 0;
}

int rt_device_copy(const struct rt_loaded *loaded, void *to, const void *from, size_t bytes, void *stream,
                   char why[RT_WHY])
{
	const struct tpat_rt_device *d = loaded->on;
	return d->copy ? d->copy(d->user, to, from, bytes, stream, why) : rt_why(why, "the device cannot copy");
}

int rt_device_function(const struct rt_loaded *loaded, const struct tpat_rt_kernel *kernel, void **function,
                       char why[RT_WHY])
{
	const struct tpat_rt_device *d = loaded->on;

	*function = loaded->module;
	return d->function ? d->function(d->user, loaded->module, loaded->plugin, kernel, function, why) : 0;
}

int rt_device_launch(const struct rt_loaded *loaded, void *function, const struct tpat_rt_kernel *kernel,
                     const uint32_t grid[3], void **args, void *stream, char why[RT_WHY])
{
	const struct tpat_rt_device *d = loaded->on;
	return d->launch(d->user, function, loaded->plugin, kernel, grid, args, stream, why);
}
