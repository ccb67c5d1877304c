/* The CUDA emulator of the tests: runs generated .cu texts, unchanged, on the processor, and reports what a GPU would
 * let pass in silence: accesses out of bounds, misaligned, of uninitialised memory; races; barriers that not all reach.
 *
 * How: the text is compiled as C++ with the compiler's access instrumentation (-fsanitize=thread), whose calls end in
 * the emulator; threads of a block are fibres of one processor thread. One launch at a time in a process.
 * emulator_test.c shows all of it in use. */
#ifndef TPAT_TESTS_EMULATOR_H
#define TPAT_TESTS_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "tpat/tpat_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Memory: what cudaMalloc would give. Every access of a kernel to it is checked by byte. ---- */
enum emulator_flags {
	EMULATOR_READ_ONLY = 1,   /* a kernel's store to it is an error */
	EMULATOR_INITIALISED = 2, /* all bytes count as written */
};

/* `bytes` of memory, 256-byte aligned; `name` is what reports call it ("x"; copied). Null when memory is out. The host
 * may read and write it freely; emulator_mark() says which of it counts as initialised. */
void *emulator_alloc(const char *name, size_t bytes, int flags);
void emulator_free(void *p); /* null is fine */
/* Renames (null: as it is) and sets flags of the allocation that holds p; without EMULATOR_INITIALISED all of its bytes
 * count as never written. */
void emulator_mark(void *p, const char *name, int flags);
/* Copies into an allocation and counts the bytes as initialised. */
void emulator_copy_in(void *to, const void *from, size_t bytes);
/* The first of bytes [p, p + n) that no kernel and no copy_in wrote, as an offset from p; -1: none. */
int64_t emulator_first_unwritten(const void *p, size_t n);

/* ---- Texts to code ---- */
struct emulator_text {
	const char *name; /* "softmax.cu": in the compiler's messages, and to find its kernels by */
	const char *text;
	bool may_race; /* stores of different values by several threads to one element are no error (scatter of
	                  duplicates) */
};

/* Where the source tree is ("." by default) and where compiled headers are kept (default: build/emulator in it). */
void emulator_configure(const char *source_root, const char *cache_folder);

/* Compiles texts with $CXX (g++) into one module; each text has its own namespace, so that names may repeat. Owned by
 * the caller; freed with emulator_unload. */
struct emulator_module;
int emulator_build(struct emulator_module **out, const struct emulator_text *text, int texts, struct err *e);
void emulator_unload(struct emulator_module *m);

/* The text with its declarations of shared memory and kernels as the emulator needs them, in a namespace of its own
 * (`number`), followed by its row of kernels. For emulator_build, and to look at. */
char *emulator_rewrite(const struct emulator_text *text, int number, struct arena *a, struct err *e);

/* Runs one kernel. `text`: the name of its text, or null: the first that has the kernel. `args` point at the values, as
 * cuLaunchKernel takes them. Returns 0, or ERR_DIFFER with a sentence that names kernel, block, thread, buffer and
 * index where the kernel does wrong; ERR_USAGE where the launch is wrong. */
int emulator_launch(struct emulator_module *m, const char *text, const char *kernel, const uint32_t grid[3],
                    const uint32_t block[3], uint32_t shared_bytes, void **args, struct err *e);

/* A tensor map as kernels take it here, TPAT_RT_MAP_BYTES. */
void emulator_tensor_map(void *out, const struct tpat_rt_map_values *values);

/* ---- The plugin runtime's device ---- */
/* The .cu text of a plugin, or null when there is none by that name. */
typedef const char *(*emulator_lookup)(void *user, const char *plugin);
/* Fills `d` so that the runtime's enqueue runs here (tpat_rt_set_device). Modules are built when first needed, and kept
 * until emulator_device_close. */
void emulator_device(struct tpat_rt_device *d, emulator_lookup lookup, void *user);
void emulator_device_close(struct tpat_rt_device *d);

#ifdef __cplusplus
}
#endif
#endif
