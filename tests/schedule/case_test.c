/* Every operator's own cases: lowered, checked, run in the interpreter before and after the passes, and as generated
 * CUDA on the emulator; all must agree. `case_test [--debug-kernels] [-p K/N] [OPERATOR]`: kernels that check their
 * positions; only every Nth case, from the Kth on (from 0). */
#include <math.h>
#include <string.h>

#include "check/error_bound.h"
#include "check/recurrence.h"
#include "eval/eval.h"
#include "tests/program/op_case.h"
#include "sched/sched.h"
#include "tests/nodes/batch.h"
#include "tests/nodes/plan_run.h"
#include "tests/unit/test.h"

enum { EXTENT = 12 }; /* of every symbol: 2, 3, 4 and 6 divide it */

static bool symbol_value(void *user, expr symbol, int64_t *value)
{
	(void)user;
	(void)symbol;
	*value = EXTENT;
	return true;
}

/* Small whole numbers for integers, since they may be indices; floats on both sides of zero. Weights of a recurrence
 * are at most 1 / sqrt(terms): with larger ones rounding errors grow in each turn. */
static int draw(struct tensor *out, const struct ir_buffer *b, const struct recurrence_weight *w, uint64_t seed,
                struct arena *a, struct err *e)
{
	int64_t dim[IR_MAX_RANK];
	if (b->data) {
		*out = *b->data;
		return 0;
	}
	for (int k = 0; k < b->rank; k++)
		if (!ir_eval_int(b->dim[k], symbol_value, NULL, &dim[k]))
			return err_set(e, ERR_DIFFER, "an extent of %s is no number.", b->name);
	TRY(tensor_new(out, b->type, b->rank, dim, a, e));
	bool floats = type_is_float(b->type);
	int64_t terms;
	double most = w->terms && ir_eval_int(w->terms, symbol_value, NULL, &terms) ? 1 / sqrt((double)terms) : 2;
	tensor_random(out, seed, floats ? -most : 0, floats ? most : 1);
	return 0;
}

/* Elements may also differ as far as the program's roundings allow: -10000 in masked scores leaves few digits. */
static int same(const struct ir_program *p, const struct tensor *const *in, const struct tensor *got,
                const struct tensor *want, const char *what, struct arena *a, struct err *e)
{
	struct tensor bound[OP_MAX_OUTPUTS];
	bool bounded = false;
	for (int i = 0; i < p->outputs.n; i++) {
		struct tensor_difference d;
		struct tensor_tolerance t = tensor_tolerance_of(want[i].type);
		double largest = 0; /* a sum's rounding error is proportional to its largest terms, not to the result */
		for (int64_t k = 0; type_is_float(want[i].type) && k < tensor_count(&want[i]); k++)
			largest = fmax(largest,
			               isfinite(tensor_float(&want[i], k)) ? fabs(tensor_float(&want[i], k)) : 0);
		t.absolute += t.relative * largest;
		if (!tensor_compare(&d, &got[i], &want[i], t))
			return err_set(e, ERR_DIFFER, "%s: output %d has another type or shape.", what, i);
		if (d.differing && !bounded) {
			error_bounds(bound, NULL, p, in, a);
			bounded = true;
		}
		if (d.differing && bound[i].type == TYPE_F64 && tensor_count(&bound[i]) == d.count)
			tensor_compare_within(&d, &got[i], &want[i], t, bound[i].data);
		if (d.differing)
			return err_set(e, ERR_DIFFER,
			               "%s: %lld of %lld elements of output %d differ; element %lld is %g, not %g.",
			               what, (long long)d.differing, (long long)d.count, i, (long long)d.worst,
			               d.worst_got, d.worst_want);
	}
	return 0;
}

static bool checked; /* kernels check their positions, as with tpat build --debug-kernels */

static int run_case(const struct op_def *op, const char *text, struct arena *a, struct err *e)
{
	struct ir_program *lowered, *optimised;
	TRY(op_case_program(&lowered, op, text, a, e));
	TRY(ir_check(lowered, e));
	TRY(op_case_program(&optimised, op, text, a, e));
	TRY(ir_optimise(optimised, NULL, NULL, e));
	int n = lowered->inputs.n;
	struct tensor *value = NEWN(a, struct tensor, n + 1), out[3][OP_MAX_OUTPUTS];
	const struct tensor **in = NEWN(a, const struct tensor *, n + 1);
	const struct recurrence_weight *weight = recurrence_weights(lowered, a);
	for (int i = 0; i < n; i++) {
		const struct ir_buffer *b = lowered->inputs.at[i];
		TRY(draw(&value[i], b, &weight[b->id], (uint64_t)i + 1, a, e));
		in[i] = &value[i];
	}
	TRY(eval_program(lowered, in, out[0], NULL, a, e));
	TRY(eval_program(optimised, in, out[1], NULL, a, e));
	TRY(same(lowered, in, out[1], out[0], "after the passes", a, e));
	optimised->checked = checked;
	TRY(plan_run_emulated(sched_program(optimised, NULL, NULL), 0, in, out[2], a, e));
	return same(lowered, in, out[2], out[0], "on the emulator", a, e);
}

struct op_case {
	const struct op_def *op;
	const char *text;
};

static void check_case(void *user, int i)
{
	const struct op_case *c = (const struct op_case *)user + i;
	struct arena *a = arena_new();
	struct err e = { 0 };
	if (run_case(c->op, c->text, a, &e) < 0)
		printf("%s, case \"%s\": %s%s\n", c->op->name, c->text, e.where, e.text);
	CHECK(e.code == 0);
	arena_free(a);
}

int main(int argc, char **argv)
{
	int part = 0, parts = 1, met = 0;
	struct arena *a = arena_new();
	struct {
		VEC(struct op_case);
	} cases = { 0 };
	if (argc > 1 && strcmp(argv[1], "--debug-kernels") == 0) {
		checked = true;
		argc--;
		argv++;
	}
	if (argc > 2 && strcmp(argv[1], "-p") == 0) {
		ck(sscanf(argv[2], "%d/%d", &part, &parts) == 2 && parts > 0 && part >= 0 && part < parts);
		argc -= 2;
		argv += 2;
	}
	for (const struct op_def *const *op = op_all(); *op; op++) {
		if (argc > 1 && strcmp(argv[1], (*op)->name) != 0)
			continue;
		for (int i = 0; i < OP_MAX_CASES && (*op)->cases[i]; i++) {
			const struct op_case one = { *op, (*op)->cases[i] };
			if (met++ % parts == part)
				vec_push(a, &cases, one);
		}
	}
	batch_run(cases.n, check_case, NULL, cases.at);
	arena_free(a);
	return test_done();
}
