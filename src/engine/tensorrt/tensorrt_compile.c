/* Compilers and the linker, run inside the folder of a library. */
#include "engine/tensorrt/tensorrt_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/threads.h"

char *tensorrt_id(const struct engine_plugin *p, struct arena *a)
{
	return str_identifier(a, p->name);
}

/* $CC, which may contain options, or the machine's compiler; for another machine one that makes code for it. */
static struct proc_command compiler_for(const struct machine *m, struct arena *a)
{
	struct proc_command c = proc_command("CC", proc_c_compilers, a);
	char *said = NULL;
	int status = 0;
	struct err ignored = { 0 };
	if (!m)
		return c;
	const char **ask = NEWN(a, const char *, c.n + 2);
	memcpy(ask, c.word, sizeof *ask * (size_t)c.n);
	ask[c.n] = "-dumpmachine";
	if (proc_run(&status, &said, ask, a, &ignored) == 0 && status == 0 &&
	    str_starts(said, arena_printf(a, "%s-", m->name)))
		return c;
	const char *const cross[] = { arena_printf(a, "%s-linux-gnu-gcc", m->name), NULL };
	return proc_command("", cross, a);
}

static int advise_cc(const struct machine *m, struct err *e)
{
	if (!m)
		return err_advise(e, "Building a plugin library needs gcc or clang: install one, or name it in CC.");
	bool arm = machine_is_arm(m);
	return err_advise(
	        e, "Install a cross compiler (package gcc-%s-linux-gnu of Debian and Ubuntu), or name one in CC.",
	        arm ? m->name : "x86-64");
}

/* The compiler with these arguments. */
static const char *const *with_cc(const struct proc_command *cc, const char *const *args, int n, struct arena *a)
{
	const char **argv = NEWN(a, const char *, cc->n + n + 1);
	memcpy(argv, cc->word, sizeof *argv * (size_t)cc->n);
	memcpy(argv + cc->n, args, sizeof *args * (size_t)n);
	return argv;
}

/* Runs the compiler with these arguments inside the folder. */
static int run_cc(const struct build *b, const char *const *args, int n, struct arena *a, struct err *e)
{
	const struct proc_command cc = compiler_for(b->machine, a);
	struct err failed = { 0 };
	const char *what = arena_printf(a, "The C compiler failed on %s", args[n - 1]);
	char *said;
	if (proc_compile(&said, what, b->folder, with_cc(&cc, args, n, a), a, &failed) == 0)
		return 0;
	if (!said) {
		if (cc.found) { /* but it cannot be started, such as beyond a limit on processes */
			*e = failed;
			return e->code;
		}
		if (cc.named)
			err_set(e, ERR_DEVICE, "The C compiler \"%s\", which CC names, cannot be run.", cc.text);
		else if (b->machine)
			err_set(e, ERR_DEVICE, "There is no C compiler for %s: %s cannot be run.", b->machine->name,
			        cc.text);
		else
			err_set(e, ERR_DEVICE, "The C compiler cannot be run.");
		return advise_cc(b->machine, e);
	}
	*e = failed;
	return advise_cc(b->machine, e);
}

static char *object_of(int number, struct arena *a)
{
	return arena_printf(a, OBJECTS "/%d.o", number);
}

/* `step`: -c, or -E for the preprocessor alone. */
static int run_step(const struct build *b, const char *step, const char *source, const char *out, struct arena *a,
                    struct err *e)
{
	/* The processor's kernels need the flags from -fwrapv on, as on tpat's device cpu; the others do no harm. */
	const char *args[] = { "-std=gnu11",
		               "-O2",
		               "-fPIC",
		               "-fvisibility=hidden",
		               "-pthread",
		               "-fwrapv",
		               "-Irt",
		               "-ffp-contract=off",
		               "-fno-tree-slp-vectorize",
		               step,
		               "-fno-math-errno",
		               "-o",
		               out,
		               "-fno-strict-aliasing",
		               source };
	return run_cc(b, args, sizeof args / sizeof *args, a, e);
}

int tensorrt_compile_c(const struct build *b, const char *source, const char *object, struct arena *a, struct err *e)
{
	return run_step(b, "-c", source, object, a, e);
}

/* The compiler's version and options; null if it cannot be asked. */
static const char *compiler_of(const struct build *b, struct arena *a)
{
	const char *const args[] = { "--version" };
	const struct proc_command cc = compiler_for(b->machine, a);
	char *said = NULL;
	int status = 0;
	struct err ignored = { 0 };
	if (proc_run_in(&status, &said, b->folder, with_cc(&cc, args, 1, a), a, &ignored) < 0 || status)
		return NULL;
	return arena_printf(a, "%s\n%s", cc.text, said);
}

/* The text that the preprocessor makes of a source: it has all headers, also the system's. */
static int preprocess(char **text, size_t *size, const struct build *b, const struct job *j, struct arena *a,
                      struct err *e)
{
	const char *out = arena_printf(a, "%s.i", j->object), *path = path_join(a, b->folder, out);
	TRY(run_step(b, "-E", j->source, out, a, e));
	return file_read(text, size, path, a, e);
}

/* Takes the object that a compiler of this version made of the same text, or compiles it. */
static int compile_once(const struct build *b, const struct job *j, struct arena *a, struct err *e)
{
	const char *path = path_join(a, b->folder, j->object);
	const void *kept;
	char *text, *object;
	size_t size;
	TRY(preprocess(&text, &size, b, j, a, e));
	struct cache_key k = cache_key_new();
	cache_key_text(&k, b->compiler);
	cache_key_add(&k, text, size);
	if (cache_get(&kept, &size, "object", k, a))
		return file_make(path, kept, size, e);
	TRY(tensorrt_compile_c(b, j->source, j->object, a, e));
	TRY(file_read(&object, &size, path, a, e));
	cache_put("object", k, object, size);
	return 0;
}

static int compile_source(const struct build *b, const struct job *j, struct arena *a, struct err *e)
{
	return j->keep && b->compiler ? compile_once(b, j, a, e) : tensorrt_compile_c(b, j->source, j->object, a, e);
}

void tensorrt_add_cpu(struct build *b, const char *source, struct arena *a)
{
	const char *object = arena_printf(a, OBJECTS "/cpu_%d.o", b->cpu.n);
	vec_push(a, &b->cpu, object);
	b->job[b->jobs++] = (struct job){ .source = source, .object = object };
}

static int compile_cuda(const struct build *b, struct job *j, struct arena *a, struct err *e)
{
	static const char *const lines[] = { "--generate-line-info", NULL };
	struct dev_nvrtc_job nvrtc = {
		.file = arena_printf(a, "%s.cu", tensorrt_part_name(tensorrt_id(j->plugin, a), j->part, a)),
		.text = j->cuda,
		.header = b->header,
		.headers = b->headers,
		.arch = j->arch->arch,
		.ptx = j->arch->ptx,
		.option = strstr(j->cuda, "#include \"tpat_check.h\"") ? lines : NULL, /* kernels to debug */
	};
	const void *code = NULL;
	size_t size = 0;
	char *said = NULL; /* set if the compiler ran, even without success */
	int rc = dev_nvrtc_compile_once(&code, &size, &j->found, &nvrtc, &said, a, e);
	j->refused = rc < 0 && said;
	TRY(rc);
	if (nvrtc.ptx) /* the assembler file adds its NUL */
		size = strlen(code);
	const char *name = arena_printf(a, "code/%s", tensorrt_code_name(j->plugin, j->part, j->arch, a));
	if (b->library && b->library->made)
		b->library->made(b->library->user, nvrtc.file,
		                 arena_printf(a, nvrtc.ptx ? "compute_%d" : "sm_%d", nvrtc.arch), j->found);
	return file_make(path_join(a, b->folder, name), code, size, e);
}

static void run_job(void *arg, int i)
{
	struct build *b = arg;
	struct job *j = &b->job[i];
	if (atomic_load(&b->stop))
		return;
	struct arena *a = arena_new();
	if (b->progress &&
	    b->progress(b->user, atomic_load(&b->done), b->jobs, j->source ? j->source : j->plugin->name)) {
		err_set(&j->err, ERR_CANCELLED, "Interrupted.");
		atomic_store(&b->stop, true);
	} else if ((j->source ? compile_source(b, j, a, &j->err) : compile_cuda(b, j, a, &j->err)) < 0 && !j->refused) {
		atomic_store(&b->stop, true); /* but go on after refused kernels, to report all plugins */
	}
	atomic_fetch_add(&b->done, 1);
	arena_free(a);
}

int tensorrt_run_jobs(struct build *b, struct err *e)
{
	threads_for(b->jobs, b->workers, run_job, b);
	for (int i = 0; i < b->jobs; i++)
		if (b->job[i].refused && b->library && b->library->refused)
			b->library->refused(b->library->user, b->job[i].plugin, b->job[i].err.text);
		else if (b->job[i].cuda && !b->job[i].err.code && b->library && b->library->compiled)
			b->library->compiled(b->library->user, b->job[i].found);
	for (int i = 0; i < b->jobs; i++)
		if (b->job[i].err.code) {
			*e = b->job[i].err;
			return e->code;
		}
	return 0;
}

const char *tensorrt_place(const struct embed_file *f, struct arena *a)
{
	if (embed_is_header(f, KERNEL_CUDA))
		return arena_printf(a, "kernels/%s", path_base(f->name));
	if (str_starts(f->name, RT_CORE "/") || str_starts(f->name, RT_TENSORRT "/") ||
	    str_starts(f->name, RT_ONNXRUNTIME "/"))
		return f->name;
	if (str_starts(f->name, "include/tpat/"))
		return arena_printf(a, "rt/tpat/%s", path_base(f->name));
	return NULL;
}

int tensorrt_link(const struct build *b, const char *const *object, int objects, const char *library, struct arena *a,
                  struct err *e)
{
	const char *end[] = { "-ldl", "-lpthread", "-lm", "-o", library };
	const char **args = NEWN(a, const char *, objects + b->cpu.n + 16);
	int n = 0;
	args[n++] = "-shared";
	args[n++] = "-Wl,--no-undefined";
	args[n++] = "-Wl,-z,relro,-z,now";
	args[n++] = "-s";
	for (int i = 0; i < objects; i++)
		args[n++] = object[i];
	vec_each (cpu, &b->cpu)
		args[n++] = *cpu;
	for (size_t i = 0; i < sizeof end / sizeof *end; i++)
		args[n++] = end[i];
	return run_cc(b, args, n, a, e);
}

/* The same, with the runtime compiled from its sources: for a compiler that cannot link tpat's objects. What it makes
 * of them is kept for later builds. */
int tensorrt_link_sources(struct build *b, const char *tables, const char *library, struct arena *a, struct err *e)
{
	const char **object = NEWN(a, const char *, b->sources + 1);
	for (b->jobs = 0; b->jobs < b->sources; b->jobs++) {
		object[b->jobs] = object_of(b->jobs, a);
		b->job[b->jobs] = (struct job){ .source = b->source[b->jobs], .object = object[b->jobs], .keep = true };
	}
	object[b->sources] = tables;
	b->compiler = compiler_of(b, a);
	TRY(tensorrt_run_jobs(b, e));
	return tensorrt_link(b, object, b->sources + 1, library, a, e);
}
