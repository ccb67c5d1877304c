/* Runs of a plugin: what enqueue() writes, what its results depend on, and what contexts and threads share. */
#include <string.h>

#include "base/threads.h"
#include "engine/tensorrt/host_check.h"
#include "tensor/type.h"

enum { FILL = 0xa5, OTHER_FILL = 0x5a, STREAMS = 2, TURNS = 24, MOST_TACTICS = 64 };

/* Everything for runs at one point: memory, and what came out. */
struct bench {
	struct check_block *block; /* inputs, outputs, the workspace */
	char **input;              /* their elements */
	char *scratch;             /* the largest block and its guards */
	char *result;              /* of the last run: all outputs, one after the other */
	size_t bytes;              /* of the result */
	const void *in[HOST_MAX_TENSORS];
	void *out[HOST_MAX_TENSORS];
};

struct runs {
	struct subject *s;
	struct checker *k;
	struct check_memory memory;
	void *stream[STREAMS];
	struct bench bench[CHECK_POINTS];
	char *expected[CHECK_POINTS]; /* results of a context that has run nothing else */
	bool compare;                 /* results repeat */
	int faults;                   /* of single contexts */
};

/* ---- Memory. */

/* Elements with the padding of a vectorised format. -1: too many. */
static int64_t elements(const struct trt_desc *d)
{
	/* Channels are padded to a multiple of this; their dimension, from the end. */
	static const int8_t multiple[] = { 1, 2, 8, 4, 16, 32, 8, 32, 1, 1, 4, 16, 1 };
	static const int8_t from_end[] = { 3, 3, 3, 3, 3, 3, 4, 4, 3, 3, 3, 3, 4 };
	int64_t n = 1;
	for (int32_t i = 0; i < d->dims.rank; i++) {
		int64_t extent = d->dims.d[i], m = multiple[d->format];
		if (d->dims.rank - i == from_end[d->format])
			extent = (extent + m - 1) / m * m;
		if (__builtin_mul_overflow(n, extent, &n))
			return -1;
	}
	return n;
}

/* Small numbers, the same at each call: integers of 0 to 3, which are valid indices of most tensors, and reals. */
static void fill(enum type type, char *data, int64_t n, unsigned seed)
{
	for (int64_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		if (type_is_float(type))
			type_store_float(type, data, i, (double)(seed >> 16) / 65536 + 0.25, true);
		else
			type_store_int(type, data, i, type == TYPE_BOOL ? seed >> 31 : seed >> 30);
	}
}

static bool bench_new(struct runs *r, struct bench *b, int point)
{
	const struct check_point *p = &r->s->point[point];
	struct arena *a = r->k->arena;
	int32_t inputs = r->s->n[0], n = inputs + r->s->n[1];
	size_t most = r->s->workspace;
	b->block = NEWN(a, struct check_block, n + 1);
	b->input = NEWN(a, char *, inputs + 1);
	for (int32_t i = 0; i < n; i++) {
		enum type type = (enum type)host_onnx_type(p->desc[i].type);
		int64_t count = elements(&p->desc[i]), bytes = count < 0 ? -1 : type_bytes(type, count);
		if (bytes < 0 || !check_block_new(&r->memory, &b->block[i], (size_t)bytes))
			return false;
		most = (size_t)bytes > most ? (size_t)bytes : most;
		if (i < inputs) {
			b->input[i] = arena_alloc(a, (size_t)bytes + 1);
			fill(type, b->input[i], count, (unsigned)(i + 1 + point * HOST_MAX_TENSORS));
			b->in[i] = check_block_at(&b->block[i]);
		} else {
			b->bytes += (size_t)bytes;
			b->out[i - inputs] = check_block_at(&b->block[i]);
		}
	}
	b->scratch = arena_alloc(a, most + 2 * CHECK_GUARD);
	b->result = arena_alloc(a, b->bytes + 1);
	return check_block_new(&r->memory, &b->block[n], r->s->workspace);
}

/* ---- One run. */

enum damage { INTACT, BEFORE, AFTER };

static enum damage damage_of(const struct check_block *b, const char *read)
{
	for (size_t i = 0; i < CHECK_GUARD; i++) {
		if ((unsigned char)read[i] != CHECK_GUARD_BYTE)
			return BEFORE;
		if ((unsigned char)read[CHECK_GUARD + b->bytes + i] != CHECK_GUARD_BYTE)
			return AFTER;
	}
	return INTACT;
}

static const char *const where[] = { [INTACT] = "", [BEFORE] = "before", [AFTER] = "beyond the end of" };

/* Reads all blocks back. Blocks that were written to outside of their bounds, inputs that changed. */
static bool read_back(struct runs *r, struct bench *b, void *stream)
{
	struct checker *k = r->k;
	int32_t inputs = r->s->n[0], n = inputs + r->s->n[1];
	char *to = b->result;
	for (int32_t i = 0; i <= n; i++) {
		const struct check_block *x = &b->block[i];
		if (!check_block_read(&r->memory, x, b->scratch, stream))
			return false;
		enum damage damage = damage_of(x, b->scratch);
		if (damage && i == n)
			check_found(k, RULE_WORKSPACE_BOUNDS, "it writes %s the workspace of %zu bytes", where[damage],
			            x->bytes);
		else if (damage)
			check_found(k, i < inputs ? RULE_INPUT_CONST : RULE_OUTPUT_BOUNDS,
			            "it writes %s %s %d of %zu bytes", where[damage], i < inputs ? "input" : "output",
			            (int)(i < inputs ? i : i - inputs), x->bytes);
		if (i < inputs && memcmp(b->scratch + CHECK_GUARD, b->input[i], x->bytes) != 0)
			check_found(k, RULE_INPUT_CONST, "it writes into input %d", (int)i);
		if (i >= inputs && i < n) {
			memcpy(to, b->scratch + CHECK_GUARD, x->bytes);
			to += x->bytes;
		}
	}
	return true;
}

/* `output`, `space`: bytes that the outputs and the workspace hold before the run. */
static bool write_all(struct runs *r, struct bench *b, int output, int space, void *stream)
{
	int32_t inputs = r->s->n[0], n = inputs + r->s->n[1];
	for (int32_t i = 0; i < inputs; i++)
		if (!check_block_write(&r->memory, &b->block[i], b->input[i], stream))
			return false;
	for (int32_t i = inputs; i <= n; i++)
		if (!check_block_fill(&r->memory, &b->block[i], i < n ? output : space, stream))
			return false;
	return true;
}

static bool prepare(struct runs *r, void *plugin, int p)
{
	struct checker *k = r->k;
	check_step(k, k->calls->prepare);
	if (k->calls->shape_change(k, plugin, r->s->point[p].desc, r->s->n) == 0)
		return true;
	check_found(k, RULE_SHAPE_CHANGE, "it fails%s", check_log(k));
	return false;
}

static int32_t start(struct runs *r, void *plugin, int p, struct bench *b, void *stream)
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
	struct bench *b = &r->bench[p];
	check_step(k, "enqueue");
	if (!write_all(r, b, output, space, r->stream[0]))
		return device_lost(r);
	if (start(r, plugin, p, b, r->stream[0])) {
		check_found(k, RULE_ENQUEUE, "it fails%s", check_log(k));
		return false;
	}
	if (!check_stream_wait(&r->memory, r->stream[0]) || !read_back(r, b, r->stream[0]))
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

/* Runs twice over different bytes: those that stay were not written. */
static bool contents(struct runs *r, void *plugin, int p)
{
	struct checker *k = r->k;
	struct bench *b = &r->bench[p];
	size_t unwritten = 0, differ = 0;
	bool linear = !r->s->sized;
	for (int32_t i = 0; i < r->s->n[1]; i++)
		linear &= r->s->format[r->s->n[0] + i] == TRT_LINEAR;
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
		differ += first[i] != second[i] && !kept;
	}
	if (unwritten && linear)
		check_found(k, RULE_OUTPUT_WHOLE, "it leaves %zu of %zu bytes of the outputs unwritten", unwritten,
		            b->bytes);
	if (!run(r, plugin, p, FILL, FILL))
		return false;
	if (memcmp(first, b->result, b->bytes) != 0) {
		if (r->compare)
			check_note(k, "its results differ from run to run: they are not compared");
		r->compare = false;
	} else if (differ && linear) {
		if (!run(r, plugin, p, FILL, OTHER_FILL))
			return false;
		if (memcmp(first, b->result, b->bytes) != 0)
			check_found(k, RULE_WORKSPACE_CONTENT, "the results depend on what the workspace held");
		else
			check_found(k, RULE_OUTPUT_WHOLE, "the results depend on what the outputs held");
	}
	r->expected[p] = first;
	return true;
}

static bool as_expected(const struct runs *r, int p)
{
	return !r->compare || memcmp(r->expected[p], r->bench[p].result, r->bench[p].bytes) == 0;
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
	struct bench bench;
	int p;
	void *stream;
	int failed, differ;
};

static void in_thread(void *arg, int i)
{
	struct thread *t = (struct thread *)arg + i;
	struct runs *r = t->r;
	char *to = t->bench.result;
	int32_t inputs = r->s->n[0];
	if (!check_memory_enter(&r->memory))
		return;
	for (int turn = 0; turn < TURNS && !t->failed; turn++) {
		t->failed = start(r, t->plugin, t->p, &t->bench, t->stream) != 0 ||
		            !check_stream_wait(&r->memory, t->stream);
		to = t->bench.result;
		for (int32_t o = inputs; o < inputs + r->s->n[1] && !t->failed; o++) {
			const struct check_block *x = &t->bench.block[o];
			t->failed = !check_block_read(&r->memory, x, t->bench.scratch, t->stream);
			memcpy(to, t->bench.scratch + CHECK_GUARD, x->bytes);
			to += x->bytes;
		}
		t->differ += memcmp(r->expected[t->p], t->bench.result, t->bench.bytes) != 0;
	}
}

static bool threads(struct runs *r, void *a, void *b)
{
	struct thread t[STREAMS] = { { .r = r, .plugin = a, .p = 0 }, { .r = r, .plugin = b, .p = r->s->points - 1 } };
	for (int i = 0; i < STREAMS; i++) {
		t[i].stream = r->stream[i];
		if (!bench_new(r, &t[i].bench, t[i].p) || !prepare(r, t[i].plugin, t[i].p) ||
		    !write_all(r, &t[i].bench, FILL, FILL, t[i].stream))
			return false;
	}
	check_step(r->k, "enqueue, of two contexts in two threads");
	threads_for(STREAMS, STREAMS, in_thread, t);
	if (t[0].failed || t[1].failed)
		check_found(r->k, RULE_CONTEXTS, "it fails there%s", check_log(r->k));
	else if (r->compare && (t[0].differ || t[1].differ))
		check_found(r->k, RULE_CONTEXTS, "%d of %d runs compute something else than alone",
		            t[0].differ + t[1].differ, STREAMS * TURNS);
	return true;
}

/* ---- Memory. */

struct rounds {
	struct runs *r;
	void *plugin;
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

static void run_all(struct runs *r, void *made, const int32_t *tactic, int32_t tactics)
{
	struct checker *k = r->k;
	r->faults = k->said.n;
	for (int32_t i = tactics - 1; i > 0; i--) /* the first one's results are those to compare with */
		if (!run_points(r, made, tactic[i]))
			return;
	int32_t first = tactics ? tactic[0] : 0;
	if (!run_points(r, made, first))
		return;
	r->faults = k->said.n - r->faults;
	void *a = context(r, made, first), *b = context(r, made, first);
	struct rounds attach = { r, made };
	if (a && b) {
		check_step(k, k->calls->attach);
		check_leak(k, "a context and its destruction", round_attach, &attach);
	}
	int said = k->said.n; /* after a fault of one run more of them find the same */
	if (a && b && shapes_in_turn(r, a) && contexts_in_turn(r, a, b) && built(r, first) && r->faults == 0 &&
	    k->said.n == said && threads(r, a, b)) {
		struct rounds rounds = { r, a };
		check_step(k, "enqueue");
		check_leak(k, arena_printf(k->arena, "%s() and enqueue()", k->calls->prepare), round_run, &rounds);
	}
	check_step(k, k->calls->destroy);
	if (a)
		k->calls->end(a);
	if (b)
		k->calls->end(b);
}

static void run_memory(struct runs *r, void *made, const int32_t *tactic, int32_t tactics)
{
	bool room = check_stream_new(&r->memory, &r->stream[0]) && check_stream_new(&r->memory, &r->stream[1]);
	for (int p = 0; p < r->s->points && room; p++)
		room = bench_new(r, &r->bench[p], p);
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
