/* Finds loop-invariant values: tracks the enclosing loops and the variables declared in them. */
#include "gen/text.h"

static int depth_of(const struct gen_text *g, const struct ir_variable *v)
{
	for (int i = g->depths.n - 1; i >= 0; i--)
		if (g->depths.at[i].variable == v)
			return g->depths.at[i].depth;
	return 0;
}

struct find_depth {
	const struct gen_text *g;
	int depth;
};

static void node_depth(void *user, expr e)
{
	struct find_depth *f = user;
	int depth = e->op == IR_VAR || e->op == IR_ELEMENT ? depth_of(f->g, e->var) : 0;
	f->depth = depth > f->depth ? depth : f->depth;
}

int gen_value_depth(const struct gen_text *g, expr e)
{
	struct find_depth f = { g, 0 };
	ir_walk(e, node_depth, &f);
	return f.depth;
}

void gen_declared(struct gen_text *g, const struct ir_variable *v, expr value)
{
	struct gen_depth d = { v, value ? gen_value_depth(g, value) : g->depth };
	if (g->depth)
		vec_push(g->out->arena, &g->depths, d);
}

void gen_fixed(struct gen_text *g, const struct ir_variable *v)
{
	map_put_u64(&g->fixed, (uintptr_t)v, (void *)(uintptr_t)v);
}

void gen_loop_begin(struct gen_text *g, const struct ir_variable *v, int turns)
{
	ck(g->depth + 1 < GEN_MAX_DEPTH);
	g->turns[++g->depth] = turns;
	gen_declared(g, v, NULL);
	gen_fixed(g, v);
}

void gen_loop_end(struct gen_text *g)
{
	g->depth--;
}
