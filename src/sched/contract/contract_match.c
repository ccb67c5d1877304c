/* Recognises contractions: sums over axes as they are or split, and the maps after them. See contract.h. */
#include "sched/contract/contract.h"
#include "sched/build/accumulate.h"
#include "sched/build/extents.h"

#include <string.h>

/* ---- The epilogue: maps after the sum over the same elements. */

struct own_loads {
	const struct contract *c;
	expr here; /* position of the current element of out */
	bool any, fine;
};

static void check_own(void *user, expr e)
{
	struct own_loads *o = user;
	if (e->op != IR_LOAD)
		return;
	for (int i = 0; i < o->c->stages; i++)
		if (o->c->made[i]->out == e->buf) {
			o->any = true;
			o->fine &= ir_flat(o->c->p->pool, e->buf, e->arg) == o->here;
		}
}

/* `place`: the program's stage that `whole` is, or computes. */
static void take_maps(struct contract *c, const struct ir_stage *place)
{
	int at = 0;
	while (at < c->p->stages.n && c->p->stages.at[at] != place)
		at++;
	c->made[c->stages++] = c->whole;
	while (++at < c->p->stages.n && c->stages < CONTRACT_STAGES) {
		const struct ir_stage *m = c->p->stages.at[at];
		struct own_loads o = { c, ir_own_position(c->p->pool, c->whole->out), false, true };
		if (m->kind != IR_MAP || m->out->rank != c->whole->out->rank || type_is_packed(m->out->type) ||
		    memcmp(m->out->dim, c->whole->out->dim, sizeof m->out->dim[0] * (size_t)m->out->rank))
			return;
		ir_walk(m->value, check_own, &o);
		if (!o.any || !o.fine)
			return;
		c->made[c->stages++] = m;
	}
}

/* `computed`: operands may be computed from what they load. */
static bool find(struct contract *c, struct ir_program *p, const struct ir_stage *s, const struct ir_stage *place,
                 bool computed)
{
	struct contract split;
	if (s->kind != IR_REDUCE || s->combine != IR_SUM || !s->space_rank || type_is_packed(s->out->type))
		return false;
	/* Data-dependent sizes launch more blocks than tiles: not supported. */
	if (ir_size_limit(p, out_count(p, s)) != out_count(p, s))
		return false;
	bool found = computed ? contract_match_computed_over(c, p, s) : contract_match_over(c, p, s);
	bool gathered = !found || c->side[0].way == CONTRACT_GATHER || c->side[1].way == CONTRACT_GATHER;
	if (!computed && gathered && contract_match_split(&split, p, s))
		*c = split;
	else if (!found)
		return false;
	contract_find_width(c);
	take_maps(c, place);
	return true;
}

bool contract_match(struct contract *c, struct ir_program *p, const struct ir_stage *s)
{
	return find(c, p, s, s, false);
}

bool contract_match_computed(struct contract *c, struct ir_program *p, const struct ir_stage *s,
                             const struct ir_stage *place)
{
	return find(c, p, s, place, true);
}
