/* Arg reductions with vectorised loads, several in flight per lane. The best value of a vector is found first; its item
 * is only searched if the vector beats all before it. See accumulate.h. */
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/vectors.h"

#include <string.h>

#include "ir/axis_names.h"

enum { MAX_VECTORS = 4, AT_ONCE = 8, WIDEST = 128 /* bits */ };

struct vectors {
	struct ir_program *p;
	const struct ir_stage *s;
	int width, inner, n; /* inner: the axis of the vectors */
	expr load[MAX_VECTORS];
	struct ir_variable *array[MAX_VECTORS];
	bool fine;
	expr step, item; /* the current vector, and its item */
};

static void find_vector(void *user, expr e)
{
	struct vectors *f = user;
	if (e->op != IR_LOAD)
		return;
	expr extent = f->s->space[f->s->space_rank - 1];
	expr stride = ir_stride(ir_flat(f->p->pool, e->buf, e->arg), f->inner);
	if (stride && ir_is_int(stride, 0)) /* the same for all elements */
		return;
	f->fine &= type_info(e->type)->bits * f->width <= WIDEST && !type_is_packed(e->type) && f->n < MAX_VECTORS &&
	           vector_along(f->p, e, f->inner, extent, f->width);
	if (!f->fine)
		return;
	f->array[f->n] = ir_variable_new(f->p->pool, e->type, "%s_v%d", e->buf->name, f->n + 2);
	f->load[f->n++] = e;
}

static struct vectors find_vectors(struct ir_program *p, const struct ir_stage *s, int width)
{
	struct vectors f = { .p = p, .s = s, .width = width, .inner = s->out->rank + s->space_rank - 1, .fine = true };
	f.fine = ir_combine_is_arg(s->combine) && s->space_rank && divides(s->space[s->space_rank - 1], width);
	if (f.fine)
		ir_walk_unconditional(s->value, find_vector, &f);
	return f;
}

bool arg_vectors_fit(struct ir_program *p, const struct ir_stage *s, int width)
{
	struct vectors f = find_vectors(p, s, width);
	return f.fine && f.n > 0;
}

static expr of_vector(void *user, expr e, expr flat)
{
	const struct vectors *f = user;
	(void)flat;
	for (int i = 0; i < f->n; i++)
		if (f->load[i] == e)
			return item_of_row(f->array[i], f->step, f->item);
	return NULL;
}

/* Number of vectors that a lane has in flight. */
static int at_once(expr points, int64_t stride)
{
	int64_t n;
	int steps = 1;
	if (ir_const_int(points, &n))
		while (steps < AT_ONCE && n % (stride * steps * 2) == 0)
			steps *= 2;
	return steps;
}

/* Emits the loop over a vector's items and returns the current item's value; backwards: the last item first. `axis`: of
 * the first item. */
static expr each_item(struct vectors *f, struct ir_block **b, const expr *axis, bool backwards)
{
	struct ir_program *p = f->p;
	expr own[2 * IR_MAX_RANK];
	*b = emit_unrolled(p, *b, "item", f->width, &f->item);
	if (backwards) {
		expr turned = ir_binary(IR_SUB, ir_index(p->pool, f->width - 1), f->item);
		f->item = emit_constant(p, *b, "turned", turned, ir_index(p->pool, f->width));
	}
	memcpy(own, axis, sizeof own);
	own[f->inner] = ir_binary(IR_ADD, axis[f->inner], f->item);
	struct axes here = { .value = own, .load = of_vector, .user = f };
	return to_kernel(p, f->s->value, &here);
}

static void best_of_vector(struct vectors *f, struct accumulator *a, struct ir_block *b, const expr *axis, expr point)
{
	struct ir_program *p = f->p;
	enum ir_combine c = f->s->combine;
	bool last = c == IR_ARGMAX_LAST || c == IR_ARGMIN_LAST, smallest = c == IR_ARGMIN || c == IR_ARGMIN_LAST;
	enum ir_combine best_of = smallest ? IR_MINIMUM : IR_MAXIMUM;
	expr best = emit_variable(p, b, "best_of_vector", ir_identity(p->pool, best_of, f->s->value->type));
	struct ir_block *items = b;
	expr value = each_item(f, &items, axis, false);
	emit_assign(p, items, best, ir_combine_expr(best_of, best, value));
	items = accumulate(a, b, best, point);
	value = each_item(f, &items, axis, !last); /* among equals the last assignment wins */
	expr same = ir_binary(IR_EQ, value, best);
	if (type_is_float(value->type))
		same = ir_binary(IR_BITOR, same,
		                 ir_binary(IR_BITAND, ir_unary(IR_ISNAN, value), ir_unary(IR_ISNAN, best)));
	emit_assign(p, items, a->position, ir_select(same, ir_binary(IR_ADD, point, f->item), a->position));
}

/* Declares the first point of the current vector and its axes, in the loop over the vectors in flight. */
static expr declare_point(struct vectors *f, struct ir_block *b, expr first, expr step, int64_t stride, expr *axis)
{
	struct ir_program *p = f->p;
	const struct ir_stage *s = f->s;
	bool used[2 * IR_MAX_RANK] = { false };
	const char *name = s->space_rank == 1 ? ir_axis_names[1][0] : "point";
	int rank = s->out->rank;
	expr points = reduced_count(p, s);
	expr at = ir_binary(IR_ADD, first, ir_binary(IR_MUL, step, ir_index(p->pool, stride)));
	expr point = ir_var_multiple(emit_constant(p, b, name, at, points)->var, points, f->width);
	axes_read(s, used);
	if (s->space_rank == 1)
		axis[rank] = point;
	else
		declare_axes(p, b, point, s->space_rank, s->space, ir_axis_names[1], used + rank, axis + rank);
	return point;
}

void arg_by_vectors(struct accumulator *a, struct ir_block *b, const expr *out_axis, expr lane, int lanes, int width)
{
	struct ir_program *p = a->p;
	struct vectors f = find_vectors(p, a->s, width);
	expr axis[2 * IR_MAX_RANK] = { NULL }, points = reduced_count(p, a->s), first, step;
	int64_t stride = (int64_t)lanes * width;
	int steps = at_once(points, stride);
	memcpy(axis, out_axis, sizeof axis[0] * (size_t)a->s->out->rank);
	expr from = ir_binary(IR_MUL, lane, ir_index(p->pool, width));
	b = emit_loop(p, b, "first", from, points, ir_index(p->pool, stride * steps), points, &first);
	for (int i = 0; i < f.n; i++)
		emit_array_of_rows(p, b, f.array[i], steps, width);
	struct ir_block *loads = emit_unrolled(p, b, "step", steps, &step);
	declare_point(&f, loads, first, step, stride, axis);
	struct axes start = { .value = axis };
	for (int i = 0; i < f.n; i++)
		emit_load_into(p, loads, f.load[i]->buf, to_kernel(p, f.load[i], &start)->arg[0], f.array[i], step,
		               width);
	b = emit_unrolled(p, b, "step", steps, &step);
	f.step = step;
	expr point = declare_point(&f, b, first, step, stride, axis);
	best_of_vector(&f, a, b, axis, point);
}
