/* tpat kernel: an edited kernel against the nodes that it was generated from. */
#include <stdio.h>

#include "base/str.h"
#include "cli/cli.h"

enum { MOST_TIMES = 100000 };

static void print_times(const struct tpat_kernel_run *r)
{
	const struct tpat_check *k = r->check;
	for (int i = 0; i < k->times; i++) {
		printf("  tactic %d: %.3f us (spread %.1f%%)", i + 1, k->time[i].ns / 1e3, 100 * k->time[i].spread);
		if (r->before)
			printf("; the library as it is: %.3f us (%.2f x)", r->before[i].ns / 1e3,
			       k->time[i].ns > 0 ? r->before[i].ns / k->time[i].ns : 0);
		printf("\n");
	}
}

static void print_near(const char *near)
{
	for (const char *c = near; *c; c++) {
		if (c == near || c[-1] == '\n')
			printf("    ");
		putchar(*c);
	}
}

/* How to build the library with the kernel. */
static void print_next(struct cli *c, const struct tpat_kernel_options *o, const struct tpat_kernel_run *r)
{
	printf("next: tpat rebuild %s", str_shell_path(c->arena, r->folder));
	if (!r->inside)
		printf(" --kernel %s%s%s", o->node ? str_shell(c->arena, o->node) : "", o->node ? "=" : "",
		       str_shell_path(c->arena, r->file));
	printf("\n");
}

static void print_run(struct cli *c, const struct tpat_kernel_options *o, const struct tpat_kernel_run *r)
{
	const struct tpat_check *k = r->check;
	printf("%s as %s on %s\n", r->file, r->plugin, r->device);
	printf("  %s%-4s%s %s -> %s", cli_style(stdout, k->passed ? CLI_GOOD : CLI_ERROR), k->passed ? "ok" : "FAIL",
	       cli_style(stdout, CLI_PLAIN), k->inputs ? k->inputs : "", k->outputs ? k->outputs : "");
	if (k->error)
		printf("\n  %s\n", k->error);
	else
		printf(": max absolute error %.3g, relative %.3g\n", k->max_absolute, k->max_relative);
	if (!k->error && !k->passed)
		printf("  %lld of %lld elements differ; the worst is %s%s\n", (long long)k->differing,
		       (long long)k->elements, k->output, k->worst);
	if (*k->near)
		printf("  around the first that differs:\n");
	print_near(k->near);
	if (k->dump)
		printf("  wrote %s: inputs, got_ and want_ of each output\n", k->dump);
	if (r->unused.n) {
		printf("  not run:");
		for (int i = 0; i < r->unused.n; i++)
			printf("%s %s", i ? "," : "", r->unused.at[i]);
		printf(". The shapes of these runs do not launch %s: set others with -s\n",
		       r->unused.n == 1 ? "it" : "them");
	}
	print_times(r);
	if (k->passed)
		print_next(c, o, r);
}

static json_t *json_times(const struct tpat_time *time, int n)
{
	json_t *list = json_array();
	for (int i = 0; time && i < n; i++)
		json_array_append_new(list, cli_json("{s:f, s:f}", "ns", time[i].ns, "spread", time[i].spread));
	return list;
}

static void print_json(const struct tpat_kernel_run *r)
{
	const struct tpat_check *k = r->check;
	cli_print_json(cli_json(
	        "{s:s, s:s, s:s, s:s?, s:s?, s:s?, s:b, s:s?, s:s, s:I, s:I, s:f, s:f, s:s, s:s, s:s?, s:o, s:o, s:o}",
	        "file", r->file, "folder", r->folder, "plugin", r->plugin, "device", r->device, "inputs", k->inputs,
	        "outputs", k->outputs, "passed", k->passed, "error", k->error, "output", k->output, "elements",
	        (json_int_t)k->elements, "differing", (json_int_t)k->differing, "max_absolute", k->max_absolute,
	        "max_relative", k->max_relative, "worst", k->worst, "near", k->near, "dump", k->dump, "times",
	        json_times(k->time, k->times), "before", json_times(r->before, k->times), "unused",
	        cli_json_list(&r->unused)));
}

int cli_kernel(struct cli *c, int argc, char **argv)
{
	struct tpat_kernel_options o = TPAT_KERNEL_OPTIONS;
	bool json = false;
	const struct cli_option option[] = {
		{ "folder", 'f', CLI_TEXT, &o.folder, "FOLDER",
		  "the build's folder, NAME.tpat (default: the one that the file is in)" },
		{ "node", 'n', CLI_TEXT, &o.node, "NODE",
		  "the plugin whose kernels these are: its name, one of its nodes, or its\n"
		  "index or output in the rewritten model (default: by the file's name)" },
		{ "device", 'd', CLI_TEXT, &o.device, "DEVICE|cuda emulator",
		  "cuda, cuda:1, emulator (default: the first that works here)" },
		CLI_INPUTS(o),
		{ "runs", 0, CLI_NUMBER, &(struct cli_number){ &o.runs, 1, 1000 }, "N",
		  "sets of random shapes and values (default 3)" },
		{ "time", 0, CLI_NUMBER, &(struct cli_number){ &o.times, 1, MOST_TIMES }, "N",
		  "number of time measurements, with the first set (default: 50 on a GPU,\n"
		  "none on the emulator, whose times say nothing about a GPU)" },
		{ "dump", 0, CLI_TEXT, &o.dump, "FOLDER",
		  "write a .npz file of differing results here (default: the current folder)" },
		{ "jobs", 'j', CLI_NUMBER, &(struct cli_number){ &o.workers, 0, CLI_MOST_JOBS }, "N",
		  "number of compiling threads (default: one per processor)" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		CLI_QUIET,
		{ .name = NULL },
	};
	const struct tpat_kernel_run *r;
	int status = cli_parse(c, option, argc, argv, &o.file, 1, 1);
	if (status >= 0)
		return status;
	o.progress = cli_progress;
	int rc = tpat_kernel(c->tpat, &r, &o);
	cli_progress_end();
	if (r && json)
		print_json(r);
	else if (r)
		print_run(c, &o, r);
	fflush(stdout);
	return rc < 0 ? cli_fail(c, rc) : 0;
}
