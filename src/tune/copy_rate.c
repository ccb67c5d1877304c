/* The device's memory bandwidth: copy programs, scheduled in all ways of the map rule. */
#include <string.h>

#include "sched/sched.h"
#include "tune/tune.h"

enum { REPEATS = 15, DRAWN = 1 << 18 };

/* `n` numbers: a few random ones, repeated. */
static int numbers(struct tensor *x, int64_t n, struct arena *a, struct err *e)
{
	struct tensor some = { 0 };
	TRY(tensor_new(x, TYPE_F32, 1, &n, a, e));
	some = *x;
	some.dim[0] = n < DRAWN ? n : DRAWN;
	tensor_random(&some, 1, -1, 1);
	for (int64_t at = some.dim[0]; at < n; at += DRAWN)
		memcpy((float *)x->data + at, x->data, sizeof(float) * (size_t)(n - at < DRAWN ? n - at : DRAWN));
	return 0;
}

/* Measures a copy of x scheduled by `c`; updates *best if faster. */
static int one_copy(struct dev *d, double *best, const struct tensor *x_values, const struct sched_choice *c,
                    struct tune_setup setup, struct arena *a, struct err *e)
{
	struct ir_program *p = ir_program_new(a, "copy");
	expr n = ir_index(p->pool, x_values->dim[0]);
	struct ir_buffer *x = ir_buffer_new(p, "x", TYPE_F32, 1, &n, IR_INPUT);
	struct ir_buffer *y = ir_buffer_new(p, "y", TYPE_F32, 1, &n, IR_OUTPUT);
	expr i = ir_axis(p->pool, 0, n);
	struct ir_stage *s = ir_stage_new(p, IR_MAP, y);
	s->value = ir_load(p->pool, x, &i);
	struct tune_runner *r;
	double ns, spread;
	int rc = tune_runner_new(&r, d, sched_program(p, NULL, c), &x_values, &setup, a, e);
	if (rc == 0)
		rc = tune_runner_time(r, &ns, &spread, REPEATS, e);
	if (rc == 0 && ns > 0 && tune_runner_bytes(r) / ns > *best)
		*best = tune_runner_bytes(r) / ns;
	tune_runner_free(r);
	return rc;
}

int tune_copy_rate(struct dev *d, double *bytes_per_ns, size_t bytes, struct arena *a, struct err *e)
{
	static const int widths[] = { 4, 2, 1 };
	struct tune_pool *pool = tune_pool_new(d, a);
	struct tensor x;
	int rc = numbers(&x, (int64_t)(bytes / 4), a, e);
	*bytes_per_ns = 0;
	for (size_t i = 0; rc == 0 && i < sizeof widths / sizeof *widths; i++) {
		struct sched_choice c = { sched_rule_of_maps, { widths[i] } };
		rc = one_copy(d, bytes_per_ns, &x, &c, (struct tune_setup){ .rotate = bytes * 4, .pool = pool }, a, e);
	}
	tune_pool_empty(pool);
	return rc;
}
