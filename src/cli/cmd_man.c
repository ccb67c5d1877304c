/* tpat man: manual pages in roff, from the tables of commands, options and topics. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* `n` bytes in which nothing is a request or an escape. */
static void put_bytes(const char *text, size_t n)
{
	for (const char *c = text; c < text + n; c++)
		if (*c == '\\')
			printf("\\e");
		else if (*c == '-')
			printf("\\-");
		else if (*c == '~')
			printf("\\(ti");
		else if (*c == '\n')
			putchar(' ');
		else if ((*c == '.' || *c == '\'') && c == text)
			printf("\\&%c", *c);
		else
			putchar(*c);
}

static void put(const char *text)
{
	put_bytes(text, strlen(text));
}

static void title(const char *page, int section, const char *help)
{
	printf(".TH %s %d \"\" \"tpat %s\" \"%s\"\n.SH NAME\n", page, section, tpat_version(),
	       section == 1 ? "User Commands" : "Miscellaneous");
	put(page);
	printf(" \\- ");
	put(help);
	putchar('\n');
}

static void head(const char *page, const char *command, const char *arguments, const char *help)
{
	title(page, 1, help);
	printf(".SH SYNOPSIS\n.B tpat");
	if (command) {
		putchar(' ');
		put(command);
	}
	printf("\n");
	put(arguments);
	printf("\n[OPTION ...]\n");
}

static void put_options(struct cli *c, const struct cli_option *option)
{
	(void)c;
	printf(".SH OPTIONS\n");
	for (const struct cli_option *o = option; o->name; o++) {
		if (!o->help)
			continue;
		printf(".TP\n");
		if (o->letter)
			printf("\\fB\\-%c\\fR, ", o->letter);
		printf("\\fB\\-\\-");
		put(o->name);
		printf("\\fR");
		if (o->kind != CLI_FLAG) {
			printf("%s\\fI", o->kind == CLI_MODE ? "" : " ");
			put_bytes(o->value, (size_t)cli_placeholder(o));
			printf("\\fR");
		}
		putchar('\n');
		put(o->help);
		putchar('\n');
	}
	printf(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint the options\n");
}

/* ---- Topics. */

/* Paragraphs, and examples as they are. */
static void put_text(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		bool example = *text == ' ';
		if (!n) {
			printf(".PP\n");
		} else {
			printf(example ? ".nf\n" : "");
			put_bytes(text, n);
			printf(example ? "\n.fi\n" : "\n");
		}
		text += n + (text[n] == '\n');
	}
}

static void put_rows(const struct cli_row *row)
{
	for (const struct cli_row *r = row; r->name; r++) {
		printf(".TP\n\\fB");
		put(r->name);
		printf("\\fR\n");
		put(r->text);
		put(r->more ? r->more : "");
		putchar('\n');
	}
}

static void section(const char *name, const char *topic)
{
	const struct cli_topic *t = cli_find_topic(topic);
	printf(".SH %s\n", name);
	put_rows(t->row);
}

static void topic_page(struct cli *c, const struct cli_topic *t)
{
	title(arena_printf(c->arena, "tpat-%s", t->name), 7, t->help);
	printf(".SH DESCRIPTION\n");
	put_text(t->text);
	if (t->row)
		put_rows(t->row);
	printf(".SH SEE ALSO\n.BR tpat (1)\n");
}

/* ---- The program. */

static void program(void)
{
	head("tpat", NULL, "COMMAND", "CUDA kernels and TensorRT plugins for operators of ONNX models");
	printf(".SH COMMANDS\n");
	for (const struct cli_command *k = cli_commands; k->name; k++) {
		printf(".TP\n\\fB");
		put(k->name);
		printf("\\fR %s\n", *k->arguments ? k->arguments : "");
		put(k->help);
		putchar('\n');
	}
	section("EXIT STATUS", "exit-codes");
	section("ENVIRONMENT", "environment");
	section("FILES", "files");
	printf(".SH SEE ALSO\ntpat COMMAND \\-\\-help, and tpat man COMMAND for the manual page of a command.\n"
	       "Topics have pages, too:\n");
	for (const struct cli_topic *t = cli_topics; t->name; t++) {
		printf(".BR tpat\\-");
		put(t->name);
		printf(t[1].name ? " (7),\n" : " (7).\n");
	}
}

static void list_command(struct cli *c, const struct cli_option *option)
{
	if (option->name)
		printf("tpat-%s.1\n", c->command->name);
}

static void list(struct cli *c)
{
	for (const struct cli_command *k = cli_commands; k->name; k++)
		cli_show_options(c, k, list_command);
	for (const struct cli_topic *t = cli_topics; t->name; t++)
		printf("tpat-%s.7\n", t->name);
}

int cli_man(struct cli *c, int argc, char **argv)
{
	bool names = false;
	const struct cli_option option[] = {
		{ "list", 0, CLI_FLAG, &names, NULL,
		  "print the names of the pages of topics, and of commands that have options" },
		{ .name = NULL },
	};
	const char *name = NULL;
	int status = cli_parse(c, option, argc, argv, &name, 0, 1);
	if (status >= 0)
		return status;
	const struct cli_command *k = name ? cli_find_command(name) : NULL;
	const struct cli_topic *t = name ? cli_find_topic(name) : NULL;
	if (name && !k && !t)
		return cli_unknown_command(name, true);
	if (names && name)
		return cli_usage("tpat man TOPIC prints one page.", "--list takes no command or topic.");
	if (names) {
		list(c);
	} else if (!name) {
		program();
	} else if (t) {
		topic_page(c, t);
	} else {
		head(arena_printf(c->arena, "tpat-%s", name), name, k->arguments, k->help);
		cli_show_options(c, k, put_options);
		section("EXIT STATUS", "exit-codes");
		printf(".SH SEE ALSO\n.BR tpat (1)\n");
	}
	return 0;
}
