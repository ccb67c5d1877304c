/* f16 arithmetic that is written in f32: see gen_half in text.h. */
#include "gen/text.h"

/* An f16 that f32 holds at this place; null: none, or one that has a name as f32. */
static expr held_f16(const struct gen_text *g, expr e)
{
	bool named = g->let && e->id < g->let_n && g->let[e->id];
	bool held = e->op == IR_CAST && e->type == TYPE_F32 && e->arg[0]->type == TYPE_F16;
	return held && (!named || e->arg[0]->op == IR_VAR) ? e->arg[0] : NULL;
}

const char *gen_half(const struct gen_text *g, expr e, expr operand[2])
{
	expr of = e->arg[0];
	if (g->target->c || e->op != IR_CAST || e->type != TYPE_F16 || of->type != TYPE_F32 || of->n != 2 ||
	    (g->let && of->id < g->let_n && g->let[of->id]))
		return NULL;
	for (int i = 0; i < 2; i++)
		if (!(operand[i] = held_f16(g, of->arg[i])))
			return NULL;
	return of->op == IR_ADD ? "half_add" : of->op == IR_SUB ? "half_sub" : of->op == IR_MUL ? "half_mul" : NULL;
}
