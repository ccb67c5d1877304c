/* `tpat onnx2plugin`: tpat build with the command line of Tencent's TPAT, for scripts that call its onnx_to_plugin.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/str.h"
#include "cli/cli.h"

enum { MOST_BATCH = 1 << 30 };

/* TPAT's options, by their short and long names. */
enum kind { IN, OUT, NODES, TYPES, NAMES, DYNAMIC, MIN, MAX, OPT, KINDS };
static const struct {
	const char *name, *longer, *value, *help;
} options[KINDS] = {
	[IN] = { "-i", "--input_model_path", "IN.onnx", "the model" },
	[OUT] = { "-o", "--output_model_path", "OUT.onnx", "the rewritten model (default IN_tpat.onnx)" },
	[NODES] = { "-n", "--node_names", "NODE ...", "nodes by name" },
	[TYPES] = { "-t", "--node_types", "TYPE ...", "all nodes of these operator types" },
	[NAMES] = { "-p", "--plugin_name_dict", "JSON",
	            "names of nodes' plugins, {\"node\": \"plugin\"}, or a file with them" },
	[DYNAMIC] = { "-dynamic", "--dynamic_bs", "true",
	              "dynamic batch: inputs whose only dynamic dimension is the first" },
	[MIN] = { "-min", "--min_bs", "N", "its minimum (default 1)" },
	[MAX] = { "-max", "--max_bs", "N", "its maximum (default 256)" },
	[OPT] = { "-opt", "--opt_bs", "N", "its optimum (default 128)" },
};

struct request {
	struct cli *c;
	const char *in;
	struct {
		VEC(char *);
	} argv; /* of tpat build */
	bool dynamic;
	int batch[3]; /* smallest, usual, largest */
};

static void add(struct request *r, const char *text)
{
	vec_push(r->c->arena, &r->argv, arena_strdup(r->c->arena, text));
}

static int print_help(void)
{
	printf("tpat onnx2plugin: tpat build with TPAT's options\n\nusage: tpat onnx2plugin -i IN.onnx -o OUT.onnx -n "
	       "NODE ...\n\n");
	for (int i = 0; i < KINDS; i++)
		printf("  %-8s %-20s %-9s %s\n", options[i].name, options[i].longer, options[i].value, options[i].help);
	printf("\nAll options of tpat build work, too: --arch, --tensorrt ...\n");
	return 0;
}

/* The option that an argument is; *value: the text after its '=', or null. KINDS: none. */
static int option_of(const char *arg, const char **value)
{
	size_t n = strcspn(arg, "=");
	*value = arg[n] ? arg + n + 1 : NULL;
	for (int i = 0; i < KINDS; i++)
		if ((strncmp(arg, options[i].name, n) == 0 && !options[i].name[n]) ||
		    (strncmp(arg, options[i].longer, n) == 0 && !options[i].longer[n]))
			return i;
	return KINDS;
}

/* The functions below return -1 to continue, else the exit status. */

static int take_names(struct request *r, const char *text)
{
	json_error_t e;
	json_t *names = *text == '{' ? json_loads(text, 0, &e) : json_load_file(text, 0, &e), *plugin;
	const char *node;
	if (!json_is_object(names))
		return cli_usage("-p takes {\"node\": \"plugin\"}, or the name of a file with that.", "-p %s: %s.",
		                 text, names ? "not an object" : e.text);
	json_object_foreach(names, node, plugin)
	{
		if (!json_is_string(plugin))
			return cli_usage("A name is a text in quotes.", "-p: the plugin of node \"%s\" has no name.",
			                 node);
		add(r, "--name");
		add(r, arena_printf(r->c->arena, "%s=%s", node, json_string_value(plugin)));
	}
	json_decref(names);
	return -1;
}

static int take_flag(bool *flag, const char *text)
{
	if (!ascii_same(text, "true") && !ascii_same(text, "false") && strcmp(text, "1") != 0 && strcmp(text, "0") != 0)
		return cli_usage(NULL, "-dynamic is true or false, not \"%s\".", text);
	*flag = ascii_same(text, "true") || *text == '1';
	return -1;
}

static int take_value(struct request *r, enum kind kind, const char *text)
{
	switch (kind) {
	case IN: r->in = text; return -1;
	case OUT: add(r, "--output"); break;
	case NODES: add(r, "--node"); break;
	case TYPES: add(r, "--type"); break;
	case NAMES: return take_names(r, text);
	case DYNAMIC: return take_flag(&r->dynamic, text);
	default:
		return cli_read_number(&r->batch[kind == MIN   ? 0
		                                 : kind == OPT ? 1
		                                               : 2],
		                       options[kind].name, text, 1, MOST_BATCH);
	}
	add(r, text);
	return -1;
}

static int take_arguments(struct request *r, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value;
		int kind = option_of(argv[i], &value);
		if (kind == KINDS) { /* an option of tpat build, perhaps with one dash as TPAT's */
			bool one = argv[i][0] == '-' && strspn(argv[i] + 1, "abcdefghijklmnopqrstuvwxyz-") > 2;
			add(r, one && argv[i][1] != '-' ? arena_printf(r->c->arena, "-%s", argv[i]) : argv[i]);
			continue;
		}
		bool many = kind == NODES || kind == TYPES;
		if (!value && i + 1 < argc && argv[i + 1][0] != '-')
			value = argv[++i];
		else if (!value && kind == DYNAMIC)
			value = "true";
		if (!value && many) /* an empty list, as for argparse; a name that begins with a dash: -n=-name */
			continue;
		if (!value)
			return cli_usage("tpat onnx2plugin --help shows the options.", "%s needs a value.", argv[i]);
		int status = take_value(r, kind, value);
		for (; status < 0 && many && i + 1 < argc && argv[i + 1][0] != '-'; i++)
			status = take_value(r, kind, argv[i + 1]);
		if (status >= 0)
			return status;
	}
	return -1;
}

/* The batch of all inputs whose only dynamic extent is the first; other models have none. */
static int add_profiles(struct request *r)
{
	if (r->batch[0] > r->batch[1] || r->batch[1] > r->batch[2])
		return cli_usage(NULL, "-min %d, -opt %d and -max %d are not in ascending order.", r->batch[0],
		                 r->batch[1], r->batch[2]);
	add(r, "--profile");
	add(r, arena_printf(r->c->arena, "*:%d,%d,%d", r->batch[0], r->batch[1], r->batch[2]));
	return -1;
}

int cli_onnx2plugin(struct cli *c, int argc, char **argv)
{
	struct request r = { .c = c, .batch = { 1, 128, 256 } };
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return print_help();
	add(&r, "build");
	int status = take_arguments(&r, argc, argv);
	if (status >= 0)
		return status;
	if (!r.in)
		return cli_usage("tpat onnx2plugin --help shows the options.",
		                 "tpat onnx2plugin needs a model: -i IN.onnx.");
	add(&r, r.in);
	status = r.dynamic ? add_profiles(&r) : -1;
	return status >= 0 ? status : cli_build(c, r.argv.n, r.argv.at);
}
