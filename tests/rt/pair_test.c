/* Several libraries built by tpat in one process: any two can be registered together, in both orders, opened or
 * loaded by TensorRT, and each library recreates its own plugins from an engine. Arguments: the
 * libraries. */
#include <dlfcn.h>
#include <stdlib.h>

#include "host/trt_host.h"
#include "unit/test.h"

#define SHOWN __attribute__((visibility("default"), used))

enum { MOST_LIBRARIES = 8, MOST_SAVED = 64, MOST_FIELDS = 4, TEXT = 128 };

/* Exported by a process with TensorRT. */
static int32_t fake_version;
static struct trt_host_registry registry;
SHOWN int32_t getInferLibVersion(void);
SHOWN void *getPluginRegistry(void);

int32_t getInferLibVersion(void)
{
	return fake_version;
}

void *getPluginRegistry(void)
{
	return &registry;
}

/* A plugin as saved in an engine. */
struct saved {
	char name[TEXT], version[TEXT], name_space[TEXT], hash[TEXT];
	char text[MOST_FIELDS][TEXT];
	struct trt_field field[MOST_FIELDS];
	struct trt_fields fields;
};
static struct saved saved[MOST_SAVED];
static int saved_count;

static bool registry_add(void *creator)
{
	const char *name_space = TRT_CALL(creator, trt_creator, name_space);
	return trt_form(fake_version) == 11 ? TRT_CALL(&registry, trt_registry_11, add, creator, name_space)
	                                    : TRT_CALL(&registry, trt_registry_10, add, creator, name_space);
}

static bool registry_remove(void *creator)
{
	return trt_form(fake_version) == 11 ? TRT_CALL(&registry, trt_registry_11, remove, creator)
	                                    : TRT_CALL(&registry, trt_registry_10, remove, creator);
}

/* TensorRT's loadLibrary does this after dlopen, and deregisterLibrary as its first step. */
static int each_creator(void *library, bool (*call)(void *creator))
{
	void *const *(*get)(int32_t *);
	int32_t n = 0, done = 0;

	*(void **)&get = dlsym(library, "getCreators");
	void *const *list = get(&n);
	for (int32_t i = 0; i < n; i++)
		done += call(list[i]);
	return done;
}

static void save(const struct tpat_rt_plugin *p)
{
	struct saved *s = &saved[saved_count++];
	void *creator = trt_host_find(&registry, p->name, p->version, p->name_space);

	CHECK(creator && saved_count <= MOST_SAVED);
	void *plugin = TRT_CALL(creator, trt_creator, create, "node", NULL, TRT_PHASE_BUILD);
	void *runtime = TRT_CALL(plugin, trt_plugin, capability, TRT_RUNTIME);
	void *core = TRT_CALL(plugin, trt_plugin, capability, TRT_CORE);
	const struct trt_fields *f = TRT_CALL(runtime, trt_runtime, fields);
	snprintf(s->name, TEXT, "%s", TRT_CALL(core, trt_core, name));
	snprintf(s->version, TEXT, "%s", TRT_CALL(core, trt_core, version));
	snprintf(s->name_space, TEXT, "%s", TRT_CALL(core, trt_core, name_space));
	snprintf(s->hash, TEXT, "%s", p->hash);
	for (int32_t i = 0; i < f->count; i++) {
		memcpy(s->text[i], f->field[i].data, (size_t)f->field[i].length);
		s->field[i] = f->field[i];
		s->field[i].name = i == 0 ? "hash" : i == 1 ? "kernels" : "version";
		CHECK_STR(f->field[i].name, s->field[i].name);
		s->field[i].data = s->text[i];
	}
	s->fields = (struct trt_fields){ f->count, s->field };
	TRT_CALL(plugin, trt_plugin, v.d0);
}

static void make_again(const struct saved *s)
{
	void *creator = trt_host_find(&registry, s->name, s->version, s->name_space);
	void *plugin = creator ? TRT_CALL(creator, trt_creator, create, "node", &s->fields, TRT_PHASE_RUNTIME) : NULL;

	CHECK(plugin);
	if (plugin)
		TRT_CALL(plugin, trt_plugin, v.d0);
}

static void begin(int32_t version)
{
	fake_version = version;
	trt_host_registry_init(&registry, version);
}

static void *open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

	if (!library) {
		printf("%s\n", dlerror());
		exit(2);
	}
	return library;
}

static void test_pair(const char *first, const char *second, int32_t version)
{
	const char *const path[2] = { first, second };
	const struct tpat_rt_library *table[2];
	void *library[2];
	int plugins = 0;

	saved_count = 0;
	begin(version); /* opened: both register themselves */
	for (int i = 0; i < 2; i++) {
		library[i] = open_library(path[i]);
		table[i] = dlsym(library[i], "tpat_library");
		plugins += table[i]->plugins;
	}
	CHECK_INT(registry.creators, plugins);
	CHECK_INT(registry.refused, 0);
	for (int i = 0; i < 2; i++)
		for (int32_t k = 0; k < table[i]->plugins; k++)
			save(&table[i]->plugin[k]);
	/* Loaded by TensorRT. */
	for (int i = 0; i < 2; i++)
		CHECK_INT(each_creator(library[i], registry_add), table[i]->plugins);
	CHECK_INT(registry.creators, plugins);
	for (int i = 0; i < saved_count; i++)
		make_again(&saved[i]);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(each_creator(library[i], registry_remove), table[i]->plugins);
		dlclose(library[i]);
	}
	CHECK_INT(registry.creators, 0);
	CHECK_INT(registry.refused, 0);

	begin(version); /* another process reads the engine and has them in the other order */
	for (int i = 1; i >= 0; i--)
		library[i] = open_library(path[i]);
	for (int i = 0; i < saved_count; i++)
		make_again(&saved[i]);
	for (int i = 0; i < 2; i++)
		dlclose(library[i]);
	CHECK_INT(registry.creators, 0);
	CHECK_INT(registry.refused, 0);
}

int main(int argc, char **argv)
{
	static const int32_t version[] = { 100300, 110100, 10701 };

	if (argc < 3 || argc > MOST_LIBRARIES + 1) {
		fprintf(stderr, "usage: %s LIBRARY LIBRARY ...\n", argv[0]);
		return 2;
	}
	for (size_t v = 0; v < sizeof version / sizeof *version; v++)
		for (int i = 1; i < argc; i++)
			for (int k = 1; k < argc; k++)
				if (i != k)
					test_pair(argv[i], argv[k], version[v]);
	return test_done();
}
