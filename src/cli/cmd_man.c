/* tpat man: manual pages in roff, from the tables of commands and options. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* Text in which nothing is a request or an escape. */
static void put(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c == '\\')
			printf("\\e");
		else if (*c == '-')
			printf("\\-");
		else if (*c == '\n')
			putchar(' ');
		else if ((*c == '.' || *c == '\'') && c == text)
			printf("\\&%c", *c);
		else
			putchar(*c);
}

static void head(const char *page, const char *command, const char *arguments, const char *help)
{
	printf(".TH %s 1 \"\" \"tpat %s\" \"User Commands\"\n.SH NAME\n", page, tpat_version());
	put(page);
	printf(" \\- ");
	put(help);
	printf("\n.SH SYNOPSIS\n.B tpat");
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
			put(o->value);
			printf("\\fR");
		}
		putchar('\n');
		put(o->help);
		putchar('\n');
	}
	printf(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint the options\n");
}

static void tail(void)
{
	printf(".SH EXIT STATUS\n"
	       "0 success; 1 results differ; 2 wrong option; 3 wrong or missing input file; 4 not supported, or "
	       "nothing\n"
	       "selected; 5 no GPU, driver, NVRTC or C compiler; 130 interrupted.\n");
}

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
	tail();
	printf(".SH SEE ALSO\ntpat COMMAND \\-\\-help, and tpat man COMMAND for the manual page of a command.\n");
}

static void list(struct cli *c, const struct cli_option *option)
{
	if (option->name)
		printf("%s\n", c->command->name);
}

int cli_man(struct cli *c, int argc, char **argv)
{
	bool names = false;
	const struct cli_option option[] = {
		{ "list", 0, CLI_FLAG, &names, NULL,
		  "print the commands that have options, and so a page of their own" },
		{ .name = NULL },
	};
	const char *name = NULL;
	int status = cli_parse(c, option, argc, argv, &name, 0, 1);
	if (status >= 0)
		return status;
	const struct cli_command *k = cli_commands;
	if (names && name)
		return cli_usage("tpat man COMMAND prints one page.", "--list takes no command.");
	if (names) {
		for (; k->name; k++)
			cli_show_options(c, k, list);
		return 0;
	}
	while (name && k->name && strcmp(k->name, name) != 0)
		k++;
	if (name && !k->name)
		return cli_usage("tpat --help shows the commands.", "There is no command \"%s\".", name);
	if (!name) {
		program();
		return 0;
	}
	head(arena_printf(c->arena, "tpat-%s", name), name, k->arguments, k->help);
	cli_show_options(c, k, put_options);
	tail();
	return 0;
}
