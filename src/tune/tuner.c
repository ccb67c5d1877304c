/* The tuning loop: a queue of candidates in the order of the search's questions; compilers take any of them, the
 * measurer the first. See tuner.h. Answers reach the search in the order of its questions, so that compile times do not
 * change what it asks. */
#include "tune/tuner.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "tune/turns.h"

enum {
	MAX_COMPILERS = 64,
	MAX_QUEUE = 2 * MAX_COMPILERS,
	REPEATS = 9,        /* rounds against the best so far */
	FIRST_REPEATS = 15, /* for the reference candidate */
	EXACT_ROUNDS = 200, /* at most, for the last comparisons */
	FAULTS = 4,         /* consecutive faults not caused by candidates: then tuning ends */
	POLL_MS = 200,
	OPENING = 60,
	CHOOSING = 5, /* seconds for the last comparisons, at least */
};

enum place { WAITING, COMPILING, COMPILED, MEASURING, ANSWERED };

struct entry {
	enum place place;
	bool killed; /* its process was killed once */
	struct tune_trial trial;
};

struct process {
	struct child child;
	struct entry *work; /* null: idle */
	double until;       /* deadline */
	bool fresh;
	char *log;
};

struct tuner {
	const struct tune_job *job;
	struct tune_result *out;
	struct arena *arena;
	struct process compiler[MAX_COMPILERS], measurer;
	int compilers;
	struct entry queue[MAX_QUEUE]; /* a ring */
	int first, queued, asked;
	double began, deadline, opening;
	int faults;
	bool failed_device;
	double against_ns; /* of the reference candidate */
	struct tune_point against;
	double ratio; /* of the last answer */
	bool exact;   /* the best are compared, until: */
	double choose_until;
	bool stopped;
};

/* ---- Processes. */

static int start(struct tuner *t, struct process *p, void (*fn)(void *, int), const char *name, int number)
{
	struct tune_bench bench = t->job->bench; /* the child's own: it has this stack, too */
	struct err e = { 0 };
	p->log = arena_printf(t->arena, "%s/%s%d.log", t->job->bench.folder, name, number);
	p->fresh = true;
	if (child_start(&p->child, fn, &bench, p->log, &e) < 0)
		t->out->fault = e;
	return e.code;
}

static void stop(struct process *p, char how[64])
{
	child_kill(&p->child, how);
	p->work = NULL;
}

/* The last line that a process wrote, to explain its death. */
static const char *last_words(const struct process *p, struct arena *a)
{
	struct err e = { 0 };
	char *text;
	size_t n;
	if (file_read(&text, &n, p->log, a, &e) < 0)
		return "";
	while (n && text[n - 1] == '\n')
		text[--n] = 0;
	const char *line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	return arena_strndup(a, line, strlen(line) > 200 ? 200 : strlen(line));
}

static void end_trial(struct entry *x, enum tune_status status, const char *why)
{
	x->place = ANSWERED;
	x->trial.status = status;
	x->trial.why = why;
}

/* Not the candidate's fault: retries it a few times. */
static void own_fault(struct tuner *t, struct entry *x, const struct tune_reply *r)
{
	struct err *e = &t->out->fault;
	x->place = x->place == COMPILING ? WAITING : COMPILED;
	if (++t->faults < FAULTS)
		return;
	err_clear(e);
	err_set(e, ERR_DEVICE, "%s", r->why);
	if (*r->advice)
		err_advise(e, "%s", r->advice);
	t->failed_device = true;
}

/* Handles the death of a process. */
static void died(struct tuner *t, struct process *p)
{
	char how[64];
	struct entry *x = p->work;
	const char *said = last_words(p, t->arena);
	stop(p, how);
	if (!x && ++t->faults >= FAULTS) {
		err_clear(&t->out->fault);
		err_set(&t->out->fault, ERR_DEVICE, "The tuner's worker processes die at start (%s).", how);
		t->failed_device = true;
	}
	if (x && !x->killed && strncmp(how, "signal 9 ", 9) == 0) { /* by a user, or for lack of memory: retry once */
		x->killed = true;
		x->place = x->place == COMPILING ? WAITING : COMPILED;
		return;
	}
	if (x)
		end_trial(x, TUNE_CRASHED, arena_printf(t->arena, "%s%s%s", how, *said ? ": " : "", said));
}

static void hung(struct tuner *t, struct process *p)
{
	struct entry *x = p->work;
	const char *what = x->place == COMPILING ? "compiling" : "running";
	stop(p, NULL);
	end_trial(x, TUNE_HUNG, arena_printf(t->arena, "%s took more than %g s", what, t->deadline));
}

/* ---- Work. */

static struct entry *nth(struct tuner *t, int i)
{
	return &t->queue[(t->first + i) % MAX_QUEUE];
}

static int room(const struct tuner *t)
{
	return t->compilers + 2;
}

static void ask(struct tuner *t)
{
	struct tune_point p;
	int trials = t->job->trials;
	while (t->queued < room(t) && (trials == 0 || t->asked < trials) && tune_search_next(t->job->search, &p)) {
		struct entry *x = nth(t, t->queued++);
		*x = (struct entry){ WAITING, false, { .point = p, .why = "" } };
		t->asked++;
	}
}

static bool request(struct tuner *t, struct process *p, struct entry *x, int repeats, bool compared)
{
	struct tune_request *q = NEW(t->arena, struct tune_request);
	size_t bytes = sizeof *q->point * (size_t)t->job->bench.space->stages;
	*q = (struct tune_request){ .repeats = repeats, .compared = compared, .exact = t->exact };
	memcpy(q->point, x->trial.point.option, bytes);
	if (compared)
		memcpy(q->against, t->against.option, bytes);
	if (!child_send(p->child.fd, q, sizeof *q))
		return false;
	p->work = x;
	p->until = clock_seconds() + t->deadline + (p == &t->measurer && p->fresh ? t->opening : 0);
	p->fresh = false;
	return true;
}

static void feed_compilers(struct tuner *t)
{
	for (int i = 0, c = 0; i < t->queued && c < t->compilers; i++) {
		struct entry *x = nth(t, i);
		if (x->place != WAITING)
			continue;
		while (c < t->compilers && t->compiler[c].work)
			c++;
		if (c == t->compilers)
			return;
		struct process *p = &t->compiler[c];
		if (!p->child.pid && start(t, p, tune_compiler, "compiler", c) < 0) {
			t->failed_device = true;
			return;
		}
		if (request(t, p, x, 0, false))
			x->place = COMPILING;
		else
			died(t, p);
	}
}

static void measure(struct tuner *t, struct entry *x, int repeats)
{
	struct process *p = &t->measurer;
	if (p->work || x->place != COMPILED)
		return;
	if (!p->child.pid && start(t, p, tune_measurer, "measurer", 0) < 0) {
		t->failed_device = true;
		return;
	}
	if (request(t, p, x, repeats, t->against.option != NULL))
		x->place = MEASURING;
	else
		died(t, p);
}

/* Candidates are compared with the best so far. Its time is from its first measurement; the others' times are scaled to
 * that. */
static void feed_measurer(struct tuner *t)
{
	const struct tune_trial *best = tune_search_best(t->job->search);
	t->against = best ? best->point : (struct tune_point){ NULL };
	t->against_ns = best ? best->ns : 0;
	if (t->queued)
		measure(t, nth(t, 0), best ? REPEATS : FIRST_REPEATS);
}

static void answer(struct tuner *t, struct process *p)
{
	struct tune_reply *r = NEW(t->arena, struct tune_reply);
	struct entry *x = p->work;
	if (child_receive(p->child.fd, r, sizeof *r) != sizeof *r || !x) {
		died(t, p);
		return;
	}
	p->work = NULL;
	if (p == &t->measurer && (r->own_fault || r->status != TUNE_OK)) { /* it exits now: give it no more work */
		char how[64];
		stop(p, how);
	}
	if (r->own_fault) {
		own_fault(t, x, r);
		return;
	}
	t->faults = 0;
	if (x->place == COMPILING && r->status == TUNE_OK) {
		x->place = COMPILED;
		return;
	}
	x->trial.kernels = r->kernels;
	x->trial.spread = r->spread;
	x->trial.ns = t->against_ns > 0 && r->ratio > 0 ? t->against_ns * r->ratio : r->ns;
	t->ratio = r->ratio;
	if (r->bytes > 0)
		t->out->bytes = r->bytes;
	end_trial(x, r->status, r->why);
	if (r->status != TUNE_OK)
		x->trial.ns = 0;
}

static void look(struct tuner *t)
{
	struct process *p[MAX_COMPILERS + 1];
	int fd[MAX_COMPILERS + 1], n = 0;
	bool ready[MAX_COMPILERS + 1];
	double at = clock_seconds(), wait = POLL_MS / 1e3;
	for (int i = 0; i <= t->compilers; i++) {
		struct process *x = i < t->compilers ? &t->compiler[i] : &t->measurer;
		if (!x->child.pid)
			continue;
		if (x->work && x->until - at < wait)
			wait = x->until > at ? x->until - at : 0;
		p[n] = x;
		fd[n++] = x->child.fd;
	}
	child_wait(fd, ready, n, (int)(wait * 1e3) + 1);
	at = clock_seconds();
	for (int i = 0; i < n; i++)
		if (ready[i])
			answer(t, p[i]);
		else if (p[i]->work && at > p[i]->until)
			hung(t, p[i]);
}

/* Finds the cost model's choice, once measured. */
static void find_first(struct tuner *t)
{
	const struct tune_trial *first;
	if (t->out->first.point.option)
		return;
	first = tune_search_find(t->job->search, tune_point_first(t->job->bench.space, t->arena));
	if (first)
		t->out->first = *first;
}

/* Passes on answers in the order of the questions. */
static void tell(struct tuner *t)
{
	while (t->queued && nth(t, 0)->place == ANSWERED) {
		struct tune_trial *trial = &nth(t, 0)->trial;
		tune_search_tell(t->job->search, trial);
		t->out->trials++;
		t->out->failed += trial->status != TUNE_OK;
		find_first(t);
		if (t->job->tried)
			t->job->tried(t->job->user, trial, t->out->bytes);
		t->first = (t->first + 1) % MAX_QUEUE;
		t->queued--;
	}
}

static bool progress(struct tuner *t)
{
	const struct tune_trial *best = tune_search_best(t->job->search);
	double took = clock_seconds() - t->began;
	struct tune_state s = { .trials = t->out->trials,
		                .best = best ? best->ns : 0,
		                .first = t->out->first.ns,
		                .bytes = t->out->bytes,
		                .seconds = took,
		                .left = t->job->seconds > took ? t->job->seconds - took : 0 };
	return t->job->progress && t->job->progress(t->job->user, &s);
}

static enum tune_end search(struct tuner *t)
{
	for (;;) {
		if (progress(t))
			return TUNE_END_INTERRUPT;
		if (clock_seconds() - t->began > t->job->seconds && (t->out->trials || t->faults))
			return TUNE_END_BUDGET;
		ask(t);
		if (!t->queued)
			return t->job->trials && t->asked >= t->job->trials ? TUNE_END_BUDGET : TUNE_END_SEARCH;
		feed_compilers(t);
		feed_measurer(t);
		look(t);
		tell(t);
		if (t->failed_device)
			return TUNE_END_FAULT;
	}
}

/* ---- The end: compares the best few once more, since their times were found in many small steps. */

static bool compare(void *user, struct tune_point p, struct tune_point against, double *ratio)
{
	struct tuner *t = user;
	struct entry x = { COMPILED, false, { .point = p, .why = "" } };
	if (clock_seconds() > t->choose_until)
		return false;
	t->against = against;
	t->against_ns = 1;
	t->exact = true;
	while (x.place != ANSWERED && !t->failed_device) {
		measure(t, &x, EXACT_ROUNDS);
		look(t);
		if (progress(t))
			t->stopped = true;
		if (t->stopped)
			return false;
	}
	*ratio = t->ratio;
	return x.place == ANSWERED && x.trial.status == TUNE_OK;
}

static void choose(struct tuner *t, struct tune_trial *best)
{
	const struct tune_trial *first = &t->out->first;
	for (int i = 0; i < t->compilers; i++)
		stop(&t->compiler[i], NULL); /* their results are no longer needed */
	if (t->measurer.work)
		stop(&t->measurer, NULL);
	struct tune_choice *c = NEW(t->arena, struct tune_choice);
	t->choose_until = clock_seconds() + (t->job->seconds > 10 * CHOOSING ? t->job->seconds / 10 : CHOOSING);
	tune_choose(c, t->job->search, t->job->bench.space, compare, t, t->arena);
	if (t->stopped || c->n < 2)
		return;
	*best = c->trial[0];
	for (int i = 0; i < c->n; i++) {
		if (first->point.option && tune_point_same(t->job->bench.space, c->trial[i].point, first->point))
			t->out->first.ns = c->trial[i].ns;
		if (!tune_search_find(t->job->search, c->trial[i].point)) /* options of several trials together */
			t->out->trials++;
		if (t->job->compared)
			t->job->compared(t->job->user, &c->trial[i], t->out->bytes);
	}
}

void tune_program(struct tune_result *out, const struct tune_job *job, struct arena *a)
{
	struct tuner *t = NEW(a, struct tuner);
	*out = (struct tune_result){ 0 };
	*t = (struct tuner){ .job = job, .out = out, .arena = a, .began = clock_seconds() };
	t->deadline = job->deadline > 0 ? job->deadline : 30;
	t->opening = job->opening > 0 ? job->opening : OPENING;
	t->compilers = job->compilers < 1 ? 1 : job->compilers > MAX_COMPILERS ? MAX_COMPILERS : job->compilers;
	find_first(t);
	start(t, &t->measurer, tune_measurer, "measurer", 0); /* a failure shows again when it is used */
	out->end = search(t);
	const struct tune_trial *best = tune_search_best(job->search);
	if (best) {
		out->best = *best;
		if (out->trials && out->end <= TUNE_END_BUDGET)
			choose(t, &out->best);
	}
	for (int i = 0; i < t->compilers; i++)
		stop(&t->compiler[i], NULL);
	stop(&t->measurer, NULL);
	out->seconds = clock_seconds() - t->began;
}
