/* Rule flat: a map whose row length is not divisible by a wide vector. A thread computes `width` elements that are
 * contiguous in memory, across the ends of rows. They are divided into pieces that divide a row, and the axes of each
 * piece follow from those of the piece before it. */
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

static bool goes_into(struct ir_program *p, expr count, int width)
{
	return ir_is_int(ir_binary(IR_MOD, count, ir_index(p->pool, width)), 0);
}

/* `width` 0: the widest. */
static bool find(struct flat *f, struct ir_program *p, const struct ir_stage *s, int width)
{
	int64_t extent;
	int bits = type_info(s->out->type)->bits;
	*f = (struct flat){ .p = p, .s = s, .inner = -1, .piece = 1 };
	if (s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1))
			f->inner = k;
	if (f->inner < 1 || !ir_const_int(s->out->dim[f->inner], &extent))
		return false;
	f->width = width ? width : MAX_WIDTH * bits > BYTES * 8 ? BYTES * 8 / bits : MAX_WIDTH;
	while (f->width > 1 && !goes_into(p, out_count(p, s), f->width))
		f->width /= 2;
	while (f->piece < f->width && extent % (2 * f->piece) == 0)
		f->piece *= 2;
	return f->piece < f->width; /* else rule map is as good */
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct flat f;
	if (find(&f, p, s, 0))
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
	return map_time(site->p, site->s, &shape, site->t) * 1.01;
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
	int first = f->inner;
	for (int k = 0; k < f->inner; k++)
		if (used[k] && first == f->inner)
			first = k;
	expr step = ir_index(p->pool, f->piece), zero = ir_index(p->pool, 0), one = ir_index(p->pool, 1);
	for (int k = f->inner; k >= first; k--) {
		const char *name = ir_axis_names[0][k];
		expr extent = f->s->out->dim[k], next = ir_binary(IR_ADD, axis[k], step);
		if (ir_is_int(extent, 1))
			continue;
		next = emit_constant(p, b, arena_printf(p->arena, "this_%s_next%d", name, piece), next, NULL);
		expr end = ir_binary(IR_EQ, next, extent);
		axis[k] = emit_constant(p, b, arena_printf(p->arena, "this_%s%d", name, piece),
		                        ir_select(end, zero, next), extent);
		step = ir_select(end, one, zero);
	}
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct flat f = *(const struct flat *)site->found;
	int rank = s->out->rank;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, arena_printf(p->arena, "_x%d", f.width), c);
	expr own[IR_MAX_RANK], axis[IR_MAX_RANK], lane_axis[IR_MAX_RANK], v;
	bool used[IR_MAX_RANK] = { false }, met[IR_MAX_RANK] = { false }, any = false;
	struct ir_variable *result = ir_variable_new(p->pool, s->out->type, "%s_v", s->out->name);
	for (int i = 0; i < rank; i++)
		own[i] = ir_axis(p->pool, i, s->out->dim[i]);
	f.own = ir_flat(p->pool, s->out, own);
	expr element = declare_element(p, k, out_count(p, s), THREADS, f.width);
	load_vectors(&f, &k->body, element);
	f.lane = ir_some(p->pool, TYPE_INDEX, ir_index(p->pool, f.width)); /* to find which axes occur */
	struct axes a = { .value = own,
		          .same = f.own,
		          .same_as = ir_binary(IR_ADD, element, f.lane),
		          .load = from_vector,
		          .user = &f };
	mark_axes(to_kernel(p, s->value, &a), met);
	for (int i = 0; i < rank; i++) { /* an axis carries when the next one ends */
		any |= met[i];
		used[i] = any;
	}
	declare_axes(p, &k->body, element, rank, s->out->dim, ir_axis_names[0], used, axis);
	for (int i = 0; i < rank; i++)
		if (!axis[i])
			axis[i] = ir_index(p->pool, 0); /* unused */
	emit_array(p, &k->body, result, f.width);
	a.value = lane_axis;
	for (int piece = 0; piece < f.width / f.piece; piece++) {
		if (piece && any)
			next_piece(&f, &k->body, piece, used, axis);
		struct ir_block *b = emit_unrolled(p, &k->body, "v", f.piece, &v);
		expr at = ir_binary(IR_ADD, ir_index(p->pool, piece * f.piece), v);
		f.lane = emit_constant(p, b, "lane", at, ir_index(p->pool, f.width));
		a.same_as = ir_binary(IR_ADD, element, f.lane);
		for (int i = 0; i < rank; i++)
			lane_axis[i] = i == f.inner ? ir_binary(IR_ADD, axis[i], v) : axis[i];
		emit_set(p, b, result, f.lane, to_kernel(p, s->value, &a));
	}
	emit_store_vector(p, &k->body, s->out, element, result, f.width);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_flat = {
	.name = "flat",
	.version = 1,
	.param = { { "width", 2, 8 } },
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
