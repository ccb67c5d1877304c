/* Ranges of floats that become positions. See coordinate_range.h. Goals propagate from the positions of loads to the
 * loads of their floats: through roundings, clamps, selections, and sums and products with constants. */
#include "check/coordinate_range.h"

#include <math.h>
#include <string.h>

enum {
	DEEPEST = 100,  /* nesting of stages and expressions */
	MOST = 1 << 14, /* visits: one expression may have many goals */
};

/* The expression's value is to reach from low to low + step * limit. */
struct goal {
	expr limit;
	double low, step;
};

struct finder {
	const struct ir_program *p;
	struct coordinate_range *range;
	struct map seen; /* expressions with their goals */
	int depth, visits;
};

static void visit(struct finder *f, expr e, struct goal g);

/* The range of both. Where an extent is unknown, each reaches as far along the larger axis as along its own. */
static struct goal join(struct goal a, struct goal b)
{
	int64_t m, n;
	bool known = ir_const_int(a.limit, &m) && ir_const_int(b.limit, &n);
	double low = fmin(a.low, b.low), end;
	if (known && m > 0) {
		end = fmax(a.low + a.step * (double)m, b.low + b.step * (double)n);
		return (struct goal){ a.limit, low, (end - low) / (double)m };
	}
	end = fmax(a.low + a.step, b.low + b.step);
	bool has = a.limit == b.limit ||
	           (a.limit->op == IR_MAX && (a.limit->arg[0] == b.limit || a.limit->arg[1] == b.limit));
	return (struct goal){ has ? a.limit : ir_binary(IR_MAX, a.limit, b.limit), low, end - low };
}

static void note(struct finder *f, const struct ir_buffer *b, struct goal g)
{
	struct coordinate_range *r = &f->range[b->id];
	if (g.limit->varies)
		return;
	struct goal both = r->limit ? join((struct goal){ r->limit, r->low, r->step }, g) : g;
	*r = (struct coordinate_range){ both.limit, both.low, both.step };
	const struct ir_stage *s = ir_stage_of(f->p, b);
	if (s && s->kind == IR_MAP)
		visit(f, s->value, g);
}

static bool is_float(expr e)
{
	return type_is_float(e->type);
}

/* x + c, c + x, x - c */
static void visit_sum(struct finder *f, expr e, struct goal g)
{
	for (int i = 0; i < 2; i++) {
		expr other = e->arg[!i];
		if (other->op == IR_CONST_FLOAT && (e->op == IR_ADD || i == 0)) {
			double add = e->op == IR_ADD ? other->f : -other->f;
			visit(f, e->arg[i], (struct goal){ g.limit, g.low - add, g.step });
		} else if (ir_uses(other, IR_LOAD)) {
			visit(f, e->arg[i], g);
		}
	}
}

static void scale(struct finder *f, expr e, struct goal g, double by)
{
	if (by > 0 && isfinite(by))
		visit(f, e, (struct goal){ g.limit, g.low / by, g.step / by });
}

/* x c, x / c, and x i with an index i: as if i were the largest. */
static void visit_product(struct finder *f, expr e, struct goal g)
{
	if (e->op == IR_DIV) {
		if (e->arg[1]->op == IR_CONST_FLOAT)
			scale(f, e->arg[0], g, 1 / e->arg[1]->f);
		return;
	}
	for (int i = 0; i < 2; i++) {
		expr other = e->arg[!i];
		int64_t n;
		if (other->op == IR_CONST_FLOAT) {
			scale(f, e->arg[i], g, other->f);
		} else if (other->op == IR_CAST && other->arg[0]->type == TYPE_INDEX) {
			expr most = ir_upper_bound(other->arg[0]);
			if (most && ir_const_int(most, &n))
				scale(f, e->arg[i], g, (double)n);
		}
	}
}

static void visit_op(struct finder *f, expr e, struct goal g)
{
	switch ((int)e->op) {
	case IR_LOAD:
		if (is_float(e))
			note(f, e->buf, g);
		break;
	case IR_ADD:
	case IR_SUB:
		if (is_float(e))
			visit_sum(f, e, g);
		else
			for (int i = 0; i < 2; i++)
				visit(f, e->arg[i], g);
		break;
	case IR_MUL:
	case IR_DIV:
		if (is_float(e))
			visit_product(f, e, g);
		break;
	case IR_MIN:
	case IR_MAX:
	case IR_FLOOR:
	case IR_CEIL:
	case IR_TRUNC:
	case IR_ROUND_EVEN:
	case IR_CAST:
		for (int i = 0; i < e->n; i++)
			visit(f, e->arg[i], g);
		break;
	case IR_SELECT:
		visit(f, e->arg[1], g);
		visit(f, e->arg[2], g);
		break;
	}
}

static uint64_t bits_of(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	return bits * UINT64_C(0x9e3779b97f4a7c15);
}

static void visit(struct finder *f, expr e, struct goal g)
{
	uint64_t key = ((uint64_t)e->id << 32 | g.limit->id) + bits_of(g.low) + 3 * bits_of(g.step);
	if (f->depth == DEEPEST || f->visits == MOST || map_get_u64(&f->seen, key))
		return;
	map_put_u64(&f->seen, key, f);
	f->visits++;
	f->depth++;
	visit_op(f, e, g);
	f->depth--;
}

static void visit_loads(void *user, expr e)
{
	struct finder *f = user;
	for (int k = 0; e->op == IR_LOAD && k < e->n; k++)
		visit(f, e->arg[k], (struct goal){ e->buf->dim[k], 0, 1 });
}

static void visit_expr(void *user, expr e, const char *role)
{
	(void)role;
	ir_walk(e, visit_loads, user);
}

static void visit_stages(struct finder *f, int n, struct ir_stage *const *stage)
{
	for (int i = 0; i < n; i++) {
		ir_stage_exprs(stage[i], visit_expr, f);
		if (stage[i]->loop)
			visit_stages(f, stage[i]->loop->body.n, stage[i]->loop->body.at);
	}
}

struct coordinate_range *coordinate_ranges(const struct ir_program *p, struct arena *a)
{
	struct finder f = { .p = p, .range = NEWN(a, struct coordinate_range, p->buffers.n + 1), .seen = map_new(a) };
	visit_stages(&f, p->stages.n, p->stages.at);
	return f.range;
}
