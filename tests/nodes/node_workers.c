/* Worker processes for node_test. */
#include "tests/nodes/node_workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/threads.h"
#include "tests/nodes/batch.h"

enum { CASE_SECONDS = 900 /* for what hangs */, MOST_JOBS = 256 };

struct suite {
	const struct node_case *cases;
	int n;
	const struct node_options *options;
	struct node_result *result; /* by case */
	int *current;               /* by worker: the case that runs; both in memory that all processes share */
};

/* One worker's remaining jobs. */
struct share {
	const struct suite *suite;
	int worker;
	struct {
		VEC(int);
	} tests;
};

static void begin_share(void *user, int i)
{
	const struct share *share = user;
	share->suite->current[share->worker] = share->tests.at[i];
	alarm(CASE_SECONDS);
}

static void run_share(void *user, int i)
{
	const struct share *share = user;
	int at = share->tests.at[i];
	node_case_run(&share->suite->cases[at], share->suite->options, &share->suite->result[at]);
}

/* Worker w of n: every n-th case. A worker that dies restarts without the case that killed it. */
static void work(const struct suite *s, int w, int n)
{
	struct arena *arena = arena_new();
	struct share share = { s, w, { 0 } };
	for (int i = w; i < s->n; i += n)
		if (!s->result[i].done)
			vec_push(arena, &share.tests, i);
	batch_run(share.tests.n, run_share, begin_share, &share);
	alarm(0);
	arena_free(arena);
}

static pid_t start_worker(const struct suite *s, int w, int n)
{
	fflush(stdout);
	pid_t pid = fork();

	if (pid == 0) {
		work(s, w, n);
		exit(0);
	}
	return pid;
}

static void run_all(const struct suite *s, int jobs)
{
	pid_t worker[MOST_JOBS];
	int running = 0, status;

	for (int w = 0; w < jobs; w++, running++) {
		s->current[w] = w;
		worker[w] = start_worker(s, w, jobs);
	}
	while (running > 0) {
		pid_t pid = wait(&status);

		for (int w = 0; w < jobs; w++) {
			if (worker[w] != pid)
				continue;
			running--;
			int i = w;
			while (i < s->n && s->result[i].done)
				i += jobs;
			if (i >= s->n)
				continue;
			if (!s->result[s->current[w]].done)
				i = s->current[w];
			s->result[i].done = true;
			s->result[i].verdict = NODE_FAILED;
			snprintf(s->result[i].text, sizeof s->result[i].text, "the test died: %s %d.",
			         WIFSIGNALED(status) ? "signal" : "exit",
			         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
			worker[w] = start_worker(s, w, jobs);
			running++;
		}
	}
}

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

struct node_result *node_workers_run(const struct node_case *cases, int n, const struct node_options *o, int jobs)
{
	struct suite s = { cases, n, o, shared(sizeof *s.result * (size_t)(n + 1)),
		           shared(sizeof *s.current * MOST_JOBS) };
	if (s.result && s.current)
		run_all(&s, jobs < 1 ? threads_count() : jobs > MOST_JOBS ? MOST_JOBS : jobs);
	return s.current ? s.result : NULL;
}
