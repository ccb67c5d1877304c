/* Measures the constants of the cost model on a GPU and writes their row for src/sched/target/calibration.def:
 *
 *     calibrate [--device DEVICE] [--kernels FILE] [--output FILE]
 *
 * The row goes to FILE, or to the standard output; TPAT_CALIBRATION=FILE makes tpat use it. After the row, a comment
 * lists rates of the GPU for the table of src/sched/target/target.c. Standard error shows each constant next to tpat's
 * current one. On the device "emulator" every kernel runs once, on little data, and nothing is written.
 *
 * The kernels are in bench/calibrate.cu; src/sched/target/cost.def explains each constant. Takes some seconds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "base/str.h"
#include "dev/dev.h"
#include "lib/tpat_calibration.h"
#include "lib/tpat_inside.h"

enum { TRIALS = 7, THREADS = 256, SLOT_BYTES = 16 << 10, BULK_BYTES = 33 << 10, MOST_BLOCKS = 12 };
static const double MOST_SHARE = 0.8;

static struct {
	struct arena *arena;
	struct dev *dev;
	struct dev_module *module;
	struct sched_target t;
	void *in, *out;
	int words, cached; /* 32-bit words of a buffer, and of a part that stays in the L2 cache */
	bool dry;
	int launches, kernels;
	struct err err;
} b;

static void must(int code)
{
	if (code >= 0)
		return;
	fprintf(stderr, "%s%s\n%s\n", b.err.where, b.err.text, b.err.advice);
	exit(-b.err.code);
}

/* ---- Times. */

struct work {
	const char *kernel;
	double blocks;
	int threads, turns;
	int apart;  /* words between launches' offsets; 0: all start at the same place */
	int repeat; /* launches timed together, in a graph; 0: 1 */
	bool chain; /* each launch reads the previous one's output */
	void *map;  /* a tensor map; the arguments are then `out`, turns, rows, and the map */
};

static void launch(const struct work *w, struct dev_kernel *k)
{
	const uint32_t grid[3] = { (uint32_t)(b.dry ? fmin(w->blocks, 2) : w->blocks), 1, 1 };
	const uint32_t block[3] = { (uint32_t)w->threads, 1, 1 };
	int turns = b.dry && w->turns > 2 ? 2 : w->turns, rows = b.cached / 32;
	int at = (int)(((int64_t)b.launches++ * w->apart) & (b.words - 1));
	void *plain[] = { w->chain ? &b.out : &b.in, &b.out, &turns, &at }, *bulk[] = { &b.out, &turns, &rows, w->map };

	must(b.dev->launch(b.dev, k, grid, block, 0, w->map ? bulk : plain, &b.err));
}

static double time_of(const struct work *w, struct dev_kernel *k, struct dev_graph *graph, int repeat)
{
	struct dev_event *from, *to;
	double ns;

	must(b.dev->event_new(b.dev, &from, &b.err));
	must(b.dev->event_new(b.dev, &to, &b.err));
	must(b.dev->event_record(b.dev, from, &b.err));
	if (graph)
		must(b.dev->graph_launch(b.dev, graph, &b.err));
	else
		for (int i = 0; i < repeat; i++)
			launch(w, k);
	must(b.dev->event_record(b.dev, to, &b.err));
	must(b.dev->event_ns(b.dev, &ns, from, to, &b.err));
	b.dev->event_free(b.dev, from);
	b.dev->event_free(b.dev, to);
	return ns / repeat;
}

/* Nanoseconds of a launch: the minimum of several trials after a warm-up. */
static double time_work(struct work w)
{
	struct dev_kernel *k;
	struct dev_graph *graph = NULL;
	int repeat = b.dry || !w.repeat ? 1 : w.repeat;
	double best = INFINITY;

	must(b.dev->kernel(b.dev, &k, b.module, w.kernel, 0, &b.err));
	b.kernels++;
	if (repeat > 1 && b.dev->capture_begin) {
		must(b.dev->capture_begin(b.dev, &b.err));
		for (int i = 0; i < repeat; i++)
			launch(&w, k);
		must(b.dev->capture_end(b.dev, &graph, &b.err));
	}
	for (int i = 0; i < (b.dry ? 1 : TRIALS + 1); i++) {
		double ns = time_of(&w, k, graph, repeat);
		best = i || b.dry ? fmin(best, ns) : best;
	}
	if (graph)
		b.dev->graph_free(b.dev, graph);
	return best;
}
#define TIME(...) time_work((struct work){ __VA_ARGS__ })

/* ---- Measurements. */

struct rates {
	double launch_ns, alone_ns, memory, l2;     /* bytes per nanosecond */
	double f16, bf16, i8, wide_f16, wide_i8;    /* multiply-adds per clock and multiprocessor */
	double doubles, integers, barrier, atomics; /* per clock and multiprocessor; barrier: clocks */
	double latency, cached_latency;             /* ns */
};

/* Clocks summed over all multiprocessors, at the boost clock. */
static double clocks(double ns)
{
	return ns * b.t.clock_ghz * b.t.processors;
}

/* Operations per clock and multiprocessor, for a kernel with `operations` per thread and turn and 1024 threads per
 * multiprocessor. */
static double each_clock(const char *kernel, double operations, int turns)
{
	double blocks = b.t.processors * 1024.0 / THREADS;

	return operations * turns * blocks * THREADS /
	       clocks(TIME(.kernel = kernel, .blocks = blocks, .threads = THREADS, .turns = turns));
}

static double issued(const char *kernel, double instructions, int turns)
{
	return each_clock(kernel, instructions, turns) / (32 * b.t.schedulers);
}

static void measure_issue(struct cost_table *x, struct rates *r)
{
	double clock;

	each_clock("counted", 64, 20000); /* until the clock has ramped up */
	clock = x->counted_clock = issued("counted", 64 + 3, 6000);
	x->steady_clock = issued("steady", 64 + 16 + 5, 4000);
	x->mixed_clock = issued("mixed", 64 + 16 + 10 + 11, 3000);
	x->functions = each_clock("functions", 8, 6000) / clock;
	x->shared_bytes = each_clock("shared_reads", 8 * 16, 4000) / clock;
	r->doubles = each_clock("doubles", 64, 300) / clock;
	r->integers = each_clock("integers", 64, 3000) / clock;
	r->barrier = 1024 / each_clock("barriers", 1, 6000) * clock;
	r->atomics = each_clock("atomics", 1, 200) / clock;
}

/* Multiply-adds per warp and product: 16 x 8 x 16, for bytes 16 x 8 x 32. */
static void measure_products(struct cost_table *x, struct rates *r)
{
	double f16 = each_clock("mma_f16", 8 * 16 * 8 * 16 / 32.0, 3000), wide;

	x->mma_clock = f16 / b.t.mma[TYPE_F16];
	r->f16 = f16 / x->counted_clock;
	r->i8 = each_clock("mma_i8", 8 * 16 * 8 * 32 / 32.0, 3000) / x->counted_clock;
	if (b.dry || b.t.mma[TYPE_BF16] > 0)
		r->bf16 = each_clock("mma_bf16", 8 * 16 * 8 * 16 / 32.0, 3000) / x->counted_clock;
	x->wgmma_clock = x->mma_clock; /* unused without wgmma */
	if (b.dry || b.t.wgmma[TYPE_F16] > 0) {
		double made = 128.0 * 256 * 64 * 4000 * b.t.processors;

		wide = made /
		       clocks(TIME(.kernel = "wgmma_f16", .blocks = b.t.processors, .threads = THREADS, .turns = 4000));
		x->wgmma_clock = wide / b.t.wgmma[TYPE_F16];
		r->wide_f16 = wide / x->counted_clock;
		wide = 2 * made /
		       clocks(TIME(.kernel = "wgmma_i8", .blocks = b.t.processors, .threads = THREADS, .turns = 4000));
		r->wide_i8 = wide / x->counted_clock;
	}
}

/* Bytes in flight per multiprocessor that saturate memory, extrapolated linearly from the largest number of blocks
 * below MOST_SHARE of the full rate. Beyond that, latency grows. `bytes` per block. */
static double bytes_to_fill(const char *kernel, double bytes, int turns, double rate)
{
	double need = 0;

	for (int n = 1; n <= MOST_BLOCKS && n * THREADS <= b.t.threads; n++) {
		double blocks = (double)n * b.t.processors;
		double ns = TIME(.kernel = kernel, .blocks = blocks, .threads = THREADS, .turns = turns, .apart = 4096);
		double fill = 2 * bytes * blocks * turns / ns / rate;

		if (n == 1 || fill < MOST_SHARE)
			need = n * bytes / fill;
	}
	return need;
}

static void measure_memory(struct cost_table *x, struct rates *r)
{
	double p = b.t.processors, one = TIME(.kernel = "empty", .blocks = 1, .threads = 32, .repeat = 200);
	double blocks = b.words / 4.0 / THREADS, ns, more;
	int balanced;

	r->launch_ns = one;
	r->memory = 8.0 * b.words / TIME(.kernel = "copy", .blocks = blocks, .threads = THREADS);
	blocks = p * floor(b.t.threads / 512.0);
	r->l2 = 64.0 * 512 * blocks * 300 /
	        TIME(.kernel = "read_cached", .blocks = blocks, .threads = 512, .turns = 300);

	x->way = bytes_to_fill("copy_turns", THREADS * 16.0, 200, r->memory) * p / r->memory;
	x->stream_way = bytes_to_fill("copy_rows", SLOT_BYTES, 60, r->memory) * p / r->memory;
	x->alone_bytes = 1024.0 * 64 * 100 / b.t.clock_ghz /
	                 TIME(.kernel = "read_alone", .blocks = 1, .threads = 1024, .turns = 100, .apart = 1 << 21);

	/* A copy, heavy arithmetic alone, and both at once. */
	blocks = b.words / 4.0 / THREADS;
	ns = TIME(.kernel = "copy_and_compute", .blocks = blocks, .threads = THREADS);
	more = TIME(.kernel = "copy_and_compute", .blocks = blocks, .threads = THREADS, .turns = 1024) / 1024;
	balanced = b.dry ? 8 : (int)(ns / more / 8 + 0.5) * 8;
	more = TIME(.kernel = "copy_and_compute", .blocks = blocks, .threads = THREADS, .turns = balanced);
	x->norm = fmin(log(2) / log(fmax(more / ns, 1.01)), 20);

	blocks = b.words / 32.0 / THREADS;
	ns = TIME(.kernel = "copy_planes", .blocks = blocks, .threads = THREADS, .turns = 1);
	more = TIME(.kernel = "copy_planes", .blocks = blocks, .threads = THREADS, .turns = 8);
	x->apart = fmax((more / ns - 1) / 7, 0.001);

	/* One wave per launch, several in a graph, so that each reads from memory, not from the cache. */
	blocks = p * 4;
	ns = TIME(.kernel = "copy_rows", .blocks = blocks, .threads = THREADS, .turns = 1, .apart = (int)blocks * 4096,
	          .repeat = 24);
	x->wave_way = fmax(ns - one - 2 * blocks * SLOT_BYTES / r->memory, 1);
	ns = TIME(.kernel = "copy_across", .blocks = blocks, .threads = THREADS, .apart = (int)blocks * THREADS * 8,
	          .repeat = 24);
	x->apart_way = fmax(ns - one - 2 * blocks * THREADS * 32 / r->memory, 1);
}

static void measure_caches(struct cost_table *x, struct rates *r)
{
	double p = b.t.processors, wave = p * b.t.threads / THREADS, ns;
	double clock = b.t.clock_ghz * x->counted_clock;

	ns = TIME(.kernel = "waves", .blocks = 10 * wave, .threads = THREADS, .repeat = 10);
	x->wave = fmax((ns - TIME(.kernel = "waves", .blocks = 2 * wave, .threads = THREADS, .repeat = 10)) / 8, 1);
	ns = TIME(.kernel = "neighbours", .blocks = 16 * wave, .threads = THREADS, .repeat = 4);
	x->access = ns * clock * p / (16 * wave * THREADS / 32 * 5);
	x->tiles_cache = 2 * p * SLOT_BYTES * 300 /
	                 TIME(.kernel = "tiles_cached", .blocks = 2 * p, .threads = THREADS, .turns = 300) / r->l2;
	ns = TIME(.kernel = "tiles_waited", .blocks = p, .threads = THREADS, .turns = 100, .apart = 1 << 22) / 100;
	x->tile_way = ns * b.t.clock_ghz * x->mma_clock;
	ns = TIME(.kernel = "tiles_waited_cached", .blocks = p, .threads = THREADS, .turns = 100) / 100;
	x->cached_tile_way = ns * b.t.clock_ghz * x->mma_clock;
	ns = TIME(.kernel = "signals", .blocks = p, .threads = 32, .apart = 1);
	x->tiles_wait = 4 * fmax(ns - r->alone_ns, 1) / fmax(p - 1, 1);
}

static void measure_copy_engine(struct cost_table *x, struct rates *r)
{
	_Alignas(64) char map[TPAT_RT_MAP_BYTES];
	struct tpat_rt_map_values v = { .from = b.in,
		                        .element_bytes = 2,
		                        .rank = 2,
		                        .dim = { 64, b.cached / 32 }, /* rows of 128 bytes */
		                        .stride = { 1, 64 },
		                        .box = { 64, 128 } };
	double blocks = b.t.processors * fmax(floor((double)b.t.shared / BULK_BYTES), 1);

	x->bulk_cache = x->tiles_cache; /* unused without bulk copies */
	if (!b.dev->tensor_map || !(b.dry || target_has(&b.t, TARGET_TMA)))
		return;
	must(b.dev->tensor_map(b.dev, map, &v, &b.err));
	x->bulk_cache = blocks * SLOT_BYTES * 300 /
	                TIME(.kernel = "bulk", .blocks = blocks, .threads = 128, .turns = 300, .map = map) / r->l2;
}

static void measure_latency(struct rates *r)
{
	int some = b.dry ? 4 : 2000;

	TIME(.kernel = "chain", .blocks = 1024, .threads = THREADS, .turns = b.words);
	r->latency =
	        TIME(.kernel = "latency", .blocks = 1, .threads = 32, .turns = some, .chain = true, .apart = 1 << 21) /
	        some;
	TIME(.kernel = "chain", .blocks = 1024, .threads = THREADS, .turns = b.cached);
	r->cached_latency = TIME(.kernel = "latency", .blocks = 1, .threads = 32, .turns = some, .chain = true) / some;
}

/* ---- The program. */

static int power_below(double x)
{
	int n = 1;

	while (n <= x / 2 && n < 1 << 26)
		n *= 2;
	return n;
}

static void open_device(const char *name, const char *kernels)
{
	struct dev_source source = { .file = "calibrate.cu", .may_race = true };
	struct dev_code code;
	char *log, *text;
	size_t bytes;

	must(dev_open(&b.dev, name, &b.err));
	b.dry = strcmp(b.dev->kind, "cuda") != 0;
	if (b.dry && strcmp(b.dev->kind, "emulator") != 0) {
		fprintf(stderr,
		        "The device %s has no clock of a GPU: calibrate needs cuda, or emulator to try its kernels.\n",
		        name);
		exit(2);
	}
	tpat_target_of_device(&b.t, &b.dev->props);
	b.words = b.dry ? 1 << 16 : power_below(fmin((double)b.dev->props.memory_bytes / 16, 1 << 28) / 4);
	b.cached = b.dry ? 1 << 14 : power_below((double)b.t.l2_bytes / 4 / 4);
	bytes = (size_t)b.words * 4;
	must(file_read(&text, NULL, kernels, b.arena, &b.err));
	source.text = arena_printf(b.arena, "#define WORDS %d\n#define CACHED %d\n%s", b.words, b.cached, text);
	must(b.dev->compile(b.dev, &code, &source, &log, b.arena, &b.err));
	must(b.dev->load(b.dev, &b.module, &code, &b.err));
	must(b.dev->alloc(b.dev, &b.in, bytes, &b.err));
	must(b.dev->alloc(b.dev, &b.out, bytes, &b.err));
	must(b.dev->memset(b.dev, b.in, 0, bytes, &b.err));
	must(b.dev->memset(b.dev, b.out, 0, bytes, &b.err));
}

static const char *row_text(const struct cost_table *x, const struct rates *r)
{
	struct str s = str_new(b.arena);
	char number[NUMBER_TEXT];

	str_printf(&s, "/* %s: sm_%d, %d multiprocessors, %g GHz. Written by bench/calibrate. */\nCALIBRATION(%d",
	           b.dev->props.name, b.t.arch, b.t.processors, b.t.clock_ghz, b.t.arch);
	for (const struct cost_column *c = cost_columns; c->name; c++) {
		double v = *(const double *)((const char *)x + c->at);
		int digits = v >= 100 ? 0 : v >= 10 ? 1 : v >= 1 ? 2 : 4;

		number_snprintf(number, sizeof number, "%.*f", digits, v);
		str_printf(&s, ",\n\t.%s = %s", c->name, number);
	}
	str_printf(
	        &s,
	        ")\n/* Rates of this GPU. Memory: %.0f bytes a nanosecond, %.0f ns; the L2 cache: %.0f, %.2f a clock "
	        "and\n * multiprocessor, %.0f ns. ",
	        r->memory, r->latency, r->l2, r->l2 / b.t.clock_ghz / b.t.processors, r->cached_latency);
	str_printf(&s,
	           "A launch: %.0f ns in a graph, %.0f ns alone, between events.\n"
	           " * Multiply-adds of a multiprocessor and clock: f64 %.1f, i32 %.1f; mma f16 %.0f, bf16 %.0f, i8 "
	           "%.0f; wgmma f16 %.0f,\n"
	           " * i8 %.0f. A barrier of 1024 threads in four blocks: %.0f clocks; atomics: %.2f a clock. */\n",
	           r->launch_ns, r->alone_ns, r->doubles, r->integers, r->f16, r->bf16, r->i8, r->wide_f16, r->wide_i8,
	           r->barrier, r->atomics);
	return str_text(&s);
}

static void show(const struct cost_table *x)
{
	const struct cost_table *now = cost_table(&b.t);

	fprintf(stderr, "%-14s %10s %10s  %s\n", "constant", "measured", "tpat has", "unit");
	for (const struct cost_column *c = cost_columns; c->name; c++)
		fprintf(stderr, "%-14s %10.4g %10.4g  %s\n", c->name, *(const double *)((const char *)x + c->at),
		        *(const double *)((const char *)now + c->at), c->unit);
}

int main(int argc, char **argv)
{
	const char *device = "cuda", *kernels = "bench/calibrate.cu", *output = NULL;
	struct cost_table x = { .arch = 0 }, again;
	struct rates r = { .launch_ns = 0 };
	const char *text;

	for (int i = 1; i < argc; i++) {
		const char **option = strcmp(argv[i], "--device") == 0    ? &device
		                      : strcmp(argv[i], "--kernels") == 0 ? &kernels
		                      : strcmp(argv[i], "--output") == 0  ? &output
		                                                          : NULL;
		if (!option || i + 1 == argc) {
			fprintf(stderr, "usage: calibrate [--device DEVICE] [--kernels FILE] [--output FILE]\n");
			return 2;
		}
		*option = argv[++i];
	}
	number_use_c_locale();
	b.arena = arena_new();
	open_device(device, kernels);
	r.alone_ns = TIME(.kernel = "empty", .blocks = 1, .threads = 32);
	measure_issue(&x, &r);
	measure_products(&x, &r);
	measure_memory(&x, &r);
	measure_caches(&x, &r);
	measure_copy_engine(&x, &r);
	measure_latency(&r);
	must(b.dev->synchronize(b.dev, &b.err));
	if (b.dry) {
		printf("%d launches of the kernels ran on the %s, which has no times.\n", b.kernels, b.dev->kind);
	} else {
		x.arch = b.t.arch;
		text = row_text(&x, &r);
		show(&x);
		must(tpat_calibration_read(&again, text, &b.err));
		if (output)
			must(file_write(output, text, strlen(text), &b.err));
		else
			fputs(text, stdout);
	}
	b.dev->close(b.dev);
	arena_free(b.arena);
	return 0;
}
