/* tpat doctor: recovers interrupted builds, and checks that models, libraries and folders match. */
#include <stdio.h>

#include "cli/cli.h"

static void print_left(const char *done, const char *would, bool look, int n)
{
	if (n)
		printf("%d interrupted build%s %s\n", n, n == 1 ? "" : "s", look ? would : done);
}

static void print_text(const struct tpat_diagnosis *r, bool look)
{
	print_left("finished", "can be finished", look, r->finished);
	print_left("undone", "can be undone", look, r->undone);
	print_left("removed: nothing had changed", "can be removed: nothing has changed", look, r->removed);
	if (r->busy)
		printf("%d build%s running\n", r->busy, r->busy == 1 ? " is" : "s are");
	for (int i = 0; i < r->models; i++) {
		const struct tpat_health *h = &r->model[i];
		printf("%s: %d plugin%s%s\n", h->model, h->plugins, h->plugins == 1 ? "" : "s",
		       h->problems.n ? "" : ", complete");
		for (int k = 0; k < h->problems.n; k++)
			printf("  problem: %s\n", h->problems.at[k]);
		for (int k = 0; k < h->edited.n; k++)
			printf("  %s\n", h->edited.at[k]);
	}
	if (!r->models)
		printf("There is no rewritten model here.\n");
}

static void print_json(const struct tpat_diagnosis *r)
{
	json_t *models = json_array();
	for (int i = 0; i < r->models; i++) {
		const struct tpat_health *h = &r->model[i];
		json_array_append_new(models, cli_json("{s:s, s:i, s:o, s:o}", "model", h->model, "plugins", h->plugins,
		                                       "problems", cli_json_list(&h->problems), "edited",
		                                       cli_json_list(&h->edited)));
	}
	cli_print_json(cli_json("{s:i, s:i, s:i, s:i, s:o}", "finished", r->finished, "undone", r->undone, "removed",
	                        r->removed, "busy", r->busy, "models", models));
}

int cli_doctor(struct cli *c, int argc, char **argv)
{
	struct tpat_doctor_options o = TPAT_DOCTOR_OPTIONS;
	const struct tpat_diagnosis *r;
	bool json = false;
	const struct cli_option option[] = {
		{ "look", 0, CLI_FLAG, &o.look, NULL, "only report; change nothing" },
		{ "undo", 0, CLI_FLAG, &o.undo, NULL,
		  "restore the files from before an interrupted build instead of\nfinishing it" },
		{ "force", 0, CLI_FLAG, &o.force, NULL, "finish it even if that deletes edits in a .tpat folder" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		{ .name = NULL },
	};
	int status = cli_parse(c, option, argc, argv, &o.path, 1, 1);
	if (status >= 0)
		return status;
	int rc = tpat_doctor(c->tpat, &r, &o);
	if (rc < 0)
		return cli_fail(c, rc);
	if (json)
		print_json(r);
	else
		print_text(r, o.look);
	return r->problems ? -TPAT_MODEL : 0;
}
