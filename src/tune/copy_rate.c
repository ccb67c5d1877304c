/* The device's best rate for moving bytes: programs that copy, scheduled in all ways that the map rule knows. */
#include "sched/sched.h"
#include "tune/tune.h"

enum { REPEATS = 15 };

static int one_copy(struct dev *d, double *best, size_t bytes, const struct sched_choice *c, struct arena *a, struct err *e)
{
	struct ir_program *p = ir_program_new(a, "copy");
	expr n = ir_index(p->pool, (int64_t)(bytes / 4));
	struct ir_buffer *x = ir_buffer_new(p, "x", TYPE_F32, 1, &n, IR_INPUT);
	struct ir_buffer *y = ir_buffer_new(p, "y", TYPE_F32, 1, &n, IR_OUTPUT);
	expr i = ir_axis(p->pool, 0, n);
	struct ir_stage *s = ir_stage_new(p, IR_MAP, y);
	s->value = ir_load(p->pool, x, &i);
	struct tensor in;
	int64_t dim = (int64_t)(bytes / 4);
	TRY(tensor_new(&in, TYPE_F32, 1, &dim, a, e));
	tensor_random(&in, 1, -1, 1);
	const struct tensor *inputs[] = { &in };
	struct tune_runner *r;
	double ns, spread;
	int rc = tune_runner_new(&r, d, sched_program(p, NULL, c), inputs, &(struct tune_setup){ .rotate = bytes * 4 }, a, e);
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
	*bytes_per_ns = 0;
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		struct arena_mark mark = arena_mark(a);
		struct sched_choice c = { sched_find("map"), { widths[i] } };
		TRY(one_copy(d, bytes_per_ns, bytes, &c, a, e));
		arena_release(a, mark);
	}
	return 0;
}
