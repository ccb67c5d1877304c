/* Rule slab: a map that gathers, at places that data decide and that one of its axes ignores, from planes small enough for shared
 * memory, as sampling an image at a grid's coordinates does. A block keeps some planes there, a place's elements of all of them
 * beside each other, and makes all that is gathered from them: a place's coordinates count once for these planes. */
#include "sched/gathers.h"

#include <math.h>
#include <string.h>

#include "ir/axis_names.h"

enum { MAX_PLANES = 4, MAX_WIDTH = 4, MAX_AHEAD = 8 /* vectors */, BYTES = 16 };
enum { ANY_BYTES = 64 << 10, WIDE_BYTES = 224 << 10, WIDE_ARCH = 90 }; /* of shared memory */

struct slab {
	struct ir_program *p;
	const struct ir_stage *s;
	const struct ir_buffer *buf; /* that is gathered from */
	int lead;                    /* its axes that say which plane */
	int axis, inner;             /* of the result: along which planes lie; the last one */
	int64_t size, places;        /* elements of a plane; of the result, for each plane */
	struct gathers gathers;
	bool fits;
	/* Of the kernel: */
	int planes, width, threads;
	const struct ir_buffer *shared;
};

/* ---- What is gathered. */

static int first_gathered(expr e)
{
	for (int i = 0; i < e->n; i++)
		if (gathers_decided(e->arg[i]))
			return i;
	return e->n;
}

/* All reads of the buffer are gathers. */
static void check_load(void *user, expr e)
{
	struct slab *f = user;
	if (e->op == IR_LOAD && e->buf == f->buf)
		f->fits &= first_gathered(e) < e->n;
}

static bool knows_axis(expr e, int axis)
{
	bool used[IR_MAX_RANK] = { false };
	mark_axes(e, used);
	return used[axis];
}

/* The axis along which planes lie, by the first gather: the last index before those that data decide. */
static void find_axis(void *user, expr e)
{
	struct slab *f = user;
	if (f->buf || e->op != IR_LOAD || first_gathered(e) == e->n)
		return;
	f->buf = e->buf;
	f->lead = first_gathered(e);
	f->axis = f->lead && e->arg[f->lead - 1]->op == IR_AXIS ? (int)e->arg[f->lead - 1]->i : -1;
}

/* All gathers read from one plane: that of the axis, and of axes before it. */
static bool same_plane(struct slab *f)
{
	expr one = f->gathers.at[0].load;
	for (int i = 0; i < f->gathers.n; i++) {
		expr e = f->gathers.at[i].load;
		if (e->buf != f->buf)
			return false;
		for (int k = 0; k < e->n; k++) {
			if (k < f->lead ? e->arg[k] != one->arg[k] : knows_axis(e->arg[k], f->axis))
				return false;
			for (int later = f->axis; later <= f->inner && k < f->lead - 1; later++)
				if (knows_axis(e->arg[k], later))
					return false;
		}
	}
	return true;
}

static bool find(struct slab *f, struct ir_program *p, const struct ir_stage *s)
{
	int64_t extent;
	*f = (struct slab){ .p = p, .s = s, .inner = -1, .size = 1, .places = 1, .axis = -1, .fits = true };
	if (s->kind != IR_MAP || type_is_packed(s->out->type))
		return false;
	for (int k = 0; k < s->out->rank; k++)
		if (!ir_is_int(s->out->dim[k], 1))
			f->inner = k;
	ir_walk(s->value, find_axis, f);
	if (!f->buf || f->axis < 0 || type_is_packed(f->buf->type) || !gathers_find(&f->gathers, p, s->value, f->axis))
		return false;
	ir_walk(s->value, check_load, f);
	if (!f->fits || !same_plane(f) || f->axis >= f->inner || !ir_const_int(s->out->dim[f->axis], &extent))
		return false;
	for (int k = f->lead; k < f->buf->rank; k++) {
		if (!ir_const_int(f->buf->dim[k], &extent) || extent < 1 || f->size > WIDE_BYTES)
			return false;
		f->size *= extent;
	}
	for (int k = f->axis + 1; k < s->out->rank; k++) {
		if (!ir_const_int(s->out->dim[k], &extent) || extent < 1 || f->places > INT32_MAX)
			return false;
		f->places *= extent;
	}
	/* A plane is read whole: worth it where enough is gathered from it. */
	return f->places * f->gathers.n >= f->size;
}

static int element_bytes(const struct slab *f)
{
	return type_info(f->buf->type)->bits / 8;
}

static int64_t slab_bytes(const struct slab *f, int planes)
{
	return f->size * planes * element_bytes(f);
}

static bool shape_fits(const struct slab *f, int planes, int width)
{
	int64_t extent, inner;
	int vector = BYTES / element_bytes(f);
	ck(ir_const_int(f->s->out->dim[f->axis], &extent) && ir_const_int(f->s->out->dim[f->inner], &inner));
	return extent % planes == 0 && f->size % vector == 0 && planes * element_bytes(f) <= BYTES && inner % width == 0 &&
	       type_info(f->s->out->type)->bits * width <= BYTES * 8;
}

static int candidates(const struct ir_program *p, const struct ir_stage *s, const struct sched_target *t,
                      struct sched_choice *out)
{
	struct slab f;
	int n = 0;
	if (!find(&f, (struct ir_program *)p, s))
		return 0;
	for (int planes = MAX_PLANES; planes >= 1; planes /= 2)
		for (int width = MAX_WIDTH; width >= 1; width /= 2)
			if (shape_fits(&f, planes, width) &&
			    slab_bytes(&f, planes) <= (t->arch == WIDE_ARCH ? WIDE_BYTES : ANY_BYTES) &&
			    slab_bytes(&f, 1) <= ANY_BYTES)
				out[n++] = (struct sched_choice){ &sched_slab, { planes, width, f.places < 2048 ? 256 : 1024 } };
	return n;
}

static bool applicable(const struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct sched_choice any[SCHED_RULE_CHOICES];
	if (candidates(p, s, &sched_default_target, any) > 0)
		return true;
	*why = "no map that gathers from planes which fit into shared memory";
	return false;
}

/* ---- Time. Planes come at the memory's rate; then results go at it, or as fast as instructions and the banks of shared memory
 * let them. An H100 was measured at 16.4 us for 8.4 M samples of f16 with 4 planes of width 4, 17.4 of width 2, 20.2 of width 1;
 * 19.1 with 2 planes; f32: 28.4, 30.4, 37.0 with 2 planes, 31.3 with one. */

static double estimate(const struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                       const struct sched_target *t)
{
	enum { CONFLICTS = 3 /* turns of a warp's gather */, OF_GATHER = 3, OF_ELEMENT = 2 /* instructions */, START = 500 };
	static const double narrow[] = { 0, 1.4, 1.15, 1, 1 }; /* by width */
	struct slab f;
	ck(find(&f, (struct ir_program *)p, s));
	int n = f.gathers.n;
	double planes = c->param[0], points = (double)about(out_count(f.p, s), t), slabs = points / (double)f.places / planes;
	double result = points * type_info(s->out->type)->bits / 8.0, read = about_bytes_read(f.p, s->value, t);
	read -= (n - 1) * (double)about(ir_buffer_count(f.p, f.buf), t) * element_bytes(&f);
	double words = planes * element_bytes(&f) / 4, banks = points / planes * n / 32 * CONFLICTS * (words > 1 ? words : 1);
	double work = points * (ir_cost(s->value) / planes + OF_GATHER * n + OF_ELEMENT) * narrow[c->param[1]];
	double each = slabs / t->processors, fill = each < 4 ? each / ceil(each) : 1, gather = result / t->bytes_per_ns;
	gather = fmax(gather, fmax(work / (t->processors * 128.0 * 1.7), banks / (t->processors * 1.7)));
	return t->launch_ns + START + (read / t->bytes_per_ns + gather) / fill;
}

/* ---- The kernel. */

static expr plane_position(const struct slab *f, const expr *axis)
{
	struct ir_program *p = f->p;
	struct axes here = { .value = axis };
	expr at = ir_index(p->pool, 0);
	for (int k = 0; k < f->lead; k++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, f->buf->dim[k]), to_kernel(p, f->gathers.at[0].load->arg[k], &here));
	return ir_binary(IR_MUL, at, ir_index(p->pool, f->size));
}

/* A position in shared memory, of what has `planes` elements a place. */
static struct ir_stmt *emit_shared_vector(struct slab *f, struct ir_block *b, enum ir_stmt_kind kind, expr at, const char *name)
{
	struct ir_stmt *s = emit(f->p, b, kind);
	s->name = name;
	s->type = f->buf->type;
	s->width = f->planes;
	s->buf = f->shared;
	s->at = at;
	return s;
}

/* Vectors of the planes, of the same places, as those places' elements in shared memory. `vectors`: names of arrays. */
static void store_places(struct slab *f, struct ir_block *b, expr first, const char *const *vectors)
{
	struct ir_program *p = f->p;
	expr v;
	struct ir_block *items = emit_unrolled(p, b, "v", BYTES / element_bytes(f), &v);
	emit_array(p, items, "place", f->buf->type, f->planes);
	for (int i = 0; i < f->planes; i++)
		emit_set(p, items, "place", ir_index(p->pool, i),
		         ir_var(p->pool, f->buf->type, arena_printf(p->arena, "%s[v]", vectors[i]), NULL));
	expr at = ir_binary(IR_MUL, ir_binary(IR_ADD, first, v), ir_index(p->pool, f->planes));
	emit_shared_vector(f, items, IR_STORE_VECTOR, at, "place");
}

static void load_places(struct slab *f, struct ir_block *b, expr from, const char *const *vectors, bool declared)
{
	for (int i = 0; i < f->planes; i++) {
		expr at = ir_binary(IR_ADD, from, ir_index(f->p->pool, i * f->size));
		emit_load_vector(f->p, b, f->buf, at, vectors[i], BYTES / element_bytes(f), declared);
	}
}

/* All places of the planes from `plane` on, from memory into shared memory: everything is under way before anything is stored,
 * where a thread has the registers. */
static void fill_slab(struct slab *f, struct ir_block *b, const expr *axis, expr thread)
{
	struct ir_program *p = f->p;
	int vector = BYTES / element_bytes(f);
	int64_t turn = (int64_t)f->threads * vector, turns = f->size / turn;
	const char *name[MAX_PLANES], *one[MAX_PLANES];
	expr step, size = ir_index(p->pool, f->size), base = emit_declare(p, b, "this_base", plane_position(f, axis), NULL);
	expr mine = ir_binary(IR_MUL, thread, ir_index(p->pool, vector));
	for (int i = 0; i < f->planes; i++) {
		name[i] = arena_printf(p->arena, "this_plane_%d", i);
		one[i] = arena_printf(p->arena, "%s[step]", name[i]);
	}
	if (f->size % turn == 0 && turns > 1 && turns * f->planes <= MAX_AHEAD) {
		for (int i = 0; i < f->planes; i++)
			emit_array(p, b, arena_printf(p->arena, "%s[%d]", name[i], (int)turns), f->buf->type, vector);
		for (int store = 0; store < 2; store++) {
			struct ir_block *body = emit_unrolled(p, b, "step", (int)turns, &step);
			expr first = ir_binary(IR_ADD, mine, ir_binary(IR_MUL, step, ir_index(p->pool, turn)));
			if (store)
				store_places(f, body, first, one);
			else
				load_places(f, body, ir_binary(IR_ADD, base, first), one, true);
		}
		return;
	}
	struct ir_block *body = emit_for(p, b, "first", mine, size, ir_index(p->pool, turn));
	expr first = ir_var(p->pool, TYPE_INDEX, "first", size);
	load_places(f, body, ir_binary(IR_ADD, base, first), name, false);
	store_places(f, body, first, name);
}

/* The position of a gather in its plane. */
static expr position_in_plane(struct slab *f, expr load, const struct axes *here)
{
	expr at = ir_index(f->p->pool, 0);
	for (int k = f->lead; k < f->buf->rank; k++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, f->buf->dim[k]), load->arg[k]);
	return to_kernel(f->p, gathers_replace(&f->gathers, at, NULL), here);
}

/* Reads what a place's elements are made of, once for all planes: arrays of that name, one a gather. Where nothing says when a
 * place is inside of the plane, a place outside is some element of it. */
static void gather_places(struct slab *f, struct ir_block *b, const struct axes *here, const char **name)
{
	struct ir_program *p = f->p;
	expr none = ir_index(p->pool, 0), last = ir_index(p->pool, f->size - 1);
	for (int i = 0; i < f->gathers.n; i++) {
		const struct gather *one = &f->gathers.at[i];
		expr at = position_in_plane(f, one->load, here);
		struct ir_block *in = b;
		if (!one->where || !one->sure)
			at = ir_binary(IR_MAX, ir_binary(IR_MIN, at, last), none);
		at = emit_constant(p, b, arena_printf(p->arena, "this_at_%d", i), at, NULL);
		name[i] = arena_printf(p->arena, "this_near_%d", i);
		if (one->where) {
			emit_array(p, b, name[i], f->buf->type, f->planes);
			for (int q = 0; q < f->planes; q++)
				emit_set(p, b, name[i], ir_index(p->pool, q), one->other);
			in = emit_if(p, b, to_kernel(p, gathers_replace(&f->gathers, one->where, NULL), here));
		}
		at = ir_binary(IR_MUL, at, ir_index(p->pool, f->planes));
		emit_shared_vector(f, in, IR_LOAD_VECTOR, at, name[i])->mutable = one->where;
	}
}

/* `width` neighbouring places of all planes. */
static void make_places(struct slab *f, struct ir_block *b, const expr *axis)
{
	struct ir_program *p = f->p;
	const struct ir_buffer *out = f->s->out;
	const char *result[MAX_PLANES], *name[GATHERS_MAX];
	expr own[IR_MAX_RANK], lane[IR_MAX_RANK], near[GATHERS_MAX];
	struct axes here = { .value = lane, .load = gathers_beside, .user = &f->gathers };
	gathers_emit_beside(&f->gathers, b, f->s->value, f->inner, f->width, axis);
	for (int i = 0; i < f->planes; i++) {
		result[i] = arena_printf(p->arena, "%s_v%d", out->name, i);
		emit_array(p, b, result[i], out->type, f->width);
	}
	struct ir_block *items = emit_unrolled(p, b, "v", f->width, &f->gathers.lane);
	memcpy(lane, axis, sizeof lane);
	lane[f->inner] = ir_binary(IR_ADD, axis[f->inner], f->gathers.lane);
	gathers_emit_shared(&f->gathers, items, &here);
	gather_places(f, items, &here, name);
	for (int plane = 0; plane < f->planes; plane++) {
		for (int i = 0; i < f->gathers.n; i++)
			near[i] = ir_var(p->pool, f->buf->type, arena_printf(p->arena, "%s[%d]", name[i], plane), NULL);
		lane[f->axis] = ir_binary(IR_ADD, axis[f->axis], ir_index(p->pool, plane));
		expr value = gathers_replace(&f->gathers, f->s->value, near);
		emit_set(p, items, result[plane], f->gathers.lane, to_kernel(p, value, &here));
	}
	memcpy(own, axis, sizeof own);
	for (int i = 0; i < f->planes; i++) {
		expr at = ir_index(p->pool, 0);
		own[f->axis] = ir_binary(IR_ADD, axis[f->axis], ir_index(p->pool, i));
		for (int k = 0; k < out->rank; k++)
			at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, out->dim[k]), own[k]);
		emit_store_vector(p, b, out, at, result[i], f->width);
	}
}

/* The axes up to that of the planes, from the number of the block. */
static void declare_planes(struct slab *f, struct ir_block *b, expr block, expr *axis)
{
	struct ir_program *p = f->p;
	expr dim[IR_MAX_RANK], planes = ir_index(p->pool, f->planes);
	bool used[IR_MAX_RANK];
	for (int k = 0; k <= f->axis; k++) {
		dim[k] = k == f->axis ? ir_binary(IR_FLOORDIV, f->s->out->dim[k], planes) : f->s->out->dim[k];
		used[k] = true;
	}
	declare_axes(p, b, block, f->axis + 1, dim, ir_axis_names[0], used, axis);
	axis[f->axis] = ir_binary(IR_MUL, axis[f->axis], planes);
}

static void declare_place(struct slab *f, struct ir_block *b, expr at, expr *axis)
{
	bool used[IR_MAX_RANK];
	for (int k = 0; k < IR_MAX_RANK; k++)
		used[k] = true;
	declare_axes(f->p, b, at, f->s->out->rank - f->axis - 1, &f->s->out->dim[f->axis + 1], &ir_axis_names[0][f->axis + 1],
	             used, &axis[f->axis + 1]);
}

/* The same by one processor, which has no use for a copy. */
static void serial_planes(struct slab *f, struct ir_block *b, expr block)
{
	struct ir_program *p = f->p;
	const struct ir_buffer *out = f->s->out;
	expr axis[IR_MAX_RANK], one = ir_index(p->pool, 1), at = ir_index(p->pool, 0);
	struct axes here = { .value = axis };
	declare_planes(f, b, block, axis);
	b = emit_for(p, b, "plane", ir_index(p->pool, 0), ir_index(p->pool, f->planes), one);
	axis[f->axis] = ir_binary(IR_ADD, axis[f->axis], ir_var(p->pool, TYPE_INDEX, "plane", ir_index(p->pool, f->planes)));
	for (int k = f->axis + 1; k < out->rank; k++) {
		const char *name = ir_axis_names[0][k];
		b = emit_for(p, b, name, ir_index(p->pool, 0), out->dim[k], one);
		axis[k] = ir_var(p->pool, TYPE_INDEX, name, out->dim[k]);
	}
	for (int k = 0; k < out->rank; k++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, out->dim[k]), axis[k]);
	emit_store(p, b, out, at, to_kernel(p, f->s->value, &here));
}

static void emit_kernel(struct ir_plan *plan, struct ir_step *step, struct slab *f, const struct sched_choice *c, int planes)
{
	struct ir_program *p = f->p;
	struct ir_kernel *k = kernel_new(plan, f->s, arena_printf(p->arena, "_p%d", planes), c);
	struct ir_buffer *shared = NEW(p->arena, struct ir_buffer);
	expr axis[IR_MAX_RANK], places = ir_index(p->pool, f->places);
	f->planes = planes;
	f->width = c->param[1];
	k->threads = f->threads = c->param[2];
	k->blocks = ir_index(p->pool, 1);
	for (int i = 0; i <= f->axis; i++)
		k->blocks = ir_binary(IR_MUL, k->blocks, f->s->out->dim[i]);
	k->blocks = ir_binary(IR_FLOORDIV, k->blocks, ir_index(p->pool, planes));
	k->shared_bytes = (int)slab_bytes(f, planes);
	k->arch = k->shared_bytes > ANY_BYTES ? WIDE_ARCH : 0;
	*shared = (struct ir_buffer){ .name = "slab", .type = f->buf->type, .rank = 1, .role = IR_TEMP, .id = f->buf->id };
	shared->dim[0] = ir_index(p->pool, f->size * planes);
	f->shared = shared;
	vec_push(p->arena, &k->shared, (const struct ir_buffer *)shared);
	expr block = ir_var(p->pool, TYPE_INDEX, IR_BLOCK, k->blocks);
	expr thread = ir_var(p->pool, TYPE_INDEX, IR_THREAD, ir_index(p->pool, f->threads));
	declare_planes(f, &k->body, block, axis);
	fill_slab(f, &k->body, axis, thread);
	emit(p, &k->body, IR_SYNC);
	expr width = ir_index(p->pool, f->width);
	struct ir_block *b = emit_for(p, &k->body, "place", ir_binary(IR_MUL, thread, width), places,
	                              ir_index(p->pool, (int64_t)f->threads * f->width));
	declare_place(f, b, ir_var_multiple(p->pool, "place", places, f->width), axis);
	make_places(f, b, axis);
	serial_planes(f, &k->serial, block);
	kernel_finish(plan, step, k, f->s);
}

/* Where planes need more shared memory than every GPU has, fewer of them are behind them for the others. */
static void apply(struct ir_plan *plan, const struct ir_stage *s, const struct sched_choice *c)
{
	struct slab f;
	ck(find(&f, plan->program, s));
	struct ir_step *step = step_new(plan);
	int planes = c->param[0];
	emit_kernel(plan, step, &f, c, planes);
	while (slab_bytes(&f, planes) > ANY_BYTES)
		planes /= 2;
	if (planes < c->param[0])
		emit_kernel(plan, step, &f, c, planes);
}

const struct sched_rule sched_slab = {
	.name = "slab",
	.version = 2,
	.help = "a block keeps `planes` planes in shared memory, and a thread gathers `width` neighbouring elements of each",
	.params = { "planes", "width", "threads" },
	.applicable = applicable,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
