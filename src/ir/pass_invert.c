/* Turns scatters whose updates never collide into maps. If an update's axes follow from its position, as with windows
 * that do not overlap, each element tests the one update that may reach it. No initial fill is needed, and the update's
 * producer fuses with the element's reader. A position found by an arg reduction is known to be less than the window's
 * size. */
#include "ir/passes.h"

enum {
	MOST_KNOWN = 16,   /* loads in a scatter's positions */
	CHEAP = 40,        /* maximum cost of a value that all positions of its window may recompute */
	SEEN_THROUGH = 40, /* maximum cost of a map between a reduction and the positions */
};

/* A scatter, its positions with variables for loads, and the axes of the update that would reach an element. */
struct inverse {
	struct ir_program *p;
	const struct ir_stage *s;
	int known, digits;
	expr load[MOST_KNOWN], var[MOST_KNOWN];     /* loads of arg reductions: indices below their element counts */
	expr axis[IR_MAX_RANK], inside;             /* null axes: unknown yet */
	expr digit[IR_MAX_RANK], here[IR_MAX_RANK]; /* the update reaches an element if all pairs are equal */
};

/* The element count of an arg reduction that is never empty; null: unknown. */
static expr reduced_count(const struct inverse *v, const struct ir_stage *s)
{
	expr one = ir_index(v->p->pool, 1), n = one;
	if (s->kind != IR_REDUCE || !ir_combine_is_arg(s->combine) || s->post)
		return NULL;
	for (int k = 0; k < s->space_rank; k++)
		n = ir_binary(IR_MUL, n, s->space[k]);
	return ir_nonnegative(ir_binary(IR_SUB, n, one)) ? n : NULL;
}

/* Replaces a load of a cheap map by the map's value, any other load by a variable, with bounds for found positions. */
static expr see_through(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct inverse *v = user;
	if (e->op != IR_LOAD)
		return NULL;
	const struct ir_stage *s = ir_stage_of(v->p, e->buf);
	if (s && s->kind == IR_MAP && ir_cost(s->value) <= SEEN_THROUGH) {
		expr at = ir_bind_axes(pool, s->value, arg);
		return ir_copy(pool, at, see_through, v);
	}
	expr load = ir_load(pool, e->buf, arg), extent = s ? reduced_count(v, s) : NULL;
	int i = 0;
	while (i < v->known && v->load[i] != load)
		i++;
	if (i == MOST_KNOWN)
		return NULL;
	if (i == v->known) {
		v->load[i] = load;
		v->var[i] =
		        ir_var(pool, extent ? TYPE_INDEX : e->type, arena_printf(v->p->arena, "found_%d", i), extent);
		v->known++;
	}
	return ir_cast(v->var[i], e->type);
}

/* The inverse: back to loads over the axes of the update space. */
static expr see_again(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct inverse *v = user;
	(void)arg;
	for (int i = 0; i < v->known && e->op == IR_VAR; i++)
		if (v->var[i] == e) /* its index may contain such a load too */
			return ir_cast(ir_copy(pool, v->load[i], see_again, v), e->type);
	return NULL;
}

/* An update's expression, for the update that would reach an element. */
static expr of_update(struct inverse *v, expr e)
{
	struct ir_pool *pool = v->p->pool;
	return ir_bind_axes(pool, ir_copy(pool, e, see_again, v), v->axis);
}

/* ---- Axes from a position: along each axis of the result it is a number whose digits are axes of the update and,
 * last, a data-dependent value. */

struct place {
	int n, axis[IR_MAX_RANK];
	expr stride[IR_MAX_RANK], data, low, room; /* low <= data <= low + room */
};

static bool take_apart(const struct inverse *v, expr at, struct place *x)
{
	struct ir_pool *pool = v->p->pool;
	*x = (struct place){ .data = at };
	for (int k = 0; k < v->s->space_rank; k++) {
		expr stride = ir_stride(at, k);
		if (!stride)
			return false;
		if (ir_is_int(stride, 0))
			continue;
		if (v->axis[k] || !ir_nonnegative(ir_binary(IR_SUB, stride, ir_index(pool, 1))))
			return false;
		x->data = ir_binary(IR_SUB, x->data, ir_binary(IR_MUL, stride, ir_axis(pool, k, v->s->space[k])));
		x->stride[x->n] = stride;
		x->axis[x->n++] = k;
	}
	expr high = ir_upper_bound(x->data);
	x->low = ir_lower_bound(x->data);
	if (!x->low || !high || ir_uses(x->data, IR_AXIS))
		return false;
	x->room = ir_binary(IR_SUB, high, x->low);
	return true;
}

/* The axis of the leading digit: the rest is less than its stride. -1: unknown. */
static int leading_digit(const struct inverse *v, const struct place *x)
{
	struct ir_pool *pool = v->p->pool;
	for (int i = 0; i < x->n; i++) {
		expr rest = x->room;
		for (int j = 0; j < x->n; j++) {
			expr most = ir_binary(IR_SUB, v->s->space[x->axis[j]], ir_index(pool, 1));
			if (j != i)
				rest = ir_binary(IR_ADD, rest, ir_binary(IR_MUL, x->stride[j], most));
		}
		if (ir_less(rest, x->stride[i]))
			return i;
	}
	return -1;
}

static void require(struct inverse *v, expr condition)
{
	v->inside = ir_binary(IR_AND, v->inside, condition);
}

static bool solve(struct inverse *v, int k, expr at)
{
	struct ir_pool *pool = v->p->pool;
	struct place x;
	if (!take_apart(v, at, &x))
		return false;
	expr rest = ir_binary(IR_SUB, ir_axis(pool, k, v->s->out->dim[k]), x.low);
	while (x.n > 0) {
		int i = leading_digit(v, &x), axis = i < 0 ? -1 : x.axis[i];
		if (i < 0)
			return false;
		v->axis[axis] = ir_binary(IR_FLOORDIV, rest, x.stride[i]);
		rest = ir_binary(IR_MOD, rest, x.stride[i]);
		require(v, ir_binary(IR_LE, ir_index(pool, 0), v->axis[axis]));
		require(v, ir_binary(IR_LT, v->axis[axis], v->s->space[axis]));
		x.n--;
		x.axis[i] = x.axis[x.n];
		x.stride[i] = x.stride[x.n];
	}
	v->digit[v->digits] = ir_binary(IR_SUB, x.data, x.low);
	v->here[v->digits++] = rest;
	return true;
}

/* q / c == a and q % c == b, for 0 <= b < c: q == a * c + b. */
static void join_digits(struct inverse *v)
{
	for (int i = 0; i < v->digits; i++)
		for (int j = 0; j < v->digits; j++) {
			int64_t c;
			expr low = v->digit[j];
			if (low->op != IR_MOD || !ir_const_int(low->arg[1], &c) || c <= 0 ||
			    !ir_nonnegative(v->here[j]) || !ir_less(v->here[j], low->arg[1]) ||
			    v->digit[i] != ir_binary(IR_FLOORDIV, low->arg[0], low->arg[1]))
				continue;
			v->digit[i] = low->arg[0];
			v->here[i] = ir_binary(IR_ADD, ir_binary(IR_MUL, v->here[i], low->arg[1]), v->here[j]);
			v->digits--;
			v->digit[j] = v->digit[v->digits];
			v->here[j] = v->here[v->digits];
			i = j = -1; /* restart */
			break;
		}
}

/* The value of an element of the result; null if its update does not follow from its position. */
static expr value_here(struct inverse *v)
{
	struct ir_pool *pool = v->p->pool;
	const struct ir_stage *s = v->s;
	for (int k = 0; k < s->out->rank; k++)
		if (!solve(v, k, ir_copy(pool, s->at[k], see_through, v)))
			return NULL;
	for (int k = 0; k < s->space_rank; k++) {
		if (!v->axis[k] && !ir_is_int(s->space[k], 1))
			return NULL; /* several updates of one element */
		v->axis[k] = v->axis[k] ? v->axis[k] : ir_index(pool, 0);
	}
	join_digits(v);
	if (s->where)
		require(v, of_update(v, ir_copy(pool, s->where, see_through, v)));
	for (int i = 0; i < v->digits; i++)
		require(v, ir_binary(IR_EQ, of_update(v, v->digit[i]), v->here[i]));
	return ir_select(v->inside, of_update(v, s->value), s->init);
}

int ir_pass_invert(struct ir_program *p, struct err *e)
{
	(void)e;
	vec_each (at, &p->stages) {
		struct ir_stage *s = *at;
		if (s->kind != IR_SCATTER || s->combine != IR_NONE || ir_cost(s->value) > CHEAP ||
		    ir_may_replace(p, s->out))
			continue;
		struct inverse v = { .p = p, .s = s, .inside = ir_int(p->pool, TYPE_BOOL, 1) };
		expr value = value_here(&v);
		if (!value || value->size > IR_MAX_SIZE || value->depth > IR_MAX_DEPTH)
			continue;
		*s = (struct ir_stage){ .kind = IR_MAP, .out = s->out, .value = value };
	}
	return 0;
}
