/* Building scatter kernels: an update's position, and the update itself. See scatter.h. */
#include "sched/scatter/scatter.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/vectors.h"

#include "ir/axis_names.h"

const char scatter_in_place[] = "the result has the memory of an input";

int scatter_common_axes(const struct ir_stage *s)
{
	int n = 0;
	while (n < s->out->rank - 1 && n < s->space_rank && s->at[n]->op == IR_AXIS && s->at[n]->i == n &&
	       s->out->dim[n] == s->space[n])
		n++;
	return n;
}

void scatter_axes_read(const struct ir_stage *s, bool *used)
{
	ir_mark_axes(s->value, used);
	if (s->where)
		ir_mark_axes(s->where, used);
	for (int k = 0; k < s->out->rank; k++)
		ir_mark_axes(s->at[k], used);
}

expr scatter_place(struct ir_program *p, const struct ir_stage *s, int lead, const expr *axis)
{
	struct axes here = { .value = axis };
	expr at = ir_index(p->pool, 0);
	for (int k = lead; k < s->out->rank; k++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, s->out->dim[k]), s->at[k]);
	return to_kernel(p, at, &here);
}

struct sources {
	struct arena *arena;
	struct {
		VEC(const struct ir_buffer *);
	} buffers;
};

static void find_source(void *user, expr e)
{
	struct sources *f = user;
	if (e->op != IR_LOAD)
		return;
	vec_each (b, &f->buffers)
		if (*b == e->buf)
			return;
	vec_push(f->arena, &f->buffers, e->buf);
}

double scatter_bytes_read(struct ir_program *p, const struct ir_stage *s, const struct sched_target *t)
{
	struct sources f = { .arena = p->arena };
	double bytes = 0, updates = (double)about(space_count(p, s), t);
	ir_walk(s->value, find_source, &f);
	if (s->where)
		ir_walk(s->where, find_source, &f);
	for (int k = 0; k < s->out->rank; k++)
		ir_walk(s->at[k], find_source, &f);
	vec_each (b, &f.buffers) {
		double count = (double)about(ir_buffer_count(p, *b), t);
		bytes += (count < updates ? count : updates) * type_info((*b)->type)->bits / 8.0;
	}
	return bytes;
}

void emit_update(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, const struct ir_buffer *to,
                 expr at, expr value)
{
	if (s->combine == IR_NONE)
		emit_store_flat(p, b, to, at, value);
	else
		emit(p, b, IR_UPDATE)->update = (struct ir_update){ to, at, value, s->combine, false };
}

/* GPUs add pairs of 16-bit floats in memory, single ones much slower. The last element of an odd number has no pair. */
void emit_update_of_result(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr at, expr value)
{
	const struct ir_buffer *to = flat_view(p, s->out);
	bool narrow = to->type == TYPE_F16 || to->type == TYPE_BF16;
	if (s->combine != IR_SUM || !narrow || ir_multiple(to->dim[0]) % 2 == 0) {
		emit_update(p, b, s, to, at, value);
		return;
	}
	at = emit_declare(p, b, "place", at, to->dim[0]);
	value = emit_declare(p, b, "update", value, NULL);
	expr last = ir_binary(IR_SUB, to->dim[0], ir_index(p->pool, 1)), paired = ir_binary(IR_LT, at, last);
	struct ir_block *with = emit_if(p, b, paired);
	emit_update(p, with, s, to, at, value);
	with->at[with->n - 1].update.paired = true;
	emit_update(p, emit_if(p, b, ir_unary(IR_NOT, paired)), s, to, at, value);
}

void emit_serial_updates(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, int lead, expr *axis)
{
	struct axes here = { .value = axis };
	for (int i = lead; i < s->space_rank; i++) {
		axis[i] = ir_index(p->pool, 0);
		if (ir_is_int(s->space[i], 1))
			continue;
		b = emit_loop(p, b, ir_axis_names[1][i], axis[i], s->space[i], ir_index(p->pool, 1), s->space[i],
		              &axis[i]);
	}
	if (s->where)
		b = emit_if(p, b, to_kernel(p, s->where, &here));
	emit_update(p, b, s, flat_view(p, s->out), scatter_place(p, s, 0, axis), to_kernel(p, s->value, &here));
}

static void find_vector(void *user, expr e)
{
	struct scatter_vectors *x = user;
	if (e->op == IR_LOAD && vector_along(x->p, e, x->axis, x->extent, x->width))
		vec_push(x->p->arena, &x->load, e);
}

void scatter_vectors_find(struct scatter_vectors *x, expr value)
{
	ir_walk_unconditional(value, find_vector, x);
}

struct ir_variable *scatter_vector(const struct scatter_vectors *x, int i)
{
	return ir_variable_of(x->p->pool, x->load.at[i]->type, x->load.at[i]->buf, IR_HOLDS_VECTOR, x->number + i,
	                      "%s_v%d", x->load.at[i]->buf->name, x->number + i);
}

expr scatter_vectors_item(void *user, expr e, expr flat)
{
	const struct scatter_vectors *x = user;
	(void)flat;
	for (int i = 0; i < x->load.n; i++)
		if (x->load.at[i] == e)
			return item_of(scatter_vector(x, i), x->v);
	return NULL;
}
