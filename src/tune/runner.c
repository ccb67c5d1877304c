/* A plan on a device: its code, and launches. See tune.h. */
#include "tune/runner_inside.h"

#include <string.h>

/* ---- Code. */

static int text_of(struct dev_code *out, struct tune_runner *r, const struct ir_plan *plan, const char *name,
                   const struct tune_code *code, struct err *e)
{
	struct str text = str_new(r->arena);
	code->language->print(&text, &plan, 1);
	struct dev_source source = { .file = arena_printf(r->arena, "%s%s", name, code->language->ending),
		                     .text = str_text(&text) };
	return code->compile(code->user, out, &source, r->arena, e);
}

/* Chooses the kernels for these extents. */
static int choose_kernels(struct tune_runner *r, struct err *e)
{
	vec_each (st, &r->plan->steps) {
		struct runner_step s = { 0 };
		TRY(ir_launch_choose(&s.kernel, &r->launcher, *st, e));
		if (s.kernel)
			vec_push(r->arena, &r->steps, s);
	}
	return 0;
}

/* Compiles each kernel as its own text, so that plans share the code of common kernels. */
static int code_of_step(struct dev_code *out, struct tune_runner *r, const struct runner_step *s,
                        const struct tune_code *code, struct err *e)
{
	struct ir_kernel *kernel = NEW(r->arena, struct ir_kernel);
	struct ir_step only = { 0 }, *step = &only;
	struct ir_plan plan = { .program = r->plan->program };
	*kernel = *s->kernel;
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

static int compile_with_device(void *user, struct dev_code *out, const struct dev_source *s, struct arena *a,
                               struct err *e)
{
	struct dev *d = user;
	return d->compile(d, out, s, NULL, a, e);
}

static int load_code(struct tune_runner *r, const struct tune_code *given, struct err *e)
{
	struct tune_code whole = { compile_with_device, r->dev, language_of(r->dev->props.language) };
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

/* ---- Launches. */

/* The launcher functions' context. Before a launch only the runner is set. */
struct call {
	struct tune_runner *r;
	const struct runner_step *step;
	int copy;
};

static bool symbol_value(void *user, expr symbol, int64_t *value)
{
	return ir_inputs_symbol(&((struct call *)user)->r->values, symbol, value);
}

static void *memory_of(void *user, const struct ir_buffer *b)
{
	const struct call *c = user;
	return runner_memory(c->r, c->copy, b);
}

static int tensor_map(void *user, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	struct dev *d = ((struct call *)user)->r->dev;
	return dev_tensor_map(d, out, v, e);
}

static int launch(void *user, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3], void **args,
                  struct err *e)
{
	const struct call *c = user;
	struct dev *d = c->r->dev;
	return dev_launch(d, c->step->function,
	                  &(struct dev_launch){ grid, block, k->shared_bytes, k->early, k->together }, args, e);
}

static int together(void *user, int threads)
{
	struct dev *d = ((const struct call *)user)->r->dev;
	return d ? dev_together(d, threads) : INT32_MAX;
}

static void set_launcher(struct tune_runner *r)
{
	struct call *c = NEW(r->arena, struct call);
	c->r = r;
	r->values = (struct ir_inputs){ r->plan->program, r->inputs };
	r->launcher = (struct ir_launcher){ .program = r->plan->program,
		                            .arch = r->dev ? r->dev->props.arch : 0,
		                            .symbol = symbol_value,
		                            .memory = memory_of,
		                            .tensor_map = tensor_map,
		                            .launch = launch,
		                            .together = together,
		                            .user = c };
}

int runner_run_once(struct tune_runner *r, int copy, struct err *e)
{
	struct call *c = r->launcher.user;
	c->copy = copy;
	vec_each (s, &r->steps) {
		c->step = s;
		TRY(ir_launch_kernel(&r->launcher, s->kernel, e));
	}
	return 0;
}

/* ---- Runners. */

int tune_compile(const struct ir_plan *plan, const struct tensor *const *inputs, const struct tune_code *code,
                 struct arena *a, struct err *e)
{
	struct tune_runner r = { .plan = plan, .inputs = inputs, .arena = a };
	struct dev_code unused;
	set_launcher(&r);
	TRY(choose_kernels(&r, e));
	vec_each (s, &r.steps)
		TRY(code_of_step(&unused, &r, s, code, e));
	return 0;
}

int tune_runner_new(struct tune_runner **out, struct dev *d, const struct ir_plan *plan,
                    const struct tensor *const *inputs, const struct tune_setup *setup, struct arena *a, struct err *e)
{
	struct tune_runner *r = *out = NEW(a, struct tune_runner);
	*r = (struct tune_runner){
		.plan = plan, .dev = d, .inputs = inputs, .arena = a, .copies = 1, .pool = setup->pool
	};
	set_launcher(r);
	TRY(runner_measure_buffers(r, setup->rotate, e));
	TRY(choose_kernels(r, e));
	TRY(load_code(r, setup->code, e));
	return runner_allocate(r, e);
}

void tune_runner_cool(struct tune_runner *r)
{
	struct runner_timing *t = r->timing;
	r->timing = NULL;
	if (t && t->graph)
		r->dev->graph_free(r->dev, t->graph);
	if (t && t->from)
		r->dev->event_free(r->dev, t->from);
	if (t && t->to)
		r->dev->event_free(r->dev, t->to);
}

void tune_runner_free(struct tune_runner *r)
{
	if (!r)
		return;
	tune_runner_cool(r);
	runner_free_memory(r);
	vec_each (m, &r->modules)
		r->dev->unload(r->dev, *m);
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

static int read_count(void *user, int64_t *value, const struct ir_buffer *count, struct err *e)
{
	const struct tune_runner *r = user;
	return r->dev->copy_out(r->dev, value, runner_memory(r, 0, count), sizeof *value, e);
}

int tune_runner_outputs(struct tune_runner *r, struct tensor *outputs, struct arena *a, struct err *e)
{
	const struct ir_program *p = r->plan->program;
	struct dev *d = r->dev;
	vec_each (b, &p->outputs)
		if (r->bytes[(*b)->id])
			TRY(d->memset(d, runner_memory(r, 0, *b), 0xa5, r->bytes[(*b)->id], e));
	TRY(runner_run_once(r, 0, e));
	for (int i = 0; i < p->outputs.n; i++) {
		const struct ir_buffer *b = p->outputs.at[i];
		TRY(ir_output_tensor(&outputs[i], b, &(struct ir_found){ r->values, read_count, r }, a, e));
		size_t bytes = (size_t)tensor_bytes(&outputs[i]);
		if (bytes)
			TRY(d->copy_out(d, outputs[i].data, runner_memory(r, 0, b), bytes, e));
	}
	return d->synchronize(d, e);
}
