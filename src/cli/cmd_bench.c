/* tpat bench: the time of each node's kernels, compared with the time for its memory traffic. */
#include <stdio.h>

#include "cli/cli.h"

static double floor_ns(const struct tpat_benched *r, const struct tpat_timing *t)
{
	return r->bytes_per_ns > 0 ? t->bytes / r->bytes_per_ns : 0;
}

static void print_timing(const struct tpat_benched *r, const struct tpat_timing *t)
{
	double lowest = floor_ns(r, t);
	printf("  %s  %s -> %s\n", t->node, t->inputs, t->outputs);
	if (t->error) {
		printf("    FAIL %s\n", t->error);
		return;
	}
	printf("    %10.2f us (spread %.1f %%)  %.4g MB  %8.1f GB/s", t->ns / 1e3, t->spread * 100, t->bytes / 1e6,
	       t->ns > 0 ? t->bytes / t->ns : 0);
	if (lowest > 0)
		printf("  %.2f x floor", t->ns / lowest);
	printf("  bound by %s", t->bound);
	if (t->arithmetic_ns > lowest)
		printf(" (%.2f us)", t->arithmetic_ns / 1e3);
	printf("  %d kernel%s: %s", t->kernels, t->kernels == 1 ? "" : "s", t->schedule);
	if (t->tuned_on)
		printf(" (tuned at %s on %s)", *t->tuned_shape ? t->tuned_shape : "these extents", t->tuned_on);
	printf("\n");
	if (t->wrong)
		printf("    FAIL %s\n", t->wrong);
}

static void print_json(const struct tpat_benched *r)
{
	json_t *timings = json_array();
	for (int i = 0; i < r->timings; i++) {
		const struct tpat_timing *t = &r->timing[i];
		json_array_append_new(
		        timings,
		        cli_json("{s:s, s:s, s:s, s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:s?, s:s?, s:s?}",
		                 "node", t->node, "inputs", t->inputs, "outputs", t->outputs, "schedule", t->schedule,
		                 "kernels", t->kernels, "ns", t->ns, "spread", t->spread, "bytes", t->bytes, "floor_ns",
		                 floor_ns(r, t), "operations", t->operations, "arithmetic_ns", t->arithmetic_ns,
		                 "bound", t->bound, "tuned_on", t->tuned_on, "wrong", t->wrong, "error", t->error));
	}
	cli_print_json(cli_json("{s:s, s:f, s:i, s:o}", "device", r->device, "bytes_per_ns", r->bytes_per_ns, "failed",
	                        r->failed, "timings", timings));
}

int cli_bench(struct cli *c, int argc, char **argv)
{
	struct tpat_bench_options o = TPAT_BENCH_OPTIONS;
	bool json = false;
	const struct cli_option option[] = {
		CLI_CHOICE(o),
		{ "shape", 's', CLI_LIST, &o.shape, "IN:1x3xHxW", CLI_SHAPE },
		{ "value", 0, CLI_LIST, &o.value, "IN=16000",
		  "make a model input a constant: a number or a list (1,2,3)" },
		{ "profile", 0, CLI_LIST, &o.profile, "IN:MIN,OPT,MAX",
		  "as for tpat build; times the optimum shapes, with kernels\nfor dynamic shapes" },
		{ "device", 'd', CLI_TEXT, &o.device, "DEVICE|cuda cpu",
		  "cuda, cuda:1, cpu (default: cuda if there is a GPU)" },
		{ "repeats", 0, CLI_NUMBER, &(struct cli_number){ &o.repeats, 1, 10000 }, "N",
		  "number of time samples, whose median counts (default 25)" },
		{ "unchecked", 0, CLI_FLAG, &o.unchecked, NULL, "do not compare results with the interpreter" },
		{ "input", 'i', CLI_LIST, &o.input, "TENSOR=FILE",
		  "read a tensor's values from a .npy, .npz or .pb file" },
		{ "save-outputs", 0, CLI_TEXT, &o.save_outputs, "FOLDER", "write each result to FOLDER/TENSOR.npy" },
		{ "lock", 0, CLI_TEXT, &o.lock, "FILE",
		  "wait for a lock on this file (flock), and hold it while timing" },
		{ "db", 0, CLI_TEXT, &o.db, "FILE", "tuning database to take schedules from, as tpat build does" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		{ .name = NULL },
	};
	const struct tpat_benched *r;
	int status = cli_parse(c, option, argc, argv, &o.model, 1, 1);
	if (status >= 0)
		return status;
	o.progress = cli_progress;
	int rc = tpat_bench(c->tpat, &r, &o);
	cli_progress_end();
	if (!r)
		return cli_fail(c, rc);
	if (json) {
		print_json(r);
		return rc ? 1 : 0;
	}
	printf("%s, %.0f GB/s copied at best\n", r->device, r->bytes_per_ns);
	for (int i = 0; i < r->timings; i++)
		print_timing(r, &r->timing[i]);
	return rc ? cli_fail(c, rc) : 0;
}
