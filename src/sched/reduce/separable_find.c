/* Recognises two consecutive passes over windows. See separable.h. */
#include "sched/reduce/separable.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/stored.h"

enum { SHORTEST = 4 /* elements of a row */ };

/* The points of a stage's window; 0: not a window that this rule takes. */
static int points_of(const struct ir_stage *s)
{
	int64_t n = 1, extent;
	if (s->kind == IR_MAP)
		return 1;
	if (s->kind != IR_REDUCE || ir_combine_is_arg(s->combine))
		return 0;
	for (int k = 0; k < s->space_rank; k++) {
		if (!ir_const_int(s->space[k], &extent) || extent < 1 || extent > SEPARABLE_POINTS ||
		    n * extent > SEPARABLE_POINTS)
			return 0;
		n *= extent;
	}
	return (int)n;
}

static bool is_table(const struct ir_stage *s)
{
	return s->kind == IR_REDUCE && points_of(s) && s->out->rank == 1 && s->out->role == IR_TEMP &&
	       !ir_uses(s->value, IR_LOAD) && !(s->post && ir_uses(s->post, IR_LOAD));
}

/* ---- The loads of the passes. */

struct look {
	const struct separable *f;
	int read_bytes; /* element size of the first pass's loads along the row */
	bool moves;     /* the second pass reads at other positions in the same row */
	bool fits;
};

static void look_at_first(void *user, expr e)
{
	struct look *l = user;
	const struct separable *f = l->f;
	if (e->op != IR_LOAD)
		return;
	expr stride = ir_stride(ir_flat(f->p->pool, e->buf, e->arg), f->rank - 1);
	if (stride && ir_is_int(stride, 1) && l->read_bytes < type_info(e->type)->bits / 8)
		l->read_bytes = type_info(e->type)->bits / 8;
}

static void look_at_second(void *user, expr e)
{
	struct look *l = user;
	const struct separable *f = l->f;
	if (e->op != IR_LOAD || e->buf != f->first->out)
		return;
	for (int k = 0; k < f->rank - 1; k++)
		l->fits &= (e->arg[k]->op == IR_AXIS && e->arg[k]->i == k) || ir_is_int(e->buf->dim[k], 1);
	expr at = e->arg[f->rank - 1];
	bool used[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(at, used);
	l->moves |= used[f->rank - 1] && at->op != IR_AXIS;
}

static bool passes_fit(struct separable *f)
{
	struct look l = { .f = f, .fits = true };
	ir_walk(f->first->value, look_at_first, &l);
	ir_walk(f->second->value, look_at_second, &l);
	f->read_bytes = l.read_bytes;
	return l.read_bytes && l.moves && l.fits;
}

static bool same_rows(const struct separable *f)
{
	const struct ir_buffer *a = f->first->out, *b = f->second->out;
	if (a->rank != b->rank || a->rank < 2 || type_is_packed(a->type) || type_is_packed(b->type))
		return false;
	for (int k = 0; k < a->rank - 1; k++)
		if (a->dim[k] != b->dim[k])
			return false;
	return true;
}

/* True if nothing else reads the results that the passes keep between them. */
static bool is_own(const struct separable *f, int from)
{
	const struct ir_stage *const *made = (const struct ir_stage *const *)&f->p->stages.at[from];
	for (int i = 0; i < f->stages; i++)
		if (made[i] != f->second && stage_is_stored(f->p, made, f->stages, i))
			return false;
	return true;
}

bool separable_find(struct separable *f, struct ir_program *p, const struct ir_stage *s)
{
	int at = 0, from;
	*f = (struct separable){ .p = p };
	while (at < p->stages.n && p->stages.at[at] != s)
		at++;
	for (from = at; at < p->stages.n && !f->second; at++) {
		const struct ir_stage *here = p->stages.at[at];
		if (is_table(here) && f->tables < SEPARABLE_TABLES)
			f->table[f->tables++] = here;
		else if (!points_of(here))
			return false;
		else if (f->first)
			f->second = here;
		else
			f->first = here;
	}
	if (!f->second || f->first->kind != IR_REDUCE || f->first->out->role != IR_TEMP || !same_rows(f))
		return false;
	f->stages = at - from;
	f->rank = f->first->out->rank;
	f->first_points = points_of(f->first);
	f->second_points = points_of(f->second);
	return ir_const_int(f->first->out->dim[f->rank - 2], &f->rows) &&
	       ir_const_int(f->first->out->dim[f->rank - 1], &f->length) &&
	       ir_const_int(f->second->out->dim[f->rank - 1], &f->result) && f->rows > 0 && f->result > 0 &&
	       f->length >= SHORTEST && passes_fit(f) && is_own(f, from);
}

/* ---- Expressions. */

struct place {
	const struct separable *f;
	const struct ir_stage *s;
	expr own; /* position in a table; null: keep the stage's own axes */
	expr reduced[IR_MAX_RANK];
	expr acc;
};

static expr place_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg);

static struct place place_of(const struct separable *f, const struct ir_stage *s, int64_t point)
{
	struct place x = { .f = f, .s = s };
	if (s->kind == IR_REDUCE)
		reduced_point(f->p, s, point, x.reduced);
	return x;
}

/* Element `at` of a table. */
static expr table_element(const struct separable *f, const struct ir_stage *s, expr at)
{
	struct ir_pool *pool = f->p->pool;
	struct place x = { 0 };
	expr sum = NULL;
	for (int point = 0; point < points_of(s); point++) {
		x = place_of(f, s, point);
		x.own = at;
		expr value = ir_copy(pool, s->value, place_leaf, &x);
		sum = sum ? ir_combine_expr(s->combine, sum, value) : value;
	}
	x.acc = sum;
	return s->post ? ir_copy(pool, s->post, place_leaf, &x) : ir_cast(sum, s->out->type);
}

static expr place_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct place *x = user;
	(void)pool;
	if (e->op == IR_AXIS && e->i >= x->s->out->rank)
		return x->reduced[e->i - x->s->out->rank];
	if (e->op == IR_AXIS)
		return x->own;
	if (e->op == IR_ACC)
		return x->acc;
	for (int i = 0; e->op == IR_LOAD && i < x->f->tables; i++)
		if (e->buf == x->f->table[i]->out)
			return table_element(x->f, x->f->table[i], arg[0]);
	return NULL;
}

expr separable_at(const struct separable *f, const struct ir_stage *s, expr e, int64_t point)
{
	struct place x = place_of(f, s, point);
	return ir_copy(f->p->pool, e, place_leaf, &x);
}
