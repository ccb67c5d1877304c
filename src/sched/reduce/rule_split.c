/* Rule reduce_split: a reduction of many points to few elements. Blocks reduce `parts` parts of the points; a second
 * kernel combines the partial results. columns 1: neighbouring threads make neighbouring elements of the result, as in
 * rule reduce_columns, which has too few blocks for few columns. The position of a best value is found among those of
 * the parts, whose values are computed again. */
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

enum { LANES = 256, MAX_PARTS = 1024, COLUMN_PARTS = 8 /* threads of a block that share a column */, COLUMNS = 32 };

struct contiguous {
	struct ir_program *p;
	int axis;
	bool any;
};

static void find_contiguous(void *user, expr e)
{
	struct contiguous *f = user;
	if (e->op != IR_LOAD)
		return;
	expr stride = ir_stride(ir_flat(f->p->pool, e->buf, e->arg), f->axis);
	f->any |= stride && ir_is_int(stride, 1);
}

/* True if neighbouring elements of the result reduce neighbouring elements of an input. */
static bool in_columns(struct ir_program *p, const struct ir_stage *s)
{
	struct contiguous f = { p, s->out->rank - 1, false };
	if (s->out->rank)
		ir_walk(s->value, find_contiguous, &f);
	return f.any;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_REDUCE && s->space_rank && s->out->rank < IR_MAX_RANK)
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
			out[n++] = (struct sched_choice){ &sched_reduce_split, { parts, 0 } };
	for (int parts = MAX_PARTS; parts >= 4 && in_columns(p, s); parts /= 2)
		if (points / parts >= 2 * COLUMN_PARTS &&
		    (double)outs * parts * COLUMN_PARTS < 2 * cost_full_threads(t))
			out[n++] = (struct sched_choice){ &sched_reduce_split, { parts, 1 } };
	if (!n)
		out[n++] = (struct sched_choice){ &sched_reduce_split, { 4, 0 } };
	return n;
}

/* ---- The stages of the two kernels. */

/* The axes in a part. */
struct rename {
	int rank, at; /* out's axes; the place of the parts' axis among them */
	const struct ir_buffer *part;
	expr axis[IR_MAX_RANK]; /* values of the reduced axes */
};

static expr rename_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct rename *r = user;
	(void)arg;
	if (e->op != IR_AXIS || e->i < r->at)
		return NULL;
	return e->i >= r->rank ? r->axis[e->i - r->rank] : ir_axis(pool, (int)e->i + 1, r->part->dim[e->i + 1]);
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

/* The stage's value at that point; after the last one, a value that changes nothing. */
static expr value_at(struct ir_program *p, const struct ir_stage *s, struct rename *r, expr point)
{
	axes_of_point(s, r, point);
	expr value = ir_copy(p->pool, s->value, rename_axis, r);
	return ir_select(ir_binary(IR_LT, point, reduced_count(p, s)), value,
	                 ir_identity(p->pool, s->combine, s->value->type));
}

static expr share_of(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c)
{
	return ceil_div(p, reduced_count(p, s), c->param[0]);
}

/* part[i..., p, j] = combine over r of value at point p * share + r; without columns, p is the last axis. */
static struct ir_stage part_stage(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_stage first = { .kind = IR_REDUCE, .combine = s->combine, .space_rank = 1 };
	struct ir_buffer *part = NEW(p->arena, struct ir_buffer);
	int rank = s->out->rank, at = c->param[1] ? rank - 1 : rank;
	enum type t = ir_combine_is_arg(s->combine) ? s->out->type : s->value->type;
	*part = (struct ir_buffer){
		.name = s->out->name, .type = t, .rank = rank + 1, .role = IR_TEMP, .id = s->out->id
	};
	for (int k = 0; k <= rank; k++)
		part->dim[k] = k == at ? ir_index(p->pool, c->param[0]) : s->out->dim[k < at ? k : k - 1];
	first.out = part;
	first.space[0] = share_of(p, s, c);
	struct rename r = { .rank = rank, .at = at, .part = part };
	expr point = ir_binary(IR_ADD, ir_binary(IR_MUL, ir_axis(p->pool, at, part->dim[at]), first.space[0]),
	                       ir_axis(p->pool, rank + 1, first.space[0]));
	first.value = value_at(p, s, &r, point);
	return first;
}

/* The element of `part` for part number `number`, over out's axes. */
static expr load_part(struct ir_program *p, const struct ir_stage *s, const struct ir_buffer *part, int at, expr number)
{
	expr own[IR_MAX_RANK];
	for (int k = 0; k <= s->out->rank; k++)
		own[k] = k == at ? number : ir_axis(p->pool, k < at ? k : k - 1, part->dim[k]);
	return ir_load(p->pool, part, own);
}

/* Combines the parts. */
static struct ir_stage whole_stage(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                                   const struct ir_buffer *part)
{
	struct ir_stage second = *s;
	struct ir_pool *pool = p->pool;
	int rank = s->out->rank, at = c->param[1] ? rank - 1 : rank;
	expr number = ir_axis(pool, rank, part->dim[at]), share = share_of(p, s, c);
	second.value = load_part(p, s, part, at, number);
	second.space_rank = 1;
	second.space[0] = part->dim[at];
	if (!ir_combine_is_arg(s->combine))
		return second;
	struct rename r = { .rank = rank, .at = rank, .part = part };
	expr found = ir_cast(second.value, TYPE_INDEX);
	second.value = value_at(p, s, &r, ir_binary(IR_ADD, ir_binary(IR_MUL, number, share), found));
	/* The position from the best part's number. Of equals, the last may be after all points. */
	number = ir_acc(pool, TYPE_INDEX);
	expr place = ir_binary(IR_ADD, ir_binary(IR_MUL, number, share),
	                       ir_cast(load_part(p, s, part, at, number), TYPE_INDEX));
	expr last_point = ir_binary(IR_SUB, reduced_count(p, s), ir_index(pool, 1));
	place = ir_binary(IR_MIN, place, last_point);
	if (!ir_nonnegative(last_point)) /* without points the position is 0 */
		place = ir_binary(IR_MAX, place, ir_index(pool, 0));
	second.post = ir_cast(place, s->out->type);
	return second;
}

/* ---- Time. */

static double columns_estimate(const struct sched_site *site, const struct sched_choice *c)
{
	enum { SECOND_NS = 1500 };
	struct ir_program *p = site->p;
	const struct sched_target *t = site->t;
	const struct sched_choice one = { &sched_reduce_columns, { COLUMN_PARTS, 1, COLUMNS } };
	struct ir_stage *first = NEW(p->arena, struct ir_stage);
	*first = part_stage(p, site->s, c);
	return sched_estimate(p, first, &one, t) + t->launch_ns + SECOND_NS + cost_wait(t, 4.0 * c->param[0]);
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	if (c->param[1])
		return columns_estimate(site, c);
	struct sched_choice whole = { &sched_reduce_lanes, { LANES } };
	double outs = (double)about(out_count(p, s), t), parts = c->param[0];
	double points = outs * (double)about(reduced_count(p, s), t);
	/* As a reduction with that many more rows; then a launch, and a little work in one block. */
	double rows = outs * parts, fill = rows * LANES / cost_full_threads(t);
	double alone = sched_estimate(p, s, &whole, t) - t->launch_ns, filled = outs * LANES / cost_full_threads(t);
	fill = fill > 1 ? 1 : fill;
	double time = alone * cost_rate_reached(filled) / fill, serial = points / rows / LANES * 8;
	return 2 * t->launch_ns + (time > serial ? time : serial) + 1500 + parts * 0.5;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct ir_stage *first = NEW(p->arena, struct ir_stage), *second = NEW(p->arena, struct ir_stage);
	int steps = plan->steps.n;
	*first = part_stage(p, s, c);
	first->out = ir_buffer_new(p, arena_printf(p->arena, "%s_parts", s->out->name), first->out->type,
	                           s->out->rank + 1, first->out->dim, IR_TEMP);
	*second = whole_stage(p, s, c, first->out);
	struct sched_choice wide = { &sched_reduce_lanes, { LANES, 1 } }, warp = { &sched_reduce_lanes, { 32, 1 } };
	struct sched_choice columns = { &sched_reduce_columns, { COLUMN_PARTS, 1, COLUMNS } };
	apply_choice(plan, first, c->param[1] ? &columns : &wide, site->t);
	apply_choice(plan, second, c->param[1] ? &columns : c->param[0] >= 2 * LANES ? &wide : &warp, site->t);
	explained_by(plan, steps, c);
	decided_by(plan, steps, c, arena_printf(p->arena, "parts=%d columns=%d", c->param[0], c->param[1]));
}

const struct sched_rule sched_reduce_split = {
	.name = "reduce_split",
	.version = 2,
	.about = "A first kernel reduces {parts} parts of the points, and a second kernel combines them.",
	.param = { { "parts", 4, 1024 }, { "columns", 0, 1 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
