/* tpat verify: one line per plugin, and a last line like trtexec's. */
#include <stdio.h>

#include "cli/cli.h"

static void print_check(const struct tpat_check *k)
{
	printf("  %s%-4s%s %s  node %s\n", cli_style(stdout, k->passed ? CLI_GOOD : CLI_ERROR),
	       k->passed  ? "ok"
	       : k->lacks ? "could not run"
	                  : "FAIL",
	       cli_style(stdout, CLI_PLAIN), k->plugin, k->node);
	if (k->inputs)
		printf("       %s -> %s%s", k->inputs, k->outputs, k->error ? "\n" : "");
	if (!k->error)
		printf(": max absolute error %.3g, relative %.3g\n", k->max_absolute, k->max_relative);
	if (k->error)
		printf("       %s\n", k->error);
	if (!k->error && !k->passed)
		printf("       %lld of %lld elements differ; the worst is %s%s\n", (long long)k->differing,
		       (long long)k->elements, k->output, k->worst);
	if (k->first)
		printf("       first difference: %s\n", k->first);
	if (k->note)
		printf("       %s\n", k->note);
	if (k->dump)
		printf("       wrote %s: inputs, got_ and want_ of outputs and stages\n", k->dump);
}

static void print_json(const struct tpat_verified *r)
{
	json_t *checks = json_array();
	for (int i = 0; i < r->checks; i++) {
		const struct tpat_check *k = &r->check[i];
		json_array_append_new(checks,
		                      cli_json("{s:s, s:s, s:s, s:s?, s:s?, s:b, s:s?, s:s, s:I, s:I, s:f, s:f, s:s, "
		                               "s:b, s:s?, s:s?, s:s?}",
		                               "plugin", k->plugin, "node", k->node, "tensor", k->tensor, "inputs",
		                               k->inputs, "outputs", k->outputs, "passed", k->passed, "error", k->error,
		                               "output", k->output, "elements", (json_int_t)k->elements, "differing",
		                               (json_int_t)k->differing, "max_absolute", k->max_absolute,
		                               "max_relative", k->max_relative, "worst", k->worst, "lacks", k->lacks,
		                               "first", k->first, "dump", k->dump, "note", k->note));
	}
	cli_print_json(cli_json("{s:s, s:s?, s:i, s:i, s:i, s:o}", "library", r->library, "device", r->device, "failed",
	                        r->failed, "lacking", r->lacking, "plugins", r->plugins, "checks", checks));
}

struct telling {
	const char *model;
	bool json;
};

/* Each plugin as soon as it is done. */
static void checked(void *user, const struct tpat_verified *r)
{
	struct telling *t = user;
	const struct tpat_check *k = &r->check[r->checks - 1];
	if (t->json)
		return;
	cli_progress_end();
	if (r->checks == 1)
		printf("%s with %s%s%s\n", t->model, r->library, r->device ? " on " : "", r->device ? r->device : "");
	if (!k->passed || !*cli_quiet())
		print_check(k);
	fflush(stdout);
}

int cli_verify(struct cli *c, int argc, char **argv)
{
	struct tpat_verify_options o = TPAT_VERIFY_OPTIONS;
	struct telling t = { 0 };
	const struct cli_option option[] = {
		{ "lib", 'l', CLI_TEXT, &o.library, "LIBRARY",
		  "the plugin library (default: the one built with the model)" },
		{ "node", 'n', CLI_SPLIT, &o.node, "NODE,...",
		  "only these plugins: by name, or by one of their nodes as for tpat build" },
		{ "device", 'd', CLI_TEXT, &o.device, "DEVICE|cuda emulator cpu",
		  "cuda, cuda:1, emulator, cpu (default: the first that works here)" },
		CLI_INPUTS(o),
		{ "runs", 0, CLI_NUMBER, &(struct cli_number){ &o.runs, 1, 1000 }, "N",
		  "sets of random shapes and values per plugin (default 3, or 1 if its\n"
		  "shapes are constant and it takes more than 3e7 operations)" },
		{ "tensorrt", 0, CLI_TEXT, &o.tensorrt, CLI_VERSION,
		  "call the library as this version does: 8.6, 10.3 (default: 11)" },
		{ "dump", 0, CLI_TEXT, &o.dump, "FOLDER",
		  "write .npz files of differing results here (default: the current folder)" },
		{ "json", 0, CLI_FLAG, &t.json, NULL, "print machine-readable output" },
		{ "quiet", 'q', CLI_FLAG, cli_quiet(), NULL, "print only plugins that fail, and no progress" },
		{ .name = NULL },
	};
	const struct tpat_verified *r;
	int status = cli_parse(c, option, argc, argv, &o.model, 1, 1);
	if (status >= 0)
		return status;
	t.model = o.model;
	o.progress = cli_progress;
	o.checked = checked;
	o.user = &t;
	int rc = tpat_verify(c->tpat, &r, &o);
	cli_progress_end();
	if (!r) {
		cli_fail(c, rc);
		if (!t.json)
			printf("&&&& FAILED tpat verify %s\n", o.model);
		return cli_interrupted() ? EXIT_INTERRUPTED : -rc;
	}
	if (t.json)
		print_json(r);
	if (r->interrupted) {
		cli_tell(CLI_ERROR, "Interrupted after %d of %d plugins, of which %d agree with the original nodes.",
		         r->checks, r->plugins, r->checks - r->failed);
		return EXIT_INTERRUPTED;
	}
	if (t.json)
		return -rc;
	printf("&&&& %s tpat verify %s: %d of %d plugins agree with the original nodes",
	       r->failed ? "FAILED" : "PASSED", o.model, r->checks - r->failed, r->checks);
	if (r->lacking)
		printf(", %d could not run", r->lacking);
	printf("\n");
	return -rc;
}
