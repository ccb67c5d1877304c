/* For tests: compiles the files in kernels/ and calls their kernels, on the emulator or on a device of src/dev. */
#ifndef TPAT_TESTS_EMULATOR_CALLS_H
#define TPAT_TESTS_EMULATOR_CALLS_H

#include <stdlib.h>

#include "base/file.h"
#include "dev/dev.h"
#include "emulator/emulator.h"
#include "tests/emulator/emulator_built.h"
#include "../unit/test.h"

static struct arena *arena;
static const char *root = ".";

/* ---- Emulator or GPU ---- */

static struct dev *gpu; /* null: the emulator */
enum { TEXTS = 16 };
static struct emulator_module *module;
static struct dev_module *gpu_module[TEXTS];
static struct emulator_text text[TEXTS]; /* the module's texts */
static int texts;

static inline char *read_text(const char *name)
{
	struct err e = { 0 };
	char *content = "";
	if (file_read(&content, NULL, path_join(arena, root, name), arena, &e) < 0)
		printf("%s\n", e.text);
	return content;
}

/* Compiles a file of kernels: once, or once for each type (null-terminated) with TYPE defined. */
static inline void open_kernels(const char *name, const char *const *type)
{
	struct err e = { 0 };
	const char *content = read_text(arena_printf(arena, "tests/emulator/kernels/%s", name));
	texts = 0;
	if (!type)
		text[texts++] = (struct emulator_text){ .name = name, .text = content };
	for (; type && *type; type++)
		text[texts++] = (struct emulator_text){
			.name = *type, .text = arena_printf(arena, "#define TYPE %s\n%s#undef TYPE\n", *type, content)
		};
	if (!gpu && emulator_build(&module, text, texts, &e) < 0) {
		printf("%s%s\n", e.where, e.text);
		exit(5);
	}
	for (int i = 0; gpu && i < texts; i++) {
		struct dev_source source = { .file = text[i].name, .text = text[i].text };
		struct dev_code code;
		char *log;
		CHECK_INT(gpu->compile(gpu, &code, &source, &log, arena, &e), 0);
		CHECK_STR(log, "");
		CHECK_INT(e.code ? e.code : gpu->load(gpu, &gpu_module[i], &code, &e), 0);
		CHECK_STR(e.text, "");
	}
}

static inline void close_kernels(void)
{
	for (int i = 0; gpu && i < texts; i++)
		gpu->unload(gpu, gpu_module[i]);
	if (!gpu)
		emulator_unload(module);
}

struct buffer {
	const char *name;
	void *data; /* on the host; outputs are copied back */
	size_t bytes;
	bool output, filled; /* filled: an output initialised with the host's bytes */
};

/* Runs a kernel of text t; its arguments are the buffers, then n. */
static inline void call_gpu(int t, const char *name, uint32_t blocks, uint32_t threads, struct buffer *b, int buffers,
                            int n, struct err *e)
{
	struct dev_kernel *k;
	void *p[8], *args[9];
	const uint32_t grid[3] = { blocks, 1, 1 }, block[3] = { threads, 1, 1 };
	for (int i = 0; i < buffers; i++) {
		CHECK_INT(gpu->alloc(gpu, &p[i], b[i].bytes, e), 0);
		CHECK_INT(gpu->copy_in(gpu, p[i], b[i].data, b[i].bytes, e), 0);
		args[i] = &p[i];
	}
	args[buffers] = &n;
	if (gpu->kernel(gpu, &k, gpu_module[t], name, 0, e) == 0 && gpu->launch(gpu, k, grid, block, 0, args, e) == 0)
		for (int i = 0; i < buffers; i++)
			if (b[i].output)
				gpu->copy_out(gpu, b[i].data, p[i], b[i].bytes, e);
	for (int i = 0; i < buffers; i++)
		gpu->free(gpu, p[i]);
}

static inline void call_emulator(int t, const char *name, uint32_t blocks, uint32_t threads, struct buffer *b,
                                 int buffers, int n, struct err *e)
{
	void *p[8], *args[9];
	const uint32_t grid[3] = { blocks, 1, 1 }, block[3] = { threads, 1, 1 };
	for (int i = 0; i < buffers; i++) {
		p[i] = emulator_alloc(b[i].name, b[i].bytes, b[i].output ? 0 : EMULATOR_READ_ONLY);
		if (!b[i].output || b[i].filled)
			emulator_copy_in(p[i], b[i].data, b[i].bytes);
		args[i] = &p[i];
	}
	args[buffers] = &n;
	if (emulator_launch(module, text[t].name, name, grid, block, 0, args, e) == 0)
		for (int i = 0; i < buffers; i++)
			if (b[i].output)
				memcpy(b[i].data, p[i], b[i].bytes);
	for (int i = 0; i < buffers; i++)
		emulator_free(p[i]);
}

static inline void call(int t, const char *name, uint32_t blocks, uint32_t threads, struct buffer *b, int buffers,
                        int n)
{
	struct err e = { 0 };
	(gpu ? call_gpu : call_emulator)(t, name, blocks, threads, b, buffers, n, &e);
	CHECK_STR(e.text, "");
}

/* Finds the source tree: $TPAT_SOURCE or the working folder. Opens the device named by the program's argument, if any;
 * exits if that fails. */
static inline void begin_calls(int argc, char **argv)
{
	struct err e = { 0 };
	arena = arena_new();
	if (getenv("TPAT_SOURCE"))
		root = getenv("TPAT_SOURCE");
	if (argc > 1 && dev_open(&gpu, argv[1], &e) < 0) {
		printf("%s\n", e.text);
		exit(5);
	}
}

/* Returns the exit status of the test program. */
static inline int end_calls(void)
{
	if (gpu)
		gpu->close(gpu);
	arena_free(arena);
	return test_done();
}

#endif
