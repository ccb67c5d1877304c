/* The number of turns of a loop that counts. See loop_trip.h. The condition at the end of turn t is derived as an
 * expression in t, through the body's maps; comparisons that are linear in t are solved for it. */
#include "ops/onnx/loop_trip.h"

#include <math.h>

enum {
	DEEPEST = 32, /* stages that are followed: states may depend on each other in a circle */
	LARGEST_STEP = 1 << 20,
};

static expr of_buffer(const struct loop_trip *t, const struct ir_buffer *b, int depth);

static bool is_single(const struct loop_trip *t, const struct ir_buffer *b)
{
	return ir_is_int(ir_buffer_count(t->l->program, b), 1);
}

struct place {
	const struct loop_trip *trip;
	int depth;
};

static expr of_load(void *user, expr load)
{
	const struct place *p = user;

	return is_single(p->trip, load->buf) ? of_buffer(p->trip, load->buf, p->depth) : NULL;
}

/* An element as an integer of type index, over the loop's turn and symbols; null when it is not known. */
static expr of_expr(const struct loop_trip *t, expr e, int depth)
{
	return ir_integer_of(e, of_load, &(struct place){ t, depth });
}

/* Sets *step to the constant that a turn adds to state i; false if there is none. */
static bool step_of(const struct loop_trip *t, int i, int depth, int64_t *step)
{
	const struct ir_buffer *b = t->next[i].buf;
	const struct ir_stage *s;
	expr e = NULL, more;

	*step = 0;
	while (b != t->state[i].buf) {
		s = is_single(t, b) ? ir_stage_of(t->l->program, b) : NULL;
		if (!s || s->kind != IR_MAP || depth++ > DEEPEST)
			return false;
		for (e = s->value; e->op == IR_CAST; e = e->arg[0])
			if (type_is_float(e->type))
				return false;
		if (e->op == IR_ADD || e->op == IR_SUB) {
			bool swapped = e->op == IR_ADD && e->arg[0]->op != IR_LOAD;
			int64_t c;

			more = of_expr(t, e->arg[swapped ? 0 : 1], depth);
			if (!more && e->op == IR_ADD && (more = of_expr(t, e->arg[0], depth)))
				swapped = true;
			if (!more || !ir_const_int(more, &c) || c > LARGEST_STEP || c < -LARGEST_STEP)
				return false;
			*step += e->op == IR_SUB ? -c : c;
			e = e->arg[swapped ? 1 : 0];
		}
		if (e->op != IR_LOAD)
			return false;
		b = e->buf;
	}
	return true;
}

static expr of_buffer(const struct loop_trip *t, const struct ir_buffer *b, int depth)
{
	const struct ir_stage *s;
	int64_t step;
	expr first;

	if (depth > DEEPEST)
		return NULL;
	if (b->data) {
		double x = type_is_float(b->type) ? tensor_float(b->data, 0) : (double)tensor_int(b->data, 0);

		return fabs(x) < 1e9 && floor(x) == x ? idx(t->l, (int64_t)x) : NULL;
	}
	if (b->content)
		return of_expr(t, b->content[0], depth);
	for (int i = 0; i < t->states; i++) {
		if (t->state[i].buf != b)
			continue;
		first = is_single(t, b) && type_is_int(b->type) ? of_buffer(t, t->first[i].buf, depth + 1) : NULL;
		if (!first || !step_of(t, i, depth + 1, &step))
			return NULL;
		return add(first, muli(t->loop->turn, step));
	}
	s = ir_stage_of(t->l->program, b);
	return s && s->kind == IR_MAP ? of_expr(t, s->value, depth + 1) : NULL;
}

/* ---- Solving for the turn. */

static expr at_turn(const struct loop_trip *t, expr e, int64_t turn)
{
	return lower_at_turn(t->loop, e, idx(t->l, turn));
}

/* An expression that is positive while the comparison holds: b - a for a < b. */
static expr distance(expr e)
{
	if (e->op == IR_CAST)
		e = e->arg[0];
	if (e->op != IR_LT && e->op != IR_LE)
		return NULL;
	if (e->arg[0]->type != TYPE_INDEX)
		return NULL;
	return addi(sub(e->arg[1], e->arg[0]), e->op == IR_LE);
}

/* Turns that follow one that has been: */
struct follow {
	expr turns;       /* t = 0, 1 ... at whose ends the condition holds; null: not known */
	expr before, all; /* the distance before turn 0; and the number of turns if the first condition asks for that
	                     distance, or null */
};

static expr turns_of(const struct loop_trip *t, expr d, int64_t c)
{
	return max_(floordiv(addi(d, c - 1), idx(t->l, c)), idx(t->l, 0));
}

static struct follow follow(const struct loop_trip *t, expr cond)
{
	expr d = distance(cond), d0;
	int64_t c;

	if (cond->op == IR_MIN) {
		expr left = follow(t, cond->arg[0]).turns, right = follow(t, cond->arg[1]).turns;

		if (ir_is_int(cond->arg[0], 1) || ir_is_int(cond->arg[1], 1))
			return (struct follow){ .turns = left ? left : right };
		return (struct follow){ .turns = left && right ? min_(left, right) : NULL };
	}
	if (!d) /* false whatever the turn, or not known */
		return (struct follow){ .turns = ir_is_int(cond, 0) ? cond : NULL };
	d0 = at_turn(t, d, 0);
	if (!ir_const_int(sub(d0, at_turn(t, d, 1)), &c) || c < 1 || d != sub(d0, muli(t->loop->turn, c)))
		return (struct follow){ 0 };
	return (struct follow){ turns_of(t, d0, c), addi(d0, c), turns_of(t, addi(d0, c), c) };
}

expr loop_trip(const struct loop_trip *t)
{
	expr cond = is_single(t, t->cond.buf) ? of_buffer(t, t->cond.buf, 0) : NULL, first, all;
	struct follow more = { 0 };

	if (cond)
		more = follow(t, cond);
	if (!more.turns)
		return NULL;
	all = addi(more.turns, 1);
	first = t->first_cond.given ? of_buffer(t, t->first_cond.buf, 0) : NULL;
	if (!first || ir_is_int(first, 1))
		return all;
	if (more.before && distance(first) == more.before)
		return more.all;
	return select_(ne(first, with(first, 0)), all, idx(t->l, 0));
}
