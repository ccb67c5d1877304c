/* Parallel loops over independent jobs; locks. */
#ifndef TPAT_BASE_THREADS_H
#define TPAT_BASE_THREADS_H

/* Calls fn(arg, i) for i in 0..n-1 on up to `workers` threads (0: one per processor) and waits for all of them. Jobs
 * must not share arenas. */
void threads_for(int n, int workers, void (*fn)(void *arg, int i), void *arg);

/* Mutual exclusion between threads: one at a time holds the lock. lock_free() before its arena ends; null is fine. */
struct arena;
struct lock;
struct lock *lock_new(struct arena *a);
void lock_take(struct lock *l);
void lock_give(struct lock *l);
void lock_free(struct lock *l);

/* Processors that this process may use. */
int threads_count(void);

#endif
