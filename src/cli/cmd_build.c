/* tpat build: its options, and the steps before the build itself. cmd_build_print.c prints the results. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

struct dump {
	struct arena *arena;
	FILE *out;
	const char *pass;    /* requested; null: none; "all": every one */
	bool found, stopped; /* stopped: the build, since there is no such pass */
	struct {
		VEC(const char *);
	} passes; /* passes seen, once each */
};

/* The parsed command line. */
struct request {
	struct tpat_build_options o;
	struct tpat_tune_options tuning; /* with --tune, before the build */
	struct dump dump;
	bool json, verbose, tune;
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

/* An unknown pass ends the build before anything is compiled or written. */
static bool is_wrong(const struct dump *d)
{
	return d->pass && !d->found && d->passes.n > 0;
}

static bool progress(void *user, const struct tpat_progress *p)
{
	bool made = strcmp(p->stage, "compile") == 0 || strcmp(p->stage, "write") == 0;
	struct dump *d = user;
	d->stopped = made && is_wrong(d);
	return cli_progress(user, p) || d->stopped;
}

static int no_such_pass(const struct dump *d)
{
	struct str list = str_new(d->arena);
	cli_progress_end();
	vec_each (pass, &d->passes)
		str_printf(&list, "%s, ", *pass);
	str_printf(&list, "and all.");
	return cli_usage(arena_printf(d->arena, "The passes are %s", str_text(&list)),
	                 "There is no pass \"%s\" to dump.", d->pass);
}

/* Checks that --tune fits the other options; returns as cli_parse. */
static int check_tune(const struct request *b)
{
	const struct tpat_build_options *o = &b->o;
	if (!b->tune)
		return b->tuning.seconds > 0 || b->tuning.trials
		               ? cli_usage("Add --tune.", "--budget and --trials need --tune.")
		               : -1;
	if (o->no_db)
		return cli_usage(NULL,
		                 "--tune stores its results in the tuning database, which --no-db does not read.");
	if (o->gpu && strcmp(o->gpu, "native") != 0)
		return cli_usage("Leave out --gpu, or tune on that GPU and build with its database.",
		                 "--tune measures on this machine's GPU, but --gpu names another one.");
	return -1;
}

static int parse(struct cli *c, struct request *b, int argc, char **argv)
{
	const struct cli_option option[] = {
		{ "output", 'o', CLI_TEXT, &b->o.output, "FILE", "the rewritten model (default MODEL_tpat.onnx)" },
		CLI_CHOICE(b->o),
		{ "name", 'p', CLI_LIST, &b->o.name, "NODE=PLUGIN",
		  "name of a node's plugin (default tpat_TYPE_HASH)" },
		{ "namespace", 0, CLI_TEXT, &b->o.name_space, "TEXT",
		  "the plugins' namespace (default: empty; with --name a hash, so that\n"
		  "plugins of the same name from two builds can be loaded together)" },
		{ "arch", 0, CLI_SPLIT, &b->o.arch, "ARCH,...|native all",
		  "GPU architectures: sm_90 (compiled), compute_90 (PTX), native, all\n"
		  "(default: one for each kind of GPU, and PTX for later ones)" },
		{ "gpu", 0, CLI_TEXT, &b->o.gpu, "NAME|native",
		  "choose kernels for this GPU: \"A100 40GB\", \"orin nx\"\n"
		  "(default: by --arch, else H100 SXM)" },
		{ "host", 0, CLI_TEXT, &b->o.host, "PROCESSOR|aarch64 x86_64",
		  "link the library for machines with this processor: aarch64 for\n"
		  "Jetson (default: this machine's). Needs a cross compiler: $CC if\n"
		  "it is for that processor, else PROCESSOR-linux-gnu-gcc" },
		{ "tensorrt", 0, CLI_TEXT, &b->o.tensorrt, CLI_VERSION,
		  "target version of TensorRT: 8.6, 10.3, 11.1, rtx (default: 10.7 and\n"
		  "later). Before 10.7 the model has no local functions, and tpat\n"
		  "writes a portable model with them next to it" },
		CLI_READ(b->o),
		{ "profile", 0, CLI_LIST, &b->o.profile, "IN:MIN,OPT,MAX",
		  "minimum, optimum and maximum shape of an input, such as\n"
		  "x:1x3x32,8x3x64,32x3x128: tpat chooses kernels for all three,\n"
		  "and the printed command contains them. *:1,8,32 is the batch size\n"
		  "of inputs whose only dynamic dimension is the first" },
		{ "debug-kernels", 0, CLI_FLAG, &b->o.debug_kernels, NULL,
		  "let kernels check each index, and print kernel, thread and index if\n"
		  "it is out of bounds; keep line numbers for debuggers" },
		CLI_EDGES(b->o),
		{ "split", 0, CLI_FLAG, &b->o.split, NULL, "put each plugin into its own library" },
		{ "tactics", 0, CLI_NUMBER, &(struct cli_number){ &b->o.tactics, 0, TPAT_MOST_TACTICS }, "N",
		  "schedules per plugin that TensorRT can choose from when it\n"
		  "builds an engine (default 2; 1 for more than two --arch, and\n"
		  "for products, convolutions and attention)" },
		CLI_TYPES(b->o),
		{ "dump", 0, CLI_TEXT, &b->dump.pass,
		  "PASS|lower simplify merge gather invert unscale inline prune place cuda all",
		  "print each plugin's program after a pass: lower, simplify, merge,\n"
		  "gather, invert, unscale, inline, prune, place; its kernels: cuda; or\nall" },
		CLI_DATABASE(b->o),
		{ "from-db-only", 0, CLI_FLAG, &b->o.from_db_only, NULL,
		  "fail if the database has no schedule for a plugin's program" },
		{ "tune", 0, CLI_FLAG, &b->tune, NULL,
		  "first search for the fastest schedules on this machine's GPU,\n"
		  "as tpat tune does; then build with them" },
		{ "budget", 0, CLI_TIME, &b->tuning.seconds, "TIME",
		  "with --tune: time per distinct program: 90s, 2m (default 60s)" },
		{ "trials", 0, CLI_NUMBER, &(struct cli_number){ &b->tuning.trials, 0, CLI_MOST_TRIALS }, "N",
		  "with --tune: maximum number of candidates per program" },
		{ "jobs", 'j', CLI_NUMBER, &(struct cli_number){ &b->o.workers, 0, CLI_MOST_JOBS }, "N",
		  "number of threads (default: one per processor)" },
		{ "force", 0, CLI_FLAG, &b->o.force, NULL,
		  "replace the output folder even if files in it were edited or added" },
		{ "dry-run", 0, CLI_FLAG, &b->o.dry_run, NULL, "print the regions, and build nothing" },
		{ "json", 0, CLI_FLAG, &b->json, NULL, "print machine-readable output" },
		{ "explain", 0, CLI_FLAG, &b->o.explain, NULL,
		  "show how each stage of each plugin is scheduled: the rules\n"
		  "considered, their estimated times, and why the others do not apply" },
		{ "verbose", 'v', CLI_FLAG, &b->verbose, NULL, "list every plugin and its nodes" },
		CLI_QUIET,
		{ "input", 'i', CLI_TEXT, &b->o.model, "FILE", NULL },
		{ .name = NULL },
	};
	int status = cli_parse(c, option, argc, argv, &b->o.model, 0, 1);
	if (status >= 0)
		return status;
	if (!b->o.model)
		return cli_usage("usage: tpat build MODEL [OPTION ...]; tpat build --help shows the options.",
		                 "tpat build needs a model.");
	if (b->o.dry_run && b->dump.pass)
		return cli_usage("Leave out --dry-run.",
		                 "--dump prints what a build makes, and --dry-run makes nothing.");
	return check_tune(b);
}

/* Tunes the programs to build on the present GPU, for which kernels are then made. Returns -1 to continue, else the
 * exit status. The cost model decides what could not be tuned. */
static int tune_first(struct cli *c, struct request *b)
{
	struct tpat_build_options *o = &b->o;
	struct tpat_tune_options *t = &b->tuning;
	const struct tpat_tuning *r;
	if (!o->automatic && !o->all && !o->node.n && !o->type.n && !o->region.n && !o->from.n && !o->to.n &&
	    !o->pattern.n)
		return -1; /* the build reports it */
	t->model = o->model;
	t->node = o->node;
	t->type = o->type;
	t->region = o->region;
	t->except = o->except;
	t->automatic = o->automatic;
	t->fast = o->fast;
	t->min_gain = o->min_gain;
	t->decompose = o->decompose;
	t->chains = o->chains;
	t->from = o->from;
	t->to = o->to;
	t->pattern = o->pattern;
	t->all = o->all;
	t->shape = o->shape;
	t->value = o->value;
	t->profile = o->profile;
	t->keep_types = o->keep_types;
	t->any_types = o->any_types;
	t->format = o->format;
	t->in_place = o->in_place;
	t->db = o->db;
	t->workers = o->workers;
	o->gpu = "native";
	int rc = cli_tune_run(c, &r, t);
	if (!r)
		return cli_fail(c, rc);
	for (int i = 0; i < r->n; i++)
		if (r->tuned[i].error)
			cli_tell(CLI_WARNING, "%s: %s The cost model decides.", r->tuned[i].node, r->tuned[i].error);
	if (!r->interrupted)
		return -1;
	cli_tell(CLI_ERROR, "Interrupted: nothing was built. The tuning database keeps the results so far.");
	return EXIT_INTERRUPTED;
}

int cli_build(struct cli *c, int argc, char **argv)
{
	struct request b = { .o = TPAT_BUILD_OPTIONS, .tuning = TPAT_TUNE_OPTIONS, .dump.arena = c->arena };
	const struct tpat_built *r;
	int status = parse(c, &b, argc, argv);
	if (status >= 0)
		return status;
	b.o.progress = progress;
	b.o.dump = b.dump.pass ? print_dump : NULL;
	b.o.user = &b.dump;
	b.dump.out = b.json ? stderr : stdout; /* standard output gets only the report */
	status = b.tune ? tune_first(c, &b) : -1;
	if (status >= 0)
		return status;
	int rc = tpat_build(c->tpat, &r, &b.o);
	if (rc < 0)
		return b.dump.stopped && !cli_interrupted() ? no_such_pass(&b.dump) : cli_fail(c, rc);
	cli_progress_end();
	for (int i = 0; i < r->warnings.n; i++)
		cli_tell(CLI_WARNING, "%s", r->warnings.at[i]);
	if (b.json)
		cli_print_built_json(r);
	else
		cli_print_built(r, cli_version_name(c, b.o.tensorrt), b.verbose);
	return 0;
}
