/* Sums of products of quantised numbers: a sum of (x - zx) * sx * (w - zw) * sw, where no scale varies along the sum,
 * becomes sx * sw times a sum of integers. That sum is exact, so the result is at least as precise as the sum of floats
 * that the model asks for, and the rules for integers apply. Of 8-bit floats it becomes a sum in f32 of products that
 * are exact. The model may spell the factors in any way: as an operator or as nodes, and with maps such as
 * transpositions and paddings in between. */
#include "ir/passes.h"

enum {
	MOST_SCALES = 8,
	DEEPEST = 64, /* expressions from the product to the integers */
};

/* Scales that do not vary along the sum, in the model's order, times numbers. */
struct product {
	const struct ir_stage *s;
	int scales, numbers;
	expr scale[MOST_SCALES]; /* f32 */
	bool divides[MOST_SCALES];
	expr number[2];          /* i32; or 8-bit floats, as f32 */
	int64_t most[2];         /* the largest magnitudes of integers */
	expr where[2 * DEEPEST]; /* the product is zero where one of these does not hold */
	int wheres;
};

static bool varies_along(const struct product *x, expr e)
{
	bool used[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(e, used);
	for (int k = x->s->out->rank; k < 2 * IR_MAX_RANK; k++)
		if (used[k])
			return true;
	return false;
}

/* ---- Integers: elements of 8 bits, or these less a zero point. */

struct range {
	int64_t low, high;
};

static bool is_byte(enum type t)
{
	return t == TYPE_I8 || t == TYPE_U8;
}

static struct range range_of(enum type byte)
{
	return byte == TYPE_U8 ? (struct range){ 0, 255 } : (struct range){ -128, 127 };
}

/* True for types that hold every difference of two bytes. */
static bool holds_bytes(enum type t)
{
	return t == TYPE_F16 || t == TYPE_BF16 || t == TYPE_F32 || t == TYPE_F64 || t == TYPE_I16 || t == TYPE_I32 ||
	       t == TYPE_I64;
}

/* The integer element as an i32, or null. */
static expr element_of(expr e, struct range *r)
{
	while (e->op == IR_CAST && !is_byte(e->type) && holds_bytes(e->type))
		e = e->arg[0];
	expr from = e->op == IR_CAST ? e->arg[0] : e;
	if (!is_byte(e->type) || from->op != IR_LOAD || !type_is_int(from->type))
		return NULL;
	*r = range_of(e->type);
	return ir_cast(e, TYPE_I32);
}

/* A zero point as an i32, or null. */
static expr zero_of(const struct product *x, expr e, struct range *r)
{
	int64_t value;
	if (e->op == IR_CONST_FLOAT && e->f >= -255 && e->f <= 255 && e->f == (double)(int)e->f)
		e = ir_int(e->pool, TYPE_I32, (int64_t)e->f);
	if (ir_const_int(e, &value)) {
		*r = (struct range){ value, value };
		return value >= -255 && value <= 255 ? ir_int(e->pool, TYPE_I32, value) : NULL;
	}
	while (e->op == IR_CAST && !is_byte(e->type) && holds_bytes(e->type))
		e = e->arg[0];
	if (!is_byte(e->type) || varies_along(x, e))
		return NULL;
	*r = range_of(e->type);
	return ir_cast(e, TYPE_I32);
}

/* Elements of 8-bit floats. */
static bool take_f8(struct product *x, expr e)
{
	while (e->op == IR_CAST && holds_bytes(e->type) && type_is_float(e->type))
		e = e->arg[0];
	if (e->op != IR_LOAD || !type_multiplies_f8(e->type) || x->numbers == 2)
		return false;
	x->number[x->numbers++] = ir_cast(e, TYPE_F32);
	return true;
}

static bool take_integer(struct product *x, expr e)
{
	struct range r, z = { 0, 0 };
	expr element = element_of(e, &r), zero = NULL;
	while (!element && e->op == IR_CAST && holds_bytes(e->type))
		e = e->arg[0];
	if (!element && e->op == IR_SUB) {
		element = element_of(e->arg[0], &r);
		zero = element ? zero_of(x, e->arg[1], &z) : NULL;
	}
	if (!element && e->op == IR_ADD) {
		int at = element_of(e->arg[0], &r) ? 0 : 1;
		element = element_of(e->arg[at], &r);
		zero = element ? zero_of(x, e->arg[!at], &z) : NULL;
		if (zero && !zero->varies) {
			zero = ir_unary(IR_NEG, zero);
			z = (struct range){ -z.high, -z.low };
		} else {
			zero = NULL;
		}
	}
	if (!element || x->numbers == 2 || (!zero && (e->op == IR_SUB || e->op == IR_ADD)))
		return false;
	int64_t above = r.high - z.low, below = z.high - r.low;
	x->most[x->numbers] = above > below ? above : below;
	x->number[x->numbers++] = zero ? ir_binary(IR_SUB, element, zero) : element;
	return true;
}

/* ---- Factors. */

static bool take_scale(struct product *x, expr e, bool divides)
{
	if (x->scales == MOST_SCALES || !type_is_float(e->type) || e->type == TYPE_F64)
		return false;
	x->divides[x->scales] = divides;
	x->scale[x->scales++] = ir_cast(e, TYPE_F32);
	return true;
}

static bool take(struct product *x, expr e, int depth)
{
	struct product before = *x;
	if (depth == DEEPEST)
		return false;
	if (!varies_along(x, e))
		return take_scale(x, e, false);
	if (take_integer(x, e) || take_f8(x, e))
		return true;
	switch (e->op) {
	case IR_MUL: return type_is_float(e->type) && take(x, e->arg[0], depth + 1) && take(x, e->arg[1], depth + 1);
	case IR_DIV:
		return type_is_float(e->type) && !varies_along(x, e->arg[1]) && take(x, e->arg[0], depth + 1) &&
		       take_scale(x, e->arg[1], true);
	case IR_CAST: return type_is_float(e->type) && holds_bytes(e->type) && take(x, e->arg[0], depth + 1);
	case IR_SELECT: { /* of the number that it selects, or of both */
		if (!ir_is_zero(e->arg[2]) || !take(x, e->arg[1], depth + 1))
			return false;
		int n = x->numbers - before.numbers;
		if (n == 1) {
			expr *at = &x->number[before.numbers];
			*at = ir_select(e->arg[0], *at, ir_const(e->pool, (*at)->type, 0));
		} else if (n == 2) {
			x->where[x->wheres++] = e->arg[0];
		}
		return n > 0;
	}
	default: return false;
	}
}

/* ---- Sums. */

/* True if no sum of the products exceeds its type. */
static bool fits(const struct product *x)
{
	int64_t count = 1, extent;
	if (x->number[0]->type != x->number[1]->type)
		return false;
	if (x->number[0]->type == TYPE_F32)
		return true;
	for (int k = 0; k < x->s->space_rank; k++) {
		if (!ir_const_int(x->s->space[k], &extent) || extent > INT32_MAX)
			return false;
		count *= extent;
		if (count * x->most[0] * x->most[1] > INT32_MAX)
			return false;
	}
	return true;
}

static void rewrite(struct ir_program *p, struct ir_stage *s)
{
	struct product x = { .s = s };
	struct ir_pool *pool = p->pool;
	if (s->kind != IR_REDUCE || s->combine != IR_SUM || s->value->type != TYPE_F32)
		return;
	expr product = ir_see_floats(p, s->value);
	if (product->depth > IR_MAX_DEPTH || product->size > IR_MAX_SIZE || !take(&x, product, 0) || x.numbers != 2 ||
	    !fits(&x))
		return;
	enum type t = x.number[0]->type;
	expr value = ir_binary(IR_MUL, x.number[0], x.number[1]), sum = ir_cast(ir_acc(pool, t), TYPE_F32);
	for (int i = 0; i < x.wheres; i++)
		value = ir_select(x.where[i], value, ir_const(pool, t, 0));
	for (int i = 0; i < x.scales; i++)
		sum = ir_binary(x.divides[i] ? IR_DIV : IR_MUL, sum, x.scale[i]);
	s->post = ir_stage_result(pool, s, sum);
	s->value = value;
}

int ir_pass_unscale(struct ir_program *p, struct err *e)
{
	(void)e;
	ir_requantise(p);
	vec_each (s, &p->stages)
		rewrite(p, *s);
	return 0;
}
