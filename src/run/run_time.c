/* Times of a run's launches. See run.h. */
#include <stdlib.h>

#include "run/run_inside.h"

enum { WARM = 3 }; /* runs before the first measured one */

static int launch_one(struct dev *d, const struct run_launch *x, struct err *e)
{
	const struct ir_kernel *k = x->kernel;
	return dev_launch(d, x->function,
	                  &(struct dev_launch){ x->grid, x->block, k->shared_bytes, k->early, k->together }, x->args,
	                  e);
}

int run_launches(struct dev *d, const struct run_launches *l, struct err *e)
{
	vec_each (x, l)
		TRY(launch_one(d, x, e));
	return 0;
}

int run_launches_graph(struct dev_graph **out, struct dev *d, const struct run_launches *l, struct err *e)
{
	TRY(d->capture_begin(d, e));
	int rc = run_launches(d, l, e);
	struct err ignored = { 0 };
	int end = d->capture_end(d, out, rc < 0 ? &ignored : e);
	return rc < 0 ? rc : end;
}

static int compare(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

static double middle(double *ns, int n)
{
	qsort(ns, (size_t)n, sizeof *ns, compare);
	return n % 2 ? ns[n / 2] : (ns[n / 2 - 1] + ns[n / 2]) / 2;
}

static int check(const struct run_session *s, struct err *e)
{
	if (s->on.dev)
		return 0;
	err_set(e, ERR_USAGE, "The interpreter has no kernels to time.");
	return err_advise(e, "Use the device cuda, cpu or emulator.");
}

/* ---- The whole model. */

struct timing {
	struct run_session *s;
	struct dev_graph *graph;
	struct dev_event *from, *to;
};

static int replay(struct timing *t, struct err *e)
{
	struct dev *d = t->s->on.dev;
	return t->graph ? d->graph_launch(d, t->graph, e) : run_launches(d, &t->s->launches, e);
}

static int sample(struct timing *t, double *ns, int repeats, struct err *e)
{
	struct dev *d = t->s->on.dev;
	TRY(d->event_new(d, &t->from, e));
	TRY(d->event_new(d, &t->to, e));
	for (int i = 0; i < WARM; i++)
		TRY(replay(t, e));
	TRY(d->synchronize(d, e));
	for (int i = 0; i < repeats; i++) {
		TRY(d->event_record(d, t->from, e));
		TRY(replay(t, e));
		TRY(d->event_record(d, t->to, e));
		TRY(d->event_ns(d, &ns[i], t->from, t->to, e));
	}
	return 0;
}

int run_time(double *ns, double *spread, struct run_session *s, int repeats, bool recorded, struct err *e)
{
	struct timing t = { .s = s };
	struct dev *d = s->on.dev;
	double *each = NEWN(s->arena, double, repeats + 1);
	*ns = *spread = 0;
	TRY(check(s, e));
	if (recorded && !d->capture_begin)
		return 0;
	int rc = recorded ? run_launches_graph(&t.graph, d, &s->launches, e) : 0;
	rc = rc < 0 ? rc : sample(&t, each, repeats, e);
	if (rc == 0) {
		*ns = middle(each, repeats);
		*spread = *ns > 0 ? (each[repeats * 3 / 4] - each[repeats / 4]) / *ns : 0;
	}
	if (t.from)
		d->event_free(d, t.from);
	if (t.to)
		d->event_free(d, t.to);
	if (t.graph)
		d->graph_free(d, t.graph);
	return rc;
}

/* ---- Each launch. */

/* ns: [launch][repeat] */
static int sample_each(struct run_session *s, struct dev_event **event, double *ns, int repeats, struct err *e)
{
	struct dev *d = s->on.dev;
	int n = s->launches.n;
	for (int i = 0; i <= n; i++)
		TRY(d->event_new(d, &event[i], e));
	TRY(run_launches(d, &s->launches, e));
	TRY(d->synchronize(d, e));
	for (int r = 0; r < repeats; r++) {
		TRY(d->event_record(d, event[0], e));
		for (int i = 0; i < n; i++) {
			TRY(launch_one(d, &s->launches.at[i], e));
			TRY(d->event_record(d, event[i + 1], e));
		}
		for (int i = 0; i < n; i++)
			TRY(d->event_ns(d, &ns[i * repeats + r], event[i], event[i + 1], e));
	}
	return 0;
}

int run_profile(struct run_launch_time **out, int *n, struct run_session *s, int repeats, struct err *e)
{
	struct dev *d = s->on.dev;
	TRY(check(s, e));
	*n = s->launches.n;
	*out = NEWN(s->arena, struct run_launch_time, *n + 1);
	struct dev_event **event = NEWN(s->arena, struct dev_event *, *n + 2);
	double *ns = NEWN(s->arena, double, (*n + 1) * repeats);
	int rc = sample_each(s, event, ns, repeats, e);
	for (int i = 0; i <= *n; i++)
		if (event[i])
			d->event_free(d, event[i]);
	for (int i = 0; rc == 0 && i < *n; i++) {
		const struct run_launch *x = &s->launches.at[i];
		(*out)[i] = (struct run_launch_time){ x->piece, x->node, x->kernel->name,
			                              middle(&ns[i * repeats], repeats), x->bytes };
	}
	return rc;
}
