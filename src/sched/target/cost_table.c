/* Measured constants of GPUs, and the formulas that need no program. See cost.h. */
#include "sched/target/cost.h"

#include <math.h>
#include <stddef.h>

/* The newest first. */
static const struct cost_table tables[] = {
#define CALIBRATION(ARCH, ...) { .arch = ARCH, __VA_ARGS__ },
#include "sched/target/calibration.def"
#undef CALIBRATION
};

const struct cost_column cost_columns[] = {
#define COST(NAME, UNIT, WHAT) { #NAME, UNIT, offsetof(struct cost_table, NAME) },
#include "sched/target/cost.def"
#undef COST
	{ .name = NULL },
};

const struct cost_table *cost_table(const struct sched_target *t)
{
	const struct cost_table *x = tables, *end = tables + sizeof tables / sizeof *tables;

	if (t->measured)
		return t->measured;
	while (x + 1 < end && x->arch > t->arch)
		x++;
	return x;
}

/* ---- Rates. */

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

double cost_rate_reached(double fill)
{
	return fmin(fmax(fill, 0.002), 1);
}

double cost_of_threads(const struct sched_target *t, double time, double fill, double instructions, double waits)
{
	/* Clocks of an instruction of a thread, most of which do not depend on the last; measured on an H200. */
	enum { CLOCKS = 2 };
	double alone = CLOCKS * instructions / (t->clock_ghz * cost_table(t)->mixed_clock) + waits;
	return fmin(time / cost_rate_reached(fill), time + alone);
}

double cost_in_flight(const struct sched_target *t)
{
	return t->bytes_per_ns * cost_table(t)->stream_way / t->processors;
}

double cost_missed(const struct sched_target *t, double bytes)
{
	double missed = 0.5 * bytes / (double)t->l2_bytes;

	return missed < 1 ? missed : 1;
}

double cost_counted_clock(const struct sched_target *t)
{
	return t->clock_ghz * cost_table(t)->counted_clock;
}

double cost_wait(const struct sched_target *t, double ns)
{
	static const double measured_ghz = 1.98;

	return ns * (measured_ghz / t->clock_ghz);
}

double cost_following(const struct sched_target *t)
{
	return 0.4 * t->launch_ns;
}

double cost_tiles_rate(const struct sched_target *t)
{
	return t->l2_bytes_per_ns * cost_table(t)->tiles_cache;
}

double cost_bulk_rate(const struct sched_target *t)
{
	return t->l2_bytes_per_ns * cost_table(t)->bulk_cache;
}

double cost_mma_time(const struct sched_target *t, double clocks)
{
	enum { FALLS_WITHIN = 10000 /* ns */ };
	double loaded = cost_table(t)->mma_clock, first = exp(-clocks / t->clock_ghz / FALLS_WITHIN);
	return clocks / (t->clock_ghz * (loaded + (1 - loaded) * first));
}

double cost_alone_rate(const struct sched_target *t)
{
	return t->clock_ghz * cost_table(t)->alone_bytes;
}
