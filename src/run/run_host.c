/* Programs in the interpreter: all of a session without a device, and of another one those that compute a few numbers
 * which decide extents. The host needs these numbers anyway, before it can launch what has the extents. See
 * run_inside.h. */
#include "run/run_inside.h"

#include "eval/eval.h"

enum { FEW = 64, FEW_TERMS = 4096 }; /* elements of a tensor, terms of its sums */

static bool is_few(const expr *dim, int rank, int64_t most)
{
	int64_t count = 1, n;
	for (int k = 0; k < rank; k++) {
		if (!ir_const_int(dim[k], &n) || n > most)
			return false;
		count *= n;
		if (count > most)
			return false;
	}
	return true;
}

static bool is_few_work(const struct ir_stage *s)
{
	if (s->kind != IR_MAP && s->kind != IR_REDUCE)
		return false;
	return is_few(s->out->dim, s->out->rank, FEW) &&
	       (s->kind == IR_MAP || is_few(s->space, s->space_rank, FEW_TERMS / FEW));
}

bool run_reads(const struct ir_program *p, int input)
{
	bool reads = ir_value_is(p, p->inputs.at[input]);
	vec_each (s, &p->stages)
		reads |= ir_stage_reads(*s, p->inputs.at[input]);
	return reads;
}

bool run_is_host_work(const struct run_piece *piece)
{
	const struct ir_program *p = piece->program;
	bool needed = false;
	vec_each (v, &piece->region->outputs) {
		if ((*v)->is_output)
			return false;
		needed |= (*v)->asked;
	}
	vec_each (s, &p->stages)
		if (!is_few_work(*s))
			return false;
	for (int i = 0; i < p->inputs.n; i++)
		if (run_reads(p, i) && !is_few(p->inputs.at[i]->dim, p->inputs.at[i]->rank, FEW))
			return false;
	return needed;
}

int run_interpret(struct run_session *s, struct ir_program *p, const struct tensor *const *in,
                  struct run_value *outputs, struct err *e)
{
	struct tensor *out = NEWN(s->run, struct tensor, p->outputs.n + 1);
	TRY(eval_program(p, in, out, NULL, s->run, e));
	for (int i = 0; i < p->outputs.n; i++)
		outputs[i].tensor = out[i];
	return 0;
}
