/* tpat run: a whole model with tpat's own kernels. */
#include <stdio.h>

#include "cli/cli.h"

int cli_run(struct cli *c, int argc, char **argv)
{
	struct tpat_run_options o = TPAT_RUN_OPTIONS;
	const struct cli_option option[] = {
		{ "device", 'd', CLI_TEXT, &o.device, "DEVICE",
		  "cuda, cuda:1, cpu, emulator, interpreter (default: cpu)" },
		{ "input", 'i', CLI_LIST, &o.input, "TENSOR=FILE", "read an input from a .npy, .npz or .pb file" },
		{ "shape", 's', CLI_LIST, &o.shape, "TENSOR:4x3x64", "shape of an input with random values" },
		{ "value", 0, CLI_LIST, &o.value, "TENSOR=16000", "value of an input: a number or a list (1,2,3)" },
		{ "seed", 0, CLI_SEED, &o.seed, "N", "seed of the random values (default 1)" },
		{ "output", 'o', CLI_TEXT, &o.output, "FILE", "write the outputs to this .npz file" },
		{ .name = NULL },
	};
	const struct tpat_ran *r;
	int status = cli_parse(c, option, argc, argv, &o.model, 1, 1);
	if (status >= 0)
		return status;
	int rc = tpat_run(c->tpat, &r, &o);
	if (rc < 0)
		return cli_fail(c, rc);
	printf("%s on %s: %d nodes in %d pieces, %d launches\n", o.model, r->device, r->nodes, r->pieces, r->kernels);
	for (int i = 0; i < r->outputs.n; i++)
		printf("  %s\n", r->outputs.at[i]);
	return 0;
}
