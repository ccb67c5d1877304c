/* Scatters: the buffer is filled with `init`, then the updates are applied in row-major order of their space. */
#include "eval/nest.h"

struct scatter_stage {
	const struct eval_buffer *out;
	enum ir_combine combine;
	enum type type;   /* of the values before conversion */
	int value, where; /* registers; where: -1 for always */
	struct access *at;
};

double eval_combine_floats(enum ir_combine c, double x, double y)
{
	switch (c) {
	case IR_SUM: return x + y;
	case IR_PROD: return x * y;
	case IR_MAXIMUM: return y > x || y != y ? y : x;
	case IR_MINIMUM: return y < x || y != y ? y : x;
	default: return y;
	}
}

int64_t eval_combine_ints(enum ir_combine c, bool u64, int64_t x, int64_t y)
{
	bool less = u64 ? (uint64_t)x < (uint64_t)y : x < y;
	switch (c) {
	case IR_SUM: return (int64_t)((uint64_t)x + (uint64_t)y);
	case IR_PROD: return (int64_t)((uint64_t)x * (uint64_t)y);
	case IR_MAXIMUM: return less ? y : x;
	case IR_MINIMUM: return less ? x : y;
	case IR_ALL: return x && y;
	case IR_ANY: return x || y;
	default: return y;
	}
}

static void update(const struct scatter_stage *s, enum kind kind, int64_t at, const void *value, int lane)
{
	const struct eval_buffer *o = s->out;
	if (type_is_float(s->type)) {
		double y = kind == KIND_F32 ? (double)((const float *)value)[lane] : ((const double *)value)[lane];
		if (s->combine != IR_NONE)
			y = eval_combine_floats(s->combine, type_load_float(o->type, o->data, at), y);
		type_store_float(o->type, o->data, at, y, false);
	} else {
		int64_t y = kind == KIND_I32 ? ((const int32_t *)value)[lane] : ((const int64_t *)value)[lane];
		if (s->combine != IR_NONE)
			y = eval_combine_ints(s->combine, o->type == TYPE_U64, type_load_int(o->type, o->data, at), y);
		type_store_int(o->type, o->data, at, y);
	}
}

static bool scatter_unit(const struct nest *n, struct nest_worker *w, int64_t unit, int first)
{
	const struct scatter_stage *s = n->stage;
	int64_t at[EVAL_LANES];
	(void)unit;
	if (!eval_code_run(&w->body, first, n->outer))
		return false;
	const struct reg *value = &n->body.regs.at[s->value];
	const int32_t *where = s->where >= 0 ? w->body.r[s->where] : NULL;
	bool where_varies = where && n->body.regs.at[s->where].varying;
	eval_positions(&w->body, s->at, at);
	for (int l = 0; l < w->body.n; l++)
		if (!where || where[where_varies ? l : 0])
			update(s, value->kind, at[l], w->body.r[s->value], value->varying ? l : 0);
	return true;
}

int eval_scatter(struct eval_run *run, const struct ir_stage *stage, struct eval_ready *ready)
{
	struct scatter_stage *s = NEW(run->arena, struct scatter_stage);
	const struct eval_buffer *out = &run->buffer[stage->out->id];
	struct nest *n = NEW(run->arena, struct nest);
	struct code *c = &n->body;
	int64_t updates = 1;
	*s = (struct scatter_stage){ .out = out, .combine = stage->combine, .where = -1 };
	TRY(eval_map(run, out, stage->init, ready));
	n->run = run;
	n->unit = scatter_unit;
	n->stage = s;
	n->space.rank = stage->space_rank;
	for (int k = 0; k < stage->space_rank; k++) {
		TRY(eval_extent(run, stage->space[k], &n->space.extent[k]));
		updates *= n->space.extent[k];
	}
	if (updates == 0)
		return 0;
	nest_lanes(&n->space, 0, n->space.rank);
	eval_code_init(c, run, &n->space, run->arena);
	if (stage->where)
		TRY(eval_compile(c, stage->where, -1, &s->where));
	TRY(eval_access_new(c, stage->out, stage->at, s->where, true, &s->at));
	TRY(eval_compile(c, stage->value, s->where, &s->value));
	s->type = stage->value->type;
	if (type_is_float(s->type) != type_is_float(out->type) || (s->type == TYPE_BOOL) != (out->type == TYPE_BOOL)) {
		s->value = eval_convert(c, s->value, s->type, out->type, false);
		s->type = out->type;
	}
	nest_loops(n, n->space.rank);
	nest_finish(n);
	nest_ready(n, 1, ready);
	return 0;
}
