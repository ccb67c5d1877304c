/* Rule reduce_columns: neighbouring threads make neighbouring elements of a reduction's result, as the elements lie next to
 * each other in what is reduced, too; `parts` rows of such threads share the reduced axes. */
#include "sched/build.h"

#include "ir/axis_names.h"

enum { COLUMNS = 32 };

static bool applicable(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_REDUCE && s->out->rank && s->space_rank)
		return true;
	*why = "the stage is no reduction over some axes to others";
	return false;
}

static int candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                      struct sched_choice *out)
{
	int64_t points = about(reduced_count((struct ir_program *)p, s), t);
	int n = 0;
	for (int parts = 32; parts >= 4; parts /= 2)
		if (parts == 4 || points >= 2 * parts)
			out[n++] = (struct sched_choice){ &sched_reduce_columns, { parts } };
	return n;
}

/* One element by `parts` threads, of which this is `part`; serial: by one alone. */
static void one_column(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr element, expr part, int parts)
{
	int rank = s->out->rank;
	bool used[2 * IR_MAX_RANK] = { false };
	expr axis[2 * IR_MAX_RANK] = { NULL }, points = reduced_count(p, s), count = out_count(p, s);
	expr inside = ir_binary(IR_LT, element, count), own = ir_var(p->pool, TYPE_INDEX, "element", count);
	struct accumulator a;
	axes_read(s, used);
	declare_axes(p, b, own, rank, s->out->dim, ir_axis_names[0], used, axis);
	a = accumulator_begin(p, b, s);
	struct ir_block *body = part ? emit_if(p, b, inside) : b;
	const char *name = s->space_rank == 1 ? ir_axis_names[1][0] : "point";
	body = emit_for(p, body, name, part ? part : ir_index(p->pool, 0), points, ir_index(p->pool, part ? parts : 1));
	expr point = ir_var(p->pool, TYPE_INDEX, name, points);
	if (s->space_rank == 1)
		axis[rank] = point;
	else
		declare_axes(p, body, point, s->space_rank, s->space, ir_axis_names[1], used + rank, axis + rank);
	struct axes in = { .value = axis };
	accumulate(&a, body, to_kernel(p, s->value, &in), point);
	if (part) {
		struct ir_stmt *all = emit(p, b, IR_LANES_COMBINE);
		all->name = a.value->name;
		all->name2 = a.position ? a.position->name : NULL;
		all->type = a.value->type;
		all->width = parts;
		all->columns = COLUMNS;
		all->combine = s->combine;
		b = emit_if(p, b, ir_binary(IR_AND, ir_binary(IR_EQ, part, ir_index(p->pool, 0)), inside));
	}
	emit_store(p, b, s->out, own, accumulator_result(&a, axis, out_position(p, s), own));
}

static void apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	int parts = c->param[0];
	expr columns = ir_index(p->pool, COLUMNS), count = out_count(p, s);
	k->threads = COLUMNS * parts;
	k->blocks = ceil_div(p, count, COLUMNS);
	expr block = ir_var(p->pool, TYPE_INDEX, IR_BLOCK, k->blocks);
	expr thread = ir_var(p->pool, TYPE_INDEX, IR_THREAD, ir_index(p->pool, k->threads));
	expr first = ir_binary(IR_MUL, block, columns);
	expr part = emit_constant(p, &k->body, "part", ir_binary(IR_FLOORDIV, thread, columns), ir_index(p->pool, parts));
	expr element = emit_constant(p, &k->body, "element", ir_binary(IR_ADD, first, ir_binary(IR_MOD, thread, columns)), NULL);
	one_column(p, &k->body, s, element, part, parts);

	/* The same elements on one processor. */
	struct ir_block *b = emit_for(p, &k->serial, "element", first, ir_binary(IR_MIN, count, ir_binary(IR_ADD, first, columns)),
	                              ir_index(p->pool, 1));
	one_column(p, b, s, ir_var(p->pool, TYPE_INDEX, "element", count), NULL, 1);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_reduce_columns = {
	.name = "reduce_columns",
	.version = 1,
	.help = "neighbouring threads make neighbouring elements; `parts` threads share each",
	.params = { "parts" },
	.applicable = applicable,
	.candidates = candidates,
	.apply = apply,
};
