/* Kernel texts to a loaded module, by the C++ compiler: one translation unit for all texts, a precompiled header in
 * front. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/embed.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "emulator_state.h"

static char source_root[PATH_MAX] = ".";
static char cache_folder[PATH_MAX];

/* Of kernels: -O1, for compiling counts more than running; wrapping integers and no fused arithmetic of the compiler's
 * own, as results must not depend on it. The instrumentation calls emulator_hooks.cpp. */
static const char *const flags[] = { "-std=c++17",
	                             "-O1",
	                             "-w",
	                             "-fPIC",
	                             "-fwrapv",
	                             "-ffp-contract=off",
	                             "-fno-strict-aliasing",
	                             "-fvisibility=hidden",
	                             "-fno-exceptions",
	                             "-fno-rtti",
	                             "-fsanitize=thread",
	                             "-fsanitize=bounds,integer-divide-by-zero",
	                             "-fsanitize-recover=all",
	                             NULL };
/* Then each compiler's own. Both: no calls at functions' entries and exits. clang: precompiled headers without their sources'
 * times, and reads told also where a write follows, as gcc does. */
static const char *const flags_gcc[] = { "--param=tsan-instrument-func-entry-exit=0", NULL };
static const char *const flags_clang[] = { "-Xclang",
	                                   "-fno-pch-timestamp",
	                                   "-mllvm",
	                                   "-tsan-instrument-func-entry-exit=0",
	                                   "-mllvm",
	                                   "-tsan-instrument-read-before-write",
	                                   NULL };

struct builder {
	const char *cxx;
	const char *const *own_flags; /* this compiler's */
	const char *root, *folder; /* source tree; folder of the precompiled header */
	struct arena *arena;
	struct err *err;
};

void emulator_configure(const char *root, const char *folder)
{
	if (root)
		snprintf(source_root, sizeof source_root, "%s", root);
	if (folder)
		snprintf(cache_folder, sizeof cache_folder, "%s", folder);
}

/* Runs the compiler with its flags and then `arg` (null-terminated). */
static int compile(struct builder *b, bool with_flags, const char *const *arg)
{
	const char *argv[64];
	int n = 0, status;
	char *output;
	argv[n++] = b->cxx;
	for (const char *const *f = flags; with_flags && *f; f++)
		argv[n++] = *f;
	for (const char *const *f = b->own_flags; with_flags && *f; f++)
		argv[n++] = *f;
	for (; *arg; arg++)
		argv[n++] = *arg;
	argv[n] = NULL;
	ck(n < 64);
	TRY(proc_run(&status, &output, argv, b->arena, b->err));
	if (status == 0)
		return 0;
	const char *at = strstr(output, "error");
	while (at && at > output && at[-1] != '\n')
		at--;
	return err_set(b->err, ERR_DEVICE, "%s failed: %.800s", b->cxx, at ? at : output);
}

static int hash_file(uint64_t *hash, struct builder *b, const char *name)
{
	char *text;
	size_t size;
	TRY(file_read(&text, &size, path_join(b->arena, b->root, name), b->arena, b->err));
	*hash = hash_bytes(*hash, text, size);
	return 0;
}

/* Moves what was made under a name of this process to its own; others may do the same at once. */
static int compile_to(struct builder *b, bool with_flags, const char *out, const char *const *arg)
{
	const char *all[24];
	int n = 0;
	char *temporary = arena_printf(b->arena, "%s.%d", out, (int)getpid());
	for (; *arg; arg++)
		all[n++] = *arg;
	all[n++] = "-o";
	all[n++] = temporary;
	all[n] = NULL;
	ck(n < 24);
	TRY(compile(b, with_flags, all));
	return file_rename(temporary, out, b->err);
}

/* The folder with emulator_cuda.h.gch and emulator_hooks.o, made when its contents have changed. */
static int prepare(struct builder *b)
{
	static const char *const sources[] = { "tests/emulator/emulator_cuda.h", "tests/emulator/emulator_mma.h",
		                               "tests/emulator/emulator_host.h", "tests/emulator/emulator_hooks.cpp" };
	struct arena *a = b->arena;
	uint64_t hash = hash_str(hash_str(1, b->cxx), b->root);
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
		TRY(hash_file(&hash, b, sources[i]));
	for (const struct embed_file *f = embed_files; f->name; f++)
		if (embed_is_device_header(f))
			TRY(hash_file(&hash, b, f->name));
	for (const char *const *f = flags; *f; f++)
		hash = hash_str(hash, *f);
	for (const char *const *f = b->own_flags; *f; f++)
		hash = hash_str(hash, *f);
	const char *folder = *cache_folder ? cache_folder : path_join(a, b->root, "build/emulator");
	b->folder = arena_printf(a, "%s/%016llx", folder, (unsigned long long)hash);
	char *header = path_join(a, b->folder, "emulator_cuda.h"), *hooks = path_join(a, b->folder, "emulator_hooks.o");
	char *gch = arena_printf(a, "%s.gch", header);
	if (file_exists(gch) && file_exists(hooks))
		return 0;
	TRY(file_mkdir(b->folder, b->err));
	char *text = arena_printf(a, "#include \"%s/tests/emulator/emulator_cuda.h\"\n", b->root);
	if (!file_exists(header))
		TRY(file_write(header, text, strlen(text), b->err));
	const char *tests = arena_printf(a, "-I%s/tests/emulator", b->root),
	           *device = arena_printf(a, "-I%s/rt/device", b->root);
	TRY(compile_to(b, false, hooks,
	               (const char *[]){ "-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-c", tests,
	                                 path_join(a, b->root, "tests/emulator/emulator_hooks.cpp"), NULL }));
	return compile_to(b, true, gch, (const char *[]){ tests, device, "-x", "c++-header", header, NULL });
}

static int write_unit(struct builder *b, const char *path, const struct emulator_text *text, int texts)
{
	struct str s = str_new(b->arena);
	for (int i = 0; i < texts; i++) {
		const char *rewritten = emulator_rewrite(&text[i], i, b->arena, b->err);
		if (!rewritten)
			return b->err->code;
		str_add(&s, rewritten);
	}
	str_add(&s, "extern \"C\" const struct emulator_kernel *const emulator_tables[] "
	            "__attribute__((visibility(\"hidden\"))) "
	            "= {\n");
	for (int i = 0; i < texts; i++)
		str_printf(&s, "\temulator_text_%d::emulator_kernels,\n", i);
	str_add(&s, "\tnullptr,\n};\n");
	return file_write(path, str_text(&s), s.n, b->err);
}

static int load(struct emulator_module *m, const char *path, struct err *e)
{
	const struct emulator_host *host = emulator_host_table(e);
	if (!host)
		return e->code;
	m->so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *symbol = m->so ? dlsym(m->so, "emulator_bind") : NULL;
	if (!symbol)
		return err_set(e, ERR_DEVICE, "The emulator cannot load what it compiled: %s.", dlerror());
	void (*bind)(const struct emulator_host *, struct emulator_index **, const struct emulator_kernel *const **);
	memcpy(&bind, &symbol, sizeof bind);
	bind(host, &m->here, &m->table);
	return 0;
}

static int build_in(struct builder *b, struct emulator_module *m, const char *folder, const struct emulator_text *text,
                    int texts)
{
	struct arena *a = b->arena;
	char *unit = path_join(a, folder, "kernels.cpp"), *object = path_join(a, folder, "kernels.o");
	char *so = path_join(a, folder, "kernels.so");
	TRY(write_unit(b, unit, text, texts));
	TRY(compile(b, true,
	            (const char *[]){ "-include", path_join(a, b->folder, "emulator_cuda.h"),
	                              arena_printf(a, "-I%s/tests/emulator", b->root),
	                              arena_printf(a, "-I%s/rt/device", b->root), "-c", unit, "-o", object, NULL }));
	TRY(compile(b, false,
	            (const char *[]){ "-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs", object,
	                              path_join(a, b->folder, "emulator_hooks.o"), "-o", so, "-lm", NULL }));
	return load(m, so, b->err);
}

int emulator_build(struct emulator_module **out, const struct emulator_text *text, int texts, struct err *e)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	char root[PATH_MAX], *folder = NULL;
	const char *cxx = getenv("CXX");
	struct arena *a = arena_new();
	struct emulator_module *m = NEW(a, struct emulator_module);
	m->arena = a;
	struct builder b = { .cxx = cxx && *cxx ? cxx : "g++", .root = root, .arena = a, .err = e };
	b.own_flags = strstr(b.cxx, "clang") ? flags_clang : flags_gcc;
	int rc = realpath(source_root, root) ? 0
	                                     : err_set(e, ERR_USAGE, "There is no source tree in \"%s\".", source_root);
	pthread_mutex_lock(&lock);
	if (rc == 0)
		rc = prepare(&b);
	pthread_mutex_unlock(&lock);
	if (rc == 0)
		rc = file_temp_dir(&folder, a, e);
	if (rc == 0)
		rc = build_in(&b, m, folder, text, texts);
	if (folder)
		file_remove_tree(folder);
	if (rc < 0)
		emulator_unload(m);
	else
		*out = m;
	return rc;
}

void emulator_unload(struct emulator_module *m)
{
	if (!m)
		return;
	if (m->so)
		dlclose(m->so);
	arena_free(m->arena);
}
