/* Loads of the vectors of cached inputs. See rows_kernel.h. */
#include "sched/row/rows_kernel.h"

#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

/* True if no two rows read the same row of the buffer: it has the rows' own layout, or its rows are disjoint. */
static bool read_by_one(const struct row_kernel *k, const struct rows_cached *c)
{
	const struct rows_stage *st = &k->r->stage[c->stage];
	if (!c->from)
		return true;
	bool apart = !ir_uses(c->from, IR_LOAD);
	for (int a = 0; a < st->row_rank && apart; a++) {
		expr stride = ir_stride(c->from, a);
		apart = ir_is_int(st->dim[a], 1) || (stride && !ir_is_int(stride, 0));
	}
	return apart;
}

/* True if vectors may be loaded from the row's start in the buffer. */
static bool in_vectors(const struct row_kernel *k, const struct rows_cached *c)
{
	struct ir_pool *pool = k->p->pool;
	return !c->stride && (!c->from || ir_is_int(ir_binary(IR_MOD, c->from, ir_index(pool, k->width)), 0));
}

/* Loads a vector of a cached input an element at a time. */
static void load_items(struct row_kernel *k, struct ir_block *b, int cached, expr row, bool declared)
{
	struct ir_program *p = k->p;
	const struct rows_cached *c = &k->r->cache[cached];
	struct ir_variable *array = rows_array(k, cached);
	expr item;
	if (!declared)
		emit_array(p, b, array, k->width);
	b = emit_unrolled_each(p, b, ir_variable_new(p->pool, TYPE_INDEX, "item"), k->width, &item);
	expr place = ir_binary(IR_ADD, k->at, item);
	expr at = ir_binary(IR_ADD, k->from[cached], c->stride ? ir_binary(IR_MUL, place, c->stride) : place);
	expr element = ir_load(p->pool, flat_view(p, c->buf), &at);
	if (row)
		emit_set_in_row(p, b, array, row, item, element);
	else
		emit_set(p, b, array, item, element);
}

void rows_load_cached(struct row_kernel *k, struct ir_block *b, int cached, expr row, bool declared)
{
	if (!in_vectors(k, &k->r->cache[cached])) {
		load_items(k, b, cached, row, declared);
		return;
	}
	expr from = k->from[cached] ? k->from[cached] : ir_binary(IR_MUL, k->row, k->r->length);
	expr at = ir_binary(IR_ADD, from, k->at);
	const struct ir_buffer *buf = k->r->cache[cached].buf;
	if (declared)
		emit_load_into(k->p, b, buf, at, rows_array(k, cached), row, k->width)->once =
		        k->once && read_by_one(k, &k->r->cache[cached]);
	else
		emit_load_vector(k->p, b, buf, at, rows_array(k, cached), k->width);
}
