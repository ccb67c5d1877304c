/* Compares variants of a case with the interpreter, on inputs of some extents. */
#ifndef TPAT_TESTS_VARIANT_RUN_H
#define TPAT_TESTS_VARIANT_RUN_H

#include <inttypes.h>
#include <math.h>

#include "base/foreign.h"
#include "eval/eval.h"
#include "tests/nodes/execute.h"
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
	const struct tensor *want;
	bool emulated;
};

static int make(void *user, void **out, const struct ir_buffer *b, const struct tensor *content, size_t bytes,
                struct err *e)
{
	const struct run *r = user;
	struct dev *d = r->job->code->dev;
	if (r->emulated) {
		*out = emulator_alloc(b->name, bytes, 0);
		if (content && bytes)
			emulator_copy_in(*out, content->data, bytes);
		if (content)
			emulator_mark(*out, NULL, EMULATOR_READ_ONLY | EMULATOR_INITIALISED);
		return 0;
	}
	TRY(d->alloc(d, out, bytes ? bytes : 1, e));
	memset(*out, 0xa5, bytes);
	if (content && bytes)
		memcpy(*out, content->data, bytes);
	return 0;
}

static void drop(void *user, void *at)
{
	const struct run *r = user;
	if (r->emulated)
		emulator_free(at);
	else
		r->job->code->dev->free(r->job->code->dev, at);
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

/* Compares an output where it is. */
static int compare(void *user, void *to, const struct ir_buffer *b, const void *at, size_t bytes, struct err *e)
{
	const struct run *r = user;
	const struct ir_program *p = r->v->plan->program;
	int i = 0;
	(void)e;
	if (to) { /* a size found at run time */
		memcpy(to, at, bytes);
		return 0;
	}
	while (p->outputs.at[i] != b)
		i++;
	struct tensor got = r->want[i];
	struct tensor_difference d;
	bytes = (size_t)tensor_bytes(&got);
	got.data = drop_const(at);
	int64_t missing = bytes && r->emulated ? emulator_first_unwritten(at, bytes) : -1;
	bool same =
	        missing < 0 && tensor_compare(&d, &got, &r->want[i], tolerance_of(r, &r->want[i])) && d.differing == 0;
	if (test_check(same, __FILE__, __LINE__, "same as the interpreter"))
		return 0;
	const struct ir_kernel *k = r->v->plan->steps.at[0]->at[0];
	printf("  %s (first kernel: %s, %s%s), %s: %s", r->v->name, k->rule, k->params, k->index64 ? ", 64 bits" : "",
	       r->emulated ? "emulator" : "C", b->name);
	for (int s = 0; s < r->shapes->n; s++)
		printf(" %s=%" PRId64, r->shapes->name[s], r->shapes->value[s]);
	if (missing >= 0)
		printf(": byte %" PRId64 " was never written\n", missing);
	else
		printf(": %" PRId64 " of %" PRId64 " differ, at %" PRId64 " got %.9g, want %.9g\n", d.differing,
		       d.count, d.worst, d.worst_got, d.worst_want);
	return 0;
}

static void run_variant(struct job *j, const struct variant *v, struct shapes *s, const struct tensor *const *in,
                        const struct tensor *want, bool emulated, struct arena *a)
{
	struct run r = { .job = j, .v = v, .shapes = s, .want = want, .emulated = emulated };
	const struct machine m = { 0, make, compare, drop, tensor_map, launch, together, &r };
	struct err e = { 0 };
	if (!test_check(execute_plan(&m, v->plan, in, NULL, a, &e) == 0, __FILE__, __LINE__, "runs"))
		printf("  %s: %s\n", v->name, e.text);
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
				run_variant(j, &j->variant[v], &s, inputs, want, true, a);
			if (j->as_c && j->code->module)
				run_variant(j, &j->variant[v], &s, inputs, want, false, a);
		}
	} else {
		printf("  %s: %s\n", j->c->name, e.text);
	}
	arena_free(a);
}

#endif
