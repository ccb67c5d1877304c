/* tpat run: a whole model with tpat's own kernels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"

enum { MOST_RUNS = 1000000, ROWS = 40 };

/* ---- The profile: a table of pieces, and one of their launches, the slowest first. */

static int slower(const void *x, const void *y)
{
	const struct tpat_ran_launch *a = x, *b = y;
	return a->ns < b->ns ? 1 : a->ns > b->ns ? -1 : strcmp(a->kernel, b->kernel);
}

static void print_row(const struct tpat_ran_launch *x, double all, const char *what)
{
	printf("%10.2f us %5.1f%% ", x->ns / 1e3, all > 0 ? 100 * x->ns / all : 0);
	if (x->ns > 0)
		printf("%12.0f %8.1f  %s\n", x->bytes, x->bytes / x->ns, what);
	else
		printf("%12.0f %8s  %s\n", x->bytes, "-", what);
}

static void print_rows(struct tpat_ran_launch *row, int n, double all, bool pieces)
{
	qsort(row, (size_t)n, sizeof *row, slower);
	printf("%13s %6s %12s %8s  %s\n", "time", "share", "bytes", "GB/s", pieces ? "piece" : "kernel, node");
	for (int i = 0; i < n && i < ROWS; i++) {
		char text[512];
		snprintf(text, sizeof text, "%s%s%s", pieces ? row[i].piece : row[i].kernel,
		         !pieces && *row[i].node ? ", " : "", pieces ? "" : row[i].node);
		print_row(&row[i], all, text);
	}
	if (n > ROWS)
		printf("... and %d faster ones\n", n - ROWS);
}

static void print_profile(const struct cli *c, const struct tpat_ran *r)
{
	struct tpat_ran_launch *piece = NEWN(c->arena, struct tpat_ran_launch, r->launches + 1);
	struct tpat_ran_launch *each = NEWN(c->arena, struct tpat_ran_launch, r->launches + 1);
	int pieces = 0;
	double all = 0;
	for (int i = 0; i < r->launches; i++) {
		const struct tpat_ran_launch *x = &r->launch[i];
		if (!i || x->piece != r->launch[i - 1].piece)
			piece[pieces++] = (struct tpat_ran_launch){ .piece = x->piece, .kernel = x->piece };
		piece[pieces - 1].ns += x->ns;
		piece[pieces - 1].bytes += x->bytes;
		each[i] = *x;
		all += x->ns;
	}
	print_rows(piece, pieces, all, true);
	printf("\n");
	print_rows(each, r->launches, all, false);
}

/* ---- The command. */

static void print_compared(const struct tpat_ran *r)
{
	printf("%s: ", r->differs ? "FAILED" : "ok");
	if (r->differs && !r->wrong) /* nothing is known about their elements */
		printf("an output has another type or shape than expected\n");
	else
		printf("%lld of %lld elements of %d output%s differ, max absolute error %.3g, relative %.3g\n",
		       (long long)r->wrong, (long long)r->elements, r->compared, r->compared == 1 ? "" : "s",
		       r->max_absolute, r->max_relative);
}

static void print_ran(const struct cli *c, const struct tpat_run_options *o, const struct tpat_ran *r)
{
	printf("%s on %s: %d node%s in %d piece%s, %d launch%s\n", o->model, r->device, r->nodes,
	       r->nodes == 1 ? "" : "s", r->pieces, r->pieces == 1 ? "" : "s", r->kernels, r->kernels == 1 ? "" : "es");
	for (int i = 0; i < r->outputs.n; i++)
		printf("  %s\n", r->outputs.at[i]);
	if (r->phases > 1)
		printf("%d phases: integers that decide extents were computed first%s\n", r->phases,
		       o->time || o->profile ? ", and are constants below" : "");
	if (o->time || o->profile)
		printf("memory: %.3f MB, of these %.3f MB for constants\n", (double)r->held / 1e6,
		       (double)r->weights / 1e6);
	if (o->time)
		printf("time: %.3f us (median of %d runs, spread %.1f%%)\n", r->ns / 1e3, o->time, 100 * r->spread);
	if (r->graph_ns > 0)
		printf("      %.3f us as one CUDA graph\n", r->graph_ns / 1e3);
	else if (o->time && o->cuda_graph)
		printf("      this device records no graph\n");
	if (o->profile)
		print_profile(c, r);
	if (r->compared)
		print_compared(r);
}

/* Null: not measured. */
static void print_json(const struct tpat_run_options *o, const struct tpat_ran *r)
{
	json_t *launches = json_array();
	for (int i = 0; o->profile && i < r->launches; i++) {
		const struct tpat_ran_launch *x = &r->launch[i];
		json_array_append_new(launches, cli_json("{s:s, s:s, s:s, s:f, s:f}", "piece", x->piece, "node",
		                                         x->node, "kernel", x->kernel, "ns", x->ns, "bytes", x->bytes));
	}
	cli_print_json(cli_json(
	        "{s:s, s:s, s:i, s:i, s:i, s:i, s:o, s:I, s:I, s:f, s:f, s:f, s:o, s:i, s:I, s:I, s:f, s:f, s:s?}",
	        "model", o->model, "device", r->device, "nodes", r->nodes, "pieces", r->pieces, "launches", r->kernels,
	        "phases", r->phases, "outputs", cli_json_list(&r->outputs), "memory", (json_int_t)r->held, "constants",
	        (json_int_t)r->weights, "ns", o->time ? r->ns : NAN, "spread", o->time ? r->spread : NAN, "graph_ns",
	        r->graph_ns > 0 ? r->graph_ns : NAN, "profile", launches, "compared", r->compared, "elements",
	        (json_int_t)r->elements, "differing", (json_int_t)r->wrong, "max_absolute", r->max_absolute,
	        "max_relative", r->max_relative, "differs", r->differs));
}

static int read_tolerance(double *out, const char *text)
{
	char *end;
	if (!text)
		return -1;
	*out = number_read(text, &end);
	if (end == text || *end || !(*out > 0 && *out < 1e300))
		return cli_usage(NULL, "--tolerance needs a number above zero, like 0.001, not \"%s\".", text);
	return -1;
}

int cli_run(struct cli *c, int argc, char **argv)
{
	struct tpat_run_options o = TPAT_RUN_OPTIONS;
	const char *tolerance = NULL;
	bool json = false;
	const struct cli_option option[] = {
		{ "device", 'd', CLI_TEXT, &o.device, "DEVICE|cuda cpu emulator interpreter",
		  "cuda, cuda:1, cpu, emulator, interpreter (default: cpu)" },
		{ "input", 'i', CLI_LIST, &o.input, "TENSOR=FILE",
		  "read an input from a .npy, .npz or .pb file; without TENSOR= all\n"
		  "inputs from a .npz file, or from a folder with input_0.pb,\n"
		  "input_1.pb ..." },
		{ "shape", 's', CLI_LIST, &o.shape, "TENSOR:4x3x64",
		  "shape of an input with random values; of several: x:1x3,y:1x8" },
		{ "value", 0, CLI_LIST, &o.value, "TENSOR=16000", "value of an input: a number or a list (1,2,3)" },
		{ "seed", 0, CLI_SEED, &o.seed, "N", "seed of the random values (default 1)" },
		{ "output", 'o', CLI_TEXT, &o.output, "FILE", "write the outputs to this .npz file" },
		{ "expect", 'e', CLI_TEXT, &o.expect, "FILE",
		  "compare the outputs with this .npz, .npy or .pb file, or with a folder\n"
		  "of output_0.pb, output_1.pb ...; exit with status 1 if they differ" },
		{ "tolerance", 0, CLI_TEXT, &tolerance, "0.001",
		  "allowed difference: this times the element, plus a tenth of this times\n"
		  "the tensor's largest element (default: f64 1e-9, f32 0.001, f16 0.02,\n"
		  "bf16 0.05, f8 0.13, by the coarsest type that the output or what it is\n"
		  "computed from is rounded to; integers 0)" },
		{ "time", 0, CLI_NUMBER, &(struct cli_number){ &o.time, 1, MOST_RUNS }, "N",
		  "print the median time of N further runs" },
		{ "cuda-graph", 0, CLI_FLAG, &o.cuda_graph, NULL,
		  "with --time: also time the launches as one CUDA graph" },
		{ "profile", 0, CLI_FLAG, &o.profile, NULL,
		  "print the time of each part of the model and of each kernel" },
		{ "profile-out", 0, CLI_TEXT, &o.profile_out, "FILE",
		  "write these times as trace events, for Perfetto (trace.json)" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		{ .name = NULL },
	};
	const struct tpat_ran *r;
	int status = cli_parse(c, option, argc, argv, &o.model, 1, 1);
	if (status < 0)
		status = read_tolerance(&o.tolerance, tolerance);
	if (status >= 0)
		return status;
	int rc = tpat_run(c->tpat, &r, &o);
	if (r && json)
		print_json(&o, r);
	else if (r)
		print_ran(c, &o, r);
	return rc < 0 ? cli_fail(c, rc) : 0;
}
