/* How long calls take that put work into a stream: on the GPU, or in the process. See host_check.h. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "dev/cuda_driver.h"
#include "engine/tensorrt/host_check.h"

enum {
	WARM = 3,      /* rounds before the first that counts */
	TOGETHER = 16, /* rounds of a graph */
	SAMPLES = 15,
	MOST_TURNS = 1 << 16
};
static const double LEAST_NS = 2e6; /* of a sample: several times what events resolve */
static const double MOST_S = 0.1;   /* that a sample takes in all, with the time of the host */

struct timing {
	struct check_memory *m;
	const struct check_timed *x;
	cu_event from, to;
	cu_graph_exec graph; /* null: rounds are called one by one */
};

static bool worked(struct timing *t, int rc, const char *what)
{
	return check_memory_worked(t->m, rc, what);
}

/* Nanoseconds of `turns` rounds or graphs; negative: they fail. */
static double sample(struct timing *t, int turns)
{
	const struct cuda_driver *cu = t->m->cuda;
	double begun = clock_seconds();
	float ms = 0;
	bool good = !cu || worked(t, cu->event_record(t->from, t->x->stream), "An event cannot be recorded");
	for (int i = 0; i < turns && good; i++)
		good = t->graph ? worked(t, cu->graph_launch(t->graph, t->x->stream), "The graph cannot be launched")
		                : t->x->round(t->x->arg);
	if (!cu)
		return good ? (clock_seconds() - begun) * 1e9 : -1;
	good = good && worked(t, cu->event_record(t->to, t->x->stream), "An event cannot be recorded") &&
	       worked(t, cu->event_wait(t->to), "The work on the stream fails") &&
	       worked(t, cu->event_ms(&ms, t->from, t->to), "The time cannot be read");
	return good ? ms * 1e6 : -1;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The median of samples that are long enough, per turn; negative: it fails. */
static double median(struct timing *t)
{
	double ns[SAMPLES];
	int turns = 1;
	for (bool enough = false; !enough; turns *= enough ? 1 : 2) {
		double begun = clock_seconds(), first = sample(t, turns);
		if (first < 0)
			return -1;
		enough = first >= LEAST_NS || clock_seconds() - begun > MOST_S || turns >= MOST_TURNS;
	}
	for (int i = 0; i < SAMPLES; i++)
		if ((ns[i] = sample(t, turns)) < 0)
			return -1;
	qsort(ns, SAMPLES, sizeof *ns, by_size);
	return ns[SAMPLES / 2] / turns;
}

/* Records rounds as a graph. False if the driver or the plugin refuses: the stream is usable again. */
static bool record(struct timing *t)
{
	const struct cuda_driver *cu = t->m->cuda;
	cu_graph made = NULL;
	bool good = worked(t, cu->capture_begin(t->x->stream, CU_CAPTURE_THREAD_LOCAL), "A graph cannot be recorded");
	if (!good)
		return false;
	for (int i = 0; i < TOGETHER && good; i++)
		good = t->x->round(t->x->arg);
	int rc = cu->capture_end(t->x->stream, &made);
	good = worked(t, rc, "The recorded graph is not valid") && good && made &&
	       worked(t, cu->graph_instantiate(&t->graph, made, 0), "The graph cannot be made");
	if (made)
		cu->graph_free(made);
	if (!good)
		t->graph = NULL;
	return good;
}

/* The same, and a replay makes the outputs. */
static bool capture(struct timing *t)
{
	const struct cuda_driver *cu = t->m->cuda;
	if (!record(t))
		return false;
	bool right = t->x->reset(t->x->arg) &&
	             worked(t, cu->graph_launch(t->graph, t->x->stream), "The graph cannot be launched") &&
	             check_stream_wait(t->m, t->x->stream) && t->x->right(t->x->arg);
	if (right)
		return true;
	if (!*t->m->why)
		snprintf(t->m->why, sizeof t->m->why,
		         "A replay does not compute the outputs: some work is not in the stream.");
	cu->graph_exec_free(t->graph);
	t->graph = NULL;
	return false;
}

bool check_time(struct check_memory *m, const struct check_timed *x, struct check_time *out)
{
	struct timing t = { .m = m, .x = x };
	const struct cuda_driver *cu = m->cuda;
	bool good = true;
	*out = (struct check_time){ 0 };
	*m->why = 0;
	if (cu)
		good = worked(&t, cu->event_new(&t.from, 0), "An event cannot be made") &&
		       worked(&t, cu->event_new(&t.to, 0), "An event cannot be made");
	for (int i = 0; i < WARM && good; i++)
		good = x->round(x->arg) && check_stream_wait(m, x->stream);
	out->captured = good && cu && capture(&t);
	double ns = good ? median(&t) : -1;
	out->ns = ns / (out->captured ? TOGETHER : 1);
	if (t.graph)
		cu->graph_exec_free(t.graph);
	if (t.from)
		cu->event_free(t.from);
	if (t.to)
		cu->event_free(t.to);
	return ns >= 0;
}
