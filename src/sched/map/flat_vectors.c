/* The loads of a map that are vectors, where a thread computes neighbouring elements across the ends of rows. See
 * flat_vectors.h. */
#include "sched/map/flat_vectors.h"

enum {
	/* Bits of an element: measured on an H200, wider ones take as long as single loads. */
	NARROW = 16,
	NEAR = 4096, /* elements */
	SHORTEST = 8 /* vectors of contiguous elements */
};

const struct flat_load *flat_find_load(const struct flat *f, expr e)
{
	vec_each (l, &f->found)
		if (l->load == e)
			return l;
	return NULL;
}

/* The vectors that are aligned like the thread's elements. */
static void find_vector(void *user, expr e)
{
	struct flat *f = user;
	int64_t apart;
	if (e->op != IR_LOAD || type_is_packed(e->type))
		return;
	expr difference = ir_binary(IR_SUB, ir_flat(f->p->pool, e->buf, e->arg), f->own);
	if (ir_const_int(difference, &apart) && apart % f->width == 0)
		vec_push(f->p->arena, &f->found, ((struct flat_load){ .load = e, .apart = difference, .sure = true }));
}

int flat_first_axis(const struct flat *f, expr e)
{
	bool used[IR_MAX_RANK] = { false };
	int first = 0;
	ir_mark_axes(e, used);
	for (int k = 0; k < f->s->out->rank; k++)
		first = used[k] ? k + 1 : first;
	return first;
}

expr flat_together(const struct flat *f, int first)
{
	expr n = ir_index(f->p->pool, 1);
	for (int k = first; k < f->s->out->rank; k++)
		n = ir_binary(IR_MUL, n, f->s->out->dim[k]);
	return n;
}

/* True if the elements need at least half of what they would read if all of them loaded. */
static bool mostly_needed(const struct flat *f, expr load)
{
	int64_t elements, results;
	return ir_const_int(ir_buffer_count(f->p, load->buf), &elements) &&
	       ir_const_int(ir_buffer_count(f->p, f->s->out), &results) && elements >= results / 2;
}

/* Vectors at any position. One that only some elements need is loaded for all: it has to be near the element, where
 * other threads read anyway, or most elements have to need it, as in padded rows. */
static void find_shifted(void *user, expr e)
{
	struct flat *f = user;
	int64_t apart, length;
	int bits = type_info(e->type)->bits;
	bool sure = f->sure[e->id];
	if (e->op != IR_LOAD || type_is_packed(e->type) || bits > NARROW || f->width * bits % 32 ||
	    !(sure || f->positional[e->id]) || flat_find_load(f, e))
		return;
	expr difference = ir_binary(IR_SUB, ir_flat(f->p->pool, e->buf, e->arg), f->own);
	bool near = ir_const_int(difference, &apart) && apart > -NEAR && apart < NEAR;
	int first = flat_first_axis(f, difference);
	if ((!sure && !near && !mostly_needed(f, e)) || ir_uses(difference, IR_LOAD) || first > f->inner ||
	    (ir_const_int(flat_together(f, first), &length) && length < SHORTEST * f->width))
		return;
	f->first = first > f->first ? first : f->first;
	vec_push(f->p->arena, &f->found,
	         ((struct flat_load){ .load = e, .apart = difference, .shifted = true, .sure = sure }));
}

/* Marks the nodes that no data decide about. */
static void mark_positional(struct flat *f, expr e)
{
	if (f->positional[e->id])
		return;
	f->positional[e->id] = true;
	bool lazy = e->op == IR_SELECT || e->op == IR_AND || e->op == IR_OR;
	for (int i = 0; i < e->n; i++)
		if (!lazy || i == 0 || !ir_uses(e->arg[0], IR_LOAD))
			mark_positional(f, e->arg[i]);
}

int flat_find_vectors(struct flat *f, bool shifted)
{
	expr value = f->s->value;
	int n = 0;
	ir_walk_unconditional(value, find_vector, f);
	if (shifted) {
		f->sure = NEWN(f->p->arena, bool, value->id + 1);
		f->positional = NEWN(f->p->arena, bool, value->id + 1);
		ir_mark_unconditional(value, f->sure);
		mark_positional(f, value);
		ir_walk(value, find_shifted, f);
	}
	for (int i = 0; i < f->found.n; i++) {
		struct flat_load *l = &f->found.at[i];
		l->array = ir_variable_new(f->p->pool, l->load->type, "%s_v%d", l->load->buf->name, i);
		n += l->shifted;
	}
	return n;
}
