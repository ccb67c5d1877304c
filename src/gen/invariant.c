/* Which values are the same in all turns of a loop: the loops around what is printed, and the variables declared in them. */
#include "gen/text.h"

#include <string.h>

/* A plain name is the last variable's that is called so. */
static bool is_name(const char *have, const char *text, size_t n)
{
	bool plain = !memchr(text, IR_MARK_VARIABLE, n);
	return strncmp(have, text, n) == 0 && (!have[n] || (plain && have[n] == IR_MARK_VARIABLE));
}

/* A name's text may be "x_v[step][item]": the variables in it. */
static int depth_of_text(const struct gen_text *g, const char *text)
{
	int depth = 0;
	for (size_t n; *text; text += n ? n : 1) {
		for (n = 0; names_is_inside(text[n]) || text[n] == IR_MARK_VARIABLE;)
			n++;
		for (int i = g->names.n - 1; n && i >= 0; i--) {
			const struct gen_name *have = &g->names.at[i];
			if (!is_name(have->name, text, n))
				continue;
			depth = have->depth > depth ? have->depth : depth;
			break;
		}
	}
	return depth;
}

struct find_depth {
	const struct gen_text *g;
	int depth;
};

static void node_depth(void *user, expr e)
{
	struct find_depth *f = user;
	int depth = e->op == IR_VAR ? depth_of_text(f->g, e->name) : 0;
	f->depth = depth > f->depth ? depth : f->depth;
}

int gen_value_depth(const struct gen_text *g, expr e)
{
	struct find_depth f = { g, 0 };
	ir_walk(e, node_depth, &f);
	return f.depth;
}

void gen_declared(struct gen_text *g, const char *name, expr value)
{
	struct gen_name n = { arena_printf(g->out->arena, "%.*s", (int)strcspn(name, "["), name), g->depth };
	if (value)
		n.depth = gen_value_depth(g, value);
	if (g->depth)
		vec_push(g->out->arena, &g->names, n);
}

void gen_loop_begin(struct gen_text *g, const char *name, int turns)
{
	ck(g->depth + 1 < GEN_MAX_DEPTH);
	g->turns[++g->depth] = turns;
	gen_declared(g, name, NULL);
}

void gen_loop_end(struct gen_text *g)
{
	g->depth--;
}
