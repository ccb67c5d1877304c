/* Resources of row kernels: registers per thread, rows per block, and the cost model's estimate. See rows.h. */
#include "sched/row/rows.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"
#include "sched/build/finish.h"

#include <math.h>

enum { WARP = 32, WARP_BLOCK = 128, MAX_KEPT_ELEMENTS = 32 };

double rows_registers_each(const struct rows *r)
{
	double bits = 0;
	for (int i = 0; i < r->cached; i++)
		bits += type_info(r->cache[i].buf->type)->bits;
	return bits / 32;
}

int rows_steps_held(const struct rows *r, int lanes, int width, int steps, int resident)
{
	enum { MOST = 64 }; /* registers: more did not pay on an H100; the other half is for everything else */
	int half = TARGET_REGISTERS_EVERYWHERE / (lanes * resident) / 2;
	double each = width * rows_registers_each(r);
	int fit = each > 0 ? (int)((half < MOST ? half : MOST) / each) : steps;
	return steps < fit ? steps : fit;
}

int rows_shared_bytes(const struct rows *r, int lanes, int width, int shared)
{
	return (int)(shared * lanes * width * 4 * rows_registers_each(r));
}

int rows_of_block(int lanes)
{
	return lanes <= WARP ? WARP_BLOCK / lanes : 1;
}

bool rows_keeps(int elements)
{
	return elements <= MAX_KEPT_ELEMENTS;
}

int rows_registers_kept(const struct rows *r, int elements)
{
	int functions = 0;
	for (int i = 0; i < r->stages; i++)
		functions += (r->stage[i].kind == ROWS_REDUCE || functions) && !rows_of_values(&r->stage[i]) &&
		             rows_kept_work(r->stage[i].value);
	return rows_keeps(elements) && functions > 1;
}

/* Two resident blocks of 512 threads if 64 registers per thread suffice, so that one loads while the other computes. */
int rows_resident(const struct rows *r, int lanes, int elements, int shared)
{
	enum { HALF = 512, FEW = 32 };
	bool fits =
	        elements && elements * rows_registers_each(r) <= FEW && (shared || !rows_registers_kept(r, elements));
	return lanes == HALF && fits ? 2 : 0;
}

int rows_shifted_steps(int *lanes, int width, int steps, int widest)
{
	enum { FEWEST = 4 };
	if (!steps)
		return 0;
	for (; *lanes > FEWEST && 2 * steps * width <= widest; steps *= 2)
		*lanes /= 2;
	return (steps * width + widest - 1) / widest + 1;
}

int rows_shifted_width(int lanes, int steps, int widest)
{
	enum { FEWEST = 2, MOST_STEPS = 8 };
	int width = widest;
	while (lanes <= WARP && width > FEWEST && 2 * steps * widest <= MOST_STEPS * width)
		width /= 2;
	return width;
}

int rows_tail(const struct rows *r, int lanes, int width, int steps)
{
	int64_t length, before = (int64_t)(steps - 1) * lanes * width;
	int tail = 1, step = width; /* of the rows' starts against vectors */
	/* Other warps skip a step without elements. */
	if (steps < 2 || lanes > WARP || !ir_const_int(r->length, &length))
		return 0;
	while (length % step)
		step /= 2;
	while (tail < width && before + (int64_t)lanes * tail < length + width - step)
		tail *= 2;
	return tail < width ? tail : 0;
}

/* ---- Time: each byte of the rows once, at the bandwidth of the loads in flight, plus the exchanges between lanes. */

struct apart {
	const struct rows *r;
	const struct rows_stage *st;
	const struct sched_target *t;
	double points, bytes;
	bool along, within; /* a vector along the row; an element that depends on the place along the row's own axes */
};

/* Adds loads other than the rows: contiguous ones, such as weights, or those of single elements. */
static void add_apart(void *user, expr e)
{
	struct apart *a = user;
	if (e->op != IR_LOAD || rows_cached_of(a->r, a->st, e) >= 0 || rows_value_of(a->r, a->st, e) >= 0)
		return;
	if (rows_runs_along(a->r, a->st, e)) {
		a->along = true;
		return;
	}
	a->within |= !rows_is_of_row(a->r, a->st, e);
	a->bytes += about_bytes_loaded(a->r->p, e, a->st->rank - 1, a->points, a->t);
}

/* Slowdown factor by access width in bytes and number of tensors. Measured on an H100, from memory: 8 bytes are as fast
 * as 16, and faster for rows of several tensors; many steps per thread cost a little. */
static double of_accesses(int tensors, double element, double access, int steps)
{
	double many = steps * (tensors > 1 ? 0.003 : 0.001);
	if (access <= 8)
		return 1 + many + 0.03 * (8 / access - 1);
	return 1 + many + (tensors > 1 ? 0.025 : element < 4 ? 0 : 0.005);
}

/* The kernel that runs where a choice for open lengths does not fit these: vectors from an aligned start, or single
 * elements. */
struct fitting {
	int lanes, width, steps, shared, blocks;
	bool ahead, shifted;
};

static bool is_at_most(const struct rows *r, int64_t most, const struct sched_target *t)
{
	return about_holds(ir_binary(IR_LE, r->length, ir_index(r->p->pool, most)), t);
}

/* How rule rows_cluster holds the rows. */
static struct fitting fitting_cluster(const struct rows *r, const struct sched_choice *c, const struct sched_target *t)
{
	int64_t length, room = (int64_t)c->param[0] * c->param[6] * c->param[1] * c->param[2];
	struct fitting k = { .lanes = c->param[0],
		             .width = c->param[1],
		             .steps = c->param[2],
		             .shared = c->param[5],
		             .blocks = c->param[6] };
	struct rows shifted;
	if (ir_const_int(r->length, &length))
		return k;
	bool whole = about_holds(whole_multiple(r->p, r->length, k.width), t);
	k.shifted = !whole && rows_shifted(&shifted, r);
	if (!(whole || k.shifted) || !is_at_most(r, k.shifted ? room - (k.width - 1) : room, t))
		k = (struct fitting){ .lanes = k.lanes, .width = whole ? k.width : 1, .blocks = 1 };
	return k;
}

static struct fitting fitting_kernel(struct rows *r, const struct sched_choice *c, const struct sched_target *t)
{
	enum { MOST_LANES = 1024, MOST_STEPS = 16 };
	struct fitting k = { c->param[0], c->param[1], c->param[2], c->param[5], 1, c->param[4], false };
	struct rows shifted;
	if (c->rule == &sched_rows_cluster)
		return fitting_cluster(r, c, t);
	int64_t length;
	bool open = !ir_const_int(r->length, &length), whole = true;
	length = about(r->length, t);
	if (open && k.width > 1)
		whole = about_holds(whole_multiple(r->p, r->length, k.width), t);
	bool fits = !k.steps || is_at_most(r, (int64_t)k.lanes * k.width * k.steps, t);
	if (open && !(whole && fits) && k.lanes > 1 && rows_shifted(&shifted, r)) {
		int widest = rows_widest(&shifted), lanes = k.lanes,
		    steps = rows_shifted_steps(&lanes, k.width, k.steps, widest);
		int most = rows_steps_held(&shifted, lanes, widest, MOST_STEPS, 1);
		k = (struct fitting){ lanes, widest, steps && steps < most ? steps : most, 0, 1, false, true };
		while (k.lanes < MOST_LANES && (int64_t)k.lanes * k.width * k.steps < length + k.width) {
			k.lanes *= 2;
			k.steps = most;
		}
		int narrow = rows_shifted_width(k.lanes, k.steps, widest);
		k.steps *= widest / narrow;
		k.width = narrow;
		whole = true;
		is_at_most(r, (int64_t)k.lanes * k.width * k.steps - (k.width - 1), t);
	}
	if (!whole || (k.steps && length > (int64_t)k.lanes * k.width * k.steps))
		k = (struct fitting){ c->param[0] > 1 ? c->param[0] : WARP, 1, 0, 0, 1, false, false };
	return k;
}

/* Divisions that find an element's place along the row's own axes. */
static double inner_axes(const struct rows_stage *st)
{
	int n = 0;
	for (int k = st->row_rank; k < st->rank; k++)
		n += !ir_is_int(st->dim[k], 1);
	return n > 1 ? n - 1 : 0;
}

/* True if an extent along the row is only known at run time: a map's vector of constant ones has one place. */
static bool has_open_axes(const struct rows_stage *st)
{
	int64_t extent;
	for (int k = st->row_rank; k < st->rank; k++)
		if (!ir_const_int(st->dim[k], &extent))
			return true;
	return false;
}

/* Slowdown factor of clusters, measured on an H200: many clusters at once take longer; blocks that have a
 * multiprocessor to themselves neither load nor store while they wait for each other. Softmax of 4096 rows of 262,144
 * f16 by clusters of 2, 4 and 8 blocks of 1024 threads takes 1560, 1504 and 2002 us, of 8 blocks of 512 threads, two on
 * each, 1305. Few shapes of clusters are measured, so they must be clearly faster. */
static double of_cluster(double cluster, double waves, double each, double resident, int threads)
{
	const double UNMEASURED = 1.12;
	if (waves <= 1)
		return each > 1 ? 1.45 : UNMEASURED;
	return UNMEASURED * (resident * threads < 1024 || (resident < 2 && cluster > 4) ? 1.4 : resident < 2 ? 1.1 : 1);
}

double rows_estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sched_target *t = site->t;
	enum { LINE = 128, LONE_BLOCK = 300, LONE_WARP = 250, LANE = 40, EXCHANGE = 8, LONE_TURN = 100, OF_AXIS = 14 };
	enum { MEETING = 500 /* of a cluster's blocks: a barrier, and loads from each other */ };
	enum { OF_BEST = 6 /* comparisons */ };
	const double LONE_WORK = 0.7, SHIFTED = 1.03;
	struct rows r = *(const struct rows *)site->found;
	const struct fitting runs = fitting_kernel(&r, c, t);
	int64_t fixed;
	int tensors = 0, lanes = runs.lanes, width = runs.width, steps = runs.steps,
	    rows_a_block = rows_of_block(lanes);
	double cluster = runs.blocks; /* of a row; from here on each has a row of its own */
	double processors = target_in_clusters(t, (int)cluster);
	double count = (double)about(r.count, t) * cluster, length = (double)about(r.length, t) / cluster, bytes = 0,
	       each = 0, work = 0, axes = 0 /* of maps */;
	bool weights = false, streamed = r.cached == 0, open_run = r.run && !ir_const_int(r.run, &fixed),
	     even = open_run && !runs.shifted && width > 1 && about_holds(whole_multiple(r.p, r.run, width), t);
	for (int i = 0; i < r.cached; i++) {
		double size = type_info(r.cache[i].buf->type)->bits / 8.0, elements = count * length;
		double whole = (double)about(ir_buffer_count(r.p, r.cache[i].buf), t);
		if (r.cache[i].from && whole < elements)
			elements = whole;
		else
			streamed = true;
		tensors += !r.cache[i].from;
		each += size;
		bytes += size * elements;
	}
	for (int i = 0; i < r.stages; i++) {
		const struct rows_stage *st = &r.stage[i];
		double points = rows_of_values(st) ? count : count * length;
		bytes += st->kind == ROWS_MAP ? points * type_info(st->s->out->type)->bits / 8.0 : 4 * count;
		work += points * ir_cost(st->value);
		if (st->kind == ROWS_REDUCE && ir_combine_is_arg(st->s->combine))
			work += points * OF_BEST;
		struct apart apart = { .r = &r, .st = st, .t = t, .points = points };
		ir_walk(st->value, add_apart, &apart);
		bytes += apart.bytes;
		if (apart.within && !even && (st->kind == ROWS_REDUCE || (st->kind == ROWS_MAP && has_open_axes(st))))
			work += points * OF_AXIS * inner_axes(st);
		if (apart.within && st->kind == ROWS_MAP)
			axes += points * inner_axes(st);
		weights |= apart.along;
	}
	int shared = steps ? runs.shared : 0, held = steps - shared;
	double turns = steps ? steps : ceil(length / ((double)lanes * width));
	double data = held * width * (rows_registers_each(&r) + rows_registers_kept(&r, steps * width)),
	       registers = 28 + data;
	int threads = lanes * rows_a_block, at_least = rows_resident(&r, lanes, held * width, shared);
	double memory = shared ? rows_shared_bytes(&r, lanes, width, shared) + TARGET_EXCHANGE : 0;
	if (at_least) /* the compiler is told so */
		registers = fmin(registers, t->registers / (at_least * threads));
	double blocks_here = target_resident(t, threads, registers, memory);
	blocks_here = blocks_here < 1 ? 1 : blocks_here;
	double blocks = count / rows_a_block, resident = blocks / processors;
	resident = resident < blocks_here ? resident : blocks_here;
	if (steps == 0) /* later stages partly hit the L2 cache */
		bytes += each * count * length * (r.reductions + r.maps - 1) *
		         cost_missed(t, resident * processors * rows_a_block * length * each);
	/* Lanes without elements wait for the others; steps without elements take no time. */
	double step = (double)lanes * width, taken = steps ? fmax(ceil(length / step), 1) : 1;
	int ending = c->rule == &sched_rows_shift ? rows_tail(&r, lanes, width, steps) : 0;
	if (ending && r.along == 0) /* not measured where weights are loaded element by element */
		taken = steps - 1 + (double)ending / width;
	double used = fmin(length / (step * taken), 1);
	double flying = resident * threads * used * (steps ? taken : 2) * width * each;
	double fill = flying / cost_in_flight(t);
	fill = fill > 1 ? 1 : fill < 0.01 ? 0.01 : fill;
	bool lone = 2 * blocks <= processors; /* too few rows to be limited by the memory's bandwidth */
	double waves = blocks / (resident * processors), whole = waves < 1 ? 1 : waves;
	double tail = whole < 8 ? ((double)(int)(whole + 0.999)) / whole : 1;
	/* Per row; other blocks hide it. */
	double exchange = cost_wait(t, (lanes > WARP ? 900 + 0.2 * lanes : 250) * r.reductions);
	if (waves <= 1) /* measured on an H200: lone rows of few elements */
		exchange = cost_wait(t, (lanes > WARP ? LONE_BLOCK + 0.3 * lanes : LONE_WARP) * r.reductions);
	if (lanes == 1) /* a thread has a row for itself */
		exchange = 0;
	double meetings = 0; /* of a cluster; each wave of few has its own */
	if (cluster > 1 && whole < 8)
		meetings = exchange * (ceil(whole) - 1) + cost_wait(t, MEETING * (r.reductions + 1)) * ceil(whole);
	else if (cluster > 1)
		meetings = cost_wait(t, MEETING * (r.reductions + 1)) * whole;
	double stall = waves > 1 ? exchange * waves / (resident * threads >= 1024 ? 2.5 : 1) : 0;
	double time = bytes / t->bytes_per_ns / fill * tail;
	/* All loads of a wave are in flight at once: latency plus bytes bound the time. */
	double share = fmin(1, bytes / (cost_in_flight(t) * processors));
	double ways =
	        bytes / t->bytes_per_ns + cost_table(t)->wave_way * (0.3 + 0.7 * share) * (double)(int)(whole + 0.999);
	if (steps && time > ways)
		time = ways;
	if (waves <= 1) /* no other block hides it */
		time += cost_wait(t, LONE_WORK * (steps || lone ? turns : 0) * width * work / (count * length));
	if (waves <= 1 && !runs.ahead && r.apart && r.maps) /* measured on an H200: a step's loads wait for its last
	                                                       store */
		time += 390.0 * (steps || lone ? turns : 1);
	if (lone && !steps) /* each stage of a lone row loads again, from the L2 cache */
		time += LONE_TURN * turns * (r.reductions + r.maps);
	/* If all rows are read again they come from the caches, and each lane's own instructions count: measured on an
	 * H200 for a product of 32 elements a row, at least. */
	double lane_work = !streamed ? count * lanes * (LANE + EXCHANGE * log2(lanes) * r.reductions) : 0;
	double spared = steps && rows_keeps(steps * width) ? count * length * r.spared : 0;
	double compute = ((work - spared) / used + lane_work) / cost_mixed_rate(t);
	if (cluster > 1 && blocks < processors)
		compute *= processors / blocks;
	if (compute > time)
		time = compute;
	if (steps == 0)
		time *= 1.05;
	if (runs.shifted)
		time *= SHIFTED;
	/* Measured on an H100: with too few threads for the memory bandwidth, a twentieth of the time passes without
	 * loads. */
	double busy = resident * threads * processors / (0.94 * cost_full_threads(t));
	time *= 1 + 0.05 * (busy < 1 ? 1 - busy : 0);
	/* Wider accesses are better if all loads are in flight at once, hit the caches, or are of one tensor and
	 * weights. */
	double element = r.cached ? each / r.cached : 1, access = width * element;
	bool streams = waves > 1 && steps && tensors && !(tensors == 1 && weights);
	time *= streams ? of_accesses(tensors, element, access, steps) : 1 + 0.01 * (16 / access - 1);
	/* The rows of a warp are contiguous, or their lines stay in the cache from step to step. */
	bool dense = (steps == 1 && used == 1) || (lanes == 1 && length <= ROWS_ALONE);
	if (lanes < WARP && !dense) /* a warp accesses several rows, each of which should fill a cache line */
		time *= 1 + 0.005 * (WARP / lanes - 1) +
		        (lanes * access < LINE ? 0.03 * (LINE / (lanes * access) - 1) : 0);
	time += stall > time ? stall : stall * 0.05;
	/* With few rows each multiprocessor's own loads and stores bound the time, which above is fitted to short ones.
	 * Measured on an H200 for 4 and 16 rows of 64 to 600 KB. */
	double alone = bytes / (fmin(blocks, processors) * cost_alone_rate(t));
	/* A scale and a bias of each channel hide behind the loads of many rows only: measured for 1 to 32 rows. */
	if (cluster > 1 || lone)
		time += axes * (cluster > 1 ? 16 : 10) * processors / fmin(blocks, processors) / cost_mixed_rate(t);
	if (cluster > 1)
		time = fmax(time, alone) * of_cluster(cluster, waves, blocks / processors, blocks_here, threads);
	else if (lone && lanes > WARP)
		time += (r.apart && r.maps ? 0.2 : 0.6) * alone * (1 - 2 * blocks / processors);
	return t->launch_ns + time + exchange + meetings;
}
