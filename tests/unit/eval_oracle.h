/* A second interpreter of tensor programs for tests: one element at a time, straight from the definition of the
 * language. It shares no code with src/eval/. */
#ifndef TPAT_TESTS_UNIT_EVAL_ORACLE_H
#define TPAT_TESTS_UNIT_EVAL_ORACLE_H

#include <math.h>
#include <stdlib.h>

#include "ir/ir.h"

struct oracle_value {
	double f;
	int64_t i;
};

struct oracle {
	const struct ir_program *p;
	struct tensor *buffer; /* by id */
	const int64_t *axis;
	struct oracle_value acc;
	bool outside; /* a load was outside its buffer */
	const char *symbol;
	int64_t symbol_value;
};

static inline __int128 oracle_exact(enum type t, int64_t i)
{
	return t == TYPE_U64 ? (__int128)(uint64_t)i : (__int128)i;
}

static inline int64_t oracle_wrap(enum type t, __int128 x)
{
	int bits = t == TYPE_BOOL ? 1 : type_info(t)->bits;
	uint64_t u = (uint64_t)x, mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	u &= mask;
	if (t != TYPE_BOOL && type_is_signed(t) && bits < 64 && u >> (bits - 1))
		u |= ~mask;
	return (int64_t)u;
}

static inline double oracle_float(enum ir_op op, double a, double b)
{
	switch ((int)op) {
	case IR_ADD: return a + b;
	case IR_SUB: return a - b;
	case IR_MUL: return a * b;
	case IR_DIV: return a / b;
	case IR_REM: return fmod(a, b);
	case IR_MIN: return isnan(a) || isnan(b) ? (double)NAN : a < b ? a : b;
	case IR_MAX: return isnan(a) || isnan(b) ? (double)NAN : a > b ? a : b;
	case IR_POW: return pow(a, b);
	case IR_NEG: return -a;
	case IR_ABS: return fabs(a);
	case IR_FLOOR: return floor(a);
	case IR_CEIL: return ceil(a);
	case IR_TRUNC: return trunc(a);
	case IR_ROUND_EVEN: return rint(a);
	case IR_SQRT: return sqrt(a);
	case IR_EXP: return exp(a);
	case IR_LOG: return log(a);
	case IR_LOG1P: return log1p(a);
	case IR_EXPM1: return expm1(a);
	case IR_SIN: return sin(a);
	case IR_COS: return cos(a);
	case IR_TAN: return tan(a);
	case IR_ASIN: return asin(a);
	case IR_ACOS: return acos(a);
	case IR_ATAN: return atan(a);
	case IR_SINH: return sinh(a);
	case IR_COSH: return cosh(a);
	case IR_TANH: return tanh(a);
	case IR_ASINH: return asinh(a);
	case IR_ACOSH: return acosh(a);
	case IR_ATANH: return atanh(a);
	case IR_ERF: return erf(a);
	default: abort();
	}
}

static inline __int128 oracle_int(enum ir_op op, enum type t, __int128 a, __int128 b)
{
	int bits = type_info(t)->bits;
	switch ((int)op) {
	case IR_ADD: return a + b;
	case IR_SUB: return a - b;
	case IR_MUL: return (__int128)((unsigned __int128)a * (unsigned __int128)b);
	case IR_DIV: return b == 0 ? 0 : a / b;
	case IR_REM: return b == 0 ? 0 : a % b;
	case IR_FLOORDIV: return b == 0 ? 0 : a / b - (a % b != 0 && (a % b < 0) != (b < 0));
	case IR_MOD: return b == 0 ? a : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
	case IR_MIN: return a < b ? a : b;
	case IR_MAX: return a > b ? a : b;
	case IR_POW: {
		if (b < 0)
			return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
		uint64_t y = 1, x = (uint64_t)a;
		for (uint64_t n = (uint64_t)b; n; n /= 2, x *= x)
			y *= n % 2 ? x : 1;
		return (__int128)y;
	}
	case IR_BITAND: return a & b;
	case IR_BITOR: return a | b;
	case IR_BITXOR: return a ^ b;
	case IR_SHL: return b < 0 || b >= bits ? 0 : (__int128)((unsigned __int128)a << (int)b);
	case IR_SHR: return b < 0 || b >= bits ? 0 : a >> (int)b;
	case IR_NEG: return -a;
	case IR_ABS: return a < 0 ? -a : a;
	case IR_BITNOT: return ~a;
	default: abort();
	}
}

static inline struct oracle_value oracle_eval(struct oracle *o, expr e);

static inline struct oracle_value oracle_cast(struct oracle_value x, enum type from, enum type to, bool saturate)
{
	struct oracle_value y = { 0 };
	if (type_is_float(to)) {
		if (type_is_float(from))
			y.f = type_round(to, x.f, saturate);
		else if (to == TYPE_F32) /* C's conversion rounds once */
			y.f = from == TYPE_U64 ? (double)(float)(uint64_t)x.i : (double)(float)x.i;
		else
			y.f = type_round(to, from == TYPE_U64 ? (double)(uint64_t)x.i : (double)x.i, saturate);
	} else if (to == TYPE_BOOL) {
		y.i = type_is_float(from) ? x.f != 0 : x.i != 0;
	} else if (type_is_float(from)) {
		__int128 low = type_min(to), high = oracle_exact(to, type_max(to));
		double whole = trunc(x.f);
		y.i = isnan(x.f)              ? 0
		      : whole <= (double)low  ? (int64_t)low
		      : whole >= (double)high ? (int64_t)high
		                              : (int64_t)(__int128)whole;
	} else {
		y.i = oracle_wrap(to, oracle_exact(from, x.i));
	}
	return y;
}

static inline struct oracle_value oracle_load(struct oracle *o, expr e)
{
	const struct tensor *t = &o->buffer[e->buf->id];
	struct oracle_value y = { 0 };
	int64_t at = 0;
	for (int k = 0; k < e->n; k++) {
		int64_t i = oracle_eval(o, e->arg[k]).i;
		if (i < 0 || i >= t->dim[k]) {
			o->outside = true;
			return y;
		}
		at = at * t->dim[k] + i;
	}
	if (type_is_float(t->type))
		y.f = tensor_float(t, at);
	else
		y.i = tensor_int(t, at);
	return y;
}

static inline struct oracle_value oracle_eval(struct oracle *o, expr e)
{
	struct oracle_value a = { 0 }, b = { 0 }, y = { 0 };
	switch (e->op) {
	case IR_CONST_INT: y.i = e->i; return y;
	case IR_CONST_FLOAT: y.f = e->f; return y;
	case IR_AXIS: y.i = o->axis[e->i]; return y;
	case IR_SYMBOL: y.i = o->symbol_value; return y;
	case IR_ACC: return o->acc;
	case IR_LOAD: return oracle_load(o, e);
	case IR_SELECT: return oracle_eval(o, e->arg[oracle_eval(o, e->arg[0]).i ? 1 : 2]);
	case IR_AND: y.i = oracle_eval(o, e->arg[0]).i && oracle_eval(o, e->arg[1]).i; return y;
	case IR_OR: y.i = oracle_eval(o, e->arg[0]).i || oracle_eval(o, e->arg[1]).i; return y;
	default: break;
	}
	enum type t = e->arg[0]->type;
	a = oracle_eval(o, e->arg[0]);
	b = e->n > 1 ? oracle_eval(o, e->arg[1]) : b;
	bool floats = type_is_float(t);
	__int128 x = floats ? 0 : oracle_exact(t, a.i), z = floats || e->n < 2 ? 0 : oracle_exact(e->arg[1]->type, b.i);
	if (e->op == IR_CAST || e->op == IR_CAST_SAT)
		return oracle_cast(a, t, e->type, e->op == IR_CAST_SAT);
	if (e->op == IR_EQ)
		y.i = floats ? a.f == b.f : x == z;
	else if (e->op == IR_LT)
		y.i = floats ? a.f < b.f : x < z;
	else if (e->op == IR_LE)
		y.i = floats ? a.f <= b.f : x <= z;
	else if (e->op == IR_NOT)
		y.i = !a.i;
	else if (e->op == IR_ISNAN)
		y.i = isnan(a.f);
	else if (e->op == IR_ISINF)
		y.i = isinf(a.f) != 0;
	else if (floats)
		y.f = type_round(t, oracle_float(e->op, a.f, b.f), false);
	else
		y.i = oracle_wrap(t, oracle_int(e->op, t, x, z));
	return y;
}

static inline void oracle_combine(const struct ir_stage *s, struct oracle_value *y, struct oracle_value v)
{
	enum type t = s->value->type;
	__int128 a = oracle_exact(t, y->i), b = oracle_exact(t, v.i);
	bool f = type_is_float(t);
	switch (s->combine) {
	case IR_SUM: y->f += v.f, y->i = oracle_wrap(t, a + b); break;
	case IR_PROD:
		y->f *= v.f, y->i = oracle_wrap(t, (__int128)((unsigned __int128)a * (unsigned __int128)b));
		break;
	case IR_MAXIMUM: *y = (f ? v.f > y->f || isnan(v.f) : b > a) ? v : *y; break;
	case IR_MINIMUM: *y = (f ? v.f < y->f || isnan(v.f) : b < a) ? v : *y; break;
	default: abort();
	}
}

static inline struct oracle_value oracle_neutral(const struct ir_stage *s)
{
	enum type t = s->value->type;
	switch (s->combine) {
	case IR_PROD:
	case IR_ALL: return (struct oracle_value){ 1, 1 };
	case IR_MAXIMUM: return (struct oracle_value){ -(double)INFINITY, type_min(t) };
	case IR_MINIMUM: return (struct oracle_value){ (double)INFINITY, type_max(t) };
	default: return (struct oracle_value){ 0, 0 };
	}
}

/* The element at `axis` of a scan, by definition: combines all elements before it, which is slow. */
static inline struct oracle_value oracle_scan(struct oracle *o, const struct ir_stage *s, int64_t *axis, int64_t extent)
{
	struct oracle_value y = oracle_neutral(s);
	int64_t here = axis[s->axis];
	for (int64_t n = 0; n < extent; n++) {
		int64_t k = s->reverse ? extent - 1 - n : n;
		if (k == here && s->exclusive)
			break;
		axis[s->axis] = k;
		oracle_combine(s, &y, oracle_eval(o, s->value));
		if (k == here)
			break;
	}
	axis[s->axis] = here;
	return y;
}

/* Reduces `count` positions of the axes from `rank` on; `extent` of all axes. */
static inline struct oracle_value oracle_reduce(struct oracle *o, const struct ir_stage *s, int64_t *axis,
                                                const int64_t *extent)
{
	int rank = s->out->rank;
	enum type t = s->value->type;
	int64_t count = 1, best = -1;
	struct oracle_value y = oracle_neutral(s), v;
	for (int k = 0; k < s->space_rank; k++)
		count *= extent[rank + k];
	for (int64_t n = 0; n < count; n++) {
		int64_t rest = n;
		for (int k = s->space_rank - 1; k >= 0; k--) {
			axis[rank + k] = rest % extent[rank + k];
			rest /= extent[rank + k];
		}
		v = oracle_eval(o, s->value);
		__int128 a = oracle_exact(t, y.i), b = oracle_exact(t, v.i);
		bool f = type_is_float(t);
		bool more = f ? v.f > y.f || (isnan(v.f) && !isnan(y.f)) : b > a;
		bool less = f ? v.f < y.f || (isnan(v.f) && !isnan(y.f)) : b < a;
		bool same = f ? v.f == y.f || (isnan(v.f) && isnan(y.f)) : a == b;
		bool take = false;
		switch (s->combine) {
		case IR_SUM:
		case IR_PROD:
		case IR_MAXIMUM:
		case IR_MINIMUM: oracle_combine(s, &y, v); break;
		case IR_ALL: y.i = y.i && v.i; break;
		case IR_ANY: y.i = y.i || v.i; break;
		case IR_ARGMAX: take = best < 0 || more; break;
		case IR_ARGMIN: take = best < 0 || less; break;
		case IR_ARGMAX_LAST: take = best < 0 || more || same; break;
		case IR_ARGMIN_LAST: take = best < 0 || less || same; break;
		default: abort();
		}
		if (take)
			y = v, best = n;
	}
	if (ir_combine_is_arg(s->combine))
		y = (struct oracle_value){ 0, best < 0 ? 0 : best };
	return y;
}

/* True if v sorts before w: a NaN sorts after all numbers, or before them in descending order. */
static inline bool oracle_before(const struct ir_stage *s, struct oracle_value v, struct oracle_value w)
{
	struct oracle_value a = s->reverse ? w : v, b = s->reverse ? v : w;
	enum type t = s->value->type;
	if (type_is_float(t))
		return a.f < b.f || (isnan(b.f) && !isnan(a.f));
	return oracle_exact(t, a.i) < oracle_exact(t, b.i);
}

/* The element of a sort at `axis`: the one preceded by that many others. */
static inline struct oracle_value oracle_sort(struct oracle *o, const struct ir_stage *s, int64_t *axis, int64_t extent)
{
	int r = s->out->rank;
	for (int64_t i = 0; i < extent; i++) {
		int64_t ahead = 0;
		axis[r] = i;
		struct oracle_value own = oracle_eval(o, s->value);
		for (int64_t k = 0; k < extent; k++) {
			axis[r] = k;
			struct oracle_value other = oracle_eval(o, s->value);
			ahead += oracle_before(s, other, own) || (k < i && !oracle_before(s, own, other));
		}
		if (ahead == axis[s->axis])
			return (struct oracle_value){ 0, i };
	}
	abort();
}

/* The element of a pick at `axis`: the picks up to this place, one after the other, each the first element that none of
 * them excludes. */
static inline struct oracle_value oracle_pick(struct oracle *o, const struct ir_stage *s, int64_t *axis, int64_t extent)
{
	enum { MOST = 1000 };
	int64_t picked[MOST], count = 0;
	int r = s->out->rank;
	for (int64_t i = 0; i < extent; i++) {
		bool excluded = false;
		axis[r] = i;
		if (s->where && !oracle_eval(o, s->where).i)
			break;
		for (int64_t k = 0; k < count; k++) {
			axis[r + 1] = picked[k];
			excluded |= oracle_eval(o, s->value).i != 0;
		}
		if (excluded)
			continue;
		if (count == axis[s->axis])
			return (struct oracle_value){ 0, i };
		if (count == MOST)
			abort();
		picked[count++] = i;
	}
	return (struct oracle_value){ 0, -1 };
}

/* Computes the buffer of a map, reduction, scan, sort or pick, element by element. */
static inline void oracle_stage(struct oracle *o, const struct ir_stage *s, const int64_t *extent)
{
	struct tensor *out = &o->buffer[s->out->id];
	int64_t axis[2 * IR_MAX_RANK] = { 0 }, count = tensor_count(out);
	bool positions =
	        s->kind == IR_SORT || s->kind == IR_PICK || (s->kind != IR_MAP && ir_combine_is_arg(s->combine));
	enum type made = positions ? TYPE_I64 : s->value->type;
	o->axis = axis;
	for (int64_t n = 0; n < count; n++) {
		int64_t rest = n;
		for (int k = out->rank - 1; k >= 0; k--) {
			axis[k] = rest % out->dim[k];
			rest /= out->dim[k];
		}
		struct oracle_value y = s->kind == IR_MAP    ? oracle_eval(o, s->value)
		                        : s->kind == IR_SCAN ? oracle_scan(o, s, axis, out->dim[s->axis])
		                        : s->kind == IR_SORT ? oracle_sort(o, s, axis, extent[out->rank])
		                        : s->kind == IR_PICK ? oracle_pick(o, s, axis, extent[out->rank])
		                                             : oracle_reduce(o, s, axis, extent);
		if (s->post) {
			o->acc = y;
			y = oracle_eval(o, s->post);
			made = s->post->type;
		}
		y = oracle_cast(y, made, out->type, false);
		if (type_is_float(out->type))
			type_store_float(out->type, out->data, n, y.f, false);
		else
			tensor_set_int(out, n, y.i);
	}
	o->axis = NULL;
}

#endif
