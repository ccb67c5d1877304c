/* Rule slab: a map that gathers at data-dependent positions from planes that fit shared memory, as grid sampling of an
 * image or gathering elements of rows. A block keeps some planes there, with a position's elements adjacent, and
 * computes their results; if planes are few, several blocks share the results. Coordinates are computed once for all
 * planes of the block. Planes with their own positions are kept one by one. */
#include "sched/map/gather_planes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>
#include <string.h>

#include "ir/axis_names.h"

enum {
	MAX_PLANES = 4,
	MAX_WIDTH = 4,
	MAX_PARTS = 4,
	FEW = 2048 /* positions */,
	MAX_AHEAD = 8 /* vectors */,
	BYTES = GATHER_BYTES
};
enum { LARGEST = 1 << 20 /* elements of a plane: more than shared memory ever holds */ };

struct slab {
	struct gather_planes in; /* the gathers */
	struct ir_program *p;
	const struct ir_stage *s;
	int64_t size, places; /* elements per plane: of the source; of the result */
	/* The kernel's: */
	int planes, width, threads, parts;
	const struct ir_buffer *shared;
};

static bool find(struct slab *f, struct ir_program *p, const struct ir_stage *s)
{
	int64_t extent;
	*f = (struct slab){ .p = p, .s = s, .size = 1, .places = 1 };
	if (!gather_planes_find(&f->in, p, s, true))
		return false;
	for (int k = f->in.lead; k < f->in.buf->rank; k++) {
		if (!ir_const_int(f->in.buf->dim[k], &extent) || extent < 1 || f->size > LARGEST)
			return false;
		f->size *= extent;
	}
	for (int k = f->in.axis + 1; k < s->out->rank; k++) {
		if (!ir_const_int(s->out->dim[k], &extent) || extent < 1 || f->places > INT32_MAX)
			return false;
		f->places *= extent;
	}
	/* A plane is loaded whole: that pays if enough is gathered from it. */
	return f->places * f->in.gathers.n >= f->size;
}

static int64_t slab_bytes(const struct slab *f, int planes)
{
	return f->size * planes * gather_planes_bytes(&f->in);
}

static int threads_of(const struct slab *f)
{
	return f->places < FEW ? 256 : 1024;
}

static bool shape_fits(const struct slab *f, int planes, int width, int parts)
{
	int64_t extent = 1, inner;
	int size = gather_planes_bytes(&f->in), vector = BYTES / size;
	ck(ir_const_int(f->s->out->dim[f->in.inner], &inner));
	if (planes > 1 && (f->in.own || !ir_const_int(f->s->out->dim[f->in.axis], &extent) || extent % planes))
		return false;
	if (parts > 1 && (f->places % ((int64_t)parts * threads_of(f) * width) || f->places < 2 * f->size / parts))
		return false;
	return f->size % vector == 0 && planes * size <= BYTES && inner % width == 0 &&
	       type_info(f->s->out->type)->bits * width <= BYTES * 8;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	const struct sched_target *t = site->t;
	int n = 0;
	struct slab f = *(const struct slab *)site->found;
	for (int planes = MAX_PLANES; planes >= 1; planes /= 2)
		for (int width = MAX_WIDTH; width >= 1; width /= 2)
			for (int parts = 1; parts <= MAX_PARTS; parts *= 2)
				if (shape_fits(&f, planes, width, parts) &&
				    slab_bytes(&f, planes) <= t->block_shared_most &&
				    slab_bytes(&f, 1) <= TARGET_SHARED_EVERYWHERE)
					out[n++] = (struct sched_choice){ &sched_slab,
						                          { planes, width, threads_of(&f), parts } };
	return n;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct slab f;
	if (find(&f, p, s))
		return FOUND(p, f);
	*why = "the stage is not a map that gathers from whole planes small enough to be kept on the GPU";
	return NULL;
}

/* ---- Time. Planes are loaded at the memory bandwidth; results are limited by it, by instructions or by the banks of
 * shared memory. With several blocks per multiprocessor, one loads its planes while another gathers. Measured on an
 * H100, in us, by planes, width and parts: 8.4 M samples, f16: 4,4,1 15.5; 4,2,1 15.7; 2,4,1 17.4;
 * 2,2,1 18.0; f32: 2,4,1 27.9; 2,2,1 29.7; 1,4,1 29.1; 4.2 M cubic ones, f16: 4,4,2 15.6; 4,2,2 15.7; 2,4,1 19.3; f32:
 * 2,2,1 21.1; 2,4,1 21.9; 2,2,2 22.5; 1,4,1 29.9; 16.8 M elements of rows of 4096 f32 by indices of 8 bytes: 1,4,1 87.3
 * to 91.0; 1,1,1 96.7; 1,2,1 101.7; f16: 1,2,1 67.8; 1,4,1 73.5; 1,1,1 78.5. */

static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	enum {
		CONFLICTS = 2 /* bank conflicts: passes per gather of a warp */,
		OF_GATHER = 2,
		OF_ELEMENT = 2 /* instructions per element */,
		START = 500
	};
	static const double narrow[] = { 0, 1.4, 1.05, 1, 1 }; /* by width */
	const double cache = t->l2_bytes_per_ns / t->bytes_per_ns;
	struct slab f = *(const struct slab *)site->found;
	int n = f.in.gathers.n, parts = c->param[3];
	double planes = c->param[0], points = (double)about(out_count(f.p, s), t);
	double blocks = points / (double)f.places / planes * parts;
	double result = points * type_info(s->out->type)->bits / 8.0, read = about_bytes_read(f.p, s->value, t);
	double kept = (double)about(ir_buffer_count(f.p, f.in.buf), t) * gather_planes_bytes(&f.in);
	read -= (n - 1 - (parts - 1) / cache) * kept; /* each position once; further parts hit the cache */
	double words = planes * gather_planes_bytes(&f.in) / 4;
	double banks = points / planes * n / 32 * CONFLICTS * (words > 1 ? words : 1);
	double work = points * (ir_cost(s->value) / planes + OF_GATHER * n + OF_ELEMENT) * narrow[c->param[1]];
	double each = blocks / t->processors, fill = each < 4 ? each / ceil(each) : 1,
	       gather = result / t->bytes_per_ns;
	gather = fmax(gather, fmax(work / cost_steady_rate(t), banks / (cost_steady_rate(t) / (32 * t->schedulers))));
	double resident = target_resident(t, c->param[2], 0, slab_bytes(&f, c->param[0])), turns = each / resident;
	double fetch = read / t->bytes_per_ns, both = fmax(fetch, gather), one = fmin(fetch, gather);
	both = resident >= 2 && turns > 1 ? fmax((read + result) / t->bytes_per_ns, both) + one / turns
	                                  : fetch + gather;
	/* Loads of a thread take several accesses, not coalesced, for results of less than one access. */
	if (widest_load(s->value) * c->param[1] > BYTES * 8 && type_info(s->out->type)->bits * c->param[1] < BYTES * 8)
		both *= 1.08;
	return t->launch_ns + START + both / fill;
}

/* ---- The kernel. */

static expr plane_position(const struct slab *f, const expr *axis)
{
	struct ir_program *p = f->p;
	struct axes here = { .value = axis };
	expr at = ir_index(p->pool, 0);
	for (int k = 0; k < f->in.lead; k++) {
		expr index = to_kernel(p, f->in.gathers.at[0].load->arg[k], &here);
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, f->in.buf->dim[k]), index);
	}
	return ir_binary(IR_MUL, at, ir_index(p->pool, f->size));
}

/* Stores vectors of the planes, at the same positions, transposed into shared memory. `vectors`: arrays, or row `row`
 * of each. */
static void store_places(struct slab *f, struct ir_block *b, expr first, struct ir_variable *const *vectors, expr row)
{
	struct ir_program *p = f->p;
	expr v;
	if (f->planes == 1) {
		emit_store_vector_flat(p, b, f->shared, first, vectors[0], row, BYTES / gather_planes_bytes(&f->in));
		return;
	}
	struct ir_block *items = emit_unrolled(p, b, "v", BYTES / gather_planes_bytes(&f->in), &v);
	struct ir_variable *place = ir_variable_new(p->pool, f->in.buf->type, "place");
	emit_array(p, items, place, f->planes);
	for (int i = 0; i < f->planes; i++)
		emit_set(p, items, place, ir_index(p->pool, i),
		         row ? item_of_row(vectors[i], row, v) : item_of(vectors[i], v));
	expr at = ir_binary(IR_MUL, ir_binary(IR_ADD, first, v), ir_index(p->pool, f->planes));
	emit_store_vector_flat(p, items, f->shared, at, place, NULL, f->planes);
}

static void load_places(struct slab *f, struct ir_block *b, expr from, struct ir_variable *const *vectors, expr row)
{
	for (int i = 0; i < f->planes; i++) {
		expr at = ir_binary(IR_ADD, from, ir_index(f->p->pool, i * f->size));
		int width = BYTES / gather_planes_bytes(&f->in);
		if (row)
			emit_load_into(f->p, b, f->in.buf, at, vectors[i], row, width);
		else
			emit_load_vector(f->p, b, f->in.buf, at, vectors[i], width);
	}
}

/* Copies the planes from `plane` on into shared memory: issues all loads before the first store if the registers
 * suffice. */
static void fill_slab(struct slab *f, struct ir_block *b, const expr *axis, expr thread)
{
	struct ir_program *p = f->p;
	int vector = BYTES / gather_planes_bytes(&f->in);
	int64_t turn = (int64_t)f->threads * vector, turns = f->size / turn;
	struct ir_variable *array[MAX_PLANES];
	expr step, size = ir_index(p->pool, f->size), base = emit_declare(p, b, "base", plane_position(f, axis), NULL);
	expr mine = ir_binary(IR_MUL, thread, ir_index(p->pool, vector));
	for (int i = 0; i < f->planes; i++)
		array[i] = ir_variable_new(p->pool, f->in.buf->type, "plane_%d", i);
	if (f->size % turn == 0 && turns > 1 && turns * f->planes <= MAX_AHEAD) {
		for (int i = 0; i < f->planes; i++)
			emit_array_of_rows(p, b, array[i], (int)turns, vector);
		for (int store = 0; store < 2; store++) {
			struct ir_block *body = emit_unrolled(p, b, "step", (int)turns, &step);
			expr first = ir_binary(IR_ADD, mine, ir_binary(IR_MUL, step, ir_index(p->pool, turn)));
			if (store)
				store_places(f, body, first, array, step);
			else
				load_places(f, body, ir_binary(IR_ADD, base, first), array, step);
		}
		return;
	}
	expr first;
	struct ir_block *body = emit_loop(p, b, "first", mine, size, ir_index(p->pool, turn), size, &first);
	load_places(f, body, ir_binary(IR_ADD, base, first), array, NULL);
	store_places(f, body, first, array, NULL);
}

/* Index of a position's elements in shared memory. Without a bounds check, a position outside the plane is clamped to
 * some element of it. */
static expr position_in_slab(struct gather_planes *f, const struct gather *one, const struct axes *here)
{
	expr at = ir_index(f->p->pool, 0), none = at, last = ir_binary(IR_SUB, f->size, ir_index(f->p->pool, 1));
	for (int k = f->lead; k < f->buf->rank; k++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, f->buf->dim[k]), one->load->arg[k]);
	at = to_kernel(f->p, gathers_replace(&f->gathers, at, NULL), here);
	if (!one->where || !one->sure)
		at = ir_binary(IR_MAX, ir_binary(IR_MIN, at, last), none);
	return ir_binary(IR_MUL, at, ir_index(f->p->pool, f->planes));
}

/* The same for a CPU, without a copy. */
static void serial_planes(struct slab *f, struct ir_block *b, expr number, expr from, expr to)
{
	struct ir_program *p = f->p;
	const struct ir_buffer *out = f->s->out;
	expr axis[IR_MAX_RANK], one = ir_index(p->pool, 1), at = ir_index(p->pool, 0);
	struct axes here = { .value = axis };
	gather_planes_axes(&f->in, b, number, 0, f->in.axis + 1, axis);
	expr plane, place, planes = ir_index(p->pool, f->planes);
	b = emit_loop(p, b, "plane", ir_index(p->pool, 0), planes, one, planes, &plane);
	axis[f->in.axis] = ir_binary(IR_ADD, axis[f->in.axis], plane);
	b = emit_loop(p, b, "place", from, to, one, ir_index(p->pool, f->places), &place);
	gather_planes_axes(&f->in, b, place, f->in.axis + 1, out->rank, axis);
	for (int k = 0; k < out->rank; k++)
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, out->dim[k]), axis[k]);
	emit_store(p, b, out, at, to_kernel(p, f->s->value, &here));
}

/* Loads the coordinates of the positions from `place` on into their arrays. */
static void load_coordinates(struct slab *f, struct ir_block *b, expr place, const expr *planes, expr end)
{
	expr axis[IR_MAX_RANK];
	struct ir_block *in = emit_if(f->p, b, ir_binary(IR_LT, place, end));
	memcpy(axis, planes, sizeof axis);
	gather_planes_axes(&f->in, in, place, f->in.axis + 1, f->s->out->rank, axis);
	gathers_load_vectors(&f->in.gathers, in, axis, true);
}

/* Prefetch: the first positions' coordinates are loaded together with the planes, later ones after use of those
 * before. */
static void gather_from_slab(struct slab *f, struct ir_block *b, expr *axis, expr first, expr end, expr thread)
{
	struct ir_program *p = f->p;
	int rank = f->s->out->rank;
	int64_t turn = (int64_t)f->threads * f->width;
	const struct ir_variable *each = ir_variable_new(p->pool, TYPE_INDEX, "place");
	expr place = ir_var_multiple(each, ir_index(p->pool, f->places), f->width);
	struct ir_block unused = { 0 };
	gather_planes_axes(&f->in, &unused, place, f->in.axis + 1, rank, axis);
	gathers_find_vectors(&f->in.gathers, f->s->value, f->in.inner, f->width, axis);
	gathers_declare_vectors(&f->in.gathers, b);
	if (f->in.gathers.vectors)
		load_coordinates(f, b, first, axis, end);
	fill_slab(f, b, axis, thread);
	emit(p, b, IR_SYNC);
	b = emit_for_each(p, b, each, first, end, ir_index(p->pool, turn));
	gather_planes_axes(&f->in, b, place, f->in.axis + 1, rank, axis);
	gather_planes_emit(&f->in, b, axis);
	if (f->in.gathers.vectors && turn * f->parts < f->places)
		load_coordinates(f, b, ir_binary(IR_ADD, place, ir_index(p->pool, turn)), axis, end);
}

static void emit_kernel(struct ir_plan *plan, struct ir_step *step, struct slab *f, const struct sched_choice *c,
                        int planes, int arch)
{
	struct ir_program *p = f->p;
	struct ir_kernel *k = kernel_new(plan, f->s, arena_printf(p->arena, "_p%d", planes), c);
	struct ir_buffer *shared = NEW(p->arena, struct ir_buffer);
	expr axis[IR_MAX_RANK], parts = ir_index(p->pool, c->param[3]),
	                        part = ir_index(p->pool, f->places / c->param[3]);
	f->in.planes = f->planes = planes;
	f->in.width = f->width = c->param[1];
	k->threads = f->threads = c->param[2];
	f->parts = c->param[3];
	k->blocks = ir_index(p->pool, 1);
	for (int i = 0; i <= f->in.axis; i++)
		k->blocks = ir_binary(IR_MUL, k->blocks, f->s->out->dim[i]);
	k->blocks = ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, k->blocks, ir_index(p->pool, planes)), parts);
	k->shared_bytes = (int)slab_bytes(f, planes);
	k->arch = k->shared_bytes > TARGET_SHARED_EVERYWHERE ? arch : 0;
	*shared = (struct ir_buffer){
		.name = "slab", .type = f->in.buf->type, .rank = 1, .role = IR_TEMP, .id = f->in.buf->id
	};
	shared->dim[0] = ir_index(p->pool, f->size * planes);
	f->in.from = f->shared = shared;
	f->in.position = position_in_slab;
	vec_push(p->arena, &k->shared, (const struct ir_buffer *)shared);
	expr block = ir_block(p->pool, k->blocks), number = ir_binary(IR_FLOORDIV, block, parts);
	expr thread = ir_thread(p->pool, ir_index(p->pool, f->threads));
	expr first = ir_binary(IR_MUL, ir_binary(IR_MOD, block, parts), part), end = ir_binary(IR_ADD, first, part);
	gather_planes_axes(&f->in, &k->body, number, 0, f->in.axis + 1, axis);
	expr mine = ir_binary(IR_ADD, first, ir_binary(IR_MUL, thread, ir_index(p->pool, f->width)));
	gather_from_slab(f, &k->body, axis, mine, end, thread);
	serial_planes(f, &k->serial, number, first, end);
	kernel_finish(plan, step, k, f->s);
}

/* If the planes need more shared memory than every GPU has, a fallback kernel with fewer planes follows. */
static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	struct slab f = *(const struct slab *)site->found;
	struct ir_step *step = step_new(plan);
	int planes = c->param[0];
	emit_kernel(plan, step, &f, c, planes, site->t->arch);
	while (slab_bytes(&f, planes) > TARGET_SHARED_EVERYWHERE)
		planes /= 2;
	if (planes < c->param[0])
		emit_kernel(plan, step, &f, c, planes, site->t->arch);
}

const struct sched_rule sched_slab = {
	.name = "slab",
	.version = 3,
	.about = "A block keeps {planes plane} in shared memory, and gathers elements from there.{parts> "
	         "{parts} blocks share the results of these planes.}",
	.param = { { "planes", 1, 4 }, { "width", 1, 4 }, { "threads", 256, 1024 }, { "parts", 1, 4 } },
	.none = "a plane does not fit into the shared memory that every GPU has",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
