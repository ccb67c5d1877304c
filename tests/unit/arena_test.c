/* Arenas: allocations are zero and aligned, marks, running out of memory. With AddressSanitizer a write beyond an
 * allocation is detected, even inside its block. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "tests/unit/test.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer) && !defined __SANITIZE_ADDRESS__
#define __SANITIZE_ADDRESS__
#endif
#endif

static void allocations(struct arena *a)
{
	for (size_t n = 1; n < 200000; n = n * 3 + 1) {
		unsigned char *p = arena_alloc(a, n);
		CHECK((uintptr_t)p % (n >= 4096 ? 64 : 16) == 0);
		CHECK(p[0] == 0 && p[n - 1] == 0);
		memset(p, 255, n);
	}
}

/* Memory allocated since a mark is reused, zeroed. */
static void marks(struct arena *a)
{
	for (size_t n = 10; n < 200000; n *= 4) {
		struct arena_mark m = arena_mark(a);
		size_t bytes = arena_bytes(a);
		for (int i = 0; i < 3; i++) {
			unsigned char *p = arena_alloc(a, n);
			CHECK(p[0] == 0 && p[n - 1] == 0);
			memset(p, 255, n);
			arena_alloc(a, 1);
			arena_release(a, m);
			CHECK_INT(arena_bytes(a), bytes);
		}
	}
}

#ifdef __SANITIZE_ADDRESS__
/* True if a process that writes there ends with an error. */
static int is_seen(volatile unsigned char *at)
{
	int status = 0;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(0);
		*at = 1;
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status != 0;
}

static void writes_beyond(struct arena *a)
{
	unsigned char *x = arena_alloc(a, 24), *y = arena_alloc(a, 24);
	CHECK(!is_seen(x + 23) && !is_seen(y));
	CHECK(is_seen(x + 24) && is_seen(y - 1) && is_seen(y + 24));
	struct arena_mark m = arena_mark(a);
	unsigned char *z = arena_alloc(a, 24);
	CHECK(!is_seen(z));
	arena_release(a, m);
	CHECK(is_seen(z) && !is_seen(y + 23));
}
#endif

int main(void)
{
	struct arena *a = arena_new();
	allocations(a);
	marks(a);
#ifdef __SANITIZE_ADDRESS__
	writes_beyond(a);
#endif
	arena_free(a);
	return test_done();
}
