/* Shared by the emulator's files: the running thread, and how a kernel's fault ends its launch. */
#ifndef TPAT_EMULATOR_EMULATOR_STATE_H
#define TPAT_EMULATOR_EMULATOR_STATE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "emulator/emulator.h"
#include "emulator/emulator_host.h"

/* Functions that run on a fibre's stack: the address sanitizer knows only the program's own. */
#define ON_FIBRE __attribute__((no_sanitize("address")))

/* The most blocks of a launch that run at the same time. */
enum { EMULATOR_BLOCKS = 128 };

/* The current launch. Epochs count barriers over the whole process, so that shadow bytes never need clearing. */
extern struct emulator_now {
	const struct emulator_kernel *kernel; /* null: none */
	uint32_t launch;                      /* number of the launch, from 1 */
	uint32_t block_id;                    /* its number in the process, from 1 */
	uint32_t epoch;                       /* of the block: grows with every barrier */
	uint32_t cluster_epoch;               /* epoch of the last cluster barrier */
	int fibre;                            /* among concurrent threads */
	int rank;                             /* of the block in its cluster */
	uint16_t thread;                      /* its number in the block */
	const uint16_t *warp_epoch;           /* __syncwarp()s of each warp of the block */
} emulator_now;

/* Ends the launch with "<kernel>, block (..), thread (..): <text>.". On a fibre only; does not return. */
_Noreturn void emulator_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- emulator_memory.c ---- */
int emulator_memory_open(uintptr_t *base, uintptr_t *span, struct err *e);
void emulator_check_read(const void *p, size_t bytes, int aligned);
void emulator_check_write(void *p, size_t bytes, int aligned);
void emulator_check_cluster_read(void *to, const void *p, size_t bytes, int rank);
void emulator_check_atomic_get(void *to, const void *p, size_t bytes);
void emulator_check_atomic_put(void *p, const void *from, size_t bytes);
void emulator_check_argument(const void *p, int number);
void *emulator_shared_memory(int id, size_t bytes, const char *name);
void *emulator_shared_dynamic(const char *name);
size_t emulator_shared_limit(void);
void emulator_shared_begin(size_t dynamic_bytes);
void emulator_shared_end(void);
void emulator_settle(void);   /* reports a pending store whose value differs from another thread's */
void emulator_unsettle(void); /* drops the pending store */

/* ---- emulator_run.c ---- */
const struct emulator_host *emulator_host_table(struct err *e); /* null: no memory */

/* ---- emulator_build.c ---- */
struct emulator_module {
	void *so;
	struct emulator_index *here;
	const struct emulator_kernel *const *table; /* one per text; null-terminated; each ends with a null name */
	struct arena *arena;
};

#endif
