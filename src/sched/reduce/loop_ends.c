/* Ends of a reduction's loops that depend on data: from some point of a reduced axis on, all terms are the identity.
 * Such are the samples of an adaptive grid, of which each bin has its own number. See loop_ends.h. */
#include "sched/reduce/loop_ends.h"

enum { UNROLLED = 32 };

struct find_axes {
	int from, except;
	bool found;
};

static void find_axes(void *user, expr e)
{
	struct find_axes *f = user;
	f->found |= e->op == IR_AXIS && e->i >= f->from && e->i != f->except;
}

/* True if e uses a reduced axis. */
static bool varies(const struct ir_stage *s, expr e)
{
	struct find_axes f = { s->out->rank, -1, false };
	ir_walk(e, find_axes, &f);
	return f.found;
}

struct ends {
	struct ir_program *p;
	const struct ir_stage *s;
	expr axis;      /* the reduced one */
	expr end;       /* null: none so far */
	expr invariant; /* conditions that no reduced axis changes; null: none */
};

static void add_condition(struct ends *x, expr cond)
{
	if (cond->op == IR_AND) {
		add_condition(x, cond->arg[0]);
		add_condition(x, cond->arg[1]);
		return;
	}
	if (!varies(x->s, cond)) {
		x->invariant = x->invariant ? ir_binary(IR_AND, x->invariant, cond) : cond;
		return;
	}
	if ((cond->op != IR_LT && cond->op != IR_LE) || cond->arg[0]->type != TYPE_INDEX)
		return;
	/* a(r) < b with a(r) = a(0) + r is r < b - a(0). */
	expr end = ir_binary(IR_ADD, ir_binary(IR_SUB, cond->arg[1], cond->arg[0]), x->axis);
	if (varies(x->s, end))
		return;
	if (cond->op == IR_LE)
		end = ir_binary(IR_ADD, end, ir_index(x->p->pool, 1));
	x->end = x->end ? ir_binary(IR_MIN, x->end, end) : end;
}

expr reduced_end(struct ir_program *p, const struct ir_stage *s, int k)
{
	struct ir_pool *pool = p->pool;
	struct ends x = { .p = p, .s = s, .axis = ir_axis(pool, s->out->rank + k, s->space[k]) };
	int64_t extent;
	/* Compilers unroll loops of few turns if their number is constant, so that loads do not wait for each other. */
	if (ir_const_int(s->space[k], &extent) && extent <= UNROLLED)
		return NULL;
	if (s->value->op != IR_SELECT || ir_combine_is_arg(s->combine) ||
	    s->value->arg[2] != ir_identity(pool, s->combine, s->value->type))
		return NULL;
	add_condition(&x, s->value->arg[0]);
	if (!x.end)
		return NULL;
	/* Compilers may round floats here otherwise than in the loop, where the condition is checked again. */
	if (ir_uses(x.end, IR_CAST))
		x.end = ir_binary(IR_ADD, x.end, ir_index(pool, 1));
	expr end = ir_binary(IR_MIN, x.end, s->space[k]);
	return x.invariant ? ir_select(x.invariant, end, ir_index(pool, 0)) : end;
}
