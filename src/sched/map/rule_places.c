/* Rule places: a map that gathers from several planes at the same data-dependent positions, for planes too large for
 * shared memory. A first kernel transposes the source, so that the planes' elements of a position are adjacent. In the
 * second, a thread loads a position's elements of several planes as one vector, and computes its coordinates once for
 * them. */
#include "sched/map/gather_planes.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/vectors.h"

#include <math.h>

#include "ir/axis_names.h"

enum { THREADS = 128, MAX_WIDTH = 2, MAX_TURNS = 8, BYTES = GATHER_BYTES, LEAST_BYTES = 8 };
enum {
	TURNED = 2,
	PLANE_THREADS = 4
}; /* of the transposing kernel: neighbouring positions per thread; threads per position */

struct places {
	struct gather_planes in;
	struct ir_program *p;
	const struct ir_stage *s;
	int64_t all; /* number of planes of the source */
};

static bool find(struct places *f, struct ir_program *p, const struct ir_stage *s)
{
	*f = (struct places){ .p = p, .s = s };
	if (!gather_planes_find(&f->in, p, s, false) || !ir_const_int(f->in.buf->dim[f->in.lead - 1], &f->all))
		return false;
	for (int i = 0; i < f->in.gathers.n; i++)
		if (!f->in.gathers.at[i].sure)
			return false;
	return true;
}

static bool shape_fits(const struct places *f, int planes, int width, int turns)
{
	int bytes = planes * gather_planes_bytes(&f->in);
	if (!divides(f->s->out->dim[f->in.axis], planes * turns) || f->all % planes || bytes > BYTES)
		return false;
	return width == 1 || (divides(f->s->out->dim[f->in.inner], width) && turns == 1 &&
	                      type_info(f->s->out->type)->bits * width <= BYTES * 8);
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	int n = 0;
	struct places f = *(const struct places *)site->found;
	for (int planes = BYTES / gather_planes_bytes(&f.in); planes * gather_planes_bytes(&f.in) >= LEAST_BYTES;
	     planes /= 2)
		for (int turns = MAX_TURNS; turns >= 1 && planes > 1; turns /= 2)
			for (int width = MAX_WIDTH; width >= 1; width /= 2)
				if (shape_fits(&f, planes, width, turns))
					out[n++] = (struct sched_choice){ &sched_places, { planes, width, turns } };
	return n;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	struct places f;
	if (find(&f, p, s))
		return FOUND(p, f);
	*why = "the stage is not a map that gathers from several planes at the same positions";
	return NULL;
}

/* ---- The kernel that transposes. */

/* The stage that copies the source, with its planes along the last dimension. */
static void lay_out(struct places *f, struct ir_stage *stage)
{
	struct ir_program *p = f->p;
	const struct ir_buffer *b = f->in.buf;
	int last = f->in.lead - 1, n = 0;
	expr dim[IR_MAX_RANK], from[IR_MAX_RANK];
	for (int k = 0; k < b->rank; k++) {
		int to = k == last ? b->rank - 1 : n++;
		dim[to] = b->dim[k];
		from[k] = ir_axis(p->pool, to, b->dim[k]);
	}
	struct ir_buffer *copy =
	        ir_buffer_new(p, arena_printf(p->arena, "%s_places", b->name), b->type, b->rank, dim, IR_TEMP);
	*stage = (struct ir_stage){ .kind = IR_MAP, .out = copy, .value = ir_load(p->pool, b, from) };
}

/* A thread takes a vector of planes at some neighbouring positions; the next threads take the next vectors, so that
 * both loads and stores are coalesced. */
static void emit_layout(struct ir_plan *plan, struct places *f, const struct sched_choice *c,
                        const struct ir_stage *stage)
{
	struct ir_program *p = f->p;
	struct ir_pool *pool = p->pool;
	int planes = c->param[0], plane_threads = PLANE_THREADS;
	expr rest = ir_binary(IR_MOD, f->in.size, ir_index(pool, TURNED));
	int turned = ir_is_int(rest, 0) ? TURNED : 1;
	while (f->all / planes % plane_threads)
		plane_threads /= 2;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, stage, "", c);
	expr dim[4] = { ir_index(pool, 1), ir_index(pool, f->all / planes / plane_threads),
		        ir_binary(IR_FLOORDIV, f->in.size, ir_index(pool, turned)), ir_index(pool, plane_threads) };
	expr axis[4], count = ir_index(pool, 1);
	const bool used[4] = { true, true, true, true };
	struct ir_variable *array[GATHER_PLANES_MAX];
	for (int i = 0; i < f->in.lead - 1; i++)
		dim[0] = ir_binary(IR_MUL, dim[0], f->in.buf->dim[i]);
	for (int i = 0; i < 4; i++)
		count = ir_binary(IR_MUL, count, dim[i]);
	expr element = declare_element(p, k, count, THREADS, 1);
	declare_axes(p, &k->body, element, 4, dim, ir_axis_names[0], used, axis);
	expr plane = ir_binary(IR_MUL, ir_binary(IR_ADD, ir_binary(IR_MUL, axis[1], dim[3]), axis[3]),
	                       ir_index(pool, planes));
	expr first = ir_binary(IR_MUL, axis[2], ir_index(pool, turned));
	for (int q = 0; q < planes; q++) {
		expr at = ir_binary(IR_ADD, ir_binary(IR_MUL, axis[0], ir_index(pool, f->all)),
		                    ir_binary(IR_ADD, plane, ir_index(pool, q)));
		array[q] = ir_variable_new(pool, f->in.buf->type, "plane_%d", q);
		at = ir_binary(IR_ADD, ir_binary(IR_MUL, at, f->in.size), first);
		emit_load_vector(p, &k->body, f->in.buf, at, array[q], turned);
	}
	expr v;
	struct ir_block *items = emit_unrolled(p, &k->body, "v", turned, &v);
	struct ir_variable *one = ir_variable_new(pool, f->in.buf->type, "place");
	emit_array(p, items, one, planes);
	for (int q = 0; q < planes; q++)
		emit_set(p, items, one, ir_index(pool, q), item_of(array[q], v));
	expr place = ir_binary(IR_ADD, ir_binary(IR_MUL, axis[0], f->in.size), ir_binary(IR_ADD, first, v));
	expr to = ir_binary(IR_ADD, ir_binary(IR_MUL, place, ir_index(pool, f->all)), plane);
	emit_store_vector(p, items, stage->out, to, one, planes);
	kernel_finish(plan, step, k, stage);
}

/* ---- The kernel that gathers. */

static expr position_in_copy(struct gather_planes *f, const struct gather *one, const struct axes *here)
{
	expr index[IR_MAX_RANK];
	int last = f->lead - 1, n = 0;
	for (int k = 0; k < f->buf->rank; k++)
		index[k == last ? f->buf->rank - 1 : n++] = one->load->arg[k];
	expr at = ir_index(f->p->pool, 0);
	for (int k = 0; k < f->buf->rank; k++)
		at = ir_binary(IR_ADD,
		               ir_binary(IR_MUL, at,
		                         f->buf->dim[k < last                ? k
		                                     : k == f->buf->rank - 1 ? last
		                                                             : k + 1]),
		               index[k]);
	return to_kernel(f->p, gathers_replace(&f->gathers, at, NULL), here);
}

/* Measured on an H100, in us: transposing 8.4 MB of f16 5.5, 16.8 MB 10.4; then 4.2 M samples of a volume 7.8, of f32
 * 13.3; 8.4 M of images 11.7, of f32 29; 4.2 M cubic ones 16.4, of f32 35. An eighth and a quarter of the positions
 * were inside. So bytes and accesses to the L2 cache determine the time. */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	enum { LANES = 32 };
	/* access: cycles of a warp's access on a multiprocessor; laid: of the transposed bytes; second: of a launch. */
	static const double access = 57.5, laid = 1.85, second = 0.4;
	struct places f = *(const struct places *)site->found;
	int planes = c->param[0], width = c->param[1], turns = c->param[2];
	double points = (double)about(out_count(f.p, s), t), size = gather_planes_bytes(&f.in), accesses = 0;
	double kept = (double)about(ir_buffer_count(f.p, f.in.buf), t) * size;
	for (int i = 0; i < f.in.gathers.n; i++) /* bounds checks: half of the positions per dimension are inside */
		accesses +=
		        points / planes / LANES * (f.in.gathers.at[i].where ? pow(0.5, f.in.buf->rank - f.in.lead) : 1);
	double read = about_bytes_read(f.p, s->value, t) - f.in.gathers.n * kept;
	double moved = points * type_info(s->out->type)->bits / 8.0;
	double once = ir_cost(s->value) / turns * (width > 1 ? 0.7 : 1); /* coordinates of a position */
	double gather = accesses * access / (t->processors * t->clock_ghz) + (read + moved) / t->bytes_per_ns;
	gather += points / planes * once / cost_steady_rate(t);
	return (1 + second) * t->launch_ns + 500 + laid * kept / t->bytes_per_ns +
	       gather * (planes * size < BYTES ? 1.3 : 1);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_stage stage;
	struct places f = *(const struct places *)site->found;
	struct ir_program *p = plan->program;
	lay_out(&f, &stage);
	emit_layout(plan, &f, c, &stage);
	f.in.planes = c->param[0];
	f.in.width = c->param[1];
	f.in.turns = c->param[2];
	f.in.from = flat_view(p, stage.out);
	f.in.position = position_in_copy;
	struct ir_step *step = step_new(plan);
	struct ir_kernel *k = kernel_new(plan, s, "", c);
	expr axis[IR_MAX_RANK], count = ir_index(p->pool, 1), planes = ir_index(p->pool, f.in.planes * f.in.turns);
	for (int i = 0; i < s->out->rank; i++) {
		expr dim = i == f.in.axis ? ir_binary(IR_FLOORDIV, s->out->dim[i], planes) : s->out->dim[i];
		count = ir_binary(IR_MUL, count, dim);
	}
	expr element = declare_element(p, k, count, THREADS, f.in.width);
	gather_planes_axes(&f.in, &k->body, element, 0, s->out->rank, axis);
	gathers_find_vectors(&f.in.gathers, s->value, f.in.inner, f.in.width, axis);
	gathers_load_vectors(&f.in.gathers, &k->body, axis, false);
	gather_planes_emit(&f.in, &k->body, axis);
	kernel_finish(plan, step, k, s);
}

const struct sched_rule sched_places = {
	.name = "places",
	.version = 1,
	.about = "A first kernel transposes the source, so that the elements of a place in all planes are "
	         "next to each other. In a second kernel, a thread reads those of {planes plane} at once.",
	.param = { { "planes", 1, 16 }, { "width", 1, 2 }, { "turns", 1, 8 } },
	.none = "no vector width divides the number of planes",
	.match = match,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
