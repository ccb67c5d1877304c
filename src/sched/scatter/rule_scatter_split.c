/* Rule scatter_split: scatters of many updates into a result that fits into shared memory. Blocks combine `parts` parts
 * of the updates, each from the neutral element on, as rule scatter_rows does; a second kernel combines these partial
 * results with the initial values. So few elements that many updates meet in are not updated in global memory. */
#include "sched/scatter/scatter.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

enum { LEAST_PARTS = 8, MOST_PARTS = 1024, LEAST_SHARE = 4 };

/* The update axis to split: of those along which the result does not lie, the longest. Negative: there is none. */
static int split_axis(const struct ir_stage *s, const struct sched_target *t)
{
	bool lies[IR_MAX_RANK] = { false };
	int64_t most = 0;
	int found = -1;
	for (int k = 0; k < s->out->rank; k++)
		if (s->at[k]->op == IR_AXIS)
			lies[s->at[k]->i] = true;
	for (int k = 0; k < s->space_rank; k++) {
		int64_t extent = lies[k] ? 0 : about(s->space[k], t);
		found = extent > most ? k : found;
		most = extent > most ? extent : most;
	}
	return found;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	*why = s->kind == IR_SCATTER && s->out->replaces ? scatter_in_place
	                                                 : "the stage is not a scatter that combines many updates";
	return s->kind == IR_SCATTER && s->combine != IR_NONE && !s->out->replaces && s->out->rank &&
	                       s->out->rank < IR_MAX_RANK && s->space_rank < IR_MAX_RANK &&
	                       !type_is_packed(s->out->type)
	               ? s
	               : NULL;
}

/* The update axes of a part: the parts' axis comes after the `lead` leading axes that result and updates share. */
struct rename {
	int lead, split;
	const struct ir_stage *part;
	expr point; /* of the split axis */
};

static expr rename_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct rename *r = user;
	(void)arg;
	if (e->op != IR_AXIS || e->i < r->lead)
		return NULL;
	return e->i == r->split ? r->point : ir_axis(pool, (int)e->i + 1, r->part->space[e->i + 1]);
}

/* part[lead..., p, at...] = combine of the updates with numbers p * share .. of the split axis. */
static struct ir_stage part_stage(struct ir_program *p, const struct ir_stage *s, int parts, int split)
{
	struct ir_stage part = *s;
	struct ir_buffer *out = NEW(p->arena, struct ir_buffer);
	int lead = scatter_common_axes(s), rank = s->out->rank;
	enum type t = s->out->type;
	if (type_is_float(t) && type_info(t)->bits < 32)
		t = TYPE_F32;
	*out = (struct ir_buffer){
		.name = s->out->name, .type = t, .rank = rank + 1, .role = IR_TEMP, .id = s->out->id
	};
	expr share = ceil_div(p, s->space[split], parts), number = ir_index(p->pool, parts);
	for (int k = 0; k <= rank; k++)
		out->dim[k] = k == lead ? number : s->out->dim[k < lead ? k : k - 1];
	part.out = out;
	part.space_rank = s->space_rank + 1;
	for (int k = 0; k <= s->space_rank; k++)
		part.space[k] = k == lead ? number : k == split + 1 ? share : s->space[k < lead ? k : k - 1];
	expr first = ir_binary(IR_MUL, ir_axis(p->pool, lead, number), share);
	struct rename r = { .lead = lead, .split = split, .part = &part };
	r.point = ir_binary(IR_ADD, first, ir_axis(p->pool, split + 1, share));
	for (int k = 0; k <= rank; k++)
		part.at[k] =
		        k <= lead ? ir_axis(p->pool, k, out->dim[k]) : ir_copy(p->pool, s->at[k - 1], rename_axis, &r);
	part.value = ir_cast(ir_copy(p->pool, s->value, rename_axis, &r), t);
	part.init = ir_identity(p->pool, s->combine, t);
	part.where = s->where ? ir_copy(p->pool, s->where, rename_axis, &r) : NULL;
	expr within = ir_binary(IR_LT, r.point, s->space[split]);
	if (!ir_is_int(ir_binary(IR_SUB, s->space[split], ir_binary(IR_MUL, share, number)), 0))
		part.where = part.where ? ir_binary(IR_AND, within, part.where) : within;
	return part;
}

/* Combines the parts with the initial values. */
static struct ir_stage whole_stage(struct ir_program *p, const struct ir_stage *s, const struct ir_buffer *part)
{
	expr own[IR_MAX_RANK];
	int lead = scatter_common_axes(s), rank = s->out->rank;
	expr parts = part->dim[lead];
	for (int k = 0; k <= rank; k++)
		own[k] = k == lead ? ir_axis(p->pool, rank, parts)
		                   : ir_axis(p->pool, k < lead ? k : k - 1, part->dim[k]);
	struct ir_stage whole = { .kind = IR_REDUCE, .out = s->out, .combine = s->combine, .space_rank = 1 };
	whole.space[0] = parts;
	whole.value = ir_load(p->pool, part, own);
	whole.post = ir_combine_expr(s->combine, ir_cast(s->init, part->type), ir_acc(p->pool, part->type));
	whole.post = ir_cast(whole.post, s->out->type);
	return whole;
}

/* Rule scatter_rows' choice for a part: one block each. Null rule: none. */
static struct sched_choice choice_of_part(struct ir_program *p, const struct ir_stage *part,
                                          const struct sched_target *t)
{
	struct sched_choice choice[SCHED_RULE_CHOICES];
	int n = rule_candidates(&sched_scatter_rows, p, part, t, choice);
	for (int i = 0; i < n; i++)
		if (choice[i].param[0] == scatter_common_axes(part) && choice[i].param[2] == 1)
			return choice[i];
	return (struct sched_choice){ 0 };
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	int n = 0, split = split_axis(s, site->t);
	int64_t updates = split < 0 ? 0 : about(s->space[split], site->t);
	for (int parts = MOST_PARTS; parts >= LEAST_PARTS && split >= 0; parts /= 2) {
		struct ir_stage *part = NEW(site->p->arena, struct ir_stage);
		if (updates / parts < LEAST_SHARE && parts > LEAST_PARTS)
			continue;
		*part = part_stage(site->p, s, parts, split);
		if (choice_of_part(site->p, part, site->t).rule)
			out[n++] = (struct sched_choice){ &sched_scatter_split, { parts, split } };
	}
	return n;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	struct ir_stage *part = NEW(p->arena, struct ir_stage), *whole = NEW(p->arena, struct ir_stage);
	*part = part_stage(p, site->s, c->param[0], c->param[1]);
	*whole = whole_stage(p, site->s, part->out);
	struct sched_choice rows = choice_of_part(p, part, site->t),
	                    columns = rule_fastest(&sched_rule_of_columns, 1, p, whole, site->t, NULL);
	return sched_estimate(p, part, &rows, site->t) + sched_estimate(p, whole, &columns, site->t);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_stage *part = NEW(p->arena, struct ir_stage), *whole = NEW(p->arena, struct ir_stage);
	int steps = plan->steps.n;
	*part = part_stage(p, site->s, c->param[0], c->param[1]);
	part->out = ir_buffer_new(p, arena_printf(p->arena, "%s_parts", site->s->out->name), part->out->type,
	                          part->out->rank, part->out->dim, IR_TEMP);
	*whole = whole_stage(p, site->s, part->out);
	struct sched_choice rows = choice_of_part(p, part, site->t),
	                    columns = rule_fastest(&sched_rule_of_columns, 1, p, whole, site->t, NULL);
	apply_choice(plan, part, &rows, site->t);
	apply_choice(plan, whole, &columns, site->t);
	explained_by(plan, steps, c);
	decided_by(plan, steps, c, arena_printf(p->arena, "parts=%d", c->param[0]));
}

const struct sched_rule sched_scatter_split = {
	.name = "scatter_split",
	.version = 1,
	.about = "Blocks combine {parts} parts of the updates in shared memory, and a second kernel combines the "
	         "parts with the initial values.",
	.param = { { "parts", LEAST_PARTS, MOST_PARTS }, { "split", 0, 16 } },
	.none = "all updates are of other rows, or the result does not fit into shared memory",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
