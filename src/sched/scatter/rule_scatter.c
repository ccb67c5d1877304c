/* Rule scatter: one kernel fills the result, a second applies the updates, `width` neighbours per thread, or two or one
 * where rows are no such vectors, with atomics where two may hit the same element. It takes every scatter. */
#include "sched/scatter/scatter.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>

#include "ir/axis_names.h"

enum { THREADS = 256, BYTES = 16, SECTOR = 32, PAIR = 2 };

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_SCATTER)
		return s;
	*why = "the stage is not a scatter";
	return NULL;
}

/* True if updates along their last axis are contiguous in the result. */
static bool in_rows(const struct ir_stage *s)
{
	int last = s->space_rank - 1, inner = s->out->rank - 1;
	if (last < 0 || inner < 0 || s->at[inner]->op != IR_AXIS || s->at[inner]->i != last ||
	    type_is_packed(s->out->type))
		return false;
	bool used[IR_MAX_RANK] = { false };
	if (s->where)
		ir_mark_axes(s->where, used);
	for (int k = 0; k < inner; k++)
		ir_mark_axes(s->at[k], used);
	return !used[last];
}

/* bool: rows of updates and of the result are whole vectors. */
static expr whole_vectors(struct ir_program *p, const struct ir_stage *s, int width)
{
	return ir_binary(IR_AND, whole_multiple(p, s->space[s->space_rank - 1], width),
	                 whole_multiple(p, s->out->dim[s->out->rank - 1], width));
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->s;
	int n = 0;
	for (int width = BYTES * 8 / type_info(s->out->type)->bits; width > 1; width /= 2)
		if (in_rows(s) && !ir_is_int(whole_vectors(site->p, s, width), 0))
			out[n++] = (struct sched_choice){ &sched_scatter, { width } };
	out[n++] = (struct sched_choice){ &sched_scatter, { 1 } };
	return n;
}

/* The map that makes the result before any update. */
static struct ir_stage fill_of(const struct ir_stage *s)
{
	return (struct ir_stage){ .kind = IR_MAP, .out = s->out, .value = s->init };
}

/* Nanoseconds that updates of the same memory take, one after the other: the L2 cache makes those of a sector in turn.
 * Measured on an H200 with 20 to 2,000 rows of 1 to 1,000 numbers. */
static double waits_for_others(const struct ir_stage *s, double outs, double updates, bool along)
{
	enum { ROW_NS = 20, SINGLE_NS = 10, WARP = 32 };
	double sectors = fmax(outs * type_info(s->out->type)->bits / 8 / SECTOR, 1);
	if (s->combine == IR_NONE)
		return 0;
	if (along)
		return updates / fmax(outs, 1) * ROW_NS;
	return updates / WARP * (1 - pow(1 - 1 / sectors, WARP)) * SINGLE_NS;
}

/* Measured on an H100: 4 M updates of f16 at random positions take 110 us; 5 M along rows of 256 take about 20,
 * vectorised 7. */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	enum { UPDATE_OPERATIONS = 60 };
	struct ir_stage fill = fill_of(s);
	struct sched_choice fill_choice[SCHED_RULE_CHOICES];
	rule_candidates(sched_rule_of_maps, p, &fill, t, fill_choice);
	double size = type_info(s->out->type)->bits / 8.0, updates = (double)about(space_count(p, s), t);
	bool along = in_rows(s), fits = c->param[0] > 1 && about_holds(whole_vectors(p, s, c->param[0]), t);
	double width = fits ? c->param[0] : c->param[0] > PAIR && about_holds(whole_vectors(p, s, PAIR), t) ? PAIR : 1;
	double bytes =
	        scatter_bytes_read(p, s, t) + updates * (along ? size : SECTOR) * (s->combine == IR_NONE ? 1 : 2);
	double full = cost_rate_reached(updates / cost_full_threads(t));
	double work = updates / width * UPDATE_OPERATIONS / cost_mixed_rate(t);
	double narrow = 1 + 0.01 * (BYTES / (width * size) - 1); /* of equal estimates the widest */
	double filled = s->out->replaces ? 0 : sched_estimate(p, &fill, &fill_choice[0], t) + t->launch_ns;
	double met = waits_for_others(s, (double)about(out_count(p, s), t), updates, along);
	return filled + fmax(fmax(bytes / t->bytes_per_ns, work) * narrow / full, met);
}

/* Emits the updates of `width` neighbours, the first one at `axis`. */
static void emit_updates(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, const expr *axis,
                         int width)
{
	int last = s->space_rank - 1;
	struct scatter_vectors l = { .p = p, .axis = last, .width = width, .number = 1, .extent = s->space[last] };
	struct axes start = { .value = axis };
	expr v, lane[IR_MAX_RANK], at = scatter_place(p, s, 0, axis);
	struct ir_variable *result = ir_variable_new(p->pool, s->out->type, "%s_v", s->out->name);
	scatter_vectors_find(&l, s->value);
	for (int i = 0; i < l.load.n; i++) {
		expr e = l.load.at[i];
		emit_load_vector(p, b, e->buf, to_kernel(p, ir_flat(p->pool, e->buf, e->arg), &start),
		                 scatter_vector(&l, i), width);
	}
	emit_array(p, b, result, width);
	struct ir_block *items = emit_unrolled(p, b, "v", width, &v);
	l.v = v;
	for (int k = 0; k < s->space_rank; k++)
		lane[k] = k == last ? ir_binary(IR_ADD, axis[k], v) : axis[k];
	struct axes here = { .value = lane, .load = scatter_vectors_item, .user = &l };
	emit_set(p, items, result, v, to_kernel(p, s->value, &here));
	if (s->combine == IR_NONE) {
		emit_store_vector(p, b, s->out, at, result, width);
	} else if (s->combine == IR_SUM) {
		struct ir_call *call = emit_invoke(p, b, &device_atomic_add_vector, IR_OF_NOTHING);
		add_address(p, call, s->out, at, true);
		add_variable(p, call, result);
	} else {
		items = emit_unrolled(p, b, "v", width, &v);
		emit_update(p, items, s, flat_view(p, s->out), ir_binary(IR_ADD, at, v), item_of(result, v));
	}
}

/* The kernel that applies the updates, `width` neighbours per thread. */
static void apply_updates(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s,
                          const struct sched_choice *c, int width)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k =
	        kernel_new(plan, s, width > 1 ? arena_printf(p->arena, "_update_x%d", width) : "_update", c);
	bool used[IR_MAX_RANK] = { false };
	expr axis[IR_MAX_RANK] = { NULL }, count = space_count(p, s);
	expr element = declare_element(p, k, count, THREADS, width);
	scatter_axes_read(s, used);
	declare_axes(p, &k->body, element, s->space_rank, s->space, ir_axis_names[1], used, axis);
	struct axes here = { .value = axis };
	struct ir_block *b = s->where ? emit_if(p, &k->body, to_kernel(p, s->where, &here)) : &k->body;
	if (width > 1) {
		emit_updates(p, b, s, axis, width);
		kernel_needs(k, whole_vectors(p, s, width));
	} else {
		emit_update_of_result(p, b, s, scatter_place(p, s, 0, axis), to_kernel(p, s->value, &here));
	}

	/* Serial twin: the first block applies all updates in order. */
	expr block = ir_block(p->pool, k->blocks);
	b = emit_if(p, &k->serial, ir_binary(IR_EQ, block, ir_index(p->pool, 0)));
	emit_serial_updates(p, b, s, 0, axis);
	kernel_finish(plan, step, k, s);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct ir_stage *fill = NEW(p->arena, struct ir_stage);
	struct sched_choice fill_choice[SCHED_RULE_CHOICES];
	*fill = fill_of(s);
	rule_candidates(sched_rule_of_maps, p, fill, site->t, fill_choice);
	int first = plan->steps.n;
	apply_choice(plan, fill, &fill_choice[0], site->t);
	for (int i = first; i < plan->steps.n && s->out->replaces; i++)
		vec_each (k, plan->steps.at[i])
			(*k)->fills = s->out;

	struct ir_step *step = step_new(plan);
	if (c->param[0] > 1)
		apply_updates(plan, step, s, c, c->param[0]);
	if (c->param[0] > PAIR && !step_fits_all(step)) /* rows of an even length */
		apply_updates(plan, step, s, c, PAIR);
	if (!step_fits_all(step))
		apply_updates(plan, step, s, c, 1);
}

const struct sched_rule sched_scatter = {
	.name = "scatter",
	.version = 2,
	.about = "One kernel fills the result, and another applies the updates, up to {width element} in a "
	         "thread.",
	.param = { { "width", 1, 16 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
