/* The CUDA emulator: runs generated .cu texts, unchanged, on the processor. Reports errors that a GPU may not detect:
 * accesses out of bounds, misaligned, or to uninitialised memory; races; barriers that not all threads reach.
 *
 * The text is compiled as C++ with the compiler's access instrumentation (-fsanitize=thread), which calls the emulator.
 * Threads of a block are fibres of one processor thread. A process runs one launch at a time.
 * tests/emulator/emulator_test.c uses all of it. */
#ifndef TPAT_EMULATOR_EMULATOR_H
#define TPAT_EMULATOR_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "tpat/tpat_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Memory, as from cudaMalloc. Every byte that a kernel accesses is checked. ---- */
enum emulator_flags {
	EMULATOR_READ_ONLY = 1,   /* kernels must not store to it */
	EMULATOR_INITIALISED = 2, /* all bytes count as written */
};

/* Allocates `bytes` of memory, 256-byte aligned; `name` is for reports ("x"; copied). Null when memory runs out. The
 * host may read and write it freely; emulator_mark() sets whether it counts as initialised. */
void *emulator_alloc(const char *name, size_t bytes, int flags);
void emulator_free(void *p); /* null is fine */
/* Renames (null: keeps the name) and sets the flags of the allocation that contains p; without EMULATOR_INITIALISED all
 * its bytes count as unwritten. */
void emulator_mark(void *p, const char *name, int flags);
/* Only renames the allocation. */
void emulator_name(void *p, const char *name);
const char *emulator_name_of(const void *p);
/* Copies into an allocation, or fills it, and marks the bytes as initialised. */
void emulator_copy_in(void *to, const void *from, size_t bytes);
void emulator_fill(void *to, int byte, size_t bytes);
/* The first byte in [p, p + n) that neither a kernel nor copy_in wrote, as an offset from p; -1: none. */
int64_t emulator_first_unwritten(const void *p, size_t n);

/* ---- Texts to code ---- */
struct emulator_text {
	const char *name; /* "softmax.cu": for compiler messages and to find its kernels */
	const char *text;
	bool may_race; /* threads may store different values to one element (scatter of duplicates) */
};

/* True if there is a C++ compiler: $CXX, or one of proc_cxx_compilers. */
bool emulator_has_compiler(void);

/* Compiles texts into one shared object, as bytes in `a`; each text has its own namespace, so names may repeat. Caches
 * the precompiled headers in $TPAT_CACHE/emulator (by default ~/.cache/tpat/emulator) and, if $TPAT_MODULES is a
 * folder, the code of all texts there. Any thread. Errors: ERR_DEVICE with the compiler's first message. */
int emulator_compile(void **data, size_t *size, const struct emulator_text *text, int texts, struct arena *a,
                     struct err *e);

/* Loads such bytes. Owned by the caller; freed with emulator_unload. */
struct emulator_module;
/* Loads the `size` bytes that emulator_compile() made. ERR_DEVICE if the dynamic linker refuses them. */
int emulator_load(struct emulator_module **out, const void *data, size_t size, struct err *e);
void emulator_unload(struct emulator_module *m);
bool emulator_has_kernel(const struct emulator_module *m, const char *name);

/* Rewrites a text's shared memory and kernel declarations for the emulator, in a namespace of its own (`number`),
 * followed by its kernel table. For emulator_compile and for inspection. */
const char *emulator_rewrite(const struct emulator_text *text, int number, struct arena *a, struct err *e);

/* Runs one kernel. `text`: the name of its text, or null: the first that has the kernel. `args` points to the argument
 * values, as for cuLaunchKernel. Returns 0; ERR_DIFFER for an error in the kernel, naming kernel, block, thread, buffer
 * and index; ERR_USAGE for an invalid launch. */
int emulator_launch(struct emulator_module *m, const char *text, const char *kernel, const uint32_t grid[3],
                    const uint32_t block[3], uint32_t shared_bytes, void **args, struct err *e);

/* The most blocks of `threads` threads that run at the same time, in kernels whose blocks wait for each other. */
int emulator_together(int threads);

/* Sets the limit of shared memory per block, static plus dynamic; by default 227 KB, as on the H100. */
void emulator_limit_shared(size_t bytes);

/* Makes a tensor map for emulated kernels, TPAT_RT_MAP_BYTES bytes. */
void emulator_tensor_map(void *out, const struct tpat_rt_map_values *values);

#ifdef __cplusplus
}
#endif
#endif
