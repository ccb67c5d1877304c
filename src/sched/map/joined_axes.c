/* Maps with fewer axes: neighbouring axes that occur only together, as height and width of a norm's image, are one.
 * Vectors then fit rows of H * W elements, of which W may be odd, and no position is divided by W. See flat.h. */
#include "sched/map/flat.h"
#include "sched/build/axes.h"

struct joining {
	struct ir_program *p;
	int axis;      /* joined with the next one, which is the last */
	expr last;     /* the extent of that */
	expr joined;   /* the new axis */
	bool *visited; /* by node */
	bool fine;
};

/* The step of a load's position per element of the joined axis; null if there is none. */
static expr step_of(const struct joining *j, expr load)
{
	expr flat = ir_flat(j->p->pool, load->buf, load->arg);
	expr outer = ir_stride(flat, j->axis), inner = ir_stride(flat, j->axis + 1);
	if (!outer || !inner || outer->varies || inner->varies)
		return NULL;
	if (ir_is_int(j->last, 1))
		return outer;
	return outer == ir_binary(IR_MUL, inner, j->last) ? inner : NULL;
}

static void check_node(struct joining *j, expr e)
{
	if (j->visited[e->id])
		return;
	j->visited[e->id] = true;
	if (e->op == IR_LOAD) {
		expr step = step_of(j, e);
		j->fine &= step && (ir_is_int(step, 0) || !type_is_packed(e->type));
		return;
	}
	j->fine &= e->op != IR_AXIS || e->i < j->axis;
	for (int i = 0; i < e->n && e->op != IR_AXIS; i++)
		check_node(j, e->arg[i]);
}

/* Callback for ir_copy(): loads along the joined axis; elsewhere the two axes do not occur. */
static expr join_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct joining *j = user;
	if (e->op == IR_AXIS && e->i >= j->axis)
		return ir_index(pool, 0);
	expr step = e->op == IR_LOAD ? step_of(j, e) : NULL;
	if (!step || ir_is_int(step, 0))
		return NULL;
	expr at = ir_binary(IR_ADD, ir_flat(pool, e->buf, arg), ir_binary(IR_MUL, j->joined, step));
	return ir_load(pool, flat_view(j->p, e->buf), &at);
}

/* Joins the last two axes of the stage in place. Returns false if they occur apart from each other. */
static bool join_last(struct ir_program *p, struct ir_stage *s)
{
	struct arena *scratch = arena_new();
	struct ir_buffer *out = NEW(p->arena, struct ir_buffer);
	int axis = s->out->rank - 2;
	struct joining j = { p, axis, s->out->dim[axis + 1], NULL, NEWN(scratch, bool, s->value->id + 1), true };
	check_node(&j, s->value);
	arena_free(scratch);
	if (!j.fine)
		return false;
	*out = *s->out;
	out->rank--;
	out->dim[axis] = ir_binary(IR_MUL, s->out->dim[axis], j.last);
	j.joined = ir_axis(p->pool, axis, out->dim[axis]);
	s->out = out;
	s->value = ir_copy(p->pool, s->value, join_leaf, &j);
	return true;
}

const struct ir_stage *map_joined(struct ir_program *p, const struct ir_stage *s)
{
	struct ir_stage *joined = NEW(p->arena, struct ir_stage);
	*joined = *s;
	while (s->kind == IR_MAP && !type_is_packed(s->out->type) && joined->out->rank > 1)
		if (!join_last(p, joined))
			break;
	return joined->out == s->out ? s : joined;
}
