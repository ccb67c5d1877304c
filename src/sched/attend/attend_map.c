/* Tensor maps of keys and values, from which the copy engine (TMA) loads tiles. */
#include "sched/attend/attend_kernel.h"

bool attend_map(struct attend_map *out, const struct attend *a, expr e, int size)
{
	struct ir_pool *pool = a->p->pool;
	struct ir_tensor_map *m = &out->map;
	expr axis[IR_MAX_RANK + 2], extent[IR_MAX_RANK + 2], none = ir_index(pool, 0);
	for (int k = 0; k <= a->rows + 1; k++) {
		expr group = ir_index(pool, k == a->head ? a->group : 1);
		extent[k] = k > a->rows ? ir_index(pool, size) : ir_binary(IR_FLOORDIV, a->dim[k], group);
		axis[k] = ir_binary(IR_MUL, ir_axis(pool, k, extent[k]), group);
	}
	expr flat = ir_bind_axes(pool, ir_flat(pool, e->buf, e->arg), axis), rest = flat;
	*out = (struct attend_map){ .map = { .buf = e->buf, .rank = 2 }, .fits = ir_int(pool, TYPE_BOOL, 1) };
	for (int k = 0; k <= a->rows + 1; k++) {
		expr step = ir_stride(flat, k);
		if (!step)
			return false;
		rest = ir_binary(IR_SUB, rest, ir_binary(IR_MUL, step, ir_axis(pool, k, extent[k])));
		int d = k > a->rows ? 0 : k == a->rows ? 1 : m->rank;
		if (d > 1 && (ir_is_int(extent[k], 1) || ir_is_int(step, 0)))
			continue;
		if (d == IR_MAP_RANK)
			return false;
		m->dim[d] = extent[k];
		m->stride[d] = d == 1 && ir_is_int(extent[k], 1) ? ir_index(pool, (size + 7) / 8 * 8) : step;
		out->axis[d] = k;
		m->rank += d > 1;
	}
	for (int d = 0; d < m->rank; d++) {
		expr fits = ir_binary(IR_LT, none, m->dim[d]);
		if (d > 0) { /* whole vectors of 16 bytes */
			expr vectors = ir_binary(IR_EQ, ir_binary(IR_MOD, m->stride[d], ir_index(pool, 8)), none);
			fits = ir_binary(IR_AND, fits,
			                 ir_binary(IR_AND, ir_binary(IR_LT, none, m->stride[d]), vectors));
		}
		out->fits = ir_binary(IR_AND, out->fits, fits);
		m->box[d] = d ? 1 : 64;
	}
	return ir_is_int(rest, 0) && ir_is_int(m->stride[0], 1) && !ir_is_int(out->fits, 0);
}
