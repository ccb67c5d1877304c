/* Divisors of positions that only the launch knows: the host passes their inverses, so that a kernel multiplies where
 * it would divide. A division of 32-bit integers takes a GPU about twenty instructions, a multiplication with an
 * inverse four; a kernel for open extents divides once for each axis. For 64-bit positions the divisions stay. */
#include "sched/build/finish.h"

enum { MOST_DIVISORS = 12 };

struct divisors {
	struct ir_program *p;
	struct ir_kernel *k;
};

struct known {
	const struct ir_kernel *k;
	bool all;
};

static void check_symbol(void *user, expr e)
{
	struct known *x = user;
	if (e->op != IR_SYMBOL)
		return;
	bool passed = false;
	vec_each (symbol, &x->k->symbols)
		passed |= *symbol == e;
	x->all &= passed;
}

/* True if the host knows the divisor, and it may be any number that is not negative. */
static bool is_passed(const struct ir_kernel *k, expr by)
{
	int64_t constant;
	struct known x = { k, true };
	if (by->type != TYPE_INDEX || by->varies || ir_const_int(by, &constant) || !ir_nonnegative(by))
		return false;
	ir_walk(by, check_symbol, &x);
	return x.all;
}

static void add_divisor(void *user, expr e)
{
	struct divisors *d = user;
	struct ir_pool *pool = d->p->pool;
	if ((e->op != IR_FLOORDIV && e->op != IR_MOD) || !e->arg[0]->varies || !is_passed(d->k, e->arg[1]))
		return;
	expr by = e->arg[1];
	vec_each (x, &d->k->parameters)
		if (x->divisor == by)
			return;
	if (d->k->parameters.n == MOST_DIVISORS)
		return;
	const char *name = by->op == IR_SYMBOL ? arena_printf(d->p->arena, "_%s", by->name) : "";
	expr inverse = ir_binary(IR_ADD, ir_binary(IR_FLOORDIV, ir_index(pool, (int64_t)1 << IR_INVERSE_BITS), by),
	                         ir_index(pool, 1));
	struct ir_parameter x = { .var = ir_variable_new(pool, TYPE_U64, "inverse%s", name),
		                  .value = ir_select(ir_binary(IR_LT, ir_index(pool, 0), by), inverse,
		                                     ir_index(pool, 0)),
		                  .divisor = by,
		                  .by = ir_variable_new(pool, TYPE_INDEX, "by%s", name) };
	vec_push(d->p->arena, &d->k->parameters, x);
}

static void find_divisors(struct divisors *d, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		ir_stmt_walk(&b->at[i], add_divisor, d);
		if (ir_stmt_body(&b->at[i]))
			find_divisors(d, ir_stmt_body(&b->at[i]));
	}
}

void kernel_divisors(struct ir_program *p, struct ir_kernel *k)
{
	struct divisors d = { p, k };
	find_divisors(&d, &k->body);
}
