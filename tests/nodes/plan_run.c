/* Launches of a plan on the emulator or on a device. See plan_run.h. */
#include "tests/nodes/plan_run.h"

#include <string.h>

#include "base/foreign.h"
#include "emulator/emulator.h"
#include "gen/language.h"
#include "ir/launch.h"
#include "tests/nodes/batch.h"

enum { POISON = 0xa5 };

struct run {
	const struct ir_plan *plan;
	int arch;
	struct ir_inputs values; /* of symbols */
	struct dev *dev;         /* null: the emulator with all its checks */
	const struct tune_code *code;
	const struct plan_edges *edges; /* null: inputs have their data, results are not inspected here */
	void **memory;                  /* by buffer id */
	struct batch_code *emulated;
	struct arena *arena;
	struct err *err;
};

/* The number computed by a stage. */
static bool count_value(struct run *r, const struct ir_size *size, int64_t *value)
{
	const void *at = r->memory[size->count->id];
	if (r->dev)
		return r->dev->copy_out(r->dev, value, at, sizeof *value, r->err) == 0;
	memcpy(value, at, sizeof *value);
	return true;
}

static bool symbol_value(void *user, expr symbol, int64_t *value)
{
	struct run *r = user;
	const struct ir_size *size = ir_size_find(r->plan->program, symbol);
	return size ? count_value(r, size, value) /* known once it has run */
	            : ir_inputs_symbol(&r->values, symbol, value);
}

static int evaluate(struct run *r, expr e, int64_t *out)
{
	if (!ir_eval_int(e, symbol_value, r, out))
		return err_set(r->err, ERR_DIFFER, "an extent of the plan cannot be evaluated.");
	return 0;
}

static int allocate_on(struct dev *d, void **out, const struct tensor *t, size_t bytes, struct err *e)
{
	TRY(d->alloc(d, out, bytes ? bytes : 1, e));
	return t && bytes ? d->copy_in(d, *out, t->data, bytes, e) : d->memset(d, *out, POISON, bytes ? bytes : 1, e);
}

static const struct tensor *content(const struct run *r, const struct ir_buffer *b)
{
	for (int k = 0; k < r->plan->program->inputs.n; k++)
		if (r->plan->program->inputs.at[k] == b)
			return r->values.tensor[k];
	return b->role == IR_CONSTANT ? b->data : NULL;
}

static int allocate(struct run *r)
{
	const struct ir_program *p = r->plan->program;
	for (int i = 0; i < p->buffers.n; i++) {
		const struct ir_buffer *b = p->buffers.at[i];
		int64_t n;
		TRY(evaluate(r, ir_size_limit(p, ir_buffer_count(p, b)), &n));
		size_t bytes = (size_t)type_bytes(b->type, n);
		const struct tensor *t = content(r, b);
		if (r->edges && b->role == IR_INPUT) {
			TRY(allocate_on(r->dev, &r->memory[i], NULL, bytes, r->err));
			TRY(r->edges->fill(r->edges->user, b, r->memory[i], bytes, r->err));
			continue;
		}
		if (t && tensor_count(t) != n)
			return err_set(r->err, ERR_DIFFER, "%s has %lld elements, the program wants %lld.", b->name,
			               (long long)tensor_count(t), (long long)n);
		if (r->dev) {
			TRY(allocate_on(r->dev, &r->memory[i], t, bytes, r->err));
			continue;
		}
		r->memory[i] = emulator_alloc(b->name, bytes, 0);
		if (!r->memory[i])
			return err_set(r->err, ERR_DEVICE, "out of memory.");
		if (!t)
			continue;
		if (bytes)
			emulator_copy_in(r->memory[i], t->data, bytes);
		emulator_mark(r->memory[i], NULL, EMULATOR_READ_ONLY | EMULATOR_INITIALISED);
	}
	return 0;
}

static int make_map(void *user, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	const struct run *r = user;
	if (r->dev && r->dev->tensor_map)
		return r->dev->tensor_map(r->dev, out, v, e);
	emulator_tensor_map(out, v);
	return 0;
}

/* Expressions know buffers by their addresses: a copy with another name would be another buffer. */
static void rename_buffer(const struct run *r, const struct ir_buffer *b, const char *prefix, int number)
{
	struct ir_buffer *own = drop_const(b);
	own->name = arena_printf(r->arena, "%s%d", prefix, number);
}

/* An unshared kernel as text without names from the model: equal kernels of all programs share it. */
static const char *text_alone(struct run *r, const struct ir_kernel *k)
{
	struct ir_kernel *alone = NEW(r->arena, struct ir_kernel);
	struct ir_step only = { 0 }, *step = &only;
	struct ir_plan plan = { .program = r->plan->program };
	const struct ir_plan *one = &plan;
	struct str text = str_new(r->arena);
	*alone = *k;
	alone->name = "alone";
	alone->about = "";
	alone->parts.at = NULL;
	alone->parts.n = alone->parts.cap = 0;
	vec_each (part, &k->parts) {
		struct ir_kernel *copy = NEW(r->arena, struct ir_kernel);
		*copy = **part;
		copy->name = arena_printf(r->arena, "part%d", alone->parts.n);
		copy->about = "";
		vec_push(r->arena, &alone->parts, copy);
	}
	for (int i = 0; i < k->maps.n; i++)
		rename_buffer(r, k->maps.at[i].buf, "m", i);
	for (int i = 0; i < k->shared.n; i++)
		rename_buffer(r, k->shared.at[i], "s", i);
	for (int i = 0; i < k->buffers.n; i++)
		rename_buffer(r, k->buffers.at[i], "b", i);
	vec_push(r->arena, &only, alone);
	vec_push(r->arena, &plan.steps, step);
	language_cuda.print(&text, &one, 1);
	return str_text(&text);
}

static int compile_alone(struct run *r, struct dev_code *out, const struct ir_kernel *k)
{
	struct dev_source source = { "alone.cu", text_alone(r, k), NULL, false };
	return r->code->compile(r->code->user, out, &source, r->arena, r->err);
}

static int launch_on(struct run *r, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3],
                     void **args)
{
	struct dev *d = r->dev;
	struct dev_code code;
	struct dev_module *module;
	struct dev_kernel *function;
	TRY(compile_alone(r, &code, k));
	TRY(d->load(d, &module, &code, r->err));
	int rc = d->kernel(d, &function, module, "alone", k->shared_bytes, r->err);
	if (rc == 0)
		rc = (k->together && d->launch_together ? d->launch_together
		      : k->early && d->launch_early
		              ? d->launch_early
		              : d->launch)(d, function, grid, block, k->shared_bytes, args, r->err);
	if (rc == 0)
		rc = d->synchronize(d, r->err);
	d->unload(d, module);
	return rc;
}

static void *memory_of(void *user, const struct ir_buffer *b)
{
	return ((struct run *)user)->memory[b->id];
}

static int launch(void *user, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3], void **args,
                  struct err *e)
{
	struct run *r = user;
	if (r->dev)
		return launch_on(r, k, grid, block, args);
	return batch_launch(r->emulated, k->name, grid, block, (uint32_t)k->shared_bytes, args, e);
}

static int together(void *user, int threads)
{
	const struct run *r = user;
	return r->dev ? (r->dev->together ? r->dev->together(r->dev, threads) : INT32_MAX) : emulator_together(threads);
}

static struct ir_launcher launcher(struct run *r)
{
	return (struct ir_launcher){
		r->plan->program, r->arch, symbol_value, memory_of, make_map, launch, together, r
	};
}

static int run_steps(struct run *r)
{
	const struct ir_launcher l = launcher(r);
	return ir_launch_plan(&l, r->plan, r->err);
}

static int take_outputs(struct run *r, struct tensor *outputs)
{
	const struct ir_program *p = r->plan->program;
	for (int i = 0; i < p->outputs.n; i++) {
		const struct ir_buffer *b = p->outputs.at[i];
		int64_t dim[IR_MAX_RANK];
		for (int k = 0; k < b->rank; k++)
			TRY(evaluate(r, b->dim[k], &dim[k]));
		TRY(tensor_new(&outputs[i], b->type, b->rank, dim, r->arena, r->err));
		size_t bytes = (size_t)tensor_bytes(&outputs[i]);
		if (r->dev) {
			if (bytes)
				TRY(r->dev->copy_out(r->dev, outputs[i].data, r->memory[b->id], bytes, r->err));
			continue;
		}
		int64_t missing = bytes ? emulator_first_unwritten(r->memory[b->id], bytes) : -1;
		if (missing >= 0)
			return err_set(r->err, ERR_DIFFER, "byte %lld of output %s was never written.",
			               (long long)missing, b->name);
		if (bytes)
			memcpy(outputs[i].data, r->memory[b->id], bytes);
	}
	return 0;
}

int plan_run_emulated(const struct ir_plan *plan, int arch, const struct tensor *const *inputs, struct tensor *outputs,
                      struct arena *a, struct err *e)
{
	struct run r = { .plan = plan, .arch = arch, .values = { plan->program, inputs }, .arena = a, .err = e };
	r.memory = NEWN(a, void *, plan->program->buffers.n + 1);
	struct str text = str_new(a);
	vec_each (step, &plan->steps)
		vec_each (k, *step)
			TRY(ir_kernel_check(*k, e));
	language_cuda.print(&text, &plan, 1);
	int rc = plan->steps.n ? batch_build(&r.emulated, str_text(&text), ir_replaces(plan->program), e) : 0;
	if (rc == 0)
		rc = allocate(&r);
	if (rc == 0)
		rc = run_steps(&r);
	if (rc == 0)
		rc = take_outputs(&r, outputs);
	for (int i = 0; i < plan->program->buffers.n; i++)
		emulator_free(r.memory[i]);
	batch_unload(r.emulated);
	return rc;
}

static int run_on(struct run *r, struct tensor *outputs)
{
	const struct ir_program *p = r->plan->program;
	r->memory = NEWN(r->arena, void *, p->buffers.n + 1);
	int rc = allocate(r);
	if (rc == 0)
		rc = run_steps(r);
	if (rc == 0 && outputs)
		rc = take_outputs(r, outputs);
	for (int i = 0; i < p->outputs.n && r->edges && rc == 0; i++)
		rc = r->edges->take(r->edges->user, i, r->memory[p->outputs.at[i]->id], r->err);
	for (int i = 0; i < p->buffers.n; i++)
		r->dev->free(r->dev, r->memory[i]);
	return rc;
}

int plan_run_on(struct dev *d, const struct tune_code *code, const struct ir_plan *plan,
                const struct tensor *const *inputs, struct tensor *outputs, struct arena *a, struct err *e)
{
	struct run r = { .plan = plan,
		         .arch = d->props.arch,
		         .values = { plan->program, inputs },
		         .dev = d,
		         .code = code,
		         .arena = a,
		         .err = e };
	return run_on(&r, outputs);
}

int plan_run_edges(struct dev *d, const struct tune_code *code, const struct ir_plan *plan,
                   const struct tensor *const *inputs, const struct plan_edges *edges, struct arena *a, struct err *e)
{
	struct run r = { .plan = plan,
		         .arch = d->props.arch,
		         .values = { plan->program, inputs },
		         .dev = d,
		         .code = code,
		         .edges = edges,
		         .arena = a,
		         .err = e };
	return run_on(&r, NULL);
}

int plan_kernels(const struct ir_kernel **out, const struct ir_plan *plan, int arch, const struct tensor *const *inputs,
                 struct arena *a, struct err *e)
{
	static const struct tune_code none;
	struct run r = {
		.plan = plan, .arch = arch, .values = { plan->program, inputs }, .code = &none, .arena = a, .err = e
	};
	const struct ir_launcher l = launcher(&r);
	for (int i = 0; i < plan->steps.n; i++)
		TRY(ir_launch_choose(&out[i], &l, plan->steps.at[i], e));
	return 0;
}

int plan_compile(const struct tune_code *code, int arch, const struct ir_plan *plan, const struct tensor *const *inputs,
                 struct arena *a, struct err *e)
{
	struct run r = {
		.plan = plan, .arch = arch, .values = { plan->program, inputs }, .code = code, .arena = a, .err = e
	};
	const struct ir_launcher l = launcher(&r);
	vec_each (step, &plan->steps) {
		const struct ir_kernel *chosen;
		struct dev_code unused;
		TRY(ir_launch_choose(&chosen, &l, *step, e));
		if (chosen)
			TRY(compile_alone(&r, &unused, chosen));
	}
	return 0;
}
