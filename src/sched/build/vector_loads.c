/* Loads of a thread that computes `width` neighbouring elements: finds the ones that can be vectors, emits them, and
 * maps each element to its item. See vectors.h. */
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

enum { MAX_VISITS = 20000, MAX_PARTS = 4 };

/* A condition that is uniform over a thread's elements, and its variable. */
struct vector_case {
	expr cond, variable;
	bool used;
};

struct look {
	struct vector_loads *l;
	struct arena *scratch;
	bool *sure;      /* by node: evaluated unconditionally */
	bool *seen;      /* by node: of these, visited */
	expr *under;     /* by node: visited under this condition */
	bool *divergent; /* by node: a load under a condition that is not uniform */
	int visits;
	struct {
		VEC(struct vector_case);
	} cases;
};

/* ---- Conditions that are uniform over a thread's elements. */

static void find_unshared(void *user, expr e)
{
	struct vector_loads *l = user;
	l->differs |= (e->op == IR_AXIS && e->i == l->inner) || e->op == IR_LOAD || e->op == IR_ACC;
}

/* Vectors begin at multiples of their width: a condition that changes only there is uniform over each vector. */
static bool is_shared(struct vector_loads *l, expr e)
{
	struct ir_pool *pool = l->p->pool;
	l->differs = false;
	ir_walk(e, find_unshared, l);
	if (!l->differs)
		return true;
	if (e->op == IR_NOT)
		return is_shared(l, e->arg[0]);
	if (e->op == IR_AND || e->op == IR_OR)
		return is_shared(l, e->arg[0]) && is_shared(l, e->arg[1]);
	if ((e->op != IR_LT && e->op != IR_LE) || e->arg[0]->type != TYPE_INDEX)
		return false;
	/* The condition is d >= 0 for a d that grows or falls by one per element. */
	expr d = ir_binary(IR_SUB, e->arg[1], e->arg[0]), axis = ir_axis(pool, l->inner, l->extent);
	if (e->op == IR_LT)
		d = ir_binary(IR_SUB, d, ir_index(pool, 1));
	expr step = ir_stride(d, l->inner);
	if (step && ir_is_int(step, 1))
		return is_multiple(ir_binary(IR_SUB, d, axis), l->width, l->extent);
	if (step && ir_is_int(step, -1))
		return is_multiple(ir_binary(IR_ADD, ir_binary(IR_ADD, d, axis), ir_index(pool, 1)), l->width,
		                   l->extent);
	return false;
}

static expr case_of(struct look *k, expr cond)
{
	struct ir_program *p = k->l->p;
	vec_each (c, &k->cases)
		if (c->cond == cond)
			return c->variable;
	expr variable = ir_var_of(ir_variable_new(p->pool, TYPE_BOOL, "case_%d", k->cases.n), NULL);
	vec_push(k->scratch, &k->cases, ((struct vector_case){ cond, variable, false }));
	return variable;
}

/* ---- Finding vector loads. */

struct part {
	int inner, parts, which;
	expr extent;
};

static expr part_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct part *t = user;
	(void)arg;
	if (e->op != IR_AXIS || e->i != t->inner)
		return NULL;
	expr first = ir_binary(IR_MUL, ir_axis(pool, t->inner, t->extent), ir_index(pool, t->parts));
	return ir_binary(IR_ADD, first, ir_index(pool, t->which));
}

/* The load of every parts-th element from element `which` on, with the axis counted in steps of `parts`. */
static expr part_of(const struct vector_loads *l, expr load, int parts, int which)
{
	struct part t = { l->inner, parts, which, ir_binary(IR_FLOORDIV, l->extent, ir_index(l->p->pool, parts)) };
	return parts == 1 ? load : ir_copy(l->p->pool, load, part_axis, &t);
}

/* Number of vectors that hold the elements, interleaved; 0: not vectorisable. */
static int parts_of(struct vector_loads *l, expr load)
{
	int64_t extent;
	if (vector_along(l->p, load, l->inner, l->extent, l->width))
		return 1;
	for (int parts = 2; parts <= MAX_PARTS && l->width / parts > 1; parts *= 2) {
		bool all = ir_const_int(l->extent, &extent) && extent % l->width == 0;
		for (int i = 0; i < parts && all; i++) {
			expr part = part_of(l, load, parts, i);
			all = part->op == IR_LOAD &&
			      vector_along(l->p, part, l->inner, ir_index(l->p->pool, extent / parts),
			                   l->width / parts);
		}
		if (all)
			return parts;
	}
	return 0;
}

/* Position of element `which` of a pair, relative to the pairs before it, over the pair's index; null if it folds to a
 * constant from a table. */
static expr place_in_pair(const struct vector_loads *l, expr load, int which)
{
	struct ir_pool *pool = l->p->pool;
	expr part = part_of(l, load, 2, which);
	if (part->op != IR_LOAD)
		return NULL;
	expr pair = ir_axis(pool, l->inner, ir_binary(IR_FLOORDIV, l->extent, ir_index(pool, 2)));
	return ir_binary(IR_SUB, ir_flat(pool, part->buf, part->arg), ir_binary(IR_MUL, pair, ir_index(pool, 2)));
}

/* True if the elements are one vector with each pair swapped. */
static bool are_pairs(const struct vector_loads *l, expr load)
{
	int64_t extent, apart;
	if (l->width % 2 || !ir_const_int(l->extent, &extent) || extent % l->width || type_info(load->type)->bits < 8)
		return false;
	expr first = place_in_pair(l, load, 0), second = place_in_pair(l, load, 1);
	expr stride = first && second ? ir_stride(first, l->inner) : NULL;
	if (!stride || !ir_is_int(stride, 0)) /* its stride is not that of the pairs */
		return false;
	return ir_const_int(ir_binary(IR_SUB, second, first), &apart) && apart == -1 &&
	       is_multiple(second, l->width, l->extent);
}

/* Lets a load share the vector of an earlier one that differs only in the order of its pairs. */
static void share_vectors(struct vector_loads *l)
{
	for (int i = 0; i < l->found.n; i++)
		for (int j = 0; j < i && l->found.at[i].like < 0; j++) {
			struct vector_load *f = &l->found.at[i], *o = &l->found.at[j];
			if ((!f->pairs && !o->pairs) || f->load->buf != o->load->buf || f->where || o->where ||
			    f->parts > 1 || o->parts > 1)
				continue;
			expr mine = place_in_pair(l, f->load, 0), other = place_in_pair(l, o->load, 0);
			if (mine && other && ir_is_int(ir_binary(IR_SUB, mine, other), f->pairs - o->pairs))
				f->like = o->like < 0 ? j : o->like;
		}
}

/* Lets two loads of a buffer under opposite conditions, such as those of a row's other half, be one load at the place
 * that the condition selects. */
static void join_opposite(struct vector_loads *l)
{
	for (int i = 0; i < l->found.n; i++)
		for (int j = 0; j < i && l->found.at[i].like < 0; j++) {
			struct vector_load *f = &l->found.at[i], *o = &l->found.at[j];
			if (!f->where || !o->where || f->where != ir_unary(IR_NOT, o->where) ||
			    f->load->buf != o->load->buf || f->pairs || o->pairs || f->parts > 1 || o->parts > 1 ||
			    o->other)
				continue;
			o->other = f->load;
			f->like = j;
		}
}

static void found_load(struct vector_loads *l, expr load, expr where)
{
	vec_each (have, &l->found)
		if (have->load == load) {
			have->where = have->where && where ? ir_binary(IR_OR, have->where, where) : NULL;
			return;
		}
	struct vector_load f = { .load = load, .where = where, .parts = parts_of(l, load), .like = -1 };
	if (!f.parts && are_pairs(l, load)) {
		f.pairs = true;
		f.parts = 1;
	}
	if (f.parts)
		vec_push(l->p->arena, &l->found, f);
}

/* `where`: the condition under which e is evaluated; null: always. `divergent`: the condition is unknown. */
static void look_at(struct look *k, expr e, expr where, bool divergent)
{
	if (k->sure[e->id]) {
		where = NULL;
		divergent = false;
	}
	if (k->seen[e->id] || (where && k->under[e->id] == where) || (divergent && k->divergent[e->id]) ||
	    ++k->visits > MAX_VISITS)
		return;
	k->seen[e->id] = k->sure[e->id];
	k->under[e->id] = where;
	k->divergent[e->id] |= divergent;
	if (e->op == IR_LOAD && !divergent)
		found_load(k->l, e, where);
	if (e->op == IR_SELECT && !divergent && is_shared(k->l, e->arg[0])) {
		expr here = case_of(k, e->arg[0]), other = ir_unary(IR_NOT, here);
		look_at(k, e->arg[1], where ? ir_binary(IR_AND, where, here) : here, false);
		look_at(k, e->arg[2], where ? ir_binary(IR_AND, where, other) : other, false);
		return;
	}
	bool lazy = e->op == IR_SELECT || e->op == IR_AND || e->op == IR_OR;
	for (int i = 0; i < e->n; i++)
		look_at(k, e->arg[i], lazy && i ? NULL : where, divergent || (lazy && i));
}

static void mark_case(void *user, expr e)
{
	struct look *k = user;
	vec_each (c, &k->cases)
		c->used |= c->variable == e;
}

static void name_loads(struct vector_loads *l)
{
	for (int i = 0; i < l->found.n; i++) {
		const char *buffer = l->found.at[i].load->buf->name;
		bool again = false; /* number further vectors of the same buffer */
		for (int j = 0; j < i; j++)
			again |= l->found.at[j].load->buf == l->found.at[i].load->buf;
		enum type t = l->found.at[i].load->type;
		l->found.at[i].array = again ? ir_variable_new(l->p->pool, t, "%s_v%d", buffer, i + 1)
		                             : ir_variable_new(l->p->pool, t, "%s_v", buffer);
	}
}

void vector_loads_find(struct vector_loads *l, struct ir_program *p, expr value, int inner, expr extent, int width)
{
	struct arena *scratch = arena_new();
	struct look k = { .l = l, .scratch = scratch };
	k.sure = NEWN(scratch, bool, value->id + 1);
	k.seen = NEWN(scratch, bool, value->id + 1);
	k.under = NEWN(scratch, expr, value->id + 1);
	k.divergent = NEWN(scratch, bool, value->id + 1);
	ir_mark_unconditional(value, k.sure);
	*l = (struct vector_loads){ .p = p, .value = value, .inner = inner, .extent = extent, .width = width };
	look_at(&k, value, NULL, false);
	int n = 0;
	for (int i = 0; i < l->found.n; i++) { /* drop loads that are also read under unknown conditions */
		struct vector_load *f = &l->found.at[i];
		if (f->where && (k.divergent[f->load->id] || k.visits > MAX_VISITS))
			continue;
		if (f->where)
			ir_walk(f->where, mark_case, &k);
		l->found.at[n++] = *f;
	}
	l->found.n = n;
	expr *what = NEWN(scratch, expr, k.cases.n + 1), *with = NEWN(scratch, expr, k.cases.n + 1);
	vec_each (c, &k.cases) {
		if (!c->used)
			continue;
		what[l->cases.n] = c->cond;
		with[l->cases.n] = c->variable;
		vec_push(p->arena, &l->cases, ((struct vector_cond){ c->cond, c->variable }));
	}
	share_vectors(l);
	join_opposite(l);
	l->value = l->cases.n ? substitute(&(struct substitution){ what, with, l->cases.n }, value) : value;
	name_loads(l);
	arena_free(scratch);
}

/* ---- Statements. */

void vector_loads_axes(const struct vector_loads *l, expr same, bool *used)
{
	vec_each (c, &l->cases)
		ir_mark_axes(c->cond, used);
	vec_each (f, &l->found) {
		for (expr load = f->load; f->like < 0 && load; load = load == f->load ? f->other : NULL) {
			expr flat = ir_flat(l->p->pool, load->buf, load->arg);
			if (f->parts > 1 || !same || ir_binary(IR_SUB, flat, same)->varies)
				ir_mark_axes(flat, used);
		}
	}
}

/* Start position of one part of a load. */
static expr start_of(const struct vector_loads *l, const struct vector_load *f, int which, const struct axes *start)
{
	struct ir_pool *pool = l->p->pool;
	int parts = f->pairs ? 2 : f->parts;
	expr part = part_of(l, f->load, parts, which), flat = ir_flat(pool, part->buf, part->arg), axis[IR_MAX_RANK];
	if (f->pairs)
		flat = ir_binary(IR_SUB, flat, ir_index(pool, 1));
	if (parts == 1 && start->same) {
		expr difference = ir_binary(IR_SUB, flat, start->same);
		if (!difference->varies)
			return ir_binary(IR_ADD, start->same_as, difference);
	}
	struct axes here = *start;
	for (int k = 0; k < IR_MAX_RANK; k++)
		axis[k] = start->value[k];
	axis[l->inner] = ir_binary(IR_FLOORDIV, axis[l->inner], ir_index(pool, parts));
	here.value = axis;
	here.same = parts == 1 ? start->same : NULL;
	return to_kernel(l->p, flat, &here);
}

/* Start position of the vector of a load that is no more than one. */
static expr place_of(const struct vector_loads *l, const struct vector_load *f, const struct axes *start)
{
	struct vector_load other = *f;
	expr place = start_of(l, f, 0, start);
	if (!f->other)
		return place;
	other.load = f->other;
	expr elsewhere = start_of(l, &other, 0, start), apart = ir_binary(IR_SUB, place, elsewhere);
	return apart->varies ? ir_select(f->where, place, elsewhere)
	                     : ir_binary(IR_ADD, elsewhere, ir_select(f->where, apart, ir_index(l->p->pool, 0)));
}

/* Emits the parts, and copies each element from its part. */
static void emit_parts(const struct vector_loads *l, struct ir_block *b, const struct vector_load *f,
                       const struct axes *start)
{
	struct ir_program *p = l->p;
	struct ir_variable *part[MAX_PARTS];
	expr at[MAX_PARTS], v;
	for (int i = 0; i < f->parts; i++) {
		at[i] = start_of(l, f, i, start);
		bool same = i && at[i] == at[i - 1]; /* each is repeated */
		part[i] = same ? part[i - 1] : ir_variable_new(p->pool, f->load->type, "part%d_%s", i, f->array->hint);
		if (!same)
			emit_load_vector(p, b, f->load->buf, at[i], part[i], l->width / f->parts);
	}
	struct ir_block *items = emit_unrolled(p, b, "v", l->width / f->parts, &v);
	for (int i = 0; i < f->parts; i++) {
		expr lane = ir_binary(IR_ADD, ir_binary(IR_MUL, v, ir_index(p->pool, f->parts)), ir_index(p->pool, i));
		emit_set(p, items, f->array, lane, item_of(part[i], v));
	}
}

/* The axes that a load's position and conditions depend on. */
static void axes_of_load(const struct vector_loads *l, const struct vector_load *f, bool *used)
{
	for (expr load = f->load; load; load = load == f->load ? f->other : NULL)
		ir_mark_axes(ir_flat(l->p->pool, load->buf, load->arg), used);
	vec_each (c, &l->cases)
		if (f->where && ir_contains(f->where, c->variable))
			ir_mark_axes(c->cond, used);
}

static void emit_one(const struct vector_loads *l, struct ir_block *b, const struct vector_load *f,
                     const struct axes *start)
{
	struct ir_program *p = l->p;
	bool conditional = f->where && !f->other, declared = conditional || f->parts > 1;
	if (declared)
		emit_array(p, b, f->array, l->width);
	struct ir_block *in = conditional ? emit_if(p, b, f->where) : b;
	if (f->parts > 1)
		emit_parts(l, in, f, start);
	else if (declared)
		emit_load_into(p, in, f->load->buf, place_of(l, f, start), f->array, NULL, l->width);
	else
		emit_load_vector(p, in, f->load->buf, place_of(l, f, start), f->array, l->width);
}

static void emit_all(const struct vector_loads *l, struct ir_block *b, const struct axes *start, int axis, bool along)
{
	vec_each (c, &l->cases) {
		bool used[IR_MAX_RANK] = { false };
		ir_mark_axes(c->cond, used);
		if (axis < 0 || used[axis] == along)
			emit_define(l->p, b, c->variable->var, to_kernel(l->p, c->cond, start), NULL);
	}
	vec_each (f, &l->found) {
		bool used[IR_MAX_RANK] = { false };
		axes_of_load(l, f, used);
		if (f->like < 0 && (axis < 0 || used[axis] == along))
			emit_one(l, b, f, start);
	}
}

void vector_loads_emit(const struct vector_loads *l, struct ir_block *b, const struct axes *start)
{
	emit_all(l, b, start, -1, true);
}

void vector_loads_emit_along(const struct vector_loads *l, struct ir_block *b, const struct axes *start, int axis,
                             bool along)
{
	emit_all(l, b, start, axis, along);
}

int vector_loads_accesses(const struct vector_loads *l, expr load)
{
	enum { WIDEST = 16 * 8 };
	vec_each (f, &l->found) {
		int bits = type_info(load->type)->bits * l->width / f->parts;
		/* The estimates are fitted with each of two opposite loads. */
		bool opposite = f->like >= 0 && l->found.at[f->like].other == load;
		if (f->load == load)
			return f->like < 0 || opposite ? f->parts * ((bits + WIDEST - 1) / WIDEST) : 0;
	}
	return -1;
}

expr vector_loads_lane(void *user, expr e, expr flat)
{
	const struct vector_loads *l = user;
	(void)flat;
	vec_each (f, &l->found) {
		expr one = ir_index(l->p->pool, 1), lane = f->pairs ? ir_binary(IR_BITXOR, l->lane, one) : l->lane;
		if (f->load == e)
			return item_of(f->like < 0 ? f->array : l->found.at[f->like].array, lane);
	}
	return NULL;
}
