/* Rule contract_placed: a sum of products with an operand that a map before it computes, such as a quantisation, if
 * nothing else reads the map's result and the products need it transposed or padded. The map's kernel stores its
 * results there at once, so that they are not stored and copied. The rest is rule contract_wide, or rule contract where
 * `split` is 0; `slots` is then its depth. See contract.h. */
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/contract/contract.h"
#include "sched/core/choose.h"

#include <math.h>

enum { PLAIN, WIDE, RULES };

struct contract_placed {
	const struct ir_stage *sum;
	const void *found[RULES]; /* the rules' matches of it; null: none */
	bool copied[RULES][CONTRACT_PACKINGS];
};

static const struct sched_rule *rule_of(int which)
{
	return which == WIDE ? &sched_contract_wide : &sched_contract;
}

/* True if only the copy of one operand reads the buffer. */
static bool only_copied(const struct contract_found *f, int packing, const struct ir_buffer *b)
{
	const struct contract *c = &f->as[packing], *plain = &f->as[CONTRACT_AS_IT_IS];
	int copies = 0;
	if (plain->s != plain->whole || plain->parts) /* its axes are divided */
		return false;
	for (int side = 0; side < 2 && f->fits[packing]; side++) {
		const struct contract_operand *o = &c->side[side];
		bool copied = o->pack && ir_reads(o->pack->value, b);
		if (ir_reads(o->value, b) || o->computed || (f->sums.has[side] && copied))
			return false;
		copies += copied;
	}
	return copies == 1;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct contract_placed m = { 0 };
	const char *none;
	bool any = false;
	*why = "the stage is not a map that only the next stage reads, a sum of products, after transposing or padding "
	       "it";
	if (s->kind != IR_MAP || s->out->role != IR_TEMP)
		return NULL;
	m.sum = contract_only_reader(p, s);
	if (!m.sum || m.sum->kind != IR_REDUCE || (m.sum->post && ir_reads(m.sum->post, s->out)))
		return NULL;
	for (int which = 0; which < RULES; which++) {
		m.found[which] = sched_match(p, m.sum, rule_of(which), &none);
		for (int i = 0; i < CONTRACT_PACKINGS && m.found[which]; i++) {
			m.copied[which][i] = only_copied(m.found[which], i, s->out);
			any |= m.copied[which][i];
		}
	}
	return any ? FOUND(p, m) : NULL;
}

/* ---- The choice of the other rule that a choice contains. */

static int which_of(const struct sched_choice *choice)
{
	return choice->param[4] ? WIDE : PLAIN;
}

static struct sched_choice inner(const struct sched_choice *choice)
{
	struct sched_choice c = *choice;
	c.rule = rule_of(which_of(choice));
	if (c.rule == &sched_contract)
		c = (struct sched_choice){ c.rule, { c.param[0], c.param[1], c.param[2], c.param[6] } };
	return c;
}

static int packing_of(const struct sched_choice *inner)
{
	return inner->param[inner->rule == &sched_contract ? 3 : 6];
}

static struct sched_choice outer(const struct sched_choice *inner)
{
	struct sched_choice c = *inner;
	if (c.rule == &sched_contract)
		c = (struct sched_choice){ .param = { c.param[0], c.param[1], c.param[2], 0, 0, 0, c.param[3] } };
	c.rule = &sched_contract_placed;
	return c;
}

static struct sched_site inner_site(const struct sched_site *site, int which)
{
	const struct contract_placed *m = site->found;
	return (struct sched_site){ site->p, m->sum, site->t, m->found[which] };
}

/* ---- The rule. */

static int span(const struct sched_site *site)
{
	const struct contract_placed *m = site->found;
	const struct contract_found *f = m->found[m->found[WIDE] ? WIDE : PLAIN];
	return 1 + f->stages;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct contract_placed *m = site->found;
	struct sched_choice list[SCHED_RULE_CHOICES];
	int n = 0;
	for (int which = WIDE; which >= PLAIN; which--) {
		int found = m->found[which] ? rule_candidates(rule_of(which), site->p, m->sum, site->t, list) : 0;
		for (int i = 0; i < found && n < SCHED_RULE_CHOICES; i++)
			if (m->copied[which][packing_of(&list[i])])
				out[n++] = outer(&list[i]);
	}
	return n;
}

struct sources {
	struct ir_program *p;
	const struct sched_target *t;
	double points, bytes;
	int rank;
};

static void add_source(void *user, expr e)
{
	struct sources *x = user;
	if (e->op == IR_LOAD)
		x->bytes += about_bytes_loaded(x->p, e, x->rank - 1, x->points, x->t);
}

/* The other rule's time, with what the map reads and does instead of reading its results. */
static double estimate(const struct sched_site *site, const struct sched_choice *choice)
{
	const struct sched_choice own = inner(choice);
	const struct sched_site sum = inner_site(site, which_of(choice));
	const struct sched_target *t = site->t;
	const struct ir_stage *map = site->s;
	struct sources x = { site->p, t, (double)about(ir_buffer_count(site->p, map->out), t), 0, map->out->rank };
	ir_walk(map->value, add_source, &x);
	double read = contract_copy_time(x.points * type_info(map->out->type)->bits / 8, t);
	double loaded = contract_copy_time(x.bytes, t), work = x.points * ir_cost(map->value) / cost_mixed_rate(t);
	return own.rule->estimate(&sum, &own) + fmax(loaded, work - read) - read;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *choice)
{
	const struct sched_choice own = inner(choice);
	const struct sched_site sum = inner_site(site, which_of(choice));
	int steps = plan->steps.n;
	(own.rule == &sched_contract_wide ? contract_wide_apply : contract_apply)(plan, &sum, &own, site->s);
	decided_by(plan, steps, choice, sched_params_text(choice, plan->program->arena));
}

const struct sched_rule sched_contract_placed = {
	.name = "contract_placed",
	.version = 1,
	.param = { { "rows", 16, 256 },
	           { "columns", 32, 256 },
	           { "slots", 4, 128 },
	           { "blocks", 0, 4096 },
	           { "split", 0, 8 },
	           { "share", 0, 1 },
	           { "packed", 0, 3 },
	           { "turns", 0, 1 } },
	.heavy = true,
	.none = "the GPU has no tensor cores for these types",
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
