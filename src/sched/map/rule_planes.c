/* Rule planes: a map part of whose work does not depend on one of its axes: a resize's positions do not depend on the
 * channel, a rotation's factors not on the head. One thread computes `width` neighbouring elements at each of `planes`
 * positions along that axis, and does the shared work, and the loads that they share, once. It wins while enough
 * threads remain to fill the GPU. */
#include "sched/map/flat.h"
#include "sched/map/gathers.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/stored.h"
#include "sched/build/vectors.h"

#include <string.h>

#include "ir/axis_names.h"

enum {
	THREADS = 256,
	MAX_WIDTH = 8,
	MAX_PLANES = 8,
	MOST_ELEMENTS = 16,
	MOST_BYTES = 64, /* of a thread's results, where loads are shared */
	LEAST_WORK = 12, /* shared; less if loads along the last axis are shared too */
	DIVISION = 4,
	FUNCTION = 8,
	SPLIT = 16 /* work of dividing a position by an extent that is known at run time only */
};

struct planes {
	struct ir_program *p;
	const struct ir_stage *s;
	int axis, inner; /* the axis of the planes; the last axis */
	double shared;   /* work of an element that is independent of the axis */
	bool loads;      /* that work is little more than loads along the last axis */
};

/* ---- Dependence on axes. */

struct dependence {
	uint32_t *axes; /* by node: one bit per axis */
	double *work;   /* by axis: of nodes that depend on other axes only */
	int *loads;     /* by axis: loads along the last axis that do not depend on it */
	double all;
	int rank, inner;
};

static double work_of(expr e)
{
	if (e->op == IR_LOAD)
		return 2;
	if (e->op == IR_FLOORDIV || e->op == IR_MOD || e->op == IR_DIV)
		return DIVISION;
	return e->n == 0 || e->op == IR_AXIS                                ? 0
	       : ir_op_info[e->op].kind == IR_CALL && e->op > IR_ROUND_EVEN ? FUNCTION
	                                                                    : 1;
}

static void note_node(void *user, expr e)
{
	struct dependence *d = user;
	uint32_t axes = e->op == IR_AXIS ? 1u << e->i : 0;
	for (int i = 0; i < e->n && e->op != IR_AXIS; i++)
		axes |= d->axes[e->arg[i]->id];
	d->axes[e->id] = axes;
	d->all += work_of(e);
	for (int k = 0; k < d->rank; k++)
		if (axes && !(axes & 1u << k)) {
			d->work[k] += work_of(e);
			d->loads[k] += e->op == IR_LOAD && d->inner >= 0 && axes & 1u << d->inner;
		}
}

/* True if the value gathers at positions that planes share, and all sources have a constant stride between planes. */
static bool find_gathers(const struct planes *f, struct gathers *g)
{
	bool fits = gathers_find(g, f->p, f->s->value, f->axis);
	for (int i = 0; i < g->n && fits; i++) {
		expr step = ir_stride(ir_flat(f->p->pool, g->at[i].load->buf, g->at[i].load->arg), f->axis);
		fits = g->at[i].sure && step && !step->varies;
	}
	return fits;
}

/* True if each thread can take `planes` positions along the axis: a divisor of its extent; a power of two, except where
 * loads are shared. Where an open extent may be no multiple, the last thread computes the last position again: measured
 * on an H200, that pays for gathers (0.5 to 0.8 of the time), not for other maps. */
static bool shares(const struct planes *f, int planes)
{
	expr extent = f->s->out->dim[f->axis];
	int64_t n;
	struct gathers g;
	if (planes & (planes - 1) && !f->loads)
		return false;
	return divides(extent, planes) || (!ir_const_int(extent, &n) && find_gathers(f, &g));
}

static bool shares_any(const struct planes *f)
{
	for (int planes = 2; planes <= MAX_PLANES; planes++)
		if (shares(f, planes))
			return true;
	return false;
}

static bool find(struct planes *f, struct ir_program *p, const struct ir_stage *s)
{
	*f = (struct planes){ .p = p, .s = s, .axis = -1, .inner = -1 };
	if (s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1))
			f->inner = k;
	struct arena *scratch = arena_new();
	struct dependence d = { NEWN(scratch, uint32_t, s->value->id + 1),
		                NEWN(scratch, double, IR_MAX_RANK),
		                NEWN(scratch, int, IR_MAX_RANK),
		                0,
		                s->out->rank,
		                f->inner };
	ir_walk(s->value, note_node, &d);
	int64_t extent;
	if (f->inner > 0 && !ir_const_int(s->out->dim[f->inner], &extent)) { /* no vectors could share it */
		d.all += SPLIT;
		for (int k = 0; k < d.rank; k++)
			d.work[k] += SPLIT;
	}
	for (int k = 0; k < f->inner; k++) {
		struct planes along = *f;
		struct gathers g;
		along.axis = k;
		along.shared = d.work[k];
		along.loads = d.work[k] < LEAST_WORK;
		if (along.shared > f->shared && shares_any(&along) &&
		    (!along.loads || (d.loads[k] && !find_gathers(&along, &g))))
			*f = along;
	}
	arena_free(scratch);
	return f->axis >= 0;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct planes f;
	if (find(&f, p, map_joined(p, s)))
		return FOUND(p, f);
	*why = "the stage is not a map that repeats the same work along an axis";
	return NULL;
}

static bool width_fits(const struct planes *f, int width)
{
	return type_info(f->s->out->type)->bits * width <= 128 && divides(f->s->out->dim[f->inner], width);
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	enum { OF_LOADS = 2 };
	int n = 0;
	struct planes f = *(const struct planes *)site->found;
	int bits = type_info(f.s->out->type)->bits;
	/* If only loads are shared, the widest vectors win, with the most planes that they allow: two choices. */
	for (int width = MAX_WIDTH; width >= 1 && !(f.loads && n); width /= 2)
		for (int planes = MAX_PLANES; planes >= 2 && !(f.loads && n == OF_LOADS); planes--)
			if (shares(&f, planes) && (width == 1 || width_fits(&f, width)) &&
			    (f.loads ? width * planes * bits <= MOST_BYTES * 8 : width * planes <= MOST_ELEMENTS))
				out[n++] = (struct sched_choice){ &sched_planes, { planes, width } };
	return n;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const double SHARED_LOADS = 1.3;
	const struct sched_target *t = site->t;
	struct gathers g;
	struct planes f = *(const struct planes *)site->found;
	bool gathered = find_gathers(&f, &g);
	const struct map_shape shape = {
		.planes = c->param[0],
		.axis = f.axis,
		.width = c->param[1],
		.vectors = f.loads && c->param[1] > 1,
		.clamped = gathered,
	};
	int planes = c->param[0], width = c->param[1];
	double time = map_time(f.p, f.s, &shape, t);
	/* Measured on an H100, images and volumes: gathers gain more from many threads than from shared positions. */
	if (gathered)
		time *= (1 + 0.012 * planes * width) * (planes > 2 ? 1.05 : 1) * (width == 1 ? 1.04 : 1);
	/* Measured on an H200: what is loaded again is mostly in the L1 cache. Rotations of rows of 90 f32 take 0.93 of
	 * the time of rule map, for an estimate of 0.74; those of 80 f16 1.14 for 0.85. */
	if (f.loads)
		time = t->launch_ns + SHARED_LOADS * (time - t->launch_ns);
	return time;
}

/* ---- The kernel, with positions in the space where all planes of a thread count as one. */

static expr flat_position(const struct planes *f, const expr *axis)
{
	expr flat = ir_index(f->p->pool, 0);
	for (int i = 0; i < f->s->out->rank; i++)
		flat = ir_binary(IR_ADD, ir_binary(IR_MUL, flat, f->s->out->dim[i]), axis[i]);
	return flat;
}

/* The plane to compute in place of `plane`, counted from the thread's first: no later than the last of the axis. */
static expr plane_within(const struct planes *f, int planes, expr first, expr plane)
{
	expr extent = f->s->out->dim[f->axis];
	if (divides(extent, planes))
		return plane;
	return ir_binary(IR_MIN, plane, ir_binary(IR_SUB, ir_binary(IR_SUB, extent, ir_index(f->p->pool, 1)), first));
}

/* Gathers for a thread: computes each position once, and loads from all planes. `axis`: of the first element. */
static void gathered_planes(struct planes *f, struct gathers *g, struct ir_block *b, int planes, int width,
                            const expr *axis)
{
	struct ir_program *p = f->p;
	expr plane, at[GATHERS_MAX], where[GATHERS_MAX], near[GATHERS_MAX], lane[IR_MAX_RANK];
	struct axes here = { .value = lane, .load = gathers_vector_item, .user = g };
	struct ir_variable *result = ir_variable_new(p->pool, f->s->out->type, "%s_v", f->s->out->name);
	gathers_find_vectors(g, f->s->value, f->inner, width, axis);
	gathers_load_vectors(g, b, axis, false);
	emit_array_of_rows(p, b, result, planes, width);
	struct ir_block *items = emit_unrolled(p, b, "v", width, &g->lane);
	memcpy(lane, axis, sizeof lane);
	lane[f->inner] = ir_binary(IR_ADD, axis[f->inner], g->lane);
	gathers_emit_shared(g, items, &here);
	for (int i = 0; i < g->n; i++) {
		expr load = g->at[i].load, flat = gathers_replace(g, ir_flat(p->pool, load->buf, load->arg), NULL);
		at[i] = emit_constant(p, items, arena_printf(p->arena, "at_%d", i), to_kernel(p, flat, &here), NULL);
		where[i] = g->at[i].where;
		if (where[i])
			where[i] = emit_constant(p, items, arena_printf(p->arena, "in_%d", i),
			                         to_kernel(p, gathers_replace(g, where[i], NULL), &here), NULL);
	}
	struct ir_block *body = emit_unrolled(p, items, "plane", planes, &plane);
	expr within = plane_within(f, planes, axis[f->axis], plane);
	lane[f->axis] = ir_binary(IR_ADD, axis[f->axis], within);
	for (int i = 0; i < g->n; i++) {
		expr load = g->at[i].load, step = ir_stride(ir_flat(p->pool, load->buf, load->arg), f->axis);
		expr from = ir_binary(IR_ADD, at[i], ir_binary(IR_MUL, within, step));
		const char *name = arena_printf(p->arena, "near_%d", i);
		load = ir_load(p->pool, flat_view(p, load->buf), &from);
		if (where[i]) {
			near[i] = emit_variable(p, body, name, g->at[i].other);
			emit_assign(p, emit_if(p, body, where[i]), near[i], load);
		} else {
			near[i] = emit_constant(p, body, name, load, NULL);
		}
	}
	expr value = to_kernel(p, gathers_replace(g, f->s->value, near), &here);
	emit_set_in_row(p, body, result, plane, g->lane, value);
	body = emit_unrolled(p, b, "plane", planes, &plane);
	memcpy(lane, axis, sizeof lane);
	lane[f->axis] = ir_binary(IR_ADD, axis[f->axis], plane_within(f, planes, axis[f->axis], plane));
	emit_store_row(p, body, f->s->out, flat_position(f, lane), result, plane, width);
}

/* The same for other maps. All values are computed before the first is stored: then their loads wait together. */
static void own_planes(const struct planes *f, struct ir_block *b, int planes, int width, expr element, const expr *dim,
                       bool once)
{
	struct ir_program *p = f->p;
	const struct ir_stage *s = f->s;
	struct ir_variable *result = ir_variable_new(p->pool, s->out->type, "%s_v", s->out->name);
	expr own[IR_MAX_RANK], axis[IR_MAX_RANK], here[IR_MAX_RANK], apart = ir_index(p->pool, 1), plane;
	bool used[IR_MAX_RANK] = { false };
	struct vector_loads l = { .p = p, .value = s->value };
	if (width > 1)
		vector_loads_find(&l, p, s->value, f->inner, s->out->dim[f->inner], width);
	l.lane = ir_index(p->pool, 0);
	for (int k = f->axis + 1; k < s->out->rank; k++)
		apart = ir_binary(IR_MUL, apart, s->out->dim[k]);
	expr before = ir_binary(IR_FLOORDIV, element, apart), same = map_position(p, s, own);
	expr skipped = ir_binary(IR_MUL, ir_binary(IR_MUL, before, ir_index(p->pool, planes - 1)), apart);
	expr from = ir_binary(IR_ADD, element, skipped);
	if (from != element)
		from = emit_constant(p, b, "from", from, NULL);
	struct axes a = { .value = own, .same = same, .same_as = from, .load = vector_loads_lane, .user = &l };
	ir_mark_axes(to_kernel(p, l.value, &a), used);
	vector_loads_axes(&l, same, used);
	declare_axes(p, b, element, s->out->rank, dim, ir_axis_names[0], used, axis);
	for (int i = 0; i < s->out->rank; i++)
		axis[i] = axis[i] ? axis[i] : ir_index(p->pool, 0); /* not met */
	axis[f->axis] = ir_binary(IR_MUL, axis[f->axis], ir_index(p->pool, planes));
	struct axes start = { .value = axis, .same = same, .same_as = from };
	vector_loads_emit_along(&l, b, &start, f->axis, false);
	emit_array_of_rows(p, b, result, planes, width);
	struct ir_block *body = emit_unrolled(p, b, "plane", planes, &plane);
	memcpy(here, axis, sizeof here);
	here[f->axis] = ir_binary(IR_ADD, axis[f->axis], plane);
	start.value = here;
	start.same_as = ir_binary(IR_ADD, from, ir_binary(IR_MUL, plane, apart));
	vector_loads_emit_along(&l, body, &start, f->axis, true);
	struct ir_block *items = emit_turns(p, body, "v", width, &l.lane);
	expr lane[IR_MAX_RANK];
	memcpy(lane, here, sizeof lane);
	lane[f->inner] = ir_binary(IR_ADD, here[f->inner], l.lane);
	a.value = lane;
	a.same_as = ir_binary(IR_ADD, start.same_as, l.lane);
	emit_set_in_row(p, items, result, plane, l.lane, to_kernel(p, l.value, &a));
	body = emit_unrolled(p, b, "plane", planes, &plane);
	expr at = ir_binary(IR_ADD, from, ir_binary(IR_MUL, plane, apart));
	emit_store_row(p, body, s->out, at, result, plane, width)->once = once;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct planes f = *(const struct planes *)site->found;
	const struct ir_stage *s = f.s;
	int planes = c->param[0], width = c->param[1], rank = s->out->rank;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, site->s, "", c);
	struct gathers g;
	expr dim[IR_MAX_RANK], axis[IR_MAX_RANK], count = ir_index(p->pool, 1);
	bool used[IR_MAX_RANK];
	for (int i = 0; i < rank; i++) {
		expr more = ir_index(p->pool, divides(s->out->dim[i], planes) ? 0 : planes - 1);
		dim[i] = i == f.axis ? ir_binary(IR_FLOORDIV, ir_binary(IR_ADD, s->out->dim[i], more),
		                                 ir_index(p->pool, planes))
		                     : s->out->dim[i];
		count = ir_binary(IR_MUL, count, dim[i]);
		used[i] = true;
	}
	expr element = declare_element(p, k, count, THREADS, width);
	if (find_gathers(&f, &g)) {
		declare_axes(p, &k->body, element, rank, dim, ir_axis_names[0], used, axis);
		axis[f.axis] = ir_binary(IR_MUL, axis[f.axis], ir_index(p->pool, planes));
		gathered_planes(&f, &g, &k->body, planes, width, axis);
	} else {
		own_planes(&f, &k->body, planes, width, element, dim, stored_past_caches(p, s, site->t));
	}
	kernel_finish(plan, step, k, site->s);
}

const struct sched_rule sched_planes = {
	.name = "planes",
	.version = 2,
	.about = "A thread computes {width element} in each of {planes} planes, and what the planes have in "
	         "common once.",
	.param = { { "planes", 2, 8 }, { "width", 1, 8 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
