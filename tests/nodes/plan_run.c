/* Launches of a plan on the emulator or on a device. See plan_run.h. */
#include "tests/nodes/plan_run.h"

#include <string.h>

#include "base/foreign.h"
#include "emulator/emulator.h"
#include "gen/language.h"
#include "tests/nodes/batch.h"
#include "tests/nodes/execute.h"

enum { POISON = 0xa5 };

struct run {
	const struct ir_plan *plan;
	int arch;
	struct dev *dev; /* null: the emulator with all its checks */
	const struct tune_code *code;
	const struct plan_edges *edges; /* null: inputs have their data, results are not inspected here */
	struct batch_code *emulated;
	struct arena *arena;
	struct err *err;
};

/* ---- Memory. */

static int make_emulated(void **out, const struct ir_buffer *b, const struct tensor *content, size_t bytes,
                         struct err *e)
{
	*out = emulator_alloc(b->name, bytes, 0);
	if (!*out)
		return err_set(e, ERR_DEVICE, "out of memory.");
	if (!content)
		return 0;
	if (bytes)
		emulator_copy_in(*out, content->data, bytes);
	emulator_mark(*out, NULL, EMULATOR_READ_ONLY | EMULATOR_INITIALISED);
	return 0;
}

static int make(void *user, void **out, const struct ir_buffer *b, const struct tensor *content, size_t bytes,
                struct err *e)
{
	const struct run *r = user;
	struct dev *d = r->dev;
	if (!d)
		return make_emulated(out, b, content, bytes, e);
	TRY(d->alloc(d, out, bytes ? bytes : 1, e));
	if (content && bytes)
		return d->copy_in(d, *out, content->data, bytes, e);
	TRY(d->memset(d, *out, POISON, bytes ? bytes : 1, e));
	return r->edges && b->role == IR_INPUT ? r->edges->fill(r->edges->user, b, *out, bytes, e) : 0;
}

static void drop(void *user, void *at)
{
	const struct run *r = user;
	if (r->dev)
		r->dev->free(r->dev, at);
	else
		emulator_free(at);
}

static int take(const struct run *r, const struct ir_buffer *b, const void *at, struct err *e)
{
	const struct ir_program *p = r->plan->program;
	for (int i = 0; i < p->outputs.n; i++)
		if (p->outputs.at[i] == b)
			return r->edges->take(r->edges->user, i, at, e);
	return 0;
}

static int read(void *user, void *to, const struct ir_buffer *b, const void *at, size_t bytes, struct err *e)
{
	const struct run *r = user;
	if (!to)
		return take(r, b, at, e);
	if (!bytes)
		return 0;
	if (r->dev)
		return r->dev->copy_out(r->dev, to, at, bytes, e);
	int64_t missing = emulator_first_unwritten(at, bytes);
	if (missing >= 0)
		return err_set(e, ERR_DIFFER, "byte %lld of output %s was never written.", (long long)missing, b->name);
	memcpy(to, at, bytes);
	return 0;
}

static int tensor_map(void *user, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	const struct run *r = user;
	if (r->dev && r->dev->tensor_map)
		return r->dev->tensor_map(r->dev, out, v, e);
	emulator_tensor_map(out, v);
	return 0;
}

/* ---- Launches. */

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
                     void **args, struct err *e)
{
	struct dev *d = r->dev;
	struct dev_code code;
	struct dev_module *module;
	struct dev_kernel *function;
	TRY(compile_alone(r, &code, k));
	TRY(d->load(d, &module, &code, e));
	int rc = d->kernel(d, &function, module, "alone", k->shared_bytes, e);
	if (rc == 0)
		rc = dev_launch(d, function,
		                &(struct dev_launch){ grid, block, k->shared_bytes, k->early, k->together }, args, e);
	if (rc == 0)
		rc = d->synchronize(d, e);
	d->unload(d, module);
	return rc;
}

static int launch(void *user, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3], void **args,
                  struct err *e)
{
	struct run *r = user;
	if (r->dev)
		return launch_on(r, k, grid, block, args, e);
	return batch_launch(r->emulated, k->name, grid, block, (uint32_t)k->shared_bytes, args, e);
}

static int together(void *user, int threads)
{
	const struct run *r = user;
	return r->dev ? dev_together(r->dev, threads) : emulator_together(threads);
}

static int execute(struct run *r, const struct tensor *const *inputs, struct tensor *outputs)
{
	const struct machine m = { r->arch, make, read, drop, tensor_map, launch, together, r };
	return execute_plan(&m, r->plan, inputs, outputs, r->arena, r->err);
}

int plan_run_emulated(const struct ir_plan *plan, int arch, const struct tensor *const *inputs, struct tensor *outputs,
                      struct arena *a, struct err *e)
{
	struct run r = { .plan = plan, .arch = arch, .arena = a, .err = e };
	struct str text = str_new(a);
	vec_each (step, &plan->steps)
		vec_each (k, *step)
			TRY(ir_kernel_check(*k, e));
	language_cuda.print(&text, &plan, 1);
	int rc = plan->steps.n ? batch_build(&r.emulated, str_text(&text), ir_replaces(plan->program), e) : 0;
	if (rc == 0)
		rc = execute(&r, inputs, outputs);
	batch_unload(r.emulated);
	return rc;
}

int plan_run_on(struct dev *d, const struct tune_code *code, const struct ir_plan *plan,
                const struct tensor *const *inputs, struct tensor *outputs, struct arena *a, struct err *e)
{
	struct run r = { .plan = plan, .arch = d->props.arch, .dev = d, .code = code, .arena = a, .err = e };
	return execute(&r, inputs, outputs);
}

int plan_run_edges(struct dev *d, const struct tune_code *code, const struct ir_plan *plan,
                   const struct tensor *const *inputs, const struct plan_edges *edges, struct arena *a, struct err *e)
{
	struct run r = {
		.plan = plan, .arch = d->props.arch, .dev = d, .code = code, .edges = edges, .arena = a, .err = e
	};
	return execute(&r, inputs, NULL);
}

/* ---- Kernels for some extents, without a run. */

int plan_kernels(const struct ir_kernel **out, const struct ir_plan *plan, int arch, const struct tensor *const *inputs,
                 struct err *e)
{
	struct ir_inputs in = { plan->program, inputs };
	const struct ir_launcher l = {
		.program = plan->program, .arch = arch, .symbol = ir_inputs_symbol, .user = &in
	};
	for (int i = 0; i < plan->steps.n; i++)
		TRY(ir_launch_choose(&out[i], &l, plan->steps.at[i], e));
	return 0;
}

int plan_compile(const struct tune_code *code, int arch, const struct ir_plan *plan, const struct tensor *const *inputs,
                 struct arena *a, struct err *e)
{
	struct run r = { .plan = plan, .arch = arch, .code = code, .arena = a, .err = e };
	const struct ir_kernel **chosen = NEWN(a, const struct ir_kernel *, plan->steps.n + 1);
	TRY(plan_kernels(chosen, plan, arch, inputs, e));
	for (int i = 0; i < plan->steps.n; i++) {
		struct dev_code unused;
		if (chosen[i])
			TRY(compile_alone(&r, &unused, chosen[i]));
	}
	return 0;
}
