/* tpat db stats --watch DIR: the progress of all databases in a folder, into which the parts of a tuning write. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"

enum { TERMINAL_SECONDS = 2, OTHER_SECONDS = 10 };

struct seen {
	const char *name, *error;
	struct tpat_db_report r;
};

static bool is_database(const char *name)
{
	size_t n = strlen(name);
	return n > 3 && strcmp(name + n - 3, ".db") == 0;
}

static void look(struct cli *c, struct seen *s, const char *folder, const char *name, struct arena *a)
{
	struct tpat_db_options o = TPAT_DB_OPTIONS;
	const struct tpat_db_report *r;
	o.action = TPAT_DB_STATS;
	o.db = path_join(a, folder, name);
	*s = (struct seen){ .name = name };
	if (tpat_db(c->tpat, &r, &o) < 0)
		s->error = arena_strdup(a, tpat_error(c->tpat));
	else
		s->r = *r;
}

static void print_row(int width, const char *name, const struct tpat_db_report *r, time_t now)
{
	printf("%-*s %8lld %8lld %8lld %8lld", cli_field(width, name), name, (long long)r->programs,
	       (long long)r->trials, (long long)r->ok, (long long)(r->trials - r->ok));
	if (r->newest)
		printf(" %9lld s ago", (long long)(now > r->newest ? now - r->newest : 0));
	printf("\n");
}

/* Returns the number of lines. `before`: trials at the first look, *seconds* ago; -1: this is the first. */
static int print(const struct seen *s, int n, int64_t before, double seconds)
{
	struct tpat_db_report all = { 0 };
	time_t now = time(NULL);
	int width = 8, lines = n + 2;
	for (int i = 0; i < n; i++)
		width = cli_wider(width, s[i].name);
	printf("%-*s %8s %8s %8s %8s %15s\n", width, "database", "programs", "trials", "ok", "failed", "last trial");
	for (int i = 0; i < n; i++) {
		if (s[i].error) {
			printf("%-*s %s\n", cli_field(width, s[i].name), s[i].name, s[i].error);
			continue;
		}
		print_row(width, s[i].name, &s[i].r, now);
		all.programs = s[i].r.programs > all.programs ? s[i].r.programs : all.programs;
		all.trials += s[i].r.trials;
		all.ok += s[i].r.ok;
		all.newest = s[i].r.newest > all.newest ? s[i].r.newest : all.newest;
	}
	printf("%-*s %8s %8lld %8lld %8lld", width, "all", "", (long long)all.trials, (long long)all.ok,
	       (long long)(all.trials - all.ok));
	if (before >= 0 && seconds > 0)
		printf(" %8.1f trials/min", (double)(all.trials - before) * 60 / seconds);
	printf("\n");
	fflush(stdout);
	return lines;
}

static int64_t trials_of(const struct seen *s, int n)
{
	int64_t all = 0;
	for (int i = 0; i < n; i++)
		all += s[i].r.trials;
	return all;
}

/* Or until an interrupt. */
static void pause_for(int seconds)
{
	double until = clock_seconds() + seconds;
	while (!cli_interrupted() && clock_seconds() < until)
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
}

int cli_db_watch(struct cli *c, const char *folder)
{
	bool terminal = cli_is_terminal(stdout);
	double began = clock_seconds();
	int64_t before = -1, last = -1;
	int lines = 0;
	if (!file_is_folder(folder))
		return cli_usage(NULL, "There is no folder %s.", folder);
	while (!cli_interrupted()) {
		struct arena *a = arena_new();
		int all, n = 0;
		const char **name = file_list(&all, folder, a);
		struct seen *s = NEWN(a, struct seen, all + 1);
		for (int i = 0; i < all; i++)
			if (is_database(name[i]))
				look(c, &s[n++], folder, name[i], a);
		if (terminal && lines)
			printf("\033[%dA\033[J", lines);
		if (terminal || trials_of(s, n) != last) /* a log gets what is new */
			lines = print(s, n, before, clock_seconds() - began);
		last = trials_of(s, n);
		before = before < 0 ? last : before;
		arena_free(a);
		pause_for(terminal ? TERMINAL_SECONDS : OTHER_SECONDS);
	}
	return 0;
}
