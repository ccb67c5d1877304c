/* The points that one of several threads reduces, in steps whose loads are in flight together. See steps.h. */
#include "sched/reduce/steps.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

#include <math.h>

#include "ir/axis_names.h"

struct steps {
	struct ir_program *p;
	const char *name;
	int parts;
	expr points;
	struct steps_piece *out;
	int n;
};

/* Adds a piece of so many steps from point `from` on. If some may be beyond the end they load the last point, so that
 * all loads are in flight together: with a branch for each of them, one would wait for the other. */
static void add(struct steps *s, struct ir_block *b, expr from, int64_t steps, bool beyond)
{
	struct ir_pool *pool = s->p->pool;
	struct steps_piece *piece = &s->out[s->n];
	expr step;
	if (!steps)
		return;
	s->n++;
	*piece = (struct steps_piece){ .body = emit_unrolled(s->p, b, "step", (int)steps, &step) };
	expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, step, ir_index(pool, s->parts)), from);
	if (beyond) {
		piece->inside = ir_binary(IR_LT, at, s->points);
		at = ir_binary(IR_MIN, at, ir_binary(IR_SUB, s->points, ir_index(pool, 1)));
	}
	piece->point = emit_constant(s->p, piece->body, s->name, at, NULL);
}

static struct ir_block *turns(struct steps *s, struct ir_block *b, expr part, expr end, expr *first)
{
	expr turn = ir_index(s->p->pool, (int64_t)STEPS_AT_ONCE * s->parts);
	return emit_loop(s->p, b, "first", part, end, turn, s->points, first);
}

static void known_pieces(struct steps *s, struct ir_block *b, expr part, int64_t known)
{
	struct ir_pool *pool = s->p->pool;
	bool few = known <= (int64_t)STEPS_FEW * s->parts;
	int64_t turn = few ? s->parts : (int64_t)STEPS_AT_ONCE * s->parts, rest = known % turn;
	expr first;
	if (few) {
		add(s, b, part, known / turn, false);
	} else { /* as many turns for each part */
		struct ir_block *loop = turns(s, b, part, ir_index(pool, known - rest), &first);
		add(s, loop, first, STEPS_AT_ONCE, false);
	}
	add(s, b, ir_binary(IR_ADD, ir_index(pool, known - rest), part), (rest + s->parts - 1) / s->parts, true);
}

/* While there are more points than two turns take, a loop; then two turns at once, or one. */
static void open_pieces(struct steps *s, struct ir_block *b, expr part)
{
	struct ir_program *p = s->p;
	int64_t size = (int64_t)STEPS_AT_ONCE * s->parts;
	expr turn = ir_index(p->pool, size), first;
	expr end = ir_binary(IR_SUB, s->points, ir_index(p->pool, 2 * size));
	struct ir_block *loop = turns(s, b, part, end, &first);
	add(s, loop, first, STEPS_AT_ONCE, false);

	expr more = ir_binary(IR_SUB, ir_binary(IR_SUB, s->points, part), ir_index(p->pool, size + 1));
	expr done = ir_binary(IR_FLOORDIV, ir_binary(IR_MAX, more, ir_index(p->pool, 0)), turn);
	expr rest = emit_constant(p, b, "rest", ir_binary(IR_ADD, part, ir_binary(IR_MUL, done, turn)), NULL);
	expr second = ir_binary(IR_ADD, rest, turn), two = ir_binary(IR_LT, second, s->points);
	struct ir_block *both = emit_if(p, b, two);
	add(s, both, rest, STEPS_AT_ONCE, false);
	add(s, both, second, STEPS_AT_ONCE, true);
	struct ir_block *one = emit_if(
	        p, b, ir_binary(IR_AND, ir_binary(IR_LT, rest, s->points), ir_binary(IR_LE, s->points, second)));
	add(s, one, rest, STEPS_AT_ONCE, true);
}

int steps_pieces(struct steps_piece *out, struct ir_program *p, struct ir_block *b, const char *name, expr part,
                 int parts, expr points)
{
	struct steps s = { .p = p, .name = name, .parts = parts, .points = points, .out = out };
	int64_t known;
	if (ir_const_int(points, &known))
		known_pieces(&s, b, part, known);
	else
		open_pieces(&s, b, part);
	return s.n;
}

void steps_accumulate(struct accumulator *a, const struct steps_piece *in, expr value, expr position)
{
	struct ir_program *p = a->p;
	if (!in->inside) {
		accumulate(a, in->body, value, position);
	} else if (ir_combine_is_arg(a->s->combine)) {
		accumulate_inside(a, in->body, value, position, in->inside);
	} else {
		expr more = emit_variable(p, in->body, "more", a->value); /* the loads are not conditional */
		emit_assign(p, in->body, more, ir_combine_expr(a->s->combine, more, value));
		emit_assign(p, in->body, a->value, ir_select(in->inside, more, a->value));
	}
}

void steps_reduce(struct accumulator *a, const struct steps_piece *in, expr points, expr *axis, const bool *used)
{
	struct ir_program *p = a->p;
	const struct ir_stage *s = a->s;
	int rank = s->out->rank;
	expr point = ir_var_of(in->point->var, points);
	if (s->space_rank == 1)
		axis[rank] = point;
	else
		declare_axes(p, in->body, point, s->space_rank, s->space, ir_axis_names[1], used + rank, axis + rank);
	struct axes at = { .value = axis };
	steps_accumulate(a, in, to_kernel(p, s->value, &at), point);
}

double steps_rounds(expr points, double mine)
{
	int64_t known;
	if (ir_const_int(points, &known))
		return mine <= STEPS_FEW ? 1 : mine / STEPS_AT_ONCE;
	return mine <= 2 * STEPS_AT_ONCE ? 1 : ceil(mine / STEPS_AT_ONCE) - 1;
}
