/* Scans: computes the values of the whole space, accumulates along the axis, then evaluates the post expression. As in
 * reductions, floats accumulate in double and integers wrap in their type. */
#include <math.h>

#include "eval/nest.h"

struct post_stage {
	const struct ir_stage *stage;
	const struct eval_buffer *out;
	struct eval_buffer values, sums;
	int acc, result; /* registers */
};

static void *scratch_data(struct eval_run *run, enum type t, int64_t count)
{
	return arena_alloc(run->arena, (size_t)type_bytes(t, count) + 16);
}

static void accumulate_floats(const struct ir_stage *s, const struct eval_buffer *values, double *sum, int64_t at,
                              int64_t step, int64_t n)
{
	double y = s->combine == IR_PROD      ? 1
	           : s->combine == IR_MAXIMUM ? -(double)INFINITY
	           : s->combine == IR_MINIMUM ? (double)INFINITY
	                                      : 0;
	for (int64_t k = 0; k < n; k++, at += step) {
		double next = eval_combine_floats(s->combine, y, type_load_float(values->type, values->data, at));
		sum[at] = s->exclusive ? y : next;
		y = next;
	}
}

static void accumulate_ints(const struct ir_stage *s, const struct eval_buffer *values, void *sum, int64_t at,
                            int64_t step, int64_t n)
{
	enum type t = values->type;
	int64_t y = s->combine == IR_PROD      ? 1
	            : s->combine == IR_MAXIMUM ? type_min(t)
	            : s->combine == IR_MINIMUM ? type_max(t)
	                                       : 0;
	for (int64_t k = 0; k < n; k++, at += step) {
		int64_t next = eval_combine_ints(s->combine, t == TYPE_U64, y, type_load_int(t, values->data, at));
		type_store_int(t, sum, at, s->exclusive ? y : next);
		y = next;
	}
}

static int accumulate(struct eval_run *run, void *user)
{
	const struct post_stage *post = user;
	const struct ir_stage *s = post->stage;
	const struct eval_buffer *values = &post->values;
	void *sum = post->sums.data;
	int64_t outer = 1, inner = 1, extent = values->dim[s->axis];
	for (int k = 0; k < values->rank; k++) {
		outer *= k < s->axis ? values->dim[k] : 1;
		inner *= k > s->axis ? values->dim[k] : 1;
	}
	for (int64_t row = 0; row < outer * inner; row++) {
		int64_t at = row / inner * extent * inner + row % inner, step = s->reverse ? -inner : inner;
		at += s->reverse ? (extent - 1) * inner : 0;
		if (type_is_float(values->type))
			accumulate_floats(s, values, sum, at, step, extent);
		else
			accumulate_ints(s, values, sum, at, step, extent);
	}
	(void)run;
	return 0;
}

static bool post_unit(const struct nest *n, struct nest_worker *w, int64_t unit, int first)
{
	const struct post_stage *s = n->stage;
	int64_t at = nest_position(n, unit);
	eval_run_load(s->sums.type, s->sums.data, at, w->body.n, w->body.r[s->acc]);
	if (!eval_code_run(&w->body, first, n->outer))
		return false;
	eval_run_store(s->out->type, s->out->data, at, w->body.n, w->body.r[s->result]);
	return true;
}

int eval_scan(struct eval_run *run, const struct ir_stage *stage, struct eval_ready *ready)
{
	struct post_stage *s = NEW(run->arena, struct post_stage);
	enum type t = stage->value->type, made = stage->post ? stage->post->type : t;
	const struct eval_buffer *out = &run->buffer[stage->out->id];
	struct nest *n = NEW(run->arena, struct nest);
	struct code *c = &n->body;
	*s = (struct post_stage){ .stage = stage, .out = out, .values = *out };
	if (out->count == 0)
		return 0;
	s->values.type = t;
	s->values.data = scratch_data(run, t, out->count);
	s->sums = s->values;
	s->sums.type = type_is_float(t) ? TYPE_F64 : t;
	s->sums.data = scratch_data(run, s->sums.type, out->count);
	TRY(eval_map(run, &s->values, stage->value, ready));
	struct eval_part sums = { .fn = accumulate, .user = s };
	vec_push(run->arena, ready, sums);

	n->run = run;
	n->unit = post_unit;
	n->stage = s;
	nest_space_of(&n->space, out);
	nest_lanes(&n->space, 0, n->space.rank);
	eval_code_init(c, run, &n->space, run->arena);
	uint32_t axes = (uint32_t)((UINT64_C(1) << n->space.rank) - 1);
	s->acc = eval_reg_new(c, eval_kind(s->sums.type), n->space.lane_count > 1, axes);
	c->acc = s->result = s->acc;
	if (stage->post)
		TRY(eval_compile(c, stage->post, -1, &s->result));
	s->result = eval_convert(c, s->result, made, out->type, false);
	if (n->space.lane_count > 1)
		s->result = eval_splat(c, s->result);
	nest_loops(n, n->space.rank);
	nest_finish(n);
	nest_ready(n, nest_workers_for(out), ready);
	return 0;
}
