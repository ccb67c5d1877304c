/* Demands: relations between extents (equal, or broadcast) that are not known to hold until run time. */
#include "ops/lower/lower.h"

#include <string.h>

enum { PAIRS_MAX = 8 }; /* different extents in one broadcast, each compared with the others */

enum { NO_TENSOR = -1 }; /* id of a number that is not a buffer of the program; it is named after its extent */

/* The tensor's name in the model, if it is an input of the node. A value may be a copy of an input that shows fewer
 * axes. */
static const char *tensor_name(struct lower *l, const struct ir_buffer *b)
{
	for (int i = 0; b && i < l->inputs; i++) {
		const struct op_slot *s = op_slot_of(l->op->inputs, OP_MAX_INPUTS, i);

		if (!l->input[i].given || l->input[i].buf->id != b->id || b->id == NO_TENSOR)
			continue;
		if (l->names && *l->names[i])
			return l->names[i];
		return s && s->kind < OP_VARIADIC ? s->name : arena_printf(l->program->arena, "input number %d", i + 1);
	}
	return b ? b->name : NULL;
}

void lower_settle(struct lower *l, expr a, expr b)
{
	if (!l->settled.arena)
		l->settled = map_new(l->program->arena);
	map_put_u64(&l->settled, (uint64_t)a->id << 32 | b->id, l);
}

static bool is_settled(const struct lower *l, expr a, expr b)
{
	return l->settled.arena && map_get_u64(&l->settled, (uint64_t)a->id << 32 | b->id);
}

static const char *extent_text(struct lower *l, expr e)
{
	struct str s = str_new(l->program->arena);

	ir_print_expr(&s, e, 0);
	return str_text(&s);
}

static int axis_of(const struct ir_buffer *b, int axis)
{
	return b && b->id == NO_TENSOR ? -1 : axis;
}

static int demand(struct lower *l, enum ir_relation r, expr a, const struct ir_buffer *of_a, int i, expr b,
                  const struct ir_buffer *of_b, int j)
{
	if (a == b || a->varies || b->varies)
		return 0;
	struct ir_demand d = { .relation = r,
		               .extent = { a, b },
		               .tensor = { tensor_name(l, of_a), tensor_name(l, of_b) },
		               .axis = { axis_of(of_a, i), axis_of(of_b, j) },
		               .node = l->label };
	bool least = r == IR_AT_MOST && a->op == IR_MIN && (a->arg[0] == b || a->arg[1] == b);
	expr holds = ir_demand_holds(&d);

	if (least)
		return 0;
	if (l->branch && holds->op != IR_CONST_INT) {
		vec_push(l->program->arena, &l->held, d);
		return 0;
	}
	if (ir_demand_add(l->program, &d))
		return 0;
	return lower_fail(l, ERR_MODEL, "%s.",
	                  ir_demand_text(&d, extent_text(l, a), extent_text(l, b), l->program->arena));
}

int lower_demand(struct lower *l, enum ir_relation r, struct value a, int i, struct value b, int j)
{
	return demand(l, r, value_dim(a, i), a.buf, i, value_dim(b, j), b.buf, j);
}

int lower_demand_extent(struct lower *l, enum ir_relation r, expr extent, struct value b, int j)
{
	lower_settle(l, value_dim(b, j), extent);
	return demand(l, r, extent, NULL, 0, value_dim(b, j), b.buf, j);
}

int lower_demand_of(struct lower *l, enum ir_relation r, const char *first, expr a, const char *second, expr b)
{
	const struct ir_buffer of_a = { .name = first, .id = NO_TENSOR }, of_b = { .name = second, .id = NO_TENSOR };

	lower_settle(l, a, b);
	return demand(l, r, a, first ? &of_a : NULL, 0, b, &of_b, 0);
}

int lower_demand_multiple(struct lower *l, struct value v, int i, int64_t n)
{
	expr dim = value_dim(v, i);

	return n > 1 ? lower_demand_extent(l, IR_SAME, muli(floordiv(dim, idx(l, n)), n), v, i) : 0;
}

int lower_same(struct lower *l, struct value a, int i, struct value b, int j, expr *out)
{
	expr x = value_dim(a, i), y = value_dim(b, j);

	TRY(lower_demand(l, IR_SAME, a, i, b, j));
	*out = ir_extent_choice(x, y);
	lower_settle(l, x, *out);
	lower_settle(l, y, *out);
	lower_settle(l, x, y);
	lower_settle(l, y, x);
	return 0;
}

int lower_equal(struct lower *l, struct value a, int i, struct value b, int j)
{
	expr unused;

	return lower_same(l, a, i, b, j, &unused);
}

int lower_one_or_each(struct lower *l, struct value v, int i, struct value of, int j, expr at, expr *out)
{
	expr dim = value_dim(v, i), whole = value_dim(of, j);

	*out = ir_is_int(dim, 1) ? idx(l, 0) : at;
	if (dim == whole || ir_is_int(dim, 1))
		return 0;
	TRY(lower_demand(l, IR_ONE_OR, v, i, of, j));
	lower_settle(l, dim, whole);
	if (!ir_less(idx(l, 1), dim))
		*out = select_(eq(dim, idx(l, 1)), idx(l, 0), at);
	return 0;
}

int lower_parameter(struct lower *l, struct value v, struct value of, int j, expr at, expr *out)
{
	expr i;

	if (value_rank(v) == 0) {
		*out = at_first(v);
		return 0;
	}
	TRY(lower_one_or_each(l, v, 0, of, j, at, &i));
	*out = load(v, &i);
	return 0;
}

/* Demands for n operands aligned right along axis `axis` from the right, whose common extent is `whole`. */
int lower_demand_broadcast(struct lower *l, int n, const struct value *v, int axis, expr whole)
{
	const struct value *seen[PAIRS_MAX];
	int pairs = 0;

	for (int k = 0; k < n; k++) {
		int i = v[k].given ? v[k].buf->rank - 1 - axis : -1;
		bool known = i < 0 || ir_is_int(value_dim(v[k], i), 1);

		for (int j = 0; j < pairs && !known; j++)
			known = value_dim(*seen[j], seen[j]->buf->rank - 1 - axis) == value_dim(v[k], i);
		if (known || pairs == PAIRS_MAX)
			continue;
		for (int j = 0; j < pairs; j++) {
			int other = seen[j]->buf->rank - 1 - axis;
			bool sure = ir_less(idx(l, 1), value_dim(v[k], i)) &&
			            ir_less(idx(l, 1), value_dim(*seen[j], other));

			TRY(lower_demand(l, sure ? IR_SAME : IR_BROADCAST, *seen[j], other, v[k], i));
		}
		lower_settle(l, value_dim(v[k], i), whole);
		seen[pairs++] = &v[k];
	}
	return 0;
}

/* ---- Reads ------------------------------------------------------------------------------------------------------- */

/* The axes and loop turns that the conditions around an expression depend on, one bit each. */
typedef uint64_t axes;
enum { TURN_BIT = 2 * IR_MAX_RANK };
static const axes EVERY_AXIS = ~(axes)0;

struct reads {
	struct lower *l;
	const struct ir_stage *stage;
	bool stops;            /* an enclosing loop may end before its last turn */
	struct arena *scratch; /* of the expression that is being checked */
	struct map seen;       /* its nodes, as struct seen, by id */
	axes where;            /* guarded by the stage's own condition */
	int rc;
};

/* A node of an expression. */
struct seen {
	bool known, loads, checked;
	bool sure; /* evaluated whatever the conditions */
	axes all, compared, guard;
};

static struct seen *seen_of(struct reads *r, expr e)
{
	struct seen *x = map_get_u64(&r->seen, e->id);

	if (!x) {
		x = NEW(r->scratch, struct seen);
		map_put_u64(&r->seen, e->id, x);
	}
	return x;
}

/* An input other than `but` that has an axis of this extent; otherwise the stage's own buffer if it does; otherwise
 * null. */
static const struct ir_buffer *extent_owner(struct lower *l, const struct ir_stage *s, expr extent,
                                            const struct ir_buffer *but, int *axis)
{
	for (int i = 0; i < l->inputs; i++)
		for (*axis = 0; l->input[i].given && l->input[i].buf != but && *axis < l->input[i].buf->rank; ++*axis)
			if (l->input[i].buf->dim[*axis] == extent)
				return l->input[i].buf;
	for (*axis = 0; *axis < s->out->rank; ++*axis)
		if (s->out->dim[*axis] == extent)
			return s->out;
	*axis = 0;
	return NULL;
}

/* The extent of an axis or of a loop's turns where there is any: m of max(m, 0). */
static expr not_empty(expr extent)
{
	bool left = extent->op == IR_MAX && ir_is_int(extent->arg[0], 0);

	return extent->op == IR_MAX && (left || ir_is_int(extent->arg[1], 0)) ? extent->arg[left] : extent;
}

/* The largest value of an index that is a sum of products of axes and extents, reached where all axes end. Null for
 * any other index. `some`: no axis is empty. */
static expr highest(expr e, bool some)
{
	expr a, b;
	int64_t by;

	if (!e->varies)
		return e;
	if (e->op == IR_AXIS || (e->op == IR_VAR && e->n == 1))
		return addi(some ? not_empty(e->arg[0]) : e->arg[0], -1);
	if (e->op == IR_SUB)
		return !e->arg[1]->varies && (a = highest(e->arg[0], some)) ? sub(a, e->arg[1]) : NULL;
	if (e->op == IR_MUL && !e->arg[0]->varies && ir_nonnegative(e->arg[0]))
		return (b = highest(e->arg[1], some)) ? mul(e->arg[0], b) : NULL;
	if (e->op == IR_MUL)
		return !e->arg[1]->varies && ir_nonnegative(e->arg[1]) && (a = highest(e->arg[0], some))
		               ? mul(a, e->arg[1])
		               : NULL;
	if (e->op == IR_FLOORDIV) /* several axes share an element: heads, channels of a group */
		return ir_const_int(e->arg[1], &by) && by > 0 && (a = highest(e->arg[0], some)) ? floordiv(a, e->arg[1])
		                                                                                : NULL;
	if (e->op != IR_ADD)
		return NULL;
	a = highest(e->arg[0], some);
	b = highest(e->arg[1], some);
	return a && b ? add(a, b) : NULL;
}

expr lower_highest(expr e)
{
	return highest(e, true);
}

static void check_plain(void *user, expr e)
{
	*(bool *)user &=
	        e->op == IR_SYMBOL || e->op == IR_CONST_INT || e->op == IR_ADD || e->op == IR_SUB || e->op == IR_MUL;
}

/* True if the extent is not the result of an operator's own divisions and limits. Those fit, even if they leave
 * nothing. */
static bool is_plain(expr extent)
{
	bool plain = true;

	ir_walk(extent, check_plain, &plain);
	return plain;
}

/* True for an axis with one element for all indices, or one for each. */
static bool is_broadcast(expr index, expr dim)
{
	return index->op == IR_SELECT && index->arg[2]->op == IR_AXIS &&
	       index == select_(eq(dim, with(dim, 1)), with(dim, 0), index->arg[2]);
}

static void check_index(struct reads *r, const struct ir_buffer *b, int k, expr index)
{
	expr dim = b->dim[k], axis = is_broadcast(index, dim) ? index->arg[2] : index;
	expr most = highest(axis, false), extent;
	const struct ir_buffer *owner;
	int j;

	if (!most || ir_less(index, dim) || ir_less(most, dim))
		return;
	extent = addi(most, 1);
	if (extent == dim || is_settled(r->l, dim, extent) || (axis->op != IR_AXIS && !is_plain(extent)))
		return;
	lower_settle(r->l, dim, extent);
	owner = extent_owner(r->l, r->stage, extent, b, &j);
	r->rc = axis != index ? demand(r->l, IR_ONE_OR, dim, b, k, extent, owner, j)
	                      : demand(r->l, IR_AT_MOST, extent, owner, j, dim, b, k);
}

/* The axes of an expression: all of them; those in comparisons outside of loads; and whether it loads anything. */
static const struct seen *axes_of(struct reads *r, expr e)
{
	struct seen *x = seen_of(r, e);

	if (x->known)
		return x;
	x->known = true;
	if (e->op == IR_AXIS)
		x->all = x->compared = (axes)1 << e->i;
	else if (e->op == IR_VAR)
		x->all = x->compared = (axes)1 << (TURN_BIT + (int)(e->var->number % (64 - TURN_BIT)));
	x->loads = e->op == IR_LOAD;
	for (int i = 0; i < e->n; i++) {
		const struct seen *arg = axes_of(r, e->arg[i]);

		x->all |= arg->all;
		x->compared |= e->op == IR_LOAD ? 0 : arg->compared;
		x->loads |= arg->loads;
	}
	return x;
}

/* The axes that a condition guards. A condition on other axes than an index's says nothing about that index. One that
 * depends on data restricts no extents. One on extents alone may never hold. */
static axes guard_of(struct reads *r, expr condition)
{
	const struct seen *x = axes_of(r, condition);

	return x->compared || x->loads ? x->compared : EVERY_AXIS;
}

static void check_load(struct reads *r, expr e, axes guard)
{
	for (int k = 0; k < e->n && !r->rc; k++) {
		axes own = axes_of(r, e->arg[k])->all;

		if (guard != EVERY_AXIS && !(own & guard) && !(r->stops && own >> TURN_BIT))
			check_index(r, e->buf, k, e->arg[k]);
	}
}

static void check_expr(struct reads *r, expr e, axes guard)
{
	bool lazy = e->op == IR_SELECT || e->op == IR_AND || e->op == IR_OR;
	struct seen *x = seen_of(r, e);

	if (x->sure) /* in both arms of a select, for one */
		guard = r->where;
	if (x->checked && (guard & x->guard) == x->guard)
		return;
	x->checked = true;
	x->guard = guard;
	if (e->op == IR_LOAD)
		check_load(r, e, guard);
	for (int i = 0; i < e->n && !r->rc; i++)
		check_expr(r, e->arg[i], lazy && i ? guard | guard_of(r, e->arg[0]) : guard);
}

static void begin_expr(struct reads *r)
{
	r->scratch = arena_new();
	r->seen = map_new(r->scratch);
}

/* Checks the positions that a scatter writes. */
static void check_writes(struct reads *r)
{
	const struct ir_stage *s = r->stage;

	begin_expr(r);
	for (int k = 0; k < s->out->rank && !r->rc; k++) {
		axes guard = s->where ? guard_of(r, s->where) : 0;

		if (guard != EVERY_AXIS && !(axes_of(r, s->at[k])->all & guard))
			check_index(r, s->out, k, s->at[k]);
	}
	arena_free(r->scratch);
}

static void note_sure(void *user, expr e)
{
	seen_of(user, e)->sure = true;
}

static void check_read_expr(void *user, expr e, const char *role)
{
	struct reads *r = user;
	expr where = strcmp(role, "where") == 0 || strcmp(role, "init") == 0 ? NULL : r->stage->where;

	if (r->rc)
		return;
	begin_expr(r);
	ir_walk_unconditional(e, note_sure, r);
	r->where = where ? guard_of(r, where) : 0;
	check_expr(r, e, r->where);
	arena_free(r->scratch);
}

static bool is_empty(const struct ir_stage *s)
{
	for (int k = 0; k < s->out->rank; k++)
		if (ir_is_int(s->out->dim[k], 0))
			return true;
	for (int k = 0; k < s->space_rank; k++)
		if (ir_is_int(s->space[k], 0))
			return true;
	return false;
}

static void check_stages(struct reads *r, int n, struct ir_stage *const *stage);

static void check_loop(struct reads *r, struct ir_loop *loop)
{
	vec_each (c, &loop->carries)
		check_read_expr(r, c->init, "init");
	check_stages(r, loop->body.n, loop->body.at);
}

static void check_stages(struct reads *r, int n, struct ir_stage *const *stage)
{
	for (int i = 0; i < n && !r->rc; i++) {
		struct ir_loop *loop = stage[i]->loop;

		bool stops = r->stops;

		if (stage[i]->reads_checked) /* by a node of a body, which knew more of it */
			continue;
		stage[i]->reads_checked = true;
		r->stage = stage[i];
		r->stops |= loop && stage[i]->where;
		if (loop)
			check_loop(r, loop);
		else if (!is_empty(stage[i]))
			ir_stage_exprs(stage[i], check_read_expr, r);
		if (!loop && !r->rc && stage[i]->kind == IR_SCATTER && !is_empty(stage[i]))
			check_writes(r);
		r->stops = stops;
	}
}

int lower_demand_reads(struct lower *l, int first)
{
	struct reads r = { .l = l };

	check_stages(&r, l->program->stages.n - first, l->program->stages.at + first);
	return r.rc;
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */

static expr both(expr a, expr b)
{
	return a && b ? and_(a, b) : a ? a : b;
}

/* The condition that `index` lies inside the buffer; null: it always does. */
static expr is_inside(const struct ir_buffer *b, const expr *index)
{
	expr inside = NULL;

	for (int k = 0; k < b->rank; k++) {
		if (!ir_nonnegative(index[k]))
			inside = both(inside, ge(index[k], with(index[k], 0)));
		if (!ir_less(index[k], b->dim[k]))
			inside = both(inside, lt(index[k], b->dim[k]));
	}
	return inside;
}

static expr guarded_load(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	expr inside = e->op == IR_LOAD ? is_inside(e->buf, arg) : NULL;

	(void)user;
	return inside ? select_(inside, ir_load(p, e->buf, arg), ir_const(p, e->type, 0)) : NULL;
}

static void guard_slot(void *user, expr *slot, const char *role)
{
	(void)role;
	*slot = ir_copy((*slot)->pool, *slot, guarded_load, user);
}

static void guard_writes(struct ir_stage *s)
{
	if (s->kind == IR_SCATTER)
		s->where = both(is_inside(s->out, s->at), s->where);
	for (int i = 0; s->loop && i < s->loop->body.n; i++)
		guard_writes(s->loop->body.at[i]);
}

static bool sorts(const struct ir_stage *s)
{
	bool any = s->kind == IR_SORT;

	for (int i = 0; s->loop && i < s->loop->body.n; i++)
		any |= sorts(s->loop->body.at[i]);
	return any;
}

int lower_demand_release(struct lower *l, int first)
{
	struct ir_program *p = l->program;
	bool keep = false;

	for (int i = first; l->held.n && i < p->stages.n; i++)
		keep |= sorts(p->stages.at[i]);
	for (int i = first; l->held.n && !keep && i < p->stages.n; i++) {
		ir_stage_slots(p->stages.at[i], guard_slot, NULL);
		guard_writes(p->stages.at[i]);
	}
	vec_each (d, &l->held) {
		if (!keep && l->branch->taken) /* holds if the branch is not taken */
			d->extent[0] = select_(l->branch->taken, d->extent[0], d->extent[1]);
		if ((keep || l->branch->taken) && !ir_demand_add(p, d))
			return lower_fail(l, ERR_MODEL, "%s.",
			                  ir_demand_text(d, extent_text(l, d->extent[0]), extent_text(l, d->extent[1]),
			                                 p->arena));
	}
	return 0;
}
