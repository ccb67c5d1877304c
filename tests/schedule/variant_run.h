/* Compares variants of a case with the interpreter, on inputs of some extents. */
#ifndef TPAT_TESTS_VARIANT_RUN_H
#define TPAT_TESTS_VARIANT_RUN_H

#include <inttypes.h>
#include <math.h>

#include "eval/eval.h"
#include "ir/launch.h"
#include "tests/schedule/schedule_job.h"
#include "tests/schedule/shapes.h"
#include "tests/schedule/variants.h"

enum { MAX_BUFFERS = 64 };
static int passed_over; /* shapes impossible for a case's extent forms */

static int64_t evaluate(expr e, struct shapes *s)
{
	int64_t x = -1;
	if (!test_check(ir_eval_int(e, symbol_value, s, &x), __FILE__, __LINE__, "an extent of the plan has a value"))
		x = 0;
	return x;
}

/* ---- Inputs. */

static void fill_input(struct tensor *t, const char *name, uint64_t seed)
{
	int64_t n = tensor_count(t);
	bool real = type_is_float(t->type), ties = strncmp(name, "t_", 2) == 0;
	int range = ties ? 3 : real ? 2 : type_is_signed(t->type) ? 1000000 : 200;
	if (strncmp(name, "n_", 2) == 0)
		range = 6;
	if (!real && type_info(t->type)->bits <= 16 && range > 100)
		range = type_info(t->type)->bits == 8 ? 100 : 30000;
	tensor_random(t, seed, type_is_signed(t->type) || real ? -range : 0, range);
	for (int64_t i = 0; i < n && ties && real; i++) {
		uint64_t x = hash_u64(seed, (uint64_t)i);
		tensor_set_float(t, i, x % 50 == 0 ? NAN : x % 51 == 1 ? INFINITY : (double)(int64_t)(x % 7) - 3);
	}
}

static void make_inputs(struct job *j, const struct ir_program *p, struct shapes *s, struct tensor *in, uint64_t seed,
                        struct arena *a)
{
	struct err e = { 0 };
	for (int i = 0; i < p->inputs.n; i++) {
		const struct ir_buffer *b = p->inputs.at[i], *like = j->like ? j->like->inputs.at[i] : b;
		int64_t dim[IR_MAX_RANK];
		for (int k = 0; k < b->rank; k++)
			dim[k] = evaluate(b->dim[k], s);
		ck(tensor_new(&in[i], b->type, b->rank, dim, a, &e) == 0);
		fill_input(&in[i], like->name, seed + (uint64_t)i);
	}
}

/* ---- Runs. */

struct run {
	struct job *job;
	const struct variant *v;
	struct shapes *shapes;
	const struct tensor *in;
	void *memory[MAX_BUFFERS];
	bool emulated;
	struct err err;
};

static int allocate(struct run *r)
{
	const struct ir_program *p = r->v->plan->program;
	ck(p->buffers.n <= MAX_BUFFERS);
	for (int i = 0; i < p->buffers.n; i++) {
		const struct ir_buffer *b = p->buffers.at[i];
		int64_t n = evaluate(ir_size_limit(p, ir_buffer_count(p, b)), r->shapes);
		size_t bytes = (size_t)type_bytes(b->type, n);
		const struct tensor *t = b->role == IR_CONSTANT ? b->data : NULL;
		for (int k = 0; k < p->inputs.n; k++)
			if (p->inputs.at[k] == b)
				t = &r->in[k];
		if (r->emulated)
			r->memory[i] = emulator_alloc(b->name, bytes, 0);
		else if (r->job->code->dev->alloc(r->job->code->dev, &r->memory[i], bytes ? bytes : 1, &r->err) < 0)
			return r->err.code;
		if (!r->emulated && bytes)
			memset(r->memory[i], 0xa5, bytes);
		if (t && bytes && r->emulated)
			emulator_copy_in(r->memory[i], t->data, bytes);
		else if (t && bytes)
			memcpy(r->memory[i], t->data, bytes);
		if (t && r->emulated)
			emulator_mark(r->memory[i], NULL, EMULATOR_READ_ONLY | EMULATOR_INITIALISED);
	}
	return 0;
}

static bool extent(void *user, expr symbol, int64_t *value)
{
	return symbol_value(((struct run *)user)->shapes, symbol, value);
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
	struct dev *d = r->job->code->dev;
	struct dev_kernel *kernel;
	if (r->emulated)
		return emulator_launch(r->job->code->emulated, NULL, k->name, grid, block, (uint32_t)k->shared_bytes,
		                       args, e);
	TRY(d->kernel(d, &kernel, r->job->code->module, k->name, k->shared_bytes, e));
	return d->launch(d, kernel, grid, block, k->shared_bytes, args, e);
}

static int together(void *user, int threads)
{
	return ((const struct run *)user)->emulated ? emulator_together(threads) : INT32_MAX;
}

/* With random extents sums may be long: their rounding scales with the largest term. */
static struct tensor_tolerance tolerance_of(const struct run *r, const struct tensor *want)
{
	struct tensor_tolerance t = tensor_tolerance_of(want->type);
	double largest = 0;
	if (!is_form(r->job) || !type_is_float(want->type))
		return t;
	for (int64_t i = 0; i < tensor_count(want); i++)
		largest = fmax(largest, isfinite(tensor_float(want, i)) ? fabs(tensor_float(want, i)) : 0);
	t.absolute += t.relative * largest;
	return t;
}

static void compare(struct run *r, const struct tensor *want)
{
	const struct ir_program *p = r->v->plan->program;
	for (int i = 0; i < p->outputs.n; i++) {
		const struct ir_buffer *b = p->outputs.at[i];
		struct tensor got = want[i];
		struct tensor_difference d;
		size_t bytes = (size_t)tensor_bytes(&got);
		got.data = r->memory[b->id];
		int64_t missing = bytes && r->emulated ? emulator_first_unwritten(got.data, bytes) : -1;
		bool same = missing < 0 && tensor_compare(&d, &got, &want[i], tolerance_of(r, &want[i])) &&
		            d.differing == 0;
		if (test_check(same, __FILE__, __LINE__, "same as the interpreter"))
			continue;
		const struct ir_kernel *k = r->v->plan->steps.at[0]->at[0];
		printf("  %s (first kernel: %s, %s%s), %s: %s", r->v->name, k->rule, k->params,
		       k->index64 ? ", 64 bits" : "", r->emulated ? "emulator" : "C", b->name);
		for (int s = 0; s < r->shapes->n; s++)
			printf(" %s=%" PRId64, r->shapes->name[s], r->shapes->value[s]);
		if (missing >= 0)
			printf(": byte %" PRId64 " was never written\n", missing);
		else
			printf(": %" PRId64 " of %" PRId64 " differ, at %" PRId64 " got %.9g, want %.9g\n", d.differing,
			       d.count, d.worst, d.worst_got, d.worst_want);
	}
}

static void run_variant(struct job *j, const struct variant *v, struct shapes *s, const struct tensor *in,
                        const struct tensor *want, bool emulated)
{
	struct run r = { .job = j, .v = v, .shapes = s, .in = in, .emulated = emulated };
	const struct ir_launcher launcher = {
		v->plan->program, 0, extent, memory_of, tensor_map, launch, together, &r
	};
	int rc = allocate(&r);
	if (rc == 0)
		rc = ir_launch_plan(&launcher, v->plan, &r.err);
	if (test_check(rc == 0, __FILE__, __LINE__, "runs"))
		compare(&r, want);
	else
		printf("  %s: %s\n", v->name, r.err.text);
	for (int i = 0; i < v->plan->program->buffers.n; i++) {
		if (emulated)
			emulator_free(r.memory[i]);
		else
			j->code->dev->free(j->code->dev, r.memory[i]);
	}
}

static void run_shapes(struct job *j, const char *text, uint64_t seed)
{
	struct arena *a = arena_new();
	struct shapes s;
	struct tensor in[MAX_BUFFERS] = { { 0 } }, want[MAX_BUFFERS] = { { 0 } };
	const struct tensor *inputs[MAX_BUFFERS];
	const struct ir_program *p = j->variant[0].plan->program;
	struct err e = { 0 };
	read_shapes(&s, text, a);
	make_inputs(j, p, &s, in, seed, a);
	for (int i = 0; i < p->inputs.n; i++)
		inputs[i] = &in[i];
	bool runs = eval_program(p, inputs, want, NULL, a, &e) == 0;
	if (!runs && is_form(j)) { /* extents the case was not made for */
		arena_free(a);
		passed_over++;
		return;
	}
	if (test_check(runs, __FILE__, __LINE__, "can be interpreted")) {
		for (int v = 0; v < j->variants && test_failed < 40; v++) {
			if (j->as_cuda && j->code->emulated)
				run_variant(j, &j->variant[v], &s, in, want, true);
			if (j->as_c && j->code->module)
				run_variant(j, &j->variant[v], &s, in, want, false);
		}
	} else {
		printf("  %s: %s\n", j->c->name, e.text);
	}
	arena_free(a);
}

#endif
