/* Recognises attention that tensor cores can run. See attend_mma.h. */
#include "sched/attend/attend_mma.h"
#include "sched/build/axes.h"

#include <math.h>

static bool half(enum type t)
{
	return t == TYPE_F16 || t == TYPE_BF16;
}

/* ---- Operands. ---- */

static expr along(const struct attend_mma *m, int size)
{
	return ir_axis(m->a.p->pool, m->a.rows + 1, ir_index(m->a.p->pool, size));
}

/* True if `vector` elements from each multiple of `vector` along a head are contiguous and aligned to `vector`. */
static bool is_contiguous(const struct attend_mma *m, expr flat, int size, int vector)
{
	expr stride = ir_stride(flat, m->a.rows + 1);
	if (size % vector || !stride || !ir_is_int(stride, 1))
		return false;
	expr rest = ir_binary(IR_SUB, flat, along(m, size));
	return ir_is_int(ir_binary(IR_MOD, rest, ir_index(m->a.p->pool, vector)), 0);
}

/* The load that e widens to f32; null: something else, or elements that are not contiguous. */
static expr loaded(const struct attend_mma *m, expr e, int size, int vector)
{
	if (e->op != IR_CAST || e->arg[0]->op != IR_LOAD || !half(e->arg[0]->type))
		return NULL;
	expr load = e->arg[0];
	return is_contiguous(m, ir_flat(m->a.p->pool, load->buf, load->arg), size, vector) ? load : NULL;
}

/* The same for transposed keys, where an element of neighbouring keys is contiguous. */
static expr loaded_turned(const struct attend_mma *m, expr e)
{
	const struct attend *a = &m->a;
	expr keys = a->dim[a->rows], eight = ir_index(a->p->pool, 8);
	if (e->op != IR_CAST || e->arg[0]->op != IR_LOAD || !half(e->arg[0]->type) ||
	    !ir_is_int(ir_binary(IR_MOD, keys, eight), 0))
		return NULL;
	expr load = e->arg[0], flat = ir_flat(a->p->pool, load->buf, load->arg), stride = ir_stride(flat, a->rows);
	if (!stride || !ir_is_int(stride, 1))
		return NULL;
	expr rest = ir_binary(IR_SUB, flat, ir_axis(a->p->pool, a->rows, keys));
	return ir_is_int(ir_binary(IR_MOD, rest, eight), 0) ? load : NULL;
}

/* The factor in e = x * factor or x / (1 / factor), if it is a positive constant that is at most 1; else null. */
static expr factor_of(expr e)
{
	if ((e->op != IR_MUL && e->op != IR_DIV) || e->arg[1]->op != IR_CONST_FLOAT || !(e->arg[1]->f > 0))
		return NULL;
	double by = e->op == IR_MUL ? e->arg[1]->f : 1 / e->arg[1]->f;
	return by <= 1 ? ir_float(e->pool, e->type, by) : NULL;
}

/* Moves the factor of keys that are scaled, and rounded again, to the products: f16(key * c) becomes key. One rounding
 * less only makes the scores more exact, since c is positive and at most 1. */
static expr without_scale(struct attend_mma *m, expr key)
{
	struct attend *a = &m->a;
	expr scaled = key->op == IR_CAST && key->arg[0]->op == IR_CAST && half(key->arg[0]->type) ? key->arg[0]->arg[0]
	                                                                                          : NULL;
	expr factor = scaled ? factor_of(scaled) : NULL;
	if (!factor || scaled->arg[0]->op != IR_CAST || scaled->arg[0]->arg[0]->type != key->arg[0]->type)
		return key;
	expr product = ir_binary(IR_MUL, a->product, factor);
	const struct substitution s = { &a->product, &product, 1 };
	a->score = substitute(&s, a->score);
	a->weight = a->weight ? substitute(&s, a->weight) : NULL;
	return a->key = scaled->arg[0];
}

static void take_results(struct attend_mma *m)
{
	const struct attend *a = &m->a;
	m->places = is_contiguous(m, a->at, a->value_size, 8) ? 8 : is_contiguous(m, a->at, a->value_size, 2) ? 2 : 1;
	m->inverse = ir_var_of(ir_variable_new(a->p->pool, a->sum->type, "inverse_of_sum"), NULL);
}

static bool take_operands(struct attend_mma *m)
{
	const struct attend *a = &m->a;
	expr key = without_scale(m, a->key);
	for (m->vector = 8; m->vector >= 2; m->vector /= 2) {
		m->key = loaded(m, key, a->size, m->vector);
		m->turned = !m->key;
		if (m->turned)
			m->key = loaded_turned(m, key);
		m->value = loaded(m, a->value, a->value_size, m->vector);
		if (m->key && m->value)
			break;
	}
	if (!m->key || !m->value || a->query->op != IR_CAST || a->query->arg[0]->type != m->key->type)
		return false;
	m->key_type = m->key->type;
	m->value_type = m->value->type;
	m->query = a->query->arg[0];
	m->query_pairs = loaded(m, a->query, a->size, 2) != NULL;
	m->query_pieces = loaded(m, a->query, a->size, 8) != NULL;
	take_results(m);
	return true;
}

/* ---- Scores. ---- */

static bool is_minus_infinity(expr e)
{
	return e->op == IR_CONST_FLOAT && e->f == -INFINITY;
}

static expr slack(expr bound)
{
	return ir_binary(IR_SUB, bound->arg[1], bound->arg[0]);
}

static bool stride_of(expr e, int axis, int64_t *out)
{
	expr stride = ir_stride(e, axis);
	return stride && ir_const_int(stride, out);
}

bool attend_mma_runs(const struct attend_mma *m, const struct sched_target *t)
{
	return target_has(t, TARGET_COPY_ASYNC) && t->mma[m->key_type] > 0 && t->mma[m->value_type] > 0;
}

void attend_bound_strides(const struct attend_mma *m, int bound, int64_t *of_query, int64_t *of_key)
{
	expr e = slack(m->bound[bound]);
	ck(stride_of(e, m->a.tile, of_query) && stride_of(e, m->a.rows, of_key));
}

expr attend_bound_key(const struct attend_mma *m, int bound, bool to)
{
	struct ir_pool *pool = m->a.p->pool;
	int64_t of_query, of_key;
	expr holds = m->bound[bound], keys = m->a.dim[m->a.rows], none = ir_index(pool, 0);
	attend_bound_strides(m, bound, &of_query, &of_key);
	if (to != (of_key <= 0))
		return NULL;
	if (of_key == 0)
		return ir_select(holds, keys, none);
	/* It holds where rest + of_key * key >= 0. */
	expr rest = ir_binary(IR_SUB, slack(holds),
	                      ir_binary(IR_MUL, ir_index(pool, of_key), ir_axis(pool, m->a.rows, keys)));
	rest = ir_binary(IR_SUB, rest, ir_index(pool, holds->op == IR_LT));
	if (to)
		return ir_binary(IR_ADD, ir_binary(IR_FLOORDIV, rest, ir_index(pool, -of_key)), ir_index(pool, 1));
	return ir_binary(IR_FLOORDIV, ir_binary(IR_SUB, ir_index(pool, of_key - 1), rest), ir_index(pool, of_key));
}

struct axis_of {
	int axis;
	bool found;
};

static void find_head(void *user, expr e)
{
	struct axis_of *u = user;
	u->found |= e->op == IR_AXIS && e->i == u->axis;
}

/* Moves the bounds out of a condition; returns the rest, null if nothing is left. */
static expr take_bounds(struct attend_mma *m, expr condition)
{
	int64_t step;
	if (condition->op == IR_AND) {
		expr left = take_bounds(m, condition->arg[0]), right = take_bounds(m, condition->arg[1]);
		return left && right ? ir_binary(IR_AND, left, right) : left ? left : right;
	}
	bool compares = (condition->op == IR_LT || condition->op == IR_LE) && condition->arg[0]->type == TYPE_INDEX;
	struct axis_of head = { m->a.head, false };
	ir_walk(condition, find_head, &head);
	if (!compares || m->bounds == ATTEND_BOUNDS || ir_uses(condition, IR_VAR) || head.found)
		return condition;
	expr e = slack(condition);
	if (!stride_of(e, m->a.tile, &step) || !stride_of(e, m->a.rows, &step))
		return condition;
	m->bound[m->bounds++] = condition;
	return NULL;
}

/* The score where all bounds hold. */
static expr inside_bounds(struct attend_mma *m, expr e)
{
	if (e->op == IR_CAST && e->arg[0]->op == IR_SELECT)
		return ir_cast(inside_bounds(m, e->arg[0]), e->type);
	if (e->op != IR_SELECT || !is_minus_infinity(e->arg[2]))
		return e;
	expr rest = take_bounds(m, e->arg[0]), score = inside_bounds(m, e->arg[1]);
	return rest ? ir_select(rest, score, e->arg[2]) : score;
}

void attend_mma_bounds(struct attend_mma *m)
{
	inside_bounds(m, m->a.score);
}

/* True for a power of two that is at most 1. */
static bool is_power_of_two(expr e)
{
	int exponent;
	return e->op == IR_CONST_FLOAT && e->f > 0 && e->f <= 1 && frexp(e->f, &exponent) == 0.5;
}

/* Drops a second rounding to 16 bits after a multiplication by a power of two. It only changes subnormal numbers, for
 * f16 by at most 2^-25: far less than f32 keeps of their exponential. */
static expr rounded_once(const struct attend_mma *m, expr e)
{
	expr arg[IR_MAX_RANK];
	if (!e->n || e->n > IR_MAX_RANK || e->op == IR_LOAD || e->type == TYPE_INDEX || !ir_uses(e, IR_VAR))
		return e;
	for (int i = 0; i < e->n; i++)
		arg[i] = rounded_once(m, e->arg[i]);
	e = ir_rebuild(e, arg);
	expr narrow = e->op == IR_CAST && e->type == TYPE_F32 ? e->arg[0] : NULL;
	expr scaled = narrow && narrow->op == IR_CAST && half(narrow->type) ? narrow->arg[0] : NULL;
	if (!scaled || scaled->op != IR_MUL || !is_power_of_two(scaled->arg[1]) || scaled->arg[0]->op != IR_CAST ||
	    scaled->arg[0]->arg[0]->type != narrow->type)
		return e;
	return scaled;
}

static void take_scores(struct attend_mma *m)
{
	expr product = m->a.product, e = m->score = rounded_once(m, inside_bounds(m, m->a.score));
	m->scale = 1;
	m->rounded = TYPE_F32;
	if (e->op == IR_MUL && e->arg[0]->op == IR_CAST && e->arg[0]->arg[0]->op == IR_CAST &&
	    half(e->arg[0]->arg[0]->type) && e->arg[0]->arg[0]->arg[0] == product && is_power_of_two(e->arg[1])) {
		m->rounded = e->arg[0]->arg[0]->type;
		m->scale = e->arg[1]->f;
		m->score = NULL;
		return;
	}
	if (e->op == IR_MUL && e->arg[0] == product && e->arg[1]->op == IR_CONST_FLOAT && e->arg[1]->f > 0)
		m->scale = e->arg[1]->f;
	else if (e != product)
		return;
	m->score = NULL;
}

/* ---- Results: the divisor of many elements is inverted once, before they are rounded to 16 bits. ---- */

static expr inverted(const struct attend_mma *m, expr e)
{
	expr arg[IR_MAX_RANK];
	if (e->op == IR_DIV && e->arg[1] == attend_sum(&m->a))
		return ir_binary(IR_MUL, inverted(m, e->arg[0]), m->inverse);
	if (!e->n || e->n > IR_MAX_RANK || e->op == IR_LOAD || e->type == TYPE_INDEX || !ir_uses(e, IR_VAR))
		return e;
	for (int i = 0; i < e->n; i++)
		arg[i] = inverted(m, e->arg[i]);
	return ir_rebuild(e, arg);
}

void attend_mma_plain(struct attend_mma *m, const struct attend *a)
{
	*m = (struct attend_mma){ .a = *a };
	attend_mma_bounds(m);
	take_results(m);
	m->result = a->result;
}

bool attend_mma_match(struct attend_mma *m, struct ir_program *p, const struct ir_stage *s, const char **why)
{
	const struct attend *a = &m->a;
	*m = (struct attend_mma){ .bounds = 0 };
	if (!attend_match(&m->a, p, s, why))
		return false;
	*why = "the scores are not f32, or the result is not 16-bit";
	if (a->product->type != TYPE_F32 || a->score->type != TYPE_F32 || a->total->type != TYPE_F32 ||
	    !half(a->out->type))
		return false;
	*why = "queries, keys or values are not 16-bit elements, or not contiguous";
	if (!take_operands(m))
		return false;
	*why = "the weights are not a plain softmax of the scores";
	if (a->weight && !(a->narrow_result && a->narrow == m->value_type))
		return false;
	m->result = inverted(m, a->weight ? a->narrow_result : a->result);
	take_scores(m);
	return true;
}
