/* Index expressions once all extents are numbers: the range of their values, and their form as a sum of multiples of
 * axes. Both determine how a load runs and whether it needs a bounds check. */
#include "eval/code.h"

static bool is_64(enum type t)
{
	return t == TYPE_INDEX || t == TYPE_I64;
}

static struct range range_of_type(enum type t)
{
	if (t == TYPE_U64 || (!type_is_int(t) && t != TYPE_BOOL))
		return (struct range){ INT64_MIN, INT64_MAX };
	return (struct range){ type_min(t), type_max(t) };
}

static struct range hull(int64_t a, int64_t b, int64_t c, int64_t d)
{
	int64_t low = a < b ? a : b, high = a < b ? b : a;
	low = c < low ? c : low, high = c > high ? c : high;
	return (struct range){ d < low ? d : low, d > high ? d : high };
}

/* Only divisions by a positive divisor; floor and truncation agree for nonnegative operands. */
static bool range_of_division(enum ir_op op, struct range a, struct range b, struct range *out)
{
	if (b.low <= 0)
		return false;
	bool floors = op == IR_FLOORDIV || op == IR_MOD;
	if (op == IR_MOD || op == IR_REM) {
		int64_t most = b.high - 1;
		if (a.low >= 0 && a.high < b.low) {
			*out = a;
			return true;
		}
		int64_t high = a.low >= 0 && a.high < most ? a.high : most;
		*out = (struct range){ floors || a.low >= 0 ? 0 : -most, high };
		return true;
	}
	int64_t q[4] = { a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high };
	*out = hull(q[0], q[1], q[2], q[3]);
	if (floors && a.low < 0 && out->low > INT64_MIN)
		out->low -= 1;
	return true;
}

static struct range range_of_turn(struct code *c, expr e)
{
	const struct eval_turn *turn = map_get_u64(&c->run->turns, (uintptr_t)e->var);
	return turn && turn->trip > 0 ? (struct range){ 0, turn->trip - 1 } : (struct range){ 0, INT64_MAX };
}

static struct range range_of_node(struct code *c, expr e)
{
	struct range all = range_of_type(e->type), a, b, r = all;
	bool known = false;
	int64_t x;
	switch ((int)e->op) {
	case IR_CONST_INT: return (struct range){ e->i, e->i };
	case IR_SYMBOL: return eval_symbol_value(c->run, e, &x) ? (struct range){ x, x } : all;
	case IR_AXIS: x = c->space->extent[e->i]; return (struct range){ 0, x > 0 ? x - 1 : 0 };
	case IR_VAR: return range_of_turn(c, e);
	case IR_CAST:
		if (!type_is_int(e->arg[0]->type) && e->arg[0]->type != TYPE_BOOL)
			return all;
		a = eval_range(c, e->arg[0]);
		return e->type != TYPE_BOOL && e->arg[0]->type != TYPE_U64 && a.low >= all.low && a.high <= all.high
		               ? a
		               : all;
	case IR_SELECT:
		a = eval_range(c, e->arg[1]), b = eval_range(c, e->arg[2]);
		return (struct range){ a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high };
	case IR_ADD:
	case IR_SUB:
	case IR_MUL:
	case IR_MIN:
	case IR_MAX:
	case IR_FLOORDIV:
	case IR_MOD:
	case IR_DIV:
	case IR_REM: break;
	default: return all;
	}
	if (e->type == TYPE_U64 || type_is_float(e->type))
		return all;
	a = eval_range(c, e->arg[0]), b = eval_range(c, e->arg[1]);
	int64_t p[4];
	switch ((int)e->op) {
	case IR_ADD:
		known = !__builtin_add_overflow(a.low, b.low, &r.low) &&
		        !__builtin_add_overflow(a.high, b.high, &r.high);
		break;
	case IR_SUB:
		known = !__builtin_sub_overflow(a.low, b.high, &r.low) &&
		        !__builtin_sub_overflow(a.high, b.low, &r.high);
		break;
	case IR_MUL:
		known = !__builtin_mul_overflow(a.low, b.low, &p[0]) && !__builtin_mul_overflow(a.low, b.high, &p[1]) &&
		        !__builtin_mul_overflow(a.high, b.low, &p[2]) && !__builtin_mul_overflow(a.high, b.high, &p[3]);
		if (known)
			r = hull(p[0], p[1], p[2], p[3]);
		break;
	case IR_MIN:
	case IR_MAX:
		known = true;
		r.low = (a.low < b.low) == (e->op == IR_MIN) ? a.low : b.low;
		r.high = (a.high < b.high) == (e->op == IR_MIN) ? a.high : b.high;
		break;
	default: known = range_of_division(e->op, a, b, &r);
	}
	return known && r.low >= all.low && r.high <= all.high ? r : all;
}

struct range eval_range(struct code *c, expr e)
{
	struct range *r = map_get_u64(&c->ranges, e->id);
	if (!r) {
		r = NEW(c->arena, struct range);
		*r = range_of_node(c, e);
		map_put_u64(&c->ranges, e->id, r);
	}
	return *r;
}

static void add_term(struct code *c, struct linear *l, struct linear_term t)
{
	for (int i = 0; i < l->n; i++) {
		struct linear_term *at = &l->at[i];
		if (at->axis == t.axis && at->atom == t.atom) {
			at->coefficient = (int64_t)((uint64_t)at->coefficient + (uint64_t)t.coefficient);
			if (at->coefficient == 0)
				*at = l->at[--l->n];
			return;
		}
	}
	if (t.coefficient)
		vec_push(c->arena, l, t);
}

void eval_linear_add(struct code *c, struct linear *l, int64_t k, const struct linear *x)
{
	l->constant = (int64_t)((uint64_t)l->constant + (uint64_t)k * (uint64_t)x->constant);
	for (int i = 0; i < x->n; i++) {
		struct linear_term t = x->at[i];
		t.coefficient = (int64_t)((uint64_t)t.coefficient * (uint64_t)k);
		add_term(c, l, t);
	}
}

/* out += k * e, modulo 2^64: like all arithmetic in index and i64. */
static void gather(struct code *c, expr e, uint64_t k, struct linear *out)
{
	struct range r = eval_range(c, e);
	if (r.low == r.high) {
		out->constant = (int64_t)((uint64_t)out->constant + k * (uint64_t)r.low);
		return;
	}
	if (e->op == IR_AXIS) {
		add_term(c, out, (struct linear_term){ .coefficient = (int64_t)k, .axis = (int)e->i, .reg = -1 });
		return;
	}
	if (e->op == IR_CAST && is_64(e->arg[0]->type)) {
		gather(c, e->arg[0], k, out);
		return;
	}
	if (e->op == IR_ADD || e->op == IR_SUB) {
		gather(c, e->arg[0], k, out);
		gather(c, e->arg[1], e->op == IR_ADD ? k : 0 - k, out);
		return;
	}
	if (e->op == IR_NEG) {
		gather(c, e->arg[0], 0 - k, out);
		return;
	}
	if (e->op == IR_MUL) {
		for (int i = 0; i < 2; i++) {
			r = eval_range(c, e->arg[i]);
			if (r.low == r.high) {
				gather(c, e->arg[1 - i], k * (uint64_t)r.low, out);
				return;
			}
		}
	}
	add_term(c, out, (struct linear_term){ .coefficient = (int64_t)k, .axis = -1, .atom = e, .reg = -1 });
}

void eval_linear(struct code *c, expr e, struct linear *out)
{
	*out = (struct linear){ 0 };
	gather(c, e, 1, out);
}
