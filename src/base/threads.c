/* Parallel loops and locks. See threads.h. */
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"

enum { MAX_WORKERS = 256 };

struct loop {
	atomic_int next;
	int n;
	void (*fn)(void *arg, int i);
	void *arg;
	atomic_bool failed; /* a job jumped to its thread's guard */
	pthread_mutex_t mutex;
	char bug[256]; /* the first failure; empty: out of memory */
};

int threads_count(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	return n < 1 ? 1 : n > MAX_WORKERS ? MAX_WORKERS : n;
}

/* Stops after a job jumped to a guard: the caller forwards that to its own when all threads have ended. */
static void *work(void *arg)
{
	struct loop *l = arg;
	struct arena_guard guard;
	if (setjmp(*arena_guard_push(&guard))) {
		const char *bug = arena_guard_bug();
		pthread_mutex_lock(&l->mutex);
		if (!atomic_load(&l->failed))
			snprintf(l->bug, sizeof l->bug, "%s", bug ? bug : "");
		atomic_store(&l->failed, true);
		pthread_mutex_unlock(&l->mutex);
	} else {
		for (int i; !atomic_load(&l->failed) && (i = atomic_fetch_add(&l->next, 1)) < l->n;)
			l->fn(l->arg, i);
	}
	arena_guard_pop(&guard);
	return NULL;
}

void threads_for(int n, int workers, void (*fn)(void *arg, int i), void *arg)
{
	struct loop l = { .n = n, .fn = fn, .arg = arg, .mutex = PTHREAD_MUTEX_INITIALIZER };
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
	if (atomic_load(&l.failed))
		arena_guard_forward(*l.bug ? l.bug : NULL);
}

/* ---- Locks. */

struct lock {
	pthread_mutex_t mutex;
};

struct lock *lock_new(struct arena *a)
{
	struct lock *l = NEW(a, struct lock);
	ck(pthread_mutex_init(&l->mutex, NULL) == 0);
	return l;
}

void lock_take(struct lock *l)
{
	ck(pthread_mutex_lock(&l->mutex) == 0);
}

void lock_give(struct lock *l)
{
	ck(pthread_mutex_unlock(&l->mutex) == 0);
}

void lock_free(struct lock *l)
{
	if (l)
		pthread_mutex_destroy(&l->mutex);
}
