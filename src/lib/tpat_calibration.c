/* Reads the cost model's constants of a GPU, as bench/calibrate writes them. See tpat_calibration.h. */
#include "lib/tpat_calibration.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

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

int tpat_calibration_read(struct cost_table *out, const char *text, struct err *e)
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
			return err_set(e, ERR_MODEL, "The calibration has an unknown constant \"%.*s\".",
			               (int)(n ? n : strcspn(s, " \n,)")), n ? s + 1 : s);
		*(double *)((char *)out + c->at) = number_read(number, &end);
		if (end == number)
			return err_set(e, ERR_MODEL, "The calibration has no number for %s.", c->name);
	}
	if (*s != ')')
		return err_set(e, ERR_MODEL, "The calibration does not end with \")\".");
	return missing(out, e);
}
