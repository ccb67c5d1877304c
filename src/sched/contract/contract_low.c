/* Contractions whose operands are both zero up to a point of a reduced axis, which depends on the batch: of a
 * transposed convolution's taps some phases have fewer than others. Their sums begin at that point, so that what the
 * other operand has before it is neither loaded nor multiplied by zero. See contract.h. */
#include "sched/contract/contract.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"

#include <math.h>

/* The first point of reduced axis `axis` for which `test` holds, if it holds from there on, and that point depends on
 * batch axes alone. */
static expr first_that_holds(const struct contract *c, expr test, int *axis)
{
	struct ir_pool *pool = c->p->pool;
	int rank = c->s->out->rank;
	bool used[2 * IR_MAX_RANK] = { false };
	int64_t step;
	if ((test->op != IR_LT && test->op != IR_LE) || test->arg[0]->type != TYPE_INDEX)
		return NULL;
	expr room = ir_binary(IR_SUB, test->arg[1], test->arg[0]); /* the test: 0 <= room */
	room = test->op == IR_LT ? ir_binary(IR_SUB, room, ir_index(pool, 1)) : room;
	*axis = -1;
	ir_mark_axes(room, used);
	for (int k = rank; k < rank + c->s->space_rank; k++) {
		if (used[k] && *axis >= 0)
			return NULL;
		*axis = used[k] ? k - rank : *axis;
	}
	for (int g = CONTRACT_ROW; g <= CONTRACT_COLUMN; g++)
		for (int i = 0; i < c->axes[g]; i++)
			if (used[c->axis[g][i]])
				return NULL;
	expr stride = *axis < 0 ? NULL : ir_stride(room, rank + *axis), extent = *axis < 0 ? NULL : c->s->space[*axis];
	if (!stride || !ir_const_int(stride, &step) || step <= 0)
		return NULL;
	expr rest = ir_binary(IR_SUB, room, ir_binary(IR_MUL, stride, ir_axis(pool, rank + *axis, extent)));
	expr below = ir_binary(IR_SUB, ir_index(pool, step - 1), rest);
	expr low = ir_binary(IR_MAX, ir_index(pool, 0), ir_binary(IR_FLOORDIV, below, stride));
	return ir_less(low, extent) ? low : NULL;
}

/* The condition without one of its parts; null: nothing is left. */
static expr without(expr condition, expr part)
{
	if (condition == part)
		return NULL;
	if (condition->op != IR_AND)
		return condition;
	expr a = without(condition->arg[0], part), b = without(condition->arg[1], part);
	return a && b ? ir_binary(IR_AND, a, b) : a ? a : b;
}

static bool has_part(expr condition, expr part)
{
	return condition && (condition == part || (condition->op == IR_AND && (has_part(condition->arg[0], part) ||
	                                                                       has_part(condition->arg[1], part))));
}

static void leave_out(struct contract_operand *o, expr part)
{
	expr rest = without(contract_condition_of(o), part);
	o->value = rest ? ir_select(rest, o->value->arg[1], o->value->arg[2]) : o->value->arg[1];
}

/* Sums begin at the first nonzero point if both operands are zero up to a point of a reduced axis that depends on the
 * batch. */
static void find_low(struct contract *c, expr part)
{
	int axis;
	if (part->op == IR_AND) {
		find_low(c, part->arg[0]);
		find_low(c, part->arg[1]);
		return;
	}
	if (!has_part(contract_condition_of(&c->side[1]), part))
		return;
	expr low = first_that_holds(c, part, &axis);
	if (!low || c->low[axis])
		return;
	c->low[axis] = low;
	for (int side = 0; side < 2; side++)
		leave_out(&c->side[side], part);
}

void contract_find_lows(struct contract *c)
{
	expr condition = contract_condition_of(&c->side[0]);
	if (!condition || c->side[0].zero || c->side[1].zero)
		return;
	find_low(c, condition);
	for (int side = 0; side < 2; side++)
		contract_find_way(c, side);
}

static expr axis_at(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	(void)arg;
	return e->op == IR_AXIS ? ir_index(pool, *(const int64_t *)user) : NULL;
}

/* The mean of an expression of one axis over at most SAMPLES of its points, or the value of one of none. */
static double mean(const struct contract *c, expr e, const struct sched_target *t)
{
	enum { SAMPLES = 16 };
	int64_t n = 1;
	double sum = 0;
	bool used[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(e, used);
	for (int k = 0; k < c->s->out->rank; k++)
		n = used[k] ? about(c->s->out->dim[k], t) : n;
	int64_t samples = n < SAMPLES ? n : SAMPLES;
	for (int64_t k = 0; k < samples; k++) { /* about() is at least 1 */
		int64_t i = n / samples * k + n % samples * k / samples;
		sum += (double)about(ir_binary(IR_ADD, ir_copy(e->pool, e, axis_at, &i), ir_index(e->pool, 1)), t) - 1;
	}
	return sum / (double)samples;
}

double contract_about_depth(const struct contract *c, const struct sched_target *t)
{
	double depth = 1;
	for (int i = 0; i < c->s->space_rank; i++)
		depth *= (double)about(c->s->space[i], t) - (c->low[i] ? mean(c, c->low[i], t) : 0);
	return c->parts ? ceil(depth / c->parts) : depth;
}

double contract_memory_bytes(const struct contract *c, const struct sched_target *t)
{
	double batch = (double)about(c->extent[CONTRACT_BATCH], t), depth = contract_about_depth(c, t), bytes = 0;
	for (int side = 0; side < 2; side++) {
		double own = (double)about(c->extent[side ? CONTRACT_COLUMN : CONTRACT_ROW], t);
		double elements = batch * own * depth;
		expr load = contract_load_of(&c->side[side]);
		if (load)
			elements = fmin(elements, (double)about(ir_buffer_count(c->p, load->buf), t));
		bytes += elements * type_info(c->side[side].type)->bits / 8;
	}
	return bytes;
}
