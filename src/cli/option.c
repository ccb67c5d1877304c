/* The command line: parses options by their table, and prints help from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/number.h"
#include "base/str.h"
#include "cli/cli.h"

enum { MAX_OPTIONS = 48 };

int cli_placeholder(const struct cli_option *o)
{
	return o->value ? (int)strcspn(o->value, "|") : 0;
}

const char *cli_words(const struct cli_option *o)
{
	const char *words = o->value ? strchr(o->value, '|') : NULL;
	return words ? words + 1 : NULL;
}

/* A row of the help. Terminals that are too narrow for the text's own lines get others. */
static void print_option(const char *names, const char *help)
{
	enum { AT = 33, WIDEST = 107, LEAST = 40, NARROW = 8 };
	int columns = cli_columns(stdout);
	if (columns < AT + LEAST) { /* the text goes below the names */
		printf("  %s\n%*s", names, NARROW, "");
		cli_wrap(stdout, help, strlen(help), NARROW, NARROW, columns);
		return;
	}
	printf("  %-30s ", names);
	if (columns < WIDEST) {
		cli_wrap(stdout, help, strlen(help), AT, AT, columns);
		return;
	}
	for (; *help; help++)
		if (*help == '\n')
			printf("\n%*s", AT, "");
		else
			putchar(*help);
	putchar('\n');
}

static void print_help(const struct cli *c, const struct cli_option *option)
{
	int at = printf("tpat %s: ", c->command->name);
	cli_wrap(stdout, c->command->help, strlen(c->command->help), at, at, cli_columns(stdout));
	printf("\n%susage:%s tpat %s %s [OPTION ...]\n\n", cli_style(stdout, CLI_HEADING), cli_style(stdout, CLI_PLAIN),
	       c->command->name, c->command->arguments);
	for (const struct cli_option *o = option; o->name; o++) {
		char names[64], letter[8] = "    ";
		if (!o->help)
			continue;
		if (o->letter)
			snprintf(letter, sizeof letter, "-%c, ", o->letter);
		snprintf(names, sizeof names, "%s--%s%s%.*s", letter, o->name,
		         o->kind == CLI_FLAG || o->kind == CLI_MODE ? "" : " ", cli_placeholder(o),
		         o->kind == CLI_FLAG ? "" : o->value);
		print_option(names, o->help);
	}
	print_option("-h, --help", "print this text");
}

static int unknown(const struct cli *c, const struct cli_option *option, const char *name)
{
	const size_t dashes = strspn(name, "-"), length = strcspn(name, "=");
	const char *word = arena_strndup(c->arena, name + dashes, length - dashes);
	const char *names[MAX_OPTIONS + 1] = { NULL };
	char advice[160];
	int n = 0;
	for (const struct cli_option *o = option; o->name && n < MAX_OPTIONS; o++)
		if (o->help)
			names[n++] = o->name;
	const char *foreign = cli_foreign(option, word);
	const char *closest = length > 2 ? str_closest(word, names) : NULL;
	if (foreign)
		snprintf(advice, sizeof advice, "%s", foreign);
	else if (closest)
		snprintf(advice, sizeof advice, "Did you mean --%s?", closest);
	else
		snprintf(advice, sizeof advice, "tpat %s --help shows the options.", c->command->name);
	return cli_usage(advice, "There is no option %.*s.", (int)length, name);
}

static void add(struct cli *c, struct tpat_strings *list, const char *text, size_t n)
{
	const char **at = NEWN(c->arena, const char *, list->n + 1);
	if (!n)
		return;
	for (int i = 0; i < list->n; i++)
		at[i] = list->at[i];
	at[list->n++] = arena_strndup(c->arena, text, n);
	list->at = at;
}

static void add_split(struct cli *c, struct tpat_strings *list, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, ",");
		add(c, list, text, n);
		text += n + (text[n] == ',');
	}
}

/* These return, like cli_parse, -1 to continue, or the exit status of a mistake. */
int cli_read_number(int *to, const char *option, const char *value, int least, int most)
{
	char *end;
	long long n = strtoll(value, &end, 10);
	if (end == value || *end || n < least || n > most)
		return cli_usage(NULL, "%s needs a number from %d to %d, not \"%s\".", option, least, most, value);
	*to = (int)n;
	return -1;
}

static int read_number(struct cli *c, const struct cli_option *o, const char *value)
{
	const struct cli_number *number = o->target;
	return cli_read_number(number->to, arena_printf(c->arena, "--%s", o->name), value, number->least, number->most);
}

static int read_seed(const struct cli_option *o, const char *value)
{
	char *end;
	*(uint64_t *)o->target = (uint64_t)strtoll(value, &end, 10);
	return end == value || *end ? cli_usage(NULL, "--%s needs a number, not \"%s\".", o->name, value) : -1;
}

static int read_time(const struct cli_option *o, const char *value)
{
	char *end;
	double x = number_read(value, &end);
	double unit = strcmp(end, "h") == 0                              ? 3600
	              : strcmp(end, "m") == 0 || strcmp(end, "min") == 0 ? 60
	              : *end == 0 || strcmp(end, "s") == 0               ? 1
	              : strcmp(end, "ms") == 0                           ? 0.001
	                                                                 : 0;
	if (end == value || !unit || !(x > 0 && x < 1e6))
		return cli_usage(NULL, "--%s needs a time like 90s, 2m or 1h, not \"%s\".", o->name, value);
	*(double *)o->target = x * unit;
	return -1;
}

static bool is_mode(const struct cli_option *o, const char *value)
{
	return strcmp(value, ((const struct cli_mode *)o->target)->value) == 0;
}

static int set_mode(const struct cli_option *o, const char *value)
{
	const struct cli_mode *mode = o->target;
	if (value && !is_mode(o, value))
		return cli_usage(NULL, "--%s takes no value but \"%s\".", o->name, mode->value);
	*mode->on = true;
	*mode->more |= value != NULL;
	return -1;
}

static int store(struct cli *c, const struct cli_option *o, const char *value)
{
	switch (o->kind) {
	case CLI_FLAG: *(bool *)o->target = true; break;
	case CLI_MODE: return set_mode(o, value);
	case CLI_TEXT:
		if (strcmp(o->name, "output") == 0 && strcmp(value, "-") == 0)
			return cli_usage("Write ./- for a file of that name.", "-o needs a name, not \"-\".");
		*(const char **)o->target = value;
		break;
	case CLI_NUMBER: return read_number(c, o, value);
	case CLI_SEED: return read_seed(o, value);
	case CLI_TIME: return read_time(o, value);
	case CLI_LIST: add(c, o->target, value, strlen(value)); break;
	case CLI_SPLIT: add_split(c, o->target, value); break;
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

/* A long option written with one dash: "-arch". Read as a letter with a value it would be -a rch, which no user means.
 */
static const struct cli_option *find_dashed(const struct cli_option *option, const char *text)
{
	size_t n = strcspn(text + 1, "=");
	for (const struct cli_option *o = option; o->name && text[1] != '-' && n > 1; o++)
		if (strlen(o->name) == n && strncmp(o->name, text + 1, n) == 0)
			return o;
	return NULL;
}

/* One option, at argv[*i]: --name=value, -nvalue, --name value or -n value. */
static int take(struct cli *c, const struct cli_option *option, int argc, char **argv, int *i)
{
	const char *text = argv[*i], *equal = text[1] == '-' ? strchr(text, '=') : NULL, *value = NULL;
	if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0) {
		print_help(c, option);
		return 0;
	}
	const struct cli_option *o = find_dashed(option, text) ? NULL : find(option, text);
	if (!o)
		return unknown(c, option, text);
	if (equal)
		value = equal + 1;
	else if (text[1] != '-' && text[2])
		value = text + 2;
	if (o->kind == CLI_FLAG && value)
		return cli_usage(NULL, "--%s takes no value.", o->name);
	if (o->kind != CLI_FLAG && o->kind != CLI_MODE && !value) {
		if (*i + 1 == argc)
			return cli_usage(NULL, "%s needs a value (%.*s).", text, cli_placeholder(o), o->value);
		value = argv[++*i];
	}
	return store(c, o, value);
}

static int too_few(const struct cli *c)
{
	const char *command = c->command->name;
	char advice[160], needed[32]; /* "MODEL [LOG]": "model" */
	size_t length = 0;
	for (const char *word = c->command->arguments; ascii_is_upper(word[length]) && length + 1 < sizeof needed;
	     length++)
		needed[length] = ascii_lower(word[length]);
	needed[length] = 0;
	snprintf(advice, sizeof advice, "usage: tpat %s %s [OPTION ...]; tpat %s --help shows the options.", command,
	         c->command->arguments, command);
	return cli_usage(advice, "tpat %s needs a %s.", command, needed);
}

/* An argument too many. `option`: whose value an argument followed, as in "-n a b"; null: none. `selects`: the command
 * selects nodes, and the argument is no file. */
static int too_many(const struct cli *c, const char *text, const struct cli_option *option, bool selects)
{
	char advice[160] = "";
	if (option && option->kind == CLI_MODE)
		snprintf(advice, sizeof advice, "Did you mean --%s=%s?", option->name, text);
	else if (!option && selects)
		snprintf(advice, sizeof advice, "To select a node, write -n %.80s.", text);
	else if (option && option->kind == CLI_SPLIT)
		snprintf(advice, sizeof advice, "Separate several values by commas: --%s A,B.", option->name);
	else if (option)
		snprintf(advice, sizeof advice, "Give --%s once for each value.", option->name);
	return cli_usage(*advice ? advice : NULL, "Unexpected argument \"%s\": usage is tpat %s %s.", text,
	                 c->command->name, c->command->arguments);
}

int cli_parse(struct cli *c, const struct cli_option *option, int argc, char **argv, const char **argument, int least,
              int most)
{
	const struct cli_option *last = NULL, *followed = NULL;
	int arguments = 0, status;
	bool options = true;
	if (c->show) {
		c->show(c, option);
		return 0;
	}
	for (int i = 1; i < argc; i++) {
		const char *text = argv[i];
		if (options && strcmp(text, "--") == 0) {
			options = false;
		} else if (options && text[0] == '-' && text[1]) {
			last = find(option, text);
			if ((status = take(c, option, argc, argv, &i)) >= 0)
				return status;
		} else {
			if (last && (last->kind == CLI_SPLIT || last->kind == CLI_LIST) && access(text, F_OK) != 0)
				followed = last; /* a value rather than a file */
			if (last && last->kind == CLI_MODE && is_mode(last, text))
				followed = last;
			last = NULL;
			if (arguments == most)
				return too_many(c, text, followed, find(option, "--node") && access(text, F_OK) != 0);
			argument[arguments++] = text;
		}
	}
	return arguments < least ? too_few(c) : -1;
}
