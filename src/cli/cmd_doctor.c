/* tpat doctor: recovers interrupted builds, checks that models, libraries and folders match, and explains logs. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/str.h"
#include "cli/cli.h"

enum { MOST = 8 }; /* arguments */

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
		if (!h->plugins && !h->problems.n)
			printf("%s: calls no plugin, so there is nothing to check\n", h->model);
		else
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

/* ---- A library, a log. */

/* Returns the exit status. */
static int check_library(struct cli *c, const char *library, bool json)
{
	const struct tpat_inspected *x;
	int rc = tpat_inspect(c->tpat, &x, library);
	if (rc < 0)
		return cli_fail(c, rc);
	if (json) {
		cli_print_json(cli_json("{s:s, s:i, s:o}", "library", x->library, "plugins", x->plugins, "problems",
		                        cli_json_list(&x->problems)));
		return x->problems.n ? -TPAT_MODEL : 0;
	}
	printf("%s: %d plugin%s%s\n", x->library, x->plugins, x->plugins == 1 ? "" : "s",
	       x->problems.n ? "" : ", complete");
	for (int i = 0; i < x->problems.n; i++)
		printf("  problem: %s\n", x->problems.at[i]);
	return x->problems.n ? -TPAT_MODEL : 0;
}

void cli_print_explained(const struct tpat_explained *x)
{
	for (int i = 0; i < x->n; i++) {
		const struct tpat_explanation *e = &x->found[i];
		printf("  line %d, %s: %s\n", e->number, e->from, e->line);
		if (e->times > 1)
			printf("    %d such lines\n", e->times);
		printf("    cause: %s\n    fix:   %s\n", e->cause, e->fix);
	}
}

static int check_log(struct cli *c, const char *log, bool json)
{
	const struct tpat_explained *x;
	int rc = tpat_explain(c->tpat, &x, log);
	if (rc < 0)
		return cli_fail(c, rc);
	if (json) {
		json_t *found = json_array();
		for (int i = 0; i < x->n; i++) {
			const struct tpat_explanation *e = &x->found[i];
			json_array_append_new(found, cli_json("{s:s, s:i, s:i, s:s, s:s, s:s}", "line", e->line,
			                                      "number", e->number, "times", e->times, "from", e->from,
			                                      "cause", e->cause, "fix", e->fix));
		}
		cli_print_json(cli_json("{s:s, s:o}", "log", log, "explained", found));
		return x->n ? -TPAT_MODEL : 0;
	}
	printf("%s: %s\n", log, x->n ? "errors that tpat knows" : "no error that tpat knows");
	cli_print_explained(x);
	return x->n ? -TPAT_MODEL : 0;
}

static int check_place(struct cli *c, struct tpat_doctor_options *o, const char *place, bool json)
{
	const struct tpat_diagnosis *r;
	o->path = place;
	int rc = tpat_doctor(c->tpat, &r, o);
	if (rc < 0)
		return cli_fail(c, rc);
	if (json)
		print_json(r);
	else
		print_text(r, o->look);
	return r->problems ? -TPAT_MODEL : 0;
}

/* A model and a folder are places of builds; anything else that is no library is a log. */
static bool is_log(const char *path)
{
	struct stat s;
	return !str_ends(path, ".onnx") && stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

int cli_doctor(struct cli *c, int argc, char **argv)
{
	struct tpat_doctor_options o = TPAT_DOCTOR_OPTIONS;
	const char *what[MOST] = { NULL };
	bool json = false;
	int worst = 0;
	const struct cli_option option[] = {
		{ "look", 0, CLI_FLAG, &o.look, NULL, "only report; change nothing" },
		{ "undo", 0, CLI_FLAG, &o.undo, NULL,
		  "restore the files from before an interrupted build instead of\nfinishing it" },
		{ "force", 0, CLI_FLAG, &o.force, NULL, "finish it even if that deletes edits in a .tpat folder" },
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		{ .name = NULL },
	};
	int status = cli_parse(c, option, argc, argv, what, 1, MOST);
	if (status >= 0)
		return status;
	for (int i = 0; i < MOST && what[i]; i++) {
		status = str_ends(what[i], ".so") ? check_library(c, what[i], json)
		         : is_log(what[i])        ? check_log(c, what[i], json)
		                                  : check_place(c, &o, what[i], json);
		worst = status > worst ? status : worst;
	}
	return worst;
}
