/* Parallel loops over independent jobs. */
#ifndef TPAT_BASE_THREADS_H
#define TPAT_BASE_THREADS_H

/* Calls fn(arg, i) for i in 0..n-1 on up to `workers` threads (0: one per processor) and waits for all of them. Jobs
 * must not share arenas. */
void threads_for(int n, int workers, void (*fn)(void *arg, int i), void *arg);

/* Processors that this process may use. */
int threads_count(void);

#endif
