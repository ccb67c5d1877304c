/* Launches of a plan on the emulator. See plan_run.h. */
#include "tests/nodes/plan_run.h"

#include <string.h>

#include "gen/gen.h"
#include "emulator/emulator.h"
#include "ir/launch.h"

struct run {
	const struct ir_plan *plan;
	struct ir_inputs values; /* of symbols */
	void **memory;           /* by buffer id */
	struct emulator_module *module;
	struct arena *arena;
	struct err *err;
};

static bool symbol_value(void *user, const char *name, int64_t *value)
{
	struct run *r = user;
	const struct ir_size *size = ir_size_find(r->plan->program, name);
	if (!size)
		return ir_inputs_symbol(&r->values, name, value);
	*value = *(const int64_t *)r->memory[size->count->id]; /* known once it has run */
	return true;
}

static int evaluate(struct run *r, expr e, int64_t *out)
{
	if (!ir_eval_int(e, symbol_value, r, out))
		return err_set(r->err, ERR_DIFFER, "an extent of the plan cannot be evaluated.");
	return 0;
}

static int allocate(struct run *r)
{
	const struct ir_program *p = r->plan->program;
	for (int i = 0; i < p->buffers.n; i++) {
		const struct ir_buffer *b = p->buffers.at[i];
		int64_t n;
		struct ir_program *any = (struct ir_program *)p;
		TRY(evaluate(r, ir_size_limit(any, ir_buffer_count(any, b)), &n));
		size_t bytes = (size_t)type_bytes(b->type, n);
		r->memory[i] = emulator_alloc(b->name, bytes, 0);
		if (!r->memory[i])
			return err_set(r->err, ERR_DEVICE, "out of memory.");
		const struct tensor *t = b->role == IR_CONSTANT ? b->data : NULL;
		for (int k = 0; k < p->inputs.n; k++)
			if (p->inputs.at[k] == b)
				t = r->values.tensor[k];
		if (!t)
			continue;
		if (tensor_count(t) != n)
			return err_set(r->err, ERR_DIFFER, "%s has %lld elements, the program wants %lld.", b->name,
			               (long long)tensor_count(t), (long long)n);
		if (bytes)
			emulator_copy_in(r->memory[i], t->data, bytes);
		emulator_mark(r->memory[i], NULL, EMULATOR_READ_ONLY | EMULATOR_INITIALISED);
	}
	return 0;
}

static void *memory_of(void *user, const struct ir_buffer *b)
{
	return ((struct run *)user)->memory[b->id];
}

static int tensor_map(void *user, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	(void)user, (void)e;
	emulator_tensor_map(out, v);
	return 0;
}

static int launch(void *user, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3], void **args,
                  struct err *e)
{
	struct run *r = user;
	return emulator_launch(r->module, NULL, k->name, grid, block, (uint32_t)k->shared_bytes, args, e);
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
	struct run r = { plan, { plan->program, inputs }, NEWN(a, void *, plan->program->buffers.n + 1), NULL, a, e };
	const struct ir_launcher launcher = { plan->program, arch, symbol_value, memory_of, tensor_map, launch, &r };
	struct str text = str_new(a);
	gen_cuda(&text, &plan, 1);
	struct emulator_text source = { "plan.cu", str_text(&text), ir_replaces(plan->program) };
	int rc = plan->steps.n ? emulator_build(&r.module, &source, 1, e) : 0;
	if (rc == 0)
		rc = allocate(&r);
	if (rc == 0)
		rc = ir_launch_plan(&launcher, plan, e);
	if (rc == 0)
		rc = take_outputs(&r, outputs);
	for (int i = 0; i < plan->program->buffers.n; i++)
		emulator_free(r.memory[i]);
	if (r.module)
		emulator_unload(r.module);
	return rc;
}
