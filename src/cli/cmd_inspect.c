/* tpat inspect: shows the contents of a plugin library and checks that TensorRT can load it. */
#include <stdio.h>

#include "cli/cli.h"

static void print_list(const char *what, const struct tpat_strings *list)
{
	for (int i = 0; i < list->n; i++)
		printf("    %-8s %s\n", i ? "" : what, list->at[i]);
}

static void print_plugin(const struct tpat_inspected_plugin *p)
{
	printf("  %s  version \"%s\", namespace \"%s\"\n", p->name, p->version, p->name_space);
	printf("    %-8s %s\n", "computes", p->about);
	print_list("inputs", &p->inputs);
	print_list("outputs", &p->outputs);
	print_list("formats", &p->formats);
	print_list("in place", &p->in_place);
	print_list("kernels", &p->kernels);
	print_list("code", &p->code);
}

static void print_json(const struct tpat_inspected *x)
{
	json_t *plugins = json_array();
	for (int i = 0; i < x->plugins; i++) {
		const struct tpat_inspected_plugin *p = &x->plugin[i];
		json_array_append_new(plugins,
		                      cli_json("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
		                               p->name, "version", p->version, "namespace", p->name_space, "hash",
		                               p->hash, "about", p->about, "inputs", cli_json_list(&p->inputs),
		                               "outputs", cli_json_list(&p->outputs), "formats",
		                               cli_json_list(&p->formats), "in_place", cli_json_list(&p->in_place),
		                               "kernels", cli_json_list(&p->kernels), "code", cli_json_list(&p->code)));
	}
	cli_print_json(cli_json("{s:s, s:s, s:s, s:o, s:o}", "library", x->library, "model", x->model, "generator",
	                        x->generator, "plugins", plugins, "problems", cli_json_list(&x->problems)));
}

int cli_inspect(struct cli *c, int argc, char **argv)
{
	bool json = false;
	const char *library = NULL;
	const struct cli_option option[] = {
		{ "json", 0, CLI_FLAG, &json, NULL, "print machine-readable output" },
		{ .name = NULL },
	};
	const struct tpat_inspected *x;
	int status = cli_parse(c, option, argc, argv, &library, 1, 1);
	if (status >= 0)
		return status;
	int rc = tpat_inspect(c->tpat, &x, library);
	if (rc < 0)
		return cli_fail(c, rc);
	if (json) {
		print_json(x);
		return x->problems.n ? -TPAT_MODEL : 0;
	}
	printf("%s: %d plugin%s of %s, made by %s\n", x->library, x->plugins, x->plugins == 1 ? "" : "s", x->model,
	       x->generator);
	for (int i = 0; i < x->plugins; i++)
		print_plugin(&x->plugin[i]);
	for (int i = 0; i < x->problems.n; i++)
		printf("problem: %s\n", x->problems.at[i]);
	if (!x->problems.n)
		printf("No problems found.\n");
	return x->problems.n ? -TPAT_MODEL : 0;
}
