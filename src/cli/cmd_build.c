/* tpat build: options, and the report of what was made. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

struct dump {
	struct arena *arena;
	FILE *out;
	const char *pass; /* wanted; null: none; "all": every one */
	bool found;
	struct cli_list passes; /* that there were, once each */
};

static void print_dump(void *user, const char *pass, const char *text)
{
	struct dump *d = user;
	bool known = false;
	vec_each (have, &d->passes)
		known |= strcmp(*have, pass) == 0;
	if (!known)
		vec_push(d->arena, &d->passes, arena_strdup(d->arena, pass));
	if (strcmp(d->pass, pass) != 0 && strcmp(d->pass, "all") != 0)
		return;
	d->found = true;
	cli_progress_end();
	fprintf(d->out, "-- %s\n%s\n", pass, text);
}

/* A pass that is none ends the build before anything is compiled or written. */
static bool is_wrong(const struct dump *d)
{
	return d->pass && !d->found && d->passes.n > 0;
}

static bool progress(void *user, const struct tpat_progress *p)
{
	bool made = strcmp(p->stage, "compile") == 0 || strcmp(p->stage, "write") == 0;
	return cli_progress(user, p) || (made && is_wrong(user));
}

static int no_such_pass(const struct dump *d)
{
	struct str list = str_new(d->arena);
	cli_progress_end();
	vec_each (pass, &d->passes)
		str_printf(&list, "%s, ", *pass);
	str_printf(&list, "and all for every one.");
	return cli_usage(arena_printf(d->arena, "There are %s", str_text(&list)), "There is no pass \"%s\" to dump.",
	                 d->pass);
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* "  schedules: 2 from the tuning database t.db (1 measured at other extents), 1 by the cost model" */
static void print_tuned(const struct tpat_built *r)
{
	printf("  schedules: %d from the tuning database %s", r->from_db, r->db);
	if (r->near)
		printf(" (%d measured at other extents)", r->near);
	printf(", %d by the cost model\n", r->plugins - r->from_db);
	if (r->passed_over)
		printf("  passed over %d faster row%s of the database that cannot be built\n", r->passed_over,
		       r->passed_over == 1 ? "" : "s");
}

static void print_counts(const struct tpat_built *r)
{
	printf("%s: %d node%s, opset %lld. TensorRT 11 refuses %d", base(r->model), r->model_nodes,
	       r->model_nodes == 1 ? "" : "s", (long long)r->opset, r->refused);
	for (int i = 0; i < r->refused_types.n; i++)
		printf("%s%s", i ? ", " : " (", r->refused_types.at[i]);
	printf("%s\n", r->refused_types.n ? ")" : "");
	printf("  %d node%s -> %d region%s -> %d distinct plugin%s", r->nodes, r->nodes == 1 ? "" : "s", r->regions,
	       r->regions == 1 ? "" : "s", r->plugins, r->plugins == 1 ? "" : "s");
	if (r->folded)
		printf(", %d known at build time", r->folded);
	printf("\n");
	if (r->db)
		print_tuned(r);
}

static void print_plugins(const struct tpat_built *r)
{
	for (int i = 0; i < r->plugins; i++) {
		const struct tpat_plugin *p = &r->plugin[i];
		printf("  %s  %s\n", p->name, p->about);
		for (int n = 0; n < p->nodes.n; n++)
			printf("    %s\n", p->nodes.at[n]);
		if (p->tuned_on)
			printf("    %.2f us%s%s on %s: %s\n", p->tuned_ns / 1e3, *p->tuned_shape ? " at " : "", p->tuned_shape,
			       p->tuned_on, p->decisions);
	}
}

static int wider(int width, const char *path)
{
	int n = str_width(path);
	return n > width ? n : width;
}

static void print_files(const struct tpat_built *r)
{
	int width = wider(20, r->output);
	for (int i = 0; i < r->libraries.n; i++)
		width = wider(width, r->libraries.at[i]);
	if (r->folder)
		width = wider(width - 1, r->folder) + 1; /* and its slash */
	printf("wrote %-*s still a plain ONNX model: the plugins' nodes carry the original operators\n",
	       cli_field(width, r->output), r->output);
	for (int i = 0; i < r->libraries.n; i++) {
		int plugins = r->libraries.n > 1 ? 1 : r->plugins;
		printf("      %-*s %d plugin%s", cli_field(width, r->libraries.at[i]), r->libraries.at[i], plugins,
		       plugins == 1 ? "" : "s");
		for (int k = 0; k < r->arch.n; k++)
			printf("%s %s", k ? "" : ",", r->arch.at[k]);
		printf(", TensorRT 10 and 11\n");
	}
	if (r->folder)
		printf("      %s%-*s kernels to read; rebuild with make\n", r->folder, width - str_width(r->folder), "/");
	printf("next: %s\n", r->deploy);
}

static void print_json(const struct tpat_built *r)
{
	json_t *plugins = json_array();
	for (int i = 0; i < r->plugins; i++) {
		const struct tpat_plugin *p = &r->plugin[i];
		json_array_append_new(plugins,
		                      json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:f, s:s?, s:o}", "name", p->name,
		                                "version", p->version, "namespace", p->name_space, "hash", p->hash, "about",
		                                p->about, "kernels", p->kernels, "tactics", p->tactics, "decisions", p->decisions,
		                                "tuned_ns",
		                                p->tuned_ns, "tuned_on", p->tuned_on, "nodes", cli_json_list(&p->nodes)));
	}
	cli_print_json(json_pack("{s:s, s:s, s:o, s:s?, s:i, s:I, s:i, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:s?, s:i, s:i, s:s}",
	                         "model", r->model, "output", r->output, "libraries", cli_json_list(&r->libraries),
	                         "folder", r->folder, "model_nodes", r->model_nodes, "opset", (json_int_t)r->opset,
	                         "refused", r->refused, "refused_types", cli_json_list(&r->refused_types), "nodes",
	                         r->nodes, "regions", r->regions, "folded", r->folded, "plugins", plugins,
	                         "architectures", cli_json_list(&r->arch), "warnings", cli_json_list(&r->warnings),
	                         "db", r->db, "from_db", r->from_db, "passed_over", r->passed_over, "deploy", r->deploy));
}

/* Tunes what will be built, on the GPU that is here; kernels are made for it, then. Gives -1 to go on, else the exit status. What
 * could not be tuned is left to the cost model. */
static int tune_first(struct cli *c, struct tpat_build_options *o, const char *budget, long long trials)
{
	struct tpat_tune_options t = TPAT_TUNE_OPTIONS;
	const struct tpat_tuning *r;
	t.seconds = cli_seconds(budget);
	if (t.seconds <= 0)
		return cli_usage(NULL, "--budget is a time: 90s or 2m.");
	if (trials < 0 || trials > 1000000)
		return cli_usage(NULL, "--trials is a number: how many.");
	if (o->no_db)
		return cli_usage(NULL, "--tune keeps what it finds in the tuning database, from which --no-db takes nothing.");
	if (o->gpu && strcmp(o->gpu, "native") != 0)
		return cli_usage("Leave out --gpu; or tune where that GPU is, and build from its database.",
		                 "--tune measures on the GPU that is here, and --gpu names another one.");
	if (!o->automatic && !o->node.n && !o->type.n && !o->region.n)
		return -1; /* which the build says */
	t.model = o->model;
	t.node = o->node;
	t.type = o->type;
	t.region = o->region;
	t.except = o->except;
	t.automatic = o->automatic;
	t.shape = o->shape;
	t.profile = o->profile;
	t.keep_types = o->keep_types;
	t.any_types = o->any_types;
	t.db = o->db;
	t.trials = (int)trials;
	t.workers = o->workers;
	o->gpu = "native";
	int rc = cli_tune_run(c, &r, &t);
	if (!r)
		return cli_fail(c, rc);
	for (int i = 0; i < r->n; i++)
		if (r->tuned[i].error)
			fprintf(stderr, "tpat: %s: %s The cost model decides.\n", r->tuned[i].node, r->tuned[i].error);
	if (!r->interrupted)
		return -1;
	fprintf(stderr, "tpat: Interrupted: nothing is built. What was found is in the tuning database.\n");
	return EXIT_INTERRUPTED;
}

int cli_build(struct cli *c, int argc, char **argv)
{
	struct tpat_build_options o = TPAT_BUILD_OPTIONS;
	struct cli_list node = { 0 }, type = { 0 }, region = { 0 }, except = { 0 }, name = { 0 }, arch = { 0 },
	                shape = { 0 }, profile = { 0 };
	struct dump dump = { .arena = c->arena, .out = stdout };
	bool json = false, verbose = false, tune = false;
	long long jobs = 0, trials = 0, tactics = 0;
	const char *budget = NULL;
	const struct cli_option option[] = {
		{ "output", 'o', CLI_TEXT, &o.output, "FILE", "the rewritten model (MODEL_tpat.onnx)" },
		{ "node", 'n', CLI_SPLIT, &node, "NODE,...", "these nodes: name, \"#12\", or the name of an output" },
		{ "type", 't', CLI_SPLIT, &type, "TYPE,...", "all nodes of these operator types" },
		{ "auto", 'a', CLI_FLAG, &o.automatic, NULL, "all nodes that TensorRT refuses and tpat can take" },
		{ "region", 'r', CLI_LIST, &region, "A,B,C", "these nodes together as one plugin; may be repeated" },
		{ "except", 0, CLI_SPLIT, &except, "NODE,...", "nodes that --type and --auto pass over" },
		{ "name", 'p', CLI_LIST, &name, "NODE=PLUGIN", "what a node's plugin is called" },
		{ "namespace", 0, CLI_TEXT, &o.name_space, "TEXT", "namespace of the plugins (none)" },
		{ "arch", 0, CLI_SPLIT, &arch, "ARCH,...",
		  "GPU architectures: sm_90 (compiled), compute_90 (PTX), native, all;\nby default one for each kind of GPU, "
		  "and PTX for later ones" },
		{ "gpu", 0, CLI_TEXT, &o.gpu, "NAME",
		  "the GPU whose facts decide how kernels are made: \"A100 40GB\",\n\"orin nx\" (by --arch; else H100 SXM)" },
		{ "shape", 's', CLI_LIST, &shape, "IN:1x3xHxW", "extents of an input of the model" },
		{ "profile", 0, CLI_LIST, &profile, "IN:MIN,OPT,MAX",
		  "an input's smallest, usual and largest extents: kernels\nare chosen for these, and the printed "
		  "command has them;\nx:1x3x32,8x3x64,32x3x128" },
		{ "split", 0, CLI_FLAG, &o.split, NULL, "each plugin in a library of its own" },
		{ "tactics", 0, CLI_NUMBER, &tactics, "N",
		  "schedules of each plugin that TensorRT chooses from where it\n"
		  "builds an engine (2, or 1 for more than two --arch and\n"
		  "for products, convolutions and attention)" },
		{ "keep-types", 0, CLI_FLAG, &o.keep_types, NULL,
		  "BOOL and UINT8 stay as they are at a plugin's edge (else INT32)" },
		{ "any-types", 0, CLI_FLAG, &o.any_types, NULL, "do not refuse types that TensorRT lacks" },
		{ "dump", 0, CLI_TEXT, &dump.pass, "PASS",
		  "print each plugin's program after a pass: lower, simplify, merge,\n"
		  "gather, inline, prune; its kernels: cuda; or all of them" },
		{ "db", 0, CLI_TEXT, &o.db, "FILE", "the tuning database whose decisions are used ($TPAT_DB, else\n"
		                                     "tpat/tpat.db in $XDG_CACHE_HOME or ~/.cache)" },
		{ "no-db", 0, CLI_FLAG, &o.no_db, NULL, "the cost model decides alone" },
		{ "from-db-only", 0, CLI_FLAG, &o.from_db_only, NULL,
		  "fail where the database knows nothing of a plugin's program" },
		{ "tune", 0, CLI_FLAG, &tune, NULL,
		  "search for the fastest kernels first, on this machine's GPU\n(tpat tune), and build from what was found" },
		{ "budget", 0, CLI_TEXT, &budget, "TIME", "--tune: for each distinct program: 90s, 2m (60s)" },
		{ "trials", 0, CLI_NUMBER, &trials, "N", "--tune: at most so many candidates of each program" },
		{ "jobs", 'j', CLI_NUMBER, &jobs, "N", "threads (one a processor)" },
		{ "json", 0, CLI_FLAG, &json, NULL, "the report for machines" },
		{ "verbose", 'v', CLI_FLAG, &verbose, NULL, "name every plugin and its nodes" },
		{ "input", 'i', CLI_TEXT, &o.model, "FILE", NULL },
		{ NULL, 0, CLI_FLAG, NULL, NULL, NULL },
	};
	const struct tpat_built *r;
	int status = cli_parse(c, option, argc, argv, &o.model, 0, 1);
	if (status >= 0)
		return status;
	if (!o.model)
		return cli_usage("usage: tpat build MODEL [OPTION ...]; tpat build --help shows the options.",
		                 "tpat build needs a model.");
	if (jobs < 0)
		return cli_usage(NULL, "--jobs needs a number of threads, not %lld.", jobs);
	if (tactics < 0 || tactics > TPAT_MOST_TACTICS)
		return cli_usage(NULL, "--tactics needs a number up to %d, not %lld.", TPAT_MOST_TACTICS, tactics);
	o.tactics = (int)tactics;
	o.node = cli_strings(&node);
	o.type = cli_strings(&type);
	o.region = cli_strings(&region);
	o.except = cli_strings(&except);
	o.name = cli_strings(&name);
	o.arch = cli_strings(&arch);
	o.shape = cli_strings(&shape);
	o.profile = cli_strings(&profile);
	o.workers = (int)(jobs < 1024 ? jobs : 1024);
	o.progress = progress;
	o.dump = dump.pass ? print_dump : NULL;
	o.user = &dump;
	dump.out = json ? stderr : stdout; /* what goes to machines is the report alone */
	if (!tune && (budget || trials))
		return cli_usage("Add --tune.", "--budget and --trials are of tuning.");
	status = tune ? tune_first(c, &o, budget ? budget : "60s", trials) : -1;
	if (status >= 0)
		return status;
	int rc = tpat_build(c->tpat, &r, &o);
	if (rc < 0)
		return is_wrong(&dump) && !cli_interrupted() ? no_such_pass(&dump) : cli_fail(c, rc);
	cli_progress_end();
	for (int i = 0; i < r->warnings.n; i++)
		fprintf(stderr, "tpat: %s\n", r->warnings.at[i]);
	if (json) {
		print_json(r);
		return 0;
	}
	print_counts(r);
	if (verbose)
		print_plugins(r);
	print_files(r);
	return 0;
}
