/* Recognises a contraction's operands, the axes of each and how these are loaded. See contract.h. */
#include "sched/contract/contract.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"

#include <string.h>

/* ---- Operands. Floats: elements cast to the type of the sum. Integers: the same, optionally less a zero point. Where
 * a condition fails the operand is zero. */

static bool plain_type(enum type t)
{
	return t == TYPE_F32 || t == TYPE_F64 || t == TYPE_I32 || t == TYPE_U32 || t == TYPE_I64 || t == TYPE_U64;
}

static bool element_type(enum type t, enum type sum)
{
	if (sum == TYPE_I32)
		return t == TYPE_I8 || t == TYPE_U8;
	return sum == TYPE_F32 && (t == TYPE_F16 || t == TYPE_BF16 || type_multiplies_f8(t));
}

/* The zero point as an element of type t; null if t cannot hold it. */
static expr zero_element(expr zero, enum type t)
{
	int64_t x;
	if (zero->op == IR_CAST && zero->arg[0]->type == t)
		return zero->arg[0];
	if (!ir_const_int(zero, &x) || x < (t == TYPE_U8 ? 0 : -128) || x > (t == TYPE_U8 ? 255 : 127))
		return NULL;
	return ir_int(zero->pool, t, x);
}

/* True if e is a load that is cast, perhaps several times. */
static bool only_casts(expr e)
{
	while (e->op == IR_CAST)
		e = e->arg[0];
	return e->op == IR_LOAD;
}

/* `computed`: an 8-bit element may be computed from what it loads, by a cast at last. */
static bool take_operand(struct contract_operand *o, expr e, bool computed)
{
	int64_t x;
	if (e->op == IR_CAST && element_type(e->arg[0]->type, e->type)) {
		expr element = e->arg[0];
		*o = (struct contract_operand){ .type = element->type, .value = element };
		o->computed = !only_casts(element);
		bool cast = element->op == IR_CAST || element->op == IR_CAST_SAT;
		return !o->computed || (computed && cast && ir_uses(element, IR_LOAD));
	}
	if (only_casts(e)) {
		*o = (struct contract_operand){ .type = e->type, .value = e };
		return plain_type(e->type);
	}
	if (e->type == TYPE_I32 && e->op == IR_SUB && take_operand(o, e->arg[0], computed) && !o->zero) {
		o->zero = e->arg[1];
		return true;
	}
	if (e->type == TYPE_I32 && e->op == IR_ADD && ir_const_int(e->arg[1], &x) &&
	    take_operand(o, e->arg[0], computed) && !o->zero) {
		o->zero = ir_int(e->pool, TYPE_I32, -x);
		return true;
	}
	if (e->op != IR_SELECT || !ir_is_zero(e->arg[2]) || !take_operand(o, e->arg[1], computed))
		return false;
	expr none = o->zero ? zero_element(o->zero, o->type) : ir_const(e->pool, o->type, 0);
	if (none)
		o->value = ir_select(e->arg[0], o->value, none);
	return none != NULL;
}

/* Takes e as an operand of type t: a load, perhaps cast, that has the same value in t. */
static bool take_as(struct contract_operand *o, expr e, enum type t)
{
	expr from = e->op == IR_CAST ? e->arg[0] : e;
	if (e->op == IR_SELECT) {
		if (!ir_is_zero(e->arg[2]) || !take_as(o, e->arg[1], t))
			return false;
		o->value = ir_select(e->arg[0], o->value, ir_const(e->pool, t, 0));
		return true;
	}
	bool exact = e->type == t || from->type == t || (type_is_int(from->type) && type_info(from->type)->bits <= 8);
	*o = (struct contract_operand){ .type = t, .value = ir_cast(from, t) };
	return exact && only_casts(from);
}

/* Operands of two types become those of one: that of 16 bits if both are exact in it, or else the sum's. */
static bool take_as_one_type(struct contract *c, const expr *side, enum type sum)
{
	enum type t[2] = { sum, sum };
	if (sum != TYPE_F32)
		return false;
	for (int i = 0; i < 2; i++)
		if (c->side[i].type == TYPE_F16 || c->side[i].type == TYPE_BF16)
			t[0] = c->side[i].type;
	for (int i = 0; i < 2; i++)
		if (take_as(&c->side[0], side[0], t[i]) && take_as(&c->side[1], side[1], t[i]))
			return true;
	return false;
}

/* True if a has an axis of out that b lacks and c has too. */
static bool shares_own_axis(expr a, expr b, expr c)
{
	bool used[3][2 * IR_MAX_RANK] = { { false } }, shares = false;
	ir_mark_axes(a, used[0]);
	ir_mark_axes(b, used[1]);
	ir_mark_axes(c, used[2]);
	for (int k = 0; k < 2 * IR_MAX_RANK; k++)
		shares |= used[0][k] && !used[1][k] && used[2][k];
	return shares;
}

static bool find_operands(struct contract *c, bool computed)
{
	expr value = c->s->value, side[2];
	bool condition = value->type == TYPE_I32 && value->op == IR_SELECT && ir_is_zero(value->arg[2]);
	expr product = condition ? value->arg[1] : value;
	if (product->op != IR_MUL)
		return false;
	side[0] = product->arg[0];
	side[1] = product->arg[1];
	if (condition) { /* it belongs to the operand whose axes it tests */
		int own = shares_own_axis(side[1], side[0], value->arg[0]);
		side[own] = ir_select(value->arg[0], side[own], value->arg[2]);
	}
	for (int i = 0; i < 2; i++)
		if (!take_operand(&c->side[i], side[i], computed))
			return false;
	bool bytes = type_info(c->side[0].type)->bits == 8 && type_info(c->side[1].type)->bits == 8;
	bool elements = element_type(c->side[0].type, value->type) && element_type(c->side[1].type, value->type);
	if (c->side[0].type != c->side[1].type && bytes && elements)
		return true;
	if (c->side[0].type != c->side[1].type && !take_as_one_type(c, side, value->type))
		return false;
	c->plain = c->side[0].type == value->type;
	return !c->plain || (!c->side[0].zero && !c->side[1].zero);
}

bool contract_lies_apart(const struct contract *c, int side, enum contract_way way)
{
	return c->plain && way != CONTRACT_TURNED && (side || way == CONTRACT_GATHER);
}

int contract_element_bytes(const struct contract *c)
{
	return type_info(c->side[0].type)->bits / 8;
}

bool contract_is_promoted(const struct contract *c)
{
	return type_multiplies_f8(c->side[0].type);
}

/* ---- Axes. */

/* True if the zero point varies along this operand's own and batch axes only. */
static bool zero_is_own(const struct contract *c, int side)
{
	enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
	bool used[2 * IR_MAX_RANK] = { false };
	int met = 0;
	if (!c->side[side].zero)
		return true;
	ir_mark_axes(c->side[side].zero, used);
	for (int k = 0; k < 2 * IR_MAX_RANK; k++)
		met += used[k];
	for (int i = 0; i < c->axes[own]; i++)
		met -= used[c->axis[own][i]];
	for (int i = 0; i < c->axes[CONTRACT_BATCH]; i++)
		met -= used[c->axis[CONTRACT_BATCH][i]];
	return met == 0;
}

static bool group_axes(struct contract *c)
{
	struct ir_pool *pool = c->p->pool;
	int rank = c->s->out->rank, last = -1;
	bool used[2][2 * IR_MAX_RANK] = { { false } };
	ir_mark_axes(c->side[0].value, used[0]);
	ir_mark_axes(c->side[1].value, used[1]);
	for (int k = 0; k < rank; k++)
		if (used[0][k] != used[1][k] && !ir_is_int(c->s->out->dim[k], 1))
			last = k;
	if (last >= 0 && used[0][last]) { /* stores run along columns */
		struct contract_operand o = c->side[0];
		c->side[0] = c->side[1];
		c->side[1] = o;
		for (int k = 0; k < rank; k++) {
			bool u = used[0][k];
			used[0][k] = used[1][k];
			used[1][k] = u;
		}
	}
	for (int g = 0; g < CONTRACT_GROUPS; g++)
		c->extent[g] = ir_index(pool, 1);
	for (int k = 0; k < rank; k++) {
		int g = used[0][k] == used[1][k] ? CONTRACT_BATCH : used[0][k] ? CONTRACT_ROW : CONTRACT_COLUMN;
		c->axis[g][c->axes[g]++] = k;
		c->extent[g] = ir_binary(IR_MUL, c->extent[g], c->s->out->dim[k]);
	}
	c->depth = reduced_count(c->p, c->s);
	for (int i = 0; i < c->s->space_rank; i++)
		c->order[i] = i;
	return c->axes[CONTRACT_ROW] && c->axes[CONTRACT_COLUMN] && zero_is_own(c, 0) && zero_is_own(c, 1);
}

static expr extent_of(const struct contract *c, int axis)
{
	int rank = c->s->out->rank;
	return axis < rank ? c->s->out->dim[axis] : c->s->space[axis - rank];
}

static expr whole(struct ir_pool *pool, expr x, int vector)
{
	return ir_binary(IR_EQ, ir_binary(IR_MOD, x, ir_index(pool, vector)), ir_index(pool, 0));
}

/* bool: `flat`, a position over `axes` axes, is divisible by `vector` wherever the position over the n axes `run`
 * (innermost last) is, and the elements of a vector are contiguous and in bounds. Null if that is never known. `apart`:
 * axes that vectors must not run along. */
static expr whole_vectors(const struct contract *c, expr flat, int axes, const int *run, int n, int vector,
                          const bool *apart)
{
	struct ir_pool *pool = c->p->pool;
	expr rest = flat, together = ir_index(pool, 1), fits;
	bool along[2 * IR_MAX_RANK] = { false }, any = false;
	for (int i = n - 1; i >= 0; i--) { /* merge axes that are contiguous in memory */
		expr extent = extent_of(c, run[i]);
		if (ir_is_int(extent, 1))
			continue;
		if (apart[run[i]] || ir_stride(flat, run[i]) != together)
			break;
		together = ir_binary(IR_MUL, together, extent);
		along[run[i]] = any = true;
	}
	if (!any)
		return NULL;
	fits = whole(pool, together, vector);
	for (int k = 0; k < axes; k++) {
		expr stride = ir_stride(flat, k);
		if (!stride) /* uneven steps, as of a resized image: they have to be whole vectors all the same */
			continue;
		rest = ir_binary(IR_SUB, rest, ir_binary(IR_MUL, stride, ir_axis(pool, k, extent_of(c, k))));
		if (!along[k])
			fits = ir_binary(IR_AND, fits, whole(pool, stride, vector));
	}
	expr even = whole(pool, rest, vector);
	return rest->varies && !ir_is_int(even, 1) ? NULL : ir_binary(IR_AND, fits, even);
}

static bool never(expr fits)
{
	return !fits || ir_is_int(fits, 0);
}

expr contract_load_of(const struct contract_operand *o)
{
	expr e = o->value->op == IR_SELECT ? o->value->arg[1] : o->value;
	return e->op == IR_LOAD ? e : NULL;
}

expr contract_element_of(const struct contract_operand *o)
{
	expr e = o->value->op == IR_SELECT ? o->value->arg[1] : o->value;
	e = e->op == IR_CAST ? e->arg[0] : e;
	return e->op == IR_LOAD ? e : NULL;
}

expr contract_condition_of(const struct contract_operand *o)
{
	return o->value->op == IR_SELECT ? o->value->arg[0] : NULL;
}

/* The same for an operand. The load's condition must be constant within a vector, and the other value constant
 * everywhere. */
static expr operand_vectors(const struct contract *c, const struct contract_operand *o, const int *run, int n)
{
	int axes = c->s->out->rank + c->s->space_rank, vector = 16 * 8 / type_info(o->type)->bits;
	bool apart[2 * IR_MAX_RANK] = { false }, other[2 * IR_MAX_RANK] = { false };
	expr load = contract_load_of(o);
	if (!load)
		return NULL;
	if (load != o->value) {
		ir_mark_axes(contract_condition_of(o), apart);
		ir_mark_axes(o->value->arg[2], other);
	}
	for (int k = 0; k < axes; k++)
		if (other[k])
			return NULL;
	return whole_vectors(c, ir_flat(c->p->pool, load->buf, load->arg), axes, run, n, vector, apart);
}

bool contract_always_vectors(const struct contract *c)
{
	for (int side = 0; side < 2; side++)
		if (c->side[side].way == CONTRACT_GATHER || !ir_is_int(c->side[side].fits, 1))
			return false;
	return true;
}

void contract_find_way(struct contract *c, int side)
{
	enum contract_group own = side ? CONTRACT_COLUMN : CONTRACT_ROW;
	struct contract_operand *o = &c->side[side];
	int summed[IR_MAX_RANK];
	for (int i = 0; i < c->s->space_rank; i++)
		summed[i] = c->s->out->rank + c->order[i];
	expr straight = operand_vectors(c, o, summed, c->s->space_rank), turned = NULL;
	if (type_info(o->type)->bits > 8)
		turned = operand_vectors(c, o, c->axis[own], c->axes[own]);
	o->way = CONTRACT_GATHER;
	o->fits = ir_int(c->p->pool, TYPE_BOOL, 1);
	if (!never(straight)) {
		o->way = CONTRACT_STRAIGHT;
		o->fits = straight;
	} else if (!never(turned)) {
		o->way = CONTRACT_TURNED;
		o->fits = turned;
	}
}

static bool match_over(struct contract *c, struct ir_program *p, const struct ir_stage *s, bool computed)
{
	*c = (struct contract){ .p = p, .whole = s, .s = s, .inside = ir_int(p->pool, TYPE_BOOL, 1) };
	for (int k = 0; k < s->out->rank; k++)
		c->own[k] = ir_axis(p->pool, k, s->out->dim[k]);
	if (!find_operands(c, computed) || !group_axes(c))
		return false;
	contract_find_way(c, 0);
	contract_find_way(c, 1);
	return true;
}

bool contract_match_over(struct contract *c, struct ir_program *p, const struct ir_stage *s)
{
	return match_over(c, p, s, false);
}

bool contract_match_computed_over(struct contract *c, struct ir_program *p, const struct ir_stage *s)
{
	return match_over(c, p, s, true);
}

expr contract_position(const struct contract *c)
{
	return ir_flat(c->p->pool, c->whole->out, c->own);
}

void contract_find_width(struct contract *c)
{
	bool apart[2 * IR_MAX_RANK] = { false };
	ir_mark_axes(c->inside, apart);
	c->fits = whole_vectors(c, contract_position(c), c->s->out->rank, c->axis[CONTRACT_COLUMN],
	                        c->axes[CONTRACT_COLUMN], CONTRACT_VECTOR, apart);
	c->width = never(c->fits) ? 1 : CONTRACT_VECTOR;
	if (c->width == 1)
		c->fits = ir_int(c->p->pool, TYPE_BOOL, 1);
}

/* The kernel may not read such memory ahead of its own stores. */
bool contract_results_load(const struct contract *c)
{
	for (int i = 0; i < c->stages; i++) {
		expr value = c->made[i]->kind == IR_MAP ? c->made[i]->value : c->made[i]->post;
		vec_each (buf, &c->p->buffers) {
			bool own = (*buf)->role == IR_CONSTANT;
			for (int k = 0; k < i; k++)
				own |= c->made[k]->out == *buf;
			if (!own && value && ir_reads(value, *buf))
				return true;
		}
	}
	return false;
}

double contract_store_clocks(const struct contract *c, const struct contract_shape *k, const struct sched_target *t)
{
	/* Elements a clock, as measured on an H200. */
	enum { SINGLE = 4, VECTORS_OF_MORE = 7, VECTORS = 16 };
	bool vectors = c->width > 1 && about_holds(c->fits, t);
	int rate = !vectors ? SINGLE : contract_results_load(c) ? VECTORS_OF_MORE : VECTORS;
	return (double)k->rows * k->columns / rate;
}
