/* Rule reduce_split: a reduction of many points to few elements. Blocks reduce `parts` parts of the points; a second
 * kernel combines the partial results. */
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

enum { LANES = 256, MAX_PARTS = 1024 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_REDUCE && !ir_combine_is_arg(s->combine) && s->space_rank && s->out->rank < IR_MAX_RANK)
		return s;
	*why = "the stage is not a reduction whose parts can be put together";
	return NULL;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	int64_t points = about(reduced_count(p, s), t), outs = about(out_count(p, s), t);
	int n = 0;
	for (int parts = MAX_PARTS; parts >= 4; parts /= 4)
		if (points / parts >= 2 * LANES && (outs * parts < 16 * t->processors || parts == 4))
			out[n++] = (struct sched_choice){ &sched_reduce_split, { parts } };
	if (!n)
		out[n++] = (struct sched_choice){ &sched_reduce_split, { 4 } };
	return n;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	struct sched_choice whole = { &sched_reduce_lanes, { LANES } };
	double outs = (double)about(out_count(p, s), t), parts = c->param[0];
	double points = outs * (double)about(reduced_count(p, s), t);
	/* As a reduction with that many more rows; then a launch, and a little work in one block. */
	double rows = outs * parts, fill = rows * LANES / cost_full_threads(t);
	double alone = sched_estimate(p, s, &whole, t) - t->launch_ns, filled = outs * LANES / cost_full_threads(t);
	filled = filled < 0.002 ? 0.002 : filled > 1 ? 1 : filled;
	fill = fill > 1 ? 1 : fill;
	double time = alone * filled / fill, serial = points / rows / LANES * 8;
	return 2 * t->launch_ns + (time > serial ? time : serial) + 1500 + parts * 0.5;
}

/* The reduced axes within a part. */
struct rename {
	int rank;
	expr axis[IR_MAX_RANK];
};

static expr rename_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct rename *r = user;
	(void)pool;
	(void)arg;
	return e->op == IR_AXIS && e->i >= r->rank ? r->axis[e->i - r->rank] : NULL;
}

/* The reduced axes from the position in their space. */
static void axes_of_point(const struct ir_stage *s, struct rename *r, expr point)
{
	expr rest = point;
	for (int k = s->space_rank - 1; k >= 0; k--) {
		r->axis[k] = k ? ir_binary(IR_MOD, rest, s->space[k]) : rest;
		rest = ir_binary(IR_FLOORDIV, rest, s->space[k]);
	}
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct ir_pool *pool = p->pool;
	int rank = s->out->rank;
	expr dim[IR_MAX_RANK], own[IR_MAX_RANK], parts = ir_index(pool, c->param[0]), points = reduced_count(p, s);
	expr share = ceil_div(p, points, c->param[0]);
	for (int k = 0; k < rank; k++) {
		dim[k] = s->out->dim[k];
		own[k] = ir_axis(pool, k, dim[k]);
	}
	dim[rank] = parts;
	enum type t = s->value->type;
	struct ir_buffer *part =
	        ir_buffer_new(p, arena_printf(p->arena, "%s_parts", s->out->name), t, rank + 1, dim, IR_TEMP);

	/* part[i..., p] = combine over r of value at point p * share + r */
	struct rename r = { .rank = rank };
	expr point =
	        ir_binary(IR_ADD, ir_binary(IR_MUL, ir_axis(pool, rank, parts), share), ir_axis(pool, rank + 1, share));
	axes_of_point(s, &r, point);
	expr value = ir_copy(pool, s->value, rename_axis, &r);
	value = ir_select(ir_binary(IR_LT, point, points), value, ir_identity(pool, s->combine, t));
	struct ir_stage *first = NEW(p->arena, struct ir_stage), *second = NEW(p->arena, struct ir_stage);
	*first = (struct ir_stage){
		.kind = IR_REDUCE, .out = part, .value = value, .combine = s->combine, .space_rank = 1
	};
	first->space[0] = share;

	*second = *s;
	own[rank] = ir_axis(pool, rank, parts);
	second->value = ir_load(pool, part, own);
	second->space_rank = 1;
	second->space[0] = parts;

	struct sched_choice wide = { &sched_reduce_lanes, { LANES } }, warp = { &sched_reduce_lanes, { 32 } };
	apply_choice(plan, first, &wide, site->t);
	apply_choice(plan, second, c->param[0] >= 2 * LANES ? &wide : &warp, site->t);
	decided_by(plan, plan->steps.n - 2, c, arena_printf(p->arena, "parts %d", c->param[0]));
}

const struct sched_rule sched_reduce_split = {
	.name = "reduce_split",
	.version = 1,
	.param = { { "parts", 4, 1024 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
