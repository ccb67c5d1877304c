/* Kernel texts to a loaded module, by the C++ compiler: one translation unit for all texts, a precompiled header in
 * front. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/map.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/vec.h"
#include "emulator/emulator_state.h"

/* For kernels: wrapping integers and no implicit fused arithmetic, since results must not depend on the compiler. Large
 * frames touch each page of the stack, so that they end in its guard. The instrumentation calls emulator_hooks.cpp. */
static const char *const flags[] = { "-std=c++17",
	                             "-w",
	                             "-fPIC",
	                             "-fwrapv",
	                             "-ffp-contract=off",
	                             "-fno-strict-aliasing",
	                             "-fvisibility=hidden",
	                             "-fno-exceptions",
	                             "-fno-rtti",
	                             "-fstack-clash-protection",
	                             "-fsanitize=thread",
	                             "-fsanitize=bounds,integer-divide-by-zero",
	                             "-fsanitize-recover=all",
	                             NULL };
/* Compiler-specific flags. Both: no calls at function entry and exit. Compile time dominates for small tensors: clang
 * without optimisation takes a quarter of gcc's time, and gcc's own -O0 still half of it. clang: precompiled headers
 * without source times, and instrumented reads also before a write, as in gcc. gcc 10 and clang 11 lack a flag each. */
static const char *const flags_gcc_10[] = { "-O1", NULL };
static const char *const flags_clang_11[] = {
	"-O0", "-Xclang", "-fno-pch-timestamp", "-mllvm", "-tsan-instrument-func-entry-exit=0", NULL
};
static const char *const flags_gcc[] = { "-O1", "--param=tsan-instrument-func-entry-exit=0", NULL };
static const char *const flags_clang[] = { "-O0",
	                                   "-Xclang",
	                                   "-fno-pch-timestamp",
	                                   "-mllvm",
	                                   "-tsan-instrument-func-entry-exit=0",
	                                   "-mllvm",
	                                   "-tsan-instrument-read-before-write",
	                                   NULL };

struct builder {
	struct proc_command cxx;
	const char *const *own_flags; /* this compiler's */
	const char *folder;           /* of the headers and their compiled forms */
	struct arena *arena;
	struct err *err;
};

/* Runs the compiler with its flags and then `arg` (null-terminated). */
static int compile(struct builder *b, bool with_flags, const char *const *arg)
{
	struct {
		VEC(const char *);
	} argv = { 0 };
	char *said;
	for (int i = 0; i < b->cxx.n; i++)
		vec_push(b->arena, &argv, b->cxx.word[i]);
	for (const char *const *f = flags; with_flags && *f; f++)
		vec_push(b->arena, &argv, *f);
	for (const char *const *f = b->own_flags; with_flags && *f; f++)
		vec_push(b->arena, &argv, *f);
	for (; *arg; arg++)
		vec_push(b->arena, &argv, *arg);
	vec_push(b->arena, &argv, NULL);
	return proc_compile(&said, arena_printf(b->arena, "%s failed", b->cxx.text), NULL, argv.at, b->arena, b->err);
}

/* True for headers included by every kernel text: the kernel headers and the emulator's own. */
static bool is_header(const struct embed_file *f)
{
	return embed_is_header(f, KERNEL_CUDA) || str_starts(f->name, "src/emulator/");
}

/* Compiles to a name of this process, then renames; other processes may do the same. */
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

/* The text that the compiler prints when it is called with this option; "" if it cannot be run. */
static const char *answer(struct builder *b, const char *option)
{
	const char **argv = NEWN(b->arena, const char *, b->cxx.n + 2);
	char *output;
	int status;
	struct err ignored = { 0 };
	memcpy(argv, b->cxx.word, sizeof *argv * (size_t)b->cxx.n);
	argv[b->cxx.n] = option;
	return proc_run(&status, &output, argv, b->arena, &ignored) == 0 && status == 0 ? output : "";
}

struct compiler {
	char name[256], version[256]; /* the version's whole text */
	int major;                    /* 12 of version 12.2.0; 0: unknown */
};

/* Version of the compiler, cached for the last one. */
static const struct compiler *compiler_of(struct builder *b)
{
	static struct compiler known;
	if (strcmp(known.name, b->cxx.text) == 0)
		return &known;
	snprintf(known.version, sizeof known.version, "%s", answer(b, "--version"));
	known.major = atoi(answer(b, "-dumpversion"));
	snprintf(known.name, sizeof known.name, "%s", b->cxx.text);
	return &known;
}

static const char *const *own_flags(struct builder *b)
{
	int major = compiler_of(b)->major;
	if (strstr(b->cxx.text, "clang"))
		return major && major <= 11 ? flags_clang_11 : flags_clang;
	return major && major <= 10 ? flags_gcc_10 : flags_gcc;
}

/* Hash of the compiler, its flags and the headers: everything the code depends on besides the texts. */
static uint64_t hash_of(struct builder *b)
{
	uint64_t hash = hash_str(hash_str(1, b->cxx.text), compiler_of(b)->version);
	for (const struct embed_file *f = embed_files; f->name; f++)
		if (is_header(f))
			hash = hash_bytes(hash_str(hash, f->name), f->text, f->size);
	for (const char *const *f = flags; *f; f++)
		hash = hash_str(hash, *f);
	for (const char *const *f = b->own_flags; *f; f++)
		hash = hash_str(hash, *f);
	return hash;
}

/* Makes b->folder with the headers, emulator_cuda.hpp.gch and emulator_hooks.o. */
static int make_folder(struct builder *b)
{
	struct arena *a = b->arena;
	const char *include = arena_printf(a, "-I%s", b->folder);
	TRY(file_mkdir(b->folder, b->err));
	for (const struct embed_file *f = embed_files; f->name; f++)
		if (is_header(f))
			TRY(file_write(path_join(a, b->folder, path_base(f->name)), f->text, f->size, b->err));
	TRY(compile_to(b, false, path_join(a, b->folder, "emulator_hooks.o"),
	               (const char *[]){ "-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-c", include,
	                                 path_join(a, b->folder, "emulator_hooks.cpp"), NULL }));
	return compile_to(
	        b, true, path_join(a, b->folder, "emulator_cuda.hpp.gch"),
	        (const char *[]){ include, "-x", "c++-header", path_join(a, b->folder, "emulator_cuda.hpp"), NULL });
}

/* Finds or makes the folder in the cache; if that is impossible, makes one in `own`, private to this call. */
static int prepare(struct builder *b, const char *own)
{
	struct arena *a = b->arena;
	const char *cache = file_cache_dir(a);
	b->folder = cache ? arena_printf(a, "%s/emulator/%016llx", cache, (unsigned long long)hash_of(b)) : own;
	/* The header is compiled last. */
	if (cache && file_exists(path_join(a, b->folder, "emulator_cuda.hpp.gch")))
		return 0;
	if (cache && make_folder(b) == 0)
		return 0;
	err_clear(b->err);
	b->folder = own;
	return make_folder(b);
}

/* All texts as the one text that is compiled. */
static int make_unit(const char **out, struct builder *b, const struct emulator_text *text, int texts)
{
	struct str s = str_new(b->arena);
	for (int i = 0; i < texts; i++) {
		const char *rewritten = emulator_rewrite(&text[i], i, b->arena, b->err);
		if (!rewritten)
			return b->err->code;
		str_add(&s, rewritten);
	}
	str_add(&s, "extern \"C\" const struct emulator_kernel *const emulator_tables[] "
	            "__attribute__((visibility(\"hidden\"))) = {\n");
	for (int i = 0; i < texts; i++)
		str_printf(&s, "\temulator_text_%d::emulator_kernels,\n", i);
	str_add(&s, "\tnullptr,\n};\n");
	*out = str_text(&s);
	return 0;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for prepare(), hash_of() and own_flags() */

/* Compiles a unit to `so`, in a folder private to this call. Kernels need neither C++'s library nor start-up code;
 * without them, linking takes half the time. */
static int compile_in(struct builder *b, const char *folder, const char *so, const char *text)
{
	struct arena *a = b->arena;
	char *unit = path_join(a, folder, "kernels.cpp"), *object = path_join(a, folder, "kernels.o");
	pthread_mutex_lock(&lock);
	int rc = prepare(b, path_join(a, folder, "headers"));
	pthread_mutex_unlock(&lock);
	TRY(rc);
	TRY(file_write(unit, text, strlen(text), b->err));
	TRY(compile(b, true,
	            (const char *[]){ "-include", path_join(a, b->folder, "emulator_cuda.hpp"),
	                              arena_printf(a, "-I%s", b->folder), "-c", unit, "-o", object, NULL }));
	return compile(b, false,
	               (const char *[]){ "-shared", "-nostdlib", "-Wl,-Bsymbolic", "-Wl,-z,defs", object,
	                                 path_join(a, b->folder, "emulator_hooks.o"), "-o", so, "-lm", "-lc", "-lgcc",
	                                 NULL });
}

bool emulator_has_compiler(void)
{
	struct arena *a = arena_new();
	bool found = proc_command("CXX", proc_cxx_compilers, a).found;
	arena_free(a);
	return found;
}

static int compile_unit(struct builder *b, char **bytes, size_t *size, const char *unit, struct arena *a)
{
	char *folder;
	TRY(file_temp_dir(&folder, b->arena, b->err));
	char *so = path_join(b->arena, folder, "kernels.so");
	int rc = compile_in(b, folder, so, unit);
	if (rc == 0)
		rc = file_read(bytes, size, so, a, b->err);
	file_remove_tree(folder);
	return rc;
}

/* The cache path of a unit's code: in $TPAT_MODULES, by a hash of everything it depends on. Null: not cached. */
static const char *kept_path(struct builder *b, const char *unit)
{
	const char *folder = getenv("TPAT_MODULES");
	if (!folder || !*folder)
		return NULL;
	pthread_mutex_lock(&lock);
	uint64_t compiler = hash_of(b);
	pthread_mutex_unlock(&lock);
	return arena_printf(b->arena, "%s/%016llx%016llx.so", folder, (unsigned long long)hash_str(compiler, unit),
	                    (unsigned long long)hash_str(compiler + 1, unit));
}

/* Stores code in the cache; other processes may store the same. On failure it is compiled again next time. */
static void keep(struct builder *b, const char *path, const void *bytes, size_t size)
{
	struct err ignored = { 0 };
	const char *own = arena_printf(b->arena, "%s.%d", path, (int)getpid());
	if (file_mkdir(path_dir(b->arena, path), &ignored) == 0 && file_make(own, bytes, size, &ignored) == 0)
		file_rename(own, path, &ignored);
}

int emulator_compile(void **data, size_t *size, const struct emulator_text *text, int texts, struct arena *a,
                     struct err *e)
{
	char *bytes;
	struct builder b = { .arena = arena_new(), .err = e };
	b.cxx = proc_command("CXX", proc_cxx_compilers, b.arena);
	pthread_mutex_lock(&lock);
	b.own_flags = own_flags(&b);
	pthread_mutex_unlock(&lock);
	const char *unit = NULL, *kept = NULL;
	int rc = make_unit(&unit, &b, text, texts);
	if (rc == 0)
		kept = kept_path(&b, unit);
	bool found = kept && file_exists(kept);
	if (rc == 0)
		rc = found ? file_read(&bytes, size, kept, a, e) : compile_unit(&b, &bytes, size, unit, a);
	if (rc == 0 && kept && !found)
		keep(&b, kept, bytes, *size);
	arena_free(b.arena);
	if (rc == 0)
		*data = bytes;
	return rc;
}

/* Loads the bytes through a temporary file. */
static int load_bytes(struct emulator_module *m, const void *data, size_t size, struct err *e)
{
	char *folder;
	const struct emulator_host *host = emulator_host_table(e);
	if (!host)
		return e->code;
	TRY(file_temp_dir(&folder, m->arena, e));
	char *path = path_join(m->arena, folder, "kernels.so");
	int rc = file_write(path, data, size, e);
	m->so = rc == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	void *symbol = m->so ? dlsym(m->so, "emulator_bind") : NULL;
	if (rc == 0 && !symbol)
		rc = err_set(e, ERR_DEVICE, "The emulator cannot load what it compiled: %s.", dlerror());
	file_remove_tree(folder);
	TRY(rc);
	void (*bind)(const struct emulator_host *, struct emulator_index **, const struct emulator_kernel *const **);
	memcpy(&bind, &symbol, sizeof bind);
	bind(host, &m->here, &m->table);
	return 0;
}

int emulator_load(struct emulator_module **out, const void *data, size_t size, struct err *e)
{
	struct arena *a = arena_new();
	struct emulator_module *m = NEW(a, struct emulator_module);
	m->arena = a;
	int rc = load_bytes(m, data, size, e);
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
