/* Threads that take turns: one holds the lock and runs, the others wait for their code. See batch.h. */
#include "tests/nodes/batch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "tests/emulator/emulator_built.h"
#include "emulator/emulator.h"

enum { STACK_BYTES = 64 << 20 };

/* A loaded module, and how many texts in it are still used. */
struct module {
	struct emulator_module *loaded;
	int users;
};

struct batch_code {
	struct module *module;
	char name[24]; /* of the text in the module */
};

/* A test that waits for its code. */
struct request {
	struct batch_code *code;
	const char *text;
	bool may_race, done;
	struct err *err;
};

static struct {
	pthread_mutex_t turn;
	pthread_cond_t built;
	struct request *request[BATCH_WIDTH];
	int waiting, alive; /* tests that wait; threads that have not ended; 0: no batch is run */
	int n, next;        /* tests, and begun ones */
	void (*test)(void *user, int i);
	void (*enter)(void *user, int i);
	void *user;
} batch = { .turn = PTHREAD_MUTEX_INITIALIZER, .built = PTHREAD_COND_INITIALIZER };

static _Thread_local int current; /* this thread's test */

/* Compiles the texts of `n` requests to one module. */
static int build(struct request *const *request, int n, struct err *e)
{
	struct emulator_text text[BATCH_WIDTH] = { { 0 } };
	struct module *m = calloc(1, sizeof *m);
	ck(m);
	for (int i = 0; i < n; i++) {
		struct batch_code *code = request[i]->code;
		snprintf(code->name, sizeof code->name, "plan_%d.cu", i);
		text[i] = (struct emulator_text){ code->name, request[i]->text, request[i]->may_race };
	}
	int rc = emulator_build(&m->loaded, text, n, e);
	if (rc < 0) {
		free(m);
		return rc;
	}
	m->users = n;
	for (int i = 0; i < n; i++)
		request[i]->code->module = m;
	return 0;
}

/* Serves all that wait. A text that does not compile fails alone. */
static void build_all(void)
{
	struct err e = { 0 };
	bool together = batch.waiting > 1 && build(batch.request, batch.waiting, &e) == 0;
	for (int i = 0; i < batch.waiting; i++) {
		if (!together)
			build(&batch.request[i], 1, batch.request[i]->err);
		batch.request[i]->done = true;
	}
	batch.waiting = 0;
	pthread_cond_broadcast(&batch.built);
}

static void enter(int i)
{
	current = i;
	if (batch.enter)
		batch.enter(batch.user, i);
}

/* Runs tests one after another. */
static void *run_tests(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&batch.turn);
	while (batch.next < batch.n) {
		int i = batch.next++;
		enter(i);
		batch.test(batch.user, i);
	}
	batch.alive--;
	if (batch.waiting && batch.waiting == batch.alive)
		build_all();
	pthread_mutex_unlock(&batch.turn);
	return NULL;
}

void batch_run(int n, void (*test)(void *user, int i), void (*enter)(void *user, int i), void *user)
{
	pthread_t thread[BATCH_WIDTH];
	pthread_attr_t attributes;
	int width = n < BATCH_WIDTH ? n : BATCH_WIDTH;
	batch.n = n;
	batch.next = batch.waiting = 0;
	batch.alive = width;
	batch.test = test;
	batch.enter = enter;
	batch.user = user;
	ck(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0);
	pthread_mutex_lock(&batch.turn);
	for (int i = 0; i < width; i++)
		ck(pthread_create(&thread[i], &attributes, run_tests, NULL) == 0);
	pthread_mutex_unlock(&batch.turn);
	for (int i = 0; i < width; i++)
		pthread_join(thread[i], NULL);
	pthread_attr_destroy(&attributes);
}

int batch_build(struct batch_code **out, const char *text, bool may_race, struct err *e)
{
	struct batch_code *code = calloc(1, sizeof *code);
	struct request own = { code, text, may_race, false, e }, *request = &own;
	ck(code);
	if (batch.alive > 1) {
		batch.request[batch.waiting++] = request;
		if (batch.waiting == batch.alive)
			build_all();
		while (!own.done)
			pthread_cond_wait(&batch.built, &batch.turn);
		enter(current);
	} else {
		build(&request, 1, e);
	}
	if (code->module) {
		*out = code;
		return 0;
	}
	free(code);
	return e->code;
}

int batch_launch(struct batch_code *code, const char *kernel, const uint32_t grid[3], const uint32_t block[3],
                 uint32_t shared_bytes, void **args, struct err *e)
{
	return emulator_launch(code->module->loaded, code->name, kernel, grid, block, shared_bytes, args, e);
}

void batch_unload(struct batch_code *code)
{
	if (code && --code->module->users == 0) {
		emulator_unload(code->module->loaded);
		free(code->module);
	}
	free(code);
}
