/* Recognises the stages of attention. See attend.h. */
#include "sched/attend/attend.h"
#include "sched/build/stored.h"

#include <string.h>

/* The result of a matched stage: one element per query and key, or one number per row. */
struct link {
	const struct ir_buffer *buf;
	expr is;
	bool of_row;
};

struct match {
	struct attend *a;
	struct link link[ATTEND_MAX_STAGES];
	int links;
	expr row_at, element_at; /* row-major positions in the rows, and in the scores */
	expr score, exponential;
	expr result_axis[IR_MAX_RANK];
	const char *why;
};

static bool fail(struct match *m, const char *why)
{
	m->why = why;
	return false;
}

static expr variable(const struct attend *a, enum type t, const char *name)
{
	return ir_var_of(ir_variable_new(a->p->pool, t, "%s", name), NULL);
}

expr attend_largest(const struct attend *a)
{
	return a->of_row[0];
}

expr attend_sum(const struct attend *a)
{
	return a->of_row[1];
}

expr attend_queries(const struct attend *a)
{
	return ir_binary(IR_MUL, a->dim[a->tile], ir_index(a->p->pool, a->group));
}

/* ---- Translating a stage's expression to the common space. ---- */

struct translation {
	const struct match *m;
	const expr *axis;
	expr acc;
	bool fine;
};

static expr translate_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct translation *t = user;
	if (e->op == IR_AXIS)
		return t->axis[e->i];
	if (e->op == IR_ACC)
		return t->acc;
	if (e->op != IR_LOAD)
		return NULL;
	for (int i = 0; i < t->m->links; i++) {
		const struct link *l = &t->m->link[i];
		if (l->buf != e->buf)
			continue;
		t->fine &= ir_flat(pool, e->buf, arg) == (l->of_row ? t->m->row_at : t->m->element_at);
		return l->is;
	}
	return NULL;
}

/* Returns null if e reads a matched stage's result at another position than its own. */
static expr translate(const struct match *m, expr e, const expr *axis, expr acc)
{
	struct translation t = { m, axis, acc, true };
	e = ir_copy(m->a->p->pool, e, translate_leaf, &t);
	return t.fine ? e : NULL;
}

/* The axes of a space of these extents at the flat position `flat`. */
static void axes_at(int rank, const expr *dim, expr flat, expr *axis)
{
	for (int k = rank - 1; k >= 0; k--) {
		axis[k] = k ? ir_binary(IR_MOD, flat, dim[k]) : flat;
		flat = ir_binary(IR_FLOORDIV, flat, dim[k]);
	}
}

static expr product_of(struct ir_program *p, int n, const expr *dim)
{
	expr x = ir_index(p->pool, 1);
	for (int i = 0; i < n; i++)
		x = ir_binary(IR_MUL, x, dim[i]);
	return x;
}

struct axis_use {
	int axis;
	bool found;
};

static void find_axis(void *user, expr e)
{
	struct axis_use *u = user;
	u->found |= e->op == IR_AXIS && e->i == u->axis;
}

static bool uses_axis(expr e, int axis)
{
	struct axis_use u = { axis, false };
	ir_walk(e, find_axis, &u);
	return u.found;
}

/* True if e depends on the scores. */
static void find_variable(void *user, expr e)
{
	*(bool *)user |= e->op == IR_VAR;
}

static bool uses_scores(expr e)
{
	bool found = false;
	ir_walk(e, find_variable, &found);
	return found;
}

/* ---- A stage's axes, from its indices. ---- */

/* Solves for a stage's axes. Each of `n` indices is an axis of the stage, its quotient or remainder by a number, or 0;
 * `is` gives their values in the common space. At most one axis, or the remainder of a divided one, may be missing: it
 * is `free`, with extent *left. */
static bool axes_from(struct match *m, int rank, const expr *dim, int n, const expr *index, const expr *is, expr *axis,
                      int64_t *left)
{
	struct ir_program *p = m->a->p;
	expr free = NULL;
	*left = 1;
	for (int k = 0; k < rank; k++) {
		expr own = ir_axis(p->pool, k, dim[k]), outer = NULL, inner = NULL, by = NULL;
		axis[k] = ir_is_int(dim[k], 1) ? ir_index(p->pool, 0) : NULL;
		for (int i = 0; i < n && !axis[k]; i++) {
			bool divided = index[i]->op == IR_FLOORDIV || index[i]->op == IR_MOD;
			if (index[i] == own)
				axis[k] = is[i];
			if (!divided || index[i]->arg[0] != own || (by && by != index[i]->arg[1]))
				continue;
			by = index[i]->arg[1];
			if (index[i]->op == IR_FLOORDIV)
				outer = is[i];
			else
				inner = is[i];
		}
		if (axis[k])
			continue;
		expr extent = by ? by : dim[k];
		if ((by && !outer) || (!inner && (free || !ir_const_int(extent, left))))
			return false;
		if (!inner)
			inner = free = ir_axis(p->pool, m->a->rows + 1, extent);
		axis[k] = by ? ir_binary(IR_ADD, ir_binary(IR_MUL, outer, by), inner) : inner;
	}
	return true;
}

/* ---- The stages, one by one. ---- */

static void add_link(struct match *m, const struct ir_stage *s, expr is, bool of_row)
{
	m->link[m->links++] = (struct link){ s->out, is, of_row };
}

static bool real(enum type t)
{
	return t == TYPE_F32 || t == TYPE_F64;
}

/* The scores: sums of products of a query and a key. */
static bool take_scores(struct match *m, const struct ir_stage *s)
{
	struct attend *a = m->a;
	struct ir_program *p = a->p;
	expr axis[IR_MAX_RANK + 1];
	int64_t size;
	if (s->kind != IR_REDUCE || s->combine != IR_SUM || s->space_rank != 1 || s->out->rank < 2)
		return fail(m, "no matrix product that could compute attention scores");
	if (!ir_const_int(s->space[0], &size) || size < 1 || size > ATTEND_MAX_SIZE || s->out->rank + 2 > IR_MAX_RANK)
		return fail(m, "the head size is not a constant, or too large");
	if (s->value->op != IR_MUL || !real(s->value->type))
		return fail(m, "the scores are not sums of products");
	a->rows = s->out->rank - 1;
	a->size = (int)size;
	m->row_at = ir_index(p->pool, 0);
	for (int k = 0; k <= a->rows; k++) {
		a->dim[k] = s->out->dim[k];
		axis[k] = ir_axis(p->pool, k, a->dim[k]);
		if (k < a->rows)
			m->row_at = ir_binary(IR_ADD, ir_binary(IR_MUL, m->row_at, a->dim[k]), axis[k]);
	}
	m->element_at = ir_binary(IR_ADD, ir_binary(IR_MUL, m->row_at, a->dim[a->rows]), axis[a->rows]);
	axis[a->rows + 1] = ir_axis(p->pool, a->rows + 1, s->space[0]);
	a->product = variable(a, s->value->type, "product_here");
	expr post = s->post ? s->post : ir_cast(ir_acc(p->pool, s->value->type), s->out->type);
	post = translate(m, post, axis, a->product);
	a->query = s->value->arg[0]; /* already over the common space */
	a->key = s->value->arg[1];
	if (uses_axis(a->query, a->rows)) {
		a->query = s->value->arg[1];
		a->key = s->value->arg[0];
	}
	if (uses_axis(a->query, a->rows) || !uses_axis(a->key, a->rows))
		return fail(m, "the products are not of a query element and a key element");
	add_link(m, s, post, false);
	return true;
}

/* A map of scores. */
static bool take_map(struct match *m, const struct ir_stage *s)
{
	expr axis[IR_MAX_RANK], value;
	if (product_of(m->a->p, s->out->rank, s->out->dim) != product_of(m->a->p, m->a->rows + 1, m->a->dim))
		return fail(m, "a map between the scores and the softmax has another shape");
	axes_at(s->out->rank, s->out->dim, m->element_at, axis);
	value = translate(m, s->value, axis, NULL);
	if (!value || !uses_scores(value))
		return fail(m, "a map between the scores and the softmax reads other scores than its own");
	add_link(m, s, value, false);
	return true;
}

/* Returns true if s is a reduction over the keys; sets its value and its post expression. */
static bool over_keys(struct match *m, const struct ir_stage *s, expr acc, expr *value, expr *post)
{
	struct attend *a = m->a;
	expr axis[IR_MAX_RANK + 1];
	if (s->space_rank != 1 || s->space[0] != a->dim[a->rows] || s->out->rank + 1 > IR_MAX_RANK ||
	    product_of(a->p, s->out->rank, s->out->dim) != product_of(a->p, a->rows, a->dim))
		return false;
	axes_at(s->out->rank, s->out->dim, m->row_at, axis);
	axis[s->out->rank] = ir_axis(a->p->pool, a->rows, s->space[0]);
	*value = translate(m, s->value, axis, NULL);
	*post = translate(m, s->post ? s->post : ir_cast(ir_acc(a->p->pool, s->value->type), s->out->type), axis, acc);
	return *value && *post;
}

static bool take_largest(struct match *m, const struct ir_stage *s)
{
	struct attend *a = m->a;
	a->seen = variable(a, s->value->type, "largest_here");
	if (!over_keys(m, s, a->seen, &m->score, &a->largest) || !uses_scores(m->score) || !real(m->score->type) ||
	    a->largest->type != m->score->type)
		return fail(m, "no maximum of the scores over the keys");
	a->score = m->score;
	a->of_row[0] = variable(a, a->largest->type, "largest_of_row");
	add_link(m, s, attend_largest(a), true);
	return true;
}

static bool take_sum(struct match *m, const struct ir_stage *s)
{
	struct attend *a = m->a;
	expr value;
	a->added = variable(a, s->value->type, "sum_here");
	if (!over_keys(m, s, a->added, &value, &a->sum) || value->op != IR_EXP || value->arg[0]->op != IR_SUB ||
	    value->arg[0]->arg[0] != m->score || value->arg[0]->arg[1] != attend_largest(a))
		return fail(m, "no sum of exponentials of the scores minus their maximum");
	m->exponential = value;
	a->of_row[1] = variable(a, a->sum->type, "sum_of_row");
	add_link(m, s, attend_sum(a), true);
	return true;
}

/* ---- The result: a weighted sum of values. ---- */

struct first_read {
	const struct match *m;
	expr load;
};

static void find_read(void *user, expr e)
{
	struct first_read *r = user;
	for (int i = 0; i < r->m->links && e->op == IR_LOAD && !r->load; i++)
		if (r->m->link[i].buf == e->buf && !r->m->link[i].of_row)
			r->load = e;
}

/* The total divided by the sum of exponentials, in place of each weight; not if there are no keys. */
static expr divided(struct attend *a, expr total)
{
	expr none = ir_binary(IR_EQ, a->dim[a->rows], ir_index(a->p->pool, 0));
	return ir_select(none, total, ir_binary(IR_DIV, total, attend_sum(a)));
}

/* True if e is exponential / sum, a softmax weight. */
static bool is_quotient(const struct match *m, expr e)
{
	return e->op == IR_DIV && e->arg[0] == m->exponential && e->arg[1] == attend_sum(m->a);
}

/* Removes a test of weights for NaN, which gives 0: PyTorch exports it for rows in which a mask hides all keys. If a
 * weight of a row is NaN, so are the row's sum of exponentials and all of its weights. */
static expr without_nan(const struct match *m, expr e, bool *zeroed)
{
	if (e->op == IR_CAST && type_is_float(e->type) && type_is_float(e->arg[0]->type))
		return ir_cast(without_nan(m, e->arg[0], zeroed), e->type);
	if (e->op != IR_SELECT || e->arg[0]->op != IR_ISNAN || e->arg[1]->op != IR_CONST_FLOAT || e->arg[1]->f != 0)
		return e;
	expr tested = e->arg[0]->arg[0], weight = e->arg[2];
	while (tested->op == IR_CAST)
		tested = tested->arg[0];
	while (weight->op == IR_CAST)
		weight = weight->arg[0];
	if (tested != weight || !is_quotient(m, weight))
		return e;
	*zeroed = true;
	return e->arg[2];
}

static expr nan_to_zero(const struct attend *a, expr total, bool zeroed)
{
	expr zero = ir_cast(ir_index(a->p->pool, 0), total->type);
	return zeroed ? ir_select(ir_unary(IR_ISNAN, attend_sum(a)), zero, total) : total;
}

static bool take_result(struct match *m, const struct ir_stage *s)
{
	struct attend *a = m->a;
	struct ir_program *p = a->p;
	bool zeroed = false;
	struct first_read read = { m, NULL };
	expr axis[IR_MAX_RANK + 1], is[IR_MAX_RANK], value;
	int64_t left;
	if (s->kind != IR_REDUCE || s->combine != IR_SUM || s->space_rank != 1 || s->space[0] != a->dim[a->rows] ||
	    s->value->op != IR_MUL || !real(s->value->type) || s->out->rank + 1 > IR_MAX_RANK)
		return fail(m, "no weighted sum over the keys");
	ir_walk(s->value, find_read, &read);
	if (!read.load)
		return fail(m, "the sum over the keys does not use the scores");
	axes_at(read.load->buf->rank, read.load->buf->dim, m->element_at, is);
	if (!axes_from(m, s->out->rank, s->out->dim, read.load->n, read.load->arg, is, axis, &left) ||
	    left > ATTEND_MAX_SIZE)
		return fail(m, "the result's axes are not the queries' and the head's");
	a->value_size = (int)left;
	axis[s->out->rank] = ir_axis(p->pool, a->rows, s->space[0]);
	value = translate(m, s->value, axis, NULL);
	if (!value || value->op != IR_MUL)
		return fail(m, "the result reads others' scores");
	a->weight = value->arg[uses_scores(value->arg[0]) ? 0 : 1];
	a->value = value->arg[uses_scores(value->arg[0]) ? 1 : 0];
	if (!uses_scores(a->weight) || uses_scores(a->value) || uses_axis(a->weight, a->rows + 1))
		return fail(m, "the result is not a weighted sum of values");
	a->weight = without_nan(m, a->weight, &zeroed);
	a->total = variable(a, value->type, "total_here");
	expr total = a->total, post = s->post ? s->post : ir_cast(ir_acc(p->pool, value->type), s->out->type),
	     narrow = a->weight;
	if (narrow->op == IR_CAST && narrow->arg[0]->op == IR_CAST && is_quotient(m, narrow->arg[0]->arg[0])) {
		a->narrow = narrow->arg[0]->type;
		a->narrow_result = translate(m, post, axis, nan_to_zero(a, divided(a, total), zeroed));
	}
	if (is_quotient(m, a->weight)) {
		total = divided(a, total);
		a->weight = m->exponential;
	}
	if (a->weight == m->exponential)
		a->weight = NULL;
	a->result = translate(m, post, axis, nan_to_zero(a, total, zeroed));
	if (!a->result)
		return fail(m, "the result reads others' scores");
	a->out = s->out;
	a->at = ir_flat(p->pool, s->out, axis);
	memcpy(m->result_axis, axis, sizeof *axis * (size_t)s->out->rank);
	return true;
}

/* Takes a map after the result that only moves its elements: the kernel stores them there. */
static void take_moved(struct match *m, const struct ir_stage *s, const struct ir_stage *result)
{
	struct attend *a = m->a;
	struct ir_program *p = a->p;
	expr is[IR_MAX_RANK], axis[IR_MAX_RANK],
	        where = ir_axis(p->pool, a->rows + 1, ir_index(p->pool, a->value_size));
	int64_t left;
	if (s->kind != IR_MAP || s->value->op != IR_LOAD || s->value->buf != result->out ||
	    a->stages == ATTEND_MAX_STAGES ||
	    product_of(p, s->out->rank, s->out->dim) != product_of(p, result->out->rank, result->out->dim))
		return;
	for (int k = 0; k < result->out->rank; k++)
		is[k] = m->result_axis[k];
	if (!axes_from(m, s->out->rank, s->out->dim, s->value->n, s->value->arg, is, axis, &left) || left != 1 ||
	    !uses_axis(ir_flat(p->pool, s->out, axis), where->i))
		return;
	a->stage[a->stages] = s;
	for (int i = 0; i < a->stages; i++)
		if (stage_is_stored(p, a->stage, a->stages + 1, i))
			return;
	a->stages++;
	a->out = s->out;
	a->at = ir_flat(p->pool, s->out, axis);
}

static bool is_shared(const struct attend *a, int axis)
{
	return !uses_axis(a->key, axis) && !uses_axis(a->value, axis);
}

/* The largest divisor of an axis in an expression. */
struct divisor {
	int axis;
	int64_t most, by;
};

static void find_divisor(void *user, expr e)
{
	struct divisor *d = user;
	int64_t by;
	if (e->op == IR_FLOORDIV && e->arg[0]->op == IR_AXIS && e->arg[0]->i == d->axis &&
	    ir_const_int(e->arg[1], &by) && by > d->by && by <= d->most)
		d->by = by;
}

struct regrouped {
	int axis;
	expr is;
};

static expr regroup_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct regrouped *r = user;
	(void)pool;
	(void)arg;
	return e->op == IR_AXIS && e->i == r->axis ? r->is : NULL;
}

/* True if e is the same for all `group` neighbours along an axis. */
static bool is_same_in_group(const struct attend *a, expr e, int axis, int64_t group)
{
	struct ir_pool *pool = a->p->pool;
	expr by = ir_index(pool, group), groups = ir_binary(IR_FLOORDIV, a->dim[axis], by);
	expr first = ir_binary(IR_MUL, ir_axis(pool, axis, groups), by);
	struct regrouped r = { axis, ir_binary(IR_ADD, first, ir_axis(pool, a->rows + 2, by)) };
	return !uses_axis(ir_copy(pool, e, regroup_leaf, &r), a->rows + 2);
}

/* Finds the heads that share keys and values: a whole axis, or neighbours along one, as in grouped-query attention. */
static void find_group(struct attend *a)
{
	enum { MOST_HEADS = 128 };
	a->head = -1;
	a->group = 1;
	for (int k = a->rows - 1; k >= 0 && a->rows + 2 < IR_MAX_RANK; k--) {
		int64_t extent;
		struct divisor d = { k, MOST_HEADS, 1 };
		if (k == a->tile || ir_is_int(a->dim[k], 1))
			continue;
		if (!is_shared(a, k))
			ir_walk(a->key, find_divisor, &d);
		else if (ir_const_int(a->dim[k], &extent) && extent > 1 && extent <= MOST_HEADS)
			d.by = extent;
		if (d.by <= a->group || !ir_is_int(ir_binary(IR_MOD, a->dim[k], ir_index(a->p->pool, d.by)), 0) ||
		    !is_same_in_group(a, a->key, k, d.by) || !is_same_in_group(a, a->value, k, d.by))
			continue;
		a->head = k;
		a->group = (int)d.by;
	}
}

/* Finds the query axis: queries along it share keys and values. A single query has none to share them with. */
static bool find_tile(struct match *m)
{
	struct attend *a = m->a;
	for (int pass = 0; pass < 2; pass++)
		for (a->tile = a->rows - 1; a->tile >= 0; a->tile--)
			if (ir_is_int(a->dim[a->tile], 1) == (pass == 1) && is_shared(a, a->tile)) {
				find_group(a);
				return true;
			}
	return fail(m, "no axis of queries that share keys and values");
}

static bool next_stage(struct match *m, const struct ir_stage *s, bool *last)
{
	struct attend *a = m->a;
	a->stage[a->stages++] = s;
	if (a->stages == 1)
		return take_scores(m, s);
	if (s->kind == IR_MAP)
		return take_map(m, s);
	if (s->kind == IR_REDUCE && s->combine == IR_MAXIMUM && !a->largest)
		return take_largest(m, s);
	if (s->kind == IR_REDUCE && s->combine == IR_SUM && a->largest && !a->sum)
		return take_sum(m, s);
	*last = true;
	return a->sum ? take_result(m, s) && find_tile(m) : fail(m, "no softmax after the products");
}

bool attend_match(struct attend *out, struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct match m = { .a = out };
	int first = 0;
	bool last = false, fine = true;
	*out = (struct attend){ .p = p };
	while (first < p->stages.n && p->stages.at[first] != s)
		first++;
	for (int i = first; fine && !last; i++) {
		if (i >= p->stages.n || out->stages == ATTEND_MAX_STAGES)
			fine = fail(&m, "no weighted sum over the keys");
		else
			fine = next_stage(&m, p->stages.at[i], &last);
		if (fine && last && i + 1 < p->stages.n)
			take_moved(&m, p->stages.at[i + 1], p->stages.at[i]);
	}
	for (int i = 0; fine && i + 1 < out->stages; i++)
		if (stage_is_stored(p, out->stage, out->stages, i))
			fine = fail(&m, "another stage reads the scores, or results made from them");
	*why = m.why;
	return fine;
}
