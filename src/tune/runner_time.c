/* A runner's times: launches recorded once and replayed between two events, for long enough that the overhead of timing
 * is negligible. */
#include "tune/runner_inside.h"

#include <stdlib.h>

enum { WARM_UP = 3, MAX_LAUNCHES = 512 };
static const double SAMPLE_NS = 1e6; /* makes the overhead of timing and replay negligible */

/* Runs all copies, `rounds` times. */
static int run_all(struct tune_runner *r, int rounds, struct err *e)
{
	for (int i = 0; i < rounds * r->copies; i++)
		TRY(runner_run_once(r, i % r->copies, e));
	return 0;
}

static int replay(struct runner_timing *t, struct err *e)
{
	struct dev *d = t->r->dev;
	return t->graph ? d->graph_launch(d, t->graph, e) : run_all(t->r, t->rounds, e);
}

static int one_sample(struct runner_timing *t, double *ns, struct err *e)
{
	struct dev *d = t->r->dev;
	TRY(d->event_record(d, t->from, e));
	TRY(replay(t, e));
	TRY(d->event_record(d, t->to, e));
	return d->event_ns(d, ns, t->from, t->to, e);
}

static int record(struct runner_timing *t, struct err *e)
{
	struct dev *d = t->r->dev;
	if (!d->capture_begin)
		return 0;
	TRY(d->capture_begin(d, e));
	TRY(run_all(t->r, t->rounds, e));
	return d->capture_end(d, &t->graph, e);
}

int tune_runner_once(struct tune_runner *r, double *ns, struct err *e)
{
	struct dev *d = r->dev;
	struct dev_event *from = NULL, *to = NULL;
	int rc = d->event_new(d, &from, e);
	rc = rc < 0 ? rc : d->event_new(d, &to, e);
	rc = rc < 0 ? rc : d->event_record(d, from, e);
	rc = rc < 0 ? rc : runner_run_once(r, 0, e);
	rc = rc < 0 ? rc : d->event_record(d, to, e);
	rc = rc < 0 ? rc : d->event_ns(d, ns, from, to, e);
	if (from)
		d->event_free(d, from);
	if (to)
		d->event_free(d, to);
	return rc;
}

int tune_runner_warm(struct tune_runner *r, double *once_ns, struct err *e)
{
	struct runner_timing *t = r->timing;
	struct dev *d = r->dev;
	double all;
	if (t && t->once > 0) {
		*once_ns = t->once;
		return replay(t, e);
	}
	t = r->timing = NEW(r->arena, struct runner_timing);
	t->r = r;
	TRY(d->event_new(d, &t->from, e));
	TRY(d->event_new(d, &t->to, e));
	t->rounds = 1;
	TRY(run_all(r, 1, e));
	TRY(d->synchronize(d, e));
	TRY(one_sample(t, &all, e));
	t->rounds = all > 0 && all < SAMPLE_NS ? (int)(SAMPLE_NS / all) + 1 : 1;
	if (t->rounds * r->copies > MAX_LAUNCHES)
		t->rounds = (MAX_LAUNCHES + r->copies - 1) / r->copies;
	TRY(record(t, e));
	for (int i = 0; i < (all < SAMPLE_NS * WARM_UP ? WARM_UP : 1); i++)
		TRY(replay(t, e));
	*once_ns = t->once = all / r->copies;
	return 0;
}

int tune_runner_sample(struct tune_runner *r, double *ns, struct err *e)
{
	TRY(one_sample(r->timing, ns, e));
	*ns /= r->timing->rounds * r->copies;
	return 0;
}

int tune_runner_runs(const struct tune_runner *r)
{
	return r->timing->rounds * r->copies;
}

double tune_runner_clock(const struct tune_runner *r)
{
	struct dev *d = r->dev;
	return d->clock ? d->clock(d) : 0;
}

static int compare_doubles(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

double tune_median(double *sample, int n, double *spread)
{
	qsort(sample, (size_t)n, sizeof *sample, compare_doubles);
	double middle = sample[n / 2];
	if (spread)
		*spread = middle > 0 ? (sample[n * 3 / 4] - sample[n / 4]) / middle : 0;
	return middle;
}

int tune_runner_time(struct tune_runner *r, double *ns, double *spread, int repeats, struct err *e)
{
	double *sample = NEWN(r->arena, double, repeats), once;
	int rc = tune_runner_warm(r, &once, e);
	for (int i = 0; i < repeats && rc == 0; i++)
		rc = tune_runner_sample(r, &sample[i], e);
	tune_runner_cool(r);
	if (rc == 0)
		*ns = tune_median(sample, repeats, spread);
	return rc;
}
