/* Reads of buffers as ONNX nodes: as they are where their axes are the space's last ones, else sliced, transposed, or
 * with axes of length 1 between. Extents as tensors. */
#include <string.h>

#include "graph/graph_plain.h"

static const struct plain_value none;

/* How an index reads an axis of a buffer. */
struct reading {
	int axis;            /* of the space; -1: the same element everywhere */
	int64_t start, step; /* if it reads a part of the buffer's axis */
	bool part;
};

/* ---- One index. */

static expr axis_of(const struct plain_space *s, struct ir_pool *p, int k)
{
	return ir_axis(p, s->axis[k], s->extent[k]);
}

int plain_place(const struct plain_space *s, int axis)
{
	for (int k = 0; k < s->rank; k++)
		if (s->axis[k] == axis)
			return k;
	return -1;
}

/* The index `e` as start + step * axis. False if it is no such thing, or may read outside the buffer. */
static bool read_index(struct reading *r, const struct plain_space *s, expr e, expr dim)
{
	struct ir_pool *p = s->program->pool;
	int64_t step, start, extent;

	*r = (struct reading){ .axis = -1, .step = 1 };
	if (ir_const_int(e, &r->start))
		return r->start >= 0 && ir_less(e, dim);
	for (int k = 0; k < s->rank; k++) {
		expr stride = ir_stride(e, s->axis[k]);

		if (!stride || !ir_const_int(stride, &step) || step < 1)
			continue;
		expr rest = ir_binary(IR_SUB, e, ir_binary(IR_MUL, axis_of(s, p, k), ir_index(p, step)));
		if (!ir_const_int(rest, &start) || start < 0)
			return false;
		*r = (struct reading){ k, start, step, false };
		if (!start && step == 1 && dim == s->extent[k])
			return true;
		r->part = true;
		expr last = ir_binary(
		        IR_ADD, rest,
		        ir_binary(IR_MUL, ir_binary(IR_SUB, s->extent[k], ir_index(p, 1)), ir_index(p, step)));
		return ir_less(last, dim) && ir_const_int(s->extent[k], &extent);
	}
	return false;
}

/* ---- The tensor. */

/* True if axis j of the buffer is the space's axis at the same distance from the end, or of length 1. */
static bool is_aligned(const struct plain_space *s, const struct ir_buffer *b, const struct reading *r, int j)
{
	int64_t dim;

	if (r[j].axis >= 0)
		return !r[j].part && r[j].axis == s->rank - b->rank + j;
	return ir_const_int(b->dim[j], &dim) && dim == 1;
}

static const char *slice(struct plain_space *s, const char *name, const struct ir_buffer *b, const struct reading *r)
{
	int64_t start[IR_MAX_RANK], end[IR_MAX_RANK], axis[IR_MAX_RANK], step[IR_MAX_RANK], extent;
	struct plain *p = s->p;
	Onnx__NodeProto *node;
	int n = 0;

	for (int j = 0; j < b->rank; j++)
		if (r[j].axis >= 0 && r[j].part && ir_const_int(s->extent[r[j].axis], &extent)) {
			axis[n] = j;
			start[n] = r[j].start;
			step[n] = r[j].step;
			end[n++] = r[j].start + r[j].step * (extent - 1) + 1;
		}
	if (!n || !name)
		return name;
	node = plain_node(p, "Slice", name, plain_ints(p, start, n), plain_ints(p, end, n));
	onnx_node_input(p->g->model, node, plain_ints(p, axis, n));
	onnx_node_input(p->g->model, node, plain_ints(p, step, n));
	return plain_output(p, node);
}

/* Takes the element of each axis that has the same index everywhere. */
static const char *take(struct plain_space *s, const char *name, const struct ir_buffer *b, const struct reading *r)
{
	struct plain *p = s->p;

	for (int j = b->rank - 1; j >= 0 && name; j--) {
		Onnx__NodeProto *node;

		if (r[j].axis >= 0)
			continue;
		node = plain_node(p, "Gather", name, plain_number(p, TYPE_I64, (double)r[j].start), NULL);
		onnx_node_set_int(p->g->model, node, "axis", j);
		name = plain_output(p, node);
	}
	return name;
}

/* Puts the axes into the space's order, with axes of length 1 between. */
static struct plain_value place(struct plain_space *s, const char *name, const struct ir_buffer *b,
                                const struct reading *r, enum type t)
{
	int64_t perm[IR_MAX_RANK], gap[2 * IR_MAX_RANK], order[IR_MAX_RANK];
	uint32_t axes = 0;
	int n = 0, gaps = 0, first = s->rank;
	bool sorted = true;

	for (int j = 0; j < b->rank; j++)
		if (r[j].axis >= 0) {
			if (axes & 1u << r[j].axis) /* a diagonal */
				return none;
			axes |= 1u << r[j].axis;
			order[n++] = r[j].axis;
		}
	for (int i = 0; i < n; i++) {
		int place = 0;

		for (int k = 0; k < n; k++)
			place += order[k] < order[i];
		perm[place] = i;
		sorted &= place == i;
		first = order[i] < first ? (int)order[i] : first;
	}
	if (!sorted && name) {
		Onnx__NodeProto *node = plain_node(s->p, "Transpose", name, NULL, NULL);

		onnx_node_set_ints(s->p->g->model, node, "perm", perm, n);
		name = plain_output(s->p, node);
	}
	for (int k = first; k < s->rank; k++)
		if (!(axes & 1u << k))
			gap[gaps++] = k - first;
	return (struct plain_value){ plain_with_axes(s->p, "Unsqueeze", name, gap, gaps, 13), t, s->rank - first,
		                     axes };
}

struct plain_value plain_load(struct plain_space *s, const struct ir_buffer *b, const expr *index)
{
	const struct plain_value *own = &s->buffer[b->id];
	struct reading r[IR_MAX_RANK];
	bool aligned = b->rank <= s->rank;
	uint32_t axes = 0;

	if (!own->name)
		return none;
	for (int j = 0; j < b->rank; j++) {
		if (!read_index(&r[j], s, index[j], b->dim[j]))
			return none;
		aligned = aligned && is_aligned(s, b, r, j);
		axes |= r[j].axis >= 0 ? 1u << r[j].axis : 0;
	}
	if (aligned)
		return (struct plain_value){ own->name, own->type, b->rank, axes };
	return place(s, take(s, slice(s, own->name, b, r), b, r), b, r, own->type);
}

/* ---- Extents. */

/* The extent of an input that is this symbol. */
static const char *extent_of(struct plain_space *s, expr symbol)
{
	struct plain *p = s->p;
	int input, axis;

	if (!ir_symbol_source(s->program, symbol, &input, &axis))
		return NULL;
	const struct plain_value *b = &s->buffer[s->program->inputs.at[input]->id];
	if (!b->name)
		return NULL;
	return plain_op(p, "Gather", plain_op(p, "Shape", b->name, NULL, NULL), plain_number(p, TYPE_I64, axis), NULL);
}

const char *plain_extent(struct plain_space *s, expr e, bool axis)
{
	struct plain *p = s->p;
	struct plain_value v;
	const char *name;
	int64_t x, first = 0;

	if (ir_const_int(e, &x))
		return axis ? plain_ints(p, &x, 1) : plain_number(p, TYPE_I64, (double)x);
	if (e->op == IR_SYMBOL) {
		name = extent_of(s, e);
	} else {
		v = plain_expr(s, e);
		name = v.rank ? NULL : v.name;
	}
	return axis ? plain_with_axes(p, "Unsqueeze", name, &first, 1, 13) : name;
}

/* The space's extents as one tensor. */
static const char *shape_of(struct plain_space *s)
{
	struct plain *p = s->p;
	int64_t known[2 * IR_MAX_RANK];
	Onnx__NodeProto *node;
	const char *part[2 * IR_MAX_RANK];
	bool all = true;

	for (int k = 0; k < s->rank; k++)
		all &= ir_const_int(s->extent[k], &known[k]);
	if (all)
		return plain_ints(p, known, s->rank);
	for (int k = 0; k < s->rank; k++) {
		part[k] = plain_extent(s, s->extent[k], true);
		if (!part[k])
			return NULL;
	}
	node = plain_node(p, "Concat", part[0], NULL, NULL);
	for (int k = 1; k < s->rank; k++)
		onnx_node_input(p->g->model, node, part[k]);
	onnx_node_set_int(p->g->model, node, "axis", 0);
	return plain_output(p, node);
}

const char *plain_whole(struct plain_space *s, struct plain_value v)
{
	bool whole = v.rank == s->rank;
	int64_t extent;
	const char *shape;

	if (!v.name)
		return NULL;
	for (int k = 0; k < s->rank; k++)
		whole = whole && (v.axes & 1u << k || (ir_const_int(s->extent[k], &extent) && extent == 1));
	if (whole)
		return v.name;
	shape = shape_of(s);
	return shape ? plain_op(s->p, "Expand", v.name, shape, NULL) : NULL;
}
