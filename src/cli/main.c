/* The program `tpat`: finds the command and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"

static int version(struct cli *c, int argc, char **argv);

const struct cli_command cli_commands[] = {
	{ "fix", "MODEL [LOG]", "replace the nodes that TensorRT refused, and verify the result; or explain its log",
	  cli_fix },
	{ "build", "MODEL", "generate plugins for selected nodes, and a model that uses them", cli_build },
	{ "list", "MODEL", "list a model's nodes: types, and support by TensorRT and tpat", cli_list },
	{ "report", "MODEL", "write an HTML page that shows what a build would make of a model", cli_report },
	{ "run", "MODEL", "run a whole model with tpat's own kernels, without TensorRT", cli_run },
	{ "verify", "MODEL", "run a rewritten model's plugins and compare them with the original nodes", cli_verify },
	{ "deploy", "MODEL", "print the commands, configuration or program that run a rewritten model", cli_deploy },
	{ "bench", "MODEL", "time each node's kernels on a device", cli_bench },
	{ "db", "ACTION", "manage the tuning database: list, stats, export, import, merge, prune", cli_db },
	{ "tune", "MODEL", "search for each node's fastest schedule on a device", cli_tune },
	{ "kernel", "FILE.cu", "run an edited kernel, compare it with the original nodes, and time it", cli_kernel },
	{ "rebuild", "FOLDER", "compile the edited kernels of a .tpat folder and replace its library", cli_rebuild },
	{ "doctor", "FILE ...", "repair an interrupted build, check that its files match, or explain a log",
	  cli_doctor },
	{ "check-plugin", "LIBRARY", "check any TensorRT plugin library, without TensorRT", cli_check_plugin },
	{ "inspect", "LIBRARY", "show the contents of a plugin library", cli_inspect },
	{ "onnx2plugin", "-i MODEL ...", "tpat build with the options of Tencent's TPAT", cli_onnx2plugin },
	{ "completion", "SHELL", "print the completion of commands and options for bash, zsh or fish", cli_completion },
	{ "man", "[TOPIC]", "print a manual page: tpat man build | man -l -", cli_man },
	{ "help", "[TOPIC]", "print this text, a command's options, or a topic", cli_help },
	{ "version", "", "print tpat's version", version },
	{ NULL, NULL, NULL, NULL },
};

void cli_show_options(struct cli *c, const struct cli_command *k,
                      void (*show)(struct cli *c, const struct cli_option *option))
{
	struct cli one = { .arena = c->arena, .tpat = c->tpat, .command = k, .show = show };
	if (k->run != cli_help && k->run != version && k->run != cli_onnx2plugin) /* those have options of their own */
		k->run(&one, 1, (char *[]){ (char *)(uintptr_t)k->name, NULL });
}

static int version(struct cli *c, int argc, char **argv)
{
	(void)c, (void)argc, (void)argv;
	printf("tpat %s\n", tpat_version());
	return 0;
}

/* ---- Mistakes and failures. */

/* Fills closed standard streams, so that no file gets their descriptors and receives printed output. */
static void hold_streams(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* opposite direction: using them fails */
}

/* Checks that all output was written; else that is the failure. */
static int check_output(int status)
{
	bool failed = ferror(stdout) != 0;
	errno = 0;
	failed |= fflush(stdout) != 0;
	if (!failed)
		return status;
	cli_tell(CLI_ERROR, "Cannot write standard output%s%s.", errno ? ": " : "", errno ? strerror(errno) : "");
	return status ? status : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	number_use_c_locale(); /* a preloaded library may have called setlocale() */
	hold_streams();
	cli_json_wanted(argc, argv);
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	bool linked = argc > 0 && strcmp(slash ? slash + 1 : argv[0], "onnx2plugin") == 0; /* a link of that name */
	if (argc < 2 && !linked) {
		cli_print_help(stderr);
		return EXIT_USAGE;
	}
	const char *name = linked ? "onnx2plugin" : argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0)
		name = "version";
	const struct cli_command *k = cli_find_command(name);
	if (!k)
		return cli_unknown_command(name, false);
	struct cli c = { .arena = arena_new(), .tpat = tpat_new(), .command = k };
	if (!c.tpat)
		return cli_usage(NULL, "Out of memory."), 5;
	cli_watch_signals();
	int status = k->run(&c, argc - !linked, argv + !linked);
	cli_progress_end();
	status = check_output(status);
	tpat_free(c.tpat);
	arena_free(c.arena);
	return status;
}
