/* The kernel of a loop by many blocks: reductions. See loop_grid_kernel.h. */
#include "ir/axis_names.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/vectors.h"
#include "sched/loop/loop_grid_kernel.h"

/* ---- Reductions: a warp makes some elements, of several rows at a time. */

static expr grid_output_of(const struct grid_emitter *m, const struct grid_item *item, expr j)
{
	expr all = number(m, item->copies * m->s->units), place = add(m->warp, mul(j, number(m, m->s->warps)));
	bool exact = grid_outputs(item, m->s) * m->s->warps == item->copies * m->s->units;
	return exact ? place : ir_binary(IR_MIN, place, add(all, number(m, -1)));
}

/* The point of the reduced space that a lane adds up in a step: its axes. */
static void declare_point(struct grid_emitter *m, struct ir_block *b, const struct ir_stage *s, expr point,
                          struct grid_spot *x)
{
	bool used[IR_MAX_RANK];
	for (int k = 0; k < s->space_rank; k++)
		used[k] = true;
	if (s->space_rank == 1)
		x->axis[s->out->rank] = point;
	else
		declare_axes(m->p, b, point, s->space_rank, s->space, ir_axis_names[1], used, x->axis + s->out->rank);
}

static bool whole_steps(const struct grid_emitter *m, const struct grid_item *item)
{
	int64_t n = 0;
	ir_const_int(reduced_count(m->p, item->entries.at[0].stage), &n);
	return n == (int64_t)grid_steps(m->g, item) * WARP;
}

/* Loads what holds in all turns. */
void grid_emit_constants(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item,
                         struct grid_item_held *h)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->entries.at[0].stage;
	expr what[MOST_HELD], j, step, points = reduced_count(p, s);
	int outputs = grid_outputs(item, m->s), steps = grid_steps(m->g, item);
	h->constants = m->s->holds ? grid_constants(m->g, item, m->s, what, MOST_HELD) : 0;
	for (int i = 0; i < h->constants; i++) {
		struct ir_variable *array = ir_variable_new(p->pool, what[i]->type, "%s_held", s->out->name);
		emit_array_of_rows(p, b, array, outputs, steps);
		h->constant[i] = (struct grid_held){ .what = what[i], .array = array };
	}
	if (!h->constants)
		return;
	b = emit_turns(m->p, b, "output", outputs, &j);
	struct grid_spot x = grid_spot_of(
	        m, b, s->out, number(m, 0),
	        emit_constant(p, b, "in_block", grid_output_of(m, item, j), number(m, item->copies * m->s->units)));
	b = emit_turns(m->p, b, "step", steps, &step);
	expr point = add(m->lane, mul(step, number(m, WARP)));
	if (!whole_steps(m, item))
		point = ir_binary(IR_MIN, point, add(points, number(m, -1)));
	declare_point(m, b, s, emit_constant(p, b, "point", point, points), &x);
	struct grid_view v = { .m = m, .item = item, .spot = &x };
	for (int i = 0; i < h->constants; i++)
		emit_set_in_row(p, b, h->constant[i].array, j, step, grid_see(&v, what[i]));
}

/* The element that a lane finishes in a chunk of rows. */
struct grid_spot grid_finished(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item, expr chunk,
                               expr lane)
{
	const struct ir_buffer *out = item->entries.at[0].stage->out;
	int outputs = grid_outputs(item, m->s), rows = grid_rows_at_once(item, m->s);
	expr each = number(m, outputs);
	expr row = rows > 1 ? quotient(lane, each) : number(m, 0);
	expr j = outputs > 1 ? rest(lane, each) : number(m, 0);
	row = grid_row_in_range(m, add(mul(chunk, number(m, rows)), row));
	expr place =
	        emit_constant(m->p, b, "in_block", grid_output_of(m, item, j), number(m, item->copies * m->s->units));
	return grid_spot_of(m, b, out, emit_declare(m->p, b, "own_row", row, number(m, m->s->rows)), place);
}

static void emit_sums(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item,
                      const struct grid_item_held *h, const struct ir_variable *sums, expr chunk)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->entries.at[0].stage;
	int outputs = grid_outputs(item, m->s), rows = grid_rows_at_once(item, m->s), steps = grid_steps(m->g, item);
	expr step, c, j, points = reduced_count(p, s);
	if (h->constants || steps <= STEPS_UNROLLED) {
		b = emit_turns(m->p, b, "step", steps, &step);
	} else {
		struct ir_block *around = b;
		b = emit_loop(p, b, "step", number(m, 0), number(m, steps), number(m, 1), number(m, steps), &step);
		around->at[around->n - 1].loop.unrolled = STEPS_UNROLLED;
	}
	expr point = emit_constant(p, b, "point", add(m->lane, mul(step, number(m, WARP))), NULL);
	if (!whole_steps(m, item))
		b = emit_if(p, b, ir_binary(IR_LT, point, points));
	point = ir_var_of(point->var, points);
	b = emit_turns(m->p, b, "part", rows, &c);
	expr row = emit_declare(p, b, "own_row", grid_row_in_range(m, add(mul(chunk, number(m, rows)), c)),
	                        number(m, m->s->rows));
	b = emit_turns(m->p, b, "output", outputs, &j);
	expr in_block =
	        emit_constant(p, b, "in_block", grid_output_of(m, item, j), number(m, item->copies * m->s->units));
	struct grid_spot x = grid_spot_of(m, b, s->out, row, in_block);
	declare_point(m, b, s, point, &x);
	struct grid_view v = { .m = m, .item = item, .spot = &x };
	expr value = grid_see_held(&v, s->value, h->constant, h->constants, 2, (const expr[]){ j, step });
	expr at = add(mul(c, number(m, outputs)), j);
	emit_set(p, b, sums, at, ir_combine_expr(s->combine, item_of(sums, at), value));
}

void grid_emit_reduction(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item,
                         const struct grid_item_held *h)
{
	struct ir_program *p = m->p;
	const struct grid_entry *e = &item->entries.at[0];
	const struct ir_stage *s = e->stage;
	int outputs = grid_outputs(item, m->s), rows = grid_rows_at_once(item, m->s), slots = rows * outputs;
	expr chunk, i;
	b = emit_turns(m->p, b, "chunk", m->s->rows / rows, &chunk);
	struct ir_variable *sums = ir_variable_new(p->pool, s->value->type, "%s_sums", s->out->name);
	emit_array(p, b, sums, slots);
	struct ir_block *each = emit_turns(m->p, b, "i", slots, &i);
	emit_set(p, each, sums, i, ir_identity(p->pool, s->combine, s->value->type));
	emit_sums(m, b, item, h, sums, chunk);
	struct ir_lanes *lanes = emit_lanes_combine(p, b, sums, s->combine, WARP);
	lanes->items = slots;
	lanes->apart = true;
	if (slots < WARP)
		b = emit_if(p, b, ir_binary(IR_LT, m->lane, number(m, slots)));
	struct grid_spot x = grid_finished(m, b, item, chunk, emit_constant(p, b, "slot", m->lane, number(m, slots)));
	if (outputs * m->s->warps != item->copies * m->s->units) {
		expr j = outputs > 1 ? rest(m->lane, number(m, outputs)) : number(m, 0);
		expr place = add(m->warp, mul(j, number(m, m->s->warps)));
		b = emit_if(p, b, ir_binary(IR_LT, place, number(m, item->copies * m->s->units)));
	}
	if (!m->whole_rows) {
		expr row = rows > 1 ? quotient(m->lane, number(m, outputs)) : number(m, 0);
		b = grid_if_row(m, b, add(mul(chunk, number(m, rows)), row));
	}
	struct grid_view v = { .m = m, .item = item, .spot = &x, .acc = item_of(sums, number(m, 0)) };
	expr value =
	        s->post ? grid_see_held(&v, s->post, h->early, h->earlies, 1, &chunk) : ir_cast(v.acc, s->out->type);
	value = emit_define(p, b, grid_register(m, item, 0), value, NULL);
	grid_use_value(&v, b, e, value);
	grid_store_states(&v, b, e);
}
