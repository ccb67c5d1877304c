/* Rule map: one thread computes `width` neighbouring elements of a map, with vectorised loads where these are
 * contiguous too. For elements narrower than a byte, a thread computes whole bytes, so that no two threads store into
 * one. Function calls that do not depend on the last axis are computed once per thread. Axes that occur only together
 * count as one. */
#include "sched/map/flat.h"
#include "sched/map/inside.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/stored.h"
#include "sched/build/vectors.h"

#include "ir/axis_names.h"

#include <string.h>

enum { THREADS = 256, MAX_WIDTH = 16, MAX_READ = 256 /* bits, at MAX_WIDTH */ };
enum { MOST_WORK = 48 /* of an element, to compute several in rows that no vector divides */ };

/* The last axis that is longer than 1, or -1. */
static int inner_axis(const struct ir_buffer *b)
{
	for (int k = b->rank - 1; k >= 0; k--)
		if (!ir_is_int(b->dim[k], 1))
			return k;
	return -1;
}

/* ---- The rule. */

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	if (s->kind == IR_MAP)
		return map_joined(p, s);
	*why = "the stage is not a map";
	return NULL;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct ir_stage *s = site->found;
	int n = 0, inner = inner_axis(s->out), bits = type_info(s->out->type)->bits, read = widest_load(s->value);
	for (int width = MAX_WIDTH; width > 1 && inner >= 0; width /= 2) {
		int64_t extent;
		if (bits * width > 128 || bits * width < 8 ||
		    (ir_const_int(s->out->dim[inner], &extent) && extent % width))
			continue;
		/* Measured on an H100: lanes that load 64 bytes each to store 16 take a third longer. */
		if (width == MAX_WIDTH && read * width > MAX_READ)
			continue;
		out[n++] = (struct sched_choice){ &sched_map, { width } };
	}
	out[n++] = (struct sched_choice){ &sched_map, { 1 } };
	return n;
}

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->found;
	const struct sched_target *t = site->t;
	int least = type_is_packed(s->out->type) ? 8 / type_info(s->out->type)->bits : 1;
	const struct map_shape shape = {
		.planes = 1, .axis = -1, .width = c->param[0] > least ? c->param[0] : least, .vectors = c->param[0] > 1
	};
	return map_time(p, s, &shape, t);
}

/* One byte of elements per thread; bits after the last element are zero. */
static void one_byte(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	enum type t = s->out->type;
	int width = 8 / type_info(t)->bits;
	int64_t known;
	expr count = out_count(p, s), element = declare_element(p, k, count, THREADS, width);
	expr lane;
	struct ir_variable *result = ir_variable_new(p->pool, t, "%s_v", s->out->name);
	emit_array(p, &k->body, result, width);
	struct ir_block *b = emit_unrolled(p, &k->body, "v", width, &lane);
	expr place = emit_declare(p, b, "place", ir_binary(IR_ADD, element, lane), NULL);
	if (!ir_const_int(count, &known) || known % width) {
		emit_set(p, b, result, lane, ir_const(p->pool, t, 0));
		b = emit_if(p, b, ir_binary(IR_LT, place, count));
	}
	place = ir_var_of(place->var, count); /* from here on it is known to be in range */
	expr value = map_value_at(p, b, s, place);
	emit_set(p, b, result, lane, value);
	emit_store_vector(p, &k->body, s->out, element, result, width);
	kernel_finish(plan, step, k, s);
}

static void one_element(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s,
                        const struct ir_stage *joined, const struct sched_choice *c)
{
	struct ir_program *p = plan->program;
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	expr element = declare_element(p, k, out_count(p, s), THREADS, 1);
	emit_store(p, &k->body, s->out, element, map_value_at(p, &k->body, joined, element));
	kernel_finish(plan, step, k, s);
}

/* ---- Hoisting: function calls and quotients that all elements of a thread share are computed once, before them. */

struct shared {
	int inner;
	bool *sure, *seen, *differs, *costly; /* by node */
	struct arena *arena;
	struct {
		VEC(expr);
	} found;
};

static void note_node(void *user, expr e)
{
	struct shared *h = user;
	bool function = ir_op_info[e->op].kind == IR_CALL && e->op > IR_ROUND_EVEN;
	h->differs[e->id] = e->op == IR_AXIS && e->i == h->inner;
	h->costly[e->id] = type_is_float(e->type) && (function || e->op == IR_DIV);
	for (int i = 0; i < e->n; i++) {
		h->differs[e->id] |= h->differs[e->arg[i]->id];
		h->costly[e->id] |= h->costly[e->arg[i]->id];
	}
}

static void find_shared(struct shared *h, expr e)
{
	if (h->seen[e->id] || !h->sure[e->id])
		return;
	h->seen[e->id] = true;
	if (e->varies && type_is_float(e->type) && h->costly[e->id] && !h->differs[e->id] && e->op != IR_LOAD) {
		vec_push(h->arena, &h->found, e);
		return;
	}
	for (int i = 0; i < e->n; i++)
		find_shared(h, e->arg[i]);
}

static struct shared shared_of(struct ir_program *p, expr value, int inner)
{
	struct arena *scratch = arena_new();
	struct shared h = { .inner = inner, .arena = p->arena };
	h.sure = NEWN(scratch, bool, value->id + 1);
	h.seen = NEWN(scratch, bool, value->id + 1);
	h.differs = NEWN(scratch, bool, value->id + 1);
	h.costly = NEWN(scratch, bool, value->id + 1);
	ir_walk(value, note_node, &h);
	ir_mark_unconditional(value, h.sure);
	find_shared(&h, value);
	arena_free(scratch);
	return h;
}

/* Declares the shared expressions, and returns the value with their variables. */
static expr declare_shared(struct ir_program *p, struct ir_block *b, const struct shared *h, expr value,
                           const struct axes *start)
{
	expr *with = NEWN(p->arena, expr, h->found.n + 1);
	for (int i = 0; i < h->found.n; i++) {
		const char *name = arena_printf(p->arena, "shared_%d", i);
		with[i] = emit_constant(p, b, name, to_kernel(p, h->found.at[i], start), NULL);
	}
	return h->found.n ? substitute(&(struct substitution){ h->found.at, with, h->found.n }, value) : value;
}

static void several_elements(struct ir_plan *plan, struct ir_step *step, const struct sched_site *site,
                             const struct sched_choice *c)
{
	const struct ir_stage *s = site->found;
	struct ir_program *p = plan->program;
	int width = c->param[0], inner = inner_axis(s->out), rank = s->out->rank;
	struct vector_loads l;
	vector_loads_find(&l, p, s->value, inner, s->out->dim[inner], width);
	struct ir_kernel *k = kernel_new(plan, site->s, arena_printf(p->arena, "_x%d", width), c);
	expr count = out_count(p, s), axis[IR_MAX_RANK], own[IR_MAX_RANK], lane_axis[IR_MAX_RANK];
	bool used[IR_MAX_RANK] = { false };
	expr element = declare_element(p, k, count, THREADS, width), same = map_position(p, s, own);
	const struct ir_variable *v = ir_variable_new(p->pool, TYPE_INDEX, "v");
	l.lane = ir_var_of(v, ir_index(p->pool, width));
	struct axes a = { .value = own,
		          .same = same,
		          .same_as = ir_binary(IR_ADD, element, l.lane),
		          .load = vector_loads_lane,
		          .user = &l };
	struct shared shared = shared_of(p, l.value, inner);
	/* Axes that occur in the value and in the vectors' start positions. */
	ir_mark_axes(to_kernel(p, l.value, &a), used);
	vector_loads_axes(&l, same, used);
	declare_axes(p, &k->body, element, rank, s->out->dim, ir_axis_names[0], used, axis);
	for (int i = 0; i < rank; i++)
		if (!axis[i])
			axis[i] = ir_index(p->pool, 0); /* not met */
	struct axes start = { .value = axis, .same = same, .same_as = element };
	vector_loads_emit(&l, &k->body, &start);
	expr value = declare_shared(p, &k->body, &shared, l.value, &start);
	for (int i = 0; i < rank; i++)
		lane_axis[i] = i == inner ? ir_binary(IR_ADD, axis[i], l.lane) : axis[i];
	a.value = lane_axis;
	struct ir_variable *result = ir_variable_new(p->pool, s->out->type, "%s_v", s->out->name);
	emit_array(p, &k->body, result, width);
	struct ir_block *body = &k->body, *loop;
	struct map_inside m;
	if (map_inside_find(&m, value, inner)) {
		expr last[IR_MAX_RANK];
		memcpy(last, axis, sizeof last);
		last[inner] = ir_binary(IR_ADD, axis[inner], ir_index(p->pool, width - 1));
		expr inside = map_inside_holds(p, &m, &start, &(struct axes){ .value = last });
		inside = emit_constant(p, body, "inside", inside, NULL);
		loop = emit_unrolled_each(p, emit_if(p, body, inside), v, width, &l.lane);
		emit_set(p, loop, result, l.lane, to_kernel(p, m.value, &a));
		body = emit_if(p, body, ir_unary(IR_NOT, inside));
	}
	loop = emit_unrolled_each(p, body, v, width, &l.lane);
	emit_set(p, loop, result, l.lane, to_kernel(p, value, &a));
	emit_store_vector(p, &k->body, s->out, element, result, width)->once = stored_past_caches(p, s, site->t);
	kernel_needs(k, whole_multiple(p, s->out->dim[inner], width));
	kernel_finish(plan, step, k, site->s);
}

/* True if vectors across the ends of rows are expected to be faster than single elements. */
static bool flat_pays(struct ir_program *p, const struct ir_stage *s, int width, const struct sched_target *t)
{
	const double PAYS = 0.9; /* measured on an H100: small ones take longer than estimated */
	const struct map_shape flat = { .planes = 1, .axis = -1, .width = width, .vectors = true, .apart = true };
	const struct map_shape single = { .planes = 1, .axis = -1, .width = 1 };
	return width > 1 && ir_cost(s->value) <= MOST_WORK &&
	       map_time(p, s, &flat, t) < PAYS * map_time(p, s, &single, t);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s, *joined = site->found;
	struct ir_program *p = plan->program;
	struct ir_step *step = step_new(plan);
	int width = c->param[0];
	if (width > 1)
		several_elements(plan, step, site, c);
	if (step_fits_all(step))
		return;
	if (type_is_packed(s->out->type))
		one_byte(plan, step, s, c);
	else if (!flat_pays(p, joined, width, site->t) ||
	         !flat_kernel(plan, step, s, joined, c, &(struct flat_shape){ width, false, 0, "_flat" }))
		one_element(plan, step, s, joined, c);
}

const struct sched_rule sched_map = {
	.name = "map",
	.version = 1,
	.about = "A thread computes {width element}{width> next to each other}.",
	.param = { { "width", 1, 16 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
