/* Rule flat: a map whose row length is not divisible by a wide vector, or that reads rows which begin between vectors,
 * such as slices and padded rows. A thread computes `width` elements that are contiguous in memory, across the ends of
 * rows. They are divided into pieces that divide a row, and the axes of each piece follow from those of the piece
 * before it. The elements of a vector that is not whole, the last one, are computed one by one. */
#include "sched/map/flat.h"
#include "sched/map/flat_vectors.h"
#include "sched/map/inside.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include "ir/axis_names.h"

#include <math.h>
#include <string.h>

enum { THREADS = 256, MAX_WIDTH = 8, BYTES = 16 };
/* Blocks of shifted vectors on a multiprocessor: with more registers the compiler issues all loads before it computes.
 * Measured on an H200 for rotations of 90 f16: 14.9 us; unbounded 15.9, 4 blocks 16.6, 8 blocks 15.3. */
enum { RESIDENT = 6 };

/* True if one of the shifted vectors may begin between those that rule map loads. */
static bool any_between(const struct flat *f)
{
	vec_each (l, &f->found)
		if (l->shifted && !vector_along(f->p, l->load, f->inner, f->s->out->dim[f->inner], f->width))
			return true;
	return false;
}

/* `width` 0: the widest. `shifted`: with the vectors that are not aligned. Returns false if rule map is as good: no
 * such vectors are asked for or found, and rows are whole vectors. */
static bool find(struct flat *f, struct ir_program *p, const struct ir_stage *s, int width, bool shifted)
{
	int64_t extent = 1;
	expr own[IR_MAX_RANK];
	int bits = type_info(s->out->type)->bits;
	*f = (struct flat){ .p = p, .s = s, .inner = -1, .piece = 1 };
	if (s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1))
			f->inner = k;
	if (f->inner < 0)
		return false;
	f->own = map_position(p, s, own);
	ir_const_int(s->out->dim[f->inner], &extent);
	f->width = width ? width : MAX_WIDTH * bits > BYTES * 8 ? BYTES * 8 / bits : MAX_WIDTH;
	while (f->piece < f->width && extent % (2 * f->piece) == 0)
		f->piece *= 2;
	return shifted ? flat_find_vectors(f, true) > 0 && (f->piece < f->width || any_between(f))
	               : f->piece < f->width;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct flat f;
	int64_t extent;
	/* For rows of symbolic length, rule map has this kernel as a fallback after one for whole vectors. */
	s = map_joined(p, s);
	if ((find(&f, p, s, 0, false) || find(&f, p, s, 0, true)) && ir_const_int(s->out->dim[f.inner], &extent))
		return FOUND(p, f);
	*why = "the stage is not a map, or vectors already fit its rows";
	return NULL;
}

/* ---- The kernel. */

/* Computes the axes of the next piece: increments the last axis, with carry into those before it. */
static void next_piece(struct flat *f, struct ir_block *b, int piece, const bool *used, expr *axis)
{
	struct ir_program *p = f->p;
	int first = f->inner, outer = 0;
	for (int k = 0; k < f->inner; k++)
		if (used[k] && first == f->inner)
			first = k;
	while (outer < f->inner && ir_is_int(f->s->out->dim[outer], 1))
		outer++;
	expr step = ir_index(p->pool, f->piece), zero = ir_index(p->pool, 0), one = ir_index(p->pool, 1);
	for (int k = f->inner; k >= first; k--) {
		const char *name = arena_printf(p->arena, "%s_%d", ir_axis_names[0][k], piece);
		expr extent = f->s->out->dim[k], next = ir_binary(IR_ADD, axis[k], step);
		if (ir_is_int(extent, 1))
			continue;
		if (k == outer) { /* the vector ends before this axis does */
			axis[k] = emit_constant(p, b, name, next, extent);
			continue;
		}
		next = emit_constant(p, b, arena_printf(p->arena, "next_%s", name), next, NULL);
		expr end = ir_binary(IR_EQ, next, extent);
		axis[k] = emit_constant(p, b, name, ir_select(end, zero, next), extent);
		step = ir_select(end, one, zero);
	}
}

/* The vector that is not whole: its elements one by one. */
static void last_elements(struct flat *f, struct ir_block *b, expr element)
{
	struct ir_program *p = f->p;
	const struct ir_variable *v = ir_variable_new(p->pool, TYPE_INDEX, "place");
	expr count = out_count(p, f->s);
	b = emit_for_each(p, b, v, element, count, ir_index(p->pool, 1));
	expr place = ir_var_of(v, count);
	emit_store(p, b, f->s->out, place, map_value_at(p, b, f->s, place));
}

/* Elements whose loads are no vectors. All of them are computed before the first is stored, so that a thread waits for
 * memory once. */
static void apart_elements(struct flat *f, struct ir_block *b, expr element)
{
	struct ir_program *p = f->p;
	expr count = out_count(p, f->s), last = ir_binary(IR_SUB, count, ir_index(p->pool, 1)), v;
	struct ir_variable *result = ir_variable_new(p->pool, f->s->out->type, "%s_v", f->s->out->name);
	emit_array(p, b, result, f->width);
	struct ir_block *body = emit_unrolled(p, b, "v", f->width, &v);
	expr place = emit_constant(p, body, "place", ir_binary(IR_MIN, ir_binary(IR_ADD, element, v), last), count);
	emit_set(p, body, result, v, map_value_at(p, body, f->s, place));
	body = emit_unrolled(p, b, "v", f->width, &v);
	place = ir_binary(IR_ADD, ir_var_of(element->var, NULL), v);
	body = emit_if(p, body, ir_binary(IR_LT, place, count));
	emit_store(p, body, f->s->out, place, item_of(result, v));
}

static expr both(expr a, expr b)
{
	return a ? ir_binary(IR_AND, a, b) : b;
}

/* Where the element is within the axes from `first` on. */
static expr place_within(const struct flat *f, int first, expr element, const expr *axis)
{
	return first == f->inner ? axis[f->inner] : ir_binary(IR_MOD, element, flat_together(f, first));
}

/* The position in its buffer of the load for the thread's first element. */
static expr start_of(const struct flat *f, const struct flat_load *l, expr element, const expr *axis)
{
	struct ir_pool *pool = f->p->pool;
	int first = flat_first_axis(f, l->apart);
	expr outer[IR_MAX_RANK];
	if (first == 0)
		return ir_binary(IR_ADD, element, l->apart);
	for (int k = 0; k < f->s->out->rank; k++)
		outer[k] = k < first ? axis[k] : ir_index(pool, 0);
	expr row = to_kernel(f->p, ir_flat(pool, l->load->buf, l->load->arg), &(struct axes){ .value = outer });
	return ir_binary(IR_ADD, row, place_within(f, first, element, axis));
}

/* Marks the axes that start_of() needs. */
static void mark_start(const struct flat *f, const struct flat_load *l, bool *used)
{
	int first = flat_first_axis(f, l->apart);
	bool met[IR_MAX_RANK] = { false };
	ir_mark_axes(ir_flat(f->p->pool, l->load->buf, l->load->arg), met);
	for (int k = 0; k < first; k++)
		used[k] |= met[k];
	used[f->inner] |= first > 0 && first == f->inner;
}

/* Whether the thread's vectors lie within the result, the axes that they go along, and the buffers that they read: null
 * if that is certain. */
static expr whole_vectors(struct flat *f, expr element, const expr *axis)
{
	struct ir_pool *pool = f->p->pool;
	expr count = out_count(f->p, f->s), width = ir_index(pool, f->width), whole = NULL;
	if (!ir_is_int(ir_binary(IR_MOD, count, width), 0))
		whole = ir_binary(IR_LE, ir_binary(IR_ADD, element, width), count);
	expr length = flat_together(f, f->first);
	if (f->first && length != count && !ir_is_int(ir_binary(IR_MOD, length, width), 0)) {
		expr at = place_within(f, f->first, element, axis);
		whole = both(whole, ir_binary(IR_LE, ir_binary(IR_ADD, at, width), length));
	}
	vec_each (l, &f->found) {
		bool before = l->shifted && !l->sure, after = l->shifted;
		vec_each (o, &f->found) { /* another one that begins earlier, or later, or is the same and comes first
			                   */
			int64_t apart;
			if (o == l || !o->shifted || o->load->buf != l->load->buf ||
			    !ir_const_int(ir_binary(IR_SUB, o->apart, l->apart), &apart))
				continue;
			before &= o->sure || apart > 0 || (apart == 0 && o > l);
			after &= apart < 0 || (apart == 0 && o > l);
		}
		if (before && !ir_nonnegative(l->start))
			whole = both(whole, ir_binary(IR_LE, ir_index(pool, 0), l->start));
		if (after) { /* the last of the aligned vectors that it lies in */
			expr end = ir_binary(IR_ADD, l->start, ir_index(pool, 2 * f->width - 1));
			whole = both(whole, ir_binary(IR_LE, end, ir_buffer_count(f->p, l->load->buf)));
		}
	}
	return whole && ir_is_int(whole, 1) ? NULL : whole;
}

static expr from_vector(void *user, expr e, expr flat)
{
	const struct flat *f = user;
	const struct flat_load *l = flat_find_load(f, e);
	(void)flat;
	return l ? item_of(l->array, f->lane) : NULL;
}

static void load_vectors(const struct flat *f, struct ir_block *b)
{
	vec_each (l, &f->found)
		emit_load_vector(f->p, b, l->load->buf, l->start, l->array, f->width)->shifted = l->shifted;
}

/* Marks the axes that occur in the elements' values once the vectors are loaded. True if there are any. */
static bool mark_needed(struct flat *f, struct axes *a, bool *used)
{
	bool met[IR_MAX_RANK] = { false }, any = false;
	ir_mark_axes(to_kernel(f->p, f->s->value, a), met);
	for (int i = 0; i < f->s->out->rank; i++) { /* an axis carries when the next one ends */
		any |= met[i];
		used[i] = any;
	}
	return any;
}

static void declare_all_axes(const struct flat *f, struct ir_block *b, expr element, const bool *used, expr *axis)
{
	const struct ir_buffer *out = f->s->out;
	declare_axes(f->p, b, element, out->rank, out->dim, ir_axis_names[0], used, axis);
	for (int i = 0; i < out->rank; i++)
		if (!axis[i])
			axis[i] = ir_index(f->p->pool, 0); /* unused */
}

/* Computes the elements of a piece, whose first one has these axes. */
static void compute_piece(struct flat *f, struct ir_block *b, int piece, expr element, const expr *axis, expr value,
                          const struct ir_variable *result)
{
	struct ir_program *p = f->p;
	expr lane_axis[IR_MAX_RANK], v = ir_index(p->pool, 0);
	if (f->piece > 1)
		b = emit_unrolled(p, b, "v", f->piece, &v);
	expr at = ir_binary(IR_ADD, ir_index(p->pool, piece * f->piece), v);
	f->lane = emit_declare(p, b, "lane", at, ir_index(p->pool, f->width));
	for (int i = 0; i < f->s->out->rank; i++)
		lane_axis[i] = i == f->inner ? ir_binary(IR_ADD, axis[i], v) : axis[i];
	struct axes a = { .value = lane_axis,
		          .same = f->own,
		          .same_as = ir_binary(IR_ADD, element, f->lane),
		          .load = from_vector,
		          .user = f };
	emit_set(p, b, result, f->lane, to_kernel(p, value, &a));
}

bool flat_kernel(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s, const struct ir_stage *joined,
                 const struct sched_choice *c, const struct flat_shape *shape)
{
	struct ir_program *p = plan->program;
	struct flat f;
	if (!find(&f, p, joined, shape->width, shape->shifted))
		return false;
	if (!shape->shifted)
		flat_find_vectors(&f, false);
	struct ir_kernel *k = kernel_new(plan, s, shape->suffix, c);
	expr own[IR_MAX_RANK], axis[IR_MAX_RANK];
	map_position(p, joined, own);
	bool carries[IR_MAX_RANK] = { false }, used[IR_MAX_RANK] = { false };
	struct ir_variable *result = ir_variable_new(p->pool, joined->out->type, "%s_v", joined->out->name);
	expr element = declare_element(p, k, out_count(p, joined), THREADS, f.width);
	bool shifted = shape->shifted;
	k->resident = shape->resident;
	k->advised = true;
	f.lane = ir_some(p->pool, TYPE_INDEX, ir_index(p->pool, f.width)); /* to find which axes occur */
	struct axes a = { .value = own,
		          .same = f.own,
		          .same_as = ir_binary(IR_ADD, element, f.lane),
		          .load = from_vector,
		          .user = &f };
	bool any = mark_needed(&f, &a, carries);
	memcpy(used, carries, sizeof used);
	vec_each (l, &f.found)
		mark_start(&f, l, used);
	struct ir_block *body = &k->body;
	if (shifted) /* their positions need axes */
		declare_all_axes(&f, body, element, used, axis);
	for (int i = 0; i < f.found.n; i++)
		f.found.at[i].start = start_of(&f, &f.found.at[i], element, axis);
	expr whole = whole_vectors(&f, element, axis);
	if (whole) {
		whole = emit_constant(p, body, "whole", whole, NULL);
		body = emit_if(p, body, whole);
	}
	load_vectors(&f, body);
	if (!shifted)
		declare_all_axes(&f, body, element, used, axis);
	emit_array(p, body, result, f.width);
	if (!any || (shifted && f.first == f.inner)) /* the elements' places do not matter, or are in one row */
		f.piece = f.width;
	for (int piece = 0; piece < f.width / f.piece; piece++) {
		struct map_inside m;
		if (piece && any)
			next_piece(&f, body, piece, carries, axis);
		struct ir_block *b = body;
		if (f.piece == f.width && any && map_inside_find(&m, joined->value, f.inner)) {
			expr last[IR_MAX_RANK];
			memcpy(last, axis, sizeof last);
			last[f.inner] = ir_binary(IR_ADD, axis[f.inner], ir_index(p->pool, f.width - 1));
			expr inside = map_inside_holds(p, &m, &(struct axes){ .value = axis },
			                               &(struct axes){ .value = last });
			inside = emit_constant(p, b, "inside", inside, NULL);
			compute_piece(&f, emit_if(p, b, inside), piece, element, axis, m.value, result);
			b = emit_if(p, b, ir_unary(IR_NOT, inside));
		}
		compute_piece(&f, b, piece, element, axis, joined->value, result);
	}
	emit_store_vector(p, body, joined->out, element, result, f.width);
	if (whole)
		(shifted ? apart_elements : last_elements)(&f, emit_if(p, &k->body, ir_unary(IR_NOT, whole)), element);
	kernel_finish(plan, step, k, s);
	return true;
}

/* ---- The rule. */

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	int n = 0;
	const struct flat *found = site->found;
	for (int width = found->width; width > 1; width /= 2)
		for (int shifted = 0; shifted < 2; shifted++) {
			struct flat f;
			if (find(&f, site->p, found->s, width, shifted))
				out[n++] = (struct sched_choice){ &sched_flat, { width, shifted } };
		}
	return n;
}

static bool is_shifted(void *user, expr load)
{
	const struct flat_load *l = flat_find_load(user, load);
	return l && l->shifted;
}

/* The estimate of a map of that width, as if it were possible. A warp that goes across the ends of what shifted vectors
 * lie within also takes the way without them. */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	enum { LANES = 32 };
	const double BOTH_WAYS = 0.2; /* of the other way's time, which other warps hide: measured on an H200 */
	struct ir_program *p = site->p;
	const struct flat *found = site->found;
	const struct ir_stage *s = found->s;
	struct flat f;
	/* Measured on an H200 for rotations of rows of 90: pieces cost more than vectors of their length in rule map.
	 */
	double slower = found->piece == found->width ? 1 : found->piece > 1 ? 1.05 : 1.01;
	struct map_shape shape = { .planes = 1, .axis = -1, .width = c->param[0], .vectors = true, .apart = true };
	double time = map_time(p, s, &shape, site->t) * slower;
	if (!c->param[1] || !find(&f, p, s, shape.width, true))
		return time;
	double length = (double)about(flat_together(&f, f.first), site->t);
	double ends = fmod(length, shape.width) == 0 ? 0 : LANES * shape.width / length;
	shape.shifted = is_shifted;
	shape.user = &f;
	return map_time(p, s, &shape, site->t) * slower +
	       BOTH_WAYS * (ends < 1 ? ends : 1) * (time - site->t->launch_ns);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	int most = site->t->threads / THREADS;
	const struct flat_shape shape = { c->param[0], c->param[1],
		                          !c->param[1]      ? 0
		                          : most < RESIDENT ? most
		                                            : RESIDENT,
		                          arena_printf(plan->program->arena, "_x%d", c->param[0]) };
	ck(flat_kernel(plan, step_new(plan), site->s, ((const struct flat *)site->found)->s, c, &shape));
}

const struct sched_rule sched_flat = {
	.name = "flat",
	.version = 2,
	.about = "A thread computes {width} elements that are next to each other in memory, also across the "
	         "ends of rows.{shifted? What it reads is taken from the aligned vectors around it.}",
	.param = { { "width", 2, 8 }, { "shifted", 0, 1 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
