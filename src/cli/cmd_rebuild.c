/* tpat rebuild: a .tpat folder whose kernels were edited. */
#include <stdio.h>

#include "cli/cli.h"

int cli_rebuild(struct cli *c, int argc, char **argv)
{
	struct tpat_rebuild_options o = TPAT_REBUILD_OPTIONS;
	const struct tpat_rebuilt *r;
	bool json = false;
	const struct cli_option option[] = {
		{ "kernel", 'k', CLI_LIST, &o.kernel, "[NODE=]FILE.cu",
		  "first copy this edited kernel into the folder, over the file of the\n"
		  "same name or over that of the node's plugin; may be repeated" },
		{ "jobs", 'j', CLI_NUMBER, &(struct cli_number){ &o.workers, 0, CLI_MOST_JOBS }, "N",
		  "number of threads (default: one per processor)" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		{ .name = NULL },
	};
	int status = cli_parse(c, option, argc, argv, &o.folder, 1, 1);
	if (status >= 0)
		return status;
	o.progress = cli_progress;
	int rc = tpat_rebuild(c->tpat, &r, &o);
	if (rc < 0)
		return cli_fail(c, rc);
	cli_progress_end();
	if (json) {
		cli_print_json(cli_json("{s:o, s:o}", "libraries", cli_json_list(&r->libraries), "compiled",
		                        cli_json_list(&r->compiled)));
		return 0;
	}
	for (int i = 0; i < r->compiled.n; i++)
		printf("compiled %s\n", r->compiled.at[i]);
	for (int i = 0; i < r->libraries.n; i++)
		printf("wrote    %s\n", r->libraries.at[i]);
	return 0;
}
