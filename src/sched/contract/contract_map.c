/* Contractions: operands whose tiles the GPU's tensor memory accelerator (TMA) copies. If rows (or columns) and the
 * reduced axes are one dimension each, tiles are boxes of a tensor. If they are positions and taps of windows over a
 * channels-last image, tiles come from a walk over its positions (im2col mode). See contract.h. */
#include "sched/contract/contract.h"
#include "sched/build/axes.h"

static expr extent_of(const struct contract *c, int axis)
{
	int rank = c->s->out->rank;
	return axis < rank ? c->s->out->dim[axis] : c->s->space[axis - rank];
}

static expr number(const struct contract *c, int64_t x)
{
	return ir_index(c->p->pool, x);
}

/* ---- Boxes. */

/* Merges axes, innermost last, into one dimension if their strides allow it. */
static bool one_dimension(struct ir_pool *pool, const struct contract *c, expr flat, const int *axis, int n, expr *dim,
                          expr *stride)
{
	*dim = ir_index(pool, 1);
	*stride = NULL;
	for (int i = n - 1; i >= 0; i--) {
		expr extent = extent_of(c, axis[i]), step = ir_stride(flat, axis[i]);
		if (ir_is_int(extent, 1))
			continue;
		if (!step || (*stride && step != ir_binary(IR_MUL, *stride, *dim)))
			return false;
		*stride = *stride ? *stride : step;
		*dim = ir_binary(IR_MUL, *dim, extent);
	}
	return true;
}

static bool box_map(struct contract_map *map, const struct contract *c, int side)
{
	const struct contract_operand *o = &c->side[side];
	enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
	struct ir_tensor_map *m = &map->map;
	struct ir_pool *pool = c->p->pool;
	int rank = c->s->out->rank, axes = rank + c->s->space_rank, turned = o->way == CONTRACT_TURNED,
	    along[2 * IR_MAX_RANK];
	expr dim[2], stride[2];
	if (o->way == CONTRACT_GATHER || o->value->op != IR_LOAD)
		return false;
	expr flat = ir_flat(pool, o->value->buf, o->value->arg), rest = flat;
	for (int k = 0; k < axes; k++) {
		expr step = ir_stride(flat, k);
		if (!step)
			return false;
		rest = ir_binary(IR_SUB, rest, ir_binary(IR_MUL, step, ir_axis(pool, k, extent_of(c, k))));
	}
	for (int i = 0; i < c->s->space_rank; i++)
		along[i] = rank + c->order[i];
	if (!ir_is_int(rest, 0) ||
	    !one_dimension(pool, c, flat, along, c->s->space_rank, &dim[turned], &stride[turned]) ||
	    !one_dimension(pool, c, flat, c->axis[own], c->axes[own], &dim[!turned], &stride[!turned]))
		return false;
	*m = (struct ir_tensor_map){ .buf = o->value->buf, .rank = 2 };
	for (int i = 0; i < 2; i++) {
		m->dim[i] = dim[i];
		m->stride[i] = stride[i] ? stride[i]
		               : i       ? dim[0]
		                         : ir_index(pool, 1); /* one element: any legal stride */
	}
	if (!ir_is_int(m->stride[0], 1))
		return false;
	for (int i = 0; i < c->axes[CONTRACT_BATCH]; i++) {
		int axis = c->axis[CONTRACT_BATCH][i];
		expr extent = extent_of(c, axis), step = ir_stride(flat, axis);
		if (ir_is_int(extent, 1) || ir_is_int(step, 0))
			continue;
		if (m->rank == IR_MAP_RANK)
			return false;
		m->dim[m->rank] = extent;
		m->stride[m->rank] = step;
		map->at[m->rank++] = axis;
	}
	for (int i = 1; i < m->rank; i++) { /* strides must be positive */
		int64_t x;
		if (ir_const_int(m->stride[i], &x) && x <= 0)
			return false;
	}
	return true;
}

/* ---- Walks. A dimension's index is `from`, over the result's axes, plus `by`, over the reduced axes. */

/* CUDA's limits by tensor rank: how far windows may start and end outside the tensor, and how far taps may be apart. */
static const struct {
	int low, high, by;
} walk_limit[IR_MAP_RANK + 1] = { [3] = { -32768, 32767, 65535 }, [4] = { -128, 127, 255 }, [5] = { -16, 15, 31 } };

static bool split_index(const struct contract *c, expr index, expr *from, expr *by)
{
	int rank = c->s->out->rank;
	*by = number(c, 0);
	for (int k = rank; k < rank + c->s->space_rank; k++) {
		expr step = ir_stride(index, k);
		if (!step)
			return false;
		*by = ir_binary(IR_ADD, *by, ir_binary(IR_MUL, step, ir_axis(c->p->pool, k, extent_of(c, k))));
	}
	*from = ir_binary(IR_SUB, index, *by);
	return true;
}

static bool uses(expr e, int first, int after)
{
	bool used[2 * IR_MAX_RANK] = { false }, any = false;
	ir_mark_axes(e, used);
	for (int k = first; k < after; k++)
		any |= used[k];
	return any;
}

/* Solves from = step * axis + first, where axis is the operand's next own axis (*left counts the axes left). If that
 * axis has one element, `from` is a number. */
static bool take_axis(const struct contract *c, enum contract_group own, int *left, expr from, int64_t *step,
                      int64_t *first, expr *count)
{
	while (*left > 0 && ir_is_int(extent_of(c, c->axis[own][*left - 1]), 1))
		--*left;
	int axis = *left > 0 ? c->axis[own][*left - 1] : -1;
	expr stride = axis < 0 ? NULL : ir_stride(from, axis);
	*step = 1;
	*count = number(c, 1);
	if (stride && !ir_is_int(stride, 0)) {
		*count = extent_of(c, axis);
		from = ir_binary(IR_SUB, from, ir_binary(IR_MUL, stride, ir_axis(c->p->pool, axis, *count)));
		if (!ir_const_int(stride, step))
			return false;
		--*left;
	}
	return ir_const_int(from, first);
}

/* Largest offset of a tap; -1: unknown, or negative. */
static int64_t furthest(const struct contract *c, expr by)
{
	int rank = c->s->out->rank;
	int64_t most = 0, step, extent;
	for (int k = rank; k < rank + c->s->space_rank; k++) {
		expr stride = ir_stride(by, k);
		if (!stride || !ir_const_int(stride, &step) || step < 0)
			return -1;
		if (step > 0 && !ir_const_int(extent_of(c, k), &extent))
			return -1;
		most += step > 0 ? step * (extent - 1) : 0;
	}
	return most;
}

bool contract_tests_bounds(const struct contract *c, expr condition, expr load)
{
	expr rest;
	if (condition->op == IR_AND)
		return contract_tests_bounds(c, condition->arg[0], load) &&
		       contract_tests_bounds(c, condition->arg[1], load);
	if (condition->op == IR_LE)
		rest = ir_binary(IR_SUB, condition->arg[1], condition->arg[0]);
	else if (condition->op == IR_LT)
		rest = ir_binary(IR_SUB, ir_binary(IR_SUB, condition->arg[1], condition->arg[0]), number(c, 1));
	else
		return false;
	for (int d = 0; d < load->buf->rank; d++) { /* the condition rest >= 0: rest is the room below the index, or
		                                       above it */
		expr up = ir_binary(IR_SUB, ir_binary(IR_SUB, load->buf->dim[d], load->arg[d]), number(c, 1));
		if (rest == load->arg[d] || rest == up)
			return true;
	}
	return false;
}

/* The dimensions of the load's buffer, innermost first, and each index split. The innermost must be the inner reduced
 * axis, so that all channels of a step belong to one tap. Returns a bool, or null if it is not. */
static expr split_load(struct contract_map *map, const struct contract *c, expr load)
{
	struct ir_tensor_map *m = &map->map;
	int inner = c->s->out->rank + c->order[c->s->space_rank - 1];
	*m = (struct ir_tensor_map){ .buf = load->buf, .rank = load->buf->rank };
	expr stride = number(c, 1);
	for (int d = 0; d < m->rank; d++) {
		int of = m->rank - 1 - d;
		m->dim[d] = load->buf->dim[of];
		m->stride[d] = stride;
		stride = ir_binary(IR_MUL, stride, m->dim[d]);
		if (!split_index(c, load->arg[of], &map->from[d], &map->by[d]))
			return NULL;
	}
	expr channel = ir_axis(c->p->pool, inner, extent_of(c, inner)),
	     depth = number(c, 128 / contract_element_bytes(c));
	expr whole = ir_binary(IR_EQ, ir_binary(IR_MOD, extent_of(c, inner), depth), number(c, 0));
	for (int d = 1; d < m->rank; d++)
		if (uses(map->by[d], inner, inner + 1))
			return NULL;
	return map->by[0] != channel || ir_is_int(whole, 0) ? NULL : whole;
}

static bool walk_map(struct contract_map *map, const struct contract *c, int side)
{
	const struct contract_operand *o = &c->side[side];
	enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
	expr load = contract_load_of(o), condition = contract_condition_of(o), fits = ir_int(c->p->pool, TYPE_BOOL, 1);
	int left = c->axes[own];
	if (o->way != CONTRACT_STRAIGHT || !load || load->buf->rank < 3 || load->buf->rank > IR_MAP_RANK ||
	    (condition && !contract_tests_bounds(c, condition, load)))
		return false;
	struct ir_tensor_map *m = &map->map;
	map->walks = true;
	expr whole = split_load(map, c, load);
	if (!whole)
		return false;
	for (int i = 0; i < c->axes[own]; i++)
		if (uses(map->from[0], c->axis[own][i], c->axis[own][i] + 1))
			return false;
	fits = ir_binary(IR_AND, fits, whole);
	for (int d = 1; d < m->rank; d++) {
		int64_t step, first, by = furthest(c, map->by[d]);
		bool last = d == m->rank - 1;
		if (by < 0 || by > walk_limit[m->rank].by ||
		    !take_axis(c, own, &left, map->from[d], &step, &first, &m->count[d]))
			return false;
		if (last && (step != 1 || first != 0 || by != 0))
			return false;
		if (step < 1 || step > 8 || first < walk_limit[m->rank].low || first > walk_limit[m->rank].high)
			return false;
		m->step[d] = (int)step;
		m->first[d] = (int)first;
		expr end =
		        ir_binary(IR_ADD, ir_binary(IR_MUL, number(c, step), m->count[d]), number(c, first - step + 1));
		end = ir_binary(IR_SUB, end, m->dim[d]); /* relative to the tensor's end */
		expr low = ir_binary(IR_LE, number(c, walk_limit[m->rank].low), end);
		expr high = ir_binary(IR_LE, end, number(c, walk_limit[m->rank].high));
		if (!last)
			fits = ir_binary(IR_AND, fits, ir_binary(IR_AND, low, high));
	}
	m->count[m->rank - 1] = NULL;
	while (left > 0 && ir_is_int(extent_of(c, c->axis[own][left - 1]), 1))
		left--;
	map->fits = fits;
	return left == 0 && !ir_is_int(fits, 0);
}

/* ---- Stepped boxes: rows (or columns) are several dimensions of the tensor, and a tap moves the box along them, as
 * with the phases of a transposed convolution's weights. */

enum { MOST_INNER = 64 /* divides the rows and columns of all tiles */ };

static bool stepped_map(struct contract_map *map, const struct contract *c, int side)
{
	const struct contract_operand *o = &c->side[side];
	enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
	struct ir_tensor_map *m = &map->map;
	int next = c->axes[own] - 1;
	if (o->way != CONTRACT_STRAIGHT || o->value->op != IR_LOAD || o->value->buf->rank > IR_MAP_RANK)
		return false;
	expr whole = split_load(map, c, o->value);
	if (!whole)
		return false;
	map->stepped = true;
	map->inner = 1;
	map->outer = 0;
	for (int d = 0; d < m->rank; d++) {
		while (next >= 0 && ir_is_int(extent_of(c, c->axis[own][next]), 1))
			next--;
		int axis = next >= 0 ? c->axis[own][next] : -1;
		expr stride = axis >= 0 ? ir_stride(map->from[d], axis) : NULL;
		m->box[d] = 1;
		for (int i = 0; i < c->axes[own]; i++)
			if (c->axis[own][i] != axis && uses(map->from[d], c->axis[own][i], c->axis[own][i] + 1))
				return false;
		if (axis < 0 || (stride && ir_is_int(stride, 0)))
			continue;
		int64_t extent;
		if (d == 0 || !stride || !ir_is_int(stride, 1) || map->outer)
			return false;
		bool more = false;
		for (int i = 0; i < next; i++)
			more |= !ir_is_int(extent_of(c, c->axis[own][i]), 1);
		if (!more) {
			map->outer = d;
		} else if (!ir_const_int(extent_of(c, axis), &extent) || MOST_INNER % (extent * map->inner)) {
			return false;
		} else {
			m->box[d] = (int)extent;
			map->inner *= (int)extent;
		}
		next--;
	}
	map->fits = whole;
	return map->outer > 0;
}

/* bool: strides are positive and whole 16-byte vectors. */
static expr map_fits(const struct contract *c, const struct ir_tensor_map *m)
{
	struct ir_pool *pool = c->p->pool;
	int vector = 16 * 8 / type_info(m->buf->type)->bits;
	expr fits = ir_int(pool, TYPE_BOOL, 1);
	for (int i = 1; i < m->rank; i++) {
		expr whole =
		        ir_binary(IR_EQ, ir_binary(IR_MOD, m->stride[i], ir_index(pool, vector)), ir_index(pool, 0));
		fits = ir_binary(IR_AND, fits,
		                 ir_binary(IR_AND, ir_binary(IR_LT, ir_index(pool, 0), m->stride[i]), whole));
	}
	return fits;
}

bool contract_map(struct contract_map *map, const struct contract *c, int side)
{
	*map = (struct contract_map){ .fits = ir_int(c->p->pool, TYPE_BOOL, 1) };
	if (!box_map(map, c, side)) {
		*map = (struct contract_map){ .fits = ir_int(c->p->pool, TYPE_BOOL, 1) };
		if (!walk_map(map, c, side)) {
			*map = (struct contract_map){ .fits = ir_int(c->p->pool, TYPE_BOOL, 1) };
			if (!stepped_map(map, c, side))
				return false;
		}
	}
	map->fits = ir_binary(IR_AND, map->fits, map_fits(c, &map->map));
	return true;
}

bool contract_has_maps(const struct contract *c)
{
	struct contract_map m;
	return contract_map(&m, c, 0) && contract_map(&m, c, 1);
}
