/* The analytic cost model: bytes that move, how well neighbouring threads' accesses fall together, and how much of the
 * device the threads fill. A stand-in for measurement, good enough to order choices. */
#include "sched/loop.h"
#include "sched/scan_row.h"
#include "sched/sort.h"

#include <math.h>

struct traffic {
	struct ir_program *p;
	const struct sched_target *t;
	int axis; /* along which neighbouring threads run; -1: none */
	double bytes;
	double points; /* of the space: how often the load is made */
	double narrowest; /* bytes of the narrowest element that is read; 0: none yet */
};

enum { SECTOR = 32 };

/* A warp's access takes whole sectors; what is read again mostly comes from the caches at a quarter of the cost. */
double about_bytes_loaded(struct ir_program *p, expr load, int axis, double points, const struct sched_target *t)
{
	double size = type_info(load->type)->bits / 8.0, elements = (double)about(ir_buffer_count(p, load->buf), t);
	expr stride = axis >= 0 ? ir_stride(ir_flat(p->pool, load->buf, load->arg), axis) : NULL;
	double step = !stride ? 1e9 : ir_is_int(stride, 0) ? 0 : (double)about(stride, t);
	double a_load = step == 0 ? size / SECTOR : step == 1 ? size : step * size < SECTOR ? step * size : SECTOR;
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

/* A thread a row reads and writes at the stride between rows. */
static void scan_traffic(struct traffic *m, const struct ir_stage *s, double *threads, double *serial)
{
	double extent = (double)about(s->out->dim[s->axis], m->t), size = type_info(s->out->type)->bits / 8.0, step = 1;
	for (m->axis = s->out->rank - 1; m->axis >= 0; m->axis--)
		if (m->axis != s->axis && !ir_is_int(s->out->dim[m->axis], 1))
			break;
	*threads = m->points / extent;
	*serial = extent * 6;
	for (int k = s->out->rank - 1; k > m->axis; k--)
		step *= (double)about(s->out->dim[k], m->t);
	m->bytes += m->points * ((step * size < SECTOR ? step * size : SECTOR) - size);
}

/* What tiles need beside the work: the state that is zeroed, and a wait for the tiles before; and blocks that turn out to
 * have too much to do where nobody knows how much it will be. */
static double tiles_overhead(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c,
                             const struct sched_target *t)
{
	enum { WAIT_NS = 2500 };
	int64_t extent;
	if (c->rule == &sched_compact_tiles)
		return t->launch_ns + WAIT_NS;
	if (s->kind == IR_COMPACT)
		return ir_const_int(ir_size_limit(p, space_count(p, s)), &extent) ? 0 : 4 * t->launch_ns;
	return s->kind == IR_SCAN && scan_may_be_long(p, s) ? 4 * t->launch_ns : 0;
}

/* How often a thread of reduce_columns waits for what it reads at once (rule_columns.c): all of it, or eight points. */
static double column_rounds(double points)
{
	return points <= 24 ? 1 : points / 8;
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

double sched_estimate(struct ir_program *p, const struct ir_stage *s, const struct sched_choice *c, const struct sched_target *t)
{
	struct sched_target known = with_sizes(p, t);
	t = &known;
	if (s->kind == IR_LOOP)
		return loop_estimate(p, s, c, t);
	if (c->rule->estimate) {
		const char *why;
		const struct sched_site site = { p, s, t, sched_match(p, s, c->rule, &why) };
		ck(site.found);
		return c->rule->estimate(&site, c);
	}
	double outs = (double)about(out_count(p, s), t), points = (double)about(space_count(p, s), t);
	struct traffic m = { .p = p, .t = t, .axis = last_axis(s->out), .points = points };
	double threads = outs, overhead = 0, columns = 1, slower = 1, serial = 0; /* serial: ns of one thread */
	if (c->rule == &sched_reduce_thread)
		serial = points / (outs > 0 ? outs : 1) * 4;
	if (c->rule == &sched_reduce_lanes) {
		m.axis = s->out->rank + s->space_rank - 1;
		threads = outs * c->param[0];
		double in_row = points / (outs > 0 ? outs : 1);
		/* Steps of the exchange between lanes, and lanes that find nothing to do. */
		overhead = outs * c->param[0] * (c->param[0] > 32 ? 12 : 6) / (cost_mixed_rate(t) / 3);
		columns = c->param[1] > 1 ? c->param[1] : 1;
		if (columns > 1) { /* measured on an H100: loads hide the exchange; a warp alone reads slower than a block */
			overhead = outs * c->param[0] / (cost_mixed_rate(t) / 3);
			slower = 1 + 1.0 / c->param[0];
		}
		if (in_row < c->param[0] * columns)
			threads = outs * in_row / columns;
	}
	if (c->rule == &sched_reduce_columns) {
		double in_column = points / (outs > 0 ? outs : 1);
		columns = c->param[1] > 1 ? c->param[1] : 1;
		threads = outs * (in_column < c->param[0] ? in_column : c->param[0]) / columns;
		serial = column_rounds(in_column / c->param[0]) * 800;
		overhead = outs * c->param[0] * 12 / (cost_mixed_rate(t) / 3);
	}
	if (s->kind == IR_SCATTER)
		threads = points;
	if (s->kind == IR_SCAN)
		scan_traffic(&m, s, &threads, &serial);
	if (s->kind == IR_COMPACT) {
		m.axis = s->space_rank - 1;
		threads = c->rule == &sched_compact_tiles ? points / c->param[1] : c->param[0];
		if (c->rule == &sched_compact_block)
			serial = ceil(points / c->param[0]) * (60 + c->param[0] / 16.0);
		ir_walk(s->where, add_load, &m);
	}
	overhead += tiles_overhead(p, s, c, t);
	if (s->kind == IR_SORT) {
		m.axis = s->out->rank;
		m.points = (double)about(rows_along(p, s), t) * (double)about(s->space[0], t);
	}
	ir_walk(s->value, add_load, &m);
	/* Measured on an H100: a reduction takes 1.05 times as long as the bytes do where a thread reads four at once, 1.19 times
	 * where it reads two. */
	for (double access = m.narrowest * columns; s->kind == IR_REDUCE && access > 0 && access < 8; access *= 2)
		m.bytes *= access < 4 ? 1.13 : 1.05;
	if (s->init)
		m.bytes += 2 * outs * type_info(s->out->type)->bits / 8.0;
	m.bytes += outs * type_info(s->out->type)->bits / 8.0;
	if (s->kind == IR_SORT)
		return sort_estimate(p, s, c, t, m.bytes);
	/* Bandwidth needs many threads, or fewer with more bytes each. */
	double vector = columns, full = cost_full_threads(t);
	double fill = threads * (vector > 4 ? 4 : vector) / full;
	double work = points * ir_cost(s->value) / cost_mixed_rate(t);
	double time = m.bytes / t->bytes_per_ns / (fill < 1 ? (fill > 0.002 ? fill : 0.002) : 1);
	time *= slower;
	if (work > time)
		time = work;
	if (c->rule == &sched_reduce_columns)
		time = on_fewer_processors(time, m.bytes, outs / (32 * columns), t) + 0.3 * serial;
	if (serial > time)
		time = serial;
	return t->launch_ns + overhead + time;
}
