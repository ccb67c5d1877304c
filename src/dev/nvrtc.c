/* NVRTC through dlopen. Knows its locations, but nothing about the code it compiles. See nvrtc.h. */
#include "dev/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

/* The functions used, of NVRTC's ABI since CUDA 11.2; results are ints, 0 is success. */
typedef struct opaque_program *program;
static struct {
	int (*version)(int *major, int *minor);
	int (*num_archs)(int *n);
	int (*archs)(int *arch);
	const char *(*error_string)(int rc);
	int (*create)(program *p, const char *text, const char *name, int headers, const char *const *header_text,
	              const char *const *header_name);
	int (*destroy)(program *p);
	int (*compile)(program p, int options, const char *const *option);
	int (*log_size)(program p, size_t *n);
	int (*log)(program p, char *out);
	int (*cubin_size)(program p, size_t *n);
	int (*cubin)(program p, char *out);
	int (*ptx_size)(program p, size_t *n);
	int (*ptx)(program p, char *out);
} nvrtc;

static const struct {
	const char *name;
	void *entry;
} symbols[] = {
	{ "nvrtcVersion", &nvrtc.version },
	{ "nvrtcGetNumSupportedArchs", &nvrtc.num_archs },
	{ "nvrtcGetSupportedArchs", &nvrtc.archs },
	{ "nvrtcGetErrorString", &nvrtc.error_string },
	{ "nvrtcCreateProgram", &nvrtc.create },
	{ "nvrtcDestroyProgram", &nvrtc.destroy },
	{ "nvrtcCompileProgram", &nvrtc.compile },
	{ "nvrtcGetProgramLogSize", &nvrtc.log_size },
	{ "nvrtcGetProgramLog", &nvrtc.log },
	{ "nvrtcGetCUBINSize", &nvrtc.cubin_size },
	{ "nvrtcGetCUBIN", &nvrtc.cubin },
	{ "nvrtcGetPTXSize", &nvrtc.ptx_size },
	{ "nvrtcGetPTX", &nvrtc.ptx },
};

enum { MAX_ARCHS = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *library; /* set last, under the lock; never closed */
static char library_path[4096];
static char refused[4096]; /* why the first library that is there was not usable; "" if there was none */
static int version;
static int arch[MAX_ARCHS], archs;

/* NVRTC opens a second library by its bare name, which only works if that is already loaded. */
static void open_builtins(const char *path)
{
	char pattern[4096];
	glob_t g;
	const char *slash = strrchr(path, '/');
	if (!slash || (size_t)snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so*", (int)(slash - path),
	                               path) >= sizeof pattern)
		return;
	if (glob(pattern, 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++)
		dlopen(g.gl_pathv[i], RTLD_LAZY | RTLD_LOCAL);
	globfree(&g);
}

/* Opens one library; false if it is missing or too old. */
static bool try_library(const char *path)
{
	void *so = file_is_special(path) ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL); /* dlopen would block on a pipe
	                                                                                */
	if (!so) {
		if (!*refused && file_exists(path))
			snprintf(refused, sizeof refused, "%s", dlerror());
		return false;
	}
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *p = dlsym(so, symbols[i].name);
		if (!p) {
			dlclose(so);
			return false;
		}
		memcpy(symbols[i].entry, &p, sizeof p);
	}
	int major = 0, minor = 0;
	if (nvrtc.version(&major, &minor) != 0 || nvrtc.num_archs(&archs) != 0 || archs < 1 || archs > MAX_ARCHS ||
	    nvrtc.archs(arch) != 0) {
		dlclose(so);
		return false;
	}
	version = major * 1000 + minor * 10;
	void *p = dlsym(so, "nvrtcVersion");
	Dl_info info;
	snprintf(library_path, sizeof library_path, "%s", dladdr(p, &info) && info.dli_fname ? info.dli_fname : path);
	open_builtins(library_path);
	library = so;
	return true;
}

/* Files of a pattern, the last in the alphabet first: libnvrtc.so.13 before libnvrtc.so.12. */
static bool try_pattern(const char *folder, const char *pattern)
{
	char path[4096];
	glob_t g;
	bool found = false;
	if ((size_t)snprintf(path, sizeof path, "%s%s", folder, pattern) >= sizeof path)
		return false;
	if (glob(path, 0, NULL, &g) != 0)
		return false;
	for (size_t i = g.gl_pathc; i-- > 0 && !found;)
		found = try_library(g.gl_pathv[i]);
	globfree(&g);
	return found;
}

/* A folder that holds the library itself, site-packages, a Python installation, or a toolkit. */
static bool try_folder(const char *folder)
{
	static const char *const pattern[] = {
		"/libnvrtc.so*",
		"/nvidia/*/lib/libnvrtc.so.*",
		"/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.*",
		"/lib64/libnvrtc.so*",
		"/lib/libnvrtc.so*", /* conda's */
	};
	for (size_t i = 0; i < sizeof pattern / sizeof *pattern; i++)
		if (try_pattern(folder, pattern[i]))
			return true;
	return false;
}

static bool try_beside_program(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
	if (n <= 0)
		return false;
	path[n] = 0;
	char *slash = strrchr(path, '/');
	static const char *const venv[] = { "/venv", "/../venv", "/../build/venv" };
	for (size_t i = 0; slash && i < sizeof venv / sizeof *venv; i++) {
		strcpy(slash, venv[i]);
		if (try_folder(path))
			return true;
	}
	return false;
}

/* The Python package: site-packages/tpat/libtpat.so, with NVRTC's package in the same site-packages. */
static bool try_beside_library(void)
{
	char path[4096];
	Dl_info info;
	if (!dladdr(&library, &info) || !info.dli_fname)
		return false;
	const char *slash = strrchr(info.dli_fname, '/');
	if (!slash || (size_t)snprintf(path, sizeof path, "%.*s/..", (int)(slash - info.dli_fname), info.dli_fname) >=
	                      sizeof path)
		return false;
	return try_pattern(path, "/nvidia/*/lib/libnvrtc.so.*");
}

/* The folder that a variable names, or one in it; false if the variable is not set. */
static bool try_value(const char *value, const char *inside)
{
	char path[4096];
	return value && *value && (size_t)snprintf(path, sizeof path, "%s%s", value, inside) < sizeof path &&
	       try_folder(path);
}

static bool find_library(void)
{
	static const char *const name[] = { "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2" };
	for (size_t i = 0; i < sizeof name / sizeof *name; i++)
		if (try_library(name[i]))
			return true;
	return try_folder("/usr/local/cuda") || try_pattern("", "/usr/local/cuda-*/lib64/libnvrtc.so*") ||
	       try_value(getenv("VIRTUAL_ENV"), "") || try_value(getenv("CONDA_PREFIX"), "") || try_beside_library() ||
	       try_beside_program() || try_folder("build/venv") || try_value(getenv("HOME"), "/.local") ||
	       try_pattern("/usr/local", "/lib/python3*/dist-packages/nvidia/*/lib/libnvrtc.so.*");
}

static int open_locked(struct err *e)
{
	if (library)
		return 0;
	const char *asked = getenv("TPAT_NVRTC");
	if (asked && *asked) { /* the user's choice is used or refused, never replaced */
		struct stat st;
		bool there = stat(asked, &st) == 0, folder = there && S_ISDIR(st.st_mode);
		if (there && (folder ? try_folder(asked) : try_library(asked)))
			return 0;
		const char *why = there && !folder ? dlerror() : NULL;
		if (there)
			err_set(e, ERR_DEVICE, "TPAT_NVRTC names %s, which contains no usable NVRTC%s%s.", asked,
			        why ? ": " : "", why ? why : "");
		else
			err_set(e, ERR_DEVICE, "TPAT_NVRTC names %s, which does not exist.", asked);
		return err_advise(e, "Set it to libnvrtc.so or to a folder that holds it (a CUDA toolkit, a Python "
		                     "environment), or unset it: tpat then searches the usual places.");
	}
	*refused = 0;
	if (find_library())
		return 0;
	if (*refused) {
		err_set(e, ERR_DEVICE, "NVRTC, the compiler of CUDA kernels, cannot be loaded: %s.", refused);
		return err_advise(e, "Repair it, or free memory if that is short; or name another one in TPAT_NVRTC.");
	}
	err_set(e, ERR_DEVICE,
	        "NVRTC, the compiler of CUDA kernels, was not found (libnvrtc.so of CUDA 11.2 or newer).");
	return err_advise(e,
	                  "Install a CUDA toolkit, or NVRTC alone: python3 -m venv ~/nvrtc && ~/nvrtc/bin/pip install "
	                  "nvidia-cuda-nvrtc; then set TPAT_NVRTC=~/nvrtc, or activate that environment.");
}

int dev_nvrtc_open(struct err *e)
{
	pthread_mutex_lock(&lock);
	int rc = open_locked(e);
	pthread_mutex_unlock(&lock);
	return rc;
}

const char *dev_nvrtc_path(void)
{
	return library ? library_path : NULL;
}

int dev_nvrtc_version(void)
{
	return library ? version : 0;
}

int dev_nvrtc_archs(int **out, int *n, struct arena *a, struct err *e)
{
	TRY(dev_nvrtc_open(e));
	*out = NEWN(a, int, archs);
	memcpy(*out, arch, sizeof **out * (size_t)archs);
	*n = archs;
	return 0;
}

bool dev_nvrtc_has_arch(int asked)
{
	for (int i = 0; library && i < archs; i++)
		if (arch[i] == asked)
			return true;
	return false;
}

static int unknown_arch(int asked, struct arena *a, struct err *e)
{
	struct arena_mark mark = arena_mark(a);
	struct str s = str_new(a);
	for (int i = 0; i < archs; i++)
		str_printf(&s, "%s%d", i ? ", " : "", arch[i]);
	err_set(e, ERR_DEVICE, "NVRTC %d.%d cannot compile for sm_%d.", version / 1000, version % 1000 / 10, asked);
	err_advise(e, "It knows these architectures: %s.", str_text(&s));
	arena_release(a, mark);
	return e->code;
}

/* Sets the error from the compiler's messages, as one line, from the first that contains "error". */
static int compile_failed(const char *file, const char *log, int rc, struct err *e)
{
	const char *at = strstr(log, "error");
	while (at && at > log && at[-1] != '\n')
		at--;
	int n = at ? (int)strcspn(at, "\n") : 0;
	if (n == 0)
		return err_set(e, ERR_DEVICE, "NVRTC failed on %s: %s.", file, nvrtc.error_string(rc));
	return err_set(e, ERR_DEVICE, "NVRTC failed on %s: %.*s", file, n > 700 ? 700 : n, at);
}

static int take(const void **out, size_t *size, program p, int (*get_size)(program, size_t *),
                int (*get)(program, char *), struct arena *a)
{
	size_t n = 0;
	int rc = get_size(p, &n);
	if (rc != 0)
		return rc;
	char *data = arena_alloc(a, n ? n : 1);
	*out = data;
	*size = n;
	return get(p, data);
}

static int compile_program(const void **out, size_t *size, const struct dev_nvrtc_job *job, program p, char **log,
                           struct arena *a, struct err *e)
{
	const char *option[40];
	int n = 0;
	/* Code for sm_90 may use features specific to it (sm_90a). */
	bool own = job->arch == 90 && !job->ptx && version >= 12000;
	option[n++] =
	        arena_printf(a, "--gpu-architecture=%s_%d%s", job->ptx ? "compute" : "sm", job->arch, own ? "a" : "");
	option[n++] = "--std=c++17";
	option[n++] = "--device-as-default-execution-space"; /* lambdas with parameters of any type */
	for (const char *const *o = job->option; o && *o; o++) {
		ck(n < 40);
		option[n++] = *o;
	}
	int rc = nvrtc.compile(p, n, option);
	const void *text = NULL;
	size_t text_size = 0;
	if (take(&text, &text_size, p, nvrtc.log_size, nvrtc.log, a) != 0 || text_size == 0)
		text = "";
	if (log)
		*log = arena_strdup(a, text);
	if (rc != 0)
		return compile_failed(job->file, text, rc, e);
	rc = job->ptx ? take(out, size, p, nvrtc.ptx_size, nvrtc.ptx, a)
	              : take(out, size, p, nvrtc.cubin_size, nvrtc.cubin, a);
	if (rc != 0)
		return err_set(e, ERR_DEVICE, "NVRTC compiled %s but gave no code: %s.", job->file,
		               nvrtc.error_string(rc));
	return 0;
}

int dev_nvrtc_compile(const void **out, size_t *size, const struct dev_nvrtc_job *job, char **log, struct arena *a,
                      struct err *e)
{
	if (log)
		*log = "";
	TRY(dev_nvrtc_open(e));
	if (!dev_nvrtc_has_arch(job->arch))
		return unknown_arch(job->arch, a, e);
	const char **text = NEWN(a, const char *, job->headers + 1);
	const char **name = NEWN(a, const char *, job->headers + 1);
	for (int i = 0; i < job->headers; i++) {
		text[i] = job->header[i].text;
		name[i] = job->header[i].name;
	}
	program p = NULL;
	int rc = nvrtc.create(&p, job->text, job->file, job->headers, text, name);
	if (rc != 0)
		return err_set(e, ERR_DEVICE, "NVRTC could not compile %s: %s.", job->file, nvrtc.error_string(rc));
	rc = compile_program(out, size, job, p, log, a, e);
	nvrtc.destroy(&p);
	return rc;
}
