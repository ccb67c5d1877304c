/* f32 expressions with a narrow GPU instruction: f16 arithmetic, rounding to narrow integers. See text.h. */
#include "gen/text.h"

#include <math.h>

/* The f16 operand of a cast to f32; null: none, or it has a name as f32. */
static expr held_f16(const struct gen_text *g, expr e)
{
	if (e->op == IR_CONST_FLOAT)
		return type_round(TYPE_F16, e->f, false) == e->f ? ir_float(e->pool, TYPE_F16, e->f) : NULL;
	bool held = e->op == IR_CAST && e->type == TYPE_F32 && e->arg[0]->type == TYPE_F16;
	return held && (!gen_let(g, e) || e->arg[0]->op == IR_VAR) ? e->arg[0] : NULL;
}

/* The 16-bit float whose negative a cast is; else null. */
static expr negated(const struct gen_text *g, expr e)
{
	expr of = e->arg[0], from = of->op == IR_NEG && of->type == TYPE_F32 ? of->arg[0] : NULL;
	bool narrow = e->type == TYPE_F16 || e->type == TYPE_BF16;
	if (!narrow || !from || from->op != IR_CAST || from->arg[0]->type != e->type || gen_let(g, of))
		return NULL;
	return !gen_let(g, from) || from->arg[0]->op == IR_VAR ? from->arg[0] : NULL;
}

bool gen_half(const struct gen_text *g, expr e, enum ir_function *function, expr operand[2])
{
	expr of = e->arg[0];
	if (g->target->forms && e->op == IR_CAST && (operand[0] = negated(g, e))) {
		*function = FN_HALF_NEG;
		return true;
	}
	if (!g->target->forms || e->op != IR_CAST || e->type != TYPE_F16 || of->type != TYPE_F32 || of->n != 2 ||
	    gen_let(g, of))
		return false;
	for (int i = 0; i < 2; i++)
		if (!(operand[i] = held_f16(g, of->arg[i])))
			return false;
	*function = of->op == IR_ADD ? FN_HALF_ADD : of->op == IR_SUB ? FN_HALF_SUB : FN_HALF_MUL;
	return of->op == IR_ADD || of->op == IR_SUB || of->op == IR_MUL;
}

static bool is_constant(expr e, double value)
{
	return e->op == IR_CONST_FLOAT && e->f == value;
}

/* Strips a clamp to the type's own range: conversions saturate anyway. */
static expr without_range(const struct gen_text *g, expr e, enum type t)
{
	double end[2] = { (double)type_min(t), (double)type_max(t) };
	for (int i = 1; i >= 0; i--) {
		bool holds = e->op == (i ? IR_MIN : IR_MAX) && is_constant(e->arg[1], end[i]) && !gen_let(g, e);
		if (!holds)
			return NULL;
		e = e->arg[0];
	}
	return e;
}

static bool is_integer(expr e)
{
	switch (e->op) {
	case IR_ROUND_EVEN: return true;
	case IR_CONST_FLOAT: return e->f == rint(e->f);
	case IR_CAST: return type_is_int(e->arg[0]->type);
	case IR_ADD:
	case IR_SUB:
	case IR_MIN:
	case IR_MAX: return is_integer(e->arg[0]) && is_integer(e->arg[1]);
	default: return false;
	}
}

expr gen_rounded(const struct gen_text *g, expr e)
{
	bool narrow = e->type == TYPE_I8 || e->type == TYPE_U8 || e->type == TYPE_I16 || e->type == TYPE_U16;
	if (!g->target->forms || e->op != IR_CAST || !narrow || e->arg[0]->type != TYPE_F32 || gen_let(g, e->arg[0]))
		return NULL;
	expr of = without_range(g, e->arg[0], e->type);
	of = of ? of : e->arg[0];
	if (!is_integer(of))
		return NULL;
	if (of->op == IR_ADD && is_constant(of->arg[1], 0) && !gen_let(g, of))
		of = of->arg[0];
	return of->op == IR_ROUND_EVEN && !gen_let(g, of) ? of->arg[0] : of;
}
