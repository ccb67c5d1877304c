/* Measured constants of GPUs, and the formulas that need no program. See cost.h. */
#include "sched/target/cost.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* The newest first. */
static const struct cost_table tables[] = {
#define CALIBRATION(ARCH, ...) { .arch = ARCH, __VA_ARGS__ },
#include "sched/target/calibration.def"
#undef CALIBRATION
};

const struct cost_column cost_columns[] = {
#define COST(NAME, UNIT, WHAT) { #NAME, UNIT, WHAT, offsetof(struct cost_table, NAME) },
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

/* ---- Rows as text. */

static const char *skip(const char *s)
{
	while (*s) {
		if (strncmp(s, "/*", 2) == 0) {
			const char *end = strstr(s + 2, "*/");
			s = end ? end + 2 : s + strlen(s);
		} else if (strchr(" \t\r\n,", *s)) {
			s++;
		} else {
			break;
		}
	}
	return s;
}

static const struct cost_column *column_named(const char *name, size_t n)
{
	for (const struct cost_column *c = cost_columns; c->name; c++)
		if (strlen(c->name) == n && memcmp(c->name, name, n) == 0)
			return c;
	return NULL;
}

static int missing(const struct cost_table *x, struct err *e)
{
	for (const struct cost_column *c = cost_columns; c->name; c++)
		if (!(*(const double *)((const char *)x + c->at) > 0))
			return err_set(e, ERR_MODEL, "The calibration has no number above zero for %s.", c->name);
	return 0;
}

int cost_table_read(struct cost_table *out, const char *text, struct err *e)
{
	static const char head[] = "CALIBRATION(";
	const char *s = skip(text);
	char *end;

	memset(out, 0, sizeof *out);
	if (strncmp(s, head, sizeof head - 1) != 0)
		return err_set(e, ERR_MODEL, "The calibration does not begin with \"%s\".", head);
	out->arch = (int)strtol(s + sizeof head - 1, &end, 10);
	for (s = skip(end); *s && *s != ')'; s = skip(end)) {
		size_t n = *s == '.' ? strspn(s + 1, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;
		const struct cost_column *c = column_named(s + 1, n);
		const char *number = s + 1 + n + strspn(s + 1 + n, " =");

		if (!n || !c)
			return err_set(e, ERR_MODEL, "The calibration has \"%.*s\", which is not a constant of it.",
			               (int)(n ? n : strcspn(s, " \n,)")), n ? s + 1 : s);
		*(double *)((char *)out + c->at) = number_read(number, &end);
		if (end == number)
			return err_set(e, ERR_MODEL, "The calibration has no number for %s.", c->name);
	}
	if (*s != ')')
		return err_set(e, ERR_MODEL, "The calibration does not end with \")\".");
	return missing(out, e);
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
