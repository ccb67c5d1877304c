/* Declares variables for common subexpressions: see gen_lets in text.h. */
#include "gen/text.h"

struct share {
	int *uses;
	bool *sure; /* evaluated whenever the whole is: may be hoisted */
	bool *safe; /* may be computed anywhere: no memory reads, no division by a possible zero */
	struct {
		VEC(expr);
	} order;
	struct arena *scratch;
};

/* Operands first. Skips a variable's operand, its extent, which is not printed. */
static void count_uses(struct share *s, expr e)
{
	if (s->uses[e->id]++)
		return;
	bool divides = e->op == IR_DIV || e->op == IR_REM || e->op == IR_FLOORDIV || e->op == IR_MOD;
	bool safe = e->op != IR_LOAD && !(divides && gen_plain_division(e) && e->arg[1]->op != IR_CONST_INT);
	for (int i = 0; i < e->n && e->op != IR_VAR; i++) {
		count_uses(s, e->arg[i]);
		safe &= s->safe[e->arg[i]->id];
	}
	s->safe[e->id] = safe;
	vec_push(s->scratch, &s->order, e);
}

/* Hoists conditional subexpressions if they are index arithmetic, or long: text must not grow with every use. */
static bool in_front(const struct share *s, expr e)
{
	enum { LONG = 40 };
	return s->sure[e->id] || (s->safe[e->id] && (e->type == TYPE_INDEX || e->size > LONG));
}

/* True if a name makes the text shorter: loads and real work, but index arithmetic only if it divides or has several
 * operations. */
static bool nameable(expr e)
{
	if (e->n == 0 || e->op == IR_VAR || e->op == IR_ELEMENT || e->op == IR_AXIS)
		return false;
	if (e->type != TYPE_INDEX)
		return !(e->op == IR_CAST && (e->arg[0]->n == 0 || e->arg[0]->op == IR_ELEMENT));
	int operations = 0;
	for (expr x = e; x->n && x->op != IR_VAR && x->op != IR_ELEMENT; x = x->arg[0])
		operations += x->op == IR_FLOORDIV || x->op == IR_MOD || x->op == IR_LOAD || x->op == IR_SELECT ? 3 : 1;
	return operations >= 3;
}

void gen_lets(struct gen_text *g, expr e, expr also)
{
	gen_lets_end(g);
	struct arena *scratch = g->let_arena = arena_new();
	uint32_t n = (also && also->id > e->id ? also->id : e->id) + 1; /* operands have lower ids */
	struct share s = { NEWN(scratch, int, n), NEWN(scratch, bool, n), NEWN(scratch, bool, n), { 0 }, scratch };
	g->let = NEWN(scratch, const char *, n);
	g->let_n = n;
	count_uses(&s, e);
	ir_mark_unconditional(e, s.sure);
	if (also) {
		count_uses(&s, also);
		ir_mark_unconditional(also, s.sure);
	}
	for (int i = 0; i < s.order.n; i++) {
		expr x = s.order.at[i];
		if (s.uses[x->id] < 2 || !in_front(&s, x) || !nameable(x))
			continue;
		const char *name = gen_own(g, arena_printf(g->out->arena, "tmp%d", g->lets++));
		gen_indent(g);
		str_printf(g->out, "const %s %s = ", gen_type(g, x->type), name);
		gen_expr(g, x);
		str_add(g->out, ";\n");
		g->let[x->id] = name;
	}
}

void gen_lets_end(struct gen_text *g)
{
	arena_free(g->let_arena);
	g->let_arena = NULL;
	g->let = NULL;
}

const char *gen_let(const struct gen_text *g, expr e)
{
	return g->let && e->id < g->let_n ? g->let[e->id] : NULL;
}
