/* Follows the elements of sequences and optional values, and replaces the nodes that read them with tensors. See
 * graph_sequence.h. */
#include <string.h>

#include "graph/graph_sequence.h"

enum { MOST_ELEMENTS = 1024 }; /* of a part of which each element becomes a tensor */

/* ---- Sequences --------------------------------------------------------------------------------------------------- */

struct seq *seq_new(struct resolve_scope *s)
{
	return NEW(s->r->arena, struct seq);
}

struct seq_part *seq_add(struct resolve_scope *s, struct seq *q, enum seq_kind kind, const char *tensor, int64_t count)
{
	struct seq_part *p = NEW(s->r->arena, struct seq_part);

	*p = (struct seq_part){ .kind = kind, .tensor = tensor, .count = count, .scope = s };
	vec_push(s->r->arena, q, p);
	return p;
}

int64_t seq_count(const struct seq *q)
{
	int64_t n = 0;

	vec_each (p, q) {
		if ((*p)->count < 0)
			return -1;
		n += (*p)->count;
	}
	return n;
}

static struct seq *copy_of(struct resolve_scope *s, const struct seq *q)
{
	struct seq *copy = seq_new(s);

	vec_each (p, q)
		vec_push(s->r->arena, copy, *p);
	return copy;
}

/* Returns a sequence with a part for each element; null: their number is unknown. */
static struct seq *spread(struct resolve_scope *s, struct seq *q)
{
	struct seq *out = seq_new(s);
	int64_t n = seq_count(q);

	if (n < 0 || n > MOST_ELEMENTS)
		return NULL;
	for (int64_t k = 0; k < n; k++) {
		const char *tensor = seq_element(s, q, k);

		if (!tensor)
			return NULL;
		seq_add(s, out, SEQ_ONE, tensor, 1);
	}
	return out;
}

/* ---- Tensors in place of elements. */

static const char *scalar(struct plain *p, int64_t x)
{
	return plain_number(p, TYPE_I64, (double)x);
}

static const char *op_on_axis(struct plain *p, const char *op, const char *x, const char *second, int axis)
{
	Onnx__NodeProto *n = plain_node(p, op, x, second, NULL);

	onnx_node_set_int(p->g->model, n, "axis", axis);
	return plain_output(p, n);
}

/* The extents of the pieces as constants; false: they are not. */
static bool constant_sizes(const struct resolve_scope *s, const struct seq_part *p, int64_t *size)
{
	const struct tensor *t;
	struct err ignored = { 0 };
	struct graph *g = NULL;
	struct graph_value *v = p->kind == SEQ_LIST ? resolve_value(s, &g, p->sizes) : NULL;

	if (!v || !v->is_constant || graph_constant(&t, g, v, &ignored) < 0 || tensor_count(t) != p->count)
		return false;
	for (int64_t k = 0; k < p->count; k++)
		size[k] = tensor_int(t, k);
	return true;
}

/* One Split for all pieces of a part. `size`: their extents; null: they are in the tensor `sizes`. */
static bool split(struct seq_part *part, const int64_t *size)
{
	struct resolve_scope *s = part->scope;
	struct plain p = resolve_begin(s, part->tensor);
	Onnx__NodeProto *n;

	if (!size && p.opset < 13)
		return false;
	n = plain_node(&p, "Split", part->tensor,
	               p.opset < 13 ? NULL
	               : size       ? plain_ints(&p, size, (int)part->count)
	                            : plain_cast(&p, part->sizes, TYPE_I64),
	               NULL);
	if (p.opset < 13)
		onnx_node_set_ints(s->r->model, n, "split", size, (int)part->count);
	onnx_node_set_int(s->r->model, n, "axis", part->axis);
	part->element = NEWN(s->r->arena, const char *, part->count + 1);
	for (int64_t k = 0; k < part->count; k++)
		part->element[k] = plain_output(&p, n);
	resolve_end(s, &p);
	return true;
}

static bool split_all(struct resolve_scope *s, struct seq_part *part)
{
	int64_t *size = NEWN(s->r->arena, int64_t, part->count + 1), extent;
	struct graph *g = NULL;
	const struct graph_value *v = resolve_value(part->scope, &g, part->tensor);

	if (part->kind == SEQ_LIST)
		return split(part, constant_sizes(s, part, size) ? size : NULL);
	if (part->size < 1 || !v || v->rank <= part->axis || !ir_const_int(v->dim[part->axis], &extent))
		return false;
	for (int64_t k = 0; k < part->count; k++)
		size[k] = k + 1 < part->count ? part->size : extent - k * part->size;
	return split(part, size);
}

/* Piece k of chunks of which the extent is open: the last one ends where the tensor does. */
static const char *slice(struct resolve_scope *s, const struct seq_part *part, int64_t k)
{
	struct plain p = resolve_begin(s, part->tensor);
	const int64_t from = k * part->size, to = from + part->size, axis = part->axis;
	const char *start, *end, *result;
	Onnx__NodeProto *n;

	if (part->size > 0) {
		start = plain_ints(&p, &from, 1);
		end = plain_ints(&p, &to, 1);
	} else {
		const char *size = plain_cast(&p, part->sizes, TYPE_I64);

		start = plain_op(&p, "Mul", size, plain_ints(&p, &k, 1), NULL);
		end = plain_op(&p, "Add", start, size, NULL);
	}
	n = plain_node(&p, "Slice", part->tensor, start, end);
	onnx_node_input(s->r->model, n, plain_ints(&p, &axis, 1));
	result = plain_output(&p, n);
	resolve_end(s, &p);
	return result;
}

static const char *element_of(struct resolve_scope *s, struct seq_part *part, int64_t k)
{
	struct resolve_scope *to = part->count < 0 ? s : part->scope; /* one that may not exist: only where it is read
	                                                               */
	const char *result;
	struct plain p;

	if (part->kind == SEQ_ONE)
		return part->tensor;
	if (part->kind == SEQ_STATE || part->count > MOST_ELEMENTS)
		return NULL;
	if (part->element && part->element[k])
		return part->element[k];
	if (part->count >= 0 && part->kind != SEQ_STACK && split_all(s, part))
		return part->element[k];
	if (part->kind == SEQ_LIST)
		return NULL;
	if (part->kind == SEQ_CHUNKS) {
		result = slice(to, part, k);
	} else {
		p = resolve_begin(to, part->tensor);
		result = op_on_axis(&p, "Gather", part->tensor, scalar(&p, k), part->axis);
		resolve_end(to, &p);
	}
	if (part->count >= 0) {
		if (!part->element)
			part->element = NEWN(s->r->arena, const char *, part->count + 1);
		part->element[k] = result;
	}
	return result;
}

const char *seq_element(struct resolve_scope *s, struct seq *q, int64_t k)
{
	vec_each (p, q) {
		if ((*p)->count < 0 && p + 1 < q->at + q->n) /* perhaps in a later part */
			return NULL;
		if ((*p)->count < 0 || k < (*p)->count)
			return element_of(s, *p, k);
		k -= (*p)->count;
	}
	return NULL;
}

/* ---- The whole sequence as one tensor. */

/* Moves an axis of a tensor of this rank. */
static const char *move_axis(struct plain *p, const char *x, int rank, int from, int to)
{
	int64_t perm[IR_MAX_RANK];
	Onnx__NodeProto *n;

	if (from == to)
		return x;
	for (int i = 0, k = 0; i < rank; i++) {
		k += k == from;
		perm[i] = i == to ? from : k++;
	}
	n = plain_node(p, "Transpose", x, NULL, NULL);
	onnx_node_set_ints(p->g->model, n, "perm", perm, rank);
	return plain_output(p, n);
}

/* Merges axis `axis` and the next one of a tensor of this rank. */
static const char *merge_axes(struct plain *p, const char *x, int rank, int axis)
{
	const int64_t minus = -1, first[] = { 0 }, front[] = { axis }, back[] = { axis + 2 }, end[] = { rank };
	const char *shape = plain_op(p, "Shape", x, NULL, NULL), *target = plain_ints(p, &minus, 1);
	Onnx__NodeProto *n = plain_node(p, "Concat", NULL, NULL, NULL);

	if (axis > 0)
		onnx_node_input(p->g->model, n,
		                plain_op(p, "Slice", shape, plain_ints(p, first, 1), plain_ints(p, front, 1)));
	onnx_node_input(p->g->model, n, target);
	if (axis + 2 < rank)
		onnx_node_input(p->g->model, n,
		                plain_op(p, "Slice", shape, plain_ints(p, back, 1), plain_ints(p, end, 1)));
	onnx_node_set_int(p->g->model, n, "axis", 0);
	/* Its inputs come before it. */
	for (int i = 0; i < p->nodes.n - 1; i++)
		if (p->nodes.at[i] == n) {
			memmove(&p->nodes.at[i], &p->nodes.at[i + 1],
			        sizeof *p->nodes.at * (size_t)(p->nodes.n - 1 - i));
			p->nodes.at[p->nodes.n - 1] = n;
		}
	return plain_op(p, "Reshape", x, plain_output(p, n), NULL);
}

/* True if a part is one of the inputs of a Concat along `axis` (may be negative), after `new_axis` of its elements;
 * false: as elements, or not at all. */
static bool is_piece(const struct seq_part *part, int axis, bool new_axis)
{
	int rank = part->rank - (part->kind == SEQ_STACK) + new_axis; /* of the result */

	if (part->kind == SEQ_ONE || part->kind == SEQ_STATE)
		return part->kind == SEQ_ONE;
	axis += axis < 0 ? rank : 0;
	if (axis < 0 || axis >= rank || part->kind == SEQ_STACK)
		return axis >= 0 && axis < rank;
	return !new_axis && axis == part->axis;
}

static const char *piece_of(struct plain *p, const struct seq_part *part, int axis, bool new_axis)
{
	const int64_t at = axis;
	const char *moved;

	if (part->kind == SEQ_ONE && new_axis)
		return plain_with_axes(p, "Unsqueeze", part->tensor, &at, 1, 13);
	if (part->kind != SEQ_STACK)
		return part->tensor;
	axis += axis < 0 ? part->rank - 1 + new_axis : 0;
	moved = move_axis(p, part->tensor, part->rank, part->axis, axis);
	return new_axis ? moved : merge_axes(p, moved, part->rank, axis);
}

/* Joins all elements; null: not possible. */
const char *seq_join(struct resolve_scope *s, struct seq *q, const char *stem, int axis, bool new_axis)
{
	struct seq *parts = seq_new(s);
	const char *only = NULL;
	Onnx__NodeProto *n;
	struct plain p;

	vec_each (part, q) { /* those that are pieces as a whole, and the elements of the others */
		struct seq one = { .at = part, .n = 1 }, *each;

		if (is_piece(*part, axis, new_axis)) {
			vec_push(s->r->arena, parts, *part);
			continue;
		}
		if (!(each = spread(s, &one)))
			return NULL;
		vec_each (e, each)
			vec_push(s->r->arena, parts, *e);
	}
	if (!parts->n)
		return NULL;
	p = resolve_begin(s, stem);
	n = onnx_node_new(s->r->model, "", "Concat", p.stem);
	vec_each (part, parts) {
		only = piece_of(&p, *part, axis, new_axis);
		onnx_node_input(s->r->model, n, only);
	}
	if (parts->n > 1) {
		onnx_node_set_int(s->r->model, n, "axis", axis);
		vec_push(p.g->arena, &p.nodes, n);
		only = plain_output(&p, n);
	}
	resolve_end(s, &p);
	return only;
}

/* True if the part's elements provably have the same shape, which they need not have in a sequence. */
static bool is_even(const struct resolve_scope *s, const struct seq_part *part)
{
	int64_t extent, *size = NEWN(s->r->arena, int64_t, (part->count > 0 ? part->count : 0) + 1);
	struct graph *g = NULL;
	const struct graph_value *v = resolve_value(s, &g, part->tensor);
	bool even = true;

	if (part->kind == SEQ_LIST) {
		if (!constant_sizes(s, part, size))
			return false;
		for (int64_t k = 1; k < part->count; k++)
			even &= size[k] == size[0];
		return even;
	}
	return part->kind == SEQ_STACK || (part->kind == SEQ_CHUNKS && v && v->rank > part->axis && part->size > 0 &&
	                                   ir_const_int(v->dim[part->axis], &extent) && extent % part->size == 0);
}

static bool are_equal(const struct resolve_scope *s, const struct seq *q)
{
	const struct graph_value *first = NULL, *v;
	struct graph *g = NULL;

	if (q->n == 1 && q->at[0]->kind != SEQ_ONE)
		return is_even(s, q->at[0]);
	vec_each (p, q) {
		if ((*p)->kind != SEQ_ONE || !(v = resolve_value(s, &g, (*p)->tensor)) || v->rank < 0)
			return false;
		first = first ? first : v;
		if (v->rank != first->rank || v->type != first->type)
			return false;
		for (int i = 0; i < v->rank; i++)
			if (v->dim[i] != first->dim[i])
				return false;
	}
	return q->n > 0;
}

/* The element at a position that is not known. */
static const char *element_at(struct resolve_scope *s, struct seq *q, const char *stem, const char *at)
{
	const struct seq_part *one = q->n == 1 ? q->at[0] : NULL;
	const char *result, *whole = NULL;
	struct plain p;
	int axis = 0;

	if (one && (one->kind == SEQ_STACK || (one->kind == SEQ_CHUNKS && one->size == 1))) {
		whole = one->tensor;
		axis = one->axis;
	} else if (!q->stacked) {
		struct seq *each = are_equal(s, q) ? spread(s, q) : NULL;
		struct resolve_scope *to = q->n ? q->at[0]->scope : s;

		/* In the scope of the last part, which encloses the others' or is it. */
		for (int i = 0; each && i < q->n; i++)
			for (const struct resolve_scope *x = q->at[i]->scope; x; x = x->outer)
				to = x == to ? q->at[i]->scope : to;
		if (!each)
			return NULL;
		q->stacked = seq_join(to, each, stem, 0, true);
	}
	whole = whole ? whole : q->stacked;
	if (!whole)
		return NULL;
	p = resolve_begin(s, stem);
	if (one && one->kind == SEQ_CHUNKS && one->size == 1)
		at = plain_with_axes(&p, "Unsqueeze", at, (int64_t[]){ 0 }, 1, 13);
	result = op_on_axis(&p, "Gather", whole, at, axis);
	resolve_end(s, &p);
	return result;
}

/* ---- Operators --------------------------------------------------------------------------------------------------- */

static const char *input_of(const Onnx__NodeProto *n, size_t i)
{
	return i < n->n_input ? n->input[i] : "";
}

static const char *output_of(const Onnx__NodeProto *n)
{
	return n->n_output ? n->output[0] : "";
}

static int64_t attr(const Onnx__NodeProto *n, const char *name, int64_t otherwise)
{
	struct err ignored = { 0 };
	int64_t x = otherwise;

	return onnx_attr_int(&x, n, name, otherwise, &ignored) < 0 ? otherwise : x;
}

/* Keeps the node while something reads its sequence that cannot be resolved. */
static bool made(struct resolve_scope *s, Onnx__NodeProto *n, struct seq *q)
{
	resolve_keep(s, n);
	resolve_define(s, output_of(n), (struct resolve_name){ .name = output_of(n), .seq = q });
	return true;
}

static bool take_split(struct resolve_scope *s, Onnx__NodeProto *n)
{
	const char *x = resolve_find(s, input_of(n, 0)).name, *sizes = resolve_find(s, input_of(n, 1)).name;
	struct graph *g = NULL;
	const struct graph_value *v = resolve_value(s, &g, x), *w = *sizes ? resolve_value(s, &g, sizes) : NULL;
	int64_t axis = attr(n, "axis", 0), extent, count = -1, size = 1;
	struct seq_part *part;
	struct seq *q = seq_new(s);
	enum seq_kind kind = SEQ_CHUNKS;

	if (!v || v->rank < 1 || (*sizes && (!w || w->rank < 0 || w->rank > 1)))
		return false;
	axis += axis < 0 ? v->rank : 0;
	if (axis < 0 || axis >= v->rank)
		return false;
	if (w && w->rank == 1) {
		kind = SEQ_LIST;
		if (!ir_const_int(w->dim[0], &count) || count > MOST_ELEMENTS)
			return false;
	} else if (w && (!resolve_int(s, sizes, &size) || size < 1)) {
		expr e = v->dim[axis], one = ir_index(e->pool, 1), by = w->content ? w->content[0] : NULL;

		size = -1;
		if (!by || !ir_less(ir_index(e->pool, 0), by) ||
		    !ir_const_int(ir_binary(IR_FLOORDIV, ir_binary(IR_SUB, ir_binary(IR_ADD, e, by), one), by), &count))
			return false;
	} else {
		if (ir_const_int(v->dim[axis], &extent))
			count = (extent + size - 1) / size;
		kind = !w && !attr(n, "keepdims", 1) ? SEQ_STACK : SEQ_CHUNKS;
	}
	part = seq_add(s, q, kind, x, count);
	part->axis = (int)axis;
	part->rank = v->rank;
	part->size = size;
	part->sizes = sizes;
	return made(s, n, q);
}

static bool take_construct(struct resolve_scope *s, Onnx__NodeProto *n)
{
	struct seq *q = seq_new(s);

	for (size_t i = 0; i < n->n_input; i++)
		seq_add(s, q, SEQ_ONE, resolve_find(s, n->input[i]).name, 1);
	return made(s, n, q);
}

/* Sets *at to the position that an input gives, from 0 on. */
static bool position(struct resolve_scope *s, const Onnx__NodeProto *n, size_t i, int64_t count, int64_t *at)
{
	if (!resolve_int(s, input_of(n, i), at))
		return false;
	*at += *at < 0 && count >= 0 ? count : 0;
	return *at >= 0;
}

static bool take_insert(struct resolve_scope *s, Onnx__NodeProto *n, struct seq *q)
{
	const char *tensor = resolve_find(s, input_of(n, 1)).name;
	int64_t at = 0, count = seq_count(q);
	struct seq *out = copy_of(s, q), *each;

	if (!*input_of(n, 2) || (position(s, n, 2, count, &at) && at == count)) {
		seq_add(s, out, SEQ_ONE, tensor, 1);
		return made(s, n, out);
	}
	if (!position(s, n, 2, count, &at) || at > count || !(each = spread(s, q)))
		return false;
	out = seq_new(s);
	for (int i = 0; i < each->n; i++) {
		if (i == at)
			seq_add(s, out, SEQ_ONE, tensor, 1);
		vec_push(s->r->arena, out, each->at[i]);
	}
	return made(s, n, out);
}

static bool take_erase(struct resolve_scope *s, Onnx__NodeProto *n, struct seq *q)
{
	int64_t at = -1, count = seq_count(q);
	struct seq *out = seq_new(s), *each;

	if ((*input_of(n, 1) && !position(s, n, 1, count, &at)) || at >= count || !(each = spread(s, q)))
		return false;
	at += at < 0 ? count : 0;
	for (int i = 0; i < each->n; i++)
		if (i != at)
			vec_push(s->r->arena, out, each->at[i]);
	return made(s, n, out);
}

static bool give(struct resolve_scope *s, const Onnx__NodeProto *n, const char *tensor)
{
	if (tensor)
		resolve_give_tensor(s, output_of(n), tensor);
	return tensor != NULL;
}

/* The number of a part's elements, as a scalar. */
static const char *count_of(struct plain *p, const struct seq_part *part)
{
	const char *shape, *extent;

	if (part->count >= 0)
		return scalar(p, part->count);
	if ((part->kind != SEQ_STACK && part->kind != SEQ_CHUNKS) || part->size < 1)
		return NULL;
	shape = plain_op(p, "Shape", part->tensor, NULL, NULL);
	extent = op_on_axis(p, "Gather", shape, scalar(p, part->axis), 0);
	if (part->kind == SEQ_STACK || part->size == 1)
		return extent;
	extent = plain_op(p, "Add", extent, scalar(p, part->size - 1), NULL);
	return plain_op(p, "Div", extent, scalar(p, part->size), NULL);
}

/* Element -1, -2 ... of a part of unknown count. */
static const char *element_from_end(struct resolve_scope *s, struct seq_part *part, int64_t at)
{
	const int64_t zero = 0, axis = part->axis;
	const char *start, *result;
	struct plain p;
	Onnx__NodeProto *n;

	if (part->kind == SEQ_STACK)
		return element_of(s, part, at);
	if (part->kind != SEQ_CHUNKS || part->size < 1)
		return NULL;
	p = resolve_begin(s, part->tensor);
	start = plain_op(&p, "Add", count_of(&p, part), scalar(&p, at), NULL);
	start = plain_op(&p, "Mul", start, scalar(&p, part->size), NULL);
	start = plain_with_axes(&p, "Unsqueeze", start, &zero, 1, 13);
	n = plain_node(&p, "Slice", part->tensor, start,
	               plain_op(&p, "Add", start, plain_ints(&p, &part->size, 1), NULL));
	onnx_node_input(s->r->model, n, plain_ints(&p, &axis, 1));
	result = plain_output(&p, n);
	resolve_end(s, &p);
	return result;
}

static bool take_at(struct resolve_scope *s, Onnx__NodeProto *n, struct seq *q)
{
	int64_t at, count = seq_count(q);

	if (!resolve_int(s, input_of(n, 1), &at))
		return give(s, n, element_at(s, q, output_of(n), resolve_find(s, input_of(n, 1)).name));
	if (position(s, n, 1, count, &at))
		return (count < 0 || at < count) && give(s, n, seq_element(s, q, at));
	return q->n == 1 && give(s, n, element_from_end(s, q->at[0], at));
}

static bool take_length(struct resolve_scope *s, Onnx__NodeProto *n, const struct seq *q)
{
	struct plain p = resolve_begin(s, output_of(n));
	const char *sum = seq_count(q) >= 0 ? scalar(&p, seq_count(q)) : NULL;

	for (int i = 0; i < q->n && seq_count(q) < 0; i++) {
		const char *one = count_of(&p, q->at[i]);

		if (!one)
			return false;
		sum = sum ? plain_op(&p, "Add", sum, one, NULL) : one;
	}
	resolve_end(s, &p);
	return give(s, n, sum);
}

static bool take_concat(struct resolve_scope *s, Onnx__NodeProto *n, struct seq *q)
{
	const char *whole = seq_join(s, q, output_of(n), (int)attr(n, "axis", 0), attr(n, "new_axis", 0) != 0);

	if (whole && q->n > 1)
		resolve_give_last(s, output_of(n), whole);
	else if (whole)
		resolve_give_tensor(s, output_of(n), whole);
	return whole != NULL;
}

/* ---- Optional values. */

static bool take_optional(struct resolve_scope *s, Onnx__NodeProto *n)
{
	struct resolve_name what = { .name = output_of(n), .nothing = true };

	if (*input_of(n, 0)) {
		what = resolve_find(s, n->input[0]);
		what.nothing = false;
	}
	what.optional = true;
	resolve_keep(s, n);
	resolve_define(s, output_of(n), what);
	return true;
}

static bool take_has(struct resolve_scope *s, Onnx__NodeProto *n)
{
	struct resolve_name what = resolve_find(s, input_of(n, 0));
	struct graph *g = NULL;
	const struct graph_value *v = resolve_value(s, &g, what.name);
	bool has = what.optional ? !what.nothing : what.seq || (v && v->type && !v->is_input);
	struct plain p;

	if (*input_of(n, 0) && !has && !what.nothing)
		return false;
	p = resolve_begin(s, output_of(n));
	const char *known = plain_number(&p, TYPE_BOOL, has);
	resolve_end(s, &p);
	return give(s, n, known);
}

static bool take_element(struct resolve_scope *s, Onnx__NodeProto *n)
{
	struct resolve_name what = resolve_find(s, input_of(n, 0));

	if (!what.optional || what.nothing)
		return false;
	what.optional = false;
	resolve_give(s, output_of(n), what);
	return true;
}

/* ---- */

static bool take_identity(struct resolve_scope *s, Onnx__NodeProto *n)
{
	struct resolve_name what = resolve_find(s, input_of(n, 0));

	if (!what.seq && !what.optional)
		return false;
	resolve_give(s, output_of(n), what);
	return true;
}

static bool is(const Onnx__NodeProto *n, const char *op)
{
	return strcmp(onnx_text(n->op_type), op) == 0;
}

bool seq_is_operator(const Onnx__NodeProto *n)
{
	static const char *const op[] = { "SplitToSequence",    "SequenceConstruct",  "SequenceEmpty",
		                          "SequenceInsert",     "SequenceErase",      "SequenceAt",
		                          "SequenceLength",     "SequenceMap",        "Optional",
		                          "OptionalHasElement", "OptionalGetElement", "ConcatFromSequence" };

	for (size_t i = 0; i < sizeof op / sizeof *op; i++)
		if (!*onnx_domain(n->domain) && is(n, op[i]))
			return true;
	return false;
}

bool seq_node(struct resolve_scope *s, Onnx__NodeProto *n)
{
	struct seq *q = resolve_find(s, input_of(n, 0)).seq;

	if (is(n, "SplitToSequence"))
		return take_split(s, n);
	if (is(n, "SequenceConstruct") || is(n, "SequenceEmpty"))
		return take_construct(s, n);
	if (is(n, "Optional"))
		return take_optional(s, n);
	if (is(n, "OptionalHasElement"))
		return take_has(s, n);
	if (is(n, "OptionalGetElement"))
		return take_element(s, n);
	if (is(n, "Identity"))
		return take_identity(s, n);
	if (!q)
		return false;
	return is(n, "SequenceInsert")       ? take_insert(s, n, q)
	       : is(n, "SequenceErase")      ? take_erase(s, n, q)
	       : is(n, "SequenceAt")         ? take_at(s, n, q)
	       : is(n, "SequenceLength")     ? take_length(s, n, q)
	       : is(n, "ConcatFromSequence") ? take_concat(s, n, q)
	                                     : false;
}
