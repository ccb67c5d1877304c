/* The CUDA emulator: runs generated .cu texts, unchanged, on the processor, and reports errors that a GPU would pass
 * over in silence: accesses out of bounds, misaligned, of uninitialised memory; races; barriers that not all threads
 * reach.
 *
 * How: the text is compiled as C++ with the compiler's access instrumentation (-fsanitize=thread), whose calls end in
 * the emulator; threads of a block are fibres of one processor thread. One launch at a time in a process.
 * tests/emulator/emulator_test.c shows all of it in use. */
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
/* Only renames it. */
void emulator_name(void *p, const char *name);
const char *emulator_name_of(const void *p);
/* Copies into an allocation, or fills it, and counts the bytes as initialised. */
void emulator_copy_in(void *to, const void *from, size_t bytes);
void emulator_fill(void *to, int byte, size_t bytes);
/* The first of bytes [p, p + n) that no kernel and no copy_in wrote, as an offset from p; -1: none. */
int64_t emulator_first_unwritten(const void *p, size_t n);

/* ---- Texts to code ---- */
struct emulator_text {
	const char *name; /* "softmax.cu": in the compiler's messages, and to find its kernels by */
	const char *text;
	bool may_race; /* stores of different values by several threads to one element are no error (scatter of
	                  duplicates) */
};

/* The C++ compiler: $CXX, or g++; null: there is none. */
const char *emulator_compiler(void);

/* Compiles texts into one shared object, as bytes in `a`; each text has its own namespace, so that names may repeat.
 * The headers' compiled form is kept in $TPAT_CACHE/emulator (by default ~/.cache/tpat/emulator), and where
 * $TPAT_MODULES is a folder, the code of all texts there. Any thread. Errors: ERR_DEVICE with the compiler's first
 * message. */
int emulator_compile(void **data, size_t *size, const struct emulator_text *text, int texts, struct arena *a,
                     struct err *e);

/* Loads such bytes. Owned by the caller; freed with emulator_unload. */
struct emulator_module;
int emulator_load(struct emulator_module **out, const void *data, size_t size, struct err *e);
void emulator_unload(struct emulator_module *m);
/* Both in a row. */
int emulator_build(struct emulator_module **out, const struct emulator_text *text, int texts, struct err *e);
bool emulator_has_kernel(const struct emulator_module *m, const char *name);

/* The text with its declarations of shared memory and kernels as the emulator needs them, in a namespace of its own
 * (`number`), followed by its row of kernels. For emulator_compile, and to look at. */
char *emulator_rewrite(const struct emulator_text *text, int number, struct arena *a, struct err *e);

/* Runs one kernel. `text`: the name of its text, or null: the first that has the kernel. `args` point at the values, as
 * cuLaunchKernel takes them. Returns 0, or ERR_DIFFER with a sentence that names kernel, block, thread, buffer and
 * index where the kernel does wrong; ERR_USAGE where the launch is wrong. */
int emulator_launch(struct emulator_module *m, const char *text, const char *kernel, const uint32_t grid[3],
                    const uint32_t block[3], uint32_t shared_bytes, void **args, struct err *e);

/* The most shared memory, static and dynamic together, that a block may have from now on; by default 227 KB, an
 * H100's. */
void emulator_limit_shared(size_t bytes);

/* A tensor map as kernels take it here, TPAT_RT_MAP_BYTES. */
void emulator_tensor_map(void *out, const struct tpat_rt_map_values *values);

#ifdef __cplusplus
}
#endif
#endif
