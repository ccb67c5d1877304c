/* The short names of lower.h for expressions, compute types, index spaces and elements. */
#include "ops/lower/lower.h"

#include <stdarg.h>

/* ---- Constants and operations ------------------------------------------------------------------------------------ */

expr num(struct lower *l, enum type t, double x)
{
	return ir_const(l->program->pool, t, x);
}

expr idx(struct lower *l, int64_t x)
{
	return ir_index(l->program->pool, x);
}

expr with(expr a, double c)
{
	return ir_const(a->pool, a->type, c);
}

expr add(expr a, expr b)
{
	return ir_binary(IR_ADD, a, b);
}

expr sub(expr a, expr b)
{
	return ir_binary(IR_SUB, a, b);
}

expr mul(expr a, expr b)
{
	return ir_binary(IR_MUL, a, b);
}

expr divide(expr a, expr b)
{
	return ir_binary(IR_DIV, a, b);
}

expr floordiv(expr a, expr b)
{
	return ir_binary(IR_FLOORDIV, a, b);
}

expr mod(expr a, expr b)
{
	return ir_binary(IR_MOD, a, b);
}

expr rem_(expr a, expr b)
{
	return ir_binary(IR_REM, a, b);
}

expr min_(expr a, expr b)
{
	return ir_binary(IR_MIN, a, b);
}

expr max_(expr a, expr b)
{
	return ir_binary(IR_MAX, a, b);
}

expr eq(expr a, expr b)
{
	return ir_binary(IR_EQ, a, b);
}

expr ne(expr a, expr b)
{
	return not_(eq(a, b));
}

expr lt(expr a, expr b)
{
	return ir_binary(IR_LT, a, b);
}

expr le(expr a, expr b)
{
	return ir_binary(IR_LE, a, b);
}

expr gt(expr a, expr b)
{
	return lt(b, a);
}

expr ge(expr a, expr b)
{
	return le(b, a);
}

expr and_(expr a, expr b)
{
	return ir_binary(IR_AND, a, b);
}

expr or_(expr a, expr b)
{
	return ir_binary(IR_OR, a, b);
}

expr not_(expr a)
{
	return ir_unary(IR_NOT, a);
}

expr select_(expr cond, expr a, expr b)
{
	return ir_select(cond, a, b);
}

expr cast(expr a, enum type to)
{
	return ir_cast(a, to);
}

expr unary(enum ir_op op, expr a)
{
	return ir_unary(op, a);
}

expr clamp(expr x, expr low, expr high)
{
	return min_(max_(x, low), high);
}

/* Keeps integer constants exact: with() goes through double. */
static expr with_int(expr a, int64_t c)
{
	return type_is_float(a->type) ? ir_float(a->pool, a->type, (double)c) : ir_int(a->pool, a->type, c);
}

expr addi(expr a, int64_t c)
{
	return add(a, with_int(a, c));
}

expr muli(expr a, int64_t c)
{
	return mul(a, with_int(a, c));
}

expr ceildiv(expr a, expr b)
{
	return floordiv(add(a, addi(b, -1)), b);
}

/* ---- Types of arithmetic ----------------------------------------------------------------------------------------- */

enum type compute_type(enum type t)
{
	const struct type_info *info = type_info(t);

	switch (info->class) {
	case CLASS_FLOAT: return info->bits < 32 ? TYPE_F32 : t;
	case CLASS_INT:
	case CLASS_UINT: return info->bits < 32 ? TYPE_I32 : t;
	case CLASS_NONE:
	case CLASS_BOOL:
	case CLASS_STRING:
	case CLASS_COMPLEX: break;
	}
	return t;
}

enum type accumulator_type(enum type t)
{
	return compute_type(t);
}

expr wide(expr a)
{
	return cast(a, compute_type(a->type));
}

expr narrow(expr a, enum type to)
{
	return cast(a, to);
}

/* ---- Spaces ------------------------------------------------------------------------------------------------------ */

struct space space_new(struct lower *l, int rank, const expr *dim)
{
	struct space s = { 0 };

	for (int i = 0; i < rank; i++)
		space_push(l, &s, dim[i]);
	return s;
}

struct space space_of(struct lower *l, struct value v)
{
	return space_new(l, v.buf->rank, v.buf->dim);
}

expr space_push(struct lower *l, struct space *s, expr extent)
{
	if (s->rank == IR_MAX_RANK) { /* lower_node() fails after the operator's function returns */
		lower_fail(l, ERR_UNSUPPORTED, "it needs more than %d axes, including those summed over.", IR_MAX_RANK);
		return idx(l, 0);
	}
	s->dim[s->rank] = extent;
	s->at[s->rank] = ir_axis(l->program->pool, s->rank, extent);
	return s->at[s->rank++];
}

/* ---- Elements ---------------------------------------------------------------------------------------------------- */

expr value_count(struct value v)
{
	expr n = ir_index(v.pool, 1);

	for (int i = 0; i < v.buf->rank; i++)
		n = mul(n, v.buf->dim[i]);
	return n;
}

expr load(struct value v, const expr *index)
{
	return ir_load(v.pool, v.buf, index);
}

expr load_or_zero(struct value v, const expr *index)
{
	bool empty = false;

	for (int k = 0; k < v.buf->rank; k++)
		empty |= ir_is_int(v.buf->dim[k], 0);
	return empty ? ir_const(v.pool, load(v, index)->type, 0) : load(v, index);
}

expr load_list(struct value v, int n, ...)
{
	expr index[IR_MAX_RANK];
	va_list ap;

	ck(n == v.buf->rank);
	va_start(ap, n);
	for (int i = 0; i < n; i++)
		index[i] = va_arg(ap, expr);
	va_end(ap);
	return load(v, index);
}

/* The index into an axis of extent `dim` that is broadcast over index `i` of an axis of extent `whole`. */
static expr broadcast_index(expr dim, expr whole, expr i)
{
	int64_t n;

	if (dim == whole)
		return i;
	if (ir_is_int(dim, 1))
		return with(dim, 0);
	if (ir_const_int(dim, &n) || ir_less(with(dim, 1), dim))
		return i;
	return select_(eq(dim, with(dim, 1)), with(dim, 0), i);
}

void index_axes(struct value v, int n, const struct space *s, int axis, expr *index)
{
	ck(axis >= 0 && axis + n <= s->rank && n <= v.buf->rank);
	for (int i = 0; i < n; i++)
		index[i] = broadcast_index(v.buf->dim[i], s->dim[axis + i], s->at[axis + i]);
}

expr at_axis(struct value v, const struct space *s, int axis)
{
	expr index[IR_MAX_RANK];

	index_axes(v, v.buf->rank, s, axis, index);
	return load(v, index);
}

expr at_first(struct value v)
{
	expr index[IR_MAX_RANK];

	for (int i = 0; i < v.buf->rank; i++)
		index[i] = ir_index(v.pool, 0);
	return load(v, index);
}

expr at(struct value v, const struct space *s)
{
	return at_axis(v, s, s->rank - v.buf->rank);
}

expr flatten(struct lower *l, int rank, const expr *dim, const expr *index)
{
	expr flat = idx(l, 0);

	for (int i = 0; i < rank; i++)
		flat = add(mul(flat, dim[i]), index[i]);
	return flat;
}

expr at_flat(struct value v, expr flat)
{
	expr index[IR_MAX_RANK];

	ir_unflat(flat, v.buf->rank, v.buf->dim, index);
	return load(v, index);
}

expr wrap_index(expr i, expr extent)
{
	expr zero, j;

	i = cast(i, TYPE_INDEX);
	zero = with(i, 0);
	j = select_(lt(i, zero), add(i, extent), i);
	return max_(min_(j, addi(extent, -1)), zero);
}
