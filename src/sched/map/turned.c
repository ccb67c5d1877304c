/* Maps that read along another axis than they write: their merged axes, their loads and positions. */
#include "sched/map/turned.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"

#include <math.h>
#include <string.h>

#include "ir/axis_names.h"

/* ---- Merging axes. */

struct merge {
	int axis; /* merged with the next one */
	expr together, inner;
};

/* Merges two axes in a position that is contiguous across lines: the first becomes 0, the second both. */
static expr merge_position(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct merge *m = user;
	(void)arg;
	if (e->op != IR_AXIS || e->i < m->axis)
		return NULL;
	return e->i == m->axis       ? ir_index(pool, 0)
	       : e->i == m->axis + 1 ? ir_axis(pool, m->axis, m->together)
	                             : ir_axis(pool, (int)e->i - 1, e->arg[0]);
}

static expr merge_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct merge *m = user;
	(void)arg;
	if (e->op == IR_LOAD && e->n == 1) {
		expr outer = ir_stride(e->arg[0], m->axis), inner = ir_stride(e->arg[0], m->axis + 1);
		if (!outer || !inner || outer != ir_binary(IR_MUL, inner, m->inner))
			return NULL;
		expr at = ir_copy(pool, e->arg[0], merge_position, user);
		return ir_load(pool, e->buf, &at);
	}
	if (e->op != IR_AXIS || e->i < m->axis)
		return NULL;
	expr both = ir_axis(pool, m->axis, m->together);
	if (e->i == m->axis)
		return ir_binary(IR_FLOORDIV, both, m->inner);
	return e->i == m->axis + 1 ? ir_binary(IR_MOD, both, m->inner) : ir_axis(pool, (int)e->i - 1, e->arg[0]);
}

struct divided {
	expr axis;
	bool found;
};

static void find_divided(void *user, expr e)
{
	struct divided *d = user;
	for (int i = 0; (e->op == IR_FLOORDIV || e->op == IR_MOD) && i < e->n; i++)
		d->found |= e->arg[i] == d->axis;
}

static void name_axes(struct turned *t)
{
	for (int k = 0; k < t->rank; k++)
		t->axis[k] = ir_axis(t->p->pool, k, t->dim[k]);
}

/* The largest divisor below `below` by which the expressions split an axis: j / 6400, j / 80 % 80, j % 80. */
struct cut {
	expr axis;
	int64_t below, at;
};

static void find_cut(void *user, expr e)
{
	struct cut *c = user;
	int64_t by, inner = 1;
	if ((e->op != IR_FLOORDIV && e->op != IR_MOD) || !ir_const_int(e->arg[1], &by))
		return;
	expr of = e->arg[0];
	if (e->op == IR_MOD && of->op == IR_FLOORDIV && ir_const_int(of->arg[1], &inner))
		of = of->arg[0];
	if (of == c->axis && by * inner < c->below && by * inner > c->at)
		c->at = by * inner;
}

/* Splits an axis that a reshape had merged: k keeps the quotient, and a new axis after it gets the remainder. */
static void split_axis(struct turned *t, int k)
{
	int64_t extent;
	if (t->rank == IR_MAX_RANK || !ir_const_int(t->dim[k], &extent))
		return;
	struct cut c = { t->axis[k], extent, 1 };
	ir_walk(t->value, find_cut, &c);
	if (c.at == 1 || extent % c.at)
		return;
	memmove(&t->dim[k + 1], &t->dim[k], sizeof t->dim[0] * (size_t)(t->rank++ - k));
	t->dim[k] = ir_index(t->p->pool, extent / c.at);
	t->dim[k + 1] = ir_index(t->p->pool, c.at);
	name_axes(t);
	expr old[IR_MAX_RANK];
	memcpy(old, t->axis, sizeof old[0] * (size_t)(k + 1));
	memcpy(old + k + 1, t->axis + k + 2, sizeof old[0] * (size_t)(t->rank - k - 2));
	old[k] = ir_binary(IR_ADD, ir_binary(IR_MUL, t->axis[k], t->dim[k + 1]), t->axis[k + 1]);
	t->value = to_kernel(t->p, t->value, &(struct axes){ .value = old });
}

/* Flattens loads first: only positions in memory matter, not the buffers' axes. */
static void merge_axes(struct turned *t)
{
	name_axes(t);
	t->value = to_kernel(t->p, t->value, &(struct axes){ .value = t->axis });
	for (int k = 0; k < t->rank; k++)
		split_axis(t, k);
	for (int k = t->rank - 2; k >= 0; k--) {
		struct merge m = { k, ir_binary(IR_MUL, t->dim[k], t->dim[k + 1]), t->dim[k + 1] };
		struct divided d = { ir_axis(t->p->pool, k, m.together), false };
		expr value = ir_copy(t->p->pool, t->value, merge_axis, &m);
		ir_walk(value, find_divided, &d);
		if (d.found)
			continue;
		t->value = value;
		t->dim[k] = m.together;
		memmove(&t->dim[k + 1], &t->dim[k + 2], sizeof t->dim[0] * (size_t)(t->rank - k - 2));
		t->rank--;
	}
	name_axes(t);
}

/* ---- Loads. */

static bool is_one(expr e)
{
	return e && ir_is_int(e, 1);
}

static void find_turned(void *user, expr e)
{
	struct turned *t = user;
	if (e->op != IR_LOAD || type_is_packed(e->type) || t->loads == MAX_TURNED)
		return;
	expr flat = ir_flat(t->p->pool, e->buf, e->arg), along = ir_stride(flat, t->a);
	if (!along || is_one(along) || ir_is_int(along, 0))
		return;
	for (int k = 0; k < t->rank; k++) {
		if (k == t->a || ir_is_int(t->dim[k], 1) || !is_one(ir_stride(flat, k)) || (t->b >= 0 && t->b != k))
			continue;
		t->b = k;
		t->load[t->loads++] = e;
		return;
	}
}

bool turned_find(struct turned *t, struct ir_program *p, const struct ir_stage *s)
{
	*t = (struct turned){ .p = p, .s = s, .value = s->value, .rank = s->out->rank, .a = -1, .b = -1 };
	if (s->kind != IR_MAP || t->rank < 2 || type_is_packed(s->out->type))
		return false;
	memcpy(t->dim, s->out->dim, sizeof t->dim[0] * (size_t)t->rank);
	merge_axes(t);
	for (int k = 0; k < t->rank; k++)
		if (!ir_is_int(t->dim[k], 1))
			t->a = k;
	if (t->a < 0)
		return false;
	expr loaded = t->value;
	if (loaded->op == IR_SELECT && !ir_uses(loaded->arg[0], IR_LOAD) && !ir_uses(loaded->arg[2], IR_LOAD)) {
		t->condition = loaded->arg[0]; /* as with padding */
		loaded = loaded->arg[1];
	}
	ir_walk_unconditional(loaded, find_turned, t);
	return t->loads > 0;
}

struct aligned {
	int64_t width;
	bool all;
};

static void check_term(void *user, int64_t c, int factors, const expr *factor)
{
	struct aligned *a = user;
	(void)factors;
	(void)factor;
	a->all &= c % a->width == 0;
}

bool turned_aligned(expr position, int width)
{
	struct aligned a = { width, true };
	ir_poly_terms(position, check_term, &a);
	return a.all;
}

void turned_axes(struct turned *t, struct ir_block *b, expr n, const bool *taken, bool others, expr *axis)
{
	expr dim[IR_MAX_RANK], got[IR_MAX_RANK];
	const char *name[IR_MAX_RANK];
	bool used[IR_MAX_RANK];
	int axes = 0;
	for (int k = 0; k < t->rank; k++) {
		if (taken[k] == others)
			continue;
		dim[axes] = t->dim[k];
		name[axes] = ir_axis_names[0][k];
		used[axes++] = true;
	}
	declare_axes(t->p, b, n, axes, dim, name, used, got);
	for (int k = 0, i = 0; k < t->rank; k++)
		if (taken[k] != others)
			axis[k] = got[i++];
}

expr turned_place(const struct turned *t, const expr *axis)
{
	expr at = ir_index(t->p->pool, 0);
	for (int k = 0; k < t->rank; k++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, t->dim[k]), axis[k]);
	return at;
}

int turned_load_bytes(const struct turned *t, int *least, int *most)
{
	int all = 0;
	*least = *most = type_info(t->load[0]->type)->bits / 8;
	for (int i = 0; i < t->loads; i++) {
		int bytes = type_info(t->load[i]->type)->bits / 8;
		all += bytes;
		*least = bytes < *least ? bytes : *least;
		*most = bytes > *most ? bytes : *most;
	}
	return all;
}

/* Measured on an H200 in 13 transpositions, all choices of tile and strip: 1.9 to 200 us. Accesses of 2 bytes take 1.25
 * times as long as others. Elements past the edges cost nearly as much as others. */
double turned_time(const struct turned *t, const struct turned_blocks *b, const struct sched_target *target)
{
	enum {
		WORD = 4,
		FULL = 8 << 10,  /* bytes that a multiprocessor loads at once for the full bandwidth */
		START_NS = 81,   /* from a block's start to the next one's on the same multiprocessor */
		BLOCK_NS = 1000, /* of a block on its own: an access to memory and a barrier */
		FIRST_NS = 300,
		ALONE = 50 /* bytes per nanosecond that a multiprocessor moves at most */
	};
	int least, most;
	double points = (double)about(out_count(t->p, t->s), target), out = type_info(t->s->out->type)->bits / 8.0;
	double loaded = turned_load_bytes(t, &least, &most), each = loaded + out;
	double slower = b->access < WORD ? 1.25 * WORD / 2 / b->access : b->access < 2 * WORD ? 1.05 : 1.02;
	double moving = points * each / target->bytes_per_ns * slower * b->slower * (1 + 0.8 * (b->over - 1));
	double fill = b->blocks * b->bytes / b->over / (target->processors * (double)FULL);
	double turns = ceil(b->blocks / target->processors);
	double alone = turns < 4 ? turns * b->bytes / b->over * each / loaded / ALONE : 0;
	double waiting = b->blocks / target->processors * cost_wait(target, fmax(START_NS, BLOCK_NS / b->resident));
	moving = fmax(fmax(moving / (fill < 1 ? fill : 1), alone), waiting);
	return target->launch_ns + FIRST_NS + moving + 0.3 * b->passes_ns;
}
