/* A model in pieces: nodes in their order, as many in one program as it can have. See run.h. */
#include "run/run_inside.h"

#include <string.h>

enum { MOST_NODES = 64 }; /* of a piece: schedules and compilers take long for more */

static int value_of(struct run_value **out, struct run_session *s, struct graph_value *v, struct err *e)
{
	const struct tensor *constant;
	*out = map_get(v->is_constant ? &s->shared->constants : &s->values, v->name);
	if (*out)
		return 0;
	if (!v->is_constant) {
		err_about(e, ERR_TENSOR, v->name);
		return err_set(e, ERR_UNSUPPORTED, "The tensor \"%s\" is made by no node that can run.", v->name);
	}
	TRY(graph_turned(&constant, s->graph, v, e));
	*out = NEW(s->shared->arena, struct run_value);
	**out = (struct run_value){ .value = v, .tensor = *constant };
	map_put(&s->shared->constants, v->name, *out);
	return 0;
}

static bool is_wanted(const struct run_session *s, const struct graph_value *v)
{
	for (int i = 0; i < s->wants; i++)
		if (s->want[i] == v)
			return true;
	return false;
}

/* Gives back the memory of values that no node after number `done` reads. Inputs keep theirs: run_time() launches
 * again. */
static void give_back(struct run_session *s, int done)
{
	for (int i = 0; i < s->values.n; i++) {
		struct run_value *v = (struct run_value *)s->values.entry[i].value;
		const struct graph_value *g = v->value;
		int last = g->consumers.n ? g->consumers.at[g->consumers.n - 1] : -1;
		if (!v->at || v->shared || v->given_back || g->is_input || is_wanted(s, g) || g->captured ||
		    last > done)
			continue;
		run_memory_give(&s->memory, v->at);
		v->given_back = true;
	}
}

static double time_of(void *user, const struct graph_region *r, struct ir_program *p)
{
	const struct run_session *s = user;
	(void)r;
	return sched_program_time(p, &s->on.target);
}

/* True if no piece reads a constant of the region yet: all of them must agree about its axes. */
static bool is_first(const struct run_session *s, const struct graph_region *r)
{
	bool first = true;
	vec_each (p, &s->shared->pieces)
		vec_each (i, &r->nodes)
			for (int k = 0; k < (*p)->nodes; k++)
				first &= !(*p)->program || (*p)->node[k] != *i;
	return first;
}

static const struct graph_program_options program_options = { .any_types = true, .keep_types = true, .numbered = true };

static int make_program(struct run_piece *p, struct run_session *s, struct err *e)
{
	const struct graph_turning turning = { &program_options, sched_reorders, time_of, s, &s->shared->gains };
	TRY(graph_region_new(&p->region, s->graph, p->node, p->nodes, e));
	if (s->on.dev && is_first(s, p->region))
		graph_turn(&turning, p->region);
	TRY(graph_region_program(&p->program, p->region, &program_options, s->shared->arena, e));
	p->on_host = s->on.dev && run_is_host_work(p);
	return 0;
}

static bool is_program(struct run_session *s, const int *node, int n)
{
	struct arena *scratch = arena_new();
	struct graph_region *r;
	struct ir_program *p;
	struct err e = { 0 };
	int rc = graph_region_new(&r, s->graph, node, n, &e);
	if (rc == 0)
		rc = graph_region_program(&p, r, &program_options, scratch, &e);
	arena_free(scratch);
	return rc == 0;
}

/* The most nodes, from the first one on, that are one program. All together are none. */
static int longest_prefix(struct run_session *s, const int *node, int n)
{
	int is = 1, is_not = n;
	while (is_not - is > 1) {
		int half = is + (is_not - is) / 2;
		if (is_program(s, node, half))
			is = half;
		else
			is_not = half;
	}
	return is;
}

/* The piece of these nodes, made when first asked for. Several nodes that are not one program are a piece without one.
 */
static int piece_of(struct run_piece **out, struct run_session *s, const int *node, int n, struct err *e)
{
	struct run_shared *x = s->shared;
	uint64_t hash = hash_bytes(0, node, (size_t)n * sizeof *node);
	struct run_piece *first = map_get_u64(&x->piece, hash);
	for (struct run_piece *p = first; p; p = p->next)
		if (p->nodes == n && memcmp(p->node, node, (size_t)n * sizeof *node) == 0) {
			*out = p;
			return 0;
		}
	int *own = NEWN(x->arena, int, n);
	memcpy(own, node, (size_t)n * sizeof *node);
	struct run_piece *p = NEW(x->arena, struct run_piece);
	*p = (struct run_piece){ .node = own, .nodes = n, .next = first };
	int rc = make_program(p, s, e);
	if (rc < 0 && n == 1)
		return rc;
	if (rc < 0) {
		err_clear(e);
		p->program = NULL;
		p->prefix = longest_prefix(s, node, n);
	}
	vec_push(x->arena, &x->pieces, p);
	map_put_u64(&x->piece, hash, p);
	*out = p;
	return 0;
}

typedef int piece_fn(struct run_session *s, struct run_piece *p, struct err *e);
static int each_piece(piece_fn *take, struct run_session *s, const int *node, int n, struct err *e);
static int run_piece(struct run_session *s, struct run_piece *p, struct err *e);

/* The value of a piece's input. One of which only the extents are needed may be inside an earlier piece, or its memory
 * may be given back: then its node runs again. */
static int input_of(struct run_value **out, struct run_session *s, struct graph_value *v, struct err *e)
{
	const struct run_value *x = map_get(&s->values, v->name);
	if (!v->is_constant && v->producer >= 0 && (!x || x->given_back))
		TRY(each_piece(run_piece, s, &v->producer, 1, e));
	return value_of(out, s, v, e);
}

static int run_piece(struct run_session *s, struct run_piece *p, struct err *e)
{
	const struct graph_region *r = p->region;
	if (s->watch.stop && s->watch.stop(s->watch.user))
		return err_set(e, ERR_CANCELLED, "Interrupted.");
	struct run_value **in = NEWN(s->run, struct run_value *, r->inputs.n + 1);
	struct run_value *out = NEWN(s->run, struct run_value, r->outputs.n + 1);
	for (int i = 0; i < r->inputs.n; i++)
		TRY(input_of(&in[i], s, r->inputs.at[i], e));
	for (int i = 0; i < r->outputs.n; i++)
		out[i].value = r->outputs.at[i];
	int rc = run_program(s, p, in, out, e);
	if (rc < 0 && p->too_large && p->nodes > 1) { /* parts of it know the sizes of those before */
		err_clear(e);
		p->program = NULL;
		p->prefix = p->nodes / 2;
		return each_piece(run_piece, s, p->node, p->nodes, e);
	}
	if (rc < 0)
		return err_where(e, "%s: node %s: ", s->graph->model->path, r->label);
	for (int i = 0; i < r->outputs.n; i++)
		map_put(&s->values, r->outputs.at[i]->name, &out[i]);
	if (s->on.dev)
		give_back(s, p->node[p->nodes - 1]);
	s->counts->pieces++;
	s->counts->nodes += p->nodes;
	return 0;
}

static int compile_piece(struct run_session *s, struct run_piece *p, struct err *e)
{
	return p->on_host ? 0 : run_program_compile(s, p, NULL, e);
}

/* Takes the nodes in as few pieces as there can be, each from where the last one ended: then nodes that a loop or a
 * function repeats are divided at the same places. */
static int each_piece(piece_fn *take, struct run_session *s, const int *node, int n, struct err *e)
{
	while (n > 0) {
		struct run_piece *p;
		int now = n < MOST_NODES ? n : MOST_NODES;
		TRY(piece_of(&p, s, node, now, e));
		if (p->program) {
			TRY(take(s, p, e));
		} else {
			now = p->prefix;
			TRY(each_piece(take, s, node, now, e));
		}
		node += now;
		n -= now;
	}
	return 0;
}

struct run_session *run_open(const struct run_device *on, struct graph *g, struct arena *a)
{
	struct run_session *s = NEW(a, struct run_session);
	struct run_shared *x = NEW(a, struct run_shared);
	*x = (struct run_shared){
		.arena = a,
		.memory = { .dev = on->dev, .arena = a },
		.constants = map_new(a),
		.gains = map_new(a),
		.piece = map_new(a),
		.modules = map_new(a),
	};
	*s = (struct run_session){
		.on = *on, .graph = g, .arena = a, .shared = x, .memory = { .dev = on->dev, .arena = a }
	};
	return s;
}

struct run_session *run_also(struct run_session *s, struct dev *d, struct arena *a)
{
	struct run_session *x = NEW(a, struct run_session);
	*x = (struct run_session){ .on = s->on,
		                   .watch = s->watch,
		                   .graph = s->graph,
		                   .arena = a,
		                   .shared = s->shared,
		                   .memory = { .dev = d, .arena = a },
		                   .also = true,
		                   .graphs = s->graphs };
	x->on.dev = d;
	return x;
}

void run_graphs(struct run_session *s, bool on)
{
	s->graphs = on;
}

void run_watch(struct run_session *s, const struct run_watch *w)
{
	s->watch = *w;
}

void run_codes(struct run_session *s, const struct run_codes *c)
{
	s->shared->codes = *c;
}

static void close_shared(struct run_session *s)
{
	struct run_shared *x = s->shared;
	for (int i = 0; i < x->modules.n; i++)
		s->on.dev->unload(s->on.dev, x->modules.entry[i].value);
	x->modules = map_new(x->arena);
	x->pieces.n = 0;
	x->memory.dev = s->on.dev;
	if (s->on.dev)
		run_memory_free(&x->memory);
}

void run_close(struct run_session *s)
{
	if (!s)
		return;
	run_record_free_all(s);
	if (s->on.dev)
		run_memory_free(&s->memory);
	if (!s->also)
		close_shared(s);
	arena_free(s->run);
	s->run = NULL;
}

/* Forgets the last run. Its code and constants stay. */
static void begin(struct run_session *s, struct run_counts *counts)
{
	arena_free(s->run);
	s->run = arena_new();
	s->values = map_new(s->run);
	memset(&s->launches, 0, sizeof s->launches);
	if (s->on.dev)
		run_memory_give_all(&s->memory);
	*counts = (struct run_counts){ 0 };
	s->counts = counts;
	s->places = NULL;
	s->record = NULL;
}

/* Marks the nodes that these values need. */
static bool *needed_by(struct run_session *s, struct graph_value *const *want, int n)
{
	struct graph *g = s->graph;
	bool *needed = NEWN(s->run, bool, g->nodes.n + 1);
	for (int i = 0; i < n; i++)
		if (want[i]->producer >= 0)
			needed[want[i]->producer] = true;
	for (int i = g->nodes.n - 1; i >= 0; i--)
		vec_each (v, &g->nodes.at[i].reads)
			if (needed[i] && (*v)->producer >= 0)
				needed[(*v)->producer] = true;
	return needed;
}

/* Copies an input at an odd address. */
static int align(struct run_session *s, struct run_value *v, struct err *e)
{
	const void *from = v->at;
	int64_t bytes = tensor_bytes(&v->tensor);
	if ((uintptr_t)from % RUN_ALIGNMENT == 0 || bytes <= 0)
		return 0;
	TRY(run_memory_take(&v->at, &s->memory, (size_t)bytes, v->value->name, e));
	return s->on.dev->copy_within(s->on.dev, v->at, from, (size_t)bytes, e);
}

/* Takes all nodes that these values need, in pieces. */
static int all_pieces(piece_fn *take, struct run_session *s, struct graph_value *const *want, int n, struct err *e)
{
	struct graph *g = s->graph;
	const bool *needed = needed_by(s, want, n);
	int *node = NEWN(s->run, int, g->nodes.n + 1), nodes = 0;
	for (int i = 0; i < g->nodes.n; i++) {
		if (!needed[i] || g->nodes.at[i].folded || !graph_node_used(g, i))
			continue;
		TRY(graph_node_check(g, i, e));
		node[nodes++] = i;
	}
	s->want = want;
	s->wants = n;
	return each_piece(take, s, node, nodes, e);
}

static int run(struct run_session *s, struct graph_value *const *want, int n, const struct run_tensor *in,
               struct err *e)
{
	struct graph *g = s->graph;
	for (int i = 0; i < g->inputs.n; i++) {
		struct run_value *v = NEW(s->run, struct run_value);
		*v = (struct run_value){ .value = g->inputs.at[i], .tensor = in[i].tensor, .at = in[i].at };
		TRY(align(s, v, e));
		v->ref = v->at && v->at == in[i].at ? RUN_INPUT(i) : 0;
		map_put(&s->values, g->inputs.at[i]->name, v);
	}
	return all_pieces(run_piece, s, want, n, e);
}

int run_compile(struct run_session *s, struct err *e)
{
	begin(s, &s->own_counts);
	return s->on.dev ? all_pieces(compile_piece, s, s->graph->outputs.at, s->graph->outputs.n, e) : 0;
}

/* The results of the run, the first `on_host` of them on the host. A device may still work on those that have no host
 * memory. */
static int results(struct run_tensor *out, struct run_session *s, int on_host, struct err *e)
{
	for (int i = 0; i < s->wants; i++) {
		struct run_value *v;
		TRY(value_of(&v, s, s->want[i], e));
		if (i < on_host || !v->at)
			TRY(run_value_host(s, v, e));
		out[i] = (struct run_tensor){ v->tensor, v->at };
	}
	return 0;
}

static void count(struct run_session *s)
{
	s->counts->kernels = s->launches.n;
	s->counts->held = s->memory.held + s->shared->memory.held;
	s->counts->weights = s->shared->weights;
}

int run_values(struct run_tensor *out, struct run_counts *counts, struct run_session *s,
               struct graph_value *const *want, int n, int on_host, const struct run_tensor *in, struct err *e)
{
	begin(s, counts);
	TRY(run(s, want, n, in, e));
	TRY(results(out, s, on_host, e));
	count(s);
	return 0;
}

int run_graph(struct tensor *out, struct run_counts *counts, struct run_session *s, const struct tensor *in,
              struct err *e)
{
	const struct graph *g = s->graph;
	begin(s, counts);
	struct run_tensor *from = NEWN(s->run, struct run_tensor, g->inputs.n + 1),
	                  *to = NEWN(s->run, struct run_tensor, g->outputs.n + 1);
	for (int i = 0; i < g->inputs.n; i++)
		from[i].tensor = in[i];
	TRY(run(s, g->outputs.at, g->outputs.n, from, e));
	TRY(results(to, s, g->outputs.n, e));
	for (int i = 0; i < g->outputs.n; i++)
		out[i] = to[i].tensor;
	count(s);
	return 0;
}

int run_tensors(struct run_tensor *out, struct run_counts *counts, struct run_session *s, const struct run_tensor *in,
                bool to_host, struct err *e)
{
	begin(s, counts);
	for (int i = 0; i < s->graph->inputs.n; i++)
		if (!s->on.dev && !in[i].tensor.data && tensor_count(&in[i].tensor)) {
			err_about(e, ERR_TENSOR, s->graph->inputs.at[i]->name);
			return err_set(e, ERR_USAGE,
			               "The interpreter reads host memory, but the input \"%s\" has none.",
			               s->graph->inputs.at[i]->name);
		}
	TRY(run(s, s->graph->outputs.at, s->graph->outputs.n, in, e));
	TRY(results(out, s, to_host ? s->wants : 0, e));
	count(s);
	return s->on.dev && !to_host ? s->on.dev->synchronize(s->on.dev, e) : 0;
}

/* ---- Runs that others may be next to. */

struct first { /* a run that repeats no other */
	struct run_tensor *out;
	struct run_session *s;
	const struct run_tensor *in;
	const struct run_places *places;
	struct run_counts *counts;
	bool record;
};

static int launch_locked(const struct first *x, struct err *e)
{
	struct run_session *s = x->s;
	begin(s, x->counts);
	s->places = x->places;
	if (x->record)
		run_record_begin(s, x->in);
	TRY(run(s, s->graph->outputs.at, s->graph->outputs.n, x->in, e));
	TRY(results(x->out, s, 0, e));
	count(s);
	run_record_end(s, x->out);
	return 0;
}

/* Under the lock, also when it jumps to the caller's guard. */
static int launch_first(const struct first *x, struct err *e)
{
	struct arena_guard guard;
	volatile int rc = 0;
	volatile bool jumped = true;
	if (!setjmp(*arena_guard_push(&guard))) {
		run_lock(x->s);
		rc = launch_locked(x, e);
		jumped = false;
	}
	if (x->s->locked)
		run_unlock(x->s);
	arena_guard_pop(&guard);
	if (jumped)
		arena_guard_forward(arena_guard_bug());
	return rc;
}

int run_enqueue(struct run_tensor *out, struct run_counts *counts, struct run_session *s, const struct run_tensor *in,
                const struct run_places *places, struct err *e)
{
	ck(s->on.dev);
	struct run_record *x = run_record_find(s, in);
	bool done = false;
	s->counts = counts;
	if (x && run_record_repeat(out, s, x, in, places, &done, e) < 0) {
		memset(&s->launches, 0, sizeof s->launches);
		run_record_free_all(s);
		return e->code;
	}
	return done ? 0 : launch_first(&(struct first){ out, s, in, places, counts, !x }, e);
}
