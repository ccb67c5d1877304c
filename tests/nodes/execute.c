/* One run of a plan. See execute.h. */
#include "tests/nodes/execute.h"

struct run {
	const struct machine *m;
	const struct ir_plan *plan;
	struct ir_inputs inputs; /* determine the symbols */
	void **memory;           /* by buffer id */
	struct err *err;
};

static bool symbol_value(void *user, expr symbol, int64_t *value)
{
	return ir_inputs_symbol(&((struct run *)user)->inputs, symbol, value);
}

static int read_count(void *user, int64_t *value, const struct ir_buffer *count, struct err *e)
{
	const struct run *r = user;
	return r->m->read(r->m->user, value, count, r->memory[count->id], sizeof *value, e);
}

static void *memory_of(void *user, const struct ir_buffer *b)
{
	return ((struct run *)user)->memory[b->id];
}

static int tensor_map(void *user, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	const struct machine *m = ((const struct run *)user)->m;
	return m->tensor_map(m->user, out, v, e);
}

static int launch(void *user, const struct ir_kernel *k, const uint32_t grid[3], const uint32_t block[3], void **args,
                  struct err *e)
{
	const struct machine *m = ((const struct run *)user)->m;
	return m->launch(m->user, k, grid, block, args, e);
}

static int together(void *user, int threads)
{
	const struct machine *m = ((const struct run *)user)->m;
	return m->together(m->user, threads);
}

static int make(const struct run *r, const struct ir_launcher *l)
{
	const struct ir_program *p = r->plan->program;
	for (int i = 0; i < p->buffers.n; i++) {
		const struct ir_buffer *b = p->buffers.at[i];
		const struct tensor *t = ir_buffer_content(p, r->inputs.tensor, b);
		size_t bytes;
		TRY(ir_buffer_bytes(&bytes, l, b, r->err));
		t = t && t->data ? t : NULL;
		if (t && tensor_bytes(t) != (int64_t)bytes)
			return err_set(r->err, ERR_MODEL, "%s has %lld bytes, but the program needs %zu.", b->name,
			               (long long)tensor_bytes(t), bytes);
		TRY(r->m->make(r->m->user, &r->memory[i], b, t, bytes, r->err));
	}
	return 0;
}

/* Without a tensor: inspects the output where it is. */
static int read(struct run *r, const struct ir_buffer *b, struct tensor *out, struct arena *a)
{
	int64_t dim[IR_MAX_RANK], n = 1;
	TRY(ir_output_extents(dim, b, &(struct ir_found){ r->inputs, read_count, r }, r->err));
	for (int k = 0; k < b->rank; k++)
		n *= dim[k];
	if (out) /* the caller's may be uninitialised */
		TRY(tensor_new(out, b->type, b->rank, dim, a, r->err));
	return r->m->read(r->m->user, out ? out->data : NULL, b, r->memory[b->id], (size_t)type_bytes(b->type, n),
	                  r->err);
}

/* Launches the chosen kernels of all steps, in order. */
static int launch_steps(const struct ir_launcher *l, const struct ir_plan *plan, struct err *e)
{
	vec_each (step, &plan->steps) {
		const struct ir_kernel *k;
		TRY(ir_launch_choose(&k, l, *step, e));
		if (k)
			TRY(ir_launch_kernel(l, k, e));
	}
	return 0;
}

static int run(struct run *r, struct tensor *outputs, struct arena *a)
{
	const struct ir_program *p = r->plan->program;
	const struct ir_launcher l = { r->plan->program, r->m->arch, symbol_value, memory_of,
		                       tensor_map,       launch,     together,     r };
	TRY(make(r, &l));
	TRY(launch_steps(&l, r->plan, r->err));
	for (int i = 0; i < p->outputs.n; i++)
		TRY(read(r, p->outputs.at[i], outputs ? &outputs[i] : NULL, a));
	return 0;
}

int execute_plan(const struct machine *m, const struct ir_plan *plan, const struct tensor *const *inputs,
                 struct tensor *outputs, struct arena *a, struct err *e)
{
	const struct ir_program *p = plan->program;
	struct run r = { m, plan, { p, inputs }, NEWN(a, void *, p->buffers.n + 1), e };
	int rc = run(&r, outputs, a);
	for (int i = 0; i < p->buffers.n; i++)
		m->drop(m->user, r.memory[i]);
	return rc;
}
