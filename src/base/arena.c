/* Arenas: chained blocks, bump allocation. See arena.h. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* AddressSanitizer poisons the unallocated part of a block and a gap after each allocation. */
#ifdef __has_feature
#if __has_feature(address_sanitizer) && !defined __SANITIZE_ADDRESS__
#define __SANITIZE_ADDRESS__
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { GAP = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
enum { GAP = 0 };
#endif

enum { BLOCK_SIZE = 64 * 1024 - 64 };

struct block {
	struct block *prev;
	size_t size, used;
	alignas(64) unsigned char data[];
};

/* One block that a release gave back is kept: marks and releases at a block's end would ask the system each time. */
struct arena {
	struct block *last, *spare;
	size_t bytes;
};

static _Thread_local struct arena_guard *guard;
static _Thread_local char bug[256]; /* the reason of the last jump to a guard; empty: out of memory */
static long fail_after;

static void *system_alloc(size_t size)
{
	if (fail_after && --fail_after == 0)
		return NULL;
	return aligned_alloc(64, (size + 63) / 64 * 64);
}

const char *arena_guard_bug(void)
{
	return *bug ? bug : NULL;
}

void arena_guard_jump(const char *text)
{
	if (!guard)
		return;
	if (text != bug) /* else it is forwarded */
		snprintf(bug, sizeof bug, "%s", text ? text : "");
	longjmp(guard->env, 1);
}

_Noreturn void arena_guard_forward(const char *text)
{
	arena_guard_jump(text);
	fprintf(stderr, "tpat: %s\n", text ? text : "out of memory");
	if (text)
		abort();
	exit(5);
}

_Noreturn static void out_of_memory(size_t size)
{
	arena_guard_jump(NULL);
	fprintf(stderr, "tpat: out of memory (%zu bytes asked for)\n", size);
	exit(5);
}

struct arena *arena_new(void)
{
	struct arena *a = system_alloc(sizeof *a);
	if (!a)
		out_of_memory(sizeof *a);
	memset(a, 0, sizeof *a);
	return a;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	for (struct block *b = a->last, *prev; b; b = prev) {
		prev = b->prev;
		free(b);
	}
	free(a->spare);
	free(a);
}

/* A new last block with room for `size` bytes; null: out of memory. */
static struct block *push_block(struct arena *a, size_t size)
{
	struct block *b = a->spare;
	size_t want = size > BLOCK_SIZE ? size : BLOCK_SIZE;
	if (b && want == BLOCK_SIZE)
		a->spare = NULL;
	else if (size > SIZE_MAX / 2 || !(b = system_alloc(sizeof *b + want)))
		return NULL;
	*b = (struct block){ .prev = a->last, .size = want };
	ASAN_POISON_MEMORY_REGION(b->data, want);
	a->bytes += want;
	return a->last = b;
}

static void pop_block(struct arena *a)
{
	struct block *b = a->last;
	a->last = b->prev;
	a->bytes -= b->size;
	if (!a->spare && b->size == BLOCK_SIZE)
		a->spare = b;
	else
		free(b);
}

void *arena_alloc(struct arena *a, size_t size)
{
	size_t align = size >= 4096 ? 64 : 16;
	struct block *b = a->last;
	size_t at = b ? (b->used + align - 1) / align * align : 0;
	if (!b || at > b->size || size > b->size - at) {
		if (!(b = push_block(a, size)))
			out_of_memory(size);
		at = 0;
	}
	b->used = at + size + GAP;
	ASAN_UNPOISON_MEMORY_REGION(b->data + at, size);
	return memset(b->data + at, 0, size);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);
	memcpy(p, s, n);
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = number_vsnprintf(NULL, 0, fmt, ap);
	char *p = arena_alloc(a, (size_t)n + 1);
	number_vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *p = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return p;
}

struct arena_mark arena_mark(struct arena *a)
{
	return (struct arena_mark){ a->last, a->last ? a->last->used : 0 };
}

void arena_release(struct arena *a, struct arena_mark m)
{
	while (a->last != m.block)
		pop_block(a);
	if (!a->last)
		return;
	if (m.used < a->last->size)
		ASAN_POISON_MEMORY_REGION(a->last->data + m.used, a->last->size - m.used);
	a->last->used = m.used;
}

size_t arena_bytes(const struct arena *a)
{
	return a->bytes;
}

jmp_buf *arena_guard_push(struct arena_guard *g)
{
	g->outer = guard;
	guard = g;
	return &g->env;
}

void arena_guard_pop(struct arena_guard *g)
{
	guard = g->outer;
}

void arena_fail_after(long n)
{
	fail_after = n;
}
