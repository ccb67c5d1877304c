/* A plan on a device: code, memory, launches, times. See tune.h. */
#include "tune/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/gen.h"

enum { MAX_COPIES = 64, MAX_ARGS = 128, WARM_UP = 3, GUARD = 256, MAX_LAUNCHES = 512 };
static const double SAMPLE_NS = 1e6; /* enough that the clock's and the replay's own cost do not count */
static const unsigned char guard_byte = 0x5c;

/* A kernel that runs, with its launch sizes. */
struct step {
	const struct ir_kernel *kernel;
	struct dev_kernel *function;
	uint32_t grid[3], block[3];
};

struct tune_runner {
	const struct ir_plan *plan;
	struct dev *dev;
	struct {
		VEC(struct dev_module *);
	} modules;
	struct {
		VEC(struct step);
	} steps;
	const struct tensor *const *inputs;
	void **memory; /* copy * buffers + id, behind a guard; buffers that are no edge have one for all copies */
	size_t *bytes; /* by id */
	int copies;
	struct tune_pool *pool; /* or null */
	double moved;
	struct timing *timing; /* null: not recorded yet */
	struct arena *arena;
};

static bool symbol_value(void *user, const char *name, int64_t *value)
{
	const struct tune_runner *r = user;
	int input, axis;
	if (!ir_symbol_source(r->plan->program, name, &input, &axis))
		return false;
	*value = r->inputs[input]->dim[axis];
	return true;
}

static int evaluate(struct tune_runner *r, expr x, int64_t *out, struct err *e)
{
	if (!ir_eval_int(ir_size_limit(r->plan->program, x), symbol_value, r, out))
		return err_set(e, ERR_MODEL, "Program %s: an extent cannot be computed from the inputs' shapes.",
		               r->plan->program->name);
	return 0;
}

static bool at_edge(const struct ir_buffer *b)
{
	return b->role == IR_INPUT || b->role == IR_OUTPUT;
}

static void *memory_of(const struct tune_runner *r, int copy, const struct ir_buffer *b)
{
	return r->memory[copy * r->plan->program->buffers.n + b->id];
}

/* ---- Code. */

static int text_of(struct dev_code *out, struct tune_runner *r, const struct ir_plan *plan, const char *name,
                   const struct tune_code *code, struct err *e)
{
	struct str text = str_new(r->arena);
	if (code->is_c)
		gen_c(&text, &plan, 1);
	else
		gen_cuda(&text, &plan, 1);
	struct dev_source source = { arena_printf(r->arena, "%s.%s", name, code->is_c ? "c" : "cu"), str_text(&text), NULL };
	return code->compile(code->user, out, &source, r->arena, e);
}

/* The kernels that run at these extents. */
static int choose_kernels(struct tune_runner *r, struct err *e)
{
	vec_each (st, &r->plan->steps) {
		const struct ir_kernel *chosen = NULL;
		int64_t fits = 1, blocks;
		for (int i = 0; i < (*st)->n && !chosen; i++) {
			const struct ir_kernel *k = (*st)->at[i];
			if (k->arch && r->dev && r->dev->props.arch && k->arch != r->dev->props.arch)
				continue;
			if (k->guard)
				TRY(evaluate(r, k->guard, &fits, e));
			if (!k->guard || fits)
				chosen = k;
		}
		if (!chosen)
			return err_set(e, ERR_MODEL, "Program %s: no kernel fits these extents.", r->plan->program->name);
		TRY(evaluate(r, chosen->blocks, &blocks, e));
		if (!blocks)
			continue;
		struct step s = { .kernel = chosen,
			          .grid = { (uint32_t)blocks, 1, 1 },
			          .block = { (uint32_t)chosen->threads, 1, 1 } };
		vec_push(r->arena, &r->steps, s);
	}
	return 0;
}

/* Each kernel that runs as a text of its own, so that plans that share it share its code. */
static int code_of_step(struct dev_code *out, struct tune_runner *r, const struct step *s, const struct tune_code *code,
                        struct err *e)
{
	struct ir_kernel *kernel = (struct ir_kernel *)s->kernel;
	struct ir_step only = { 0 }, *step = &only;
	struct ir_plan plan = { .program = r->plan->program, .chained = r->plan->chained };
	vec_push(r->arena, &only, kernel);
	vec_push(r->arena, &plan.steps, step);
	return text_of(out, r, &plan, s->kernel->name, code, e);
}

static int load(struct tune_runner *r, const struct dev_code *code, struct err *e)
{
	struct dev_module *m;
	TRY(r->dev->load(r->dev, &m, code, e));
	vec_push(r->arena, &r->modules, m);
	return 0;
}

static int compile_with_device(void *user, struct dev_code *out, const struct dev_source *s, struct arena *a, struct err *e)
{
	struct dev *d = user;
	return d->compile(d, out, s, NULL, a, e);
}

static int load_code(struct tune_runner *r, const struct tune_code *given, struct err *e)
{
	struct tune_code whole = { compile_with_device, r->dev, strcmp(r->dev->kind, "cpu") == 0 };
	struct dev_code code;
	if (!given) {
		TRY(text_of(&code, r, r->plan, r->plan->program->name, &whole, e));
		TRY(load(r, &code, e));
	}
	vec_each (s, &r->steps) {
		if (given) {
			TRY(code_of_step(&code, r, s, given, e));
			TRY(load(r, &code, e));
		}
		TRY(r->dev->kernel(r->dev, &s->function, r->modules.at[r->modules.n - 1], s->kernel->name,
		                      s->kernel->shared_bytes, e));
	}
	return 0;
}

int tune_compile(const struct ir_plan *plan, const struct tensor *const *inputs, const struct tune_code *code, struct arena *a,
                 struct err *e)
{
	struct tune_runner r = { .plan = plan, .inputs = inputs, .arena = a };
	struct dev_code unused;
	TRY(choose_kernels(&r, e));
	vec_each (s, &r.steps)
		TRY(code_of_step(&unused, &r, s, code, e));
	return 0;
}

/* ---- Memory. */

static const struct tensor *content(const struct tune_runner *r, const struct ir_buffer *b)
{
	const struct ir_program *p = r->plan->program;
	for (int i = 0; i < p->inputs.n; i++)
		if (p->inputs.at[i] == b)
			return r->inputs[i];
	return b->role == IR_CONSTANT ? b->data : NULL;
}

static int measure_buffers(struct tune_runner *r, size_t rotate, struct err *e)
{
	struct ir_program *p = r->plan->program;
	size_t edge = 0;
	r->bytes = NEWN(r->arena, size_t, p->buffers.n + 1);
	vec_each (b, &p->buffers) {
		int64_t n;
		TRY(evaluate(r, ir_buffer_count(p, *b), &n, e));
		r->bytes[(*b)->id] = (size_t)type_bytes((*b)->type, n);
		if (at_edge(*b))
			edge += r->bytes[(*b)->id];
	}
	r->moved = (double)edge;
	r->copies = edge && rotate > edge ? (int)((rotate + edge - 1) / edge) : 1;
	r->copies = r->copies > MAX_COPIES ? MAX_COPIES : r->copies;
	return 0;
}

/* A block with its guards, which may have been another runner's. */
struct block {
	char *place;
	size_t bytes;
	const struct tensor *content; /* what stands in it; null: nothing that is known */
};

struct tune_pool {
	struct {
		VEC(struct block);
	} blocks;
	struct dev *dev;
	struct arena *arena;
};

struct tune_pool *tune_pool_new(struct dev *d, struct arena *a)
{
	struct tune_pool *p = NEW(a, struct tune_pool);
	*p = (struct tune_pool){ .dev = d, .arena = a };
	return p;
}

static char *take_block(struct tune_pool *p, size_t bytes, const struct tensor *content)
{
	for (int i = 0; p && i < p->blocks.n; i++) {
		struct block b = p->blocks.at[i];
		if (b.bytes != bytes || b.content != content)
			continue;
		p->blocks.at[i] = p->blocks.at[--p->blocks.n];
		return b.place;
	}
	return NULL;
}

/* Gives back all that nobody has taken: memory is out. */
static void empty_pool(struct tune_pool *p)
{
	for (; p && p->blocks.n; p->blocks.n--)
		p->dev->free(p->dev, p->blocks.at[p->blocks.n - 1].place);
}

static int new_block(struct tune_runner *r, char **place, size_t bytes, const struct tensor *content, struct err *e)
{
	struct dev *d = r->dev;
	if (d->alloc(d, (void **)place, bytes + 2 * GUARD, e) < 0) {
		if (!r->pool || !r->pool->blocks.n)
			return e->code;
		empty_pool(r->pool);
		err_clear(e);
		TRY(d->alloc(d, (void **)place, bytes + 2 * GUARD, e));
	}
	TRY(d->memset(d, *place, guard_byte, GUARD, e));
	TRY(d->memset(d, *place + GUARD + bytes, guard_byte, GUARD, e));
	return content && bytes ? d->copy_in(d, *place + GUARD, content->data, bytes, e) : 0;
}

static int allocate(struct tune_runner *r, struct err *e)
{
	const struct ir_program *p = r->plan->program;
	r->memory = NEWN(r->arena, void *, r->copies * p->buffers.n + 1);
	for (int c = 0; c < r->copies; c++)
		vec_each (pb, &p->buffers) {
			const struct ir_buffer *b = *pb;
			void **m = &r->memory[c * p->buffers.n + b->id];
			const struct tensor *t = content(r, b);
			if (c > 0 && !at_edge(b)) {
				*m = memory_of(r, 0, b);
				continue;
			}
			char *place = at_edge(b) ? take_block(r->pool, r->bytes[b->id], t) : NULL;
			int rc = place ? 0 : new_block(r, &place, r->bytes[b->id], t, e);
			*m = place ? place + GUARD : NULL;
			TRY(rc);
		}
	return 0;
}

int tune_runner_new(struct tune_runner **out, struct dev *d, const struct ir_plan *plan, const struct tensor *const *inputs,
                    const struct tune_setup *setup, struct arena *a, struct err *e)
{
	struct tune_runner *r = *out = NEW(a, struct tune_runner);
	*r = (struct tune_runner){ .plan = plan, .dev = d, .inputs = inputs, .arena = a, .copies = 1, .pool = setup->pool };
	TRY(measure_buffers(r, setup->rotate, e));
	TRY(choose_kernels(r, e));
	TRY(load_code(r, setup->code, e));
	return allocate(r, e);
}

static void give_back(struct tune_runner *r, const struct ir_buffer *b, char *place)
{
	if (r->pool && at_edge(b))
		vec_push(r->pool->arena, &r->pool->blocks, ((struct block){ place, r->bytes[b->id], content(r, b) }));
	else
		r->dev->free(r->dev, place);
}

void tune_runner_free(struct tune_runner *r)
{
	if (!r)
		return;
	const struct ir_program *p = r->plan->program;
	tune_runner_cool(r);
	for (int c = 0; r->memory && c < r->copies; c++)
		vec_each (b, &p->buffers)
			if ((c == 0 || at_edge(*b)) && memory_of(r, c, *b))
				give_back(r, *b, (char *)memory_of(r, c, *b) - GUARD);
	vec_each (m, &r->modules)
		r->dev->unload(r->dev, *m);
	r->memory = NULL;
	r->modules.n = 0;
}

double tune_runner_bytes(const struct tune_runner *r)
{
	return r->moved;
}

int tune_runner_kernels(const struct tune_runner *r)
{
	return r->steps.n;
}

/* ---- Runs. */

static int launch(struct tune_runner *r, const struct step *s, int copy, struct err *e)
{
	const struct ir_kernel *k = s->kernel;
	void *args[MAX_ARGS], *pointer[MAX_ARGS];
	int64_t wide[MAX_ARGS];
	int32_t narrow[MAX_ARGS];
	_Alignas(64) char map[TPAT_RT_MAX_MAPS][TPAT_RT_MAP_BYTES];
	int n = 0;
	if (k->buffers.n + k->symbols.n + k->maps.n > MAX_ARGS)
		return err_set(e, ERR_UNSUPPORTED, "Kernel %s has more than %d arguments.", k->name, MAX_ARGS);
	vec_each (b, &k->buffers) {
		pointer[n] = memory_of(r, copy, r->plan->program->buffers.at[(*b)->id]);
		args[n] = &pointer[n];
		n++;
	}
	vec_each (name, &k->symbols) {
		if (!symbol_value(r, *name, &wide[n]))
			return err_set(e, ERR_MODEL, "Kernel %s: nothing gives %s a value.", k->name, *name);
		narrow[n] = (int32_t)wide[n];
		args[n] = k->index64 ? (void *)&wide[n] : (void *)&narrow[n];
		n++;
	}
	for (int i = 0; i < k->maps.n; i++) {
		const struct ir_tensor_map *m = &k->maps.at[i];
		struct tpat_rt_map_values v = { .element_bytes = type_info(m->buf->type)->bits / 8, .rank = m->rank };
		v.from = memory_of(r, copy, r->plan->program->buffers.at[m->buf->id]);
		for (int d = 0; d < m->rank; d++) {
			TRY(evaluate(r, m->dim[d], &v.dim[d], e));
			TRY(evaluate(r, m->stride[d], &v.stride[d], e));
			v.box[d] = m->box[d];
		}
		if (r->dev->tensor_map)
			TRY(r->dev->tensor_map(r->dev, map[i], &v, e));
		args[n++] = map[i];
	}
	bool follows = r->plan->chained && s > r->steps.at && r->dev->launch_early;
	return (follows ? r->dev->launch_early : r->dev->launch)(r->dev, s->function, s->grid, s->block, k->shared_bytes,
	                                                                args, e);
}

static int run_once(struct tune_runner *r, int copy, struct err *e)
{
	vec_each (s, &r->steps)
		TRY(launch(r, s, copy, e));
	return 0;
}

static bool is_like(const struct tensor *t, const struct ir_buffer *b, const int64_t *dim)
{
	return t->data && t->type == b->type && t->rank == b->rank && memcmp(t->dim, dim, sizeof *dim * (size_t)b->rank) == 0;
}

int tune_runner_outputs(struct tune_runner *r, struct tensor *outputs, struct arena *a, struct err *e)
{
	const struct ir_program *p = r->plan->program;
	struct dev *d = r->dev;
	vec_each (b, &p->outputs)
		if (r->bytes[(*b)->id])
			TRY(d->memset(d, memory_of(r, 0, *b), 0xa5, r->bytes[(*b)->id], e));
	TRY(run_once(r, 0, e));
	for (int i = 0; i < p->outputs.n; i++) {
		const struct ir_buffer *b = p->outputs.at[i];
		int64_t dim[IR_MAX_RANK];
		for (int k = 0; k < b->rank; k++)
			TRY(evaluate(r, b->dim[k], &dim[k], e));
		if (!is_like(&outputs[i], b, dim))
			TRY(tensor_new(&outputs[i], b->type, b->rank, dim, a, e));
		if (r->bytes[b->id])
			TRY(d->copy_out(d, outputs[i].data, memory_of(r, 0, b), r->bytes[b->id], e));
	}
	return d->synchronize(d, e);
}

/* Whether the guard at `at` is as it was. */
static int look_at_guard(struct tune_runner *r, const char *at, bool *whole, struct err *e)
{
	unsigned char guard[GUARD];
	TRY(r->dev->copy_out(r->dev, guard, at, GUARD, e));
	for (int i = 0; i < GUARD; i++)
		*whole &= guard[i] == guard_byte;
	return 0;
}

int tune_runner_overrun(struct tune_runner *r, const char **buffer, struct err *e)
{
	*buffer = NULL;
	vec_each (b, &r->plan->program->buffers) {
		const char *at = memory_of(r, 0, *b);
		bool whole = true;
		TRY(look_at_guard(r, at - GUARD, &whole, e));
		TRY(look_at_guard(r, at + r->bytes[(*b)->id], &whole, e));
		if (!whole && !*buffer)
			*buffer = (*b)->name;
	}
	return 0;
}

/* ---- Times. */

struct timing {
	struct tune_runner *r;
	struct dev_graph *graph; /* null: the device records none */
	struct dev_event *from, *to;
	int rounds;
	double once; /* ns of one run, about; 0: not recorded yet */
};

/* One pass over all copies, `rounds` times. */
static int run_all(struct tune_runner *r, int rounds, struct err *e)
{
	for (int i = 0; i < rounds * r->copies; i++)
		TRY(run_once(r, i % r->copies, e));
	return 0;
}

static int replay(struct timing *t, struct err *e)
{
	struct dev *d = t->r->dev;
	return t->graph ? d->graph_launch(d, t->graph, e) : run_all(t->r, t->rounds, e);
}

static int one_sample(struct timing *t, double *ns, struct err *e)
{
	struct dev *d = t->r->dev;
	TRY(d->event_record(d, t->from, e));
	TRY(replay(t, e));
	TRY(d->event_record(d, t->to, e));
	return d->event_ns(d, ns, t->from, t->to, e);
}

static int record(struct timing *t, struct err *e)
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
	rc = rc < 0 ? rc : run_once(r, 0, e);
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
	struct timing *t = r->timing;
	struct dev *d = r->dev;
	double all;
	if (t && t->once > 0) {
		*once_ns = t->once;
		return replay(t, e);
	}
	t = r->timing = NEW(r->arena, struct timing);
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

void tune_runner_cool(struct tune_runner *r)
{
	struct timing *t = r->timing;
	r->timing = NULL;
	if (t && t->graph)
		r->dev->graph_free(r->dev, t->graph);
	if (t && t->from)
		r->dev->event_free(r->dev, t->from);
	if (t && t->to)
		r->dev->event_free(r->dev, t->to);
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
