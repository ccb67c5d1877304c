/* tpat build: its options, and the steps before the build itself. cmd_build_print.c prints the results. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"

struct dump {
	struct arena *arena;
	FILE *out;
	const char *pass; /* requested; null: none; "all": every one */
	bool found;
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

/* Checks that --tune fits the other options; returns as cli_parse. */
static int check_tune(const struct request *b)
{
	const struct tpat_build_options *o = &b->o;
	if (!b->tune)
		return b->tuning.seconds > 0 || b->tuning.trials
		               ? cli_usage("Add --tune.", "--budget and --trials are of tuning.")
		               : -1;
	if (o->no_db)
		return cli_usage(
		        NULL, "--tune keeps what it finds in the tuning database, from which --no-db takes nothing.");
	if (o->gpu && strcmp(o->gpu, "native") != 0)
		return cli_usage("Leave out --gpu; or tune where that GPU is, and build from its database.",
		                 "--tune measures on the GPU that is here, and --gpu names another one.");
	return -1;
}

static int parse(struct cli *c, struct request *b, int argc, char **argv)
{
	const struct cli_option option[] = {
		{ "output", 'o', CLI_TEXT, &b->o.output, "FILE", "the rewritten model (MODEL_tpat.onnx)" },
		CLI_CHOICE(b->o),
		{ "name", 'p', CLI_LIST, &b->o.name, "NODE=PLUGIN", "what a node's plugin is called (tpat_TYPE_HASH)" },
		{ "namespace", 0, CLI_TEXT, &b->o.name_space, "TEXT",
		  "namespace of the plugins (none; with --name a hash, so that\nanother build's plugin of that name "
		  "can be "
		  "loaded, too)" },
		{ "arch", 0, CLI_SPLIT, &b->o.arch, "ARCH,...",
		  "GPU architectures: sm_90 (compiled), compute_90 (PTX), native, all;\nby default one for each kind "
		  "of GPU, "
		  "and PTX for later ones" },
		{ "gpu", 0, CLI_TEXT, &b->o.gpu, "NAME",
		  "the GPU whose facts decide how kernels are made: \"A100 40GB\",\n\"orin nx\" (by --arch; else H100 "
		  "SXM)" },
		{ "tensorrt", 0, CLI_TEXT, &b->o.tensorrt, "VERSION",
		  "the TensorRT that the model is for: 10.3, 11.1, rtx (10.7 and\nlater); before 10.7 the model has no "
		  "local "
		  "functions, and a\nportable one with them is written beside it" },
		{ "shape", 's', CLI_LIST, &b->o.shape, "IN:1x3xHxW", "extents of an input of the model" },
		{ "value", 0, CLI_LIST, &b->o.value, "IN=16000",
		  "a value (or list: 1,2,3) for an input of the model, which becomes a constant" },
		{ "profile", 0, CLI_LIST, &b->o.profile, "IN:MIN,OPT,MAX",
		  "an input's smallest, usual and largest extents: kernels\nare chosen for these, and the printed "
		  "command has them;\nx:1x3x32,8x3x64,32x3x128" },
		{ "split", 0, CLI_FLAG, &b->o.split, NULL, "each plugin in a library of its own" },
		{ "tactics", 0, CLI_NUMBER, &(struct cli_number){ &b->o.tactics, 0, TPAT_MOST_TACTICS }, "N",
		  "schedules of each plugin that TensorRT chooses from where it\n"
		  "builds an engine (2, or 1 for more than two --arch and\n"
		  "for products, convolutions and attention)" },
		{ "keep-types", 0, CLI_FLAG, &b->o.keep_types, NULL,
		  "BOOL and UINT8 stay as they are at a plugin's edge (else INT32)" },
		{ "any-types", 0, CLI_FLAG, &b->o.any_types, NULL, "do not refuse types that TensorRT lacks" },
		{ "dump", 0, CLI_TEXT, &b->dump.pass, "PASS",
		  "print each plugin's program after a pass: lower, simplify, merge,\n"
		  "gather, invert, inline, prune; its kernels: cuda; or all of them" },
		{ "db", 0, CLI_TEXT, &b->o.db, "FILE",
		  "the tuning database whose decisions are used ($TPAT_DB, else\n"
		  "tpat/tpat.db in $XDG_CACHE_HOME or ~/.cache)" },
		{ "no-db", 0, CLI_FLAG, &b->o.no_db, NULL, "the cost model decides alone" },
		{ "from-db-only", 0, CLI_FLAG, &b->o.from_db_only, NULL,
		  "fail where the database knows nothing of a plugin's program" },
		{ "tune", 0, CLI_FLAG, &b->tune, NULL,
		  "search for the fastest kernels first, on this machine's GPU\n(tpat tune), and build from what was "
		  "found" },
		{ "budget", 0, CLI_TIME, &b->tuning.seconds, "TIME",
		  "--tune: for each distinct program: 90s, 2m (60s)" },
		{ "trials", 0, CLI_NUMBER, &(struct cli_number){ &b->tuning.trials, 0, CLI_MOST_TRIALS }, "N",
		  "--tune: at most so many candidates of each program" },
		{ "jobs", 'j', CLI_NUMBER, &(struct cli_number){ &b->o.workers, 0, CLI_MOST_JOBS }, "N",
		  "threads (one a processor)" },
		{ "force", 0, CLI_FLAG, &b->o.force, NULL,
		  "replace the output's folder also where files in it were edited or added" },
		{ "json", 0, CLI_FLAG, &b->json, NULL, "the report for machines" },
		{ "explain", 0, CLI_FLAG, &b->o.explain, NULL,
		  "say of each stage of each plugin which schedule rules were\nconsidered, what each would take, "
		  "and why others do not apply" },
		{ "verbose", 'v', CLI_FLAG, &b->verbose, NULL, "name every plugin and its nodes" },
		{ "input", 'i', CLI_TEXT, &b->o.model, "FILE", NULL },
		{ .name = NULL },
	};
	int status = cli_parse(c, option, argc, argv, &b->o.model, 0, 1);
	if (status >= 0)
		return status;
	if (!b->o.model)
		return cli_usage("usage: tpat build MODEL [OPTION ...]; tpat build --help shows the options.",
		                 "tpat build needs a model.");
	return check_tune(b);
}

/* Tunes the programs to build on the present GPU, for which kernels are then made. Returns -1 to continue, else the
 * exit status. The cost model decides what could not be tuned. */
static int tune_first(struct cli *c, struct request *b)
{
	struct tpat_build_options *o = &b->o;
	struct tpat_tune_options *t = &b->tuning;
	const struct tpat_tuning *r;
	if (!o->automatic && !o->node.n && !o->type.n && !o->region.n)
		return -1; /* the build reports it */
	t->model = o->model;
	t->node = o->node;
	t->type = o->type;
	t->region = o->region;
	t->except = o->except;
	t->automatic = o->automatic;
	t->shape = o->shape;
	t->value = o->value;
	t->profile = o->profile;
	t->keep_types = o->keep_types;
	t->any_types = o->any_types;
	t->db = o->db;
	t->workers = o->workers;
	o->gpu = "native";
	int rc = cli_tune_run(c, &r, t);
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
		return is_wrong(&b.dump) && !cli_interrupted() ? no_such_pass(&b.dump) : cli_fail(c, rc);
	cli_progress_end();
	for (int i = 0; i < r->warnings.n; i++)
		fprintf(stderr, "tpat: %s\n", r->warnings.at[i]);
	if (b.json)
		cli_print_built_json(r);
	else
		cli_print_built(r, b.verbose);
	return 0;
}
