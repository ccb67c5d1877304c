/* tpat completion: scripts for bash, zsh and fish, from the tables of commands and options. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* Returns the values that an option takes; "": any text, without completion; null: a file. */
static const char *values_of(const struct cli_option *o)
{
	const char *words = cli_words(o);
	if (words)
		return words;
	return strstr(o->value, "FILE") || strstr(o->value, "FOLDER") || strstr(o->value, "DIR") ||
	                       strstr(o->value, "LOG")
	               ? NULL
	               : "";
}

static bool takes_value(const struct cli_option *o)
{
	return o->kind != CLI_FLAG && o->kind != CLI_MODE;
}

/* ---- bash, and zsh by its emulation of bash's completion. */

static void bash_options(struct cli *c, const struct cli_option *option)
{
	printf("\t%s)\n\t\twords='--help", c->command->name);
	for (const struct cli_option *o = option; o->name; o++)
		if (o->help)
			printf(" --%s", o->name);
	printf("'\n\t\tcase $before in\n");
	for (const struct cli_option *o = option; o->name; o++) {
		if (!o->help || !takes_value(o))
			continue;
		const char *values = values_of(o);
		printf("\t\t--%s", o->name);
		if (o->letter)
			printf(" | -%c", o->letter);
		if (!values)
			printf(") words='' ;;\n");
		else
			printf(") words='%s' files=no value=yes ;;\n", values);
	}
	printf("\t\tesac\n\t\t;;\n");
}

static void put_commands(void)
{
	for (const struct cli_command *k = cli_commands; k->name; k++)
		printf("%s%s", k == cli_commands ? "" : " ", k->name);
}

static void bash(struct cli *c, bool zsh)
{
	const char *function = zsh ? "_tpat_words" : "_tpat";
	if (zsh)
		printf("#compdef tpat\n"
		       "# Completion of tpat for zsh: as _tpat in a folder of fpath, or . <(tpat completion zsh)\n"
		       "if ! (( $+functions[compdef] )); then autoload -U +X compinit && compinit; fi\n"
		       "autoload -U +X bashcompinit && bashcompinit\n");
	else
		printf("# Completion of tpat for bash: . <(tpat completion bash)\n");
	printf("%s() {\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words='' files=yes value=no\n"
	       "\tCOMPREPLY=()\n"
	       "\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W '",
	       function);
	put_commands();
	printf(" --help --version' -- \"$word\"))\n"
	       "\t\treturn\n"
	       "\tfi\n"
	       "\tcase ${COMP_WORDS[1]} in\n");
	for (const struct cli_command *k = cli_commands; k->name; k++)
		cli_show_options(c, k, bash_options);
	printf("\tcompletion) words='bash zsh fish' files=no value=yes ;;\n"
	       "\thelp | man) words='");
	put_commands();
	for (const struct cli_topic *t = cli_topics; t->name; t++)
		printf(" %s", t->name);
	printf("' files=no value=yes ;;\n"
	       "\tesac\n"
	       "\tif [ $value = yes ] || [ \"${word#-}\" != \"$word\" ]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	       "\telif [ $files = yes ]; then\n"
	       "\t\tcompopt -o filenames 2>/dev/null\n"
	       "\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n"
	       "\tfi\n"
	       "}\n");
	printf("complete -F %s tpat\n", function);
	if (zsh) /* the file is the function's body: loading it is the first completion */
		printf("if [[ ${funcstack[1]} == _tpat ]]; then _bash_complete -F %s; fi\n", function);
}

/* ---- fish. */

/* Prints a word in single quotes up to a line's end. */
static void fish_quoted(const char *text)
{
	putchar('\'');
	for (const char *c = text; *c && *c != '\n'; c++)
		printf(*c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
	putchar('\'');
}

static void fish_options(struct cli *c, const struct cli_option *option)
{
	for (const struct cli_option *o = option; o->name; o++) {
		if (!o->help)
			continue;
		const char *values = takes_value(o) ? values_of(o) : "";
		printf("complete -c tpat -n '__fish_seen_subcommand_from %s' -l %s", c->command->name, o->name);
		if (o->letter)
			printf(" -s %c", o->letter);
		if (takes_value(o))
			printf(values ? " -x" : " -r -F");
		if (values && *values) {
			printf(" -a ");
			fish_quoted(values);
		}
		printf(" -d ");
		fish_quoted(o->help);
		putchar('\n');
	}
}

static void fish(struct cli *c)
{
	const char *seen = "complete -c tpat -n '__fish_seen_subcommand_from";
	printf("# Completion of tpat for fish: tpat completion fish | source\n");
	for (const struct cli_command *k = cli_commands; k->name; k++) {
		printf("complete -c tpat -n __fish_use_subcommand -f -a %s -d ", k->name);
		fish_quoted(k->help);
		putchar('\n');
		cli_show_options(c, k, fish_options);
		printf("%s help man' -f -a %s\n", seen, k->name);
	}
	for (const struct cli_topic *t = cli_topics; t->name; t++)
		printf("%s help man' -f -a %s\n", seen, t->name);
	printf("%s completion' -f -a 'bash zsh fish'\n", seen);
}

int cli_completion(struct cli *c, int argc, char **argv)
{
	const struct cli_option option[] = { { .name = NULL } };
	const char *shell = NULL;
	int status = cli_parse(c, option, argc, argv, &shell, 0, 1);
	if (status >= 0)
		return status;
	if (!shell)
		return cli_usage(
		        "Write tpat completion bash, zsh or fish. In bash, . <(tpat completion bash) turns it on.",
		        "tpat completion needs the name of a shell.");
	if (strcmp(shell, "fish") == 0)
		fish(c);
	else if (strcmp(shell, "bash") == 0 || strcmp(shell, "zsh") == 0)
		bash(c, *shell == 'z');
	else
		return cli_usage("Take bash, zsh or fish.", "There is no completion for the shell \"%s\".", shell);
	return 0;
}
