/* Maps, and what all stages do with the space of their result. */
#include "eval/nest.h"

struct map_stage {
	const struct eval_buffer *out;
	int value; /* register */
};

static bool map_unit(const struct nest *n, struct nest_worker *w, int64_t unit, int first)
{
	const struct map_stage *s = n->stage;
	if (!eval_code_run(&w->body, first, n->outer))
		return false;
	eval_run_store(s->out->type, s->out->data, nest_position(n, unit), w->body.n, w->body.r[s->value]);
	return true;
}

/* Threads must not share a byte of packed elements. */
int nest_workers_for(const struct eval_buffer *out)
{
	return type_info(out->type)->bits < 8 ? 1 : 0;
}

void nest_space_of(struct eval_space *s, const struct eval_buffer *b)
{
	*s = (struct eval_space){ .rank = b->rank };
	for (int k = 0; k < b->rank; k++)
		s->extent[k] = b->dim[k];
}

int eval_splat_lanes(struct code *c, int reg)
{
	return c->space->lane_count > 1 ? eval_splat(c, reg) : reg;
}

int eval_map(struct eval_run *run, const struct eval_buffer *out, expr value, struct eval_ready *ready)
{
	struct map_stage *s = NEW(run->arena, struct map_stage);
	struct nest *n = NEW(run->arena, struct nest);
	s->out = out;
	n->run = run;
	n->unit = map_unit;
	n->stage = s;
	if (out->count == 0)
		return 0;
	nest_space_of(&n->space, out);
	nest_lanes(&n->space, 0, n->space.rank);
	eval_code_init(&n->body, run, &n->space, run->arena);
	TRY(eval_compile(&n->body, value, -1, &s->value));
	s->value = eval_splat_lanes(&n->body, eval_convert(&n->body, s->value, value->type, out->type, false));
	nest_loops(n, n->space.rank);
	nest_finish(n);
	nest_ready(n, nest_workers_for(out), ready);
	return 0;
}
