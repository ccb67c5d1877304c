/* The points that one of several threads reduces, in steps whose loads are in flight together. See steps.h. */
#include "sched/reduce/steps.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"

struct steps_piece steps_whole(struct ir_program *p, struct ir_block *b, const char *name, expr part, int parts,
                               expr points)
{
	int64_t known = 0;
	bool constant = ir_const_int(points, &known), few = constant && known <= STEPS_FEW * parts;
	int64_t turn = (int64_t)STEPS_AT_ONCE * parts;
	int steps = few ? (int)(known / parts) : STEPS_AT_ONCE;
	expr at = part, step, end = ir_binary(IR_SUB, points, ir_index(p->pool, turn - parts));
	if (constant) /* as many turns for each part: steps_other() begins after these */
		end = ir_index(p->pool, known - known % turn);
	struct steps_piece piece = { .body = NULL };
	if (!steps)
		return piece;
	if (!few)
		b = emit_loop(p, b, "first", part, end, ir_index(p->pool, (int64_t)STEPS_AT_ONCE * parts), points, &at);
	piece.body = emit_unrolled(p, b, "step", steps, &step);
	at = ir_binary(IR_ADD, ir_binary(IR_MUL, step, ir_index(p->pool, parts)), at);
	piece.point = emit_constant(p, piece.body, name, at, NULL);
	return piece;
}

struct steps_piece steps_other(struct ir_program *p, struct ir_block *b, const char *name, expr part, int parts,
                               expr points)
{
	int64_t known;
	bool constant = ir_const_int(points, &known), few = constant && known <= STEPS_FEW * parts;
	int64_t turn = few ? parts : (int64_t)STEPS_AT_ONCE * parts;
	int64_t steps = constant ? (known % turn + parts - 1) / parts : STEPS_AT_ONCE - 1;
	struct steps_piece piece = { .body = NULL };
	if (!steps)
		return piece;
	expr last = ir_binary(IR_SUB, points, ir_index(p->pool, 1)), step, from;
	if (constant) {
		from = ir_binary(IR_ADD, ir_index(p->pool, known - known % turn), part);
	} else {
		expr more = ir_binary(IR_ADD, ir_binary(IR_SUB, points, part), ir_index(p->pool, parts - 1));
		expr turns = ir_binary(IR_FLOORDIV, more, ir_index(p->pool, turn));
		from = ir_binary(IR_ADD, part, ir_binary(IR_MUL, turns, ir_index(p->pool, turn)));
		from = emit_constant(p, b, "rest", from, NULL);
		b = emit_if(p, b, ir_binary(IR_LT, from, points));
	}
	piece.body = emit_unrolled(p, b, "step", (int)steps, &step);
	expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, step, ir_index(p->pool, parts)), from);
	piece.inside = ir_binary(IR_LT, at, points);
	piece.point = emit_constant(p, piece.body, name, ir_binary(IR_MIN, at, last), NULL);
	return piece;
}

void steps_accumulate(struct accumulator *a, const struct steps_piece *in, expr value)
{
	struct ir_program *p = a->p;
	if (!in->inside) {
		accumulate(a, in->body, value, in->point);
		return;
	}
	expr more = emit_variable(p, in->body, "more", a->value); /* the loads are not conditional */
	emit_assign(p, in->body, more, ir_combine_expr(a->s->combine, more, value));
	emit_assign(p, in->body, a->value, ir_select(in->inside, more, a->value));
}
