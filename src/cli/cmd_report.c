/* tpat report: a build as one HTML page. */
#include <stdio.h>

#include "cli/cli.h"

static const char *text_of(struct cli *c, const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text ? arena_strdup(c->arena, text) : NULL;
}

/* Reads what tpat verify --json printed. Returns the exit status, or -1 to continue. */
static int read_verified(struct cli *c, struct tpat_verified *v, const char *path)
{
	json_error_t e;
	json_t *all = json_load_file(path, 0, &e), *checks = json_object_get(all, "checks");
	size_t n = json_array_size(checks);
	struct tpat_check *check = NEWN(c->arena, struct tpat_check, n + 1);
	bool right = json_is_array(checks);
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(checks, i);
		check[i] = (struct tpat_check){
			.plugin = text_of(c, x, "plugin"),
			.node = text_of(c, x, "node"),
			.tensor = text_of(c, x, "tensor"),
			.inputs = text_of(c, x, "inputs"),
			.outputs = text_of(c, x, "outputs"),
			.passed = json_is_true(json_object_get(x, "passed")),
			.error = text_of(c, x, "error"),
			.output = text_of(c, x, "output"),
			.elements = json_integer_value(json_object_get(x, "elements")),
			.differing = json_integer_value(json_object_get(x, "differing")),
			.max_absolute = json_number_value(json_object_get(x, "max_absolute")),
			.max_relative = json_number_value(json_object_get(x, "max_relative")),
			.worst = text_of(c, x, "worst"),
			.lacks = json_is_true(json_object_get(x, "lacks")),
			.note = text_of(c, x, "note"),
		};
		right &= check[i].node && check[i].tensor && check[i].output && check[i].worst;
		v->failed += !check[i].passed;
		v->lacking += check[i].lacks;
	}
	v->device = text_of(c, all, "device");
	v->plugins = (int)json_integer_value(json_object_get(all, "plugins"));
	v->check = check;
	v->checks = (int)n;
	json_decref(all);
	if (right)
		return -1;
	return cli_usage("Write it with tpat verify MODEL_tpat.onnx --json > FILE.", "--verified %s: %s.", path,
	                 all ? "this is not the output of tpat verify --json" : e.text);
}

int cli_report(struct cli *c, int argc, char **argv)
{
	struct tpat_build_options o = TPAT_BUILD_OPTIONS;
	struct tpat_verified verified = { 0 };
	const char *path = NULL, *verified_path = NULL;
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
		CLI_EDGES(o),
		CLI_TYPES(o),
		CLI_DATABASE(o),
		{ "verified", 0, CLI_TEXT, &verified_path, "FILE",
		  "show each plugin's errors: the output of tpat verify --json" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		CLI_QUIET,
		{ .name = NULL },
	};
	const struct tpat_page *page;
	int status = cli_parse(c, option, argc, argv, &o.model, 1, 1);
	if (status >= 0)
		return status;
	status = verified_path ? read_verified(c, &verified, verified_path) : -1;
	if (status >= 0)
		return status;
	o.verified = verified_path ? &verified : NULL;
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
