/* The command line: options by their table, and the help that the table gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

enum { MAX_OPTIONS = 48 };

static void print_help(const struct cli *c, const struct cli_option *option)
{
	printf("tpat %s: %s\n\nusage: tpat %s %s [OPTION ...]\n\n", c->command->name, c->command->help,
	       c->command->name, c->command->arguments);
	for (const struct cli_option *o = option; o->name; o++) {
		char names[64], letter[8] = "    ";
		if (!o->help)
			continue;
		if (o->letter)
			snprintf(letter, sizeof letter, "-%c, ", o->letter);
		snprintf(names, sizeof names, "%s--%s%s%s", letter, o->name, o->kind == CLI_FLAG ? "" : " ",
		         o->kind == CLI_FLAG ? "" : o->value);
		printf("  %-30s ", names);
		for (const char *h = o->help; *h; h++)
			if (*h == '\n') /* further lines begin below the first */
				printf("\n%33s", "");
			else
				putchar(*h);
		putchar('\n');
	}
	printf("  %-30s this text\n", "-h, --help");
}

static int unknown(const struct cli *c, const struct cli_option *option, const char *name)
{
	const char *names[MAX_OPTIONS + 1] = { NULL };
	char advice[160];
	int n = 0;
	for (const struct cli_option *o = option; o->name && n < MAX_OPTIONS; o++)
		if (o->help)
			names[n++] = o->name;
	const char *closest = name[0] == '-' && name[1] == '-' ? str_closest(name + 2, names) : NULL;
	if (closest)
		snprintf(advice, sizeof advice, "Did you mean --%s?", closest);
	else
		snprintf(advice, sizeof advice, "tpat %s --help shows the options.", c->command->name);
	return cli_usage(advice, "There is no option %.*s.", (int)strcspn(name, "="), name);
}

static void add_to_list(struct cli *c, struct cli_list *list, const char *text, bool split)
{
	while (split && strchr(text, ',')) {
		size_t n = strcspn(text, ",");
		if (n)
			vec_push(c->arena, list, arena_strndup(c->arena, text, n));
		text += n + 1;
	}
	if (*text)
		vec_push(c->arena, list, text);
}

/* Stores a value; -1, or the exit status of a mistake. */
static int store(struct cli *c, const struct cli_option *o, const char *value)
{
	char *end;
	switch (o->kind) {
	case CLI_FLAG: *(bool *)o->target = true; break;
	case CLI_TEXT: *(const char **)o->target = value; break;
	case CLI_LIST: add_to_list(c, o->target, value, false); break;
	case CLI_SPLIT: add_to_list(c, o->target, value, true); break;
	case CLI_NUMBER:
		*(long long *)o->target = strtoll(value, &end, 10);
		if (end == value || *end)
			return cli_usage(NULL, "--%s needs a number, not \"%s\".", o->name, value);
		break;
	}
	return -1;
}

static const struct cli_option *find(const struct cli_option *option, const char *text)
{
	bool is_long = text[1] == '-';
	size_t n = is_long ? strcspn(text + 2, "=") : 0;
	for (const struct cli_option *o = option; o->name; o++)
		if (is_long ? strlen(o->name) == n && strncmp(o->name, text + 2, n) == 0
		            : o->letter && o->letter == text[1])
			return o;
	return NULL;
}

int cli_parse(struct cli *c, const struct cli_option *option, int argc, char **argv, const char **argument, int least,
              int most)
{
	int arguments = 0;
	bool options = true;
	for (int i = 1; i < argc; i++) {
		const char *text = argv[i], *value = NULL;
		if (!options || text[0] != '-' || !text[1]) {
			if (arguments == most)
				return cli_usage(NULL, "\"%s\" is one argument too many: tpat %s %s.", text,
				                 c->command->name, c->command->arguments);
			argument[arguments++] = text;
			continue;
		}
		if (strcmp(text, "--") == 0) {
			options = false;
			continue;
		}
		if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
			print_help(c, option);
			return 0;
		}
		const struct cli_option *o = find(option, text);
		if (!o)
			return unknown(c, option, text);
		/* --name=value, -nvalue, --name value, -n value */
		const char *equal = text[1] == '-' ? strchr(text, '=') : NULL;
		if (equal)
			value = equal + 1;
		else if (text[1] != '-' && text[2])
			value = text + 2;
		if (o->kind == CLI_FLAG && value)
			return cli_usage(NULL, "--%s takes no value.", o->name);
		if (o->kind != CLI_FLAG && !value) {
			if (i + 1 == argc)
				return cli_usage(NULL, "%s needs a value (%s).", text, o->value);
			value = argv[++i];
		}
		int status = store(c, o, value);
		if (status >= 0)
			return status;
	}
	if (arguments < least) {
		char advice[160];
		snprintf(advice, sizeof advice, "usage: tpat %s %s [OPTION ...]; tpat %s --help shows the options.",
		         c->command->name, c->command->arguments, c->command->name);
		return cli_usage(advice, "tpat %s needs a %s.", c->command->name,
		                 strcmp(c->command->arguments, "LIBRARY") == 0 ? "library" : "model");
	}
	return -1;
}

struct tpat_strings cli_strings(const struct cli_list *list)
{
	return (struct tpat_strings){ list->at, list->n };
}

json_t *cli_json_list(const struct tpat_strings *list)
{
	json_t *x = json_array();
	for (int i = 0; i < list->n; i++)
		json_array_append_new(x, json_string(list->at[i]));
	return x;
}

void cli_print_json(json_t *x)
{
	json_dumpf(x, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(x);
}
