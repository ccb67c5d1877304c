/* The analytic cost model: bytes moved, coalescing of neighbouring threads' accesses, and occupancy. It orders choices
 * without measurement. */
#include "sched/core/choose.h"
#include "sched/target/cost.h"
#include "sched/build/extents.h"

struct traffic {
	struct ir_program *p;
	const struct sched_target *t;
	int axis; /* that neighbouring threads run along; -1: none */
	double bytes;
	double points;    /* of the space: executions of the load */
	double narrowest; /* bytes of the narrowest element loaded; 0: none yet */
};

enum { SECTOR = 32 };

/* A place of a load: lane `lane` along an axis, the first along all others. */
struct lane {
	int axis, lane;
};

static expr at_lane(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	const struct lane *x = user;
	(void)arg;
	if (e->op != IR_AXIS && e->op != IR_VAR)
		return NULL;
	return ir_index(p, e->op == IR_AXIS && e->i == x->axis ? x->lane : 0);
}

/* Bytes that each lane of a warp moves where the lanes' places are no straight line, as in a transposed convolution or
 * an enlarged image: whole sectors, each once. Places that depend on data have a sector each. */
static double bytes_of_places(expr flat, int axis, double size, const struct sched_target *t)
{
	enum { LANES = 32 };
	int64_t seen[LANES];
	int sectors = 0;
	for (int k = 0; k < LANES; k++) {
		struct lane x = { axis, k };
		expr place = ir_copy(flat->pool, flat, at_lane, &x);
		if (place->varies)
			return SECTOR;
		int64_t sector = (int64_t)((double)about(place, t) * size / SECTOR);
		bool known = false;
		for (int i = 0; i < sectors; i++)
			known |= seen[i] == sector;
		if (!known)
			seen[sectors++] = sector;
	}
	return (double)sectors * SECTOR / LANES;
}

/* A warp's access moves whole sectors. Repeated reads mostly hit the caches, at a quarter of the cost. */
double about_bytes_loaded(struct ir_program *p, expr load, int axis, double points, const struct sched_target *t)
{
	double size = type_info(load->type)->bits / 8.0, elements = (double)about(ir_buffer_count(p, load->buf), t);
	expr flat = ir_flat(p->pool, load->buf, load->arg), stride = axis >= 0 ? ir_stride(flat, axis) : NULL;
	double step = !stride ? 1e9 : ir_is_int(stride, 0) ? 0 : (double)about(stride, t);
	double a_load = step == 0 ? size / SECTOR : step == 1 ? size : step * size < SECTOR ? step * size : SECTOR;
	if (axis >= 0 && !stride)
		a_load = bytes_of_places(flat, axis, size, t);
	double first = elements * size, again = points * a_load;
	return again <= first ? again : first + (again - first) / 4;
}

static void add_load(void *user, expr e)
{
	struct traffic *m = user;
	if (e->op != IR_LOAD)
		return;
	double size = type_info(e->type)->bits / 8.0;
	m->narrowest = m->narrowest > 0 && m->narrowest < size ? m->narrowest : size;
	m->bytes += about_bytes_loaded(m->p, e, m->axis, m->points, m->t);
}

static int last_axis(const struct ir_buffer *b)
{
	for (int k = b->rank - 1; k >= 0; k--)
		if (!ir_is_int(b->dim[k], 1))
			return k;
	return -1;
}

struct cost_way cost_way(const struct sched_site *site)
{
	return (struct cost_way){ .axis = last_axis(site->s->out),
		                  .threads = (double)about(out_count(site->p, site->s), site->t),
		                  .columns = 1,
		                  .slower = 1 };
}

/* Measured on an H100: half of the multiprocessors reach 0.93 of the bandwidth. */
static double on_fewer_processors(double time, double bytes, double blocks, const struct sched_target *t)
{
	double share = blocks / t->processors, alone = bytes / (cost_alone_rate(t) * (blocks < 1 ? 1 : blocks));
	if (share >= 1)
		return time;
	time *= 1 + 0.13 * (1 - share);
	return time > alone ? time : alone;
}

/* Bytes that the stage loads with this mapping, narrow elements weighted by their time, and bytes that it stores. */
double cost_way_bytes(const struct sched_site *site, const struct cost_way *w)
{
	const struct ir_stage *s = site->s;
	double outs = (double)about(out_count(site->p, s), site->t);
	double points = w->points > 0 ? w->points : (double)about(space_count(site->p, s), site->t);
	struct traffic m = { .p = site->p, .t = site->t, .axis = w->axis, .points = points, .bytes = w->strided };
	if (s->where)
		ir_walk(s->where, add_load, &m);
	ir_walk(s->value, add_load, &m);
	/* Measured on an H100: a reduction takes 1.05 times as long as its bytes with loads of four bytes, 1.19 times
	 * with loads of two. */
	for (double access = m.narrowest * w->columns; s->kind == IR_REDUCE && access > 0 && access < 8; access *= 2)
		m.bytes *= access < 4 ? 1.13 : 1.05;
	if (s->init)
		m.bytes += 2 * outs * type_info(s->out->type)->bits / 8.0;
	return m.bytes + outs * type_info(s->out->type)->bits / 8.0;
}

static bool loads(expr e)
{
	return e->op == IR_LOAD || (e->op == IR_CAST && loads(e->arg[0])) || (e->op == IR_SELECT && loads(e->arg[1]));
}

bool cost_is_product(const struct sched_site *site)
{
	expr value = site->s->value;
	return value->op == IR_MUL && loads(value->arg[0]) && loads(value->arg[1]);
}

double cost_work(const struct sched_site *site)
{
	expr value = site->s->value;
	double work = (double)about(space_count(site->p, site->s), site->t) * ir_cost(value);
	if (!cost_is_product(site))
		return work;
	return work * (value->arg[0]->op == IR_SELECT || value->arg[1]->op == IR_SELECT ? 3 : 1.7);
}

double cost_of_way(const struct sched_site *site, const struct cost_way *w)
{
	const struct sched_target *t = site->t;
	double points = (double)about(space_count(site->p, site->s), t), bytes = cost_way_bytes(site, w);
	/* Full bandwidth needs many threads, or fewer with more bytes each. */
	double each = (w->columns > 1 ? w->columns : 1) * (w->flight > 1 ? w->flight : 1);
	double fill = w->threads * (each > 4 ? 4 : each) / cost_full_threads(t);
	double work = (w->work > 0 ? w->work : points * ir_cost(site->s->value)) / cost_mixed_rate(t);
	double time = bytes / t->bytes_per_ns / cost_rate_reached(fill);
	time *= w->slower;
	if (work > time)
		time = work;
	if (w->blocks > 0)
		time = on_fewer_processors(time, bytes, w->blocks, t) + 0.3 * w->serial;
	if (w->serial > time)
		time = w->serial;
	return t->launch_ns + w->overhead + time;
}

double sched_estimate(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                      const struct sched_target *t)
{
	struct sched_target known = with_sizes(p, t);
	const char *why;
	const struct sched_site site = { p, s, &known, sched_match(p, s, c->rule, &why) };
	ck(site.found);
	if (c->rule->estimate)
		return c->rule->estimate(&site, c);
	const struct cost_way way = cost_way(&site);
	return cost_of_way(&site, &way);
}
