/* Compactions: visits the points of the space in row-major order, collects the kept values, and allocates the result
 * once their number is known. */
#include <string.h>

#include "eval/nest.h"

struct compact_stage {
	enum type type;   /* of the values */
	int value, where; /* registers */
	void *kept;
	int64_t *count;
};

static void keep(const struct compact_stage *s, enum kind kind, const void *value, int lane)
{
	int64_t at = (*s->count)++;
	switch (kind) {
	case KIND_F32: type_store_float(s->type, s->kept, at, (double)((const float *)value)[lane], false); break;
	case KIND_F64: type_store_float(s->type, s->kept, at, ((const double *)value)[lane], false); break;
	case KIND_I32: type_store_int(s->type, s->kept, at, ((const int32_t *)value)[lane]); break;
	default: type_store_int(s->type, s->kept, at, ((const int64_t *)value)[lane]); break;
	}
}

static bool compact_unit(const struct nest *n, struct nest_worker *w, int64_t unit, int first)
{
	const struct compact_stage *s = n->stage;
	(void)unit;
	if (!eval_code_run(&w->body, first, n->outer))
		return false;
	const struct reg *value = &n->body.regs.at[s->value];
	const int32_t *where = w->body.r[s->where];
	bool where_varies = n->body.regs.at[s->where].varying;
	for (int l = 0; l < w->body.n; l++)
		if (where[where_varies ? l : 0])
			keep(s, value->kind, w->body.r[s->value], value->varying ? l : 0);
	return true;
}

static int gather(struct eval_run *run, const struct ir_stage *stage, struct compact_stage *s)
{
	struct nest *n = NEW(run->arena, struct nest);
	struct code *c = &n->body;
	int64_t points = 1;
	n->run = run;
	n->unit = compact_unit;
	n->stage = s;
	n->space.rank = stage->space_rank;
	for (int k = 0; k < stage->space_rank; k++) {
		TRY(eval_extent(run, stage->space[k], &n->space.extent[k]));
		points *= n->space.extent[k];
	}
	if (points == 0)
		return 0;
	s->kept = arena_alloc(run->arena, (size_t)type_bytes(s->type, points) + 16);
	nest_lanes(&n->space, 0, n->space.rank);
	eval_code_init(c, run, &n->space, run->arena);
	TRY(eval_compile(c, stage->where, -1, &s->where));
	TRY(eval_compile(c, stage->value, s->where, &s->value));
	nest_loops(n, n->space.rank);
	nest_finish(n);
	return nest_run(n, 1);
}

int eval_compact(struct eval_run *run, const struct ir_stage *stage)
{
	struct compact_stage s = { .type = stage->out->type, .count = run->buffer[stage->count->id].data };
	struct eval_buffer *out = &run->buffer[stage->out->id];
	*s.count = 0;
	TRY(gather(run, stage, &s));
	TRY(eval_size_found(run, stage->count));
	eval_give_memory(run, stage->out);
	if (*s.count)
		memcpy(out->data, s.kept, (size_t)type_bytes(s.type, *s.count));
	return 0;
}
