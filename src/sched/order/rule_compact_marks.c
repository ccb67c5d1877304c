/* Rule compact_marks: a compaction and maps of the kept points whose rows are as long as their count (the coordinates
 * of NonZero). Nothing can be stored before all points are counted. The first kernel reads everything once, and stores
 * one bit per point and the number of kept points before each tile. The second kernel goes over the bits and stores. */
#include "sched/order/compact.h"
#include "sched/build/axes.h"
#include "sched/core/choose.h"
#include "sched/build/emit.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"
#include "sched/build/stored.h"
#include "sched/core/tiles.h"

enum { WARP = 32, MOST_MAPS = 3, MOST_ROWS = 8 };

/* Maps after the compaction, each element of which needs only the point kept at the same position. */
struct kept_maps {
	const struct ir_stage *map[MOST_MAPS];
	int n;
	bool kept; /* true if the kept points are stored, too */
};

struct find_loads {
	const struct ir_stage *s;
	const struct kept_maps *m;
	bool fits;
};

/* Checks that a load only reads the point kept at the same position, and no other result of this kernel. */
static void check_load(void *user, expr e)
{
	struct find_loads *f = user;
	if (e->op != IR_LOAD)
		return;
	if (e->buf == f->s->out) {
		int last = f->m->map[f->m->n]->out->rank - 1;
		f->fits &= e->arg[0]->op == IR_AXIS && e->arg[0]->i == last;
	}
	for (int i = 0; i < f->m->n; i++)
		f->fits &= e->buf != f->m->map[i]->out;
}

/* Elements of a map per kept point; 0: not such a map. */
static int64_t rows_of(const struct ir_stage *s, const struct ir_stage *map)
{
	int64_t rows = 1, extent;
	int last = map->out->rank - 1;
	if (map->kind != IR_MAP || last < 0 || map->out->dim[last] != s->out->dim[0] || type_is_packed(map->out->type))
		return 0;
	for (int k = 0; k < last; k++) {
		if (!ir_const_int(map->out->dim[k], &extent) || extent < 1 || extent > MOST_ROWS)
			return 0;
		rows *= extent;
	}
	return rows <= MOST_ROWS ? rows : 0;
}

static struct kept_maps find_maps(const struct ir_program *p, const struct ir_stage *s)
{
	struct kept_maps m = { .n = 0 };
	const struct ir_stage *made[MOST_MAPS + 1] = { s };
	int first = 0;
	while (first < p->stages.n && p->stages.at[first] != s)
		first++;
	for (int i = first + 1; s->kind == IR_COMPACT && i < p->stages.n && m.n < MOST_MAPS; i++) {
		struct find_loads f = { s, &m, rows_of(s, p->stages.at[i]) > 0 };
		m.map[m.n] = p->stages.at[i];
		if (f.fits)
			ir_walk(m.map[m.n]->value, check_load, &f);
		if (!f.fits)
			break;
		made[++m.n] = p->stages.at[i];
	}
	m.kept = stage_is_stored(p, made, m.n + 1, 0);
	return m;
}

static const void *match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	if (!compact_match(p, s, why))
		return NULL;
	*why = "no map of the kept points follows";
	struct kept_maps m = find_maps(p, s);
	return m.n ? FOUND(p, m) : NULL;
}

static int span(const struct sched_site *site)
{
	return 1 + ((const struct kept_maps *)site->found)->n;
}

static int candidates(const struct sched_site *site, struct sched_choice *out)
{
	(void)site;
	out[0] = (struct sched_choice){ &sched_compact_marks, { 256, 16 } };
	out[1] = (struct sched_choice){ &sched_compact_marks, { 256, 32 } };
	out[2] = (struct sched_choice){ &sched_compact_marks, { 256, 8 } };
	return 3;
}

/* ---- Kernels. */

struct marks {
	struct ir_program *p;
	const struct ir_stage *s;
	struct kept_maps maps;
	struct compact_points points;
	int threads, items;
	expr tiles;
	struct ir_buffer *mark, *start; /* one bit per point; number of kept points before each tile */
};

static expr index_of(const struct marks *x, int64_t n)
{
	return ir_index(x->p->pool, n);
}

static expr times(expr a, int64_t b)
{
	return ir_binary(IR_MUL, a, ir_index(a->pool, b));
}

struct kept_load {
	const struct ir_buffer *buf;
	expr value;
};

static expr kept_load(void *user, expr e, expr flat)
{
	struct kept_load *k = user;
	(void)flat;
	return e->buf == k->buf ? k->value : NULL;
}

/* Stores everything for the point kept at `place`. */
static void emit_kept(const struct marks *x, struct ir_block *b, expr place, expr point)
{
	struct ir_program *p = x->p;
	const struct ir_buffer *out = x->s->out;
	struct kept_load kept = { out, ir_cast(compact_at_point(&x->points, b, x->s->value, point), out->type) };
	if (x->maps.kept)
		emit_store(p, b, out, place, kept.value);
	for (int i = 0; i < x->maps.n; i++) {
		const struct ir_stage *map = x->maps.map[i];
		int64_t rows = rows_of(x->s, map), extent;
		int last = map->out->rank - 1;
		for (int64_t row = 0; row < rows; row++) {
			expr axis[IR_MAX_RANK];
			struct axes a = { .value = axis, .load = kept_load, .user = &kept };
			int64_t rest = row;
			axis[last] = place;
			for (int k = last - 1; k >= 0; k--) {
				ck(ir_const_int(map->out->dim[k], &extent));
				axis[k] = index_of(x, rest % extent);
				rest /= extent;
			}
			emit_store(p, b, map->out, ir_flat(p->pool, map->out, axis), to_kernel(p, map->value, &a));
		}
	}
}

static struct ir_block *first_block(const struct marks *x, struct ir_kernel *k)
{
	return emit_if(x->p, &k->serial, ir_binary(IR_EQ, ir_block(x->p->pool, NULL), index_of(x, 0)));
}

/* Serial twin: the first block goes over all kept points. */
static struct ir_block *serial_points(const struct marks *x, struct ir_block *b, expr *point)
{
	b = emit_loop(x->p, b, "point", index_of(x, 0), x->points.count, index_of(x, 1), x->points.count, point);
	return emit_if(x->p, b, compact_at_point(&x->points, b, x->s->where, *point));
}

static void mark_kernel(struct ir_plan *plan, const struct marks *x, struct tiles *t, const struct sched_choice *c)
{
	struct ir_program *p = x->p;
	struct ir_kernel *k = kernel_new(plan, x->s, "_marks", c);
	struct ir_block *b = &k->body;
	expr zero = index_of(x, 0), one = index_of(x, 1), sum, point;
	tiles_take(p, k, t, x->tiles);
	struct ir_lambda *keep = emit_lambda(p, b, "keep");
	const struct ir_variable *keep_of = keep->var;
	point = emit_parameter(p, keep, TYPE_INDEX, "point", x->points.count);
	keep->value = compact_at_point(&x->points, keep->body, x->s->where, point);
	struct ir_variable *warps = array_of(ir_variable_new(p->pool, TYPE_I32, "across"), x->threads / WARP);
	const struct ir_variable *across = emit_shared(p, b, warps);
	struct ir_template of = IR_OF(IR_NUMBER(x->threads), IR_NUMBER(x->items));
	struct ir_call *call = emit_invoke(p, b, &device_mark_points, of);
	const struct ir_variable *kept = take_result(p, call, "sum");
	add_address(p, call, x->mark, times(t->tile, x->threads * x->items / WARP), true);
	add_value(p, call, times(t->tile, x->threads * x->items));
	add_value(p, call, x->points.count);
	add_variable(p, call, across);
	add_variable(p, call, keep_of);
	sum = ir_var_of(kept, NULL);
	expr before = tiles_before(p, b, t, sum, IR_SUM, t->tile), thread = ir_thread(p->pool, NULL);
	b = emit_if(p, b, ir_binary(IR_EQ, thread, zero));
	emit_store(p, b, x->start, t->tile, ir_cast(before, TYPE_I64));
	b = emit_if(p, b, ir_binary(IR_EQ, ir_binary(IR_ADD, t->tile, one), x->tiles));
	emit_store(p, b, x->s->count, zero, ir_cast(ir_binary(IR_ADD, before, sum), TYPE_I64));

	b = first_block(x, k);
	sum = emit_variable(p, b, "sum", zero);
	emit_assign(p, serial_points(x, b, &point), sum, ir_binary(IR_ADD, sum, one));
	emit_store(p, b, x->s->count, zero, ir_cast(sum, TYPE_I64));
	kernel_finish(plan, step_new(plan), k, x->s);
}

static void put_kernel(struct ir_plan *plan, const struct marks *x, const struct sched_choice *c)
{
	struct ir_program *p = x->p;
	struct ir_kernel *k = kernel_new(plan, x->s, "", c);
	struct ir_block *b = &k->body;
	expr limit = x->s->out->dim[0], one = index_of(x, 1), point;
	k->threads = x->threads;
	k->blocks = x->tiles;
	if (ir_size_limit(p, x->tiles) != x->tiles)
		emit_return_if(p, b, ir_binary(IR_LE, x->tiles, ir_block(p->pool, NULL)));
	expr tile = emit_constant(p, b, "tile", ir_block(p->pool, x->tiles), x->tiles);
	expr start = ir_cast(ir_load(p->pool, flat_view(p, x->start), &tile), TYPE_INDEX);
	struct ir_lambda *put = emit_lambda(p, b, "put");
	const struct ir_variable *put_of = put->var;
	expr place = emit_parameter(p, put, TYPE_INDEX, "place", limit);
	point = emit_parameter(p, put, TYPE_INDEX, "point", x->points.count);
	emit_kept(x, put->body, place, point);
	struct ir_template of = IR_OF(IR_NUMBER(x->threads), IR_NUMBER(x->items));
	const struct ir_variable *shared =
	        emit_shared(p, b, ir_object_new(p->pool, &device_marked_points, of, "shared"));
	struct ir_call *call = emit_invoke(p, b, &device_put_marked, IR_OF_NOTHING);
	add_variable(p, call, shared);
	add_address(p, call, x->mark, times(tile, x->threads * x->items / WARP), false);
	add_value(p, call, times(tile, x->threads * x->items));
	add_value(p, call, start);
	add_variable(p, call, put_of);

	b = first_block(x, k);
	expr sum = emit_variable(p, b, "sum", index_of(x, 0));
	b = serial_points(x, b, &point);
	emit_kept(x, b, ir_var_of(sum->var, limit), point);
	emit_assign(p, b, sum, ir_binary(IR_ADD, sum, one));
	kernel_finish(plan, step_new(plan), k, x->s);
}

static void apply(struct ir_plan *plan, const struct sched_site *site, const struct sched_choice *c)
{
	const struct ir_stage *s = site->s;
	struct ir_program *p = plan->program;
	struct marks x = {
		.p = p, .s = s, .maps = *(const struct kept_maps *)site->found, .points = compact_points_of(p, s)
	};
	struct tiles t = { .threads = c->param[0], .items = c->param[1] };
	x.threads = t.threads;
	x.items = t.items;
	x.tiles = ir_binary(IR_MAX, index_of(&x, 1), tiles_of(p, &t, x.points.count)); /* one tile even if empty: it
	                                                                                  stores the count */
	t = tiles_new(plan, s, x.tiles, TYPE_INDEX, t.threads, t.items);
	expr tiles = ir_size_limit(p, x.tiles), words = times(tiles, x.threads * x.items / WARP);
	x.mark = ir_buffer_new(p, arena_printf(p->arena, "%s_marks", s->out->name), TYPE_U32, 1, &words, IR_TEMP);
	x.start = ir_buffer_new(p, arena_printf(p->arena, "%s_starts", s->out->name), TYPE_I64, 1, &tiles, IR_TEMP);
	mark_kernel(plan, &x, &t, c);
	put_kernel(plan, &x, c);
}

/* One read and one store of everything, a bit per point, three launches, and tiles that wait for earlier ones. */
static double estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct ir_program *p = site->p;
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	struct kept_maps m = *(const struct kept_maps *)site->found;
	double points = (double)about(space_count(p, s), t), bytes = about_bytes_read(p, s->where, t) + points / 4;
	double tiles = points / c->param[0] / c->param[1], fill = tiles * c->param[0] / cost_full_threads(t);
	if (m.kept)
		bytes += (double)about(out_count(p, s), t) * type_info(s->out->type)->bits / 8;
	for (int i = 0; i < m.n; i++)
		bytes += (double)about(ir_buffer_count(p, m.map[i]->out), t) * type_info(m.map[i]->out->type)->bits / 8;
	fill = fill > 1 ? 1 : fill < 0.01 ? 0.01 : fill;
	return 3 * t->launch_ns + cost_table(t)->tiles_wait + bytes / t->bytes_per_ns / fill + tiles * 0.5;
}

const struct sched_rule sched_compact_marks = {
	.name = "compact_marks",
	.version = 2,
	.about = "A first kernel stores a bit for each point, and the number of points kept before each "
	         "tile. A second kernel stores the points of these bits.",
	.param = { { "threads", 256, 256 }, { "items", 8, 32 } },
	.match = match,
	.span = span,
	.candidates = candidates,
	.apply = apply,
	.estimate = estimate,
};
