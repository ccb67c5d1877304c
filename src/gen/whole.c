/* The dimensions of arrays that a text needs: those of one element are left out, with their subscripts, unless a
 * function or an instruction takes the array or a row of it whole. */
#include "gen/text.h"

/* Notes that a statement takes what the first n subscripts leave of an array. */
static void note_use(struct gen_text *g, const struct ir_variable *v, int n)
{
	const void *have = v ? map_get_u64(&g->whole, (uintptr_t)v) : NULL;
	if (v && v->rank > n && (!have || (uintptr_t)have > (uintptr_t)n + 1))
		map_put_u64(&g->whole, (uintptr_t)v, (void *)((uintptr_t)n + 1));
}

static void note_arg(void *user, const struct ir_arg *a)
{
	if (a->kind == IR_ARG_VARIABLE || a->kind == IR_ARG_MEMBER)
		note_use(user, a->var, a->indices);
}

void gen_find_whole(struct gen_text *g, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		switch (s->kind) {
		case IR_LOAD_VECTOR:
		case IR_STORE_VECTOR: note_use(g, s->vector.array, s->vector.row ? 1 : 0); break;
		case IR_LANES_COMBINE:
			note_use(g, s->lanes.var, 0);
			note_use(g, s->lanes.index, 0);
			note_use(g, s->lanes.across, 0);
			break;
		case IR_ITEMS_SCAN: note_use(g, s->items.parts, 0); break;
		case IR_SHARED: note_use(g, s->shared.var, 0); break;
		case IR_PLACE:
			note_use(g, s->place.var, 0);
			note_use(g, s->place.after, 0);
			break;
		case IR_LAMBDA:
			vec_each (v, &s->lambda.parameters)
				note_use(g, *v, 0);
			break;
		case IR_INVOKE: ir_call_each(s->call, note_arg, g); break;
		default: break;
		}
		if (ir_stmt_body(s))
			gen_find_whole(g, ir_stmt_body(s));
	}
}

bool gen_has_dim(const struct gen_text *g, const struct ir_variable *array, int i)
{
	uintptr_t whole = (uintptr_t)map_get_u64(&g->whole, (uintptr_t)array);
	return array->dim[i] != 1 || (whole && i >= (int)whole - 1);
}
