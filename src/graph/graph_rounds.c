/* The float types to which nodes round, and the coarsest on the way to a value: results of other kernels may differ by
 * as much, whatever the type of the value itself. */
#include "graph/graph_internal.h"

/* The one with fewer digits. */
static enum type coarser(enum type x, enum type y)
{
	return tensor_tolerance_of(y).relative > tensor_tolerance_of(x).relative ? y : x;
}

static bool is_exact(expr e)
{
	switch (e->op) {
	case IR_MIN:
	case IR_MAX:
	case IR_SELECT:
	case IR_BITCAST:
	case IR_NEG:
	case IR_ABS:
	case IR_FLOOR:
	case IR_CEIL:
	case IR_TRUNC:
	case IR_ROUND_EVEN:
	case IR_LOAD: return true;
	case IR_CAST:
	case IR_CAST_SAT: return !type_is_float(e->arg[0]->type) || coarser(e->arg[0]->type, e->type) != e->type;
	default: return e->n == 0;
	}
}

static void note_rounding(void *user, expr e)
{
	enum type *rounds = user;
	if (type_is_float(e->type) && !is_exact(e))
		*rounds = coarser(*rounds, e->type);
}

static void note_stages(enum type *rounds, struct ir_stage *const *stage, int n)
{
	for (int i = 0; i < n; i++) {
		const struct ir_stage *s = stage[i];
		const expr of[] = { s->value, s->post, s->init };
		for (size_t k = 0; k < sizeof of / sizeof *of; k++)
			if (of[k])
				ir_walk(of[k], note_rounding, rounds);
		if (s->value && type_is_float(s->value->type) && (s->combine == IR_SUM || s->combine == IR_PROD))
			*rounds = coarser(*rounds, s->value->type);
		if (s->loop)
			note_stages(rounds, s->loop->body.at, s->loop->body.n);
	}
}

void graph_note_rounding(struct graph_node *n, const struct ir_program *p)
{
	n->rounds = TYPE_NONE;
	note_stages(&n->rounds, p->stages.at, p->stages.n);
}

enum type graph_rounded(const struct graph *g, const struct graph_value *v)
{
	struct arena *a = arena_new();
	bool *met = NEWN(a, bool, g->nodes.n + 1);
	int *next = NEWN(a, int, g->nodes.n + 1), n = 0;
	enum type rounds = TYPE_NONE;
	if (v->producer >= 0) {
		met[v->producer] = true;
		next[n++] = v->producer;
	}
	while (n) {
		const struct graph_node *x = &g->nodes.at[next[--n]];
		if (x->folded)
			continue;
		rounds = coarser(rounds, x->rounds);
		vec_each (read, &x->reads) {
			int from = (*read)->producer;
			if (from < 0 || met[from])
				continue;
			met[from] = true;
			next[n++] = from;
		}
	}
	arena_free(a);
	return rounds;
}
