/* Numbers that decide extents and arrive as data: TopK's K, the sizes of Resize. Elements of small integer tensors get
 * symbols of the graph when an operator asks for them. The engine passes such numbers to a plugin while it computes
 * shapes (shape inputs). */
#include <stdio.h>

#include "graph/graph_internal.h"

void graph_ask(struct lower *l, struct ir_buffer *b)
{
	const struct graph_scope *s = l->scope;
	struct graph_value *v = s->inputs ? map_get_u64(s->inputs, (uintptr_t)b) : NULL;
	struct graph *g = s->g;
	int64_t n = v ? graph_count(v->rank, v->dim) : -1;
	expr *content, *copy;
	char name[32];

	if (!v || v->is_constant || v->content || v->rank > 1 || n < 1 || n > g->engine->most_shape_elements ||
	    (v->type != TYPE_I64 && v->type != TYPE_I32))
		return;
	content = NEWN(g->arena, expr, n);
	copy = NEWN(l->program->arena, expr, n);
	for (int64_t k = 0; k < n; k++) {
		const char *kept;

		if (v->some && v->some[k]) {
			content[k] = v->some[k];
			copy[k] = ir_copy(l->program->pool, content[k], NULL, NULL);
			continue;
		}
		do
			snprintf(name, sizeof name, "value%d", g->root->values_asked++);
		while (map_get(&g->root->used, name));
		kept = arena_strdup(g->arena, name);
		map_put(&g->root->used, kept, g);
		map_put(&g->root->asked, kept, v);
		content[k] = ir_symbol(g->pool, kept);
		copy[k] = ir_symbol(l->program->pool, kept);
	}
	v->content = content;
	v->some = NULL;
	v->asked = true;
	b->content = copy;
}

struct search {
	const struct graph *g;
	bool found;
};

static void find(void *user, expr e)
{
	struct search *s = user;

	s->found |= e->op == IR_SYMBOL && map_get(&s->g->root->asked, e->name);
}

bool graph_is_asked(struct graph *g, expr e)
{
	struct search s = { g, false };

	if (g->root->asked.n)
		ir_walk(e, find, &s);
	return s.found;
}
