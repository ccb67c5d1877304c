/* Maps that gather from several planes at the same positions: finds them, and emits a thread's work on a transposed
 * copy, in which a position's elements are adjacent. See gather_planes.h. */
#include "sched/map/gather_planes.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

#include <math.h>
#include <string.h>

#include "ir/axis_names.h"

/* ---- Matching. */

static int first_gathered(expr e)
{
	for (int i = 0; i < e->n; i++)
		if (gathers_decided(e->arg[i]))
			return i;
	return e->n;
}

/* Checks that all reads of the buffer are gathers. */
static void check_load(void *user, expr e)
{
	struct gather_planes *f = user;
	if (e->op == IR_LOAD && e->buf == f->buf)
		f->fits &= first_gathered(e) < e->n;
}

static bool knows_axis(expr e, int axis)
{
	bool used[IR_MAX_RANK] = { false };
	ir_mark_axes(e, used);
	return used[axis];
}

/* Finds the planes' axis by the first gather: the last index before the data-dependent ones. */
static void find_axis(void *user, expr e)
{
	struct gather_planes *f = user;
	if (f->buf || e->op != IR_LOAD || first_gathered(e) == e->n)
		return;
	f->buf = e->buf;
	f->lead = first_gathered(e);
	f->axis = f->lead && e->arg[f->lead - 1]->op == IR_AXIS ? (int)e->arg[f->lead - 1]->i : -1;
}

/* True if all gathers read the same plane: that of the axis, and of axes before it. */
static bool same_plane(struct gather_planes *f)
{
	expr one = f->gathers.at[0].load;
	for (int i = 0; i < f->gathers.n; i++) {
		expr e = f->gathers.at[i].load;
		if (e->buf != f->buf)
			return false;
		for (int k = 0; k < e->n; k++) {
			if (k < f->lead ? e->arg[k] != one->arg[k] : !f->own && knows_axis(e->arg[k], f->axis))
				return false;
			for (int later = f->axis; later <= f->inner && k < f->lead - 1; later++)
				if (knows_axis(e->arg[k], later))
					return false;
		}
	}
	return true;
}

bool gather_planes_find(struct gather_planes *f, struct ir_program *p, const struct ir_stage *s, bool own)
{
	*f = (struct gather_planes){ .p = p, .s = s, .inner = -1, .axis = -1, .fits = true, .turns = 1 };
	if (s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1))
			f->inner = k;
	ir_walk(s->value, find_axis, f);
	if (!f->buf || f->axis < 0 || f->axis >= f->inner || type_is_packed(f->buf->type))
		return false;
	if (!gathers_find(&f->gathers, p, s->value, f->axis)) {
		f->own = true;
		if (!own || !gathers_find(&f->gathers, p, s->value, -1))
			return false;
	}
	f->size = ir_index(p->pool, 1);
	for (int k = f->lead; k < f->buf->rank; k++)
		f->size = ir_binary(IR_MUL, f->size, f->buf->dim[k]);
	ir_walk(s->value, check_load, f);
	return f->fits && same_plane(f);
}

int gather_planes_bytes(const struct gather_planes *f)
{
	return type_info(f->buf->type)->bits / 8;
}

/* ---- The kernel. */

void gather_planes_axes(struct gather_planes *f, struct ir_block *b, expr n, int first, int end, expr *axis)
{
	struct ir_program *p = f->p;
	expr dim[IR_MAX_RANK], planes = ir_index(p->pool, f->planes * f->turns);
	bool used[IR_MAX_RANK];
	for (int k = first; k < end; k++) {
		dim[k] = k == f->axis ? ir_binary(IR_FLOORDIV, f->s->out->dim[k], planes) : f->s->out->dim[k];
		used[k] = true;
	}
	declare_axes(p, b, n, end - first, dim + first, &ir_axis_names[0][first], used + first, axis + first);
	if (f->axis >= first && f->axis < end)
		axis[f->axis] = ir_binary(IR_MUL, axis[f->axis], planes);
}

/* True if all bits of the constant are zero. */
static bool is_zero(expr e)
{
	return e->op == IR_CONST_INT ? e->i == 0 : e->op == IR_CONST_FLOAT && e->f == 0 && !signbit(e->f);
}

/* Loads the gathered elements of a position for all planes at once, into one array per gather. */
static void gather_places(struct gather_planes *f, struct ir_block *b, const struct axes *here,
                          struct ir_variable **array)
{
	struct ir_program *p = f->p;
	for (int i = 0; i < f->gathers.n; i++) {
		const struct gather *one = &f->gathers.at[i];
		expr at = emit_constant(p, b, arena_printf(p->arena, "at_%d", i), f->position(f, one, here), NULL);
		expr where = one->where ? to_kernel(p, gathers_replace(&f->gathers, one->where, NULL), here) : NULL;
		bool zero = where && is_zero(one->other);
		array[i] = ir_variable_new(p->pool, f->buf->type, "near_%d", i);
		if (where && !zero) {
			emit_array(p, b, array[i], f->planes);
			for (int q = 0; q < f->planes; q++)
				emit_set(p, b, array[i], ir_index(p->pool, q), one->other);
		}
		struct ir_vector *load =
		        emit_load_flat(p, where && !zero ? emit_if(p, b, where) : b, f->from, at, array[i], f->planes);
		load->stands = where && !zero;
		load->where = zero ? where : NULL;
	}
}

void gather_planes_emit(struct gather_planes *f, struct ir_block *b, const expr *axis)
{
	struct ir_program *p = f->p;
	const struct ir_buffer *out = f->s->out;
	struct ir_variable *result[GATHER_PLANES_MAX], *array[GATHERS_MAX];
	expr own[IR_MAX_RANK], lane[IR_MAX_RANK], near[GATHERS_MAX];
	struct axes here = { .value = lane, .load = gathers_vector_item, .user = &f->gathers };
	for (int i = 0; i < f->planes; i++) {
		result[i] = ir_variable_new(p->pool, out->type, "%s_v%d", out->name, i);
		emit_array(p, b, result[i], f->width);
	}
	struct ir_block *items = emit_unrolled(p, b, "v", f->width, &f->gathers.lane);
	memcpy(lane, axis, sizeof lane);
	lane[f->inner] = ir_binary(IR_ADD, axis[f->inner], f->gathers.lane);
	gathers_emit_shared(&f->gathers, items, &here);
	memcpy(own, axis, sizeof own);
	if (f->turns > 1) {
		expr turn, turns = ir_index(p->pool, f->turns), one = ir_index(p->pool, 1);
		b = items = emit_loop(p, items, "turn", ir_index(p->pool, 0), turns, one, turns, &turn);
		expr ahead = ir_binary(IR_MUL, turn, ir_index(p->pool, f->planes));
		lane[f->axis] = own[f->axis] = ir_binary(IR_ADD, axis[f->axis], ahead);
	}
	expr first = own[f->axis];
	gather_places(f, items, &here, array);
	for (int plane = 0; plane < f->planes; plane++) {
		for (int i = 0; i < f->gathers.n; i++)
			near[i] = item_of(array[i], ir_index(p->pool, plane));
		lane[f->axis] = ir_binary(IR_ADD, first, ir_index(p->pool, plane));
		expr value = gathers_replace(&f->gathers, f->s->value, near);
		emit_set(p, items, result[plane], f->gathers.lane, to_kernel(p, value, &here));
	}
	for (int i = 0; i < f->planes; i++) {
		expr at = ir_index(p->pool, 0);
		own[f->axis] = ir_binary(IR_ADD, first, ir_index(p->pool, i));
		for (int k = 0; k < out->rank; k++)
			at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, out->dim[k]), own[k]);
		emit_store_vector(p, b, out, at, result[i], f->width);
	}
}
