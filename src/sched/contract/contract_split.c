/* Contractions over an axis that the operands share only in part: one reads it by its quotient, the other by its
 * remainder or as it is. Examples are the channels m of a grouped convolution (images: floordiv(m, M), weights: m) and
 * the positions o of a transposed one (images: floordiv(o + b, s), weights: mod(o + b, s)). Split into quotient and
 * remainder, such an axis is one of the batch and one of the rows, or one of the rows and one of the columns. */
#include "sched/contract/contract.h"
#include "sched/build/axes.h"

/* An axis k of the result that is split: k = by * quotient + remainder - before. */
struct part {
	int64_t by;       /* 0: not split */
	expr ahead;       /* the divisions are of k + ahead */
	bool interleaved; /* the remainder's axis comes before the quotient's */
	expr extent[2];   /* quotient, remainder */
	expr before;
	bool exact; /* all pairs of a quotient and a remainder are elements */
	int at[2];  /* the new axes' numbers */
};

struct job {
	struct ir_program *p;
	const struct ir_stage *s;
	struct part part[IR_MAX_RANK];
	struct {
		VEC(expr);
	} what, with;
};

static expr number(const struct job *j, int64_t x)
{
	return ir_index(j->p->pool, x);
}

/* If e divides axis k plus an invariant term by a constant, returns k and the rest; otherwise -1. */
static int divided_axis(const struct job *j, expr e, int64_t *by, expr *ahead)
{
	bool used[2 * IR_MAX_RANK] = { false };
	int axis = -1, n = 0;
	if ((e->op != IR_FLOORDIV && e->op != IR_MOD) || e->type != TYPE_INDEX || !ir_const_int(e->arg[1], by) ||
	    *by < 2)
		return -1;
	ir_mark_axes(e->arg[0], used);
	for (int k = 0; k < 2 * IR_MAX_RANK; k++) {
		axis = used[k] ? k : axis;
		n += used[k];
	}
	if (n != 1 || axis >= j->s->out->rank)
		return -1;
	*ahead = ir_binary(IR_SUB, e->arg[0], ir_axis(j->p->pool, axis, j->s->out->dim[axis]));
	return (*ahead)->varies ? -1 : axis;
}

static void find_part(void *user, expr e)
{
	struct job *j = user;
	int64_t by;
	expr ahead;
	int axis = divided_axis(j, e, &by, &ahead);
	if (axis >= 0 && !j->part[axis].by)
		j->part[axis] = (struct part){ .by = by, .ahead = ahead };
}

static void number_axes(struct job *j)
{
	int n = 0;
	for (int k = 0; k < j->s->out->rank; k++) {
		struct part *part = &j->part[k];
		part->at[0] = n + (part->by && part->interleaved);
		part->at[1] = n + !part->interleaved;
		n += part->by ? 2 : 1;
	}
}

static expr axis_of(const struct job *j, int k, int remainder)
{
	const struct part *part = &j->part[k];
	expr extent = part->by ? part->extent[remainder] : j->s->out->dim[k];
	return ir_axis(j->p->pool, part->at[remainder], extent);
}

static expr own_of(const struct job *j, int k)
{
	const struct part *part = &j->part[k];
	if (!part->by)
		return axis_of(j, k, 0);
	expr first = ir_binary(IR_MUL, axis_of(j, k, 0), number(j, part->by));
	return ir_binary(IR_SUB, ir_binary(IR_ADD, first, axis_of(j, k, 1)), part->before);
}

static void push(struct job *j, expr what, expr with)
{
	vec_push(j->p->arena, &j->what, what);
	vec_push(j->p->arena, &j->with, with);
}

/* Lists what each axis and each division becomes. */
static void find_substitute(void *user, expr e)
{
	struct job *j = user;
	int rank = j->s->out->rank, split = 0;
	int64_t by;
	expr ahead;
	for (int k = 0; k < rank; k++)
		split += j->part[k].by != 0;
	if (e->op == IR_AXIS) {
		push(j, e, e->i < rank ? own_of(j, (int)e->i) : ir_axis(j->p->pool, (int)e->i + split, e->arg[0]));
		return;
	}
	int axis = divided_axis(j, e, &by, &ahead);
	if (axis < 0 || j->part[axis].by != by || j->part[axis].ahead != ahead)
		return;
	if (e->op == IR_MOD)
		push(j, e, axis_of(j, axis, 1));
	else
		push(j, e, ir_binary(IR_ADD, axis_of(j, axis, 0), ir_binary(IR_FLOORDIV, ahead, number(j, by))));
}

/* The stage over the split axes, which no program has: its buffer stands for the axes alone. */
static struct ir_stage *build(struct job *j)
{
	const struct ir_stage *s = j->s;
	struct ir_stage *made = NEW(j->p->arena, struct ir_stage);
	struct ir_buffer *out = NEW(j->p->arena, struct ir_buffer);
	*out = *s->out;
	*made = *s;
	made->out = out;
	out->rank = 0;
	number_axes(j);
	for (int k = 0; k < s->out->rank; k++) {
		const struct part *part = &j->part[k];
		if (!part->by) {
			out->dim[out->rank++] = s->out->dim[k];
			continue;
		}
		out->dim[part->at[0]] = part->extent[0];
		out->dim[part->at[1]] = part->extent[1];
		out->rank += 2;
	}
	j->what.n = j->with.n = 0;
	ir_walk(s->value, find_substitute, j);
	made->value = substitute(&(struct substitution){ j->what.at, j->with.at, j->what.n }, s->value);
	return made;
}

static void use_both(const bool *used, const struct part *part, bool *quotient, bool *remainder)
{
	*quotient = used[part->at[0]];
	*remainder = used[part->at[1]];
}

/* bool over the new axes: the pair is an element of axis k. */
static expr inside(const struct job *j, int k)
{
	expr own = own_of(j, k);
	return ir_binary(IR_AND, ir_binary(IR_LE, number(j, 0), own), ir_binary(IR_LT, own, j->s->out->dim[k]));
}

/* True if pairs that are not elements read nothing outside of the operands: an index has one of both, and a condition
 * with both tests the pair, too. */
static bool guard_operands(const struct job *j, struct contract *c)
{
	for (int k = 0; k < j->s->out->rank; k++) {
		const struct part *part = &j->part[k];
		if (!part->by || part->exact)
			continue;
		for (int side = 0; side < 2; side++) {
			struct contract_operand *o = &c->side[side];
			bool index[2 * IR_MAX_RANK] = { false }, tested[2 * IR_MAX_RANK] = { false }, both[2];
			expr condition = contract_condition_of(o);
			ir_mark_axes(condition ? o->value->arg[1] : o->value, index);
			if (condition) {
				ir_mark_axes(o->value->arg[2], index);
				ir_mark_axes(condition, tested);
			}
			if (o->zero)
				ir_mark_axes(o->zero, index);
			use_both(index, part, &both[0], &both[1]);
			if (both[0] && both[1])
				return false;
			use_both(tested, part, &both[0], &both[1]);
			if (both[0] && both[1])
				o->value = ir_select(ir_binary(IR_AND, inside(j, k), condition), o->value->arg[1],
				                     o->value->arg[2]);
			contract_find_way(c, side);
		}
	}
	return true;
}

bool contract_match_split(struct contract *c, struct ir_program *p, const struct ir_stage *s)
{
	struct job j = { .p = p, .s = s };
	bool any = false, again = false;
	int rank = s->out->rank;
	ir_walk(s->value, find_part, &j);
	for (int k = 0; k < s->out->rank; k++) {
		struct part *part = &j.part[k];
		if (!part->by)
			continue;
		any = true;
		rank++;
		part->before = ir_binary(IR_MOD, part->ahead, number(&j, part->by));
		expr room = ir_binary(IR_ADD, s->out->dim[k], part->before);
		part->extent[0] =
		        ir_binary(IR_FLOORDIV, ir_binary(IR_ADD, room, number(&j, part->by - 1)), number(&j, part->by));
		part->extent[1] = number(&j, part->by);
		part->exact = ir_is_int(part->before, 0) &&
		              ir_is_int(ir_binary(IR_MOD, s->out->dim[k], number(&j, part->by)), 0);
	}
	if (!any || rank > IR_MAX_RANK)
		return false;
	struct ir_stage *made = build(&j);
	if (!contract_match_over(c, p, made))
		return false;
	for (int k = 0; k < s->out->rank; k++) {
		bool used[2][2 * IR_MAX_RANK] = { { false } }, both[2][2];
		struct part *part = &j.part[k];
		if (!part->by)
			continue;
		for (int side = 0; side < 2; side++) {
			ir_mark_axes(c->side[side].value, used[side]);
			use_both(used[side], part, &both[side][0], &both[side][1]);
		}
		part->interleaved = both[0][0] != both[1][0] && both[0][1] != both[1][1] && both[0][0] != both[0][1];
		again |= part->interleaved;
	}
	if (again && !contract_match_over(c, p, build(&j)))
		return false;
	contract_find_lows(c);
	c->whole = s;
	c->inside = ir_int(p->pool, TYPE_BOOL, 1);
	for (int k = 0; k < s->out->rank; k++) {
		c->own[k] = own_of(&j, k);
		if (j.part[k].by && !j.part[k].exact)
			c->inside = ir_binary(IR_AND, c->inside, inside(&j, k));
	}
	return guard_operands(&j, c);
}
