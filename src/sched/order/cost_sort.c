/* The cost of sorts: one read of the input, then work in shared memory or passes over the workspace. */
#include "sched/order/select.h"
#include "sched/core/choose.h"
#include "sched/build/extents.h"

#include <math.h>

/* Measured on an H100. Latencies of one block scale with the clock (cost_wait()). */
enum {
	SHARED_PAIRS = 4,       /* compare-exchanges per nanosecond on one multiprocessor */
	STEP_NS = 45,           /* minimum per step of a bitonic network */
	LONE_STEP_NS = 110,     /* the same if no other block of the multiprocessor hides a step's latency */
	READ_BYTES = 40,        /* bytes per nanosecond that one multiprocessor can read */
	SELECT_OPERATIONS = 50, /* per element that is not among the first k */
	TURN_NS = 1500,         /* per iteration of a block: its loads and barriers */
	LONE_TURN_NS = 6000,
	PARTS_NS = 3000,  /* of select_delegates, where few rows have parts */
	COUNTS_NS = 4000, /* minimum for the kernels before a radix sort's passes */
	PASS_NS = 5000,   /* per pass, including the look-back at earlier tiles */
	COUNT_NS = 10,    /* per tile, adding its digit histogram to its row's */
	WARPS_NS = 4,     /* warp instructions per nanosecond on one multiprocessor */
	/* A pass of a block, measured on an H200: barriers, and */
	PASS_OF_BLOCK_NS = 50,
	PASS_ITEM_NS = 77, /* per item of a thread */
	PASS_WARP_NS = 71, /* per warp, whose counts are summed */
	ENDS_OF_WARP_NS = 250,
	BLOCK_NS = 700, /* reads and writes of a block with little to sort */
	/* sort_select, measured on an H200. */
	BOUND_NS = 700,      /* a bound from all threads' best items, and */
	BOUND_ITEM_NS = 100, /* per item of a thread */
	RANK_NS = 12,        /* per item that a thread compares with its own, and */
	RANKS = 29,          /* such comparisons per nanosecond on one multiprocessor */
	/* select_digits, measured on an H200. */
	FIRST_NS = 1000, /* of a block */
	LOAD_NS = 100,   /* per load of a thread, and of an element's digit */
	DIGIT_NS = 2,    /* per digit and thread, and */
	COUNTER_NS = 50, /* per counter of a thread, cleared and summed */
	/* A block that sorts by merges: */
	WARP_SORT_NS = 400,
	MERGE_NS = 450,
	COUNTERS = 2048,
};

enum { FEW = 4 }; /* blocks per multiprocessor that leave latencies exposed */

static const double LONE_ELEMENT_NS = 0.2; /* of select_delegates, measured on an H200 */
static const double KEY_NS = 0.25;         /* per key and pass, on one multiprocessor */
/* Rule select_digits, on one multiprocessor: time per key, per counter, per kept item of a merge, and per thread. */
static const double TEST_KEY_NS = 0.08, CLEAR_NS = 0.2, MERGED_NS = 1.1, THREAD_NS = 0.9;

static double log2_of(double n)
{
	return n > 2 ? ceil(log2(n)) : 1;
}

/* A bitonic sort by `blocks` blocks of `threads` threads. Each block sorts `items` keys in rows of n. */
static double network(double blocks, double threads, double items, double shared_bytes, double n,
                      const struct sched_target *t)
{
	double steps = log2_of(n) * (log2_of(n) + 1) / 2;
	double at_once = target_resident(t, threads, 0, shared_bytes);
	double waves = ceil(blocks / (t->processors * fmax(at_once, 1)));
	double work = blocks / t->processors * steps * items / 2 / SHARED_PAIRS;
	double rounds = ceil(items / 2 / threads); /* iterations per thread in each step */
	double step = blocks <= FEW * t->processors ? LONE_STEP_NS : STEP_NS;
	return fmax(cost_wait(t, work), waves * (BLOCK_NS + cost_wait(t, steps * step * (0.7 + 0.3 * rounds))));
}

/* The time of instructions and of the latency of one block after another: other blocks hide a part of the latter. */
static double hidden(double work, double latency, double exposed)
{
	return fmax(work, latency) + exposed * fmin(work, latency);
}

/* A radix sort of each row by one block. */
static double by_digits(double rows, double threads, double items, int passes, const struct sched_target *t)
{
	const double EXPOSED = 0.75; /* measured on an H200, as the constants */
	double warps = threads / 32, each = passes * warps * (items * 34 + 256 / threads * warps * 4 + 56);
	double at_once = target_resident(t, threads, 0, 0);
	double waves = ceil(rows / (t->processors * at_once));
	double pass = PASS_OF_BLOCK_NS + items * PASS_ITEM_NS + warps * PASS_WARP_NS;
	return hidden(cost_wait(t, rows / t->processors * each / WARPS_NS),
	              waves * (BLOCK_NS + cost_wait(t, passes * pass)), EXPOSED);
}

/* The start of a selection (its bound) and its end: each warp sorts one item per lane, then the kept ones are ranked.
 * `lone`: the latency of few blocks. */
static double select_ends(double blocks, double threads, double lone, const struct sched_target *t)
{
	double at_once = fmin(fmin(floor(t->threads / 2.0 / threads), t->blocks), ceil(blocks / t->processors));
	double latency =
	        ceil(blocks / (t->processors * at_once)) * (blocks <= FEW * t->processors ? lone : 2 * TURN_NS);
	return fmax(cost_wait(t, blocks / t->processors * threads / 32 * ENDS_OF_WARP_NS), latency);
}

/* Data shared by the estimates of one stage. */
struct sort_facts {
	struct ir_program *p;
	const struct ir_stage *s;
	const struct sched_target *t;
	double rows, n, k;  /* the first k of n elements of each row */
	double key, item;   /* bytes of a key, and of a key with its index */
	double bytes, read; /* bytes read and written once; nanoseconds for that */
	int passes;
};

static struct sort_facts facts_of(const struct sched_site *site)
{
	const struct ir_stage *s = site->s;
	const struct sched_target *t = site->t;
	struct sort_facts f = { .p = site->p, .s = s, .t = t };
	struct cost_way way = cost_way(site);
	f.rows = (double)about(rows_along(f.p, s), t);
	f.n = (double)about(s->space[0], t);
	f.k = (double)about(s->out->dim[s->axis], t);
	way.axis = s->out->rank;
	way.points = f.rows * f.n;
	f.bytes = cost_way_bytes(site, &way);
	f.read = f.bytes / t->bytes_per_ns;
	f.key = sort_key_bits(s) / 8.0;
	f.item = f.key > 4 ? 16 : 8;
	f.passes = f.key < 1 ? 1 : (int)f.key;
	return f;
}

/* Launch time of a choice that also has kernels for longer rows if an extent is unknown. */
static double launches(const struct sort_facts *f, expr extent)
{
	int64_t number;
	return f->t->launch_ns * (ir_const_int(extent, &number) ? 1 : 2);
}

/* A radix sort in tiles. Measured on an H100, 1 M keys of 32 bits without indices: 5 us to count them in 128 tiles,
 * then 10 us per pass. */
static double radix_time(const struct sort_facts *f, double tile)
{
	double tiles = f->rows * ceil(f->n / tile),
	       moved = f->rows * f->n * 2 * (sort_is_alone(f->p, f->s) ? f->key : f->key + 4);
	double radix = COUNTS_NS + f->read + cost_wait(f->t, tiles * COUNT_NS);
	radix += f->passes * (PASS_NS + moved / f->t->bytes_per_ns +
	                      cost_wait(f->t, fmax(tiles / f->t->processors, 1) * tile * KEY_NS));
	return f->t->launch_ns + radix;
}

double sort_radix_estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct sort_facts f = facts_of(site);
	return radix_time(&f, c->param[0]);
}

enum { OTHER_TILE = 4096 }; /* tile of the radix sort for rows too long for a rule */

double sort_block_estimate(const struct sched_site *site, const struct sched_choice *c)
{
	struct sort_facts f = facts_of(site);
	double per_block = c->param[1], items = per_block * f.n, work;
	if (f.n > c->param[0])
		return radix_time(&f, OTHER_TILE);
	work = network(ceil(f.rows / per_block), c->param[2], items, c->param[0] * per_block * f.item, f.n, f.t);
	if (c->param[3])
		work = by_digits(f.rows, c->param[2], c->param[3], f.passes, f.t);
	return launches(&f, f.s->space[0]) + f.read + work;
}

/* The last axis longer than 1 along which rows are next to each other; -1: none. */
static int axis_of_rows(const struct ir_stage *s)
{
	int axis = s->out->rank - 1;
	while (axis >= 0 && (axis == s->axis || ir_is_int(s->out->dim[axis], 1)))
		axis--;
	return axis;
}

/* A thread for each row. Not measured: instructions are counted as if every element came among the first k, since some
 * thread of a warp nearly always finds one; a thread waits for some loads at a time, as in reduce_thread. */
static double select_few_time(const struct sched_site *site, const struct sort_facts *f)
{
	enum { OF_ELEMENT = 20, OF_RESULT = 10 /* operations */, WAY_NS = 600, ELEMENT_NS = 45, RESULT_NS = 8 };
	const struct sched_target *t = f->t;
	struct cost_way way = cost_way(site);
	way.axis = axis_of_rows(f->s);
	way.points = f->rows * f->n;
	double bytes = cost_way_bytes(site, &way), work = f->rows * f->n * (OF_ELEMENT + OF_RESULT * f->k);
	double read = bytes / t->bytes_per_ns / cost_rate_reached(4 * f->rows / cost_full_threads(t));
	return t->launch_ns + fmax(read, work / cost_mixed_rate(t)) +
	       cost_wait(t, WAY_NS + f->n * (ELEMENT_NS + RESULT_NS * (f->k - 1)));
}

/* Elements that a load reads at once where the length is n. */
static double load_width(const struct sched_site *site, double n)
{
	int width = sort_width(site->p, site->s);
	while ((int64_t)n % width)
		width /= 2;
	return width;
}

/* A warp for each row, measured on an H200. The lanes' best keys let about as many items through as half as many more
 * than k, except if nearly all lanes must have one of the first k; each 32 of them are sorted. */
static double select_warp_time(const struct sched_site *site, const struct sort_facts *f, double items)
{
	enum { ROW_NS = 800, TURN_NS_OF_WARP = 365, LOAD_NS_OF_WARP = 134, SORT_NS = 55 };
	enum { OF_ROW = 340, OF_SORT = 320 /* operations of a lane */, RESIDENT = 48 /* warps */ };
	const double EXPOSED = 0.55;
	const struct sched_target *t = f->t;
	double turns = ceil(f->n / (32 * items)), most = fmin(f->n, 32 * items), k = f->k;
	double kept = most * (1 - pow(1 - k / 33, 32 / most)) * 1.1; /* of the first turn; then k of each as many again
	                                                              */
	kept = fmin(f->n, kept + k * log(fmax(f->n / most, 1)) + (turns - 1) * 2);
	double sorts = k > 1 ? fmax(ceil(kept / 32), 1) : 0, slow = f->key > 4 ? 1.6 : 1;
	double loads = ceil(items / fmin(load_width(site, f->n), items));
	double work = 32 * f->rows * (OF_ROW + sorts * OF_SORT) * slow / cost_mixed_rate(t);
	double waves = ceil(f->rows / (RESIDENT * t->processors));
	double wait = cost_wait(t, ROW_NS + turns * (TURN_NS_OF_WARP + loads * LOAD_NS_OF_WARP) + sorts * SORT_NS);
	return t->launch_ns + fmax(f->read, hidden(work, waves * wait, EXPOSED));
}

/* A thread counts the items before its own, or two threads do. */
static double ranks(double blocks, double threads, double items, const struct sched_target *t)
{
	double each = 2 * items <= threads ? items / 2 : items;
	double waves = ceil(blocks / (t->processors * fmax(target_resident(t, threads, 0, 0), 1)));
	return cost_wait(t, fmax(blocks / t->processors * items * items / RANKS, waves * each * RANK_NS));
}

/* True if warps whose threads all have elements find a bound for the first k (select_row). */
static bool select_bounds(const struct sched_site *site, double n, double k, double threads)
{
	return 2 * k <= 32 * fmin(floor(n / (32 * load_width(site, n))), threads / 32) && n > 2 * k;
}

double sort_select_estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sort_facts f = facts_of(site);
	if (select_few_chosen(c))
		return select_few_time(site, &f);
	if (select_warp_chosen(c))
		return select_warp_time(site, &f, c->param[3]);
	const struct sched_target *t = f.t;
	double rows = f.rows, n = f.n, k = f.k, item = f.item, bytes = f.bytes, read = f.read;
	if (k > c->param[0] / 2)
		return radix_time(&f, OTHER_TILE);
	double launch = launches(&f, f.s->out->dim[f.s->axis]);
	double parts = c->param[2], blocks = rows * parts, keys = c->param[0], threads = c->param[1];
	if (c->param[0] == SORT_DELEGATE_KEYS) {
		/* Measured on an H100, 1024 rows of 50000: 18 us in addition to the reads. */
		double each = select_ends(blocks, threads, 0.8 * TURN_NS, t);
		double ends = 0;
		if (parts > 1)
			ends = t->launch_ns + cost_wait(t, PARTS_NS) +
			       network(rows, threads, keys, keys * item, keys, t);
		double scan = rows * n * 2 / cost_mixed_rate(t) * fmax(t->processors / blocks, 1);
		if (blocks <= FEW * t->processors) /* nothing hides the waits of a block's turns */
			scan = fmax(scan, cost_wait(t, n / parts * LONE_ELEMENT_NS * (f.key > 4 ? 2 : 1)));
		return launch + fmax(fmax(read, bytes / fmin(blocks, t->processors) / READ_BYTES), scan) + each + ends;
	}
	double at_most = bytes / fmin(blocks, t->processors) / READ_BYTES;
	double own = n / parts, chunk = fmin(threads * c->param[3], own), wanted = own, work = 0;
	if (select_bounds(site, own, k, threads)) { /* that lets 1.5 times as many through as a perfect one */
		wanted = 1.5 * k * own / chunk;
		work = select_ends(blocks, threads, BOUND_NS + BOUND_ITEM_NS * c->param[3], t);
	}
	/* If they do not fit, the buffer fills at once, and then ever more rarely: the number of sorts grows with the
	 * logarithm of the elements seen. */
	double last = fmin(keys, wanted), sorts = wanted > keys ? 2 + k * log(wanted / keys) / (keys - k) : 1;
	/* Measured on an H200: 8 rows of 151,936 and 46 of 131,072, k 512, take 173 and 166 us. */
	const double WAITS = blocks <= FEW * t->processors && wanted > keys ? 2.2 : 1;
	work += last > threads ? network(blocks, 2 * threads, last, keys * item, last, t) * sorts * WAITS
	                       : ranks(blocks, threads, last, t);
	double scan = rows * n * SELECT_OPERATIONS / cost_mixed_rate(t) * fmax(t->processors / blocks, 1);
	double here = fmax(floor(t->threads / 2.0 / threads), 1);
	/* Measured on an H200: turns after the first take 4 to 7 us if few blocks hide each other's waits. */
	double again = blocks <= FEW * t->processors ? LONE_TURN_NS : TURN_NS;
	double turns = fmax(blocks / (t->processors * here), 1) *
	               (TURN_NS + again * (ceil(own / (threads * c->param[3])) - 1));
	work = fmax(work + scan, turns + work);
	double time = launch + fmax(fmax(read, at_most), work) + fmin(fmin(read, at_most), work) / 4;
	double others = fmin(keys, k * parts);
	if (parts > 1)
		time += t->launch_ns +
		        network(rows, threads, others, keys * item, others, t) * (k * parts > keys ? 2 : 1);
	return time;
}

/* A choice's blocks for select_digits: n elements of each, which a thread reads by that many loads, of which `digits`
 * are counted. They sort `kept` of them. */
struct digits_blocks {
	double blocks, threads, n, loads, digits, kept;
};

/* Keys of floats crowd together: a quarter of uniform numbers has the exponent of the largest, and a digit holds some
 * bits of the fraction: of the largest digit, an f32 has one in 16. */
static double largest_digit(const struct ir_stage *s)
{
	switch (sort_key(s)->type) {
	case TYPE_F16: return 1.0 / 128;
	case TYPE_F64: return 1.0 / 4;
	default: return 1.0 / 16;
	}
}

/* Elements that are kept are sorted by whole runs. */
static struct digits_blocks last_digits(const struct sort_facts *f, double keys, double threads, double n)
{
	double share = largest_digit(f->s);
	struct digits_blocks d = { .blocks = f->rows,
		                   .threads = threads,
		                   .n = n,
		                   .digits = n <= keys                  ? 0
		                             : f->k + n * share <= keys ? 1
		                                                        : 2,
		                   .kept = 32 };
	while (d.kept < fmin(keys, d.digits > 0 ? f->k + n * share / 2 : n))
		d.kept *= 2;
	return d;
}

/* The time of one block after another, and of all of a multiprocessor's instructions. */
static double digits_time(const struct digits_blocks *d, double at_once, const struct sched_target *t)
{
	const double EXPOSED = 0.55;
	double here = d->blocks / t->processors, merges = d->kept > 32 ? log2_of(d->kept / 32) : 0;
	double counts = d->digits * (DIGIT_NS * d->threads + (double)COUNTER_NS * COUNTERS / d->threads);
	double sort = MERGE_NS * merges * ceil(d->kept / d->threads);
	double keys = d->n * TEST_KEY_NS + d->digits * COUNTERS * CLEAR_NS;
	double work = here * (keys + d->kept * merges * MERGED_NS + d->threads * THREAD_NS);
	double latency = FIRST_NS + d->loads * LOAD_NS + counts + sort;
	return hidden(cost_wait(t, work), ceil(here / at_once) * cost_wait(t, latency), EXPOSED);
}

double select_digits_estimate(const struct sched_site *site, const struct sched_choice *c)
{
	const struct sort_facts f = facts_of(site);
	const struct sched_target *t = f.t;
	double keys = c->param[0], threads = c->param[1], parts = c->param[2], items = c->param[3];
	if (f.k > keys)
		return radix_time(&f, OTHER_TILE);
	double own = ceil(f.n / parts), registers = 30 + items * (f.key > 4 ? 2 : 1) * 2.5;
	double at_once = fmax(target_resident(t, threads, registers, keys * f.item + COUNTERS * 4), 1);
	struct digits_blocks last = last_digits(&f, keys, threads, parts > 1 ? parts * f.k : f.n), each = last;
	if (parts > 1)
		each = (struct digits_blocks){ f.rows * parts, threads, own, 0, ceil(f.passes * 8 / 11.0), 0 };
	double turns = ceil(own / (threads * items)), reads = turns > 1 ? each.digits + 1 : 1;
	each.loads = turns * reads * items;
	last.loads = ceil(last.n / threads);
	double at_most = f.bytes * reads / fmin(each.blocks, t->processors) / READ_BYTES;
	double slow = f.key > 4 ? 1.3 : 1; /* keys and items of two registers each */
	double time = fmax(fmax(f.read, at_most), slow * digits_time(&each, at_once, t));
	if (parts > 1)
		time += t->launch_ns + digits_time(&last, at_once, t);
	return launches(&f, f.s->out->dim[f.s->axis]) + time;
}

/* The time of a block that sorts n items by merges. */
static double merges_time(double n, double threads, const struct sched_target *t)
{
	return n > 32 ? cost_wait(t, (WARP_SORT_NS + MERGE_NS * log2_of(n / 32)) * ceil(n / threads)) : 0;
}

/* A block waits for the others twice, and the first block then orders the candidates: about as many more as k as the
 * blocks' bounds differ. */
double select_cluster_estimate(const struct sched_site *site, const struct sched_choice *c)
{
	/* Measured on an H200: of 21 choices for seven cases. */
	enum { WAYS_NS = 2500, OF_BLOCK_NS = 250, ITEM_NS = 70 /* of 1,024 threads */ };
	enum { OF_WARP_NS = 20, OF_LONG_WARP_NS = 250, REGISTERS = 30, SHARED = 20000, FEW = 8 };
	const double TOGETHER = 0.35; /* of each further block of a multiprocessor */
	const struct sort_facts f = facts_of(site);
	const struct sched_target *t = f.t;
	double threads = c->param[0], blocks = c->param[1], items = c->param[2], all = f.rows * blocks;
	if (f.n > threads * blocks * items) /* another rule's kernels */
		return radix_time(&f, OTHER_TILE);
	double at_once = fmax(target_resident(t, threads, fmin(REGISTERS + items, 65536 / threads), SHARED), 1);
	double waves = ceil(all / (target_in_clusters(t, (int)blocks) * at_once));
	double at_most = f.bytes / fmin(all, t->processors) / READ_BYTES;
	double compared = fmax(32, 2 * f.k / blocks), candidates = 1.3 * f.k + 50;
	bool long_keys = f.key > 4;
	double work = cost_wait(t, FIRST_NS + WAYS_NS + blocks * OF_BLOCK_NS + items * threads / 1024 * ITEM_NS +
	                                   threads / 32 * (long_keys ? OF_LONG_WARP_NS : OF_WARP_NS));
	work += merges_time(compared, threads, t);
	work += candidates > threads / FEW ? merges_time(candidates, threads, t) : 0;
	double here = fmin(fmax(all / t->processors, 1), at_once);
	work *= (1 + TOGETHER * (here - 1)) * (long_keys ? 1.3 : 1);
	return t->launch_ns + fmax(f.read, at_most) / 2 + fmax(fmax(f.read, at_most) / 2, waves * work);
}
