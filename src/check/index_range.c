/* Ranges of integers used as indices. See index_range.h. Limits propagate from a use to the loads of its index: through
 * casts, sums, clamps and selections, and from a buffer to the stage that computes it. */
#include "check/index_range.h"

#include <string.h>

enum {
	DEEPEST = 200,     /* nesting of stages and expressions */
	LONGEST = 1 << 20, /* longer axes in comparisons count as no bound */
};

/* The required range of an expression's value. */
struct goal {
	expr limit;    /* exclusive; null: any */
	bool negative; /* down to -limit */
	bool compared; /* from a comparison; false: an index, which takes precedence */
};

struct finder {
	const struct ir_program *p;
	struct index_range *range;
	bool *compared;  /* by buffer: the range comes from comparisons, of which the largest limit counts */
	struct map seen; /* expressions, with their limits */
	int depth;
};

static void visit(struct finder *f, expr e, struct goal g);

static const struct goal anything = { NULL, false, false };

static struct goal below(struct goal g, expr limit)
{
	g.limit = limit ? limit : g.limit;
	return g;
}

static void note_maker(struct finder *f, const struct ir_buffer *b, struct goal g)
{
	const struct ir_stage *s = ir_stage_of(f->p, b);
	if (s && s->kind == IR_MAP)
		visit(f, s->value, g);
	for (int i = 0; s && s->loop && i < s->loop->carries.n; i++)
		if (s->loop->carries.at[i].state == b)
			visit(f, s->loop->carries.at[i].init, g);
}

static void note(struct finder *f, const struct ir_buffer *b, struct goal g)
{
	struct index_range *r = &f->range[b->id];
	if (!type_is_int(b->type) || g.limit->varies)
		return;
	bool first = !r->limit || (f->compared[b->id] && !g.compared);
	if (first || g.compared == f->compared[b->id]) {
		enum ir_op pick = g.compared ? IR_MAX : IR_MIN;
		r->negative = first ? g.negative : g.compared ? r->negative || g.negative : r->negative && g.negative;
		r->limit = first ? g.limit : ir_binary(pick, r->limit, g.limit);
		f->compared[b->id] = g.compared;
	}
	note_maker(f, b, g);
}

/* i < 0 ? i + extent : i */
static bool counts_from_end(expr e)
{
	expr cond = e->arg[0];
	return cond->op == IR_LT && cond->arg[0] == e->arg[2] && ir_is_int(cond->arg[1], 0);
}

static bool loads(expr e)
{
	return ir_uses(e, IR_LOAD);
}

/* A number compared with a position along an axis is a position too, or the end of the axis. */
static void visit_compared(struct finder *f, enum ir_op op, expr e, expr other)
{
	while (other->op == IR_CAST && type_is_int(other->type) && other->arg[0]->type == TYPE_INDEX)
		other = other->arg[0];
	bool position = other->type == TYPE_INDEX && other->varies && !loads(other);
	expr least = position ? ir_lower_bound(other) : NULL, most = position ? ir_upper_bound(other) : NULL;
	struct goal g = { .compared = true };
	int64_t n;
	if (most)
		g.limit = ir_binary(IR_ADD, most, ir_index(most->pool, op == IR_EQ ? 1 : 2));
	g.negative = least && ir_less(least, ir_index(least->pool, 0));
	visit(f, e, g.limit && ir_const_int(g.limit, &n) && n > LONGEST ? anything : g);
}

static void visit_args(struct finder *f, expr e, struct goal g)
{
	for (int i = 0; i < e->n; i++)
		visit(f, e->arg[i], g);
}

/* A sum stays below the limit if each part leaves room for the other. */
static void visit_sum(struct finder *f, expr e, struct goal g)
{
	for (int i = 0; i < 2; i++) {
		expr most = ir_upper_bound(e->arg[!i]);
		visit(f, e->arg[i], below(g, most && g.limit ? ir_binary(IR_SUB, g.limit, most) : NULL));
	}
}

/* The subtrahend of a bounded number stays within its bounds. */
static void visit_difference(struct finder *f, expr e, struct goal g)
{
	expr most = ir_upper_bound(e->arg[0]), least = ir_lower_bound(e->arg[1]);
	visit(f, e->arg[0], below(g, least && g.limit ? ir_binary(IR_ADD, g.limit, least) : NULL));
	visit(f, e->arg[1], below(g, most && g.limit ? ir_binary(IR_ADD, most, ir_index(most->pool, 1)) : NULL));
}

static void visit_product(struct finder *f, expr e, struct goal g)
{
	for (int i = 0; i < 2; i++) {
		expr by = e->arg[!i], one = ir_index(by->pool, 1);
		bool scales = g.limit && by->type == TYPE_INDEX && !by->varies && ir_less(ir_index(by->pool, 0), by);
		expr up = scales ? ir_binary(IR_SUB, ir_binary(IR_ADD, g.limit, by), one) : NULL;
		visit(f, e->arg[i], below(g, up ? ir_binary(IR_FLOORDIV, up, by) : NULL));
	}
}

/* In min(x, extent), x may be as large as the extent. */
static void visit_least(struct finder *f, expr e, struct goal g)
{
	for (int i = 0; i < 2; i++) {
		expr other = e->arg[!i];
		struct goal end = { .compared = true };
		bool ends = !g.limit && e->op == IR_MIN && other->type == TYPE_INDEX && !other->varies;
		if (ends)
			end.limit = ir_binary(IR_ADD, other, ir_index(other->pool, 1));
		visit(f, e->arg[i], ends ? end : g);
	}
}

static void visit_load(struct finder *f, expr e, struct goal g)
{
	if (g.limit)
		note(f, e->buf, g);
	for (int k = 0; k < e->n; k++)
		visit(f, e->arg[k], (struct goal){ .limit = e->buf->dim[k] });
}

static void visit_select(struct finder *f, expr e, struct goal g)
{
	bool from_end = counts_from_end(e);
	visit(f, e->arg[0], anything);
	visit(f, e->arg[1], from_end ? anything : g);
	g.negative |= from_end;
	visit(f, e->arg[2], g);
}

static void visit_op(struct finder *f, expr e, struct goal g)
{
	switch (e->op) {
	case IR_LOAD: visit_load(f, e, g); break;
	case IR_ADD: visit_sum(f, e, g); break;
	case IR_SUB: visit_difference(f, e, g); break;
	case IR_MUL: visit_product(f, e, g); break;
	case IR_MIN:
	case IR_MAX: visit_least(f, e, g); break;
	case IR_CAST: visit_args(f, e, e->type == TYPE_INDEX || type_is_int(e->type) ? g : anything); break;
	case IR_MOD: visit_args(f, e, g); break;
	case IR_SELECT: visit_select(f, e, g); break;
	case IR_EQ:
	case IR_LT:
	case IR_LE:
		visit_compared(f, e->op, e->arg[0], e->arg[1]);
		visit_compared(f, e->op, e->arg[1], e->arg[0]);
		break;
	default: visit_args(f, e, anything);
	}
}

/* Once for each goal: expressions are shared. */
static void visit(struct finder *f, expr e, struct goal g)
{
	uint64_t key =
	        (uint64_t)e->id << 32 | (uint64_t)(g.limit ? g.limit->id + 1 : 0) << 2 | g.negative << 1 | g.compared;
	if (f->depth == DEEPEST || map_get_u64(&f->seen, key))
		return;
	map_put_u64(&f->seen, key, f);
	f->depth++;
	visit_op(f, e, g);
	f->depth--;
}

struct slots {
	struct finder *f;
	const struct ir_buffer *out; /* of the stage, for its positions */
	int at;
};

static void visit_expr(void *user, expr e, const char *role)
{
	struct slots *x = user;
	bool place = role && strcmp(role, "at") == 0 && x->out && x->at < x->out->rank;
	visit(x->f, e, (struct goal){ .limit = place ? x->out->dim[x->at++] : NULL });
}

static void visit_stages(struct finder *f, int n, struct ir_stage *const *stage)
{
	for (int i = 0; i < n; i++) {
		struct slots x = { f, stage[i]->kind == IR_SCATTER ? stage[i]->out : NULL, 0 };
		ir_stage_exprs(stage[i], visit_expr, &x);
		if (stage[i]->loop)
			visit_stages(f, stage[i]->loop->body.n, stage[i]->loop->body.at);
	}
}

struct index_range *index_ranges(const struct ir_program *p, struct arena *a)
{
	struct finder f = { .p = p,
		            .range = NEWN(a, struct index_range, p->buffers.n + 1),
		            .compared = NEWN(a, bool, p->buffers.n + 1),
		            .seen = map_new(a) };
	visit_stages(&f, p->stages.n, p->stages.at);
	return f.range;
}
