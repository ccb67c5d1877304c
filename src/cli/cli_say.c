/* What all commands say: errors, progress, and that they were interrupted. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/str.h"
#include "cli/cli.h"

static void tell(const char *where, const char *text, const char *advice)
{
	fprintf(stderr, "tpat: %s%s\n", where, text);
	if (advice && *advice)
		fprintf(stderr, "  %s\n", advice);
}

int cli_usage(const char *advice, const char *format, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, format);
	number_vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	tell("", text, advice);
	cli_print_error("", text, advice, EXIT_USAGE, NULL);
	return EXIT_USAGE;
}

int cli_field(int columns, const char *text)
{
	return columns + (int)strlen(text) - str_width(text);
}

int cli_wider(int width, const char *text)
{
	int n = str_width(text);
	return n > width ? n : width;
}

int cli_fail(const struct cli *c, int code)
{
	cli_progress_end();
	if (cli_interrupted()) {
		tell("", "Interrupted; nothing was written.", NULL);
		cli_print_error("", "Interrupted; nothing was written.", NULL, EXIT_INTERRUPTED, NULL);
		return EXIT_INTERRUPTED;
	}
	tell(tpat_error_where(c->tpat), tpat_error(c->tpat), tpat_error_advice(c->tpat));
	cli_print_error(tpat_error_where(c->tpat), tpat_error(c->tpat), tpat_error_advice(c->tpat), -code, c->tpat);
	return -code;
}

/* ---- Progress and interrupts. */

static volatile sig_atomic_t interrupted;
static bool line_is_open;

static time_t interrupted_at;

/* The first Ctrl-C lets the library stop and remove what it made; another one a while later ends the program
 * immediately. */
static void on_signal(int number)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (interrupted && now.tv_sec - interrupted_at > 1) {
		signal(number, SIG_DFL);
		raise(number);
	}
	if (!interrupted)
		interrupted_at = now.tv_sec;
	interrupted = 1;
}

bool cli_interrupted(void)
{
	return interrupted;
}

bool cli_progress(void *user, const struct tpat_progress *p)
{
	static int terminal = -1;
	(void)user;
	if (terminal < 0)
		terminal = isatty(2);
	if (terminal) {
		char bar[25] = "########################";
		int full = p->all > 0 ? p->done * 24 / p->all : 0;
		for (int i = full; i < 24; i++)
			bar[i] = '-';
		fprintf(stderr, "\r\033[K  [%s] %s %.60s", bar, p->stage, p->what);
		line_is_open = true;
	}
	return interrupted;
}

void cli_progress_end(void)
{
	if (line_is_open)
		fprintf(stderr, "\r\033[K");
	line_is_open = false;
}

void cli_watch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal }, hangup;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) /* as nohup leaves it */
		sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_DFL);
}
