/* A plan on a device: its code, and launches. See tune.h. */
#include "tune/runner_inside.h"

#include <string.h>

#include "gen/gen.h"

enum { MAX_ARGS = 128 };

static bool symbol_value(void *user, const char *name, int64_t *value)
{
	const struct tune_runner *r = user;
	int input, axis;
	if (!ir_symbol_source(r->plan->program, name, &input, &axis))
		return false;
	*value = r->inputs[input]->dim[axis];
	return true;
}

int runner_evaluate(struct tune_runner *r, expr x, int64_t *out, struct err *e)
{
	if (!ir_eval_int(ir_size_limit(r->plan->program, x), symbol_value, r, out))
		return err_set(e, ERR_MODEL, "Program %s: an extent cannot be computed from the inputs' shapes.",
		               r->plan->program->name);
	return 0;
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
	struct dev_source source = { arena_printf(r->arena, "%s.%s", name, code->is_c ? "c" : "cu"), str_text(&text), NULL, false };
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
				TRY(runner_evaluate(r, k->guard, &fits, e));
			if (!k->guard || fits)
				chosen = k;
		}
		if (!chosen)
			return err_set(e, ERR_MODEL, "Program %s: no kernel fits these extents.", r->plan->program->name);
		TRY(runner_evaluate(r, chosen->blocks, &blocks, e));
		if (!blocks)
			continue;
		struct runner_step s = {
			.kernel = chosen,
			.grid = { (uint32_t)blocks, 1, 1 },
			.block = { (uint32_t)chosen->threads, 1, 1 },
		};
		vec_push(r->arena, &r->steps, s);
	}
	return 0;
}

/* Each kernel that runs as a text of its own, so that plans that share it share its code. */
static int code_of_step(struct dev_code *out, struct tune_runner *r, const struct runner_step *s,
                        const struct tune_code *code, struct err *e)
{
	struct ir_kernel *kernel = (struct ir_kernel *)s->kernel;
	struct ir_step only = { 0 }, *step = &only;
	struct ir_plan plan = { .program = r->plan->program };
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

int tune_runner_new(struct tune_runner **out, struct dev *d, const struct ir_plan *plan, const struct tensor *const *inputs,
                    const struct tune_setup *setup, struct arena *a, struct err *e)
{
	struct tune_runner *r = *out = NEW(a, struct tune_runner);
	*r = (struct tune_runner){ .plan = plan, .dev = d, .inputs = inputs, .arena = a, .copies = 1, .pool = setup->pool };
	TRY(runner_measure_buffers(r, setup->rotate, e));
	TRY(choose_kernels(r, e));
	TRY(load_code(r, setup->code, e));
	return runner_allocate(r, e);
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

/* ---- Runs. */

static int launch(struct tune_runner *r, const struct runner_step *s, int copy, struct err *e)
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
		pointer[n] = runner_memory(r, copy, r->plan->program->buffers.at[(*b)->id]);
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
		struct tpat_rt_map_values v = { .element_bytes = type_info(m->buf->type)->bits / 8, .rank = m->rank,
			                        .pixels = m->pixels };
		v.from = runner_memory(r, copy, r->plan->program->buffers.at[m->buf->id]);
		for (int d = 0; d < m->rank; d++) {
			TRY(runner_evaluate(r, m->dim[d], &v.dim[d], e));
			TRY(runner_evaluate(r, m->stride[d], &v.stride[d], e));
			v.box[d] = m->box[d];
			v.first[d] = m->first[d];
			v.step[d] = m->step[d];
			if (m->count[d])
				TRY(runner_evaluate(r, m->count[d], &v.count[d], e));
		}
		if (r->dev->tensor_map)
			TRY(r->dev->tensor_map(r->dev, map[i], &v, e));
		args[n++] = map[i];
	}
	bool early = k->early && r->dev->launch_early;
	return (early ? r->dev->launch_early : r->dev->launch)(r->dev, s->function, s->grid, s->block, k->shared_bytes, args, e);
}

int runner_run_once(struct tune_runner *r, int copy, struct err *e)
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
			TRY(d->memset(d, runner_memory(r, 0, *b), 0xa5, r->bytes[(*b)->id], e));
	TRY(runner_run_once(r, 0, e));
	for (int i = 0; i < p->outputs.n; i++) {
		const struct ir_buffer *b = p->outputs.at[i];
		int64_t dim[IR_MAX_RANK];
		for (int k = 0; k < b->rank; k++)
			TRY(runner_evaluate(r, b->dim[k], &dim[k], e));
		if (!is_like(&outputs[i], b, dim))
			TRY(tensor_new(&outputs[i], b->type, b->rank, dim, a, e));
		if (r->bytes[b->id])
			TRY(d->copy_out(d, outputs[i].data, runner_memory(r, 0, b), r->bytes[b->id], e));
	}
	return d->synchronize(d, e);
}
