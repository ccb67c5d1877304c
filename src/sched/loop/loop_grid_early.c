/* The kernel of a loop by many blocks: what elements, and what follows a sum, read of memory that does not depend on
 * the turn's results. It is read before the block waits for others. See loop_grid_kernel.h. */
#include "ir/axis_names.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/vectors.h"
#include "sched/loop/loop_grid_kernel.h"

struct early {
	const struct grid_loop *g;
	bool fits, loads;
	const bool *sure;
	bool *seen;
	expr *out;
	int n, most;
};

/* True if the load is of an element that exists, also where its value is not used. */
static bool always_exists(expr e)
{
	if (e->op == IR_CAST)
		e = e->arg[0];
	if (e->op != IR_LOAD)
		return false;
	for (int k = 0; k < e->n; k++)
		if (!ir_nonnegative(e->arg[k]) || !ir_less(e->arg[k], e->buf->dim[k]))
			return false;
	return true;
}

static void must_be_early(void *user, expr e)
{
	struct early *x = user;
	x->loads |= e->op == IR_LOAD;
	if (e->op == IR_LOAD)
		x->fits &= !grid_inside(x->g, e->buf);
	x->fits &= e->op != IR_ACC;
}

static void find_early(struct early *x, expr e)
{
	if (x->seen[e->id] || x->n == x->most)
		return;
	x->seen[e->id] = true;
	x->fits = x->sure[e->id] || always_exists(e);
	x->loads = false;
	ir_walk(e, must_be_early, x);
	if (x->fits && x->loads) {
		x->out[x->n++] = e;
		return;
	}
	for (int i = 0; i < e->n; i++)
		find_early(x, e->arg[i]);
}

int grid_early_parts(const struct grid_loop *g, expr value, expr *out, int most)
{
	struct arena *scratch = arena_new();
	bool *sure = NEWN(scratch, bool, value->id + 1), *seen = NEWN(scratch, bool, value->id + 1);
	struct early x = { .g = g, .sure = sure, .seen = seen, .out = out, .most = most };
	ir_mark_unconditional(value, sure);
	find_early(&x, value);
	arena_free(scratch);
	return x.n;
}

/* Fills in what of an entry's value, or of what follows its sum, is read early. */
static void find_earlies(const struct grid_emitter *m, expr value, int entry, struct grid_item_held *h)
{
	expr what[MOST_HELD];
	int n = grid_early_parts(m->g, value, what, MOST_HELD - h->earlies);
	for (int i = 0; i < n; i++)
		h->early[h->earlies++] = (struct grid_held){ .what = what[i], .entry = entry };
}

static void make_early_arrays(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item,
                              struct grid_item_held *h, int n)
{
	for (int i = 0; i < h->earlies; i++) {
		const char *name = item->entries.at[h->early[i].entry].stage->out->name;
		struct ir_variable *array = ir_variable_new(m->p->pool, h->early[i].what->type, "%s_early", name);
		emit_array(m->p, b, array, n);
		h->early[i].array = array;
	}
}

/* Elements, where each thread makes at most one. */
static void early_elements(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item,
                           struct grid_item_held *h)
{
	h->earlies = 0;
	if (item->copies * m->s->units * m->s->rows > m->s->threads)
		return;
	for (int i = 0; i < item->entries.n; i++)
		find_earlies(m, item->entries.at[i].stage->value, i, h);
	make_early_arrays(m, b, item, h, 1);
	if (!h->earlies)
		return;
	struct grid_spot x;
	b = grid_each_element(m, b, item->entries.at[0].stage->out, &x);
	for (int i = 0; i < h->earlies; i++) {
		struct grid_spot own = grid_spot_for(m, item, h->early[i].entry, &x);
		struct grid_view v = { .m = m, .item = item, .spot = &own };
		emit_set(m->p, b, h->early[i].array, number(m, 0), grid_see(&v, h->early[i].what));
	}
}

static void early_sum(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item,
                      struct grid_item_held *h)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->entries.at[0].stage;
	int rows = grid_rows_at_once(item, m->s), slots = rows * grid_outputs(item, m->s), chunks = m->s->rows / rows;
	expr chunk;
	h->earlies = 0;
	if (s->post)
		find_earlies(m, s->post, 0, h);
	make_early_arrays(m, b, item, h, chunks);
	if (!h->earlies)
		return;
	b = emit_turns(m->p, b, "chunk", chunks, &chunk);
	expr lane = slots < WARP ? ir_binary(IR_MIN, m->lane, number(m, slots - 1)) : m->lane;
	struct grid_spot x = grid_finished(m, b, item, chunk, emit_constant(p, b, "slot", lane, number(m, slots)));
	struct grid_view v = { .m = m, .item = item, .spot = &x };
	for (int i = 0; i < h->earlies; i++)
		emit_set(p, b, h->early[i].array, chunk, grid_see(&v, h->early[i].what));
}

void grid_emit_early(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item, struct grid_item_held *h)
{
	if (item->reduces)
		early_sum(m, b, item, h);
	else
		early_elements(m, b, item, h);
}
