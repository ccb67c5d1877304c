/* Quantised numbers that a model turns into floats and back with the same scale: a quantisation of dequantised numbers,
 * perhaps moved, clamped or pooled in between, is integer arithmetic. The function from one 8-bit number to another is
 * computed for all its 256 values. If it only adds a constant and clamps, as scale / scale does wherever rounding
 * allows it, these operations replace it, and moving such tensors needs no arithmetic at all. */
#include "ir/passes.h"

enum { DEEPEST = 8 /* selections in one another */ };

/* The one node that varies in an expression of floats: a load, or a selection by position. */
struct source {
	expr at;
	bool others;
};

static bool is_number(expr e)
{
	return e->op == IR_CONST_FLOAT || e->op == IR_CONST_INT;
}

static void find_source(struct source *s, expr e)
{
	if (is_number(e) || s->others)
		return;
	if (e->op == IR_LOAD || (e->op == IR_SELECT && !ir_uses(e->arg[0], IR_LOAD))) {
		s->others = s->at && s->at != e;
		s->at = e;
		return;
	}
	s->others = e->n == 0;
	for (int i = 0; i < e->n; i++)
		find_source(s, e->arg[i]);
}

/* e with `from` replaced by `to`. */
static expr replaced(expr e, expr from, expr to)
{
	expr arg[IR_MAX_RANK];
	if (e == from || e->n == 0 || e->op == IR_LOAD)
		return e == from ? to : e;
	for (int i = 0; i < e->n; i++)
		arg[i] = replaced(e->arg[i], from, to);
	return ir_rebuild(e, arg);
}

/* ---- One number to another. */

static bool is_byte(enum type t)
{
	return t == TYPE_I8 || t == TYPE_U8;
}

static int64_t lowest(enum type t)
{
	return t == TYPE_U8 ? 0 : -128;
}

static expr number_for(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	(void)arg;
	return e->op == IR_LOAD ? ir_int(pool, e->type, *(const int64_t *)user) : NULL;
}

/* A function that is constant, then adds, then is constant again. */
struct line {
	int64_t low, high, add; /* result at the first and at the last number; what it adds in between */
	bool rises;
};

/* Computes e for every value of its load. False unless it is such a function. */
static bool line_of(struct line *l, expr e, enum type from)
{
	struct arena *scratch = arena_new();
	struct ir_pool *pool = ir_pool_new(scratch);
	bool fits = true, ends = false;
	*l = (struct line){ .rises = false };
	for (int64_t v = lowest(from), last = v + 255, result; v <= last && fits; v++) {
		fits = ir_const_int(ir_copy(pool, e, number_for, &v), &result);
		if (v == lowest(from)) {
			l->low = l->high = result;
			continue;
		}
		int64_t step = result - l->high;
		fits &= step == 0 || (step == 1 && !ends);
		ends |= step == 0 && l->rises;
		if (step == 1 && !l->rises) {
			l->rises = true;
			l->add = result - v;
		}
		l->high = result;
	}
	arena_free(scratch);
	return fits;
}

/* The line as integer arithmetic on the element. */
static expr on_integers(const struct line *l, expr element, enum type t)
{
	struct ir_pool *pool = element->pool;
	int64_t first = lowest(element->type) + l->add;
	expr x = ir_cast(element, TYPE_I32);
	if (!l->rises)
		return ir_int(pool, t, l->low);
	x = ir_binary(IR_ADD, x, ir_int(pool, TYPE_I32, l->add));
	if (l->low > first)
		x = ir_binary(IR_MAX, x, ir_int(pool, TYPE_I32, l->low));
	if (l->high < first + 255)
		x = ir_binary(IR_MIN, x, ir_int(pool, TYPE_I32, l->high));
	return l->add == 0 && l->high - l->low == 255 && t == element->type ? element : ir_cast(x, t);
}

/* e, an 8-bit integer, as integer arithmetic; or null. */
static expr requantised(expr e, int depth)
{
	struct source s = { NULL, false };
	struct line l;
	find_source(&s, e);
	if (!s.at && is_number(e))
		return e;
	if (s.others || !s.at || depth == DEEPEST)
		return NULL;
	if (s.at->op == IR_LOAD)
		return is_byte(s.at->type) && line_of(&l, e, s.at->type) ? on_integers(&l, s.at, e->type) : NULL;
	expr first = requantised(replaced(e, s.at, s.at->arg[1]), depth + 1);
	expr second = first ? requantised(replaced(e, s.at, s.at->arg[2]), depth + 1) : NULL;
	return second ? ir_select(s.at->arg[0], first, second) : NULL;
}

/* ---- The largest of some numbers, as of a pooling. */

/* True if e never falls while `of`, which it contains, rises: only then it may be computed before the largest of all
 * is found. A number outside an integer's range becomes the nearest one inside. */
static bool never_falls(expr e, expr of)
{
	if (e == of)
		return true;
	bool second = e->n == 2 && is_number(e->arg[0]);
	expr with = e->n == 2 ? e->arg[!second] : NULL;
	if ((e->n == 2 && !is_number(with)) || (e->n != 1 && e->n != 2) || !never_falls(e->arg[second], of))
		return false;
	switch (e->op) {
	case IR_CAST:
	case IR_ROUND_EVEN: return true;
	case IR_ADD:
	case IR_MIN:
	case IR_MAX: return true;
	case IR_SUB: return !second;
	case IR_DIV: return !second && with->op == IR_CONST_FLOAT && with->f > 0;
	case IR_MUL: return with->op == IR_CONST_FLOAT && with->f > 0;
	default: return false;
	}
}

static int readers_of(const struct ir_program *p, const struct ir_buffer *b)
{
	int n = 0;
	vec_each (s, &p->stages)
		n += ir_stage_reads(*s, b);
	return n;
}

/* The quantisation, e, of the largest number that `load` loads: quantises before, and finds the largest integer. */
static bool pool_integers(struct ir_program *p, expr e, expr load)
{
	struct ir_stage *r = ir_stage_of(p, load->buf);
	bool finds = r && r->kind == IR_REDUCE && (r->combine == IR_MAXIMUM || r->combine == IR_MINIMUM);
	if (!finds || r->post || r->where || r->out->role != IR_TEMP || r->out->type != load->type ||
	    r->value->type != load->type || readers_of(p, r->out) != 1 || !never_falls(e, load))
		return false;
	expr value = requantised(replaced(e, load, ir_see_floats(p, r->value)), 0);
	if (!value)
		return false;
	r->value = value;
	r->out->type = e->type;
	return true;
}

static void rewrite(struct ir_program *p, struct ir_stage *s)
{
	struct source own = { NULL, false };
	if (s->kind != IR_MAP || !is_byte(s->value->type) || s->value->op == IR_LOAD)
		return;
	find_source(&own, s->value);
	if (own.others || !own.at)
		return;
	expr seen = ir_see_floats(p, s->value), value;
	struct source all = { NULL, false };
	find_source(&all, seen);
	if (!all.others && all.at && all.at->op == IR_LOAD && type_is_float(all.at->type)) {
		if (pool_integers(p, seen, all.at))
			s->value = ir_load(p->pool, all.at->buf, all.at->arg);
		return;
	}
	value = requantised(seen, 0);
	if (value)
		s->value = value;
}

void ir_requantise(struct ir_program *p)
{
	vec_each (s, &p->stages)
		rewrite(p, *s);
}
