/* tpat fix: TensorRT refused a model. Replaces what it refuses, verifies that, and says in a few lines what was done;
 * if no node needs a plugin, explains the log instead. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "cli/cli.h"

struct fix {
	struct tpat_build_options o;
	const char *device, *log;
	const char *engine;       /* "TensorRT 11" */
	int nodes, refused, left; /* of the model; refused by the engine; of these, not supported by tpat */
	const char *script;
	bool json;
};

/* ---- The model. */

/* Counts the refused nodes; prints those that tpat does not support either. A log that names no node of the model is
 * used for explanations only. Returns the exit status, or -1 to continue. */
static int look(struct cli *c, struct fix *f)
{
	enum { FEW = 8 };
	struct tpat_list_options o = TPAT_LIST_OPTIONS;
	const struct tpat_list *l;
	o.model = f->o.model;
	o.shape = f->o.shape;
	o.value = f->o.value;
	o.tensorrt = f->o.tensorrt;
	o.engine_report = f->log;
	int rc = tpat_list(c->tpat, &l, &o);
	if (rc == TPAT_USAGE && f->log && access(f->log, R_OK) == 0) {
		o.engine_report = NULL;
		rc = tpat_list(c->tpat, &l, &o);
	}
	if (rc < 0)
		return cli_fail(c, rc);
	f->o.engine_report = o.engine_report;
	f->nodes = l->nodes;
	f->refused = l->replacements;
	for (int i = 0; i < l->replacements; i++)
		f->nodes += 1 - l->replaced[i].nodes;
	for (int i = 0; i < l->nodes; i++) {
		const struct tpat_node *n = &l->node[i];
		if (n->tensorrt != TPAT_TRT_NO || n->constant)
			continue;
		f->refused++;
		f->left += !n->taken && !n->follows;
		if (!n->taken && !n->follows && f->left <= FEW)
			cli_tell(CLI_WARNING, "node %s: %s %s", n->label, n->why, n->advice);
	}
	return -1;
}

/* ---- A model in which every node is supported. */

static int explain(struct cli *c, const struct fix *f)
{
	const struct tpat_explained *x;
	if (f->json)
		cli_print_json(cli_json("{s:s, s:i, s:i, s:i}", "model", f->o.model, "nodes", f->nodes, "refused", 0,
		                        "plugins", 0));
	else
		printf("%s: %s supports %s, so no plugin can help\n", f->o.model, f->engine,
		       f->nodes == 1 ? "its only node" : arena_printf(c->arena, "all %d nodes", f->nodes));
	if (f->json)
		return 0;
	if (!f->log) {
		printf("If TensorRT refused the model, give its log: trtexec --onnx=%s --verbose > log.txt 2>&1;\n"
		       "tpat fix %s log.txt\n",
		       str_shell_path(c->arena, f->o.model), str_shell_path(c->arena, f->o.model));
		return 0;
	}
	int rc = tpat_explain(c->tpat, &x, f->log);
	if (rc < 0)
		return cli_fail(c, rc);
	printf("%s: %s\n", f->log,
	       x->n ? "errors that tpat knows"
	            : "no error that tpat knows. Is it the whole output of trtexec --verbose?");
	cli_print_explained(x);
	return 0;
}

/* ---- Building and verifying. */

/* Writes the command that builds an engine as a script next to the model. */
static int write_script(struct cli *c, struct fix *f, const char *model, const char *command)
{
	struct err e = { 0 };
	const char *stem = str_ends(model, ".onnx") ? arena_strndup(c->arena, model, strlen(model) - 5) : model;
	const char *made = arena_printf(c->arena, "%s.sh.%ld", stem, (long)getpid());
	const char *text = arena_printf(
	        c->arena,
	        "#!/bin/sh\n"
	        "# Builds an engine of the model that tpat fix wrote. Paths are relative to the folder "
	        "in which tpat ran.\n"
	        "command -v trtexec > /dev/null || { echo \"$0: there is no trtexec in PATH. It comes with "
	        "TensorRT, often in /usr/src/tensorrt/bin.\" >&2; exit 127; }\n%s\n",
	        command);
	f->script = arena_printf(c->arena, "%s.sh", stem);
	if (file_make(made, text, strlen(text), &e) < 0)
		return cli_usage(e.advice, "%s%s", e.where, e.text);
	if (rename(made, f->script) < 0) {
		unlink(made);
		return cli_usage("Remove what has this name.", "%s cannot be written.", f->script);
	}
	return -1;
}

static int count_types(const struct tpat_built *r, struct str *types)
{
	for (int i = 0; i < r->refused_types.n; i++)
		str_printf(types, "%s%s", i ? ", " : "", r->refused_types.at[i]);
	return r->refused_types.n;
}

static void print_built(struct cli *c, const struct fix *f, const struct tpat_built *r)
{
	struct str types = str_new(c->arena);
	int n = count_types(r, &types);
	printf("%s: %s refuses %d of %d nodes%s%s%s\n", r->model, f->engine, r->refused, f->nodes, n ? " (" : "",
	       str_text(&types), n ? ")" : "");
	if (r->plugins || !r->plains)
		printf("replaced  %d node%s with %d plugin%s\n", r->nodes, r->nodes == 1 ? "" : "s", r->plugins,
		       r->plugins == 1 ? "" : "s");
	if (r->plains)
		printf("replaced  %d node%s with nodes that %s supports, without a plugin\n", r->plains,
		       r->plains == 1 ? "" : "s", f->engine);
	printf("wrote     %s", r->output);
	for (int i = 0; i < r->libraries.n; i++)
		printf(", %s", r->libraries.at[i]);
	if (r->folder)
		printf(", %s/", r->folder);
	printf(", %s\n", f->script);
	fflush(stdout);
}

/* Verifies the rewritten model; returns the exit status. */
static int verify(struct cli *c, const struct fix *f, const char *model)
{
	struct tpat_verify_options o = TPAT_VERIFY_OPTIONS;
	const struct tpat_verified *r;
	o.model = model;
	o.device = f->device;
	o.tensorrt = f->o.tensorrt;
	o.progress = cli_progress;
	int rc = tpat_verify(c->tpat, &r, &o);
	cli_progress_end();
	if (!r || r->interrupted)
		return cli_fail(c, rc);
	if (f->json)
		cli_print_json(cli_json("{s:s, s:i, s:i, s:i, s:s, s:s, s:i, s:i}", "model", f->o.model, "nodes",
		                        f->nodes, "refused", f->refused, "left", f->left, "output", model, "script",
		                        f->script, "plugins", r->plugins, "failed", r->failed));
	else
		printf("verified  on %s: %d of %d plugins agree with the original nodes\n", r->device,
		       r->checks - r->failed, r->checks);
	for (int i = 0; i < r->checks && !f->json; i++)
		if (!r->check[i].passed)
			printf("  %s %s: %s\n", r->check[i].lacks ? "could not run" : "FAIL", r->check[i].node,
			       r->check[i].error ? r->check[i].error : r->check[i].worst);
	return -rc;
}

static int build(struct cli *c, struct fix *f)
{
	const struct tpat_built *r;
	int rc = tpat_build(c->tpat, &r, &f->o);
	if (rc < 0)
		return cli_fail(c, rc);
	cli_progress_end();
	for (int i = 0; i < r->warnings.n; i++)
		cli_tell(CLI_WARNING, "%s", r->warnings.at[i]);
	const char *model = arena_strdup(c->arena, r->output);
	bool guessed = r->guessed;
	int status = write_script(c, f, model, r->deploy);
	if (status >= 0)
		return status;
	if (!f->json)
		print_built(c, f, r);
	if (f->json && !r->plugins)
		cli_print_json(cli_json("{s:s, s:i, s:i, s:i, s:s, s:s, s:i, s:i}", "model", f->o.model, "nodes",
		                        f->nodes, "refused", f->refused, "left", f->left, "output", model, "script",
		                        f->script, "plugins", 0, "plain", r->plains));
	status = r->plugins ? verify(c, f, model) : 0;
	if (!f->json && status == 0)
		printf("next      sh %s%s\n", str_shell_path(c->arena, f->script),
		       guessed ? "   (the shapes in it are guesses: check them)" : "");
	if (f->left)
		cli_tell(CLI_WARNING, "%d refused node%s stay%s as %s. tpat list %s --refused shows why.", f->left,
		         f->left == 1 ? "" : "s", f->left == 1 ? "s" : "", f->left == 1 ? "it is" : "they are",
		         str_shell_path(c->arena, f->o.model));
	return status ? status : f->left ? -TPAT_UNSUPPORTED : 0;
}

/* A wrong name is found before the build, not after it. */
static bool is_device(const char *name)
{
	if (strncmp(name, "cuda", 4) == 0 && (!name[4] || (name[4] == ':' && name[5])))
		return name[4 + strspn(name + 4, ":0123456789")] == 0;
	return strcmp(name, "emulator") == 0 || strcmp(name, "cpu") == 0;
}

int cli_fix(struct cli *c, int argc, char **argv)
{
	struct fix f = { .o = TPAT_BUILD_OPTIONS, .device = NULL };
	const char *what[2] = { NULL };
	const struct cli_option option[] = {
		{ "output", 'o', CLI_TEXT, &f.o.output, "FILE", "the rewritten model (default MODEL_tpat.onnx)" },
		{ "arch", 0, CLI_SPLIT, &f.o.arch, "ARCH,...|native all",
		  "GPU architectures, as for tpat build: sm_90, native" },
		{ "gpu", 0, CLI_TEXT, &f.o.gpu, "NAME|native", "choose kernels for this GPU" },
		{ "tensorrt", 0, CLI_TEXT, &f.o.tensorrt, CLI_VERSION,
		  "the version that refused the model: 8.6, 10.3, 11.1" },
		{ "shape", 's', CLI_LIST, &f.o.shape, "IN:1x3xHxW", CLI_SHAPE },
		{ "value", 0, CLI_LIST, &f.o.value, "IN=16000", "make a model input a constant" },
		{ "profile", 0, CLI_LIST, &f.o.profile, "IN:MIN,OPT,MAX",
		  "minimum, optimum and maximum shape of an input (default: guessed\n"
		  "from the names and positions of its axes)" },
		{ "decompose", 0, CLI_TEXT, &f.o.decompose, "HOW|auto no all",
		  "replace refused nodes with nodes that TensorRT supports, without a\n"
		  "plugin: auto (if the estimate says that they are no slower), all\n"
		  "(wherever possible) or no" },
		CLI_EDGES(f.o),
		{ "device", 'd', CLI_TEXT, &f.device, "DEVICE|cuda emulator cpu",
		  "verify on cuda, emulator or cpu (default: the first that works here)" },
		{ "jobs", 'j', CLI_NUMBER, &(struct cli_number){ &f.o.workers, 0, CLI_MOST_JOBS }, "N",
		  "number of threads (default: one per processor)" },
		{ "force", 0, CLI_FLAG, &f.o.force, NULL,
		  "replace the output folder even if files in it were edited or added" },
		{ "json", 0, CLI_FLAG, &f.json, NULL, "print machine-readable output" },
		CLI_QUIET,
		{ .name = NULL },
	};
	int status = cli_parse(c, option, argc, argv, what, 1, 2);
	if (status >= 0)
		return status;
	if (f.device && !is_device(f.device))
		return cli_usage("Devices are cuda (the first GPU), cuda:1 (the second), emulator and cpu.",
		                 "There is no device \"%s\".", f.device);
	if (what[1] && str_ends(what[1], ".onnx") && !file_is_folder(what[1]))
		return cli_usage("The model comes first, and then the log: tpat fix MODEL LOG.",
		                 "%s is a model, not a log.", what[1]);
	f.o.model = what[0];
	f.log = what[1];
	f.o.automatic = true;
	f.o.progress = cli_progress;
	f.engine = cli_version_name(c, f.o.tensorrt);
	status = look(c, &f);
	if (status >= 0)
		return status;
	if (!f.refused)
		return explain(c, &f);
	return build(c, &f);
}
