/* Rows of the cost model's constants: the reader accepts the output of bench/calibrate, and no row that lacks a
 * number. */
#include <string.h>

#include "lib/tpat_calibration.h"
#include "lib/tpat_inside.h"
#include "tests/unit/test.h"

static double of(const struct cost_table *x, const struct cost_column *c)
{
	return *(const double *)((const char *)x + c->at);
}

/* Makes a row of 1, 2, 3 ... without the column `without`; `more` is inserted before its end. */
static const char *row(int arch, const char *without, const char *more)
{
	static char text[4096];
	size_t n = (size_t)snprintf(text, sizeof text, "/* any GPU */\nCALIBRATION(%d", arch);
	int i = 0;

	for (const struct cost_column *c = cost_columns; c->name; c++)
		if (++i && (!without || strcmp(c->name, without) != 0))
			n += (size_t)snprintf(text + n, sizeof text - n, ",\n\t.%s = %d.0 /* %s */", c->name, i,
			                      c->unit);
	snprintf(text + n, sizeof text - n, "%s)\n/* the end */\n", more);
	return text;
}

static void refuses(const char *text, const char *why)
{
	struct cost_table x;
	struct err e = { 0 };

	CHECK_INT(tpat_calibration_read(&x, text, &e), ERR_MODEL);
	if (!test_check(strstr(e.text, why) != NULL, __FILE__, __LINE__, why))
		printf("  %s\n", e.text);
}

int main(void)
{
	struct sched_target t = *tpat_gpu_named("A10");
	struct cost_table x;
	struct err e = { 0 };
	int i = 0;

	CHECK_INT(tpat_calibration_read(&x, row(86, NULL, ""), &e), 0);
	CHECK_INT(x.arch, 86);
	for (const struct cost_column *c = cost_columns; c->name; c++)
		CHECK(of(&x, c) == ++i);
	CHECK(cost_table(&t)->arch == 90); /* not in the table */
	t.measured = &x;
	CHECK(cost_table(&t) == &x);
	CHECK_INT(tpat_calibration_read(&x, row(90, NULL, ", .way = 700"), &e), 0);
	CHECK(x.way == 700);

	refuses("", "does not begin");
	refuses("way = 3", "does not begin");
	refuses("CALIBRATION(90", "does not end");
	refuses("CALIBRATION(90)", "mixed_clock");
	refuses(row(90, "norm", ""), "no number above zero for norm");
	refuses(row(90, NULL, ", .norm = 0"), "no number above zero for norm");
	refuses(row(90, NULL, ", .norm = fast"), "no number for norm");
	refuses(row(90, NULL, ", .speed = 3"), "\"speed\"");
	refuses(row(90, NULL, ", 17"), "\"17\"");
	return test_done();
}
