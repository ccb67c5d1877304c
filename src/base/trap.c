/* Memory whose wrong use is named. See trap.h. */
#include "base/trap.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

enum { MAX_AREAS = 8192, STACK = 1 << 16 };

struct area {
	char *at, *guard, *end; /* whole pages up to `guard`, which cannot be read from there to `end` */
	int inside, beyond;
	bool closed;
};

static struct area areas[MAX_AREAS];
static int used; /* entries of `areas` that have been in use */
static void (*tell)(void *user, int meaning);
static void *tell_user;

/* The access happens again after the return, and ends the process. */
static void caught(int number, siginfo_t *info, void *context)
{
	const char *p = info->si_addr;
	void (*told)(void *, int) = tell;
	(void)context;
	signal(number, SIG_DFL);
	tell = NULL;
	for (int i = 0; told && i < used; i++) {
		const struct area *a = &areas[i];
		if (a->at && p >= a->guard && p < a->end) {
			told(tell_user, a->beyond);
			return;
		}
		if (a->at && a->closed && p >= a->at && p < a->guard) {
			told(tell_user, a->inside);
			return;
		}
	}
}

void trap_begin(void (*told)(void *user, int meaning), void *user)
{
	static char stack[STACK];
	const stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction action = { .sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	tell = told;
	tell_user = user;
	sigaltstack(&own, NULL);
	sigemptyset(&action.sa_mask);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

void *trap_new(size_t bytes, int beyond)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page) / page * page, align = 8;
	int i = 0;
	while (i < used && areas[i].at)
		i++;
	ck(i < MAX_AREAS);
	char *at = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck(at != MAP_FAILED && mprotect(at + whole, page, PROT_NONE) == 0);
	areas[i] = (struct area){ .at = at, .guard = at + whole, .end = at + whole + page, .beyond = beyond };
	used += i == used;
	while (align > 1 && align > bytes)
		align /= 2;
	return at + (whole - bytes) / align * align;
}

static struct area *area_of(const void *memory)
{
	const char *p = memory;
	for (int i = 0; i < used; i++)
		if (areas[i].at && p >= areas[i].at && p <= areas[i].guard)
			return &areas[i];
	ck(false);
	return NULL;
}

void trap_close(void *memory, int meaning)
{
	struct area *a = area_of(memory);
	a->inside = meaning;
	a->closed = true;
	ck(mprotect(a->at, (size_t)(a->guard - a->at), PROT_NONE) == 0);
}

void trap_free(void *memory)
{
	struct area *a = area_of(memory);
	munmap(a->at, (size_t)(a->end - a->at));
	*a = (struct area){ 0 };
}
