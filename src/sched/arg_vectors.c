/* Arg reductions by vectors: of each vector a lane first finds the best value alone, and where it is only of the best vector, which
 * it reads again. See build.h. */
#include "sched/build.h"

#include "ir/axis_names.h"

enum { MAX_VECTORS = 4, AT_ONCE = 8, WIDEST = 128 /* bits */ };

struct vectors {
	struct ir_program *p;
	const struct ir_stage *s;
	int width, inner, n; /* inner: the axis along which they run */
	expr load[MAX_VECTORS];
	const char *name[MAX_VECTORS];
	bool fine;
	expr item; /* of a vector, in work */
};

static void find_vector(void *user, expr e)
{
	struct vectors *f = user;
	if (e->op != IR_LOAD)
		return;
	expr extent = f->s->space[f->s->space_rank - 1], stride = ir_stride(ir_flat(f->p->pool, e->buf, e->arg), f->inner);
	if (stride && ir_is_int(stride, 0)) /* the same for all elements */
		return;
	f->fine &= type_info(e->type)->bits * f->width <= WIDEST && !type_is_packed(e->type) && f->n < MAX_VECTORS &&
	           vector_along(f->p, e, f->inner, extent, f->width);
	if (!f->fine)
		return;
	f->name[f->n] = arena_printf(f->p->arena, "%s_v%d", e->buf->name, f->n + 2);
	f->load[f->n++] = e;
}

static struct vectors find_vectors(struct ir_program *p, const struct ir_stage *s, int width)
{
	struct vectors f = { .p = p, .s = s, .width = width, .inner = s->out->rank + s->space_rank - 1, .fine = true };
	int64_t extent;
	f.fine = ir_combine_is_arg(s->combine) && s->space_rank && ir_const_int(s->space[s->space_rank - 1], &extent) &&
	         extent % width == 0;
	if (f.fine)
		ir_walk_unconditional(s->value, find_vector, &f);
	return f;
}

bool arg_vectors_fit(const struct ir_program *p, const struct ir_stage *s, int width)
{
	struct vectors f = find_vectors((struct ir_program *)p, s, width);
	return f.fine && f.n > 0;
}

static expr of_vector(void *user, expr e, expr flat)
{
	const struct vectors *f = user;
	(void)flat;
	for (int i = 0; i < f->n; i++)
		if (f->load[i] == e)
			return ir_var(f->p->pool, e->type, arena_printf(f->p->arena, "%s[%s]", f->name[i], f->item->name), NULL);
	return NULL;
}

/* The vectors from the point of the reduced space on that variable `name` holds, and the loop over their items: gives the value of
 * the one in work. `out_axis`: of the result. backwards: the last item first. */
static expr each_item(struct vectors *f, struct ir_block **b, const char *name, const expr *out_axis, bool backwards)
{
	struct ir_program *p = f->p;
	const struct ir_stage *s = f->s;
	int rank = s->out->rank;
	bool used[2 * IR_MAX_RANK] = { false };
	expr axis[2 * IR_MAX_RANK], point = ir_var_multiple(p->pool, name, reduced_count(p, s), f->width);
	for (int k = 0; k < rank; k++)
		axis[k] = out_axis[k];
	axes_read(s, used);
	if (s->space_rank == 1)
		axis[rank] = point;
	else
		declare_axes(p, *b, point, s->space_rank, s->space, ir_axis_names[1], used + rank, axis + rank);
	struct axes start = { .value = axis };
	for (int i = 0; i < f->n; i++)
		emit_load_vector(p, *b, f->load[i]->buf, to_kernel(p, f->load[i], &start)->arg[0], f->name[i], f->width, false);
	*b = emit_unrolled(p, *b, "item", f->width, &f->item);
	if (backwards) {
		expr turned = ir_binary(IR_SUB, ir_index(p->pool, f->width - 1), f->item);
		f->item = emit_constant(p, *b, "turned", turned, ir_index(p->pool, f->width));
	}
	axis[f->inner] = ir_binary(IR_ADD, axis[f->inner], f->item);
	struct axes here = { .value = axis, .load = of_vector, .user = f };
	return to_kernel(p, s->value, &here);
}

/* How many vectors of a lane are on their way at once. */
static int at_once(expr points, int64_t stride)
{
	int64_t n;
	int steps = 1;
	if (ir_const_int(points, &n))
		while (steps < AT_ONCE && n % (stride * steps * 2) == 0)
			steps *= 2;
	return steps;
}

/* The best value of each vector, and the point at which that begins. */
static void best_vector(struct vectors *f, struct accumulator *a, struct ir_block *b, const expr *axis, expr lane, int lanes)
{
	struct ir_program *p = f->p;
	const struct ir_stage *s = f->s;
	bool smallest = s->combine == IR_ARGMIN || s->combine == IR_ARGMIN_LAST;
	enum ir_combine best_of = smallest ? IR_MINIMUM : IR_MAXIMUM;
	const char *name = s->space_rank == 1 ? ir_axis_names[1][0] : "point";
	expr points = reduced_count(p, s), from = ir_binary(IR_MUL, lane, ir_index(p->pool, f->width)), step;
	int64_t stride = (int64_t)lanes * f->width;
	int steps = at_once(points, stride);
	b = emit_for(p, b, "first", from, points, ir_index(p->pool, stride * steps));
	b = emit_unrolled(p, b, "step", steps, &step);
	expr at = ir_binary(IR_ADD, ir_var(p->pool, TYPE_INDEX, "first", points),
	                    ir_binary(IR_MUL, step, ir_index(p->pool, stride)));
	emit_constant(p, b, name, at, points);
	expr best = emit_variable(p, b, "best_of_vector", ir_identity(p->pool, best_of, s->value->type));
	struct ir_block *items = b;
	expr value = each_item(f, &items, name, axis, false);
	emit_assign(p, items, best, ir_combine_expr(best_of, best, value));
	accumulate(a, b, best, ir_var(p->pool, TYPE_INDEX, name, points));
}

/* Which item of that vector it is. */
static void best_item(struct vectors *f, struct accumulator *a, struct ir_block *b, const expr *axis)
{
	struct ir_program *p = f->p;
	bool last = f->s->combine == IR_ARGMAX_LAST || f->s->combine == IR_ARGMIN_LAST;
	b = emit_if(p, b, ir_unary(IR_NOT, ir_binary(IR_EQ, a->position, a->none)));
	expr point = emit_constant(p, b, "point_of_best", a->position, reduced_count(p, f->s));
	expr value = each_item(f, &b, "point_of_best", axis, !last); /* the last one that is set counts */
	expr same = ir_binary(IR_EQ, value, a->value);
	if (type_is_float(value->type))
		same = ir_binary(IR_OR, same, ir_binary(IR_AND, ir_unary(IR_ISNAN, value), ir_unary(IR_ISNAN, a->value)));
	emit_assign(p, b, a->position, ir_select(same, ir_binary(IR_ADD, point, f->item), a->position));
}

void arg_by_vectors(struct accumulator *a, struct ir_block *b, const expr *axis, expr lane, int lanes, int width)
{
	struct vectors f = find_vectors(a->p, a->s, width);
	best_vector(&f, a, b, axis, lane, lanes);
	best_item(&f, a, b, axis);
}
