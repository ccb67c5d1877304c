/* The program `tpat`: finds the command and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/str.h"
#include "cli/cli.h"

static int help(struct cli *c, int argc, char **argv);
static int version(struct cli *c, int argc, char **argv);

const struct cli_command cli_commands[] = {
	{ "build", "MODEL", "make plugins for chosen nodes, and the model that uses them", cli_build },
	{ "list", "MODEL", "show a model's nodes: their types, what TensorRT and tpat can take", cli_list },
	{ "verify", "MODEL", "run a rewritten model's plugins and compare them with the original nodes", cli_verify },
	{ "bench", "MODEL", "time each node's kernels on a device", cli_bench },
	{ "db", "ACTION", "list, stats, export, import, merge, prune: the tuning database", cli_db },
	{ "tune", "MODEL", "search for the fastest schedule of each node's kernels, on a device", cli_tune },
	{ "rebuild", "FOLDER", "compile a .tpat folder's edited kernels, and put its library in place", cli_rebuild },
	{ "doctor", "PLACE", "finish or undo an interrupted build; check what belongs together", cli_doctor },
	{ "inspect", "LIBRARY", "show what a plugin library holds", cli_inspect },
	{ "help", "[COMMAND]", "this text, or a command's options", help },
	{ "version", "", "tpat's version", version },
	{ NULL, NULL, NULL, NULL },
};

static const struct cli_command *find(const char *name)
{
	for (const struct cli_command *k = cli_commands; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

static void print_help(FILE *to)
{
	fprintf(to,
	        "tpat: CUDA kernels and TensorRT plugins for operators of ONNX models\n\nusage: tpat COMMAND ...\n\n");
	for (const struct cli_command *k = cli_commands; k->name; k++)
		fprintf(to, "  %-8s %-10s %s\n", k->name, k->arguments, k->help);
	fprintf(to, "\ntpat COMMAND --help shows the options.\n"
	            "Exit status: 0 fine, 1 results differ, 2 usage, 3 model, 4 unsupported, 5 device.\n");
}

static int unknown(const char *name)
{
	const char *names[16] = { NULL };
	for (int i = 0; cli_commands[i].name; i++)
		names[i] = cli_commands[i].name;
	const char *closest = str_closest(name, names);
	char advice[128];
	snprintf(advice, sizeof advice, closest ? "Did you mean \"%s\"?" : "tpat --help shows the commands.", closest);
	return cli_usage(advice, "There is no command \"%s\".", name);
}

static int help(struct cli *c, int argc, char **argv)
{
	static char option[] = "--help";
	const struct cli_command *k = argc > 1 && strcmp(argv[1], "--help") != 0 ? find(argv[1]) : NULL;
	if (argc > 1 && !k && strcmp(argv[1], "--help") != 0)
		return unknown(argv[1]);
	if (k && k->run != help && k->run != version) {
		c->command = k;
		return k->run(c, 2, (char *[]){ argv[1], option, NULL });
	}
	print_help(stdout);
	return 0;
}

static int version(struct cli *c, int argc, char **argv)
{
	(void)c, (void)argc, (void)argv;
	printf("tpat %s\n", tpat_version());
	return 0;
}

/* ---- Mistakes and failures. */

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

static void watch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal }, hangup;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) /* keep nohup's setting */
		sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_DFL);
}

/* Fills closed standard streams, so that no file gets their descriptors and receives printed output. */
static void hold_streams(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* opposite direction: using them fails */
}

/* Checks that all output was written; else that is the failure. */
static int check_output(int status)
{
	bool failed = ferror(stdout) != 0;
	errno = 0;
	failed |= fflush(stdout) != 0;
	if (!failed)
		return status;
	fprintf(stderr, "tpat: Standard output cannot be written%s%s.\n", errno ? ": " : "",
	        errno ? strerror(errno) : "");
	return status ? status : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	number_use_c_locale(); /* a preloaded library may have called setlocale() */
	hold_streams();
	cli_json_wanted(argc, argv);
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	const char *name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0)
		name = "version";
	const struct cli_command *k = find(name);
	if (!k)
		return unknown(name);
	struct cli c = { .arena = arena_new(), .tpat = tpat_new(), .command = k };
	if (!c.tpat)
		return cli_usage(NULL, "Memory is out."), 5;
	watch_signals();
	int status = k->run(&c, argc - 1, argv + 1);
	cli_progress_end();
	status = check_output(status);
	tpat_free(c.tpat);
	arena_free(c.arena);
	return status;
}
