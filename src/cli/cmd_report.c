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
		{ "gpu", 0, CLI_TEXT, &o.gpu, "NAME|native",
		  "choose kernels for this GPU: \"A100 40GB\", \"orin nx\"\n(default H100 SXM)" },
		{ "tensorrt", 0, CLI_TEXT, &o.tensorrt, CLI_VERSION,
		  "target version of TensorRT: 8.6, 10.3, 11.1, rtx (default: 10.7 and\nlater)" },
		CLI_READ(o),
		{ "profile", 0, CLI_LIST, &o.profile, "IN:MIN,OPT,MAX",
		  "minimum, optimum and maximum shape of an input: times are\nestimated at the optimum" },
		CLI_TYPES(o),
		CLI_DATABASE(o),
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
	printf("wrote %s: %d node%s, %d region%s, %d plugin%s\n", page->path, page->nodes, page->nodes == 1 ? "" : "s",
	       page->regions, page->regions == 1 ? "" : "s", page->plugins, page->plugins == 1 ? "" : "s");
	if (page->left_out)
		printf("  without the kernels of %d plugin%s, which would make the page too long\n", page->left_out,
		       page->left_out == 1 ? "" : "s");
	return 0;
}
