/* Recognises stages that one thread can make from a window in registers. See windows.h. */
#include "sched/reduce/windows.h"
#include "sched/build/stored.h"

#include <math.h>
#include <stdlib.h>

enum { FARTHEST = 4 /* elements between neighbouring reads */, MOST_SPREAD = 64 };

int windows_reduction(const struct windows *w, expr load)
{
	for (int i = 0; i < w->reductions; i++)
		if (load->op == IR_LOAD && load->buf == w->stage[i]->out)
			return i;
	return -1;
}

int64_t windows_spread(const struct windows *w, int stage)
{
	int64_t n = 1;
	for (int k = 0; stage >= w->reductions && k < w->stage[stage]->out->rank; k++)
		n *= w->spread[stage][k];
	return n;
}

bool windows_stored(const struct windows *w, int stage)
{
	return stage_is_stored(w->p, w->stage, w->stages, stage);
}

/* ---- The loads of a stage. */

struct loads {
	const struct windows *w;
	const struct ir_stage *s;
	int64_t *spread;
	int own; /* number of loads of the group's results */
	bool fits;
	double apart, bytes;
};

/* Counts loads of the other stages' results. */
static void find_made(void *user, expr e)
{
	struct loads *l = user;
	for (int i = 0; i < l->w->stages && e->op == IR_LOAD; i++)
		l->own += e->buf == l->w->stage[i]->out;
}

static void look_at_read(void *user, expr e)
{
	struct loads *l = user;
	int64_t step = 0, each = 0, extent;
	if (e->op != IR_LOAD)
		return;
	expr flat = ir_flat(l->w->p->pool, e->buf, e->arg), stride = ir_stride(flat, l->w->inner);
	expr along = ir_stride(flat, l->s->out->rank + l->s->space_rank - 1);
	l->fits &= stride && ir_const_int(stride, &step) && llabs(step) <= FARTHEST;
	bool known = along && ir_const_int(along, &each) && ir_const_int(l->s->space[l->s->space_rank - 1], &extent);
	double apart = known && each > 0 && step >= 0 ? (double)step / (double)(each * extent) : 1;
	l->apart = fmax(l->apart, apart < 1 ? apart : 1);
	l->bytes = fmax(l->bytes, (double)llabs(step) * type_info(e->type)->bits / 8.0);
}

/* The map's elements per window along axis k, from the index of a load; 0: not such an index. */
static int64_t spread_of(const struct loads *l, const struct ir_buffer *made, int k, expr index)
{
	int64_t n = 0;
	if (index->op == IR_AXIS && index->i == k)
		n = 1;
	else if (ir_is_int(index, 0) && ir_is_int(made->dim[k], 1) && !ir_const_int(l->s->out->dim[k], &n))
		return 0;
	else if (index->op == IR_FLOORDIV && index->arg[0]->op == IR_AXIS && index->arg[0]->i == k &&
	         !ir_const_int(index->arg[1], &n))
		return 0;
	bool whole = n > 0 && ir_binary(IR_MUL, made->dim[k], ir_index(l->w->p->pool, n)) == l->s->out->dim[k];
	return whole ? n : 0;
}

static void look_at_use(void *user, expr e)
{
	struct loads *l = user;
	int rank = l->s->out->rank;
	if (windows_reduction(l->w, e) < 0) {
		int before = l->own;
		find_made(l, e);
		l->fits &= l->own == before; /* reads another map's element */
		return;
	}
	l->fits &= e->n == rank;
	for (int k = 0; k < rank && l->fits; k++) {
		int64_t n = spread_of(l, e->buf, k, e->arg[k]);
		l->fits = n > 0 && (!l->own || n == l->spread[k]);
		l->spread[k] = n;
	}
	l->own++;
}

/* ---- Stages. */

static bool add_reduction(struct windows *w, const struct ir_stage *s)
{
	const struct ir_stage *first = w->stages ? w->stage[0] : s;
	struct loads l = { .w = w, .s = s, .fits = true };
	if (s->kind != IR_REDUCE || type_is_packed(s->out->type) || !ir_same_extents(s->out, first->out) ||
	    s->space_rank != first->space_rank || w->stages > w->reductions)
		return false;
	for (int k = 0; k < s->space_rank; k++)
		if (s->space[k] != first->space[k])
			return false;
	ir_walk(s->value, find_made, &l);
	if (s->post)
		ir_walk(s->post, find_made, &l);
	ir_walk(s->value, look_at_read, &l);
	if (l.own || !l.fits)
		return false;
	w->apart = fmax(w->apart, l.apart);
	w->bytes = fmax(w->bytes, l.bytes);
	w->stage[w->stages++] = s;
	w->reductions++;
	return true;
}

static bool add_map(struct windows *w, const struct ir_stage *s)
{
	struct loads l = { .w = w, .s = s, .spread = w->spread[w->stages], .fits = true };
	if (s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	ir_walk(s->value, look_at_use, &l);
	int64_t n = 1;
	for (int k = 0; k < s->out->rank && l.own && l.fits; k++) /* neighbours along `inner` are contiguous */
		l.fits = l.spread[k] <= (k > w->inner ? 1 : MOST_SPREAD) && (n *= l.spread[k]) <= MOST_SPREAD;
	if (!l.own || !l.fits)
		return false;
	w->stage[w->stages++] = s;
	return true;
}

static bool begin(struct windows *w, struct ir_program *p, const struct ir_stage *s)
{
	*w = (struct windows){ .p = p, .inner = -1, .outer = -1, .points = 1 };
	if (s->kind != IR_REDUCE)
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1)) {
			w->outer = w->inner;
			w->inner = k;
		}
	for (int k = 0; k < s->space_rank; k++) {
		int64_t extent;
		if (!ir_const_int(s->space[k], &extent) || extent < 1 || extent > WINDOWS_MAX_POINTS)
			return false;
		w->points *= extent;
		if (w->points > WINDOWS_MAX_POINTS)
			return false;
	}
	return w->inner >= 0 && w->points >= 2;
}

bool windows_match(struct windows *w, struct ir_program *p, const struct ir_stage *s)
{
	if (!begin(w, p, s))
		return false;
	bool after = false, more = true;
	vec_each (at, &p->stages) {
		after |= *at == s;
		if (after && more)
			more = w->stages < WINDOWS_MAX_STAGES &&
			       (add_reduction(w, *at) || (w->reductions && add_map(w, *at)));
	}
	return w->stages >= 2;
}
