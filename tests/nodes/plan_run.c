/* Launches of a plan on the emulator. See plan_run.h. */
#include "tests/nodes/plan_run.h"

#include <string.h>

#include "gen/gen.h"
#include "emulator/emulator.h"

struct run {
	const struct ir_plan *plan;
	int arch;
	const struct tensor *const *inputs;
	void **memory; /* by buffer id */
	struct emulator_module *module;
	struct arena *arena;
	struct err *err;
};

static bool symbol_value(void *user, const char *name, int64_t *value)
{
	struct run *r = user;
	int input, axis;
	const struct ir_size *size = ir_size_find(r->plan->program, name);
	if (size) { /* known once it has run */
		*value = *(const int64_t *)r->memory[size->count->id];
		return true;
	}
	const struct ir_value *number = ir_value_find(r->plan->program, name);
	if (number && number->known)
		return ir_eval_int(number->known, symbol_value, r, value);
	for (int i = 0; number && i < r->plan->program->inputs.n; i++)
		if (r->plan->program->inputs.at[i] == number->buf) {
			*value = tensor_int(r->inputs[i], number->element);
			return true;
		}
	if (!ir_symbol_source(r->plan->program, name, &input, &axis))
		return false;
	*value = r->inputs[input]->dim[axis];
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
				t = r->inputs[k];
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

static int launch(struct run *r, const struct ir_kernel *k)
{
	void *args[64], *pointers[64];
	int64_t values[64], blocks;
	int32_t narrow[64];
	int n = 0;
	_Alignas(64) char map[TPAT_RT_MAX_MAPS][TPAT_RT_MAP_BYTES];
	ck(k->buffers.n + k->symbols.n + k->maps.n <= 64);
	vec_each (b, &k->buffers) {
		pointers[n] = r->memory[(*b)->id];
		args[n] = &pointers[n];
		n++;
	}
	vec_each (s, &k->symbols) {
		if (!symbol_value(r, *s, &values[n]))
			return err_set(r->err, ERR_DIFFER, "symbol %s has no source.", *s);
		narrow[n] = (int32_t)values[n];
		args[n] = k->index64 ? (void *)&values[n] : (void *)&narrow[n];
		n++;
	}
	TRY(evaluate(r, k->blocks, &blocks));
	if (blocks == 0)
		return 0;
	for (int i = 0; i < k->maps.n; i++) {
		const struct ir_tensor_map *m = &k->maps.at[i];
		struct tpat_rt_map_values v = { .element_bytes = type_info(m->buf->type)->bits / 8, .rank = m->rank,
			                        .pixels = m->pixels };
		v.from = r->memory[m->buf->id];
		for (int d = 0; d < m->rank; d++) {
			TRY(evaluate(r, m->dim[d], &v.dim[d]));
			TRY(evaluate(r, m->stride[d], &v.stride[d]));
			v.box[d] = m->box[d];
			v.first[d] = m->first[d];
			v.step[d] = m->step[d];
			if (m->count[d])
				TRY(evaluate(r, m->count[d], &v.count[d]));
		}
		emulator_tensor_map(map[i], &v);
		args[n++] = map[i];
	}
	uint32_t grid[3] = { (uint32_t)blocks, 1, 1 }, block[3] = { (uint32_t)k->threads, 1, 1 };
	return emulator_launch(r->module, NULL, k->name, grid, block, (uint32_t)k->shared_bytes, args, r->err);
}

static int run_steps(struct run *r)
{
	vec_each (step, &r->plan->steps) {
		const struct ir_kernel *chosen = NULL;
		for (int i = 0; i < (*step)->n && !chosen; i++) {
			int64_t fits = 1;
			if (r->arch && (*step)->at[i]->arch && (*step)->at[i]->arch != r->arch)
				continue;
			if ((*step)->at[i]->guard)
				TRY(evaluate(r, (*step)->at[i]->guard, &fits));
			if (fits)
				chosen = (*step)->at[i];
		}
		ck(chosen);
		TRY(launch(r, chosen));
	}
	return 0;
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
	struct run r = { plan, arch, inputs, NEWN(a, void *, plan->program->buffers.n + 1), NULL, a, e };
	struct str text = str_new(a);
	gen_cuda(&text, &plan, 1);
	struct emulator_text source = { "plan.cu", str_text(&text), ir_replaces(plan->program) };
	int rc = plan->steps.n ? emulator_build(&r.module, &source, 1, e) : 0;
	if (rc == 0)
		rc = allocate(&r);
	if (rc == 0)
		rc = run_steps(&r);
	if (rc == 0)
		rc = take_outputs(&r, outputs);
	for (int i = 0; i < plan->program->buffers.n; i++)
		emulator_free(r.memory[i]);
	if (r.module)
		emulator_unload(r.module);
	return rc;
}
