/* The plugin runtime's device, played by the emulator: enqueue runs a plugin's .cu text here. */
#include <stdio.h>
#include <string.h>

#include "emulator_state.h"

struct device {
	struct arena *arena;
	emulator_lookup lookup;
	void *user;
	struct loaded {
		struct emulator_module *module;
		struct loaded *next;
	} * modules;
	struct constant {
		void *at;
		struct constant *next;
	} * constants;
};

static int explain(const struct err *e, char why[256])
{
	snprintf(why, 256, "%.255s", e->text);
	return e->code;
}

static int load(void *user, const struct tpat_rt_plugin *plugin, void **module, char why[256])
{
	struct device *d = user;
	struct err e = { 0 };
	const char *cu = d->lookup(d->user, plugin->name);
	if (!cu) {
		snprintf(why, 256, "there is no text of the kernels of plugin %.150s", plugin->name);
		return ERR_USAGE;
	}
	struct emulator_text text = { .name = plugin->name, .text = cu };
	struct loaded *l = NEW(d->arena, struct loaded);
	if (emulator_build(&l->module, &text, 1, &e) < 0)
		return explain(&e, why);
	l->next = d->modules;
	d->modules = l;
	*module = l->module;
	return 0;
}

static int upload(void *user, const void *data, size_t bytes, void **pointer, char why[256])
{
	struct device *d = user;
	void *p = emulator_alloc("constant", bytes, EMULATOR_INITIALISED | EMULATOR_READ_ONLY);
	if (!p) {
		snprintf(why, 256, "the emulator has no memory for a constant of %zu bytes", bytes);
		return ERR_DEVICE;
	}
	memcpy(p, data, bytes);
	struct constant *c = NEW(d->arena, struct constant);
	*c = (struct constant){ p, d->constants };
	d->constants = c;
	*pointer = p;
	return 0;
}

static int launch(void *user, void *module, const struct tpat_rt_plugin *plugin, const struct tpat_rt_kernel *kernel,
                  const uint32_t grid[3], void **args, void *stream, char why[256])
{
	(void)user;
	(void)stream;
	struct err e = { 0 };
	const uint32_t block[3] = { (uint32_t)kernel->block[0], (uint32_t)kernel->block[1],
		                    (uint32_t)kernel->block[2] };
	int rc = emulator_launch(module, plugin->name, kernel->name, grid, block, (uint32_t)kernel->shared_bytes, args,
	                         &e);
	return rc < 0 ? explain(&e, why) : 0;
}

void emulator_tensor_map(void *out, const struct tpat_rt_map_values *values)
{
	struct emulator_map m = { .from = values->from, .element_bytes = (signed char)values->element_bytes,
		                  .rank = (signed char)values->rank, .pixels = values->pixels };
	_Static_assert(sizeof m <= TPAT_RT_MAP_BYTES, "it is passed as one of CUDA's");
	for (int d = 0; d < values->rank; d++) {
		m.dim[d] = (int)values->dim[d];
		m.stride[d] = values->stride[d];
		m.box[d] = (short)values->box[d];
		m.first[d] = (short)values->first[d];
		m.step[d] = (signed char)values->step[d];
		m.count[d] = (int)values->count[d];
	}
	memset(out, 0, TPAT_RT_MAP_BYTES);
	memcpy(out, &m, sizeof m);
}

static int map(void *user, const struct tpat_rt_map_values *values, void *out, char why[256])
{
	(void)user, (void)why;
	emulator_tensor_map(out, values);
	return 0;
}

static int current(void *user, char why[256])
{
	(void)user;
	(void)why;
	return 0;
}

void emulator_device(struct tpat_rt_device *out, emulator_lookup lookup, void *user)
{
	struct arena *a = arena_new();
	struct device *d = NEW(a, struct device);
	d->arena = a;
	d->lookup = lookup;
	d->user = user;
	*out = (struct tpat_rt_device){ .version = TPAT_RT_VERSION,
		                        .user = d,
		                        .load = load,
		                        .upload = upload,
		                        .launch = launch,
		                        .current = current,
		                        .map = map };
}

void emulator_device_close(struct tpat_rt_device *out)
{
	struct device *d = out->user;
	for (struct loaded *l = d->modules; l; l = l->next)
		emulator_unload(l->module);
	for (struct constant *c = d->constants; c; c = c->next)
		emulator_free(c->at);
	arena_free(d->arena);
	memset(out, 0, sizeof *out);
}
