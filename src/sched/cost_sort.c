/* The cost of sorts: what is read once, and the work in shared memory or the passes over the workspace that follow. */
#include "sched/sort.h"

#include <math.h>

enum {
	SHARED_PAIRS = 4,    /* compared and exchanged a nanosecond by a processor */
	STEP_NS = 45,        /* of a bitonic network, at least */
	READ_BYTES = 40,     /* a nanosecond that one processor can take */
	SELECT_OPERATIONS = 50, /* for an element that is not among the first k */
	TURN_NS = 1500,         /* of a block: its loads, and that its threads meet */
	COUNTS_NS = 4000,    /* of the kernels before the passes of a radix sort, at least */
	PASS_NS = 5000,      /* of a pass, which waits for tiles before, too */
	COUNT_NS = 10,       /* of a tile whose digits are added to its row's */
	WARPS_NS = 4,        /* instructions of a warp a nanosecond, on one processor */
	PASS_OF_BLOCK_NS = 1000,
	ENDS_OF_WARP_NS = 250,
	BLOCK_NS = 700,      /* reading, and writing, of one that has little to sort */
};

static const double KEY_NS = 0.25; /* of a key in a pass, on one processor */

static double log2_of(double n)
{
	return n > 2 ? ceil(log2(n)) : 1;
}

/* `blocks` of `threads`, each of which sorts `items` in rows of n. */
static double network(double blocks, double threads, double items, double shared_bytes, double n, const struct sched_target *t)
{
	double steps = log2_of(n) * (log2_of(n) + 1) / 2;
	double at_once = target_resident(t, threads, 0, shared_bytes);
	double waves = ceil(blocks / (t->processors * fmax(at_once, 1)));
	double work = blocks / t->processors * steps * items / 2 / SHARED_PAIRS;
	double rounds = ceil(items / 2 / threads); /* of a thread in each step */
	return fmax(work, waves * (BLOCK_NS + steps * STEP_NS * (0.7 + 0.3 * rounds)));
}

/* Rows that a block each sorts by digits. */
static double by_digits(double rows, double threads, double items, int passes, const struct sched_target *t)
{
	double warps = threads / 32, each = passes * warps * (items * 34 + 256 / threads * warps * 6 + 120);
	double at_once = target_resident(t, threads, 0, 0);
	double waves = ceil(rows / (t->processors * at_once));
	return fmax(rows / t->processors * each / WARPS_NS, waves * (BLOCK_NS + passes * (PASS_OF_BLOCK_NS + items * 60)));
}

/* The end of a selection, and the bound before it: each warp sorts an item a lane; what was kept is ranked. */
static double select_ends(double blocks, double threads, const struct sched_target *t)
{
	double at_once = fmin(fmin(floor(t->threads / 2.0 / threads), t->blocks), ceil(blocks / t->processors));
	double latency = ceil(blocks / (t->processors * at_once)) * TURN_NS * 2;
	return fmax(blocks / t->processors * threads / 32 * ENDS_OF_WARP_NS, latency);
}

double sort_estimate(const struct ir_program *cp, const struct ir_stage *s, const struct sched_choice *c,
                     const struct sched_target *t, double bytes)
{
	struct ir_program *p = (struct ir_program *)cp;
	double rows = (double)about(rows_along(p, s), t), n = (double)about(s->space[0], t), read = bytes / t->bytes_per_ns;
	double k = (double)about(s->out->dim[s->axis], t), key = sort_key_bits(s) / 8.0, item = key > 4 ? 16 : 8;
	double radix = 0;
	int passes = key < 1 ? 1 : (int)key;
	int64_t number;
	/* Longer rows than a rule has room for are left to sort_radix; kernels for both are there where it is not known. */
	bool block = c->rule == &sched_sort_block && n <= c->param[0];
	bool select = c->rule == &sched_sort_select && k <= c->param[0] / 2;
	bool both = (block && !ir_const_int(s->space[0], &number)) ||
	            (select && !ir_const_int(s->out->dim[s->axis], &number));
	/* Measured on an H100, 1 M keys of 32 bits alone: 5 us until they are counted in 128 tiles, 10 us a pass. */
	double tile = c->rule == &sched_sort_radix ? c->param[0] : 4096, tiles = rows * ceil(n / tile);
	double moved = rows * n * 2 * (sort_is_alone(p, s) ? key : key + 4);
	radix = COUNTS_NS + read + tiles * COUNT_NS;
	radix += passes * (PASS_NS + moved / t->bytes_per_ns + tiles * tile / t->processors * KEY_NS);
	if (block) {
		double per_block = c->param[1], items = per_block * n;
		double work = network(ceil(rows / per_block), c->param[2], items, c->param[0] * per_block * item, n, t);
		if (c->param[3])
			work = by_digits(rows, c->param[2], c->param[3], passes, t);
		return t->launch_ns * (both ? 2 : 1) + read + work;
	}
	if (!select)
		return t->launch_ns + radix;
	double parts = c->param[2], blocks = rows * parts, keys = c->param[0], threads = c->param[1];
	if (c->param[0] == SORT_DELEGATE_KEYS) {
		/* Measured on an H100, 1024 rows of 50000: 18 us beside the reading. */
		double each = select_ends(blocks, threads, t);
		double ends = parts > 1 ? t->launch_ns + network(rows, threads, keys, keys * item, keys, t) : 0;
		double scan = rows * n * 2 / cost_mixed_rate(t) * fmax(t->processors / blocks, 1);
		return t->launch_ns * (both ? 2 : 1) + fmax(fmax(read, bytes / fmin(blocks, t->processors) / READ_BYTES), scan) +
		       each + ends;
	}
	double at_most = bytes / fmin(blocks, t->processors) / READ_BYTES;
	double own = n / parts, chunk = fmin(threads * c->param[3], own), wanted = own, work = 0;
	if (4 * k <= threads) { /* a bound of the first chunk lets few more through than it should */
		wanted = 1.5 * k * own / chunk;
		work = select_ends(blocks, threads, t);
	}
	/* Where that is more than there is room for, it is full at first, then seldom: the k-th of what was seen rises as the
	 * logarithm of its number. */
	double last = fmin(keys, wanted), sorts = wanted > keys ? 2 + k * log(wanted / keys) / (keys - k) : last > threads;
	work += network(blocks, 2 * threads, last, keys * item, last, t) * sorts;
	double scan = rows * n * SELECT_OPERATIONS / cost_mixed_rate(t) * fmax(t->processors / blocks, 1);
	double here = fmax(floor(t->threads / 2.0 / threads), 1);
	double turns = fmax(blocks / (t->processors * here), 1) * ceil(own / (threads * c->param[3])) * TURN_NS;
	work = fmax(work + scan, turns + work);
	double time = t->launch_ns * (both ? 2 : 1) + fmax(fmax(read, at_most), work) + fmin(fmin(read, at_most), work) / 4;
	double others = fmin(keys, k * parts);
	if (parts > 1)
		time += t->launch_ns + network(rows, threads, others, keys * item, others, t) * (k * parts > keys ? 2 : 1);
	return time;
}
