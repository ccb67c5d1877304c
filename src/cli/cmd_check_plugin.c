/* tpat check-plugin: checks any TensorRT plugin library against the rules of its interface, without TensorRT. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void print_json(const struct tpat_plugin_checked *r)
{
	json_t *findings = json_array();
	for (int i = 0; i < r->findings; i++) {
		const struct tpat_finding *f = &r->finding[i];
		json_array_append_new(findings,
		                      cli_json("{s:s, s:s, s:s, s:s, s:s, s:s}", "plugin", f->plugin, "call", f->call,
		                               "what", f->what, "method", f->method, "rule", f->rule, "fix", f->fix));
	}
	cli_print_json(cli_json("{s:s, s:o, s:o, s:o}", "library", r->library, "plugins", cli_json_list(&r->plugins),
	                        "findings", findings, "notes", cli_json_list(&r->notes)));
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
