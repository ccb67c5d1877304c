/* Arenas: all memory of tpat. Three lifetimes: model, job (one program), scratch (mark and release in one function).
 * Nothing outside src/base/ calls malloc or free. */
#ifndef TPAT_BASE_ARENA_H
#define TPAT_BASE_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct arena_mark {
	void *block;
	size_t used;
};

/* Never null: as arena_alloc(). Free it with arena_free(). */
struct arena *arena_new(void);
void arena_free(struct arena *a); /* null is fine */

/* Returns `size` zeroed bytes, aligned to 16 (to 64 from 4 KiB on). Never null: when memory runs out, control jumps to
 * this thread's innermost arena_guard; without one the process ends with a message. */
void *arena_alloc(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap);

/* The present end of the arena, for arena_release(). */
struct arena_mark arena_mark(struct arena *a);
void arena_release(struct arena *a, struct arena_mark m); /* frees everything allocated since the mark */
size_t arena_bytes(const struct arena *a);                /* bytes taken from the system */

/* Catches out-of-memory and bugs found by ck(): `if (setjmp(*arena_guard_push(&g))) { ...failed... } ...;
 * arena_guard_pop(&g);` at an entry point. So neither ends a host's process. */
struct arena_guard {
	jmp_buf env;
	struct arena_guard *outer;
};
jmp_buf *arena_guard_push(struct arena_guard *g);
void arena_guard_pop(struct arena_guard *g);
/* After a guard's setjmp() returned nonzero: the bug that ck() found, as a clause; null: out of memory. Valid until the
 * thread's next failure. */
const char *arena_guard_bug(void);
/* Jumps to the innermost guard with a bug's text (null: out of memory). Returns only if the thread has no guard. */
void arena_guard_jump(const char *bug);
/* The same, but ends the process if there is none. */
_Noreturn void arena_guard_forward(const char *bug);

/* For tests: the n-th allocation from now on fails (0: none). */
void arena_fail_after(long n);

#define NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define NEWN(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

#endif
