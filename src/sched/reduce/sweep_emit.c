/* The kernel of rule sweep. See sweep.h. */
#include "ir/axis_names.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"
#include "sched/reduce/sweep.h"

enum { THREADS = 256 };

struct emitter {
	struct ir_program *p;
	const struct sweep *f;
	int rows, width, shared;                    /* shared: threads for an element */
	expr first[IR_MAX_RANK], deep[IR_MAX_RANK]; /* axes of the thread's first element; the channel's */
	const struct ir_variable *window[SWEEP_MOST_PARTS], *taps[SWEEP_MOST_PARTS], *parts;
};

static expr number(const struct emitter *m, int64_t x)
{
	return ir_index(m->p->pool, x);
}

/* The axes at a point: of the element `row`, `item` of the thread, and of the window. */
static void axes_at(const struct emitter *m, expr row, expr item, expr down, expr across, expr *axis)
{
	const struct sweep *f = m->f;
	for (int k = 0; k < f->s->out->rank; k++)
		axis[k] = m->first[k];
	axis[f->axis[ACROSS]] = ir_binary(IR_ADD, axis[f->axis[ACROSS]], item);
	if (f->axis[DOWN] >= 0)
		axis[f->axis[DOWN]] = ir_binary(IR_ADD, axis[f->axis[DOWN]], row);
	for (int k = 0; k < f->s->space_rank; k++)
		axis[f->s->out->rank + k] = number(m, 0);
	for (int i = 0; i < f->deeps; i++)
		axis[f->deep[i]] = m->deep[i] ? m->deep[i] : number(m, 0);
	if (f->reduced[DOWN] >= 0)
		axis[f->reduced[DOWN]] = down;
	axis[f->reduced[ACROSS]] = across;
}

static expr flat_part(const struct emitter *m, expr row, expr item)
{
	return ir_binary(IR_ADD, ir_binary(IR_MUL, row, number(m, m->width)), item);
}

/* The part of an element: what the thread has combined of it. */
static expr part_of(const struct emitter *m, expr row, expr item)
{
	return m->shared > 1 ? item_of(m->parts, flat_part(m, row, item)) : item_of_row(m->parts, row, item);
}

static void set_part(const struct emitter *m, struct ir_block *b, expr row, expr item, expr value)
{
	if (m->shared > 1)
		emit_set(m->p, b, m->parts, flat_part(m, row, item), value);
	else
		emit_set_in_row(m->p, b, m->parts, row, item, value);
}

/* Declares the parts, set to the neutral element. */
static void emit_parts(struct emitter *m, struct ir_block *b)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = m->f->s;
	struct ir_variable *parts = ir_variable_new(p->pool, s->value->type, "parts");
	expr none = ir_identity(p->pool, s->combine, s->value->type), row, item;
	if (m->shared > 1)
		emit_array(p, b, parts, m->rows * m->width);
	else
		emit_array_of_rows(p, b, parts, m->rows, m->width);
	m->parts = parts;
	b = emit_turns(p, b, "row", m->rows, &row);
	b = emit_turns(p, b, "item", m->width, &item);
	set_part(m, b, row, item, none);
}

static const char *name_of(const struct emitter *m, expr part, const char *what)
{
	while (part->op != IR_LOAD) {
		int i = 0;
		while (!ir_uses(part->arg[i], IR_LOAD))
			i++;
		part = part->arg[i];
	}
	return arena_printf(m->p->arena, "%s_%s", part->buf->name, what);
}

/* Reads the weights. */
static void emit_taps(struct emitter *m, struct ir_block *b)
{
	const struct sweep *f = m->f;
	expr axis[2 * IR_MAX_RANK], down, across, none = number(m, 0);
	struct axes here = { .value = axis };
	for (int i = 0; i < f->stills; i++) {
		struct ir_variable *v =
		        ir_variable_new(m->p->pool, f->still[i]->type, "%s", name_of(m, f->still[i], "taps"));
		emit_array_of_rows(m->p, b, v, (int)f->taps[DOWN], (int)f->taps[ACROSS]);
		m->taps[i] = v;
	}
	if (!f->stills)
		return;
	b = emit_turns(m->p, b, "down", f->taps[DOWN], &down);
	b = emit_turns(m->p, b, "across", f->taps[ACROSS], &across);
	axes_at(m, none, none, down, across, axis);
	for (int i = 0; i < f->stills; i++)
		emit_set_in_row(m->p, b, m->taps[i], down, across, to_kernel(m->p, f->still[i], &here));
}

/* Reads what the thread's windows share of a line. */
static void emit_window(struct emitter *m, struct ir_block *b, expr line)
{
	const struct sweep *f = m->f;
	int places = (int)sweep_covered(f, ACROSS, m->width);
	expr axis[2 * IR_MAX_RANK], place, none = number(m, 0);
	struct axes here = { .value = axis };
	for (int i = 0; i < f->movings; i++) {
		struct ir_variable *v =
		        ir_variable_new(m->p->pool, f->moving[i]->type, "%s", name_of(m, f->moving[i], "line"));
		emit_array(m->p, b, v, places);
		m->window[i] = v;
	}
	b = emit_turns(m->p, b, "place", places, &place);
	axes_at(m, none, none, line, place, axis);
	for (int i = 0; i < f->movings; i++)
		emit_set(m->p, b, m->window[i], place, to_kernel(m->p, f->moving[i], &here));
}

/* Adds the line to the windows of one row, of which it is line `down`. */
static void emit_row(struct emitter *m, struct ir_block *b, expr row, expr down)
{
	const struct sweep *f = m->f;
	expr axis[2 * IR_MAX_RANK], across, item, what[2 * SWEEP_MOST_PARTS], with[2 * SWEEP_MOST_PARTS];
	struct axes here = { .value = axis };
	b = emit_turns(m->p, b, "across", f->taps[ACROSS], &across);
	b = emit_turns(m->p, b, "item", m->width, &item);
	axes_at(m, row, item, down, across, axis);
	for (int i = 0; i < f->movings; i++) {
		expr place = ir_binary(IR_ADD, ir_binary(IR_MUL, item, number(m, f->step[ACROSS])), across);
		what[i] = f->moving[i];
		with[i] = item_of(m->window[i], place);
	}
	for (int i = 0; i < f->stills; i++) {
		what[f->movings + i] = f->still[i];
		with[f->movings + i] = item_of_row(m->taps[i], down, across);
	}
	struct substitution held = { what, with, f->movings + f->stills };
	expr value = to_kernel(m->p, substitute(&held, f->s->value), &here), part = part_of(m, row, item);
	set_part(m, b, row, item, ir_combine_expr(f->s->combine, part, value));
}

static void emit_lines(struct emitter *m, struct ir_block *b)
{
	const struct sweep *f = m->f;
	expr line, row, step = number(m, f->axis[DOWN] < 0 ? 0 : f->step[DOWN]), taps = number(m, f->taps[DOWN]);
	b = emit_turns(m->p, b, "line", sweep_covered(f, DOWN, m->rows), &line);
	emit_window(m, b, line);
	b = emit_turns(m->p, b, "row", m->rows, &row);
	if (m->rows == 1) {
		emit_row(m, b, row, line);
		return;
	}
	expr begin = ir_binary(IR_MUL, row, step), end = ir_binary(IR_ADD, begin, taps);
	b = emit_if(m->p, b, ir_binary(IR_AND, ir_binary(IR_LE, begin, line), ir_binary(IR_LT, line, end)));
	emit_row(m, b, row, emit_constant(m->p, b, "down", ir_binary(IR_SUB, line, begin), taps));
}

static void emit_results(struct emitter *m, struct ir_block *b, bool vectors)
{
	const struct ir_stage *s = m->f->s;
	struct ir_program *p = m->p;
	struct ir_variable *result = ir_variable_new(p->pool, s->out->type, "%s_v", s->out->name);
	expr axis[2 * IR_MAX_RANK], row, item, none = number(m, 0);
	b = emit_turns(m->p, b, "row", m->rows, &row);
	if (vectors)
		emit_array(p, b, result, m->width);
	struct ir_block *in = emit_turns(m->p, b, "item", m->width, &item);
	axes_at(m, row, item, none, none, axis);
	expr part = part_of(m, row, item);
	struct axes post = { .value = axis, .acc = part };
	expr y = s->post ? to_kernel(p, s->post, &post) : ir_cast(part, s->out->type);
	if (!vectors) {
		emit_store(p, in, s->out, ir_flat(p->pool, s->out, axis), y);
		return;
	}
	emit_set(p, in, result, item, y);
	axes_at(m, row, none, none, none, axis);
	emit_store_vector(p, b, s->out, ir_flat(p->pool, s->out, axis), result, m->width);
}

/* Adds up all channels, or each `shared`-th from `part` on. */
static void emit_channels(struct emitter *m, struct ir_block *b, expr part)
{
	const struct sweep *f = m->f;
	const struct ir_stage *s = f->s;
	expr channel, extent[IR_MAX_RANK], all = number(m, f->channels);
	const char *names[IR_MAX_RANK];
	bool used[IR_MAX_RANK];
	for (int i = 0; i < f->deeps; i++) {
		extent[i] = s->space[f->deep[i] - s->out->rank];
		names[i] = ir_axis_names[1][f->deep[i] - s->out->rank];
		used[i] = true;
	}
	if (f->deeps) {
		b = emit_loop(m->p, b, "channel", part ? part : number(m, 0), all, number(m, part ? m->shared : 1), all,
		              &channel);
		declare_axes(m->p, b, channel, f->deeps, extent, names, used, m->deep);
	}
	emit_taps(m, b);
	emit_lines(m, b);
}

/* The first position of the n-th thread along an axis, as first_within(), in a block of the kernel. */
static expr first_of(struct ir_program *p, struct ir_block *b, expr extent, int several, expr n, const char *name)
{
	expr many = ir_index(p->pool, several), first = ir_binary(IR_MUL, n, many);
	expr last = ir_binary(IR_SUB, extent, many);
	if (several == 1 || divides(extent, several))
		return first;
	return emit_constant(p, b, name, ir_binary(IR_MIN, first, last), ir_binary(IR_ADD, last, ir_index(p->pool, 1)));
}

/* A thread's elements. part: of `shared`; null: the only one. inside: the thread has elements; null: always. */
static void emit_thread(struct emitter *m, struct ir_block *b, expr element, const expr *dim, expr part, expr inside,
                        bool vectors)
{
	const struct sweep *f = m->f;
	const struct ir_stage *s = f->s;
	struct ir_program *p = m->p;
	int down = f->axis[DOWN], across = f->axis[ACROSS];
	bool used[IR_MAX_RANK];
	for (int i = 0; i < s->out->rank; i++)
		used[i] = true;
	declare_axes(p, b, element, s->out->rank, dim, ir_axis_names[0], used, m->first);
	m->first[across] = vectors ? ir_binary(IR_MUL, m->first[across], number(m, m->width))
	                           : first_of(p, b, s->out->dim[across], m->width, m->first[across], "column");
	if (down >= 0)
		m->first[down] = first_of(p, b, s->out->dim[down], m->rows, m->first[down], "first_row");
	emit_parts(m, b);
	emit_channels(m, b, part);
	if (part) {
		struct ir_lanes *all = emit_lanes_combine(p, b, m->parts, s->combine, m->shared);
		all->columns = THREADS / m->shared;
		all->items = m->rows * m->width;
		expr first = ir_binary(IR_EQ, part, number(m, 0));
		b = emit_if(p, b, inside ? ir_binary(IR_AND, first, inside) : first);
	}
	emit_results(m, b, vectors && m->width > 1);
}

/* The threads of a block with `shared` threads for an element, and one after the other for each element on a processor.
 */
static void emit_together(struct emitter *m, struct ir_kernel *k, expr count, const expr *dim, bool vectors)
{
	struct ir_program *p = m->p;
	int columns = THREADS / m->shared;
	expr own, each = number(m, columns), last = ir_binary(IR_SUB, count, number(m, 1));
	k->threads = THREADS;
	k->blocks = ceil_div(p, count, columns);
	expr thread = ir_thread(p->pool, number(m, THREADS)), block = ir_block(p->pool, k->blocks);
	expr part = emit_constant(p, &k->body, "part", ir_binary(IR_FLOORDIV, thread, each), number(m, m->shared));
	expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, block, each), ir_binary(IR_MOD, thread, each));
	at = emit_constant(p, &k->body, "at", at, NULL);
	expr element = emit_constant(p, &k->body, "element", ir_binary(IR_MIN, at, last), count);
	emit_thread(m, &k->body, element, dim, part, ir_binary(IR_LT, at, count), vectors);
	struct ir_block *b = emit_loop(p, &k->serial, "column", number(m, 0), each, number(m, 1), each, &own);
	at = emit_constant(p, b, "at", ir_binary(IR_ADD, ir_binary(IR_MUL, block, each), own), NULL);
	b = emit_if(p, b, ir_binary(IR_LT, at, count));
	emit_thread(m, b, ir_var_of(at->var, count), dim, NULL, NULL, vectors);
}

void sweep_kernel(struct ir_plan *plan, struct ir_step *step, const struct sweep *f, const struct sched_choice *c,
                  const char *suffix, bool vectors)
{
	const struct ir_stage *s = f->s;
	struct ir_program *p = plan->program;
	struct emitter m = { .p = p, .f = f, .rows = c->param[0], .width = c->param[1], .shared = c->param[2] };
	struct ir_kernel *k = kernel_new(plan, s, suffix, c);
	expr dim[IR_MAX_RANK], count = ir_index(p->pool, 1);
	for (int i = 0; i < s->out->rank; i++) {
		int several = i == f->axis[ACROSS] ? m.width : i == f->axis[DOWN] ? m.rows : 1;
		bool whole = vectors && i == f->axis[ACROSS];
		dim[i] = whole ? ir_binary(IR_FLOORDIV, s->out->dim[i], ir_index(p->pool, several))
		               : ceil_div(p, s->out->dim[i], several);
		count = ir_binary(IR_MUL, count, dim[i]);
		if (several > 1 && !whole && !divides(s->out->dim[i], several))
			kernel_needs(k, ir_binary(IR_LE, ir_index(p->pool, several), s->out->dim[i]));
	}
	if (vectors)
		kernel_needs(k, whole_multiple(p, s->out->dim[f->axis[ACROSS]], m.width));
	if (m.shared > 1)
		emit_together(&m, k, count, dim, vectors);
	else
		emit_thread(&m, &k->body, declare_element(p, k, count, THREADS, 1), dim, NULL, NULL, vectors);
	kernel_finish(plan, step, k, s);
}
