/* Rule contract_made: a sum of products with an operand that a map before it computes, such as a quantisation, if
 * nothing else reads the map's result. Each tile's elements are computed where rule contract would load them: again for
 * each tile of columns (or rows), but the result is never stored, and needs no launch. See contract.h. */
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/contract/contract.h"
#include "sched/core/choose.h"

#include <math.h>

struct contract_made {
	const struct ir_stage *sum; /* the sum, which computes the map's elements */
	struct contract_found found;
	int side; /* the operand that is computed */
};

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct contract_made m = { .side = 0 };
	*why = "the stage is not a map to 8-bit numbers that only the next stage, a sum of products, reads";
	bool quantised = s->out->type == TYPE_I8 || s->out->type == TYPE_U8 || type_multiplies_f8(s->out->type);
	if (s->kind != IR_MAP || s->out->role != IR_TEMP || !quantised)
		return NULL;
	const struct ir_stage *next = contract_only_reader(p, s);
	if (!next || next->kind != IR_REDUCE || (next->post && ir_reads(next->post, s->out)))
		return NULL;
	struct ir_stage *sum = NEW(p->arena, struct ir_stage);
	*sum = *next;
	sum->value = contract_with_map(p, next->value, s);
	struct contract *c = &m.found.as[CONTRACT_AS_IT_IS];
	if (!contract_match_computed(c, p, sum, next))
		return NULL;
	if (c->side[0].computed == c->side[1].computed)
		return NULL;
	m.sum = sum;
	m.side = c->side[1].computed;
	m.found.stages = c->stages;
	m.found.fits[CONTRACT_AS_IT_IS] = true;
	m.found.as[CONTRACT_PACKED] = m.found.as[CONTRACT_PADDED] = *c;
	m.found.fits[CONTRACT_PACKED] = contract_pack_operands(&m.found.as[CONTRACT_PACKED]);
	bool vectors = m.found.fits[CONTRACT_PACKED] && ir_is_int(m.found.as[CONTRACT_PACKED].side[!m.side].fits, 1);
	m.found.fits[CONTRACT_PADDED] = !vectors && contract_match_padded(&m.found.as[CONTRACT_PADDED], 16);
	return FOUND(p, m);
}

static int span(const struct sched_site *site)
{
	return 1 + ((const struct contract_made *)site->found)->found.stages;
}

/* The site and the choice of rule contract that a choice contains. */
static struct sched_site inner_site(const struct sched_site *site)
{
	const struct contract_made *m = site->found;
	return (struct sched_site){ site->p, m->sum, site->t, &m->found };
}

static struct sched_choice inner(const struct sched_choice *choice)
{
	const int *x = choice->param;
	return (struct sched_choice){ &sched_contract, { x[0], x[1], x[2], x[3] } };
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct sched_site sum = inner_site(site);
	int n = sched_contract.candidates(&sum, out);
	for (int i = 0; i < n; i++)
		out[i].rule = &sched_contract_made;
	return n;
}

static double estimate(const struct sched_site *site, const struct sched_choice *choice)
{
	const struct contract_made *m = site->found;
	const struct contract *c = &m->found.as[choice->param[3]];
	const struct sched_site sum = inner_site(site);
	const struct sched_choice tiles = inner(choice);
	const struct sched_target *t = site->t;
	/* Each element once for each tile along the other operand. */
	enum contract_group own = m->side ? CONTRACT_COLUMN : CONTRACT_ROW,
	                    other = m->side ? CONTRACT_ROW : CONTRACT_COLUMN;
	double elements = (double)about(c->extent[CONTRACT_BATCH], t) * (double)about(c->extent[own], t) *
	                  contract_about_depth(c, t);
	double times = ceil((double)about(c->extent[other], t) / choice->param[m->side ? 0 : 1]);
	double blocks = times * (double)about(c->extent[CONTRACT_BATCH], t) *
	                ceil((double)about(c->extent[own], t) / choice->param[m->side ? 1 : 0]);
	double share = blocks < t->processors ? blocks / t->processors : 1;
	return sched_contract.estimate(&sum, &tiles) + t->launch_ns - cost_following(t) +
	       elements * times * ir_cost(c->side[m->side].value) / cost_mixed_rate(t) / share;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *choice)
{
	const struct contract_made *m = site->found;
	struct contract c = m->found.as[choice->param[3]];
	contract_pack(plan, &c, choice, site->t);
	contract_kernels(plan, step_new(plan), &c, choice);
}

const struct sched_rule sched_contract_made = {
	.name = "contract_made",
	.version = 1,
	.about = "A block computes a tile of {rows} x {columns} elements, {depth} products of each at a "
	         "time. It computes the elements of one operand where it would load them.",
	.param = { { "rows", 16, 128 }, { "columns", 32, 256 }, { "depth", 8, 128 }, { "packed", 0, 2 } },
	.heavy = true,
	.none = "the GPU has no tensor cores for these types",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
