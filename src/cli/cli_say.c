/* Errors, progress and interrupts of all commands. */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/str.h"
#include "base/unfinished.h"
#include "cli/cli.h"

enum {
	LOG_SECONDS = 5, /* between two lines of progress in a log */
	INDENT = 2,      /* of an error's advice */
};

void cli_wrap(FILE *to, const char *text, size_t length, int at, int indent, int columns)
{
	bool first = true;
	for (const char *c = text, *end = text + length; c < end;) {
		size_t n = strcspn(c, " \n");
		n = n > (size_t)(end - c) ? (size_t)(end - c) : n;
		if (!first && at + 1 + (int)n > columns) {
			fprintf(to, "\n%*s", indent, "");
			at = indent;
			first = true;
		}
		fprintf(to, "%s%.*s", first ? "" : " ", (int)n, c);
		at += (int)n + !first;
		first = false;
		c += n + (c + n < end);
	}
	fputc('\n', to);
}

static void tell(const char *where, const char *text, const char *advice)
{
	cli_tell(CLI_ERROR, "%s%s", where, text);
	if (!advice || !*advice)
		return;
	fprintf(stderr, "%*s", INDENT, "");
	cli_wrap(stderr, advice, strlen(advice), INDENT, INDENT, cli_text_columns(stderr));
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

/* ---- Progress and interrupts.
 *
 * A thread takes the signals; all others block them. A handler would not work: while NVRTC compiles, it replaces the
 * handler of SIGINT by its own, which ends the process with status 4. */

enum { NOTICE_SECONDS = 2 };

static volatile sig_atomic_t interrupted, noticed; /* noticed: a caller was told, and will stop and clean up */
static bool line_is_open;

static struct {
	sigset_t signals;
	pthread_t main;
} watch;

static void end_by(int number)
{
	signal(number, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &watch.signals, NULL);
	raise(number);
}

/* The first signal lets the library stop and clean up; another one more than a second later ends the program. So does
 * the first one after a while if no caller noticed it and there is nothing to clean up: a large model is being read. */
static void *take_signals(void *unused)
{
	static const struct timespec turn = { .tv_nsec = 200000000 };
	double first = 0;
	for (int last = 0;;) {
		int number = sigtimedwait(&watch.signals, NULL, interrupted && !noticed ? &turn : NULL);
		if (number > 0 && interrupted && clock_seconds() - first > 1)
			end_by(number);
		if (number > 0 && !interrupted) {
			first = clock_seconds();
			last = number;
			interrupted = 1;
		}
		if (number > 0)
			pthread_kill(watch.main, SIGUSR1); /* interrupts a system call, as a handler would */
		if (interrupted && !noticed && !unfinished_any() && clock_seconds() - first > NOTICE_SECONDS)
			end_by(last);
	}
	return unused;
}

static void wake(int number)
{
	(void)number;
}

bool cli_interrupted(void)
{
	noticed = interrupted;
	return noticed;
}

bool *cli_quiet(void)
{
	static bool quiet;
	return &quiet;
}

static bool is_shown(void)
{
	const char *setting = getenv("TPAT_PROGRESS");
	return !*cli_quiet() && !(setting && strcmp(setting, "0") == 0);
}

static pthread_mutex_t showing = PTHREAD_MUTEX_INITIALIZER;

bool cli_log_is_due(void)
{
	static double last;
	bool due = false;
	pthread_mutex_lock(&showing);
	double now = clock_seconds();
	last = last > 0 ? last : now;
	if (now - last >= LOG_SECONDS && is_shown()) {
		last = now;
		due = true;
	}
	pthread_mutex_unlock(&showing);
	return due;
}

/* "12/31, 8 s left"; the time if some are done. */
static void show_counts(const struct tpat_progress *p)
{
	static char stage[32];
	static double began;
	double now = clock_seconds();
	if (strncmp(stage, p->stage, sizeof stage - 1) != 0) {
		snprintf(stage, sizeof stage, "%s", p->stage);
		began = now;
	}
	if (p->all > 0)
		fprintf(stderr, " %d/%d", p->done, p->all);
	if (p->all > 0 && p->done > 0 && now >= began + 1)
		fprintf(stderr, ", %.0f s left", (now - began) * (p->all - p->done) / p->done);
}

static void show_bar(const struct tpat_progress *p)
{
	char bar[25] = "########################";
	int full = p->all > 0 ? p->done * 24 / p->all : 0;
	for (int i = full; i < 24; i++)
		bar[i] = '-';
	fprintf(stderr, "\r\033[K  [%s] %s", bar, p->stage);
	show_counts(p);
	fprintf(stderr, "  %.40s", p->what);
	line_is_open = true;
}

bool cli_progress(void *user, const struct tpat_progress *p)
{
	static int terminal = -1;
	(void)user;
	if (terminal < 0)
		terminal = cli_is_terminal(stderr);
	bool due = !terminal && cli_log_is_due();
	pthread_mutex_lock(&showing);
	if (terminal && is_shown()) {
		show_bar(p);
	} else if (due) {
		fprintf(stderr, "tpat: %s", p->stage);
		show_counts(p);
		fprintf(stderr, ": %s\n", p->what);
	}
	pthread_mutex_unlock(&showing);
	return cli_interrupted();
}

void cli_progress_end(void)
{
	if (line_is_open)
		fprintf(stderr, "\r\033[K");
	line_is_open = false;
}

void cli_watch_signals(void)
{
	static const int watched[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction waking = { .sa_handler = wake }, present;
	pthread_t thread;
	sigemptyset(&watch.signals);
	watch.main = pthread_self();
	sigaction(SIGUSR1, &waking, NULL);
	for (int i = 0; i < 3; i++) {
		bool ignored = sigaction(watched[i], NULL, &present) == 0 && present.sa_handler == SIG_IGN;
		if (watched[i] == SIGHUP && ignored) /* keep nohup's setting */
			continue;
		signal(watched[i], SIG_DFL); /* an ignored signal would not arrive */
		sigaddset(&watch.signals, watched[i]);
	}
	pthread_sigmask(SIG_BLOCK, &watch.signals, NULL);
	if (pthread_create(&thread, NULL, take_signals, NULL) == 0)
		pthread_detach(thread);
	else
		pthread_sigmask(SIG_UNBLOCK, &watch.signals, NULL); /* then they end the program */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit of ulimit -f fails like any other */
}

const char *cli_version_name(const struct cli *c, const char *version)
{
	if (!version)
		return "TensorRT 11";
	return strcmp(version, "rtx") == 0 ? "TensorRT-RTX 1.7" : arena_printf(c->arena, "TensorRT %s", version);
}
