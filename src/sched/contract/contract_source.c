/* Contractions with an operand that the map before them computes, and nothing else reads. See contract.h. */
#include "sched/contract/contract.h"
#include "sched/build/axes.h"

const struct ir_stage *contract_only_reader(const struct ir_program *p, const struct ir_stage *s)
{
	const struct ir_stage *next = NULL;
	for (int i = 0; i + 1 < p->stages.n && !next; i++)
		next = p->stages.at[i] == s ? p->stages.at[i + 1] : NULL;
	vec_each (other, &p->stages)
		if (next && *other != next && ir_stage_reads(*other, s->out))
			return NULL;
	return next && ir_stage_reads(next, s->out) ? next : NULL;
}

struct computed {
	const struct ir_stage *map;
};

static expr computed(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct ir_stage *map = ((const struct computed *)user)->map;
	return e->op == IR_LOAD && e->buf == map->out ? ir_bind_axes(pool, map->value, arg) : NULL;
}

expr contract_with_map(struct ir_program *p, expr value, const struct ir_stage *map)
{
	return ir_copy(p->pool, value, computed, &(struct computed){ map });
}

/* A load of the map's result, as a load of the copy. */
struct copied {
	const struct ir_buffer *result;
	expr load;
};

static expr from_copy(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct copied *x = user;
	(void)pool, (void)arg;
	return e->op == IR_LOAD && e->buf == x->result ? x->load : NULL;
}

/* The stage, reading the copy. `load`: the operand's element there, over the contraction's axes. */
static const struct ir_stage *reading_copy(const struct contract *c, const struct ir_stage *s, expr load)
{
	struct ir_stage *made = NEW(c->p->arena, struct ir_stage);
	expr axis[2 * IR_MAX_RANK];
	int rank = s->out->rank;
	for (int i = 0; i < rank; i++)
		axis[i] = ir_axis(c->p->pool, i, s->out->dim[i]);
	for (int i = 0; i < s->space_rank; i++)
		axis[rank + i] = ir_axis(c->p->pool, rank + i, s->space[i]);
	struct copied x = { c->source->out, ir_bind_axes(c->p->pool, load, axis) };
	*made = *s;
	made->value = ir_copy(c->p->pool, s->value, from_copy, &x);
	return made;
}

void contract_read_copy(struct contract *c, expr load)
{
	bool same = c->s == c->whole;
	c->whole = c->made[0] = reading_copy(c, c->whole, load);
	c->s = same ? c->whole : reading_copy(c, c->s, load);
}
