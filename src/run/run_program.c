/* One program on a device: its code, memory and launches. See run.h. */
#include "run/run.h"

#include "eval/eval.h"
#include "gen/language.h"
#include "ir/launch.h"

struct running {
	struct dev *dev;
	const struct ir_plan *plan;
	struct ir_inputs values; /* of symbols */
	struct dev_module *module;
	void **memory; /* by buffer id */
	int kernels;
	struct err *err;
};

static bool symbol_value(void *user, expr symbol, int64_t *value)
{
	struct running *r = user;
	const struct ir_size *size = ir_size_find(r->plan->program, symbol);
	if (!size)
		return ir_inputs_symbol(&r->values, symbol, value);
	return r->dev->copy_out(r->dev, value, r->memory[size->count->id], sizeof *value, r->err) == 0;
}

static int evaluate(struct running *r, expr x, int64_t *out)
{
	if (ir_eval_int(x, symbol_value, r, out))
		return 0;
	return r->err->code ? r->err->code : err_set(r->err, ERR_MODEL, "An extent follows from no input.");
}

static void *memory_of(void *user, const struct ir_buffer *b)
{
	return ((struct running *)user)->memory[b->id];
}

static int tensor_map(void *user, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	struct dev *d = ((struct running *)user)->dev;
	return d->tensor_map ? d->tensor_map(d, out, v, e) : 0;
}

static int launch(void *user, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3], void **args,
                  struct err *e)
{
	struct running *r = user;
	struct dev *d = r->dev;
	struct dev_kernel *function;
	bool early = k->early && d->launch_early, all = k->together && d->launch_together;
	TRY(d->kernel(d, &function, r->module, k->name, k->shared_bytes, e));
	r->kernels++;
	return (all     ? d->launch_together
	        : early ? d->launch_early
	                : d->launch)(d, function, grid, block, k->shared_bytes, args, e);
}

static int together(void *user, int threads)
{
	struct dev *d = ((struct running *)user)->dev;
	return d->together ? d->together(d, threads) : INT32_MAX;
}

static const struct tensor *content(const struct running *r, const struct ir_buffer *b)
{
	const struct ir_program *p = r->plan->program;
	for (int i = 0; i < p->inputs.n; i++)
		if (p->inputs.at[i] == b)
			return r->values.tensor[i];
	return b->role == IR_CONSTANT ? b->data : NULL;
}

static int allocate(struct running *r)
{
	struct ir_program *p = r->plan->program;
	struct dev *d = r->dev;
	for (int i = 0; i < p->buffers.n; i++) {
		const struct ir_buffer *b = p->buffers.at[i];
		const struct tensor *t = content(r, b);
		int64_t n;
		TRY(evaluate(r, ir_size_limit(p, ir_buffer_count(p, b)), &n));
		size_t bytes = (size_t)type_bytes(b->type, n);
		TRY(d->alloc(d, &r->memory[i], bytes ? bytes : 1, r->err));
		if (d->name)
			d->name(d, r->memory[i], b->name);
		if (t && t->data && bytes)
			TRY(d->copy_in(d, r->memory[i], t->data, bytes, r->err));
	}
	return 0;
}

static int compile(struct running *r, struct arena *a)
{
	const struct language *l = language_of(r->dev->props.language);
	struct str text = str_new(a);
	struct dev_code code;
	if (!r->plan->steps.n)
		return 0;
	l->print(&text, &r->plan, 1);
	struct dev_source source = { .file = arena_printf(a, "piece%s", l->ending),
		                     .text = str_text(&text),
		                     .may_race = ir_replaces(r->plan->program) };
	TRY(r->dev->compile(r->dev, &code, &source, NULL, a, r->err));
	return r->dev->load(r->dev, &r->module, &code, r->err);
}

static int take_outputs(struct running *r, struct tensor *outputs, struct arena *a)
{
	const struct ir_program *p = r->plan->program;
	for (int i = 0; i < p->outputs.n; i++) {
		const struct ir_buffer *b = p->outputs.at[i];
		int64_t dim[IR_MAX_RANK];
		for (int k = 0; k < b->rank; k++)
			TRY(evaluate(r, b->dim[k], &dim[k]));
		TRY(tensor_new(&outputs[i], b->type, b->rank, dim, a, r->err));
		size_t bytes = (size_t)tensor_bytes(&outputs[i]);
		if (bytes)
			TRY(r->dev->copy_out(r->dev, outputs[i].data, r->memory[b->id], bytes, r->err));
	}
	return r->dev->synchronize(r->dev, r->err);
}

static int run_on(struct running *r, struct tensor *outputs, struct arena *a)
{
	const struct ir_launcher l = {
		r->plan->program, r->dev->props.arch, symbol_value, memory_of, tensor_map, launch, together, r
	};
	TRY(compile(r, a));
	TRY(allocate(r));
	TRY(ir_launch_plan(&l, r->plan, r->err));
	TRY(r->dev->synchronize(r->dev, r->err));
	return take_outputs(r, outputs, a);
}

int run_program(const struct run_device *on, struct ir_program *p, const struct tensor *const *inputs,
                struct tensor *outputs, int *kernels, struct arena *a, struct err *e)
{
	if (!on->dev)
		return eval_program(p, inputs, outputs, NULL, a, e);
	struct running r = { .dev = on->dev, .values = { p, inputs }, .err = e };
	r.plan = sched_program(p, &on->target, NULL);
	r.memory = NEWN(a, void *, p->buffers.n + 1);
	int rc = run_on(&r, outputs, a);
	for (int i = 0; i < p->buffers.n; i++)
		on->dev->free(on->dev, r.memory[i]);
	if (r.module)
		on->dev->unload(on->dev, r.module);
	if (kernels)
		*kernels += r.kernels;
	return rc;
}
