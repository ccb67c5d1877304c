/* What was measured of GPUs, and the formulas that need no program. See cost.h. A row for another architecture is what
 * a program that measures would write. */
#include "sched/target/cost.h"

/* The newest first. */
static const struct cost_table tables[] = {
	{
	        .arch = 90,              /* H100 SXM, 1.98 GHz, 3.35 TB/s */
	        .mixed_clock = 0.7576,   /* 1.5 GHz */
	        .steady_clock = 0.8586,  /* 1.7 GHz */
	        .counted_clock = 0.8864, /* 1.755 GHz */
	        .mma_clock = 0.8081,     /* 1.6 GHz, under the load of tensor cores */
	        .wgmma_clock = 0.7828,   /* 1.55 GHz */
	        .way = 717,              /* 1024 threads of a multiprocessor */
	        .stream_way = 1793,      /* 40 KB of a multiprocessor */
	        .alone_bytes = 33.3,     /* 66 bytes a nanosecond */
	        .tiles_cache = 0.87,
	        .bulk_cache = 1.74,
	        .tiles_wait = 2500,
	        .wave = 650,
	        .norm = 2.7,
	        .access = 3,
	        .apart = 0.008,
	        .rows_way = 1000,
	        .across_way = 1500,
	        .mma_way = 1200,
	        .attend_way = 900,
	        .shared_bytes = 128,
	        .functions = 16,
	},
};

const struct cost_table *cost_table(const struct sched_target *t)
{
	const struct cost_table *x = tables, *end = tables + sizeof tables / sizeof *tables;

	while (x + 1 < end && x->arch > t->arch)
		x++;
	return x;
}

static double lanes(const struct sched_target *t)
{
	return t->processors * 32.0 * t->schedulers;
}

double cost_mixed_rate(const struct sched_target *t)
{
	return lanes(t) * t->clock_ghz * cost_table(t)->mixed_clock;
}

double cost_steady_rate(const struct sched_target *t)
{
	return lanes(t) * t->clock_ghz * cost_table(t)->steady_clock;
}

double cost_full_threads(const struct sched_target *t)
{
	return t->bytes_per_ns * cost_table(t)->way / 16;
}

double cost_in_flight(const struct sched_target *t)
{
	return t->bytes_per_ns * cost_table(t)->stream_way / t->processors;
}

double cost_counted_clock(const struct sched_target *t)
{
	return t->clock_ghz * cost_table(t)->counted_clock;
}

double cost_tiles_rate(const struct sched_target *t)
{
	return t->l2_bytes_per_ns * cost_table(t)->tiles_cache;
}

double cost_bulk_rate(const struct sched_target *t)
{
	return t->l2_bytes_per_ns * cost_table(t)->bulk_cache;
}

double cost_alone_rate(const struct sched_target *t)
{
	return t->clock_ghz * cost_table(t)->alone_bytes;
}
