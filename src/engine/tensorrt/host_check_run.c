/* Runs of a plugin: what enqueue() writes, what its results depend on, and what contexts and threads share. */
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/threads.h"
#include "engine/tensorrt/host_check.h"
#include "tensor/type.h"

enum { FILL = 0xa5, OTHER_FILL = 0x5a, STREAMS = 2, TURNS = 24, MOST_TACTICS = 64, MOST_SECONDS = 10 };

struct runs {
	struct subject *s;
	struct checker *k;
	struct check_memory memory;
	void *stream[STREAMS];
	struct check_bench bench[CHECK_POINTS];
	char *expected[CHECK_POINTS]; /* results of a context that has run nothing else */
	char *other[CHECK_POINTS];    /* those of another tactic; null: there is none */
	bool compare;                 /* results repeat */
	int faults;                   /* of single contexts */
	bool said_uncaptured;
};

/* ---- One run. */

static bool prepare(struct runs *r, void *plugin, int p)
{
	struct checker *k = r->k;
	check_step(k, k->calls->prepare);
	const struct trt_desc *desc = r->s->point[p].desc;
	desc = check_lend(k, desc, (size_t)(r->s->n[0] + r->s->n[1]) * sizeof *desc);
	int32_t status = k->calls->shape_change(k, plugin, desc, r->s->n);
	check_took(k);
	if (status == 0)
		return true;
	check_found(k, RULE_ACCEPT, "it fails%s", check_log(k));
	return false;
}

static int32_t start(struct runs *r, void *plugin, int p, struct check_bench *b, void *stream)
{
	void *space = r->s->workspace ? check_block_at(&b->block[r->s->n[0] + r->s->n[1]]) : NULL;
	return r->k->calls->enqueue(r->k, plugin, r->s->point[p].desc, r->s->n, b->in, b->out, space, stream);
}

static bool device_lost(struct runs *r)
{
	check_found(r->k, RULE_ENQUEUE, "the GPU stops: %s", r->memory.why);
	return false;
}

/* Without onShapeChange(). False if the plugin or the GPU fails. */
static bool run(struct runs *r, void *plugin, int p, int output, int space)
{
	struct checker *k = r->k;
	struct check_bench *b = &r->bench[p];
	check_step(k, "enqueue");
	if (!check_bench_write(r->s, &r->memory, b, output, space, r->stream[0]))
		return device_lost(r);
	if (start(r, plugin, p, b, r->stream[0])) {
		check_found(k, RULE_ENQUEUE, "it fails%s", check_log(k));
		return false;
	}
	if (!check_stream_wait(&r->memory, r->stream[0]) || !check_bench_verify(r->s, &r->memory, b, r->stream[0]))
		return device_lost(r);
	return true;
}

/* ---- Contexts. */

static void *context(struct runs *r, void *plugin, int32_t tactic)
{
	struct checker *k = r->k;
	void *attached = k->calls->attach_new(k, plugin);
	if (!attached) {
		if (r->memory.cuda || k->c->host_memory)
			check_found(k, RULE_ATTACH, "it returns null%s", check_log(k));
		else
			check_note(k, "its context is not checked: there is no CUDA device");
		return NULL;
	}
	check_step(k, "setTactic");
	if (k->calls->set_tactic(attached, tactic) == 0)
		return attached;
	check_found(k, RULE_SET_TACTIC, "it refuses tactic %d%s", (int)tactic, check_log(k));
	k->calls->end(attached);
	return NULL;
}

/* ---- What results depend on. */

/* Runs between other guards: `first` has the results between the usual ones. */
static bool surroundings(struct runs *r, void *plugin, int p, const char *first)
{
	r->memory.guard = CHECK_GUARD_NAN;
	bool ran = run(r, plugin, p, FILL, FILL);
	r->memory.guard = CHECK_GUARD_BYTE;
	if (ran && !check_bench_same(r->s, p, first, r->bench[p].result))
		check_found(r->k, RULE_READ_BOUNDS, "the results depend on what is before or after a tensor");
	return ran;
}

/* Runs twice over different bytes: those that stay were not written. */
static bool contents(struct runs *r, void *plugin, int p)
{
	struct checker *k = r->k;
	struct check_bench *b = &r->bench[p];
	size_t unwritten = 0;
	bool linear = !r->s->sized;
	for (int32_t i = 0; i < r->s->n[1]; i++)
		linear &= r->s->format[r->s->n[0] + i] == TRT_LINEAR &&
		          !type_is_packed((enum type)r->s->point[p].out[i].type);
	if (!prepare(r, plugin, p) || !run(r, plugin, p, FILL, FILL))
		return false;
	char *first = arena_alloc(k->arena, b->bytes + 1), *second = arena_alloc(k->arena, b->bytes + 1);
	memcpy(first, b->result, b->bytes);
	if (!run(r, plugin, p, OTHER_FILL, OTHER_FILL))
		return false;
	memcpy(second, b->result, b->bytes);
	for (size_t i = 0; i < b->bytes; i++) {
		bool kept = (unsigned char)first[i] == FILL && (unsigned char)second[i] == OTHER_FILL;
		unwritten += kept;
		second[i] = kept ? first[i] : second[i];
	}
	if (unwritten && linear)
		check_found(k, RULE_OUTPUT_WHOLE, "it leaves %zu of %zu bytes of the outputs unwritten", unwritten,
		            b->bytes);
	if (!run(r, plugin, p, FILL, FILL))
		return false;
	if (!check_bench_same(r->s, p, first, b->result)) {
		if (r->compare)
			check_note(k, "its results differ from run to run: they are not compared");
		r->compare = false;
	} else if (linear && !check_bench_same(r->s, p, first, second)) {
		if (!run(r, plugin, p, FILL, OTHER_FILL))
			return false;
		if (!check_bench_same(r->s, p, first, b->result))
			check_found(k, RULE_WORKSPACE_CONTENT, "the results depend on what the workspace held");
		else
			check_found(k, RULE_OUTPUT_WHOLE, "the results depend on what the outputs held");
	}
	r->expected[p] = first;
	return !r->compare || !linear || surroundings(r, plugin, p, first);
}

static bool as_expected(const struct runs *r, int p)
{
	return !r->compare || check_bench_same(r->s, p, r->expected[p], r->bench[p].result);
}

/* One context with one shape after the other. */
static bool shapes_in_turn(struct runs *r, void *plugin)
{
	static const int turn[] = { 0, 1, 2, 0 };
	for (int i = 0; i < 4; i++) {
		int p = turn[i] < r->s->points ? turn[i] : 0;
		if (!prepare(r, plugin, p) || !run(r, plugin, p, FILL, FILL))
			return false;
		if (!as_expected(r, p)) {
			check_step(r->k, r->k->calls->prepare);
			check_found(r->k, RULE_SHAPE_CHANGE,
			            "after other shapes enqueue() computes something else than "
			            "in a new context");
			return true;
		}
	}
	return true;
}

/* Two contexts are prepared before either runs. */
static bool contexts_in_turn(struct runs *r, void *a, void *b)
{
	int last = r->s->points - 1;
	if (!prepare(r, a, 0) || !prepare(r, b, last) || !run(r, a, 0, FILL, FILL))
		return false;
	bool good = as_expected(r, 0);
	if (!run(r, b, last, FILL, FILL))
		return false;
	if (!good || !as_expected(r, last))
		check_found(r->k, RULE_CONTEXTS, "a context computes something else after another one was prepared");
	return true;
}

/* The plugin of the build phase, which the builder times. */
static bool built(struct runs *r, int32_t tactic)
{
	struct checker *k = r->k;
	check_step(k, "setTactic");
	if (k->calls->set_tactic(r->s->plugin, tactic)) {
		check_found(k, RULE_SET_TACTIC, "it refuses tactic %d%s", (int)tactic, check_log(k));
		return false;
	}
	if (!prepare(r, r->s->plugin, 0) || !run(r, r->s->plugin, 0, FILL, FILL))
		return false;
	if (as_expected(r, 0))
		return true;
	check_step(k, k->calls->restore);
	check_found(k, RULE_RESTORE,
	            "its enqueue() computes something else than the plugin that was configured and saved");
	return true;
}

/* ---- Threads. */

struct thread {
	struct runs *r;
	void *plugin;
	struct check_bench bench;
	int p;
	void *stream;
	int failed, differ;
	int runs; /* begun, so that the other thread waits for this one */
	struct thread *other;
};

/* Waits until the other thread begins the same run, or has begun its last. */
static void meet(const struct thread *t, double end)
{
	while (__atomic_load_n(&t->other->runs, __ATOMIC_ACQUIRE) < t->runs && clock_seconds() < end)
		sched_yield();
}

/* Inputs stay as they are, unless outputs are aliased to them: then only the first run's result counts. */
static void in_thread(void *arg, int i)
{
	struct thread *t = (struct thread *)arg + i;
	struct runs *r = t->r;
	double end = clock_seconds() + MOST_SECONDS;
	bool good = check_memory_enter(&r->memory);
	for (int turn = 0; turn < TURNS && good && clock_seconds() < end; turn++) {
		__atomic_fetch_add(&t->runs, 1, __ATOMIC_RELEASE);
		meet(t, end);
		good = start(r, t->plugin, t->p, &t->bench, t->stream) == 0 &&
		       check_stream_wait(&r->memory, t->stream) &&
		       check_bench_read(r->s, &r->memory, &t->bench, t->stream);
		if (turn == 0 || !r->s->aliased)
			t->differ += !check_bench_same(r->s, t->p, r->expected[t->p], t->bench.result);
	}
	t->failed = !good;
	__atomic_store_n(&t->runs, TURNS, __ATOMIC_RELEASE);
}

static bool threads(struct runs *r, void *a, void *b)
{
	struct thread t[STREAMS] = { { .r = r, .plugin = a, .p = 0 }, { .r = r, .plugin = b, .p = r->s->points - 1 } };
	for (int i = 0; i < STREAMS; i++) {
		t[i].other = &t[1 - i];
		t[i].stream = r->stream[i];
		if (!check_bench_new(r->s, &r->memory, &t[i].bench, t[i].p) || !prepare(r, t[i].plugin, t[i].p) ||
		    !check_bench_write(r->s, &r->memory, &t[i].bench, FILL, FILL, t[i].stream))
			return false;
	}
	check_step(r->k, "enqueue, of two contexts in two threads");
	threads_for(STREAMS, STREAMS, in_thread, t);
	if (t[0].failed || t[1].failed)
		check_found(r->k, RULE_CONTEXTS, "it fails there%s", check_log(r->k));
	else if (r->compare && (t[0].differ || t[1].differ))
		check_found(r->k, RULE_CONTEXTS, "%d runs compute something else than alone",
		            t[0].differ + t[1].differ);
	return true;
}

/* ---- Memory. */

struct rounds {
	struct runs *r;
	void *plugin;
	int p;
};

static bool round_run(void *arg)
{
	const struct rounds *x = arg;
	struct runs *r = x->r;
	const struct checker *k = r->k;
	return k->calls->shape_change(k, x->plugin, r->s->point[0].desc, r->s->n) == 0 &&
	       start(r, x->plugin, 0, &r->bench[0], r->stream[0]) == 0 && check_stream_wait(&r->memory, r->stream[0]);
}

static bool round_attach(void *arg)
{
	const struct rounds *x = arg;
	void *plugin = x->r->k->calls->attach_new(x->r->k, x->plugin);
	if (plugin)
		x->r->k->calls->end(plugin);
	return plugin;
}

/* ---- Time. */

static bool round_enqueue(void *arg)
{
	const struct rounds *x = arg;
	return start(x->r, x->plugin, x->p, &x->r->bench[x->p], x->r->stream[0]) == 0;
}

static bool reset(void *arg)
{
	const struct rounds *x = arg;
	struct runs *r = x->r;
	return check_bench_write(r->s, &r->memory, &r->bench[x->p], OTHER_FILL, FILL, r->stream[0]);
}

static bool right(void *arg)
{
	const struct rounds *x = arg;
	struct runs *r = x->r;
	const struct check_bench *b = &r->bench[x->p];
	return check_bench_read(r->s, &r->memory, &r->bench[x->p], r->stream[0]) &&
	       (!r->compare || check_bench_alike(r->s, x->p, r->expected[x->p], b->result));
}

/* "f32[2,3] i64[4]" */
static const char *inputs_text(const struct runs *r, int p)
{
	struct str text = str_new(r->k->arena);
	for (int32_t i = 0; i < r->s->n[0]; i++) {
		const struct host_tensor *in = &r->s->point[p].in[i];
		str_printf(&text, "%s%s[", i ? " " : "", type_name((enum type)in->type));
		for (int32_t d = 0; d < in->rank; d++)
			str_printf(&text, "%s%lld", d ? "," : "", (long long)in->dim[d]);
		str_add(&text, "]");
	}
	return str_text(&text);
}

/* Times a tactic at a point, in a context of its own. */
static void time_point(struct runs *r, void *made, int32_t tactic, int p)
{
	struct checker *k = r->k;
	void *plugin = context(r, made, tactic);
	struct rounds round = { .r = r, .plugin = plugin, .p = p };
	const struct check_timed timed = { r->stream[0], round_enqueue, reset, right, &round };
	struct check_time time;
	if (!plugin)
		return;
	if (prepare(r, plugin, p) && reset(&round)) {
		check_step(k, "enqueue");
		if (!check_time(&r->memory, &timed, &time)) {
			check_note(k, "enqueue() cannot be timed. %s%s", r->memory.why, check_log(k));
		} else {
			k->c->timed(k->c->user, k->plugin, inputs_text(r, p), tactic, time.ns, time.captured);
			if (r->memory.cuda && !time.captured && !r->said_uncaptured)
				check_note(k,
				           "enqueue() cannot be captured in a CUDA graph: its time has the host's "
				           "share. %s%s",
				           r->memory.why, check_log(k));
			r->said_uncaptured |= !time.captured;
		}
	}
	check_step(k, k->calls->destroy);
	k->calls->end(plugin);
}

static void time_all(struct runs *r, void *made, const int32_t *tactic, int32_t tactics)
{
	for (int p = 0; p < r->s->points; p++)
		for (int32_t i = 0; i < (tactics ? tactics : 1); i++)
			time_point(r, made, tactics ? tactic[i] : 0, p);
}

/* ---- All of it. */

static bool run_points(struct runs *r, void *made, int32_t tactic)
{
	struct checker *k = r->k;
	bool good = true;
	for (int p = 0; p < r->s->points && good; p++) {
		void *plugin = context(r, made, tactic);
		good = plugin && contents(r, plugin, p);
		if (plugin) {
			check_step(k, k->calls->destroy);
			k->calls->end(plugin);
		}
	}
	return good;
}

/* Compares the results with those of the tactic before. */
static void compare_tactics(struct runs *r, int32_t tactic)
{
	check_step(r->k, "setTactic");
	for (int p = 0; p < r->s->points; p++) {
		if (r->compare && r->other[p] && !check_bench_alike(r->s, p, r->other[p], r->expected[p]))
			check_found(r->k, RULE_SAME_TACTICS, "tactic %d computes something else than the next one",
			            (int)tactic);
		r->other[p] = r->expected[p];
	}
}

static void run_all(struct runs *r, void *made, const int32_t *tactic, int32_t tactics)
{
	struct checker *k = r->k;
	r->faults = k->said.n;
	for (int32_t i = tactics - 1; i > 0; i--) /* the first one's results are those to compare with */
		if (run_points(r, made, tactic[i]))
			compare_tactics(r, tactic[i]);
		else
			return;
	int32_t first = tactics ? tactic[0] : 0;
	if (!run_points(r, made, first))
		return;
	compare_tactics(r, first);
	if (k->c->expects) {
		check_step(k, "enqueue");
		check_bench_expected(r->s, r->expected[0]);
	}
	r->faults = k->said.n - r->faults;
	void *a = context(r, made, first), *b = context(r, made, first);
	struct rounds attach = { .r = r, .plugin = made };
	if (a && b) {
		check_step(k, k->calls->attach);
		check_leak(k, "a context and its destruction", round_attach, &attach);
	}
	int said = k->said.n; /* after a fault of one run more of them find the same */
	if (a && b && shapes_in_turn(r, a) && contexts_in_turn(r, a, b) && built(r, first) && r->faults == 0 &&
	    k->said.n == said && threads(r, a, b)) {
		struct rounds rounds = { .r = r, .plugin = a };
		check_step(k, "enqueue");
		check_leak(k, arena_printf(k->arena, "%s() and enqueue()", k->calls->prepare), round_run, &rounds);
	}
	check_step(k, k->calls->destroy);
	if (a)
		k->calls->end(a);
	if (b)
		k->calls->end(b);
	if (k->c->time && k->said.n == 0)
		time_all(r, made, tactic, tactics);
}

static void run_memory(struct runs *r, void *made, const int32_t *tactic, int32_t tactics)
{
	bool room = check_stream_new(&r->memory, &r->stream[0]) && check_stream_new(&r->memory, &r->stream[1]);
	for (int p = 0; p < r->s->points && room; p++)
		room = check_bench_new(r->s, &r->memory, &r->bench[p], p);
	if (room)
		run_all(r, made, tactic, tactics);
	else
		check_note(r->k, "nothing is enqueued: its tensors do not fit into memory. %s", r->memory.why);
}

/* Without a GPU: only a context. */
static void run_nothing(struct runs *r, void *made, int32_t tactic)
{
	void *plugin = context(r, made, tactic);
	if (!plugin)
		return;
	check_note(r->k, "nothing is enqueued: there is no CUDA device");
	check_step(r->k, r->k->calls->destroy);
	r->k->calls->end(plugin);
}

/* False if it does not begin, which is a fault where there is a device. */
static bool begin(struct runs *r, void *plugin, bool device)
{
	check_step(r->k, "initialize");
	if (r->k->calls->begin(plugin) == 0)
		return true;
	if (device)
		check_found(r->k, RULE_ATTACH, "it fails%s", check_log(r->k));
	else
		check_note(r->k, "its runs are not checked: there is no CUDA device");
	return false;
}

void check_run(struct subject *s, const struct check_saved *saved)
{
	struct checker *k = s->k;
	struct runs r = { .s = s, .k = k, .compare = !s->sized };
	int32_t tactic[MOST_TACTICS], tactics = k->calls->tactics(s->plugin, tactic, MOST_TACTICS);
	bool device = check_memory_open(&r.memory, k->c->host_memory, k->arena);
	if (!device)
		r.memory.cuda = NULL;
	void *made = k->calls->again(k, saved);
	if (!made)
		return;
	bool one = begin(&r, made, device), both = one && begin(&r, s->plugin, device);
	if (both && device)
		run_memory(&r, made, tactic, tactics);
	else if (both)
		run_nothing(&r, made, tactics ? tactic[0] : 0);
	check_step(k, k->calls->destroy);
	if (both)
		k->calls->stop(s->plugin);
	if (one)
		k->calls->stop(made);
	k->calls->end(made);
}
