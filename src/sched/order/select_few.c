/* The kernel for the first few of short rows: a thread goes over a row and keeps its best elements in registers, so
 * that nothing is exchanged. Neighbouring threads have neighbouring rows. See select.h. */
#include "sched/order/select.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

enum { MOST = 8 /* results of a row */, LONGEST = 1024 /* row */ };

bool select_few_fits(const struct ir_stage *s)
{
	int64_t n, k;
	return ir_const_int(s->space[0], &n) && ir_const_int(s->out->dim[s->axis], &k) && k >= 1 && k <= MOST &&
	       k <= n && n <= LONGEST;
}

bool select_few_chosen(const struct sched_choice *c)
{
	return c->param[3] == 1;
}

void select_few_apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	struct ir_block *b = &k->body, *serial = &k->serial;
	expr rows = rows_along(p, s), threads = ir_index(p->pool, SELECT_FEW_THREADS);
	k->threads = SELECT_FEW_THREADS;
	k->blocks = ceil_div(p, rows, SELECT_FEW_THREADS);
	expr first = ir_binary(IR_MUL, ir_block(p->pool, k->blocks), threads);
	expr number = ir_binary(IR_ADD, first, ir_thread(p->pool, threads));
	number = emit_constant(p, b, "row", number, NULL);
	emit_return_if(p, b, ir_binary(IR_LE, rows, number));
	struct sort_row row = sort_row_begin(p, b, s, ir_var_of(number->var, rows));
	const struct ir_variable *key = emit_key(p, b, s, &row), *put = emit_put(p, b, s, &row, false, false);
	struct ir_call *call =
	        emit_invoke(p, b, &device_first_of_row, IR_OF(IR_NUMBER(c->param[0]), IR_TYPE(sort_key_type(s))));
	add_value(p, call, row.n);
	add_variable(p, call, key);
	add_variable(p, call, put);

	expr end = ir_binary(IR_MIN, rows, ir_binary(IR_ADD, first, threads));
	serial = emit_loop(p, serial, "row", first, end, ir_index(p->pool, 1), rows, &number);
	row = sort_row_begin(p, serial, s, number);
	emit_serial(&row, serial);
	kernel_finish(plan, step, k, s);
}
