/* Rule scatter: one kernel fills the result, a second applies the updates, one thread each, atomically where two may
 * meet. */
#include "sched/build.h"

#include "ir/axis_names.h"

enum { THREADS = 256 };

static bool applicable(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_SCATTER)
		return true;
	*why = "the stage is no scatter";
	return false;
}

static int candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                      struct sched_choice *out)
{
	(void)p;
	(void)s;
	(void)t;
	out[0] = (struct sched_choice){ &sched_scatter, { 0 } };
	return 1;
}

static void emit_update(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, const expr *axis)
{
	struct axes a = { .value = axis };
	expr own[IR_MAX_RANK];
	if (s->where)
		b = emit_if(p, b, to_kernel(p, s->where, &a));
	for (int k = 0; k < s->out->rank; k++)
		own[k] = s->at[k];
	expr at = to_kernel(p, ir_flat(p->pool, s->out, own), &a), value = to_kernel(p, s->value, &a);
	if (s->combine == IR_NONE) {
		emit_store(p, b, s->out, at, value);
		return;
	}
	struct ir_stmt *u = emit(p, b, IR_UPDATE);
	u->buf = flat_view(p, s->out);
	u->combine = s->combine;
	u->type = s->out->type;
	u->at = at;
	u->value = value;
}

static void apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	/* The result before any update is a map like any other. */
	struct ir_stage *fill = NEW(p->arena, struct ir_stage);
	struct sched_choice fill_choice[SCHED_RULE_CHOICES];
	*fill = (struct ir_stage){ .kind = IR_MAP, .out = s->out, .value = s->init };
	sched_map.candidates(p, fill, &sched_default_target, fill_choice);
	sched_map.apply(plan, fill, &fill_choice[0]);

	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "_update", c);
	bool used[IR_MAX_RANK] = { false };
	expr axis[IR_MAX_RANK] = { NULL }, count = space_count(p, s);
	expr element = declare_element(p, k, count, THREADS, 1);
	mark_axes(s->value, used);
	if (s->where)
		mark_axes(s->where, used);
	for (int i = 0; i < s->out->rank; i++)
		mark_axes(s->at[i], used);
	declare_axes(p, &k->body, element, s->space_rank, s->space, ir_axis_names[1], used, axis);
	emit_update(p, &k->body, s, axis);

	/* On one processor all updates belong to the first block, in their order. */
	expr block = ir_var(p->pool, TYPE_INDEX, IR_BLOCK, k->blocks);
	struct ir_block *b = emit_if(p, &k->serial, ir_binary(IR_EQ, block, ir_index(p->pool, 0)));
	for (int i = 0; i < s->space_rank; i++) {
		axis[i] = ir_index(p->pool, 0);
		if (ir_is_int(s->space[i], 1))
			continue;
		b = emit_for(p, b, ir_axis_names[1][i], axis[i], s->space[i], ir_index(p->pool, 1));
		axis[i] = ir_var(p->pool, TYPE_INDEX, ir_axis_names[1][i], s->space[i]);
	}
	emit_update(p, b, s, axis);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_scatter = {
	.name = "scatter",
	.version = 1,
	.help = "fill, then one thread an update",
	.applicable = applicable,
	.candidates = candidates,
	.apply = apply,
};
