/* Vectorised tiles of a scan's row. See scan_row.h. */
#include "sched/order/scan_row.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/vectors.h"

#include <math.h>

enum { WARP = 32, WIDEST = 16 /* bytes */ };

int scan_width(const struct ir_stage *s)
{
	int64_t extent;
	int width = WIDEST * 8 / type_info(s->out->type)->bits;
	for (int k = s->axis + 1; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1))
			return 1; /* elements along the axis are not contiguous */
	if (ir_const_int(s->out->dim[s->axis], &extent))
		while (extent % width)
			width /= 2;
	return width;
}

static void find_vector(void *user, expr e)
{
	struct scan_vectors *v = user;
	const struct ir_stage *s = v->r->s;
	if (e->op == IR_LOAD && vector_along(v->r->p, e, s->axis, s->out->dim[s->axis], v->width))
		vec_push(v->r->p->arena, &v->found, e);
}

/* An item's index in its vector. */
static expr item_place(struct scan_vectors *v)
{
	expr last = ir_index(v->r->p->pool, v->width - 1);
	return v->r->s->reverse ? ir_binary(IR_SUB, last, v->item) : v->item;
}

static expr vector_item(void *user, expr e, expr flat)
{
	struct scan_vectors *v = user;
	(void)flat;
	for (int i = 0; i < v->found.n; i++)
		if (v->found.at[i] == e)
			return item_of_row(v->array.at[i], v->vector, item_place(v));
	return NULL;
}

void scan_vectors_begin(struct scan_vectors *v, struct scan_row *r, struct ir_block *b, expr lane)
{
	struct ir_program *p = r->p;
	expr warp = ir_index(p->pool, WARP), width = ir_index(p->pool, v->width);
	expr in_warp = ir_index(p->pool, WARP * v->width * v->steps);
	v->r = r;
	expr own = ir_binary(IR_MUL, lane, width);
	if (v->lanes > WARP)
		own = ir_binary(IR_ADD, ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, lane, warp), in_warp),
		                ir_binary(IR_MUL, ir_binary(IR_MOD, lane, warp), width));
	v->own = emit_declare(p, b, "own", own, NULL);
	if (v->width == 1)
		return;
	ir_walk_unconditional(r->s->value, find_vector, v);
	for (int i = 0; i < v->found.n; i++) {
		bool again = false; /* a second array of the same buffer gets a number */
		for (int j = 0; j < i; j++)
			again |= v->found.at[j]->buf == v->found.at[i]->buf;
		const struct ir_buffer *from = v->found.at[i]->buf;
		vec_push(p->arena, &v->array,
		         again ? ir_variable_new(p->pool, from->type, "%s_v%d", from->name, i + 1)
		               : ir_variable_new(p->pool, from->type, "%s_v", from->name));
	}
	r->load = vector_item;
	r->user = v;
}

/* Loops over this thread's vectors of the tile and declares `from`, the step of the first element. Returns the block
 * for vectors inside the row, and in *all the whole loop body. */
static struct ir_block *each_vector(struct scan_vectors *v, struct ir_block *b, expr *from, struct ir_block **all)
{
	struct ir_program *p = v->r->p;
	b = *all = emit_unrolled(p, b, "vector", v->steps, &v->vector);
	expr at = ir_binary(IR_ADD, v->own, ir_binary(IR_MUL, v->vector, ir_index(p->pool, WARP * v->width)));
	*from = emit_constant(p, b, "from", ir_binary(IR_ADD, v->tile, at), NULL);
	if (!v->whole)
		b = emit_if(p, b, ir_binary(IR_LT, *from, v->r->extent));
	*from = ir_var_of((*from)->var, v->r->extent);
	return b;
}

/* The position along the axis where the vector of steps `from` ... starts. */
static expr vector_at(struct scan_vectors *v, expr from)
{
	expr width = ir_index(v->r->p->pool, v->width);
	return v->r->s->reverse ? ir_binary(IR_SUB, ir_binary(IR_SUB, v->r->extent, width), from) : from;
}

static expr part_place(struct scan_vectors *v)
{
	return ir_binary(IR_ADD, ir_binary(IR_MUL, v->vector, ir_index(v->r->p->pool, v->width)), v->item);
}

static void load_tile(struct scan_vectors *v, struct ir_block *b)
{
	struct scan_row *r = v->r;
	struct ir_program *p = r->p;
	struct ir_block *all;
	expr from;
	if (!v->found.n)
		return;
	for (int i = 0; i < v->found.n; i++)
		emit_array_of_rows(p, b, v->array.at[i], v->steps, v->width);
	b = each_vector(v, b, &from, &all);
	expr at = vector_at(v, from), same = ir_flat(p->pool, r->s->out, r->own);
	r->axis[r->s->axis] = at;
	struct axes start = { .value = r->axis, .same = same, .same_as = scan_position(r, at) };
	for (int i = 0; i < v->found.n; i++) {
		expr e = v->found.at[i], flat = ir_flat(p->pool, e->buf, e->arg), rest = ir_binary(IR_SUB, flat, same);
		expr place = rest->varies ? to_kernel(p, flat, &start) : ir_binary(IR_ADD, scan_position(r, at), rest);
		emit_load_into(p, b, e->buf, place, v->array.at[i], v->vector, v->width);
	}
}

void scan_vectors_tile(struct scan_vectors *v, struct ir_block *b)
{
	struct scan_row *r = v->r;
	struct ir_program *p = r->p;
	const struct ir_stage *s = r->s;
	enum type t = s->value->type;
	struct ir_block *all, *here;
	expr from, none = ir_identity(p->pool, s->combine, t);
	load_tile(v, b);
	v->parts = ir_variable_new(p->pool, t, "parts");
	emit_array(p, b, v->parts, v->steps * v->width);
	here = each_vector(v, b, &from, &all);
	if (!v->whole) { /* before the condition */
		struct ir_stmt inside = all->at[--all->n];
		struct ir_block *each = emit_unrolled(p, all, "item", v->width, &v->item);
		emit_set(p, each, v->parts, part_place(v), none);
		vec_push(p->arena, all, inside);
	}
	here = emit_unrolled(p, here, "item", v->width, &v->item);
	emit_set(p, here, v->parts, part_place(v),
	         scan_value_at(r, ir_binary(IR_ADD, vector_at(v, from), item_place(v))));
	emit_items_scan(p, b, v->parts, r->sum, s->combine, v->lanes, v->width, s->exclusive);
}

void scan_vectors_store(struct scan_vectors *v, struct ir_block *b, expr before)
{
	struct scan_row *r = v->r;
	struct ir_program *p = r->p;
	const struct ir_buffer *out = r->s->out;
	struct ir_block *all, *items;
	expr from, place;
	struct ir_variable *result = ir_variable_new(p->pool, out->type, "%s_v", out->name);
	b = each_vector(v, b, &from, &all);
	if (v->width > 1)
		emit_array(p, b, result, v->width);
	items = emit_unrolled(p, b, "item", v->width, &v->item);
	place = item_place(v);
	expr at = vector_at(v, from), part;
	part = item_of(v->parts, part_place(v));
	if (before)
		part = ir_combine_expr(r->s->combine, before, part);
	expr y = scan_result_at(r, ir_binary(IR_ADD, at, place), part);
	if (v->width == 1) {
		emit_store(p, items, out, scan_position(r, at), y);
		return;
	}
	emit_set(p, items, result, place, y);
	emit_store_vector(p, b, out, scan_position(r, at), result, v->width);
}

/* ---- Time. */

struct reads {
	const struct ir_program *p;
	const struct sched_target *t;
	double points, bytes;
};

static void add_read(void *user, expr e)
{
	struct reads *r = user;
	if (e->op != IR_LOAD)
		return;
	double elements = fmin((double)about(ir_buffer_count(r->p, e->buf), r->t), r->points);
	r->bytes += elements * type_info(e->type)->bits / 8.0;
}

double scan_access_ns(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t, double flying)
{
	enum { SECTOR = 32 };
	struct reads r = { .p = p, .t = t, .points = (double)about(out_count(p, s), t) };
	double size = type_info(s->out->type)->bits / 8.0, apart = size;
	for (int k = s->axis + 1; k < s->out->rank; k++)
		apart *= (double)about(s->out->dim[k], t);
	ir_walk(s->value, add_read, &r);
	double bytes = (r.bytes + r.points * size) * fmin(apart, SECTOR) / size;
	return bytes / t->bytes_per_ns / fmin(fmax(flying / cost_in_flight(t), 0.005), 1);
}
