/* tpat db: lists, exports, imports, merges and prunes the tuning database. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"

enum { MAX_FILES = 1000 };

static const struct action {
	const char *name;
	enum tpat_db_action action;
	int least; /* of files */
} actions[] = {
	{ "list", TPAT_DB_LIST, 0 },     { "stats", TPAT_DB_STATS, 0 }, { "export", TPAT_DB_EXPORT, 0 },
	{ "import", TPAT_DB_IMPORT, 1 }, { "merge", TPAT_DB_MERGE, 1 }, { "prune", TPAT_DB_PRUNE, 0 },
};

static const char *many(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* ---- Human-readable output. */

static void print_row(const struct tpat_db_row *r)
{
	printf("    %s%s%s %s: ", r->shape, *r->shape ? " on " : "", r->arch, r->device);
	if (!r->decisions) {
		printf("none of %d trial%s can be used\n", r->trials, many(r->trials));
		return;
	}
	printf("%.2f us", r->ns / 1e3);
	if (r->floor_ns > 0)
		printf(", %.2f x floor", r->ns / r->floor_ns);
	printf(", best of %d trial%s: %s\n", r->trials, many(r->trials), r->decisions);
}

static void print_list(const struct tpat_db_report *r)
{
	printf("%s: %lld program%s, %lld device%s, %lld trial%s\n", r->path, (long long)r->programs, many(r->programs),
	       (long long)r->devices, many(r->devices), (long long)r->trials, many(r->trials));
	for (int i = 0; i < r->rows; i++) {
		if (i == 0 || strcmp(r->row[i].program, r->row[i - 1].program) != 0)
			printf("  %.8s %s\n", r->row[i].program, r->row[i].name);
		print_row(&r->row[i]);
	}
}

static void print_stats(const struct tpat_db_report *r)
{
	const struct {
		const char *what;
		int64_t n;
	} line[] = {
		{ "programs", r->programs }, { "devices", r->devices },   { "trials", r->trials },
		{ "  ok", r->ok },           { "  wrong", r->wrong },     { "  crashed", r->crashed },
		{ "  timeout", r->timeout }, { "  refused", r->refused }, { "stale", r->stale },
		{ "foreign", r->foreign },
	};
	printf("%s: %lld bytes\n", r->path, (long long)r->bytes);
	for (size_t i = 0; i < sizeof line / sizeof *line; i++)
		printf("  %-10s %lld\n", line[i].what, (long long)line[i].n);
	if (r->stale + r->foreign)
		printf("tpat ignores stale rows, whose rules have changed, and foreign rows, which it did not write.\n"
		       "tpat db prune removes both.\n");
}

static void print_pruned(const struct tpat_db_report *r)
{
	printf("%s: removed %lld stale, %lld foreign and %lld slow row%s; %lld left\n", r->path, (long long)r->stale,
	       (long long)r->foreign, (long long)r->slow, many(r->slow), (long long)r->left);
}

static void print_added(const struct tpat_db_report *r)
{
	printf("%s: read %lld trial%s, %lld new", r->path, (long long)r->read, many(r->read), (long long)r->added);
	if (r->foreign)
		printf("; skipped %lld foreign row%s", (long long)r->foreign, many(r->foreign));
	printf("\n");
}

/* ---- JSON output. */

static json_t *rows(const struct tpat_db_report *r)
{
	json_t *list = json_array();
	for (int i = 0; i < r->rows; i++) {
		const struct tpat_db_row *x = &r->row[i];
		json_array_append_new(list,
		                      cli_json("{s:s, s:s, s:s, s:s, s:s, s:i, s:s?, s:f, s:f, s:f}", "program",
		                               x->program, "name", x->name, "shape", x->shape, "arch", x->arch,
		                               "device", x->device, "trials", x->trials, "decisions", x->decisions,
		                               "ns", x->ns, "spread", x->spread, "floor_ns", x->floor_ns));
	}
	return list;
}

static json_t *number(int64_t n)
{
	return json_integer((json_int_t)n);
}

static void print_json(const struct tpat_db_report *r, enum tpat_db_action action)
{
	json_t *x = cli_json("{s:s}", "db", r->path);
	switch (action) {
	case TPAT_DB_LIST:
	case TPAT_DB_STATS:
		json_object_set_new(x, "programs", number(r->programs));
		json_object_set_new(x, "devices", number(r->devices));
		json_object_set_new(x, "trials", number(r->trials));
		if (action == TPAT_DB_LIST) {
			json_object_set_new(x, "tuned", rows(r));
			break;
		}
		json_object_set_new(x, "bytes", number(r->bytes));
		json_object_set_new(x, "ok", number(r->ok));
		json_object_set_new(x, "wrong", number(r->wrong));
		json_object_set_new(x, "crashed", number(r->crashed));
		json_object_set_new(x, "timeout", number(r->timeout));
		json_object_set_new(x, "refused", number(r->refused));
		json_object_set_new(x, "stale", number(r->stale));
		break;
	case TPAT_DB_PRUNE:
		json_object_set_new(x, "stale", number(r->stale));
		json_object_set_new(x, "slow", number(r->slow));
		json_object_set_new(x, "left", number(r->left));
		break;
	default:
		json_object_set_new(x, "read", number(r->read));
		json_object_set_new(x, "added", number(r->added));
		break;
	}
	json_object_set_new(x, "foreign", number(r->foreign));
	cli_print_json(x);
}

/* ---- The command. */

static const struct action *find(const char *name)
{
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	return NULL;
}

static int write_text(const struct tpat_db_report *r, const char *path)
{
	struct err e = { 0 };
	if (!path || strcmp(path, "-") == 0) {
		fwrite(r->text, 1, r->text_bytes, stdout); /* main() checks for failures */
		return 0;
	}
	return file_send(path, r->text, r->text_bytes, &e) < 0 ? cli_usage(e.advice, "%s", e.text) : 0;
}

static void print(const struct tpat_db_report *r, enum tpat_db_action action)
{
	switch (action) {
	case TPAT_DB_LIST: print_list(r); break;
	case TPAT_DB_STATS: print_stats(r); break;
	case TPAT_DB_PRUNE: print_pruned(r); break;
	default: print_added(r); break;
	}
}

int cli_db(struct cli *c, int argc, char **argv)
{
	struct tpat_db_options o = TPAT_DB_OPTIONS;
	const char **argument = NEWN(c->arena, const char *, MAX_FILES + 1), *output = NULL, *watch = NULL;
	const struct tpat_db_report *r;
	bool json = false;
	const struct cli_option option[] = {
		{ "db", 0, CLI_TEXT, &o.db, "FILE",
		  "the database (default $TPAT_DB, else tpat/tpat.db in\n$XDG_CACHE_HOME or ~/.cache)" },
		{ "output", 'o', CLI_TEXT, &output, "FILE", "export: output file (default: standard output)" },
		{ "arch", 0, CLI_TEXT, &o.arch, "ARCH", "list, stats, export: only this architecture (sm_90)" },
		{ "device", 'd', CLI_TEXT, &o.device, "NAME", "list, stats, export: only this GPU, by its full name" },
		{ "keep", 0, CLI_NUMBER, &(struct cli_number){ &o.keep, 0, 1000000000 }, "N",
		  "prune: keep only the N fastest trials per program, shape and\ndevice (default: all)" },
		{ "watch", 0, CLI_TEXT, &watch, "DIR",
		  "stats: follow all databases in a folder, such as those of a\n"
		  "tuning's parts (tpat tune --shard), until Ctrl-C" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		{ .name = NULL },
	};
	int status = cli_parse(c, option, argc, argv, argument, 0, MAX_FILES);
	if (status >= 0)
		return status;
	const struct action *a = argument[0] ? find(argument[0]) : NULL;
	if (!a)
		return cli_usage("The actions are list, stats, export, import FILE ..., merge FILE ... and prune.",
		                 argument[0] ? "tpat db has no action \"%s\"." : "tpat db needs an action.",
		                 argument[0]);
	while (argument[1 + o.file.n])
		o.file.n++;
	o.file.at = argument + 1;
	if (o.file.n < a->least || (o.file.n && !a->least))
		return cli_usage(NULL, a->least ? "tpat db %s needs a file." : "tpat db %s takes no file.", a->name);
	if (watch && (a->action != TPAT_DB_STATS || json || o.db))
		return cli_usage(NULL, a->action == TPAT_DB_STATS ? "--watch excludes --db and --json."
		                                                  : "Only tpat db stats can --watch a folder.");
	if (watch)
		return cli_db_watch(c, watch);
	o.action = a->action;
	int rc = tpat_db(c->tpat, &r, &o);
	if (rc < 0)
		return cli_fail(c, rc);
	if (o.action == TPAT_DB_EXPORT)
		return write_text(r, output);
	if (json)
		print_json(r, o.action);
	else
		print(r, o.action);
	return 0;
}
