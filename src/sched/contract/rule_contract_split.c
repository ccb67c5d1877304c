/* Rule contract_split: a sum of products with few tiles and long sums (split-K). A contraction computes `parts` parts
 * of each sum, a second kernel adds them. See contract.h. */
#include "sched/contract/contract.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/core/choose.h"

enum { MOST_PARTS = 32, WAYS = 5 /* 2, 4 ... 32 parts */, LEAST = 64 /* products of a part */ };

struct split_way {
	int parts;
	const struct ir_stage *sum, *add;   /* over a buffer that is not the program's yet */
	const struct contract_found *found; /* rule contract's, for `sum` */
};

struct split_found {
	struct split_way way[WAYS];
	int ways;
};

/* ---- The two stages. */

/* Axes with the part's in front. */
static expr renamed(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	(void)user;
	(void)arg;
	return e->op == IR_AXIS ? ir_axis(pool, (int)e->i + 1, e->arg[0]) : NULL;
}

/* Fills in the stages of `parts` parts of s: `sum` writes `made`, which `add` adds. `sum` says what one part of all
 * would be; contract.parts makes its kernels sum a part. */
static void make_stages(struct ir_program *p, const struct ir_stage *s, int parts, struct ir_buffer *made,
                        struct ir_stage *sum, struct ir_stage *add)
{
	struct ir_pool *pool = p->pool;
	int rank = s->out->rank;
	expr count = ir_index(pool, parts), own[IR_MAX_RANK];
	*sum = *s;
	sum->out = made;
	sum->value = ir_copy(pool, s->value, renamed, NULL);
	sum->post = NULL;

	*add = *s;
	own[0] = ir_axis(pool, rank, count);
	for (int k = 0; k < rank; k++)
		own[k + 1] = ir_axis(pool, k, s->out->dim[k]);
	add->value = ir_load(pool, made, own);
	add->space_rank = 1;
	add->space[0] = count;
}

static void make_extents(struct ir_program *p, const struct ir_stage *s, int parts, expr *dim)
{
	dim[0] = ir_index(p->pool, parts);
	for (int k = 0; k < s->out->rank; k++)
		dim[k + 1] = s->out->dim[k];
}

/* Rule contract's match of `sum`, each way of it in parts. */
static const struct contract_found *match_parts(struct ir_program *p, const struct ir_stage *sum, int parts)
{
	const char *why;
	const struct contract_found *whole = sched_match(p, sum, &sched_contract, &why);
	if (!whole)
		return NULL;
	struct contract_found f = *whole;
	for (int i = 0; i < CONTRACT_PACKINGS; i++)
		f.as[i].parts = parts;
	return FOUND(p, f);
}

static bool take_way(struct split_way *w, struct ir_program *p, const struct ir_stage *s, int parts)
{
	struct ir_buffer *made = NEW(p->arena, struct ir_buffer);
	struct ir_stage *sum = NEW(p->arena, struct ir_stage), *add = NEW(p->arena, struct ir_stage);
	*made = (struct ir_buffer){
		.name = s->out->name, .type = s->value->type, .rank = s->out->rank + 1, .role = IR_TEMP
	};
	make_extents(p, s, parts, made->dim);
	make_stages(p, s, parts, made, sum, add);
	*w = (struct split_way){ parts, sum, add, match_parts(p, sum, parts) };
	return w->found != NULL;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct split_found f = { .ways = 0 };
	int64_t depth;
	if (!sched_match(p, s, &sched_contract, why))
		return NULL;
	*why = "the sums are too short to be worth splitting";
	bool known = ir_const_int(reduced_count(p, s), &depth);
	if (s->out->rank == IR_MAX_RANK)
		return NULL;
	for (int parts = 2; parts <= MOST_PARTS && (!known || depth / parts >= LEAST); parts *= 2)
		f.ways += take_way(&f.way[f.ways], p, s, parts);
	return f.ways ? FOUND(p, f) : NULL;
}

/* ---- Choices. */

static const struct split_way *way_of(const struct sched_site *site, const struct sched_choice *choice)
{
	const struct split_found *f = site->found;
	for (int i = 0; i < f->ways; i++)
		if (f->way[i].parts == choice->param[0])
			return &f->way[i];
	return NULL;
}

/* The choice of rule contract that a choice contains. */
static struct sched_choice inner(const struct sched_choice *choice)
{
	const int *x = choice->param;
	return (struct sched_choice){ &sched_contract, { x[1], x[2], x[3], x[4] } };
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct split_found *f = site->found;
	const struct sched_target *t = site->t;
	int n = 0;
	for (int i = 0; i < f->ways; i++) {
		struct sched_choice list[SCHED_RULE_CHOICES];
		const struct sched_site first = { site->p, f->way[i].sum, t, f->way[i].found };
		int parts = f->way[i].parts, found = sched_contract.candidates(&first, list);
		if (contract_about_depth(&f->way[i].found->as[CONTRACT_AS_IT_IS], t) < LEAST)
			continue;
		for (int k = 0; k < found && n < SCHED_RULE_CHOICES; k++) {
			const int *x = list[k].param;
			double blocks = (double)about(out_count(site->p, first.s), t) / (x[0] * x[1]);
			if (blocks < 8.0 * t->processors) /* more blocks have no use for shorter sums */
				out[n++] = (struct sched_choice){ &sched_contract_split,
					                          { parts, x[0], x[1], x[2], x[3] } };
		}
	}
	return n;
}

static double estimate(const struct sched_site *site, const struct sched_choice *choice)
{
	const struct split_way *w = way_of(site, choice);
	const struct sched_site first = { site->p, w->sum, site->t, w->found };
	const struct sched_choice sum = inner(choice), add = { sched_rule_of_sums, { 0 } };
	enum { WAIT = 1300 /* ns: for a residual, as in the tiles of contract_wide */ };
	const char *why;
	const struct contract_found *whole = sched_match(site->p, site->s, &sched_contract, &why);
	const struct contract *c = whole ? &whole->as[CONTRACT_AS_IT_IS] : NULL;
	double wait = c && !c->plain && contract_results_wait(c) ? WAIT : 0;
	/* The second kernel begins early: its launch is hidden in part, as measured on an H200. */
	return sched_contract.estimate(&first, &sum) + sched_estimate(site->p, w->add, &add, site->t) + wait -
	       0.6 * site->t->launch_ns;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *choice)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	const struct sched_choice sum = inner(choice), add = { sched_rule_of_sums, { 0 } };
	struct ir_stage *first = NEW(p->arena, struct ir_stage), *second = NEW(p->arena, struct ir_stage);
	expr dim[IR_MAX_RANK];
	int steps = plan->steps.n, parts = choice->param[0];
	make_extents(p, s, parts, dim);
	struct ir_buffer *made = ir_buffer_new(p, arena_printf(p->arena, "%s_parts", s->out->name), s->value->type,
	                                       s->out->rank + 1, dim, IR_TEMP);
	make_stages(p, s, parts, made, first, second);
	struct contract c = match_parts(p, first, parts)->as[sum.param[3]];
	contract_pack(plan, &c, choice, site->t);
	contract_kernels(plan, step_new(plan), &c, &sum);
	apply_choice(plan, second, &add, site->t);
	explained_by(plan, steps, choice);
	decided_by(plan, steps, choice, NULL);
	decided_by(plan, plan->steps.n - 1, choice, arena_printf(p->arena, "parts=%d", parts));
}

const struct sched_rule sched_contract_split = {
	.name = "contract_split",
	.version = 2,
	.about = "Each sum is in {parts} parts (split-K). A block computes a part of a tile of {rows} x "
	         "{columns} elements, and a second kernel adds the parts.",
	.param = { { "parts", 2, MOST_PARTS },
	           { "rows", 16, 128 },
	           { "columns", 32, 256 },
	           { "depth", 8, 128 },
	           { "packed", 0, 3 } },
	.heavy = true,
	.none = "the result has tiles enough for the GPU without splitting the sums",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
