/* The different elements of a tensor, or its different slices along an axis. */
#include "ops/lower/unique_groups.h"

enum { MOST_SORTS = 8 }; /* the most elements of a slice that are sorted one after the other */

/* The things to compare: elements of x, or its slices along `axis`. */
struct things {
	struct lower *l;
	struct value x;
	int axis; /* -1: elements */
	expr n;
};

/* Element `at[..]` of thing i; `at` has the slice's own axes. */
static expr element_of(const struct things *t, expr i, const expr *at)
{
	expr index[IR_MAX_RANK];

	if (t->axis < 0)
		return wide(at_flat(t->x, i));
	for (int k = 0, own = 0; k < value_rank(t->x); k++)
		index[k] = k == t->axis ? i : at[own++];
	return wide(load(t->x, index));
}

/* Appends the axes of a slice to s; an element has none. */
static void push_slice(const struct things *t, struct space *s)
{
	for (int k = 0; t->axis >= 0 && k < value_rank(t->x); k++)
		if (k != t->axis)
			space_push(t->l, s, value_dim(t->x, k));
}

static expr same_nan(expr a, expr b)
{
	return type_is_float(a->type) ? and_(unary(IR_ISNAN, a), unary(IR_ISNAN, b)) : ir_int(a->pool, TYPE_BOOL, 0);
}

static expr differs(expr a, expr b)
{
	return a->type == TYPE_BOOL ? not_(eq(a, b)) : ne(a, b);
}

/* The condition that a sorts before b; a NaN sorts after all numbers. */
static expr before(expr a, expr b)
{
	if (a->type == TYPE_BOOL)
		return and_(not_(a), b);
	if (type_is_float(a->type))
		return or_(lt(a, b), and_(unary(IR_ISNAN, b), not_(unary(IR_ISNAN, a))));
	return lt(a, b);
}

static expr index_at(struct value v, expr i)
{
	return cast(load_list(v, 1, i), TYPE_INDEX);
}

/* ---- The order of the things: order[p] is the thing at place p. */

/* Sorts by one element of each thing; the things start in `order` (not given: as in x). */
static struct value sort_by(const struct things *t, const expr *at, struct value order)
{
	struct lower *l = t->l;
	struct space s = { 0 };
	struct value moved;
	expr j = space_push(l, &s, t->n), r = space_push(l, &s, t->n);

	moved = lower_sort(l, "moved", TYPE_I32, &s, 0, false, element_of(t, order.given ? index_at(order, r) : r, at));
	if (!order.given)
		return moved;
	s.rank = 1;
	return lower_map(l, "order", TYPE_I32, &s, load_list(order, 1, index_at(moved, j)));
}

/* Sorts by all elements of the slices, from the last to the first: every sort is stable. */
static struct value sort_by_all(const struct things *t, int64_t count, const struct space *slice)
{
	struct value order = { 0 };
	expr at[IR_MAX_RANK];

	for (int64_t i = count - 1; i >= 0; i--) {
		ir_unflat(idx(t->l, i), slice->rank, slice->dim, at);
		order = sort_by(t, at, order);
	}
	return order;
}

/* Sorts by counting the slices before each one: every pair is compared at its first different element. */
static struct value sort_in_pairs(const struct things *t, const struct space *slice)
{
	struct lower *l = t->l;
	struct space pairs = { 0 }, one = { 0 }, all = { 0 };
	struct value first, rank;
	expr a, b, at[IR_MAX_RANK];
	expr i = space_push(l, &pairs, t->n), j = space_push(l, &pairs, t->n);

	push_slice(t, &pairs);
	a = element_of(t, i, pairs.at + 2);
	b = element_of(t, j, pairs.at + 2);
	first = lower_reduce(l, "first_difference", TYPE_I64, &pairs, 2, IR_ARGMAX,
	                     cast(and_(differs(a, b), not_(same_nan(a, b))), TYPE_I32), NULL);
	pairs.rank = 2;
	ir_unflat(cast(load_list(first, 2, i, j), TYPE_INDEX), slice->rank, slice->dim, at);
	a = element_of(t, i, at);
	b = element_of(t, j, at);
	rank = lower_reduce(l, "place", TYPE_I32, &pairs, 1, IR_SUM,
	                    cast(or_(before(b, a), and_(not_(before(a, b)), lt(j, i))), TYPE_I32), NULL);
	i = space_push(l, &one, t->n);
	space_push(l, &all, t->n);
	expr to = index_at(rank, i);

	return lower_scatter(l, "order", TYPE_I32, &all, num(l, TYPE_I32, 0), &one, IR_NONE, &to, cast(i, TYPE_I32),
	                     NULL);
}

static int order_of(const struct things *t, struct value *order)
{
	struct space slice = { 0 };
	int64_t count = 1, extent;

	push_slice(t, &slice);
	for (int k = 0; k < slice.rank && count <= MOST_SORTS; k++) {
		if (!ir_const_int(slice.dim[k], &extent))
			extent = MOST_SORTS + 1;
		count = extent && count > MOST_SORTS / extent ? MOST_SORTS + 1 : count * extent;
	}
	if (count == 0)
		return lower_fail(t->l, ERR_UNSUPPORTED, "the slices to compare have no elements.");
	if (slice.rank == 0)
		*order = sort_by(t, NULL, (struct value){ 0 });
	else
		*order = count <= MOST_SORTS ? sort_by_all(t, count, &slice) : sort_in_pairs(t, &slice);
	return 0;
}

/* ---- Groups of equal things: neighbours in that order. */

struct groups {
	struct value order, begins; /* begins[p]: place p is the first of its group */
	struct value first, which, count;
};

static struct value begins_of(const struct things *t, struct value order)
{
	struct lower *l = t->l;
	struct space s = { 0 };
	expr p = space_push(l, &s, t->n), here = index_at(order, p),
	     last = index_at(order, max_(addi(p, -1), idx(l, 0)));
	expr is_first = eq(p, idx(l, 0)), a, b, change;

	push_slice(t, &s);
	a = element_of(t, here, s.at + 1);
	b = element_of(t, last, s.at + 1);
	change = differs(a, b);
	if (t->axis < 0)
		change = and_(change, not_(same_nan(a, b)));
	if (s.rank == 1)
		return lower_map(l, "begins", TYPE_BOOL, &s, or_(is_first, change));
	return lower_reduce(l, "begins", TYPE_BOOL, &s, 1, IR_ANY, or_(is_first, change), NULL);
}

/* The running number of the places where `holds` is true, from 0 on. */
static struct value number_of(struct lower *l, const struct space *s, expr holds)
{
	return lower_scan(l, "number", TYPE_I32, s, 0, IR_SUM, false, false, cast(holds, TYPE_I32),
	                  addi(acc(l, TYPE_I32), -1));
}

/* v[to] = value over s: a permutation. */
static struct value permute(struct lower *l, const char *name, const struct space *s, expr to, expr value)
{
	return lower_scatter(l, name, TYPE_I32, s, num(l, TYPE_I32, 0), s, IR_NONE, &to, value, NULL);
}

/* Groups in the order of their things. */
static void in_order(const struct things *t, struct groups *g)
{
	struct lower *l = t->l;
	struct space s = { 0 }, found = { 0 };
	expr p = space_push(l, &s, t->n), u, next;
	struct value number, start;

	start = lower_compact(l, "start", TYPE_I32, &s, cast(p, TYPE_I32), load_list(g->begins, 1, p), NULL);
	number = number_of(l, &s, load_list(g->begins, 1, p));
	g->which = permute(l, "which", &s, index_at(g->order, p), load_list(number, 1, p));
	u = space_push(l, &found, value_dim(start, 0));
	next = select_(lt(addi(u, 1), found.dim[0]), index_at(start, min_(addi(u, 1), addi(found.dim[0], -1))), t->n);
	g->first = lower_map(l, "first", TYPE_I64, &found, cast(load_list(g->order, 1, index_at(start, u)), TYPE_I64));
	g->count = lower_map(l, "count", TYPE_I64, &found, cast(sub(next, index_at(start, u)), TYPE_I64));
}

/* Groups in the order in which they are found. */
static void as_found(const struct things *t, struct groups *g)
{
	struct lower *l = t->l;
	struct space s = { 0 }, found = { 0 };
	expr i = space_push(l, &s, t->n), u, here;
	expr begins = load_list(g->begins, 1, i), own = cast(i, TYPE_I32);
	struct value place, start, next, number;

	place = permute(l, "place", &s, index_at(g->order, i), own);
	start = lower_scan(l, "start", TYPE_I32, &s, 0, IR_MAXIMUM, false, false,
	                   select_(begins, own, num(l, TYPE_I32, 0)), NULL);
	next = lower_scan(l, "next", TYPE_I32, &s, 0, IR_MINIMUM, true, true,
	                  select_(begins, own, cast(t->n, TYPE_I32)), min_(acc(l, TYPE_I32), cast(t->n, TYPE_I32)));
	begins = load_list(g->begins, 1, index_at(place, i));
	g->first = lower_compact(l, "first", TYPE_I64, &s, cast(i, TYPE_I64), begins, NULL);
	number = number_of(l, &s, begins);
	here = index_at(g->order, index_at(start, index_at(place, i)));
	g->which = lower_map(l, "which", TYPE_I32, &s, load_list(number, 1, here));
	u = space_push(l, &found, value_dim(g->first, 0));
	here = index_at(place, index_at(g->first, u));
	g->count = lower_map(l, "count", TYPE_I64, &found,
	                     cast(sub(load_list(next, 1, here), cast(here, TYPE_I32)), TYPE_I64));
}

static int find_groups(const struct things *t, bool sorted, struct groups *g)
{
	int64_t n;

	if (ir_const_int(t->n, &n) && n > INT32_MAX)
		return lower_fail(t->l, ERR_UNSUPPORTED, "there are %lld elements; %d are the most.", (long long)n,
		                  INT32_MAX);
	TRY(order_of(t, &g->order));
	g->begins = begins_of(t, g->order);
	if (sorted)
		in_order(t, g);
	else
		as_found(t, g);
	return 0;
}

static struct value values_of(const struct things *t, const struct groups *g)
{
	struct lower *l = t->l;
	struct space s = { 0 };
	expr index[IR_MAX_RANK], groups = value_dim(g->first, 0);

	if (t->axis < 0) {
		expr u = space_push(l, &s, groups);

		return lower_map(l, NULL, value_type(t->x), &s, at_flat(t->x, index_at(g->first, u)));
	}
	for (int k = 0; k < value_rank(t->x); k++)
		index[k] = space_push(l, &s, k == t->axis ? groups : value_dim(t->x, k));
	index[t->axis] = index_at(g->first, index[t->axis]);
	return lower_map(l, NULL, value_type(t->x), &s, load(t->x, index));
}

int unique_groups(struct lower *l, struct value x, int axis, bool sorted, struct unique *out)
{
	struct things t = { .l = l, .x = x, .axis = axis, .n = axis < 0 ? value_count(x) : value_dim(x, axis) };
	struct groups g;

	TRY(find_groups(&t, sorted, &g));
	*out = (struct unique){ .values = values_of(&t, &g), .first = g.first, .which = g.which, .count = g.count };
	return 0;
}

struct value unique_positions(struct lower *l, const char *name, const struct unique *u)
{
	struct space s = space_of(l, u->which);

	return lower_map(l, name, TYPE_I64, &s, cast(at(u->which, &s), TYPE_I64));
}
