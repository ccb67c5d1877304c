/* A plan on a device: code, memory, launches, times. See tune.h. */
#include "tune/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/gen.h"

enum { MAX_COPIES = 64, MAX_ARGS = 128, WARM_UP = 3 };

/* A kernel that runs, with its launch sizes. */
struct step {
	const struct ir_kernel *kernel;
	struct dev_kernel *function;
	uint32_t grid[3], block[3];
};

struct tune_runner {
	const struct ir_plan *plan;
	struct dev *dev;
	struct dev_module *module;
	struct {
		VEC(struct step);
	} steps;
	const struct tensor *const *inputs;
	void **memory; /* copy * buffers + id; buffers that are no edge have one for all copies */
	size_t *bytes; /* by id */
	int copies, next;
	double moved;
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

static int load_code(struct tune_runner *r, struct err *e)
{
	struct dev *d = r->dev;
	struct str text = str_new(r->arena);
	struct dev_code code;
	bool c = strcmp(d->kind, "cpu") == 0;
	if (c)
		gen_c(&text, r->plan);
	else
		gen_cuda(&text, &r->plan, 1);
	struct dev_source source = { arena_printf(r->arena, "%s.%s", r->plan->program->name, c ? "c" : "cu"),
		                     str_text(&text), NULL };
	TRY(d->compile(d, &code, &source, NULL, r->arena, e));
	return d->load(d, &r->module, &code, e);
}

static int choose_kernels(struct tune_runner *r, struct err *e)
{
	vec_each (st, &r->plan->steps) {
		const struct ir_kernel *chosen = NULL;
		int64_t fits = 1, blocks;
		for (int i = 0; i < (*st)->n && !chosen; i++) {
			const struct ir_kernel *k = (*st)->at[i];
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
		TRY(r->dev->kernel(r->dev, &s.function, r->module, chosen->name, 0, e));
		vec_push(r->arena, &r->steps, s);
	}
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

static int allocate(struct tune_runner *r, struct err *e)
{
	const struct ir_program *p = r->plan->program;
	struct dev *d = r->dev;
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
			TRY(d->alloc(d, m, r->bytes[b->id] + 16, e));
			if (t && r->bytes[b->id])
				TRY(d->copy_in(d, *m, t->data, r->bytes[b->id], e));
		}
	return 0;
}

int tune_runner_new(struct tune_runner **out, struct dev *d, const struct ir_plan *plan, const struct tensor *const *inputs,
                    size_t rotate, struct arena *a, struct err *e)
{
	struct tune_runner *r = *out = NEW(a, struct tune_runner);
	*r = (struct tune_runner){ .plan = plan, .dev = d, .inputs = inputs, .arena = a, .copies = 1 };
	TRY(measure_buffers(r, rotate, e));
	TRY(load_code(r, e));
	TRY(choose_kernels(r, e));
	return allocate(r, e);
}

void tune_runner_free(struct tune_runner *r)
{
	if (!r)
		return;
	const struct ir_program *p = r->plan->program;
	for (int c = 0; r->memory && c < r->copies; c++)
		vec_each (b, &p->buffers)
			if (c == 0 || at_edge(*b))
				r->dev->free(r->dev, memory_of(r, c, *b));
	if (r->module)
		r->dev->unload(r->dev, r->module);
	r->memory = NULL;
	r->module = NULL;
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
	int n = 0;
	if (k->buffers.n + k->symbols.n > MAX_ARGS)
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
	return r->dev->launch(r->dev, s->function, s->grid, s->block, 0, args, e);
}

static int run_once(struct tune_runner *r, int copy, struct err *e)
{
	vec_each (s, &r->steps)
		TRY(launch(r, s, copy, e));
	return 0;
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
		TRY(tensor_new(&outputs[i], b->type, b->rank, dim, a, e));
		if (r->bytes[b->id])
			TRY(d->copy_out(d, outputs[i].data, memory_of(r, 0, b), r->bytes[b->id], e));
	}
	return d->synchronize(d, e);
}

/* One pass over all copies, `rounds` times. */
static int run_all(struct tune_runner *r, int rounds, struct err *e)
{
	for (int i = 0; i < rounds * r->copies; i++)
		TRY(run_once(r, i % r->copies, e));
	return 0;
}

static int compare_doubles(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

struct timing {
	struct tune_runner *r;
	struct dev_graph *graph; /* null: the device records none */
	struct dev_event *from, *to;
	int rounds;
};

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

static int take_samples(struct timing *t, double *ns, int n, struct err *e)
{
	struct dev *d = t->r->dev;
	TRY(d->event_new(d, &t->from, e));
	TRY(d->event_new(d, &t->to, e));
	/* Enough launches that the clock's and the replay's own cost do not count. */
	double once;
	t->rounds = 1;
	TRY(run_all(t->r, 1, e));
	TRY(d->synchronize(d, e));
	TRY(one_sample(t, &once, e));
	double wanted = 2e6; /* ns */
	t->rounds = once > 0 && once < wanted ? (int)(wanted / once) + 1 : 1;
	t->rounds = t->rounds * t->r->copies > 512 ? (512 + t->r->copies - 1) / t->r->copies : t->rounds;
	TRY(record(t, e));
	for (int i = 0; i < WARM_UP; i++)
		TRY(replay(t, e));
	for (int i = 0; i < n; i++)
		TRY(one_sample(t, &ns[i], e));
	return 0;
}

int tune_runner_time(struct tune_runner *r, double *ns, double *spread, int repeats, struct err *e)
{
	struct timing t = { .r = r };
	double *sample = NEWN(r->arena, double, repeats);
	int rc = take_samples(&t, sample, repeats, e);
	if (t.graph)
		r->dev->graph_free(r->dev, t.graph);
	if (t.from)
		r->dev->event_free(r->dev, t.from);
	if (t.to)
		r->dev->event_free(r->dev, t.to);
	if (rc < 0)
		return rc;
	qsort(sample, (size_t)repeats, sizeof *sample, compare_doubles);
	double middle = sample[repeats / 2];
	*ns = middle / (t.rounds * r->copies);
	*spread = middle > 0 ? (sample[repeats * 3 / 4] - sample[repeats / 4]) / middle : 0;
	return 0;
}
