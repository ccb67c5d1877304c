/* tpat report: a build as one HTML page. */
#include <stdio.h>

#include "cli/cli.h"

int cli_report(struct cli *c, int argc, char **argv)
{
	struct tpat_build_options o = TPAT_BUILD_OPTIONS;
	const char *path = NULL;
	bool json = false;
	const struct cli_option option[] = {
		{ "output", 'o', CLI_TEXT, &path, "FILE", "the page (default MODEL.html)" },
		CLI_CHOICE(o),
		{ "gpu", 0, CLI_TEXT, &o.gpu, "NAME",
		  "choose kernels for this GPU: \"A100 40GB\", \"orin nx\"\n(default H100 SXM)" },
		{ "tensorrt", 0, CLI_TEXT, &o.tensorrt, "VERSION",
		  "target version of TensorRT: 8.6, 10.3, 11.1, rtx (default: 10.7 and\nlater)" },
		{ "engine-report", 0, CLI_TEXT, &o.engine_report, "LOG",
		  "a log of trtexec, of the ONNX parser, or of polygraphy inspect\n"
		  "capability: nodes that TensorRT refuses there are\n"
		  "selected by --auto, too" },
		{ "shape", 's', CLI_LIST, &o.shape, "IN:1x3xHxW", "shape of a model input" },
		{ "value", 0, CLI_LIST, &o.value, "IN=16000",
		  "make a model input a constant: a number or a list (1,2,3)" },
		{ "profile", 0, CLI_LIST, &o.profile, "IN:MIN,OPT,MAX",
		  "minimum, optimum and maximum shape of an input: times are\nestimated at the optimum" },
		{ "keep-types", 0, CLI_FLAG, &o.keep_types, NULL,
		  "keep BOOL and UINT8 inputs and outputs of plugins (default:\nconvert them to INT32)" },
		{ "any-types", 0, CLI_FLAG, &o.any_types, NULL,
		  "let plugins have inputs and outputs of types that TensorRT lacks" },
		{ "db", 0, CLI_TEXT, &o.db, "FILE",
		  "tuning database to take schedules from (default $TPAT_DB, else\n"
		  "tpat/tpat.db in $XDG_CACHE_HOME or ~/.cache)" },
		{ "no-db", 0, CLI_FLAG, &o.no_db, NULL, "use the cost model only" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		CLI_QUIET,
		{ .name = NULL },
	};
	const struct tpat_page *page;
	int status = cli_parse(c, option, argc, argv, &o.model, 1, 1);
	if (status >= 0)
		return status;
	o.progress = cli_progress;
	int rc = tpat_report(c->tpat, &page, path, &o);
	if (rc < 0)
		return cli_fail(c, rc);
	cli_progress_end();
	if (json) {
		cli_print_json(cli_json("{s:s, s:I, s:i, s:i, s:i, s:i}", "page", page->path, "bytes",
		                        (json_int_t)page->bytes, "nodes", page->nodes, "regions", page->regions,
		                        "plugins", page->plugins, "left_out", page->left_out));
		return 0;
	}
	printf("wrote %s: %d nodes, %d regions, %d plugins\n", page->path, page->nodes, page->regions, page->plugins);
	if (page->left_out)
		printf("  without the kernels of %d plugins, which would make the page too long\n", page->left_out);
	return 0;
}
