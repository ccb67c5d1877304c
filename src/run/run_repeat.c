/* Runs that repeat an earlier one: the same launches with other addresses. See run_inside.h.
 *
 * A run is recorded unless a number that the device computed, or the elements of an input, decided what it launched.
 * For inputs of the same extents the recorded launches are right, and all addresses but those of inputs and results are
 * the session's own. What repeats with the same addresses is launched as one graph. A caller that uses some sets of
 * inputs in turns, such as two buffers or several threads, has a record and a graph for each of them. */
#include "run/run_inside.h"

#include <string.h>

enum {
	MOST_RECORDS = 16,  /* of a session */
	MOST_ALIKE = 4,     /* for the same extents, at different addresses */
	LEAST_LAUNCHES = 2, /* of a graph */
	STEADY = 2,         /* repeats with the same addresses before a graph is made */
	MOST_GRAPHS = 4,    /* that a record makes, one after another */
};

static enum run_from from_of(const struct run_tensor *t)
{
	if (!t->at)
		return RUN_FROM_HOST;
	return (uintptr_t)t->at % RUN_ALIGNMENT ? RUN_FROM_ODD : RUN_FROM_DEVICE;
}

void run_record_begin(struct run_session *s, const struct run_tensor *in)
{
	int inputs = s->graph->inputs.n, outputs = s->graph->outputs.n;
	s->record = NULL;
	if (s->on.dev->name) /* each run has buffers of its own */
		return;
	struct run_record *x = s->record = NEW(s->run, struct run_record);
	x->in = NEWN(s->run, struct run_recorded_input, inputs + 1);
	x->out = NEWN(s->run, struct run_recorded_output, outputs + 1);
	for (int i = 0; i < inputs; i++)
		x->in[i] = (struct run_recorded_input){ in[i].tensor, from_of(&in[i]), NULL };
}

void run_record_stop(struct run_session *s)
{
	s->record = NULL;
}

static void free_record(struct run_session *s, struct run_record *x)
{
	if (x->graph)
		s->on.dev->graph_free(s->on.dev, x->graph);
	arena_free(x->arena);
}

void run_record_free_all(struct run_session *s)
{
	for (int i = 0; i < s->records.n; i++)
		free_record(s, s->records.at[i]);
	s->records.n = 0;
}

static int input_number(const struct run_session *s, const struct graph_value *v)
{
	for (int i = 0; i < s->graph->inputs.n; i++)
		if (s->graph->inputs.at[i] == v)
			return i;
	return -1;
}

/* In the place of the record that was used least recently. */
static void replace_oldest(struct run_session *s, struct run_record *x)
{
	struct run_record **oldest = s->records.at;
	vec_each (other, &s->records)
		if ((*other)->used < (*oldest)->used)
			oldest = other;
	free_record(s, *oldest);
	*oldest = x;
}

void run_record_end(struct run_session *s, const struct run_tensor *out)
{
	struct run_record *x = s->record;
	s->record = NULL;
	if (!x)
		return;
	for (int i = 0; i < s->graph->inputs.n; i++) {
		struct run_value *v = map_get(&s->values, s->graph->inputs.at[i]->name);
		x->in[i].at = v->at;
		x->in[i].tensor.data = NULL;
		if (x->in[i].from != RUN_FROM_DEVICE && !v->at) /* no node reads it */
			x->in[i].from = RUN_FROM_NOWHERE;
	}
	for (int i = 0; i < s->wants; i++) {
		struct run_value *v = map_get(&s->values, s->want[i]->name);
		x->out[i] = (struct run_recorded_output){ out[i], input_number(s, s->want[i]), v ? v->ref : 0, NULL };
	}
	x->launches = s->launches;
	x->counts = *s->counts;
	x->arena = s->run;
	s->run = NULL;
	x->used = ++s->repeats;
	if (s->records.n < MOST_RECORDS)
		vec_push(s->arena, &s->records, x);
	else
		replace_oldest(s, x);
}

/* ---- Repeating. */

static bool is_like(const struct run_recorded_input *x, const struct run_tensor *t)
{
	return (x->from == from_of(t) || (x->from == RUN_FROM_NOWHERE && from_of(t) != RUN_FROM_DEVICE)) &&
	       x->tensor.rank == t->tensor.rank &&
	       memcmp(x->tensor.dim, t->tensor.dim, (size_t)t->tensor.rank * sizeof *t->tensor.dim) == 0;
}

static bool is_for(const struct run_session *s, const struct run_record *x, const struct run_tensor *in)
{
	int k = 0;
	while (k < s->graph->inputs.n && is_like(&x->in[k], &in[k]))
		k++;
	return k == s->graph->inputs.n;
}

/* True if the record's last run had its inputs at these addresses. */
static bool is_at(const struct run_session *s, const struct run_record *x, const struct run_tensor *in)
{
	for (int i = 0; i < s->graph->inputs.n; i++)
		if (x->in[i].from == RUN_FROM_DEVICE && x->in[i].at != in[i].at)
			return false;
	return true;
}

/* True if the record was asked for inputs at these addresses before. Notes them. */
static bool comes_again(struct run_session *s, struct run_record *x, const struct run_tensor *in)
{
	uint64_t key = 14695981039346656037u;
	for (int i = 0; i < s->graph->inputs.n; i++)
		key = (key ^ (uintptr_t)in[i].at) * 1099511628211u;
	for (int i = 0; i < RUN_MISSED; i++)
		if (x->missed[i] == key)
			return true;
	x->missed[x->misses++ % RUN_MISSED] = key;
	return false;
}

struct run_record *run_record_find(struct run_session *s, const struct run_tensor *in)
{
	struct run_record *last = NULL;
	int alike = 0;
	vec_each (x, &s->records) {
		if (!is_for(s, *x, in))
			continue;
		if (is_at(s, *x, in))
			return *x;
		alike++;
		if (!last || (*x)->used > last->used)
			last = *x;
	}
	/* One launch is patched in no time, and has no graph. */
	if (last && s->graphs && s->on.dev->capture_begin && last->launches.n >= LEAST_LAUNCHES && alike < MOST_ALIKE &&
	    comes_again(s, last, in))
		return NULL;
	return last;
}

/* Asks for the places of results. False if one is not there this time. */
static int take_places(bool *all, struct run_session *s, struct run_record *x, const struct run_places *places,
                       struct err *e)
{
	*all = true;
	for (int i = 0; i < s->graph->outputs.n; i++) {
		struct run_recorded_output *o = &x->out[i];
		if (o->ref != RUN_RESULT(i))
			continue;
		o->now = NULL;
		TRY(places->place(places->user, &o->now, i, &o->result.tensor, e));
		*all &= o->now && (uintptr_t)o->now % RUN_ALIGNMENT == 0;
	}
	return 0;
}

static int copy_inputs(struct run_session *s, const struct run_record *x, const struct run_tensor *in, struct err *e)
{
	struct dev *d = s->on.dev;
	for (int i = 0; i < s->graph->inputs.n; i++) {
		const struct run_recorded_input *to = &x->in[i];
		int64_t bytes = tensor_bytes(&to->tensor);
		if (bytes <= 0)
			continue;
		if (to->from == RUN_FROM_HOST)
			TRY(d->copy_in(d, to->at, in[i].tensor.data, (size_t)bytes, e));
		if (to->from == RUN_FROM_ODD)
			TRY(d->copy_within(d, to->at, in[i].at, (size_t)bytes, e));
	}
	return 0;
}

/* Notes the present addresses; true if one is not that of the last run. */
static bool take_addresses(struct run_session *s, struct run_record *x, const struct run_tensor *in)
{
	bool moved = false;
	for (int i = 0; i < s->graph->inputs.n; i++)
		if (x->in[i].from == RUN_FROM_DEVICE) {
			moved |= x->in[i].at != in[i].at;
			x->in[i].at = in[i].at;
		}
	for (int i = 0; i < s->graph->outputs.n; i++)
		if (x->out[i].ref == RUN_RESULT(i)) {
			moved |= x->out[i].result.at != x->out[i].now;
			x->out[i].result.at = x->out[i].now;
		}
	return moved;
}

static void *address(const struct run_record *x, int ref)
{
	return ref > 0 ? x->in[ref - 1].at : x->out[-1 - ref].result.at;
}

static int patch(struct run_session *s, struct run_record *x, struct err *e)
{
	vec_each (p, &x->patches) {
		void *at = address(x, p->ref);
		if (!p->map) {
			memcpy(p->arg, &at, sizeof at);
		} else if (p->map->from != at) {
			p->map->from = at;
			TRY(dev_tensor_map(s->on.dev, p->arg, p->map, e));
		}
	}
	return 0;
}

static int launch(struct run_session *s, struct run_record *x, bool moved, struct err *e)
{
	struct dev *d = s->on.dev;
	struct err ignored = { 0 };
	x->steady = moved ? 0 : x->steady + 1;
	if (moved && x->graph) {
		TRY(d->synchronize(d, e)); /* it may still run */
		d->graph_free(d, x->graph);
		x->graph = NULL;
	}
	if (!x->graph && s->graphs && d->capture_begin && x->launches.n >= LEAST_LAUNCHES && x->steady >= STEADY &&
	    x->graphs < MOST_GRAPHS) {
		x->graphs++;
		if (run_launches_graph(&x->graph, d, &x->launches, &ignored) < 0) {
			x->graph = NULL;
			x->graphs = MOST_GRAPHS; /* this will not do */
		}
	}
	return x->graph ? d->graph_launch(d, x->graph, e) : run_launches(d, &x->launches, e);
}

int run_record_repeat(struct run_tensor *out, struct run_session *s, struct run_record *x, const struct run_tensor *in,
                      const struct run_places *places, bool *done, struct err *e)
{
	TRY(take_places(done, s, x, places, e));
	if (!*done)
		return 0;
	if (s->watch.stop && s->watch.stop(s->watch.user))
		return err_set(e, ERR_CANCELLED, "Interrupted.");
	TRY(copy_inputs(s, x, in, e));
	bool moved = take_addresses(s, x, in);
	if (moved)
		TRY(patch(s, x, e));
	TRY(launch(s, x, moved, e));
	x->used = ++s->repeats;
	s->launches = x->launches;
	*s->counts = x->counts;
	for (int i = 0; i < s->graph->outputs.n; i++) {
		const struct run_recorded_output *o = &x->out[i];
		out[i] = o->input >= 0 ? in[o->input] : o->result;
		if (o->input < 0 && o->ref)
			out[i].at = address(x, o->ref);
	}
	return 0;
}
