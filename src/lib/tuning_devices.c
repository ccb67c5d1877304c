/* Tunes on several devices of this machine: a process for each takes a share (tuning_share.c) and writes a database of
 * its own; their results come over sockets. At the end the databases are merged, and searches that were shared go on
 * here. A process that dies is started again: its database holds all trials but the one under way. */
#include <stdio.h>
#include <string.h>

#include "base/child.h"
#include "base/file.h"
#include "base/threads.h"
#include "lib/tuning_inside.h"

enum { MOST_DEVICES = 64, RESTARTS = 2, WAIT_MS = 200, MOST_TEXT = CHILD_MESSAGE / 2 };

/* A message of such a process. */
struct told {
	enum { TOLD_PROGRESS, TOLD_RESULT, TOLD_WARNING, TOLD_END } kind;
	struct tpat_tune_progress progress;
	struct tpat_tuned_node node; /* its texts are in `text` */
	int region, code;
	bool shared, interrupted; /* the search of this result is shared: it is not over */
	double bytes_per_ns;
	unsigned used;
	char text[MOST_TEXT]; /* in order, each after 's' and with its end; 'n': null */
};

/* ---- The process of a device. */

struct sharer {
	const struct tuning *parent;
	int number;
	int fd;
	struct tuning *own;
	struct told told;
};

static void add_text(struct told *m, const char *text)
{
	size_t n = text ? strlen(text) : 0;
	if (m->used + 3 > sizeof m->text)
		return;
	m->text[m->used++] = text ? 's' : 'n';
	if (!text)
		return;
	n = n < sizeof m->text - m->used - 1 ? n : sizeof m->text - m->used - 1;
	memcpy(m->text + m->used, text, n);
	m->text[m->used + n] = 0;
	m->used += (unsigned)n + 1;
}

static void tell(struct sharer *s)
{
	child_send(s->fd, &s->told, offsetof(struct told, text) + s->told.used);
}

/* Returns true to stop: the parent sent something, or is gone. */
static bool tell_progress(void *user, const struct tpat_tune_progress *p)
{
	struct sharer *s = user;
	bool stop;
	s->told = (struct told){ .kind = TOLD_PROGRESS, .progress = *p };
	add_text(&s->told, p->node);
	tell(s);
	child_wait(&s->fd, &stop, 1, 0);
	return stop;
}

static void tell_result(struct sharer *s, int i)
{
	const struct tpat_tuned_node *r = &s->own->result->tuned[i];
	const char *const text[] = { r->node,   r->same_as,  r->inputs, r->outputs, r->shape,
		                     r->before, r->schedule, r->end,    r->error,   r->format };
	s->told = (struct told){ .kind = TOLD_RESULT, .node = *r, .region = s->own->index[i] };
	s->told.shared = tuning_part(s->own, s->own->index[i]).count > 1;
	for (size_t k = 0; k < sizeof text / sizeof *text; k++)
		add_text(&s->told, text[k]);
	tell(s);
}

static void tell_end(struct sharer *s, int code)
{
	struct tuning *t = s->own;
	for (int i = 0; i < t->result->n; i++)
		tell_result(s, i);
	vec_each (w, &t->warnings) {
		s->told = (struct told){ .kind = TOLD_WARNING };
		add_text(&s->told, *w);
		tell(s);
	}
	s->told = (struct told){ .kind = TOLD_END, .code = code };
	s->told.interrupted = t->result->interrupted;
	s->told.bytes_per_ns = t->result->bytes_per_ns;
	add_text(&s->told, t->result->device);
	add_text(&s->told, t->err->text);
	add_text(&s->told, t->err->advice);
	tell(s);
}

static void tune_share(void *arg, int fd)
{
	struct sharer *s = arg;
	const struct tpat_tune_options *all = s->parent->o;
	struct tpat_tune_options o = *all;
	struct arena *a = arena_new();
	struct err e = { 0 };
	s->fd = fd;
	o.shard = s->number;
	o.shards = all->devices.n;
	o.locals = all->devices.n;
	o.workers = all->workers > all->devices.n ? all->workers / all->devices.n : all->workers ? 1 : 0;
	o.progress = tell_progress;
	o.user = s;
	s->own = NEW(a, struct tuning);
	*s->own = (struct tuning){ .o = &o, .result = NEW(a, struct tpat_tuning), .arena = a, .err = &e };
	s->own->device_name = all->devices.at[s->number];
	int rc = tuning_run(s->own);
	tell_end(s, rc);
	tuning_close(s->own);
	arena_free(a);
}

/* ---- The process that waits for them. */

struct sharing {
	struct tuning *t;
	int n;
	struct child child[MOST_DEVICES];
	int restarts[MOST_DEVICES];
	bool over[MOST_DEVICES];
	struct tpat_tune_progress last[MOST_DEVICES];
	struct tpat_tune_progress shown;
	struct told told;
	bool shared; /* some searches are */
	struct {
		VEC(struct tpat_tuned_node);
	} tuned;
	struct {
		VEC(int);
	} region; /* of each of them */
	bool stops;
};

static const char *take_text(const struct told *m, unsigned *at, struct arena *a)
{
	if (*at >= m->used || m->text[(*at)++] == 'n')
		return NULL;
	const char *text = arena_strdup(a, m->text + *at);
	*at += (unsigned)strlen(text) + 1;
	return text;
}

static int start(struct sharing *x, int i)
{
	struct sharer *s = NEW(x->t->arena, struct sharer);
	*s = (struct sharer){ .parent = x->t, .number = i };
	return child_start(&x->child[i], tune_share, s, NULL, x->t->err);
}

static void show(struct sharing *x, const struct tpat_tune_progress *p)
{
	const struct tpat_tune_options *o = x->t->o;
	x->stops |= (o->progress && o->progress(o->user, p)) || tpat_stops(x->t->talk);
}

static void take_progress(struct sharing *x, int i)
{
	struct tpat_tune_progress p = x->told.progress;
	unsigned at = 0;
	x->last[i] = p;
	p.node = take_text(&x->told, &at, x->t->arena);
	p.done = p.all = 0;
	for (int k = 0; k < x->n; k++) {
		p.done += x->last[k].done;
		p.all += x->last[k].all;
	}
	show(x, &p);
	x->shown = p;
	x->shown.over = false;
}

static void take_result(struct sharing *x)
{
	struct tpat_tuned_node r = x->told.node;
	const char **const text[] = { &r.node,   &r.same_as,  &r.inputs, &r.outputs, &r.shape,
		                      &r.before, &r.schedule, &r.end,    &r.error,   &r.format };
	unsigned at = 0;
	x->shared |= x->told.shared;
	if (x->told.shared)
		return;
	for (size_t k = 0; k < sizeof text / sizeof *text; k++)
		*text[k] = take_text(&x->told, &at, x->t->arena);
	vec_push(x->t->arena, &x->tuned, r);
	tuning_tell(x->t, &r);
	vec_push(x->t->arena, &x->region, x->told.region);
}

/* Fails if the device cannot be used at all. */
static int take_end(struct sharing *x, int i)
{
	struct tuning *t = x->t;
	unsigned at = 0;
	const char *device = take_text(&x->told, &at, t->arena), *why = take_text(&x->told, &at, t->arena),
	           *advice = take_text(&x->told, &at, t->arena);
	x->over[i] = true;
	t->result->interrupted |= x->told.interrupted;
	t->result->device = device ? device : t->result->device;
	t->result->bytes_per_ns = x->told.bytes_per_ns > 0 ? x->told.bytes_per_ns : t->result->bytes_per_ns;
	child_kill(&x->child[i], NULL);
	if (x->told.code == 0 || t->err->code)
		return 0;
	err_set(t->err, (enum err_code)x->told.code, "%s: %s", t->o->devices.at[i], why ? why : "");
	return advice && *advice ? err_advise(t->err, "%s", advice) : t->err->code;
}

static int died(struct sharing *x, int i)
{
	char how[64];
	child_kill(&x->child[i], how);
	if (!x->stops && x->restarts[i]++ < RESTARTS) {
		tuning_warn(x->t, arena_printf(x->t->arena,
		                               "The process that tuned on %s died (%s) and was started again; its "
		                               "trials are kept.",
		                               x->t->o->devices.at[i], how));
		return start(x, i);
	}
	x->over[i] = true;
	if (x->t->err->code)
		return 0;
	return err_set(x->t->err, ERR_DEVICE, "The process that tunes on %s keeps dying (%s).", x->t->o->devices.at[i],
	               how);
}

static int take(struct sharing *x, int i)
{
	unsigned at = 0;
	if (child_receive(x->child[i].fd, &x->told, sizeof x->told) < offsetof(struct told, text))
		return died(x, i);
	switch (x->told.kind) {
	case TOLD_PROGRESS: take_progress(x, i); return 0;
	case TOLD_RESULT: take_result(x); return 0;
	case TOLD_WARNING: tuning_warn(x->t, take_text(&x->told, &at, x->t->arena)); return 0;
	case TOLD_END: return take_end(x, i);
	}
	return 0;
}

static void stop_all(struct sharing *x)
{
	for (int i = 0; i < x->n; i++)
		if (!x->over[i])
			child_send(x->child[i].fd, "s", 1);
}

/* Until all have ended. After a failure the others end as after Ctrl-C. */
static int wait_for_all(struct sharing *x)
{
	int fd[MOST_DEVICES], running, rc = 0;
	bool ready[MOST_DEVICES], told = false;
	do {
		running = 0;
		for (int i = 0; i < x->n; i++) {
			fd[i] = x->over[i] ? -1 : x->child[i].fd;
			running += !x->over[i];
		}
		child_wait(fd, ready, running ? x->n : 0, WAIT_MS);
		for (int i = 0; i < x->n; i++)
			if (ready[i] && !x->over[i])
				rc = take(x, i) < 0 ? x->t->err->code : rc;
		if (x->shown.node)
			show(x, &x->shown);
		else
			x->stops |= tpat_stops(x->t->talk);
		if ((x->stops || rc < 0) && !told) {
			told = true;
			stop_all(x);
		}
	} while (running);
	return rc;
}

/* Also what is left of an earlier call that was killed. */
static int join_databases(struct sharing *x)
{
	struct tuning *t = x->t;
	struct db *all, *one = NULL;
	TRY(db_open(&all, t->result->db, DB_WRITE, t->err));
	int rc = 0;
	for (int i = 0; i < x->n && rc == 0; i++) {
		const char *path = tuning_share_path(t->result->db, i, x->n, t->arena);
		struct db_added added;
		if (!file_exists(path))
			continue;
		rc = db_open(&one, path, DB_READ, t->err);
		if (rc == 0)
			rc = db_merge(&added, all, one, t->err);
		db_close(one);
		if (rc == 0)
			db_remove(path, t->arena);
	}
	db_close(all);
	return rc;
}

/* Searches that were shared: what follows depends on all answers. */
static int finish(struct sharing *x)
{
	struct tuning *t = x->t, *own = NEW(t->arena, struct tuning);
	struct tpat_tune_options o = *t->o;
	o.shards = x->n;
	*own = (struct tuning){
		.o = &o, .result = NEW(t->arena, struct tpat_tuning), .talk = t->talk, .arena = t->arena, .err = t->err
	};
	own->device_name = t->o->devices.at[0];
	own->finishes = true;
	int rc = tuning_run(own);
	for (int i = 0; rc == 0 && i < own->result->n; i++) {
		vec_push(t->arena, &x->tuned, own->result->tuned[i]);
		vec_push(t->arena, &x->region, own->index[i]);
	}
	t->result->interrupted |= own->result->interrupted;
	vec_each (w, &own->warnings)
		tuning_warn(t, *w);
	tuning_close(own);
	return rc;
}

/* In the order of the regions. */
static void list_results(struct sharing *x)
{
	struct tpat_tuned_node *all = NEWN(x->t->arena, struct tpat_tuned_node, x->tuned.n + 1);
	struct tpat_tuning *out = x->t->result;
	for (int region = 0; out->n < x->tuned.n; region++)
		for (int i = 0; i < x->tuned.n; i++)
			if (x->region.at[i] == region) {
				out->failed += x->tuned.at[i].error != NULL;
				all[out->n++] = x->tuned.at[i];
			}
	out->tuned = all;
	out->warnings = tpat_strings_of(&x->t->warnings);
}

int tuning_devices(struct tuning *t)
{
	struct sharing *x = NEW(t->arena, struct sharing);
	int rc = 0;
	*x = (struct sharing){ .t = t, .n = t->o->devices.n };
	if (x->n > MOST_DEVICES)
		return err_set(t->err, ERR_USAGE, "At most %d devices can tune together.", MOST_DEVICES);
	TRY(tpat_db_path(&t->result->db, t->o->db, t->arena, t->err));
	for (int i = 0; i < x->n && rc == 0; i++)
		rc = start(x, i);
	if (rc == 0)
		rc = wait_for_all(x);
	for (int i = 0; i < x->n; i++)
		child_kill(&x->child[i], NULL);
	if (rc < 0) { /* what was found is kept */
		struct err why = *t->err;
		err_clear(t->err);
		join_databases(x);
		*t->err = why;
		return rc;
	}
	TRY(join_databases(x));
	if (x->shared && !t->result->interrupted)
		TRY(finish(x));
	list_results(x);
	return 0;
}
