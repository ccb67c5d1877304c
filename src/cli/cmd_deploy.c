/* tpat deploy: the files that run a rewritten model in an engine. */
#include <stdio.h>

#include "cli/cli.h"

static void print_json(const struct tpat_deployed *r)
{
	json_t *files = json_array();
	for (int i = 0; i < r->files; i++)
		json_array_append_new(files, cli_json("{s:s, s:s, s:s?}", "name", r->file[i].name, "text",
		                                      r->file[i].text, "path", r->file[i].path));
	cli_print_json(cli_json("{s:o, s:b}", "files", files, "guessed", r->guessed));
}

/* One file as it is; several with their names. */
static void print(const struct tpat_deployed *r)
{
	for (int i = 0; i < r->files; i++) {
		if (r->file[i].path) {
			printf("wrote %s\n", r->file[i].path);
			continue;
		}
		if (r->files > 1)
			printf("%s# ---- %s\n", i ? "\n" : "", r->file[i].name);
		printf("%s", r->file[i].text);
	}
}

int cli_deploy(struct cli *c, int argc, char **argv)
{
	struct tpat_deploy_options o = TPAT_DEPLOY_OPTIONS;
	bool json = false;
	const struct cli_option option[] = {
		{ "engine", 'e', CLI_TEXT, &o.engine,
		  "NAME|trtexec python cpp triton deepstream ort torch-tensorrt polygraphy",
		  "trtexec (default), python, cpp, triton, deepstream, ort,\n"
		  "torch-tensorrt or polygraphy" },
		{ "tensorrt", 0, CLI_TEXT, &o.tensorrt, CLI_VERSION,
		  "the version of TensorRT that will run it: 8.6, 10.3 (default 11)" },
		{ "output", 'o', CLI_TEXT, &o.output, "FOLDER", "write the files there (default: print them)" },
		{ "force", 'f', CLI_FLAG, &o.force, NULL, "overwrite files there that differ" },
		{ "library", 'l', CLI_LIST, &o.library, "FILE",
		  "the plugin library (default: the one next to the model); may be repeated" },
		{ "profile", 0, CLI_LIST, &o.profile, "IN:MIN,OPT,MAX",
		  "minimum, optimum and maximum shape of an input: x:1x4,8x4,32x4" },
		{ "shape", 's', CLI_LIST, &o.shape, "IN:1x3xHxW", CLI_SHAPE },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		{ .name = NULL },
	};
	const struct tpat_deployed *r;
	int status = cli_parse(c, option, argc, argv, &o.model, 1, 1);
	if (status >= 0)
		return status;
	int rc = tpat_deploy(c->tpat, &r, &o);
	if (rc < 0)
		return cli_fail(c, rc);
	if (json)
		print_json(r);
	else
		print(r);
	if (r->guessed)
		cli_tell(CLI_WARNING, "Some extents are examples: give those of your inputs with --profile.");
	return 0;
}
