/* tpat check-plugin: checks any TensorRT plugin library against the rules of its interface, without TensorRT. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static json_t *json_times(const struct tpat_plugin_checked *r)
{
	json_t *times = json_array();
	for (int i = 0; i < r->times; i++) {
		const struct tpat_plugin_time *t = &r->time[i];
		json_t *one = cli_json("{s:s, s:s, s:i, s:f, s:b}", "plugin", t->plugin, "inputs", t->inputs, "tactic",
		                       t->tactic, "us", t->us, "captured", t->captured);
		if (t->beside_us > 0)
			json_object_set_new(one, "beside_us", json_real(t->beside_us));
		json_array_append_new(times, one);
	}
	return times;
}

static void print_json(const struct tpat_plugin_checked *r)
{
	json_t *findings = json_array();
	for (int i = 0; i < r->findings; i++) {
		const struct tpat_finding *f = &r->finding[i];
		json_array_append_new(findings,
		                      cli_json("{s:s, s:s, s:s, s:s, s:s, s:s}", "plugin", f->plugin, "call", f->call,
		                               "what", f->what, "method", f->method, "rule", f->rule, "fix", f->fix));
	}
	cli_print_json(cli_json("{s:s, s:o, s:o, s:o, s:o}", "library", r->library, "plugins",
	                        cli_json_list(&r->plugins), "findings", findings, "times", json_times(r), "notes",
	                        cli_json_list(&r->notes)));
}

/* "12.3 us; the other library takes 24.6 us, 2.00 times as long" */
static void print_time(const struct tpat_plugin_time *t)
{
	printf("  time %s, %s", t->plugin, t->inputs);
	if (t->tactic)
		printf(", tactic %d", t->tactic);
	printf(": %.2f us", t->us);
	if (t->beside_us > 0)
		printf("; the other library takes %.2f us, %.2f times as long", t->beside_us, t->beside_us / t->us);
	printf("\n");
}

static void print(const struct tpat_plugin_checked *r)
{
	printf("%s: %d plugin%s checked, %d finding%s\n", r->library, r->plugins.n, r->plugins.n == 1 ? "" : "s",
	       r->findings, r->findings == 1 ? "" : "s");
	for (int i = 0; i < r->findings; i++) {
		const struct tpat_finding *f = &r->finding[i];
		printf("  FAIL %s, %s: %s\n       rule of %s: %s\n       fix: %s\n", f->plugin, f->call, f->what,
		       f->method, f->rule, f->fix);
	}
	for (int i = 0; i < r->times; i++)
		print_time(&r->time[i]);
	for (int i = 0; i < r->notes.n; i++)
		printf("  note %s\n", r->notes.at[i]);
}

int cli_check_plugin(struct cli *c, int argc, char **argv)
{
	struct tpat_check_options o = TPAT_CHECK_OPTIONS;
	bool json = false;
	const struct cli_option option[] = {
		{ "plugin", 'p', CLI_TEXT, &o.plugin, "NAME", "only this plugin (default: all)" },
		{ "input", 'i', CLI_LIST, &o.input, "TYPE[DIMS]",
		  "also take the plugin through an engine's build and runs with inputs\n"
		  "like f32[1,3,224,224]; f32[1:8,3,224,224] is a range of shapes, and\n"
		  "i64[2]=3,4 a shape input; FILE.npy (.npz, .pb) also gives values;\n"
		  "one for each input, in their order" },
		{ "expect", 'e', CLI_LIST, &o.expect, "FILE",
		  "compare the outputs of these inputs with .npy, .npz or .pb files, in\n"
		  "their order" },
		{ "attribute", 'a', CLI_LIST, &o.attribute, "NAME=VALUE",
		  "give the plugin this attribute, as the ONNX parser passes it;\n"
		  "separate several numbers by commas" },
		{ "host-memory", 0, CLI_FLAG, &o.host_memory, NULL,
		  "run it in the processor's memory without CUDA: for plugins whose\n"
		  "enqueue() computes there" },
		{ "time", 't', CLI_FLAG, &o.time, NULL, "also time enqueue() of each tactic with these inputs" },
		{ "beside", 'b', CLI_TEXT, &o.beside, "LIBRARY",
		  "also time, and compare with, this library's plugin at the same\n"
		  "inputs, such as one that tpat built for the same node" },
		{ "tensorrt", 0, CLI_TEXT, &o.tensorrt, CLI_VERSION, "the version to act as: 8.6, 10.3 (default 11)" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		{ .name = NULL },
	};
	const struct tpat_plugin_checked *r;
	int status = cli_parse(c, option, argc, argv, &o.library, 1, 1);
	if (status >= 0)
		return status;
	int rc = tpat_check_plugin(c->tpat, &r, &o);
	if (!r || cli_interrupted())
		return cli_fail(c, rc);
	if (json)
		print_json(r);
	else
		print(r);
	return -rc;
}
