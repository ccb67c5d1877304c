/* The part of TensorRT that plugin libraries link with, for libraries that were made with its headers:
 * getPluginRegistry(), where static constructors (REGISTER_TENSORRT_PLUGIN) register creators, getLogger() and the
 * version. dlopen() says which library or function is missing; an image of such a library takes its place. Source of
 * the tables: the public headers, as laid out by gcc and clang. */
#include <dlfcn.h>
#include <string.h>

#include "engine/tensorrt/host_inside.h"

enum { MOST_CREATORS = 256, MOST_RESOURCES = 64, MOST_IMAGES = 8 };

struct resource {
	const char *key;
	void *object;
	int users;
};

static struct {
	const void *vptr;
	struct host *host;
	struct arena *arena;
	int32_t version;
	int form;
	void *creator[MOST_CREATORS];
	int32_t creators;
	struct resource resource[MOST_RESOURCES];
} registry;

/* ---- The registry. */

/* Name, version and namespace of a creator, which may be of IPluginV2 or IPluginV3. */
static const char *text_of(void *creator, int which)
{
	const char *(*const *table)(void *) = *(const char *(*const **)(void *))creator;
	static const struct trt_creator *const c;
	static const int v3[] = { offsetof(struct trt_creator, name) / sizeof c,
		                  offsetof(struct trt_creator, version) / sizeof c,
		                  offsetof(struct trt_creator, name_space) / sizeof c };
	static const int v2[] = { offsetof(struct trt_creator_v1, name) / sizeof c,
		                  offsetof(struct trt_creator_v1, version) / sizeof c,
		                  offsetof(struct trt_creator_v1, name_space) / sizeof c };
	static const int old[] = { offsetof(struct trt_creator_8, name) / sizeof c,
		                   offsetof(struct trt_creator_8, version) / sizeof c,
		                   offsetof(struct trt_creator_8, name_space) / sizeof c };
	if (registry.form == 8)
		return table[old[which]](creator);
	return table[host_is_interface(creator, "PLUGIN CREATOR_V1") ? v2[which] : v3[which]](creator);
}

static bool same_text(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static void *find(void *self, const char *name, const char *version, const char *name_space)
{
	const char *const want[] = { name, version, name_space ? name_space : "" };
	(void)self;
	for (int32_t i = 0; i < registry.creators; i++) {
		bool same = true;
		for (int t = 0; t < 3 && same; t++)
			same = same_text(text_of(registry.creator[i], t), want[t]);
		if (same)
			return registry.creator[i];
	}
	return NULL;
}

static bool add(void *self, void *creator, const char *name_space)
{
	if (!creator || registry.creators == MOST_CREATORS ||
	    find(self, text_of(creator, 0), text_of(creator, 1), name_space ? name_space : text_of(creator, 2)))
		return false;
	registry.creator[registry.creators++] = creator;
	return true;
}

static bool take_away(void *self, const void *creator)
{
	(void)self;
	for (int32_t i = 0; i < registry.creators; i++)
		if (registry.creator[i] == creator) {
			memmove(registry.creator + i, registry.creator + i + 1,
			        (size_t)(--registry.creators - i) * sizeof *registry.creator);
			return true;
		}
	return false;
}

static void *const *list(void *self, int32_t *n)
{
	(void)self;
	*n = registry.creators;
	return registry.creator;
}

static void *nothing(void *self)
{
	(void)self;
	return NULL;
}

/* IPluginResource */
struct resource_table {
	struct trt_versioned v;
	int32_t (*release)(void *self);
	void *(*clone)(void *self);
};

static void *acquire(void *self, const char *key, void *object)
{
	struct resource *free_one = NULL;
	(void)self;
	for (int i = 0; i < MOST_RESOURCES; i++) {
		struct resource *r = &registry.resource[i];
		if (r->users && strcmp(r->key, key) == 0) {
			r->users++;
			return r->object;
		}
		free_one = !r->users && !free_one ? r : free_one;
	}
	if (!free_one || !object)
		return NULL;
	*free_one = (struct resource){ arena_strdup(registry.arena, key), TRT_CALL(object, resource_table, clone), 1 };
	return free_one->object;
}

static int32_t release(void *self, const char *key)
{
	(void)self;
	for (int i = 0; i < MOST_RESOURCES; i++) {
		struct resource *r = &registry.resource[i];
		if (r->users && strcmp(r->key, key) == 0) {
			if (--r->users == 0)
				TRT_CALL(r->object, resource_table, release);
			return 0;
		}
	}
	return 1;
}

/* clang-format off */
#define SLOT(f) ((void (*)(void))(f))
static void (*const slots_10[])(void) = { /* the first 12: also of TensorRT 8 and 9 */
	SLOT(add), SLOT(list), SLOT(find), SLOT(nothing), SLOT(nothing), SLOT(nothing), SLOT(nothing), SLOT(take_away),
	SLOT(nothing), SLOT(nothing), SLOT(nothing), SLOT(nothing), SLOT(add), SLOT(list), SLOT(find), SLOT(take_away),
	SLOT(acquire), SLOT(release), SLOT(list) };
static void (*const slots_11[])(void) = {
	SLOT(nothing), SLOT(nothing), SLOT(nothing), SLOT(nothing), SLOT(nothing), SLOT(nothing), SLOT(nothing),
	SLOT(nothing), SLOT(add), SLOT(list), SLOT(find), SLOT(take_away), SLOT(acquire), SLOT(release), SLOT(list) };
/* clang-format on */

/* ---- Functions of the library. */

static void *get_registry(void)
{
	return &registry;
}

static void *get_logger(void)
{
	return &registry.host->logger;
}

static int32_t get_version(void)
{
	return registry.version;
}

static bool init_plugins(void *logger, const char *name_space)
{
	(void)logger, (void)name_space;
	return true;
}

static const struct host_function functions[] = {
	{ "getPluginRegistry", SLOT(get_registry) },
	{ "getBuilderPluginRegistry", SLOT(get_registry) },
	{ "getLogger", SLOT(get_logger) },
	{ "getInferLibVersion", SLOT(get_version) },
	{ "initLibNvInferPlugins", SLOT(init_plugins) },
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* The name of a library of TensorRT that dlopen() did not find, or of libnvinfer if it is a function; null: neither. */
static const char *missing(const char *why, struct arena *a)
{
	static const char *const library[] = { "libnvinfer", "libnvonnxparser" };
	for (size_t i = 0; i < sizeof library / sizeof *library; i++) {
		const char *at = strstr(why, library[i]);
		/* Only at the beginning, or after a space: the plugin library's own path may contain such a name. */
		if (at && (at == why || at[-1] == ' ') && !memchr(at, '/', strcspn(at, " :")) &&
		    strstr(at, "o such file"))
			return arena_strndup(a, at, strcspn(at, " :"));
	}
	for (int i = 0; i < FUNCTIONS; i++)
		if (strstr(why, functions[i].name))
			return "libnvinfer.so";
	return NULL;
}

void *host_open_linked(const char **why, struct host *h, int32_t version, struct arena *a)
{
	const char *last = "";
	registry.host = h;
	registry.arena = a;
	registry.version = version ? version : 110100;
	registry.form = trt_form(registry.version);
	registry.vptr = registry.form == 11 ? slots_11 : slots_10;
	registry.creators = 0;
	/* First in the order of symbols, so that a TensorRT that is installed changes nothing. */
	host_image_open("libnvinfer_played.so", functions, FUNCTIONS);
	for (int i = 0; i < MOST_IMAGES; i++) {
		void *handle = dlopen(h->path, RTLD_NOW | RTLD_LOCAL);
		if (handle)
			return handle;
		*why = arena_strdup(a, dlerror());
		const char *name = missing(*why, a);
		if (!name || strcmp(name, last) == 0 || !host_image_open(name, functions, FUNCTIONS))
			break;
		last = name;
	}
	return NULL;
}

bool host_is_registered(void *creator)
{
	return registry.creators && find(NULL, text_of(creator, 0), text_of(creator, 1), text_of(creator, 2));
}

int32_t host_registered(void *const **creators)
{
	*creators = registry.creator;
	return registry.creators;
}
