/* The kernel for the first few of rows of up to some thousands: a warp finds those of a row, each lane has one of the
 * best so far, and nothing is exchanged between warps. See select.h. */
#include "sched/order/select.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

enum { LANES = 32, WARPS = SELECT_WARP_THREADS / LANES, MOST_ITEMS = 8, LONGEST = 4096 /* row */ };

int select_warp_choices(const struct ir_stage *s, int64_t n, struct sched_choice *out)
{
	int count = 0, most = sort_key_bits(s) == 64 ? MOST_ITEMS / 2 : MOST_ITEMS; /* long keys take two registers */
	int64_t k;
	if (!ir_const_int(s->out->dim[s->axis], &k) || k < 1 || k > SELECT_WARP_KEYS || n > LONGEST)
		return 0;
	for (int items = most / 2; items <= most; items *= 2)
		if (items == most / 2 || n > LANES * items / 2)
			out[count++] = (struct sched_choice){ &sched_sort_select,
				                              { SELECT_WARP_KEYS, SELECT_WARP_THREADS, 1, items } };
	return count;
}

bool select_warp_chosen(const struct sched_choice *c)
{
	return c->param[0] == SELECT_WARP_KEYS && c->param[3] > 1;
}

static void serial(struct ir_program *p, struct ir_kernel *k, const struct ir_stage *s, expr rows)
{
	expr warps = ir_index(p->pool, WARPS), first = ir_binary(IR_MUL, ir_block(p->pool, k->blocks), warps), number;
	struct ir_block *b =
	        emit_loop(p, &k->serial, "row", first, ir_binary(IR_MIN, rows, ir_binary(IR_ADD, first, warps)),
	                  ir_index(p->pool, 1), rows, &number);
	struct sort_row row = sort_row_begin(p, b, s, number);
	emit_serial(&row, b);
}

static void add_kernel(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s,
                       const struct sched_choice *c, int width)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	struct ir_block *b = &k->body;
	expr rows = rows_along(p, s), threads = ir_index(p->pool, SELECT_WARP_THREADS);
	struct ir_template of = IR_OF(IR_TYPE(sort_key_type(s)), IR_NUMBER(c->param[3]), IR_NUMBER(WARPS));
	k->threads = SELECT_WARP_THREADS;
	k->blocks = ceil_div(p, rows, WARPS);
	const struct ir_variable *kept = emit_shared(p, b, ir_object_new(p->pool, &device_warp_kept, of, "kept"));
	expr first = ir_binary(IR_MUL, ir_block(p->pool, k->blocks), ir_index(p->pool, WARPS));
	expr warp = ir_binary(IR_FLOORDIV, ir_thread(p->pool, threads), ir_index(p->pool, LANES));
	expr number = emit_constant(p, b, "row", ir_binary(IR_ADD, first, warp), NULL);
	emit_return_if(p, b, ir_binary(IR_LE, rows, number));
	struct sort_row row = sort_row_begin(p, b, s, ir_var_of(number->var, rows));
	const struct ir_variable *keys = emit_keys(p, b, s, &row, width), *put = emit_put(p, b, s, &row, false, false);
	struct ir_call *call = emit_invoke(p, b, &device_warp_first_of_row, IR_OF(IR_NUMBER(width)));
	add_variable(p, call, kept);
	add_value(p, call, row.n);
	add_value(p, call, row.k);
	add_variable(p, call, keys);
	add_variable(p, call, put);
	serial(p, k, s, rows);
	kernel_needs(k, whole_multiple(p, row.n, width));
	kernel_finish(plan, step, k, s);
}

void select_warp_apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_step *step = step_new(plan);
	int width = sort_width(plan->program, s);
	while (width > c->param[3])
		width /= 2;
	add_kernel(plan, step, s, c, width);
	if (!step_fits_all(step))
		add_kernel(plan, step, s, c, 1);
}
