/* Forms of erf with CUDA functions of their own, in tpat_types.h. See text.h. */
#include "gen/text.h"

#include <math.h>

/* The operand of a function to which e adds 1, or null. */
static expr plus_one(expr e, enum ir_op op)
{
	for (int i = 0; i < 2 && e->op == IR_ADD && e->type == TYPE_F32; i++)
		if (e->arg[i]->op == op && e->arg[1 - i]->op == IR_CONST_FLOAT && e->arg[1 - i]->f == 1)
			return e->arg[i]->arg[0];
	return NULL;
}

expr gen_erf_plus_one(const struct gen_text *g, expr e)
{
	return g->target->forms ? plus_one(e, IR_ERF) : NULL;
}

expr gen_one_plus(const struct gen_text *g, expr e, enum ir_function *f)
{
	expr erf_of = gen_erf_plus_one(g, e), tanh_of = g->coarse ? plus_one(e, IR_TANH) : NULL;
	*f = erf_of ? FN_ONE_PLUS_ERF : FN_ONE_PLUS_TANH;
	return erf_of ? erf_of : tanh_of;
}

static bool is_to_16(expr e)
{
	return e->op == IR_CAST && (e->type == TYPE_F16 || e->type == TYPE_BF16);
}

expr gen_erf_rounded(const struct gen_text *g, expr e)
{
	bool erf = e->n && e->arg[0]->op == IR_ERF && e->arg[0]->type == TYPE_F32;
	return g->target->forms && is_to_16(e) && erf ? e->arg[0]->arg[0] : NULL;
}

/* ---- A product of 0.5, x and 1 + erf(x / sqrt(2)), in any order. */

struct factors {
	int n;
	expr at[3];
};

static bool add_factors(const struct gen_text *g, expr e, struct factors *f)
{
	if (e->op == IR_MUL && (f->n == 0 || !gen_let(g, e)))
		return add_factors(g, e->arg[0], f) && add_factors(g, e->arg[1], f);
	if (f->n == 3)
		return false;
	f->at[f->n++] = e;
	return true;
}

static bool is_about(expr e, double x)
{
	return e->op == IR_CONST_FLOAT && fabs(e->f - x) < 1e-7 * x;
}

static bool is_over_sqrt_2(expr e, expr x)
{
	if (e->op == IR_DIV)
		return e->arg[0] == x && is_about(e->arg[1], sqrt(2));
	for (int i = 0; i < 2 && e->op == IR_MUL; i++)
		if (e->arg[i] == x && is_about(e->arg[1 - i], sqrt(0.5)))
			return true;
	return false;
}

expr gen_gelu(const struct gen_text *g, expr e)
{
	struct factors f = { 0 };
	expr x = NULL, erf_of = NULL;
	bool half = false;
	if (!g->target->forms || e->op != IR_MUL || e->type != TYPE_F32 || !add_factors(g, e, &f) || f.n != 3)
		return NULL;
	for (int i = 0; i < 3; i++) {
		expr of = gen_let(g, f.at[i]) ? NULL : gen_erf_plus_one(g, f.at[i]);
		if (f.at[i]->op == IR_CONST_FLOAT && f.at[i]->f == 0.5)
			half = true;
		else if (of)
			erf_of = of;
		else
			x = f.at[i];
	}
	return half && x && erf_of && is_over_sqrt_2(erf_of, x) ? x : NULL;
}

expr gen_gelu_rounded(const struct gen_text *g, expr e)
{
	return is_to_16(e) && !gen_let(g, e->arg[0]) ? gen_gelu(g, e->arg[0]) : NULL;
}
