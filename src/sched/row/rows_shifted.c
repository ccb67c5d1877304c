/* Rows of any length, in vectors that are aligned in memory: a row may begin and end inside a vector. The lanes load
 * whole vectors, with the neighbouring rows' elements, and compute and store the row's own elements only. Vectors of 16
 * bytes so serve rows of odd length, and dynamic ones whose length no vector is known to divide. */
#include "sched/row/rows_kernel.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

enum {
	WIDEST = 16, /* bytes of a vector */
	NARROW = 16  /* bits of an element: measured on an H200, shifted vectors of wider ones are slower than single
	                loads */
};

int rows_widest(const struct rows *r)
{
	int bits = 8;
	for (int i = 0; i < r->cached; i++)
		if (!r->cache[i].from && type_info(r->cache[i].buf->type)->bits > bits)
			bits = type_info(r->cache[i].buf->type)->bits;
	for (int i = 0; i < r->stages; i++)
		if (r->stage[i].kind == ROWS_MAP && type_info(r->stage[i].s->out->type)->bits > bits)
			bits = type_info(r->stage[i].s->out->type)->bits;
	return WIDEST / (bits / 8) ? WIDEST / (bits / 8) : 1;
}

bool rows_shifted(struct rows *out, const struct rows *r)
{
	*out = *r;
	out->cached = 0;
	/* First those in the rows' own layout. Other rows may be aligned otherwise: their elements are loaded one by
	 * one. */
	for (int other = 0; other < 2; other++)
		for (int i = 0; i < r->cached && (!other || out->cached); i++)
			if (!r->cache[i].from == !other && !r->cache[i].stride)
				out->cache[out->cached++] = r->cache[i];
	for (int i = 0; i < r->stages; i++)
		if (r->stage[i].kind == ROWS_MAP && type_is_packed(r->stage[i].s->out->type))
			return false;
	return out->cached > 0 && rows_widest(out) > 1;
}

bool rows_in_shifted_vectors(const struct rows *r, int cached, int width)
{
	int bits = type_info(r->cache[cached].buf->type)->bits;
	return bits <= NARROW && width * bits % 32 == 0;
}

static expr all_elements(const struct row_kernel *k)
{
	return ir_binary(IR_MUL, k->r->count, k->r->length);
}

/* Emits the position of the last whole vector of all rows. */
static expr emit_last(const struct row_kernel *k, struct ir_block *b, const char *name, int width)
{
	expr all = all_elements(k), wide = ir_index(k->p->pool, width);
	return emit_constant(k->p, b, name,
	                     ir_binary(IR_SUB, ir_binary(IR_SUB, all, ir_binary(IR_MOD, all, wide)), wide), NULL);
}

void shifted_begin(struct row_kernel *k, struct ir_block *b)
{
	struct ir_program *p = k->p;
	expr width = ir_index(p->pool, k->width), start = ir_binary(IR_MUL, k->row, k->r->length);
	k->first = emit_constant(p, b, "first", ir_binary(IR_SUB, start, ir_binary(IR_MOD, start, width)), NULL);
	k->last = emit_last(k, b, "last", k->wide);
	if (k->tail) {
		k->last_tail = emit_last(k, b, "last_tail", k->tail);
		return; /* all steps before it are whole */
	}
	expr end = ir_binary(IR_SUB, ir_binary(IR_ADD, start, k->r->length), ir_index(p->pool, 1));
	expr own = ir_binary(IR_SUB, end, ir_binary(IR_MOD, end, width));
	k->row_last = emit_constant(p, b, "row_last", ir_binary(IR_MIN, own, k->last), NULL);
}

/* The position of the lane's vector in the current step. */
static expr vector_position(const struct row_kernel *k, expr lane)
{
	struct ir_pool *pool = k->p->pool;
	expr step = ir_binary(IR_ADD, k->step, ir_index(pool, k->begin));
	expr at = ir_binary(IR_MUL, step, ir_index(pool, (int64_t)k->lanes * k->wide));
	at = ir_binary(IR_ADD, at, ir_binary(IR_MUL, lane, ir_index(pool, k->width)));
	return ir_binary(IR_ADD, k->first, at);
}

static struct ir_block *each_step(struct row_kernel *k, struct ir_block *b)
{
	const struct ir_variable *step = ir_variable_of(k->p->pool, TYPE_INDEX, NULL, IR_HOLDS_STEP, 0, "step");
	int begin = k->rest ? k->held : k->ending ? k->steps : 0;
	int end = k->rest ? k->steps : k->ending ? k->steps + 1 : k->held;
	k->begin = begin;
	return emit_unrolled_each(k->p, b, step, end - begin, &k->step);
}

/* Steps whose last vector is known to end before the row does; negative: those are before the current loop. */
static int64_t steps_before(const struct row_kernel *k)
{
	int64_t length;
	if (!ir_const_int(k->r->length, &length))
		return 0;
	return length / ((int64_t)k->lanes * k->wide) - k->begin;
}

/* `cond`, or true in the first steps. */
static expr after_steps(const struct row_kernel *k, int64_t steps, expr cond)
{
	return steps > 0 ? ir_binary(IR_OR, ir_binary(IR_LT, k->step, ir_index(k->p->pool, steps)), cond) : cond;
}

/* `cond` where a vector may lie beyond the row's end, true in steps that are known to lie before it. */
static expr unless_before(const struct row_kernel *k, expr cond)
{
	return after_steps(k, steps_before(k), cond);
}

/* `cond` where a vector may begin before the row, true after the first step. */
static expr unless_after(const struct row_kernel *k, expr cond)
{
	if (k->begin)
		return ir_int(k->p->pool, TYPE_BOOL, 1);
	return ir_binary(IR_OR, ir_binary(IR_LT, ir_index(k->p->pool, 0), k->step), cond);
}

struct ir_block *shifted_each_vector(struct row_kernel *k, struct ir_block *b, expr lane)
{
	struct ir_program *p = k->p;
	const struct ir_variable *v = ir_variable_of(p->pool, TYPE_INDEX, NULL, IR_HOLDS_AT, 0, "at");
	b = each_step(k, b);
	/* Negative in a vector that begins before the row. */
	k->at = emit_define(p, b, v,
	                    ir_binary(IR_SUB, vector_position(k, lane), ir_binary(IR_MUL, k->row, k->r->length)), NULL);
	int64_t steps = steps_before(k);
	if (k->begin == 0 && steps < 1) /* no branch around the first vector, which computes what all of them share */
		steps = 1;
	if (k->ending) /* nor around a few elements: all lanes compute them, and some use them */
		return b;
	expr within = after_steps(k, steps, ir_binary(IR_LT, k->at, k->r->length));
	return ir_is_int(within, 1) ? b : emit_if(p, b, within);
}

/* Elements outside the row are computed like its first or last one: a branch for each element would make it wait for
 * the one before. */
void shifted_element(struct row_kernel *k)
{
	struct ir_pool *pool = k->p->pool;
	expr item =
	        ir_var_of(ir_variable_of(pool, TYPE_INDEX, NULL, IR_HOLDS_ITEM, 0, "item"), ir_index(pool, k->width));
	expr zero = ir_index(pool, 0), last = ir_binary(IR_SUB, k->r->length, ir_index(pool, 1));
	expr element = ir_binary(IR_ADD, k->at, item);
	k->inside = ir_binary(IR_AND, unless_after(k, ir_binary(IR_LE, zero, element)),
	                      unless_before(k, ir_binary(IR_LT, element, k->r->length)));
	k->element = ir_binary(IR_MAX, ir_binary(IR_MIN, element, last), zero); /* provably not negative */
}

static expr last_place(const struct row_kernel *k)
{
	return k->ending ? k->last_tail : k->last;
}

/* Loads the elements past the last whole vector one by one, into the array or its row, if the vector at `place` has
 * some. */
static void load_last(struct row_kernel *k, struct ir_block *b, expr place)
{
	struct ir_program *p = k->p;
	expr all = all_elements(k), item;
	b = emit_if(p, b, ir_binary(IR_LT, last_place(k), place));
	b = emit_unrolled(p, b, "item", k->width, &item);
	expr at = emit_constant(p, b, "place", ir_binary(IR_ADD, place, item), NULL);
	b = emit_if(p, b, ir_binary(IR_LT, at, all));
	for (int i = 0; i < k->r->cached && !k->r->cache[i].from; i++) {
		expr value = ir_load(p->pool, flat_view(p, k->r->cache[i].buf), &at);
		if (k->rest)
			emit_set(p, b, rows_array(k, i), item, value);
		else
			emit_set_in_row(p, b, rows_array(k, i), k->step, item, value);
	}
}

/* Emits `place`, the position to load: a load past the row's last vector, or the last whole one, is clamped to it, and
 * so reads no memory of its own. A branch around each load would make every load wait for the one before. */
static expr load_place(struct row_kernel *k, struct ir_block *b, expr lane)
{
	expr last = k->row_last ? k->row_last : last_place(k);
	return emit_constant(k->p, b, "place", ir_binary(IR_MIN, vector_position(k, lane), last), NULL);
}

static void load_rest(struct row_kernel *k, struct ir_block *b, expr lane, bool all_whole)
{
	struct ir_program *p = k->p;
	k->rest = true;
	struct ir_block *body = shifted_each_vector(k, b, lane);
	emit_array(p, body, rows_array(k, 0), k->width);
	emit_load_into(p, body, k->r->cache[0].buf, load_place(k, body, lane), rows_array(k, 0), NULL, k->width)->once =
	        k->once;
	if (!all_whole)
		load_last(k, body, emit_constant(p, body, "own_place", vector_position(k, lane), NULL));
	rows_move_shared(k, body, true);
	k->rest = false;
}

/* Where the lane's vector of the current step begins in the row; negative: before it. */
static expr first_item(const struct row_kernel *k, expr lane)
{
	return ir_binary(IR_SUB, vector_position(k, lane), ir_binary(IR_MUL, k->row, k->r->length));
}

/* The last position from which vectors of a buffer in another layout are loaded, or null if they are not: they are
 * shifted, as its rows are aligned otherwise. */
static expr last_shifted(const struct row_kernel *k, int cached)
{
	struct ir_pool *pool = k->p->pool;
	const struct ir_buffer *buf = k->r->cache[cached].buf;
	if (!rows_in_shifted_vectors(k->r, cached, k->width))
		return NULL;
	return ir_binary(IR_SUB, ir_buffer_count(k->p, buf), ir_index(pool, 2 * k->width - 1));
}

/* Loads the step's vector of such a buffer; one near the buffer's ends is not right. */
static void load_vector(struct row_kernel *k, struct ir_block *b, int cached, expr lane)
{
	expr zero = ir_index(k->p->pool, 0), at = ir_binary(IR_ADD, k->from[cached], first_item(k, lane));
	at = ir_binary(IR_MIN, ir_binary(IR_MAX, at, zero), last_shifted(k, cached));
	emit_load_into(k->p, b, k->r->cache[cached].buf, at, rows_array(k, cached), k->step, k->width)->shifted = true;
}

/* Loads the step's elements of a buffer without the rows' own layout. */
static void load_items(struct row_kernel *k, struct ir_block *b, int cached, expr lane)
{
	struct ir_program *p = k->p;
	expr item, zero = ir_index(p->pool, 0), last = ir_binary(IR_SUB, k->r->length, ir_index(p->pool, 1));
	expr first = emit_constant(p, b, "first_item", first_item(k, lane), NULL);
	b = emit_unrolled(p, b, "item", k->width, &item);
	expr at = ir_binary(IR_MIN, ir_binary(IR_MAX, ir_binary(IR_ADD, first, item), zero), last);
	at = ir_binary(IR_ADD, k->from[cached], at);
	expr element = ir_load(p->pool, flat_view(p, k->r->cache[cached].buf), &at);
	emit_set_in_row(p, b, rows_array(k, cached), k->step, item, element);
}

/* Loads the elements of a row near the ends of such a buffer one by one. */
static void load_ends(struct row_kernel *k, struct ir_block *b, int cached, expr lane)
{
	struct ir_pool *pool = k->p->pool;
	expr from = k->from[cached], before = ir_binary(IR_LT, from, ir_index(pool, k->width));
	expr last = ir_binary(IR_SUB, last_shifted(k, cached), k->r->length);
	b = emit_if(k->p, b, ir_binary(IR_OR, before, ir_binary(IR_LT, last, from)));
	load_items(k, each_step(k, b), cached, lane);
}

/* True if no vector of the current loop goes past the end of all rows. */
static bool all_are_whole(const struct row_kernel *k)
{
	return ir_is_int(ir_binary(IR_MOD, all_elements(k), ir_index(k->p->pool, k->width)), 0);
}

/* Loads the vectors of the current loop. */
static void load_vectors(struct row_kernel *k, struct ir_block *b, expr lane)
{
	b = each_step(k, b);
	expr at = load_place(k, b, lane);
	for (int i = 0; i < k->r->cached; i++)
		if (k->r->cache[i].from && last_shifted(k, i))
			load_vector(k, b, i, lane);
		else if (k->r->cache[i].from)
			load_items(k, b, i, lane);
		else
			emit_load_into(k->p, b, k->r->cache[i].buf, at, rows_array(k, i), k->step, k->width)->once =
			        k->once;
}

/* Loads again what is near the ends of the buffers. */
static void correct_vectors(struct row_kernel *k, struct ir_block *b, expr lane)
{
	struct ir_program *p = k->p;
	if (!all_are_whole(k)) { /* in the rows that have elements past the last whole vector */
		expr rest = ir_binary(IR_ADD, last_place(k), ir_index(p->pool, k->width));
		expr end = ir_binary(IR_ADD, k->row, ir_index(p->pool, 1));
		struct ir_block *body = emit_if(p, b, ir_binary(IR_LT, rest, ir_binary(IR_MUL, end, k->r->length)));
		body = each_step(k, body);
		load_last(k, body, emit_constant(p, body, "place", vector_position(k, lane), NULL));
	}
	for (int i = 0; i < k->r->cached; i++)
		if (k->r->cache[i].from && last_shifted(k, i))
			load_ends(k, b, i, lane);
}

void shifted_load(struct row_kernel *k, struct ir_block *b, expr lane)
{
	int parts = k->tail ? 2 : 1;
	for (int part = 0; part < parts; part++) {
		rows_part(k, part);
		load_vectors(k, b, lane);
	}
	for (int part = 0; part < parts; part++) {
		rows_part(k, part);
		correct_vectors(k, b, lane);
	}
	rows_part_end(k);
	if (k->shared)
		load_rest(k, b, lane, all_are_whole(k));
	k->step = k->at = NULL;
}

void shifted_store(struct row_kernel *k, struct ir_block *b, const struct ir_buffer *out, struct ir_variable *result)
{
	struct ir_program *p = k->p;
	expr zero = ir_index(p->pool, 0), end = ir_binary(IR_ADD, k->at, ir_index(p->pool, k->width)), item;
	expr place = ir_binary(IR_ADD, ir_binary(IR_MUL, k->row, k->r->length), k->at);
	if (k->width == 1) {
		emit_store(p, emit_if(p, b, k->inside), out, place, item_of(result, zero));
		return;
	}
	expr whole = ir_binary(IR_AND, unless_after(k, ir_binary(IR_LE, zero, k->at)),
	                       unless_before(k, ir_binary(IR_LE, end, k->r->length)));
	whole = emit_constant(p, b, "whole", whole, NULL);
	struct ir_block *body = emit_if(p, b, whole);
	emit_store_vector(p, body, out, place, result, k->width)->once = k->once;
	body = emit_if(p, b, ir_unary(IR_NOT, whole));
	body = emit_unrolled(p, body, "item", k->width, &item);
	expr at = emit_constant(p, body, "element", ir_binary(IR_ADD, k->at, item), NULL);
	body = emit_if(p, body, ir_binary(IR_AND, ir_binary(IR_LE, zero, at), ir_binary(IR_LT, at, k->r->length)));
	emit_store(p, body, out, ir_binary(IR_ADD, ir_binary(IR_MUL, k->row, k->r->length), at), item_of(result, item));
}

void shifted_needs(const struct row_kernel *own, struct ir_kernel *k)
{
	struct ir_pool *pool = own->p->pool;
	int64_t room = (int64_t)own->lanes * (own->steps * own->wide + own->tail) - (own->wide - 1);
	kernel_needs(k, ir_binary(IR_LE, own->r->length, ir_index(pool, room)));
	kernel_needs(k, ir_binary(IR_LT, ir_index(pool, 0), own->r->length));
	kernel_needs(k, ir_binary(IR_LE, ir_index(pool, own->width), all_elements(own)));
	for (int i = 0; i < own->r->cached; i++)
		if (own->r->cache[i].from && last_shifted(own, i))
			kernel_needs(k, ir_binary(IR_LE, ir_index(pool, 0), last_shifted(own, i)));
}
