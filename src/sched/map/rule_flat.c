/* Rule flat: a map whose row length is not divisible by a wide vector. A thread computes `width` elements that are
 * contiguous in memory, across the ends of rows. They are divided into pieces that divide a row, and the axes of each
 * piece follow from those of the piece before it. The elements of a vector that is not whole, the last one, are
 * computed one by one. */
#include "sched/map/flat.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include "ir/axis_names.h"

enum { THREADS = 256, MAX_WIDTH = 8, BYTES = 16 };

struct flat {
	struct ir_program *p;
	const struct ir_stage *s;
	int inner, width, piece; /* the last axis; elements per thread; per piece, which divides width */
	expr own;                /* position of an element, over its axes */
	struct {
		VEC(expr);
	} found;                    /* loads that are contiguous with the elements */
	struct ir_variable **array; /* their vectors */
	expr lane;                  /* of an element in the thread's vectors */
};

/* `width` 0: the widest. */
static bool find(struct flat *f, struct ir_program *p, const struct ir_stage *s, int width)
{
	int64_t extent = 1;
	int bits = type_info(s->out->type)->bits;
	*f = (struct flat){ .p = p, .s = s, .inner = -1, .piece = 1 };
	if (s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1))
			f->inner = k;
	if (f->inner < 0)
		return false;
	ir_const_int(s->out->dim[f->inner], &extent);
	f->width = width ? width : MAX_WIDTH * bits > BYTES * 8 ? BYTES * 8 / bits : MAX_WIDTH;
	while (f->piece < f->width && extent % (2 * f->piece) == 0)
		f->piece *= 2;
	return f->piece < f->width; /* else rule map is as good */
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct flat f;
	int64_t extent;
	/* For rows of symbolic length, rule map has this kernel as a fallback after one for whole vectors. */
	s = map_joined(p, s);
	if (find(&f, p, s, 0) && ir_const_int(s->out->dim[f.inner], &extent))
		return FOUND(p, f);
	*why = "the stage is not a map, or vectors already fit its rows";
	return NULL;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	int n = 0;
	struct flat f = *(const struct flat *)site->found;
	for (int width = f.width; width > f.piece; width /= 2)
		out[n++] = (struct sched_choice){ &sched_flat, { width } };
	return n;
}

/* The estimate of a map of that width, as if it were possible. */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct map_shape shape = {
		.planes = 1, .axis = -1, .width = c->param[0], .vectors = true, .apart = true
	};
	return map_time(site->p, ((const struct flat *)site->found)->s, &shape, site->t) * 1.01;
}

/* ---- The kernel. */

static void find_vector(void *user, expr e)
{
	struct flat *f = user;
	int64_t apart;
	if (e->op != IR_LOAD || type_is_packed(e->type))
		return;
	expr difference = ir_binary(IR_SUB, ir_flat(f->p->pool, e->buf, e->arg), f->own);
	if (ir_const_int(difference, &apart) && apart % f->width == 0)
		vec_push(f->p->arena, &f->found, e);
}

static expr from_vector(void *user, expr e, expr flat)
{
	struct flat *f = user;
	(void)flat;
	for (int i = 0; i < f->found.n; i++)
		if (f->found.at[i] == e)
			return item_of(f->array[i], f->lane);
	return NULL;
}

/* Loads the vectors that are contiguous with the thread's elements. */
static void load_vectors(struct flat *f, struct ir_block *b, expr element)
{
	struct ir_program *p = f->p;
	ir_walk_unconditional(f->s->value, find_vector, f);
	f->array = NEWN(p->arena, struct ir_variable *, f->found.n + 1);
	for (int i = 0; i < f->found.n; i++) {
		expr e = f->found.at[i], apart = ir_binary(IR_SUB, ir_flat(p->pool, e->buf, e->arg), f->own);
		f->array[i] = ir_variable_new(p->pool, e->type, "%s_v%d", e->buf->name, i);
		emit_load_vector(p, b, e->buf, ir_binary(IR_ADD, element, apart), f->array[i], f->width);
	}
}

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
static void last_elements(struct flat *f, struct ir_block *b, expr element, expr whole)
{
	struct ir_program *p = f->p;
	const struct ir_variable *v = ir_variable_new(p->pool, TYPE_INDEX, "place");
	expr count = out_count(p, f->s);
	b = emit_if(p, b, ir_unary(IR_NOT, whole));
	b = emit_for_each(p, b, v, element, count, ir_index(p->pool, 1));
	expr place = ir_var_of(v, count);
	emit_store(p, b, f->s->out, place, map_value_at(p, b, f->s, place));
}

bool flat_kernel(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s, const struct ir_stage *joined,
                 const struct sched_choice *c, int width, const char *suffix)
{
	struct ir_program *p = plan->program;
	struct flat f;
	if (!find(&f, p, joined, width))
		return false;
	int rank = joined->out->rank;
	struct ir_kernel *k = kernel_new(plan, s, suffix, c);
	expr own[IR_MAX_RANK], axis[IR_MAX_RANK], lane_axis[IR_MAX_RANK];
	bool used[IR_MAX_RANK] = { false }, met[IR_MAX_RANK] = { false }, any = false;
	struct ir_variable *result = ir_variable_new(p->pool, joined->out->type, "%s_v", joined->out->name);
	for (int i = 0; i < rank; i++)
		own[i] = ir_axis(p->pool, i, joined->out->dim[i]);
	f.own = ir_flat(p->pool, joined->out, own);
	expr count = out_count(p, joined), element = declare_element(p, k, count, THREADS, f.width), whole = NULL;
	struct ir_block *body = &k->body;
	if (!ir_is_int(ir_binary(IR_MOD, count, ir_index(p->pool, f.width)), 0)) {
		whole = ir_binary(IR_LE, ir_binary(IR_ADD, element, ir_index(p->pool, f.width)), count);
		whole = emit_constant(p, &k->body, "whole", whole, NULL);
		body = emit_if(p, &k->body, whole);
	}
	load_vectors(&f, body, element);
	f.lane = ir_some(p->pool, TYPE_INDEX, ir_index(p->pool, f.width)); /* to find which axes occur */
	struct axes a = { .value = own,
		          .same = f.own,
		          .same_as = ir_binary(IR_ADD, element, f.lane),
		          .load = from_vector,
		          .user = &f };
	ir_mark_axes(to_kernel(p, joined->value, &a), met);
	for (int i = 0; i < rank; i++) { /* an axis carries when the next one ends */
		any |= met[i];
		used[i] = any;
	}
	declare_axes(p, body, element, rank, joined->out->dim, ir_axis_names[0], used, axis);
	for (int i = 0; i < rank; i++)
		if (!axis[i])
			axis[i] = ir_index(p->pool, 0); /* unused */
	emit_array(p, body, result, f.width);
	a.value = lane_axis;
	if (!any) /* the elements' places do not matter */
		f.piece = f.width;
	for (int piece = 0; piece < f.width / f.piece; piece++) {
		struct ir_block *b = body;
		expr v = ir_index(p->pool, 0);
		if (piece && any)
			next_piece(&f, body, piece, used, axis);
		if (f.piece > 1)
			b = emit_unrolled(p, body, "v", f.piece, &v);
		expr at = ir_binary(IR_ADD, ir_index(p->pool, piece * f.piece), v);
		f.lane = emit_declare(p, b, "lane", at, ir_index(p->pool, f.width));
		a.same_as = ir_binary(IR_ADD, element, f.lane);
		for (int i = 0; i < rank; i++)
			lane_axis[i] = i == f.inner ? ir_binary(IR_ADD, axis[i], v) : axis[i];
		emit_set(p, b, result, f.lane, to_kernel(p, joined->value, &a));
	}
	emit_store_vector(p, body, joined->out, element, result, f.width);
	if (whole)
		last_elements(&f, &k->body, element, whole);
	kernel_finish(plan, step, k, s);
	return true;
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const char *suffix = arena_printf(plan->program->arena, "_x%d", c->param[0]);
	ck(flat_kernel(plan, step_new(plan), site->s, ((const struct flat *)site->found)->s, c, c->param[0], suffix));
}

const struct sched_rule sched_flat = {
	.name = "flat",
	.version = 1,
	.about = "A thread computes {width} elements that are next to each other in memory, also across the "
	         "ends of rows.",
	.param = { { "width", 2, 8 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
