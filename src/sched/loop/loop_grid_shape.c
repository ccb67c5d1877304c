/* The shape of a loop by many blocks: who makes which elements, and what that takes. See loop_grid.h. */
#include "sched/build/accumulate.h"
#include "sched/loop/loop_grid.h"

enum { WARP = 32 };

struct grid_shape grid_shape_of(const struct grid_loop *g, const struct sched_choice *c)
{
	struct grid_shape s = { .threads = c->param[0], .units = c->param[1], .rows = c->param[2] };
	s.holds = c->param[3] != 0;
	s.slices = (g->units + s.units - 1) / s.units;
	s.alone = s.slices == 1;
	s.overlap = g->units % s.units != 0;
	s.warps = s.threads / WARP;
	return s;
}

int grid_outputs(const struct grid_item *item, const struct grid_shape *s)
{
	return (item->copies * s->units + s->warps - 1) / s->warps;
}

int grid_rows_at_once(const struct grid_item *item, const struct grid_shape *s)
{
	int rows = 1, outputs = grid_outputs(item, s);
	while (2 * rows <= s->rows && 2 * rows * outputs <= WARP)
		rows *= 2;
	return rows;
}

int grid_steps(const struct grid_loop *g, const struct grid_item *item)
{
	int64_t n = 0;
	ir_const_int(reduced_count(g->p, item->entries.at[0].stage), &n);
	return (int)((n + WARP - 1) / WARP);
}

/* ---- What holds in all turns and for all rows of a block. */

struct holds {
	const struct grid_loop *g;
	const struct grid_shape *s;
	bool fits, loads;
};

static void must_hold(void *user, expr e)
{
	struct holds *h = user;
	const struct grid_loop *g = h->g;
	h->loads |= e->op == IR_LOAD;
	if (e->op == IR_LOAD)
		h->fits &= e->buf->id >= g->buffers || !g->copies[e->buf->id];
	if (e->op == IR_AXIS)
		h->fits &= e->i != g->lead - 1 || h->s->rows == 1;
	h->fits &= e->op != IR_VAR && e->op != IR_ACC;
}

struct found {
	struct holds holds;
	const bool *sure;
	bool *seen;
	expr *out;
	int n, most;
};

static void find_constants(struct found *f, expr e)
{
	if (f->seen[e->id] || f->n == f->most)
		return;
	f->seen[e->id] = true;
	f->holds.fits = f->sure[e->id];
	f->holds.loads = false;
	ir_walk(e, must_hold, &f->holds);
	if (f->holds.fits && f->holds.loads) {
		f->out[f->n++] = e;
		return;
	}
	for (int i = 0; i < e->n; i++)
		find_constants(f, e->arg[i]);
}

int grid_constants(const struct grid_loop *g, const struct grid_item *item, const struct grid_shape *s, expr *out,
                   int most)
{
	expr value = item->entries.at[0].stage->value;
	struct arena *scratch = arena_new();
	bool *sure = NEWN(scratch, bool, value->id + 1);
	struct found f = { .holds = { g, s, true, false }, .sure = sure, .out = out, .most = most };
	f.seen = NEWN(scratch, bool, value->id + 1);
	ir_mark_unconditional(value, sure);
	find_constants(&f, value);
	arena_free(scratch);
	return f.n;
}

/* ---- Registers and shared memory. */

int grid_taken(const struct grid_loop *g, const struct grid_shape *s, const struct ir_buffer *b)
{
	int64_t all = s->rows * g->copies[b->id] * g->units;
	return (int)((all + s->threads - 1) / s->threads);
}

int grid_registers(const struct grid_loop *g, const struct grid_shape *s)
{
	enum { MOST = 4 };
	expr held[MOST];
	int kept = 0, used = 0;
	for (int id = 0; id < g->buffers; id++)
		kept += g->published[id] && !s->alone ? grid_taken(g, s, g->p->buffers.at[id]) : 0; /* places of words
		                                                                                     */
	vec_each (item, &g->items) {
		vec_each (b, &item->takes) {
			int words = s->alone ? 0 : 2 * grid_taken(g, s, *b);
			used = words > used ? words : used;
		}
		if (!item->reduces)
			continue;
		int outputs = grid_outputs(item, s), sums = outputs * grid_rows_at_once(item, s);
		used = sums > used ? sums : used;
		for (int i = s->holds ? grid_constants(g, item, s, held, MOST) : 0; i > 0; i--)
			kept += outputs * grid_steps(g, item) * (type_info(held[i - 1]->type)->bits > 32 ? 2 : 1);
	}
	return kept + used;
}

int64_t grid_shared_bytes(const struct grid_loop *g, const struct grid_shape *s)
{
	int64_t bytes = 0;
	for (int id = 0; id < g->buffers; id++) {
		enum type t = g->p->buffers.at[id]->type;
		if (grid_has_own(g, s->alone, id))
			bytes += type_bytes(t, (int64_t)s->rows * g->copies[id] * s->units) + 16;
		if (g->published[id])
			bytes += type_bytes(t, s->rows * g->copies[id] * g->units) + 16;
	}
	return bytes;
}

expr grid_words(const struct grid_loop *g)
{
	int64_t each = 0;
	for (int id = 0; id < g->buffers; id++)
		each += g->published[id] ? g->copies[id] * g->units : 0;
	return ir_binary(IR_MUL, ir_binary(IR_MUL, grid_outer(g), grid_rows(g)), ir_index(g->p->pool, 2 * each));
}
