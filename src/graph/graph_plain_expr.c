/* Expressions as ONNX nodes, each over whole tensors. Numbers that a type cannot hold must wrap or saturate as the
 * expression says, so ranges are followed where a narrow integer travels as a float. */
#include <math.h>
#include <string.h>

#include "graph/graph_plain.h"

enum { MOST_INDICES = 1 << 16 }; /* of an axis whose indices become a constant */

static const struct plain_value none;

/* ---- Ranges. */

struct range {
	double low, high;
	bool whole; /* an integer, or infinite */
};

static struct range range_of(expr e, int depth);

static struct range range_of_two(expr e, int depth)
{
	struct range a = range_of(e->arg[e->n - 2], depth), b = range_of(e->arg[e->n - 1], depth);
	struct range r = { -INFINITY, INFINITY, a.whole && b.whole };

	switch (e->op) {
	case IR_MIN: return (struct range){ fmin(a.low, b.low), fmin(a.high, b.high), r.whole };
	case IR_MAX: return (struct range){ fmax(a.low, b.low), fmax(a.high, b.high), r.whole };
	case IR_SELECT: return (struct range){ fmin(a.low, b.low), fmax(a.high, b.high), r.whole };
	case IR_ADD: return (struct range){ a.low + b.low, a.high + b.high, r.whole };
	case IR_SUB: return (struct range){ a.low - b.high, a.high - b.low, r.whole };
	default: return r;
	}
}

static struct range range_of_type(enum type t)
{
	if (plain_narrow(t) || t == TYPE_BOOL || t == TYPE_I32)
		return (struct range){ (double)type_min(t), (double)type_max(t), true };
	return (struct range){ -INFINITY, INFINITY, !type_is_float(t) };
}

static struct range range_of(expr e, int depth)
{
	struct range own = range_of_type(e->type), in;

	if (depth <= 0)
		return own;
	switch (e->op) {
	case IR_CONST_INT: return (struct range){ (double)e->i, (double)e->i, true };
	case IR_CONST_FLOAT: return (struct range){ e->f, e->f, e->f == trunc(e->f) };
	case IR_MIN:
	case IR_MAX:
	case IR_SELECT:
	case IR_ADD:
	case IR_SUB: in = range_of_two(e, depth - 1); break;
	case IR_FLOOR:
	case IR_CEIL:
	case IR_TRUNC:
	case IR_ROUND_EVEN:
		in = range_of(e->arg[0], depth - 1);
		return (struct range){ floor(in.low), ceil(in.high), true };
	case IR_CAST:
		in = range_of(e->arg[0], depth - 1);
		in.whole |= !type_is_float(e->type);
		break;
	default: return own;
	}
	if (in.low < own.low || in.high > own.high) /* it may wrap */
		return type_is_float(e->type) ? in : own;
	return in;
}

/* True if the expression is an integer that the type can hold, so that a cast changes nothing. */
static bool fits(expr e, enum type t)
{
	struct range r = range_of(e, 32);

	return r.whole && r.low >= (double)type_min(t) && r.high <= (double)type_max(t);
}

/* ---- Nodes of several operands. */

static struct plain_value made(const char *name, enum type t, struct plain_value a, struct plain_value b)
{
	return (struct plain_value){ name, t, a.rank > b.rank ? a.rank : b.rank, a.axes | b.axes };
}

static struct plain_value of_one(struct plain_space *s, const char *op, struct plain_value a)
{
	return a.name ? made(plain_op(s->p, op, a.name, NULL, NULL), a.type, a, a) : none;
}

static struct plain_value of_two(struct plain_space *s, const char *op, struct plain_value a, struct plain_value b,
                                 enum type t)
{
	return a.name && b.name ? made(plain_op(s->p, op, a.name, b.name, NULL), t, a, b) : none;
}

static struct plain_value number(struct plain_space *s, enum type t, double x)
{
	return (struct plain_value){ plain_number(s->p, t, x), t, 0, 0 };
}

static struct plain_value cast_to(struct plain_space *s, struct plain_value a, enum type t)
{
	if (!a.name || a.type == t)
		return a;
	return made(plain_cast(s->p, a.name, t), t, a, a);
}

static struct plain_value remainder_of(struct plain_space *s, struct plain_value a, struct plain_value b, bool fmod)
{
	struct plain_value r = of_two(s, "Mod", a, b, a.type);

	if (r.name && fmod)
		onnx_node_set_int(s->p->g->model, s->p->nodes.at[s->p->nodes.n - 1], "fmod", 1);
	return r;
}

/* ---- Casts. */

/* a - floor((a - low) / size) * size: the value of `size` numbers from `low` on with the same low bits. */
static struct plain_value wrapped(struct plain_space *s, struct plain_value a, enum type t)
{
	double low = (double)type_min(t), size = (double)type_max(t) - low + 1;

	if (a.type != TYPE_I32 && a.type != TYPE_I64)
		return none;
	a = low ? of_two(s, "Sub", a, number(s, a.type, low), a.type) : a;
	a = remainder_of(s, a, number(s, a.type, size), false);
	return low ? of_two(s, "Add", a, number(s, a.type, low), a.type) : a;
}

/* An integer that f32 holds exactly, computed in f32 from narrow ones, so that no integers are in between. */
static struct plain_value in_floats(struct plain_space *s, expr e)
{
	const double most = 1 << 24;
	struct range r = range_of(e, 32);
	struct plain_value a, b;

	if (!r.whole || r.low < -most || r.high > most)
		return none;
	if (plain_narrow(e->type))
		return plain_expr(s, e);
	if (e->op == IR_CONST_INT)
		return number(s, TYPE_F32, (double)e->i);
	if (e->op == IR_CAST && plain_narrow(e->arg[0]->type))
		return plain_expr(s, e->arg[0]);
	if (e->op != IR_ADD && e->op != IR_SUB)
		return none;
	a = in_floats(s, e->arg[0]);
	b = in_floats(s, e->arg[1]);
	return of_two(s, e->op == IR_ADD ? "Add" : "Sub", a, b, TYPE_F32);
}

static struct plain_value write_cast(struct plain_space *s, expr e)
{
	expr from = e->arg[0];
	enum type to = plain_type(e->type);
	struct plain_value a = e->type == TYPE_F32 && type_is_int(from->type) ? in_floats(s, from) : none;

	if (a.name)
		return a;
	a = plain_expr(s, from);
	if (!a.name || !to)
		return none;
	if (plain_narrow(e->type)) {
		if (fits(from, e->type))
			return cast_to(s, a, TYPE_F32);
		if (type_is_float(from->type)) {
			struct range r = range_of(from, 32);

			if (!(r.low > (double)type_min(e->type) - 1 && r.high < (double)type_max(e->type) + 1))
				return none; /* what is beyond the range differs between processors */
			return cast_to(s, cast_to(s, a, TYPE_I32), TYPE_F32);
		}
		if (plain_narrow(from->type))
			a = cast_to(s, a, TYPE_I32);
		return cast_to(s, wrapped(s, a, e->type), TYPE_F32);
	}
	/* Engines differ in the result if an integer of 64 bits does not fit 32. */
	if (to == TYPE_I32 && from->type == TYPE_I64 && !fits(from, TYPE_I32))
		return none;
	return cast_to(s, a, to);
}

/* ---- Operations. */

/* x / y of integers that are not negative, where C and ONNX agree. */
static struct plain_value floor_divide(struct plain_space *s, expr e, struct plain_value a, struct plain_value b)
{
	bool index = e->type == TYPE_INDEX; /* whose divisors are extents */
	bool positive = (index && ir_nonnegative(e->arg[0])) || range_of(e->arg[0], 32).low >= 0;
	bool divides = (index && ir_nonnegative(e->arg[1])) || range_of(e->arg[1], 32).low > 0;

	return positive && divides ? of_two(s, "Div", a, b, a.type) : none;
}

/* Bits as arithmetic: with a mask of low bits, or by a constant number of places. */
static struct plain_value write_bits(struct plain_space *s, expr e, struct plain_value a)
{
	struct range r = range_of(e->arg[0], 32);
	int64_t x;

	if (a.type != TYPE_I32 && a.type != TYPE_I64)
		return none;
	if (!ir_const_int(e->arg[1], &x) || x < 0)
		return none;
	if (e->op == IR_BITAND && x < INT32_MAX && !((x + 1) & x))
		return remainder_of(s, a, number(s, a.type, (double)x + 1), false);
	if (e->op == IR_SHL && x < 31)
		return of_two(s, "Mul", a, number(s, a.type, (double)((int64_t)1 << x)), a.type);
	if (e->op == IR_SHR && x < 31 && r.low >= 0)
		return of_two(s, "Div", a, number(s, a.type, (double)((int64_t)1 << x)), a.type);
	return none;
}

static struct plain_value write_bool(struct plain_space *s, expr e, struct plain_value a, struct plain_value b)
{
	switch (e->op) {
	case IR_AND:
	case IR_BITAND: return of_two(s, "And", a, b, TYPE_BOOL);
	case IR_OR:
	case IR_BITOR: return of_two(s, "Or", a, b, TYPE_BOOL);
	case IR_BITXOR: return of_two(s, "Xor", a, b, TYPE_BOOL);
	case IR_EQ: return of_one(s, "Not", of_two(s, "Xor", a, b, TYPE_BOOL));
	default: return none;
	}
}

/* Opsets before 12 have Min, Max and LessOrEqual for floats only, or not at all. */
static struct plain_value write_early(struct plain_space *s, expr e, struct plain_value a, struct plain_value b)
{
	bool floats = type_is_float(a.type);

	if (e->op == IR_LE) /* of NaN, not greater is not less or equal */
		return floats ? none : of_one(s, "Not", of_two(s, "Greater", a, b, TYPE_BOOL));
	if (floats)
		return of_two(s, e->op == IR_MIN ? "Min" : "Max", a, b, a.type);
	struct plain_value first = of_two(s, e->op == IR_MIN ? "Less" : "Greater", a, b, TYPE_BOOL);

	return made(plain_op(s->p, "Where", first.name, a.name, b.name), a.type, a, b);
}

static struct plain_value write_binary(struct plain_space *s, expr e)
{
	struct plain_value a = plain_expr(s, e->arg[0]), b = plain_expr(s, e->arg[1]);
	bool floats = type_is_float(e->arg[0]->type), narrow = plain_narrow(e->type);

	if (!a.name || !b.name || a.type != b.type)
		return none;
	if (a.type == TYPE_BOOL)
		return write_bool(s, e, a, b);
	if (s->p->opset < 12 && (e->op == IR_MIN || e->op == IR_MAX || e->op == IR_LE))
		return write_early(s, e, a, b);
	switch (e->op) {
	case IR_MIN: return of_two(s, "Min", a, b, a.type);
	case IR_MAX: return of_two(s, "Max", a, b, a.type);
	case IR_EQ: return of_two(s, "Equal", a, b, TYPE_BOOL);
	case IR_LT: return of_two(s, "Less", a, b, TYPE_BOOL);
	case IR_LE: return of_two(s, "LessOrEqual", a, b, TYPE_BOOL);
	default: break;
	}
	if (narrow) /* it may wrap */
		return none;
	switch (e->op) {
	case IR_ADD: return of_two(s, "Add", a, b, a.type);
	case IR_SUB: return of_two(s, "Sub", a, b, a.type);
	case IR_MUL: return of_two(s, "Mul", a, b, a.type);
	case IR_DIV: return floats ? of_two(s, "Div", a, b, a.type) : floor_divide(s, e, a, b);
	case IR_FLOORDIV: return floor_divide(s, e, a, b);
	case IR_REM: return remainder_of(s, a, b, true);
	case IR_MOD: return remainder_of(s, a, b, false);
	case IR_POW: return floats ? of_two(s, "Pow", a, b, a.type) : none;
	default: return write_bits(s, e, a);
	}
}

static struct plain_value write_select(struct plain_space *s, expr e)
{
	struct plain_value c = plain_expr(s, e->arg[0]), a = plain_expr(s, e->arg[1]), b = plain_expr(s, e->arg[2]);

	if (!c.name || !a.name || !b.name || a.type != b.type)
		return none;
	if (a.type == TYPE_BOOL)
		return of_two(s, "Or", of_two(s, "And", c, a, TYPE_BOOL),
		              of_two(s, "And", of_one(s, "Not", c), b, TYPE_BOOL), TYPE_BOOL);
	struct plain_value r = made(plain_op(s->p, "Where", c.name, a.name, b.name), a.type, a, b);

	return made(r.name, r.type, r, c);
}

/* log1p and expm1 are exact near zero, as the engine's own functions with them inside are. */
static struct plain_value write_log1p(struct plain_space *s, expr e)
{
	return e->arg[0]->op == IR_EXP ? of_one(s, "Softplus", plain_expr(s, e->arg[0]->arg[0])) : none;
}

static struct plain_value write_expm1(struct plain_space *s, struct plain_value a)
{
	struct plain_value less = of_one(s, "Elu", a),
	                   more = of_two(s, "Sub", of_one(s, "Exp", a), number(s, a.type, 1), a.type);
	struct plain_value above = of_two(s, "Greater", a, number(s, a.type, 0), TYPE_BOOL);

	if (!less.name || !more.name || !above.name)
		return none;
	return made(plain_op(s->p, "Where", above.name, more.name, less.name), a.type, a, a);
}

static const char *unary_op(enum ir_op op)
{
	switch (op) {
	case IR_NEG: return "Neg";
	case IR_ABS: return "Abs";
	case IR_NOT: return "Not";
	case IR_FLOOR: return "Floor";
	case IR_CEIL: return "Ceil";
	case IR_ROUND_EVEN: return "Round";
	case IR_SQRT: return "Sqrt";
	case IR_EXP: return "Exp";
	case IR_LOG: return "Log";
	case IR_SIN: return "Sin";
	case IR_COS: return "Cos";
	case IR_TAN: return "Tan";
	case IR_ASIN: return "Asin";
	case IR_ACOS: return "Acos";
	case IR_ATAN: return "Atan";
	case IR_SINH: return "Sinh";
	case IR_COSH: return "Cosh";
	case IR_TANH: return "Tanh";
	case IR_ASINH: return "Asinh";
	case IR_ACOSH: return "Acosh";
	case IR_ATANH: return "Atanh";
	case IR_ERF: return "Erf";
	default: return NULL;
	}
}

static struct plain_value write_unary(struct plain_space *s, expr e)
{
	struct plain_value a = plain_expr(s, e->arg[0]);
	const char *op = unary_op(e->op);

	if (!a.name || (plain_narrow(e->type) && e->op != IR_NOT))
		return none;
	switch (e->op) {
	case IR_ISNAN: return of_one(s, "Not", of_two(s, "Equal", a, a, TYPE_BOOL));
	case IR_ISINF: return of_two(s, "Equal", of_one(s, "Abs", a), number(s, a.type, INFINITY), TYPE_BOOL);
	case IR_TRUNC: return of_two(s, "Mul", of_one(s, "Sign", a), of_one(s, "Floor", of_one(s, "Abs", a)), a.type);
	case IR_EXPM1: return write_expm1(s, a);
	case IR_BITNOT: return type_is_signed(e->type) ? of_two(s, "Sub", number(s, a.type, -1), a, a.type) : none;
	default: return op ? of_one(s, op, a) : none;
	}
}

/* ---- Leaves. */

/* The indices of an axis: a constant, or 0, 1, 2 ... up to an extent known at run time. */
static struct plain_value write_axis(struct plain_space *s, expr e)
{
	int axis = plain_place(s, (int)e->i), rank = s->rank - axis;
	int64_t extent, dim[2 * IR_MAX_RANK], gap[2 * IR_MAX_RANK];
	struct err ignored = { 0 };
	struct tensor t;
	const char *name;

	if (axis < 0)
		return none;
	for (int i = 0; i < rank; i++) {
		dim[i] = i ? 1 : 0;
		gap[i] = i + 1;
	}
	if (ir_const_int(s->extent[axis], &extent)) {
		dim[0] = extent;
		if (extent > MOST_INDICES || rank > IR_MAX_RANK ||
		    tensor_new(&t, TYPE_I64, rank, dim, s->p->g->arena, &ignored) < 0)
			return none;
		for (int64_t i = 0; i < extent; i++)
			tensor_set_int(&t, i, i);
		name = plain_tensor(s->p, &t);
	} else {
		name = plain_extent(s, s->extent[axis], false);
		if (!name)
			return none;
		name = plain_op(s->p, "Range", plain_number(s->p, TYPE_I64, 0), name, plain_number(s->p, TYPE_I64, 1));
		name = plain_with_axes(s->p, "Unsqueeze", name, gap, rank - 1, 13);
	}
	return (struct plain_value){ name, TYPE_I64, rank, 1u << axis };
}

static struct plain_value write(struct plain_space *s, expr e)
{
	switch (e->op) {
	case IR_CONST_INT:
	case IR_CONST_FLOAT:
		if (!plain_type(e->type) || (e->op == IR_CONST_INT && (int64_t)(double)e->i != e->i))
			return none;
		return number(s, plain_type(e->type), e->op == IR_CONST_INT ? (double)e->i : e->f);
	case IR_AXIS: return write_axis(s, e);
	case IR_SYMBOL: return (struct plain_value){ plain_extent(s, e, false), TYPE_I64, 0, 0 };
	case IR_ACC: return s->acc ? *s->acc : none;
	case IR_LOAD: return plain_load(s, e->buf, e->arg);
	case IR_CAST: return write_cast(s, e);
	case IR_SELECT: return write_select(s, e);
	case IR_LOG1P: return write_log1p(s, e);
	case IR_VAR:
	case IR_ELEMENT:
	case IR_BITCAST:
	case IR_CAST_SAT: return none;
	default: break;
	}
	if (!plain_type(e->type))
		return none;
	return e->n == 2 ? write_binary(s, e) : write_unary(s, e);
}

struct plain_value plain_expr(struct plain_space *s, expr e)
{
	struct plain_value *known = map_get_u64(&s->done, e->id);

	if (known)
		return *known;
	known = NEW(s->scratch, struct plain_value);
	*known = write(s, e);
	map_put_u64(&s->done, e->id, known);
	return *known;
}
