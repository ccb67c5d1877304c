/* Colours, and what else only a terminal shows. This file alone decides: NO_COLOR (https://no-color.org) forbids
 * colours, CLICOLOR_FORCE wants them in files and pipes too, and CLICOLOR=0 forbids them on terminals
 * (https://bixense.com/clicolors). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

bool cli_is_terminal(FILE *to)
{
	const char *term = getenv("TERM");
	return isatty(fileno(to)) && term && *term && strcmp(term, "dumb") != 0;
}

/* 0: a file, and $COLUMNS does not say how wide it shall be. */
static int known_columns(FILE *to)
{
	enum { LEAST = 40, MOST = 10000 };
	struct winsize size = { 0 };
	const char *given = getenv("COLUMNS");
	long columns = given ? strtol(given, NULL, 10) : 0;
	if (columns <= 0 && isatty(fileno(to)) && ioctl(fileno(to), TIOCGWINSZ, &size) == 0)
		columns = size.ws_col;
	if (columns <= 0)
		return 0;
	return columns < LEAST ? LEAST : columns > MOST ? MOST : (int)columns;
}

int cli_columns(FILE *to)
{
	enum { FILES = 110 };
	int columns = known_columns(to);
	return columns ? columns : FILES;
}

int cli_text_columns(FILE *to)
{
	enum { UNLIMITED = 1000000 };
	int columns = known_columns(to);
	return columns ? columns : UNLIMITED;
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);
	return value && *value;
}

static bool is_zero(const char *name)
{
	const char *value = getenv(name);
	return value && strcmp(value, "0") == 0;
}

static bool has_colors(FILE *to)
{
	if (is_set("NO_COLOR"))
		return false;
	if (is_set("CLICOLOR_FORCE") && !is_zero("CLICOLOR_FORCE"))
		return true;
	return !is_zero("CLICOLOR") && cli_is_terminal(to);
}

const char *cli_style(FILE *to, enum cli_style s)
{
	static const char *const escape[] = {
		[CLI_PLAIN] = "\033[0m",    [CLI_HEADING] = "\033[1m", [CLI_ERROR] = "\033[1;31m",
		[CLI_WARNING] = "\033[33m", [CLI_GOOD] = "\033[32m",
	};
	return has_colors(to) ? escape[s] : "";
}

void cli_tell(enum cli_style s, const char *format, ...)
{
	va_list ap;
	fprintf(stderr, "%stpat:%s ", cli_style(stderr, s), cli_style(stderr, CLI_PLAIN));
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\n");
}
