/* Parallel loops. See threads.h. */
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MAX_WORKERS = 256 };

struct loop {
	atomic_int next;
	int n;
	void (*fn)(void *arg, int i);
	void *arg;
};

int threads_count(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	return n < 1 ? 1 : n > MAX_WORKERS ? MAX_WORKERS : n;
}

static void *work(void *arg)
{
	struct loop *l = arg;
	for (int i; (i = atomic_fetch_add(&l->next, 1)) < l->n;)
		l->fn(l->arg, i);
	return NULL;
}

void threads_for(int n, int workers, void (*fn)(void *arg, int i), void *arg)
{
	struct loop l = { .n = n, .fn = fn, .arg = arg };
	pthread_t thread[MAX_WORKERS];
	int started = 0;
	if (workers <= 0 || workers > MAX_WORKERS)
		workers = threads_count();
	if (workers > n)
		workers = n;
	for (int i = 1; i < workers; i++)
		if (pthread_create(&thread[started], NULL, work, &l) == 0)
			started++;
	work(&l);
	for (int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
}
