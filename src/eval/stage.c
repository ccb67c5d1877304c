/* Stages of all kinds: prepared, and run. */
#include "eval/nest.h"

/* Prepares and runs a stage: inside a loop, in every iteration. */
static int run_whole(struct eval_run *run, void *user)
{
	const struct ir_stage *s = user;
	struct arena_mark mark = arena_mark(run->arena);
	bool brief = run->brief;
	run->brief = true;
	int rc = s->kind == IR_COMPACT ? eval_compact(run, s)
	                               : err_set(run->err, ERR_UNSUPPORTED,
	                                         "Program %s, stage %s: such a stage cannot be interpreted.",
	                                         run->program->name, run->stage);
	run->brief = brief;
	arena_release(run->arena, mark);
	return rc;
}

int eval_prepare(struct eval_run *run, const struct ir_stage *s, struct eval_ready *out)
{
	*out = (struct eval_ready){ .stage = s->out->name };
	run->stage = out->stage;
	switch (s->kind) {
	case IR_MAP: return eval_map(run, &run->buffer[s->out->id], s->value, out);
	case IR_REDUCE: return eval_reduce(run, s, out);
	case IR_SCATTER: return eval_scatter(run, s, out);
	case IR_SCAN: return eval_scan(run, s, out);
	case IR_SORT: return eval_sort(run, s, out);
	case IR_PICK: return eval_pick(run, s, out);
	case IR_LOOP: return eval_loop(run, s, out);
	case IR_COMPACT: break;
	}
	struct eval_part whole = { .fn = run_whole, .user = (void *)(uintptr_t)s };
	vec_push(run->arena, out, whole);
	return 0;
}

int eval_ready_run(struct eval_run *run, const struct eval_ready *r)
{
	run->stage = r->stage;
	vec_each (part, r)
		TRY(part->nest ? nest_run(part->nest, part->workers) : part->fn(run, part->user));
	return 0;
}

int eval_stage(struct eval_run *run, const struct ir_stage *s)
{
	struct eval_ready ready;
	TRY(eval_prepare(run, s, &ready));
	return eval_ready_run(run, &ready);
}
