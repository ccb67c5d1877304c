/* Compiling and measuring candidates in processes of their own. See worker.h. */
#include "tune/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/code_cache.h"
#include "tune/turns.h"

enum { HOPELESS = 5, PROBE_MS = 120000 };
static const double LIMIT_NS = 6e8; /* for one comparison */

/* A candidate on the device. */
struct slot {
	bool full;
	struct tune_point point;
	struct arena *arena;
	struct tune_runner *runner;
};

struct worker {
	const struct tune_bench *b;
	struct arena *arena;
	struct code_cache cache;
	struct tune_code code;
	struct dev *dev;
	struct tune_pool *pool;
	struct slot slot[2];
	struct tune_reference reference;
	struct tensor *got, *agreed; /* outputs of a candidate, and of a correct one; null: none yet */
};

static void begin(struct worker *w, const struct tune_bench *b)
{
	*w = (struct worker){ .b = b, .arena = arena_new(), .cache = { b->folder, b->arch, b->language, NULL } };
	w->reference = (struct tune_reference){ .program = b->space->program,
		                                .inputs = b->inputs,
		                                .want = b->want,
		                                .sample = b->sample,
		                                .arena = w->arena };
	w->code = code_cache_use(&w->cache);
	setenv("TMPDIR", b->folder, 1); /* remains of a killed compiler are removed with the folder */
}

/* A rule appends buffers to its program: each candidate gets its own program with the same stages and inputs. */
static struct ir_plan *plan_of(const struct worker *w, struct tune_point point)
{
	const struct ir_program *p = w->b->space->program;
	return sched_program(ir_program_beside(p), w->b->space->target,
	                     tune_point_choices(w->b->space, point, p->arena));
}

static void tell_failure(struct tune_reply *r, enum tune_status status, const struct err *e)
{
	r->status = status;
	snprintf(r->why, sizeof r->why, "%.1023s", e->text);
	snprintf(r->advice, sizeof r->advice, "%.511s", e->advice);
	r->own_fault = e->code == ERR_USAGE;
}

/* ---- Compilers. */

void tune_compiler(void *arg, int fd)
{
	struct worker w;
	struct tune_request q;
	begin(&w, arg);
	while (child_receive(fd, &q, sizeof q) == sizeof q) {
		struct tune_reply r = { 0 };
		struct err e = { 0 };
		struct arena *a = arena_new();
		if (tune_compile(plan_of(&w, (struct tune_point){ q.point }), w.b->inputs, &w.code, a, &e) < 0)
			tell_failure(&r, TUNE_COMPILER, &e);
		arena_free(a);
		if (!child_send(fd, &r, sizeof r))
			return;
	}
}

/* ---- The measurer. */

static void empty(struct slot *s)
{
	if (!s->full)
		return;
	tune_runner_free(s->runner);
	arena_free(s->arena);
	*s = (struct slot){ 0 };
}

static int fill(struct worker *w, struct slot *s, struct tune_point point, struct err *e)
{
	empty(s);
	*s = (struct slot){ .full = true, .arena = arena_new() };
	s->point = tune_point_copy(w->b->space, point, s->arena);
	const struct tune_setup setup = { w->b->rotate, &w->code, w->pool };
	return tune_runner_new(&s->runner, w->dev, plan_of(w, point), w->b->inputs, &setup, s->arena, e);
}

/* Checks w->got: all of it against the reference, or a sample, and the rest against the first candidate that passed. */
static void compare(struct worker *w, struct slot *s, bool *right, const char **text)
{
	bool agreed = w->reference.sample && w->agreed;
	*right = tune_same(w->got, &w->reference, text, s->arena);
	if (*right && agreed) {
		*right = tune_agrees(w->got, w->agreed, &w->reference, text, s->arena);
	} else if (*right && w->reference.sample) {
		w->agreed = w->got;
		w->got = NULL;
	}
}

static int fetch(struct worker *w, struct slot *s, struct err *e)
{
	if (!w->got)
		w->got = NEWN(w->arena, struct tensor, w->b->space->program->outputs.n + 1);
	return tune_runner_outputs(s->runner, w->got, w->arena, e);
}

/* Checks a candidate before it is timed. */
static int check(struct worker *w, struct slot *s, struct tune_reply *r, struct err *e)
{
	const char *text;
	bool right = true;
	TRY(fetch(w, s, e));
	TRY(tune_runner_overrun(s->runner, &text, e));
	if (text) {
		r->status = TUNE_BOUNDS;
		snprintf(r->why, sizeof r->why, "it wrote outside the buffer %s", text);
		return 0;
	}
	compare(w, s, &right, &text);
	if (!right) {
		r->status = TUNE_WRONG;
		snprintf(r->why, sizeof r->why, "%s", text);
	}
	return 0;
}

static int sample(void *user, int which, double *ns, struct err *e)
{
	struct tune_runner *const *runner = user;
	return tune_runner_sample(runner[which], ns, e);
}

static double clock_now(void *user)
{
	struct tune_runner *const *runner = user;
	return tune_runner_clock(runner[0]);
}

static int time_it(struct slot *s, struct slot *against, const struct tune_request *q, struct tune_reply *r,
                   struct err *e)
{
	double once, best = 0;
	TRY(tune_runner_once(s->runner, &once, e));
	if (against) {
		TRY(tune_runner_once(against->runner, &best, e));
		if (best > 0 && once > best * HOPELESS && once > 1e6) {
			r->ns = once;
			r->ratio = once / best;
			return 0;
		}
		TRY(tune_runner_warm(against->runner, &best, e));
	}
	TRY(tune_runner_warm(s->runner, &once, e));
	struct tune_runner *runner[2] = { s->runner, against ? against->runner : NULL };
	const struct tune_meter meter = { sample, clock_now, runner, !against };
	struct tune_turns turns;
	TRY(tune_by_turns(&turns, &meter, q->repeats, q->exact, LIMIT_NS / tune_runner_runs(s->runner), e));
	r->ns = turns.ns;
	r->spread = turns.spread;
	r->ratio = turns.ratio;
	return 0;
}

/* The slot that holds `point`, or null. */
static struct slot *holding(struct worker *w, struct tune_point point)
{
	for (int i = 0; i < 2; i++)
		if (w->slot[i].full && tune_point_same(w->b->space, w->slot[i].point, point))
			return &w->slot[i];
	return NULL;
}

static int open_device(struct worker *w, struct err *e)
{
	if (!w->dev)
		TRY(dev_open(&w->dev, w->b->device, e));
	if (!w->pool)
		w->pool = tune_pool_new(w->dev, w->arena);
	w->cache.dev = w->dev;
	return 0;
}

/* Prepares the device and the reference candidate. Failures here are not the candidate's fault. */
static int prepare(struct worker *w, struct tune_request *q, struct slot **against, struct err *e)
{
	*against = NULL;
	TRY(open_device(w, e));
	if (!q->compared)
		return 0;
	struct tune_point other = { q->against };
	*against = holding(w, other);
	if (*against)
		return 0;
	empty(&w->slot[1]);
	*against = &w->slot[0];
	TRY(fill(w, *against, other, e));
	if (!w->b->sample || w->agreed)
		return 0;
	TRY(fetch(w, *against, e)); /* an earlier process checked it */
	w->agreed = w->got;
	w->got = NULL;
	return 0;
}

static int measure(struct worker *w, struct tune_request *q, struct tune_reply *r)
{
	struct err e = { 0 };
	struct slot *against, *own;
	if (prepare(w, q, &against, &e) < 0) {
		tell_failure(r, TUNE_FAILED, &e);
		r->own_fault = true;
		return e.code;
	}
	own = against == &w->slot[0] ? &w->slot[1] : &w->slot[0];
	int rc = fill(w, own, (struct tune_point){ q->point }, &e);
	r->kernels = rc == 0 ? tune_runner_kernels(own->runner) : 0;
	r->bytes = rc == 0 ? tune_runner_bytes(own->runner) : 0;
	if (rc == 0)
		rc = check(w, own, r, &e);
	if (rc == 0 && r->status == TUNE_OK)
		rc = time_it(own, against, q, r, &e);
	if (rc < 0)
		tell_failure(r, TUNE_FAILED, &e);
	else if (r->status == TUNE_BOUNDS || r->status == TUNE_WRONG)
		return ERR_DIFFER; /* it may have written anywhere else */
	return rc;
}

void tune_measurer(void *arg, int fd)
{
	struct worker w;
	struct tune_request q;
	struct err ignored = { 0 };
	begin(&w, arg);
	open_device(&w, &ignored); /* while the first candidate is compiled; a failure shows again when it is used */
	while (child_receive(fd, &q, sizeof q) == sizeof q) {
		struct tune_reply r = { 0 };
		int rc = measure(&w, &q, &r);
		if (!child_send(fd, &r, sizeof r) || rc < 0)
			return;
	}
}

/* ---- Device properties. */

struct probe {
	const char *device;
	size_t bytes;
};

struct probed {
	struct tune_device device;
	int code;
	char text[1024], advice[512];
};

static int look(struct probed *out, const struct probe *p, struct err *e)
{
	struct dev *d;
	struct arena *a = arena_new();
	TRY(dev_open(&d, p->device, e));
	out->device.props = d->props;
	TRY(tune_copy_rate(d, &out->device.bytes_per_ns, p->bytes, a, e));
	d->close(d);
	arena_free(a);
	return 0;
}

static void probe(void *arg, int fd)
{
	struct probed out = { 0 };
	struct err e = { 0 };
	out.code = look(&out, arg, &e);
	snprintf(out.text, sizeof out.text, "%.1023s", e.text);
	snprintf(out.advice, sizeof out.advice, "%.511s", e.advice);
	child_send(fd, &out, sizeof out);
}

/* Asks a process of its own, which may open the driver, for one message. */
static int ask(void *out, size_t size, void (*fn)(void *arg, int fd), void *arg, const char *device, struct err *e)
{
	struct child c;
	char how[64];
	TRY(child_start(&c, fn, arg, NULL, e));
	bool ready;
	child_wait(&c.fd, &ready, 1, PROBE_MS);
	size_t n = ready ? child_receive(c.fd, out, size) : 0;
	child_kill(&c, how);
	if (!ready)
		return err_set(e, ERR_DEVICE, "Querying the device %s was interrupted, or took more than %d s.", device,
		               PROBE_MS / 1000);
	if (n != size)
		return err_set(e, ERR_DEVICE, "The process that queries the device %s died (%s).", device, how);
	return 0;
}

int tune_probe(struct tune_device *out, const char *device, size_t cache_bytes, struct err *e)
{
	struct probe p = { device, cache_bytes };
	struct probed got;
	TRY(ask(&got, sizeof got, probe, &p, device, e));
	*out = got.device;
	if (got.code == 0)
		return 0;
	err_set(e, (enum err_code)got.code, "%s", got.text);
	return *got.advice ? err_advise(e, "%s", got.advice) : got.code;
}

static void count_gpus(void *unused, int fd)
{
	int n = dev_cuda_count(NULL);
	(void)unused;
	child_send(fd, &n, sizeof n);
}

int tune_gpus(int *n, struct err *e)
{
	return ask(n, sizeof *n, count_gpus, NULL, "cuda", e);
}
