/* tpat tune: searches for each node's fastest schedule and stores the results in the tuning database. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"

static double gain_of(double first_ns, double best_ns)
{
	return first_ns > 0 && best_ns > 0 ? first_ns / best_ns : 1;
}

static double floors(double ns, double floor_ns)
{
	return floor_ns > 0 ? ns / floor_ns : 0;
}

/* On a terminal a line updated every second; else one line per node, and one every few seconds. */
static bool progress(void *user, const struct tpat_tune_progress *p)
{
	static time_t last;
	time_t now = time(NULL);
	(void)user;
	bool terminal = cli_is_terminal(stderr);
	if (*cli_quiet())
		return cli_interrupted();
	if (!p->over && (terminal ? now != last : cli_log_is_due())) {
		last = now;
		fprintf(stderr, terminal ? "\r\033[K  " : "");
		fprintf(stderr, "[%d/%d] %.40s: %d trials, best %.2f us (%.2f x floor), gain %.2f, %.0f s left%s",
		        p->done + 1, p->all, p->node, p->trials, p->best_ns / 1e3, floors(p->best_ns, p->floor_ns),
		        gain_of(p->first_ns, p->best_ns), p->left, terminal ? "" : "\n");
	} else if (p->over) {
		fprintf(stderr, "%s[%d/%d] %s: %d trials, gain %.2f, %.1f s\n", terminal ? "\r\033[K" : "", p->done,
		        p->all, p->node, p->trials, gain_of(p->first_ns, p->best_ns), p->seconds);
	}
	return cli_interrupted();
}

static void print_tuned(struct cli *c, const struct tpat_tuned_node *t)
{
	const char *node = t->format ? arena_printf(c->arena, "%s in %s", t->node, t->format) : t->node;
	if (t->same_as) {
		printf("  %-24s as %s\n", node, t->same_as);
		return;
	}
	printf("  %-24s", node);
	if (t->error || !t->schedule) {
		printf(" %s\n", t->error ? t->error : "interrupted before a result");
		return;
	}
	printf(" %7d %11.2f us %11.2f us %6.2f %8.2f %5d+%-4d %6.1f s  %s\n", t->kernels, t->before_ns / 1e3,
	       t->ns / 1e3, gain_of(t->before_ns, t->ns), floors(t->ns, t->floor_ns), t->known, t->trials, t->seconds,
	       t->end);
	printf("      %s%s%s%s\n", *t->shape ? "extents " : "", t->shape, *t->shape ? ": " : "", t->schedule);
}

static void print_json(const struct tpat_tuning *r)
{
	json_t *all = json_array();
	for (int i = 0; i < r->n; i++) {
		const struct tpat_tuned_node *t = &r->tuned[i];
		json_array_append_new(
		        all,
		        cli_json("{s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:i, s:f, s:f, s:f, s:f, s:i, s:i, "
		                 "s:i, s:f, s:s?, s:s?, s:s?}",
		                 "node", t->node, "same_as", t->same_as, "inputs", t->inputs, "outputs", t->outputs,
		                 "shape", t->shape, "before", t->before, "schedule", t->schedule, "kernels", t->kernels,
		                 "before_ns", t->before_ns, "ns", t->ns, "bytes", t->bytes, "floor_ns", t->floor_ns,
		                 "known", t->known, "trials", t->trials, "failed", t->failed, "seconds", t->seconds,
		                 "end", t->end, "error", t->error, "format", t->format));
	}
	cli_print_json(cli_json("{s:s, s:s, s:f, s:i, s:i, s:i, s:b, s:o, s:o}", "device", r->device, "db", r->db,
	                        "bytes_per_ns", r->bytes_per_ns, "shard", r->shard, "shards", r->shards, "failed",
	                        r->failed, "interrupted", r->interrupted, "warnings", cli_json_list(&r->warnings),
	                        "tuned", all));
}

int cli_tune_run(struct cli *c, const struct tpat_tuning **r, struct tpat_tune_options *o)
{
	o->progress = progress;
	int rc = tpat_tune(c->tpat, r, o);
	for (int i = 0; *r && i < (*r)->warnings.n; i++)
		cli_tell(CLI_WARNING, "%s", (*r)->warnings.at[i]);
	return rc;
}

int cli_tune(struct cli *c, int argc, char **argv)
{
	struct tpat_tune_options o = TPAT_TUNE_OPTIONS;
	struct tpat_strings devices = { 0 };
	const char *shard = NULL;
	bool json = false;
	const struct cli_option option[] = {
		CLI_CHOICE(o),
		{ "shape", 's', CLI_LIST, &o.shape, "IN:1x3xHxW",
		  "fixed shape of a model input; of several: x:1x3,y:1x8" },
		{ "value", 0, CLI_LIST, &o.value, "IN=16000",
		  "make a model input a constant: a number or a list (1,2,3)" },
		{ "profile", 0, CLI_LIST, &o.profile, "IN:MIN,OPT,MAX",
		  "minimum, optimum and maximum shape of an input, as for tpat\n"
		  "build; each is tuned. Unspecified dimensions default to 64, or to\n"
		  "more where 64 would leave a tensor without elements" },
		{ "keep-types", 0, CLI_FLAG, &o.keep_types, NULL, "as for the tpat build that will use the results" },
		CLI_EDGES(o),
		{ "device", 'd', CLI_TEXT, &o.device, "DEVICE|cuda cpu", "cuda, cuda:1, cpu (default cuda)" },
		{ "devices", 0, CLI_SPLIT, &devices, "0-3,6",
		  "tune on these devices at once, with one process for each, and join\n"
		  "their results in the database" },
		{ "shard", 0, CLI_TEXT, &shard, "I/N",
		  "tune part I of N, counted from 0, into a database of its own,\n"
		  "FILE.I-of-N.db; tpat db merge joins them (default: the part for\n"
		  "which mpirun, srun or a Slurm job array started this process)" },
		{ "budget", 'b', CLI_TIME, &o.seconds, "TIME",
		  "time per distinct program, all its shapes together: 90s, 2m\n(default 60s)" },
		{ "trials", 0, CLI_NUMBER, &(struct cli_number){ &o.trials, 0, CLI_MOST_TRIALS }, "N",
		  "maximum number of candidates per program" },
		{ "deadline", 0, CLI_TIME, &o.deadline, "TIME", "time limit per candidate (default 30s)" },
		{ "db", 0, CLI_TEXT, &o.db, "FILE",
		  "the tuning database (default $TPAT_DB, else tpat/tpat.db in\n"
		  "$XDG_CACHE_HOME or ~/.cache). Candidates in it are not measured\n"
		  "again. Ctrl-C ends the search and keeps the results so far; the\n"
		  "exit status is then 130" },
		{ "jobs", 'j', CLI_NUMBER, &(struct cli_number){ &o.workers, 0, CLI_MOST_JOBS }, "N",
		  "number of compiler processes (default: one per processor)" },
		{ "seed", 0, CLI_SEED, &o.seed, "N", "seed of the inputs and of the search (default 1)" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		CLI_QUIET,
		{ .name = NULL },
	};
	const struct tpat_tuning *r;
	int status = cli_parse(c, option, argc, argv, &o.model, 1, 1);
	if (status < 0)
		status = cli_devices(c, &o, &devices);
	if (status < 0)
		status = cli_shard(&o, shard);
	if (status >= 0)
		return status;
	int rc = cli_tune_run(c, &r, &o);
	if (!r)
		return cli_fail(c, rc);
	if (json) {
		print_json(r);
	} else {
		printf("%s, %.0f GB/s copied at best; database %s\n", r->device, r->bytes_per_ns, r->db);
		printf("  %-24s %7s %14s %14s %6s %8s %10s %8s  end\n", "node", "kernels", "before", "tuned", "gain",
		       "x floor", "trials", "time");
		for (int i = 0; i < r->n; i++)
			print_tuned(c, &r->tuned[i]);
	}
	if (r->interrupted)
		return EXIT_INTERRUPTED;
	return rc ? cli_fail(c, rc) : 0;
}
