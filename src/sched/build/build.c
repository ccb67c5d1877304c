/* Translates a program's expressions to kernel expressions: axes, positions, loads; and counts elements. See axes.h,
 * extents.h. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <string.h>

#include "ir/axis_names.h"

expr ceil_div(struct ir_program *p, expr a, int b)
{
	return ir_binary(IR_FLOORDIV, ir_binary(IR_ADD, a, ir_index(p->pool, b - 1)), ir_index(p->pool, b));
}

expr declare_element(struct ir_program *p, struct ir_kernel *k, expr count, int threads, int width)
{
	k->threads = threads;
	k->blocks = ceil_div(p, count, threads * width);
	expr block = ir_block(p->pool, k->blocks);
	expr thread = ir_thread(p->pool, ir_index(p->pool, threads));
	expr first = ir_binary(IR_ADD, ir_binary(IR_MUL, block, ir_index(p->pool, threads * width)),
	                       ir_binary(IR_MUL, thread, ir_index(p->pool, width)));
	first = emit_constant(p, &k->body, "element", first, NULL);
	emit_return_if(p, &k->body, ir_binary(IR_LE, count, first));
	/* From here on it is known to be in range. */
	return ir_var_multiple(first->var, count, width);
}

expr first_within(struct ir_program *p, struct ir_kernel *k, expr extent, int several, expr n, const char *name)
{
	expr many = ir_index(p->pool, several), first = ir_binary(IR_MUL, n, many);
	expr last = ir_binary(IR_SUB, extent, many);
	if (several == 1 || divides(extent, several))
		return first;
	kernel_needs(k, ir_binary(IR_LE, many, extent));
	return emit_constant(p, &k->body, name, ir_binary(IR_MIN, first, last),
	                     ir_binary(IR_ADD, last, ir_index(p->pool, 1)));
}

/* ---- From a stage's expressions to a kernel's. */

struct kernel_job {
	struct ir_program *p;
	const struct axes *a;
	expr unknown; /* stands for axes without a value; null: not needed yet */
	bool met;     /* the result depends on one */
};

/* An axis without a value may occur in an index if the position does not depend on it, as with a stride of 0. */
static expr axis_value(struct kernel_job *j, expr e)
{
	if (j->a->value && j->a->value[e->i])
		return j->a->value[e->i];
	if (!j->unknown)
		j->unknown = ir_var_of(ir_variable_new(j->p->pool, TYPE_INDEX, "unknown"), NULL);
	return j->unknown;
}

static void find_unknown(void *user, expr e)
{
	struct kernel_job *j = user;
	j->met |= e == j->unknown;
}

static expr kernel_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct kernel_job *j = user;
	if (e->op == IR_AXIS)
		return axis_value(j, e);
	if (e->op == IR_ACC) {
		ck(j->a->acc);
		return j->a->acc;
	}
	if (e->op != IR_LOAD)
		return NULL;
	expr flat = ir_flat(pool, e->buf, e->arg), at = NULL;
	expr own = j->a->load ? j->a->load(j->a->user, e, flat) : NULL;
	if (own)
		return own;
	if (j->a->same) {
		expr difference = ir_binary(IR_SUB, flat, j->a->same);
		if (!difference->varies)
			at = ir_binary(IR_ADD, j->a->same_as, difference);
	}
	if (!at) /* the operands are copied already; indices may contain loads, so do not copy again */
		at = ir_flat(pool, e->buf, arg);
	return ir_load(pool, flat_view(j->p, e->buf), &at);
}

expr to_kernel(struct ir_program *p, expr e, const struct axes *a)
{
	struct kernel_job j = { p, a, NULL, false };
	expr x = ir_copy(p->pool, e, kernel_leaf, &j);
	if (j.unknown)
		ir_walk(x, find_unknown, &j);
	ck(!j.met);
	return x;
}

static expr substitute_in(const struct substitution *s, expr e, expr *done)
{
	expr arg[IR_MAX_RANK];
	for (int i = 0; i < s->n; i++)
		if (s->what[i] == e)
			return s->with[i];
	if (e->n == 0 || e->op == IR_AXIS || e->op == IR_VAR || done[e->id])
		return done[e->id] ? done[e->id] : e;
	for (int i = 0; i < e->n; i++)
		arg[i] = substitute_in(s, e->arg[i], done);
	return done[e->id] = e->op == IR_LOAD ? ir_load(e->pool, e->buf, arg) : ir_rebuild(e, arg);
}

expr substitute(const struct substitution *s, expr e)
{
	struct arena *scratch = arena_new();
	expr x = substitute_in(s, e, NEWN(scratch, expr, e->id + 1));
	arena_free(scratch);
	return x;
}

static void widen(void *user, expr e)
{
	int *bits = user;
	if (e->op == IR_LOAD && type_info(e->type)->bits > *bits)
		*bits = type_info(e->type)->bits;
}

int widest_load(expr e)
{
	int bits = 0;
	ir_walk(e, widen, &bits);
	return bits;
}

/* a / extent or its rest. An extent of few possible numbers, such as the taps of a transposed convolution's phase, is
 * compared with them: threads divide by a number in a few instructions, by a variable in more than thirty. */
static expr by_extent(enum ir_op op, expr a, expr extent)
{
	enum { FEW = 4 };
	struct ir_pool *pool = a->pool;
	expr low = ir_lower_bound(extent), high = ir_upper_bound(extent);
	int64_t least, most;
	if (extent->op == IR_CONST_INT || !low || !high || !ir_const_int(low, &least) || !ir_const_int(high, &most) ||
	    least < 1 || most > FEW)
		return ir_binary(op, a, extent);
	expr x = ir_binary(op, a, ir_index(pool, most));
	for (int64_t i = most - 1; i >= least; i--) {
		expr is = ir_binary(IR_EQ, extent, ir_index(pool, i));
		x = ir_select(is, ir_binary(op, a, ir_index(pool, i)), x);
	}
	return x;
}

void declare_axes(struct ir_program *p, struct ir_block *b, expr n, int rank, const expr *extent,
                  const char *const *names, const bool *used, expr *value)
{
	expr rest = n, by = ir_index(p->pool, 1); /* n over `by` is left of the axes so far: one division for unused
	                                             ones */
	for (int k = rank - 1; k >= 0; k--) {
		bool first = true; /* no axis before this one is longer than 1 */
		for (int q = 0; q < k; q++)
			first &= ir_is_int(extent[q], 1);
		value[k] = NULL;
		if (ir_is_int(extent[k], 1)) {
			value[k] = ir_index(p->pool, 0);
			continue;
		}
		if (used[k]) {
			rest = by_extent(IR_FLOORDIV, rest, by);
			by = ir_index(p->pool, 1);
			expr x = first ? rest : by_extent(IR_MOD, rest, extent[k]);
			value[k] = emit_declare(p, b, names[k], x, extent[k]);
			if (value[k]->op == IR_VAR && value[k] != x)
				value[k] = ir_var_multiple(value[k]->var, extent[k], ir_multiple(x));
		}
		by = ir_binary(IR_MUL, by, extent[k]);
	}
}

int other_axes(const struct ir_stage *s, const bool *used, expr *dim, const char **names, bool *others)
{
	int n = 0;
	for (int k = 0; k < s->out->rank; k++) {
		if (k == s->axis)
			continue;
		names[n] = ir_axis_names[0][k];
		others[n] = used[k];
		dim[n++] = s->out->dim[k];
	}
	return n;
}

/* ---- Counts. */

expr out_count(const struct ir_program *p, const struct ir_stage *s)
{
	return ir_buffer_count(p, s->out);
}

expr space_count(const struct ir_program *p, const struct ir_stage *s)
{
	bool own = s->kind == IR_SCATTER || s->kind == IR_COMPACT;
	expr n = own ? ir_index(p->pool, 1) : out_count(p, s);
	for (int k = 0; k < s->space_rank; k++)
		n = ir_binary(IR_MUL, n, s->space[k]);
	return n;
}

expr out_extents(const struct ir_program *p, const struct ir_stage *s, int from, int to)
{
	expr n = ir_index(p->pool, 1);
	for (int k = from; k < to; k++)
		n = ir_binary(IR_MUL, n, s->out->dim[k]);
	return n;
}

int last_long_axis(expr const *extent, int rank)
{
	int last = rank - 1;
	while (last > 0 && ir_is_int(extent[last], 1))
		last--;
	return last;
}

expr rows_along(const struct ir_program *p, const struct ir_stage *s)
{
	return ir_binary(IR_MUL, out_extents(p, s, 0, s->axis), out_extents(p, s, s->axis + 1, s->out->rank));
}
