/* The kernel of rule march for constant positions: it is known at compile time which of a thread's rows share a
 * position, as when a resize's scale divides them. The rows are fully unrolled. Kept values of an input row are
 * computed once, its elements are loaded once, as vectors if they are neighbours, and weights are constants. See
 * march.h. */
#include "sched/map/march.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/vectors.h"

#include <string.h>

#include "sched/build/window_reads.h"

/* Kept values of one position: its elements, and their array. */
struct kept_row {
	expr item[MARCH_WIDTH], again[MARCH_WIDTH]; /* again: their variables */
	struct ir_variable *array;                  /* null: not declared yet */
};

struct rows_kept {
	struct {
		VEC(struct kept_row);
	} all;
	int of_row[MARCH_ROWS][MARCH_KEPT];
};

/* Axes of element v of one of the thread's rows. */
static void axes_of(const struct march *m, const expr *axis, int row, int v, expr *own)
{
	memcpy(own, axis, IR_MAX_RANK * sizeof *own);
	own[m->axis] = ir_binary(IR_ADD, axis[m->axis], ir_index(m->p->pool, row));
	own[m->inner] = ir_binary(IR_ADD, axis[m->inner], ir_index(m->p->pool, v));
}

/* Finds the kept values of all rows, each once. */
static void find_rows(const struct march *m, struct rows_kept *r, const expr *axis, int rows, int width)
{
	expr own[IR_MAX_RANK];
	struct axes here = { .value = own };
	for (int row = 0; row < rows; row++)
		for (int i = 0; i < m->n; i++) {
			struct kept_row one = { .array = NULL };
			int at = 0;
			for (int v = 0; v < width; v++) {
				axes_of(m, axis, row, v, own);
				one.item[v] = to_kernel(m->p, m->kept[i], &here);
			}
			while (at < r->all.n && memcmp(r->all.at[at].item, one.item, sizeof one.item) != 0)
				at++;
			if (at == r->all.n)
				vec_push(m->p->arena, &r->all, one);
			r->of_row[row][i] = at;
		}
}

bool march_is_fixed(const struct march *m, int rows, int width, double *work)
{
	struct ir_pool *pool = m->p->pool;
	const struct ir_buffer *out = m->s->out;
	struct rows_kept r = { 0 };
	int parts = 0;
	expr axis[IR_MAX_RANK], all = ir_const(pool, TYPE_F64, 0);
	if (!divides(out->dim[m->axis], rows) || !divides(out->dim[m->inner], width))
		return false;
	for (int k = 0; k < out->rank; k++) {
		int several = k == m->axis ? rows : k == m->inner ? width : 1;
		expr each = ir_index(pool, several);
		axis[k] = ir_binary(IR_MUL, ir_some(pool, TYPE_INDEX, ir_binary(IR_FLOORDIV, out->dim[k], each)), each);
	}
	find_rows(m, &r, axis, rows, width);
	if (r.all.n >= rows * m->n)
		return false;
	if (!work)
		return true;
	vec_each (one, &r.all)
		for (int v = 0; v < width; v++, parts++) {
			all = ir_binary(IR_ADD, all, ir_cast(one->item[v], TYPE_F64));
			one->again[v] = ir_some(pool, one->item[v]->type, NULL);
		}
	for (int row = 0; row < rows; row++)
		for (int v = 0; v < width; v++, parts++) {
			expr item[MARCH_KEPT], own[IR_MAX_RANK];
			struct axes here = { .value = own };
			struct substitution kept = { m->kept, item, m->n };
			for (int i = 0; i < m->n; i++)
				item[i] = r.all.at[r.of_row[row][i]].again[v];
			axes_of(m, axis, row, v, own);
			expr value = to_kernel(m->p, substitute(&kept, m->s->value), &here);
			all = ir_binary(IR_ADD, all, ir_cast(value, TYPE_F64));
		}
	*work = ir_cost(all) - 2.0 * parts;
	return true;
}

void march_store_row(const struct march *m, struct ir_block *b, struct ir_variable *const *kept, const expr *axis,
                     int width)
{
	struct ir_program *p = m->p;
	const struct ir_buffer *out = m->s->out;
	struct ir_variable *result = ir_variable_new(p->pool, out->type, "%s_v", out->name);
	expr item[MARCH_KEPT], v = ir_index(p->pool, 0), lane[IR_MAX_RANK], at = ir_index(p->pool, 0);
	struct axes here = { .value = lane };
	emit_array(p, b, result, width);
	struct ir_block *items = emit_unrolled(p, b, "v", width, &v);
	memcpy(lane, axis, sizeof lane);
	lane[m->inner] = ir_binary(IR_ADD, axis[m->inner], v);
	for (int i = 0; i < m->n; i++)
		item[i] = item_of(kept[i], v);
	struct substitution s = { m->kept, item, m->n };
	emit_set(p, items, result, v, to_kernel(p, substitute(&s, m->s->value), &here));
	for (int i = 0; i < out->rank; i++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, out->dim[i]), axis[i]);
	emit_store_vector(p, b, out, at, result, width)->once = m->past_caches;
}

static void emit_kept(const struct march *m, struct ir_block *b, struct window_reads *reads, struct kept_row *one,
                      int number, int width)
{
	struct ir_program *p = m->p;
	if (one->array)
		return;
	one->array = ir_variable_new(p->pool, one->item[0]->type, "kept_%d", number);
	emit_array(p, b, one->array, width);
	for (int v = 0; v < width; v++)
		emit_set(p, b, one->array, ir_index(p->pool, v), window_reads_emit(reads, b, one->item[v]));
}

void march_fixed_emit(const struct march *m, struct ir_block *b, const expr *axis, int rows, int width)
{
	struct ir_program *p = m->p;
	struct rows_kept r = { 0 };
	struct window_reads reads = { .p = p };
	expr own[IR_MAX_RANK];
	find_rows(m, &r, axis, rows, width);
	vec_each (one, &r.all)
		for (int v = 0; v < width; v++)
			window_reads_find(&reads, one->item[v]);
	for (int row = 0; row < rows; row++) {
		struct ir_variable *kept[MARCH_KEPT];
		for (int i = 0; i < m->n; i++) {
			int which = r.of_row[row][i];
			emit_kept(m, b, &reads, &r.all.at[which], which, width);
			kept[i] = r.all.at[which].array;
		}
		axes_of(m, axis, row, 0, own);
		struct ir_block *scope = emit_if(p, b, ir_int(p->pool, TYPE_BOOL, 1));
		march_store_row(m, scope, kept, own, width);
	}
}
