/* tpat help: the commands, a command's options, or a topic. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

enum { COLUMNS = 78, INDENT = 4, COMMANDS = 28 };

const struct cli_command *cli_find_command(const char *name)
{
	for (const struct cli_command *k = cli_commands; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

const struct cli_topic *cli_find_topic(const char *name)
{
	for (const struct cli_topic *t = cli_topics; t->name; t++)
		if (strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

int cli_unknown_command(const char *name, bool or_topic)
{
	enum { MOST = 64 };
	const char *names[MOST + 1] = { NULL };
	int n = 0;
	for (const struct cli_command *k = cli_commands; k->name && n < MOST; k++)
		names[n++] = k->name;
	for (const struct cli_topic *t = cli_topics; or_topic && t->name && n < MOST; t++)
		names[n++] = t->name;
	const char *closest = str_closest(name, names);
	char advice[128];
	if (!or_topic && cli_foreign_command(name))
		return cli_usage(cli_foreign_command(name), "There is no command \"%s\".", name);
	snprintf(advice, sizeof advice, closest ? "Did you mean \"%s\"?" : "tpat --help shows the commands%s.",
	         closest    ? closest
	         : or_topic ? " and topics"
	                    : "");
	return cli_usage(advice, "There is no command%s \"%s\".", or_topic ? " or topic" : "", name);
}

/* ---- Text that is broken into lines. */

/* A paragraph, in lines that are easy to read. */
static void wrap(FILE *to, const char *text, size_t length, int at, int indent)
{
	int columns = cli_columns(to);
	cli_wrap(to, text, length, at, indent, columns < COLUMNS ? columns : COLUMNS);
}

static void print_text(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		if (!n || *text == ' ')
			printf("%.*s\n", (int)n, text);
		else
			wrap(stdout, text, n, 0, 0);
		text += n + (text[n] == '\n');
	}
}

static void print_rows(const struct cli_row *row)
{
	int width = 0;
	for (const struct cli_row *r = row; r->name; r++)
		width = (int)strlen(r->name) > width && strlen(r->name) < 24 ? (int)strlen(r->name) : width;
	printf("\n");
	for (const struct cli_row *r = row; r->name; r++) {
		char text[512];
		bool wide = (int)strlen(r->name) > width;
		int n = snprintf(text, sizeof text, "%s%s", r->text, r->more ? r->more : "");
		printf("  %s%-*s%s", cli_style(stdout, CLI_HEADING), width, r->name, cli_style(stdout, CLI_PLAIN));
		if (wide)
			printf("\n  %*s", width, "");
		printf("  ");
		wrap(stdout, text, (size_t)n, width + INDENT, width + INDENT);
	}
}

static void print_topic(const struct cli_topic *t)
{
	printf("%s%s: %s%s\n\n", cli_style(stdout, CLI_HEADING), t->name, t->help, cli_style(stdout, CLI_PLAIN));
	print_text(t->text);
	if (t->row)
		print_rows(t->row);
}

/* ---- All commands. */

/* "Exit status: 0 success; 1 results differ; ..." */
static void print_exits(FILE *to)
{
	char text[512] = "";
	size_t n = 0;
	for (const struct cli_row *r = cli_find_topic("exit-codes")->row; r->name && n < sizeof text; r++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %s", n ? "; " : " ", r->name, r->text);
	fprintf(to, "%sExit status:%s ", cli_style(to, CLI_HEADING), cli_style(to, CLI_PLAIN));
	n = strlen(text);
	if (n + 1 < sizeof text)
		text[n++] = '.';
	wrap(to, text + 1, n - 1, (int)strlen("Exit status: "), 0);
}

static void print_topics(FILE *to)
{
	char text[512] = "";
	size_t n = 0;
	for (const struct cli_topic *t = cli_topics; t->name && n < sizeof text; t++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", t->name);
	fprintf(to, "%sTopics%s (tpat help TOPIC): ", cli_style(to, CLI_HEADING), cli_style(to, CLI_PLAIN));
	wrap(to, text, strlen(text), (int)strlen("Topics (tpat help TOPIC): "), 0);
}

void cli_print_help(FILE *to)
{
	const char *bold = cli_style(to, CLI_HEADING), *plain = cli_style(to, CLI_PLAIN);
	static const char about[] = "tpat: CUDA kernels and TensorRT plugins for operators of ONNX models";
	cli_wrap(to, about, strlen(about), 0, INDENT, cli_columns(to));
	fprintf(to, "\n%susage:%s tpat COMMAND ...\n\n", bold, plain);
	for (const struct cli_command *k = cli_commands; k->name; k++) {
		fprintf(to, "  %-12s %-12s ", k->name, k->arguments);
		cli_wrap(to, k->help, strlen(k->help), COMMANDS, COMMANDS, cli_columns(to));
	}
	fprintf(to, "\ntpat COMMAND --help lists its options.\n");
	print_topics(to);
	print_exits(to);
}

int cli_help(struct cli *c, int argc, char **argv)
{
	static char option[] = "--help";
	const char *name = argc > 1 && strcmp(argv[1], option) != 0 && strcmp(argv[1], "-h") != 0 ? argv[1] : NULL;
	const struct cli_command *k = name ? cli_find_command(name) : NULL;
	const struct cli_topic *t = name ? cli_find_topic(name) : NULL;
	if (name && !k && !t)
		return cli_unknown_command(name, true);
	if (t) {
		print_topic(t);
	} else if (k && k->run != cli_help && strcmp(k->name, "version") != 0) {
		c->command = k;
		return k->run(c, 2, (char *[]){ argv[1], option, NULL });
	} else {
		cli_print_help(stdout);
	}
	return 0;
}
