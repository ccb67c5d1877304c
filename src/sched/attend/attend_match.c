/* Recognises the stages of attention. See attend.h. */
#include "sched/attend/attend_match.h"
#include "sched/build/axes.h"
#include "sched/build/stored.h"

#include <string.h>

static bool fail(struct attend_match *m, const char *why)
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

/* ---- The stages, one by one. ---- */

static void add_link(struct attend_match *m, const struct ir_stage *s, expr is, bool of_row)
{
	m->link[m->links++] = (struct attend_link){ .buf = s->out, .is = is, .of_row = of_row };
}

static bool real(enum type t)
{
	return t == TYPE_F32 || t == TYPE_F64;
}

/* The scores: sums of products of a query and a key. */
static bool take_scores(struct attend_match *m, const struct ir_stage *s)
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
	post = attend_translate(m, post, axis, a->product);
	a->query = s->value->arg[0]; /* already over the common space */
	a->key = s->value->arg[1];
	if (attend_uses_axis(a->query, a->rows)) {
		a->query = s->value->arg[1];
		a->key = s->value->arg[0];
	}
	if (attend_uses_axis(a->query, a->rows) || !attend_uses_axis(a->key, a->rows))
		return fail(m, "the products are not of a query element and a key element");
	add_link(m, s, post, false);
	return true;
}

struct link_use {
	const struct attend_match *m;
	bool found;
};

static void find_link(void *user, expr e)
{
	struct link_use *u = user;
	for (int i = 0; i < u->m->links && e->op == IR_LOAD; i++)
		u->found |= u->m->link[i].buf == e->buf;
}

/* A map of scores, or one of other tensors that is cheap to compute for each score. */
static bool take_map(struct attend_match *m, const struct ir_stage *s)
{
	enum { CHEAP = 24 };
	struct link_use links = { m, false };
	expr axis[IR_MAX_RANK], value;
	ir_walk(s->value, find_link, &links);
	if (!links.found && ir_cost(s->value) <= CHEAP && !type_is_packed(s->out->type)) {
		m->link[m->links++] = (struct attend_link){ .buf = s->out, .aside = s };
		return true;
	}
	if (attend_product_of(m->a->p, s->out->rank, s->out->dim) !=
	    attend_product_of(m->a->p, m->a->rows + 1, m->a->dim))
		return fail(m, "a map between the scores and the softmax has another shape");
	attend_axes_at(s->out->rank, s->out->dim, m->element_at, axis);
	value = attend_translate(m, s->value, axis, NULL);
	if (!value || !attend_uses_scores(value))
		return fail(m, "a map between the scores and the softmax reads other scores than its own");
	add_link(m, s, value, false);
	return true;
}

/* Returns true if s is a reduction over the keys; sets its value and its post expression. */
static bool over_keys(struct attend_match *m, const struct ir_stage *s, expr acc, expr *value, expr *post)
{
	struct attend *a = m->a;
	expr axis[IR_MAX_RANK + 1];
	if (s->space_rank != 1 || s->space[0] != a->dim[a->rows] || s->out->rank + 1 > IR_MAX_RANK ||
	    attend_product_of(a->p, s->out->rank, s->out->dim) != attend_product_of(a->p, a->rows, a->dim))
		return false;
	attend_axes_at(s->out->rank, s->out->dim, m->row_at, axis);
	axis[s->out->rank] = ir_axis(a->p->pool, a->rows, s->space[0]);
	*value = attend_translate(m, s->value, axis, NULL);
	*post = attend_translate(m, s->post ? s->post : ir_cast(ir_acc(a->p->pool, s->value->type), s->out->type), axis,
	                         acc);
	return *value && *post;
}

/* The argument of a rounding to type t that is widened to f32 again; null if e is none. */
static expr rounded_to(expr e, enum type t)
{
	bool rounds = e->op == IR_CAST && e->type == TYPE_F32 && e->arg[0]->op == IR_CAST && e->arg[0]->type == t;
	return rounds && e->arg[0]->arg[0]->type == TYPE_F32 ? e->arg[0]->arg[0] : NULL;
}

/* Makes the variable for a result of each row, of_row[i]. A stage may store the result in the scores' 16-bit type: the
 * variable is f32, and has the stored value. Returns false if the type is another. */
static bool take_row(struct attend_match *m, const struct ir_stage *s, int i, expr *result, const char *name)
{
	enum type stored = (*result)->type, computed = m->score->type;
	if (stored != computed && stored != m->score_type)
		return false;
	*result = ir_cast(*result, computed);
	expr v = m->a->of_row[i] = variable(m->a, computed, name), is = ir_cast(v, stored);
	if (stored != computed)
		m->stored_row[i] = ir_cast(is, computed);
	add_link(m, s, is, true);
	return true;
}

static bool take_largest(struct attend_match *m, const struct ir_stage *s)
{
	struct attend *a = m->a;
	a->seen = variable(a, s->value->type, "largest_here");
	if (!over_keys(m, s, a->seen, &m->score, &a->largest) || !attend_uses_scores(m->score) || !real(m->score->type))
		return fail(m, "no maximum of the scores over the keys");
	m->score_type = m->score->type;
	if (m->score->op == IR_CAST && m->score->type == TYPE_F32 && type_info(m->score->arg[0]->type)->bits == 16)
		m->score_type = m->score->arg[0]->type;
	if (!take_row(m, s, 0, &a->largest, "largest_of_row"))
		return fail(m, "no maximum of the scores over the keys");
	if (rounded_to(a->largest, m->score_type) == a->seen) /* it is a score, which is rounded already */
		a->largest = a->seen;
	a->score = m->score;
	return true;
}

/* True if e is the exponential of a score minus the largest. The model may round the difference and the exponential to
 * the type of its scores. The kernel leaves out the former, which is no larger than the scores' own rounding, and adds
 * exponentials before it rounds them: the weights only become more exact. */
static bool is_exponential(const struct attend_match *m, expr e)
{
	expr inner = rounded_to(e, m->score_type);
	e = inner ? inner : e;
	if (e->op != IR_EXP)
		return false;
	inner = rounded_to(e->arg[0], m->score_type);
	e = inner ? inner : e->arg[0];
	return e->op == IR_SUB && e->arg[0] == m->score && e->arg[1] == attend_largest(m->a);
}

static bool take_sum(struct attend_match *m, const struct ir_stage *s)
{
	struct attend *a = m->a;
	expr value;
	a->added = variable(a, s->value->type, "sum_here");
	if (!over_keys(m, s, a->added, &value, &a->sum) || !is_exponential(m, value) ||
	    !take_row(m, s, 1, &a->sum, "sum_of_row"))
		return fail(m, "no sum of exponentials of the scores minus their maximum");
	m->exponential = ir_unary(IR_EXP, ir_binary(IR_SUB, m->score, attend_largest(a)));
	m->rounded_exponential = value;
	return true;
}

/* ---- The result: a weighted sum of values. ---- */

struct first_read {
	const struct attend_match *m;
	expr load;
};

static void find_read(void *user, expr e)
{
	struct first_read *r = user;
	for (int i = 0; i < r->m->links && e->op == IR_LOAD && !r->load; i++)
		if (r->m->link[i].buf == e->buf && !r->m->link[i].of_row && !r->m->link[i].aside)
			r->load = e;
}

/* The total divided by the sum of exponentials, in place of each weight; not if there are no keys. */
static expr divided(struct attend *a, expr total)
{
	expr none = ir_binary(IR_EQ, a->dim[a->rows], ir_index(a->p->pool, 0));
	return ir_select(none, total, ir_binary(IR_DIV, total, attend_sum(a)));
}

/* True if e is exponential / sum, a softmax weight. */
static bool is_quotient(const struct attend_match *m, expr e)
{
	return e->op == IR_DIV && e->arg[0] == m->exponential && e->arg[1] == attend_sum(m->a);
}

/* Removes a test of weights for NaN, which gives 0: PyTorch exports it for rows in which a mask hides all keys. If a
 * weight of a row is NaN, so are the row's sum of exponentials and all of its weights. */
static expr without_nan(const struct attend_match *m, expr e, bool *zeroed)
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

static bool take_result(struct attend_match *m, const struct ir_stage *s)
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
	attend_axes_at(read.load->buf->rank, read.load->buf->dim, m->element_at, is);
	if (!attend_axes_from(m, s->out->rank, s->out->dim, read.load->n, read.load->arg, is, axis, &left) ||
	    left > ATTEND_MAX_SIZE)
		return fail(m, "the result's axes are not the queries' and the head's");
	a->value_size = (int)left;
	axis[s->out->rank] = ir_axis(p->pool, a->rows, s->space[0]);
	value = attend_translate(m, s->value, axis, NULL);
	if (!value || value->op != IR_MUL)
		return fail(m, "the result reads others' scores");
	a->weight = value->arg[attend_uses_scores(value->arg[0]) ? 0 : 1];
	a->value = value->arg[attend_uses_scores(value->arg[0]) ? 1 : 0];
	if (!attend_uses_scores(a->weight) || attend_uses_scores(a->value) || attend_uses_axis(a->weight, a->rows + 1))
		return fail(m, "the result is not a weighted sum of values");
	a->weight = substitute(&(struct substitution){ &m->rounded_exponential, &m->exponential, 1 }, a->weight);
	a->weight = without_nan(m, a->weight, &zeroed);
	a->total = variable(a, value->type, "total_here");
	expr total = a->total, post = s->post ? s->post : ir_cast(ir_acc(p->pool, value->type), s->out->type),
	     narrow = a->weight;
	if (narrow->op == IR_CAST && narrow->arg[0]->op == IR_CAST && is_quotient(m, narrow->arg[0]->arg[0])) {
		a->narrow = narrow->arg[0]->type;
		a->narrow_result = attend_translate(m, post, axis, nan_to_zero(a, divided(a, total), zeroed));
	}
	if (is_quotient(m, a->weight)) {
		total = divided(a, total);
		a->weight = m->exponential;
	}
	if (a->weight == m->exponential)
		a->weight = NULL;
	a->result = attend_translate(m, post, axis, nan_to_zero(a, total, zeroed));
	if (!a->result)
		return fail(m, "the result reads others' scores");
	a->out = s->out;
	a->at = ir_flat(p->pool, s->out, axis);
	memcpy(m->result_axis, axis, sizeof *axis * (size_t)s->out->rank);
	return true;
}

/* Takes a map after the result that only moves its elements: the kernel stores them there. */
static void take_moved(struct attend_match *m, const struct ir_stage *s, const struct ir_stage *result)
{
	struct attend *a = m->a;
	struct ir_program *p = a->p;
	expr is[IR_MAX_RANK], axis[IR_MAX_RANK],
	        where = ir_axis(p->pool, a->rows + 1, ir_index(p->pool, a->value_size));
	int64_t left;
	if (s->kind != IR_MAP || s->value->op != IR_LOAD || s->value->buf != result->out ||
	    a->stages == ATTEND_MAX_STAGES ||
	    attend_product_of(p, s->out->rank, s->out->dim) !=
	            attend_product_of(p, result->out->rank, result->out->dim))
		return;
	for (int k = 0; k < result->out->rank; k++)
		is[k] = m->result_axis[k];
	if (!attend_axes_from(m, s->out->rank, s->out->dim, s->value->n, s->value->arg, is, axis, &left) || left != 1 ||
	    !attend_uses_axis(ir_flat(p->pool, s->out, axis), where->i))
		return;
	a->stage[a->stages] = s;
	for (int i = 0; i < a->stages; i++)
		if (stage_is_stored(p, a->stage, a->stages + 1, i))
			return;
	a->stages++;
	a->out = s->out;
	a->at = ir_flat(p->pool, s->out, axis);
}

static bool next_stage(struct attend_match *m, const struct ir_stage *s, bool *last)
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
	if (!a->sum)
		return fail(m, "no softmax after the products");
	if (!take_result(m, s))
		return false;
	return attend_find_tile(a) ? true : fail(m, "no axis of queries that share keys and values");
}

bool attend_match(struct attend *out, struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct attend_match m = { .a = out };
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
